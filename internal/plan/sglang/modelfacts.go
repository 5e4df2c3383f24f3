package sglang

import (
	"fmt"
	"strings"

	"shakedown/internal/hfconfig"
)

// modelConfig is what SGLang's ModelConfig derives from a checkpoint's files
// and from some settings (sglang/srt/configs/model_config.py).
type modelConfig struct {
	hf   attrs // the configuration object, as transformers holds it
	text attrs // that of the language part; the same when there is only one

	arch      string // hf.architectures[0], "" when there is none
	modelType string

	quantization string // "" is None
	quantConfig  attrs  // of config.json or hf_quant_config.json; nil when the checkpoint is not quantised
	ue8m0        bool   // the checkpoint's scales are UE8M0
	dtype        string // "bfloat16", "float16", "float32"
	contextLen   int
	mla          bool // attention_arch is MLA
	generation   bool // is_generation
	multimodal   bool // is_multimodal
	hybridSWA    bool // is_hybrid_swa
	kvHeads      int  // get_total_num_kv_heads
	layers       int  // num_hidden_layers
	attnLayers   int  // num_attention_layers
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
	m, err := s.newModelConfig(modelOptions{model: s.model})
	if err != nil {
		return nil, err
	}
	s.launcher = m
	return m, nil
}

// newModelConfig makes a ModelConfig from the settings as they are now.
func (s *state) newModelConfig(o modelOptions) (*modelConfig, error) {
	m := &modelConfig{}
	if err := s.loadConfig(m, o.model); err != nil {
		return nil, err
	}
	multimodal := s.enableMultimodal(m)
	m.generation = isGeneration(m.hf.Strings("architectures")) && !s.Bool("is_embedding")
	m.multimodal = multimodal && s.isMultimodalArch(m.arch)
	if err := s.deriveDtype(m); err != nil {
		return nil, err
	}
	if err := s.deriveContext(m, o); err != nil {
		return nil, err
	}
	s.deriveShapes(m)
	s.deriveHybrid(m)
	if err := s.verifyQuantization(m, o); err != nil {
		return nil, err
	}
	s.verifyTransformers(m)
	return m, nil
}

// loadConfig is AutoConfig.from_pretrained with what get_config does behind it.
func (s *state) loadConfig(m *modelConfig, model *hfconfig.Model) error {
	m.modelType = model.Config.Text("model_type")
	if !s.knowsModelType(m.modelType) && !s.readsAsV3(m.modelType) {
		switch remote := model.Config.Obj("auto_map").Has("AutoConfig"); {
		case !remote:
			return valueError(unknownType, m.modelType)
		case !s.Bool("trust_remote_code"):
			return valueError("The repository %s contains custom code which must be executed to correctly load the model. "+
				"Please pass the argument `trust_remote_code=True` to allow custom code to be run.", model.Path)
		}
	}
	m.hf = make(attrs, len(model.Config))
	for k, v := range model.Config {
		m.hf[k] = v
	}
	m.arch = model.Architecture()
	if s.readsAsV3(m.modelType) {
		m.modelType, m.arch = "deepseek_v3", "DeepseekV3ForCausalLM"
		m.hf["architectures"] = []any{m.arch}
	}
	m.text = m.hf
	for _, name := range []string{"text_config", "llm_config", "language_config"} {
		if t := m.hf.Obj(name); t != nil {
			m.text = t
			break
		}
	}
	for k, v := range m.text {
		if _, ok := m.hf[k]; !ok && v != nil {
			m.hf[k] = v
		}
	}
	return nil
}

const unknownType = "The checkpoint you are trying to load has model type `%s` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date."

// readsAsV3: get_config reads a DeepSeek V3.2 configuration that AutoConfig
// does not know as one of V3 (_load_deepseek_v32_model, from 0.5.6 on).
func (s *state) readsAsV3(modelType string) bool {
	return modelType == "deepseek_v32" && s.since(r0506) && !s.knowsModelType(modelType)
}

// textOnly are architectures that are multimodal only when asked for.
var textOnly = map[string]bool{
	"Gemma3ForConditionalGeneration":  true,
	"Llama4ForConditionalGeneration":  true,
	"Step3VLForConditionalGeneration": true,
}

func (s *state) enableMultimodal(m *modelConfig) bool {
	if !s.Nil("enable_multimodal") && s.Bool("enable_multimodal") {
		return true
	}
	if textOnly[m.arch] {
		s.info("Multimodal is disabled for %s. To enable it, set --enable-multimodal.", m.modelType)
		return false
	}
	return true
}

