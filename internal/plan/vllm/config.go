package vllm

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/plan"
)

// configSteps are the decisions of VllmConfig.__post_init__.
var configSteps = []plan.Step[*state]{
	step("VLLM-PERFORMANCE-MODE", ">=0.19", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).performanceMode),
	step("VLLM-MODEL-RULES", "", "vllm/model_executor/models/config.py MODELS_CONFIG_MAP (0.24.0)", (*state).modelRules),
	step("VLLM-MAMBA-MODE", "", "vllm/model_executor/models/config.py MambaModelConfig (0.24.0)", (*state).recurrentState),
	step("VLLM-BLOCK-HYBRID", "<0.24", "vllm/model_executor/models/config.py HybridAttentionMambaModelConfig (0.19.1)", (*state).hybridBlocks),
	step("VLLM-PARALLEL-CHECK", "", "vllm/config/model.py ModelConfig.verify_with_parallel_config (0.24.0)", (*state).parallelChecks),
	step("VLLM-QUANT-SUPPORT", "", "vllm/config/vllm.py VllmConfig._get_quantization_config (0.24.0)", (*state).supportedQuantization),
	step("VLLM-DEEPGEMM-OFF", ">=0.19", "vllm/utils/deep_gemm.py should_auto_disable_deep_gemm (0.24.0)", (*state).deepGEMM),
	step("VLLM-SCHED-ASYNC", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).asyncScheduling),
	step("VLLM-GRAPH-EAGER", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).eager),
	step("VLLM-COMPILE-SWITCH", ">=0.24", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).compilerSwitch),
	step("VLLM-GRAPH-BREAKABLE", ">=0.24", "vllm/config/vllm.py VllmConfig._maybe_enable_breakable_cudagraph (0.32.0)", (*state).breakable),
	step("VLLM-COMPILE-OFF", ">=0.16", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).inductorOff),
	step("VLLM-COMPILE-QUANT", ">=0.16", "vllm/config/vllm.py VllmConfig.__post_init__ has_blocked_weights (0.24.0)", (*state).blockedOp),
	step("VLLM-COMPILE-MODE", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).compileDefault),
	step("VLLM-COMPILE-OPS", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).customOpsDefault),
	step("VLLM-MOE-ALL2ALL-INSIDE", ">=0.32", "vllm/config/kernel.py bind_passthrough_all2all_backend (0.32.0)", (*state).expertsCommunicate),
	step("VLLM-IR-PRIORITY", ">=0.24", "vllm/config/kernel.py KernelConfig.set_platform_defaults (0.24.0)", (*state).irPriorities),
	step("VLLM-OPT-LEVEL", ">=0.16", "vllm/config/vllm.py OPTIMIZATION_LEVEL_TO_CONFIG (0.24.0)", (*state).optimisationLevel),
	step("VLLM-GRAPH-DEFAULT", "<0.16", "vllm/config/vllm.py VllmConfig.__post_init__ (0.11.2)", (*state).graphDefault),
	step("VLLM-GRAPH-COMPILE-MODE", ">=0.16", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).graphsNeedCompiler),
	step("VLLM-SP", ">=0.16", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).sequenceParallel),
	step("VLLM-SCHED-SPEC-TOKENS", ">=0.16", "vllm/config/vllm.py VllmConfig._set_max_num_scheduled_tokens (0.24.0)", (*state).scheduledTokens),
	step("VLLM-GRAPH-MODE", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).graphLimits),
	step("VLLM-GRAPH-MODE", ">=0.19", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).connectorGraphs),
	step("VLLM-GRAPH-EAGER-OLD", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).eagerGraphs),
	step("VLLM-GRAPH-SIZES", "", "vllm/config/vllm.py VllmConfig._set_cudagraph_sizes (0.24.0)", (*state).graphSizes),
	step("VLLM-KV-SHARING", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).kvSharing),
	step("VLLM-PREFIX-POOLING", "<0.16", "vllm/config/vllm.py VllmConfig.__post_init__ (0.11.2)", (*state).poolingPrefill),
	step("VLLM-BLOCK-BACKEND", "<0.19", "vllm/platforms/cuda.py CudaPlatformBase.check_and_update_config (0.16.0)", (*state).latentBlocks),
	step("VLLM-PLATFORM", "", "vllm/platforms/cuda.py CudaPlatformBase.check_and_update_config (0.24.0)", (*state).platform),
	step("VLLM-GRAPH-SPLIT", "", "vllm/config/compilation.py CompilationConfig.set_splitting_ops_for_v1 (0.24.0)", (*state).splitting),
	step("VLLM-GRAPH-DEEPEP", "", "vllm/config/compilation.py CompilationConfig.set_splitting_ops_for_v1 (0.24.0)", (*state).deepEPGraphs),
	step("VLLM-GRAPH-STOCK", ">=0.32", "vllm/config/vllm.py VllmConfig._disable_cudagraphs_for_v2_stock_torch_compile (0.32.0)", (*state).stockCompile),
	step("VLLM-SP-NORM", "<0.32", "vllm/config/vllm.py VllmConfig.__post_init__ (0.16.0)", (*state).sharedNorms),
	step("VLLM-GRAPH-CASCADE", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).cascade),
	step("VLLM-HYBRID-OFF", "", "vllm/config/vllm.py VllmConfig.__post_init__ (0.24.0)", (*state).hybridManager),
	step("VLLM-COMPILE-QUANT", "", "vllm/config/vllm.py VllmConfig.__post_init__ has_blocked_weights (0.24.0)", (*state).blockedOp),
	step("VLLM-RUNNER-V2", ">=0.24", "vllm/config/vllm.py VllmConfig.use_v2_model_runner (0.24.0)", (*state).modelRunner),
	step("VLLM-FUSIONS", ">=0.19", "vllm/config/compilation.py PassConfig.log_enabled_passes (0.24.0)", (*state).fusions),
	step("VLLM-KV-CHECK", "", "vllm/config/vllm.py VllmConfig.validate_mamba_block_size, validate_nvfp4_kv_cache_with_mla (0.24.0)", (*state).cacheChecks),
}

