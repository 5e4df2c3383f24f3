package eval_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/eval"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

var prompt = []int{3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 32}

func model(t *testing.T, config string, num string) *oracle.Model {
	t.Helper()
	src, err := load.Open(oracletest.Write(t, config, oracletest.Options{}))
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

// TestRun: what is told of a prompt fits together, and pieces of a prompt change
// nothing.
func TestRun(t *testing.T) {
	m := model(t, oracletest.Configs["glm_moe_dsa"], "exact")
	got, err := eval.Run(t.Context(), m, 3, prompt, eval.Options{MaxNew: 4, Choices: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.Prompt != 3 || got.Numerics != "exact" || got.Bad != 0 || len(got.Logits) != 64 || len(got.Logprobs) != len(prompt)-1 || len(got.Greedy) != 4 || len(got.Top) != 4 {
		t.Fatalf("%+v", got)
	}
	for i, top := range got.Top {
		if top[0].ID != got.Greedy[i] || len(top) != 5 || top[0].Logprob < top[1].Logprob || top[3].Logprob < top[4].Logprob {
			t.Errorf("step %d: top %v, greedy %d", i, top, got.Greedy[i])
		}
	}
	// The continuation is that of a prompt which holds its beginning.
	longer, err := eval.Run(t.Context(), m, 0, append(slices.Clone(prompt), got.Greedy[:2]...), eval.Options{MaxNew: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(longer.Greedy, got.Greedy[2:]) || longer.Logprobs[len(prompt)-1] != got.Top[0][0].Logprob {
		t.Errorf("continued: %v, want %v", longer.Greedy, got.Greedy[2:])
	}
	pieces, err := eval.Run(t.Context(), m, 3, prompt, eval.Options{MaxNew: 4, Choices: true, Chunk: 5})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, pieces); d != "" {
		t.Errorf("in pieces: %s", d)
	}
	// Layer 2 shares the positions of layer 1; every layer but the first routes.
	if len(got.Selected) != 4 || !cmp.Equal(got.Selected["1"], got.Selected["2"]) || len(got.Router) != 3 || len(got.Router["1"]) != len(prompt) {
		t.Errorf("choices of layers: %d selected, %d routed", len(got.Selected), len(got.Router))
	}
	if row := got.Selected["0"][11]; len(row) != 6 || !slices.IsSorted(row) || row[5] > 11 {
		t.Errorf("positions of token 11: %v", row)
	}
}

// TestLogprobs add up to one.
func TestLogprobs(t *testing.T) {
	logits := []float32{1, -2, 0.5, 80}
	sum := 0.0
	for id := range logits {
		sum += math.Exp(float64(eval.Logprob(logits, id)))
	}
	if math.Abs(sum-1) > 1e-6 {
		t.Errorf("probabilities add up to %v", sum)
	}
	logprob, likelier, best := eval.Rank(logits, 2, 2)
	if logprob != eval.Logprob(logits, 2) || likelier != 2 || !slices.Equal(best, eval.Top(logits, 2)) || best[0].ID != 3 {
		t.Errorf("rank of 2: %v, %d, %v", logprob, likelier, best)
	}
}

// TestAllNaN: without numbers the likeliest token is 0, the symptom of "!!!!".
func TestAllNaN(t *testing.T) {
	nan := float32(math.NaN())
	top := eval.Top([]float32{nan, nan, nan}, 2)
	if len(top) != 2 || top[0].ID != 0 || top[1].ID != 1 || top[0].Logprob == top[0].Logprob {
		t.Errorf("%v", top)
	}
}

func TestRefuses(t *testing.T) {
	m := model(t, oracletest.Configs["llama"], "exact")
	if _, err := eval.Run(t.Context(), m, 2, nil, eval.Options{}); !errors.Is(err, oracle.ErrNoTokens) || !strings.Contains(err.Error(), "prompt 2") {
		t.Errorf("error %v", err)
	}
	if _, err := eval.Run(t.Context(), m, 0, []int{64}, eval.Options{}); err == nil || !strings.Contains(err.Error(), "token id 64") {
		t.Errorf("error %v", err)
	}
	one, err := eval.Run(t.Context(), m, 0, []int{5}, eval.Options{})
	if err != nil || len(one.Logprobs) != 0 || len(one.Greedy) != 0 || len(one.Logits) != 64 {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := eval.Run(t.Context(), m, 0, []int{5}, eval.Options{Drafts: true}); !errors.Is(err, eval.ErrNoMTP) {
		t.Errorf("error %v", err)
	}
	if d := cmp.Diff(map[string][][]int(nil), one.Router, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}
