package vllm

import (
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
)

// model is what vLLM derives from a checkpoint's config.json before it decides
// anything (ModelConfig and ModelArchitectureConfig). Sizes are those of the
// whole model, before any parallelism.
type model struct {
	files  *hfconfig.Model
	config hfconfig.Object // config.json
	text   hfconfig.Object // its language model; the same object for text models

	architectures []string     // as config.json, or a draft model's override, lists them
	name          string       // architecture that was resolved
	class         architecture // what its class says
	modelType     string
	textType      string // model_type of the language model

	hidden, layers, heads, kvHeads, headSize, vocab, experts int

	mla           bool // latent attention, as DeepSeek's
	dsa           bool // latent attention with an index of selected tokens (index_topk)
	slidingWindow int  // 0: none
	layerTypes    []string
	chunk         any             // attention_chunk_size
	quantization  hfconfig.Object // quantization_config with vLLM's quant_method, nil without one
	prefixLM      bool            // bidirectional attention over image tokens
	encoderDec    bool            // encoder-decoder model

	maxLen    float64 // longest sequence that config.json names; 0: none
	maxLenKey string
}

// readModel derives the facts of a checkpoint for a release.
func readModel(files *hfconfig.Model, r release, mlaDisabled bool) *model {
	m := &model{files: files, config: files.Config}
	m.modelType = files.Config.Text("model_type")
	m.text = languageConfig(files.Config)
	m.textType = m.text.Text("model_type")
	m.architectures = files.Config.Strings("architectures")
	m.hidden = firstInt(m.text, "hidden_size", "n_embd", "d_model")
	m.layers = firstInt(m.text, "num_hidden_layers", "n_layer", "encoder_layers")
	m.heads = firstInt(m.text, "num_attention_heads", "n_head", "encoder_attention_heads")
	m.vocab = m.text.IntOr("vocab_size", 0)
	m.kvHeads = m.deriveKVHeads()
	for _, name := range []string{"num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts"} {
		if n, ok := m.text.Int(name); ok {
			m.experts = n
			break
		}
		if list := m.text.List(name); len(list) > 0 {
			m.experts, _ = hfconfig.Int(list[0])
			break
		}
	}
	if m.textType == "nemotron_h" && r >= v0191 {
		m.experts = max(m.experts, 8) // the default of transformers' class
	}
	m.mla = slices.Contains(mlaTypes(r), m.textType) && m.text.Has("kv_lora_rank")
	m.dsa = m.text.Has("index_topk")
	m.headSize = m.deriveHeadSize(r, mlaDisabled)
	m.layerTypes = layerTypes(m.text, m.textType)
	m.slidingWindow = slidingWindow(m.text, m.textType)
	m.chunk = pythonInt(m.text, "attention_chunk_size")
	if _, named := m.text["attention_chunk_size"]; !named && m.textType == "llama4_text" {
		m.chunk = 8192 // Llama4TextConfig's own default
	}
	m.quantization = quantizationConfig(files)
	m.prefixLM = isPrefixLM(files.Config, r)
	m.encoderDec, _ = files.Config.Bool("is_encoder_decoder")
	m.deriveMaxLen()
	return m
}

// languageConfig is the part of config.json that describes the language model
// (transformers' get_text_config, with vLLM's llm_config).
func languageConfig(c hfconfig.Object) hfconfig.Object {
	if inner := c.Obj("thinker_config"); inner != nil {
		c = inner
	}
	for _, name := range []string{"text_config", "llm_config", "language_config", "decoder", "generator"} {
		if inner := c.Obj(name); inner != nil {
			return inner
		}
	}
	return c
}

// firstInt is the first of some fields that is there. The later ones are older
// models' own names (attribute_map of their configuration classes).
func firstInt(o hfconfig.Object, fields ...string) int {
	for _, name := range fields {
		if n, ok := o.Int(name); ok {
			return n
		}
	}
	return 0
}

func pythonInt(o hfconfig.Object, name string) any {
	if n, ok := o.Int(name); ok {
		return n
	}
	return nil
}

