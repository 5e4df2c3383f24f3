package sglang

// postInit502 is ServerArgs.__post_init__ of releases before 0.5.6, which is
// one function, in its order. Steps of later releases serve where they are the
// same.
func postInit502() []step {
	const old = "<0.5.6"
	return []step{
		at("SGL-MOE-OLD", "__post_init__ (0.5.2), deprecated arguments", old, (*state).oldMoEFlags),
		at("SGL-DEFAULTS", "__post_init__ (0.5.2), missing default values", old, (*state).missingDefaults),
		at("SGL-MEM", "__post_init__ (0.5.2), mem fraction static", old, (*state).oldMemory),
		at("SGL-MODEL", "model_specific_adjustments (0.5.2)", old, (*state).oldModelSpecific),
		at("SGL-SAMPLING", "__post_init__ (0.5.2), kernel backends", old, (*state).samplingBackend),
		at("SGL-ATTN", "__post_init__ (0.5.2), kernel backends", old, (*state).oldAttention),
		at("SGL-PAGE-DEFAULT", "__post_init__ (0.5.2), page size", old, (*state).pageSize),
		at("SGL-AMD", "__post_init__ (0.5.2), AMD", old, (*state).amd),
		at("SGL-GRAMMAR", "__post_init__ (0.5.2), grammar backend", old, (*state).grammar),
		at("SGL-DP", "__post_init__ (0.5.2), data parallelism attention", old, (*state).dataParallel),
		at("SGL-MOE", "__post_init__ (0.5.2), MoE kernel", old, (*state).oldMoEKernel),
		at("SGL-MOE-A2A", "__post_init__ (0.5.2), DeepEP MoE", old, (*state).a2aMoE),
		at("SGL-MOE-EPLB", "__post_init__ (0.5.2), EPLB", old, (*state).eplb),
		at("SGL-MOE-METRICS", "__post_init__ (0.5.2), expert distribution", old, (*state).expertMetrics),
		at("SGL-PP", "__post_init__ (0.5.2), pipeline parallelism", old, (*state).pipelineParallel),
		at("SGL-HICACHE", "__post_init__ (0.5.2), hicache", old, (*state).oldHicache),
		at("SGL-SPEC", "__post_init__ (0.5.2), speculative decoding", old, (*state).oldSpeculative),
		at("SGL-LOAD", "__post_init__ (0.5.2), model loading", old, (*state).loadFormat),
		at("SGL-PD", "__post_init__ (0.5.2), PD disaggregation", old, (*state).disaggregation),
		at("SGL-ENV", "__post_init__ (0.5.2), environment", old, (*state).environment),
		at("SGL-CACHE", "__post_init__ (0.5.2), hierarchical cache", old, (*state).cacheCompatibility),
	}
}

// oldMoEFlags are switches that have become values of other settings.
func (s *state) oldMoEFlags() error {
	turn := func(flag, setting string, value any, advice string) {
		if !s.Bool(flag) {
			return
		}
		s.because("SGL-MOE-OLD", byCoupling, "a deprecated switch", flag)
		s.Set(setting, value)
		s.warn("NOTE: --%s is deprecated. Please set `--%s` to %s instead.", dashes(flag), dashes(setting), advice)
	}
	turn("enable_ep_moe", "ep_size", s.Get("tp_size"), "the same value as `--tp-size`")
	turn("enable_deepep_moe", "moe_a2a_backend", "deepep", "'deepep'")
	for _, runner := range []string{"triton_kernel", "flashinfer_cutlass", "flashinfer_trtllm", "flashinfer_mxfp4"} {
		turn("enable_"+runner+"_moe", "moe_runner_backend", runner, "'"+runner+"'")
	}
	return nil
}

// configOnly is get_hf_config: the configuration, without what ModelConfig
// derives and checks.
func (s *state) configOnly() (*modelConfig, error) {
	m := &modelConfig{}
	return m, s.loadConfig(m, s.model)
}

// oldMemory sets what follows from the GPU's memory: first the share for
// weights and KV cache, then prefill chunk and CUDA graphs.
func (s *state) oldMemory() error {
	if s.gpu.fromTorch {
		s.warn("Failed to get GPU memory capacity from nvidia-smi, falling back to torch.cuda.mem_get_info().")
	}
	memory := s.gpu.memoryMiB
	if s.Nil("mem_fraction_static") {
		if err := s.oldMemFraction(memory); err != nil {
			return err
		}
	}
	if s.Nil("chunked_prefill_size") {
		chunk := 16384
		switch {
		case memory < 35<<10:
			chunk = 2048
		case memory < 160<<10:
			chunk = 8192
		}
		s.because("SGL-MEM-CHUNK", byHardware, "by the memory of the GPU")
		s.Set("chunked_prefill_size", chunk)
	}
	if s.Nil("cuda_graph_max_bs") && memory < 35<<10 {
		s.because("SGL-MEM-GRAPH", byHardware, "a small GPU has small CUDA graphs", "tp_size")
		if s.Int("tp_size") < 4 {
			s.Set("cuda_graph_max_bs", 8)
		} else {
			s.Set("cuda_graph_max_bs", 80)
		}
	}
	return nil
}

