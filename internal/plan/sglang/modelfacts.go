package sglang

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
)

// modelConfig is what SGLang's ModelConfig derives from a checkpoint's files
// and from some settings (sglang/srt/configs/model_config.py).
type modelConfig struct {
	hf    attrs // the configuration object, as transformers holds it
	text  attrs // that of the language part; the same when there is only one
	apart bool  // hf and text are two

	archs     []string // hf.architectures
	arch      string   // the first of them, "" when there is none
	modelType string
	draft     bool // is_draft_model

	quantization string // "" is None
	quantConfig  attrs  // of config.json or hf_quant_config.json; nil when the checkpoint is not quantised
	ue8m0        bool   // the checkpoint's scales are UE8M0
	dtype        string // "bfloat16", "float16", "float32"
	contextLen   int
	mla          bool    // attention_arch is MLA
	ssm          bool    // attention_arch is SSM: a model without attention
	generation   bool    // is_generation
	multimodal   bool    // is_multimodal
	hybridSWA    bool    // is_hybrid_swa
	hybridRatio  float64 // up to 0.5.6 in its place: --hybrid-kvcache-ratio when it holds, else 0
	kvHeads      int     // get_total_num_kv_heads
	layers       int     // num_hidden_layers
	attnLayers   int     // num_attention_layers
	fp4Experts   bool    // is_fp4_experts
	nvfp4MoE     bool    // nvfp4_moe_meta is there: FP8 with NVFP4 experts

	noPiecewise     bool // is_piecewise_cuda_graph_disabled_model
	piecewiseVision bool // is_multimodal_piecewise_cuda_graph_supported
	breakableVision bool // is_multimodal_breakable_cuda_graph_supported
}

// attrs is a configuration object: getattr with a default is a look-up.
type attrs = hfconfig.Object

// modelOptions say which of SGLang's ModelConfig objects is made.
type modelOptions struct {
	model *hfconfig.Model
	draft bool // is_draft_model
}

// modelConfig returns the launcher's ModelConfig. Like ServerArgs, it is made
// when first asked for, and keeps what the settings were then.
func (s *state) modelConfig() (*modelConfig, error) {
	if s.launcher != nil {
		return s.launcher, nil
	}
	var m *modelConfig
	var err error
	s.Apart(func() { m, err = s.newModelConfig(modelOptions{model: s.model}) })
	if err != nil {
		return nil, err
	}
	s.launcher = m
	if m.hybridSWA && s.since(r0518) {
		s.info("Hybrid SWA model detected. architectures=%s", pyList(m.archs))
	}
	return m, nil
}

// newModelConfig makes a ModelConfig from the settings as they are now.
func (s *state) newModelConfig(o modelOptions) (*modelConfig, error) {
	m := &modelConfig{draft: o.draft}
	if err := s.quantizeAndServe(); err != nil {
		return nil, err
	}
	if err := s.loadConfig(m, o.model); err != nil {
		return nil, err
	}
	multimodal := s.enableMultimodal(m)
	if o.draft {
		s.draftArch(m)
	}
	s.expertLayout(m)
	m.generation = !notGenerating.has(s.r, m.archs...) && !s.Bool("is_embedding") && !s.embeddingGemma(m)
	s.deriveMultimodal(m, multimodal)
	if err := s.deriveDtype(m); err != nil {
		return nil, err
	}
	if err := s.deriveContext(m); err != nil {
		return nil, err
	}
	s.deriveShapes(m)
	s.deriveHybrid(m)
	if err := s.verifyQuantization(m, o); err != nil {
		return nil, err
	}
	return m, s.verifyTransformers(m)
}

// quantizeAndServe is _validate_quantize_and_serve_config.
func (s *state) quantizeAndServe() error {
	if !s.Bool("quantize_and_serve") {
		return nil
	}
	methods := []string{"modelopt", "modelopt_fp4", "modelopt_fp8"}
	if s.since(r0510) {
		methods = append(methods, "modelopt_mixed")
	}
	if s.since(r0515) {
		methods = append(methods, "nvfp4_online")
	}
	if !slices.Contains(methods, s.Str("quantization")) {
		return valueError("quantize_and_serve requires ModelOpt quantization (set with --quantization {%s})", strings.Join(methods, ", "))
	}
	return refuse("NotImplementedError", "quantize_and_serve functionality is currently disabled due to compatibility issues. "+
		"Please use the separate quantize-then-deploy workflow instead. "+
		"Step 1: Quantize and export model. Step 2: Deploy the exported model.")
}

