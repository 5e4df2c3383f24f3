package sglang

import (
	"slices"
	"strings"
)

func (s *state) speculative() error {
	if !s.Nil("speculative_draft_model_path") && s.Nil("speculative_draft_model_revision") {
		s.because("SGL-SPEC-REVISION", byDefault, "the draft's revision is main unless named")
		s.Set("speculative_draft_model_revision", "main")
	}
	if err := s.draftRunner(); err != nil {
		return err
	}
	if a := s.Str("speculative_algorithm"); a != "" && s.since(r0512) {
		s.because("SGL-SPEC-NAME", byDefault, "names are capitals")
		s.Set("speculative_algorithm", strings.ToUpper(a))
	}
	if err := s.gemmaDraft(); err != nil {
		return err
	}
	if s.since(r0523) && s.Is("disaggregation_mode", "decode") && s.Bool("disaggregation_decode_enable_radix_cache") && !s.Is("speculative_algorithm", nil, "DSPARK", "EAGLE", "EAGLE3", "NEXTN") {
		return valueError("--disaggregation-decode-enable-radix-cache is incompatible with speculative decoding (--speculative-algorithm %s)", s.Str("speculative_algorithm"))
	}
	if s.Bool("speculative_skip_dp_mlp_sync") && !s.since(r0523) && !s.Is("speculative_algorithm", "EAGLE", "NEXTN") {
		return assertion("--speculative-skip-dp-mlp-sync is only supported with speculative_algorithm == EAGLE, got %s.", pyNone(s.Str("speculative_algorithm")))
	}
	if s.Is("speculative_algorithm", "NEXTN") {
		s.because("SGL-SPEC-NEXTN", byDefault, "NEXTN is EAGLE with the model's own draft layer")
		s.Set("speculative_algorithm", "EAGLE")
	}
	if s.Bool("speculative_use_block_verification") && !s.Is("speculative_algorithm", "EAGLE", "EAGLE3", "DFLASH", "DSPARK") {
		return valueError("--speculative-use-block-verification only supports EAGLE / EAGLE3 / NEXTN / DFLASH / DSPARK.")
	}
	if s.Bool("speculative_use_block_verification") && s.Is("speculative_algorithm", "EAGLE", "EAGLE3") {
		s.because("SGL-SPEC-BLOCK", byCoupling, "blocks are verified by rejection", "speculative_use_block_verification")
		s.Set("speculative_use_rejection_sampling", true)
	}
	if err := s.draftWindow(); err != nil {
		return err
	}
	if s.since(r0515) {
		s.adaptive()
	}
	var err error
	switch s.Str("speculative_algorithm") {
	case "EAGLE", "EAGLE3", "STANDALONE":
		err = s.eagle()
	case "NGRAM":
		err = s.ngram()
	case "DFLASH":
		err = s.dflash()
	case "FROZEN_KV_MTP":
		s.speculativeRequests()
		if !s.since(r0515) {
			s.because("SGL-OVERLAP-SPEC-004", byCoupling, "Frozen-KV speculation excludes both", "speculative_algorithm")
			s.Set("disable_overlap_schedule", true)
			s.warn("Overlap scheduler is disabled when using Frozen-KV MTP speculative decoding (spec v2 is not supported yet).")
		}
		s.noMixedChunk("Frozen-KV MTP")
	}
	if err != nil {
		return err
	}
	if !s.since(r0515) {
		s.adaptive()
	}
	return nil
}

// draftWindow checks the window of drafts, which two algorithms use.
func (s *state) draftWindow() error {
	if n := s.Int("speculative_draft_sink_size"); !s.Nil("speculative_draft_sink_size") {
		switch {
		case n < 0:
			return valueError("--speculative-draft-sink-size must be non-negative, got %d.", n)
		case s.Nil("speculative_draft_window_size"):
			return valueError("--speculative-draft-sink-size requires --speculative-draft-window-size.")
		}
	}
	if !s.since(r0515) || s.Nil("speculative_draft_window_size") {
		return nil
	}
	if n := s.Int("speculative_draft_window_size"); n <= 0 {
		return valueError("--speculative-draft-window-size must be positive, got %d.", n)
	}
	if s.since(r0523) && !s.Is("speculative_algorithm", "EAGLE", "EAGLE3", "DFLASH") {
		s.because("SGL-SPEC-WINDOW", byCoupling, "three algorithms use the window", "speculative_algorithm")
		s.warn("--speculative-draft-window-size has no effect with speculative_algorithm=%s (honored by DFLASH, Llama EAGLE-3, and the EAGLE/MTP/NEXTN draft-decode path on the Triton/FlashInfer draft backends).", pyNone(s.Str("speculative_algorithm")))
	} else if !s.since(r0523) && !s.Is("speculative_algorithm", "EAGLE3", "DFLASH") {
		s.because("SGL-SPEC-WINDOW", byCoupling, "two algorithms use the window", "speculative_algorithm")
		s.warn("--speculative-draft-window-size has no effect with speculative_algorithm=%s (honored by Llama EAGLE-3 and DFLASH only).", pyNone(s.Str("speculative_algorithm")))
	}
	return nil
}

