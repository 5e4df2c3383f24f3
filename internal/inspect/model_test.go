package inspect_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/checkpointtest"
)

// model is a small checkpoint that a test builds and then breaks.
type model struct {
	t       testing.TB
	config  map[string]any
	extra   map[string]any // further files of the folder, []byte or string
	tensors []checkpointtest.Tensor
	// shards: the tensors are cut into so many files with an index; 0: one file.
	shards int
	// change is applied to the files before they are written.
	change func(files map[string]any)
	seed   uint32
}

// next is a small number that looks random (xorshift32).
func (m *model) next() uint32 {
	m.seed ^= m.seed << 13
	m.seed ^= m.seed >> 17
	m.seed ^= m.seed << 5
	return m.seed
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// put adds a tensor, or replaces the one of its name.
func (m *model) put(t checkpointtest.Tensor) {
	if i := m.find(t.Name); i >= 0 {
		m.tensors[i] = t
		return
	}
	m.tensors = append(m.tensors, t)
}

func (m *model) find(name string) int {
	return slices.IndexFunc(m.tensors, func(t checkpointtest.Tensor) bool { return t.Name == name })
}

// get is a tensor that must be there.
func (m *model) get(name string) *checkpointtest.Tensor {
	i := m.find(name)
	if i < 0 {
		m.t.Fatalf("the test's model has no %s", name)
	}
	return &m.tensors[i]
}

// drop removes all tensors whose names hold one of the texts; there must be some.
func (m *model) drop(parts ...string) {
	n := len(m.tensors)
	m.tensors = slices.DeleteFunc(m.tensors, func(t checkpointtest.Tensor) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(t.Name, p) })
	})
	if len(m.tensors) == n {
		m.t.Fatalf("the test's model has nothing like %v", parts)
	}
}

// bf16 adds a weight of small bfloat16 values.
func (m *model) bf16(name string, shape ...int) {
	data := make([]byte, 0, 2*size(shape))
	for range size(shape) {
		r := m.next()
		data = binary.LittleEndian.AppendUint16(data, uint16(r>>31<<15)|0x3c00|uint16(r>>8&0xff))
	}
	m.put(checkpointtest.Tensor{Name: name, DType: "BF16", Shape: shape, Data: data})
}

// f32 adds a tensor of float32 values between low and high.
func (m *model) f32(name string, low, high float32, shape ...int) {
	values := make([]float32, size(shape))
	for i := range values {
		values[i] = low + (high-low)*float32(m.next()>>8)/(1<<24)
	}
	m.put(checkpointtest.Floats(name, shape, values...))
}

// bytes adds a tensor of bytes below limit.
func (m *model) bytes(name, dtype string, limit uint32, shape ...int) {
	data := make([]byte, size(shape))
	for i := range data {
		data[i] = byte(m.next() >> 8 % limit)
	}
	m.put(checkpointtest.Tensor{Name: name, DType: dtype, Shape: shape, Data: data})
}

// fp8 replaces a weight by FP8 codes and block scales.
func (m *model) fp8(name string) {
	shape := m.get(name + ".weight").Shape
	m.bytes(name+".weight", "F8_E4M3", 0x70, shape...)
	m.f32(name+".weight_scale_inv", 1e-3, 2e-3, (shape[0]+127)/128, (shape[1]+127)/128)
}

// nvfp4 replaces a weight by what modelopt writes.
func (m *model) nvfp4(name string) {
	shape := m.get(name + ".weight").Shape
	m.bytes(name+".weight", "U8", 256, shape[0], shape[1]/2)
	m.bytes(name+".weight_scale", "F8_E4M3", 0x70, shape[0], shape[1]/16)
	m.put(checkpointtest.Floats(name+".weight_scale_2", nil, 1.5e-4))
	m.put(checkpointtest.Floats(name+".input_scale", nil, 2.5e-3))
}

// glm is a model of the GLM-5 kind: latent attention, an index on every layer,
// one dense layer and two with experts.
func glm(t testing.TB) *model {
	m := &model{t: t, seed: 1, extra: map[string]any{}, config: map[string]any{
		"architectures": []string{"GlmMoeDsaForCausalLM"}, "model_type": "glm_moe_dsa", "dtype": "bfloat16",
		"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4,
		"q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "qk_head_dim": 24, "v_head_dim": 16,
		"index_n_heads": 4, "index_head_dim": 16, "index_topk": 8, "intermediate_size": 128, "moe_intermediate_size": 32,
		"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1, "moe_layer_freq": 1,
		"n_group": 1, "topk_group": 1, "topk_method": "noaux_tc", "scoring_func": "sigmoid", "num_nextn_predict_layers": 0,
		"vocab_size": 128, "max_position_embeddings": 1024, "tie_word_embeddings": false, "attention_bias": false,
		"rope_parameters": map[string]any{"rope_theta": 1000000, "rope_type": "default"}, "eos_token_id": []int{120, 121}, "pad_token_id": 120,
	}}
	m.bf16("model.embed_tokens.weight", 128, 64)
	m.bf16("model.norm.weight", 64)
	m.bf16("lm_head.weight", 128, 64)
	for i := range 3 {
		m.glmLayer(i)
	}
	m.extra["generation_config.json"] = `{"eos_token_id":[120,121],"pad_token_id":120}`
	m.extra["tokenizer_config.json"] = `{"eos_token":"<|endoftext|>","model_max_length":1024}`
	m.extra["tokenizer.json"] = tokenizer(120)
	m.extra["chat_template.jinja"] = "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}<|assistant|>"
	return m
}

