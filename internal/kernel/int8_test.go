package kernel

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"shakedown/internal/numfmt"
)

// TestInt8: rows and products have the bits of what numfmt decodes, for groups of
// any size, both kinds of codes, and columns in another order of groups.
func TestInt8(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	for _, cols := range []int{1, 31, 96, 1000, 2500} {
		for _, group := range []int{cols, 8, 32, 128} {
			for kind := range 5 {
				m := &numfmt.Int8{Rows: 5, Cols: cols, Group: group, Signed: kind%2 == 0}
				for range m.Rows * cols {
					m.Codes = append(m.Codes, uint8(r.Uint32()))
				}
				m.Scales = tame(r, m.Rows*m.Groups())
				if kind > 1 {
					for range m.Scales {
						m.Zeros = append(m.Zeros, int16(r.IntN(385)-128))
					}
				}
				if kind == 4 {
					for range cols {
						m.GroupOf = append(m.GroupOf, int32(r.IntN(m.Groups())))
					}
				}
				what := fmt.Sprintf("%d columns in groups of %d, kind %d", cols, group, kind)
				matrix, err := Int8(m)
				if err != nil {
					t.Fatal(what, err)
				}
				x := tame(r, 6*cols)
				got, want := make([]float32, 6*m.Rows), make([]float32, 6*m.Rows)
				matrix.MulMat(nil, got, x, 6)
				row, exact := make([]float32, cols), make([]float32, cols)
				for i := range m.Rows {
					matrix.Row(i, row)
					m.Decode(exact, i, 0)
					wantSame(t, what, row, exact)
					for n := range 6 {
						want[n*m.Rows+i] = Dot(exact, x[n*cols:][:cols])
					}
				}
				wantSame(t, what+": products", got, want)
			}
		}
	}
}

func TestInt8Refuses(t *testing.T) {
	sound := func() *numfmt.Int8 {
		return &numfmt.Int8{Rows: 2, Cols: 4, Group: 2, Codes: make([]byte, 8), Scales: make([]float32, 4)}
	}
	for want, change := range map[string]func(*numfmt.Int8){
		"groups of 0":      func(m *numfmt.Int8) { m.Group = 0 },
		"has 7 bytes":      func(m *numfmt.Int8) { m.Codes = m.Codes[:7] },
		"3 scales":         func(m *numfmt.Int8) { m.Scales = m.Scales[:3] },
		"5 zero points":    func(m *numfmt.Int8) { m.Zeros = make([]int16, 5) },
		"groups given for": func(m *numfmt.Int8) { m.GroupOf = make([]int32, 3) },
		"group 2 of 2":     func(m *numfmt.Int8) { m.GroupOf = []int32{0, 1, 2, 0} },
	} {
		m := sound()
		change(m)
		if _, err := Int8(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Int8(sound()); err != nil {
		t.Error(err)
	}
}
