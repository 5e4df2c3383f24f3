package oracle

import (
	"fmt"

	"shakedown/internal/kernel"
	"shakedown/internal/oracle/family"
)

// mlp is down(silu(gate(x))·up(x)).
type mlp struct{ gate, up, down *linear }

func (b *binder) mlp(prefix string, hidden int, d family.Dense) *mlp {
	return &mlp{
		gate: b.linear(prefix+".gate_proj", d.Width, hidden, d.Bias),
		up:   b.linear(prefix+".up_proj", d.Width, hidden, d.Bias),
		down: b.linear(prefix+".down_proj", hidden, d.Width, d.Bias),
	}
}

// run is the MLP of all tokens. The names of operations begin with prefix.
func (p *mlp) run(st *step, prefix string, x []float32) []float32 {
	both := st.muls(x, named{prefix + ".gate", p.gate}, named{prefix + ".up", p.up})
	st.m.gateUp(both[0], both[1])
	st.see(prefix+".act", "", both[0])
	return st.mul(prefix+".down", p.down, both[0])
}

// gateUp replaces gate by silu(gate)·up.
func (m *Model) gateUp(gate, up []float32) {
	m.each(len(gate), func(from, to int) {
		g, u := gate[from:to], up[from:to]
		kernel.Silus(g, g)
		m.round.eager.apply(g)
		for i, v := range u {
			g[i] *= v
		}
		m.round.act.apply(g)
	})
}

// experts binds the experts of a layer, one by one or from the tensors that hold all.
func (b *binder) experts(prefix string, hidden int, m *family.MoE, fused bool) []*mlp {
	gateUp, down := prefix+".gate_up_proj", prefix+".down_proj"
	out := make([]*mlp, m.Experts)
	fused = fused && b.w.Has(gateUp)
	for e := range out {
		if !fused {
			out[e] = b.mlp(fmt.Sprintf("%s.%d", prefix, e), hidden, family.Dense{Width: m.Width})
			continue
		}
		out[e] = &mlp{
			gate: b.fused(gateUp, e, 0, m.Width, hidden),
			up:   b.fused(gateUp, e, m.Width, m.Width, hidden),
			down: b.fused(down, e, 0, hidden, m.Width),
		}
	}
	return out
}