// mlaTypes are the model types whose attention vLLM runs as latent attention
// when they have a kv_lora_rank (ModelArchConfigConvertorBase.is_deepseek_mla,
// in 0.11.2 ModelConfig.is_deepseek_mla).
func mlaTypes(r release) []string {
	list := "deepseek_v2 deepseek_v3 deepseek_v32 deepseek_mtp kimi_k2 kimi_linear longcat_flash pangu_ultra_moe pangu_ultra_moe_mtp"
	if r >= v0160 {
		list += " glm_moe_dsa glm4_moe_lite glm4_moe_lite_mtp"
	}
	if r >= v0191 {
		list += " AXK1 axk1 bailing_hybrid"
	}
	if r >= v0320 {
		list += " dots3_note k3_dspark glm5_next glm5_next_text bailing_hybrid_mtp bailing_hybrid_v3_mtp hy_v4 hy_v4_mtp"
	}
	return names(list)
}

// deriveKVHeads counts the heads of keys and values (get_total_num_kv_heads).
func (m *model) deriveKVHeads() int {
	switch m.modelType {
	case "mamba", "falcon_mamba":
		return 0
	case "falcon", "RefinedWeb", "RefinedWebModel":
		grouped, _ := m.text.Bool("new_decoder_architecture")
		if one, ok := m.text.Bool("multi_query"); !grouped && (one || !ok) {
			return 1
		}
	case "mpt", "dbrx":
		return m.text.Obj("attn_config").IntOr("kv_n_heads", m.heads)
	}
	for _, name := range []string{"n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups"} {
		if n, ok := m.text.Int(name); ok {
			return n
		}
	}
	return m.heads
}

func (m *model) deriveHeadSize(r release, mlaDisabled bool) int {
	switch m.modelType {
	case "mamba", "falcon_mamba":
		return 0
	case "zamba2":
		return m.text.IntOr("attention_head_dim", 0)
	case "gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text", "diffusion_gemma_text":
		return max(m.text.IntOr("head_dim", 256), m.text.IntOr("global_head_dim", 512))
	}
	if m.mla {
		rope := m.text.IntOr("qk_rope_head_dim", 0)
		if !mlaDisabled {
			return m.text.IntOr("kv_lora_rank", 0) + rope
		}
		if nope := m.text.IntOr("qk_nope_head_dim", 0); rope != 0 && nope != 0 {
			return rope + nope
		}
	}
	for _, name := range []string{"head_dim", "hidden_size_per_head"} {
		if n, ok := m.text.Int(name); ok {
			return n
		}
	}
	if m.heads == 0 {
		return 0
	}
	return m.hidden / m.heads
}

// windowSwitched are the model types whose configuration class drops the
// sliding window unless use_sliding_window is true (transformers,
// models/*/configuration_*.py).
var windowSwitched = names("qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen2_vl qwen2_5_vl qwen2_vl_text qwen2_5_vl_text qwen3_vl_text qwen2_audio")

// windowDefault are sliding windows that a configuration class fills in when
// config.json names none (transformers).
var windowDefault = map[string]int{
	"mistral": 4096, "gemma2": 4096, "gemma3_text": 4096, "gpt_oss": 128, "cohere2": 4096, "starcoder2": 0,
}

func slidingWindow(text hfconfig.Object, kind string) int {
	if slices.Contains(windowSwitched, kind) {
		if on, _ := text.Bool("use_sliding_window"); !on {
			return 0
		}
	}
	if _, present := text["sliding_window"]; !present {
		return windowDefault[kind]
	}
	return text.IntOr("sliding_window", 0)
}

// mostLayers bounds the work for a config.json that asks for absurdly many
// layers; no model has a tenth of them.
const mostLayers = 4096

// layerTypes are the kinds of the attention layers, as the configuration class
// of the model type derives them when config.json does not list them
// (transformers).
func layerTypes(text hfconfig.Object, kind string) []string {
	if list := text.Strings("layer_types"); len(list) > 0 {
		return list
	}
	n := min(max(0, text.IntOr("num_hidden_layers", 0)), mostLayers)
	every := func(period int, usual, special string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = usual
			if (i+1)%period == 0 {
				out[i] = special
			}
		}
		return out
	}
	switch kind {
	case "gemma2":
		return every(2, "sliding_attention", "full_attention")
	case "gemma3_text":
		return every(max(1, text.IntOr("sliding_window_pattern", 6)), "sliding_attention", "full_attention")
	case "cohere2":
		return every(max(1, text.IntOr("sliding_window_pattern", 4)), "sliding_attention", "full_attention")
	case "gpt_oss":
		return every(2, "sliding_attention", "full_attention")
	case "qwen3_next":
		return every(max(1, text.IntOr("full_attention_interval", 4)), "linear_attention", "full_attention")
	case "llama4_text":
		return every(4, "chunked_attention", "full_attention")
	}
	return nil
}

