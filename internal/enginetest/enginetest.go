// Package enginetest checks the known lines of a serving engine: every line has
// a real example, every pattern has read one, and no example is reported as a
// new form of another line. An example is one log line with the values that the
// patterns must read from it.
//
// Examples stand in a text file: the id of the line and the values
// ("name=value; name=value"), then, on a line that begins with a tab, the log
// line.
package enginetest

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/engine"
	"shakedown/internal/match"
)

// example is a log line that the line with this id knows.
type example struct {
	id   string
	text string
	want string // captures, "name=value; name=value"
}

// minAnchor is the length of an anchor below which it would be found too often
// (see package engine).
const minAnchor = 6

// Check tests the lines of an engine against the examples in a file.
func Check(t *testing.T, e *engine.Engine, file string) {
	t.Helper()
	lines := compile(t, e)
	examples := readExamples(t, file)
	for _, ex := range examples {
		if !slices.ContainsFunc(lines, func(l *line) bool { return l.ID == ex.id }) {
			t.Errorf("example %q: no line %s", ex.text, ex.id)
		}
	}
	for _, l := range lines {
		l.checkForm(t)
		l.checkExamples(t, examples)
	}
	for _, ex := range examples {
		checkDrift(t, lines, ex.text)
	}
	checkMilestones(t, e)
}

// Replay reads a log file and returns the ids of the known lines in it, in
// order. A known line in a new form is an error.
func Replay(t *testing.T, e *engine.Engine, file string) []string {
	t.Helper()
	lines := compile(t, e)
	var ids []string
	for _, row := range readLines(t, file) {
		checkDrift(t, lines, row)
		for _, l := range lines {
			if _, _, ok := l.read(row); ok {
				ids = append(ids, l.ID)
			}
		}
	}
	return ids
}

