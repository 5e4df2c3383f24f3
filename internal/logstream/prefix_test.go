package logstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func rank(set func(*Rank)) Rank {
	r := NoRank
	set(&r)
	return r
}

func TestParsePrefix(t *testing.T) {
	tp := func(n int) Rank { return rank(func(r *Rank) { r.TP = n }) }
	global := func(n int) Rank { return rank(func(r *Rank) { r.Global = n }) }
	tests := []struct {
		line string
		want Prefix // Time and Len are compared by the next two fields
		time string
		text string
	}{
		// SGLang
		{"[2026-06-07 11:58:23] The server is ready", Prefix{Rank: NoRank}, "2026-06-07 11:58:23", "The server is ready"},
		{"[2026-02-26 06:25:15 TP4] Foo", Prefix{Rank: tp(4)}, "2026-02-26 06:25:15", "Foo"},
		{"[2026-02-26 06:25:15 PP1 TP3]   indented", Prefix{Rank: rank(func(r *Rank) { r.PP, r.TP = 1, 3 })}, "2026-02-26 06:25:15", "  indented"},
		{"[2026-02-20 11:13:52 DP0 TP1 EP1] x", Prefix{Rank: rank(func(r *Rank) { r.DP, r.TP, r.EP = 0, 1, 1 })}, "2026-02-20 11:13:52", "x"},
		{"[2026-02-20 11:13:52 ATTN_CP2 TP1] x", Prefix{Rank: tp(1)}, "2026-02-20 11:13:52", "x"},
		{"[2026-03-25 11:06:20] INFO server_args.py:1835: Attention", Prefix{Rank: NoRank, Level: Info, Code: "server_args.py:1835"}, "2026-03-25 11:06:20", "Attention"},
		{`[2026-03-25 11:06:20] INFO:     127.0.0.1:1 - "GET /x HTTP/1.1" 200 OK`, Prefix{Rank: NoRank, Level: Info}, "2026-03-25 11:06:20", `127.0.0.1:1 - "GET /x HTTP/1.1" 200 OK`},
		{"[gpu_id=1] Init nccl begin.", Prefix{Rank: tp(1)}, "", "Init nccl begin."},
		{"[gpu=3] Init nccl begin.", Prefix{Rank: tp(3)}, "", "Init nccl begin."},
		{"[aiter] import", Prefix{Rank: NoRank}, "", "[aiter] import"},
		{"[2026-02-26 06:25:15", Prefix{Rank: NoRank}, "", "[2026-02-26 06:25:15"},
		{"[2026-13-26 06:25:15] x", Prefix{Rank: NoRank}, "", "[2026-13-26 06:25:15] x"},
		{"[2026-02-26 06:25:15 foo] x", Prefix{Rank: NoRank}, "", "[2026-02-26 06:25:15 foo] x"},
		// vLLM
		{"INFO 11-11 09:05:52 api_server.py:528] version", Prefix{Rank: NoRank, Level: Info, Code: "api_server.py:528"}, "11-11 09:05:52", "version"},
		{"ERROR 02-04 23:21:45 core.py:210]   File", Prefix{Rank: NoRank, Level: Error, Code: "core.py:210"}, "02-04 23:21:45", "  File"},
		{"INFO 04-16 10:31:19 [kv_cache_utils.py:634] size", Prefix{Rank: NoRank, Level: Info, Code: "kv_cache_utils.py:634"}, "04-16 10:31:19", "size"},
		{"DEBUG 02-29 10:31:19 [v1/engine/core.py:6] x", Prefix{Rank: NoRank, Level: Debug, Code: "v1/engine/core.py:6"}, "02-29 10:31:19", "x"},
		{"ERROR 04-16 10:31:19 [core.py:718]", Prefix{Rank: NoRank, Level: Error, Code: "core.py:718"}, "04-16 10:31:19", ""},
		{"ERROR [core.py:1330] failed", Prefix{Rank: NoRank, Level: Error, Code: "core.py:1330"}, "", "failed"},
		{"INFO  [gpu_worker.py:642]  Available", Prefix{Rank: NoRank, Level: Info, Code: "gpu_worker.py:642"}, "", " Available"},
		{"ERROR 04-26 01:59:07 ", Prefix{Rank: NoRank, Level: Error}, "04-26 01:59:07", ""},
		{"(VllmWorkerProcess pid=67) INFO 11-05 03:21:23 selector.py:116] x", Prefix{Rank: NoRank, Level: Info, Tag: "VllmWorkerProcess", PID: 67, Code: "selector.py:116"}, "11-05 03:21:23", "x"},
		{"(VllmWorker rank=1 pid=213) ERROR 07-09 00:57:28 [multiproc_executor.py:487] x", Prefix{Rank: global(1), Level: Error, Tag: "VllmWorker", PID: 213, Code: "multiproc_executor.py:487"}, "07-09 00:57:28", "x"},
		{"(VllmWorker TP2 pid=213) x", Prefix{Rank: tp(2), Tag: "VllmWorker", PID: 213}, "", "x"},
		{"(VllmWorker-1 pid=9) x", Prefix{Rank: global(1), Tag: "VllmWorker-1", PID: 9}, "", "x"},
		{"(EngineCore_DP0 pid=1) ERROR 09-30 18:29:03 [core.py:718] x", Prefix{Rank: rank(func(r *Rank) { r.DP = 0 }), Level: Error, Tag: "EngineCore_DP0", PID: 1, Code: "core.py:718"}, "09-30 18:29:03", "x"},
		{"(EngineCore_1 pid=1) x", Prefix{Rank: rank(func(r *Rank) { r.DP = 1 }), Tag: "EngineCore_1", PID: 1}, "", "x"},
		{"(EngineCore pid=7)   File \"x\"", Prefix{Rank: NoRank, Tag: "EngineCore", PID: 7}, "", "  File \"x\""},
		{"(EngineCore) RuntimeError: x", Prefix{Rank: NoRank, Tag: "EngineCore"}, "", "RuntimeError: x"},
		{"(EngineCore_DP0) INFO Loading", Prefix{Rank: rank(func(r *Rank) { r.DP = 0 }), Tag: "EngineCore_DP0", Level: Info}, "", "Loading"},
		{"(Worker pid=8) (Worker_PP1_TP3 pid=9) WARNING 03-05 09:56:09 [m.py:814] x", Prefix{Rank: rank(func(r *Rank) { r.PP, r.TP = 1, 3 }), Level: Warning, Tag: "Worker_PP1_TP3", PID: 9, Code: "m.py:814"}, "03-05 09:56:09", "x"},
		{"(Worker_TP0_DCP0_EP2 pid=9) x", Prefix{Rank: rank(func(r *Rank) { r.TP, r.EP = 0, 2 }), Tag: "Worker_TP0_DCP0_EP2", PID: 9}, "", "x"},
		{"(APIServer pid=1) INFO:     Application startup complete.", Prefix{Rank: NoRank, Level: Info, Tag: "APIServer", PID: 1}, "", "Application startup complete."},
		{"(found at https://example.com/a) x", Prefix{Rank: NoRank}, "", "(found at https://example.com/a) x"},
		// Ray
		{"(RayWorkerWrapper pid=336, ip=10.99.4.1) free(): double free", Prefix{Rank: NoRank, Tag: "RayWorkerWrapper", PID: 336, IP: "10.99.4.1"}, "", "free(): double free"},
		{"(pid=334, ip=10.0.0.2) loading [repeated 7x across cluster] (Ray deduplicates", Prefix{Rank: NoRank, PID: 334, IP: "10.0.0.2", Repeated: 7}, "", "loading [repeated 7x across cluster] (Ray deduplicates"},
		{"(RayWorkerWrapper pid=8) [W416 10:28:00.80983 socket.cpp:204] [c10d] no name", Prefix{Rank: NoRank, Level: Warning, Tag: "RayWorkerWrapper", PID: 8, Code: "socket.cpp:204"}, "04-16 10:28:00", "[c10d] no name"},
		{"2025-04-16 10:35:25,967 INFO worker.py:1841 -- Connected", Prefix{Rank: NoRank, Level: Info, Code: "worker.py:1841"}, "2025-04-16 10:35:25", "Connected"},
		{"2025-04-16 10:35:25,967\tINFO worker.py:1841 -- Connected", Prefix{Rank: NoRank, Level: Info, Code: "worker.py:1841"}, "2025-04-16 10:35:25", "Connected"},
		{"[2024-11-11 09:36:27,195 E 908 1048] logging.cc:440: *** SIGSEGV", Prefix{Rank: NoRank, Level: Error, PID: 908, Code: "logging.cc:440"}, "2024-11-11 09:36:27", "*** SIGSEGV"},
		// uvicorn and Python
		{"INFO:     Application startup complete.", Prefix{Rank: NoRank, Level: Info}, "", "Application startup complete."},
		{"ERROR:    Exception in ASGI application", Prefix{Rank: NoRank, Level: Error}, "", "Exception in ASGI application"},
		{"INFO:aiter:import [module]", Prefix{Rank: NoRank, Level: Info}, "", "import [module]"},
		{"2024-10-21 10:42:00,218 - lmdeploy - ERROR - model_agent.py:489 - Rank[2] failed.", Prefix{Rank: NoRank, Level: Error, Code: "model_agent.py:489"}, "2024-10-21 10:42:00", "Rank[2] failed."},
		{"2026-01-02 10:42:00,218 - CUTE_DSL - WARNING - [handle] x", Prefix{Rank: NoRank, Level: Warning}, "2026-01-02 10:42:00", "[handle] x"},
		{"2026-01-02 10:42:00,218 - INFO - x", Prefix{Rank: NoRank, Level: Info}, "2026-01-02 10:42:00", "x"},
		{"2026-01-02T10:42:00.218Z  INFO router: x", Prefix{Rank: NoRank, Level: Info}, "2026-01-02 10:42:00", "router: x"},
		{"2026-01-02T10:42:00+02:00 x", Prefix{Rank: NoRank}, "2026-01-02 08:42:00", "x"},
		{"2026-01-02 10:42:00x", Prefix{Rank: NoRank}, "", "2026-01-02 10:42:00x"},
		// glog, torch, TensorFlow
		{"E0227 14:34:03.337682 3833148 rdma_context.cpp:265] Failed", Prefix{Rank: NoRank, Level: Error, PID: 3833148, Code: "rdma_context.cpp:265"}, "02-27 14:34:03", "Failed"},
		{"W0417 08:21:43.803000 1 torch/utils/cpp_extension.py:2422] x", Prefix{Rank: NoRank, Level: Warning, PID: 1, Code: "torch/utils/cpp_extension.py:2422"}, "04-17 08:21:43", "x"},
		{"E0000 00:00:1754600272.146783   10516 cuda_dnn.cc:8579] Unable", Prefix{Rank: NoRank, Level: Error, PID: 10516, Code: "cuda_dnn.cc:8579"}, "2025-08-07 20:57:52", "Unable"},
		{"[rank1]:[E129 08:52:51.685329145 ProcessGroupNCCL.cpp:1595] x", Prefix{Rank: global(1), Level: Error, Code: "ProcessGroupNCCL.cpp:1595"}, "01-29 08:52:51", "x"},
		{"[rank0]:[W1231 09:56:53.59 compiler_depend.ts:198] x", Prefix{Rank: global(0), Level: Warning, Code: "compiler_depend.ts:198"}, "12-31 09:56:53", "x"},
		{"[rank9]:[W ProcessGroupGloo.cpp:721] x", Prefix{Rank: global(9), Level: Warning, Code: "ProcessGroupGloo.cpp:721"}, "", "x"},
		{"[rank0]:E0731 16:03:52.115000 116603 site-packages/torch/g.py:539] [1/0] x", Prefix{Rank: global(0), Level: Error, PID: 116603, Code: "site-packages/torch/g.py:539"}, "07-31 16:03:52", "x"},
		{"V0731 16:03:52.115000 6 torch/g.py:539] [1/0]   File", Prefix{Rank: NoRank, Level: Debug, PID: 6, Code: "torch/g.py:539"}, "07-31 16:03:52", "  File"},
		{"[rank0]: Traceback", Prefix{Rank: global(0)}, "", "Traceback"},
		{"[rank0]:     raise e", Prefix{Rank: global(0)}, "", "    raise e"},
		{"2024-10-22 06:31:31.858362: I tensorflow/core/util/port.cc:153] oneDNN", Prefix{Rank: NoRank, Level: Info, Code: "tensorflow/core/util/port.cc:153"}, "2024-10-22 06:31:31", "oneDNN"},
		// NCCL, UCX, MPI
		{"node1:908:1048 [0] misc/socket.cc:484 NCCL WARN failed", Prefix{Rank: NoRank, Level: Warning, PID: 908, Code: "misc/socket.cc:484"}, "", "NCCL WARN failed"},
		{"a46f6c76528f:27:54 [3] NCCL INFO x", Prefix{Rank: NoRank, Level: Info, PID: 27}, "", "NCCL INFO x"},
		{"[2026-02-25 16:33:59] host-a:27:54 [3] NCCL INFO x", Prefix{Rank: NoRank, Level: Info, PID: 27}, "2026-02-25 16:33:59", "NCCL INFO x"},
		{"[1765066816.574825] [d0c32c26d329:331  :0]     ucp_context.c:2339 UCX  WARN x", Prefix{Rank: NoRank, Level: Warning, PID: 331, Code: "ucp_context.c:2339"}, "2025-12-07 00:20:16", "UCX  WARN x"},
		{"[67d371949311:1722 :0:1777] Caught signal 11", Prefix{Rank: NoRank, PID: 1722}, "", "Caught signal 11"},
		{"[67d371949311:01722] Signal: Segmentation fault (11)", Prefix{Rank: NoRank, PID: 1722}, "", "Signal: Segmentation fault (11)"},
		{"[1,3]<stderr>:[TensorRT-LLM][ERROR] x", Prefix{Rank: global(3), Level: Error}, "", "x"},
		{"[core.py:718] x", Prefix{Rank: NoRank}, "", "[core.py:718] x"},
		// llama.cpp
		{"0.00.508.159 I srv    load_model: loading", Prefix{Rank: NoRank, Level: Info}, "+0.5s", "srv    load_model: loading"},
		{"1148.24.944.587 W srv update_slots: x", Prefix{Rank: NoRank, Level: Warning}, "+68904.9s", "srv update_slots: x"},
		{"srv    load_model: loading", Prefix{Rank: NoRank}, "", "srv    load_model: loading"},
		{"0.9.1 is out", Prefix{Rank: NoRank}, "", "0.9.1 is out"},
		// TensorRT-LLM, LMDeploy
		{"[04/17/2026-08:21:45] [TRT-LLM] [I] Set", Prefix{Rank: NoRank, Level: Info}, "2026-04-17 08:21:45", "Set"},
		{"[04/17/2026-08:21:45] [TRT-LLM] [RANK 1] [E] Failed", Prefix{Rank: global(1), Level: Error}, "2026-04-17 08:21:45", "Failed"},
		{"[TensorRT-LLM][ERROR] Assertion failed", Prefix{Rank: NoRank, Level: Error}, "", "Assertion failed"},
		{"[TensorRT-LLM] TensorRT LLM version: 1.1.0", Prefix{Rank: NoRank}, "", "[TensorRT-LLM] TensorRT LLM version: 1.1.0"},
		{"[TM][WARNING] [TM] x", Prefix{Rank: NoRank, Level: Warning}, "", "[TM] x"},
		// Ascend
		{"[ERROR] 2026-06-09-03:35:23 (PID:428723, Device:0, RankID:-1) ERR00100", Prefix{Rank: NoRank, Level: Error, PID: 428723}, "2026-06-09 03:35:23", "ERR00100"},
		{"[PID: 428723] 2026-06-09-03:35:23.635.715 AclNN(EZ1001): x", Prefix{Rank: NoRank, PID: 428723}, "2026-06-09 03:35:23", "AclNN(EZ1001): x"},
		{"2025-12-31 10:49:40.235144 error 14654 pid[1113] [SMEM x.cpp:312] send", Prefix{Rank: NoRank, Level: Error, PID: 1113}, "2025-12-31 10:49:40", "[SMEM x.cpp:312] send"},
		// none
		{"", Prefix{Rank: NoRank}, "", ""},
		{"INFORMATION about it", Prefix{Rank: NoRank}, "", "INFORMATION about it"},
		{"ERROR something", Prefix{Rank: NoRank}, "", "ERROR something"},
		{"Traceback (most recent call last):", Prefix{Rank: NoRank}, "", "Traceback (most recent call last):"},
		{"I think so", Prefix{Rank: NoRank}, "", "I think so"},
	}
	for _, tt := range tests {
		got := ParsePrefix([]byte(tt.line))
		if text := timeText(got.Time); text != tt.time {
			t.Errorf("%q: time %q, want %q", tt.line, text, tt.time)
		}
		if text := tt.line[got.Len:]; text != tt.text {
			t.Errorf("%q: text %q, want %q", tt.line, text, tt.text)
		}
		got.Time, got.Len = Time{}, 0
		if got != tt.want {
			t.Errorf("%q (-want +got):\n%s", tt.line, cmp.Diff(tt.want, got, cmp.AllowUnexported(Time{})))
		}
	}
}

