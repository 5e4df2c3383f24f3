package vllm

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// attnInput is all that vLLM looks at when it chooses the attention backend of
// a model's layers: AttentionSelectorConfig and the few settings that backends
// read by themselves.
type attnInput struct {
	r  release
	sm int // compute capability: 90, 100, 120

	headSize      int
	dtype         string // "bfloat16"
	kv            string // cache.cache_dtype
	block         int    // cache.block_size
	blockAsked    bool   // by --block-size
	mla           bool
	sink          bool
	sparse        bool
	mmPrefix      bool
	attnType      string // "DECODER", "ENCODER_ONLY"
	slidingWindow bool

	nonCausal      bool
	batchInvariant bool
	kvConnector    bool
	pcp, dcp       bool

	heads, kvHeads int             // of one rank
	float32State   bool            // hybrid model whose recurrent state is kept in float32
	softcap        bool            // the model caps its attention logits
	faVersion      int             // --attention-config.flash_attn_version; 0: not set
	trtllm         *bool           // --attention-config.use_trtllm_attention
	backend        string          // backend in force; empty: vLLM chooses
	text           hfconfig.Object // configuration of the language model
	textClass      string          // its Python class, for messages

	notes *[]plan.Line // what looking at a backend prints
}

// attnChoice is the backend that a model's layers use.
type attnChoice struct {
	backend string // name in AttentionBackendEnum
	class   string
	blocks  []int  // block sizes of its kernel, or what they must be a multiple of
	kv      string // format of the KV cache after the choice
	fa      int    // FlashAttention version; 0 when the backend does not use it
}

// warn notes a line that vLLM prints once.
func (in attnInput) warn(level byte, text string) {
	if in.notes == nil || slices.ContainsFunc(*in.notes, func(l plan.Line) bool { return l.Text == text }) {
		return
	}
	*in.notes = append(*in.notes, plan.Line{Level: level, Text: text})
}

// quantizedKV says whether vLLM counts a KV cache format as quantised
// (vllm/utils/torch_utils.py is_quantized_kv_cache).
func (in attnInput) quantizedKV() bool {
	switch {
	case strings.HasPrefix(in.kv, "fp8"):
		return true
	case in.r < v0240:
		return false
	case in.r < v0320:
		return strings.HasSuffix(in.kv, "per_token_head") || in.kv == "nvfp4"
	}
	return strings.HasSuffix(in.kv, "per_token_head") || strings.HasPrefix(in.kv, "nvfp4")
}

// asked is the block size that takes part in the choice, 0 for none: before
// 0.19 none does, since then only one that the user asked for.
func (in attnInput) asked() int {
	if in.r < v0191 || !in.blockAsked {
		return 0
	}
	return in.block
}

// chooseAttention picks the backend as CudaPlatformBase.get_attn_backend_cls
// (vllm/platforms/cuda.py) does. The lines come in the order in which vLLM
// prints them.
func chooseAttention(in attnInput) (attnChoice, []plan.Line, *plan.Refusal) {
	var notes []plan.Line
	in.notes = &notes
	refuse := func(message string) (attnChoice, []plan.Line, *plan.Refusal) {
		return attnChoice{}, notes, &plan.Refusal{Stage: plan.StageAttention, Message: message}
	}
	if in.backend != "" {
		b := backendOf(in.backend, in.r)
		switch {
		case in.backend == "TORCH_SDPA" || in.backend == "CUSTOM":
			return refuse(fmt.Sprintf("ValueError: Backend %s must be registered before use. Use register_backend(Backend.%s, 'your.module.YourClass')", in.backend, in.backend))
		case b == nil:
			return attnChoice{backend: in.backend, kv: in.kv}, notes, nil
		}
		reasons, broken := b.invalid(in)
		if broken != "" {
			return refuse(broken)
		}
		if len(reasons) > 0 {
			return refuse("ValueError: Selected backend AttentionBackendEnum." + in.backend +
				" is not valid for this configuration. Reason: " + pyList(reasons))
		}
		in.warn('I', "Using AttentionBackendEnum."+in.backend+" backend.")
		c := in.use(b)
		return c, notes, nil
	}

	var valid []*attnBackend
	var excluded, failed []string
	for _, name := range in.priorities() {
		b := backendOf(name, in.r)
		reasons, broken := b.invalid(in)
		if broken != "" {
			return refuse(broken)
		}
		if len(reasons) == 0 {
			valid = append(valid, b)
			continue
		}
		failed = append(failed, name+": ["+strings.Join(reasons, ", ")+"]")
		if len(valid) == 0 && len(reasons) == 1 && reasons[0] == reasonBlock {
			excluded = append(excluded, name)
		}
	}
	if len(valid) == 0 {
		return refuse("ValueError: No valid attention backend found for cuda with " + in.describe() +
			". Reasons: {" + strings.Join(failed, ", ") + "}.")
	}
	b := valid[0]
	names := make([]string, len(valid))
	for i, v := range valid {
		names[i] = v.name
	}
	if len(excluded) > 0 {
		in.warn('W', fmt.Sprintf("--block-size %d precluded higher-priority backend(s) %s. Using %s instead, "+
			"which may result in reduced performance. Consider removing --block-size to auto-select the optimal block size.",
			in.asked(), strings.Join(excluded, ", "), b.name))
	}
	if in.r < v0160 {
		in.warn('I', "Valid backends: "+pyList(names))
		in.warn('I', "Using "+b.name+" backend.")
	} else {
		in.warn('I', "Using "+b.name+" attention backend out of potential backends: "+pyList(names)+".")
	}
	c := in.use(b)
	return c, notes, nil
}

