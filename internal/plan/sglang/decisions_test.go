package sglang

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// Small checkpoints of the kinds that SGLang tells apart.
const (
	llama = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
		"num_key_value_heads": 8, "num_hidden_layers": 32, "max_position_embeddings": 8192, "torch_dtype": "bfloat16"}`
	llama8 = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
		"num_key_value_heads": 8, "num_hidden_layers": 32, "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
		"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`
	deepSeek = `{"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
		"num_key_value_heads": 128, "num_hidden_layers": 61, "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
		"qk_nope_head_dim": 128, "v_head_dim": 128, "max_position_embeddings": 163840, "torch_dtype": "bfloat16",
		"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`
	deepSeekV32 = `{"architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "hidden_size": 7168, "num_attention_heads": 128,
		"num_key_value_heads": 128, "num_hidden_layers": 61, "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
		"qk_nope_head_dim": 128, "v_head_dim": 128, "index_topk": 2048, "index_n_heads": 64, "index_head_dim": 128, "max_position_embeddings": 163840, "torch_dtype": "bfloat16",
		"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}}`
	glmDSA = `{"architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "hidden_size": 6144, "num_attention_heads": 64, "num_key_value_heads": 64,
		"num_hidden_layers": 78, "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 2048, "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256,
		"index_topk": 2048, "index_n_heads": 32, "index_head_dim": 128, "max_position_embeddings": 202752, "dtype": "bfloat16"}`
	qwenMoE = `{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
		"num_hidden_layers": 48, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "max_position_embeddings": 40960, "torch_dtype": "bfloat16",
		"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`
	qwen3Next = `{"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 2,
		"head_dim": 256, "num_hidden_layers": 48, "num_experts": 512, "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
		"linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4, "max_position_embeddings": 262144, "dtype": "bfloat16"}`
	qwenVL = `{"architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl", "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
		"num_hidden_layers": 28, "max_position_embeddings": 128000, "torch_dtype": "bfloat16", "vision_config": {"model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280}}`
	nemotron = `{"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
		"head_dim": 128, "num_hidden_layers": 10, "hybrid_override_pattern": "M-M-M-M*-*", "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128,
		"conv_kernel": 4, "n_groups": 8, "chunk_size": 128, "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "mlp_hidden_act": "relu2"}`
	falcon = `{"architectures": ["FalconH1ForCausalLM"], "model_type": "falcon_h1", "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2,
		"head_dim": 128, "num_hidden_layers": 24, "max_position_embeddings": 16384, "torch_dtype": "bfloat16"}`
	gptOss = `{"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
		"num_hidden_layers": 24, "num_local_experts": 32, "sliding_window": 128, "max_position_embeddings": 131072, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "mxfp4"}}`
	glm4MoE = `{"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "hidden_size": 5120, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
		"num_hidden_layers": 92, "n_routed_experts": 160, "max_position_embeddings": 202752, "torch_dtype": "bfloat16"}`
	llama4 = `{"architectures": ["Llama4ForConditionalGeneration"], "model_type": "llama4", "torch_dtype": "bfloat16", "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
		"num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 48, "num_local_experts": 16, "attention_chunk_size": 8192,
		"max_position_embeddings": 1048576}, "vision_config": {"model_type": "llama4_vision_model"}}`
	gemma3 = `{"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "bfloat16", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376,
		"num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "num_hidden_layers": 62, "sliding_window": 1024, "max_position_embeddings": 131072},
		"vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152, "num_hidden_layers": 27}}`
	olmo = `{"architectures": ["Olmo2ForCausalLM"], "model_type": "olmo2", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32, "num_hidden_layers": 32,
		"max_position_embeddings": 4096, "torch_dtype": "bfloat16"}`
	mistralEmbedding = `{"architectures": ["MistralModel"], "model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
		"num_hidden_layers": 32, "sliding_window": 4096, "max_position_embeddings": 32768, "torch_dtype": "float16"}`
	stranger = `{"architectures": ["GiraffeForCausalLM"], "model_type": "giraffe", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}`
)

// What modelopt writes beside config.json.
const (
	nvfp4   = `{"producer": {"name": "modelopt", "version": "0.33"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}}`
	modelo8 = `{"producer": {"name": "modelopt", "version": "0.33"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": null, "exclude_modules": ["lm_head"]}}`
)

