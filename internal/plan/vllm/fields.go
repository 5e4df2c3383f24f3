package vllm

// field is one setting of VllmConfig that is reported.
type field struct {
	name  string // section.field
	arg   string // engine argument that fills it; empty: none
	value any    // what the class fills in when there is no argument
	from  release
	to    release
}

func (f field) in(r release) bool { return f.from <= r && r <= f.to }

const last = v0320

// fields are the settings of VllmConfig that are reported, with what they are
// filled with before anything is decided (the dataclasses of vllm/config/*.py
// and EngineArgs of vllm/engine/arg_utils.py).
var fields = []field{
	{"model.dtype", "dtype", nil, v0112, last},
	{"model.quantization", "quantization", nil, v0112, last},
	{"model.max_model_len", "max_model_len", nil, v0112, last},
	{"model.enforce_eager", "enforce_eager", nil, v0112, last},
	{"model.runner_type", "runner", nil, v0112, last},
	{"model.convert_type", "convert", nil, v0112, last},
	{"model.is_hybrid", "", nil, v0112, last},
	{"model.is_multimodal_model", "", nil, v0112, last},
	{"model.is_deepseek_mla", "", nil, v0112, last},
	{"model.use_mla", "", nil, v0112, last},
	{"model.disable_cascade_attn", "disable_cascade_attn", nil, v0112, last},
	{"model.disable_sliding_window", "disable_sliding_window", nil, v0112, last},
	{"model.attention_chunk_size", "", nil, v0112, last},
	{"model.tokenizer_mode", "tokenizer_mode", nil, v0112, last},
	{"model.config_format", "config_format", nil, v0112, last},

	{"cache.cache_dtype", "kv_cache_dtype", nil, v0112, last},
	{"cache.block_size", "block_size", nil, v0112, last},
	{"cache.user_specified_block_size", "", false, v0191, last},
	{"cache.gpu_memory_utilization", "gpu_memory_utilization", nil, v0112, last},
	{"cache.enable_prefix_caching", "enable_prefix_caching", nil, v0112, last},
	{"cache.prefix_caching_hash_algo", "prefix_caching_hash_algo", nil, v0112, last},
	{"cache.calculate_kv_scales", "calculate_kv_scales", nil, v0112, v0240},
	{"cache.mamba_cache_dtype", "mamba_cache_dtype", nil, v0112, last},
	{"cache.mamba_ssm_cache_dtype", "mamba_ssm_cache_dtype", nil, v0112, last},
	{"cache.mamba_block_size", "mamba_block_size", nil, v0112, last},
	{"cache.mamba_cache_mode", "mamba_cache_mode", nil, v0160, last},
	{"cache.mamba_page_size_padded", "", nil, v0112, last},
	{"cache.sliding_window", "", nil, v0112, last},
	{"cache.is_attention_free", "", nil, v0112, last},
	{"cache.swap_space", "swap_space", nil, v0112, v0160},
	{"cache.cpu_offload_gb", "cpu_offload_gb", nil, v0112, v0160},

	{"scheduler.max_num_batched_tokens", "max_num_batched_tokens", nil, v0112, last},
	{"scheduler.max_num_seqs", "max_num_seqs", nil, v0112, last},
	{"scheduler.enable_chunked_prefill", "enable_chunked_prefill", nil, v0112, last},
	{"scheduler.chunked_prefill_enabled", "enable_chunked_prefill", nil, v0112, v0112},
	{"scheduler.async_scheduling", "async_scheduling", nil, v0112, last},
	{"scheduler.max_num_encoder_input_tokens", "", nil, v0112, last},
	{"scheduler.disable_chunked_mm_input", "disable_chunked_mm_input", nil, v0112, last},
	{"scheduler.disable_hybrid_kv_cache_manager", "disable_hybrid_kv_cache_manager", nil, v0112, last},
	{"scheduler.scheduler_cls", "scheduler_cls", nil, v0112, last},
	{"scheduler.policy", "scheduling_policy", nil, v0112, last},
	{"scheduler.max_num_partial_prefills", "max_num_partial_prefills", nil, v0112, v0240},
	{"scheduler.stream_interval", "stream_interval", nil, v0112, last},
	{"scheduler.runner_type", "", nil, v0112, last},

	{"parallel.tensor_parallel_size", "tensor_parallel_size", nil, v0112, last},
	{"parallel.pipeline_parallel_size", "pipeline_parallel_size", nil, v0112, last},
	{"parallel.data_parallel_size", "data_parallel_size", nil, v0112, last},
	{"parallel.enable_expert_parallel", "enable_expert_parallel", nil, v0112, last},
	{"parallel.all2all_backend", "all2all_backend", nil, v0112, last},
	{"parallel.distributed_executor_backend", "distributed_executor_backend", nil, v0112, last},
	{"parallel.disable_custom_all_reduce", "disable_custom_all_reduce", nil, v0112, last},
	{"parallel.worker_cls", "worker_cls", nil, v0112, last},
	{"parallel.world_size", "", nil, v0112, last},
	{"parallel.decode_context_parallel_size", "decode_context_parallel_size", nil, v0112, last},
	{"parallel.prefill_context_parallel_size", "prefill_context_parallel_size", nil, v0160, last},
	{"parallel.enable_eplb", "enable_eplb", nil, v0112, last},
	{"parallel.enable_dbo", "enable_dbo", nil, v0112, last},
	{"parallel.data_parallel_backend", "data_parallel_backend", nil, v0112, last},

	{"compilation.mode", "", nil, v0112, last},
	{"compilation.level", "", nil, v0112, v0160},
	{"compilation.cudagraph_mode", "", nil, v0112, last},
	{"compilation.backend", "", "inductor", v0112, last},
	{"compilation.custom_ops", "", nil, v0112, last},
	{"compilation.use_inductor", "", nil, v0112, v0112},
	{"compilation.max_cudagraph_capture_size", "", nil, v0112, last},
	{"compilation.cudagraph_capture_sizes", "", nil, v0112, last},
	{"compilation.compile_sizes", "", nil, v0112, last},
	{"compilation.use_inductor_graph_partition", "", nil, v0112, last},
	{"compilation.cudagraph_specialize_lora", "", true, v0112, last},
	{"compilation.compile_mm_encoder", "", false, v0112, last},
	{"compilation.cudagraph_mm_encoder", "", false, v0191, last},

	{"attention.backend", "attention_backend", nil, v0160, last},
	{"attention.flash_attn_version", "", nil, v0160, last},
	{"attention.use_prefill_decode_attention", "", false, v0160, v0240},
	{"attention.flash_attn_max_num_splits_for_cuda_graph", "", 32, v0160, last},
	{"attention.use_trtllm_attention", "", nil, v0160, last},
	{"attention.disable_flashinfer_prefill", "", nil, v0160, v0191},
	{"attention.disable_flashinfer_q_quantization", "", false, v0160, last},
	{"attention.use_trtllm_ragged_deepseek_prefill", "", nil, v0160, v0191},
	{"attention.use_cudnn_prefill", "", false, v0160, v0191},
	{"attention.mla_prefill_backend", "", nil, v0240, last},

	{"kernel.moe_backend", "moe_backend", nil, v0191, last},
	{"kernel.linear_backend", "linear_backend", nil, v0240, last},
	{"kernel.enable_flashinfer_autotune", "enable_flashinfer_autotune", nil, v0160, last},

	{"structured_outputs.backend", "", "auto", v0112, last},

	{"pass.enable_fi_allreduce_fusion", "", false, v0112, v0112},
	{"pass.enable_fusion", "", false, v0112, v0112},
	{"pass.enable_noop", "", false, v0112, v0112},
	{"pass.enable_sequence_parallelism", "", false, v0112, v0112},
	{"pass.enable_async_tp", "", false, v0112, v0112},
	{"pass.enable_attn_fusion", "", false, v0112, v0112},
	{"pass.fuse_norm_quant", "", nil, v0160, last},
	{"pass.fuse_act_quant", "", nil, v0160, last},
	{"pass.fuse_attn_quant", "", nil, v0160, last},
	{"pass.enable_sp", "", nil, v0160, v0240},
	{"pass.fuse_gemm_comms", "", nil, v0160, v0240},
	{"pass.fuse_allreduce_rms", "", nil, v0160, last},
	{"pass.eliminate_noops", "", nil, v0160, last},

	{"optimization_level", "optimization_level", nil, v0160, last},
	{"performance_mode", "performance_mode", nil, v0191, last},

	{"speculative.method", "", nil, v0112, last},
	{"speculative.num_speculative_tokens", "", nil, v0112, last},
	{"speculative.draft_tensor_parallel_size", "", nil, v0112, last},
	{"speculative.quantization", "", nil, v0112, last},
	{"speculative.attention_backend", "", nil, v0240, last},
	{"speculative.moe_backend", "", nil, v0240, last},
	{"speculative.disable_padded_drafter_batch", "", false, v0112, last},
	{"speculative.parallel_drafting", "", false, v0240, last},
}