func (s *state) performanceMode() error {
	if mode := s.Str("performance_mode"); mode != "balanced" {
		s.info("Performance mode set to '%s'.", mode)
	}
	return nil
}

// parallelChecks refuses models that cannot be cut as asked.
func (s *state) parallelChecks() error {
	return s.splits(s.model, "VllmConfig")
}

// splits says whether a model can be cut as asked; class is the configuration
// class that pydantic names.
func (s *state) splits(m *model, class string) error {
	tp := s.Int("parallel.tensor_parallel_size")
	if tp > 0 && m.heads%tp != 0 {
		return invalid(class, "Total number of attention heads (%d) must be divisible by tensor parallel size (%d).", m.heads, tp)
	}
	if s.Bool("parallel.enable_expert_parallel") && m.experts == 0 {
		return invalid(class, "Number of experts in the model must be greater than 0 when expert parallelism is enabled.")
	}
	if s.Int("parallel.pipeline_parallel_size") > 1 && !m.class.pipelines {
		return refuse("NotImplementedError", "Pipeline parallelism is not supported for this model. Supported models implement the `SupportsPP` interface.")
	}
	dcp := s.Int("parallel.decode_context_parallel_size")
	if dcp <= 1 || s.Bool("model.use_mla") {
		return nil
	}
	kv := max(1, m.kvHeads)
	most := tp / kv
	if s.r >= v0320 {
		switch {
		case tp <= kv:
			return invalid(class, "Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` (%d) to be greater than the model's total number of KV heads (%d). Increase `--tensor-parallel-size` or set `--decode-context-parallel-size 1`.", tp, kv)
		case dcp > most:
			return invalid(class, "`--decode-context-parallel-size` (%d) exceeds the maximum supported value (%d) for `--tensor-parallel-size` (%d) and %d model KV heads.", dcp, most, tp, kv)
		}
	}
	switch {
	case tp <= kv:
		return failed(class, "tensor parallel size %d must be greater than total num kv heads %d when enable decode context parallel for GQA/MQA", tp, kv)
	case dcp > most:
		return failed(class, "decode context parallel size must less than or equal to (tensor parallel size %d // total num kv heads %d) = %d, but got %d", tp, kv, most, dcp)
	case (m.heads/kv)%dcp != 0:
		return failed(class, "Total number of q per kv attn heads (%d) must be divisible by dcp world size when enable decode context parallel for GQA (%d).", m.heads/kv, dcp)
	}
	return nil
}

