package sglang

import (
	"slices"
	"strings"
)

// modelSpecific chooses what follows from the architecture.
func (s *state) modelSpecific() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	switch m.arch {
	case "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration":
		s.because("", byModel, "the model runs in bfloat16")
		s.Set("dtype", "bfloat16")
	}
	if err := s.byArchitecture(m); err != nil {
		return err
	}
	if _, ok := s.Env("SGLANG_EMBEDDINGS_SPARSE_HEAD"); ok && s.since(r0508) {
		s.because("SGL-OVERLAP-MODEL-001", byEnvironment, "a sparse embedding head has no overlap scheduler")
		s.Set("disable_overlap_schedule", true)
		s.warn("Overlap scheduler is disabled when using sparse head for embedding model.")
	}
	s.allreduceFusion(m)
	return nil
}

// v3Archs are handled as DeepSeek V3.
func (s *state) v3Arch(arch string) bool {
	switch arch {
	case "DeepseekV3ForCausalLM":
		return true
	case "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration":
		return s.since(r0506)
	case "KimiK25ForConditionalGeneration", "GlmMoeDsaForCausalLM":
		return s.since(r0509)
	case "DeepseekV32ForCausalLM":
		return s.since(r0512)
	}
	return false
}

// newArchs are architectures with a branch of their own since a release.
var newArchs = newRoster(joined{
	r0508: `MiMoV2FlashForCausalLM`,
	r0509: `Step3p5ForCausalLM Exaone4ForCausalLM ExaoneMoEForCausalLM BailingMoeV2_5ForCausalLM
		Qwen3_5MoeForConditionalGeneration Qwen3_5ForConditionalGeneration GraniteMoeHybridForCausalLM Lfm2ForCausalLM`,
}, nil)

func (s *state) byArchitecture(m *modelConfig) error {
	arch := m.arch
	if newArchs.known(arch) && !newArchs.has(s.r, arch) {
		return nil
	}
	if !s.since(r0509) {
		if done, err := s.olderHybrid(m); done {
			return err
		}
	}
	switch {
	case arch == "DeepseekV4ForCausalLM" && s.since(r0512):
		return s.deepseekV4(m)
	case s.v3Arch(arch):
		return s.deepseek(m)
	case arch == "GptOssForCausalLM":
		return s.gptOss(m)
	case strings.Contains(arch, "MiMoV2FlashForCausalLM"), arch == "MiMoV2ForCausalLM" && s.since(r0512), strings.Contains(arch, "Step3p5ForCausalLM"):
		s.multiLayerEagle(arch)
	case strings.Contains(arch, "Llama4"):
		return s.llama4()
	case slices.Contains(strings.Fields("Gemma2ForCausalLM Gemma3ForCausalLM Gemma3ForConditionalGeneration Gemma3nForCausalLM Gemma3nForConditionalGeneration"), arch):
		s.because("SGL-KV-SWA-001", byModel, "the model's sliding-window layers get full KV memory")
		s.Set("disable_hybrid_swa_memory", true)
		s.warn("Disable hybrid SWA memory for %s as it is not yet supported.", arch)
	case arch == "Exaone4ForCausalLM" || arch == "ExaoneMoEForCausalLM":
		return s.exaone(m)
	case arch == "Olmo2ForCausalLM":
		return s.olmo2()
	case arch == "KimiLinearForCausalLM" || arch == "BailingMoeV2_5ForCausalLM":
		return s.mambaRadix(arch, mambaSupport{})
	case arch == "NemotronHForCausalLM":
		return s.nemotronH(m)
	case arch == "Gemma4ForConditionalGeneration" && s.since(r0512):
		if s.attentionUnset() {
			s.because("SGL-ATTN-ARCH-001", byModel, "Gemma 4 runs with triton")
			s.Set("attention_backend", "triton")
			s.info("Use triton as default attention backend for Gemma4")
		}
	case arch == "MossVLForConditionalGeneration" && s.since(r0512):
		return s.mossVL()
	case arch == "MiniCPMV4_6ForConditionalGeneration" && s.since(r0512):
		return s.mambaRadix(arch, mambaSupport{cache: true, extraBuffer: true, sm100: "triton"})
	case arch == "Qwen3MoeForCausalLM" || arch == "Qwen3VLMoeForConditionalGeneration":
		s.qwenMoE(m)
	case slices.Contains(strings.Fields("Qwen3NextForCausalLM Qwen3_5MoeForConditionalGeneration Qwen3_5ForConditionalGeneration"), arch),
		arch == "InternS2PreviewForConditionalGeneration" && s.since(r0512):
		s.qwenMoE(m)
		return s.mambaRadix(arch, mambaSupport{cache: true, extraBuffer: true, sm100: s.qwenHybridAttention(m)})
	case arch == "Glm4MoeForCausalLM":
		s.glm4MoE(m)
	case slices.Contains(strings.Fields("FalconH1ForCausalLM JetNemotronForCausalLM JetVLMForConditionalGeneration"), arch):
		return s.mambaRadix(arch, mambaSupport{cache: true, sm100: "triton"})
	case arch == "GraniteMoeHybridForCausalLM":
		if slices.Contains(m.hf.Strings("layer_types"), "mamba") {
			return s.mambaRadix(arch, mambaSupport{cache: true, sm100: "triton"})
		}
	case arch == "Lfm2ForCausalLM":
		if err := s.mambaRadix(arch, mambaSupport{cache: true, sm100: "flashinfer"}); err != nil {
			return err
		}
		if s.Is("attention_backend", "triton") {
			return assertion("%s does not support triton attention backend, as the first layer might not be an attention layer", arch)
		}
	}
	return nil
}

