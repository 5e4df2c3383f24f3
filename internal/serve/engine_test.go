package serve

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

func tiny(t *testing.T) *oracle.Model {
	t.Helper()
	src, err := load.Open(oracletest.Write(t, oracletest.Configs["deepseek_v32"], oracletest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	num, err := numerics.Parse("exact")
	if err != nil {
		t.Fatal(err)
	}
	m, err := src.Model(num)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// three are the feeds of a step: a piece of a prompt, one whose logprobs are
// wanted, and a token of an answer.
func three(m *oracle.Model) []*feed {
	var feeds []*feed
	for i, tokens := range [][]int{{1, 2, 3}, {4, 5, 6, 7}, {8}} {
		j := &job{id: string(rune('a' + i)), session: m.NewSession(nil), promptTop: -1}
		feeds = append(feeds, &feed{job: j, tokens: tokens})
	}
	feeds[1].job.promptTop = 2
	return feeds
}

// expect checks the logits of feed i against those of its tokens alone.
func expect(t *testing.T, m *oracle.Model, f *feed) {
	t.Helper()
	s := m.NewSession(nil)
	hidden, err := s.Feed(t.Context(), f.tokens)
	if err != nil {
		t.Fatal(err)
	}
	want := s.Logits(hidden)
	if f.job.promptTop < 0 {
		want = want[len(want)-m.Spec.Vocab:]
	}
	if f.err != nil || !slices.EqualFunc(want, f.logits, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
		t.Errorf("job %s: error %v, %d logits, %d expected", f.job.id, f.err, len(f.logits), len(want))
	}
	if f.job.session.Len() != len(f.tokens) {
		t.Errorf("job %s: the session has %d tokens", f.job.id, f.job.session.Len())
	}
}

// once is a context that panics at the n-th look at it, and never again.
type once struct {
	context.Context
	looks int
}

func (c *once) Err() error {
	if c.looks--; c.looks == 0 {
		panic("in the middle")
	}
	return nil
}

// TestComputePanicsTogether: a panic that only the common pass has costs no
// answer, and is reported.
func TestComputePanicsTogether(t *testing.T) {
	m := tiny(t)
	for _, looks := range []int{0, 1, 2} { // 0: no panic
		var bugs []string
		e := newEngine(m, Limits{}, new(counters), func(b *bugError) { bugs = append(bugs, b.id) })
		feeds := three(m)
		e.compute(&once{t.Context(), looks}, feeds)
		for _, f := range feeds {
			expect(t, m, f)
		}
		if looks == 0 && bugs != nil || looks > 0 && !slices.Equal(bugs, []string{"a, b, c"}) {
			t.Errorf("panic at look %d: bugs of %q", looks, bugs)
		}
	}
}

// faulty is a Tap that panics.
type faulty struct{ oracle.NoTap }

func (faulty) Op(*oracle.Op) { panic("always") }

// TestComputeBlames: what is wrong with a job ends that job alone.
func TestComputeBlames(t *testing.T) {
	m := tiny(t)
	e := newEngine(m, Limits{}, new(counters), func(b *bugError) { t.Errorf("job %s is reported before its end", b.id) })
	feeds := three(m)
	gone := errors.New("gone")
	bad := []*feed{
		{job: &job{id: "panics", session: m.NewSession(faulty{}), promptTop: -1}, tokens: []int{1}},
		{job: &job{id: "token", session: m.NewSession(nil), promptTop: -1}, tokens: []int{1, 99}},
		{job: &job{id: "gone", session: m.NewSession(nil), promptTop: -1}, tokens: []int{1}, err: gone},
	}
	e.compute(t.Context(), slices.Concat(bad[:2], feeds, bad[2:]))
	for _, f := range feeds {
		expect(t, m, f)
	}
	var bug *bugError
	if !errors.As(bad[0].err, &bug) || bug.id != "panics" || bug.value != "always" {
		t.Errorf("error %v for a panic", bad[0].err)
	}
	if err := bad[1].err; err == nil || !strings.Contains(err.Error(), "token id 99 at position 1") {
		t.Errorf("error %v for a token", err)
	}
	if bad[2].err != gone || bad[2].job.session.Len() != 0 {
		t.Errorf("error %v for a job that is over", bad[2].err)
	}
}
