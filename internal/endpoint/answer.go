package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/probe"
)

// reader builds a probe.Answer from one body or from the events of a stream.
type reader struct {
	ask    *probe.Ask
	answer *probe.Answer
	odd    []string
	// echoed: prompt and answer come in one list of tokens, the prompt first.
	echoed bool
	top    int // alternatives that were asked for
	// spelt: the bytes of tokens are those of the vocabulary's own spelling ("Ġthe"),
	// not of the text.
	spelt bool
	piles map[int]*pile
	told  int // tokens and alternatives that were read
}

// pile gathers the texts of one choice: put together piece by piece, a hostile
// stream would cost the square of its length.
type pile struct {
	text, reasoning strings.Builder
	arguments       []*strings.Builder // pointers: a Builder must not be moved
}

// Bounds of what a reader keeps, beside the bytes of the answer.
const (
	maxChoices = 64
	maxCalls   = 64
	maxOdd     = 8
	// maxTold is 16,000 tokens with 20 alternatives each.
	maxTold = 16_000 * 21
)

// strange notes something that does not fit; equal notes are told once.
func (r *reader) strange(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, o := range r.odd {
		if o == text {
			return
		}
	}
	if len(r.odd) < maxOdd {
		r.odd = append(r.odd, text)
	}
}

func (r *reader) note(odd []string) {
	for _, o := range odd {
		r.strange("%s", o)
	}
}

// choice is the answer with this number, made when it is the first time.
func (r *reader) choice(i int) *probe.Choice {
	if i < 0 || i >= maxChoices {
		r.strange("a choice has the number %d", i)
		return nil
	}
	for len(r.answer.Choices) <= i {
		r.answer.Choices = append(r.answer.Choices, probe.Choice{})
	}
	return &r.answer.Choices[i]
}

// pile is where the texts of a choice are gathered.
func (r *reader) pile(i int) *pile {
	if r.piles == nil {
		r.piles = map[int]*pile{}
	}
	if r.piles[i] == nil {
		r.piles[i] = &pile{}
	}
	return r.piles[i]
}

// counts takes what the server counted.
func (r *reader) counts(a *apiAnswer) {
	take := func(to *int, from *int) {
		if from != nil && *from >= 0 {
			*to = *from
		}
	}
	if a.Usage != nil {
		take(&r.answer.PromptCount, a.Usage.Prompt)
		take(&r.answer.AnswerCount, a.Usage.Answer)
		if a.Usage.Details != nil {
			take(&r.answer.Cached, a.Usage.Details.Cached)
		}
	}
	if a.Timings != nil && r.answer.Cached < 0 {
		take(&r.answer.Cached, a.Timings.Cached)
	}
}

// add takes a whole answer, or a part of one.
func (r *reader) add(a *apiAnswer, part bool) {
	if a.Model != "" {
		r.answer.Model = a.Model
	}
	r.counts(a)
	for i := range a.Choices {
		c := &a.Choices[i]
		to := r.choice(c.Index)
		if to == nil {
			continue
		}
		if c.Text != nil {
			r.pile(c.Index).text.WriteString(*c.Text)
		}
		m := c.Message
		if part {
			m = c.Delta
		}
		r.message(to, r.pile(c.Index), m, part)
		if c.Finish != nil && *c.Finish != "" {
			to.Finish = *c.Finish
		}
		if s, ok := c.Matched.(string); ok && strings.Contains(s, "NaN") {
			r.strange("the answer was ended by matched_stop %q", clip(s, 80))
		}
		r.logprobs(to, c)
		prompt, ids := c.PromptLogprobs, c.PromptIDs
		if prompt == nil {
			prompt = a.PromptLogprobs
		}
		if ids == nil {
			ids = a.PromptIDs
		}
		if prompt != nil && r.answer.Prompt == nil && r.ask.Echo {
			r.answer.Prompt = r.promptTokens(prompt, ids)
		}
	}
}

// message takes the text of a chat.
func (r *reader) message(to *probe.Choice, p *pile, m *apiMessage, part bool) {
	if m == nil {
		return
	}
	for _, s := range []*string{m.Content, m.Refusal} {
		if s != nil {
			p.text.WriteString(*s)
		}
	}
	switch {
	case m.ReasoningContent != nil && *m.ReasoningContent != "":
		p.reasoning.WriteString(*m.ReasoningContent)
	case m.Reasoning != nil:
		p.reasoning.WriteString(*m.Reasoning)
	}
	for k := range m.Calls {
		c := &m.Calls[k]
		args := r.arguments(c.Function.Arguments)
		at := len(to.Calls)
		if part && c.Index != nil {
			at = *c.Index
		} else if part && c.Function.Name == nil && at > 0 {
			at-- // goes on where the last one ended
		}
		if at < 0 || at >= maxCalls {
			r.strange("a tool call has the number %d", at)
			continue
		}
		for len(to.Calls) <= at {
			to.Calls = append(to.Calls, probe.Call{})
			p.arguments = append(p.arguments, &strings.Builder{})
		}
		if c.Function.Name != nil && to.Calls[at].Name == "" {
			to.Calls[at].Name = *c.Function.Name
		}
		p.arguments[at].WriteString(args)
	}
}

