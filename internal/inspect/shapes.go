package inspect

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
)

// shapes compares the tensors with what config.json promises.
func (x *inspector) shapes() {
	if !x.l.known || len(x.c.Tensors()) == 0 {
		return
	}
	// A file that is missing or cut explains its tensors; they are not named again.
	incomplete := slices.ContainsFunc(x.c.Problems, func(p checkpoint.Problem) bool {
		return p.Fatal && p.Kind != checkpoint.TrailingBytes
	})
	var missing []want
	var wrong []mismatch
	for _, w := range x.l.wants() {
		m := x.c.Module(w.module)
		t := weightOf(m, w.part)
		switch {
		case t == nil && x.elsewhere(w):
		case t == nil:
			missing = append(missing, w)
		case t.Known():
			if got := logical(m, t, w.part); got != nil && !slices.Equal(got, w.shape) {
				wrong = append(wrong, mismatch{w, t, got})
			}
		}
	}
	if !incomplete {
		x.missing(missing)
	}
	x.wrong(wrong)
	x.otherTypes()
}

// plainTypes are the types of weights that are not quantised, as config.json
// spells them.
var plainTypes = map[checkpoint.DType]string{checkpoint.BF16: "bfloat16", checkpoint.F16: "float16", checkpoint.F32: "float32", checkpoint.F64: "float64"}

// otherTypes compares the type of plain matrices with that of config.json. Small
// tensors are often kept in float32 on purpose.
func (x *inspector) otherTypes() {
	said := x.l.config.Text("dtype")
	if said == "" {
		said = x.l.config.Text("torch_dtype")
	}
	said = strings.TrimPrefix(said, "torch.")
	if said == "" || said == "auto" {
		return
	}
	var other []string
	var first *checkpoint.Tensor
	for _, m := range x.c.Modules() {
		w := m.Weight
		if w == nil || !w.Known() || m.Quantised() || len(w.Shape) < 2 || plainTypes[w.DType] == "" || plainTypes[w.DType] == said || x.l.groupOf(m.Name) == "router" {
			continue
		}
		other = append(other, w.Name)
		if first == nil {
			first = w
		}
	}
	if first == nil {
		return
	}
	x.add("CKPT-SHAPE-003", hit{
		subject: finding.Subject{File: first.File, Tensor: first.Name, Field: "dtype"}, count: len(other),
		title:    fmt.Sprintf("%s %s and config.json says %s: %s", plural(len(other), "matrix is", "matrices are"), first.DType, said, list(other, 2)),
		evidence: []finding.Evidence{where(first, fmt.Sprintf("%s %v", first.DType, first.Shape)), says(configFile, "dtype", said)},
	})
}

// mismatch is a tensor with another shape than promised.
type mismatch struct {
	want
	tensor *checkpoint.Tensor
	got    []int
}

// weightOf is the tensor of a module that holds a part.
func weightOf(m *checkpoint.Module, part string) *checkpoint.Tensor {
	if m == nil {
		return nil
	}
	if part == "weight" {
		return m.Weight
	}
	return m.Parts[part]
}

// logical is the shape of a weight as a matrix of numbers; nil when the storage
// does not tell it.
func logical(m *checkpoint.Module, t *checkpoint.Tensor, part string) []int {
	if part != "weight" || !m.Quantised() {
		return t.Shape
	}
	if m.Out > 0 && m.In > 0 {
		return []int{m.Out, m.In}
	}
	return nil
}

// elsewhere says whether a module that is not there under its usual name is
// stored in another way: experts of a layer in one tensor, as transformers 5
// writes them, or a head that is tied although the configuration doesn't say so.
func (x *inspector) elsewhere(w want) bool {
	if i := strings.Index(w.module, ".mlp.experts."); i >= 0 {
		at := w.module[:i] + ".mlp.experts."
		if strings.HasSuffix(w.module, "down_proj") {
			return x.c.Module(at+"down_proj") != nil
		}
		return x.c.Module(at+"gate_up_proj") != nil
	}
	if i := strings.LastIndexByte(w.module, '.'); i >= 0 {
		at := w.module[:i+1]
		switch w.module[i+1:] {
		case "gate_proj", "up_proj":
			return x.c.Module(at+"gate_up_proj") != nil
		case "q_proj", "k_proj", "v_proj":
			return x.c.Module(at+"qkv_proj") != nil
		case "q_a_proj", "kv_a_proj_with_mqa":
			return x.c.Module(at+"fused_qkv_a_proj_with_mqa") != nil
		}
	}
	return false
}

