package sglang

import (
	"slices"
	"strings"
	"testing"

	"shakedown/internal/flags"
	"shakedown/internal/plan"
)

// Further small checkpoints of the kinds that later releases tell apart.
const (
	gemma4 = `{"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "dtype": "bfloat16", "text_config": {"model_type": "gemma4_text", "hidden_size": 5376,
		"num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 256, "num_hidden_layers": 60, "sliding_window": 1024, "max_position_embeddings": 262144},
		"vision_config": {"model_type": "gemma4_vision", "hidden_size": 1152, "num_hidden_layers": 27}}`
	granite = `{"architectures": ["GraniteMoeHybridForCausalLM"], "model_type": "granitemoehybrid", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
		"num_hidden_layers": 4, "layer_types": ["mamba", "attention", "mamba", "mamba"], "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1,
		"mamba_d_conv": 4, "mamba_chunk_size": 256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}`
	step3 = `{"architectures": ["Step3p5ForCausalLM"], "model_type": "step3p5", "hidden_size": 4096, "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128,
		"num_hidden_layers": 45, "max_position_embeddings": 262144, "torch_dtype": "bfloat16"}`
	olmo3 = `{"architectures": ["Olmo3ForCausalLM"], "model_type": "olmo3", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32, "num_hidden_layers": 4,
		"sliding_window": 4096, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"], "max_position_embeddings": 65536, "torch_dtype": "bfloat16"}`
	qwen3VL = `{"architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 4096, "head_dim": 128,
		"num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 36, "max_position_embeddings": 262144, "dtype": "bfloat16"},
		"vision_config": {"model_type": "qwen3_vl", "depth": 27, "hidden_size": 1152}}`
	exaone = `{"architectures": ["Exaone4ForCausalLM"], "model_type": "exaone4", "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
		"num_hidden_layers": 4, "sliding_window": 4096, "sliding_window_pattern": "LLLG", "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}`
	mimo = `{"architectures": ["MiMoV2FlashForCausalLM"], "model_type": "mimo_v2_flash", "hidden_size": 4096, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192,
		"v_head_dim": 128, "num_hidden_layers": 48, "hybrid_layer_pattern": [0, 1], "n_routed_experts": 256, "max_position_embeddings": 262144, "torch_dtype": "bfloat16",
		"auto_map": {"AutoConfig": "c.C"}, "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`
	qwenDense = `{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 2560, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
		"num_hidden_layers": 36, "max_position_embeddings": 40960, "torch_dtype": "bfloat16"}`
	miniMax = `{"architectures": ["MiniMaxM2ForCausalLM"], "model_type": "minimax_m2", "hidden_size": 3072, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128,
		"num_hidden_layers": 62, "num_local_experts": 256, "max_position_embeddings": 196608, "torch_dtype": "bfloat16", "auto_map": {"AutoConfig": "c.C"}}`
)

