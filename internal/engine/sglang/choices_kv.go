package sglang

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// kvChoices select the KV cache dtype and the prefix cache.
var kvChoices = []engine.Line{
	{
		ID: "SGL-KV-DSA-001", Kind: engine.Choice, Anchor: "Setting KV cache dtype to ",
		Patterns: []string{
			"Setting KV cache dtype to <dtype> for DeepSeek DSA on SM<major> device",
			"Setting KV cache dtype to <dtype> for <model>.",
		},
		Facts: map[fact.Key]string{fact.KVDType: "<dtype>", fact.GPUSM: "<major>.x"},
		Sets:  sets("kv_cache_dtype", "<dtype>", byModel),
		Why:   "With DeepSeek Sparse Attention `auto` means fp8_e4m3 from compute capability 10 on (consumer Blackwell too) and bfloat16 below; the user's bf16 is only spelled out.",
		Since: "0.5.6", Source: srcArgs,
	},
	{
		ID: "SGL-KV-MLA-001", Kind: engine.Choice, Anchor: "tokenspeed_mla required FP8 KV; setting --kv-cache-dtype=",
		Patterns: []string{"setting --kv-cache-dtype=<dtype>."},
		Facts:    map[fact.Key]string{fact.KVDType: "<dtype>"},
		Sets:     sets("kv_cache_dtype", "<dtype>", byCoupling, "attention_backend"),
		Why:      "The tokenspeed_mla backend has FP8 kernels only.",
		Since:    "0.5.23", Source: "sglang/srt/arg_groups/serving_hook.py",
	},
	{
		ID: "SGL-KV-TORCH-001", Kind: engine.Choice, Anchor: "--kv-cache-dtype falls back to 'auto'",
		Sets:   sets("kv_cache_dtype", "auto", byEnvironment),
		Why:    "This torch has no FP4 type, so the asked FP4 KV cache is dropped.",
		Source: srcRunner + " of 0.5.9 to 0.5.15",
	},
	{
		ID: "SGL-KV-CHUNKED-PREFIX-001", Kind: engine.Choice, Anchor: "Chunked prefix cache is turned on.",
		Sets:   sets("disable_chunked_prefix_cache", "False", byModel),
		Why:    "The model has multi-head latent attention and its backend can reuse cached prefixes by chunk.",
		Source: srcRunner,
	},
	{
		ID: "SGL-KV-CHUNKED-PREFIX-002", Kind: engine.Choice, Anchor: "Disable chunked prefix cache ",
		Patterns: []string{"Disable chunked prefix cache when <reason>.", "Disable chunked prefix cache for <reason>."},
		Sets:     sets("disable_chunked_prefix_cache", "True", byCoupling, "attention_backend"),
		Why:      "Chunked reuse of cached prefixes needs multi-head latent attention and a backend that can do it.",
		Source:   srcRunner + " to 0.5.2",
	},
	{
		ID: "SGL-KV-SWA-001", Kind: engine.Choice, Anchor: " hybrid SWA memory for ",
		Patterns: []string{
			"Disable hybrid SWA memory for <model> as it is not yet supported",
			"Disable hybrid SWA memory for <model> model with <reason>",
			"Disabling hybrid SWA memory for <model> as it is not yet supported",
		},
		Sets:   sets("disable_hybrid_swa_memory", "True", byModel),
		Why:    "Sliding-window layers of this model get full-size KV memory, which lowers the token capacity.",
		Source: srcArgs,
	},
	{
		ID: "SGL-KV-SWA-002", Kind: engine.Info, Anchor: "Hybrid SWA model detected. architectures=",
		Patterns: []string{"Hybrid SWA model detected. architectures=['<arch>']"},
		Facts:    map[fact.Key]string{fact.Arch: "<arch>"},
		Since:    "0.5.18", Source: srcArgs,
	},
	{
		ID: "SGL-KV-SWA-003", Kind: engine.Info, Anchor: "Hybrid swa model: self.hf_config.architectures=",
		Patterns: []string{"Hybrid swa model: self.hf_config.architectures=['<arch>']"},
		Facts:    map[fact.Key]string{fact.Arch: "<arch>"},
		Source:   "sglang/srt/configs/model_config.py of 0.5.12 to 0.5.15",
	},
	{
		ID: "SGL-RADIX-PD-001", Kind: engine.Choice, Anchor: "is disabled for decode server",
		Patterns: []string{"Radix cache is disabled for decode server"},
		Facts:    map[fact.Key]string{fact.Role: "decode"},
		Sets:     sets("disable_radix_cache", "True", byCoupling, "disaggregation_mode"),
		Why:      "A decode server receives its KV cache from prefill servers and keeps no prefixes.",
		Since:    "0.5.23", Source: "sglang/srt/arg_groups/pd_disaggregation_hook.py",
	},
	{
		ID: "SGL-RADIX-PD-002", Kind: engine.Choice, Anchor: "KV cache is forced as chunk cache for decode server",
		Facts:  map[fact.Key]string{fact.Role: "decode"},
		Sets:   sets("disable_radix_cache", "True", byCoupling, "disaggregation_mode"),
		Why:    "A decode server receives its KV cache from prefill servers and keeps no prefixes.",
		Source: "sglang/srt/arg_groups/pd_disaggregation_hook.py to 0.5.18",
	},
	{
		ID: "SGL-RADIX-DETERMINISTIC-001", Kind: engine.Choice, Anchor: "Currently radix cache is not compatible with ",
		Patterns: []string{"Currently radix cache is not compatible with <backend> attention backend for deterministic inference"},
		Sets:     sets("disable_radix_cache", "True", byCoupling, "enable_deterministic_inference", "attention_backend"),
		Why:      "With this backend a cached prefix would change the results.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-RADIX-MAMBA-001", Kind: engine.Choice, Anchor: "Disabling radix cache since ",
		Patterns: []string{"Disabling radix cache since <reason>"},
		Sets:     sets("disable_radix_cache", "True", byCoupling, "attention_backend"),
		Why:      "The radix cache of this model needs a page size or a mode that the other settings exclude.",
		Source:   srcArgs + " to 0.5.12",
	},
	{
		ID: "SGL-RADIX-ARCH-001", Kind: engine.Choice, Anchor: "Disabling Radix Cache for ",
		Patterns: []string{"Disabling Radix Cache for <model> as it is not yet supported"},
		Sets:     sets("disable_radix_cache", "True", byModel),
		Why:      "This model family has no prefix cache.",
		Source:   srcArgs + " to 0.5.12",
	},
	{
		ID: "SGL-RADIX-IMPL-001", Kind: engine.Info, Anchor: "Tree cache initialized: source=",
		Patterns: []string{"Tree cache initialized: source=<source> impl=<impl> "},
		Source:   "sglang/srt/mem_cache/registry.py",
	},
}
