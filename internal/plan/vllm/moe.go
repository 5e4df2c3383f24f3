package vllm

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/plan"
)

// moeInput is what vLLM looks at when it chooses the kernels of the routed
// experts (FusedMoEConfig and the formats of their weights).
type moeInput struct {
	r          release // v0160 or newer
	sm         int     // compute capability: 90, 100, 120
	scheme     moeScheme
	activation string // MoEActivation, in small letters
	grouped    bool   // routing as DeepSeek-V3's; else softmax over the best
	hidden     int
	asked      string // kernel.moe_backend; empty or "auto": vLLM chooses
	invariant  bool   // VLLM_BATCH_INVARIANT
	ep, dp     bool   // expert, data parallelism

	env func(name string) (string, bool)
}

// moeScheme is a format of expert weights, with that of the activations where
// it is not implied.
type moeScheme string

const (
	moePlain moeScheme = ""    // not quantised
	moeFP8   moeScheme = "fp8" // FP8 in blocks of 128x128, activations in groups of 128
	moeNVFP4 moeScheme = "nvfp4"
	moeMXFP4 moeScheme = "mxfp4" // activations in BF16
	// Activations of MXFP4 weights that a backend quantises.
	moeMXFP4x8   moeScheme = "mxfp4 mxfp8"
	moeMXFP4x4   moeScheme = "mxfp4 mxfp4"
	moeMXFP4xFP8 moeScheme = "mxfp4 fp8"
)

// moeChoice is the answer; failed is the exception with which choosing ends.
type moeChoice struct {
	backend string
	class   string // class of the kernel; empty where vLLM names none
	failed  string
}

// moeFamily is one oracle (vllm/model_executor/layers/fused_moe/oracle/*.py).
type moeFamily struct {
	name   string        // as its messages say it
	quoted bool          // its messages put the backend in quotation marks
	lines  string        // form of the line for a choice: backend, candidates
	order  since[string] // candidates, best first
	// flags of --moe-backend and the backend (joined by "+": several) that each
	// names; the order is that of the message for an unknown one.
	flags since[string]
}

