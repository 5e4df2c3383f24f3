package report

import (
	_ "embed" // the style sheet and the template
	"html/template"
	"io"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

//go:embed report.css
var css string

//go:embed report.tmpl
var htmlSource string

// Geometry of the timeline drawing, in units of its view box, 1000 wide.
const (
	rowHeight = 24
	barTop    = 6
	textBase  = 17
	gapToText = 6
	lateShare = 0.6 // a bar that ends behind this has its text on the left
)

var htmlTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"link":   func(s string) bool { return strings.HasPrefix(s, "https://") },
	"height": func(steps []step) int { return rowHeight * len(steps) },
	"left":   func(s step) int { return permille(s.Start) },
	"wide":   func(s step) int { return max(permille(s.Length), 2) },
	"top":    func(i int) int { return rowHeight*i + barTop },
	"base":   func(i int) int { return rowHeight*i + textBase },
	"late":   isLate,
	"stem":   branch.stem,
	"label": func(s step) int {
		if isLate(s) {
			return permille(s.Start) - gapToText
		}
		return permille(s.Start+s.Length) + gapToText
	},
}).Parse(htmlSource))

func permille(share float64) int { return int(1000 * share) }

func isLate(s step) bool { return s.Start+s.Length > lateShare && s.Start > 1-lateShare }

// html is the report as one self-contained file: no scripts, nothing loaded
// from anywhere.
type html struct {
	*digest
	w io.Writer
}

// NewHTML returns a handler that writes an HTML file to w on Close.
func NewHTML(w io.Writer, opt Options) finding.Handler {
	return &html{digest: newDigest(opt), w: w}
}

// Handle collects one message.
func (h *html) Handle(m finding.Message) error {
	h.handle(m)
	return nil
}

// Close writes the file.
func (h *html) Close() error {
	h.flush()
	title := "shakedown report"
	views := h.views()
	for i := range views {
		views[i].quoteOnce()
	}
	var last []view // the launch that decides opens the page
	if n := len(views); n > 0 {
		title = views[n-1].Headline
		last, views = views[n-1:], views[:n-1]
	}
	head, left, tail := h.rows()
	return htmlTemplate.Execute(h.w, map[string]any{
		"Title": title, "CSS": template.CSS(css), "Tool": h.tool, "Whole": h.ended, "Errors": h.errors,
		"Total": h.total, "Head": head, "Left": left, "Tail": tail, "Last": last, "Earlier": views,
	})
}

// quoteOnce marks the lines that were quoted further up in the launch, of
// another rank or in another role: only their positions are shown, those of
// neighbours together.
func (v *view) quoteOnce() {
	seen := map[string]bool{}
	mark := func(es []evidence) {
		first := -1 // of a run of lines quoted above
		for i := range es {
			e := &es[i]
			text := strings.TrimPrefix(message(e.Text), "…")
			e.Above = text != "" && seen[text]
			seen[text] = true
			switch {
			case !e.Above || e.Note != "":
				first = -1
			case first >= 0:
				es[first].Pos += ", " + e.Pos
				e.Pos = ""
			default:
				first = i
			}
		}
	}
	items := func(list []item) {
		for _, it := range list {
			mark(it.Evidence)
		}
	}
	items(v.Symptoms)
	for _, s := range slices.Concat(v.Suspects, v.Latent, v.Remarks) {
		mark(s.Evidence)
		items(s.Consequences)
	}
	items(v.NotIt)
}
