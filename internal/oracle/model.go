package oracle

import (
	"fmt"

	"shakedown/internal/kernel"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
)

// Model is a description bound to weights and to an arithmetic. It is immutable
// and may be used by several sessions at once.
type Model struct {
	Spec  *family.Spec
	Num   numerics.Numerics
	round rounding
	pool  *kernel.Pool
	pager Pager

	embed  *linear
	head   *linear
	norm   vector
	layers []*layer
	mtp    []*draft
}

// layer is one decoder layer.
type layer struct {
	inNorm, postNorm vector
	gqa              *gqa
	mla              *mla
	mlp              *mlp
	moe              *moe
}

// draft is an MTP layer with what stands before and behind it.
type draft struct {
	layer
	embedNorm, hiddenNorm, headNorm vector
	join                            *linear
}

// New binds a description to weights. A weight that is missing or has another
// shape is named in the error. MTP layers that the config promises and the
// checkpoint lacks are left out, since they take no part in plain inference. The
// pool computes; it has no influence on results.
func New(s *family.Spec, w Weights, n numerics.Numerics, pool *kernel.Pool) (*Model, error) {
	m := &Model{Spec: s, Num: n, round: newRounding(n), pool: pool, pager: noPager{}}
	if p, ok := w.(Pager); ok {
		m.pager = p
	}
	if err := m.checkGeometry(); err != nil {
		return nil, err
	}
	b := &binder{w: w}
	m.embed = b.linear("model.embed_tokens", s.Vocab, s.Hidden, false)
	m.norm = b.vector("model.norm.weight", s.Hidden)
	m.head = m.embed
	if !s.Tied {
		m.head = b.linear("lm_head", s.Vocab, s.Hidden, false)
	}
	for i := range s.Layers {
		m.layers = append(m.layers, b.layer(s, i, &s.Layers[i]))
	}
	for i := range s.MTP {
		n := len(s.Layers) + i
		if w.Has(fmt.Sprintf("model.layers.%d.enorm.weight", n)) {
			m.mtp = append(m.mtp, b.draft(s, n, &s.MTP[i]))
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	return m, nil
}

func (b *binder) layer(s *family.Spec, i int, l *family.Layer) *layer {
	prefix := fmt.Sprintf("model.layers.%d", i)
	out := &layer{
		inNorm:   b.vector(prefix+".input_layernorm.weight", s.Hidden),
		postNorm: b.vector(prefix+".post_attention_layernorm.weight", s.Hidden),
	}
	if l.GQA != nil {
		out.gqa = b.gqa(prefix+".self_attn", s.Hidden, l.GQA)
	} else {
		out.mla = b.mla(prefix+".self_attn", s.Hidden, l.MLA)
	}
	if l.Dense != nil {
		out.mlp = b.mlp(prefix+".mlp", s.Hidden, *l.Dense)
	} else {
		out.moe = b.moe(prefix+".mlp", s.Hidden, l.MoE, s.FusedMoE)
	}
	return out
}

func (b *binder) draft(s *family.Spec, i int, l *family.Layer) *draft {
	prefix := fmt.Sprintf("model.layers.%d", i)
	return &draft{
		layer:      *b.layer(s, i, l),
		embedNorm:  b.vector(prefix+".enorm.weight", s.Hidden),
		hiddenNorm: b.vector(prefix+".hnorm.weight", s.Hidden),
		headNorm:   b.vector(prefix+".shared_head.norm.weight", s.Hidden),
		join:       b.linear(prefix+".eh_proj", s.Hidden, 2*s.Hidden, false),
	}
}

// layout says whether a rotation is interleaved.
func (m *Model) layout(config bool) bool {
	if m.Num.Rope == numerics.RopeConfig {
		return config
	}
	return m.Num.Rope == numerics.RopeInterleave
}

// run is one decoder layer: x becomes x + attention, then that + MLP. The caches
// are those of the parts of the step.
func (l *layer) run(st *step, x []float32) []float32 {
	h := st.streamNorm("attn.norm", l.inNorm, x)
	if l.gqa != nil {
		h = l.gqa.run(st, h)
	} else {
		h = l.mla.run(st, h)
	}
	st.join("attn.residual", x, h)
	h = st.streamNorm("mlp.norm", l.postNorm, x)
	if l.moe != nil {
		h = l.moe.run(st, h)
	} else {
		h = l.mlp.run(st, "mlp", h)
	}
	st.join("layer.out", x, h)
	return x
}
