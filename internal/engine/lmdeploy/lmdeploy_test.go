package lmdeploy_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/engine"
	"shakedown/internal/engine/lmdeploy"
	"shakedown/internal/enginetest"
)

func TestLines(t *testing.T) {
	enginetest.Check(t, &lmdeploy.Engine, filepath.Join("testdata", "examples.txt"))
}

func TestLogs(t *testing.T) {
	tests := []struct {
		file       string
		milestones []string
		has        []string // ids that must be in it
	}{
		{"healthy-turbomind.log",
			[]string{"loading weights", "KV cache", "warm-up", "warm-up done", "HTTP starting", "serving HTTP"},
			[]string{"LMD-BACKEND", "LMD-CONFIG", "LMD-SERVED"}},
		{"rank-failed-ascend.log",
			[]string{"loading weights", "HTTP starting", "serving HTTP"},
			[]string{"LMD-SERVED", "LMD-FATAL-RANK"}},
		{"oom-turbomind.log", nil, []string{"LMD-TURBOMIND-CONFIG", "LMD-FATAL-CUDA"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			ids := enginetest.Replay(t, &lmdeploy.Engine, filepath.Join("testdata", tt.file))
			if diff := cmp.Diff(tt.milestones, enginetest.Milestones(&lmdeploy.Engine, ids)); diff != "" {
				t.Errorf("milestones (-want +got)\n%s", diff)
			}
			for _, id := range tt.has {
				if !slices.Contains(ids, id) {
					t.Errorf("no %s in %q", id, ids)
				}
			}
		})
	}
}

const dump = "updated backend_config=PytorchEngineConfig(dtype='auto', tp=2, session_len=None, devices=[0, 1], " +
	"hf_overrides={'rope': (1, 2)}, role=<EngineRole.Hybrid: 1>, device_type='ascend')"

func TestParseDump(t *testing.T) {
	tests := []struct {
		name, text string
		want       []engine.Setting
	}{
		{"whole", dump, []engine.Setting{
			{Name: "dtype", Value: "auto"},
			{Name: "tp", Value: "2"},
			{Name: "session_len", Value: "None"},
			{Name: "devices", Value: "[0, 1]"},
			{Name: "hf_overrides", Value: "{'rope': (1, 2)}"},
			{Name: "role", Value: "<EngineRole.Hybrid: 1>"},
			{Name: "device_type", Value: "ascend"},
		}},
		{"cut", "updated backend_config=TurbomindEngineConfig(dtype='auto', tp=2, devices=[0,", []engine.Setting{
			{Name: "dtype", Value: "auto"},
			{Name: "tp", Value: "2"},
		}},
		{"no class", "updated backend_config=None", nil},
		{"another line", "input backend=turbomind", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := lmdeploy.Engine.ParseDump(tt.text)
			if ok != (tt.want != nil) {
				t.Fatalf("ok is %v", ok)
			}
			if len(tt.want) == 0 {
				return
			}
			if diff := cmp.Diff(tt.want, d.Settings); diff != "" {
				t.Errorf("settings (-want +got)\n%s", diff)
			}
			if !d.Effective {
				t.Error("the dump is printed after resolution, so it is effective")
			}
		})
	}
}

func FuzzParseDump(f *testing.F) {
	f.Add(dump)
	f.Add(dump[:120])
	f.Add("updated backend_config=((((")
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := lmdeploy.Engine.ParseDump(text)
		if ok != (len(d.Settings) > 0) {
			t.Errorf("ok is %v with %d settings", ok, len(d.Settings))
		}
	})
}