// use is what follows from the backend: the layout and format of the KV cache,
// the kernel's block sizes, the FlashAttention version.
func (in attnInput) use(b *attnBackend) attnChoice {
	c := attnChoice{backend: b.name, class: b.class, blocks: b.kernelBlocks(in), kv: in.kv}
	if in.r < v0320 && b.headMajor != nil && b.headMajor(in) {
		in.warn('I', "Using HND KV cache layout for "+b.name+" backend.")
	}
	if in.mla && in.r >= v0191 {
		c.kv = in.sparseFormat(b.name)
	}
	if strings.HasPrefix(b.name, "FLASH") && !strings.HasPrefix(b.name, "FLASHINFER") {
		c.fa = in.flashAttention(faAsk{})
	}
	return c
}

// sparseFormat is the format that a sparse MLA backend really stores
// (vllm/model_executor/layers/attention/mla_attention.py, MLAAttention).
func (in attnInput) sparseFormat(backend string) string {
	switch backend {
	case "FLASHMLA_SPARSE":
		if in.quantizedKV() && in.kv != "nvfp4_ds_mla" {
			return "fp8_ds_mla"
		}
	case "FLASHINFER_MLA_SPARSE_SM120":
		if in.kv == "auto" || in.kv == "fp8" || in.kv == "fp8_e4m3" {
			return "fp8_ds_mla"
		}
	}
	return in.kv
}

// priorities are the backends that vLLM tries, best first
// (vllm/platforms/cuda.py _get_backend_priorities).
func (in attnInput) priorities() []string {
	if !in.mla {
		first, second := "FLASH_ATTN", "FLASHINFER"
		// From 0.32 on FlashInfer's non-causal path is avoided.
		if in.sm/10 == 10 && !(in.r >= v0320 && in.nonCausal) {
			first, second = second, first
		}
		var list []string
		if in.r >= v0320 && in.mmPrefix {
			switch {
			case first == "FLASHINFER":
				list = append(list, "TRITON_FLASHINFER")
			case in.sm/10 == 9:
				list = append(list, "TRITON_FLASH_ATTN")
			}
		}
		list = append(list, first, second, "TRITON_ATTN", "FLEX_ATTENTION")
		if in.r >= v0240 {
			list = append(list, "TURBOQUANT")
		}
		return list
	}
	switch {
	case in.sm/10 == 10:
		list := []string{"FLASHINFER_MLA"}
		switch {
		case in.r < v0160:
			list = []string{"CUTLASS_MLA", "FLASHINFER_MLA"}
		case in.r < v0240:
			list = append(list, "CUTLASS_MLA")
		default:
			list = append(list, "TOKENSPEED_MLA", "CUTLASS_MLA")
		}
		list = append(list, "FLASH_ATTN_MLA", "FLASHMLA", "TRITON_MLA")
		switch {
		case in.r < v0191:
			return append(list, "FLASHMLA_SPARSE")
		case in.quantizedKV() || in.heads <= 16: // FlashMLA pads few heads
			return append(list, "FLASHINFER_MLA_SPARSE", "FLASHMLA_SPARSE")
		}
		return append(list, "FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE")
	case in.sm/10 == 12 && in.r >= v0240:
		return []string{"TRITON_MLA", "FLASHINFER_MLA_SPARSE_SM120"}
	}
	list := []string{"FLASH_ATTN_MLA", "FLASHMLA", "FLASHINFER_MLA", "TRITON_MLA"}
	switch {
	case in.r < v0320:
		return append(list, "FLASHMLA_SPARSE")
	case in.headSize == 512:
		return append(list, "FLASHINFER_MLA_SPARSE_SM90", "FLASH_ATTN_MLA_SPARSE", "FLASHMLA_SPARSE")
	}
	return append(list, "FLASH_ATTN_MLA_SPARSE", "FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM90")
}

// describe prints the question as vLLM does in its refusal.
func (in attnInput) describe() string {
	if in.r < v0160 {
		return fmt.Sprintf("head_size: %d, dtype: torch.%s, kv_cache_dtype: %s, block_size: %s, use_mla: %s, has_sink: %s, use_sparse: %s",
			in.headSize, in.dtype, in.kv, pyInt(in.block), pyBool(in.mla), pyBool(in.sink), pyBool(in.sparse))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "AttentionSelectorConfig(head_size=%d, dtype=torch.%s, kv_cache_dtype=%s, block_size=%s, use_mla=%s, has_sink=%s, use_sparse=%s, use_mm_prefix=%s",
		in.headSize, in.dtype, in.kv, pyInt(in.asked()), pyBool(in.mla), pyBool(in.sink), pyBool(in.sparse), pyBool(in.mmPrefix))
	if in.r >= v0191 {
		b.WriteString(", use_per_head_quant_scales=False")
	}
	b.WriteString(", attn_type=AttentionType." + in.attnType)
	if in.r >= v0320 {
		b.WriteString(", has_sliding_window=" + pyBool(in.slidingWindow))
	}
	if in.r >= v0240 {
		fmt.Fprintf(&b, ", use_non_causal=%s, use_batch_invariant=%s, use_kv_connector=%s",
			pyBool(in.nonCausal), pyBool(in.batchInvariant), pyBool(in.kvConnector))
	}
	if in.r >= v0320 {
		fmt.Fprintf(&b, ", use_adaptive_verification=False, use_pcp=%s, use_dcp=%s, use_rswa=False", pyBool(in.pcp), pyBool(in.dcp))
	}
	b.WriteString(")")
	return b.String()
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// pyInt prints a size; 0 stands for None.
func pyInt(n int) string {
	if n == 0 {
		return "None"
	}
	return fmt.Sprint(n)
}

// pyList prints texts without quotes in them as Python prints a list.
func pyList(items []string) string {
	if len(items) == 0 {
		return "[]"
	}
	return "['" + strings.Join(items, "', '") + "']"
}
