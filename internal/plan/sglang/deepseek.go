package sglang

// deepseek is DeepSeek V3 and what shares its attention.
func (s *state) deepseek(m *modelConfig) error {
	if s.dsa(m) {
		if err := s.sparse(m); err != nil {
			return err
		}
	} else {
		s.deepseekAttention()
	}
	if s.gpu.sm100() {
		s.deepseekMoE(m)
	}
	return nil
}

// sparse is a model with DeepSeek Sparse Attention (V3.2, GLM-5).
func (s *state) sparse(m *modelConfig) error {
	if m.arch == "GlmMoeDsaForCausalLM" && s.gpu.blackwell() {
		s.SetEnv("SGLANG_NSA_FORCE_MLA", "True")
		s.because("SGL-DSA-MLA-001", byHardware, "GLM on Blackwell prefills with MLA")
		s.warn("Force NSA prefill to use MLA (i.e. disable MHA_ONE_SHOT) for GlmMoeDsaForCausalLM on Blackwell.")
	}
	if s.attentionUnset() {
		s.because("SGL-ATTN-DSA-001", byModel, "a model with sparse attention runs with its own backend")
		s.Set("attention_backend", "nsa")
		s.info("Use nsa attention backend for DeepSeek with DSA.")
	}
	if s.Bool("enable_nsa_prefill_context_parallel") {
		if err := s.sparseContextParallel(); err != nil {
			return err
		}
	} else if dp, tp := s.Int("dp_size"), s.Int("tp_size"); dp < tp {
		s.because("SGL-DSA-TP-001", byCoupling, "attention weights are sharded", "tp_size", "dp_size")
		s.warn("DSA with TP mode is active, dp_size=%d, tp_size=%d, attn_tp_size=%d, attention weights will be sharded across %d ranks.", dp, tp, tp, tp)
	}
	if s.gpu.hip {
		s.because("SGL-PAGE-DSA-001", byHardware, "sparse attention on AMD GPUs has pages of one token")
		s.Set("page_size", 1)
		s.warn("Setting page size to 1 for DeepSeek DSA on ROCm.")
	} else {
		s.because("SGL-PAGE-DSA-001", byModel, "sparse attention has pages of 64 tokens")
		s.Set("page_size", 64)
		s.warn("Setting page size to 64 for DeepSeek DSA.")
	}
	if err := s.sparseKV(); err != nil {
		return err
	}
	s.sparseBackends()
	if s.Bool("enable_nsa_prefill_context_parallel") && s.Is("disaggregation_mode", "decode") {
		return assertion("CP is only supported for prefill when PD disaggregation, please remove --enable-nsa-prefill-context-parallel.")
	}
	return nil
}

func (s *state) sparseContextParallel() error {
	s.because("SGL-DSA-CP-001", byCoupling, "context parallel prefill", "enable_nsa_prefill_context_parallel")
	s.warn("Context parallel feature is still under experiment. It has only been verified on Hopper platform.")
	if s.Is("nsa_prefill_cp_mode", "in-seq-split") {
		s.because("SGL-DSA-CP-002", byCoupling, "splitting inside a sequence restricts these", "enable_nsa_prefill_context_parallel", "nsa_prefill_cp_mode")
		s.Set("enable_dp_attention", true)
		s.Set("moe_dense_tp_size", 1)
		s.Set("moe_a2a_backend", "deepep")
		s.Set("ep_size", s.Get("tp_size"))
		s.Set("kv_cache_dtype", "bf16")
		s.warn("For in-seq split mode, we have the following restrictions: moe_dense_tp_size == 1, moe_a2a_backend == deepep, ep_size == tp_size, kv_cache_dtype == bf16, batch_size == 1")
	} else {
		s.because("SGL-DSA-CP-002", byCoupling, "splitting round robin restricts these", "enable_nsa_prefill_context_parallel", "nsa_prefill_cp_mode")
		s.Set("enable_dp_attention", true)
		s.Set("moe_dense_tp_size", 1)
		if s.Int("dp_size") != 1 {
			return assertion("For round-robin split mode, dp attention is not supported.")
		}
	}
	if s.Int("tp_size") != 8 {
		return assertion("Current multi-machine CP support suffers from precision issues. So context parallel only support Single machine(tp_size == 8)")
	}
	s.warn("Enable Context Parallel opt for deeeseekv3.2-DSA, Setting dp_size == %d and moe_dense_tp_size == %d, ep_size == %d, tp_size == %d, kv_cache_dtype == %s, moe_a2a_backend %s ",
		s.Int("dp_size"), s.Int("moe_dense_tp_size"), s.Int("ep_size"), s.Int("tp_size"), s.Str("kv_cache_dtype"), s.Str("moe_a2a_backend"))
	return nil
}

