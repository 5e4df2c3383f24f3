package sglang

import "shakedown/internal/engine"

// moeChoices select how experts run and communicate.
var moeChoices = []engine.Line{
	{
		ID: "SGL-MOE-RUNNER-001", Kind: engine.Choice, Anchor: " as MoE runner backend ",
		Patterns: []string{
			"Use <backend> as MoE runner backend on <gpu> for <what>",
			"Use <backend> as MoE runner backend for <what>",
		},
		Sets:   sets("moe_runner_backend", "<backend>", byHardware),
		Why:    "The GPU generation and the expert weights' format decide the MoE kernels; `auto` was in effect.",
		Since:  "0.5.6",
		Source: srcArgs,
	},
	{
		ID: "SGL-MOE-GPTOSS-001", Kind: engine.Choice, Anchor: "GPT-OSS model, enabling FlashInfer MXFP4 MOE kernel",
		Sets:   sets("moe_runner_backend", "flashinfer_mxfp4", byHardware),
		Why:    "MXFP4 experts of gpt-oss run on FlashInfer on this GPU generation.",
		Source: "sglang/srt/arg_groups/model_overrides/gpt_oss.py",
	},
	{
		ID: "SGL-MOE-GPTOSS-002", Kind: engine.Choice, Anchor: "GPT-OSS model, enabling FlashInfer CUTLASS MXFP4 MOE kernel",
		Sets:  sets("moe_runner_backend", "flashinfer_mxfp4", byHardware),
		Why:   "MXFP4 experts of gpt-oss run on FlashInfer's CUTLASS kernels on this GPU generation.",
		Since: "0.5.18", Source: "sglang/srt/arg_groups/model_overrides/gpt_oss.py",
	},
	{
		ID: "SGL-MOE-GPTOSS-003", Kind: engine.Choice, Anchor: "GPT-OSS model, enabling Marlin MOE kernel",
		Sets:   sets("moe_runner_backend", "marlin", byHardware),
		Why:    "MXFP4 experts of gpt-oss run on Marlin on this GPU generation.",
		Source: srcArgs + " of 0.5.15",
	},
	{
		ID: "SGL-MOE-GPTOSS-004", Kind: engine.Choice, Anchor: "model, enabling triton_kernel",
		Patterns: []string{
			"quantization format for GPT-OSS model, enabling triton_kernel MOE kernel",
			"Detected GPT-OSS model, enabling triton_kernels MOE kernel",
		},
		Sets:   sets("moe_runner_backend", "triton_kernel", byModel),
		Why:    "Experts of gpt-oss run on triton_kernels where no faster kernel fits.",
		Source: "sglang/srt/arg_groups/model_overrides/gpt_oss.py",
	},
	{
		ID: "SGL-MOE-GPTOSS-005", Kind: engine.Choice, Anchor: "using triton MOE kernel",
		Patterns: []string{
			"Detected GPT-OSS model on Blackwell with driver >= <driver>, using triton MOE kernel",
			"GPT-OSS bf16 model, using triton MOE kernel",
		},
		Sets:  sets("moe_runner_backend", "triton", byEnvironment),
		Why:   "triton_kernels crash or are missing with this driver or platform.",
		Since: "0.5.9", Source: "sglang/srt/arg_groups/model_overrides/gpt_oss.py",
	},
	{
		ID: "SGL-MOE-EP-001", Kind: engine.Choice, Anchor: " is enabled. The expert parallel size is adjusted ",
		Patterns: []string{
			"The expert parallel size is adjusted from <_> to the tensor parallel size [<ep>]",
			"The expert parallel size is adjusted to be the same as the tensor parallel size[<ep>]",
		},
		Sets:   sets("ep_size", "<ep>", byCoupling, "moe_a2a_backend", "tp_size"),
		Why:    "This all-to-all backend spreads the experts over all tensor-parallel ranks.",
		Source: srcArgs,
	},
	{
		ID: "SGL-MOE-FUSION-001", Kind: engine.Choice, Anchor: "--disable-shared-experts-fusion is automatically set",
		Sets:   sets("disable_shared_experts_fusion", "True", byCoupling, "moe_runner_backend", "moe_a2a_backend"),
		Why:    "This MoE backend cannot run the shared expert as one of the routed ones.",
		Source: srcArgs,
	},
	{
		ID: "SGL-MOE-FUSION-002", Kind: engine.Choice, Anchor: "Shared experts fusion optimization is disabled",
		Sets:   sets("disable_shared_experts_fusion", "True", byModel),
		Why:    "The model, its quantisation or the GPU does not fit the fused kernel.",
		Source: "sglang/srt/models/deepseek_v2.py",
	},
	{
		ID: "SGL-MOE-FUSION-003", Kind: engine.Choice, Anchor: "Shared experts fusion optimization enabled",
		Sets:   sets("disable_shared_experts_fusion", "False", byModel),
		Why:    "The shared expert runs as one of the routed ones.",
		Source: "sglang/srt/models/deepseek_v2.py",
	},
	{
		ID: "SGL-MOE-FUSION-004", Kind: engine.Choice, Anchor: "LoRA MoE keeps shared experts separate",
		Sets:  sets("disable_shared_experts_fusion", "True", byCoupling, "enable_lora"),
		Why:   "Adapters attach to the shared expert, so it stays a layer of its own.",
		Since: "0.5.23", Source: srcArgs,
	},
	{
		ID: "SGL-MOE-FINALIZE-001", Kind: engine.Info, Anchor: "FlashInfer TRTLLM MoE deferred finalize is disabled (",
		Patterns: []string{"deferred finalize is disabled (moe_runner_backend=<runner>, quant_method=<method>)"},
		Source:   "sglang/srt/layers/moe",
	},
	{
		ID: "SGL-MOE-DEEPEP-001", Kind: engine.Choice, Anchor: "auto set deepep_mode=`",
		Patterns: []string{"auto set deepep_mode=`<mode>` for <backend>"},
		Sets:     sets("deepep_mode", "<mode>", byCoupling, "moe_a2a_backend"),
		Why:      "This all-to-all backend has only one mode.",
		Since:    "0.5.9", Source: "sglang/srt/arg_groups/moe_hook.py",
	},
	{
		ID: "SGL-MOE-DISPATCH-001", Kind: engine.Choice, Anchor: "SGLANG_MOE_NVFP4_DISPATCH is set to True",
		Sets:  sets("SGLANG_MOE_NVFP4_DISPATCH", "True", byCoupling, "moe_a2a_backend"),
		Why:   "The FlashInfer all-to-all sends activations in NVFP4.",
		Since: "0.5.9", Source: "sglang/srt/arg_groups/moe_hook.py",
	},
	{
		ID: "SGL-MOE-MORI-001", Kind: engine.Choice, Anchor: "falling back to MORI EPv1",
		Patterns: []string{"MORI EPv2 does not support <reason>; falling back to MORI EPv1"},
		Sets:     sets("SGLANG_MORI_EP_V2", "False", byEnvironment),
		Why:      "The newer MORI all-to-all does not fit the other settings.",
		Since:    "0.5.23", Source: "sglang/srt/arg_groups/moe_hook.py",
	},
	{
		ID: "SGL-MOE-DRAFT-001", Kind: engine.Choice, Anchor: "Use triton fused moe by default for bf16 nextn layer",
		Sets: []engine.Set{
			{Setting: "speculative_moe_runner_backend", Value: "triton", By: byCheckpoint},
			{Setting: "speculative_moe_a2a_backend", Value: "none", By: byCheckpoint},
		},
		Why:   "The draft layer of an FP4 checkpoint is bfloat16 and needs other MoE kernels than the target.",
		Since: "0.5.9", Source: srcArgs,
	},
	{
		ID: "SGL-MOE-DRAFT-002", Kind: engine.Choice, Anchor: "Use deep_gemm moe runner and deepep a2a backend for bf16 nextn layer",
		Sets: []engine.Set{
			{Setting: "speculative_moe_runner_backend", Value: "deep_gemm", By: byCheckpoint},
			{Setting: "speculative_moe_a2a_backend", Value: "deepep", By: byCheckpoint},
		},
		Why:   "The draft layer of an FP4 checkpoint is bfloat16 and needs other MoE kernels than the target.",
		Since: "0.5.9", Source: srcArgs,
	},
	{
		ID: "SGL-MOE-EPLB-001", Kind: engine.Choice, Anchor: "The expert_distribution_recorder_mode is automatically set",
		Sets:   sets("expert_distribution_recorder_mode", "stat", byCoupling, "enable_eplb"),
		Why:    "Load balancing of experts needs their statistics.",
		Source: "sglang/srt/arg_groups/parallel_hook.py",
	},
	{
		ID: "SGL-MOE-CP-001", Kind: engine.Info, Anchor: "moe_a2a_backend == deepep, ep_size == tp_size",
		Source: srcArgs + " of 0.5.9 to 0.5.12; restrictions of in-seq split",
	},
	{
		ID: "SGL-MOE-CP-002", Kind: engine.Info, Anchor: "zigzag DSA CP requires moe_dense_tp_size=1",
		Since: "0.5.15", Source: srcArgs,
	},
}
