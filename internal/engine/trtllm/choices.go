package trtllm

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// choiceLines are the settings that the program chooses or replaces itself.
var choiceLines = []engine.Line{
	{
		ID: "TRT-SEQ-001", Kind: engine.Choice, Anchor: "max_seq_len is not specified, using inferred value ",
		Patterns: []string{"using inferred value <length>"},
		Sets:     []engine.Set{{Setting: "max_seq_len", Value: "<length>", By: "model"}},
		Why:      "without max_seq_len the model's own context length is used",
		Source:   srcModel,
	},
	{
		// Printed for the small cache of the profiling run, then for the final one.
		ID: "TRT-LIMITS-001", Kind: engine.Choice, Anchor: ", max_num_requests=",
		Patterns: []string{
			"max_seq_len=<seq>, max_num_requests=<requests>, max_num_tokens=<tokens>, max_batch_size=<batch>",
			"max_seq_len=<seq>, max_num_requests=<requests>, max_num_tokens=<tokens>",
		},
		Facts: map[fact.Key]string{fact.CtxLen: "<seq>", fact.MaxRunning: "<requests>"},
		Sets: []engine.Set{
			{Setting: "max_seq_len", Value: "<seq>", By: "default"},
			{Setting: "max_num_tokens", Value: "<tokens>", By: "default"},
			{Setting: "max_batch_size", Value: "<batch>", By: "default"},
		},
		Why:    "the executor prints the limits that it runs with",
		Source: srcUtil,
	},
	{
		ID: "TRT-SEQ-002", Kind: engine.Choice, Anchor: "Adjusted max_seq_len to ",
		Patterns: []string{"Adjusted max_seq_len to <length>"},
		Sets:     []engine.Set{{Setting: "max_seq_len", Value: "<length>", By: "hardware"}},
		Why:      "a sequence cannot be longer than the KV cache; the small cache of the profiling run says so on healthy servers too",
		Source:   srcResource,
	},
	{
		ID: "TRT-SEQ-003", Kind: engine.Choice, Anchor: "are too large for at least one sequence to fit in kvCache",
		Patterns: []string{"they are reduced to <length>"},
		Sets:     []engine.Set{{Setting: "max_seq_len", Value: "<length>", By: "hardware"}},
		Why:      "a sequence cannot be longer than the KV cache that the free memory allows",
		Source:   srcKV,
	},
	{
		ID: "TRT-WINDOW-001", Kind: engine.Choice, Anchor: " exceeds upper bound ",
		Patterns: []string{"Attention window size <asked> exceeds upper bound <_> for available blocks. Reducing to <window>."},
		Sets:     []engine.Set{{Setting: "kv_cache_config.max_attention_window", Value: "<window>", By: "hardware"}},
		Why:      "an attention window cannot be larger than the KV cache; the small cache of the profiling run says so on healthy servers too",
		Source:   srcResource,
	},
	{
		ID: "TRT-KV-001", Kind: engine.Choice, Anchor: `KV cache quantization set to "auto"`,
		Sets:   []engine.Set{{Setting: "kv_cache_config.dtype", Value: "as in the checkpoint", By: "checkpoint"}},
		Why:    "kv_cache_config.dtype auto takes the KV quantisation that the checkpoint names, else the model's dtype",
		Source: srcModel,
	},
	{
		ID: "TRT-KV-002", Kind: engine.Choice, Anchor: "KV cache block reuse is disabled",
		Sets:   []engine.Set{{Setting: "kv_cache_config.enable_block_reuse", Value: "False", By: "default"}},
		Why:    "block reuse was off by default before 0.18",
		Source: srcKV,
	},
	{
		ID: "TRT-SAMPLER-001", Kind: engine.Choice, Anchor: "Using Sampler: ",
		Patterns: []string{"Using Sampler: <sampler>"},
		Sets:     []engine.Set{{Setting: "sampler_type", Value: "<sampler>", By: "default"}},
		Why:      "sampler_type auto picks the sampler that the model and the decoding method allow",
		Source:   srcCreator,
	},
	{
		ID: "TRT-BACKEND-001", Kind: engine.Choice, Anchor: "PyTorchConfig(",
		Patterns: []string{
			"PyTorchConfig(<_>attn_backend='<attention>', moe_backend='<moe>'<_>kv_cache_dtype='<kv>'",
			"PyTorchConfig(<_>attn_backend='<attention>'<_>kv_cache_dtype='<kv>'",
		},
		Sets: []engine.Set{
			{Setting: "attn_backend", Value: "<attention>", By: "default"},
			{Setting: "moe_config.backend", Value: "<moe>", By: "default"},
			{Setting: "kv_cache_config.dtype", Value: "<kv>", By: "default"},
		},
		Why:    "the PyTorch backend prints the configuration that it runs with",
		Source: "tensorrt_llm/_torch/pyexecutor/config.py before 1.1",
	},
	{
		ID: "TRT-BUILD-001", Kind: engine.Choice, Anchor: "The build_config is ignored for model format of ",
		Patterns: []string{"for model format of <format>."},
		Sets:     []engine.Set{{Setting: "build_config", Value: "ignored", By: "checkpoint"}},
		Why:      "an engine file was built already, with limits of its own",
		Source:   srcArgs,
	},
	{
		ID: "TRT-CHECKPOINT-001", Kind: engine.Choice, Anchor: "checkpoint_format will be set to ",
		Patterns: []string{"checkpoint_format will be set to <format>."},
		Sets:     []engine.Set{{Setting: "checkpoint_format", Value: "<format>", By: "default"}},
		Why:      "the default when neither a format nor a loader is given",
		Source:   srcArgs,
	},
	{
		ID: "TRT-FMHA-001", Kind: engine.Choice, Anchor: "Fall back to unfused MHA",
		Sets:   []engine.Set{{Setting: "context_fmha", Value: "False", By: "hardware"}},
		Why:    "no fused attention kernel exists for this GPU, head size and dtype; the unfused one is slower and takes more memory",
		Source: "cpp/tensorrt_llm/common/attentionOp.cpp",
	},
	{
		ID: "TRT-SCHEDULER-001", Kind: engine.Choice, Anchor: "Capacity Scheduler Policy: ",
		Patterns: []string{"Capacity Scheduler Policy: <policy>"},
		Sets:     []engine.Set{{Setting: "scheduler_config.capacity_scheduler_policy", Value: "<policy>", By: "default"}},
		Why:      "decides whether a running request may be pushed out of the KV cache",
		Source:   "cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp",
	},
}
