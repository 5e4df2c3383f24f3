package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// The probes of this file look at what lies between a request and the model: the
// chat template, the parsers of reasoning and tool calls, streams, parameters. The
// arithmetic may be right where they fail. Models differ in what they can do, so
// that a failure needs the mark of a machine: a token count, a tag, a field.
const (
	// longerChat is capitalChat behind words that a prompt must grow by.
	longerChat = "Here are the things on my table: a lamp, a map, two keys, a green bottle, an old clock, three pencils, a letter and a small wooden box. " + capitalChat
	repeatChat = "Repeat this sentence exactly: The cook put salt, then honey, then lemon into the pot."
	toolChat   = "What is the weather in Oslo right now? Use the tool."
	schemaChat = "Is an elephant large or small? Answer in JSON."

	// countBy is how many tokens a rendering may be off: a second token at the
	// beginning, or a date that is another one today, makes no other prompt.
	countBy = 2
	// decidedBy is the distance in logprob of the two likeliest tokens beyond which
	// no rounding changes the choice.
	decidedBy = 1.0
)

// Lengths of answers in tokens.
const (
	chatLength   = 24
	thinkLength  = 256
	toolLength   = 96
	schemaLength = 64
	shortLength  = 12
)

var chatProbes = []Probe{
	{
		ID: "chat", Title: "a chat reaches the model as its template wants", From: Default, Gentle: true,
		Why:    "A missing, broken or foreign template spoils chats only: raw text is continued rightly, and health is well.",
		Source: "vLLM without a chat template: ready, healthy, chat 400; llama.cpp takes ChatML in silence",
		Most: func(Level) Cost {
			return Cost{Requests: 2, PromptTokens: len(longerChat) + len(repeatChat), AnswerTokens: 1 + chatLength, Together: 1}
		},
		Next: chatNext, Judge: chatJudge,
	},
	{
		ID: "reasoning", Title: "reasoning and answer come in their own fields", From: Default, Gentle: true,
		Why:    "A parser of another model puts the answer into the reasoning field, or leaves the reasoning in the answer.",
		Source: "vLLM and SGLang reports of empty content with full reasoning",
		Most: func(Level) Cost {
			return Cost{Requests: 2, PromptTokens: 2 * len(capitalChat), AnswerTokens: thinkLength + chatLength, Together: 1}
		},
		Next: reasoningNext, Judge: reasoningJudge,
	},
	{
		ID: "tools", Title: "a tool call comes as a call", From: Default, Gentle: true,
		Why:    "With the wrong parser a call stays in the text, or is lost in the reasoning.",
		Source: "vLLM and SGLang reports of tool calls in content and in reasoning_content",
		Most: func(Level) Cost {
			return Cost{Requests: 1, PromptTokens: len(toolChat) + len(weather.Name) + len(weather.Description) + len(weather.Parameters), AnswerTokens: toolLength, Together: 1}
		},
		Next: toolsNext, Judge: toolsJudge,
	},
	{
		ID: "schema", Title: "structured output fits its schema", From: Default, Gentle: true,
		Why:    "The grammar holds whatever the model says; without it a request for JSON is answered with anything.",
		Source: "vLLM and SGLang reports of schemas that were ignored or failed to advance",
		Most: func(Level) Cost {
			return Cost{Requests: 1, PromptTokens: len(schemaChat) + len(sizeSchema), AnswerTokens: schemaLength, Together: 1}
		},
		Next: schemaNext, Judge: schemaJudge,
	},
	{
		ID: "stream", Title: "a stream says what the whole answer says", From: Default, Gentle: true,
		Why:    "Streams have their own detokenizer and parsers: text is lost, doubled or put into another field.",
		Source: "SGLang, vLLM and llama.cpp reports of streams without their last tokens",
		Most: func(Level) Cost {
			return Cost{Requests: 1, PromptTokens: len(capitalChat), AnswerTokens: chatLength, Together: 1}
		},
		Next: streamNext, Judge: streamJudge,
	},
	{
		ID: "parameters", Title: "max_tokens, stop, n and seed are obeyed", From: Default, Gentle: true,
		Why:    "A parameter that is taken and ignored costs money, or hides that another server answers.",
		Source: "OpenAI's API; what the engines' own documentation says of it",
		Most: func(Level) Cost {
			return Cost{Requests: 4, PromptTokens: 4 * (len(capitalChat) + len(secondText)), AnswerTokens: chatLength + 4*shortLength, Together: 1}
		},
		Next: parametersNext, Judge: parametersJudge,
	},
}

