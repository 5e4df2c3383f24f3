package probe

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// The probes of this file hold a server against itself: they need no knowledge of
// the model. Distances are total variation distances of next-token distributions
// (compare.go), divided by the spread of the model's own distributions from one
// position to the next, so that a bound means the same for a sure model and an
// undecided one: 0 is equal, 1 as far apart as two positions of a text.
const (
	// agree bounds what rounding does. Measured on healthy servers in docs/probes.md:
	// between prefill and decode of 16-bit models 0.01 to 0.1, with 8-bit KV caches
	// up to 0.2.
	agree = 0.25
	// differ is a distance at one position that no rounding makes.
	differ = 0.5
	// lone is the same where there is no other position to compare.
	lone = 0.75
	// aboveNoise is how many times the server's own noise a distance must be.
	aboveNoise = 4
	// leastSpread is the spread below which nothing can be seen: every text of the
	// model looks like every other.
	leastSpread = 0.02
)

// passage is the text that most probes continue: plain prose, which a model goes
// on with for hundreds of tokens.
const passage = "The lighthouse keeper climbed the stairs every evening before dark. He carried oil, a cloth and a small brass bell. " +
	"On the night of the great storm he heard something that he had never heard before:"

var consistencyProbes = []Probe{
	{
		ID: "repeat", Title: "the same request gives the same answer", From: Default, Gentle: true,
		Why:    "Repeats show the noise of the server itself, from which all other bounds are taken; a race or memory that nobody wrote shows as noise far beyond rounding. The answers have different lengths, so that they end at and behind the sizes for which graphs are captured.",
		Source: "FlashInfer 2716, 3398 (results that change with timing and batch)",
		Most: func(l Level) Cost {
			return costOf(repeatLengths(l), len(passage))
		},
		Next: repeatNext, Judge: repeatJudge,
	},
	{
		ID: "decode", Title: "what was decoded is what a prefill of the same tokens says", From: Quick, Gentle: true, Essential: true, Spared: true,
		Why:    "Decode and prefill run different kernels and one of them reads the KV cache. A wrong cache layout, stale page, wrong position or broken decode kernel makes them disagree, whatever the model.",
		Source: "SGLang 24198; facts of DSA models whose 656-byte records were read as 576",
		Most: func(l Level) Cost {
			if l == Quick { // of what the probe "first" decoded
				return Cost{Requests: 1, PromptTokens: len(capitalText) + 2*firstLength, AnswerTokens: 1, Together: 1}
			}
			n := decodeLength(l)
			cuts := decodeCuts(l, n)
			c := Cost{Requests: 2 + len(cuts), PromptTokens: len(passage) * (1 + len(cuts)), AnswerTokens: n + len(cuts), Together: 1}
			for _, k := range cuts {
				c.PromptTokens += 2 * k // a token may come back as two when it is sent as text
			}
			return c
		},
		Next: decodeNext, Judge: decodeJudge,
	},
	{
		ID: "prefix", Title: "a prompt from the prefix cache gives the same answer", From: Default, Gentle: true, Essential: true,
		Why:    "A cached prefix is read in another layout, page by page, and by another kernel than a whole prompt.",
		Source: "SGLang 24198 (FP8 KV and radix hit without scales); vLLM reports of first turn right, second wrong",
		Most: func(Level) Cost {
			return Cost{Requests: 6, PromptTokens: 6 * (len(longPassage) + len(otherEnd)), AnswerTokens: 6 * prefixLength, Together: 1}
		},
		Next: prefixNext, Judge: prefixJudge,
	},
	{
		ID: "evict", Title: "a prompt gives the same answer when its cache was given to others", From: Thorough,
		Why:    "Pages of the KV cache are used again; what is left of the old text must not be read.",
		Source: "SGLang 24198; docs/faults.md (stale page of the KV cache)",
		Most: func(Level) Cost {
			n := mostPool/evictPrompt + 1
			texts := 2 * len(strings.Join(evictTexts, ""))
			return Cost{Requests: n + 2*len(evictTexts), PromptTokens: texts + n*evictPrompt*bytesPerWord, AnswerTokens: 2*len(evictTexts)*prefixLength + n, Together: 1}
		},
		Next: evictNext, Judge: evictJudge,
	},
	{
		ID: "batch", Title: "answers are the same alone and among others", From: Default,
		Why:    "Batched decode uses other graphs, tiles and reductions, and rows of a batch can be mixed up.",
		Source: "FlashInfer 2716 (PDL race, only with concurrency), 3398 (zeros that depend on the batch size)",
		Most: func(l Level) Cost {
			c := costOf(slices.Repeat([]int{batchLength}, len(batchPrompts)), batchBytes)
			for _, n := range batchSizes(l) {
				c.Add(Cost{Requests: n, PromptTokens: n * batchBytes, AnswerTokens: n * batchLength, Together: n})
			}
			return c
		},
		Essential: true,
		Next:      batchNext, Judge: batchJudge,
	},
	{
		ID: "cancel", Title: "a client that leaves disturbs nobody", From: Default,
		Why:    "Pages of a cancelled request are given to others, sometimes while it still writes to them.",
		Source: "reports of KVTransferError and mixed answers after an abort (incidents of SGLang and vLLM)",
		Most: func(Level) Cost {
			n := len(batchPrompts) + 1
			return Cost{Requests: n, PromptTokens: n * batchBytes, AnswerTokens: len(batchPrompts)*batchLength + cancelLength, Together: n}
		},
		Next: cancelNext, Judge: cancelJudge,
	},
}