var moeFamilies = map[moeScheme]moeFamily{
	moePlain: {
		name: "Unquantized", lines: "Using %s Unquantized MoE backend out of potential backends: %s.",
		order: since[string]{{v0240, "FLASHINFER_TRTLLM FLASHINFER_CUTLASS TRITON BATCHED_TRITON"}},
		flags: since[string]{
			{v0160, ""},
			{v0191, "triton=TRITON flashinfer_trtllm=FLASHINFER_TRTLLM flashinfer_cutlass=FLASHINFER_CUTLASS aiter=AITER"},
			{v0320, "triton=TRITON batched_triton=BATCHED_TRITON flashinfer_trtllm=FLASHINFER_TRTLLM flashinfer_cutlass=FLASHINFER_CUTLASS aiter=AITER"},
		},
	},
	moeFP8: {
		name: "FP8", lines: "Using %s Fp8 MoE backend out of potential backends: %s.",
		order: since[string]{
			{v0160, "AITER FLASHINFER_TRTLLM FLASHINFER_CUTLASS DEEPGEMM BATCHED_DEEPGEMM VLLM_CUTLASS BATCHED_VLLM_CUTLASS TRITON BATCHED_TRITON MARLIN XPU"},
			{v0191, "AITER FLASHINFER_TRTLLM FLASHINFER_CUTLASS DEEPGEMM VLLM_CUTLASS TRITON MARLIN BATCHED_DEEPGEMM BATCHED_VLLM_CUTLASS BATCHED_TRITON XPU"},
			{v0240, "AITER FLASHINFER_TRTLLM FLASHINFER_CUTLASS DEEPGEMM VLLM_CUTLASS TRITON MARLIN BATCHED_DEEPGEMM BATCHED_VLLM_CUTLASS BATCHED_TRITON XPU CPU"},
			{v0320, "AITER FLASHINFER_TRTLLM FLASHINFER_CUTLASS DEEPGEMM VLLM_CUTLASS TRITON MARLIN HUMMING BATCHED_DEEPGEMM BATCHED_VLLM_CUTLASS BATCHED_TRITON XPU CPU_W8A8 CPU HPC"},
		},
		flags: since[string]{
			{v0160, ""},
			{v0191, "triton=TRITON deep_gemm=DEEPGEMM cutlass=VLLM_CUTLASS flashinfer_trtllm=FLASHINFER_TRTLLM flashinfer_cutlass=FLASHINFER_CUTLASS marlin=MARLIN aiter=AITER"},
			{v0320, "triton=TRITON deep_gemm=DEEPGEMM cutlass=VLLM_CUTLASS flashinfer_trtllm=FLASHINFER_TRTLLM flashinfer_cutlass=FLASHINFER_CUTLASS marlin=MARLIN humming=HUMMING aiter=AITER hpc=HPC"},
		},
	},
	moeNVFP4: {
		name: "NvFP4", quoted: true, lines: "Using '%s' NvFp4 MoE backend out of potential backends: %s.",
		order: since[string]{
			{v0160, "FLASHINFER_TRTLLM FLASHINFER_CUTEDSL FLASHINFER_CUTLASS VLLM_CUTLASS MARLIN"},
			{v0240, "FLASHINFER_TRTLLM FLASHINFER_CUTEDSL FLASHINFER_CUTEDSL_BATCHED FLASHINFER_CUTLASS VLLM_CUTLASS MARLIN EMULATION"},
			{v0320, "FLASHINFER_TRTLLM FLASHINFER_CUTEDSL FLASHINFER_CUTEDSL_BATCHED FLASHINFER_CUTLASS VLLM_CUTLASS MARLIN HUMMING EMULATION"},
		},
		flags: since[string]{
			{v0160, ""},
			{v0191, "cutlass=VLLM_CUTLASS flashinfer_trtllm=FLASHINFER_TRTLLM flashinfer_cutlass=FLASHINFER_CUTLASS flashinfer_cutedsl=FLASHINFER_CUTEDSL marlin=MARLIN"},
			{v0240, "cutlass=VLLM_CUTLASS flashinfer_trtllm=FLASHINFER_TRTLLM flashinfer_cutlass=FLASHINFER_CUTLASS flashinfer_cutedsl=FLASHINFER_CUTEDSL flashinfer_b12x=FLASHINFER_B12X marlin=MARLIN emulation=EMULATION"},
			{v0320, "b12x=B12X cutlass=VLLM_CUTLASS flashinfer_trtllm=FLASHINFER_TRTLLM flashinfer_cutlass=FLASHINFER_CUTLASS flashinfer_cutedsl=FLASHINFER_CUTEDSL flashinfer_moe_ep_cutedsl=FLASHINFER_MOE_EP_CUTEDSL flashinfer_b12x=FLASHINFER_B12X marlin=MARLIN humming=HUMMING emulation=EMULATION"},
		},
	},
	moeMXFP4: {
		name: "MXFP4", quoted: true, lines: "Using '%s' Mxfp4 MoE backend.",
		// Without a format of activations in the checkpoint only backends that
		// keep them in BF16 are candidates.
		order: since[string]{
			{v0191, "FLASHINFER_TRTLLM_MXFP4_BF16 CK TRITON FLASHINFER_CUTLASS_MXFP4_BF16 TRITON_UNFUSED MARLIN BATCHED_MARLIN XPU"},
			{v0240, "FLASHINFER_TRTLLM_MXFP4_BF16 AITER_MXFP4_BF16 TRITON FLASHINFER_CUTLASS_MXFP4_BF16 MARLIN BATCHED_MARLIN XPU"},
			{v0320, "FLASHINFER_TRTLLM_MXFP4_BF16 AITER_MXFP4_BF16 AITER_TRITON_MXFP4_BF16 TRITON FLASHINFER_CUTLASS_MXFP4_BF16 MARLIN BATCHED_MARLIN HUMMING XPU CPU EMULATION"},
		},
		flags: since[string]{
			{v0191, "flashinfer_trtllm=FLASHINFER_TRTLLM_MXFP4_BF16 flashinfer_trtllm_afp8=FLASHINFER_TRTLLM_MXFP4_MXFP8 flashinfer_cutlass=FLASHINFER_CUTLASS_MXFP4_BF16 flashinfer_cutlass_afp8=FLASHINFER_CUTLASS_MXFP4_MXFP8 triton=TRITON marlin=MARLIN ck=CK xpu=XPU"},
			{v0240, "deep_gemm=DEEPGEMM_MXFP4 flashinfer_trtllm=FLASHINFER_TRTLLM_MXFP4_BF16 flashinfer_trtllm_afp8=FLASHINFER_TRTLLM_MXFP4_MXFP8 flashinfer_cutlass=FLASHINFER_CUTLASS_MXFP4_BF16 flashinfer_cutlass_afp8=FLASHINFER_CUTLASS_MXFP4_MXFP8 triton=TRITON triton_unfused=TRITON_UNFUSED humming=HUMMING marlin=MARLIN aiter=AITER_MXFP4_BF16 aiter_mxfp4_fp8=AITER_MXFP4_FP8 aiter_mxfp4_mxfp4=AITER_MXFP4_MXFP4 xpu=XPU cpu=CPU emulation=EMULATION"},
			{v0320, "b12x=B12X_MXFP4_MXFP8+B12X_MXFP4_BF16 deep_gemm=DEEPGEMM_MXFP4 flashinfer_trtllm=FLASHINFER_TRTLLM_MXFP4_BF16 flashinfer_trtllm_afp8=FLASHINFER_TRTLLM_MXFP4_MXFP8 flashinfer_cutlass=FLASHINFER_CUTLASS_MXFP4_BF16 flashinfer_cutlass_afp8=FLASHINFER_CUTLASS_MXFP4_MXFP8 flashinfer_moe_ep_cutedsl=FLASHINFER_MOE_EP_CUTEDSL flashinfer_moe_ep_mega_deep_gemm=FLASHINFER_MOE_EP_DEEP_GEMM triton=TRITON triton_unfused=TRITON_UNFUSED humming=HUMMING marlin=MARLIN aiter=AITER_MXFP4_BF16+AITER_TRITON_MXFP4_BF16 aiter_triton_mxfp4_bf16=AITER_TRITON_MXFP4_BF16 aiter_mxfp4_fp8=AITER_MXFP4_FP8 aiter_mxfp4_mxfp4=AITER_MXFP4_MXFP4 xpu=XPU cpu=CPU emulation=EMULATION"},
		},
	},
}

