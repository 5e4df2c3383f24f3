package sglang

import (
	"slices"
	"strconv"
	"strings"
)

// modelDeclared chooses what follows from the architecture, from 0.5.15 on:
// models declare their overrides first, then come checks and the passes that
// build on them.
func (s *state) modelDeclared() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if s.Bool("enable_deterministic_inference") {
		s.because("SGL-COMM-DETERMINISTIC-001", byCoupling, "the fused all-reduce is not deterministic", "enable_deterministic_inference")
		s.Set("enforce_disable_flashinfer_allreduce_fusion", true)
	}
	for _, f := range []func(*modelConfig) error{s.declare, s.checkDeclared, s.mambaStrategy} {
		if err := f(m); err != nil {
			return err
		}
	}
	if _, ok := s.Env("SGLANG_EMBEDDINGS_SPARSE_HEAD"); ok {
		s.because("SGL-OVERLAP-MODEL-001", byEnvironment, "a sparse embedding head has no overlap scheduler")
		s.Set("disable_overlap_schedule", true)
		s.warn("Overlap scheduler is disabled when using sparse head for embedding model.")
	}
	s.fusionBackend(m)
	return nil
}

// deepseekFamily shares DeepSeek's attention.
func (s *state) deepseekFamily(arch string) bool { return s.v3Arch(arch) }

// qwenHybrids mix linear and full attention.
func (s *state) qwenHybrid(arch string) bool {
	return slices.Contains(strings.Fields("Qwen3NextForCausalLM Qwen3_5MoeForConditionalGeneration InternS2PreviewForConditionalGeneration Qwen3_5ForConditionalGeneration"), arch)
}

// declare is the models' own overrides (register_model_override).
func (s *state) declare(m *modelConfig) error {
	arch := m.arch
	if arch == "MistralLarge3ForCausalLM" || arch == "PixtralForConditionalGeneration" {
		s.because("SGL-DTYPE-MODEL", byModel, "the model runs in bfloat16")
		s.Set("dtype", "bfloat16")
	}
	switch {
	case s.deepseekFamily(arch):
		return s.declareDeepseek(m)
	case arch == "MiMoV2ForCausalLM" || arch == "MiMoV2FlashForCausalLM":
		if s.since(r0523) {
			s.mimo(m)
		} else if s.since(r0518) && s.gpu.sm100() && s.Is("moe_runner_backend", "auto") && m.quantMethod() == "fp8" {
			s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs FP8 experts with flashinfer_trtllm")
			s.Set("moe_runner_backend", "flashinfer_trtllm")
			s.info("MiMoV2 FP8 on SM100: moe_runner_backend=flashinfer_trtllm.")
		}
		if s.Is("speculative_algorithm", "EAGLE") {
			s.because("SGL-SPEC-DRAFT-001", byModel, "the draft has several layers", "speculative_algorithm")
			s.Set("enable_multi_layer_eagle", true)
			s.info("Enable multi-layer EAGLE speculative decoding for MiMoV2 model.")
		}
	case arch == "MiniMaxM2ForCausalLM":
		s.tf32(arch)
		if s.since(r0518) && s.gpu.sm100() && s.Is("moe_runner_backend", "auto") && m.quantization == "modelopt_fp4" {
			s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs NVFP4 experts with flashinfer_trtllm_routed")
			s.Set("moe_runner_backend", "flashinfer_trtllm_routed")
			s.info("Use flashinfer_trtllm_routed as MoE runner backend on SM10X for MiniMaxM2ForCausalLM with modelopt_fp4.")
		}
	case slices.Contains(strings.Fields("Gemma2ForCausalLM Gemma3ForCausalLM Gemma3ForConditionalGeneration Gemma3nForCausalLM Gemma3nForConditionalGeneration"), arch):
		s.fullSWA("Disable hybrid SWA memory for %s as it is not yet supported.", arch)
	case (arch == "Exaone4ForCausalLM" || arch == "ExaoneMoEForCausalLM" || arch == "ExaoneMoeForCausalLM" && s.since(r0523)) && m.hf.Has("sliding_window_pattern"):
		s.fullSWA("Disabling hybrid SWA memory for %s as it is not yet supported.", arch)
		if s.since(r0523) && s.Nil("attention_backend") {
			s.olmoAttention()
		}
	case s.since(r0523) && (arch == "Cohere2VisionForConditionalGeneration" || arch == "Cohere2MoeForCausalLM"):
		s.commandA(m)
	case s.since(r0523) && arch == "EmbeddingGemma2Model":
		s.because("SGL-ATTN-ARCH-001", byModel, "the encoder attends in both directions")
		s.Set("disable_radix_cache", true)
		if s.Nil("attention_backend") {
			s.Set("attention_backend", "triton")
			s.info("Use triton as default attention backend for EmbeddingGemma2Model")
		}
	case s.since(r0518) && arch == "InternS2MobiusForConditionalGeneration" && s.Is("moe_runner_backend", "auto"):
		s.because("SGL-MOE-RUNNER-001", byModel, "so many experts are known to run with triton_kernel only")
		s.Set("moe_runner_backend", "triton_kernel")
	case arch == "GptOssForCausalLM":
		s.declareGptOss(m)
	case arch == "Llama4ForConditionalGeneration" || arch == "Llama4ForCausalLM":
		s.declareLlama4()
	case slices.Contains(strings.Fields("Gemma4ForConditionalGeneration Gemma4ForCausalLM Gemma4UnifiedForConditionalGeneration"), arch):
		s.declareGemma4(m)
	case arch == "MossVLForConditionalGeneration":
		return s.mossVL()
	case slices.Contains(strings.Fields("MiniCPMV4_6ForConditionalGeneration MiniCPMV4_7ForConditionalGeneration FalconH1ForCausalLM JetNemotronForCausalLM JetVLMForConditionalGeneration"), arch):
		s.hybridAttention("triton")
	case arch == "GraniteMoeHybridForCausalLM" && slices.Contains(m.hf.Strings("layer_types"), "mamba"), arch == "Lfm2ForCausalLM":
		s.hybridAttention("flashinfer")
	case arch == "DeepseekV4ForCausalLM":
		s.declareDeepseekV4(m)
	case arch == "NemotronHForCausalLM" || arch == "NemotronHPuzzleForCausalLM":
		return s.declareNemotronH(m)
	case s.qwenHybrid(arch):
		s.declareQwenHybrid(m)
		s.qwenMoE(m)
	case arch == "Qwen3MoeForCausalLM" || arch == "Qwen3VLMoeForConditionalGeneration":
		if arch == "Qwen3VLMoeForConditionalGeneration" {
			s.hopperVL(m)
		}
		s.qwenMoE(m)
	case arch == "Qwen3VLForConditionalGeneration":
		s.hopperVL(m)
		if s.gpu.hip && s.envSwitch("SGLANG_USE_AITER_UNIFIED_ATTN", false) && s.Nil("page_size") {
			s.because("SGL-PAGE-AITER", byEnvironment, "aiter's unified attention has pages of 16 tokens")
			s.Set("page_size", 16)
			s.info("Setting page_size=16 for aiter unified attention on Qwen3VLForConditionalGeneration.")
		}
	case arch == "Glm4MoeForCausalLM":
		s.declareGlm4(m)
	case arch == "Olmo2ForCausalLM":
		s.fullSWA("Disabling hybrid SWA memory for %s as it is not yet supported.", arch)
		if s.Nil("attention_backend") {
			s.olmoAttention()
		}
	case strings.Contains(arch, "Step3p5ForCausalLM"), strings.Contains(arch, "Step3p7ForConditionalGeneration"):
		s.declareStep3()
	}
	return nil
}

