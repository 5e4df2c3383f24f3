// Package sample chooses the next token from logits, in the order in which the
// serving engines apply their parameters: bias, penalties, temperature, min-p,
// top-k, top-p (vLLM, v1/sample/sampler.py, 0.19).
//
// Choosing is a function of the logits, the parameters, the tokens so far and the
// number of the token: no state of a random generator is shared, so that a
// request is answered alike alone and among others, and on every machine.
package sample

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"shakedown/internal/kernel"
)

// Params say how to choose. The zero value is not usable: start from Default.
type Params struct {
	Temperature float64 // 0: the likeliest token
	TopK        int     // only the k likeliest; 0: all
	TopP        float64 // only the likeliest that together reach this probability
	MinP        float64 // only those with at least this share of the likeliest one's probability
	Repetition  float64 // divides positive and multiplies negative logits of tokens that occurred, the prompt's included; 1: off
	Frequency   float64 // subtracted for each time that the answer has the token
	Presence    float64 // subtracted when the answer has the token
	Bias        map[int]float64
	Seed        uint64
}

// Default chooses by the model's own probabilities.
func Default() Params { return Params{Temperature: 1, TopP: 1, Repetition: 1} }

// Check names the parameter that no engine would take. vocab is the number of
// logits.
func (p *Params) Check(vocab int) error {
	in := func(name string, v, lo, hi float64) error {
		if !(v >= lo && v <= hi) { // NaN is outside, too
			return fmt.Errorf("%s must be from %g to %g, got %g", name, lo, hi, v)
		}
		return nil
	}
	if err := errors.Join(in("temperature", p.Temperature, 0, 2), in("min_p", p.MinP, 0, 1), in("repetition_penalty", p.Repetition, 0.01, 2),
		in("frequency_penalty", p.Frequency, -2, 2), in("presence_penalty", p.Presence, -2, 2)); err != nil {
		return err
	}
	if !(p.TopP > 0 && p.TopP <= 1) {
		return fmt.Errorf("top_p must be above 0 and at most 1, got %g", p.TopP)
	}
	if p.TopK < 0 {
		return fmt.Errorf("top_k must not be negative, got %d", p.TopK)
	}
	for id, b := range p.Bias {
		if id < 0 || id >= vocab {
			return fmt.Errorf("logit_bias names token %d; the vocabulary has ids 0 to %d", id, vocab-1)
		}
		if !(b >= -100 && b <= 100) {
			return fmt.Errorf("logit_bias of token %d must be from -100 to 100, got %g", id, b)
		}
	}
	return nil
}

// ErrNotFinite says that there is nothing to sample from: a probability is NaN.
// Engines fail here with "probability tensor contains either inf, nan or element
// < 0"; choosing the likeliest token hides the same logits.
var ErrNotFinite = errors.New("probability tensor contains either inf, nan or element < 0")

// Sampler chooses the tokens of one answer. It belongs to one goroutine.
type Sampler struct {
	p      Params
	prompt map[int]bool
	count  map[int]int // of the answer's tokens
	n      int         // tokens chosen
	work   []float32
	order  []candidate
}

type candidate struct {
	id int
	p  float64
}

// New begins an answer to a prompt.
func New(p Params, prompt []int) *Sampler {
	s := &Sampler{p: p, count: make(map[int]int)}
	if p.Repetition != 1 {
		s.prompt = make(map[int]bool, len(prompt))
		for _, id := range prompt {
			s.prompt[id] = true
		}
	}
	return s
}

// Next chooses a token; logits are left as they are. Where the likeliest token
// is asked for, NaN counts as larger than everything and the lowest id wins, as in
// PyTorch's argmax; otherwise logits that give no distribution are ErrNotFinite.
func (s *Sampler) Next(logits []float32) (int, error) {
	x := append(s.work[:0], logits...)
	s.work = x
	s.adjust(x)
	id := argmax(x)
	if s.p.Temperature > 0 {
		var err error
		if id, err = s.draw(x, id); err != nil {
			return 0, err
		}
	}
	s.count[id]++
	s.n++
	return id, nil
}

// adjust applies bias and penalties.
func (s *Sampler) adjust(x []float32) {
	for id, b := range s.p.Bias {
		x[id] += float32(b)
	}
	if r := float32(s.p.Repetition); r != 1 {
		repeat := func(id int) {
			if x[id] > 0 {
				x[id] /= r
			} else {
				x[id] *= r
			}
		}
		for id := range s.prompt {
			repeat(id)
		}
		for id := range s.count {
			if !s.prompt[id] {
				repeat(id)
			}
		}
	}
	for id, n := range s.count {
		x[id] -= float32(s.p.Frequency*float64(n)) + float32(s.p.Presence)
	}
}

func argmax(x []float32) int {
	best := 0
	for i, v := range x {
		if v != v {
			return i
		}
		if v > x[best] {
			best = i
		}
	}
	return best
}

// draw samples. best is the likeliest token.
func (s *Sampler) draw(x []float32, best int) (int, error) {
	top := float64(x[best])
	if math.IsNaN(top) || math.IsInf(top, 0) {
		return 0, ErrNotFinite
	}
	list := s.order[:0]
	least := 0.0
	if s.p.MinP > 0 {
		least = s.p.MinP
	}
	for id, v := range x {
		p := kernel.Exp((float64(v) - top) / s.p.Temperature) // as a share of the likeliest
		if p >= least && p > 0 {
			list = append(list, candidate{id, p})
		}
	}
	s.order = list
	if k := s.p.TopK; k > 0 && k < len(list) {
		list = likeliest(list, func(n int, _ float64) bool { return n >= k })[:k]
	}
	sum := total(list)
	if need := s.p.TopP * sum; s.p.TopP < 1 {
		list = likeliest(list, func(_ int, have float64) bool { return have >= need })
		have := 0.0
		for i, c := range list {
			if have += c.p; have >= need {
				list = list[:i+1]
				break
			}
		}
		sum = have
	}
	at := uniform(s.p.Seed, s.n) * sum
	for _, c := range list {
		if at -= c.p; at < 0 {
			return c.id, nil
		}
	}
	return list[len(list)-1].id, nil
}

func total(list []candidate) float64 {
	sum := 0.0
	for _, c := range list {
		sum += c.p
	}
	return sum
}

// likeliest sorts the likeliest candidates, as many as enough asks for: it is
// told how many there are and what they add up to. Few of a vocabulary matter, so
// that sorting all of it would take most of the time.
func likeliest(list []candidate, enough func(n int, sum float64) bool) []candidate {
	for least := 0.1; ; least /= 100 {
		n, sum := 0, 0.0
		for _, c := range list {
			if c.p >= least {
				n++
				sum += c.p
			}
		}
		if !enough(n, sum) && n < len(list) && least > 0 {
			continue
		}
		best := make([]candidate, 0, n)
		for _, c := range list {
			if c.p >= least {
				best = append(best, c)
			}
		}
		slices.SortFunc(best, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.id, b.id))
		})
		return best
	}
}

// uniform is the random number of the n-th token, from 0 to below 1. PCG is
// specified, and so the same in every release of Go.
func uniform(seed uint64, n int) float64 {
	return float64(rand.NewPCG(seed, uint64(n)).Uint64()>>11) / (1 << 53)
}
