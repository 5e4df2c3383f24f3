package sglang

import "strings"

// check is check_server_args: combinations that no step mends.
func (s *state) check() error {
	for _, f := range []func() error{s.checkParallel, s.checkLoRA, s.checkCuDNN, s.checkChunks, s.checkMultiplexing, s.checkScheduler, s.checkHiSparse} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) checkParallel() error {
	pp, nodes := s.Int("pp_size"), s.Int("nnodes")
	switch {
	case nodes == 0 || s.Int("tp_size")*pp%nodes != 0:
		return assertion("tp_size must be divisible by number of nodes")
	case !s.Is("pp_max_micro_batch_size", nil) && s.Int("pp_max_micro_batch_size") < 1:
		return assertion("pp_max_micro_batch_size must be a positive integer or None (for auto-compute). Got: %d", s.Int("pp_max_micro_batch_size"))
	case s.since(r0512) && s.Bool("disable_cuda_graph_padding") && s.Bool("enable_torch_compile"):
		return assertion("--disable-cuda-graph-padding is incompatible with --enable-torch-compile. With padding disabled, every distinct batch size gets its own torch.compile")
	case s.since(r0523) && pp > 1:
		if err := s.pipelineCompat(); err != nil {
			return err
		}
	case s.since(r0518) && pp > 1 && s.Bool("disable_overlap_schedule") && s.Nil("speculative_algorithm") && !s.Nil("min_free_slots_delay"):
		return assertion("--min-free-slots-delay is not supported with pipeline parallelism: allocatable slots per microbatch are bounded by pp-max-micro-batch-size, so the threshold may never be reached")
	case s.since(r0512) && pp > 1 && (!s.Bool("disable_overlap_schedule") || !s.Nil("speculative_algorithm")):
		return assertion("Pipeline parallelism is not compatible with overlap schedule, speculative decoding")
	case !s.since(r0512) && pp > 1 && (!s.Bool("disable_overlap_schedule") || !s.Nil("speculative_algorithm") || s.Bool("enable_mixed_chunk")):
		return assertion("Pipeline parallelism is not compatible with overlap schedule, speculative decoding, mixed chunked prefill.")
	}
	return s.checkRanks(nodes)
}

// pipelineCompat is check_pipeline_parallel_compat.
func (s *state) pipelineCompat() error {
	pair := s.envSwitch("SGLANG_ENABLE_PP_SPEC", false)
	switch {
	case !s.Bool("disable_overlap_schedule"):
		return assertion("Pipeline parallelism is not compatible with overlap schedule")
	case s.Is("speculative_algorithm", "DSPARK") && !s.Is("disaggregation_mode", "prefill"):
		return assertion("Pipeline parallel DSPARK requires disaggregation-mode=prefill")
	case s.Is("speculative_algorithm", "DSPARK", nil):
	case !s.Is("speculative_algorithm", "EAGLE") || s.Bool("enable_multi_layer_eagle"):
		return assertion("Pipeline parallelism currently only supports EAGLE (non-multi-layer) speculative decoding")
	case pair && !s.Is("disaggregation_mode", "null"):
		return assertion("SGLANG_ENABLE_PP_SPEC is not compatible with --disaggregation-mode")
	case !pair && !s.Is("disaggregation_mode", "prefill"):
		return assertion("PP + speculative decoding (MTP) is only supported on prefill nodes (disaggregation-mode=prefill)")
	}
	if !s.Nil("min_free_slots_delay") {
		return assertion("--min-free-slots-delay is not supported with pipeline parallelism: allocatable slots per microbatch are bounded by pp-max-micro-batch-size, so the threshold may never be reached")
	}
	return nil
}

// checkRanks checks replicas, GPUs and the model's name.
func (s *state) checkRanks(nodes int) error {
	switch {
	case s.since(r0523) && s.Int("dp_size") > 1 && nodes != 1:
		return assertion("multi-node data-parallel replicas are not supported; use attention DP (--attn-dp-size) across nodes")
	case s.Int("dp_size") > 1 && nodes != 1 && !s.dpAttention():
		return assertion("multi-node data parallel is not supported unless dp attention!")
	case s.Int("base_gpu_id") < 0:
		return assertion("base_gpu_id must be non-negative")
	case s.Int("gpu_id_step") < 1:
		return assertion("gpu_id_step must be positive")
	case s.since(r0515) && !s.Is("moe_dense_tp_size", 1, nil, s.Get("tp_size")):
		return assertion("moe_dense_tp_size only supports None, 1, or tp_size currently")
	case !s.since(r0515) && !s.Is("moe_dense_tp_size", 1, nil):
		return assertion("moe_dense_tp_size only support 1 and None currently")
	case s.since(r0506) && strings.Contains(s.Str("served_model_name"), ":"):
		return assertion("served_model_name cannot contain a colon (':') character. "+
			"The colon is reserved for the 'model:adapter' syntax used in LoRA adapter specification. "+
			"Invalid value: '%s'", s.Str("served_model_name"))
	}
	return nil
}

