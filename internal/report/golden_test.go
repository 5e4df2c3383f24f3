package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

var update = flag.Bool("update", false, "write the golden files anew")

type constructor func(io.Writer, Options) finding.Handler

// render runs a stream through a handler.
func render(t *testing.T, make constructor, opt Options, ms []finding.Message) string {
	t.Helper()
	var b bytes.Buffer
	h := make(&b, opt)
	for _, m := range ms {
		if err := h.Handle(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; run go test with -update when that is meant (-want +got):\n%s", name, diff)
	}
}

func TestText(t *testing.T) {
	for name, s := range streams {
		golden(t, name+".txt", render(t, NewText, Options{Files: s.files}, s.messages))
		golden(t, name+".full.txt", render(t, NewText, Options{Files: s.files, Full: true}, s.messages))
	}
}

func TestMarkdown(t *testing.T) {
	for _, name := range []string{"incident", "latent", "unclear", "multinode", "many", "error", "planned", "planned-refused"} {
		s := streams[name]
		golden(t, name+".md", render(t, NewMarkdown, Options{Files: s.files}, s.messages))
	}
}

func TestHTML(t *testing.T) {
	for _, name := range []string{"incident", "multinode", "restarts", "error", "planned", "planned-refused"} {
		s := streams[name]
		golden(t, name+".html", render(t, NewHTML, Options{Files: s.files}, s.messages))
	}
}

func TestJUnit(t *testing.T) {
	for _, name := range []string{"incident", "latent", "stopped", "restarts", "error"} {
		s := streams[name]
		golden(t, name+".xml", render(t, NewJUnit, Options{Files: s.files}, s.messages))
	}
}

// TestLinesFit checks that only a word that can't be broken is wider than the
// page.
func TestLinesFit(t *testing.T) {
	for name, s := range streams {
		for _, width := range []int{60, 80, 120} {
			for _, full := range []bool{false, true} {
				out := render(t, NewText, Options{Files: s.files, Width: width, Full: full}, s.messages)
				for line := range strings.Lines(out) {
					line = strings.TrimSuffix(line, "\n")
					if term.Width(line) > width {
						t.Errorf("%s, width %d: %d columns: %s", name, width, term.Width(line), line)
					}
				}
			}
		}
	}
}

// TestAnswerFirst checks that what to do begins on the first screen, and the
// size of a report that a person reads in one look.
func TestAnswerFirst(t *testing.T) {
	for name, most := range map[string]int{"incident": 34, "latent": 24, "multinode": 24} {
		s := streams[name]
		before, _, ok := strings.Cut(render(t, NewText, Options{Files: s.files}, s.messages), "\nDO ")
		if n := strings.Count(before, "\n") + 2; !ok || n > most {
			t.Errorf("%s: what to do stands in line %d", name, n)
		}
	}
	s := streams["incident"]
	if n := strings.Count(render(t, NewText, Options{Files: s.files}, s.messages), "\n"); n > 45 {
		t.Errorf("the report of one failed launch has %d lines", n)
	}
}

func TestStyled(t *testing.T) {
	s := streams["incident"]
	coloured := term.Detect(io.Discard, func(string) string { return "" }, term.Always)
	plain := render(t, NewText, Options{Files: s.files}, s.messages)
	styled := render(t, NewText, Options{Files: s.files, Style: coloured.Style}, s.messages)
	if styled == plain {
		t.Error("no style was applied")
	}
	var stripped strings.Builder
	for line := range strings.Lines(styled) {
		stripped.WriteString(strings.TrimRight(term.Clean(strings.TrimSuffix(line, "\n")), " ") + "\n")
	}
	if diff := cmp.Diff(plain, stripped.String()); diff != "" {
		t.Errorf("style changes more than the look:\n%s", diff)
	}
}

// TestManyLaunches checks that a crash loop needs bounded memory: only the
// last failed launch is kept in detail.
func TestManyLaunches(t *testing.T) {
	d := newDigest(Options{})
	for _, m := range restarts(500) {
		d.handle(m)
	}
	head, left, tail := d.rows()
	if len(d.kept) != 1 || d.kept[0].N != 499 {
		t.Errorf("%d launches kept", len(d.kept))
	}
	if len(head) != maxEdge || left != 490 || len(tail) != maxEdge || tail[0].N != 496 || tail[4].N != 500 {
		t.Errorf("table: %d, %d left out, %d: %+v", len(head), left, len(tail), tail)
	}
	if len(d.first)+len(d.last) > Listed+maxEdge {
		t.Errorf("%d rows kept", len(d.first)+len(d.last))
	}
}

// TestLeftOut checks that launches that a stream leaves out are counted, and
// that the report does not need them.
func TestLeftOut(t *testing.T) {
	all := restarts(500)
	var few []finding.Message
	n := 0
	for _, m := range all {
		if l, ok := m.(*finding.LaunchMsg); ok {
			n = l.N
		}
		if n <= Listed || n > 500-Listed {
			few = append(few, m)
		}
	}
	for name, make := range map[string]func(io.Writer, Options) finding.Handler{"text": NewText, "markdown": NewMarkdown, "html": NewHTML} {
		if diff := cmp.Diff(render(t, make, Options{}, all), render(t, make, Options{}, few)); diff != "" {
			t.Errorf("%s needs the launches in between:\n%s", name, diff)
		}
	}
}

func TestIncomplete(t *testing.T) {
	ms := healthy()
	ms = ms[:len(ms)-1]
	for name, make := range formats {
		if out := render(t, make, Options{}, ms); !strings.Contains(out, "its end is missing") {
			t.Errorf("%s does not say that the stream was cut", name)
		}
	}
}

func TestMessagesAreCopied(t *testing.T) {
	d := newDigest(Options{})
	m := &finding.LaunchMsg{N: 1, Files: []string{"a.log"}, Outcome: finding.OK, Verdict: "healthy"}
	d.handle(m)
	m.Verdict, m.Files[0] = "changed", "changed"
	d.flush()
	if l := d.kept[0]; l.Verdict != "healthy" || l.Files[0] != "a.log" {
		t.Errorf("the report shares memory with the message: %+v", l)
	}
}
