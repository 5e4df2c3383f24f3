package probe

import (
	"fmt"
	"testing"
)

// healthy answers everything as a small trained model does.
func healthy(a Ask) Answer {
	switch a.Kind {
	case Health:
		return Answer{Status: 200, PromptCount: -1, AnswerCount: -1}
	case Metrics:
		return Answer{Status: 200, Metrics: map[string]float64{"vllm:num_requests_running": 0, "vllm:generation_tokens_total": 90}, PromptCount: -1, AnswerCount: -1}
	}
	return answer(" Paris, where the river runs past the old bridge.", -0.7)
}

// nanAnswer is an answer whose tokens from the n-th on have no number.
func nanAnswer(n int) Answer {
	a := answer("The capital of France is not known to me today", -0.5)
	c := &a.Choices[0]
	for i := n; i < len(c.Tokens); i++ {
		c.Tokens[i] = Token{ID: -1, Text: ".", Logprob: Logprob{Null: true}, Top: []Ranked{{ID: 0, Logprob: Logprob{Null: true}}, {ID: 1, Logprob: Logprob{Null: true}}}}
	}
	return a
}

func empty(n int) Answer {
	a := repeated("<|endoftext|>", n, -0.001)
	a.Choices[0].Text = ""
	return a
}

func TestFirst(t *testing.T) {
	t.Parallel()
	on := func(how Sampling, bad Answer) func(Ask) Answer {
		return func(a Ask) Answer {
			if a.Sampling == how {
				return bad
			}
			return healthy(a)
		}
	}
	always := func(bad Answer) func(Ask) Answer { return func(Ask) Answer { return bad } }
	// dies answers until a sampled request comes, and never again.
	dies := func(how Sampling, last Answer) func(Ask) Answer {
		dead := false
		return func(a Ask) Answer {
			if dead {
				return failure(Refused)
			}
			if a.Sampling == how {
				dead = true
				return last
			}
			return healthy(a)
		}
	}
	untold := func(a Answer) Answer {
		a.Choices[0].Told, a.Choices[0].Tokens = false, nil
		return a
	}
	shown := answer("Paris. <|im_end|>", -0.2)
	shown.Choices[0].Tokens[1].Text = "<|im_end|>"
	spelled := answer("Paris. <|im_end|>", -0.2)
	spelled.Choices[0].Tokens[1].Text = "<|im_"
	endUntold := answer("Paris is the city .", -0.2)
	endUntold.Choices[0].Finish = "stop"
	endUntold.Choices[0].Tokens[4].Logprob = Logprob{Null: true}
	one := empty(1)
	one.Choices[0].Finish = "stop"
	each := func(f func(n int) Answer) func(Ask) Answer {
		n := 0
		return func(Ask) Answer { n++; return f(n) }
	}
	thinking := answer("", -0.2)
	thinking.Choices[0].Reasoning, thinking.AnswerCount = "The user wants to know", 24

	cases := []struct {
		name  string
		reply func(Ask) Answer
		want  Outcome
		signs []Sign
	}{
		{"healthy", healthy, Pass, nil},
		{"null logprobs (llama.cpp, SGLang)", always(nanAnswer(0)), Fail, []Sign{SignNaN}},
		{"null logprobs later", always(nanAnswer(5)), Fail, []Sign{SignNaNLater}},
		{"logprobs that are no JSON (vLLM)", always(status(400, "Out of range float values are not JSON compliant")), Fail, []Sign{SignNaN}},
		{"NaN only when sampled", on(Hot, nanAnswer(0)), Fail, []Sign{SignNaN, SignNaNSampled}},
		{"NaN when greedy, an error when sampled", func(a Ask) Answer {
			if a.Sampling == Greedy {
				return nanAnswer(0)
			}
			return status(500, "probability tensor contains either inf, nan or element < 0")
		}, Fail, []Sign{SignNaN, SignNaNSampled}},
		{"NaN guard of SGLang", always(Answer{Choices: []Choice{{Finish: "stop"}}, Odd: "matched_stop: NaN happened"}), Fail, []Sign{SignNaN}},
		{"dies at the first sampled request", dies(Hot, failure(Reset)), Fail, []Sign{SignNaNSampled, SignDead}},
		{"dies behind an empty sampled answer", dies(Hot, one), Fail, []Sign{SignDead}},
		{"sampling is an error", on(Hot, status(500, "Internal Server Error")), Fail, []Sign{SignNaNSampled}},
		{"plain is refused (vLLM, temperature 6)", on(Plain, status(400, "temperature must be in [0, 2], got 6.0.")), Fail, []Sign{SignPlainFails}},
		{"killed in a plain request (vLLM)", dies(Plain, status(500, "EngineCore encountered an issue")), Fail, []Sign{SignError, SignDead}},
		{"plain is an error", on(Plain, status(500, "boom")), Fail, []Sign{SignPlainFails}},
		{"hot is refused: not supported", on(Hot, status(400, "only greedy decoding is supported")), CantTell, nil},
		{"everything is an error", always(status(500, "Internal Server Error")), Fail, []Sign{SignError}},
		{"busy", always(status(503, "loading model")), CantTell, nil},
		{"too many requests", on(Plain, status(429, "slow down")), CantTell, nil},
		{"slow", always(failure(TimedOut)), CantTell, nil},
		{"not sent", on(Plain, failure(NotSent)), CantTell, nil},
		{"!!!! with certainty", always(repeated("!", 24, -0.0001)), Fail, []Sign{SignCollapse}},
		{"!!!! without logprobs", always(untold(repeated("!", 24, 0))), Fail, []Sign{SignCollapse}},
		{"one word with certainty for all prompts", always(repeated("the", 24, -0.0001)), Fail, []Sign{SignCollapse}},
		{"a small model in a loop", always(repeated("the", 24, -0.4)), Pass, nil},
		{"a small model in a loop, not told", always(untold(repeated("a", 24, 0))), Pass, nil},
		{"each prompt its own loop", each(func(n int) Answer { return repeated(string(rune('a'+n)), 24, -0.0001) }), Pass, nil},
		{"empty though counted", always(empty(24)), Fail, []Sign{SignEmpty}},
		{"empty, ended at once", always(one), Pass, nil},
		{"empty, in doubt", always(func() Answer { a := empty(24); a.Choices[0].Tokens[3].Logprob.Value = -5; return a }()), Pass, nil},
		{"only reasoning", always(thinking), Pass, nil},
		{"control token shown", always(shown), Fail, []Sign{SignSpecial}},
		{"control token spelled by a base model", always(spelled), Pass, nil},
		{"no logprob for the end token", always(endUntold), Pass, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v, _ := talk{t: t, target: all(), level: Default, reply: c.reply}.run("first")
			check(t, v, c.want, c.signs...)
		})
	}
	for _, c := range []struct {
		name  string
		reply func(Ask) Answer
		want  Outcome
		signs []Sign
	}{
		{"healthy", healthy, Pass, nil},
		{"null logprobs", always(nanAnswer(0)), Fail, []Sign{SignNaN}},
		{"!!!!", always(repeated("!", 24, -0.0001)), Fail, []Sign{SignCollapse}},
		{"dies at the first sampled request", dies(Hot, failure(Reset)), Fail, []Sign{SignNaNSampled, SignDead}},
		{"plain is refused", on(Plain, status(400, "temperature must be in [0, 2], got 6.0.")), Fail, []Sign{SignPlainFails}},
	} {
		t.Run("quick/"+c.name, func(t *testing.T) {
			v, s := talk{t: t, target: all(), level: Quick, reply: c.reply}.run("first")
			check(t, v, c.want, c.signs...)
			if len(s.Rounds) > 3 {
				t.Errorf("%d requests", len(s.Rounds))
			}
		})
	}
}