// asyncExecutors overlap scheduling with the GPU's work.
var asyncExecutors = []string{"mp", "uni", "external_launcher"}

// noDeepGEMM are the model types that lose accuracy with DeepGEMM's scales on
// Blackwell.
var noDeepGEMM = names("qwen3_5_text qwen3_5_moe_text")

func (s *state) deepGEMM() error {
	blackwell := s.gpu.major == 10 || s.r >= v0240 && s.gpu.major == 12
	if s.quant == nil || s.quant.class != "Fp8Config" || !blackwell || !slices.Contains(noDeepGEMM, s.model.textType) {
		return nil
	}
	s.because("", byModel, "DeepGEMM's power-of-two scales cost this architecture accuracy.")
	s.warn("Auto-disabled DeepGemm for model_type=%s on Blackwell. DeepGemm E8M0 scale format causes accuracy degradation for this architecture. Falling back to CUTLASS. To disable DeepGemm globally, set VLLM_USE_DEEP_GEMM=0.", s.model.textType)
	return nil
}

// asyncScheduling overlaps scheduling with the GPU's work where nothing
// forbids it.
func (s *state) asyncScheduling() error {
	executor := s.Str("parallel.distributed_executor_backend")
	fits := slices.Contains(asyncExecutors, executor)
	states := s.r == v0160 && !s.Is("cache.mamba_cache_mode", "none")
	method := ""
	if s.spec != nil {
		method = s.spec.method
	}
	eagle := s.spec == nil || s.spec.eagle || slices.Contains([]string{"ngram_gpu", "dflash", "dspark"}, method)
	switch {
	case s.r == v0112:
	case s.Bool("scheduler.async_scheduling"):
		if !eagle && method != "draft_model" {
			return invalid("VllmConfig", "Currently, async scheduling is only supported with EAGLE/MTP/Draft Model/NGram GPU kind of speculative decoding")
		}
		if !fits {
			return invalid("VllmConfig", "`%s` does not support async scheduling yet.", executor)
		}
		if states {
			return invalid("VllmConfig", "Currently, async scheduling is not compatible with prefix caching for Mamba models.")
		}
	case s.Nil("scheduler.async_scheduling"):
		by, rule := byCoupling, "Scheduling overlaps with the GPU's work unless something forbids it."
		switch {
		case s.r >= v0240 && s.Str("model.runner_type") == "pooling":
			by, rule = byModel, "It slows pooling models down."
			s.because("", by, rule)
			s.Set("scheduler.async_scheduling", false)
		case !eagle && !(s.r >= v0320 && method == "draft_model"):
			s.because("VLLM-SCHED-ASYNC-SPEC", by, "The speculative method needs the step's result first.", "speculative.method")
			s.Set("scheduler.async_scheduling", false)
			s.warn("Async scheduling not supported with %s-based speculative decoding and will be disabled.", method)
		case !fits:
			s.because("VLLM-SCHED-ASYNC-EXECUTOR", by, "The executor cannot overlap.", "parallel.distributed_executor_backend")
			s.Set("scheduler.async_scheduling", false)
			s.warn("Async scheduling will be disabled because it is not supported with the `%s` distributed executor backend. ", executor)
		case states:
			s.because("", by, "Prefix caching of recurrent states needs the step's result first.", "cache.mamba_cache_mode")
			s.Set("scheduler.async_scheduling", false)
			s.warn("Async scheduling is not compatible with prefix caching for Mamba models and will be disabled.")
		default:
			s.because("VLLM-SCHED-ASYNC-ON", by, rule)
			s.Set("scheduler.async_scheduling", true)
		}
	}
	if s.r >= v0160 && s.r <= v0240 {
		word := "disabled"
		if s.Bool("scheduler.async_scheduling") {
			word = "enabled"
		}
		s.info("Asynchronous scheduling is %s.", word)
	}
	if err := s.dpSync(); err != nil {
		return err
	}
	if s.r >= v0191 && s.r <= v0240 && s.spec != nil && s.Bool("scheduler.async_scheduling") && !s.Bool("model.disable_cascade_attn") {
		s.because("VLLM-GRAPH-CASCADE", byCoupling, "Asynchronous speculative decoding does not work with cascade attention.", "scheduler.async_scheduling")
		s.Set("model.disable_cascade_attn", true)
		s.warn("Disabling cascade attention (not yet compatible with async speculative decoding).")
	}
	return nil
}