func (s *state) enableMultimodal(m *modelConfig) bool {
	if !s.Nil("enable_multimodal") {
		return s.Bool("enable_multimodal")
	}
	if textOnly.has(s.r, m.arch) && !(s.since(r0510) && s.Is("model_impl", "transformers")) {
		s.info("Multimodal is disabled for %s. To enable it, set --enable-multimodal.", m.modelType)
		return false
	}
	if m.arch == "MiMoV2ForCausalLM" && s.since(r0512) && !(has(m.hf, "vision_config") && has(m.hf, "audio_config")) {
		s.info("Multimodal is disabled for this MiMoV2 checkpoint: vision_config/audio_config not found in the model config (likely a text-only MiMoV2 variant).")
		return false
	}
	return true
}

// has is hasattr: the field is there, be it None.
func has(o attrs, name string) bool {
	_, ok := o[name]
	return ok
}

// deriveMultimodal is is_multimodal and what hangs on it.
func (s *state) deriveMultimodal(m *modelConfig, enabled bool) {
	parts := false // has_multimodal_subconfig
	if s.since(r0510) {
		towers := has(m.hf, "vision_config") || has(m.hf, "audio_config")
		parts = m.apart || towers && (s.r == r0510 || s.Is("model_impl", "transformers"))
	}
	textOnly := false // is_lm_only
	if s.since(r0518) {
		textOnly, _ = m.hf.Bool("language_model_only")
		textOnly = textOnly || s.since(r0523) && s.Bool("language_model_only")
	}
	vision, _ := m.hf.Int("vision_n_layers")
	tower := s.since(r0523) && m.modelType == "deepseek_v41" && vision > 0
	m.multimodal = enabled && !textOnly && (multimodalArchs.has(s.r, m.archs...) || parts || tower)
	m.piecewiseVision = enabled && piecewiseVision.has(s.r, m.archs...)
	m.breakableVision = enabled && breakableVision.has(s.r, m.archs...)
	m.noPiecewise = noPiecewiseArchs.has(s.r, m.archs...)
	switch {
	case s.since(r0515):
		m.noPiecewise = m.noPiecewise || m.multimodal && !piecewiseVision.has(s.r, m.archs...)
	case s.since(r0510):
		m.noPiecewise = m.noPiecewise || s.dsaText(m)
	}
}

// embeddingGemma is is_embedding_gemma (from 0.5.18 on).
func (s *state) embeddingGemma(m *modelConfig) bool {
	both, _ := m.text.Bool("use_bidirectional_attention")
	return s.since(r0518) && m.text.Text("model_type") == "gemma3_text" && both
}

// expertLayout finds experts in another format than the rest of the model.
func (s *state) expertLayout(m *modelConfig) {
	q := m.hf.Obj("quantization_config")
	if s.since(r0515) && strings.EqualFold(q.Text("quant_algo"), "MIXED_PRECISION") &&
		strings.EqualFold(q.Text("moe_quant_algo"), "NVFP4") && q.Has("group_size") {
		m.nvfp4MoE = true
		group, _ := q.Int("group_size")
		s.info("Auto-detected hybrid FP8+NVFP4 checkpoint (NVFP4 MoE group_size=%d, %d exclude_modules)", group, len(q.List("ignore")))
	}
	if s.since(r0523) {
		m.fp4Experts = q.Text("routed_experts_quant_method") == "mxfp4" ||
			(m.arch == "MiMoV2ForCausalLM" || m.arch == "MiMoV2FlashForCausalLM") && strings.EqualFold(q.Text("store_dtype"), "mxfp4")
	}
	if s.since(r0512) && strings.HasPrefix(m.arch, "DeepseekV4ForCausalLM") && !q.Has("routed_experts_quant_method") {
		m.fp4Experts = s.envSwitch("SGLANG_DSV4_FP4_EXPERTS", true)
	}
}

// torchDtypes are the spellings of a dtype (_STR_DTYPE_TO_TORCH_DTYPE).
var torchDtypes = map[string]string{
	"half": "float16", "float16": "float16", "float": "float32", "float32": "float32", "bfloat16": "bfloat16",
}