// A server that only chats, or only continues text, is asked two prompts there.
func TestFirstOneKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Chat, Completion} {
		target := all()
		target.Has.Chat, target.Has.Completions = kind == Chat, kind == Completion
		prompts := map[string]bool{}
		v, _ := talk{t: t, target: target, level: Default, reply: func(a Ask) Answer {
			if a.Kind == Chat || a.Kind == Completion {
				if a.Kind != kind {
					t.Errorf("asked a %s", a.Kind)
				}
				if a.Sampling == Greedy {
					prompts[a.Prompt+fmt.Sprint(a.Messages)] = true
				}
			}
			return healthy(a)
		}}.run("first")
		check(t, v, Pass)
		if len(prompts) != 2 {
			t.Errorf("%d greedy prompts", len(prompts))
		}
	}
}

func TestDecided(t *testing.T) {
	t.Parallel()
	equal := answer("a b c d e f g h i j", -10.8)
	for i := range equal.Choices[0].Tokens {
		for j := range equal.Choices[0].Tokens[i].Top {
			equal.Choices[0].Tokens[i].Top[j].Logprob.Value = -10.8
		}
	}
	untold := answer("a b c", -1)
	untold.Choices[0].Told = false
	for _, c := range []struct {
		name  string
		a     Answer
		vocab int
		want  Outcome
		signs []Sign
	}{
		{"healthy", answer("a b c d e f g h i j", -0.7), 49152, Pass, nil},
		{"dummy weights", answer("a b c d e f g h i j", -10.7), 49152, CantTell, []Sign{SignFlat}},
		{"dummy weights, vocabulary unknown", func() Answer {
			a := answer("a b c d e f g h i j", -10.7)
			for i := range a.Choices[0].Tokens {
				a.Choices[0].Tokens[i].Top = a.Choices[0].Tokens[i].Top[:2]
			}
			return a
		}(), 0, CantTell, []Sign{SignFlat}},
		{"tiny random model", answer("a b c d e f g h i j", -5.1), 300, CantTell, []Sign{SignFlat}},
		{"untrained weights", answer("a b c d e f g h i j", -8.67), 49152, CantTell, []Sign{SignFlat}},
		{"undecided but trained", answer("a b c d e f g h i j", -4), 49152, Pass, nil},
		{"all logits equal", equal, 49152, Fail, []Sign{SignFlat}},
		{"nothing told", untold, 49152, CantTell, nil},
		{"NaN", nanAnswer(0), 49152, CantTell, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := all()
			target.Vocab = c.vocab
			v, _ := talk{t: t, target: target, level: Default, reply: func(Ask) Answer { return c.a }}.run("decided")
			check(t, v, c.want, c.signs...)
		})
	}
}

