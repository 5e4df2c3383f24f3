package oracle

// step is one pass of n tokens through one layer: a row of every vector for each
// token, those of each text side by side.
type step struct {
	m        *Model
	tap      Tap // nil when there are several parts
	layer    int
	parts    []*part
	rows     []*part // the part of each row
	n        int
	sum      []float32 // the residual stream before it was rounded; nil before the first sum
	selected [][]int   // positions chosen by the last indexer; nil before one ran
}

// part is the tokens of one text: n rows of a step, of which the first is at
// position start of the text.
type part struct {
	n, start int
	rope     *rotation // reaches all positions
	cache    *cache    // of the layer
	first    int       // row of the step
}

func (m *Model) newStep(tap Tap, layer int, parts ...*part) *step {
	st := &step{m: m, tap: tap, layer: layer, parts: parts}
	for _, p := range parts {
		p.first = st.n
		st.n += p.n
		for range p.n {
			st.rows = append(st.rows, p)
		}
	}
	return st
}

// position is that of row t in its text.
func (st *step) position(t int) int {
	p := st.rows[t]
	return p.start + t - p.first
}

// of is the rows of a part.
func (st *step) of(p *part, x []float32) []float32 {
	w := len(x) / st.n
	return x[p.first*w:][:p.n*w]
}

// span is the rows from from up to to.
type span struct{ from, to int }

// blocks splits the rows into spans of one text and at most size rows.
func (st *step) blocks(size int) []span {
	var out []span
	for _, p := range st.parts {
		for from, end := p.first, p.first+p.n; from < end; from += size {
			out = append(out, span{from, min(from+size, end)})
		}
	}
	return out
}

// store puts the rows of x into one of the caches of each text and returns what
// they give back.
func (st *step) store(x []float32, in func(*cache) *lines) []float32 {
	out := make([]float32, 0, len(x))
	for _, p := range st.parts {
		l := in(p.cache)
		l.put(p.start, st.of(p, x))
		out = append(out, l.data[p.start*l.width:]...)
	}
	return out
}

// storeHeads stores keys and values of all KV heads, side by side in each row.
func (st *step) storeHeads(keys, values []float32) {
	for _, p := range st.parts {
		put(p.cache.keys, p.start, st.of(p, keys))
		put(p.cache.values, p.start, st.of(p, values))
	}
}
