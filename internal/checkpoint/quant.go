package checkpoint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/hfconfig"
)

// Quantisation is what the configuration files say of quantisation, in one form
// for all spellings. It is a promise: what a module really is, Module.Storage
// says.
type Quantisation struct {
	Source string // file and field it was read from
	Method string // quant_method: fp8, modelopt, compressed-tensors, gptq, awq, mxfp4 ...
	Algo   string // modelopt's quant_algo or compressed-tensors' format: NVFP4, FP8, pack-quantized ...
	// Layout is how integers of gptq, awq and auto-round are packed: checkpoint_format
	// (gptq, gptq_v2), version (gemm, gemv) or packing_format; empty when nothing
	// says so.
	Layout string
	// Producer is the program that wrote the checkpoint, with its version.
	Producer string
	Groups   []QuantGroup
	// Ignore lists the modules that are said not to be quantised, as written.
	Ignore []string
	// ScaleFmt is quantization_config.scale_fmt ("ue8m0"), Block weight_block_size.
	ScaleFmt string
	Block    []int
	// KV is the format of the KV cache that the checkpoint asks for, as written
	// ("FP8", "float 8"); empty when it asks for none.
	KV string
	// Layers maps modules to an algorithm of their own (modelopt's
	// MIXED_PRECISION, field quantized_layers).
	Layers map[string]string

	rules []ignoreRule
	exact map[string]string
}

// QuantGroup is one group of modules that are stored alike.
type QuantGroup struct {
	Targets    []string // module classes ("Linear"), names, or "re:" and a regular expression
	Format     string
	Bits       int
	Type       string // float, int
	Strategy   string // tensor, channel, group, block, tensor_group
	GroupSize  int
	Activation bool // activations are quantised too
	Static     bool // ... with scales from the file
}

// Quantisation reads the quantisation settings of config.json, or of
// hf_quant_config.json when config.json has none; nil when there are none.
func (c *Checkpoint) Quantisation() *Quantisation {
	c.quantising.Do(func() { c.quant = readQuantisation(&c.Config) })
	return c.quant
}

func readQuantisation(m *hfconfig.Model) *Quantisation {
	for _, f := range []struct {
		source string
		object hfconfig.Object
	}{
		{"config.json: quantization_config", m.Config.Obj("quantization_config")},
		{"config.json: text_config.quantization_config", m.Config.Obj("text_config").Obj("quantization_config")},
		{"config.json: compression_config", m.Config.Obj("compression_config")},
	} {
		if f.object != nil {
			q := &Quantisation{Source: f.source}
			q.flat(f.object)
			q.add(m.HFQuant.Obj("quantization"))
			q.compile()
			return q
		}
	}
	if o := m.HFQuant.Obj("quantization"); o != nil {
		q := &Quantisation{Source: "hf_quant_config.json: quantization", Method: "modelopt", Producer: producer(m.HFQuant)}
		q.add(o)
		q.compile()
		return q
	}
	return nil
}

// flat reads quantization_config in the spellings of fp8, modelopt,
// compressed-tensors, gptq, awq and mxfp4.
func (q *Quantisation) flat(o hfconfig.Object) {
	q.Method = strings.ToLower(o.Text("quant_method"))
	q.Algo = o.Text("quant_algo")
	if q.Algo == "" {
		q.Algo = o.Text("format")
	}
	if q.Method == "" && q.Algo != "" {
		q.Method = "modelopt"
	}
	for _, field := range []string{"packing_format", "checkpoint_format", "version"} {
		if q.Layout == "" {
			q.Layout = strings.ToLower(o.Text(field))
		}
	}
	q.Producer = producer(o)
	q.ScaleFmt = o.Text("scale_fmt")
	for _, v := range o.List("weight_block_size") {
		n, _ := hfconfig.Int(v)
		q.Block = append(q.Block, n)
	}
	for _, field := range []string{"ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules"} {
		q.Ignore = append(q.Ignore, o.Strings(field)...)
	}
	if s := o.Obj("kv_cache_scheme"); s != nil {
		q.KV = strings.TrimSpace(s.Text("type") + " " + digits(s.IntOr("num_bits", 0)))
	}
	groups := o.Obj("config_groups")
	for _, name := range sortedKeys(groups) {
		q.Groups = append(q.Groups, group(groups.Obj(name)))
	}
	if bits, ok := o.Int("bits"); ok && len(q.Groups) == 0 { // gptq and awq
		q.Groups = []QuantGroup{{Targets: []string{"Linear"}, Bits: bits, Type: "int", Strategy: "group", GroupSize: o.IntOr("group_size", 0)}}
	}
	if q.Method == "fp8" && len(q.Groups) == 0 {
		g := QuantGroup{Targets: []string{"Linear"}, Bits: 8, Type: "float", Strategy: "tensor", Activation: true, Static: o.Text("activation_scheme") == "static"}
		if len(q.Block) == 2 {
			g.Strategy = "block"
		}
		q.Groups = []QuantGroup{g}
	}
	q.layers(o.Obj("quantized_layers"))
}

