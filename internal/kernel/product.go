package kernel

import (
	"fmt"
	"sync"
)

// Sizes of the blocks in which products are computed. They change speed only.
const (
	// rowBlock rows are a task of the pool. Together with one segment of them
	// decoded, they fill half of a second-level cache of 256 KiB at most.
	rowBlock = 16
	// tokenBlock rows of activations share one decoding of the weights.
	tokenBlock = 128
	// halfSegment columns of four rows of FP8 are brought to 16 bits at a time.
	halfSegment = 4 * segment
	// inlineWork is the number of products below which starting goroutines would
	// cost more than it gains.
	inlineWork = 1 << 15
)

// fused are weights with a faster product for single vectors than decoding.
type fused interface {
	// dot4 adds the products of the rows row to row+3 with x to acc. x has the
	// length of a row, padded with zeros to a multiple of 16. It returns false,
	// acc worthless, if it can't.
	dot4(acc []lanes, s *scratch, row int, x []float32) bool
}

// scratch is the memory of one task.
type scratch struct {
	tile [rowBlock * segment]float32
	half [4 * halfSegment]uint16
	acc  [rowBlock * tokenBlock]lanes
	sums [rowBlock * tokenBlock]float32
	list [4 * halfSegment / 16]float32

	// Four rows of unpacked block weights.
	codes [4 * segment]byte
	scale [4 * segment / 4]float32
	min   [4 * segment / 32]float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// padded rounds up to whole lanes.
func padded(n int) int { return (n + 15) &^ 15 }

// MulVec computes dst = W x: dst has Rows() and x Cols() values. Rows are split
// over the pool.
func (m *Matrix) MulVec(p *Pool, dst, x []float32) { m.MulMat(p, dst, x, 1) }

// MulMat computes n products at once: x holds n rows of Cols() activations, dst n
// rows of Rows() results. Every result has the bits that MulVec gives for its
// row. dst must not overlap x.
func (m *Matrix) MulMat(p *Pool, dst, x []float32, n int) {
	if len(x) != n*m.cols || len(dst) != n*m.rows {
		panic(fmt.Sprintf("kernel: %d x %d matrix, %d rows of activations: %d values in, %d out", m.rows, m.cols, n, len(x), len(dst)))
	}
	width := padded(m.cols)
	if width != m.cols {
		wide := make([]float32, n*width)
		for t := range n {
			copy(wide[t*width:], x[t*m.cols:][:m.cols])
		}
		x = wide
	}
	if m.rows*m.cols*n < inlineWork {
		p = nil
	}
	tokenBlocks := ceilDiv(n, tokenBlock)
	p.Each(ceilDiv(m.rows, rowBlock)*tokenBlocks, func(task int) {
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		r0, t0 := task/tokenBlocks*rowBlock, task%tokenBlocks*tokenBlock
		r1, t1 := min(r0+rowBlock, m.rows), min(t0+tokenBlock, n)
		if t1-t0 == 1 {
			m.mulVec(s, dst[t0*m.rows:], x[t0*width:][:width], r0, r1)
		} else {
			m.mulMat(s, dst, x, width, r0, r1, t0, t1)
		}
	})
}

// mulVec computes the rows [r0, r1) of one product.
func (m *Matrix) mulVec(s *scratch, dst, x []float32, r0, r1 int) {
	acc := s.acc[:rowBlock]
	clear(acc)
	f, _ := m.weights.(fused)
	for r := r0; r < r1; r += 4 {
		four := acc[r-r0:][:4]
		if f != nil && r+4 <= r1 {
			if f.dot4(four, s, m.first+r, x) {
				continue
			}
			clear(four)
		}
		for c := 0; c < len(x); c += segment {
			part := x[c:min(c+segment, len(x))]
			m.decodeRows(s, r, min(r+4, r1), c, len(part))
			arith.dot4x1(four, s.tile[:], segment, part)
		}
	}
	arith.sums(dst[r0:r1], acc)
}

// mulMat computes the rows [r0, r1) of the products [t0, t1).
func (m *Matrix) mulMat(s *scratch, dst, x []float32, width, r0, r1, t0, t1 int) {
	// Accumulators lie in groups of four rows by four tokens, as dot4x4 wants
	// them; those of tokens that make no group of four lie alike.
	groups := ceilDiv(t1-t0, 4)
	quads := ceilDiv(r1-r0, 4)
	acc := s.acc[:16*groups*quads]
	clear(acc)
	var four [4]lanes
	for c := 0; c < width; c += segment {
		n := min(segment, width-c)
		m.decodeRows(s, r0, r1, c, n)
		for q := range quads {
			w := s.tile[4*q*segment:]
			for g := range groups {
				a := acc[16*(q*groups+g):][:16]
				t := t0 + 4*g
				if t+4 <= t1 {
					arith.dot4x4(a, w, segment, x[t*width+c:], width, n)
					continue
				}
				for i := range t1 - t {
					for r := range four {
						four[r] = a[4*r+i]
					}
					arith.dot4x1(four[:], w, segment, x[(t+i)*width+c:][:n])
					for r := range four {
						a[4*r+i] = four[r]
					}
				}
			}
		}
	}
	sums := s.sums[:len(acc)]
	arith.sums(sums, acc)
	for t := t0; t < t1; t++ {
		g, i := (t-t0)/4, (t-t0)%4
		for r := r0; r < r1; r++ {
			q, j := (r-r0)/4, (r-r0)%4
			dst[t*m.rows+r] = sums[16*(q*groups+g)+4*j+i]
		}
	}
}

// decodeRows fills the tile with n columns from col on of the rows [r0, r1); a row
// of it is segment long. What lies beyond the last column is zero, and the rows up
// to the next multiple of four hold something finite or old, which nobody reads
// the product of.
func (m *Matrix) decodeRows(s *scratch, r0, r1, col, n int) {
	have := min(n, m.cols-col)
	for r := r0; r < r1; r++ {
		row := s.tile[(r-r0)*segment:][:n]
		m.weights.decode(s, row[:have], m.first+r, col)
		clear(row[have:])
	}
}
