package kernel

import (
	"fmt"

	"shakedown/internal/numfmt"
)

// Matrix is a weight matrix, row-major, one row per output. It refers to the
// stored bytes it was made from (a mapped file, say), which must stay as they
// are; it holds no decoded copy. A Matrix may be used by several goroutines.
type Matrix struct {
	rows, cols int
	kind       string
	weights    weights
}

// weights decodes parts of rows. It is the only thing that a format must supply;
// what else it implements (the fused interfaces of product.go) makes it faster.
type weights interface {
	// decode writes the weights of row from column col on; col is a multiple of
	// segment.
	decode(dst []float32, row, col int)
}

// segment is the number of columns that are decoded at a time: a multiple of
// every block length of the formats here, and four rows of it leave room in a
// first-level cache of 32 KiB for the activations.
const segment = 512

// Rows is the number of outputs.
func (m *Matrix) Rows() int { return m.rows }

// Cols is the number of inputs.
func (m *Matrix) Cols() int { return m.cols }

// Kind names the format, such as "bf16" or "nvfp4".
func (m *Matrix) Kind() string { return m.kind }

// Row decodes row i into dst, Cols() values.
func (m *Matrix) Row(i int, dst []float32) {
	if i < 0 || i >= m.rows || len(dst) != m.cols {
		panic(fmt.Sprintf("kernel: row %d into %d values of a %d x %d matrix", i, len(dst), m.rows, m.cols))
	}
	for c := 0; c < m.cols; c += segment {
		m.weights.decode(dst[c:min(c+segment, m.cols)], i, c)
	}
}

// Slice is the matrix of the rows [lo, hi), over the same bytes.
func (m *Matrix) Slice(lo, hi int) *Matrix {
	if lo < 0 || hi > m.rows || lo > hi {
		panic(fmt.Sprintf("kernel: rows [%d, %d) of %d", lo, hi, m.rows))
	}
	s := *m
	s.rows = hi - lo
	s.weights = shifted(m.weights, lo)
	return &s
}

// shiftedRows is a matrix without its first rows.
type shiftedRows struct {
	weights
	by int
}

func shifted(w weights, by int) weights {
	if by == 0 {
		return w
	}
	if s, ok := w.(shiftedRows); ok {
		return shiftedRows{s.weights, s.by + by}
	}
	return shiftedRows{w, by}
}

func (s shiftedRows) decode(dst []float32, row, col int) { s.weights.decode(dst, row+s.by, col) }

func wantBytes(what string, have, want int) error {
	if have != want {
		return fmt.Errorf("%s has %d bytes, %d expected", what, have, want)
	}
	return nil
}

func wantShape(rows, cols int) error {
	// The bound keeps every product of sizes below within an int64.
	const most = 1 << 30
	if rows < 0 || cols <= 0 || rows > most || cols > most {
		return fmt.Errorf("a matrix of %d x %d", rows, cols)
	}
	return nil
}

// FromFloats makes a matrix of float32 in memory.
func FromFloats(values []float32, rows, cols int) (*Matrix, error) {
	if err := wantShape(rows, cols); err != nil {
		return nil, err
	}
	if len(values) != rows*cols {
		return nil, fmt.Errorf("f32 weights: %d values, %d x %d expected", len(values), rows, cols)
	}
	return &Matrix{rows, cols, "f32", floats{values, cols}}, nil
}

type floats struct {
	values []float32
	cols   int
}

func (w floats) decode(dst []float32, row, col int) { copy(dst, w.values[row*w.cols+col:]) }

// Dense makes a matrix of unscaled elements, little-endian: GGUFF32, GGUFF16 or
// GGUFBF16 name the element format, or one of the block formats of GGUF.
func Dense(t numfmt.GGUF, data []byte, rows, cols int) (*Matrix, error) {
	if err := wantShape(rows, cols); err != nil {
		return nil, err
	}
	values, bytes, ok := t.Block()
	if !ok {
		return nil, fmt.Errorf("GGUF tensor %v is not supported: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K are", t)
	}
	if cols%values != 0 {
		return nil, fmt.Errorf("%v weights: a row of %d is no whole number of blocks of %d", t, cols, values)
	}
	if err := wantBytes(t.String()+" weights", len(data), rows*(cols/values)*bytes); err != nil {
		return nil, err
	}
	return &Matrix{rows, cols, t.String(), blocks{t, data, cols / values * bytes, values, bytes}}, nil
}

