package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shakedown/internal/endpoint"
	"shakedown/internal/finding"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
	"shakedown/internal/oracle/sample"
	"shakedown/internal/oracle/vocabulary"
	"shakedown/internal/probe"
	"shakedown/internal/prober"
	"shakedown/internal/prober/reference"
	"shakedown/internal/serve"
)

// result is what probing a server gave, without its checkpoint and with it.
type result struct {
	server        *server
	void          bool // the fault changes nothing in this model
	without, with outcome
}

// outcome is what one run of the battery said.
type outcome struct {
	verdict string
	text    string
	failed  []string // probes
	causes  []string
	told    []string // what failed probes said
	sent    finding.Traffic
}

// measure writes the checkpoint, serves it and probes the server.
func measure(ctx context.Context, s *server) (result, error) {
	r := result{server: s}
	dir, err := os.MkdirTemp("", "probe-table-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if err := s.write(dir); err != nil {
		return r, err
	}
	src, err := load.Open(dir)
	if err != nil {
		return r, err
	}
	defer src.Close()
	model, err := open(src, s.numerics)
	if err != nil {
		return r, err
	}
	if s.fault != "" {
		sound, err := open(src, s.sound)
		if err != nil {
			return r, err
		}
		if r.void, err = equal(ctx, model, sound, s.hit); err != nil || r.void {
			return r, err
		}
	}
	url, stop, err := s.start(dir, model)
	if err != nil {
		return r, err
	}
	defer stop()
	o, err := reference.Open(dir)
	if err != nil {
		return r, err
	}
	defer o.Close()
	r.without, r.with, err = battery(ctx, url, o)
	return r, err
}

