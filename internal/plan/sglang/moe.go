package sglang

import (
	"slices"
	"strings"
)

// moeKernel checks the kernels of the experts.
func (s *state) moeKernel() error {
	if s.since(r0515) {
		return s.moeLater()
	}
	if s.Is("quantization", "mxfp8") && s.since(r0510) {
		s.mxfp8()
	} else if s.Is("quantization", "mxfp8") {
		s.because("SGL-MOE-MXFP8", byCoupling, "MXFP8 experts run with cutlass", "quantization")
		if !s.Is("moe_runner_backend", "auto", "cutlass") {
			s.warn("mxfp8 quantization forces --moe-runner-backend=cutlass. Overriding '%s'.", s.Str("moe_runner_backend"))
		}
		s.Set("moe_runner_backend", "cutlass")
	}
	if s.Is("moe_runner_backend", "flashinfer_cutlass") {
		if !s.Is("quantization", "modelopt_fp4", "modelopt_fp8", nil) && !(s.since(r0510) && s.Is("quantization", "modelopt_mixed")) {
			return s.wrongQuantization("FlashInfer Cutlass MOE", "supports only", "'modelopt_fp4', 'modelopt_fp8'"+s.mixed()+", or bfloat16 (None)")
		}
		if !s.Is("ep_size", 1, s.Get("tp_size")) {
			return assertion("The expert parallel size must be 1 or the same as the tensor parallel size")
		}
	}
	if s.Is("moe_runner_backend", "flashinfer_cutedsl") && s.since(r0512) {
		if err := s.cuteDSL(); err != nil {
			return err
		}
	}
	if s.Is("moe_runner_backend", "flashinfer_trtllm") {
		if !s.since(r0508) && !s.Is("quantization", "modelopt_fp4", "modelopt_fp8", "fp8") {
			return assertion("modelopt_fp4, modelopt_fp8 or fp8 quantization is required for Flashinfer TRTLLM MoE")
		}
		if !s.Is("quantization", "modelopt_fp4", "fp8", "modelopt_fp8", "compressed-tensors", nil) && !(s.since(r0510) && s.Is("quantization", "modelopt_mixed", "mxfp8")) {
			return s.wrongQuantization("FlashInfer TRTLLM MOE", "supports only", "'modelopt_fp4', 'fp8', 'modelopt_fp8'"+s.mixed()+", 'compressed-tensors', or bfloat16 (None)")
		}
		s.because("SGL-MOE-FUSION-001", byCoupling, "flashinfer_trtllm cannot fuse the shared experts", "moe_runner_backend")
		s.Set("disable_shared_experts_fusion", true)
		s.warn("FlashInfer TRTLLM MoE is enabled. --disable-shared-experts-fusion is automatically set.")
	}
	if s.Is("moe_runner_backend", "flashinfer_trtllm_routed") {
		if !s.Is("quantization", "fp8", "mxfp8", nil) && !(s.since(r0512) && s.Is("quantization", "modelopt_fp4")) {
			names := "'fp8', 'mxfp8', or bfloat16 (None)"
			if s.since(r0512) {
				names = "'fp8', 'mxfp8', 'modelopt_fp4', or bfloat16 (None)"
			}
			return s.wrongQuantization("FlashInfer TRTLLM routed MOE", "supports only", names)
		}
		s.because("SGL-MOE-FUSION-003", byCoupling, "flashinfer_trtllm cannot fuse the shared experts", "moe_runner_backend")
		s.Set("disable_shared_experts_fusion", true)
		s.warn("FlashInfer TRTLLM routed MoE is enabled. --disable-shared-experts-fusion is automatically set.")
	}
	if s.envBool("SGLANG_CUTLASS_MOE") {
		s.because("SGL-MOE-CUTLASS", byEnvironment, "SGLANG_CUTLASS_MOE")
		s.warn("SGLANG_CUTLASS_MOE is deprecated, use --moe-runner-backend=cutlass and/or --speculative-moe-runner-backend=cutlass instead")
		if !s.Is("quantization", "fp8", "mxfp8") {
			return assertion("cutlass MoE is only supported with %s quantization", s.eightBit("fp8/mxfp8"))
		}
		s.Set("moe_runner_backend", "cutlass")
	}
	if s.Is("moe_runner_backend", "cutlass") && s.Is("quantization", "fp8", "mxfp8") && s.Int("ep_size") != 1 {
		return assertion("%s Cutlass MoE is only supported with ep_size == 1", s.eightBit("FP8/MXFP8"))
	}
	return s.moePiecewise()
}

