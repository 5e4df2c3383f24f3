package sglang

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"shakedown/internal/hfconfig"
)

// This file is AutoConfig.from_pretrained with what SGLang's get_config does
// before and behind it (sglang/srt/utils/hf_transformers_utils.py, from 0.5.12
// on hf_transformers/config.py).

// loadConfig makes the configuration objects of a checkpoint.
func (s *state) loadConfig(m *modelConfig, model *hfconfig.Model) error {
	m.modelType = model.Config.Text("model_type")
	remote := model.Config.Obj("auto_map").Has("AutoConfig")
	switch {
	case s.knowsModelType(m.modelType) || s.readsAsV3(m.modelType):
	case remote && s.Bool("trust_remote_code"):
	case remote:
		return valueError("The repository %[1]s contains custom code which must be executed to correctly load the model. "+
			"You can inspect the repository content at %[1]s .\n You can inspect the repository content at https://hf.co/%[1]s.\n"+
			"Please pass the argument `trust_remote_code=True` to allow custom code to be run.", model.Path)
	default:
		return valueError(unknownType, m.modelType)
	}
	_, layered := model.Config["layer_types"]
	if m.modelType == "mistral" && layered {
		m.modelType = "ministral" // AutoConfig tells them apart by that field
	}
	if s.readsAsV3(m.modelType) {
		m.modelType = "deepseek_v3"
	}
	m.hf = fill(model.Config, m.modelType)
	m.hf["model_type"] = m.modelType
	if model.Config.Text("model_type") == "deepseek_v32" && m.modelType == "deepseek_v3" {
		m.hf["architectures"] = []any{"DeepseekV3ForCausalLM"}
	}
	s.ownClass(m)
	m.text, m.apart = s.textConfig(m)
	if !s.registers(m.modelType) { // get_config reads those a second time
		for k, v := range m.text {
			if _, ok := m.hf[k]; !ok && v != nil {
				m.hf[k] = v
			}
		}
	}
	if err := s.overrideConfig(m); err != nil {
		return err
	}
	m.archs = m.hf.Strings("architectures")
	if len(m.archs) > 0 {
		m.arch = m.archs[0]
	}
	return nil
}

// olmo3 renames the architecture to that of the class which runs it
// (sglang/srt/configs/olmo3.py, 0.5.6).
func (s *state) olmo3(m *modelConfig) {
	archs := m.hf.Strings("architectures")
	if len(archs) > 0 && !slices.Contains(archs, "Olmo3ForCausalLM") {
		return
	}
	renamed := []any{}
	for _, a := range archs {
		if a != "Olmo3ForCausalLM" {
			renamed = append(renamed, a)
		}
	}
	m.hf["architectures"] = append(renamed, "Olmo2ForCausalLM")
}

// ownClass is what SGLang's own configuration classes change
// (sglang/srt/configs).
func (s *state) ownClass(m *modelConfig) {
	if !s.registers(m.modelType) {
		return
	}
	switch m.modelType {
	case "olmo3":
		s.olmo3(m)
	case "granitemoehybrid":
		if m.hf["layer_types"] != nil {
			return
		}
		layers := []any{}
		for i := range min(m.hf.IntOr("num_hidden_layers", 0), mostLayers) {
			if (i+1)%6 == 0 {
				layers = append(layers, "attention")
			} else {
				layers = append(layers, "mamba")
			}
		}
		m.hf["layer_types"] = layers
	}
}

// mostLayers is more layers than any model has.
const mostLayers = 1 << 12

const unknownType = "The checkpoint you are trying to load has model type `%s` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date."

// readsAsV3: get_config reads a DeepSeek V3.2 configuration that AutoConfig
// does not know as one of V3 (_load_deepseek_v32_model, from 0.5.6 on).
func (s *state) readsAsV3(modelType string) bool {
	return modelType == "deepseek_v32" && s.since(r0506) && !s.knowsModelType(modelType)
}

