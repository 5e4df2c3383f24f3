package vllm

import (
	"slices"
	"strings"
	"testing"

	"shakedown/internal/plan"
)

func texts(lines []plan.Line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Text
	}
	return out
}

// experts is the question for a gated model with softmax routing.
func experts(r release, sm int, scheme moeScheme, change func(*moeInput)) moeInput {
	in := moeInput{r: r, sm: sm, scheme: scheme, activation: "silu", hidden: 7168, env: variables(nil)}
	if scheme == moeMXFP4 {
		in.activation = "swigluoai"
	}
	if change != nil {
		change(&in)
	}
	return in
}

func variables(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func env(pairs ...string) func(*moeInput) {
	m := map[string]string{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return func(in *moeInput) { in.env = variables(m) }
}

func asked(name string) func(*moeInput) { return func(in *moeInput) { in.asked = name } }

func TestExpertKernels(t *testing.T) {
	cases := []struct {
		name           string
		in             moeInput
		backend, class string
		failed         string // part of the message
	}{
		{"BF16, Hopper", experts(v0320, 90, moePlain, nil), "TRITON", "TritonExperts", ""},
		{"BF16, Blackwell", experts(v0320, 100, moePlain, nil), "FLASHINFER_TRTLLM", "TrtLlmBf16ExpertsMonolithic", ""},
		{"BF16, Blackwell, 0.24", experts(v0240, 100, moePlain, nil), "FLASHINFER_TRTLLM", "TrtLlmBf16Experts", ""},
		{"BF16, SM 12", experts(v0240, 120, moePlain, nil), "FLASHINFER_CUTLASS", "FlashInferExperts", ""},
		{"BF16, Ampere", experts(v0240, 80, moePlain, nil), "TRITON", "TritonExperts", ""},
		{"BF16 with gpt-oss's activation", experts(v0320, 120, moePlain, func(in *moeInput) { in.activation = "swigluoai" }), "TRITON", "TritonExperts", ""},
		{"BF16 data parallel", experts(v0240, 120, moePlain, func(in *moeInput) { in.dp = true }), "TRITON", "TritonExperts", ""},
		{"BF16 before its oracle", experts(v0191, 100, moePlain, nil), "TRITON", "", ""},
		{"BF16, FlashInfer asked by variable", experts(v0160, 100, moePlain, env("VLLM_USE_FLASHINFER_MOE_FP16=1")), "FLASHINFER_TRTLLM", "", ""},
		{"BF16, FlashInfer for expert parallelism", experts(v0191, 120, moePlain, func(in *moeInput) { env("VLLM_USE_FLASHINFER_MOE_FP16=1")(in); in.ep = true }), "FLASHINFER_CUTLASS", "", ""},
		{"BF16, named", experts(v0320, 120, moePlain, asked("triton")), "TRITON", "TritonExperts", ""},
		{"BF16, unknown name", experts(v0320, 120, moePlain, asked("marlin")), "", "", "ValueError: moe_backend='marlin' is not supported for unquantized MoE. Expected one of ['triton', 'batched_triton', 'flashinfer_trtllm', 'flashinfer_cutlass', 'aiter']."},
		{"BF16, named, old, unavailable", experts(v0191, 90, moePlain, asked("flashinfer_trtllm")), "", "", "FlashInfer TRTLLM MoE backend is not available"},
		{"BF16, humming means automatic", experts(v0320, 90, moePlain, asked("humming")), "TRITON", "TritonExperts", ""},

		{"FP8, Hopper", experts(v0240, 90, moeFP8, nil), "TRITON", "TritonExperts", ""},
		{"FP8, Hopper, expert parallel", experts(v0240, 90, moeFP8, func(in *moeInput) { in.ep = true }), "FLASHINFER_CUTLASS", "FlashInferExperts", ""},
		{"FP8, Hopper, 0.16", experts(v0160, 90, moeFP8, nil), "FLASHINFER_CUTLASS", "FlashInferExperts", ""},
		{"FP8, Blackwell", experts(v0240, 100, moeFP8, nil), "FLASHINFER_TRTLLM", "TrtLlmFp8ExpertsMonolithic", ""},
		{"FP8, Blackwell, softmax, 0.19", experts(v0191, 100, moeFP8, nil), "FLASHINFER_TRTLLM", "TrtLlmFp8ExpertsModular", ""},
		{"FP8, Blackwell, grouped, 0.19", experts(v0191, 100, moeFP8, func(in *moeInput) { in.grouped = true }), "FLASHINFER_TRTLLM", "TrtLlmFp8ExpertsMonolithic", ""},
		{"FP8, SM 12", experts(v0240, 120, moeFP8, nil), "DEEPGEMM", "TritonOrDeepGemmExperts", ""},
		{"FP8, SM 12, 0.19", experts(v0191, 120, moeFP8, nil), "TRITON", "TritonExperts", ""},
		{"FP8, SM 12, DeepGEMM off", experts(v0240, 120, moeFP8, env("VLLM_USE_DEEP_GEMM=0")), "TRITON", "TritonExperts", ""},
		{"FP8, DeepGEMM on", experts(v0240, 100, moeFP8, env("VLLM_USE_DEEP_GEMM=1")), "DEEPGEMM", "TritonOrDeepGemmExperts", ""},
		{"FP8, Ampere", experts(v0240, 80, moeFP8, nil), "MARLIN", "MarlinExperts", ""},
		{"FP8, Marlin by variable", experts(v0240, 100, moeFP8, env("VLLM_TEST_FORCE_FP8_MARLIN=1")), "MARLIN", "MarlinExperts", ""},
		{"FP8, FlashInfer off", experts(v0191, 100, moeFP8, env("VLLM_USE_FLASHINFER_MOE_FP8=0")), "DEEPGEMM", "TritonOrDeepGemmExperts", ""},
		{"FP8, FlashInfer's choice", experts(v0191, 90, moeFP8, env("VLLM_USE_FLASHINFER_MOE_FP8=1")), "FLASHINFER_CUTLASS", "FlashInferExperts", ""},
		{"FP8, FlashInfer named", experts(v0191, 90, moeFP8, env("VLLM_USE_FLASHINFER_MOE_FP8=1", "VLLM_FLASHINFER_MOE_BACKEND=latency")), "", "", "FP8 MoE backend FLASHINFER_TRTLLM does not support the deployment configuration since kernel does not support current device cuda."},
		{"FP8, FlashInfer without a kernel", experts(v0191, 120, moeFP8, env("VLLM_USE_FLASHINFER_MOE_FP8=1")), "", "", "NotImplementedError: Found VLLM_USE_FLASHINFER_MOE_FP8=1"},
		{"FP8, cutlass named", experts(v0240, 90, moeFP8, asked("cutlass")), "", "", "vLLM CUTLASS FP8 MoE backend is disabled"},
		{"FP8, AITER named", experts(v0240, 120, moeFP8, asked("aiter")), "", "", "set VLLM_ROCM_USE_AITER=1"},
		{"FP8, batch invariance on Ampere", experts(v0240, 80, moeFP8, func(in *moeInput) { in.invariant = true }), "", "", "No FP8 MoE backend supports"},

		{"NVFP4, Hopper", experts(v0240, 90, moeNVFP4, nil), "MARLIN", "MarlinExperts", ""},
		{"NVFP4, Blackwell", experts(v0240, 103, moeNVFP4, nil), "FLASHINFER_TRTLLM", "TrtLlmNvFp4ExpertsMonolithic", ""},
		{"NVFP4, Blackwell, 0.16 names no class", experts(v0160, 100, moeNVFP4, nil), "FLASHINFER_TRTLLM", "", ""},
		{"NVFP4, Blackwell, odd width, 0.19", experts(v0191, 100, moeNVFP4, func(in *moeInput) { in.hidden = 2880 }), "FLASHINFER_CUTLASS", "FlashInferExperts", ""},
		{"NVFP4, SM 12", experts(v0160, 120, moeNVFP4, nil), "FLASHINFER_CUTLASS", "FlashInferExperts", ""},
		{"NVFP4, batch invariance", experts(v0240, 80, moeNVFP4, func(in *moeInput) { in.invariant = true }), "EMULATION", "Nvfp4QuantizationEmulationTritonExperts", ""},
		{"NVFP4, batch invariance, SM 12", experts(v0320, 120, moeNVFP4, func(in *moeInput) { in.invariant = true }), "VLLM_CUTLASS", "CutlassExpertsFp4", ""},
		{"NVFP4, b12x named", experts(v0240, 120, moeNVFP4, asked("flashinfer_b12x")), "FLASHINFER_B12X", "FlashInferB12xExperts", ""},
		{"NVFP4, b12x elsewhere", experts(v0240, 90, moeNVFP4, asked("flashinfer_b12x")), "", "", "NvFp4 MoE backend 'FLASHINFER_B12X' does not support"},
		{"NVFP4, FlashInfer by variable", experts(v0160, 120, moeNVFP4, env("VLLM_USE_FLASHINFER_MOE_FP4=1")), "FLASHINFER_CUTLASS", "", ""},

		{"MXFP4, Hopper", experts(v0240, 90, moeMXFP4, nil), "TRITON", "OAITritonMxfp4ExpertsMonolithic", ""},
		{"MXFP4, Blackwell", experts(v0240, 100, moeMXFP4, nil), "FLASHINFER_TRTLLM_MXFP4_BF16", "TrtLlmMxfp4ExpertsMonolithic", ""},
		{"MXFP4, SM 12", experts(v0320, 120, moeMXFP4, nil), "MARLIN", "MarlinExperts", ""},
		{"MXFP4, unfused on SM 12", experts(v0320, 120, moeMXFP4, asked("triton_unfused")), "TRITON_UNFUSED", "UnfusedOAITritonExperts", ""},
		{"MXFP4, activations in FP8", experts(v0240, 100, moeMXFP4, asked("flashinfer_trtllm_afp8")), "FLASHINFER_TRTLLM_MXFP4_MXFP8", "TrtLlmMxfp4ExpertsMonolithic", ""},
		{"MXFP4, unknown name", experts(v0240, 90, moeMXFP4, asked("cutlass")), "", "", "moe_backend='cutlass' is not supported for MXFP4 MoE"},
		{"MXFP4, batch invariance", experts(v0240, 121, moeMXFP4, func(in *moeInput) { in.invariant = true }), "", "", "No MXFP4 MoE backend supports the deployment configuration. weight_key=kMxfp4Static"},
		{"MXFP4, batch invariance, 0.32", experts(v0320, 121, moeMXFP4, func(in *moeInput) { in.invariant = true }), "", "", "backend: MARLIN, reason: kernel does not support batch invariance"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _ := chooseMoE(c.in)
			if got.backend != c.backend || got.class != c.class || (got.failed == "") != (c.failed == "") || !strings.Contains(got.failed, c.failed) {
				t.Errorf("got %+v, want %s %s %s", got, c.backend, c.class, c.failed)
			}
		})
	}
}

func TestExpertLines(t *testing.T) {
	cases := []struct {
		name string
		in   moeInput
		want []string
	}{
		{"old", experts(v0160, 120, moePlain, nil), []string{"Using TRITON backend for Unquantized MoE"}},
		{"FlashInfer not used", experts(v0191, 100, moePlain, nil), []string{
			"FlashInfer TRTLLM MoE is available but not enabled, consider setting VLLM_USE_FLASHINFER_MOE_FP16=1 and VLLM_FLASHINFER_MOE_BACKEND=latency to enable it for better performance.",
			"Using TRITON backend for Unquantized MoE"}},
		{"data parallel", experts(v0160, 80, moePlain, func(in *moeInput) { in.ep, in.dp = true, true }), []string{
			"FlashInfer CUTLASS MoE is currently not available for DP.", "Using TRITON backend for Unquantized MoE"}},
		{"titles", experts(v0320, 90, moePlain, nil), []string{"Using TRITON Unquantized MoE backend out of potential backends: ['TRITON', 'BATCHED_TRITON', 'FlashInfer TRTLLM', 'FlashInfer CUTLASS']."}},
		{"order on Hopper", experts(v0191, 90, moeFP8, nil), []string{
			"Using TRITON Fp8 MoE backend out of potential backends: ['TRITON', 'AITER', 'FLASHINFER_TRTLLM', 'FLASHINFER_CUTLASS', 'DEEPGEMM', 'MARLIN', 'BATCHED_DEEPGEMM', 'BATCHED_TRITON', 'XPU']."}},
		{"Humming is considered", experts(v0320, 90, moeNVFP4, nil), []string{"Using indexed gemm for humming moe",
			"Using 'MARLIN' NvFp4 MoE backend out of potential backends: ['FLASHINFER_TRTLLM', 'FLASHINFER_CUTEDSL', 'FLASHINFER_CUTEDSL_BATCHED', 'FLASHINFER_CUTLASS', 'VLLM_CUTLASS', 'HUMMING', 'MARLIN', 'EMULATION']."}},
		{"MXFP4 lists nothing", experts(v0191, 90, moeMXFP4, nil), []string{"Using 'TRITON' Mxfp4 MoE backend."}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, lines := chooseMoE(c.in)
			if got := texts(lines); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
