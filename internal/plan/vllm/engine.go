package vllm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"shakedown/internal/plan"
)

// engineSteps are the decisions of EngineArgs.create_engine_config, from
// ModelConfig to the making of VllmConfig.
var engineSteps = []plan.Step[*state]{
	step("VLLM-UNSUPPORTED", "", "vllm/engine/arg_utils.py EngineArgs._check_feature_supported (0.24.0)", (*state).unsupportedFlags),
	step("VLLM-SCHED-DEFAULTS", "", "vllm/engine/arg_utils.py _set_default_chunked_prefill_and_prefix_caching_args (0.24.0)", (*state).chunkedPrefillDefaults),
	step("VLLM-WINDOW", "", "vllm/engine/arg_utils.py create_engine_config (0.24.0)", (*state).cacheWindow),
	step("VLLM-KV-DTYPE", "", "vllm/utils/torch_utils.py resolve_kv_cache_dtype_string (0.24.0)", (*state).cacheDType),
	step("VLLM-BLOCK-DEFAULT", "", "vllm/config/cache.py CacheConfig (0.24.0)", (*state).blockSize),
	step("VLLM-EXECUTOR", "", "vllm/config/parallel.py ParallelConfig.__post_init__ (0.24.0)", (*state).executor),
	step("VLLM-PARALLEL", "", "vllm/config/parallel.py ParallelConfig._validate_parallel_config (0.24.0)", (*state).parallelConfig),
	step("VLLM-SPEC", "", "vllm/config/speculative.py SpeculativeConfig.__post_init__ (0.24.0)", (*state).speculative),
	step("VLLM-SCHED-BATCH", "", "vllm/engine/arg_utils.py _set_default_max_num_seqs_and_batched_tokens_args (0.24.0)", (*state).batchSizes),
	step("VLLM-SCHED-CHUNKED", "", "vllm/config/scheduler.py SchedulerConfig.__post_init__ (0.24.0)", (*state).scheduler),
	step("VLLM-ATTN-ASKED", "", "vllm/config/attention.py AttentionConfig (0.24.0)", (*state).attentionConfig),
	step("VLLM-ATTN-FA-OVERRIDE", ">=0.24", "vllm/engine/arg_utils.py create_engine_config (0.24.0)", (*state).packedCache),
	step("VLLM-STRUCTURED-OUTPUTS", "", "vllm/engine/arg_utils.py create_engine_config (0.24.0)", (*state).structuredOutputs),
	step("VLLM-KERNEL", ">=0.16", "vllm/engine/arg_utils.py create_engine_config (0.24.0)", (*state).kernelConfig),
	step("VLLM-COMPILE-ASKED", "", "vllm/config/compilation.py CompilationConfig.__post_init__ (0.24.0)", (*state).compilationConfig),
}

// attentionType is the kind of attention that decides about chunked prefill
// and prefix caching (ModelConfig.attn_type).
func (s *state) attentionType() string {
	m := s.model
	switch {
	case s.Str("model.runner_type") == "pooling":
		if m.class.pooled == "CLS" {
			return "encoder_only"
		}
		if !s.causal() {
			return "encoder_only"
		}
		return m.class.attention
	case s.Bool("model.is_hybrid"):
		return "hybrid"
	case m.class.noAttention:
		return "attention_free"
	case m.encoderDec:
		return "encoder_decoder"
	}
	return "decoder"
}

// twoWay are architectures whose attention looks in both directions whatever
// config.json says.
var twoWay = names(`LlamaBidirectionalModel LlamaBidirectionalForSequenceClassification LlamaNemotronVLModel LlamaNemotronVLForSequenceClassification
	VoyageQwen3BidirectionalEmbedModel`)

// causal says whether tokens attend to earlier ones only.
func (s *state) causal() bool {
	c := s.model.config
	switch name := s.model.name; {
	case slices.Contains(twoWay, name):
		return s.r < v0160
	case name == "Gemma3TextModel":
		two, _ := c.Bool("use_bidirectional_attention")
		return !two
	case name == "JinaEmbeddingsV5Model" && s.r >= v0320:
		if decodes, ok := c.Bool("is_decoder"); ok && !decodes {
			return false
		}
	}
	causal, ok := c.Bool("is_causal")
	return causal || !ok
}

