package planner

import (
	"fmt"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/ledger"
)

// ignored lists the overrides that will have no effect, with what would have to
// be set instead.
func (p *planner) ignored(a *answer) []*finding.IgnoredMsg {
	var out []*finding.IgnoredMsg
	for _, e := range a.entries {
		if !e.Silent {
			continue
		}
		f := a.q.flagOf(e.Name)
		m := &finding.IgnoredMsg{
			Name: e.Name, Asked: *e.Asked.Value, Effective: e.Effective, ChosenBy: e.By, Choice: e.Choice,
			Coupled: e.From, Why: e.Why, Because: e.Because,
		}
		if f != nil {
			m.Flag = f.Name()
		}
		if a.res.Refusal == nil {
			wanted := func(n *answer) bool {
				v, ok := n.book.Effective(e.Name)
				return ok && n.starts() && ledger.Same(v, *e.Asked.Value)
			}
			m.Remedies = p.search(a.q, a.q.counterLevers(e, a), 2, wanted)
			p.complete(a, m.Remedies)
		}
		out = append(out, m)
	}
	return append(out, a.readAndDropped()...)
}

// counterLevers are the changes that could give an override its effect: what
// forced the other value, set otherwise or left out.
func (q *question) counterLevers(e *ledger.Entry, a *answer) []lever {
	var out []lever
	for _, l := range q.levers(e.From, a) {
		own := q.flagOf(e.Name)
		if own != nil && q.table.Flag(l[0].Name) == own {
			continue // leaving out what was asked for gives nobody what he asked for
		}
		out = append(out, l)
	}
	return out
}

// readAndDropped are the flags that the parser takes and does nothing with.
func (a *answer) readAndDropped() []*finding.IgnoredMsg {
	var out []*finding.IgnoredMsg
	parsed, _ := a.q.table.Parse(a.q.options)
	for _, pr := range a.problems {
		if pr.Kind != flags.DeprecatedFlag {
			continue
		}
		for _, arg := range parsed.Args {
			if arg.Index != pr.Index || arg.Flag == nil || arg.Flag.Action != "Deprecated" {
				continue
			}
			out = append(out, &finding.IgnoredMsg{
				Name: arg.Flag.Setting, Flag: arg.Name, Asked: strings.Join(arg.Values, " "), Effective: "None", ChosenBy: "default",
				Why: fmt.Sprintf("the parser of %s %s reads it and does nothing with it: %s", a.q.engine.Name, a.res.Version, pr.Text),
			})
		}
	}
	return out
}
