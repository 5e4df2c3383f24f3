package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/oracle/tokenizer"
)

// call is one tool call of an answer.
type call struct {
	id        string
	name      string
	arguments string // JSON
}

// dialect is how a model writes tool calls: between marks, in its own notation.
type dialect struct {
	name       string
	open, shut string   // around one call
	outer      []string // marks around all calls, which say nothing
	parse      func(inside string) (call, bool)
}

// dialects, the most specific first.
var dialects = []dialect{
	{name: "kimi", open: "<|tool_call_begin|>", shut: "<|tool_call_end|>", outer: []string{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}, parse: parseKimi},
	{name: "glm", open: "<tool_call>", shut: "</tool_call>", parse: parseGLM},
	{name: "hermes", open: "<tool_call>", shut: "</tool_call>", parse: parseHermes},
}

// dialectOf is the notation of a model, by the tokens that its vocabulary has;
// nil when it knows none.
func dialectOf(t *tokenizer.Tokenizer) *dialect {
	has := func(token string) bool { _, ok := t.ID(token); return ok }
	for i := range dialects {
		d := &dialects[i]
		if has(d.open) && (d.name != "glm" || has("<arg_key>")) {
			return d
		}
	}
	return nil
}

// parseKimi reads functions.NAME:N<|tool_call_argument_begin|>{...}.
func parseKimi(inside string) (call, bool) {
	id, args, ok := strings.Cut(inside, "<|tool_call_argument_begin|>")
	id = strings.TrimSpace(id)
	name := strings.TrimPrefix(id, "functions.")
	if n := strings.LastIndexByte(name, ':'); n >= 0 {
		name = name[:n]
	}
	args = strings.TrimSpace(args)
	return call{id: id, name: name, arguments: args}, ok && name != "" && json.Valid([]byte(args))
}

// parseHermes reads {"name": ..., "arguments": {...}}.
func parseHermes(inside string) (call, bool) {
	var c struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal([]byte(inside), &c) != nil || c.Name == "" {
		return call{}, false
	}
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	return call{name: c.Name, arguments: string(c.Arguments)}, true
}

// parseGLM reads NAME<arg_key>K</arg_key><arg_value>V</arg_value>... A value
// that is JSON is taken as such, another one as text.
func parseGLM(inside string) (call, bool) {
	name, rest, more := strings.Cut(inside, "<arg_key>")
	c := call{name: strings.TrimSpace(name)}
	var b bytes.Buffer
	b.WriteByte('{')
	for more {
		key, tail, ok := strings.Cut(rest, "</arg_key>")
		_, tail, ok2 := strings.Cut(tail, "<arg_value>")
		value, tail, ok3 := strings.Cut(tail, "</arg_value>")
		if !ok || !ok2 || !ok3 {
			return c, false
		}
		if b.Len() > 1 {
			b.WriteString(", ")
		}
		b.Write(jsonText(key))
		b.WriteString(": ")
		if text := []byte(value); json.Valid(text) {
			b.Write(text)
		} else {
			b.Write(jsonText(value))
		}
		_, rest, more = strings.Cut(tail, "<arg_key>")
	}
	b.WriteByte('}')
	c.arguments = b.String()
	return c, c.name != ""
}

// jsonText is a text as JSON, with "<" as it is.
func jsonText(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// pieces is what a part of an answer turned out to be.
type pieces struct {
	reasoning, content string
	calls              []call
}

// splitter takes an answer apart while it comes: reasoning, content, tool calls.
type splitter struct {
	reason   bool     // reasoning is looked for
	thinking bool     // inside of it
	dialect  *dialect // nil: no tools are looked for
	prefix   string   // of the ids of calls
	held     string   // what may be the beginning of a mark, or an open call
	inCall   bool
	calls    int
	begun    bool // content was shown
	trim     bool // line ends come next that only set the content off
}

const (
	thinkOpen = "<think>"
	thinkShut = "</think>"
)

// add takes more text; last says that none follows.
func (s *splitter) add(text string, last bool) pieces {
	var out pieces
	s.held += text
	for s.held != "" {
		mark, at := s.nextMark()
		if mark == "" && s.inCall {
			break // until the call is complete
		}
		if mark == "" {
			keep := 0
			if !last {
				keep = s.beginning()
			}
			s.show(&out, s.held[:len(s.held)-keep])
			s.held = s.held[len(s.held)-keep:]
			break
		}
		before := s.held[:at]
		rest := s.held[at+len(mark):]
		switch {
		case s.thinking:
			out.reasoning += before
			s.thinking, s.trim = false, true
		case s.inCall:
			s.inCall = false
			c, ok := s.dialect.parse(before)
			if !ok {
				s.show(&out, s.dialect.open+before+mark) // not a call: nothing is lost
				break
			}
			if c.id == "" {
				c.id = fmt.Sprintf("%s-%d", s.prefix, s.calls)
			}
			s.calls++
			out.calls = append(out.calls, c)
		case mark == thinkOpen:
			s.show(&out, before)
			s.thinking = true
		case slices.Contains(s.outer(), mark):
			s.show(&out, before)
		default:
			s.show(&out, before)
			s.inCall = true
		}
		s.held = rest
	}
	if last && s.inCall { // an answer that ended inside of a call
		s.show(&out, s.held)
		s.held, s.inCall = "", false
	}
	return out
}

func (s *splitter) outer() []string {
	if s.dialect == nil {
		return nil
	}
	return s.dialect.outer
}

// marks are those that mean something at this place.
func (s *splitter) marks() []string {
	switch {
	case s.thinking:
		return []string{thinkShut}
	case s.inCall:
		return []string{s.dialect.shut}
	}
	var marks []string
	if s.reason && !s.begun {
		marks = append(marks, thinkOpen) // models reason first, or not at all
	}
	if s.dialect != nil {
		marks = append(append(marks, s.dialect.open), s.dialect.outer...)
	}
	return marks
}

func (s *splitter) nextMark() (mark string, at int) {
	at = -1
	for _, m := range s.marks() {
		n := strings.Index(s.held, m)
		if n < 0 || at >= 0 && n >= at || m == thinkOpen && strings.TrimSpace(s.held[:n]) != "" {
			continue
		}
		mark, at = m, n
	}
	return mark, at
}

// beginning is the length of the longest end of the held text that may begin a
// mark.
func (s *splitter) beginning() int {
	keep := 0
	for _, m := range s.marks() {
		for n := min(len(m)-1, len(s.held)); n > keep; n-- {
			if strings.HasSuffix(s.held, m[:n]) {
				keep = n
			}
		}
	}
	return keep
}

// show hands text out as what it is. White space around tool calls is layout.
func (s *splitter) show(out *pieces, text string) {
	switch {
	case s.thinking:
		out.reasoning += text
		return
	case s.inCall:
		text = s.dialect.open + text
	case s.calls > 0 && strings.TrimSpace(text) == "":
		return
	}
	if s.trim {
		text = strings.TrimLeft(text, "\n")
		s.trim = text == ""
	}
	s.begun = s.begun || strings.TrimSpace(text) != ""
	out.content += text
}
