package sglang

// draftName is an architecture under which a checkpoint's own draft layers are
// loaded.
type draftName struct {
	model, draft string
	from, until  release // until 0: still so
}

// draftNames is _config_draft_model of sglang/srt/configs/model_config.py.
var draftNames = []draftName{
	{model: "DeepseekV3ForCausalLM", draft: "DeepseekV3ForCausalLMNextN"},
	{model: "DeepseekV32ForCausalLM", draft: "DeepseekV3ForCausalLMNextN", from: r0512},
	{model: "GlmMoeDsaForCausalLM", draft: "DeepseekV3ForCausalLMNextN", from: r0509, until: r0518},
	{model: "GlmMoeDsaForCausalLM", draft: "GlmMoeDsaForCausalLMNextN", from: r0518},
	{model: "DeepseekV4ForCausalLM", draft: "DeepseekV4ForCausalLMNextN", from: r0512},
	{model: "Glm4MoeForCausalLM", draft: "Glm4MoeForCausalLMNextN"},
	{model: "Glm4MoeLiteForCausalLM", draft: "Glm4MoeForCausalLMNextN", from: r0508, until: r0515},
	{model: "Glm4MoeLiteForCausalLM", draft: "Glm4MoeLiteForCausalLMNextN", from: r0515},
	{model: "GlmOcrForConditionalGeneration", draft: "GlmOcrForConditionalGenerationNextN", from: r0509},
	{model: "Glm5NextForConditionalGeneration", draft: "Glm5NextForConditionalGenerationNextN", from: r0523},
	{model: "LongcatFlashForCausalLM", draft: "LongcatFlashForCausalLMNextN"},
	{model: "MiMoForCausalLM", draft: "MiMoMTP"},
	{model: "MiMoV2FlashForCausalLM", draft: "MiMoV2MTP", from: r0508},
	{model: "MiMoV2ForCausalLM", draft: "MiMoV2MTP", from: r0512},
	{model: "Step3p5ForCausalLM", draft: "Step3p5MTP", from: r0509},
	{model: "Step3p7ForConditionalGeneration", draft: "Step3p5MTP", from: r0515},
	{model: "InklingForConditionalGeneration", draft: "InklingForConditionalGenerationMTP", from: r0518},
	{model: "GigaChat35ForCausalLM", draft: "GigaChat35ForCausalLMNextN", from: r0523},
	{model: "BailingMoeV2ForCausalLM", draft: "BailingMoeForCausalLMNextN", from: r0506},
	{model: "BailingMoeForCausalLM", draft: "BailingMoeForCausalLMNextN", from: r0506},
	{model: "BailingMoeV2_5ForCausalLM", draft: "BailingMoeForCausalLMNextN", from: r0509},
	{model: "BailingMoeV3ForCausalLM", draft: "BailingMoeForCausalLMNextN", from: r0523},
	{model: "Ernie4_5_MoeForCausalLM", draft: "Ernie4_5_MoeForCausalLMMTP"},
	{model: "Qwen3NextForCausalLM", draft: "Qwen3NextForCausalLMMTP"},
	{model: "Qwen3MoeForCausalLM", draft: "Qwen3MoeForCausalLMMTP", from: r0515},
	{model: "Qwen4ExpForConditionalGeneration", draft: "Qwen4ExpForCausalLMMTP", from: r0523},
	{model: "Qwen3_5ForConditionalGeneration", draft: "Qwen3_5ForCausalLMMTP", from: r0509},
	{model: "Qwen3_5MoeForConditionalGeneration", draft: "Qwen3_5ForCausalLMMTP", from: r0509},
	{model: "Qwen3_5ForCausalLM", draft: "Qwen3_5ForCausalLMMTP", from: r0518},
	{model: "Qwen3_5MoeForCausalLM", draft: "Qwen3_5ForCausalLMMTP", from: r0518},
	{model: "InternS2PreviewForConditionalGeneration", draft: "Qwen3_5ForCausalLMMTP", from: r0512},
	{model: "InternS2MobiusForConditionalGeneration", draft: "Qwen3_5ForCausalLMMTP", from: r0518},
	{model: "ExaoneMoEForCausalLM", draft: "ExaoneMoEForCausalLMMTP", from: r0509},
	{model: "ExaoneMoeForCausalLM", draft: "ExaoneMoEForCausalLMMTP", from: r0523},
	{model: "NemotronHForCausalLM", draft: "NemotronHForCausalLMMTP", from: r0508},
	{model: "NemotronHPuzzleForCausalLM", draft: "NemotronHForCausalLMMTP", from: r0515},
	{model: "HYV3ForCausalLM", draft: "HYV3ForCausalLMNextN", from: r0512},
	{model: "HYV4ForCausalLM", draft: "HYV4ForCausalLMNextN", from: r0523},
}

// draftArch gives a draft model the architecture of its draft layers.
func (s *state) draftArch(m *modelConfig) {
	for _, d := range draftNames {
		if d.model == m.arch && s.r >= d.from && (d.until == 0 || s.r < d.until) {
			m.arch = d.draft
			m.archs = append([]string{d.draft}, m.archs[1:]...)
			return
		}
	}
}