// moePiecewise turns prefill graphs off for kernels that choose the experts
// themselves.
func (s *state) moePiecewise() error {
	if !s.since(r0510) || s.Bool("enforce_piecewise_cuda_graph") || !s.Is("moe_runner_backend", "flashinfer_trtllm", "flashinfer_mxfp4") {
		return nil
	}
	m, err := s.modelConfig()
	if err != nil || m.arch == "GptOssForCausalLM" {
		return err
	}
	s.because("SGL-GRAPH-PIECEWISE-001", byCoupling, "the experts' kernels cannot be captured", "moe_runner_backend")
	s.Set("disable_piecewise_cuda_graph", true)
	s.info("Piecewise cuda graph is disabled for MoE runner backend '%s' (bypassed topk is incompatible with torch.compile).", s.Str("moe_runner_backend"))
	return nil
}

// cuteDSL checks flashinfer's CuteDSL kernels.
func (s *state) cuteDSL() error {
	switch {
	case !s.Is("quantization", "modelopt_fp4"):
		return s.wrongQuantization("FlashInfer CuteDSL MOE", "currently supports only", "'modelopt_fp4'")
	case !s.Is("ep_size", 1, s.Get("tp_size")):
		return assertion("The expert parallel size must be 1 or the same as the tensor parallel size")
	case !s.Is("moe_a2a_backend", "none", "deepep"):
		return assertion("flashinfer_cutedsl supports moe_a2a_backend='none' (standard path) or 'deepep' (DeepEP low-latency path), got '%s'.", s.Str("moe_a2a_backend"))
	}
	s.because("SGL-MOE-FUSION-004", byCoupling, "CuteDSL cannot fuse the shared experts", "moe_runner_backend")
	s.Set("disable_shared_experts_fusion", true)
	s.warn("FlashInfer CuteDSL MoE is enabled. --disable-shared-experts-fusion is automatically set.")
	return nil
}

// mxfp8 chooses the kernels of MXFP8 experts.
func (s *state) mxfp8() {
	s.because("SGL-MOE-MXFP8", byCoupling, "MXFP8 experts run with flashinfer_trtllm or cutlass", "quantization")
	if s.since(r0518) {
		s.mxfp8Later()
		return
	}
	switch {
	case s.Is("moe_runner_backend", "auto"):
		s.Set("moe_runner_backend", "flashinfer_trtllm")
	case !s.Is("moe_runner_backend", "cutlass", "flashinfer_trtllm", "flashinfer_trtllm_routed"):
		s.warn("mxfp8 quantization supports only cutlass, flashinfer_trtllm, or flashinfer_trtllm_routed backends. Overriding '%s'.", s.Str("moe_runner_backend"))
		s.Set("moe_runner_backend", "flashinfer_trtllm")
	}
}

func (s *state) mxfp8Later() {
	allowed, runner := []string{"cutlass", "deep_gemm", "flashinfer_trtllm", "flashinfer_trtllm_routed"}, "flashinfer_trtllm"
	if s.since(r0523) {
		allowed = append(allowed, "flashinfer_megamoe")
		if s.Is("moe_a2a_backend", "flashinfer_megamoe") {
			runner = "flashinfer_megamoe"
		}
	}
	if s.gpu.hip {
		allowed, runner = append(allowed, "triton"), "triton"
	}
	asked := s.Str("moe_runner_backend")
	switch {
	case asked == "auto":
		s.Set("moe_runner_backend", runner)
	case !slices.Contains(allowed, asked):
		s.warn("mxfp8 quantization supports only %s backends. Overriding '%s'.", strings.Join(allowed, ", "), asked)
		s.Set("moe_runner_backend", runner)
	}
}

// mixed is how messages name modelopt_mixed where the release has it.
func (s *state) mixed() string {
	if s.since(r0510) {
		return ", 'modelopt_mixed'"
	}
	return ""
}

// wrongQuantization refuses a quantisation that the experts' kernels lack.
func (s *state) wrongQuantization(kernels, verb, names string) error {
	return assertion("Invalid quantization '%s'. \n%s %s: %s.", pyNone(s.Str("quantization")), kernels, verb, names)
}

// expertParallel makes the expert parallel size that of tensor parallelism.
func (s *state) expertParallel(name string) {
	s.because("SGL-MOE-EP-001", byCoupling, "the all-to-all backend spreads the experts over all ranks", "moe_a2a_backend")
	s.Set("ep_size", s.Get("tp_size"))
	s.warn("%s is enabled. The expert parallel size is adjusted to be the same as the tensor parallel size[%d].", name, s.Int("tp_size"))
}

