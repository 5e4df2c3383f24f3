package vllm

import (
	"fmt"
	"strings"

	"shakedown/internal/plan"
)

// runtimeSteps are what the workers decide from settings alone.
var runtimeSteps = []plan.Step[*state]{
	step("VLLM-ATTN-AUTO", "", "vllm/platforms/cuda.py CudaPlatformBase.get_attn_backend_cls (0.24.0)", (*state).attentionBackend),
	step("VLLM-BLOCK-BACKEND", ">=0.19", "vllm/platforms/interface.py Platform.update_block_size_for_backend (0.24.0)", (*state).pageSizes),
	step("VLLM-QUANT-CLASS", "", "vllm/model_executor/layers/quantization/__init__.py get_quantization_config (0.24.0)", (*state).quantClass),
	step("VLLM-MOE", ">=0.16", "vllm/model_executor/layers/fused_moe/oracle (0.24.0)", (*state).experts),
}

// decided records what a worker decides.
func (s *state) decided(name string, value any) {
	s.Set(name, value)
	s.later[name] = value
}

// attention is the question to the attention selector.
func (s *state) attention() attnInput {
	m, tp := s.model, max(1, s.Int("parallel.tensor_parallel_size"))
	in := attnInput{
		r: s.r, sm: s.gpu.capability(), headSize: s.headSize(),
		dtype: strings.TrimPrefix(s.Str("model.dtype"), "torch."), kv: s.Str("cache.cache_dtype"),
		block: s.Int("cache.block_size"), blockAsked: s.Bool("cache.user_specified_block_size"),
		mla: s.Bool("model.use_mla"), sink: m.textType == "gpt_oss", mmPrefix: s.prefixLM() && s.r >= v0160,
		attnType: "DECODER", slidingWindow: m.slidingWindow > 0,
		batchInvariant: s.envBool("VLLM_BATCH_INVARIANT", false), kvConnector: s.args.Get("kv_transfer_config") != nil,
		pcp: s.Int("parallel.prefill_context_parallel_size") > 1, dcp: s.Int("parallel.decode_context_parallel_size") > 1,
		heads: m.heads / tp, kvHeads: max(1, m.kvHeads/tp),
		faVersion: s.Int("attention.flash_attn_version"), backend: s.Str("attention.backend"),
		text: m.text, textClass: textClass(m.text),
	}
	in.sparse = in.mla && m.dsa
	if in.mla {
		in.kvHeads = 1
	}
	if s.attentionType() == "encoder_only" {
		in.attnType = "ENCODER_ONLY"
	}
	softcap, _ := m.text.Float("attn_logit_softcapping")
	in.softcap = softcap != 0
	in.float32State = s.Bool("model.is_hybrid") && (s.Is("cache.mamba_ssm_cache_dtype", "float32") || s.Is("cache.mamba_cache_dtype", "float32"))
	if use, ok := s.Get("attention.use_trtllm_attention").(bool); ok {
		in.trtllm = &use
	}
	if s.r >= v0160 {
		return in
	}
	name, _ := s.Env("VLLM_ATTENTION_BACKEND")
	in.backend = strings.TrimSuffix(name, "_VLLM_V1")
	if in.backend == "" && in.mla && in.sm == 100 {
		in.backend = "CUTLASS_MLA" // set by CudaPlatformBase.check_and_update_config
	}
	if _, ok := s.Env("VLLM_USE_TRTLLM_ATTENTION"); ok {
		use := s.envBool("VLLM_USE_TRTLLM_ATTENTION", false)
		in.trtllm = &use
	}
	return in
}

// headSize is the width of one attention head in the KV cache. Up to 0.19 vLLM
// reads GLM's rotated part where transformers 5.4 to 5.11 keep head_dim
// (attribute_map of the configuration class).
func (s *state) headSize() int {
	m := s.model
	n, ok := m.text.Int("head_dim")
	if !ok || !s.Bool("model.use_mla") || s.r >= v0240 || m.textType != "glm_moe_dsa" || !headDimIsRope(s.transformers()) {
		return m.headSize
	}
	return m.text.IntOr("kv_lora_rank", 0) + n
}

// transformers is the version of the library.
func (s *state) transformers() string {
	if v := s.ask.Deps["transformers"]; v != "" {
		return v
	}
	return known[s.r].transformers
}

