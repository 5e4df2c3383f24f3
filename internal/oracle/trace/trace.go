// Package trace watches a forward pass operation by operation. Watch takes one
// numerics and finds the first value that is not finite; Compare runs two beside
// each other and finds where they part.
//
// Operations are summed up by layer and name, over all tokens and experts. The
// values of one layer are held at a time.
package trace

import (
	"context"
	"errors"
	"math"
	"slices"

	"shakedown/internal/finding"
	"shakedown/internal/oracle"
)

// Handler receives the layers of a trace in order, the part before the first
// layer and the one behind the last as layer -1.
type Handler func(*finding.TraceLayerMsg) error

// Watch runs tokens through a model and sums up every operation.
func Watch(ctx context.Context, m *oracle.Model, tokens []int, each Handler) (*finding.TraceMsg, error) {
	return run(ctx, []*oracle.Model{m}, tokens, each)
}

// Compare runs tokens through two models of one family, which differ in their
// numerics or weights.
func Compare(ctx context.Context, m, other *oracle.Model, tokens []int, each Handler) (*finding.TraceMsg, error) {
	return run(ctx, []*oracle.Model{m, other}, tokens, each)
}

// run lets each model run in a goroutine of its own, which hands over a layer at
// a time.
func run(ctx context.Context, models []*oracle.Model, tokens []int, each Handler) (*finding.TraceMsg, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sides []*side
	for _, m := range models {
		s := &side{out: make(chan *part), done: make(chan error, 1), ctx: ctx}
		sides = append(sides, s)
		go s.run(m, tokens)
	}
	sum := &finding.TraceMsg{Type: models[0].Spec.Type, Numerics: models[0].Num.Name, Tokens: len(tokens), Layers: len(models[0].Spec.Layers)}
	if len(models) > 1 {
		sum.Against = models[1].Num.Name
	}
	t := tracer{sum: sum}
	var failed error
	for failed == nil {
		var parts []*part
		for _, s := range sides {
			if p, ok := <-s.out; ok {
				parts = append(parts, p)
			}
		}
		if len(parts) < len(sides) {
			break // one has ended, in order or with an error
		}
		failed = each(t.layer(parts))
	}
	cancel()
	errs := []error{failed}
	for _, s := range sides {
		for range s.out { // what it still wanted to say
		}
		if err := <-s.done; failed == nil || !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return sum, nil
}

// part is what one side saw of one layer.
type part struct {
	layer    int
	ops      []*op
	selected [][]int // of each token, when there is an indexer
	routed   [][]int
}

// op is an operation with all its values, in the order in which they came.
type op struct {
	name   string
	pieces []piece
}

// piece is one call of a Tap.
type piece struct {
	tensor string
	oracle.Op
}

// side runs one model and gathers its layers. It is an oracle.Tap.
type side struct {
	ctx  context.Context
	out  chan *part
	done chan error
	now  *part
}

var _ oracle.Tap = (*side)(nil)

func (s *side) run(m *oracle.Model, tokens []int) {
	err := s.feed(m, tokens)
	s.send()
	close(s.out)
	s.done <- err
}

func (s *side) feed(m *oracle.Model, tokens []int) error {
	session := m.NewSession(s)
	hidden, err := session.Feed(s.ctx, tokens)
	if err != nil {
		return err
	}
	session.Logits(hidden)
	return s.ctx.Err()
}

func (s *side) send() {
	if s.now == nil {
		return
	}
	select {
	case s.out <- s.now:
	case <-s.ctx.Done():
	}
	s.now = nil
}

// at is the part of a layer; a new one sends the last.
func (s *side) at(layer int) *part {
	if s.now == nil || s.now.layer != layer {
		s.send()
		s.now = &part{layer: layer}
	}
	return s.now
}

// Op keeps the values.
func (s *side) Op(o *oracle.Op) {
	p := s.at(o.Layer)
	i := slices.IndexFunc(p.ops, func(have *op) bool { return have.name == o.Name })
	if i < 0 {
		p.ops = append(p.ops, &op{name: o.Name})
		i = len(p.ops) - 1
	}
	kept := piece{tensor: o.Tensor, Op: *o}
	kept.Values, kept.Rows = slices.Clone(o.Values), slices.Clone(o.Rows)
	p.ops[i].pieces = append(p.ops[i].pieces, kept)
}

// Selected keeps the positions.
func (s *side) Selected(layer, _ int, positions []int) {
	p := s.at(layer)
	p.selected = append(p.selected, slices.Clone(positions))
}

// Routed keeps the experts.
func (s *side) Routed(layer, _ int, experts []int, _ []float32) {
	p := s.at(layer)
	p.routed = append(p.routed, slices.Sorted(slices.Values(experts)))
}

// tracer sums up parts.
type tracer struct {
	sum  *finding.TraceMsg
	last float64 // the difference behind the operation before
	most float64 // the largest growth so far
}

// layer sums up one layer of one or two sides.
func (t *tracer) layer(parts []*part) *finding.TraceLayerMsg {
	msg := &finding.TraceLayerMsg{Layer: parts[0].layer}
	for _, o := range parts[0].ops {
		var other *op
		if len(parts) > 1 {
			if i := slices.IndexFunc(parts[1].ops, func(p *op) bool { return p.name == o.name }); i >= 0 {
				other = parts[1].ops[i]
			}
		}
		stat := t.op(msg.Layer, o, other)
		msg.Ops = append(msg.Ops, stat)
		t.sum.Ops++
		t.sum.NonFinite += stat.NonFinite
	}
	if len(parts) > 1 {
		msg.Selected = differ(parts[0].selected, parts[1].selected)
		msg.Routed = differ(parts[0].routed, parts[1].routed)
	}
	return msg
}

// differ counts the tokens whose choices differ.
func differ(a, b [][]int) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if !slices.Equal(a[i], b[i]) {
			n++
		}
	}
	return n
}

