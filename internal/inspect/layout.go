package inspect

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/hfconfig"
)

// layout is what config.json promises of the model's geometry.
type layout struct {
	config hfconfig.Object // the object that describes the language model
	family string          // model_type
	arch   string
	known  bool // the family's tensors are known, so that they can be checked
	// prefix stands in front of "layers." and "embed_tokens.", with its dot.
	prefix string

	layers, mtp          int
	hidden, vocab        int
	heads, kvHeads       int
	headDim              int
	inter                int
	tied                 bool
	qLora, kvLora        int
	nope, rope, vDim     int
	indexHeads, indexDim int
	topK                 int
	experts, perToken    int
	expertInter          int
	sharedInter          int
	groups, topGroups    int
	bias                 bool // q, k, v (MLA: kv_a and q_a)
	outBias              bool
	qkNorm               bool
	routerBias           bool
	context              int
}

// families are the model types whose tensors are checked against config.json.
var families = []string{
	"deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "kimi_k2",
	"llama", "mistral", "qwen2", "qwen3", "qwen3_moe",
}

// maxLayers and maxExperts bound what a configuration can make us look for; the
// latter are those of all layers together, of which Kimi K2 has 23,000.
const (
	maxLayers  = 1000
	maxExperts = 100_000
)

// newLayout reads config.json; it never fails: what is missing stays 0.
func newLayout(c *checkpoint.Checkpoint) *layout {
	o := c.Config.Config
	l := &layout{family: o.Text("model_type"), arch: c.Config.Architecture(), config: o}
	for _, name := range []string{"text_config", "llm_config", "language_config"} {
		if t := o.Obj(name); t != nil {
			l.config = t
			if slices.Contains(families, t.Text("model_type")) {
				l.family = t.Text("model_type")
			}
			break
		}
	}
	l.known = slices.Contains(families, l.family)
	f := l.config
	first := func(names ...string) int {
		for _, n := range names {
			if v, ok := f.Int(n); ok && v >= 0 && v < 1<<31 {
				return v
			}
		}
		return 0
	}
	l.layers, l.mtp = first("num_hidden_layers", "n_layer"), first("num_nextn_predict_layers", "mtp_num_hidden_layers")
	l.hidden, l.vocab = first("hidden_size", "n_embd"), first("vocab_size")
	l.heads, l.kvHeads = first("num_attention_heads", "n_head"), first("num_key_value_heads")
	if l.kvHeads == 0 {
		l.kvHeads = l.heads
	}
	l.kvLora, l.qLora = first("kv_lora_rank"), first("q_lora_rank")
	l.nope, l.rope, l.vDim = first("qk_nope_head_dim"), first("qk_rope_head_dim"), first("v_head_dim")
	l.headDim = first("head_dim")
	if l.headDim == 0 && l.heads > 0 {
		l.headDim = l.hidden / l.heads
	}
	l.inter, l.expertInter = first("intermediate_size"), first("moe_intermediate_size")
	l.topK = first("index_topk")
	l.indexHeads, l.indexDim = first("index_n_heads"), first("index_head_dim")
	l.experts, l.perToken = first("n_routed_experts", "num_experts", "num_local_experts"), first("num_experts_per_tok", "num_experts_per_token")
	l.sharedInter = first("n_shared_experts") * l.expertInter
	l.groups, l.topGroups = first("n_group"), first("topk_group")
	l.context = first("max_position_embeddings")
	l.tied, _ = f.Bool("tie_word_embeddings")
	if t, ok := o.Bool("tie_word_embeddings"); ok && !l.tied {
		l.tied = t
	}
	l.bias, _ = f.Bool("attention_bias")
	l.outBias = l.bias && l.family == "llama"
	if l.family == "qwen2" {
		l.bias = true // transformers/models/qwen2/modeling_qwen2.py
	}
	l.qkNorm = l.family == "qwen3" || l.family == "qwen3_moe"
	if b, ok := f.Bool("use_qk_norm"); ok && l.family == "glm4_moe" {
		l.qkNorm = b
	}
	l.routerBias = l.experts > 0 && l.family != "qwen3_moe" && l.family != "deepseek_v2" && f.Text("topk_method") != "greedy" && f.Text("topk_method") != "group_limited_greedy"
	l.known = l.known && l.layers > 0 && l.layers <= maxLayers && l.mtp <= maxLayers && l.experts <= maxExperts && (l.layers+l.mtp)*l.experts <= maxExperts && l.hidden > 0 && l.heads > 0
	l.prefix = prefixOf(c)
	return l
}

