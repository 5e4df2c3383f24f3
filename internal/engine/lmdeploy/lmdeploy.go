// Package lmdeploy knows what LMDeploy prints: its API server with the PyTorch
// engine (CUDA and, through dlinfer, Ascend) and with TurboMind, its C++ engine.
//
// Terms: a backend is one of the two engines; session_len is the context of one
// request; cache_max_entry_count is the share of the free memory that the KV
// cache gets. Python lines carry "lmdeploy - LEVEL", C++ lines [TM][LEVEL],
// since 0.14 also a time and a code position. The default log level leaves out
// nearly all of a start, so most milestones are optional. Setting names are the
// fields of TurbomindEngineConfig and PytorchEngineConfig.
package lmdeploy

import (
	"slices"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// Names of the milestones, as shown to users.
const (
	weightsBegun = "loading weights"
	runnerBegun  = "building graph runner"
	kvAllocated  = "KV cache"
	warmupBegun  = "warm-up"
	warmupEnded  = "warm-up done"
	httpStarting = "HTTP starting"
	ready        = "serving HTTP"
)

// Files of InternLM/lmdeploy that print the lines.
const (
	srcServer    = "lmdeploy/serve/openai/api_server.py"
	srcAsync     = "lmdeploy/serve/core/async_engine.py"
	srcArchs     = "lmdeploy/archs.py"
	srcExecutor  = "lmdeploy/pytorch/engine/executor/base.py"
	srcMP        = "lmdeploy/pytorch/engine/executor/mp_executor.py"
	srcBuilder   = "lmdeploy/pytorch/engine/config_builder.py"
	srcCheck     = "lmdeploy/pytorch/check_env"
	srcTurbo     = "lmdeploy/turbomind/turbomind.py"
	srcTurboCPP  = "src/turbomind/turbomind.cc"
	srcTriton    = "src/turbomind/triton_backend/llama/LlamaTritonModel.cc before 0.11"
	srcBatch     = "src/turbomind/models/llama/LlamaBatch.cc before 0.11"
	srcTurboUtil = "src/turbomind/utils/cuda_utils.h"
	srcUvicorn   = "uvicorn"
)

// Engine is LMDeploy.
var Engine = engine.Engine{
	Name:  "lmdeploy",
	Title: "LMDeploy",
	Lines: slices.Concat(startLines, choiceLines, noiseLines, endLines),
	Signs: []string{
		" - lmdeploy - ", "[TM][INFO]", "[TM][WARNING]", "[TM][WARN]", "[TM][ERROR]", "[TM][FATAL]",
		"in a browser for detailed api usage",
	},
	Frames: []string{
		"site-packages/lmdeploy/", "dist-packages/lmdeploy/", "/opt/lmdeploy/lmdeploy/", "lmdeploy/turbomind/", "lmdeploy/pytorch/",
	},
	Milestones: []string{
		weightsBegun + "?", runnerBegun + "?", kvAllocated + "?", warmupBegun + "?", warmupEnded + "?", httpStarting, ready,
	},
	NewestKnown: "0.16.0",
	Facts: map[string]fact.Key{
		"tp":             fact.TP,
		"dp":             fact.DP,
		"ep":             fact.EP,
		"nnodes":         fact.Nodes,
		"node_rank":      fact.NodeRank,
		"dist_init_addr": fact.MasterAddr,
		"session_len":    fact.CtxLen,
		"max_batch_size": fact.MaxRunning,
		"dtype":          fact.DType,
		"device_type":    fact.Device,
	},
	Hidden:    []string{"download_dir", "revision", "thread_safe", "enable_metrics", "custom_module_map"},
	ParseDump: parseDump,
}
