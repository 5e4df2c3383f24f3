// Package numerics names the arithmetic of a forward pass as a value: which
// roundings happen where, in which form keys and values are kept, how scales of
// weights are treated, and which known faults are played. A Numerics is made
// from a named set and single switches: "sglang-bf16kv,kv=fp8_656".
//
// The package computes nothing; package oracle obeys. The comment of every
// value says what it stands for and where that was read. Shorthand there:
// TF is huggingface/transformers 5.24, SGL is sgl-project/sglang, VL is
// vllm-project/vllm main of August 2026, DG is deepseek-ai/DeepGEMM at 54e22612,
// MO is NVIDIA/Model-Optimizer 0.47.
package numerics

import (
	"slices"
	"strings"
)

// Numerics is one arithmetic. It may be copied and is used by value; the zero
// value is none, start from Parse.
type Numerics struct {
	Name      string     // as the user asked for it
	Act       Act        // format of activations between operations
	Rounding  Rounding   // where activations are rounded to that format
	Norm      Norm       // how the norms of the residual stream round
	Gemm      Gemm       // what happens to the input of a quantised matrix
	ActScale  ActScale   // scales of inputs that are quantised to FP8
	KV        KV         // form of cached keys and values
	IndexKV   IndexKV    // form of cached indexer keys
	Scales    Scales     // treatment of block scales of FP8 weights, those of experts excepted
	MoEScales Scales     // the same for experts
	Weights   Weights    // precision of dequantised weights
	Eps       Eps        // of the norms on MLA's low-rank vectors
	MLA       MLA        // how latent attention multiplies
	Router    Router     // precision of router logits
	Experts   Experts    // how expert outputs are summed
	Rope      RopeLayout // rotation of attention
	IndexRope RopeLayout // rotation of the indexer
	MTP       MTP        // what an MTP layer is fed with
	Hadamard  Hadamard   // whether indexer queries and keys are transformed
	Page      int        // tokens of a page of the KV cache, for faults of pages
	Faults    []Fault    // what else goes wrong
}

// Has says whether a fault is played.
func (n Numerics) Has(f Fault) bool { return slices.Contains(n.Faults, f) }

// Act is the format of activations. Sums are float32 in all of them.
type Act string

// Formats of activations.
const (
	F32  Act = "f32"
	BF16 Act = "bf16"
	F16  Act = "f16" // --dtype half: above 65504 it overflows to infinity
)

// Rounding says after which operations an activation is rounded to Act.
type Rounding string

// Rounding points.
const (
	// Eager rounds after every operation of the model code, as PyTorch does
	// without a compiler: a norm before and after its weight, cos and sin and
	// each product of a rotation, scores, scaled scores and probabilities, silu
	// and its product (TF models/*/modeling_*.py, attention "eager").
	Eager Rounding = "eager"
	// Fused rounds once per kernel of a serving engine: a norm inside of attention
	// after its weight, a rotation after its sum, silu·up after the product; scores stay
	// float32 and probabilities are rounded before they meet the values
	// (SGL 0.5.9 layers/layernorm.py, layers/rotary_embedding.py,
	// layers/activation.py and their CUDA kernels; flash attention).
	Fused Rounding = "fused"
)

// Norm says how the norms before attention and MLP and the last one round. Norms
// inside of attention follow Rounding.
type Norm string

// Roundings of norms.
const (
	// CastFirst rounds before the multiplication with the weight and behind it, and
	// reads the residual stream rounded (TF modeling_*.py; VL with --enforce-eager:
	// csrc/layernorm_kernels.cu, fused_add_rms_norm_kernel).
	CastFirst Norm = "cast-first"
	// CastLast multiplies with the weight in float32 and rounds once (RMSNormKernel of
	// FlashInfer's norm.cuh, behind SGL's norms that add nothing).
	CastLast Norm = "cast-last"
	// FusedSum is CastLast of the residual sum before that is rounded. SGL 0.5.9 to
	// 0.5.23 layers/layernorm.py, forward_cuda, calls sgl_kernel's fused_add_rmsnorm,
	// which is FusedAddRMSNormKernel of FlashInfer's norm.cuh
	// (sgl-kernel/csrc/elementwise/fused_add_rms_norm_kernel.cu): the sum stays in
	// float32 for the root mean square and for the product, and only what it stores is
	// rounded. VL compiles ir/ops/layernorm.py instead, unless told --enforce-eager
	// (0.32 platforms/cuda.py, the default IR operations): that text casts before the
	// weight, but Inductor keeps what stays in a kernel in float32 (torch 2.15
	// _inductor/codegen/triton.py, triton_compute_type), which comes to the same. All
	// of this within one GPU: the kernels that add the parts of several are others.
	FusedSum Norm = "fused-sum"
)