// add reads the nested form of hf_quant_config.json; what is known already stays.
func (q *Quantisation) add(o hfconfig.Object) {
	if o == nil {
		return
	}
	if q.Algo == "" {
		q.Algo = o.Text("quant_algo")
	}
	if kv := o.Text("kv_cache_quant_algo"); q.KV == "" {
		q.KV = kv
	}
	if len(q.Ignore) == 0 {
		q.Ignore = o.Strings("exclude_modules")
	}
	if len(q.Groups) == 0 {
		g := QuantGroup{Targets: []string{"Linear"}, Type: "float", Bits: 8, Strategy: "tensor", Activation: true, Static: true}
		if strings.Contains(q.Algo, "FP4") {
			g.Bits, g.Strategy, g.GroupSize = 4, "tensor_group", o.IntOr("group_size", 16)
			g.Activation = !strings.HasPrefix(q.Algo, "W4A16")
		}
		if q.Algo != "" && q.Algo != "MIXED_PRECISION" {
			q.Groups = []QuantGroup{g}
		}
	}
	q.layers(o.Obj("quantized_layers"))
}

func (q *Quantisation) layers(o hfconfig.Object) {
	for name := range o {
		if q.Layers == nil {
			q.Layers = map[string]string{}
		}
		q.Layers[name] = o.Obj(name).Text("quant_algo")
	}
}

func group(o hfconfig.Object) QuantGroup {
	w, a := o.Obj("weights"), o.Obj("input_activations")
	g := QuantGroup{
		Targets: o.Strings("targets"), Format: o.Text("format"),
		Bits: w.IntOr("num_bits", 0), Type: w.Text("type"), Strategy: w.Text("strategy"), GroupSize: w.IntOr("group_size", 0),
		Activation: a != nil,
	}
	if dynamic, ok := a.Bool("dynamic"); ok && a != nil {
		g.Static = !dynamic
	}
	return g
}

// bits is the width of packed integers, 4 when nothing says otherwise.
func (q *Quantisation) bits() int {
	if q != nil {
		for _, g := range q.Groups {
			if g.Type == "int" && (g.Bits == 2 || g.Bits == 4 || g.Bits == 8) {
				return g.Bits
			}
		}
	}
	return 4
}

func producer(o hfconfig.Object) string {
	if p := o.Obj("producer"); p != nil {
		return strings.TrimSpace(p.Text("name") + " " + p.Text("version"))
	}
	return ""
}

// digits is a number of bits, or nothing when it is not given.
func digits(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func sortedKeys(o hfconfig.Object) []string {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ignoreRule is one entry of the ignore list that is no plain name.
type ignoreRule struct {
	text  string
	match func(module string) bool
}

// Limits of an ignore list; official ones have about 600 entries.
const (
	maxIgnore  = 100_000
	maxPattern = 1 << 12 // bytes
)

// compile prepares the ignore list: "re:" and a regular expression
// (compressed-tensors), names with stars (modelopt), plain names of modules or of
// everything below them.
func (q *Quantisation) compile() {
	q.exact = map[string]string{}
	if len(q.Ignore) > maxIgnore {
		q.Ignore = q.Ignore[:maxIgnore]
	}
	for _, text := range q.Ignore {
		expr, isExpr := strings.CutPrefix(text, "re:")
		switch {
		case len(text) > maxPattern:
		case isExpr:
			// Python's re.match begins at the start and need not reach the end.
			if re, err := regexp.Compile(`^(?:` + expr + `)`); err == nil {
				q.rules = append(q.rules, ignoreRule{text, re.MatchString})
			}
		case strings.Contains(text, "*"):
			q.rules = append(q.rules, ignoreRule{text, globs(text)})
		default:
			q.exact[text] = text
		}
	}
}

// globs matches a name with stars, each of which stands for any text. Behind a
// digit it does not begin with another one: who writes model.layers.1* means
// layer 1 and not layers 10 to 19.
func globs(pattern string) func(string) bool {
	literal, digit := Glob(pattern), strings.Index(pattern, "*")-1
	if digit < 0 || !isDigit(pattern[digit]) {
		return literal
	}
	return func(name string) bool {
		return literal(name) && (len(name) == digit+1 || !isDigit(name[digit+1]))
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Glob matches a name with stars as fnmatch does: each stands for any text.
func Glob(pattern string) func(name string) bool {
	pieces := strings.Split(pattern, "*")
	return func(name string) bool {
		rest, ok := strings.CutPrefix(name, pieces[0])
		if !ok {
			return false
		}
		for _, p := range pieces[1 : len(pieces)-1] {
			i := strings.Index(rest, p)
			if i < 0 {
				return false
			}
			rest = rest[i+len(p):]
		}
		return strings.HasSuffix(rest, pieces[len(pieces)-1])
	}
}

// Ignores finds the entry of the ignore list that covers a module, by its own
// name or that of a module around it.
func (q *Quantisation) Ignores(module string) (entry string, ok bool) {
	if q == nil {
		return "", false
	}
	for name := module; name != ""; {
		if text, ok := q.exact[name]; ok {
			return text, true
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			break
		}
		name = name[:i]
	}
	if text, ok := q.exact[last(module)]; ok { // "lm_head", "gate"
		return text, true
	}
	for _, r := range q.rules {
		if r.match(module) {
			return r.text, true
		}
	}
	return "", false
}

// Used says which entries with stars or regular expressions cover at least one
// of the modules.
func (q *Quantisation) Used(modules []string) map[string]bool {
	used := map[string]bool{}
	for _, r := range q.rules {
		for _, m := range modules {
			if r.match(m) {
				used[r.text] = true
				break
			}
		}
	}
	return used
}
