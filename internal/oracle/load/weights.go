package load

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/kernel"
	"shakedown/internal/numfmt"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/numerics"
)

// weights gives the weights of a checkpoint to a model.
type weights struct {
	c   *checkpoint.Checkpoint
	num numerics.Numerics
}

var _ oracle.Weights = (*weights)(nil)

// Has says whether a tensor is there.
func (w *weights) Has(tensor string) bool { return w.c.Tensor(tensor) != nil }

// elements are the plain element types, by their number in GGUF files, which
// package kernel uses.
var elements = map[checkpoint.DType]numfmt.GGUF{
	checkpoint.F32: numfmt.GGUFF32, checkpoint.F16: numfmt.GGUFF16, checkpoint.BF16: numfmt.GGUFBF16,
}

// Linear binds a module.
func (w *weights) Linear(module string, rows, cols int) (*kernel.Matrix, oracle.Stored, error) {
	m := w.c.Module(module)
	if m == nil || m.Weight == nil {
		return nil, oracle.Stored{}, fmt.Errorf("%s.weight is missing: a matrix of %d x %d is expected", module, rows, cols)
	}
	fail := func(err error) (*kernel.Matrix, oracle.Stored, error) {
		return nil, oracle.Stored{}, fmt.Errorf("%s: %s: %w", m.Weight.File, m.Weight.Name, err)
	}
	switch {
	case len(m.Missing) > 0:
		return fail(fmt.Errorf("stored as %s, %s is missing", m.Storage, strings.Join(m.Missing, ", ")))
	case m.Odd != "":
		return fail(fmt.Errorf("%s", m.Odd))
	}
	if in := columns(m, cols); m.Out != rows || in != cols {
		return fail(fmt.Errorf("shape %v, the config says %d x %d", []int{m.Out, in}, rows, cols))
	}
	matrix, stored, err := w.bind(m, cols)
	if err == nil && w.rounds(m) {
		matrix = matrix.RoundedBF16()
	}
	if err == nil && w.num.Has(numerics.UninitialisedShard) && strings.HasSuffix(module, ".down_proj") {
		matrix, err = halfLoaded(matrix)
	}
	if err != nil {
		return fail(err)
	}
	return matrix, stored, nil
}

// rounds says whether a quantised module is dequantised to bfloat16.
func (w *weights) rounds(m *checkpoint.Module) bool {
	return m.Quantised() && (w.num.Weights == numerics.WeightsBF16 || w.num.Act == numerics.BF16 && w.unquantised(m))
}

// unquantised says whether a module is multiplied without its quantisation
// whatever the scheme is: kv_b_proj where it is absorbed.
func (w *weights) unquantised(m *checkpoint.Module) bool {
	return w.num.MLA == numerics.Absorbed && strings.HasSuffix(m.Name, ".kv_b_proj")
}

// scales is the treatment of a module's block scales.
func (w *weights) scales(m *checkpoint.Module) numerics.Scales {
	switch {
	case w.unquantised(m):
		return numerics.ScalesExact
	case strings.Contains(m.Name, ".experts."):
		return w.num.MoEScales
	}
	return w.num.Scales
}

// bind makes the matrix of a module with so many columns by its storage.
func (w *weights) bind(m *checkpoint.Module, cols int) (*kernel.Matrix, oracle.Stored, error) {
	codes, err := m.Weight.Bytes()
	if err != nil {
		return nil, oracle.Stored{}, err
	}
	switch m.Storage {
	case checkpoint.Plain:
		matrix, err := dense(m.Weight.DType, codes, m.Out, m.In)
		return matrix, oracle.Stored{}, err
	case checkpoint.FP8Block, checkpoint.FP8Tensor, checkpoint.FP8Channel:
		return w.fp8(m, codes)
	case checkpoint.NVFP4:
		return nvfp4(m, codes)
	case checkpoint.MXFP4Block:
		scales, err := m.Scale.Bytes()
		if err != nil {
			return nil, oracle.Stored{}, err
		}
		matrix, err := kernel.MXFP4(codes, scales, m.Out, m.In)
		return matrix, oracle.Stored{}, err
	case checkpoint.MXFP8Block:
		scales, err := m.Scale.Bytes()
		if err != nil {
			return nil, oracle.Stored{}, err
		}
		matrix, err := kernel.MXFP8(numfmt.E4M3FN, codes, scales, m.Out, m.In)
		return matrix, oracle.Stored{}, err
	case checkpoint.PackedInt, checkpoint.GPTQ, checkpoint.AWQ:
		matrix, err := w.packed(m, codes, cols)
		return matrix, oracle.Stored{}, err
	case checkpoint.Int8:
		return w.int8(m, codes)
	}
	return nil, oracle.Stored{}, fmt.Errorf("stored as %s, which is not supported: plain, fp8 (block, tensor, channel), nvfp4, mxfp4, mxfp8, int8, and packed-int, gptq and awq of 4 or 8 bits are", m.Storage)
}

