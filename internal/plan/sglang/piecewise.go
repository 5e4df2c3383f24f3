package sglang

// piecewiseArchs have no prefill graphs (piecewise_cuda_graph_disabled_model_archs).
var piecewiseArchs = map[string]bool{
	"DeepseekV32ForCausalLM": true, "Qwen3NextForCausalLM": true, "GlmMoeDsaForCausalLM": true,
	"BailingMoeV2_5ForCausalLM": true, "LLaDAModelLM": true,
}

// piecewiseOff turns prefill graphs off where something cannot be captured.
func (s *state) piecewiseOff() error {
	if s.Bool("enforce_piecewise_cuda_graph") {
		s.because("", byCoupling, "enforced", "enforce_piecewise_cuda_graph")
		s.Set("disable_piecewise_cuda_graph", false)
		return nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	off := func(when bool, by, why string, coupled ...string) {
		if when {
			s.because("", by, "prefill graphs are off: "+why, coupled...)
			s.Set("disable_piecewise_cuda_graph", true)
		}
	}
	paths, _ := s.Get("lora_paths").([]any)
	off(piecewiseArchs[m.arch] || s.dsa(m), byModel, "the architecture")
	off(!s.since(r0512) && !s.Nil("speculative_algorithm"), byCoupling, "speculation", "speculative_algorithm")
	off(s.Bool("debug_cuda_graph"), byCoupling, "graphs are debugged", "debug_cuda_graph")
	off(s.Bool("enable_dp_attention"), byCoupling, "data-parallel attention", "enable_dp_attention")
	off(s.Bool("enable_torch_compile"), byCoupling, "torch.compile", "enable_torch_compile")
	off(s.Int("pp_size") > 1, byCoupling, "pipeline stages", "pp_size")
	off(s.gpu.hip, byHardware, "no NVIDIA GPU")
	off(!s.Is("moe_a2a_backend", "none"), byCoupling, "all-to-all of experts", "moe_a2a_backend")
	off(len(paths) > 0 || s.Bool("enable_lora"), byCoupling, "LoRA", "enable_lora")
	off(m.multimodal, byModel, "a multimodal model")
	off(s.Is("load_format", "gguf") || s.Is("quantization", "gguf"), byCheckpoint, "GGUF")
	off(!s.Nil("dllm_algorithm"), byCoupling, "a diffusion language model", "dllm_algorithm")
	off(s.Float("cpu_offload_gb") > 0 || s.Bool("enable_hierarchical_cache"), byCoupling, "memory of the host", "cpu_offload_gb", "enable_hierarchical_cache")
	off(s.Bool("enable_deterministic_inference"), byCoupling, "deterministic inference", "enable_deterministic_inference")
	off(!s.Is("disaggregation_mode", "null"), byCoupling, "disaggregation", "disaggregation_mode")
	off(s.Bool("enable_symm_mem"), byCoupling, "symmetric memory", "enable_symm_mem")
	off(s.Bool("enable_eplb") || !s.Nil("expert_distribution_recorder_mode"), byCoupling, "recording of experts", "enable_eplb")
	off(s.Int("attn_cp_size") > 1, byCoupling, "context parallelism", "attn_cp_size")
	return nil
}

// linearAttention checks the kernels of linear attention.
func (s *state) linearAttention() error {
	decode := s.Str("linear_attn_decode_backend")
	if decode == "" {
		decode = s.Str("linear_attn_backend")
	}
	if s.since(r0512) && s.Nil("linear_attn_decode_backend") && s.gpu.sm100() && s.Is("mamba_ssm_dtype", "bfloat16") && (s.since(r0515) || s.Nil("speculative_algorithm")) {
		s.because("SGL-ATTN-LINEAR-001", byHardware, "SM100 decodes with flashinfer when the state is bfloat16", "mamba_ssm_dtype")
		s.Set("linear_attn_decode_backend", "flashinfer")
		s.info("SM100+ detected with mamba-ssm-dtype=bfloat16, defaulting --linear-attn-decode-backend to flashinfer.")
		decode = "flashinfer"
	}
	if decode == "flashkda" {
		if s.Is("linear_attn_decode_backend", "flashkda") {
			return valueError("--linear-attn-decode-backend flashkda is not supported: FlashKDA is prefill-only. Use --linear-attn-prefill-backend flashkda (decode stays on triton).")
		}
		s.because("SGL-ATTN-LINEAR-002", byCoupling, "FlashKDA only prefills", "linear_attn_backend")
		s.Set("linear_attn_decode_backend", "triton")
		s.info("FlashKDA is prefill-only; using triton for KDA decode (FlashKDA stays on prefill).")
	}
	if decode == "flashinfer" && !s.Is("mamba_ssm_dtype", "bfloat16") && s.gpu.major >= 10 {
		return valueError("--linear-attn-decode-backend flashinfer on SM100+ requires --mamba-ssm-dtype bfloat16, got %s", pyRepr(s.Get("mamba_ssm_dtype")))
	}
	return nil
}

// pyRepr is Python's repr of a text or None.
func pyRepr(v any) string {
	if text, ok := v.(string); ok {
		return "'" + text + "'"
	}
	return pyInt(v)
}
