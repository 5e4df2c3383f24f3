package oracle_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/eval"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
	"shakedown/internal/oracle/trace"
)

// fault is what a failure of the public record, played on a tiny model, is
// expected to do.
type fault struct {
	oracletest.Fault
	// What is expected: the first token whose logits are wrong and the first
	// whose logits are no numbers, -1 for none, and the operation where the trace
	// meets the first value that is no number.
	wrong, nan int
	where      string
	tell       string // how it is told from other faults
}

// faults are by name.
var faults = map[string]fault{
	"scales packed as powers of two": {
		wrong: 0, nan: 0, where: "attn.q_a", tell: "the first FP8 matrix is NaN for every token; float32 scales that are no powers of two; gone with scales=ue8m0",
	},
	"656-byte records read as 576": {
		wrong: 0, nan: 4, where: "attn.latent", tell: "codes without scales from token 0, NaN as soon as a byte of a scale or of a bfloat16 key means NaN as FP8; gone with kv=bf16",
	},
	"a tile of zeros in the record": {
		wrong: 0, nan: 0, where: "attn.latent", tell: "NaN in exactly one tile of 128 latent values; gone with kv=fp8_ds_mla",
	},
	"stale page of the KV cache": {
		wrong: 8, nan: -1, tell: "right up to a page, fluent and wrong behind it; nothing is NaN",
	},
	"stale page after a prefix hit": {
		wrong: 17, nan: -1, tell: "the same prompt is right when it is computed anew, and wrong when its beginning comes from the cache",
	},
	"missing input_scale": {
		wrong: 0, nan: 0, where: "expert.gate", tell: "NaN begins in the first NVFP4 matrix; with a scale missing for some experts only, in the tokens that go to them",
	},
	"float16 overflow": {
		wrong: 0, nan: 0, where: "mlp.down", tell: "infinity comes first, NaN behind it; gone with act=bf16",
	},
	"gate and up of experts swapped": {
		wrong: 0, nan: -1, tell: "all numbers are finite and of the right size; parts at expert.act",
	},
	"rotation of halves instead of pairs": {
		wrong: 1, nan: -1, tell: "token 0 is right to the bit, since position 0 is not rotated; parts at attn.latent of token 1",
	},
	"indexer rotates halves": {
		wrong: 9, nan: -1, tell: "right to the bit as long as no position is left out, wrong behind index_topk tokens",
	},
	"shared expert counted as a routed one": {
		wrong: 0, nan: -1, tell: "one more expert per token than num_experts_per_tok, and no shared one; parts at moe.routed",
	},
	"uninitialised shard": {
		wrong: 0, nan: 0, where: "mlp.down", tell: "half of the rows of a matrix: huge values beside sound ones, then NaN",
	},
}

// symptom is what a fault did.
type symptom struct {
	wrong, nan int
	where      *finding.Place
	greedy     []int
	sound      []int
}

func (f *fault) play(t *testing.T) symptom {
	t.Helper()
	dir := oracletest.Write(t, f.Config, f.Options)
	healthy, faulty := open(t, dir, f.Healthy), open(t, dir, f.Faulty)
	a, b := logits(t, healthy, prompt, len(prompt)), f.logits(t, faulty)
	s := symptom{wrong: -1, nan: -1}
	v := healthy.Spec.Vocab
	for i := range a {
		if a[i]-a[i] != 0 {
			t.Fatalf("%s: the healthy run has logits that are not finite", f.Name)
		}
		if s.wrong < 0 && math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			s.wrong = i / v
		}
		if s.nan < 0 && b[i] != b[i] {
			s.nan = i / v
		}
	}
	sum, err := trace.Watch(t.Context(), faulty, prompt, func(*finding.TraceLayerMsg) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	s.where = sum.FirstBad
	s.greedy, s.sound = greedy(t, faulty), greedy(t, healthy)
	if f.Hit > 0 { // the first token behind the prompt is the last one's likeliest
		last := b[len(b)-v:]
		s.greedy = []int{oracle.TopK(last, 1)[0]}
		s.sound = s.sound[:1]
	}
	return s
}

// logits are those of the prompt, which begins with tokens of an earlier text where
// the fault needs that.
func (f *fault) logits(t *testing.T, m *oracle.Model) []float32 {
	t.Helper()
	if f.Hit == 0 {
		return logits(t, m, prompt, len(prompt))
	}
	s := m.NewSession(nil)
	hidden, err := s.Feed(t.Context(), prompt[:f.Hit])
	if err != nil {
		t.Fatal(err)
	}
	out := s.Logits(hidden)
	s = s.Fork(f.Hit)
	if hidden, err = s.Feed(t.Context(), prompt[f.Hit:]); err != nil {
		t.Fatal(err)
	}
	return append(out, s.Logits(hidden)...)
}

func greedy(t *testing.T, m *oracle.Model) []int {
	t.Helper()
	r, err := eval.Run(t.Context(), m, 0, prompt, eval.Options{MaxNew: 4})
	if err != nil {
		t.Fatal(err)
	}
	return r.Greedy
}