// costOf is a request per length, one at a time.
func costOf(lengths []int, bytes int) Cost {
	c := Cost{Together: 1}
	for _, n := range lengths {
		c.Requests++
		c.PromptTokens += bytes
		c.AnswerTokens += n
	}
	return c
}

// complete continues a text with all that the server tells about each token.
func (s *State) complete(label, prompt string, max int) Ask {
	return Ask{Kind: Completion, Label: label, Prompt: prompt, Sampling: Greedy, Max: max, Top: s.top(), IgnoreEOS: s.Target.Has.IgnoreEOS}
}

// top is how many of the likeliest tokens to ask for.
func (s *State) top() int {
	if !s.Target.Has.Logprobs {
		return -1
	}
	if n := s.Target.Has.Top; n > 0 {
		return min(n, 20)
	}
	return 5
}

// repeatLengths: the longest first, since the others are held against it.
func repeatLengths(l Level) []int {
	return map[Level][]int{Default: {33, 1, 2, 17}, Thorough: {129, 1, 2, 3, 8, 9, 16, 17, 32, 33, 64, 65}}[l]
}

func repeatNext(s *State) []Ask {
	lengths := repeatLengths(s.Level)
	n := len(s.Rounds)
	if n >= len(lengths) || !s.Target.Has.Completions || n > 0 && len(s.tokens(0)) == 0 {
		return nil
	}
	max := s.Afford(lengths[n])
	a := s.complete(fmt.Sprintf("greedy, %d tokens", max), passage, max)
	a.NoCache = s.Target.Has.NoCache
	return []Ask{a}
}

// tokens are those of the first choice of a round's first answer; nil when there
// is none.
func (s *State) tokens(round int) []Token {
	if round >= len(s.Rounds) {
		return nil
	}
	return tokensIn(&s.Rounds[round][0].Answer)
}

func tokensIn(a *Answer) []Token {
	if !a.OK() || len(a.Choices) == 0 {
		return nil
	}
	return a.Choices[0].Tokens
}