// specV2 says whether speculation may overlap: by variable, from 0.5.12 on by
// default.
func (s *state) specV2() bool { return s.envSwitch("SGLANG_ENABLE_SPEC_V2", s.since(r0512)) }

// gemmaDraft promotes drafts for Gemma 4 to an algorithm of their own.
func (s *state) gemmaDraft() error {
	draft := s.drafts[s.Str("speculative_draft_model_path")]
	if !s.since(r0512) || draft == nil || draft.Architecture() != "Gemma4AssistantForCausalLM" {
		return nil
	}
	switch asked := s.Str("speculative_algorithm"); asked {
	case "EAGLE3":
		return valueError("Gemma4AssistantForCausalLM draft requires --speculative-algorithm NEXTN or EAGLE; EAGLE3 is not supported for this draft architecture.")
	case "NEXTN", "EAGLE":
		s.because("SGL-SPEC-GEMMA", byCheckpoint, "the draft reads the model's KV cache")
		s.Set("speculative_algorithm", "FROZEN_KV_MTP")
		s.info("Detected Gemma4AssistantForCausalLM draft; promoting --speculative-algorithm %s to FROZEN_KV_MTP.", asked)
	}
	return nil
}

func (s *state) noMixedChunk(name string) {
	if s.Bool("enable_mixed_chunk") {
		s.because("SGL-MIXED-SPEC-001", byCoupling, "speculation excludes mixed chunks", "speculative_algorithm")
		s.Set("enable_mixed_chunk", false)
		s.warn("Mixed chunked prefill is disabled because of using %s speculative decoding.", name)
	}
}

// adaptive drops adaptive speculation where it cannot work.
func (s *state) adaptive() {
	if !s.Bool("speculative_adaptive") {
		return
	}
	reason := ""
	switch {
	case !s.Is("speculative_algorithm", "EAGLE", "EAGLE3"):
		reason = "speculative_algorithm=" + pyNone(s.Str("speculative_algorithm")) + " (only EAGLE/EAGLE3 are supported)"
	case !s.Is("speculative_eagle_topk", 1):
		reason = "speculative_eagle_topk=" + pyInt(s.Get("speculative_eagle_topk")) + " (only topk=1 is supported)"
	case s.dpAttention():
		reason = "enable_dp_attention=True is not supported (adaptive tier decisions are not synchronized across DP ranks)"
	case s.Bool("enable_multi_layer_eagle"):
		reason = "enable_multi_layer_eagle=True is not supported (MultiLayerEagleWorker does not implement adaptive)"
	case s.Bool("enable_two_batch_overlap"):
		reason = "enable_two_batch_overlap=True is not supported (adaptive state swap would discard the TboAttnBackend wrapper)"
	case s.Bool("enable_pdmux"):
		reason = "enable_pdmux=True is not supported (adaptive state swap does not update decode_attn_backend_group)"
	default:
		return
	}
	s.because("SGL-SPEC-ADAPTIVE", byCoupling, reason, "speculative_algorithm")
	s.Set("speculative_adaptive", false)
	s.warn("speculative_adaptive disabled: %s. Falling back to static speculative params.", reason)
}