func (s *state) a2aMoE() error {
	if s.since(r0518) {
		return s.a2aLater()
	}
	if s.since(r0512) {
		s.a2aForced()
	}
	if s.since(r0515) && s.Is("moe_a2a_backend", "megamoe", "deepep", "mooncake", "nixl", "ascend_fuseep", "flashinfer", "mori") {
		s.because("SGL-MOE-EP-001", byCoupling, "the all-to-all backend spreads the experts over all ranks", "moe_a2a_backend")
		s.Set("ep_size", s.Get("tp_size"))
	}
	switch s.Str("moe_a2a_backend") {
	case "deepep":
		if s.Is("deepep_mode", "normal") {
			s.because("SGL-GRAPH-DEEPEP-001", byCoupling, "DeepEP's normal mode cannot be captured", "deepep_mode")
			s.noGraphs()
			s.warn("Cuda graph is disabled because deepep_mode=`normal`")
		}
		if s.Bool("enable_deepep_waterfill") {
			s.waterfill()
		}
		s.expertParallel("DeepEP MoE")
	case "mooncake":
		s.expertParallel("Mooncake MoE")
	case "ascend_fuseep":
		s.expertParallel("Ascend fused EP MoE")
	case "nixl":
		s.expertParallel("Nixl MoE")
	case "flashinfer":
		return s.flashinferA2A()
	case "mori":
		s.because("SGL-MOE-MORI-001", byCoupling, "MoRI runs in normal mode", "moe_a2a_backend")
		s.Set("ep_size", s.Get("tp_size"))
		if !s.since(r0510) || s.Is("deepep_mode", "auto") {
			s.Set("deepep_mode", "normal")
			s.warn("auto set deepep_mode=`normal` for MORI EP")
		}
		s.expertParallel("MoRI MoE")
		exempt := s.since(r0510) && s.Is("disaggregation_mode", "decode")
		if !exempt && s.Int("chunked_prefill_size") > s.envInt("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 4096) {
			if s.since(r0515) {
				return assertion("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK (default 4096) must be >= the per-rank MoRI dispatch tokens (chunked_prefill_size by default)")
			}
			return assertion("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK (default 4096) must be larger or equal to chunked_prefill_size")
		}
	}
	return nil
}

// a2aForced are all-to-all backends that other settings force.
func (s *state) a2aForced() {
	if s.Bool("enable_deepep_waterfill") && !s.Is("moe_a2a_backend", "deepep") {
		s.because("SGL-MOE-DEEPEP-001", byCoupling, "Waterfill is a part of DeepEP", "enable_deepep_waterfill")
		s.Set("moe_a2a_backend", "deepep")
		s.warn("moe_a2a_backend is overridden to 'deepep' because DeepEP Waterfill requires the DeepEP backend.")
	}
	if s.envSwitch("SGLANG_OPT_USE_DEEPGEMM_MEGA_MOE", false) && !s.Is("moe_a2a_backend", "megamoe") {
		s.because("SGL-MOE-MEGA", byEnvironment, "SGLANG_OPT_USE_DEEPGEMM_MEGA_MOE")
		s.Set("moe_a2a_backend", "megamoe")
		s.info("SGLANG_OPT_USE_DEEPGEMM_MEGA_MOE is set, auto-configuring --moe-a2a-backend megamoe.")
	}
	if s.Is("moe_a2a_backend", "megamoe") {
		s.because("SGL-MOE-MEGA", byCoupling, "Mega MoE spreads the experts over all ranks", "moe_a2a_backend")
		s.Set("ep_size", s.Get("tp_size"))
		if _, ok := s.Env("SGLANG_OPT_FIX_MEGA_MOE_MEMORY"); !ok {
			s.SetEnv("SGLANG_OPT_FIX_MEGA_MOE_MEMORY", "True")
		}
		s.info("Mega MoE is enabled. The expert parallel size is adjusted to be the same as the tensor parallel size[%d].", s.Int("tp_size"))
	}
}

func (s *state) waterfill() {
	s.because("SGL-MOE-FUSION-002", byCoupling, "Waterfill sends shared experts with the others", "enable_deepep_waterfill")
	if s.Bool("disable_shared_experts_fusion") {
		s.Set("disable_shared_experts_fusion", false)
		s.warn("disable_shared_experts_fusion is overridden to False because DeepEP Waterfill requires shared expert fusion.")
	}
	s.Set("enforce_shared_experts_fusion", true)
	s.info("DeepEP Waterfill is enabled. Shared expert will be dispatched through DeepEP for load balancing.")
}