func repeatJudge(s *State) Verdict {
	if v, ok := s.unanswered(2); !ok {
		return v
	}
	first := s.tokens(0)
	scale := spread(first)
	f := Floor{Known: true, Diverged: -1}
	var all []float64
	v := Verdict{Outcome: Pass}
	worst, repeats := 0, 0
	for i := 1; i < len(s.Rounds); i++ {
		other := s.tokens(i)
		if other == nil {
			continue
		}
		d := along(first, other)
		all = append(all, d...)
		if at := parting(first, other); at >= 0 && (f.Diverged < 0 || at < f.Diverged) {
			f.Diverged = at
		}
		repeats++
		if len(d) > 0 && slices.Max(d) >= f.Greatest {
			f.Greatest, worst = slices.Max(d), i
		}
	}
	if len(all) == 0 {
		return incomparable(first, "the answers hold no logprobs that could be compared", "a server that tells logprobs")
	}
	v.Threshold = fmt.Sprintf("total variation of the next-token distributions at %d positions; beyond %.2f of the model's own spread (%.3f) no rounding reaches", len(all), differ, scale)
	v.Floor = f
	switch {
	case scale < leastSpread:
		v.Text = fmt.Sprintf("%d repeats agree within %.4f (the model says nearly the same everywhere)", repeats, f.Greatest)
	case often(beyond(all, scale, 0), len(all)) || median(all) > agree*scale:
		v.Outcome, v.Signs = Fail, []Sign{SignRepeat}
		v.Text = fmt.Sprintf("the same greedy request gives other distributions each time: up to %.2f apart, %d of %d positions beyond rounding", f.Greatest, beyond(all, scale, 0), len(all))
		if s.laterAgree(scale) {
			v.Signs = []Sign{SignPrefix}
			v.Text = fmt.Sprintf("the first answer to a request differs from those to its repeats, which agree with each other: %d of %d positions beyond rounding, up to %.2f apart, as when the prefix cache is read wrongly", beyond(all, scale, 0), len(all), f.Greatest)
		}
		v.Evidence = []finding.Evidence{request(s.Rounds[0][0].Answer, textOf(&s.Rounds[0][0].Answer), "first"), request(s.Rounds[worst][0].Answer, textOf(&s.Rounds[worst][0].Answer), "the same again")}
		v.Floor = Floor{}
	default:
		v.Text = fmt.Sprintf("%d repeats of different lengths agree: noise %.4f at most", repeats, f.Greatest)
		if f.Diverged >= 0 {
			v.Text += fmt.Sprintf("; a near tie falls differently at token %d", f.Diverged+1)
		}
	}
	return v
}

// laterAgree says whether the repeats that may have come from the prefix cache
// agree with each other.
func (s *State) laterAgree(scale float64) bool {
	if s.Target.Has.NoCache || len(s.Rounds) < 3 {
		return false
	}
	var all []float64
	for i := 2; i < len(s.Rounds); i++ {
		all = append(all, along(s.tokens(1), s.tokens(i))...)
	}
	return len(all) > 0 && beyond(all, scale, 0) == 0
}

// often says whether so many positions beyond rounding are more than the rare
// flip that a router of experts may make at a tie.
func often(n, of int) bool { return n >= 2 && n*20 >= of || n > 0 && n == of }

// beyond counts the distances that neither rounding nor noise makes.
func beyond(all []float64, scale, noise float64) int {
	n := 0
	for _, d := range all {
		if d > max(differ*scale, aboveNoise*noise) {
			n++
		}
	}
	return n
}

// textOf is what an answer said, or why it said nothing.
func textOf(a *Answer) string {
	if !a.OK() || len(a.Choices) == 0 {
		return a.Error
	}
	return a.Choices[0].Text
}

// cantTell is an open question: why it is open, what would decide it ("" for
// nothing), and what was seen.
func cantTell(why, decide string, seen ...finding.Evidence) Verdict {
	v := Verdict{Outcome: CantTell, Text: why, Evidence: seen}
	if decide != "" {
		v.Text += "; what would tell: " + decide
	}
	return v
}