func (s *state) tf32(arch string) {
	s.because("SGL-GEMM-TF32-001", byModel, "the routing gate is faster in TF32")
	s.Set("enable_tf32_matmul", true)
	s.info("Enable TF32 matmul for %s model to improve gate gemm performance.", arch)
}

func (s *state) fullSWA(line, arch string) {
	s.because("SGL-KV-SWA-001", byModel, "the model's sliding-window layers get full KV memory")
	s.Set("disable_hybrid_swa_memory", true)
	s.warn(line, arch)
}

// hybridAttention is the backend of a hybrid model on SM100.
func (s *state) hybridAttention(backend string) {
	if s.gpu.sm100() && s.Nil("attention_backend") {
		s.because("SGL-ATTN-HYBRID-001", byHardware, "on SM100 the hybrid model runs with "+backend)
		s.Set("attention_backend", backend)
	}
}

func (s *state) declareDeepseek(m *modelConfig) error {
	if s.dsa(m) {
		return s.declareSparse()
	}
	if s.gpu.sm100() && s.attentionUnset() {
		s.because("SGL-ATTN-MLA-001", byHardware, "SM100 runs multi-head latent attention with trtllm_mla")
		s.Set("attention_backend", "trtllm_mla")
		s.info("Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM")
	}
	if !s.Bool("enable_prefill_cp") || !m.mla {
		return nil
	}
	s.because("SGL-DSA-CP-003", byCoupling, "context parallel prefill of MLA restricts these", "enable_prefill_cp")
	s.warn("MLA prefill context parallel is still experimental. Verified on Hopper with the fa3 backend.")
	s.setAttnDP(max(1, s.Int(s.attnDP())))
	s.Set("moe_dense_tp_size", 1)
	s.Set("moe_a2a_backend", "deepep")
	s.Set("ep_size", s.Get("tp_size"))
	s.warn("For MLA CP, we have the following restrictions: moe_dense_tp_size == 1, moe_a2a_backend == deepep, ep_size == tp_size, batch_size == 1")
	cp, err := s.tpOver(s.attnDP())
	if err != nil {
		return err
	}
	s.Set("attn_cp_size", cp)
	s.warn("Enable Context Parallel opt for MLA, Setting %s == %d and attn_cp_size == %d, moe_dense_tp_size == 1, ep_size == %d, tp_size == %d, moe_a2a_backend deepep, cuda_graph_config[prefill].backend=disabled",
		s.attnDP(), s.Int(s.attnDP()), cp, s.Int("ep_size"), s.Int("tp_size"))
	return nil
}

func (s *state) declareSparse() error {
	if s.attentionUnset() {
		s.because("SGL-ATTN-DSA-001", byModel, "a model with sparse attention runs with its own backend")
		s.Set("attention_backend", "dsa")
		s.info("Use dsa attention backend for DeepSeek with DSA.")
	}
	if s.Bool("enable_prefill_cp") {
		if err := s.sparseCP(); err != nil {
			return err
		}
	}
	if s.gpu.hip && !s.preshuffle() {
		s.because("SGL-PAGE-DSA-001", byHardware, "sparse attention on AMD GPUs has pages of one token")
		s.Set("page_size", 1)
		s.warn("Setting page size to 1 for DeepSeek DSA on ROCm (aiter preshuffle paged-MQA path unavailable: needs Triton>=3.5.0 or AITER_ENABLE_AOT_GLUON_PA_MQA_LOGITS=1).")
		return nil
	}
	s.because("SGL-PAGE-DSA-001", byModel, "sparse attention has pages of 64 tokens")
	s.Set("page_size", 64)
	s.warn("Setting page size to 64 for DeepSeek DSA.")
	return nil
}

