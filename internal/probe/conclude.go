package probe

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// The verdicts on a server.
const (
	ProvenRight = "proven right"
	Wrong       = "wrong"
	Unknown     = "can't tell"
)

// Conclusion is what all verdicts say together.
type Conclusion struct {
	Message  finding.ConclusionMsg
	Findings []finding.FindingMsg
}

// oracleID is the probe that holds the server against the exact engine.
const oracleID = "oracle"

// Conclude joins verdicts: a failure makes a server wrong; all essential probes
// passed make it proven right; anything else leaves it open.
func Conclude(t *Target, results []Result) Conclusion {
	var c Conclusion
	m := &c.Message
	signs := map[Sign]*Result{}
	var failed, open []*Result
	exact := false
	for i := range results {
		r := &results[i]
		switch r.Verdict.Outcome {
		case Pass:
			m.Passed++
			exact = exact || r.Probe.ID == oracleID
		case Fail:
			m.Failed++
			failed = append(failed, r)
		default:
			m.Open++
			if r.Probe.Essential {
				open = append(open, r)
			}
		}
		for _, s := range r.Verdict.Signs {
			if signs[s] == nil {
				signs[s] = r
			}
		}
	}
	if exact {
		open = slices.DeleteFunc(open, func(r *Result) bool { return r.Probe.Spared })
	}
	switch {
	case len(failed) > 0:
		m.Verdict, m.Text = Wrong, describe(failed, results)
		c.Findings = findings(t, signs, failed)
	case len(open) > 0 || m.Passed == 0:
		m.Verdict, m.Text = Unknown, openWords(open)
	default:
		m.Verdict = ProvenRight
		m.Text = fmt.Sprintf("%d probes passed", m.Passed)
		if exact {
			m.Text += ", and the logprobs are those that the exact engine computes from the checkpoint"
		}
	}
	for _, f := range c.Findings {
		if !slices.Contains(m.Causes, f.Cause) {
			m.Causes = append(m.Causes, f.Cause)
		}
		for _, r := range f.Remedies {
			if !slices.ContainsFunc(m.Next, func(o finding.Remedy) bool { return o.Title == r.Title }) {
				m.Next = append(m.Next, r)
			}
		}
	}
	if m.Verdict == Unknown && !exact {
		m.Next = append(m.Next, finding.Remedy{Title: "hold it against the exact engine", Text: withOracle})
	}
	return c
}

// describe says in one sentence what is wrong, and where it is not.
func describe(failed []*Result, all []Result) string {
	words := make([]string, 0, len(failed))
	for _, r := range failed {
		text := r.Verdict.Text
		if r.Verdict.Detail != "" && !strings.Contains(text, r.Verdict.Detail) {
			text += ", " + r.Verdict.Detail
		}
		if slices.Contains(words, text) {
			continue
		}
		words = append(words, text)
		if len(words) == 3 {
			break
		}
	}
	text := strings.Join(words, "; ")
	if where := only(failed, all); where != "" {
		text += " (" + where + ")"
	}
	return text
}

// scopes are probes that change one circumstance each, and its words.
var scopes = []struct{ id, only string }{
	{"prefix", "only when the prefix cache is hit"},
	{"batch", "only when other requests run"},
	{"cancel", "only when a client leaves"},
}

// only names the one circumstance under which answers are wrong: a probe of it
// failed, and decoding alone agrees with prefill.
func only(failed []*Result, all []Result) string {
	passed := func(id string) bool {
		return slices.ContainsFunc(all, func(r Result) bool { return r.Probe.ID == id && r.Verdict.Outcome == Pass })
	}
	if !passed("decode") || len(failed) != 1 {
		return ""
	}
	for _, s := range scopes {
		if failed[0].Probe.ID == s.id {
			return s.only
		}
	}
	return ""
}

// openWords says what was left open.
func openWords(open []*Result) string {
	if len(open) == 0 {
		return "nothing could be asked"
	}
	var words []string
	for _, r := range open {
		words = append(words, r.Probe.ID+": "+r.Verdict.Text)
	}
	if len(words) > 3 {
		words = append(words[:3], fmt.Sprintf("%d more", len(open)-3))
	}
	return strings.Join(words, "; ")
}

// findings are the causes that fit the signs, best first: what a probe named by
// itself, then the rules.
func findings(t *Target, signs map[Sign]*Result, failed []*Result) []finding.FindingMsg {
	var list []finding.FindingMsg
	for _, r := range failed {
		for _, s := range r.Verdict.Suspects {
			list = append(list, finding.FindingMsg{
				ID: "PRB-" + strings.ToUpper(r.Probe.ID), Cause: s.Class, Severity: finding.Error, Confidence: s.Confidence,
				Title: s.Title, Why: s.Why, Basis: r.Verdict.Text, Evidence: r.Verdict.Evidence, Decide: []string{inspectIt},
			})
		}
	}
	for i := range causes {
		c := &causes[i]
		r := c.fits(t, signs)
		if r == nil {
			continue
		}
		f := finding.FindingMsg{
			ID: c.ID, Cause: c.Class, Severity: c.Severity, Confidence: c.Confidence, Title: c.Title, Why: c.Why,
			Basis: r.Verdict.Text, Evidence: r.Verdict.Evidence, Decide: c.Decide, Sources: []string{c.Source},
		}
		for _, e := range c.Next {
			if remedy, ok := e.remedy(t); ok {
				remedy.Decides = []string{c.ID}
				f.Remedies = append(f.Remedies, remedy)
			}
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b finding.FindingMsg) int { return b.Confidence.Rank() - a.Confidence.Rank() })
	for i := range list {
		f := &list[i]
		f.Rank, f.Role = i+1, "cause"
		f.Explains = []string{"symptom"}
	}
	return list
}

// fits returns the result whose sign points to the cause, or nil.
func (c *Cause) fits(t *Target, signs map[Sign]*Result) *Result {
	if slices.ContainsFunc(c.Not, func(s Sign) bool { return signs[s] != nil }) || c.When != nil && !c.When(t) {
		return nil
	}
	for _, s := range c.Any {
		if r := signs[s]; r != nil {
			return r
		}
	}
	return nil
}

// remedy is an experiment in the words of the engine; ok is false when it has
// none for it.
func (e *Experiment) remedy(t *Target) (finding.Remedy, bool) {
	flag, ok := e.Flags[t.Engine]
	if !ok || e.Changes != nil && !e.Changes(t) {
		return finding.Remedy{}, false
	}
	return finding.Remedy{
		Title: e.Title, Price: e.Price, Text: strings.TrimSpace("start the server with " + flag[0] + " " + flag[1] + ", then probe it again"),
		Changes: []finding.Change{{Kind: "flag", Name: flag[0], To: &flag[1]}},
	}, true
}