// Milestones returns the names of the milestones among the ids, in order and
// each once.
func Milestones(e *engine.Engine, ids []string) []string {
	var names []string
	for _, id := range ids {
		i := slices.IndexFunc(e.Lines, func(l engine.Line) bool { return l.ID == id })
		if name := e.Lines[i].Name; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func readExamples(t *testing.T, file string) []example {
	t.Helper()
	var examples []example
	var head string
	for _, row := range readLines(t, file) {
		text, isText := strings.CutPrefix(row, "\t")
		if !isText {
			head = row
			continue
		}
		id, want, _ := strings.Cut(head, " ")
		examples = append(examples, example{id: id, text: text, want: want})
	}
	return examples
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

type line struct {
	*engine.Line
	patterns []*match.Pattern
}

func compile(t *testing.T, e *engine.Engine) []*line {
	t.Helper()
	var lines []*line
	for i := range e.Lines {
		l := &line{Line: &e.Lines[i]}
		for _, text := range l.Patterns {
			p, err := match.ParsePattern(text)
			if err != nil {
				t.Fatalf("%s: %v", l.ID, err)
			}
			l.patterns = append(l.patterns, p)
		}
		lines = append(lines, l)
	}
	return lines
}

// read tells whether the line knows this text, and by which pattern (-1: it has
// none).
func (l *line) read(text string) (caps match.Captures, pattern int, ok bool) {
	if !strings.Contains(text, l.Anchor) {
		return nil, 0, false
	}
	if len(l.patterns) == 0 {
		return nil, -1, true
	}
	for i, p := range l.patterns {
		if caps, ok := p.Match([]byte(text)); ok {
			return caps, i, true
		}
	}
	return nil, 0, false
}

// checkForm tests what the kinds ask for.
func (l *line) checkForm(t *testing.T) {
	t.Helper()
	if len(l.Anchor) < minAnchor {
		t.Errorf("%s: anchor %q is too short", l.ID, l.Anchor)
	}
	milestone := l.Kind == engine.Mile || l.Kind == engine.Ready
	if milestone != (l.Name != "") || milestone != (l.Phase != "") {
		t.Errorf("%s: exactly milestones have a name and a phase", l.ID)
	}
	if (l.Kind == engine.Choice) != (len(l.Sets) > 0) {
		t.Errorf("%s: exactly choices set something", l.ID)
	}
	switch l.Kind {
	case engine.Noise, engine.Wrapper, engine.Choice:
		if l.Why == "" {
			t.Errorf("%s: no Why", l.ID)
		}
	case engine.Symptom, engine.Fatal, engine.Exit, engine.Stop:
		if l.Title == "" {
			t.Errorf("%s: no Title", l.ID)
		}
	}
	if l.Kind == engine.Symptom && l.Why == "" {
		t.Errorf("%s: no Why", l.ID)
	}
}

// checkExamples tests the examples of one line, that each of its patterns reads
// one of them, and that each template can be filled from one.
func (l *line) checkExamples(t *testing.T, examples []example) {
	t.Helper()
	used := make([]bool, len(l.patterns))
	filled := make(map[string]bool)
	found := false
	for _, ex := range examples {
		if ex.id != l.ID {
			continue
		}
		found = true
		caps, pattern, ok := l.read(ex.text)
		if !ok {
			t.Errorf("%s does not know its example %q", l.ID, ex.text)
			continue
		}
		if pattern >= 0 {
			used[pattern] = true
		}
		if got := render(caps); got != ex.want {
			t.Errorf("%s reads %q from %q, want %q", l.ID, got, ex.text, ex.want)
		}
		for _, tmpl := range l.templates() {
			if _, ok := match.Expand(tmpl, caps); ok {
				filled[tmpl] = true
			}
		}
	}
	if !found {
		t.Errorf("%s has no example", l.ID)
	}
	for i, ok := range used {
		if !ok {
			t.Errorf("%s: no example for the pattern %q", l.ID, l.Patterns[i])
		}
	}
	for _, tmpl := range l.templates() {
		if !filled[tmpl] {
			t.Errorf("%s: no example fills %q", l.ID, tmpl)
		}
	}
}

// templates are the texts of a line that may hold captures.
func (l *line) templates() []string {
	var list []string
	for _, tmpl := range l.Facts {
		list = append(list, tmpl)
	}
	for _, s := range l.Sets {
		list = append(list, s.Setting, s.Value)
	}
	return list
}

// checkDrift tests that no line finds its anchor in this text without being
// able to read it.
func checkDrift(t *testing.T, lines []*line, text string) {
	t.Helper()
	for _, l := range lines {
		if !bytes.Contains([]byte(text), []byte(l.Anchor)) {
			continue
		}
		if _, _, ok := l.read(text); !ok {
			t.Errorf("%s takes %q for a new form of itself", l.ID, text)
		}
	}
}

// checkMilestones tests that the milestones of the lines are those of the
// engine, and that the last one is the ready line's.
func checkMilestones(t *testing.T, e *engine.Engine) {
	t.Helper()
	names := make(map[string]bool)
	ready := ""
	for _, l := range e.Lines {
		if l.Name == "" {
			continue
		}
		names[l.Name] = true
		if l.Kind == engine.Ready {
			ready = l.Name
		}
		if !slices.Contains(e.Milestones, l.Name) && !slices.Contains(e.Milestones, l.Name+"?") {
			t.Errorf("%s: milestone %q is not listed", l.ID, l.Name)
		}
	}
	for _, name := range e.Milestones {
		if !names[strings.TrimSuffix(name, "?")] {
			t.Errorf("no line reaches milestone %q", name)
		}
	}
	if n := len(e.Milestones); n == 0 || e.Milestones[n-1] != ready {
		t.Errorf("milestones end with %q, want the ready line's %q", e.Milestones, ready)
	}
}

func render(caps match.Captures) string {
	var parts []string
	for _, c := range caps {
		parts = append(parts, c.Name+"="+c.Value)
	}
	return strings.Join(parts, "; ")
}
