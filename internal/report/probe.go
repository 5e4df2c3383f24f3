package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/finding"
)

// probing gathers the messages of a run against a living server.
type probing struct {
	copier     copier
	tool       string
	head       finding.EndpointMsg
	settings   []finding.SettingMsg
	probes     []finding.ProbeMsg
	exchanges  map[int]finding.ExchangeMsg
	findings   []finding.FindingMsg
	baseline   *finding.BaselineMsg
	conclusion *finding.ConclusionMsg // nil: the run was cut before it
	errors     []finding.ErrorMsg
	ended      bool
}

func newProbing(opt Options) probing {
	return probing{copier: copier{redact: opt.Redact}, exchanges: map[int]finding.ExchangeMsg{}}
}

// Handle collects one message.
func (g *probing) Handle(m finding.Message) error {
	g.take(m)
	return nil
}

// take collects one message and returns the copy that it keeps.
func (g *probing) take(m finding.Message) finding.Message {
	m = g.copier.message(m)
	switch m := m.(type) {
	case *finding.ConfigMsg:
		g.tool = m.ToolVersion
	case *finding.EndpointMsg:
		g.head = *m
	case *finding.SettingMsg:
		g.settings = bounded(g.settings, *m, maxOfKind)
	case *finding.ProbeMsg:
		g.probes = bounded(g.probes, *m, maxOfKind)
	case *finding.ExchangeMsg:
		if len(g.exchanges) < maxOfKind {
			g.exchanges[m.N] = *m
		}
	case *finding.FindingMsg:
		g.findings = bounded(g.findings, *m, maxOfKind)
	case *finding.BaselineMsg:
		g.baseline = m
	case *finding.ConclusionMsg:
		g.conclusion = m
	case *finding.ErrorMsg:
		g.errors = bounded(g.errors, *m, maxErrors)
	case *finding.EndMsg:
		g.ended = true
	}
	return m
}

// Verdicts of a probe and of all of them, as the messages spell them.
const (
	probePassed = "pass"
	probeFailed = "fail"
	provenRight = "proven right"
	provenWrong = "wrong"
)

// probeView is what only a run against a living server has.
type probeView struct {
	URL     string
	Level   string // "default level, gentle"
	Bound   string // the most that was announced
	Sent    string // what was sent in the end; empty without a conclusion
	Text    string // the conclusion in a sentence
	Failed  []probeRow
	Open    []probeRow
	Passed  []probeRow
	Unknown []string      // what could not be read from the server
	Since   *sinceView    // nil: there is nothing to compare with
	Read    []exchangeRow // requests that belong to no probe: what the server tells of itself
}

// sinceView is what changed since an earlier run.
type sinceView struct {
	Title   string // "then.json, which was proven right: 12 things are the same"
	Changes []string
}

// probeRow is one probe as it is shown.
type probeRow struct {
	ID        string
	Word      string // "pass", "FAIL" or "can't tell"
	Tone      tone
	Title     string
	Text      string
	Threshold string
	Essential bool
	Asked     string // "requests 3-7"
	Took      string
	Evidence  []evidence
	Exchanges []exchangeRow
}

// exchangeRow is one request with its answer.
type exchangeRow struct {
	N       int
	What    string // "POST /v1/completions, greedy"
	Result  string // "200, 0.4 s"
	Request string
	Answer  string
}

