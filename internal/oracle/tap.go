package oracle

import (
	"shakedown/internal/kernel"
	"shakedown/internal/numfmt"
	"shakedown/internal/oracle/numerics"
)

// Op is the result of one operation on the tokens of one Feed.
type Op struct {
	Layer  int    // number of the decoder layer; -1 for embedding, final norm and output
	Name   string // what was computed: "attn.q", "mlp.down", "residual"
	Tensor string // the weight that took part, if one did
	Start  int    // position of the first token
	Tokens int
	Width  int       // values per token
	Values []float32 // Tokens*Width values; valid during the call only
	Rows   []int     // positions of the tokens when they are not Start, Start+1, ...
}

// Position is the position of token row i of the operation.
func (o *Op) Position(i int) int {
	if o.Rows != nil {
		return o.Rows[i]
	}
	return o.Start + i
}

// Tap watches a forward pass. Its methods are called in the order of the pass,
// from one goroutine.
type Tap interface {
	// Op sees a result.
	Op(*Op)
	// Selected sees which positions a token of a layer attends to, ascending.
	Selected(layer, position int, positions []int)
	// Routed sees which experts a token of a layer goes to, in order of choice,
	// and their weights.
	Routed(layer, position int, experts []int, weights []float32)
}

// NoTap sees nothing. Embed it to watch only some of the events.
type NoTap struct{}

// Op does nothing.
func (NoTap) Op(*Op) {}

// Selected does nothing.
func (NoTap) Selected(int, int, []int) {}

// Routed does nothing.
func (NoTap) Routed(int, int, []int, []float32) {}

// see shows a result of all tokens to the tap.
func (st *step) see(name, tensor string, values []float32) {
	if st.tap != nil {
		st.tap.Op(&Op{Layer: st.layer, Name: name, Tensor: tensor, Start: st.position(0), Tokens: st.n, Width: len(values) / st.n, Values: values})
	}
}

// named is a matrix and the name of the operation that multiplies with it.
type named struct {
	name string
	l    *linear
}

// mul is y[t] = W·x[t]+b for all tokens of the step, rounded, and shown.
func (st *step) mul(name string, l *linear, x []float32) []float32 {
	return st.muls(x, named{name, l})[0]
}

// muls is mul of the same input with several matrices.
func (st *step) muls(x []float32, with ...named) [][]float32 {
	jobs := make([]job, len(with))
	for i, w := range with {
		jobs[i] = job{w.l, x, st.n}
	}
	out := st.m.multiply(jobs)
	for i, w := range with {
		st.see(w.name, w.l.name, out[i])
	}
	return out
}

// job is one matrix and its n inputs.
type job struct {
	l *linear
	x []float32
	n int
}

// multiply is y[t] = W·x[t]+b of every job, rounded once.
func (m *Model) multiply(jobs []job) [][]float32 {
	out := make([][]float32, len(jobs))
	products := make([]kernel.Product, len(jobs))
	for i, j := range jobs {
		out[i] = make([]float32, j.n*j.l.Rows())
		products[i] = kernel.Product{Matrix: j.l.Matrix, Dst: out[i], X: m.input(j.l, j.x, j.n), N: j.n}
	}
	if m.Num.Gemm == numerics.GGML {
		kernel.MultiplyGGML(m.pool, products...)
	} else {
		kernel.Multiply(m.pool, products...)
	}
	for i, j := range jobs {
		y := out[i]
		if b := j.l.bias; b != nil {
			for t := range j.n {
				add(y[t*len(b):][:len(b)], b)
			}
		}
		m.applyAll(m.round.act, y)
	}
	return out
}

// norm is rmsNorm of every vector of x, inside of attention or of an MTP layer.
func (st *step) norm(name string, w vector, x []float32, eps float64) []float32 {
	return st.normWith(name, w, x, eps, st.m.round.eager)
}

// streamNorm is the norm of the residual stream x, or of the sum that x was
// rounded from.
func (st *step) streamNorm(name string, w vector, x []float32) []float32 {
	var first rounder
	switch st.m.Num.Norm {
	case numerics.CastFirst:
		first = st.m.round.act
	case numerics.FusedSum:
		if st.sum != nil {
			x = st.sum
		}
	}
	return st.normWith(name, w, x, st.m.Spec.Eps, first)
}

func (st *step) normWith(name string, w vector, x []float32, eps float64, first rounder) []float32 {
	y := make([]float32, len(x))
	d := len(w.v)
	st.m.pool.Each(len(x)/d, func(t int) {
		rmsNorm(y[t*d:][:d], x[t*d:][:d], w.v, eps, first, st.m.round.act)
	})
	st.see(name, w.name, y)
	return y
}

// join adds h to the residual stream x and rounds; the sum is kept where a norm
// needs it as it was.
func (st *step) join(name string, x, h []float32) {
	if st.m.Num.Norm == numerics.FusedSum {
		if st.sum == nil {
			st.sum = make([]float32, len(x))
		}
		copy(st.sum, x)
		add(st.sum, h)
	}
	st.m.addAll(x, h)
	st.see(name, "", x)
}

// input is what a quantised matrix gets to see of its input: the values that its
// kernel makes of them before it multiplies. Scales are multiplied back in, so
// that a product differs from a kernel's, which multiplies codes, by the rounding
// of float32 at most.
func (m *Model) input(l *linear, x []float32, n int) []float32 {
	if m.Num.Gemm != numerics.Scheme || l.stored.Format == Plain {
		return x
	}
	rule := numfmt.ScaleFloat
	if m.Num.ActScale == numerics.ActScaleE8M0 {
		rule = numfmt.ScaleUE8M0
	}
	scale := l.stored.InputScale
	if m.Num.Has(numerics.NoInputScale) {
		scale = 0
	}
	y := make([]float32, len(x))
	d := l.Cols()
	m.pool.Each(n, func(t int) {
		dst, src := y[t*d:][:d], x[t*d:][:d]
		switch l.stored.Format {
		case FP8Block:
			numfmt.FP8Activation(dst, src, rule)
		case FP8Channel:
			numfmt.FP8TokenActivation(dst, src)
		case NVFP4:
			numfmt.NVFP4Activation(dst, src, scale)
		case Int8Token:
			if l.stored.InputScale == 0 {
				numfmt.Int8TokenActivation(dst, src)
			} else {
				numfmt.Int8StaticActivation(dst, src, scale)
			}
		}
	})
	return y
}
