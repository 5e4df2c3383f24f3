package vllm

import (
	"slices"
	"strings"
	"testing"

	"shakedown/internal/hfconfig"
)

// A model with grouped-query attention, one with latent attention, one with
// latent attention over indexed tokens.
func dense(r release, sm int, change func(*attnInput)) attnInput {
	in := attnInput{r: r, sm: sm, headSize: 128, dtype: "bfloat16", kv: "auto", block: 16, attnType: "DECODER", heads: 8, kvHeads: 2,
		text: hfconfig.Object{"model_type": "llama"}, textClass: "LlamaConfig"}
	if change != nil {
		change(&in)
	}
	return in
}

func latent(r release, sm int, change func(*attnInput)) attnInput {
	text, err := hfconfig.Decode([]byte(`{"model_type": "deepseek_v3", "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "kv_lora_rank": 512}`))
	if err != nil {
		panic(err)
	}
	return dense(r, sm, func(in *attnInput) {
		in.mla, in.headSize, in.heads, in.kvHeads, in.text, in.textClass = true, 576, 16, 1, text, "DeepseekV3Config"
		if change != nil {
			change(in)
		}
	})
}

func indexed(r release, sm int, change func(*attnInput)) attnInput {
	text, err := hfconfig.Decode([]byte(`{"model_type": "glm_moe_dsa", "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "kv_lora_rank": 512, "index_topk": 2048}`))
	if err != nil {
		panic(err)
	}
	return latent(r, sm, func(in *attnInput) {
		in.sparse, in.text, in.textClass = true, text, "GlmMoeDsaConfig"
		if change != nil {
			change(in)
		}
	})
}

func kv(format string) func(*attnInput)  { return func(in *attnInput) { in.kv = format } }
func named(name string) func(*attnInput) { return func(in *attnInput) { in.backend = name } }
func sinks(in *attnInput)                { in.sink, in.headSize = true, 64 }

// all applies several changes.
func all(changes ...func(*attnInput)) func(*attnInput) {
	return func(in *attnInput) {
		for _, c := range changes {
			c(in)
		}
	}
}

