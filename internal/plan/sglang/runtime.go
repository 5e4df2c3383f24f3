package sglang

import (
	"fmt"
	"strings"

	"shakedown/internal/plan"
)

// scheduler is what the scheduler process decides from the settings: its own
// ModelConfig and the settings part of ModelRunner.
func (s *state) scheduler() *plan.Refusal {
	mark := len(s.Lines)
	stage, err := s.runtime()
	for i := mark; i < len(s.Lines); i++ {
		s.Lines[i].Later = true
	}
	if err == nil {
		return nil
	}
	r, ok := err.(*plan.Refusal)
	if !ok {
		r = &plan.Refusal{Message: err.Error()}
	}
	r.Stage, r.Step = stage, "SGL-SCHEDULER"
	return r
}

// runtime fills s.later. With an error it says in which stage.
func (s *state) runtime() (stage string, err error) {
	s.Begin("SGL-SCHEDULER", "sglang/srt/managers/scheduler.py init_model_config (0.5.9)")
	m, err := s.newModelConfig(modelOptions{model: s.model})
	if err != nil {
		return plan.StageModelConfig, err
	}
	s.tellModelConfig(m)
	if err := s.modelRunner(m); err != nil {
		return plan.StageModelRunner, err
	}
	s.tellGEMM()
	algo := s.loadQuantization(m)
	return plan.StageModelRunner, s.kvDtype(m, algo)
}

func (s *state) tellModelConfig(m *modelConfig) {
	arch := "MHA"
	switch {
	case m.mla:
		arch = "MLA"
	case m.ssm:
		arch = "SSM"
	}
	tell := func(name string, v any) { s.later["model_config."+name] = v }
	tell("context_len", m.contextLen)
	tell("dtype", "torch."+m.dtype)
	tell("quantization", orNone(m.quantization))
	tell("attention_arch", arch)
	tell("is_multimodal", m.multimodal)
	tell("is_generation", m.generation)
	tell("num_attention_layers", m.attnLayers)
	switch {
	case s.since(r0508):
		tell("is_hybrid_swa", m.hybridSWA)
	case s.since(r0506):
		tell("is_hybrid_swa", ratio(m.hybridRatio))
	default:
		tell("is_hybrid", ratio(m.hybridRatio))
	}
}

// orNone is Python's None for an empty text.
func orNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func ratio(x float64) any {
	if x == 0 {
		return nil
	}
	return x
}

// kvDtype is configure_kv_cache_dtype: the data type of the KV cache, with the
// scheme of the checkpoint where "auto" was asked for.
func (s *state) kvDtype(m *modelConfig, algo any) error {
	if !s.since(r0508) {
		return nil // decided later, together with the size of the memory pool
	}
	s.Begin("SGL-KV-DTYPE", "sglang/srt/model_executor/model_runner.py configure_kv_cache_dtype (0.5.9)")
	fp8 := "float8_e4m3fn"
	if strings.HasPrefix(s.gpu.gfx, "gfx94") {
		fp8 = "float8_e4m3fnuz"
	}
	asked := s.Str("kv_cache_dtype")
	dtype := ""
	switch asked {
	case "auto":
		dtype = m.dtype
		if text, _ := algo.(string); strings.EqualFold(text, "FP8") {
			dtype = fp8
			if s.since(r0509) && !s.since(r0515) { // the others do not write it back
				s.because("SGL-KV-CHECKPOINT-001", byCheckpoint, "the checkpoint names an FP8 KV cache")
				s.Set("kv_cache_dtype", "fp8_e4m3")
			}
		}
	case "fp8_e5m2":
		dtype = "float8_e5m2"
		if s.gpu.hip {
			dtype = fp8
		}
	case "fp8_e4m3":
		dtype = fp8
	case "mxfp8":
		dtype = "float8_e4m3fn"
	case "bf16", "bfloat16":
		dtype = "bfloat16"
	case "fp4_e2m1", "nvfp4", "fp4_mx_block16":
		if asked == "fp4_e2m1" && s.r == r0518 {
			return valueError("--kv-cache-dtype=fp4_e2m1 is deprecated. Use --kv-cache-dtype=fp4_mx_block16.")
		}
		dtype = "float4_e2m1fn_x2"
		if s.since(r0518) {
			s.warn("%s KV Cache might lead to an accuracy drop!", strings.ToUpper(asked))
		} else {
			s.warn("FP4 (E2M1) KV Cache might lead to a accuracy drop!")
		}
	default:
		return valueError("Unsupported kv_cache_dtype: %s.", asked)
	}
	s.later["kv_cache_torch_dtype"] = "torch." + dtype
	if !s.since(r0515) {
		s.info("Using KV cache dtype: torch.%s", dtype)
	}
	return nil
}

// unsupported is how a GPU is refused that a quantisation method cannot run on.
func unsupported(method string, minimum, have int) string {
	return fmt.Sprintf("The quantization method %s is not supported for the current GPU. Minimum capability: %d. Current capability: %d.", method, minimum, have)
}
