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
// before they are rounded. Its errors are those of FeedAll.
func (s *Session) Feed(ctx context.Context, tokens []int) ([]float32, error) {
	hidden, err := s.m.FeedAll(ctx, []Feed{{s, tokens}})
	if err != nil {
		return nil, err
	}
	return hidden[0], nil
}

// Feed is the next tokens of a session.
type Feed struct {
	Session *Session
	Tokens  []int
}

// FeedAll feeds several sessions in one pass, so that weights are read once for
// all of them, and returns the hidden states of each. They have the bits that
// Session.Feed gives for each session alone.
//
// An id outside of the vocabulary, a session twice or of another model, and one
// with a Tap beside others are errors, and all sessions are unchanged. After the
// error of an interrupted context or a panic, a session can be used again when
// Truncate to its length returns true.
func (m *Model) FeedAll(ctx context.Context, feeds []Feed) ([][]float32, error) {
	x, err := m.embedAll(feeds)
	if err != nil {
		return nil, err
	}
	parts := make([]*part, len(feeds))
	for i, f := range feeds {
		s := f.Session
		s.rope.grow(s.n + len(f.Tokens))
		parts[i] = &part{n: len(f.Tokens), start: s.n, rope: s.rope}
	}
	st := m.newStep(feeds[0].Session.tap, -1, parts...)
	st.see("embed", m.embed.name, x)
	m.ahead(0, st.n)
	for i, l := range m.layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.pager.Ready(i)
		m.ahead(i+1, st.n)
		st.layer = i
		for j, p := range parts {
			p.cache = feeds[j].Session.caches[i]
		}
		x = l.run(st, x)
		m.pager.Done(i)
	}
	if st.sum != nil {
		x = st.sum
	}
	out := make([][]float32, len(feeds))
	for i, p := range parts {
		feeds[i].Session.n += p.n
		out[i] = st.of(p, x)
	}
	return out, nil
}

// embedAll checks feeds and gives the embedding of all their tokens.
func (m *Model) embedAll(feeds []Feed) ([]float32, error) {
	if len(feeds) == 0 {
		return nil, ErrNoTokens
	}
	var all []float32
	seen := make(map[*Session]bool)
	for _, f := range feeds {
		s := f.Session
		switch {
		case len(f.Tokens) == 0:
			return nil, ErrNoTokens
		case s.m != m:
			return nil, errors.New("a session of another model: feed it by itself")
		case seen[s]:
			return nil, errors.New("a session is there twice: put its tokens into one feed")
		case s.tap != nil && len(feeds) > 1:
			return nil, errors.New("a session with a tap: feed it by itself")
		}
		seen[s] = true
		x, err := m.embedding(f.Tokens, s.n)
		if err != nil {
			return nil, err
		}
		all = append(all, x...)
	}
	return all, nil
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
	return s.m.logits(s.tap, start, hidden)
}

// Logits are the logits of hidden states of any sessions, one row for each,
// without a Tap.
func (m *Model) Logits(hidden []float32) []float32 { return m.logits(nil, 0, hidden) }

func (m *Model) logits(tap Tap, start int, hidden []float32) []float32 {
	m.pager.Ready(Output)
	st := m.newStep(tap, -1, &part{n: len(hidden) / m.Spec.Hidden, start: start})
	return st.mul("logits", m.head, st.streamNorm("final_norm", m.norm, hidden))
}