// arguments of a tool call are JSON within a text.
func (r *reader) arguments(data json.RawMessage) string {
	if len(data) == 0 || string(data) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	r.strange("the arguments of a tool call are no text but JSON itself")
	return string(data)
}

// logprobs takes the tokens of a choice, in either form.
func (r *reader) logprobs(to *probe.Choice, c *apiChoice) {
	l := c.Logprobs
	if l == nil {
		return
	}
	for _, list := range [][]apiToken{l.Reasoning, l.Content} {
		for i := range list {
			to.Told = true
			if r.room(1 + len(list[i].Top)) {
				to.Tokens = append(to.Tokens, r.token(&list[i], true))
			}
		}
	}
	if len(l.Tokens) == 0 {
		return
	}
	if len(l.Logprobs) != len(l.Tokens) {
		r.strange("%d tokens have %d logprobs", len(l.Tokens), len(l.Logprobs))
	}
	told := min(len(l.Tokens), len(l.Logprobs)) // what is missing was not told to be NaN
	to.Told = to.Told || told > 0
	for i, text := range l.Tokens[:told] {
		t := probe.Token{ID: -1}
		if text != nil {
			t.ID, t.Text = tokenOf(*text), *text
		}
		t.Logprob = probe.Logprob(l.Logprobs[i])
		if i < len(l.Top) {
			t.Top = l.Top[i]
			sortLikeliest(t.Top)
		}
		if r.room(1 + len(t.Top)) {
			to.Tokens = append(to.Tokens, t)
		}
	}
}

// room says whether so many tokens more are within the bound.
func (r *reader) room(n int) bool {
	if r.told += n; r.told > maxTold {
		r.strange("more tokens came than anybody asked for")
		return false
	}
	return true
}

// token is one token in the form of chats.
func (r *reader) token(a *apiToken, deep bool) probe.Token {
	t := probe.Token{Logprob: probe.Logprob{Null: true}}
	t.ID, t.Text = tokenOf(a.Token), a.Token
	if a.ID != nil && *a.ID >= 0 {
		t.ID = *a.ID
	}
	if a.Logprob != nil {
		t.Logprob = probe.Logprob(*a.Logprob)
	}
	if a.Bytes != nil {
		t.Bytes = make([]byte, 0, len(a.Bytes))
		for _, b := range a.Bytes {
			if b < 0 || b > 255 {
				r.strange("a byte of a token is %d", b)
				t.Bytes = nil
				break
			}
			t.Bytes = append(t.Bytes, byte(b))
		}
		switch {
		case tokenOf(a.Token) < 0:
		case string(t.Bytes) == a.Token: // vLLM gives alternatives the bytes of their name
			t.Bytes = nil
		default:
			t.Text = strings.ToValidUTF8(string(t.Bytes), "\uFFFD")
		}
	}
	if deep {
		for i := range a.Top {
			x := r.token(&a.Top[i], false)
			t.Top = append(t.Top, probe.Ranked{ID: x.ID, Text: x.Text, Logprob: x.Logprob})
		}
		sortLikeliest(t.Top)
	}
	return t
}

// promptRanking is vLLM's prompt_logprobs for one position: an object from token id to
// its logprob, the prompt's own token first; null for the first position.
type promptRanking []idRanked

type idRanked struct {
	id   int
	text string
	p    probe.Logprob
}

// UnmarshalJSON keeps the order, which tells the prompt's own token.
func (r *promptRanking) UnmarshalJSON(data []byte) error {
	return eachField(data, func(name string, value json.RawMessage) {
		id, err := strconv.Atoi(name)
		if err != nil || id < 0 {
			return
		}
		var v struct {
			Logprob *number `json:"logprob"`
			Text    *string `json:"decoded_token"`
		}
		one := idRanked{id: id, p: probe.Logprob{Null: true}}
		if bytes.HasPrefix(value, []byte("{")) {
			_ = json.Unmarshal(value, &v) // what does not fit stays unknown
		} else {
			v.Logprob = new(number)
			_ = v.Logprob.UnmarshalJSON(value) // never fails
		}
		if v.Logprob != nil {
			one.p = probe.Logprob(*v.Logprob)
		}
		if v.Text != nil {
			one.text = *v.Text
		}
		*r = append(*r, one)
	})
}

// promptTokens are the tokens of a prompt with what stands before each.
func (r *reader) promptTokens(list []promptRanking, told []int) []probe.Token {
	if len(told) != len(list) {
		told = r.ask.Tokens
	}
	if len(told) > 0 && len(told) != len(list) {
		r.strange("the prompt has %d tokens and %d logprobs", len(told), len(list))
	}
	out := make([]probe.Token, len(list))
	for i, pos := range list {
		t := probe.Token{ID: -1, Logprob: probe.Logprob{Null: true}}
		if len(told) == len(list) {
			t.ID = told[i]
		} else if len(pos) > 0 {
			t.ID = pos[0].id
		}
		found := len(pos) == 0
		for _, x := range pos {
			if x.id == t.ID {
				t.Text, t.Logprob, found = x.text, x.p, true
			}
			t.Top = append(t.Top, probe.Ranked{ID: x.id, Text: x.text, Logprob: x.p})
		}
		if !found {
			r.strange("the logprobs of position %d of the prompt are without its token %d", i, t.ID)
		}
		sortLikeliest(t.Top)
		out[i] = t
	}
	return out
}

