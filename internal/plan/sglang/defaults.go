package sglang

// loadBalance chooses how a request finds its data-parallel rank.
func (s *state) loadBalance() error {
	mode := s.Str("disaggregation_mode")
	if s.Is("load_balance_method", "auto") {
		s.because("", byDefault, "auto is round_robin, for prefill servers follow_bootstrap_room", "disaggregation_mode")
		if mode == "prefill" {
			s.Set("load_balance_method", "follow_bootstrap_room")
		} else {
			s.Set("load_balance_method", "round_robin")
		}
		return nil
	}
	if mode == "prefill" && s.Is("load_balance_method", "round_robin") && !s.since(r0510) {
		s.because("", byCoupling, "a prefill server routes by bootstrap room", "disaggregation_mode")
		s.Set("load_balance_method", "follow_bootstrap_room")
		s.warn("In PD-disaggregation prefill mode, the 'round_robin' load balancing method " +
			"means `bootstrap_room` routing (use 'follow_bootstrap_room' instead). " +
			"Falling back to 'follow_bootstrap_room' for backward compatibility.")
	}
	return nil
}

// oldParsers are tool call parsers under their former names.
var oldParsers = map[string]string{"qwen25": "qwen", "glm45": "glm"}

func (s *state) deprecatedArgs() error {
	asked := s.Str("tool_call_parser")
	if name, ok := oldParsers[asked]; ok {
		s.because("SGL-PARSER-001", byDefault, "the parser has a new name")
		s.Set("tool_call_parser", name)
		s.warn("The tool_call_parser '%s' is deprecated. Please use '%s' instead.", asked, name)
	}
	if s.since(r0515) {
		s.fusionSwitch()
	}
	if s.since(r0523) {
		s.oldMLA()
	}
	if s.Bool("enable_nan_detection") && s.since(r0510) {
		s.because("", byCoupling, "the switch has become variables", "enable_nan_detection")
		s.warn("--enable-nan-detection is deprecated. Use SGLANG_SPEC_NAN_DETECTION=1 and SGLANG_SPEC_OOB_DETECTION=1 instead.")
		s.SetEnv("SGLANG_SPEC_NAN_DETECTION", "True")
		s.SetEnv("SGLANG_SPEC_OOB_DETECTION", "True")
	}
	return nil
}

// oldMLA replaces tokenspeed_mla by what has taken its place.
func (s *state) oldMLA() {
	old := s.decodes("tokenspeed_mla")
	s.because("SGL-ATTN-NAMES", byDefault, "the backend has a successor")
	for _, name := range oldBackends {
		if !s.Is(name, "tokenspeed_mla") {
			continue
		}
		s.warn("--%s=tokenspeed_mla is deprecated; use 'cutedsl_mla' instead.", dashes(name))
		if name == "prefill_attention_backend" { // the successor only decodes
			s.Set(name, "trtllm_mla")
		} else {
			s.Set(name, "cutedsl_mla")
		}
	}
	if !old {
		return
	}
	if !s.Is("kv_cache_dtype", "fp8_e4m3") {
		s.warn("tokenspeed_mla required FP8 KV; setting --kv-cache-dtype=fp8_e4m3.")
		s.Set("kv_cache_dtype", "fp8_e4m3")
	}
	if !s.Nil("speculative_algorithm") && s.Is("speculative_attention_mode", "prefill") {
		s.Set("speculative_attention_mode", "decode")
	}
}

// ssl checks what can be checked without files.
func (s *state) ssl() error {
	has := func(name string) bool { return s.Str(name) != "" }
	switch {
	case has("ssl_keyfile") && !has("ssl_certfile"):
		return valueError("--ssl-keyfile requires --ssl-certfile to be specified as well.")
	case has("ssl_certfile") && !has("ssl_keyfile"):
		return valueError("--ssl-certfile requires --ssl-keyfile to be specified as well.")
	case has("ssl_ca_certs") && !has("ssl_certfile"):
		return valueError("--ssl-ca-certs has no effect without --ssl-certfile and --ssl-keyfile.")
	case has("ssl_keyfile_password") && !has("ssl_certfile"):
		return valueError("--ssl-keyfile-password has no effect without --ssl-certfile and --ssl-keyfile.")
	case s.Bool("enable_ssl_refresh") && !has("ssl_certfile"):
		return valueError("--enable-ssl-refresh requires --ssl-certfile and --ssl-keyfile to be specified.")
	}
	return nil
}