// write writes the checkpoint.
func (s *server) write(dir string) error {
	files, err := oracletest.Served(s.config, s.options)
	if err != nil {
		return err
	}
	if s.bare {
		delete(files, "chat_template.jinja")
	}
	for name, content := range files {
		data, ok := content.([]byte)
		if !ok {
			data = []byte(content.(string))
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func open(src *load.Source, name string) (*oracle.Model, error) {
	n, err := numerics.Parse(name)
	if err != nil {
		return nil, err
	}
	return src.Model(n)
}

// equal says whether two arithmetics give the same bits for a text that is longer
// than all limits of the tiny models, of which the beginning comes from an earlier
// text where hit says so.
func equal(ctx context.Context, a, b *oracle.Model, hit bool) (bool, error) {
	text := make([]int, 200)
	for i := range text {
		text[i] = (i*i*7 + 13*i) % 250
	}
	var all [2][]float32
	for i, m := range []*oracle.Model{a, b} {
		s, rest := m.NewSession(nil), text
		if hit {
			half := text[:len(text)-20]
			if _, err := s.Feed(ctx, half); err != nil {
				return false, err
			}
			if s = s.Fork(len(half)); s == nil {
				return false, errors.New("no text can go on from another one here")
			}
			rest = text[len(half):]
		}
		hidden, err := s.Feed(ctx, rest)
		if err != nil {
			return false, err
		}
		all[i] = s.Logits(hidden)
	}
	return slices.EqualFunc(all[0], all[1], func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }), nil
}

// start serves a model on a port of its own. What the server says of itself is what
// engines say: nothing of the fault.
func (s *server) start(dir string, m *oracle.Model) (url string, stop func(), err error) {
	tok, err := vocabulary.Tokenizer(dir)
	if err != nil {
		return "", nil, err
	}
	var templates *chat.Templates
	if !s.bare {
		if templates, err = vocabulary.Templates(dir); err != nil {
			return "", nil, err
		}
	}
	num := m.Num
	m.Num.Name = "tiny" // or its fingerprint would give it away
	kv, dtype := "auto", map[numerics.Act]string{numerics.F32: "float32", numerics.BF16: "bfloat16", numerics.F16: "float16"}[num.Act]
	if num.KV.Records() {
		kv = "fp8_e4m3"
	}
	sv := serve.New(serve.Config{
		Model: m, Tokenizer: tok, Templates: templates, Name: "tiny", Defaults: sample.Default(), EOS: []int{256}, Limits: s.limits,
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Reasoning: true, Tools: true,
		Info: map[string]any{
			"version": "0", "model": "tiny", "model_type": m.Spec.Type, "kv_cache_dtype": kv, "dtype": dtype,
			"context": s.limits.Context, "max_running": s.limits.Running, "max_queued": s.limits.Queued, "cache_tokens": s.limits.Tokens,
		},
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); sv.Run(ctx) }()
	h := &http.Server{Handler: sv, ReadHeaderTimeout: 10 * time.Second}
	go h.Serve(l) // its error is that it was closed
	return "http://" + l.Addr().String(), func() { h.Close(); cancel(); <-over }, nil
}

// battery is one run of the default level, once judged as if the checkpoint were
// not at hand, and once with it.
func battery(ctx context.Context, url string, o *reference.Oracle) (without, with outcome, err error) {
	e, err := endpoint.New(url, endpoint.Options{})
	if err != nil {
		return without, with, err
	}
	var seen verdicts
	to := &watched{Server: e}
	c, err := prober.Run(ctx, prober.Options{
		Server: to, URL: url, Level: probe.Default, Reference: o, Budget: prober.Budget{Time: 20 * time.Minute}, Now: time.Now,
		Sleep: func(ctx context.Context, d time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		},
	}, &seen)
	if err != nil {
		return without, with, err
	}
	alone := probe.Conclude(to.target, seen.results("oracle"))
	return seen.outcome(&alone, "oracle"), seen.outcome(c, ""), nil
}

// watched keeps what was learned of a server.
type watched struct {
	prober.Server
	target *probe.Target
}

// Identify asks the server.
func (w *watched) Identify(ctx context.Context) (*probe.Target, []finding.SettingMsg, []probe.Exchange, error) {
	t, settings, exchanges, err := w.Server.Identify(ctx)
	w.target = t
	return t, settings, exchanges, err
}

// results are the verdicts as a conclusion is made from them, without those of one
// probe.
func (v *verdicts) results(without string) []probe.Result {
	var list []probe.Result
	for _, p := range probe.Battery(probe.Default, false) {
		for _, m := range v.probes {
			if m.ID != p.ID || p.ID == without {
				continue
			}
			verdict := probe.Verdict{Outcome: probe.Outcome(m.Verdict), Text: m.Text, Evidence: m.Evidence}
			for _, s := range m.Signs {
				verdict.Signs = append(verdict.Signs, probe.Sign(s))
			}
			list = append(list, probe.Result{Probe: p, Verdict: verdict})
		}
	}
	return list
}

// outcome is a conclusion with what led to it.
func (v *verdicts) outcome(c *probe.Conclusion, without string) outcome {
	out := outcome{verdict: c.Message.Verdict, text: c.Message.Text, causes: c.Message.Causes, sent: c.Message.Sent}
	for _, p := range v.probes {
		if p.ID == without {
			continue
		}
		if p.Verdict == string(probe.Fail) {
			out.failed = append(out.failed, p.ID)
		}
		if p.Verdict != string(probe.Pass) {
			out.told = append(out.told, fmt.Sprintf("%s %s: %s", p.ID, p.Verdict, strings.ReplaceAll(p.Text, "\n", " ")))
		}
	}
	return out
}

// verdicts keeps the verdicts of a stream.
type verdicts struct{ probes []*finding.ProbeMsg }

// Handle keeps one.
func (v *verdicts) Handle(m finding.Message) error {
	if p, ok := m.(*finding.ProbeMsg); ok {
		v.probes = append(v.probes, p)
	}
	return nil
}

// Close does nothing.
func (v *verdicts) Close() error { return nil }