// deriveDtype is _get_and_verify_dtype.
func (s *state) deriveDtype(m *modelConfig) error {
	config := torchDtypes[m.text.Text("dtype")]
	if config == "" {
		config = "float32"
	}
	asked := strings.ToLower(s.Str("dtype"))
	kind := m.text.Text("model_type")
	m.dtype = config
	switch {
	case asked != "auto":
		m.dtype = torchDtypes[asked]
		if m.dtype == "" {
			return valueError("Unknown dtype: %s", asked)
		}
	case config == "float32" && strings.HasPrefix(kind, "gemma"):
		version := strings.TrimPrefix(kind, "gemma")
		s.info("For Gemma %s, we downcast float32 to bfloat16 instead of float16 by default. Please specify `dtype` if you want to use float16.", version[:min(1, len(version))])
		m.dtype = "bfloat16"
	case config == "float32":
		m.dtype = "float16"
	}
	if m.dtype == config || s.since(r0515) { // from 0.5.15 on at level DEBUG
		return nil
	}
	switch {
	case m.dtype == "float32":
		s.info("Upcasting torch.%s to torch.%s.", config, m.dtype)
	case config == "float32":
		s.info("Downcasting torch.%s to torch.%s.", config, m.dtype)
	default:
		s.warn("Casting torch.%s to torch.%s.", config, m.dtype)
	}
	return nil
}

// contextKeys are the fields that hold the context length, first match wins
// (CONTEXT_LENGTH_KEYS).
var contextKeys = []string{"max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings"}

// ropeByLayer are model types whose rope parameters transformers keeps by kind
// of layer from 5.0 on, so that their factor is not seen
// (configuration_*.py of 5.19.0).
var ropeByLayer = []string{
	"gemma3_text", "gemma3n_text", "gemma4_text", "gemma4_unified_text", "modernbert", "modernbert-decoder",
	"t5gemma2_text", "laguna", "mellum", "mimo_v2_flash", "olmo3", "embedding_gemma2_text", "diffusion_gemma_text",
}

// ropeFactor is what get_context_length multiplies the trained length with.
func (s *state) ropeFactor(m *modelConfig) float64 {
	r := m.text.Obj("rope_scaling")
	five := s.transformersSince("5.0.0")
	if five && r == nil {
		r = m.text.Obj("rope_parameters")
	}
	kind := r.Text("rope_type")
	if five && kind == "" {
		kind = r.Text("type")
	}
	f, ok := r.Float("factor")
	switch {
	case !ok, r.Has("original_max_position_embeddings"), kind == "llama3":
		return 1
	case five && (kind == "yarn" || kind == "longrope"): // transformers adds the original length
		return 1
	case five && slices.Contains(ropeByLayer, m.text.Text("model_type")):
		return 1
	}
	return f
}

// deriveContext is _derive_context_length.
func (s *state) deriveContext(m *modelConfig) error {
	derived := 2048
	for _, k := range contextKeys {
		if n, ok := m.text.Int(k); ok {
			derived = int(s.ropeFactor(m) * float64(n))
			break
		}
	}
	m.contextLen = derived
	if s.Nil("context_length") {
		if m.arch == "EmbeddingGemma2Model" && s.since(r0523) {
			m.contextLen = min(derived, 8192)
		}
		return nil
	}
	asked := s.Int("context_length")
	m.contextLen = asked
	if asked <= derived {
		return nil
	}
	who := "User-specified"
	if m.draft {
		who = "Target model's"
	}
	text := fmt.Sprintf("Warning: %s context_length (%d) is greater than the derived context_length (%d). "+
		"This may lead to incorrect model outputs or CUDA errors. Note that the derived context_length may differ from max_position_embeddings in the model's config.", who, asked, derived)
	if !s.envSwitch("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", false) {
		return valueError("%s To allow overriding this maximum, set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1", text)
	}
	s.warn("%s", text)
	if m.draft && s.since(r0506) {
		s.warn("Overriding the draft model's max_position_embeddings to %d.", asked)
	}
	return nil
}

// deriveShapes is _derive_model_shapes.
func (s *state) deriveShapes(m *modelConfig) {
	m.mla = mlaArchs.has(s.r, m.archs...)
	switch {
	case slices.Contains(m.archs, "DeepseekVL2ForCausalLM"):
		use, ok := m.text.Bool("use_mla")
		m.mla = use || !ok
	case slices.Contains(m.archs, "PixtralForConditionalGeneration") && s.since(r0512),
		slices.Contains(m.archs, "BailingMoeForCausalLMNextN") && s.since(r0523):
		m.mla = m.text.Has("kv_lora_rank")
	}
	m.ssm = s.since(r0523) && (slices.Contains(m.archs, "Mamba2ForCausalLM") ||
		slices.Contains(m.archs, "FalconMambaForCausalLM") || slices.Contains(m.archs, "MambaForCausalLM"))
	m.layers = m.text.IntOr("num_hidden_layers", 0)
	m.attnLayers = m.layers
	switch {
	case slices.Contains(m.archs, "LongcatFlashForCausalLM"):
		m.attnLayers = 2 * m.layers
	case slices.Contains(m.archs, "IQuestLoopCoderForCausalLM") && s.since(r0508):
		m.attnLayers = m.layers * m.text.IntOr("loop_num", 1)
	case slices.Contains(m.archs, "NanbeigeForCausalLM") && s.since(r0523):
		m.attnLayers = m.layers * m.text.IntOr("num_loops", 1)
	case slices.Contains(m.archs, "WhisperForConditionalGeneration") && s.since(r0510):
		m.attnLayers = m.text.IntOr("encoder_layers", 0) + 2*m.text.IntOr("decoder_layers", m.layers)
	}
	m.kvHeads = s.totalKVHeads(m)
}