// sparseCP is context parallel prefill of sparse attention.
func (s *state) sparseCP() error {
	s.because("SGL-DSA-CP-001", byCoupling, "context parallel prefill", "enable_prefill_cp")
	s.warn("Context parallel feature is still under experiment. It has only been verified on Hopper platform.")
	s.because("SGL-DSA-CP-002", byCoupling, "context parallel prefill restricts these", "enable_prefill_cp", "cp_strategy")
	s.setAttnDP(max(1, s.Int(s.attnDP())))
	if !s.since(r0523) || s.Is("cp_strategy", "zigzag") {
		s.Set("moe_dense_tp_size", 1)
	}
	if s.Is("cp_strategy", "zigzag") {
		s.Set("moe_a2a_backend", "deepep")
		s.Set("ep_size", s.Get("tp_size"))
		s.warn("zigzag DSA CP requires moe_dense_tp_size=1, moe_a2a_backend=deepep, ep_size=tp_size, batch_size=1.")
	} else if s.Int("dp_size") != 1 && !s.since(r0523) {
		return assertion("interleave DSA CP does not support DP attention.")
	}
	if s.Int("tp_size") > 8 {
		return assertion("Context parallel only supports single machine (tp_size <= 8). Cross-machine CP has precision issues.")
	}
	cp, err := s.tpOver(s.attnDP())
	if err != nil {
		return err
	}
	if s.since(r0523) {
		if s.Is("cp_strategy", "interleave") && s.Int("attn_cp_size") > 1 {
			cp = s.Int("attn_cp_size")
		}
		s.Set("attn_cp_size", cp)
		s.warn("Enabled DSA context parallel: strategy=%s, attn_dp_size=%d, moe_dense_tp_size=%s, ep_size=%d, tp_size=%d, attn_cp_size=%d, kv_cache_dtype=%s, moe_a2a_backend=%s",
			pyNone(s.Str("cp_strategy")), s.Int("attn_dp_size"), pyInt(s.Get("moe_dense_tp_size")), s.Int("ep_size"), s.Int("tp_size"), cp, s.Str("kv_cache_dtype"), s.Str("moe_a2a_backend"))
		return nil
	}
	s.Set("attn_cp_size", cp)
	s.warn("Enabled DSA context parallel: strategy=%s, dp_size=%d, moe_dense_tp_size=1, ep_size=%d, tp_size=%d, attn_cp_size=%d, kv_cache_dtype=%s, moe_a2a_backend=%s, cuda_graph_config[prefill].backend=disabled",
		pyNone(s.Str("cp_strategy")), s.Int("dp_size"), s.Int("ep_size"), s.Int("tp_size"), cp, s.Str("kv_cache_dtype"), s.Str("moe_a2a_backend"))
	return nil
}

func (s *state) declareGptOss(m *modelConfig) {
	if s.attentionUnset() {
		backend := "triton"
		switch {
		case s.gpu.sm100():
			backend = "trtllm_mha"
		case s.gpu.sm90():
			backend = "fa3"
		case s.gpu.hip:
			backend = "aiter"
		}
		s.because("SGL-ATTN-ARCH-001", byHardware, "GPT-OSS runs with "+backend+" on this GPU")
		s.Set("attention_backend", backend)
	}
	mxfp4 := m.quantMethod() == "mxfp4"
	if mxfp4 {
		s.because("SGL-DTYPE-GPTOSS", byCheckpoint, "MXFP4 kernels want bfloat16")
		s.Set("dtype", "bfloat16")
	}
	if s.Is("moe_runner_backend", "auto") {
		s.gptOssMoE(mxfp4)
	}
}

func (s *state) declareLlama4() {
	if s.Nil("attention_backend") {
		s.llama4Attention()
	}
	if s.gpu.sm100() && s.Is("moe_runner_backend", "auto") && s.Is("quantization", "fp8", "modelopt_fp8") {
		s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs FP8 experts with flashinfer_trtllm", "quantization")
		s.Set("moe_runner_backend", "flashinfer_trtllm")
		s.info("Use flashinfer_trtllm as MoE runner backend on SM100 for Llama4")
	}
}

func (s *state) declareGemma4(m *modelConfig) {
	backend := "triton"
	if s.gpu.sm100() {
		backend = "trtllm_mha"
	}
	s.because("SGL-ATTN-ARCH-001", byHardware, "Gemma 4 runs with "+backend+" on this GPU")
	switch {
	case s.attentionUnset():
		s.Set("attention_backend", backend)
		s.info("Use %s as default attention backend for Gemma4", backend)
	case s.Nil("attention_backend"):
		s.Set("attention_backend", backend)
	}
	if s.gpu.sm100() && s.Is("moe_runner_backend", "auto") && m.quantization == "modelopt_fp4" {
		s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs NVFP4 experts with flashinfer_trtllm", "quantization")
		s.Set("quantization", "modelopt_fp4")
		s.Set("moe_runner_backend", "flashinfer_trtllm")
		s.info("Use flashinfer_trtllm as MoE runner backend on SM100 for Gemma-4 (modelopt_fp4)")
	}
}

