package sglang

import (
	"strconv"
	"strings"
)

// deepseek is DeepSeek V3 and what shares its attention.
func (s *state) deepseek(m *modelConfig) error {
	if s.dsa(m) && !s.since(r0508) {
		if err := s.olderSparse(m); err != nil {
			return err
		}
	} else if s.dsa(m) {
		if err := s.sparse(m); err != nil {
			return err
		}
	} else {
		s.deepseekAttention()
	}
	switch {
	case s.gpu.sm100():
		return s.deepseekMoE(m)
	case s.gpu.hip && s.since(r0510):
		s.aiterFusion("DeepseekV3ForCausalLM")
		return s.draftMoE()
	}
	return nil
}

// aiterFusion says that aiter fuses the all-reduce on one node.
func (s *state) aiterFusion(arch string) {
	if !s.dpAttention() && s.Int("nnodes") == 1 {
		s.because("SGL-COMM-FUSION-002", byHardware, "AMD GPUs")
		s.info("Enable Aiter AllReduce Fusion for %s", arch)
	}
}

// kimiInt4 is the int4 scheme of Kimi K2 Thinking and K2.5.
func (m *modelConfig) kimiInt4() bool {
	w := m.hf.Obj("quantization_config").Obj("config_groups").Obj("group_0").Obj("weights")
	return m.quantMethod() == "compressed-tensors" && w.IntOr("num_bits", 0) == 4 && w.IntOr("group_size", 0) == 32 &&
		w.Text("strategy") == "group" && w.Text("type") == "int"
}

// sparse is a model with DeepSeek Sparse Attention (V3.2, GLM-5).
func (s *state) sparse(m *modelConfig) error {
	s.sparsePrefill(m)
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
	if s.gpu.hip && !(s.since(r0512) && s.preshuffle()) {
		s.because("SGL-PAGE-DSA-001", byHardware, "sparse attention on AMD GPUs has pages of one token")
		s.Set("page_size", 1)
		if s.since(r0512) {
			s.warn("Setting page size to 1 for DeepSeek DSA on ROCm (aiter preshuffle paged-MQA path unavailable: needs Triton>=3.5.0 or AITER_ENABLE_AOT_GLUON_PA_MQA_LOGITS=1).")
		} else {
			s.warn("Setting page size to 1 for DeepSeek DSA on ROCm.")
		}
	} else {
		s.because("SGL-PAGE-DSA-001", byModel, "sparse attention has pages of 64 tokens")
		s.Set("page_size", 64)
		s.warn("Setting page size to 64 for DeepSeek DSA.")
	}
	if err := s.sparseKV(); err != nil {
		return err
	}
	if err := s.sparseBackends(m); err != nil {
		return err
	}
	if s.Bool("enable_nsa_prefill_context_parallel") && s.Is("disaggregation_mode", "decode") {
		return assertion("CP is only supported for prefill when PD disaggregation, please remove --enable-nsa-prefill-context-parallel.")
	}
	return nil
}

