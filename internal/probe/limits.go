package probe

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// The probes of this file ask long prompts, and hold what the server says of its
// context against itself and against what it does.
//
// A long prompt is plain prose with three lines of five words hidden in it, near
// the beginning, in the middle and near the end; its last line repeats four words
// of one of them, and the next word is judged. That is copying, the least that a
// trained model can do: SmolLM2-135M gave the right word 0.84, 0.53, 0.25 in 125
// tokens and 0.74, 0.81, 0.14 in 1,875 (always its first choice), and less than
// 0.001 with a wrong rotary layout.
const (
	// shortTokens is a prompt within most limits. Who cannot do it there is not asked
	// for more. It also tells how many bytes make a token: with it the tokens of a
	// text of 2,000 are foreseen 6 % too high for SmolLM2's vocabulary.
	shortTokens = 500
	// longTokens goes beyond index_topk (2,048 in DeepSeek's and GLM's models) and
	// the usual chunk of a prompt.
	longTokens = 2300
	// farTokens bounds the prompts of the level thorough.
	farTokens = 17000
	// overTokens is the context up to which a prompt that does not fit is sent by
	// default; most servers refuse it before they compute anything.
	overTokens = 2048
	// within is the part of the claimed context that a prompt may take and must not
	// be refused for.
	within = 0.85
	// readyIn is the seconds that a long prompt may take, below the level thorough.
	readyIn = 30
	// clearly is the probability from which a word counts as known for certain.
	clearly = 0.3
	// shortCount is the part of the expected tokens of a prompt below which something
	// was left out.
	shortCount = 0.6
)

// hidden are the lines in a long text: four words that are repeated, and the one
// that follows.
var hidden = [3]struct{ cue, word string }{
	{"walnut, copper, marble, velvet,", "thunder"},
	{"saffron, pebble, anchor, candle,", "meadow"},
	{"silver, pepper, basket, feather,", "harvest"},
}

var hiddenAt = [3]string{"beginning", "middle", "end"}

// haystack is prose of about so many bytes with the hidden lines, and the line that
// asks for one of them.
func haystack(bytes, which int) string {
	words := [5][]string{
		strings.Fields("old young tall quiet cheerful tired careful clever busy friendly"),
		strings.Fields("keeper baker sailor teacher farmer painter doctor gardener miller driver"),
		strings.Fields("found carried painted repaired washed sold hid lifted opened counted"),
		strings.Fields("ladder lantern kettle carpet violin bucket mirror blanket barrel wagon"),
		strings.Fields("bridge market station garden tower stable orchard kitchen library harbour"),
	}
	var lines []string
	seed, size := uint32(12345), 0
	for size < bytes-300 {
		var w [5]any
		for i := range w {
			seed = seed*1103515245 + 12345
			w[i] = words[i][seed>>16%uint32(len(words[i]))]
		}
		line := fmt.Sprintf("The %s %s %s the %s near the %s.", w[:]...)
		lines = append(lines, line)
		size += len(line) + 1
	}
	n := len(lines)
	for i, at := range [3]int{max(0, n-3), n / 2, min(1, n)} {
		h := hidden[2-i]
		lines = slices.Insert(lines, at, "\nWords to remember: "+h.cue+" "+h.word+".\n")
	}
	return strings.Join(lines, " ") + "\nWords to remember: " + hidden[which].cue
}

