package family

import "strings"

// latent is the default geometry of a family with a biased mixture, and of its
// latent attention where it has that.
type latent struct {
	hidden, layers, vocab                  int
	heads, qRank, kvRank, nope, rope, v    int
	width, moeWidth, experts, topK, shared int
	groups, topGroups, firstDense          int
	scale, theta, eps                      float64
	maxLen                                 int
}

// The defaults are those of transformers 5.24, models/*/configuration_*.py.
var (
	deepseekDefaults = latent{
		hidden: 7168, layers: 61, vocab: 129280, heads: 128, qRank: 1536, kvRank: 512, nope: 128, rope: 64, v: 128,
		width: 18432, moeWidth: 2048, experts: 256, topK: 8, shared: 1, groups: 8, topGroups: 4, firstDense: 3,
		scale: 2.5, theta: 10000, eps: 1e-6, maxLen: 4096,
	}
	glm5Defaults = latent{
		hidden: 6144, layers: 78, vocab: 154880, heads: 64, qRank: 2048, kvRank: 512, nope: 192, rope: 64, v: 256,
		width: 12288, moeWidth: 2048, experts: 256, topK: 8, shared: 1, groups: 1, topGroups: 1, firstDense: 3,
		scale: 2.5, theta: 10000, eps: 1e-5, maxLen: 202752,
	}
	glmLiteDefaults = latent{
		hidden: 2048, layers: 47, vocab: 154880, heads: 20, qRank: 768, kvRank: 512, nope: 192, rope: 64, v: 256,
		width: 10240, moeWidth: 1536, experts: 64, topK: 4, shared: 1, groups: 1, topGroups: 1, firstDense: 1,
		scale: 1.8, theta: 10000, eps: 1e-5, maxLen: 202752,
	}
)

// deepseekV3 describes DeepSeek V3, R1 and V3.1 (transformers 5.24,
// models/deepseek_v3).
func deepseekV3(f *fields) *Spec { return f.latentModel(deepseekDefaults) }

// kimiK2 is deepseekV3 under a name of its own.
func kimiK2(f *fields) *Spec { return f.latentModel(deepseekDefaults) }

// deepseekV32 is deepseekV3 with an indexer, whose rotation is half-split unless
// the config says otherwise (transformers 5.24, models/deepseek_v32).
func deepseekV32(f *fields) *Spec {
	s := f.latentModel(deepseekDefaults)
	f.indexers(s, Indexer{Heads: 64, Dim: 128, TopK: 2048})
	return s
}

// glmMoeDsa describes GLM-5 and 5.1, and with shared indexers 5.2 and 5.3
// (transformers 5.24, models/glm_moe_dsa).
func glmMoeDsa(f *fields) *Spec {
	s := f.latentModel(glm5Defaults)
	f.indexers(s, Indexer{Heads: 32, Dim: 128, TopK: 2048, Interleave: true})
	return s
}

// glm4MoeLite describes GLM-4.7-Flash: latent attention without an indexer
// (transformers 5.24, models/glm4_moe_lite).
func glm4MoeLite(f *fields) *Spec { return f.latentModel(glmLiteDefaults) }

// latentModel reads what the families with latent attention have in common.
func (f *fields) latentModel(d latent) *Spec {
	s := &Spec{
		Vocab:    f.width("vocab_size", d.vocab, maxVocab),
		Hidden:   f.width("hidden_size", d.hidden, maxWidth),
		Eps:      f.positive("rms_norm_eps", d.eps),
		Tied:     f.flag("tie_word_embeddings", false),
		MaxLen:   f.width("max_position_embeddings", d.maxLen, 1<<30),
		Layers:   make([]Layer, f.width("num_hidden_layers", d.layers, maxLayers)),
		MTP:      make([]Layer, f.count("num_nextn_predict_layers", 0, 8)),
		FusedMoE: true,
	}
	a := &MLA{
		Heads:      f.width("num_attention_heads", d.heads, maxWidth),
		QRank:      f.count("q_lora_rank", d.qRank, maxWidth),
		KVRank:     f.width("kv_lora_rank", d.kvRank, maxWidth),
		Nope:       f.width("qk_nope_head_dim", d.nope, maxWidth),
		Rope:       f.width("qk_rope_head_dim", d.rope, maxWidth),
		V:          f.width("v_head_dim", d.v, maxWidth),
		Bias:       f.flag("attention_bias", false),
		Interleave: f.flag("rope_interleave", true),
	}
	// head_dim is not asked for: GLM-5.2 writes 192 there, which is no width of
	// a rotation.
	s.Rope = f.rope(a.Rope, d.theta)
	a.Scale = f.latentScale(a.Nope+a.Rope, s.Rope)
	moe := f.biasedMoE(d)
	for i := range s.Layers {
		s.Layers[i].MLA = a
	}
	f.mixed(s, moe, d)
	for i := range s.MTP {
		s.MTP[i] = Layer{MLA: a, MoE: moe}
	}
	return s
}

// mixed gives every layer a dense MLP or the mixture: mlp_layer_types names them one
// by one, else the first ones are dense.
func (f *fields) mixed(s *Spec, moe *MoE, d latent) {
	dense := &Dense{Width: f.width("intermediate_size", d.width, maxWidth)}
	kinds := f.kinds("mlp_layer_types", len(s.Layers), "dense", "sparse")
	first := f.count("first_k_dense_replace", d.firstDense, maxLayers)
	step := f.width("moe_layer_freq", 1, maxLayers)
	for i := range s.Layers {
		sparse := i >= first && i%step == 0
		if kinds != nil {
			sparse = kinds[i] == "sparse"
		}
		if sparse {
			s.Layers[i].MoE = moe
		} else {
			s.Layers[i].Dense = dense
		}
	}
}

