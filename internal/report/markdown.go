package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"shakedown/internal/finding"
)

// markdown is the report as the body of a bug report (GitHub Flavored
// Markdown). Text of the stream is escaped or stands in code, so that it can
// neither inject markup nor notify people by @name.
type markdown struct {
	*digest
	w *bufio.Writer
}

// NewMarkdown returns a handler that writes a Markdown report to w on Close. Of
// several launches the last failed one is shown, the others are listed.
func NewMarkdown(w io.Writer, opt Options) finding.Handler {
	return &markdown{digest: newDigest(opt), w: bufio.NewWriter(w)}
}

// Handle collects one message.
func (m *markdown) Handle(msg finding.Message) error {
	m.handle(msg)
	return nil
}

// Close writes the report.
func (m *markdown) Close() error {
	m.flush()
	if m.total > 0 {
		m.launch(newView(mostTelling(m.kept), m.opt.Files))
	}
	m.launches()
	for _, e := range m.errors {
		m.para("**Error**: " + mdText(e.Text))
		if e.Next != "" {
			m.fence("sh", e.Next)
		}
	}
	if !m.ended {
		m.para("This report is incomplete: its end is missing.")
	}
	m.para("_Made by shakedown " + mdText(m.tool) + "._")
	return m.w.Flush()
}

func (m *markdown) line(parts ...string) {
	for _, s := range parts {
		// The buffered writer reports its first error on Flush.
		_, _ = m.w.WriteString(s)
	}
	_ = m.w.WriteByte('\n')
}

func (m *markdown) para(s string) {
	m.line(s)
	m.line()
}

// fence writes lines as a code block whose fence is longer than any run of
// backticks inside.
func (m *markdown) fence(lang string, lines ...string) {
	f := strings.Repeat("`", max(3, longestRun(lines)+1))
	m.line(f, lang)
	for _, l := range lines {
		m.line(l)
	}
	m.line(f)
	m.line()
}

func (m *markdown) row(cells ...string) { m.line("| ", strings.Join(cells, " | "), " |") }

func (m *markdown) header(cells ...string) {
	m.row(cells...)
	m.line("|", strings.Repeat("---|", len(cells)))
}

// fold writes a part that is closed at first; title is our own text.
func (m *markdown) fold(title string, body func()) {
	m.line("<details><summary>", title, "</summary>")
	m.line()
	body()
	m.line("</details>")
	m.line()
}

func (m *markdown) launch(v view) {
	if v.Plan != nil {
		m.plan(v)
		return
	}
	m.para("### " + mdText(v.Headline))
	m.environment(v)
	for _, s := range v.Symptoms {
		m.para("**Symptom** (certain): " + mdText(s.Title) + mdPos(s.Pos))
	}
	m.causes(v)
	m.excerpt(v)
	if v.Command != "" {
		m.para("**Command**" + mdPos(v.From))
		m.fence("sh", v.Command)
	}
	m.notIt(v)
	m.actions(v)
	m.settings("**Chosen by the server**", v.Chosen)
	m.rest(v)
}

func (m *markdown) environment(v view) {
	m.header("Environment", "")
	for _, r := range [][2]string{
		{"engine", v.Engine}, {"model", v.Model}, {"hardware", v.Hardware}, {"parallelism", v.Parallel},
		{"log", strings.Join(v.Files, ", ") + " lines " + v.Lines}, {"reached", v.Reached},
	} {
		if r[1] != "" {
			m.row(r[0], mdCell(r[1]))
		}
	}
	m.line()
	for _, n := range v.Notes {
		m.para("> " + mdText(n))
	}
}

func (m *markdown) causes(v view) {
	if v.CauseIntro != "" {
		m.para("**Cause**: " + mdText(v.CauseIntro))
	}
	for _, s := range v.Suspects {
		m.suspect("Cause", s)
	}
	for _, s := range v.Latent {
		m.suspect("Latent fault", s)
	}
	if len(v.Decide) > 0 {
		m.para("**What would decide**")
		for _, d := range v.Decide {
			m.line("- ", mdText(d))
		}
		m.line()
	}
}

func (m *markdown) suspect(role string, s suspect) {
	ranks := ""
	if s.Ranks != "" {
		ranks = ", " + s.Ranks
	}
	m.para(fmt.Sprintf("**%s** (%s): %s%s%s", role, mdText(s.Word), mdText(s.Title), mdText(ranks), mdPos(s.Pos)))
	if s.Why != "" {
		m.para(mdText(s.Why))
	}
	if s.Basis != "" {
		m.para(mdText(s.Word + " because: " + s.Basis))
	}
	if s.Follow != "" {
		m.para(mdText(s.Follow) + ".")
	}
}

// excerpt quotes the lines that the report stands on.
func (m *markdown) excerpt(v view) {
	if len(v.Excerpt) == 0 {
		return
	}
	lines := make([]string, len(v.Excerpt))
	for i, e := range v.Excerpt {
		lines[i] = strings.TrimSpace(e.Pos + " " + e.Text)
	}
	m.para("**Lines of the log**")
	m.fence("text", lines...)
}