// attentionUnset is is_attention_backend_not_set.
func (s *state) attentionUnset() bool {
	return s.Nil("attention_backend") && s.Nil("prefill_attention_backend") && s.Nil("decode_attention_backend")
}

// attentionBackends is get_attention_backends.
func (s *state) attentionBackends() (prefill, decode string) {
	prefill, decode = s.Str("prefill_attention_backend"), s.Str("decode_attention_backend")
	if prefill == "" {
		prefill = s.Str("attention_backend")
	}
	if decode == "" {
		decode = s.Str("attention_backend")
	}
	return prefill, decode
}

// allreduceFusion turns flashinfer's fused all-reduce on where it is known to
// help: one node, SM90 or SM100, some architectures.
func (s *state) allreduceFusion(m *modelConfig) {
	if !s.since(r0508) {
		return
	}
	archs := strings.Fields("DeepseekV3ForCausalLM GptOssForCausalLM Glm4MoeForCausalLM Glm4MoeLiteForCausalLM Qwen3MoeForCausalLM KimiK25ForConditionalGeneration")
	h20 := strings.Contains(s.gpu.name, "H20") && !strings.Contains(s.gpu.name, "H200")
	if s.since(r0510) {
		archs = append(archs, "Qwen3_5MoeForConditionalGeneration", "Qwen3_5ForConditionalGeneration")
	}
	if s.since(r0512) {
		archs = append(archs, "DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM", "Qwen3NextForCausalLM", "InternS2PreviewForConditionalGeneration")
	}
	alone := s.since(r0510) && s.Int("tp_size") <= 1 || s.r == r0510 && s.Int("attn_cp_size") > 1
	if !s.Bool("enable_flashinfer_allreduce_fusion") && slices.Contains(archs, m.arch) && !alone && (s.gpu.sm90() || s.gpu.sm100()) && !s.dpAttention() &&
		s.Int("nnodes") == 1 && !h20 && s.Is("moe_a2a_backend", "none") {
		s.because("SGL-COMM-FUSION-001", byHardware, "SM90 and SM100 fuse the all-reduce of this architecture on one node")
		s.Set("enable_flashinfer_allreduce_fusion", true)
		if s.since(r0510) {
			s.info("Auto-enabling FlashInfer AllReduce Fusion on SM90/SM10X for %s", m.arch)
		}
	}
	if s.Bool("enforce_disable_flashinfer_allreduce_fusion") {
		s.because("SGL-COMM-FUSION-003", byCoupling, "forced off", "enforce_disable_flashinfer_allreduce_fusion")
		s.Set("enable_flashinfer_allreduce_fusion", false)
		s.info("FlashInfer allreduce fusion is forcibly disabled via --enforce-disable-flashinfer-allreduce-fusion.")
	}
}

