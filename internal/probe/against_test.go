package probe

import (
	"slices"
	"strings"
	"testing"
)

// both asks two servers what the probe "against" asks.
func both(t *testing.T, level Level, here, there *fake) (Verdict, Cost) {
	t.Helper()
	s := &State{Target: &Target{URL: "http://a", Has: here.has, Context: here.context}, Level: level, Other: &Other{Target: &Target{URL: "http://b", Has: there.has}}}
	p := againstProbes[0]
	calls := 0
	var sent Cost
	for asks := p.Next(s); len(asks) > 0; asks = p.Next(s) {
		s.Rounds = append(s.Rounds, here.send(&calls, asks))
		s.Other.Rounds = append(s.Other.Rounds, there.send(&calls, asks))
		for _, a := range asks {
			sent.Add(Cost{Requests: 1, AnswerTokens: a.Max, PromptTokens: a.size() / 3, Together: 1})
		}
	}
	if most := p.Most(level); sent.Requests > most.Requests || sent.AnswerTokens > most.AnswerTokens || sent.PromptTokens > most.PromptTokens {
		t.Errorf("sent %+v, announced %+v", sent, most)
	}
	return p.Judge(s), sent
}

func TestAgainst(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(here, there *fake)
		want   Outcome
		text   string
	}{
		{"the same model", func(*fake, *fake) {}, Pass, "of this server are those of the other one"},
		{"with rounding", func(here, there *fake) { here.noise, there.noise = 0.1, 0.05 }, Pass, ""},
		{"ids on one side", func(here, _ *fake) { here.has.IDs = true }, Pass, ""},
		{"ids on both sides", func(here, there *fake) { here.has.IDs, there.has.IDs = true, true }, Pass, ""},
		{"another model", func(here, _ *fake) { here.faulty = func(circumstance) bool { return true } }, Fail, "differ from those of the other one"},
		{"another model without logprobs", func(here, there *fake) {
			here.faulty = func(circumstance) bool { return true }
			here.has.Logprobs, there.has.Logprobs = false, false
		}, CantTell, "without logprobs"},
		{"the same without logprobs", func(here, there *fake) { here.has.Logprobs, here.noise, there.noise = false, 0, 0 }, Pass, "letter by letter"},
		{"no raw text", func(_, there *fake) { there.has.Completions = false }, CantTell, ""},
	} {
		for _, level := range []Level{Quick, Default} {
			here, there := newFake(), newFake()
			tc.change(here, there)
			v, _ := both(t, level, here, there)
			if v.Outcome != tc.want || !strings.Contains(v.Text, tc.text) {
				t.Errorf("%s, level %d: %s %s", tc.name, level, v.Outcome, v.Text)
			}
			if failed := v.Outcome == Fail; failed != slices.Contains(v.Signs, SignAgainst) || failed && len(v.Evidence) < 2 {
				t.Errorf("%s, level %d: signs %v, evidence %v", tc.name, level, v.Signs, v.Evidence)
			}
		}
	}
}

// TestAgainstNaN: numbers against none is a failure of the server without numbers.
func TestAgainstNaN(t *testing.T) {
	here, there := newFake(), newFake()
	s := &State{Target: &Target{Has: here.has}, Level: Quick, Other: &Other{Target: &Target{Has: there.has}}}
	calls := 0
	for range 2 {
		asks := againstNext(s)
		s.Rounds, s.Other.Rounds = append(s.Rounds, here.send(&calls, asks)), append(s.Other.Rounds, there.send(&calls, asks))
	}
	s.Rounds[0][0].Answer.Choices[0].Tokens[3].Logprob.Null = true
	if v := judgeAgainst(s); v.Outcome != Fail || !slices.Contains(v.Signs, SignNaN) || !strings.Contains(v.Text, "from token 4 on") {
		t.Errorf("%s %v %s", v.Outcome, v.Signs, v.Text)
	}
	s.Rounds, s.Other.Rounds = s.Other.Rounds, s.Rounds
	if v := judgeAgainst(s); v.Outcome != CantTell || len(v.Signs) > 0 {
		t.Errorf("%s %v %s", v.Outcome, v.Signs, v.Text)
	}
}

func TestAlikeKeys(t *testing.T) {
	list := alikeKeys([]Token{{ID: 3, Text: "Ġthe", Top: []Ranked{{ID: 3, Text: "▁the"}}}, {ID: 4, Text: "?", Bytes: []byte(" a")}}, false)
	if list[0].Text != " the" || list[0].Top[0].Text != " the" || list[0].ID != -1 || list[0].Top[0].ID != -1 || list[1].Text != " a" {
		t.Errorf("%+v", list)
	}
}
