package inspect

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/hfconfig"
)

// methods are the quantisation methods whose tensors are understood, with the
// storages that each may produce.
var methods = map[string][]checkpoint.Storage{
	"fp8":                {checkpoint.FP8Block, checkpoint.FP8Tensor, checkpoint.FP8Channel, checkpoint.FP8Bare},
	"fbgemm_fp8":         {checkpoint.FP8Channel, checkpoint.FP8Tensor, checkpoint.FP8Bare},
	"modelopt":           {checkpoint.NVFP4, checkpoint.FP8Tensor, checkpoint.FP8Channel, checkpoint.FP8Block, checkpoint.FP8Bare, checkpoint.MXFP4Block, checkpoint.MXFP8Block},
	"compressed-tensors": {checkpoint.NVFP4, checkpoint.MXFP4Block, checkpoint.MXFP8Block, checkpoint.PackedInt, checkpoint.FP8Block, checkpoint.FP8Tensor, checkpoint.FP8Channel, checkpoint.FP8Bare, checkpoint.Int8},
	"gptq":               {checkpoint.GPTQ},
	"awq":                {checkpoint.AWQ},
	"mxfp4":              {checkpoint.MXFP4Block},
	"mxfp8":              {checkpoint.MXFP8Block},
}

// methodOf reduces the spellings of quant_method to the keys of methods.
func methodOf(q *checkpoint.Quantisation) string {
	switch m := q.Method; {
	case strings.HasPrefix(m, "modelopt"):
		return "modelopt"
	case m == "gptq_marlin", m == "auto_gptq":
		return "gptq"
	case m == "awq_marlin":
		return "awq"
	case m == "compressed_tensors":
		return "compressed-tensors"
	default:
		return m
	}
}

// quantisation compares what the configuration says with the tensors.
func (x *inspector) quantisation() {
	q := x.c.Quantisation()
	modules := x.c.Modules()
	x.parts(modules)
	var quantised []*checkpoint.Module
	for _, m := range modules {
		if m.Quantised() {
			quantised = append(quantised, m)
		}
	}
	switch {
	case q == nil && len(quantised) > 0:
		m := quantised[0]
		x.add("CKPT-QUANT-007", hit{
			subject: finding.Subject{File: configFile, Field: "quantization_config", Tensor: m.Weight.Name}, count: len(quantised),
			title:    fmt.Sprintf("%s stored as %s and no configuration says so", modulesAre(len(quantised)), m.Storage),
			evidence: []finding.Evidence{where(m.Weight, describeWeight(m)), says(configFile, "quantization_config", "absent")},
		})
		return
	case q == nil:
		return
	}
	method := methodOf(q)
	storages, known := methods[method]
	if !known {
		x.add("CKPT-QUANT-011", hit{
			subject: finding.Subject{File: configFile, Field: "quantization_config.quant_method"},
			title:   fmt.Sprintf("Quantisation method %q is not known here", q.Method),
			why:     "Known methods: " + strings.Join(sortedMethods(), ", ") + ". Its tensors are not checked.",
		})
		return
	}
	if len(quantised) == 0 && len(modules) > 0 {
		if !x.incomplete() {
			x.add("CKPT-QUANT-008", hit{
				subject:  finding.Subject{File: configFile, Field: "quantization_config"},
				title:    fmt.Sprintf("The configuration says %s and no weight is quantised", strings.TrimSpace(q.Method+" "+q.Algo)),
				evidence: []finding.Evidence{says(sourceFile(q), "quant_method", q.Method)},
			})
		}
		return
	}
	x.otherFormat(q, storages, quantised)
	x.otherBlocks(q, quantised)
	x.ignoreList(q, modules)
	x.twoFiles(q)
	x.activationScales(q, quantised)
	x.cacheScales(q)
}

func modulesAre(n int) string {
	if n == 1 {
		return "1 module is"
	}
	return group(int64(n)) + " modules are"
}

