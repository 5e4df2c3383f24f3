package sglang

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// startLines are the lines of a start, in the order in which they come.
var startLines = []engine.Line{
	{
		ID: "SGL-BANNER-CONTAINER", Kind: engine.Banner, Anchor: "SGLang Version ",
		Patterns: []string{"SGLang Version <version>"},
		Facts:    map[fact.Key]string{fact.EngineVersion: "<version>"},
		Source:   "banner of the NVIDIA container",
	},
	{
		// A report of check_env, or a list of installed packages beside the log.
		ID: "SGL-ENV-VERSION", Kind: engine.Info, Anchor: "sglang: 0.",
		Patterns: []string{"sglang: <version>"},
		Facts:    map[fact.Key]string{fact.EngineVersion: "<version>"},
		Source:   "sglang/check_env.py",
	},
	{
		ID: "SGL-CONFIG", Kind: engine.ConfigDump, Anchor: "server_args=ServerArgs(",
		Source: srcEngine,
	},
	{
		ID: "SGL-CONFIG-DICT", Kind: engine.ConfigDump, Anchor: "server_args={'",
		Since: "0.5.23", Source: srcEngine,
	},
	{
		ID: "SGL-DIST-BEGIN", Kind: engine.Mile, Anchor: "Init torch distributed begin",
		Phase: fact.Load, Name: distBegun, Source: srcRunner,
	},
	{
		ID: "SGL-DIST-BEGIN-PARALLEL", Kind: engine.Mile, Anchor: "Init parallel begin.",
		Phase: fact.Load, Name: distBegun, Since: "0.5.23", Source: "sglang/srt/distributed/bootstrap.py",
	},
	{
		ID: "SGL-DIST-BEGIN-NCCL", Kind: engine.Mile, Anchor: "Init nccl begin.",
		Phase: fact.Load, Name: distBegun, Source: srcRunner + " of 0.2",
	},
	{
		ID: "SGL-DIST-ADDRESS", Kind: engine.Info, Anchor: "distributed_init_method=tcp://",
		Patterns: []string{"distributed_init_method=tcp://<addr> backend="},
		Facts:    map[fact.Key]string{fact.MasterAddr: "<addr>"},
		Source:   "sglang/srt/distributed/parallel_state.py",
	},
	{
		ID: "SGL-DIST-END", Kind: engine.Mile, Anchor: "Init torch distributed ends",
		Patterns: []string{
			"Init torch distributed ends. elapsed=<elapsed> s, mem usage=<used> GB",
			"Init torch distributed ends. mem usage=<used> GB",
		},
		Phase: fact.Load, Name: distReady, Source: srcRunner,
	},
	{
		ID: "SGL-DIST-END-PARALLEL", Kind: engine.Mile, Anchor: "Init parallel ends.",
		Patterns: []string{"Init parallel ends. elapsed=<elapsed> s"},
		Phase:    fact.Load, Name: distReady, Since: "0.5.23", Source: "sglang/srt/distributed/bootstrap.py",
	},
	{
		ID: "SGL-LOAD-BEGIN", Kind: engine.Mile, Anchor: "Load weight begin.",
		Patterns: []string{"Load weight begin. avail mem=<avail> GB"},
		Phase:    fact.Load, Name: loadBegun,
		Facts:  map[fact.Key]string{fact.AvailGB: "<avail>"},
		Source: srcRunner,
	},
	{
		// The last form commits real weights after the capture (0.5.18, loading
		// that overlaps it); it tells no memory.
		ID: "SGL-LOAD-END", Kind: engine.Mile, Anchor: "Load weight end. ",
		Patterns: []string{
			"Load weight end. elapsed=<elapsed> s, type=<arch>, quant=<quant>, <_>avail mem=<avail> GB, mem usage=<weights> GB",
			"Load weight end. elapsed=<elapsed> s, type=<arch>, dtype=torch.<dtype>, avail mem=<avail> GB, mem usage=<weights> GB",
			"Load weight end. elapsed=<elapsed> s, type=<arch>, avail mem=<avail> GB, mem usage=<weights> GB",
			"Load weight end. type=<arch>, dtype=torch.<dtype>, avail mem=<avail> GB, mem usage=<weights> GB",
			"Load weight end. type=<arch>, dtype=torch.<dtype>, avail mem=<avail> GB",
			"Load weight end. Committed real weights after CUDA graph capture in <elapsed> s",
		},
		Phase: fact.KVAlloc, Name: loadEnded,
		Facts: map[fact.Key]string{
			fact.LoadSeconds: "<elapsed>", fact.Arch: "<arch>", fact.DType: "<dtype>", fact.Quant: "<quant>",
			fact.AvailGB: "<avail>", fact.WeightsGB: "<weights>",
		},
		Source: srcRunner,
	},
	{
		ID: "SGL-CAPTURE-BEGIN", Kind: engine.Mile, Anchor: " graph begin.",
		Patterns: []string{
			"Capture <what> graph begin. <_>avail mem=<avail> GB",
			"Capture <what> graph begin.",
		},
		Phase: fact.Capture, Name: captureBegun,
		Source: srcRunner + ", model_runner_components/cuda_graph_setup.py",
	},
	{
		ID: "SGL-CAPTURE-END", Kind: engine.Mile, Anchor: " graph end.",
		Patterns: []string{
			"Capture <what> graph end. <_>elapsed=<elapsed> s, mem usage=<used> GB, avail mem=<avail> GB",
			"Capture <what> graph end. Time elapsed: <elapsed> s. mem usage=<used> GB. avail mem=<avail> GB",
			"Capture <what> graph end. Time elapsed: <elapsed> s",
		},
		Phase: fact.Capture, Name: captureEnded,
		Facts:  map[fact.Key]string{fact.CaptureSecs: "<elapsed>", fact.GraphsGB: "<used>", fact.AvailGB: "<avail>"},
		Source: srcRunner + ", model_runner_components/cuda_graph_setup.py",
	},
	{
		ID: "SGL-SCHEDULER-READY", Kind: engine.Mile, Anchor: "max_total_num_tokens=",
		Patterns: []string{
			"max_total_num_tokens=<tokens>, <_>max_prefill_tokens=<_>, max_running_requests=<running>, context_len=<context>, available_<_>_mem=<avail> GB",
			"max_total_num_tokens=<tokens>, <_>max_prefill_tokens=<_>, max_running_requests=<running>, context_len=<context>",
		},
		Phase: fact.Warmup, Name: schedulerReady,
		Facts: map[fact.Key]string{
			fact.KVTokens: "<tokens>", fact.MaxRunning: "<running>", fact.CtxLen: "<context>", fact.AvailGB: "<avail>",
		},
		Source: srcScheduler,
	},
	{
		ID: "SGL-STARTUP-TIMES", Kind: engine.Info, Anchor: "Engine startup timings (s): ",
		Patterns: []string{"Engine startup timings (s): load_weight=<load>, kv_cache_allocation=<_>, scheduler_e2e=<init>, "},
		Facts:    map[fact.Key]string{fact.LoadSeconds: "<load>", fact.InitSecs: "<init>"},
		Since:    "0.5.18", Source: srcEngine,
	},
	{
		ID: "SGL-HTTP-UP", Kind: engine.Mile, Anchor: "Uvicorn running on ",
		Patterns: []string{"Uvicorn running on <url> (", "Uvicorn running on <url>"},
		Phase:    fact.Warmup, Name: httpUp, Source: "uvicorn; the warm-up follows",
	},
	{
		ID: "SGL-HTTP-APP", Kind: engine.Mile, Anchor: "Application startup complete.",
		Phase: fact.Warmup, Name: httpUp, Source: "uvicorn; the warm-up follows",
	},
	{
		ID: "SGL-HTTP2-UP", Kind: engine.Mile, Anchor: "Granian HTTP/2 server on ",
		Patterns: []string{"Granian HTTP/2 server on <addr>"},
		Phase:    fact.Warmup, Name: httpUp, Since: "0.5.12", Source: srcServer,
	},
	{
		ID: "SGL-SECONDARY-READY", Kind: engine.Mile, Anchor: "health check server started in background thread at ",
		Patterns: []string{"Dummy health check server started in background thread at <addr>"},
		Phase:    fact.Warmup, Name: secondaryReady,
		Source: "sglang/srt/utils/common.py; printed once all schedulers of the node are up",
	},
	{
		ID: "SGL-SECONDARY-READY-OLD", Kind: engine.Mile, Anchor: "Starting dummy health check server at ",
		Patterns: []string{"Starting dummy health check server at <addr>"},
		Phase:    fact.Warmup, Name: secondaryReady,
		Source: "sglang/srt/utils.py to 0.5.2",
	},
	{
		ID: "SGL-READY", Kind: engine.Ready, Anchor: "The server is fired up and ready to roll!",
		Phase: fact.Ready, Name: ready, Source: srcServer,
	},
}
