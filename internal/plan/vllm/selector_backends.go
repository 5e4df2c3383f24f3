package vllm

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/hfconfig"
)

// reasonBlock is the reason that --block-size gives.
const reasonBlock = "block_size not supported"

// since holds what changed between releases, oldest first.
type since[T any] []struct {
	r release
	v T
}

// at is the value in a release: that of the last entry that is not newer. It is
// the zero value before the first entry.
func (s since[T]) at(r release) (v T) {
	for _, e := range s {
		if e.r <= r {
			v = e.v
		}
	}
	return v
}

// attnBackend is what one attention backend can do, by release
// (vllm/v1/attention/backends/*.py, in 0.11 also vllm/attention/backends). A nil
// function means no restriction, except where its comment says otherwise.
type attnBackend struct {
	name   string
	class  string
	from   release // first release that has it
	gone   release // first release without it; 0: none
	mla    bool
	sparse bool

	heads     func(in attnInput) bool
	float32   bool                     // computes in float32 too; all do float16 (see half) and bfloat16
	onlyBF16  bool                     // not in float16
	kv        since[string]            // formats of the KV cache; nil: any
	storesKV  func(in attnInput) bool  // instead of kv
	blocks    func(in attnInput) []int // nil: any (a multiple of 1)
	exact     bool                     // 0.32: its own list of block sizes, no multiples
	sink      func(in attnInput) bool  // nil: no attention sinks
	mmPrefix  func(in attnInput) bool  // nil: no bidirectional image tokens
	types     since[string]            // attention types; nil: DECODER
	window    bool                     // sliding window (asked for from 0.32 on)
	nonCausal since[bool]              // nil: no
	invariant since[bool]              // batch invariant; nil: no
	dcp, pcp  bool                     // context parallelism (asked for from 0.32 on)
	cuda      func(in attnInput) bool
	combine   func(in attnInput) (reason, broken string)
	headMajor func(in attnInput) bool               // wants the KV cache head-major; nil: no
	preferred func(in attnInput, otherwise int) int // block size that it prefers; nil: see preferredBlock
}

// backendOf finds a backend, nil when this release does not have it or its
// limits are not known here.
func backendOf(name string, r release) *attnBackend {
	// Backends for keys and values of different sizes differ from the plain ones
	// in their name, and Triton's stores them in 16 bits only.
	if plain, ok := strings.CutSuffix(name, "_DIFFKV"); ok {
		b := backendOf(plain, r)
		if b == nil {
			return nil
		}
		wide := *b
		wide.name, wide.class = name, strings.TrimSuffix(b.class, "Backend")+"DiffKVBackend"
		if plain == "TRITON_ATTN" {
			wide.storesKV, wide.kv, wide.types = nil, since[string]{{v0240, "auto bfloat16"}}, since[string]{}
		}
		return &wide
	}
	for i := range attnBackends {
		b := &attnBackends[i]
		if b.name == name && b.from <= r && (b.gone == 0 || r < b.gone) {
			return b
		}
	}
	return nil
}

// kernelBlocks are the block sizes that the kernel takes. An entry stands for
// its multiples where vLLM says MultipleOf.
func (b *attnBackend) kernelBlocks(in attnInput) []int {
	if b.blocks == nil {
		return []int{1}
	}
	return b.blocks(in)
}

// takesBlock says whether the KV cache may be cut into blocks of this size; a
// kernel with smaller blocks splits them.
func (b *attnBackend) takesBlock(in attnInput, size int) bool {
	if b.exact {
		return slices.Contains(b.kernelBlocks(in), size)
	}
	return slices.ContainsFunc(b.kernelBlocks(in), func(k int) bool { return size%k == 0 })
}

// preferredBlock is the block size that the backend gets when the user names
// none (AttentionBackend.get_preferred_block_size).
func (b *attnBackend) preferredBlock(in attnInput, otherwise int) int {
	if b.preferred != nil {
		return b.preferred(in, otherwise)
	}
	if b.takesBlock(in, otherwise) {
		return otherwise
	}
	return slices.Min(b.kernelBlocks(in))
}

