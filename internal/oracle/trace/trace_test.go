package trace_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
	"shakedown/internal/oracle/trace"
)

var prompt = []int{3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 32}

func open(t *testing.T, dir, num string) *oracle.Model {
	t.Helper()
	src, err := load.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	n, err := numerics.Parse(num)
	if err != nil {
		t.Fatal(err)
	}
	m, err := src.Model(n)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// keep collects the layers of a trace.
func keep(into *[]*finding.TraceLayerMsg) trace.Handler {
	return func(l *finding.TraceLayerMsg) error {
		*into = append(*into, l)
		return nil
	}
}

// TestFirstBad: one weight that is NaN is found with layer, operation, weight,
// token and element.
func TestFirstBad(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["glm_moe_dsa"], oracletest.Options{Values: func(tensor string, values []float32, rows, cols int) {
		if tensor == "model.layers.2.self_attn.o_proj.weight" {
			values[7*cols+3] = float32(math.NaN())
		}
	}})
	var layers []*finding.TraceLayerMsg
	sum, err := trace.Watch(t.Context(), open(t, dir, "exact"), prompt, keep(&layers))
	if err != nil {
		t.Fatal(err)
	}
	p := sum.FirstBad
	if p == nil || p.Layer != 2 || p.Op != "attn.o" || p.Tensor != "model.layers.2.self_attn.o_proj.weight" || p.Token != 0 || p.Element != 7 || !math.IsNaN(float64(p.Value)) {
		t.Fatalf("first bad value %+v", p)
	}
	var order []int
	for _, l := range layers {
		order = append(order, l.Layer)
		for _, o := range l.Ops {
			if o.NonFinite > 0 && l.Layer >= 0 && l.Layer < 2 {
				t.Errorf("layer %d, %s has %d bad values", l.Layer, o.Op, o.NonFinite)
			}
			if o.Op == "attn.o" && l.Layer == 2 && o.NonFinite != len(prompt) {
				t.Errorf("%d bad values of o_proj, want one for each of %d tokens", o.NonFinite, len(prompt))
			}
		}
	}
	if want := []int{-1, 0, 1, 2, 3, -1}; len(order) != len(want) || order[3] != 2 {
		t.Errorf("layers %v, want %v", order, want)
	}
	if sum.Ops == 0 || sum.NonFinite == 0 || sum.Tokens != len(prompt) || sum.Layers != 4 {
		t.Errorf("%+v", sum)
	}
}

// TestFirstBadExpert names the expert and the position of the token that goes to
// it.
func TestFirstBadExpert(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["qwen3_moe"], oracletest.Options{Values: func(tensor string, values []float32, rows, cols int) {
		if tensor == "model.layers.0.mlp.experts.4.up_proj.weight" {
			values[0] = float32(math.Inf(1))
		}
	}})
	m := open(t, dir, "exact")
	routed := &routes{}
	if _, err := m.NewSession(routed).Feed(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	sum, err := trace.Watch(t.Context(), m, prompt, keep(new([]*finding.TraceLayerMsg)))
	if err != nil {
		t.Fatal(err)
	}
	if p := sum.FirstBad; p == nil || p.Op != "expert.up" || !strings.Contains(p.Tensor, "experts.4.up_proj") || p.Token != routed.first {
		t.Errorf("first bad value %+v, want token %d", p, routed.first)
	}
}

// routes notes the first token of layer 0 that goes to expert 4.
type routes struct {
	oracle.NoTap
	first int
	seen  bool
}

func (r *routes) Routed(layer, position int, experts []int, _ []float32) {
	for _, e := range experts {
		if layer == 0 && e == 4 && !r.seen {
			r.first, r.seen = position, true
		}
	}
}

// TestCompare: two numerics that differ in one switch part where it acts.
func TestCompare(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["glm_moe_dsa"], oracletest.Options{})
	for _, tc := range []struct {
		num, against string
		op           string // where they part; empty: nowhere
		layer        int
	}{
		{"exact", "exact", "", 0},
		{"exact", "exact,latent-eps=config", "attn.q_a_norm", 0},
		{"exact", "exact,kv=bf16", "attn.latent", 0},
		{"exact", "exact,index-rope=half", "index.q_rope", 0},
		{"exact", "exact,rope=half", "attn.latent", 0},
		{"exact", "exact,fault=swap-gate-up", "expert.act", 1},
		{"hf-f32", "hf-bf16", "attn.norm", 0},
		{"hf-bf16", "hf-bf16,norm=cast-last", "attn.norm", 0},
		{"hf-bf16,norm=cast-last", "hf-bf16,norm=fused-sum", "mlp.norm", 0},
		{"exact", "exact,norm=fused-sum", "", 0},
	} {
		var layers []*finding.TraceLayerMsg
		sum, err := trace.Compare(t.Context(), open(t, dir, tc.num), open(t, dir, tc.against), prompt, keep(&layers))
		if err != nil {
			t.Fatal(err)
		}
		p := sum.FirstApart
		if (p == nil) != (tc.op == "") || p != nil && (p.Op != tc.op || p.Layer != tc.layer) {
			t.Errorf("%s against %s: part at %+v, want layer %d %s", tc.num, tc.against, p, tc.layer, tc.op)
			continue
		}
		last := layers[len(layers)-1].Ops
		if d := last[len(last)-1].Diff; (d == 0) != (tc.op == "") || math.IsInf(float64(d), 0) {
			t.Errorf("%s against %s: logits differ by %v", tc.num, tc.against, d)
		}
		if (sum.Jump == nil) != (tc.op == "") {
			t.Errorf("%s against %s: jump %+v", tc.num, tc.against, sum.Jump)
		}
	}
}

// TestCompareLost: a value that is a number on one side only is an infinite
// difference.
func TestCompareLost(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{Format: func(m string) oracletest.Format {
		if strings.Contains(m, "layers.1.mlp") {
			return oracletest.NVFP4
		}
		return oracletest.BF16
	}})
	var layers []*finding.TraceLayerMsg
	sum, err := trace.Compare(t.Context(), open(t, dir, "exact"), open(t, dir, "exact,gemm=scheme,fault=no-input-scale"), prompt, keep(&layers))
	if err != nil {
		t.Fatal(err)
	}
	if p := sum.FirstApart; p == nil || p.Layer != 1 || p.Op != "mlp.gate" || !math.IsNaN(float64(p.Other)) {
		t.Errorf("part at %+v", p)
	}
	if sum.NonFinite != 0 {
		t.Errorf("%d values of the first side are not finite", sum.NonFinite)
	}
	if j := sum.Jump; j == nil || j.Op != "mlp.gate" || !math.IsInf(float64(j.Diff), 1) {
		t.Errorf("jump %+v", j)
	}
}

// TestErrors: what a handler, a token or an interruption says comes back.
func TestErrors(t *testing.T) {
	m := open(t, oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{}), "exact")
	full := errors.New("disk full")
	_, err := trace.Compare(t.Context(), m, m, prompt, func(*finding.TraceLayerMsg) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	if _, err := trace.Watch(t.Context(), m, []int{1, 999}, keep(new([]*finding.TraceLayerMsg))); err == nil || !strings.Contains(err.Error(), "token id 999") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = trace.Watch(ctx, m, prompt, func(*finding.TraceLayerMsg) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
