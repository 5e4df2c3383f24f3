package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown/internal/serve"
)

var soakTime = flag.Duration("soak", 0, "how long TestSoak sends requests; 0: two rounds of them")

// TestSoak: under mixed traffic every answer is that of the same request alone, and
// between the rounds nothing is left of it, neither goroutines nor memory.
func TestSoak(t *testing.T) {
	for _, family := range []string{"qwen3", "glm_moe_dsa"} {
		t.Run(family, func(t *testing.T) { soak(t, family, *soakTime/2) })
	}
}

const (
	soakClients  = 12
	soakRequests = 8 // of a client in a round
	// soakHeap is what the heap may grow by from the first round to the last, when
	// each has made and dropped hundreds of answers: the kept texts, which are not
	// the same ones, and noise.
	soakHeap = 2 << 20
)

func soak(t *testing.T, family string, long time.Duration) {
	c := config(t, family)
	c.Limits = serve.Limits{Context: 128, Running: 4, Queued: 8, Tokens: 400, Chunk: 8}
	s := soaker{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: soakClients}}}
	for i := range 30 {
		s.cases = append(s.cases, soakCase(i))
	}
	func() { // answers alone come from a server of their own
		alone, stop := soakServer(c)
		defer stop()
		s.url = alone
		for i := range s.cases {
			if err := s.learn(t.Context(), &s.cases[i]); err != nil {
				t.Fatalf("%s: %v", s.cases[i].body, err)
			}
			s.client.CloseIdleConnections()
		}
	}()
	url, stop := soakServer(c)
	defer stop()
	s.url = url
	before := s.quiet(t, 1<<20)
	first, last := 0, 0
	start := time.Now()
	round := 0
	for ; round < 2 || time.Since(start) < long; round++ {
		var clients sync.WaitGroup
		for i := range soakClients {
			r := rand.New(rand.NewPCG(uint64(round), uint64(i)))
			clients.Go(func() {
				for range soakRequests {
					if err := s.visit(t.Context(), r); err != nil {
						t.Error(err)
					}
				}
			})
		}
		clients.Wait()
		s.quiet(t, before)
		last = heap()
		if round == 0 {
			first = last
		}
		if t.Failed() {
			break
		}
	}
	if last > first+soakHeap {
		t.Errorf("the heap grew from %d to %d bytes in %d rounds", first, last, round)
	}
	t.Logf("%d rounds in %v: %v; heap %.2f MB behind the first round, %.2f MB behind the last; %d goroutines before and behind", round, time.Since(start).Round(time.Second), s.counted(), float64(first)/1e6, float64(last)/1e6, before)
}

// soakServer runs a server until stop is called.
func soakServer(c serve.Config) (url string, stop func()) {
	s := serve.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	h := httptest.NewServer(s)
	return h.URL, func() { h.Close(); cancel(); <-over }
}