// invalid lists why the backend cannot be used, in vLLM's order and words
// (AttentionBackend.validate_configuration). broken is the Python error with
// which asking ends.
func (b *attnBackend) invalid(in attnInput) (reasons []string, broken string) {
	no := func(bad bool, reason string) {
		if bad {
			reasons = append(reasons, reason)
		}
	}
	no(b.heads != nil && !b.heads(in), "head_size not supported")
	no(in.dtype == "float32" && !b.float32 || in.dtype == "float16" && b.onlyBF16, "dtype not supported")
	no(!b.takesKV(in), "kv_cache_dtype not supported")
	no(in.asked() > 0 && !b.takesBlock(in, in.asked()), reasonBlock)
	no(in.mmPrefix && in.r >= v0160 && (b.mmPrefix == nil || !b.mmPrefix(in)), "partial multimodal token full attention not supported")
	no(in.mla && !b.mla, "MLA not supported")
	no(!in.mla && b.mla, "non-MLA not supported")
	sinks := "attention sinks not supported"
	if in.r < v0191 {
		sinks = "sink setting not supported"
	}
	no(in.sink && (b.sink == nil || !b.sink(in)), sinks)
	no(in.sparse && !b.sparse, "sparse not supported")
	no(!in.sparse && b.sparse, "non-sparse not supported")
	no(b.cuda != nil && !b.cuda(in), "compute capability not supported")
	types := b.types.at(in.r)
	no(in.attnType != "DECODER" && !slices.Contains(strings.Fields(types), in.attnType),
		"attention type AttentionType."+in.attnType+" not supported")
	no(in.r >= v0320 && in.slidingWindow && !b.window, "sliding window not supported")
	no(in.r >= v0240 && in.nonCausal && !b.nonCausal.at(in.r), "non-causal attention not supported")
	no(in.r >= v0240 && in.batchInvariant && !b.invariant.at(in.r), "batch invariance not supported")
	no(in.r >= v0320 && in.pcp && !b.pcp, "PCP not supported")
	no(in.r >= v0320 && in.dcp && !b.dcp, "DCP not supported")
	if b.combine != nil {
		reason, broken := b.combine(in)
		if broken != "" {
			return nil, broken
		}
		no(reason != "", reason)
	}
	return reasons, ""
}

func (b *attnBackend) takesKV(in attnInput) bool {
	if b.storesKV != nil {
		return b.storesKV(in)
	}
	formats := b.kv.at(in.r)
	return formats == "" || slices.Contains(strings.Fields(formats), in.kv)
}

func headSizes(sizes ...int) func(attnInput) bool {
	return func(in attnInput) bool { return slices.Contains(sizes, in.headSize) }
}

func fixedBlocks(sizes ...int) func(attnInput) []int {
	return func(attnInput) []int { return sizes }
}

func majors(list ...int) func(attnInput) bool {
	return func(in attnInput) bool { return slices.Contains(list, in.sm/10) }
}

func always(attnInput) bool { return true }

// mlaHeads are the sizes of MLACommonBackend.
func mlaHeads(in attnInput) bool {
	switch {
	case in.headSize == 576:
		return true
	case in.r < v0191:
		return false
	case in.r < v0320:
		return in.headSize == 320
	}
	return in.headSize == 320 || in.headSize == 512
}

// textInt is a whole number of the language model's configuration.
func (in attnInput) textInt(name string, otherwise int) int {
	return in.text.IntOr(name, otherwise)
}

// missing is the AttributeError of a configuration without a field.
func (in attnInput) missing(name string) string {
	if in.text.Has(name) {
		return ""
	}
	return fmt.Sprintf("AttributeError: '%s' object has no attribute '%s'", in.textClass, name)
}

// trtllmAttention says whether TRT-LLM's kernels serve attention, for the given
// phase (vllm/utils/flashinfer.py supports_trtllm_attention).
func (in attnInput) trtllmAttention(prefill bool) bool {
	switch {
	case in.batchInvariant:
		return false
	case in.r < v0160:
		return in.sm == 100
	case in.r >= v0320 && (in.sm == 90 || in.sm/10 == 12):
		return !prefill
	}
	return in.sm/10 == 10
}

// flashMLA names what FlashMLA lacks (vllm/v1/attention/ops/flashmla.py).
func flashMLA(in attnInput) (reason, broken string) {
	switch {
	case in.sparse && in.sm/10 != 9 && in.sm/10 != 10:
		if in.r < v0240 {
			return "FlashMLA Sparse is only supported on Hopper and Blackwell devices.", ""
		}
		return "FlashMLA Sparse is only supported on Hopper and Blackwell DC devices.", ""
	case !in.sparse && in.sm/10 != 9:
		return "FlashMLA Dense is only supported on Hopper devices.", ""
	}
	return "", ""
}

// Formats of the KV cache that many backends share.
const (
	kvPlain11 = "auto"
	kvPlain16 = "auto bfloat16"
	kvPlain   = "auto float16 bfloat16"
	kvFP8     = " fp8 fp8_e4m3"
	decoders  = "DECODER"
	allTypes  = "DECODER ENCODER ENCODER_ONLY ENCODER_DECODER"
)

