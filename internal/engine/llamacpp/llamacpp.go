// Package llamacpp knows what llama.cpp prints: llama-server, llama-cli and
// their forks (ik_llama.cpp, llama-box), and the runner lines of ollama where
// ollama prints them around the same library.
//
// Terms: a slot is one of the requests that the server answers at a time; n_ctx
// counts the cells of the KV cache of all slots, n_ctx_slot what one request
// may use. Setting names are the long flags with underscores (--ctx-size is
// ctx_size). Buffers and memory are printed in MiB; facts keep that unit in
// their value.
//
// Function names in the log are padded or cut to 12 characters since 2024
// ("slot get_availabl:"), so anchors avoid them unless they are short. Since
// 2026 the default verbosity leaves out most of the load: milestones that it
// leaves out are optional.
package llamacpp

import (
	"slices"

	"shakedown/internal/engine"
)

// Names of the milestones, as shown to users.
const (
	portBound      = "HTTP port"
	loadBegun      = "loading model"
	contextCreated = "context created"
	kvAllocated    = "KV cache"
	buffersReady   = "compute buffers"
	threadsStarted = "threads started"
	warmupBegun    = "warm-up"
	slotsReady     = "slots"
	modelLoaded    = "model loaded"
	ready          = "listening"
)

// Files of ggml-org/llama.cpp that print the lines.
const (
	srcServer  = "tools/server/server.cpp"
	srcSlots   = "tools/server/server-context.cpp"
	srcCommon  = "common/common.cpp"
	srcFit     = "common/fit.cpp"
	srcModel   = "src/llama-model.cpp"
	srcContext = "src/llama-context.cpp"
	srcKV      = "src/llama-kv-cache.cpp"
	srcCUDA    = "ggml/src/ggml-cuda/ggml-cuda.cu"
	srcArg     = "common/arg.cpp"
	srcOllama  = "ollama/llm/server.go"
)

// Engine is llama.cpp. Its configuration is spread over many lines, so there is
// no dump to parse.
var Engine = engine.Engine{
	Name:  "llamacpp",
	Title: "llama.cpp",
	Lines: slices.Concat(startLines, deviceLines, choiceLines, noiseLines, endLines),
	Signs: []string{
		"llama_model_loader: loaded meta data", "srv    load_model:", "llama_model_load_from_file", "llama_server: ",
		"ggml_cuda_init: ", "ggml_vulkan: ", "ggml_metal_init: ", "llm_load_print_meta: ", "print_info: ",
		"load_tensors: ", "llama_context: ", "llama_kv_cache", "slot launch_slot_", "slot get_availabl",
		"slot update_slots", "slot print_timing", "GGML_ASSERT(",
	},
	Frames: []string{
		"ggml/src/", "llama.cpp/src/", "tools/server/server", "libllama.so", "libggml-base.so", "libggml-cuda.so",
		"llama_cpp/llama.py",
	},
	Milestones: []string{
		portBound + "?", loadBegun, contextCreated + "?", kvAllocated + "?", buffersReady + "?", threadsStarted + "?",
		warmupBegun + "?", slotsReady, modelLoaded, ready,
	},
	NewestKnown: "b11434",
}