// sparsePrefill says up to which length prefill may attend densely.
func (s *state) sparsePrefill(m *modelConfig) {
	const threshold = "SGLANG_NSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD"
	glm := m.arch == "GlmMoeDsaForCausalLM" && s.gpu.blackwell()
	v, set := s.Env(threshold)
	switch {
	case glm && s.r == r0509:
		s.SetEnv("SGLANG_NSA_FORCE_MLA", "True")
		s.because("SGL-DSA-MLA-001", byHardware, "GLM on Blackwell prefills with MLA")
		s.warn("Force NSA prefill to use MLA (i.e. disable MHA_ONE_SHOT) for GlmMoeDsaForCausalLM on Blackwell.")
	case !s.since(r0510):
	case glm:
		s.SetEnv(threshold, "0")
		s.because("SGL-DSA-MLA-001", byHardware, "GLM on Blackwell prefills sparsely")
		s.warn("Force NSA prefill to use sparse MLA (i.e. disable MHA_ONE_SHOT) for GlmMoeDsaForCausalLM on Blackwell.")
	case set:
		s.because("SGL-DSA-DENSE-001", byEnvironment, threshold)
		s.warn("Dense attention kv len threshold is manually set to %s for DSA. Caution: This may cause performance regression if the threshold is larger than the index topk of model.", v)
	default:
		n := m.hf.IntOr("index_topk", 0)
		s.SetEnv(threshold, strconv.Itoa(n))
		s.because("SGL-DSA-DENSE-001", byModel, "prefill attends densely as long as nothing can be left out")
		s.warn("Set dense attention kv len threshold to model index_topk=%d for DeepSeek with DSA.", n)
	}
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
		if s.since(r0510) {
			s.warn("For in-seq split mode, we have the following restrictions: moe_dense_tp_size == 1, moe_a2a_backend == deepep, ep_size == tp_size, batch_size == 1")
		} else {
			s.Set("kv_cache_dtype", "bf16")
			s.warn("For in-seq split mode, we have the following restrictions: moe_dense_tp_size == 1, moe_a2a_backend == deepep, ep_size == tp_size, kv_cache_dtype == bf16, batch_size == 1")
		}
	} else {
		s.because("SGL-DSA-CP-002", byCoupling, "splitting round robin restricts these", "enable_nsa_prefill_context_parallel", "nsa_prefill_cp_mode")
		s.Set("enable_dp_attention", true)
		s.Set("moe_dense_tp_size", 1)
		if s.Int("dp_size") != 1 {
			return assertion("For round-robin split mode, dp attention is not supported.")
		}
	}
	if s.since(r0512) && s.Int("tp_size") > 8 {
		return assertion("Context parallel only supports single machine (tp_size <= 8). Cross-machine CP has precision issues.")
	}
	if !s.since(r0512) && s.Int("tp_size") != 8 {
		return assertion("Current multi-machine CP support suffers from precision issues. So context parallel only support Single machine(tp_size == 8)")
	}
	if s.since(r0510) {
		cp, err := s.tpOver("dp_size")
		if err != nil {
			return err
		}
		s.Set("attn_cp_size", cp)
	}
	s.warn("Enable Context Parallel opt for deeeseekv3.2-DSA, Setting dp_size == %d and moe_dense_tp_size == %d, ep_size == %d, tp_size == %d, kv_cache_dtype == %s, moe_a2a_backend %s ",
		s.Int("dp_size"), s.Int("moe_dense_tp_size"), s.Int("ep_size"), s.Int("tp_size"), s.Str("kv_cache_dtype"), s.Str("moe_a2a_backend"))
	return nil
}

// sparseKV is _set_default_nsa_kv_cache_dtype.
func (s *state) sparseKV() error {
	auto := s.Is("kv_cache_dtype", "auto")
	if auto && s.since(r0509) && (!s.Nil(s.sparseSetting("prefill_backend")) || !s.Nil(s.sparseSetting("decode_backend"))) {
		s.because("SGL-DSA-ASKED-001", byCoupling, "the backends that were asked for want a KV cache dtype of their own")
		s.warn("When specifying --%[1]s-prefill-backend or --%[1]s-decode-backend, "+
			"you should also explicitly set --kv-cache-dtype (e.g., 'fp8_e4m3' or 'bfloat16'). "+
			"DeepSeek V3.2 defaults to FP8 KV cache which may not be compatible with all backends.", s.sparseSetting("")[:3])
	}
	if auto {
		dtype := "bfloat16"
		if s.gpu.major >= 10 {
			dtype = "fp8_e4m3"
		}
		s.because("SGL-KV-DSA-001", byHardware, "with sparse attention auto is fp8_e4m3 from compute capability 10 on, else bfloat16")
		s.Set("kv_cache_dtype", dtype)
		if s.since(r0508) {
			s.warn("Setting KV cache dtype to %s for DeepSeek DSA on SM%d device.", dtype, s.gpu.major)
		} else {
			s.warn("Setting KV cache dtype to %s for DeepSeek NSA.", dtype)
		}
	}
	if s.Is("kv_cache_dtype", "bf16") {
		s.because("SGL-KV-DSA-001", byDefault, "bf16 is bfloat16")
		s.Set("kv_cache_dtype", "bfloat16")
	}
	if !s.Is("kv_cache_dtype", "bfloat16", "fp8_e4m3") {
		return assertion("DeepSeek %s only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype", s.sparseName())
	}
	return nil
}

