package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// request is one call of the API on its way to answers: prompts times n choices.
type request struct {
	generation
	id, object string
	from       string // the parameter that holds the prompt
	prompts    [][]int
	logprobs   int // likeliest tokens to tell with each; -1: no logprobs
	echo       bool
	dialect    *dialect
	reason     bool // reasoning is told apart
	thinking   bool // the prompt ends inside of it
}

// shape writes answers in the form of one endpoint.
type shape interface {
	whole(index int, a *answered) any            // a complete choice
	opening(index int) any                       // what a stream begins with; nil for nothing
	part(index int, c *chunk, callsSeen int) any // a part of a choice
}

// answered is a complete answer.
type answered struct {
	pieces
	text     string
	logprobs []token
	prompt   []token
	ids      []int // of the prompt
	reason   string
	stopped  any
}

// generate computes the answers of a request and writes them.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, req *request, sh shape) *apiError {
	ctx, cancel := context.WithCancel(r.Context()) // ends the jobs of a client that left
	defer cancel()
	choices, err := s.submit(ctx, req)
	if err != nil {
		return err
	}
	if req.stream {
		return s.streamed(ctx, w, req, choices, sh)
	}
	out := s.response(req, req.object)
	var list []any
	for i, c := range choices {
		a, err := collect(ctx, c)
		if err != nil {
			return engineError(req.id, err)
		}
		c.job.cancel() // one that a stop text ended goes on otherwise
		if i == 0 && req.promptTop >= 0 {
			out.PromptLogprobs = promptLogprobsOf(s, a.prompt)
		}
		list = append(list, sh.whole(c.index, a))
	}
	out.Choices, out.Usage = list, usageOf(choices)
	s.write(w, 200, out)
	return nil
}

func (s *Server) response(req *request, object string) *response {
	return &response{ID: req.id, Object: object, Created: s.Now().Unix(), Model: s.Name, System: "shakedown-" + s.Model.Num.Name}
}

// submit makes the jobs of a request and queues them.
func (s *Server) submit(ctx context.Context, req *request) ([]*choice, *apiError) {
	stop := make(map[int]bool)
	for _, id := range slices.Concat(s.EOS, req.stopIDs) {
		stop[id] = true
	}
	if !req.seeded {
		req.Seed = uint64(s.Now().UnixNano())
	}
	if n := len(req.prompts) * req.n; n > s.Limits.Queued {
		return nil, badRequest("n", "the request asks for %d answers, and this server's queue has room for %d", n, s.Limits.Queued)
	}
	var jobs []*job
	var choices []*choice
	for _, prompt := range req.prompts {
		if len(prompt) == 0 {
			return nil, badRequest(req.from, "the prompt has no token")
		}
		most := s.Limits.Context - len(prompt)
		if most < 1 {
			e := badRequest(req.from, "the prompt has %d tokens, and this server's context is %d: shorten it", len(prompt), s.Limits.Context)
			e.code = "context_length_exceeded"
			return nil, e
		}
		if req.max > most {
			e := badRequest("max_tokens", "the prompt has %d tokens and max_tokens is %d, and this server's context is %d", len(prompt), req.max, s.Limits.Context)
			e.code = "context_length_exceeded"
			return nil, e
		}
		if req.max > 0 {
			most = req.max
		}
		for i := range req.n {
			jctx, cancel := context.WithCancel(ctx)
			j := &job{
				ctx: jctx, cancel: cancel, id: req.id, prompt: prompt, params: req.Params, max: most, stop: stop, ignore: req.ignoreEOS,
				logprobs: req.logprobs, promptTop: req.promptTop, events: newOutbox(),
			}
			if req.echo && req.logprobs >= 0 {
				j.promptTop = max(j.promptTop, req.logprobs)
			}
			j.params.Seed += uint64(i)
			jobs = append(jobs, j)
			c := &choice{index: len(choices), job: j, stream: s.Tokenizer.Stream(!req.keep && req.dialect == nil)}
			c.stop.stops = req.stop
			c.split = splitter{reason: req.reason, thinking: req.thinking, dialect: req.dialect, prefix: "call-" + req.id}
			choices = append(choices, c)
		}
	}
	if err := s.engine.submit(jobs...); err != nil {
		return nil, engineError(req.id, err)
	}
	return choices, nil
}

