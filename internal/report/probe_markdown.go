package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"shakedown/internal/finding"
)

// probeMarkdown is the report on a living server as a part of a bug report.
type probeMarkdown struct {
	probing
	full bool
	doc  *markdown
}

// NewProbeMarkdown returns a handler that writes the report on a living server in
// Markdown to w on Close.
func NewProbeMarkdown(w io.Writer, opt Options) finding.Handler {
	return &probeMarkdown{probing: newProbing(opt), full: opt.Full, doc: &markdown{w: bufio.NewWriter(w)}}
}

// Close writes the report.
func (m *probeMarkdown) Close() error {
	v := m.view()
	if len(m.probes) > 0 || m.conclusion != nil {
		m.report(v)
	}
	for _, e := range m.errors {
		m.doc.para("**Error**: " + mdText(e.Text))
		if e.Next != "" {
			m.doc.fence("sh", e.Next)
		}
	}
	for _, n := range v.Notes {
		m.doc.para(mdText(n))
	}
	m.doc.para("_Made by shakedown " + mdText(m.tool) + "._")
	return m.doc.w.Flush()
}

func (m *probeMarkdown) report(v view) {
	m.doc.para("### " + mdText(v.Headline))
	if v.Probe.Text != "" {
		m.doc.para(mdText(v.Probe.Text))
	}
	m.doc.header("Server", "")
	rows := [][2]string{
		{"url", v.Probe.URL}, {"engine", v.Engine}, {"model", v.Model}, {"root", m.head.Root},
		{"asked", strings.Join(nonEmpty(v.Probe.Level, v.Probe.Sent), ": ")},
	}
	for _, f := range v.Facts {
		rows = append(rows, [2]string{f.Key, strings.Join(nonEmpty(f.Value, f.Pos), ", ")})
	}
	for _, r := range rows {
		if r[1] != "" {
			m.doc.row(mdText(r[0]), mdCell(r[1]))
		}
	}
	m.doc.line()
	if s := v.Probe.Since; s != nil {
		m.doc.para("**Since** " + mdText(s.Title))
		for _, c := range s.Changes {
			m.doc.line("- ", mdText(c))
		}
		m.doc.line()
	}
	m.doc.causes(v)
	m.doc.actions(v)
	for _, r := range v.Probe.Failed {
		m.failed(r)
	}
	m.list("**Can't tell**", v.Probe.Open)
	m.list("**Passed**", v.Probe.Passed)
	for _, s := range v.Remarks {
		m.doc.suspect("Remark", s)
	}
	if len(v.Ledger) > 0 {
		m.doc.fold(fmt.Sprintf("All settings (%d)", len(v.Ledger)), func() { m.doc.settings("", v.Ledger) })
	}
}

// failed writes a probe with all that it stands on.
func (m *probeMarkdown) failed(r probeRow) {
	m.doc.para(fmt.Sprintf("**Failed** (%s): %s", mdCode(r.ID), mdText(r.Title)))
	if r.Text != "" {
		m.doc.para(mdText(r.Text))
	}
	if r.Threshold != "" {
		m.doc.para("Bound: " + mdText(r.Threshold))
	}
	var lines []string
	for _, e := range r.Evidence {
		lines = append(lines, strings.Join(nonEmpty(e.Pos, e.Text, e.Note), ": "))
	}
	if len(lines) > 0 {
		m.doc.fence("text", lines...)
	}
	if len(r.Exchanges) == 0 {
		return
	}
	m.doc.fold(fmt.Sprintf("Requests and answers (%d)", len(r.Exchanges)), func() {
		for _, x := range r.Exchanges {
			m.doc.para(mdText(fmt.Sprintf("Request %d: %s (%s)", x.N, x.What, x.Result)))
			m.doc.fence("text", nonEmpty(m.body(x.Request), m.body(x.Answer))...)
		}
	})
}

// longBody is what a short report shows of a request or an answer, in characters.
const longBody = 1500

func (m *probeMarkdown) body(s string) string {
	if r := []rune(s); !m.full && len(r) > longBody {
		return string(r[:longBody]) + " ..."
	}
	return s
}

func (m *probeMarkdown) list(title string, rows []probeRow) {
	if len(rows) == 0 {
		return
	}
	m.doc.para(title)
	for _, r := range rows {
		m.doc.line("- ", mdText(r.Title), ": ", mdText(r.Text))
	}
	m.doc.line()
}
