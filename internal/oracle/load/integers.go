package load

import (
	"encoding/binary"
	"fmt"
	"slices"

	"shakedown/internal/checkpoint"
	"shakedown/internal/kernel"
	"shakedown/internal/numfmt"
	"shakedown/internal/oracle"
)

// columns is the number of inputs of a module that should have cols. That of packed
// integers depends on their width, which the tensors do not tell and a
// configuration may give for some of the modules only: it is cols if that makes
// them 4 or 8 bits wide.
func columns(m *checkpoint.Module, cols int) int {
	if bits := width(m, cols); bits == 4 || bits == 8 {
		return cols
	}
	return m.In
}

// width is the number of bits of a packed integer in rows of cols; 0 where no
// whole number of them fills a word, or nothing is packed along the columns.
func width(m *checkpoint.Module, cols int) int {
	shape, along := m.Weight.Shape, -1
	switch m.Storage {
	case checkpoint.PackedInt:
		along = 1
	case checkpoint.GPTQ:
		along = 0
	}
	if along < 0 || len(shape) != 2 || 32*shape[along]%cols != 0 {
		return 0
	}
	return 32 * shape[along] / cols
}

// layouts are the known values of Quantisation.Layout by storage; empty is the
// first layout there was. GPTQ's is what its zero points mean.
var (
	gptqLayouts = map[string]numfmt.GPTQZero{
		"": numfmt.GPTQStoredMinusOne, "gptq": numfmt.GPTQStoredMinusOne, "auto_round:auto_gptq": numfmt.GPTQStoredMinusOne,
		"gptq_v2": numfmt.GPTQStored,
	}
	awqLayouts = []string{"", "gemm", "auto_round:auto_awq"}
)

// layout is how the configuration says that integers are packed.
func (w *weights) layout() string {
	if q := w.c.Quantisation(); q != nil {
		return q.Layout
	}
	return ""
}

// packed binds integers that are packed into words. GPTQ and AWQ pack them along
// the other side, so that they are copied.
func (w *weights) packed(m *checkpoint.Module, codes []byte, cols int) (*kernel.Matrix, error) {
	if m.Weight.DType != checkpoint.I32 {
		return nil, fmt.Errorf("type %s is not supported for packed integers: I32 is", m.Weight.DType)
	}
	if m.Storage == checkpoint.AWQ {
		return w.awq(m, codes)
	}
	bits := width(m, cols)
	if bits != 4 && bits != 8 {
		return nil, fmt.Errorf("packed integers of %d bits are not supported: 4 and 8 are", bits)
	}
	if m.Storage == checkpoint.GPTQ {
		return w.gptq(m, codes, bits, cols)
	}
	scales, group, err := w.groups(m, cols, 1)
	if err != nil {
		return nil, err
	}
	groups := (cols + group - 1) / group
	order, err := groupIndex(m, "weight_g_idx", cols)
	if err != nil {
		return nil, err
	}
	if slices.Contains(order, -1) { // as it was before the quantisation set it (compressed-tensors 0.12, quantization/lifecycle/forward.py)
		order = nil
	}
	var zeros []uint8
	if m.Parts["weight_zero_point"] != nil {
		packed, err := part(m, "weight_zero_point", checkpoint.I32, (m.Out*bits+31)/32*groups)
		if err != nil {
			return nil, err
		}
		zeros = numfmt.ZerosPackQuantized(packed, m.Out, groups, bits)
	}
	if bits == 4 {
		return kernel.Int4(&numfmt.Int4{Rows: m.Out, Cols: cols, Group: group, Codes: codes, Scales: scales, Zeros: zeros, GroupOf: order})
	}
	wide := &numfmt.Int8{Rows: m.Out, Cols: cols, Group: group, Codes: codes, Scales: scales, GroupOf: order}
	for _, z := range zeros {
		wide.Zeros = append(wide.Zeros, int16(z))
	}
	return kernel.Int8(wide)
}

func (w *weights) gptq(m *checkpoint.Module, codes []byte, bits, cols int) (*kernel.Matrix, error) {
	zero, ok := gptqLayouts[w.layout()]
	if !ok {
		return nil, fmt.Errorf("gptq in the layout %q is not supported: gptq and gptq_v2 are", w.layout())
	}
	scales, group, err := w.groups(m, cols, 0)
	if err != nil {
		return nil, err
	}
	groups := (cols + group - 1) / group
	zeros, err := part(m, "qzeros", checkpoint.I32, groups*((m.Out*bits+31)/32))
	if err != nil {
		return nil, err
	}
	order, err := groupIndex(m, "g_idx", cols)
	if err != nil {
		return nil, err
	}
	if bits == 8 {
		return kernel.Int8(numfmt.FromGPTQ8(codes, zeros, scales, order, m.Out, cols, group, zero))
	}
	return kernel.Int4(numfmt.FromGPTQ(codes, zeros, scales, order, m.Out, cols, group, zero))
}