// chunkedPrefillDefaults decides chunked prefill and prefix caching where the
// command line is silent.
func (s *state) chunkedPrefillDefaults() error {
	kind := s.attentionType()
	pooling := s.Str("model.runner_type") == "pooling"
	chunked, prefix := true, true
	switch {
	case pooling && (kind == "encoder_only" || slices.Contains([]string{"MEAN", "CLS", "STEP"}, s.model.class.pooled)):
		chunked, prefix = false, false
	case pooling:
		chunked, prefix = kind != "encoder_decoder", kind == "decoder"
	case kind == "encoder_decoder":
		chunked, prefix = false, false
	case kind == "hybrid" || kind == "attention_free":
		prefix = s.r >= v0320 && kind == "hybrid" || s.r == v0112 && kind == "attention_free"
	}
	s.because("", byModel, fmt.Sprintf("Attention of the kind %q.", kind))
	switch {
	case s.Nil("scheduler.enable_chunked_prefill"):
		s.Set("scheduler.enable_chunked_prefill", chunked)
	case !pooling && !s.Bool("scheduler.enable_chunked_prefill") && chunked && s.r >= v0160:
		s.warn("This model does not officially support disabling chunked prefill. Disabling this manually may cause the engine to crash or produce incorrect outputs.")
	case pooling && s.Bool("scheduler.enable_chunked_prefill") && !chunked && s.r >= v0160:
		s.warn("This model does not officially support chunked prefill. Enabling this manually may cause the engine to crash or produce incorrect outputs.")
	}
	switch {
	case s.Nil("cache.enable_prefix_caching"):
		s.Set("cache.enable_prefix_caching", prefix)
	case pooling && s.Bool("cache.enable_prefix_caching") && !prefix && s.r >= v0160:
		s.warn("This model does not officially support prefix caching. Enabling this manually may cause the engine to crash or produce incorrect outputs.")
	}
	return nil
}

// cacheWindow gives the KV cache a window where all layers have the same one.
func (s *state) cacheWindow() error {
	m := s.model
	if m.slidingWindow == 0 || s.Bool("model.disable_sliding_window") {
		return nil
	}
	if s.r >= v0320 && slices.ContainsFunc(m.layerTypes, func(t string) bool { return t != "sliding_attention" }) {
		return nil
	}
	if s.r < v0320 && m.interleaved() {
		return nil
	}
	s.because("", byModel, "Every layer has the sliding window of config.json.")
	s.Set("cache.sliding_window", m.slidingWindow)
	return nil
}

// cacheDType takes the KV cache dtype of the checkpoint when none was asked
// for, from 0.16 on.
func (s *state) cacheDType() error {
	if s.r >= v0160 && s.Is("cache.cache_dtype", "auto") {
		if kv := s.checkpointKV(); kv != "" {
			s.because("", byCheckpoint, "The KV cache scheme of the checkpoint's quantization_config.")
			s.Set("cache.cache_dtype", kv)
		}
	}
	s.announceCacheDType()
	return nil
}

// quantizedCache says whether the KV cache is stored in fewer bits than the
// model's dtype (is_quantized_kv_cache).
func (s *state) quantizedCache(kv string) bool {
	if strings.HasPrefix(kv, "fp8") {
		return true
	}
	if s.r < v0240 {
		return false
	}
	return strings.HasPrefix(kv, "nvfp4") || perTokenHead(kv)
}

// perTokenHead says whether each token and head has a scale of its own.
func perTokenHead(kv string) bool { return strings.HasSuffix(kv, "_per_token_head") }

func (s *state) announceCacheDType() {
	kv := s.Str("cache.cache_dtype")
	if !s.quantizedCache(kv) {
		return
	}
	switch {
	case s.r < v0240:
		s.info("Using fp8 data type to store kv cache. It reduces the GPU memory footprint and boosts the performance. Meanwhile, it may cause accuracy drop without a proper scaling factor.")
	case perTokenHead(kv):
		s.info("Using %s data type to store kv cache. It reduces the GPU memory footprint and boosts the performance. Dynamic per-token-head scales will be computed at runtime.", kv)
	default:
		s.info("Using %s data type to store kv cache. It reduces the GPU memory footprint and boosts the performance. Meanwhile, it may cause accuracy drop without a proper scaling factor", kv)
	}
}

