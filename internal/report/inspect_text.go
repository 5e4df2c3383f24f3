package report

import (
	"fmt"
	"io"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

// What a short report of a checkpoint shows of a list; Full shows all of it.
const (
	fewFindings     = 12
	fewGroups       = 8
	fewTensors      = 40
	fewTensorQuotes = 2
)

// inspectText is the report on a checkpoint for a terminal.
type inspectText struct {
	copier   copier
	opt      Options
	p        *page
	head     finding.CheckpointMsg
	tensors  []finding.TensorMsg
	findings []finding.FindingMsg
	memory   *finding.MemoryMsg
	ended    bool
}

// NewInspectText returns a handler that writes the report on a checkpoint for a
// terminal to w on Close.
func NewInspectText(w io.Writer, opt Options) finding.Handler {
	return &inspectText{copier: copier{redact: opt.Redact}, opt: opt, p: newPage(w, opt)}
}

// Handle collects one message.
func (t *inspectText) Handle(m finding.Message) error {
	switch m := t.copier.message(m).(type) {
	case *finding.CheckpointMsg:
		t.head = *m
	case *finding.TensorMsg:
		t.tensors = bounded(t.tensors, *m, maxOfKind)
	case *finding.FindingMsg:
		t.findings = bounded(t.findings, *m, maxOfKind)
	case *finding.MemoryMsg:
		t.memory = m
	case *finding.EndMsg:
		t.ended = true
	}
	return nil
}

// of lists the findings of a severity.
func (t *inspectText) of(s finding.Severity) []finding.FindingMsg {
	var out []finding.FindingMsg
	for _, f := range t.findings {
		if f.Severity == s {
			out = append(out, f)
		}
	}
	return out
}

// Close writes the report.
func (t *inspectText) Close() error {
	errors, warnings, remarks := t.of(finding.Error), t.of(finding.Warning), t.of(finding.Info)
	t.headline(len(errors), len(warnings))
	t.p.blank()
	t.model()
	t.asked()
	n := 1
	n = t.detailed("BROKEN", errors, n, t.p.style.Bad)
	t.detailed("BREAKS", warnings, n, t.p.style.Warn)
	t.room()
	t.remarks(remarks)
	t.end()
	if !t.ended {
		t.p.line(t.p.style.Warn("This report is incomplete: its end is missing."))
	}
	return t.p.flush()
}

func (t *inspectText) headline(errors, warnings int) {
	var counts []string
	if errors > 0 {
		counts = append(counts, plural(errors, "error", "errors"))
	}
	if warnings > 0 {
		counts = append(counts, plural(warnings, "warning", "warnings"))
	}
	text, style := "SOUND as far as headers tell", t.p.style.Good
	switch {
	case errors > 0:
		text, style = "BROKEN, "+strings.Join(counts, ", "), t.p.style.Bad
	case warnings > 0:
		text, style = "SOUND in itself, "+strings.Join(counts, ", "), t.p.style.Warn
	case t.head.ScannedBytes > 0:
		text = "SOUND, every value read"
	}
	what := nonEmpty(shortModel(strings.TrimRight(t.head.Path, "/")), t.head.Family, t.size())
	t.p.line(style(text) + "   " + term.Cut(strings.Join(what, "  "), max(t.p.width-term.Width(text)-3, 1)))
}

func (t *inspectText) size() string {
	if t.head.Bytes == 0 {
		return ""
	}
	return bytesWords(float64(t.head.Bytes))
}

func (t *inspectText) model() {
	h := t.head
	t.p.section("MODEL")
	var words []string
	if h.Parameters > 0 {
		words = append(words, count(h.Parameters)+" parameters")
	}
	if h.Layers > 0 {
		layers := plural(h.Layers, "layer", "layers")
		if h.DraftLayers > 0 {
			layers += fmt.Sprintf(" and %d for multi-token prediction", h.DraftLayers)
		}
		words = append(words, layers)
	}
	if h.ContextLength > 0 {
		words = append(words, fmt.Sprintf("context %d", h.ContextLength))
	}
	words = append(words, fmt.Sprintf("%s in %s", plural(h.Tensors, "tensor", "tensors"), plural(h.Files, h.Format+" file", h.Format+" files")))
	t.p.row("", strings.Join(nonEmpty(append([]string{h.Architecture}, words...)...), ", "), "", plainStyle)
	t.p.row("", "quantisation: "+h.Quantisation, "", plainStyle)
	if f := strings.Join(nonEmpty(strings.TrimSpace(h.Engine+" "+h.EngineVersion), h.Hardware, h.Parallel), ", "); f != "" {
		t.p.row("", "judged for "+f, "", plainStyle)
	}
	t.p.section("WEIGHTS")
	few := len(h.Groups)
	if !t.opt.Full {
		few = min(few, fewGroups)
	}
	for _, g := range h.Groups[:few] {
		var size []string
		if g.Parameters > 0 {
			size = append(size, fmt.Sprintf("%8s", count(g.Parameters)))
		}
		if g.Bytes > 0 {
			size = append(size, fmt.Sprintf("%9s", bytesWords(float64(g.Bytes))))
		}
		t.p.cells(term.Pad(g.Name, 23)+term.Pad(g.Format, 12), plural(g.Modules, "module", "modules"), strings.Join(size, "  "), plainStyle)
	}
	if n := len(h.Groups) - few; n > 0 {
		t.p.row("", plural(n, "smaller group", "smaller groups")+": --full", "", t.p.style.Dim)
	}
	t.p.section("KV CACHE")
	for _, k := range h.KV {
		t.p.row(term.Pad(k.Name, 12)+term.Pad(bytesWords(k.BytesPerToken)+" per token", 20), k.How, "", t.p.style.Dim)
	}
	t.p.section("")
	for _, n := range h.Notes {
		t.p.row("", n, "", t.p.style.Dim)
	}
	t.p.blank()
}

// asked shows the tensors that were asked for.
func (t *inspectText) asked() {
	if len(t.tensors) == 0 {
		return
	}
	t.p.section("TENSORS")
	few := len(t.tensors)
	if !t.opt.Full {
		few = min(few, fewTensors)
	}
	for _, m := range t.tensors[:few] {
		t.p.row("", m.Name, m.File, t.p.style.Bold)
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(m.Shape), "[]"), " ", "x")
		if shape == "" {
			shape = "scalar"
		}
		what := nonEmpty(m.DType, shape)
		if m.Storage != "" && m.Storage != "plain" {
			what = append(what, "stored as "+m.Storage)
		}
		if m.Bytes >= 0 {
			what = append(what, bytesWords(float64(m.Bytes)))
		}
		t.p.row("  ", strings.Join(what, ", "), "", plainStyle)
		if v := m.Values; v != nil {
			style, bad := plainStyle, ""
			if v.NaN+v.Inf > 0 {
				style, bad = t.p.style.Bad, fmt.Sprintf("%d NaN, %d infinite, first at %d; ", v.NaN, v.Inf, v.FirstBad)
			}
			t.p.row("  ", fmt.Sprintf("%s%.4g .. %.4g, RMS %.4g, %d zero of %d values", bad, float64(v.Min), float64(v.Max), float64(v.RMS), v.Zero, v.Count), "", style)
		}
	}
	if n := len(t.tensors) - few; n > 0 {
		t.p.row("", fmt.Sprintf("%d more: --full", n), "", t.p.style.Dim)
	}
	t.p.blank()
}

