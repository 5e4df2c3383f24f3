package sample_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"shakedown/internal/oracle/sample"
)

func with(change func(*sample.Params)) sample.Params {
	p := sample.Default()
	change(&p)
	return p
}

// shares draws many times and counts.
func shares(t *testing.T, p sample.Params, logits []float32) []float64 {
	t.Helper()
	out := make([]float64, len(logits))
	const n = 4000
	for i := range n {
		p.Seed = uint64(i)
		id, err := sample.New(p, nil).Next(logits)
		if err != nil {
			t.Fatal(err)
		}
		out[id] += 1.0 / n
	}
	return out
}

func logs(p ...float64) []float32 {
	out := make([]float32, len(p))
	for i, v := range p {
		out[i] = float32(math.Log(v)) + 3
	}
	return out
}

func TestShares(t *testing.T) {
	logits := logs(0.1, 0.4, 0.2, 0.3)
	for name, c := range map[string]struct {
		change func(*sample.Params)
		want   []float64
	}{
		"plain":        {func(*sample.Params) {}, []float64{0.1, 0.4, 0.2, 0.3}},
		"temperature":  {func(p *sample.Params) { p.Temperature = 0.5 }, []float64{0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3}},
		"top k":        {func(p *sample.Params) { p.TopK = 2 }, []float64{0, 4.0 / 7, 0, 3.0 / 7}},
		"top p":        {func(p *sample.Params) { p.TopP = 0.75 }, []float64{0, 4.0 / 9, 2.0 / 9, 3.0 / 9}},
		"top p of one": {func(p *sample.Params) { p.TopP = 0.01 }, []float64{0, 1, 0, 0}},
		"min p":        {func(p *sample.Params) { p.MinP = 0.6 }, []float64{0, 4.0 / 7, 0, 3.0 / 7}},
		"bias":         {func(p *sample.Params) { p.Bias = map[int]float64{1: -100, 0: 2.0794415} }, []float64{0.8 / 1.3, 0, 0.2 / 1.3, 0.3 / 1.3}},
		"greedy":       {func(p *sample.Params) { p.Temperature = 0 }, []float64{0, 1, 0, 0}},
	} {
		got := shares(t, with(c.change), logits)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 0.03 {
				t.Errorf("%s: token %d in %.3f of all draws, want %.3f", name, i, got[i], c.want[i])
			}
		}
	}
}

func TestPenalties(t *testing.T) {
	logits := []float32{2, 1.8, -1, -1.1}
	for name, c := range map[string]struct {
		change func(*sample.Params)
		want   []int
	}{
		"none":       {func(*sample.Params) {}, []int{0, 0, 0, 0}},
		"presence":   {func(p *sample.Params) { p.Presence = 1 }, []int{0, 1, 0, 0}},
		"frequency":  {func(p *sample.Params) { p.Frequency = 0.3 }, []int{0, 1, 0, 1}},
		"repetition": {func(p *sample.Params) { p.Repetition = 1.2 }, []int{1, 0, 0, 0}}, // the prompt has 0
	} {
		p := with(func(p *sample.Params) { p.Temperature = 0; c.change(p) })
		s := sample.New(p, []int{0})
		for i, want := range c.want {
			got, err := s.Next(logits)
			if err != nil || got != want {
				t.Errorf("%s: token %d is %d, %v, want %d", name, i, got, err, want)
				break
			}
		}
	}
}

// TestNaN: greedy hides it, sampling does not.
func TestNaN(t *testing.T) {
	nan := float32(math.NaN())
	greedy := with(func(p *sample.Params) { p.Temperature = 0 })
	if id, err := sample.New(greedy, nil).Next([]float32{9, nan, nan}); id != 1 || err != nil {
		t.Errorf("greedy: %d, %v, want the first NaN", id, err)
	}
	for _, logits := range [][]float32{{nan, nan}, {1, nan}, {1, float32(math.Inf(1))}, {float32(math.Inf(-1)), float32(math.Inf(-1))}} {
		if _, err := sample.New(sample.Default(), nil).Next(logits); !errors.Is(err, sample.ErrNotFinite) {
			t.Errorf("%v: %v, want ErrNotFinite", logits, err)
		}
	}
	if id, err := sample.New(sample.Default(), nil).Next([]float32{float32(math.Inf(-1)), 0}); id != 1 || err != nil {
		t.Errorf("a token that is ruled out: %d, %v", id, err)
	}
}

// TestReproducible: the same seed gives the same answer, whatever was drawn before
// by others; another seed another one.
func TestReproducible(t *testing.T) {
	logits := make([]float32, 100)
	draw := func(seed uint64) (out [20]int) {
		s := sample.New(with(func(p *sample.Params) { p.Seed = seed }), nil)
		for i := range out {
			out[i], _ = s.Next(logits)
		}
		return out
	}
	if a, b := draw(7), draw(7); a != b {
		t.Errorf("%v\n%v", a, b)
	}
	if a, b := draw(7), draw(8); a == b {
		t.Error("two seeds draw the same")
	}
	if got := draw(1); got[0] == got[1] && got[1] == got[2] {
		t.Errorf("%v", got)
	}
}

func TestCheck(t *testing.T) {
	p := sample.Default()
	if err := p.Check(10); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*sample.Params){
		"temperature": func(p *sample.Params) { p.Temperature = -1 }, "top_p": func(p *sample.Params) { p.TopP = 0 }, "top_k": func(p *sample.Params) { p.TopK = -1 },
		"min_p": func(p *sample.Params) { p.MinP = math.NaN() }, "repetition_penalty": func(p *sample.Params) { p.Repetition = 0 },
		"frequency_penalty": func(p *sample.Params) { p.Frequency = 3 }, "presence_penalty": func(p *sample.Params) { p.Presence = -3 },
		"token 10": func(p *sample.Params) { p.Bias = map[int]float64{10: 1} }, "token 1 ": func(p *sample.Params) { p.Bias = map[int]float64{1: 101} },
	} {
		p := with(change)
		if err := p.Check(10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	logits := make([]float32, 152000)
	for i := range logits {
		logits[i] = float32(i*7919%10007)/2000 - 2
	}
	s := sample.New(with(func(p *sample.Params) { p.TopP = 0.9; p.TopK = 50 }), nil)
	for b.Loop() {
		if _, err := s.Next(logits); err != nil {
			b.Fatal(err)
		}
	}
}
