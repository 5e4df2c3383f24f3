package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/oracle/chat"
)

var chatFields = slices.Concat(generationFields, []string{
	"messages", "max_completion_tokens", "logprobs", "top_logprobs", "tools", "tool_choice", "parallel_tool_calls",
	"chat_template_kwargs", "add_generation_prompt", "reasoning_effort",
})

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) *apiError {
	b, err := readBody(r.Body, chatFields)
	if err != nil {
		return err
	}
	g, err := b.generation(s.Defaults, s.Model.Spec.Vocab)
	if err != nil {
		return err
	}
	most, top, logprobs, choice := 0, 0, false, ""
	parallel := true
	if err := first(s.checkModel(g.model), b.get("max_completion_tokens", &most), b.get("logprobs", &logprobs), b.get("top_logprobs", &top),
		b.get("tool_choice", &choice), b.get("parallel_tool_calls", &parallel)); err != nil {
		return err
	}
	switch {
	case top < 0 || top > maxTop:
		return badRequest("top_logprobs", "top_logprobs must be from 0 to %d, got %d", maxTop, top)
	case top > 0 && !logprobs:
		return badRequest("top_logprobs", "top_logprobs needs logprobs")
	case choice != "" && choice != "auto" && choice != "none":
		return badRequest("tool_choice", "tool_choice %q is not supported: auto or none", choice)
	case !parallel:
		return badRequest("parallel_tool_calls", "parallel_tool_calls=false is not supported")
	}
	if _, ok := b["max_completion_tokens"]; ok {
		if most < 1 {
			return badRequest("max_completion_tokens", "max_completion_tokens must be at least 1, got %d", most)
		}
		g.max = most
	}
	prompt, err := s.render(b)
	if err != nil {
		return err
	}
	req := request{generation: g, id: "chatcmpl-" + idOf(r), object: "chat.completion", from: "messages", prompts: [][]int{s.Tokenizer.Encode(prompt, false)}, logprobs: -1}
	if logprobs {
		req.logprobs = top
	}
	_, tools := b["tools"]
	if tools && choice != "none" {
		req.dialect = s.dialect
	}
	req.reason = s.Reasoning
	req.thinking = s.Reasoning && strings.HasSuffix(strings.TrimRight(prompt, " \n"), thinkOpen)
	return s.generate(w, r, &req, chatShape{s, &req})
}

// render makes the prompt of a conversation.
func (s *Server) render(b body) (string, *apiError) {
	if s.Templates == nil {
		return "", badRequest("messages", "this model has no chat template: use /v1/completions")
	}
	req := chat.Request{GenerationPrompt: true, Now: s.Now(), Extra: make(map[string]json.RawMessage)}
	var effort string
	if err := first(b.get("add_generation_prompt", &req.GenerationPrompt), b.get("chat_template_kwargs", &req.Extra), b.get("reasoning_effort", &effort)); err != nil {
		return "", err
	}
	if effort != "" {
		req.Extra["reasoning_effort"] = b["reasoning_effort"]
	}
	var choice string
	if b.get("tool_choice", &choice) == nil && choice != "none" {
		req.Tools = b["tools"]
	}
	var err *apiError
	if req.Messages, err = plainMessages(b["messages"]); err != nil {
		return "", err
	}
	prompt, problem := s.Templates.Render(req)
	var raised *chat.RaisedError
	if errors.As(problem, &raised) {
		return "", badRequest("messages", "the chat template refuses the conversation: %s", raised.Message)
	}
	if problem != nil {
		return "", badRequest("messages", "%v", problem)
	}
	return prompt, nil
}

// plainMessages turns lists of text parts into texts and the arguments of tool
// calls, which the API sends as text, into objects, as templates expect them.
func plainMessages(data json.RawMessage) (json.RawMessage, *apiError) {
	if len(data) == 0 {
		return nil, badRequest("messages", "messages is needed")
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return nil, badRequest("messages", "messages must be a list")
	}
	if len(list) == 0 {
		return nil, badRequest("messages", "messages is empty")
	}
	for i, m := range list {
		fields, ok := objectOf(m)
		if !ok {
			return nil, badRequest("messages", "message %d is not an object", i)
		}
		role := ""
		for k := range fields {
			f := &fields[k]
			switch f.name {
			case "role":
				if json.Unmarshal(f.value, &role) != nil {
					return nil, badRequest("messages", "the role of message %d is not a text", i)
				}
			case "content":
				text, err := plainContent(f.value, i)
				if err != nil {
					return nil, err
				}
				f.value = text
			case "tool_calls":
				f.value = plainCalls(f.value)
			}
		}
		if role == "" {
			return nil, badRequest("messages", "message %d has no role", i)
		}
		list[i] = join(fields)
	}
	out, err := json.Marshal(list)
	if err != nil {
		return nil, badRequest("messages", "%v", err)
	}
	return out, nil
}