func (s *state) prefillDelayer() error {
	s.because("", byEnvironment, "variables of an older release still set the prefill delayer")
	if s.envSwitch("SGLANG_SCHEDULER_DECREASE_PREFILL_IDLE", false) {
		s.Set("enable_prefill_delayer", true)
	}
	passes := 0
	if !s.since(r0510) {
		passes = 30 // the variable's default, which wins over the flag
	}
	if n := s.envInt("SGLANG_PREFILL_DELAYER_MAX_DELAY_PASSES", passes); n != 0 {
		s.Set("prefill_delayer_max_delay_passes", n)
	}
	return nil
}

// fusionSwitch replaces the switch of the fused all-reduce by its backend.
func (s *state) fusionSwitch() {
	s.because("SGL-COMM-FUSION-004", byCoupling, "the switch has become a choice of backend", "enable_flashinfer_allreduce_fusion")
	if s.Bool("enable_flashinfer_allreduce_fusion") && s.Nil("flashinfer_allreduce_fusion_backend") {
		s.Set("flashinfer_allreduce_fusion_backend", "auto")
		s.warn("--enable-flashinfer-allreduce-fusion is deprecated. Please use --flashinfer-allreduce-fusion-backend=auto instead.")
	}
	s.Set("enable_flashinfer_allreduce_fusion", false)
}

// megaAlias: megamoe names the all-to-all backend, not the experts' kernels.
func (s *state) megaAlias() error {
	if !s.Is("moe_runner_backend", "megamoe") {
		return nil
	}
	s.because("SGL-MOE-MEGA", byDefault, "megamoe is an all-to-all backend")
	if !s.Is("moe_a2a_backend", "none", "megamoe") {
		s.warn("--moe-runner-backend megamoe is an alias for --moe-a2a-backend megamoe; overriding --moe-a2a-backend %s.", s.Str("moe_a2a_backend"))
	}
	s.Set("moe_runner_backend", "auto")
	s.Set("moe_a2a_backend", "megamoe")
	return nil
}

// hiddenMode says how much of the hidden states is returned.
func (s *state) hiddenMode() error {
	if !s.Nil("return_hidden_states_mode") {
		s.because("SGL-HIDDEN-STATES", byCoupling, "a mode turns them on", "return_hidden_states_mode")
		s.Set("enable_return_hidden_states", true)
	} else if s.Bool("enable_return_hidden_states") || s.since(r0523) && s.Bool("enable_return_aux_hidden_states") {
		s.because("SGL-HIDDEN-STATES", byDefault, "all of them, unless told otherwise", "enable_return_hidden_states")
		s.Set("return_hidden_states_mode", "full")
	}
	return nil
}

// oldBackends are settings whose value "compressed" is now "dsv4".
var oldBackends = []string{"attention_backend", "decode_attention_backend", "prefill_attention_backend", "speculative_draft_attention_backend"}

func (s *state) missingDefaults() error {
	if s.since(r0512) {
		s.unquant = s.Is("quantization", "unquant")
		if s.since(r0515) && s.Nil("speculative_draft_model_quantization") {
			s.inheritQuantization()
		}
		if s.unquant {
			s.because("SGL-QUANT-UNQUANT", byDefault, "unquant is no quantisation")
			s.Set("quantization", nil)
		}
		for _, name := range oldBackends {
			if s.Is(name, "compressed") {
				s.because("", byDefault, "the backend has a new name")
				s.Set(name, "dsv4")
				s.warn("--%s=compressed is deprecated; use 'dsv4' instead.", dashes(name))
			}
		}
		if s.Bool("enable_deterministic_inference") && !s.since(r0515) {
			s.because("SGL-COMM-DETERMINISTIC-001", byCoupling, "the fused all-reduce is not deterministic", "enable_deterministic_inference")
			s.Set("enforce_disable_flashinfer_allreduce_fusion", true)
		}
	}
	s.because("", byDefault, "not given")
	for _, name := range []string{"tokenizer_path", "served_model_name"} {
		if s.Nil(name) {
			s.silent(name, s.Get("model_path"))
		}
	}
	if s.Nil("device") {
		s.silent("device", "cuda")
	}
	if s.Is("mamba_scheduler_strategy", "auto") && !s.since(r0515) {
		s.because("", byDefault, "auto is no_buffer")
		s.Set("mamba_scheduler_strategy", "no_buffer")
	}
	if !s.since(r0508) {
		return nil
	}
	switch {
	case s.Nil("speculative_draft_model_quantization") && !s.since(r0515):
		s.inheritQuantization()
	case s.Is("speculative_draft_model_quantization", "unquant"):
		s.because("", byDefault, "unquant is no quantisation")
		s.Set("speculative_draft_model_quantization", nil)
	}
	return nil
}

