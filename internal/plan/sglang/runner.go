package sglang

import "slices"

// modelRunner is what ModelRunner changes or refuses before it loads weights.
func (s *state) modelRunner(m *modelConfig) error {
	s.Begin("SGL-RUNNER", "sglang/srt/model_executor/model_runner.py model_specific_adjustment (0.5.9)")
	if !s.since(r0506) {
		if err := s.runnerAttention(m); err != nil {
			return err
		}
	}
	s.runnerAdjustments(m)
	s.Begin("SGL-RUNNER-MOE", "sglang/srt/model_executor/model_runner.py check_quantized_moe_compatibility (0.5.9)")
	return s.quantisedMoE(m)
}

// fa3Archs run with FlashAttention 3 on Hopper by default
// (is_fa3_default_architecture of 0.5.2).
var fa3Archs = []string{
	"Qwen2ForCausalLM", "Llama4ForConditionalGeneration", "LlamaForCausalLM", "Gemma2ForCausalLM",
	"Gemma3ForConditionalGeneration", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "Glm4MoeForCausalLM",
	"Glm4vMoeForConditionalGeneration", "Step3VLForConditionalGeneration",
}

// mlaBackends are the attention backends for multi-head latent attention of
// 0.5.2.
var mlaBackends = []any{"aiter", "flashinfer", "fa3", "triton", "flashmla", "cutlass_mla", "trtllm_mla", "ascend"}

// runnerAttention chooses the attention backend, up to 0.5.2 in ModelRunner.
func (s *state) runnerAttention(m *modelConfig) error {
	if p := s.Get("prefill_attention_backend"); p != nil && s.Is("decode_attention_backend", p) {
		s.because("SGL-ATTN-BOTH", byCoupling, "prefill and decode agree", "prefill_attention_backend", "decode_attention_backend")
		s.Set("attention_backend", p)
	}
	if m.hf.Has("dual_chunk_attention_config") {
		switch {
		case s.Nil("attention_backend"):
			s.because("SGL-ATTN-DUALCHUNK", byModel, "the model has dual chunk attention")
			s.Set("attention_backend", "dual_chunk_flash_attn")
			s.info("Dual chunk attention is turned on by default.")
		case !s.Is("attention_backend", "dual_chunk_flash_attn"):
			return valueError("Dual chunk attention is enabled, but attention backend is set to %s. Please set it to 'dual_chunk_flash_attn'.", s.Str("attention_backend"))
		}
	}
	switch {
	case s.Nil("attention_backend"):
		s.because("SGL-ATTN-DEFAULT-001", byHardware, "by GPU, kind of attention and speculation", "speculative_eagle_topk", "page_size")
		backend := s.runnerBackend(m)
		s.Set("attention_backend", backend)
		s.info("Attention backend not explicitly specified. Use %s backend by default.", backend)
	case m.mla && s.Is("attention_backend", mlaBackends...):
		s.info("MLA optimization is turned on. Use %s backend.", s.Str("attention_backend"))
	case m.mla:
		return valueError("Invalid attention backend for MLA: %s", s.Str("attention_backend"))
	}
	if s.Is("attention_backend", "fa3") && s.Is("kv_cache_dtype", "fp8_e5m2") {
		s.because("SGL-ATTN-FP8-001", byCoupling, "fa3 has no e5m2", "kv_cache_dtype")
		s.Set("attention_backend", "triton")
		s.warn("FlashAttention3 only supports fp8_e4m3 if using FP8; Setting attention backend to triton.")
	}
	return nil
}

func (s *state) runnerBackend(m *modelConfig) string {
	switch {
	case m.mla && s.gpu.sm90():
		return "fa3"
	case m.mla && s.gpu.sm100():
		return "flashinfer"
	case m.mla && s.gpu.hip:
		if n := m.heads(s.Int("tp_size")); (n == 128 || n == 16) && s.Nil("speculative_algorithm") {
			return "aiter"
		}
		return "triton"
	case m.mla:
		return "triton"
	case s.gpu.sm90() && s.topkOne() && slices.Contains(fa3Archs, m.arch):
		return "fa3"
	case s.gpu.hip:
		return "aiter"
	}
	return s.flashinferOr("triton")
}

// prefixBackends can attend to a chunked prefix
// (CHUNKED_PREFIX_CACHE_SUPPORTED_ATTENTION_BACKENDS).
var prefixBackends = newRoster(joined{
	r0506: `flashinfer fa3 fa4 flashmla cutlass_mla trtllm_mla`,
	r0512: `tokenspeed_mla`,
	r0515: `cutedsl_mla`,
}, nil)

// noChunkedVision cannot prefill images in chunks
// (is_multimodal_chunked_prefill_supported).
var noChunkedVision = newRoster(joined{
	r0502: `Grok1VForCausalLM Grok1AForCausalLM LlavaLlamaForCausalLM MllamaForConditionalGeneration CLIPModel`,
	r0512: `MossVLForConditionalGeneration`,
}, nil)

// runnerAdjustments are the changes that the runner writes into the settings;
// from 0.5.18 on it keeps them to itself.
func (s *state) runnerAdjustments(m *modelConfig) {
	if s.since(r0518) {
		return
	}
	if s.Bool("enable_double_sparsity") {
		s.because("SGL-ATTN-SPARSITY", byCoupling, "double sparsity runs with triton and without CUDA graphs", "enable_double_sparsity")
		s.info("Double sparsity optimization is turned on. Use triton backend without CUDA graph.")
		s.Set("attention_backend", "triton")
		s.Set("disable_cuda_graph", true)
	}
	if s.r == r0515 {
		s.prefixLM(m)
	}
	if m.multimodal && noChunkedVision.has(s.r, m.archs...) {
		s.because("SGL-PREFILL-VISION", byModel, "images of this model cannot be prefilled in chunks")
		s.Set("chunked_prefill_size", -1)
		s.info("Automatically turn off --chunked-prefill-size as it is not supported for %s", m.modelType)
	}
	s.prefixCache(m)
	if !s.since(r0506) {
		s.runnerHicache(m)
	}
}

