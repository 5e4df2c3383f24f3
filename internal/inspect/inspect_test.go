package inspect_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
	"shakedown/internal/finding"
	"shakedown/internal/hardware"
	"shakedown/internal/inspect"
)

// ask is a question with everything that a test may set.
type ask struct {
	gpu, engine, version string
	tp, pp, ep, context  int
	noScan               bool
}

func (a ask) options(t testing.TB) inspect.Options {
	t.Helper()
	o := inspect.Options{Engine: a.engine, Version: a.version, TP: a.tp, PP: a.pp, EP: a.ep, Context: a.context, Layer: -1, Scan: !a.noScan}
	if a.gpu != "" {
		g, err := hardware.Parse(a.gpu)
		if err != nil {
			t.Fatal(err)
		}
		o.GPU = &g
	}
	return o
}

func run(t testing.TB, path string, o inspect.Options) *inspect.Result {
	t.Helper()
	c, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := inspect.Run(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Title == "" || f.Why == "" || f.Subject == nil || f.Cause == "" || f.Rank == 0 {
			t.Errorf("finding without text, subject or cause: %+v", f)
		}
	}
	return r
}

// alarms lists the ids of errors and warnings, each once.
func alarms(r *inspect.Result) []string {
	var out []string
	for _, f := range r.Findings {
		if id := string(f.Severity) + " " + f.ID; f.Severity != finding.Info && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func find(r *inspect.Result, id string) *finding.FindingMsg {
	for i := range r.Findings {
		if r.Findings[i].ID == id {
			return &r.Findings[i]
		}
	}
	return nil
}

// breakage is one way to break a checkpoint.
type breakage struct {
	name   string
	model  func(testing.TB) *model
	breaks func(*model)
	ask    ask
	want   string   // severity and id
	says   []string // parts of title and subject
	also   []string // further alarms that follow from the same cause
}

const moe = "model.layers.1.mlp.experts.2.down_proj"

// breakages are the faults that must be found and named. The names of incidents:
// sgl 32279 (missing shard), ATOM 451 (indexers_proj), sgl PR 19948 (scales).
var breakages = []breakage{
	{name: "missing shard", model: glm, breaks: func(m *model) {
		m.shards = 3
		m.change = func(f map[string]any) { delete(f, "model-00002-of-00003.safetensors") }
	}, want: "error CKPT-FILE-001", says: []string{"model-00002-of-00003.safetensors"}},
	{name: "missing shard without index", model: glm, breaks: func(m *model) {
		m.shards = 3
		m.change = func(f map[string]any) {
			delete(f, "model-00002-of-00003.safetensors")
			delete(f, "model.safetensors.index.json")
		}
	}, want: "error CKPT-FILE-001", says: []string{"model-00002-of-00003.safetensors"}, also: []string{"error CKPT-INDEX-006"}},
	{name: "shard cut by 1000 bytes", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) {
			spread(f, "model-00001-of-00002.safetensors", func(b []byte) []byte { return b[:len(b)-1000] })
		}
	}, want: "error CKPT-FILE-002", says: []string{"model-00001-of-00002.safetensors"}},
	{name: "shard cut in its header", model: glm, breaks: func(m *model) {
		m.change = func(f map[string]any) { spread(f, "model.safetensors", func(b []byte) []byte { return b[:100] }) }
	}, want: "error CKPT-FILE-002", says: []string{"model.safetensors"}},
	{name: "empty shard", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) { f["model-00002-of-00002.safetensors"] = []byte{} }
	}, want: "error CKPT-FILE-002", says: []string{"model-00002-of-00002.safetensors"}},
	{name: "LFS pointer", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) {
			f["model-00001-of-00002.safetensors"] = "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 5000000000\n"
		}
	}, want: "error CKPT-FILE-003", says: []string{"model-00001-of-00002.safetensors"}},
	{name: "bytes behind the data", model: glm, breaks: func(m *model) {
		m.change = func(f map[string]any) {
			spread(f, "model.safetensors", func(b []byte) []byte { return append(b, 0, 0) })
		}
	}, want: "error CKPT-FILE-005"},
	{name: "overlapping tensors", model: llama, breaks: func(m *model) {
		m.change = func(f map[string]any) {
			f["model.safetensors"] = checkpointtest.Raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}`, make([]byte, 6))
		}
	}, want: "error CKPT-FILE-005", says: []string{"b"}},
	{name: "a header that lies about a size", model: llama, breaks: func(m *model) {
		m.change = func(f map[string]any) {
			spread(f, "model.safetensors", func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"shape":[64,128]`), []byte(`"shape":[64,129]`), 1)
			})
		}
	}, want: "error CKPT-FILE-004", says: []string{"down_proj"}},
	{name: "the same tensor in two shards", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) {
			f["model-00002-of-00002.safetensors"] = checkpointtest.Safetensors(append(m.tensors[(len(m.tensors)+1)/2:], m.tensors[0])...)
		}
	}, want: "error CKPT-FILE-006", says: []string{"model.embed_tokens.weight"}},
	{name: "a file that the index does not name", model: glm, breaks: func(m *model) {
		m.config["num_nextn_predict_layers"] = 1
		m.shards = 2
		n := len(m.tensors)
		m.glmLayer(3)
		draft := slices.Clone(m.tensors[n:])
		m.tensors = m.tensors[:n]
		m.change = func(f map[string]any) { f["mtp.safetensors"] = checkpointtest.Safetensors(draft...) }
	}, want: "error CKPT-FILE-009", says: []string{"mtp.safetensors"}},
	{name: "index names an absent tensor", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) {
			spread(f, "model.safetensors.index.json", func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"weight_map": {`), []byte(`"weight_map": {"model.layers.9.mlp.gate.weight": "model-00001-of-00002.safetensors",`), 1)
			})
		}
	}, want: "error CKPT-INDEX-001", says: []string{"model.layers.9.mlp.gate.weight"}},
	{name: "index names the wrong file", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) {
			spread(f, "model.safetensors.index.json", func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"model.embed_tokens.weight": "model-00001-`), []byte(`"model.embed_tokens.weight": "model-00002-`), 1)
			})
		}
	}, want: "error CKPT-INDEX-002", says: []string{"model.embed_tokens.weight"}},
	{name: "index lacks a tensor", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) {
			spread(f, "model.safetensors.index.json", func(b []byte) []byte {
				return bytes.Replace(b, []byte("\"model.embed_tokens.weight\": \"model-00001-of-00002.safetensors\",\n"), nil, 1)
			})
		}
	}, want: "error CKPT-INDEX-003", says: []string{"model.embed_tokens.weight"}},
	{name: "index is no JSON", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) { f["model.safetensors.index.json"] = `{"weight_map": {` }
	}, want: "error CKPT-INDEX-005"},
	{name: "no weights", model: glm, breaks: func(m *model) {
		m.change = func(f map[string]any) { delete(f, "model.safetensors") }
	}, want: "error CKPT-FILE-008", says: []string{"model.safetensors"}, also: []string{"error CKPT-SHAPE-002"}},
	{name: "only pickled weights", model: glm, breaks: func(m *model) {
		m.change = func(f map[string]any) {
			delete(f, "model.safetensors")
			f["pytorch_model.bin"] = "PK\x03\x04"
		}
	}, want: "error CKPT-FILE-008", says: []string{"pytorch_model.bin"}},
	{name: "a folder in place of a shard", model: glm, breaks: func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) { f["model-00002-of-00002.safetensors"] = os.ModeDir }
	}, want: "error CKPT-FILE-007", says: []string{"model-00002-of-00002.safetensors"}},
	{name: "no config", model: glm, breaks: func(m *model) {
		m.change = func(f map[string]any) { delete(f, "config.json") }
	}, want: "error CKPT-CONF-001"},
	{name: "config cut", model: glm, breaks: func(m *model) {
		m.change = func(f map[string]any) { f["config.json"] = f["config.json"].(string)[:50] }
	}, want: "error CKPT-CONF-002"},
	{name: "config with too few layer types", model: glm, breaks: func(m *model) {
		m.config["mlp_layer_types"] = []string{"dense", "sparse"}
	}, want: "error CKPT-CONF-004", says: []string{"mlp_layer_types"}},
	{name: "groups too small for the experts per token", model: glm, breaks: func(m *model) {
		m.config["n_group"], m.config["topk_group"], m.config["num_experts_per_tok"] = 4, 1, 2
	}, want: "error CKPT-CONF-004", says: []string{"topk_group"}},
	{name: "two rope_thetas", model: glm, breaks: func(m *model) {
		m.config["rope_theta"] = 10000
	}, want: "error CKPT-CONF-005", says: []string{"rope_theta"}},
	{name: "hidden size of another model", model: llama, breaks: func(m *model) {
		m.config["intermediate_size"] = 256
	}, want: "error CKPT-SHAPE-001", says: []string{"gate_proj", "intermediate_size"}},
	{name: "vocabulary of another model", model: llama, breaks: func(m *model) {
		m.config["vocab_size"] = 256
	}, want: "error CKPT-SHAPE-001", says: []string{"embed_tokens", "vocab_size"}},
	{name: "one transposed tensor", model: glm, breaks: func(m *model) {
		m.bf16("model.layers.1.self_attn.q_b_proj.weight", 32, 96)
	}, want: "error CKPT-SHAPE-001", says: []string{"model.layers.1.self_attn.q_b_proj"}},
	{name: "norm missing", model: glm, breaks: func(m *model) { m.drop("layers.2.input_layernorm") },
		want: "error CKPT-SHAPE-002", says: []string{"model.layers.2.input_layernorm"}},
	{name: "one expert missing", model: glm, breaks: func(m *model) { m.drop("layers.1.mlp.experts.3.") },
		want: "error CKPT-SHAPE-002", says: []string{"model.layers.1.mlp.experts.3"}},
	{name: "index of a full layer missing", model: glm, breaks: func(m *model) { m.drop("layers.1.self_attn.indexer.wk") },
		want: "error CKPT-SHAPE-002", says: []string{"indexer.wk"}},
	{name: "lm_head missing though not tied", model: glm, breaks: func(m *model) { m.drop("lm_head") },
		want: "error CKPT-SHAPE-002", says: []string{"lm_head"}},
	{name: "multi-token prediction promised and absent", model: glm, breaks: func(m *model) { m.config["num_nextn_predict_layers"] = 1 },
		want: "warning CKPT-MTP-001", says: []string{"layer 3"}},
	{name: "multi-token prediction without eh_proj", model: glm, breaks: func(m *model) {
		m.config["num_nextn_predict_layers"] = 1
		m.glmLayer(3)
		m.drop("eh_proj")
	}, want: "error CKPT-MTP-002", says: []string{"eh_proj"}},
	{name: "BF16 layer that the ignore list lacks", model: glmNVFP4, breaks: func(m *model) {
		m.config["num_nextn_predict_layers"] = 1
		m.glmLayer(3)
	}, want: "error CKPT-QUANT-002", says: []string{"model.layers.3"}},
	{name: "quantised though on the ignore list", model: glmNVFP4, breaks: func(m *model) {
		m.ignore(func(l []string) []string { return append(l, "model.layers.1.mlp.experts.0*") })
	}, want: "error CKPT-QUANT-001", says: []string{"model.layers.1.mlp.experts.0"}},
	{name: "block scale missing", model: glmFP8, breaks: func(m *model) { m.drop("layers.1.self_attn.o_proj.weight_scale_inv") },
		want: "error CKPT-QUANT-004", says: []string{"o_proj.weight_scale_inv"}},
	{name: "global scale missing", model: glmNVFP4, breaks: func(m *model) { m.drop(moe + ".weight_scale_2") },
		want: "error CKPT-QUANT-004", says: []string{moe + ".weight_scale_2"}},
	{name: "scales of another block size", model: glmFP8, breaks: func(m *model) {
		m.f32("model.layers.0.self_attn.o_proj.weight_scale_inv", 1e-3, 2e-3, 2, 2)
	}, want: "error CKPT-QUANT-005", says: []string{"o_proj"}},
	{name: "scale beside a weight that is not quantised", model: glmFP8, breaks: func(m *model) {
		m.bf16("model.layers.0.self_attn.o_proj.weight", 64, 64)
	}, want: "error CKPT-QUANT-006", says: []string{"o_proj"}, also: []string{"error CKPT-QUANT-002"}},
	{name: "quantised and no configuration says so", model: glmFP8, breaks: func(m *model) { delete(m.config, "quantization_config") },
		want: "error CKPT-QUANT-007", says: []string{"fp8-block"}},
	{name: "configuration says quantised and nothing is", model: glm, breaks: func(m *model) {
		m.config["quantization_config"] = map[string]any{"quant_method": "fp8", "weight_block_size": []int{128, 128}}
	}, want: "error CKPT-QUANT-008"},
	{name: "another format than the configuration says", model: glmFP8, breaks: func(m *model) {
		q := glmNVFP4(m.t).quant()
		delete(q, "ignore")
		m.config["quantization_config"] = q
	}, want: "error CKPT-QUANT-009", says: []string{"fp8-block"}},
	{name: "two configurations that disagree", model: glmNVFP4, breaks: func(m *model) {
		m.extra["hf_quant_config.json"] = `{"quantization":{"quant_algo":"FP8","exclude_modules":[]}}`
	}, want: "error CKPT-QUANT-010", says: []string{"FP8"}},
	{name: "ignore lists that differ", model: glmNVFP4, breaks: func(m *model) {
		m.extra["hf_quant_config.json"] = `{"quantization":{"quant_algo":"NVFP4","exclude_modules":["lm_head"]}}`
	}, want: "error CKPT-QUANT-010"},
	{name: "input scale missing", model: glmNVFP4, breaks: func(m *model) { m.drop(moe + ".input_scale") },
		want: "error CKPT-QUANT-012", says: []string{moe}},
	{name: "FP8 KV cache without scales", model: glmNVFP4, breaks: func(m *model) {
		m.quant()["kv_cache_scheme"] = map[string]any{"num_bits": 8, "type": "float", "dynamic": false}
	}, ask: ask{engine: "vllm"}, want: "warning CKPT-QUANT-013"},
	{name: "KV scales for one layer only", model: glmNVFP4, breaks: func(m *model) {
		m.put(checkpointtest.Floats("model.layers.0.self_attn.k_scale", nil, 0.1))
		m.put(checkpointtest.Floats("model.layers.0.self_attn.v_scale", nil, 0.1))
	}, want: "error CKPT-QUANT-014", says: []string{"{1-2}"}},
	{name: "gate and up with different global scales", model: glmNVFP4, breaks: func(m *model) {
		m.put(checkpointtest.Floats("model.layers.1.mlp.experts.0.up_proj.weight_scale_2", nil, 3e-4))
	}, ask: ask{engine: "sglang", version: "0.5.18"}, want: "warning CKPT-QUANT-015", says: []string{"model.layers.1.mlp.experts.0"}},
	{name: "scales that are no powers of two, for DeepGEMM", model: glmFP8, breaks: func(*model) {},
		ask: ask{gpu: "B200", engine: "sglang", version: "0.5.18"}, want: "warning CKPT-SCALE-001", says: []string{"no powers of two", "NaN"}},
	{name: "ue8m0 promised and not kept", model: glmFP8, breaks: func(m *model) { m.quant()["scale_fmt"] = "ue8m0" },
		want: "error CKPT-SCALE-003"},
	{name: "scale is NaN", model: glmFP8, breaks: func(m *model) {
		m.poke("model.layers.1.self_attn.o_proj.weight_scale_inv", 0, nan32[:]...)
	}, want: "error CKPT-SCALE-002", says: []string{"o_proj"}, also: []string{"error CKPT-VAL-001"}},
	{name: "input scale is zero", model: glmNVFP4, breaks: func(m *model) { m.put(checkpointtest.Floats(moe+".input_scale", nil, 0)) },
		want: "error CKPT-SCALE-002", says: []string{moe}},
	{name: "global scale stored as its reciprocal", model: glmNVFP4, breaks: func(m *model) {
		m.put(checkpointtest.Floats(moe+".weight_scale_2", nil, 6666))
	}, want: "error CKPT-SCALE-004", says: []string{moe}},
	{name: "NVFP4 on SM120 with SGLang 0.5.9", model: glmNVFP4, breaks: func(*model) {},
		ask: ask{gpu: "2x RTX PRO 6000", engine: "sglang", version: "0.5.9", tp: 2}, want: "warning CKPT-ENG-001",
		says: []string{"DeepGEMM", "sm120"}, also: []string{"warning CKPT-ENG-004", "warning CKPT-ENG-005"}},
	{name: "release older than the model", model: glm, breaks: func(*model) {},
		ask: ask{engine: "sglang", version: "0.5.8"}, want: "warning CKPT-ENG-002"},
	{name: "FP4 on Hopper", model: glmNVFP4, breaks: func(*model) {}, ask: ask{gpu: "H200"}, want: "warning CKPT-ENG-003", says: []string{"FP4"}},
	{name: "NaN in a weight", model: glm, breaks: func(m *model) { m.poke(moe+".weight", 100, 0xc0, 0x7f) },
		want: "error CKPT-VAL-001", says: []string{moe, "element 50"}},
	{name: "NaN code in an FP8 weight", model: glmFP8, breaks: func(m *model) { m.poke(moe+".weight", 33, 0xff) },
		want: "error CKPT-VAL-001", says: []string{moe, "element 33"}},
	{name: "infinity in a weight", model: glm, breaks: func(m *model) { m.poke(moe+".weight", 8, 0x80, 0xff) },
		want: "error CKPT-VAL-002", says: []string{moe}},
	{name: "all-zero weight", model: glm, breaks: func(m *model) { m.fill(moe+".weight", 0) },
		want: "error CKPT-VAL-003", says: []string{moe}},
	{name: "constant weight", model: glm, breaks: func(m *model) { m.fill(moe+".weight", 0x3c) },
		want: "error CKPT-VAL-004", says: []string{moe}},
	{name: "a stretch that was never written", model: llama, breaks: func(m *model) {
		m.config["intermediate_size"] = 4096
		for i := range 2 {
			m.mlp(fmt.Sprintf("model.layers.%d.mlp.", i), 4096)
		}
		clear(m.get("model.layers.1.mlp.up_proj.weight").Data[1<<17 : 1<<18])
	}, want: "error CKPT-VAL-005", says: []string{"model.layers.1.mlp.up_proj"}},
	{name: "tokenizer larger than the embedding", model: glm, breaks: func(m *model) { m.extra["tokenizer.json"] = tokenizer(140) },
		want: "error CKPT-TOK-001", says: []string{"142", "128"}, also: []string{"warning CKPT-TOK-003"}},
	{name: "eos outside the vocabulary", model: glm, breaks: func(m *model) { m.config["eos_token_id"] = []int{154820} },
		want: "error CKPT-TOK-002", says: []string{"154820"}, also: []string{"warning CKPT-TOK-003"}},
	{name: "two files with other eos ids", model: glm, breaks: func(m *model) { m.extra["generation_config.json"] = `{"eos_token_id":3}` },
		want: "warning CKPT-TOK-003", says: []string{"generation_config.json"}},
	{name: "eos of the tokenizer is another token", model: glm, breaks: func(m *model) {
		m.extra["tokenizer_config.json"] = `{"eos_token":{"content":"<|assistant|>"}}`
	}, want: "warning CKPT-TOK-003", says: []string{"<|assistant|>"}},
	{name: "tokenizer cut", model: glm, breaks: func(m *model) { m.extra["tokenizer.json"] = tokenizer(120)[:200] },
		want: "error CKPT-TOK-005", says: []string{"tokenizer.json"}},
	{name: "one id for two tokens", model: glm, breaks: func(m *model) {
		m.extra["tokenizer.json"] = strings.Replace(tokenizer(120), `"id":121`, `"id":120`, 1)
	}, want: "error CKPT-TOK-006", says: []string{}, also: []string{"error CKPT-TOK-002"}},
	{name: "template of another model", model: glm, breaks: func(m *model) { m.extra["chat_template.jinja"] = "<|im_start|>{{ messages }}<|im_end|>" },
		want: "warning CKPT-TMPL-001", says: []string{"<|im_start|>"}},
	{name: "template whose block is not closed", model: glm, breaks: func(m *model) {
		m.extra["chat_template.jinja"] = "{% for m in messages %}<|user|>{% if m.x %}{{ m.content }}{% endfor %}"
	}, want: "error CKPT-TMPL-003", says: []string{"endfor without for"}},
	{name: "template cut", model: glm, breaks: func(m *model) { m.extra["chat_template.jinja"] = "<|user|>{{ messages" },
		want: "error CKPT-TMPL-003", says: []string{"{{"}},
	{name: "tokenizer of another model", model: llama, breaks: func(m *model) {
		m.config["vocab_size"] = 2048
		m.bf16("model.embed_tokens.weight", 2048, 64)
		m.extra["tokenizer.json"] = tokenizer(120)
	}, want: "warning CKPT-TOK-007", says: []string{"123", "2048"}},
	{name: "layers that the configuration does not count", model: llama, breaks: func(m *model) { m.config["num_hidden_layers"] = 1 },
		want: "error CKPT-SHAPE-004", says: []string{"beyond the 1"}},
	{name: "yarn without factor", model: llama, breaks: func(m *model) { m.config["rope_scaling"] = map[string]any{"type": "yarn"} },
		want: "error CKPT-CONF-004", says: []string{"yarn"}},
	{name: "no model type", model: llama, breaks: func(m *model) {
		delete(m.config, "model_type")
		delete(m.config, "architectures")
	}, want: "error CKPT-CONF-004", says: []string{"model_type"}},
	{name: "a type that does not exist", model: llama, breaks: func(m *model) { m.config["torch_dtype"] = "bfloat17" },
		want: "error CKPT-CONF-004", says: []string{"bfloat17"}},
	{name: "block size of the configuration", model: glmFP8, breaks: func(m *model) { m.quant()["weight_block_size"] = []int{64, 64} },
		want: "error CKPT-QUANT-005", says: []string{"weight_block_size"}},
	{name: "group size of the configuration", model: glm, breaks: func(m *model) {
		m.config["quantization_config"] = map[string]any{
			"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": []string{"lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*layers.0.mlp.*"},
			"config_groups": map[string]any{"g": map[string]any{"targets": []string{"Linear"}, "weights": map[string]any{"num_bits": 4, "type": "int", "group_size": 32, "strategy": "group"}}},
		}
		for _, name := range m.linear() {
			if s := m.get(name + ".weight").Shape; strings.Contains(name, ".experts.") {
				m.drop(name + ".weight")
				m.bytes(name+".weight_packed", "I32", 256, s[0], s[1]/8)
				x := m.get(name + ".weight_packed")
				x.Data = append(x.Data, append(slices.Clone(x.Data), append(slices.Clone(x.Data), x.Data...)...)...)
				m.bf16(name+".weight_scale", s[0], s[1]/16)
			}
		}
	}, want: "error CKPT-QUANT-005", says: []string{"group_size"}},
	{name: "context longer than the model's", model: llama, breaks: func(*model) {}, ask: ask{context: 512}, want: "warning CKPT-CONF-006", says: []string{"512", "256"}},
	{name: "three GPUs for eight heads", model: llama, breaks: func(*model) {}, ask: ask{tp: 3}, want: "warning CKPT-PAR-001", says: []string{"8 attention heads", "tp 3"}},
	{name: "more pipeline stages than layers", model: llama, breaks: func(*model) {}, ask: ask{tp: 1, pp: 4}, want: "warning CKPT-PAR-001", says: []string{"pp 4"}},
	{name: "experts that do not divide", model: glm, breaks: func(*model) {}, ask: ask{tp: 1, ep: 3}, want: "warning CKPT-PAR-001", says: []string{"ep 3"}},
	{name: "blocks that do not divide", model: glmNVFP4, breaks: func(*model) {}, ask: ask{tp: 4}, want: "warning CKPT-PAR-002", says: []string{"down_proj", "32 / tp 4 = 8"}},
	{name: "weights that do not fit", model: glm, breaks: func(m *model) {
		m.config["n_routed_experts"], m.config["moe_intermediate_size"], m.config["hidden_size"] = 256, 2048, 6144
		m.config["num_hidden_layers"] = 78
		m.shards = 1
		m.change = func(f map[string]any) { delete(f, "model-00001-of-00001.safetensors") }
	}, ask: ask{gpu: "H200"}, want: "warning CKPT-MEM-001", says: []string{"NVIDIA H200"}, also: []string{"error CKPT-SHAPE-002"}},
	{name: "no room for the context", model: llama, breaks: func(m *model) {
		m.config["num_hidden_layers"], m.config["num_key_value_heads"], m.config["head_dim"] = 80, 8, 128
		m.shards = 1
		m.change = func(f map[string]any) { delete(f, "model-00001-of-00001.safetensors") }
	}, ask: ask{gpu: "T4", context: 131072}, want: "warning CKPT-MEM-002", says: []string{"131,072"}, also: []string{"error CKPT-SHAPE-002", "warning CKPT-CONF-006"}},
}

