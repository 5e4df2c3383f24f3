package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// Send asks the server once. Whatever goes wrong is part of the answer. It may be
// called from several goroutines; t is only read.
func (s *Server) Send(ctx context.Context, t *probe.Target, ask probe.Ask) (probe.Answer, probe.Exchange) {
	d := dialectOf(t.Engine)
	switch ask.Kind {
	case probe.Health:
		return s.look(ctx, d.health, "the engine tells its health nowhere", &ask, readHealth)
	case probe.Metrics:
		return s.look(ctx, d.metrics, "the engine tells its counters nowhere", &ask, readMetrics)
	}
	req, why := s.request(d, t, &ask)
	if req == nil {
		return unspoken(&ask, why)
	}
	return s.post(ctx, d, t, req, &ask)
}

// request puts an ask into the engine's words; nil when it has none for it, and
// then why.
func (s *Server) request(d *dialect, t *probe.Target, a *probe.Ask) (*request, string) {
	v, _ := flags.ParseVersion(t.Version) // unknown: the zero Version
	if d.native != nil {
		if r := d.native(s, t, a); r != nil {
			return r, ""
		}
	}
	switch a.Kind {
	case probe.Chat:
		return chatRequest(d, s, t, a, v), ""
	case probe.Completion:
		switch {
		case a.Tokens != nil && !t.Has.TokenPrompts:
			return nil, "the server takes no token ids as a prompt"
		case a.Echo && !t.Has.Echo:
			return nil, "the server does not tell the logprobs of a prompt"
		case a.Echo && a.Stream:
			return nil, "the logprobs of a prompt are not told in a stream"
		}
		return completionRequest(d, s, t, a, v), ""
	case probe.Tokenize:
		if d.tokenize == nil {
			return nil, "the server does not tell the tokens of a text"
		}
		if r := d.tokenize(t, a); r != nil {
			return r, ""
		}
		return nil, "the server does not tell the tokens of a chat"
	}
	return nil, fmt.Sprintf("there is no request of kind %q", a.Kind)
}

// unspoken is an ask for which the engine has no words: nothing is sent.
func unspoken(a *probe.Ask, why string) (probe.Answer, probe.Exchange) {
	return probe.NoAnswer(probe.Unsupported, why), probe.Exchange{Label: a.Label, Failure: probe.Unsupported, Error: why}
}

func newAnswer() probe.Answer { return probe.NoAnswer(probe.None, "") }

// post sends a request to the model and reads the answer.
func (s *Server) post(ctx context.Context, d *dialect, t *probe.Target, req *request, ask *probe.Ask) (probe.Answer, probe.Exchange) {
	a := newAnswer()
	r := &reader{ask: ask, answer: &a, echoed: req.body.echoed, top: likeliest(t, ask), spelt: d.spelt}
	c := &call{s: s, method: http.MethodPost, path: req.path, body: req.body.object, timeout: s.timeout}
	var broken *apiError
	notJSON := ""
	if ask.Stream {
		c.chunk = func(data []byte) bool {
			a.Chunks++
			var part apiAnswer
			odd, err := readJSON(data, &part)
			if err != nil {
				notJSON = clip(string(data), 200)
				return false
			}
			r.note(odd)
			if e := errorIn(part.Error); e != nil {
				broken = e
				return false
			}
			r.add(&part, true)
			return ask.Leave <= 0 || a.Chunks < ask.Leave
		}
	}
	rep := c.send(ctx)
	a.Status, a.Took = rep.status, rep.took
	a.Ended = rep.ended
	switch {
	case rep.failure != probe.None:
		a.Failure, a.Error = rep.failure, rep.text
	case notJSON != "":
		a.Failure, a.Error = probe.NotJSON, "an event of the stream is no JSON: "+notJSON
	case broken != nil:
		a.Failure, a.Error = probe.Status, broken.words()
		if broken.code > 0 {
			a.Status = broken.code
		}
	case rep.status != http.StatusOK:
		a.Failure, a.Error = d.refused(rep, &req.body)
	case ask.Stream && rep.stream:
		s.streamEnd(r, rep, ask)
	default:
		if ask.Stream {
			r.strange("a stream was asked for, and one answer came (%s)", clip(rep.header.Get("Content-Type"), 60))
		}
		read := req.read
		if read == nil {
			read = readOpenAI
		}
		if err := read(r, rep.body); err != nil {
			a.Failure, a.Error = probe.NotJSON, notAnswer(rep, err)
		}
	}
	r.finish()
	s.hideIn(&a)
	return a, exchangeOf(c, rep, ask, &a)
}

// streamEnd judges how a stream came to its end.
func (s *Server) streamEnd(r *reader, rep *reply, ask *probe.Ask) {
	a := r.answer
	if rep.left || rep.ended {
		if rep.ended && len(a.Choices) == 0 && ask.Leave <= 0 {
			r.strange("the stream ended without a choice")
		}
		return
	}
	done := len(a.Choices) > 0
	for _, c := range a.Choices {
		done = done && c.Finish != ""
	}
	if !done {
		a.Failure, a.Error = probe.Reset, "the stream ended before its answer was complete"
		return
	}
	r.strange("the stream ended without its end mark")
}

