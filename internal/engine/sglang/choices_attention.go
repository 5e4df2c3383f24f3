package sglang

import "shakedown/internal/engine"

// attentionChoices select attention backends and, through them, page sizes.
var attentionChoices = []engine.Line{
	{
		ID: "SGL-ATTN-DEFAULT-001", Kind: engine.Choice, Anchor: "Attention backend not specified. Use ",
		Patterns: []string{"Attention backend not specified. Use <backend> backend by default"},
		Sets:     sets("attention_backend", "<backend>", byHardware),
		Why:      "No attention backend was asked for, so the default of this GPU generation and model family is taken.",
		Since:    "0.5.8", Source: srcArgs,
	},
	{
		ID: "SGL-ATTN-DEFAULT-002", Kind: engine.Choice, Anchor: "Attention backend not explicitly specified. Use ",
		Patterns: []string{"Attention backend not explicitly specified. Use <backend> backend by default"},
		Sets:     sets("attention_backend", "<backend>", byHardware),
		Why:      "No attention backend was asked for, so the default of this GPU generation and model family is taken.",
		Source:   srcRunner + " of 0.5.2 to 0.5.6",
	},
	{
		ID: "SGL-ATTN-DEFAULT-003", Kind: engine.Choice, Anchor: "Attention backend not set. Use ",
		Patterns: []string{"Attention backend not set. Use <backend> backend by default"},
		Sets:     sets("attention_backend", "<backend>", byHardware),
		Why:      "No attention backend was asked for, so the default of this GPU generation and model family is taken.",
		Source:   srcRunner + " of 0.4",
	},
	{
		ID: "SGL-ATTN-DETERMINISTIC-001", Kind: engine.Choice, Anchor: "Attention backend not specified. Falling back to ",
		Patterns: []string{"Attention backend not specified. Falling back to '<backend>' for deterministic inference"},
		Sets:     sets("attention_backend", "<backend>", byCoupling, "enable_deterministic_inference"),
		Why:      "Deterministic inference allows only some backends.",
		Since:    "0.5.9", Source: srcArgs,
	},
	{
		ID: "SGL-ATTN-ARCH-001", Kind: engine.Choice, Anchor: " as attention backend on ",
		Patterns: []string{"Use <backend> as attention backend on <gpu> for <model>"},
		Sets:     sets("attention_backend", "<backend>", byHardware),
		Why:      "This model family has a backend of its own on this GPU generation.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-ATTN-ARCH-002", Kind: engine.Choice, Anchor: " as attention backend for ",
		Patterns: []string{"Using <backend> as attention backend for <model>", "Use <backend> as attention backend for <model>"},
		Sets:     sets("attention_backend", "<backend>", byModel),
		Why:      "This model family has a backend of its own.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-ATTN-ARCH-003", Kind: engine.Choice, Anchor: " as default attention backend for ",
		Patterns: []string{"Use <backend> as default attention backend for <model>"},
		Sets:     sets("attention_backend", "<backend>", byModel),
		Why:      "This model family has a default backend of its own.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-ATTN-DSA-001", Kind: engine.Choice, Anchor: " attention backend for DeepSeek ",
		Patterns: []string{
			"Use <backend> attention backend for DeepSeek with DSA",
			"Set <backend> attention backend for DeepSeek NSA",
		},
		Sets:   sets("attention_backend", "<backend>", byModel),
		Why:    "A model with DeepSeek Sparse Attention gets the sparse backend unless another one is asked for.",
		Source: srcArgs,
	},
	{
		ID: "SGL-ATTN-FP8-001", Kind: engine.Choice, Anchor: "FlashAttention3 only supports fp8_e4m3 if using FP8",
		Sets:   sets("attention_backend", "triton", byCoupling, "kv_cache_dtype"),
		Why:    "FlashAttention 3 has no fp8_e5m2 KV cache.",
		Source: srcArgs,
	},
	{
		ID: "SGL-ATTN-MLA-001", Kind: engine.Choice, Anchor: "MLA optimization is turned on. Use ",
		Patterns: []string{"MLA optimization is turned on. Use <backend> backend"},
		Sets:     sets("attention_backend", "<backend>", byModel),
		Why:      "The model has multi-head latent attention.",
		Source:   srcRunner + " to 0.5.2",
	},
	{
		ID: "SGL-ATTN-CPU-001", Kind: engine.Choice, Anchor: "The current platform does not support Intel ",
		Patterns: []string{"The current platform does not support Intel <unit>, will fallback to <backend> backend"},
		Sets:     sets("attention_backend", "<backend>", byHardware),
		Why:      "The Intel backend needs a matrix unit that this processor does not have.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-ATTN-HYBRID-001", Kind: engine.Choice, Anchor: "Using hybrid attention backend for decode and prefill: ",
		Patterns: []string{"Using hybrid attention backend for decode and prefill: decode_backend=<decode>, prefill_backend=<prefill>."},
		Sets: []engine.Set{
			{Setting: "decode_attention_backend", Value: "<decode>", By: byUnknown},
			{Setting: "prefill_attention_backend", Value: "<prefill>", By: byUnknown},
		},
		Why:    "Prefill and decode run on different backends.",
		Source: srcRunner,
	},
	{
		ID: "SGL-ATTN-DRAFT-001", Kind: engine.Choice, Anchor: "Overriding draft attention backend to ",
		Patterns: []string{"Overriding draft attention backend to <backend>."},
		Sets:     sets("speculative_draft_attention_backend", "<backend>", byUnknown),
		Why:      "The draft model runs on another attention backend than the target.",
		Since:    "0.5.9", Source: srcRunner,
	},
	{
		ID: "SGL-ATTN-MULTIMODAL-001", Kind: engine.Choice, Anchor: "Multimodal attention backend not set. Use ",
		Patterns: []string{"Multimodal attention backend not set. Use <backend>."},
		Sets:     sets("mm_attention_backend", "<backend>", byHardware),
		Why:      "No backend was asked for the vision encoder, so the default of this platform is taken.",
		Source:   "sglang/srt/layers/attention/vision.py",
	},
	{
		ID: "SGL-ATTN-LINEAR-001", Kind: engine.Choice, Anchor: "Linear attention kernel backend: ",
		Patterns: []string{"Linear attention kernel backend: decode=<decode>, prefill=<prefill>"},
		Sets: []engine.Set{
			{Setting: "linear_attn_decode_backend", Value: "<decode>", By: byUnknown},
			{Setting: "linear_attn_prefill_backend", Value: "<prefill>", By: byUnknown},
		},
		Why:    "The linear-attention layers of a hybrid model have kernels of their own.",
		Source: "sglang/srt/layers/attention/linear",
	},
	{
		ID: "SGL-ATTN-LINEAR-002", Kind: engine.Choice, Anchor: "defaulting --linear-attn-decode-backend to ",
		Patterns: []string{"defaulting --linear-attn-decode-backend to <backend>."},
		Sets:     sets("linear_attn_decode_backend", "<backend>", byCoupling, "mamba_ssm_dtype"),
		Why:      "The data type of the SSM state and the GPU generation decide the decode kernel of the linear-attention layers.",
		Since:    "0.5.12", Source: "sglang/srt/arg_groups/attention_hook.py, kimi_k3_hook.py",
	},
	{
		ID: "SGL-DSA-BACKENDS-001", Kind: engine.Choice, Anchor: "Set NSA backends for ",
		Patterns: []string{"Set NSA backends for <dtype> KV Cache: prefill=<prefill>, decode=<decode>."},
		Sets: []engine.Set{
			{Setting: "nsa_prefill_backend", Value: "<prefill>", By: byCoupling, From: []string{"kv_cache_dtype"}},
			{Setting: "nsa_decode_backend", Value: "<decode>", By: byCoupling, From: []string{"kv_cache_dtype"}},
		},
		Why:   "The KV cache dtype and the GPU generation decide the sparse-attention kernels.",
		Since: "0.5.9", Source: srcArgs,
	},
	{
		ID: "SGL-DSA-BACKENDS-002", Kind: engine.Choice, Anchor: "Set DSA backends for ",
		Patterns: []string{
			"Set DSA backends for <dtype> KV Cache: prefill=<prefill>, decode=<decode>.",
			"Set DSA backends for GLM <dtype> KV Cache on <gpu>: prefill=<prefill>, decode=<decode>.",
			"Set DSA backends for <what>: prefill=<prefill>, decode=<decode>, topk=",
			"Set DSA backends for <what>: prefill=<prefill>, decode=<decode>.",
		},
		Sets: []engine.Set{
			{Setting: "dsa_prefill_backend", Value: "<prefill>", By: byCoupling, From: []string{"kv_cache_dtype"}},
			{Setting: "dsa_decode_backend", Value: "<decode>", By: byCoupling, From: []string{"kv_cache_dtype"}},
		},
		Why:   "The KV cache dtype, the GPU generation and the model decide the sparse-attention kernels.",
		Since: "0.5.15", Source: srcArgs,
	},
	{
		// 0.5.8 wrote DSA here while its settings were still named nsa.
		ID: "SGL-DSA-BACKENDS-003", Kind: engine.Choice, Anchor: " for decode for FP8 KV Cache",
		Patterns: []string{
			"Setting DSA backend to <prefill> for prefill and <decode> for decode for FP8 KV Cache",
			"Setting NSA backend to <prefill> for prefill and <decode> for decode for FP8 KV Cache",
		},
		Sets: []engine.Set{
			{Setting: "nsa_prefill_backend", Value: "<prefill>", By: byCoupling, From: []string{"kv_cache_dtype"}},
			{Setting: "nsa_decode_backend", Value: "<decode>", By: byCoupling, From: []string{"kv_cache_dtype"}},
		},
		Why:   "The KV cache dtype decides the sparse-attention kernels, also over ones the user named.",
		Since: "0.5.6", Source: srcArgs,
	},
	{
		ID: "SGL-DSA-BACKENDS-004", Kind: engine.Choice, Anchor: "HiSparse enabled (",
		Patterns: []string{
			"HiSparse enabled (<dtype>): using DSA backends prefill=<prefill>, decode=<decode>.",
			"HiSparse enabled (<dtype>): using NSA backends prefill=<prefill>, decode=<decode>.",
		},
		Sets: []engine.Set{
			{Setting: "dsa_prefill_backend", Value: "<prefill>", By: byCoupling, From: []string{"enable_hisparse", "kv_cache_dtype"}},
			{Setting: "dsa_decode_backend", Value: "<decode>", By: byCoupling, From: []string{"enable_hisparse", "kv_cache_dtype"}},
		},
		Why:   "HiSparse and the KV cache dtype decide the sparse-attention kernels.",
		Since: "0.5.12", Source: srcArgs,
	},
	{
		ID: "SGL-DSA-MLA-001", Kind: engine.Choice, Anchor: "Force NSA prefill to use MLA (",
		Sets:   sets("SGLANG_NSA_FORCE_MLA", "True", byHardware),
		Why:    "Prefill of this model on Blackwell never takes the dense MHA path.",
		Source: srcArgs + " of 0.5.9",
	},
	{
		ID: "SGL-DSA-MLA-002", Kind: engine.Choice, Anchor: "Force NSA prefill to use sparse MLA (",
		Sets:   sets("SGLANG_NSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD", "0", byHardware),
		Why:    "Prefill of this model on Blackwell never takes the dense MHA path.",
		Source: srcArgs + " of 0.5.10 to 0.5.12",
	},
	{
		ID: "SGL-DSA-DENSE-001", Kind: engine.Choice, Anchor: "Set dense attention kv len threshold to model index_topk=",
		Patterns: []string{"Set dense attention kv len threshold to model index_topk=<topk> for DeepSeek with DSA"},
		Sets:     sets("SGLANG_DSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD", "<topk>", byModel),
		Why:      "Prompts up to the model's index_topk are prefilled densely, since sparse attention would select all of their tokens.",
		Since:    "0.5.10", Source: srcArgs,
	},
	{
		// DSA, and NSA in 0.5.6.
		ID: "SGL-DSA-TP-001", Kind: engine.Info, Anchor: "SA with TP mode is active, ",
		Patterns: []string{"SA with TP mode is active, <_>tp_size=<tp>, attn_tp_size=<attn>, "},
		Source:   srcArgs,
	},
	{
		ID: "SGL-DSA-DP-001", Kind: engine.Info, Anchor: "DP attention is enabled for DeepSeek NSA.",
		Source: srcArgs + " of 0.5.6",
	},
	{
		ID: "SGL-DSA-CP-001", Kind: engine.Choice, Anchor: "Enabled DSA context parallel: ",
		Patterns: []string{
			"Enabled DSA context parallel: strategy=<strategy>, <_>moe_dense_tp_size=<dense>, ep_size=<ep>, tp_size=<_>, attn_cp_size=<cp>, kv_cache_dtype=<_>, moe_a2a_backend=<a2a>, cuda_graph_config[prefill].backend=<graph>",
			"Enabled DSA context parallel: strategy=<strategy>, <_>moe_dense_tp_size=<dense>, ep_size=<ep>, tp_size=<_>, attn_cp_size=<cp>, kv_cache_dtype=<_>, moe_a2a_backend=<a2a>",
		},
		Sets: []engine.Set{
			{Setting: "moe_dense_tp_size", Value: "<dense>", By: byCoupling, From: []string{"enable_prefill_cp"}},
			{Setting: "ep_size", Value: "<ep>", By: byCoupling, From: []string{"enable_prefill_cp"}},
			{Setting: "attn_cp_size", Value: "<cp>", By: byCoupling, From: []string{"enable_prefill_cp"}},
			{Setting: "moe_a2a_backend", Value: "<a2a>", By: byCoupling, From: []string{"enable_prefill_cp"}},
			{Setting: "cuda_graph_backend_prefill", Value: "<graph>", By: byCoupling, From: []string{"enable_prefill_cp"}},
		},
		Why:   "Context parallelism in prefill fixes the other parallel sizes.",
		Since: "0.5.15", Source: srcArgs,
	},
	{
		ID: "SGL-DSA-CP-002", Kind: engine.Choice, Anchor: "Enable Context Parallel opt for deeeseekv3.2-DSA",
		Patterns: []string{"moe_dense_tp_size == <dense>, ep_size == <ep>, tp_size == <_>, kv_cache_dtype == <_>, moe_a2a_backend <a2a>"},
		Sets: []engine.Set{
			{Setting: "moe_dense_tp_size", Value: "<dense>", By: byCoupling, From: []string{"enable_nsa_prefill_context_parallel"}},
			{Setting: "ep_size", Value: "<ep>", By: byCoupling, From: []string{"enable_nsa_prefill_context_parallel"}},
			{Setting: "moe_a2a_backend", Value: "<a2a>", By: byCoupling, From: []string{"enable_nsa_prefill_context_parallel"}},
		},
		Why:    "Context parallelism in prefill fixes the other parallel sizes.",
		Source: srcArgs + " of 0.5.9 to 0.5.12",
	},
	{
		ID: "SGL-DSA-CP-003", Kind: engine.Info, Anchor: "Context parallel feature is still under experiment",
		Since: "0.5.9", Source: "sglang/srt/arg_groups/model_overrides/deepseek_v2.py",
	},
	{
		ID: "SGL-DSA-ASKED-001", Kind: engine.Info, Anchor: "you should also explicitly set --kv-cache-dtype",
		Patterns: []string{
			"When specifying --dsa-prefill-backend or --dsa-decode-backend, you should also",
			"When specifying --nsa-prefill-backend or --nsa-decode-backend, you should also",
		},
		Since: "0.5.9", Source: srcArgs,
	},
	{
		ID: "SGL-PAGE-DSA-001", Kind: engine.Choice, Anchor: "Setting page size to ",
		Patterns: []string{"Setting page size to <page> for <what>"},
		Sets:     sets("page_size", "<page>", byModel),
		Why:      "The kernels of this attention need this page size, whatever was asked for.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-PAGE-BACKEND-001", Kind: engine.Choice, Anchor: ", changing page_size from ",
		Patterns: []string{"only supports page<_>, changing page_size from <asked> to <page>.", "only supports a page_size of <_>, changing page_size from <asked> to <page>."},
		Sets:     sets("page_size", "<page>", byCoupling, "attention_backend"),
		Why:      "The attention backend supports only certain page sizes.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-PAGE-BACKEND-002", Kind: engine.Choice, Anchor: ", change page_size to ",
		Patterns: []string{"only supports a page_size of <_>, change page_size to <page>."},
		Sets:     sets("page_size", "<page>", byCoupling, "attention_backend"),
		Why:      "The attention backend supports only one page size.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-PAGE-MAMBA-001", Kind: engine.Choice, Anchor: "Automatically setting page_size=",
		Patterns: []string{"with radix cache requires page_size=<_>, but got <asked>. Automatically setting page_size=<page>."},
		Sets:     sets("page_size", "<page>", byCoupling, "mamba_scheduler_strategy", "disable_radix_cache"),
		Why:      "The radix cache of a Mamba hybrid works on single tokens in this scheduling mode.",
		Since:    "0.5.12", Source: srcArgs,
	},
}
