package serve

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// counters are what /metrics tells. They may be changed from any goroutine.
type counters struct {
	running, waiting           atomic.Int64
	requests, failures         atomic.Int64
	promptTokens, cachedTokens atomic.Int64
	answerTokens               atomic.Int64
}

// metrics writes Prometheus' text format, with names in the style of the engines.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	c := s.counts
	var b strings.Builder
	for _, m := range []struct {
		name, kind, help string
		value            int64
	}{
		{"num_requests_running", "gauge", "answers that are being computed", c.running.Load()},
		{"num_requests_waiting", "gauge", "answers that wait", c.waiting.Load()},
		{"requests_total", "counter", "requests received", c.requests.Load()},
		{"requests_failed_total", "counter", "requests answered with an error", c.failures.Load()},
		{"prompt_tokens_total", "counter", "prompt tokens computed", c.promptTokens.Load()},
		{"cached_tokens_total", "counter", "prompt tokens taken from the prefix cache", c.cachedTokens.Load()},
		{"generation_tokens_total", "counter", "tokens generated", c.answerTokens.Load()},
	} {
		fmt.Fprintf(&b, "# HELP shakedown:%s %s\n# TYPE shakedown:%s %s\nshakedown:%s{model_name=%q} %d\n", m.name, m.help, m.name, m.kind, m.name, s.Name, m.value)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprint(w, b.String())
}