// dpSync moves the synchronisation of data parallel ranks off NCCL.
func (s *state) dpSync() error {
	if s.r < v0160 || !s.Bool("scheduler.async_scheduling") || s.Int("parallel.data_parallel_size") <= 1 || s.args.Get("disable_nccl_for_dp_synchronization") != nil {
		return nil
	}
	if s.r >= v0240 && s.model.experts == 0 {
		return nil
	}
	s.info("Disabling NCCL for DP synchronization when using async scheduling.")
	return nil
}

// expertsCommunicate leaves the exchange of tokens to kernels that do it
// themselves.
func (s *state) expertsCommunicate() error {
	moe := s.Str("kernel.moe_backend")
	if moe != "flashinfer_moe_ep_cutedsl" && moe != "flashinfer_moe_ep_mega_deep_gemm" {
		return nil
	}
	if a2a := s.Str("parallel.all2all_backend"); a2a != "allgather_reducescatter" {
		return invalid("VllmConfig", "moe_backend='%s' dispatches and combines itself and cannot be paired with all2all_backend='%s'; leave --all2all-backend unset.", moe, a2a)
	}
	s.because("", byCoupling, "The MoE kernel dispatches and combines tokens itself.", "kernel.moe_backend")
	s.Set("parallel.all2all_backend", "passthrough")
	s.info("moe_backend='%s': using all2all_backend='passthrough' (dispatch and combine run inside the MoE backend).", moe)
	return nil
}

// poolingPrefill turns chunked prefill and prefix caching off where pooling
// needs the whole prompt at once.
func (s *state) poolingPrefill() error {
	var reasons []string
	if s.Str("model.runner_type") == "pooling" {
		if s.model.class.pooled != "LAST" {
			reasons = append(reasons, `Only "last" pooling supports chunked prefill and prefix caching; disabling both.`)
		}
		if !s.causal() {
			reasons = append(reasons, "Only models using causal attention support chunked prefill and prefix caching; disabling both.")
		}
	}
	off := !s.Bool("scheduler.enable_chunked_prefill") && !s.Bool("cache.enable_prefix_caching")
	if len(reasons) == 0 && !s.model.encoderDec && !off {
		return nil
	}
	s.because("", byModel, "Pooling that needs the whole prompt, an encoder-decoder model, or both switches off.")
	s.Set("scheduler.enable_chunked_prefill", false)
	s.Set("scheduler.chunked_prefill_enabled", false)
	s.Set("cache.enable_prefix_caching", false)
	for _, r := range reasons {
		s.info("%s", r)
	}
	return nil
}

// latentBlocks gives latent attention the block size that its kernel needs,
// before the backend is chosen.
func (s *state) latentBlocks() error {
	if s.Nil("cache.block_size") {
		s.because("VLLM-BLOCK-DEFAULT", byDefault, "Tokens in one block of the KV cache.")
		s.Set("cache.block_size", 16)
	}
	if !s.Bool("model.use_mla") {
		return nil
	}
	backend := s.latentBackend()
	block := s.Int("cache.block_size")
	force := func(size int, backend string) {
		s.because("", byCoupling, "The kernel of "+backend+" reads blocks of this size.", "attention.backend")
		s.Set("cache.block_size", size)
		s.info("Forcing kv cache block size to %d for %s backend.", size, backend)
		block = size
	}
	if backend == "FLASHMLA" && s.gpu.major == 9 && block%64 != 0 {
		force(64, "FlashMLA")
	}
	if backend == "CUTLASS_MLA" && block%128 != 0 {
		force(128, "CUTLASS_MLA")
	}
	if backend == "FLASHINFER_MLA" && block != 32 && block%64 != 0 {
		force(64, "FlashInferMLA")
	}
	if s.model.dsa && block != 64 {
		force(64, "FlashMLASparse")
	}
	return nil
}

