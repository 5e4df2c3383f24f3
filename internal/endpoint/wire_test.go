package endpoint_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown/internal/endpoint"
	"shakedown/internal/probe"
)

// Short bounds for servers that never come to an end.
const (
	anyStatus = -1 // it depends on how busy the machine is

	soon    = 300 * time.Millisecond
	atLast  = time.Minute // of servers that come to an end by themselves
	secret  = "sk-a-key-that-must-not-travel"
	chunk   = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"
	stopped = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
)

// target is a server of which nothing special is known.
func target(engine string) *probe.Target {
	return &probe.Target{Engine: engine, Model: "m", Has: probe.Features{Chat: true, Completions: true, Logprobs: true, Top: 5, TokenPrompts: true, Echo: true}}
}

func client(t *testing.T, url string, o endpoint.Options) *endpoint.Server {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = atLast
	}
	o.Key = endpoint.NewKey(secret)
	s, err := endpoint.New(url, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func say(stream bool) probe.Ask {
	return probe.Ask{Kind: probe.Chat, Messages: []probe.Message{{Role: "user", Content: "hi"}}, Max: 5, Top: 2, Stream: stream, Sampling: probe.Greedy}
}

// flood writes until nobody reads any more.
func flood(w http.ResponseWriter, contentType, head, piece string) {
	w.Header().Set("Content-Type", contentType)
	io.WriteString(w, head)
	piece = strings.Repeat(piece, 1000)
	for {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

func events(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

// TestHostile: whatever a server does, a request ends with the failure that it is.
func TestHostile(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answer  http.HandlerFunc
		stream  bool
		want    probe.Failure
		status  int
		words   string
		timeout time.Duration
		idle    time.Duration
	}{
		{name: "never answers", answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, want: probe.TimedOut, words: "not complete in time", timeout: soon},
		{name: "hangs within the answer", answer: func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"choices":[`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, want: probe.TimedOut, status: 200, words: "no part of the answer", idle: soon},
		{name: "hangs within a stream", stream: true, answer: func(w http.ResponseWriter, r *http.Request) { events(w, chunk); <-r.Context().Done() }, want: probe.TimedOut, status: 200, words: "no part of the answer", idle: soon},
		{name: "drips for ever", stream: true, answer: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				events(w, chunk)
				time.Sleep(soon / 30)
			}
		}, want: probe.TimedOut, status: anyStatus, words: "not complete in time", timeout: soon},
		{name: "endless stream", stream: true, answer: func(w http.ResponseWriter, _ *http.Request) { flood(w, "text/event-stream", "", chunk) }, want: probe.TooLarge, status: 200, words: "too large"},
		{name: "endless event", stream: true, answer: func(w http.ResponseWriter, _ *http.Request) { flood(w, "text/event-stream", "data: ", "aaaaaaaa") }, want: probe.TooLarge, status: 200, words: "event"},
		{name: "endless lines of one event", stream: true, answer: func(w http.ResponseWriter, _ *http.Request) {
			flood(w, "text/event-stream", "", "data: a\n")
		}, want: probe.TooLarge, status: 200, words: "event"},
		{name: "endless comments", stream: true, answer: func(w http.ResponseWriter, _ *http.Request) { flood(w, "text/event-stream", "", ": a\n\n") }, want: probe.TooLarge, status: 200, words: "too large"},
		{name: "endless answer", answer: func(w http.ResponseWriter, _ *http.Request) { flood(w, "application/json", "[", "1,") }, want: probe.TooLarge, status: 200, words: "too large"},
		{name: "endless headers", answer: func(w http.ResponseWriter, _ *http.Request) {
			for i := range 5000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), "some value that fills the header up")
			}
		}, want: probe.TooLarge, words: "headers"},
		{name: "compressed", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 1<<20))
			z.Close()
		}, want: probe.NotJSON, status: 200, words: "compressed"},
		{name: "a web page", answer: func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "<!DOCTYPE html><html><head><title>Log  in\nhere</title>")
		}, want: probe.NotJSON, status: 200, words: `"Log in here"`},
		{name: "empty", answer: func(http.ResponseWriter, *http.Request) {}, want: probe.NotJSON, status: 200, words: "empty"},
		{name: "a text", answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, want: probe.NotJSON, status: 200, words: "hello"},
		{name: "JSON that is no answer", answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"a":1}`) }, want: probe.NotJSON, status: 200, words: "no choices"},
		{name: "a list", answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[1]`) }, want: probe.NotJSON, status: 200, words: "no choices"},
		{name: "deep JSON", answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("[", 1<<20)) }, want: probe.NotJSON, status: 200},
		{name: "cut off", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"choices":[`)
		}, want: probe.Reset, status: 200, words: "before its answer was complete"},
		{name: "closes at once", answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: probe.Reset, words: "closed the connection"},
		{name: "a stream that breaks off", stream: true, answer: func(w http.ResponseWriter, _ *http.Request) { events(w, chunk); panic(http.ErrAbortHandler) }, want: probe.Reset, status: 200},
		{name: "a stream that just ends", stream: true, answer: func(w http.ResponseWriter, _ *http.Request) { events(w, chunk) }, want: probe.Reset, status: 200, words: "before its answer was complete"},
		{name: "an error within a stream", stream: true, answer: func(w http.ResponseWriter, _ *http.Request) {
			events(w, chunk+`data: {"error":{"message":"EngineCore encountered an issue","type":"InternalServerError","code":500}}`+"\n\n")
		}, want: probe.Status, status: 500, words: "EngineCore"},
		{name: "no JSON within a stream", stream: true, answer: func(w http.ResponseWriter, _ *http.Request) { events(w, chunk+"data: oops\n\n") }, want: probe.NotJSON, status: 200, words: "oops"},
		{name: "an error with status 200", answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"error":"out of order"}`) }, want: probe.Status, status: 200, words: "out of order"},
		{name: "500", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"object":"error","message":"boom","code":500}`, 500)
		}, want: probe.Status, status: 500, words: "boom"},
		{name: "500 without a word", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, want: probe.Status, status: 500, words: "Internal Server Error"},
		{name: "401", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"invalid key `+secret+`"}}`, http.StatusUnauthorized)
		}, want: probe.Status, status: 401, words: "invalid key <key>"},
		{name: "another model", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"The model m does not exist"}}`, 404)
		}, want: probe.Status, status: 404, words: "does not exist"},
		{name: "no such path", answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"detail":"Not Found"}`, 404) }, want: probe.Unsupported, status: 404, words: "Not Found"},
		{name: "a field that is not known", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"Extra inputs are not permitted: top_logprobs"}}`, http.StatusUnprocessableEntity)
		}, want: probe.Unsupported, status: 422, words: "top_logprobs"},
		{name: "a field that is refused by name", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"no","param":"body.logprobs"}}`, 400)
		}, want: probe.Unsupported, status: 400, words: "no"},
		{name: "a field that every server has", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"temperature must be in [0, 2], got 6.0","param":"temperature"}}`, 400)
		}, want: probe.Status, status: 400, words: "temperature"},
		{name: "NaN that can't be written", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"Out of range float values are not JSON compliant","param":null,"code":400}}`, 400)
		}, want: probe.Status, status: 400, words: "Out of range float values are not JSON compliant"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body) // a server sees that its client has gone when nothing of the request is left
				tc.answer(w, r)
			}))
			defer h.Close()
			s := client(t, h.URL, endpoint.Options{Timeout: tc.timeout, Idle: tc.idle})
			a, x := s.Send(t.Context(), target(""), say(tc.stream))
			if a.Failure != tc.want || a.Status != tc.status && tc.status != anyStatus || !strings.Contains(a.Error, tc.words) {
				t.Errorf("%q, HTTP %d, %s\nwant %q, HTTP %d, ...%s...", a.Failure, a.Status, a.Error, tc.want, tc.status, tc.words)
			}
			if x.Failure != a.Failure || x.Error != a.Error || x.Path != "/v1/chat/completions" || x.Method != "POST" || !strings.Contains(x.Request, `"content":"hi"`) {
				t.Errorf("the exchange %+v is not that of %+v", x, a)
			}
			if len(x.Answer) > 16<<10 || len(a.Error) > 4<<10 {
				t.Errorf("%d bytes of the answer and %d of the error are kept", len(x.Answer), len(a.Error))
			}
			if strings.Contains(fmt.Sprintf("%+v %+v", a, x), secret) {
				t.Error("the key is shown")
			}
		})
	}
}

// TestNoConnection: what there is when nothing listens, or something else does.
func TestNoConnection(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, tc := range []struct {
		name, answer string
		want         probe.Failure
		words        string
	}{
		{"closed", "", probe.Refused, "refused"},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", probe.NotJSON, "malformed"},
		{"endless preliminary answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", 5000), probe.TooLarge, "headers"},
		{"hangs up", "HTTP/1.1 200 OK\r\n", probe.Reset, "closed the connection"},
	} {
		url := "http://" + closed.Addr().String()
		if tc.answer != "" {
			url = "http://" + listen(t, tc.answer)
		}
		a, _ := client(t, url, endpoint.Options{}).Send(t.Context(), target(""), say(false))
		if a.Failure != tc.want || !strings.Contains(a.Error, tc.words) {
			t.Errorf("%s: %q %s, want %q ...%s...", tc.name, a.Failure, a.Error, tc.want, tc.words)
		}
	}
}

// listen answers each connection with a text and closes it.
func listen(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.ReadAtLeast(c, make([]byte, 4096), 1)
				io.WriteString(c, answer)
			}()
		}
	}()
	return l.Addr().String()
}

// TestRedirect: a redirect is told and not followed, with or without a key.
func TestRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s came with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+"/x", status) }))
		s := client(t, h.URL, endpoint.Options{})
		a, _ := s.Send(t.Context(), target(""), say(false))
		if a.Failure != probe.Status || a.Status != status || !strings.Contains(a.Error, elsewhere.URL) {
			t.Errorf("%d: %+v", status, a)
		}
		_, _, _, err := s.Identify(t.Context())
		var e *endpoint.Error
		if !errors.As(err, &e) || e.Reason != endpoint.WrongPath || !strings.Contains(e.Text, elsewhere.URL) {
			t.Errorf("%d: %v", status, err)
		}
		h.Close()
	}
}

// TestInterrupted: a request whose run is over ends at once.
func TestInterrupted(t *testing.T) {
	begun := make(chan struct{}, 1)
	h := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		<-r.Context().Done()
	}))
	defer h.Close()
	s := client(t, h.URL, endpoint.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if a, _ := s.Send(ctx, target(""), say(false)); a.Failure != probe.NotSent || a.Error != "interrupted" {
		t.Errorf("%+v", a)
	}
	ctx, cancel = context.WithTimeout(t.Context(), soon)
	defer cancel()
	if a, _ := s.Send(ctx, target(""), say(false)); a.Failure != probe.TimedOut {
		t.Errorf("%+v", a)
	}
}

// TestKey: it is sent in one header and shown nowhere, also when a server sends it
// back, whole or in pieces.
func TestKey(t *testing.T) {
	key := endpoint.NewKey("  " + secret + "\n")
	for _, text := range []string{key.String(), fmt.Sprintf("%v %+v %#v %s %q", key, key, key, key, struct{ K endpoint.Key }{key}), string(marshal(t, map[string]any{"k": key}))} {
		if strings.Contains(text, secret) {
			t.Errorf("printed as %s", text)
		}
	}
	half := len(secret) / 2
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			t.Errorf("sent as %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("Server", secret)
		if r.URL.Path != "/v1/chat/completions" {
			http.Error(w, secret, 404)
			return
		}
		piece := func(s string) string {
			return `data: {"model":"` + secret + `","choices":[{"index":0,"delta":{"content":"` + s + `","reasoning_content":"` + s + `","tool_calls":[{"index":0,"function":{"arguments":"` + s + `"}}]}}]}` + "\n\n"
		}
		events(w, piece("you sent "+secret[:half])+piece(secret[half:])+stopped+"data: [DONE]\n\n")
	}))
	defer h.Close()
	s := client(t, h.URL, endpoint.Options{})
	a, x := s.Send(t.Context(), target(""), say(true))
	if !a.OK() || a.Choices[0].Text != "you sent <key>" || strings.Contains(fmt.Sprintf("%+v", a), secret) || strings.Contains(x.Answer, secret) {
		t.Errorf("%+v\n%s", a, x.Answer)
	}
	_, _, exchanges, err := s.Identify(t.Context())
	if err == nil || strings.Contains(fmt.Sprintf("%v %+v %+v", err, err, exchanges), secret) {
		t.Errorf("%v %+v", err, exchanges)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTogether: many requests at once, each with its own answer.
func TestTogether(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b struct{ Messages []struct{ Content string } }
		if json.NewDecoder(r.Body).Decode(&b) != nil {
			w.WriteHeader(400)
			return
		}
		events(w, fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":%q},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n", b.Messages[0].Content))
	}))
	defer h.Close()
	s := client(t, h.URL, endpoint.Options{})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			ask := say(true)
			ask.Messages[0].Content = fmt.Sprint("number ", i)
			if a, x := s.Send(t.Context(), target(""), ask); !a.OK() || a.Choices[0].Text != ask.Messages[0].Content || !strings.Contains(x.Request, ask.Messages[0].Content) {
				t.Errorf("%+v", a)
			}
		})
	}
	wg.Wait()
}
