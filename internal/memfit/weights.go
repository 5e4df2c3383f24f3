package memfit

import "fmt"

// split says over how many GPUs each part of a model is divided.
type split struct {
	tp     int // dense feed-forward parts, shared experts, vocabulary
	attn   int // attention heads
	expert int // experts
	pp     int // layers
	embed  int // the input embedding
}

// weights is the size of the weights on the GPU that holds most, in bytes.
type weights struct {
	perGPU float64
	total  float64 // of all parts once, as the files hold them, without layers for multi-token prediction
	draft  float64 // per GPU, of layers for multi-token prediction that are loaded
	params float64
}

// counter adds up the weights of a model.
type counter struct {
	s    *shape
	f    *format
	d    split
	all  float64
	each []float64 // per layer on one GPU
	n    float64   // parameters
}

// newWeights counts all weights; withDraft adds the layers for multi-token
// prediction, which engines load only for speculative decoding.
func newWeights(s *shape, f *format, d split, withDraft bool) weights {
	c := &counter{s: s, f: f, d: d}
	for i, l := range s.layers {
		c.each = append(c.each, c.layer(i, l))
	}
	w := weights{}
	embed := float64(s.vocab) * float64(s.hidden)
	front := embed * f.plain / float64(d.embed)
	back := embed * f.of("lm_head") / float64(d.tp)
	c.all += embed * f.plain
	c.n += embed
	if s.tied {
		back = 0
	} else {
		c.all += embed * f.of("lm_head")
		c.n += embed
	}
	vision := s.vision * f.plain / float64(d.tp)
	c.all += s.vision * f.plain
	c.n += s.vision
	w.perGPU = c.largestStage(front+vision, back)
	w.total, w.params = c.all, c.n
	if withDraft && s.mtp > 0 {
		last := s.layers[len(s.layers)-1]
		last.indexer = s.dsa()
		for i := range s.mtp {
			w.draft += c.layer(len(s.layers)+i, last)
			w.draft += 2 * float64(s.hidden) * float64(s.hidden) * f.plain // eh_proj, not divided
		}
	}
	return w
}

// largestStage is the pipeline stage that holds most. The engines put the
// layers that do not divide evenly on some of the stages, one each.
func (c *counter) largestStage(front, back float64) float64 {
	pp := min(max(c.d.pp, 1), len(c.each))
	worst, at := 0.0, 0
	for stage := range pp {
		n := len(c.each) / pp
		if stage < len(c.each)%pp {
			n++
		}
		sum := 0.0
		for _, b := range c.each[at : at+n] {
			sum += b
		}
		at += n
		if stage == 0 {
			sum += front
		}
		if stage == pp-1 {
			sum += back
		}
		worst = max(worst, sum)
	}
	return worst
}

// add counts a matrix of a layer. ways is the number of GPUs that share it.
func (c *counter) add(path string, params float64, ways int) float64 {
	b := params * c.f.of(path)
	c.all += b
	c.n += params
	return b / float64(max(ways, 1))
}

// layer counts one layer and returns its bytes on one GPU.
func (c *counter) layer(i int, l layer) float64 {
	s, at := c.s, fmt.Sprintf("model.layers.%d.", i)
	h := float64(s.hidden)
	sum := 0.0
	switch l.mixer {
	case attention, window:
		sum += c.grouped(at + "self_attn.")
	case latent:
		sum += c.latent(at+"self_attn.", l.indexer)
	case linear:
		sum += c.linear(at + "linear_attn.")
	case mamba:
		sum += c.mamba(at + "mixer.")
	}
	if l.dense {
		sum += c.add(at+"mlp.down_proj", float64(s.gates)*h*float64(s.inter), c.d.tp)
	}
	if l.sparse {
		sum += c.add(at+"mlp.experts.0.down_proj", float64(s.experts)*float64(s.gates)*h*float64(s.expertInter), c.d.expert)
		sum += c.add(at+"mlp.gate", h*float64(s.experts), 1)
		if s.sharedInter > 0 {
			sum += c.add(at+"mlp.shared_experts.down_proj", float64(s.gates)*h*float64(s.sharedInter), c.d.tp)
		}
	}
	return sum
}

func (c *counter) grouped(at string) float64 {
	s := c.s
	h, q := float64(s.hidden), float64(s.heads*s.headDim)
	if s.outputGate {
		q *= 2
	}
	kv := float64(s.kvHeads * (s.headDim + s.vHeadDim))
	// A GPU holds at least one KV head, so few heads are copied.
	return c.add(at+"q_proj", h*q, c.d.attn) +
		c.add(at+"k_proj", h*kv, min(c.d.attn, s.kvHeads)) +
		c.add(at+"o_proj", float64(s.heads*s.vHeadDim)*h, c.d.attn)
}

func (c *counter) latent(at string, indexer bool) float64 {
	s := c.s
	h, heads := float64(s.hidden), float64(s.heads)
	sum := 0.0
	if s.qLora > 0 {
		sum += c.add(at+"q_a_proj", h*float64(s.qLora), 1)
		sum += c.add(at+"q_b_proj", float64(s.qLora)*heads*float64(s.headDim), c.d.attn)
	} else {
		sum += c.add(at+"q_proj", h*heads*float64(s.headDim), c.d.attn)
	}
	sum += c.add(at+"kv_a_proj_with_mqa", h*float64(s.kvLora+s.rope), 1)
	absorbed := float64(s.kvLora) * heads * float64(s.nope+s.vHeadDim)
	sum += c.add(at+"kv_b_proj", absorbed, c.d.attn)
	// The two halves of kv_b_proj are kept a second time, in 16 bits, for
	// attention over the latent vectors (w_kc and w_vc in both engines).
	sum += absorbed * bytes16 / float64(c.d.attn)
	sum += c.add(at+"o_proj", heads*float64(s.vHeadDim)*h, c.d.attn)
	if indexer {
		sum += c.add(at+"indexer.wq_b", float64(s.qLora)*float64(s.indexHeads*s.indexDim), 1)
		sum += c.add(at+"indexer.wk", h*float64(s.indexDim), 1)
		sum += c.add(at+"indexer.weights_proj", h*float64(s.indexHeads), 1)
	}
	return sum
}

func (c *counter) linear(at string) float64 {
	s := c.s
	h := float64(s.hidden)
	key, val := float64(s.linKeyHeads*s.linKey), float64(s.linValHeads*s.linVal)
	return c.add(at+"in_proj_qkvz", h*(2*key+2*val), c.d.attn) +
		c.add(at+"in_proj_ba", h*2*float64(s.linValHeads), c.d.attn) +
		c.add(at+"out_proj", val*h, c.d.attn)
}

func (c *counter) mamba(at string) float64 {
	s := c.s
	h, inner := float64(s.hidden), float64(s.mambaHeads*s.mambaDim)
	states := 2 * float64(s.mambaGroup*s.mambaState)
	return c.add(at+"in_proj", h*(2*inner+states+float64(s.mambaHeads)), c.d.attn) +
		c.add(at+"out_proj", inner*h, c.d.attn)
}