// latentBackend is the backend for latent attention that the block size is
// made for.
func (s *state) latentBackend() string {
	if s.r == v0112 {
		if v, ok := s.Env("VLLM_ATTENTION_BACKEND"); ok {
			return v
		}
		if s.gpu.capability() == 100 {
			return "CUTLASS_MLA"
		}
		return "FLASHMLA"
	}
	if b := s.Str("attention.backend"); b != "" {
		return b
	}
	switch {
	case s.gpu.major == 10 && !s.model.dsa && s.model.text.IntOr("qk_nope_head_dim", 1) == 128:
		s.because("", byHardware, "Compute capability 10.x, and a head size that FlashInfer's kernel takes.")
		s.Set("attention.backend", "FLASHINFER_MLA")
		return "FLASHINFER_MLA"
	case s.gpu.major == 10 && !s.model.dsa:
		return "CUTLASS_MLA"
	case s.gpu.major == 9:
		return "FLASHMLA"
	}
	return ""
}

// sequenceParallel drops sequence parallelism where there is nothing to cut.
func (s *state) sequenceParallel() error {
	if s.r >= v0320 {
		return nil
	}
	if s.Bool("pass.fuse_gemm_comms") {
		s.because("", byCoupling, "Asynchronous tensor parallelism is built on sequence parallelism.", "pass.fuse_gemm_comms")
		s.Set("pass.enable_sp", true)
	}
	off := func(line string) {
		s.Set("pass.enable_sp", false)
		s.Set("pass.fuse_gemm_comms", false)
		s.warn("%s", line)
	}
	switch {
	case !s.Bool("pass.enable_sp"):
	case s.Int("parallel.tensor_parallel_size") == 1:
		s.because("", byCoupling, "One rank has no sequence to share.", "parallel.tensor_parallel_size")
		off("Sequence Parallelism requires TP>1, disabling")
	case s.r >= v0191 && (s.gpu.capability() != 90 && s.gpu.major != 10 || s.model.hidden < 8192):
		if p, _ := s.cc["pass_config"].(map[string]any); p["sp_min_token_num"] != nil {
			break
		}
		s.because("", byModel, "It pays for hidden sizes of 8192 and more, on compute capability 9.0 and 10.x.")
		off("Model hidden_size too small for the SP threshold heuristic, disabling. To force SP, set pass_config.sp_min_token_num manually.")
	}
	if s.r == v0160 && s.Bool("pass.enable_sp") && !slices.Contains(s.customOps(), any("-rms_norm")) {
		s.because("", byCoupling, "The pass of sequence parallelism looks for the custom kernel.", "pass.enable_sp")
		s.addCustomOp("+rms_norm")
	}
	return nil
}

// sharedNorms takes the custom normalisation for sequence parallelism where the
// compiler would see pieces of the model only.
func (s *state) sharedNorms() error {
	ops, given := s.cc["splitting_ops"].([]any)
	whole := s.Bool("compilation.use_inductor_graph_partition") || given && len(ops) == 0 || s.r >= v0240
	if !s.Bool("pass.enable_sp") && !s.Bool("pass.enable_sequence_parallelism") || !s.isCompiling() {
		return nil
	}
	if (s.Int("parallel.pipeline_parallel_size") > 1 || !whole) && !slices.Contains(s.customOps(), any("-rms_norm")) {
		s.because("", byCoupling, "Sequence parallelism and a model in pieces.", "pass.enable_sp", "parallel.pipeline_parallel_size")
		s.addCustomOp("+rms_norm")
	}
	return nil
}

func (s *state) kvSharing() error {
	if !s.args.Bool("kv_sharing_fast_prefill") {
		return nil
	}
	if s.spec != nil && s.spec.eagle {
		return invalid("VllmConfig", "Fast prefill optimization for KV sharing is not compatible with EAGLE as EAGLE requires correct logits for all tokens while fast prefill gives incorrect logits for prompt tokens.")
	}
	s.warn("--kv-sharing-fast-prefill requires changes on model side for correctness and to realize prefill savings.")
	return nil
}

