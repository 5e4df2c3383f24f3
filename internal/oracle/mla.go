package oracle

import (
	"shakedown/internal/kernel"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
)

// mla is multi-head latent attention.
type mla struct {
	family.MLA
	qa, qb, q    *linear // qa and qb, or q alone
	kva, kvb, o  *linear
	qNorm, cNorm vector
	index        *indexer // nil for none
}

func (b *binder) mla(prefix string, hidden int, a *family.MLA) *mla {
	width := a.Heads * (a.Nope + a.Rope)
	out := &mla{
		MLA:   *a,
		kva:   b.linear(prefix+".kv_a_proj_with_mqa", a.KVRank+a.Rope, hidden, a.Bias),
		cNorm: b.vector(prefix+".kv_a_layernorm.weight", a.KVRank),
		kvb:   b.linear(prefix+".kv_b_proj", a.Heads*(a.Nope+a.V), a.KVRank, false),
		o:     b.linear(prefix+".o_proj", hidden, a.Heads*a.V, a.Bias),
	}
	if a.QRank == 0 {
		out.q = b.linear(prefix+".q_proj", width, hidden, false)
		return out
	}
	out.qa = b.linear(prefix+".q_a_proj", a.QRank, hidden, a.Bias)
	out.qNorm = b.vector(prefix+".q_a_layernorm.weight", a.QRank)
	out.qb = b.linear(prefix+".q_b_proj", width, a.QRank, false)
	if a.Indexer != nil {
		out.index = b.indexer(prefix+".indexer", hidden, a)
	}
	return out
}

func (a *mla) run(st *step, x []float32) []float32 {
	m := st.m
	eps := m.Spec.Eps
	if m.Num.Eps == numerics.EpsReference {
		eps = 1e-6
	}
	var q, low, kv []float32
	if a.q != nil {
		both := st.muls(x, named{"attn.q", a.q}, named{"attn.kv_a", a.kva})
		q, kv = both[0], both[1]
	} else {
		both := st.muls(x, named{"attn.q_a", a.qa}, named{"attn.kv_a", a.kva})
		low, kv = st.norm("attn.q_a_norm", a.qNorm, both[0], eps), both[1]
		q = st.mul("attn.q_b", a.qb, low)
	}
	a.latent(st, kv, eps)
	st.turnHeads(q, a.Heads, a.Nope+a.Rope, a.Nope, m.layout(a.Interleave))
	st.see("attn.q_rope", "", q)

	a.choose(st, x, low)
	var out []float32
	if m.Num.MLA == numerics.Expanded {
		out = a.expanded(st, q)
	} else {
		out = a.absorbed(st, q)
	}
	st.see("attn.heads", "", out)
	return st.mul("attn.o", a.o, out)
}

// latent norms, rotates and stores what kv_a_proj made.
func (a *mla) latent(st *step, kv []float32, eps float64) {
	m, w := st.m, a.KVRank+a.Rope
	low := make([]float32, 0, st.n*a.KVRank)
	for t := range st.n {
		low = append(low, kv[t*w:][:a.KVRank]...)
	}
	low = st.norm("attn.kv_a_norm", a.cNorm, low, eps)
	for t := range st.n {
		copy(kv[t*w:][:a.KVRank], low[t*a.KVRank:])
		st.rows[t].rope.turn(kv[t*w+a.KVRank:][:a.Rope], st.position(t), m.layout(a.Interleave), m.round.eager, m.round.act)
	}
	stored := st.store(kv, func(c *cache) *lines { return c.latent })
	st.see("attn.latent", "", stored)
	if m.Num.MLA != numerics.Expanded {
		return
	}
	for t := range st.n {
		copy(low[t*a.KVRank:][:a.KVRank], stored[t*w:])
	}
	both := st.mul("attn.kv_b", a.kvb, low)
	keys, values := make([]float32, 0, st.n*a.Heads*(a.Nope+a.Rope)), make([]float32, 0, st.n*a.Heads*a.V)
	for i := range st.n * a.Heads {
		head := both[i*(a.Nope+a.V):][:a.Nope+a.V]
		turned := stored[i/a.Heads*w+a.KVRank:][:a.Rope]
		keys = append(append(keys, head[:a.Nope]...), turned...)
		values = append(values, head[a.Nope:]...)
	}
	st.storeHeads(keys, values)
}

