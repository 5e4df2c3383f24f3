package probe

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// variants are the ways in which servers can be asked.
func variants() map[string]Features {
	whole := newFake().has
	cuts, ids, bare := whole, whole, whole
	cuts.Echo = false
	ids.Echo, ids.IDs, ids.Tokenize, ids.TokenPrompts = false, true, true, true
	bare.Echo, bare.NoCache, bare.Top = false, false, 5
	return map[string]Features{"prompt logprobs": whole, "cuts": cuts, "ids": ids, "bare": bare}
}

// TestHealthy: a server with nothing but rounding passes, in every way in which it
// can be asked.
func TestHealthy(t *testing.T) {
	for name, has := range variants() {
		for _, level := range []Level{Quick, Default, Thorough} {
			for _, noise := range []float64{0, 0.02, 0.1} {
				f := newFake()
				f.has, f.noise = has, noise
				for id, v := range f.all(t, level, consistencyProbes) {
					if v.Outcome != Pass {
						t.Errorf("%s, level %d, noise %v: %s: %s: %s", name, level, noise, id, v.Outcome, v.Text)
					}
				}
			}
		}
	}
}

// TestNothingToCompare: where all logprobs are null, the probes that compare them say
// so, and do not ask for a server that tells logprobs.
func TestNothingToCompare(t *testing.T) {
	f := newFake()
	f.noise = math.NaN()
	for id, v := range f.all(t, Default, consistencyProbes) {
		if v.Outcome == Pass || strings.Contains(v.Text, "tells logprobs") || strings.Contains(v.Text, "without logprobs") {
			t.Errorf("%s: %s: %s", id, v.Outcome, v.Text)
		}
	}
}

// TestFaults: each circumstance under which a server is wrong is seen by its probe,
// and only there.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faulty func(circumstance) bool
		fail   map[string]Sign // probes that must fail
		detail string
		level  Level
	}{
		{"decode", func(c circumstance) bool { return c.decoded > 0 }, map[string]Sign{"decode": SignDecode}, "from the first token on", Default},
		{"decode behind a page", func(c circumstance) bool { return c.decoded >= 64 }, map[string]Sign{"decode": SignDecodeLater}, "from token 65 on", Default},
		{"prefix", func(c circumstance) bool { return c.cached }, map[string]Sign{"prefix": SignPrefix}, "", Default},
		{"eviction", func(c circumstance) bool { return c.cached && c.full }, map[string]Sign{"evict": SignPrefix}, "", Thorough},
		{"batch", func(c circumstance) bool { return c.batch > 2 }, map[string]Sign{"batch": SignBatch, "cancel": SignCancelled}, "", Default},
		{"cancel", func(c circumstance) bool { return c.left }, map[string]Sign{"cancel": SignCancelled}, "", Default},
	} {
		for name, has := range variants() {
			f := newFake()
			f.has, f.faulty = has, tc.faulty
			got := f.all(t, tc.level, consistencyProbes)
			if name == "bare" && tc.name == "prefix" { // nothing can be kept from the cache, and everything looks wrong
				if v := got["repeat"]; v.Outcome != Fail || v.Signs[0] != SignPrefix {
					t.Errorf("%s, %s: %+v", tc.name, name, v)
				}
				continue
			}
			for id, v := range got {
				want, wrong := tc.fail[id]
				if wrong != (v.Outcome == Fail) || wrong && !slices.Contains(v.Signs, want) {
					t.Errorf("%s, %s: %s is %s %v: %s", tc.name, name, id, v.Outcome, v.Signs, v.Text)
				}
				if v.Outcome == Fail && (len(v.Evidence) < 2 || v.Threshold == "" || v.Evidence[0].Line == 0) {
					t.Errorf("%s: %s has no evidence: %+v", tc.name, id, v)
				}
			}
			if d := got["decode"].Detail; d != tc.detail {
				t.Errorf("%s, %s: detail %q, want %q", tc.name, name, d, tc.detail)
			}
		}
	}
}