// platform applies what the CUDA platform decides.
func (s *state) platform() error {
	if s.Is("parallel.worker_cls", "auto") {
		s.because("", byHardware, "The worker of CUDA GPUs.")
		s.Set("parallel.worker_cls", "vllm.v1.worker.gpu_worker.Worker")
	}
	if v, _ := s.Env("VLLM_WORKER_MULTIPROC_METHOD"); s.model.name == "WhisperForConditionalGeneration" && v != "spawn" {
		s.warn("Whisper is known to have issues with forked workers. If startup is hanging, try setting 'VLLM_WORKER_MULTIPROC_METHOD' to 'spawn'.")
	}
	if s.model.name == "DiffusionGemmaForBlockDiffusion" && s.r >= v0320 && s.Nil("scheduler.scheduler_cls") {
		class := "DiffusionScheduler"
		if s.Bool("scheduler.async_scheduling") {
			class = "DiffusionAsyncScheduler"
		}
		s.because("VLLM-SCHED-DIFFUSION", byModel, "Blocks of tokens need a scheduler of their own.")
		s.Set("scheduler.scheduler_cls", "vllm.v1.core.sched.diffusion_scheduler."+class)
	}
	if events, _ := s.args.Get("kv_events_config").(map[string]any); events["enable_kv_cache_events"] == true && !s.Bool("cache.enable_prefix_caching") {
		s.warn("KV cache events are on, but prefix caching is not enabled. Use --enable-prefix-caching to enable.")
	}
	if s.prefixLM() && s.Bool("model.is_multimodal_model") && !s.Bool("scheduler.disable_chunked_mm_input") {
		s.because("VLLM-SCHED-MM-CHUNK", byModel, "The tokens of an image attend in both directions, so an image is not cut.")
		s.Set("scheduler.disable_chunked_mm_input", true)
		s.warn("Forcing --disable_chunked_mm_input for models with multimodal-bidirectional attention.")
	}
	return nil
}

// prefixLM says whether image tokens attend in both directions in this launch.
func (s *state) prefixLM() bool {
	return s.model.prefixLM && !(s.r >= v0320 && s.textOnly())
}

// textOnly says whether a multimodal model is limited to text.
func (s *state) textOnly() bool {
	if s.args.Bool("language_model_only") {
		return true
	}
	asked, _ := s.args.Get("limit_mm_per_prompt").(map[string]any)
	for kind, field := range map[string]string{"image": "", "video": "video_token_id", "audio": "audio_config"} {
		if field != "" && !s.model.config.Has(field) {
			continue
		}
		if n, ok := asked[kind].(int); !ok || n != 0 {
			return false
		}
	}
	return true
}

// deepEPGraphs turns CUDA graphs off for kernels that they cannot hold.
func (s *state) deepEPGraphs() error {
	dp := s.Int("parallel.data_parallel_size")
	if s.r >= v0160 && s.model.experts == 0 {
		dp = 1
	}
	if !s.Is("parallel.all2all_backend", "deepep_high_throughput") || dp <= 1 || s.Is("compilation.cudagraph_mode", "NONE") {
		return nil
	}
	s.because("", byCoupling, "DeepEP's high-throughput kernels do not work with CUDA graphs.", "parallel.all2all_backend")
	s.Set("compilation.cudagraph_mode", "NONE")
	s.info("DeepEP: Disabling CUDA Graphs since DeepEP high-throughput kernels are optimized for prefill and are incompatible with CUDA Graphs. In order to use CUDA Graphs for decode-optimized workloads, use --all2all-backend with another option, such as deepep_low_latency, nixl_ep, or allgather_reducescatter.")
	return nil
}

// cascade tells what cascade attention loses.
func (s *state) cascade() error {
	if s.r >= v0320 {
		s.because("", byDefault, "Cascade attention was removed.")
		s.Set("model.disable_cascade_attn", true)
	}
	off := s.Bool("model.disable_cascade_attn")
	mode := s.Str("compilation.cudagraph_mode")
	if !off && hasFull(mode) && !hasPiecewise(mode) {
		s.warn("No piecewise cudagraph for executing cascade attention. Will fall back to eager execution if a batch runs into cascade attentions.")
	}
	if !off && s.r >= v0160 && s.envBool("VLLM_BATCH_INVARIANT", false) {
		s.because("", byEnvironment, "VLLM_BATCH_INVARIANT: cascade attention depends on the batch.")
		s.Set("model.disable_cascade_attn", true)
		s.warn("Disabling cascade attention when VLLM_BATCH_INVARIANT is enabled.")
	}
	if s.Bool("parallel.enable_dbo") || s.r >= v0160 && s.args.Int("ubatch_size") > 1 {
		list := names("deepep_low_latency deepep_high_throughput nixl_ep")
		if s.r < v0240 {
			list = list[:2]
		}
		if !slices.Contains(list, s.Str("parallel.all2all_backend")) {
			if s.r < v0240 {
				return failed("VllmConfig", "Microbatching currently only supports the deepep_low_latency and deepep_high_throughput all2all backend. %s is not supported. To fix use --all2all-backend=deepep_low_latency or --all2all-backend=deepep_high_throughput and install the DeepEP kernels.", s.Str("parallel.all2all_backend"))
			}
			return failed("VllmConfig", "Microbatching currently only supports the deepep_low_latency, deepep_high_throughput, and nixl_ep all2all backends. %s is not supported. To fix use --all2all-backend=deepep_low_latency, --all2all-backend=deepep_high_throughput, or --all2all-backend=nixl_ep and install the matching kernels.", s.Str("parallel.all2all_backend"))
		}
		if !s.Bool("model.disable_cascade_attn") {
			s.because("", byCoupling, "Dual batch overlap.", "parallel.enable_dbo")
			s.Set("model.disable_cascade_attn", true)
			s.warn("Disabling cascade attention when DBO is enabled.")
		}
	}
	return nil
}