var limitProbes = []Probe{
	{
		ID: "long", Title: "a long prompt is read from beginning to end", From: Default,
		Why:    "Sparse attention, sliding windows, chunked prefill and scaled positions begin to matter behind their limits; a server that cuts long prompts says nothing.",
		Source: "indexer faults that show behind index_topk (transformers 513146c1 to 8698b5a5); SGLang and llama.cpp reports of cut prompts",
		Most: func(l Level) Cost {
			if l == Thorough {
				n := 1 + 3*farLengths
				return Cost{Requests: n, PromptTokens: 2*shortTokens + 3*farLengths*farTokens, AnswerTokens: n * knownLength, Together: 1}
			}
			return Cost{Requests: 4, PromptTokens: 2*shortTokens + 3*longTokens*5/4, AnswerTokens: 4 * knownLength, Together: 1}
		},
		Next: longNext, Judge: longJudge,
	},
	{
		ID: "context", Title: "the context is as large as it says, and what does not fit is refused", From: Quick, Gentle: true,
		Why:    "A context can be smaller than what was asked for: divided by the slots, capped by the memory, or cut without a word.",
		Source: "llama.cpp divides -c by -np and caps it at the trained length; SGLang says 8192 while its KV cache holds 4096",
		Most: func(l Level) Cost {
			switch l {
			case Quick:
				return Cost{}
			case Thorough:
				return Cost{Requests: 1, PromptTokens: 2 * farTokens, AnswerTokens: 1, Together: 1}
			}
			return Cost{Requests: 1, PromptTokens: 2 * overTokens, AnswerTokens: 1, Together: 1}
		},
		Next: contextNext, Judge: contextJudge,
	},
}

const (
	needleLength = 3
	farLengths   = 6
)

// limit is a length of this model or server at which something else begins.
type limit struct {
	tokens int
	name   string
}

// limits are those known, shortest first.
func (s *State) limits() []limit {
	t := s.Target
	var list []limit
	for _, l := range []limit{{t.TopK, "index_topk"}, {t.Window, "the sliding window"}, {t.Chunk, "the chunk of a prefill"}, {t.Original, "the context before rope scaling"}} {
		if l.tokens > 0 {
			list = append(list, l)
		}
	}
	slices.SortStableFunc(list, func(a, b limit) int { return a.tokens - b.tokens })
	return list
}

// claimed is what one request can hold by the server's own words; 0: it says nothing.
func (s *State) claimed() int {
	n := s.Target.Context
	if p := s.Target.Pool; p > 0 && (n == 0 || p < n) {
		n = p
	}
	return n
}

// room is the longest prompt that must fit.
func (s *State) room(wish int) int {
	if n := s.claimed(); n > 0 {
		wish = min(wish, int(within*float64(n))-2*needleLength)
	}
	if n := s.Target.Trained; n > 0 {
		wish = min(wish, n)
	}
	return min(wish, s.soon())
}

// soon is how many tokens of a prompt are computed in readyIn seconds, as the short
// one was.
func (s *State) soon() int {
	if s.Level == Thorough || len(s.Rounds) == 0 || s.Rounds[0][0].Answer.Took <= 0 {
		return farTokens
	}
	a := &s.Rounds[0][0]
	return int(readyIn / a.Answer.Took.Seconds() * float64(s.find(0).size()))
}

// lengths are the prompts of a level in tokens: what is usual, and for thorough
// before and behind every limit.
func (s *State) lengths() []int {
	if s.Level < Thorough {
		return []int{s.room(longTokens)}
	}
	list := []int{s.room(longTokens), s.room(farTokens / 2), s.room(farTokens)}
	for _, l := range s.limits() {
		for _, n := range []int{l.tokens * 9 / 10, l.tokens * 11 / 10} {
			if n == s.room(n) && n <= farTokens && n > 3*shortTokens/2 {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), farLengths)]
}

// bytesFor is how long a text of so many tokens is, by the count of the longest
// prompt so far.
func (s *State) bytesFor(tokens int) int {
	longest := 0
	ratio := 1.0 // no vocabulary needs more
	see := func(a *Asked) {
		if n := len(a.Ask.Prompt) + len(content(&a.Ask)); n > longest && a.Answer.OK() && a.Answer.PromptCount > 0 {
			longest, ratio = n, perToken(a)
		}
	}
	if len(s.Rounds) > 0 {
		see(&s.Rounds[0][0])
	} else {
		for _, id := range []string{"first", "known"} {
			for _, r := range s.Earlier[id] {
				see(&r[0])
			}
		}
	}
	return int(float64(tokens) * ratio)
}

