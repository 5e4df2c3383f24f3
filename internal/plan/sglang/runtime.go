package sglang

import "shakedown/internal/plan"

// scheduler is what the scheduler process decides from the settings: its own
// ModelConfig and the settings part of ModelRunner.
func (s *state) scheduler() *plan.Refusal {
	s.Begin("SGL-SCHEDULER", "sglang/srt/managers/scheduler.py")
	mark := len(s.Lines)
	err := s.runtime()
	for i := mark; i < len(s.Lines); i++ {
		s.Lines[i].Later = true
	}
	r, ok := err.(*plan.Refusal)
	switch {
	case err == nil:
		return nil
	case !ok:
		r = &plan.Refusal{Message: err.Error()}
	}
	if r.Stage == "" {
		r.Stage = plan.StageModelConfig
	}
	return r
}

// runtime fills s.later.
func (s *state) runtime() error {
	m, err := s.newModelConfig(modelOptions{model: s.model})
	if err != nil {
		return err
	}
	arch := "MHA"
	if m.mla {
		arch = "MLA"
	}
	s.later["model_config.context_len"] = m.contextLen
	s.later["model_config.dtype"] = "torch." + m.dtype
	s.later["model_config.quantization"] = orNone(m.quantization)
	s.later["model_config.attention_arch"] = arch
	s.later["model_config.is_multimodal"] = m.multimodal
	s.later["model_config.is_generation"] = m.generation
	s.later["model_config.is_hybrid_swa"] = m.hybridSWA
	s.later["model_config.num_attention_layers"] = m.attnLayers
	return nil
}

// orNone is Python's None for an empty text.
func orNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}