// Gemm says what happens to the input of a matrix that is stored quantised.
type Gemm string

// Inputs of quantised matrices.
const (
	WeightOnly Gemm = "weight-only" // nothing: the weights are dequantised (TF)
	// Scheme quantises it as the checkpoint's scheme says: FP8 with block scales
	// per 128 elements of a token, FP8 with channel or tensor scales per token,
	// NVFP4 per 16 elements below the checkpoint's input_scale (SGL 0.5.9
	// layers/quantization/{fp8,modelopt_quant}.py; DG per_token_cast_to_fp8).
	Scheme Gemm = "scheme"
	// GGML quantises it to eight bits per block of the weights' format and
	// multiplies integers, as llama.cpp does on a CPU (ggml-cpu, vec_dot); F16 and
	// BF16 weights get inputs of their own format.
	GGML Gemm = "ggml"
)

// ActScale is the form of the scales of inputs quantised to FP8.
type ActScale string

// Scales of activations.
const (
	ActScaleF32  ActScale = "f32"   // amax/448, amax at least 1e-4 (DG deep_gemm/utils/math.py)
	ActScaleE8M0 ActScale = "ue8m0" // the same, rounded up to a power of two (same file, ceil_to_ue8m0)
)

// KV is the form of cached keys and values. The FP8 records of MLA hold one
// token of one layer.
type KV string

// Forms of the KV cache. For attention without a latent the two FP8 records
// mean plain E4M3 with scale 1, which is what an engine uses when the checkpoint
// has no k_scale and v_scale (SGL 0.5.18 layers/quantization/kv_cache.py).
const (
	KVAct  KV = "act" // as the activations
	KVF32  KV = "f32"
	KVBF16 KV = "bf16"
	KVF16  KV = "f16" // llama.cpp's default, --cache-type-k f16
	// KV656 is SGLang's record: 512 codes, a float32 scale per 128 of them, 64
	// bfloat16 of rotated key. A tile of zeros has scale 0 and is divided by it
	// (SGL 0.5.18 quant_k_cache.py:150; vector mla656.nofloor_reciprocal).
	KV656 KV = "fp8_656"
	// KVDSMLA is vLLM's fp8_ds_mla: the same record with the scale held above
	// the smallest normal float32 (VL csrc concat_and_cache_ds_mla; vector
	// mla656.fltmin_divide).
	KVDSMLA KV = "fp8_ds_mla"
	// KV576 is 576 codes with scale 1, the rotated key too (SGL 0.5.10 and later
	// with trtllm backends; vector mla576.saturating).
	KV576 KV = "fp8_576"
	// KV656As576 is a fault: records are written with a stride of 656 bytes and
	// read with one of 576, so that from the second token on scales and
	// bfloat16 keys are read as codes.
	KV656As576 KV = "fp8_656-read-as-576"
)

// Records says whether the form is one of FP8 records, of a fixed size.
func (kv KV) Records() bool { return strings.HasPrefix(string(kv), "fp8") }

// IndexKV is the form of cached indexer keys.
type IndexKV string

// Forms of indexer keys. With one of the FP8 forms queries are quantised alike.
const (
	IndexAct IndexKV = "act" // as the activations
	// Index132 is 128 codes and a float32 scale, amax/448 with amax at least
	// 1e-4 (SGL 0.5.15 and later, fused_store_index_cache.cuh; vector
	// index132.plain).
	Index132 IndexKV = "fp8_132"
	// Index132E8M0 rounds the scale up to a power of two (SGL up to 0.5.14,
	// act_quant with scale_fmt ue8m0; VL common/kernels.py; vector
	// index132.ue8m0).
	Index132E8M0 IndexKV = "fp8_132_ue8m0"
)

// Scales is the treatment of the block scales of FP8 weights.
type Scales string

// Treatments of block scales.
const (
	ScalesExact Scales = "exact" // as stored
	// ScalesE8M0 dequantises each block to bfloat16 and quantises it again with
	// a power-of-two scale (SGL fp8_utils.py, requant_weight_ue8m0; VL with
	// VLLM_USE_DEEP_GEMM_E8M0; vector requant.weight).
	ScalesE8M0 Scales = "ue8m0"
	// ScalesCeil is a fault: the scales are rounded up to powers of two and the
	// codes stay, which inflates each block by 1 to 2 (transformers#47030).
	ScalesCeil Scales = "ceil-only"
	// ScalesPacked is a fault: the float32 scales are packed four to a word by
	// shifts that assume empty mantissas, so that mantissa bits of three of the
	// four fall into the exponents of others (DG smxx_layout.cuh:135-139 before
	// 54e22612; vector ue8m0.packed_wrong_i32).
	ScalesPacked Scales = "deepgemm-packed"
)

