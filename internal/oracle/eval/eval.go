// Package eval asks a model about prompts: the logits behind a prompt, the
// logprob of each of its tokens, and the greedy continuation with the likeliest
// tokens at every step. It is the use case behind "shakedown eval".
package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"shakedown/internal/finding"
	"shakedown/internal/kernel"
	"shakedown/internal/oracle"
)

// Options are what to compute. The zero value computes logits and logprobs.
type Options struct {
	MaxNew  int  // tokens to continue with; text ends are no reason to stop
	Choices bool // tell which positions and experts were chosen, for the prompt
	Drafts  bool // tell what the first MTP layer drafts for the prompt
	Chunk   int  // tokens of a prompt at once; 0 for DefaultChunk. No influence on results
}

// DefaultChunk bounds the memory of a prefill: activations of this many tokens
// are held at once.
const DefaultChunk = 512

// ranked is how many of the likeliest tokens are told.
const ranked = 5

// logitRows bounds the logits held at once: a vocabulary has 10^5 entries.
const logitRows = 32

// Run evaluates one prompt. The error wraps oracle.ErrNoTokens for an empty one,
// and names a token id that the vocabulary lacks.
func Run(ctx context.Context, m *oracle.Model, number int, prompt []int, opt Options) (*finding.EvalMsg, error) {
	msg, err := run(ctx, m, prompt, opt)
	if err != nil {
		return nil, fmt.Errorf("prompt %d: %w", number, err)
	}
	msg.Prompt = number
	return msg, nil
}

func run(ctx context.Context, m *oracle.Model, prompt []int, opt Options) (*finding.EvalMsg, error) {
	if len(prompt) == 0 {
		return nil, oracle.ErrNoTokens
	}
	if opt.Chunk <= 0 {
		opt.Chunk = DefaultChunk
	}
	out := &finding.EvalMsg{Numerics: m.Num.Name, Tokens: slices.Clone(prompt)}
	rec := &recorder{}
	var tap oracle.Tap
	if opt.Choices {
		out.Selected, out.Router = map[string][][]int{}, map[string][][]int{}
		rec.selected, rec.router, rec.on = out.Selected, out.Router, true
		tap = rec
	}
	s := m.NewSession(tap)
	f := feeder{s: s, width: m.Spec.Hidden, prompt: prompt, out: out}
	if opt.Drafts {
		if m.Drafts() == 0 {
			return nil, ErrNoMTP
		}
		f.drafter = m.NewDrafter(0, nil)
	}
	if err := f.feed(ctx, opt.Chunk); err != nil {
		return nil, err
	}
	rec.on = false
	last := []float32(out.Logits)
	for i := range opt.MaxNew {
		best := Top(last, ranked)
		out.Top = append(out.Top, best)
		out.Greedy = append(out.Greedy, best[0].ID)
		if i == opt.MaxNew-1 {
			break
		}
		hidden, err := s.Feed(ctx, []int{best[0].ID})
		if err != nil {
			return nil, err
		}
		last = s.Logits(hidden)
		out.Bad += nonFinite(last)
	}
	return out, nil
}

// ErrNoMTP says that the checkpoint has no MTP layer.
var ErrNoMTP = errors.New("the checkpoint holds no MTP layer")

// feeder feeds a prompt in pieces and fills in its logprobs, the logits of its
// last position, and the drafts.
type feeder struct {
	s       *oracle.Session
	drafter *oracle.Drafter // nil for none
	width   int
	prompt  []int
	out     *finding.EvalMsg
}

func (f *feeder) feed(ctx context.Context, chunk int) error {
	for from := 0; from < len(f.prompt); from += chunk {
		piece := f.prompt[from:min(from+chunk, len(f.prompt))]
		hidden, err := f.s.Feed(ctx, piece)
		if err != nil {
			return err
		}
		for i := 0; i < len(piece); i += logitRows {
			n := min(logitRows, len(piece)-i)
			if err := f.rows(ctx, from+i, hidden[i*f.width:][:n*f.width]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows reads the logits of some positions.
func (f *feeder) rows(ctx context.Context, from int, hidden []float32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n := len(hidden) / f.width
	logits := f.s.LogitsAt(from, hidden)
	v := len(logits) / n
	for t := range n {
		row := logits[t*v:][:v]
		f.out.Bad += nonFinite(row)
		if next := from + t + 1; next < len(f.prompt) {
			f.out.Logprobs = append(f.out.Logprobs, Logprob(row, f.prompt[next]))
		} else {
			f.out.Logits = slices.Clone(row)
		}
	}
	if known := min(n, len(f.prompt)-1-from); f.drafter != nil && known > 0 {
		drafts, err := f.drafter.Feed(ctx, hidden[:known*f.width], f.prompt[from+1:][:known])
		if err != nil {
			return err
		}
		for t := range known {
			f.out.Drafts = append(f.out.Drafts, oracle.TopK(drafts[t*v:][:v], 1)[0])
		}
	}
	return nil
}

// recorder keeps the choices of a prompt.
type recorder struct {
	oracle.NoTap
	on               bool
	selected, router map[string][][]int
}

func (r *recorder) Selected(layer, _ int, positions []int) {
	if r.on {
		key := strconv.Itoa(layer)
		r.selected[key] = append(r.selected[key], slices.Clone(positions))
	}
}

func (r *recorder) Routed(layer, _ int, experts []int, _ []float32) {
	if r.on {
		key := strconv.Itoa(layer)
		r.router[key] = append(r.router[key], slices.Sorted(slices.Values(experts)))
	}
}

func nonFinite(x []float32) int {
	n := 0
	for _, v := range x {
		if v-v != 0 {
			n++
		}
	}
	return n
}

// logSum is the logarithm of the sum of exponentials, in float64.
func logSum(logits []float32) float64 {
	top := math.Inf(-1)
	for _, l := range logits {
		if float64(l) > top || l != l {
			top = float64(l)
		}
	}
	var sum float64
	for _, l := range logits {
		sum += kernel.Exp(float64(l) - top)
	}
	return top + kernel.Log(sum)
}

// Logprob is the logarithm of the probability of an id.
func Logprob(logits []float32, id int) float32 {
	return float32(float64(logits[id]) - logSum(logits))
}

// Logprobs is Logprob of several ids, from one pass over the vocabulary.
func Logprobs(logits []float32, ids []int) []float32 {
	sum := logSum(logits)
	all := make([]float32, len(ids))
	for i, id := range ids {
		all[i] = float32(float64(logits[id]) - sum)
	}
	return all
}

// Top lists the n likeliest ids, likeliest first, the lower id among equals. NaN
// comes before everything, as it does in the argmax of PyTorch: logits that are
// all NaN give token 0.
func Top(logits []float32, n int) []finding.Ranked { return top(logits, n, logSum(logits)) }

// Rank is Logprob of an id, how many ids are likelier, and Top, all from one pass
// over the vocabulary's exponentials.
func Rank(logits []float32, id, n int) (logprob float32, likelier int, best []finding.Ranked) {
	sum := logSum(logits)
	for _, v := range logits {
		if v > logits[id] {
			likelier++
		}
	}
	return float32(float64(logits[id]) - sum), likelier, top(logits, n, sum)
}

func top(logits []float32, n int, sum float64) []finding.Ranked {
	var best []finding.Ranked
	for _, id := range oracle.TopK(logits, n) {
		best = append(best, finding.Ranked{ID: id, Logprob: float32(float64(logits[id]) - sum)})
	}
	return best
}
