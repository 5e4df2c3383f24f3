package report

import (
	"bufio"
	"io"
	"strings"

	"shakedown/internal/finding"
)

// diffMarkdown is a comparison as a part of a bug report.
type diffMarkdown struct {
	diff
	doc *markdown
}

// NewDiffMarkdown returns a handler that writes a comparison in Markdown to w on
// Close.
func NewDiffMarkdown(w io.Writer, opt Options) finding.Handler {
	return &diffMarkdown{diff: newDiff(opt), doc: &markdown{w: bufio.NewWriter(w)}}
}

// Close writes the comparison.
func (m *diffMarkdown) Close() error {
	v := m.view()
	m.doc.para("### " + mdText(v.Headline))
	m.sides(v)
	for _, n := range v.Notes {
		m.doc.para("> " + mdText(n))
	}
	m.rows(v.Rows)
	m.doc.para(mdText(v.Equal) + ".")
	m.next(v.Next)
	m.doc.para("_Made by shakedown " + mdText(m.tool) + "._")
	return m.doc.w.Flush()
}

func (m *diffMarkdown) sides(v diffView) {
	m.doc.header("", "ran", "result", "log")
	for _, s := range v.Sides {
		m.doc.row(s.Label, mdCell(strings.Join(s.Ran, ", ")), mdCell(s.Verdict), mdCell(s.File))
	}
	m.doc.line()
}

func (m *diffMarkdown) rows(rows []diffRow) {
	if len(rows) == 0 {
		return
	}
	m.doc.header("weight", "what", m.labels().good, m.labels().bad, "why")
	for _, r := range rows {
		m.doc.row(r.Weight, mdCell(r.Name), mdValue(r.Good), mdValue(r.Bad), mdText(r.Why))
	}
	m.doc.line()
}

func mdValue(c diffCell) string { return mdCell(c.Value) + mdPos(c.Pos) }

func (m *diffMarkdown) next(a *action) {
	if a == nil {
		return
	}
	m.doc.para("**Next**: one launch of " + mdText(a.Title))
	if len(a.Script) > 0 {
		m.doc.fence("sh", a.Script...)
		m.doc.para(mdText(a.Text))
		return
	}
	m.doc.fence("text", a.Set)
}