// gptOss is GPT-OSS.
func (s *state) gptOss(m *modelConfig) error {
	if s.attentionUnset() {
		s.because("SGL-ATTN-ARCH-001", byHardware, "GPT-OSS runs with trtllm_mha on SM100, fa3 on SM90, else triton")
		switch {
		case s.gpu.sm100():
			s.Set("attention_backend", "trtllm_mha")
		case s.gpu.sm90():
			s.Set("attention_backend", "fa3")
		case s.gpu.hip && s.since(r0510):
			s.Set("attention_backend", "aiter")
		default:
			s.Set("attention_backend", "triton")
		}
	}
	supported := s.gptOssBackends()
	prefill, decode := s.attentionBackends()
	if !slices.Contains(supported, prefill) || !slices.Contains(supported, decode) {
		return assertion("GptOssForCausalLM requires one of %s attention backend, but got the following backends\n- Prefill: %s\n- Decode: %s\n",
			pyList(supported), pyNone(prefill), pyNone(decode))
	}
	if s.gpu.blackwell() {
		s.olderFusion("GptOssForCausalLM")
	}
	if s.since(r0508) && !s.since(r0510) && (prefill == "trtllm_mha" || decode == "trtllm_mha") {
		s.because("SGL-KV-SWA-001", byCoupling, "trtllm_mha cannot use the hybrid sliding-window memory", "attention_backend")
		s.Set("disable_hybrid_swa_memory", true)
		s.warn("Disable hybrid SWA memory for GPT-OSS model with trtllm_mha attention backend.")
	}
	if !s.Nil("speculative_algorithm") && s.r == r0508 {
		s.because("SGL-KV-SWA-001", byCoupling, "speculation cannot use the hybrid sliding-window memory", "speculative_algorithm")
		s.Set("disable_hybrid_swa_memory", true)
		s.warn("Disable hybrid SWA memory for GPT-OSS model with speculative decoding.")
	}
	if s.since(r0510) && s.gpu.hip {
		s.aiterFusion("GptOssForCausalLM")
	}
	mxfp4 := m.quantMethod() == "mxfp4"
	if mxfp4 {
		s.because("SGL-DTYPE-GPTOSS", byCheckpoint, "MXFP4 kernels want bfloat16")
		s.Set("dtype", "bfloat16")
	}
	if s.Is("moe_runner_backend", "auto") {
		s.gptOssMoE(mxfp4)
	}
	if s.Is("moe_runner_backend", "triton_kernel") && s.Int("ep_size") != 1 {
		return assertion("Triton kernel MoE is only supported when ep_size == 1")
	}
	if !s.since(r0508) {
		s.because("SGL-KV-SWA-001", byModel, "the model's sliding-window layers get full KV memory")
		s.Set("disable_hybrid_swa_memory", true)
	}
	return nil
}

// gptOssBackends are the attention backends that GPT-OSS can run with.
func (s *state) gptOssBackends() []string {
	list := []string{"triton", "trtllm_mha", "fa3", "fa4", "ascend"}
	if !s.since(r0508) {
		return list[:4]
	}
	if s.since(r0510) {
		list = append(list, "aiter")
	}
	if s.since(r0512) {
		list = append(list[:5:5], "intel_xpu", "aiter")
	}
	return list
}