// view puts all of it into words.
func (g *probing) view() view {
	v := view{Tone: warn, Headline: g.headline(), Engine: g.engine(), Model: g.head.Model, Notes: g.notes()}
	v.Ran = nonEmpty(v.Engine, shortModel(v.Model))
	v.Probe = &probeView{URL: g.head.URL, Level: g.level(), Bound: traffic(g.head.Bound), Unknown: g.head.Notes}
	if c := g.conclusion; c != nil {
		v.Outcome = c.Verdict
		v.Probe.Text, v.Probe.Sent = c.Text, traffic(c.Sent)
		switch c.Verdict {
		case provenRight:
			v.Tone = good
		case provenWrong:
			v.Tone = bad
		}
	}
	for _, m := range g.probes {
		r := g.row(m)
		switch m.Verdict {
		case probePassed:
			v.Probe.Passed = append(v.Probe.Passed, r)
		case probeFailed:
			v.Probe.Failed = append(v.Probe.Failed, r)
		default:
			v.Probe.Open = append(v.Probe.Open, r)
		}
	}
	v.Probe.Read = g.unclaimed()
	v.Probe.Since = g.since()
	for _, f := range g.head.Facts {
		v.Facts = append(v.Facts, fact{f.Key, strings.TrimSpace(f.Value + " " + f.Unit), f.File})
	}
	g.addCauses(&v)
	v.addSettings(g.settings, places{})
	return v
}

// addCauses adds the suspects and what to do. The experiments that decide come
// before the remedies.
func (g *probing) addCauses(v *view) {
	var latent []finding.FindingMsg
	for _, f := range g.findings {
		switch s := newSuspect(f, places{}); f.Role {
		case roleLatent:
			v.Latent, latent = append(v.Latent, s), append(latent, f)
		case roleRemark, roleConsequence:
			v.Remarks = append(v.Remarks, s)
		}
	}
	roots := rootsOf(g.findings)
	for i, f := range roots {
		s := newSuspect(f, places{})
		s.Number = i + 1
		s.Basis = g.basis(s.Basis)
		v.Suspects = append(v.Suspects, s)
	}
	v.Decide = decide(roots)
	var next []finding.FindingMsg
	if c := g.conclusion; c != nil {
		v.CauseIntro = causeIntro(&launch{LaunchMsg: finding.LaunchMsg{Outcome: finding.Failed}}, roots)
		if len(roots) == 0 {
			v.CauseIntro = ""
			if len(c.Causes) > 0 && c.Verdict == provenWrong {
				v.CauseIntro = "not proven; what fits: " + strings.Join(c.Causes, ", ")
			}
		}
		next = []finding.FindingMsg{{Remedies: c.Next}}
	}
	v.Actions = actions(roots, append(next, latent...))
}

