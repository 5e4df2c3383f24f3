package sglang

const (
	srcArgs   = "sglang/srt/server_args.py "
	srcGroups = "sglang/srt/arg_groups/"
)

// at makes a step of ServerArgs. Without a range it is one of all releases
// whose __post_init__ has methods, from 0.5.6 on.
func at(id, method, when string, run func(*state) error) step {
	if when == "" {
		when = ">=0.5.6"
	}
	return step{ID: id, Versions: versions(when), Source: srcArgs + method, Run: run}
}

// resolveSteps is ServerArgs.__post_init__ of all releases.
func resolveSteps() []step { return append(postInit502(), postInit()...) }

// postInit is ServerArgs.__post_init__ in its order, from 0.5.6 on.
func postInit() []step {
	return []step{
		{ID: "SGL-DP-NAMES", Versions: versions(">=0.5.23"), Source: srcGroups + "parallel_hook.py (0.5.23)", Run: (*state).oldDPAttention},
		at("SGL-HIDDEN-STATES", "_handle_return_hidden_states_mode (0.5.18)", ">=0.5.18", (*state).hiddenMode),
		at("SGL-LOADBALANCE", "_handle_load_balance_method (0.5.9)", ">=0.5.8 <0.5.15", (*state).loadBalance),
		at("SGL-PD", "_handle_pd_disaggregation (0.5.12)", ">=0.5.12 <0.5.15", (*state).disaggregation),
		at("SGL-NOKV", "_validate_prefill_only_disable_kv_cache_args (0.5.12)", ">=0.5.12 <0.5.15", (*state).noKVCache),
		at("SGL-MOE-MEGA", "_handle_moe_runner_backend_alias (0.5.18)", ">=0.5.18", (*state).megaAlias),
		{ID: "SGL-MOE-MEGA", Versions: versions(">=0.5.23"), Source: srcGroups + "mega_moe_hook.py (0.5.23)", Run: (*state).megaChecks},
		at("SGL-HICACHE-RATIO", "_handle_hicache_ratio_default (0.5.18)", ">=0.5.18", (*state).hicacheRatio),
		{ID: "SGL-KV-RATIOS", Versions: versions(">=0.5.23"), Source: "sglang/srt/arg_groups/fields (0.5.23)", Run: (*state).fallbacks},
		{ID: "SGL-PREFILL-INTERVAL", Versions: versions(">=0.5.23"), Source: srcGroups + "validation_hook.py (0.5.23)", Run: (*state).prefillInterval},
		at("SGL-SSL", "_handle_ssl_validation (0.5.10)", ">=0.5.10", (*state).ssl),
		at("SGL-PARSER", "_handle_deprecated_args (0.5.9)", ">=0.5.6", (*state).deprecatedArgs),
		at("SGL-PREFILL-DELAYER", "_handle_prefill_delayer_env_compat (0.5.9)", ">=0.5.8", (*state).prefillDelayer),
		at("SGL-DEFAULTS", "_handle_missing_default_values (0.5.9)", "", (*state).missingDefaults),
		{ID: "SGL-PD", Versions: versions(">=0.5.15"), Source: "sglang/srt/arg_groups/pd_disaggregation_hook.py (0.5.15)", Run: (*state).disaggregation},
		at("SGL-CP-NAMES", "_handle_legacy_cp_arguments (0.5.15)", ">=0.5.15 <0.5.23", (*state).contextNames),
		at("SGL-NOKV", "_validate_prefill_only_disable_kv_cache_args (0.5.15)", ">=0.5.15", (*state).noKVCache),
		at("SGL-DCP", "_handle_dcp_validation (0.5.15)", ">=0.5.15", (*state).decodeContextParallel),
		at("SGL-GRAPH-CONFIG", "_handle_cuda_graph_config (0.5.15)", ">=0.5.15", (*state).graphs),
		at("SGL-GRAPH-PIECEWISE-OFF", "_handle_piecewise_cuda_graph (0.5.10)", ">=0.5.10 <0.5.15", (*state).piecewiseOff),
		at("SGL-MEM", "_handle_gpu_memory_settings (0.5.9)", "", (*state).gpuMemory),
		{ID: "SGL-MODEL", Versions: versions(">=0.5.15"), Source: "sglang/srt/arg_groups/overrides.py (0.5.15)", Run: (*state).modelDeclared},
		{ID: "SGL-PREFILL-INTERVAL", Versions: versions(">=0.5.23"), Source: srcGroups + "validation_hook.py (0.5.23)", Run: (*state).noPrefillInterval},
		at("SGL-MODEL", "_handle_model_specific_adjustments (0.5.9)", ">=0.5.6 <0.5.15", (*state).modelSpecific),
		at("SGL-HICACHE", "_handle_hicache (0.5.6)", ">=0.5.6 <0.5.8", (*state).olderHicache),
		at("SGL-SAMPLING", "_handle_sampling_backend (0.5.9)", "", (*state).samplingBackend),
		at("SGL-DETERMINISTIC", "_handle_deterministic_inference (0.5.12)", ">=0.5.12", (*state).deterministic),
		{ID: "SGL-KV-NVFP4", Versions: versions(">=0.5.23"), Source: srcGroups + "kv_cache_hook.py (0.5.23)", Run: (*state).nvfp4Prefill},
		at("SGL-ATTN", "_handle_attention_backend_compatibility (0.5.9)", "", (*state).attention),
		at("SGL-GRAPH-TRTLLM", "_disable_prefill_cuda_graph_for_deepseek_trtllm_mla (0.5.15)", ">=0.5.15", (*state).trtllmPrefill),
		at("SGL-MAMBA", "_handle_mamba_backend (0.5.15)", ">=0.5.15", (*state).mambaBackend),
		at("SGL-LINEAR", "_handle_linear_attn_backend (0.5.10)", ">=0.5.10", (*state).linearAttention),
		at("SGL-KV-FP4", "_handle_kv4_compatibility (0.5.9)", ">=0.5.8", (*state).kv4),
		at("SGL-KV-MXFP8", "_handle_mxfp8_kv_cache_compatibility (0.5.18)", ">=0.5.18", (*state).mxfp8KV),
		at("SGL-PAGE-DEFAULT", "_handle_page_size (0.5.9)", "", (*state).pageSize),
		at("SGL-MIS", "_handle_multi_item_scoring (0.5.12)", ">=0.5.12", (*state).multiItem),
		at("SGL-NOKV-BACKEND", "_handle_prefill_only_disable_kv_cache (0.5.12)", ">=0.5.12", (*state).noKVBackend),
		at("SGL-AMD", "_handle_amd_specifics (0.5.9)", "", (*state).amd),
		at("SGL-GRAMMAR", "_handle_grammar_backend (0.5.9)", "", (*state).grammar),
		at("SGL-HICACHE", "_handle_hicache (0.5.9)", ">=0.5.8", (*state).hicache),
		at("SGL-DP", "_handle_data_parallelism (0.5.9)", "", (*state).dataParallel),
		at("SGL-LOADBALANCE", "_handle_load_balance_method (0.5.15)", ">=0.5.15", (*state).loadBalance),
		at("SGL-CP-NAMES", "_handle_legacy_cp_arguments (0.5.15)", ">=0.5.15 <0.5.23", (*state).contextNames),
		at("SGL-CP", "_handle_context_parallelism (0.5.9)", ">=0.5.9", (*state).contextParallel),
		at("SGL-MOE", "_handle_moe_kernel_config (0.5.9)", "", (*state).moeKernel),
		at("SGL-MOE-A2A", "_handle_a2a_moe (0.5.9)", "", (*state).a2aMoE),
		at("SGL-MOE-EPLB", "_handle_eplb_and_dispatch (0.5.9)", "", (*state).eplb),
		at("SGL-MOE-METRICS", "_handle_expert_distribution_metrics (0.5.9)", "", (*state).expertMetrics),
		at("SGL-MOE-ELASTIC", "_handle_elastic_ep (0.5.9)", ">=0.5.8", (*state).elasticEP),
		at("SGL-PP", "_handle_pipeline_parallelism (0.5.9)", "", (*state).pipelineParallel),
		at("SGL-SPEC", "_handle_speculative_decoding (0.5.9)", "", (*state).speculative),
		{ID: "SGL-BOUNDARY", Versions: versions(">=0.5.23"), Source: srcGroups + "boundary_reduction.py (0.5.23)", Run: (*state).boundary},
		{ID: "SGL-LAYERNORM-SP", Versions: versions(">=0.5.23"), Source: srcGroups + "layernorm_sp_hook.py (0.5.23)", Run: (*state).layerNormSP},
		at("SGL-MOE-CUTEDSL", "_validate_cutedsl_a2a_token_budget (0.5.15)", ">=0.5.15 <0.5.23", (*state).cuteDSLBudget),
		{ID: "SGL-MOE-A2A-TOKENS", Versions: versions(">=0.5.23"), Source: srcGroups + "moe_hook.py (0.5.23)", Run: (*state).flashinferBudget},
		{ID: "SGL-MOE-MEGA-TOKENS", Versions: versions(">=0.5.23"), Source: srcGroups + "mega_moe_hook.py (0.5.23)", Run: (*state).megaBudget},
		at("SGL-LOAD", "_handle_load_format (0.5.9)", "", (*state).loadFormat),
		at("SGL-PD", "_handle_pd_disaggregation (0.5.9)", ">=0.5.6 <0.5.12", (*state).disaggregation),
		at("SGL-ENCODER", "_handle_encoder_disaggregation (0.5.9)", ">=0.5.8", (*state).encoderDisaggregation),
		at("SGL-TOKENIZER", "_handle_tokenizer_batching (0.5.9)", "", (*state).tokenizer),
		at("SGL-ENV", "_handle_environment_variables (0.5.9)", "", (*state).environment),
		at("SGL-CACHE", "_handle_cache_compatibility (0.5.9)", "", (*state).cacheCompatibility),
		at("SGL-CHECK", "_handle_metrics_labels (0.5.6)", ">=0.5.6 <0.5.8", (*state).olderMetrics),
		at("SGL-DETERMINISTIC", "_handle_deterministic_inference (0.5.9)", ">=0.5.6 <0.5.12", (*state).deterministic),
		at("SGL-PAGE-MAJOR", "_handle_page_major_kv_layout (0.5.15)", ">=0.5.15", (*state).pageMajor),
		at("SGL-UNIFIED", "_handle_unified_memory_pool (0.5.15)", ">=0.5.15", (*state).unifiedMemory),
		at("SGL-CHECK", "_handle_request_metrics_exporters (0.5.6)", ">=0.5.6 <0.5.8", (*state).olderExport),
		at("SGL-DLLM", "_handle_dllm_inference (0.5.6)", ">=0.5.6 <0.5.8", (*state).olderDiffusion),
		at("SGL-DLLM", "_handle_dllm_inference (0.5.9)", ">=0.5.8", (*state).diffusionLLM),
		at("SGL-VALIDATE", "_handle_other_validations (0.5.9)", "", (*state).otherValidations),
		at("SGL-MOE-ELASTIC", "_handle_elastic_ep (0.5.6)", ">=0.5.6 <0.5.8", (*state).elasticEP),
		at("SGL-CAPABILITY", "_handle_model_capability_adjustments (0.5.18)", ">=0.5.18", (*state).capabilities),
	}
}

// checkSteps is ServerArgs.check_server_args in its order.
func checkSteps() []step {
	return []step{
		at("SGL-CHECK", "check_server_args (0.5.9)", ">=0.5.2", (*state).check),
	}
}
