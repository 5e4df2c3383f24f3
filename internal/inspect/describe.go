package inspect

import (
	"cmp"
	"fmt"
	"slices"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/memfit"
)

// describe says what the checkpoint is.
func (x *inspector) describe() finding.CheckpointMsg {
	c, l := x.c, x.l
	m := finding.CheckpointMsg{
		Path: c.Path, Format: string(c.Format), Family: l.family, Architecture: l.arch, HeadersOnly: c.HeadersOnly(),
		Tensors: len(c.Tensors()), Layers: l.layers, ContextLength: l.context,
		Quantisation: describeQuantisation(c.Quantisation()),
		Engine:       x.o.Engine, EngineVersion: x.o.Version, ScannedBytes: x.scanned, Checks: len(Checks), Notes: x.notes,
	}
	for _, f := range c.Files {
		if f.Present() {
			m.Files++
			m.Bytes += f.Size
		}
	}
	m.DraftLayers = x.draftCount()
	m.Groups, m.Parameters = x.groups()
	if m.Parameters == 0 && l.known { // only names are known: what config.json promises
		for _, w := range l.wants() {
			n := int64(1)
			for _, d := range w.shape {
				n *= int64(d)
			}
			m.Parameters += n
		}
	}
	if c.Config.Config != nil {
		for _, k := range memfit.Layouts(&c.Config) {
			how := k.How
			if x.o.Context > 0 {
				how += fmt.Sprintf("; %s tokens: %s", group(int64(x.o.Context)), bytesText(int64(k.BytesPerToken*float64(x.o.Context))))
			}
			m.KV = append(m.KV, finding.KVLayout{Name: k.Name, BytesPerToken: k.BytesPerToken, How: how})
		}
	}
	if x.o.GPU != nil {
		m.Hardware = x.o.GPU.String()
	}
	if tp, pp, ep := x.degrees(); tp*pp*ep > 1 {
		m.Parallel = fmt.Sprintf("tp %d", tp)
		if pp > 1 {
			m.Parallel += fmt.Sprintf(", pp %d", pp)
		}
		if ep > 1 {
			m.Parallel += fmt.Sprintf(", ep %d", ep)
		}
	}
	if c.Format == checkpoint.GGUF {
		x.describeGGUF(&m)
	}
	return m
}

// draftCount is the number of layers for multi-token prediction in the files.
func (x *inspector) draftCount() int {
	seen := map[int]bool{}
	for _, t := range x.c.Tensors() {
		if i, ok := layerOf(t.Name); ok && x.l.layers > 0 && i >= x.l.layers && x.l.groupOf(t.Name) == "multi-token prediction" {
			seen[i] = true
		}
	}
	return len(seen)
}

// groups adds up the weights by kind of module and storage.
func (x *inspector) groups() (out []finding.WeightGroup, parameters int64) {
	index := map[[2]string]int{}
	for _, m := range x.c.Modules() {
		format := formatName(m)
		key := [2]string{x.l.groupOf(m.Name), format}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, finding.WeightGroup{Name: key[0], Format: format})
		}
		g := &out[i]
		g.Modules++
		n := parametersOf(m)
		g.Parameters += n
		parameters += n
		for _, t := range m.Parts {
			g.Bytes += max(t.Size, 0)
		}
	}
	slices.SortFunc(out, func(a, b finding.WeightGroup) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Modules, a.Modules), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Format, b.Format))
	})
	return out, parameters
}

// formatName is how a group shows a storage.
func formatName(m *checkpoint.Module) string {
	switch {
	case m.Weight == nil:
		return "scales"
	case m.Storage == checkpoint.Plain && m.Weight.Known(), m.Storage == checkpoint.GGMLBlock:
		return string(m.Weight.DType)
	}
	return string(m.Storage)
}

// parametersOf counts the numbers that a module stands for.
func parametersOf(m *checkpoint.Module) int64 {
	w := m.Weight
	n := int64(0)
	switch {
	case w == nil || !w.Known():
		return 0
	case m.Out > 0 && m.In > 0:
		n = int64(m.Out) * int64(m.In)
	case w.DType == checkpoint.U8 && (m.Storage == checkpoint.NVFP4 || m.Storage == checkpoint.MXFP4Block):
		n = 2 * w.Elements()
	default:
		n = w.Elements()
	}
	if b := m.Parts["bias"]; b != nil {
		n += b.Elements()
	}
	return n
}
