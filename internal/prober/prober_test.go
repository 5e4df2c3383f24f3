package prober_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown/internal/finding"
	"shakedown/internal/probe"
	"shakedown/internal/prober"
)

// clock is a time that passes only when something is sent or slept.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

// server counts what it is sent, and answers with tokens of one byte.
type server struct {
	clock  *clock
	has    probe.Features
	took   time.Duration // of one request
	broken error

	mu                       sync.Mutex
	asks                     []probe.Ask
	running, together        int
	prompt, answer, requests int
}

func (s *server) Identify(context.Context) (*probe.Target, []finding.SettingMsg, []probe.Exchange, error) {
	if s.broken != nil {
		return nil, nil, nil, s.broken
	}
	s.requests += 2
	return &probe.Target{Engine: "sglang", Version: "0.5.9", Model: "m", Context: 8192, Has: s.has, Sources: map[string]string{"Context": "/v1/models max_model_len"}},
		[]finding.SettingMsg{{Name: "kv_cache_dtype", Effective: "auto"}},
		[]probe.Exchange{{Method: "GET", Path: "/v1/models", Status: 200}, {Method: "GET", Path: "/server_info", Status: 200}}, nil
}

func (s *server) Send(_ context.Context, _ *probe.Target, a probe.Ask) (probe.Answer, probe.Exchange) {
	s.mu.Lock()
	s.asks = append(s.asks, a)
	s.running++
	s.together = max(s.together, s.running)
	s.requests++
	s.mu.Unlock()
	time.Sleep(time.Millisecond) // so that requests of one round meet
	s.clock.add(s.took)
	n := len(a.Prompt)
	for _, m := range a.Messages {
		n += len(m.Content)
	}
	r := probe.Answer{Status: 200, PromptCount: n, AnswerCount: a.Max, Cached: -1, Took: s.took}
	c := probe.Choice{Told: a.Top >= 0, Finish: "length"}
	for i := range a.Max {
		text := fmt.Sprintf(" %c", 'a'+i%26)
		c.Text += text
		if a.Top >= 0 {
			lp := func(p float64) probe.Logprob { return probe.Logprob{Value: math.Log(p)} }
			c.Tokens = append(c.Tokens, probe.Token{ID: -1, Text: text, Logprob: lp(0.7), Top: []probe.Ranked{{ID: -1, Text: text, Logprob: lp(0.7)}, {ID: -1, Text: "x", Logprob: lp(0.2)}}})
		}
	}
	r.Choices = []probe.Choice{c}
	s.mu.Lock()
	s.running--
	s.prompt += n
	s.answer += a.Max
	s.mu.Unlock()
	return r, probe.Exchange{Method: "POST", Path: "/v1/completions", Request: "{}", Status: 200, Answer: "{}"}
}

// stream keeps the messages.
type stream []finding.Message

func (s *stream) Handle(m finding.Message) error { *s = append(*s, m); return nil }
func (s *stream) Close() error                   { return nil }

func options(s *server) prober.Options {
	return prober.Options{Server: s, URL: "http://127.0.0.1:1", Level: probe.Default, Now: s.clock.Now, Sleep: func(_ context.Context, d time.Duration) { s.clock.add(d) }}
}

func newServer() *server {
	return &server{
		clock: &clock{now: time.Unix(1e9, 0)}, took: 10 * time.Millisecond,
		has: probe.Features{Chat: true, Completions: true, Logprobs: true, Top: 5, NoCache: true, Echo: true, Health: true, Metrics: true, Tools: true, Schema: true, Seed: true},
	}
}

func run(t *testing.T, o prober.Options) (*probe.Conclusion, stream) {
	t.Helper()
	var out stream
	c, err := prober.Run(t.Context(), o, &out)
	if err != nil {
		t.Fatal(err)
	}
	return c, out
}

