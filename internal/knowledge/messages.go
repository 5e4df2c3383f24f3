package knowledge

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/launch"
)

// maxEvidence is how many lines one finding quotes.
const maxEvidence = 6

// messages turns ranked candidates into findings.
func (e *eval) messages(ranked []*candidate, sym *finding.SymptomMsg) []*finding.FindingMsg {
	var out []*finding.FindingMsg
	for i, c := range ranked {
		m := e.message(c)
		m.Rank = i + 1
		if c.role == Suspect && sym != nil && len(sym.Evidence) > 0 {
			ev := sym.Evidence[0]
			ev.Note = "the symptom"
			m.Evidence = append(m.Evidence, ev)
		}
		out = append(out, m)
	}
	return out
}

func (e *eval) message(c *candidate) *finding.FindingMsg {
	m := &finding.FindingMsg{
		ID: c.id(), Severity: c.severity(), Confidence: c.confidence, Basis: oneLine(c.basis), Count: c.count,
		Evidence: e.evidence(c, maxEvidence), Ranks: procs(c),
	}
	switch c.role {
	case Consequence:
		m.Role, m.Explains = "consequence", c.below
	case Latent:
		m.Role = "latent"
	default:
		m.Role, m.Explains = "cause", []string{"symptom"}
	}
	if c.fallback != nil {
		f := c.fallback
		m.Title, m.Why, m.Cause, m.Decide = f.title, f.why, f.cause, f.decide
		m.Remedies = f.remedies
		return m
	}
	r := c.rule
	m.Title, m.Why, m.Cause, m.Decide, m.Sources = e.fillIn(r.Title, c, asIs), e.fillIn(oneLine(r.Why), c, asIs), r.Cause, e.fillAll(r.Decide, c), r.Sources
	if values := mismatch(c.facts); values != "" {
		m.Why += " Here: " + values + "."
	}
	m.Captures = captures(c)
	for i := range r.Remedies {
		if rem, ok := e.remedy(&r.Remedies[i], c); ok {
			m.Remedies = append(m.Remedies, rem)
		}
	}
	return m
}

// mismatch spells out a setting on which the nodes of one launch disagree.
func mismatch(facts []fact.Fact) string {
	var parts []string
	for _, f := range facts {
		if f.Key == fact.Mismatch {
			parts = append(parts, fmt.Sprintf("%s of %s is %s", f.Value, f.Rank, f.Unit))
		}
	}
	return strings.Join(parts, ", ")
}

// fillIn puts captures, and the model of the launch, into a text: "{need} GiB",
// "{model}/config.json". quote makes the values safe in a shell, for texts that
// hold commands: they come from the log.
func (e *eval) fillIn(text string, c *candidate, quote func(string) string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	var caps map[string]string
	if lead := c.lead(); lead != nil {
		caps = lead.Caps
	}
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		name := p[1 : len(p)-1]
		v, ok := caps[name]
		if !ok && name == "model" {
			v, ok = e.modelDir(), true
		}
		if !ok {
			return "…" // a form of the line that lacks the value
		}
		return quote(v)
	})
}

// modelDir is the folder of the model, as far as the launch names one; a
// repository name of a hub is none.
func (e *eval) modelDir() string {
	m := e.l.Facts.First(fact.Model)
	if strings.HasPrefix(m, "/") || strings.HasPrefix(m, ".") || strings.HasPrefix(m, "~") {
		return m
	}
	return "MODEL_DIR"
}

// placeholder is a capture in a rule's text.
var placeholder = regexp.MustCompile(`\{[a-z][a-z0-9_]*\}`)

// asIs is for texts that nobody pastes into a shell.
func asIs(s string) string { return s }

func (e *eval) fillAll(texts []string, c *candidate) []string {
	var out []string
	for _, t := range texts {
		out = append(out, e.fillIn(t, c, command.Quote))
	}
	return out
}

