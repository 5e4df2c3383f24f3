package score

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
)

func TestIncidentEngine(t *testing.T) {
	for _, tc := range []struct{ engine, version, want string }{
		{"sglang", "0.5.9", "sglang@0.5.9"},
		{"sglang", "v0.5.12-cu130 image", "sglang@0.5.12"},
		{"sglang", "sgl-dev:v0.5.18-rocm720-mi30x-20260828", "sglang@0.5.18"},
		{"sglang", "main, early March 2026 (pre-0.5.10)", "sglang"},
		{"sglang (via GPUStack)", "0.5.6.post1", "sglang@0.5.6.post1"},
		{"sglang (rule applies to vllm)", "2026-04", "sglang"},
		{"vllm-ascend", "0.16.0rc2.dev236, cu130", "vllm@0.16.0rc2.dev236"},
		{"vllm", "0.8.x", "vllm"},
		{"vllm / NCCL", "NCCL 2.30.4", "vllm"},
		{"tensorrt-llm", "1.0.0rc2 (rc1 fine)", "trtllm@1.0.0rc2"},
		{"llama-box (llama.cpp)", "b5335", "llamacpp@b5335"},
		{"ktransformers", "0.3.0rc0", "sglang"},
		{"flashinfer", "0.6.12", ""},
	} {
		if got := (incident{Engine: tc.engine, Version: tc.version}).engine(); got != tc.want {
			t.Errorf("engine %q %q = %q, want %q", tc.engine, tc.version, got, tc.want)
		}
	}
}

func TestIncidentGPU(t *testing.T) {
	for gpu, want := range map[string]string{
		"8x RTX PRO 6000 (SM120), driver 580.159.03": "8x RTX PRO 6000 (SM120)",
		"8x B300 (compute capability 10.3; wrong)":   "8x B300",
		"not seen in the part read":                  "",
		"any":                                        "",
	} {
		if got := (incident{GPU: gpu}).gpu(); got != want {
			t.Errorf("gpu %q = %q, want %q", gpu, got, want)
		}
	}
}

func TestIncidentCommand(t *testing.T) {
	for _, tc := range []struct{ engine, launch, want string }{
		{"sglang", "--tp 8 --kv-cache-dtype bf16, 64+ requests", "python -m sglang.launch_server --tp 8 --kv-cache-dtype bf16"},
		{"vllm", "VLLM_X=1 --dtype half", "VLLM_X=1 vllm serve --dtype half"},
		{"vllm", "vllm serve a/b -tp 4 (or more)", "vllm serve a/b -tp 4"},
		{"vllm", `--speculative-config '{"method":"mtp","num_speculative_tokens":1}'`, `vllm serve --speculative-config '{"method":"mtp","num_speculative_tokens":1}'`},
		{"llama.cpp", "-c 4096 -fa", "llama-server -c 4096 -fa"},
		{"flashinfer", "--tp 2", ""},
		{"sglang", "defaults", ""},
		{"vllm", "TP=2, fp8", ""},
		{"vllm", "TP=2, --moe-backend x", ""},
	} {
		if got := (incident{Engine: tc.engine, Launch: tc.launch}).command(); got != tc.want {
			t.Errorf("command %q = %q, want %q", tc.launch, got, tc.want)
		}
	}
}

func TestIncidentLog(t *testing.T) {
	in := incident{Engine: "vllm", Launch: "--dtype half", Lines: []string{
		"ValueError: bad", "(no log line: only the text is wrong)", "(Worker_TP0 pid=7) hello", "(EngineCore) failed", "(title: of the issue)",
	}}
	want := "$ vllm serve --dtype half\nValueError: bad\n(Worker_TP0 pid=7) hello\n(EngineCore) failed\n"
	if got := string(in.log()); got != want {
		t.Errorf("log = %q, want %q", got, want)
	}
}

// TestIncidents runs explain on one incident that every release must name and
// on one that it cannot.
func TestIncidents(t *testing.T) {
	fsys := fstest.MapFS{
		"incidents.jsonl": {Data: []byte(`{"id":"oom","engine":"vllm","engine_version":"0.11.0","gpu":"H100","launch":"-tp 1","log_lines":["ValueError: No available memory for the cache blocks. Try increasing gpu_memory_utilization when initializing the engine."]}
{"id":"words","engine":"vllm","engine_version":"","gpu":"any","launch":"","log_lines":["(no log line)"]}
{"id":"noise","engine":"vllm","engine_version":"","gpu":"any","launch":"","log_lines":["INFO:     Application startup complete."]}
`)},
		"incident-labels.jsonl": {Data: []byte(`{"id":"oom","cause":"oom-kv-cache","second":[],"has_real_log_line":true}
{"id":"words","cause":"hang","second":[],"has_real_log_line":false}
{"id":"noise","cause":"hang","second":[],"has_real_log_line":true}
`)},
	}
	use := &Usage{hits: map[string]*Hits{}}
	s, err := Incidents(context.Background(), fsys, use)
	if err != nil {
		t.Fatal(err)
	}
	if s.All != (Rate{1, 2}) || len(s.Misses) != 1 || s.Misses[0].Name != "noise" {
		t.Errorf("All %v, Misses %v, want 1 of 2 with noise missed", s.All, s.Misses)
	}
	fsys["incident-labels.jsonl"] = &fstest.MapFile{Data: []byte("{\"id\":\"oom\"}\n")}
	if _, err := Incidents(context.Background(), fsys, use); err == nil {
		t.Error("an incident without a label is no error")
	}
}

// FuzzIncident reads fields that people wrote.
func FuzzIncident(f *testing.F) {
	f.Add("sglang (Ascend)", "sgl-dev:v0.5.18-rocm720", "8x B300 (SM103; liquid)", "TP=2, --moe-backend x (auto)", "(Worker_TP0 pid=7) ERROR")
	f.Add("vllm / NCCL", "0.24.0 (0.23.0 good)", "any", "VLLM_X=1 vllm serve a/b [-tp 2]", "(no log line)")
	f.Fuzz(func(t *testing.T, engine, version, gpu, launch, line string) {
		in := incident{Engine: engine, Version: version, GPU: gpu, Launch: launch, Lines: []string{line}}
		in.engine()
		in.gpu()
		log := string(in.log())
		if !isNote(line) && !strings.HasSuffix(log, line+"\n") {
			t.Errorf("log %q lost the line %q", log, line)
		}
	})
}
