package llamacpp

import "shakedown/internal/engine"

// choiceLines are the settings that the program chooses or replaces itself.
var choiceLines = []engine.Line{
	{
		ID: "LCP-PARALLEL-001", Kind: engine.Choice, Anchor: "n_parallel is set to auto",
		Patterns: []string{"using n_parallel = <slots> and kv_unified = <unified>"},
		Sets: []engine.Set{
			{Setting: "parallel", Value: "<slots>", By: "default"},
			{Setting: "kv_unified", Value: "<unified>", By: "coupling", From: []string{"parallel"}},
		},
		Why:    "without --parallel the server opens 4 slots that share one KV cache",
		Source: srcServer,
	},
	{
		ID: "LCP-CTX-001", Kind: engine.Choice, Anchor: "exceeds the training context of the model",
		Patterns: []string{"the slot context (<slot>) exceeds the training context of the model (<trained>) - capping"},
		Sets:     []engine.Set{{Setting: "ctx_size", Value: "<trained>", By: "model"}},
		Why:      "a slot never gets more context than the model was trained with; the memory for the larger one is taken all the same",
		Source:   srcSlots,
	},
	{
		ID: "LCP-CTX-002", Kind: engine.Choice, Anchor: "context size reduced from ",
		Patterns: []string{"context size reduced from <from> to <to> -> need <_> MiB less memory"},
		Sets:     []engine.Set{{Setting: "ctx_size", Value: "<to>", By: "hardware"}},
		Why:      "without --ctx-size the context shrinks until the model fits into the free device memory (--fit)",
		Source:   srcFit,
	},
	{
		ID: "LCP-CTX-003", Kind: engine.Choice, Anchor: "n_ctx is not divisible by n_seq_max",
		Patterns: []string{"rounding down to <ctx>"},
		Sets:     []engine.Set{{Setting: "ctx_size", Value: "<ctx>", By: "coupling", From: []string{"parallel"}}},
		Why:      "the context is divided evenly among the slots",
		Source:   srcContext,
	},
	{
		ID: "LCP-FA-001", Kind: engine.Choice, Anchor: "Flash Attention was auto, set to ",
		Patterns: []string{"Flash Attention was auto, set to <state>"},
		Sets:     []engine.Set{{Setting: "flash_attn", Value: "<state>", By: "hardware"}},
		Why:      "--flash-attn auto switches it on where the device that holds a layer can also run its attention",
		Source:   srcContext,
	},
	{
		ID: "LCP-FA-002", Kind: engine.Choice, Anchor: " - forcing off",
		Patterns: []string{"flash_attn <reason> - forcing off"},
		Sets:     []engine.Set{{Setting: "flash_attn", Value: "disabled", By: "model"}},
		Why:      "flash attention has no kernel for this model's attention",
		Source:   srcContext,
	},
	{
		ID: "LCP-BATCH-001", Kind: engine.Choice, Anchor: "setting n_batch = n_ubatch = ",
		Patterns: []string{"setting n_batch = n_ubatch = <size> to avoid assertion failure"},
		Sets:     []engine.Set{{Setting: "batch_size", Value: "<size>", By: "coupling", From: []string{"embedding", "ubatch_size"}}},
		Why:      "an embedding needs its whole prompt in one micro batch",
		Source:   srcServer,
	},
	{
		ID: "LCP-GPU-001", Kind: engine.Choice, Anchor: "--gpu-layers option will be ignored",
		Sets:   []engine.Set{{Setting: "n_gpu_layers", Value: "0", By: "hardware"}},
		Why:    "the build has no usable GPU backend, so everything runs on the CPU",
		Source: srcArg,
	},
	{
		ID: "LCP-GPU-002", Kind: engine.Choice, Anchor: "ggml_cuda_init: failed to initialize ",
		Patterns: []string{"failed to initialize <backend>: <reason>"},
		Sets:     []engine.Set{{Setting: "device", Value: "CPU", By: "hardware"}},
		Why:      "the CUDA or ROCm runtime finds no device that it can use, so everything runs on the CPU",
		Source:   srcCUDA,
	},
	{
		ID: "LCP-TEMPLATE-001", Kind: engine.Choice, Anchor: "(defaulting to chatml)",
		Patterns: []string{"failed to parse chat template (defaulting to chatml): <reason>"},
		Sets:     []engine.Set{{Setting: "chat_template", Value: "chatml", By: "model"}},
		Why:      "the model's own chat template cannot be parsed; prompts are built as ChatML, which the model may not know",
		Source:   "common/chat.cpp",
	},
	{
		ID: "LCP-TEMPLATE-002", Kind: engine.Choice, Anchor: "falling back to chatml",
		Sets:   []engine.Set{{Setting: "chat_template", Value: "chatml", By: "model"}},
		Why:    "the model's own chat template is not supported without --jinja; prompts are built as ChatML",
		Source: "examples/server/server.cpp before b4600",
	},
	{
		ID: "LCP-LOAD-001", Kind: engine.Choice, Anchor: "direct I/O is enabled, disabling mmap",
		Sets:   []engine.Set{{Setting: "mmap", Value: "false", By: "coupling", From: []string{"direct_io"}}},
		Why:    "direct I/O reads the file past the page cache, so it cannot be mapped",
		Source: "src/llama-model-loader.cpp",
	},
	{
		ID: "LCP-SWA-001", Kind: engine.Choice, Anchor: "swa_full is not supported by this model",
		Sets:   []engine.Set{{Setting: "swa_full", Value: "false", By: "model"}},
		Why:    "the model has no sliding window attention",
		Source: srcSlots,
	},
	{
		ID: "LCP-SHIFT-001", Kind: engine.Choice, Anchor: "ctx_shift is not supported by",
		Sets:   []engine.Set{{Setting: "context_shift", Value: "false", By: "model"}},
		Why:    "the cache of this model cannot be shifted",
		Source: srcSlots,
	},
	{
		ID: "LCP-REUSE-001", Kind: engine.Choice, Anchor: "cache_reuse is not supported by",
		Sets:   []engine.Set{{Setting: "cache_reuse", Value: "0", By: "model"}},
		Why:    "parts of this model's cache cannot be moved, so they cannot be reused",
		Source: srcSlots,
	},
	{
		ID: "LCP-SPEC-001", Kind: engine.Choice, Anchor: "speculative decoding not supported by this context",
		Sets:   []engine.Set{{Setting: "spec_type", Value: "none", By: "model"}},
		Why:    "a recurrent or hybrid cache cannot take back rejected tokens",
		Source: srcSlots,
	},
	{
		ID: "LCP-SPEC-002", Kind: engine.Choice, Anchor: "failed to initialize speculative decoding context",
		Patterns: []string{"failed to initialize speculative decoding context: <reason>"},
		Sets:     []engine.Set{{Setting: "spec_type", Value: "none", By: "model"}},
		Why:      "the draft does not fit the model; the server goes on without speculation",
		Source:   srcSlots,
	},
}