var (
	plainKV = since[string]{{v0112, kvPlain11}, {v0160, kvPlain16}, {v0191, kvPlain}}
	fp8KV   = since[string]{{v0112, kvPlain11 + kvFP8}, {v0160, kvPlain16 + kvFP8}, {v0191, kvPlain + kvFP8}}
	from24  = since[bool]{{v0240, true}}
	from32  = since[bool]{{v0320, true}}
)

// attnBackends in no particular order; see attnInput.priorities.
var attnBackends = []attnBackend{
	{
		name: "FLASH_ATTN", class: "FlashAttentionBackend",
		heads:    flashAttnHeads,
		storesKV: flashAttnKV,
		blocks:   flashAttnBlocks,
		sink: func(in attnInput) bool {
			return in.flashAttention(faAsk{}) == 3 || in.r >= v0240 && in.flashAttention(faAsk{}) == 4
		},
		mmPrefix: func(in attnInput) bool { return in.r >= v0240 && in.hasFlashAttention(4) },
		types:    since[string]{{v0112, allTypes}},
		window:   true, nonCausal: from24, invariant: from24, dcp: true,
		cuda:    func(in attnInput) bool { return in.sm >= 80 },
		combine: flashAttnCombination,
		preferred: func(in attnInput, otherwise int) int {
			if in.r >= v0320 && flashAttnBlocks(in)[0] > 16 {
				return max(otherwise, flashAttnBlocks(in)[0])
			}
			return otherwise
		},
	},
	{
		name: "TRITON_FLASH_ATTN", class: "TritonFlashAttentionBackend", from: v0320,
		heads:    func(in attnInput) bool { return headSizes(256, 512)(in) && flashAttnHeads(in) },
		storesKV: func(in attnInput) bool { return tritonKV(in) && flashAttnKV(in) },
		blocks:   flashAttnBlocks,
		mmPrefix: always,
		window:   true,
		cuda:     majors(9),
		combine: func(in attnInput) (string, string) {
			causal := in
			causal.mmPrefix = false
			reason, _ := flashAttnCombination(causal)
			if fa := in.flashAttention(faAsk{head: in.headSize, sinks: in.sink, block: in.asked(), hd256: true}); reason == "" && fa != 3 && fa != 4 {
				reason = "causal route requires FlashAttention v3 or v4"
			}
			if reason != "" {
				return "FLASH_ATTN: " + reason, ""
			}
			return "", ""
		},
	},
	{
		name: "FLASHINFER", class: "FlashInferBackend",
		heads: func(in attnInput) bool {
			return headSizes(64, 128, 256)(in) || in.r >= v0240 && in.headSize == 512
		},
		storesKV: flashInferKV,
		blocks:   flashInferBlocks,
		sink:     flashInferSinks,
		window:   true, nonCausal: from24, dcp: true,
		cuda: func(in attnInput) bool {
			return in.sm >= 75 && in.sm < 122 && (in.r < v0240 || in.sm >= 80)
		},
		combine: func(in attnInput) (string, string) {
			if in.r < v0320 || !strings.HasPrefix(in.kv, "nvfp4") || !slices.Contains([]int{8, 9, 12}, in.sm/10) {
				return "", ""
			}
			switch {
			case in.headSize == 64:
				return "fa2 prefill misreads an NVFP4 KV cache at head_size 64", ""
			case in.sink:
				return "the sink prefill wrapper cannot read an NVFP4 KV cache", ""
			}
			return "", ""
		},
		headMajor: func(in attnInput) bool { return in.sm/10 == 10 },
	},
	{
		name: "TRITON_FLASHINFER", class: "TritonFlashInferBackend", from: v0320,
		heads:    headSizes(256, 512),
		storesKV: func(in attnInput) bool { return tritonKV(in) && flashInferKV(in) },
		blocks:   fixedBlocks(64),
		mmPrefix: always,
		window:   true,
		cuda:     majors(10),
	},
	{
		name: "TRITON_ATTN", class: "TritonAttentionBackend",
		heads: func(in attnInput) bool { return in.headSize >= 32 }, float32: true,
		storesKV: tritonKV,
		blocks:   fixedBlocks(16),
		sink:     always, mmPrefix: always,
		types:  since[string]{{v0112, decoders}, {v0160, allTypes}},
		window: true, nonCausal: from24, invariant: from24,
	},
	{
		name: "FLEX_ATTENTION", class: "FlexAttentionBackend",
		float32: true,
		kv:      plainKV,
		blocks: func(in attnInput) []int {
			if in.r < v0240 {
				return []int{1}
			}
			return []int{16}
		},
		mmPrefix: always,
		types:    since[string]{{v0112, "DECODER ENCODER_ONLY"}},
		window:   true, nonCausal: from24, invariant: from24,
	},
	{
		name: "TREE_ATTN", class: "TreeAttentionBackend", gone: v0240,
		heads: headSizes(32, 64, 96, 128, 160, 192, 224, 256),
		kv:    plainKV, blocks: fixedBlocks(16),
	},
	{
		name: "TURBOQUANT", class: "TurboQuantAttentionBackend", from: v0240,
		storesKV: func(in attnInput) bool { return strings.HasPrefix(in.kv, "turboquant_") },
		blocks:   fixedBlocks(16, 32, 64, 128),
	},
	{
		name: "ULTRAQUANT", class: "UltraQuantAttentionBackend", from: v0320, onlyBF16: true,
		storesKV:  func(in attnInput) bool { return in.kv == "ultraquant_4bit" },
		blocks:    fixedBlocks(16, 32, 64, 128),
		preferred: func(attnInput, int) int { return 64 },
	},
	{
		name: "CUTLASS_MLA", class: "CutlassMLABackend", mla: true,
		heads: mlaHeads, kv: fp8KV, blocks: fixedBlocks(128),
		dcp: true, pcp: true, cuda: majors(10),
	},
	{
		name: "FLASH_ATTN_MLA", class: "FlashAttnMLABackend", mla: true,
		heads: mlaHeads, kv: plainKV, blocks: fixedBlocks(16),
		invariant: from24, dcp: true, pcp: true, cuda: majors(9),
		combine: func(in attnInput) (string, string) { return in.flashAttnMLA(), "" },
	},
	{
		name: "FLASHINFER_MLA", class: "FlashInferMLABackend", mla: true,
		heads: mlaHeads, kv: fp8KV, blocks: fixedBlocks(32, 64),
		nonCausal: from32, dcp: true, pcp: true, cuda: majors(10),
		combine: func(in attnInput) (string, string) {
			nope := in.textInt("qk_nope_head_dim", 1)
			switch {
			case in.r < v0160:
			case in.r < v0191 && nope != 128:
				return fmt.Sprintf("FlashInfer MLA kernel requires qk_nope_head_dim == 128, but got %d", nope), ""
			case in.r >= v0191 && nope != 64 && nope != 128 && nope != 192:
				return fmt.Sprintf("FlashInfer MLA kernel requires qk_nope_head_dim in [64, 128, 192], but got %d", nope), ""
			}
			return "", ""
		},
		headMajor: always,
	},
	{
		name: "TOKENSPEED_MLA", class: "TokenspeedMLABackend", from: v0240, mla: true,
		heads: mlaHeads, kv: since[string]{{v0240, kvFP8}}, blocks: fixedBlocks(32, 64),
		nonCausal: from32, dcp: true, pcp: true, cuda: majors(10),
		combine: func(in attnInput) (string, string) {
			nope, rope, v := in.textInt("qk_nope_head_dim", 0), in.textInt("qk_rope_head_dim", 0), in.textInt("v_head_dim", 0)
			if nope != 128 || rope != 64 || v != 128 {
				return fmt.Sprintf("tokenspeed_mla requires DeepSeek R1 MLA dimensions (qk_nope_head_dim=128, "+
					"qk_rope_head_dim=64, v_head_dim=128), got (%d, %d, %d)", nope, rope, v), ""
			}
			return "", ""
		},
		headMajor: always,
	},
	{
		name: "FLASHMLA", class: "FlashMLABackend", mla: true,
		heads: mlaHeads, kv: fp8KV, blocks: fixedBlocks(64),
		dcp: true, pcp: true, cuda: majors(9, 10), combine: flashMLA,
	},
	{
		name: "TRITON_MLA", class: "TritonMLABackend", mla: true,
		heads: func(in attnInput) bool { return in.r >= v0191 || mlaHeads(in) },
		kv:    since[string]{{v0112, kvPlain11}, {v0160, kvPlain16}, {v0191, kvPlain + kvFP8}},
		blocks: func(in attnInput) []int {
			if in.r < v0191 {
				return []int{1}
			}
			return []int{16}
		},
		nonCausal: from32, invariant: from24, dcp: true, pcp: true,
	},
	{
		name: "FLASH_ATTN_MLA_SPARSE", class: "FlashAttnMLASparseBackend", from: v0320, mla: true, sparse: true,
		kv: plainKV, blocks: fixedBlocks(64), pcp: true, cuda: majors(9),
		combine: func(in attnInput) (string, string) {
			switch {
			case in.kv != "auto" && in.kv != "float16" && in.kv != "bfloat16":
				return "FlashAttention MLA Sparse currently supports only FP16/BF16 KV cache", ""
			case in.flashAttnMLA() != "":
				return in.flashAttnMLA(), ""
			case in.dcp:
				return "FlashAttention MLA Sparse does not support DCP for now", ""
			case !in.indexed():
				return "FlashAttention MLA Sparse requires model with index_topk", ""
			}
			return "", ""
		},
	},
	{
		name: "FLASHINFER_MLA_SPARSE", class: "FlashInferMLASparseBackend", from: v0191, gone: v0240, mla: true, sparse: true,
		heads: headSizes(576), kv: fp8KV, blocks: fixedBlocks(32, 64), cuda: majors(10),
		combine: flashInferSparse, headMajor: always,
	},
	{
		name: "FLASHINFER_MLA_SPARSE", class: "FlashInferMLASparseTRTLLMBackend", from: v0240, mla: true, sparse: true,
		heads: func(in attnInput) bool { return in.headSize == 576 || in.r >= v0320 && in.headSize == 512 },
		kv:    fp8KV,
		blocks: func(in attnInput) []int {
			if in.r < v0320 {
				return []int{32, 64}
			}
			return []int{32}
		},
		dcp: true, pcp: true, cuda: majors(10),
		combine: flashInferSparse, headMajor: always,
	},
	{
		name: "FLASHINFER_MLA_SPARSE_SM120", class: "FlashInferMLASparseSM120Backend", from: v0240, mla: true, sparse: true, onlyBF16: true,
		heads: func(in attnInput) bool { return in.headSize == 576 || in.r >= v0320 && in.headSize == 512 },
		kv:    since[string]{{v0240, "auto fp8 fp8_e4m3 fp8_ds_mla"}},
		blocks: func(in attnInput) []int {
			if in.r < v0320 {
				return []int{64, 256}
			}
			return []int{64}
		},
		dcp: true, pcp: true, cuda: majors(12),
		combine: func(in attnInput) (string, string) {
			topk := in.textInt("index_topk", 0)
			switch {
			case in.dtype != "bfloat16":
				return "dtype not supported", ""
			case !slices.Contains([]string{"auto", "fp8", "fp8_e4m3", "fp8_ds_mla"}, in.kv):
				return "kv_cache_dtype not supported", ""
			case !in.indexed():
				return "FLASHINFER_MLA_SPARSE_SM120 requires a model with index_topk config", ""
			case topk != 2048:
				return fmt.Sprintf("FLASHINFER_MLA_SPARSE_SM120 requires index_topk=2048; got %d", topk), ""
			}
			return "", ""
		},
	},
	{
		name: "FLASHINFER_MLA_SPARSE_SM90", class: "FlashInferMLASparseSM90Backend", from: v0320, mla: true, sparse: true, onlyBF16: true,
		heads: headSizes(512, 576), kv: since[string]{{v0320, "auto bfloat16 fp8 fp8_e4m3"}}, blocks: fixedBlocks(64),
		pcp: true, cuda: majors(9),
		combine: func(attnInput) (string, string) {
			// Needs a newer FlashInfer than the one that 0.32 requires.
			return "FLASHINFER_MLA_SPARSE_SM90 requires FlashInfer with SM90 MLA support (ckv_scale_arr in " +
				"BatchMLAPagedAttentionWrapper.run, FlashInfer >= 0.6.18)", ""
		},
	},
	{
		name: "FLASHMLA_SPARSE", class: "FlashMLASparseBackend", mla: true, sparse: true, onlyBF16: true,
		heads: func(in attnInput) bool { return in.headSize == 576 || in.r >= v0320 && in.headSize == 512 },
		kv: since[string]{{v0112, "auto fp8_ds_mla"}, {v0160, "auto bfloat16 fp8_ds_mla"},
			{v0191, "auto bfloat16 fp8_ds_mla fp8"}, {v0320, "auto bfloat16 fp8_ds_mla fp8 nvfp4_ds_mla"}},
		blocks: fixedBlocks(64), dcp: true, pcp: true, cuda: majors(9, 10),
		combine: func(in attnInput) (string, string) {
			switch {
			case in.r < v0320:
			case in.headSize == 512 && in.sm/10 == 9 && slices.Contains([]string{"auto", "bfloat16", "float16", "fp8_ds_mla"}, in.kv):
				if in.textInt("qk_rope_head_dim", 64) != 0 {
					return "FLASHMLA_SPARSE supports head_size 512 only for rope-free (NoPE) models", ""
				}
			case in.headSize == 512:
				return fmt.Sprintf("FLASHMLA_SPARSE supports head_size 512 only with bf16 or fp8_ds_mla kv-cache on SM90 (NoPE), "+
					"got kv_cache_dtype=%s, capability=DeviceCapability(major=%d, minor=%d)", in.kv, in.sm/10, in.sm%10), ""
			case in.kv == "nvfp4_ds_mla" && in.sm/10 != 10:
				return "FLASHMLA_SPARSE only supports the nvfp4_ds_mla kv-cache dtype on SM100 (Blackwell)", ""
			}
			return "", ""
		},
	},
}

