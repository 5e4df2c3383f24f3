package sglang_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/engine/sglang"
	"shakedown/internal/enginetest"
	"shakedown/internal/fact"
)

func TestLines(t *testing.T) {
	enginetest.Check(t, &sglang.Engine, "testdata/examples.txt")
}

func TestLogs(t *testing.T) {
	started := []string{"distributed start-up begun", "distributed start-up done", "loading weights"}
	loaded := slices.Concat(started, []string{"weights loaded", "KV cache allocated", "memory pools ready"})
	captured := slices.Concat(loaded, []string{"capturing graphs", "graphs captured"})
	tests := []struct {
		file       string
		milestones []string
		contains   []string // ids among others
	}{
		{
			"healthy-2024.log",
			[]string{
				"distributed start-up begun", "loading weights", "weights loaded", "memory pools ready", "capturing graphs",
				"scheduler ready", "HTTP server up", "ready",
			},
			[]string{"SGL-CONFIG", "SGL-SERVED-GENERATE", "SGL-SERVED-CHAT", "SGL-SERVED-DECODE"},
		},
		{
			"healthy-2026-dsa-tp8.log",
			slices.Concat(captured, []string{"scheduler ready", "HTTP server up", "ready"}),
			[]string{
				"SGL-KV-DSA-001", "SGL-DSA-BACKENDS-001", "SGL-PAGE-DSA-001", "SGL-MOE-RUNNER-001", "SGL-MOE-FUSION-001",
				"SGL-KV-DTYPE", "SGL-NOISE-HEALTH-503", "SGL-STOP-SIGTERM",
			},
		},
		{
			"failed-load.log", started,
			[]string{"SGL-CONFIG-DICT", "SGL-FATAL-PROCESS", "SGL-WRAP-SIGQUIT-CHILD", "SGL-EXIT-TREE"},
		},
		{
			"failed-capture.log", slices.Concat(loaded, []string{"capturing graphs"}),
			[]string{"SGL-ATTN-DEFAULT-003", "SGL-FATAL-PROCESS", "SGL-WRAP-CAPTURE", "SGL-NOISE-ADVICE", "SGL-WRAP-CHILD-CODE"},
		},
		{
			"failed-after-ready.log",
			slices.Concat(captured, []string{"scheduler ready", "HTTP server up", "ready"}),
			[]string{"SGL-SYM-SAMPLER-ASSERT", "SGL-FATAL-PROCESS", "SGL-NOISE-EXTENSIONS", "SGL-WRAP-SIGQUIT"},
		},
		{
			"pd-decode.log",
			slices.Concat(loaded, []string{"scheduler ready", "HTTP server up", "PD warm-up", "ready"}),
			[]string{"SGL-RADIX-PD-002", "SGL-SYM-PD-TRANSFER", "SGL-SYM-PD-PREFILL-LOST"},
		},
		{
			"multinode-node1.log", slices.Concat(captured, []string{"secondary node ready"}),
			[]string{"SGL-COMM-CUSTOM-002", "SGL-GRAPH-PREFILL-004", "SGL-WRAP-TERMINATED"},
		},
		{
			"router.log", []string{"router started", "ready"},
			[]string{"SGL-ROUTER-WORKERS", "SGL-ROUTER-NO-PAIR"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			ids := enginetest.Replay(t, &sglang.Engine, "testdata/"+tt.file)
			if diff := cmp.Diff(tt.milestones, enginetest.Milestones(&sglang.Engine, ids)); diff != "" {
				t.Errorf("milestones (-want +got):\n%s", diff)
			}
			for _, id := range tt.contains {
				if !slices.Contains(ids, id) {
					t.Errorf("%s was not found", id)
				}
			}
		})
	}
}

// A dump is full of words that are events elsewhere: it must be nothing else.
func TestDumpIsNoEvent(t *testing.T) {
	for _, id := range enginetest.Replay(t, &sglang.Engine, "testdata/dump.log") {
		if id != "SGL-CONFIG" && id != "SGL-CONFIG-DICT" {
			t.Errorf("%s was found in a dump", id)
		}
	}
}