// chat is a request of one message.
func (s *State) chat(label, text string, max int) Ask {
	return Ask{Kind: Chat, Label: label, Messages: []Message{{Role: "user", Content: text}}, Sampling: Greedy, Max: max, Top: s.top()}
}

// greedyChat is the answer of the probe "first" to capitalChat; nil without one.
func (s *State) greedyChat() *Asked {
	for a := range s.earlier("first") {
		if a.Ask.Kind == Chat && a.Ask.Sampling == Greedy && content(&a.Ask) == capitalChat {
			return a
		}
	}
	return nil
}

func chatNext(s *State) []Ask {
	first := s.greedyChat()
	if !s.Target.Has.Chat || first == nil {
		return nil
	}
	switch len(s.Rounds) {
	case 0:
		return []Ask{s.chat("a longer message", longerChat, 1)}
	case 1:
		if first.Answer.OK() {
			return []Ask{s.chat("repeat a sentence", repeatChat, chatLength)}
		}
	}
	return nil
}

func chatJudge(s *State) Verdict {
	first := s.greedyChat()
	if !s.Target.Has.Chat || first == nil || len(s.Rounds) == 0 {
		return cantTell("the server does not chat", "")
	}
	longer := &s.Rounds[0][0]
	if !first.Answer.OK() {
		return s.chatRefused(first, longer)
	}
	var all []*Asked
	all = append(all, first)
	for _, r := range s.Rounds {
		if r[0].Answer.OK() {
			all = append(all, &r[0])
		}
	}
	if v, ok := s.rendered(all); ok {
		return v
	}
	short, long := first.Answer.PromptCount, longer.Answer.PromptCount
	counted := longer.Answer.OK() && short > 0 && long > 0
	// A vocabulary has few tokens for more than one of these words.
	if words := len(strings.Fields(longerChat)) - len(strings.Fields(capitalChat)); counted && long-short < words/2 {
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignTemplate},
			Text:      fmt.Sprintf("the user's message does not reach the prompt: %d words more make %d tokens more (%d, %d)", words, long-short, short, long),
			Threshold: "half a token for each word",
			Evidence:  []finding.Evidence{request(first.Answer, textOf(&first.Answer), fmt.Sprintf("usage.prompt_tokens is %d", short)), request(longer.Answer, textOf(&longer.Answer), fmt.Sprintf("usage.prompt_tokens is %d", long))},
		}
	}
	if v, ok := s.offTopic(all); ok {
		return v
	}
	if !counted {
		return cantTell("prompt tokens are not counted, so that it is not seen whether a message reaches the prompt", "usage.prompt_tokens")
	}
	text := fmt.Sprintf("a longer message makes a longer prompt (%d, %d tokens)", short, long)
	if s.Target.Local != nil && s.Target.Local.Count != nil {
		text += ", as many as the model's own template makes"
	}
	return Verdict{Outcome: Pass, Text: text}
}

// missing are the words with which servers say that the model has no template.
var missing = regexp.MustCompile(`(?i)(no|without a|must provide a|not have a|default) chat.?template|chat.?template (is )?(not (set|defined|found)|missing|required)`)

// chatModel are names of models that are made for chats.
var chatModel = regexp.MustCompile(`(?i)instruct|chat|assistant|[-_]it\b|[-_]it[-_]`)

