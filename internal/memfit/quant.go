package memfit

import (
	"regexp"
	"strings"

	"shakedown/internal/hfconfig"
)

// Bytes per value of the weight formats, with their scales.
const (
	bytes16   = 2
	bytesFP8  = 1 + 4.0/(128*128) // a float32 scale for each block of 128 x 128
	bytesNVF4 = 0.5 + 1.0/16      // an FP8 scale for 16 values
	bytesMXF4 = 0.5 + 1.0/32      // an E8M0 scale for 32 values
)

// format says what a checkpoint's linear layers are stored as.
type format struct {
	name    string
	bytes   float64 // per value of a quantised layer
	plain   float64 // per value of the others
	exclude *patterns
	// only names the layers that are quantised, where that is known by the
	// method: mxfp4 of gpt-oss holds experts only.
	only string
}

// of is the bytes per value of a linear layer.
func (f *format) of(path string) float64 {
	if f.bytes == 0 || f.only != "" && !strings.Contains(path, f.only) || f.exclude.match(path) {
		return f.plain
	}
	return f.bytes
}

// newFormat reads how the weights are stored. quantization is the effective
// setting: a checkpoint without scheme can be quantised while it is loaded.
func newFormat(m *hfconfig.Model, quantization, dtype string) *format {
	f := &format{plain: plainBytes(m, dtype)}
	q := m.Config.Obj("quantization_config")
	if q == nil {
		q = textOf(m.Config).Obj("quantization_config")
	}
	hf := m.HFQuant.Obj("quantization")
	switch {
	case q != nil:
		f.fromConfig(q)
	case hf != nil:
		f.fromModelopt(hf.Text("quant_algo"), hf.Strings("exclude_modules"))
	default:
		f.name, f.bytes = quantization, onlineBytes[quantization]
		f.exclude = newPatterns([]string{"lm_head"})
	}
	return f
}

// onlineBytes are the formats into which an engine quantises 16-bit weights.
var onlineBytes = map[string]float64{
	"fp8": 1, "w8a8_fp8": 1, "fbgemm_fp8": 1, "fp8_per_tensor": 1, "fp8_per_block": bytesFP8, "w8a8_int8": 1, "mxfp8": 1 + 1.0/32,
	"nvfp4_online": bytesNVF4, "mxfp4": bytesMXF4,
}

func plainBytes(m *hfconfig.Model, dtype string) float64 {
	if dtype == "" || dtype == "auto" {
		c := textOf(m.Config)
		for _, o := range []hfconfig.Object{c, m.Config} {
			if d := o.Text("dtype") + o.Text("torch_dtype"); d != "" {
				dtype = d
				break
			}
		}
	}
	switch strings.TrimPrefix(dtype, "torch.") {
	case "float32", "float":
		// Engines load float32 checkpoints in 16 bits unless told otherwise.
		if dtype == "torch.float32" {
			return 4
		}
	}
	return bytes16
}

func (f *format) fromConfig(q hfconfig.Object) {
	method := q.Text("quant_method")
	ignore := append(q.Strings("modules_to_not_convert"), q.Strings("ignore")...)
	ignore = append(ignore, q.Strings("exclude_modules")...)
	f.name, f.exclude = method, newPatterns(append(ignore, "lm_head"))
	switch method {
	case "fp8", "fbgemm_fp8":
		f.bytes = bytesFP8
	case "mxfp4":
		f.bytes, f.only = bytesMXF4, "experts"
	case "modelopt", "modelopt_fp4", "modelopt_fp8", "modelopt_mixed":
		f.fromModelopt(q.Text("quant_algo"), ignore)
	case "compressed-tensors":
		f.fromGroups(q)
	case "awq", "gptq", "auto_gptq", "auto-round", "gptq_marlin", "awq_marlin":
		f.bytes = packed(first(q, "bits", "w_bit"), first(q, "group_size", "q_group_size"), true)
	case "bitsandbytes":
		f.bytes = 1
		if four, _ := q.Bool("load_in_4bit"); four {
			f.bytes = 0.5 + 4.0/64
		}
	}
}