// moeTitles are the values of UnquantizedMoeBackend that differ from its names.
var moeTitles = map[string]string{"FLASHINFER_TRTLLM": "FlashInfer TRTLLM", "FLASHINFER_CUTLASS": "FlashInfer CUTLASS", "AITER": "ROCm AITER"}

// moeClasses are the kernels of a backend, best first, by scheme where they
// differ.
var moeClasses = map[moeScheme]map[string]string{
	moePlain: {
		"FLASHINFER_TRTLLM": "TrtLlmBf16ExpertsMonolithic TrtLlmBf16ExpertsModular", "FLASHINFER_CUTLASS": "FlashInferExperts",
		"TRITON": "TritonExperts", "BATCHED_TRITON": "BatchedTritonExperts", "AITER": "AiterExperts",
	},
	moeFP8: {
		"FLASHINFER_TRTLLM": "TrtLlmFp8ExpertsMonolithic TrtLlmFp8ExpertsModular", "FLASHINFER_CUTLASS": "FlashInferExperts",
		"DEEPGEMM": "TritonOrDeepGemmExperts", "BATCHED_DEEPGEMM": "BatchedDeepGemmExperts", "MARLIN": "MarlinExperts",
		"HUMMING": "HummingIndexedExperts", "TRITON": "TritonExperts", "BATCHED_TRITON": "BatchedTritonExperts",
		"AITER": "AiterExperts", "VLLM_CUTLASS": "TritonOrCutlassExperts", "BATCHED_VLLM_CUTLASS": "CutlassBatchedExpertsFp8",
		"XPU": "XPUExpertsFp8", "CPU": "CPUExpertsFp8", "CPU_W8A8": "CPUExpertsFp8W8A8", "HPC": "HPCExperts",
	},
	moeNVFP4: {
		"B12X": "B12xExperts", "FLASHINFER_TRTLLM": "TrtLlmNvFp4ExpertsMonolithic TrtLlmNvFp4ExpertsModular",
		"FLASHINFER_CUTLASS": "FlashInferExperts", "FLASHINFER_CUTEDSL": "FlashInferCuteDSLExperts",
		"FLASHINFER_CUTEDSL_BATCHED": "FlashInferCuteDSLBatchedExperts", "FLASHINFER_B12X": "FlashInferB12xExperts",
		"VLLM_CUTLASS": "CutlassExpertsFp4", "MARLIN": "MarlinExperts", "HUMMING": "HummingIndexedExperts",
		"EMULATION": "Nvfp4QuantizationEmulationTritonExperts", "FLASHINFER_MOE_EP_CUTEDSL": "FlashInferMoeEpExperts",
	},
	moeMXFP4: {
		"B12X_MXFP4_MXFP8": "B12xExperts", "B12X_MXFP4_BF16": "B12xExperts", "DEEPGEMM_MXFP4": "DeepGemmFP4Experts",
		"FLASHINFER_TRTLLM_MXFP4_BF16":  "TrtLlmMxfp4ExpertsMonolithic TrtLlmMxfp4ExpertsModular",
		"FLASHINFER_TRTLLM_MXFP4_MXFP8": "TrtLlmMxfp4ExpertsMonolithic TrtLlmMxfp4ExpertsModular",
		"FLASHINFER_CUTLASS_MXFP4_BF16": "FlashInferExperts", "FLASHINFER_CUTLASS_MXFP4_MXFP8": "FlashInferExperts",
		"TRITON": "OAITritonMxfp4ExpertsMonolithic OAITritonExperts", "TRITON_UNFUSED": "UnfusedOAITritonExperts",
		"HUMMING": "HummingIndexedExperts", "MARLIN": "MarlinExperts", "BATCHED_MARLIN": "BatchedMarlinExperts",
		"CK": "AiterExperts", "AITER_MXFP4_BF16": "AiterExperts", "AITER_TRITON_MXFP4_BF16": "AiterW4A16ExpertsMonolithic",
		"AITER_MXFP4_FP8": "AiterW4A8ExpertsMonolithic", "AITER_MXFP4_MXFP4": "AiterExperts", "XPU": "XPUExpertsMxFp4",
		"CPU": "CPUExpertsMxfp4", "EMULATION": "OCP_MXQuantizationEmulationTritonExperts",
		"FLASHINFER_MOE_EP_CUTEDSL": "FlashInferMoeEpExperts", "FLASHINFER_MOE_EP_DEEP_GEMM": "FlashInferMoeEpExperts",
	},
}