func (s *state) gptOssMoE(mxfp4 bool) {
	aiter := s.gpu.hip && s.envBool("SGLANG_USE_AITER") && s.since(r0509)
	switch {
	case s.Bool("enable_piecewise_cuda_graph") && !s.since(r0509):
		s.because("SGL-MOE-GPTOSS-001", byCoupling, "prefill graphs leave the experts' kernels open", "enable_piecewise_cuda_graph")
		s.warn("Enable piecewise CUDA graph, enabling auto MOE kernel.")
	case !s.since(r0509) && s.gpu.blackwell() && mxfp4:
		s.because("SGL-MOE-GPTOSS-001", byHardware, "Blackwell has flashinfer's MXFP4 kernels")
		s.Set("moe_runner_backend", "flashinfer_mxfp4")
		s.warn("Detected SM100 and MXFP4 quantization format for GPT-OSS model, enabling FlashInfer MXFP4 MOE kernel.")
	case s.since(r0510) && s.gpu.sm100() && mxfp4:
		s.because("SGL-MOE-GPTOSS-001", byHardware, "SM100 has flashinfer's MXFP4 kernels")
		s.Set("moe_runner_backend", "flashinfer_mxfp4")
		s.warn("Detected SM100 and MXFP4 quantization format for GPT-OSS model, enabling FlashInfer MXFP4 MOE kernel.")
	case s.since(r0518) && s.gpu.sm120() && mxfp4:
		s.because("SGL-MOE-GPTOSS-005", byHardware, "SM120 has flashinfer's CUTLASS kernels for MXFP4")
		s.Set("moe_runner_backend", "flashinfer_mxfp4")
		s.warn("Detected SM120 and MXFP4 quantization format for GPT-OSS model, enabling FlashInfer CUTLASS MXFP4 MOE kernel.")
	case s.since(r0515) && s.gpu.sm120() && mxfp4:
		s.because("SGL-MOE-GPTOSS-005", byHardware, "flashinfer's MXFP4 kernels are for SM100 only")
		s.Set("moe_runner_backend", "marlin")
		s.warn("Detected SM120 and MXFP4 quantization format for GPT-OSS model, enabling Marlin MOE kernel.")
	case s.since(r0510) && s.gpu.sm120() && mxfp4:
		s.because("SGL-MOE-GPTOSS-004", byHardware, "flashinfer's MXFP4 kernels are for SM100 only")
		s.Set("moe_runner_backend", "triton_kernel")
		s.warn("Detected SM120 and MXFP4 quantization format for GPT-OSS model, enabling triton_kernel MOE kernel.")
	case s.gpu.blackwell() && mxfp4:
		s.because("SGL-MOE-GPTOSS-001", byHardware, "Blackwell has flashinfer's MXFP4 kernels")
		s.Set("moe_runner_backend", "flashinfer_mxfp4")
		s.warn("Detected Blackwell and MXFP4 quantization format for GPT-OSS model, enabling FlashInfer MXFP4 MOE kernel.")
	case aiter && mxfp4:
		s.warn("Detected ROCm and MXFP4 quantization format for GPT-OSS model, enabling aiter MXFP4 MOE kernel.")
	case aiter:
		s.because("SGL-MOE-GPTOSS-002", byHardware, "aiter has no kernels for these shapes")
		s.Set("moe_runner_backend", "triton")
		s.warn("Detected ROCm with SGLANG_USE_AITER for GPT-OSS bf16 model, using triton MOE kernel.")
	case s.Int("ep_size") == 1 && s.tritonKernels() && (s.Nil("quantization") || !s.since(r0509)):
		s.because("SGL-MOE-GPTOSS-003", byModel, "GPT-OSS runs with triton_kernels")
		s.Set("moe_runner_backend", "triton_kernel")
		s.warn("Detected GPT-OSS model, enabling triton_kernels MOE kernel.")
	}
}

// tritonKernels is is_triton_kernels_available: releases bring the package.
func (s *state) tritonKernels() bool { return true }

