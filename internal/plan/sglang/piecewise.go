package sglang

// obstacle is something that keeps prefill from being captured.
type obstacle struct {
	when    bool
	by, why string
	coupled []string
	silent  bool
}

// pieceObstacles keep prefill from being compiled and captured in pieces.
func (s *state) pieceObstacles(m *modelConfig) []obstacle {
	paths, _ := s.Get("lora_paths").([]any)
	on := func(when bool, why string, coupled ...string) obstacle {
		return obstacle{when: when, by: byCoupling, why: why, coupled: coupled}
	}
	return []obstacle{
		{when: m.noPiecewise, by: byModel, why: "the architecture"},
		on(!s.since(r0512) && !s.Nil("speculative_algorithm"), "speculation", "speculative_algorithm"),
		on(s.Bool("debug_cuda_graph"), "graphs are debugged", "debug_cuda_graph"),
		on(s.dpAttention(), "data-parallel attention", "enable_dp_attention"),
		on(s.Bool("enable_torch_compile"), "torch.compile", "enable_torch_compile"),
		on(s.Int("pp_size") > 1, "pipeline stages", "pp_size"),
		{when: s.gpu.hip, by: byHardware, why: "no NVIDIA GPU"},
		on(!s.Is("moe_a2a_backend", "none"), "all-to-all of experts", "moe_a2a_backend"),
		on(len(paths) > 0 || s.Bool("enable_lora"), "LoRA", "enable_lora"),
		{when: m.multimodal && !m.piecewiseVision, by: byModel, why: "a multimodal model"},
		{when: s.Is("load_format", "gguf") || s.Is("quantization", "gguf"), by: byCheckpoint, why: "GGUF"},
		on(!s.Nil("dllm_algorithm"), "a diffusion language model", "dllm_algorithm"),
		on(s.Float("cpu_offload_gb") > 0 || s.Bool("enable_hierarchical_cache"), "memory of the host", "cpu_offload_gb", "enable_hierarchical_cache"),
		on(s.Bool("enable_deterministic_inference"), "deterministic inference", "enable_deterministic_inference"),
		on(!s.Is("disaggregation_mode", "null"), "disaggregation", "disaggregation_mode"),
		on(s.Bool("enable_symm_mem"), "symmetric memory", "enable_symm_mem"),
		on(s.Bool("enable_eplb") || !s.Nil("expert_distribution_recorder_mode"), "recording of experts", "enable_eplb"),
		on(s.Int("attn_cp_size") > 1, "context parallelism", "attn_cp_size"),
		on(s.Bool("enable_dsa_prefill_context_parallel"), "context parallel prefill", "enable_dsa_prefill_context_parallel"),
	}
}

// piecewiseOff turns prefill graphs off where something cannot be captured.
func (s *state) piecewiseOff() error {
	if s.Bool("enforce_piecewise_cuda_graph") {
		s.because("", byCoupling, "enforced", "enforce_piecewise_cuda_graph")
		s.Set("disable_piecewise_cuda_graph", false)
		return nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	for _, o := range s.pieceObstacles(m) {
		if o.when {
			s.because("", o.by, "prefill graphs are off: "+o.why, o.coupled...)
			s.Set("disable_piecewise_cuda_graph", true)
		}
	}
	return nil
}

// linearAttention checks the kernels of linear attention.
func (s *state) linearAttention() error {
	decode := s.Str("linear_attn_decode_backend")
	if decode == "" {
		decode = s.Str("linear_attn_backend")
	}
	if s.since(r0512) && s.Nil("linear_attn_decode_backend") && !s.Is("linear_attn_backend", "helion") && s.gpu.sm100() && s.Is("mamba_ssm_dtype", "bfloat16") && (s.since(r0515) || s.Nil("speculative_algorithm")) {
		s.because("SGL-ATTN-LINEAR-001", byHardware, "SM100 decodes with flashinfer when the state is bfloat16", "mamba_ssm_dtype")
		s.Set("linear_attn_decode_backend", "flashinfer")
		s.info("SM100+ detected with mamba-ssm-dtype=bfloat16, defaulting --linear-attn-decode-backend to flashinfer.")
		decode = "flashinfer"
	}
	if decode == "flashkda" {
		if s.Is("linear_attn_decode_backend", "flashkda") {
			return valueError("--linear-attn-decode-backend flashkda is not supported: FlashKDA is prefill-only. Use --linear-attn-prefill-backend flashkda (decode stays on triton).")
		}
		s.because("SGL-ATTN-LINEAR-002", byCoupling, "FlashKDA only prefills", "linear_attn_backend")
		s.Set("linear_attn_decode_backend", "triton")
		s.info("FlashKDA is prefill-only; using triton for KDA decode (FlashKDA stays on prefill).")
	}
	if decode == "flashinfer" && !s.Is("mamba_ssm_dtype", "bfloat16") && s.gpu.major >= 10 {
		return valueError("--linear-attn-decode-backend flashinfer on SM100+ requires --mamba-ssm-dtype bfloat16, got %s", pyRepr(s.Get("mamba_ssm_dtype")))
	}
	if s.Bool("enable_linear_replayssm_spec") {
		return s.replaySpec(decode)
	}
	return nil
}

// pyRepr is Python's repr of a text or None.
func pyRepr(v any) string {
	if text, ok := v.(string); ok {
		return "'" + text + "'"
	}
	return pyInt(v)
}

// capabilities is what the kind of model forces at the end.
func (s *state) capabilities() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if prefix, ok := m.hf.Bool("prefix_lm"); m.modelType == "hrm_text" && (prefix || !ok) {
		s.because("SGL-MODEL-PREFIX", byModel, "the prompt attends in both directions")
		if !s.Is("attention_backend", nil, "triton") {
			s.warn("Overriding --attention-backend '%s' -> 'triton': only the Triton backend supports HRM-Text's bidirectional prefix attention.", s.Str("attention_backend"))
		}
		s.Set("attention_backend", "triton")
		s.Set("chunked_prefill_size", -1)
		s.Set("disable_radix_cache", true)
		s.Set("disable_cuda_graph", true)
		s.noGraphs()
		s.warn("HRM-Text (prefix_lm) detected: forcing --attention-backend triton, --chunked-prefill-size -1, --disable-radix-cache, and --disable-cuda-graph for correctness of the bidirectional prompt attention.")
	}
	if m.multimodal && wholePrompt[m.arch] {
		s.because("SGL-CHUNK-MODEL-001", byModel, "the model's prompts cannot be split")
		s.Set("chunked_prefill_size", -1)
		s.info("Automatically turn off --chunked-prefill-size as it is not supported for %s", m.modelType)
	}
	if s.Bool("enable_encoder_swa_bounded_replay") && m.modelType != "deepseek_v41" {
		return valueError("--enable-encoder-swa-bounded-replay requires DeepSeek-V4.1")
	}
	return s.prefillContext(m)
}