// laterDecisions are decisions of releases from 0.5.10 on.
var laterDecisions = []decision{
	// what models declare
	{
		name: "GLM-4 on SM100", version: "0.5.23", config: glm4MoE, gpu: b200, argv: "--tp 8",
		want:   map[string]any{"moe_runner_backend": "flashinfer_trtllm", "enable_tf32_matmul": true, "disable_shared_experts_fusion": true, "flashinfer_allreduce_fusion_backend": "auto"},
		chosen: []string{"SGL-MOE-RUNNER-001", "SGL-GEMM-TF32-001", "SGL-MOE-FUSION-001", "SGL-COMM-FUSION-001"},
	},
	{
		name: "MiniMax", version: "0.5.18", config: miniMax, gpu: h100, argv: "--tp 4 --trust-remote-code", want: map[string]any{"enable_tf32_matmul": true},
		says: []string{"Enable TF32 matmul for MiniMaxM2ForCausalLM"},
	},
	{
		name: "remote code that nobody trusts", version: "0.5.18", config: miniMax, changes: `{"model_type": "unheard_of"}`, gpu: h100,
		refuse: "resolve ValueError: The repository org/m contains custom code",
	},
	{
		name: "Llama 4 on SM100", version: "0.5.18", config: llama4, gpu: b200, argv: "--tp 8 --quantization fp8",
		want: map[string]any{"attention_backend": "trtllm_mha", "page_size": 64, "moe_runner_backend": "flashinfer_trtllm"},
	},
	{
		name: "Llama 4 with a backend it lacks", version: "0.5.18", config: llama4, gpu: h100, argv: "--tp 8 --attention-backend flashinfer",
		refuse: "resolve AssertionError: fa3, aiter, triton, ascend, trtllm_mha or intel_xpu is required for Llama4 model but got flashinfer",
	},
	{
		name: "Gemma 3", version: "0.5.15.post1", config: gemma3, gpu: h100, want: map[string]any{"disable_hybrid_swa_memory": true}, chosen: []string{"SGL-KV-SWA-001"},
	},
	{
		name: "Gemma 4 on SM100", version: "0.5.18", config: gemma4, gpu: b200, want: map[string]any{"attention_backend": "trtllm_mha", "page_size": 64},
		says: []string{"Use trtllm_mha as default attention backend for Gemma4"},
	},
	{
		name: "Gemma 4 with a backend it lacks", version: "0.5.23", config: gemma4, gpu: h100, argv: "--attention-backend fa3",
		refuse: "resolve AssertionError: Gemma4 only supports trtllm_mha, triton, fa4, ascend, intel_xpu, intel_amx, or aiter attention backend",
	},
	{
		name: "OLMo 3 runs as OLMo 2", version: "0.5.18", config: olmo3, gpu: a100, want: map[string]any{"attention_backend": "fa3", "disable_hybrid_swa_memory": true},
		says: []string{"Using fa3 as attention backend for Olmo2ForCausalLM."},
	},
	{
		name: "OLMo with flashinfer", version: "0.5.18", config: olmo3, gpu: a100, argv: "--attention-backend flashinfer",
		refuse: "resolve AssertionError: FlashInfer backend can significantly degrade the performance of Olmo3 models.",
	},
	{
		name: "Granite's hybrid on SM100", version: "0.5.18", config: granite, gpu: b200, want: map[string]any{"attention_backend": "flashinfer"},
	},
	{
		name: "Nemotron-H on SM100", version: "0.5.18", config: nemotron, gpu: b200, want: map[string]any{"attention_backend": "flashinfer", "moe_runner_backend": "flashinfer_trtllm"},
	},
	{
		name: "Nemotron-H on SM100, later", version: "0.5.23", config: nemotron, gpu: b200, want: map[string]any{"attention_backend": "trtllm_mha"},
	},
	{
		name: "Nemotron-H with triton", version: "0.5.18", config: nemotron, gpu: h100, argv: "--attention-backend triton",
		refuse: "resolve AssertionError: NemotronHForCausalLM does not support triton attention backend",
	},
	{
		name: "Step 3.5", version: "0.5.18", config: step3, gpu: h100, argv: "--trust-remote-code", want: map[string]any{"attention_backend": "fa3"},
	},
	{
		name: "GPT-OSS on SM120", version: "0.5.15.post1", config: gptOss, gpu: rtxPro, want: map[string]any{"moe_runner_backend": "marlin", "dtype": "bfloat16", "attention_backend": "triton"},
	},
	{
		name: "GPT-OSS on SM120, later", version: "0.5.18", config: gptOss, gpu: rtxPro, want: map[string]any{"moe_runner_backend": "flashinfer_mxfp4"}, chosen: []string{"SGL-MOE-GPTOSS-005"},
	},
	{
		name: "GPT-OSS with a backend it lacks", version: "0.5.18", config: gptOss, gpu: h100, argv: "--attention-backend flashinfer",
		refuse: "resolve AssertionError: GptOssForCausalLM requires one of",
	},
	{
		name: "windows of some layers", version: "0.5.18", config: gptOss, gpu: h100, says: []string{"Hybrid SWA model detected. architectures=['GptOssForCausalLM']"},
	},
	{
		name: "a hybrid on SM100 keeps prefixes with triton", version: "0.5.12.post1", config: qwen3Next, gpu: b200, want: map[string]any{"attention_backend": "triton"},
	},
	{
		name: "a hybrid on SM100 without prefixes", version: "0.5.18", config: qwen3Next, gpu: b200, argv: "--disable-radix-cache",
		want: map[string]any{"attention_backend": "trtllm_mha", "page_size": 64},
	},
	// sparse attention
	{
		name: "GLM-5 on SM120 takes an FP8 KV cache", version: "0.5.23", config: glmDSA, gpu: rtxPro, argv: "--tp 8",
		want: map[string]any{"kv_cache_dtype": "fp8_e4m3", "page_size": 64, "attention_backend": "dsa", "dsa_prefill_backend": "flashinfer_sparse_mla", "dsa_decode_backend": "flashinfer_sparse_mla"},
		says: []string{"DSA with TP mode is active, attn_dp_size=1, tp_size=8, attn_tp_size=8", "Setting KV cache dtype to fp8_e4m3 for DeepSeek DSA on SM12 device."},
	},
	{
		name: "sparse attention in bfloat16 on Hopper", version: "0.5.18", config: deepSeekV32, gpu: h100, argv: "--tp 8",
		want: map[string]any{"kv_cache_dtype": "bfloat16", "dsa_prefill_backend": "flashmla_sparse", "dsa_decode_backend": "fa3"},
	},
	{
		name: "TileLang with an FP8 KV cache", version: "0.5.18", config: deepSeekV32, gpu: b200, argv: "--tp 8 --dsa-prefill-backend tilelang",
		refuse: "resolve ValueError: The tilelang DSA prefill/decode kernels only support",
	},
	{
		name: "TileLang for one half", version: "0.5.23", config: deepSeekV32, gpu: b200, argv: "--tp 8 --dsa-prefill-backend tilelang",
		refuse: "resolve ValueError: CUDA TileLang FP8 KV requires both DSA backends to be tilelang",
	},
	{
		name: "triton for sparse attention is AMD's", version: "0.5.23", config: deepSeekV32, gpu: h100, argv: "--tp 8 --dsa-decode-backend triton",
		refuse: "resolve ValueError: The triton DSA backend is only supported on ROCm/HIP.",
	},
	{
		name: "sparse attention on AMD GPUs", version: "0.5.23", config: glmDSA, gpu: mi300x, argv: "--tp 8",
		want: map[string]any{"page_size": 1, "dsa_prefill_backend": "triton", "dsa_decode_backend": "triton", "enable_aiter_allreduce_fusion": true, "disable_aiter_allreduce_fusion_in_prefill": true},
	},
	{
		name: "context parallel prefill, zigzag", version: "0.5.18", config: deepSeekV32, gpu: h100, argv: "--tp 8 --enable-prefill-cp --cp-strategy zigzag",
		want:   map[string]any{"attn_cp_size": 8, "moe_a2a_backend": "deepep", "ep_size": 8, "moe_dense_tp_size": 1},
		chosen: []string{"SGL-DSA-CP-002"},
	},
	{
		name: "context parallel prefill, zigzag, later", version: "0.5.23", config: deepSeekV32, gpu: h100, argv: "--tp 8 --enable-prefill-cp --cp-strategy zigzag",
		refuse: "resolve ValueError: DeepSeek V3.2 prefill CP does not support --cp-strategy zigzag; use interleave.",
	},
	{
		name: "context parallel prefill of MLA", version: "0.5.23", config: deepSeek, gpu: h100, argv: "--tp 8 --enable-prefill-cp --cp-strategy zigzag",
		want: map[string]any{"attn_cp_size": 8, "moe_a2a_backend": "deepep", "ep_size": 8},
	},
	{
		name: "context parallel prefill without a strategy", version: "0.5.23", config: llama, gpu: h100, argv: "--tp 2 --enable-prefill-cp",
		refuse: "resolve ValueError: --cp-strategy must be set when --enable-prefill-cp is enabled.",
	},
	// CUDA graphs by phase
	{
		name: "graphs by phase", version: "0.5.18", config: llama, gpu: h100, argv: "--cuda-graph-backend-prefill full --cuda-graph-max-bs-decode 16",
		want: map[string]any{"cuda_graph_config": map[string]any{
			"decode": map[string]any{"backend": "full", "max_bs": 16, "bs": []any{1, 2, 4, 8, 12, 16}, "tc_compiler": "eager", "full_prefill_max_req": nil, "full_prefill_prefix_chunk_tokens": nil},
			"prefill": map[string]any{"backend": "full", "max_bs": 8192, "bs": "58 values, 4..8192, sum 95328", "tc_compiler": "eager", "full_prefill_max_req": nil,
				"full_prefill_prefix_chunk_tokens": nil},
		}},
		says: []string{"cuda_graph_config[prefill].backend='full' is experimental. Use breakable or tc_piecewise"},
	},
	{
		name: "no graphs of prefill with multimodal models", version: "0.5.23", config: qwenVL, gpu: h100,
		says: []string{"Breakable CUDA graph is incompatible with multimodal model; disabling prefill CUDA graph."},
	},
	{
		name: "no graphs of prefill for DeepSeek V3 with trtllm_mla", version: "0.5.23", config: deepSeek, gpu: b200, argv: "--tp 8", want: map[string]any{"attention_backend": "trtllm_mla"},
		chosen: []string{"SGL-GRAPH-PREFILL-004"},
	},
	{
		name: "graphs with DeepEP", version: "0.5.18", config: qwenMoE, gpu: h100, argv: "--tp 4 --moe-a2a-backend deepep", want: map[string]any{"ep_size": 4},
		says: []string{"Breakable prefill CUDA graph with DeepEP requires bucket sizes divisible by 8", "deepep MoE is enabled. The expert parallel size is adjusted from 1 to the tensor parallel size [4]."},
	},
	{
		name: "pipeline stages capture no prefill", version: "0.5.23", config: llama, gpu: h100, argv: "--pp-size 2", want: map[string]any{"disable_overlap_schedule": true},
		says: []string{"Disabling breakable prefill CUDA graph by default for pipeline parallelism."},
	},
	{
		name: "a prefill server captures no decoding", version: "0.5.18", config: llama, gpu: h100, argv: "--disaggregation-mode prefill", chosen: []string{"SGL-GRAPH-PD-001"},
		silent: []string{"Cuda graph is disabled"},
	},
	// data parallelism
	{
		name: "attention's own data parallelism", version: "0.5.23", config: deepSeek, gpu: h100, argv: "--tp 8 --dp 4 --enable-dp-attention",
		want:   map[string]any{"attn_dp_size": 4, "dp_size": 1, "enable_dp_attention": false, "chunked_prefill_size": 2048},
		chosen: []string{"SGL-DP-NAMES", "SGL-CHUNK-DP-001"}, says: []string{"DP attention is enabled. chunked prefill size is adjusted from 8192 to 2048."},
	},
	{
		name: "replicas of parallel attention", version: "0.5.23", config: llama, gpu: h100, argv: "--tp 2 --dp 2 --attn-dp-size 2",
		refuse: "resolve ValueError: --dp-size 2 with --attn-dp-size 2: data-parallel replicas combined with attention data parallelism are not supported.",
	},
	{
		name: "the output layer's parallelism needs attention's", version: "0.5.23", config: llama, gpu: h100, argv: "--tp 2 --enable-tp-lm-head-all-to-all",
		refuse: "resolve AssertionError: --enable-tp-lm-head-all-to-all requires attention DP (--attn-dp-size).",
	},
	{
		name: "NCCL registers no buffers of graphs", version: "0.5.23", config: llama, gpu: h100, argv: "--tp 2", env: map[string]string{"NCCL_GRAPH_REGISTER": "1"},
		says: []string{"NCCL_GRAPH_REGISTER=1 was set explicitly"},
	},
	// experts
	{
		name: "Mega MoE by its old name", version: "0.5.18", config: qwenMoE, gpu: b200, argv: "--tp 4 --moe-runner-backend megamoe --moe-a2a-backend nixl",
		want: map[string]any{"moe_a2a_backend": "megamoe", "moe_runner_backend": "auto", "ep_size": 4}, says: []string{"--moe-runner-backend megamoe is an alias"},
	},
	{
		name: "Mega MoE where its kernels do not run", version: "0.5.23", config: qwenMoE, gpu: a100, argv: "--tp 4 --moe-a2a-backend megamoe",
		refuse: "resolve ValueError: --moe-a2a-backend megamoe needs a CUDA SM90 GPU",
	},
	{
		name: "Mega MoE's buffers", version: "0.5.23", config: qwenMoE, gpu: h100, argv: "--tp 4 --moe-a2a-backend megamoe",
		refuse: "resolve ValueError: Qwen3MoeForCausalLM with MegaMoE requires SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK",
	},
	{
		name: "flashinfer's all-to-all", version: "0.5.23", config: qwenMoE, gpu: b200, argv: "--tp 4 --attn-dp-size 4 --moe-a2a-backend flashinfer --moe-runner-backend flashinfer_trtllm",
		want: map[string]any{"disable_shared_experts_fusion": true, "ep_size": 4},
	},
	{
		name: "flashinfer's all-to-all without parallel attention", version: "0.5.23", config: qwenMoE, gpu: b200, argv: "--tp 4 --moe-a2a-backend flashinfer",
		refuse: "resolve AssertionError: Flashinfer MoE A2A requires --attn-dp-size equal to --tp-size",
	},
	{
		name: "FlashInfer's MegaMOE needs FP4", version: "0.5.23", config: qwenMoE, gpu: b200, argv: "--tp 4 --attn-dp-size 4 --moe-a2a-backend flashinfer_megamoe",
		refuse: "resolve ValueError: FlashInfer MegaMOE currently supports only MXFP8",
	},
	{
		name: "DeepEP v2", version: "0.5.23", config: qwenMoE, gpu: h100, argv: "--tp 4 --moe-a2a-backend deepep_v2", want: map[string]any{"moe_runner_backend": "deep_gemm", "disable_shared_experts_fusion": true},
	},
	{
		name: "DeepEP v2 with other kernels", version: "0.5.23", config: qwenMoE, gpu: h100, argv: "--tp 4 --moe-a2a-backend deepep_v2 --moe-runner-backend triton",
		refuse: "resolve ValueError: DeepEP v2 MoE currently supports only --moe-runner-backend deep_gemm.",
	},
	{
		name: "pplx wants parallel attention", version: "0.5.18", config: qwenMoE, gpu: h100, argv: "--tp 4 --moe-a2a-backend pplx",
		refuse: "resolve AssertionError: moe_a2a_backend='pplx' requires --enable-dp-attention",
	},
	{
		name: "Waterfill", version: "0.5.18", config: deepSeek, gpu: h100, argv: "--tp 8 --enable-waterfill --disable-shared-experts-fusion",
		want: map[string]any{"moe_a2a_backend": "deepep", "disable_shared_experts_fusion": false, "enforce_shared_experts_fusion": true},
	},
	{
		name: "CuteDSL with DeepEP", version: "0.5.18", config: deepSeek, quant: nvfp4, changes: `{"quantization_config": null}`, gpu: b200, argv: "--tp 8 --quantization modelopt_fp4 --moe-a2a-backend deepep --moe-runner-backend flashinfer_cutedsl",
		want: map[string]any{"deepep_mode": "low_latency"},
	},
	{
		name: "MXFP8 experts", version: "0.5.18", config: qwenMoE, changes: `{"quantization_config": null}`, gpu: b200, argv: "--quantization mxfp8 --moe-runner-backend triton",
		want: map[string]any{"moe_runner_backend": "flashinfer_trtllm"}, says: []string{"mxfp8 quantization supports only cutlass, deep_gemm, flashinfer_trtllm, flashinfer_trtllm_routed backends. Overriding 'triton'."},
	},
	{
		name: "balanced experts without all-to-all", version: "0.5.18", config: qwenMoE, gpu: h100, argv: "--tp 4 --ep-size 4 --enable-eplb", want: map[string]any{"ep_dispatch_algorithm": "dynamic"},
	},
	{
		name: "experts with adapters", version: "0.5.23", config: qwenMoE, gpu: h100, argv: "--moe-runner-backend lora_triton",
		refuse: "check ValueError: --moe-runner-backend lora_triton requires --enable-lora (or --lora-paths)",
	},
	// attention
	{
		name: "trtllm_mha needs newer GPUs", version: "0.5.23", config: llama, gpu: a100, argv: "--attention-backend trtllm_mha",
		refuse: "resolve ValueError: TRTLLM MHA backend for prefill requires Hopper (SM90), Blackwell (SM100), or SM120 GPUs.",
	},
	{
		name: "trtllm_mha on SM120 without FP8", version: "0.5.23", config: llama, gpu: rtxPro, argv: "--attention-backend trtllm_mha --kv-cache-dtype fp8_e4m3",
		refuse: "resolve ValueError: TRTLLM FMHAv2 prefill on SM120 does not support fp8_e4m3 KV cache or skip-softmax.",
	},
	{
		name: "trtllm_mha's pages", version: "0.5.18", config: llama, gpu: b200, want: map[string]any{"attention_backend": "trtllm_mha", "page_size": 64},
		says: []string{"TensorRT-LLM MHA only supports page_size of 16, 32, 64 or 128, changing page_size from None to 64."},
	},
	{
		name: "CuteDSL only decodes", version: "0.5.18", config: deepSeek, gpu: b200, argv: "--tp 8 --decode-attention-backend cutedsl_mla",
		want: map[string]any{"prefill_attention_backend": "trtllm_mla", "page_size": 64}, chosen: []string{"SGL-ATTN-CUTEDSL"},
	},
	{
		name: "CuteDSL before SM100", version: "0.5.18", config: deepSeek, gpu: h100, argv: "--tp 8 --decode-attention-backend cutedsl_mla",
		refuse: "resolve ValueError: CuteDSL MLA backend is only supported on Blackwell GPUs (SM100).",
	},
	{
		name: "an e5m2 KV cache leaves fa3", version: "0.5.18", config: llama, gpu: h100, argv: "--kv-cache-dtype fp8_e5m2", want: map[string]any{"attention_backend": "triton"}, chosen: []string{"SGL-ATTN-FP8-001"},
	},
	{
		name: "an NVFP4 KV cache", version: "0.5.23", config: llama, gpu: rtxPro, argv: "--kv-cache-dtype nvfp4",
		want: map[string]any{"prefill_attention_backend": "flashinfer", "decode_attention_backend": "trtllm_mha"}, chosen: []string{"SGL-KV-NVFP4"},
	},
	{
		name: "an NVFP4 KV cache before Blackwell", version: "0.5.18", config: llama, gpu: h100, argv: "--kv-cache-dtype nvfp4",
		refuse: "resolve RuntimeError: --kv-cache-dtype=nvfp4 requires Blackwell SM100 or SM120.",
	},
	{
		name: "an MXFP8 KV cache before Blackwell", version: "0.5.18", config: llama, gpu: h100, argv: "--kv-cache-dtype mxfp8",
		refuse: "resolve ValueError: --kv-cache-dtype mxfp8 requires an SM100+ (Blackwell) GPU",
	},
	{
		name: "flex attention is not captured", version: "0.5.18", config: llama, gpu: h100, argv: "--attention-backend flex_attention", chosen: []string{"SGL-GRAPH-ATTN-001"},
	},
	// deterministic inference, speculation, disaggregation, memory
	{
		name: "deterministic inference", version: "0.5.18", config: llama, gpu: b200, argv: "--tp 2 --enable-deterministic-inference",
		want:   map[string]any{"attention_backend": "flashinfer", "sampling_backend": "pytorch", "disable_radix_cache": true, "disable_custom_all_reduce": true},
		chosen: []string{"SGL-ATTN-DETERMINISTIC-001", "SGL-RADIX-DETERMINISTIC-001"}, says: []string{"NCCL_ALGO is set to 'allreduce:tree', the NCCL channel count is pinned"},
	},
	{
		name: "deterministic inference with a backend that is not", version: "0.5.18", config: llama, gpu: b200, argv: "--enable-deterministic-inference --attention-backend trtllm_mha",
		refuse: "resolve ValueError: Currently only ['ascend', 'fa3', 'fa4', 'flashinfer', 'triton'] attention backends are supported for deterministic inference",
	},
	{
		name: "speculation with the model's own draft", version: "0.5.23", config: deepSeek, gpu: h100, argv: "--tp 8 --speculative-algorithm NEXTN",
		want: map[string]any{"speculative_algorithm": "EAGLE", "speculative_draft_model_path": "org/m", "max_running_requests": 48},
	},
	{
		name: "n-grams", version: "0.5.18", config: llama, gpu: h100, argv: "--speculative-algorithm NGRAM", want: map[string]any{"speculative_num_draft_tokens": 12, "max_running_requests": 48},
		says: []string{"The mixed chunked prefill are disabled because of using ngram speculative decoding."},
	},
	{
		name: "mixed chunks with speculation", version: "0.5.23", config: deepSeek, gpu: h100, argv: "--tp 8 --speculative-algorithm EAGLE --enable-mixed-chunk", want: map[string]any{"enable_mixed_chunk": true},
	},
	{
		name: "speculation over pipeline stages", version: "0.5.23", config: deepSeek, gpu: h100, argv: "--tp 4 --pp-size 2 --speculative-algorithm EAGLE",
		refuse: "check AssertionError: PP + speculative decoding (MTP) is only supported on prefill nodes",
	},
	{
		name: "a decode server", version: "0.5.23", config: llama, gpu: h100, argv: "--disaggregation-mode decode --max-running-requests 8",
		want: map[string]any{"disable_radix_cache": true, "disaggregation_decode_extra_slots": 16, "load_balance_method": "round_robin"}, says: []string{"Radix cache is disabled for decode server"},
	},
	{
		name: "a decode server that keeps prefixes", version: "0.5.18", config: llama, gpu: h100, argv: "--disaggregation-mode decode --disaggregation-decode-enable-radix-cache",
		want: map[string]any{"disable_radix_cache": false}, chosen: []string{"SGL-PD-SLOTS"}, says: []string{"EXPERIMENTAL: Radix cache is enabled for decode server"},
	},
	{
		name: "decode context parallelism", version: "0.5.23", config: deepSeek, gpu: b200, argv: "--tp 8 --dcp-size 2", want: map[string]any{"dcp_comm_backend": "fi_a2a"}, chosen: []string{"SGL-DCP-COMM"},
	},
	{
		name: "a hierarchical cache without prefixes", version: "0.5.18", config: llama, gpu: h100, argv: "--enable-hierarchical-cache --disable-radix-cache",
		refuse: "resolve ValueError: The arguments enable-hierarchical-cache and disable-radix-cache are mutually exclusive",
	},
	{
		name: "pictures' features by two ways", version: "0.5.18", config: qwenVL, gpu: h100, argv: "--keep-mm-feature-on-device --mm-feature-transport cpu",
		refuse: "resolve ValueError: --keep-mm-feature-on-device conflicts with --mm-feature-transport=cpu.",
	},
	{
		name: "KV cache sized behind the graphs", version: "0.5.18", config: llama, gpu: h100, env: map[string]string{"SGLANG_ENABLE_POST_CAPTURE_KV_SIZING": "1"}, want: map[string]any{"mem_fraction_static": 0.98},
	},
	{
		name: "small GPUs of a later release", version: "0.5.23", config: llama, gpu: spark, want: map[string]any{"chunked_prefill_size": 8192},
	},
	{
		name: "graphs go to the requests that run", version: "0.5.23", config: llama, gpu: h100, argv: "--max-running-requests 16 --disable-prefill-cuda-graph", want: map[string]any{"max_running_requests": 16},
		chosen: []string{"SGL-MEM-GRAPH"},
	},
	{
		name: "Qwen3-VL on large Hopper GPUs", version: "0.5.23", config: qwen3VL, gpu: h100, argv: "--max-running-requests 400",
		want:   map[string]any{"prefill_decode_interval": 22, "radix_eviction_policy": "priority", "decode_attention_backend": "flashinfer", "mm_feature_transport": "cuda_ipc"},
		chosen: []string{"SGL-MM-HOPPER"},
		says: []string{"Expanding multimodal decode CUDA graph max_bs from 256 to max_running_requests=400.",
			"Applying profiled qwen3_vl serving defaults on a large Hopper GPU: {'mm_preprocess_cache_size_mb': 0, 'mm_feature_transport': 'cuda_ipc', 'radix_eviction_policy': 'priority'"},
	},
	{
		name: "EXAONE 4 on SM100", version: "0.5.23", config: exaone, gpu: b200, want: map[string]any{"attention_backend": "trtllm_mha", "disable_hybrid_swa_memory": true},
	},
	{
		name: "EXAONE 4 before it chose a backend", version: "0.5.18", config: exaone, gpu: b200, refuse: "resolve AssertionError: One of the attention backends in",
	},
	{
		name: "MiMo on SM100", version: "0.5.23", config: mimo, gpu: b200, argv: "--tp 4 --trust-remote-code", want: map[string]any{"attention_backend": "fa4", "moe_runner_backend": "flashinfer_trtllm"},
	},
	{
		name: "what layers end in", version: "0.5.23", config: qwenDense, gpu: h100, want: map[string]any{"boundary_reduction": "ar"},
	},
	{
		name: "decode steps between prefills", version: "0.5.23", config: llama, gpu: h100, argv: "--prefill-decode-interval -1", refuse: "resolve ValueError: --prefill-decode-interval must be non-negative.",
	},
	{
		name: "retraction by priorities", version: "0.5.18", config: llama, gpu: h100, argv: "--retraction-policy priority",
		refuse: "check ValueError: --retraction-policy priority requires --enable-priority-scheduling",
	},
	{
		name: "two batches over each other", version: "0.5.23", config: qwenMoE, gpu: h100, argv: "--tp 2 --enable-two-batch-overlap",
		refuse: "check ValueError: When enabling two batch overlap without an EP a2a backend (moe_a2a_backend='none'), attention DP",
	},
}

// TestSettingsExist: a choice is made about settings that the release has.
func TestSettingsExist(t *testing.T) {
	for _, d := range slices.Concat(decisions, olderDecisions, laterDecisions) {
		c := d.launch(t)
		r := Resolve(c)
		table, _ := flags.Lookup("sglang", r.Version)
		settings := plan.Defaults(table)
		for _, choice := range r.Choices {
			if _, ok := settings[choice.Setting]; !ok && !strings.HasPrefix(choice.Setting, graphConfig) {
				t.Errorf("%s %s: %s sets %s", d.version, d.name, choice.ID, choice.Setting)
			}
		}
	}
}
