package oracle

import "shakedown/internal/oracle/numerics"

// Truncate makes the session forget all tokens behind the first n, so that
// another text with the same beginning can go on from there. It returns false,
// and changes nothing, when n is out of range or when the arithmetic plays a
// fault in which what was written stays.
func (s *Session) Truncate(n int) bool {
	if n < 0 || n > s.n || s.m.Num.KV == numerics.KV656As576 {
		return false
	}
	s.n = n // caches overwrite what lies behind the tokens that are fed next
	return true
}
