package inspect

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
)

// degrees is the parallel layout of the question.
func (x *inspector) degrees() (tp, pp, ep int) {
	tp, pp, ep = x.o.TP, max(x.o.PP, 1), max(x.o.EP, 1)
	if tp <= 0 {
		tp = 1
		if x.o.GPU != nil {
			tp = max(1, x.o.GPU.Count/pp)
		}
	}
	return tp, pp, ep
}

// parallel checks that dimensions divide by the layout.
func (x *inspector) parallel() {
	l := x.l
	tp, pp, ep := x.degrees()
	if l.heads == 0 || l.layers == 0 || tp == 1 && pp == 1 && ep == 1 {
		return
	}
	say := func(field, format string, args ...any) {
		x.add("CKPT-PAR-001", hit{
			subject: finding.Subject{File: configFile, Field: field}, severity: finding.Warning,
			title:    fmt.Sprintf(format, args...),
			evidence: []finding.Evidence{says(configFile, field, fmt.Sprint(x.l.config[field]))},
			remedies: x.otherLayouts(tp),
		})
	}
	switch {
	case l.heads%tp != 0:
		say("num_attention_heads", "%d attention heads do not divide by %d GPUs (tp %d)", l.heads, tp, tp)
	case !l.mla() && l.kvHeads%tp != 0 && tp%l.kvHeads != 0:
		say("num_key_value_heads", "%d KV heads can be neither divided nor copied over %d GPUs (tp %d)", l.kvHeads, tp, tp)
	}
	if l.layers < pp {
		say("num_hidden_layers", "%d layers for %d pipeline stages (pp %d)", l.layers, pp, pp)
	}
	if ep > 1 && l.experts == 0 {
		say("n_routed_experts", "the model has no experts to spread over %d GPUs (ep %d)", ep, ep)
	} else if l.experts > 0 && l.experts%ep != 0 {
		say("n_routed_experts", "%d experts do not divide by %d GPUs (ep %d)", l.experts, ep, ep)
	}
	dense := false
	for i := range min(l.layers, maxLayers) {
		dense = dense || !l.sparse(i)
	}
	if dense && l.inter > 0 && l.inter%tp != 0 {
		say("intermediate_size", "intermediate_size %d does not divide by %d GPUs (tp %d)", l.inter, tp, tp)
	}
	if l.experts > 0 && ep == 1 && l.expertInter > 0 && l.expertInter%tp != 0 {
		say("moe_intermediate_size", "moe_intermediate_size %d does not divide by %d GPUs (tp %d)", l.expertInter, tp, tp)
	}
	x.blocks(tp, ep)
}

// otherLayouts offers degrees that divide the heads.
func (x *inspector) otherLayouts(tp int) []finding.Remedy {
	l := x.l
	var fits []string
	for n := 2; n <= min(l.heads, 64); n *= 2 {
		if l.heads%n == 0 && (l.inter == 0 || l.inter%n == 0) && (l.expertInter == 0 || l.expertInter%n == 0) && n != tp {
			fits = append(fits, fmt.Sprint(n))
		}
	}
	if len(fits) == 0 {
		return nil
	}
	return []finding.Remedy{{Title: "a tensor-parallel degree that divides: " + strings.Join(fits, ", ")}}
}

// blocks checks that a GPU's share of a quantised weight holds whole blocks.
// Column-parallel weights are divided along their outputs, row-parallel ones
// along their inputs.
func (x *inspector) blocks(tp, ep int) {
	if tp == 1 {
		return
	}
	type kind struct {
		key string
		dim int
	}
	seen := map[kind][]string{}
	var order []kind
	sample := map[kind]*checkpoint.Module{}
	for _, m := range x.c.Modules() {
		if !m.Quantised() || m.BlockOut == 0 || m.Out == 0 || ep > 1 && x.l.groupOf(m.Name) == "routed experts" {
			continue
		}
		size, block := x.shardSide(m)
		if size == 0 || size%tp != 0 || block <= 1 || (size/tp)%block == 0 || block >= size {
			continue
		}
		key, _ := split(m.Name)
		k := kind{key, size}
		if seen[k] == nil {
			order = append(order, k)
			sample[k] = m
		}
		seen[k] = append(seen[k], m.Name)
	}
	for _, k := range order[:min(len(order), maxEvidence)] {
		m := sample[k]
		size, block := x.shardSide(m)
		x.add("CKPT-PAR-002", hit{
			subject: finding.Subject{File: m.Weight.File, Tensor: m.Weight.Name}, count: len(seen[k]),
			title:    fmt.Sprintf("%s: %d / tp %d = %d does not divide by the block of %d", list(seen[k], 1), size, tp, size/tp, block),
			evidence: []finding.Evidence{where(m.Weight, describeWeight(m))},
			remedies: x.wholeBlocks(tp),
		})
	}
}

// column and row are the last parts of modules that are divided along outputs
// and along inputs.
var (
	column = []string{"q_proj", "k_proj", "v_proj", "q_b_proj", "kv_b_proj", "gate_proj", "up_proj", "gate_up_proj"}
	row    = []string{"o_proj", "down_proj"}
)

// shardSide is the dimension along which a weight is divided and its block along
// it; 0 for weights that every GPU holds whole.
func (x *inspector) shardSide(m *checkpoint.Module) (size, block int) {
	last := m.Name[strings.LastIndexByte(m.Name, '.')+1:]
	switch {
	case slices.Contains(column, last):
		return m.Out, m.BlockOut
	case slices.Contains(row, last):
		return m.In, m.BlockIn
	}
	return 0, 0
}

// wholeBlocks offers the degrees at which no block is divided.
func (x *inspector) wholeBlocks(tp int) []finding.Remedy {
	var fits []string
	for n := tp - 1; n >= 1; n-- {
		if n&(n-1) != 0 {
			continue
		}
		ok := x.l.heads%n == 0
		for _, m := range x.c.Modules() {
			if size, block := x.shardSide(m); ok && m.Quantised() && block > 1 && block < size && (size%n != 0 || (size/n)%block != 0) {
				ok = false
			}
		}
		if ok {
			fits = append(fits, fmt.Sprint(n))
		}
	}
	out := []finding.Remedy{}
	if len(fits) > 0 {
		out = append(out, finding.Remedy{Title: "a tensor-parallel degree at which every share holds whole blocks: " + strings.Join(fits, ", ")})
	}
	if x.l.experts > 0 {
		out = append(out, finding.Remedy{Title: "expert parallelism, which divides experts and not their blocks"})
	}
	return out
}