// blockSize is 16 tokens unless asked otherwise.
func (s *state) blockSize() error {
	if err := s.withinLimits("CacheConfig"); err != nil {
		return err
	}
	if s.Bool("cache.calculate_kv_scales") && s.r >= v0191 {
		s.warn("The `--calculate-kv-scales` option is deprecated and will be removed in v0.19. The scales will be loaded from the model checkpoint if available, otherwise they default to 1.0.")
	}
	if !s.Nil("cache.block_size") {
		if s.r >= v0191 {
			s.Set("cache.user_specified_block_size", true)
		}
		return nil
	}
	if s.r >= v0191 {
		s.because("", byDefault, "Tokens in one block of the KV cache.")
		s.Set("cache.block_size", 16)
	}
	return nil
}

// executor decides how the workers are started, and that there are enough
// GPUs.
func (s *state) executor() error {
	if err := s.externalBalancing(); err != nil {
		return err
	}
	if err := s.withinLimits("ParallelConfig"); err != nil {
		return err
	}
	tp, pp := s.Int("parallel.tensor_parallel_size"), s.Int("parallel.pipeline_parallel_size")
	world := tp * pp * max(1, s.Int("parallel.prefill_context_parallel_size"))
	backend := s.Str("parallel.distributed_executor_backend")
	nodes := max(1, s.args.Int("nnodes"))
	dp := s.Int("parallel.data_parallel_size")
	if backend == "external_launcher" {
		world *= dp
		s.info("Using external launcher for distributed inference.")
		s.info("Disabling V1 multiprocessing for external launcher.")
	}
	s.because("", byCoupling, "Tensor times pipeline times prefill context parallelism.", "parallel.tensor_parallel_size", "parallel.pipeline_parallel_size")
	s.Set("parallel.world_size", world)
	across := world
	if s.r >= v0191 {
		across = world * dp
	}
	switch {
	case backend != "":
	case across > 1:
		if s.gpu.count < world && nodes == 1 {
			if s.r == v0112 {
				return invalid("ParallelConfig", "Tensor parallel size (%d) cannot be larger than the number of available GPUs (%d).", world, s.gpu.count)
			}
			return invalid("ParallelConfig", "World size (%d) is larger than the number of available GPUs (%d) in this node. If this is intentional and you are using:\n- ray, set '--distributed-executor-backend ray'.\n- multiprocessing, set '--nnodes' appropriately.", world, s.gpu.count)
		}
		backend = "mp"
		if s.Is("parallel.data_parallel_backend", "ray") {
			backend = "ray"
		}
		s.because("", byCoupling, "More than one worker on this node.", "parallel.world_size")
		s.Set("parallel.distributed_executor_backend", backend)
	default:
		backend = "uni"
		s.because("", byDefault, "One worker runs in the engine's own process.")
		s.Set("parallel.distributed_executor_backend", backend)
	}
	if s.r == v0112 && s.Nil("parallel.all2all_backend") {
		a2a := "allgather_reducescatter"
		if v, ok := s.Env("VLLM_ALL2ALL_BACKEND"); ok {
			a2a = v
			s.warn("VLLM_ALL2ALL_BACKEND environment variable is deprecated and will be removed in a future release. Please use the --all2all-backend command-line argument instead.")
		}
		s.because("", byDefault, "The default of the release.")
		s.Set("parallel.all2all_backend", a2a)
	}
	if s.envBool("VLLM_BATCH_INVARIANT", false) && s.r < v0320 {
		s.because("", byEnvironment, "VLLM_BATCH_INVARIANT: the custom kernel's sums depend on the batch.")
		s.Set("parallel.disable_custom_all_reduce", true)
	}
	if backend == "ray" {
		return invalid("ParallelConfig", "Failed to import Ray: No module named 'ray'.Please install Ray with `pip install ray`.")
	}
	if nodes > 1 && s.r < v0320 {
		s.because("", byCoupling, "The custom all-reduce kernel works within one node.", "nnodes")
		s.Set("parallel.disable_custom_all_reduce", true)
	}
	return nil
}

