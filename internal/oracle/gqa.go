package oracle

import (
	"math"

	"shakedown/internal/oracle/family"
)

// gqa is attention with grouped keys and values.
type gqa struct {
	family.GQA
	q, k, v, o   *linear
	qNorm, kNorm vector
}

func (b *binder) gqa(prefix string, hidden int, a *family.GQA) *gqa {
	out := &gqa{
		GQA: *a,
		q:   b.linear(prefix+".q_proj", a.Heads*a.HeadDim, hidden, a.QKVBias),
		k:   b.linear(prefix+".k_proj", a.KVHeads*a.HeadDim, hidden, a.QKVBias),
		v:   b.linear(prefix+".v_proj", a.KVHeads*a.HeadDim, hidden, a.QKVBias),
		o:   b.linear(prefix+".o_proj", hidden, a.Heads*a.HeadDim, a.OBias),
	}
	if a.QKNorm {
		out.qNorm = b.vector(prefix+".q_norm.weight", a.HeadDim)
		out.kNorm = b.vector(prefix+".k_norm.weight", a.HeadDim)
	}
	return out
}

func (a *gqa) run(st *step, x []float32) []float32 {
	m := st.m
	all := st.muls(x, named{"attn.q", a.q}, named{"attn.k", a.k}, named{"attn.v", a.v})
	q, k, v := all[0], all[1], all[2]
	if a.QKNorm {
		q = st.norm("attn.q_norm", a.qNorm, q, m.Spec.Eps)
		k = st.norm("attn.k_norm", a.kNorm, k, m.Spec.Eps)
	}
	st.turnHeads(q, a.Heads, a.HeadDim, 0, m.layout(a.Interleave))
	st.turnHeads(k, a.KVHeads, a.HeadDim, 0, m.layout(a.Interleave))
	st.see("attn.q_rope", "", q)
	st.see("attn.k_rope", "", k)
	st.storeHeads(k, v)
	out := st.heads(q, a.Heads, a.HeadDim, a.HeadDim, float32(1/math.Sqrt(float64(a.HeadDim))), func(t int) reach {
		if a.Window == 0 {
			return reach{}
		}
		return reach{from: max(st.position(t)+1-a.Window, 0)}
	})
	st.see("attn.heads", "", out)
	return st.mul("attn.o", a.o, out)
}

// turnHeads rotates the elements from skip on of every head of every vector.
func (st *step) turnHeads(x []float32, heads, dim, skip int, interleave bool) {
	w := heads * dim
	st.m.pool.Each(st.n, func(t int) {
		for h := range heads {
			st.rows[t].rope.turn(x[t*w+h*dim+skip:][:dim-skip], st.position(t), interleave, st.m.round.eager, st.m.round.act)
		}
	})
}
