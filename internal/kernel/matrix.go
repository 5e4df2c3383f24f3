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
	first      int // row of the weights that is row 0 here
	kind       string
	weights    weights
}

// weights decodes parts of rows. It is the only thing that a format must supply;
// what else it implements (the fused interfaces of product.go) makes it faster.
type weights interface {
	// decode writes the weights of row from column col on, at most segment of
	// them; col is a multiple of segment.
	decode(s *scratch, dst []float32, row, col int)
	// stored is where n weights of row from column col on lie, without their
	// scales; nil of floats.
	stored(row, col, n int) []byte
}

// segment is the number of columns that are decoded at a time: a multiple of
// every block length of the formats here, and 32 blocks of GGUF, whose minimums
// make whole lanes. Four rows of it and of the activations fit a first-level cache.
const segment = 1024

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
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for c := 0; c < m.cols; c += segment {
		m.weights.decode(s, dst[c:min(c+segment, m.cols)], m.first+i, c)
	}
}

// Slice is the matrix of the rows [lo, hi), over the same bytes.
func (m *Matrix) Slice(lo, hi int) *Matrix {
	if lo < 0 || hi > m.rows || lo > hi {
		panic(fmt.Sprintf("kernel: rows [%d, %d) of %d", lo, hi, m.rows))
	}
	s := *m
	s.rows, s.first = hi-lo, m.first+lo
	return &s
}

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
	return &Matrix{rows: rows, cols: cols, kind: "f32", weights: floats{values, cols}}, nil
}

type floats struct {
	values []float32
	cols   int
}

func (w floats) decode(_ *scratch, dst []float32, row, col int) { copy(dst, w.values[row*w.cols+col:]) }

func (floats) stored(int, int, int) []byte { return nil }

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
	m := &Matrix{rows: rows, cols: cols, kind: t.String()}
	if t == numfmt.GGUFBF16 || t == numfmt.GGUFF16 {
		m.weights = halves{t, data, 2 * cols}
	} else {
		m.weights = blocks{t, data, cols / values * bytes, values, bytes}
	}
	return m, nil
}

// blocks are the block formats of GGUF, and F32.
type blocks struct {
	t             numfmt.GGUF
	data          []byte
	stride        int // bytes of a row
	values, bytes int // of a block
}

func (w blocks) decode(s *scratch, dst []float32, row, col int) {
	if w.values == 1 {
		arith.decode32(dst, w.data[row*w.stride+col*w.bytes:])
		return
	}
	s.unpack(w, 0, row, col, len(dst))
	arith.codesDecode(dst, s.codes[:], float32(offsets[w.t]), s.scale[:], s.min[:])
}

func (w blocks) stored(row, col, n int) []byte {
	return w.data[row*w.stride+col/w.values*w.bytes:][:n/w.values*w.bytes]
}

// halves are BF16 or F16.
type halves struct {
	t      numfmt.GGUF
	data   []byte
	stride int
}

func (w halves) decode(_ *scratch, dst []float32, row, col int) {
	src := w.data[row*w.stride+2*col:]
	whole := len(dst) &^ 15
	arith.decode16(w.t, dst[:whole], src)
	w.t.Decode(dst[whole:], src[2*whole:])
}

func (w halves) dot(acc []lanes, s *scratch, row int, x []float32) bool {
	cols := w.stride / 2
	whole := cols &^ 15
	arith.dot16(w.t, acc, w.data[row*w.stride:], w.stride, x[:whole])
	dotTail(acc, s, w, row, whole, cols, x)
	return true
}

func (w halves) stored(row, col, n int) []byte { return w.data[row*w.stride+2*col:][:2*n] }

// dotTail adds the products of the last columns [from, to), at most 15, of a multiple
// of four rows.
func dotTail(acc []lanes, s *scratch, w weights, row, from, to int, x []float32) {
	if from == to {
		return
	}
	clear(s.tile[:4*16])
	var last [segment]float32
	start := from / segment * segment
	for r := range acc {
		w.decode(s, last[:to-start], row+r, start)
		copy(s.tile[16*(r%4):], last[from-start:to-start])
		if r%4 == 3 {
			arith.dot4x1(acc[r-3:], s.tile[:], 16, x[from:])
		}
	}
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
	return &Matrix{rows: rows, cols: cols, kind: "fp8-" + f.String(), weights: newFP8(f, codes, cols, s)}, nil
}

type fp8 struct {
	f        numfmt.FP8
	codes    []byte
	cols     int
	scales   Scales
	gridCols int
	// halves are the scales for codes that are read as binary16 (see toHalf); nil
	// if a code of this kind can't be, or a scale overflows.
	halves []float32
}

func newFP8(f numfmt.FP8, codes []byte, cols int, s Scales) fp8 {
	w := fp8{f: f, codes: codes, cols: cols, scales: s, gridCols: ceilDiv(cols, s.Cols)}
	if f != numfmt.E4M3FN {
		return w
	}
	halves := make([]float32, len(s.Values))
	for i, scale := range s.Values {
		half, ok := halfScale(scale)
		if !ok {
			return w
		}
		halves[i] = half
	}
	w.halves = halves
	return w
}