func dense(d checkpoint.DType, data []byte, rows, cols int) (*kernel.Matrix, error) {
	t, ok := elements[d]
	if !ok {
		return nil, fmt.Errorf("type %s is not supported: BF16, F16, F32 are", d)
	}
	return kernel.Dense(t, data, rows, cols)
}

// fp8 binds FP8 codes, their scales treated as the numerics say.
func (w *weights) fp8(m *checkpoint.Module, codes []byte) (*kernel.Matrix, oracle.Stored, error) {
	if m.Weight.DType != checkpoint.F8E4M3 {
		return nil, oracle.Stored{}, fmt.Errorf("type %s is not supported: F8_E4M3 is", m.Weight.DType)
	}
	scales, err := floats(m.Scale)
	if err != nil {
		return nil, oracle.Stored{}, err
	}
	if len(scales) == 0 {
		return nil, oracle.Stored{}, fmt.Errorf("%s is empty", m.Scale.Name)
	}
	stored := oracle.Stored{Format: oracle.FP8Channel}
	grid := kernel.PerTensor(scales[0], m.Out, m.In)
	switch m.Storage {
	case checkpoint.FP8Channel:
		grid = kernel.PerChannel(scales, m.In)
	case checkpoint.FP8Block:
		stored.Format = oracle.FP8Block
		if codes, scales, err = treat(w.scales(m), codes, scales, m.Out, m.In); err != nil {
			return nil, stored, err
		}
		grid = kernel.Blocks128(scales)
	}
	matrix, err := kernel.FP8(numfmt.E4M3FN, codes, m.Out, m.In, grid)
	return matrix, stored, err
}

// treat gives blocks the scales that an engine would multiply with.
func treat(how numerics.Scales, codes []byte, scales []float32, rows, cols int) ([]byte, []float32, error) {
	gridRows, gridCols := (rows+numfmt.FP8Block-1)/numfmt.FP8Block, (cols+numfmt.FP8Block-1)/numfmt.FP8Block
	if len(scales) != gridRows*gridCols {
		return nil, nil, fmt.Errorf("%d scales, %d x %d are expected", len(scales), gridRows, gridCols)
	}
	switch how {
	case numerics.ScalesE8M0:
		codes, scales = numfmt.RequantizeUE8M0(codes, scales, rows, cols)
	case numerics.ScalesCeil:
		scales = slices.Clone(scales)
		for i, s := range scales {
			scales[i] = numfmt.CeilUE8M0(s)
		}
	case numerics.ScalesPacked:
		words := numfmt.PackUE8M0Rows(scales, gridRows, gridCols, true)
		scales = numfmt.UnpackUE8M0Rows(words, gridRows, gridCols)
	}
	return codes, scales, nil
}