// moeKernel is what one class of expert kernels can do. A nil function means no
// restriction.
type moeKernel struct {
	cuda        func(in moeInput) bool // nil: not on CUDA
	schemes     func(in moeInput) bool
	activations since[string] // nil: all
	routing     func(in moeInput) bool
	shape       func(in moeInput) bool
	batched     since[bool] // takes batched activations, which a launch without all-to-all kernels never has
	invariant   since[bool]
}

func moeAnywhere(moeInput) bool { return true }

func moeMajors(list ...int) func(moeInput) bool {
	return func(in moeInput) bool { return slices.Contains(list, in.sm/10) }
}

func moeTakes(list ...moeScheme) func(moeInput) bool {
	return func(in moeInput) bool { return slices.Contains(list, in.scheme) }
}

// moeTriton says whether Triton's kernels take the scheme: FP8 from SM 8.9 on.
func moeTriton(in moeInput) bool {
	return in.scheme == moePlain || in.scheme == moeFP8 && in.sm >= 89
}

// moeDeepGEMM says whether DeepGEMM may be used (vllm/utils/deep_gemm.py
// is_deep_gemm_supported).
func moeDeepGEMM(in moeInput) bool {
	if v, ok := in.env("VLLM_USE_DEEP_GEMM"); ok && v == "0" {
		return false
	}
	return in.sm == 90 || in.sm/10 == 10 || in.r >= v0240 && in.sm/10 == 12
}

// moeOAITriton is where OpenAI's Triton kernels run.
func moeOAITriton(in moeInput) bool {
	return in.sm/10 >= 9 && (in.sm/10 < 11 || in.r >= v0320 && in.sm/10 < 13)
}

// moeAny are the activations of kernels that call apply_moe_activation.
var moeAny = since[string]{{v0160, "silu gelu swigluoai"}, {v0191, "silu gelu swigluoai swiglustep"},
	{v0240, "silu gelu gelu_tanh swigluoai swigluoai_uninterleave swiglustep"}}