// multiLayerEagle is MiMo V2 Flash and Step 3.5, whose drafts have several
// layers.
func (s *state) multiLayerEagle(arch string) {
	name := "MiMoV2FlashForCausalLM"
	if s.since(r0512) {
		name = "MiMoV2"
	}
	if strings.Contains(arch, "Step3p5") {
		name = "Step3p5ForCausalLM"
	}
	if s.Is("speculative_algorithm", "EAGLE") {
		s.because("SGL-SPEC-DRAFT-001", byModel, "the draft has several layers", "speculative_algorithm")
		s.Set("enable_multi_layer_eagle", true)
		s.info("Enable multi-layer EAGLE speculative decoding for %s model.", name)
		if !s.specV2() && !s.since(r0512) {
			s.SetEnv("SGLANG_ENABLE_SPEC_V2", "True")
			s.warn("Spec v2 is enabled for multi-layer EAGLE speculative decoding.")
		}
	}
	if s.Bool("enable_hierarchical_cache") {
		s.because("SGL-KV-SWA-001", byCoupling, "the hierarchical cache wants full KV memory", "enable_hierarchical_cache")
		s.Set("swa_full_tokens_ratio", 1.0)
		s.warn("Reset swa_full_tokens_ratio to 1.0 for %s model with hierarchical cache", name)
		s.Set("disable_hybrid_swa_memory", true)
		s.warn("Disable hybrid SWA memory for %s model with hierarchical cache", name)
	}
}

func (s *state) llama4() error {
	if s.Nil("attention_backend") {
		s.llama4Attention()
	}
	if !s.Is("attention_backend", "fa3", "aiter", "triton", "trtllm_mha", "intel_xpu") && !(s.since(r0510) && s.Is("attention_backend", "ascend")) {
		names := "fa3, aiter, triton, trtllm_mha or intel_xpu"
		if s.since(r0510) {
			names = "fa3, aiter, triton, ascend, trtllm_mha or intel_xpu"
		}
		return assertion("%s is required for Llama4 model but got %s", names, s.Str("attention_backend"))
	}
	if s.gpu.sm100() && s.Is("moe_runner_backend", "auto") && s.Is("quantization", "fp8", "modelopt_fp8") {
		s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs FP8 experts with flashinfer_trtllm", "quantization")
		s.Set("moe_runner_backend", "flashinfer_trtllm")
		s.info("Use flashinfer_trtllm as MoE runner backend on SM100 for Llama4")
	}
	return nil
}

func (s *state) mossVL() error {
	if s.attentionUnset() {
		s.because("SGL-ATTN-ARCH-001", byModel, "Moss-VL prefills with flashinfer")
		s.Set("prefill_attention_backend", "flashinfer")
		s.info("Use flashinfer as default prefill attention backend for Moss-VL")
	}
	if prefill, _ := s.attentionBackends(); prefill != "flashinfer" {
		return assertion("MossVLForConditionalGeneration requires flashinfer prefill attention backend for cross-attention custom mask support.")
	}
	return nil
}

func (s *state) exaone(m *modelConfig) error {
	if !m.hf.Has("sliding_window_pattern") {
		return nil
	}
	s.because("SGL-KV-SWA-001", byModel, "the model's sliding-window layers get full KV memory")
	s.Set("disable_hybrid_swa_memory", true)
	s.warn("Disabling hybrid SWA memory for %s as it is not yet supported.", m.arch)
	accepted := []string{"fa3", "triton", "trtllm_mha"}
	if !slices.Contains(accepted, s.Str("attention_backend")) {
		return assertion("One of the attention backends in %s is required for %s, but got %s", pyList(accepted), m.arch, pyNone(s.Str("attention_backend")))
	}
	return nil
}

func (s *state) olmo2() error {
	s.because("SGL-KV-SWA-001", byModel, "the model's sliding-window layers get full KV memory")
	s.Set("disable_hybrid_swa_memory", true)
	s.warn("Disabling hybrid SWA memory for Olmo2ForCausalLM as it is not yet supported.")
	if s.Nil("attention_backend") {
		s.olmoAttention()
	}
	if s.Is("attention_backend", "flashinfer") {
		return assertion("FlashInfer backend can significantly degrade the performance of Olmo3 models.")
	}
	s.info("Using %s as attention backend for Olmo2ForCausalLM.", s.Str("attention_backend"))
	return nil
}

