package sglang

import (
	"fmt"
	"strings"
)

// pyInt prints a number that may be None.
func pyInt(v any) string {
	if v == nil {
		return "None"
	}
	return fmt.Sprint(v)
}

// dpAttention says whether attention is data-parallel.
func (s *state) dpAttention() bool {
	if s.since(r0523) {
		return s.Int("attn_dp_size") > 1 || s.Is("ep_join_mode", "scale")
	}
	return s.Bool("enable_dp_attention")
}

// attnDP is the setting that says over how many ranks attention is
// data-parallel.
func (s *state) attnDP() string {
	if s.since(r0523) {
		return "attn_dp_size"
	}
	return "dp_size"
}

// setAttnDP makes attention data-parallel over that many ranks.
func (s *state) setAttnDP(n int) {
	if !s.since(r0523) {
		s.Set("enable_dp_attention", true)
		return
	}
	s.Set("attn_dp_size", n)
	s.Set("dp_size", 1)
}

// oldDPAttention takes over the former switch of data-parallel attention.
func (s *state) oldDPAttention() error {
	if !s.Bool("enable_dp_attention") {
		return nil
	}
	s.because("SGL-DP-NAMES", byDefault, "the switch has become a size of its own", "enable_dp_attention", "dp_size")
	if s.Int("attn_dp_size") == 1 {
		s.Set("attn_dp_size", s.Get("dp_size"))
		s.Set("dp_size", 1)
	}
	s.Set("enable_dp_attention", false)
	return nil
}

func (s *state) dataParallel() error {
	if s.since(r0523) {
		switch dp, attn := s.Int("dp_size"), s.Int("attn_dp_size"); {
		case attn < 1:
			return valueError("--attn-dp-size must be positive (got %d).", attn)
		case attn > 1 && dp > 1:
			return valueError("--dp-size %d with --attn-dp-size %d: data-parallel replicas combined with attention data parallelism are not supported.", dp, attn)
		}
	}
	if s.Int("dp_size") == 1 && !s.Is("ep_join_mode", "scale") && !(s.since(r0523) && s.Int("attn_dp_size") > 1) {
		s.because("SGL-DP-ONE", byCoupling, "with one data-parallel rank there is nothing to share", s.attnDP())
		s.Set("enable_dp_attention", false)
		if s.since(r0506) {
			s.Set("enable_dp_lm_head", false)
		}
	}
	if tp := s.Int("tp_size"); s.Bool("mm_enable_dp_encoder") && s.since(r0518) {
		s.because("SGL-MM-DP", byCoupling, "each rank has the whole encoder", "mm_enable_dp_encoder")
		if tp == 1 {
			s.warn("--mm-enable-dp-encoder is enabled with TP=1, so the encoder has no data-parallel work to distribute. Disable it unless you need to validate this configuration.")
		} else {
			s.info("--mm-enable-dp-encoder is enabled across TP=%d. It replicates the vision encoder and distributes image work across ranks; "+
				"this is most useful when high-resolution or multi-image ViT prefill is a material part of TTFT. "+
				"Measure against the default for small-image workloads because replication and aggregation can increase memory use and overhead.", tp)
		}
	}
	if s.dpAttention() {
		dp := s.Int(s.attnDP())
		s.because("SGL-CHUNK-DP-001", byCoupling, "the ranks share one prefill chunk", "enable_dp_attention", "dp_size")
		s.Set("schedule_conservativeness", s.Float("schedule_conservativeness")*0.3)
		if dp == 0 {
			return refuse("ZeroDivisionError", "integer modulo by zero")
		}
		if s.Int("tp_size")%dp != 0 {
			return assertion("")
		}
		before := s.Int("chunked_prefill_size")
		s.Set("chunked_prefill_size", floorDiv(before, dp))
		if s.since(r0518) {
			s.warn("DP attention is enabled. chunked prefill size is adjusted from %d to %d.", before, s.Int("chunked_prefill_size"))
			s.smallerPrefill()
		} else {
			s.warn("DP attention is enabled. The chunked prefill size is adjusted to %d to avoid MoE kernel issues. ", s.Int("chunked_prefill_size"))
		}
	}
	if s.since(r0518) {
		if err := s.lmHead(); err != nil {
			return err
		}
		s.graphBuffers()
		return nil
	}
	if s.Bool("enable_dp_lm_head") && !s.dpAttention() {
		return assertion("Please enable dp attention when setting enable_dp_lm_head. ")
	}
	return nil
}

// smallerPrefill shrinks prefill graphs to the chunk of one rank.
func (s *state) smallerPrefill() {
	most, list := s.graphMax("prefill"), s.graphList("prefill")
	chunk := s.Int("chunked_prefill_size")
	if !s.captures(prefillGraph) || s.Nil(most) || s.Int(most) <= chunk || s.locked[most] {
		return
	}
	s.because("SGL-GRAPH-PIECEWISE", byCoupling, "no graph is larger than the chunk of one rank", "enable_dp_attention", "dp_size")
	s.Set(most, chunk)
	if !s.locked[list] {
		s.Set(list, s.piecewiseTokens(chunk))
	}
}