func TestBroken(t *testing.T) {
	if len(breakages) < 60 {
		t.Errorf("%d kinds of broken checkpoints", len(breakages))
	}
	for _, tc := range breakages {
		t.Run(tc.name, func(t *testing.T) {
			m := tc.model(t)
			tc.breaks(m)
			r := run(t, m.write(), tc.ask.options(t))
			got := alarms(r)
			if !slices.Contains(got, tc.want) {
				t.Fatalf("alarms %v, want %s", got, tc.want)
			}
			_, id, _ := strings.Cut(tc.want, " ")
			f := find(r, id)
			text := fmt.Sprint(f.Title, " ", *f.Subject)
			for _, part := range tc.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q does not say %q", text, part)
				}
			}
			for _, a := range got {
				if a != tc.want && !slices.Contains(tc.also, a) {
					t.Errorf("alarm %s as well: %s", a, find(r, strings.Fields(a)[1]).Title)
				}
			}
			if !r.Problem() {
				t.Error("no problem")
			}
		})
	}
}

// TestEveryCheckHasACase: a check that no test can make speak is not known to
// work.
func TestEveryCheckHasACase(t *testing.T) {
	covered := map[string]bool{}
	for _, tc := range breakages {
		covered[strings.Fields(tc.want)[1]] = true
		for _, a := range tc.also {
			covered[strings.Fields(a)[1]] = true
		}
	}
	for _, tc := range remarks {
		covered[tc.want] = true
	}
	for _, c := range inspect.Checks {
		if !covered[c.ID] {
			t.Errorf("%s (%s) has no case", c.ID, c.Title)
		}
	}
}

