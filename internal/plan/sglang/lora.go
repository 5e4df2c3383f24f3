package sglang

import (
	"sort"
	"strings"
)

// loraModules are SUPPORTED_LORA_TARGET_MODULES.
func (s *state) loraModules() []string {
	list := strings.Fields("q_proj k_proj v_proj o_proj gate_proj up_proj down_proj qkv_proj gate_up_proj")
	if s.since(r0506) {
		list = append(list, "embed_tokens", "lm_head")
	}
	return list
}

// checkLoRA is check_lora_server_args.
func (s *state) checkLoRA() error {
	if s.Int("max_loras_per_batch") <= 0 {
		return assertion("max_loras_per_batch must be positive")
	}
	paths, _ := s.Get("lora_paths").([]any)
	if len(paths) > 0 && s.Nil("enable_lora") {
		s.because("SGL-LORA-ON", byCoupling, "adapters are named", "lora_paths")
		s.Set("enable_lora", true)
		s.warn("--enable-lora is set to True because --lora-paths is provided.")
	}
	if !s.Bool("enable_lora") {
		return s.loraMoE()
	}
	if s.Known("enable_lora_overlap_loading") {
		if s.Nil("enable_lora_overlap_loading") {
			s.because("SGL-LORA-OVERLAP", byDefault, "adapters load one after the other")
			s.Set("enable_lora_overlap_loading", false)
		}
		if limit := 2 * s.Int("max_loras_per_batch"); s.Bool("enable_lora_overlap_loading") && (s.Nil("max_loaded_loras") || s.Int("max_loaded_loras") > limit) {
			return assertion("Enabling LoRA overlap loading requires pinning LoRA adapter weights in CPU memory, so --max-loaded-loras must be less than or equal to double --max-loras-per-batch: %d", limit)
		}
	}
	if s.since(r0523) && !s.Is("speculative_algorithm", "NGRAM", nil, "EAGLE", "EAGLE3", "DFLASH", "DSPARK") {
		return valueError("LoRA is only compatible with NGRAM, EAGLE, NEXTN, EAGLE3, DFLASH, or DSPARK speculative decoding, not %s.", s.Str("speculative_algorithm"))
	}
	if s.since(r0506) && !s.since(r0523) && !s.Is("speculative_algorithm", "NGRAM", nil) {
		return valueError("Currently LoRA is only compatible with NGRAM speculative decoding.")
	}
	if s.Nil("lora_paths") {
		s.because("SGL-LORA-PATHS", byDefault, "no adapter at start")
		s.Set("lora_paths", []any{})
	}
	if err := s.loraTargets(); err != nil {
		return err
	}
	if len(paths) == 0 && (s.Int("max_lora_rank") == 0 || s.Nil("lora_target_modules")) {
		return assertion("When no initial --lora-paths is provided, you need to specify both --max-lora-rank and --lora-target-modules for LoRA initialization.")
	}
	if err := s.loraLimits(len(paths)); err != nil {
		return err
	}
	return s.loraMoE()
}

// loraMoE checks the experts' kernels that serve adapters
// (check_lora_moe_runner_args).
func (s *state) loraMoE() error {
	backend := s.Str("moe_runner_backend")
	draft := s.Str("speculative_moe_runner_backend")
	if !s.Nil("speculative_algorithm") && strings.HasPrefix(draft, "lora") && s.since(r0523) {
		return valueError("--speculative-moe-runner-backend %s is not supported: the LoRA MoE runner serves adapter traffic on the target model", draft)
	}
	if !strings.HasPrefix(backend, "lora") {
		return nil
	}
	flag := "--moe-runner-backend " + backend
	switch {
	case !s.Bool("enable_lora"):
		return valueError(flag + " requires --enable-lora (or --lora-paths)")
	case !s.Is("lora_backend", "triton_v2"):
		return valueError(flag + " requires --lora-backend triton_v2")
	case !s.Is("quantization", nil, "fp8", "modelopt_fp4"):
		return valueError(flag+" supports unquantized BF16, 128-block FP8 and ModelOpt NVFP4 MoE, got --quantization %s", s.Str("quantization"))
	case s.Is("quantization", "modelopt_fp4") && backend != "lora_marlin":
		return valueError(flag + " cannot run ModelOpt NVFP4 MoE; use --moe-runner-backend lora_marlin")
	case !s.Is("moe_a2a_backend", "none"):
		return valueError(flag+" requires Standard dispatch, got --moe-a2a-backend %s", s.Str("moe_a2a_backend"))
	case !s.Nil("ep_join_mode"):
		return valueError(flag + " does not yet support elastic EP")
	case s.Bool("enable_eplb") || !s.Is("init_expert_location", "trivial") || s.Int("ep_num_redundant_experts") > 0:
		return valueError(flag + " currently requires trivial expert placement without EPLB or redundant experts")
	}
	return nil
}

func (s *state) loraTargets() error {
	targets, _ := s.Get("lora_target_modules").([]any)
	if len(targets) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, t := range targets {
		name, _ := t.(string)
		set[name] = true
	}
	if set["all"] && len(set) > 1 {
		return assertion("If 'all' is specified in --lora-target-modules, it should be the only module specified.")
	}
	s.because("SGL-LORA-TARGET-001", byCoupling, "all stands for every module with adapters", "lora_target_modules", "lora_backend")
	line := ""
	if set["all"] && !s.since(r0512) { // later the scheduler knows what all is
		set = map[string]bool{}
		for _, n := range s.loraModules() {
			set[n] = true
		}
		if s.Is("lora_backend", "csgmv") && s.since(r0506) && !s.since(r0510) {
			line = "LoRA backend 'csgmv' does not yet support embedding or lm_head layers; " +
				"dropping 'embed_tokens' and 'lm_head' from --lora-target-modules=all. " +
				"To apply LoRA to these, use --lora-backend triton."
			delete(set, "embed_tokens")
			delete(set, "lm_head")
		}
	}
	names := make([]string, 0, len(set))
	for n := range set {
		names = append(names, n)
	}
	sort.Strings(names)
	out := make([]any, len(names))
	for i, n := range names {
		out[i] = n
	}
	s.Set("lora_target_modules", out)
	if line != "" {
		s.warn("%s", line)
	}
	return nil
}

func (s *state) loraLimits(paths int) error {
	if !s.Nil("max_loaded_loras") {
		n := s.Int("max_loaded_loras")
		if n < s.Int("max_loras_per_batch") {
			return assertion("max_loaded_loras should be greater than or equal to max_loras_per_batch. max_loaded_loras=%d, max_loras_per_batch=%d", n, s.Int("max_loras_per_batch"))
		}
		if paths > n {
			return assertion("The number of LoRA paths should not exceed max_loaded_loras. max_loaded_loras=%d, lora_paths=%d", n, paths)
		}
	}
	if !s.Nil("max_lora_chunk_size") {
		n := s.Int("max_lora_chunk_size")
		if n < 16 || n > 128 || n&(n-1) != 0 {
			return assertion("--max-lora-chunk-size must be a power of 2 between 16 and 128.")
		}
	}
	return nil
}