func (s *state) inheritQuantization() {
	s.because("SGL-QUANT-DRAFT-001", byCoupling, "a draft model is quantised as the model, unless told otherwise", "quantization")
	s.Set("speculative_draft_model_quantization", s.Get("quantization"))
}

func (s *state) samplingBackend() error {
	if !s.Nil("sampling_backend") {
		return nil
	}
	s.because("", byHardware, "flashinfer samples on NVIDIA GPUs, PyTorch elsewhere")
	s.Set("sampling_backend", s.flashinferOr("pytorch"))
	return nil
}

// flashinferOr is the backend where flashinfer is available, or another one.
func (s *state) flashinferOr(other string) string {
	if s.flashinfer() {
		return "flashinfer"
	}
	return other
}

// flashinfer is is_flashinfer_available.
func (s *state) flashinfer() bool {
	v, ok := s.Env("SGLANG_IS_FLASHINFER_AVAILABLE")
	return s.gpu.cuda() && (!ok || v == "1" || v == "true")
}

func (s *state) grammar() error {
	if s.Nil("grammar_backend") {
		s.because("", byDefault, "xgrammar is the default")
		s.Set("grammar_backend", "xgrammar")
	}
	return nil
}

func (s *state) amd() error {
	if s.gpu.hip {
		s.because("", byHardware, "AMD GPUs split the KV cache in 16")
		s.Set("triton_attention_num_kv_splits", 16)
	}
	return nil
}

func (s *state) loadFormat() error { return nil }

func (s *state) tokenizer() error {
	if s.Bool("enable_tokenizer_batch_encode") && s.Bool("enable_dynamic_batch_tokenizer") {
		return valueError("Cannot enable both --enable-tokenizer-batch-encode and --enable-dynamic-batch-tokenizer. " +
			"Please choose one tokenizer batching approach.")
	}
	if !s.Bool("skip_tokenizer_init") || !s.since(r0509) {
		return nil
	}
	if n := s.Int("tokenizer_worker_num"); n != 1 && !s.since(r0518) {
		s.because("", byCoupling, "without a tokenizer there are no tokenizer workers", "skip_tokenizer_init")
		s.Set("tokenizer_worker_num", 1)
		s.warn("skip_tokenizer_init=True disables tokenizer workers; forcing tokenizer_worker_num=1 (requested %d).", n)
	}
	if n := s.Int("detokenizer_worker_num"); n != 1 && s.since(r0512) {
		s.because("", byCoupling, "without a tokenizer there are no detokenizer workers", "skip_tokenizer_init")
		s.Set("detokenizer_worker_num", 1)
		why := "disables detokenizer workers"
		if s.since(r0518) {
			why = "leaves no decode work for detokenizer workers"
		}
		s.warn("skip_tokenizer_init=True "+why+"; forcing detokenizer_worker_num=1 (requested %d).", n)
	}
	for _, name := range []string{"enable_tokenizer_batch_encode", "enable_dynamic_batch_tokenizer"} {
		if s.Bool(name) {
			s.because("", byCoupling, "there is no tokenizer", "skip_tokenizer_init")
			s.Set(name, false)
			s.warn("skip_tokenizer_init=True ignores --%s; disabling it.", dashes(name))
		}
	}
	if s.since(r0515) {
		s.because("", byCoupling, "there is no tokenizer", "skip_tokenizer_init")
		s.info("skip_tokenizer_init=True: string-based stop conditions (stop, stop_regex) and min_new_tokens are unavailable.")
	}
	return nil
}

func (s *state) environment() error {
	flag := func(b bool) string {
		if b {
			return "1"
		}
		return "0"
	}
	s.SetEnv("SGLANG_ENABLE_TORCH_COMPILE", flag(s.Bool("enable_torch_compile")))
	if v := s.Str("mamba_ssm_dtype"); v != "" {
		s.SetEnv("SGLANG_MAMBA_SSM_DTYPE", v)
	}
	s.SetEnv("SGLANG_DISABLE_OUTLINES_DISK_CACHE", flag(s.Bool("disable_outlines_disk_cache")))
	if s.since(r0506) {
		s.SetEnv("SGLANG_ENABLE_DETERMINISTIC_INFERENCE", flag(s.Bool("enable_deterministic_inference")))
	}
	if s.since(r0518) {
		if err := s.featureTransport(); err != nil {
			return err
		}
	}
	if s.since(r0512) {
		return s.kernelVariables()
	}
	return nil
}

// featurePool is the room on the GPU for pictures' features, in MiB.
const featurePool = 1024

