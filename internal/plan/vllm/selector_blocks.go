package vllm

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// defaultBlock is CacheConfig.DEFAULT_BLOCK_SIZE, in tokens.
const defaultBlock = 16

// pages are the sizes of the KV cache's pages.
type pages struct {
	block       int // tokens of one attention block
	mambaBlock  any // tokens of one block of recurrent state; nil: none
	mambaPadded any // bytes that a page of recurrent state is padded to; nil: not padded
}

// hybridPages is what a model with attention and recurrent layers knows when
// their pages are made equal.
type hybridPages struct {
	alignment  int    // what the attention block must be a multiple of, in tokens
	tokenBytes int    // attention cache of one token in one layer
	stateBytes int    // recurrent state of one layer
	mode       string // cache.mamba_cache_mode; in 0.11 "all" with prefix caching
	chunk      int    // tokens that a recurrent kernel works on at a time; for mode "all"
}

// align makes attention blocks large enough that their page holds a recurrent
// state, and pads the state to that page (HybridAttentionMambaModelConfig up to
// 0.19, Platform._align_hybrid_block_size since).
func (h hybridPages) align(p pages) (pages, []plan.Line) {
	var lines []plan.Line
	if h.stateBytes == 0 || h.tokenBytes == 0 || h.alignment == 0 {
		return p, nil
	}
	block := h.alignment * ceilDiv(h.stateBytes, h.alignment*h.tokenBytes)
	if h.mode == "all" && h.chunk > 0 {
		chunk := lcm(h.chunk, h.alignment)
		block = chunk * ceilDiv(ceilDiv(h.stateBytes, h.tokenBytes), chunk)
		p.mambaBlock = block
	}
	if p.block < block {
		p.block = block
		lines = append(lines, plan.Line{Level: 'I', Text: fmt.Sprintf("Setting attention block size to %d tokens "+
			"to ensure that attention page size is >= mamba page size.", block)})
	}
	if h.mode == "align" {
		p.mambaBlock = p.block
	}
	page := p.block * h.tokenBytes
	if page != h.stateBytes && p.mambaPadded != any(page) {
		p.mambaPadded = page
		lines = append(lines, plan.Line{Level: 'I', Text: fmt.Sprintf("Padding mamba page size by %.2f%% to ensure "+
			"that mamba page size and attention page size are exactly equal.", 100*float64(page-h.stateBytes)/float64(h.stateBytes))})
	}
	return p, lines
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }

// stateShape is the recurrent state of one layer: the number of values of its
// convolution window and of its state.
type stateShape struct {
	conv, state int
	float32     bool // the state is always kept in float32
}

// recurrentState is the state of one layer on one rank, spec drafts ahead
// (vllm/model_executor/layers/mamba/mamba_utils.py MambaStateShapeCalculator
// and get_mamba_state_shape_from_config of the models). ok is false for a kind
// of layer that is not described here.
func recurrentState(text hfconfig.Object, tp, spec int) (s stateShape, ok bool) {
	n := func(name string) int { return text.IntOr(name, 0) }
	mamba2 := func(inner, heads, headDim, groups, stateSize, window int) stateShape {
		if groups%tp != 0 {
			groups = tp
		}
		return stateShape{
			conv:  (inner + 2*groups*stateSize) / tp * (window - 1),
			state: heads / tp * headDim * stateSize,
		}
	}
	inner := text.IntOr("mamba_d_ssm", n("mamba_expand")*n("hidden_size"))
	switch kind := text.Text("model_type"); {
	case text.Has("linear_num_value_heads"): // gated delta net: Qwen3-Next, Qwen3.5
		keys, values := n("linear_num_key_heads"), n("linear_num_value_heads")
		keyDim, valueDim := n("linear_key_head_dim"), n("linear_value_head_dim")
		return stateShape{
			conv:  (keyDim*keys*2 + valueDim*values) / tp * (n("linear_conv_kernel_dim") - 1 + spec),
			state: values / tp * valueDim * keyDim,
		}, true
	case kind == "nemotron_h":
		heads, headDim := n("mamba_num_heads"), n("mamba_head_dim")
		return mamba2(heads*headDim, heads, headDim, n("n_groups"), n("ssm_state_size"), n("conv_kernel")+spec), true
	case text.Has("mamba_n_heads") && text.Has("mamba_d_head"): // Bamba, Granite 4, Falcon-H1
		return mamba2(inner, n("mamba_n_heads"), n("mamba_d_head"), n("mamba_n_groups"), n("mamba_d_state"), n("mamba_d_conv")), true
	case kind == "zamba2":
		return mamba2(inner, n("n_mamba_heads"), n("mamba_headdim"), n("mamba_ngroups"), n("mamba_d_state"), n("mamba_d_conv")), true
	case kind == "jamba":
		return stateShape{conv: inner / tp * (n("mamba_d_conv") - 1), state: inner / tp * n("mamba_d_state")}, true
	case text.Has("conv_L_cache"): // LFM2
		width := text.IntOr("conv_dim", n("hidden_size"))
		return stateShape{conv: width / tp * (n("conv_L_cache") - 1)}, true
	case text.Obj("linear_attn_config") != nil: // Kimi Linear
		linear := text.Obj("linear_attn_config")
		heads, headDim := linear.IntOr("num_heads", 0), linear.IntOr("head_dim", 0)
		return stateShape{
			conv:    3 * heads * headDim / tp * (linear.IntOr("short_conv_kernel_size", 4) - 1),
			state:   heads / tp * headDim * headDim,
			float32: true,
		}, true
	}
	return stateShape{}, false
}

