package oracle

import (
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

// step is one pass of n tokens, the first at position start, through one layer.
type step struct {
	m        *Model
	tap      Tap
	rope     *rotation
	layer    int
	start, n int
	selected [][]int // positions chosen by the last indexer; nil before one ran
}

// see shows a result of all tokens to the tap.
func (st *step) see(name, tensor string, values []float32) {
	if st.tap != nil {
		st.tap.Op(&Op{Layer: st.layer, Name: name, Tensor: tensor, Start: st.start, Tokens: st.n, Width: len(values) / st.n, Values: values})
	}
}

// mul is y[t] = W·x[t]+b for n vectors, rounded, and shown as an operation.
func (st *step) mul(name string, l *linear, x []float32, n int) []float32 {
	y := st.m.mul(l, x, n)
	if n == st.n {
		st.see(name, l.name, y)
	}
	return y
}

// mul is y[t] = W·x[t]+b for n vectors, rounded once.
func (m *Model) mul(l *linear, x []float32, n int) []float32 {
	y := make([]float32, n*l.Rows())
	if m.Num.Gemm == numerics.GGML {
		l.MulMatGGML(m.pool, y, x, n)
	} else {
		l.MulMat(m.pool, y, m.input(l, x, n), n)
	}
	if l.bias != nil {
		for t := range n {
			add(y[t*len(l.bias):][:len(l.bias)], l.bias)
		}
	}
	m.applyAll(m.round.act, y)
	return y
}

// norm is rmsNorm of every vector of x.
func (st *step) norm(name string, w vector, x []float32, eps float64) []float32 {
	y := make([]float32, len(x))
	d := len(w.v)
	st.m.pool.Each(len(x)/d, func(t int) {
		rmsNorm(y[t*d:][:d], x[t*d:][:d], w.v, eps, st.m.round.eager, st.m.round.act)
	})
	st.see(name, w.name, y)
	return y
}

// input is what a quantised matrix gets to see of its input: the values that its
// kernel makes of them before it multiplies. Scales are multiplied back in, so
// that a product differs from a kernel's, which multiplies codes, by the rounding
// of float32 at most.
func (m *Model) input(l *linear, x []float32, n int) []float32 {
	if m.Num.Gemm == numerics.WeightOnly || l.stored.Format == Plain {
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
		}
	})
	return y
}