// featureTransport says how pictures' features reach the GPU.
func (s *state) featureTransport() error {
	asked := s.Str("mm_feature_transport")
	const variable = "SGLANG_USE_CUDA_IPC_TRANSPORT"
	_, set := s.Env(variable)
	legacy := s.envSwitch(variable, false)
	s.because("SGL-MM-TRANSPORT", byDefault, "features of pictures go through the CPU unless asked otherwise")
	switch {
	case s.Bool("keep_mm_feature_on_device") && asked != "" && asked != "cuda_ipc":
		return valueError("--keep-mm-feature-on-device conflicts with --mm-feature-transport=%s. Use only --mm-feature-transport=cuda_ipc.", asked)
	case s.Bool("keep_mm_feature_on_device"):
		asked = "cuda_ipc"
		s.warn("--keep-mm-feature-on-device is deprecated; using --mm-feature-transport=cuda_ipc instead.")
	case asked == "" && set:
		asked = "cpu"
		if legacy {
			asked = "cuda_ipc"
		}
		s.warn("SGLANG_USE_CUDA_IPC_TRANSPORT is deprecated; use --mm-feature-transport=%s instead.", asked)
	case asked == "":
		asked = "cpu"
		if s.Bool("encoder_only") {
			s.info("Multimodal feature transport auto-resolved to cpu for encoder-only serving; encoder outputs use --encoder-transfer-backend instead.")
		}
	case set && legacy != (asked == "cuda_ipc"):
		s.warn("--mm-feature-transport=%s overrides the conflicting legacy SGLANG_USE_CUDA_IPC_TRANSPORT=%d setting.", asked, map[bool]int{true: 1}[legacy])
	}
	if s.Bool("encoder_only") && (asked == "cuda_ipc" || asked == "cuda_vmm") {
		s.warn("--mm-feature-transport=%s does not control encoder-only output transfer; using cpu for this inactive transport. Select --encoder-transfer-backend for encoder outputs.", asked)
		asked = "cpu"
	}
	switch {
	case asked == "cuda_ipc" && s.Int("nnodes") != 1:
		return valueError("--mm-feature-transport=cuda_ipc only supports a single node.")
	case (asked == "cuda_ipc" || asked == "cuda_vmm") && s.gpu.hip:
		return valueError("--mm-feature-transport=%s requires NVIDIA CUDA.", asked)
	case asked == "cuda_vmm" && s.Int("pp_size") != 1:
		return valueError("--mm-feature-transport=cuda_vmm does not support pipeline parallelism.")
	}
	if pool := s.envInt("SGLANG_MM_FEATURE_CACHE_MB", featurePool); asked == "cuda_ipc" {
		s.info("Using CUDA IPC for multimodal features: reserving up to %d MiB on base GPU %d across %d tokenizer worker(s). "+
			"This reduces KV cache headroom; a full pool falls back to CPU transport.", pool, s.Int("base_gpu_id"), s.Int("tokenizer_worker_num"))
		s.info("CUDA IPC pool-handle caching is %s. It reuses mappings to the existing bounded pool without reserving another pool; set SGLANG_USE_IPC_POOL_HANDLE_CACHE=0 to disable it.",
			map[bool]string{true: "enabled", false: "disabled"}[s.envSwitch("SGLANG_USE_IPC_POOL_HANDLE_CACHE", true)])
	} else if asked == "cuda_vmm" {
		kind := "POSIX FD"
		if s.Int("nnodes") > 1 {
			kind = "CUDA FABRIC"
		}
		s.info("Using CUDA VMM for multimodal features with %s sharing: reserving up to %d MiB on base GPU %d across %d tokenizer worker(s). "+
			"This reduces KV cache headroom; a full pool falls back to inline CPU transport.", kind, pool, s.Int("base_gpu_id"), s.Int("tokenizer_worker_num"))
	}
	s.Set("mm_feature_transport", asked)
	if s.Known("keep_mm_feature_on_device") {
		s.Set("keep_mm_feature_on_device", false)
	}
	s.SetEnv("SGLANG_USE_CUDA_IPC_TRANSPORT", map[bool]string{true: "1", false: "0"}[asked == "cuda_ipc"])
	return nil
}