// prefixOf finds what stands in front of the layers' names: "model." or, in
// checkpoints with a vision part, "model.language_model." and the like.
func prefixOf(c *checkpoint.Checkpoint) string {
	for _, t := range c.Tensors() {
		if strings.Contains(t.Name, "vision") || strings.Contains(t.Name, "visual") {
			continue
		}
		if i := strings.Index(t.Name, "layers.0."); i >= 0 && (i == 0 || t.Name[i-1] == '.') {
			return t.Name[:i]
		}
	}
	return "model."
}

// mla says whether attention works on latent vectors.
func (l *layout) mla() bool { return l.kvLora > 0 }

// dsa says whether the model selects tokens by an index (DeepSeek sparse
// attention).
func (l *layout) dsa() bool { return l.mla() && l.topK > 0 }

// sparse says whether a layer has experts.
func (l *layout) sparse(layer int) bool {
	if l.experts == 0 {
		return false
	}
	if layer >= l.layers {
		return true // multi-token prediction
	}
	f := l.config
	if kinds := f.Strings("mlp_layer_types"); layer < len(kinds) {
		return kinds[layer] == "sparse"
	}
	if n, ok := f.Int("first_k_dense_replace"); ok && layer < n {
		return false
	}
	for _, v := range f.List("mlp_only_layers") {
		if n, ok := hfconfig.Int(v); ok && n == layer {
			return false
		}
	}
	if n, ok := f.Int("decoder_sparse_step"); ok && n > 1 {
		return (layer+1)%n == 0
	}
	if n, ok := f.Int("moe_layer_freq"); ok && n > 1 {
		return layer%n == 0
	}
	return true
}

// fullIndex says whether a layer of a model with an index computes its own; the
// others take over that of a layer before them.
// Source: transformers/models/glm_moe_dsa/configuration_glm_moe_dsa.py (5.16).
func (l *layout) fullIndex(layer int) bool {
	if !l.dsa() {
		return false
	}
	if layer >= l.layers {
		return true
	}
	f := l.config
	if kinds := f.Strings("indexer_types"); layer < len(kinds) {
		return kinds[layer] == "full"
	}
	if pattern := f.Text("index_topk_pattern"); pattern != "" {
		return layer >= len(pattern) || pattern[layer] == 'F'
	}
	if list := f.Strings("index_topk_pattern"); layer < len(list) {
		return list[layer] == "F"
	}
	freq := f.IntOr("index_topk_freq", 1)
	if freq <= 1 {
		return true
	}
	return max(layer-f.IntOr("index_skip_topk_offset", 2)+1, 0)%freq == 0
}

// sharesIndex says whether some layers have no index of their own.
func (l *layout) sharesIndex() bool {
	for i := range min(l.layers, maxLayers) {
		if l.dsa() && !l.fullIndex(i) {
			return true
		}
	}
	return false
}

// want is one module that config.json promises.
type want struct {
	module string
	part   string // "weight", "bias", or the whole last part of the name
	shape  []int
	// why says which fields the shape follows from.
	why string
}

// wants lists every tensor of the layers and around them.
func (l *layout) wants() []want {
	w := []want{
		{l.prefix + "embed_tokens", "weight", []int{l.vocab, l.hidden}, "vocab_size x hidden_size"},
		{l.prefix + "norm", "weight", []int{l.hidden}, "hidden_size"},
	}
	if !l.tied {
		head := "lm_head"
		if around, ok := strings.CutSuffix(l.prefix, ".model."); ok { // language_model.model.
			head = around + ".lm_head"
		}
		w = append(w, want{head, "weight", []int{l.vocab, l.hidden}, "vocab_size x hidden_size"})
	}
	for i := range l.layers {
		w = append(w, l.layer(i)...)
	}
	return w
}

