package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"shakedown/internal/finding"
)

// probeJUnit is the report on a living server for a build server.
type probeJUnit struct {
	probing
	w io.Writer
}

// NewProbeJUnit returns a handler that writes JUnit XML to w on Close: one test
// case for each probe. A probe that can't tell is skipped: it proves nothing.
func NewProbeJUnit(w io.Writer, opt Options) finding.Handler {
	return &probeJUnit{probing: newProbing(opt), w: w}
}

// Close writes the file.
func (j *probeJUnit) Close() error {
	v := j.view()
	s := suite{Name: strings.Join(nonEmpty("shakedown probe", v.Probe.URL), " ")}
	for _, m := range j.probes {
		s.count(j.testcase(m))
	}
	s.interruptions(j.errors, j.ended)
	s.Output = conclusionWords(v)
	return writeSuite(j.w, s)
}

func (j *probeJUnit) testcase(m finding.ProbeMsg) testcase {
	r := j.row(m)
	c := testcase{Name: strings.Join(nonEmpty(r.ID, r.Title), ": "), Class: "shakedown.probe", Time: strconv.FormatFloat(m.Seconds, 'f', 3, 64)}
	switch r.Tone {
	case good:
		c.Output = r.Text
	case warn:
		c.Skipped = &skip{Message: r.Text}
	case bad:
		c.Failure = &trouble{Message: r.Text, Type: strings.Join(m.Signs, " ")}
		var b strings.Builder
		if r.Threshold != "" {
			fmt.Fprintf(&b, "bound: %s\n", r.Threshold)
		}
		for _, e := range r.Evidence {
			fmt.Fprintf(&b, "%s\n", strings.Join(nonEmpty(e.Pos, e.Text, e.Note), ": "))
		}
		c.Failure.Text = b.String()
	}
	return c
}

// conclusionWords is what all probes say together, in a few lines.
func conclusionWords(v view) string {
	lines := nonEmpty(v.Headline, v.Probe.Text)
	for _, s := range v.Suspects {
		lines = append(lines, s.Word+": "+s.Title)
	}
	for _, a := range v.Actions {
		lines = append(lines, a.Letter+": "+strings.Join(nonEmpty(a.Title, a.Set), ": "))
	}
	return strings.Join(lines, "\n")
}
