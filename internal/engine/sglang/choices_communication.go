package sglang

import "shakedown/internal/engine"

// communicationChoices select collectives between the ranks.
var communicationChoices = []engine.Line{
	{
		ID: "SGL-COMM-FUSION-001", Kind: engine.Choice, Anchor: "Auto-enabling FlashInfer AllReduce Fusion (",
		Patterns: []string{"Auto-enabling FlashInfer AllReduce Fusion (<backend>) for <model>"},
		Sets:     sets("flashinfer_allreduce_fusion_backend", "<backend>", byHardware),
		Why:      "This model family fuses all-reduce and norm on this GPU generation.",
		Since:    "0.5.23", Source: srcArgs,
	},
	{
		// From 0.5.15 the switch is replaced by flashinfer_allreduce_fusion_backend.
		ID: "SGL-COMM-FUSION-002", Kind: engine.Choice, Anchor: " FlashInfer AllReduce Fusion on ",
		Patterns: []string{
			"Auto-enabling FlashInfer AllReduce Fusion on <gpu> for <model>",
			"Enable FlashInfer AllReduce Fusion on <gpu> for <model>",
		},
		Sets:   sets("enable_flashinfer_allreduce_fusion", "True", byHardware),
		Why:    "This model family fuses all-reduce and norm on this GPU generation.",
		Source: srcArgs + " to 0.5.18",
	},
	{
		ID: "SGL-COMM-FUSION-003", Kind: engine.Choice, Anchor: "Enable Aiter AllReduce Fusion ",
		Patterns: []string{"Enable Aiter AllReduce Fusion on decode phase for <model>", "Enable Aiter AllReduce Fusion for <model>"},
		Sets:     sets("enable_aiter_allreduce_fusion", "True", byHardware),
		Why:      "This model family fuses all-reduce and norm on ROCm.",
		Since:    "0.5.9", Source: srcArgs,
	},
	{
		ID: "SGL-COMM-FUSION-004", Kind: engine.Choice, Anchor: "FlashInfer allreduce fusion is forcibly disabled via ",
		Sets:  sets("flashinfer_allreduce_fusion_backend", "None", byCoupling, "enforce_disable_flashinfer_allreduce_fusion"),
		Why:   "A switch that the user or deterministic inference sets turns the fusion off.",
		Since: "0.5.12", Source: srcArgs,
	},
	{
		ID: "SGL-COMM-DETERMINISTIC-001", Kind: engine.Choice, Anchor: "NCCL_ALGO is set to 'allreduce:tree'",
		Sets: []engine.Set{
			{Setting: "NCCL_ALGO", Value: "allreduce:tree", By: byCoupling, From: []string{"enable_deterministic_inference"}},
			{Setting: "disable_custom_all_reduce", Value: "True", By: byCoupling, From: []string{"enable_deterministic_inference"}},
		},
		Why:    "Only this all-reduce adds in the same order every time.",
		Source: srcArgs,
	},
	{
		ID: "SGL-COMM-CUSTOM-001", Kind: engine.Choice, Anchor: "Custom allreduce is disabled because ",
		Patterns: []string{"Custom allreduce is disabled because <reason>. To silence", "Custom allreduce is disabled because <reason>"},
		Sets:     sets("disable_custom_all_reduce", "True", byHardware),
		Why:      "The custom all-reduce needs direct links between all GPUs; NCCL is used instead.",
		Source:   "sglang/srt/distributed/device_communicators/custom_all_reduce.py",
	},
	{
		ID: "SGL-COMM-CUSTOM-002", Kind: engine.Choice, Anchor: "Setup Custom allreduce failed with ",
		Patterns: []string{"Setup Custom allreduce failed with <reason> To silence"},
		Sets:     sets("disable_custom_all_reduce", "True", byEnvironment),
		Why:      "The custom all-reduce could not be set up; the ordinary collectives are used instead.",
		Source:   "sglang/srt/distributed/parallel_state.py",
	},
	{
		ID: "SGL-COMM-CUSTOM-003", Kind: engine.Info, Anchor: "[AR] All-reduce call path: ",
		Patterns: []string{"[AR] All-reduce call path: <path>"},
		Since:    "0.5.9", Source: "sglang/srt/distributed/parallel_state.py",
	},
	{
		ID: "SGL-COMM-NVLS-001", Kind: engine.Info, Anchor: "multimem all-gather disabled (",
		Patterns: []string{"multimem all-gather disabled (<reason>)"},
		Source:   "sglang/srt/distributed/device_communicators",
	},
	{
		ID: "SGL-COMM-SYMM-001", Kind: engine.Choice, Anchor: "Symmetric memory is enabled, setting symmetric memory prealloc size ",
		Patterns: []string{"setting symmetric memory prealloc size to <size>GB as default"},
		Sets:     sets("SGLANG_SYMM_MEM_PREALLOC_GB_SIZE", "<size>", byDefault),
		Why:      "Symmetric memory is taken in advance and lessens what is left for the KV cache.",
		Since:    "0.5.9", Source: "sglang/srt/arg_groups/memory_hook.py",
	},
	{
		ID: "SGL-COMM-IB-001", Kind: engine.Info, Anchor: "No IB devices specified for Mooncake backend",
		Since: "0.5.9", Source: "sglang/srt/arg_groups/validation_hook.py",
	},
	{
		ID: "SGL-COMM-TRANSPORT-001", Kind: engine.Choice, Anchor: "disaggregation transfer backend 'mooncake_tcp' -> mooncake",
		Sets:  sets("MC_FORCE_TCP", "1", byCoupling, "disaggregation_transfer_backend"),
		Why:   "The KV cache travels over TCP instead of RDMA.",
		Since: "0.5.15", Source: "sglang/srt/arg_groups/pd_disaggregation_hook.py",
	},
}
