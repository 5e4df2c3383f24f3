package kernel

import (
	"fmt"
	"slices"
	"sync"
)

// Sizes of the blocks in which products are computed. They change speed only.
const (
	// rowBlock rows are a task of the pool. One segment of four of them, decoded,
	// takes 16 KiB of a first-level cache.
	rowBlock = 16
	// tokenBlock rows of activations share one decoding of the weights.
	tokenBlock = 128
	// halfSegment columns of four rows of FP8 are brought to 16 bits at a time.
	halfSegment = 2 * segment
	// inlineWork is the number of products below which starting goroutines would
	// cost more than it gains.
	inlineWork = 1 << 15
)

// fused are weights with a faster product for single vectors than decoding.
type fused interface {
	// dot adds the products of the rows from row on with x to acc, which is of a
	// multiple of four rows, at least four. x has the length of a row, padded with
	// zeros to a multiple of 16. It returns false, acc worthless, if it can't.
	dot(acc []lanes, s *scratch, row int, x []float32) bool
}

// scratch is the memory of one task.
type scratch struct {
	tile [4 * segment]float32
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
	Multiply(p, Product{m, dst, x, n})
}

// Product asks for what MulMat(p, Dst, X, N) of the matrix computes.
type Product struct {
	Matrix *Matrix
	Dst, X []float32
	N      int
}

func (q Product) check() {
	m := q.Matrix
	if len(q.X) != q.N*m.cols || len(q.Dst) != q.N*m.rows {
		panic(fmt.Sprintf("kernel: %d x %d matrix, %d rows of activations: %d values in, %d out", m.rows, m.cols, q.N, len(q.X), len(q.Dst)))
	}
}

// tokenBlocks is the number of blocks that the activations make.
func (q Product) tokenBlocks() int { return ceilDiv(q.N, tokenBlock) }

// tasks is the number of blocks that the results make.
func (q Product) tasks() int { return ceilDiv(q.Matrix.rows, rowBlock) * q.tokenBlocks() }

// block is the part of the results that is task i.
func (q Product) block(i int) (r0, r1, t0, t1 int) {
	r0, t0 = i/q.tokenBlocks()*rowBlock, i%q.tokenBlocks()*tokenBlock
	return r0, min(r0+rowBlock, q.Matrix.rows), t0, min(t0+tokenBlock, q.N)
}

// share runs the tasks of several products as one piece of work.
func share(p *Pool, products []Product, run func(s *scratch, product, task int)) {
	ends := make([]int, len(products))
	total, work := 0, 0
	for i, q := range products {
		total += q.tasks()
		ends[i] = total
		work += q.Matrix.rows * q.Matrix.cols * q.N
	}
	if work < inlineWork {
		p = nil
	}
	p.Each(total, func(task int) {
		i, _ := slices.BinarySearch(ends, task+1)
		if i > 0 {
			task -= ends[i-1]
		}
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		run(s, i, task)
	})
}

// Multiply computes several products as one piece of work, so that small ones, such
// as those of the experts of one token, keep all threads busy. No Dst may overlap
// another or an X.
func Multiply(p *Pool, products ...Product) {
	wide := make([][]float32, len(products))
	for i, q := range products {
		q.check()
		wide[i] = widened(q.X, q.Matrix.cols, q.N)
	}
	share(p, products, func(s *scratch, i, task int) {
		q := products[i]
		m, width := q.Matrix, padded(q.Matrix.cols)
		r0, r1, t0, t1 := q.block(task)
		if t1-t0 == 1 {
			m.mulVec(s, q.Dst[t0*m.rows:], wide[i][t0*width:][:width], r0, r1)
		} else {
			m.mulMat(s, q.Dst, wide[i], width, r0, r1, t0, t1)
		}
	})
}

