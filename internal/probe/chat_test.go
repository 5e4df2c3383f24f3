package probe

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// chatter is a server with a template and parsers; its fields are what is wrong.
type chatter struct {
	refuse     Answer              // of every chat, unless zero
	deaf       bool                // the user's message is not in the prompt
	dumb       string              // what chats are answered with
	extra      int                 // tokens that its template adds
	change     func(Ask, *Answer)  // of every answer
	thinks     func(a Ask) Choice  // of a chat, for a model that reasons
	call       Choice              // to a request with a tool
	json       string              // to a request with a schema
	stream     func(Answer) Answer // of a whole answer
	ignoreStop bool
	ignoreN    bool
	ignoreSeed bool
	calls      int
}

func (k *chatter) reply(a Ask) Answer {
	k.calls++
	if a.Kind == Chat && k.refuse.Failure != None {
		return k.refuse
	}
	got := knows(0.8, 0.1, fact, series, copied)(a)
	switch {
	case a.Kind != Chat && a.Kind != Completion:
		return got
	case a.Tools != nil:
		got.Choices = []Choice{k.call}
		if k.call.Finish == "" {
			got.Choices[0] = Choice{Calls: []Call{{"get_weather", `{"city":"Oslo"}`}}, Finish: "tool_calls"}
		}
	case a.Schema != "":
		text := k.json
		if text == "" {
			text = `{"size": "large", "animal": true}`
		}
		got = answer(text, -0.1)
		got.Choices[0].Finish = "stop"
	case a.Kind == Chat && k.thinks != nil:
		got.Choices = []Choice{k.thinks(a)}
	case a.Kind == Chat && k.dumb != "":
		got = answer(k.dumb, math.Log(0.9))
	case a.Sampling == Greedy && len(a.Messages) > 0 && content(&a) == capitalChat:
		got = answer("The capital of France is Paris, on the river Seine.", -0.3)
	}
	if a.Kind == Chat {
		got.PromptCount = 10 + k.extra + len(strings.Fields(content(&a)))
		if k.deaf {
			got.PromptCount = 22
		}
	}
	c := &got.Choices[0]
	if len(c.Tokens) > a.Max {
		c.Tokens, c.Text = c.Tokens[:a.Max], ""
		for _, x := range c.Tokens {
			c.Text += x.Text
		}
	}
	got.AnswerCount = min(got.AnswerCount, a.Max)
	if a.Stop != nil && !k.ignoreStop {
		c.Text, _, _ = strings.Cut(c.Text, a.Stop[0])
	}
	if a.N > 1 && !k.ignoreN {
		got.Choices = slices.Repeat(got.Choices, a.N)
	}
	if a.Seed != nil && k.ignoreSeed {
		c.Text += strings.Repeat("x", k.calls)
	}
	if a.Stream {
		got.Ended, got.Chunks = true, len(c.Tokens)
		if k.stream != nil {
			got = k.stream(got)
		}
	}
	if k.change != nil {
		k.change(a, &got)
	}
	return got
}

// verdicts runs one probe against a number of servers.
func verdicts(t *testing.T, id string, cases []chatCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			target := all()
			if c.target != nil {
				c.target(target)
			}
			v, _ := talk{t: t, target: target, level: Default, reply: c.server.reply}.run(id)
			check(t, v, c.want, c.signs...)
		})
	}
}

type chatCase struct {
	name   string
	target func(*Target)
	server chatter
	want   Outcome
	signs  []Sign
}