// Weights is the precision of weights that are dequantised before they are
// multiplied.
type Weights string

// Precisions of dequantised weights.
const (
	WeightsExact Weights = "exact" // code times scale, in float32
	// WeightsBF16 rounds that product (TF: a dequantised model is a bfloat16
	// model; oracle models with hf-bf16).
	WeightsBF16 Weights = "bf16"
)

// Eps is the epsilon of q_a_layernorm and kv_a_layernorm.
type Eps string

// Epsilons of the low-rank norms.
const (
	EpsReference Eps = "1e-6"   // TF: the norms are built without an argument
	EpsConfig    Eps = "config" // SGL deepseek_v2.py, VL deepseek_v32/attention.py: rms_norm_eps
)

// MLA is how latent attention multiplies. Both are equal in exact arithmetic.
type MLA string

// Ways of latent attention.
const (
	// Expanded makes keys and values per head from the latent and rounds them
	// (TF modeling_deepseek_v3.py).
	Expanded MLA = "expanded"
	// Absorbed multiplies queries and outputs with the halves of kv_b_proj
	// instead, and rounds those. A quantised kv_b_proj is dequantised with its
	// stored scales, in bfloat16 when the activations are (SGL and VL decode; SGL
	// 0.5.18 models/deepseek_common, weight loader).
	Absorbed MLA = "absorbed"
)

// Router is the precision of router logits.
type Router string

// Precisions of router logits.
const (
	RouterF32 Router = "f32"
	// RouterAct rounds them to the activations' format (SGL 0.5.18 with
	// --enable-deterministic-inference, models/deepseek_v2.py:497).
	RouterAct Router = "act"
)

// Experts is how the outputs of experts are weighted and summed.
type Experts string

// Sums of experts.
const (
	// ExpertsEager rounds each weighted output and each partial sum, in
	// ascending order of expert (TF experts_implementation "eager").
	ExpertsEager Experts = "eager"
	// ExpertsF32 sums in float32 in the order of choice and rounds once (TF
	// "grouped_mm"; SGL and VL fused kernels).
	ExpertsF32 Experts = "f32"
)

// RopeLayout is which elements a rotation pairs.
type RopeLayout string

// Layouts of a rotation.
const (
	RopeConfig     RopeLayout = "config"     // as the model says
	RopeHalf       RopeLayout = "half"       // i with i+n/2 (TF 5.2 to 5.10 for GLM-5: a fault)
	RopeInterleave RopeLayout = "interleave" // 2i with 2i+1
)

// Hadamard says whether indexer queries and keys are multiplied by a Hadamard
// matrix, scaled by the root of their width.
type Hadamard string

// Use of the transform.
const (
	HadamardOff Hadamard = "off" // TF, VL, SGL 0.5.15 and later for GLM
	HadamardOn  Hadamard = "on"  // DeepSeek-V3.2-Exp model.py; SGL up to 0.5.14 nsa_indexer.py
)

// MTP is which hidden state of the model an MTP layer gets.
type MTP string

// Hidden states for MTP layers.
const (
	MTPPostNorm MTP = "post-norm" // behind the final norm (SGL models/deepseek_nextn.py, VL deepseek_mtp.py)
	MTPPreNorm  MTP = "pre-norm"  // before it
)

// Fault is a failure of the public record that is no switch of its own.
type Fault string

// Faults. docs/faults.md has their symptoms.
const (
	// StalePage: the second page of the KV cache is never written and holds what
	// the first one holds, as after a prefix hit with a wrong slot
	// (sglang#24198: FP8 KV and radix hits).
	StalePage Fault = "stale-page"
	// StaleHit: the same, and only in texts that begin with what an earlier one left
	// in the cache.
	StaleHit Fault = "stale-hit"
	// NoInputScale: input_scale of NVFP4 matrices is missing and read as 0, so
	// its reciprocal is infinite (vllm#45212).
	NoInputScale Fault = "no-input-scale"
	// SwapGateUp: a kernel takes the halves of fused gate and up projections of
	// experts for each other: silu(up)·gate (sglang#32430).
	SwapGateUp Fault = "swap-gate-up"
	// FusedSharedCount: the shared expert is fused as one more choice, and the
	// router is not told: one more routed expert takes its place, and the weights
	// are normalised over one too many (sglang#38963).
	FusedSharedCount Fault = "fused-shared-count"
	// UninitialisedShard: the second half of every down_proj's rows was never
	// loaded and holds what the memory held before (sglang#32279: a shard that
	// the index names and the folder lacks).
	UninitialisedShard Fault = "uninitialised-shard"
)