// dflash is block drafting.
func (s *state) dflash() error {
	switch {
	case s.since(r0523) && s.dpAttention() && !s.Bool("enable_dp_lm_head"):
		return valueError("DFLASH with dp attention requires --enable-dp-lm-head.")
	case s.since(r0523) && s.dpAttention() && s.Int("attn_cp_size") != 1:
		return valueError("DFLASH with dp attention does not support context parallel.")
	case !s.since(r0523) && s.dpAttention():
		return valueError("Currently DFLASH speculative decoding does not support dp attention.")
	case s.Int("pp_size") != 1:
		return valueError("Currently DFLASH speculative decoding only supports pp_size == 1.")
	case s.Nil("speculative_draft_model_path"):
		return valueError("DFLASH speculative decoding requires setting --speculative-draft-model-path.")
	}
	for _, name := range []string{"speculative_num_steps", "speculative_eagle_topk"} {
		s.because("SGL-SPEC-DFLASH", byCoupling, "a block is drafted in one step", "speculative_algorithm")
		if !s.Is(name, nil, 1) {
			s.warn("DFLASH only supports %s == 1; overriding %s=%d to 1.", name, name, s.Int(name))
		}
		s.Set(name, 1)
	}
	if block := s.Int("speculative_dflash_block_size"); !s.Nil("speculative_dflash_block_size") {
		switch {
		case block <= 0:
			return valueError("DFLASH requires --speculative-dflash-block-size to be positive, got %d.", block)
		case !s.Is("speculative_num_draft_tokens", nil, block):
			return valueError("Both --speculative-num-draft-tokens and --speculative-dflash-block-size are set but they differ. For DFLASH they must match. "+
				"speculative_num_draft_tokens=%d, speculative_dflash_block_size=%d.", s.Int("speculative_num_draft_tokens"), block)
		}
		s.Set("speculative_num_draft_tokens", block)
	}
	if w := s.Int("speculative_draft_window_size"); !s.Nil("speculative_draft_window_size") && w <= 0 {
		return valueError("--speculative-draft-window-size must be positive, got %d.", w)
	}
	if s.Nil("speculative_num_draft_tokens") {
		s.dflashTokens()
	}
	if w, n := s.Int("speculative_draft_window_size"), s.Int("speculative_num_draft_tokens"); !s.Nil("speculative_draft_window_size") && w < n {
		return valueError("--speculative-draft-window-size must be >= --speculative-num-draft-tokens (block_size). window_size=%d, block_size=%d.", w, n)
	}
	if s.since(r0515) {
		s.dflashAttention()
	}
	s.speculativeRequests()
	if !s.since(r0515) {
		s.because("SGL-OVERLAP-SPEC-005", byCoupling, "block drafting excludes the overlap scheduler", "speculative_algorithm")
		s.Set("disable_overlap_schedule", true)
		s.warn("Overlap scheduler is disabled when using DFLASH speculative decoding (spec v2 is not supported yet).")
	}
	if !s.since(r0523) {
		s.noMixedChunk("dflash")
	}
	return nil
}

// dflashAttention chooses the draft's attention backend.
func (s *state) dflashAttention() {
	fallback := "flashinfer"
	if s.gpu.hip {
		fallback = "triton"
	}
	backend := s.Str("speculative_draft_attention_backend")
	if backend == "" {
		backend, _ = s.attentionBackends()
	}
	s.because("SGL-ATTN-DRAFT-001", byCoupling, "block drafts run with few backends", "attention_backend")
	supported := []string{"flashinfer", "fa3", "fa4", "triton", "ascend"}
	switch {
	case backend == "":
		backend = fallback
	case backend == "trtllm_mha":
		s.warn("DFLASH draft worker does not support 'trtllm_mha' because the draft path requires per-layer DFlash attention. Falling back to '%s'.", fallback)
		backend = fallback
	case !slices.Contains(supported, backend):
		s.warn("DFLASH draft worker only supports attention_backend in %s for now, but got '%s'. Falling back to '%s'.", pyTuple(supported), backend, fallback)
		backend = fallback
	}
	s.Set("speculative_draft_attention_backend", backend)
}

// pyTuple prints texts as Python prints a tuple of several.
func pyTuple(items []string) string {
	list := pyList(items)
	return "(" + list[1:len(list)-1] + ")"
}

// dflashTokens takes the block size of the draft, or 16.
func (s *state) dflashTokens() {
	tokens := 0
	if draft := s.drafts[s.Str("speculative_draft_model_path")]; draft != nil {
		tokens = draft.Config.Obj("dflash_config").IntOr("block_size", draft.Config.IntOr("block_size", 0))
	}
	s.because("SGL-SPEC-DFLASH", byCheckpoint, "the draft's block size, or 16")
	if tokens == 0 {
		tokens = 16
		s.warn("speculative_num_draft_tokens is not set; defaulting to 16 for DFLASH.")
	}
	s.Set("speculative_num_draft_tokens", tokens)
}