func (s *state) flashinferA2A() error {
	if s.since(r0515) {
		return s.flashinferA2ALater()
	}
	s.expertParallel("Flashinfer MoE A2A")
	s.because("SGL-MOE-FUSION-002", byCoupling, "shared experts are not fused over all-to-all", "moe_a2a_backend")
	s.Set("disable_shared_experts_fusion", true)
	s.warn("Flashinfer MoE A2A is enabled. --disable-shared-experts-fusion is automatically set.")
	if !s.Is("deepep_mode", "auto") {
		s.warn("--deepep-mode is ignored for Flashinfer MoE A2A")
	}
	if _, ok := s.Env("SGLANG_MOE_NVFP4_DISPATCH"); !ok {
		s.SetEnv("SGLANG_MOE_NVFP4_DISPATCH", "True")
		s.because("SGL-MOE-DISPATCH-001", byCoupling, "tokens travel as NVFP4", "moe_a2a_backend")
		s.warn("SGLANG_MOE_NVFP4_DISPATCH is set to True for Flashinfer MoE A2A")
	}
	if !s.Is("moe_runner_backend", "flashinfer_cutlass") {
		return assertion("Flashinfer MoE A2A is only supported with flashinfer_cutlass moe runner backend")
	}
	return nil
}

func (s *state) flashinferA2ALater() error {
	s.noSharedFusion("SGL-MOE-FUSION-002", "Flashinfer MoE A2A")
	if s.since(r0523) && (!s.dpAttention() || s.Int("attn_dp_size") != s.Int("tp_size")) {
		return assertion("Flashinfer MoE A2A requires --attn-dp-size equal to --tp-size, except for Muse Spark TP4/EP4 or TP8/EP8 prefill sequence parallelism.")
	}
	if !s.since(r0523) && (!s.dpAttention() || s.Int("dp_size") != s.Int("tp_size")) {
		return assertion("Flashinfer MoE A2A is only supported with dp_size == tp_size and --enable-dp-attention")
	}
	if !s.since(r0518) {
		s.expertParallel("Flashinfer MoE A2A")
	}
	if !s.Is("deepep_mode", "auto") {
		s.warn("--deepep-mode is ignored for Flashinfer MoE A2A")
	}
	if _, ok := s.Env("SGLANG_MOE_NVFP4_DISPATCH"); !ok && s.Is("quantization", "modelopt_fp4") {
		s.SetEnv("SGLANG_MOE_NVFP4_DISPATCH", "True")
		s.because("SGL-MOE-DISPATCH-001", byCoupling, "tokens travel as NVFP4", "moe_a2a_backend")
		s.warn("SGLANG_MOE_NVFP4_DISPATCH is set to True for Flashinfer MoE A2A")
	}
	if s.since(r0523) {
		if !s.Is("moe_runner_backend", "flashinfer_cutlass", "flashinfer_cutedsl", "flashinfer_trtllm", "flashinfer_trtllm_routed", "deep_gemm") {
			return assertion("FlashInfer MoE A2A is supported with flashinfer_cutlass, flashinfer_cutedsl, flashinfer_trtllm, flashinfer_trtllm_routed, or deep_gemm.")
		}
		return nil
	}
	if !s.Is("moe_runner_backend", "flashinfer_cutlass", "flashinfer_cutedsl", "flashinfer_trtllm_routed") {
		return assertion("Flashinfer MoE A2A is only supported with flashinfer_cutlass, flashinfer_cutedsl or flashinfer_trtllm_routed moe runner backend")
	}
	return nil
}