// widened is x with rows padded to whole lanes by zeros.
func widened(x []float32, cols, n int) []float32 {
	width := padded(cols)
	if width == cols {
		return x
	}
	wide := make([]float32, n*width)
	for t := range n {
		copy(wide[t*width:], x[t*cols:][:cols])
	}
	return wide
}

// mulVec computes the rows [r0, r1) of one product.
func (m *Matrix) mulVec(s *scratch, dst, x []float32, r0, r1 int) {
	acc := s.acc[:rowBlock]
	clear(acc)
	done := 0
	if f, ok := m.weights.(fused); ok && r1-r0 >= 4 {
		done = (r1 - r0) &^ 3
		if !f.dot(acc[:done], s, m.first+r0, x) {
			clear(acc[:done])
			done = 0
		}
	}
	for r := r0 + done; r < r1; r += 4 {
		four := acc[r-r0:][:4]
		for c := 0; c < len(x); c += segment {
			part := x[c:min(c+segment, len(x))]
			w, stride := m.decodeRows(s, r, min(r+4, r1), c, len(part))
			arith.dot4x1(four, w, stride, part)
		}
	}
	arith.sums(dst[r0:r1], acc)
}

// mulMat computes the rows [r0, r1) of the products [t0, t1).
func (m *Matrix) mulMat(s *scratch, dst, x []float32, width, r0, r1, t0, t1 int) {
	// Accumulators lie in groups of four rows by four tokens, as dot4x4 wants
	// them, or as dot4xN does where tokens make no group of four.
	groups := ceilDiv(t1-t0, 4)
	quads := ceilDiv(r1-r0, 4)
	acc := s.acc[:16*groups*quads]
	clear(acc)
	for c := 0; c < width; c += segment {
		n := min(segment, width-c)
		for q := range quads {
			w, stride := m.decodeRows(s, r0+4*q, min(r0+4*q+4, r1), c, n)
			m.fetchRows(r0+4*q+4, r1, c, r0)
			for g := range groups {
				a := acc[16*(q*groups+g):][:16]
				t := t0 + 4*g
				if t+4 <= t1 {
					arith.dot4x4(a, w, stride, x[t*width+c:], width, n)
					continue
				}
				arith.dot4xN(a, w, stride, x[t*width+c:], width, n, t1-t)
			}
		}
	}
	sums := s.sums[:len(acc)]
	arith.sums(sums, acc)
	for g := range groups {
		some := min(4, t1-t0-4*g)
		for i := range some {
			results := dst[(t0+4*g+i)*m.rows:][r0:r1]
			for r := range results {
				at := 4*(r%4) + i
				if some < 4 {
					at = 4*i + r%4
				}
				results[r] = sums[16*(r/4*groups+g)+at]
			}
		}
	}
}

// fetchRows fetches what mulMat decodes after the rows before row, of [first, end),
// and the segment at col: four rows below, or the next segment, or the next task.
func (m *Matrix) fetchRows(row, end, col, first int) {
	if row >= end {
		row, col = first, col+segment
	}
	if col >= m.cols {
		row, end, col = end, m.rows, 0
	}
	for r := row; r < min(row+4, end); r++ {
		arith.fetch(m.weights.stored(m.first+r, col, min(segment, m.cols-col)))
	}
}

// decodeRows returns n columns from col on of the rows [r0, r1), at most four, as float32, and how
// far apart they lie. What lies beyond the last column is zero, and of fewer than four
// rows the others hold something old, which nobody reads the product of.
func (m *Matrix) decodeRows(s *scratch, r0, r1, col, n int) (rows []float32, stride int) {
	if w, ok := m.weights.(floats); ok && (r1-r0)%4 == 0 && m.cols%16 == 0 {
		return w.values[(m.first+r0)*w.cols+col:], w.cols
	}
	have := min(n, m.cols-col)
	for r := r0; r < r1; r++ {
		row := s.tile[(r-r0)*segment:][:n]
		m.weights.decode(s, row[:have], m.first+r, col)
		clear(row[have:])
	}
	return s.tile[:], segment
}
