package sglang

import (
	"slices"
	"strings"
)

// Steps that SGLang 0.5.23 adds.

// fallbacks are settings that are unset until something declares them, and
// read as these values.
func (s *state) fallbacks() error {
	s.because("", byDefault, "what the setting is where nothing else is declared")
	for _, f := range []struct {
		name  string
		value any
	}{{"enable_tf32_matmul", false}, {"mm_enable_dp_encoder", false}, {"swa_full_tokens_ratio", 0.8}, {"mamba_full_memory_ratio", 0.9}} {
		if s.Nil(f.name) {
			s.Set(f.name, f.value)
		}
	}
	return nil
}

// prefillInterval is the number of decode steps between prefills.
func (s *state) prefillInterval() error {
	switch {
	case !s.Nil("prefill_decode_interval") && s.Int("prefill_decode_interval") < 0:
		return valueError("--prefill-decode-interval must be non-negative.")
	case s.Int("prefill_decode_interval_min_bs") < 0:
		return valueError("--prefill-decode-interval-min-bs must be non-negative.")
	case s.Bool("enable_response_store") && !s.Is("disaggregation_mode", "null"):
		return valueError("--enable-response-store is not supported with --disaggregation-mode=prefill or decode; response storage must remain disabled in PD mode.")
	}
	return s.hiddenStates()
}

// hiddenStates checks what the hidden states of inner layers need.
func (s *state) hiddenStates() error {
	layers, _ := s.Get("return_aux_hidden_state_layer_ids").([]any)
	if !s.Bool("enable_return_aux_hidden_states") {
		if !s.Nil("return_aux_hidden_state_layer_ids") {
			return valueError("--return-aux-hidden-state-layer-ids requires --enable-return-aux-hidden-states.")
		}
		return nil
	}
	method := strings.ToUpper(s.Str("speculative_algorithm"))
	switch {
	case !slices.Contains([]string{"EAGLE3", "DFLASH", "DSPARK"}, method):
		return valueError("--enable-return-aux-hidden-states needs --speculative-algorithm EAGLE3, DFLASH or DSPARK to name the capture convention, got %s.", pyRepr(s.Get("speculative_algorithm")))
	case !s.Nil("speculative_draft_model_path"):
		return valueError("--enable-return-aux-hidden-states captures without a draft; drop --speculative-draft-model-path.")
	case s.Int("pp_size") != 1:
		return valueError("--enable-return-aux-hidden-states only supports pp_size == 1: the capture hooks only see the layers on the last pipeline rank.")
	case method != "EAGLE3" && len(layers) == 0:
		return valueError("--enable-return-aux-hidden-states with %s requires --return-aux-hidden-state-layer-ids.", method)
	}
	s.because("SGL-SPEC-AUX", byCoupling, "the algorithm only says how states are captured", "enable_return_aux_hidden_states")
	s.Set("speculative_algorithm", nil)
	return nil
}