// missing makes one finding of all tensors that are not there.
func (x *inspector) missing(ws []want) {
	if len(ws) == 0 {
		return
	}
	names := make([]string, len(ws))
	for i, w := range ws {
		names[i] = w.module + "." + w.part
		if x.c.Module(w.module) == nil && strings.HasSuffix(w.module, "e_score_correction_bias") {
			names[i] = w.module
		}
	}
	h := hit{
		subject: finding.Subject{File: x.someFile(), Tensor: names[0]}, count: len(ws),
		title: fmt.Sprintf("%s that config.json needs %s missing: %s", plural(len(ws), "tensor", "tensors"), isAre(len(ws)), list(names, 3)),
	}
	for _, f := range collapse(names) {
		if len(h.evidence) == maxEvidence {
			break
		}
		h.evidence = append(h.evidence, finding.Evidence{Kind: "tensor", Tensor: f.String(), Text: "not in any file"})
	}
	x.add("CKPT-SHAPE-002", h)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// someFile names the file that a finding about the whole checkpoint points to.
func (x *inspector) someFile() string {
	switch {
	case x.c.Index != nil:
		return x.c.Index.File
	case len(x.c.Files) > 0:
		return x.c.Files[0].Name
	}
	return ""
}

// wrong makes a finding of each kind of tensor with a wrong shape.
func (x *inspector) wrong(ms []mismatch) {
	type kind struct{ key, shapes string }
	groups := map[kind][]mismatch{}
	var order []kind
	for _, m := range ms {
		key, _ := split(m.tensor.Name)
		k := kind{key, fmt.Sprint(m.got, m.shape)}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], m)
	}
	for i, k := range order {
		if i == maxEvidence {
			x.notes = append(x.notes, fmt.Sprintf("%d further kinds of tensors contradict config.json", len(order)-i))
			return
		}
		all := groups[k]
		m := all[0]
		names := make([]string, len(all))
		for i, m := range all {
			names[i] = m.tensor.Name
		}
		x.add("CKPT-SHAPE-001", hit{
			subject: finding.Subject{File: m.tensor.File, Tensor: m.tensor.Name, Field: firstField(m.why)}, count: len(all),
			title:    fmt.Sprintf("%s is %v, config.json says %v (%s)", list(names, 1), m.got, m.shape, m.why),
			evidence: []finding.Evidence{where(m.tensor, fmt.Sprintf("%s %v", m.tensor.DType, m.tensor.Shape)), says(configFile, firstField(m.why), fmt.Sprint(m.shape))},
		})
	}
}

// firstField is the first name of a field in an explanation.
func firstField(why string) string {
	for _, word := range strings.FieldsFunc(why, func(r rune) bool { return r == ' ' || r == ',' || r == '(' || r == ')' }) {
		if strings.Contains(word, "_") {
			return word
		}
	}
	return ""
}

