package endpoint_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"shakedown/internal/endpoint"
	"shakedown/internal/probe"
)

// TestPreview: what is shown is what is sent, and nothing is sent to show it.
func TestPreview(t *testing.T) {
	sent := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent++
		w.Write([]byte(`{}`))
	}))
	defer h.Close()
	s, err := endpoint.New(h.URL, endpoint.Options{Key: endpoint.NewKey("sesame-open")})
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"", "sglang", "vllm", "llamacpp", "shakedown"} {
		target := &probe.Target{Engine: engine, Model: "m", Has: probe.Features{Chat: true, Completions: true, Logprobs: true, Top: 5, TokenPrompts: true, Tokenize: true}}
		for _, a := range []probe.Ask{
			{Kind: probe.Chat, Messages: []probe.Message{{Role: "user", Content: "sesame-open"}}, Max: 7, Top: 2, Sampling: probe.Greedy},
			{Kind: probe.Completion, Prompt: "1 2 3", Max: 7, Top: -1, Sampling: probe.Plain, Stop: []string{"4"}},
			{Kind: probe.Completion, Tokens: []int{1, 2}, Max: 1, Top: -1},
			{Kind: probe.Tokenize, Prompt: "a b"},
			{Kind: probe.Health}, {Kind: probe.Metrics},
		} {
			before := sent
			shown := s.Preview(target, a)
			if sent != before {
				t.Fatalf("%s %s: a preview was sent", engine, a.Kind)
			}
			_, real := s.Send(t.Context(), target, a)
			if got, want := []string{shown.Path, shown.Request}, []string{real.Path, real.Request}; !slices.Equal(got, want) {
				t.Errorf("%q %s: shown %q, sent %q", engine, a.Kind, got, want)
			}
			if real.Path != "" && shown.Method != real.Method {
				t.Errorf("%q %s: shown %s, sent %s", engine, a.Kind, shown.Method, real.Method)
			}
		}
	}
	if sent == 0 {
		t.Error("nothing was sent at all")
	}
}