// nemotronQuantization takes over the scheme of a quantised Nemotron-H.
func (s *state) nemotronQuantization(m *modelConfig) error {
	switch m.quantization {
	case "modelopt", "modelopt_fp8", "modelopt_fp4", "modelopt_mixed":
		if m.hf.Text("mlp_hidden_act") != "relu2" {
			return assertion("")
		}
		s.because("SGL-QUANT-NEMOTRON", byCheckpoint, "the checkpoint names its modelopt scheme")
		method := m.quantization
		if method == "modelopt" {
			method = "modelopt_fp8"
			switch m.hf.Obj("quantization_config").Text("quant_algo") {
			case "NVFP4":
				method = "modelopt_fp4"
			case "MIXED_PRECISION":
				if s.since(r0510) {
					method = "modelopt_mixed"
				}
			}
		}
		s.Set("quantization", method)
		switch {
		case s.since(r0512) && !s.Is("moe_runner_backend", "auto"):
		case s.since(r0512) && s.gpu.sm100() && s.Is("moe_a2a_backend", "none"):
			s.Set("moe_runner_backend", "flashinfer_trtllm")
			s.info("Use flashinfer_trtllm as MoE runner backend on sm100 for %s", m.arch)
		default:
			s.Set("moe_runner_backend", "flashinfer_cutlass")
		}
	}
	return nil
}

func (s *state) nemotronH(m *modelConfig) error {
	if err := s.nemotronQuantization(m); err != nil {
		return err
	}
	if err := s.mambaRadix(m.arch, mambaSupport{cache: true, sm100: "flashinfer"}); err != nil {
		return err
	}
	if s.Is("attention_backend", "triton") {
		return assertion("NemotronHForCausalLM does not support triton attention backend,as the first layer might not be an attention layer")
	}
	return nil
}

// adoptQuantization takes over the method that the checkpoint names.
func (s *state) adoptQuantization(method string) {
	if s.Nil("quantization") && method != "" && !s.unquant {
		s.because("SGL-QUANT-DETECTED", byCheckpoint, "on SM100 the checkpoint's method is taken over")
		s.Set("quantization", method)
	}
}

// qwenMoE is the mixture of experts of Qwen3 on SM100.
func (s *state) qwenMoE(m *modelConfig) {
	if !s.gpu.sm100() {
		return
	}
	s.adoptQuantization(m.quantMethod())
	mixed := s.since(r0523) && s.Is("quantization", "modelopt_mixed")
	if mixed && halfExperts(m) {
		if s.Is("moe_runner_backend", "auto") {
			s.because("SGL-MOE-RUNNER-001", byCheckpoint, "the experts have FP4 weights and 16-bit activations")
			s.Set("moe_runner_backend", "marlin")
			s.info("Use marlin as MoE runner backend for %s with W4A16_NVFP4 MoE layers", m.arch)
		}
		return
	}
	if (mixed || s.Is("quantization", "fp8", "modelopt_fp4", nil)) && (s.since(r0508) || !s.Nil("quantization")) && s.Is("moe_a2a_backend", "none") && s.Is("moe_runner_backend", "auto") {
		s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs these experts with flashinfer_trtllm", "quantization")
		s.Set("moe_runner_backend", "flashinfer_trtllm")
		s.info("Use flashinfer_trtllm as MoE runner backend on sm100 for %s", m.arch)
	}
}

// qwenHybridAttention is the attention backend of Qwen's hybrid models on
// SM100: trtllm_mha, but triton where pages of one token are needed.
func (s *state) qwenHybridAttention(m *modelConfig) string {
	small := !s.Is("mamba_scheduler_strategy", "extra_buffer") && !s.Bool("disable_radix_cache") && s.Nil("speculative_algorithm")
	if s.since(r0510) && s.gpu.sm100() && !small && s.fastestAttention(m) == "trtllm_mha" {
		return "trtllm_mha"
	}
	return "triton"
}

