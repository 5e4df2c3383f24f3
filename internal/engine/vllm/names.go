package vllm

import "strings"

// sectionFields lists, for each section of vLLM's configuration, the fields
// whose flat name is the field's own name. Source: EngineArgs and
// create_engine_config in vllm/engine/arg_utils.py, 0.6.3 to 0.32.
var sectionFields = map[string]string{
	"model": `model tokenizer tokenizer_mode trust_remote_code dtype quantization quantization_config quantization_param_path
		max_model_len enforce_eager revision code_revision tokenizer_revision seed served_model_name hf_token hf_config_path hf_overrides
		config_format generation_config override_generation_config override_neuron_config override_pooler_config pooler_config
		override_attention_dtype allowed_local_media_path allowed_media_domains allow_deprecated_quantization
		convert runner task model_impl model_weights model_class_overrides logits_processors logits_processor_pattern logprobs_mode
		max_logprobs max_seq_len_to_capture max_context_len_to_capture rope_scaling rope_theta skip_tokenizer_init
		disable_cascade_attn disable_sliding_window enable_prompt_embeds enable_sleep_mode enable_cumem_allocator
		enable_return_routed_experts enable_mm_embeds limit_mm_per_prompt media_io_kwargs mm_processor_kwargs mm_processor_cache_gb
		mm_processor_cache_type mm_encoder_tp_mode mm_encoder_only mm_encoder_attn_backend mm_tensor_ipc mm_processor_device
		disable_mm_preprocessor_cache interleave_mm_strings skip_mm_profiling language_model_only video_pruning_rate
		io_processor_plugin renderer_num_workers use_async_output_proc`,
	"cache": `block_size gpu_memory_utilization swap_space cpu_offload_gb enable_prefix_caching prefix_caching_hash_algo
		num_gpu_blocks_override calculate_kv_scales kv_cache_memory_bytes kv_cache_dtype_skip_layers kv_offloading_backend
		kv_offloading_size kv_sharing_fast_prefill mamba_block_size mamba_cache_dtype mamba_ssm_cache_dtype mamba_cache_mode`,
	"parallel": `tensor_parallel_size pipeline_parallel_size data_parallel_size decode_context_parallel_size prefill_context_parallel_size
		data_parallel_backend data_parallel_hybrid_lb data_parallel_external_lb distributed_executor_backend enable_expert_parallel
		enable_eplb expert_placement_strategy enable_dbo ubatch_size dbo_decode_token_threshold dbo_prefill_token_threshold
		all2all_backend disable_custom_all_reduce disable_nccl_for_dp_synchronization dcp_comm_backend dcp_kv_cache_interleave_size
		cp_kv_cache_interleave_size max_parallel_loading_workers ray_workers_use_nsight worker_use_ray worker_cls worker_extension_cls
		nnodes node_rank master_addr master_port numa_bind distributed_timeout_seconds enable_elastic_ep`,
	"scheduler": `max_num_batched_tokens max_num_seqs enable_chunked_prefill max_num_partial_prefills max_long_partial_prefills
		long_prefill_token_threshold num_scheduler_steps multi_step_stream_outputs num_lookahead_slots preemption_mode
		async_scheduling disable_chunked_mm_input disable_hybrid_kv_cache_manager cuda_graph_sizes stream_interval scheduler_cls
		scheduler_reserve_full_isl max_num_scheduled_tokens max_num_active_seqs max_num_queued_reqs max_num_queued_tokens watermark`,
	"load": `load_format download_dir model_loader_extra_config ignore_patterns use_tqdm_on_load pt_load_map_location
		safetensors_load_strategy`,
	"lora": `enable_lora max_loras max_lora_rank max_cpu_loras lora_dtype lora_extra_vocab_size long_lora_scaling_factors
		fully_sharded_loras default_mm_loras enable_tower_connector_lora`,
	"compilation":   `cudagraph_capture_sizes max_cudagraph_capture_size`,
	"kernel":        `moe_backend linear_backend enable_flashinfer_autotune ir_op_priority`,
	"observability": `otlp_traces_endpoint collect_detailed_traces show_hidden_metrics_for_version kv_cache_metrics cudagraph_metrics`,
	"offload":       `offload_backend offload_group_size offload_num_in_group offload_prefetch_step`,
}

// renamed maps flat names whose field is called otherwise; among them the
// names that the engine's own dump uses.
var renamed = map[string]string{
	"kv_cache_dtype":            "cache.cache_dtype",
	"max_seq_len":               "model.max_model_len",
	"device":                    "device.device",
	"device_config":             "device.device",
	"attention_backend":         "attention.backend",
	"scheduling_policy":         "scheduler.policy",
	"chunked_prefill_enabled":   "scheduler.enable_chunked_prefill",
	"scheduler_delay_factor":    "scheduler.delay_factor",
	"enable_lora_bias":          "lora.bias_enabled",
	"lora_target_modules":       "lora.target_modules",
	"guided_decoding_backend":   "decoding.guided_decoding_backend",
	"speculative_model":         "speculative.model",
	"spec_model":                "speculative.model",
	"spec_method":               "speculative.method",
	"spec_tokens":               "speculative.num_speculative_tokens",
	"num_speculative_tokens":    "speculative.num_speculative_tokens",
	"speculative_max_model_len": "speculative.max_model_len",
}

// nestedSections maps the names of values that are configuration objects
// themselves to the section of their fields.
var nestedSections = map[string]string{
	"speculative_config":        "speculative",
	"compilation_config":        "compilation",
	"structured_outputs_config": "structured_outputs",
	"decoding_config":           "decoding",
	"observability_config":      "observability",
	"kernel_config":             "kernel",
	"attention_config":          "attention",
	"kv_transfer_config":        "kv_transfer",
	"ec_transfer_config":        "ec_transfer",
	"eplb_config":               "eplb",
	"pass_config":               "pass",
}

// nestedRenamed maps fields that a dump abbreviates.
var nestedRenamed = map[string]string{"speculative.num_spec_tokens": "speculative.num_speculative_tokens"}

// settingNames maps every known flat name to its setting name.
var settingNames = func() map[string]string {
	names := make(map[string]string)
	for section, fields := range sectionFields {
		for _, field := range strings.Fields(fields) {
			names[field] = section + "." + field
		}
	}
	for flat, name := range renamed {
		names[flat] = name
	}
	return names
}()

// settingName returns the setting name of a flat name: the name itself for the
// front end's own arguments, which have no section.
func settingName(flat string) string {
	if name, ok := settingNames[flat]; ok {
		return name
	}
	return flat
}
