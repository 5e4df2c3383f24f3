package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// traced is a trace, gathered from its messages.
type traced struct {
	copier copier
	sum    *finding.TraceMsg
	layers []*finding.TraceLayerMsg
}

func (t *traced) Handle(m finding.Message) error {
	switch m := m.(type) {
	case *finding.TraceLayerMsg:
		t.layers = append(t.layers, t.copier.message(m).(*finding.TraceLayerMsg))
	case *finding.TraceMsg:
		t.sum = t.copier.message(m).(*finding.TraceMsg)
	}
	return nil
}

// heat is how an operation looks in a strip: 0 for nothing to see, up to
// hottest, or bad for values that are not finite.
type heat int

const (
	hottest   heat = 8
	notFinite heat = -1
)

// heatOf grades an operation: in a comparison its relative difference, from
// 1e-7 (the last bit of a float32) to 1; else its largest magnitude, from 1e-4
// to 65504, the end of float16.
func heatOf(s finding.OpStat, compared bool) heat {
	if s.NonFinite > 0 || math.IsInf(float64(s.Diff), 1) {
		return notFinite
	}
	x, low, high := float64(s.Diff), 1e-7, 1.0
	if !compared {
		x, low, high = max(math.Abs(float64(s.Min)), math.Abs(float64(s.Max))), 1e-4, 65504.0
	}
	if x == 0 {
		return 0
	}
	share := (math.Log10(x) - math.Log10(low)) / (math.Log10(high) - math.Log10(low))
	return heat(math.Round(min(max(share, 0), 1)*float64(hottest-1))) + 1
}

// scale says in words what the heat means.
func (t *traced) scale() string {
	if t.compared() {
		return "one cell per operation: its difference, from 1e-7 to 1 of the value; ! not finite"
	}
	return "one cell per operation: its largest value, from 1e-4 to 65504; ! not finite"
}

func (t *traced) compared() bool { return t.sum != nil && t.sum.Against != "" }

// headline says how the trace ended.
func (t *traced) headline() string {
	switch {
	case t.sum == nil:
		return "The trace is incomplete"
	case t.sum.NonFinite > 0:
		return plural(t.sum.NonFinite, "value is", "values are") + " not finite, first " + at(t.sum.FirstBad)
	case t.compared() && t.sum.FirstApart == nil:
		return "Both arithmetics give the same bits"
	case t.compared():
		return "The two arithmetics part " + at(t.sum.FirstApart) + " and " + precise(t.sum.FirstApart.Other)
	}
	return "All values are finite"
}

// at names a place in words.
func at(p *finding.Place) string {
	s := "at "
	if p.Layer >= 0 {
		s += fmt.Sprintf("layer %d, ", p.Layer)
	}
	s += p.Op
	if p.Tensor != "" {
		s += " (" + p.Tensor + ")"
	}
	return s + fmt.Sprintf(", token %d, element %d: %s", p.Token, p.Element, precise(p.Value))
}

// precise writes a float32 with all its digits: two that part may do so in the
// last.
func precise(x finding.Number) string {
	if v := float64(x); v-v != 0 {
		return figure(v)
	}
	return fmt.Sprint(float32(x))
}

// rowName is the name of a row of strips: the parts before and behind the layers
// have none of their own.
func rowName(l *finding.TraceLayerMsg, first bool) string {
	switch {
	case l.Layer >= 0:
		return fmt.Sprintf("layer %d", l.Layer)
	case first:
		return "input"
	}
	return "output"
}

// ending is what a layer ends with.
func ending(l *finding.TraceLayerMsg) finding.OpStat {
	if len(l.Ops) == 0 {
		return finding.OpStat{}
	}
	return l.Ops[len(l.Ops)-1]
}

// remark says what else happened in a layer.
func remark(l *finding.TraceLayerMsg) string {
	var parts []string
	n := 0
	for _, o := range l.Ops {
		n += o.NonFinite
	}
	if n > 0 {
		parts = append(parts, plural(n, "value not finite", "values not finite"))
	}
	if l.Selected > 0 {
		parts = append(parts, plural(l.Selected, "token sees", "tokens see")+" other positions")
	}
	if l.Routed > 0 {
		parts = append(parts, plural(l.Routed, "token takes", "tokens take")+" other experts")
	}
	return strings.Join(parts, ", ")
}

// operations flattens the layers that are wanted; nil means all.
func (t *traced) operations(wanted []int) []finding.OpStat {
	var out []finding.OpStat
	for _, l := range t.layers {
		if wanted == nil || slices.Contains(wanted, l.Layer) {
			out = append(out, l.Ops...)
		}
	}
	return out
}
