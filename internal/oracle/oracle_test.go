package oracle_test

import (
	"encoding/json"
	"flag"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

var update = flag.Bool("update", false, "write the expected values anew")

// prompt has repeated and distinct tokens, and more of them than any index_topk
// of the tiny models.
var prompt = []int{3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 32, 3, 8, 46, 2, 6, 43, 38, 32}

func open(t testing.TB, dir, num string) *oracle.Model {
	t.Helper()
	src, err := load.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	n, err := numerics.Parse(num)
	if err != nil {
		t.Fatal(err)
	}
	m, err := src.Model(n)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// logits feeds tokens in pieces and returns the logits of all positions.
func logits(t testing.TB, m *oracle.Model, tokens []int, pieces ...int) []float32 {
	t.Helper()
	s := m.NewSession(nil)
	var out []float32
	for _, n := range pieces {
		h, err := s.Feed(t.Context(), tokens[:n])
		if err != nil {
			t.Fatal(err)
		}
		tokens = tokens[n:]
		out = append(out, s.Logits(h)...)
	}
	if len(tokens) > 0 {
		t.Fatalf("%d tokens are left", len(tokens))
	}
	return out
}

func sameBits(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && !(a[i] != a[i] && b[i] != b[i]) {
			return i
		}
	}
	return -1
}

// TestPiecesGiveTheSameBits: one forward pass, a prefill in pieces, and decoding
// token by token agree bit for bit, for every family and set.
func TestPiecesGiveTheSameBits(t *testing.T) {
	ones := slices.Repeat([]int{1}, len(prompt))
	for name, config := range oracletest.Configs {
		dir := oracletest.Write(t, config, oracletest.Options{})
		for _, num := range append(numerics.Names(), "hf-f32,fault=stale-page,page=4", "sglang-bf16kv,kv=fp8_656-read-as-576") {
			m := open(t, dir, num)
			want := logits(t, m, prompt, len(prompt))
			for _, pieces := range [][]int{{7, 12, 1}, ones} {
				if i := sameBits(want, logits(t, m, prompt, pieces...)); i >= 0 {
					t.Errorf("%s, %s, pieces %v: token %d differs", name, num, pieces, i/m.Spec.Vocab)
				}
			}
		}
	}
}

// golden is what a tiny model gives: the bits of some logits of the last token.
type golden map[string]map[string][]uint32

// TestGoldenBits compares logits of tiny models with stored bits: all machines
// give the same. The stored bits are those of a build that agreed with
// transformers on the shared reference models.
func TestGoldenBits(t *testing.T) {
	const file = "testdata/bits.json"
	want := golden{}
	if data, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
	}
	have := golden{}
	for _, name := range slices.Sorted(maps.Keys(oracletest.Configs)) {
		dir := oracletest.Write(t, oracletest.Configs[name], oracletest.Options{Format: mixed})
		have[name] = map[string][]uint32{}
		for _, num := range numerics.Names() {
			all := logits(t, open(t, dir, num), prompt, len(prompt))
			var bits []uint32
			for _, v := range all[len(all)-8:] {
				bits = append(bits, math.Float32bits(v))
			}
			have[name][num] = bits
		}
	}
	if *update {
		data, err := json.MarshalIndent(have, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("bits (-want +got):\n%s", d)
	}
}

// mixed stores attention as FP8 blocks and MLPs as NVFP4.
func mixed(module string) oracletest.Format {
	switch {
	case strings.Contains(module, "self_attn") && !strings.Contains(module, "weights_proj"):
		return oracletest.FP8Block
	case strings.HasSuffix(module, "_proj") && strings.Contains(module, ".mlp."):
		return oracletest.NVFP4
	}
	return oracletest.BF16
}

// TestDrafterPieces: an MTP layer fed in pieces gives the same bits.
func TestDrafterPieces(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["glm_moe_dsa"], oracletest.Options{MTP: true})
	m := open(t, dir, "hf-bf16")
	if m.Drafts() != 1 {
		t.Fatalf("%d MTP layers", m.Drafts())
	}
	hidden, err := m.NewSession(nil).Feed(t.Context(), prompt)
	if err != nil {
		t.Fatal(err)
	}
	n, w := len(prompt)-1, m.Spec.Hidden
	run := func(pieces ...int) (out []float32) {
		d := m.NewDrafter(0, nil)
		at := 0
		for _, k := range pieces {
			logits, err := d.Feed(t.Context(), hidden[at*w:][:k*w], prompt[at+1:][:k])
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, logits...)
			at += k
		}
		return out
	}
	if i := sameBits(run(n), run(5, 1, n-6)); i >= 0 {
		t.Errorf("token %d differs", i/m.Spec.Vocab)
	}
	if _, err := m.NewDrafter(0, nil).Feed(t.Context(), hidden[:3], prompt[:1]); err == nil {
		t.Error("hidden states of another width are taken")
	}
	if without := open(t, oracletest.Write(t, oracletest.Configs["glm_moe_dsa"], oracletest.Options{}), "exact"); without.Drafts() != 0 {
		t.Error("a checkpoint without MTP tensors has an MTP layer")
	}
}