// notGenerating are architectures that only embed or classify
// (is_generation_model).
var notGenerating = map[string]bool{
	"LlamaEmbeddingModel": true, "MistralModel": true, "LlamaForSequenceClassification": true,
	"LlamaForSequenceClassificationWithNormal_Weights": true, "InternLM2ForRewardModel": true,
	"Qwen2ForRewardModel": true, "Qwen3ForRewardModel": true, "Qwen2ForSequenceClassification": true,
	"Qwen3ForSequenceClassification": true, "CLIPModel": true, "BertModel": true, "Contriever": true,
	"BertForSequenceClassification": true, "XLMRobertaModel": true,
	"XLMRobertaForSequenceClassification": true, "Gemma2ForSequenceClassification": true,
}

func isGeneration(archs []string) bool {
	for _, a := range archs {
		if notGenerating[a] {
			return false
		}
	}
	return true
}

// multimodalArchs is multimodal_model_archs.
var multimodalArchs = map[string]bool{}

func init() {
	for _, a := range strings.Fields(`CLIPModel DeepseekVL2ForCausalLM Ernie4_5_VLMoeForConditionalGeneration
		Gemma3ForConditionalGeneration Gemma3nForConditionalGeneration Glm4vForConditionalGeneration
		Glm4vMoeForConditionalGeneration GlmOcrForConditionalGeneration GlmAsrForConditionalGeneration
		Grok1VForCausalLM Grok1AForCausalLM LlavaLlamaForCausalLM Llama4ForConditionalGeneration
		LlavaMistralForCausalLM LlavaQwenForCausalLM LlavaForConditionalGeneration LlavaVidForCausalLM
		LightOnOCRForConditionalGeneration MiniCPMO MiniCPMV Mistral3ForConditionalGeneration
		MultiModalityCausalLM MllamaForConditionalGeneration NemotronH_Nano_VL_V2
		PixtralForConditionalGeneration Qwen2AudioForConditionalGeneration Qwen2VLForConditionalGeneration
		Qwen2_5_VLForConditionalGeneration Qwen3VLForConditionalGeneration
		Qwen3VLMoeForConditionalGeneration Qwen3_5ForConditionalGeneration
		Qwen3_5MoeForConditionalGeneration Qwen3OmniMoeForConditionalGeneration
		KimiVLForConditionalGeneration InternVLChatModel InternS1ForConditionalGeneration
		InternS1ProForConditionalGeneration Phi4MMForCausalLM Step3VLForConditionalGeneration
		POINTSV15ChatModel DotsVLMForCausalLM DotsOCRForCausalLM Sarashina2VisionForCausalLM
		NVILAForConditionalGeneration NVILALiteForConditionalGeneration DeepseekOCRForCausalLM
		JetVLMForConditionalGeneration PaddleOCRVLForConditionalGeneration MiDashengLMModel
		StepVLForConditionalGeneration KimiK25ForConditionalGeneration`) {
		multimodalArchs[a] = true
	}
}

func (s *state) isMultimodalArch(arch string) bool { return multimodalArchs[arch] }

// torchDtypes are the spellings of a dtype (_STR_DTYPE_TO_TORCH_DTYPE).
var torchDtypes = map[string]string{
	"half": "float16", "float16": "float16", "float": "float32", "float32": "float32", "bfloat16": "bfloat16",
}

