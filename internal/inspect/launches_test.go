package inspect_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shakedown/internal/inspect"
)

// stored is one tensor of a large checkpoint: only its header is written, the
// data is a hole in the file.
type stored struct {
	name, dtype string
	shape       []int
	bits        int
}

// format says how a weight is stored.
type format func(name string, shape []int) []stored

func plain(name string, shape []int) []stored { return []stored{{name, "BF16", shape, 16}} }

// linearWeight says whether a name is a matrix that checkpoints quantise.
func linearWeight(name string, shape []int) bool {
	for _, part := range []string{"embed", "lm_head", "mlp.gate.", "weights_proj", "eh_proj"} {
		if strings.Contains(name, part) {
			return false
		}
	}
	return len(shape) == 2
}

// only applies a format to the weights whose names hold one of the parts, to all
// when there are none, and leaves the others plain.
func only(f format, parts ...string) format {
	return func(name string, shape []int) []stored {
		ok := len(parts) == 0
		for _, p := range parts {
			ok = ok || strings.Contains(name, p)
		}
		if ok && linearWeight(name, shape) {
			return f(strings.TrimSuffix(name, ".weight"), shape)
		}
		return plain(name, shape)
	}
}

// but leaves the weights plain whose names hold a part.
func but(f format, parts ...string) format {
	return func(name string, shape []int) []stored {
		for _, p := range parts {
			if strings.Contains(name, p) {
				return plain(name, shape)
			}
		}
		return f(name, shape)
	}
}

func fp8Blocks(m string, s []int) []stored {
	return []stored{{m + ".weight", "F8_E4M3", s, 8}, {m + ".weight_scale_inv", "F32", []int{(s[0] + 127) / 128, (s[1] + 127) / 128}, 32}}
}

func fp8Channels(m string, s []int) []stored {
	return []stored{{m + ".weight", "F8_E4M3", s, 8}, {m + ".weight_scale", "BF16", []int{s[0], 1}, 16}}
}

func modeloptFP4(m string, s []int) []stored {
	return []stored{{m + ".weight", "U8", []int{s[0], s[1] / 2}, 8}, {m + ".weight_scale", "F8_E4M3", []int{s[0], s[1] / 16}, 8}, {m + ".weight_scale_2", "F32", nil, 32}, {m + ".input_scale", "F32", nil, 32}}
}

func awq(m string, s []int) []stored {
	return []stored{{m + ".qweight", "I32", []int{s[1], s[0] / 8}, 32}, {m + ".qzeros", "I32", []int{s[1] / 128, s[0] / 8}, 32}, {m + ".scales", "F16", []int{s[1] / 128, s[0]}, 16}}
}

func packedInt4(m string, s []int) []stored {
	return []stored{{m + ".weight_packed", "I32", []int{s[0], s[1] / 8}, 32}, {m + ".weight_scale", "BF16", []int{s[0], s[1] / 128}, 16}, {m + ".weight_shape", "I64", []int{2}, 64}}
}

// maxShard is the size of a shard, as publishers cut them.
const maxShard = 10 << 30

