// Package trtllm knows what TensorRT-LLM prints: trtllm-serve and trtllm-bench
// with the PyTorch, AutoDeploy and TensorRT backends, and the Triton backend
// tensorrtllm.
//
// Terms: the executor is the part that runs the model, one worker process per
// GPU, started through MPI; an engine file is a model compiled for the TensorRT
// backend. Python lines carry [TRT-LLM] with a level, C++ lines
// [TensorRT-LLM][LEVEL] without time; the C++ lines of several workers are
// repeated without a rank. Setting names are the fields of LlmArgs, inner ones
// with a dot (kv_cache_config.free_gpu_memory_fraction).
package trtllm

import (
	"slices"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// Names of the milestones, as shown to users.
const (
	workersStarting = "workers starting"
	workersStarted  = "workers started"
	weightsBegun    = "loading weights"
	weightsLoaded   = "weights loaded"
	kvAllocated     = "KV cache"
	autotuned       = "autotuning"
	graphsBegun     = "CUDA graphs"
	executorReady   = "executor ready"
	ready           = "serving HTTP"
)

// Files of NVIDIA/TensorRT-LLM that print the lines.
const (
	srcLLM      = "tensorrt_llm/llmapi/llm.py"
	srcArgs     = "tensorrt_llm/llmapi/llm_args.py"
	srcMPI      = "tensorrt_llm/llmapi/mpi_session.py"
	srcProxy    = "tensorrt_llm/executor/proxy.py"
	srcWorker   = "tensorrt_llm/executor/worker.py"
	srcCreator  = "tensorrt_llm/_torch/pyexecutor/py_executor_creator.py"
	srcExecutor = "tensorrt_llm/_torch/pyexecutor/py_executor.py"
	srcModel    = "tensorrt_llm/_torch/pyexecutor/model_engine.py"
	srcUtil     = "tensorrt_llm/_torch/pyexecutor/_util.py"
	srcResource = "tensorrt_llm/_torch/pyexecutor/resource_manager.py"
	srcKV       = "cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp"
	srcRuntime  = "cpp/tensorrt_llm/runtime"
	srcTriton   = "triton-inference-server/core"
	srcMPIRun   = "Open MPI"
	srcUvicorn  = "uvicorn"
)

// Engine is TensorRT-LLM.
var Engine = engine.Engine{
	Name:  "trtllm",
	Title: "TensorRT-LLM",
	Lines: slices.Concat(startLines, choiceLines, noiseLines, endLines),
	Signs: []string{
		"[TensorRT-LLM] TensorRT", "[TensorRT-LLM][INFO]", "[TensorRT-LLM][WARNING]", "[TensorRT-LLM][ERROR]",
		"[TRT-LLM] [", "[TRT-LLM AUTO-DEPLOY] [", "TRITONBACKEND_Initialize: tensorrtllm",
	},
	Frames: []string{
		"site-packages/tensorrt_llm/", "dist-packages/tensorrt_llm/", "bin/trtllm-serve", "bin/trtllm-bench",
		"libtensorrt_llm.so", "libtriton_tensorrtllm.so", "app/tensorrt_llm/cpp/",
	},
	Milestones: []string{
		workersStarting + "?", workersStarted + "?", weightsBegun + "?", weightsLoaded + "?", kvAllocated,
		autotuned + "?", graphsBegun + "?", executorReady + "?", ready,
	},
	NewestKnown: "1.2.1",
	Facts: map[string]fact.Key{
		"tensor_parallel_size":   fact.TP,
		"pipeline_parallel_size": fact.PP,
		"dtype":                  fact.DType,
	},
	Hidden: []string{
		"tokenizer_revision", "revision", "iter_stats_max_iterations", "request_stats_max_iterations",
		"perf_metrics_max_requests", "env_overrides", "gpus_per_node",
	},
	ParseDump: parseDump,
}