// readOpenAI reads an answer of chats or completions.
func readOpenAI(r *reader, data []byte) error {
	var v apiAnswer
	odd, err := readJSON(data, &v)
	if err != nil {
		return err
	}
	r.note(odd)
	if e := errorIn(v.Error); e != nil {
		r.answer.Failure, r.answer.Error = probe.Status, e.words()
		return nil
	}
	if len(v.Choices) == 0 {
		return fmt.Errorf("it has no choices")
	}
	r.add(&v, false)
	return nil
}

// notAnswer says what came in place of an answer.
func notAnswer(rep *reply, err error) string {
	if t := htmlTitle(rep.body); t != "" {
		return "a web page came in place of an answer: " + t
	}
	text := strings.TrimSpace(string(rep.body))
	if text == "" {
		return "the answer is empty"
	}
	return fmt.Sprintf("no answer of the API (%v): %s", err, clip(text, 200))
}

// readTokens reads the ids of a text from the field with this name.
func readTokens(name string) func(*reader, []byte) error {
	return func(r *reader, data []byte) error {
		var v map[string]json.RawMessage
		if _, err := readJSON(data, &v); err != nil {
			return err
		}
		var ids []int
		if err := json.Unmarshal(v[name], &ids); err != nil {
			return fmt.Errorf("it has no list %q of token ids", name)
		}
		r.answer.Tokens = ids
		if ids == nil {
			r.answer.Tokens = []int{}
		}
		r.answer.PromptCount = len(ids)
		return nil
	}
}

// look is a GET that needs nothing of the model.
func (s *Server) look(ctx context.Context, path, none string, ask *probe.Ask, read func(*reader, []byte) error) (probe.Answer, probe.Exchange) {
	if path == "" {
		return unspoken(ask, none)
	}
	a := newAnswer()
	r := &reader{ask: ask, answer: &a}
	c := &call{s: s, method: http.MethodGet, path: path, timeout: min(s.timeout, settingsTimeout)}
	rep := c.send(ctx)
	a.Status, a.Took = rep.status, rep.took
	switch {
	case rep.failure != probe.None:
		a.Failure, a.Error = rep.failure, rep.text
	case rep.status == http.StatusNotFound || rep.status == http.StatusMethodNotAllowed || rep.status == http.StatusNotImplemented:
		a.Failure, a.Error = probe.Unsupported, errorWords(rep)
	case rep.status != http.StatusOK && rep.status != http.StatusNoContent:
		a.Failure, a.Error = probe.Status, errorWords(rep)
	default:
		if err := read(r, rep.body); err != nil {
			a.Failure, a.Error = probe.NotJSON, err.Error()
		}
	}
	r.finish()
	s.hideIn(&a)
	return a, exchangeOf(c, rep, ask, &a)
}

// readHealth takes the server's word. A word that is no "ok" is told.
func readHealth(r *reader, data []byte) error {
	if t := htmlTitle(data); t != "" {
		return fmt.Errorf("a web page came in place of the server's health: %s", t)
	}
	var v struct {
		Status *string `json:"status"`
	}
	if _, err := readJSON(data, &v); err == nil && v.Status != nil && !slices.Contains([]string{"ok", "healthy", "up", "ready"}, strings.ToLower(*v.Status)) {
		r.strange("the server says of its health: %s", clip(*v.Status, 80))
	}
	return nil
}

func readMetrics(r *reader, data []byte) error {
	m, strange, ok := sums(data)
	if !ok {
		if t := htmlTitle(data); t != "" {
			return fmt.Errorf("a web page came in place of the counters: %s", t)
		}
		if len(strings.TrimSpace(string(data))) > 0 && strange > 0 {
			return fmt.Errorf("the counters are not in Prometheus' text format: %s", clip(string(data), 120))
		}
	}
	if strange > 0 {
		r.strange("%d lines of the counters can't be read", strange)
	}
	r.answer.Metrics = m
	return nil
}

// apiError is an error as servers write it, in any of their shapes.
type apiError struct {
	message, kind, param, codeText string
	code                           int
}

func (e *apiError) words() string { return clip(e.message, maxWords) }

// errorIn reads the field "error": an object with a message, or a text.
func errorIn(data json.RawMessage) *apiError {
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return &apiError{message: text}
	}
	return errorOf(data)
}