var moeKernels = map[string]moeKernel{
	"TrtLlmBf16ExpertsMonolithic": {cuda: moeMajors(10), schemes: moeTakes(moePlain), activations: since[string]{{v0160, "silu"}}},
	"TrtLlmBf16ExpertsModular":    {cuda: moeMajors(10), schemes: moeTakes(moePlain), activations: since[string]{{v0160, "silu"}}, batched: moeBatched},
	"TrtLlmFp8ExpertsMonolithic": {cuda: moeMajors(10), schemes: moeTakes(moeFP8), activations: since[string]{{v0160, "silu"}, {v0320, "silu swigluoai_uninterleave"}},
		// 0.19 left softmax routing to the modular kernel (vLLM issue 37591).
		routing: func(in moeInput) bool { return in.grouped || in.r < v0191 || in.r >= v0240 }},
	"TrtLlmFp8ExpertsModular": {cuda: moeMajors(10), schemes: moeTakes(moeFP8), activations: since[string]{{v0160, "silu"}, {v0320, "silu swigluoai_uninterleave"}}},
	"TrtLlmNvFp4ExpertsMonolithic": {cuda: moeMajors(10), schemes: moeTakes(moeNVFP4), activations: moeTrtLlmNVFP4,
		shape: moeTrtLlmShape},
	"TrtLlmNvFp4ExpertsModular": {cuda: moeMajors(10), schemes: moeTakes(moeNVFP4), activations: moeTrtLlmNVFP4, shape: moeTrtLlmShape},
	"TrtLlmMxfp4ExpertsMonolithic": {cuda: moeMajors(10), schemes: moeTakes(moeMXFP4, moeMXFP4x8),
		activations: since[string]{{v0191, "swigluoai"}, {v0240, "swigluoai silu"}}},
	"TrtLlmMxfp4ExpertsModular": {cuda: moeMajors(10), schemes: moeTakes(moeMXFP4, moeMXFP4x8),
		activations: since[string]{{v0191, "swigluoai"}, {v0240, "swigluoai silu"}}},
	"FlashInferExperts": {
		cuda: func(in moeInput) bool {
			return in.sm == 90 || in.sm/10 == 10 || in.sm/10 == 12 || in.sm/10 == 11 && in.r < v0240
		},
		schemes: func(in moeInput) bool {
			switch in.scheme {
			case moePlain:
				return in.sm >= 90
			case moeFP8:
				return in.sm == 90
			case moeMXFP4:
				return in.r >= v0191 && in.sm == 90
			case moeNVFP4:
				return in.sm >= 100
			case moeMXFP4x8:
				return in.r >= v0191 && in.sm >= 100
			}
			return false
		},
		activations: since[string]{{v0160, "silu"}, {v0191, "silu swigluoai"}, {v0240, "silu gelu_tanh swigluoai"}, {v0320, "silu gelu_tanh swigluoai swigluoai_uninterleave"}},
	},
	"FlashInferCuteDSLExperts": {batched: since[bool]{{v0160, true}, {v0240, false}}, cuda: moeMajors(10), schemes: moeTakes(moeNVFP4), activations: since[string]{{v0160, "silu"}, {v0320, "silu swigluoai swigluoai_uninterleave"}}},
	"FlashInferCuteDSLBatchedExperts": {cuda: moeMajors(10), schemes: moeTakes(moeNVFP4), activations: since[string]{{v0160, "silu"}},
		batched: moeBatched},
	"FlashInferB12xExperts": {cuda: moeMajors(12), schemes: moeTakes(moeNVFP4), activations: since[string]{{v0240, "silu"}, {v0320, "silu gelu_tanh"}}},
	"TritonOrDeepGemmExperts": {cuda: moeDeepGEMM, schemes: func(in moeInput) bool { return in.scheme == moeFP8 && moeTriton(in) },
		activations: since[string]{{v0160, "silu swiglustep"}, {v0240, "silu swiglustep swigluoai_uninterleave"}}},
	"BatchedDeepGemmExperts": {cuda: moeDeepGEMM, schemes: moeTakes(moeFP8), activations: since[string]{{v0160, "silu"}}, batched: moeBatched},
	"DeepGemmFP4Experts": {cuda: func(in moeInput) bool { return moeDeepGEMM(in) && in.sm/10 >= 10 },
		schemes: moeTakes(moeMXFP4xFP8), activations: since[string]{{v0240, "silu swiglustep"}}},
	"TritonExperts":            {cuda: moeAnywhere, schemes: moeTriton, activations: moeAny, invariant: from24},
	"BatchedTritonExperts":     {cuda: moeAnywhere, schemes: moeTriton, activations: moeAny, batched: moeBatched},
	"TritonOrCutlassExperts":   {cuda: moeMajors(9, 10), schemes: moeTakes(), activations: moeAny},
	"CutlassBatchedExpertsFp8": {cuda: moeMajors(9, 10), schemes: moeTakes(), activations: moeAny, batched: moeBatched},
	"CutlassExpertsFp4":        {cuda: moeMajors(10, 11, 12), schemes: moeTakes(moeNVFP4), activations: moeAny, invariant: from32},
	"MarlinExperts": {cuda: func(in moeInput) bool { return in.sm >= 75 },
		schemes:     func(in moeInput) bool { return in.scheme != moePlain && (in.r >= v0191 || in.scheme != moeMXFP4) },
		activations: moeAny},
	"BatchedMarlinExperts": {cuda: func(in moeInput) bool { return in.sm >= 75 }, schemes: moeTakes(moeMXFP4),
		activations: moeAny, batched: moeBatched},
	"Nvfp4QuantizationEmulationTritonExperts":  {cuda: moeAnywhere, schemes: moeTakes(moeNVFP4), activations: moeAny, invariant: from24},
	"OCP_MXQuantizationEmulationTritonExperts": {cuda: moeBefore32, activations: moeAny, invariant: from24},
	"OAITritonMxfp4ExpertsMonolithic": {cuda: moeOAITriton, schemes: moeTakes(moeMXFP4), activations: since[string]{{v0191, "swigluoai"}},
		routing: func(in moeInput) bool { return !in.grouped }},
	"OAITritonExperts":        {cuda: moeOAITriton, schemes: moeTakes(moeMXFP4), activations: since[string]{{v0191, "swigluoai"}}},
	"UnfusedOAITritonExperts": {cuda: moeOAITriton, schemes: moeTakes(moeMXFP4), activations: moeAny},
}

var moeTrtLlmNVFP4 = since[string]{{v0160, "silu"}, {v0320, "silu gelu gelu_tanh swigluoai_uninterleave"}}

func moeTrtLlmShape(in moeInput) bool { return in.r != v0191 || in.hidden%512 == 0 }

// moeBatched are the kernels for batched activations in every release.
var moeBatched = since[bool]{{v0160, true}}