func sortedMethods() []string {
	var out []string
	for m := range methods {
		out = append(out, m)
	}
	slices.Sort(out)
	return out
}

// sourceFile is the file that the settings were read from.
func sourceFile(q *checkpoint.Quantisation) string {
	file, _, _ := strings.Cut(q.Source, ":")
	return file
}

// describeWeight says how a weight is stored.
func describeWeight(m *checkpoint.Module) string {
	s := fmt.Sprintf("%s %v", m.Weight.DType, m.Weight.Shape)
	if m.Quantised() {
		s += ", stored as " + string(m.Storage)
	}
	return s
}

// parts reports scales that are missing, do not fit or belong to nothing.
func (x *inspector) parts(modules []*checkpoint.Module) {
	missing := map[string][]*checkpoint.Module{}
	var order []string
	var odd, orphans []*checkpoint.Module
	for _, m := range modules {
		for _, part := range m.Missing {
			if m.Storage == checkpoint.FP8Bare && x.c.HeadersOnly() {
				continue
			}
			if missing[part] == nil {
				order = append(order, part)
			}
			missing[part] = append(missing[part], m)
		}
		switch {
		case m.Odd == "":
		case m.Weight == nil || m.Storage == checkpoint.Plain:
			orphans = append(orphans, m)
		default:
			odd = append(odd, m)
		}
	}
	for _, part := range order {
		ms := missing[part]
		x.add("CKPT-QUANT-004", hit{
			subject: finding.Subject{File: ms[0].Weight.File, Tensor: ms[0].Name + "." + part}, count: len(ms),
			title:    fmt.Sprintf("%s without %s: %s", plural(len(ms), "quantised weight", "quantised weights"), part, list(moduleNames(ms), 2)),
			evidence: []finding.Evidence{where(ms[0].Weight, describeWeight(ms[0])), {Kind: "tensor", Tensor: ms[0].Name + "." + part, Text: "not in any file"}},
		})
	}
	x.oddModules("CKPT-QUANT-005", odd)
	x.oddModules("CKPT-QUANT-006", orphans)
}

func (x *inspector) oddModules(id string, ms []*checkpoint.Module) {
	if len(ms) == 0 {
		return
	}
	m := ms[0]
	h := hit{count: len(ms), title: fmt.Sprintf("%s: %s", m.Odd, list(moduleNames(ms), 2))}
	for _, m := range ms[:min(len(ms), maxEvidence)] {
		t := m.Scale
		if t == nil {
			for _, part := range []string{"weight_scale_inv", "weight_scale", "weight_scale_2", "weight", "qweight", "weight_packed"} {
				if m.Parts[part] != nil {
					t = m.Parts[part]
					break
				}
			}
		}
		if t == nil {
			continue
		}
		if h.subject.Tensor == "" {
			h.subject = finding.Subject{File: t.File, Tensor: t.Name}
		}
		h.evidence = append(h.evidence, where(t, fmt.Sprintf("%s %v", t.DType, t.Shape)))
	}
	x.add(id, h)
}

func moduleNames(ms []*checkpoint.Module) []string {
	names := make([]string, len(ms))
	for i, m := range ms {
		names[i] = m.Name
	}
	return names
}

// otherFormat reports modules in a storage that the method does not produce.
func (x *inspector) otherFormat(q *checkpoint.Quantisation, storages []checkpoint.Storage, quantised []*checkpoint.Module) {
	expected := promised(q)
	wrong := map[checkpoint.Storage][]*checkpoint.Module{}
	for _, m := range quantised {
		ok := slices.Contains(storages, m.Storage)
		if ok && len(expected) > 0 && len(q.Layers) == 0 {
			ok = slices.Contains(expected, m.Storage) || m.Storage == checkpoint.FP8Bare
		}
		if !ok && m.Odd == "" {
			wrong[m.Storage] = append(wrong[m.Storage], m)
		}
	}
	var order []string
	for s := range wrong {
		order = append(order, string(s))
	}
	slices.Sort(order)
	for _, s := range order {
		ms := wrong[checkpoint.Storage(s)]
		x.add("CKPT-QUANT-009", hit{
			subject: finding.Subject{File: sourceFile(q), Field: "quantization_config", Tensor: ms[0].Weight.Name}, count: len(ms),
			title:    fmt.Sprintf("%s stored as %s, the configuration says %s", modulesAre(len(ms)), s, strings.TrimSpace(q.Method+" "+q.Algo)),
			evidence: []finding.Evidence{where(ms[0].Weight, describeWeight(ms[0])), says(sourceFile(q), "quantization_config", describeQuantisation(q))},
		})
	}
}

