package oracle

import (
	"math"

	"shakedown/internal/kernel"
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

func (a *gqa) run(st *step, c *cache, x []float32) []float32 {
	m := st.m
	q := st.mul("attn.q", a.q, x, st.n)
	k := st.mul("attn.k", a.k, x, st.n)
	v := st.mul("attn.v", a.v, x, st.n)
	if a.QKNorm {
		q = st.norm("attn.q_norm", a.qNorm, q, m.Spec.Eps)
		k = st.norm("attn.k_norm", a.kNorm, k, m.Spec.Eps)
	}
	st.turnHeads(q, a.Heads, a.HeadDim, 0, m.layout(false))
	st.turnHeads(k, a.KVHeads, a.HeadDim, 0, m.layout(false))
	st.see("attn.q_rope", "", q)
	st.see("attn.k_rope", "", k)
	c.keys.put(st.start, k)
	c.values.put(st.start, v)

	d, group := a.HeadDim, a.Heads/a.KVHeads
	out := make([]float32, st.n*a.Heads*d)
	scale := float32(1 / math.Sqrt(float64(d)))
	st.m.pool.Each(st.n*a.Heads, func(i int) {
		t, h := i/a.Heads, i%a.Heads
		pos := st.start + t
		from := 0
		if a.Window > 0 {
			from = max(pos+1-a.Window, 0)
		}
		p := make([]float32, pos+1-from)
		for j := range p {
			p[j] = kernel.Dot(q[i*d:][:d], c.keys.row(from + j)[h/group*d:][:d])
		}
		m.attend(out[i*d:][:d], p, scale, func(j int) []float32 { return c.values.row(from + j)[h/group*d:][:d] })
	})
	st.see("attn.heads", "", out)
	return st.mul("attn.o", a.o, out, st.n)
}

// attend turns raw scores into probabilities and sums the values with them.
func (m *Model) attend(out, scores []float32, scale float32, value func(j int) []float32) {
	m.round.eager.apply(scores)
	for j := range scores {
		scores[j] *= scale
	}
	m.round.eager.apply(scores)
	// A fused kernel rounds the exponentials and divides behind the sum.
	fused := m.round.eager == nil && m.round.act != nil
	var sum float32 = 1
	if fused {
		sum = exponentials(scores)
	} else {
		kernel.Softmax(scores)
	}
	m.round.act.apply(scores)
	clear(out)
	for j, p := range scores {
		kernel.AddScaled(out, value(j), p)
	}
	if fused {
		for i := range out {
			out[i] /= sum
		}
	}
	m.round.act.apply(out)
}

// turnHeads rotates the elements from skip on of every head of every vector.
func (st *step) turnHeads(x []float32, heads, dim, skip int, interleave bool) {
	w := heads * dim
	st.m.pool.Each(st.n, func(t int) {
		for h := range heads {
			st.rope.turn(x[t*w+h*dim+skip:][:dim-skip], st.start+t, interleave, st.m.round.eager, st.m.round.act)
		}
	})
}

// visible are the positions up to pos, the causal ones.
func visible(pos int) []int {
	all := make([]int, pos+1)
	for i := range all {
		all[i] = i
	}
	return all
}
