package family

import (
	"slices"

	"shakedown/internal/hfconfig"
)

// qwen2 is llama with biases on queries, keys and values (transformers 5.24,
// models/qwen2).
func qwen2(f *fields) *Spec {
	s := f.decoder(1e-6, 32768)
	a := f.gqa(s, 32, 0)
	a.QKVBias = true
	s.Rope = f.rope(a.HeadDim, 10000)
	f.fill(s, a, false)
	f.window(s)
	return s
}

// qwen3 has no biases and a norm per head on queries and keys (transformers
// 5.24, models/qwen3).
func qwen3(f *fields) *Spec {
	s := f.decoder(1e-6, 32768)
	f.fill(s, f.qwen3Attention(s, 32, 128), false)
	f.window(s)
	return s
}

func (f *fields) qwen3Attention(s *Spec, kvHeads, headDim int) *GQA {
	a := f.gqa(s, kvHeads, headDim)
	a.QKNorm = true
	a.QKVBias = f.flag("attention_bias", false)
	a.OBias = a.QKVBias
	s.Rope = f.rope(a.HeadDim, 10000)
	return a
}

// qwen3Moe routes by softmax, without a bias and without a shared expert
// (transformers 5.24, models/qwen3_moe).
func qwen3Moe(f *fields) *Spec {
	s := f.decoder(1e-6, 32768)
	s.FusedMoE = true
	f.fill(s, f.qwen3Attention(s, 4, 0), false)
	m := &MoE{
		// Transformers 5.24 writes the second name.
		Experts: f.width(f.spelled("num_experts", "num_local_experts"), 128, maxExperts),
		TopK:    f.width("num_experts_per_tok", 8, maxExperts),
		Width:   f.width("moe_intermediate_size", 768, maxWidth),
		Router:  Router{Score: Softmax, Groups: 1, TopGroups: 1, Normalise: f.flag("norm_topk_prob", false), Scale: 1},
	}
	f.checkTopK(m)
	step := f.width("decoder_sparse_step", 1, maxLayers)
	var dense []int
	for _, v := range f.List("mlp_only_layers") {
		if n, ok := hfconfig.Int(v); ok {
			dense = append(dense, n)
		}
	}
	for i := range s.Layers {
		if !slices.Contains(dense, i) && (i+1)%step == 0 {
			s.Layers[i].Dense, s.Layers[i].MoE = nil, m
		}
	}
	f.window(s)
	return s
}

// window limits layers to the sliding window, if the config uses one: those that
// layer_types names, else those from max_window_layers on.
func (f *fields) window(s *Spec) {
	if !f.flag("use_sliding_window", false) {
		return
	}
	width := f.count("sliding_window", 4096, 1<<30)
	from := f.count("max_window_layers", 28, maxLayers)
	kinds := f.kinds("layer_types", len(s.Layers), "full_attention", "sliding_attention")
	for i := range s.Layers {
		if kinds == nil && i >= from || kinds != nil && kinds[i] == "sliding_attention" {
			a := *s.Layers[i].GQA
			a.Window = width
			s.Layers[i].GQA = &a
		}
	}
}
