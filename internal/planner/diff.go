package planner

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// Comparison is two plans side by side.
type Comparison struct {
	Head        finding.ComparisonMsg
	Differences []finding.DifferenceMsg
}

// Compare sets two plans side by side: what refuses one of them first, then what
// the engine chooses otherwise, then what only has another default.
func Compare(this, other *Plan) *Comparison {
	c := &Comparison{Head: finding.ComparisonMsg{Good: this.side(), Bad: other.side()}}
	c.outcome(this, other)
	c.trouble(this, other)
	c.memory(this.Memory, other.Memory)
	c.settings(this, other)
	slices.SortStableFunc(c.Differences, func(a, b finding.DifferenceMsg) int { return heaviness(a.Weight) - heaviness(b.Weight) })
	changes := 0
	for _, d := range c.Differences {
		if d.Weight != finding.Note {
			changes++
		}
	}
	c.Head.Verdict = "nothing that matters changes"
	if changes > 0 {
		c.Head.Verdict = "changes: " + count(changes, "thing that the engine decides otherwise", "things that the engine decides otherwise")
	}
	c.Head.Notes = slices.Concat(nonEmpty(this.Launch.VersionNote), nonEmpty(other.Launch.VersionNote))
	slices.Sort(c.Head.Notes)
	c.Head.Notes = slices.Compact(c.Head.Notes)
	return c
}

// Relevant says whether something changes that is no mere default.
func (c *Comparison) Relevant() bool {
	return slices.ContainsFunc(c.Differences, func(d finding.DifferenceMsg) bool { return d.Weight != finding.Note })
}

func heaviness(w finding.Weight) int {
	switch w {
	case finding.Decisive:
		return 0
	case finding.Suspicious:
		return 1
	}
	return 2
}

func (pl *Plan) side() finding.Side {
	l := pl.Launch
	return finding.Side{
		Files: l.Files, Launch: 1, Launches: 1, Engine: l.Engine, EngineVersion: l.EngineVersion, Outcome: finding.Planned,
		Verdict: l.Verdict, Model: l.Model, Hardware: l.Hardware, Parallel: l.Parallel,
	}
}

func (c *Comparison) add(d finding.DifferenceMsg) { c.Differences = append(c.Differences, d) }

// outcome compares what is refused.
func (c *Comparison) outcome(this, other *Plan) {
	word := func(pl *Plan) string {
		if len(pl.Refused) == 0 {
			return "starts"
		}
		r := pl.Refused[0]
		return "refused: " + firstLine(r.Error, r.Text)
	}
	if a, b := word(this), word(other); a != b {
		c.add(finding.DifferenceMsg{Kind: "outcome", Name: "start", Good: a, Bad: b, Weight: finding.Decisive})
	}
}

func firstLine(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			line, _, _ := strings.Cut(t, "\n")
			return line
		}
	}
	return ""
}

// modern is the present name of settings that were renamed.
// Source: sglang/srt/server_args.py (0.5.13), --nsa-* to --dsa-*.
func modern(name string) string {
	if rest, ok := strings.CutPrefix(name, "nsa_"); ok {
		return "dsa_" + rest
	}
	return name
}

func (c *Comparison) settings(this, other *Plan) {
	index := func(pl *Plan) (map[string]*finding.SettingMsg, []string) {
		m := map[string]*finding.SettingMsg{}
		var names []string
		for _, s := range pl.Settings {
			name := modern(s.Name)
			m[name] = s
			names = append(names, name)
		}
		return m, names
	}
	a, names := index(this)
	b, more := index(other)
	names = append(names, more...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, y := a[name], b[name]
		d := finding.DifferenceMsg{Kind: "setting", Name: name, Weight: finding.Note}
		if x != nil {
			d.Good, d.EvidenceGood = x.Effective, x.Because
		}
		if y != nil {
			d.Bad, d.EvidenceBad = y.Effective, y.Because
		}
		switch {
		case x != nil && y != nil && x.Effective == y.Effective:
			c.Head.Equal++
			continue
		case x == nil && unset(y), y == nil && unset(x):
			continue // a setting that one of the releases does not have, and the other leaves alone
		}
		if x != nil && y != nil && (chosen(x) || chosen(y)) { // else one release does not have it
			d.Weight = finding.Suspicious
			d.Why = reason(x, y)
		}
		c.add(d)
	}
}

// unset says that a setting has the value that does nothing.
func unset(s *finding.SettingMsg) bool {
	return s.ChosenBy == "default" && slices.Contains([]string{"None", "False", "", "auto"}, s.Effective)
}

// chosen says that the engine decided, rather than a default.
func chosen(s *finding.SettingMsg) bool {
	return s != nil && (s.Silent || s.Choice != "" && s.ChosenBy != "default")
}

// reason is why the two differ: the decision of the other launch, else of this
// one.
func reason(x, y *finding.SettingMsg) string {
	for _, s := range []*finding.SettingMsg{y, x} {
		if chosen(s) && len(s.Because) > 0 && s.Because[0].Note != "" {
			return s.Because[0].Note
		}
	}
	return ""
}

func (c *Comparison) trouble(this, other *Plan) {
	ids := func(pl *Plan) map[string]*finding.FindingMsg {
		m := map[string]*finding.FindingMsg{}
		for _, f := range pl.Findings {
			m[f.ID] = f
		}
		return m
	}
	a, b := ids(this), ids(other)
	weight := func(f *finding.FindingMsg) finding.Weight {
		if f.Severity == finding.Info {
			return finding.Note
		}
		return finding.Suspicious
	}
	for _, f := range this.Findings {
		if b[f.ID] == nil {
			c.add(finding.DifferenceMsg{Kind: "finding", Name: f.ID, Good: f.Title, Weight: weight(f)})
		}
	}
	for _, f := range other.Findings {
		if a[f.ID] == nil {
			c.add(finding.DifferenceMsg{Kind: "finding", Name: f.ID, Bad: f.Title, Weight: weight(f)})
		}
	}
}

func (c *Comparison) memory(a, b *finding.MemoryMsg) {
	if a == nil || b == nil {
		return
	}
	number := func(name, x, y string) {
		if x != y {
			c.add(finding.DifferenceMsg{Kind: "fact", Name: name, Good: x, Bad: y, Weight: finding.Suspicious, Why: "reckoned from the settings"})
		} else {
			c.Head.Equal++
		}
	}
	number("KV tokens", fmt.Sprint(a.KVTokens), fmt.Sprint(b.KVTokens))
	number("bytes per token", fmt.Sprintf("%.0f", a.BytesPerToken), fmt.Sprintf("%.0f", b.BytesPerToken))
	number("GiB left", fmt.Sprintf("%.1f", a.Left), fmt.Sprintf("%.1f", b.Left))
}