// a2aLater is a2aMoE from 0.5.18 on.
func (s *state) a2aLater() error {
	if s.Bool("enable_waterfill") && !s.Is("moe_a2a_backend", "deepep", "megamoe") {
		s.because("SGL-MOE-DEEPEP-001", byCoupling, "Waterfill is a part of DeepEP and Mega MoE", "enable_waterfill")
		s.Set("moe_a2a_backend", "deepep")
		s.warn("moe_a2a_backend is overridden to 'deepep' because Waterfill requires the DeepEP or MegaMOE backend.")
	}
	backend := s.Str("moe_a2a_backend")
	if s.Is("moe_a2a_backend", "megamoe", "deepep", "mooncake", "nixl", "ascend_fuseep", "flashinfer", "mori", "pplx", "deepep_v2", "flashinfer_megamoe") {
		s.because("SGL-MOE-EP-001", byCoupling, "the all-to-all backend spreads the experts over all ranks", "moe_a2a_backend")
		if ep, tp := s.Int("ep_size"), s.Int("tp_size"); ep != tp {
			s.info("%s MoE is enabled. The expert parallel size is adjusted from %d to the tensor parallel size [%d].", backend, ep, tp)
		}
		s.Set("ep_size", s.Get("tp_size"))
	}
	if s.Bool("enable_waterfill") {
		s.because("SGL-MOE-FUSION-002", byCoupling, "Waterfill sends shared experts with the others", "enable_waterfill")
		if s.Bool("disable_shared_experts_fusion") {
			s.Set("disable_shared_experts_fusion", false)
			s.warn("disable_shared_experts_fusion is overridden to False because Waterfill requires shared expert fusion.")
		}
		s.Set("enforce_shared_experts_fusion", true)
		s.info("Waterfill is enabled with moe_a2a_backend='%s'.", backend)
	}
	if s.since(r0523) && backend != "flashinfer" && !s.Is("flashinfer_a2a_dispatch_type", nil, "auto") {
		return valueError("--flashinfer-a2a-dispatch-type requires --moe-a2a-backend flashinfer.")
	}
	switch backend {
	case "flashinfer_megamoe":
		return s.flashinferMega()
	case "deepep_v2":
		return s.deepEPv2()
	case "ascend_tp":
		s.because("SGL-MOE-ASCEND", byHardware, "a name of no all-to-all backend", "moe_a2a_backend")
		s.Set("moe_a2a_backend", "none")
	case "deepep":
		return s.deepEPMode()
	case "flashinfer":
		return s.flashinferA2ALater()
	case "mori":
		s.because("SGL-MOE-MORI-001", byCoupling, "MoRI runs in normal mode", "moe_a2a_backend")
		if s.Is("deepep_mode", "auto") {
			s.Set("deepep_mode", "normal")
			s.warn("auto set deepep_mode=`normal` for MORI EP")
		}
		if !s.Is("disaggregation_mode", "decode") && s.Int("chunked_prefill_size") > s.envInt("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 4096) {
			return assertion("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK (default 4096) must be >= the per-rank MoRI dispatch tokens (chunked_prefill_size by default)")
		}
	case "pplx":
		return s.pplx()
	}
	return nil
}

// deepEPMode settles how DeepEP sends tokens.
func (s *state) deepEPMode() error {
	if s.Is("moe_runner_backend", "flashinfer_cutedsl") {
		switch s.Str("deepep_mode") {
		case "auto":
			s.because("SGL-MOE-DEEPEP-002", byCoupling, "CuteDSL has no handler for DeepEP's normal mode", "moe_runner_backend")
			s.Set("deepep_mode", "low_latency")
			s.warn("Forcing --deepep-mode low_latency: flashinfer_cutedsl FP4 MoE has no DeepEP normal-dispatch handler, " +
				"so deepep auto mode would crash during prefill. low_latency covers both prefill and decode.")
		case "normal":
			return valueError("flashinfer_cutedsl FP4 MoE only supports DeepEP low_latency dispatch (masked layout). " +
				"DeepEP normal (prefill) dispatch has no CuteDSL FP4 handler. Pass --deepep-mode low_latency or auto.")
		}
	}
	if s.Is("deepep_mode", "normal") {
		s.because("SGL-GRAPH-DEEPEP-001", byCoupling, "DeepEP's normal mode cannot be captured", "deepep_mode")
		s.noGraphs()
		s.warn("Cuda graph is disabled because deepep_mode=`normal`")
	}
	return nil
}

// pplx checks the all-to-all of pplx-kernels.
func (s *state) pplx() error {
	s.because("SGL-MOE-PPLX", byCoupling, "pplx has a low-latency mode only", "moe_a2a_backend")
	switch s.Str("deepep_mode") {
	case "normal":
		return valueError("moe_a2a_backend='pplx' only supports low-latency mode; set --deepep-mode to 'low_latency' or 'auto'.")
	case "auto":
		s.Set("deepep_mode", "low_latency")
		s.warn("auto set deepep_mode=`low_latency` for PPLX EP")
	}
	if s.since(r0523) && s.Int("attn_dp_size") < 2 {
		return assertion("moe_a2a_backend='pplx' requires attention DP with at least 2 groups (--attn-dp-size >= 2).")
	}
	if !s.since(r0523) && (!s.dpAttention() || s.Int("dp_size") < 2) {
		return assertion("moe_a2a_backend='pplx' requires --enable-dp-attention with at least 2 DP groups (--dp-size >= 2).")
	}
	if !s.Is("moe_runner_backend", "deep_gemm", "auto") {
		return assertion("moe_a2a_backend='pplx' is only supported with --moe-runner-backend deep_gemm (or auto).")
	}
	if s.Is("moe_runner_backend", "auto") {
		s.Set("moe_runner_backend", "deep_gemm")
		s.warn("auto set moe_runner_backend=`deep_gemm` for PPLX EP")
	}
	chunk := s.Int("chunked_prefill_size")
	if chunk > 0 && !s.Is("disaggregation_mode", "decode") && max(chunk, s.Int(s.graphMax("decode"))) > s.envInt("SGLANG_PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 128) {
		return assertion("SGLANG_PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK (default 128) must be >= the per-rank pplx dispatch tokens (chunked_prefill_size, or the decode cuda-graph batch size)")
	}
	return nil
}