// moeBefore32: from 0.32 on the emulation needs amd-quark, which no image has.
func moeBefore32(in moeInput) bool { return in.r < v0320 }

// lacks is why a kernel cannot be used, in vLLM's words, or empty.
func (in moeInput) lacks(class string) string {
	k, known := moeKernels[class]
	switch {
	case !known || k.cuda == nil || !k.cuda(in):
		reason := "kernel does not support current device cuda"
		if class == "AiterExperts" && in.r >= v0240 {
			reason += ". AITER MoE is not enabled — set VLLM_ROCM_USE_AITER=1 and VLLM_ROCM_USE_AITER_MOE=1 to enable it"
		}
		return reason
	case k.activations != nil && !slices.Contains(strings.Fields(k.activations.at(in.r)), in.activation):
		return "kernel does not support MoEActivation." + strings.ToUpper(in.activation) + " activation"
	case k.schemes != nil && !k.schemes(in):
		return "kernel does not support quantization scheme " + string(in.scheme)
	case k.routing != nil && !k.routing(in):
		return "kernel does not support routing method"
	case k.shape != nil && !k.shape(in):
		return fmt.Sprintf("kernel does not support %d hidden dim is not supported", in.hidden)
	case k.batched.at(in.r):
		return "kernel does not support standard activation format"
	case in.invariant && in.r >= v0240 && !k.invariant.at(in.r):
		return "kernel does not support batch invariance"
	}
	return ""
}

// try looks for a usable kernel of a backend; reason is that of the last one.
func (in moeInput) try(family moeScheme, backend string) (class, reason string) {
	if family == moeMXFP4 {
		switch {
		case strings.HasSuffix(backend, "_MXFP4_MXFP8"):
			in.scheme = moeMXFP4x8
		case backend == "DEEPGEMM_MXFP4":
			in.scheme = moeMXFP4xFP8
		case backend == "AITER_MXFP4_MXFP4":
			in.scheme = moeMXFP4x4
		}
	}
	for _, class := range strings.Fields(moeClasses[family][backend]) {
		if reason = in.lacks(class); reason == "" {
			return in.className(class, backend), ""
		}
	}
	return "", reason
}

// className is a kernel's class as the release names it.
func (in moeInput) className(class, backend string) string {
	switch {
	case in.r < v0191 && backend == "FLASHINFER_TRTLLM":
		return "" // no kernel of the modular interface
	case in.r < v0320 && class == "TrtLlmBf16ExpertsMonolithic":
		return "TrtLlmBf16Experts"
	}
	return class
}