// unanswered is the verdict when fewer than the needed answers came; ok is true
// when enough did. Failures of the server itself are judged by the probe "alive"
// and the signatures; here they only leave a question open.
func (s *State) unanswered(need int) (v Verdict, ok bool) {
	if !s.Target.Has.Completions {
		return cantTell("the server continues no raw text (no /v1/completions)", ""), false
	}
	good, sent := 0, 0
	var last *Asked
	unsent := ""
	for _, a := range s.answers() {
		switch {
		case a.Answer.OK():
			good++
			sent++
		case a.Answer.Failure == NotSent:
			unsent = a.Answer.Error
		default:
			sent++
			last = &a
		}
	}
	all := len(s.answers())
	switch {
	case good >= need:
		return v, true
	case all == 0:
		return cantTell("not asked", ""), false
	case unsent != "":
		return cantTell(fmt.Sprintf("%d of %d requests were sent: %s", sent, all, unsent), ""), false
	case last == nil:
		return cantTell("the answer holds no logprobs that could be compared", "a server that tells logprobs"), false
	}
	v = cantTell(fmt.Sprintf("%d of %d requests came to nothing: %s", sent-good, sent, failed(&last.Answer)), "")
	if last.Answer.Exchange > 0 {
		v.Evidence = []finding.Evidence{request(last.Answer, last.Answer.Error, "")}
	}
	return v, false
}

// failed says in words how a request came to nothing.
func failed(a *Answer) string {
	switch {
	case a.Failure == Status:
		return fmt.Sprintf("HTTP %d %s", a.Status, clip(a.Error, 120))
	case a.Error != "":
		return string(a.Failure) + ": " + clip(a.Error, 120)
	}
	return string(a.Failure)
}

// Decoding and prefill.

func decodeLength(l Level) int {
	return map[Level]int{Default: 257, Thorough: 1030}[l]
}

// decodeCuts are the lengths whose continuation is asked again: before, at and
// behind pages and the batch sizes of graphs.
func decodeCuts(l Level, n int) []int {
	if l == Quick {
		return []int{16}
	}
	var cuts []int
	for _, k := range []int{1, 2, 16, 64, 65, 128, 256, 512, 1024} {
		if k < n {
			cuts = append(cuts, k)
		}
	}
	return cuts
}

func decodeNext(s *State) []Ask {
	t := s.Target
	if !t.Has.Completions || !t.Has.Logprobs {
		return nil
	}
	ids, known := s.tokenized(passage)
	if s.takesIDs() && !known {
		return []Ask{{Kind: Tokenize, Label: "the passage as tokens", Prompt: passage}}
	}
	done := s.decoded()
	if len(done) == 0 && s.Level == Quick {
		return nil
	}
	if len(done) == 0 {
		n := s.Afford(decodeLength(s.Level))
		for n > 17 && !s.Room(len(passage)/3, n) {
			n /= 2
		}
		a := s.complete(fmt.Sprintf("decode of %d tokens", n), passage, n)
		// Sampling keeps the text from running in circles, where every position looks
		// like every other.
		seed := 1
		a.Sampling, a.Seed, a.NoCache = Hot, &seed, t.Has.NoCache
		a.IgnoreEOS = a.IgnoreEOS && ids != nil // an end token cannot be sent again as text
		a.Tokens = ids
		return []Ask{a}
	}
	decoded := tokensIn(&done[0].Answer)
	if len(decoded) < 2 {
		return nil
	}
	k, label := len(decoded)-1, "prefill of the same %d tokens"
	if !t.Has.Echo {
		cuts := decodeCuts(s.Level, len(decoded))
		if len(done)-1 >= len(cuts) {
			return nil
		}
		k, label = cuts[len(done)-1], "prefill of the first %d tokens"
	} else if len(done) > 1 {
		return nil
	}
	k = cut(decoded, min(k, len(decoded)-1))
	a, ok := s.again(&done[0], k)
	if !ok {
		return nil
	}
	a.Echo, a.Label = t.Has.Echo, fmt.Sprintf(label, k)
	return []Ask{a}
}

// takesIDs says whether tokens can be sent again as the ids that the server tells.
// Texts of tokens do not always say which token it is. A quick run spends no request
// on them.
func (s *State) takesIDs() bool {
	h := s.Target.Has
	return h.Tokenize && h.TokenPrompts && h.IDs && s.Level > Quick
}

