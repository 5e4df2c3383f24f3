package sglang

// olderHybrid handles models with state-space layers as releases before 0.5.9
// do, each in its own way. It says whether the architecture is one of them.
func (s *state) olderHybrid(m *modelConfig) (bool, error) {
	switch m.arch {
	case "KimiLinearForCausalLM":
		s.because("SGL-RADIX-ARCH-001", byModel, "the model has no prefix cache yet")
		s.Set("disable_radix_cache", true)
		s.warn("Disabling Radix Cache for %s as it is not yet supported.", m.arch)
		return true, nil
	case "NemotronHForCausalLM":
		return true, s.olderNemotron(m)
	case "Qwen3NextForCausalLM":
		s.olderQwenNext(m)
		return true, nil
	case "FalconH1ForCausalLM", "JetNemotronForCausalLM", "JetVLMForConditionalGeneration":
		return true, s.olderFalcon(m)
	case "Glm4MoeForCausalLM":
		if s.since(r0508) {
			s.glm4MoE(m)
			// 0.5.8 has the code for Qwen3-Next in this branch.
			return true, s.misplacedBuffers()
		}
		return true, nil
	}
	return false, nil
}

// noOverlap: the prefix cache of state-space layers excludes the overlap
// scheduler.
func (s *state) noOverlap(line string) {
	s.because("SGL-OVERLAP-MAMBA-001", byCoupling, "the prefix cache of state-space layers excludes the overlap scheduler", "disable_radix_cache")
	s.warn("%s", line)
	s.Set("disable_overlap_schedule", true)
}

const (
	lineNoOverlap = "Disabling overlap schedule since MambaRadixCache is not compatible with overlap schedule currently, " +
		"try to use --disable-radix-cache if overlap schedule is necessary"
	lineNoBuffer = "Disabling overlap schedule since mamba no_buffer is not compatible with overlap schedule, " +
		"try to use --disable-radix-cache if overlap schedule is necessary"
)

// pagesOfOne turns the prefix cache off for trtllm_mha, which lacks the pages
// that it needs.
func (s *state) pagesOfOne() {
	if !s.Is("attention_backend", "trtllm_mha") || s.Bool("disable_radix_cache") {
		return
	}
	s.because("SGL-RADIX-MAMBA-001", byCoupling, "trtllm_mha has no pages of one token, which the prefix cache needs", "attention_backend")
	s.warn("Disabling radix cache since trtllm_mha does not support page_size = 1, which is required by MambaRadixCache. " +
		"Try to use --attention-backend triton if radix cache is necessary.")
	s.Set("disable_radix_cache", true)
	s.Set("disable_overlap_schedule", false)
}

// hybridBackend is the attention backend of a hybrid model on SM100.
func (s *state) hybridBackend(backend, arch string) {
	if !s.Nil("attention_backend") {
		return
	}
	s.because("SGL-ATTN-HYBRID-001", byHardware, "on SM100 the hybrid model runs with "+backend)
	s.Set("attention_backend", backend)
	s.info("Use %s as attention backend on sm100 for %s", backend, arch)
}

func (s *state) extraBuffer() bool { return s.Is("mamba_scheduler_strategy", "extra_buffer") }

func (s *state) olderNemotron(m *modelConfig) error {
	if s.extraBuffer() {
		return assertion("mamba extra_buffer is not supported for %s model", m.arch)
	}
	if err := s.nemotronQuantization(m); err != nil || !s.since(r0508) {
		return err
	}
	switch {
	case s.Bool("disable_radix_cache"):
	case !s.Nil("speculative_algorithm"):
		s.because("SGL-RADIX-MAMBA-001", byCoupling, "the model's prefix cache cannot work with speculation", "speculative_algorithm")
		s.warn("Disabling radix cache since speculative decoding for NemotronHForCausalLM is not supported with radix cache yet.")
		s.Set("disable_radix_cache", true)
	default:
		s.noOverlap(lineNoOverlap)
		if s.gpu.sm100() {
			s.hybridBackend("flashinfer", m.arch)
			s.pagesOfOne()
		}
	}
	if s.Is("attention_backend", "triton") {
		return assertion("NemotronHForCausalLM does not support triton attention backend,as the first layer might not be an attention layer")
	}
	return nil
}

func (s *state) olderQwenNext(m *modelConfig) {
	if !s.since(r0508) && !s.Bool("disable_radix_cache") {
		s.noOverlap(lineNoOverlap)
	}
	s.qwenMoE(m)
	if s.gpu.sm100() {
		s.hybridBackend("triton", m.arch)
		s.pagesOfOne()
	}
}

func (s *state) olderFalcon(m *modelConfig) error {
	if s.extraBuffer() {
		return assertion("mamba extra_buffer is not supported for %s model", m.arch)
	}
	switch {
	case s.Bool("disable_radix_cache"):
	case !s.since(r0508):
		s.noOverlap(lineNoOverlap)
	default:
		s.noOverlap(lineNoBuffer)
		if s.gpu.sm100() {
			s.hybridBackend("triton", m.arch)
			s.pagesOfOne()
		}
	}
	return nil
}

// misplacedBuffers is what 0.5.8 does for GLM-4 MoE though it means hybrid
// models.
func (s *state) misplacedBuffers() error {
	if s.extraBuffer() {
		return s.mambaExtraBuffer()
	}
	if !s.Bool("disable_radix_cache") {
		s.noOverlap("Disabling overlap schedule since MambaRadixCache no_buffer is not compatible with overlap schedule currently, " +
			"try to use --mamba-scheduler-strategy extra_buffer to enable overlap schedule")
	}
	return nil
}