// detailed writes findings with their reasons and remedies, numbered from n.
func (t *inspectText) detailed(label string, list []finding.FindingMsg, n int, style func(string) string) int {
	if len(list) == 0 {
		return n
	}
	t.p.section(label)
	for i, f := range list {
		if i == fewFindings && !t.opt.Full {
			t.p.row("", plural(len(list)-i, "further finding", "further findings")+": --full", "", t.p.style.Dim)
			break
		}
		title := f.Title
		if f.Confidence != finding.Proven {
			title += " (" + string(f.Confidence) + ")"
		}
		t.p.row(fmt.Sprintf("%-3d", n), title, f.ID, style)
		n++
		if f.Why != "" {
			t.p.row("   ", f.Why, "", plainStyle)
		}
		few := fewTensorQuotes
		if t.opt.Full {
			few = len(f.Evidence)
		}
		for _, e := range firstOf(f.Evidence, few) {
			t.p.row("   | ", evidenceWords(e), "", t.p.style.Dim)
		}
		if left := len(f.Evidence) - few; left > 0 {
			t.p.row("   | ", fmt.Sprintf("and %d more: --full", left), "", t.p.style.Dim)
		}
		for _, r := range f.Remedies {
			t.p.row("   do: ", strings.Join(nonEmpty(r.Title, r.Text, envWords(r.Env)), ", "), "", t.p.style.Bold)
		}
	}
	t.p.section("")
	t.p.blank()
	return n
}

