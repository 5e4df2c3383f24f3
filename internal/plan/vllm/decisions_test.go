package vllm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// Small checkpoints of the kinds that vLLM tells apart.
const (
	deepSeek = `{"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
		"num_key_value_heads": 128, "num_hidden_layers": 61, "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
		"qk_nope_head_dim": 128, "v_head_dim": 128, "max_position_embeddings": 163840, "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16", "rope_theta": 10000,
		"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`
	deepSeekV32 = `{"architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "hidden_size": 7168, "num_attention_heads": 128,
		"num_key_value_heads": 128, "num_hidden_layers": 61, "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
		"qk_nope_head_dim": 128, "v_head_dim": 128, "index_topk": 2048, "index_n_heads": 64, "index_head_dim": 128, "max_position_embeddings": 163840, "torch_dtype": "bfloat16"}`
	glmDSA = `{"architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "hidden_size": 6144, "num_attention_heads": 64, "num_key_value_heads": 64,
		"num_hidden_layers": 78, "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 2048, "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256,
		"index_topk": 2048, "index_n_heads": 32, "index_head_dim": 128, "max_position_embeddings": 202752, "dtype": "bfloat16"}`
	qwen3Next = `{"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 2,
		"head_dim": 256, "num_hidden_layers": 48, "num_experts": 512, "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
		"linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4, "max_position_embeddings": 262144, "dtype": "bfloat16"}`
	qwen35 = `{"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text", "hidden_size": 4096,
		"num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 256, "num_hidden_layers": 32, "linear_num_value_heads": 32, "linear_num_key_heads": 16,
		"linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "max_position_embeddings": 262144, "mamba_ssm_dtype": "float32", "dtype": "bfloat16"},
		"vision_config": {"model_type": "qwen3_5", "depth": 27}, "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`
	nemotron = `{"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
		"head_dim": 128, "num_hidden_layers": 52, "hybrid_override_pattern": "M-M-M-M*-", "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128,
		"conv_kernel": 4, "n_groups": 8, "chunk_size": 128, "max_position_embeddings": 8192, "torch_dtype": "bfloat16"}`
	gptOss = `{"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
		"num_hidden_layers": 24, "num_local_experts": 32, "sliding_window": 128, "max_position_embeddings": 131072, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "mxfp4"}}`
	mistral = `{"architectures": ["MistralForCausalLM"], "model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
		"num_hidden_layers": 32, "sliding_window": 4096, "max_position_embeddings": 32768, "torch_dtype": "bfloat16"}`
	llama4 = `{"architectures": ["Llama4ForConditionalGeneration"], "model_type": "llama4", "torch_dtype": "bfloat16", "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
		"num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 48, "num_local_experts": 16, "attention_chunk_size": 8192,
		"max_position_embeddings": 1048576}, "vision_config": {"model_type": "llama4_vision_model"}}`
	gemma3 = `{"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "bfloat16", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376,
		"num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "num_hidden_layers": 62, "sliding_window": 1024, "max_position_embeddings": 131072},
		"vision_config": {"model_type": "siglip_vision_model"}}`
	gemma4 = `{"architectures": ["Gemma4ForCausalLM"], "model_type": "gemma4_text", "torch_dtype": "bfloat16", "hidden_size": 2304, "num_attention_heads": 8,
		"num_key_value_heads": 4, "head_dim": 256, "global_head_dim": 512, "num_hidden_layers": 6, "sliding_window": 512, "max_position_embeddings": 131072,
		"layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]}`
	bert = `{"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12,
		"max_position_embeddings": 512, "torch_dtype": "float32"}`
	whisper = `{"architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper", "d_model": 1280, "hidden_size": 1280, "num_attention_heads": 20, "num_hidden_layers": 32,
		"is_encoder_decoder": true, "max_target_positions": 448, "torch_dtype": "float16"}`
	stranger = `{"architectures": ["GiraffeForCausalLM"], "model_type": "giraffe", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}`
)

