package oracle

import (
	"math"
	"slices"

	"shakedown/internal/kernel"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
)

// moe is a mixture of experts.
type moe struct {
	family.MoE
	router  *linear
	bias    []float32 // nil for none
	experts []*mlp
	shared  *mlp // nil for none
}

func (b *binder) moe(prefix string, hidden int, m *family.MoE, fused bool) *moe {
	out := &moe{MoE: *m, router: b.linear(prefix+".gate", m.Experts, hidden, false)}
	if m.Router.Bias {
		out.bias = b.vector(prefix+".gate.e_score_correction_bias", m.Experts).v
	}
	out.experts = b.experts(prefix+".experts", hidden, m, fused)
	if m.Shared > 0 {
		out.shared = b.mlp(prefix+".shared_experts", hidden, family.Dense{Width: m.Shared})
	}
	return out
}

// slot is one chosen expert of one token.
type slot struct {
	token, nth int
}

// run is the mixture of all tokens of a step.
func (p *moe) run(st *step, x []float32) []float32 {
	hidden := len(x) / st.n
	experts, weights := p.route(st, x)
	byExpert := make([][]slot, p.Experts)
	for t, chosen := range experts {
		for i, e := range chosen {
			byExpert[e] = append(byExpert[e], slot{t, i})
		}
	}
	if st.n*p.TopK < p.Experts {
		for e, slots := range byExpert {
			if len(slots) > 0 {
				st.m.pager.Expert(st.layer, e)
			}
		}
	}
	k := len(experts[0])
	outs := p.outputs(st, x, byExpert, k)
	y := make([]float32, len(x))
	st.m.pool.Each(st.n, func(t int) {
		p.sum(st.m, y[t*hidden:][:hidden], outs[t*k*hidden:][:k*hidden], experts[t], weights[t])
	})
	st.see("moe.routed", "", y)
	if p.shared != nil && !st.m.Num.Has(numerics.FusedSharedCount) {
		st.m.addAll(y, p.shared.run(st, "moe.shared", x))
		st.see("moe.out", "", y)
	}
	return y
}

// outputs runs the experts on their tokens, all of them together: the output of
// choice i of token t is row t*k+i.
func (p *moe) outputs(st *step, x []float32, byExpert [][]slot, k int) []float32 {
	hidden := len(x) / st.n
	var used []int
	var first []job // gate and up of each expert that is used
	for e, slots := range byExpert {
		if len(slots) == 0 {
			continue
		}
		in := make([]float32, 0, len(slots)*hidden)
		for _, s := range slots {
			in = append(in, x[s.token*hidden:][:hidden]...)
		}
		used = append(used, e)
		first = append(first, job{p.experts[e].gate, in, len(slots)}, job{p.experts[e].up, in, len(slots)})
	}
	inner := st.m.multiply(first)
	second := make([]job, len(used))
	for i, e := range used {
		gate, up, slots := inner[2*i], inner[2*i+1], byExpert[e]
		p.see(st, "expert.gate", p.experts[e].gate, slots, gate)
		p.see(st, "expert.up", p.experts[e].up, slots, up)
		if st.m.Num.Has(numerics.SwapGateUp) {
			gate, up = up, gate
		}
		st.m.gateUp(gate, up)
		p.see(st, "expert.act", p.experts[e].down, slots, gate)
		second[i] = job{p.experts[e].down, gate, len(slots)}
	}
	outs := make([]float32, st.n*k*hidden)
	for i, y := range st.m.multiply(second) {
		slots := byExpert[used[i]]
		p.see(st, "expert.down", second[i].l, slots, y)
		for j, s := range slots {
			copy(outs[(s.token*k+s.nth)*hidden:][:hidden], y[j*hidden:])
		}
	}
	return outs
}

func (p *moe) see(st *step, name string, l *linear, slots []slot, values []float32) {
	if st.tap == nil {
		return
	}
	rows := make([]int, len(slots))
	for i, s := range slots {
		rows[i] = st.position(s.token)
	}
	st.tap.Op(&Op{Layer: st.layer, Name: name, Tensor: l.name, Start: st.position(0), Tokens: len(slots), Width: len(values) / len(slots), Values: values, Rows: rows})
}