// sparseBackends is _set_default_nsa_backends.
func (s *state) sparseBackends(m *modelConfig) error {
	if s.since(r0518) && m.arch == "GlmMoeDsaForCausalLM" && s.gpu.cuda() && s.gpu.major == 12 && s.Is("kv_cache_dtype", "fp8_e4m3") {
		s.because("SGL-DSA-BACKENDS-002", byHardware, "GLM with an FP8 KV cache has kernels of its own on SM12x", "kv_cache_dtype")
		for _, phase := range []string{"prefill_backend", "decode_backend"} {
			if s.Nil(s.sparseSetting(phase)) {
				s.Set(s.sparseSetting(phase), "flashinfer_sparse_mla")
			}
		}
		s.warn("Set DSA backends for GLM FP8 KV Cache on SM120/SM121: prefill=flashinfer_sparse_mla, decode=flashinfer_sparse_mla.")
		return nil
	}
	prefill, decode := "flashmla_sparse", "fa3"
	keep := true // what the user named
	switch fp8 := s.Is("kv_cache_dtype", "fp8_e4m3"); {
	case !s.since(r0509):
		s.olderSparseBackends(fp8)
		return nil
	case s.Bool("enable_hisparse") && fp8 && s.since(r0512):
		prefill, decode = "flashmla_kv", "flashmla_kv"
	case s.Bool("enable_hisparse"):
		decode = "flashmla_sparse"
	case s.since(r0523) && s.gpu.hip:
		prefill, decode = "triton", "triton"
	case s.since(r0510) && s.gpu.hip && s.Nil(s.sparseSetting("prefill_backend")) && s.Nil(s.sparseSetting("decode_backend")):
		prefill, decode = "tilelang", "tilelang"
	case s.since(r0510) && fp8 && s.gpu.major >= 10:
		prefill, decode, keep = "trtllm", "trtllm", s.since(r0512)
	case fp8 && s.since(r0512):
		prefill, decode = "flashmla_kv", "flashmla_kv"
	case fp8:
		prefill, decode = "flashmla_auto", "flashmla_kv"
	case s.gpu.major >= 10:
		decode = "trtllm"
	}
	s.because("SGL-DSA-BACKENDS-001", byHardware, "the kernels of sparse attention follow the KV cache dtype and the GPU", "kv_cache_dtype")
	if s.Nil(s.sparseSetting("prefill_backend")) || !keep {
		s.Set(s.sparseSetting("prefill_backend"), prefill)
	}
	if s.Nil(s.sparseSetting("decode_backend")) || !keep {
		s.Set(s.sparseSetting("decode_backend"), decode)
	}
	if s.Bool("enable_hisparse") && s.since(r0512) {
		s.warn("HiSparse enabled (%s): using %s backends prefill=%s, decode=%s.", s.Str("kv_cache_dtype"), s.sparseWord(), s.Str(s.sparseSetting("prefill_backend")), s.Str(s.sparseSetting("decode_backend")))
		return nil
	}
	if s.Bool("enable_hisparse") {
		s.warn("HiSparse enabled: using flashmla_sparse NSA backends (prefill=%s, decode=%s).", s.Str(s.sparseSetting("prefill_backend")), s.Str(s.sparseSetting("decode_backend")))
		return nil
	}
	if s.since(r0523) {
		if err := s.sparseKernels(); err != nil {
			return err
		}
	}
	if tilelang := s.Is(s.sparseSetting("prefill_backend"), "tilelang") || s.Is(s.sparseSetting("decode_backend"), "tilelang"); s.r == r0518 && tilelang && s.gpu.cuda() && s.Is("kv_cache_dtype", "fp8_e4m3") {
		return valueError("The tilelang DSA prefill/decode kernels only support an fp8_e4m3 KV cache on ROCm/HIP; on CUDA they require a bfloat16 KV cache. " +
			"Use --kv-cache-dtype bfloat16 with the tilelang backend, or keep --kv-cache-dtype fp8_e4m3 and pick an fp8-capable DSA backend (flashmla_kv on Hopper, trtllm on Blackwell).")
	}
	s.warn("Set %s backends for %s KV Cache: prefill=%s, decode=%s.", s.sparseWord(), s.Str("kv_cache_dtype"), s.Str(s.sparseSetting("prefill_backend")), s.Str(s.sparseSetting("decode_backend")))
	return nil
}

// sparseWord is how lines name sparse attention.
func (s *state) sparseWord() string { return strings.ToUpper(s.sparseSetting("")[:3]) }

