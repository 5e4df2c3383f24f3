package probe

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

var oracleProbes = []Probe{{
	ID:    "oracle",
	Title: "the logprobs are those of the checkpoint, computed exactly",
	Why:   "arithmetic that is wrong in the same way in prefill and decode, alone and in a batch, agrees with itself: only another engine with the same weights can tell",
	// Each arithmetic of package numerics names its source; docs/faults.md has the
	// faults.
	Source: "docs/faults.md", From: Quick, Gentle: true, Needs: NeedsOracle,
	Most: oracleMost, Next: oracleNext, Compare: oracleTexts, Judge: judgeOracle,
}}

// oraclePrompt begins a text that any model has to go on with. Its first tokens
// are compared as well where the server tells the logprobs of a prompt.
const oraclePrompt = "The old lighthouse keeper climbed the stairs every evening, lit the lamp and wrote one line into his book: "

// oracleLong is what prompts of any length are cut from.
const oracleLong = "In the first week the ship sailed north, and the crew counted 14 birds, 3 whales and one small island with no name. " +
	"\"We should write this down,\" said the captain; nobody had a pen. On the second day it rained from 6 in the morning until noon, " +
	"so they mended the sails, played cards below deck and told each other stories about harbours in the south. "

// Lengths of the oracle's texts in tokens.
const (
	oracleAnswer = 64
	oracleTail   = 16 // of the answer to a long prompt
	oracleBeyond = 32 // how far a prompt goes beyond a limit of the model
	// oracleReach is the longest prompt that is computed twice without being asked
	// for: index_topk of the published models is 2048.
	oracleReach = 2048 + 2*oracleBeyond
	// oracleBlind is the length of the long prompt where no limit is known: beyond
	// the second page of a cache with pages of 64 tokens.
	oracleBlind = 160
	oracleFull  = 257 // sampled tokens of a thorough run: beyond a graph's or a page's end
)

func oracleMost(l Level) Cost {
	c := Cost{Requests: 1, PromptTokens: len(oraclePrompt), AnswerTokens: oracleAnswer, Together: 1}
	if l >= Default { // two prompts as ids, and the long one twice
		c.Add(Cost{Requests: 4, PromptTokens: 2 * oracleReach * 3 / 2, AnswerTokens: 2 * oracleTail, Together: 1})
	}
	if l >= Thorough {
		c.Add(Cost{Requests: 1, PromptTokens: len(oraclePrompt), AnswerTokens: oracleFull, Together: 1})
	}
	return c
}

// oracleNext asks for one text after the other. Where the server takes ids as a prompt
// and tells those of an answer, it is asked for the ids of the prompt first.
func oracleNext(s *State) []Ask {
	has := s.Target.Has
	if !has.Completions || !has.Logprobs {
		return nil
	}
	ask, ok := s.oracleAsk()
	if !ok || ask.Max < 1 {
		return nil
	}
	if s.takesIDs() {
		ids, known := s.tokenized(ask.Prompt)
		if !known {
			return []Ask{{Kind: Tokenize, Label: "its tokens, for the exact engine", Prompt: ask.Prompt}}
		}
		ask.Tokens = ids
	}
	return []Ask{ask}
}

// oracleAsk is the next text; ok is false when there is none.
func (s *State) oracleAsk() (ask Ask, ok bool) {
	has := s.Target.Has
	ask = Ask{
		Kind: Completion, Label: "greedy, for the exact engine", Prompt: oraclePrompt, Sampling: Greedy, Max: s.Afford(oracleAnswer),
		Top: min(max(has.Top, 1), 10), Echo: has.Echo, IgnoreEOS: has.IgnoreEOS,
	}
	switch n := len(s.completions()); {
	case n == 0:
	case n < 3 && s.Level >= Default && !s.Gentle:
		length := oracleLength(s)
		if length == 0 {
			return ask, false
		}
		ask.Label, ask.Max, ask.Prompt = fmt.Sprintf("about %d tokens, for the exact engine", length), oracleTail, longText(length, tokensPerByte(s))
		if n == 2 { // now its beginning is in the cache, where logprobs of the prompt are not told from
			ask.Label, ask.Echo = "the same out of the prefix cache, for the exact engine", false
		}
	case n == 3 && s.Level >= Thorough:
		ask.Label, ask.Sampling, ask.Max = "sampled, for the exact engine", Hot, oracleFull
		seed := 7
		ask.Seed = &seed
	default:
		return ask, false
	}
	if n := s.Target.Context; n > 0 { // as far as the context allows
		ask.Max = min(ask.Max, n-1-int(float64(len(ask.Prompt))*tokensPerByte(s)+1))
	}
	return ask, true
}

