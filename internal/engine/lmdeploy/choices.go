package lmdeploy

import "shakedown/internal/engine"

// choiceLines are the settings that the program chooses or replaces itself.
var choiceLines = []engine.Line{
	{
		ID: "LMD-BACKEND-001", Kind: engine.Choice, Anchor: "Fallback to pytorch engine because ",
		Patterns: []string{"Fallback to pytorch engine because <reason>"},
		Sets:     []engine.Set{{Setting: "backend", Value: "pytorch", By: "model"}},
		Why:      "TurboMind does not know the model or is not installed; the PyTorch engine is slower and has other settings",
		Source:   srcArchs,
	},
	{
		ID: "LMD-DTYPE-001", Kind: engine.Choice, Anchor: "data type fallback to float16 since",
		Sets:   []engine.Set{{Setting: "dtype", Value: "float16", By: "hardware"}},
		Why:    "the GPU has no bfloat16; models trained in bfloat16 may overflow in float16",
		Source: "lmdeploy/turbomind/converter.py",
	},
	{
		ID: "LMD-PREFILL-001", Kind: engine.Choice, Anchor: "`max_context_token_num` is not set, default to ",
		Patterns: []string{"default to <tokens>."},
		Sets:     []engine.Set{{Setting: "max_prefill_token_num", Value: "<tokens>", By: "default"}},
		Why:      "without max_prefill_token_num one forward pass takes the context length or a fixed maximum",
		Source:   srcTurboCPP,
	},
	{
		ID: "LMD-PREFILL-002", Kind: engine.Choice, Anchor: "No enough memory. Update max_prefill_token_num=",
		Patterns: []string{"Update max_prefill_token_num=<tokens>"},
		Sets:     []engine.Set{{Setting: "max_prefill_token_num", Value: "<tokens>", By: "hardware"}},
		Why:      "the activations of a full prefill do not fit beside the weights, so prefills become shorter",
		Source:   srcExecutor,
	},
	{
		ID: "LMD-SESSION-001", Kind: engine.Choice, Anchor: "`session_len` is not set, default to ",
		Patterns: []string{"default to <length>."},
		Sets:     []engine.Set{{Setting: "session_len", Value: "<length>", By: "model"}},
		Why:      "without session_len the model's own context length is used",
		Source:   srcTriton,
	},
	{
		ID: "LMD-SESSION-002", Kind: engine.Choice, Anchor: "No enough blocks for `session_len`",
		Patterns: []string{"No enough blocks for `session_len` (<asked>), `session_len` truncated to <length>."},
		Sets:     []engine.Set{{Setting: "session_len", Value: "<length>", By: "hardware"}},
		Why:      "a request cannot be longer than the KV cache that the free memory allows",
		Source:   srcBatch,
	},
	{
		ID: "LMD-BATCH-001", Kind: engine.Choice, Anchor: "Update max_batch_size to ",
		Patterns: []string{"Update max_batch_size to <size> since"},
		Sets:     []engine.Set{{Setting: "max_batch_size", Value: "<size>", By: "coupling", From: []string{"dllm_block_length", "max_prefill_token_num"}}},
		Why:      "the blocks of all requests of a diffusion model must fit into one prefill",
		Source:   srcBuilder,
	},
	{
		ID: "LMD-BLOCK-001", Kind: engine.Choice, Anchor: "Update `block_size=",
		Patterns: []string{"Update `block_size=<size>` for large `head_dim="},
		Sets:     []engine.Set{{Setting: "block_size", Value: "<size>", By: "model"}},
		Why:      "large attention heads need smaller cache blocks for the kernel's shared memory",
		Source:   srcExecutor,
	},
	{
		ID: "LMD-BLOCK-002", Kind: engine.Choice, Anchor: "Force `block_size=",
		Patterns: []string{"Force `block_size=<size>` and `kernel_block_size="},
		Sets:     []engine.Set{{Setting: "block_size", Value: "<size>", By: "hardware"}},
		Why:      "the attention kernel of this device takes one block size only",
		Source:   srcExecutor,
	},
	{
		ID: "LMD-DP-001", Kind: engine.Choice, Anchor: "Data parallelism is enabled but tensor parallelism",
		Sets:   []engine.Set{{Setting: "dp", Value: "1", By: "coupling", From: []string{"tp", "ep"}}},
		Why:    "data parallelism of the PyTorch engine works only together with tensor or expert parallelism",
		Source: srcBuilder,
	},
	{
		ID: "LMD-PREFIX-001", Kind: engine.Choice, Anchor: "Prefix caching is disabled for this VL model path",
		Sets:   []engine.Set{{Setting: "enable_prefix_caching", Value: "False", By: "model"}},
		Why:    "this multimodal model's inputs cannot be matched against the cache",
		Source: "lmdeploy/serve/core/vl_async_engine.py",
	},
	{
		ID: "LMD-PREFIX-002", Kind: engine.Choice, Anchor: "Prefix caching is not available for window attention",
		Sets:   []engine.Set{{Setting: "enable_prefix_caching", Value: "False", By: "model"}},
		Why:    "blocks outside the attention window are freed, so they cannot be found again",
		Source: "lmdeploy/pytorch/config.py",
	},
	{
		ID: "LMD-PREFIX-003", Kind: engine.Choice, Anchor: "prefix caching is not supported",
		Sets:   []engine.Set{{Setting: "enable_prefix_caching", Value: "False", By: "coupling"}},
		Why:    "sliding windows and disaggregated serving exclude prefix caching",
		Source: srcExecutor,
	},
	{
		ID: "LMD-SPEC-001", Kind: engine.Choice, Anchor: "speculative decoding is not supported by turbomind",
		Sets:   []engine.Set{{Setting: "speculative_config", Value: "None", By: "coupling", From: []string{"backend"}}},
		Why:    "only the PyTorch engine speculates",
		Source: srcAsync,
	},
	{
		ID: "LMD-SAMPLING-001", Kind: engine.Choice, Anchor: "Using default generation config from ",
		Patterns: []string{"Using default generation config from <source>: <config>. Use `--generation-config lmdeploy`"},
		Sets:     []engine.Set{{Setting: "generation_config", Value: "<config>", By: "model"}},
		Why:      "requests without sampling fields get those of the model's generation_config.json",
		Since:    "0.14", Source: "lmdeploy/serve/core/generation_config.py",
	},
}