// otherBlocks compares the block and group sizes of the configuration with the
// scales.
func (x *inspector) otherBlocks(q *checkpoint.Quantisation, quantised []*checkpoint.Module) {
	group := 0
	if len(q.Groups) == 1 {
		group = q.Groups[0].GroupSize
	}
	wrong := map[string][]*checkpoint.Module{}
	for _, m := range quantised {
		if m.Scale == nil || !m.Scale.Known() || m.Odd != "" || m.In == 0 {
			continue
		}
		switch {
		case m.Storage == checkpoint.FP8Block && len(q.Block) == 2 && q.Block[0] > 0 && q.Block[1] > 0:
			rows, cols := (m.Out+q.Block[0]-1)/q.Block[0], (m.In+q.Block[1]-1)/q.Block[1]
			if len(m.Scale.Shape) == 2 && (m.Scale.Shape[0] != rows || m.Scale.Shape[1] != cols) {
				text := fmt.Sprintf("weight_block_size %v", q.Block)
				wrong[text] = append(wrong[text], m)
			}
		case group > 0 && m.BlockIn != group && (m.Storage == checkpoint.PackedInt || m.Storage == checkpoint.GPTQ || m.Storage == checkpoint.AWQ || m.Storage == checkpoint.NVFP4):
			text := fmt.Sprintf("group_size %d", group)
			wrong[text] = append(wrong[text], m)
		}
	}
	for text, ms := range wrong {
		m := ms[0]
		x.add("CKPT-QUANT-005", hit{
			subject: finding.Subject{File: m.Scale.File, Tensor: m.Scale.Name, Field: strings.Fields(text)[0]}, count: len(ms),
			title:    fmt.Sprintf("Scales of %v for %s contradict %s", m.Scale.Shape, list(moduleNames(ms), 1), text),
			evidence: []finding.Evidence{where(m.Scale, fmt.Sprintf("%s %v", m.Scale.DType, m.Scale.Shape)), says(sourceFile(q), strings.Fields(text)[0], text)},
		})
	}
}

// promised are the storages that the groups of a configuration describe; empty
// when they leave it open.
func promised(q *checkpoint.Quantisation) []checkpoint.Storage {
	var out []checkpoint.Storage
	for _, g := range q.Groups {
		switch {
		case g.Bits == 4 && g.Type == "float" && g.GroupSize == 32:
			out = append(out, checkpoint.MXFP4Block)
		case g.Bits == 4 && g.Type == "float":
			out = append(out, checkpoint.NVFP4)
		case g.Bits == 8 && g.Type == "float":
			out = append(out, checkpoint.FP8Block, checkpoint.FP8Tensor, checkpoint.FP8Channel, checkpoint.MXFP8Block)
		case g.Type == "int":
			out = append(out, checkpoint.PackedInt, checkpoint.GPTQ, checkpoint.AWQ, checkpoint.Int8)
		default:
			return nil
		}
	}
	return out
}

