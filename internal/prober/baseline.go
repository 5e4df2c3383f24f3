package prober

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/finding"
)

// Baseline is an earlier run, as its messages told it.
type Baseline struct {
	name string
	seen
}

// seen is what is remembered of a run.
type seen struct {
	server   []pair // engine, model ...
	verdict  string
	probes   []pair // id and verdict
	settings []pair
	facts    []pair
	answers  []pair // what was asked greedily, and what came
}

type pair struct{ name, value string }

// Bounds of what is kept of a run.
const (
	maxPairs  = 4096
	maxStream = 256 << 20
)

// ErrNoRun says that a saved report is none of a probed server.
var ErrNoRun = errors.New("it is no saved run of probe")

// ReadBaseline reads a saved --json run; name is shown in the report. The error
// wraps ErrNoRun or finding.ErrNotReport when it is something else.
func ReadBaseline(name string, r io.Reader) (*Baseline, error) {
	b := &Baseline{name: name}
	err := finding.Decode(io.LimitReader(r, maxStream), func(m finding.Message) error {
		b.take(m)
		return nil
	})
	if err == nil && b.server == nil {
		err = ErrNoRun
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// Watch returns a handler that passes a run's messages on, and in front of the
// conclusion what changed since the baseline.
func (b *Baseline) Watch(out finding.Handler) finding.Handler {
	return &watcher{Handler: out, then: b}
}

type watcher struct {
	finding.Handler
	then *Baseline
	now  seen
}

func (w *watcher) Handle(m finding.Message) error {
	w.now.take(m)
	if _, ok := m.(*finding.ConclusionMsg); ok {
		if err := w.Handler.Handle(w.then.changes(&w.now)); err != nil {
			return err
		}
	}
	return w.Handler.Handle(m)
}

// take remembers what a message says.
func (s *seen) take(m finding.Message) {
	switch m := m.(type) {
	case *finding.EndpointMsg:
		s.server = []pair{{"engine", strings.TrimSpace(m.Engine + " " + m.EngineVersion)}, {"model", m.Model}, {"root", m.Root}}
		for _, f := range m.Facts {
			s.facts = keep(s.facts, f.Key, strings.TrimSpace(f.Value+" "+f.Unit))
		}
	case *finding.SettingMsg:
		s.settings = keep(s.settings, m.Name, m.Effective)
	case *finding.ProbeMsg:
		s.probes = keep(s.probes, m.ID, m.Verdict)
	case *finding.ConclusionMsg:
		s.verdict = m.Verdict
	case *finding.ExchangeMsg:
		if text, ok := greedyAnswer(m); ok {
			s.answers = keep(s.answers, m.Path+" "+m.Request, text)
		}
	}
}

// keep adds a pair; of equal names the first one counts.
func keep(list []pair, name, value string) []pair {
	if len(list) >= maxPairs || slices.ContainsFunc(list, func(p pair) bool { return p.name == name }) {
		return list
	}
	return append(list, pair{name, value})
}

// greedyAnswer is the text that a request without chance got.
func greedyAnswer(m *finding.ExchangeMsg) (text string, ok bool) {
	var asked struct {
		Temperature *float64 `json:"temperature"`
	}
	if m.Status != 200 || m.Cut || json.Unmarshal([]byte(m.Request), &asked) != nil || asked.Temperature == nil || *asked.Temperature != 0 {
		return "", false
	}
	var got struct {
		Choices []struct {
			Text    string `json:"text"`
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal([]byte(m.Answer), &got) != nil || len(got.Choices) != 1 {
		return "", false
	}
	return got.Choices[0].Text + got.Choices[0].Message.Content, true
}

// changes compares a run with the baseline. Only what both runs have asked can
// differ; of the rest, what is new or gone is told for the server alone.
func (b *Baseline) changes(now *seen) *finding.BaselineMsg {
	m := &finding.BaselineMsg{File: b.name, Verdict: b.verdict}
	for _, part := range []struct {
		kind      string
		then, now []pair
	}{
		{"probe", b.probes, now.probes}, {"server", b.server, now.server}, {"answer", b.answers, now.answers},
		{"setting", b.settings, now.settings}, {"fact", b.facts, now.facts},
	} {
		for _, p := range part.now {
			i := slices.IndexFunc(part.then, func(q pair) bool { return q.name == p.name })
			switch {
			case i < 0: // not asked then, or not told
			case part.then[i].value == p.value:
				m.Equal++
			case part.kind == "answer":
				m.Changes = append(m.Changes, finding.Changed{Kind: part.kind, Name: "to the same greedy request", Then: shortQuote(part.then[i].value), Now: shortQuote(p.value)})
			default:
				m.Changes = append(m.Changes, finding.Changed{Kind: part.kind, Name: p.name, Then: part.then[i].value, Now: p.value})
			}
		}
	}
	return m
}

// longQuote is as much of an answer as tells it from another one, in characters.
const longQuote = 200

func shortQuote(s string) string {
	if r := []rune(s); len(r) > longQuote {
		s = string(r[:longQuote])
	}
	return strconv.Quote(s)
}
