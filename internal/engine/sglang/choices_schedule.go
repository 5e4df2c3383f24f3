package sglang

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

const (
	srcSpeculative = srcArgs + ", speculative_hook.py"
	whyNoOverlap   = "The scheduler prepares a batch only when the one before it has ended, which costs speed and nothing else."
)

// scheduleChoices decide on scheduling and speculative decoding.
var scheduleChoices = []engine.Line{
	{
		ID: "SGL-OVERLAP-SPEC-001", Kind: engine.Choice, Anchor: "Overlap scheduler is disabled because of using ",
		Patterns: []string{"Overlap scheduler is disabled because of using <what> speculative decoding"},
		Sets:     sets("disable_overlap_schedule", "True", byCoupling, "speculative_algorithm"),
		Why:      whyNoOverlap,
		Source:   srcSpeculative + " to 0.5.8",
	},
	{
		ID: "SGL-OVERLAP-SPEC-002", Kind: engine.Choice, Anchor: "Overlap scheduler is disabled when ",
		Patterns: []string{"Overlap scheduler is disabled when <reason>"},
		Sets:     sets("disable_overlap_schedule", "True", byCoupling, "speculative_algorithm"),
		Why:      whyNoOverlap,
		Since:    "0.5.8", Source: srcSpeculative,
	},
	{
		ID: "SGL-OVERLAP-SPEC-003", Kind: engine.Choice, Anchor: "The overlap scheduler and mixed chunked prefill are disabled ",
		Patterns: []string{"The overlap scheduler and mixed chunked prefill are disabled because of using <what> speculative decoding"},
		Sets: []engine.Set{
			{Setting: "disable_overlap_schedule", Value: "True", By: byCoupling, From: []string{"speculative_algorithm"}},
			{Setting: "enable_mixed_chunk", Value: "False", By: byCoupling, From: []string{"speculative_algorithm"}},
		},
		Why:    whyNoOverlap,
		Source: srcSpeculative + " of 0.5.9 to 0.5.12",
	},
	{
		ID: "SGL-OVERLAP-SPEC-004", Kind: engine.Choice, Anchor: "The radix cache, chunked prefill, and overlap scheduler are disabled",
		Sets: []engine.Set{
			{Setting: "disable_radix_cache", Value: "True", By: byCoupling, From: []string{"speculative_algorithm"}},
			{Setting: "chunked_prefill_size", Value: "-1", By: byCoupling, From: []string{"speculative_algorithm"}},
			{Setting: "disable_overlap_schedule", Value: "True", By: byCoupling, From: []string{"speculative_algorithm"}},
		},
		Why:    "EAGLE worked without them at that time.",
		Source: srcArgs + " of 0.4.1",
	},
	{
		ID: "SGL-OVERLAP-SPEC-005", Kind: engine.Choice, Anchor: "decoding and overlap schedule is turned on.",
		Patterns: []string{
			"Spec v2 is enabled for <what> speculative decoding and overlap schedule is turned on.",
			"Beta spec is enabled for <what> speculative decoding and overlap schedule is turned on.",
		},
		Sets:   sets("disable_overlap_schedule", "False", byEnvironment),
		Why:    "SGLANG_ENABLE_SPEC_V2 selects the worker that overlaps.",
		Source: srcSpeculative + " to 0.5.10",
	},
	{
		ID: "SGL-OVERLAP-SPEC-006", Kind: engine.Info, Anchor: "Spec v2 is enabled by default ",
		Source: srcSpeculative + " of 0.5.12",
	},
	{
		ID: "SGL-OVERLAP-SPEC-007", Kind: engine.Choice, Anchor: "Spec v1 is used for ",
		Patterns: []string{"Spec v1 is used for <what> speculative decoding because <reason>."},
		Sets:     sets("disable_overlap_schedule", "True", byCoupling, "speculative_eagle_topk"),
		Why:      whyNoOverlap,
		Source:   srcSpeculative + " of 0.5.12",
	},
	{
		ID: "SGL-OVERLAP-MAMBA-001", Kind: engine.Choice, Anchor: "Disabling overlap schedule since ",
		Patterns: []string{"Disabling overlap schedule since <reason>, try to use "},
		Sets:     sets("disable_overlap_schedule", "True", byCoupling, "mamba_scheduler_strategy", "disable_radix_cache"),
		Why:      whyNoOverlap,
		Source:   srcArgs + " to 0.5.12",
	},
	{
		ID: "SGL-OVERLAP-PP-001", Kind: engine.Choice, Anchor: "Pipeline parallelism is incompatible with overlap schedule",
		Sets:   sets("disable_overlap_schedule", "True", byCoupling, "pp_size"),
		Why:    whyNoOverlap,
		Source: srcArgs,
	},
	{
		ID: "SGL-OVERLAP-MODEL-001", Kind: engine.Choice, Anchor: "Overlap scheduler is disabled for ",
		Patterns: []string{"Overlap scheduler is disabled for <kind> models"},
		Sets:     sets("disable_overlap_schedule", "True", byModel),
		Why:      whyNoOverlap,
		Source:   srcScheduler + " to 0.5.2",
	},
	{
		ID: "SGL-MIXED-SPEC-001", Kind: engine.Choice, Anchor: "ixed chunked prefill is disabled ",
		Patterns: []string{
			"Mixed chunked prefill is disabled because of using <what>.",
			"Mixed chunked prefill is disabled for <what>.",
		},
		Sets:   sets("enable_mixed_chunk", "False", byCoupling, "speculative_algorithm"),
		Why:    "Speculative decoding has no mixed batches.",
		Source: srcSpeculative,
	},
	{
		ID: "SGL-MIXED-SPEC-002", Kind: engine.Choice, Anchor: "The mixed chunked prefill are disabled ",
		Sets:  sets("enable_mixed_chunk", "False", byCoupling, "speculative_algorithm"),
		Why:   "Speculative decoding has no mixed batches.",
		Since: "0.5.15", Source: srcSpeculative,
	},
	{
		ID: "SGL-RUNNING-SPEC-001", Kind: engine.Choice, Anchor: "Max running requests is reset to ",
		Patterns: []string{"Max running requests is reset to <running> for speculative decoding"},
		Facts:    map[fact.Key]string{fact.MaxRunning: "<running>"},
		Sets:     sets("max_running_requests", "<running>", byCoupling, "speculative_algorithm"),
		Why:      "Without an asked value speculative decoding limits the concurrent requests.",
		Source:   srcSpeculative,
	},
	{
		ID: "SGL-SPEC-DRAFT-001", Kind: engine.Choice, Anchor: "speculative_num_draft_tokens is set to ",
		Patterns: []string{"speculative_num_draft_tokens is set to <tokens> by default for"},
		Sets:     sets("speculative_num_draft_tokens", "<tokens>", byDefault),
		Why:      "No number of draft tokens was asked for.",
		Since:    "0.5.8", Source: srcSpeculative,
	},
	{
		ID: "SGL-SPEC-DRAFT-004", Kind: engine.Choice, Anchor: "speculative_num_draft_tokens is not set; defaulting to ",
		Patterns: []string{"speculative_num_draft_tokens is not set; defaulting to <tokens> for"},
		Sets:     sets("speculative_num_draft_tokens", "<tokens>", byDefault),
		Why:      "No number of draft tokens was asked for.",
		Since:    "0.5.12", Source: srcSpeculative,
	},
	{
		// The number itself is not printed.
		ID: "SGL-SPEC-DRAFT-002", Kind: engine.Info, Anchor: "is adjusted to speculative_num_steps + 1",
		Source: srcSpeculative,
	},
	{
		ID: "SGL-SPEC-DRAFT-003", Kind: engine.Choice, Anchor: " only supports speculative_",
		Patterns: []string{"only supports speculative_eagle_topk == 1; overriding speculative_eagle_topk=<asked> to <topk>."},
		Sets:     sets("speculative_eagle_topk", "<topk>", byCoupling, "speculative_algorithm"),
		Why:      "This draft method proposes a single chain.",
		Since:    "0.5.12", Source: srcSpeculative,
	},
	{
		ID: "SGL-SPEC-V2-001", Kind: engine.Info, Anchor: "SGLANG_ENABLE_SPEC_V2 has been removed",
		Since: "0.5.15", Source: srcSpeculative,
	},
	{
		ID: "SGL-CHUNK-DP-001", Kind: engine.Choice, Anchor: "DP attention is enabled. ",
		Patterns: []string{
			"DP attention is enabled. chunked prefill size is adjusted from <_> to <chunk>.",
			"DP attention is enabled. The chunked prefill size is adjusted to <chunk> to avoid MoE kernel issues",
		},
		Sets:   sets("chunked_prefill_size", "<chunk>", byCoupling, "enable_dp_attention", "dp_size"),
		Why:    "Every attention replica prefills its share of the chunk.",
		Source: srcArgs,
	},
	{
		ID: "SGL-CHUNK-MODEL-001", Kind: engine.Choice, Anchor: "Automatically turn of",
		Patterns: []string{
			"Automatically turn off --chunked-prefill-size <reason>",
			"Automatically turn of --chunked-prefill-size <reason>",
		},
		Sets:   sets("chunked_prefill_size", "-1", byModel),
		Why:    "This model cannot prefill a prompt in pieces.",
		Source: srcRunner,
	},
	{
		ID: "SGL-SAMPLING-DETERMINISTIC-001", Kind: engine.Choice, Anchor: "Sampling backend is set to pytorch for deterministic inference",
		Sets:  sets("sampling_backend", "pytorch", byCoupling, "enable_deterministic_inference"),
		Why:   "The other sampling kernels do not repeat their results.",
		Since: "0.5.6", Source: srcArgs,
	},
	{
		ID: "SGL-SAMPLING-MODEL-001", Kind: engine.Info, Anchor: "Using default chat sampling params from model generation config: ",
		Patterns: []string{"Using default chat sampling params from model generation config: <params>"},
		Source:   "sglang/srt/entrypoints/openai/serving_chat.py",
	},
	{
		ID: "SGL-PARSER-001", Kind: engine.Choice, Anchor: "The tool_call_parser '",
		Patterns: []string{"The tool_call_parser '<asked>' is deprecated. Please use '<parser>' instead"},
		Sets:     sets("tool_call_parser", "<parser>", byDefault),
		Why:      "The asked name is an old one of the same parser.",
		Source:   srcArgs,
	},
	{
		ID: "SGL-LORA-TARGET-001", Kind: engine.Info, Anchor: "does not yet support embedding or lm_head layers",
		Patterns: []string{"LoRA backend '<backend>' does not yet support embedding or lm_head layers"},
		Source:   srcArgs,
	},
}