// typeBytes is the size of a value by the name of its type; a KV cache format
// stands for the type it is stored in.
func typeBytes(name string) int {
	switch {
	case name == "float32":
		return 4
	case name == "float16" || name == "half" || name == "bfloat16":
		return 2
	}
	return 1
}

// stateBytes is the size of one layer's recurrent state on one rank in bytes; 0
// for an unknown kind of layer.
func (s *state) stateBytes() int {
	shape, ok := recurrentState(s.model.text, max(1, s.Int("parallel.tensor_parallel_size")), s.speculatedTokens())
	if !ok {
		return 0
	}
	conv := s.Str("cache.mamba_cache_dtype")
	if conv == "auto" || conv == "" {
		conv = strings.TrimPrefix(s.Str("model.dtype"), "torch.")
	}
	state := s.Str("cache.mamba_ssm_cache_dtype")
	switch {
	case shape.float32:
		state = "float32"
	case state == "auto" || state == "":
		state = conv
	}
	return shape.conv*typeBytes(conv) + shape.state*typeBytes(state)
}

// recurrentChunk is the number of tokens whose states are kept together in mode
// "all": --mamba-block-size, else what the kernels work on at a time
// (ModelConfig.get_mamba_chunk_size).
func (s *state) recurrentChunk() int {
	if n, ok := s.args.Get("mamba_block_size").(int); ok {
		return n
	}
	return s.model.text.IntOr("mamba_chunk_size", s.model.text.IntOr("chunk_size", 2048))
}

// turboquantBits are the bits of keys and values (turboquant/config.py
// TQ_PRESETS); 8 are FP8 keys without a norm.
var turboquantBits = map[string][2]int{
	"turboquant_k8v4": {8, 4}, "turboquant_4bit_nc": {4, 4}, "turboquant_k3v4_nc": {3, 4}, "turboquant_3bit_nc": {3, 3},
}

// tokenBytes is the size of one token in one attention layer on one rank.
func (in attnInput) tokenBytes(kv string) int {
	if kv == "auto" {
		kv = in.dtype
	}
	if in.mla {
		return in.headSize * typeBytes(kv)
	}
	head := 2 * in.headSize * typeBytes(kv)
	switch bits, turbo := turboquantBits[kv]; {
	case turbo:
		key := ceilDiv(in.headSize*bits[0], 8)
		if bits[0] != 8 {
			key += 2 // norm
		}
		head = key + ceilDiv(in.headSize*bits[1], 8) + 4
		head += head % 2
	case kv == "int4_per_token_head":
		head = in.headSize + 8 // two scales
	case strings.HasSuffix(kv, "per_token_head"):
		head += 8
	case strings.HasPrefix(kv, "nvfp4"):
		head = 2 * (in.headSize/2 + in.headSize/16)
	}
	return in.kvHeads * head
}

// pages are the sizes after the choice of the backend
// (Platform.update_block_size_for_backend, from 0.19 on).
func (s *state) pages(in attnInput, choice attnChoice) (pages, []plan.Line) {
	var lines []plan.Line
	p := pages{block: in.block, mambaBlock: s.Get("cache.mamba_block_size"), mambaPadded: s.Get("cache.mamba_page_size_padded")}
	b := backendOf(choice.backend, in.r)
	hybrid := s.Bool("model.is_hybrid")
	if b == nil || in.r < v0240 && (in.blockAsked || hybrid) {
		return p, nil // 0.19 has aligned hybrid models before
	}
	in.kv = choice.kv
	if !in.blockAsked {
		p.block = b.preferredBlock(in, defaultBlock)
		if p.block != defaultBlock {
			plural := ""
			if in.r >= v0320 {
				plural = "(s)"
			}
			lines = append(lines, plan.Line{Level: 'I', Text: fmt.Sprintf("Setting kv cache block size to %d for %s backend%s.", p.block, b.name, plural)})
		}
	}
	smallest := slices.Min(b.kernelBlocks(in))
	if hybrid {
		h := hybridPages{
			alignment: max(smallest, p.block), tokenBytes: in.tokenBytes(in.kv), stateBytes: s.stateBytes(),
			mode: s.Str("cache.mamba_cache_mode"), chunk: s.recurrentChunk(),
		}
		if in.r >= v0320 && in.mla {
			h.alignment = max(h.alignment, 128)
		}
		aligned, said := h.align(p)
		p, lines = aligned, append(lines, said...)
	}
	if in.r >= v0320 && (s.args.Asked("kv_cache_dtype_skip_layers") || !hybrid && strings.HasPrefix(in.kv, "turboquant_")) {
		// TurboQuant keeps the first and last two layers in the model's type.
		primary, padded := in.tokenBytes(in.kv), in.tokenBytes("auto")
		unit := max(smallest, p.block)
		if wanted, _ := p.mambaPadded.(int); padded > primary {
			block := unit * ceilDiv(max(padded*smallest, wanted), unit*primary)
			if p.block < block {
				p.block = block
				lines = append(lines, plan.Line{Level: 'I', Text: fmt.Sprintf("Setting attention block size to %d tokens so the quantized "+
					"primary KV page covers the higher-precision padded-spec page.", block)})
			}
			if p.mambaPadded != nil {
				p.mambaPadded = p.block * primary
			}
		}
	}
	return p, lines
}
