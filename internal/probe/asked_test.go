package probe

import (
	"slices"
	"strings"
	"testing"
)

// all is a server with every feature.
func all() *Target {
	return &Target{
		URL: "http://h", Engine: "vllm", Version: "0.32.0+cpu", Model: "smol", Root: "/models/SmolLM2-135M-Instruct", Context: 8192, Vocab: 49152,
		Has: Features{Chat: true, Completions: true, Tokenize: true, Logprobs: true, Top: 5, IgnoreEOS: true, Health: true, Metrics: true, Tools: true, Schema: true, Seed: true},
	}
}

// answer is a whole answer whose tokens are the words of a text, each with the
// same logprob and four less likely ones beside it.
func answer(text string, logprob float64) Answer {
	words := strings.SplitAfter(text, " ")
	c := Choice{Text: text, Finish: "length", Told: true}
	for _, w := range words {
		t := Token{ID: -1, Text: w, Logprob: Logprob{Value: logprob}, Top: []Ranked{{ID: -1, Text: w, Logprob: Logprob{Value: logprob}}}}
		for i, other := range []string{" a", " b", " c", " d"} {
			t.Top = append(t.Top, Ranked{ID: -1, Text: other, Logprob: Logprob{Value: logprob - 0.3*float64(i+1)}})
		}
		c.Tokens = append(c.Tokens, t)
	}
	return Answer{Choices: []Choice{c}, PromptCount: 5, AnswerCount: len(words), Cached: -1, Status: 200}
}

// repeated is one token n times.
func repeated(token string, n int, logprob float64) Answer {
	a := answer(token, logprob)
	c := &a.Choices[0]
	c.Tokens = slices.Repeat(c.Tokens, n)
	c.Text, a.AnswerCount = strings.Repeat(token, n), n
	return a
}

func status(code int, words string) Answer {
	return Answer{Failure: Status, Status: code, Error: words, PromptCount: -1, AnswerCount: -1, Cached: -1}
}

func failure(f Failure) Answer {
	return Answer{Failure: f, PromptCount: -1, AnswerCount: -1, Cached: -1}
}

// talk plays a server: every ask is answered by reply, one probe after the other
// as the battery has them, up to the one that is named.
type talk struct {
	t      *testing.T
	target *Target
	level  Level
	reply  func(Ask) Answer
}

// run is the verdict of a probe, after those that come before it.
func (k talk) run(id string) (Verdict, *State) {
	k.t.Helper()
	earlier := map[string][][]Asked{}
	number := 0
	for _, p := range slices.Concat(signatureProbes, knownProbes, chatProbes, limitProbes, endProbes) {
		s := &State{Target: k.target, Level: k.level, Earlier: earlier}
		var sent Cost
		for {
			asks := p.Next(s)
			if len(asks) == 0 {
				break
			}
			var round []Asked
			for _, a := range asks {
				number++
				got := k.reply(a)
				got.Exchange = number
				round = append(round, Asked{a, got})
				tokens := got.PromptCount
				if tokens < 0 || a.Kind != Completion && a.Kind != Chat {
					tokens = a.size() / 4
				}
				sent.Add(Cost{Requests: 1, PromptTokens: tokens, AnswerTokens: a.Max * max(1, a.N), Together: len(asks)})
			}
			s.Rounds = append(s.Rounds, round)
			if len(s.Rounds) > 400 {
				k.t.Fatalf("%s asks without end", p.ID)
			}
		}
		if most := p.Most(k.level); sent.Requests > most.Requests || sent.PromptTokens > most.PromptTokens || sent.AnswerTokens > most.AnswerTokens || sent.Together > most.Together {
			k.t.Errorf("%s sent %+v, announced %+v", p.ID, sent, most)
		}
		v := p.Judge(s)
		if v.Text == "" {
			k.t.Errorf("%s: a verdict without words: %+v", p.ID, v)
		}
		if v.Outcome == Fail && (len(v.Evidence) == 0 || len(v.Signs) == 0) {
			k.t.Errorf("%s fails without evidence or sign: %s", p.ID, v.Text)
		}
		if p.ID == id {
			return v, s
		}
		earlier[p.ID] = s.Rounds
	}
	k.t.Fatalf("no probe %s", id)
	return Verdict{}, nil
}

func (a *Ask) size() int {
	n := len(a.Prompt) + 4*len(a.Tokens)
	for _, m := range a.Messages {
		n += len(m.Content)
	}
	return n
}

// check holds a verdict against what it should be.
func check(t *testing.T, v Verdict, want Outcome, signs ...Sign) {
	t.Helper()
	if v.Outcome != want {
		t.Errorf("%s: %s, want %s", v.Outcome, v.Text, want)
	}
	if len(signs) != len(v.Signs) || !slices.Equal(signs, v.Signs) {
		t.Errorf("signs %v, want %v (%s)", v.Signs, signs, v.Text)
	}
}
