package trtllm

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// startLines are the lines of a start, in the order in which they come, and the
// proofs of life after it.
var startLines = []engine.Line{
	{
		// Every process prints it, so it marks no new server.
		ID: "TRT-VERSION", Kind: engine.Info, Anchor: "[TensorRT-LLM] TensorRT",
		Patterns: []string{"TensorRT LLM version: <version>", "TensorRT-LLM version: <version>"},
		Facts:    map[fact.Key]string{fact.EngineVersion: "<version>"},
		Source:   "tensorrt_llm/__init__.py",
	},
	{
		ID: "TRT-BACKEND", Kind: engine.Banner, Anchor: "Using LLM with ",
		Patterns: []string{"Using LLM with <backend> backend"},
		Since:    "1.0", Source: srcLLM,
	},
	{
		ID: "TRT-ENGINE-FILE", Kind: engine.Info, Anchor: " found in the config file, assuming engine(s) built by",
		Patterns: []string{"Engine version <version> found in the config file"},
		Facts:    map[fact.Key]string{fact.EngineVersion: "<version>"},
		Source:   srcRuntime + "/gptJsonConfig.cpp",
	},
	{
		ID: "TRT-MODEL", Kind: engine.Info, Anchor: "' skip_tokenizer_init=",
		Patterns: []string{"model='<model>' tokenizer=", "tokenizer_mode='"},
		Facts:    map[fact.Key]string{fact.Model: "<model>"},
		Source:   srcCreator,
	},
	{
		ID: "TRT-ARGS", Kind: engine.ConfigDump, Anchor: dumpBegin,
		Since: "1.0", Source: srcCreator,
	},
	{
		ID: "TRT-ARGS-NO-TOKENIZER", Kind: engine.ConfigDump, Anchor: dumpBeginNoTok,
		Since: "1.0", Source: srcCreator,
	},
	{
		ID: "TRT-SPAWN", Kind: engine.Mile, Anchor: "to spawn MPI processes",
		Phase: fact.Args, Name: workersStarting, Source: srcProxy,
	},
	{
		ID: "TRT-MPI", Kind: engine.Mile, Anchor: "Refreshed the MPI local session",
		Phase: fact.Args, Name: workersStarted, Source: "cpp/tensorrt_llm/runtime/utils/mpiUtils.cpp",
	},
	{
		ID: "TRT-WEIGHTS", Kind: engine.Mile, Anchor: " GB for model weights",
		Patterns: []string{"Use <size> GB for model weights"},
		Phase:    fact.Load, Name: weightsBegun, Source: srcModel,
	},
	{
		ID: "TRT-ENGINE-LOADED", Kind: engine.Mile, Anchor: "Loaded engine size: ",
		Patterns: []string{"Loaded engine size: <size> MiB"},
		Phase:    fact.KVAlloc, Name: weightsLoaded,
		Facts:  map[fact.Key]string{fact.WeightsGB: "<size> MiB"},
		Source: "TensorRT",
	},
	{
		ID: "TRT-MODEL-INIT", Kind: engine.Mile, Anchor: "Model init total -- ",
		Patterns: []string{"Model init total -- <seconds>s"},
		Phase:    fact.KVAlloc, Name: weightsLoaded,
		Facts:  map[fact.Key]string{fact.LoadSeconds: "<seconds>"},
		Source: srcModel,
	},
	{
		ID: "TRT-WEIGHTS-USED", Kind: engine.Info, Anchor: "weights (inside torch) in memory usage profiling: ",
		Patterns: []string{"weights (inside torch) in memory usage profiling: <size> GiB"},
		Facts:    map[fact.Key]string{fact.WeightsGB: "<size>"},
		Source:   srcUtil,
	},
	{
		// The PyTorch backend prints it twice: a small cache for profiling, then the
		// final one.
		ID: "TRT-KV", Kind: engine.Mile, Anchor: " for max tokens in paged KV cache ",
		Patterns: []string{"Allocated <size> GiB for max tokens in paged KV cache (<tokens>)"},
		Phase:    fact.KVAlloc, Name: kvAllocated,
		Facts:  map[fact.Key]string{fact.KVGB: "<size>", fact.KVTokens: "<tokens>"},
		Source: srcKV,
	},
	{
		ID: "TRT-KV-2024", Kind: engine.Mile, Anchor: " total tokens in paged KV cache",
		Patterns: []string{"Using <tokens> total tokens in paged KV cache"},
		Phase:    fact.KVAlloc, Name: kvAllocated,
		Facts:  map[fact.Key]string{fact.KVTokens: "<tokens>"},
		Source: srcKV + " of 0.8",
	},
	{
		ID: "TRT-KV-MEMORY", Kind: engine.Info, Anchor: "when calculating max tokens in paged kv cache: total",
		Patterns: []string{"total: <total> GiB, available: <free> GiB"},
		Facts:    map[fact.Key]string{fact.GPUMem: "<total>", fact.AvailGB: "<free>"},
		Source:   srcKV,
	},
	{
		ID: "TRT-PEAK", Kind: engine.Info, Anchor: "Peak memory during memory usage profiling",
		Patterns: []string{"when calculating max tokens: <kv> GiB, <_>device total memory <total> GiB"},
		Facts:    map[fact.Key]string{fact.GPUMem: "<total>"},
		Source:   srcUtil,
	},
	{
		ID: "TRT-GPT-LEN", Kind: engine.Info, Anchor: "TRTGptModel maxSequenceLen: ",
		Patterns: []string{"maxSequenceLen: <seq>"},
		Facts:    map[fact.Key]string{fact.CtxLen: "<seq>"},
		Source:   "cpp/tensorrt_llm/batch_manager/trtGptModelInflightBatching.cpp",
	},
	{
		ID: "TRT-GPT-BATCH", Kind: engine.Info, Anchor: "TRTGptModel maxBatchSize: ",
		Patterns: []string{"maxBatchSize: <batch>"},
		Facts:    map[fact.Key]string{fact.MaxRunning: "<batch>"},
		Source:   "cpp/tensorrt_llm/batch_manager/trtGptModelInflightBatching.cpp",
	},
	{
		ID: "TRT-AUTOTUNE", Kind: engine.Mile, Anchor: "[Autotuner] Autotuning process starts",
		Phase: fact.Warmup, Name: autotuned, Source: srcModel,
	},
	{
		ID: "TRT-GRAPHS", Kind: engine.Mile, Anchor: "Creating CUDA graph instances for ",
		Patterns: []string{"Creating CUDA graph instances for <sizes> batch sizes"},
		Phase:    fact.Capture, Name: graphsBegun, Source: srcModel,
	},
	{
		ID: "TRT-EXECUTOR", Kind: engine.Mile, Anchor: "get signal from executor worker",
		Phase: fact.Warmup, Name: executorReady, Source: srcProxy,
	},
	{
		ID: "TRT-EXECUTOR-CPP", Kind: engine.Mile, Anchor: "Executor instance created by worker",
		Phase: fact.Warmup, Name: executorReady, Source: "cpp/tensorrt_llm/executor/executorImpl.cpp",
	},
	{
		// "Application startup complete." comes before the port is bound.
		ID: "TRT-READY", Kind: engine.Ready, Anchor: "Uvicorn running on http",
		Patterns: []string{"Uvicorn running on http<_>//<host>:<port> ("},
		Phase:    fact.Ready, Name: ready,
		Facts:  map[fact.Key]string{fact.Host: "<host>", fact.Port: "<port>"},
		Source: srcUvicorn,
	},
	{
		ID: "TRT-READY-TRITON", Kind: engine.Ready, Anchor: "Started HTTPService at ",
		Patterns: []string{`Started HTTPService at <host>:<port>"`, "Started HTTPService at <host>:<port>"},
		Phase:    fact.Ready, Name: ready,
		Facts:  map[fact.Key]string{fact.Host: "<host>", fact.Port: "<port>"},
		Source: "triton-inference-server/server",
	},
	{
		ID: "TRT-SERVED", Kind: engine.Served, Anchor: `completions HTTP/1.1" 200`, Source: srcUvicorn,
	},
	{
		ID: "TRT-SERVED-RESPONSES", Kind: engine.Served, Anchor: `/v1/responses HTTP/1.1" 200`, Source: srcUvicorn,
	},
	{
		ID: "TRT-SERVED-ITER", Kind: engine.Served, Anchor: ", num_scheduled_requests: ", Source: srcExecutor,
	},
}