func (f *format) fromModelopt(algo string, exclude []string) {
	f.name, f.exclude = "modelopt", newPatterns(append(exclude, "lm_head"))
	switch {
	case strings.Contains(algo, "NVFP4"):
		f.bytes = bytesNVF4
	case strings.HasPrefix(algo, "FP8"):
		f.bytes = 1
	case strings.HasPrefix(algo, "MXFP8"):
		f.bytes = 1 + 1.0/32
	case strings.HasPrefix(algo, "W4A"):
		f.bytes = packed(4, 128, false)
	}
}

// fromGroups reads a compressed-tensors scheme.
func (f *format) fromGroups(q hfconfig.Object) {
	for _, g := range q.Obj("config_groups") {
		group, _ := g.(hfconfig.Object)
		w := group.Obj("weights")
		if w == nil {
			continue
		}
		bits, size := first(w, "num_bits"), first(w, "group_size")
		b := packed(bits, size, false)
		switch {
		case bits == 8:
			b = 1
		case bits == 4 && w.Text("type") == "float" && size == 32:
			b = bytesMXF4
		case bits == 4 && w.Text("type") == "float":
			b = bytesNVF4
		}
		f.bytes = max(f.bytes, b)
	}
}

// packed is the size of integers with a 16-bit scale for each group, and with a
// zero point of the integers' own width where the scheme has one.
func packed(bits, group int, zero bool) float64 {
	if bits <= 0 || bits > 16 {
		return bytes16
	}
	b := float64(bits) / 8
	if group <= 0 {
		return b
	}
	extra := 2.0
	if zero {
		extra += b
	}
	return b + extra/float64(group)
}

// patterns are the names of layers that a scheme leaves out: "lm_head",
// "model.layers.3.self_attn*", "re:.*gate".
type patterns struct {
	exact  map[string]bool
	prefix []string
	forms  []*regexp.Regexp
}

// maxForms bounds the regular expressions that are taken from a config file.
const maxForms = 64

func newPatterns(names []string) *patterns {
	p := &patterns{exact: map[string]bool{}}
	for _, n := range names {
		switch {
		case strings.HasPrefix(n, "re:"):
			if re, err := regexp.Compile("^(?:" + n[3:] + ")"); err == nil && len(p.forms) < maxForms {
				p.forms = append(p.forms, re)
			}
		case strings.HasSuffix(n, "*") && strings.Count(n, "*") == 1:
			p.prefix = append(p.prefix, strings.TrimSuffix(n, "*"))
		case strings.Contains(n, "*"):
			form := strings.ReplaceAll(regexp.QuoteMeta(n), `\*`, `.*`)
			if re, err := regexp.Compile("^" + form); err == nil && len(p.forms) < maxForms {
				p.forms = append(p.forms, re)
			}
		default:
			p.exact[n] = true
		}
	}
	return p
}

// match says whether a layer is left out: by its own name, that of a part that
// holds it, or its last part ("gate").
func (p *patterns) match(path string) bool {
	if p == nil {
		return false
	}
	if p.exact[path] || p.exact[path[strings.LastIndexByte(path, '.')+1:]] {
		return true
	}
	for i := 0; i < len(path); i++ {
		if path[i] == '.' && p.exact[path[:i]] {
			return true
		}
	}
	for _, pre := range p.prefix {
		// "model.layers.1*" means layer 1 and not layer 10.
		if strings.HasPrefix(path, pre) && (len(path) == len(pre) || pre == "" || !digit(pre[len(pre)-1]) || !digit(path[len(pre)])) {
			return true
		}
	}
	for _, re := range p.forms {
		if re.MatchString(path) {
			return true
		}
	}
	return false
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
