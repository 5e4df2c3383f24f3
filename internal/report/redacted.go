package report

import (
	"shakedown/internal/finding"
	"shakedown/internal/redact"
)

// Redacted hands cleaned copies of all messages to the next handler, for
// outputs that quote exactly otherwise (JSON).
func Redacted(next finding.Handler, r *redact.Redactor) finding.Handler {
	return &redacted{next: next, copier: copier{redact: r}}
}

type redacted struct {
	next   finding.Handler
	copier copier
}

var _ finding.Handler = (*redacted)(nil)

func (h *redacted) Handle(m finding.Message) error { return h.next.Handle(h.copier.message(m)) }

func (h *redacted) Close() error { return h.next.Close() }
