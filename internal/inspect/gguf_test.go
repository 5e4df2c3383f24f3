package inspect_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/checkpointtest"
)

// smallGGUF is a model of one layer, its matrices in Q8_0.
func smallGGUF() *checkpointtest.GGUF {
	seed := uint32(3)
	q8 := func(rows, cols int) []byte {
		var b []byte
		for range rows * cols / 32 {
			b = binary.LittleEndian.AppendUint16(b, 0x1c00)
			for range 32 {
				seed = seed*1664525 + 1013904223
				b = append(b, byte(seed>>24))
			}
		}
		return b
	}
	f32 := func(n int) []byte { return checkpointtest.Floats("", nil, slices.Repeat([]float32{1}, n)...).Data }
	g := &checkpointtest.GGUF{Keys: []checkpointtest.Key{
		{Name: "general.architecture", Value: "llama"},
		{Name: "llama.block_count", Value: uint32(1)},
		{Name: "llama.context_length", Value: uint32(512)},
		{Name: "llama.embedding_length", Value: uint32(64)},
		{Name: "llama.feed_forward_length", Value: uint32(128)},
		{Name: "llama.attention.head_count", Value: uint32(4)},
		{Name: "llama.attention.head_count_kv", Value: uint32(2)},
		{Name: "tokenizer.ggml.tokens", Value: []string{"a", "b", "<|end|>", "d"}},
		{Name: "tokenizer.ggml.token_type", Value: []int32{1, 1, 3, 1}},
		{Name: "tokenizer.ggml.eos_token_id", Value: uint32(2)},
		{Name: "tokenizer.chat_template", Value: "{{ messages }}<|end|>"},
	}}
	matrix := func(name string, rows, cols int) {
		g.Tensors = append(g.Tensors, checkpointtest.GGUFTensor{Name: name, Dims: []uint64{uint64(cols), uint64(rows)}, Type: 8, Data: q8(rows, cols)})
	}
	vector := func(name string, n int) {
		g.Tensors = append(g.Tensors, checkpointtest.GGUFTensor{Name: name, Dims: []uint64{uint64(n)}, Type: 0, Data: f32(n)})
	}
	matrix("token_embd.weight", 4, 64)
	vector("output_norm.weight", 64)
	vector("blk.0.attn_norm.weight", 64)
	vector("blk.0.ffn_norm.weight", 64)
	matrix("blk.0.attn_q.weight", 64, 64)
	matrix("blk.0.attn_k.weight", 32, 64)
	matrix("blk.0.attn_v.weight", 32, 64)
	matrix("blk.0.attn_output.weight", 64, 64)
	matrix("blk.0.ffn_gate.weight", 128, 64)
	matrix("blk.0.ffn_up.weight", 128, 64)
	matrix("blk.0.ffn_down.weight", 64, 128)
	return g
}

func TestGGUF(t *testing.T) {
	key := func(g *checkpointtest.GGUF, name string, value any) {
		i := slices.IndexFunc(g.Keys, func(k checkpointtest.Key) bool { return k.Name == name })
		g.Keys[i].Value = value
	}
	tensor := func(g *checkpointtest.GGUF, name string) *checkpointtest.GGUFTensor {
		return &g.Tensors[slices.IndexFunc(g.Tensors, func(t checkpointtest.GGUFTensor) bool { return t.Name == name })]
	}
	for _, tc := range []struct {
		name   string
		breaks func(*checkpointtest.GGUF)
		cut    int
		want   string
		says   string
	}{
		{"sound", func(*checkpointtest.GGUF) {}, 0, "", ""},
		{"cut in the middle", func(*checkpointtest.GGUF) {}, 20000, "error CKPT-FILE-002", "m.gguf"},
		{"cut in the header", func(*checkpointtest.GGUF) {}, 400, "error CKPT-FILE-002", "m.gguf"},
		{"unknown type", func(g *checkpointtest.GGUF) { tensor(g, "blk.0.ffn_up.weight").Type = 77 }, 0, "error CKPT-FILE-004", "blk.0.ffn_up.weight"},
		{"version 1", func(g *checkpointtest.GGUF) { g.Version = 1 }, 0, "error CKPT-FILE-004", "m.gguf"},
		{"layer missing", func(g *checkpointtest.GGUF) { key(g, "llama.block_count", uint32(2)) }, 0, "error CKPT-SHAPE-002", "blk.1"},
		{"width of another model", func(g *checkpointtest.GGUF) { key(g, "llama.feed_forward_length", uint32(256)) }, 0, "error CKPT-SHAPE-001", "ffn_"},
		{"no number of layers", func(g *checkpointtest.GGUF) { g.Keys = slices.Delete(g.Keys, 1, 2) }, 0, "error CKPT-CONF-004", "llama.block_count"},
		{"no architecture", func(g *checkpointtest.GGUF) { g.Keys = slices.Delete(g.Keys, 0, 1) }, 0, "error CKPT-CONF-004", "architecture"},
		{"vocabulary larger than the embedding", func(g *checkpointtest.GGUF) { key(g, "tokenizer.ggml.tokens", []string{"a", "b", "<|end|>", "d", "e"}) }, 0, "error CKPT-TOK-001", "m.gguf"},
		{"eos outside the vocabulary", func(g *checkpointtest.GGUF) { key(g, "tokenizer.ggml.eos_token_id", uint32(99)) }, 0, "error CKPT-TOK-002", "99"},
		{"template cut", func(g *checkpointtest.GGUF) { key(g, "tokenizer.chat_template", "{% if x %}") }, 0, "error CKPT-TMPL-003", "if without endif"},
		{"scale of a block is NaN", func(g *checkpointtest.GGUF) { copy(tensor(g, "blk.0.ffn_up.weight").Data[34:], []byte{0, 0x7e}) }, 0, "error CKPT-VAL-001", "in block 1"},
		{"scale of a block is infinite", func(g *checkpointtest.GGUF) { copy(tensor(g, "blk.0.ffn_up.weight").Data, []byte{0, 0x7c}) }, 0, "error CKPT-VAL-002", "in block 0"},
		{"all zero", func(g *checkpointtest.GGUF) { clear(tensor(g, "blk.0.ffn_up.weight").Data) }, 0, "error CKPT-VAL-003", "blk.0.ffn_up.weight"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := smallGGUF()
			tc.breaks(g)
			data := g.Bytes()
			if tc.cut > 0 {
				data = data[:tc.cut]
			}
			r := run(t, checkpointtest.Folder(t, map[string]any{"m.gguf": data}), ask{}.options(t))
			got := alarms(r)
			if tc.want == "" {
				if len(got) > 0 || r.Checkpoint.Family != "llama" || r.Checkpoint.Layers != 1 || len(r.Checkpoint.KV) != 1 || r.Checkpoint.KV[0].BytesPerToken != 128 {
					t.Errorf("alarms %v, %+v", got, r.Checkpoint)
				}
				return
			}
			if !slices.Equal(got, []string{tc.want}) {
				t.Fatalf("alarms %v, want %s", got, tc.want)
			}
			f := find(r, strings.Fields(tc.want)[1])
			if text := f.Title + " " + f.Subject.File + " " + f.Subject.Tensor + " " + f.Subject.Field; !strings.Contains(text, tc.says) {
				t.Errorf("%q does not say %q", text, tc.says)
			}
		})
	}
}
