package score

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"shakedown/internal/explain"
	"shakedown/internal/finding"
)

// Miss is one answer that is not right.
type Miss struct {
	Name   string // slug of the log, or id of the incident
	Launch int    // number in the label, 0 for a whole log or an incident
	Text   string
}

// Tally counts the right answers over some logs.
type Tally struct {
	Top1, Top3, Cause, Line, Outcome Rate // of the caused launches
	Healthy                          Rate
	Other                            Rate // stopped, or without a trace of a cause: outcome right
	Split                            Rate // of the logs
	Given                            map[finding.Confidence]Rate
	ByCause                          map[string]Rate // cause right, by labelled cause
	Crashes                          int             // logs that explain returned an error for
	Drift                            map[string]int  // lines in a new form, by id of the known line
	WrongProven                      []Miss
	Misses                           []Miss
}

func newTally() *Tally {
	return &Tally{Given: map[finding.Confidence]Rate{}, ByCause: map[string]Rate{}, Drift: map[string]int{}}
}

// Precision is the share of proven and likely findings that are right.
func (t *Tally) Precision() Rate {
	var sum Rate
	for _, r := range t.Given {
		sum.merge(r)
	}
	return sum
}

func (t *Tally) merge(o *Tally) {
	for _, p := range []struct{ into, from *Rate }{
		{&t.Top1, &o.Top1}, {&t.Top3, &o.Top3}, {&t.Cause, &o.Cause}, {&t.Line, &o.Line}, {&t.Outcome, &o.Outcome},
		{&t.Healthy, &o.Healthy}, {&t.Other, &o.Other}, {&t.Split, &o.Split},
	} {
		p.into.merge(*p.from)
	}
	mergeRates(t.Given, o.Given)
	mergeRates(t.ByCause, o.ByCause)
	for id, n := range o.Drift {
		t.Drift[id] += n
	}
	t.Crashes += o.Crashes
	t.WrongProven = append(t.WrongProven, o.WrongProven...)
	t.Misses = append(t.Misses, o.Misses...)
}

func mergeRates[K comparable](into, from map[K]Rate) {
	for k, r := range from {
		sum := into[k]
		sum.merge(r)
		into[k] = sum
	}
}

func addTo[K comparable](rates map[K]Rate, key K, right bool) {
	r := rates[key]
	r.add(right)
	rates[key] = r
}

// Logs is the score of one labelled folder.
type Logs struct {
	All    *Tally
	Halves [2]*Tally // by Half
}

// labelFile is the name of a folder's labels.
const labelFile = "LABELS.jsonl"

// Corpus scores the labelled logs of a folder: LABELS.jsonl with one Label a
// line, and the logs themselves. Rule hits are noted in use.
func Corpus(ctx context.Context, fsys fs.FS, use *Usage) (*Logs, error) {
	res := &Logs{All: newTally(), Halves: [2]*Tally{newTally(), newTally()}}
	err := readRecords(fsys, labelFile, func(l Label) error {
		data, err := fs.ReadFile(fsys, l.Slug+".txt")
		if err != nil {
			return err
		}
		a, err := ask(ctx, l.Slug+".txt", data, explain.Options{})
		if ctxErr := ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		t := newTally()
		t.log(l, strings.Split(string(data), "\n"), a, err)
		half := HalfOf(l.Slug)
		use.note(half, a.ids())
		res.All.merge(t)
		res.Halves[half].merge(t)
		return nil
	})
	return res, err
}

// log counts one log. failure is the error of explain.
func (t *Tally) log(l Label, lines []string, a *answer, failure error) {
	if failure != nil {
		t.Crashes++
		t.Misses = append(t.Misses, Miss{l.Slug, 0, "explain failed: " + failure.Error()})
	}
	split := len(a.launches) == len(l.Launches)
	t.Split.add(split)
	if !split {
		t.Misses = append(t.Misses, Miss{l.Slug, 0, fmt.Sprintf("%d launches labelled, %s reported", len(l.Launches), spans(a.launches))})
	}
	for id, n := range a.drift {
		t.Drift[id] += n
	}
	got := pair(l.Launches, a.launches)
	for i := range l.Launches {
		c := launchCase{slug: l.Slug, label: &l.Launches[i], lines: lines}
		if m := got[i]; m != nil {
			c.outcome = outcomeName(m.Outcome)
			c.findings = a.findings[m.N]
		}
		t.launch(&c)
	}
}

func spans(launches []finding.LaunchMsg) string {
	var s []string
	for _, m := range launches {
		s = append(s, fmt.Sprintf("%d-%d", m.FirstLine, m.LastLine))
	}
	return fmt.Sprintf("%d (lines %s)", len(launches), strings.Join(s, ", "))
}

// pair gives each labelled launch the reported one that it overlaps most, one
// to one, the largest overlap first; nil without any overlap.
func pair(labelled []LaunchLabel, reported []finding.LaunchMsg) []*finding.LaunchMsg {
	type candidate struct{ lines, label, report int }
	var all []candidate
	for i, l := range labelled {
		for j, m := range reported {
			if n := min(l.LastLine, m.LastLine) - max(l.FirstLine, m.FirstLine) + 1; n > 0 {
				all = append(all, candidate{n, i, j})
			}
		}
	}
	// Ties go to the later launch; what matters is that they are decided.
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.lines, a.lines), cmp.Compare(b.label, a.label), cmp.Compare(b.report, a.report))
	})
	out := make([]*finding.LaunchMsg, len(labelled))
	used := make([]bool, len(reported))
	for _, c := range all {
		if out[c.label] == nil && !used[c.report] {
			out[c.label] = &reported[c.report]
			used[c.report] = true
		}
	}
	return out
}