// perToken is the bytes of a prompt per token.
func perToken(a *Asked) float64 {
	return float64(len(a.Ask.Prompt)+len(content(&a.Ask))) / float64(max(1, a.Answer.PromptCount))
}

func content(a *Ask) string {
	if len(a.Messages) == 0 {
		return ""
	}
	return a.Messages[0].Content
}

func (s *State) needle(label string, bytes, which int) []Ask {
	text := haystack(bytes, which)
	max := needleLength
	if s.rawOrChat() == Chat {
		max = knownLength
	}
	return []Ask{s.ask(s.rawOrChat(), label, text, text+" Say the word that follows.", Greedy, max)}
}

// longNext asks short, then long for the beginning; what is not found there is
// asked again nearer to the end, and in a text just below the limit before.
func longNext(s *State) []Ask {
	if !s.Target.Has.Completions && !s.Target.Has.Chat {
		return nil
	}
	n := len(s.Rounds)
	if n == 0 {
		return s.needle("short: words from the beginning", s.bytesFor(s.room(shortTokens)), 0)
	}
	if short := s.find(0); !short.near || s.room(longTokens) < 2*short.size() {
		return nil
	}
	if s.Level == Thorough {
		lengths := s.lengths()
		if i := n - 1; i < 3*len(lengths) && s.find(n-1).reached() {
			l := lengths[i/3]
			return s.needle(fmt.Sprintf("about %d tokens: words from the %s", l, hiddenAt[i%3]), s.bytesFor(l), i%3)
		}
		return nil
	}
	long := s.lengths()[0]
	switch {
	case n == 1:
		return s.needle(fmt.Sprintf("about %d tokens: words from the beginning", long), s.bytesFor(long), 0)
	case n == 2 && s.find(1).reached() && !s.find(1).near:
		return s.needle(fmt.Sprintf("about %d tokens: words from the end", long), s.bytesFor(long), 2)
	case n == 3 && s.find(2).near:
		if l, ok := s.below(long); ok {
			return s.needle(fmt.Sprintf("about %d tokens, below %s: words from the beginning", l.tokens*9/10, l.name), s.bytesFor(l.tokens*9/10), 0)
		}
	}
	return nil
}

// below is the greatest limit that lies within a text of so many tokens.
func (s *State) below(tokens int) (limit, bool) {
	list := s.limits()
	for _, l := range slices.Backward(list) {
		if l.tokens < tokens && l.tokens > 2*shortTokens {
			return l, true
		}
	}
	return limit{}, false
}

// find is what an answer says of the hidden word that it was asked for.
type find struct {
	asked       *Asked
	which       int
	tokens      int // of the prompt, as expected
	right, near bool
	p           float64
	told        bool
}

func (f find) reached() bool { return f.asked.Answer.OK() && len(f.asked.Answer.Choices) > 0 }

// find judges the i-th round.
func (s *State) find(i int) find {
	a := &s.Rounds[i][0]
	f := find{asked: a}
	text := a.Ask.Prompt + content(&a.Ask)
	for w := range hidden {
		if strings.LastIndex(text, hidden[w].cue) > strings.LastIndex(text, hidden[f.which].cue) {
			f.which = w
		}
	}
	f.tokens = len(text) * 1000 / max(1, s.bytesFor(1000))
	if !f.reached() {
		return f
	}
	r := question{copied, "", "", hidden[f.which].word}.read(a.Ask.Kind, &a.Answer)
	f.right, f.near, f.p, f.told = r.right, r.near || r.right, r.own, r.told
	return f
}

// tooLong are the words with which servers refuse a prompt that does not fit.
var tooLong = regexp.MustCompile(`(?i)context|too long|longer|length|exceed|maximum|max_|token`)

// refused says whether an answer is a proper refusal of a long prompt.
func refused(a *Answer) bool {
	return a.Failure == Status && (a.Status == 400 || a.Status == 413 || a.Status == 422) && tooLong.MatchString(a.Error)
}

