package probe

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// knows answers the questions: right ones get their word with the probability
// right, others a wrong word with the probability wrong.
func knows(right, wrong float64, sorts ...sort) func(Ask) Answer {
	return func(a Ask) Answer {
		if a.Kind != Completion && a.Kind != Chat {
			return healthy(a)
		}
		for _, q := range questions {
			if a.Prompt == q.text || len(a.Messages) > 0 && a.Messages[0].Content == q.chat && q.chat != "" {
				got := answer("zebra qu", math.Log(wrong))
				if slices.Contains(sorts, q.sort) {
					got = answer(q.wants(a.Kind)+" and", math.Log(right))
				}
				got.PromptCount = (a.size() + 3) / 4
				return got
			}
		}
		return healthy(a)
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	everything := []sort{fact, series, copied}
	change := func(f func(Ask) Answer, g func(*Answer)) func(Ask) Answer {
		return func(a Ask) Answer {
			got := f(a)
			if len(got.Choices) > 0 {
				g(&got)
			}
			return got
		}
	}
	untold := func(a *Answer) { a.Choices[0].Told, a.Choices[0].Tokens = false, nil }
	// near puts a right word among the likeliest of a wrong answer.
	near := func(a Ask) Answer {
		got := knows(0.5, 0.5)(a)
		if strings.HasPrefix(a.Prompt, "The cook") {
			got.Choices[0].Tokens[0].Top[3] = Ranked{ID: -1, Text: " lem", Logprob: Logprob{Value: math.Log(0.04)}}
		}
		return got
	}
	named := func(name string) *Target { x := all(); x.Model = name; return x }
	only := func(chat bool) *Target {
		x := all()
		x.Has.Chat, x.Has.Completions = chat, !chat
		return x
	}
	small := all()
	small.Vocab = 64
	unknown := all()
	unknown.Vocab = 0
	for _, c := range []struct {
		name   string
		target *Target
		level  Level
		reply  func(Ask) Answer
		want   Outcome
	}{
		{"sound", all(), Default, knows(0.8, 0.1, everything...), Pass},
		{"sound, quick", all(), Quick, knows(0.8, 0.1, everything...), Pass},
		{"sound, without logprobs", all(), Default, change(knows(0.8, 0.1, everything...), untold), Pass},
		{"sound, chat only", only(true), Default, knows(0.8, 0.1, everything...), Pass},
		{"sure of itself and wrong", all(), Default, knows(0, 0.6), Fail},
		{"sure and wrong, vocabulary unknown", unknown, Default, knows(0, 0.6), Fail},
		{"sure and wrong, chat only", only(true), Default, knows(0, 0.6), Fail},
		{"sure and wrong, without logprobs", all(), Default, change(knows(0, 0.6), untold), CantTell},
		{"sure and wrong, a vocabulary of letters", small, Default, knows(0, 0.6), CantTell},
		{"sure and wrong, a token per letter", unknown, Default, change(knows(0, 0.6), func(a *Answer) { a.PromptCount *= 4 }), CantTell},
		{"sure and wrong, by its name", named("tiny-random-llama"), Default, knows(0, 0.6), CantTell},
		{"undecided: untrained", all(), Default, knows(0, 0.003), CantTell},
		{"knows words, not their order", all(), Default, knows(0.73, 0.1, fact), Fail},
		{"knows words hardly", all(), Default, knows(0.2, 0.1, fact), CantTell},
		{"knows words and series, does not copy", all(), Default, knows(0.7, 0.1, fact, series), Fail},
		{"quick asks too little to fail", all(), Quick, knows(0.73, 0.1, fact), CantTell},
		{"copies and knows nothing: a model for something else", all(), Default, knows(0.6, 0.3, copied), CantTell},
		{"wrong, but one right word is near", all(), Default, near, CantTell},
		{"NaN", all(), Default, func(Ask) Answer { return nanAnswer(0) }, CantTell},
		{"nothing answered", all(), Default, func(Ask) Answer { return failure(TimedOut) }, CantTell},
		{"repeats the last word", all(), Default, func(a Ask) Answer {
			got := knows(0, 0.6)(a)
			if words := strings.Fields(a.Prompt); len(words) > 0 {
				got.Choices[0].Text = " " + words[len(words)-1]
			}
			return got
		}, CantTell},
		{"a chat that takes up the question", only(true), Default, change(knows(0, 0.6), func(a *Answer) {
			a.Choices[0].Reasoning = "The user wants the capital; Monday; repeat; opposite; answer; count;"
		}), CantTell},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, _ := talk{t: t, target: c.target, level: c.level, reply: c.reply}.run("known")
			if c.want == Fail {
				check(t, v, Fail, SignNonsense)
			} else {
				check(t, v, c.want)
			}
		})
	}
}

// Tokens that hold a part of a word, or a word with its blank, are read as that word.
func TestKnownReads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, text  string
		top         string
		right, near bool
	}{
		{"Friday", " Friday, Saturday", " Fri", true, true},
		{"Friday", "\n\"friday\"", "x", true, true},
		{"Friday", " Sunday", " Fr", false, true},
		{"l", " l m", " l", true, true},
		{"l", " m", "L", false, true},
		{"l", "", " ", false, false},
		{"lemon", " lemonade is", "", true, true},
	} {
		a := answer(c.text, -1)
		a.Choices[0].Tokens[0].Top = []Ranked{{ID: -1, Text: c.top, Logprob: Logprob{Value: -2}}}
		a.Choices[0].Tokens[0].Text = "?"
		r := question{copied, "", "", c.want}.read(Completion, &a)
		if r.right != c.right || r.near != c.near {
			t.Errorf("%q to %q: right %v, near %v", c.text, c.want, r.right, r.near)
		}
	}
}

// TestKnownNaN: logprobs that are null are told, and are no numbers.
func TestKnownNaN(t *testing.T) {
	t.Parallel()
	null := slices.Repeat([]Token{{ID: 30, Text: ".", Logprob: Logprob{Null: true}}}, 8)
	v, _ := talk{t: t, target: all(), level: Default, reply: func(Ask) Answer {
		return Answer{Status: 200, Choices: []Choice{{Text: "........", Told: true, Tokens: null}}}
	}}.run("known")
	check(t, v, CantTell)
	if v.Text != noNumbers {
		t.Errorf("%q", v.Text)
	}
}
