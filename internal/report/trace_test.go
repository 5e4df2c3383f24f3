package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"shakedown/internal/finding"
)

// traces are the inputs of the golden tests of traces and evaluations.
func traceStream(against string, bad int) []finding.Message {
	op := func(layer int, name string, low, high, rms, diff float64) finding.OpStat {
		return finding.OpStat{
			Layer: layer, Op: name, Tensor: "model.layers.0." + name, Values: 1280,
			Min: finding.Number(low), Max: finding.Number(high), RMS: finding.Number(rms), Diff: finding.Number(diff),
		}
	}
	broken := op(1, "attn.o", 0, 0, math.NaN(), 0)
	broken.NonFinite = bad
	sum := &finding.TraceMsg{Model: "/models/heron<b>", Type: "glm_moe_dsa", Numerics: "hf-f32", Against: against, Tokens: 10, Layers: 2, Ops: 5, NonFinite: bad}
	if bad > 0 {
		sum.FirstBad = &finding.Place{Layer: 1, Op: "attn.o", Tensor: "model.layers.1.self_attn.o_proj.weight", Token: 4, Element: 77, Value: finding.Number(math.Inf(-1))}
	}
	first := op(0, "attn.norm", -3, 4, 1, 0.002)
	if against != "" {
		sum.FirstApart = &finding.Place{Layer: 0, Op: "attn.norm", Token: 0, Element: 3, Value: 1.5, Other: 1.4999}
		sum.Jump = &first
	}
	return []finding.Message{
		open(),
		&finding.TraceLayerMsg{Layer: -1, Ops: []finding.OpStat{op(-1, "embed", -1, 1, 0.5, 0)}},
		&finding.TraceLayerMsg{Layer: 0, Ops: []finding.OpStat{first, op(0, "layer.out", -9e4, 7e4, 900, 0.5)}, Selected: 1, Routed: 3},
		&finding.TraceLayerMsg{Layer: 1, Ops: []finding.OpStat{broken}},
		&finding.TraceLayerMsg{Layer: -1, Ops: []finding.OpStat{op(-1, "logits", -9, 12, 3, 1e-7)}},
		sum,
		&finding.EndMsg{},
	}
}

// TestTraceSchema: traces and evaluations are what the schema says.
func TestTraceSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	stream := append(traceStream("hf-bf16", 3), &finding.EvalMsg{
		Tokens: []int{1}, Logits: finding.Numbers{1, nan}, Top: [][]finding.Ranked{{{ID: 1, Logprob: nan}}},
		Selected: map[string][][]int{"0": {{0}}}, Router: map[string][][]int{"1": {{2, 3}}}, Drafts: []int{4}, Words: map[string]string{"1": "a"},
	})
	for _, m := range stream {
		line, err := finding.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
	}
	wrong, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"message":"trace-layer","layer":0,"ops":[{"layer":0,"op":"x","values":1,"non_finite":0,"min":"nan","max":1,"rms":1,"diff":0,"max_diff":0}],"selected_differ":0,"routed_differ":0}`))
	if err != nil {
		t.Fatal(err)
	}
	if schema.Validate(wrong) == nil {
		t.Error("the schema accepts nan")
	}
}

func replay(t *testing.T, h finding.Handler, stream []finding.Message) {
	t.Helper()
	for _, m := range stream {
		if err := h.Handle(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTraceText(t *testing.T) {
	for _, tc := range []struct {
		name    string
		stream  []finding.Message
		full    bool
		has     []string
		hasNone []string
	}{
		{"one", traceStream("", 3), false, []string{
			"3 values are not finite, first at layer 1, attn.o", "77: -Inf\n", "glm_moe_dsa, 2 layers", "10 tokens, numerics hf-f32\n",
			"layer 0  ▅█  rms 900, 1 token sees other positions, 3 tokens take other experts", "layer 1  !   rms NaN, 3 values not finite", "input    ▄   rms 0.5",
		}, []string{"JUMP", "OPERATION", " against "}},
		{"healthy", traceStream("", 0), true, []string{"All values are finite\n", "LAYER  OPERATION", "\n       embed ", "\n0      layer.out            1280      -9e+04       7e+04         900           0\n"}, nil},
		{"two", traceStream("hf-bf16", 0), false, []string{
			"The two arithmetics part at layer 0, attn.norm, token 0, element 3: 1.5 and\n1.4999\n", "numerics hf-f32 against hf-bf16",
			"JUMP     the difference grows most behind layer 0, attn.norm: 0.002 of the value", "layer 0  ▅█  diff 0.5", "output   ▁   diff 1e-07",
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			replay(t, NewTraceText(&b, Options{Full: tc.full}, nil), tc.stream)
			for _, want := range tc.has {
				if !strings.Contains(b.String(), want) {
					t.Errorf("no %q in\n%s", want, b.String())
				}
			}
			for _, none := range tc.hasNone {
				if strings.Contains(b.String(), none) {
					t.Errorf("%q in\n%s", none, b.String())
				}
			}
		})
	}
}

// TestTraceHTML: the page holds no markup from outside, and marks what is bad.
func TestTraceHTML(t *testing.T) {
	var b bytes.Buffer
	replay(t, NewTraceHTML(&b, Options{}), traceStream("", 3))
	page := b.String()
	for _, want := range []string{`<h1 class="bad">3 values are not finite`, `class="cell hx" title="attn.o:`, "heron&lt;b&gt;", `<td class="n bad">3</td>`, "layer 0: operations"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "heron<b>") {
		t.Error("the page holds foreign markup")
	}
}

// TestTraceCut: a trace that ended early writes no text, and a page that says
// so.
func TestTraceCut(t *testing.T) {
	var text, page bytes.Buffer
	stream := traceStream("", 0)[:3]
	replay(t, NewTraceText(&text, Options{}, nil), stream)
	replay(t, NewTraceHTML(&page, Options{}), stream)
	if text.Len() > 0 || !strings.Contains(page.String(), "The trace is incomplete") {
		t.Errorf("text %q", text.String())
	}
}

func TestEvalText(t *testing.T) {
	var b bytes.Buffer
	nan := float32(math.NaN())
	replay(t, NewEvalText(&b, Options{}), []finding.Message{
		open(),
		&finding.EvalMsg{Prompt: 0, Numerics: "exact", Tokens: []int{7, 8, 9}, Logits: finding.Numbers{1}, Logprobs: finding.Numbers{-1, -3}, Greedy: []int{4, 5}, Top: [][]finding.Ranked{{{ID: 4, Logprob: -0.5}}}, Text: "two words", Words: map[string]string{"4": " two"}},
		&finding.EvalMsg{Prompt: 1, Numerics: "exact", Tokens: []int{7}, Bad: 2, Greedy: []int{0}, Top: [][]finding.Ranked{{{ID: 0, Logprob: nan}}}},
		&finding.EndMsg{},
	})
	const want = `PROMPT   1  3 tokens, numerics exact
PROBS    mean logprob -2, perplexity 7.389; least likely is token 9 at position
         2: -3
NEXT            4  -0.5     " two"
GREEDY   4, 5
         two words

PROMPT   2  1 token, numerics exact
BAD      2 logits are not finite: shakedown trace shows where that begins
NEXT            0  NaN
GREEDY   0
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
