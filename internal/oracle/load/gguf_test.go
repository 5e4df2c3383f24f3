package load_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/oracletest"
)

// ggufType numbers of the formats used here.
const (
	ggufF32  = 0
	ggufBF16 = 30
)

var ofExpert = regexp.MustCompile(`^(.*\.experts)\.(\d+)\.(.*)$`)

// asGGUF writes a BF16 checkpoint as a GGUF file: llama with the rows of queries
// and keys permuted, experts stacked.
func asGGUF(t *testing.T, dir, arch string, keys []checkpointtest.Key, heads, kvHeads int) string {
	t.Helper()
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := checkpointtest.GGUF{Keys: append([]checkpointtest.Key{{Name: "general.architecture", Value: arch}}, keys...)}
	stacks := map[string][][]byte{}
	dims := map[string][]uint64{}
	var order []string
	for _, x := range c.Tensors() {
		data, err := x.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		data = append([]byte(nil), data...)
		if arch == "llama" {
			switch {
			case strings.HasSuffix(x.Name, "q_proj.weight"):
				data = permute(data, heads, x.Shape[0], x.Shape[1])
			case strings.HasSuffix(x.Name, "k_proj.weight"):
				data = permute(data, kvHeads, x.Shape[0], x.Shape[1])
			}
		}
		name, expert := family.GGUFTensor(x.Name)
		var d []uint64
		for i := len(x.Shape) - 1; i >= 0; i-- {
			d = append(d, uint64(x.Shape[i]))
		}
		if m := ofExpert.FindStringSubmatch(x.Name); m != nil {
			if n, _ := strconv.Atoi(m[2]); n != expert {
				t.Fatalf("%s is expert %d", x.Name, expert)
			}
			if stacks[name] == nil {
				order = append(order, name)
			}
			stacks[name] = append(stacks[name], data)
			dims[name] = d
			continue
		}
		g.Tensors = append(g.Tensors, checkpointtest.GGUFTensor{Name: name, Dims: d, Type: ggufBF16, Data: data})
	}
	for _, name := range order {
		var data []byte
		for _, e := range stacks[name] {
			data = append(data, e...)
		}
		g.Tensors = append(g.Tensors, checkpointtest.GGUFTensor{Name: name, Dims: append(dims[name], uint64(len(stacks[name]))), Type: ggufBF16, Data: data})
	}
	file := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(file, g.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// permute reorders the rows of each head from halves to pairs.
func permute(data []byte, heads, rows, cols int) []byte {
	out := make([]byte, 0, len(data))
	size := 2 * cols
	d := rows / heads
	for h := range heads {
		for i := range d {
			from := h*d + i/2 + i%2*d/2
			out = append(out, data[from*size:][:size]...)
		}
	}
	return out
}

func keysOf(arch string, numbers map[string]uint32, eps, theta float32) []checkpointtest.Key {
	keys := []checkpointtest.Key{
		{Name: arch + ".attention.layer_norm_rms_epsilon", Value: eps}, {Name: arch + ".rope.freq_base", Value: theta},
	}
	for k, v := range numbers {
		keys = append(keys, checkpointtest.Key{Name: arch + "." + k, Value: v})
	}
	return keys
}

// TestGGUF: a GGUF file gives what the checkpoint gives that it was made from: to
// the bit, or to rounding where rows are in another order.
func TestGGUF(t *testing.T) {
	for _, tc := range []struct {
		family, arch string
		numbers      map[string]uint32
		change       map[string]any
		exact        bool
	}{
		{"qwen3", "qwen3", map[string]uint32{"attention.key_length": 32, "feed_forward_length": 96}, nil, true},
		{"qwen2", "qwen2", map[string]uint32{"feed_forward_length": 96}, nil, true},
		{"qwen3_moe", "qwen3moe", map[string]uint32{"attention.key_length": 32, "feed_forward_length": 96, "expert_feed_forward_length": 32, "expert_count": 6, "expert_used_count": 2}, map[string]any{"mlp_only_layers": nil}, true},
		{"llama", "llama", map[string]uint32{"rope.dimension_count": 16, "feed_forward_length": 96}, map[string]any{"rope_scaling": nil, "rms_norm_eps": 1e-6}, false},
	} {
		t.Run(tc.arch, func(t *testing.T) {
			config := oracletest.Config(t, oracletest.Configs[tc.family], tc.change)
			dir := oracletest.Write(t, config, oracletest.Options{})
			src := open(t, dir)
			numbers := map[string]uint32{"block_count": uint32(len(src.Spec.Layers)), "embedding_length": 64, "attention.head_count": 4, "attention.head_count_kv": 2, "vocab_size": 64, "context_length": 512}
			for k, v := range tc.numbers {
				numbers[k] = v
			}
			keys := append(keysOf(tc.arch, numbers, 1e-6, 10000), checkpointtest.Key{Name: "tokenizer.ggml.eos_token_id", Value: uint32(7)})
			read := open(t, asGGUF(t, dir, tc.arch, keys, 4, 2))
			if !slices.Equal(read.Spec.EOS, []int{7}) {
				t.Errorf("ends of text %v", read.Spec.EOS)
			}
			have, want := logitsOf(t, read), logitsOf(t, src)
			for i := range want {
				if tc.exact && math.Float32bits(have[i]) != math.Float32bits(want[i]) || math.Abs(float64(have[i]-want[i])) > 1e-5 {
					t.Fatalf("logit %d: %v, want %v", i, have[i], want[i])
				}
			}
		})
	}
}

// TestGGUFScaling: a scaled rotation of a GGUF file is the one of the config that it
// was made from, to the bit.
func TestGGUFScaling(t *testing.T) {
	yarn := func(more map[string]any) map[string]any {
		c := map[string]any{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32}
		for k, v := range more {
			c[k] = v
		}
		return c
	}
	for _, tc := range []struct {
		name   string
		config map[string]any
		keys   map[string]any
	}{
		{"linear", map[string]any{"rope_type": "linear", "factor": 2.5}, map[string]any{"rope.scaling.type": "linear", "rope.scaling.factor": float32(2.5)}},
		{"no type", map[string]any{"rope_type": "linear", "factor": 2.5}, map[string]any{"rope.scaling.factor": float32(2.5)}},
		{"old name", map[string]any{"rope_type": "linear", "factor": 2.5}, map[string]any{"rope.scale_linear": float32(2.5)}},
		{"none", nil, map[string]any{"rope.scaling.type": "none", "rope.scaling.factor": float32(2.5)}},
		{"factor 0", nil, map[string]any{"rope.scaling.factor": float32(0)}},
		{"yarn", yarn(nil), map[string]any{"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4), "rope.scaling.original_context_length": uint32(32)}},
		{"yarn of the whole context", yarn(map[string]any{"original_max_position_embeddings": 512}), map[string]any{"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4)}},
		{"yarn with all", yarn(map[string]any{"beta_fast": 8, "beta_slow": 2, "attention_factor": 1.25}), map[string]any{"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4), "rope.scaling.original_context_length": uint32(32),
			"rope.scaling.yarn_beta_fast": float32(8), "rope.scaling.yarn_beta_slow": float32(2), "rope.scaling.yarn_attn_factor": float32(1.25), "rope.scaling.yarn_ext_factor": float32(1)}},
		{"yarn with a factor on top", yarn(map[string]any{"attention_factor": 1.5 * (0.1*math.Log(4) + 1)}), map[string]any{"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4), "rope.scaling.original_context_length": uint32(32), "rope.scaling.attn_factor": float32(1.5)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			change := map[string]any{"max_position_embeddings": 512}
			if tc.config != nil {
				change["rope_scaling"] = tc.config
			}
			dir := oracletest.Write(t, oracletest.Config(t, oracletest.Configs["qwen3"], change), oracletest.Options{})
			keys := keysOf("qwen3", map[string]uint32{"block_count": 2, "embedding_length": 64, "attention.head_count": 4, "attention.head_count_kv": 2, "vocab_size": 64, "context_length": 512, "attention.key_length": 32, "feed_forward_length": 96}, 1e-6, 10000)
			for k, v := range tc.keys {
				keys = append(keys, checkpointtest.Key{Name: "qwen3." + k, Value: v})
			}
			have, want := logitsOf(t, open(t, asGGUF(t, dir, "qwen3", keys, 4, 2))), logitsOf(t, open(t, dir))
			for i := range want {
				if math.Float32bits(have[i]) != math.Float32bits(want[i]) {
					t.Fatalf("logit %d: %v, want %v", i, have[i], want[i])
				}
			}
		})
	}
	for _, bad := range []checkpointtest.Key{{Name: "qwen3.rope.scaling.yarn_ext_factor", Value: float32(0.5)}, {Name: "qwen3.rope.scaling.factor", Value: float32(-1)}} {
		keys := append(keysOf("qwen3", map[string]uint32{"block_count": 1, "embedding_length": 8, "attention.head_count": 2, "feed_forward_length": 8, "vocab_size": 4}, 1e-5, 1e4),
			checkpointtest.Key{Name: "general.architecture", Value: "qwen3"}, checkpointtest.Key{Name: "qwen3.rope.scaling.type", Value: "yarn"}, bad)
		file := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(file, checkpointtest.GGUF{Keys: keys}.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := openError(file); err == nil || !strings.Contains(err.Error(), bad.Name[strings.LastIndexByte(bad.Name, '.')+1:]) {
			t.Errorf("%s: %v", bad.Name, err)
		}
	}
}

// TestGGUFRefuses names what can't be run.
func TestGGUFRefuses(t *testing.T) {
	write := func(g checkpointtest.GGUF) string {
		file := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(file, g.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	_, err := openError(write(checkpointtest.GGUF{Keys: []checkpointtest.Key{{Name: "general.architecture", Value: "mamba"}}}))
	if err == nil || !strings.Contains(err.Error(), `GGUF architecture "mamba" is not supported: llama, qwen2`) {
		t.Errorf("error %v", err)
	}
	keys := append(keysOf("llama", map[string]uint32{"block_count": 1, "embedding_length": 8, "attention.head_count": 2, "feed_forward_length": 8, "vocab_size": 4}, 1e-5, 1e4), checkpointtest.Key{Name: "general.architecture", Value: "llama"})
	_, err = openError(write(checkpointtest.GGUF{Keys: append(keys, checkpointtest.Key{Name: "llama.rope.scaling.type", Value: "longrope"})}))
	if err == nil || !strings.Contains(err.Error(), `rope scaling "longrope"`) {
		t.Errorf("error %v", err)
	}
	embed := checkpointtest.GGUFTensor{Name: "token_embd.weight", Dims: []uint64{8, 4}, Type: ggufF32, Data: make([]byte, 128)}
	src := open(t, write(checkpointtest.GGUF{Keys: keys, Tensors: []checkpointtest.GGUFTensor{embed}}))
	if _, err := src.Model(numericsOf(t, "ggml")); err == nil || !strings.Contains(err.Error(), "output_norm.weight is missing: 8 values are expected") {
		t.Errorf("error %v", err)
	}
	embed.Dims = []uint64{4, 8}
	src = open(t, write(checkpointtest.GGUF{Keys: keys, Tensors: []checkpointtest.GGUFTensor{embed}}))
	if _, err := src.Model(numericsOf(t, "ggml")); err == nil || !strings.Contains(err.Error(), "token_embd.weight: shape [8 4], the metadata says 4 x 8") {
		t.Errorf("error %v", err)
	}
	frequencies := checkpointtest.GGUFTensor{Name: "rope_freqs.weight", Dims: []uint64{3}, Type: ggufF32, Data: make([]byte, 12)}
	if _, err := openError(write(checkpointtest.GGUF{Keys: keys, Tensors: []checkpointtest.GGUFTensor{frequencies}})); err == nil || !strings.Contains(err.Error(), "rope_freqs.weight has 3 values, 2 are expected") {
		t.Errorf("error %v", err)
	}
}

// TestGGUFTensorNames covers every tensor of the families that are read.
func TestGGUFTensorNames(t *testing.T) {
	for name, want := range map[string]string{
		"model.embed_tokens.weight": "token_embd.weight -1", "model.norm.weight": "output_norm.weight -1", "lm_head.weight": "output.weight -1",
		"model.layers.7.self_attn.k_proj.bias":           "blk.7.attn_k.bias -1",
		"model.layers.3.mlp.experts.12.down_proj.weight": "blk.3.ffn_down_exps.weight 12",
		"model.layers.3.mlp.gate.weight":                 "blk.3.ffn_gate_inp.weight -1",
		"other":                                          "other -1",
	} {
		tensor, expert := family.GGUFTensor(name)
		if got := fmt.Sprint(tensor, " ", expert); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