// chatRefused is the verdict when a chat comes to nothing.
func (s *State) chatRefused(first, longer *Asked) Verdict {
	a := &first.Answer
	quote := []finding.Evidence{request(*a, a.Error, "a chat")}
	raw := s.rawWorks()
	if a.Failure != Status || a.Status == 429 || a.Status >= 502 || raw == nil || longer.Answer.OK() {
		return cantTell("a chat came to nothing: "+failed(a), "", quote...)
	}
	name := s.Target.Model + " " + s.Target.Root
	render := false
	if l := s.Target.Local; l != nil {
		name += " " + l.Dir
		render = l.Render != nil
	}
	if missing.MatchString(a.Error) && !render && !chatModel.MatchString(name) {
		return cantTell("chats are refused for want of a template, raw text is answered; a base model has none: "+failed(a), "the model's own files (--model-dir)", quote...)
	}
	return Verdict{
		Outcome: Fail, Signs: []Sign{SignChatFails}, Evidence: append(quote, request(raw.Answer, textOf(&raw.Answer), "raw text is answered")),
		Text: "chats are refused, raw text is answered: " + failed(a),
	}
}

// rawWorks is a raw text that was answered; nil for none.
func (s *State) rawWorks() *Asked {
	for a := range s.earlier("first", "known") {
		if a.Ask.Kind == Completion && a.Answer.OK() {
			return a
		}
	}
	return nil
}

// rendered holds the server's prompt tokens against our own rendering's.
func (s *State) rendered(all []*Asked) (Verdict, bool) {
	l := s.Target.Local
	if l == nil || l.Count == nil {
		return Verdict{}, false
	}
	for _, a := range all {
		want, ok := l.Count(a.Ask.Messages)
		got := a.Answer.PromptCount
		if !ok || got <= 0 || got == want {
			continue
		}
		text := fmt.Sprintf("the server's prompt of a chat has %d tokens, the model's own template makes %d", got, want)
		quote := []finding.Evidence{request(a.Answer, content(&a.Ask), fmt.Sprintf("usage.prompt_tokens is %d", got)), {Kind: "config", File: l.Dir, Text: fmt.Sprintf("%d tokens by its template and tokenizer", want)}}
		if d := got - want; d >= -countBy && d <= countBy {
			return cantTell(text+": a second token at the beginning, or a date", "shakedown render DIR", quote...), true
		}
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignTemplate}, Text: text, Evidence: quote,
			Threshold: fmt.Sprintf("more than %d tokens apart", countBy),
		}, true
	}
	return Verdict{}, false
}

// offTopic finds chats that take up no word of what was said, while the same server
// knows the answer from raw text.
func (s *State) offTopic(all []*Asked) (v Verdict, ok bool) {
	for _, r := range s.Earlier["known"] {
		if r[0].Answer.OK() && r[0].Ask.Kind == Chat {
			return v, false // judged there
		}
	}
	known := (&State{Target: s.Target, Level: s.Level, Rounds: s.Earlier["known"], Earlier: s.Earlier}).replies()
	raw := slices.IndexFunc(known, func(r reply) bool { return r.want == "Paris" && r.right && r.own >= trainedBy })
	if raw < 0 {
		return v, false
	}
	var off []*Asked
	for _, a := range all {
		if a.Ask.Max < chatLength {
			continue
		}
		if len(a.Answer.Choices) == 0 {
			return v, false
		}
		c := &a.Answer.Choices[0]
		text := strings.ToLower(c.Text)
		if c.Reasoning != "" || strings.Contains(text, "<think") || len(strings.Fields(text)) < 4 || about(text, content(&a.Ask)) || strings.Contains(text, "paris") || !certain(c) {
			return v, false
		}
		off = append(off, a)
	}
	if len(off) < 2 {
		return v, false
	}
	// A chat is longer than the raw question: where a list of that length is lost in
	// raw text, too, it need not be the template.
	signs, also := []Sign{SignTemplate}, ""
	if lost := slices.IndexFunc(known, func(r reply) bool { return r.sort == copied && !r.right }); lost >= 0 {
		signs = []Sign{SignLong, SignTemplate}
		also = fmt.Sprintf("; nor is a list of raw text repeated (%d tokens of prompt)", known[lost].answer.PromptCount)
	}
	v = Verdict{
		Outcome: Fail, Signs: signs,
		Text:      fmt.Sprintf("raw text is continued rightly (%q), and two chats are answered, with certainty, without a word of what was asked", clip(known[raw].text, 40)) + also,
		Threshold: fmt.Sprintf("no word of four letters or more in common, mean probability of the answer's tokens at least %.1f", trainedBy),
		Evidence:  []finding.Evidence{request(*known[raw].answer, known[raw].text, "raw text")},
	}
	for _, a := range off {
		v.Evidence = append(v.Evidence, request(a.Answer, textOf(&a.Answer), "to "+content(&a.Ask)))
	}
	return v, true
}