func TestAttentionChoice(t *testing.T) {
	cases := []struct {
		name    string
		in      attnInput
		backend string
		kv      string
		fa      int
		blocks  []int
	}{
		{"Hopper", dense(v0320, 90, nil), "FLASH_ATTN", "auto", 3, []int{16}},
		{"Blackwell", dense(v0320, 100, nil), "FLASHINFER", "auto", 0, []int{16, 32, 64, 128, 256, 512, 1024}},
		{"Blackwell before large pages", dense(v0191, 100, nil), "FLASHINFER", "auto", 0, []int{16, 32, 64}},
		{"one query head for each key", dense(v0320, 100, func(in *attnInput) { in.kvHeads = 8 }), "FLASHINFER", "auto", 0, []int{16, 32, 64}},
		{"consumer Blackwell", dense(v0240, 120, nil), "FLASH_ATTN", "auto", 2, []int{16}},
		{"FP8 cache off Hopper", dense(v0240, 120, kv("fp8_e4m3")), "FLASHINFER", "fp8_e4m3", 0, []int{16, 32, 64}},
		{"FP8 cache on Hopper", dense(v0240, 90, kv("fp8_e4m3")), "FLASH_ATTN", "fp8_e4m3", 3, []int{16}},
		{"scales for each token", dense(v0240, 90, kv("int8_per_token_head")), "TRITON_ATTN", "int8_per_token_head", 0, []int{16}},
		{"TurboQuant", dense(v0240, 120, kv("turboquant_k8v4")), "TURBOQUANT", "turboquant_k8v4", 0, []int{16, 32, 64, 128}},
		{"float32", dense(v0160, 80, func(in *attnInput) { in.dtype = "float32" }), "TRITON_ATTN", "auto", 0, []int{16}},
		{"encoder", dense(v0240, 100, func(in *attnInput) { in.attnType = "ENCODER_ONLY" }), "FLASH_ATTN", "auto", 4, []int{16}},
		{"sinks on Ampere", dense(v0160, 80, sinks), "TRITON_ATTN", "auto", 0, []int{16}},
		{"sinks on SM 12 before XQA", dense(v0240, 120, sinks), "TRITON_ATTN", "auto", 0, []int{16}},
		{"sinks on SM 12", dense(v0320, 120, sinks), "FLASHINFER", "auto", 0, []int{16, 32, 64}},
		{"image tokens see each other", dense(v0191, 100, func(in *attnInput) { in.mmPrefix = true }), "TRITON_ATTN", "auto", 0, []int{16}},
		{"the same with FlashAttention 4", dense(v0320, 100, func(in *attnInput) { in.mmPrefix = true }), "FLASH_ATTN", "auto", 4, []int{16}},
		{"wide heads with images, Hopper", dense(v0320, 90, func(in *attnInput) { in.mmPrefix, in.headSize = true, 256 }), "TRITON_FLASH_ATTN", "auto", 0, []int{16}},
		{"wide heads with images, Blackwell", dense(v0320, 100, func(in *attnInput) { in.mmPrefix, in.headSize = true, 256 }), "TRITON_FLASHINFER", "auto", 0, []int{64}},
		{"wide heads named", dense(v0320, 100, all(named("FLASH_ATTN"), func(in *attnInput) { in.headSize = 256 })), "FLASH_ATTN", "auto", 4, []int{128}},
		{"state in float32", dense(v0240, 90, func(in *attnInput) { in.float32State = true }), "FLASH_ATTN", "auto", 3, []int{16, 32, 64}},
		{"TRT-LLM refused", dense(v0320, 100, all(sinks, func(in *attnInput) { no := false; in.trtllm = &no })), "FLASH_ATTN", "auto", 4, []int{16}},

		{"latent, Hopper", latent(v0240, 90, nil), "FLASH_ATTN_MLA", "auto", 3, []int{16}},
		{"latent FP8, Hopper", latent(v0240, 90, kv("fp8_e4m3")), "FLASHMLA", "fp8_e4m3", 3, []int{64}},
		{"latent, Blackwell", latent(v0240, 100, nil), "FLASHINFER_MLA", "auto", 0, []int{32, 64}},
		{"latent, Blackwell, 0.11", latent(v0112, 103, nil), "CUTLASS_MLA", "auto", 0, []int{128}},
		{"latent, SM 12", latent(v0240, 120, nil), "TRITON_MLA", "auto", 0, []int{16}},
		{"indexed, Hopper", indexed(v0240, 90, nil), "FLASHMLA_SPARSE", "auto", 3, []int{64}},
		{"indexed, Hopper, 0.32", indexed(v0320, 90, nil), "FLASH_ATTN_MLA_SPARSE", "auto", 3, []int{64}},
		{"indexed FP8, Hopper", indexed(v0240, 90, kv("fp8")), "FLASHMLA_SPARSE", "fp8_ds_mla", 3, []int{64}},
		{"indexed, Blackwell", indexed(v0191, 100, nil), "FLASHINFER_MLA_SPARSE", "auto", 0, []int{32, 64}},
		{"indexed, Blackwell, many heads", indexed(v0240, 100, func(in *attnInput) { in.heads = 64 }), "FLASHMLA_SPARSE", "auto", 4, []int{64}},
		{"indexed, SM 12", indexed(v0240, 120, nil), "FLASHINFER_MLA_SPARSE_SM120", "fp8_ds_mla", 0, []int{64, 256}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _, refusal := chooseAttention(c.in)
			if refusal != nil {
				t.Fatal(refusal)
			}
			if got.backend != c.backend || got.kv != c.kv || got.fa != c.fa || !slices.Equal(got.blocks, c.blocks) {
				t.Errorf("got %+v, want %s, cache %s, FlashAttention %d, blocks %v", got, c.backend, c.kv, c.fa, c.blocks)
			}
		})
	}
}