// tokenized are the ids of a prompt as the server told them, nil when it did not;
// known is false when it was not asked.
func (s *State) tokenized(prompt string) (ids []int, known bool) {
	for _, a := range s.answers() {
		if a.Ask.Kind == Tokenize && a.Ask.Prompt == prompt {
			if len(a.Answer.Tokens) == 0 {
				return nil, true
			}
			return a.Answer.Tokens, true
		}
	}
	return nil, false
}

// decoded are the completions that decode is judged by, what was decoded first. A
// quick run takes what the probe "first" decoded greedily.
func (s *State) decoded() []Asked {
	if s.Level > Quick {
		return s.completions()
	}
	for a := range s.earlier("first") {
		if a.Ask.Kind == Completion && a.Ask.Sampling == Greedy && a.Answer.OK() {
			return append([]Asked{*a}, s.completions()...)
		}
	}
	return nil
}

// completions are the completions of the rounds.
func (s *State) completions() []Asked {
	return slices.DeleteFunc(slices.Clone(s.answers()), func(a Asked) bool { return a.Ask.Kind != Completion })
}

// pairs are the positions that two requests tell of: decoded tokens, and the same
// behind their prefill. at is the number of tokens decoded before.
type pair struct {
	at               int
	decoded, prefill Token
	exchange         int
}

// pairs lines the decoded tokens up with their prefills. A text that comes back as
// other tokens is compared as far as they are the same.
func pairs(done []Asked) []pair {
	decoded := tokensIn(&done[0].Answer)
	before := done[0].Answer.PromptCount
	if done[0].Ask.Tokens != nil {
		before = len(done[0].Ask.Tokens)
	}
	var list []pair
	for _, a := range done[1:] {
		if !a.Answer.OK() {
			continue
		}
		if a.Ask.Echo {
			if before < 0 {
				continue
			}
			for i, t := range a.Answer.Prompt[min(before, len(a.Answer.Prompt)):] {
				if i >= len(decoded) || key(t.ID, t.Text) != key(decoded[i].ID, decoded[i].Text) {
					break
				}
				list = append(list, pair{i, decoded[i], t, a.Answer.Exchange})
			}
			continue
		}
		next := tokensIn(&a.Answer)
		n := cutOf(&done[0], &a)
		if n <= 0 || n >= len(decoded) || len(next) == 0 || before >= 0 && a.Answer.PromptCount >= 0 && a.Answer.PromptCount != before+n {
			continue
		}
		list = append(list, pair{n, decoded[n], next[0], a.Answer.Exchange})
	}
	slices.SortStableFunc(list, func(a, b pair) int { return a.at - b.at })
	return list
}

// cutOf is how many decoded tokens the prompt of a later request holds; -1 when it
// cannot be told.
func cutOf(first, again *Asked) int {
	if again.Ask.Tokens != nil {
		return len(again.Ask.Tokens) - len(first.Ask.Tokens)
	}
	tokens := tokensIn(&first.Answer)
	for k := range tokens {
		if text, ok := textOfTokens(tokens[:k+1]); ok && first.Ask.Prompt+text == again.Ask.Prompt {
			return k + 1
		}
	}
	return -1
}