// indexed says whether the model selects tokens with an indexer (DSA).
func (in attnInput) indexed() bool { return in.text.Has("index_topk") }

func flashAttnHeads(in attnInput) bool {
	switch {
	case in.r < v0160:
		return headSizes(32, 64, 96, 128, 160, 192, 224, 256)(in)
	case in.headSize%8 != 0:
		return false
	}
	return in.headSize <= 256 || in.r >= v0240 && in.headSize <= 512 && in.hasFlashAttention(4)
}

func flashAttnKV(in attnInput) bool {
	fa3 := func() bool { return in.sm/10 == 9 && in.flashAttention(faAsk{}) == 3 }
	if in.r < v0240 {
		if strings.HasPrefix(in.kv, "fp8") {
			return fa3()
		}
		return slices.Contains(strings.Fields(plainKV.at(in.r)), in.kv)
	}
	switch in.kv {
	case "auto", "float16", "bfloat16":
		return true
	case "fp8", "fp8_e4m3":
		if in.r < v0320 {
			return fa3()
		}
		return in.flashAttnFP8(faAsk{})
	}
	return false
}

func flashAttnBlocks(in attnInput) []int {
	switch {
	case in.r < v0160 || in.r < v0320 && in.float32State:
		// These sizes do not spread NaN (flash-attention issue 1974).
		return []int{16, 32, 64}
	case in.r < v0320:
		return []int{16}
	case in.sm/10 == 9 && in.headSize == 512 && (in.kv == "fp8" || in.kv == "fp8_e4m3") && in.flashAttention(faAsk{head: 512}) == 4:
		return []int{64}
	case in.fa4Wide(in.headSize, 0) && in.flashAttention(faAsk{head: in.headSize, hd256: true}) == 4:
		return []int{128}
	}
	return []int{16}
}

