// Package compare sets two launches of a server beside each other, one that
// worked and one that did not, and orders their differences by how likely they
// are to be the reason. It reads messages and nothing else, so that a log and a
// saved report of it give the same result.
//
// Terms: GOOD and BAD are the two launches; they part after the last milestone
// that both reached. A setting is coupled with the failure when BAD's first
// cause names it, or its value, or another setting that it forced. What differs
// between any two launches (ports, seeds, temporary paths) is dropped.
//
// Comparing is a pure function; a Collector belongs to one goroutine.
package compare

import (
	"cmp"
	"slices"

	"shakedown/internal/engine"
	"shakedown/internal/finding"
)

// Comparison is what two launches have in common and where they differ.
type Comparison struct {
	Head        finding.ComparisonMsg
	Differences []finding.DifferenceMsg // most suspicious first
}

// Relevant says whether a difference may matter: notes alone do not.
func (c *Comparison) Relevant() bool {
	return slices.ContainsFunc(c.Differences, func(d finding.DifferenceMsg) bool { return d.Weight != finding.Note })
}

// Compare compares two launches. eng is what is known of BAD's engine, nil for
// an unknown one; it tells which flags write which settings.
func Compare(good, bad *Launch, eng *engine.Engine) *Comparison {
	c := &comparer{good: good, bad: bad, parting: part(good, bad)}
	c.restore = newRestorer(bad, eng)
	c.failure = newFailure(bad, c.restore)
	c.forced = c.failure.forced(bad.Settings)
	c.outcome()
	c.milestones()
	c.findings()
	c.identity()
	c.settings()
	c.flags()
	c.facts()
	c.phaseTimes()
	return c.result()
}

// suspicion orders differences of the same weight, most suspicious first.
type suspicion int

const (
	parting suspicion = iota
	ended
	firstCause
	version
	coupled
	silent
	chosen
	kvCapacity
	memory
	identity
	backend
	precision
	fault
	plain
	phaseTime
	asked
)

// difference is a difference with its place in the order.
type difference struct {
	finding.DifferenceMsg
	suspicion suspicion
}

// comparer collects what two launches have in common and where they differ.
type comparer struct {
	good, bad *Launch
	parting   partingPoint
	failure   *failure
	forced    map[string]string // why a setting is coupled through one that it forced
	restore   *restorer

	found   []difference
	equal   int
	dropped int
	notes   []string
}

func (c *comparer) add(s suspicion, d finding.DifferenceMsg) {
	c.found = append(c.found, difference{d, s})
}

func (c *comparer) result() *Comparison {
	slices.SortStableFunc(c.found, func(a, b difference) int {
		return cmp.Or(cmp.Compare(place(a.Weight), place(b.Weight)), cmp.Compare(a.suspicion, b.suspicion))
	})
	out := &Comparison{Head: finding.ComparisonMsg{
		Good: c.good.side(), Bad: c.bad.side(), Verdict: c.verdict(), Equal: c.equal, Dropped: c.dropped,
		Notes: append(append(c.reservations(), c.notes...), c.advice()...),
	}}
	if c.parting.good != nil {
		out.Head.PartsAfter = c.parting.good.Name
	}
	for _, d := range c.found {
		out.Differences = append(out.Differences, d.DifferenceMsg)
	}
	return out
}

// sameEngine says that settings of one name mean the same in both.
func (c *comparer) sameEngine() bool { return c.good.Engine == c.bad.Engine }

func place(w finding.Weight) int {
	return slices.Index([]finding.Weight{finding.Decisive, finding.Suspicious, finding.Note}, w)
}

// reservations are what a reader must know before they trust the comparison.
func (c *comparer) reservations() []string {
	var notes []string
	for _, side := range []struct {
		name string
		l    *Launch
	}{{"GOOD", c.good}, {"BAD", c.bad}} {
		if side.l.Cut {
			notes = append(notes, side.name+" is a report whose end is missing")
		}
		if len(side.l.Missing) > 0 {
			notes = append(notes, side.name+" lacks the logs of some nodes")
		}
	}
	if !c.sameEngine() {
		notes = append(notes, "the engines differ: settings of the same name may mean different things")
	}
	if c.good.failed() && !c.bad.failed() {
		notes = append(notes, "GOOD failed and BAD did not: are they swapped?")
	}
	return notes
}

// advice says where to look when BAD went wrong and ran in the same way.
func (c *comparer) advice() []string {
	isCondition := func(d difference) bool { return d.Weight == finding.Suspicious && d.Kind != "finding" }
	if !c.bad.failed() || c.good.failed() || slices.ContainsFunc(c.found, isCondition) {
		return nil
	}
	return []string{"the logs show the same version and settings in both: look at what they don't show, such as other processes on the GPU, the driver, the files of the model and the requests"}
}
