package sglang_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
	"shakedown/internal/plan/sglang"
)

// goldens is where the answers of the engines' own code lie, beside the
// repository.
const goldens = "../../../../shared/plan"

// floor is the share of cases that must be right in every setting.
const floor = 0.99

type golden struct {
	Version string
	Deps    map[string]string
	GPU     struct {
		ID, Name, SM string
		MemoryGiB    float64 `json:"memory_gib"`
		MemoryMiB    int     `json:"memory_mib"`
		Count        int
	}
	Model     string
	Argv      []string
	Env       map[string]string
	Outcome   string
	Stage     string
	Error     string
	Effective map[string]any
	Runtime   map[string]any
	EnvSet    map[string]string `json:"env_set"`
	Log       []string
	LogLevel  string   `json:"log_level"`
	LogLater  []string `json:"log_later"`
}

func (g golden) plan(t *testing.T, read func(string) *hfconfig.Model) plan.Case {
	c := plan.Case{
		Engine: "sglang", Version: g.Version, Deps: g.Deps, Env: g.Env, Model: read(g.Model),
		GPU: hardware.GPU{
			ID: g.GPU.ID, Name: g.GPU.Name, SM: g.GPU.SM, Count: g.GPU.Count,
			MemoryGiB: g.GPU.MemoryGiB, MemoryMiB: g.GPU.MemoryMiB,
		},
		Drafts: map[string]*hfconfig.Model{},
	}
	c.GPU = hardware.Like(c.GPU)
	for _, a := range g.Argv {
		if name, ok := strings.CutPrefix(a, "@models/"); ok {
			a = "/models/" + name
			c.Drafts[a] = read(name)
		}
		c.Argv = append(c.Argv, a)
	}
	return c
}

// only names the releases to score, all of them when empty.
var only = os.Getenv("SCORE")

// TestGoldens scores the resolver as score_plan.py does.
func TestGoldens(t *testing.T) {
	if _, err := os.Stat(goldens); err != nil {
		t.Skip("not run: no goldens beside the repository")
	}
	models := map[string]*hfconfig.Model{}
	read := func(name string) *hfconfig.Model {
		if models[name] == nil {
			m, err := hfconfig.Read(os.DirFS(filepath.Join(goldens, "models", name)), name)
			if err != nil {
				t.Fatal(err)
			}
			m.Path = "/models/" + name
			models[name] = m
		}
		return models[name]
	}
	for _, v := range sglang.Versions() {
		if only != "" && !strings.Contains(only, v) {
			continue
		}
		t.Run(v, func(t *testing.T) { score(t, v, read) })
	}
}