func TestStale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		expect Expected
		want   Outcome
	}{
		{"nothing said", Expected{}, CantTell},
		{"served name", Expected{Model: "smol"}, Pass},
		{"path", Expected{Model: "/elsewhere/smollm2-135m-instruct/"}, Pass},
		{"another model", Expected{Model: "smol2"}, Fail},
		{"version", Expected{Engine: "vLLM", Version: "v0.32.0"}, Pass},
		{"version in part", Expected{Version: "0.32"}, Pass},
		{"version that only begins alike", Expected{Version: "0.3"}, Fail},
		{"another version", Expected{Model: "smol", Version: "0.31.0"}, Fail},
		{"context", Expected{Context: 8192}, Pass},
		{"more context", Expected{Context: 16384}, CantTell}, // see the probe "context"
		{"more context, right model", Expected{Context: 16384, Model: "smol"}, Pass},
		{"started later", Expected{StartedAfter: 900}, Pass},
		{"started before", Expected{StartedAfter: 1100}, Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := all()
			target.Expected, target.Started = c.expect, 1000
			v, _ := talk{t: t, target: target, reply: healthy}.run("stale")
			if c.want == Fail {
				check(t, v, Fail, SignStale)
			} else {
				check(t, v, c.want)
			}
		})
	}
	target := all()
	target.Expected.StartedAfter = 5
	v, _ := talk{t: t, target: target, reply: healthy}.run("stale")
	check(t, v, CantTell)
}

