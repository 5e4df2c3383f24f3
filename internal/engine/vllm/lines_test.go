package vllm

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/match"
)

// known is a line of the engine with its patterns parsed.
type known struct {
	*engine.Line
	patterns []*match.Pattern
}

func knownLines(t *testing.T) []known {
	t.Helper()
	all := make([]known, len(Engine.Lines))
	for i := range Engine.Lines {
		all[i].Line = &Engine.Lines[i]
		for _, text := range Engine.Lines[i].Patterns {
			p, err := match.ParsePattern(text)
			if err != nil {
				t.Fatalf("%s: %v", Engine.Lines[i].ID, err)
			}
			all[i].patterns = append(all[i].patterns, p)
		}
	}
	return all
}

// match returns the index of the pattern that reads the line; -1 with ok when
// the anchor is all there is.
func (k known) match(line string) (pattern int, caps match.Captures, ok bool) {
	if len(k.patterns) == 0 {
		return -1, nil, true
	}
	for i, p := range k.patterns {
		if caps, ok := p.Match([]byte(line)); ok {
			return i, caps, true
		}
	}
	return -1, nil, false
}

func TestLinesAreComplete(t *testing.T) {
	ids, anchors := make(map[string]bool), make(map[string]string)
	for _, l := range Engine.Lines {
		if !strings.HasPrefix(l.ID, "VLLM-") || ids[l.ID] {
			t.Errorf("%s: id is not unique or lacks the prefix VLLM-", l.ID)
		}
		if other := anchors[l.Anchor]; other != "" {
			t.Errorf("%s and %s share the anchor %q", l.ID, other, l.Anchor)
		}
		ids[l.ID], anchors[l.Anchor] = true, l.ID
		if len(l.Anchor) < 6 {
			t.Errorf("%s: anchor %q is shorter than 6 bytes", l.ID, l.Anchor)
		}
		if missing := missingFields(l); missing != "" {
			t.Errorf("%s: no %s", l.ID, missing)
		}
	}
}

// missingFields names the field that a line of its kind needs and lacks.
func missingFields(l engine.Line) string {
	switch l.Kind {
	case engine.Mile, engine.Ready:
		if l.Name == "" || l.Phase.Order() < 0 {
			return "name or phase"
		}
	case engine.Choice:
		if len(l.Sets) == 0 || l.Why == "" || l.Source == "" {
			return "sets, why or source"
		}
	case engine.Noise, engine.Wrapper:
		if l.Why == "" {
			return "why"
		}
	case engine.Symptom:
		if l.Title == "" || l.Why == "" {
			return "title or why"
		}
	case engine.Fatal, engine.Exit, engine.Stop:
		if l.Title == "" {
			return "title"
		}
	case engine.Info:
		if len(l.Facts) == 0 {
			return "facts"
		}
	}
	return ""
}

func TestChoicesNameTheirReason(t *testing.T) {
	reasons := []string{"model", "checkpoint", "hardware", "coupling", "environment", "default", "unknown"}
	for _, l := range Engine.Lines {
		for _, s := range l.Sets {
			if !slices.Contains(reasons, s.By) {
				t.Errorf("%s: chosen by %q", l.ID, s.By)
			}
			if len(s.From) > 0 && s.By != "coupling" {
				t.Errorf("%s: %q with settings that forced it", l.ID, s.By)
			}
		}
	}
}

func TestMilestonesAreInOrder(t *testing.T) {
	var names []string
	for _, name := range Engine.Milestones {
		names = append(names, strings.TrimSuffix(name, "?"))
	}
	order := make(map[string]int)
	last := fact.Args
	for _, name := range names {
		for _, l := range Engine.Lines {
			if l.Name != name {
				continue
			}
			if l.Phase.Order() < last.Order() {
				t.Errorf("%s: phase %s after %s", l.ID, l.Phase, last)
			}
			last = l.Phase
			order[name]++
		}
		if order[name] == 0 {
			t.Errorf("milestone %q has no line", name)
		}
	}
	for _, l := range Engine.Lines {
		if l.Name != "" && order[l.Name] == 0 {
			t.Errorf("%s: %q is not among the milestones", l.ID, l.Name)
		}
	}
}

// example is one line as the engine prints it and what is read from it.
type example struct {
	line string
	want map[string]string
}