func (s *state) eplb() error {
	if s.Bool("enable_eplb") && s.Nil("expert_distribution_recorder_mode") {
		s.because("SGL-MOE-EPLB-001", byCoupling, "balancing needs statistics", "enable_eplb")
		s.Set("expert_distribution_recorder_mode", "stat")
		s.warn("EPLB is enabled. The expert_distribution_recorder_mode is automatically set.")
	}
	if (s.Bool("enable_eplb") || !s.Is("init_expert_location", "trivial") || !s.since(r0506)) && s.Nil("ep_dispatch_algorithm") {
		s.because("SGL-MOE-EPLB-002", byCoupling, "experts have places", "enable_eplb", "init_expert_location")
		if s.since(r0518) && s.Is("moe_a2a_backend", "none") {
			s.Set("ep_dispatch_algorithm", "dynamic")
		} else {
			s.Set("ep_dispatch_algorithm", "static")
		}
	}
	if s.since(r0518) && s.Is("moe_a2a_backend", "none") && s.Is("ep_dispatch_algorithm", "static", "lp") {
		return valueError("--ep-dispatch-algorithm %s picks a different physical replica per rank, which only holds up when an a2a backend routes each token to a single rank.", s.Str("ep_dispatch_algorithm"))
	}
	if s.Bool("enable_eplb") && s.Int("ep_size") <= 1 && !s.Is("ep_join_mode", "scale") {
		return assertion("")
	}
	return nil
}

func (s *state) elasticEP() error {
	if s.Nil("elastic_ep_backend") || !s.Bool("enable_eplb") {
		return nil
	}
	if s.Is("eplb_algorithm", "auto") {
		s.because("", byCoupling, "ranks may leave", "elastic_ep_backend")
		s.Set("eplb_algorithm", "elasticity_aware")
	}
	if !s.Is("eplb_algorithm", "elasticity_aware") && !(s.since(r0510) && s.Is("eplb_algorithm", "elasticity_aware_hierarchical")) {
		return assertion("Elastic EP requires eplb_algorithm to be set to 'auto' or 'elasticity_aware'.")
	}
	return nil
}

func (s *state) expertMetrics() error {
	reported := s.Known("expert_balancedness_report_mode") && !s.Is("expert_balancedness_report_mode", "off")
	if (s.Bool("enable_expert_distribution_metrics") || reported) && s.Nil("expert_distribution_recorder_mode") {
		s.because("", byCoupling, "metrics need statistics", "enable_expert_distribution_metrics", "expert_balancedness_report_mode")
		s.Set("expert_distribution_recorder_mode", "stat")
	}
	if !s.Nil("expert_distribution_recorder_buffer_size") {
		return nil
	}
	s.because("", byCoupling, "as many steps as between two balancings", "eplb_rebalance_num_iterations")
	if !s.Nil("eplb_rebalance_num_iterations") {
		s.Set("expert_distribution_recorder_buffer_size", s.Get("eplb_rebalance_num_iterations"))
	} else if !s.Nil("expert_distribution_recorder_mode") {
		s.Set("expert_distribution_recorder_buffer_size", 1000)
	}
	return nil
}

// eightBit names the 8-bit formats that the release has.
func (s *state) eightBit(names string) string {
	if !s.since(r0509) {
		names, _, _ = strings.Cut(names, "/")
	}
	return names
}