// nvfp4 binds E2M1 codes. A modelopt checkpoint without input_scale gets 0, as
// engines read it; one of compressed-tensors without input_global_scale is made
// for plain inputs.
func nvfp4(m *checkpoint.Module, codes []byte) (*kernel.Matrix, oracle.Stored, error) {
	scales, err := m.Scale.Bytes()
	if err != nil {
		return nil, oracle.Stored{}, err
	}
	global, err := scalar(m.Global)
	if err != nil {
		return nil, oracle.Stored{}, err
	}
	stored := oracle.Stored{Format: oracle.NVFP4}
	if m.Reciprocal {
		stored.Format = oracle.Plain
		if in := m.Parts["input_global_scale"]; in != nil {
			reciprocal, err := scalar(in)
			if err != nil {
				return nil, stored, err
			}
			stored = oracle.Stored{Format: oracle.NVFP4, InputScale: 1 / reciprocal}
		}
	} else if in := m.Parts["input_scale"]; in != nil {
		if stored.InputScale, err = scalar(in); err != nil {
			return nil, stored, err
		}
	}
	matrix, err := kernel.NVFP4(codes, scales, kernel.Global{Value: global, Reciprocal: m.Reciprocal}, m.Out, m.In)
	return matrix, stored, err
}

// Fused binds one expert of a tensor that holds all.
func (w *weights) Fused(tensor string, i, from, rows, cols int) (*kernel.Matrix, error) {
	t := w.c.Tensor(tensor)
	if t == nil {
		return nil, fmt.Errorf("%s is missing: experts in one tensor are expected", tensor)
	}
	if len(t.Shape) != 3 || i >= t.Shape[0] || from+rows > t.Shape[1] || t.Shape[2] != cols {
		return nil, fmt.Errorf("%s: %s: shape %v, expert %d with rows %d to %d of %d columns is expected", t.File, tensor, t.Shape, i, from, from+rows, cols)
	}
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	kind, ok := elements[t.DType]
	if !ok {
		return nil, fmt.Errorf("%s: %s: type %s of experts in one tensor is not supported: BF16, F16, F32 are", t.File, tensor, t.DType)
	}
	_, size, _ := kind.Block()
	at := (i*t.Shape[1] + from) * cols * size
	return kernel.Dense(kind, data[at:at+rows*cols*size], rows, cols)
}

// Vector is a tensor of so many values.
func (w *weights) Vector(tensor string, width int) ([]float32, error) {
	return vectorOf(w.c, tensor, width)
}

func vectorOf(c *checkpoint.Checkpoint, tensor string, width int) ([]float32, error) {
	t := c.Tensor(tensor)
	switch {
	case t == nil:
		return nil, fmt.Errorf("%s is missing: %d values are expected", tensor, width)
	case t.Elements() != int64(width):
		return nil, fmt.Errorf("%s: %s: shape %v, the config says %d values", t.File, tensor, t.Shape, width)
	}
	return floats(t)
}

// floats decodes a plain tensor.
func floats(t *checkpoint.Tensor) ([]float32, error) {
	kind, ok := elements[t.DType]
	if !ok {
		return nil, fmt.Errorf("%s: %s: type %s, BF16, F16 or F32 is expected", t.File, t.Name, t.DType)
	}
	data, err := t.Read()
	if err != nil {
		return nil, err
	}
	out := make([]float32, t.Elements())
	kind.Decode(out, data)
	return out, nil
}

// scalar decodes a tensor of one value.
func scalar(t *checkpoint.Tensor) (float32, error) {
	v, err := floats(t)
	if err != nil {
		return 0, err
	}
	if len(v) != 1 {
		return 0, fmt.Errorf("%s: %s: shape %v, one value is expected", t.File, t.Name, t.Shape)
	}
	return v[0], nil
}

// halfLoaded is a matrix whose second half of rows holds what its memory held
// before: arbitrary bfloat16 bits, here from a fixed sequence (splitmix64).
func halfLoaded(m *kernel.Matrix) (*kernel.Matrix, error) {
	rows, cols := m.Rows(), m.Cols()
	values := make([]float32, rows*cols)
	var state uint64
	for r := range rows {
		row := values[r*cols:][:cols]
		if r < rows/2 {
			m.Row(r, row)
			continue
		}
		for c := range row {
			state += 0x9e3779b97f4a7c15
			z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
			z = (z ^ z>>27) * 0x94d049bb133111eb
			row[c] = numfmt.BF16(uint16(z >> 48))
		}
	}
	return kernel.FromFloats(values, rows, cols)
}