func decodeJudge(s *State) Verdict {
	if !s.Target.Has.Logprobs {
		return cantTell("the server tells no logprobs", "a server started with logprobs, or --oracle DIR")
	}
	need := 2
	if s.Level == Quick {
		need = 1
	}
	if v, ok := s.unanswered(need); !ok {
		return v
	}
	done := s.decoded()
	if len(done) < 2 {
		return cantTell("what was decoded could not be sent again as a prompt", "")
	}
	list := pairs(done)
	scale := spread(tokensIn(&done[0].Answer))
	var far []float64
	var at []int
	var worst pair
	most := 0.0
	for _, p := range list {
		a, okA := distOf(p.decoded)
		b, okB := distOf(p.prefill)
		if !okA || !okB {
			continue
		}
		d := distance(a, b)
		far, at = append(far, d), append(at, p.at)
		if d >= most {
			most, worst = d, p
		}
	}
	v := Verdict{Outcome: Pass, Threshold: fmt.Sprintf("total variation of the next-token distributions at %d positions, against the model's own spread of %.3f from token to token: rounding stays below %.2f of it at one position and %.2f in the middle (docs/probes.md); the server's own noise is %.4f", len(far), scale, differ, agree, s.Floor.Greatest)}
	if len(far) == 0 {
		return incomparable(tokensIn(&done[0].Answer), "the server's logprobs of what was decoded and of its prefill have no position in common", "")
	}
	if scale < leastSpread {
		v.Outcome, v.Text = CantTell, fmt.Sprintf("decode and prefill agree within %.4f, but every position of this model's text looks like every other (spread %.4f); what would tell: --oracle DIR", most, scale)
		return v
	}
	n, from := beyond(far, scale, s.Floor.Greatest), partsFrom(far, at, scale, s.Floor.Greatest)
	switch {
	case disagree(far, n, from, scale, s.Floor.Greatest):
		v.Outcome, v.Signs = Fail, []Sign{SignDecode}
		v.Text = fmt.Sprintf("decode and prefill of the same tokens disagree at %d of %d positions, up to %.2f apart", n, len(far), most)
		v.Detail = "from the first token on"
		if from > 1 {
			v.Signs = []Sign{SignDecodeLater}
			v.Detail = fmt.Sprintf("from token %d on", from+1)
			v.Text += ", " + v.Detail
		}
		v.Evidence = []finding.Evidence{
			request(done[0].Answer, told(worst.decoded), fmt.Sprintf("decoded: what may stand at token %d", worst.at+1)),
			{Kind: "request", Line: worst.exchange, Text: told(worst.prefill), Note: "prefill: the same position"},
		}
	case n > 0 || len(far) < 3 && most > agree*scale:
		v.Outcome = CantTell
		v.Text = fmt.Sprintf("decode and prefill agree at %d of %d positions (median %.4f), and part by up to %.2f at token %d: too little to say wrong; what would tell: --thorough", len(far)-n, len(far), median(far), most, worst.at+1)
	default:
		v.Text = fmt.Sprintf("decode and prefill agree at %d positions up to token %d: %.4f apart at most", len(far), at[len(at)-1]+1, most)
	}
	return v
}

// disagree says whether distances are those of two different computations: n are
// beyond rounding, for good from position from on.
func disagree(far []float64, n, from int, scale, noise float64) bool {
	if len(far) < 3 { // too few for a middle
		return slices.Min(far) > max(lone*scale, aboveNoise*noise)
	}
	return n >= 2 && n*5 >= len(far) || n >= 4 && from > 0 || median(far) > max(agree*scale, aboveNoise*noise)
}

// partsFrom is the first position from which on most distances are beyond
// rounding; -1 when there is none.
func partsFrom(far []float64, at []int, scale, noise float64) int {
	for i := range far {
		if beyond(far[i:i+1], scale, noise) == 1 && 2*beyond(far[i:], scale, noise) >= len(far)-i {
			return at[i]
		}
	}
	return -1
}

