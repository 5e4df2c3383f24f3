package sglang

import "fmt"

// pyInt prints a number that may be None.
func pyInt(v any) string {
	if v == nil {
		return "None"
	}
	return fmt.Sprint(v)
}

func (s *state) dataParallel() error {
	if s.Int("dp_size") == 1 {
		s.because("SGL-DP-ONE", byCoupling, "with one data-parallel rank there is nothing to share", "dp_size")
		s.Set("enable_dp_attention", false)
		s.Set("enable_dp_lm_head", false)
	}
	if s.Bool("enable_dp_attention") {
		dp := s.Int("dp_size")
		s.because("SGL-CHUNK-DP-001", byCoupling, "the ranks share one prefill chunk", "enable_dp_attention", "dp_size")
		s.Set("schedule_conservativeness", s.Float("schedule_conservativeness")*0.3)
		if s.Int("tp_size")%dp != 0 {
			return assertion("")
		}
		s.Set("chunked_prefill_size", floorDiv(s.Int("chunked_prefill_size"), dp))
		s.warn("DP attention is enabled. The chunked prefill size is adjusted to %d to avoid MoE kernel issues. ", s.Int("chunked_prefill_size"))
	}
	if s.Bool("enable_dp_lm_head") && !s.Bool("enable_dp_attention") {
		return assertion("Please enable dp attention when setting enable_dp_lm_head. ")
	}
	return nil
}

// floorDiv is Python's //.
func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func (s *state) contextParallel() error {
	if s.since(r0515) {
		if err := s.contextChecks(); err != nil {
			return err
		}
	}
	tp, ep := s.Int("tp_size"), s.Int("ep_size")
	if cp := s.Int("attn_cp_size"); cp > 1 {
		switch {
		case tp%cp != 0:
			return assertion("tp_size must be divisible by attn_cp_size")
		case tp%(s.Int("dp_size")*cp) != 0:
			return assertion("tp_size must be divisible by dp_size * attn_cp_size")
		case s.Int("pp_size") != 1 && !s.since(r0510):
			return assertion("PP is not supported with context parallelism")
		case s.Bool("enable_aiter_allreduce_fusion"):
			return assertion("Aiter allreduce fusion is not supported with context parallelism")
		}
	}
	if md := s.Int("moe_dp_size"); s.since(r0512) && md != 1 && s.Int("attn_cp_size") != md {
		return assertion("attn_cp_size != moe_dp_size is only supported when moe_dp_size == 1")
	}
	if md := s.Int("moe_dp_size"); md > 1 {
		switch {
		case tp%md != 0:
			return assertion("tp_size must be divisible by moe_dp_size")
		case ep*md > tp:
			return assertion("ep_size * moe_dp_size must be less than or equal to tp_size")
		case s.Int("pp_size") != 1:
			return assertion("PP is not supported with context parallelism")
		case ep > 1 && ep*md != tp:
			return assertion("ep_size * moe_dp_size must be equal to tp_size")
		}
	}
	return nil
}

func (s *state) pipelineParallel() error {
	if s.Int("pp_size") > 1 {
		s.because("SGL-OVERLAP-PP-001", byCoupling, "pipeline stages exclude the overlap scheduler", "pp_size")
		s.Set("disable_overlap_schedule", true)
		s.warn("Pipeline parallelism is incompatible with overlap schedule.")
	}
	return nil
}

// Context parallel prefill has new names from 0.5.15 on.
var (
	cpStrategies = map[string]string{"in-seq-split": "zigzag", "round-robin-split": "interleave"}
	cpModes      = map[string]string{"zigzag": "in-seq-split", "interleave": "round-robin-split"}
)

// contextNames joins the old and the new names of context parallel prefill.
func (s *state) contextNames() error {
	s.because("SGL-CP-NAMES", byCoupling, "old and new names say the same", "enable_prefill_cp", "cp_strategy")
	old, oldDSA := s.Bool("enable_prefill_context_parallel"), s.Bool("enable_dsa_prefill_context_parallel")
	if old || oldDSA {
		s.Set("enable_prefill_cp", true)
	}
	if old && s.Nil("cp_strategy") {
		s.Set("cp_strategy", cpStrategies[s.Str("prefill_cp_mode")])
	}
	if oldDSA && s.Nil("cp_strategy") {
		s.Set("cp_strategy", cpStrategies[s.Str("dsa_prefill_cp_mode")])
	}
	if old && oldDSA || !s.Bool("enable_prefill_cp") || s.Nil("cp_strategy") {
		return nil
	}
	if oldDSA || s.Is("attention_backend", "dsa", "dsv4") {
		s.Set("enable_dsa_prefill_context_parallel", true)
		s.Set("enable_prefill_context_parallel", false)
	} else {
		s.Set("enable_prefill_context_parallel", true)
	}
	mode := cpModes[s.Str("cp_strategy")]
	s.Set("dsa_prefill_cp_mode", mode)
	s.Set("prefill_cp_mode", mode)
	return nil
}

// decodeContextParallel checks context parallel decoding.
func (s *state) decodeContextParallel() error {
	n := s.Int("dcp_size")
	switch {
	case s.Known("dcp_size") && n < 1:
		return valueError("Decode context parallel size (--dcp-size / --decode-context-parallel-size) must be >= 1, but got dcp_size=%d.", n)
	case n > 1 && s.gpu.cuda() && !s.Nil("speculative_algorithm"):
		return valueError("Decode context parallel (--dcp-size / --decode-context-parallel-size > 1) on CUDA platform "+
			"does not support any speculative algorithm, but got dcp_size=%d on a CUDA platform with speculative decoding enabled.", n)
	}
	return nil
}

// contextChecks are those of _handle_context_parallelism from 0.5.15 on that
// come before the sizes.
func (s *state) contextChecks() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if _, ok := s.Env("SGLANG_ENABLE_CP_V2"); !ok && m.arch == "Qwen3MoeForCausalLM" {
		s.SetEnv("SGLANG_ENABLE_CP_V2", "True")
	}
	switch {
	case s.Bool("enable_prefill_cp") && s.Nil("cp_strategy"):
		return valueError("--cp-strategy must be set when --enable-prefill-cp is enabled.")
	case s.Bool("enable_prefill_context_parallel") && s.Bool("enable_dsa_prefill_context_parallel"):
		return valueError("--enable-prefill-context-parallel and --enable-nsa-prefill-context-parallel are mutually exclusive. " +
			"Use --enable-nsa-prefill-context-parallel for DeepSeek V3.2 (NSA) models and --enable-prefill-context-parallel for MLA-based models " +
			"(DeepSeek V3/R1, Kimi K2.5) or MHA/GQA-based models.")
	}
	return nil
}