func longJudge(s *State) Verdict {
	if len(s.Rounds) == 0 {
		return cantTell("the server neither chats nor continues text", "")
	}
	short := s.find(0)
	if !short.reached() {
		if refused(&short.asked.Answer) {
			return s.longFailed(short)
		}
		return cantTell("the short prompt came to nothing: "+failed(&short.asked.Answer), "")
	}
	if !short.near {
		return cantTell(fmt.Sprintf("it cannot repeat words from a text of %d tokens, so that nothing is seen in a longer one", short.size()), "", request(short.asked.Answer, textOf(&short.asked.Answer), fmt.Sprintf("right: %q", hidden[0].word)))
	}
	if len(s.Rounds) == 1 {
		if n := s.soon(); n < 2*short.size() {
			return cantTell(fmt.Sprintf("a prompt of %d tokens took %.0f s: a long one would take minutes", short.size(), short.asked.Answer.Took.Seconds()), "the level thorough")
		}
		return cantTell(fmt.Sprintf("its context (%d tokens) is too small for a long prompt", s.claimed()), "")
	}
	var best find // the longest whose beginning was known
	for i := 1; i < len(s.Rounds); i++ {
		f := s.find(i)
		if !f.reached() {
			return s.longFailed(f)
		}
		if got, ok := f.cut(); ok {
			return Verdict{
				Outcome: Fail, Signs: []Sign{SignTruncated},
				Text:      fmt.Sprintf("a part of the prompt is dropped in silence: %d tokens are counted, about %d were sent", got, f.tokens),
				Threshold: fmt.Sprintf("fewer than %.0f %% of the tokens that the short prompt lets expect", 100*shortCount),
				Evidence:  []finding.Evidence{request(f.asked.Answer, textOf(&f.asked.Answer), fmt.Sprintf("usage.prompt_tokens is %d for %d bytes", got, len(f.asked.Ask.Prompt)+len(content(&f.asked.Ask))))},
			}
		}
		if f.which == 0 && f.near && f.size() > best.size() {
			best = f
		}
	}
	for i := 1; i < len(s.Rounds); i++ {
		if f := s.find(i); !f.near {
			return s.longLost(f, best)
		}
	}
	return Verdict{
		Outcome:   Pass,
		Text:      fmt.Sprintf("words from the beginning of %d tokens are repeated%s", best.size(), best.chance()),
		Threshold: fmt.Sprintf("the right word is chosen, or has a probability of %.2f", nearBy),
	}
}

// size is the tokens of the prompt, as the server counts them or as expected.
func (f find) size() int {
	if f.asked == nil {
		return 0
	}
	if n := f.asked.Answer.PromptCount; n > 0 {
		return n
	}
	return f.tokens
}

func (f find) chance() string {
	if !f.told || f.asked.Ask.Kind == Chat {
		return ""
	}
	return fmt.Sprintf(" (probability %.2f)", f.p)
}

// cut says whether far fewer tokens were counted than sent.
func (f find) cut() (int, bool) {
	n := f.asked.Answer.PromptCount
	return n, n > 0 && float64(n) < shortCount*float64(f.tokens)
}

// longFailed is the verdict on a long prompt that came to nothing.
func (s *State) longFailed(f find) Verdict {
	a := &f.asked.Answer
	v := Verdict{Outcome: Fail, Evidence: []finding.Evidence{request(*a, a.Error, f.asked.Ask.Label)}}
	switch n := s.claimed(); {
	case refused(a) && n > 0:
		v.Signs = []Sign{SignCapped}
		v.Text = fmt.Sprintf("a prompt of about %d tokens is refused, though the server says that one request holds %d: %s", f.tokens, n, failed(a))
		v.Threshold = fmt.Sprintf("the prompt takes at most %.0f %% of the context that the server claims", 100*within)
	case serverSide(a):
		v.Signs = []Sign{SignLong, SignError}
		v.Text = fmt.Sprintf("short prompts are answered, one of about %d tokens is not: %s", f.tokens, failed(a))
	default:
		return cantTell(fmt.Sprintf("a prompt of about %d tokens came to nothing: %s", f.tokens, failed(a)), "", v.Evidence...)
	}
	return v
}