// toHalf is what the scale of a weight is multiplied by when its E4M3FN code is
// read as binary16 (see fp8Half). The product of the two factors is exact, so that
// the weight is rounded as ever, unless the scale leaves float32.
const toHalf = 256

// halfScale is the scale for arith.fp8Decode; ok is false where it would overflow.
func halfScale(scale float32) (s float32, ok bool) {
	s = scale * toHalf
	return s, scale-scale != 0 || s-s == 0
}

func (w fp8) decode(s *scratch, dst []float32, row, col int) {
	codes := w.codes[row*w.cols+col:][:len(dst)]
	grid := row / w.scales.Rows * w.gridCols
	whole := 0
	if w.halves != nil {
		whole = len(dst) &^ 15
	}
	for i := 0; i < len(dst); {
		// All blocks from one that begins here on, or what is left of one.
		block := (col + i) / w.scales.Cols
		end := min((block+1)*w.scales.Cols-col, len(dst))
		n := end
		if block*w.scales.Cols == col+i {
			n = len(dst)
		}
		if n = min(n, whole); i < n && arith.fp8Decode(s, dst[i:n], codes[i:], w.halves[grid+block:], w.scales.Cols) {
			i = n
			continue
		}
		w.f.DecodeScaled(dst[i:end], codes[i:end], w.scales.Values[grid+block])
		i = end
	}
}

func (w fp8) dot(acc []lanes, s *scratch, row int, x []float32) bool {
	if w.halves == nil {
		return false
	}
	whole := w.cols &^ 15
	for first, n := 0, 0; first < len(acc); first += n {
		// Rows share their scales, or each has its own.
		at, apart := row+first, w.gridCols
		n = len(acc) - first
		if w.scales.Rows > 1 {
			apart = 0
			if n = min(n, w.scales.Rows-at%w.scales.Rows) &^ 3; n == 0 {
				return false
			}
		}
		scales := w.halves[at/w.scales.Rows*w.gridCols:]
		if !arith.fp8Dot(s, acc[first:][:n], w.codes[at*w.cols:], w.cols, x[:whole], scales, apart, min(w.scales.Cols, w.cols)) {
			return false
		}
	}
	dotTail(acc, s, w, row, whole, w.cols, x)
	return true
}

func (w fp8) stored(row, col, n int) []byte { return w.codes[row*w.cols+col:][:n] }

// Global is the scale of a whole NVFP4 tensor, and how the file spells it.
type Global struct {
	Value      float32
	Reciprocal bool // compressed-tensors: block scales are divided by Value
}

// NVFP4 makes a matrix of E2M1 codes, two to a byte, with an E4M3FN scale for each
// 16 columns and a global one.
func NVFP4(packed, scales []byte, global Global, rows, cols int) (*Matrix, error) {
	w := nibbles{codes: packed, scales: scales, cols: cols, group: numfmt.NVFP4Group, table: *numfmt.E2M1Table()}
	if factor, ok := halfScale(global.Value); ok && !global.Reciprocal {
		w.half = []float32{factor}
	}
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
	half          []float32    // if one, scale codes are E4M3FN, and a scale is that times their fp8Half
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
	return &Matrix{rows: rows, cols: cols, kind: kind, weights: w}, nil
}

func (w *nibbles) decode(s *scratch, dst []float32, row, col int) {
	first := row*w.cols + col
	list := s.list[:len(dst)/w.group]
	w.scaleList(s, list, first)
	arith.nibbles(dst, w.codes[first/2:], &w.table, list)
}

func (w *nibbles) stored(row, col, n int) []byte { return w.codes[(row*w.cols+col)/2:][:n/2] }

// scaleList decodes the scales of the groups from weight number first on.
func (w *nibbles) scaleList(s *scratch, list []float32, first int) {
	codes := w.scales[first/w.group:][:len(list)]
	whole := 0
	if w.half != nil {
		whole = len(list) &^ 15
		if !arith.fp8Decode(s, list[:whole], codes, w.half, len(list)) {
			whole = 0
		}
	}
	for i := whole; i < len(list); i++ {
		list[i] = w.scale[codes[i]]
	}
}

// dot differs from decoding in that it decodes the scales of more columns at a time.
func (w *nibbles) dot(acc []lanes, s *scratch, row int, x []float32) bool {
	for r := 0; r < len(acc); r += 4 {
		w.dot4(acc[r:][:4], s, row+r, x)
	}
	return true
}