func TestAttentionRefusal(t *testing.T) {
	cases := []struct {
		name string
		in   attnInput
		want string // part of the message
	}{
		{"no sparse backend on SM 12", indexed(v0191, 120, nil),
			"use_sparse=True, use_mm_prefix=False, use_per_head_quant_scales=False, attn_type=AttentionType.DECODER). Reasons: {FLASH_ATTN_MLA: [sparse not supported, " +
				"compute capability not supported, FlashAttention MLA not supported on this device], FLASHMLA: [sparse not supported, compute capability not supported, " +
				"FlashMLA Sparse is only supported on Hopper and Blackwell devices.], FLASHINFER_MLA: [sparse not supported, compute capability not supported], " +
				"TRITON_MLA: [sparse not supported], FLASHMLA_SPARSE: [compute capability not supported]}."},
		{"0.11 names the block size", indexed(v0112, 80, func(in *attnInput) { in.block = 64 }), "with head_size: 576, dtype: torch.bfloat16, kv_cache_dtype: auto, block_size: 64,"},
		{"named, wrong kind", dense(v0240, 90, named("FLASHMLA_SPARSE")),
			"ValueError: Selected backend AttentionBackendEnum.FLASHMLA_SPARSE is not valid for this configuration. Reason: ['head_size not supported', 'non-MLA not supported', 'non-sparse not supported']"},
		{"named, wrong GPU", latent(v0160, 120, named("FLASHMLA")), "Reason: ['compute capability not supported', 'FlashMLA Dense is only supported on Hopper devices.']"},
		{"named, wrong width", indexed(v0160, 100, named("FLASHINFER_MLA")), "'FlashInfer MLA kernel requires qk_nope_head_dim == 128, but got 192'"},
		{"named, wrong cache", dense(v0320, 80, all(named("FLASH_ATTN"), kv("fp8"))), "'FP8 KV cache requires FA3 on SM90, FA4 with head_size=512 on SM90, or FA4 on SM100'"},
		{"a configuration without the field", dense(v0320, 120, named("FLASHINFER_MLA_SPARSE")), "AttributeError: 'LlamaConfig' object has no attribute 'qk_nope_head_dim'"},
		{"few indexed tokens", indexed(v0240, 120, func(in *attnInput) {
			in.text = hfconfig.Object{}
		}), "FLASHINFER_MLA_SPARSE_SM120 requires a model with index_topk config"},
		{"block size", indexed(v0320, 90, func(in *attnInput) { in.block, in.blockAsked = 1, true }), "block_size=1, use_mla=True"},
		{"batch invariance", latent(v0240, 100, all(kv("auto"), named("FLASHINFER_MLA"), func(in *attnInput) { in.batchInvariant = true })), "batch invariance not supported"},
		{"decode context parallelism", dense(v0320, 90, all(named("TRITON_ATTN"), func(in *attnInput) { in.dcp = true })), "DCP not supported"},
		{"sliding window", dense(v0320, 90, all(kv("turboquant_k8v4"), func(in *attnInput) { in.slidingWindow = true })), "TURBOQUANT: [sliding window not supported]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _, refusal := chooseAttention(c.in)
			if refusal == nil {
				t.Fatalf("took %s", got.backend)
			}
			if !strings.Contains(refusal.Message, c.want) {
				t.Errorf("got  %s\nwant %s", refusal.Message, c.want)
			}
		})
	}
}

