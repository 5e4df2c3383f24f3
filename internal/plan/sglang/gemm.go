package sglang

// deepGEMM says whether DeepGEMM is on, and whether its scales are UE8M0
// (sglang/srt/layers/deep_gemm_wrapper/configurer.py).
func (s *state) deepGEMM() (on, ue8m0 bool) {
	env := "SGLANG_ENABLE_JIT_DEEPGEMM"
	if !s.since(r0506) {
		env = "SGL_ENABLE_JIT_DEEPGEMM"
	}
	switch {
	case s.gpu.hip, s.gpu.sm() < 90, !s.envSwitch(env, true):
		return false, false
	case s.since(r0515) && !s.since(r0523) && s.gpu.sm() == 120:
		return false, false
	}
	switch {
	case !s.since(r0506):
		return true, s.gpu.major == 10
	case s.since(r0523):
		return true, s.gpu.sm100() || s.gpu.sm120()
	case s.since(r0515):
		return true, s.gpu.sm100()
	}
	return true, s.gpu.blackwell()
}

// tellGEMM fills in the matrix multiplication backends.
func (s *state) tellGEMM() {
	if !s.since(r0506) {
		return
	}
	s.Begin("SGL-GEMM", "sglang/srt/layers/quantization/fp8_utils.py initialize_fp8_gemm_config (0.5.9)")
	on, ue8m0 := s.deepGEMM()
	s.later["deepgemm.enabled"] = on
	s.later["deepgemm.scale_ue8m0"] = ue8m0
	fp8 := s.fp8GEMM()
	s.later["fp8_gemm_backend"] = fp8
	if linear := s.blockLinear(fp8); linear != "" {
		s.later["fp8_block_linear"] = linear
	}
	if s.since(r0508) {
		s.later["fp4_gemm_backend"] = s.fp4GEMM()
	}
}

// fp8GEMM is initialize_fp8_gemm_config.
func (s *state) fp8GEMM() string {
	asked := s.Str("fp8_gemm_runner_backend")
	if !s.since(r0510) {
		flashinfer, cutlass := s.envBool("SGLANG_ENABLE_FLASHINFER_FP8_GEMM"), s.envBool("SGLANG_SUPPORT_CUTLASS_BLOCK_FP8")
		switch {
		case asked != "auto" && (flashinfer || cutlass):
			s.warn("FP8 GEMM backend set to '%s' via --fp8-gemm-backend overrides environment variables SGLANG_ENABLE_FLASHINFER_FP8_GEMM and SGLANG_SUPPORT_CUTLASS_BLOCK_FP8. Using server argument value.", asked)
		case asked == "auto" && flashinfer:
			return "flashinfer_trtllm"
		case asked == "auto" && cutlass:
			return "cutlass"
		}
		return asked
	}
	switch {
	case asked != "auto":
	case s.gpu.sm120() && s.since(r0518):
		return "cutlass"
	case s.gpu.sm120():
		return "triton"
	case s.r == r0515 && s.Is("quantization", "mxfp8") && s.gpu.sm100() && s.flashinfer():
		return "flashinfer_cutlass"
	case s.since(r0523) && s.gpu.cuda() && s.gpu.major == 11:
		return "triton"
	}
	return asked
}

const (
	linearDeepGEMM   = "deepgemm_w8a8_block_fp8_linear_with_fallback"
	linearFlashinfer = "flashinfer_gemm_w8a8_block_fp8_linear_with_fallback"
	linearFlashDeep  = "flashinfer_deepgemm_w8a8_block_fp8_linear_with_fallback"
	linearCutlass    = "cutlass_w8a8_block_fp8_linear_with_fallback"
	linearAiter      = "aiter_w8a8_block_fp8_linear"
	linearTriton     = "triton_w8a8_block_fp8_linear"
)

// blockLinear is dispatch_w8a8_block_fp8_linear: the function for linear layers
// with block scales; empty when the backend is refused as soon as such a layer
// is made.
func (s *state) blockLinear(backend string) string {
	deep, _ := s.deepGEMM()
	flashinfer := s.flashinfer()
	aiter := s.gpu.hip && s.envBool("SGLANG_USE_AITER")
	cutlass := s.gpu.sm90() || s.gpu.blackwell()
	if s.since(r0518) {
		cutlass = s.gpu.sm120()
	}
	trtllm := s.gpu.blackwell()
	if s.since(r0510) {
		trtllm = s.gpu.sm100()
	}
	possible := map[string]bool{
		"deep_gemm": deep, "triton": true, "aiter": aiter, "cutlass": cutlass,
		"flashinfer_trtllm":   trtllm && flashinfer,
		"flashinfer_cutlass":  s.gpu.blackwell() && flashinfer && s.since(r0510),
		"flashinfer_deepgemm": s.gpu.sm90() && flashinfer && s.since(r0509),
	}
	function := map[string]string{
		"deep_gemm": linearDeepGEMM, "triton": linearTriton, "aiter": linearAiter, "cutlass": linearCutlass,
		"flashinfer_trtllm": linearFlashinfer, "flashinfer_cutlass": linearFlashinfer, "flashinfer_deepgemm": linearFlashDeep,
	}
	if backend != "auto" {
		if possible[backend] {
			return function[backend]
		}
		return ""
	}
	switch {
	case deep:
		return linearDeepGEMM
	case s.gpu.blackwell() && flashinfer:
		return linearFlashinfer
	case cutlass:
		return linearCutlass
	case aiter:
		return linearAiter
	}
	return linearTriton
}

// fp4GEMM is initialize_fp4_gemm_config.
func (s *state) fp4GEMM() string {
	asked := s.Str("fp4_gemm_runner_backend")
	if asked != "auto" {
		return asked
	}
	switch {
	case !s.since(r0510):
		return asked
	case s.since(r0512) && s.gpu.sm100():
		return "flashinfer_cutedsl"
	case s.since(r0515) && s.gpu.cuda() && s.gpu.major >= 8 && s.gpu.major < 10:
		return "marlin"
	case !s.since(r0515) && s.gpu.sm120():
		if s.r == r0510 {
			s.info("SM120 (Blackwell) detected: auto-selecting fp4-gemm-backend=flashinfer_cudnn")
		}
		return "flashinfer_cudnn"
	}
	return "flashinfer_cutlass"
}
