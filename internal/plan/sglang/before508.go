package sglang

import (
	"slices"
	"strings"
)

// What releases before 0.5.8 do in another way than later ones.

// fa3DefaultArchs are the architectures that SM90 runs with fa3 up to 0.5.6
// (is_fa3_default_architecture).
var fa3DefaultArchs = strings.Fields(`Llama4ForConditionalGeneration LlamaForCausalLM Olmo2ForCausalLM Gemma2ForCausalLM
	Gemma3ForConditionalGeneration Qwen2ForCausalLM Qwen3ForCausalLM Qwen3MoeForCausalLM Qwen3VLForConditionalGeneration
	Qwen3VLMoeForConditionalGeneration Glm4MoeForCausalLM Glm4vForConditionalGeneration Glm4vMoeForConditionalGeneration
	Step3VLForConditionalGeneration`)

// olderFastest is the default attention backend of a model without
// multi-head latent attention up to 0.5.6.
func (s *state) olderFastest(m *modelConfig) string {
	switch {
	case s.gpu.sm90() && s.topkOne() && slices.Contains(fa3DefaultArchs, m.arch):
		return "fa3"
	case s.gpu.blackwell() && s.topkOne():
		return "trtllm_mha"
	case s.gpu.hip:
		return "aiter"
	}
	return s.flashinferOr("triton")
}