// told is a token's list of the likeliest, as evidence.
func told(t Token) string {
	text := ""
	for i, r := range t.Top {
		if i == 4 {
			break
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q %s", r.Text, r.Logprob)
	}
	return text
}

// cut is k, or the nearest length below it at which no character is cut in two
// when the tokens are sent as text.
func cut(tokens []Token, k int) int {
	for k > 1 && !whole(tokens[:k]) {
		k--
	}
	return k
}

// again is the prompt of an ask with the first k tokens of its answer behind it,
// one token to be decoded, computed anew.
func (s *State) again(a *Asked, k int) (Ask, bool) {
	tokens := tokensIn(&a.Answer)
	next := s.complete("", "", 1)
	next.NoCache = s.Target.Has.NoCache
	if ids, ok := idsOf(tokens[:k]); ok && s.Target.Has.TokenPrompts {
		if prompt, ok := promptIDs(a); ok {
			next.Tokens = append(slices.Clone(prompt), ids...)
			return next, true
		}
	}
	text, ok := textOfTokens(tokens[:k])
	next.Prompt = a.Ask.Prompt + text
	return next, ok && a.Ask.Prompt != ""
}

// promptIDs are the ids of an ask's prompt, where the ask or the answer has them.
func promptIDs(a *Asked) ([]int, bool) {
	if a.Ask.Tokens != nil {
		return a.Ask.Tokens, true
	}
	if len(a.Answer.Prompt) == 0 {
		return nil, false
	}
	return idsOf(a.Answer.Prompt)
}

func idsOf(tokens []Token) ([]int, bool) {
	ids := make([]int, len(tokens))
	for i, t := range tokens {
		if t.ID < 0 {
			return nil, false
		}
		ids[i] = t.ID
	}
	return ids, true
}

// held are two answers of which the second must be like the first.
type held struct{ want, got Asked }

// incomparable is the verdict on answers whose distributions could not be compared,
// in the given words unless the first of them tells logprobs that are no numbers.
func incomparable(first []Token, words, wouldTell string) Verdict {
	if slices.ContainsFunc(first, func(t Token) bool { return t.Logprob.Null }) {
		return cantTell(noNumbers, "")
	}
	return cantTell(words, wouldTell)
}

// same judges answers that must be the same but for noise.
func same(list []held, noise Floor, sign Sign, how, alone string) Verdict {
	var all []float64
	var scales []float64
	var worst *held
	var worstAt int
	most, texts := -1.0, 0
	for i := range list {
		h := &list[i]
		a, b := tokensIn(&h.want.Answer), tokensIn(&h.got.Answer)
		if a == nil && b == nil && textOf(&h.want.Answer) == textOf(&h.got.Answer) {
			texts++
			continue
		}
		scales = append(scales, spread(a))
		for at, d := range along(a, b) {
			all = append(all, d)
			if d > most {
				most, worst, worstAt = d, h, at
			}
		}
	}
	if len(all) == 0 {
		if texts == len(list) {
			return Verdict{Outcome: Pass, Text: "the texts are the same, letter by letter"}
		}
		return incomparable(tokensIn(&list[0].want.Answer), "the texts differ, and without logprobs a near tie cannot be told from a fault", "a server that tells logprobs")
	}
	scale := median(scales)
	v := Verdict{Outcome: Pass, Threshold: fmt.Sprintf("total variation of the next-token distributions at %d positions, against the model's own spread of %.3f: rounding stays below %.2f of it; the server's own noise is %.4f", len(all), scale, differ, noise.Greatest)}
	n := beyond(all, scale, noise.Greatest)
	switch {
	case scale < leastSpread:
		v.Outcome = CantTell
		v.Text = fmt.Sprintf("the answers agree within %.4f, but this model says the same everywhere (spread %.4f); what would tell: --oracle DIR", most, scale)
	case often(n, len(all)) || median(all) > max(agree*scale, aboveNoise*noise.Greatest):
		v.Outcome, v.Signs = Fail, []Sign{sign}
		v.Text = fmt.Sprintf("answers %s differ from those %s: %d of %d positions beyond rounding, up to %.2f apart", how, alone, n, len(all), most)
		v.Evidence = []finding.Evidence{
			request(worst.want.Answer, told(tokensIn(&worst.want.Answer)[worstAt]), fmt.Sprintf("%s: what may stand at token %d", alone, worstAt+1)),
			request(worst.got.Answer, told(tokensIn(&worst.got.Answer)[worstAt]), how+": the same position"),
		}
	case n > 0:
		v.Outcome = CantTell
		v.Text = fmt.Sprintf("answers %s agree with those %s but at %d of %d positions, up to %.2f apart: too little to say wrong; what would tell: --thorough", how, alone, n, len(all), most)
	default:
		v.Text = fmt.Sprintf("answers %s are those %s: %.4f apart at most", how, alone, most)
	}
	return v
}