// sparseKV is _set_default_nsa_kv_cache_dtype.
func (s *state) sparseKV() error {
	auto := s.Is("kv_cache_dtype", "auto")
	if auto && (!s.Nil("nsa_prefill_backend") || !s.Nil("nsa_decode_backend")) {
		s.because("SGL-DSA-ASKED-001", byCoupling, "the backends that were asked for want a KV cache dtype of their own")
		s.warn("When specifying --nsa-prefill-backend or --nsa-decode-backend, " +
			"you should also explicitly set --kv-cache-dtype (e.g., 'fp8_e4m3' or 'bfloat16'). " +
			"DeepSeek V3.2 defaults to FP8 KV cache which may not be compatible with all backends.")
	}
	if auto {
		dtype := "bfloat16"
		if s.gpu.major >= 10 {
			dtype = "fp8_e4m3"
		}
		s.because("SGL-KV-DSA-001", byHardware, "with sparse attention auto is fp8_e4m3 from compute capability 10 on, else bfloat16")
		s.Set("kv_cache_dtype", dtype)
		s.warn("Setting KV cache dtype to %s for DeepSeek DSA on SM%d device.", dtype, s.gpu.major)
	}
	if s.Is("kv_cache_dtype", "bf16") {
		s.because("SGL-KV-DSA-001", byDefault, "bf16 is bfloat16")
		s.Set("kv_cache_dtype", "bfloat16")
	}
	if !s.Is("kv_cache_dtype", "bfloat16", "fp8_e4m3") {
		return assertion("DeepSeek DSA only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype")
	}
	return nil
}

// sparseBackends is _set_default_nsa_backends.
func (s *state) sparseBackends() {
	prefill, decode := "flashmla_sparse", "fa3"
	switch {
	case s.Is("kv_cache_dtype", "fp8_e4m3"):
		prefill, decode = "flashmla_auto", "flashmla_kv"
	case s.gpu.major >= 10:
		decode = "trtllm"
	}
	s.because("SGL-DSA-BACKENDS-001", byHardware, "the kernels of sparse attention follow the KV cache dtype and the GPU", "kv_cache_dtype")
	if s.Nil("nsa_prefill_backend") {
		s.Set("nsa_prefill_backend", prefill)
	}
	if s.Nil("nsa_decode_backend") {
		s.Set("nsa_decode_backend", decode)
	}
	s.warn("Set NSA backends for %s KV Cache: prefill=%s, decode=%s.", s.Str("kv_cache_dtype"), s.Str("nsa_prefill_backend"), s.Str("nsa_decode_backend"))
}

// deepseekAttention is V3, R1 and V3.1, without sparse attention.
func (s *state) deepseekAttention() {
	if s.Bool("enable_piecewise_cuda_graph") {
		s.info("Piecewise CUDA graph is enabled, use MLA for prefill.")
	}
	if s.gpu.sm100() && s.attentionUnset() {
		s.because("SGL-ATTN-MLA-001", byHardware, "SM100 runs multi-head latent attention with trtllm_mla")
		s.Set("attention_backend", "trtllm_mla")
		s.info("Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM")
	}
}

// deepseekMoE chooses quantisation and experts' kernels on SM100.
func (s *state) deepseekMoE(m *modelConfig) {
	if s.Nil("quantization") {
		method := m.quantMethod()
		if method == "" && m.arch == "DeepseekV3ForCausalLM" {
			s.because("SGL-QUANT-DSV3-001", byModel, "a DeepSeek V3 without named quantisation is taken as FP8 on SM100")
			s.Set("quantization", "fp8")
			s.info("Quantization not specified, default to fp8 for DeepSeek on sm100")
		} else {
			s.because("SGL-QUANT-DETECTED", byCheckpoint, "on SM100 the checkpoint's method is taken over")
			s.Set("quantization", orNone(method))
		}
	}
	if s.Is("moe_a2a_backend", "none") && s.Is("moe_runner_backend", "auto") && s.Is("quantization", "fp8", "modelopt_fp8", "modelopt_fp4") {
		s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs these experts with flashinfer_trtllm", "quantization")
		s.Set("moe_runner_backend", "flashinfer_trtllm")
		s.info("Use flashinfer_trtllm as MoE runner backend on sm100 for DeepseekV3ForCausalLM")
	}
	if s.Is("quantization", "modelopt_fp4") && s.Is("speculative_algorithm", "EAGLE") &&
		(s.Nil("speculative_moe_runner_backend") || s.Nil("speculative_moe_a2a_backend")) {
		s.because("SGL-MOE-DRAFT-001", byCheckpoint, "the draft layer of an NVFP4 checkpoint is not quantised", "speculative_algorithm")
		if s.envSwitch("SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE", false) {
			s.Set("speculative_moe_runner_backend", "deep_gemm")
			s.Set("speculative_moe_a2a_backend", "deepep")
			s.info("Use deep_gemm moe runner and deepep a2a backend for bf16 nextn layer in deepseek fp4 checkpoint.")
		} else {
			s.Set("speculative_moe_runner_backend", "triton")
			s.Set("speculative_moe_a2a_backend", "none")
			s.info("Use triton fused moe by default for bf16 nextn layer in deepseek fp4 checkpoint.")
		}
	}
}
