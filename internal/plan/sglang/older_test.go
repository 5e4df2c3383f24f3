package sglang

// olderDecisions are of 0.5.2, 0.5.6 and 0.5.8, which have steps of their own.
var olderDecisions = []decision{
	// 0.5.2
	{
		name: "memory of a large GPU", version: "0.5.2", config: llama, gpu: h100, argv: "--tp 2",
		want: map[string]any{"mem_fraction_static": 0.868, "chunked_prefill_size": 8192, "cuda_graph_max_bs": nil, "attention_backend": "fa3", "page_size": 1,
			"ep_dispatch_algorithm": "static", "disable_chunked_prefix_cache": true, "sampling_backend": "flashinfer", "grammar_backend": "xgrammar"},
		tells:  map[string]any{"model_config.is_hybrid": nil, "model_config.attention_arch": "MHA", "model_config.context_len": 8192},
		chosen: []string{"SGL-MEM-FRACTION", "SGL-MEM-CHUNK", "SGL-ATTN-DEFAULT-001"},
	},
	{
		name: "memory of a small GPU", version: "0.5.2", config: llama, gpu: t4, argv: "--tp 4 --speculative-algorithm STANDALONE --speculative-draft-model-path draft", draft: llama,
		want: map[string]any{"mem_fraction_static": 0.387, "chunked_prefill_size": 2048, "cuda_graph_max_bs": 80, "speculative_num_steps": 3},
	},
	{
		name: "memory of the largest GPU, with data-parallel attention", version: "0.5.2", config: deepSeek, gpu: b200, argv: "--tp 8 --dp 8 --enable-dp-attention",
		want: map[string]any{"mem_fraction_static": 0.799, "chunked_prefill_size": 2048, "attention_backend": "flashinfer"},
	},
	{
		name: "memory for a vision tower", version: "0.5.2", config: qwenVL, gpu: a100, chosen: []string{"SGL-MEM-MULTIMODAL-001"}, want: map[string]any{"attention_backend": "flashinfer"},
	},
	{
		name: "deprecated switches", version: "0.5.2", config: qwenMoE, gpu: h100, argv: "--tp 4 --enable-ep-moe --enable-triton-kernel-moe",
		want: map[string]any{"ep_size": 4, "moe_runner_backend": "triton_kernel"},
		says: []string{"NOTE: --enable-ep-moe is deprecated. Please set `--ep-size` to the same value as `--tp-size` instead.", "NOTE: --enable-triton-kernel-moe"},
	},
	{
		name: "GPT-OSS on SM100", version: "0.5.2", config: gptOss, gpu: b200,
		want: map[string]any{"attention_backend": "trtllm_mha", "moe_runner_backend": "flashinfer_mxfp4", "enable_flashinfer_allreduce_fusion": true, "disable_hybrid_swa_memory": true, "dtype": "bfloat16", "page_size": 64},
		says: []string{"Use trtllm_mha as attention backend for GptOssForCausalLM", "Detected SM100 and MXFP4", "TensorRT-LLM MHA only supports page_size of 16, 32 or 64, changing page_size from None to 64."},
	},
	{
		name: "GPT-OSS elsewhere", version: "0.5.2", config: gptOss, gpu: a100,
		want: map[string]any{"attention_backend": "triton", "moe_runner_backend": "triton_kernel", "enable_flashinfer_allreduce_fusion": nil},
	},
	{
		name: "GPT-OSS with another backend", version: "0.5.2", config: gptOss, gpu: h100, argv: "--attention-backend flashinfer",
		refuse: "resolve AssertionError: GptOssForCausalLM requires one of ['triton', 'trtllm_mha', 'fa3'] attention backend, but got 'flashinfer'",
	},
	{
		name: "GPT-OSS spread over experts", version: "0.5.2", config: gptOss, gpu: h100, argv: "--tp 2 --ep-size 2 --moe-runner-backend triton_kernel",
		refuse: "resolve AssertionError: Triton kernel MoE is only supported when ep_size == 1",
	},
	{
		name: "Llama 4 names no backend", version: "0.5.2", config: llama4, gpu: h100, argv: "--tp 8",
		refuse: "resolve AssertionError: fa3, aiter, or triton is required for Llama4 model",
	},
	{
		name: "Gemma", version: "0.5.2", config: gemma3, gpu: h100,
		want: map[string]any{"disable_hybrid_swa_memory": true}, says: []string{"Disable hybrid SWA memory for Gemma3ForConditionalGeneration", "Multimodal is disabled for gemma3."},
	},
	{
		name: "a named share of memory puts the check of quantisation off", version: "0.5.2", config: llama8, gpu: h100, argv: "--mem-fraction-static 0.8 --quantization awq",
		refuse: "model_config ValueError: Quantization method specified in the model config (fp8) does not match",
	},
	{
		name: "otherwise it is checked at once", version: "0.5.2", config: llama8, gpu: h100, argv: "--quantization awq",
		refuse: "resolve ValueError: Quantization method specified in the model config (fp8) does not match",
	},
	{
		name: "torch's attention", version: "0.5.2", config: llama, gpu: h100, argv: "--attention-backend torch_native",
		want: map[string]any{"disable_cuda_graph": true},
	},
	{
		name: "Ascend's pages", version: "0.5.2", config: llama, gpu: h100, argv: "--attention-backend ascend", want: map[string]any{"page_size": 128},
	},
	{
		name: "pages of latent attention", version: "0.5.2", config: deepSeek, gpu: h100, argv: "--tp 8 --attention-backend flashmla", want: map[string]any{"page_size": 64},
	},
	{
		name: "larger pages of latent attention", version: "0.5.2", config: deepSeek, gpu: b200, argv: "--tp 8 --decode-attention-backend cutlass_mla", want: map[string]any{"page_size": 128},
	},
	{
		name: "TensorRT-LLM's latent attention", version: "0.5.2", config: deepSeek, gpu: b200, argv: "--tp 8 --attention-backend trtllm_mla", want: map[string]any{"page_size": 64},
	},
	{
		name: "TensorRT-LLM's latent attention with e5m2", version: "0.5.2", config: deepSeek, gpu: b200, argv: "--tp 8 --attention-backend trtllm_mla --kv-cache-dtype fp8_e5m2",
		refuse: "resolve ValueError: TensorRT-LLM MLA backend only supports kv-cache-dtype of fp8_e4m3 or auto.",
	},
	{
		name: "TensorRT-LLM's latent attention needs SM100", version: "0.5.2", config: deepSeek, gpu: rtxPro, argv: "--tp 8 --attention-backend trtllm_mla",
		refuse: "resolve ValueError: TRTLLM MLA backend is only supported on Blackwell GPUs (SM100).",
	},
	{
		name: "TensorRT-LLM's attention needs SM100", version: "0.5.2", config: llama, gpu: h100, argv: "--prefill-attention-backend trtllm_mha",
		refuse: "resolve ValueError: TRTLLM MHA backend is only supported on Blackwell GPUs (SM100).",
	},
	{
		name: "dual chunk attention", version: "0.5.2", config: llama, gpu: h100, argv: "--attention-backend dual_chunk_flash_attn",
		want: map[string]any{"disable_radix_cache": true, "disable_cuda_graph": true}, says: []string{"Mixed chunk, radix cache, and cuda graphs are disabled"},
	},
	{
		name: "dual chunk attention by the model", version: "0.5.2", config: llama, gpu: h100, changes: `{"dual_chunk_attention_config": {"chunk_size": 8192}}`,
		want: map[string]any{"attention_backend": "dual_chunk_flash_attn"}, says: []string{"Dual chunk attention is turned on by default."},
	},
	{
		name: "dual chunk attention with another backend", version: "0.5.2", config: llama, gpu: h100, changes: `{"dual_chunk_attention_config": {"chunk_size": 8192}}`, argv: "--attention-backend triton",
		refuse: "model_runner ValueError: Dual chunk attention is enabled, but attention backend is set to triton.",
	},
	{
		name: "latent attention with a backend that lacks it", version: "0.5.2", config: deepSeek, gpu: h100, argv: "--tp 8 --attention-backend torch_native",
		refuse: "model_runner ValueError: Invalid attention backend for MLA: torch_native",
	},
	{
		name: "fa3 and e5m2", version: "0.5.2", config: llama, gpu: h100, argv: "--kv-cache-dtype fp8_e5m2", want: map[string]any{"attention_backend": "triton"},
	},
	{
		name: "flashinfer's experts want NVFP4", version: "0.5.2", config: qwenMoE, gpu: b200, argv: "--moe-runner-backend flashinfer_cutlass --quantization fp8",
		refuse: "resolve AssertionError: modelopt_fp4 quantization is required for Flashinfer MOE",
	},
	{
		name: "TensorRT-LLM's experts want FP8 or NVFP4", version: "0.5.2", config: qwenMoE, gpu: b200, argv: "--moe-runner-backend flashinfer_trtllm",
		refuse: "resolve AssertionError: modelopt_fp4 quantization is required for Flashinfer TRTLLM MoE",
	},
	{
		name: "TensorRT-LLM's experts", version: "0.5.2", config: qwenMoE, gpu: b200, argv: "--moe-runner-backend flashinfer_trtllm --quantization fp8",
		want: map[string]any{"disable_shared_experts_fusion": true},
	},
	{
		name: "DeepEP in normal mode", version: "0.5.2", config: deepSeek, gpu: h100, argv: "--tp 8 --moe-a2a-backend deepep --deepep-mode normal",
		want: map[string]any{"ep_size": 8, "disable_cuda_graph": true}, says: []string{"DeepEP MoE is enabled."},
	},
	{
		name: "Mooncake stores pages", version: "0.5.2", config: llama, gpu: h100, argv: "--enable-hierarchical-cache --hicache-storage-backend mooncake",
		want: map[string]any{"hicache_mem_layout": "page_first"},
	},
	{
		name: "hierarchical cache without prefix cache", version: "0.5.2", config: llama, gpu: h100, argv: "--enable-hierarchical-cache --disable-radix-cache",
		refuse: "resolve ValueError: The arguments enable-hierarchical-cache and disable-radix-cache are mutually exclusive",
	},
	{
		name: "a draft layer of the model's own", version: "0.5.2", config: deepSeek, gpu: h100, argv: "--tp 8 --speculative-algorithm NEXTN",
		want: map[string]any{"speculative_algorithm": "EAGLE", "max_running_requests": 48, "speculative_draft_model_path": "org/m", "speculative_num_steps": 3,
			"speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4, "disable_overlap_schedule": true},
		says: []string{"Overlap scheduler is disabled because of using eagle speculative decoding."},
	},
	{
		name: "a draft of another model", version: "0.5.2", config: glm4MoE, gpu: h100, argv: "--tp 8 --speculative-algorithm EAGLE --speculative-draft-model-path draft --enable-mixed-chunk", draft: llama,
		want: map[string]any{"speculative_num_steps": 5, "speculative_eagle_topk": 4, "speculative_num_draft_tokens": 8},
		says: []string{"DeepSeek MTP does not require", "Mixed chunked prefill is disabled"},
	},
	{
		name: "half of the draft's numbers", version: "0.5.2", config: llama, gpu: h100, argv: "--speculative-algorithm EAGLE --speculative-draft-model-path draft --speculative-eagle-topk 4", draft: llama,
		refuse: "resolve AssertionError: ",
	},
	{
		name: "steps without branches", version: "0.5.2", config: llama, gpu: h100, argv: "--speculative-algorithm EAGLE --speculative-draft-model-path draft --speculative-num-steps 3", draft: llama,
		refuse: "resolve TypeError: '>' not supported between instances of 'NoneType' and 'int'",
	},
	{
		name: "branches and pages", version: "0.5.2", config: llama, gpu: h100, argv: "--speculative-algorithm EAGLE --speculative-draft-model-path draft --page-size 16", draft: llama,
		refuse: "resolve ValueError: speculative_eagle_topk > 1 with page_size > 1 is unstable",
	},
	{
		name: "a draft apart excludes data-parallel attention", version: "0.5.2", config: llama, gpu: h100, argv: "--tp 2 --dp 2 --enable-dp-attention --speculative-algorithm STANDALONE --speculative-draft-model-path draft", draft: llama,
		refuse: "resolve AssertionError: Currently standalone speculative decoding does not support dp attention.",
	},
	{
		name: "a server for prefill", version: "0.5.2", config: llama, gpu: h100, argv: "--tp 2 --disaggregation-mode prefill",
		want: map[string]any{"disable_cuda_graph": true}, says: []string{"Cuda graph is disabled for prefill server"},
	},
	{
		name: "a server for decoding, with several ranks", version: "0.5.2", config: llama, gpu: h100, argv: "--disaggregation-mode decode --dp 2",
		refuse: "resolve AssertionError: Prefill round robin balance is required when dp size > 1.",
	},
	{
		name: "a head of its own for each rank", version: "0.5.2", config: llama, gpu: h100, argv: "--enable-dp-lm-head",
		refuse: "resolve AssertionError: Please enable dp attention when setting enable_dp_lm_head.",
	},
	{
		name: "adapters of all modules", version: "0.5.2", config: llama, gpu: h100, argv: "--enable-lora --max-lora-rank 16 --lora-target-modules all",
		want: map[string]any{"lora_target_modules": []any{"down_proj", "gate_proj", "gate_up_proj", "k_proj", "o_proj", "q_proj", "qkv_proj", "up_proj", "v_proj"}},
	},
	{
		name: "a chunk of broken pages", version: "0.5.2", config: llama, gpu: h100, argv: "--chunked-prefill-size 100 --page-size 64 --disaggregation-mode decode",
		refuse: "check AssertionError: chunked_prefill_size must be divisible by page_size",
	},
	{
		name: "a model type that transformers does not know", version: "0.5.2", config: deepSeekV32, gpu: h100, argv: "--tp 8",
		refuse: "resolve ValueError: The checkpoint you are trying to load has model type `deepseek_v32` but Transformers does not recognize this architecture.",
	},

	// 0.5.6
	{
		name: "an architecture for fa3", version: "0.5.6.post2", config: llama, gpu: h100,
		want: map[string]any{"attention_backend": "fa3", "mem_fraction_static": 0.835, "cuda_graph_max_bs": 256, "piecewise_cuda_graph_tokens": "58 values, 4..4096, sum 71776"},
		says: []string{"Attention backend not explicitly specified. Use fa3 backend by default."},
	},
	{
		name: "an architecture not for fa3", version: "0.5.6.post2", config: mistralEmbedding, gpu: h100, argv: "--is-embedding",
		want: map[string]any{"attention_backend": "flashinfer"}, tells: map[string]any{"model_config.is_generation": false, "model_config.is_hybrid_swa": nil},
	},
	{
		name: "Blackwell without SM100", version: "0.5.6.post2", config: llama, gpu: rtxPro,
		refuse: "resolve ValueError: TRTLLM MHA backend is only supported on Blackwell GPUs (SM100).",
	},
	{
		name: "prefill graphs need memory", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--enable-piecewise-cuda-graph --piecewise-cuda-graph-max-tokens 8192 --chunked-prefill-size 16384",
		want: map[string]any{"mem_fraction_static": 0.659, "piecewise_cuda_graph_tokens": "74 values, 4..8192, sum 172128"},
	},
	{
		name: "fa4 only prefills", version: "0.5.6.post2", config: llama, gpu: b200, argv: "--attention-backend fa4",
		refuse: "resolve ValueError: FA4 backend is only supported for prefill.",
	},
	{
		name: "pages of fa4", version: "0.5.6.post2", config: llama, gpu: b200, argv: "--prefill-attention-backend fa4 --decode-attention-backend triton",
		want: map[string]any{"page_size": 128},
	},
	{
		name: "sparse attention on Hopper", version: "0.5.6.post2", config: deepSeekV32, gpu: h100, argv: "--tp 8",
		want: map[string]any{"attention_backend": "nsa", "page_size": 64, "kv_cache_dtype": "bfloat16"},
		says: []string{"Set nsa attention backend for DeepSeek NSA.", "DP attention is enabled for DeepSeek NSA.", "NSA with TP mode is active, dp_size=1, tp_size=8", "Setting page size to 64 for DeepSeek NSA.", "Setting KV cache dtype to bfloat16 for DeepSeek NSA."},
	},
	{
		name: "sparse attention on Blackwell", version: "0.5.6.post2", config: deepSeekV32, gpu: b200, argv: "--tp 8",
		want: map[string]any{"kv_cache_dtype": "fp8_e4m3", "nsa_prefill_backend": "flashmla_auto", "nsa_decode_backend": "flashmla_kv", "moe_runner_backend": "flashinfer_trtllm"},
		says: []string{"Setting NSA backend to flashmla_auto for prefill and flashmla_kv for decode for FP8 KV Cache."},
	},
	{
		name: "context parallel prefill", version: "0.5.6.post2", config: deepSeekV32, gpu: h100, argv: "--tp 8 --enable-nsa-prefill-context-parallel",
		want: map[string]any{"moe_a2a_backend": "deepep", "ep_size": 8, "kv_cache_dtype": "bfloat16", "moe_dense_tp_size": 1},
	},
	{
		name: "context parallel prefill on four GPUs", version: "0.5.6.post2", config: deepSeekV32, gpu: h100, argv: "--tp 4 --enable-nsa-prefill-context-parallel",
		refuse: "resolve AssertionError: Current multi-machine CP support suffers from precision issues.",
	},
	{
		name: "sparse attention and e5m2", version: "0.5.6.post2", config: deepSeekV32, gpu: h100, argv: "--tp 8 --kv-cache-dtype fp8_e5m2",
		refuse: "resolve AssertionError: DeepSeek NSA only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype",
	},
	{
		name: "fused all-reduce of DeepSeek", version: "0.5.6.post2", config: deepSeek, gpu: b200, argv: "--tp 8",
		want: map[string]any{"enable_flashinfer_allreduce_fusion": true, "attention_backend": "trtllm_mla", "quantization": "fp8", "moe_runner_backend": "flashinfer_trtllm"},
		says: []string{"Enable FlashInfer AllReduce Fusion on sm100 for DeepseekV3ForCausalLM"},
	},
	{
		name: "TensorRT-LLM's latent attention and BF16", version: "0.5.6.post2", config: deepSeek, gpu: b200, argv: "--tp 8 --kv-cache-dtype bf16",
		refuse: "resolve ValueError: TensorRT-LLM MLA backend only supports kv-cache-dtype of fp8_e4m3, fp4_e2m1, or auto.",
	},
	{
		name: "GPT-OSS", version: "0.5.6.post2", config: gptOss, gpu: rtxPro,
		want: map[string]any{"attention_backend": "triton", "enable_flashinfer_allreduce_fusion": true, "disable_hybrid_swa_memory": true, "moe_runner_backend": "flashinfer_mxfp4"},
	},
	{
		name: "TensorRT-LLM's experts", version: "0.5.6.post2", config: glm4MoE, gpu: b200, argv: "--tp 8 --moe-runner-backend flashinfer_trtllm",
		refuse: "resolve AssertionError: modelopt_fp4, modelopt_fp8 or fp8 quantization is required for Flashinfer TRTLLM MoE",
	},
	{
		name: "experts of an unquantised Qwen", version: "0.5.6.post2", config: qwenMoE, gpu: b200, changes: `{"quantization_config": null}`, argv: "--tp 2",
		want: map[string]any{"moe_runner_backend": "auto"},
	},
	{
		name: "hierarchical cache decodes with flashinfer", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--enable-hierarchical-cache",
		want: map[string]any{"decode_attention_backend": "flashinfer"}, chosen: []string{"SGL-HICACHE-DECODE"},
	},
	{
		name: "hierarchical cache of latent attention", version: "0.5.6.post2", config: deepSeek, gpu: h100, argv: "--tp 8 --enable-hierarchical-cache",
		want: map[string]any{"decode_attention_backend": "triton"},
	},
	{
		name: "hierarchical cache and fa3", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--enable-hierarchical-cache --decode-attention-backend fa3",
		want: map[string]any{"hicache_io_backend": "direct"}, says: []string{"FlashAttention3 decode backend is not compatible with hierarchical cache."},
	},
	{
		name: "direct pages", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--enable-hierarchical-cache --hicache-mem-layout page_first_direct",
		want: map[string]any{"hicache_io_backend": "direct"}, says: []string{"Page first direct layout only support direct io backend"},
	},
	{
		name: "speculation", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--speculative-algorithm EAGLE3 --speculative-draft-model-path draft", draft: llama,
		want: map[string]any{"disable_overlap_schedule": true, "speculative_num_steps": 5},
		says: []string{"Overlap scheduler is disabled because of using eagle3 or standalone speculative decoding."},
	},
	{
		name: "overlapping speculation", version: "0.5.6.post2", config: deepSeek, gpu: h100, argv: "--tp 8 --speculative-algorithm EAGLE", env: map[string]string{"SGLANG_ENABLE_SPEC_V2": "1"},
		want: map[string]any{"disable_overlap_schedule": false}, says: []string{"Beta spec is enabled for eagle speculative decoding"},
	},
	{
		name: "overlapping speculation and a cache out of the GPU", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--disaggregation-mode decode --disaggregation-decode-enable-offload-kvcache",
		env: map[string]string{"SGLANG_ENABLE_SPEC_V2": "1"}, refuse: "resolve ValueError: Spec v2 and decode offload kv cache are incompatible",
	},
	{
		name: "labels without a header", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--tokenizer-metrics-allowed-custom-labels a b --tokenizer-metrics-custom-labels-header=",
		refuse: "resolve ValueError: Please set --tokenizer-metrics-custom-labels-header",
	},
	{
		name: "metrics to a file without a folder", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--export-metrics-to-file",
		refuse: "resolve ValueError: --export-metrics-to-file-dir is required",
	},
	{
		name: "a diffusion language model", version: "0.5.6.post2", config: llama, gpu: h100, argv: "--dllm-algorithm LowConfidence",
		want: map[string]any{"cuda_graph_bs": []any{1}, "attention_backend": "flashinfer", "disable_overlap_schedule": true, "disable_radix_cache": true},
		says: []string{"Cuda graph bs is set to [1]"},
	},
	{
		name: "prefix cache of recurrent layers", version: "0.5.6.post2", config: falcon, gpu: h100,
		want: map[string]any{"disable_overlap_schedule": true}, says: []string{"Disabling overlap schedule since MambaRadixCache"},
	},
	{
		name: "prefix cache of Qwen's recurrent layers on SM100", version: "0.5.6.post2", config: qwen3Next, gpu: b200, argv: "--tp 4 --attention-backend trtllm_mha",
		want: map[string]any{"disable_radix_cache": true, "disable_overlap_schedule": false},
	},
	{
		name: "cuDNN and vision", version: "0.5.6.post2", config: qwenVL, gpu: a100, refuse: "check RuntimeError: CRITICAL WARNING: PyTorch 2.9.1 & CuDNN",
	},
	{
		name: "cuDNN and vision, unchecked", version: "0.5.6.post2", config: qwenVL, gpu: a100, env: map[string]string{"SGLANG_DISABLE_CUDNN_CHECK": "1"},
		tells: map[string]any{"model_config.is_multimodal": true},
	},

	// 0.5.8
	{
		name: "Kimi Linear", version: "0.5.8", config: llama, changes: `{"architectures": ["KimiLinearForCausalLM"]}`, gpu: h100,
		want: map[string]any{"disable_radix_cache": true}, says: []string{"Disabling Radix Cache for KimiLinearForCausalLM"},
	},
	{
		name: "buffers of GLM", version: "0.5.8.post1", config: glm4MoE, gpu: h100, argv: "--tp 8",
		want: map[string]any{"disable_overlap_schedule": true}, says: []string{"Disabling overlap schedule since MambaRadixCache no_buffer"},
	},
	{
		name: "recurrent layers on SM100", version: "0.5.8.post1", config: falcon, gpu: b200,
		want: map[string]any{"attention_backend": "triton", "disable_overlap_schedule": true},
	},
	{
		name: "a second buffer", version: "0.5.8.post1", config: falcon, gpu: h100, argv: "--mamba-scheduler-strategy extra_buffer",
		refuse: "resolve AssertionError: mamba extra_buffer is not supported for FalconH1ForCausalLM model",
	},
	{
		name: "GPT-OSS and speculation", version: "0.5.8.post1", config: gptOss, gpu: h100, argv: "--speculative-algorithm EAGLE3 --speculative-draft-model-path draft", draft: llama,
		want: map[string]any{"disable_hybrid_swa_memory": true}, says: []string{"Disable hybrid SWA memory for GPT-OSS model with speculative decoding."},
	},
	{
		name: "sparse attention on Blackwell", version: "0.5.8.post1", config: deepSeekV32, gpu: b200, argv: "--tp 8",
		want: map[string]any{"nsa_prefill_backend": "flashmla_auto"}, says: []string{"Setting DSA backend to flashmla_auto", "Setting page size to 64 for DeepSeek DSA."},
	},
}