// olderHicache normalises the hierarchical cache up to 0.5.6, before the
// attention backend is known.
func (s *state) olderHicache() error {
	s.hicacheStorage()
	if s.Is("hicache_mem_layout", "page_first_direct") && !s.Is("hicache_io_backend", "direct", "kernel_ascend") {
		s.because("", byCoupling, "this layout is copied directly", "hicache_mem_layout")
		s.Set("hicache_io_backend", "direct")
		s.warn("Page first direct layout only support direct io backend")
	}
	if !s.Bool("enable_hierarchical_cache") && !s.Bool("disaggregation_decode_enable_offload_kvcache") || !s.Is("hicache_io_backend", "kernel") {
		return nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	s.because("SGL-HICACHE-DECODE", byCoupling, "fa3 cannot decode with the cache's copy kernels", "enable_hierarchical_cache")
	switch {
	case s.Is("decode_attention_backend", "fa3"):
		s.Set("hicache_io_backend", "direct")
		s.warn("FlashAttention3 decode backend is not compatible with hierarchical cache. " +
			"Setting hicache_io_backend to vanilla I/O, which may lead to suboptimal performance with small page sizes.")
	case !s.Nil("decode_attention_backend"):
	case !m.mla:
		s.Set("decode_attention_backend", s.flashinferOr("triton"))
	case s.gpu.sm100():
		s.Set("decode_attention_backend", "flashinfer")
	default:
		s.Set("decode_attention_backend", "triton")
	}
	return nil
}

// olderSparse is a model with DeepSeek Sparse Attention up to 0.5.6.
func (s *state) olderSparse(m *modelConfig) error {
	if s.attentionUnset() {
		s.because("SGL-ATTN-DSA-001", byModel, "a model with sparse attention runs with its own backend")
		s.Set("attention_backend", "nsa")
		s.warn("Set nsa attention backend for DeepSeek NSA.")
	}
	s.because("SGL-DSA-DP-001", byModel, "sparse attention runs with data-parallel attention")
	s.Set("enable_dp_attention", true)
	s.warn("DP attention is enabled for DeepSeek NSA.")
	dp, tp := s.Int("dp_size"), s.Int("tp_size")
	switch {
	case s.Bool("enable_nsa_prefill_context_parallel"):
		s.because("SGL-DSA-CP-001", byCoupling, "context parallel prefill", "enable_nsa_prefill_context_parallel")
		s.Set("moe_dense_tp_size", 1)
		s.Set("moe_a2a_backend", "deepep")
		s.Set("ep_size", tp)
		s.Set("kv_cache_dtype", "bf16")
		if tp != 8 {
			return assertion("Current multi-machine CP support suffers from precision issues. So context parallel only support Single machine(tp_size == 8)")
		}
		s.warn("Enable Context Parallel opt for deeeseekv3.2-DSA, Setting dp_size == %d and moe_dense_tp_size == 1, ep_size == %d, tp_size == %d, kv_cache_dtype == bf16, moe_a2a_backend deepep ", dp, tp, tp)
	case dp < tp:
		s.because("SGL-DSA-TP-001", byCoupling, "attention weights are sharded", "tp_size", "dp_size")
		s.warn("NSA with TP mode is active, dp_size=%d, tp_size=%d, attn_tp_size=%d, attention weights will be sharded across %d ranks.", dp, tp, tp, tp)
	}
	s.because("SGL-PAGE-DSA-001", byModel, "sparse attention has pages of 64 tokens")
	s.Set("page_size", 64)
	s.warn("Setting page size to 64 for DeepSeek NSA.")
	if err := s.sparseKV(); err != nil {
		return err
	}
	return s.sparseBackends(m)
}

// olderFusion turns flashinfer's fused all-reduce on for a model on one node
// up to 0.5.6.
func (s *state) olderFusion(arch string) {
	if s.since(r0508) || s.Bool("enable_dp_attention") || s.Int("nnodes") != 1 {
		return
	}
	s.because("SGL-COMM-FUSION-001", byHardware, "Blackwell fuses the all-reduce of this architecture on one node")
	s.Set("enable_flashinfer_allreduce_fusion", true)
	s.info("Enable FlashInfer AllReduce Fusion on sm100 for %s", arch)
}

// olderMetrics checks labels of metrics, which later releases do among the
// checks.
func (s *state) olderMetrics() error {
	labels, _ := s.Get("tokenizer_metrics_allowed_custom_labels").([]any)
	if s.Str("tokenizer_metrics_custom_labels_header") == "" && len(labels) > 0 {
		return valueError("Please set --tokenizer-metrics-custom-labels-header when setting --tokenizer-metrics-allowed-custom-labels.")
	}
	return nil
}

// olderExport checks where metrics of requests go.
func (s *state) olderExport() error {
	if s.Bool("export_metrics_to_file") && s.Nil("export_metrics_to_file_dir") {
		return valueError("--export-metrics-to-file-dir is required when --export-metrics-to-file is enabled")
	}
	return nil
}

// olderDiffusion is diffusion language models up to 0.5.6.
func (s *state) olderDiffusion() error {
	if s.Nil("dllm_algorithm") {
		return nil
	}
	s.because("SGL-DLLM", byCoupling, "diffusion language models decode one batch with flashinfer and exclude the rest", "dllm_algorithm")
	if !s.Bool("disable_cuda_graph") {
		if list, _ := s.Get("cuda_graph_bs").([]any); len(list) != 1 || list[0] != 1 {
			s.warn("Cuda graph bs is set to [1] because of using diffusion LLM inference")
			s.Set("cuda_graph_bs", []any{1})
		}
		if !s.Is("attention_backend", "flashinfer") {
			s.warn("Attention backend is set to flashinfer because of enabling cuda graph in diffusion LLM inference")
			s.Set("attention_backend", "flashinfer")
		}
	}
	if !s.Bool("disable_overlap_schedule") {
		s.warn("Overlap schedule is disabled because of using diffusion LLM inference")
		s.Set("disable_overlap_schedule", true)
	}
	if !s.Bool("disable_radix_cache") {
		s.warn("Radix cache is disabled because of using diffusion LLM inference")
		s.Set("disable_radix_cache", true)
	}
	if s.Int("pp_size") <= 1 {
		s.warn("Pipeline parallelism is disabled because of using diffusion LLM inference")
		s.Set("pp_size", 1)
	}
	return nil
}

// olderOverlap decides whether speculation overlaps up to 0.5.6.
func (s *state) olderOverlap() {
	v2 := s.specV2()
	if v2 && s.Is("speculative_algorithm", "EAGLE") {
		s.because("SGL-OVERLAP-SPEC-001", byEnvironment, "SGLANG_ENABLE_SPEC_V2", "speculative_algorithm")
		s.Set("disable_overlap_schedule", false)
		s.warn("Beta spec is enabled for eagle speculative decoding and overlap schedule is turned on.")
	}
	if !v2 {
		s.because("SGL-OVERLAP-SPEC-002", byCoupling, "speculation excludes the overlap scheduler, unless SGLANG_ENABLE_SPEC_V2 is set", "speculative_algorithm")
		s.Set("disable_overlap_schedule", true)
		s.warn("Overlap scheduler is disabled because of using eagle3 or standalone speculative decoding.")
	}
}
