package launch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"shakedown/internal/fact"
	"shakedown/internal/launch"
	"shakedown/internal/launchtest"
)

// index holds the lines of all engines and no rule. It is slow to build and
// immutable, so all tests share it.
var index struct {
	once sync.Once
	x    *launch.Index
}

// read turns one file into its launches.
func read(t testing.TB, file, text string) []*launch.Launch {
	t.Helper()
	index.once.Do(func() { index.x = launchtest.Index(t) })
	return launchtest.Read(t, index.x, file, launch.Told{}, text)
}

// readOne reads a file that holds one launch.
func readOne(t testing.TB, text string) *launch.Launch {
	t.Helper()
	all := read(t, "server.log", text)
	if len(all) != 1 {
		t.Fatalf("%d launches (%s), want one", len(all), describe(all))
	}
	return all[0]
}

// describe writes launches as "first-last outcome, ...".
func describe(all []*launch.Launch) string {
	var parts []string
	for _, l := range all {
		parts = append(parts, fmt.Sprintf("%d-%d %s", l.Files[0].First, l.Files[0].Last, l.Outcome))
	}
	return strings.Join(parts, ", ")
}

// facts writes the values of a key in the order of arrival.
func facts(l *launch.Launch, k fact.Key) []string {
	var out []string
	l.Facts.Each(k, func(f fact.Fact) { out = append(out, f.Value) })
	return out
}

// at moves a log, all of whose times lie in the hour 10, to another hour.
func at(hour, log string) string { return strings.ReplaceAll(log, " 10:", " "+hour+":") }

// Pieces of logs. Each ends with a line end, and all times lie in the hour 10.
const (
	sglCommand = "$ python3 -m sglang.launch_server --model-path /models/orca-7b --tp 2\n"

	sglDump = "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='/models/orca-7b', tp_size=2, dp_size=1, nnodes=1, node_rank=0, kv_cache_dtype='auto', random_seed=11)\n"

	sglLoad = `[2026-03-01 10:00:09 TP0] Init torch distributed begin.
[2026-03-01 10:00:09 TP1] Init torch distributed begin.
[2026-03-01 10:00:11 TP0] Load weight begin. avail mem=78.40 GB
[2026-03-01 10:00:11 TP1] Load weight begin. avail mem=78.40 GB
`
	sglLoaded = "[2026-03-01 10:00:30 TP0] Load weight end. elapsed=19.00 s, type=OrcaForCausalLM, dtype=torch.bfloat16, avail mem=70.10 GB, mem usage=8.30 GB.\n"

	sglUp = `[2026-03-01 10:00:31 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=9.10 GB
[2026-03-01 10:00:42 TP0] Capture cuda graph end. Time elapsed: 11.00 s. mem usage=0.40 GB. avail mem=8.70 GB.
[2026-03-01 10:00:42 TP0] max_total_num_tokens=482100, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=32768, available_gpu_mem=8.70 GB
[2026-03-01 10:00:43] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)
[2026-03-01 10:00:46] The server is fired up and ready to roll!
`
	sglServed = `[2026-03-01 10:01:00 TP0] Prefill batch, #new-seq: 1, #new-token: 64, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0
[2026-03-01 10:01:01] INFO:     127.0.0.1:40112 - "POST /v1/chat/completions HTTP/1.1" 200 OK
`
	sglStart = sglDump + sglLoad + sglLoaded + sglUp

	sglCrash = `[2026-03-01 10:02:00 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2100, in run_scheduler_process
    scheduler.event_loop_overlap()
  File "/opt/sglang/srt/layers/attention/orca_backend.py", line 51, in forward
    return self.plan[batch.mode]
KeyError: 'mixed'

[2026-03-01 10:02:00] Received sigquit from a child process. It usually means the child failed.
`

	vllmStart = `INFO 03-01 10:00:01 [api_server.py:1839] vLLM API server version 0.11.0
INFO 03-01 10:00:01 [utils.py:233] non-default args: {'model': '/models/orca-7b', 'max_model_len': 8192}
(EngineCore_DP0 pid=311) INFO 03-01 10:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='/models/orca-7b', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1
(EngineCore_DP0 pid=311) INFO 03-01 10:00:12 [gpu_model_runner.py:2602] Starting to load model /models/orca-7b...
(EngineCore_DP0 pid=311) INFO 03-01 10:00:30 [gpu_model_runner.py:2653] Model loading took 14.9 GiB and 18.1 seconds
(EngineCore_DP0 pid=311) INFO 03-01 10:00:40 [kv_cache_utils.py:1087] GPU KV cache size: 91,200 tokens
(EngineCore_DP0 pid=311) INFO 03-01 10:00:55 [core.py:210] init engine (profile, create kv cache, warmup model) took 24.9 seconds
`
	vllmUp = `(APIServer pid=201) INFO:     Waiting for application startup.
(APIServer pid=201) INFO:     Application startup complete.
`
	vllmServed = `(APIServer pid=201) INFO:     127.0.0.1:51034 - "POST /v1/completions HTTP/1.1" 200 OK
`
)