// hybridManager decides whether layers of several kinds share one KV cache
// manager.
func (s *state) hybridManager() error {
	const name = "scheduler.disable_hybrid_kv_cache_manager"
	asked, needed := s.Get(name), false
	off := func(id, by, why string, coupled ...string) {
		needed = true
		s.because(id, by, why, coupled...)
		if asked == nil || s.r == v0112 {
			s.Set(name, true)
		}
	}
	if s.model.chunk != nil {
		switch {
		case s.spec != nil && s.spec.eagle:
			off("VLLM-HYBRID-CHUNKED", byCoupling, "Chunked local attention with EAGLE.", "speculative.method")
		case !s.envBool("VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE", s.r >= v0160):
			off("VLLM-HYBRID-CHUNKED", byModel, "Chunked local attention is slower with it.")
			s.warn("There is a latency regression when using chunked local attention with the hybrid KV cache manager. Disabling it, by default. To enable it, set the environment VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE=1.")
		}
	}
	if s.args.Get("kv_events_config") != nil && s.r <= v0191 {
		off("", byCoupling, "KV events do not work with it.", "kv_events_config")
	}
	if asked == nil || asked == false && s.r == v0112 {
		if line := s.connectorForbidsHMA(); line != "" {
			off("", byCoupling, fmt.Sprintf("The connector %s does not work with it.", s.connectors()[0].name), "kv_transfer.kv_connector")
			s.warn("%s", line)
		}
	}
	switch {
	case asked == nil && !needed:
		s.because("", byDefault, "On unless something does not work with it.")
		s.Set(name, false)
	case asked == false && needed && s.r != v0112:
		return invalid("VllmConfig", "Hybrid KV cache manager was explicitly enabled but is not supported in this configuration. Consider omitting the --no-disable-hybrid-kv-cache-manager flag to let vLLM decide automatically.")
	}
	return nil
}

// newRunnerModels are the architectures that 0.24 runs with the second version
// of the model runner; 0.32 runs all.
var newRunnerModels = names("Qwen3ForCausalLM DeepseekV2ForCausalLM Qwen2MoeForCausalLM GraniteMoeForCausalLM LlamaForCausalLM MistralForCausalLM")

// newRunner says whether the GPU worker runs the second version of the model
// runner.
func (s *state) newRunner() bool {
	if _, set := s.Env("VLLM_USE_V2_MODEL_RUNNER"); set {
		return s.envBool("VLLM_USE_V2_MODEL_RUNNER", true)
	}
	return s.wantsNewRunner() && len(s.newRunnerLacks()) == 0
}

// wantsNewRunner says whether a model is run with the second version where
// nothing is lacking.
func (s *state) wantsNewRunner() bool {
	isNew := func(a string) bool { return slices.Contains(newRunnerModels, a) }
	return s.r >= v0320 || s.Str("model.runner_type") == "generate" && slices.ContainsFunc(s.model.architectures, isNew)
}

// modelRunner tells why the first version of the model runner is used.
func (s *state) modelRunner() error {
	if _, set := s.Env("VLLM_USE_V2_MODEL_RUNNER"); set || !s.wantsNewRunner() {
		return nil
	}
	if lacks := s.newRunnerLacks(); len(lacks) > 0 {
		s.warn("Model Runner V2 does not yet support %s; using the V1 model runner instead.", strings.Join(lacks, ", "))
	}
	return nil
}

