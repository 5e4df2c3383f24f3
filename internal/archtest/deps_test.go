package archtest

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// maxDirect bounds the modules that go.mod requires directly: each is code that
// somebody must trust, and a diagnosis tool runs on machines that matter.
const maxDirect = 15

// TestDependencies compares go.mod with the reviewed list, so that a new module
// shows up in a review as one line with its reason.
func TestDependencies(t *testing.T) {
	listed := map[string]bool{}
	for _, line := range readLines(t, "deps.txt") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if strings.TrimSpace(reason) == "" {
			t.Errorf("deps.txt: %s has no reason", name)
		}
		listed[name] = true
	}
	required := directRequires(readLines(t, root+"/go.mod"))
	for _, name := range required {
		if !listed[name] {
			t.Errorf("go.mod requires %s: list it with its reason in internal/archtest/deps.txt and in RATIONALE.md, or do without it", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("deps.txt lists %s, which go.mod does not require: remove the line", name)
	}
	if len(required) >= maxDirect {
		t.Errorf("%d direct dependencies, fewer than %d are allowed", len(required), maxDirect)
	}
	rationale, err := os.ReadFile(root + "/RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range required {
		if !strings.Contains(string(rationale), "`"+name+"`") {
			t.Errorf("RATIONALE.md does not say why %s is used", name)
		}
	}
}

// directRequires reads the modules of go.mod that are not marked indirect.
func directRequires(lines []string) []string {
	var names []string
	block := false
	for _, line := range lines {
		line = strings.TrimSpace(line)
		rest, single := strings.CutPrefix(line, "require ")
		switch {
		case line == "require (":
			block = true
			continue
		case line == ")":
			block = false
		case single:
		case block:
			rest = line
		default:
			continue
		}
		if fields := strings.Fields(rest); len(fields) >= 2 && !strings.HasSuffix(rest, "// indirect") {
			names = append(names, fields[0])
		}
	}
	return names
}

func TestDirectRequires(t *testing.T) {
	got := directRequires([]string{
		"module m", "", "go 1.26", "require a.b/one v1", "require a.b/two v2 // indirect", "require (", "\tc.d/three v3", "\te.f/four v4 // indirect", ")", "exclude g.h/five v5",
	})
	if want := "a.b/one c.d/three"; strings.Join(got, " ") != want {
		t.Errorf("directRequires = %v, want %s", got, want)
	}
}

func readLines(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		lines = append(lines, sc.Text())
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}
