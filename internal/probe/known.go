package probe

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"

	"shakedown/internal/finding"
)

// The probe of this file asks what every trained model knows or can do at a glance.
// A model may be small, untrained, or trained for something else, and none of that
// is a fault: it fails only when it is sure of itself and right in nothing, not even
// near it, or when it knows words and cannot repeat a list that stands before its
// eyes, which the smallest trained models can.
//
// Measured with SmolLM2-135M-Instruct (Q4_1), raw text, 20 likeliest tokens told;
// the probability of the right first word, and the mean of the likeliest tokens:
//
//	                                  facts, series   copying        likeliest
//	sound: ggml, exact, bf16, f16     0.77 to 0.98    0.25 to 0.82   0.75
//	rotary layout of halves           0.03 to 0.73    below 0.001    0.20
//	attention scales doubled          0               0              0.53
//	scales of blocks shuffled         0               0              0.34
//	gate and up swapped               0               0              0.31
//	one layer of 30 random            0               0              0.42
//	six layers random                 0               0              0.25
//	norms times 3                     0               0              0.61
//	all matrices random, scales kept  0               0              0.90
//	down projections times 4          0               0              0.15
//	attention's output zero           0               0              0.14
//	all matrices times 1.5            0               0              0.18
//
// (0: not among the 20 likeliest.) The server with a wrong rotary layout still says
// "Paris" with 0.73.
const (
	// nearBy is the probability from which a right word among the likeliest counts as
	// known. The unsound ones above stay below 0.02 in copying.
	nearBy = 0.02
	// trainedBy is the probability of a right word which no untrained model gives.
	trainedBy = 0.3
	// sureBy is the mean probability of the likeliest tokens above which a model is
	// sure of itself. Weights drawn with a standard deviation of 0.02, as untrained
	// models have them, give logits with one of 0.02*sqrt(hidden size), at most 2 for
	// 8192: with 32,000 tokens the likeliest has 0.03 then. The least of the unsound
	// ones above has 0.14.
	sureBy = 0.12
	// wordsBy is the letters per token below which a vocabulary holds no words: models
	// made for tests, or for something else than text.
	wordsBy = 2.0
)

type sort int

const (
	fact   sort = iota // a word that is known or not
	series             // the order of things everybody knows
	copied             // the order of things in the prompt
)

// question is asked as raw text, or as a chat where the server takes no raw text.
type question struct {
	sort       sort
	text, chat string
	want       string // the answer begins with it (text) or holds it (chat)
}

// questions; the first is asked by the probe "first" already.
var questions = []question{
	{fact, capitalText, capitalChat, "Paris"},
	{copied, "The list: lamp, river, stone, apple, horse, window, paper, needle, garden, silver.\nThe same list again: lamp, river, stone, apple, horse,",
		"Repeat this sentence exactly: The cook put salt, then honey, then lemon into the pot.", "window|honey, then lemon"},
	{series, "Monday, Tuesday, Wednesday, Thursday,", "Go on with the list: Monday, Tuesday, Wednesday, Thursday,", "Friday"},
	{series, "One, two, three, four, five, six, seven,", "Count on: one, two, three, four, five, six, seven,", "eight"},
	{copied, "The cook put salt, then honey, then lemon into the pot. Again the cook put salt, then honey, then", "", "lemon"},
	{series, "hot, cold; big, small; up, down; left,", "What is the opposite of hot? Answer with one word.", "right|cold"},
	{copied, "Basket: violin, pepper, blanket, castle, pigeon, mirror, button.\nBasket: violin, pepper, blanket, castle,", "", "pigeon"},
}

// wants are the right words of a question, as raw text and as a chat.
func (q *question) wants(kind Kind) string {
	raw, chat, ok := strings.Cut(q.want, "|")
	if ok && kind == Chat {
		return chat
	}
	return raw
}

var knownProbes = []Probe{{
	ID: "known", Title: "it knows what every trained model knows, and repeats what it reads", From: Quick, Gentle: true, Essential: true, Spared: true,
	Why:    "Finite, fluent and wrong: a wrong rotary layout, wrong scales or swapped matrices raise no error. Copying needs positions and attention to be right, and hardly any size.",
	Source: "llama.cpp and transformers reports of wrong rotary layouts; measured, see the source of the probe",
	Most: func(l Level) Cost {
		n := len(asked(l, Completion)) - 1
		return Cost{Requests: n, PromptTokens: n * 140, AnswerTokens: n * knownLength, Together: 1}
	},
	Next: knownNext, Judge: knownJudge,
}}

// knownLength is the tokens of an answer: a word of raw text, a sentence of a chat.
const knownLength = 16

// asked are the questions of a level that exist in that form.
func asked(l Level, kind Kind) []question {
	var list []question
	for _, q := range questions {
		if kind == Completion || q.chat != "" {
			list = append(list, q)
		}
	}
	if l == Quick {
		list = list[:2]
	}
	return list
}

