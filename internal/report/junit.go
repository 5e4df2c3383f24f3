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
	Output   string     `xml:"system-out,omitempty"`
}

type testcase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr,omitempty"` // seconds
	Failure *trouble `xml:"failure,omitempty"`
	Error   *trouble `xml:"error,omitempty"`
	Skipped *skip    `xml:"skipped,omitempty"`
	Output  string   `xml:"system-out,omitempty"`
}

type skip struct {
	Message string `xml:"message,attr,omitempty"`
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
		c.Skipped = &skip{}
	case bad:
		c.Failure = failure(v)
	}
	j.suite.count(c)
}

func (s *suite) count(c testcase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = bounded(s.Cases, c, maxCases)
}

// interruptions adds what kept the stream from its end.
func (s *suite) interruptions(errors []finding.ErrorMsg, ended bool) {
	for _, e := range errors {
		s.count(testcase{Name: "input", Class: "shakedown", Error: &trouble{Message: e.Text, Text: e.Next}})
	}
	if !ended {
		s.count(testcase{Name: "report", Class: "shakedown", Error: &trouble{Message: "the report is incomplete: its end is missing"}})
	}
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
	j.suite.interruptions(j.errors, j.ended)
	return writeSuite(j.w, j.suite)
}

func writeSuite(w io.Writer, s suite) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suites{Suites: []suite{s}}); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