// remarks are what is worth knowing and no alarm.
var remarks = []struct {
	name   string
	model  func(testing.TB) *model
	change func(*model)
	want   string
	says   string
}{
	{"phantom name", glmFP8, func(m *model) {
		m.ignore(func(l []string) []string { return append(l, "model.layers.0.self_attn.indexers_proj") })
	}, "CKPT-QUANT-003", "indexers_proj"},
	{"unknown family", llama, func(m *model) { m.config["model_type"] = "falcon_h9" }, "CKPT-CONF-003", "falcon_h9"},
	{"unknown method", glm, func(m *model) {
		m.config["quantization_config"] = map[string]any{"quant_method": "bitsandbytes"}
	}, "CKPT-QUANT-011", "bitsandbytes"},
	{"total size", glm, func(m *model) {
		m.shards = 2
		m.change = func(f map[string]any) {
			spread(f, "model.safetensors.index.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"total_size": `), []byte(`"total_size": 1`), 1) })
		}
	}, "CKPT-INDEX-004", ""},
	{"no tokenizer", llama, func(m *model) { m.extra = map[string]any{} }, "CKPT-TOK-004", ""},
	{"no template", llama, func(*model) {}, "CKPT-TMPL-002", ""},
	{"draft layer that the configuration does not know", glm, func(m *model) { m.glmLayer(3) }, "CKPT-MTP-003", ""},
	{"shared layer with an index", glm, func(m *model) { m.config["indexer_types"] = []string{"full", "full", "shared"} }, "CKPT-DSA-001", "layers.2"},
	{"weights of another type", glm, func(m *model) {
		x := m.get("model.layers.1.self_attn.o_proj.weight")
		x.DType = "F16"
	}, "CKPT-SHAPE-003", "o_proj"},
	{"layer that was copied", llama, func(m *model) {
		copy(m.get("model.layers.1.mlp.up_proj.weight").Data, m.get("model.layers.0.mlp.up_proj.weight").Data)
	}, "CKPT-VAL-006", "model.layers.1.mlp.up_proj.weight"},
	{"star behind a layer's number", glmNVFP4, func(m *model) {
		m.config["num_hidden_layers"] = 11
		for i := 3; i < 11; i++ {
			at := fmt.Sprintf("model.layers.%d.", i)
			m.glmLayer(i)
			m.drop(at+"eh_proj", at+"enorm", at+"hnorm", at+"shared_head")
			for _, name := range m.linear() {
				if strings.HasPrefix(name, at+"mlp.experts.") {
					m.nvfp4(name)
				}
			}
		}
		m.drop("layers.1.mlp.experts.", "layers.1.mlp.shared")
		for e := range 4 {
			m.mlp(fmt.Sprintf("model.layers.1.mlp.experts.%d.", e), 32)
		}
		m.mlp("model.layers.1.mlp.shared_experts.", 32)
		m.ignore(func(l []string) []string {
			return append(l, "model.layers.1*", "re:.*self_attn.*", "re:.*shared_experts.*")
		})
	}, "CKPT-QUANT-016", "model.layers.10.mlp.experts.{0-3}"},
	{"FP8 KV cache, no engine named", glmNVFP4, func(m *model) {
		m.quant()["kv_cache_scheme"] = map[string]any{"num_bits": 8, "type": "float"}
	}, "CKPT-QUANT-013", ""},
	{"scales that are no powers of two, nothing named", glmFP8, func(*model) {}, "CKPT-SCALE-001", "no powers of two"},
}

func TestRemarks(t *testing.T) {
	for _, tc := range remarks {
		t.Run(tc.name, func(t *testing.T) {
			m := tc.model(t)
			tc.change(m)
			r := run(t, m.write(), ask{}.options(t))
			f := find(r, tc.want)
			if f == nil {
				t.Fatalf("no %s in %v", tc.want, r.Findings)
			}
			if f.Severity != finding.Info || !strings.Contains(f.Title, tc.says) {
				t.Errorf("%s: %s", f.Severity, f.Title)
			}
			if got := alarms(r); len(got) > 0 {
				t.Errorf("alarms %v", got)
			}
		})
	}
}

// TestSound: no alarm on checkpoints that are sound, in all the forms that they
// come in.
func TestSound(t *testing.T) {
	for name, dir := range map[string]string{
		"glm":            glm(t).write(),
		"glm in shards":  func() string { m := glm(t); m.shards = 4; return m.write() }(),
		"glm FP8":        glmFP8(t).write(),
		"glm NVFP4":      glmNVFP4(t).write(),
		"llama":          llama(t).write(),
		"glm with draft": func() string { m := glm(t); m.config["num_nextn_predict_layers"] = 1; m.glmLayer(3); return m.write() }(),
		"glm whose layers share an index": func() string {
			m := glm(t)
			m.config["indexer_types"] = []string{"full", "full", "shared"}
			m.drop("layers.2.self_attn.indexer")
			return m.write()
		}(),
		"fused experts": func() string {
			m := glm(t)
			m.drop("mlp.experts.")
			for i := 1; i < 3; i++ {
				m.bf16(fmt.Sprintf("model.layers.%d.mlp.experts.gate_up_proj", i), 4, 64, 64)
				m.bf16(fmt.Sprintf("model.layers.%d.mlp.experts.down_proj", i), 4, 64, 32)
			}
			return m.write()
		}(),
		"inside of a model that sees": func() string {
			m := glm(t)
			for i := range m.tensors {
				m.tensors[i].Name = "language_model." + m.tensors[i].Name
			}
			m.bf16("vision_tower.encoder.layers.0.attn.qkv.weight", 8, 8)
			m.config = map[string]any{"model_type": "kimi_k25", "architectures": []string{"KimiK25ForConditionalGeneration"}, "text_config": m.config, "eos_token_id": []int{120}}
			return m.write()
		}(),
		"with the language model inside": func() string {
			m := glm(t)
			for i := range m.tensors {
				if rest, ok := strings.CutPrefix(m.tensors[i].Name, "model."); ok {
					m.tensors[i].Name = "model.language_model." + rest
				}
			}
			return m.write()
		}(),
		"padded vocabulary": func() string {
			m := llama(t)
			clear(m.get("model.embed_tokens.weight").Data[120*64*2:])
			return m.write()
		}(),
	} {
		r := run(t, dir, ask{}.options(t))
		for _, f := range r.Findings {
			if f.Severity != finding.Info {
				t.Errorf("%s: %s %s %s", name, f.Severity, f.ID, f.Title)
			}
		}
		if r.Problem() || r.Checkpoint.ScannedBytes == 0 || r.Checkpoint.Parameters == 0 || len(r.Checkpoint.KV) == 0 {
			t.Errorf("%s: %+v", name, r.Checkpoint)
		}
	}
}

// referenceModels are checkpoints that the usual libraries wrote; a developer may
// have them beside the repository.
const referenceModels = "../../../shared/oracle/models"

func TestReferenceModels(t *testing.T) {
	entries, err := os.ReadDir(referenceModels)
	if err != nil {
		t.Skip("no reference models here")
	}
	for _, e := range entries {
		for _, scan := range []bool{false, true} {
			r := run(t, filepath.Join(referenceModels, e.Name()), ask{noScan: !scan}.options(t))
			if got := alarms(r); len(got) > 0 {
				t.Errorf("%s: %v", e.Name(), got)
			}
		}
	}
}

// TestHeadersOnly: config.json and the index are enough for what names tell.
func TestHeadersOnly(t *testing.T) {
	headers := func(m *model) string {
		m.shards = 2
		m.change = func(f map[string]any) {
			for name := range f {
				if strings.HasSuffix(name, ".safetensors") {
					delete(f, name)
				}
			}
		}
		return m.write()
	}
	r := run(t, headers(glmFP8(t)), ask{gpu: "8x H200"}.options(t))
	if got := alarms(r); len(got) > 0 && !slices.Equal(got, []string{"warning CKPT-PAR-001"}) || !r.Checkpoint.HeadersOnly {
		t.Errorf("sound: %v, headers only %v", got, r.Checkpoint.HeadersOnly)
	}
	if g := r.Checkpoint.Groups; len(g) == 0 || r.Memory == nil {
		t.Errorf("groups %v, memory %v", g, r.Memory)
	}
	m := glmNVFP4(t)
	m.config["num_nextn_predict_layers"] = 1
	m.drop("layers.1.self_attn.o_proj")
	r = run(t, headers(m), ask{}.options(t))
	if got := alarms(r); !slices.Equal(got, []string{"error CKPT-SHAPE-002", "warning CKPT-MTP-001"}) {
		t.Errorf("broken: %v", got)
	}
}

func TestTensors(t *testing.T) {
	m := glm(t)
	m.poke("model.layers.1.self_attn.o_proj.weight", 4, 0xc0, 0x7f)
	dir := m.write()
	o := ask{noScan: true}.options(t)
	o.Tensor = "model.layers.1.self_attn.o_proj.weight"
	r := run(t, dir, o)
	if len(r.Tensors) != 1 {
		t.Fatalf("tensors %v", r.Tensors)
	}
	x := r.Tensors[0]
	if v := x.Values; x.DType != "BF16" || !slices.Equal(x.Shape, []int{64, 64}) || v.Count != 4096 || v.NaN != 1 || v.FirstBad != 2 || v.RMS <= 0 || v.Max <= 0 {
		t.Errorf("%+v %+v", x, x.Values)
	}
	o.Tensor, o.Layer = "", 2
	if r = run(t, dir, o); len(r.Tensors) != 31 {
		t.Errorf("layer 2 has %d tensors", len(r.Tensors))
	}
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, o := range []inspect.Options{{Tensor: "o_proj", Layer: -1}, {Layer: 99}} {
		_, err := inspect.Run(context.Background(), c, o)
		if err == nil || !strings.Contains(err.Error(), "has no") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestPackedScales compares with a packing done by hand.
func TestPackedScales(t *testing.T) {
	m := glmFP8(t)
	for _, name := range m.linear() {
		s := m.get(name + ".weight_scale_inv")
		for i := 0; i < len(s.Data); i += 4 {
			binary.LittleEndian.PutUint32(s.Data[i:], math.Float32bits(0.0078125))
		}
	}
	if r := run(t, m.write(), ask{}.options(t)); find(r, "CKPT-SCALE-001") != nil {
		t.Error("powers of two are reported")
	}
	// Four scales in a row of a weight 128 x 512: the mantissa of the second, 1.5 =
	// 0x3fc00000 >> 15 = 0x7f80, ORs 0x80 into the first exponent 0x7f, which
	// becomes 255.
	m.bf16("model.layers.0.mlp.down_proj.weight", 64, 512)
	m.fp8("model.layers.0.mlp.down_proj")
	m.put(checkpointtest.Floats("model.layers.0.mlp.down_proj.weight_scale_inv", []int{1, 4}, 1, 1.5, 1, 1))
	r := run(t, m.write(), ask{}.options(t))
	f := find(r, "CKPT-SCALE-001")
	if f == nil || !strings.Contains(f.Title, "1 of ") || !strings.Contains(f.Title, "1 blocks would get a wrong exponent and 1 would be NaN") {
		t.Errorf("%+v", f)
	}
}

func TestCancelled(t *testing.T) {
	c, err := checkpoint.Open(glm(t).write())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := inspect.Run(ctx, c, inspect.Options{Layer: -1, Scan: true}); err != context.Canceled {
		t.Errorf("%v", err)
	}
}