// rawOrChat is the kind in which this server is asked.
func (s *State) rawOrChat() Kind {
	if s.Target.Has.Completions {
		return Completion
	}
	return Chat
}

func knownNext(s *State) []Ask {
	if !s.Target.Has.Completions && !s.Target.Has.Chat {
		return nil
	}
	list := asked(s.Level, s.rawOrChat())[1:]
	if len(s.Rounds) >= len(list) {
		return nil
	}
	q := list[len(s.Rounds)]
	max := 3
	if q.sort == copied || s.rawOrChat() == Chat {
		max = knownLength
	}
	return []Ask{s.ask(s.rawOrChat(), "known: "+q.wants(s.rawOrChat()), q.text, q.chat, Greedy, max)}
}

// reply is a question with its answer.
type reply struct {
	question
	kind        Kind
	answer      *Answer
	text        string
	right, near bool
	p           float64 // of the likeliest tokens
	own         float64 // of the right word
	told        bool
}

// replies are the questions that were answered; the first one in the probe "first".
func (s *State) replies() []reply {
	kind := s.rawOrChat()
	var list []reply
	for _, q := range asked(s.Level, kind) {
		rounds := s.Rounds
		if q.text == capitalText {
			rounds = s.Earlier["first"]
		}
		for a := range each(rounds) {
			same := a.Ask.Prompt == q.text && kind == Completion || kind == Chat && len(a.Ask.Messages) == 1 && a.Ask.Messages[0].Content == q.chat
			if same && a.Ask.Sampling == Greedy && a.Answer.OK() && len(a.Answer.Choices) > 0 {
				list = append(list, q.read(kind, &a.Answer))
				break
			}
		}
	}
	return list
}

// read judges an answer to a question.
func (q question) read(kind Kind, a *Answer) reply {
	c := &a.Choices[0]
	r := reply{question: q, kind: kind, answer: a, text: c.Text, told: c.Told && len(c.Tokens) > 0}
	want := strings.ToLower(q.wants(kind))
	if kind == Chat {
		r.text = strings.TrimSpace(c.Reasoning + " " + c.Text)
		low := strings.ToLower(r.text)
		r.right = strings.Contains(low, want)
		r.near = r.right || about(low, q.chat)
	} else {
		got := strings.ToLower(strings.TrimLeft(c.Text, " \t\n\"'*_(▁"))
		r.right = got != "" && (strings.HasPrefix(got, want) || len(c.Tokens) > 1 && strings.HasPrefix(want, got))
	}
	if !r.told {
		return r
	}
	n := 1
	if kind == Chat {
		n = min(4, len(c.Tokens))
	}
	for _, t := range c.Tokens[:n] {
		if t.Logprob.Null {
			r.told = false
			return r
		}
		r.p += math.Exp(t.Logprob.Value) / float64(n)
	}
	if kind == Chat {
		return r
	}
	first := c.Tokens[0]
	for _, o := range append([]Ranked{{Text: first.Text, Logprob: first.Logprob}}, first.Top...) {
		word := strings.ToLower(strings.Trim(o.Text, " \t\n\"'▁Ġ"))
		if word != "" && (word == want || len(word) > 1 && strings.HasPrefix(want, word)) && !o.Logprob.Null {
			r.own = max(r.own, math.Exp(o.Logprob.Value))
		}
	}
	r.near = r.right || r.own >= nearBy
	return r
}

var longWord = regexp.MustCompile(`\pL{4,}`)

