package explain

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { panic("broken reader") }

// brokenHandler breaks at the first launch.
type brokenHandler struct{}

func (brokenHandler) Handle(m finding.Message) error {
	if _, ok := m.(*finding.LaunchMsg); ok {
		panic("broken handler")
	}
	return nil
}

func (brokenHandler) Close() error { return nil }

// A panic beside the calling goroutine must come back to it.
func TestPanicsComeBack(t *testing.T) {
	log := strings.Repeat("INFO 01-01 00:00:00 [api_server.py:1] vLLM API server version 0.11.0\n", 3)
	source := func(r io.Reader) logstream.Source {
		return logstream.Source{Name: "a.log", Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(r), nil }}
	}
	for _, c := range []struct {
		name string
		src  logstream.Source
		h    finding.Handler
	}{
		{"broken reader", source(brokenReader{}), brokenHandler{}},
		{"broken handler", source(strings.NewReader(log)), brokenHandler{}},
	} {
		_, err := Run(t.Context(), Options{Sources: []logstream.Source{c.src}}, c.h)
		var p *PanicError
		if !errors.As(err, &p) || p.Value != c.name || len(p.Stack) == 0 {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}
