package oracle_test

import (
	"testing"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

// TestForkAndTruncate: a text that goes on from a part of another one gives the bits
// that it gives alone, and the other one goes on as if nothing had happened.
func TestForkAndTruncate(t *testing.T) {
	for name, config := range oracletest.Configs {
		dir := oracletest.Write(t, config, oracletest.Options{})
		for _, num := range append(numerics.Names(), "hf-f32,fault=stale-page,page=4") {
			m := open(t, dir, num)
			const shared, whole = 9, 17
			other := append(append([]int(nil), prompt[:shared]...), 3, 1, 4, 1, 5)
			s := m.NewSession(nil)
			feed(t, s, prompt[:whole])
			fork := s.Fork(shared)
			got := feed(t, fork, other[shared:])
			rest := feed(t, s, prompt[whole:])
			if !s.Truncate(shared) || s.Len() != shared || fork.Len() != len(other) {
				t.Fatalf("%s, %s: %d and %d tokens", name, num, s.Len(), fork.Len())
			}
			again := feed(t, s, other[shared:])
			v := m.Spec.Vocab
			for what, pair := range map[string][2][]float32{
				"the fork":       {logits(t, m, other, len(other))[shared*v:], got},
				"the forked one": {logits(t, m, prompt, len(prompt))[whole*v:], rest},
				"the cut one":    {got, again},
			} {
				if at := sameBits(pair[0], pair[1]); at >= 0 || len(pair[0]) != len(pair[1]) {
					t.Errorf("%s, %s: %s differs at token %d", name, num, what, at/v)
				}
			}
		}
	}
	m := open(t, oracletest.Write(t, oracletest.Configs["deepseek_v3"], oracletest.Options{}), "sglang-bf16kv,kv=fp8_656-read-as-576")
	s := m.NewSession(nil)
	feed(t, s, prompt[:4])
	if s.Truncate(2) || s.Fork(2) != nil {
		t.Error("records that stay are forgotten")
	}
	m = open(t, oracletest.Write(t, oracletest.Configs["llama"], oracletest.Options{}), "exact")
	s = m.NewSession(nil)
	feed(t, s, prompt[:4])
	for _, n := range []int{-1, 5} {
		if s.Truncate(n) || s.Fork(n) != nil {
			t.Errorf("a text of 4 tokens has a part of %d", n)
		}
	}
}

// feed feeds tokens and returns their logits.
func feed(t testing.TB, s *oracle.Session, tokens []int) []float32 {
	t.Helper()
	hidden, err := s.Feed(t.Context(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	return s.Logits(hidden)
}
