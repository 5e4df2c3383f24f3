package family

// llama describes Llama 2 and 3 and everything that uses their code, SmolLM2
// among them (transformers 5.24, models/llama).
func llama(f *fields) *Spec {
	s := f.decoder(1e-6, 2048)
	a := f.gqa(s, 0, 0)
	a.QKVBias = f.flag("attention_bias", false)
	a.OBias = a.QKVBias
	a.Interleave = f.flag("rope_interleave", false) // no field of Hugging Face: FromGGUF sets it
	s.Rope = f.rope(a.HeadDim, 10000)
	f.fill(s, a, f.flag("mlp_bias", false))
	return s
}

// mistral is llama with a sliding window in its first version.
func mistral(f *fields) *Spec {
	s := f.decoder(1e-6, 4096*32)
	a := f.gqa(s, 8, 0)
	a.Window = f.count("sliding_window", 4096, 1<<30)
	s.Rope = f.rope(a.HeadDim, 10000)
	f.fill(s, a, false)
	return s
}

// gqa reads the geometry of grouped-query attention. kvHeads and headDim are
// the family's defaults; 0 means as many as query heads, and the share of a head
// of the hidden width.
func (f *fields) gqa(s *Spec, kvHeads, headDim int) *GQA {
	a := &GQA{Heads: f.width("num_attention_heads", 0, maxWidth)}
	if kvHeads == 0 {
		kvHeads = a.Heads
	}
	a.KVHeads = f.width("num_key_value_heads", kvHeads, maxWidth)
	if headDim == 0 {
		headDim = max(s.Hidden/a.Heads, 1)
	}
	if f.Has("head_dim") {
		headDim = f.width("head_dim", 0, maxWidth)
	}
	a.HeadDim = headDim
	if a.Heads%a.KVHeads != 0 {
		f.fail("num_attention_heads %d is no multiple of num_key_value_heads %d", a.Heads, a.KVHeads)
	}
	return a
}

// fill gives every layer the same attention and a dense MLP.
func (f *fields) fill(s *Spec, a *GQA, bias bool) {
	d := &Dense{Width: f.width("intermediate_size", 0, maxWidth), Bias: bias}
	for i := range s.Layers {
		s.Layers[i] = Layer{GQA: a, Dense: d}
	}
}