func score(t *testing.T, version string, read func(string) *hfconfig.Model) {
	f, err := os.Open(filepath.Join(goldens, "goldens", "sglang-"+version+".jsonl"))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	var n, exact, outcome, settings, lines, found int
	wrong, missed, off := map[string]int{}, map[string]int{}, []string{}
	noise := os.Getenv("NOISE") != ""
	for in.Scan() {
		var g golden
		if err := json.Unmarshal(in.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		n++
		r := sglang.Resolve(g.plan(t, read))
		bad, badSettings := compare(g, r)
		if len(bad) == 0 || bad[0] != "outcome" {
			outcome++
		}
		if len(bad) == 0 {
			exact++
		}
		if badSettings == 0 {
			settings++
		} else if len(off) < 400 {
			text := fmt.Sprint(g.GPU.ID, " ", g.Model, " tf", g.Deps["transformers"], " ", g.Argv, " ", g.Env)
			if bad[0] == "outcome" {
				have := "ok"
				if r.Refusal != nil {
					have = r.Refusal.Stage + " " + clip(r.Refusal.Message)
				}
				off = append(off, text+"\n      want "+g.Outcome+" "+g.Stage+" "+clip(g.Error)+"\n      have "+have)
			} else {
				off = append(off, text+"\n      "+strings.Join(bad, "; "))
			}
		}
		for _, b := range bad {
			k, _, _ := strings.Cut(b, ":")
			wrong[k]++
		}
		if g.Outcome != "ok" {
			continue
		}
		mine := map[string]bool{}
		for _, l := range r.Lines {
			mine[norm(l.Text)] = true
		}
		for _, l := range g.Log {
			lines++
			if mine[norm(l)] {
				found++
			} else {
				missed[l]++
			}
			delete(mine, norm(l))
		}
		if noise {
			for _, l := range g.LogLater {
				delete(mine, norm(l))
			}
			for l := range mine {
				missed["EXTRA "+l]++
			}
		}
	}
	t.Logf("%s: %d cases, exact %.1f%%, settings and outcome %.1f%%, outcome %.1f%%, lines %d/%d", version, n,
		100*float64(exact)/float64(n), 100*float64(settings)/float64(n), 100*float64(outcome)/float64(n), found, lines)
	if share := float64(exact) / float64(n); share < floor && only == "" && !launcher {
		t.Errorf("%.1f%% of the cases are right, want %.1f%%", 100*share, 100*floor)
	}
	t.Log("wrong:", ranked(wrong, 25))
	for _, l := range ranked(missed, 25) {
		t.Log("   line", l)
	}
	for _, o := range off[:min(len(off), 40)] {
		t.Log("  off", o)
	}
}

func clip(s string) string { return s[:min(len(s), 160)] }

func ranked(m map[string]int, n int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		return m[keys[i]] > m[keys[j]] || m[keys[i]] == m[keys[j]] && keys[i] < keys[j]
	})
	var out []string
	for _, k := range keys[:min(n, len(keys))] {
		out = append(out, fmt.Sprintf("%d %s", m[k], k))
	}
	return out
}

// launcher leaves out what the scheduler decides.
var launcher = os.Getenv("SCORE_LAUNCHER") != ""

var harness = regexp.MustCompile(`parallel group is not initialized|missing \d+ required positional argument`)

func compare(g golden, r plan.Result) (bad []string, settings int) {
	ok := (r.Refusal == nil) == (g.Outcome == "ok")
	if ok && r.Refusal != nil {
		ok = r.Refusal.Stage == g.Stage && start(r.Refusal.Message) == start(g.Error)
	}
	if !ok {
		return []string{"outcome"}, 1
	}
	if g.Outcome != "ok" {
		return nil, 0
	}
	for part, want := range map[string]map[string]any{"effective": g.Effective, "runtime": g.Runtime} {
		have := r.Effective
		if part == "runtime" {
			have = r.Runtime
		}
		for k, v := range want {
			if text, isText := v.(string); isText && strings.HasSuffix(k, "error") && harness.MatchString(text) {
				continue
			}
			if launcher && (part == "runtime" || k == "disable_chunked_prefix_cache" || k == "kv_cache_dtype" && have[k] == "auto") {
				continue
			}
			if !same(k, have[k], v) {
				bad = append(bad, fmt.Sprintf("%s.%s: have %v want %v", part, k, have[k], v))
				if part == "effective" {
					settings++
				}
			}
		}
	}
	sort.Strings(bad)
	return bad, settings
}

func start(s string) string { s = norm(s); return s[:min(len(s), 40)] }

var path = regexp.MustCompile(`(^|[^\w.])(?:/[\w.+-]+)+/([\w.+-]+)`)

func norm(s string) string {
	return strings.ReplaceAll(path.ReplaceAllString(s, "$1$2"), "@models/", "")
}

func same(k string, have, want any) bool {
	if strings.HasSuffix(k, ".error") {
		return (have == nil || have == "") == (want == nil || want == "")
	}
	text, _ := json.Marshal(have)
	var h any
	_ = json.Unmarshal(text, &h)
	if x, ok := h.(float64); ok {
		y, ok := want.(float64)
		return ok && math.Abs(x-y) <= 1e-9*max(1, math.Abs(y))
	}
	if x, ok := h.(string); ok {
		y, ok := want.(string)
		return ok && norm(x) == norm(y)
	}
	return reflect.DeepEqual(h, want)
}