var (
	t4     = hardware.GPU{Name: "Tesla T4", SM: "7.5", MemoryGiB: 14.6, MemoryMiB: 15360, Count: 8}
	a100   = hardware.GPU{Name: "NVIDIA A100-SXM4-80GB", SM: "8.0", MemoryGiB: 79.25, MemoryMiB: 81920, Count: 8}
	l40s   = hardware.GPU{Name: "NVIDIA L40S", SM: "8.9", MemoryGiB: 44.4, MemoryMiB: 46068, Count: 8}
	h100   = hardware.GPU{Name: "NVIDIA H100 80GB HBM3", SM: "9.0", MemoryGiB: 79.1, MemoryMiB: 81559, Count: 8}
	h20    = hardware.GPU{Name: "NVIDIA H20", SM: "9.0", MemoryGiB: 95, MemoryMiB: 97871, Count: 8}
	b200   = hardware.GPU{Name: "NVIDIA B200", SM: "10.0", MemoryGiB: 178.4, MemoryMiB: 183359, Count: 8}
	rtxPro = hardware.GPU{Name: "NVIDIA RTX PRO 6000 Blackwell Server Edition", SM: "12.0", MemoryGiB: 94.97, MemoryMiB: 97887, Count: 8}
	spark  = hardware.GPU{Name: "NVIDIA GB10", SM: "12.1", MemoryGiB: 119.6, Count: 1}
	mi300x = hardware.GPU{Name: "AMD Instinct MI300X", SM: "gfx942", MemoryGiB: 191.9, MemoryMiB: 196592, Count: 8}
)

