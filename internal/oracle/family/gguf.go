package family

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"shakedown/internal/hfconfig"
)

// Metadata are the key-value pairs of a GGUF file; ok is false for an absent key
// or one of another type.
type Metadata interface {
	Str(key string) (s string, ok bool)
	Int(key string) (n int64, ok bool)
	Float(key string) (x float64, ok bool)
}

// ggufFamilies are the architectures of llama.cpp that are read, with the
// model_type that they are (llama.cpp, src/llama-arch.cpp).
var ggufFamilies = map[string]string{"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "qwen3moe": "qwen3_moe"}

// FromGGUF describes the model of a GGUF file as a config.json would, for Read.
// tied says that the file has no output matrix. An unknown architecture is an
// *UnsupportedError.
func FromGGUF(m Metadata, tied bool) (hfconfig.Object, error) {
	arch, _ := m.Str("general.architecture")
	kind, ok := ggufFamilies[arch]
	if !ok {
		return nil, fmt.Errorf("GGUF architecture %q is not supported: llama, qwen2, qwen3, qwen3moe are", arch)
	}
	c := hfconfig.Object{
		"model_type": kind, "tie_word_embeddings": tied,
		// llama.cpp's converter permutes queries and keys of llama, so that pairs
		// are neighbours (convert_hf_to_gguf.py, LlamaModel.permute).
		"rope_interleave": kind == "llama",
	}
	for field, key := range map[string]string{
		"num_hidden_layers": "block_count", "hidden_size": "embedding_length", "intermediate_size": "feed_forward_length",
		"num_attention_heads": "attention.head_count", "num_key_value_heads": "attention.head_count_kv", "head_dim": "attention.key_length",
		"max_position_embeddings": "context_length", "vocab_size": "vocab_size", "num_experts": "expert_count",
		"num_experts_per_tok": "expert_used_count", "moe_intermediate_size": "expert_feed_forward_length",
	} {
		if n, ok := m.Int(arch + "." + key); ok {
			c[field] = json.Number(strconv.FormatInt(n, 10))
		}
	}
	for field, key := range map[string]string{"rms_norm_eps": "attention.layer_norm_rms_epsilon", "rope_theta": "rope.freq_base"} {
		if x, ok := m.Float(arch + "." + key); ok {
			c[field] = number(x)
		}
	}
	if kind == "qwen3_moe" {
		c["norm_topk_prob"] = true // llama.cpp, src/models/qwen3moe.cpp
	}
	if dim, ok := m.Int(arch + ".rope.dimension_count"); ok && c["head_dim"] == nil {
		c["head_dim"] = json.Number(strconv.FormatInt(dim, 10))
	}
	scaling, err := ggufScaling(m, arch)
	if err != nil {
		return nil, err
	}
	if scaling != nil {
		c["rope_scaling"] = scaling
	}
	return c, nil
}

// ggufScaling is the scaling of the rotation as rope_scaling has it; nil for none.
// The factors of llama3 and longer contexts lie in a tensor, rope_freqs.weight. The
// parameters of YaRN are those that the converter copies from the model's own config
// (conversion/base.py); llama.cpp itself reads its betas and its factor of attention
// for a few architectures only, and takes the defaults for those here.
func ggufScaling(m Metadata, arch string) (hfconfig.Object, error) {
	prefix := arch + ".rope.scaling."
	factor, scaled := m.Float(prefix + "factor")
	if !scaled {
		factor, scaled = m.Float(arch + ".rope.scale_linear") // its name in files of 2023
	}
	// Without a type the factor is linear, and 0 is none (llama-model.cpp,
	// load_hparams).
	kind, _ := m.Str(prefix + "type")
	switch kind {
	case "none":
		return nil, nil
	case "", "linear":
		if !scaled || factor == 0 {
			return nil, nil
		}
		return hfconfig.Object{"rope_type": "linear", "factor": number(factor)}, nil
	case "yarn":
	default:
		return nil, fmt.Errorf("rope scaling %q of a GGUF file is not supported: linear and yarn are", kind)
	}
	if ext, ok := m.Float(prefix + "yarn_ext_factor"); ok && ext != 1 {
		return nil, fmt.Errorf("%syarn_ext_factor %v is not supported: 1 is", prefix, ext)
	}
	c := hfconfig.Object{"rope_type": "yarn"}
	if scaled {
		c["factor"] = number(factor)
	}
	if n, ok := m.Int(prefix + "original_context_length"); ok {
		c["original_max_position_embeddings"] = json.Number(strconv.FormatInt(n, 10))
	}
	for field, key := range map[string]string{"beta_fast": "yarn_beta_fast", "beta_slow": "yarn_beta_slow", "attention_factor": "yarn_attn_factor"} {
		if x, ok := m.Float(prefix + key); ok {
			c[field] = number(x)
		}
	}
	if x, ok := m.Float(prefix + "attn_factor"); ok && c["attention_factor"] == nil {
		c["attention_factor"] = number(x * mscale(factor, 1)) // it comes on top of the one that the factor gives
	}
	return c, nil
}

func number(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'g', -1, 64)) }

// GGUFTensor is the name in a GGUF file of a tensor with the name that models of
// Hugging Face have. Experts lie in one tensor; expert says which, or is -1.
func GGUFTensor(name string) (tensor string, expert int) {
	expert = -1
	for hf, gguf := range map[string]string{"model.embed_tokens.": "token_embd.", "model.norm.": "output_norm.", "lm_head.": "output."} {
		if rest, ok := strings.CutPrefix(name, hf); ok {
			return gguf + rest, -1
		}
	}
	rest, ok := strings.CutPrefix(name, "model.layers.")
	if !ok {
		return name, -1
	}
	layer, rest, _ := strings.Cut(rest, ".")
	if of, ok := strings.CutPrefix(rest, "mlp.experts."); ok {
		number, part, _ := strings.Cut(of, ".")
		if n, err := strconv.Atoi(number); err == nil {
			expert = n
			rest = "mlp.experts." + part
		}
	}
	part := rest[strings.LastIndexByte(rest, '.')+1:]
	module := strings.TrimSuffix(rest, "."+part)
	return "blk." + layer + "." + ggufModules[module] + "." + part, expert
}

// ggufModules are the modules of a layer (gguf-py/gguf/tensor_mapping.py).
var ggufModules = map[string]string{
	"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
	"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
	"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
	"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate": "ffn_gate_inp",
	"mlp.experts.gate_proj": "ffn_gate_exps", "mlp.experts.up_proj": "ffn_up_exps", "mlp.experts.down_proj": "ffn_down_exps",
}