func (s *state) declareDeepseekV4(m *modelConfig) {
	s.because("SGL-ATTN-DSV4", byModel, "DeepSeek V4 has its own attention and pages of 256 tokens")
	s.Set("attention_backend", "dsv4")
	s.Set("page_size", 256)
	s.info("Use dsv4 attention backend for %s, setting page_size to 256.", m.arch)
	if s.Float("swa_full_tokens_ratio") == 0.8 {
		s.because("SGL-KV-DSV4", byModel, "most layers of DeepSeek V4 look back a short way")
		s.Set("swa_full_tokens_ratio", 0.1)
		s.info("Setting swa_full_tokens_ratio to 0.1 for %s.", m.arch)
	}
}

func (s *state) declareNemotronH(m *modelConfig) error {
	modelopt := slices.Contains([]string{"modelopt", "modelopt_fp8", "modelopt_fp4", "modelopt_mixed"}, m.quantization)
	method := s.Str("quantization")
	if modelopt {
		if m.hf.Text("mlp_hidden_act") != "relu2" {
			return assertion("")
		}
		method = m.quantization
		if !m.hf.Has("quantization_config") && (method == "modelopt" || method == "modelopt_mixed" && s.since(r0518)) {
			return refuse("AttributeError", "'NemotronHConfig' object has no attribute 'quantization_config'")
		}
		if method == "modelopt" {
			switch m.hf.Obj("quantization_config").Text("quant_algo") {
			case "MIXED_PRECISION":
				method = "modelopt_mixed"
			case "NVFP4":
				method = "modelopt_fp4"
			default:
				method = "modelopt_fp8"
			}
		}
		s.because("SGL-QUANT-NEMOTRON", byCheckpoint, "the checkpoint names its modelopt scheme")
		s.Set("quantization", method)
	}
	if s.since(r0518) && method == "modelopt_mixed" && halfExperts(m) {
		return s.halfExpertRunner(m)
	}
	if (modelopt || m.quantization == "") && s.Is("moe_runner_backend", "auto") {
		s.because("SGL-MOE-RUNNER-001", byHardware, "by GPU and quantisation", "quantization")
		fp4 := m.quantization == "modelopt_fp4" || m.quantization == "modelopt_mixed" || method == "modelopt_fp4"
		switch {
		case s.gpu.sm100() && s.Is("moe_a2a_backend", "none"):
			s.Set("moe_runner_backend", "flashinfer_trtllm")
			s.info("Use flashinfer_trtllm as MoE runner backend on sm100 for %s", m.arch)
		case fp4 && s.gpu.cuda() && s.gpu.major >= 8 && s.gpu.major < 10:
			s.Set("moe_runner_backend", "marlin")
			s.info("Use marlin as MoE runner backend on SM80-SM90 for %s %s", m.arch, m.quantization)
		default:
			s.Set("moe_runner_backend", "flashinfer_cutlass")
		}
	}
	s.nemotronAttention()
	return nil
}

// nemotronAttention is the attention backend of Nemotron-H.
func (s *state) nemotronAttention() {
	if !s.since(r0523) {
		s.hybridAttention("flashinfer")
		return
	}
	if !s.gpu.blackwell() || !s.attentionUnset() {
		return
	}
	s.because("SGL-ATTN-HYBRID-001", byHardware, "the hybrid model's backend on Blackwell", "speculative_algorithm")
	draft := func(backend string, algorithms ...any) {
		if s.Nil("speculative_draft_attention_backend") && s.Is("speculative_algorithm", algorithms...) {
			s.Set("speculative_draft_attention_backend", backend)
		}
	}
	switch {
	case s.Nil("speculative_algorithm") && s.gpu.sm100():
		s.Set("attention_backend", "trtllm_mha")
	case s.Nil("speculative_algorithm"):
	case s.gpu.sm100() && s.Is("speculative_eagle_topk", nil, 1):
		s.Set("attention_backend", "trtllm_mha")
		if s.Nil("page_size") {
			s.Set("page_size", 64)
		}
		if s.Is("mamba_radix_cache_strategy", "auto") {
			s.Set("mamba_radix_cache_strategy", "extra_buffer")
		}
		draft("trtllm_mha", "EAGLE", "NEXTN", "DSPARK")
	default:
		s.Set("attention_backend", "triton")
		draft("flashinfer", "EAGLE", "NEXTN", "DFLASH", "DSPARK")
	}
}

// halfExperts says whether experts have FP4 weights and 16-bit activations.
func halfExperts(m *modelConfig) bool {
	for name, layer := range m.hf.Obj("quantization_config").Obj("quantized_layers") {
		l, _ := layer.(attrs)
		if l.Text("quant_algo") == "W4A16_NVFP4" && strings.Contains(name, ".experts.") {
			return true
		}
	}
	return false
}

func (s *state) halfExpertRunner(m *modelConfig) error {
	switch {
	case !s.Is("moe_a2a_backend", "none"):
		return valueError("W4A16_NVFP4 MoE layers require --moe-a2a-backend=none.")
	case !s.Is("moe_runner_backend", "auto", "marlin"):
		return valueError("W4A16_NVFP4 MoE layers require --moe-runner-backend=marlin.")
	case s.Is("moe_runner_backend", "auto"):
		s.because("SGL-MOE-RUNNER-001", byCheckpoint, "the experts have FP4 weights and 16-bit activations")
		s.Set("moe_runner_backend", "marlin")
		s.info("Use marlin as MoE runner backend for %s with W4A16_NVFP4 MoE layers", m.arch)
	}
	s.nemotronAttention()
	return nil
}