// biasedMoE reads the mixture with a sigmoid router, a bias for the choice and a
// shared expert.
func (f *fields) biasedMoE(d latent) *MoE {
	f.must("scoring_func", "sigmoid")
	f.must("topk_method", "noaux_tc")
	m := &MoE{
		Experts: f.width("n_routed_experts", d.experts, maxExperts),
		TopK:    f.width("num_experts_per_tok", d.topK, maxExperts),
		Width:   f.width("moe_intermediate_size", d.moeWidth, maxWidth),
		Router: Router{
			Score: Sigmoid, Bias: true,
			Groups:    f.width("n_group", d.groups, maxExperts),
			TopGroups: f.width("topk_group", d.topGroups, maxExperts),
			Normalise: f.flag("norm_topk_prob", true),
			Epsilon:   1e-20,
			Scale:     f.positive("routed_scaling_factor", d.scale),
		},
	}
	m.Shared = m.Width * f.count("n_shared_experts", d.shared, 1<<10)
	f.checkTopK(m)
	r := m.Router
	switch {
	case m.Experts%r.Groups != 0:
		f.fail("n_routed_experts %d is no multiple of n_group %d", m.Experts, r.Groups)
	case r.TopGroups > r.Groups:
		f.fail("topk_group %d is more than n_group %d", r.TopGroups, r.Groups)
	case r.Groups > 1 && m.Experts/r.Groups < 2:
		f.fail("n_group %d leaves less than two experts in a group", r.Groups)
	case m.TopK > m.Experts/r.Groups*r.TopGroups:
		f.fail("num_experts_per_tok %d is more than the experts of %d groups", m.TopK, r.TopGroups)
	}
	return m
}

func (f *fields) checkTopK(m *MoE) {
	if m.TopK > m.Experts {
		f.fail("num_experts_per_tok %d is more than the %d experts", m.TopK, m.Experts)
	}
}

// indexers gives every layer its indexer, or the positions of an earlier one:
// indexer_types names them one by one, index_topk_pattern by letters, else layer
// i has its own when max(i-offset+1, 0) is a multiple of index_topk_freq
// (transformers 5.24, configuration_glm_moe_dsa.py). MTP layers have their own.
func (f *fields) indexers(s *Spec, d Indexer) {
	x := &Indexer{
		Heads:      f.width("index_n_heads", d.Heads, maxWidth),
		Dim:        f.width("index_head_dim", d.Dim, maxWidth),
		TopK:       f.width("index_topk", d.TopK, 1<<30),
		Interleave: f.flag("indexer_rope_interleave", d.Interleave),
	}
	with, without := *s.All()[0].MLA, *s.All()[0].MLA
	with.Indexer, without.Shared = x, true
	switch {
	case with.Rope > x.Dim:
		f.fail("qk_rope_head_dim %d is wider than index_head_dim %d", with.Rope, x.Dim)
	case with.QRank == 0:
		f.fail("an indexer needs q_lora_rank")
	}
	full := f.indexerTypes(len(s.Layers))
	if !full[0] {
		f.fail("the first layer has no indexer, and no layer before it to share one")
	}
	for i := range s.Layers {
		s.Layers[i].MLA = &without
		if full[i] {
			s.Layers[i].MLA = &with
		}
	}
	for i := range s.MTP {
		s.MTP[i].MLA = &with
	}
}

// indexerTypes says which layers have an indexer of their own.
func (f *fields) indexerTypes(layers int) []bool {
	full := make([]bool, layers)
	kinds := f.kinds("indexer_types", layers, "full", "shared")
	if kinds == nil {
		kinds = f.pattern(layers)
	}
	freq := f.width("index_topk_freq", 1, maxLayers)
	offset := f.count("index_skip_topk_offset", 2, maxLayers)
	for i := range full {
		if kinds != nil {
			full[i] = kinds[i] == "full"
			continue
		}
		full[i] = max(i-offset+1, 0)%freq == 0
	}
	return full
}

// pattern reads index_topk_pattern, a text of F and S or a list of them.
func (f *fields) pattern(layers int) []string {
	const name = "index_topk_pattern"
	if !f.Has(name) {
		return nil
	}
	letters := f.Strings(name)
	if s, ok := f.Str(name); ok {
		letters = strings.Split(s, "")
	}
	if len(letters) != layers {
		f.fail("%s has %d entries for %d layers", name, len(letters), layers)
		return nil
	}
	kinds := make([]string, layers)
	for i, l := range letters {
		switch l {
		case "F", "full":
			kinds[i] = "full"
		case "S", "shared":
			kinds[i] = "shared"
		default:
			f.fail("%s has %q: F and S are supported", name, l)
		}
	}
	return kinds
}

// kinds reads a list with one of two words per layer, nil when it is absent.
func (f *fields) kinds(name string, layers int, a, b string) []string {
	if !f.Has(name) {
		return nil
	}
	list := f.List(name)
	if len(list) < layers {
		f.fail("%s has %d entries for %d layers", name, len(list), layers)
		return nil
	}
	out := make([]string, layers)
	for i := range out {
		s, _ := list[i].(string)
		if s != a && s != b {
			f.fail("%s: layer %d is %v: %s and %s are supported", name, i, list[i], a, b)
		}
		out[i] = s
	}
	return out
}