func TestChat(t *testing.T) {
	t.Parallel()
	local := func(extra int) func(*Target) {
		return func(x *Target) {
			x.Local = &Local{Dir: "m", Count: func(m []Message) (int, bool) { return 10 + extra + len(strings.Fields(m[0].Content)), true }}
		}
	}
	noTemplate := status(400, "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the tokenizer does not define one.")
	verdicts(t, "chat", []chatCase{
		{"sound", nil, chatter{}, Pass, nil},
		{"sound, no chat", func(x *Target) { x.Has.Chat = false }, chatter{}, CantTell, nil},
		{"sound, our rendering has as many tokens", local(0), chatter{}, Pass, nil},
		{"our rendering has one more", local(1), chatter{}, CantTell, nil},
		{"our rendering has a system prompt more", local(24), chatter{}, Fail, []Sign{SignTemplate}},
		{"the message is lost", nil, chatter{deaf: true}, Fail, []Sign{SignTemplate}},
		{"answers have nothing to do with the question", nil, chatter{dumb: "Hello! I am here to help you with anything."}, Fail, []Sign{SignTemplate}},
		{"nothing to do with it, but in doubt", nil, chatter{dumb: "Hello! I am here to help you with anything.", change: func(a Ask, r *Answer) {
			if a.Kind == Chat {
				for i := range r.Choices[0].Tokens {
					r.Choices[0].Tokens[i].Logprob.Value = -3
				}
			}
		}}, Pass, nil},
		{"a model that thinks of something else first", nil, chatter{thinks: func(Ask) Choice {
			return Choice{Reasoning: "Okay, so I need to find out what this is about", Finish: "length"}
		}}, Pass, nil},
		{"nothing is counted", nil, chatter{change: func(_ Ask, r *Answer) { r.PromptCount = -1 }}, CantTell, nil},
		{"a base model without a template (vLLM)", func(x *Target) { x.Root = "/models/Base-1B" }, chatter{refuse: noTemplate}, CantTell, nil},
		{"a chat model without a template (vLLM)", nil, chatter{refuse: noTemplate}, Fail, []Sign{SignChatFails}},
		{"its files have a template", func(x *Target) {
			x.Root = "/models/Base-1B"
			x.Local = &Local{Dir: "m", Render: func([]Message) (string, bool) { return "", true }}
		}, chatter{refuse: noTemplate}, Fail, []Sign{SignChatFails}},
		{"a broken template", nil, chatter{refuse: status(400, "unexpected '}' in template")}, Fail, []Sign{SignChatFails}},
		{"a template that is an error", nil, chatter{refuse: status(500, "Internal Server Error")}, Fail, []Sign{SignChatFails}},
		{"no such route", nil, chatter{refuse: failure(Unsupported)}, CantTell, nil},
		{"busy", nil, chatter{refuse: status(429, "")}, CantTell, nil},
		{"slow", nil, chatter{refuse: failure(TimedOut)}, CantTell, nil},
		{"nothing is answered at all", nil, chatter{refuse: status(400, "no"), change: func(a Ask, r *Answer) {
			if a.Kind == Completion {
				*r = status(400, "no")
			}
		}}, CantTell, nil},
	})
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	thinks := func(short, long, off Choice) chatter {
		return chatter{thinks: func(a Ask) Choice {
			switch {
			case a.Thinking != nil:
				return off
			case a.Max == thinkLength:
				return long
			}
			return short
		}}
	}
	begun := Choice{Reasoning: "The user asks", Finish: "length"}
	both := Choice{Reasoning: "The user asks", Text: "Paris.", Finish: "stop"}
	only := Choice{Text: "Paris.", Finish: "stop"}
	lost := Choice{Reasoning: "Paris.", Finish: "stop"}
	left := Choice{Reasoning: "The user", Text: " asks</think>Paris.", Finish: "stop"}
	raw := Choice{Text: "<think>The user asks</think>Paris.", Finish: "stop"}
	verdicts(t, "reasoning", []chatCase{
		{"does not reason", nil, chatter{}, Pass, nil},
		{"sound", nil, thinks(begun, both, only), Pass, nil},
		{"thinks on", nil, thinks(begun, begun, begun), CantTell, nil},
		{"the answer is lost", nil, thinks(begun, lost, only), Fail, []Sign{SignReasoning}},
		{"the answer without thinking is lost", nil, thinks(begun, both, lost), Fail, []Sign{SignReasoning}},
		{"a tag is left", nil, thinks(begun, left, only), Fail, []Sign{SignReasoning}},
		{"no parser", nil, thinks(raw, raw, only), CantTell, nil},
		{"nothing answered", nil, chatter{refuse: status(500, "")}, CantTell, nil},
	})
}