// timeText writes as much as is known of a time.
func timeText(t Time) string {
	at := func(year int) time.Time {
		return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(t.Sec * float64(time.Second)))
	}
	switch {
	case t.IsZero():
		return ""
	case t.Elapsed:
		return fmt.Sprintf("+%.1fs", t.Sec)
	case !t.HasDate:
		return at(2024).Format(time.TimeOnly)
	case !t.HasYear:
		return at(2024).Format("01-02 15:04:05") // a leap year, as Time says
	}
	return at(1970).Format(time.DateTime)
}

func TestRankString(t *testing.T) {
	r := Rank{Node: 1, DP: 0, PP: -1, TP: 3, EP: -1, Global: 7}
	if got, want := r.String(), "node1 DP0 TP3 rank7"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := NoRank.String(); got != "" {
		t.Errorf("no rank: %q", got)
	}
}

func TestTimeSub(t *testing.T) {
	at := func(line string) Time { return ParsePrefix([]byte(line)).Time }
	tests := []struct {
		a, b string
		want float64
		ok   bool
	}{
		{"[2026-03-01 00:00:10] x", "[2026-02-28 23:59:50] x", 20, true},
		{"[2024-03-01 00:00:00] x", "[2024-02-28 00:00:00] x", 2 * 86400, true},
		{"INFO 04-16 10:31:19 [a.py:1] x", "INFO 04-16 10:31:09 [a.py:1] x", 10, true},
		{"0.01.500.000 I x", "0.00.250.000 I x", 1.25, true},
		{"INFO 04-16 10:31:19 [a.py:1] x", "[2026-04-16 10:31:09] x", 0, false},
		{"plain", "[2026-04-16 10:31:09] x", 0, false},
	}
	for _, tt := range tests {
		got, ok := at(tt.a).Sub(at(tt.b))
		if got != tt.want || ok != tt.ok {
			t.Errorf("%q - %q: %v %v, want %v %v", tt.a, tt.b, got, ok, tt.want, tt.ok)
		}
	}
}

