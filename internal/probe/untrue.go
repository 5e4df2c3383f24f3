package probe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"shakedown/internal/finding"
)

// untrue finds answers that contradict themselves: logprobs that are no logarithms
// of a probability, or not those that the list of the likeliest gives for the same
// token, and a text that is not what its tokens say.
func untrue(all []Asked) (v Verdict, ok bool) {
	for i := range all {
		a := &all[i]
		if !a.Answer.OK() {
			continue
		}
		for _, c := range a.Answer.Choices {
			at, n := falseLogprobs(&c)
			if n >= 4 && 2*n >= len(c.Tokens) {
				return Verdict{
					Outcome: Fail, Signs: []Sign{SignError},
					Text:     fmt.Sprintf("%d of %d logprobs contradict themselves: above 0, or not what the list of the likeliest says of the same token", n, len(c.Tokens)),
					Evidence: []finding.Evidence{request(a.Answer, fmt.Sprintf("%q %s; likeliest: %s", c.Tokens[at].Text, c.Tokens[at].Logprob, told(c.Tokens[at])), a.Ask.Label)},
				}, true
			}
			if says, wrong := mangled(&c); wrong {
				return Verdict{
					Outcome: Fail, Signs: []Sign{SignStream},
					Text:     "the text of an answer is not what its tokens say: spaces are lost, or words stand in another order",
					Evidence: []finding.Evidence{request(a.Answer, c.Text, "the text"), request(a.Answer, says, "its tokens")},
				}, true
			}
		}
	}
	return v, false
}

// falseLogprobs counts the tokens whose own logprob cannot be true, and gives the
// last of them.
func falseLogprobs(c *Choice) (at, n int) {
	for i, t := range c.Tokens {
		if t.Logprob.Null {
			continue
		}
		listed, ok := listedAs(&t)
		if t.Logprob.Value > 0.01 || ok && math.Abs(listed-t.Logprob.Value) > 0.5 {
			at, n = i, n+1
		}
	}
	return at, n
}

// listedAs is the logprob of a token in its own list of the likeliest. Tokens that
// are told by their text alone can look alike: half characters, control tokens that
// are not shown. Only a text that stands for one token counts.
func listedAs(t *Token) (p float64, ok bool) {
	if t.ID < 0 && (t.Text == "" || strings.ContainsRune(t.Text, utf8.RuneError)) {
		return 0, false
	}
	for _, r := range t.Top {
		if key(r.ID, r.Text) != key(t.ID, t.Text) || r.Logprob.Null {
			continue
		}
		if ok {
			return 0, false
		}
		p, ok = r.Logprob.Value, true
	}
	return p, ok
}

// mangled says whether a text has lost the spaces of its tokens, or has the same
// words in another order. Other differences have good reasons: control tokens and
// stop texts are not shown, and vocabularies write a leading space in many ways.
func mangled(c *Choice) (says string, wrong bool) {
	says, ok := textOfTokens(c.Tokens)
	text := strings.Fields(c.Text)
	words := strings.Fields(says)
	if !ok || len(words) < 6 {
		return "", false
	}
	if len(text) == 1 && text[0] == strings.Join(words, "") {
		return says, true
	}
	return says, len(text) == len(words) && !slices.Equal(text, words) && slices.Equal(slices.Sorted(slices.Values(text)), slices.Sorted(slices.Values(words)))
}