func flashAttnCombination(in attnInput) (reason, broken string) {
	all := faAsk{head: in.headSize, sinks: in.sink, block: in.asked(), hd256: true}
	switch {
	case in.sink && in.sm < 90:
		return "sink not supported on compute capability < 9.0", ""
	case in.r < v0240:
		return "", ""
	case in.r < v0320:
		if in.mmPrefix && in.flashAttention(faAsk{head: in.headSize, sinks: in.sink}) != 4 {
			return noPrefixLM, ""
		}
		return "", ""
	case in.mmPrefix && in.quantizedKV() && in.sm == 90:
		return "SM90 FP8 KV with mm_prefix requires Triton", ""
	case in.quantizedKV() && !in.flashAttnFP8(faAsk{head: in.headSize, headV: in.headSize, sinks: in.sink, block: in.asked(), hd256: true}):
		return "FP8 KV cache requires FA3 on SM90, FA4 with head_size=512 on SM90, or FA4 on SM100", ""
	case in.mmPrefix && in.flashAttention(all) != 4:
		return noPrefixLM, ""
	}
	return "", ""
}

const noPrefixLM = "mm_prefix (PrefixLM bidirectional attention) requires FlashAttention v4, which does not resolve for this head_size"

func flashInferKV(in attnInput) bool {
	switch in.kv {
	case "fp8", "fp8_e4m3", "fp8_e5m2":
		return true
	case "nvfp4", "nvfp4_4over6":
		switch {
		case in.r < v0240 || in.r < v0320 && in.kv != "nvfp4":
			return false
		case in.r < v0320:
			return true
		case in.sm/10 == 8 || in.sm/10 == 9 || in.sm/10 == 12:
			return in.kv == "nvfp4"
		}
		return in.sm/10 == 10 && in.trtllmAttention(true) && in.trtllmAttention(false)
	}
	if strings.HasPrefix(in.kv, "nvfp4") && in.r >= v0320 {
		return in.sm/10 == 10 && in.trtllmAttention(true) && in.trtllmAttention(false)
	}
	return slices.Contains(strings.Fields(plainKV.at(in.r)), in.kv)
}