// deriveDtype is _get_and_verify_dtype.
func (s *state) deriveDtype(m *modelConfig) error {
	config := m.text.Text("dtype")
	if config == "" {
		config = m.text.Text("torch_dtype")
	}
	config = torchDtypes[config]
	if config == "" {
		config = "float32"
	}
	asked := strings.ToLower(s.Str("dtype"))
	m.dtype = config
	switch {
	case asked != "auto":
		m.dtype = torchDtypes[asked]
		if m.dtype == "" {
			return valueError("Unknown dtype: %s", asked)
		}
	case config == "float32" && strings.HasPrefix(m.text.Text("model_type"), "gemma"):
		m.dtype = "bfloat16"
	case config == "float32":
		m.dtype = "float16"
	}
	switch {
	case m.dtype == config:
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

// deriveContext is _derive_context_length.
func (s *state) deriveContext(m *modelConfig, o modelOptions) error {
	factor := 1.0
	if r := m.text.Obj("rope_scaling"); r != nil {
		if f, ok := r.Float("factor"); ok && !r.Has("original_max_position_embeddings") && r.Text("rope_type") != "llama3" {
			factor = f
		}
	}
	derived := 2048
	for _, k := range contextKeys {
		if n, ok := m.text.Int(k); ok {
			derived = int(factor * float64(n))
			break
		}
	}
	m.contextLen = derived
	if s.Nil("context_length") {
		return nil
	}
	asked := s.Int("context_length")
	m.contextLen = asked
	if asked <= derived {
		return nil
	}
	who := "User-specified"
	if o.draft {
		who = "Target model's"
	}
	text := fmt.Sprintf("Warning: %s context_length (%d) is greater than the derived context_length (%d). "+
		"This may lead to incorrect model outputs or CUDA errors. Note that the derived context_length may differ from max_position_embeddings in the model's config.", who, asked, derived)
	if !s.envSwitch("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", false) {
		return valueError("%s To allow overriding this maximum, set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1", text)
	}
	s.warn("%s", text)
	return nil
}

// mlaArchs have multi-head latent attention.
var mlaArchs = map[string]bool{
	"DeepseekV2ForCausalLM": true, "DeepseekV32ForCausalLM": true, "DeepseekV3ForCausalLM": true,
	"DeepseekV3ForCausalLMNextN": true, "Glm4MoeLiteForCausalLM": true, "GlmMoeDsaForCausalLM": true,
	"LongcatFlashForCausalLM": true, "LongcatFlashForCausalLMNextN": true, "DotsVLMForCausalLM": true,
	"MistralLarge3ForCausalLM": true, "PixtralForConditionalGeneration": true,
	"MistralLarge3ForCausalLMEagle": true, "KimiK25ForConditionalGeneration": true,
	"MiniCPM3ForCausalLM": true, "KimiVLForConditionalGeneration": true, "KimiLinearForCausalLM": true,
	"BailingMoeV2_5ForCausalLM": true, "BailingMoeForCausalLMNextN": true,
}

// deriveShapes is _derive_model_shapes.
func (s *state) deriveShapes(m *modelConfig) {
	m.mla = mlaArchs[m.arch]
	if m.arch == "DeepseekVL2ForCausalLM" {
		use, ok := m.text.Bool("use_mla")
		m.mla = use || !ok
	}
	m.layers = m.text.IntOr("num_hidden_layers", 0)
	m.attnLayers = m.layers
	if m.arch == "LongcatFlashForCausalLM" {
		m.attnLayers = 2 * m.layers
	}
	for _, k := range []string{"n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups", "num_attention_heads"} {
		if n, ok := m.text.Int(k); ok {
			m.kvHeads = n
			break
		}
	}
}

// deriveHybrid is _derive_hybrid_model.
func (s *state) deriveHybrid(m *modelConfig) {
	switch m.arch {
	case "Llama4ForConditionalGeneration", "GptOssForCausalLM", "MiMoV2FlashForCausalLM", "MiMoV2MTP", "Step3p5ForCausalLM", "Step3p5MTP":
		m.hybridSWA = !s.Bool("disable_hybrid_swa_memory")
	}
}

// verifyTransformers is _verify_transformers_version.
func (s *state) verifyTransformers(m *modelConfig) {
	if s.r == r0509 && s.transformersSince("5.0.0") {
		s.warn("Transformers version %s is used for model type %s. "+
			"If you experience issues related to RoPE parameters, "+
			"they may be due to incompatibilities between Transformers >=5.0.0 and some models. "+
			"You can try downgrading to transformers==4.57.1 as a workaround.", s.deps["transformers"], m.modelType)
	}
}

// quantMethod is get_quantization_config: the method named in config.json.
func (m *modelConfig) quantMethod() string {
	return m.hf.Obj("quantization_config").Text("quant_method")
}

// dsa is is_deepseek_nsa: DeepSeek's sparse attention.
func (s *state) dsa(m *modelConfig) bool { return dsaArchs[m.arch] && m.hf.Has("index_topk") }

var dsaArchs = map[string]bool{
	"DeepseekV3ForCausalLM": true, "DeepseekV32ForCausalLM": true, "DeepseekV3ForCausalLMNextN": true,
	"MistralLarge3ForCausalLM": true, "PixtralForConditionalGeneration": true, "GlmMoeDsaForCausalLM": true,
}

// heads is get_num_kv_heads: KV heads of one rank.
func (m *modelConfig) heads(tp int) int { return max(1, m.kvHeads/max(1, tp)) }
