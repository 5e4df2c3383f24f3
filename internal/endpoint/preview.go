package endpoint

import (
	"net/http"

	"shakedown/internal/probe"
)

// Preview is the request that Send would make, with nothing sent. The path is empty
// where the engine has no such request.
func (s *Server) Preview(t *probe.Target, ask probe.Ask) probe.Exchange {
	d := dialectOf(t.Engine)
	x := probe.Exchange{Label: ask.Label, Method: http.MethodGet, Failure: probe.NotSent}
	switch ask.Kind {
	case probe.Health:
		x.Path = d.health
		return x
	case probe.Metrics:
		x.Path = d.metrics
		return x
	}
	req, _ := s.request(d, t, &ask)
	if req == nil {
		return x
	}
	data, err := compact(req.body.object)
	if err != nil {
		return x
	}
	x.Method, x.Path, x.Request = http.MethodPost, req.path, s.key.hideText(string(data))
	return x
}