// externalBalancing checks data parallel launches that balance their load
// outside.
func (s *state) externalBalancing() error {
	dp, nodes := s.Int("parallel.data_parallel_size"), s.args.Int("nnodes")
	ranked := s.args.Get("data_parallel_rank") != nil
	external := s.args.Bool("data_parallel_external_lb") || ranked
	switch {
	case external && dp > 1 && s.model.experts == 0 && s.r >= v0240:
		return refuse("ValueError", "Non-MoE models do not support external data parallel mode. For external load balancing, launch independent vLLM instances without --data-parallel-* arguments.")
	case external && !ranked && nodes <= 1:
		return refuse("AssertionError", "data_parallel_rank or node_rank must be specified if data_parallel_external_lb is enable.")
	case nodes > 1 && !external && s.args.Get("data_parallel_size_local") == nil:
		within := max(1, s.Int("parallel.tensor_parallel_size")*s.Int("parallel.pipeline_parallel_size"))
		node := s.args.Int("node_rank")
		s.info("Inferred data_parallel_rank %d from node_rank %d", node*(within*max(1, dp)/nodes)/within, node)
	}
	return nil
}

// batchSizes decides how many tokens and sequences a step may hold.
func (s *state) batchSizes() error {
	tokens, seqs := 2048, 256
	why := "GPUs with less than 70 GiB, and A100"
	if s.gpu.memory >= 70<<30 && !s.gpu.named("a100") {
		tokens, seqs, why = 8192, 1024, "GPUs with 70 GiB and more, except A100"
	}
	if s.r >= v0320 && s.gpu.memory >= 160<<30 {
		tokens, seqs, why = 16384, 1024, "GPUs with 160 GiB and more"
	}
	askedTokens, askedSeqs := !s.Nil("scheduler.max_num_batched_tokens"), !s.Nil("scheduler.max_num_seqs")
	if s.r >= v0160 && s.batchedDP() {
		tokens, why = 256, "all-to-all kernels with a fixed batch"
	}
	if !askedTokens && s.Is("performance_mode", "throughput") {
		tokens *= 2
	}
	if !askedSeqs && s.Is("performance_mode", "throughput") {
		seqs *= 2
	}
	if askedSeqs {
		seqs = s.Int("scheduler.max_num_seqs")
	}
	length := s.Int("model.max_model_len")
	if !askedTokens {
		if !s.Bool("scheduler.enable_chunked_prefill") {
			tokens = max(length, tokens)
			why += "; without chunked prefill a whole prompt must fit"
		}
		tokens = min(seqs*length, tokens)
		s.because("", byHardware, why+".")
		s.Set("scheduler.max_num_batched_tokens", tokens)
	} else {
		tokens = s.Int("scheduler.max_num_batched_tokens")
	}
	if !askedSeqs {
		s.because("", byHardware, why+"; not more than tokens.")
		s.Set("scheduler.max_num_seqs", min(seqs, tokens))
	}
	return nil
}

// batchedDP says whether the experts' all-to-all works on batches of a fixed
// size (ParallelConfig.use_batched_dp_moe).
func (s *state) batchedDP() bool {
	list := "deepep_low_latency pplx"
	if s.r >= v0191 {
		list = "deepep_low_latency nixl_ep"
	}
	return slices.Contains(names(list), s.Str("parallel.all2all_backend")) && s.Bool("parallel.enable_expert_parallel") && s.Int("parallel.data_parallel_size") > 1
}

// scheduler checks the sizes of a step.
func (s *state) scheduler() error {
	if err := s.withinLimits("SchedulerConfig"); err != nil {
		return err
	}
	if s.model.encoderDec {
		s.because("VLLM-SCHED-CHUNKED-ENCDEC", byModel, "An encoder-decoder model.")
		s.Set("scheduler.disable_chunked_mm_input", true)
		s.Set("scheduler.enable_chunked_prefill", false)
		s.info("Encoder-decoder models do not support chunked prefill nor prefix caching; disabling both.")
	}
	tokens, seqs, length := s.Int("scheduler.max_num_batched_tokens"), s.Int("scheduler.max_num_seqs"), s.Int("model.max_model_len")
	s.because("", byCoupling, "The encoder's budget is that of a step.", "scheduler.max_num_batched_tokens")
	s.Set("scheduler.max_num_encoder_input_tokens", tokens)
	s.because("", byCoupling, "Prompts longer than a step's budget are cut into chunks.", "scheduler.enable_chunked_prefill")
	if s.Bool("scheduler.enable_chunked_prefill") {
		s.info("Chunked prefill is enabled with max_num_batched_tokens=%d.", tokens)
	}
	if s.Known("scheduler.chunked_prefill_enabled") {
		s.Set("scheduler.chunked_prefill_enabled", s.Get("scheduler.enable_chunked_prefill"))
	}
	switch {
	case tokens < length && !s.Bool("scheduler.enable_chunked_prefill"):
		return invalid("SchedulerConfig", "max_num_batched_tokens (%d) is smaller than max_model_len (%d). This effectively limits the maximum sequence length to max_num_batched_tokens and makes vLLM reject longer sequences. Please increase max_num_batched_tokens or decrease max_model_len.", tokens, length)
	case tokens < seqs:
		return invalid("SchedulerConfig", "max_num_batched_tokens (%d) must be greater than or equal to max_num_seqs (%d).", tokens, seqs)
	case tokens > seqs*length:
		s.warn("max_num_batched_tokens (%d) exceeds max_num_seqs * max_model_len (%d). This may lead to unexpected behavior.", tokens, seqs*length)
	}
	return nil
}

