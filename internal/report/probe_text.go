package report

import (
	"io"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

const (
	// fewAnswers is how many answers a short report quotes of a probe: a comparison
	// has two.
	fewAnswers = 2
	// bodyLines is how much of a request or an answer a full report shows; HTML and
	// JSON have all of it.
	bodyLines = 8
	// fewChanges is how many changes since an earlier run a short report lists.
	fewChanges = 12
)

// probeText is the report on a living server for a terminal.
type probeText struct {
	text
	run   probing
	begun bool // a probe was written
}

// NewProbeText returns a handler that writes the report on a living server for a
// terminal to w. It writes as the run goes on: what will be sent before anything
// is, each probe when it is judged, the conclusion on Close.
func NewProbeText(w io.Writer, opt Options) finding.Handler {
	t := newProbeText(w, opt)
	return &t
}

func newProbeText(w io.Writer, opt Options) probeText {
	layout := text{digest: newDigest(opt), p: newPage(w, opt), quoted: map[evidence]bool{}}
	return probeText{text: layout, run: newProbing(opt)}
}

// Handle writes what a message says, when it is time for it.
func (t *probeText) Handle(m finding.Message) error {
	switch m := t.run.take(m).(type) {
	case *finding.EndpointMsg:
		t.announce(t.run.view())
	case *finding.ProbeMsg:
		t.probe(t.run.row(*m))
	default:
		return nil
	}
	return t.p.flush()
}

// announce says what is known and what will be sent.
func (t *probeText) announce(v view) {
	t.p.section("PROBING")
	t.p.row("", v.Probe.URL, "", t.p.style.Bold)
	what := v.Model
	if root := t.run.head.Root; root != "" && root != v.Model {
		what += " (" + root + ")"
	}
	t.p.row("", strings.Join(nonEmpty(v.Engine, what), ", "), "", plainStyle)
	t.p.section("KNOWN")
	var facts []string
	for _, f := range v.Facts {
		if t.opt.Full {
			t.p.row(term.Pad(term.Cut(f.Key, maxName), maxName)+"  ", f.Value, f.Pos, plainStyle)
		}
		facts = append(facts, f.Key+" "+f.Value)
	}
	if len(facts) > 0 && !t.opt.Full {
		t.p.row("", strings.Join(facts, ", "), "", plainStyle)
	}
	t.p.section("NOT READ")
	for _, n := range v.Probe.Unknown {
		t.p.row("", n, "", t.p.style.Dim)
	}
	t.p.section("SENDING")
	t.p.row("", v.Probe.Level+", at most: "+v.Probe.Bound, "", plainStyle)
	t.p.blank()
}

// probe writes one probe: a pass in one line, a failure with what it stands on.
func (t *probeText) probe(r probeRow) {
	if !t.begun {
		t.read()
		t.p.section("PROBES")
	}
	t.begun = true
	style := map[tone]func(string) string{good: plainStyle, warn: t.p.style.Warn, bad: t.p.style.Bad}[r.Tone]
	id := r.ID // by which the conclusion names it
	if r.Tone == good && !t.opt.Full {
		id = ""
	}
	t.p.row(term.Pad(r.Word, 10)+"  ", r.Title, id, style)
	const below = "   "
	if r.Tone != good || t.opt.Full {
		t.p.row(below, r.Text, "", plainStyle)
	}
	if r.Threshold != "" && (r.Tone == bad || t.opt.Full) {
		t.p.row(below, "bound: "+r.Threshold, "", t.p.style.Dim)
	}
	if r.Tone == bad || t.opt.Full {
		for _, e := range firstOf(r.Evidence, t.few(fewAnswers)) {
			if e.Text != "" {
				t.p.quote(below, e.Text, e.Pos, t.few(quoteLines))
				t.quoted[e.bare()] = true
				e.Pos = ""
			}
			if e.Note != "" {
				t.p.row(below, e.Note, e.Pos, t.p.style.Dim)
			}
		}
		t.more(t.few(fewAnswers), len(r.Evidence), "quotes")
	}
	if t.opt.Full {
		t.exchanges(below, r)
	}
}

// read writes the requests that only ask the server for what it is.
func (t *probeText) read() {
	rows := t.run.unclaimed()
	if !t.opt.Full || len(rows) == 0 {
		return
	}
	t.p.section("READ")
	for _, x := range rows {
		t.p.row(requests([]int{x.N})+": ", x.What, x.Result, plainStyle)
	}
	t.p.blank()
}

// exchanges writes the requests of a probe and their answers.
func (t *probeText) exchanges(below string, r probeRow) {
	what := []string{r.Asked, r.Took}
	if r.Essential {
		what = append(what, "nothing is proven right without it")
	}
	t.p.row(below, strings.Join(nonEmpty(what...), ", "), "", t.p.style.Dim)
	for _, x := range r.Exchanges {
		t.p.row(below+requests([]int{x.N})+": ", x.What, x.Result, plainStyle)
		t.p.quote(below+"sent ", x.Request, "", bodyLines)
		t.p.quote(below+"got  ", x.Answer, "", bodyLines)
	}
}

// Close writes the conclusion, what to do last.
func (t *probeText) Close() error {
	v := t.run.view()
	if t.opt.Full && len(v.Ledger) > 0 {
		t.p.section("LEDGER")
		for _, s := range v.Ledger {
			t.p.row(term.Pad(term.Cut(s.Name, maxName), maxName)+"  ", s.Effective, s.Pos, plainStyle)
		}
	}
	if t.run.conclusion != nil {
		t.p.section("SENT")
		t.p.row("", v.Probe.Sent, "", t.p.style.Dim)
	}
	if t.begun || t.run.conclusion != nil {
		t.p.gap = true
		t.headline(v)
	}
	if t.run.conclusion != nil {
		t.p.gap = true
		t.conclude(v)
	}
	for _, e := range t.run.errors {
		t.p.section("ERROR")
		t.p.row("", e.Text, "", t.p.style.Bad)
		if e.Next != "" {
			t.p.verbatim(foldScript([]string{e.Next}, t.p.width-scriptIndent))
		}
	}
	return t.p.flush()
}

func (t *probeText) conclude(v view) {
	t.p.section("VERDICT")
	if v.Probe.Text != "" {
		t.p.row("", v.Probe.Text, "", plainStyle)
	}
	t.since(v.Probe.Since)
	t.causes(v)
	t.suspects("LATENT", v.Latent)
	t.suspects("REMARK", v.Remarks)
	t.todo(v)
	if !t.opt.Full {
		t.p.line(t.p.style.Dim("--full: every request and answer, bounds, settings"))
	}
}

// since writes what changed since an earlier run.
func (t *probeText) since(s *sinceView) {
	if s == nil {
		return
	}
	t.p.section("SINCE")
	t.p.row("", s.Title, "", plainStyle)
	n := t.few(fewChanges)
	for _, c := range firstOf(s.Changes, n) {
		t.p.row("", c, "", t.p.style.Warn)
	}
	t.more(n, len(s.Changes), "changes")
}
