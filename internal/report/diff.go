package report

import (
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

// diff collects the messages of a comparison.
type diff struct {
	copier      copier
	head        finding.ComparisonMsg
	differences []finding.DifferenceMsg
	tool        string
	ended       bool
}

func newDiff(opt Options) diff { return diff{copier: copier{redact: opt.Redact}} }

// Handle collects one message.
func (d *diff) Handle(m finding.Message) error {
	switch m := d.copier.message(m).(type) {
	case *finding.ConfigMsg:
		d.tool = m.ToolVersion
	case *finding.ComparisonMsg:
		d.head = *m
	case *finding.DifferenceMsg:
		d.copier.difference(m)
		d.differences = bounded(d.differences, *m, maxOfKind)
	case *finding.EndMsg:
		d.ended = true
	}
	return nil
}

// difference redacts the values whose secrecy shows only in the name.
func (c copier) difference(m *finding.DifferenceMsg) {
	if c.redact == nil {
		return
	}
	m.Good, m.Bad = c.redact.Value(m.Name, m.Good), c.redact.Value(m.Name, m.Bad)
	if m.Next != nil {
		c.remedy(m.Next)
	}
}

// diffView is what a report says of a comparison, in words.
type diffView struct {
	Headline string
	Tone     tone
	Sides    [2]diffSide
	Notes    []string
	Rows     []diffRow
	Equal    string
	Next     *action // the launch that tells most, nil when no single setting can be put back
}

// diffSide is one of the two launches.
type diffSide struct {
	Label   string
	Ran     []string
	Verdict string
	File    string // with the number of the launch when there are several
}

// diffRow is one difference.
type diffRow struct {
	Weight    string
	Kind      string
	Name      string
	Why       string
	Good, Bad diffCell
}

// diffCell is one value and where it stands.
type diffCell struct {
	Value    string
	Pos      string
	Evidence []evidence
}

func (d *diff) view() diffView {
	goodPlaces, badPlaces := newPlaces(d.head.Good.Files), newPlaces(d.head.Bad.Files)
	v := diffView{
		Headline: headlineOf(d.head.Verdict),
		Tone:     diffTone(d.head),
		Sides:    [2]diffSide{newDiffSide(d.labels().good, d.head.Good, goodPlaces), newDiffSide(d.labels().bad, d.head.Bad, badPlaces)},
		Notes:    d.notes(),
		Equal:    equalWords(d.head, len(d.differences)),
	}
	for _, m := range d.differences {
		v.Rows = append(v.Rows, diffRow{
			Weight: string(m.Weight), Kind: m.Kind, Name: m.Name, Why: m.Why,
			Good: newDiffCell(m.Good, m.EvidenceGood, goodPlaces), Bad: newDiffCell(m.Bad, m.EvidenceBad, badPlaces),
		})
		if m.Next != nil && v.Next == nil && m.Weight != finding.Note {
			next := newAction(*m.Next, 0)
			v.Next = &next
		}
	}
	return v
}

// diffLabels name the two sides and the weights of their differences.
type diffLabels struct{ good, bad, decisive, suspicious string }

// labels are those of two logs, or of two launches that were not started, of
// which neither is better.
func (d *diff) labels() diffLabels {
	if d.head.Good.Outcome == finding.Planned {
		return diffLabels{good: "THIS", bad: "OTHER", decisive: "START", suspicious: "CHANGES"}
	}
	return diffLabels{good: "GOOD", bad: "BAD", decisive: "PARTING", suspicious: "SUSPECTS"}
}

// headlineOf puts the first word in capitals, as in the report of a launch.
func headlineOf(words string) string {
	first, rest, _ := strings.Cut(words, " ")
	return strings.TrimSpace(strings.ToUpper(first) + " " + rest)
}

func diffTone(m finding.ComparisonMsg) tone {
	switch {
	case m.Bad.Outcome == finding.OK, m.Bad.Outcome == finding.Planned:
		return good
	case m.Bad.Outcome == finding.Stopped:
		return warn
	}
	return bad
}

func newDiffSide(label string, s finding.Side, p places) diffSide {
	out := diffSide{Label: label, Verdict: s.Verdict}
	out.Ran = nonEmpty(strings.TrimSpace(s.Engine+" "+s.EngineVersion), shortModel(s.Model), s.Hardware, s.Parallel)
	if len(s.Files) > 0 {
		out.File = p.name(s.Files[0])
	}
	if n := len(s.Files) - 1; n > 0 {
		out.File += " and " + plural(n, "other file", "other files")
	}
	if s.Launches > 1 {
		out.File += ", launch " + launchOf(s)
	}
	return out
}

func launchOf(s finding.Side) string {
	of := numbers([]int{s.Launch}) + " of " + numbers([]int{s.Launches})
	if s.Launch == s.Launches {
		of += ", the last"
	}
	return of
}

func (d *diff) notes() []string {
	notes := d.head.Notes
	if !d.ended {
		notes = append(notes, "this comparison is incomplete: its end is missing")
	}
	return notes
}

func newDiffCell(value string, ev []finding.Evidence, p places) diffCell {
	c := diffCell{Value: value, Evidence: quotes(ev, p)}
	if len(c.Evidence) > 0 {
		c.Pos = c.Evidence[0].Pos
	}
	return c
}

func equalWords(m finding.ComparisonMsg, differences int) string {
	s := plural(m.Equal, "thing is", "things are") + " the same in both"
	if differences == 0 {
		s = "no difference found: " + s
	}
	if m.Dropped > 0 {
		s += "; " + plural(m.Dropped, "value", "values") + " left out (ports, seeds, temporary paths)"
	}
	return s
}

// Values longer than this are cut where they begin to differ, so that the
// difference is seen; a few columns before it say where it is.
const (
	longValue = 24
	leadIn    = 12
)

// apart cuts from two long values what both begin with.
func apart(a, b string) (string, string) {
	if min(term.Width(a), term.Width(b)) <= longValue {
		return a, b
	}
	n := commonStart(a, b)
	lead := term.CutStart(a[:n], leadIn)
	return lead + a[n:], lead + b[n:]
}

// commonStart is the length in bytes of what two texts begin with.
func commonStart(a, b string) int {
	for i, r := range a {
		if !strings.HasPrefix(b[i:], string(r)) {
			return i
		}
	}
	return len(a)
}
