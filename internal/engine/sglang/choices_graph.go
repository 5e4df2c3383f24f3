package sglang

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

const (
	srcGraphs      = srcArgs + ", cuda_graph_hook.py"
	whyPrefillOnly = "Prefill runs without graphs; decode graphs are not touched."
)

// graphChoices decide what is captured. To 0.5.12 prefill graphs were the
// piecewise ones, with a switch of their own.
var graphChoices = []engine.Line{
	{
		ID: "SGL-GRAPH-ATTN-001", Kind: engine.Choice, Anchor: "Cuda graph is disabled because of using ",
		Patterns: []string{"Cuda graph is disabled because of using <backend> backend"},
		Sets:     sets("disable_cuda_graph", "True", byCoupling, "attention_backend"),
		Why:      "This attention backend cannot be captured.",
		Source:   "sglang/srt/arg_groups/attention_hook.py",
	},
	{
		ID: "SGL-GRAPH-DEEPEP-001", Kind: engine.Choice, Anchor: "Cuda graph is disabled because deepep_mode=",
		Sets:   sets("disable_cuda_graph", "True", byCoupling, "deepep_mode"),
		Why:    "DeepEP's normal mode has sizes that a graph cannot hold.",
		Source: "sglang/srt/arg_groups/moe_hook.py",
	},
	{
		ID: "SGL-GRAPH-PD-001", Kind: engine.Choice, Anchor: "Cuda graph is disabled for prefill server",
		Facts:  map[fact.Key]string{fact.Role: "prefill"},
		Sets:   sets("disable_cuda_graph", "True", byCoupling, "disaggregation_mode"),
		Why:    "A prefill server never decodes, so decode graphs would only cost memory.",
		Source: srcArgs + " to 0.5.12",
	},
	{
		ID: "SGL-GRAPH-PREFILL-001", Kind: engine.Choice, Anchor: "; disabling prefill CUDA graph.",
		Patterns: []string{
			"Breakable CUDA graph is incompatible with <what>; disabling prefill CUDA graph.",
			"Full prefill CUDA graph is incompatible with <what>; disabling prefill CUDA graph.",
		},
		Sets:  sets("cuda_graph_backend_prefill", "disabled", byCoupling),
		Why:   whyPrefillOnly,
		Since: "0.5.15", Source: srcGraphs,
	},
	{
		ID: "SGL-GRAPH-PREFILL-002", Kind: engine.Choice, Anchor: "Disabling prefill CUDA graph (",
		Patterns: []string{"Disabling prefill CUDA graph (<backend>) by default for <reason> ("},
		Sets:     sets("cuda_graph_backend_prefill", "disabled", byCoupling, "attention_backend"),
		Why:      whyPrefillOnly,
		Since:    "0.5.15", Source: srcGraphs,
	},
	{
		ID: "SGL-GRAPH-PREFILL-003", Kind: engine.Choice, Anchor: "Disabling breakable prefill CUDA graph by default for pipeline parallelism",
		Sets:  sets("cuda_graph_backend_prefill", "disabled", byCoupling, "pp_size"),
		Why:   whyPrefillOnly,
		Since: "0.5.23", Source: srcGraphs,
	},
	{
		ID: "SGL-GRAPH-PREFILL-004", Kind: engine.Choice, Anchor: "Disable prefill CUDA graph ",
		Patterns: []string{
			"Disable prefill CUDA graph because <reason>",
			"Disable prefill CUDA graph for <reason>",
			"Disable prefill CUDA graph capture because <reason>",
		},
		Sets:  sets("cuda_graph_backend_prefill", "disabled", byUnknown),
		Why:   whyPrefillOnly,
		Since: "0.5.15", Source: srcRunner,
	},
	{
		ID: "SGL-GRAPH-PIECEWISE-001", Kind: engine.Choice, Anchor: "Disable piecewise CUDA graph ",
		Patterns: []string{"Disable piecewise CUDA graph because <reason>", "Disable piecewise CUDA graph due to <reason>"},
		Sets:     sets("disable_piecewise_cuda_graph", "True", byUnknown),
		Why:      whyPrefillOnly,
		Source:   srcRunner + " of 0.5.9 to 0.5.12",
	},
	{
		ID: "SGL-GRAPH-PIECEWISE-002", Kind: engine.Choice, Anchor: "Piecewise cuda graph is disabled for MoE runner backend ",
		Patterns: []string{"Piecewise cuda graph is disabled for MoE runner backend '<backend>'"},
		Sets:     sets("disable_piecewise_cuda_graph", "True", byCoupling, "moe_runner_backend"),
		Why:      whyPrefillOnly,
		Source:   srcArgs + " of 0.5.10 to 0.5.12",
	},
	{
		ID: "SGL-GRAPH-PIECEWISE-003", Kind: engine.Info, Anchor: "Piecewise CUDA graph is enabled, use MLA for prefill.",
		Since: "0.5.9", Source: "sglang/srt/arg_groups/model_hook.py",
	},
}