func plainContent(data json.RawMessage, i int) (json.RawMessage, *apiError) {
	if len(data) == 0 || data[0] != '[' {
		return data, nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(data, &parts) != nil {
		return nil, badRequest("messages", "the content of message %d is neither a text nor a list of parts", i)
	}
	var all []string
	for _, p := range parts {
		if p.Type != "text" {
			return nil, badRequest("messages", "the content of message %d has a part of type %q: only text is supported", i, p.Type)
		}
		all = append(all, p.Text)
	}
	return jsonText(strings.Join(all, "\n")), nil
}

func plainCalls(data json.RawMessage) json.RawMessage {
	var calls []json.RawMessage
	if json.Unmarshal(data, &calls) != nil {
		return data
	}
	for i, c := range calls {
		fields, ok := objectOf(c)
		if !ok {
			return data
		}
		for k := range fields {
			if fields[k].name != "function" {
				continue
			}
			inner, ok := objectOf(fields[k].value)
			if !ok {
				return data
			}
			for n := range inner {
				var text string
				if inner[n].name == "arguments" && json.Unmarshal(inner[n].value, &text) == nil {
					if args, ok := objectOf(json.RawMessage(text)); ok {
						inner[n].value = join(args)
					}
				}
			}
			fields[k].value = join(inner)
		}
		calls[i] = join(fields)
	}
	out, err := json.Marshal(calls)
	if err != nil {
		return data
	}
	return out
}

// objectOf reads an object with its fields in their order.
func objectOf(data json.RawMessage) ([]field, bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	fields := []field{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		f := field{name: name.(string)}
		if d.Decode(&f.value) != nil {
			return nil, false
		}
		fields = append(fields, f)
	}
	_, err := d.Token()
	return fields, err == nil && !d.More()
}

func join(fields []field) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonText(f.name))
		b.WriteByte(':')
		b.Write(f.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// chatShape writes answers as chat completions.
type chatShape struct {
	s   *Server
	req *request
}

func (c chatShape) whole(i int, a *answered) any {
	m := &message{Role: "assistant", Reasoning: a.reasoning, Content: &a.content}
	if len(a.calls) > 0 {
		m.Calls = toolCalls(a.calls, -1)
		if a.content == "" {
			m.Content = nil
		}
	}
	return chatChoice{Index: i, Message: m, Logprobs: c.logprobs(a.logprobs), Reason: &a.reason, Stopped: a.stopped}
}

func (c chatShape) opening(i int) any {
	empty := ""
	return chatChoice{Index: i, Delta: &message{Role: "assistant", Content: &empty}}
}

func (c chatShape) part(i int, k *chunk, seen int) any {
	m := &message{Reasoning: k.reasoning, Calls: toolCalls(k.calls, seen-len(k.calls))}
	if k.content != "" {
		m.Content = &k.content
	}
	out := chatChoice{Index: i, Delta: m, Logprobs: c.logprobs(k.logprobs)}
	if k.reason != "" {
		out.Reason = &k.reason
		if k.stopped != "" {
			out.Stopped = k.stopped
		}
	}
	return out
}

func (c chatShape) logprobs(tokens []token) *chatLogprobs {
	if c.req.logprobs < 0 || len(tokens) == 0 {
		return nil
	}
	out := &chatLogprobs{}
	for _, t := range tokens {
		l := c.s.tokenLogprob(&c.req.generation, t.id, t.logprob)
		for _, r := range t.top {
			l.Top = append(l.Top, c.s.tokenLogprob(&c.req.generation, r.id, r.logprob))
		}
		out.Content = append(out.Content, l)
	}
	return out
}

func (s *Server) tokenLogprob(g *generation, id int, logprob float32) tokenLogprob {
	raw := s.Tokenizer.Raw(id)
	l := tokenLogprob{Token: s.tokenName(g, id), Logprob: number(logprob), Bytes: make([]int, len(raw))}
	for i := range len(raw) {
		l.Bytes[i] = int(raw[i])
	}
	return l
}

// tokenName is a token as logprobs show it: its text, or "token_id:N" where the
// request asks for that, as vLLM does, because several tokens can have one text.
func (s *Server) tokenName(g *generation, id int) string {
	if g.ids {
		return "token_id:" + strconv.Itoa(id)
	}
	return tokenText(s.Tokenizer.Raw(id))
}

// tokenText is a token for people: half a character shows as U+FFFD.
func tokenText(raw string) string { return strings.ToValidUTF8(raw, "\uFFFD") }

// toolCalls are calls as the API tells them; in streams they are numbered from
// first on, elsewhere first is -1.
func toolCalls(calls []call, first int) []toolCall {
	var out []toolCall
	for i, c := range calls {
		t := toolCall{ID: c.id, Type: "function"}
		if first >= 0 {
			n := first + i
			t.Index = &n
		}
		t.Function.Name, t.Function.Arguments = c.name, c.arguments
		out = append(out, t)
	}
	return out
}

func promptLogprobsOf(s *Server, tokens []token) []map[string]promptLogprob {
	out := []map[string]promptLogprob{nil} // nothing comes before the first token
	for _, t := range tokens {
		m := make(map[string]promptLogprob)
		for i, r := range t.top {
			m[strconv.Itoa(r.id)] = promptLogprob{number(r.logprob), i + 1, tokenText(s.Tokenizer.Raw(r.id))}
		}
		m[strconv.Itoa(t.id)] = promptLogprob{number(t.logprob), t.rank, tokenText(s.Tokenizer.Raw(t.id))}
		out = append(out, m)
	}
	return out
}