// certain says whether the tokens of an answer were likely.
func certain(c *Choice) bool {
	if !c.Told || len(c.Tokens) == 0 {
		return false
	}
	sum := 0.0
	for _, t := range c.Tokens {
		if !t.Logprob.Null {
			sum += math.Exp(t.Logprob.Value)
		}
	}
	return sum/float64(len(c.Tokens)) >= trainedBy
}

// Reasoning.

// reasons says whether the model thinks before it answers: by its field, or its tag.
func (s *State) reasons() bool {
	a := s.greedyChat()
	return a != nil && slices.ContainsFunc(a.Answer.Choices, func(c Choice) bool { return c.Reasoning != "" || strings.Contains(c.Text, "think>") })
}

func reasoningNext(s *State) []Ask {
	if !s.Target.Has.Chat || !s.reasons() {
		return nil
	}
	switch len(s.Rounds) {
	case 0:
		return []Ask{s.chat("think and answer", capitalChat, s.Afford(thinkLength))}
	case 1:
		a := s.chat("answer without thinking", capitalChat, chatLength)
		a.Thinking = new(bool)
		return []Ask{a}
	}
	return nil
}

func reasoningJudge(s *State) Verdict {
	first := s.greedyChat()
	if first == nil || !first.Answer.OK() || len(first.Answer.Choices) == 0 {
		return cantTell("no chat was answered", "")
	}
	if len(s.Rounds) == 0 {
		return Verdict{Outcome: Pass, Text: "the model answers without reasoning"}
	}
	field := false // the server has a reasoning field and uses it
	all := []*Asked{first}
	for _, r := range s.Rounds {
		if r[0].Answer.OK() && len(r[0].Answer.Choices) > 0 {
			all = append(all, &r[0])
		}
	}
	for _, a := range all {
		field = field || a.Answer.Choices[0].Reasoning != ""
	}
	var done *Asked // an answer with both
	for _, a := range all {
		c := &a.Answer.Choices[0]
		switch {
		case c.Text == "" && len(c.Calls) == 0 && c.Finish == "stop" && strings.TrimSpace(c.Reasoning) != "":
			return Verdict{
				Outcome: Fail, Signs: []Sign{SignReasoning},
				Text:     fmt.Sprintf("the answer is lost in the reasoning field: the text is empty, and the model has finished (%s)", a.Ask.Label),
				Evidence: []finding.Evidence{request(a.Answer, c.Reasoning, "the reasoning field; content is empty, finish_reason stop")},
			}
		case field && strings.Contains(c.Text, "think>"):
			return Verdict{
				Outcome: Fail, Signs: []Sign{SignReasoning},
				Text:     fmt.Sprintf("the server has a reasoning field, and reasoning stands in the text (%s)", a.Ask.Label),
				Evidence: []finding.Evidence{request(a.Answer, c.Text, "a tag of reasoning in content")},
			}
		case c.Text != "" && c.Reasoning != "":
			done = a
		}
	}
	if !field {
		return cantTell("reasoning stands in the text between its tags: no parser of reasoning is in use", "whether that is meant")
	}
	if done == nil {
		return cantTell(fmt.Sprintf("the model was still thinking after %d tokens", thinkLength), "a longer answer")
	}
	return Verdict{Outcome: Pass, Text: "reasoning and answer come in their own fields"}
}

