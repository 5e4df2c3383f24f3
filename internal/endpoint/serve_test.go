package endpoint_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"shakedown/internal/endpoint"
	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
	"shakedown/internal/oracle/sample"
	"shakedown/internal/probe"
	"shakedown/internal/serve"
)

// serveTiny runs `shakedown serve` with a tiny random model.
func serveTiny(t testing.TB, key string) string {
	t.Helper()
	src, err := load.Open(oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	num, err := numerics.Parse("exact")
	if err != nil {
		t.Fatal(err)
	}
	m, err := src.Model(num)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := chat.New(map[string]string{chat.Default: oracletest.LettersTemplate}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(serve.Config{
		Model: m, Tokenizer: oracletest.Letters(t), Templates: ts, Name: "tiny", Defaults: sample.Default(), APIKey: key,
		Limits: serve.Limits{Context: 128, Running: 8, Queued: 32, Tokens: 1024, Chunk: 8},
		Info:   map[string]any{"version": "1.2.3", "numerics": num, "context": 128, "max_running": 8, "cache_tokens": 1024},
		Log:    slog.New(slog.DiscardHandler), Now: time.Now, Reasoning: true, Tools: true,
	})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.Close(); cancel(); <-over })
	return h.URL
}

// TestServe: everything that the own server can be asked.
func TestServe(t *testing.T) {
	const key = "sk-very-secret-0123"
	s, err := endpoint.New(serveTiny(t, key)+"/v1/", endpoint.Options{Key: endpoint.NewKey(key)})
	if err != nil {
		t.Fatal(err)
	}
	target, settings, exchanges, err := s.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if target.Engine != "shakedown" || target.Version != "1.2.3" || target.Model != "tiny" || target.Context != 128 || target.Pool != 1024 || target.Running != 8 || target.Started == 0 {
		t.Errorf("%+v", target)
	}
	if len(settings) == 0 || len(exchanges) != 2 {
		t.Errorf("%d settings, %d exchanges", len(settings), len(exchanges))
	}
	ask := func(a probe.Ask) probe.Answer {
		t.Helper()
		got, x := s.Send(t.Context(), target, a)
		if !got.OK() {
			t.Fatalf("%s: %s %s\n%s\n%s", a.Label, got.Failure, got.Error, x.Request, x.Answer)
		}
		if strings.Contains(x.Request+x.Answer+got.Error, key) {
			t.Fatal("the key is in an exchange")
		}
		return got
	}
	messages := []probe.Message{{Role: "user", Content: "abc"}}
	whole := ask(probe.Ask{Kind: probe.Chat, Label: "chat", Messages: messages, Sampling: probe.Greedy, Max: 8, Top: 3, IgnoreEOS: true})
	if c := whole.Choices[0]; len(c.Tokens) != 8 || !c.Told || len(c.Tokens[0].Top) != 3 || c.Tokens[0].Bytes == nil || c.Finish != "length" || whole.PromptCount != 5 || whole.AnswerCount != 8 {
		t.Errorf("%+v", whole)
	}
	parts := ask(probe.Ask{Kind: probe.Chat, Label: "stream", Messages: messages, Sampling: probe.Greedy, Max: 8, Top: 3, IgnoreEOS: true, Stream: true})
	if parts.Choices[0].Text != whole.Choices[0].Text || len(parts.Choices[0].Tokens) != 8 || !parts.Ended || parts.Chunks < 9 || parts.PromptCount != 5 {
		t.Errorf("stream %+v\nwhole %+v", parts, whole)
	}
	left := ask(probe.Ask{Kind: probe.Chat, Label: "left", Messages: messages, Sampling: probe.Greedy, Max: 100, Top: -1, IgnoreEOS: true, Stream: true, Leave: 3})
	if left.Chunks != 3 || left.Ended {
		t.Errorf("left %+v", left)
	}
	text := ask(probe.Ask{Kind: probe.Completion, Label: "text", Prompt: "abc", Sampling: probe.Hot, Max: 4, Top: 5, N: 2, Seed: new(int)})
	if len(text.Choices) != 2 || len(text.Choices[1].Tokens) == 0 || len(text.Choices[0].Tokens[0].Top) != 5 {
		t.Errorf("%+v", text)
	}
	ids := ask(probe.Ask{Kind: probe.Tokenize, Label: "tokens", Prompt: "cab"})
	if len(ids.Tokens) != 3 || ids.Tokens[0] != 2 {
		t.Errorf("%+v", ids)
	}
	echo := ask(probe.Ask{Kind: probe.Completion, Label: "echo", Tokens: ids.Tokens, Sampling: probe.Greedy, Max: 2, Top: 4, Echo: true})
	if p := echo.Prompt; len(p) != 3 || !p[0].Logprob.Null || p[1].Logprob.Null || p[1].Text != "a" || len(echo.Choices[0].Tokens) != 2 {
		t.Errorf("%+v", echo)
	}
	if h := ask(probe.Ask{Kind: probe.Health, Label: "health"}); h.Status != 200 {
		t.Errorf("%+v", h)
	}
	if m := ask(probe.Ask{Kind: probe.Metrics, Label: "metrics"}); m.Metrics["shakedown:generation_tokens_total"] < 20 {
		t.Errorf("%v", m.Metrics)
	}
	if a, _ := s.Send(t.Context(), target, probe.Ask{Kind: probe.Chat, Messages: messages, Schema: `{"type":"object"}`, Top: -1}); a.Failure != probe.Unsupported || !strings.Contains(a.Error, "response_format") {
		t.Errorf("%+v", a)
	}
}
