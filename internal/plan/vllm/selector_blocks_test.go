package vllm

import (
	"slices"
	"testing"

	"shakedown/internal/hfconfig"
)

func TestAlignPages(t *testing.T) {
	// A layer with 8 value heads of 128 x 128 in BF16 and a convolution window of
	// 3 x 2048: 274432 bytes; a token of attention takes 1024.
	base := hybridPages{alignment: 16, tokenBytes: 1024, stateBytes: 274432}
	cases := []struct {
		name   string
		change func(*hybridPages, *pages)
		want   pages
		lines  int
	}{
		{"smallest block", nil, pages{block: 272, mambaPadded: 272 * 1024}, 2},
		{"kernel blocks of 32", func(h *hybridPages, _ *pages) { h.alignment = 32 }, pages{block: 288, mambaPadded: 288 * 1024}, 2},
		{"a larger block was asked for", func(_ *hybridPages, p *pages) { p.block = 512 }, pages{block: 512, mambaPadded: 512 * 1024}, 1},
		{"states cached by block", func(h *hybridPages, _ *pages) { h.mode = "align" }, pages{block: 272, mambaBlock: 272, mambaPadded: 272 * 1024}, 2},
		{"states cached by chunk", func(h *hybridPages, _ *pages) { h.mode, h.chunk = "all", 128 }, pages{block: 384, mambaBlock: 384, mambaPadded: 384 * 1024}, 2},
		{"pages already equal", func(h *hybridPages, _ *pages) { h.stateBytes = 272 * 1024 }, pages{block: 272}, 1},
		{"no recurrent layer", func(h *hybridPages, _ *pages) { h.stateBytes = 0 }, pages{block: 16}, 0},
	}
	for _, c := range cases {
		h, p := base, pages{block: 16}
		if c.change != nil {
			c.change(&h, &p)
		}
		got, lines := h.align(p)
		if got != c.want || len(lines) != c.lines {
			t.Errorf("%s: got %+v and %q, want %+v and %d lines", c.name, got, texts(lines), c.want, c.lines)
		}
	}
}

func TestRecurrentState(t *testing.T) {
	cases := []struct {
		name, config string
		tp, spec     int
		want         stateShape
	}{
		{"gated delta net", `{"model_type": "qwen3_next", "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4}`,
			4, 0, stateShape{conv: 2048 * 3, state: 8 * 128 * 128}},
		{"with a drafted token", `{"model_type": "qwen3_next", "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4}`,
			4, 1, stateShape{conv: 2048 * 4, state: 8 * 128 * 128}},
		{"Mamba-2", `{"model_type": "nemotron_h", "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4}`,
			1, 0, stateShape{conv: (8192 + 2*8*128) * 3, state: 128 * 64 * 128}},
		{"groups copied to more ranks", `{"model_type": "falcon_h1", "hidden_size": 1024, "mamba_expand": 2, "mamba_n_heads": 32, "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4}`,
			4, 0, stateShape{conv: (2048 + 2*4*16) / 4 * 3, state: 8 * 64 * 16}},
		{"its own inner width", `{"model_type": "falcon_h1", "hidden_size": 1024, "mamba_expand": 2, "mamba_d_ssm": 1536, "mamba_n_heads": 24, "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4}`,
			1, 0, stateShape{conv: (1536 + 2*256) * 3, state: 24 * 64 * 256}},
		{"Zamba2", `{"model_type": "zamba2", "hidden_size": 2560, "mamba_expand": 2, "n_mamba_heads": 80, "mamba_headdim": 64, "mamba_ngroups": 1, "mamba_d_state": 64, "mamba_d_conv": 4}`,
			2, 0, stateShape{conv: (5120 + 2*2*64) / 2 * 3, state: 40 * 64 * 64}},
		{"Mamba-1", `{"model_type": "jamba", "hidden_size": 4096, "mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4}`,
			2, 0, stateShape{conv: 4096 * 3, state: 4096 * 16}},
		{"short convolution", `{"model_type": "lfm2", "hidden_size": 2048, "conv_L_cache": 3}`,
			1, 0, stateShape{conv: 2048 * 2}},
		{"Kimi's delta attention", `{"model_type": "kimi_linear", "linear_attn_config": {"num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4}}`,
			4, 1, stateShape{conv: 3 * 1024 * 3, state: 8 * 128 * 128, float32: true}},
	}
	for _, c := range cases {
		text, err := hfconfig.Decode([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := recurrentState(text, c.tp, c.spec); !ok || got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	if s, ok := recurrentState(hfconfig.Object{"model_type": "llama"}, 1, 0); ok {
		t.Errorf("a model without recurrent layers: %+v", s)
	}
}

func TestTokenBytes(t *testing.T) {
	for format, want := range map[string]int{
		"auto": 1024, "bfloat16": 1024, "fp8_e4m3": 512, "int8_per_token_head": 2 * (256 + 8), "int4_per_token_head": 2 * (128 + 8),
		"nvfp4": 2 * 2 * (64 + 8), "turboquant_k8v4": 2 * (128 + 68), "turboquant_4bit_nc": 2 * (66 + 68), "turboquant_3bit_nc": 2 * (50 + 52),
	} {
		if got := dense(v0320, 100, nil).tokenBytes(format); got != want {
			t.Errorf("%s: %d bytes, want %d", format, got, want)
		}
	}
	if got := latent(v0320, 100, nil).tokenBytes("auto"); got != 1152 {
		t.Errorf("latent attention: %d bytes, want 1152", got)
	}
}

func TestPreferredBlock(t *testing.T) {
	cases := []struct {
		backend string
		in      attnInput
		want    int
	}{
		{"FLASH_ATTN", dense(v0240, 90, nil), 16},
		{"FLASH_ATTN", dense(v0320, 100, func(in *attnInput) { in.headSize = 256 }), 128},
		{"FLASHINFER_MLA", latent(v0240, 100, nil), 32},
		{"CUTLASS_MLA", latent(v0240, 100, nil), 128},
		{"FLASHMLA_SPARSE", indexed(v0240, 90, nil), 64},
		{"ULTRAQUANT", dense(v0320, 90, nil), 64},
	}
	for _, c := range cases {
		b := backendOf(c.backend, c.in.r)
		if b == nil {
			t.Fatalf("no backend %s", c.backend)
		}
		if got := b.preferredBlock(c.in, defaultBlock); got != c.want {
			t.Errorf("%s: blocks of %d, want %d", c.backend, got, c.want)
		}
	}
	if !slices.Equal(backendOf("FLASH_ATTN", v0112).kernelBlocks(dense(v0112, 90, nil)), []int{16, 32, 64}) {
		t.Error("0.11 names the kernel's sizes")
	}
}