// deepseekAttention is V3, R1 and V3.1, without sparse attention.
func (s *state) deepseekAttention() {
	if s.Bool("enable_piecewise_cuda_graph") || s.since(r0510) && !s.Bool("disable_piecewise_cuda_graph") {
		s.info("Piecewise CUDA graph is enabled, use MLA for prefill.")
	}
	if s.gpu.sm100() && s.attentionUnset() {
		s.because("SGL-ATTN-MLA-001", byHardware, "SM100 runs multi-head latent attention with trtllm_mla")
		s.Set("attention_backend", "trtllm_mla")
		s.info("Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM")
	}
}

// deepseekMoE chooses quantisation and experts' kernels on SM100.
func (s *state) deepseekMoE(m *modelConfig) error {
	s.olderFusion("DeepseekV3ForCausalLM")
	if s.Nil("quantization") && !s.unquant {
		method := m.quantMethod()
		if method == "" && m.arch == "DeepseekV3ForCausalLM" && s.since(r0512) {
			s.because("SGL-QUANT-DSV3-002", byCheckpoint, "no FP8 weights are known of")
			s.info("No FP8 expert weights found in checkpoint, keeping bf16 for DeepSeek-arch model on sm100")
		} else if method == "" && m.arch == "DeepseekV3ForCausalLM" {
			s.because("SGL-QUANT-DSV3-001", byModel, "a DeepSeek V3 without named quantisation is taken as FP8 on SM100")
			s.Set("quantization", "fp8")
			s.info("Quantization not specified, default to fp8 for DeepSeek on sm100")
		} else {
			s.because("SGL-QUANT-DETECTED", byCheckpoint, "on SM100 the checkpoint's method is taken over")
			s.Set("quantization", orNone(method))
		}
	}
	kimi := s.since(r0510) && m.kimiInt4()
	known := s.Is("quantization", "fp8", "modelopt_fp8", "modelopt_fp4") || s.since(r0510) && s.Is("quantization", "modelopt_mixed") ||
		s.since(r0512) && s.Nil("quantization")
	if s.Is("moe_a2a_backend", "none") && s.Is("moe_runner_backend", "auto") && (known || kimi) {
		s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs these experts with flashinfer_trtllm", "quantization")
		s.Set("moe_runner_backend", "flashinfer_trtllm")
		if kimi {
			s.info("Use flashinfer_trtllm as MoE runner backend on Blackwell for Kimi K2 / K2.5 thinking int4")
		} else {
			s.info("Use flashinfer_trtllm as MoE runner backend on sm100 for DeepseekV3ForCausalLM")
		}
	}
	if s.since(r0510) {
		return nil
	}
	return s.draftMoE()
}

// draftMoE chooses the experts' kernels of the draft of an NVFP4 checkpoint; from
// 0.5.10 on only on AMD GPUs.
func (s *state) draftMoE() error {
	if s.since(r0508) && s.Is("quantization", "modelopt_fp4") && s.Is("speculative_algorithm", "EAGLE") &&
		(s.Nil("speculative_moe_runner_backend") || s.Nil("speculative_moe_a2a_backend")) {
		s.because("SGL-MOE-DRAFT-001", byCheckpoint, "the draft layer of an NVFP4 checkpoint is not quantised", "speculative_algorithm")
		if s.envSwitch("SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE", false) {
			if s.since(r0510) && s.Int("ep_size") == 1 {
				return valueError("Invalid configuration: 'deep_gemm' speculative MoE runner backend with "+
					"'deepep' a2a backend requires expert parallelism (ep_size > 1). Current ep_size is %d. "+
					"Please set --ep-size > 1 (e.g., --ep-size 8) to use this configuration, "+
					"or change --speculative-moe-a2a-backend to 'none' if expert parallelism is not available.", s.Int("ep_size"))
			}
			s.Set("speculative_moe_runner_backend", "deep_gemm")
			s.Set("speculative_moe_a2a_backend", "deepep")
			s.info("Use deep_gemm moe runner and deepep a2a backend for bf16 nextn layer in deepseek fp4 checkpoint.")
		} else {
			s.Set("speculative_moe_runner_backend", "triton")
			s.Set("speculative_moe_a2a_backend", "none")
			s.info("Use triton fused moe by default for bf16 nextn layer in deepseek fp4 checkpoint.")
		}
	}
	return nil
}

// preshuffle is aiter_can_use_preshuffle_paged_mqa: releases for AMD bring a
// Triton that has it.
func (s *state) preshuffle() bool {
	return s.envBool("SGLANG_USE_AITER") && !s.envBool("SGLANG_"+s.sparseWord()+"_HIP_DISABLE_PRESHUFFLE")
}