func TestParseDump(t *testing.T) {
	tests := []struct {
		name, text string
		want       [][2]string // names and values; nil: no dump
	}{
		{
			"dataclass", `server_args=ServerArgs(model_path='acme/Tiny', tp_size=2, dtype='auto', quantization=None, trust_remote_code=True)`,
			[][2]string{{"model_path", "acme/Tiny"}, {"tp_size", "2"}, {"dtype", "auto"}, {"quantization", "None"}, {"trust_remote_code", "True"}},
		},
		{
			"dict", `server_args={'model_path': '/m/tiny', 'tp_size': 2, 'dist_init_addr': '10.0.0.5:20000'}`,
			[][2]string{{"model_path", "/m/tiny"}, {"tp_size", "2"}, {"dist_init_addr", "10.0.0.5:20000"}},
		},
		{
			"nested", `server_args=ServerArgs(cuda_graph_bs=[1, 2, 4], lora_paths={'a': ('x, y', None)}, override="{\"k\": 1}", mode=<Mode.FULL: 0>, page_size=64)`,
			[][2]string{{"cuda_graph_bs", "[1, 2, 4]"}, {"lora_paths", "{'a': ('x, y', None)}"}, {"override", `{"k": 1}`}, {"mode", "<Mode.FULL: 0>"}, {"page_size", "64"}},
		},
		{
			"quotes and escapes", `server_args=ServerArgs(a="it's", b='say \'hi\', then \\n', c='', d='x' + 'y')`,
			[][2]string{{"a", "it's"}, {"b", `say 'hi', then \n`}, {"c", ""}, {"d", "'x' + 'y'"}},
		},
		{
			"before and behind", `INFO engine.py:311: server_args=ServerArgs(a=1) and (b=2, c=3)`,
			[][2]string{{"a", "1"}},
		},
		{"hard wrap between settings", "server_args=ServerArgs(a=1,\n b=2)", [][2]string{{"a", "1"}, {"b", "2"}}},
		{"cut in a value", `server_args=ServerArgs(a=1, b='unfini`, [][2]string{{"a", "1"}}},
		{"cut in a list", `server_args={'a': 1, 'b': [1, 2`, [][2]string{{"a", "1"}}},
		{"wrong bracket", `server_args=ServerArgs(a=1, b=2}`, [][2]string{{"a", "1"}}},
		{"no settings", `server_args=ServerArgs()`, nil},
		{"variable of that name", `    server_args=server_args,`, nil},
		{"other text", `Load weight begin. avail mem=1.00 GB`, nil},
		{"empty", ``, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := sglang.Engine.ParseDump(tt.text)
			if ok != (tt.want != nil) || ok && !d.Effective {
				t.Fatalf("ok = %v, effective = %v", ok, d.Effective)
			}
			var got [][2]string
			for _, s := range d.Settings {
				got = append(got, [2]string{s.Name, s.Value})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseDump(f *testing.F) {
	f.Add(`server_args=ServerArgs(model_path='acme/Tiny', cuda_graph_bs=[1, 2], quantization=None, port=30000)`)
	f.Add(`server_args={'model_path': '/m/tiny', 'cuda_graph_config': {'decode': {'backend': 'full'}}, 'tp_size': 2}`)
	f.Add(`server_args=ServerArgs(a="it's \"", b='\\', c=(1, [2, {3: ')'}])`)
	f.Add(`server_args={'a': '`)
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := sglang.Engine.ParseDump(text)
		if ok != (len(d.Settings) > 0) {
			t.Fatalf("ok = %v with %d settings", ok, len(d.Settings))
		}
		for _, s := range d.Settings {
			if s.Name == "" || len(s.Name)+len(s.Value) > len(text) {
				t.Fatalf("setting %q = %q", s.Name, s.Value)
			}
		}
	})
}

// The ledger hides settings and keeps facts of some: a fact needs a name that a
// dump can have.
func TestFactSettings(t *testing.T) {
	d, _ := sglang.Engine.ParseDump(`server_args=ServerArgs(model_path='m', nnodes=2, node_rank=1, dist_init_addr='h:1', disaggregation_mode='decode')`)
	got := make(map[fact.Key]string)
	for _, s := range d.Settings {
		got[sglang.Engine.Facts[s.Name]] = s.Value
	}
	want := map[fact.Key]string{fact.Model: "m", fact.Nodes: "2", fact.NodeRank: "1", fact.MasterAddr: "h:1", fact.Role: "decode"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}