// layer lists the tensors of one layer.
func (l *layout) layer(i int) []want {
	at := fmt.Sprintf("%slayers.%d.", l.prefix, i)
	h := l.hidden
	w := []want{
		{at + "input_layernorm", "weight", []int{h}, "hidden_size"},
		{at + "post_attention_layernorm", "weight", []int{h}, "hidden_size"},
	}
	if l.mla() {
		w = append(w, l.latent(at+"self_attn.", l.fullIndex(i))...)
	} else {
		w = append(w, l.grouped(at+"self_attn.")...)
	}
	if !l.sparse(i) {
		return append(w, feedForward(at+"mlp.", h, l.inter, "intermediate_size")...)
	}
	w = append(w, want{at + "mlp.gate", "weight", []int{l.experts, h}, "number of experts x hidden_size"})
	if l.routerBias {
		w = append(w, want{at + "mlp.gate.e_score_correction_bias", "weight", []int{l.experts}, "number of experts"})
	}
	if l.sharedInter > 0 {
		w = append(w, feedForward(at+"mlp.shared_experts.", h, l.sharedInter, "n_shared_experts x moe_intermediate_size")...)
	}
	for e := range l.experts {
		w = append(w, feedForward(fmt.Sprintf("%smlp.experts.%d.", at, e), h, l.expertInter, "moe_intermediate_size")...)
	}
	return w
}

func feedForward(at string, hidden, inter int, why string) []want {
	return []want{
		{at + "gate_proj", "weight", []int{inter, hidden}, why + " x hidden_size"},
		{at + "up_proj", "weight", []int{inter, hidden}, why + " x hidden_size"},
		{at + "down_proj", "weight", []int{hidden, inter}, "hidden_size x " + why},
	}
}

func (l *layout) grouped(at string) []want {
	h, q, kv := l.hidden, l.heads*l.headDim, l.kvHeads*l.headDim
	w := []want{
		{at + "q_proj", "weight", []int{q, h}, "num_attention_heads x head_dim, hidden_size"},
		{at + "k_proj", "weight", []int{kv, h}, "num_key_value_heads x head_dim, hidden_size"},
		{at + "v_proj", "weight", []int{kv, h}, "num_key_value_heads x head_dim, hidden_size"},
		{at + "o_proj", "weight", []int{h, q}, "hidden_size, num_attention_heads x head_dim"},
	}
	if l.bias {
		w = append(w,
			want{at + "q_proj", "bias", []int{q}, "num_attention_heads x head_dim"},
			want{at + "k_proj", "bias", []int{kv}, "num_key_value_heads x head_dim"},
			want{at + "v_proj", "bias", []int{kv}, "num_key_value_heads x head_dim"})
	}
	if l.outBias {
		w = append(w, want{at + "o_proj", "bias", []int{h}, "hidden_size"})
	}
	if l.qkNorm {
		w = append(w, want{at + "q_norm", "weight", []int{l.headDim}, "head_dim"}, want{at + "k_norm", "weight", []int{l.headDim}, "head_dim"})
	}
	return w
}

