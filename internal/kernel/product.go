package kernel

import "fmt"

// Sizes of the blocks in which products are computed. They change speed only.
const (
	rowBlock   = 16  // rows decoded together, a task of the pool
	tokenBlock = 128 // activation rows per decoding
)

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
	tokenBlocks := ceilDiv(n, tokenBlock)
	p.Each(ceilDiv(m.rows, rowBlock)*tokenBlocks, func(task int) {
		r0, t0 := task/tokenBlocks*rowBlock, task%tokenBlocks*tokenBlock
		m.mulBlock(dst, x, r0, min(r0+rowBlock, m.rows), t0, min(t0+tokenBlock, n))
	})
}

// mulBlock computes the results of rows [r0, r1) for activations [t0, t1).
func (m *Matrix) mulBlock(dst, x []float32, r0, r1, t0, t1 int) {
	tokens := t1 - t0
	acc := make([]lanes, (r1-r0)*tokens)
	var row [segment]float32
	for c := 0; c < m.cols; c += segment {
		w := row[:min(segment, m.cols-c)]
		for r := r0; r < r1; r++ {
			m.weights.decode(w, r, c)
			for t := range tokens {
				dotLanes(&acc[(r-r0)*tokens+t], w, x[(t0+t)*m.cols+c:])
			}
		}
	}
	for r := r0; r < r1; r++ {
		for t := range tokens {
			dst[(t0+t)*m.rows+r] = acc[(r-r0)*tokens+t].sum()
		}
	}
}