// attentionConfig reads what was asked of attention.
func (s *state) attentionConfig() error {
	if c, ok := s.args.Get("attention_config").(map[string]any); ok {
		s.because("", byCoupling, "--attention-config.", "attention_config")
		for _, key := range slices.Sorted(maps.Keys(c)) {
			if name := "attention." + key; s.Known(name) {
				s.Set(name, c[key])
			}
		}
	}
	if s.r >= v0160 && s.Nil("attention.use_trtllm_ragged_deepseek_prefill") && s.Known("attention.use_trtllm_ragged_deepseek_prefill") {
		s.because("", byDefault, "The default of the release.")
		s.Set("attention.use_trtllm_ragged_deepseek_prefill", s.r == v0160)
		s.Set("attention.disable_flashinfer_prefill", s.r == v0191)
	}
	name, ok := s.Get("attention.backend").(string)
	if !ok || s.r < v0160 {
		return nil
	}
	s.because("", byCoupling, "--attention-backend, in the engine's own spelling.", "attention_backend")
	if strings.ToLower(name) == "auto" {
		s.Set("attention.backend", nil)
		return nil
	}
	name = strings.ToUpper(name)
	if !slices.Contains(attentionBackends(s.r), name) {
		return refuse("ValueError", "Unknown attention backend: '%s'. Valid options are: %s", name, strings.Join(attentionBackends(s.r), ", "))
	}
	s.Set("attention.backend", name)
	return nil
}

// packedCache keeps FlashAttention 2 for KV caches that newer ones do not read.
func (s *state) packedCache() error {
	kv := s.Str("cache.cache_dtype")
	what := "TurboQuant"
	switch {
	case strings.HasPrefix(kv, "turboquant_"):
	case kv == "ultraquant_4bit" && s.r >= v0320:
		what = "UltraQuant"
	default:
		return nil
	}
	if n := s.Int("attention.flash_attn_version"); n != 0 && n < 3 {
		return nil
	}
	s.because("", byCoupling, "Layers at the ends of the model keep their dtype and share the implementation of FlashAttention 2.", "cache.cache_dtype")
	s.Set("attention.flash_attn_version", 2)
	s.warn("%s is not yet compatible with FlashAttention >= 3. Overriding flash_attn_version to 2. To silence this warning, pass --attention-config.flash_attn_version=2", what)
	return nil
}

// structuredOutputs reads what was asked of structured outputs.
func (s *state) structuredOutputs() error {
	c, _ := s.args.Get("structured_outputs_config").(map[string]any)
	if backend, ok := c["backend"].(string); ok {
		s.because("", byCoupling, "--structured-outputs-config.", "structured_outputs_config")
		s.Set("structured_outputs.backend", backend)
	}
	return nil
}

// kernelConfig reads what was asked of kernels.
func (s *state) kernelConfig() error {
	c, ok := s.args.Get("kernel_config").(map[string]any)
	if !ok {
		return nil
	}
	s.because("", byCoupling, "--kernel-config.", "kernel_config")
	for _, key := range slices.Sorted(maps.Keys(c)) {
		name, v := "kernel."+key, c[key]
		if !s.Known(name) || s.args.Asked(key) {
			continue
		}
		if text, ok := v.(string); ok {
			v = strings.ReplaceAll(strings.ToLower(text), "-", "_")
		}
		s.Set(name, v)
	}
	return nil
}