// tokensPerByte is what the server's own count of the first prompt says; before
// that a byte may be a token.
func tokensPerByte(s *State) float64 {
	for _, a := range s.completions() {
		if a.Answer.PromptCount > 0 {
			return float64(a.Answer.PromptCount) / float64(len(a.Ask.Prompt))
		}
	}
	return 1
}

// oracleLength is how long a prompt has to be to lie beyond the limits that are
// known of this model, 0 when none is within reach.
func oracleLength(s *State) int {
	t, length := s.Target, 0
	for _, limit := range []int{t.TopK, t.Window, t.Page, t.Chunk, t.Original} {
		if limit > 0 && limit+oracleBeyond <= oracleReach {
			length = max(length, limit+oracleBeyond)
		}
	}
	length = max(length, oracleBlind)
	if t.Context > 0 {
		length = min(length, t.Context-oracleTail-1)
	}
	if length < oracleBeyond {
		return 0
	}
	return length
}

// longText is a text of about so many tokens.
func longText(tokens int, perByte float64) string {
	n := int(float64(tokens) / perByte)
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(oracleLong)
	}
	return b.String()[:n]
}

// oracleTexts are the answers that told logprobs.
func oracleTexts(s *State) []Text {
	var list []Text
	for i, a := range s.completions() {
		if !a.Answer.OK() || len(a.Answer.Choices) == 0 || !a.Answer.Choices[0].Told {
			continue
		}
		t := Text{
			Prompt: a.Ask.Prompt, IDs: a.Ask.Tokens, Echoed: a.Answer.Prompt, Answer: a.Answer.Choices[0].Tokens, Said: a.Answer.Choices[0].Text,
			Count: a.Answer.PromptCount, Asked: a.Answer.Exchange,
			Cached: i == 2 && s.Level >= Default && a.Answer.Cached != 0,
		}
		if len(t.told()) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// judgeOracle names the arithmetic that the server computes with.
func judgeOracle(s *State) Verdict {
	texts := oracleTexts(s)
	switch {
	case !s.Target.Has.Completions:
		return cantCompare("the server has no raw completions, and the tokens of a chat are its own affair")
	case !s.Target.Has.Logprobs:
		return cantCompare("the server tells no logprobs")
	case len(texts) == 0:
		return cantCompare("no answer came with logprobs: " + firstError(s))
	case s.Reference == nil:
		return cantCompare("nothing was computed")
	case s.Reference.Missing != "":
		return cantCompare(s.Reference.Missing)
	}
	f := compareAll(texts, s.Reference, false)
	v := Verdict{Threshold: f.threshold()}
	count := 0
	if len(f.all) > 0 {
		count = len(f.all[0].gaps)
	}
	if count < enough {
		v.Outcome, v.Text = CantTell, fmt.Sprintf("only %d tokens could be compared, %d are needed", count, enough)
		return v
	}
	if len(f.nearest(true)) == 0 {
		v.Outcome, v.Signs = Fail, []Sign{SignOracle, SignNaN}
		v.Text = "the exact engine gives NaN for this checkpoint itself: shakedown inspect " + s.Reference.Dir
		v.Suspects = []Suspect{{Class: "checkpoint-incomplete", Confidence: finding.Likely, Title: "the checkpoint holds numbers that are none", Why: "every arithmetic gives NaN for it, the exact one too"}}
		return v
	}
	fitting := f.faults()
	if best := f.sound(); best != nil && len(fitting) == 0 {
		v.Outcome = Pass
		v.Text = fmt.Sprintf("the server's logprobs are those of %s within %.3f, over %d tokens", best.Name, best.row, count)
		if best.Coarse {
			v.Text += ": its KV cache has eight bits"
		}
		v.outOfCache(s, texts, best)
		return v
	}
	v.blame(texts, &f, f.plain(), fitting)
	return v
}

// outOfCache holds the answers whose beginning came from the prefix cache against the
// arithmetic that the server has otherwise.
func (v *Verdict) outOfCache(s *State, texts []Text, best *fitted) {
	f := compareAll(texts, s.Reference, true)
	for _, x := range f.all {
		if x.Name != best.Name || len(x.gaps) < enough || x.nan == 0 && x.within(f.bound()) {
			continue
		}
		part := parts(&x, f.bound().row)
		v.Outcome, v.Signs, v.Threshold = Fail, []Sign{SignPrefix}, f.threshold()
		v.Text = fmt.Sprintf("%s; but out of the prefix cache they differ by %.2f from %s", v.Text, part.d, place(&texts[part.text], part.at))
		v.Evidence = quote(texts, &x, part)
		return
	}
}

// blame says where the server leaves the nearest sound arithmetic, and which fault
// it computes with instead.
func (v *Verdict) blame(texts []Text, f *fits, best *fitted, fitting []fitted) {
	part := parts(best, f.bound().row)
	v.Evidence = quote(texts, best, part)
	v.Signs = []Sign{SignOracle}
	apart := fmt.Sprintf("%s differs by %.2f", best.Name, part.d)
	if part.nan {
		apart = best.Name + " has no NaN"
		if texts[part.text].told()[part.at].bad() {
			v.Signs = append(v.Signs, SignNaN)
		} else {
			apart = best.Name + " has NaN"
		}
	}
	apart += " from " + place(&texts[part.text], part.at)
	for i, x := range fitting {
		suspect := Suspect{
			Class: x.Cause, Confidence: finding.Proven, Title: x.Fault,
			Why: fmt.Sprintf("%s gives the server's logprobs within %.3f; %s", x.Name, x.row, apart),
		}
		if len(fitting) > 1 {
			suspect.Confidence = finding.Likely
		}
		if i > 0 {
			suspect.Confidence = finding.Possible
		}
		v.Suspects = append(v.Suspects, suspect)
	}
	v.Outcome = Fail
	switch {
	case len(fitting) > 0:
		x := fitting[0]
		v.Text = fmt.Sprintf("the server's logprobs are those of %s within %.3f, which plays: %s; %s", x.Name, x.row, x.Fault, apart)
		for i, y := range fitting[1:] {
			v.Text += []string{"; as well possible: ", ", "}[min(i, 1)] + y.Fault
		}
	case best.nan == 0 && f.bound().row >= most:
		v.Outcome, v.Signs = CantTell, nil
		v.Text = fmt.Sprintf("sound arithmetics differ by %.2f among themselves for this model, too much to judge by; %s", f.noise.row, apart)
	default:
		v.Text = fmt.Sprintf("the server's logprobs are not those of the checkpoint: %s; %d arithmetics of known faults do not fit either", apart, len(f.nearest(false)))
		if x := f.hint(best); x != nil {
			v.Text += fmt.Sprintf(", the nearest is %s, which differs by %.2f where %s does by %.2f", x.Name, x.row, best.Name, best.row)
			v.Suspects = []Suspect{{Class: x.Cause, Confidence: finding.Possible, Title: x.Fault, Why: "of all arithmetics its numbers are nearest to the server's, and not near enough"}}
		}
	}
}

// parts is the first token that is farther off than the bound, or the one with
// NaN before it.
func parts(x *fitted, bound float64) gap {
	for _, g := range x.gaps {
		if g.nan || g.d > bound {
			return g
		}
	}
	return slices.MaxFunc(x.gaps, func(a, b gap) int { return int(1e6 * (a.d - b.d)) })
}

// place names a token of a text, counting from 0 as the exact engine does.
func place(t *Text, at int) string {
	if at < len(t.Echoed) {
		return fmt.Sprintf("token %d of the prompt (request %d) on", at, t.Asked)
	}
	return fmt.Sprintf("token %d of the answer (request %d) on", at-len(t.Echoed), t.Asked)
}

// quote shows what the server told and what the arithmetic says.
func quote(texts []Text, x *fitted, g gap) []finding.Evidence {
	t := texts[g.text].told()[g.at]
	row := &x.Rows[g.text][g.at]
	var said, says []string
	for i, r := range t.Top[:min(len(t.Top), 3)] {
		said = append(said, fmt.Sprintf("%q %s", r.Text, r.Logprob))
		if !row.Unknown[i] {
			says = append(says, fmt.Sprintf("%q %.3f", r.Text, row.Told[i]))
		}
	}
	if len(said) == 0 {
		said, says = []string{fmt.Sprintf("%q %s", t.Text, t.Logprob)}, []string{fmt.Sprintf("%q %.3f", t.Text, row.Own)}
	}
	return []finding.Evidence{{
		Kind: "request", Line: texts[g.text].Asked, Text: strings.Join(said, ", "),
		Note: fmt.Sprintf("%s; %s says %s", strings.TrimSuffix(place(&texts[g.text], g.at), " on"), x.Name, strings.Join(says, ", ")),
	}}
}

// cantCompare is the verdict without a comparison.
func cantCompare(why string) Verdict {
	return Verdict{Outcome: CantTell, Text: "nothing to compare with the exact engine: " + why}
}

// firstError is how the first request failed.
func firstError(s *State) string {
	for _, a := range s.answers() {
		if !a.Answer.OK() {
			return fmt.Sprintf("%s %s", a.Answer.Failure, clip(a.Answer.Error, 200))
		}
	}
	return "none was told"
}