func (s *state) declareQwenHybrid(m *modelConfig) {
	if !s.gpu.sm100() || !s.Nil("attention_backend") {
		return
	}
	small := !s.keepsBuffer() && !s.Bool("disable_radix_cache") && s.Nil("speculative_algorithm")
	backend, page := "triton", 1
	if !small && s.fastestAttention(m) == "trtllm_mha" {
		backend, page = "trtllm_mha", 64
	}
	s.because("SGL-ATTN-HYBRID-001", byHardware, "on SM100 the hybrid model runs with "+backend, "mamba_radix_cache_strategy", "disable_radix_cache")
	s.Set("attention_backend", backend)
	s.Set("page_size", page)
}

func (s *state) declareGlm4(m *modelConfig) {
	if s.gpu.sm100() {
		s.adoptQuantization(m.quantMethod())
		if s.Is("quantization", "modelopt_fp4", nil) && s.Is("moe_a2a_backend", "none") && s.Is("moe_runner_backend", "auto") {
			s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs these experts with flashinfer_trtllm", "quantization")
			s.Set("moe_runner_backend", "flashinfer_trtllm")
			s.info("Use flashinfer_trtllm as MoE runner backend on sm100 for Glm4MoeForCausalLM")
		}
	}
	s.tf32(m.arch)
}

func (s *state) declareStep3() {
	if s.attentionUnset() {
		s.because("SGL-ATTN-ARCH-001", byHardware, "Step 3 runs with fa4 on Blackwell and fa3 on Hopper")
		switch {
		case s.gpu.blackwell():
			s.Set("attention_backend", "fa4")
			s.info("Auto-select fa4 attention backend for Step3p7 on Blackwell.")
		case s.gpu.sm90():
			s.Set("attention_backend", "fa3")
			s.info("Auto-select fa3 attention backend for Step3p7 on Hopper.")
		}
	}
	s.multiLayerEagle("Step3p5ForCausalLM")
}

// checkDeclared is what follows the overrides: checks, and the settings that
// build on others.
func (s *state) checkDeclared(m *modelConfig) error {
	arch := m.arch
	prefill, decode := s.attentionBackends()
	backend := s.Str("attention_backend")
	switch {
	case arch == "DeepseekV4ForCausalLM":
		return s.deepseekV4Later(m)
	case s.deepseekFamily(arch):
		return s.deepseekLater(m)
	case arch == "GptOssForCausalLM":
		return s.checkGptOss(prefill, decode)
	case !s.since(r0523) && strings.HasPrefix(arch, "MiMoV2") && s.Bool("enable_hierarchical_cache") && !s.envSwitch("SGLANG_ENABLE_UNIFIED_RADIX_TREE", false):
		return valueError("Hierarchical cache for MiMoV2 requires the unified radix tree. Set SGLANG_ENABLE_UNIFIED_RADIX_TREE=1 to enable --enable-hierarchical-cache for this model.")
	case arch == "Llama4ForConditionalGeneration" || arch == "Llama4ForCausalLM":
		if !slices.Contains([]string{"fa3", "aiter", "triton", "ascend", "trtllm_mha", "intel_xpu"}, backend) {
			return assertion("fa3, aiter, triton, ascend, trtllm_mha or intel_xpu is required for Llama4 model but got %s", pyNone(backend))
		}
	case strings.HasPrefix(arch, "Gemma4"):
		accepted, names := []string{"trtllm_mha", "triton", "ascend", "intel_xpu"}, "trtllm_mha, triton, or intel_xpu"
		if s.since(r0518) {
			accepted, names = append(accepted, "intel_amx"), "trtllm_mha, triton, ascend, intel_xpu, or intel_amx"
		}
		if s.since(r0523) {
			accepted, names = append(accepted, "fa4", "aiter"), "trtllm_mha, triton, fa4, ascend, intel_xpu, intel_amx, or aiter"
		}
		if !slices.Contains(accepted, prefill) || !slices.Contains(accepted, decode) {
			return assertion("Gemma4 only supports %s attention backend, got prefill=%s, decode=%s", names, pyNone(prefill), pyNone(decode))
		}
	case (arch == "Exaone4ForCausalLM" || arch == "ExaoneMoEForCausalLM" || arch == "ExaoneMoeForCausalLM" && s.since(r0523)) && m.hf.Has("sliding_window_pattern"):
		accepted := []string{"fa3", "triton", "trtllm_mha"}
		if !slices.Contains(accepted, backend) {
			return assertion("One of the attention backends in %s is required for %s, but got %s", pyList(accepted), arch, pyNone(backend))
		}
	case arch == "Olmo2ForCausalLM":
		if backend == "flashinfer" {
			return assertion("FlashInfer backend can significantly degrade the performance of Olmo3 models.")
		}
		s.info("Using %s as attention backend for %s.", backend, arch)
	case !s.since(r0523) && strings.HasPrefix(arch, "NemotronH") && backend == "triton":
		return assertion("NemotronHForCausalLM does not support triton attention backend,as the first layer might not be an attention layer")
	case (arch == "Lfm2ForCausalLM" || arch == "Lfm2MoeForCausalLM" && s.since(r0518)) && backend == "triton":
		return assertion("%s does not support triton attention backend, as the first layer might not be an attention layer", arch)
	}
	return nil
}