// longLost is the verdict on a hidden word that was not found. A model may reach
// less far than its context: what fails is the end of a text, which lies as near as
// in a short one, or a text just behind a limit where one just below it is known.
func (s *State) longLost(f, best find) Verdict {
	var end, beginning find
	for i := 1; i < len(s.Rounds); i++ {
		g := s.find(i)
		if g.which == 2 && !g.near && end.asked == nil {
			end = g
		}
		if g.which == 0 && !g.near && beginning.asked == nil {
			beginning = g
		}
	}
	short := s.find(0)
	quote := func(list ...find) []finding.Evidence {
		var out []finding.Evidence
		for _, g := range list {
			if g.asked != nil {
				out = append(out, request(g.asked.Answer, textOf(&g.asked.Answer), fmt.Sprintf("%d tokens, words from the %s; right: %q%s", g.size(), hiddenAt[g.which], hidden[g.which].word, g.chance())))
			}
		}
		return out
	}
	window := s.Target.Window
	if end.asked != nil && end.told && short.p >= clearly && (window == 0 || window >= shortTokens) && s.rawOrChat() == Completion {
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignLong},
			Text:      fmt.Sprintf("in a prompt of %d tokens not even the words of its last lines are known, in a short one they are", end.size()),
			Threshold: fmt.Sprintf("probability of the right word: at least %.1f in %d tokens, below %.2f in %d", clearly, short.size(), nearBy, end.size()),
			Evidence:  quote(short, end), Detail: fmt.Sprintf("in prompts of %d tokens", end.size()),
		}
	}
	if beginning.asked != nil && beginning.told && best.asked != nil && best.p >= clearly && s.rawOrChat() == Completion {
		for _, l := range s.limits() {
			if l.tokens == window || best.size() >= l.tokens || beginning.size() <= l.tokens || float64(best.size()) < 0.7*float64(l.tokens) {
				continue
			}
			return Verdict{
				Outcome: Fail, Signs: []Sign{SignLong}, Detail: fmt.Sprintf("behind %s (%d tokens)", l.name, l.tokens),
				Text:      fmt.Sprintf("the beginning of %d tokens is known, that of %d is not: between them lies %s (%d)", best.size(), beginning.size(), l.name, l.tokens),
				Threshold: fmt.Sprintf("probability of the right word: at least %.1f below the limit, under %.2f behind it", clearly, nearBy),
				Evidence:  quote(best, beginning),
			}
		}
	}
	return cantTell(fmt.Sprintf("words from the %s of %d tokens are not known: the prompt was cut in silence, or the model reaches less far", hiddenAt[f.which], f.size()), "a comparison with the checkpoint (--oracle)", quote(f, end)...)
}

// contextNext sends a prompt that does not fit, where that is cheap.
func contextNext(s *State) []Ask {
	most := map[Level]int{Default: overTokens, Thorough: farTokens}[s.Level]
	n := s.claimed()
	short := s.Earlier["long"]
	if s.Gentle || len(s.Rounds) > 0 || n == 0 || n > most || len(short) == 0 || short[0][0].Answer.PromptCount <= 0 {
		return nil
	}
	text := haystack(int(1.3*float64(n)*perToken(&short[0][0])), 0)
	return []Ask{s.ask(s.rawOrChat(), "a prompt that does not fit", text, text, Greedy, 1)}
}