// choose finds out which positions each token attends to; st.selected stays nil
// when that is all of them.
func (a *mla) choose(st *step, x, low []float32) {
	if a.index != nil {
		st.selected = a.index.run(st, x, low)
	}
	if st.tap == nil || a.Indexer == nil && !a.Shared {
		return
	}
	for t, chosen := range st.selected {
		st.tap.Selected(st.layer, st.position(t), chosen)
	}
}

// reach is what token t of the step attends to.
func (a *mla) reach(st *step, t int) reach {
	if st.selected == nil || len(st.selected[t]) == st.position(t)+1 {
		return reach{}
	}
	return reach{list: st.selected[t]}
}

// expanded attends with keys and values per head.
func (a *mla) expanded(st *step, q []float32) []float32 {
	return st.heads(q, a.Heads, a.Nope+a.Rope, a.V, float32(a.Scale), func(t int) reach { return a.reach(st, t) })
}

// absorbed attends to latents: the key half of kv_b_proj is multiplied into the
// query, the value half into the output.
func (a *mla) absorbed(st *step, q []float32) []float32 {
	m, w, lw := st.m, a.Nope+a.Rope, a.KVRank+a.Rope
	query := make([]float32, st.n*a.Heads*lw) // latent query and rotated query
	m.pool.Each(a.Heads, func(h int) {
		row := make([]float32, a.KVRank)
		for i := range a.Nope {
			a.kvb.Row(h*(a.Nope+a.V)+i, row)
			for t := range st.n {
				kernel.AddScaled(query[(t*a.Heads+h)*lw:][:a.KVRank], row, q[(t*a.Heads+h)*w+i])
			}
		}
		for t := range st.n {
			dst := query[(t*a.Heads+h)*lw:][:lw]
			m.round.act.apply(dst[:a.KVRank])
			copy(dst[a.KVRank:], q[(t*a.Heads+h)*w+a.Nope:][:a.Rope])
		}
	})
	st.see("attn.q_latent", a.kvb.name, query)
	mixed := a.mix(st, query)
	st.see("attn.o_latent", "", mixed)
	out := make([]float32, st.n*a.Heads*a.V)
	m.pool.Each(a.Heads, func(h int) {
		values := a.kvb.Slice(h*(a.Nope+a.V)+a.Nope, (h+1)*(a.Nope+a.V))
		y := make([]float32, st.n*a.V)
		values.MulMat(nil, y, transposed(mixed, st.n, a.Heads, h, a.KVRank), st.n)
		m.round.act.apply(y)
		for t := range st.n {
			copy(out[(t*a.Heads+h)*a.V:][:a.V], y[t*a.V:])
		}
	})
	return out
}

// mix sums latents for every head of every token. All heads of a token see the
// same latents; a few heads are taken at a time, so that one token has work for
// several goroutines.
func (a *mla) mix(st *step, query []float32) []float32 {
	lw := a.KVRank + a.Rope
	mixed := make([]float32, st.n*a.Heads*a.KVRank)
	const few = 8
	parts := (a.Heads + few - 1) / few
	st.m.pool.Each(st.n*parts, func(i int) {
		t, h0 := i/parts, i%parts*few
		heads := min(few, a.Heads-h0)
		latent := st.rows[t].cache.latent
		rows := latent.data[:(st.position(t)+1)*lw]
		if r := a.reach(st, t); r.list != nil {
			rows = gather(latent, r.list)
		}
		n := len(rows) / lw
		scores := make([]float32, heads*n)
		products(scores, rows, lw, query[(t*a.Heads+h0)*lw:][:heads*lw])
		for h := range heads {
			st.m.attend(mixed[(t*a.Heads+h0+h)*a.KVRank:][:a.KVRank], scores[h*n:][:n], float32(a.Scale), rows, lw)
		}
	})
	return mixed
}