// examples reads testdata/examples.txt: an id, then for each example "> line"
// and its captures as name=value.
func examples(t *testing.T) map[string][]example {
	t.Helper()
	data, err := os.ReadFile("testdata/examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]example)
	id := ""
	for text := range strings.Lines(string(data)) {
		text = strings.TrimSuffix(text, "\n")
		if line, ok := strings.CutPrefix(text, "> "); ok {
			all[id] = append(all[id], example{line: line, want: map[string]string{}})
		} else if name, value, ok := strings.Cut(text, "="); ok {
			list := all[id]
			list[len(list)-1].want[name] = value
		} else {
			id = text
		}
	}
	return all
}

func TestExamples(t *testing.T) {
	all := examples(t)
	for _, k := range knownLines(t) {
		used := make(map[int]bool)
		for _, ex := range all[k.ID] {
			if !strings.Contains(ex.line, k.Anchor) {
				t.Errorf("%s: no anchor in %q", k.ID, ex.line)
			}
			pattern, caps, ok := k.match(ex.line)
			if !ok {
				t.Errorf("%s: no pattern reads %q", k.ID, ex.line)
			}
			used[pattern] = true
			got := make(map[string]string)
			for _, c := range caps {
				got[c.Name] = c.Value
			}
			if diff := cmp.Diff(ex.want, got); diff != "" {
				t.Errorf("%s on %q (-want +got):\n%s", k.ID, ex.line, diff)
			}
		}
		checkTemplates(t, k, all[k.ID])
		if len(used) < max(1, len(k.patterns)) {
			t.Errorf("%s: %d of %d patterns have an example", k.ID, len(used), len(k.patterns))
		}
		delete(all, k.ID)
	}
	for id := range all {
		t.Errorf("examples of an unknown line %q", id)
	}
}

// checkTemplates wants every template of a line to be filled by at least one of
// its examples.
func checkTemplates(t *testing.T, k known, list []example) {
	t.Helper()
	var templates []string
	for _, template := range k.Facts {
		templates = append(templates, template)
	}
	for _, s := range k.Sets {
		templates = append(templates, s.Setting, s.Value)
	}
	for _, template := range templates {
		if !slices.ContainsFunc(list, func(ex example) bool {
			_, caps, _ := k.match(ex.line)
			_, ok := match.Expand(template, caps)
			return ok
		}) {
			t.Errorf("%s: no example fills %q", k.ID, template)
		}
	}
}

// A line that carries another line's anchor must be readable for that one too,
// else every healthy log would report a new form of it.
func TestExamplesAreNoNewFormOfOtherLines(t *testing.T) {
	lines := knownLines(t)
	for id, list := range examples(t) {
		for _, ex := range list {
			for _, k := range lines {
				if !strings.Contains(ex.line, k.Anchor) {
					continue
				}
				if _, _, ok := k.match(ex.line); !ok {
					t.Errorf("example of %s has the anchor of %s: %q", id, k.ID, ex.line)
				}
			}
		}
	}
}

// story is what the known lines tell of a log: milestones by name, dumps by
// their number of settings being positive, and the ids of everything that bears
// on the end.
func story(t *testing.T, lines []known, data []byte) (told []string) {
	t.Helper()
	for raw := range bytes.Lines(data) {
		line := strings.TrimSpace(string(raw))
		for _, k := range lines {
			if !strings.Contains(line, k.Anchor) {
				continue
			}
			if _, _, ok := k.match(line); !ok {
				t.Errorf("%s: new form of a known line: %s", k.ID, line)
			}
			switch k.Kind {
			case engine.Mile, engine.Ready:
				told = append(told, k.Name)
			case engine.ConfigDump, engine.Banner, engine.Wrapper, engine.Fatal, engine.Stop, engine.Exit, engine.Symptom:
				told = append(told, k.ID)
			}
		}
	}
	return slices.Compact(told)
}

func TestLogs(t *testing.T) {
	start := []string{"VLLM-LOGO-VERSION", "VLLM-ARGS", mileArchitecture, "VLLM-CONFIG-V1", mileGroups, mileLoading}
	sized := slices.Concat(start, []string{mileWeightsRead, mileLoaded, mileCompiled, mileProfiled})
	ready := slices.Concat(sized, []string{mileKVSized, mileCaptured, mileInitialised, mileHTTP, mileReady})
	tests := map[string][]string{
		"v0-healthy.log": {"VLLM-BANNER", "VLLM-ARGS-NAMESPACE", "VLLM-CONFIG-V0", mileLoading, mileLoaded, mileKVSized,
			mileCapturing, mileCaptured, mileHTTP, mileReady},
		"v1-healthy.log":         ready,
		"v1-load-failure.log":    slices.Concat(start, []string{"VLLM-CORE-START", "VLLM-CORE-SECOND", "VLLM-CORE-INIT"}),
		"v1-kv-failure.log":      slices.Concat(sized, []string{"VLLM-CORE-START", "VLLM-CORE-INIT"}),
		"v1-capture-failure.log": slices.Concat(sized, []string{mileKVSized, "VLLM-CORE-START", "VLLM-CORE-INIT"}),
		"v1-worker-failure-tp2.log": {"VLLM-BANNER", "VLLM-ARGS", "VLLM-CONFIG-V1", mileGroups, mileLoading, "VLLM-WORKER-START", "VLLM-CORE-START",
			"VLLM-WORKER-INIT", "VLLM-CORE-SECOND", "VLLM-CORE-INIT"},
		"v1-failure-after-ready.log": slices.Concat(ready, []string{"VLLM-CORE-FATAL", "VLLM-OUTPUT-HANDLER", "VLLM-CORE-DEAD", "VLLM-HTTP-500", "VLLM-EXIT-HTTP"}),
		"v1-sigterm.log":             slices.Concat(ready, []string{"VLLM-STOP-CORE", "VLLM-STOP-API", "VLLM-EXIT-CORE", "VLLM-OUTPUT-HANDLER", "VLLM-CORE-DEAD", "VLLM-EXIT-HTTP"}),
	}
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("%d logs and %d tests: %v", len(files), len(tests), err)
	}
	lines := knownLines(t)
	for name, want := range tests {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, story(t, lines, data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHealthyLogsHaveNoUnknownWarning(t *testing.T) {
	lines := knownLines(t)
	for _, name := range []string{"v0-healthy.log", "v1-healthy.log"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, "WARNING") && !strings.Contains(line, "ERROR") && !strings.Contains(line, "Warning") {
				continue
			}
			if !slices.ContainsFunc(lines, func(k known) bool { return strings.Contains(line, k.Anchor) }) {
				t.Errorf("%s: no line knows %s", name, line)
			}
		}
	}
}
