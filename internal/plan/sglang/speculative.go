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
	if s.Is("speculative_algorithm", "NEXTN") {
		s.because("SGL-SPEC-NEXTN", byDefault, "NEXTN is EAGLE with the model's own draft layer")
		s.Set("speculative_algorithm", "EAGLE")
	}
	switch s.Str("speculative_algorithm") {
	case "EAGLE", "EAGLE3", "STANDALONE":
		return s.eagle()
	case "NGRAM":
		return s.ngram()
	}
	return nil
}

// draftRunner chooses the experts' kernels of the draft.
func (s *state) draftRunner() error {
	if s.Nil("speculative_moe_runner_backend") {
		s.because("SGL-MOE-DRAFT-002", byCoupling, "the draft's experts run as the model's, but not with flashinfer_trtllm", "moe_runner_backend")
		if s.Is("moe_runner_backend", "flashinfer_trtllm", "flashinfer_trtllm_routed") {
			s.Set("speculative_moe_runner_backend", "auto")
		} else {
			s.Set("speculative_moe_runner_backend", s.Get("moe_runner_backend"))
		}
		return nil
	}
	if s.Is("speculative_moe_runner_backend", "flashinfer_trtllm") {
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
	if s.Is("speculative_algorithm", "STANDALONE") && s.Bool("enable_dp_attention") {
		return valueError("Currently standalone speculative decoding does not support dp attention.")
	}
	s.speculativeRequests()
	if err := s.speculativeOverlap(); err != nil {
		return err
	}
	if s.Bool("enable_mixed_chunk") {
		s.because("SGL-MIXED-SPEC-001", byCoupling, "speculation excludes mixed chunks", "speculative_algorithm")
		s.Set("enable_mixed_chunk", false)
		s.warn("Mixed chunked prefill is disabled because of using eagle speculative decoding.")
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	s.draftModel(m)
	if s.Nil("speculative_num_steps") {
		if !s.Nil("speculative_eagle_topk") || !s.Nil("speculative_num_draft_tokens") {
			return assertion("")
		}
		s.speculativeParams(m)
	}
	return s.topkLimits()
}

func (s *state) speculativeOverlap() error {
	if s.envSwitch("SGLANG_ENABLE_SPEC_V2", false) {
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

func (s *state) draftModel(m *modelConfig) {
	if !slices.Contains(ownDraft, m.arch) {
		return
	}
	if s.Nil("speculative_draft_model_path") {
		s.because("SGL-SPEC-DRAFT-002", byModel, "the model brings its draft layer")
		s.Set("speculative_draft_model_path", s.Get("model_path"))
		s.Set("speculative_draft_model_revision", s.Get("revision"))
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
		}
	}
	s.because("SGL-SPEC-PARAMS", byModel, "steps, branches and tokens of the draft by architecture")
	s.Set("speculative_num_steps", steps)
	s.Set("speculative_eagle_topk", topk)
	s.Set("speculative_num_draft_tokens", tokens)
}

func (s *state) topkLimits() error {
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
	if topk > 1 && s.Int("page_size") > 1 && !s.Is("attention_backend", "flashinfer", "fa3") {
		return valueError("speculative_eagle_topk > 1 with page_size > 1 is unstable and produces incorrect results for paged attention backends. This combination is only supported for the 'flashinfer' backend.")
	}
	return nil
}

func (s *state) ngram() error {
	s.speculativeRequests()
	s.because("SGL-OVERLAP-SPEC-003", byCoupling, "n-gram speculation excludes both", "speculative_algorithm")
	s.Set("disable_overlap_schedule", true)
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
	s.warn("The overlap scheduler and mixed chunked prefill are disabled because of using ngram speculative decoding.")
	topk, page := s.Int("speculative_eagle_topk"), s.Int("page_size")
	if topk > 1 && page > 1 && !s.Is("attention_backend", "flashinfer") {
		return valueError("speculative_eagle_topk(%d) > 1 with page_size(%d) > 1 is unstable and produces incorrect results for paged attention backends. This combination is only supported for the 'flashinfer' backend.", topk, page)
	}
	if s.Bool("enable_dp_attention") {
		return valueError("Currently ngram speculative decoding does not support dp attention.")
	}
	return nil
}