// draftRunner chooses the experts' kernels of the draft.
func (s *state) draftRunner() error {
	if !s.since(r0508) {
		return nil
	}
	if s.since(r0515) {
		if _, ok := s.Env("SGLANG_ENABLE_SPEC_V2"); ok && !s.since(r0523) {
			s.because("SGL-OVERLAP-SPEC-007", byEnvironment, "the variable is gone")
			s.warn("SGLANG_ENABLE_SPEC_V2 has been removed: speculative decoding always runs the V2 worker. " +
				"Use --disable-overlap-schedule to select the non-overlap (synchronous) path.")
		}
	}
	if s.Nil("speculative_moe_runner_backend") {
		s.because("SGL-MOE-DRAFT-002", byCoupling, "the draft's experts run as the model's, but not with flashinfer_trtllm", "moe_runner_backend")
		if !s.since(r0512) && s.Is("moe_runner_backend", "flashinfer_trtllm", "flashinfer_trtllm_routed") {
			s.Set("speculative_moe_runner_backend", "auto")
		} else if s.since(r0523) && s.Is("moe_runner_backend", "flashinfer_megamoe") {
			s.Set("speculative_moe_runner_backend", "flashinfer_trtllm")
		} else if s.since(r0523) && strings.HasPrefix(s.Str("moe_runner_backend"), "lora_") {
			s.Set("speculative_moe_runner_backend", "auto")
		} else {
			s.Set("speculative_moe_runner_backend", s.Get("moe_runner_backend"))
		}
		return nil
	}
	if s.Is("speculative_moe_runner_backend", "flashinfer_trtllm") && !s.since(r0512) {
		if s.since(r0510) {
			return assertion("Currently speculative MoE runner backend doesn't support flashinfer_trtllm, please use triton or auto backend for speculative moe runner instead.")
		}
		return assertion("Currently speculative MoE runner backend cannot be flashinfer_trtllm for risk in some draft models.")
	}
	return nil
}

func (s *state) speculativeRequests() {
	if s.Nil("max_running_requests") {
		s.because("SGL-RUNNING-SPEC-001", byCoupling, "speculation is limited to 48 requests unless told otherwise", "speculative_algorithm")
		s.Set("max_running_requests", 48)
		s.warn("Max running requests is reset to 48 for speculative decoding. You can override this by explicitly setting --max-running-requests.")
	}
}

// ownDraft are architectures that bring their draft layer.
var ownDraft = strings.Fields(`DeepseekV32ForCausalLM DeepseekV3ForCausalLM Glm4MoeForCausalLM Glm4MoeLiteForCausalLM GlmMoeDsaForCausalLM
	BailingMoeForCausalLM BailingMoeV2ForCausalLM BailingMoeV2_5ForCausalLM MistralLarge3ForCausalLM PixtralForConditionalGeneration`)