// totalKVHeads is get_total_num_kv_heads.
func (s *state) totalKVHeads(m *modelConfig) int {
	newer, _ := m.hf.Bool("new_decoder_architecture")
	if one, _ := m.text.Bool("multi_query"); one && !newer {
		return 1
	}
	if m.modelType == "dbrx" || m.modelType == "mpt" {
		return m.hf.Obj("attn_config").IntOr("kv_n_heads", m.hf.IntOr("num_attention_heads", 0))
	}
	for _, k := range []string{"n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups"} {
		if n, ok := m.text.Int(k); ok {
			return n
		}
	}
	if m.ssm {
		return 0
	}
	return m.text.IntOr("num_attention_heads", 0)
}

// deriveHybrid is _derive_hybrid_model; up to 0.5.6 is_hybrid_model.
func (s *state) deriveHybrid(m *modelConfig) {
	if !s.since(r0508) {
		chunk, ok := m.text.Int("attention_chunk_size")
		if r := s.Float("hybrid_kvcache_ratio"); r > 0 && m.arch == "Llama4ForConditionalGeneration" && ok && s.Int("context_length") > chunk {
			m.hybridRatio = r
		}
		return
	}
	window, _ := m.text.Int("sliding_window")
	opted, _ := m.text.Bool("is_hybrid_swa")
	switch {
	case slices.Contains(m.archs, "BeamForCausalLM") && s.since(r0523):
		m.hybridSWA = slices.Contains(m.text.Strings("layer_types"), "sliding_attention")
	case slices.Contains(m.archs, "LagunaForCausalLM") && s.since(r0515) && window == 0:
	default:
		m.hybridSWA = hybridSWAArchs.has(s.r, m.archs...) || opted && s.since(r0515)
	}
	m.hybridSWA = m.hybridSWA && !s.Bool("disable_hybrid_swa_memory")
	if m.hybridSWA && (s.r == r0512 || s.r == r0515) {
		s.info("Hybrid swa model: self.hf_config.architectures=%s", pyList(m.archs))
	}
}

// verifyTransformers is _verify_transformers_version (0.5.8 to 0.5.12): GLM-4.6V
// needs the library's version 5, and two releases warn of it for all others.
func (s *state) verifyTransformers(m *modelConfig) error {
	if !s.since(r0508) || s.since(r0515) {
		return nil
	}
	five := s.transformersSince("5.0.0")
	needs := strings.Contains(strings.ToLower(s.Str("model_path")), "glm-4.6v") ||
		m.hf.Obj("vision_config").Text("model_type") == "glm4v_moe_vision"
	switch {
	case needs && !five:
		return valueError("Transformers version %s is not supported for model %s or model type %s. Please upgrade transformers to >= 5.0.0.",
			s.transformers(), s.Str("model_path"), m.modelType)
	case five && !needs && !s.since(r0510):
		s.warn("Transformers version %s is used for model type %s. "+
			"If you experience issues related to RoPE parameters, "+
			"they may be due to incompatibilities between Transformers >=5.0.0 and some models. "+
			"You can try downgrading to transformers==4.57.1 as a workaround.", s.transformers(), m.modelType)
	}
	return nil
}

// quantMethod is get_quantization_config: the method named in config.json.
func (m *modelConfig) quantMethod() string {
	return m.hf.Obj("quantization_config").Text("quant_method")
}

// dsa is is_deepseek_nsa: DeepSeek's sparse attention.
func (s *state) dsa(m *modelConfig) bool {
	return dsaArchs.has(s.r, m.arch) && m.hf.Has("index_topk")
}

// dsaText asks the same of the configuration of the language model.
func (s *state) dsaText(m *modelConfig) bool {
	archs := m.text.Strings("architectures")
	return len(archs) > 0 && dsaArchs.has(s.r, archs[0]) && m.text.Has("index_topk")
}

// heads is get_num_kv_heads: KV heads of one rank.
func (m *modelConfig) heads(tp int) int { return max(1, m.kvHeads/max(1, tp)) }