// Tools.

var weather = Tool{
	Name: "get_weather", Description: "The weather of a city right now.",
	Parameters: `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
}

// callText finds a tool call that was written as text, in the forms of the common
// families.
var callText = regexp.MustCompile(`<tool_call>|<\|tool_call|<\|python_tag\|>|\[TOOL_CALLS\]|<function=|<function_call>|<｜tool|<\|tool_calls|functools\[|<\|channel\|>commentary|"(name|function)"\s*:\s*"get_weather"`)

func toolsNext(s *State) []Ask {
	if a := s.greedyChat(); len(s.Rounds) > 0 || !s.Target.Has.Tools || a == nil || !a.Answer.OK() {
		return nil
	}
	a := s.chat("a tool to be called", toolChat, s.Afford(toolLength))
	a.Tools, a.Thinking, a.Top = []Tool{weather}, new(bool), -1
	if !s.reasons() {
		a.Thinking = nil
	}
	return []Ask{a}
}

func toolsJudge(s *State) Verdict {
	if len(s.Rounds) == 0 {
		return cantTell("not asked: the server takes no tools, or answers no chat", "")
	}
	a := &s.Rounds[0][0].Answer
	if !a.OK() || len(a.Choices) == 0 {
		return cantTell("a request with a tool is not answered: "+failed(a), "", request(*a, a.Error, ""))
	}
	c := &a.Choices[0]
	if len(c.Calls) > 0 {
		call := c.Calls[0]
		said := fmt.Sprintf("%s(%s)", call.Name, call.Arguments)
		if call.Name == weather.Name && json.Valid([]byte(call.Arguments)) {
			return Verdict{Outcome: Pass, Text: "the tool is called: " + clip(said, 80)}
		}
		return cantTell("the tool is called in another form than it has: "+clip(said, 80)+"; a small model does that too", "", request(*a, said, ""))
	}
	fail := func(sign Sign, text, quote, note string) Verdict {
		return Verdict{Outcome: Fail, Signs: []Sign{sign}, Text: text, Evidence: []finding.Evidence{request(*a, quote, note)}}
	}
	switch {
	case callText.MatchString(c.Text):
		if parser, ok := s.toolParser(); ok && parser == "" {
			return cantTell("a tool call comes as text, and the server runs without a parser of tool calls", "whether tools are wanted", request(*a, c.Text, "a tool call in content"))
		}
		return fail(SignTools, "a tool call comes as text: no parser, or that of another model", c.Text, "a tool call in content, and tool_calls is empty")
	case callText.MatchString(c.Reasoning) && c.Text == "" && c.Finish != "length":
		return fail(SignReasoning, "a tool call is lost in the reasoning field", c.Reasoning, "a tool call in the reasoning, and tool_calls is empty")
	}
	return cantTell("the model answers without calling the tool", "a model that is trained for tools", request(*a, c.Text+c.Reasoning, ""))
}

// toolParser is the parser of tool calls by the server's own settings.
func (s *State) toolParser() (name string, ok bool) {
	for _, key := range []string{"tool_call_parser", "frontend.tool_call_parser", "tool-call-parser"} {
		if v, ok := s.Target.Settings[key]; ok {
			if v == "None" || v == "null" || v == "none" {
				v = ""
			}
			return v, true
		}
	}
	return "", false
}

// Structured output.

// sizeSchema has few and short texts that fit, so that a model of any kind comes to
// an end within it.
const sizeSchema = `{"type":"object","properties":{"size":{"type":"string","enum":["large","small"]},"animal":{"type":"boolean"}},"required":["size","animal"],"additionalProperties":false}`

func schemaNext(s *State) []Ask {
	if a := s.greedyChat(); len(s.Rounds) > 0 || !s.Target.Has.Schema || a == nil || !a.Answer.OK() {
		return nil
	}
	a := s.chat("JSON that fits a schema", schemaChat, s.Afford(schemaLength))
	a.Schema, a.Top = sizeSchema, -1
	if s.reasons() {
		a.Thinking = new(bool)
	}
	return []Ask{a}
}

func schemaJudge(s *State) Verdict {
	if len(s.Rounds) == 0 {
		return cantTell("not asked: the server takes no schema, or answers no chat", "")
	}
	a := &s.Rounds[0][0].Answer
	quote := []finding.Evidence{request(*a, textOf(a), "")}
	open := func(why string) Verdict {
		return cantTell(why, "", quote...)
	}
	if !a.OK() || len(a.Choices) == 0 {
		return open("a request with a schema is not answered: " + failed(a))
	}
	c := &a.Choices[0]
	why := schemaFit(c.Text)
	switch {
	case why == "":
		return Verdict{Outcome: Pass, Text: "JSON that fits: " + clip(strings.TrimSpace(c.Text), 80)}
	case strings.TrimSpace(c.Text) == "":
		return open("a request with a schema has an empty text (" + c.Finish + ")")
	case c.Finish != "stop" && beginsFit(c.Text):
		return open("the JSON was cut by its length")
	}
	return Verdict{
		Outcome: Fail, Signs: []Sign{SignSchema}, Evidence: quote,
		Text:      "structured output was asked for and taken, and the answer does not fit: " + why,
		Threshold: "response_format json_schema with strict: any model's answer fits by construction, or the request is refused",
	}
}

// schemaFit says why a text is not what sizeSchema describes; empty when it is.
func schemaFit(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	var v map[string]any
	if err := d.Decode(&v); err != nil || v == nil {
		return "it is not a JSON object"
	}
	if d.More() {
		return "there is text behind the JSON object"
	}
	size, isString := v["size"].(string)
	_, isBool := v["animal"].(bool)
	switch {
	case !isString || size != "large" && size != "small":
		return fmt.Sprintf("size is %v", v["size"])
	case !isBool:
		return fmt.Sprintf("animal is %v", v["animal"])
	case len(v) != 2:
		return fmt.Sprintf("it has the fields %s", strings.Join(slices.Sorted(maps.Keys(v)), ", "))
	}
	return ""
}

// beginsFit says whether a cut text can be the beginning of one that fits.
func beginsFit(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") || strings.TrimSpace(text) == ""
}

// Streams.

// streamed is what is asked as a stream: the chat of the probe "first", or its raw
// text.
func (s *State) streamed() *Asked {
	if a := s.greedyChat(); a != nil && a.Answer.OK() {
		return a
	}
	for a := range s.earlier("first") {
		if a.Ask.Sampling == Greedy && a.Answer.OK() {
			return a
		}
	}
	return nil
}

func streamNext(s *State) []Ask {
	whole := s.streamed()
	if len(s.Rounds) > 0 || whole == nil {
		return nil
	}
	a := whole.Ask
	a.Stream, a.Label = true, "the same as a stream"
	return []Ask{a}
}

func streamJudge(s *State) Verdict {
	whole := s.streamed()
	if whole == nil || len(s.Rounds) == 0 || len(whole.Answer.Choices) == 0 {
		return cantTell("no whole answer to compare with", "")
	}
	got := &s.Rounds[0][0].Answer
	quote := func(note string) []finding.Evidence {
		return []finding.Evidence{request(whole.Answer, textOf(&whole.Answer), "whole"), request(*got, textOf(got), note)}
	}
	if !got.OK() {
		v := cantTell("the stream came to nothing: "+failed(got), "")
		if got.Failure == Status && got.Status == 500 || got.Failure == Reset {
			v = Verdict{Outcome: Fail, Signs: []Sign{SignStream}, Text: "a whole answer comes, a stream does not: " + failed(got)}
		}
		v.Evidence = quote("stream")
		return v
	}
	fail := func(text string) Verdict {
		return Verdict{Outcome: Fail, Signs: []Sign{SignStream}, Text: text, Evidence: quote("stream")}
	}
	w := &whole.Answer.Choices[0]
	var c Choice
	if len(got.Choices) > 0 {
		c = got.Choices[0]
	}
	same := got.AnswerCount >= 0 && got.AnswerCount == whole.Answer.AnswerCount
	switch {
	case !got.Ended:
		return fail("the stream has no end mark")
	case c.Text == w.Text && c.Reasoning == w.Reasoning:
		return Verdict{Outcome: Pass, Text: fmt.Sprintf("the same text in %d pieces", got.Chunks)}
	case c.Text+c.Reasoning == "" && w.Text+w.Reasoning != "":
		return fail("the stream is empty")
	case c.Reasoning+c.Text == w.Reasoning+w.Text:
		return fail("the stream puts reasoning and text into other fields than the whole answer")
	case same && strings.HasPrefix(w.Reasoning+w.Text, c.Reasoning+c.Text):
		return fail(fmt.Sprintf("the stream lacks the end of the answer, though as many tokens were counted (%d)", got.AnswerCount))
	}
	gap, at, ok := s.gapAt(w, &c)
	switch {
	case !ok:
		return cantTell("the stream says something else than the whole answer, and it is not seen how near the choice was", "logprobs, or a second try", quote("stream")...)
	case gap > decidedBy && s.Floor.Known && s.Floor.Diverged < 0:
		return Verdict{
			Outcome: Fail, Signs: []Sign{SignStream}, Evidence: quote("stream"),
			Text:      fmt.Sprintf("the stream parts from the whole answer at token %d, where the choice was clear (%.1f apart)", at+1, gap),
			Threshold: fmt.Sprintf("the two likeliest tokens are more than %.1f apart in logprob, and repeats of the server agree", decidedBy),
		}
	}
	return cantTell(fmt.Sprintf("the stream parts from the whole answer at token %d; the two likeliest tokens were %.2f apart there, which noise can turn", at+1, gap), "", quote("stream")...)
}

// gapAt is how clear the choice was where a text parts from a whole answer.
func (s *State) gapAt(whole, other *Choice) (gap float64, at int, ok bool) {
	text := ""
	for i, t := range whole.Tokens {
		text += t.Text
		if strings.HasPrefix(other.Text, text) {
			continue
		}
		if !strings.HasPrefix(whole.Text, text) || len(t.Top) < 2 {
			return 0, 0, false
		}
		return t.Top[0].Logprob.Value - t.Top[1].Logprob.Value, i, true
	}
	return 0, 0, false
}

// Parameters.

// stopWord is a word within the greedy answer to be stopped at; empty without one.
func (s *State) stopWord() (*Asked, string) {
	whole := s.streamed()
	if whole == nil || len(whole.Answer.Choices) == 0 {
		return nil, ""
	}
	text := whole.Answer.Choices[0].Text
	words := strings.Fields(text)
	for _, w := range words[min(len(words), 1):] {
		if len(w) > 2 && strings.Count(text, w) == 1 {
			return whole, w
		}
	}
	return nil, ""
}

func parametersNext(s *State) []Ask {
	var asks []Ask
	if whole, word := s.stopWord(); word != "" {
		a := whole.Ask
		a.Stop, a.Label = []string{word}, fmt.Sprintf("stop at %q", word)
		asks = append(asks, a)
	}
	if s.Target.Has.Chat || s.Target.Has.Completions {
		a := s.ask(Completion, "two answers", secondText, secondChat, Hot, shortLength)
		a.N, a.Top = 2, -1
		asks = append(asks, a)
		if s.Target.Has.Seed {
			seed := 7
			a := s.ask(Completion, "a seed", secondText, secondChat, Hot, shortLength)
			a.Seed = &seed
			asks = append(asks, a, a)
		}
	}
	if n := len(s.Rounds); n < len(asks) {
		return asks[n : n+1]
	}
	return nil
}

func parametersJudge(s *State) Verdict {
	if v, ok := s.overlong(); ok {
		return v
	}
	var obeyed, open, refused []string
	var quote []finding.Evidence
	var seeds []*Asked
	for i := range s.Rounds {
		a := &s.Rounds[i][0]
		if a.Answer.Failure == Unsupported {
			refused = append(refused, a.Ask.Label+": "+clip(a.Answer.Error, 80))
			continue
		}
		if !a.Answer.OK() || len(a.Answer.Choices) == 0 {
			open = append(open, a.Ask.Label+": "+failed(&a.Answer))
			continue
		}
		c := &a.Answer.Choices[0]
		switch {
		case a.Ask.Stop != nil:
			word := a.Ask.Stop[0]
			whole, _ := s.stopWord()
			before, _, _ := strings.Cut(textOf(&whole.Answer), word)
			switch {
			case c.Text == before || strings.TrimRight(c.Text, " ") == strings.TrimRight(before, " "):
				obeyed = append(obeyed, "stop")
			case c.Text == before+word:
				obeyed = append(obeyed, "stop (which it shows)")
			case strings.Contains(c.Text, word):
				return Verdict{
					Outcome: Fail, Signs: []Sign{SignParameter},
					Text:     fmt.Sprintf("stop is ignored: the answer goes on behind %q", word),
					Evidence: []finding.Evidence{request(a.Answer, c.Text, a.Ask.Label)},
				}
			default:
				open = append(open, "stop: the answer is another one this time")
			}
		case a.Ask.N > 1:
			if n := len(a.Answer.Choices); n < a.Ask.N {
				open = append(open, fmt.Sprintf("n is ignored: %d answers of %d", n, a.Ask.N))
				quote = append(quote, request(a.Answer, c.Text, a.Ask.Label))
			} else {
				obeyed = append(obeyed, "n")
			}
		case a.Ask.Seed != nil:
			seeds = append(seeds, a)
		}
	}
	if len(seeds) == 2 {
		if x, y := textOf(&seeds[0].Answer), textOf(&seeds[1].Answer); x == y {
			obeyed = append(obeyed, "seed")
		} else {
			open = append(open, "the same seed gives another answer")
			quote = append(quote, request(seeds[0].Answer, x, "seed 7"), request(seeds[1].Answer, y, "seed 7 again"))
		}
	}
	if len(open) > 0 || len(obeyed) == 0 {
		v := cantTell(strings.Join(open, "; "), "")
		if len(open) == 0 {
			v.Text = "nothing was answered that shows it"
		}
		if len(obeyed) > 0 {
			v.Text += "; obeyed: max_tokens, " + strings.Join(obeyed, ", ")
		}
		v.Evidence = quote
		return v
	}
	v := Verdict{Outcome: Pass, Text: "max_tokens, " + strings.Join(obeyed, ", ") + " are obeyed"}
	if len(refused) > 0 {
		v.Text += "; refused by name: " + strings.Join(refused, "; ")
	}
	return v
}

// overlong finds an answer of any probe that is longer than what was asked for.
func (s *State) overlong() (Verdict, bool) {
	for a := range s.earlier(s.ran()...) {
		n := a.Answer.AnswerCount
		for _, c := range a.Answer.Choices {
			if a.Ask.N <= 1 {
				n = max(n, len(c.Tokens))
			}
		}
		if a.Answer.OK() && a.Ask.Max > 0 && n > max(1, a.Ask.N)*a.Ask.Max+1 {
			return Verdict{
				Outcome: Fail, Signs: []Sign{SignParameter},
				Text:     fmt.Sprintf("max_tokens is ignored: %d tokens, asked for %d", n, a.Ask.Max),
				Evidence: []finding.Evidence{request(a.Answer, textOf(&a.Answer), a.Ask.Label)},
			}, true
		}
	}
	return Verdict{}, false
}
