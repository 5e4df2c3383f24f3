package probe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// How the logprobs of a server are compared with an arithmetic's. Measured on the
// servers of docs/probes.md.
const (
	// window is how many tokens in a row are averaged: one token whose experts or
	// positions were chosen the other way round is what rounding does, a row of
	// them is not.
	window = 8
	// wider is how many times farther than sound arithmetics from each other a
	// server may be from the nearest of them.
	wider = 3
	// rounded and typical are put on top of that, for rows and for the median: for
	// the order of sums, and for logprobs that are printed with few digits.
	rounded, typical = 0.01, 0.005
	// alike is a distance below which two sets of logprobs are one.
	alike = 0.002
	// nearer is how many times nearer than sound ones a fault's arithmetic must be
	// to be named.
	nearer = 4
	// most is the greatest bound: what is farther apart is not the same.
	most = 0.5
	// enough is how many tokens must have been compared.
	enough = 8
)

// gap is how far apart two sets of logprobs are at one token.
type gap struct {
	text, at int
	d        float64 // total variation distance of what is known, 0 to 1
	nan      bool    // one of them is not a number, and the other is
}

// fitted is an arithmetic beside the server.
type fitted struct {
	*Arithmetic
	gaps []gap
	apart
	nan int // tokens at which one is NaN and the other not
}

// apart sums up distances: the mean of the worst row of tokens, which shows what
// is wrong somewhere, and the median, which shows what is a little wrong
// everywhere.
type apart struct{ row, median float64 }

func apartOf(gaps []gap) apart {
	all := make([]float64, len(gaps))
	for i, g := range gaps {
		all[i] = g.d
	}
	return apart{worst(gaps), median(all)}
}

func (a apart) within(b apart) bool { return a.row <= b.row && a.median <= b.median }

// told are the tokens of a text whose logprobs a server may tell.
func (t *Text) told() []Token { return slices.Concat(t.Echoed, t.Answer) }

// bad says whether a token's logprobs are no numbers.
func (t *Token) bad() bool {
	return t.Logprob.Null || slices.ContainsFunc(t.Top, func(r Ranked) bool { return r.Logprob.Null })
}

// bad says whether a row has values that are no numbers.
func (r *Row) bad() bool {
	return math.IsNaN(r.Own) || slices.ContainsFunc(r.Told, math.IsNaN)
}

// shares are the probabilities that a token or a row gives to the tokens listed,
// and what is left for all others.
func shares(t *Token, r *Row, logprob func(i int) float64, own float64) []float64 {
	var p []float64
	rest, listed := 1.0, false
	add := func(l float64) {
		v := min(1, math.Exp(l))
		p = append(p, v)
		rest -= v
	}
	for i, x := range t.Top {
		if r.Unknown[i] {
			continue
		}
		listed = listed || key(x.ID, x.Text) == key(t.ID, t.Text)
		add(logprob(i))
	}
	if !listed {
		add(own)
	}
	return append(p, max(0, rest))
}

func variation(p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Abs(p[i] - q[i])
	}
	return sum / 2
}

// nans compares what is not a number: NaN is as good as NaN.
func nans(a, b bool) (d float64, nan bool) {
	if a == b {
		return 0, false
	}
	return 1, true
}

// beside is how far a server's token is from an arithmetic's row.
func beside(t *Token, r *Row) (d float64, nan bool) {
	if t.bad() || r.bad() {
		return nans(t.bad(), r.bad())
	}
	p := shares(t, r, func(i int) float64 { return t.Top[i].Logprob.Value }, t.Logprob.Value)
	return variation(p, shares(t, r, func(i int) float64 { return r.Told[i] }, r.Own)), false
}

// between is how far two arithmetics are from each other at a server's token.
func between(t *Token, a, b *Row) (d float64, nan bool) {
	if a.bad() || b.bad() {
		return nans(a.bad(), b.bad())
	}
	p := shares(t, a, func(i int) float64 { return a.Told[i] }, a.Own)
	return variation(p, shares(t, a, func(i int) float64 { return b.Told[i] }, b.Own)), false
}

// walk compares all tokens of the texts that were computed anew, or of those whose
// beginning came from the cache.
func walk(texts []Text, cached bool, rows [][]Row, distance func(t *Token, text, at int) (float64, bool)) []gap {
	var list []gap
	for i := range texts {
		if texts[i].Cached != cached {
			continue
		}
		told := texts[i].told()
		for at := range min(len(told), len(rows[i])) {
			if rows[i][at].Skip {
				continue
			}
			d, nan := distance(&told[at], i, at)
			list = append(list, gap{text: i, at: at, d: d, nan: nan})
		}
	}
	return list
}

// worst is the mean distance of the worst row of tokens.
func worst(gaps []gap) float64 {
	most, sum := 0.0, 0.0
	from := 0
	for i, g := range gaps {
		if g.text != gaps[from].text {
			from, sum = i, 0
		}
		sum += g.d
		if i-from >= window {
			sum -= gaps[from].d
			from++
		}
		last := i+1 == len(gaps) || gaps[i+1].text != g.text
		if n := i - from + 1; n == window || last {
			most = max(most, sum/float64(n))
		}
	}
	return most
}

// fit puts an arithmetic beside the server.
func fit(texts []Text, cached bool, a *Arithmetic) fitted {
	f := fitted{Arithmetic: a}
	f.gaps = walk(texts, cached, a.Rows, func(t *Token, i, at int) (float64, bool) { return beside(t, &a.Rows[i][at]) })
	f.apart = apartOf(f.gaps)
	for _, g := range f.gaps {
		if g.nan {
			f.nan++
		}
	}
	return f
}

