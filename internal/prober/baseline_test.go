package prober_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/finding"
	"shakedown/internal/prober"
)

// saved encodes messages as --json does.
func saved(t testing.TB, ms ...finding.Message) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	enc := finding.NewEncoder(&b)
	for _, m := range append([]finding.Message{&finding.ConfigMsg{SchemaVersion: finding.SchemaVersion}}, ms...) {
		if err := enc.Handle(m); err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

func earlier(version, verdict, answer, dtype string) []finding.Message {
	return []finding.Message{
		&finding.EndpointMsg{Engine: "sglang", EngineVersion: version, Model: "m", Facts: []finding.FactEntry{{Key: "context", Value: "4096"}}},
		&finding.SettingMsg{Name: "kv_cache_dtype", Effective: dtype},
		&finding.ExchangeMsg{N: 1, Path: "/v1/completions", Status: 200, Request: `{"prompt":"a","temperature":0}`, Answer: `{"choices":[{"text":"` + answer + `"}]}`},
		&finding.ExchangeMsg{N: 2, Path: "/v1/completions", Status: 200, Request: `{"prompt":"a","temperature":1}`, Answer: `{"choices":[{"text":"` + version + `"}]}`},
		&finding.ProbeMsg{ID: "decode", Verdict: verdict},
		&finding.ConclusionMsg{Verdict: "wrong"},
	}
}

// TestBaseline: what differs is told once, before the conclusion, verdicts first;
// what hangs on chance is not compared.
func TestBaseline(t *testing.T) {
	b, err := prober.ReadBaseline("then.json", saved(t, earlier("0.5.9", "pass", "x", "auto")...))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		now  []finding.Message
		want *finding.BaselineMsg
	}{
		{earlier("0.5.9", "pass", "x", "auto"), &finding.BaselineMsg{File: "then.json", Verdict: "wrong", Equal: 7}},
		{earlier("0.5.10", "fail", "y", "bf16"), &finding.BaselineMsg{File: "then.json", Verdict: "wrong", Equal: 3, Changes: []finding.Changed{
			{Kind: "probe", Name: "decode", Then: "pass", Now: "fail"}, {Kind: "server", Name: "engine", Then: "sglang 0.5.9", Now: "sglang 0.5.10"},
			{Kind: "answer", Name: "to the same greedy request", Then: `"x"`, Now: `"y"`}, {Kind: "setting", Name: "kv_cache_dtype", Then: "auto", Now: "bf16"},
		}}},
	} {
		var out stream
		h := b.Watch(&out)
		for _, m := range tc.now {
			if err := h.Handle(m); err != nil {
				t.Fatal(err)
			}
		}
		if len(out) != len(tc.now)+1 {
			t.Fatalf("%d messages", len(out))
		}
		if diff := cmp.Diff(tc.want, out[len(out)-2]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBaselineRefuses(t *testing.T) {
	if _, err := prober.ReadBaseline("a.log", strings.NewReader("INFO started\n")); !errors.Is(err, finding.ErrNotReport) {
		t.Errorf("a log: %v", err)
	}
	if _, err := prober.ReadBaseline("e.json", saved(t, &finding.LaunchMsg{N: 1}, &finding.EndMsg{})); !errors.Is(err, prober.ErrNoRun) {
		t.Errorf("another report: %v", err)
	}
}

func FuzzBaseline(f *testing.F) {
	f.Add(saved(f, earlier("0.5.9", "pass", "x", "auto")...).String())
	f.Add(`{"message":"config","schema_version":"1"}` + "\n" + `{"message":"exchange","n":-1,"status":200,"request":"{\"temperature\":0}","answer":"{\"choices\":[{}]}"}`)
	f.Fuzz(func(t *testing.T, s string) {
		b, err := prober.ReadBaseline("f", strings.NewReader(s))
		if err != nil {
			return
		}
		h := b.Watch(new(stream))
		for _, m := range earlier("0.5.9", "pass", "x", "auto") {
			if err := h.Handle(m); err != nil {
				t.Fatal(err)
			}
		}
	})
}