// op sums up an operation, with its counterpart when there is one.
func (t *tracer) op(layer int, o, other *op) finding.OpStat {
	s := finding.OpStat{Layer: layer, Op: o.name, Tensor: o.pieces[0].tensor, Min: finding.Number(math.Inf(1)), Max: finding.Number(math.Inf(-1))}
	var squares float64
	finite := 0
	for i := range o.pieces {
		p := &o.pieces[i]
		for j, v := range p.Values {
			s.Values++
			x := float64(v)
			if x-x != 0 {
				s.NonFinite++
				if t.sum.FirstBad == nil {
					t.sum.FirstBad = p.place(j)
				}
				continue
			}
			finite++
			squares += float64(x * x)
			s.Min, s.Max = min(s.Min, finding.Number(x)), max(s.Max, finding.Number(x))
		}
	}
	s.RMS = finding.Number(math.Sqrt(squares / float64(finite)))
	if finite == 0 {
		none := finding.Number(math.NaN())
		s.Min, s.Max, s.RMS = none, none, none
	}
	if other != nil {
		t.compare(&s, o, other)
	}
	return s
}

// place names the value with number j of a piece.
func (p *piece) place(j int) *finding.Place {
	return &finding.Place{
		Layer: p.Layer, Op: p.Name, Tensor: p.tensor, Token: p.Position(j / p.Width), Element: j % p.Width,
		Value: finding.Number(p.Values[j]),
	}
}

// compare measures how far two runs of an operation are apart. Pieces are
// matched in order; experts that only one of the two went to have no
// counterpart.
func (t *tracer) compare(s *finding.OpStat, a, b *op) {
	var squares, diffs float64
	n := 0
	lost := false // a value is finite on one side only
	for i := range a.pieces {
		p := &a.pieces[i]
		q := b.counterpart(p, i)
		if q == nil {
			continue
		}
		for j, v := range p.Values {
			x, y := float64(v), float64(q.Values[j])
			if v != q.Values[j] && t.sum.FirstApart == nil && !(v != v && y != y) {
				t.sum.FirstApart = p.place(j)
				t.sum.FirstApart.Other = finding.Number(y)
			}
			d := x - y
			if d-d != 0 {
				lost = lost || (x-x == 0) != (y-y == 0)
				continue
			}
			n++
			squares += float64(x * x)
			diffs += float64(d * d)
			s.MaxDiff = max(s.MaxDiff, finding.Number(math.Abs(d)))
		}
	}
	switch {
	case lost:
		s.Diff, s.MaxDiff = finding.Number(math.Inf(1)), finding.Number(math.Inf(1))
	case n == 0 || squares == 0:
		return
	default:
		s.Diff = finding.Number(math.Sqrt(diffs / squares))
	}
	if growth := float64(s.Diff) - t.last; growth > t.most {
		t.most = growth
		jump := *s
		t.sum.Jump = &jump
	}
	t.last = float64(s.Diff)
}

// counterpart is the piece of the same weight, tokens and width.
func (o *op) counterpart(p *piece, at int) *piece {
	fits := func(q *piece) bool {
		return q.tensor == p.tensor && q.Start == p.Start && len(q.Values) == len(p.Values) && slices.Equal(q.Rows, p.Rows)
	}
	if at < len(o.pieces) && fits(&o.pieces[at]) {
		return &o.pieces[at]
	}
	for i := range o.pieces {
		if fits(&o.pieces[i]) {
			return &o.pieces[i]
		}
	}
	return nil
}