// chooseMoE picks the kernels of the routed experts as the oracle of their
// format does. The lines are what it prints.
func chooseMoE(in moeInput) (choice moeChoice, lines []plan.Line) {
	say := func(text string) { lines = append(lines, plan.Line{Level: 'I', Text: text}) }
	family := moeFamilies[in.scheme]
	if in.scheme == moePlain && in.r < v0240 {
		return in.choosePlain()
	}
	order := in.order(family)
	title := func(b string) string {
		if t := moeTitles[b]; t != "" && in.scheme == moePlain {
			return t
		}
		return b
	}
	named := func() string {
		list := make([]string, len(order))
		for i, b := range order {
			list[i] = title(b)
		}
		return pyList(list)
	}
	take := func(backend, class string) (moeChoice, []plan.Line) {
		if strings.Count(family.lines, "%s") == 1 {
			say(fmt.Sprintf(family.lines, title(backend)))
		} else {
			say(fmt.Sprintf(family.lines, title(backend), named()))
		}
		return moeChoice{backend: backend, class: class}, lines
	}
	fail := func(message string) (moeChoice, []plan.Line) { return moeChoice{failed: message}, lines }
	only := func(backends ...string) (moeChoice, []plan.Line) {
		message := ""
		for _, b := range backends {
			class, reason := in.try(in.scheme, b)
			if reason == "" {
				return take(b, class)
			}
			quoted := title(b)
			if family.quoted {
				quoted = "'" + quoted + "'"
			}
			message = fmt.Sprintf("ValueError: %s MoE backend %s does not support the deployment configuration since %s.", in.subject(), quoted, reason)
		}
		return fail(message)
	}

	if asked := in.asked; asked != "" && asked != "auto" && !(asked == "humming" && in.scheme == moePlain && in.r >= v0320) {
		var flags []string
		for _, pair := range strings.Fields(family.flags.at(in.r)) {
			flag, backends, _ := strings.Cut(pair, "=")
			flags = append(flags, flag)
			if flag == asked {
				if in.scheme == moeFP8 && asked == "cutlass" {
					return fail("ValueError: vLLM CUTLASS FP8 MoE backend is disabled for this configuration.")
				}
				return only(strings.Split(backends, "+")...)
			}
		}
		kind := family.name
		if in.scheme == moePlain {
			kind = "unquantized"
		}
		return fail(fmt.Sprintf("ValueError: moe_backend='%s' is not supported for %s MoE. Expected one of %s.", asked, kind, pyList(flags)))
	}

	drop := func(names ...string) {
		order = slices.DeleteFunc(order, func(b string) bool { return slices.Contains(names, b) })
	}
	flashInfer := map[moeScheme]string{moeFP8: "VLLM_USE_FLASHINFER_MOE_FP8", moeNVFP4: "VLLM_USE_FLASHINFER_MOE_FP4"}[in.scheme]
	if v, ok := in.env(flashInfer); ok && flashInfer != "" && in.r < v0240 {
		theirs := []string{"FLASHINFER_TRTLLM", "FLASHINFER_CUTLASS"}
		if in.scheme == moeNVFP4 {
			theirs = []string{"FLASHINFER_TRTLLM", "FLASHINFER_CUTLASS", "FLASHINFER_CUTEDSL"}
		}
		if v == "0" {
			drop(theirs...)
		} else if wanted, ok := in.env("VLLM_FLASHINFER_MOE_BACKEND"); ok {
			backend := map[string]string{"throughput": "FLASHINFER_CUTLASS", "latency": "FLASHINFER_TRTLLM", "masked_gemm": "FLASHINFER_CUTEDSL"}[wanted]
			return only(backend)
		} else {
			for _, b := range theirs {
				if class, reason := in.try(in.scheme, b); reason == "" {
					if in.r < v0191 && in.scheme == moeNVFP4 {
						class = ""
					}
					return take(b, class)
				}
			}
			return fail(fmt.Sprintf("NotImplementedError: Found %s=1, but no FlashInfer %s MoE backend supports the configuration.", flashInfer, strings.ToUpper(family.name)))
		}
	}
	if in.scheme == moeFP8 {
		a, first := in.env("VLLM_USE_DEEP_GEMM")
		b, second := in.env("VLLM_MOE_USE_DEEP_GEMM")
		switch {
		case !first && !second:
		case first && a == "0" || second && b == "0":
			drop("DEEPGEMM", "BATCHED_DEEPGEMM")
		default:
			return only("DEEPGEMM")
		}
	}
	if v, _ := in.env("VLLM_TEST_FORCE_FP8_MARLIN"); v != "" && v != "0" && in.r < v0320 && (in.scheme == moeFP8 || in.scheme == moeNVFP4) {
		return only("MARLIN")
	}
	if in.scheme == moeFP8 {
		drop("VLLM_CUTLASS", "BATCHED_VLLM_CUTLASS")
	}
	for _, b := range order {
		if b == "HUMMING" {
			// Its package is not in the images; vLLM names the kernel it would take first.
			if in.sm >= 75 && !in.ep && in.lacks("MarlinExperts") == "" {
				say("Using indexed gemm for humming moe")
			}
			continue
		}
		if class, reason := in.try(in.scheme, b); reason == "" {
			return take(b, class)
		}
	}
	return fail(in.nothing(order))
}

// order are the candidates, best first.
func (in moeInput) order(family moeFamily) []string {
	order := strings.Fields(family.order.at(in.r))
	move := func(name string, to int) {
		i := slices.Index(order, name)
		if i < 0 {
			return
		}
		order = slices.Insert(slices.Delete(order, i, i+1), to, name)
	}
	last := len(order) - 1
	switch in.scheme {
	case moePlain:
		if in.sm/10 == 9 { // slower than Triton on Hopper
			move("FLASHINFER_TRTLLM", last)
			move("FLASHINFER_CUTLASS", last)
		}
		if in.dp {
			move("FLASHINFER_CUTLASS", last)
		}
		if in.r >= v0320 && in.activation == "swigluoai" {
			move("FLASHINFER_TRTLLM", last)
			move("FLASHINFER_CUTLASS", last)
		}
	case moeFP8:
		if in.r >= v0320 && in.sm == 90 {
			move("HUMMING", slices.Index(order, "MARLIN"))
		}
		if in.r >= v0191 && in.sm == 90 {
			if in.ep {
				move("FLASHINFER_CUTLASS", 0)
			} else {
				move("TRITON", 0)
			}
		}
	case moeNVFP4, moeMXFP4:
		if in.r >= v0320 && in.scheme == moeMXFP4 && in.sm/10 == 12 {
			// Small tiles: slower than Marlin on consumer Blackwell.
			move("TRITON", slices.Index(order, "BATCHED_MARLIN"))
		}
		if in.r >= v0320 && in.sm == 90 {
			move("HUMMING", slices.Index(order, "MARLIN"))
		}
	}
	return order
}

// subject is the family's name in "... MoE backend X does not support".
func (in moeInput) subject() string {
	switch in.scheme {
	case moeNVFP4:
		return "NvFp4"
	case moeMXFP4:
		return "Mxfp4"
	}
	return moeFamilies[in.scheme].name
}