func contextJudge(s *State) Verdict {
	t := s.Target
	n := s.claimed()
	if n == 0 {
		return cantTell("the server does not tell its context", "")
	}
	source := t.Sources["Context"]
	if t.Pool > 0 && t.Pool == n && t.Pool != t.Context {
		source = t.Sources["Pool"]
	}
	said := []finding.Evidence{{Kind: "endpoint", File: source, Text: fmt.Sprintf("%d tokens", n)}}
	made, from := t.Trained, t.Sources["Trained"]
	if t.Local != nil && t.Local.Context > made {
		made, from = t.Local.Context, t.Local.Dir
	}
	switch {
	case t.Expected.Context > 0 && n < t.Expected.Context:
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignCapped}, Evidence: said,
			Text: fmt.Sprintf("one request holds %d tokens, expected %d", n, t.Expected.Context) + s.slots(),
		}
	case t.Local != nil && n < 1024 && 8*n <= t.Local.Context && t.Expected.Context == 0:
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignCapped},
			Text:      fmt.Sprintf("one request holds %d tokens of the %d that the model was made for", n, t.Local.Context) + s.slots(),
			Threshold: "fewer than 1,024 tokens, and at most an eighth of the model's own context, is not taken for a choice",
			Evidence:  append(said, finding.Evidence{Kind: "config", File: t.Local.Dir, Text: fmt.Sprintf("context of %d tokens", t.Local.Context)}),
		}
	}
	if s.answeredBefore() == 0 {
		return cantTell(fmt.Sprintf("it says that one request holds %d tokens, and answered none", n), "")
	}
	text := fmt.Sprintf("one request holds %d tokens", n)
	if t.Context > n {
		text += fmt.Sprintf(" (it says %d, and its KV cache holds %d)", t.Context, n)
	}
	if made > n {
		text += fmt.Sprintf(", of %d that the model was made for (%s)", made, from) + s.slots()
	}
	if made > 0 && made < n && made < t.Context {
		text += fmt.Sprintf(", more than the %d that the model was made for (%s)", made, from)
	}
	if len(s.Rounds) > 0 {
		v, ok := s.over(n)
		if ok {
			return v
		}
		text += "; a longer prompt is refused"
	} else if short := s.Earlier["long"]; len(short) > 0 && !short[0][0].Answer.OK() {
		return cantTell("a longer prompt was not sent, since a short one came to nothing: "+failed(&short[0][0].Answer), "")
	}
	return Verdict{Outcome: Pass, Text: text, Evidence: said}
}

// slots says how many requests share what the server was given.
func (s *State) slots() string {
	if s.Target.Engine != "llamacpp" || s.Target.Running < 2 {
		return ""
	}
	return fmt.Sprintf("; %d slots: llama.cpp divides -c by -np", s.Target.Running)
}

// over is the verdict on a prompt that does not fit, unless it was refused.
func (s *State) over(n int) (Verdict, bool) {
	a := &s.Rounds[0][0]
	sent := int(math.Round(float64(len(a.Ask.Prompt)+len(content(&a.Ask))) / perToken(&s.Earlier["long"][0][0])))
	quote := []finding.Evidence{request(a.Answer, textOf(&a.Answer), fmt.Sprintf("about %d tokens were sent", sent))}
	switch got := a.Answer.PromptCount; {
	case refused(&a.Answer):
		return Verdict{}, false
	case a.Answer.OK() && got > 0 && got <= n:
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignTruncated}, Evidence: quote,
			Text:      fmt.Sprintf("a prompt of about %d tokens is answered, though one request holds %d: %d were counted, the rest was dropped in silence", sent, n, got),
			Threshold: "the prompt is 1.3 times as long as the context; it has to be refused",
		}, true
	case a.Answer.Failure == Reset:
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignError}, Evidence: quote,
			Text: fmt.Sprintf("a prompt of about %d tokens, which does not fit, breaks the connection instead of being refused", sent),
		}, true
	}
	return cantTell(fmt.Sprintf("one request holds %d tokens; a prompt of about %d was neither refused nor cut: %s", n, sent, outcome(&a.Answer)), "", quote...), true
}

// outcome says in words what came of a request.
func outcome(a *Answer) string {
	if a.OK() {
		return fmt.Sprintf("answered, with %d tokens counted", a.PromptCount)
	}
	return failed(a)
}
