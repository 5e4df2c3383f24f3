package family

import (
	"math"

	"shakedown/internal/hfconfig"
	"shakedown/internal/kernel"
)

// rope reads the rotation of dim elements in both spellings: rope_parameters,
// which Transformers 5 writes, and rope_theta beside rope_scaling. The theta is
// the family's default.
func (f *fields) rope(dim int, theta float64) Rope {
	r := Rope{Type: RopeDefault, Dim: dim, Theta: f.positive("rope_theta", theta), AttentionFactor: 1}
	if dim%2 != 0 {
		f.fail("%d rotated elements per head: an even number is expected", dim)
	}
	p := &fields{Object: f.Obj("rope_parameters")}
	if p.Object == nil {
		p.Object = f.Obj("rope_scaling")
	}
	if p.Object == nil {
		return r
	}
	// Configs nest the parameters per kind of layer where kinds differ, which
	// none of the families here does.
	if p.Obj("full_attention") != nil {
		f.fail("rope_parameters per kind of layer are not supported")
		return r
	}
	r.Theta = p.positive("rope_theta", r.Theta)
	kind := "rope_type"
	if !p.Has(kind) {
		kind = "type" // until Transformers 4.43
	}
	r.Type = RopeType(p.must(kind, string(RopeDefault), string(RopeLinear), string(RopeLlama3), string(RopeYarn)))
	switch r.Type {
	case RopeLinear:
		r.Factor = p.positive("factor", 1)
	case RopeLlama3:
		r.Factor = p.positive("factor", 0)
		r.LowFreq = p.positive("low_freq_factor", 0)
		r.HighFreq = p.positive("high_freq_factor", 0)
		r.Original = p.width("original_max_position_embeddings", 0, 1<<30)
	case RopeYarn:
		f.yarn(p, &r)
	}
	for _, err := range p.errs {
		f.fail("rope_parameters: %w", err)
	}
	return r
}

// yarn reads the parameters of YaRN as transformers 5.24 does
// (modeling_rope_utils.py, _compute_yarn_parameters): the factor of cos and sin
// is the quotient of two mscales where both are given, else that of the factor
// alone.
func (f *fields) yarn(p *fields, r *Rope) {
	r.Factor = p.positive("factor", 0)
	r.Original = p.width("original_max_position_embeddings", f.IntOr("max_position_embeddings", 0), 1<<30)
	r.BetaFast = p.positive("beta_fast", 32)
	r.BetaSlow = p.positive("beta_slow", 1)
	r.Truncate = p.flag("truncate", true)
	all, one := p.number("mscale_all_dim", 0), p.number("mscale", 0)
	switch {
	case p.Has("attention_factor"):
		r.AttentionFactor = p.positive("attention_factor", 1)
	case all != 0 && one != 0:
		r.AttentionFactor = mscale(r.Factor, one) / mscale(r.Factor, all)
	default:
		r.AttentionFactor = mscale(r.Factor, 1)
	}
}

// mscale is YaRN's factor of attention for a context that is factor times as
// long.
func mscale(factor, m float64) float64 {
	if factor <= 1 {
		return 1
	}
	return float64(0.1*m*kernel.Log(factor)) + 1
}

// latentScale is the factor of MLA scores: 1/sqrt(width), times mscale² when a
// scaled rope names mscale_all_dim (transformers 5.24, modeling_deepseek_v3.py,
// DeepseekV3Attention).
func (f *fields) latentScale(width int, r Rope) float64 {
	scale := 1 / math.Sqrt(float64(width))
	p := hfconfig.Object(f.Obj("rope_parameters"))
	if p == nil {
		p = f.Obj("rope_scaling")
	}
	if all, ok := p.Float("mscale_all_dim"); ok && r.Type != RopeDefault && all != 0 {
		m := mscale(r.Factor, all)
		scale *= m * m
	}
	return scale
}

// InvFreq is the angle per position of each rotated pair, in float32 as the
// reference computes it, and the factor of cos and sin.
func (r Rope) InvFreq() ([]float32, float32) {
	n := r.Dim / 2
	inv := make([]float32, n)
	for i := range inv {
		f := 1 / kernel.Pow(r.Theta, float64(2*i)/float64(r.Dim))
		switch r.Type {
		case RopeLinear:
			f /= r.Factor
		case RopeLlama3:
			f = r.llama3(f)
		case RopeYarn:
			f = r.yarn(f, i)
		}
		inv[i] = float32(f)
		if r.Divisors != nil {
			inv[i] /= r.Divisors[i]
		}
	}
	return inv, float32(r.AttentionFactor)
}

// llama3 stretches long wave lengths, keeps short ones and blends between
// (transformers 5.24, modeling_rope_utils.py, _compute_llama3_parameters).
func (r Rope) llama3(f float64) float64 {
	wave := 2 * math.Pi / f
	orig := float64(r.Original)
	switch {
	case wave < orig/r.HighFreq:
		return f
	case wave > orig/r.LowFreq:
		return f / r.Factor
	}
	s := (orig/wave - r.LowFreq) / (r.HighFreq - r.LowFreq)
	return float64((1-s)*f/r.Factor) + float64(s*f)
}

// yarn blends the stretched and the plain angle by the dimension's place
// between the two turning points (same file, _compute_yarn_parameters).
func (r Rope) yarn(f float64, i int) float64 {
	turn := func(beta float64) float64 {
		return float64(r.Dim) * kernel.Log(float64(r.Original)/(beta*2*math.Pi)) / (2 * kernel.Log(r.Theta))
	}
	low, high := turn(r.BetaFast), turn(r.BetaSlow)
	if r.Truncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(r.Dim-1))
	if low == high {
		high += 0.001 // the reference's guard against a division by zero
	}
	ramp := min(max((float64(i)-low)/(high-low), 0), 1)
	return float64(f/r.Factor*ramp) + float64(f*(1-ramp))
}