func (s *state) checkGptOss(prefill, decode string) error {
	supported := []string{"triton", "trtllm_mha", "fa3", "fa4", "ascend", "intel_amx", "intel_xpu", "aiter"}
	if !slices.Contains(supported, prefill) || !slices.Contains(supported, decode) {
		return assertion("GptOssForCausalLM requires one of %s attention backend, but got the following backends\n- Prefill: %s\n- Decode: %s\n",
			pyList(supported), pyNone(prefill), pyNone(decode))
	}
	if s.gpu.hip && !s.since(r0523) {
		s.aiterFusion("GptOssForCausalLM")
	}
	if s.Is("moe_runner_backend", "triton_kernel") && s.Int("ep_size") != 1 {
		return assertion("Triton kernel MoE is only supported when ep_size == 1")
	}
	return nil
}

// deepseekLater is DeepSeek V3 and its kin behind the overrides.
func (s *state) deepseekLater(m *modelConfig) error {
	if s.dsa(m) {
		if err := s.sparseLater(m); err != nil {
			return err
		}
	} else {
		if s.captures(prefillGraph) {
			s.info("Piecewise CUDA graph is enabled, use MLA for prefill.")
		}
		if s.Bool("enable_prefill_cp") && m.mla {
			s.because("SGL-GRAPH-PREFILL-002", byCoupling, "context parallel prefill is not captured", "enable_prefill_cp")
			s.Set(prefillGraph, "disabled")
		}
	}
	if s.gpu.sm100() {
		if err := s.deepseekMoE(m); err != nil {
			return err
		}
	}
	if s.gpu.hip && s.since(r0523) {
		if m.arch == "GlmMoeDsaForCausalLM" && !s.dpAttention() && s.Int("nnodes") == 1 {
			s.because("SGL-COMM-FUSION-002", byHardware, "AMD GPUs fuse the all-reduce of decoding")
			s.Set("enable_aiter_allreduce_fusion", true)
			s.Set("disable_aiter_allreduce_fusion_in_prefill", true)
			s.info("Enable Aiter AllReduce Fusion on decode phase for GlmMoeDsaForCausalLM")
		}
		return s.draftMoE()
	}
	if s.gpu.hip {
		s.aiterFusion("DeepseekV3ForCausalLM")
		return s.draftMoE()
	}
	return nil
}

// sparseLater is sparse attention behind the overrides.
func (s *state) sparseLater(m *modelConfig) error {
	const threshold = "SGLANG_DSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD"
	s.because("SGL-DSA-DENSE-001", byModel, "prefill attends densely as long as nothing can be left out")
	if v, set := s.Env(threshold); set {
		s.warn("Dense attention kv len threshold is manually set to %s for DSA. Caution: This may cause performance regression if the threshold is larger than the index topk of model.", v)
	} else {
		n := m.hf.IntOr("index_topk", 0)
		s.SetEnv(threshold, strconv.Itoa(n))
		s.warn("Set dense attention kv len threshold to model index_topk=%d for DeepSeek with DSA.", n)
	}
	shared := m.hf.IntOr("index_topk_freq", 1) > 1 || strings.Contains(m.hf.Text("index_topk_pattern"), "S")
	if s.Bool("enable_two_batch_overlap") && shared {
		return valueError("--enable-two-batch-overlap is not supported with DSA index-topk sharing (index_topk_freq > 1 or an index_topk_pattern containing shared layers): " +
			"the TBO op path does not propagate topk indices across layers, so shared layers would run sparse attention without indices.")
	}
	if s.Bool("enable_prefill_cp") {
		s.because("SGL-GRAPH-PREFILL-002", byCoupling, "context parallel prefill is not captured", "enable_prefill_cp")
		s.Set(prefillGraph, "disabled")
	} else if width := s.attentionTP(); s.since(r0523) && width > 1 {
		s.because("SGL-DSA-TP-001", byCoupling, "attention weights are sharded", "tp_size", "attn_dp_size")
		s.warn("DSA with TP mode is active, attn_dp_size=%d, tp_size=%d, attn_tp_size=%d, attention weights will be sharded across %d ranks.", s.Int("attn_dp_size"), s.Int("tp_size"), width, width)
	} else if dp, tp := s.Int("dp_size"), s.Int("tp_size"); dp < tp && !s.since(r0523) {
		s.because("SGL-DSA-TP-001", byCoupling, "attention weights are sharded", "tp_size", "dp_size")
		s.warn("DSA with TP mode is active, dp_size=%d, tp_size=%d, attn_tp_size=%d, attention weights will be sharded across %d ranks.", dp, tp, tp, tp)
	}
	if err := s.sparseKV(); err != nil {
		return err
	}
	if err := s.sparseBackends(m); err != nil {
		return err
	}
	if s.Bool("enable_prefill_cp") && s.Is("disaggregation_mode", "decode") {
		return assertion("CP is only supported for prefill when PD disaggregation, please remove --enable-prefill-cp.")
	}
	return nil
}