// TestNeverMore: what is sent stays within what was announced before the first
// request to the model, at every level and for every budget.
func TestNeverMore(t *testing.T) {
	for _, level := range []probe.Level{probe.Quick, probe.Default, probe.Thorough} {
		for _, gentle := range []bool{false, true} {
			for _, budget := range []prober.Budget{{}, {Requests: 1}, {Requests: 5}, {Requests: 17}, {Tokens: 100}, {Tokens: 1000}, {Time: time.Second}} {
				s := newServer()
				o := options(s)
				o.Level, o.Gentle, o.Budget = level, gentle, budget
				begun := s.clock.Now()
				_, out := run(t, o)
				m, ok := out[0].(*finding.EndpointMsg)
				if !ok {
					t.Fatalf("the first message is %T", out[0])
				}
				name := fmt.Sprintf("level %d, gentle %v, budget %+v", level, gentle, budget)
				if s.requests > m.Bound.Requests || s.prompt > m.Bound.PromptTokens || s.answer > m.Bound.AnswerTokens || s.together > m.Bound.Together {
					t.Errorf("%s: sent %d requests, %d+%d tokens, %d together; announced %+v", name, s.requests, s.prompt, s.answer, s.together, m.Bound)
				}
				if n := budget.Requests; n > 0 && s.requests > max(n, 2) {
					t.Errorf("%s: %d requests", name, s.requests)
				}
				if n := budget.Tokens; n > 0 && (s.prompt > n || s.answer > n) {
					t.Errorf("%s: %d+%d tokens", name, s.prompt, s.answer)
				}
				if d := budget.Time; d > 0 && s.clock.Now().Sub(begun) > d+time.Duration(s.together)*s.took+500*time.Millisecond {
					t.Errorf("%s: took %v", name, s.clock.Now().Sub(begun))
				}
				if gentle && s.together > 1 {
					t.Errorf("%s: %d together", name, s.together)
				}
				if level == probe.Quick && s.requests >= 10 {
					t.Errorf("%s: %d requests are not quick", name, s.requests)
				}
				end, ok := out[len(out)-1].(*finding.ConclusionMsg)
				if !ok || end.Sent.Requests != s.requests {
					t.Errorf("%s: the last message is %+v, and %d requests were sent", name, out[len(out)-1], s.requests)
				}
			}
		}
	}
}

// TestGentle: requests to a server in production come one by one, with a pause
// between.
func TestGentle(t *testing.T) {
	s := newServer()
	o := options(s)
	o.Gentle = true
	begun := s.clock.Now()
	run(t, o)
	if took, least := s.clock.Now().Sub(begun), time.Duration(len(s.asks)-1)*500*time.Millisecond; took < least {
		t.Errorf("%d requests in %v, want at least %v", len(s.asks), took, least)
	}
}

// TestStream: exchanges are numbered, come before the verdict that quotes them,
// and every quotation has its exchange.
func TestStream(t *testing.T) {
	_, out := run(t, options(newServer()))
	first, ok := out[0].(*finding.EndpointMsg)
	if !ok || len(first.Facts) != 1 || first.Facts[0].File != "/v1/models max_model_len" {
		t.Errorf("a fact without its source: %+v", out[0])
	}
	known := 0
	for _, m := range out {
		switch m := m.(type) {
		case *finding.ExchangeMsg:
			if known++; m.N != known || m.Probe == "" {
				t.Errorf("exchange %d comes as number %d of %q", m.N, known, m.Probe)
			}
		case *finding.ProbeMsg:
			for _, e := range m.Evidence {
				if e.Kind == "request" && (e.Line < 1 || e.Line > known) {
					t.Errorf("%s quotes request %d of %d", m.ID, e.Line, known)
				}
			}
			for _, n := range m.Exchanges {
				if n > known {
					t.Errorf("%s was asked in request %d of %d", m.ID, n, known)
				}
			}
			if m.Text == "" || strings.Contains(m.Text, "\n") {
				t.Errorf("%s says %q", m.ID, m.Text)
			}
		}
	}
	if known == 0 {
		t.Error("no exchanges")
	}
}

