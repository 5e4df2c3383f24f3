package load_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

func numericsOf(t *testing.T, text string) numerics.Numerics {
	t.Helper()
	n, err := numerics.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func open(t *testing.T, dir string) *load.Source {
	t.Helper()
	src, err := load.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// openError opens what should be refused.
func openError(path string) (*load.Source, error) {
	src, err := load.Open(path)
	if err == nil {
		err = errors.Join(src.Close())
	}
	return src, err
}

// TestNamesWhatIsWrong: a checkpoint that contradicts its config.
func TestNamesWhatIsWrong(t *testing.T) {
	glm := oracletest.Configs["glm_moe_dsa"]
	fp8 := func(module string) oracletest.Format {
		if strings.Contains(module, "self_attn.o_proj") {
			return oracletest.FP8Block
		}
		return oracletest.BF16
	}
	for _, tc := range []struct {
		name   string
		change map[string]any
		opt    oracletest.Options
		want   string
	}{
		{"a matrix is missing", nil, oracletest.Options{Leave: []string{"model.layers.1.mlp.experts.3.up_proj.weight"}}, "model.layers.1.mlp.experts.3.up_proj.weight is missing: a matrix of 32 x 64 is expected"},
		{"a vector is missing", nil, oracletest.Options{Leave: []string{"model.norm.weight"}}, "model.norm.weight is missing: 64 values are expected"},
		{"scales are missing", nil, oracletest.Options{Format: fp8, Leave: []string{"model.layers.0.self_attn.o_proj.weight_scale_inv"}}, "model.layers.0.self_attn.o_proj.weight: stored as fp8, weight_scale_inv is missing"},
		{"another width", map[string]any{"moe_intermediate_size": 48}, oracletest.Options{}, "shape [32 64], the config says 48 x 64"},
		{"more layers", map[string]any{"num_hidden_layers": 5}, oracletest.Options{}, "model.layers.4.input_layernorm.weight is missing"},
		{"another vocabulary", map[string]any{"vocab_size": 65}, oracletest.Options{}, "model.embed_tokens.weight: shape [64 64], the config says 65 x 64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := oracletest.Write(t, glm, tc.opt)
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(oracletest.Config(t, glm, tc.change)), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, dir).Model(numericsOf(t, "exact"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{})
	write := func(config string) {
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"model_type":"bert"}`)
	_, err := load.Open(dir)
	var unsupported *family.UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Errorf("error %v", err)
	}
	write(`{"model_type":`)
	if _, err := load.Open(dir); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "config.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := load.Open(dir); err == nil || !strings.Contains(err.Error(), "no config.json") {
		t.Errorf("error %v", err)
	}
	if _, err := load.Open(filepath.Join(dir, "nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestGeometryOfRecords: a form of the KV cache that can't hold the model says
// so, with the form that can.
func TestGeometryOfRecords(t *testing.T) {
	config := oracletest.Config(t, oracletest.LatentReal, map[string]any{"kv_lora_rank": 640, "index_head_dim": 160})
	src := open(t, oracletest.Write(t, config, oracletest.Options{}))
	for num, want := range map[string]string{
		"exact,kv=fp8_656":        "kv=fp8_656 holds 512 latent and 64 rotated values, layer 0 has 640 and 64: use kv=bf16",
		"exact,index-kv=fp8_132":  "index-kv=fp8_132 holds keys of 128 values, layer 0 has 160",
		"exact,hadamard=on":       "a power of two, layer 0 has 160",
		"exact,kv=bf16":           "",
		"sglang-bf16kv,kv=f32":    "index-kv=fp8_132 holds",
		"hf-bf16,index-rope=half": "",
	} {
		_, err := src.Model(numericsOf(t, num))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", num, err, want)
		}
	}
}

// TestCheckFinite names and counts what is no number.
func TestCheckFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	dir := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{Values: func(tensor string, values []float32, _, _ int) {
		switch tensor {
		case "model.layers.1.mlp.down_proj.weight":
			values[5000], values[5001], values[17] = nan, inf, -inf
		case "model.norm.weight":
			values[63] = nan
		}
	}})
	err := open(t, dir).CheckFinite(t.Context(), nil)
	var bad *load.NotFiniteError
	if !errors.As(err, &bad) || len(bad.Tensors) != 2 {
		t.Fatalf("error %v", err)
	}
	if got := bad.Tensors[0]; got != (load.NotFinite{File: "model.safetensors", Name: "model.layers.1.mlp.down_proj.weight", NaN: 1, Inf: 2, Elements: 6144, First: 17}) {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(err.Error(), "model.norm.weight: 1 NaN and 0 infinite of 64 values, the first is number 63") {
		t.Errorf("error %v", err)
	}
	var last, all int64
	progress := func(done, total int64) {
		if done <= last || done > total {
			t.Errorf("%d of %d bytes behind %d", done, total, last)
		}
		last, all = done, total
	}
	if err := open(t, oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{})).CheckFinite(t.Context(), progress); err != nil || last != all || all == 0 {
		t.Errorf("healthy weights: %v behind %d of %d bytes", err, last, all)
	}
}

// TestCheckFiniteCodes: the NaN codes of FP8 count too.
func TestCheckFiniteCodes(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{
		Format: func(string) oracletest.Format { return oracletest.FP8Block },
		Values: func(tensor string, values []float32, _, _ int) {
			if strings.HasSuffix(tensor, "0.self_attn.q_proj.weight") {
				values[3] = float32(math.NaN())
			}
		},
	})
	var bad *load.NotFiniteError
	if err := open(t, dir).CheckFinite(t.Context(), nil); !errors.As(err, &bad) || !strings.HasPrefix(bad.Tensors[0].Name, "model.layers.0.self_attn.q_proj.weight") {
		t.Errorf("error %v", err)
	}
}

// TestFits: a text that is longer than the memory is refused before anything is
// read, with what is needed and available.
func TestFits(t *testing.T) {
	src := open(t, oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{}))
	n := numericsOf(t, "exact")
	if err := src.Fits(n, 100, 100); err != nil {
		t.Errorf("a short text: %v", err)
	}
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		t.Skip("this system does not tell its memory")
	}
	var short *load.MemoryError
	if err := src.Fits(n, 1<<40, 512); !errors.As(err, &short) || short.Need <= short.Available || !strings.Contains(err.Error(), "GiB needed") {
		t.Errorf("error %v", err)
	}
}

// TestFusedExperts: experts that lie in one tensor, as Transformers 5 writes
// them, give the bits of experts of their own.
func TestFusedExperts(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["qwen3_moe"], oracletest.Options{})
	fused := oracletest.Fuse(t, dir)
	a, b := logitsOf(t, open(t, dir)), logitsOf(t, open(t, fused))
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			t.Fatalf("logit %d: %v and %v", i, a[i], b[i])
		}
	}
	c, err := checkpoint.Open(fused)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Tensor("model.layers.0.mlp.experts.gate_up_proj") == nil || c.Tensor("model.layers.0.mlp.experts.0.up_proj.weight") != nil {
		t.Error("the experts were not fused")
	}
}

func logitsOf(t *testing.T, src *load.Source) []float32 {
	t.Helper()
	m, err := src.Model(numericsOf(t, "exact"))
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewSession(nil)
	h, err := s.Feed(t.Context(), []int{5, 9, 33})
	if err != nil {
		t.Fatal(err)
	}
	return s.Logits(h)
}