// TestFaults plays every fault and compares its symptom, and the table of
// docs/faults.md, with what is expected.
func TestFaults(t *testing.T) {
	var rows []string
	for _, made := range oracletest.Faults {
		f, ok := faults[made.Name]
		if !ok {
			t.Errorf("nothing is expected of %q", made.Name)
			continue
		}
		f.Fault = made
		s := f.play(t)
		where := ""
		if s.where != nil {
			where = s.where.Op
		}
		if s.wrong != f.wrong || s.nan != f.nan || where != f.where {
			t.Errorf("%s: first wrong token %d, first NaN token %d, first bad operation %q; want %d, %d, %q", f.Name, s.wrong, s.nan, where, f.wrong, f.nan, f.where)
		}
		if f.nan >= 0 && !slices.Equal(s.greedy, []int{0, 0, 0, 0}) {
			t.Errorf("%s: greedy tokens %v, want token 0 again and again", f.Name, s.greedy)
		}
		if f.nan < 0 && slices.Equal(s.greedy, s.sound) {
			t.Errorf("%s: the greedy tokens are those of the healthy run: %v", f.Name, s.greedy)
		}
		rows = append(rows, f.row(s))
	}
	checkTable(t, rows)
}

func (f *fault) row(s symptom) string {
	begins := fmt.Sprintf("token %d", s.wrong)
	looks := "finite, wrong"
	if s.nan >= 0 {
		looks = fmt.Sprintf("NaN from token %d, first in layer %d, `%s`; greedy: token 0 again and again", s.nan, s.where.Layer, s.where.Op)
	}
	return fmt.Sprintf("| %s | `%s` | %s | %s | %s | %s |", f.Name, strings.TrimPrefix(f.Faulty, f.Healthy+","), begins, looks, f.tell, f.Source)
}

// checkTable compares the rows with those of the documentation; -update writes
// them.
func checkTable(t *testing.T, rows []string) {
	t.Helper()
	const file, head = "../../docs/faults.md", "| --- | --- | --- | --- | --- | --- |\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), head)
	if !ok {
		t.Fatalf("%s has no table", file)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + head + strings.Join(rows, "\n") + "\n\n" + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Errorf("%s does not have the symptoms that the faults show: run this test with -update", file)
	}
}

// TestFaultsAreComplete: every fault that can be asked for is played.
func TestFaultsAreComplete(t *testing.T) {
	for _, s := range numerics.Switches() {
		if s.Name != "fault" {
			continue
		}
		for _, v := range s.Values {
			if !slices.ContainsFunc(oracletest.Faults, func(f oracletest.Fault) bool { return strings.Contains(f.Faulty, "fault="+v) }) {
				t.Errorf("fault=%s is not played", v)
			}
		}
	}
}

// TestInputScaleOfOneExpert: a scale that only one expert lacks spoils the
// tokens that go to it, and those behind them that attend to them.
func TestInputScaleOfOneExpert(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Config(t, oracletest.Configs["qwen3_moe"], map[string]any{"num_hidden_layers": 1}), oracletest.Options{Format: func(module string) oracletest.Format {
		if strings.Contains(module, "layers.0.mlp.experts.3.") {
			return oracletest.NVFP4NoInput
		}
		return oracletest.ExpertsNVFP4(module)
	}})
	m := open(t, dir, "exact,gemm=scheme")
	routed := &routedTo{expert: 3}
	s := m.NewSession(routed)
	h, err := s.Feed(t.Context(), prompt)
	if err != nil {
		t.Fatal(err)
	}
	out := s.Logits(h)
	if len(routed.tokens) == 0 || len(routed.tokens) == len(prompt) {
		t.Fatalf("the example sends tokens %v to the expert", routed.tokens)
	}
	for p := range prompt {
		x := out[p*m.Spec.Vocab]
		if bad := x != x; bad != slices.Contains(routed.tokens, p) {
			t.Errorf("token %d: logits NaN: %v, tokens of the expert: %v", p, bad, routed.tokens)
		}
	}
}

type routedTo struct {
	oracle.NoTap
	expert int
	tokens []int
}

func (r *routedTo) Routed(_, position int, experts []int, _ []float32) {
	if slices.Contains(experts, r.expert) {
		r.tokens = append(r.tokens, position)
	}
}

// TestCacheForms: forms of the cache that lose precision change results, more
// where they lose more, and those that should not do not. Routers and indexers
// of random weights have no margin, so that small changes grow.
func TestCacheForms(t *testing.T) {
	src, err := load.Open(oracletest.Write(t, oracletest.LatentReal, oracletest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	get := func(num string) []float32 {
		n, err := numerics.Parse(num)
		if err != nil {
			t.Fatal(err)
		}
		m, err := src.Model(n)
		if err != nil {
			t.Fatal(err)
		}
		return logits(t, m, prompt, len(prompt))
	}
	base := get("exact")
	distance := func(num string) float64 {
		var d, n float64
		for i, x := range get(num) {
			d += float64(x-base[i]) * float64(x-base[i])
			n += float64(base[i]) * float64(base[i])
		}
		return math.Sqrt(d / n)
	}
	bf16, fp8, raw := distance("exact,kv=bf16"), distance("exact,kv=fp8_ds_mla"), distance("exact,kv=fp8_576")
	if !(0 < bf16 && bf16 < 0.05 && bf16 < fp8 && fp8 < 0.5 && bf16 < raw && raw < 0.5) {
		t.Errorf("distances: bfloat16 %v, FP8 with scales %v, FP8 without %v", bf16, fp8, raw)
	}
	if d := distance("exact,kv=f32"); d != 0 {
		t.Errorf("kv=f32 changes float32 by %v", d)
	}
}
