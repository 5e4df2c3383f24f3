package vllm

import (
	"reflect"
	"slices"
	"testing"

	"shakedown/internal/hardware"
	"shakedown/internal/plan"
)

// Small models of other kinds.
const (
	mixture = `{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048, "num_attention_heads": 32,
		"num_key_value_heads": 4, "head_dim": 128, "num_hidden_layers": 4, "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
		"max_position_embeddings": 8192, "torch_dtype": "bfloat16", "vocab_size": 1000,
		"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`
	hybrid = `{"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 2048, "num_attention_heads": 16,
		"num_key_value_heads": 2, "head_dim": 256, "num_hidden_layers": 8, "full_attention_interval": 4, "max_position_embeddings": 8192,
		"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
		"torch_dtype": "bfloat16", "vocab_size": 1000}`
)

var b200 = hardware.GPU{Name: "NVIDIA B200", SM: "10.0", MemoryGiB: 178.35, MemoryMiB: 183359, Count: 8}

func TestRuntime(t *testing.T) {
	cases := []struct {
		name, version, config string
		gpu                   hardware.GPU
		argv                  []string
		want                  map[string]any
		line                  string
	}{
		{"Hopper prefers FlashAttention 3", "0.24.0", llama, h100, nil,
			map[string]any{"attention_backend": "FLASH_ATTN", "flash_attn_version": 3, "block_size": 16, "quant_config": nil, "moe_backend": nil},
			"Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN', 'FLEX_ATTENTION']."},
		{"Blackwell prefers FlashInfer", "0.24.0", llama, b200, nil,
			map[string]any{"attention_backend": "FLASHINFER", "flash_attn_version": nil},
			"Using HND KV cache layout for FLASHINFER backend."},
		{"a backend that was asked for", "0.32.0", llama, h100, []string{"--attention-backend", "TRITON_ATTN"},
			map[string]any{"attention_backend": "TRITON_ATTN", "attention_backend.class": "TritonAttentionBackend"},
			"Using AttentionBackendEnum.TRITON_ATTN backend."},
		{"FP8 experts", "0.24.0", mixture, h100, nil,
			map[string]any{"moe_backend": "TRITON", "moe_experts_class": "TritonExperts", "quant_config": "Fp8Config", "quant_config.min_capability": 75},
			"Using TRITON Fp8 MoE backend out of potential backends: ['TRITON', 'AITER', 'FLASHINFER_TRTLLM', 'FLASHINFER_CUTLASS', 'DEEPGEMM', 'MARLIN', 'BATCHED_DEEPGEMM', 'BATCHED_TRITON', 'XPU', 'CPU']."},
		{"experts of another format", "0.24.0", mixture, h100, []string{"--moe-backend", "flashinfer_cutedsl"},
			map[string]any{"moe_backend": nil, "moe_backend.error": "ValueError: moe_backend='flashinfer_cutedsl' is not supported for FP8 MoE. Expected one of ['triton', 'deep_gemm', 'cutlass', 'flashinfer_trtllm', 'flashinfer_cutlass', 'marlin', 'aiter']."}, ""},
		// 32 value heads of 128 x 128 and a convolution window of 3 x 8192 in
		// BF16 are 1097728 bytes; a token of attention takes 2048.
		{"a page of attention holds a recurrent state", "0.24.0", hybrid, h100, nil,
			map[string]any{"block_size": 544, "mamba_page_size_padded": 544 * 2048, "mamba_block_size": 8192},
			"Setting attention block size to 544 tokens to ensure that attention page size is >= mamba page size."},
	}
	for _, c := range cases {
		got := Resolve(launch(t, c.version, c.config, c.gpu, c.argv...))
		if got.Refusal != nil {
			t.Errorf("%s: %v", c.name, got.Refusal)
			continue
		}
		for k, want := range c.want {
			if !reflect.DeepEqual(got.Runtime[k], want) {
				t.Errorf("%s: %s = %v, want %v", c.name, k, got.Runtime[k], want)
			}
		}
		if c.line != "" && !slices.ContainsFunc(got.Lines, func(l plan.Line) bool { return l.Text == c.line }) {
			t.Errorf("%s: line %q is missing in %q", c.name, c.line, texts(got.Lines))
		}
	}
}

func TestRuntimeRefusal(t *testing.T) {
	got := Resolve(launch(t, "0.24.0", llama, h100, "--attention-backend", "FLASHMLA"))
	if got.Refusal == nil || got.Refusal.Stage != plan.StageAttention || got.Refusal.Step != "VLLM-ATTN-FORCED" {
		t.Fatalf("got %v", got.Refusal)
	}
}

// Before 0.24 hybrid pages are aligned before the backend is known.
func TestAlignBeforeBackend(t *testing.T) {
	cases := []struct {
		version string
		gpu     hardware.GPU
		argv    []string
		block   int
	}{
		{"0.11.2", h100, nil, 544},
		{"0.16.0", h100, nil, 544},
		{"0.16.0", b200, []string{"--kv-cache-dtype", "fp8"}, 1088},
		{"0.16.0", b200, []string{"--tensor-parallel-size", "2"}, 544}, // 536, but in steps of 32
		{"0.19.1", h100, nil, 544},
	}
	for _, c := range cases {
		got := Resolve(launch(t, c.version, hybrid, c.gpu, c.argv...))
		if got.Refusal != nil {
			t.Errorf("%s: %v", c.version, got.Refusal)
			continue
		}
		if n := got.Effective["cache.block_size"]; n != c.block {
			t.Errorf("%s on %s %v: block size %v, want %d", c.version, c.gpu.Name, c.argv, n, c.block)
		}
		i := slices.IndexFunc(got.Choices, func(ch plan.Choice) bool {
			return ch.ID == "VLLM-BLOCK-PAD" && ch.Setting == "cache.mamba_page_size_padded"
		})
		if i < 0 || got.Choices[i].Line == "" {
			t.Errorf("%s: no choice of the padded page with its line", c.version)
		}
	}
}

// Every decision of a worker is a choice with its rule and source.
func TestRuntimeChoices(t *testing.T) {
	got := Resolve(launch(t, "0.32.0", mixture, b200))
	for setting, id := range map[string]string{"attention_backend": "VLLM-ATTN-AUTO", "moe_backend": "VLLM-MOE-FP8", "quant_config": "VLLM-QUANT-CLASS", "block_size": "VLLM-BLOCK-BACKEND"} {
		i := slices.IndexFunc(got.Choices, func(c plan.Choice) bool { return c.Setting == setting })
		if i < 0 {
			t.Errorf("no choice of %s", setting)
			continue
		}
		c := got.Choices[i]
		if c.ID != id || c.To != got.Runtime[setting] || c.Because == "" || c.Source == "" {
			t.Errorf("%s: %+v", setting, c)
		}
	}
}