// describeQuantisation is what a configuration says, in a few words.
func describeQuantisation(q *checkpoint.Quantisation) string {
	if q == nil {
		return "none"
	}
	words := []string{q.Method, q.Algo}
	for _, g := range q.Groups {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%d-bit %s %s", g.Bits, g.Type, g.Strategy)))
		if g.GroupSize > 0 {
			words = append(words, fmt.Sprintf("group %d", g.GroupSize))
		}
	}
	if q.ScaleFmt != "" {
		words = append(words, "scale_fmt "+q.ScaleFmt)
	}
	if q.KV != "" {
		words = append(words, "KV cache "+q.KV)
	}
	if q.Producer != "" {
		words = append(words, "by "+q.Producer)
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}

// ignoreList compares the ignore list with the tensors, both ways.
func (x *inspector) ignoreList(q *checkpoint.Quantisation, modules []*checkpoint.Module) {
	var listed, unlisted []*checkpoint.Module
	for _, m := range modules {
		if m.Weight == nil {
			continue
		}
		entry, ignored := q.Ignores(m.Name)
		switch {
		case ignored && entry != "" && m.Quantised():
			listed = append(listed, m)
		case !ignored && !m.Quantised() && m.Storage == checkpoint.Plain && x.expected(q, m):
			unlisted = append(unlisted, m)
		}
	}
	if len(listed) > 0 {
		entry, _ := q.Ignores(listed[0].Name)
		x.add("CKPT-QUANT-001", hit{
			subject: finding.Subject{File: sourceFile(q), Field: "ignore", Tensor: listed[0].Weight.Name}, count: len(listed),
			title:    fmt.Sprintf("%s on the ignore list and quantised: %s", modulesAre(len(listed)), list(moduleNames(listed), 2)),
			evidence: []finding.Evidence{where(listed[0].Weight, describeWeight(listed[0])), says(sourceFile(q), "ignore", entry)},
		})
	}
	if len(unlisted) > 0 {
		m := unlisted[0]
		x.add("CKPT-QUANT-002", hit{
			subject: finding.Subject{File: sourceFile(q), Field: "ignore", Tensor: m.Weight.Name}, count: len(unlisted),
			title:    fmt.Sprintf("%s not quantised and not on the ignore list: %s", modulesAre(len(unlisted)), list(moduleNames(unlisted), 2)),
			evidence: []finding.Evidence{where(m.Weight, describeWeight(m)), says(sourceFile(q), "ignore", fmt.Sprintf("%d entries, none of which covers %s", len(q.Ignore), m.Name))},
		})
	}
	x.literalStars(q, modules)
	x.phantoms(q, modules)
}

// literalStars reports entries that, read as fnmatch reads them, cover further
// layers: model.layers.1* also matches layers 10 to 19.
func (x *inspector) literalStars(q *checkpoint.Quantisation, modules []*checkpoint.Module) {
	for _, entry := range q.Ignore {
		at := strings.IndexByte(entry, '*') - 1
		if at < 0 || entry[at] < '0' || entry[at] > '9' {
			continue
		}
		literal := checkpoint.Glob(entry)
		var covered []*checkpoint.Module
		for _, m := range modules {
			if m.Quantised() && literal(m.Name) {
				if _, meant := q.Ignores(m.Name); !meant {
					covered = append(covered, m)
				}
			}
		}
		if len(covered) == 0 {
			continue
		}
		x.add("CKPT-QUANT-016", hit{
			subject: finding.Subject{File: sourceFile(q), Field: "ignore", Tensor: covered[0].Weight.Name}, count: len(covered), severity: x.onNamed("sglang", "vllm"),
			title:    fmt.Sprintf("%q read literally covers %s that are quantised: %s", entry, plural(len(covered), "module", "modules"), list(moduleNames(covered), 2)),
			evidence: []finding.Evidence{says(sourceFile(q), "ignore", entry), where(covered[0].Weight, describeWeight(covered[0]))},
			sure:     finding.Likely,
		})
	}
}

// expected says whether an engine would look for a quantised weight in a module.
func (x *inspector) expected(q *checkpoint.Quantisation, m *checkpoint.Module) bool {
	if !x.l.quantisable(m) || len(m.Weight.Shape) > 2 {
		return false
	}
	switch {
	case len(q.Layers) > 0: // the layers that are quantised are listed by name
		_, ok := q.Layers[m.Name]
		return ok
	case methodOf(q) == "mxfp4": // gpt-oss: experts only
		return x.l.groupOf(m.Name) == "routed experts"
	}
	for _, g := range q.Groups {
		if slices.Contains(g.Targets, "Linear") {
			return true
		}
	}
	return false
}

// others are names that some configurations list and the tensor that is meant.
var others = map[string]string{"indexers_proj": "indexer.weights_proj"}

// phantoms reports entries of the ignore list that name nothing.
func (x *inspector) phantoms(q *checkpoint.Quantisation, modules []*checkpoint.Module) {
	known := map[string]bool{}
	for _, t := range x.c.Tensors() {
		known[t.Name] = true
	}
	for _, m := range modules {
		for name := m.Name; ; {
			if known[name] && name != m.Name {
				break
			}
			known[name] = true
			i := strings.LastIndexByte(name, '.')
			if i < 0 {
				break
			}
			known[name[i+1:]] = true
			name = name[:i]
		}
	}
	var nothing []string
	for _, entry := range q.Ignore {
		if strings.Contains(entry, "*") || strings.HasPrefix(entry, "re:") || known[entry] || known["model."+entry] {
			continue
		}
		nothing = append(nothing, entry)
	}
	used := q.Used(moduleNames(modules))
	for _, entry := range q.Ignore {
		if (strings.Contains(entry, "*") || strings.HasPrefix(entry, "re:")) && !used[entry] {
			nothing = append(nothing, entry)
		}
	}
	if len(nothing) == 0 {
		return
	}
	h := hit{
		subject: finding.Subject{File: sourceFile(q), Field: "ignore"}, count: len(nothing),
		title: fmt.Sprintf("%s of the ignore list %s nothing: %s", plural(len(nothing), "entry", "entries"), names(len(nothing)), list(nothing, 2)),
	}
	for _, f := range collapse(nothing) {
		if len(h.evidence) == maxEvidence {
			break
		}
		text := f.String()
		last := text[strings.LastIndexByte(text, '.')+1:]
		if meant := others[last]; meant != "" {
			h.why = fmt.Sprintf("%s is no tensor; what is meant is %s. A loader that matches names literally takes that one for quantised.", last, meant)
		}
		h.evidence = append(h.evidence, says(sourceFile(q), "ignore", text))
	}
	x.add("CKPT-QUANT-003", h)
}

func names(n int) string {
	if n == 1 {
		return "names"
	}
	return "name"
}

// twoFiles compares quantization_config with hf_quant_config.json.
func (x *inspector) twoFiles(q *checkpoint.Quantisation) {
	hf := x.c.Config.HFQuant.Obj("quantization")
	flat := x.c.Config.Config.Obj("quantization_config")
	if hf == nil || flat == nil {
		return
	}
	const file = "hf_quant_config.json"
	if a, b := hf.Text("quant_algo"), flat.Text("quant_algo"); a != "" && b != "" && a != b {
		x.add("CKPT-QUANT-010", hit{
			subject:  finding.Subject{File: file, Field: "quantization.quant_algo"},
			title:    fmt.Sprintf("config.json says %s and %s says %s", b, file, a),
			evidence: []finding.Evidence{says(configFile, "quantization_config.quant_algo", b), says(file, "quantization.quant_algo", a)},
		})
	}
	inHF, inFlat := sorted(hf, "exclude_modules"), sorted(flat, "ignore", "exclude_modules")
	if only := difference(inHF, inFlat); len(only)+len(difference(inFlat, inHF)) > 0 && len(inHF) > 0 && len(inFlat) > 0 {
		text := "only in config.json: " + list(difference(inFlat, inHF), 2)
		if len(only) > 0 {
			text = "only in " + file + ": " + list(only, 2)
		}
		x.add("CKPT-QUANT-010", hit{
			subject:  finding.Subject{File: file, Field: "quantization.exclude_modules"},
			title:    "The ignore lists of config.json and " + file + " differ: " + text,
			evidence: []finding.Evidence{says(file, "quantization.exclude_modules", text)},
		})
	}
}

func sorted(o hfconfig.Object, fields ...string) []string {
	var out []string
	for _, f := range fields {
		out = append(out, o.Strings(f)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// difference lists what is in a and not in b; both are sorted.
func difference(a, b []string) []string {
	var out []string
	for _, s := range a {
		if _, found := slices.BinarySearch(b, s); !found {
			out = append(out, s)
		}
	}
	return out
}

// activationScales looks for the static scales that activations need.
func (x *inspector) activationScales(q *checkpoint.Quantisation, quantised []*checkpoint.Module) {
	static, fp4 := false, false
	for _, g := range q.Groups {
		static = static || g.Static
		fp4 = fp4 || g.Activation && g.Bits == 4 && g.Type == "float" && g.GroupSize == 16
	}
	if strings.HasPrefix(q.Algo, "W4A16") {
		return
	}
	var without []*checkpoint.Module
	with := 0
	for _, m := range quantised {
		needs := static && (m.Storage == checkpoint.FP8Tensor || m.Storage == checkpoint.FP8Channel)
		needs = needs || (static || fp4) && m.Storage == checkpoint.NVFP4
		switch {
		case !needs:
		case m.Parts["input_scale"] == nil && m.Parts["input_global_scale"] == nil:
			without = append(without, m)
		default:
			with++
		}
	}
	if len(without) == 0 {
		return
	}
	m := without[0]
	x.add("CKPT-QUANT-012", hit{
		subject: finding.Subject{File: m.Weight.File, Tensor: m.Name + ".input_scale"}, count: len(without),
		title:    fmt.Sprintf("%s without input_scale, %s with: %s", plural(len(without), "module", "modules"), group(int64(with)), list(moduleNames(without), 2)),
		evidence: []finding.Evidence{where(m.Weight, describeWeight(m)), {Kind: "tensor", Tensor: m.Name + ".input_scale", Text: "not in any file"}},
	})
}

// cacheScales compares the promise of an FP8 KV cache with the scales for it.
func (x *inspector) cacheScales(q *checkpoint.Quantisation) {
	have := map[int]bool{}
	for _, m := range x.c.Modules() {
		for _, part := range []string{"k_scale", "v_scale", "kv_scale"} {
			if m.Parts[part] != nil {
				if i, ok := layerOf(m.Name); ok {
					have[i] = true
				}
			}
		}
	}
	switch {
	case len(have) > 0 && len(have) < x.l.layers && !x.incomplete():
		var without []int
		for i := range min(x.l.layers, maxLayers) {
			if !have[i] {
				without = append(without, i)
			}
		}
		x.add("CKPT-QUANT-014", hit{
			subject: finding.Subject{File: x.someFile(), Tensor: fmt.Sprintf("%slayers.%d.self_attn", x.l.prefix, without[0])}, count: len(without),
			title:    fmt.Sprintf("%s of %d without scales for the KV cache: %s", plural(len(without), "layer", "layers"), x.l.layers, ranges(without)),
			evidence: []finding.Evidence{{Kind: "tensor", Tensor: fmt.Sprintf("%slayers.%s.self_attn.*", x.l.prefix, ranges(without)), Text: "neither k_scale nor v_scale"}},
		})
	case len(have) == 0 && q.KV != "" && len(x.c.Tensors()) > 0:
		h := hit{
			subject:  finding.Subject{File: sourceFile(q), Field: "kv_cache_scheme"},
			evidence: []finding.Evidence{says(sourceFile(q), "kv_cache_scheme", q.KV), {Kind: "tensor", Text: "no tensor is called k_scale, v_scale or kv_scale"}},
			severity: x.onNamed("sglang", "vllm"),
		}
		x.add("CKPT-QUANT-013", h)
	}
}
