package report

import (
	"io"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

// fewDifferences is what a short comparison shows of the suspicious
// differences.
const fewDifferences = 8

// diffText is a comparison for a terminal.
type diffText struct {
	diff
	opt Options
	p   *page
}

// NewDiffText returns a handler that writes a comparison for a terminal to w on
// Close.
func NewDiffText(w io.Writer, opt Options) finding.Handler {
	return &diffText{diff: newDiff(opt), opt: opt, p: newPage(w, opt)}
}

// Close writes the comparison.
func (t *diffText) Close() error {
	v := t.view()
	tone := map[tone]func(string) string{good: t.p.style.Good, warn: t.p.style.Warn, bad: t.p.style.Bad}[v.Tone]
	for _, l := range term.Wrap(v.Headline, t.p.width) {
		t.p.line(tone(l))
	}
	t.p.blank()
	t.sides(v)
	t.rows(v.Rows)
	t.p.section("EQUAL")
	t.p.row("", v.Equal, "", plainStyle)
	t.next(v.Next)
	return t.p.flush()
}

func (t *diffText) sides(v diffView) {
	for _, s := range v.Sides {
		t.p.section(s.Label)
		t.p.row("", strings.Join(s.Ran, ", "), s.File, t.p.style.Bold)
		t.p.row("", s.Verdict, "", plainStyle)
	}
	for _, n := range v.Notes {
		t.p.row("", n, "", t.p.style.Warn)
	}
	t.p.blank()
}

// rows writes the table of differences, a section for each weight. A short
// comparison only counts the notes.
func (t *diffText) rows(rows []diffRow) {
	if len(rows) == 0 {
		return
	}
	labels := t.labels()
	t.columns("", diffCell{Value: labels.good}, diffCell{Value: labels.bad})
	for _, section := range []struct {
		weight finding.Weight
		label  string
		few    int
	}{{finding.Decisive, labels.decisive, maxOfKind}, {finding.Suspicious, labels.suspicious, fewDifferences}, {finding.Note, "NOTES", 0}} {
		list := weighing(rows, section.weight)
		few := section.few
		if t.opt.Full {
			few = maxOfKind
		}
		t.p.section(section.label)
		for _, r := range firstOf(list, few) {
			t.difference(r)
		}
		if n := len(list) - few; n > 0 {
			t.p.row("", plural(n, "further difference", "further differences")+": --full", "", t.p.style.Dim)
		}
	}
	t.p.section("")
	t.p.blank()
}

func weighing(rows []diffRow, w finding.Weight) []diffRow {
	var out []diffRow
	for _, r := range rows {
		if r.Weight == string(w) {
			out = append(out, r)
		}
	}
	return out
}

func (t *diffText) difference(r diffRow) {
	if r.Kind == "finding" {
		t.findingRow(r)
	} else {
		r.Good.Value, r.Bad.Value = apart(r.Good.Value, r.Bad.Value)
		t.columns(r.Name, r.Good, r.Bad)
	}
	if r.Why != "" {
		t.p.row("  ", r.Why, "", t.p.style.Dim)
	}
	if t.opt.Full {
		labels := t.labels()
		t.quotes("  "+term.Pad(labels.good, 5), r.Good.Evidence)
		t.quotes("  "+term.Pad(labels.bad, 5), r.Bad.Evidence)
	}
}

// findingRow writes a finding across the columns: titles are sentences.
func (t *diffText) findingRow(r diffRow) {
	side, cell := t.labels().bad, r.Bad
	if cell.Value == "" {
		side, cell = t.labels().good, r.Good
	}
	t.p.row(term.Pad(side, 6), cell.Value, cell.Pos, t.p.style.Bold)
}

func (t *diffText) quotes(lead string, es []evidence) {
	for _, e := range es {
		t.p.quote(lead, e.Text, e.Pos, quoteLines)
	}
}

// columns writes a name and two values side by side, with their positions
// behind them or, where these have no room, below. A name that does not fit its
// column, three tenths of the page, has a line of its own.
func (t *diffText) columns(name string, good, bad diffCell) {
	room := t.p.width - gutter
	names := room * 3 / 10
	width := (room-names)/2 - 1
	if term.Width(name) > names {
		t.p.row("", name, "", plainStyle)
		name = ""
	}
	goodValue, goodBelow := t.cell(good, width)
	badValue, badBelow := t.cell(bad, width)
	t.p.line(t.p.margin() + term.Pad(name, names) + " " + goodValue + " " + badValue)
	if below := strings.TrimRight(goodBelow+" "+badBelow, " "); below != "" {
		t.p.line(t.p.margin() + term.Pad("", names) + " " + t.p.style.Dim(below))
	}
}

// cell fills a column with a value and its position. A position that would take
// more than a third of it from a value that needs the room is returned apart.
func (t *diffText) cell(c diffCell, width int) (value, below string) {
	value, pos := c.Value, c.Pos
	if value == "" {
		value, pos = "-", ""
	}
	if pos != "" && term.Width(value)+1+term.Width(pos) > width && term.Width(pos) > width/3 {
		pos, below = "", term.CutStart(pos, width)
	}
	if pos != "" {
		pos = " " + pos
	}
	value = term.Cut(value, width-term.Width(pos))
	fill := strings.Repeat(" ", width-term.Width(value)-term.Width(pos))
	return value + t.p.style.Dim(pos) + fill, term.Pad(below, width)
}

func (t *diffText) next(a *action) {
	if a == nil {
		return
	}
	t.p.section("NEXT")
	t.p.row("", "one launch of "+a.Title, "", t.p.style.Bold)
	switch {
	case len(a.Script) > 0:
		t.p.verbatim(a.Script)
		t.p.row("", a.Text, "", t.p.style.Dim)
	default:
		t.p.row("", "set: "+a.Set, "", plainStyle)
	}
}