func (w *weights) awq(m *checkpoint.Module, codes []byte) (*kernel.Matrix, error) {
	switch {
	case !slices.Contains(awqLayouts, w.layout()):
		return nil, fmt.Errorf("awq in the layout %q is not supported: gemm is", w.layout())
	case 8*m.Weight.Shape[1] != m.Out || m.In%2 != 0:
		return nil, fmt.Errorf("awq of other than 4 bits or of an odd number of inputs is not supported")
	}
	scales, group, err := w.groups(m, m.In, 0)
	if err != nil {
		return nil, err
	}
	zeros, err := part(m, "qzeros", checkpoint.I32, (m.In+group-1)/group*m.Out/8)
	if err != nil {
		return nil, err
	}
	return kernel.Int4(numfmt.FromAWQ(codes, zeros, scales, m.Out, m.In, group))
}

// groups are the scales of a module by groups of its cols columns, and how many
// columns make a group. along is the dimension of the scales that counts groups;
// the other counts rows.
func (w *weights) groups(m *checkpoint.Module, cols, along int) (scales []float32, group int, err error) {
	shape := m.Scale.Shape
	if len(shape) != 2 || shape[1-along] != m.Out || shape[along] == 0 {
		return nil, 0, fmt.Errorf("%s has shape %v: %d rows in groups are expected", m.Scale.Name, shape, m.Out)
	}
	if scales, err = floats(m.Scale); err != nil {
		return nil, 0, err
	}
	// The last group may be partial, so that its size can't be told from the shape.
	if q := w.c.Quantisation(); q != nil {
		for _, g := range q.Groups {
			if g.GroupSize > 0 && (cols+g.GroupSize-1)/g.GroupSize == shape[along] {
				return scales, g.GroupSize, nil
			}
		}
	}
	if cols%shape[along] != 0 {
		return nil, 0, fmt.Errorf("%s has shape %v: no group size makes %d groups of %d columns", m.Scale.Name, shape, shape[along], cols)
	}
	return scales, cols / shape[along], nil
}

// part is the bytes of a part of a module that has so many values of a type.
func part(m *checkpoint.Module, name string, d checkpoint.DType, values int) ([]byte, error) {
	t := m.Parts[name]
	if t.DType != d || t.Elements() != int64(values) {
		return nil, fmt.Errorf("%s is %s of shape %v, %d values of %s are expected", name, t.DType, t.Shape, values, d)
	}
	return t.Bytes()
}

// groupIndex is the group of every column, nil when the module does not have it.
func groupIndex(m *checkpoint.Module, name string, cols int) ([]int32, error) {
	if m.Parts[name] == nil {
		return nil, nil
	}
	data, err := part(m, name, checkpoint.I32, cols)
	if err != nil {
		return nil, err
	}
	out := make([]int32, cols)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out, nil
}

// int8 binds one code per byte, as w8a8 checkpoints of compressed-tensors have it.
func (w *weights) int8(m *checkpoint.Module, codes []byte) (*kernel.Matrix, oracle.Stored, error) {
	scales, err := floats(m.Scale)
	if err != nil {
		return nil, oracle.Stored{}, err
	}
	if m.BlockOut != 1 { // one scale for all rows
		scales = slices.Repeat(scales, m.Out)
	}
	wide := &numfmt.Int8{Rows: m.Out, Cols: m.In, Group: m.BlockIn, Codes: codes, Signed: true, Scales: scales}
	if m.Parts["weight_zero_point"] != nil {
		zeros, err := part(m, "weight_zero_point", checkpoint.I8, int(m.Scale.Elements()))
		if err != nil {
			return nil, oracle.Stored{}, err
		}
		for _, z := range zeros {
			wide.Zeros = append(wide.Zeros, int16(int8(z)))
		}
		if m.BlockOut != 1 {
			wide.Zeros = slices.Repeat(wide.Zeros, m.Out)
		}
	}
	stored, err := w.int8Input(m)
	if err != nil {
		return nil, stored, err
	}
	matrix, err := kernel.Int8(wide)
	return matrix, stored, err
}

// int8Input is what a kernel does with the input: quantise it per token, or with the
// module's input_scale.
func (w *weights) int8Input(m *checkpoint.Module) (oracle.Stored, error) {
	stored := oracle.Stored{Format: oracle.Int8Token}
	q := w.c.Quantisation()
	if q != nil && !slices.ContainsFunc(q.Groups, func(g checkpoint.QuantGroup) bool { return g.Activation }) && len(q.Groups) > 0 {
		return oracle.Stored{}, nil // weights only
	}
	if m.Parts["input_zero_point"] != nil {
		return stored, fmt.Errorf("input_zero_point (inputs that are not symmetric) is not supported")
	}
	if in := m.Parts["input_scale"]; in != nil {
		var err error
		stored.InputScale, err = scalar(in)
		return stored, err
	}
	return stored, nil
}