// newRunnerLacks are the features in use that the second version of the model
// runner does not have (_get_v2_model_runner_unsupported_features).
func (s *state) newRunnerLacks() []string {
	var out []string
	lacks := func(in bool, what string) {
		if in {
			out = append(out, what)
		}
	}
	old := s.r < v0320
	tp, pp := s.Int("parallel.tensor_parallel_size"), s.Int("parallel.pipeline_parallel_size")
	lacks(old && s.model.class.innerState && s.Is("cache.mamba_cache_mode", "align"), "hybrid/mamba models with align cache mode")
	lacks(old && s.Int("parallel.prefill_context_parallel_size") > 1, "prefill context parallelism")
	lacks(old && s.Is("compilation.mode", "STOCK_TORCH_COMPILE", 1), "stock torch.compile")
	lacks(old && s.Bool("pass.enable_sp") && tp > 1, "sequence parallelism")
	lacks(s.Is("parallel.distributed_executor_backend", "external_launcher") && pp > 1, "pipeline parallelism with external_launcher")
	if s.spec != nil {
		method := s.spec.method
		ngram := method == "ngram" || method == "ngram_gpu"
		lacks(old && ngram, "ngram/ngram_gpu speculative decoding")
		if old && !ngram && !slices.Contains(names("eagle eagle3 mtp dflash"), method) || !old && slices.Contains(names("suffix medusa mlp_speculator custom_class"), method) {
			out = append(out, "speculative method '"+method+"'")
		}
		lacks(s.Bool("speculative.parallel_drafting") && method != "dflash" && method != "dspark", "parallel drafting for EAGLE speculative decoding")
		lacks(old && method == "eagle3" && pp > 1, "EAGLE3 with pipeline parallelism")
	}
	lacks(s.Bool("parallel.enable_dbo") || !old && s.args.Int("ubatch_size") > 1, "dual batch overlap")
	lacks(old && s.args.Bool("enable_elastic_ep"), "elastic expert parallelism")
	lacks(old && s.args.Bool("enable_return_routed_experts"), "routed experts capture")
	lacks(old && s.args.Get("logits_processors") != nil, "custom logits processors")
	lacks(old && s.args.Bool("enable_prompt_embeds"), "prompt embeds")
	if mode := s.args.Str("logprobs_mode"); old && (mode == "raw_logits" || mode == "processed_logits") {
		out = append(out, "logprobs mode '"+mode+"'")
	}
	lacks(old && s.args.Bool("kv_sharing_fast_prefill"), "KV sharing fast prefill")
	lacks(old && s.args.Get("ec_transfer_config") != nil, "EC transfer")
	return out
}

// cacheChecks refuses KV cache formats that the model's attention cannot read,
// and states that are kept as nothing else allows.
func (s *state) cacheChecks() error {
	if s.r == v0160 && s.Is("cache.mamba_cache_mode", "align") && s.Bool("scheduler.disable_chunked_mm_input") {
		return failed("VllmConfig", "Chunked MM input is required because we need the flexibility to schedule a multiple of block_size tokens even if they are in the middle of a mm input")
	}
	kv := s.Str("cache.cache_dtype")
	if (kv == "nvfp4" || s.r >= v0320 && strings.HasPrefix(kv, "nvfp4") && !strings.HasSuffix(kv, "_ds_mla")) && s.Bool("model.use_mla") {
		hint := "'fp8' or 'auto'"
		if s.r >= v0320 {
			hint = "'fp8', 'auto', or 'nvfp4_ds_mla' with a sparse MLA backend"
		}
		return invalid("VllmConfig", "nvfp4 KV cache is not supported with MLA (Multi-head Latent Attention) backends. Please use a different --kv-cache-dtype (e.g., %s) for MLA models such as DeepSeek.", hint)
	}
	size, ok := s.args.Get("mamba_block_size").(int)
	if ok && size != s.Int("model.max_model_len") && !s.Bool("cache.enable_prefix_caching") {
		return invalid("VllmConfig", "--mamba-block-size can only be set with --enable-prefix-caching")
	}
	return nil
}
