package memfit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/hfconfig"
)

// Tensor is one tensor of the weight files.
type Tensor struct {
	Name  string
	Bytes float64
}

// weighTensors adds up the tensors on the fullest GPU, in GiB. The parts that
// only speculative decoding loads are counted apart.
func (e *estimator) weighTensors(d split, withDraft bool) float64 {
	s := e.s
	each := make([]float64, len(s.layers))
	front, back, draft, all := 0.0, 0.0, 0.0, 0.0
	for _, t := range e.in.Tensors {
		share := t.Bytes / float64(max(1, waysOf(t.Name, s, d)))
		layer, inLayer := layerOf(t.Name)
		switch {
		case inLayer && layer >= len(s.layers), strings.HasPrefix(t.Name, "mtp."):
			draft += share
			continue
		case inLayer:
			each[layer] += share
		case strings.Contains(t.Name, "embed"), strings.Contains(t.Name, "vis"), strings.HasPrefix(t.Name, "token_embd"):
			front += share
		default:
			back += share
		}
		all += t.Bytes
	}
	for i, l := range s.layers {
		if l.mixer == latent {
			each[i] += float64(s.kvLora*s.heads*(s.nope+s.vHeadDim)) * bytes16 / float64(max(1, d.attn)) // see counter.latent
		}
	}
	c := &counter{d: d, each: each}
	per := c.largestStage(front, back) / gib
	e.item("weights", per, fmt.Sprintf("%.1f GiB of tensors, divided over the GPUs", all/gib))
	if withDraft && draft > 0 {
		e.item("draft layers", draft/gib, fmt.Sprintf("%d layers for multi-token prediction", s.mtp))
		per += draft / gib
	}
	return per
}

// layerOf is the number of the layer in a tensor's name.
func layerOf(name string) (int, bool) {
	parts := strings.Split(name, ".")
	i := slices.IndexFunc(parts, func(p string) bool { return p == "layers" || p == "blk" })
	if i < 0 || i+1 >= len(parts) || strings.Contains(name, "vis") {
		return 0, false
	}
	n, err := strconv.Atoi(parts[i+1])
	return n, err == nil && n >= 0
}

// waysOf is the number of GPUs that share a tensor, as counter counts them.
func waysOf(name string, s *shape, d split) int {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
	}
	switch {
	case has("norm"), has("mlp.gate."), has("router"), has("indexer"), has("q_a_proj"), has("kv_a_proj"), has("eh_proj"):
		return 1
	case has("experts.") && !has("shared_experts."):
		return d.expert
	case has("k_proj", "v_proj"):
		return min(d.attn, s.kvHeads)
	case has("attn", "mixer", "attention"):
		return d.attn
	case has("embed"):
		return d.embed
	case has("mlp", "lm_head", "ffn", "vis", "shared_expert"):
		return d.tp
	}
	return 1
}

// Layout is one way to store the KV cache of a model.
type Layout struct {
	Name          string
	BytesPerToken float64 // all layers, not divided
	How           string
}

// Layouts lists the ways in which engines store the KV cache of a model; nil
// when the config does not tell its size. Layers with a sliding window count
// as if they kept everything, recurrent layers not at all.
func Layouts(m *hfconfig.Model) []Layout {
	s, ok := newShape(m)
	if !ok {
		return nil
	}
	if s.kvLora == 0 {
		n := s.count(attention, window)
		if n == 0 || s.kvHeads*s.headDim == 0 {
			return nil
		}
		how := fmt.Sprintf("%d layers x %d KV heads x (%d + %d) values", n, s.kvHeads, s.headDim, s.vHeadDim)
		return []Layout{
			{"bf16", s.grouped(1, bytes16) * float64(n), how + " x 2 bytes"},
			{"fp8", s.grouped(1, 1) * float64(n), how + " x 1 byte"},
		}
	}
	n, index, withIndex := float64(len(s.layers)), 0.0, 0
	for _, l := range s.layers {
		if l.indexer {
			index += s.indexBytes()
			withIndex++
		}
	}
	more := ""
	if withIndex > 0 {
		more = fmt.Sprintf(" + %d indexes x %.0f bytes", withIndex, s.indexBytes())
	}
	latents := float64(s.kvLora + s.rope)
	out := []Layout{{"bf16", latents*bytes16*n + index, fmt.Sprintf("%.0f layers x (%d latent + %d rotary values) x 2 bytes%s", n, s.kvLora, s.rope, more)}}
	if s.dsa() {
		out = append(out, Layout{"fp8 packed", s.packedRecord()*n + index, fmt.Sprintf("%.0f layers x %.0f bytes (FP8 latents, their scales, 16-bit rotary part)%s", n, s.packedRecord(), more)})
	}
	return append(out, Layout{"fp8 plain", latents*n + index, fmt.Sprintf("%.0f layers x %.0f bytes%s", n, latents, more)})
}

// Room reckons without an engine: what the weights leave on a GPU, and how
// many tokens of the 16-bit cache that holds. in needs Model and GPU; layout is
// tp, ep and pp, each at least 1.
func Room(in Input, tp, ep, pp int) (Estimate, error) {
	s, ok := newShape(in.Model)
	if !ok {
		return Estimate{}, &UnknownError{"config.json does not give hidden_size, num_hidden_layers and num_attention_heads"}
	}
	if in.GPU.MemoryMiB <= 0 {
		return Estimate{}, &UnknownError{"the memory of the GPU is not known"}
	}
	layouts := Layouts(in.Model)
	if len(layouts) == 0 {
		return Estimate{}, &UnknownError{"the config describes no attention layer"}
	}
	e := &estimator{in: in, s: s, total: float64(in.GPU.MemoryMiB) / 1024}
	e.item("start-up", e.startup(tp*pp), "contexts of the GPU and of the communication, an estimate")
	d := split{tp: tp, attn: tp, expert: max(tp, ep), embed: tp, pp: pp}
	weights := e.weigh("", "", d, false)
	e.item("reserve", reserveShare*e.total, "a tenth for activations, graphs and workspaces, an estimate")
	per := layouts[0].BytesPerToken / float64(pp)
	if s.kvLora == 0 {
		per = s.grouped(tp, bytes16) * float64((s.count(attention, window)+pp-1)/pp)
	}
	left := e.total*(1-reserveShare) - e.startup(tp*pp) - weights
	tokens := int(left * gib / per)
	if tokens <= 0 {
		e.item("KV cache", 0, "what is left")
		return e.finish(0, 0, per, fmt.Sprintf("does not fit: %.1f GiB of weights on a GPU of %.1f", weights, e.total)), nil
	}
	e.item("KV cache", float64(tokens)*per/gib, fmt.Sprintf("what is left: %d tokens of %.0f bytes in 16 bits", tokens, per))
	out := e.finish(left, tokens, per, "fits")
	out.LeftGiB, out.Fits = 0, true
	return out, nil
}

// reserveShare is what engines leave unallocated by default or more
// (gpu_memory_utilization 0.9, mem_fraction_static about 0.85).
const reserveShare = 0.1
