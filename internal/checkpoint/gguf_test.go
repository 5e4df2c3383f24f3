package checkpoint_test

import (
	"bytes"
	"slices"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
)

func smallGGUF() checkpointtest.GGUF {
	return checkpointtest.GGUF{
		Keys: []checkpointtest.Key{
			{Name: "general.architecture", Value: "llama"},
			{Name: "llama.block_count", Value: uint32(1)},
			{Name: "llama.rope.freq_base", Value: float32(10000)},
			{Name: "tokenizer.ggml.tokens", Value: []string{"a", "b", "c"}},
			{Name: "tokenizer.ggml.token_type", Value: []int32{1, 1, 3}},
			{Name: "tokenizer.ggml.scores", Value: []float32{0, -1, -2}},
			{Name: "tokenizer.ggml.add_bos_token", Value: true},
			{Name: "split.tensors.count", Value: int32(2)},
		},
		Tensors: []checkpointtest.GGUFTensor{
			{Name: "token_embd.weight", Dims: []uint64{64, 3}, Type: 8, Data: make([]byte, 3*2*34)},
			{Name: "output_norm.weight", Dims: []uint64{64}, Type: 0, Data: make([]byte, 256)},
		},
	}
}

func TestGGUF(t *testing.T) {
	for _, version := range []uint32{2, 3} {
		g := smallGGUF()
		g.Version = version
		dir := checkpointtest.Folder(t, map[string]any{"m.gguf": g.Bytes()})
		c := open(t, dir)
		if len(c.Problems) > 0 || c.Format != checkpoint.GGUF || c.Meta.Version != int(version) {
			t.Fatalf("version %d: %v, %v", version, c.Problems, c.Meta)
		}
		if s, ok := c.Meta.Str("general.architecture"); s != "llama" || !ok {
			t.Errorf("architecture %q", s)
		}
		if n, ok := c.Meta.Int("llama.block_count"); n != 1 || !ok {
			t.Errorf("block_count %d", n)
		}
		if f, ok := c.Meta.Float("llama.rope.freq_base"); f != 10000 || !ok {
			t.Errorf("freq_base %v", f)
		}
		if b, ok := c.Meta.Bool("tokenizer.ggml.add_bos_token"); !b || !ok {
			t.Error("add_bos_token")
		}
		if s := c.Meta.Strings("tokenizer.ggml.tokens"); !slices.Equal(s, []string{"a", "b", "c"}) {
			t.Errorf("tokens %q", s)
		}
		if n := c.Meta.Ints("tokenizer.ggml.token_type"); !slices.Equal(n, []int64{1, 1, 3}) {
			t.Errorf("token types %v", n)
		}
		if n := c.Meta.Floats("tokenizer.ggml.scores"); !slices.Equal(n, []float64{0, -1, -2}) {
			t.Errorf("scores %v", n)
		}
		x := c.Tensor("token_embd.weight")
		if x.DType != checkpoint.Q8_0 || !slices.Equal(x.Shape, []int{3, 64}) || x.Size != 204 {
			t.Errorf("tensor %+v", x)
		}
		if b, err := x.Bytes(); err != nil || len(b) != 204 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
}

func TestProblemsOfGGUF(t *testing.T) {
	sound := smallGGUF().Bytes()
	change := func(f func(*checkpointtest.GGUF)) []byte {
		g := smallGGUF()
		f(&g)
		return g.Bytes()
	}
	big := bytes.Clone(sound)
	copy(big[4:], []byte{0, 0, 0, 3})
	many := bytes.Clone(sound)
	copy(many[8:], []byte{255, 255, 255, 255, 255, 255, 255, 127})
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"cut in the header", sound[:180], "truncated"},
		{"cut in the data", sound[:len(sound)-200], "truncated"},
		{"trailing bytes", append(bytes.Clone(sound), make([]byte, 64)...), "trailing-bytes"},
		{"version 1", change(func(g *checkpointtest.GGUF) { g.Version = 1 }), "bad-header"},
		{"big-endian", big, "bad-header"},
		{"too many tensors", many, "bad-header"},
		{"LFS pointer", []byte("version https://git-lfs.github.com/spec/v1\n"), "pointer"},
		{"another file", []byte("hello, this is no model"), "bad-header"},
		{"unknown type", change(func(g *checkpointtest.GGUF) { g.Tensors[1].Type = 200 }), "unknown-dtype index-no-tensor"},
		{"half a block", change(func(g *checkpointtest.GGUF) { g.Tensors[0].Dims[0] = 63 }), "size-mismatch index-no-tensor"},
		{"gap", change(func(g *checkpointtest.GGUF) { g.Tensors[0].Dims[1] = 1 }), "gap"},
		{"overlap", change(func(g *checkpointtest.GGUF) { g.Tensors[0].Dims[1] = 4 }), "overlap"},
		{"name twice", change(func(g *checkpointtest.GGUF) { g.Tensors[1].Name = g.Tensors[0].Name }), "duplicate-name index-no-tensor"},
		{"key twice", change(func(g *checkpointtest.GGUF) { g.Keys[1].Name = g.Keys[0].Name }), "duplicate-name"},
		{"tensors of a split", change(func(g *checkpointtest.GGUF) { g.Keys[7].Value = int32(5) }), "index-no-tensor"},
		{"alignment", change(func(g *checkpointtest.GGUF) {
			g.Keys[1] = checkpointtest.Key{Name: "general.alignment", Value: uint32(24)}
		}), "bad-header"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := open(t, checkpointtest.Folder(t, map[string]any{"m.gguf": tc.data}))
			got := kinds(c)
			if first, _, _ := bytes.Cut([]byte(tc.want), []byte(" ")); got != tc.want && got != string(first) {
				t.Errorf("problems %q %v, want %q", got, c.Problems, tc.want)
			}
		})
	}
}

func TestSplitGGUF(t *testing.T) {
	part := func(no, tensor int) []byte {
		g := smallGGUF()
		g.Keys = append(g.Keys, checkpointtest.Key{Name: "split.no", Value: uint32(no)}, checkpointtest.Key{Name: "split.count", Value: uint32(2)})
		g.Tensors = g.Tensors[tensor : tensor+1]
		return g.Bytes()
	}
	dir := checkpointtest.Folder(t, map[string]any{"m-00001-of-00002.gguf": part(0, 0), "m-00002-of-00002.gguf": part(1, 1)})
	for _, path := range []string{dir, dir + "/m-00002-of-00002.gguf"} {
		c := open(t, path)
		if len(c.Problems) > 0 || len(c.Tensors()) != 2 || len(c.Files) != 2 {
			t.Errorf("%s: %v, %d tensors in %d files", path, c.Problems, len(c.Tensors()), len(c.Files))
		}
	}
	dir = checkpointtest.Folder(t, map[string]any{"m-00001-of-00002.gguf": part(0, 0)})
	if c := open(t, dir); kinds(c) != "missing-file" {
		t.Errorf("missing part: %v", c.Problems)
	}
	dir = checkpointtest.Folder(t, map[string]any{"other.gguf": part(0, 0)})
	if c := open(t, dir); kinds(c) != "missing-file" {
		t.Errorf("renamed part: %v", c.Problems)
	}
	dir = checkpointtest.Folder(t, map[string]any{"a.gguf": smallGGUF().Bytes(), "b.gguf": smallGGUF().Bytes()})
	if _, err := checkpoint.Open(dir); err == nil {
		t.Error("two models in one folder")
	}
}