// lmHead chooses how the output layer is split.
func (s *state) lmHead() error {
	dp, tp := s.Int(s.attnDP()), s.Int("tp_size")
	if s.Nil("enable_tp_lm_head_all_to_all") {
		s.because("SGL-DP-LMHEAD", byCoupling, "decode servers with one rank per request split the output layer", "disaggregation_mode", "enable_dp_attention", "dp_size")
		s.Set("enable_tp_lm_head_all_to_all", s.Is("disaggregation_mode", "decode") && s.dpAttention() && dp > 1 && tp == dp &&
			s.Int("attn_cp_size") == 1 && !s.Bool("enable_dp_lm_head"))
	}
	switch {
	case s.Bool("enable_dp_lm_head") && !s.dpAttention() && s.since(r0523):
		return assertion("--enable-dp-lm-head requires attention DP (--attn-dp-size).")
	case s.Bool("enable_dp_lm_head") && !s.dpAttention():
		return assertion("Please enable dp attention when setting enable_dp_lm_head. ")
	case !s.Bool("enable_tp_lm_head_all_to_all"):
	case !s.dpAttention() && s.since(r0523):
		return assertion("--enable-tp-lm-head-all-to-all requires attention DP (--attn-dp-size).")
	case !s.dpAttention():
		return assertion("Please enable dp attention when setting enable_tp_lm_head_all_to_all.")
	case s.Bool("enable_dp_lm_head"):
		return assertion("--enable-tp-lm-head-all-to-all uses a TP-sharded LM head and is incompatible with --enable-dp-lm-head.")
	case tp != dp:
		return assertion("--enable-tp-lm-head-all-to-all currently requires tp_size == %s, got tp_size=%d, %s=%d.", s.attnDP(), tp, s.attnDP(), dp)
	case s.Int("attn_cp_size") != 1:
		return assertion("--enable-tp-lm-head-all-to-all currently requires attn_cp_size == 1, got %d.", s.Int("attn_cp_size"))
	}
	return nil
}

// graphBuffers keeps NCCL from registering buffers of captured graphs, with
// which their replay may hang.
func (s *state) graphBuffers() {
	if !s.since(r0523) || max(s.Int("tp_size"), s.Int("ep_size"), s.Int("dp_size")) <= 1 || !s.captures(decodeGraph) && !s.captures(prefillGraph) {
		return
	}
	s.because("SGL-COMM-NCCL-GRAPH", byCoupling, "graphs with communication may hang with registered buffers", "tp_size")
	switch v, set := s.Env("NCCL_GRAPH_REGISTER"); {
	case !set:
		s.SetEnv("NCCL_GRAPH_REGISTER", "0")
	case v != "0":
		s.warn("NCCL_GRAPH_REGISTER=%s was set explicitly; graph replay of captured cross-rank collectives can hang with registered buffers.", v)
	}
}

// tpOver divides the tensor parallel size by another size.
func (s *state) tpOver(size string) (int, error) {
	n := s.Int(size)
	if n == 0 {
		return 0, refuse("ZeroDivisionError", "integer division or modulo by zero")
	}
	return floorDiv(s.Int("tp_size"), n), nil
}

// floorDiv is Python's //; the divisor is not 0.
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
		case tp%(s.Int(s.attnDP())*cp) != 0:
			return assertion("tp_size must be divisible by %s * attn_cp_size", s.attnDP())
		case s.Int("pp_size") != 1 && !s.since(r0510):
			return assertion("PP is not supported with context parallelism")
		case s.Bool("enable_aiter_allreduce_fusion"):
			return assertion("Aiter allreduce fusion is not supported with context parallelism")
		}
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
	if md := s.Int("moe_dp_size"); s.since(r0512) && md != 1 && s.Int("attn_cp_size") != md {
		return assertion("attn_cp_size != moe_dp_size is only supported when moe_dp_size == 1")
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
	if s.since(r0523) && s.Nil("dcp_comm_backend") {
		s.dcpBackend()
	}
	switch {
	case s.since(r0523) && n > 1 && s.Bool("enable_prefill_cp"):
		return valueError("--dcp-size > 1 does not support --enable-prefill-cp.")
	case s.Known("dcp_size") && n < 1:
		return valueError("Decode context parallel size (--dcp-size / --decode-context-parallel-size) must be >= 1, but got dcp_size=%d.", n)
	case s.since(r0518) && s.Is("dcp_comm_backend", "a2a", "fi_a2a") && n <= 1:
		return valueError("--dcp-comm-backend %s only affects the decode context-parallel attention reduction and therefore requires --dcp-size / --decode-context-parallel-size > 1, but got dcp_size=%d.", s.Str("dcp_comm_backend"), n)
	case s.since(r0518) && s.Bool("dcp_replicate_q_proj") && n <= 1:
		return valueError("--dcp-replicate-q-proj requires --dcp-size > 1.")
	case s.since(r0523) && s.Bool("dcp_replicate_q_proj") && !s.Is("dcp_comm_backend", "a2a", "fi_a2a"):
		return valueError("--dcp-replicate-q-proj only applies to the a2a/fi_a2a DCP communication backend (it removes the head-dim Q all-gather); got --dcp-comm-backend=%s.", s.Str("dcp_comm_backend"))
	case !s.since(r0518) && n > 1 && s.gpu.cuda() && !s.Nil("speculative_algorithm"):
		return valueError("Decode context parallel (--dcp-size / --decode-context-parallel-size > 1) on CUDA platform "+
			"does not support any speculative algorithm, but got dcp_size=%d on a CUDA platform with speculative decoding enabled.", n)
	}
	return nil
}