func (s *state) oldMemFraction(memory float64) error {
	parallel := s.Float("tp_size") * s.Float("pp_size")
	reserved := 32.0 // GiB
	switch {
	case memory < 35<<10:
		reserved = 2.8 + parallel/10
	case memory < 90<<10:
		reserved = 9.5 + parallel/2
	case memory < 160<<10:
		reserved = 12 + parallel/2
	}
	switch s.Str("speculative_algorithm") {
	case "":
	case "STANDALONE":
		reserved += 6
	default:
		reserved += 2
	}
	if s.Bool("enable_dp_attention") {
		reserved += 4
	}
	s.because("SGL-MEM-FRACTION", byHardware, "what activations, CUDA graphs and parallelism leave of the GPU's memory", "tp_size", "pp_size")
	s.Set("mem_fraction_static", round3((memory-reserved*1024)/memory))
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if m.multimodal {
		s.visionMemory(m)
	}
	return nil
}

// oldModelSpecific chooses what follows from the architecture.
func (s *state) oldModelSpecific() error {
	m, err := s.configOnly()
	if err != nil {
		return err
	}
	switch m.arch {
	case "GptOssForCausalLM":
		return s.oldGPTOSS(m)
	case "Llama4ForCausalLM", "Llama4ForConditionalGeneration":
		if !s.Is("attention_backend", "fa3", "aiter", "triton") {
			return assertion("fa3, aiter, or triton is required for Llama4 model")
		}
	case "Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", "Gemma3nForCausalLM", "Gemma3nForConditionalGeneration":
		s.because("SGL-KV-SWA-001", byModel, "the model's sliding-window layers get full KV memory")
		s.warn("Disable hybrid SWA memory for %s as it is not yet supported.", m.arch)
		s.Set("disable_hybrid_swa_memory", true)
	}
	return nil
}

func (s *state) oldGPTOSS(m *modelConfig) error {
	if s.Nil("attention_backend") {
		s.because("SGL-ATTN-ARCH-001", byHardware, "GPT-OSS runs with trtllm_mha on SM100, fa3 on SM90, else triton")
		switch {
		case s.gpu.sm100():
			s.Set("attention_backend", "trtllm_mha")
		case s.gpu.sm90():
			s.Set("attention_backend", "fa3")
		default:
			s.Set("attention_backend", "triton")
		}
	}
	s.info("Use %s as attention backend for GptOssForCausalLM", s.Str("attention_backend"))
	if !s.Is("attention_backend", "triton", "trtllm_mha", "fa3") {
		return assertion("GptOssForCausalLM requires one of ['triton', 'trtllm_mha', 'fa3'] attention backend, but got '%s'", s.Str("attention_backend"))
	}
	if s.gpu.sm100() && !s.Bool("enable_dp_attention") {
		s.because("SGL-COMM-FUSION-001", byHardware, "SM100 fuses the all-reduce of this architecture")
		s.Set("enable_flashinfer_allreduce_fusion", true)
		s.info("Enable FlashInfer AllReduce Fusion on sm100 for GptOssForCausalLM")
	}
	mxfp4 := m.quantMethod() == "mxfp4"
	switch {
	case s.gpu.sm100() && mxfp4:
		s.because("SGL-MOE-GPTOSS-001", byHardware, "SM100 has flashinfer's MXFP4 kernels")
		s.Set("moe_runner_backend", "flashinfer_mxfp4")
		s.warn("Detected SM100 and MXFP4 quantization format for GPT-OSS model, enabling FlashInfer MXFP4 MOE kernel.")
	case s.Is("moe_runner_backend", "triton_kernel") && s.Int("ep_size") != 1:
		return assertion("Triton kernel MoE is only supported when ep_size == 1")
	case s.Is("moe_runner_backend", "auto") && s.Int("ep_size") == 1 && s.tritonKernels():
		s.because("SGL-MOE-GPTOSS-003", byModel, "GPT-OSS runs with triton_kernels")
		s.Set("moe_runner_backend", "triton_kernel")
		s.warn("Detected GPT-OSS model, enabling triton_kernels MOE kernel.")
	}
	s.because("SGL-KV-SWA-001", byModel, "the model's sliding-window layers get full KV memory")
	s.Set("disable_hybrid_swa_memory", true)
	if mxfp4 {
		s.because("SGL-DTYPE-GPTOSS", byCheckpoint, "MXFP4 kernels want bfloat16")
		s.Set("dtype", "bfloat16")
	}
	return nil
}

