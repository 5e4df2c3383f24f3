package oracle

import (
	"shakedown/internal/kernel"
)

// reach is what a token attends to: the positions of list, ascending, or all
// from from to its own.
type reach struct {
	from int
	list []int
}

// tokenBlock is how many tokens share a pass over the keys. It changes speed
// only.
const tokenBlock = 16

// heads attends with the cached keys and values per KV head: query head h uses
// KV head h/(heads/KV heads). q holds heads*dk values per token, the result heads*dv.
func (st *step) heads(q []float32, heads, dk, dv int, scale float32, at func(t int) reach) []float32 {
	kvHeads := len(st.parts[0].cache.keys)
	group := heads / kvHeads
	out := make([]float32, st.n*heads*dv)
	blocks := st.blocks(tokenBlock)
	st.m.pool.Each(len(blocks)*kvHeads, func(i int) {
		kv, from, to := i%kvHeads, blocks[i/kvHeads].from, blocks[i/kvHeads].to
		c := st.rows[from].cache
		b := &headBlock{st: st, group: group, dk: dk, dv: dv, keys: c.keys[kv], values: c.values[kv], scale: scale}
		for t := from; t < to; {
			n := 1
			first := at(t)
			for first.list == nil && t+n < to && at(t+n).list == nil {
				n++
			}
			for j := range n {
				base := ((t+j)*heads + kv*group)
				b.add(t+j, at(t+j), q[base*dk:][:group*dk], out[base*dv:][:group*dv])
			}
			b.run()
			t += n
		}
	})
	return out
}

// headBlock is some tokens of one text and one KV head.
type headBlock struct {
	st           *step
	group        int
	dk, dv       int
	keys, values *lines
	scale        float32

	queries []float32
	tokens  []int
	reaches []reach
	outs    [][]float32
}

func (b *headBlock) add(t int, r reach, q, out []float32) {
	b.queries = append(b.queries, q...)
	b.tokens, b.reaches, b.outs = append(b.tokens, t), append(b.reaches, r), append(b.outs, out)
}

// run attends for the tokens added, and forgets them.
func (b *headBlock) run() {
	from, to := b.reaches[0].from, b.st.position(b.tokens[len(b.tokens)-1])+1
	k, v := b.keys.data[from*b.dk:to*b.dk], b.values.data[from*b.dv:to*b.dv]
	if list := b.reaches[0].list; list != nil { // a token of its own
		k, v = gather(b.keys, list), gather(b.values, list)
	}
	rows := len(k) / b.dk
	scores := make([]float32, len(b.tokens)*b.group*rows)
	products(scores, k, b.dk, b.queries)
	for i, t := range b.tokens {
		lo, hi := 0, rows
		if b.reaches[i].list == nil {
			lo, hi = b.reaches[i].from-from, b.st.position(t)+1-from
		}
		for g := range b.group {
			p := scores[(i*b.group+g)*rows:][lo:hi]
			b.st.m.attend(b.outs[i][g*b.dv:][:b.dv], p, b.scale, v[lo*b.dv:], b.dv)
		}
	}
	b.queries, b.tokens, b.reaches, b.outs = b.queries[:0], b.tokens[:0], b.reaches[:0], b.outs[:0]
}

// gather copies the lines of some positions.
func gather(l *lines, at []int) []float32 {
	out := make([]float32, 0, len(at)*l.width)
	for _, pos := range at {
		out = append(out, l.row(pos)...)
	}
	return out
}

// products multiplies every vector of x with every row of width w: the score of
// row j for vector i is scores[i*rows+j].
func products(scores, rows []float32, w int, x []float32) {
	m, err := kernel.FromFloats(rows, len(rows)/w, w)
	if err != nil {
		panic("oracle: " + err.Error()) // the sizes are our own
	}
	m.MulMat(nil, scores, x, len(x)/w)
}

// attend turns raw scores into probabilities and sums the first dv values of the
// rows with them. Rows are stride values apart in rows.
func (m *Model) attend(out, scores []float32, scale float32, rows []float32, stride int) {
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
	kernel.AddScaledRows(out, rows, stride, scores)
	if fused {
		for i := range out {
			out[i] /= sum
		}
	}
	m.round.act.apply(out)
}

// transposed copies n tokens of one of several heads, w values each, one behind
// the other.
func transposed(x []float32, n, heads, h, w int) []float32 {
	out := make([]float32, 0, n*w)
	for t := range n {
		out = append(out, x[(t*heads+h)*w:][:w]...)
	}
	return out
}

// chunk is how many values a goroutine gets at a time in elementwise work.
const chunk = 1 << 14

// each calls f for pieces of x in parallel.
func (m *Model) each(n int, f func(from, to int)) {
	m.pool.Each((n+chunk-1)/chunk, func(i int) { f(i*chunk, min((i+1)*chunk, n)) })
}

// applyAll rounds in parallel.
func (m *Model) applyAll(r rounder, x []float32) {
	if r != nil {
		m.each(len(x), func(from, to int) { r(x[from:to]) })
	}
}

// addAll adds x to y in parallel and rounds.
func (m *Model) addAll(y, x []float32) {
	m.each(len(x), func(from, to int) {
		add(y[from:to], x[from:to])
		m.round.act.apply(y[from:to])
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