func heap() int {
	runtime.GC()
	runtime.GC() // what a finalizer held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// soaker sends requests and knows their answers.
type soaker struct {
	url    string
	client *http.Client
	cases  []soakRequest

	mu    sync.Mutex
	count map[string]int
}

func (s *soaker) counts(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == nil {
		s.count = make(map[string]int)
	}
	s.count[what]++
}

func (s *soaker) counted() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// quiet waits until the server is idle and at most n goroutines are left, and says
// how many there are.
func (s *soaker) quiet(t *testing.T, n int) int {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		_, metrics := get(t, s.url+"/metrics")
		http.DefaultClient.CloseIdleConnections()
		s.client.CloseIdleConnections()
		time.Sleep(20 * time.Millisecond)
		now := runtime.NumGoroutine()
		if now <= n && strings.Contains(metrics, `num_requests_running{model_name="tiny"} 0`) && strings.Contains(metrics, `num_requests_waiting{model_name="tiny"} 0`) {
			return now
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines are left of %d:\n%s\n%s", now, n, metrics, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// soakRequest is a request with the answer that it gets alone.
type soakRequest struct {
	path, body string
	status     int
	whole      string     // normal form
	parts      [][]string // of the choices of a stream, in normal form
}

// soakCase is the i-th request.
func soakCase(i int) soakRequest {
	r := rand.New(rand.NewPCG(7, uint64(i)))
	prompts := []string{"the quick brown fox", "the quick brown fox jumps over the dog", "a", "0123456789 0123456789 0123456789", "hello, who are you?", strings.Repeat("long ", 15)}
	prompt := prompts[r.IntN(len(prompts))]
	fields := map[string]any{"model": "tiny", "max_tokens": 1 + r.IntN(30), "seed": i, "temperature": float64(r.IntN(3)) / 2}
	maybe := func(name string, v any) {
		if r.IntN(4) == 0 {
			fields[name] = v
		}
	}
	maybe("n", 2+r.IntN(3))
	maybe("stop", []string{string(rune('a' + r.IntN(26))), "zz"})
	maybe("top_p", 0.7)
	maybe("top_k", 9)
	maybe("min_p", 0.1)
	maybe("repetition_penalty", 1.2)
	maybe("frequency_penalty", 0.5)
	maybe("ignore_eos", true)
	maybe("logit_bias", map[string]int{"3": -100, "9": 2})
	req := soakRequest{path: "/v1/completions"}
	if i%2 == 0 {
		fields["prompt"] = prompt
		maybe("logprobs", r.IntN(5))
		maybe("prompt_logprobs", r.IntN(3))
	} else {
		req.path = "/v1/chat/completions"
		fields["messages"] = []any{map[string]any{"role": "user", "content": prompt}}
		maybe("logprobs", true)
		maybe("tools", []any{map[string]any{"type": "function", "function": map[string]any{"name": "now", "parameters": map[string]any{}}}})
	}
	switch i % 20 { // what the server refuses
	case 3:
		fields["response_format"] = map[string]any{"type": "json_object"}
	case 4:
		fields["max_tokens"] = 1000
	case 7:
		fields["messages"] = "hello"
	case 8:
		fields["prompt"] = strings.Repeat("too long ", 30)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // it is our own
	}
	req.body = string(body)
	if i%20 == 11 {
		req.body = req.body[:len(req.body)-1-r.IntN(20)]
	}
	return req
}

// normal is JSON without what differs from one request to the next.
func normal(data []byte) (string, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return "", fmt.Errorf("%w in %s", err, data)
	}
	var drop func(v any)
	drop = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"id", "created", "prompt_tokens_details"} {
				delete(v, name)
			}
			for _, inner := range v {
				drop(inner)
			}
		case []any:
			for _, inner := range v {
				drop(inner)
			}
		}
	}
	drop(v)
	out, err := json.Marshal(v)
	return string(out), err
}

// learn asks for the answers that a request gets alone.
func (s *soaker) learn(ctx context.Context, c *soakRequest) error {
	status, body, err := s.send(ctx, c.path, strings.NewReader(c.body))
	if err != nil {
		return err
	}
	c.status = status
	if c.whole, err = normal(body); err != nil || status != 200 {
		return err
	}
	c.parts, err = s.stream(ctx, c, nil)
	return err
}

func (s *soaker) open(ctx context.Context, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+path, body)
	if err != nil {
		return nil, err
	}
	return s.client.Do(req)
}