// since puts the comparison with an earlier run into words.
func (g *probing) since() *sinceView {
	b := g.baseline
	if b == nil {
		return nil
	}
	then := "had no verdict"
	if b.Verdict != "" {
		then = "was " + b.Verdict
	}
	if b.Verdict == "can't tell" {
		then = "could not tell"
	}
	s := &sinceView{Title: fmt.Sprintf("%s, which %s: %s", b.File, then, plural(b.Equal, "thing is the same", "things are the same"))}
	if len(b.Changes) == 0 {
		s.Title += ", and nothing differs"
	}
	for _, c := range b.Changes {
		s.Changes = append(s.Changes, fmt.Sprintf("%s %s: %s -> %s", c.Kind, c.Name, orNone(c.Then), orNone(c.Now)))
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// basis names the probe that a confidence stands on where it would repeat its
// verdict.
func (g *probing) basis(text string) string {
	for _, m := range g.probes {
		if m.Verdict == probeFailed && text != "" && text == m.Text {
			return "probe " + m.ID + " failed"
		}
	}
	return text
}

// headline is the verdict with the counts behind it.
func (g *probing) headline() string {
	c := g.conclusion
	if c == nil {
		return g.unfinished()
	}
	all := c.Passed + c.Failed + c.Open
	var counts []string
	switch {
	case all == 0:
	case c.Failed > 0:
		counts = append(counts, fmt.Sprintf("%d of %s failed", c.Failed, plural(all, "probe", "probes")))
	case c.Passed == all && all > 1:
		counts = append(counts, "all "+plural(all, "probe", "probes")+" passed")
	default:
		counts = append(counts, fmt.Sprintf("%d of %s passed", c.Passed, plural(all, "probe", "probes")))
	}
	if c.Open > 0 {
		counts = append(counts, fmt.Sprintf("%d can't tell", c.Open))
	}
	return strings.Join(nonEmpty(strings.ToUpper(c.Verdict), strings.Join(counts, ", ")), ": ")
}

// unfinished is the headline of a run that was cut.
func (g *probing) unfinished() string {
	counts := map[string]int{}
	for _, m := range g.probes {
		counts[m.Verdict]++
	}
	words := "NO CONCLUSION"
	if n := len(g.probes); n > 0 {
		passed, failed := counts[probePassed], counts[probeFailed]
		words += fmt.Sprintf(": %d passed, %d failed, %d can't tell so far", passed, failed, n-passed-failed)
	}
	return words
}

func (g *probing) engine() string {
	if g.head.Engine == "" {
		return "engine not recognised"
	}
	return strings.TrimSpace(g.head.Engine + " " + g.head.EngineVersion)
}

func (g *probing) level() string {
	s := g.head.Level + " level"
	if g.head.Gentle {
		s += ", gentle"
	}
	return s
}

func (g *probing) notes() []string {
	if g.ended {
		return nil
	}
	return []string{"This report is incomplete: its end is missing."}
}

// row puts one probe into words.
func (g *probing) row(m finding.ProbeMsg) probeRow {
	r := probeRow{
		ID: m.ID, Word: "can't tell", Tone: warn, Title: m.Title, Text: m.Text, Threshold: m.Threshold, Essential: m.Essential,
		Asked: requests(m.Exchanges), Took: duration(m.Seconds), Evidence: quotes(m.Evidence, places{}),
	}
	if len(m.Exchanges) == 0 {
		r.Took = ""
	}
	switch m.Verdict {
	case probePassed:
		r.Word, r.Tone = "pass", good
	case probeFailed:
		r.Word, r.Tone = "FAIL", bad
	}
	for _, n := range m.Exchanges {
		if x, ok := g.exchanges[n]; ok {
			r.Exchanges = append(r.Exchanges, newExchangeRow(x))
		}
	}
	return r
}

// unclaimed are the exchanges that no probe names, in their order.
func (g *probing) unclaimed() []exchangeRow {
	claimed := map[int]bool{}
	for _, m := range g.probes {
		for _, n := range m.Exchanges {
			claimed[n] = true
		}
	}
	var rows []exchangeRow
	for _, n := range slices.Sorted(maps.Keys(g.exchanges)) {
		if !claimed[n] {
			rows = append(rows, newExchangeRow(g.exchanges[n]))
		}
	}
	return rows
}

func newExchangeRow(x finding.ExchangeMsg) exchangeRow {
	r := exchangeRow{N: x.N, Request: x.Request, Answer: x.Answer}
	r.What = strings.Join(nonEmpty(strings.TrimSpace(x.Method+" "+x.Path), x.Label), ", ")
	status := "no answer"
	if x.Status > 0 {
		status = strconv.Itoa(x.Status)
	}
	r.Result = strings.Join(nonEmpty(status, x.Failure, duration(x.Seconds)), ", ")
	if x.Cut {
		r.Answer += " ... (longer)"
	}
	return r
}

// requests names the requests of a probe.
func requests(numbers []int) string {
	if len(numbers) == 0 {
		return "nothing sent"
	}
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	if len(words) == 1 {
		return "request " + words[0]
	}
	return "requests " + rankList(words)
}

// traffic puts an amount of requests into words.
func traffic(t finding.Traffic) string {
	s := plural(t.Requests, "request", "requests")
	if t.Together > 1 {
		s += fmt.Sprintf(", up to %d at a time", t.Together)
	}
	s += fmt.Sprintf("; %s of prompts, %d of answers", plural(t.PromptTokens, "token", "tokens"), t.AnswerTokens)
	if t.Seconds > 0 {
		s += "; " + duration(t.Seconds)
	}
	return s
}
