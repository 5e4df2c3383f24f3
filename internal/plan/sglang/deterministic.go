package sglang

import (
	"slices"
	"strings"
)

// deterministicBackends attend the same way whatever the batch.
func (s *state) deterministicBackends() []string {
	if s.since(r0523) {
		return []string{"ascend", "fa3", "fa4", "flashinfer", "intel_xpu", "triton"}
	}
	if s.since(r0518) {
		return []string{"ascend", "fa3", "fa4", "flashinfer", "triton"}
	}
	if s.since(r0515) {
		return []string{"flashinfer", "fa3", "triton", "ascend"}
	}
	return []string{"flashinfer", "fa3", "triton"}
}

// deterministicRadix can reuse prefixes too.
func (s *state) deterministicRadix() []string {
	if s.since(r0518) {
		return []string{"ascend", "fa3", "fa4", "triton"}
	}
	return []string{"fa3", "triton"}
}

var deepseekArchs = strings.Fields(`DeepseekV2ForCausalLM DeepseekV3ForCausalLM DeepseekV32ForCausalLM MistralLarge3ForCausalLM
	PixtralForConditionalGeneration GlmMoeDsaForCausalLM`)

func (s *state) deterministic() error {
	if !s.Nil("rl_on_policy_target") {
		s.because("SGL-DETERMINISTIC-RL", byCoupling, "training needs the same results", "rl_on_policy_target")
		s.Set("enable_deterministic_inference", true)
		s.warn("Enable deterministic inference because of rl_on_policy_target.")
		s.SetEnv("SGLANG_VLM_CACHE_SIZE_MB", "0")
		s.SetEnv("SGLANG_ENABLE_DETERMINISTIC_INFERENCE", "1")
	}
	if !s.Bool("enable_deterministic_inference") {
		return nil
	}
	s.because("SGL-SAMPLING-DETERMINISTIC-001", byCoupling, "deterministic inference samples with PyTorch", "enable_deterministic_inference")
	s.Set("sampling_backend", "pytorch")
	s.warn("Sampling backend is set to pytorch for deterministic inference.")
	if s.Bool("enable_aiter_allreduce_fusion") {
		s.because("SGL-COMM-FUSION-004", byCoupling, "aiter's all-reduce is not deterministic", "enable_deterministic_inference")
		s.Set("enable_aiter_allreduce_fusion", false)
		s.warn("Disable --enable-aiter-allreduce-fusion because deterministic inference is enabled.")
	}
	if s.since(r0515) && !s.Nil("flashinfer_allreduce_fusion_backend") {
		s.because("SGL-COMM-FUSION-004", byCoupling, "the fused all-reduce is not deterministic", "enable_deterministic_inference")
		s.Set("flashinfer_allreduce_fusion_backend", nil)
		s.warn("Disable --flashinfer-allreduce-fusion-backend because deterministic inference is enabled.")
	}
	if s.Bool("enable_flashinfer_allreduce_fusion") && s.since(r0512) {
		s.because("SGL-COMM-FUSION-004", byCoupling, "the fused all-reduce is not deterministic", "enable_deterministic_inference")
		s.Set("enable_flashinfer_allreduce_fusion", false)
		s.warn("Disable --enable-flashinfer-allreduce-fusion because deterministic inference is enabled.")
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	deepseek := slices.Contains(deepseekArchs, m.arch) || s.since(r0518) && m.arch == "Glm4MoeLiteForCausalLM"
	if err := s.deterministicAttention(deepseek); err != nil {
		return err
	}
	s.because("SGL-COMM-DETERMINISTIC-001", byCoupling, "the all-reduce is a tree", "enable_deterministic_inference", "tp_size")
	if s.Int("tp_size") > 1 {
		if s.gpu.hip && s.since(r0509) {
			s.info("AMD/ROCm: Using 1-stage all-reduce kernel (deterministic)")
			return nil
		}
		s.SetEnv("NCCL_ALGO", "allreduce:tree")
		s.Set("disable_custom_all_reduce", true)
		if s.since(r0518) {
			s.Set("enable_torch_symm_mem", false)
			channels := "8"
			if v, ok := s.Env("SGLANG_DETERMINISTIC_NCCL_NCHANNELS"); ok {
				channels = v
			}
			s.SetEnv("NCCL_MIN_NCHANNELS", channels)
			s.SetEnv("NCCL_MAX_NCHANNELS", channels)
			s.warn("NCCL_ALGO is set to 'allreduce:tree', the NCCL channel count is pinned, and custom and symmetric-memory all reduce are disabled for deterministic inference when TP size > 1.")
			return nil
		}
		s.warn("NCCL_ALGO is set to 'allreduce:tree' and custom all reduce is disabled for deterministic inference when TP size > 1.")
	}
	return nil
}

func (s *state) deterministicAttention(deepseek bool) error {
	if s.Nil("attention_backend") {
		s.deterministicDefault(deepseek)
	}
	backend := s.Str("attention_backend")
	if !slices.Contains(s.deterministicBackends(), backend) {
		return valueError("Currently only %s attention backends are supported for deterministic inference, but you explicitly specified '%s'.", pyList(s.deterministicBackends()), backend)
	}
	if deepseek && !slices.Contains(s.deterministicRadix(), backend) {
		models := "DeepSeek models"
		if s.since(r0518) {
			models = "absorbed-MLA models"
		}
		return valueError("Currently only %s attention backends are supported for deterministic inference with %s. But you're using %s.", pyList(s.deterministicRadix()), models, backend)
	}
	if deepseek && backend == "fa4" && !s.gpu.sm100() {
		return valueError("Deterministic inference with absorbed-MLA models on the fa4 attention backend requires SM100/SM110: " +
			"it runs absorbed MLA, whose qv argument flash_attn.cute only implements on those archs.")
	}
	if !slices.Contains(s.deterministicRadix(), backend) {
		s.because("SGL-RADIX-DETERMINISTIC-001", byCoupling, "the backend's prefix reuse is not deterministic", "attention_backend", "enable_deterministic_inference")
		s.Set("disable_radix_cache", true)
		s.warn("Currently radix cache is not compatible with %s attention backend for deterministic inference. It will be supported in the future.", backend)
	}
	return nil
}

// deterministicDefault chooses a backend where none is named.
func (s *state) deterministicDefault(deepseek bool) {
	backend := "fa3"
	switch blackwell := s.gpu.blackwell(); {
	case blackwell && deepseek:
		backend = "triton"
	case blackwell:
		backend = "flashinfer"
	}
	s.because("SGL-ATTN-DETERMINISTIC-001", byHardware, "a deterministic backend of this GPU", "enable_deterministic_inference")
	s.Set("attention_backend", backend)
	s.warn("Attention backend not specified. Falling back to '%s' for deterministic inference. "+
		"You can explicitly set --attention-backend to one of %s.", backend, pyList(s.deterministicBackends()))
}

// diffusionLLM is diffusion language models.
func (s *state) diffusionLLM() error {
	if s.Nil("dllm_algorithm") {
		return nil
	}
	set := func(name string, value any, line string) {
		s.because("SGL-DLLM", byCoupling, "diffusion language models exclude it", "dllm_algorithm")
		s.Set(name, value)
		s.warn("%s", line)
	}
	if s.gpu.hip {
		if !s.Bool("disable_cuda_graph") {
			set("disable_cuda_graph", true, "Cuda graph is disabled for diffusion LLM inference on AMD GPUs")
		}
		if !s.Is("attention_backend", "triton", "aiter") {
			set("attention_backend", "triton", "Attention backend is set to triton for diffusion LLM inference on AMD GPUs")
		}
	} else if !s.Bool("disable_cuda_graph") && !s.Is("attention_backend", "flashinfer") {
		set("attention_backend", "flashinfer", "Attention backend is set to flashinfer because of enabling cuda graph in diffusion LLM inference")
	}
	if !s.Bool("disable_overlap_schedule") {
		set("disable_overlap_schedule", true, "Overlap schedule is disabled because of using diffusion LLM inference")
	}
	if !s.Bool("disable_radix_cache") {
		set("disable_radix_cache", true, "Radix cache is disabled because of using diffusion LLM inference")
	}
	if s.Int("pp_size") <= 1 {
		set("pp_size", 1, "Pipeline parallelism is disabled because of using diffusion LLM inference")
	}
	if s.Bool("enable_lora") {
		set("enable_lora", false, "Currently LoRA is not supported by diffusion LLM inference.")
	}
	if !s.Is("disaggregation_mode", "null") {
		set("disaggregation_mode", "null", "Currently disaggregation is not supported by diffusion LLM inference.")
	}
	if s.Bool("enable_mixed_chunk") {
		set("enable_mixed_chunk", false, "Mixed chunked prefill is disabled because of using diffusion LLM inference.")
	}
	return nil
}
