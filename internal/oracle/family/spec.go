package family

// Spec is a decoder-only language model. Widths are in elements.
type Spec struct {
	Type     string  // model_type, which chose the family
	Vocab    int     // rows of the embedding and of the output matrix
	Hidden   int     // width of the residual stream
	Eps      float64 // of the norms before attention, before the MLP and at the end
	Tied     bool    // the output matrix is the embedding
	MaxLen   int     // max_position_embeddings: what the model was made for
	EOS      []int   // ids that end a text, by config.json
	Layers   []Layer // decoder layers in order
	MTP      []Layer // next-token-prediction layers, named by the numbers behind Layers
	Rope     Rope    // rotation of queries and keys
	FusedMoE bool    // experts may be stored as one tensor of all experts
}

// Layer is one decoder layer: exactly one of GQA and MLA, exactly one of Dense
// and MoE.
type Layer struct {
	GQA   *GQA
	MLA   *MLA
	Dense *Dense
	MoE   *MoE
}

// GQA is attention whose heads share KVHeads keys and values.
type GQA struct {
	Heads, KVHeads, HeadDim int
	QKVBias, OBias          bool
	Interleave              bool // rotate pairs (2i, 2i+1) instead of halves
	QKNorm                  bool // RMSNorm per head on queries and keys, before the rotation
	Window                  int  // positions that a token sees, itself included; 0 for all
}

// MLA is multi-head latent attention. A query head is Nope elements without
// position, then Rope rotated ones; the key of all heads is KVRank latent
// elements and Rope rotated ones.
type MLA struct {
	Heads         int
	QRank         int // width between q_a_proj and q_b_proj; 0 for a single q_proj
	KVRank        int // width of the latent
	Nope, Rope, V int // widths of one head
	Bias          bool
	Interleave    bool    // rotate pairs (2i, 2i+1) instead of halves
	Scale         float64 // of the scores: (Nope+Rope)^-0.5, times mscale² under YaRN
	Indexer       *Indexer
	Shared        bool // no indexer of its own: the positions of the last layer that has one
}

// Indexer picks the positions that a token attends to.
type Indexer struct {
	Heads, Dim, TopK int
	Interleave       bool // as in MLA; the first Rope elements of the head are rotated
}

// Dense is a gated MLP.
type Dense struct {
	Width int
	Bias  bool
}

// MoE is a mixture of gated MLPs.
type MoE struct {
	Experts, TopK, Width int
	Shared               int // width of the expert that every token uses; 0 for none
	Router               Router
}

// Score is the function that turns router logits into scores.
type Score string

// The two score functions in use.
const (
	Sigmoid Score = "sigmoid"
	Softmax Score = "softmax"
)

// Router picks TopK experts of a MoE and their weights.
type Router struct {
	Score     Score
	Bias      bool    // e_score_correction_bias is added for the choice, not for the weight
	Groups    int     // experts come in this many groups; 1 for no limit
	TopGroups int     // groups that may be chosen from
	Normalise bool    // divide the weights by their sum
	Epsilon   float64 // added to that sum
	Scale     float64 // factor of the weights
}

// RopeType is how the angles of a rotation are scaled for long contexts.
type RopeType string

// The supported scalings.
const (
	RopeDefault RopeType = "default"
	RopeLinear  RopeType = "linear"
	RopeLlama3  RopeType = "llama3"
	RopeYarn    RopeType = "yarn"
)

// Rope is the rotary position embedding of Dim elements.
type Rope struct {
	Type            RopeType
	Dim             int
	Theta           float64
	Factor          float64 // linear, llama3, yarn
	Original        int     // original_max_position_embeddings: llama3, yarn
	LowFreq         float64 // llama3
	HighFreq        float64 // llama3
	BetaFast        float64 // yarn
	BetaSlow        float64 // yarn
	Truncate        bool    // yarn: the correction range is rounded to whole dimensions
	AttentionFactor float64 // yarn: factor of cos and sin; 1 otherwise
	// Divisors divide the angles one by one, where a GGUF file holds them in
	// place of the parameters of llama3; else nil.
	Divisors []float32
}

// All is every decoder layer, the MTP layers last, as they are numbered in a
// checkpoint.
func (s *Spec) All() []Layer {
	return append(append(make([]Layer, 0, len(s.Layers)+len(s.MTP)), s.Layers...), s.MTP...)
}