// checkCuDNN refuses multimodal models with torch 2.9.1 and the cuDNN that pip
// installs with it (check_torch_2_9_1_cudnn_compatibility).
func (s *state) checkCuDNN() error {
	if s.envBool("SGLANG_DISABLE_CUDNN_CHECK") || !s.torch291() {
		return nil
	}
	m, err := s.modelConfig()
	if err != nil || !m.multimodal {
		return err
	}
	return refuse("RuntimeError", "CRITICAL WARNING: PyTorch 2.9.1 & CuDNN Compatibility Issue Detected\n"+
		"--------------------------------------------------------------------------------\n"+
		"Set SGLANG_DISABLE_CUDNN_CHECK=1 or upgrade cuDNN to 9.15 or newer.")
}

// torch291 says whether the release pins torch 2.9.1.
func (s *state) torch291() bool { return s.since(r0506) && !s.since(r0510) }

func (s *state) checkChunks() error {
	if !s.Nil("speculative_algorithm") && s.Bool("enable_mixed_chunk") && s.since(r0523) {
		if !s.mixesChunks() {
			return assertion("enable_mixed_chunk is not supported with speculative_algorithm=%s", s.Str("speculative_algorithm"))
		}
	} else if !s.Nil("speculative_algorithm") && s.Bool("enable_mixed_chunk") {
		return assertion("enable_mixed_chunk is required for speculative decoding")
	}
	chunk, page := s.Int("chunked_prefill_size"), s.Int("page_size")
	if chunk > 0 && (!s.since(r0506) || !s.Is("disaggregation_mode", "decode")) && page > 0 && chunk%page != 0 {
		return assertion("chunked_prefill_size must be divisible by page_size")
	}
	return nil
}

func (s *state) checkMultiplexing() error {
	if !s.Bool("enable_pdmux") || !s.since(r0506) {
		return nil
	}
	switch {
	case s.Int("pp_size") != 1:
		return assertion("PD-Multiplexing is only supported with pipeline parallelism disabled (pp_size=1).")
	case s.Int("chunked_prefill_size") != -1:
		return assertion("PD-Multiplexing is not compatible with chunked prefill.")
	case !s.Is("disaggregation_mode", "null"):
		return assertion("PD-Multiplexing is not compatible with disaggregation mode.")
	case !s.Bool("disable_overlap_schedule"):
		return assertion("PD-Multiplexing is not compatible with overlap schedule.")
	}
	s.because("", byEnvironment, "torch is newer than 2.6")
	s.warn("WARNING: PD-Multiplexing may experience performance degradation with torch versions > 2.6.x.\n"+
		"  Current torch version is %s.\n"+
		"  Please manually install torch 2.6.x.", s.torch())
	return nil
}

// torch is the version that the release pins.
func (s *state) torch() string {
	version := known[s.r].torch
	if s.since(r0515) {
		return version + "+cu130"
	}
	return version + "+cu128"
}