// tokenizer is a tokenizer.json with ids below n and three control tokens behind.
func tokenizer(n int) string {
	var b strings.Builder
	b.WriteString(`{"added_tokens":[`)
	for i, s := range []string{"<|endoftext|>", "<|user|>", "<|assistant|>"} {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"id":%d,"content":%q,"special":true}`, n+i, s)
	}
	b.WriteString(`],"model":{"type":"BPE","vocab":{`)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `"t%d":%d`, i, i)
	}
	b.WriteString(`},"merges":[]}}`)
	return b.String()
}

// glmLayer adds a layer; layers from 3 on are for multi-token prediction.
func (m *model) glmLayer(i int) {
	at := fmt.Sprintf("model.layers.%d.", i)
	m.bf16(at+"input_layernorm.weight", 64)
	m.bf16(at+"post_attention_layernorm.weight", 64)
	m.bf16(at+"self_attn.q_a_proj.weight", 32, 64)
	m.bf16(at+"self_attn.q_a_layernorm.weight", 32)
	m.bf16(at+"self_attn.q_b_proj.weight", 96, 32)
	m.bf16(at+"self_attn.kv_a_proj_with_mqa.weight", 40, 64)
	m.bf16(at+"self_attn.kv_a_layernorm.weight", 32)
	m.bf16(at+"self_attn.kv_b_proj.weight", 128, 32)
	m.bf16(at+"self_attn.o_proj.weight", 64, 64)
	m.bf16(at+"self_attn.indexer.wq_b.weight", 64, 32)
	m.bf16(at+"self_attn.indexer.wk.weight", 16, 64)
	m.bf16(at+"self_attn.indexer.k_norm.weight", 16)
	m.bf16(at+"self_attn.indexer.k_norm.bias", 16)
	m.bf16(at+"self_attn.indexer.weights_proj.weight", 4, 64)
	if i == 0 {
		m.mlp(at+"mlp.", 128)
		return
	}
	m.bf16(at+"mlp.gate.weight", 4, 64)
	m.f32(at+"mlp.gate.e_score_correction_bias", -1, 1, 4)
	m.mlp(at+"mlp.shared_experts.", 32)
	for e := range 4 {
		m.mlp(fmt.Sprintf("%smlp.experts.%d.", at, e), 32)
	}
	if i >= 3 {
		m.bf16(at+"eh_proj.weight", 64, 128)
		for _, n := range []string{"enorm", "hnorm", "shared_head.norm"} {
			m.bf16(at+n+".weight", 64)
		}
	}
}

func (m *model) mlp(at string, inter int) {
	m.bf16(at+"gate_proj.weight", inter, 64)
	m.bf16(at+"up_proj.weight", inter, 64)
	m.bf16(at+"down_proj.weight", 64, inter)
}

// linear lists the modules that an FP8 checkpoint quantises.
func (m *model) linear() []string {
	var out []string
	for _, t := range m.tensors {
		name, ok := strings.CutSuffix(t.Name, ".weight")
		if ok && len(t.Shape) == 2 && !strings.Contains(name, "embed") && name != "lm_head" && !strings.HasSuffix(name, ".gate") &&
			!strings.HasSuffix(name, "weights_proj") && !strings.HasSuffix(name, "eh_proj") {
			out = append(out, name)
		}
	}
	return out
}

// glmFP8 is glm in the format of the official FP8 checkpoints.
func glmFP8(t testing.TB) *model {
	m := glm(t)
	for _, name := range m.linear() {
		m.fp8(name)
	}
	ignore := []string{"lm_head", "model.embed_tokens", "model.norm"}
	for i := range 3 {
		ignore = append(ignore, fmt.Sprintf("model.layers.%d.input_layernorm", i), fmt.Sprintf("model.layers.%d.self_attn.indexer.k_norm", i))
	}
	m.config["quantization_config"] = map[string]any{
		"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": []int{128, 128}, "modules_to_not_convert": ignore,
	}
	return m
}

// glmNVFP4 is glm with experts as modelopt writes them.
func glmNVFP4(t testing.TB) *model {
	m := glm(t)
	for _, name := range m.linear() {
		if strings.Contains(name, ".experts.") {
			m.nvfp4(name)
		}
	}
	ignore := []string{"lm_head", "model.embed_tokens", "model.layers.0.*"}
	for i := 1; i < 3; i++ {
		ignore = append(ignore, fmt.Sprintf("model.layers.%d.self_attn*", i), fmt.Sprintf("model.layers.%d.mlp.shared_experts*", i))
	}
	m.config["quantization_config"] = map[string]any{
		"quant_method": "modelopt", "quant_algo": "NVFP4", "producer": map[string]any{"name": "modelopt", "version": "0.47.0"}, "ignore": ignore,
		"config_groups": map[string]any{"group_0": map[string]any{
			"targets": []string{"Linear"}, "weights": map[string]any{"num_bits": 4, "type": "float", "group_size": 16, "dynamic": false},
			"input_activations": map[string]any{"num_bits": 4, "type": "float", "group_size": 16, "dynamic": false},
		}},
	}
	m.extra["hf_quant_config.json"] = m.json(map[string]any{
		"producer":     map[string]any{"name": "modelopt", "version": "0.47.0"},
		"quantization": map[string]any{"quant_algo": "NVFP4", "group_size": 16, "kv_cache_quant_algo": nil, "exclude_modules": ignore},
	})
	return m
}

// llama is a dense model with grouped-query attention.
func llama(t testing.TB) *model {
	m := &model{t: t, seed: 7, extra: map[string]any{"tokenizer.model": "spm"}, config: map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 64, "num_hidden_layers": 2,
		"num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 128, "max_position_embeddings": 256,
		"tie_word_embeddings": true, "rope_theta": 10000.0, "bos_token_id": 1, "eos_token_id": 2,
	}}
	m.bf16("model.embed_tokens.weight", 128, 64)
	m.bf16("model.norm.weight", 64)
	for i := range 2 {
		at := fmt.Sprintf("model.layers.%d.", i)
		m.bf16(at+"input_layernorm.weight", 64)
		m.bf16(at+"post_attention_layernorm.weight", 64)
		m.bf16(at+"self_attn.q_proj.weight", 64, 64)
		m.bf16(at+"self_attn.k_proj.weight", 16, 64)
		m.bf16(at+"self_attn.v_proj.weight", 16, 64)
		m.bf16(at+"self_attn.o_proj.weight", 64, 64)
		m.mlp(at+"mlp.", 128)
	}
	return m
}

func (m *model) json(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b)
}

// quant is the quantisation section of the configuration.
func (m *model) quant() map[string]any { return m.config["quantization_config"].(map[string]any) }

// ignore changes the ignore list in both files.
func (m *model) ignore(change func([]string) []string) {
	q := m.quant()
	for _, field := range []string{"ignore", "modules_to_not_convert"} {
		if list, ok := q[field].([]string); ok {
			q[field] = change(slices.Clone(list))
			if m.extra["hf_quant_config.json"] != nil {
				m.extra["hf_quant_config.json"] = m.json(map[string]any{"quantization": map[string]any{"quant_algo": "NVFP4", "exclude_modules": q[field]}})
			}
		}
	}
}

// files lays the checkpoint out.
func (m *model) files() map[string]any {
	files := map[string]any{"config.json": m.json(m.config)}
	for name, text := range m.extra {
		files[name] = text
	}
	if m.shards == 0 {
		files["model.safetensors"] = checkpointtest.Safetensors(m.tensors...)
	} else {
		index := map[string][]checkpointtest.Tensor{}
		per := (len(m.tensors) + m.shards - 1) / m.shards
		for i := range m.shards {
			part := m.tensors[min(i*per, len(m.tensors)):min((i+1)*per, len(m.tensors))]
			name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, m.shards)
			index[name] = part
			files[name] = checkpointtest.Safetensors(part...)
		}
		files["model.safetensors.index.json"] = checkpointtest.Index(index)
	}
	if m.change != nil {
		m.change(files)
	}
	return files
}

// write makes the folder.
func (m *model) write() string {
	m.t.Helper()
	return checkpointtest.Folder(m.t, m.files())
}

// poke overwrites bytes of a tensor.
func (m *model) poke(name string, at int, b ...byte) { copy(m.get(name).Data[at:], b) }

// spread calls change on the file's bytes.
func spread(files map[string]any, name string, change func([]byte) []byte) {
	files[name] = change(slices.Clone(files[name].([]byte)))
}

// fill sets every byte of a tensor.
func (m *model) fill(name string, b byte) {
	d := m.get(name).Data
	for i := range d {
		d[i] = b
	}
}

var nan32 = func() (b [4]byte) {
	binary.LittleEndian.PutUint32(b[:], math.Float32bits(float32(math.NaN())))
	return b
}()