// collect reads one answer to its end.
func collect(ctx context.Context, c *choice) (*answered, error) {
	a := &answered{ids: c.job.prompt}
	for {
		k, ok, err := c.next(ctx)
		if err != nil {
			return nil, err
		}
		if !ok {
			return a, nil
		}
		a.take(&k)
	}
}

func (a *answered) take(k *chunk) {
	a.pieces.join(k.pieces)
	a.text += k.text
	a.logprobs = append(a.logprobs, k.logprobs...)
	a.prompt = append(a.prompt, k.prompt...)
	if k.reason != "" {
		a.reason = k.reason
		if k.stopped != "" {
			a.stopped = k.stopped
		}
	}
}

func usageOf(choices []*choice) *usage {
	u := new(usage)
	for i, c := range choices {
		if i == 0 || &c.job.prompt[0] != &choices[i-1].job.prompt[0] {
			u.Prompt += len(c.job.prompt)
			if c.done != nil {
				u.Details.Cached += c.done.cached
			}
		}
		u.Answer += c.tokens
	}
	u.Total = u.Prompt + u.Answer
	return u
}

// streamed writes answers as server-sent events while they are computed.
func (s *Server) streamed(ctx context.Context, w http.ResponseWriter, req *request, choices []*choice, sh shape) *apiError {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	out := &eventStream{w: w, control: http.NewResponseController(w)}
	object := req.object
	if object == "chat.completion" {
		object = "chat.completion.chunk"
	}
	send := func(list []any, u *usage, prompt []token) {
		m := s.response(req, object)
		m.Choices, m.Usage = list, u
		if prompt != nil {
			m.PromptLogprobs = promptLogprobsOf(s, prompt)
		}
		out.send(m)
	}
	for _, c := range choices {
		if first := sh.opening(c.index); first != nil {
			send([]any{first}, nil, nil)
		}
	}
	type item struct {
		c   *choice
		k   chunk
		ok  bool
		err error
	}
	items := make(chan item)
	for _, c := range choices {
		go func() {
			for {
				k, ok, err := c.next(ctx)
				select {
				case items <- item{c, k, ok, err}:
				case <-ctx.Done():
					return
				}
				if !ok || err != nil {
					return
				}
			}
		}()
	}
	for open := len(choices); open > 0 && out.err == nil; {
		var it item
		select {
		case it = <-items:
		case <-ctx.Done():
			return nil // the client left
		}
		switch {
		case it.err != nil:
			s.counts.failures.Add(1)
			out.send(errorOf(engineError(req.id, it.err)))
			return nil
		case !it.ok:
			open--
			it.c.job.cancel()
		case it.k.prompt != nil && req.promptTop >= 0:
			send([]any{}, nil, it.k.prompt)
		default:
			if p := sh.part(it.c.index, &it.k, it.c.calls(&it.k)); p != nil {
				send([]any{p}, nil, nil)
			}
		}
	}
	if req.usage {
		send([]any{}, usageOf(choices), nil)
	}
	out.raw("[DONE]")
	return nil
}

// calls counts the tool calls up to and with this chunk.
func (c *choice) calls(k *chunk) int {
	c.seen += len(k.calls)
	return c.seen
}

// eventStream writes server-sent events. After the first error it does nothing.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

func (e *eventStream) send(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		e.err = err
		return
	}
	e.raw(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

func (e *eventStream) raw(data string) {
	if e.err != nil {
		return
	}
	// A writer without deadlines (a test's recorder) is as good.
	if err := e.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		e.err = err
		return
	}
	if _, e.err = fmt.Fprintf(e.w, "data: %s\n\n", data); e.err == nil {
		e.err = e.control.Flush()
	}
}
