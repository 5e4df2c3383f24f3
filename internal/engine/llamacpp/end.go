package llamacpp

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// Reasons that several wrappers share.
const (
	whyLoadFailed    = "the load has failed; the reason is the first error after the load began"
	whyContextFailed = "the context could not be made; the reason stands just before"
)

// endLines are failures, their wrappers, and ends.
var endLines = []engine.Line{
	{
		ID: "LCP-FATAL-LOAD", Kind: engine.Fatal, Anchor: "error loading model: ",
		Patterns: []string{"error loading model: <reason>"},
		Title:    "the model file could not be loaded", Source: "src/llama.cpp",
	},
	{
		ID: "LCP-FATAL-CONTEXT", Kind: engine.Fatal, Anchor: "failed to initialize the context: ",
		Patterns: []string{"failed to initialize the context: <reason>"},
		Title:    "the context could not be made", Source: srcContext,
	},
	{
		ID: "LCP-FATAL-MMPROJ", Kind: engine.Fatal, Anchor: "clip_init: failed to load model '",
		Patterns: []string{"clip_init: failed to load model '<model>': <reason>"},
		Title:    "the multimodal projector could not be loaded", Source: "tools/mtmd/clip.cpp",
	},
	{
		ID: "LCP-FATAL-ASSERT", Kind: engine.Fatal, Anchor: "GGML_ASSERT(",
		Patterns: []string{"GGML_ASSERT(<condition>) failed", "GGML_ASSERT(<condition>"},
		Title:    "an assertion of ggml failed", Source: "ggml/src/ggml.c",
	},
	{
		ID: "LCP-FATAL-CUDA", Kind: engine.Fatal, Anchor: "CUDA error: ",
		Patterns: []string{"CUDA error: <what>"},
		Title:    "a CUDA call failed", Source: srcCUDA,
	},
	{
		ID: "LCP-FATAL-ROCM", Kind: engine.Fatal, Anchor: "ROCm error: ",
		Patterns: []string{"ROCm error: <what>"},
		Title:    "a ROCm call failed", Source: srcCUDA,
	},
	{
		ID: "LCP-FATAL-MUSA", Kind: engine.Fatal, Anchor: "MUSA error: ",
		Patterns: []string{"MUSA error: <what>"},
		Title:    "a MUSA call failed", Source: srcCUDA,
	},
	{
		ID: "LCP-FATAL-SYCL", Kind: engine.Fatal, Anchor: "Exception caught at file:",
		Patterns: []string{"Exception caught at file:<file>, line:<line>"},
		Title:    "a SYCL call failed", Source: "ggml/src/ggml-sycl",
	},
	{
		ID: "LCP-FATAL-VULKAN", Kind: engine.Fatal, Anchor: "ErrorDeviceLost",
		Title: "the Vulkan device was lost", Source: "ggml/src/ggml-vulkan/ggml-vulkan.cpp",
	},
	{
		ID: "LCP-FATAL-METAL", Kind: engine.Fatal, Anchor: ": command buffer ",
		Patterns: []string{"command buffer <buffer> failed with status <status>"},
		Title:    "a Metal command buffer failed", Source: "ggml/src/ggml-metal",
	},
	{
		ID: "LCP-FATAL-TERMINATE", Kind: engine.Fatal, Anchor: "terminate called after throwing an instance of",
		Patterns: []string{"terminate called after throwing an instance of '<type>'"},
		Title:    "a C++ exception that nothing caught", Source: "C++ runtime",
	},
	{
		ID: "LCP-FATAL-BIND", Kind: engine.Fatal, Anchor: "couldn't bind ",
		Patterns: []string{
			"couldn't bind HTTP server socket, hostname: <host>, port: <port>",
			"couldn't bind to server socket: hostname=<host> port=<port>",
		},
		Title: "the HTTP port could not be bound", Source: "tools/server/server-http.cpp",
	},
	{
		ID: "LCP-FATAL-ARG", Kind: engine.Fatal, Anchor: "error: invalid argument: ",
		Patterns: []string{"error: invalid argument: <flag>"},
		Title:    "a flag was refused", Source: srcArg,
	},
	{
		ID: "LCP-FATAL-ARG-2024", Kind: engine.Fatal, Anchor: "error: unknown argument: ",
		Patterns: []string{"error: unknown argument: <flag>"},
		Title:    "a flag was refused", Source: "common/common.cpp of 2024",
	},
	{
		ID: "LCP-FATAL-ARG-VALUE", Kind: engine.Fatal, Anchor: "error while handling ",
		Patterns: []string{`error while handling argument "<flag>": <reason>`, `error while handling environment variable "<variable>": <reason>`},
		Title:    "the value of a flag was refused", Source: srcArg,
	},
	{
		ID: "LCP-SYMPTOM-COMPUTE", Kind: engine.Symptom, Anchor: "error: Compute error",
		Title: "a decode step failed on the device",
		Why:   "the slots that took part are dropped; what failed stands before, often lines earlier",
		Since: "b5000", Source: srcSlots,
	},
	{
		ID: "LCP-WRAP-EXIT-LOAD", Kind: engine.Wrapper, Anchor: "exiting due to model loading error",
		Why: whyLoadFailed, Source: srcServer,
	},
	{
		ID: "LCP-WRAP-EXIT-HTTP", Kind: engine.Wrapper, Anchor: "exiting due to HTTP server error",
		Why: "the HTTP server did not start; the reason stands just before", Source: srcServer,
	},
	{
		ID: "LCP-WRAP-LOAD-FILE", Kind: engine.Wrapper, Anchor: "llama_model_load_from_file_impl: failed to load model",
		Why: whyLoadFailed, Source: "src/llama.cpp",
	},
	{
		ID: "LCP-WRAP-LOAD-FILE-2024", Kind: engine.Wrapper, Anchor: "llama_load_model_from_file: failed to load model",
		Why: whyLoadFailed, Source: "src/llama.cpp of 2024",
	},
	{
		ID: "LCP-WRAP-COMMON", Kind: engine.Wrapper, Anchor: "common_init_: failed to load model '",
		Why: whyLoadFailed, Source: srcCommon,
	},
	{
		ID: "LCP-WRAP-COMMON-RESULT", Kind: engine.Wrapper, Anchor: "common_init_result: failed to load model '",
		Why: whyLoadFailed, Source: srcCommon,
	},
	{
		ID: "LCP-WRAP-COMMON-2025", Kind: engine.Wrapper, Anchor: "common_init_from_params: failed to load model '",
		Why: whyLoadFailed, Source: srcCommon,
	},
	{
		ID: "LCP-WRAP-SERVER", Kind: engine.Wrapper, Anchor: "failed to load model, '",
		Why: whyLoadFailed, Source: srcSlots,
	},
	{
		ID: "LCP-WRAP-DRAFT", Kind: engine.Wrapper, Anchor: "failed to load draft model, '",
		Why: whyLoadFailed, Source: srcSlots,
	},
	{
		ID: "LCP-WRAP-MULTIMODAL", Kind: engine.Wrapper, Anchor: "failed to load multimodal model, '",
		Why: whyLoadFailed, Source: srcSlots,
	},
	{
		ID: "LCP-WRAP-MTMD", Kind: engine.Wrapper, Anchor: "mtmd_init_from_file: error: Failed to load CLIP model",
		Why: whyLoadFailed, Source: "tools/mtmd/mtmd.cpp",
	},
	{
		ID: "LCP-WRAP-UNABLE", Kind: engine.Wrapper, Anchor: "error: unable to load model",
		Why: whyLoadFailed, Source: "tools/main/main.cpp",
	},
	{
		ID: "LCP-WRAP-CONTEXT", Kind: engine.Wrapper, Anchor: "failed to create context with model '",
		Why: whyContextFailed, Source: srcCommon,
	},
	{
		ID: "LCP-WRAP-CONTEXT-SERVER", Kind: engine.Wrapper, Anchor: "failed to create_context with model '",
		Why: whyContextFailed, Source: srcSlots,
	},
	{
		ID: "LCP-WRAP-OLLAMA", Kind: engine.Wrapper, Anchor: "llama runner process has terminated",
		Why: "ollama reports that its runner died; the reason stands in the runner's own lines before", Source: srcOllama,
	},
	{
		// The same line ends a server after SIGINT, after SIGTERM and after a failed start.
		ID: "LCP-EXIT", Kind: engine.Exit, Anchor: "cleaning up before exit...",
		Title: "the server ended in order", Source: srcServer,
	},
	{
		ID: "LCP-STOP-TWICE", Kind: engine.Stop, Anchor: "Received second interrupt, terminating immediately",
		Title: "interrupted twice with Ctrl-C", Source: srcServer,
	},
	{
		ID: "LCP-STOP-CLI", Kind: engine.Stop, Anchor: "Interrupted by user",
		Title: "interrupted with Ctrl-C", Source: "tools/main/main.cpp",
	},
	{
		ID: "LCP-SIGNAL-OLLAMA", Kind: engine.Fatal, Anchor: "SIGSEGV: segmentation violation",
		Facts: map[fact.Key]string{fact.Signal: "SIGSEGV"},
		Title: "the runner crashed with a segmentation fault", Source: "Go runtime of ollama's runner",
	},
}
