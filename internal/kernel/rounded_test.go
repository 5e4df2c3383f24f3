package kernel

import (
	"math"
	"testing"

	"shakedown/internal/numfmt"
)

// TestRoundedBF16 compares with rounding the decoded rows, and the product with
// that of a matrix of rounded values.
func TestRoundedBF16(t *testing.T) {
	const rows, cols = 3, 160
	codes := make([]byte, rows*cols)
	for i := range codes {
		codes[i] = byte(i*37) & 0x77 // finite
	}
	m, err := FP8(numfmt.E4M3FN, codes, rows, cols, Blocks128([]float32{0.0123, 0.777}))
	if err != nil {
		t.Fatal(err)
	}
	r := m.RoundedBF16()
	values := make([]float32, rows*cols)
	changed := false
	for i := range rows {
		row := values[i*cols:][:cols]
		m.Row(i, row)
		exact := append([]float32(nil), row...)
		numfmt.RoundBF16s(row)
		got := make([]float32, cols)
		r.Row(i, got)
		for j := range got {
			changed = changed || exact[j] != row[j]
			if got[j] != row[j] {
				t.Fatalf("row %d, column %d: %v, want %v", i, j, got[j], row[j])
			}
		}
	}
	if !changed {
		t.Error("the example has nothing to round")
	}
	want, err := FromFloats(values, rows, cols)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, cols)
	for i := range x {
		x[i] = float32(i%7) - 2.5
	}
	a, b := make([]float32, rows), make([]float32, rows)
	r.MulVec(nil, a, x)
	want.MulVec(nil, b, x)
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			t.Errorf("product %d: %v, want %v", i, a[i], b[i])
		}
	}
	if s := r.Slice(1, 3); s.Rows() != 2 {
		t.Errorf("a slice has %d rows", s.Rows())
	}
}