// finish puts together what came in parts.
func (r *reader) finish() {
	a := r.answer
	for i := range a.Choices {
		c, p := &a.Choices[i], r.pile(i)
		c.Text += p.text.String()
		c.Reasoning += p.reasoning.String()
		for k := range p.arguments {
			c.Calls[k].Arguments = p.arguments[k].String()
		}
		if r.echoed {
			r.split(c)
		}
		r.drafted(c)
	}
	r.oneName()
	for i := range a.Choices {
		r.tidy(a.Choices[i].Tokens)
	}
	r.tidy(a.Prompt)
	if len(r.odd) > 0 {
		a.Odd = strings.Join(r.odd, "; ")
	}
}

// drafted takes the logprobs out of an answer that does not tell all of them: of the
// tokens that a draft foresaw, llama-server says 0 (which would be certainty) and no
// alternatives, where it tells the others' likeliest.
func (r *reader) drafted(c *probe.Choice) {
	drafts, told := 0, false
	for _, t := range c.Tokens {
		if len(t.Top) > 0 {
			told = true
		} else if t.Logprob == (probe.Logprob{}) {
			drafts++
		}
	}
	if told && drafts > 0 {
		r.strange("%d of %d tokens have a logprob of 0 without alternatives, as accepted drafts of llama-server have: nothing is told of them", drafts, len(c.Tokens))
		c.Told, c.Tokens = false, nil
	}
}

// tidy makes the lists of all servers alike: the likeliest tokens that were asked
// for, no more. Some add the token itself when it is none of them (vLLM), some
// leave it out when it is one (LMDeploy).
func (r *reader) tidy(tokens []probe.Token) {
	for i := range tokens {
		t := &tokens[i]
		if r.spelt {
			t.Bytes = nil
		}
		if n := len(t.Top); n > 0 && !t.Logprob.Null {
			least := t.Top[n-1].Logprob
			own := func(x probe.Ranked) bool { return x.ID == t.ID && x.Text == t.Text || x.ID >= 0 && x.ID == t.ID }
			if !least.Null && t.Logprob.Value > least.Value && !slices.ContainsFunc(t.Top, own) {
				t.Top = append(t.Top, probe.Ranked{ID: t.ID, Text: t.Text, Logprob: t.Logprob})
				sortLikeliest(t.Top)
			}
		}
		if len(t.Top) > r.top {
			t.Top = t.Top[:r.top:r.top]
		}
	}
}

// split takes the prompt off a choice's tokens.
func (r *reader) split(c *probe.Choice) {
	n := r.answer.PromptCount
	if n < 0 || n > len(c.Tokens) {
		r.strange("prompt and answer came as %d tokens together, of which the prompt has %d", len(c.Tokens), n)
		return
	}
	if r.answer.Prompt == nil {
		r.answer.Prompt = c.Tokens[:n:n]
	}
	c.Tokens = c.Tokens[n:]
	text, ok := strings.CutPrefix(c.Text, r.ask.Prompt)
	if !ok {
		r.strange("the prompt that comes back with the answer is not the one that was sent")
	}
	c.Text = text
}

// oneName makes tokens of prompt and answer comparable: they are told apart by id
// where both have one, so ids that only the prompt has are forgotten. Texts that
// only the prompt has are given to the answer's tokens as well.
func (r *reader) oneName() {
	a := r.answer
	texts := map[int]string{}
	for _, t := range a.Prompt {
		for _, x := range append(t.Top, probe.Ranked{ID: t.ID, Text: t.Text}) {
			if x.ID >= 0 && tokenOf(x.Text) < 0 {
				texts[x.ID] = x.Text
			}
		}
	}
	name := func(id int, text *string) {
		if known, ok := texts[id]; ok && tokenOf(*text) >= 0 {
			*text = known
		}
	}
	for i := range a.Choices {
		for k := range a.Choices[i].Tokens {
			t := &a.Choices[i].Tokens[k]
			name(t.ID, &t.Text)
			for n := range t.Top {
				name(t.Top[n].ID, &t.Top[n].Text)
			}
		}
	}
	if len(a.Prompt) == 0 {
		return
	}
	for i := range a.Choices {
		for _, t := range a.Choices[i].Tokens {
			if t.ID < 0 {
				forget(a.Prompt)
				return
			}
		}
	}
}

func forget(tokens []probe.Token) {
	for i := range tokens {
		tokens[i].ID = -1
		for k := range tokens[i].Top {
			tokens[i].Top[k].ID = -1
		}
	}
}