// draftLayers compares the layers for multi-token prediction with what
// config.json promises.
func (x *inspector) draftLayers() {
	l := x.l
	if l.layers == 0 || len(x.c.Tensors()) == 0 {
		return
	}
	have := map[int]bool{}
	var beyond []string
	mtpNames := false
	for _, t := range x.c.Tensors() {
		if i, ok := layerOf(t.Name); ok && i >= l.layers && strings.HasPrefix(t.Name, l.prefix+"layers.") {
			have[i] = true
			beyond = append(beyond, t.Name)
		}
		mtpNames = mtpNames || strings.HasPrefix(t.Name, "mtp.")
	}
	if l.mtp > 0 && len(have) == 0 && !mtpNames && !x.incomplete() {
		x.add("CKPT-MTP-001", hit{
			subject: finding.Subject{File: configFile, Field: "num_nextn_predict_layers", Tensor: fmt.Sprintf("%slayers.%d", l.prefix, l.layers)},
			title:   fmt.Sprintf("config.json promises %s for multi-token prediction (layer %d), and no file has it", plural(l.mtp, "layer", "layers"), l.layers),
			evidence: []finding.Evidence{
				says(configFile, "num_nextn_predict_layers", fmt.Sprint(l.mtp)),
				{Kind: "tensor", Tensor: fmt.Sprintf("%slayers.%d.*", l.prefix, l.layers), Text: "not in any file"},
			},
		})
	}
	if len(have) > 0 && l.mtp == 0 && !slices.ContainsFunc(beyond, draftTensor) {
		x.add("CKPT-SHAPE-004", hit{
			subject: finding.Subject{File: configFile, Field: "num_hidden_layers", Tensor: beyond[0]}, count: len(have),
			title:    fmt.Sprintf("%s beyond the %d of config.json, and none is for multi-token prediction", plural(len(have), "layer", "layers"), l.layers),
			evidence: []finding.Evidence{says(configFile, "num_hidden_layers", fmt.Sprint(l.layers)), {Kind: "tensor", Tensor: list(beyond, 1)}},
		})
	} else if len(have) > 0 && l.mtp == 0 {
		x.add("CKPT-MTP-003", hit{
			subject: finding.Subject{File: configFile, Field: "num_hidden_layers", Tensor: beyond[0]}, count: len(have),
			title:    fmt.Sprintf("%s beyond the %d of config.json", plural(len(have), "layer", "layers"), l.layers),
			evidence: []finding.Evidence{{Kind: "tensor", Tensor: list(beyond, 1)}},
		})
	}
	if l.mtp == 0 || !l.known || x.incomplete() {
		return
	}
	for i := l.layers; i < l.layers+l.mtp; i++ {
		if have[i] {
			x.draftLayer(i)
		}
	}
}

// draftTensor says whether a tensor is one that only layers for multi-token
// prediction have.
func draftTensor(name string) bool {
	for _, part := range []string{".eh_proj.", ".enorm.", ".hnorm.", ".shared_head."} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// draftLayer checks one layer for multi-token prediction.
func (x *inspector) draftLayer(i int) {
	var missing []string
	var wrong []mismatch
	for _, w := range append(x.l.draft(i), x.l.layer(i)...) {
		m := x.c.Module(w.module)
		t := weightOf(m, w.part)
		switch {
		case t == nil && !x.elsewhere(w):
			missing = append(missing, w.module+"."+w.part)
		case t != nil && t.Known():
			if got := logical(m, t, w.part); got != nil && !slices.Equal(got, w.shape) {
				wrong = append(wrong, mismatch{w, t, got})
			}
		}
	}
	x.wrong(wrong)
	if len(missing) > 0 {
		x.add("CKPT-MTP-002", hit{
			subject: finding.Subject{File: x.someFile(), Tensor: missing[0]}, count: len(missing),
			title:    fmt.Sprintf("Layer %d for multi-token prediction lacks %s: %s", i, plural(len(missing), "tensor", "tensors"), list(missing, 3)),
			evidence: []finding.Evidence{{Kind: "tensor", Tensor: list(missing, maxEvidence), Text: "not in any file"}},
		})
	}
}

// incomplete says whether a file is missing or unreadable, so that tensors that
// are not there mean nothing.
func (x *inspector) incomplete() bool {
	return slices.ContainsFunc(x.c.Problems, func(p checkpoint.Problem) bool { return p.Fatal })
}

// indexers looks for indexes on layers that share one.
func (x *inspector) indexers() {
	if !x.l.known || !x.l.dsa() {
		return
	}
	var extra []string
	for i := range x.l.layers {
		m := x.c.Module(fmt.Sprintf("%slayers.%d.self_attn.indexer.wq_b", x.l.prefix, i))
		if m != nil && !x.l.fullIndex(i) {
			extra = append(extra, m.Name)
		}
	}
	if len(extra) > 0 {
		x.add("CKPT-DSA-001", hit{
			subject: finding.Subject{File: x.someFile(), Tensor: extra[0]}, count: len(extra),
			title:    fmt.Sprintf("%s that share an index carry one: %s", plural(len(extra), "layer", "layers"), list(extra, 1)),
			evidence: []finding.Evidence{{Kind: "tensor", Tensor: list(extra, 1)}},
		})
	}
}
