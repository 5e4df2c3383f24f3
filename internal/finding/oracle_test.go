package finding

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestNumbersSurvive: what JSON has no word for is written as text and read
// back.
func TestNumbersSurvive(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	want := &EvalMsg{
		Prompt: 1, Numerics: "exact", Tokens: []int{1, 2}, Logits: Numbers{1.5, nan, inf, -inf, 0.1},
		Logprobs: Numbers{-3}, Greedy: []int{7}, Top: [][]Ranked{{{7, -0.25}, {3, -inf}}}, Bad: 3,
		Selected: map[string][][]int{"0": {{0}, {0, 1}}},
	}
	line, err := Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"logits":[1.5,"NaN","Inf","-Inf",0.1]`, `"top":[[[7,-0.25],[3,"-Inf"]]]`, `"selected":{"0":[[0],[0,1]]}`} {
		if !strings.Contains(string(line), part) {
			t.Errorf("%s lacks %s", line, part)
		}
	}
	got := decode(t, header(t)+string(line))
	if d := cmp.Diff([]Message{want}, got[1:], cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func TestTracePlaces(t *testing.T) {
	want := &TraceMsg{Numerics: "hf-f32", Against: "hf-bf16", FirstBad: &Place{Layer: 3, Op: "attn.o", Token: 2, Element: 9, Value: Number(math.Inf(-1))}}
	line, err := Marshal(want)
	if err != nil || !strings.Contains(string(line), `"value":"-Inf"`) || strings.Contains(string(line), "first_apart") {
		t.Fatalf("%s, %v", line, err)
	}
	got := decode(t, header(t)+string(line))
	if d := cmp.Diff([]Message{want}, got[1:]); d != "" {
		t.Error(d)
	}
}
