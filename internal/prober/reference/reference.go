// Package reference says what the exact engine gives for texts that a server
// answered: it opens the server's checkpoint, finds the ids of the tokens that the
// server told, and computes their logprobs in one arithmetic after the other. Which
// of them is the server's own is judged in package probe.
//
// One arithmetic is computed at a time, and weights stay in the mapped files, so
// that memory is that of one text. Everything ends with its context.
package reference

import (
	"context"
	"fmt"
	"math"
	"slices"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/eval"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/vocabulary"
	"shakedown/internal/probe"
)

const (
	// chunk is how many tokens of a text are computed at once, rows how many logits
	// are held: a vocabulary has 10^5 entries.
	chunk, rows = 256, 16
	// maxTokens bounds a text. Probes ask for less.
	maxTokens = 1 << 15
)

// Oracle is an open checkpoint with its tokenizer. It is used by one goroutine.
type Oracle struct {
	dir   string
	src   *load.Source
	words *words
}

// Open opens a checkpoint: a folder in the Hugging Face layout, or a GGUF file. The
// tokenizer is needed too, since servers speak of tokens by their texts.
func Open(dir string) (*Oracle, error) {
	src, err := load.Open(dir)
	if err != nil {
		return nil, err
	}
	t, err := vocabulary.Tokenizer(dir)
	if err != nil {
		src.Close()
		return nil, err
	}
	return &Oracle{dir: dir, src: src, words: index(t)}, nil
}

// Close ends all mappings.
func (o *Oracle) Close() error { return o.src.Close() }

// Judge computes the logprobs of the texts' tokens: in sound arithmetics until one
// is that of the server, and when none is, in those of known faults. Its error is
// that of ctx; why else nothing can be compared stands in the result.
func (o *Oracle) Judge(ctx context.Context, target *probe.Target, texts []probe.Text) (*probe.Reference, error) {
	ref := &probe.Reference{Dir: o.dir}
	known := make([]*known, len(texts))
	longest, told := 0, 0
	for i := range texts {
		k, err := o.words.find(&texts[i])
		if err != nil {
			ref.Missing = err.Error()
			return ref, nil
		}
		for _, id := range k.ids {
			if id >= o.src.Spec.Vocab {
				ref.Missing = fmt.Sprintf("the tokenizer's id %d is not in the model's vocabulary of %d", id, o.src.Spec.Vocab)
				return ref, nil
			}
		}
		known[i] = k
		told += len(k.told) - k.skip
		longest = max(longest, len(k.ids))
	}
	if told == 0 {
		ref.Missing = errTokens.Error()
		return ref, nil
	}
	if longest > maxTokens {
		ref.Missing = fmt.Sprintf("a text of %d tokens, at most %d are computed", longest, maxTokens)
		return ref, nil
	}
	var failed error
	for _, stage := range o.plan(target) {
		for _, c := range stage {
			a, err := o.compute(ctx, c, texts, known, longest)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				failed = err // a form of the cache that this model does not have, or memory
				continue
			}
			if c.fault != nil && repeats(ref.Arithmetics, a) {
				continue // the fault does nothing to this checkpoint
			}
			ref.Arithmetics = append(ref.Arithmetics, *a)
			if ref.Settled(texts) {
				return ref, nil
			}
		}
	}
	if len(ref.Arithmetics) == 0 && failed != nil {
		ref.Missing = failed.Error()
	}
	return ref, nil
}

// compute runs all texts through one arithmetic.
func (o *Oracle) compute(ctx context.Context, c candidate, texts []probe.Text, known []*known, longest int) (*probe.Arithmetic, error) {
	num, err := numerics.Parse(c.numerics)
	if err != nil {
		return nil, err
	}
	if err := o.src.Fits(num, longest, min(longest, chunk)); err != nil {
		return nil, err
	}
	m, err := o.src.Model(num)
	if err != nil {
		return nil, err
	}
	a := &probe.Arithmetic{Name: c.numerics, Sound: c.fault == nil, Coarse: c.coarse}
	finite := true
	for i := range texts {
		list, err := logprobs(ctx, m, &texts[i], known[i])
		if err != nil {
			return nil, err
		}
		a.Rows = append(a.Rows, list)
		finite = finite && allFinite(list)
	}
	if c.fault == nil && !finite { // what overflows here overflows in the server
		a.Sound = false
		c.fault = &c.overflow
	}
	if c.fault != nil {
		a.Fault, a.Cause = c.fault.words, c.fault.cause
	}
	return a, nil
}

func allFinite(list []probe.Row) bool {
	return !slices.ContainsFunc(list, func(r probe.Row) bool { return r.Own != r.Own })
}

// repeats says whether an arithmetic gives what an earlier one gave, bit for bit.
func repeats(earlier []probe.Arithmetic, a *probe.Arithmetic) bool {
	return slices.ContainsFunc(earlier, func(e probe.Arithmetic) bool {
		return e.Sound && slices.EqualFunc(e.Rows, a.Rows, func(x, y []probe.Row) bool {
			return slices.EqualFunc(x, y, func(p, q probe.Row) bool {
				return slices.EqualFunc(append(p.Told, p.Own), append(q.Told, q.Own), func(f, g float64) bool { return f == g || f != f && g != g })
			})
		})
	})
}

// logprobs are the rows of one text.
func logprobs(ctx context.Context, m *oracle.Model, t *probe.Text, k *known) ([]probe.Row, error) {
	out := make([]probe.Row, len(k.told))
	for i := range k.skip {
		out[i].Skip = true
	}
	s := m.NewSession(nil)
	feed := k.ids[:len(k.ids)-1] // nothing comes behind the last one
	for at := 0; at < len(feed); at += chunk {
		piece := feed[at:min(at+chunk, len(feed))]
		hidden, err := s.Feed(ctx, piece)
		if err != nil {
			return nil, err
		}
		w := m.Spec.Hidden
		// The logits of token i are those of the token at i+1.
		for i := max(0, k.from-1-at); i < len(piece); i += rows {
			n := min(rows, len(piece)-i)
			logits := s.LogitsAt(at+i, hidden[i*w:][:n*w])
			for j := range n {
				told := at + i + j + 1 - k.from
				out[told] = row(logits[j*m.Spec.Vocab:][:m.Spec.Vocab], k.ids[at+i+j+1], k.told[told])
			}
		}
	}
	return out, nil
}

// row are the logprobs of one token and of those that the server listed with it.
func row(logits []float32, own int, listed []int) probe.Row {
	r := probe.Row{Told: make([]float64, len(listed)), Unknown: make([]bool, len(listed))}
	ids := []int{own}
	var at []int // where in listed those behind the first stand
	for i, id := range listed {
		if id < 0 || id >= len(logits) {
			r.Unknown[i], r.Told[i] = true, math.Inf(-1)
			continue
		}
		ids, at = append(ids, id), append(at, i)
	}
	logprobs := eval.Logprobs(logits, ids)
	r.Own = float64(logprobs[0])
	for k, p := range logprobs[1:] {
		r.Told[at[k]] = float64(p)
	}
	return r
}