// dcpBackend is how ranks of decode context parallelism talk.
func (s *state) dcpBackend() {
	s.because("SGL-DCP-COMM", byHardware, "by GPU, only with more than one rank", "dcp_size")
	n := s.Int("dcp_size")
	if n <= 1 {
		s.Set("dcp_comm_backend", "ag_rs")
		return
	}
	backend := "a2a"
	node := floorDiv(s.Int("tp_size"), max(floorDiv(s.Int("nnodes"), max(1, s.Int("pp_size"))), 1))
	if s.gpu.sm100() && node%n == 0 {
		backend = "fi_a2a"
	}
	s.Set("dcp_comm_backend", backend)
	s.info("DCP (dcp_size=%d) selects communication backend '%s'.", n, backend)
}

// contextChecks are those of _handle_context_parallelism from 0.5.15 on that
// come before the sizes.
func (s *state) contextChecks() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if s.since(r0523) {
		if err := s.contextLater(m); err != nil {
			return err
		}
	}
	if _, ok := s.Env("SGLANG_ENABLE_CP_V2"); !ok && s.secondCP(m) && !s.since(r0523) {
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

// secondCPArchs have the second form of context parallel prefill by default
// (CP_V2_DEFAULT_MODEL_CLASSES).
var secondCPArchs = newRoster(joined{
	r0515: "Qwen3MoeForCausalLM",
	r0518: `DeepseekV32ForCausalLM GlmMoeDsaForCausalLM GptOssForCausalLM MiMoV2FlashForCausalLM MiMoV2ForCausalLM
		DeepseekV3ForCausalLM`,
}, nil)

func (s *state) secondCP(m *modelConfig) bool {
	if !secondCPArchs.has(s.r, m.arch) {
		return false
	}
	return !s.since(r0518) || !s.dsa(m) || s.Bool("enable_prefill_cp") && s.Is("cp_strategy", "interleave")
}

// attentionTP is the width of tensor parallelism within attention.
func (s *state) attentionTP() int {
	return floorDiv(floorDiv(s.Int("tp_size"), max(1, s.Int("attn_dp_size"))), max(1, s.Int("attn_cp_size")))
}

// contextLater is what 0.5.23 checks of context parallel prefill.
func (s *state) contextLater(m *modelConfig) error {
	on, cp := s.Bool("enable_prefill_cp"), s.Int("attn_cp_size") > 1
	nemotron, longcat := strings.HasPrefix(m.modelType, "nemotron_h"), m.modelType == "longcat_flash"
	mimo := m.arch == "MiMoV2ForCausalLM" || m.arch == "MiMoV2FlashForCausalLM"
	switch {
	case nemotron && cp:
		return valueError("Nemotron-H does not support --attn-cp-size > 1")
	case longcat && on && cp:
		return valueError("LongCat-Flash does not support --enable-prefill-cp with --attn-cp-size > 1")
	case on && s.gpu.hip && m.arch != "DeepseekV4ForCausalLM":
		return valueError("Prefill CP on HIP is only supported for DeepseekV4ForCausalLM, got '%s'.", m.arch)
	case on && m.arch == "DeepseekV32ForCausalLM" && s.Is("cp_strategy", "zigzag"):
		return valueError("DeepSeek V3.2 prefill CP does not support --cp-strategy zigzag; use interleave.")
	case on && mimo && !s.Is("cp_strategy", "zigzag"):
		return valueError("MiMo V2 prefill CP only supports --cp-strategy zigzag.")
	case on && mimo && m.multimodal && !s.Bool("language_only") && !s.Bool("language_model_only"):
		return valueError("MiMo V2 prefill CP only supports text inference; add --language-only.")
	case (nemotron || longcat) && s.Bool("enable_attn_tp_input_scattered"):
		s.because("SGL-CP-SCATTERED", byModel, "the model's layers do not know it")
		s.warn("Disabling input-scattered attention for %s: its forward does not enter that scope", m.arch)
		s.Set("enable_attn_tp_input_scattered", false)
	}
	return nil
}