func TestTools(t *testing.T) {
	t.Parallel()
	text := Choice{Text: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>", Finish: "stop"}
	verdicts(t, "tools", []chatCase{
		{"sound", nil, chatter{}, Pass, nil},
		{"takes no tools", func(x *Target) { x.Has.Tools = false }, chatter{}, CantTell, nil},
		{"a call as text", nil, chatter{call: text}, Fail, []Sign{SignTools}},
		{"a call as text, no parser is set", func(x *Target) { x.Settings = map[string]string{"tool_call_parser": "None"} }, chatter{call: text}, CantTell, nil},
		{"a call as text, a parser is set", func(x *Target) { x.Settings = map[string]string{"tool_call_parser": "glm"} }, chatter{call: text}, Fail, []Sign{SignTools}},
		{"a call in the reasoning", nil, chatter{call: Choice{Reasoning: text.Text, Finish: "stop"}}, Fail, []Sign{SignReasoning}},
		{"a call that is still thought of", nil, chatter{call: Choice{Reasoning: text.Text, Finish: "length"}}, CantTell, nil},
		{"a model that cannot", nil, chatter{call: Choice{Text: "The weather in Oslo is nice.", Finish: "stop"}}, CantTell, nil},
		{"another function", nil, chatter{call: Choice{Calls: []Call{{"weather", "{}"}}, Finish: "tool_calls"}}, CantTell, nil},
		{"half a call", nil, chatter{call: Choice{Calls: []Call{{"get_weather", `{"city":`}}, Finish: "length"}}, CantTell, nil},
		{"refused", nil, chatter{change: func(a Ask, r *Answer) {
			if a.Tools != nil {
				*r = failure(Unsupported)
			}
		}}, CantTell, nil},
	})
}

func TestSchema(t *testing.T) {
	t.Parallel()
	cut := func(_ Ask, r *Answer) { r.Choices[0].Finish = "length" }
	verdicts(t, "schema", []chatCase{
		{"sound", nil, chatter{}, Pass, nil},
		{"sound, with white space", nil, chatter{json: "\n {\n \"animal\": false,\t\"size\":\"small\"} \n"}, Pass, nil},
		{"takes no schema", func(x *Target) { x.Has.Schema = false }, chatter{}, CantTell, nil},
		{"prose", nil, chatter{json: "An elephant is large."}, Fail, []Sign{SignSchema}},
		{"fenced", nil, chatter{json: "```json\n{\"size\": \"large\", \"animal\": true}\n```"}, Fail, []Sign{SignSchema}},
		{"another word", nil, chatter{json: `{"size": "huge", "animal": true}`}, Fail, []Sign{SignSchema}},
		{"another type", nil, chatter{json: `{"size": "large", "animal": "yes"}`}, Fail, []Sign{SignSchema}},
		{"a field too many", nil, chatter{json: `{"size": "large", "animal": true, "legs": 4}`}, Fail, []Sign{SignSchema}},
		{"text behind it", nil, chatter{json: `{"size": "large", "animal": true} Yes.`}, Fail, []Sign{SignSchema}},
		{"cut", nil, chatter{json: `{"size": "lar`, change: cut}, CantTell, nil},
		{"prose, cut", nil, chatter{json: `An elephant is`, change: cut}, Fail, []Sign{SignSchema}},
		{"empty", nil, chatter{json: " "}, CantTell, nil},
		{"refused", nil, chatter{change: func(a Ask, r *Answer) {
			if a.Schema != "" {
				*r = failure(Unsupported)
			}
		}}, CantTell, nil},
	})
}

func TestStream(t *testing.T) {
	t.Parallel()
	text := func(f func(string) string) func(Answer) Answer {
		return func(a Answer) Answer {
			a.Choices[0].Text = f(a.Choices[0].Text)
			return a
		}
	}
	verdicts(t, "stream", []chatCase{
		{"sound", nil, chatter{}, Pass, nil},
		{"sound, raw text only", func(x *Target) { x.Has.Chat = false }, chatter{}, Pass, nil},
		{"no end mark", nil, chatter{stream: func(a Answer) Answer { a.Ended = false; return a }}, Fail, []Sign{SignStream}},
		{"empty", nil, chatter{stream: text(func(string) string { return "" })}, Fail, []Sign{SignStream}},
		{"the end is missing", nil, chatter{stream: text(func(s string) string { return s[:len(s)-7] })}, Fail, []Sign{SignStream}},
		{"another field", nil, chatter{stream: func(a Answer) Answer {
			c := &a.Choices[0]
			c.Reasoning, c.Text = c.Text, ""
			return a
		}}, Fail, []Sign{SignStream}},
		{"another word, a near choice", nil, chatter{stream: text(func(s string) string { return strings.Replace(s, "Paris", "London", 1) })}, CantTell, nil},
		{"an error", nil, chatter{stream: func(Answer) Answer { return status(500, "boom") }}, Fail, []Sign{SignStream}},
		{"slow", nil, chatter{stream: func(Answer) Answer { return failure(TimedOut) }}, CantTell, nil},
		{"nothing whole", nil, chatter{change: func(_ Ask, r *Answer) { *r = failure(TimedOut) }}, CantTell, nil},
	})
	// A clear choice does not turn by noise, where repeats show none.
	whole := answer("The capital of France is Paris", -0.1)
	for i := range whole.Choices[0].Tokens {
		whole.Choices[0].Tokens[i].Top[1].Logprob.Value = -4
	}
	other := answer("The capital of France is London", -0.1)
	other.Ended = true
	ask := Ask{Kind: Chat, Sampling: Greedy, Messages: []Message{{"user", capitalChat}}}
	for _, c := range []struct {
		floor Floor
		want  Outcome
	}{{Floor{Known: true, Diverged: -1}, Fail}, {Floor{Known: true, Diverged: 3}, CantTell}, {Floor{}, CantTell}} {
		s := &State{Target: all(), Floor: c.floor, Earlier: map[string][][]Asked{"first": {{{ask, whole}}}}, Rounds: [][]Asked{{{ask, other}}}}
		if v := streamJudge(s); v.Outcome != c.want {
			t.Errorf("%+v: %s %s", c.floor, v.Outcome, v.Text)
		}
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	verdicts(t, "parameters", []chatCase{
		{"sound", nil, chatter{}, Pass, nil},
		{"sound, no seed", func(x *Target) { x.Has.Seed = false }, chatter{}, Pass, nil},
		{"stop is shown", nil, chatter{change: func(a Ask, r *Answer) {
			if a.Stop != nil {
				r.Choices[0].Text += a.Stop[0]
			}
		}}, Pass, nil},
		{"stop is ignored", nil, chatter{ignoreStop: true}, Fail, []Sign{SignParameter}},
		{"another answer this time", nil, chatter{change: func(a Ask, r *Answer) {
			if a.Stop != nil {
				r.Choices[0].Text = "Something else"
			}
		}}, CantTell, nil},
		{"n is ignored", nil, chatter{ignoreN: true}, CantTell, nil},
		{"n is refused (llama.cpp)", nil, chatter{change: func(a Ask, r *Answer) {
			if a.N > 1 {
				*r = Answer{Failure: Unsupported, Error: "Field 'n': Value must be between 1 <= value <= 1, but got 2"}
			}
		}}, Pass, nil},
		{"seed is ignored", nil, chatter{ignoreSeed: true}, CantTell, nil},
		{"max_tokens is ignored", nil, chatter{change: func(a Ask, r *Answer) { r.AnswerCount = 400 }}, Fail, []Sign{SignParameter}},
		{"nothing answered", nil, chatter{change: func(_ Ask, r *Answer) { *r = failure(TimedOut) }}, CantTell, nil},
	})
}