// with is a checkpoint with fields of config.json replaced.
func with(t *testing.T, config, changes string) string {
	t.Helper()
	var o, c map[string]any
	for text, into := range map[string]*map[string]any{config: &o, changes: &c} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(o, c)
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// checkpoint is a model of a config.json and, perhaps, a hf_quant_config.json.
func checkpoint(t *testing.T, config, quant string) *hfconfig.Model {
	t.Helper()
	m := &hfconfig.Model{Name: "m", Path: "org/m"}
	for text, into := range map[string]*hfconfig.Object{config: &m.Config, quant: &m.HFQuant} {
		if text == "" {
			continue
		}
		o, err := hfconfig.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		*into = o
	}
	return m
}

// decision is a launch and what SGLang makes of it.
type decision struct {
	name    string
	version string
	config  string
	changes string // fields of config.json to replace
	quant   string // hf_quant_config.json
	gpu     hardware.GPU
	argv    string // options divided by spaces
	env     map[string]string
	deps    map[string]string // instead of the release's pins
	draft   string            // config.json of the model that the options call "draft"

	want   map[string]any // settings
	tells  map[string]any // what the scheduler decides
	chosen []string       // ids of decisions
	says   []string       // beginnings of lines
	silent []string       // beginnings of lines that are not there
	refuse string         // stage and beginning of the message
}

func (d decision) launch(t *testing.T) plan.Case {
	t.Helper()
	config := d.config
	if d.changes != "" {
		config = with(t, config, d.changes)
	}
	c := plan.Case{
		Engine: "sglang", Version: d.version, Deps: d.deps, GPU: d.gpu, Env: d.env, Model: checkpoint(t, config, d.quant),
		Argv: strings.Fields(d.argv), Drafts: map[string]*hfconfig.Model{},
	}
	if c.Deps == nil {
		c.Deps = Pins(d.version)
	}
	if d.draft != "" {
		c.Drafts["draft"] = checkpoint(t, d.draft, "")
	}
	return c
}

func TestDecisions(t *testing.T) {
	for _, d := range slices.Concat(decisions, olderDecisions, laterDecisions) {
		t.Run(d.version+" "+d.name, func(t *testing.T) {
			r := Resolve(d.launch(t))
			if d.refuse != "" || r.Refusal != nil {
				have := "a launch"
				if r.Refusal != nil {
					have = r.Refusal.Stage + " " + r.Refusal.Message
				}
				if d.refuse == "" || !strings.HasPrefix(have, d.refuse) {
					t.Fatalf("have %s\nwant %s", have, d.refuse)
				}
				if r.Refusal.Step == "" {
					t.Error("the refusal names no step")
				}
				return
			}
			for part, want := range map[string]map[string]any{"settings": d.want, "scheduler": d.tells} {
				have := r.Effective
				if part == "scheduler" {
					have = r.Runtime
				}
				for k, v := range want {
					if !reflect.DeepEqual(have[k], v) {
						t.Errorf("%s: %s is %#v, want %#v", part, k, have[k], v)
					}
				}
			}
			for _, id := range d.chosen {
				if !slices.ContainsFunc(r.Choices, func(c plan.Choice) bool { return c.ID == id }) {
					t.Errorf("no decision %s", id)
				}
			}
			says := func(begin string) bool {
				return slices.ContainsFunc(r.Lines, func(l plan.Line) bool { return strings.HasPrefix(l.Text, begin) })
			}
			for _, begin := range d.says {
				if !says(begin) {
					t.Errorf("no line %q among %v", begin, r.Lines)
				}
			}
			for _, begin := range d.silent {
				if says(begin) {
					t.Errorf("a line %q", begin)
				}
			}
		})
	}
}

var decisions = []decision{
	// the model's configuration
	{
		name: "a dense model", version: "0.5.9", config: llama, gpu: h100,
		want: map[string]any{"attention_backend": "fa3", "chunked_prefill_size": 8192, "page_size": 1, "disable_chunked_prefix_cache": true},
		tells: map[string]any{"model_config.context_len": 8192, "model_config.dtype": "torch.bfloat16", "model_config.quantization": nil, "model_config.attention_arch": "MHA",
			"model_config.is_multimodal": false, "model_config.is_generation": true, "model_config.is_hybrid_swa": false, "model_config.num_attention_layers": 32,
			"kv_cache_torch_dtype": "torch.bfloat16"},
	},
	{
		name: "a shorter context", version: "0.5.9", config: llama, gpu: h100, argv: "--context-length 4096", tells: map[string]any{"model_config.context_len": 4096},
	},
	{
		name: "a longer context than the model's", version: "0.5.9", config: llama, gpu: h100, argv: "--context-length 9000",
		refuse: "resolve ValueError: Warning: User-specified context_length (9000) is greater than the derived context_length (8192).",
	},
	{
		name: "a longer context, allowed", version: "0.5.9", config: llama, gpu: h100, argv: "--context-length 9000", env: map[string]string{"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"},
		tells: map[string]any{"model_config.context_len": 9000},
	},
	{
		name: "YaRN counts in already", version: "0.5.9", config: llama, gpu: h100, changes: `{"max_position_embeddings": 4096, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}}`,
		tells: map[string]any{"model_config.context_len": 4096},
	},
	{
		name: "scaled positions lengthen the context", version: "0.5.9", config: llama, gpu: h100, changes: `{"rope_scaling": {"rope_type": "linear", "factor": 4.0}}`,
		tells: map[string]any{"model_config.context_len": 32768},
	},
	{
		name: "float32 is made float16", version: "0.5.9", config: llama, gpu: h100, changes: `{"torch_dtype": "float32"}`,
		tells: map[string]any{"model_config.dtype": "torch.float16"}, says: []string{"Downcasting torch.float32 to torch.float16."},
	},
	{
		name: "float32 of Gemma is made bfloat16", version: "0.5.9", config: gemma3, gpu: h100, changes: `{"torch_dtype": "float32"}`,
		env: map[string]string{"SGLANG_DISABLE_CUDNN_CHECK": "1"}, tells: map[string]any{"model_config.dtype": "torch.bfloat16"},
	},
	{
		name: "overrides of the configuration", version: "0.5.9", config: llama, gpu: h100, argv: `--json-model-override-args {"max_position_embeddings":1024}`,
		tells: map[string]any{"model_config.context_len": 1024},
	},
	{
		name: "a configuration of several parts", version: "0.5.9", config: llama4, gpu: h100, argv: "--tp 8",
		tells: map[string]any{"model_config.context_len": 1048576, "model_config.is_multimodal": false, "model_config.num_attention_layers": 48},
	},
	{
		name: "an embedding model", version: "0.5.9", config: mistralEmbedding, gpu: h100, argv: "--is-embedding",
		tells: map[string]any{"model_config.is_generation": false},
	},
	{
		name: "windows of some layers", version: "0.5.9", config: gptOss, gpu: h100, tells: map[string]any{"model_config.is_hybrid_swa": true, "model_config.quantization": "mxfp4"},
	},
	{
		name: "recurrent layers are no attention layers", version: "0.5.12", config: nemotron, gpu: h100, tells: map[string]any{"model_config.attention_arch": "MHA"},
	},
	{
		name: "a type that no transformers knows", version: "0.5.12", config: stranger, gpu: h100,
		refuse: "resolve ValueError: The checkpoint you are trying to load has model type `giraffe` but Transformers does not recognize this architecture.",
	},
	{
		name: "a type that a later transformers knows", version: "0.5.9", config: glmDSA, gpu: h100, argv: "--tp 8",
		refuse: "resolve ValueError: The checkpoint you are trying to load has model type `glm_moe_dsa` but Transformers",
	},
	{
		name: "the same with that transformers", version: "0.5.9", config: glmDSA, gpu: h100, argv: "--tp 8", deps: map[string]string{"transformers": "5.2.0"},
		tells: map[string]any{"model_config.attention_arch": "MLA"},
	},

	// quantisation
	{
		name: "FP8 in blocks on Hopper", version: "0.5.9", config: llama8, gpu: h100,
		tells: map[string]any{"model_config.quantization": "fp8", "quant_config": "Fp8Config", "quant_config.min_capability": 80, "fp8_block_linear": "deepgemm_w8a8_block_fp8_linear_with_fallback",
			"deepgemm.enabled": true, "deepgemm.scale_ue8m0": false},
	},
	{
		name: "FP8 in blocks on Blackwell", version: "0.5.9", config: llama8, gpu: b200,
		tells: map[string]any{"deepgemm.enabled": true, "deepgemm.scale_ue8m0": true},
	},
	{
		name: "FP8 in blocks without DeepGEMM", version: "0.5.9", config: llama8, gpu: l40s, tells: map[string]any{"deepgemm.enabled": false},
	},
	{
		name: "another method than the checkpoint's", version: "0.5.9", config: llama8, gpu: h100, argv: "--quantization awq",
		refuse: "resolve ValueError: Quantization method specified in the model config (fp8) does not match the quantization method specified in the `quantization` argument (awq).",
	},
	{
		name: "a method that is too new for the GPU", version: "0.5.9", config: llama8, gpu: t4,
		tells: map[string]any{"quant_config.error": unsupported("fp8", 80, 75)},
	},
	{
		name: "modelopt's NVFP4", version: "0.5.9", config: llama, quant: nvfp4, gpu: b200,
		tells: map[string]any{"model_config.quantization": "modelopt_fp4", "quant_config.kv_cache_quant_algo": "FP8", "kv_cache_torch_dtype": "torch.float8_e4m3fn"},
		want:  map[string]any{"kv_cache_dtype": "fp8_e4m3"},
	},
	{
		name: "modelopt's FP8", version: "0.5.9", config: llama, quant: modelo8, gpu: h100,
		tells: map[string]any{"model_config.quantization": "modelopt_fp8", "quant_config.kv_cache_quant_algo": nil, "kv_cache_torch_dtype": "torch.bfloat16"},
	},
	{
		name: "AWQ by Marlin", version: "0.5.9", config: llama, gpu: a100, changes: `{"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm"}}`,
		tells: map[string]any{"model_config.quantization": "awq_marlin"},
	},
	{
		name: "AWQ without the kernel package", version: "0.5.9", config: llama, gpu: a100, deps: map[string]string{"transformers": "4.57.1"},
		changes: `{"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm"}}`,
		tells:   map[string]any{"model_config.quantization": "awq"}, says: []string{"awq quantization is not fully optimized yet."},
	},
	{
		name: "GPTQ by Marlin", version: "0.5.9", config: llama, gpu: h100, changes: `{"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false, "sym": true}}`,
		tells: map[string]any{"model_config.quantization": "gptq_marlin"},
	},
	{
		name: "compressed tensors", version: "0.5.9", config: llama, gpu: h100, changes: `{"quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head"], "config_groups": {"group_0": {
			"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": true, "dynamic": false}, "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "symmetric": true, "dynamic": true}}}}}`,
		tells: map[string]any{"model_config.quantization": "compressed-tensors"},
	},
	{
		name: "an FP8 cache on AMD GPUs", version: "0.5.9", config: llama, gpu: mi300x, argv: "--kv-cache-dtype fp8_e5m2", tells: map[string]any{"kv_cache_torch_dtype": "torch.float8_e4m3fnuz"},
	},
	{
		name: "an FP4 cache", version: "0.5.9", config: llama, gpu: b200, argv: "--kv-cache-dtype fp4_e2m1 --attention-backend triton", tells: map[string]any{"kv_cache_torch_dtype": "torch.float4_e2m1fn_x2"},
		says: []string{"FP4 (E2M1) KV Cache might lead to a accuracy drop!"},
	},
	{
		name: "an FP4 cache under its old name", version: "0.5.18", config: llama, gpu: b200, argv: "--kv-cache-dtype fp4_e2m1 --attention-backend triton",
		refuse: "model_runner ValueError: --kv-cache-dtype=fp4_e2m1 is deprecated.",
	},

	// the launcher's choices
	{
		name: "latent attention by GPU", version: "0.5.12", config: deepSeek, gpu: h100, argv: "--tp 8", want: map[string]any{"attention_backend": "fa3"},
		tells: map[string]any{"model_config.attention_arch": "MLA", "fp8_block_linear": "deepgemm_w8a8_block_fp8_linear_with_fallback"},
	},
	{
		name: "latent attention on SM100", version: "0.5.12", config: deepSeek, gpu: b200, argv: "--tp 8", want: map[string]any{"attention_backend": "trtllm_mla", "page_size": 64, "quantization": "fp8", "moe_runner_backend": "flashinfer_trtllm"},
	},
	{
		name: "latent attention on AMD GPUs", version: "0.5.9", config: deepSeek, gpu: mi300x, argv: "--tp 8", want: map[string]any{"attention_backend": "aiter", "triton_attention_num_kv_splits": 16},
	},
	{
		name: "the draft of an NVFP4 checkpoint", version: "0.5.9", config: deepSeek, changes: `{"quantization_config": null}`, quant: nvfp4, gpu: b200,
		argv: "--tp 8 --quantization modelopt_fp4 --speculative-algorithm EAGLE", want: map[string]any{"speculative_moe_runner_backend": "triton", "speculative_moe_a2a_backend": "none"},
	},
	{
		name: "the draft of an NVFP4 checkpoint", version: "0.5.10", config: deepSeek, changes: `{"quantization_config": null}`, quant: nvfp4, gpu: b200,
		argv: "--tp 8 --quantization modelopt_fp4 --speculative-algorithm EAGLE", want: map[string]any{"speculative_moe_runner_backend": "auto", "speculative_moe_a2a_backend": nil},
	},
	{
		name: "the draft layer on AMD GPUs", version: "0.5.12", config: deepSeek, changes: `{"quantization_config": null}`, gpu: mi300x, argv: "--tp 8 --speculative-algorithm EAGLE",
		says: []string{"Enable Aiter AllReduce Fusion for DeepseekV3ForCausalLM"},
	},
	{
		name: "hidden states", version: "0.5.18", config: llama, gpu: h100, argv: "--return-hidden-states-mode last", want: map[string]any{"enable_return_hidden_states": true},
	},
	{
		name: "all hidden states", version: "0.5.23", config: llama, gpu: h100, argv: "--enable-return-hidden-states", want: map[string]any{"return_hidden_states_mode": "full"},
	},
	{
		name: "balance of experts is reported", version: "0.5.18", config: qwenMoE, gpu: h100, argv: "--expert-balancedness-report-mode prometheus",
		want: map[string]any{"expert_distribution_recorder_mode": "stat"},
	},
	{
		name: "sparse attention's kernels", version: "0.5.10", config: deepSeekV32, gpu: b200, argv: "--tp 8",
		want: map[string]any{"attention_backend": "nsa", "kv_cache_dtype": "fp8_e4m3", "nsa_prefill_backend": "trtllm", "nsa_decode_backend": "trtllm", "page_size": 64},
	},
	{
		name: "no nvidia-smi memory", version: "0.5.9", config: llama, gpu: spark, says: []string{"Failed to get GPU memory capacity from nvidia-smi, falling back to torch.cuda.mem_get_info()."},
	},
	{
		name: "H20 fuses nothing", version: "0.5.9", config: qwenMoE, gpu: h20, argv: "--tp 2", want: map[string]any{"enable_flashinfer_allreduce_fusion": nil},
	},
	{
		name: "H100 fuses the all-reduce", version: "0.5.9", config: qwenMoE, gpu: h100, argv: "--tp 2", want: map[string]any{"enable_flashinfer_allreduce_fusion": true},
	},
	{
		name: "Olmo", version: "0.5.9", config: olmo, gpu: a100, want: map[string]any{"attention_backend": "fa3", "disable_hybrid_swa_memory": true},
	},
	{
		name: "recurrent layers keep prefixes without overlap", version: "0.5.9", config: qwen3Next, gpu: h100, argv: "--tp 4", want: map[string]any{"disable_overlap_schedule": true},
	},
	{
		name: "recurrent layers without prefix cache", version: "0.5.9", config: qwen3Next, gpu: h100, argv: "--tp 4 --disable-radix-cache", want: map[string]any{"disable_overlap_schedule": false},
	},
	{
		name: "deterministic inference", version: "0.5.9", config: llama, gpu: h100, argv: "--tp 2 --enable-deterministic-inference",
		want: map[string]any{"sampling_backend": "pytorch", "disable_custom_all_reduce": true}, says: []string{"Sampling backend is set to pytorch for deterministic inference."},
	},
	{
		name: "pipeline stages", version: "0.5.9", config: llama, gpu: h100, argv: "--pp-size 2", want: map[string]any{"disable_overlap_schedule": true},
	},
}