func (s *state) checkScheduler() error {
	if s.since(r0510) {
		s.priorityLines()
	}
	thresholds, _ := s.Get("gc_threshold").([]any)
	labels, _ := s.Get("tokenizer_metrics_allowed_custom_labels").([]any)
	switch {
	case s.Int("tokenizer_worker_num") <= 0:
		return assertion("Tokenizer worker num must >= 1")
	case !s.since(r0506):
	case s.Bool("enable_priority_scheduling") && !s.Is("schedule_policy", "fcfs", "lof"):
		return assertion("To use priority scheduling, schedule_policy must be 'fcfs' or 'lof'. '%s' is not supported.", s.Str("schedule_policy"))
	case !s.Nil("multi_item_scoring_delimiter") && !s.Bool("disable_radix_cache"):
		return assertion("Multi-item scoring requires radix cache to be disabled. Please set --disable-radix-cache when using --multi-item-scoring-delimiter.")
	case !s.Nil("multi_item_scoring_delimiter") && s.Int("chunked_prefill_size") != -1:
		return assertion("Multi-item scoring requires chunked prefill to be disabled. Please set --chunked-prefill-size -1 when using --multi-item-scoring-delimiter.")
	case s.Float("schedule_conservativeness") < 0:
		return assertion("schedule_conservativeness must be non-negative")
	case s.Is("model_impl", "mindspore"):
		return assertion("MindSpore model impl is only supported on Ascend npu.")
	case !s.since(r0508): // what follows is checked elsewhere or not at all
	case s.Str("tokenizer_metrics_custom_labels_header") == "" && len(labels) > 0:
		return valueError("Please set --tokenizer-metrics-custom-labels-header when setting --tokenizer-metrics-allowed-custom-labels.")
	case s.Bool("export_metrics_to_file") && s.Nil("export_metrics_to_file_dir"):
		return valueError("--export-metrics-to-file-dir is required when --export-metrics-to-file is enabled")
	case s.Is("retraction_policy", "priority") && !s.Bool("enable_priority_scheduling"):
		return valueError("--retraction-policy priority requires --enable-priority-scheduling")
	case s.since(r0523) && s.Bool("enable_two_batch_overlap") && s.Is("moe_a2a_backend", "none") && !s.dpAttention():
		return valueError("When enabling two batch overlap without an EP a2a backend (moe_a2a_backend='none'), attention DP (--attn-dp-size) is required (DeepSeek-V4 non-EP DP TBO path).")
	case s.since(r0515) && s.Bool("enable_two_batch_overlap") && s.Is("moe_a2a_backend", "none") && !s.dpAttention():
		return valueError("When enabling two batch overlap without an EP a2a backend (moe_a2a_backend='none'), --enable-dp-attention is required (DeepSeek-V4 non-EP DP TBO path).")
	case s.r == r0512 && s.Bool("enable_two_batch_overlap") && s.Bool("enforce_shared_experts_fusion"):
		return valueError("--enable-two-batch-overlap and --enforce-shared-experts-fusion cannot be used together.")
	case s.Bool("enable_quant_communications") && s.since(r0512) && s.Int("tp_size") == 1:
		return valueError("Communications quantization is only used with tp_size != 1")
	case s.Bool("enable_quant_communications") && s.since(r0512):
		return valueError("Communications quantization is only supported for NPU device")
	case !s.since(r0515) && s.Bool("enable_two_batch_overlap") && s.Is("moe_a2a_backend", "none"):
		return valueError("When enabling two batch overlap, moe_a2a_backend cannot be 'none'.")
	case s.Is("sampling_backend", "intel_xpu"):
		return valueError("--sampling-backend intel_xpu requires --device xpu, got --device cuda")
	case len(thresholds) > 3:
		return valueError("When setting gc_threshold, it must contain 1 to 3 integers.")
	case s.Int("kv_canary_sweep_interval") > 0 && s.Is("kv_canary", "none"):
		return valueError("--kv-canary-sweep-interval requires --kv-canary in {log, raise}")
	}
	return nil
}

// priorityLines warns about priorities that do nothing.
func (s *state) priorityLines() {
	s.because("", byCoupling, "priorities", "enable_priority_scheduling")
	switch {
	case s.Bool("enable_priority_scheduling"):
		if s.Nil("default_priority_value") {
			s.warn("--default-priority-value is not set while --enable-priority-scheduling is enabled. " +
				"Requests without explicit priority will have priority=None, " +
				"resulting in priority='None' string labels in Prometheus metrics.")
		}
	default:
		if s.Bool("disable_priority_preemption") {
			s.warn("--disable-priority-preemption has no effect without --enable-priority-scheduling")
		}
		if !s.Nil("default_priority_value") {
			s.warn("--default-priority-value has no effect without --enable-priority-scheduling")
		}
	}
}

// checkHiSparse checks hierarchical sparse attention.
func (s *state) checkHiSparse() error {
	if !s.Bool("enable_hisparse") {
		return nil
	}
	m, err := s.modelConfig()
	switch {
	case err != nil:
		return err
	case !s.dsa(m):
		return assertion("--enable-hisparse is only supported for DSA (DeepSeek Sparse Attention) models now(e.g., DeepSeek V3.2, GLM-5). ")
	case !s.Bool("disable_radix_cache"):
		return assertion("Hierarchical sparse attention currently requires --disable-radix-cache.")
	}
	for _, label := range []string{"prefill", "decode"} {
		if b := s.Str(s.sparseSetting(label + "_backend")); b != "" && b != "flashmla_sparse" {
			return valueError("HiSparse requires flashmla_sparse NSA %s backend, but got --nsa-%s-backend=%s. Please use --nsa-%s-backend=flashmla_sparse or omit it.", label, label, b, label)
		}
	}
	return nil
}