// nothing is the message when no candidate is usable.
func (in moeInput) nothing(order []string) string {
	switch {
	case in.scheme == moeNVFP4:
		return "NotImplementedError: No NvFp4 MoE backend supports the deployment configuration."
	case in.scheme != moeMXFP4 || in.r < v0240:
		return "NotImplementedError: No " + moeFamilies[in.scheme].name + " MoE backend supports the deployment configuration."
	case in.r < v0320:
		return "NotImplementedError: No MXFP4 MoE backend supports the deployment configuration. weight_key=kMxfp4Static, " +
			"activation_key=None. Native backends require specific hardware. Set `VLLM_LOGGING_LEVEL=DEBUG` to see detailed " +
			"unsupported reasons. To use the emulation backend for research/debugging, pass --moe-backend emulation."
	}
	var reasons []string
	for _, b := range order {
		_, reason := in.try(in.scheme, b)
		reasons = append(reasons, "backend: "+b+", reason: "+reason)
	}
	return "NotImplementedError: No MXFP4 MoE backend supports the deployment configuration. weight_key=kMxfp4Static, " +
		"activation_key=None. Candidate backends were: " + pyList(order) + ". Unsupported reasons: " + strings.Join(reasons, "; ") + ". "
}

// choosePlain is select_unquantized_moe_backend before 0.24: Triton, unless
// VLLM_USE_FLASHINFER_MOE_FP16 asks for FlashInfer.
func (in moeInput) choosePlain() (moeChoice, []plan.Line) {
	var lines []plan.Line
	emit := func(text string) { lines = append(lines, plan.Line{Level: 'I', Text: text}) }
	take := func(backend string) (moeChoice, []plan.Line) {
		title := backend
		if t := moeTitles[backend]; t != "" {
			title = t
		}
		emit("Using " + title + " backend for Unquantized MoE")
		return moeChoice{backend: backend}, lines
	}
	v, _ := in.env("VLLM_USE_FLASHINFER_MOE_FP16")
	fp16 := v != "" && v != "0"
	mode, _ := in.env("VLLM_FLASHINFER_MOE_BACKEND")
	trtllm := in.lacks("TrtLlmBf16ExpertsMonolithic") == ""
	cutlass := in.ep && !in.dp && in.sm >= 90
	if in.asked != "" && in.asked != "auto" {
		flags := strings.Fields(moeFamilies[moePlain].flags.at(in.r))
		names := make([]string, len(flags))
		backend := ""
		for i, pair := range flags {
			flag, b, _ := strings.Cut(pair, "=")
			names[i] = flag
			if flag == in.asked {
				backend = b
			}
		}
		switch {
		case backend == "":
			return moeChoice{failed: fmt.Sprintf("ValueError: moe_backend='%s' is not supported for unquantized MoE. Expected one of %s.", in.asked, pyList(names))}, lines
		case backend == "FLASHINFER_TRTLLM" && !trtllm:
			return moeChoice{failed: "ValueError: FlashInfer TRTLLM MoE backend is not available for this configuration."}, lines
		case backend == "FLASHINFER_CUTLASS" && !cutlass:
			return moeChoice{failed: "ValueError: FlashInfer CUTLASS MoE backend is not available for this configuration."}, lines
		case backend == "AITER":
			return moeChoice{failed: "ValueError: ROCm AITer MoE backend is not available for this configuration."}, lines
		}
		return take(backend)
	}
	switch {
	case trtllm && fp16 && (in.r < v0191 || mode == "latency"):
		return take("FLASHINFER_TRTLLM")
	case cutlass && fp16:
		if trtllm && in.r >= v0191 {
			emit("FlashInfer TRTLLM MoE is available but not enabled, consider setting VLLM_FLASHINFER_MOE_BACKEND=latency to enable it for better performance.")
		}
		return take("FLASHINFER_CUTLASS")
	case !fp16 && trtllm && in.r < v0191:
		emit("FlashInfer TRTLLM MoE is available but not enabled, consider setting VLLM_USE_FLASHINFER_MOE_FP16=1 to enable it for better performance.")
	case !fp16 && trtllm:
		emit("FlashInfer TRTLLM MoE is available but not enabled, consider setting VLLM_USE_FLASHINFER_MOE_FP16=1 and " +
			"VLLM_FLASHINFER_MOE_BACKEND=latency to enable it for better performance.")
	case in.ep && !in.dp:
		emit("FlashInfer MoE is available for EP but not enabled, consider setting VLLM_USE_FLASHINFER_MOE_FP16=1 to enable it.")
	case in.dp:
		emit("FlashInfer CUTLASS MoE is currently not available for DP.")
	}
	return take("TRITON")
}
