package kernel

import (
	"fmt"

	"shakedown/internal/numfmt"
)

// Int8 makes a matrix of eight-bit integers: INT8 of compressed-tensors directly,
// GPTQ after numfmt.FromGPTQ8.
func Int8(w *numfmt.Int8) (*Matrix, error) {
	if err := wantShape(w.Rows, w.Cols); err != nil {
		return nil, err
	}
	if w.Group <= 0 {
		return nil, fmt.Errorf("int8 weights in groups of %d", w.Group)
	}
	if err := wantBytes("int8 codes", len(w.Codes), w.Rows*w.Cols); err != nil {
		return nil, err
	}
	groups := w.Groups()
	if len(w.Scales) != w.Rows*groups || w.Zeros != nil && len(w.Zeros) != w.Rows*groups {
		return nil, fmt.Errorf("int8 weights: %d scales and %d zero points, %d rows x %d groups expected", len(w.Scales), len(w.Zeros), w.Rows, groups)
	}
	if w.GroupOf != nil && len(w.GroupOf) != w.Cols {
		return nil, fmt.Errorf("int8 weights: groups given for %d of %d columns", len(w.GroupOf), w.Cols)
	}
	for c, g := range w.GroupOf {
		if g < 0 || int(g) >= groups {
			return nil, fmt.Errorf("int8 weights: column %d is in group %d of %d", c, g, groups)
		}
	}
	return &Matrix{rows: w.Rows, cols: w.Cols, kind: "int8", weights: int8s{w}}, nil
}

type int8s struct{ m *numfmt.Int8 }

func (w int8s) decode(s *scratch, dst []float32, row, col int) {
	m := w.m
	// Groups that are no multiple of 32, or out of order, go the slow way, as does
	// what is left of a row behind whole blocks of 32.
	whole := len(dst) &^ 31
	if m.GroupOf != nil || m.Group%32 != 0 && m.Group < m.Cols {
		whole = 0
	}
	codes := m.Codes[row*m.Cols+col:][:whole]
	flip := 0
	if m.Signed { // to unsigned codes, so that zero points are 128 more
		flip = 128
		for i, c := range codes {
			s.codes[i] = c ^ 128
		}
		codes = s.codes[:whole]
	}
	for i := range s.min[:whole/32] {
		s.min[i] = noMinimum
	}
	for i := 0; i < whole; {
		g := (col + i) / m.Group
		end := min((g+1)*m.Group-col, whole)
		scale, n := m.Scales[row*m.Groups()+g], end-i
		for j := range s.scale[:n/4] {
			s.scale[j] = scale
		}
		arith.codesDecode(dst[i:end], codes[i:], float32(m.Zero(row, g)+flip), s.scale[:], s.min[:])
		i = end
	}
	if whole < len(dst) {
		m.Decode(dst[whole:], row, col+whole)
	}
}

func (w int8s) stored(row, col, n int) []byte { return w.m.Codes[row*w.m.Cols+col:][:n] }
