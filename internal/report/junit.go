package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"shakedown/internal/finding"
)

// junit is the report for a build server: one test suite for the input, one
// test case for each launch (the XML format that Jenkins and GitLab read).
type junit struct {
	gatherer
	w     io.Writer
	opt   Options
	suite suite
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testcase `xml:"testcase"`
}

type testcase struct {
	Name    string    `xml:"name,attr"`
	Class   string    `xml:"classname,attr"`
	Failure *trouble  `xml:"failure,omitempty"`
	Error   *trouble  `xml:"error,omitempty"`
	Skipped *struct{} `xml:"skipped,omitempty"`
	Output  string    `xml:"system-out,omitempty"`
}

type trouble struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// maxCases bounds the test cases of one report.
const maxCases = 20000

// NewJUnit returns a handler that writes JUnit XML to w on Close. A launch that
// was stopped from outside is skipped: it proves nothing.
func NewJUnit(w io.Writer, opt Options) finding.Handler {
	j := &junit{w: w, opt: opt, suite: suite{Name: "shakedown " + strings.Join(opt.Files, " ")}}
	j.copier = copier{redact: opt.Redact}
	j.suite.Name = strings.TrimSpace(j.copier.text("", j.suite.Name))
	j.finished = j.add
	return j
}

// Handle collects one message.
func (j *junit) Handle(m finding.Message) error {
	j.handle(m)
	return nil
}

func (j *junit) add(l *launch) {
	v := newView(l, j.opt.Files)
	c := testcase{Name: strings.Join(nonEmpty(fmt.Sprintf("launch %d", v.N), writerOf(firstFile(v)), "lines "+v.Lines), ", "), Class: v.Engine}
	switch v.Tone {
	case good:
		c.Output = v.Headline
	case warn:
		if len(v.Latent)+len(v.Suspects) > 0 {
			c.Failure = failure(v)
			break
		}
		c.Skipped = &struct{}{}
	case bad:
		c.Failure = failure(v)
	}
	j.count(c)
}

func (j *junit) count(c testcase) {
	j.suite.Tests++
	switch {
	case c.Failure != nil:
		j.suite.Failures++
	case c.Error != nil:
		j.suite.Errors++
	case c.Skipped != nil:
		j.suite.Skipped++
	}
	j.suite.Cases = bounded(j.suite.Cases, c, maxCases)
}

// failure is the verdict with the lines that it stands on.
func failure(v view) *trouble {
	t := &trouble{Message: v.Headline, Type: v.Outcome}
	var b strings.Builder
	for _, s := range v.Symptoms {
		fmt.Fprintf(&b, "symptom: %s %s\n  %s\n", s.Title, s.Pos, s.Quote)
	}
	if v.CauseIntro != "" {
		fmt.Fprintf(&b, "cause: %s\n", v.CauseIntro)
	}
	for _, s := range append(v.Suspects, v.Latent...) {
		fmt.Fprintf(&b, "%s: %s %s [%s]\n  %s\n", s.Word, s.Title, s.Pos, s.ID, s.Quote)
	}
	t.Text = b.String()
	return t
}

// Close writes the file.
func (j *junit) Close() error {
	j.flush()
	for _, e := range j.errors {
		j.count(testcase{Name: "input", Class: "shakedown", Error: &trouble{Message: e.Text, Text: e.Next}})
	}
	if !j.ended {
		j.count(testcase{Name: "report", Class: "shakedown", Error: &trouble{Message: "the report is incomplete: its end is missing"}})
	}
	if _, err := io.WriteString(j.w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(j.w)
	enc.Indent("", "  ")
	if err := enc.Encode(suites{Suites: []suite{j.suite}}); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err := io.WriteString(j.w, "\n")
	return err
}