func TestISOTime(t *testing.T) {
	tests := map[string]string{
		"2025-04-05T00:01:19.209237575Z": "2025-04-05 00:01:19",
		"2025-04-05T00:01:19+01:30":      "2025-04-04 22:31:19",
		"2025-04-05 00:01:19":            "2025-04-05 00:01:19",
		"2025-04-05":                     "",
	}
	for text, want := range tests {
		c := cursor{b: []byte(text)}
		got, ok := c.isoTime()
		if !ok {
			got = Time{}
		}
		if timeText(got) != want {
			t.Errorf("%q: %q, want %q", text, timeText(got), want)
		}
	}
}

func FuzzParsePrefix(f *testing.F) {
	for _, seed := range []string{
		"[2026-02-20 11:13:52 DP0 TP1 EP1] x",
		"(EngineCore_DP0 pid=1) ERROR 09-30 18:29:03 [core.py:718] x",
		"(RayWorkerWrapper pid=336, ip=10.0.0.8) x [repeated 7x across cluster]",
		"[rank1]:[E129 08:52:51.685329145 ProcessGroupNCCL.cpp:1595] x",
		"E0000 00:00:1754600272.146783   10516 cuda_dnn.cc:8579] x",
		"0.00.508.159 I srv    load_model: x",
		"[04/17/2026-08:21:45] [TRT-LLM] [RANK 1] [E] x",
		"[1765066816.574825] [d0c32c26d329:331  :0]     ucp_context.c:2339 UCX  WARN x",
		"2024-10-21 10:42:00,218 - lmdeploy - ERROR - model_agent.py:489 - x",
		"[PID: 428723] 2026-06-09-03:35:23.635.715 x",
		"host:1:2 [3] misc/a.cc:4 NCCL WARN x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		p := ParsePrefix(line)
		if p.Len < 0 || p.Len > len(line) {
			t.Fatalf("length %d of %d", p.Len, len(line))
		}
		if none := (Prefix{Rank: NoRank}); p.Len == 0 && p != none {
			t.Fatalf("no prefix, but %+v", p)
		}
		if p.PID < 0 || p.Repeated < 0 {
			t.Fatalf("negative number in %+v", p)
		}
		_ = p.Rank.String()
	})
}

func BenchmarkParsePrefix(b *testing.B) {
	for name, line := range map[string]string{
		"sglang": "[2026-02-20 11:13:52 DP0 TP1 EP1] Decode batch, #running-req: 120",
		"vllm":   "(EngineCore_DP0 pid=1) INFO 09-30 18:29:03 [core.py:718] x",
		"none":   "srv    load_model: loading model",
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte(line)
			b.ReportAllocs()
			for b.Loop() {
				ParsePrefix(data)
			}
		})
	}
}