func flashInferBlocks(in attnInput) []int {
	large := in.r >= v0240 && in.kvHeads > 0 && in.heads/in.kvHeads > 1 && in.sm/10 == 10 &&
		(in.trtllm == nil || *in.trtllm) && in.trtllmAttention(false) && in.heads%in.kvHeads == 0
	if large {
		return []int{16, 32, 64, 128, 256, 512, 1024}
	}
	return []int{16, 32, 64}
}

func flashInferSinks(in attnInput) bool {
	switch {
	case in.trtllm != nil && !*in.trtllm:
		return false
	case in.r >= v0320 && in.sm/10 == 10:
		return in.trtllmAttention(false) && in.trtllmAttention(true)
	}
	return in.trtllmAttention(false)
}

func flashInferSparse(in attnInput) (reason, broken string) {
	nope := in.textInt("qk_nope_head_dim", 1)
	if in.r >= v0240 && in.kv == "fp8_ds_mla" && !(in.r >= v0320 && in.pcp && in.dcp) {
		return "FLASHINFER_MLA_SPARSE SM10 does not support fp8_ds_mla kv-cache dtype", ""
	}
	if in.r >= v0320 {
		if in.pcp && in.dcp {
			return "FLASHINFER_MLA_SPARSE does not support combined PCP+DCP; use FLASHMLA_SPARSE, which gathers each " +
				"DCP KV shard before running the rank-local PCP prefill queries", ""
		}
		for _, name := range []string{"qk_nope_head_dim", "qk_rope_head_dim", "kv_lora_rank"} {
			if broken := in.missing(name); broken != "" {
				return "", broken
			}
		}
		if rank := in.textInt("kv_lora_rank", 0); in.textInt("qk_rope_head_dim", 0) == 0 {
			if nope != 256 || rank != 512 {
				return fmt.Sprintf("FlashInfer native no-rope MLA requires qk_nope_head_dim=256 and kv_lora_rank=512, but got "+
					"qk_nope_head_dim=%d, kv_lora_rank=%d", nope, rank), ""
			}
			nope = 128
		}
	}
	if nope != 128 && nope != 192 {
		return fmt.Sprintf("FlashInfer MLA Sparse kernel requires qk_nope_head_dim in [128, 192], but got %d", nope), ""
	}
	if !in.indexed() {
		return "FlashInfer MLA Sparse requires model with index_topk config", ""
	}
	return "", ""
}