var (
	a100   = hardware.GPU{Name: "NVIDIA A100-SXM4-80GB", SM: "8.0", MemoryGiB: 79.25, MemoryMiB: 81920, Count: 8}
	l40s   = hardware.GPU{Name: "NVIDIA L40S", SM: "8.9", MemoryGiB: 44.4, MemoryMiB: 46068, Count: 8}
	turing = hardware.GPU{Name: "Tesla T4", SM: "7.5", MemoryGiB: 14.6, MemoryMiB: 15360, Count: 8}
	rtxPro = hardware.GPU{Name: "NVIDIA RTX PRO 6000 Blackwell Server Edition", SM: "12.0", MemoryGiB: 94.97, MemoryMiB: 97887, Count: 8}
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

// decision is a launch and what vLLM makes of it.
type decision struct {
	name    string
	version string
	config  string
	changes string // fields of config.json to replace
	gpu     hardware.GPU
	argv    string // options divided by spaces
	env     map[string]string
	draft   string // config.json of the model that the options call "draft"

	want   map[string]any // settings
	chosen []string       // ids of decisions
	says   []string       // beginnings of lines
	refuse string         // stage and beginning of the message
}

var decisions = []decision{
	{
		name: "dense model on a large GPU", version: "0.24.0", config: llama, gpu: h100,
		want: map[string]any{"scheduler.max_num_batched_tokens": 8192, "scheduler.max_num_seqs": 1024, "model.dtype": "torch.bfloat16", "cache.enable_prefix_caching": true,
			"scheduler.async_scheduling": true, "parallel.distributed_executor_backend": "uni", "scheduler.disable_hybrid_kv_cache_manager": false},
		chosen: []string{"VLLM-SCHED-BATCH", "VLLM-SCHED-ASYNC-ON", "VLLM-COMPILE-MODE"},
		says:   []string{"Resolved architecture: LlamaForCausalLM", "Using max model len 8192", "Asynchronous scheduling is enabled."},
	},
	{
		name: "A100 counts as a small GPU", version: "0.24.0", config: llama, gpu: a100,
		want: map[string]any{"scheduler.max_num_batched_tokens": 2048, "scheduler.max_num_seqs": 256, "compilation.max_cudagraph_capture_size": 512},
	},
	{
		name: "larger steps on 160 GiB from 0.32 on", version: "0.32.0", config: llama, gpu: b200,
		want: map[string]any{"scheduler.max_num_batched_tokens": 16384, "compilation.max_cudagraph_capture_size": 1024},
	},
	{
		name: "the same GPU before 0.32", version: "0.24.0", config: llama, gpu: b200,
		want: map[string]any{"scheduler.max_num_batched_tokens": 8192, "compilation.max_cudagraph_capture_size": 512},
	},
	{
		name: "a version in between behaves as the older neighbour", version: "0.30.1", config: llama, gpu: b200,
		want: map[string]any{"scheduler.max_num_batched_tokens": 8192},
	},
	{
		name: "GPU memory share by release", version: "0.19.1", config: llama, gpu: h100, argv: "-tp 2",
		want:   map[string]any{"cache.gpu_memory_utilization": 0.9, "pass.fuse_allreduce_rms": true, "parallel.world_size": 2, "parallel.distributed_executor_backend": "mp"},
		chosen: []string{"VLLM-OPT-LEVEL", "VLLM-EXECUTOR"},
		says:   []string{"Enabled custom fusions: allreduce_rms"},
	},
	{
		name: "no fused all-reduce on this GPU", version: "0.24.0", config: llama, gpu: rtxPro, argv: "-tp 2",
		want: map[string]any{"cache.gpu_memory_utilization": 0.92, "pass.fuse_allreduce_rms": false},
	},
	{
		name: "bfloat16 is not there before Ampere", version: "0.16.0", config: llama, gpu: turing,
		want:   map[string]any{"model.dtype": "torch.float16"},
		chosen: []string{"VLLM-DTYPE-CAST"},
		says:   []string{"Your device 'Tesla T4' (with compute capability 7.5) doesn't support torch.bfloat16. Falling back to torch.float16"},
	},
	{
		name: "float16 overflows in Gemma", version: "0.24.0", config: gemma3, gpu: h100, argv: "--dtype float16",
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, The model type 'gemma3' does not support float16.",
	},
	{
		name: "longer than the model", version: "0.24.0", config: llama, gpu: h100, argv: "--max-model-len 9000",
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, User-specified max_model_len (9000) is greater than the derived max_model_len (max_position_embeddings=8192.0 or model_max_length=None",
	},
	{
		name: "longer than the model, at the user's risk", version: "0.24.0", config: llama, gpu: h100, argv: "--max-model-len 9000", env: map[string]string{"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"},
		want: map[string]any{"model.max_model_len": 9000},
		says: []string{"User-specified max_model_len (9000) is greater"},
	},
	{
		name: "YaRN lengthens the model", version: "0.24.0", config: llama, gpu: h100,
		changes: `{"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}, "max_position_embeddings": 4096}`,
		want:    map[string]any{"model.max_model_len": 16384},
	},
	{
		name: "one window for all layers", version: "0.24.0", config: mistral, gpu: l40s, chosen: []string{"VLLM-WINDOW"},
		want: map[string]any{"cache.sliding_window": 4096, "scheduler.max_num_batched_tokens": 2048},
	},
	{
		name: "windows of some layers", version: "0.24.0", config: gptOss, gpu: h100,
		want: map[string]any{"cache.sliding_window": nil, "compilation.max_cudagraph_capture_size": 1024, "model.quantization": "gpt_oss_mxfp4"},
		says: []string{"Overriding max cuda graph capture size to 1024 for performance."},
	},
	{
		name: "gpt-oss before its own method", version: "0.19.1", config: gptOss, gpu: h100,
		want: map[string]any{"model.quantization": "mxfp4"},
	},
	{
		name: "blocks of weights keep the FP8 kernel", version: "0.24.0", config: deepSeek, gpu: h100, argv: "-tp 8",
		want: map[string]any{"model.quantization": "fp8", "model.use_mla": true, "pass.fuse_norm_quant": true,
			"compilation.custom_ops": []any{"+quant_fp8", "none", "+quant_fp8"}},
		chosen: []string{"VLLM-QUANT", "VLLM-COMPILE-QUANT", "VLLM-COMPILE-OPS"},
	},
	{
		name: "latent attention switched off", version: "0.24.0", config: deepSeek, gpu: h100, argv: "-tp 8", env: map[string]string{"VLLM_MLA_DISABLE": "1"},
		want: map[string]any{"model.use_mla": false, "model.is_deepseek_mla": true},
	},
	{
		name: "FlashMLA's blocks", version: "0.16.0", config: deepSeek, gpu: h100, argv: "-tp 8",
		want: map[string]any{"cache.block_size": 64},
		says: []string{"Forcing kv cache block size to 64 for FlashMLA backend."},
	},
	{
		name: "CUTLASS' blocks", version: "0.11.2", config: deepSeek, gpu: b200, argv: "-tp 8",
		want: map[string]any{"cache.block_size": 128, "parallel.all2all_backend": "allgather_reducescatter"},
		says: []string{"Forcing kv cache block size to 128 for CUTLASS_MLA backend."},
	},
	{
		name: "FlashInfer's latent attention", version: "0.16.0", config: deepSeek, gpu: b200, argv: "-tp 8",
		want: map[string]any{"attention.backend": "FLASHINFER_MLA", "cache.block_size": 64},
	},
	{
		name: "sparse attention's packed record", version: "0.16.0", config: deepSeekV32, gpu: h100, argv: "-tp 8 --kv-cache-dtype fp8",
		want:   map[string]any{"cache.cache_dtype": "fp8_ds_mla", "cache.block_size": 64},
		chosen: []string{"VLLM-KV-DTYPE-DSV32", "VLLM-BLOCK-BACKEND"},
		says:   []string{"Using custom fp8 kv-cache format for DeepSeekV3.2"},
	},
	{
		name: "sparse attention's tokenizer and graphs", version: "0.32.0", config: deepSeekV32, gpu: h100, argv: "-tp 8 --kv-cache-dtype bfloat16",
		want:   map[string]any{"model.tokenizer_mode": "deepseek_v32", "compilation.mode": "NONE"},
		chosen: []string{"VLLM-TOKENIZER-MODE", "VLLM-GRAPH-BREAKABLE"},
		says:   []string{"Defaulting to tokenizer_mode='deepseek_v32'", "Using bfloat16 kv-cache for DeepSeekV3.2"},
	},
	{
		name: "GLM's FP8 cache on Blackwell", version: "0.32.0", config: glmDSA, gpu: b200, argv: "-tp 8",
		want: map[string]any{"cache.cache_dtype": "fp8_e4m3"}, chosen: []string{"VLLM-KV-DTYPE-DSA"},
	},
	{
		name: "GLM on Hopper", version: "0.32.0", config: glmDSA, gpu: h100, argv: "-tp 8",
		want: map[string]any{"cache.cache_dtype": "auto"},
	},
	{
		name: "recurrent layers", version: "0.24.0", config: qwen3Next, gpu: h100, chosen: []string{"VLLM-MAMBA-MODE"},
		want: map[string]any{"model.is_hybrid": true, "cache.enable_prefix_caching": false, "cache.mamba_block_size": 262144, "cache.block_size": 16},
	},
	{
		name: "recurrent layers in blocks, before the backend is known", version: "0.19.1", config: qwen3Next, gpu: h100,
		want: map[string]any{"cache.block_size": 544}, chosen: []string{"VLLM-BLOCK-HYBRID"},
		says: []string{"Setting attention block size to 544 tokens to ensure that attention page size is >= mamba page size."},
	},
	{
		name: "prefix caching of recurrent states", version: "0.24.0", config: nemotron, gpu: h100, argv: "--enable-prefix-caching",
		want: map[string]any{"cache.mamba_cache_mode": "all", "cache.mamba_ssm_cache_dtype": "float32"}, chosen: []string{"VLLM-MAMBA-SSM"},
		says: []string{"Mamba cache mode is set to 'all' for NemotronHForCausalLM"},
	},
	{
		name: "prefix caching of recurrent states is the default", version: "0.32.0", config: nemotron, gpu: h100,
		want: map[string]any{"cache.mamba_cache_mode": "align", "cache.enable_prefix_caching": true},
	},
	{
		name: "recurrent states without cache modes", version: "0.11.2", config: qwen3Next, gpu: h100, argv: "--enable-prefix-caching",
		want: map[string]any{"cache.enable_prefix_caching": false, "model.disable_cascade_attn": true}, chosen: []string{"VLLM-PREFIX-HYBRID"},
	},
	{
		name: "no DeepGEMM for this model on Blackwell", version: "0.24.0", config: qwen35, gpu: b200, argv: "--mamba-ssm-cache-dtype float16",
		says: []string{"Auto-disabled DeepGemm for model_type=qwen3_5_text on Blackwell.", "Qwen3.5 model specifies mamba_ssm_dtype='float32'"},
	},
	{
		name: "images attend in both directions", version: "0.24.0", config: gemma3, gpu: h100,
		want: map[string]any{"model.is_multimodal_model": true, "scheduler.disable_chunked_mm_input": true}, chosen: []string{"VLLM-SCHED-MM-CHUNK"},
		says: []string{"Forcing --disable_chunked_mm_input"},
	},
	{
		name: "text only", version: "0.32.0", config: gemma3, gpu: h100, argv: `--limit-mm-per-prompt {"image":0}`,
		want: map[string]any{"scheduler.disable_chunked_mm_input": false},
		says: []string{"All limits of multimodal modalities supported by the model are set to 0"},
	},
	{
		name: "chunked local attention", version: "0.11.2", config: llama4, gpu: h100, argv: "-tp 8",
		want: map[string]any{"scheduler.disable_hybrid_kv_cache_manager": true, "model.attention_chunk_size": 8192}, chosen: []string{"VLLM-HYBRID-CHUNKED"},
	},
	{
		name: "embedding model", version: "0.24.0", config: bert, gpu: h100,
		want: map[string]any{"model.runner_type": "pooling", "model.dtype": "torch.float16", "scheduler.enable_chunked_prefill": false, "cache.enable_prefix_caching": false,
			"scheduler.async_scheduling": false, "compilation.cudagraph_mode": "PIECEWISE"},
		chosen: []string{"VLLM-RUNNER", "VLLM-DTYPE-DOWN", "VLLM-GRAPH-MODE"},
		says:   []string{"Resolved `--runner auto` to `--runner pooling`.", "Downcasting torch.float32 to torch.float16.", "Pooling models do not support full cudagraphs."},
	},
	{
		name: "embedding model of an old release", version: "0.11.2", config: bert, gpu: h100,
		want: map[string]any{"scheduler.enable_chunked_prefill": false, "cache.enable_prefix_caching": false},
	},
	{
		name: "an embedding model does not generate", version: "0.24.0", config: bert, gpu: h100, argv: "--runner generate",
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, Embedding models do not support `--runner generate`.",
	},
	{
		name: "generating model adapted for pooling", version: "0.24.0", config: llama, gpu: h100, argv: "--runner pooling",
		want: map[string]any{"model.convert_type": "embed"}, chosen: []string{"VLLM-CONVERT"},
		says: []string{"Resolved `--convert auto` to `--convert embed`."},
	},
	{
		name: "encoder and decoder", version: "0.24.0", config: whisper, gpu: h100,
		want: map[string]any{"scheduler.enable_chunked_prefill": false, "compilation.cudagraph_mode": "FULL_DECODE_ONLY", "scheduler.disable_chunked_mm_input": true},
		says: []string{"Encoder-decoder model detected, disabling mm processor cache."},
	},
	{
		name: "unknown model type", version: "0.24.0", config: stranger, gpu: h100,
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, The checkpoint you are trying to load has model type `giraffe`",
	},
	{
		name: "model type of a checkpoint's own code", version: "0.24.0", config: stranger, gpu: h100, changes: `{"auto_map": {"AutoConfig": "configuration_giraffe.GiraffeConfig"}}`,
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, The repository m contains custom code which must be executed to correctly load the model.",
	},
	{
		name: "architecture of transformers", version: "0.24.0", config: stranger, gpu: h100, changes: `{"model_type": "helium", "architectures": ["HeliumForCausalLM"]}`,
		says: []string{"TransformersForCausalLM has no vLLM implementation"},
	},
	{
		name: "converted sibling", version: "0.24.0", config: llama, gpu: h100, changes: `{"architectures": ["LlamaForSequenceClassification"]}`,
		want: map[string]any{"model.runner_type": "pooling", "model.convert_type": "classify"}, says: []string{"Resolved architecture: LlamaForSequenceClassification"},
	},
	{
		name: "unknown architecture of a known type", version: "0.24.0", config: stranger, gpu: h100, changes: `{"model_type": "llama"}`,
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, Model architectures ['GiraffeForCausalLM'] are not supported for now.",
	},
	{
		name: "removed architecture", version: "0.24.0", config: llama, gpu: h100, changes: `{"architectures": ["BambaForCausalLM"], "model_type": "bamba"}`,
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, Model architecture BambaForCausalLM was supported in vLLM until v0.23.0",
	},
	{
		name: "heads of two sizes", version: "0.24.0", config: gemma4, gpu: h100, want: map[string]any{"attention.flash_attn_version": 4},
		says: []string{"Gemma4 model has heterogeneous head dimensions (head_dim=256, global_head_dim=512). Using FA4 for all layers"},
	},
	{
		name: "heads of two sizes on an older GPU", version: "0.24.0", config: gemma4, gpu: l40s, want: map[string]any{"attention.backend": "TRITON_ATTN"},
	},
	{
		name: "a flag without a feature", version: "0.24.0", config: llama, gpu: h100, argv: "--max-num-partial-prefills 2",
		refuse: "create_engine_config NotImplementedError: Concurrent Partial Prefill is not supported.",
	},
	{
		name: "pipeline in one process", version: "0.32.0", config: llama, gpu: h100, argv: "--pipeline-parallel-size 2 --distributed-executor-backend uni",
		refuse: "create_engine_config NotImplementedError: Pipeline Parallelism without Ray",
	},
	{
		name: "load balancing without expert parallelism", version: "0.24.0", config: llama, gpu: h100, argv: "--enable-eplb",
		refuse: "create_engine_config ValidationError: 1 validation error for ParallelConfig\n  Value error, enable_expert_parallel must be True to use EPLB.",
	},
	{
		name: "context parallelism that does not divide", version: "0.32.0", config: llama, gpu: h100, argv: "--decode-context-parallel-size 2",
		refuse: "create_engine_config ValidationError: 1 validation error for ParallelConfig\n  Value error, tp_size=1 must be divisible by dcp_size=2.",
	},
	{
		name: "an all-to-all backend that is gone", version: "0.24.0", config: llama, gpu: h100, argv: "--all2all-backend pplx",
		want: map[string]any{"parallel.all2all_backend": "allgather_reducescatter"}, says: []string{"The 'pplx' all2all backend has been removed."},
	},
	{
		name: "states in blocks without prefix caching", version: "0.16.0", config: bert, gpu: h100, argv: "--mamba-block-size 1024",
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, --mamba-block-size can only be set with --enable-prefix-caching",
	},
	{
		name: "context parallelism that does not divide, 0.11", version: "0.11.2", config: llama, gpu: h100, argv: "--decode-context-parallel-size 2",
		refuse: "create_engine_config AssertionError: tp_size=1 must be divisible bydcp_size=2.",
	},
	{
		name: "chunks that pooling does not take", version: "0.11.2", config: bert, gpu: h100, argv: "--enable-chunked-prefill",
		want: map[string]any{"scheduler.enable_chunked_prefill": false, "scheduler.chunked_prefill_enabled": false},
	},
	{
		name: "quantised while loading", version: "0.32.0", config: llama, gpu: h100, argv: "--quantization fp8",
		want: map[string]any{"model.quantization": "fp8"}, says: []string{"--quantization fp8 is deprecated for online quantization;"},
	},
	{
		name: "a connector that is not there, no graphs", version: "0.32.0", config: llama, gpu: h100, argv: `--enforce-eager --kv-transfer-config {"kv_connector":"P2pNcclConnector","kv_role":"kv_both"}`,
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, Unsupported connector type: P2pNcclConnector",
	},
	{
		name: "states in blocks and whole images", version: "0.16.0", config: gemma3, gpu: h100, argv: "--mamba-cache-mode align",
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Assertion failed, Chunked MM input is required",
	},
	{
		name: "a draft that no release knows", version: "0.24.0", config: llama, gpu: h100, changes: `{"architectures": ["LlamaForCausalLMEagle"]}`,
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, Model architectures ['LlamaForCausalLMEagle'] are not supported for now.",
	},
	{
		name: "expert parallelism of a hybrid model", version: "0.24.0", config: nemotron, gpu: h100, argv: "--enable-expert-parallel",
		want: map[string]any{"parallel.enable_expert_parallel": true},
	},
	{
		name: "an uncut model", version: "0.24.0", config: llama, gpu: h100, argv: `--compilation-config {"splitting_ops":[]}`,
		want: map[string]any{"compilation.cudagraph_mode": "FULL"}, chosen: []string{"VLLM-GRAPH-SPLIT"},
		says: []string{"Using piecewise cudagraph with empty splitting_ops"},
	},
	{
		name: "fused attention", version: "0.19.1", config: llama, gpu: h100, argv: `--compilation-config {"pass_config":{"fuse_attn_quant":true}}`,
		want: map[string]any{"compilation.cudagraph_mode": "FULL"}, chosen: []string{"VLLM-GRAPH-SPLIT"},
	},
	{
		name: "plain torch.compile", version: "0.32.0", config: llama, gpu: h100, argv: `--compilation-config {"mode":1}`,
		want: map[string]any{"compilation.cudagraph_mode": "NONE", "compilation.max_cudagraph_capture_size": 0}, chosen: []string{"VLLM-GRAPH-STOCK"},
	},
	{
		name: "a connector that is not there", version: "0.24.0", config: llama, gpu: h100, argv: `--kv-transfer-config {"kv_connector":"SharedStorageConnector","kv_role":"kv_producer"}`,
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, Unsupported connector type: SharedStorageConnector",
	},
	{
		name: "YaRN in 0.24", version: "0.24.0", config: llama, gpu: h100, changes: `{"max_position_embeddings": 40960, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}`,
		want: map[string]any{"model.max_model_len": 131072},
	},
	{
		name: "YaRN in 0.32", version: "0.32.0", config: llama, gpu: h100, changes: `{"max_position_embeddings": 40960, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}`,
		want: map[string]any{"model.max_model_len": 40960},
	},
	{
		name: "another config.json in parts", version: "0.24.0", config: llama, gpu: h100, argv: `--hf-overrides {"max_position_embeddings":4096}`,
		want: map[string]any{"model.max_model_len": 4096},
	},
	{
		name: "AWQ through Marlin", version: "0.19.1", config: llama, gpu: h100,
		changes: `{"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm"}}`,
		want:    map[string]any{"model.quantization": "awq_marlin"}, chosen: []string{"VLLM-QUANT-CONVERTIBLE"},
		says: []string{"The model is convertible to awq_marlin during runtime."},
	},
	{
		name: "AWQ kept", version: "0.19.1", config: llama, gpu: h100, argv: "--quantization awq --dtype half",
		changes: `{"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm"}}`,
		want:    map[string]any{"model.quantization": "awq"}, says: []string{"Detected that the model can run with awq_marlin, however you specified quantization=awq"},
	},
	{
		name: "AWQ in bfloat16", version: "0.19.1", config: llama, gpu: h100, argv: "--quantization awq",
		changes: `{"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm"}}`,
		refuse:  "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, torch.bfloat16 is not supported for quantization method awq. Supported dtypes: [torch.float16]",
	},
	{
		name: "GPTQ by its new name", version: "0.32.0", config: llama, gpu: h100,
		changes: `{"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false, "sym": true}}`,
		want:    map[string]any{"model.quantization": "auto_gptq"},
	},
	{
		name: "GPTQ's experts", version: "0.19.1", config: llama, gpu: h100, argv: "--quantization moe_wna16",
		changes: `{"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false, "sym": false}}`,
		want:    map[string]any{"model.quantization": "moe_wna16"},
	},
	{
		name: "ModelOpt's KV cache scheme", version: "0.24.0", config: llama, gpu: h100,
		changes: `{"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_scheme": {"dynamic": false, "num_bits": 8, "type": "float"}}}`,
		want:    map[string]any{"model.quantization": "modelopt", "cache.cache_dtype": "fp8_e4m3"}, chosen: []string{"VLLM-KV-DTYPE"},
		says: []string{"Using fp8_e4m3 data type to store kv cache.", "Detected ModelOpt fp8 checkpoint (quant_algo=FP8)."},
	},
	{
		name: "too old a GPU for the method", version: "0.24.0", config: llama, gpu: a100,
		changes: `{"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}`,
		refuse:  "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, The quantization method modelopt is not supported for the current GPU. Minimum capability: 89. Current capability: 80.",
	},
	{
		name: "asked for another method than the checkpoint's", version: "0.24.0", config: deepSeek, gpu: h100, argv: "-tp 8 --quantization auto_awq",
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, Quantization method specified in the model config (fp8) does not match",
	},
	{
		name: "deprecated method", version: "0.16.0", config: llama, gpu: h100, argv: "--quantization fbgemm_fp8",
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, ('The quantization method %s is deprecated",
	},
	{
		name: "EAGLE's draft", version: "0.24.0", config: llama, gpu: h100, argv: `-tp 2 --no-disable-cascade-attn --speculative-config {"method":"eagle3","model":"draft","num_speculative_tokens":3}`,
		draft: `{"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 1, "max_position_embeddings": 2048}`,
		want:  map[string]any{"speculative.method": "eagle3", "speculative.draft_tensor_parallel_size": 2, "model.disable_cascade_attn": true, "scheduler.async_scheduling": true}, chosen: []string{"VLLM-SPEC", "VLLM-GRAPH-CASCADE"},
		says: []string{"Disabling cascade attention (not yet compatible with async speculative decoding)."},
	},
	{
		name: "the model drafts for itself, by an old name", version: "0.24.0", config: deepSeek, gpu: h100, argv: `-tp 8 --speculative-config {"method":"deepseek_mtp","num_speculative_tokens":2}`,
		want: map[string]any{"speculative.method": "mtp", "speculative.quantization": "fp8"},
		says: []string{"method `deepseek_mtp` is deprecated and replaced with mtp.", "Enabling num_speculative_tokens > 1 will run multiple times"},
	},
	{
		name: "n-grams wait for the step's result", version: "0.24.0", config: llama, gpu: h100, argv: `--speculative-config {"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4}`,
		want: map[string]any{"scheduler.async_scheduling": false}, chosen: []string{"VLLM-SCHED-ASYNC-SPEC"},
		says: []string{"Async scheduling not supported with ngram-based speculative decoding"},
	},
	{
		name: "n-grams and asynchronous scheduling", version: "0.24.0", config: llama, gpu: h100, argv: `--async-scheduling --speculative-config {"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4}`,
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, Currently, async scheduling is only supported with EAGLE/MTP",
	},
	{
		name: "drafting without a draft", version: "0.24.0", config: llama, gpu: h100, argv: `--speculative-config {"method":"eagle","num_speculative_tokens":4}`,
		refuse: "create_engine_config ValidationError: 1 validation error for SpeculativeConfig\n  Value error, num_speculative_tokens was provided but without speculative model.",
	},
	{
		name: "room for a draft model's tokens", version: "0.24.0", config: llama, gpu: a100, argv: `--speculative-config {"model":"draft","num_speculative_tokens":3}`, draft: llama,
		want: map[string]any{"speculative.method": "draft_model"},
		says: []string{"max_num_scheduled_tokens is set to 1792"},
	},
	{
		name: "sparse fast prefill and EAGLE", version: "0.24.0", config: llama, gpu: h100, draft: llama,
		argv:   `--kv-sharing-fast-prefill --speculative-config {"method":"eagle","model":"draft","num_speculative_tokens":3}`,
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, Fast prefill optimization for KV sharing is not compatible with EAGLE",
	},
	{
		name: "fast prefill", version: "0.24.0", config: llama, gpu: h100, argv: "--kv-sharing-fast-prefill",
		says: []string{"--kv-sharing-fast-prefill requires changes on model side"},
	},
	{
		name: "heads that cannot be shared out", version: "0.24.0", config: llama, gpu: h100, argv: "-tp 3",
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, Total number of attention heads (32) must be divisible by tensor parallel size (3).",
	},
	{
		name: "more workers than GPUs", version: "0.24.0", config: llama, gpu: h100, argv: "-tp 16",
		refuse: "create_engine_config ValidationError: 1 validation error for ParallelConfig\n  Value error, World size (16) is larger than the number of available GPUs (8) in this node.",
	},
	{
		name: "experts where there are none", version: "0.24.0", config: llama, gpu: h100, argv: "-tp 2 --enable-expert-parallel",
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, Number of experts in the model must be greater than 0",
	},
	{
		name: "context parallelism needs spare ranks", version: "0.24.0", config: llama, gpu: h100, argv: "-tp 8 --decode-context-parallel-size 2",
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Assertion failed, tensor parallel size 8 must be greater than total num kv heads 8",
	},
	{
		name: "context parallelism without full graphs", version: "0.11.2", config: deepSeek, gpu: h100, argv: "-tp 8 --decode-context-parallel-size 8",
		want: map[string]any{"compilation.cudagraph_mode": "PIECEWISE"}, says: []string{"Decode context parallel (DCP) is enabled, which is incompatible"},
	},
	{
		name: "a step smaller than the number of requests", version: "0.24.0", config: llama, gpu: h100, argv: "--max-num-batched-tokens 100 --max-num-seqs 200",
		refuse: "create_engine_config ValidationError: 1 validation error for SchedulerConfig\n  Value error, max_num_batched_tokens (100) must be greater than or equal to max_num_seqs (200).",
	},
	{
		name: "no requests at all", version: "0.24.0", config: llama, gpu: h100, argv: "--max-num-seqs 0",
		refuse: "create_engine_config ValidationError: 1 validation error for SchedulerConfig\nmax_num_seqs\n  Input should be greater than or equal to 1",
	},
	{
		name: "whole prompts", version: "0.24.0", config: llama, gpu: a100, argv: "--no-enable-chunked-prefill",
		want: map[string]any{"scheduler.max_num_batched_tokens": 8192}, says: []string{"This model does not officially support disabling chunked prefill."},
	},
	{
		name: "throughput", version: "0.24.0", config: llama, gpu: h100, argv: "--performance-mode throughput",
		want: map[string]any{"scheduler.max_num_batched_tokens": 16384, "scheduler.max_num_seqs": 2048}, says: []string{"Performance mode set to 'throughput'."},
	},
	{
		name: "eager", version: "0.24.0", config: llama, gpu: h100, argv: "--enforce-eager", chosen: []string{"VLLM-GRAPH-EAGER"},
		want: map[string]any{"compilation.mode": "NONE", "compilation.cudagraph_mode": "NONE", "compilation.cudagraph_capture_sizes": []any{}, "compilation.custom_ops": []any{"all"}},
		says: []string{"Enforce eager set, disabling torch.compile and CUDAGraphs.", "Inductor compilation was disabled by user settings", "Cudagraph is disabled under eager mode"},
	},
	{
		name: "eager through the optimisation level", version: "0.16.0", config: llama, gpu: h100, argv: "--enforce-eager",
		want: map[string]any{"optimization_level": "O0", "compilation.mode": "NONE"},
	},
	{
		name: "level 1", version: "0.24.0", config: llama, gpu: h100, argv: "-O1 -tp 2",
		want: map[string]any{"compilation.cudagraph_mode": "PIECEWISE", "pass.fuse_allreduce_rms": false},
	},
	{
		name: "level as a mode", version: "0.11.2", config: llama, gpu: h100, argv: "-O0",
		want: map[string]any{"compilation.mode": "NONE", "compilation.cudagraph_mode": "NONE"},
	},
	{
		name: "PyTorch's own switch", version: "0.24.0", config: llama, gpu: h100, env: map[string]string{"TORCH_COMPILE_DISABLE": "1"},
		want: map[string]any{"compilation.mode": "NONE", "compilation.cudagraph_mode": "NONE"}, chosen: []string{"VLLM-COMPILE-SWITCH", "VLLM-GRAPH-COMPILE-MODE"},
		says: []string{"Cudagraph mode FULL_AND_PIECEWISE is not compatible with compilation mode 0.Overriding to NONE."},
	},
	{
		name: "full graphs survive without the compiler", version: "0.32.0", config: llama, gpu: h100, argv: "--compilation-config.mode 0",
		want: map[string]any{"compilation.cudagraph_mode": "FULL_DECODE_ONLY"},
	},
	{
		name: "asked for sizes of graphs", version: "0.24.0", config: llama, gpu: h100, argv: `--compilation-config {"cudagraph_capture_sizes":[1,2,4,100000]}`,
		want: map[string]any{"compilation.cudagraph_capture_sizes": []any{1, 2, 4}, "compilation.max_cudagraph_capture_size": 4},
		says: []string{"cudagraph_capture_sizes specified in compilation_config [1, 2, 4, 100000] is overridden by config [1, 2, 4]"},
	},
	{
		name: "sizes of graphs in two ways", version: "0.24.0", config: llama, gpu: h100, argv: `--max-cudagraph-capture-size 64 --compilation-config {"max_cudagraph_capture_size":32}`,
		refuse: "create_engine_config ValueError: max_cudagraph_capture_size and compilation_config.max_cudagraph_capture_size are mutually exclusive",
	},
	{
		name: "sequence parallelism of a small model", version: "0.24.0", config: llama, gpu: h100, argv: `-tp 2 --compilation-config {"pass_config":{"enable_sp":true}}`,
		want: map[string]any{"pass.enable_sp": false}, chosen: []string{"VLLM-SP"}, says: []string{"Model hidden_size too small for the SP threshold heuristic, disabling."},
	},
	{
		name: "sequence parallelism drops sizes", version: "0.16.0", config: llama, gpu: h100, argv: `-tp 2 --compilation-config {"pass_config":{"enable_sp":true}}`,
		want: map[string]any{"pass.enable_sp": true, "compilation.custom_ops": []any{"none", "+rms_norm", "+rms_norm"}}, says: []string{"Batch sizes [1] are removed because they are not multiple of tp_size 2"},
	},
	{
		name: "only full graphs", version: "0.16.0", config: llama, gpu: h100, argv: "--compilation-config.cudagraph_mode FULL",
		want: map[string]any{"compilation.cudagraph_mode": "FULL"}, says: []string{"No piecewise cudagraph for executing cascade attention."},
	},
	{
		name: "DeepEP's kernels and graphs", version: "0.24.0", config: deepSeek, gpu: h100, argv: "-tp 4 -dp 2 --enable-expert-parallel --all2all-backend deepep_high_throughput",
		want: map[string]any{"compilation.cudagraph_mode": "NONE"}, chosen: []string{"VLLM-GRAPH-DEEPEP"}, says: []string{"Disabling NCCL for DP synchronization", "DeepEP: Disabling CUDA Graphs"},
	},
	{
		name: "DeepEP's batches", version: "0.24.0", config: deepSeek, gpu: h100, argv: "-tp 4 -dp 2 --enable-expert-parallel --all2all-backend deepep_low_latency",
		want: map[string]any{"scheduler.max_num_batched_tokens": 256},
	},
	{
		name: "experts that communicate themselves", version: "0.32.0", config: deepSeek, gpu: b200, argv: "-tp 8 --enable-expert-parallel --moe-backend flashinfer_moe_ep_mega_deep_gemm",
		want: map[string]any{"parallel.all2all_backend": "passthrough"}, chosen: []string{"VLLM-MOE-ALL2ALL-INSIDE"},
	},
	{
		name: "overlapped halves need DeepEP", version: "0.24.0", config: deepSeek, gpu: h100, argv: "-tp 8 --enable-dbo",
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Assertion failed, Microbatching currently only supports",
	},
	{
		name: "the same sums in every batch", version: "0.16.0", config: llama, gpu: h100, argv: "-tp 2", env: map[string]string{"VLLM_BATCH_INVARIANT": "1"},
		want: map[string]any{"parallel.disable_custom_all_reduce": true, "model.disable_cascade_attn": true}, says: []string{"Disabling cascade attention when VLLM_BATCH_INVARIANT is enabled."},
	},
	{
		name: "connector without the hybrid manager", version: "0.16.0", config: llama, gpu: h100, argv: `--kv-transfer-config {"kv_connector":"NixlConnector","kv_role":"kv_both"}`,
		want: map[string]any{"scheduler.disable_hybrid_kv_cache_manager": true}, chosen: []string{"VLLM-HYBRID-OFF"}, says: []string{"Turning off hybrid kv cache manager because `--kv-transfer-config` is set."},
	},
	{
		name: "NIXL works with the hybrid manager", version: "0.24.0", config: llama, gpu: h100, argv: `--kv-transfer-config {"kv_connector":"NixlConnector","kv_role":"kv_both"}`,
		want: map[string]any{"scheduler.disable_hybrid_kv_cache_manager": false}, says: []string{"Setting UCX_RCACHE_MAX_UNRELEASED to '1024'", "NIXL is available"},
	},
	{
		name: "a connector that works layer by layer", version: "0.24.0", config: llama, gpu: h100,
		argv: `--kv-transfer-config {"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both","kv_connector_extra_config":{"use_layerwise":true}}`,
		want: map[string]any{"compilation.cudagraph_mode": "PIECEWISE"}, says: []string{"KV connector LMCacheConnectorV1 requires PIECEWISE CUDA graph mode"},
	},
	{
		name: "the hybrid manager asked for in vain", version: "0.16.0", config: llama, gpu: h100, argv: `--no-disable-hybrid-kv-cache-manager --kv-events-config {"enable_kv_cache_events":true}`,
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, Hybrid KV cache manager was explicitly enabled",
	},
	{
		name: "4-bit cache of latent attention", version: "0.24.0", config: deepSeek, gpu: b200, argv: "-tp 8 --kv-cache-dtype nvfp4",
		refuse: "create_engine_config ValidationError: 1 validation error for VllmConfig\n  Value error, nvfp4 KV cache is not supported with MLA",
	},
	{
		name: "packed cache keeps FlashAttention 2", version: "0.24.0", config: llama, gpu: h100, argv: "--kv-cache-dtype turboquant_4bit_nc",
		want: map[string]any{"attention.flash_attn_version": 2}, chosen: []string{"VLLM-ATTN-FA-OVERRIDE"}, says: []string{"TurboQuant is not yet compatible with FlashAttention >= 3."},
	},
	{
		name: "backend asked for", version: "0.24.0", config: llama, gpu: h100, argv: "--attention-backend flashinfer",
		want: map[string]any{"attention.backend": "FLASHINFER"}, chosen: []string{"VLLM-ATTN-ASKED"},
	},
	{
		name: "unknown backend", version: "0.24.0", config: llama, gpu: h100, argv: "--attention-backend giraffe",
		refuse: "create_engine_config ValueError: Unknown attention backend: 'GIRAFFE'. Valid options are: FLASH_ATTN,",
	},
	{
		name: "unknown backend in the environment", version: "0.11.2", config: llama, gpu: h100, env: map[string]string{"VLLM_ATTENTION_BACKEND": "GIRAFFE"},
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, Invalid value 'GIRAFFE' for VLLM_ATTENTION_BACKEND.",
	},
	{
		name: "kernels asked for", version: "0.24.0", config: llama, gpu: h100, argv: `--kernel-config {"moe_backend":"flashinfer-cutlass"}`,
		want: map[string]any{"kernel.moe_backend": "flashinfer_cutlass"}, chosen: []string{"VLLM-KERNEL"},
	},
	{
		name: "structured outputs", version: "0.24.0", config: llama, gpu: h100, argv: "--structured-outputs-config.backend guidance",
		want: map[string]any{"structured_outputs.backend": "guidance"},
	},
	{
		name: "what the new runner lacks", version: "0.24.0", config: llama, gpu: h100, argv: "--enable-prompt-embeds --kv-sharing-fast-prefill",
		says: []string{"Model Runner V2 does not yet support prompt embeds, KV sharing fast prefill; using the V1 model runner instead."},
	},
	{
		name: "connector without a role", version: "0.24.0", config: llama, gpu: h100, argv: `--kv-transfer-config {"kv_connector":"NixlConnector"}`,
		refuse: "parse argument --kv-transfer-config: 1 validation error for KVTransferConfig",
	},
	{
		name: "unknown speculative method", version: "0.24.0", config: llama, gpu: h100, argv: `--speculative-config {"method":"giraffe","num_speculative_tokens":3}`,
		refuse: "create_engine_config ValidationError: 1 validation error for SpeculativeConfig\nmethod\n  Input should be 'ngram', 'medusa'",
	},
	{
		name: "draft that nothing implements", version: "0.24.0", config: llama, gpu: h100, argv: `--speculative-config {"method":"eagle","model":"draft","num_speculative_tokens":3}`,
		draft:  `{"architectures": ["LlamaForCausalLMEagle"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 1}`,
		refuse: "create_engine_config ValidationError: 1 validation error for SpeculativeConfig\n  Value error, Model architectures ['LlamaForCausalLMEagle'] are not supported for now.",
	},
	{
		name: "draft with other words", version: "0.24.0", config: llama, gpu: h100, argv: `--speculative-config {"model":"draft","num_speculative_tokens":3}`, draft: mistral,
		refuse: "create_engine_config ValidationError: 1 validation error for SpeculativeConfig\n  Value error, Target and draft model should have the same vocabulary size. Target model vocab_size=128256.",
	},
	{
		name: "load balanced outside", version: "0.24.0", config: llama, gpu: h100, argv: "-dp 2 --data-parallel-external-lb",
		refuse: "create_engine_config ValueError: Non-MoE models do not support external data parallel mode.",
	},
	{
		name: "operators added to a list", version: "0.24.0", config: llama, gpu: h100, argv: "-cc.custom_ops+ +rms_norm,+silu_and_mul",
		want: map[string]any{"compilation.custom_ops": []any{"+rms_norm", "+silu_and_mul", "none"}, "pass.fuse_norm_quant": true},
	},
	{
		name: "method that reads the checkpoint", version: "0.24.0", config: llama, gpu: h100, argv: "--quantization torchao",
		refuse: "create_engine_config TypeError: TorchAOConfig.__init__() missing 1 required positional argument: 'torchao_config'",
	},
	{
		name: "a pass that is gone", version: "0.32.0", config: llama, gpu: h100, argv: `--compilation-config {"pass_config":{"enable_sp":true}}`,
		refuse: "parse argument --compilation-config/-cc: 1 validation error for CompilationConfig\npass_config.enable_sp\n  Unexpected keyword argument",
	},
	{
		name: "the write to the cache is fused", version: "0.24.0", config: llama, gpu: h100, argv: "-cc.use_inductor_graph_partition true",
		says: []string{"Enabled custom fusions: rope_kvcache_cat_mla"},
	},
	{
		name: "draft models are not there yet", version: "0.11.2", config: llama, gpu: h100, draft: llama, argv: `--speculative-config {"model":"draft","num_speculative_tokens":3}`,
		refuse: "create_engine_config NotImplementedError: Speculative decoding with draft model is not supported yet.",
	},
	{
		name: "draft models need their name", version: "0.16.0", config: llama, gpu: h100, draft: llama, argv: `--speculative-config {"model":"draft","num_speculative_tokens":3}`,
		refuse: "create_engine_config NotImplementedError: Unsupported speculative method: 'None'",
	},
	{
		name: "sizes as a list", version: "0.16.0", config: llama, gpu: h100, argv: "--cudagraph-capture-sizes 1 2 4",
		want: map[string]any{"compilation.cudagraph_capture_sizes": []any{1, 2, 4}},
	},
	{
		name: "rotary scaling comes too late", version: "0.16.0", config: llama, gpu: h100,
		argv: `--hf-overrides {"rope_scaling":{"rope_type":"yarn","factor":2.0,"original_max_position_embeddings":8192}}`,
		want: map[string]any{"model.max_model_len": 8192},
	},
	{
		name: "transformers' code cannot be used", version: "0.24.0", config: qwen3Next, gpu: h100, argv: "--model-impl transformers",
		refuse: "create_engine_config ValidationError: 1 validation error for ModelConfig\n  Value error, The Transformers implementation of 'Qwen3NextForCausalLM' is not compatible with vLLM.",
	},
	{
		name: "events without prefix caching", version: "0.24.0", config: llama, gpu: h100, argv: `--no-enable-prefix-caching --kv-events-config {"enable_kv_cache_events":true}`,
		says: []string{"KV cache events are on, but prefix caching is not enabled."},
	},
	{
		name: "misspelt variable", version: "0.24.0", config: llama, gpu: h100, env: map[string]string{"VLLM_GIRAFFE": "1"},
		says: []string{"Unknown vLLM environment variable detected: VLLM_GIRAFFE"},
	},
	{
		name: "sleep mode", version: "0.24.0", config: llama, gpu: h100, argv: "--enable-sleep-mode",
		says: []string{"Enabling cumem allocator because sleep mode requires it."},
	},
	{
		name: "numbers with units", version: "0.24.0", config: llama, gpu: h100, argv: "--max-model-len 4k --max-num-batched-tokens 4K",
		want: map[string]any{"model.max_model_len": 4000, "scheduler.max_num_batched_tokens": 4096},
	},
	{
		name: "no number", version: "0.24.0", config: llama, gpu: h100, argv: "--max-model-len giraffe",
		refuse: "parse argument --max-model-len: invalid human_readable_int_or_auto value: 'giraffe'",
	},
	{
		name: "unknown field of a configuration", version: "0.24.0", config: llama, gpu: h100, argv: `--compilation-config {"giraffe":1}`,
		refuse: "parse argument --compilation-config/-cc: 1 validation error for CompilationConfig",
	},
	{
		name: "broken JSON", version: "0.24.0", config: llama, gpu: h100, argv: `--speculative-config {"method"`,
		refuse: `parse argument --speculative-config/-sc: Value {"method" cannot be converted to <function loads>.`,
	},
	{
		name: "unknown option", version: "0.24.0", config: llama, gpu: h100, argv: "--giraffe",
		refuse: "parse unrecognized arguments: --giraffe",
	},
}

func (d decision) question(t *testing.T) plan.Case {
	t.Helper()
	config := d.config
	if d.changes != "" {
		config = with(t, config, d.changes)
	}
	c := launch(t, d.version, config, d.gpu, strings.Fields(d.argv)...)
	c.Env = d.env
	if d.draft != "" {
		o, err := hfconfig.Decode([]byte(d.draft))
		if err != nil {
			t.Fatal(err)
		}
		c.Drafts = map[string]*hfconfig.Model{"draft": {Name: "draft", Path: "draft", Config: o}}
	}
	return c
}

func TestDecisions(t *testing.T) {
	for _, d := range decisions {
		t.Run(d.name, func(t *testing.T) {
			got := Resolve(d.question(t))
			refused := ""
			if got.Refusal != nil {
				refused = got.Refusal.Stage + " " + got.Refusal.Message
			}
			if d.refuse == "" && refused != "" || !strings.HasPrefix(refused, d.refuse) {
				t.Fatalf("refused with %q, want %q", refused, d.refuse)
			}
			for name, want := range d.want {
				if v := got.Effective[name]; !same(v, want) && fmt.Sprint(v) != fmt.Sprint(want) {
					t.Errorf("%s = %v, want %v", name, v, want)
				}
			}
			for _, id := range d.chosen {
				if !slices.ContainsFunc(got.Choices, func(c plan.Choice) bool { return c.ID == id }) {
					t.Errorf("nothing was chosen by %s", id)
				}
			}
			for _, text := range d.says {
				if !slices.ContainsFunc(got.Lines, func(l plan.Line) bool { return strings.HasPrefix(l.Text, text) }) {
					t.Errorf("no line begins with %q; lines: %v", text, got.Lines)
				}
			}
			for _, c := range got.Choices {
				if c.ID == "" || c.By == "" || c.Because == "" || c.Source == "" {
					t.Errorf("choice of %s without its reason: %+v", c.Setting, c)
				}
			}
		})
	}
}

// TestEveryStepActs runs the launches above step by step: each step of each
// release must change something, print something or refuse in one of them.
func TestEveryStepActs(t *testing.T) {
	acts := map[string]bool{}
	for _, d := range decisions {
		c := d.question(t)
		r := releaseOf(c.Version)
		s, refusal := newState(c, r)
		if refusal != nil {
			continue
		}
		for _, st := range releaseSteps()[r] {
			traces := func() [4]int { return [4]int{len(s.Choices), len(s.Lines), len(s.EnvSet), len(s.later)} }
			before := traces()
			refusal := plan.Run([]plan.Step[*state]{st}, s)
			if refusal != nil || traces() != before {
				acts[st.ID+" "+st.Source] = true
			}
			if refusal != nil {
				break
			}
		}
	}
	for _, st := range Steps() {
		if !acts[st.ID+" "+st.Source] {
			t.Errorf("step %s (%s %s) acts in none of the launches", st.ID, st.Source, st.Versions)
		}
	}
}