// interleaved says whether layers of several kinds alternate.
func (m *model) interleaved() bool {
	for _, t := range m.layerTypes {
		if t != m.layerTypes[0] {
			return true
		}
	}
	return false
}

// isPrefixLM says whether image tokens attend in both directions
// (is_mm_prefix_lm).
func isPrefixLM(c hfconfig.Object, r release) bool {
	if b, ok := c.Bool("is_mm_prefix_lm"); ok {
		return b
	}
	if r < v0160 {
		return false
	}
	if kind := c.Text("model_type"); r >= v0240 && (strings.HasPrefix(kind, "gemma4") || kind == "diffusion_gemma_text" || kind == "diffusion_gemma" && r >= v0320) {
		return languageConfig(c).Text("use_bidirectional_attention") == "vision"
	}
	list := "gemma3 paligemma molmo2"
	if r >= v0191 {
		list += " bagel"
	}
	if r >= v0240 {
		list += " moondream3"
	}
	return slices.Contains(names(list), c.Text("model_type"))
}

// quantizationConfig is config.json's quantization_config, or
// hf_quant_config.json where the former is missing, with quant_method in
// vLLM's spelling (get_config, _normalize_quantization_config).
func quantizationConfig(files *hfconfig.Model) hfconfig.Object {
	q := files.Config.Obj("quantization_config")
	if q == nil {
		q = files.HFQuant
	}
	if q == nil {
		q = files.Config.Obj("text_config").Obj("quantization_config")
	}
	if q == nil {
		q = files.Config.Obj("compression_config")
	}
	if q == nil {
		return nil
	}
	out := make(hfconfig.Object, len(q)+1)
	for k, v := range q {
		out[k] = v
	}
	method := strings.ToLower(q.Text("quant_method"))
	if q.Obj("producer").Text("name") == "modelopt" {
		switch algo := strings.ToUpper(q.Obj("quantization").Text("quant_algo")); algo {
		case "FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO":
			method = "modelopt"
		case "NVFP4":
			method = "modelopt_fp4"
		}
	}
	out["quant_method"] = strings.ReplaceAll(method, "compressed_tensors", "compressed-tensors")
	return out
}

// lengthKeys are the fields that can limit the length of a sequence; the
// smallest one counts, and model_max_length before all others.
var lengthKeys = names("max_position_embeddings n_positions max_seq_len seq_length model_max_length max_target_positions max_sequence_length max_seq_length seq_len")

func (m *model) deriveMaxLen() {
	for _, key := range lengthKeys {
		n, ok := m.text.Float(key)
		if !ok {
			continue
		}
		if m.maxLen == 0 || n < m.maxLen {
			m.maxLen, m.maxLenKey = n, key
		}
	}
	if n, ok := m.text.Float("model_max_length"); ok && n != 0 {
		m.maxLen, m.maxLenKey = n, "model_max_length"
	}
}

// rope are the rotary position parameters of one kind of layers.
type rope struct {
	kind     string
	factor   float64 // 0: not given
	original float64
}

// ropes reads the rotary parameters as transformers' rope_parameters gives
// them: one set, or one for each kind of layers.
func (m *model) ropes() []rope {
	p := m.text.Obj("rope_parameters")
	if p == nil {
		p = m.text.Obj("rope_scaling")
	}
	if p == nil {
		if m.text.Has("rope_theta") {
			return []rope{{kind: "default"}}
		}
		return nil
	}
	sets := []hfconfig.Object{p}
	if p.Obj("full_attention") != nil || p.Obj("sliding_attention") != nil {
		sets = nil
		for _, key := range []string{"full_attention", "sliding_attention", "chunked_attention", "linear_attention"} {
			if inner := p.Obj(key); inner != nil {
				sets = append(sets, inner)
			}
		}
	}
	var out []rope
	for _, set := range sets {
		r := rope{kind: set.Text("rope_type")}
		if r.kind == "" {
			r.kind = set.Text("type")
		}
		switch r.kind {
		case "su":
			r.kind = "longrope"
		case "mrope", "":
			r.kind = "default"
		}
		r.factor, _ = set.Float("factor")
		r.original, _ = set.Float("original_max_position_embeddings")
		out = append(out, r)
	}
	return out
}