// moeLater is moeKernel from 0.5.15 on.
func (s *state) moeLater() error {
	if err := s.quantRunner(); err != nil {
		return err
	}
	if err := s.checkRunner(); err != nil {
		return err
	}
	switch s.Str("moe_runner_backend") {
	case "lora_triton", "lora_cutedsl", "lora_marlin":
		s.because("SGL-MOE-FUSION-005", byCoupling, "adapters attach to the shared experts", "moe_runner_backend")
		s.Set("disable_shared_experts_fusion", true)
		s.warn("LoRA MoE keeps shared experts separate for adapter attachment.")
	case "flashinfer_cutedsl":
		s.noSharedFusion("SGL-MOE-FUSION-004", "FlashInfer CuteDSL MoE")
	case "flashinfer_trtllm", "experimental_sgl_trtllm":
		s.noSharedFusion("SGL-MOE-FUSION-001", "FlashInfer TRTLLM MoE")
	case "flashinfer_trtllm_routed":
		s.noSharedFusion("SGL-MOE-FUSION-003", "FlashInfer TRTLLM routed MoE")
	}
	if s.envSwitch("SGLANG_CUTLASS_MOE", false) && !s.since(r0518) {
		s.because("SGL-MOE-CUTLASS", byEnvironment, "SGLANG_CUTLASS_MOE")
		s.warn("SGLANG_CUTLASS_MOE is deprecated, use --moe-runner-backend=cutlass and/or --speculative-moe-runner-backend=cutlass instead")
		if !s.Is("quantization", "fp8", "mxfp8") {
			return assertion("cutlass MoE is only supported with fp8/mxfp8 quantization")
		}
		s.Set("moe_runner_backend", "cutlass")
	}
	if s.Is("moe_runner_backend", "cutlass") && s.Is("quantization", "fp8", "mxfp8") && s.Int("ep_size") != 1 {
		return assertion("FP8/MXFP8 Cutlass MoE is only supported with ep_size == 1")
	}
	return nil
}

func (s *state) noSharedFusion(id, kernels string) {
	s.because(id, byCoupling, "the kernels cannot fuse the shared experts", "moe_runner_backend")
	s.Set("disable_shared_experts_fusion", true)
	s.warn("%s is enabled. --disable-shared-experts-fusion is automatically set.", kernels)
}

// quantRunner chooses kernels by quantisation
// (_moe_runner_backend_quant_constraints).
func (s *state) quantRunner() error {
	if s.Is("quantization", "nvfp4_online") {
		switch {
		case !s.gpu.sm100():
			return valueError("--quantization nvfp4_online is supported only on NVIDIA Blackwell SM100/SM103 GPUs.")
		case s.Is("moe_runner_backend", "auto"):
			s.because("SGL-MOE-RUNNER-001", byCoupling, "experts quantised while loading run with flashinfer_trtllm", "quantization")
			s.Set("moe_runner_backend", "flashinfer_trtllm")
		case s.since(r0518) && s.Is("moe_runner_backend", "flashinfer_cutedsl"):
		case s.since(r0523) && !s.Is("moe_runner_backend", "flashinfer_trtllm", "flashinfer_trtllm_routed"):
			return valueError("--quantization nvfp4_online supports only --moe-runner-backend flashinfer_trtllm or flashinfer_trtllm_routed, or flashinfer_cutedsl; " +
				"flashinfer_megamoe requires --moe-a2a-backend flashinfer_megamoe and SGLANG_FLASHINFER_CUTEDSL_NVFP4_W4A16=1.")
		case s.since(r0518) && !s.Is("moe_runner_backend", "flashinfer_trtllm", "flashinfer_trtllm_routed"):
			return valueError("--quantization nvfp4_online supports only --moe-runner-backend flashinfer_trtllm or flashinfer_trtllm_routed, or flashinfer_cutedsl.")
		case !s.Is("moe_runner_backend", "flashinfer_trtllm", "flashinfer_trtllm_routed"):
			return valueError("--quantization nvfp4_online supports only --moe-runner-backend flashinfer_trtllm or flashinfer_trtllm_routed.")
		}
	}
	if s.Is("quantization", "mxfp8") {
		s.mxfp8()
	}
	if s.Is("moe_runner_backend", "auto") && s.Is("quantization", "modelopt_fp4") && s.gpu.sm120() {
		s.because("SGL-MOE-RUNNER-001", byHardware, "flashinfer_trtllm's kernels are for SM100 only", "quantization")
		s.Set("moe_runner_backend", "flashinfer_cutlass")
		which := "SM120"
		if s.since(r0523) {
			which = "SM110/SM120"
		}
		s.info("Use flashinfer_cutlass as MoE runner backend on %s for modelopt_fp4 (trtllm-gen MoE kernels are SM100-only)", which)
	}
	return nil
}