// textConfig is get_hf_text_config: the part that describes the language
// model, and whether it is an object of its own.
func (s *state) textConfig(m *modelConfig) (attrs, bool) {
	arch := ""
	if a := m.hf.Strings("architectures"); len(a) > 0 {
		arch = a[0]
	}
	if strings.HasPrefix(arch, "Llava") && strings.HasSuffix(arch, "ForCausalLM") {
		m.hf["dtype"] = "float16"
		return m.hf, false
	}
	names := []string{"text_config", "llm_config", "language_config", "thinker_config"}
	if s.since(r0510) {
		names = []string{"thinker_config", "llm_config", "language_config", "text_config"}
	}
	for _, name := range names {
		sub := m.hf.Obj(name)
		if sub == nil {
			continue
		}
		if inner := sub.Obj("text_config"); name == "thinker_config" && inner != nil {
			t := fill(inner, inner.Text("model_type"))
			t["dtype"] = dtypeField(sub)
			return t, true
		}
		t := fill(sub, sub.Text("model_type"))
		if s.since(r0512) && t["dtype"] == nil {
			t["dtype"] = m.hf["dtype"]
		}
		return t, true
	}
	sub := classDefaults()[m.modelType].text
	switch {
	case sub == "":
		return m.hf, false
	case m.modelType == "qwen2_vl" || m.modelType == "qwen2_5_vl":
		t := fill(m.hf, sub) // their config.json holds the fields of both
		t["model_type"] = sub
		return t, true
	}
	return fill(attrs{"model_type": sub}, sub), true
}

// dtypeField is the attribute dtype: the field of that name, or its old name.
func dtypeField(o hfconfig.Object) any {
	if o.Has("dtype") {
		return o["dtype"]
	}
	return o["torch_dtype"]
}

// overrideConfig applies --json-model-override-args to the whole
// configuration, which may be that of the language model too.
func (s *state) overrideConfig(m *modelConfig) error {
	text := s.Str("json_model_override_args")
	if text == "" || text == "{}" {
		return nil
	}
	o, err := hfconfig.Decode([]byte(text))
	if err != nil {
		return refuse("JSONDecodeError", "--json-model-override-args: %s", err)
	}
	for k, v := range o {
		inner, isObject := v.(hfconfig.Object)
		if sub := m.hf.Obj(k); isObject && sub != nil && s.since(r0518) {
			for ik, iv := range inner {
				if k == "text_config" {
					m.text[ik] = iv
				}
			}
			continue
		}
		m.hf[k] = v
		if !m.apart {
			m.text[k] = v
		}
	}
	return nil
}

// classDefault is what a configuration class knows by itself.
type classDefault struct {
	values map[string]any    // field: default, nil for None
	alias  map[string]string // field: the name that the class stores it under
	text   string            // model type of the text_config that it always has
}

// shortFields are the field names of configDefaults.
var shortFields = map[string]string{
	"ctx": "max_position_embeddings", "layers": "num_hidden_layers", "heads": "num_attention_heads",
	"kv": "num_key_value_heads", "width": "hidden_size", "head": "head_dim", "window": "sliding_window",
	"maxseq": "max_sequence_length", "seq": "seq_length", "maxlen": "max_seq_len", "modelmax": "model_max_length",
}

var classDefaults = sync.OnceValue(func() map[string]classDefault {
	out := map[string]classDefault{}
	for line := range strings.Lines(configDefaults) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		d := classDefault{values: map[string]any{}, alias: map[string]string{}}
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			if key == "text" {
				d.text = value
				continue
			}
			field := shortFields[key]
			if name, rest, ok := strings.Cut(value, ":"); ok {
				d.alias[field], value = name, rest
			}
			switch value {
			case "":
			case "-":
				d.values[field] = nil
			default:
				d.values[field] = json.Number(value)
			}
		}
		out[words[0]] = d
	}
	return out
})

// fill is a configuration object as its class makes it from a file: with the
// defaults of the class, and its own names told by the common ones.
func fill(o hfconfig.Object, modelType string) attrs {
	d := classDefaults()[modelType]
	out := make(attrs, len(o)+len(d.values)+2)
	for k, v := range o {
		out[k] = v
	}
	for field, name := range d.alias {
		if v, ok := out[name]; ok {
			out[field] = v
		}
	}
	for field, v := range d.values {
		if _, ok := out[field]; !ok {
			out[field] = v
		}
	}
	out["dtype"] = dtypeField(o)
	delete(out, "torch_dtype")
	if use, _ := out.Bool("use_sliding_window"); !use && (strings.HasPrefix(modelType, "qwen2") || strings.HasPrefix(modelType, "qwen3")) {
		out["sliding_window"] = nil
	}
	return out
}