// TestRandomServer: answers that are new each time fail as such, and set no noise
// behind which other faults could hide.
func TestRandomServer(t *testing.T) {
	f := newFake()
	f.noise = 3
	got := f.all(t, Default, consistencyProbes)
	if v := got["repeat"]; v.Outcome != Fail || v.Signs[0] != SignRepeat || v.Floor.Known {
		t.Errorf("%+v", v)
	}
	if v := got["decode"]; v.Outcome != Fail {
		t.Errorf("%+v", v)
	}
}

// TestUndecided: where every position looks like every other, nothing is claimed.
func TestUndecided(t *testing.T) {
	f := newFake()
	f.sure, f.noise = 0.001, 0
	for id, v := range f.all(t, Default, consistencyProbes) {
		if want := map[bool]Outcome{true: Pass, false: CantTell}[id == "repeat"]; v.Outcome != want {
			t.Errorf("%s: %s: %s", id, v.Outcome, v.Text)
		}
	}
}

// TestWithout: what a server lacks is said, and never a failure.
func TestWithout(t *testing.T) {
	none := newFake()
	none.has.Completions = false
	for id, v := range none.all(t, Default, consistencyProbes) {
		if v.Outcome != CantTell || v.Text == "" {
			t.Errorf("without completions: %s: %s %q", id, v.Outcome, v.Text)
		}
	}
	silent := newFake()
	silent.has.Logprobs = false
	for id, v := range silent.all(t, Default, consistencyProbes) {
		if v.Outcome == Fail || id == "decode" && !strings.Contains(v.Text, "no logprobs") {
			t.Errorf("without logprobs: %s: %s %q", id, v.Outcome, v.Text)
		}
	}
	for _, p := range consistencyProbes {
		s := &State{Target: &Target{Has: newFake().has}, Level: Default}
		for {
			asks := p.Next(s)
			if len(asks) == 0 {
				break
			}
			var round []Asked
			for i, a := range asks {
				round = append(round, Asked{a, Answer{Exchange: i + 1, Failure: Status, Status: 500, Error: "internal", PromptCount: -1, AnswerCount: -1}})
			}
			s.Rounds = append(s.Rounds, round)
			if len(s.Rounds) > 100 {
				t.Fatalf("%s never ends", p.ID)
			}
		}
		if v := p.Judge(s); v.Outcome != CantTell {
			t.Errorf("%s with nothing but errors: %s %q", p.ID, v.Outcome, v.Text)
		}
	}
}

func TestDistance(t *testing.T) {
	list := func(pairs ...any) Token {
		var tok Token
		for i := 0; i < len(pairs); i += 2 {
			tok.Top = append(tok.Top, Ranked{ID: -1, Text: pairs[i].(string), Logprob: Logprob{Value: pairs[i+1].(float64)}})
		}
		return tok
	}
	for _, tc := range []struct {
		name string
		a, b Token
		want float64
	}{
		{"equal", list("a", -0.6931, "b", -0.6931), list("b", -0.6931, "a", -0.6931), 0},
		{"swapped", list("a", -0.1054, "b", -2.3026), list("b", -0.1054, "a", -2.3026), 0.8},
		{"nothing in common", list("a", -0.6931, "b", -0.6931), list("c", -0.6931, "d", -0.6931), 1},
		{"cut lists", list("a", -1.2040, "b", -1.6094), list("a", -1.2040, "c", -1.6094), 0},
	} {
		a, okA := distOf(tc.a)
		b, okB := distOf(tc.b)
		if got := distance(a, b); !okA || !okB || got < tc.want-0.001 || got > tc.want+0.001 || got != distance(b, a) {
			t.Errorf("%s: %v (%v %v), want %v", tc.name, got, okA, okB, tc.want)
		}
	}
	null := list("a", -1.0, "b", -1.0)
	null.Top[1].Logprob.Null = true
	if _, ok := distOf(null); ok {
		t.Error("NaN makes no distribution")
	}
	if _, ok := distOf(list("a", 0.5, "b", -1.0)); ok {
		t.Error("more than everything is no distribution")
	}
}
