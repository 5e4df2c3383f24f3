package family

import (
	"fmt"
	"sort"
	"strings"

	"shakedown/internal/hfconfig"
)

// Families are the supported values of model_type, each with the function that
// describes a model of it.
var families = map[string]func(*fields) *Spec{
	"deepseek_v3":   deepseekV3,
	"deepseek_v32":  deepseekV32,
	"glm4_moe":      glm4Moe,
	"glm4_moe_lite": glm4MoeLite,
	"glm_moe_dsa":   glmMoeDsa,
	"kimi_k2":       kimiK2,
	"llama":         llama,
	"mistral":       mistral,
	"qwen2":         qwen2,
	"qwen3":         qwen3,
	"qwen3_moe":     qwen3Moe,
}

// Supported lists the values of model_type that Read accepts, sorted.
func Supported() []string {
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// UnsupportedError is a model_type of which this package knows nothing.
type UnsupportedError struct{ Type string }

func (e *UnsupportedError) Error() string {
	what := fmt.Sprintf("model_type %q is not supported", e.Type)
	if e.Type == "" {
		what = "model_type is missing"
	}
	return what + ": " + strings.Join(Supported(), ", ") + " are"
}

// Read describes the model of a config.json. Every field that is missing, has
// no meaning or asks for something unsupported is named in the error; an
// unknown model_type is an *UnsupportedError.
func Read(config hfconfig.Object) (*Spec, error) {
	name := config.Text("model_type")
	describe := families[name]
	if describe == nil {
		return nil, &UnsupportedError{Type: name}
	}
	f := &fields{Object: config}
	f.must("hidden_act", "silu")
	s := describe(f)
	if err := f.err(); err != nil {
		return nil, err
	}
	s.Type = name
	s.EOS = f.ids("eos_token_id")
	return s, nil
}

// decoder reads what all families have in common. The arguments are the
// defaults that differ.
func (f *fields) decoder(eps float64, maxLen int) *Spec {
	return &Spec{
		Vocab:  f.width("vocab_size", 0, maxVocab),
		Hidden: f.width("hidden_size", 0, maxWidth),
		Eps:    f.positive("rms_norm_eps", eps),
		Tied:   f.flag("tie_word_embeddings", false),
		MaxLen: f.width("max_position_embeddings", maxLen, 1<<30),
		Layers: make([]Layer, f.width("num_hidden_layers", 0, maxLayers)),
	}
}