func tritonKV(in attnInput) bool {
	switch in.kv {
	case "fp8", "fp8_e4m3", "fp8_e5m2":
		return true
	case "int8_per_token_head", "fp8_per_token_head":
		return in.r >= v0240
	case "int4_per_token_head":
		return in.r >= v0320
	}
	return slices.Contains(strings.Fields(plainKV.at(in.r)), in.kv)
}

// faAsk is what a caller of get_flash_attn_version says about its layer; the
// zero value says nothing.
type faAsk struct {
	head, headV int
	sinks       bool
	block       int
	hd256       bool // the caller can use FA4's kernel for heads of 256
}

// hasFlashAttention says whether a FlashAttention version runs on this GPU.
func (in attnInput) hasFlashAttention(version int) bool {
	switch version {
	case 2:
		return in.sm >= 80
	case 3:
		return in.sm/10 == 9
	case 4:
		return in.r >= v0191 && (in.sm/10 == 9 || in.sm/10 == 10 || in.sm/10 == 11)
	}
	return false
}

// fa4Wide says whether FA4 would use its kernel for heads of 256.
func (in attnInput) fa4Wide(head, headV int) bool {
	return head == 256 && (headV == 0 || headV == 256) && (in.sm/10 == 10 || in.sm/10 == 11)
}