// huge writes the headers of a checkpoint of any size.
func huge(t testing.TB, config map[string]any, f format) string {
	t.Helper()
	if testing.Short() {
		t.Skip("large headers")
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte, size int64) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Skipf("no room for files with holes: %v", err)
		}
	}
	write("config.json", text, int64(len(text)))
	index := map[string]string{}
	var header strings.Builder
	at, shard := int64(0), 0
	flush := func() {
		if at == 0 {
			return
		}
		head := "{" + header.String() + "}"
		data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
		write(fmt.Sprintf("model-%05d.safetensors", shard), data, int64(len(data))+at)
		header.Reset()
		at = 0
		shard++
	}
	names, shapes := inspect.Promised(text)
	for i, name := range names {
		all := f(name, shapes[i])
		if strings.HasSuffix(name, "e_score_correction_bias.weight") {
			all = []stored{{strings.TrimSuffix(name, ".weight"), "F32", shapes[i], 32}}
		}
		for _, s := range all {
			n := int64(s.bits / 8)
			for _, d := range s.shape {
				n *= int64(d)
			}
			if at+n > maxShard {
				flush()
			}
			if at > 0 {
				header.WriteByte(',')
			}
			shape, _ := json.Marshal(append([]int{}, s.shape...))
			fmt.Fprintf(&header, `"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, s.name, s.dtype, shape, at, at+n)
			at += n
			index[s.name] = fmt.Sprintf("model-%05d.safetensors", shard)
		}
	}
	flush()
	list, err := json.Marshal(map[string]any{"weight_map": index})
	if err != nil {
		t.Fatal(err)
	}
	write("model.safetensors.index.json", list, int64(len(list)))
	return dir
}

// Configurations restated from published checkpoints.
var (
	glm5 = map[string]any{
		"architectures": []string{"GlmMoeDsaForCausalLM"}, "model_type": "glm_moe_dsa", "dtype": "bfloat16", "hidden_size": 6144, "num_hidden_layers": 78,
		"num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
		"v_head_dim": 256, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048, "intermediate_size": 12288, "moe_intermediate_size": 2048,
		"n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3, "vocab_size": 154880,
		"num_nextn_predict_layers": 1, "tie_word_embeddings": false, "max_position_embeddings": 202752,
	}
	kimiK2 = map[string]any{
		"architectures": []string{"DeepseekV3ForCausalLM"}, "model_type": "kimi_k2", "dtype": "bfloat16", "hidden_size": 7168, "num_hidden_layers": 61,
		"num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
		"v_head_dim": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 384, "num_experts_per_tok": 8,
		"n_shared_experts": 1, "first_k_dense_replace": 1, "vocab_size": 163840, "num_nextn_predict_layers": 0, "tie_word_embeddings": false,
		"max_position_embeddings": 262144,
	}
	deepseekR1 = map[string]any{
		"architectures": []string{"DeepseekV3ForCausalLM"}, "model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 7168, "num_hidden_layers": 61,
		"num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
		"v_head_dim": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8,
		"n_shared_experts": 1, "first_k_dense_replace": 3, "vocab_size": 129280, "num_nextn_predict_layers": 1, "tie_word_embeddings": false,
		"max_position_embeddings": 163840,
	}
	glm47 = map[string]any{
		"architectures": []string{"Glm4MoeForCausalLM"}, "model_type": "glm4_moe", "torch_dtype": "bfloat16", "hidden_size": 5120, "num_hidden_layers": 92,
		"num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536,
		"n_routed_experts": 160, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3, "vocab_size": 151552,
		"num_nextn_predict_layers": 0, "attention_bias": true, "use_qk_norm": true, "tie_word_embeddings": false, "max_position_embeddings": 202752,
	}
)

// dense is a configuration with grouped-query attention.
func dense(family string, hidden, layers, heads, kv, headDim, inter, vocab int, more map[string]any) map[string]any {
	c := map[string]any{
		"architectures": []string{"X"}, "model_type": family, "torch_dtype": "bfloat16", "hidden_size": hidden, "num_hidden_layers": layers,
		"num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": headDim, "intermediate_size": inter, "vocab_size": vocab, "tie_word_embeddings": false,
	}
	maps.Copy(c, more)
	return c
}

// launch is what a log of a real server says of its memory.
type launch struct {
	name   string // model, engine and where the log is from
	config map[string]any
	format format
	tp, pp int
	// weights is what the engine printed for the fullest GPU, in GiB.
	weights float64
	// free is the memory that the log says is free for the KV cache, in GiB, tokens
	// what it made of it; 0: not printed.
	free   float64
	tokens int
	// value is the bytes of one cached value.
	value float64
	// weightsOff is how far the weights may be off, 0.02 unless set.
	weightsOff float64
}

// launches are lines "Load weight end. ... mem usage=" and "KV Cache is
// allocated" of SGLang, "Model loading took" and "GPU KV cache size" of vLLM, as
// printed in public logs.
var launches = []launch{
	// 2.8 GiB more than the tensors hold are in use here, and why is not known.
	{"Kimi-K2-Thinking-NVFP4, SGLang on 8 RTX PRO 6000", kimiK2, only(modeloptFP4, ".experts."), 8, 1, 73.87, 20.21 - 94.08*(1-0.848), 180191, 1, 0.04},
	{"GLM-5-FP8, SGLang on 8 MI355X", glm5, only(fp8Blocks), 8, 1, 89.58, 0, 0, 0, 0},
	{"DeepSeek-R1, vLLM on 16 GPUs", deepseekR1, only(fp8Blocks), 16, 1, 40.3174, 0, 0, 0, 0},
	{"GLM-4.7-FP8, SGLang on 8 RTX PRO 6000", glm47, only(fp8Channels), 4, 2, 42.86, 51.23 - 94.09*(1-0.848), 841782, 2, 0},
	{"Qwen2.5-Coder-7B, vLLM", dense("qwen2", 3584, 28, 28, 4, 128, 18944, 152064, nil), plain, 1, 1, 14.1931, 0, 0, 0, 0},
	{"Qwen3-8B of another name, vLLM", dense("qwen3", 4096, 36, 32, 8, 128, 12288, 151936, nil), plain, 1, 1, 15.27, 37.81, 275328, 2, 0},
	{"Qwen3-Coder-30B-A3B, vLLM", dense("qwen3_moe", 2048, 48, 32, 4, 128, 6144, 151936, map[string]any{"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}), plain, 1, 1, 56.93, 13.84, 151216, 2, 0},
	{"Qwen3-30B-A3B AWQ-4bit (compressed-tensors), vLLM", dense("qwen3_moe", 2048, 48, 32, 4, 128, 6144, 151936, map[string]any{"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}), only(packedInt4), 1, 1, 15.6116, 1.92, 20960, 2, 0},
	{"Qwen3-14B-AWQ, vLLM", dense("qwen3", 5120, 40, 40, 8, 128, 17408, 151936, nil), only(awq), 1, 1, 9.44, 0, 0, 0, 0},
	{"R1-Distill-Qwen-14B FP8, vLLM", dense("qwen2", 5120, 48, 40, 8, 128, 13824, 152064, nil), only(fp8Channels), 1, 1, 15.4668, 0, 0, 0, 0},
	{"Llama-3.1-405B AWQ, vLLM on 4 GPUs", dense("llama", 16384, 126, 128, 8, 128, 53248, 128256, nil), only(awq), 4, 1, 51.1453, 0, 0, 0, 0},
	{"Qwen2.5-1.5B, SGLang on GB10, FP8 cache", dense("qwen2", 1536, 28, 12, 2, 128, 8960, 151936, map[string]any{"tie_word_embeddings": true}), plain, 1, 1, 0, 108.97 - 112.24*(1-0.4), 3113713, 1, 0},
	{"Qwen2.5-1.5B, SGLang on GB10, FP4 cache", dense("qwen2", 1536, 28, 12, 2, 128, 8960, 151936, map[string]any{"tie_word_embeddings": true}), plain, 1, 1, 0, 108.99 - 112.23*(1-0.4), 5537416, 0.5 + 1.0/16, 0},
}

// TestLaunches: weights within 2 % of what the log prints, tokens within 2 %
// from the memory that it says is free.
func TestLaunches(t *testing.T) {
	for _, l := range launches {
		t.Run(l.name, func(t *testing.T) {
			dir := huge(t, l.config, l.format)
			o := ask{gpu: fmt.Sprintf("%dx B300", l.tp*l.pp), tp: l.tp, pp: l.pp, noScan: true}.options(t)
			r := run(t, dir, o)
			if r.Memory == nil {
				t.Fatalf("no memory: %v", r.Checkpoint.Notes)
			}
			weights := r.Memory.Items[1].Size
			t.Logf("%d tensors, %.1f GB; weights %.2f GiB", r.Checkpoint.Tensors, float64(r.Checkpoint.Bytes)/1e9, weights)
			if off := weights/l.weights - 1; l.weights > 0 && math.Abs(off) > max(l.weightsOff, 0.02) {
				t.Errorf("weights %.2f GiB, the log says %.2f (%+.1f %%)", weights, l.weights, 100*off)
			}
			if l.tokens == 0 {
				return
			}
			tokens := l.free * (1 << 30) / (r.Memory.BytesPerToken * l.value / 2)
			if off := tokens/float64(l.tokens) - 1; math.Abs(off) > 0.02 {
				t.Errorf("%.0f tokens, the log says %d (%+.1f %%)", tokens, l.tokens, 100*off)
			}
		})
	}
}

// TestFounding: eight RTX PRO 6000 with GLM-5-NVFP4 had room for 370,752 tokens
// and 17.08 GB left, with the plain FP8 record of sparse attention. What was left
// shows the memory fraction of that night: 0.8.
func TestFounding(t *testing.T) {
	config := maps.Clone(glm5)
	config["quantization_config"] = map[string]any{
		"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": []string{"lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "model.layers.0.*", "model.layers.1.*", "model.layers.2.*", "model.layers.78.*"},
		"config_groups": map[string]any{"group_0": map[string]any{"targets": []string{"Linear"}, "weights": map[string]any{"num_bits": 4, "type": "float", "group_size": 16}, "input_activations": map[string]any{"num_bits": 4, "dynamic": false}}},
	}
	dir := huge(t, config, but(only(modeloptFP4, ".experts."), "layers.78."))
	o := ask{gpu: "8x RTX PRO 6000", engine: "sglang", version: "0.5.9", noScan: true}.options(t)
	o.Argv = []string{"--attention-backend", "flashinfer", "--kv-cache-dtype", "fp8_e4m3", "--nsa-prefill-backend", "trtllm", "--nsa-decode-backend", "trtllm",
		"--max-running-requests", "64", "--chunked-prefill-size", "8192", "--mem-fraction-static", "0.8", "--disable-cuda-graph"}
	r := run(t, dir, o)
	if r.Memory == nil {
		t.Fatalf("no memory: %v", r.Checkpoint.Notes)
	}
	t.Logf("%d tensors, %.1f GB, %d tokens, %.2f GiB left: %+v %v", r.Checkpoint.Tensors, float64(r.Checkpoint.Bytes)/1e9, r.Memory.KVTokens, r.Memory.Left, r.Memory.Items, r.Checkpoint.Notes)
	if off := float64(r.Memory.KVTokens)/370752 - 1; math.Abs(off) > 0.10 {
		t.Errorf("%d tokens, the server had 370752 (%+.1f %%)", r.Memory.KVTokens, 100*off)
	}
	if off := r.Memory.Left/17.08 - 1; math.Abs(off) > 0.10 {
		t.Errorf("%.2f GiB left, the server had 17.08 (%+.1f %%)", r.Memory.Left, 100*off)
	}
}