// TestWindow: behind a sliding window of one layer a token no longer matters.
func TestWindow(t *testing.T) {
	config := oracletest.Config(t, oracletest.Configs["mistral"], map[string]any{"num_hidden_layers": 1})
	m := open(t, oracletest.Write(t, config, oracletest.Options{}), "exact")
	last := func(tokens []int) []float32 {
		all := logits(t, m, tokens, len(tokens))
		return all[len(all)-m.Spec.Vocab:]
	}
	base := last(prompt)
	changed := slices.Clone(prompt)
	changed[len(prompt)-6] = 60 // the window is 5, the token itself included
	if sameBits(base, last(changed)) >= 0 {
		t.Error("a token outside of the window matters")
	}
	changed[len(prompt)-5] = 60
	if sameBits(base, last(changed)) < 0 {
		t.Error("a token inside of the window does not matter")
	}
}

// TestFeedRefuses names what is wrong with tokens.
func TestFeedRefuses(t *testing.T) {
	m := open(t, oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{}), "exact")
	s := m.NewSession(nil)
	for _, tc := range []struct {
		tokens []int
		want   string
	}{
		{nil, "no tokens"},
		{[]int{1, 64}, "token id 64 at position 1: the vocabulary has ids 0 to 63"},
		{[]int{-1}, "token id -1 at position 0"},
	} {
		if _, err := s.Feed(t.Context(), tc.tokens); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: error %v, want %q", tc.tokens, err, tc.want)
		}
	}
	if s.Len() != 0 {
		t.Errorf("the session has %d tokens", s.Len())
	}
}

func TestTopK(t *testing.T) {
	nan := float32(math.NaN())
	for _, tc := range []struct {
		x    []float32
		k    int
		want []int
	}{
		{[]float32{1, 3, 2}, 2, []int{1, 2}},
		{[]float32{5, 5, 5, 1}, 2, []int{0, 1}},
		{[]float32{1, nan, 3, nan}, 3, []int{1, 3, 2}},
		{[]float32{nan, nan, nan}, 2, []int{0, 1}},
		{[]float32{float32(math.Inf(-1)), 0}, 5, []int{1, 0}},
	} {
		if got := oracle.TopK(tc.x, tc.k); !slices.Equal(got, tc.want) {
			t.Errorf("TopK(%v, %d) = %v, want %v", tc.x, tc.k, got, tc.want)
		}
	}
}

// TestTopKAgrees: one pass and sorting give the same for values with ties, NaN
// and infinities.
func TestTopKAgrees(t *testing.T) {
	values := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, 1, 1, 2, -3}
	x := make([]float32, 100)
	state := uint32(1)
	for round := range 50 {
		for i := range x {
			state = state*1664525 + 1013904223
			x[i] = values[state>>16%8]
		}
		long := oracle.TopK(x, len(x))
		for _, k := range []int{0, 1, 7, 32} {
			if got := oracle.TopK(x, k); !slices.Equal(got, long[:k]) {
				t.Fatalf("round %d, k %d: %v, sorted %v", round, k, got, long[:k])
			}
		}
	}
}
