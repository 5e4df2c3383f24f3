package lmdeploy

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// startLines are the lines of a start, in the order in which they come, and the
// proofs of life after it.
var startLines = []engine.Line{
	{
		// A report of lmdeploy check_env beside the log; the log names no version.
		ID: "LMD-ENV-VERSION", Kind: engine.Info, Anchor: "LMDeploy: 0.",
		Patterns: []string{"LMDeploy: <version>+", "LMDeploy: <version>"},
		Facts:    map[fact.Key]string{fact.EngineVersion: "<version>"},
		Source:   "lmdeploy/cli/cli.py",
	},
	{
		ID: "LMD-BACKEND", Kind: engine.Banner, Anchor: "input backend=",
		Patterns: []string{"input backend=<backend>, backend_config="},
		Source:   srcAsync,
	},
	{
		ID: "LMD-CONFIG", Kind: engine.ConfigDump, Anchor: dumpBegin, Source: srcAsync,
	},
	{
		ID: "LMD-TURBOMIND-CONFIG", Kind: engine.Info, Anchor: ", state_dtype=",
		Patterns: []string{"dtype=<dtype>, state_dtype=<_>, session_len=<ctx>, max_batch_size=<batch>, <_>tp=<tp>, dp=<dp>, cp="},
		Facts: map[fact.Key]string{
			fact.DType: "<dtype>", fact.CtxLen: "<ctx>", fact.MaxRunning: "<batch>", fact.TP: "<tp>", fact.DP: "<dp>",
		},
		Since: "0.14", Source: srcTurbo,
	},
	{
		ID: "LMD-WEIGHTS-FILE", Kind: engine.Mile, Anchor: " loading weights - ",
		Patterns: []string{`rank[<rank>] loading weights - "<file>"`},
		Phase:    fact.Load, Name: weightsBegun, Source: "lmdeploy/pytorch/weight_loader/model_weight_loader.py",
	},
	{
		ID: "LMD-BUILD-MODEL", Kind: engine.Mile, Anchor: " - Building Model.",
		Phase: fact.Load, Name: weightsBegun, Source: srcExecutor,
	},
	{
		// A warning by level only.
		ID: "LMD-TURBOMIND-PARAMS", Kind: engine.Mile, Anchor: " model params",
		Patterns: []string{" - get <count> model params"},
		Phase:    fact.Load, Name: weightsBegun, Source: srcTurbo + " before 0.13",
	},
	{
		ID: "LMD-BUILD-RUNNER", Kind: engine.Mile, Anchor: " - Building GraphRunner and warmup ops",
		Phase: fact.KVAlloc, Name: runnerBegun, Source: srcExecutor,
	},
	{
		ID: "LMD-BUILD-CACHE", Kind: engine.Mile, Anchor: " - Building CacheEngine with config",
		Phase: fact.KVAlloc, Name: kvAllocated, Source: srcExecutor,
	},
	{
		ID: "LMD-BUILD-CACHE-2024", Kind: engine.Mile, Anchor: " - build CacheEngine with config",
		Phase: fact.KVAlloc, Name: kvAllocated, Source: "lmdeploy/pytorch/engine/cache_engine.py before 0.7",
	},
	{
		ID: "LMD-TURBOMIND-BLOCKS", Kind: engine.Mile, Anchor: "[BlockManager] max_block_count = ",
		Patterns: []string{"max_block_count = <blocks>"},
		Phase:    fact.KVAlloc, Name: kvAllocated, Source: "src/turbomind/models/llama/BlockManager.cc before 0.14",
	},
	{
		ID: "LMD-TURBOMIND-BUDGET", Kind: engine.Mile, Anchor: "Object cache budget: ",
		Patterns: []string{"Object cache budget: <size> MB from free <free> MB"},
		Phase:    fact.KVAlloc, Name: kvAllocated,
		Facts: map[fact.Key]string{fact.KVGB: "<size> MB", fact.AvailGB: "<free> MB"},
		Since: "0.14", Source: srcTurboCPP,
	},
	{
		ID: "LMD-WARMUP", Kind: engine.Mile, Anchor: " - Warming up model.",
		Phase: fact.Warmup, Name: warmupBegun, Source: srcExecutor,
	},
	{
		ID: "LMD-WARMUP-TURBOMIND", Kind: engine.Mile, Anchor: "Warm-up lengths: ",
		Phase: fact.Warmup, Name: warmupBegun, Since: "0.11", Source: srcTurboCPP,
	},
	{
		ID: "LMD-WARMUP-GEMM", Kind: engine.Mile, Anchor: "[Gemm2] Tuning sequence: ",
		Phase: fact.Warmup, Name: warmupBegun, Source: srcBatch,
	},
	{
		ID: "LMD-WARMUP-END", Kind: engine.Mile, Anchor: "Engine warmup completed in ",
		Patterns: []string{"Engine warmup completed in <seconds> seconds"},
		Phase:    fact.Warmup, Name: warmupEnded, Since: "0.13", Source: "lmdeploy/pytorch/engine/model_agent/agent.py",
	},
	{
		ID: "LMD-WARMUP-TURBOMIND-END", Kind: engine.Mile, Anchor: "Warm-up finished in ",
		Patterns: []string{"Warm-up finished in <seconds> seconds"},
		Phase:    fact.Warmup, Name: warmupEnded, Since: "0.11", Source: srcTurboCPP,
	},
	{
		ID: "LMD-WARMUP-GEMM-END", Kind: engine.Mile, Anchor: "[Gemm2] Tuning finished in ",
		Patterns: []string{"Tuning finished in <seconds> seconds"},
		Phase:    fact.Warmup, Name: warmupEnded, Source: srcBatch,
	},
	{
		ID: "LMD-HINT", Kind: engine.Mile, Anchor: "HINT:    Please open",
		Phase: fact.Warmup, Name: httpStarting, Source: srcServer,
	},
	{
		// "Application startup complete." comes before the port is bound.
		ID: "LMD-READY", Kind: engine.Ready, Anchor: "Uvicorn running on http",
		Patterns: []string{"Uvicorn running on http<_>//<host>:<port> ("},
		Phase:    fact.Ready, Name: ready,
		Facts:  map[fact.Key]string{fact.Host: "<host>", fact.Port: "<port>"},
		Source: srcUvicorn,
	},
	{
		ID: "LMD-SERVED", Kind: engine.Served, Anchor: `completions HTTP/1.1" 200`, Source: srcUvicorn,
	},
	{
		ID: "LMD-SERVED-GENERATE", Kind: engine.Served, Anchor: `/generate HTTP/1.1" 200`, Source: srcUvicorn,
	},
	{
		ID: "LMD-SERVED-SESSION", Kind: engine.Served, Anchor: ` finished, reason "`, Source: srcAsync,
	},
}