// evidenceWords is one observation in a line.
func evidenceWords(e finding.Evidence) string {
	return strings.Join(nonEmpty(e.File, e.Tensor, e.Field, e.Text), ": ")
}

// room writes the use of one GPU's memory.
func (t *inspectText) room() {
	m := t.memory
	if m == nil {
		return
	}
	t.p.section("MEMORY")
	style := t.p.style.Good
	if !m.Fits {
		style = t.p.style.Bad
	}
	t.p.row("", "one GPU: "+m.Text, fmt.Sprintf("%.1f GiB", m.Total), style)
	for _, it := range m.Items {
		t.p.row(term.Pad(it.Name, 15)+fmt.Sprintf("%8.2f GiB  ", it.Size), it.How, "", t.p.style.Dim)
	}
	if m.Left > 0 {
		t.p.cells(term.Pad("left", 15)+fmt.Sprintf("%8.2f GiB  ", m.Left), "", "", plainStyle)
	}
	for _, n := range m.Notes {
		t.p.row("", n, "", t.p.style.Dim)
	}
	t.p.section("")
	t.p.blank()
}

func (t *inspectText) remarks(list []finding.FindingMsg) {
	t.p.section("REMARKS")
	for i, f := range list {
		if i == fewFindings && !t.opt.Full {
			t.p.row("", plural(len(list)-i, "further remark", "further remarks")+": --full", "", t.p.style.Dim)
			break
		}
		t.p.row("", f.Title, f.ID, plainStyle)
		if t.opt.Full {
			t.p.row("  ", f.Why, "", t.p.style.Dim)
			for _, e := range f.Evidence {
				t.p.row("  | ", evidenceWords(e), "", t.p.style.Dim)
			}
		}
	}
	t.p.section("")
}

func (t *inspectText) end() {
	text := fmt.Sprintf("%d checks", t.head.Checks)
	switch {
	case t.head.ScannedBytes > 0:
		text += fmt.Sprintf(", %s of values read", bytesWords(float64(t.head.ScannedBytes)))
	case !t.head.HeadersOnly:
		text += "; values were not read: --scan looks for NaN, Inf, zeros and constants"
	}
	t.p.section("CHECKED")
	t.p.row("", text, "", t.p.style.Dim)
}

// bytesWords writes a size in decimal units, as file listings and model cards do.
func bytesWords(n float64) string {
	switch {
	case n >= 1e12:
		return fmt.Sprintf("%.2f TB", n/1e12)
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", n/1e3)
	}
	return fmt.Sprintf("%.0f B", n)
}

// count writes a number of parameters.
func count(n int64) string {
	switch f := float64(n); {
	case f >= 1e9:
		return fmt.Sprintf("%.1f B", f/1e9)
	case f >= 1e6:
		return fmt.Sprintf("%.1f M", f/1e6)
	case f >= 1e3:
		return fmt.Sprintf("%.1f k", f/1e3)
	}
	return fmt.Sprint(n)
}
