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
	if s.Bool("enable_nan_detection") && s.since(r0510) {
		s.because("", byCoupling, "the switch has become variables", "enable_nan_detection")
		s.warn("--enable-nan-detection is deprecated. Use SGLANG_SPEC_NAN_DETECTION=1 and SGLANG_SPEC_OOB_DETECTION=1 instead.")
		s.SetEnv("SGLANG_SPEC_NAN_DETECTION", "True")
		s.SetEnv("SGLANG_SPEC_OOB_DETECTION", "True")
	}
	return nil
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
	if n := s.envInt("SGLANG_PREFILL_DELAYER_MAX_DELAY_PASSES", 0); n != 0 {
		s.Set("prefill_delayer_max_delay_passes", n)
	}
	return nil
}

// oldBackends are settings whose value "compressed" is now "dsv4".
var oldBackends = []string{"attention_backend", "decode_attention_backend", "prefill_attention_backend", "speculative_draft_attention_backend"}

func (s *state) missingDefaults() error {
	if s.since(r0512) {
		s.unquant = s.Is("quantization", "unquant")
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
		if s.Bool("enable_deterministic_inference") {
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
	if s.Is("mamba_scheduler_strategy", "auto") {
		s.because("", byDefault, "auto is no_buffer")
		s.Set("mamba_scheduler_strategy", "no_buffer")
	}
	if !s.since(r0508) {
		return nil
	}
	switch {
	case s.Nil("speculative_draft_model_quantization"):
		s.because("", byCoupling, "a draft model is quantised as the model, unless told otherwise", "quantization")
		s.Set("speculative_draft_model_quantization", s.Get("quantization"))
	case s.Is("speculative_draft_model_quantization", "unquant"):
		s.because("", byDefault, "unquant is no quantisation")
		s.Set("speculative_draft_model_quantization", nil)
	}
	return nil
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
	if n := s.Int("tokenizer_worker_num"); n != 1 {
		s.because("", byCoupling, "without a tokenizer there are no tokenizer workers", "skip_tokenizer_init")
		s.Set("tokenizer_worker_num", 1)
		s.warn("skip_tokenizer_init=True disables tokenizer workers; forcing tokenizer_worker_num=1 (requested %d).", n)
	}
	for _, name := range []string{"enable_tokenizer_batch_encode", "enable_dynamic_batch_tokenizer"} {
		if s.Bool(name) {
			s.because("", byCoupling, "there is no tokenizer", "skip_tokenizer_init")
			s.Set(name, false)
			s.warn("skip_tokenizer_init=True ignores --%s; disabling it.", dashes(name))
		}
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
	return nil
}

func (s *state) otherValidations() error {
	if s.Nil("debug_tensor_dump_output_folder") {
		return nil
	}
	s.because("", byCoupling, "tensors are dumped", "debug_tensor_dump_output_folder")
	s.Set("disable_cuda_graph", true)
	s.Set("skip_server_warmup", true)
	s.warn("Cuda graph and server warmup are disabled because of using tensor dump mode")
	return nil
}
