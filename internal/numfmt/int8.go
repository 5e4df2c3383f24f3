package numfmt

import "math"

// Int8 is a matrix of eight-bit integers in the order that the kernels read: codes
// row-major, one scale and one zero point per row and group of columns. Weight =
// (code - zero) * scale.
type Int8 struct {
	Rows, Cols int
	Group      int       // columns per scale
	Codes      []byte    // Rows x Cols
	Signed     bool      // codes are two's complement, else they are 0 to 255
	Scales     []float32 // Rows x Groups
	Zeros      []int16   // Rows x Groups; nil means 0 everywhere for signed codes, 128 for others
	GroupOf    []int32   // as in Int4
}

// Groups is the number of scales per row.
func (m *Int8) Groups() int { return (m.Cols + m.Group - 1) / m.Group }

// Zero is the zero point of a group of a row, counted from the code 0 of two's
// complement or of unsigned codes.
func (m *Int8) Zero(row, group int) int {
	switch {
	case m.Zeros != nil:
		return int(m.Zeros[row*m.Groups()+group])
	case m.Signed:
		return 0
	}
	return 128
}

// Decode decodes len(dst) weights of a row from column col on.
func (m *Int8) Decode(dst []float32, row, col int) {
	codes, groups := m.Codes[row*m.Cols+col:], m.Groups()
	for i := range dst {
		g := (col + i) / m.Group
		if m.GroupOf != nil {
			g = int(m.GroupOf[col+i])
		}
		code := int(codes[i])
		if m.Signed {
			code = int(int8(codes[i]))
		}
		dst[i] = float32(code-m.Zero(row, g)) * m.Scales[row*groups+g]
	}
}

// FromGPTQ8 is FromGPTQ for eight bits: four codes and four zero points in a word.
func FromGPTQ8(qweight, qzeros []byte, scales []float32, gIdx []int32, rows, cols, group int, zero GPTQZero) *Int8 {
	m := &Int8{Rows: rows, Cols: cols, Group: group, Codes: make([]byte, rows*cols)}
	transposeWords(m.Codes, qweight, cols/4, rows)
	groups := m.Groups()
	m.Scales, m.Zeros = make([]float32, rows*groups), make([]int16, rows*groups)
	for g := range groups {
		stored := qzeros[g*((rows+3)/4)*4:]
		for r := range rows {
			m.Scales[r*groups+g] = scales[g*rows+r]
			m.Zeros[r*groups+g] = int16(stored[r]) + int16(zero.add())
		}
	}
	m.GroupOf = outOfOrder(gIdx, group)
	return m
}

// Int8TokenActivation replaces one row of activations by what is left of it with
// one dynamic scale for the whole row (per-token INT8): codes are the values times
// 127/amax, rounded to nearest even, and the scale is amax/127 (vLLM
// csrc/quantization/w8a8/int8/scaled_quant.cu, dynamic_scaled_int8_quant_kernel). A
// NaN becomes 0, as CUDA's maximum and conversion have it, so that it does not
// show; an infinity makes the whole row NaN. dst may be x.
func Int8TokenActivation(dst, x []float32) {
	var most float32
	for _, v := range x {
		if a := float32(math.Abs(float64(v))); a > most {
			most = a
		}
	}
	inverse, scale := float32(0), most/127
	if most != 0 {
		inverse = 127 / most
	}
	for i, v := range x {
		dst[i] = int8Code(v*inverse) * scale
	}
}

// Int8StaticActivation is Int8TokenActivation with a given scale (input_scale):
// codes are the values divided by it (same file, static_scaled_int8_quant_kernel).
func Int8StaticActivation(dst, x []float32, scale float32) {
	for i, v := range x {
		dst[i] = int8Code(v/scale) * scale
	}
}

// int8Code rounds to a code as CUDA's cvt.rni.sat.s8.f32 does: to nearest even,
// saturating, NaN to 0.
func int8Code(v float32) float32 {
	if v != v {
		return 0
	}
	return float32(math.RoundToEven(float64(min(max(v, -128), 127))))
}
