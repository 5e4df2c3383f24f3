package planner

import (
	"encoding/json"

	"shakedown/internal/flags"
	"shakedown/internal/hfconfig"
)

// draftSettings are the settings that name a further model whose config.json
// the engine reads while it resolves its settings.
// Source: sglang/srt/server_args.py (0.5.9), vllm/engine/arg_utils.py (0.32.0).
var draftSettings = []string{"speculative_draft_model_path", "spec_model", "tokenizer", "hf_config_path"}

// drafts reads the further models that the arguments name, by the value as
// written. A model that cannot be read is left out: the resolver says what it
// misses.
func drafts(table *flags.Table, argv []string, read func(string) (*hfconfig.Model, error)) map[string]*hfconfig.Model {
	if table == nil {
		return nil
	}
	out := map[string]*hfconfig.Model{}
	add := func(name string) {
		if name == "" || out[name] != nil {
			return
		}
		if m, err := read(name); err == nil {
			out[name] = m
		}
	}
	parsed, _ := table.Parse(argv)
	for _, s := range draftSettings {
		if a, ok := parsed.Asked(s); ok {
			add(a.Value())
		}
	}
	if a, ok := parsed.Asked("speculative_config.model"); ok {
		add(a.Value())
	}
	if a, ok := parsed.Asked("speculative_config"); ok {
		add(draftOf(a.Value()))
	}
	return out
}

// draftOf is the model that vLLM's --speculative-config names, or empty.
func draftOf(config string) string {
	var c struct {
		Model string `json:"model"`
	}
	if json.Unmarshal([]byte(config), &c) != nil {
		return ""
	}
	return c.Model
}