func (w *nibbles) dot4(acc []lanes, s *scratch, row int, x []float32) {
	most := min(halfSegment, w.cols) / w.group
	for c := 0; c < w.cols; c += halfSegment {
		n := min(halfSegment, w.cols-c)
		if n == w.cols { // the scales of all four rows
			w.scaleList(s, s.list[:4*most], row*w.cols)
		}
		for r := range 4 {
			if n < w.cols {
				w.scaleList(s, s.list[r*most:][:n/w.group], (row+r)*w.cols+c)
			}
			if row+r+4 < len(w.codes)*2/w.cols {
				arith.fetch(w.stored(row+r+4, c, n))
			}
		}
		if arith.nibblesDot(acc, w.codes[(row*w.cols+c)/2:], w.cols/2, x[c:c+n], &w.table, s.list[:], most, w.group) {
			continue
		}
		for d := 0; d < n; d += segment {
			k := min(segment, n-d)
			for r := range 4 {
				codes := w.codes[((row+r)*w.cols+c+d)/2:]
				arith.nibbles(s.tile[r*segment:][:k], codes, &w.table, s.list[r*most+d/w.group:][:k/w.group])
			}
			arith.dot4x1(acc, s.tile[:], segment, x[c+d:][:k])
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
	return &Matrix{rows: rows, cols: cols, kind: "mxfp8", weights: mxfp8{f, codes, scales, cols}}, nil
}

type mxfp8 struct {
	f             numfmt.FP8
	codes, scales []byte
	cols          int
}

func (w mxfp8) decode(s *scratch, dst []float32, row, col int) {
	first := row*w.cols + col
	codes, scales := w.codes[first:], w.scales[first/numfmt.MXGroup:][:len(dst)/numfmt.MXGroup]
	if w.f == numfmt.E4M3FN && mxScales(s.list[:len(scales)], scales) && arith.fp8Decode(s, dst, codes, s.list[:], numfmt.MXGroup) {
		return
	}
	for i, scale := range scales {
		at := i * numfmt.MXGroup
		w.f.DecodeScaled(dst[at:at+numfmt.MXGroup], codes[at:], numfmt.E8M0(scale))
	}
}

func (w mxfp8) stored(row, col, n int) []byte { return w.codes[row*w.cols+col:][:n] }

// mxHalves are what halfScale makes of E8M0 scales below mxLargest.
const mxLargest = 255 - 8

var mxHalves = func() (table [256]float32) {
	for code := range mxLargest {
		table[code], _ = halfScale(numfmt.E8M0(uint8(code)))
	}
	return table
}()

// mxScales makes scales of their codes as arith takes them; false if one overflows.
func mxScales(dst []float32, codes []byte) bool {
	for i := range dst {
		code := codes[i]
		if code >= mxLargest {
			return false
		}
		dst[i] = mxHalves[code]
	}
	return true
}

func (w mxfp8) dot(acc []lanes, s *scratch, row int, x []float32) bool {
	if w.f != numfmt.E4M3FN {
		return false
	}
	for r := 0; r < len(acc); r += 4 {
		if !w.dot4(acc[r:][:4], s, row+r, x) {
			return false
		}
	}
	return true
}

func (w mxfp8) dot4(acc []lanes, s *scratch, row int, x []float32) bool {
	const most = len(s.list) / 4 * numfmt.MXGroup // columns of which there is room for scales
	for c := 0; c < w.cols; c += most {
		n := min(most, w.cols-c)
		groups := n / numfmt.MXGroup
		for r := range 4 {
			if !mxScales(s.list[r*groups:][:groups], w.scales[((row+r)*w.cols+c)/numfmt.MXGroup:]) {
				return false
			}
		}
		if !arith.fp8Dot(s, acc, w.codes[row*w.cols+c:], w.cols, x[c:c+n], s.list[:], groups, numfmt.MXGroup) {
			return false
		}
	}
	return true
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
	for i, zero := range w.Zeros {
		if zero > 16 {
			return nil, fmt.Errorf("int4 weights: zero point %d of row %d, at most 16 expected", zero, i/w.Groups())
		}
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
	return &Matrix{rows: w.Rows, cols: w.Cols, kind: "int4", weights: newInt4(w)}, nil
}

type int4 struct {
	m *numfmt.Int4
	// tables holds, for every zero point, the values of the codes; GPTQ's zero
	// points go up to 16.
	tables [17][16]float32
}

func newInt4(m *numfmt.Int4) *int4 {
	w := &int4{m: m}
	for zero := range w.tables {
		for code := range w.tables[zero] {
			w.tables[zero][code] = float32(code - zero)
		}
	}
	return w
}

func (w *int4) decode(_ *scratch, dst []float32, row, col int) {
	m := w.m
	// Groups that are no multiple of 16, or out of order, go the slow way.
	if m.GroupOf != nil || m.Group%16 != 0 || m.Cols%m.Group != 0 || segment%m.Group != 0 && m.Group%segment != 0 {
		m.Decode(dst, row, col)
		return
	}
	first := row*m.Groups() + col/m.Group
	codes := m.Codes[(row*m.Cols+col)/2:]
	run := min(m.Group, len(dst))
	scales := m.Scales[first:][:ceilDiv(len(dst), m.Group)]
	if m.Zeros == nil {
		arith.nibbles(dst, codes, &w.tables[8], scales)
		return
	}
	for g, zero := range m.Zeros[first:][:len(scales)] {
		arith.nibbles(dst[g*run:][:run], codes[g*run/2:], &w.tables[zero], scales[g:g+1])
	}
}

func (w *int4) stored(row, col, n int) []byte { return w.m.Codes[(row*w.m.Cols+col)/2:][:n/2] }
