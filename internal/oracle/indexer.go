package oracle

import (
	"math"
	"slices"

	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
)

// indexer is the scorer of sparse attention: the score of a position is the sum
// over its heads of weight·relu(query·key).
type indexer struct {
	family.Indexer
	rope           int // rotated elements
	q, k, w        *linear
	kNorm, kShift  vector
	qScale, wScale float32
}

// kNormEps is that of the indexer's LayerNorm (TF modeling_glm_moe_dsa.py).
const kNormEps = 1e-6

func (b *binder) indexer(prefix string, hidden int, a *family.MLA) *indexer {
	x := a.Indexer
	return &indexer{
		Indexer: *x,
		rope:    a.Rope,
		q:       b.linear(prefix+".wq_b", x.Heads*x.Dim, a.QRank, false),
		k:       b.linear(prefix+".wk", x.Dim, hidden, false),
		w:       b.linear(prefix+".weights_proj", x.Heads, hidden, false),
		kNorm:   b.vector(prefix+".k_norm.weight", x.Dim),
		kShift:  b.vector(prefix+".k_norm.bias", x.Dim),
		qScale:  float32(1 / math.Sqrt(float64(x.Dim))),
		wScale:  float32(1 / math.Sqrt(float64(x.Heads))),
	}
}

// run stores the keys of the tokens and chooses each token's positions.
func (x *indexer) run(st *step, hidden, low []float32) [][]int {
	m := st.m
	layout := x.Interleave
	if m.Num.IndexRope != numerics.RopeConfig {
		layout = m.Num.IndexRope == numerics.RopeInterleave
	}
	q := st.mul("index.q", x.q, low)
	of := st.muls(hidden, named{"index.k", x.k}, named{"index.weights", x.w})
	k, w := of[0], of[1]
	for t := range st.n {
		row := k[t*x.Dim:][:x.Dim]
		layerNorm(row, row, x.kNorm.v, x.kShift.v, kNormEps)
	}
	m.round.eager.apply(k)
	st.m.pool.Each(st.n, func(t int) {
		rope, pos := st.rows[t].rope, st.position(t)
		rope.turn(k[t*x.Dim:][:x.rope], pos, layout, m.round.eager, nil)
		for h := range x.Heads {
			rope.turn(q[(t*x.Heads+h)*x.Dim:][:x.rope], pos, layout, m.round.eager, nil)
		}
	})
	m.round.act.apply(q)
	m.round.act.apply(k)
	if m.Num.Hadamard == numerics.HadamardOn {
		for i := range st.n * x.Heads {
			hadamard(q[i*x.Dim:][:x.Dim])
		}
		for t := range st.n {
			hadamard(k[t*x.Dim:][:x.Dim])
		}
		m.round.act.apply(q)
		m.round.act.apply(k)
	}
	stored := st.store(k, func(c *cache) *lines { return c.index })
	if m.Num.IndexKV != numerics.IndexAct {
		for i := range st.n * x.Heads {
			head := q[i*x.Dim:][:x.Dim]
			st.rows[i/x.Heads].cache.index.store(head, slices.Clone(head), 0)
		}
	}
	st.see("index.q_rope", "", q)
	st.see("index.k_rope", x.kNorm.name, stored)

	selected := make([][]int, st.n)
	scores := make([][]float32, st.n)
	st.m.pool.Each(st.n, func(t int) {
		n := st.position(t) + 1
		heads := make([]float32, x.Heads*n)
		products(heads, st.rows[t].cache.index.data[:n*x.Dim], x.Dim, q[t*x.Heads*x.Dim:][:x.Heads*x.Dim])
		s := make([]float32, n)
		for h := range x.Heads {
			weight := w[t*x.Heads+h] * x.wScale
			for pos, d := range heads[h*n:][:n] {
				s[pos] += float32(max(d*x.qScale, 0) * weight)
			}
		}
		scores[t] = s
		selected[t] = visible(st.position(t))
		if n > x.TopK {
			selected[t] = TopK(s, x.TopK)
			slices.Sort(selected[t])
		}
	})
	if st.tap != nil {
		x.see(st, scores)
	}
	return selected
}

// see shows the scores of each token, which differ in number.
func (x *indexer) see(st *step, scores [][]float32) {
	for t, s := range scores {
		st.tap.Op(&Op{Layer: st.layer, Name: "index.scores", Start: st.position(t), Tokens: 1, Width: len(s), Values: s})
	}
}