type blocks struct {
	t             numfmt.GGUF
	data          []byte
	stride        int // bytes of a row
	values, bytes int // of a block
}

func (w blocks) decode(dst []float32, row, col int) {
	w.t.Decode(dst, w.data[row*w.stride+col/w.values*w.bytes:])
}

// Scales is a grid of scales over a matrix: one for every Rows x Cols block,
// row-major, edge blocks partial. A weight is its code times its scale.
type Scales struct {
	Rows, Cols int // of a block
	Values     []float32
}

// PerTensor is one scale for a whole matrix.
func PerTensor(scale float32, rows, cols int) Scales { return Scales{rows, cols, []float32{scale}} }

// PerChannel is one scale for each row of a matrix.
func PerChannel(scales []float32, cols int) Scales { return Scales{1, cols, scales} }

// Blocks128 is the grid of DeepSeek's and GLM's FP8 checkpoints
// (weight_scale_inv).
func Blocks128(scales []float32) Scales {
	return Scales{numfmt.FP8Block, numfmt.FP8Block, scales}
}

func (s Scales) check(rows, cols int) error {
	if s.Rows <= 0 || s.Cols <= 0 {
		return fmt.Errorf("scale blocks of %d x %d", s.Rows, s.Cols)
	}
	if s.Cols < cols && s.Cols%16 != 0 {
		return fmt.Errorf("scale blocks of %d columns: a multiple of 16 is supported", s.Cols)
	}
	gridRows, gridCols := ceilDiv(rows, s.Rows), ceilDiv(cols, s.Cols)
	if len(s.Values) != gridRows*gridCols {
		return fmt.Errorf("%d scales, %d x %d expected for blocks of %d x %d", len(s.Values), gridRows, gridCols, s.Rows, s.Cols)
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// FP8 makes a matrix of FP8 codes with a grid of scales.
func FP8(f numfmt.FP8, codes []byte, rows, cols int, s Scales) (*Matrix, error) {
	if err := wantShape(rows, cols); err != nil {
		return nil, err
	}
	if err := wantBytes("FP8 weights", len(codes), rows*cols); err != nil {
		return nil, err
	}
	if err := s.check(rows, cols); err != nil {
		return nil, fmt.Errorf("FP8 weights of %d x %d: %w", rows, cols, err)
	}
	return &Matrix{rows, cols, "fp8-" + f.String(), fp8{f, codes, cols, s, ceilDiv(cols, s.Cols)}}, nil
}

type fp8 struct {
	f        numfmt.FP8
	codes    []byte
	cols     int
	scales   Scales
	gridCols int
}

func (w fp8) decode(dst []float32, row, col int) {
	codes := w.codes[row*w.cols+col:]
	scales := w.scales.Values[row/w.scales.Rows*w.gridCols:]
	for i := 0; i < len(dst); {
		block := (col + i) / w.scales.Cols
		end := min((block+1)*w.scales.Cols-col, len(dst))
		w.f.DecodeScaled(dst[i:end], codes[i:end], scales[block])
		i = end
	}
}

// Global is the scale of a whole NVFP4 tensor, and how the file spells it.
type Global struct {
	Value      float32
	Reciprocal bool // compressed-tensors: block scales are divided by Value
}

// NVFP4 makes a matrix of E2M1 codes, two to a byte, with an E4M3FN scale for each
// 16 columns and a global one.
func NVFP4(packed, scales []byte, global Global, rows, cols int) (*Matrix, error) {
	w := nibbles{codes: packed, scales: scales, cols: cols, group: numfmt.NVFP4Group, table: *numfmt.E2M1Table()}
	for c := range w.scale {
		w.scale[c] = numfmt.NVFP4Scale(uint8(c), global.Value)
		if global.Reciprocal {
			w.scale[c] = numfmt.NVFP4ScaleReciprocal(uint8(c), global.Value)
		}
	}
	return newNibbles("nvfp4", &w, rows, cols)
}

// MXFP4 makes a matrix of E2M1 codes, two to a byte, with an E8M0 scale for each
// 32 columns.
func MXFP4(packed, scales []byte, rows, cols int) (*Matrix, error) {
	w := nibbles{codes: packed, scales: scales, cols: cols, group: numfmt.MXGroup, table: *numfmt.E2M1Table()}
	for c := range w.scale {
		w.scale[c] = numfmt.E8M0(uint8(c))
	}
	return newNibbles("mxfp4", &w, rows, cols)
}

// nibbles are four-bit codes with a one-byte scale code per group.
type nibbles struct {
	codes, scales []byte
	cols, group   int
	table         [16]float32  // value of a code
	scale         [256]float32 // value of a scale code, the global scale included
}

func newNibbles(kind string, w *nibbles, rows, cols int) (*Matrix, error) {
	if err := wantShape(rows, cols); err != nil {
		return nil, err
	}
	if cols%w.group != 0 {
		return nil, fmt.Errorf("%s weights: a row of %d is no whole number of groups of %d", kind, cols, w.group)
	}
	if err := wantBytes(kind+" codes", len(w.codes), rows*cols/2); err != nil {
		return nil, err
	}
	if err := wantBytes(kind+" scales", len(w.scales), rows*cols/w.group); err != nil {
		return nil, err
	}
	return &Matrix{rows, cols, kind, w}, nil
}

func (w *nibbles) decode(dst []float32, row, col int) {
	codes := w.codes[(row*w.cols+col)/2:]
	scales := w.scales[(row*w.cols+col)/w.group:]
	for i := 0; i < len(dst); i += w.group {
		s := w.scale[scales[i/w.group]]
		for j := i; j < i+w.group; j += 2 {
			b := codes[j/2]
			dst[j], dst[j+1] = w.table[b&15]*s, w.table[b>>4]*s
		}
	}
}

// MXFP8 makes a matrix of FP8 codes with an E8M0 scale for each 32 columns.
func MXFP8(f numfmt.FP8, codes, scales []byte, rows, cols int) (*Matrix, error) {
	if err := wantShape(rows, cols); err != nil {
		return nil, err
	}
	if cols%numfmt.MXGroup != 0 {
		return nil, fmt.Errorf("mxfp8 weights: a row of %d is no whole number of groups of %d", cols, numfmt.MXGroup)
	}
	if err := wantBytes("mxfp8 codes", len(codes), rows*cols); err != nil {
		return nil, err
	}
	if err := wantBytes("mxfp8 scales", len(scales), rows*cols/numfmt.MXGroup); err != nil {
		return nil, err
	}
	return &Matrix{rows, cols, "mxfp8", mxfp8{f, codes, scales, cols}}, nil
}

type mxfp8 struct {
	f             numfmt.FP8
	codes, scales []byte
	cols          int
}

func (w mxfp8) decode(dst []float32, row, col int) {
	i := row*w.cols + col
	numfmt.DecodeMXFP8(dst, w.f, w.codes[i:], w.scales[i/numfmt.MXGroup:])
}

// Int4 makes a matrix of grouped four-bit integers: compressed-tensors directly,
// GPTQ and AWQ after numfmt.FromGPTQ and numfmt.FromAWQ.
func Int4(w *numfmt.Int4) (*Matrix, error) {
	if err := wantShape(w.Rows, w.Cols); err != nil {
		return nil, err
	}
	if w.Group <= 0 || w.Cols%2 != 0 {
		return nil, fmt.Errorf("int4 weights of %d columns in groups of %d: an even number of columns is supported", w.Cols, w.Group)
	}
	if err := wantBytes("int4 codes", len(w.Codes), w.Rows*w.Cols/2); err != nil {
		return nil, err
	}
	scales := w.Rows * w.Groups()
	if len(w.Scales) != scales || w.Zeros != nil && len(w.Zeros) != scales {
		return nil, fmt.Errorf("int4 weights: %d scales and %d zero points, %d rows x %d groups expected", len(w.Scales), len(w.Zeros), w.Rows, w.Groups())
	}
	if w.GroupOf != nil {
		if len(w.GroupOf) != w.Cols {
			return nil, fmt.Errorf("int4 weights: groups given for %d of %d columns", len(w.GroupOf), w.Cols)
		}
		for c, g := range w.GroupOf {
			if g < 0 || int(g) >= w.Groups() {
				return nil, fmt.Errorf("int4 weights: column %d is in group %d of %d", c, g, w.Groups())
			}
		}
	}
	return &Matrix{w.Rows, w.Cols, "int4", int4{w}}, nil
}

type int4 struct{ m *numfmt.Int4 }

func (w int4) decode(dst []float32, row, col int) { w.m.Decode(dst, row, col) }