// oldAttention is what a named attention backend forces; ModelRunner chooses
// one where none is named.
func (s *state) oldAttention() error {
	if s.Is("attention_backend", "torch_native") {
		s.because("SGL-GRAPH-ATTN-001", byCoupling, "the backend cannot be captured", "attention_backend")
		s.warn("Cuda graph is disabled because of using torch native attention backend")
		s.Set("disable_cuda_graph", true)
	}
	if s.Is("attention_backend", "ascend") {
		s.pageFor(128, "At this moment Ascend attention backend only supports a page_size of 128, change page_size to 128.")
	}
	if s.decodes("flashmla") {
		s.pageFor(64, "FlashMLA only supports a page_size of 64, change page_size to 64.")
	}
	if s.decodes("cutlass_mla") {
		s.pageFor(128, "Cutlass MLA only supports a page_size of 128, change page_size to 128.")
	}
	if s.decodes("trtllm_mla") {
		if !s.gpu.sm100() {
			return valueError("TRTLLM MLA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.")
		}
		if !s.Is("page_size", 32, 64) {
			s.pageFor(64, "TensorRT-LLM MLA only supports page_size of 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
		}
		if !s.Is("kv_cache_dtype", "fp8_e4m3", "auto") {
			return valueError("TensorRT-LLM MLA backend only supports kv-cache-dtype of fp8_e4m3 or auto.")
		}
	}
	if s.decodes("trtllm_mha") || s.Is("prefill_attention_backend", "trtllm_mha") {
		if !s.gpu.sm100() {
			return valueError("TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.")
		}
		if !s.Is("page_size", 16, 32, 64) {
			s.pageFor(64, "TensorRT-LLM MHA only supports page_size of 16, 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
		}
	}
	if s.Is("attention_backend", "dual_chunk_flash_attn") {
		s.because("SGL-ATTN-DUALCHUNK", byCoupling, "dual chunk attention excludes them", "attention_backend")
		s.warn("Mixed chunk, radix cache, and cuda graphs are disabled because of using dual chunk flash attention backend")
		s.Set("enable_mixed_chunk", false)
		s.Set("disable_cuda_graph", true)
		s.Set("disable_radix_cache", true)
	}
	return nil
}

func (s *state) oldMoEKernel() error {
	switch s.Str("moe_runner_backend") {
	case "flashinfer_cutlass":
		if !s.Is("quantization", "modelopt_fp4") {
			return assertion("modelopt_fp4 quantization is required for Flashinfer MOE")
		}
		if !s.Is("ep_size", 1, s.Get("tp_size")) {
			return assertion("The expert parallel size must be 1 or the same as the tensor parallel size")
		}
	case "flashinfer_trtllm":
		if !s.Is("quantization", "modelopt_fp4", "fp8") {
			return assertion("modelopt_fp4 quantization is required for Flashinfer TRTLLM MoE")
		}
		s.because("SGL-MOE-FUSION-001", byCoupling, "flashinfer_trtllm cannot fuse the shared experts", "moe_runner_backend")
		s.Set("disable_shared_experts_fusion", true)
		s.warn("FlashInfer TRTLLM MoE is enabled. --disable-shared-experts-fusion is automatically set.")
	}
	return nil
}

func (s *state) oldHicache() error {
	if s.Is("hicache_storage_backend", "mooncake") {
		s.because("", byCoupling, "Mooncake stores pages with copy kernels", "hicache_storage_backend")
		s.Set("hicache_io_backend", "kernel")
		s.Set("hicache_mem_layout", "page_first")
	}
	return nil
}

func (s *state) oldSpeculative() error {
	if s.Is("speculative_algorithm", "NEXTN") {
		s.because("SGL-SPEC-NEXTN", byDefault, "NEXTN is EAGLE with the model's own draft layer")
		s.Set("speculative_algorithm", "EAGLE")
	}
	if !s.Is("speculative_algorithm", "EAGLE", "EAGLE3", "STANDALONE") {
		return nil
	}
	if s.Is("speculative_algorithm", "STANDALONE") && s.Bool("enable_dp_attention") {
		return assertion("Currently standalone speculative decoding does not support dp attention.")
	}
	if s.Nil("max_running_requests") {
		s.because("SGL-RUNNING-SPEC-001", byCoupling, "speculation is limited to 48 requests unless told otherwise", "speculative_algorithm")
		s.Set("max_running_requests", 48)
	}
	s.because("SGL-OVERLAP-SPEC-002", byCoupling, "speculation excludes the overlap scheduler", "speculative_algorithm")
	s.Set("disable_overlap_schedule", true)
	s.warn("Overlap scheduler is disabled because of using eagle speculative decoding.")
	s.noMixedChunk("eagle")
	m, err := s.configOnly()
	if err != nil {
		return err
	}
	s.draftModel(m)
	if s.Nil("speculative_num_steps") {
		if !s.Nil("speculative_eagle_topk") || !s.Nil("speculative_num_draft_tokens") {
			return assertion("")
		}
		s.speculativeParams(m)
	}
	return s.topkLimits()
}