// sum adds the weighted outputs of one token's experts.
func (p *moe) sum(m *Model, y, outs []float32, experts []int, weights []float32) {
	d := len(y)
	if m.Num.Experts == numerics.ExpertsF32 {
		for i, w := range weights {
			for j, v := range outs[i*d:][:d] {
				y[j] += float32(v * w)
			}
		}
		m.round.act.apply(y)
		return
	}
	order := make([]int, len(experts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return experts[a] - experts[b] })
	part := make([]float32, d)
	for _, i := range order {
		for j, v := range outs[i*d:][:d] {
			part[j] = v * weights[i]
		}
		m.round.act.apply(part)
		add(y, part)
		m.round.act.apply(y)
	}
}

// route chooses the experts of all tokens.
func (p *moe) route(st *step, x []float32) (experts [][]int, weights [][]float32) {
	logits := make([]float32, st.n*p.Experts)
	p.router.MulMat(st.m.pool, logits, x, st.n)
	// The softmax router works in the model's format, the sigmoid one in float32
	// (TF qwen3_moe and deepseek_v3).
	if p.Router.Score == family.Softmax || st.m.Num.Router == numerics.RouterAct {
		st.m.round.act.apply(logits)
	}
	st.see("moe.router", p.router.name, logits)
	experts, weights = make([][]int, st.n), make([][]float32, st.n)
	k := p.TopK
	if p.shared != nil && st.m.Num.Has(numerics.FusedSharedCount) {
		k = min(k+1, p.Experts)
	}
	st.m.pool.Each(st.n, func(t int) {
		experts[t], weights[t] = p.choose(logits[t*p.Experts:][:p.Experts], k)
		if p.Router.Score == family.Softmax {
			st.m.round.act.apply(weights[t])
		}
	})
	if st.tap != nil {
		for t := range st.n {
			st.tap.Routed(st.layer, st.position(t), experts[t], weights[t])
		}
	}
	return experts, weights
}

// choose picks k experts for one token, best first, the lower number among
// equals, and their weights.
func (p *moe) choose(logits []float32, k int) ([]int, []float32) {
	r := p.Router
	scores := slices.Clone(logits)
	if r.Score == family.Softmax {
		kernel.Softmax(scores)
	} else {
		for i, l := range logits {
			scores[i] = kernel.Sigmoid(l)
		}
	}
	biased := scores
	if p.bias != nil {
		biased = slices.Clone(scores)
		add(biased, p.bias)
	}
	if r.Groups > 1 {
		biased = limitGroups(biased, r.Groups, r.TopGroups)
	}
	chosen := TopK(biased, k)
	weights := make([]float32, len(chosen))
	var sum float32
	for i, e := range chosen {
		weights[i] = scores[e]
		sum += scores[e]
	}
	for i := range weights {
		if r.Normalise {
			weights[i] /= sum + float32(r.Epsilon)
		}
		weights[i] *= float32(r.Scale)
	}
	return chosen, weights
}

// limitGroups takes all groups but the best out of the choice. The score of a
// group is the sum of its two best.
func limitGroups(scores []float32, groups, keep int) []float32 {
	size := len(scores) / groups
	sums := make([]float32, groups)
	for g := range sums {
		best := TopK(scores[g*size:][:size], 2)
		sums[g] = scores[g*size+best[0]] + scores[g*size+best[1]]
	}
	out := make([]float32, len(scores))
	for i := range out {
		out[i] = float32(math.Inf(-1))
	}
	for _, g := range TopK(sums, keep) {
		copy(out[g*size:][:size], scores[g*size:])
	}
	return out
}

// TopK gives the numbers of the k largest values, largest first, the lower
// number among equals. NaN counts as larger than everything, as in torch.topk.
func TopK(x []float32, k int) []int {
	k = min(k, len(x))
	if k > fewBest {
		return sortedTop(x, k)
	}
	best := make([]int, 0, k+1)
	for i := range x {
		if len(best) == k && (k == 0 || !before(x, i, best[k-1])) {
			continue
		}
		at := len(best)
		for at > 0 && before(x, i, best[at-1]) {
			at--
		}
		best = slices.Insert(best, at, i)
		best = best[:min(len(best), k)]
	}
	return best
}

// fewBest is up to how many of the best are found by one pass over all.
const fewBest = 32

func sortedTop(x []float32, k int) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if before(x, a, b) {
			return -1
		}
		return 1
	})
	return order[:k]
}

// before says whether value a comes before value b: the larger one, NaN above
// all, the lower number among equals. a and b differ.
func before(x []float32, a, b int) bool {
	va, vb := x[a], x[b]
	switch {
	case va != va:
		return vb == vb || a < b
	case vb != vb:
		return false
	}
	return va > vb || va == vb && a < b
}

func add(y, x []float32) {
	for i, v := range x {
		y[i] += v
	}
}