func (s *state) glm4MoE(m *modelConfig) {
	if !s.gpu.sm100() {
		return
	}
	s.adoptQuantization(m.quantMethod())
	if s.Is("quantization", "modelopt_fp4") && s.Is("moe_a2a_backend", "none") && s.Is("moe_runner_backend", "auto") && s.flashinferSince063() {
		s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs NVFP4 experts with flashinfer_trtllm", "quantization")
		s.Set("moe_runner_backend", "flashinfer_trtllm")
		s.info("Use flashinfer_trtllm as MoE runner backend on sm100 for Glm4MoeForCausalLM")
	}
}

// flashinferSince063 says whether the release pins flashinfer 0.6.3 or newer.
func (s *state) flashinferSince063() bool { return s.since(r0509) }

// mambaSupport is what a model with state-space layers can do.
type mambaSupport struct {
	cache, extraBuffer bool
	sm100              string // attention backend on SM100
}

// flaChunk is FLA_CHUNK_SIZE.
const flaChunk = 64

// mambaRadix is _handle_mamba_radix_cache.
func (s *state) mambaRadix(arch string, can mambaSupport) error {
	if s.gpu.sm100() && s.Nil("attention_backend") && can.sm100 != "" {
		s.because("SGL-ATTN-HYBRID-001", byHardware, "on SM100 the hybrid model runs with "+can.sm100)
		s.Set("attention_backend", can.sm100)
		s.info("Use %s as attention backend on sm100 for %s", can.sm100, arch)
	}
	if !can.cache {
		s.because("SGL-RADIX-ARCH-001", byModel, "the model has no prefix cache yet")
		s.Set("disable_radix_cache", true)
		s.warn("Disabling Radix Cache for %s as it is not yet supported.", arch)
		return nil
	}
	extra := s.Is("mamba_scheduler_strategy", "extra_buffer")
	if extra && !can.extraBuffer {
		return assertion("mamba extra_buffer is not supported for %s model", arch)
	}
	decode := s.Str("linear_attn_decode_backend")
	switch {
	case decode == "flashinfer" && s.r == r0510 && s.Is("mamba_scheduler_strategy", "no_buffer"):
		return valueError("FlashInfer GDN decode (--linear-attn-decode-backend flashinfer) is not compatible with --mamba-scheduler-strategy no_buffer. Please use --mamba-scheduler-strategy extra_buffer instead. See https://github.com/sgl-project/sglang/issues/20791")
	case extra && s.since(r0510) && s.Bool("disable_radix_cache"):
		return valueError("mamba extra_buffer is not compatible with --disable-radix-cache Overlap scheduling is already supported with no_buffer + disable_radix_cache. Please use --mamba-scheduler-strategy no_buffer instead.")
	case extra:
		return s.mambaExtraBuffer()
	case s.Bool("disable_radix_cache"):
		return nil
	}
	if s.since(r0512) && !s.Is("page_size", nil, 1) {
		s.because("SGL-PAGE-MAMBA-001", byCoupling, "the model's prefix cache needs pages of one token", "mamba_scheduler_strategy")
		s.warn("%s with radix cache requires page_size=1 in the current Mamba scheduling mode (no_buffer), but got %d. Automatically setting page_size=1.", arch, s.Int("page_size"))
		s.Set("page_size", 1)
	}
	switch {
	case s.since(r0512) && s.gpu.hip && !s.Nil("speculative_algorithm"):
		s.because("SGL-RADIX-MAMBA-001", byHardware, "on AMD GPUs the prefix cache cannot work with speculation", "speculative_algorithm")
		s.Set("disable_radix_cache", true)
		s.warn("Speculative decoding for %s is not compatible with radix cache on ROCm devices. Automatically disabling radix cache.", arch)
		return nil
	case s.since(r0510) && !s.Nil("speculative_algorithm"):
		return valueError("Speculative decoding for %s is not compatible with radix cache when using --mamba-scheduler-strategy no_buffer."+
			"To use radix cache with speculative decoding, please use --mamba-scheduler-strategy extra_buffer and set SGLANG_ENABLE_SPEC_V2=1.", arch)
	case !s.Nil("speculative_algorithm"):
		s.because("SGL-RADIX-MAMBA-001", byCoupling, "the model's prefix cache cannot work with speculation", "speculative_algorithm")
		s.Set("disable_radix_cache", true)
		s.warn("Disabling radix cache since speculative decoding for %s is not supported with radix cache yet.", arch)
		return nil
	}
	s.because("SGL-OVERLAP-MAMBA-001", byCoupling, "without a second state buffer the prefix cache excludes the overlap scheduler", "mamba_scheduler_strategy", "disable_radix_cache")
	s.Set("disable_overlap_schedule", true)
	s.warn("Disabling overlap schedule since mamba no_buffer is not compatible with " +
		"overlap schedule, try to use --disable-radix-cache if overlap schedule is necessary")
	if s.Is("attention_backend", "trtllm_mha") {
		s.because("SGL-RADIX-MAMBA-001", byCoupling, "trtllm_mha has no pages of one token, which the prefix cache needs", "attention_backend")
		s.Set("disable_radix_cache", true)
		s.Set("disable_overlap_schedule", false)
		s.warn("Disabling radix cache since trtllm_mha does not support page_size = 1, which is required by MambaRadixCache. " +
			"Try to use --attention-backend triton if radix cache is necessary.")
	}
	return nil
}