// deepseekV4Later is DeepSeek V4 behind the overrides.
func (s *state) deepseekV4Later(m *modelConfig) error {
	if s.gpu.hip {
		s.because("SGL-DSV4-HIP", byHardware, "the kernel gives wrong results on AMD GPUs")
		s.SetEnv("SGLANG_OPT_FLASHMLA_SPARSE_PREFILL", "False")
		s.warn("Disabling SGLANG_OPT_FLASHMLA_SPARSE_PREFILL by default on ROCm/HIP for %s; set it explicitly to override.", m.arch)
	}
	if s.Is("kv_cache_dtype", "auto") {
		s.because("SGL-KV-DSA-001", byModel, "DeepSeek V4 has an FP8 KV cache")
		s.Set("kv_cache_dtype", "fp8_e4m3")
		s.warn("Setting KV cache dtype to fp8_e4m3 for %s.", m.arch)
	}
	if !s.Is("kv_cache_dtype", "fp8_e4m3", "bfloat16") {
		return assertion("%s is not supported for %s", s.Str("kv_cache_dtype"), m.arch)
	}
	if s.Nil("max_running_requests") {
		s.because("SGL-RUNNING-DSV4", byModel, "DeepSeek V4 is limited to 256 requests")
		s.Set("max_running_requests", 256)
		s.warn("Setting max_running_requests to 256 for %s.", m.arch)
	}
	switch {
	case s.Nil("speculative_algorithm"):
	case s.since(r0518) && s.Is("speculative_algorithm", "DSPARK"):
	case !s.Is("speculative_algorithm", "EAGLE") && s.since(r0518):
		return assertion("Only EAGLE and DSPARK speculative algorithms are supported for %s", m.arch)
	case !s.Is("speculative_algorithm", "EAGLE"):
		return assertion("Only EAGLE speculative algorithm is supported for %s", m.arch)
	case !s.Is("speculative_eagle_topk", 1):
		return assertion("Only EAGLE speculative algorithm with topk == 1 is supported for %s", m.arch)
	}
	if s.Bool("enable_prefill_cp") && !s.Is("cp_strategy", "interleave") {
		return valueError("DeepSeekV4 only supports interleave CP strategy, got %s", pyNone(s.Str("cp_strategy")))
	}
	if s.gpu.sm120() && s.Is("moe_runner_backend", "auto") {
		runner := "marlin"
		if s.since(r0518) {
			runner = "flashinfer_mxfp4"
		}
		s.because("SGL-MOE-RUNNER-001", byHardware, "SM120 runs the experts with "+runner)
		s.Set("moe_runner_backend", runner)
		s.info("Use %s as MoE runner backend on SM120 for DeepseekV4", runner)
	}
	return nil
}

// mambaArchs keep prefixes of state-space layers (_MAMBA_RADIX_CACHE_ARCHS).
var mambaArchs = newRoster(joined{
	r0515: `KimiLinearForCausalLM BailingMoeV2_5ForCausalLM Qwen3NextForCausalLM Qwen3_5MoeForConditionalGeneration
		InternS2PreviewForConditionalGeneration Qwen3_5ForConditionalGeneration MiniCPMV4_6ForConditionalGeneration
		NemotronHForCausalLM NemotronHPuzzleForCausalLM FalconH1ForCausalLM JetNemotronForCausalLM
		JetVLMForConditionalGeneration Lfm2ForCausalLM ZayaForCausalLM`,
	r0518: `KimiK3ForConditionalGeneration InternS2MobiusForConditionalGeneration Lfm2MoeForCausalLM`,
	r0523: `BailingMoeV3ForCausalLM BailingMoeV3VLForConditionalGeneration Glm5NextForConditionalGeneration
		MiniCPMV4_7ForConditionalGeneration NemotronH_Omni_Reasoning_V3 Qwen3_5ForCausalLM Qwen3_5MoeForCausalLM
		Qwen4ExpForConditionalGeneration`,
}, nil)

// extraBufferArchs can keep a second state (_MAMBA_EXTRA_BUFFER_ARCHS).
var extraBufferArchs = newRoster(joined{
	r0515: `Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration Qwen3NextForCausalLM
		InternS2PreviewForConditionalGeneration MiniCPMV4_6ForConditionalGeneration BailingMoeV2_5ForCausalLM
		FalconH1ForCausalLM GraniteMoeHybridForCausalLM NemotronHForCausalLM NemotronHPuzzleForCausalLM`,
	r0518: `KimiLinearForCausalLM KimiK3ForConditionalGeneration`,
	r0523: `BailingMoeV3ForCausalLM BailingMoeV3VLForConditionalGeneration Glm5NextForConditionalGeneration
		InklingForConditionalGeneration InklingForConditionalGenerationMTP MiniCPMV4_7ForConditionalGeneration
		NemotronH_Omni_Reasoning_V3 Qwen3_5ForCausalLM Qwen3_5MoeForCausalLM Qwen4ExpForConditionalGeneration`,
}, nil)

// keepsBuffer is enable_mamba_extra_buffer.
func (s *state) keepsBuffer() bool {
	return !s.Bool("disable_radix_cache") && s.Is("mamba_radix_cache_strategy", "extra_buffer", "extra_buffer_lazy")
}

