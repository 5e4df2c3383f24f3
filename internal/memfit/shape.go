package memfit

import (
	"strings"

	"shakedown/internal/hfconfig"
)

// mixer is what a layer mixes tokens with.
type mixer int

const (
	attention mixer = iota // grouped-query attention
	window                 // the same over a sliding window
	latent                 // multi-head latent attention (MLA)
	linear                 // gated delta net, a linear attention with a state
	mamba                  // state-space layer
	noMixer                // a layer with a feed-forward part only
)

// layer is one layer of a model.
type layer struct {
	mixer   mixer
	dense   bool // a feed-forward part without experts
	sparse  bool // a feed-forward part with experts
	indexer bool // DeepSeek sparse attention: the layer has its own index
}

// shape is a model as config.json describes it. Field names differ between the
// families; what they mean does not.
type shape struct {
	arch                   string
	hidden, vocab          int
	layers                 []layer
	heads, kvHeads         int
	headDim, vHeadDim      int
	inter                  int // dense feed-forward
	gates                  int // matrices of a feed-forward part: 3 with a gate, 2 without
	tied                   bool
	outputGate             bool // the query projection is twice as wide
	qLora, kvLora          int  // MLA
	nope, rope             int
	indexHeads, indexDim   int // DSA
	experts, expertInter   int
	sharedInter            int // shared experts, all together
	linKeyHeads, linKey    int // linear attention
	linValHeads, linVal    int
	conv                   int
	mambaHeads, mambaDim   int
	mambaState, mambaGroup int
	mtp                    int     // layers for multi-token prediction in the file
	vision                 float64 // parameters of the vision tower
	slidingWindow          int
}

// sparse says whether the model is one of DeepSeek sparse attention.
func (s *shape) dsa() bool { return s.kvLora > 0 && s.indexDim > 0 }

// textOf is the object that describes the language model.
func textOf(c hfconfig.Object) hfconfig.Object {
	for _, name := range []string{"text_config", "llm_config", "language_config"} {
		if t := c.Obj(name); t != nil {
			return t
		}
	}
	return c
}

// first is the first of the fields that is a number, or 0.
func first(c hfconfig.Object, names ...string) int {
	for _, n := range names {
		if v, ok := c.Int(n); ok {
			return v
		}
	}
	return 0
}

// newShape reads a shape; ok is false when the fields that every model has are
// missing.
func newShape(m *hfconfig.Model) (s *shape, ok bool) {
	c := textOf(m.Config)
	s = &shape{
		arch: m.Architecture(), hidden: first(c, "hidden_size", "d_model", "n_embd"),
		vocab: first(c, "vocab_size"), heads: first(c, "num_attention_heads", "n_head"),
		inter:         first(c, "intermediate_size_mlp", "intermediate_size", "ffn_hidden_size", "n_inner"),
		gates:         3,
		slidingWindow: first(c, "sliding_window"),
	}
	n := first(c, "num_hidden_layers", "n_layer")
	if s.hidden <= 0 || n <= 0 || n > 10_000 || s.heads <= 0 {
		return nil, false
	}
	if s.vocab == 0 {
		s.vocab = first(m.Config, "vocab_size")
	}
	s.kvHeads = first(c, "num_key_value_heads", "num_kv_heads")
	if s.kvHeads == 0 {
		s.kvHeads = s.heads
	}
	s.headDim = first(c, "head_dim", "attention_head_dim")
	if s.headDim == 0 {
		s.headDim = s.hidden / s.heads
	}
	s.vHeadDim = s.headDim
	if t, known := c.Bool("tie_word_embeddings"); known {
		s.tied = t
	} else if t, known := m.Config.Bool("tie_word_embeddings"); known {
		s.tied = t
	} else {
		s.tied = tiedByDefault[c.Text("model_type")]
	}
	if g, _ := c.Bool("attn_output_gate"); g || c.Text("model_type") == "qwen3_next" {
		s.outputGate = true
	}
	switch act := c.Text("hidden_act") + c.Text("mlp_hidden_act"); {
	case act == "relu2", act == "gelu" && c.Text("model_type") == "xlm-roberta", act == "gelu" && c.Text("model_type") == "bert":
		s.gates = 2
	}
	s.readLatent(c)
	s.readExperts(c)
	s.readStates(c)
	s.layers = make([]layer, n)
	for i := range s.layers {
		s.layers[i] = s.layerAt(c, i)
	}
	s.mtp = first(c, "num_nextn_predict_layers", "mtp_num_hidden_layers")
	s.vision = visionOf(m.Config.Obj("vision_config"))
	return s, true
}

// tiedByDefault are the model types whose configuration class ties input and
// output embedding when the file does not say so.
var tiedByDefault = map[string]bool{"gemma": true, "gemma2": true, "gemma3_text": true, "gemma3": true, "gpt2": true}

