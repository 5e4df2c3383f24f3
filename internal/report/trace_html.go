package report

import (
	_ "embed" // the template
	"fmt"
	"html/template"
	"io"

	"shakedown/internal/finding"
)

//go:embed trace.tmpl
var traceSource string

var traceTemplate = template.Must(template.New("trace").Parse(traceSource))

// traceHTML is a trace as one self-contained file: no scripts, nothing loaded
// from anywhere.
type traceHTML struct {
	traced
	w io.Writer
}

// NewTraceHTML returns a handler that writes an HTML file to w on Close.
func NewTraceHTML(w io.Writer, opt Options) finding.Handler {
	return &traceHTML{traced: traced{copier: copier{redact: opt.Redact}}, w: w}
}

type (
	heatCell  struct{ Class, Title string }
	heatStrip struct {
		Name, What string
		Cells      []heatCell
		Rest       int
	}
	opRow struct {
		Op, Tensor          string
		Values, NonFinite   int
		Min, Max, RMS, Diff string
	}
	layerTable struct {
		Name string
		Rows []opRow
	}
)

// Close writes the file.
func (h *traceHTML) Close() error {
	tone := "good"
	jump := ""
	if h.sum == nil || h.sum.NonFinite > 0 {
		tone = "bad"
	} else if h.sum.Jump != nil {
		jump = fmt.Sprintf("The difference grows most behind %s: %s of the value.", opName(*h.sum.Jump), figure(float64(h.sum.Jump.Diff)))
	}
	widest := 0
	for _, l := range h.layers {
		widest = max(widest, len(l.Ops))
	}
	var strips []heatStrip
	var tables []layerTable
	for i, l := range h.layers {
		name := rowName(l, i == 0)
		strip := heatStrip{Name: name, What: remark(l), Rest: widest - len(l.Ops) + 1}
		table := layerTable{Name: name}
		for _, o := range l.Ops {
			strip.Cells = append(strip.Cells, h.cell(o))
			table.Rows = append(table.Rows, h.row(o))
		}
		strips, tables = append(strips, strip), append(tables, table)
	}
	return traceTemplate.Execute(h.w, map[string]any{
		"CSS": template.CSS(css), "Headline": h.headline(), "Tone": tone, "Sum": h.sum, "Jump": jump,
		"Scale": h.scale(), "Strips": strips, "Layers": tables,
	})
}

func (h *traceHTML) cell(o finding.OpStat) heatCell {
	c := heatCell{Class: fmt.Sprintf("h%d", heatOf(o, h.compared()))}
	c.Title = fmt.Sprintf("%s: %s to %s, rms %s", o.Op, figure(float64(o.Min)), figure(float64(o.Max)), figure(float64(o.RMS)))
	if h.compared() {
		c.Title += ", difference " + figure(float64(o.Diff))
	}
	if heatOf(o, h.compared()) == notFinite {
		c.Class = "hx"
	}
	if o.NonFinite > 0 {
		c.Title += ", " + plural(o.NonFinite, "value", "values") + " not finite"
	}
	return c
}

func (h *traceHTML) row(o finding.OpStat) opRow {
	r := opRow{
		Op: o.Op, Tensor: o.Tensor, Values: o.Values, NonFinite: o.NonFinite,
		Min: figure(float64(o.Min)), Max: figure(float64(o.Max)), RMS: figure(float64(o.RMS)),
	}
	if h.compared() {
		r.Diff = figure(float64(o.Diff))
	}
	return r
}
