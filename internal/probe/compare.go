package probe

import (
	"math"
	"slices"
	"strconv"
)

// key names a token in a list of the likeliest: by id where the server tells it,
// else by its text.
func key(id int, text string) string {
	if id >= 0 {
		return "#" + strconv.Itoa(id)
	}
	return text
}

// dist is the part of a next-token distribution that a server tells.
type dist struct {
	p     map[string]float64 // probabilities of the listed tokens
	least float64            // the smallest of them: no unlisted token has more
	rest  float64            // what the unlisted tokens have together
}

// distOf is what a token's logprobs say; ok is false when they say nothing, or are
// not finite.
func distOf(t Token) (d dist, ok bool) {
	d = dist{p: map[string]float64{}, least: 1}
	sum := 0.0
	for _, r := range t.Top {
		if r.Logprob.Null {
			return d, false
		}
		p := math.Exp(r.Logprob.Value)
		d.p[key(r.ID, r.Text)] = p
	}
	for _, p := range d.p {
		sum += p
		d.least = min(d.least, p)
	}
	if len(d.p) < 2 || sum > 1.05 || sum-sum != 0 {
		return d, false
	}
	d.rest = max(0, 1-sum)
	return d, true
}

// distance is a lower bound of the total variation distance of two distributions
// of which only the likeliest tokens are known: 0 equal, 1 nothing in common. A
// token that one side does not list counts there with what lies nearest to the
// other side's value among what is possible.
func distance(a, b dist) float64 {
	sum := 0.0
	for k, p := range a.p {
		if q, ok := b.p[k]; ok {
			sum += math.Abs(p - q)
		} else {
			sum += max(0, p-min(b.least, b.rest))
		}
	}
	for k, q := range b.p {
		if _, ok := a.p[k]; !ok {
			sum += max(0, q-min(a.least, a.rest))
		}
	}
	return min(1, sum/2)
}

// spread is how far the distributions of different positions of one answer lie
// apart, as the median over neighbours: the scale on which a distance at the same
// position is large or small. A model that says the same everywhere has spread 0,
// and nothing can be seen in it.
func spread(tokens []Token) float64 {
	var all []float64
	for i := 1; i < len(tokens); i++ {
		a, okA := distOf(tokens[i-1])
		b, okB := distOf(tokens[i])
		if okA && okB {
			all = append(all, distance(a, b))
		}
	}
	return median(all)
}

// median is 0 for none.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// Floor is the noise that a server shows by itself: the same request again.
type Floor struct {
	Known    bool
	Greatest float64 // of the distances at the same position
	Diverged int     // position at which greedy repeats first chose different tokens; -1: never
}

// parting is where two runs of tokens first differ; -1 when one is the beginning
// of the other.
func parting(a, b []Token) int {
	for i := range min(len(a), len(b)) {
		if key(a[i].ID, a[i].Text) != key(b[i].ID, b[i].Text) {
			return i
		}
	}
	return -1
}

// along are the distances at the positions where two runs have had the same
// tokens before.
func along(a, b []Token) []float64 {
	n := min(len(a), len(b))
	if at := parting(a, b); at >= 0 {
		n = at + 1
	}
	var all []float64
	for i := range n {
		x, okX := distOf(a[i])
		y, okY := distOf(b[i])
		if okX && okY {
			all = append(all, distance(x, y))
		}
	}
	return all
}