// prefillContext rounds the context that prefill graphs hold up to whole pages.
func (s *state) prefillContext(m *modelConfig) error {
	size := graphKey("prefill", "max_context_size")
	if !s.Known(size) || s.Nil(size) {
		return nil
	}
	asked, page := s.Int(size), max(1, s.Int("page_size"))
	aligned := (asked + page - 1) / page * page
	switch {
	case asked <= 0:
		return valueError("--cuda-graph-prefill-max-context must be a positive integer")
	case m.contextLen > 0 && aligned > m.contextLen:
		return valueError("--cuda-graph-prefill-max-context exceeds the model context length: aligned size %d > %d", aligned, m.contextLen)
	}
	s.because("SGL-GRAPH-CONTEXT", byCoupling, "whole pages", "page_size")
	if asked != aligned {
		s.info("Page-aligning prefill CUDA graph max context size %d -> %d (page_size=%d).", asked, aligned, page)
	}
	s.info("Prefill CUDA graph max context size: %d; graph keys remain token-only.", aligned)
	s.Set(size, aligned)
	return nil
}

// wholePrompt are multimodal architectures whose prompts cannot be split
// (is_multimodal_chunked_prefill_supported).
var wholePrompt = map[string]bool{
	"Grok1VForCausalLM": true, "Grok1AForCausalLM": true, "LlavaLlamaForCausalLM": true,
	"MllamaForConditionalGeneration": true, "CLIPModel": true,
}

// mxfp8KV checks an MXFP8 KV cache.
func (s *state) mxfp8KV() error {
	if s.Is("kv_cache_dtype", "mxfp8") && !s.gpu.blackwell() {
		return valueError("--kv-cache-dtype mxfp8 requires an SM100+ (Blackwell) GPU for the block-scaled operands used by the FA4 MXFP8 attention path.")
	}
	return nil
}

// replaySpec checks cached replay of linear attention's states in speculation.
func (s *state) replaySpec(decode string) error {
	const flag = "--enable-linear-replayssm-spec "
	switch {
	case !s.Is("speculative_eagle_topk", nil, 1):
		return valueError(flag+"requires a linear draft chain (--speculative-eagle-topk in {None, 1}); the chunked verify kernel uses a strictly-lower causal mask and is invalid for EAGLE tree verify. Got --speculative-eagle-topk=%d.", s.Int("speculative_eagle_topk"))
	case decode != "triton" && decode != "flashinfer":
		return valueError(flag+"requires the triton or flashinfer linear-attn decode backend, got --linear-attn-decode-backend='%s'.", decode)
	case s.Is("disaggregation_mode", "prefill"):
		return valueError(flag + "is not supported on a PD prefill server: the ring is spec-verify-only scratch and the prefill server never runs spec verify.")
	case s.Bool("enable_linear_replayssm"):
		return valueError("--enable-linear-replayssm-spec and --enable-linear-replayssm are mutually exclusive: they share the ring storage but drive it with incompatible cursor protocols (per-decode-forward vs per-verify-commit advance).")
	}
	if !s.Nil("mamba_ssm_dtype") {
		if !s.Is("mamba_ssm_dtype", "float32") {
			s.warn("--enable-linear-replayssm-spec with --mamba-ssm-dtype=%s: %s", s.Str("mamba_ssm_dtype"), s.pick(
				"the closed-loop fold re-quantizes the committed state each commit/flush (fp32 keeps it bit-exact to the fp32 recurrent baseline), so it may drift over long sequences. Validate accuracy for your model.",
				"the compact checkpoint is materialized after each accepted verify window; validate long-sequence accuracy and throughput."))
		}
		return nil
	}
	s.because("SGL-MAMBA-REPLAY", byCoupling, "replayed states are kept exactly", "enable_linear_replayssm_spec")
	s.Set("mamba_ssm_dtype", "float32")
	s.info("--enable-linear-replayssm-spec: setting --mamba-ssm-dtype float32 (%s).", s.pick(
		"the closed-loop exact fold keeps the SSM checkpoint bit-identical to the recurrent baseline", "cached replay uses compensated checkpoint projection and materialization"))
	return nil
}

// pick is a wording that 0.5.23 changed.
func (s *state) pick(before, since string) string {
	if s.since(r0523) {
		return since
	}
	return before
}