func (s *state) mambaExtraBuffer() error {
	if s.gpu.hip {
		if s.since(r0512) {
			return assertion("Mamba extra_buffer is only supported on CUDA and MUSA and NPU devices with FLA backend")
		}
		return assertion("Mamba extra_buffer is only supported on CUDA devices with FLA backend")
	}
	interval := s.Int("mamba_track_interval")
	if n := s.Int("speculative_num_draft_tokens"); !s.Nil("speculative_num_draft_tokens") && interval < n {
		return assertion("mamba_track_interval %d must be greater than or equal to speculative_num_draft_tokens %d", interval, n)
	}
	if s.Nil("page_size") {
		return nil
	}
	page := s.Int("page_size")
	if page <= 0 || interval%page != 0 {
		return assertion("mamba_track_interval %d must be divisible by page_size %d", interval, page)
	}
	if max(flaChunk, page)%min(flaChunk, page) != 0 {
		return assertion("For SSM models with extra buffer, either FLA_CHUNK_SIZE or page_size must be divisible by the other, got FLA_CHUNK_SIZE=%d, self.page_size=%d", flaChunk, page)
	}
	return nil
}

// pyNone is how Python prints a text that may be missing.
func pyNone(text string) string {
	if text == "" {
		return "None"
	}
	return text
}

func (s *state) llama4Attention() {
	backend, platform := "triton", "other platforms"
	switch {
	case s.gpu.sm100():
		backend, platform = "trtllm_mha", "sm100"
	case s.gpu.sm90():
		backend, platform = "fa3", "sm90"
	case s.gpu.hip:
		backend, platform = "aiter", "hip"
	}
	s.because("SGL-ATTN-ARCH-002", byHardware, "Llama 4 runs with "+backend+" on "+platform)
	s.Set("attention_backend", backend)
	s.warn("Use %s as attention backend on %s for Llama4 model", backend, platform)
}

func (s *state) olmoAttention() {
	s.because("SGL-ATTN-ARCH-003", byHardware, "Olmo runs with trtllm_mha on SM100, fa3 from SM80 on, else triton")
	switch {
	case s.gpu.sm100():
		s.Set("attention_backend", "trtllm_mha")
	case s.gpu.cuda() && s.gpu.sm() >= 80:
		s.Set("attention_backend", "fa3")
	default:
		s.Set("attention_backend", "triton")
	}
}