// launchCase is one labelled launch with what was reported for it.
type launchCase struct {
	slug     string
	label    *LaunchLabel
	lines    []string // of the whole log
	outcome  string   // "" when no launch was reported here
	findings []finding.FindingMsg
}

func (c *launchCase) miss(format string, args ...any) Miss {
	return Miss{c.slug, c.label.N, fmt.Sprintf(format, args...)}
}

// top are the findings that count: ranks 1 to 3.
func (c *launchCase) top() []finding.FindingMsg { return c.findings[:min(3, len(c.findings))] }

func strong(f finding.FindingMsg) bool {
	return (f.Confidence == finding.Proven || f.Confidence == finding.Likely) && f.Severity != finding.Info
}

// right says whether a proven or likely finding may stand.
func (c *launchCase) right(f finding.FindingMsg) bool {
	l := c.label
	consequence := f.Rank > 1 && len(f.Explains) > 0 && l.caused()
	return l.hasCause() && l.accepts(f.Cause) || consequence
}

func (t *Tally) launch(c *launchCase) {
	l := c.label
	var confident []string
	for _, f := range c.top() {
		if !strong(f) {
			continue
		}
		confident = append(confident, f.ID)
		ok := c.right(f)
		addTo(t.Given, f.Confidence, ok)
		if ok {
			continue
		}
		m := c.miss("confident and wrong: %s %s %s, label %s", f.ID, f.Cause, f.Confidence, l.Cause)
		t.Misses = append(t.Misses, m)
		if f.Confidence == finding.Proven {
			t.WrongProven = append(t.WrongProven, m)
		}
	}
	if l.caused() {
		t.caused(c)
		return
	}
	good := c.outcome == l.Outcome
	if l.Outcome == string(finding.OK) {
		good = good && len(confident) == 0
		t.Healthy.add(good)
	} else {
		t.Other.add(good)
	}
	if !good {
		t.Misses = append(t.Misses, c.miss("no cause labelled, outcome %s, got %s with %v", l.Outcome, c.outcome, confident))
	}
}

// caused counts a launch whose log shows the cause.
func (t *Tally) caused(c *launchCase) {
	var cause, line [3]bool
	any3 := false
	for i, f := range c.top() {
		cause[i], line[i] = c.label.accepts(f.Cause), c.cites(f)
		any3 = any3 || cause[i] && line[i]
	}
	first := cause[0] && line[0]
	outcome := c.outcome == c.label.Outcome
	t.Outcome.add(outcome)
	t.Cause.add(cause[0])
	t.Line.add(line[0])
	t.Top1.add(first)
	t.Top3.add(any3)
	addTo(t.ByCause, c.label.Cause, cause[0])
	if !first || !outcome {
		t.Misses = append(t.Misses, c.miss("want %s %s at %v, got %s %s", c.label.Outcome, c.label.Cause, head(c.label.Decisive, 4), c.outcome, c.summary()))
	}
}

// cites says whether one of the first five pieces of evidence is a decisive
// line, by number or by a quotation from inside the launch.
func (c *launchCase) cites(f finding.FindingMsg) bool {
	return slices.ContainsFunc(head(f.Evidence, 5), func(e finding.Evidence) bool {
		if slices.Contains(c.label.Decisive, e.Line) {
			return true
		}
		quote := strings.TrimSpace(e.Text)
		inside := c.label.FirstLine <= e.Line && e.Line <= c.label.LastLine
		return quote != "" && inside && slices.ContainsFunc(c.label.Decisive, func(n int) bool {
			return n > 0 && n <= len(c.lines) && strings.TrimSpace(c.lines[n-1]) == quote
		})
	})
}

func (c *launchCase) summary() string {
	var s []string
	for _, f := range c.top() {
		var at []int
		for _, e := range head(f.Evidence, 3) {
			at = append(at, e.Line)
		}
		s = append(s, fmt.Sprintf("%s %s %s %v", f.ID, f.Cause, f.Confidence, at))
	}
	if len(s) == 0 {
		return "without a finding"
	}
	return strings.Join(s, "; ")
}

func head[T any](s []T, n int) []T { return s[:min(n, len(s))] }

// Fixtures runs the hit fixtures of all rule folders below fsys
// (<area>/<ID>/testdata/hit*.log) and notes which rules they hit.
func Fixtures(ctx context.Context, fsys fs.FS, use *Usage) error {
	names, err := fs.Glob(fsys, "*/*/testdata/hit*.log")
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		a, err := ask(ctx, name, data, explain.Options{})
		if err != nil && !errors.Is(err, explain.ErrNoEngine) {
			return fmt.Errorf("%s: %w", name, err)
		}
		use.noteFixture(path.Base(path.Dir(path.Dir(name))), a.ids())
	}
	return nil
}
