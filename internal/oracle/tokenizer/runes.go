package tokenizer

import (
	"slices"
	"sort"
	"unicode"
)

// span is a range of code points, both ends included.
type span struct{ lo, hi rune }

// runeSet is a set of code points: sorted, disjoint spans, and a bitmap of the
// basic plane, where nearly all text lies. It is immutable.
type runeSet struct {
	spans []span
	low   [0x10000 / 64]uint64
}

func newRuneSet(spans []span) *runeSet {
	s := &runeSet{spans: spans}
	for _, sp := range spans {
		for r := sp.lo; r <= min(sp.hi, 0xffff); r++ {
			s.low[r/64] |= 1 << (r % 64)
		}
	}
	return s
}

func (s *runeSet) has(r rune) bool {
	if r < 0x10000 {
		return s.low[r/64]&(1<<(r%64)) != 0
	}
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].hi >= r })
	return i < len(s.spans) && s.spans[i].lo <= r
}

// tableSpans are the code points of a Unicode table.
func tableSpans(t *unicode.RangeTable) []span {
	var out []span
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, span{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, span{r, r})
		}
	}
	for _, r := range t.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return union(out)
}

// union sorts spans and joins those that touch.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo - b.lo) })
	out := spans[:0:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	return out
}

// complement is everything else. spans must be sorted and disjoint.
func complement(spans []span) []span {
	var out []span
	next := rune(0)
	for _, s := range spans {
		if s.lo > next {
			out = append(out, span{next, s.lo - 1})
		}
		next = s.hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, span{next, unicode.MaxRune})
	}
	return out
}

// intersection is what both have. Both must be sorted and disjoint.
func intersection(a, b []span) []span {
	return complement(union(append(complement(a), complement(b)...)))
}

// folded adds the code points that differ only by case, as Unicode's simple
// folding has it: 's' also stands for U+017F.
func folded(spans []span) []span {
	out := slices.Clone(spans)
	for _, s := range spans {
		if s.hi-s.lo > 0x1000 {
			continue // no pattern folds a class of that size
		}
		for r := s.lo; r <= s.hi; r++ {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				out = append(out, span{f, f})
			}
		}
	}
	return union(out)
}