func (s *state) eagle() error {
	if s.Is("speculative_algorithm", "STANDALONE") && s.dpAttention() {
		return valueError("Currently standalone speculative decoding does not support dp attention.")
	}
	s.speculativeRequests()
	if err := s.speculativeOverlap(); err != nil {
		return err
	}
	switch {
	case !s.since(r0523):
		s.noMixedChunk("eagle")
	case s.Bool("enable_mixed_chunk") && !s.mixesChunks():
		s.because("SGL-MIXED-SPEC-001", byCoupling, "the algorithm excludes mixed chunks", "speculative_algorithm")
		s.Set("enable_mixed_chunk", false)
		s.warn("Mixed chunked prefill is disabled: %s speculative decoding does not support it.", s.Str("speculative_algorithm"))
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	s.draftModel(m)
	if s.Nil("speculative_num_steps") && !s.Bool("speculative_adaptive") {
		if !s.Nil("speculative_eagle_topk") || !s.Nil("speculative_num_draft_tokens") {
			return assertion("")
		}
		s.speculativeParams(m)
	}
	return s.topkLimits()
}

// mixesChunks says whether the algorithm may prefill and decode in one batch
// (supports_mixed_chunk).
func (s *state) mixesChunks() bool {
	return s.Is("speculative_algorithm", "EAGLE", "EAGLE3", "DFLASH", "DSPARK")
}

func (s *state) speculativeOverlap() error {
	if s.since(r0515) {
		if s.Bool("disable_overlap_schedule") {
			s.because("SGL-OVERLAP-SPEC-006", byCoupling, "the overlap scheduler is off", "disable_overlap_schedule")
			s.warn("Non-overlap (synchronous) spec v2 is used for eagle/eagle3/standalone speculative decoding.")
		}
		return nil
	}
	if s.since(r0512) {
		s.specOverlapDefault()
		return nil
	}
	if !s.since(r0508) {
		s.olderOverlap()
		return nil
	}
	if s.specV2() {
		s.because("SGL-OVERLAP-SPEC-001", byEnvironment, "SGLANG_ENABLE_SPEC_V2", "speculative_algorithm")
		s.Set("disable_overlap_schedule", false)
		s.warn("Spec v2 is enabled for eagle/eagle3 speculative decoding and overlap schedule is turned on.")
		if s.Int("speculative_eagle_topk") > 1 {
			return valueError("Spec v2 currently only supports topk = 1 for speculative decoding.")
		}
		return nil
	}
	s.because("SGL-OVERLAP-SPEC-002", byCoupling, "speculation excludes the overlap scheduler, unless SGLANG_ENABLE_SPEC_V2 is set", "speculative_algorithm")
	s.Set("disable_overlap_schedule", true)
	s.warn("Overlap scheduler is disabled when spec v2 is off or using unsupported speculative algorithm. " +
		"You can set env SGLANG_ENABLE_SPEC_V2=True to enable the experimental overlap scheduler. ")
	return nil
}

// specOverlapDefault is the rule from 0.5.12 on: speculation overlaps unless
// something speaks against it.
func (s *state) specOverlapDefault() {
	reason := "overlap schedule is disabled"
	s.because("SGL-OVERLAP-SPEC-006", byCoupling, "speculation overlaps, but not with several branches", "speculative_algorithm", "speculative_eagle_topk")
	if !s.Bool("disable_overlap_schedule") {
		switch {
		case s.Int("speculative_eagle_topk") > 1:
			s.Set("disable_overlap_schedule", true)
			reason = "spec v2 currently only supports topk = 1"
		case !s.specV2():
			s.Set("disable_overlap_schedule", true)
			reason = "SGLANG_ENABLE_SPEC_V2=False"
		}
	}
	if s.Bool("disable_overlap_schedule") {
		s.warn("Spec v1 is used for eagle/eagle3/standalone speculative decoding because %s.", reason)
	} else {
		s.warn("Spec v2 is enabled by default for eagle/eagle3/standalone speculative decoding.")
	}
}

func (s *state) draftModel(m *modelConfig) {
	if !s.since(r0506) && m.arch != "DeepseekV3ForCausalLM" && m.arch != "Glm4MoeForCausalLM" {
		return
	}
	own := slices.Contains(ownDraft, m.arch) && (s.since(r0508) || m.arch != "Glm4MoeLiteForCausalLM" && m.arch != "GlmMoeDsaForCausalLM") || s.since(r0512) && (m.arch == "DeepseekV4ForCausalLM" || m.arch == "HYV3ForCausalLM") ||
		s.since(r0523) && (m.arch == "HYV4ForCausalLM" || m.arch == "Qwen4ExpForConditionalGeneration")
	if !own {
		return
	}
	if s.Nil("speculative_draft_model_path") {
		s.because("SGL-SPEC-DRAFT-002", byModel, "the model brings its draft layer")
		s.Set("speculative_draft_model_path", s.Get("model_path"))
		if s.since(r0506) {
			s.Set("speculative_draft_model_revision", s.Get("revision"))
		}
		return
	}
	if m.arch != "MistralLarge3ForCausalLM" && m.arch != "PixtralForConditionalGeneration" {
		s.because("SGL-SPEC-DRAFT-003", byModel, "the model brings its draft layer")
		s.warn("DeepSeek MTP does not require setting speculative_draft_model_path.")
	}
}

// speculativeParams is auto_choose_speculative_params: steps, top k, tokens.
func (s *state) speculativeParams(m *modelConfig) {
	steps, topk, tokens := 3, 1, 4
	if !s.Is("speculative_algorithm", "STANDALONE") {
		switch m.arch {
		case "LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM":
			steps, topk, tokens = 5, 4, 8
		case "DeepseekV2ForCausalLM", "GptOssForCausalLM":
		default:
			older := !s.since(r0506) && m.arch != "DeepseekV3ForCausalLM"
			if older || !s.since(r0508) && !slices.Contains(ownDraft, m.arch) {
				steps, topk, tokens = 5, 4, 8
			}
		}
	}
	s.because("SGL-SPEC-PARAMS", byModel, "steps, branches and tokens of the draft by architecture")
	s.Set("speculative_num_steps", steps)
	s.Set("speculative_eagle_topk", topk)
	s.Set("speculative_num_draft_tokens", tokens)
}

func (s *state) topkLimits() error {
	if s.Nil("speculative_eagle_topk") { // steps are named without it
		return refuse("TypeError", "'>' not supported between instances of 'NoneType' and 'int'")
	}
	topk := s.Int("speculative_eagle_topk")
	if s.decodes("trtllm_mha") || s.Is("prefill_attention_backend", "trtllm_mha") {
		if topk > 1 {
			return valueError("trtllm_mha backend only supports topk = 1 for speculative decoding.")
		}
	}
	if steps := s.Int("speculative_num_steps"); topk == 1 && s.Int("speculative_num_draft_tokens") != steps+1 {
		s.because("SGL-SPEC-TOKENS", byCoupling, "one branch drafts one token a step", "speculative_eagle_topk", "speculative_num_steps")
		s.Set("speculative_num_draft_tokens", steps+1)
		s.warn("speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1")
	}
	if s.since(r0515) {
		if topk > 1 && s.Int("page_size") > 1 && !s.Is("attention_backend", "flashinfer", "fa3", "triton") {
			return valueError("speculative_eagle_topk > 1 with page_size > 1 is only supported on ('flashinfer', 'fa3', 'triton'); got attention_backend='%s'. Use page_size == 1 or one of those backends.", s.Str("attention_backend"))
		}
		return nil
	}
	if topk > 1 && s.Int("page_size") > 1 && !s.Is("attention_backend", "flashinfer") && (!s.since(r0506) || !s.Is("attention_backend", "fa3")) {
		return valueError("speculative_eagle_topk > 1 with page_size > 1 is unstable and produces incorrect results for paged attention backends. This combination is only supported for the 'flashinfer' backend.")
	}
	return nil
}

func (s *state) ngram() error {
	s.speculativeRequests()
	s.because("SGL-OVERLAP-SPEC-003", byCoupling, "n-gram speculation excludes both", "speculative_algorithm")
	if !s.since(r0515) {
		s.Set("disable_overlap_schedule", true)
	}
	s.Set("enable_mixed_chunk", false)
	s.Set("speculative_eagle_topk", s.Get("speculative_ngram_max_bfs_breadth"))
	if s.Nil("speculative_num_draft_tokens") {
		if s.since(r0510) {
			s.Set("speculative_num_draft_tokens", 12)
			s.warn("speculative_num_draft_tokens is set to 12 by default for ngram speculative decoding. You can override this by explicitly setting --speculative-num-draft-tokens.")
		} else {
			s.Set("speculative_num_draft_tokens", s.Get("speculative_ngram_max_match_window_size"))
		}
	}
	if s.since(r0515) {
		if s.Nil("speculative_num_steps") {
			s.Set("speculative_num_steps", floorDiv(s.Int("speculative_num_draft_tokens"), max(1, s.Int("speculative_eagle_topk"))))
		}
		s.warn("The mixed chunked prefill are disabled because of using ngram speculative decoding.")
	} else {
		s.warn("The overlap scheduler and mixed chunked prefill are disabled because of using ngram speculative decoding.")
	}
	topk, page := s.Int("speculative_eagle_topk"), s.Int("page_size")
	if topk > 1 && page > 1 && !s.Is("attention_backend", "flashinfer") {
		return valueError("speculative_eagle_topk(%d) > 1 with page_size(%d) > 1 is unstable and produces incorrect results for paged attention backends. This combination is only supported for the 'flashinfer' backend.", topk, page)
	}
	if s.dpAttention() {
		return valueError("Currently ngram speculative decoding does not support dp attention.")
	}
	return nil
}