// deepseekV4 is apply_deepseek_v4_defaults.
func (s *state) deepseekV4(m *modelConfig) error {
	s.because("SGL-ATTN-DSV4", byModel, "DeepSeek V4 has its own attention and pages of 256 tokens")
	s.Set("attention_backend", "dsv4")
	s.Set("page_size", 256)
	s.info("Use dsv4 attention backend for %s, setting page_size to 256.", m.arch)
	if s.Nil("max_running_requests") {
		s.because("SGL-RUNNING-DSV4", byModel, "DeepSeek V4 is limited to 256 requests")
		s.Set("max_running_requests", 256)
		s.warn("Setting max_running_requests to 256 for %s.", m.arch)
	}
	if s.Is("kv_cache_dtype", "auto") {
		s.because("SGL-KV-DSA-001", byModel, "DeepSeek V4 has an FP8 KV cache")
		s.Set("kv_cache_dtype", "fp8_e4m3")
		s.warn("Setting KV cache dtype to fp8_e4m3 for %s.", m.arch)
	}
	switch {
	case !s.Is("kv_cache_dtype", "fp8_e4m3"):
		return assertion("%s is not supported for %s", s.Str("kv_cache_dtype"), m.arch)
	case s.Nil("speculative_algorithm"):
	case !s.Is("speculative_algorithm", "EAGLE"):
		return assertion("Only EAGLE speculative algorithm is supported for %s", m.arch)
	case !s.Is("speculative_eagle_topk", 1):
		return assertion("Only EAGLE speculative algorithm with topk == 1 is supported for %s", m.arch)
	case !s.specV2():
		s.SetEnv("SGLANG_ENABLE_SPEC_V2", "True")
		s.warn("Spec v2 is enabled for EAGLE speculative decoding.")
	}
	if r := s.Float("swa_full_tokens_ratio"); r == 0.8 {
		s.because("SGL-KV-DSV4", byModel, "most layers of DeepSeek V4 look back a short way")
		s.Set("swa_full_tokens_ratio", 0.1)
		s.info("Setting swa_full_tokens_ratio to 0.1 for %s.", m.arch)
	}
	return nil
}

// olderSparseBackends overwrites the kernels of sparse attention whatever was
// asked for, except a BF16 cache before SM100 (up to 0.5.8).
func (s *state) olderSparseBackends(fp8 bool) {
	s.because("SGL-DSA-BACKENDS-001", byHardware, "the kernels of sparse attention follow the KV cache dtype and the GPU", "kv_cache_dtype")
	switch {
	case fp8:
		s.Set("nsa_prefill_backend", "flashmla_auto")
		s.Set("nsa_decode_backend", "flashmla_kv")
		s.warn("Setting %s backend to flashmla_auto for prefill and flashmla_kv for decode for FP8 KV Cache.", s.sparseName())
	case s.gpu.major >= 10:
		s.Set("nsa_prefill_backend", "flashmla_sparse")
		s.Set("nsa_decode_backend", "flashmla_sparse")
	}
}

// sparseName is what messages call sparse attention.
func (s *state) sparseName() string {
	if s.since(r0508) {
		return "DSA"
	}
	return "NSA"
}

// sparseKernels checks which kernels of sparse attention go together.
func (s *state) sparseKernels() error {
	prefill, decode := s.Str(s.sparseSetting("prefill_backend")), s.Str(s.sparseSetting("decode_backend"))
	if !s.gpu.hip && (prefill == "triton" || decode == "triton") {
		return valueError("The triton DSA backend is only supported on ROCm/HIP. Pick an alternative DSA backend for CUDA (flashmla_kv on Hopper, trtllm on Blackwell).")
	}
	if s.gpu.hip || !s.Is("kv_cache_dtype", "fp8_e4m3") || prefill != "tilelang" && decode != "tilelang" {
		return nil
	}
	switch {
	case prefill != decode:
		return valueError("CUDA TileLang FP8 KV requires both DSA backends to be tilelang; raw and scaled FP8 KV layouts cannot be mixed.")
	case s.Int("dcp_size") > 1:
		return valueError("CUDA TileLang FP8 KV does not support --dcp-size > 1.")
	case s.gpu.major*10+s.gpu.minor < 89:
		return valueError("CUDA TileLang FP8 KV requires SM89 or newer.")
	}
	return nil
}