func TestAttentionLines(t *testing.T) {
	cases := []struct {
		name string
		in   attnInput
		want []string
	}{
		{"0.11", dense(v0112, 80, nil), []string{"Valid backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN', 'FLEX_ATTENTION']", "Using FLASH_ATTN backend."}},
		{"head-major cache", dense(v0240, 100, nil), []string{"Using FLASHINFER attention backend out of potential backends: ['FLASHINFER', 'FLASH_ATTN', 'TRITON_ATTN', 'FLEX_ATTENTION'].",
			"Using HND KV cache layout for FLASHINFER backend."}},
		{"named", dense(v0320, 90, named("TRITON_ATTN")), []string{"Using AttentionBackendEnum.TRITON_ATTN backend."}},
		{"block size excludes", latent(v0320, 90, all(kv("fp8_e4m3"), func(in *attnInput) { in.block, in.blockAsked = 32, true })), []string{
			"--block-size 32 precluded higher-priority backend(s) FLASHMLA. Using TRITON_MLA instead, which may result in reduced performance. Consider removing --block-size to auto-select the optimal block size.",
			"Using TRITON_MLA attention backend out of potential backends: ['TRITON_MLA']."}},
		{"FlashAttention 3 asked of Blackwell", dense(v0191, 100, all(named("FLASH_ATTN"), func(in *attnInput) { in.faVersion = 3 })), []string{
			"Using AttentionBackendEnum.FLASH_ATTN backend.",
			"Cannot use FA version 3 on Blackwell platform, defaulting to FA version 4 if supported, otherwise FA2."}},
		{"FA4's wide kernel", dense(v0320, 100, all(kv("fp8"), named("FLASH_ATTN"), func(in *attnInput) { in.headSize = 256 })), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, lines, refusal := chooseAttention(c.in)
			if c.want == nil {
				if refusal == nil || !slices.ContainsFunc(texts(lines), func(l string) bool { return strings.Contains(l, "quantized KV cache dtype fp8") }) {
					t.Errorf("refusal %v, lines %q", refusal, texts(lines))
				}
				return
			}
			if got := texts(lines); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestKernelSettings(t *testing.T) {
	// Which FlashAttention a layer gets.
	cases := []struct {
		name string
		in   attnInput
		ask  faAsk
		want int
	}{
		{"Ampere", dense(v0320, 80, nil), faAsk{}, 2},
		{"Turing has none", dense(v0320, 75, nil), faAsk{}, 0},
		{"very wide heads, Hopper", dense(v0240, 90, nil), faAsk{head: 512}, 4},
		{"different values with sinks, Hopper", dense(v0240, 90, nil), faAsk{head: 192, headV: 128, sinks: true}, 4},
		{"wide heads, Blackwell, before their kernel", dense(v0240, 100, nil), faAsk{head: 256}, 2},
		{"wide heads, Blackwell, layer cannot use it", dense(v0320, 100, nil), faAsk{head: 256}, 2},
		{"wide heads, Blackwell", dense(v0320, 100, nil), faAsk{head: 256, hd256: true}, 4},
		{"wide heads with sinks", dense(v0320, 100, nil), faAsk{head: 256, hd256: true, sinks: true}, 2},
		{"wide heads in odd blocks", dense(v0320, 100, nil), faAsk{head: 256, hd256: true, block: 16}, 2},
		{"batch invariance", dense(v0240, 100, func(in *attnInput) { in.batchInvariant = true }), faAsk{}, 2},
		{"asked for 3 on SM 12", dense(v0240, 120, func(in *attnInput) { in.faVersion = 3 }), faAsk{}, 2},
		{"asked for 3 on SM 12, 0.16", dense(v0160, 120, func(in *attnInput) { in.faVersion = 3 }), faAsk{}, 0},
	}
	for _, c := range cases {
		if got := c.in.flashAttention(c.ask); got != c.want {
			t.Errorf("%s: FlashAttention %d, want %d", c.name, got, c.want)
		}
	}
	for kind, want := range map[string]string{"llama": "LlamaConfig", "gpt_oss": "GptOssConfig", "qwen3_moe": "Qwen3MoeConfig", "minimax_m2": "MiniMaxM2Config"} {
		if got := textClass(hfconfig.Object{"model_type": kind}); got != want {
			t.Errorf("class of %s: %s, want %s", kind, got, want)
		}
	}
}