func (s *shape) readLatent(c hfconfig.Object) {
	s.kvLora = first(c, "kv_lora_rank")
	if s.kvLora == 0 {
		return
	}
	s.qLora = first(c, "q_lora_rank")
	s.nope, s.rope = first(c, "qk_nope_head_dim"), first(c, "qk_rope_head_dim")
	s.vHeadDim = first(c, "v_head_dim")
	s.headDim = s.nope + s.rope
	if first(c, "index_topk") > 0 {
		s.indexHeads, s.indexDim = first(c, "index_n_heads"), first(c, "index_head_dim")
	}
}

func (s *shape) readExperts(c hfconfig.Object) {
	s.experts = first(c, "n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
	if s.experts == 0 {
		return
	}
	s.expertInter = first(c, "moe_intermediate_size", "expert_intermediate_size", "intermediate_size")
	s.sharedInter = first(c, "shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size")
	if n := first(c, "n_shared_experts", "num_shared_experts"); n > 0 && s.sharedInter == 0 {
		s.sharedInter = n * s.expertInter
	}
	if c.Text("model_type") == "llama4_text" {
		s.sharedInter = s.expertInter
	}
}

func (s *shape) readStates(c hfconfig.Object) {
	s.linKeyHeads, s.linKey = first(c, "linear_num_key_heads"), first(c, "linear_key_head_dim")
	s.linValHeads, s.linVal = first(c, "linear_num_value_heads"), first(c, "linear_value_head_dim")
	s.conv = first(c, "linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv")
	s.mambaHeads, s.mambaDim = first(c, "mamba_num_heads", "mamba_n_heads"), first(c, "mamba_head_dim", "mamba_d_head")
	s.mambaState, s.mambaGroup = first(c, "ssm_state_size", "mamba_d_state"), first(c, "n_groups", "mamba_n_groups")
}

// layerAt reads what the config says of one layer.
func (s *shape) layerAt(c hfconfig.Object, i int) layer {
	if pattern := c.Text("hybrid_override_pattern"); i < len(pattern) {
		switch pattern[i] {
		case 'M':
			return layer{mixer: mamba}
		case '-':
			return layer{mixer: noMixer, dense: true}
		case 'E':
			return layer{mixer: noMixer, sparse: true}
		}
		return layer{mixer: attention}
	}
	l := layer{mixer: attention}
	if s.kvLora > 0 {
		l.mixer = latent
	}
	l.indexer = s.dsa() && hasIndexer(c, i)
	types := c.Strings("layer_types")
	switch {
	case i < len(types) && types[i] == "linear_attention":
		l.mixer = linear
	case i < len(types) && strings.Contains(types[i], "mamba"):
		l.mixer = mamba
	case i < len(types) && strings.Contains(types[i], "sliding"):
		l.mixer = window
	case len(types) == 0 && s.linValHeads > 0:
		if every := first(c, "full_attention_interval"); every > 0 && (i+1)%every != 0 {
			l.mixer = linear
		}
	case len(types) == 0 && s.slidingWindow > 0 && strings.HasPrefix(c.Text("model_type"), "gemma3"):
		every := first(c, "sliding_window_pattern")
		if every == 0 {
			every = 6 // transformers/models/gemma3/configuration_gemma3.py
		}
		if (i+1)%every != 0 {
			l.mixer = window
		}
	}
	l.sparse = s.experts > 0 && sparseAt(c, i)
	l.dense = !l.sparse && s.inter > 0
	return l
}

// sparseAt says whether a layer of a model with experts has them.
func sparseAt(c hfconfig.Object, i int) bool {
	if kinds := c.Strings("mlp_layer_types"); i < len(kinds) {
		return kinds[i] == "sparse"
	}
	if i < first(c, "first_k_dense_replace") {
		return false
	}
	for _, v := range c.List("mlp_only_layers") {
		if n, ok := hfconfig.Int(v); ok && n == i {
			return false
		}
	}
	if every := first(c, "decoder_sparse_step", "interleave_moe_layer_step"); every > 1 {
		return (i+1)%every == 0
	}
	if every := first(c, "moe_layer_freq"); every > 1 {
		return i%every == 0
	}
	return true
}

// hasIndexer follows the schedule of shared indexes: a pattern, a list of kinds,
// or a frequency with an offset.
// Source: transformers/models/glm_moe_dsa/configuration_glm_moe_dsa.py (5.16).
func hasIndexer(c hfconfig.Object, i int) bool {
	if kinds := c.Strings("indexer_types"); i < len(kinds) {
		return kinds[i] == "full"
	}
	if pattern := c.Text("index_topk_pattern"); i < len(pattern) {
		return pattern[i] == 'F'
	}
	every := first(c, "index_topk_freq")
	if every <= 1 {
		return true
	}
	offset := 2
	if n, ok := c.Int("index_skip_topk_offset"); ok {
		offset = n
	}
	return max(i-offset+1, 0)%every == 0
}

// visionOf counts the parameters of a vision transformer: attention and
// feed-forward of each block.
func visionOf(c hfconfig.Object) float64 {
	if c == nil {
		return 0
	}
	depth, hidden := float64(first(c, "depth", "num_hidden_layers")), float64(first(c, "hidden_size"))
	inter := float64(first(c, "intermediate_size"))
	if inter == 0 {
		inter = 4 * hidden
	}
	return depth * (4*hidden*hidden + 2*hidden*inter)
}