// flashAttention is the FlashAttention version for a layer, 0 for none
// (get_flash_attn_version in fa_utils.py).
func (in attnInput) flashAttention(ask faAsk) int {
	fa := 2
	switch {
	case in.sm/10 == 9:
		fa = 3
	case in.sm/10 == 10 && in.r >= v0191:
		fa = 4
	}
	if in.faVersion != 0 {
		fa = in.faVersion
	}
	if fa == 3 && (in.sm/10 == 10 || in.r >= v0191 && in.sm/10 > 10) {
		switch {
		case in.r < v0160:
			in.warn('W', "Cannot use FA version 3 on Blackwell platform defaulting to FA version 2.")
			fa = 2
		case in.r < v0191:
			in.warn('W', "Cannot use FA version 3 on Blackwell platform, defaulting to FA version 2.")
			fa = 2
		default:
			in.warn('W', "Cannot use FA version 3 on Blackwell platform, defaulting to FA version 4 if supported, otherwise FA2.")
			fa = 2
			if in.hasFlashAttention(4) {
				fa = 4
			}
		}
	}
	if fa == 3 && in.sm/10 == 9 && in.r >= v0240 {
		why := ""
		switch {
		case ask.head > 256:
			why = fmt.Sprintf("FA3 does not support head_size=%d on SM90", ask.head)
		case ask.sinks && ask.head > 0 && ask.headV > 0 && ask.head != ask.headV:
			why = "Diff-KV with sinks"
		}
		if why != "" {
			in.warn('I', why+": upgrading FlashAttention 3 -> 4")
			fa = 4
		}
	}
	if fa == 4 && in.batchInvariant {
		in.warn('W', "Cannot use FA version 4 with batch invariance, defaulting to FA version 2.")
		fa = 2
	}
	if fa == 4 && in.r >= v0320 && in.fa4Wide(ask.head, ask.headV) {
		if why := in.noFA4Wide(ask); !ask.hd256 {
			fa = 2
		} else if why != "" {
			in.warn('W', "FA4's Blackwell head_size=256 kernel does not support "+why+", defaulting to FA version 2.")
			fa = 2
		}
	}
	if fa == 4 && in.sm/10 >= 10 && ask.head > 128 {
		fits := ask.head == 192
		if in.r >= v0320 {
			fits = ask.head == 256 && (ask.headV == 0 || ask.headV == 256) || ask.head == 192 && ask.headV == 128
		}
		if !fits {
			in.warn('W', fmt.Sprintf("FA4 on Blackwell does not support head_size=%d due to TMEM capacity limits, defaulting to FA version 2.", ask.head))
			fa = 2
		}
	}
	if !in.hasFlashAttention(fa) {
		return 0
	}
	return fa
}

// noFA4Wide says why FA4's kernel for heads of 256 cannot be used.
func (in attnInput) noFA4Wide(ask faAsk) string {
	switch {
	case ask.sinks:
		return "attention sinks"
	case in.softcap:
		return "logits soft capping"
	case in.quantizedKV():
		return "quantized KV cache dtype " + in.kv
	case ask.block%128 != 0:
		return fmt.Sprintf("a KV cache block size of %d", ask.block)
	case in.mmPrefix:
		return "mm_prefix bidirectional attention"
	case in.dcp:
		return "decode context parallelism"
	}
	return ""
}

// flashAttnFP8 says whether FlashAttention reads an FP8 KV cache (0.32).
func (in attnInput) flashAttnFP8(ask faAsk) bool {
	if in.kv == "fp8_e5m2" {
		return false
	}
	switch fa := in.flashAttention(ask); in.sm / 10 {
	case 9:
		return fa == 3 || fa == 4 && (ask.head == 0 || ask.head == 512)
	case 10:
		return fa == 4
	}
	return false
}

// flashAttnMLA is why FlashAttention cannot serve MLA, or empty.
func (in attnInput) flashAttnMLA() string {
	if !in.hasFlashAttention(3) {
		return "FlashAttention MLA not supported on this device"
	}
	return ""
}

// textClasses are the Python classes of model types whose name is not the type
// in camel case (transformers/models/*/configuration_*.py).
var textClasses = map[string]string{
	"gpt_oss": "GptOssConfig", "minimax_m2": "MiniMaxM2Config", "xlm-roberta": "XLMRobertaConfig",
	"nemotron_h": "NemotronHConfig", "qwen2_5_vl": "Qwen2_5_VLConfig", "qwen2_5_vl_text": "Qwen2_5_VLTextConfig",
	"qwen3_5_moe_text": "Qwen3_5MoeTextConfig",
}

// textClass is the Python class of a configuration.
func textClass(text hfconfig.Object) string {
	kind := text.Text("model_type")
	if name := textClasses[kind]; name != "" {
		return name
	}
	var b strings.Builder
	for _, part := range strings.FieldsFunc(kind, func(r rune) bool { return r == '_' || r == '-' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String() + "Config"
}

// headDimRange are the transformers releases with head_dim in the attribute_map
// of GlmMoeDsaConfig.
var headDimRange, _ = flags.ParseRange(">=5.4 <5.12")

// headDimIsRope says whether this transformers release keeps GLM's head_dim and
// qk_rope_head_dim in one field.
func headDimIsRope(version string) bool {
	v, err := flags.ParseVersion(version)
	return err == nil && headDimRange.Has(v)
}
