package probe

import (
	"fmt"
	"math"
	"strings"

	"shakedown/internal/finding"
)

var againstProbes = []Probe{{
	ID:     "against",
	Title:  "the other server gives the same distributions",
	Why:    "a fault of one engine, machine or checkpoint that agrees with itself shows beside a server that does not have it",
	Source: "public A/B tests of backends (facts of incidents): one variable changed, the same requests", From: Quick, Gentle: true, Needs: NeedsAgainst,
	Most: againstMost, Next: againstNext, Judge: judgeAgainst,
}}

// againstLength is how many tokens both servers decode.
const againstLength = 48

func againstMost(l Level) Cost {
	c := Cost{}
	for range 3 {
		c.Add(Cost{Requests: 1, PromptTokens: len(oraclePrompt), AnswerTokens: againstLength, Together: 1})
	}
	if l >= Default { // the answer goes back as a part of the prompt
		c.PromptTokens += 4 * againstLength
	}
	return c
}

// againstNext asks for the same greedy answer twice, which shows the noise of both
// servers, and then for the logprobs of the first server's answer as a prompt, so
// that servers which part at a near tie can be compared behind it.
func againstNext(s *State) []Ask {
	a, b := s.Target.Has, s.Other.Target.Has
	ask := s.complete("for both servers", oraclePrompt, againstLength)
	ask.NoCache, ask.IgnoreEOS = a.NoCache && b.NoCache, a.IgnoreEOS && b.IgnoreEOS
	if !a.Logprobs || !b.Logprobs {
		ask.Top = -1
	} else if b.Top > 0 {
		ask.Top = min(ask.Top, b.Top)
	}
	switch {
	case !a.Completions || !b.Completions || !s.Room(len(oraclePrompt), againstLength):
		return nil
	case len(s.Rounds) == 0:
	case len(s.Rounds) == 1:
		ask.Label += ", once more"
	case len(s.Rounds) == 2 && s.Level >= Default && a.Echo && b.Echo && ask.Top >= 0:
		answer, ok := textOfTokens(shown(s.tokens(0)))
		if !ok {
			return nil
		}
		ask.Label, ask.Prompt, ask.Max, ask.Echo = "one server's answer as a prompt for both", oraclePrompt+answer, 1, true
	default:
		return nil
	}
	return []Ask{ask}
}

// shown are the tokens as far as they can be sent again as text.
func shown(tokens []Token) []Token {
	for n := len(tokens); n > 0; n-- {
		if whole(tokens[:n]) {
			return tokens[:n]
		}
	}
	return nil
}

// alikeKeys gives the tokens of an answer keys that another engine's tokens have as
// well: ids only when both tell them, else texts without the marks that stand for
// spaces.
func alikeKeys(tokens []Token, ids bool) []Token {
	out := make([]Token, len(tokens))
	for i, t := range tokens {
		t.Text = plainText(t.Text, t.Bytes)
		if !ids {
			t.ID = -1
		}
		top := make([]Ranked, len(t.Top))
		for k, r := range t.Top {
			r.Text = plainText(r.Text, nil)
			if !ids {
				r.ID = -1
			}
			top[k] = r
		}
		t.Top = top
		out[i] = t
	}
	return out
}

var spaces = strings.NewReplacer("\u0120", " ", "\u2581", " ", "\u010a", "\n")

func plainText(text string, bytes []byte) string {
	if bytes != nil {
		return string(bytes)
	}
	return spaces.Replace(text)
}

// withIDs says whether all tokens have ids.
func withIDs(lists ...[]Token) bool {
	for _, list := range lists {
		for _, t := range list {
			if t.ID < 0 {
				return false
			}
		}
	}
	return true
}

// judgeAgainst holds the answers of both servers against each other.
func judgeAgainst(s *State) Verdict {
	if v, ok := s.unanswered(2); !ok {
		return v
	}
	o := &State{Target: s.Other.Target, Level: s.Level, Rounds: s.Other.Rounds}
	if v, ok := o.unanswered(2); !ok {
		v.Text = "the other server: " + v.Text
		return v
	}
	noise := Floor{Known: true, Diverged: -1}
	for _, x := range []*State{s, o} {
		for _, d := range along(x.tokens(0), x.tokens(1)) {
			noise.Greatest = max(noise.Greatest, d)
		}
	}
	a, b := s.Rounds[0][0], o.Rounds[0][0]
	list := []held{{want: b, got: a}}
	if len(s.Rounds) > 2 && len(o.Rounds) > 2 {
		x, y := s.Rounds[2][0], o.Rounds[2][0]
		if x.Answer.OK() && y.Answer.OK() && len(x.Answer.Prompt) > 1 && len(x.Answer.Prompt) == len(y.Answer.Prompt) {
			list = append(list, held{want: y.prompted(), got: x.prompted()})
		}
	}
	for i := range list {
		h := &list[i]
		ids := withIDs(tokensIn(&h.want.Answer), tokensIn(&h.got.Answer))
		h.want, h.got = h.want.withKeys(ids), h.got.withKeys(ids)
		if v, ok := oneSided(h); ok {
			return v
		}
	}
	v := same(list, noise, SignAgainst, "of this server", "of the other one")
	if n, m := a.Answer.PromptCount, b.Answer.PromptCount; n >= 0 && m >= 0 && n != m {
		v.Text += fmt.Sprintf("; the same prompt has %d tokens here and %d there", n, m)
	}
	if v.Outcome == Fail {
		v.Detail = "against " + s.Other.Target.URL
	}
	return v
}

// prompted is an answer whose tokens are those of its prompt, without the first one.
func (a Asked) prompted() Asked {
	a.Answer.Choices = []Choice{{Tokens: a.Answer.Prompt[1:], Told: true}}
	return a
}

// withKeys is an answer with tokens that can be compared with another engine's.
func (a Asked) withKeys(ids bool) Asked {
	if tokensIn(&a.Answer) == nil {
		return a
	}
	c := a.Answer.Choices[0]
	c.Tokens = alikeKeys(c.Tokens, ids)
	a.Answer.Choices = []Choice{c}
	return a
}

// oneSided is the verdict when one server has numbers and the other has not.
func oneSided(h *held) (Verdict, bool) {
	a, b := tokensIn(&h.got.Answer), tokensIn(&h.want.Answer)
	here, there := firstBad(a), firstBad(b)
	if (here < 0) == (there < 0) || len(a) == 0 || len(b) == 0 {
		return Verdict{}, false
	}
	at, bad, good, words := here, h.got, h.want, "this server"
	v := Verdict{Outcome: Fail, Signs: []Sign{SignAgainst, SignNaN}}
	if here < 0 {
		at, bad, good, words = there, h.want, h.got, "the other server"
		v.Outcome, v.Signs = CantTell, nil
	}
	v.Text = fmt.Sprintf("%s tells logprobs that are no numbers from token %d on, the other one tells numbers", words, at+1)
	if here < 0 {
		v.Text = fmt.Sprintf("the other server tells logprobs that are no numbers from token %d on: compare with a server that is sound", at+1)
	}
	v.Evidence = []finding.Evidence{
		request(bad.Answer, "logprob null", fmt.Sprintf("token %d", at+1)),
		request(good.Answer, told(tokensIn(&good.Answer)[min(at, len(tokensIn(&good.Answer))-1)]), "the same request to the other server"),
	}
	return v, true
}

// firstBad is the first token whose logprobs are no numbers; -1 for none.
func firstBad(tokens []Token) int {
	for i := range tokens {
		if tokens[i].bad() || math.IsNaN(tokens[i].Logprob.Value) {
			return i
		}
	}
	return -1
}
