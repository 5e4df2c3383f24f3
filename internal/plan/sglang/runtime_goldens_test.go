package sglang

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shakedown/internal/flags"
	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// TestSchedulerGoldens scores what the scheduler decides by itself: the settings
// that it begins with are those of the golden answer.
func TestSchedulerGoldens(t *testing.T) {
	const folder = "../../../../shared/plan"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("not run: no goldens beside the repository")
	}
	models := map[string]*hfconfig.Model{}
	for _, v := range Versions() {
		if only := os.Getenv("SCORE"); only != "" && !strings.Contains(only, v) {
			continue
		}
		t.Run(v, func(t *testing.T) {
			f, err := os.Open(filepath.Join(folder, "goldens", "sglang-"+v+".jsonl"))
			if err != nil {
				t.Skip(err)
			}
			defer f.Close()
			in := bufio.NewScanner(f)
			in.Buffer(nil, 1<<20)
			cases, exact := 0, 0
			for in.Scan() {
				var g schedulerGolden
				if err := json.Unmarshal(in.Bytes(), &g); err != nil {
					t.Fatal(err)
				}
				if g.Outcome != "ok" && g.Stage != plan.StageModelConfig && g.Stage != plan.StageModelRunner {
					continue
				}
				if models[g.Model] == nil {
					m, err := hfconfig.Read(os.DirFS(filepath.Join(folder, "models", g.Model)), g.Model)
					if err != nil {
						t.Fatal(err)
					}
					models[g.Model] = m
				}
				cases++
				if bad := g.score(v, models[g.Model]); bad == "" {
					exact++
				} else if cases-exact <= 30 {
					t.Log(g.GPU.ID, g.Model, g.Argv, bad)
				}
			}
			t.Logf("%s: %d of %d exact", v, exact, cases)
			if exact*1000 < cases*995 {
				t.Errorf("%s: %d of %d cases exact, want 99.5 %%", v, exact, cases)
			}
		})
	}
}

type schedulerGolden struct {
	Deps map[string]string
	GPU  struct {
		ID, SM    string
		MemoryGiB float64 `json:"memory_gib"`
		MemoryMiB int     `json:"memory_mib"`
		Count     int
	}
	Model     string
	Argv      []string
	Env       map[string]string
	Outcome   string
	Stage     string
	Error     string
	Effective map[string]any
	Runtime   map[string]any
	LogLater  []string `json:"log_later"`
}

// score returns what is wrong, or nothing.
func (g schedulerGolden) score(version string, model *hfconfig.Model) string {
	table, _ := flags.Lookup("sglang", version)
	parsed, _ := plan.Argparse(table, g.Argv, "--model-path")
	parsed.Values["model_path"] = model.Path
	for k, v := range g.Effective {
		if x, ok := v.(float64); ok && x == math.Trunc(x) {
			v = int(x)
		}
		parsed.Values[k] = v
	}
	gpu, _ := deviceOf(plan.Case{GPU: hardware.GPU{SM: g.GPU.SM, Count: g.GPU.Count, MemoryGiB: g.GPU.MemoryGiB, MemoryMiB: g.GPU.MemoryMiB}})
	s := &state{Settings: plan.NewSettings(parsed, g.Env), r: releaseOf(version), gpu: gpu, deps: g.Deps, model: model, later: map[string]any{}}
	refusal := s.scheduler()
	if g.Outcome != "ok" {
		if refusal == nil || refusal.Stage != g.Stage || refusal.Message != g.Error {
			return "want " + g.Error
		}
		return ""
	}
	if refusal != nil {
		return refusal.Message
	}
	var bad []string
	for k, want := range g.Runtime {
		have := s.later[k]
		if strings.HasSuffix(k, ".error") {
			text, _ := want.(string)
			if strings.Contains(text, "parallel group is not initialized") || strings.Contains(text, "missing 1 required positional") {
				continue
			}
			if have == want || have != nil {
				continue
			}
		}
		if n, ok := have.(int); ok {
			have = float64(n)
		}
		if have != want {
			bad = append(bad, k+": have "+text(have)+" want "+text(want))
		}
	}
	mine := map[string]bool{}
	for _, l := range s.Lines {
		mine[l.Text] = true
	}
	for _, l := range g.LogLater {
		if !mine[l] && !attentionLine(l) {
			bad = append(bad, "line "+l)
		}
	}
	return strings.Join(bad, "; ")
}

// attentionLine: up to 0.5.2 the scheduler chooses the attention backend, which
// is settled already when it begins with the golden answer.
func attentionLine(l string) bool {
	return strings.HasPrefix(l, "Attention backend not") || strings.HasPrefix(l, "FlashAttention3 only") || strings.HasPrefix(l, "MLA optimization")
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