func (s *soaker) send(ctx context.Context, path string, body io.Reader) (int, []byte, error) {
	resp, err := s.open(ctx, path, body)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

var errRefused = errors.New("the queue is full")

// stream reads a streamed answer: the parts of each choice in normal form. through,
// unless it is nil, is what the bytes come through.
func (s *soaker) stream(ctx context.Context, c *soakRequest, through func(io.Reader) io.Reader) ([][]string, error) {
	body := strings.TrimSuffix(c.body, "}") + `,"stream":true,"stream_options":{"include_usage":true}}`
	resp, err := s.open(ctx, c.path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests {
		return nil, errRefused
	}
	var r io.Reader = resp.Body
	if through != nil {
		r = through(r)
	}
	var parts [][]string
	put := func(i int, data []byte) error {
		for len(parts) <= i {
			parts = append(parts, nil)
		}
		text, err := normal(data)
		parts[i] = append(parts[i], text)
		return err
	}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var m struct {
			Choices []json.RawMessage
			Prompt  json.RawMessage `json:"prompt_logprobs"`
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return parts, nil // cut off
		}
		for _, choice := range m.Choices {
			var at struct{ Index int }
			if err := errors.Join(json.Unmarshal(choice, &at), put(1+at.Index, choice)); err != nil {
				return nil, err
			}
		}
		if len(m.Choices) == 0 && m.Prompt == nil { // choices tell their prompts' logprobs when they want
			if err := put(0, data); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

// slowly reads little at a time, with pauses.
type slowly struct{ r io.Reader }

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return s.r.Read(p[:min(len(p), 300)])
}

// visit is what one client does: it sends a request in some way, and checks what comes.
func (s *soaker) visit(ctx context.Context, r *rand.Rand) error {
	c := &s.cases[r.IntN(len(s.cases))]
	way := r.IntN(100)
	switch {
	case way < 40 || way < 90 && c.status != 200:
		status, body, err := s.send(ctx, c.path, strings.NewReader(c.body))
		if status == http.StatusTooManyRequests {
			s.counts("refused, the queue is full")
			return err
		}
		s.counts(fmt.Sprintf("whole, %d", c.status))
		text, err2 := normal(body)
		if err := errors.Join(err, err2); err != nil || status != c.status || text != c.whole {
			return fmt.Errorf("%s %s\nalone %d %s\n  now %d %s, %v", c.path, c.body, c.status, c.whole, status, text, err)
		}
	case way < 75:
		name, through := "streamed", func(r io.Reader) io.Reader { return r }
		if way >= 65 {
			name, through = "streamed slowly", func(r io.Reader) io.Reader { return slowly{r} }
		}
		parts, err := s.stream(ctx, c, through)
		if errors.Is(err, errRefused) {
			s.counts("refused, the queue is full")
			return nil
		}
		s.counts(name)
		if err != nil || !slices.EqualFunc(parts, c.parts, slices.Equal[[]string]) {
			return fmt.Errorf("streamed %s %s\nalone %q\n  now %q, %v", c.path, c.body, c.parts, parts, err)
		}
	case way < 90:
		s.counts("left")
		return s.leave(ctx, r, c)
	case way < 93:
		s.counts("oversize")
		status, _, err := s.send(ctx, c.path, io.MultiReader(strings.NewReader(`{"prompt":"`), io.LimitReader(letterA{}, serve.MaxBody)))
		if err == nil && status != http.StatusRequestEntityTooLarge { // the server may hang up in the middle
			return fmt.Errorf("an oversize request: %d", status)
		}
	case way < 96:
		s.counts("not HTTP, or half of it")
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return err
		}
		defer conn.Close()
		text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", c.path, len(c.body), c.body)
		_, err = io.WriteString(conn, text[r.IntN(2):r.IntN(len(text)-1)+1])
		return err
	default:
		s.counts("other routes")
		for _, path := range []string{"/metrics", "/v1/models", "/health"} {
			resp, err := s.client.Get(s.url + path)
			if err != nil {
				return err
			}
			io.Copy(io.Discard, resp.Body) // only the status counts
			resp.Body.Close()
			if resp.StatusCode != 200 {
				return fmt.Errorf("%s: %s", path, resp.Status)
			}
		}
	}
	return nil
}

// leave goes away in the middle of an answer; what came until then must be right.
func (s *soaker) leave(ctx context.Context, r *rand.Rand, c *soakRequest) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(20000))*time.Microsecond)
	defer cancel()
	parts, err := s.stream(ctx, c, nil)
	if ctx.Err() == nil && !errors.Is(err, errRefused) && err != nil {
		return err
	}
	for i, list := range parts {
		if len(list) > len(c.parts[i]) || !slices.Equal(list, c.parts[i][:len(list)]) {
			return fmt.Errorf("streamed %s %s until the client left\nalone %q\n  now %q", c.path, c.body, c.parts, parts)
		}
	}
	return nil
}

// letterA reads as the letter a without end.
type letterA struct{}

func (letterA) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