// attentionBackend chooses the backend of the model's attention layers.
func (s *state) attentionBackend() error {
	in := s.attention()
	id, by, rule := "VLLM-ATTN-AUTO", byHardware, "The first backend in the platform's order that takes this model's heads, KV cache and compute capability."
	switch {
	case in.backend != "":
		id, by, rule = "VLLM-ATTN-FORCED", byCoupling, "The backend in force."
	case in.r < v0160:
		id = "" // named by its line below
	}
	choice, lines, refusal := chooseAttention(in)
	if refusal != nil {
		refusal.Step = id
		s.say(lines)
		return refusal
	}
	if id == "" {
		id = "VLLM-ATTN-NAMED-" + choice.backend
	}
	using := 0
	for using < len(lines) && !strings.HasPrefix(lines[using].Text, "Using ") {
		using++
	}
	s.because("VLLM-ATTN-BLOCK", byCoupling, "The block size excludes backends with a higher priority.", "cache.block_size")
	s.say(lines[:using])
	s.because(id, by, rule, "attention.backend")
	s.decided("attention_backend", choice.backend)
	s.decided("attention_backend.class", choice.class)
	if s.r >= v0160 {
		blocks := make([]any, len(choice.blocks))
		for i, n := range choice.blocks {
			blocks[i] = n
		}
		s.decided("attention_backend.supported_block_sizes", blocks)
	}
	s.say(lines[using:])
	if choice.fa != 0 && s.r >= v0160 {
		s.because("VLLM-ATTN-FA-VERSION", byHardware, "The newest FlashAttention that takes this GPU, these heads and what is asked of it.")
		s.decided("flash_attn_version", choice.fa)
	}
	if in.mla {
		s.because("VLLM-KV-FORMAT", byCoupling, "The attention backend fixes the format of the KV cache.", "attention_backend")
		s.decided("kv_cache_dtype", choice.kv)
	}
	s.chosen = choice
	return nil
}

// say prints lines.
func (s *state) say(lines []plan.Line) {
	for _, l := range lines {
		s.once(l.Level, "%s", l.Text)
	}
}

// pageSizes fits the pages of the KV cache to the backend.
func (s *state) pageSizes() error {
	p, lines := s.pages(s.attention(), s.chosen)
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l.Text, "Setting attention"):
			s.because("VLLM-BLOCK-HYBRID", byModel, "A page of attention must hold a recurrent state.")
		case strings.HasPrefix(l.Text, "Padding"):
			s.because("VLLM-BLOCK-PAD", byCoupling, "States and attention share one pool of pages.", "block_size")
			s.decided("mamba_page_size_padded", p.mambaPadded)
		default:
			s.because("", byCoupling, "The attention kernel works with blocks of this size.", "attention_backend")
		}
		s.say([]plan.Line{l})
	}
	s.because("", byCoupling, "The size of blocks that the attention kernel works with.", "attention_backend")
	s.decided("block_size", p.block)
	if s.Bool("model.is_hybrid") {
		s.decided("mamba_block_size", p.mambaBlock)
		s.decided("mamba_page_size_padded", p.mambaPadded)
	}
	return nil
}

// quantClass names the class that builds quantised layers.
func (s *state) quantClass() error {
	if s.quant == nil {
		return nil
	}
	s.because("", byCheckpoint, fmt.Sprintf("The class of the method %s.", s.quant.name))
	s.decided("quant_config", s.quant.class)
	s.decided("quant_config.min_capability", s.quant.minCapability)
	return nil
}

// experts chooses the kernels of the routed experts.
func (s *state) experts() error {
	in, ok := s.expertsInput()
	if !ok {
		return nil
	}
	choice, lines := chooseMoE(in)
	id := map[moeScheme]string{moePlain: "VLLM-MOE-UNQUANTIZED", moeFP8: "VLLM-MOE-FP8", moeNVFP4: "VLLM-MOE-NVFP4", moeMXFP4: "VLLM-MOE-MXFP4"}[in.scheme]
	if in.scheme == moePlain && s.r < v0240 {
		id += "-OLD"
	}
	s.because(id, byHardware, "The first expert kernels that take this GPU, the format of the weights and the activation.", "kernel.moe_backend")
	if choice.failed != "" {
		s.decided("moe_backend.error", choice.failed)
	} else {
		s.decided("moe_backend", choice.backend)
		if choice.class != "" {
			s.decided("moe_experts_class", choice.class)
		}
	}
	s.say(lines)
	return nil
}

// expertsInput is the question to the oracle of the expert kernels; ok is false
// for models without experts and for formats whose oracle is not described
// here.
func (s *state) expertsInput() (in moeInput, ok bool) {
	m := s.model
	if m.experts == 0 {
		return in, false
	}
	in = moeInput{
		r: s.r, sm: s.gpu.capability(), activation: "silu", hidden: m.hidden,
		grouped: m.text.Text("scoring_func") == "sigmoid" || m.text.Text("topk_method") == "noaux_tc",
		asked:   s.Str("kernel.moe_backend"), invariant: s.envBool("VLLM_BATCH_INVARIANT", false),
		ep: s.Bool("parallel.enable_expert_parallel"), dp: s.Int("parallel.data_parallel_size") > 1,
		env: s.Env,
	}
	if m.textType == "gpt_oss" {
		in.activation = "swigluoai"
	}
	switch s.Str("model.quantization") {
	case "":
		in.scheme = moePlain
	case "fp8":
		in.scheme = moeFP8
		return in, len(m.quantization.List("weight_block_size")) == 2
	case "modelopt_fp4":
		in.scheme = moeNVFP4
	case "mxfp4", "gpt_oss_mxfp4":
		in.scheme = moeMXFP4
		return in, s.r >= v0191
	default:
		return in, false
	}
	return in, true
}