// prefixCache turns the chunked prefix cache off where it cannot work.
func (s *state) prefixCache(m *modelConfig) {
	off := false
	switch {
	case !m.mla:
		off = true
		s.because("SGL-PREFIX-CHUNKED", byModel, "only multi-head latent attention has a chunked prefix cache")
	case s.since(r0506):
		off = !prefixBackends.has(s.r, s.Str("attention_backend"))
		s.because("SGL-PREFIX-CHUNKED", byCoupling, "the backend has no chunked prefix cache", "attention_backend")
	case s.Int("dp_size") > 1 && s.gpu.sm100() && !s.Is("attention_backend", "triton"):
		off = true
		s.because("SGL-PREFIX-CHUNKED", byCoupling, "data parallelism on this GPU excludes it", "dp_size", "attention_backend")
		s.info("Disable chunked prefix cache when dp size > 1 and attention backend is not triton.")
	}
	if off {
		s.Set("disable_chunked_prefix_cache", true)
	}
	if !s.Bool("disable_chunked_prefix_cache") {
		s.info("Chunked prefix cache is turned on.")
	}
}

// prefixLM is what HRM-Text's bidirectional prompt needs (0.5.15).
func (s *state) prefixLM(m *modelConfig) {
	prefix, known := m.hf.Bool("prefix_lm")
	if !(m.modelType == "hrm_text" || slices.Contains(m.archs, "HrmTextForCausalLM")) || known && !prefix {
		return
	}
	s.because("SGL-ATTN-PREFIXLM", byModel, "the prompt is attended to in both directions")
	if !s.Nil("attention_backend") && !s.Is("attention_backend", "triton") {
		s.warn("Overriding --attention-backend '%s' -> 'triton': only the Triton backend supports HRM-Text's bidirectional prefix attention.", s.Str("attention_backend"))
	}
	s.Set("attention_backend", "triton")
	s.Set("chunked_prefill_size", -1)
	s.Set("disable_radix_cache", true)
	s.Set("disable_cuda_graph", true)
	s.warn("HRM-Text (prefix_lm) detected: forcing --attention-backend triton, --chunked-prefill-size -1, --disable-radix-cache, and --disable-cuda-graph for correctness of the bidirectional prompt attention.")
}

// runnerHicache chooses the decode backend for the hierarchical cache (0.5.2).
func (s *state) runnerHicache(m *modelConfig) {
	if !s.Bool("enable_hierarchical_cache") || !s.Is("hicache_io_backend", "kernel") {
		return
	}
	s.because("SGL-HICACHE-DECODE", byCoupling, "the kernel for host memory needs another decode backend", "hicache_io_backend")
	switch {
	case s.Nil("decode_attention_backend") && !m.mla:
		s.Set("decode_attention_backend", s.flashinferOr("triton"))
	case s.Nil("decode_attention_backend") && s.gpu.sm100():
		s.Set("decode_attention_backend", "flashinfer")
	case s.Nil("decode_attention_backend"):
		s.Set("decode_attention_backend", "triton")
	case s.Is("decode_attention_backend", "fa3"):
		s.Set("hicache_io_backend", "direct")
		s.warn("FlashAttention3 decode backend is not compatible with hierarchical cache. Setting hicache_io_backend to vanilla I/O, which may lead to suboptimal performance with small page sizes.")
	}
}

// quantisedMoE is check_quantized_moe_compatibility: experts in blocks must be
// divisible by the ranks.
func (s *state) quantisedMoE(m *modelConfig) error {
	block := m.hf.Obj("quantization_config").List("weight_block_size")
	if !s.since(r0506) || len(block) == 0 {
		return nil
	}
	rows, _ := attrs{"n": block[0]}.Int("n")
	tp, ep := s.Int("tp_size"), max(1, s.Int("ep_size"))
	if tp%ep != 0 {
		return valueError("tp_size %d must be divisible by ep_size %d", tp, ep)
	}
	ranks := tp / ep
	if s.since(r0510) {
		ranks /= max(1, s.Int("moe_dp_size"))
	}
	width, ok := m.text.Int("moe_intermediate_size")
	if !ok || ranks == 0 || rows == 0 {
		return nil
	}
	if width%ranks != 0 {
		return valueError("moe_intermediate_size %d must be divisible by moe_tp_size (%d) which is tp_size (%d) divided by moe_ep_size (%d).", width, ranks, tp, ep)
	}
	if s.since(r0512) && (s.envSwitch("SGLANG_SHARED_EXPERT_TP1", false) || s.gpu.hip && s.envSwitch("SGLANG_USE_AITER", false)) {
		return nil
	}
	if width/ranks%rows != 0 {
		return valueError("For quantized MoE models, please make sure (moe_intermediate_size=%d / moe_tp_size=%d) %% weight_block_size_n=%d == 0 "+
			"where moe_tp_size is equal to tp_size (%d) divided by ep_size (%d). You can fix this by setting arguments `--tp` and `--ep` correctly.", width, ranks, rows, tp, ep)
	}
	return nil
}