func (m *markdown) notIt(v view) {
	if len(v.NotIt) == 0 {
		return
	}
	m.para("**Not the cause**")
	for _, x := range v.NotIt {
		m.line("- ", mdText(strings.Join(nonEmpty(x.Title, x.Why), ": ")), mdPos(x.Pos))
	}
	m.line()
}

func (m *markdown) actions(v view) {
	if len(v.Actions) == 0 {
		return
	}
	m.para("**What to try**")
	for _, a := range v.Actions {
		m.para("**" + a.Letter + "**: " + mdText(strings.Join(nonEmpty(a.Title, a.Price, a.For), "; ")))
		if a.Text != "" {
			m.para(mdText(a.Text))
		}
		if len(a.Script) > 0 {
			m.fence("sh", a.Script...)
		} else if a.Set != "" {
			m.fence("text", a.Set)
		}
	}
}

func (m *markdown) settings(title string, list []setting) {
	if len(list) == 0 {
		return
	}
	if title != "" {
		m.para(title)
	}
	m.header("setting", "asked", "effective", "chosen by", "because", "line")
	for _, s := range list {
		m.row(mdCell(s.Name), mdCell(s.Asked), mdCell(s.Effective), mdCell(s.By), mdCell(s.Because), mdCell(s.Pos))
	}
	m.line()
}

// rest writes what few readers need.
func (m *markdown) rest(v view) {
	if len(v.Timeline) > 0 {
		m.fold("Timeline", func() {
			m.header("at", "took", "milestone", "detail", "line")
			for _, s := range v.Timeline {
				m.row(mdCell(s.At), mdCell(s.Took), mdCell(s.Name), mdCell(s.Detail), mdCell(s.Pos))
			}
			m.line()
		})
	}
	if len(v.Ranks) > 0 {
		m.header("ranks", "last milestone", "line", "end")
		for _, r := range v.Ranks {
			m.row(mdCell(strings.Join(nonEmpty(r.File, r.Ranks), " ")), mdCell(r.Last), mdCell(r.Pos), mdCell(r.Ended))
		}
		m.line()
	}
	if len(v.Ledger) > 0 {
		m.fold(fmt.Sprintf("All settings (%d)", len(v.Ledger)), func() { m.settings("", v.Ledger) })
	}
	if len(v.Facts) > 0 {
		m.fold("Facts", func() {
			m.header("fact", "value", "line")
			for _, f := range v.Facts {
				m.row(mdCell(f.Key), mdCell(f.Value), mdCell(f.Pos))
			}
			m.line()
		})
	}
	if n := len(v.Unexplained) + len(v.Drift); n > 0 {
		m.fold(fmt.Sprintf("Lines that were not understood (%d kinds)", n), func() {
			for _, c := range append(v.Unexplained, v.Drift...) {
				m.fence("text", strings.Join(nonEmpty(fmt.Sprintf("%dx", c.Count), c.Pos, c.ID, c.Text), " "))
			}
		})
	}
}

// launches lists all launches of the input.
func (m *markdown) launches() {
	if m.total < 2 {
		return
	}
	head, left, tail := m.rows()
	m.fold(fmt.Sprintf("All %d launches in this log", m.total), func() {
		m.header("launch", "lines", "result")
		for _, r := range head {
			m.launchRow(r)
		}
		if left > 0 {
			m.row("...", "", fmt.Sprintf("%d more", left))
		}
		for _, r := range tail {
			m.launchRow(r)
		}
		m.line()
	})
}

func (m *markdown) launchRow(r row) { m.row(fmt.Sprint(r.N), mdCell(r.Lines), mdCell(r.What)) }

// mdText escapes text so that it shows as it is.
func mdText(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(s), " ") {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("&#64;") // no mention
		case r == '#':
			b.WriteString("&#35;") // no reference to an issue
		case strings.ContainsRune("\\`*_[]|~!$", r):
			b.WriteString("\\" + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return guardStart(b.String())
}

// guardStart keeps the start of a paragraph from being read as a heading, a
// list or a rule.
func guardStart(s string) string {
	digits := strings.TrimLeft(s, "0123456789")
	switch {
	case s != "" && strings.ContainsRune("-+=:", rune(s[0])):
		return "\\" + s
	case len(digits) < len(s) && digits != "" && (digits[0] == '.' || digits[0] == ')'):
		return s[:len(s)-len(digits)] + "\\" + digits
	}
	return s
}

// mdCell puts text into a table cell, as code where it can be: a pipe divides
// cells also within code.
func mdCell(s string) string {
	switch {
	case s == "":
		return ""
	case strings.ContainsAny(s, "|`"):
		return mdText(s)
	}
	return mdCode(s)
}

// mdCode writes text as inline code; its fence is longer than any run of
// backticks inside.
func mdCode(s string) string {
	f := strings.Repeat("`", longestRun([]string{s})+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return f + s + f
}

// mdPos is a position behind a sentence.
func mdPos(pos string) string {
	if pos == "" {
		return ""
	}
	return " (" + mdCode(pos) + ")"
}

// longestRun is the length of the longest run of backticks.
func longestRun(lines []string) int {
	longest := 0
	for _, l := range lines {
		run := 0
		for i := range len(l) {
			if l[i] != '`' {
				run = 0
				continue
			}
			run++
			longest = max(longest, run)
		}
	}
	return longest
}
