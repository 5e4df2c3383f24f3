package endpointtest

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/endpoint"
	"shakedown/internal/probe"
)

// Check holds an engine's dialect against the contract: what probe.Features claims
// must be answered, what it does not claim must be told as unsupported or left out,
// and equal questions must have equal answers, however they are put.
func Check(t *testing.T, e *Engine) {
	server := httptest.NewServer(e.Handler())
	t.Cleanup(server.Close)
	s, err := endpoint.New(server.URL, endpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	target, _, exchanges, err := s.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if target.Engine != e.Name || target.Version != e.Version || target.Model != "letters" {
		t.Errorf("this is %s %s with %s, not %s %s with letters", target.Engine, target.Version, target.Model, e.Name, e.Version)
	}
	if len(exchanges) > 4 || len(e.Bodies()) > 0 {
		t.Errorf("recognising it took %d requests and %d with a body", len(exchanges), len(e.Bodies()))
	}
	for _, part := range []struct {
		name string
		f    func(*contract)
	}{
		{"chat", (*contract).chat}, {"completion", (*contract).completion}, {"ids", (*contract).byID}, {"echo", (*contract).echo}, {"sampled", (*contract).sampled},
		{"stop", (*contract).stop}, {"several", (*contract).several}, {"cache", (*contract).cache}, {"tools", (*contract).tools}, {"thinking", (*contract).thinking},
		{"schema", (*contract).schema}, {"NaN", (*contract).nan}, {"too long", (*contract).tooLong}, {"health", (*contract).health},
	} {
		t.Run(part.name, func(t *testing.T) { part.f(&contract{t, e, s, target}) })
	}
}

type contract struct {
	t      *testing.T
	e      *Engine
	s      *endpoint.Server
	target *probe.Target
}

// try sends an ask and returns what came.
func (c *contract) try(a probe.Ask) probe.Answer {
	c.t.Helper()
	got, x := c.s.Send(c.t.Context(), c.target, a)
	if x.Failure != got.Failure || x.Status != got.Status && x.Status != 200 || x.Request != "" && !json.Valid([]byte(x.Request)) {
		c.t.Errorf("the exchange %+v is not that of the answer %+v", x, got)
	}
	return got
}

// ask sends an ask that must be answered.
func (c *contract) ask(a probe.Ask) probe.Answer {
	c.t.Helper()
	got, x := c.s.Send(c.t.Context(), c.target, a)
	if !got.OK() || got.Status != 200 || got.Odd != "" {
		c.t.Fatalf("%s: %s %s (odd: %s)\n%s %s\n%s", a.Label, got.Failure, got.Error, got.Odd, x.Path, x.Request, x.Answer)
	}
	return got
}

// refused says whether a feature is missing, and then that the ask is told as
// unsupported.
func (c *contract) refused(has bool, a probe.Ask) bool {
	c.t.Helper()
	if has {
		return false
	}
	if got := c.try(a); got.Failure != probe.Unsupported || got.Error == "" {
		c.t.Errorf("not claimed, and answered with %q %s", got.Failure, got.Error)
	}
	return true
}

const (
	length = 8
	top    = 4
	words  = "The quick fox"
)

func (c *contract) chatAsk() probe.Ask {
	return probe.Ask{Kind: probe.Chat, Messages: []probe.Message{{Role: "user", Content: words}}, Sampling: probe.Greedy, Max: length, Top: top, IgnoreEOS: c.target.Has.IgnoreEOS}
}

func (c *contract) textAsk() probe.Ask {
	return probe.Ask{Kind: probe.Completion, Prompt: words, Sampling: probe.Greedy, Max: length, Top: top, IgnoreEOS: c.target.Has.IgnoreEOS}
}

// wanted is what the model itself says.
func (c *contract) wanted() result {
	return generate(&wish{prompt: encode(words), max: length, ignoreEOS: c.target.Has.IgnoreEOS}, 0)
}

// tokens holds the tokens of an answer against the model.
func (c *contract) tokens(a *probe.Answer, want []told, ids, own bool) {
	c.t.Helper()
	choice := &a.Choices[0]
	if !choice.Told || len(choice.Tokens) != len(want) {
		c.t.Fatalf("%d tokens (told %v), want %d", len(choice.Tokens), choice.Told, len(want))
	}
	c.places(choice.Tokens, want, ids, own)
}

func (c *contract) places(tokens []probe.Token, want []told, ids, texts bool) {
	c.t.Helper()
	for i, x := range tokens {
		w := want[i]
		switch {
		case w.all == nil:
			if !x.Logprob.Null || len(x.Top) > 0 {
				c.t.Errorf("the first token of a prompt has a logprob: %+v", x)
			}
			continue
		case math.Abs(x.Logprob.Value-w.p) > 1e-9 || x.Logprob.Null:
			c.t.Errorf("token %d has %v, want %v", i, x.Logprob, w.p)
		case ids && x.ID != w.id || !ids && x.ID >= 0:
			c.t.Errorf("token %d has the id %d, want %d (told: %v)", i, x.ID, w.id, ids)
		case texts && x.Text != decode([]int{w.id}):
			c.t.Errorf("token %d is %q, want %q", i, x.Text, decode([]int{w.id}))
		case len(x.Top) != top:
			c.t.Errorf("token %d has %d alternatives, want %d", i, len(x.Top), top)
		}
		for k, r := range x.Top {
			if math.Abs(r.Logprob.Value-w.all[k].p) > 1e-9 || ids && r.ID != w.all[k].id || !ids && r.ID >= 0 {
				c.t.Errorf("token %d: alternative %d is %+v, want %+v", i, k, r, w.all[k])
			}
		}
	}
}

func (c *contract) chat() {
	a := c.chatAsk()
	want := c.wanted()
	whole := c.ask(a)
	if len(whole.Choices) != 1 || whole.Choices[0].Text != want.text || whole.Choices[0].Finish != want.finish || whole.PromptCount != len(words) || whole.AnswerCount != len(want.tokens) || whole.Model != "letters" {
		c.t.Errorf("%+v\nwant %+v", whole, want)
	}
	c.tokens(&whole, want.tokens, c.e.numbered, !c.e.spelt)
	a.Stream = true
	parts := c.ask(a)
	if !parts.Ended || parts.Chunks < length || parts.Choices[0].Text != want.text || parts.Choices[0].Finish != want.finish || parts.AnswerCount != len(want.tokens) {
		c.t.Errorf("as a stream: %+v\nwant %+v", parts, want)
	}
	c.tokens(&parts, want.tokens, c.e.numbered, !c.e.spelt)
	a.Leave = 2
	if left := c.ask(a); left.Ended || left.Chunks != 2 {
		c.t.Errorf("a stream that was left: %+v", left)
	}
	a.Stream, a.Leave, a.Top = false, 0, 0
	if bare := c.ask(a); !bare.Choices[0].Told || len(bare.Choices[0].Tokens) != len(want.tokens) || len(bare.Choices[0].Tokens[0].Top) > 0 {
		c.t.Errorf("logprobs without alternatives: %+v", bare.Choices[0])
	}
	a.Top = -1
	if plain := c.ask(a); plain.Choices[0].Told || len(plain.Choices[0].Tokens) > 0 {
		c.t.Errorf("no logprobs were asked for: %+v", plain.Choices[0])
	}
}

func (c *contract) completion() {
	a := c.textAsk()
	want := c.wanted()
	got := c.ask(a)
	if got.Choices[0].Text != want.text || got.Choices[0].Finish != want.finish || got.PromptCount != len(words) || got.AnswerCount != len(want.tokens) {
		c.t.Errorf("%+v\nwant %+v", got, want)
	}
	native := c.e.Name == "sglang"
	if !c.e.silent {
		c.tokens(&got, want.tokens, c.e.numbered || native, true)
	}
	a.Stream = true
	parts := c.ask(a)
	if parts.Choices[0].Text != want.text || !parts.Ended {
		c.t.Errorf("as a stream: %+v", parts)
	}
	a.Stream, a.Sampling, a.Top = false, probe.Plain, -1
	if got := c.ask(a); len(got.Choices) != 1 || got.Choices[0].Text == "" {
		c.t.Errorf("without sampling: %+v", got)
	}
	body := c.e.Bodies()
	if last := body[len(body)-1]; strings.Contains(last, "temperature") || strings.Contains(last, "top_p") {
		c.t.Errorf("a plain request has sampling fields: %s", last)
	}
}

func (c *contract) byID() {
	if c.refused(c.target.Has.Tokenize, probe.Ask{Kind: probe.Tokenize, Prompt: words}) {
		return
	}
	ids := c.ask(probe.Ask{Kind: probe.Tokenize, Prompt: words}).Tokens
	if !slices.Equal(ids, encode(words)) {
		c.t.Fatalf("tokens %v", ids)
	}
	a := c.textAsk()
	a.Prompt, a.Tokens = "", ids
	if c.refused(c.target.Has.TokenPrompts, a) {
		return
	}
	want := c.wanted()
	got := c.ask(a)
	if got.Choices[0].Text != want.text {
		c.t.Errorf("%q, want %q", got.Choices[0].Text, want.text)
	}
	c.tokens(&got, want.tokens, c.target.Has.IDs, false)
}

// echo: what was decoded and what a prefill says of the same tokens are the same,
// under the same names, by text and by id.
func (c *contract) echo() {
	a := c.textAsk()
	a.Echo, a.Prompt = true, words+c.wanted().text
	a.Max = 1
	if c.refused(c.target.Has.Echo, a) {
		return
	}
	want := promptTold(encode(a.Prompt))
	got := c.ask(a)
	if len(got.Prompt) != len(want) || strings.Contains(got.Choices[0].Text, words) {
		c.t.Fatalf("%d tokens of the prompt, want %d; text %q", len(got.Prompt), len(want), got.Choices[0].Text)
	}
	native := c.e.Name == "sglang"
	c.places(got.Prompt, want, native, true)
	if p, q := got.Prompt[len(want)-1], got.Choices[0].Tokens[0]; (p.ID < 0) != (q.ID < 0) {
		c.t.Errorf("tokens of prompt and answer have different names: %+v and %+v", p, q)
	}
	a.Tokens, a.Prompt = encode(a.Prompt), ""
	got = c.ask(a)
	if len(got.Prompt) != len(want) {
		c.t.Fatalf("by id: %d tokens of the prompt, want %d", len(got.Prompt), len(want))
	}
	c.places(got.Prompt, want, c.target.Has.IDs, true)
}

func (c *contract) sampled() {
	a := c.textAsk()
	seed := 3
	a.Sampling, a.Seed = probe.Hot, &seed
	first, second := c.ask(a), c.ask(a)
	seed = 4
	if third := c.ask(a); first.Choices[0].Text != second.Choices[0].Text || first.Choices[0].Text == third.Choices[0].Text {
		c.t.Errorf("the seed has no effect: %q %q %q", first.Choices[0].Text, second.Choices[0].Text, third.Choices[0].Text)
	}
	if n := len(first.Choices[0].Tokens); !c.e.silent && n > 0 && len(first.Choices[0].Tokens[n-1].Top) != top {
		c.t.Errorf("alternatives of a sampled token: %+v", first.Choices[0].Tokens[n-1])
	}
}

func (c *contract) stop() {
	a := c.textAsk()
	text := c.wanted().text
	a.Stop = []string{text[2:4]}
	if got := c.ask(a); got.Choices[0].Text != text[:strings.Index(text, text[2:4])] || got.Choices[0].Finish != "stop" {
		c.t.Errorf("%q (%s) of %q before %q", got.Choices[0].Text, got.Choices[0].Finish, text, a.Stop)
	}
}

func (c *contract) several() {
	a := c.textAsk()
	a.Sampling, a.N = probe.Hot, 3
	want := 3
	if c.e.one {
		want = 1
	}
	got := c.ask(a)
	if len(got.Choices) != want {
		c.t.Errorf("%d answers, want %d", len(got.Choices), want)
	}
	if sum := want * length; c.target.Has.IgnoreEOS && got.AnswerCount != sum {
		c.t.Errorf("%d tokens counted, want %d", got.AnswerCount, sum)
	}
}

func (c *contract) cache() {
	a := c.textAsk()
	a.Prompt = "once and again"
	c.ask(a)
	if second := c.ask(a); second.Cached == 0 {
		c.t.Error("the second time nothing comes from the cache")
	} else if told := c.e.counts || c.e.Name == "sglang"; told != (second.Cached > 0) {
		c.t.Errorf("cached %d, told: %v", second.Cached, told)
	}
	if !c.target.Has.NoCache {
		return
	}
	a.NoCache = true
	if third := c.ask(a); third.Cached > 0 {
		c.t.Errorf("kept from the cache, and %d tokens come from it", third.Cached)
	}
}

func (c *contract) tools() {
	a := c.chatAsk()
	a.Tools, a.Top = []probe.Tool{{Name: "clock", Description: "tells the time", Parameters: `{"type":"object","properties":{"zone":{"type":"string"}}}`}}, -1
	if c.refused(c.target.Has.Tools, a) {
		return
	}
	if got := c.ask(a); len(got.Choices[0].Calls) != 1 || got.Choices[0].Calls[0] != (probe.Call{Name: "clock", Arguments: `{"zone":"UTC"}`}) || got.Choices[0].Finish != "tool_calls" {
		c.t.Errorf("%+v", got.Choices[0])
	}
	a.Stream = true
	if got := c.ask(a); len(got.Choices[0].Calls) != 1 || got.Choices[0].Calls[0] != (probe.Call{Name: "clock", Arguments: "all"}) {
		c.t.Errorf("as a stream, in pieces: %+v", got.Choices[0])
	}
}

func (c *contract) thinking() {
	a := c.chatAsk()
	on := true
	a.Thinking, a.Top = &on, -1
	if got := c.ask(a); got.Choices[0].Reasoning != "think" || got.Choices[0].Text != "" {
		c.t.Errorf("%+v", got.Choices[0])
	}
	a.Stream = true
	if got := c.ask(a); got.Choices[0].Reasoning != "think" {
		c.t.Errorf("as a stream: %+v", got.Choices[0])
	}
}

func (c *contract) schema() {
	a := c.chatAsk()
	a.Schema, a.Top = `{"type":"object","properties":{"a":{"type":"integer"}}}`, -1
	if c.refused(c.target.Has.Schema, a) {
		return
	}
	if got := c.ask(a); got.Choices[0].Text != `{"a":1}` {
		c.t.Errorf("%+v", got.Choices[0])
	}
}

// nan: numbers that are none come as Null, or as the refusal of a server that
// can't write them; neither is taken for a missing feature.
func (c *contract) nan() {
	a := c.chatAsk()
	a.Messages[0].Content = Poison
	got := c.try(a)
	if c.e.nanIs400 {
		if got.Failure != probe.Status || got.Status != 400 || !strings.Contains(got.Error, "Out of range float values are not JSON compliant") {
			c.t.Errorf("%s %d %s", got.Failure, got.Status, got.Error)
		}
		a.Stream = true
		got = c.try(a)
	}
	if !got.OK() || len(got.Choices) == 0 || len(got.Choices[0].Tokens) == 0 {
		c.t.Fatalf("%s %s", got.Failure, got.Error)
	}
	for _, x := range got.Choices[0].Tokens {
		if !x.Logprob.Null || slices.ContainsFunc(x.Top, func(r probe.Ranked) bool { return !r.Logprob.Null }) {
			c.t.Errorf("%+v", x)
		}
	}
}

func (c *contract) tooLong() {
	a := c.textAsk()
	a.Prompt = strings.Repeat("a", context)
	got := c.try(a)
	if got.Failure != probe.Status || got.Status != 400 || !strings.Contains(got.Error, "context length") {
		c.t.Errorf("%s %d %s", got.Failure, got.Status, got.Error)
	}
}

func (c *contract) health() {
	if h := c.try(probe.Ask{Kind: probe.Health}); c.target.Has.Health && c.e.Name != "" && !h.OK() {
		c.t.Errorf("health: %s %s", h.Failure, h.Error)
	}
	m := c.try(probe.Ask{Kind: probe.Metrics})
	if m.OK() == (m.Metrics == nil) || !m.OK() && m.Failure != probe.Unsupported {
		c.t.Errorf("metrics: %s %s %v", m.Failure, m.Error, m.Metrics)
	}
	if c.e.Name == "vllm" && m.Metrics["vllm:num_requests_running"] != 3 {
		c.t.Errorf("metrics are summed over labels: %v", m.Metrics)
	}
}
