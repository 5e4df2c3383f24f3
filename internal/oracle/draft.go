package oracle

import (
	"context"
	"fmt"

	"shakedown/internal/oracle/numerics"
)

// Drafts is the number of MTP layers that the checkpoint holds.
func (m *Model) Drafts() int { return len(m.mtp) }

// Drafter runs one MTP layer beside a Session: from the hidden state of a token
// and the token that follows, it drafts the one after that. It has a cache of its
// own and is not safe for concurrent use.
type Drafter struct {
	m     *Model
	d     *draft
	layer int // its number in the checkpoint
	tap   Tap
	rope  *rotation
	cache *cache
	n     int
}

// NewDrafter begins a text for MTP layer i, below Drafts. tap may be nil.
func (m *Model) NewDrafter(i int, tap Tap) *Drafter {
	d := m.mtp[i]
	return &Drafter{m: m, d: d, layer: len(m.layers) + i, tap: tap, rope: newRotation(m.Spec.Rope, m.round.eager), cache: m.newCache(&d.layer)}
}

// Feed takes the hidden states of the next positions, as Session.Feed returns
// them, and for each the token that follows it. It returns the logits of the
// tokens after those, one row for each position.
func (d *Drafter) Feed(ctx context.Context, hidden []float32, next []int) ([]float32, error) {
	m, w := d.m, d.m.Spec.Hidden
	if len(next) == 0 || len(hidden) != len(next)*w {
		return nil, fmt.Errorf("%d hidden values for %d tokens: %d for each are expected", len(hidden), len(next), w)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	embedded, err := m.embedding(next, d.n)
	if err != nil {
		return nil, err
	}
	d.rope.grow(d.n + len(next))
	st := m.newStep(d.tap, d.layer, &part{n: len(next), start: d.n, rope: d.rope, cache: d.cache})
	if m.Num.MTP == numerics.MTPPostNorm {
		hidden = st.streamNorm("mtp.final_norm", m.norm, hidden)
	}
	e := st.norm("mtp.embed_norm", d.d.embedNorm, embedded, m.Spec.Eps)
	h := st.norm("mtp.hidden_norm", d.d.hiddenNorm, hidden, m.Spec.Eps)
	both := make([]float32, 0, 2*len(e))
	for t := range next {
		both = append(append(both, e[t*w:][:w]...), h[t*w:][:w]...) // the embedding comes first
	}
	x := d.d.run(st, st.mul("mtp.join", d.d.join, both))
	d.n += len(next)
	x = st.norm("mtp.norm", d.d.headNorm, x, m.Spec.Eps)
	return st.mul("mtp.logits", m.head, x), nil
}