func captures(c *candidate) []finding.Pair {
	lead := c.lead()
	if lead == nil {
		return nil
	}
	var out []finding.Pair
	for _, k := range slices.Sorted(maps.Keys(lead.Caps)) {
		out = append(out, finding.Pair{Name: k, Value: lead.Caps[k]})
	}
	return out
}

// remedy turns the rule's remedy into changes; ok is false when its conditions
// do not hold or it is for another engine.
func (e *eval) remedy(r *Remedy, c *candidate) (finding.Remedy, bool) {
	if len(r.Engines) > 0 && !slices.Contains(r.Engines, e.l.EngineName()) || !e.all(r.When, c) {
		return finding.Remedy{}, false
	}
	out := finding.Remedy{Title: e.fillIn(r.Title, c, asIs), Price: e.fillIn(r.Price, c, asIs), Text: e.fillIn(oneLine(r.Text), c, command.Quote), Decides: r.Decides, Env: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(r.Set)) {
		v := e.fillIn(r.Set[name], c, asIs)
		out.Changes = append(out.Changes, finding.Change{Kind: "flag", Name: name, To: &v})
	}
	for _, name := range r.Unset {
		out.Changes = append(out.Changes, finding.Change{Kind: "flag", Name: name})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		v := e.fillIn(r.Env[name], c, asIs)
		out.Changes = append(out.Changes, finding.Change{Kind: "env", Name: name, To: &v})
		out.Env[name] = v
	}
	return out, true
}

// evidence quotes the lead, then the lines that say it again with other words
// or on other ranks, then the lines that support it.
func (e *eval) evidence(c *candidate, limit int) []finding.Evidence {
	var out []finding.Evidence
	seen := make(map[int]bool)
	add := func(ev *launch.Event, note string) {
		if ev == nil || seen[ev.Seq] || len(out) >= limit {
			return
		}
		seen[ev.Seq] = true
		out = append(out, logEvidence(ev, note))
	}
	for i, ev := range c.events {
		if i >= limit-len(c.also) && i > 0 {
			break
		}
		add(ev, noteOf(ev))
	}
	for _, ev := range c.also {
		add(ev, noteOf(ev))
	}
	if c.fallback != nil {
		for _, ev := range c.fallback.evidence {
			if len(out) < limit {
				out = append(out, ev)
			}
		}
	}
	for _, f := range c.facts {
		if len(out) < limit {
			out = append(out, e.factEvidence(f))
		}
	}
	if len(c.events) == 0 {
		out = append(out, c.settings[:min(len(c.settings), limit-len(out))]...)
	}
	return out
}

// factEvidence points to the line that a fact was read from.
func (e *eval) factEvidence(f fact.Fact) finding.Evidence {
	ev := finding.Evidence{Kind: "log", File: f.Pos.File, Line: f.Pos.Line, Field: string(f.Key) + " = " + f.Value}
	if f.Pos.Line == 0 {
		ev.Kind = "config"
	}
	if f.Unit != "" {
		ev.Note = strings.TrimSpace(f.Rank + " " + f.Unit)
	}
	if file := e.l.File(f.Pos.File); file != nil && file.CommandPos == f.Pos {
		ev.Text = file.CommandText
	}
	return ev
}

func noteOf(ev *launch.Event) string {
	s, ok := ev.Watch.Slot.(slot)
	if !ok {
		return ""
	}
	switch s.group {
	case inLines:
		return s.rule.Lines[s.index].Note
	case inAlso:
		return s.rule.Also[s.index].Note
	}
	return ""
}

func procs(c *candidate) []string {
	set := make(map[string]bool)
	for _, ev := range c.events {
		if p := ev.Proc(); p != "" {
			set[p] = true
		}
	}
	if c.trace != nil {
		for _, p := range c.trace.Ranks {
			set[p] = true
		}
	}
	return slices.SortedFunc(maps.Keys(set), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
}
