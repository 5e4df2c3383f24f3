package llamacpp

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// startLines are the lines of a start, in the order in which they come. Lines
// that a draft model repeats carry facts only, so that its load is not taken
// for a second launch.
var startLines = []engine.Line{
	{
		ID: "LCP-INIT", Kind: engine.Banner, Anchor: "llama_server: initializing",
		Since: "b11000", Source: srcServer,
	},
	{
		// The first line of a CUDA or ROCm build; the count is read by LCP-CUDA and
		// LCP-ROCM.
		ID: "LCP-CUDA-INIT", Kind: engine.Banner, Anchor: "ggml_cuda_init: found ",
		Source: srcCUDA,
	},
	{
		ID: "LCP-SYSTEM-INFO", Kind: engine.Banner, Anchor: "system_info: n_threads = ",
		Source: srcCommon,
	},
	{
		ID: "LCP-OLLAMA-START", Kind: engine.Banner, Anchor: `msg="starting runner" cmd=`,
		Source: srcOllama,
	},
	{
		ID: "LCP-OLLAMA-START-2024", Kind: engine.Banner, Anchor: `msg="starting llama server" cmd=`,
		Source: srcOllama,
	},
	{
		ID: "LCP-BUILD", Kind: engine.Info, Anchor: "build: ",
		Patterns: []string{"build: <build> (<commit>) with "},
		Facts:    map[fact.Key]string{fact.EngineVersion: "b<build>"},
		Source:   srcServer,
	},
	{
		ID: "LCP-BUILD-INFO", Kind: engine.Info, Anchor: "build_info: ",
		Patterns: []string{"build_info: <version>"},
		Facts:    map[fact.Key]string{fact.EngineVersion: "<version>"},
		Since:    "b8900", Source: srcServer,
	},
	{
		ID: "LCP-BUILD-CLI", Kind: engine.Info, Anchor: "main: build = ",
		Patterns: []string{"main: build = <build> (<commit>)"},
		Facts:    map[fact.Key]string{fact.EngineVersion: "b<build>"},
		Source:   "examples/main/main.cpp of 2024",
	},
	{
		ID: "LCP-BUILD-2024", Kind: engine.Info, Anchor: "build info | ",
		Patterns: []string{`build=<build> commit="<commit>"`},
		Facts:    map[fact.Key]string{fact.EngineVersion: "b<build>"},
		Source:   "examples/server/server.cpp of early 2024",
	},
	{
		ID: "LCP-ROUTER", Kind: engine.Info, Anchor: "starting router server, no model",
		Facts:  map[fact.Key]string{fact.Role: "router"},
		Source: srcServer,
	},
	{
		ID: "LCP-PORT", Kind: engine.Mile, Anchor: "binding port with default address family",
		Phase: fact.Args, Name: portBound, Source: "tools/server/server-http.cpp",
	},
	{
		// Until mid-2025 this came before the model was loaded: not ready.
		ID: "LCP-PORT-EARLY", Kind: engine.Mile, Anchor: "HTTP server is listening, ",
		Patterns: []string{"hostname: <host>, port: <port>, http threads: "},
		Phase:    fact.Args, Name: portBound,
		Facts:  map[fact.Key]string{fact.Host: "<host>", fact.Port: "<port>"},
		Source: srcServer + " before b6000",
	},
	{
		ID: "LCP-PORT-2024", Kind: engine.Mile, Anchor: "main] HTTP server listening | ",
		Patterns: []string{`hostname="<host>"`},
		Phase:    fact.Args, Name: portBound,
		Facts:  map[fact.Key]string{fact.Host: "<host>"},
		Source: "examples/server/server.cpp of early 2024",
	},
	{
		ID: "LCP-LOAD", Kind: engine.Mile, Anchor: "load_model: loading model '",
		Patterns: []string{"load_model: loading model '<model>'"},
		Phase:    fact.Load, Name: loadBegun,
		Facts:  map[fact.Key]string{fact.Model: "<model>"},
		Source: srcSlots,
	},
	{
		ID: "LCP-LOAD-CLI", Kind: engine.Mile, Anchor: "main: load the model and apply lora adapter",
		Phase: fact.Load, Name: loadBegun, Source: "tools/main/main.cpp",
	},
	{
		ID: "LCP-LOAD-CLI-2024", Kind: engine.Mile, Anchor: "main: seed  = ",
		Phase: fact.Load, Name: loadBegun, Source: "examples/main/main.cpp of 2024",
	},
	{
		ID: "LCP-ARCH", Kind: engine.Info, Anchor: "print_info: arch ",
		Patterns: []string{"print_info: arch<_>= <arch>"},
		Facts:    map[fact.Key]string{fact.Arch: "<arch>"},
		Source:   srcModel,
	},
	{
		ID: "LCP-ARCH-2024", Kind: engine.Info, Anchor: "llm_load_print_meta: arch ",
		Patterns: []string{"llm_load_print_meta: arch<_>= <arch>"},
		Facts:    map[fact.Key]string{fact.Arch: "<arch>"},
		Source:   "src/llama.cpp of 2024",
	},
	{
		ID: "LCP-FTYPE", Kind: engine.Info, Anchor: "print_info: file type ",
		Patterns: []string{"print_info: file type<_>= <quant>"},
		Facts:    map[fact.Key]string{fact.Quant: "<quant>"},
		Source:   srcModel,
	},
	{
		ID: "LCP-FTYPE-2024", Kind: engine.Info, Anchor: "llm_load_print_meta: model ftype ",
		Patterns: []string{"llm_load_print_meta: model ftype<_>= <quant>"},
		Facts:    map[fact.Key]string{fact.Quant: "<quant>"},
		Source:   "src/llama.cpp of 2024",
	},
	{
		// The first device stands for all of its kind; CPU buffers are no GPU memory.
		ID: "LCP-WEIGHTS", Kind: engine.Info, Anchor: "0 model buffer size = ",
		Patterns: []string{": <device>0 model buffer size = <size> MiB"},
		Facts:    map[fact.Key]string{fact.WeightsGB: "<size> MiB"},
		Source:   srcModel,
	},
	{
		ID: "LCP-CONTEXT", Kind: engine.Mile, Anchor: "constructing llama_context",
		Phase: fact.KVAlloc, Name: contextCreated, Source: srcContext,
	},
	{
		ID: "LCP-CTX", Kind: engine.Info, Anchor: "llama_context: n_ctx  ",
		Patterns: []string{"llama_context: n_ctx <_>= <cells>"},
		Facts:    map[fact.Key]string{fact.KVTokens: "<cells>"},
		Source:   srcContext,
	},
	{
		ID: "LCP-CTX-2025", Kind: engine.Mile, Anchor: "llama_init_from_model: n_ctx  ",
		Patterns: []string{"llama_init_from_model: n_ctx <_>= <cells>"},
		Phase:    fact.KVAlloc, Name: contextCreated,
		Facts:  map[fact.Key]string{fact.KVTokens: "<cells>"},
		Source: "src/llama.cpp of early 2025",
	},
	{
		ID: "LCP-CTX-2024", Kind: engine.Mile, Anchor: "llama_new_context_with_model: n_ctx  ",
		Patterns: []string{"llama_new_context_with_model: n_ctx <_>= <cells>"},
		Phase:    fact.KVAlloc, Name: contextCreated,
		Facts:  map[fact.Key]string{fact.KVTokens: "<cells>"},
		Source: "src/llama.cpp of 2024",
	},
	{
		ID: "LCP-KV", Kind: engine.Mile, Anchor: "llama_kv_cache: size = ",
		Patterns: []string{"size = <size> MiB (<_>), K (<k>): <_> MiB, V (<v>): "},
		Phase:    fact.KVAlloc, Name: kvAllocated,
		Facts:  map[fact.Key]string{fact.KVGB: "<size> MiB", fact.KVDType: "<k>"},
		Source: srcKV,
	},
	{
		ID: "LCP-KV-UNIFIED", Kind: engine.Mile, Anchor: "llama_kv_cache_unified: size = ",
		Patterns: []string{"size = <size> MiB (<_>), K (<k>): <_> MiB, V (<v>): "},
		Phase:    fact.KVAlloc, Name: kvAllocated,
		Facts:  map[fact.Key]string{fact.KVGB: "<size> MiB", fact.KVDType: "<k>"},
		Source: "src/llama-kv-cache-unified.cpp of 2025",
	},
	{
		ID: "LCP-KV-2025", Kind: engine.Mile, Anchor: "llama_init_from_model: KV self size",
		Patterns: []string{"KV self size <_>= <size> MiB, K (<k>): <_> MiB, V (<v>): "},
		Phase:    fact.KVAlloc, Name: kvAllocated,
		Facts:  map[fact.Key]string{fact.KVGB: "<size> MiB", fact.KVDType: "<k>"},
		Source: "src/llama.cpp of early 2025",
	},
	{
		ID: "LCP-KV-2024", Kind: engine.Mile, Anchor: "llama_new_context_with_model: KV self size",
		Patterns: []string{"KV self size <_>= <size> MiB, K (<k>): <_> MiB, V (<v>): "},
		Phase:    fact.KVAlloc, Name: kvAllocated,
		Facts:  map[fact.Key]string{fact.KVGB: "<size> MiB", fact.KVDType: "<k>"},
		Source: "src/llama.cpp of 2024",
	},
	{
		ID: "LCP-BUFFERS", Kind: engine.Mile, Anchor: ": graph splits = ",
		Phase: fact.KVAlloc, Name: buffersReady, Source: srcContext,
	},
	{
		ID: "LCP-THREADS", Kind: engine.Mile, Anchor: "llama threadpool init",
		Phase: fact.Warmup, Name: threadsStarted, Source: srcCommon,
	},
	{
		ID: "LCP-WARMUP", Kind: engine.Mile, Anchor: ": warming up the model with an empty run",
		Phase: fact.Warmup, Name: warmupBegun, Source: srcCommon,
	},
	{
		ID: "LCP-SLOTS", Kind: engine.Mile, Anchor: "initializing, n_slots = ",
		Patterns: []string{"n_slots = <slots>, n_ctx_slot = <ctx>, kv_unified = '<unified>'"},
		Phase:    fact.Warmup, Name: slotsReady,
		Facts: map[fact.Key]string{fact.MaxRunning: "<slots>", fact.CtxLen: "<ctx>"},
		Since: "b9000", Source: srcSlots,
	},
	{
		ID: "LCP-SLOTS-2024", Kind: engine.Mile, Anchor: "initializing slots, n_slots = ",
		Patterns: []string{"n_slots = <slots>"},
		Phase:    fact.Warmup, Name: slotsReady,
		Facts:  map[fact.Key]string{fact.MaxRunning: "<slots>"},
		Source: srcSlots,
	},
	{
		ID: "LCP-SLOT", Kind: engine.Info, Anchor: "| new slot",
		Patterns: []string{"new slot, n_ctx = <ctx>", "new slot n_ctx_slot = <ctx>"},
		Facts:    map[fact.Key]string{fact.CtxLen: "<ctx>"},
		Source:   srcSlots,
	},
	{
		ID: "LCP-LOADED", Kind: engine.Mile, Anchor: ": model loaded",
		Phase: fact.Warmup, Name: modelLoaded, Source: srcServer,
	},
	{
		ID: "LCP-LOADED-2024", Kind: engine.Mile, Anchor: "main] model loaded | ",
		Phase: fact.Warmup, Name: modelLoaded, Source: "examples/server/server.cpp of early 2024",
	},
	{
		ID: "LCP-READY", Kind: engine.Ready, Anchor: "listening on http",
		Patterns: []string{
			"listening on http<_>//<host>:<port> - starting the main loop",
			"listening on http<_>//<host>:<port>",
		},
		Phase: fact.Ready, Name: ready,
		Facts:  map[fact.Key]string{fact.Host: "<host>", fact.Port: "<port>"},
		Source: srcServer,
	},
	{
		ID: "LCP-READY-UNIX", Kind: engine.Ready, Anchor: "listening on unix:",
		Phase: fact.Ready, Name: ready, Source: srcServer,
	},
	{
		// The server of early 2024 said so only when it began to wait.
		ID: "LCP-READY-2024", Kind: engine.Ready, Anchor: "update_slots] all slots are idle",
		Phase: fact.Ready, Name: ready, Source: "examples/server/server.cpp of early 2024",
	},
	{
		ID: "LCP-READY-OLLAMA", Kind: engine.Ready, Anchor: `msg="llama runner started in `,
		Patterns: []string{`llama runner started in <seconds> seconds`},
		Phase:    fact.Ready, Name: ready,
		Facts:  map[fact.Key]string{fact.LoadSeconds: "<seconds>"},
		Source: srcOllama,
	},
	{
		ID: "LCP-SERVED", Kind: engine.Served, Anchor: "prompt eval time =",
		Source: "tools/server/server-context.cpp",
	},
	{
		ID: "LCP-SERVED-2024", Kind: engine.Served, Anchor: "prompt eval time   ",
		Source: "examples/server/server.cpp of early 2024",
	},
}
