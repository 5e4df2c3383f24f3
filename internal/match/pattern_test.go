package match

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatternMatch(t *testing.T) {
	tests := []struct {
		pattern, line string
		want          Captures
		ok            bool
	}{
		{"Load weight end. elapsed=<elapsed> s, type=<type>, <_>avail mem=<avail> GB",
			"[2026-01-02 03:04:05 TP0] Load weight end. elapsed=10.5 s, type=Foo, quant=fp8, avail mem=47.80 GB, mem usage=1 GB",
			Captures{{"elapsed", "10.5"}, {"type", "Foo"}, {"avail", "47.80"}}, true},
		{"Load weight end. elapsed=<elapsed> s, type=<type>, <_>avail mem=<avail> GB",
			"Load weight end. type=Foo, avail mem=47.80 GB", nil, false},
		{"model buffer size = <mib> MiB", "load_tensors: CUDA0 model buffer size =  2432.00 MiB", Captures{{"mib", "2432.00"}}, true},
		{"loading model '<path>'", "srv load_model: loading model '/m/a b.gguf'", Captures{{"path", "/m/a b.gguf"}}, true},
		{"version <v>", "version   0.9.1  ", Captures{{"v", "0.9.1"}}, true},
		{"version <v>", "version ", Captures{{"v", ""}}, true},
		{"<dev> model buffer", "CUDA0 model buffer", Captures{{"dev", "CUDA0"}}, true},
		{"<_>(<dev>) ready", "device(s) (x) ready", Captures{{"dev", "s) (x"}}, true},
		{"a<<b<x>>", "zza<b7>", Captures{{"x", "7"}}, true},
		{"only text", "has only text inside", nil, true},
		{"only text", "has only  text inside", nil, false},
		{"aa<x>aa", "aaa", nil, false},
		{"x=<a>, y=<b>", "x=, y=\xff\x00", Captures{{"a", ""}, {"b", "\xff\x00"}}, true},
		{"tokens: <n>, rest", "tokens: 12,rest", nil, false},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := p.Match([]byte(tt.line))
		if ok != tt.ok {
			t.Errorf("%q on %q: matched %v, want %v", tt.pattern, tt.line, ok, tt.ok)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q on %q (-want +got):\n%s", tt.pattern, tt.line, diff)
		}
	}
}

func TestParsePatternErrors(t *testing.T) {
	tests := map[string]string{
		"":               "no literal",
		"<a>":            "no literal",
		"x <a><b>":       "without a literal",
		"x <a> y <a>":    "two captures named",
		"x < 3":          "opens no capture",
		"x <a":           "opens no capture",
		"x <> y":         "opens no capture",
		"x <a-b> y":      "opens no capture",
		"count <n> <_><": "opens no capture",
	}
	for pattern, want := range tests {
		_, err := ParsePattern(pattern)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", pattern, err, want)
		}
	}
}

func TestExpand(t *testing.T) {
	caps := Captures{{"prefill", "flashmla_auto"}, {"n", ""}}
	tests := []struct {
		template, want string
		ok             bool
	}{
		{"plain", "plain", true},
		{"<prefill>", "flashmla_auto", true},
		{"a <prefill> b <n>.", "a flashmla_auto b .", true},
		{"a << <prefill>", "a < flashmla_auto", true},
		{"<decode>", "", false},
		{"<_>", "", false},
		{"broken <", "", false},
	}
	for _, tt := range tests {
		if got, ok := Expand(tt.template, caps); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %q %v, want %q %v", tt.template, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzPattern checks that a match can be put together again: the literals and
// captures of a pattern occur in the line in this order.
func FuzzPattern(f *testing.F) {
	f.Add("elapsed=<elapsed> s, type=<type>, <_>avail mem=<avail> GB", "elapsed=1 s, type=A, avail mem=3 GB")
	f.Add("<a>: <b>", "x: y: z")
	f.Add("a<<<b>>", "a<7>")
	f.Add("aa<x>aa", "aaaa")
	f.Fuzz(func(t *testing.T, pattern, line string) {
		p, err := ParsePattern(pattern)
		if err != nil {
			return
		}
		caps, ok := p.Match([]byte(line))
		if !ok {
			return
		}
		if len(caps) != p.named {
			t.Fatalf("%d captures, want %d", len(caps), p.named)
		}
		rest := []byte(line)
		for _, tok := range p.tokens {
			want := tok.literal
			if tok.name != "" {
				value, _ := caps.Get(tok.name)
				want = []byte(value)
			}
			at := bytes.Index(rest, want)
			if at < 0 {
				t.Fatalf("%q on %q: %q is missing or out of order in %v", pattern, line, want, caps)
			}
			rest = rest[at+len(want):]
		}
	})
}