// errorOf reads an object with message, type, param and code; nil when it has no
// message.
func errorOf(data []byte) *apiError {
	var v struct {
		Message any             `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    any             `json:"type"`
		Param   any             `json:"param"`
		Code    any             `json:"code"`
	}
	_ = json.Unmarshal(data, &v) // what does not fit stays empty
	text := func(v any) string {
		s, _ := v.(string)
		return s
	}
	e := &apiError{message: text(v.Message), kind: text(v.Type), param: text(v.Param), codeText: text(v.Code)}
	if n, ok := v.Code.(float64); ok && n >= 100 && n < 600 {
		e.code = int(n)
	}
	if e.message == "" && len(v.Detail) > 0 {
		e.message = plainText(v.Detail)
	}
	if e.message == "" {
		return nil
	}
	return e
}

// plainText is a JSON text without its quotes, anything else as it stands.
func plainText(data json.RawMessage) string {
	var s string
	if json.Unmarshal(data, &s) == nil {
		return s
	}
	return string(data)
}

// errorFrom reads the body of a response with an error status.
func errorFrom(data []byte) *apiError {
	var v struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &v) == nil {
		if e := errorIn(v.Error); e != nil {
			return e
		}
	}
	return errorOf(data)
}

// errorWords is what a response with an error status says.
func errorWords(rep *reply) string {
	if e := errorFrom(rep.body); e != nil {
		return e.words()
	}
	if to := rep.header.Get("Location"); rep.status >= 300 && rep.status < 400 {
		return fmt.Sprintf("redirects to %s, which is not followed", clip(to, 200))
	}
	if t := htmlTitle(rep.body); t != "" {
		return "a web page: " + t
	}
	if text := strings.TrimSpace(string(rep.body)); text != "" {
		return clip(text, maxWords)
	}
	return fmt.Sprintf("HTTP %d %s", rep.status, http.StatusText(rep.status))
}

// refusal words: with the name of a field they mean that the field is not known.
var refusal = regexp.MustCompile(`(?i)not support|unsupported|unknown|unrecogni[sz]ed|unexpected|extra_forbidden|not permitted|not allowed|not implemented|not available|not enabled|disabled|cannot be|can't be|must be|greater than|requires|invalid|only`)

// refused sorts an error status: was it the server, or a parameter of ours that it
// need not have.
func (d *dialect) refused(rep *reply, b *body) (probe.Failure, string) {
	words := errorWords(rep)
	switch rep.status {
	case http.StatusNotFound:
		if !strings.Contains(strings.ToLower(words), "model") {
			return probe.Unsupported, words
		}
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return probe.Unsupported, words
	}
	for _, w := range d.refusals {
		if strings.Contains(words, w) {
			return probe.Unsupported, words
		}
	}
	if rep.status != http.StatusBadRequest && rep.status != http.StatusUnprocessableEntity {
		return probe.Status, words
	}
	if e := errorFrom(rep.body); e != nil && e.param != "" {
		if slices.Contains(b.optional, lastPart(e.param)) {
			return probe.Unsupported, words
		}
	}
	if refusal.MatchString(words) {
		for _, name := range b.optional {
			if hasWord(words, name) {
				return probe.Unsupported, words
			}
		}
	}
	return probe.Status, words
}

// lastPart is "cache_salt" of pydantic's "body.cache_salt".
func lastPart(param string) string { return param[strings.LastIndexByte(param, '.')+1:] }

// hasWord says whether a field's name stands in a text by itself.
func hasWord(text, name string) bool {
	for i := 0; ; {
		n := strings.Index(text[i:], name)
		if n < 0 {
			return false
		}
		begin, end := i+n, i+n+len(name)
		if (begin == 0 || !nameByte(text[begin-1])) && (end == len(text) || !nameByte(text[end])) {
			return true
		}
		i = end
	}
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// htmlTitle is the title of a web page, or a word for one without; empty when the
// text is no web page.
func htmlTitle(data []byte) string {
	head := strings.ToLower(strings.TrimSpace(string(data[:min(len(data), 4096)])))
	if !strings.HasPrefix(head, "<!doctype html") && !strings.HasPrefix(head, "<html") && !strings.HasPrefix(head, "<head") {
		return ""
	}
	if m := title.FindSubmatch(data[:min(len(data), 64<<10)]); m != nil {
		if t := strings.Join(strings.Fields(string(m[1])), " "); t != "" {
			return fmt.Sprintf("%q", clip(t, 120))
		}
	}
	return "one without a title"
}

// hideIn takes the key out of an answer: events of a stream may hold parts of it.
func (s *Server) hideIn(a *probe.Answer) {
	for _, text := range []*string{&a.Error, &a.Model, &a.Odd} {
		*text = s.key.hideText(*text)
	}
	for i := range a.Choices {
		c := &a.Choices[i]
		c.Text, c.Reasoning = s.key.hideText(c.Text), s.key.hideText(c.Reasoning)
		for k := range c.Calls {
			c.Calls[k].Name, c.Calls[k].Arguments = s.key.hideText(c.Calls[k].Name), s.key.hideText(c.Calls[k].Arguments)
		}
	}
}

// exchangeOf is the record of a call.
func exchangeOf(c *call, rep *reply, ask *probe.Ask, a *probe.Answer) probe.Exchange {
	return probe.Exchange{
		Label: ask.Label, Method: c.method, Path: c.path, Request: c.s.key.hideText(string(rep.request)), Status: rep.status,
		Answer: strings.ToValidUTF8(string(rep.kept), "\uFFFD"), Cut: rep.cut, Failure: a.Failure, Error: a.Error, Took: rep.took,
	}
}