// layerNormSP checks sequence parallelism of the normalisations.
func (s *state) layerNormSP() error {
	if !s.Bool("enable_layernorm_sp") {
		if s.Bool("enable_megamoe_for_layernorm_sp") {
			return valueError("--enable-megamoe-for-layernorm-sp requires --enable-layernorm-sp.")
		}
		return nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	supported := []string{"MuseSparkForConditionalGeneration", "Qwen3ForCausalLM"}
	if !slices.Contains(supported, m.arch) {
		return valueError("--enable-layernorm-sp is only supported for %s; got %s.", pyList(supported), m.arch)
	}
	return nil
}

// noPrefillInterval is the default where the model declares none.
func (s *state) noPrefillInterval() error {
	if s.Nil("prefill_decode_interval") {
		s.because("", byDefault, "no decode steps are forced between prefills")
		s.Set("prefill_decode_interval", 0)
	}
	return nil
}

// largeHopperVL says whether this is Qwen3-VL on a large Hopper GPU, for which
// the release brings measured settings (model_overrides/qwen3_vl.py).
func (s *state) largeHopperVL(m *modelConfig) bool {
	return s.since(r0523) && s.gpu.sm90() && s.gpu.memoryMiB >= 60<<10 && m.multimodal && (m.modelType == "qwen3_vl" || m.modelType == "qwen3_vl_moe")
}

func (s *state) hopperVL(m *modelConfig) {
	if !s.largeHopperVL(m) {
		return
	}
	s.because("SGL-MM-HOPPER", byHardware, "settings measured for Qwen3-VL on large Hopper GPUs")
	if _, set := s.Env("SGLANG_VLM_CACHE_SIZE_MB"); !set {
		s.SetEnv("SGLANG_VLM_CACHE_SIZE_MB", "0")
	}
	var said []string
	update := func(name string, value any) {
		s.Set(name, value)
		said = append(said, "'"+name+"': "+pyRepr(value))
	}
	if s.Nil("mm_preprocess_cache_size_mb") {
		update("mm_preprocess_cache_size_mb", 0)
	}
	keeps := s.Int("mm_preprocess_cache_size_mb") > 0 || s.envInt("SGLANG_VLM_CACHE_SIZE_MB", 0) > 0
	if s.Nil("mm_feature_transport") && s.Int("nnodes") == 1 && !keeps {
		update("mm_feature_transport", "cuda_ipc")
	}
	if _, set := s.Env("SGLANG_MM_FEATURE_CACHE_MB"); !set && s.Int("max_running_requests") >= 400 && !keeps && s.Is("mm_feature_transport", "cuda_ipc") {
		s.SetEnv("SGLANG_MM_FEATURE_CACHE_MB", "3072")
	}
	if s.Is("radix_eviction_policy", "lru") && !s.Asked("radix_eviction_policy") {
		update("radix_eviction_policy", "priority")
	}
	if s.Nil("prefill_decode_interval") {
		update("prefill_decode_interval", 22)
	}
	if s.Nil("attention_backend") && s.Nil("decode_attention_backend") {
		update("decode_attention_backend", "flashinfer")
	}
	if len(said) > 0 {
		s.info("Applying profiled %s serving defaults on a large Hopper GPU: {%s}", m.modelType, strings.Join(said, ", "))
	}
}

// mimo chooses backends of MiMo V2 on newer GPUs.
func (s *state) mimo(m *modelConfig) {
	if s.gpu.sm100() && s.attentionUnset() {
		s.because("SGL-ATTN-ARCH-001", byHardware, "SM100 runs keys and values of unlike width with fa4")
		s.Set("attention_backend", "fa4")
		s.info("MiMoV2 on SM100: attention_backend=fa4.")
	}
	if !s.Is("moe_runner_backend", "auto") || m.quantMethod() != "fp8" {
		return
	}
	q := m.hf.Obj("quantization_config")
	fp4 := strings.EqualFold(q.Text("store_dtype"), "mxfp4") || q.Text("routed_experts_quant_method") == "mxfp4"
	s.because("SGL-MOE-RUNNER-001", byHardware, "kernels of this GPU for the experts' format")
	switch {
	case s.gpu.sm100() && s.Is("moe_a2a_backend", "none") && fp4:
		s.Set("moe_runner_backend", "flashinfer_mxfp4")
		s.info("MiMoV2 on SM100: moe_runner_backend=flashinfer_mxfp4.")
	case s.gpu.sm100() && s.Is("moe_a2a_backend", "none"):
		s.Set("moe_runner_backend", "flashinfer_trtllm")
		s.info("MiMoV2 on SM100: moe_runner_backend=flashinfer_trtllm.")
	case s.gpu.sm90() && fp4:
		s.Set("moe_runner_backend", "marlin")
		s.info("MiMoV2 on SM90: moe_runner_backend=marlin.")
	}
}

// commandA runs the experts of Command A with flashinfer's kernels on SM100.
func (s *state) commandA(m *modelConfig) {
	if !s.gpu.sm100() || !s.Is("moe_runner_backend", "auto") {
		return
	}
	packed := strings.Contains(m.hf.Obj("quantization_config").Text("format"), "nvfp4")
	for _, g := range m.hf.Obj("quantization_config").Obj("config_groups") {
		group, _ := g.(attrs)
		packed = packed || strings.Contains(group.Text("format"), "nvfp4")
	}
	if m.quantization != "" && !packed {
		return
	}
	s.because("SGL-MOE-RUNNER-001", byHardware, "SM100 runs these experts with flashinfer_trtllm")
	s.Set("moe_runner_backend", "flashinfer_trtllm")
	s.info("Command-A-Plus on SM10X: moe_runner_backend=flashinfer_trtllm (trtllm-gen fused MoE).")
}

// Architectures whose layers end in another reduction than the usual one.
var (
	rsvArchs = strings.Fields(`BailingMoELinearForCausalLM BailingMoeV2_5ForCausalLM LongcatFlashForCausalLM
		LongcatFlashForCausalLMNextN Step3VLForConditionalGeneration`)
	arArchs = strings.Fields(`KimiK3ForConditionalGeneration KimiK3LinearForCausalLM Qwen3ForCausalLM Qwen3ForSequenceClassification
		Qwen3Model Qwen3ForRewardModel MossVLForCausalLM MossVLForConditionalGeneration Qwen4ExpForConditionalGeneration
		Qwen4ExpForCausalLMMTP`)
)

// boundary chooses how layers put their parts together.
func (s *state) boundary() error {
	how := s.Str("boundary_reduction")
	if how == "auto" {
		m, err := s.modelConfig()
		if err != nil {
			return err
		}
		how = "rs+rsv"
		any := func(list []string) bool {
			return slices.ContainsFunc(m.archs, func(a string) bool { return slices.Contains(list, a) })
		}
		text := m.text.Text("model_type")
		switch {
		case any(rsvArchs):
			how = "rsv"
		case any(arArchs), text == "qwen3", text == "qwen3_vl_text", m.modelType == "minicpmv" && m.hf.Text("version") == "4.5":
			how = "ar"
		}
	}
	s.because("SGL-COMM-BOUNDARY", byModel, "how the layers of this architecture put their parts together")
	s.Set("boundary_reduction", how)
	return nil
}

// megaChecks refuses Mega MoE where its kernels do not run.
func (s *state) megaChecks() error {
	switch {
	case !s.Is("moe_a2a_backend", "megamoe"):
	case s.Bool("enable_two_batch_overlap") || s.Bool("enable_single_batch_overlap"):
		return valueError("--moe-a2a-backend megamoe has no two-batch / single-batch overlap decomposition; disable --enable-two-batch-overlap and --enable-single-batch-overlap.")
	case !s.gpu.hip && !s.gpu.sm90() && !s.gpu.sm100():
		return valueError("--moe-a2a-backend megamoe needs a CUDA SM90 GPU (block-FP8 experts) or an SM100-class GPU (MXFP4 / NVFP4 experts); " +
			"it runs DeepGEMM kernels over CUDA symmetric memory. On ROCm, set SGLANG_AMD_USE_FLYDSL_MEGA_MOE=1 to select aiter MegaMoEv2 instead.")
	}
	return nil
}

// megaArchs have no other way where Mega MoE's buffers are too small.
var megaArchs = strings.Fields(`DeepseekV4ForCausalLM InternS2PreviewForConditionalGeneration MellumForCausalLM Qwen2MoeForCausalLM
	Qwen3MoeForCausalLM Qwen3NextForCausalLM Qwen3VLMoeForConditionalGeneration Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration`)

// draftTokens are the tokens of one request in a decode step.
func (s *state) draftTokens() int {
	if s.Nil("speculative_algorithm") || s.Int("speculative_num_draft_tokens") == 0 {
		return 1
	}
	return s.Int("speculative_num_draft_tokens")
}

// megaBudget checks that Mega MoE's buffers hold the largest forward pass.
func (s *state) megaBudget() error {
	if !s.Is("moe_a2a_backend", "megamoe") || s.Bool("encoder_only") || s.gpu.hip {
		return nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	fp4 := s.Is("quantization", "modelopt_fp4", "minimax_m3_nvfp4") || strings.Contains(m.hf.Obj("quantization_config").Text("quant_algo"), "FP4")
	if !fp4 && !slices.Contains(megaArchs, m.arch) {
		return nil
	}
	const variable = "SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK"
	room := s.envInt(variable, 1024)
	tp, dp, chunk := s.Int("tp_size"), max(1, s.Int("attn_dp_size")), s.Int("chunked_prefill_size")
	if !s.Is("disaggregation_mode", "prefill") {
		batch := s.Int(s.graphMax("decode"))
		if !s.Nil("max_running_requests") {
			align := max(1, tp/dp)
			batch = min(batch, (s.Int("max_running_requests")/dp+align-1)/align*align)
		}
		if need := batch * s.draftTokens(); room < need {
			return valueError("%s with MegaMoE requires "+variable+" to cover the largest decode / verify forward on one rank. Current values: largest decode graph bucket x tokens per request = %d, "+variable+"=%d.", m.arch, need, room)
		}
	}
	if s.Is("disaggregation_mode", "decode") || s.Int("pp_size") > 1 && s.Bool("enable_dynamic_chunking") {
		return nil
	}
	if chunk <= 0 {
		return valueError("%s with MegaMoE requires chunked prefill to be enabled. Set --chunked-prefill-size to a positive value; "+
			"--chunked-prefill-size=-1 is unsafe because MegaMoE's per-rank token requirement would not have a strict prefill-forward bound.", m.arch)
	}
	cp := max(1, s.Int("attn_cp_size"))
	local, align := chunk, max(tp/cp, 1)
	switch {
	case s.Bool("enable_prefill_cp"):
		local, align = (chunk+cp-1)/cp, 1
	case s.dpAttention():
		local, align = chunk/dp, max(tp/dp/cp, 1)
	}
	if need := (local + align - 1) / align * align; room < need {
		return valueError("%s with MegaMoE requires "+variable+" to cover each rank's effective prefill token budget. Current values: chunked_prefill_size=%d, required_per_rank=%d, "+variable+"=%d.", m.arch, chunk, need, room)
	}
	return nil
}

// flashinferBudget checks that flashinfer's all-to-all holds the largest
// forward pass.
func (s *state) flashinferBudget() error {
	if !s.Is("moe_a2a_backend", "flashinfer") {
		return nil
	}
	chunk, tokens := s.Int("chunked_prefill_size"), 0
	if !s.Is("disaggregation_mode", "decode") {
		if chunk <= 0 {
			return valueError("FlashInfer MoE A2A requires chunked prefill: eager prefill dispatches the whole per-rank extend batch through a fixed-size workspace, so --chunked-prefill-size must be > 0.")
		}
		tokens = chunk
		if s.captures(prefillGraph) {
			tokens = max(tokens, s.Int(s.graphMax("prefill")))
		}
	}
	if s.captures(decodeGraph) {
		tokens = max(tokens, s.Int(s.graphMax("decode"))*s.draftTokens())
	}
	room := s.envInt("SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK", max(chunk, 1024))
	if tokens > room {
		return valueError("FlashInfer MoE A2A per-rank token budget exceeds its workspace: required=%d tokens per rank (prefill chunk, prefill graph, or decode/verify graph), capacity=%d. "+
			"Set SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK>=%d, or unset it to size from --chunked-prefill-size, or lower --chunked-prefill-size / the CUDA graph max batch sizes.", tokens, room, tokens)
	}
	return nil
}

// nvfp4Prefill chooses the kernels of an NVFP4 KV cache.
func (s *state) nvfp4Prefill() error {
	asked := s.Str("prefill_kv_cache_dequant_dtype")
	if !s.Is("kv_cache_dtype", "nvfp4") {
		if asked != "auto" && asked != "" {
			return valueError("--prefill-kv-cache-dequant-dtype applies only with --kv-cache-dtype=nvfp4.")
		}
		return nil
	}
	dtype := asked
	if dtype == "auto" {
		backend := s.Str("prefill_attention_backend")
		if backend == "" {
			backend = s.Str("attention_backend")
		}
		switch {
		case backend == "flashinfer":
			dtype = "fp8_e4m3"
		case backend == "trtllm_mha":
			dtype = "nvfp4"
		case backend != "":
			return valueError("NVFP4 prefill supports an FP8 E4M3 workspace or native NVFP4, but backend '%s' provides neither.", backend)
		case s.gpu.sm100():
			dtype = "nvfp4"
		default:
			dtype = "fp8_e4m3"
		}
	}
	if dtype == "nvfp4" && !s.gpu.sm100() {
		return valueError("Native NVFP4 prefill currently requires SM100; use --prefill-kv-cache-dequant-dtype=fp8_e4m3 on this platform.")
	}
	backend := map[string]string{"nvfp4": "trtllm_mha", "fp8_e4m3": "flashinfer"}[dtype]
	if have := s.Str("prefill_attention_backend"); have != "" && have != backend {
		return valueError("--prefill-kv-cache-dequant-dtype=%s requires prefill backend '%s', but --prefill-attention-backend='%s' was set. Remove the backend option and select the KV dtype only.", dtype, backend, have)
	}
	if have := s.Str("decode_attention_backend"); have != "" && have != "trtllm_mha" {
		return valueError("NVFP4 decode requires --decode-attention-backend=trtllm_mha; got '%s'. Remove the backend option; NVFP4 selects the supported decode implementation automatically.", have)
	}
	s.because("SGL-KV-NVFP4", byCoupling, "kernels that read an NVFP4 KV cache", "kv_cache_dtype")
	s.Set("prefill_attention_backend", backend)
	s.Set("decode_attention_backend", "trtllm_mha")
	s.Set("prefill_kv_cache_dequant_dtype", dtype)
	s.info("NVFP4 prefill dequant dtype: %s; prefill input: %s; decode input: nvfp4.", dtype, dtype)
	return nil
}

// kdaLayers says whether the model mixes in Kimi's linear attention.
func kdaLayers(m *modelConfig) bool {
	for _, c := range []attrs{m.hf, m.text} {
		if c.Obj("linear_attn_config").Has("kda_layers") {
			return true
		}
		if slices.Contains(c.Strings("layer_types"), "linear_attention") && c.Has("linear_num_heads") && c.Has("linear_head_dim") {
			return true
		}
	}
	return false
}

// flashinferMegaArchs are known to run with FlashInfer's MegaMOE.
var flashinferMegaArchs = strings.Fields(`BeamForCausalLM DeepseekV2ForCausalLM DeepseekV32ForCausalLM DeepseekV3ForCausalLM
	DeepseekV4ForCausalLM Glm4MoeForCausalLM GlmMoeDsaForCausalLM KimiK3ForConditionalGeneration KimiK3LinearForCausalLM
	NemotronHForCausalLM NemotronHPuzzleForCausalLM Qwen2MoeForCausalLM Qwen3MoeForCausalLM`)

// flashinferMega checks FlashInfer's MegaMOE.
func (s *state) flashinferMega() error {
	s.because("SGL-MOE-FUSION-002", byCoupling, "shared experts are not fused over all-to-all", "moe_a2a_backend")
	s.Set("disable_shared_experts_fusion", true)
	s.warn("Flashinfer MoE A2A is enabled. --disable-shared-experts-fusion is automatically set.")
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	online := s.Is("quantization", "nvfp4_online") && s.envSwitch("SGLANG_FLASHINFER_CUTEDSL_NVFP4_W4A16", false)
	switch {
	case !slices.ContainsFunc(m.archs, func(a string) bool { return slices.Contains(flashinferMegaArchs, a) }):
		return valueError("FlashInfer MegaMOE is not validated for model architectures %s. Supported architectures: %s.", pyList(m.archs), pyList(flashinferMegaArchs))
	case !s.Is("quantization", "mxfp8", "modelopt_fp4") && !online && !m.nvfp4MoE:
		return valueError("FlashInfer MegaMOE currently supports only MXFP8, ModelOpt NVFP4, FP4-expert, hybrid NVFP4 MoE checkpoints, or nvfp4_online with SGLANG_FLASHINFER_CUTEDSL_NVFP4_W4A16=1; "+
			"got quantization=%s. Standard FP8 MoE checkpoints are not supported.", pyRepr(s.Get("quantization")))
	case !s.dpAttention() || s.Int("attn_dp_size") != s.Int("tp_size"):
		return assertion("FlashInfer MegaMOE is only supported with --attn-dp-size equal to --tp-size")
	case !s.Is("moe_runner_backend", "auto", "flashinfer_megamoe"):
		return assertion("FlashInfer MegaMOE a2a backend requires --moe-runner-backend flashinfer_megamoe")
	case !s.gpu.sm100():
		return valueError("FlashInfer MegaMOE currently requires an SM100-family CUDA device for all supported quantization formats.")
	}
	s.because("SGL-MOE-MEGA", byCoupling, "FlashInfer's MegaMOE brings its kernels", "moe_a2a_backend")
	s.Set("moe_runner_backend", "flashinfer_megamoe")
	s.info("FlashInfer MegaMOE is enabled. The expert parallel size is adjusted to be the same as the tensor parallel size[%d].", s.Int("tp_size"))
	return nil
}

// deepEPv2 checks the second version of DeepEP.
func (s *state) deepEPv2() error {
	s.because("SGL-MOE-DEEPEP-002", byCoupling, "DeepEP v2 runs with DeepGEMM", "moe_a2a_backend")
	s.Set("disable_shared_experts_fusion", true)
	s.SetEnv("NCCL_CUMEM_ENABLE", "1")
	switch runner := s.Str("moe_runner_backend"); {
	case runner == "auto":
		s.Set("moe_runner_backend", "deep_gemm")
		s.warn("DeepEP v2 MoE: resolved --moe-runner-backend auto -> deep_gemm.")
	case runner != "deep_gemm":
		return valueError("DeepEP v2 MoE currently supports only --moe-runner-backend deep_gemm. Got '%s'. Add a runner adapter before enabling DeepEP v2 with other MoE runners.", runner)
	}
	switch {
	case s.Bool("enable_two_batch_overlap") || s.Bool("enable_single_batch_overlap"):
		return valueError("DeepEP v2 MoE has not implemented the TBO/SBO overlap hooks yet. Disable --enable-two-batch-overlap and --enable-single-batch-overlap when using --moe-a2a-backend deepep_v2.")
	case s.Bool("enforce_shared_experts_fusion"):
		return valueError("DeepEP v2 MoE has not validated fused shared experts yet. Remove --enforce-shared-experts-fusion when using --moe-a2a-backend deepep_v2.")
	case s.Is("deepep_v2_mode", "direct") && s.Int("nnodes") > 1:
		return valueError("--deepep-v2-mode direct is NVLink-only and cannot run across nodes (nnodes=%d); pass --deepep-v2-mode hybrid.", s.Int("nnodes"))
	}
	s.because("SGL-GRAPH-DEEPEP-001", byCoupling, "prefill with DeepEP v2 is not captured", "moe_a2a_backend")
	s.Set(prefillGraph, "disabled")
	s.warn("DeepEP v2 MoE is enabled. The expert parallel size is adjusted to be the same as the tensor parallel size[%d].", s.Int("tp_size"))
	return nil
}
