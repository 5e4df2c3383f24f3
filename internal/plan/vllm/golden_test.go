package vllm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// shared is the folder with what the releases' own code decided; it is not
// part of the repository.
const shared = "../../../../shared/plan"

// golden is one case of shared/plan/goldens.
type golden struct {
	Version string            `json:"version"`
	Deps    map[string]string `json:"deps"`
	GPU     struct {
		ID        string  `json:"id"`
		Name      string  `json:"name"`
		SM        string  `json:"sm"`
		MemoryGiB float64 `json:"memory_gib"`
		MemoryMiB int     `json:"memory_mib"`
		Count     int     `json:"count"`
	} `json:"gpu"`
	Model     string            `json:"model"`
	Argv      []string          `json:"argv"`
	Env       map[string]string `json:"env"`
	Outcome   string            `json:"outcome"`
	Stage     string            `json:"stage"`
	Error     string            `json:"error"`
	Effective map[string]any    `json:"effective"`
	Runtime   map[string]any    `json:"runtime"`
	Log       []string          `json:"log"`
}

func (g golden) question(t *testing.T) plan.Case {
	t.Helper()
	return plan.Case{
		Engine: "vllm", Version: g.Version, Deps: g.Deps, Argv: g.Argv, Env: g.Env,
		GPU:   hardware.GPU{ID: g.GPU.ID, Name: g.GPU.Name, SM: g.GPU.SM, MemoryGiB: g.GPU.MemoryGiB, MemoryMiB: g.GPU.MemoryMiB, Count: g.GPU.Count},
		Model: checkpoint(t, g.Model),
	}
}

// folder is where the launches have their models.
const folder = "/models/"

var checkpoints = map[string]*hfconfig.Model{}

func checkpoint(t *testing.T, name string) *hfconfig.Model {
	t.Helper()
	if m := checkpoints[name]; m != nil {
		return m
	}
	name = filepath.Base(name)
	m, err := hfconfig.Read(os.DirFS(filepath.Join(shared, "models", name)), name)
	if err != nil {
		t.Fatal(err)
	}
	m.Path = folder + name
	checkpoints[name] = m
	return m
}

// differences are the settings and later decisions that do not agree.
func (g golden) differences(got plan.Result) []string {
	var out []string
	for k, want := range g.Effective {
		if !same(got.Effective[k], want) {
			out = append(out, fmt.Sprintf("%s = %v, want %v", k, got.Effective[k], want))
		}
	}
	for k, want := range g.Runtime {
		if strings.HasSuffix(k, ".error") {
			if text, _ := want.(string); madeBy.MatchString(text) {
				continue
			}
		}
		if !same(got.Runtime[k], want) {
			out = append(out, fmt.Sprintf("%s = %v, want %v", k, got.Runtime[k], want))
		}
	}
	slices.Sort(out)
	return out
}

// madeBy are exceptions of the environment in which the cases were made.
var madeBy = regexp.MustCompile(`parallel group is not initialized|missing \d+ required positional argument`)

func same(got, want any) bool {
	g, err := json.Marshal(got)
	if err != nil {
		return false
	}
	var plain any
	if json.Unmarshal(g, &plain) != nil {
		return false
	}
	if x, ok := plain.(float64); ok {
		y, ok := want.(float64)
		return ok && math.Abs(x-y) < 1e-9
	}
	w, _ := json.Marshal(want)
	p, _ := json.Marshal(plain)
	return string(p) == string(w)
}

// TestGoldens compares the resolver with what the releases' own code decided.
// Every file must reach the shares that the project aims at.
func TestGoldens(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared, "goldens", "vllm-*.jsonl"))
	if len(files) == 0 {
		t.Skip("not run: " + shared + " is not here")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { scoreFile(t, file) })
	}
}

// Shares of cases that must agree in everything, and of lines that must be
// printed.
const wantShare, wantLines = 0.98, 0.95

func scoreFile(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases, exact, lines, found := 0, 0, 0, 0
	missed := map[string]int{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var g golden
		if err := json.Unmarshal(sc.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		cases++
		got := Resolve(g.question(t))
		wrong := outcome(g, got)
		if len(wrong) == 0 && g.Outcome == "ok" {
			wrong = g.differences(got)
		}
		if len(wrong) == 0 {
			exact++
		} else {
			t.Logf("%s %s %v %v: %s", g.GPU.ID, g.Model, g.Argv, g.Env, strings.Join(wrong, "; "))
		}
		for _, line := range g.Log {
			lines++
			if slices.ContainsFunc(got.Lines, func(l plan.Line) bool { return strings.ReplaceAll(l.Text, folder, "") == line }) {
				found++
			} else {
				missed[line]++
			}
		}
	}
	for line, n := range missed {
		t.Logf("not printed %d times: %s", n, line)
	}
	t.Logf("%d cases, %d agree (%.1f %%), %d of %d lines", cases, exact, 100*float64(exact)/float64(cases), found, lines)
	if float64(exact) < wantShare*float64(cases) {
		t.Errorf("%d of %d cases agree, want %.0f %%", exact, cases, 100*wantShare)
	}
	if float64(found) < wantLines*float64(lines) {
		t.Errorf("%d of %d lines are printed, want %.0f %%", found, lines, 100*wantLines)
	}
}

func outcome(g golden, got plan.Result) []string {
	stage, message := "", ""
	if got.Refusal != nil {
		stage, message = got.Refusal.Stage, got.Refusal.Message
	}
	switch {
	case stage != g.Stage:
		return []string{fmt.Sprintf("refused in %q (%s), want %q (%s)", stage, message, g.Stage, g.Error)}
	case message != g.Error:
		return []string{fmt.Sprintf("message %q, want %q", message, g.Error)}
	}
	return nil
}