// fits are all arithmetics beside the server, and the noise of rounding.
type fits struct {
	all   []fitted
	noise apart  // the farthest that two fine arithmetics are apart
	pair  string // the two with the worst row
}

func compareAll(texts []Text, ref *Reference, cached bool) fits {
	var f fits
	for i := range ref.Arithmetics {
		a := &ref.Arithmetics[i]
		f.all = append(f.all, fit(texts, cached, a))
		for k := range i {
			b := &ref.Arithmetics[k]
			if !a.Sound || a.Coarse || !b.Sound || b.Coarse {
				continue
			}
			n := apartOf(walk(texts, cached, a.Rows, func(t *Token, i, at int) (float64, bool) {
				return between(t, &a.Rows[i][at], &b.Rows[i][at])
			}))
			if n.row > f.noise.row || f.pair == "" {
				f.noise.row, f.pair = n.row, b.Name+" and "+a.Name
			}
			f.noise.median = max(f.noise.median, n.median)
		}
	}
	return f
}

// bound is how far a server may be from an arithmetic that is its own.
func (f *fits) bound() apart {
	return apart{min(most, wider*f.noise.row+rounded), min(most, wider*f.noise.median+typical)}
}

// threshold says where the bound came from.
func (f *fits) threshold() string {
	b := f.bound()
	text := fmt.Sprintf("total variation distance: at most %.3f over %d tokens in a row and %.3f as the median", b.row, window, b.median)
	if f.pair == "" {
		return text + " (the order of sums, printed digits)"
	}
	return text + fmt.Sprintf("; that is %d times what sound arithmetics differ by (%.3f between %s, median %.3f), and %.2f and %.3f for the order of sums and printed digits",
		wider, f.noise.row, f.pair, f.noise.median, rounded, typical)
}

// nearest are the arithmetics that are sound, or those that are not, nearest
// first; those that are NaN where the server is not, or the other way round, come
// last.
func (f *fits) nearest(sound bool) []fitted {
	var list []fitted
	for _, x := range f.all {
		if x.Sound == sound {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b fitted) int {
		return cmp.Or(cmp.Compare(a.nan, b.nan), cmp.Compare(a.row, b.row))
	})
	return list
}

// sound is the sound arithmetic that the server fits; nil for none.
func (f *fits) sound() *fitted {
	for _, x := range f.nearest(true) {
		if x.nan == 0 && x.within(f.bound()) {
			return &x
		}
	}
	return nil
}

// plain is the arithmetic that a verdict speaks of: the finest one, unless another
// is clearly nearer to the server.
func (f *fits) plain() *fitted {
	best := f.nearest(true)[0]
	for _, x := range f.all {
		if x.Sound && !x.Coarse && x.nan == best.nan && x.row <= 1.5*best.row {
			return &x
		}
	}
	return &best
}

// settled says whether the server is as near to a sound arithmetic as sound ones
// are to each other, so that no fault needs to be thought of.
func (f *fits) settled() bool {
	best := f.sound()
	return best != nil && (best.row <= alike || f.pair != "" && best.within(apart{max(f.noise.row, rounded), max(f.noise.median, typical)}))
}

// explains says whether a fault's arithmetic is that of the server: as near as
// rounding lets it be, and far nearer than every sound one.
func (f *fits) explains(x *fitted) bool {
	best, nans := apart{math.Inf(1), math.Inf(1)}, math.MaxInt
	for _, s := range f.nearest(true) {
		best.row, best.median = min(best.row, s.row), min(best.median, s.median)
		nans = min(nans, s.nan)
	}
	const tenth = 10 // of the tokens may be NaN in one of the two alone: which bits of a code mean NaN hangs on rounding
	if x.nan*tenth > len(x.gaps) || x.nan > 0 && x.nan*nearer > nans {
		return false
	}
	if best.row <= alike || x.nan == 0 && !x.within(f.bound()) {
		return false
	}
	return x.row*nearer <= best.row || x.median*nearer <= best.median && x.row < best.row
}

// faults are those that explain the server, nearest first, each once.
func (f *fits) faults() []fitted {
	if f.settled() {
		return nil
	}
	var list []fitted
	for _, x := range f.nearest(false) {
		if f.explains(&x) && !slices.ContainsFunc(list, func(y fitted) bool { return y.Fault == x.Fault }) {
			list = append(list, x)
		}
	}
	if len(list) > 0 && list[0].nan == 0 { // the same tokens to the last one
		list = slices.DeleteFunc(list, func(x fitted) bool { return x.nan > 0 })
	}
	return list
}

// hint is the nearest fault where none explains the server, when it is clearly
// nearer than what is sound: a fault that is not alone, or a checkpoint that is not
// quite the server's.
func (f *fits) hint(best *fitted) *fitted {
	list := f.nearest(false)
	if len(list) == 0 || list[0].nan > best.nan || 2*list[0].row > best.row || 3*list[0].median > 2*best.median {
		return nil
	}
	return &list[0]
}

// Settled says whether the arithmetics so far say all that there is to say, so
// that no further ones need to be computed: a sound one is that of the server.
func (r *Reference) Settled(texts []Text) bool {
	f := compareAll(texts, r, false)
	return f.settled()
}
