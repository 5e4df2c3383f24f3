package family

// glm4MoeDefaults are those of transformers 5.24, models/glm4_moe.
var glm4MoeDefaults = latent{
	width: 10944, moeWidth: 1408, experts: 128, topK: 8, shared: 1, groups: 1, topGroups: 1, firstDense: 1, scale: 1,
}

// glm4Moe describes GLM-4.5, 4.6 and 4.7: grouped-query attention with a part of
// each head rotated, and DeepSeek's mixture (transformers 5.24, models/glm4_moe). Its
// MTP layer is left out.
func glm4Moe(f *fields) *Spec {
	s := f.decoder(1e-5, 131072)
	s.FusedMoE = true
	a := f.gqa(s, 8, 0)
	a.QKVBias = f.flag("attention_bias", false)
	a.QKNorm = f.flag("use_qk_norm", false)
	s.Rope = f.rope(f.rotated(a.HeadDim, 0.5), 10000)
	for i := range s.Layers {
		s.Layers[i].GQA = a
	}
	f.mixed(s, f.biasedMoE(glm4MoeDefaults), glm4MoeDefaults)
	return s
}

// rotated is how many elements of a head of width dim are rotated:
// partial_rotary_factor, which Transformers 5 writes into rope_parameters, says
// which share of them; the argument is the family's default.
func (f *fields) rotated(dim int, share float64) int {
	const name = "partial_rotary_factor"
	share = f.positive(name, share)
	p := &fields{Object: f.Obj("rope_parameters")}
	if p.Object != nil {
		share = p.positive(name, share)
		f.errs = append(f.errs, p.errs...)
	}
	n := int(float64(dim) * share)
	if n < 2 || n > dim {
		f.fail("%s is %v: 2 to %d elements of a head can be rotated", name, share, dim)
		return 2
	}
	return n
}