// about says whether an answer takes up a word of the question.
func about(low, question string) bool {
	for _, w := range longWord.FindAllString(strings.ToLower(question), -1) {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

func knownJudge(s *State) Verdict {
	list := s.replies()
	if len(list) == 0 {
		return cantTell("no question was answered", "")
	}
	kind := list[0].kind
	var right, near, told, orderedRight, copies, copiesNear, trained int
	sum := 0.0
	var lost, kept []string
	for _, r := range list {
		if r.right {
			right++
			kept = append(kept, r.wants(kind))
		} else {
			lost = append(lost, r.wants(kind))
		}
		if r.near {
			near++
		}
		if r.told {
			told++
			sum += r.p
		}
		if r.sort != fact && r.right {
			orderedRight++
		}
		if r.sort == copied && (r.told || r.right) {
			copies++
			if r.near {
				copiesNear++
			}
		}
		if r.own >= trainedBy {
			trained++
		}
	}
	sure := sum / float64(max(1, told))
	numbers := fmt.Sprintf("%d of %d answers are right", right, len(list))
	if told > 0 {
		numbers += fmt.Sprintf(", the likeliest tokens have %.2f in the mean", sure)
	}
	switch {
	case kind == Completion && trained > 0 && copies >= 2 && copiesNear == 0:
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignNonsense}, Detail: "it knows words and loses their order",
			Text: fmt.Sprintf("it knows words (%s) and cannot repeat a list that it has just read: in %d of %d tries the next word is not even among the likeliest",
				strings.Join(kept, ", "), copies, copies),
			Threshold: fmt.Sprintf("a right word with a probability of %.1f shows that it was trained; no next word of a list above %.2f. A sound model of 135M parameters has 0.25 to 0.82 there, one with a wrong rotary layout less than 0.001", trainedBy, nearBy),
			Evidence:  quotes(list, copied, fact),
		}
	case orderedRight > 0 && 2*right >= len(list):
		v := Verdict{Outcome: Pass, Text: numbers}
		if lost != nil {
			v.Text += fmt.Sprintf(" (not: %s)", strings.Join(lost, ", "))
		}
		return v
	case near == 0 && told >= 5 && told == len(list) && sure >= sureBy:
		if why := s.untrained(list); why != "" {
			return cantTell(numbers+"; "+why, "a comparison with the checkpoint (--oracle)")
		}
		v := Verdict{
			Outcome: Fail, Signs: []Sign{SignNonsense},
			Text:      fmt.Sprintf("it is sure of itself and right in nothing: 0 of %d answers, none of them near, while the likeliest tokens have %.2f in the mean", len(list), sure),
			Threshold: fmt.Sprintf("mean of the likeliest tokens at least %.2f (untrained models stay below 0.03), no right word above %.2f anywhere; sound 135M parameters: all right", sureBy, nearBy),
			Evidence:  quotes(list, copied, series),
		}
		if foreign(list) {
			v.Detail = "English questions are answered in another script"
		}
		return v
	}
	v := cantTell(numbers+": a small or untrained model, or one made for something else, could answer like that", "a comparison with the checkpoint (--oracle)")
	if told == 0 {
		v = incomparable(tokensIn(list[0].answer), numbers+", and without logprobs it is not seen how sure it was", "a server that tells logprobs, or --oracle")
	}
	v.Evidence = quotes(list, copied, series)
	return v
}

// untrained says why a model that is sure and wrong may be as it was made; empty
// when nothing speaks for it.
func (s *State) untrained(list []reply) string {
	name := strings.ToLower(s.Target.Model + " " + s.Target.Root)
	if strings.Contains(name, "random") || strings.Contains(name, "dummy") {
		return "its name says that its weights are random"
	}
	letters, tokens, echoes := 0, 0, 0
	for _, r := range list {
		question := r.question.text
		if r.kind == Chat {
			question = r.chat
		}
		if r.answer.PromptCount > 0 {
			letters, tokens = letters+len(question), tokens+r.answer.PromptCount
		}
		words := strings.Fields(strings.ToLower(question))
		last := strings.Trim(words[len(words)-1], ",.?")
		if got := strings.ToLower(strings.Trim(strings.TrimSpace(r.text), ",.?")); last == "" || got == "" || strings.HasPrefix(got, last) {
			echoes++
		}
	}
	if s.Target.Vocab > 0 && s.Target.Vocab < 1000 || s.Target.Vocab == 0 && (tokens == 0 || float64(letters) < wordsBy*float64(tokens)) {
		return "its vocabulary holds no words, so that it was made for a test or for something else than text"
	}
	if 2*echoes >= len(list) {
		return "it repeats the last word or says nothing, as untrained models with tied embeddings do"
	}
	return ""
}

// foreign says whether most letters of the answers are not Latin ones.
func foreign(list []reply) bool {
	latin, other := 0, 0
	for _, r := range list {
		for _, x := range r.text {
			switch {
			case unicode.Is(unicode.Latin, x):
				latin++
			case unicode.IsLetter(x):
				other++
			}
		}
	}
	return other > latin
}

// quotes are up to four answers, wrong ones of the first sort first, then right
// ones of the second.
func quotes(list []reply, a, b sort) []finding.Evidence {
	var out []finding.Evidence
	for _, pick := range []func(reply) bool{
		func(r reply) bool { return r.sort == a && !r.right },
		func(r reply) bool { return r.sort == b && r.right },
		func(r reply) bool { return r.sort == b && !r.right },
	} {
		for _, r := range list {
			if !pick(r) || len(out) >= 4 {
				continue
			}
			question := r.question.text
			if r.kind == Chat {
				question = r.chat
			}
			note := fmt.Sprintf("to %q; right: %q", clip(question, 60), r.wants(r.kind))
			if r.told && r.kind == Completion {
				note += fmt.Sprintf(" with a probability of %.3f, chosen with %.2f", r.own, r.p)
			}
			out = append(out, request(*r.answer, r.text, note))
		}
	}
	return out
}