// TestSlow: a slow server is asked for fewer tokens, and what was not asked in
// time is left open.
func TestSlow(t *testing.T) {
	s := newServer()
	s.took = 40 * time.Second
	c, out := run(t, options(s))
	if c.Message.Verdict == probe.ProvenRight {
		t.Errorf("%+v", c.Message)
	}
	open := 0
	for _, m := range out {
		if p, ok := m.(*finding.ProbeMsg); ok && p.Verdict == string(probe.CantTell) {
			open++
		}
	}
	if open == 0 {
		t.Error("nothing was left open")
	}
	if c.Message.Verdict != probe.Unknown || len(c.Message.Next) == 0 || !strings.HasPrefix(c.Message.Next[0].Title, "give it more time: --budget ") {
		t.Errorf("%s, next %+v", c.Message.Verdict, c.Message.Next)
	}
	o := options(newServer())
	if fast, _ := run(t, o); len(fast.Message.Next) > 0 && strings.HasPrefix(fast.Message.Next[0].Title, "give it more time") {
		t.Errorf("a fast server: next %+v", fast.Message.Next)
	}
}

// TestErrors: a server that cannot be identified, an interruption, and an output
// that fails end the run.
func TestErrors(t *testing.T) {
	boom := errors.New("boom")
	s := newServer()
	s.broken = boom
	if _, err := prober.Run(t.Context(), options(s), new(stream)); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := prober.Run(ctx, options(newServer()), new(stream)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := prober.Run(t.Context(), options(newServer()), failing{boom}); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Handle(finding.Message) error { return f.err }
func (f failing) Close() error                 { return nil }

// slowReference takes longer than the whole run may.
type slowReference struct{ clock *clock }

func (s slowReference) Judge(context.Context, *probe.Target, []probe.Text) (*probe.Reference, error) {
	s.clock.add(time.Hour)
	return &probe.Reference{Missing: "nothing was computed"}, nil
}

// TestReferenceTakesNoTime: what the exact engine computes is no traffic, so it
// leaves the probes behind it their time.
func TestReferenceTakesNoTime(t *testing.T) {
	s := newServer()
	o := options(s)
	o.Reference = slowReference{s.clock}
	_, out := run(t, o)
	for _, m := range out {
		if p, ok := m.(*finding.ProbeMsg); ok && strings.Contains(p.Text, "the time that was announced is over") {
			t.Errorf("%s: %s", p.ID, p.Text)
		}
	}
	if s.clock.now.Sub(time.Unix(1e9, 0)) < time.Hour {
		t.Error("the reference was not asked")
	}
}

// dying refuses every connection after some requests.
type dying struct {
	*server
	after int
}

func (d *dying) Send(ctx context.Context, t *probe.Target, a probe.Ask) (probe.Answer, probe.Exchange) {
	if len(d.asks) >= d.after {
		d.mu.Lock()
		d.asks, d.requests = append(d.asks, a), d.requests+1
		d.mu.Unlock()
		return probe.Answer{Failure: probe.Refused, Error: "connection refused", PromptCount: -1, AnswerCount: -1, Cached: -1}, probe.Exchange{Method: "POST", Path: "/v1/completions"}
	}
	return d.server.Send(ctx, t, a)
}

// TestGone: a server that takes no connection any more is not asked on and on, and
// the last probe says that it is gone.
func TestGone(t *testing.T) {
	s := &dying{server: newServer(), after: 12}
	o := options(s.server)
	o.Server = s
	c, _ := run(t, o)
	if c.Message.Verdict != probe.Wrong || !strings.Contains(c.Message.Text, "gone") {
		t.Errorf("%+v", c.Message)
	}
	if n := len(s.asks); n > s.after+16 {
		t.Errorf("%d requests to a server that is gone", n-s.after)
	}
}

// hanging answers nothing until it is told to stop waiting.
type hanging struct{ *server }

func (h hanging) Send(ctx context.Context, _ *probe.Target, _ probe.Ask) (probe.Answer, probe.Exchange) {
	<-ctx.Done()
	return probe.Answer{Failure: probe.TimedOut, PromptCount: -1, AnswerCount: -1, Cached: -1}, probe.Exchange{Method: "POST", Path: "/v1/completions"}
}

// TestHanging: a server that takes requests and never answers does not hold a run
// beyond the time that was announced.
func TestHanging(t *testing.T) {
	s := newServer()
	o := options(s)
	o.Server, o.Budget = hanging{s}, prober.Budget{Time: 50 * time.Millisecond}
	o.Now = time.Now
	c, _ := run(t, o)
	if c.Message.Verdict == probe.ProvenRight {
		t.Errorf("%+v", c.Message)
	}
}