// mambaStrategy chooses how prefixes of state-space layers are kept.
func (s *state) mambaStrategy(m *modelConfig) error {
	keeps := mambaArchs.has(s.r, m.arch) ||
		m.arch == "GraniteMoeHybridForCausalLM" && slices.Contains(m.hf.Strings("layer_types"), "mamba")
	if s.since(r0523) && !keeps && !s.Bool("disable_radix_cache") && s.keepsBuffer() {
		return valueError("--mamba-radix-cache-strategy %s needs mamba state, got %s.", s.Str("mamba_radix_cache_strategy"), m.arch)
	}
	if !keeps || s.Bool("disable_radix_cache") {
		return nil
	}
	can := extraBufferArchs.has(s.r, m.arch) && s.Is("linear_attn_backend", "triton")
	if s.Is("mamba_radix_cache_strategy", "auto") {
		wants := !s.Bool("disable_overlap_schedule") || s.Int("page_size") > 1
		if wants && can {
			s.because("SGL-RADIX-MAMBA-001", byModel, "a second state lets prefixes and the overlap scheduler work together")
			s.Set("mamba_radix_cache_strategy", "extra_buffer")
		} else {
			s.because("SGL-OVERLAP-MAMBA-001", byModel, "without a second state the prefix cache excludes the overlap scheduler")
			s.Set("mamba_radix_cache_strategy", "no_buffer")
			s.Set("disable_overlap_schedule", true)
		}
	}
	if s.keepsBuffer() {
		return s.checkExtraBuffer(m, can)
	}
	switch {
	case !s.Is("page_size", 1, nil):
		return assertion("no_buffer only supports page_size=1.")
	case !s.Bool("disable_overlap_schedule"):
		return assertion("no_buffer do not support overlap schedule. Try to set disable_overlap_schedule=True.")
	case s.Is("attention_backend", "trtllm_mha"):
		return assertion("no_buffer do not support trtllm_mha attention backend.")
	}
	return nil
}

func (s *state) checkExtraBuffer(m *modelConfig, can bool) error {
	interval := s.Int("mamba_track_interval")
	switch {
	case !can:
		return assertion("extra_buffer is not supported for %s; use no_buffer.", m.arch)
	case s.gpu.hip && !s.since(r0518):
		return assertion("extra_buffer needs CUDA/MUSA/NPU (FLA).")
	case s.since(r0518) && s.Is("mamba_radix_cache_strategy", "extra_buffer_lazy") && !s.Is("disaggregation_mode", "null"):
		return assertion("extra_buffer_lazy unsupported under PD disaggregation; use --mamba-radix-cache-strategy extra_buffer.")
	case !s.since(r0518) && !s.Nil("speculative_num_draft_tokens") && s.Is("mamba_radix_cache_strategy", "extra_buffer_lazy"):
		return assertion("extra_buffer_lazy unsupported with spec.")
	case !s.Nil("speculative_num_draft_tokens") && interval < s.Int("speculative_num_draft_tokens"):
		return assertion("")
	}
	if s.Nil("page_size") {
		return nil
	}
	page, chunk := s.Int("page_size"), m.hf.IntOr("mamba_chunk_size", flaChunk)
	switch {
	case page <= 0 || interval%page != 0:
		return assertion("")
	case max(chunk, page)%min(chunk, page) != 0:
		return assertion("For SSM models, either chunk_size or page_size must be divisible by the other, got chunk_size=%d, page_size=%d", chunk, page)
	}
	return nil
}

// fusionArchs can fuse the all-reduce (_FLASHINFER_ALLREDUCE_FUSION_ARCHS).
var fusionArchs = newRoster(joined{
	r0515: `DeepseekV3ForCausalLM DeepseekV32ForCausalLM GptOssForCausalLM GlmMoeDsaForCausalLM Glm4MoeForCausalLM
		Glm4MoeLiteForCausalLM MistralLarge3ForCausalLM Qwen3MoeForCausalLM Qwen3VLMoeForConditionalGeneration
		Qwen3NextForCausalLM KimiK25ForConditionalGeneration Qwen3_5MoeForConditionalGeneration
		InternS2PreviewForConditionalGeneration Qwen3_5ForConditionalGeneration NemotronHForCausalLM
		NemotronHPuzzleForCausalLM`,
	r0518: "DeepseekV4ForCausalLM",
	r0523: "NemotronH_Omni_Reasoning_V3 Qwen4ExpForConditionalGeneration",
}, nil)

// fusionBackend turns flashinfer's fused all-reduce on where it is known to
// help.
func (s *state) fusionBackend(m *modelConfig) {
	if s.Nil("flashinfer_allreduce_fusion_backend") && fusionArchs.has(s.r, m.arch) && (s.gpu.sm90() || s.gpu.sm100()) &&
		s.Int("tp_size") > 1 && !s.dpAttention() && (s.Int("nnodes") == 1 || s.gpu.sm100()) && s.Is("moe_a2a_backend", "none") {
		s.because("SGL-COMM-FUSION-001", byHardware, "SM90 and SM100 fuse the all-reduce of this architecture")
		s.Set("flashinfer_allreduce_fusion_backend", "auto")
		if s.since(r0523) {
			s.info("Auto-enabling FlashInfer AllReduce Fusion (auto) for %s", m.arch)
		} else {
			s.info("Auto-enabling FlashInfer AllReduce Fusion on SM90/SM10X for %s", m.arch)
		}
	}
	if s.Bool("enforce_disable_flashinfer_allreduce_fusion") {
		s.because("SGL-COMM-FUSION-003", byCoupling, "forced off", "enforce_disable_flashinfer_allreduce_fusion")
		s.Set("flashinfer_allreduce_fusion_backend", nil)
		s.info("FlashInfer allreduce fusion is forcibly disabled via --enforce-disable-flashinfer-allreduce-fusion.")
	}
}
