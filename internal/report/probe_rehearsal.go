package report

import (
	"io"

	"shakedown/internal/finding"
)

// rehearsalText shows on a terminal what a run would send.
type rehearsalText struct {
	probeText
	shown string // probe whose requests were shown last
}

// NewRehearsalText returns a handler that writes what a run would send to w,
// request by request.
func NewRehearsalText(w io.Writer, opt Options) finding.Handler {
	return &rehearsalText{probeText: newProbeText(w, opt)}
}

// Handle writes what a message says.
func (t *rehearsalText) Handle(m finding.Message) error {
	switch m := t.run.take(m).(type) {
	case *finding.EndpointMsg:
		t.announce(t.run.view())
	case *finding.ExchangeMsg:
		t.request(*m)
	default:
		return nil
	}
	return t.p.flush()
}

// request writes one request.
func (t *rehearsalText) request(m finding.ExchangeMsg) {
	if t.shown == "" {
		t.p.section("REQUESTS")
	}
	if m.Probe != t.shown {
		t.shown = m.Probe
		t.p.row("", m.Probe, "", t.p.style.Bold)
	}
	x := newExchangeRow(m)
	result := "not sent"
	if m.Status > 0 {
		result = "sent, " + x.Result
	}
	t.p.row("  "+requests([]int{m.N})+": ", x.What, result, plainStyle)
	t.p.quote("  ", x.Request, "", t.few(bodyLines))
}

const rehearsed = "Nothing was computed. Where a request quotes an answer, the letters a b c stand for it; " +
	"an answer that comes out otherwise can change what is asked next, within the bound."

// Close says what was left out.
func (t *rehearsalText) Close() error {
	if len(t.run.exchanges) > 0 {
		t.p.gap = true
		t.p.row("", rehearsed, "", t.p.style.Dim)
	}
	return t.p.flush()
}
