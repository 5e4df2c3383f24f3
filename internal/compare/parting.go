package compare

import (
	"fmt"
	"slices"

	"shakedown/internal/finding"
)

// partingPoint is where two launches part: the last milestone that both
// reached, on either side, and the ones that follow it. All may be nil.
type partingPoint struct {
	good, bad         *finding.Milestone
	goodNext, badNext *finding.Milestone
}

func part(good, bad *Launch) partingPoint {
	for i := len(good.Milestones) - 1; i >= 0; i-- {
		if j := milestone(bad, good.Milestones[i].Name); j >= 0 {
			return partingPoint{
				good: &good.Milestones[i], bad: &bad.Milestones[j],
				goodNext: at(good.Milestones, i+1), badNext: at(bad.Milestones, j+1),
			}
		}
	}
	return partingPoint{goodNext: at(good.Milestones, 0), badNext: at(bad.Milestones, 0)}
}

// milestone is the index of a launch's milestone of this name, or -1.
func milestone(l *Launch, name string) int {
	return slices.IndexFunc(l.Milestones, func(m finding.Milestone) bool { return m.Name == name })
}

func at(ms []finding.Milestone, i int) *finding.Milestone {
	if i >= len(ms) {
		return nil
	}
	return &ms[i]
}

// verdict says where and how the two part.
func (c *comparer) verdict() string {
	ends := fmt.Sprintf("GOOD %s, BAD %s", went(c.good, c.parting.goodNext), went(c.bad, c.parting.badNext))
	switch p := c.parting; {
	case p.good == nil:
		return "no milestone in common: " + ends
	case p.goodNext == nil && p.badNext == nil && c.good.Outcome == c.bad.Outcome:
		return "both came to " + p.good.Name
	}
	return fmt.Sprintf("parts after %s: %s", c.parting.good.Name, ends)
}

// went says how a launch went on: how it failed, or how far it came.
func went(l *Launch, next *finding.Milestone) string {
	switch l.Outcome {
	case finding.Failed:
		return "failed" + in(l.Phase)
	case finding.ReadyThenFailed:
		return "failed after ready" + in(l.Phase)
	case finding.Stalled:
		return "stopped without a trace" + in(l.Phase)
	case finding.Stopped:
		return "was stopped from outside"
	}
	if next != nil {
		return "went on to " + l.Milestones[len(l.Milestones)-1].Name
	}
	return "stayed healthy"
}

func in(phase string) string {
	if phase == "" || phase == "ready" {
		return ""
	}
	return " in " + phase
}

// outcome compares how the launches ended.
func (c *comparer) outcome() {
	if c.good.Outcome == c.bad.Outcome {
		c.equal++
		return
	}
	c.add(ended, finding.DifferenceMsg{
		Kind: "outcome", Name: "outcome", Good: string(c.good.Outcome), Bad: string(c.bad.Outcome),
		Weight: finding.Decisive, EvidenceGood: symptoms(c.good), EvidenceBad: symptoms(c.bad),
	})
}

func symptoms(l *Launch) []finding.Evidence {
	var all []finding.Evidence
	for _, s := range l.Symptoms {
		all = append(all, s.Evidence...)
	}
	return all
}

// milestones compares how far the launches came, and by which way.
func (c *comparer) milestones() {
	c.missing(c.good, c.bad, c.parting.goodNext)
	c.missing(c.bad, c.good, c.parting.badNext)
}

// missing reports milestones of one launch that the other does not have: the
// first one behind the parting point, which decides unless BAD is well, and
// those that are left out before it, since a release may print them no more.
func (c *comparer) missing(has, lacks *Launch, next *finding.Milestone) {
	for i := range has.Milestones {
		m := &has.Milestones[i]
		if milestone(lacks, m.Name) >= 0 {
			if has == c.good {
				c.equal++
			}
			continue
		}
		d := finding.DifferenceMsg{Kind: "milestone", Name: m.Name, Weight: finding.Note}
		if has == c.good {
			d.Good, d.EvidenceGood = "reached", []finding.Evidence{line(m)}
		} else {
			d.Bad, d.EvidenceBad = "reached", []finding.Evidence{line(m)}
		}
		if m == next {
			if lacks.failed() {
				d.Weight = finding.Decisive
			}
			c.stoppedAt(&d, lacks)
			c.add(parting, d)
			return
		}
		d.Why = "left out by the other launch, which came further"
		c.add(parting, d)
	}
}

// stoppedAt adds to a missing milestone the last one that the launch reached.
func (c *comparer) stoppedAt(d *finding.DifferenceMsg, lacks *Launch) {
	last := c.parting.bad
	if lacks == c.good {
		last = c.parting.good
	}
	var ev []finding.Evidence
	if last != nil {
		ev = []finding.Evidence{line(last)}
		ev[0].Note = "the last milestone before: " + last.Name
	}
	if lacks == c.bad {
		d.Bad, d.EvidenceBad = "not reached", ev
	} else {
		d.Good, d.EvidenceGood = "not reached", ev
	}
}

func line(m *finding.Milestone) finding.Evidence {
	return finding.Evidence{Kind: "log", File: m.File, Line: m.Line}
}

// findings compares causes and latent faults; consequences follow from them.
func (c *comparer) findings() {
	first := c.bad.firstCause()
	for i := range c.bad.Findings {
		f := &c.bad.Findings[i]
		if f.Role == "consequence" {
			continue
		}
		if !has(c.good, f.ID) {
			c.fault(f, f == first)
			continue
		}
		c.equal++
		if f == first {
			c.notes = append(c.notes, fmt.Sprintf("GOOD shows BAD's first cause as well (%s): alone it does not explain the difference", f.ID))
		}
	}
	for i := range c.good.Findings {
		f := &c.good.Findings[i]
		if f.Role != "consequence" && !has(c.bad, f.ID) {
			c.add(fault, finding.DifferenceMsg{
				Kind: "finding", Name: f.ID, Good: worded(f), EvidenceGood: f.Evidence, Weight: finding.Note, Why: "in GOOD only",
			})
		}
	}
}

// fault adds a finding that only BAD shows.
func (c *comparer) fault(f *finding.FindingMsg, first bool) {
	d := finding.DifferenceMsg{
		Kind: "finding", Name: f.ID, Bad: worded(f), EvidenceBad: f.Evidence, Weight: finding.Suspicious, Why: "in BAD only",
	}
	switch {
	case first:
		d.Weight, d.Why = finding.Decisive, "BAD's first cause, which GOOD does not show"
		c.add(firstCause, d)
		return
	case f.Severity == finding.Info, f.Confidence == finding.Possible && f.Role != "cause", f.Role == "cause" && !c.bad.failed():
		d.Weight = finding.Note
	}
	c.add(fault, d)
}

func has(l *Launch, id string) bool {
	return slices.ContainsFunc(l.Findings, func(f finding.FindingMsg) bool { return f.ID == id })
}

func worded(f *finding.FindingMsg) string { return string(f.Confidence) + ": " + f.Title }