func (l *layout) latent(at string, indexer bool) []want {
	h, dim := l.hidden, l.nope+l.rope
	w := []want{
		{at + "kv_a_proj_with_mqa", "weight", []int{l.kvLora + l.rope, h}, "kv_lora_rank + qk_rope_head_dim, hidden_size"},
		{at + "kv_a_layernorm", "weight", []int{l.kvLora}, "kv_lora_rank"},
		{at + "kv_b_proj", "weight", []int{l.heads * (l.nope + l.vDim), l.kvLora}, "num_attention_heads x (qk_nope_head_dim + v_head_dim), kv_lora_rank"},
		{at + "o_proj", "weight", []int{h, l.heads * l.vDim}, "hidden_size, num_attention_heads x v_head_dim"},
	}
	if l.qLora > 0 {
		w = append(w,
			want{at + "q_a_proj", "weight", []int{l.qLora, h}, "q_lora_rank x hidden_size"},
			want{at + "q_a_layernorm", "weight", []int{l.qLora}, "q_lora_rank"},
			want{at + "q_b_proj", "weight", []int{l.heads * dim, l.qLora}, "num_attention_heads x (qk_nope_head_dim + qk_rope_head_dim), q_lora_rank"})
	} else {
		w = append(w, want{at + "q_proj", "weight", []int{l.heads * dim, h}, "num_attention_heads x (qk_nope_head_dim + qk_rope_head_dim), hidden_size"})
	}
	if indexer {
		w = append(w,
			want{at + "indexer.wq_b", "weight", []int{l.indexHeads * l.indexDim, l.qLora}, "index_n_heads x index_head_dim, q_lora_rank"},
			want{at + "indexer.wk", "weight", []int{l.indexDim, h}, "index_head_dim x hidden_size"},
			want{at + "indexer.k_norm", "weight", []int{l.indexDim}, "index_head_dim"},
			want{at + "indexer.k_norm", "bias", []int{l.indexDim}, "index_head_dim"},
			want{at + "indexer.weights_proj", "weight", []int{l.indexHeads, h}, "index_n_heads x hidden_size"})
	}
	return w
}

// draft lists what a layer for multi-token prediction has besides a layer.
func (l *layout) draft(i int) []want {
	at := fmt.Sprintf("%slayers.%d.", l.prefix, i)
	return []want{
		{at + "eh_proj", "weight", []int{l.hidden, 2 * l.hidden}, "hidden_size x 2 hidden_size"},
		{at + "enorm", "weight", []int{l.hidden}, "hidden_size"},
		{at + "hnorm", "weight", []int{l.hidden}, "hidden_size"},
		{at + "shared_head.norm", "weight", []int{l.hidden}, "hidden_size"},
	}
}

// groupOf names the group of a module.
func (l *layout) groupOf(module string) string {
	layer, inLayer := layerOf(module)
	if inLayer && l.layers > 0 && layer >= l.layers && !strings.Contains(module, "vis") {
		return "multi-token prediction"
	}
	last := module[strings.LastIndexByte(module, '.')+1:]
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(module, p) })
	}
	switch {
	case has("vision", "visual", "vit."):
		return "vision"
	case has("shared_expert", "_shexp"):
		return "shared experts"
	case has(".experts.", "_exps", "mlp.experts", "block_sparse_moe.experts"):
		return "routed experts"
	case last == "gate" || last == "router" || last == "ffn_gate_inp" || has("e_score_correction_bias", "exp_probs_b"):
		return "router"
	case has("indexer"):
		return "indexer"
	case has("norm", "ln_"):
		return "norms"
	case has("embed_tokens", "token_embd", "wte", "tok_embeddings"):
		return "embedding"
	case last == "lm_head" || last == "output":
		return "lm_head"
	case has("attn", "attention"):
		return "attention"
	case has("mlp", "ffn", "feed_forward"):
		return "dense MLP"
	}
	return "other"
}

// quantisable says whether engines expect a module to be stored in the
// checkpoint's format unless the configuration leaves it out. They never quantise
// embeddings, routers, norms and the small projection of the indexer, and have
// lm_head and the vision part in 16 bits in every published checkpoint.
func (l *layout) quantisable(m *checkpoint.Module) bool {
	if m.Weight == nil || m.Weight.Known() && len(m.Weight.Shape) < 2 {
		return false
	}
	last := m.Name[strings.LastIndexByte(m.Name, '.')+1:]
	if !strings.HasSuffix(last, "_proj") && !strings.HasPrefix(last, "kv_a_proj") && last != "wq_b" && last != "wk" &&
		!strings.HasPrefix(last, "gate_up") && !strings.HasPrefix(last, "in_proj") {
		return false
	}
	return last != "weights_proj" && last != "eh_proj" && l.groupOf(m.Name) != "vision"
}
