package kernel

// RoundedBF16 is the matrix as it is after its weights have been dequantised to
// bfloat16, as an engine does that multiplies a quantised weight unquantised. It
// refers to the same bytes.
func (m *Matrix) RoundedBF16() *Matrix {
	r := *m
	r.kind += " in bf16"
	r.weights = roundedRows{m.weights}
	return &r
}

// roundedRows rounds what it decodes.
type roundedRows struct{ weights }

func (r roundedRows) decode(s *scratch, dst []float32, row, col int) {
	r.weights.decode(s, dst, row, col)
	arith.roundBF16(dst)
}
