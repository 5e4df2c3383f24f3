package report

import (
	_ "embed" // the template
	"html/template"
	"io"

	"shakedown/internal/finding"
)

//go:embed probe.tmpl
var probeSource string

// probeTemplate shares the parts of the report on a launch.
var probeTemplate = template.Must(template.Must(htmlTemplate.Clone()).New("probe").Parse(probeSource))

// probeHTML is the report on a living server as one self-contained file: no
// scripts, nothing loaded from anywhere.
type probeHTML struct {
	probing
	w io.Writer
}

// NewProbeHTML returns a handler that writes an HTML file with every request and
// answer to w on Close.
func NewProbeHTML(w io.Writer, opt Options) finding.Handler {
	return &probeHTML{probing: newProbing(opt), w: w}
}

// Close writes the file.
func (h *probeHTML) Close() error {
	v := h.view()
	v.quoteOnce()
	return probeTemplate.Execute(h.w, map[string]any{
		"CSS": template.CSS(css), "Tool": h.tool, "Errors": h.errors, "View": v, "Probe": v.Probe, "Root": h.head.Root,
		"Any": len(h.probes) > 0 || h.conclusion != nil,
	})
}
