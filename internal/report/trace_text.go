package report

import (
	"fmt"
	"io"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

// blocks are the cells of a strip, cold to hot.
var blocks = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// traceText is a trace for a terminal.
type traceText struct {
	traced
	p      *page
	full   bool
	layers []int // whose operations are shown
}

// NewTraceText returns a handler that writes a trace for a terminal on Close,
// with the operations of the given layers, or of all under Options.Full.
func NewTraceText(w io.Writer, opt Options, layers []int) finding.Handler {
	return &traceText{traced: traced{copier: copier{redact: opt.Redact}}, p: newPage(w, opt), full: opt.Full, layers: layers}
}

// Close writes the trace.
func (t *traceText) Close() error {
	if t.sum == nil {
		return t.p.flush() // the run failed, which is reported elsewhere
	}
	tone := t.p.style.Good
	switch {
	case t.sum.NonFinite > 0:
		tone = t.p.style.Bad
	case t.sum.FirstApart != nil:
		tone = t.p.style.Bold
	}
	for _, l := range term.Wrap(t.headline(), t.p.width) {
		t.p.line(tone(l))
	}
	t.p.blank()
	t.p.section("MODEL")
	t.p.row("", fmt.Sprintf("%s, %s, %s", t.sum.Type, plural(t.sum.Layers, "layer", "layers"), t.sum.Model), "", plainStyle)
	t.p.section("RUN")
	run := plural(t.sum.Tokens, "token", "tokens") + ", numerics " + t.sum.Numerics
	if t.sum.Against != "" {
		run += " against " + t.sum.Against
	}
	t.p.row("", run, "", plainStyle)
	if j := t.sum.Jump; j != nil {
		t.p.section("JUMP")
		t.p.row("", fmt.Sprintf("the difference grows most behind %s: %s of the value", opName(*j), figure(float64(j.Diff))), "", plainStyle)
	}
	t.p.blank()
	t.strips()
	if ops := t.shown(); len(ops) > 0 {
		t.p.blank()
		t.table(ops)
	}
	return t.p.flush()
}

func opName(o finding.OpStat) string {
	if o.Layer < 0 {
		return o.Op
	}
	return fmt.Sprintf("layer %d, %s", o.Layer, o.Op)
}

// strips writes a strip for each layer, and how far it went.
func (t *traceText) strips() {
	t.p.section("HEAT")
	t.p.row("", t.scale(), "", t.p.style.Dim)
	widest := 0
	for _, l := range t.traced.layers {
		widest = max(widest, len(l.Ops))
	}
	for i, l := range t.traced.layers {
		var b strings.Builder
		for _, o := range l.Ops {
			h := heatOf(o, t.compared())
			if h == notFinite {
				b.WriteString(t.p.style.Bad("!"))
				continue
			}
			b.WriteString(blocks[h])
		}
		b.WriteString(strings.Repeat(" ", widest-len(l.Ops)))
		end := ending(l)
		what := "rms " + figure(float64(end.RMS))
		if t.compared() {
			what = "diff " + figure(float64(end.Diff))
		}
		if r := remark(l); r != "" {
			what += ", " + r
		}
		t.p.line(term.Pad(rowName(l, i == 0), gutter) + b.String() + "  " + what)
	}
}

// shown are the operations that are listed one by one.
func (t *traceText) shown() []finding.OpStat {
	switch {
	case t.full:
		return t.operations(nil)
	case len(t.layers) > 0:
		return t.operations(t.layers)
	}
	return nil
}

func (t *traceText) table(ops []finding.OpStat) {
	last := "diff"
	if !t.compared() {
		last = "bad"
	}
	t.p.line(t.p.style.Head(fmt.Sprintf("%-7s%-16s%9s%12s%12s%12s%12s", "LAYER", "OPERATION", "VALUES", "MIN", "MAX", "RMS", strings.ToUpper(last))))
	for _, o := range ops {
		value := figure(float64(o.Diff))
		if !t.compared() {
			value = fmt.Sprint(o.NonFinite)
		}
		line := fmt.Sprintf("%-7s%-16s%9d%12s%12s%12s%12s", strings.TrimPrefix(fmt.Sprint(o.Layer), "-1"), o.Op, o.Values,
			figure(float64(o.Min)), figure(float64(o.Max)), figure(float64(o.RMS)), value)
		if o.NonFinite > 0 {
			line = t.p.style.Bad(line)
		}
		t.p.line(line)
	}
}