// checkRunner refuses combinations of kernels and quantisation.
func (s *state) checkRunner() error {
	parallel := s.Is("ep_size", 1, s.Get("tp_size"))
	const sizes = "The expert parallel size must be 1 or the same as the tensor parallel size"
	switch s.Str("moe_runner_backend") {
	case "flashinfer_cutlass":
		if !s.Is("quantization", "modelopt_fp4", "modelopt_fp8", "modelopt_mixed", nil) {
			return s.wrongQuantization("FlashInfer Cutlass MOE", "supports only", "'modelopt_fp4', 'modelopt_fp8', 'modelopt_mixed', or bfloat16 (None)")
		}
		if !parallel {
			return assertion(sizes)
		}
	case "flashinfer_cutedsl":
		switch {
		case s.since(r0518) && !s.Is("quantization", "modelopt_fp4", "modelopt_mixed", "nvfp4_online"):
			return s.wrongQuantization("FlashInfer CuteDSL MOE", "currently supports only", "'modelopt_fp4', 'modelopt_mixed' (with NVFP4 MoE layers), 'nvfp4_online', or hybrid NVFP4 models")
		case !s.since(r0518) && !s.Is("quantization", "modelopt_fp4"):
			return s.wrongQuantization("FlashInfer CuteDSL MOE", "currently supports only", "'modelopt_fp4' or hybrid NVFP4 models")
		case !parallel:
			return assertion(sizes)
		case !s.Is("moe_a2a_backend", "none", "deepep", "flashinfer"):
			return assertion("flashinfer_cutedsl supports moe_a2a_backend='none', 'deepep', or 'flashinfer', got '%s'.", s.Str("moe_a2a_backend"))
		case s.since(r0518) && s.Is("moe_a2a_backend", "deepep") && (s.Is("quantization", "nvfp4_online") || s.envSwitch("SGLANG_FLASHINFER_NVFP4_PER_TOKEN_ACTIVATION", false)):
			return valueError("flashinfer_cutedsl per-token NVFP4 activation requires moe_a2a_backend='none' or 'flashinfer'.")
		}
	case "flashinfer_trtllm", "experimental_sgl_trtllm":
		if !s.Is("quantization", "modelopt_fp4", "nvfp4_online", "fp8", "mxfp8", "modelopt_fp8", "modelopt_mixed", "compressed-tensors", nil) {
			return s.wrongQuantization("FlashInfer TRTLLM MOE", "supports only", "'modelopt_fp4', 'nvfp4_online', 'fp8', 'modelopt_fp8', 'modelopt_mixed', 'compressed-tensors', or bfloat16 (None)")
		}
	case "flashinfer_trtllm_routed":
		names := "'fp8', 'mxfp8', 'modelopt_fp4', 'nvfp4_online', or bfloat16 (None)"
		if s.since(r0518) {
			names = "'fp8', 'mxfp8', 'modelopt_fp4', 'modelopt_mixed', 'nvfp4_online', or bfloat16 (None)"
		}
		if s.since(r0523) {
			names = "'fp8', 'mxfp8', 'modelopt_fp4', 'modelopt_mixed', 'nvfp4_online', 'minimax_m3_nvfp4', or bfloat16 (None)"
		}
		if !s.Is("quantization", "fp8", "mxfp8", "modelopt_fp4", "nvfp4_online", nil) && !(s.since(r0518) && s.Is("quantization", "modelopt_mixed", "minimax_m3_nvfp4")) {
			return s.wrongQuantization("FlashInfer TRTLLM routed MOE", "supports only", names)
		}
	}
	return nil
}

// cuteDSLBudget checks that flashinfer's all-to-all has room for the largest
// forward pass of CuteDSL experts.
func (s *state) cuteDSLBudget() error {
	if !s.Is("moe_a2a_backend", "flashinfer") || !s.Is("moe_runner_backend", "flashinfer_cutedsl") || s.Int("max_prefill_tokens") <= 0 || s.Is("disaggregation_mode", "decode") {
		return nil
	}
	perRequest := 1
	if !s.Nil("speculative_algorithm") {
		perRequest = max(1, s.Int("speculative_num_draft_tokens"))
	}
	prefill := s.Int("max_prefill_tokens")
	if s.Is(prefillGraph, "tc_piecewise") {
		prefill = max(prefill, s.Int(s.graphMax("prefill")))
	}
	need := max(prefill, s.Int(s.graphMax("decode"))*perRequest)
	perRank, ep := s.envInt("SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 1024), s.Int("ep_size")
	if perRank*ep < need {
		return valueError("FlashInfer MoE A2A with flashinfer_cutedsl requires SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK * ep_size to cover the largest CuteDSL MoE forward (%d tokens).", need)
	}
	return nil
}
