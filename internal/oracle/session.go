package oracle

import (
	"context"
	"errors"
	"fmt"
)

// Session is one text: the model's cache of all tokens fed so far. It is not
// safe for concurrent use.
type Session struct {
	m      *Model
	tap    Tap
	rope   *rotation
	caches []*cache
	n      int // tokens so far
}

// NewSession begins a text. tap may be nil.
func (m *Model) NewSession(tap Tap) *Session {
	// Engines keep the table of a rotation in float32, the reference casts it.
	s := &Session{m: m, tap: tap, rope: newRotation(m.Spec.Rope, m.round.eager)}
	for _, l := range m.layers {
		s.caches = append(s.caches, m.newCache(l))
	}
	return s
}

// Len is the number of tokens fed so far.
func (s *Session) Len() int { return s.n }

// ErrNoTokens says that a text has no token to compute anything from.
var ErrNoTokens = errors.New("no tokens")

// Feed runs tokens through all layers and returns the hidden states behind the
// last layer, before the final norm, one vector per token; under norm=fused-sum
// before they are rounded. An id outside of the
// vocabulary is an error, and the session is unchanged; after the error of an
// interrupted context the session can't be used any more.
func (s *Session) Feed(ctx context.Context, tokens []int) ([]float32, error) {
	m := s.m
	if len(tokens) == 0 {
		return nil, ErrNoTokens
	}
	x, err := m.embedding(tokens, s.n)
	if err != nil {
		return nil, err
	}
	s.rope.grow(s.n + len(tokens))
	st := &step{m: m, tap: s.tap, rope: s.rope, layer: -1, start: s.n, n: len(tokens)}
	st.see("embed", m.embed.name, x)
	m.ahead(0, st.n)
	for i, l := range m.layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.ahead(i+1, st.n)
		st.layer = i
		x = l.run(st, s.caches[i], x)
		m.pager.Done(i)
	}
	s.n += len(tokens)
	if st.sum != nil {
		return st.sum, nil
	}
	return x, nil
}

// embedding is the embedding of tokens, of which the first is at position start.
func (m *Model) embedding(tokens []int, start int) ([]float32, error) {
	x := make([]float32, len(tokens)*m.Spec.Hidden)
	for t, id := range tokens {
		if id < 0 || id >= m.Spec.Vocab {
			return nil, fmt.Errorf("token id %d at position %d: the vocabulary has ids 0 to %d", id, start+t, m.Spec.Vocab-1)
		}
		m.embed.Row(id, x[t*m.Spec.Hidden:][:m.Spec.Hidden])
	}
	m.round.act.apply(x)
	return x, nil
}

// Logits are the logits of the last n tokens fed, from their hidden states.
func (s *Session) Logits(hidden []float32) []float32 {
	return s.LogitsAt(s.n-len(hidden)/s.m.Spec.Hidden, hidden)
}

// LogitsAt are the logits of hidden states of which the first belongs to
// position start.
func (s *Session) LogitsAt(start int, hidden []float32) []float32 {
	m := s.m
	n := len(hidden) / m.Spec.Hidden
	st := &step{m: m, tap: s.tap, layer: -1, start: start, n: n}
	return st.mul("logits", m.head, st.streamNorm("final_norm", m.norm, hidden))
}
