package oracle

import (
	"slices"

	"shakedown/internal/oracle/numerics"
)

// Truncate makes the session forget all tokens behind the first n, so that
// another text with the same beginning can go on from there; memory of more than
// twice their size is given back. It returns false, and changes nothing, when n is
// out of range or when the arithmetic plays a fault in which what was written stays.
func (s *Session) Truncate(n int) bool {
	if n < 0 || n > s.n || !s.m.forgets() {
		return false
	}
	s.n = n
	for _, c := range s.caches {
		for l := range c.all {
			l.truncate(n)
		}
	}
	s.hit()
	return true
}

// Fork begins another text with the first n tokens of this one, of which it copies
// what the model remembers. The new session has no Tap. It returns nil where
// Truncate would return false.
func (s *Session) Fork(n int) *Session {
	if n < 0 || n > s.n || !s.m.forgets() {
		return nil
	}
	f := s.m.NewSession(nil)
	f.n = n
	for i, c := range s.caches {
		var from []*lines
		for l := range c.all {
			from = append(from, l)
		}
		for l := range f.caches[i].all {
			l.data = from[0].first(n)
			from = from[1:]
		}
	}
	f.hit()
	return f
}

// hit plays what goes wrong when a text goes on from what an earlier one left.
func (s *Session) hit() {
	page := s.m.Num.Page
	if !s.m.Num.Has(numerics.StaleHit) {
		return
	}
	for _, c := range s.caches {
		for l := range c.all {
			for pos := page; pos < min(2*page, len(l.data)/l.width); pos++ {
				copy(l.row(pos), l.row(pos-page))
			}
		}
	}
}

// forgets says that what was written can be undone.
func (m *Model) forgets() bool { return m.Num.KV != numerics.KV656As576 }

// all yields all lines of a cache, in an order of its own.
func (c *cache) all(yield func(*lines) bool) {
	for _, l := range slices.Concat(c.keys, c.values, []*lines{c.latent, c.index}) {
		if l != nil && !yield(l) {
			return
		}
	}
}

// truncate drops the positions from n on.
func (l *lines) truncate(n int) {
	if size := l.size(n); cap(l.data) > 2*size {
		l.data = l.first(n)
	} else {
		l.data = l.data[:size]
	}
}

// size is how many values the first n positions have; none where the arithmetic
// does not use these lines.
func (l *lines) size(n int) int { return min(n*l.width, len(l.data)) }

// first copies the vectors of the first n positions, with room for some more.
func (l *lines) first(n int) []float32 {
	size := l.size(n)
	return append(make([]float32, 0, size+size/8+spareLines*l.width), l.data[:size]...)
}

// spareLines is how many positions a copy has room for at least.
const spareLines = 16