// kernelVariables are variables that choose kernels, by GPU and settings.
func (s *state) kernelVariables() error {
	const reduce, gemm = "SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2", "SGLANG_OPT_FP8_WO_A_GEMM"
	s.because("SGL-COMM-CUSTOM-001", byCoupling, "the kernels are for one node", "nnodes")
	if n := s.Int("nnodes"); n > 1 && s.envSwitch(reduce, true) {
		if _, set := s.Env(reduce); set {
			s.warn("Disabling SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2 because nnodes=%d (custom all-reduce v2 is intra-node only).", n)
		}
		s.SetEnv(reduce, "0")
	}
	if s.Bool("debug_cuda_graph") {
		s.because("SGL-GRAPH-DEBUG", byCoupling, "graphs are debugged", "debug_cuda_graph")
		s.SetEnv("SGLANG_USE_BREAKABLE_CUDA_GRAPH", "1")
		s.warn("Debug mode for CUDA graph is enabled via breakable CUDA graph. All operations will run eagerly through the graph capture/replay path.")
	}
	if s.since(r0518) && s.Bool("enable_deepseek_v4_fp4_indexer") && !s.gpu.blackwell() {
		return valueError("--enable-deepseek-v4-fp4-indexer requires SM100 or SM120 GPUs with DeepGEMM FP4 indexer support.")
	}
	if !s.since(r0518) && s.Bool("enable_deepseek_v4_fp4_indexer") && !s.gpu.sm100() {
		return valueError("--enable-deepseek-v4-fp4-indexer requires SM100 GPUs with DeepGEMM FP4 indexer support.")
	}
	if s.gpu.cuda() && s.envSwitch(gemm, true) {
		s.because("SGL-GEMM-WOA", byHardware, "the kernel is for SM100 and newer")
		_, set := s.Env(gemm)
		jit, ue8m0 := s.deepGEMM()
		old, later := s.gpu.sm() < 100, !ue8m0 && !(jit && s.gpu.sm90() && set)
		switch {
		case !s.since(r0518) && old && set:
			s.warn("Disabling SGLANG_OPT_FP8_WO_A_GEMM: requires sm100+ (Blackwell), detected sm%d.", s.gpu.sm())
		case s.since(r0518) && later && set:
			s.warn("Disabling SGLANG_OPT_FP8_WO_A_GEMM: requires DeepGEMM JIT and sm100+ (Blackwell), or explicit opt-in on sm90; detected sm%d.", s.gpu.sm())
		}
		if !s.since(r0518) && old || s.since(r0518) && later {
			s.SetEnv(gemm, "False")
		}
	}
	return nil
}

// mambaBackend checks the kernels of state-space layers.
func (s *state) mambaBackend() error {
	dtype := pyRepr(s.Get("mamba_ssm_dtype"))
	switch {
	case s.Int("mamba_cache_philox_rounds") < 0:
		return valueError("--mamba-cache-philox-rounds must be non-negative.")
	case s.Bool("enable_mamba_cache_stochastic_rounding") && !s.Is("mamba_ssm_dtype", "float16"):
		return valueError("Stochastic rounding for the Mamba SSM cache requires --mamba-ssm-dtype float16, got %s. Run with --mamba-ssm-dtype float16 or disable --enable-mamba-cache-stochastic-rounding.", dtype)
	case s.Bool("enable_mamba_cache_stochastic_rounding") && s.gpu.hip:
		return valueError("Stochastic rounding for the Mamba SSM cache is only supported on NVIDIA CUDA platforms. Disable --enable-mamba-cache-stochastic-rounding on this platform.")
	case s.Bool("enable_mamba_cache_stochastic_rounding") && s.Is("mamba_backend", "triton") && !s.gpu.sm100():
		return valueError("Stochastic rounding for the Mamba SSM cache with --mamba-backend triton requires SM100 with CUDA >= 12.8 because it uses the cvt.rs.f16x2.f32 PTX instruction.")
	case s.Is("mamba_backend", "flashinfer") && !s.flashinfer():
		return valueError("FlashInfer mamba module not available, please check the FlashInfer installation.")
	case s.Is("mamba_backend", "flashinfer"):
		s.info("Successfully imported FlashInfer mamba module")
	}
	switch {
	case !s.Bool("enable_int8_mamba_checkpoint"):
	case s.Bool("enable_hierarchical_cache"):
		return valueError("--enable-int8-mamba-checkpoint is not supported together with --enable-hierarchical-cache: the host-offload path (HiMambaRadixCache) is not int8-aware. Disable one of them.")
	case !s.Nil("radix_cache_backend"):
		return valueError("--enable-int8-mamba-checkpoint only supports the built-in mamba radix cache; --radix-cache-backend=%s is not int8-aware. Omit --radix-cache-backend.", pyRepr(s.Get("radix_cache_backend")))
	}
	return nil
}
func (s *state) otherValidations() error {
	if s.Nil("debug_tensor_dump_output_folder") {
		return nil
	}
	s.because("", byCoupling, "tensors are dumped", "debug_tensor_dump_output_folder")
	s.noGraphs()
	s.Set("skip_server_warmup", true)
	s.warn("Cuda graph and server warmup are disabled because of using tensor dump mode")
	return nil
}
