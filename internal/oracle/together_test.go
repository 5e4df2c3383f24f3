package oracle_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

// passes are what three texts get to do in passes that they share: prefills of
// different lengths, pieces beside decoding, a text that begins late, and one
// that is over early. The last text is longer than a block of the attention.
var passes = [3][]int{{7, 1, 1, 1}, {0, 12, 1, 1}, {1, 18, 1, 0}}

// texts are three different ones.
func texts() [3][]int {
	var out [3][]int
	for i := range out {
		out[i] = append(slices.Clone(prompt[i*5:]), prompt[:i*5]...)
	}
	return out
}

// alone is the logits of a text that is fed by itself.
func alone(t testing.TB, m *oracle.Model, text []int, pieces []int) []float32 {
	t.Helper()
	pieces = slices.DeleteFunc(slices.Clone(pieces), func(n int) bool { return n == 0 })
	n := 0
	for _, p := range pieces {
		n += p
	}
	return logits(t, m, text[:n], pieces...)
}

// TestTogetherGivesTheSameBits: sessions that are fed in one pass give the bits
// that each gives alone, for every family and set.
func TestTogetherGivesTheSameBits(t *testing.T) {
	configs := maps.Clone(oracletest.Configs)
	configs["latent-real"] = oracletest.LatentReal
	for name, config := range configs {
		for format, options := range map[string]oracletest.Options{"bf16": {}, "mixed": {Format: mixed}} {
			dir := oracletest.Write(t, config, options)
			for _, num := range append(numerics.Names(), "hf-f32,fault=stale-page,page=4", "sglang-bf16kv,kv=fp8_656-read-as-576") {
				m := open(t, dir, num)
				var have [3][]float32
				together(t, m, m.FeedAll, func(i int, logits []float32) { have[i] = append(have[i], logits...) })
				for i, text := range texts() {
					want := alone(t, m, text, passes[i])
					if len(want) != len(have[i]) {
						t.Fatalf("%s %s, %s, text %d: %d logits, alone %d", name, format, num, i, len(have[i]), len(want))
					}
					if at := sameBits(want, have[i]); at >= 0 {
						t.Errorf("%s %s, %s, text %d: token %d differs", name, format, num, i, at/m.Spec.Vocab)
					}
				}
			}
		}
	}
}

// together runs the passes; feed computes one and see gets the logits of a text.
func together(t testing.TB, m *oracle.Model, feed func(context.Context, []oracle.Feed) ([][]float32, error), see func(i int, logits []float32)) {
	t.Helper()
	left := texts()
	var sessions [3]*oracle.Session
	for i := range sessions {
		sessions[i] = m.NewSession(nil)
	}
	for step := range passes[0] {
		var feeds []oracle.Feed
		var of []int
		for i, s := range sessions {
			if n := passes[i][step]; n > 0 {
				feeds, of = append(feeds, oracle.Feed{Session: s, Tokens: left[i][:n]}), append(of, i)
				left[i] = left[i][n:]
			}
		}
		hidden, err := feed(t.Context(), feeds)
		if err != nil {
			t.Fatal(err)
		}
		all := m.Logits(slices.Concat(hidden...))
		for j, i := range of {
			n := len(hidden[j]) / m.Spec.Hidden * m.Spec.Vocab
			see(i, all[:n])
			all = all[n:]
		}
	}
}

// interrupted is a context that is over at the n-th look at it, once.
type interrupted struct {
	context.Context
	looks int
}

func (c *interrupted) Err() error {
	if c.looks--; c.looks == 0 {
		return context.Canceled
	}
	return nil
}

// TestTogetherAgain: after a pass that was interrupted between two layers, the
// same feeds give the bits that they give at once.
func TestTogetherAgain(t *testing.T) {
	for name, config := range oracletest.Configs {
		m := open(t, oracletest.Write(t, config, oracletest.Options{}), "sglang-0.5.9-sm120-auto")
		var have [3][]float32
		together(t, m, func(ctx context.Context, feeds []oracle.Feed) ([][]float32, error) {
			if _, err := m.FeedAll(&interrupted{ctx, 2}, feeds); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: error %v", name, err)
			}
			for _, f := range feeds {
				if !f.Session.Truncate(f.Session.Len()) {
					t.Fatalf("%s: a session cannot be taken back", name)
				}
			}
			return m.FeedAll(ctx, feeds)
		}, func(i int, logits []float32) { have[i] = append(have[i], logits...) })
		for i, text := range texts() {
			if at := sameBits(alone(t, m, text, passes[i]), have[i]); at >= 0 {
				t.Errorf("%s, text %d: token %d differs", name, i, at/m.Spec.Vocab)
			}
		}
	}
}

// TestFeedAllRefuses: what is wrong is named, and no session changes.
func TestFeedAllRefuses(t *testing.T) {
	dir := oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{})
	m, other := open(t, dir, "exact"), open(t, dir, "exact")
	a, b, watched, foreign := m.NewSession(nil), m.NewSession(nil), m.NewSession(oracle.NoTap{}), other.NewSession(nil)
	one := []int{1}
	for _, tc := range []struct {
		feeds []oracle.Feed
		want  string
	}{
		{nil, "no tokens"},
		{[]oracle.Feed{{a, one}, {b, nil}}, "no tokens"},
		{[]oracle.Feed{{a, one}, {b, []int{64}}}, "token id 64 at position 0"},
		{[]oracle.Feed{{a, one}, {a, one}}, "twice"},
		{[]oracle.Feed{{a, one}, {watched, one}}, "tap"},
		{[]oracle.Feed{{a, one}, {foreign, one}}, "another model"},
	} {
		if _, err := m.FeedAll(t.Context(), tc.feeds); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q", err, tc.want)
		}
	}
	for _, s := range []*oracle.Session{a, b, watched, foreign} {
		if s.Len() != 0 {
			t.Errorf("a session has %d tokens", s.Len())
		}
	}
}