func TestAlive(t *testing.T) {
	t.Parallel()
	counters := func(running, tokens float64) Answer {
		return Answer{Status: 200, Metrics: map[string]float64{"sglang:num_running_reqs": running, "sglang:generation_tokens_total": tokens}}
	}
	// ends answers health and counters as told, and requests for one token from the
	// last probe with the failures in turn.
	ends := func(health, metrics Answer, last ...Failure) func(Ask) Answer {
		n := 0
		return func(a Ask) Answer {
			switch {
			case a.Kind == Health:
				return health
			case a.Kind == Metrics:
				return metrics
			case a.Max == 1 && a.Kind == Completion:
				n++
				if f := last[min(n, len(last))-1]; f != None {
					return failure(f)
				}
			}
			return healthy(a)
		}
	}
	well := Answer{Status: 200}
	for _, c := range []struct {
		name  string
		reply func(Ask) Answer
		want  Outcome
		signs []Sign
	}{
		{"healthy", healthy, Pass, nil},
		{"gone", ends(failure(Refused), failure(Refused), Refused), Fail, []Sign{SignDead}},
		{"dead scheduler, good health", ends(well, counters(0, 9), TimedOut), Fail, []Sign{SignHang, SignHealthLies}},
		{"stuck", ends(well, counters(3, 9), TimedOut), Fail, []Sign{SignHang, SignHealthLies, SignCounters}},
		{"hangs, health tells", ends(status(503, ""), counters(0, 9), TimedOut), Fail, []Sign{SignHang}},
		{"slow once", ends(well, counters(1, 9), TimedOut, None), Pass, nil},
		{"restarted", ends(well, counters(0, 9), Refused, None), CantTell, nil},
		{"old gauge of an idle server", ends(well, counters(1, 9), None), Pass, nil},
		{"unwell but answers", ends(status(503, ""), counters(0, 9), None), CantTell, nil},
		{"error at the end", func(a Ask) Answer {
			if a.Max == 1 && a.Kind == Completion {
				return status(500, "EngineCore encountered an issue")
			}
			return healthy(a)
		}, Fail, []Sign{SignError, SignHealthLies}},
		{"busy at the end", func(a Ask) Answer {
			if a.Max == 1 && a.Kind == Completion {
				return status(429, "")
			}
			return healthy(a)
		}, CantTell, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, _ := talk{t: t, target: all(), level: Default, reply: c.reply}.run("alive")
			check(t, v, c.want, c.signs...)
		})
	}
}

// What other probes were answered is looked at in the end.
func TestSpoiled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a    Asked
		want Outcome
		sign []Sign
	}{
		{"NaN in a long decode", Asked{Ask{Kind: Completion}, nanAnswer(3)}, Fail, []Sign{SignNaNLater}},
		{"an error", Asked{Ask{Kind: Completion}, status(500, "boom")}, Fail, []Sign{SignError}},
		{"a client that left", Asked{Ask{Kind: Completion, Leave: 2}, failure(Reset)}, Pass, nil},
		{"tools without a parser", Asked{Ask{Kind: Chat, Tools: []Tool{{}}}, status(500, "no parser")}, Pass, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &State{Target: all(), Earlier: map[string][][]Asked{"decode": {{c.a}}}, Rounds: [][]Asked{{{Ask{Kind: Completion}, healthy(Ask{})}}}}
			check(t, aliveJudge(s), c.want, c.sign...)
		})
	}
}

// TestUntrue: answers that contradict themselves fail, and what servers do for good
// reasons does not.
func TestUntrue(t *testing.T) {
	t.Parallel()
	answer := func(text string, shift float64, words ...string) []Asked {
		c := Choice{Text: text, Told: true, Finish: "length"}
		for _, w := range words {
			c.Tokens = append(c.Tokens, Token{ID: -1, Text: w, Logprob: Logprob{Value: -0.5 + shift}, Top: []Ranked{{ID: -1, Text: w, Logprob: Logprob{Value: -0.5}}, {ID: -1, Text: "x", Logprob: Logprob{Value: -1}}}})
		}
		return []Asked{{Ask{Kind: Completion, Sampling: Greedy}, Answer{Status: 200, Choices: []Choice{c}}}}
	}
	words := []string{" one", " two", " three", " four", " five", " six", "<|end|>"}
	for _, tc := range []struct {
		name string
		all  []Asked
		want bool
	}{
		{"sound", answer("one two three four five six", 0, words...), false},
		{"no spaces", answer("onetwothreefourfivesix<|end|>", 0, words...), true},
		{"another order", answer("one three two four five six<|end|>", 0, words...), true},
		{"tokens without spaces", answer("one two three four five six", 0, "one", "two", "three", "four", "five", "six"), false},
		{"logprobs above 0", answer("one two three four five six", 3.5, words...), true},
		{"logprobs beside the list", answer("one two three four five six", -9000, words...), true},
	} {
		if v, ok := untrue(tc.all); ok != tc.want || ok && (v.Outcome != Fail || len(v.Evidence) == 0) {
			t.Errorf("%s: %v %+v", tc.name, ok, v)
		}
	}
}
