package prober_test

import (
	"context"
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/probe"
	"shakedown/internal/prober"
)

// previewer is a server that must not be asked.
type previewer struct {
	*server
	t *testing.T
}

func (p previewer) Preview(_ *probe.Target, a probe.Ask) probe.Exchange {
	return probe.Exchange{Label: a.Label, Method: "POST", Path: "/v1/completions", Failure: probe.NotSent}
}

func (p previewer) Send(context.Context, *probe.Target, probe.Ask) (probe.Answer, probe.Exchange) {
	p.t.Error("a request was sent")
	return probe.Answer{}, probe.Exchange{}
}

// TestRehearse: all requests that a run would send are shown, none is sent, and
// nothing is judged.
func TestRehearse(t *testing.T) {
	for _, level := range []probe.Level{probe.Quick, probe.Default, probe.Thorough} {
		s := newServer()
		o := options(s)
		o.Level = level
		real, _ := run(t, o)
		p := previewer{newServer(), t}
		o = options(p.server)
		o.Level = level
		var out stream
		if err := prober.Rehearse(t.Context(), p, o, &out); err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, m := range out {
			switch m := m.(type) {
			case *finding.EndpointMsg, *finding.SettingMsg:
			case *finding.ExchangeMsg:
				shown++
				if m.Probe != "identify" && (m.Status != 0 || m.Failure != string(probe.NotSent)) {
					t.Errorf("exchange %d looks as if it was sent: %+v", m.N, m)
				}
			default:
				t.Errorf("%T in a rehearsal", m)
			}
		}
		if sent := real.Message.Sent.Requests; shown < sent*9/10 || shown > sent*11/10 {
			t.Errorf("%s: %d requests shown, %d sent", prober.LevelName(level), shown, sent)
		}
	}
}
