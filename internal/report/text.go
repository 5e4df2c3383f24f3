package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

// What a short report shows of a list; Full shows all of it.
const (
	fewSymptoms = 3
	fewSuspects = 4
	fewNotIt    = 2
	fewActions  = 3
	fewDecide   = 2
	fewChosen   = 6
	fewClusters = 3
	fewRanks    = 8
	fewReasons  = 2 // suspects that are explained; the others are only named and quoted
	whyLines    = 3 // lines of explanation below a suspect
	quoteLines  = 2 // lines of a quoted log line
	rootQuote   = 4 // lines of the quote that the first suspect stands on
	fullQuote   = 50
	scriptLines = 14 // lines of scripts; the remedies behind that only say what they change
)

// text is the report for a terminal.
type text struct {
	*digest
	p      *page
	quoted map[evidence]bool // what was quoted of the launch that is being written
}

// NewText returns a handler that writes the report for a terminal to w. It is
// written by Close, when all launches are known.
func NewText(w io.Writer, opt Options) finding.Handler {
	return &text{digest: newDigest(opt), p: newPage(w, opt)}
}

// Handle collects one message.
func (t *text) Handle(m finding.Message) error {
	t.handle(m)
	return nil
}

// Close writes the report.
func (t *text) Close() error {
	t.flush()
	if t.total > 1 {
		t.table()
	}
	vs := t.views()
	for i, v := range vs {
		if i > 0 || t.total > 1 {
			t.p.blank()
			lines := "lines "
			if v.Plan != nil {
				lines = "line "
			}
			t.p.rule(fmt.Sprintf("launch %d of %d, %s%s", v.N, t.total, lines, v.Lines))
		}
		switch {
		case i == len(vs)-1 || t.opt.Full || v.Plan != nil:
			t.detail(v)
		case i > 0 && v.like(vs[i-1]):
			t.p.line("The same as launch " + strconv.Itoa(vs[i-1].N) + ".")
		default:
			t.compact(v)
		}
	}
	for _, e := range t.errors {
		t.p.section("ERROR")
		t.p.row("", e.Text, "", t.p.style.Bad)
		if e.Next != "" {
			t.p.verbatim(foldScript([]string{e.Next}, t.p.width-scriptIndent))
		}
	}
	if !t.ended {
		t.p.line(t.p.style.Warn("This report is incomplete: its end is missing."))
	}
	return t.p.flush()
}

// toned styles text by how bad it is.
func (t *text) toned(x tone) func(string) string {
	switch x {
	case good:
		return t.p.style.Good
	case warn:
		return t.p.style.Warn
	}
	return t.p.style.Bad
}

// table lists all launches, one line each.
func (t *text) table() {
	head, left, tail := t.rows()
	t.p.line(t.p.style.Head(fmt.Sprintf("%d launches", t.total)))
	for _, r := range head {
		t.row(r)
	}
	if left > 0 {
		t.p.row("", fmt.Sprintf("... %d more ...", left), "", t.p.style.Dim)
	}
	for _, r := range tail {
		t.row(r)
	}
}

func (t *text) row(r row) {
	where := r.Lines
	if len(t.opt.Files) > 1 {
		where = newPlaces(t.opt.Files).name(r.File) + ":" + where
	} else if writer := writerOf(r.File); writer != "" {
		where = term.CutStart(writer, maxFileName) + ":" + where
	}
	t.p.section(fmt.Sprintf("%5d", r.N))
	t.p.cells("", r.What, where, t.toned(r.Tone))
}

// compact writes a launch that is not the last one in a few lines.
func (t *text) compact(v view) {
	v.Notes = nil
	t.headline(v)
	for _, s := range firstOf(v.Symptoms, 1) {
		t.p.section("SYMPTOM")
		t.p.row("certain   ", s.Title, s.Pos, plainStyle)
	}
	t.p.section("CAUSE")
	if v.CauseIntro != "" {
		t.p.row("", v.CauseIntro, "", t.p.style.Warn)
	}
	for _, s := range firstOf(v.Suspects, fewSuspects) {
		t.title(number(s, v.Suspects), s)
	}
	for _, a := range firstOf(v.Actions, 1) {
		t.p.section("DO")
		t.p.row(a.Letter+"  ", strings.Join(nonEmpty(a.Title, a.Set), ": "), a.For, t.p.style.Bold)
	}
}

// detail writes a launch in full: what went wrong, why and what to do come
// first, whatever only supports them after that.
func (t *text) detail(v view) {
	t.quoted = map[evidence]bool{}
	t.headline(v)
	if v.Plan != nil {
		t.plan(v)
		return
	}
	t.p.blank()
	t.symptoms(v)
	t.causes(v)
	switch { // what to do is about the cause, else about the latent faults
	case len(v.Suspects) > 0:
		t.todo(v)
		t.suspects("LATENT", v.Latent)
		t.suspects("REMARK", v.Remarks)
	case len(v.Latent) > 0:
		t.suspects("LATENT", v.Latent)
		t.todo(v)
		t.suspects("REMARK", v.Remarks)
	default:
		t.suspects("REMARK", v.Remarks)
		t.todo(v)
	}
	hidden := t.notIt(v)
	t.chosen(v)
	t.reached(v)
	t.unknown(v)
	if t.opt.Full {
		t.appendix(v)
		return
	}
	end := "--full: timeline, ledger, facts, all evidence"
	if hidden > 0 {
		end += ", " + plural(hidden, "harmless line", "harmless lines")
	}
	for _, l := range term.Wrap(end, t.p.width) {
		t.p.line(t.p.style.Dim(l))
	}
}

// todo writes what to do, and what would decide what is right.
func (t *text) todo(v view) {
	t.actions(v)
	t.decide(v)
	if len(v.Actions)+len(v.Decide) > 0 {
		t.p.gap = true
	}
}

// few is the bound of a list in a short report.
func (t *text) few(n int) int {
	if t.opt.Full {
		return maxOfKind
	}
	return n
}

func firstOf[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// more says that only a part of a list was shown.
func (t *text) more(shown, all int, what string) {
	if all > shown {
		t.p.row("", fmt.Sprintf("%d of %d %s; all with --full", shown, all, what), "", t.p.style.Dim)
	}
}

func (t *text) headline(v view) {
	ran := strings.Join(v.Ran, "  ")
	verdict := t.toned(v.Tone)
	if gap := t.p.width - term.Width(v.Headline) - term.Width(ran); gap >= 3 {
		t.p.line(verdict(v.Headline) + strings.Repeat(" ", gap) + t.p.style.Bold(ran))
	} else {
		for _, l := range term.Wrap(v.Headline, t.p.width) {
			t.p.line(verdict(l))
		}
		for _, l := range term.Wrap(strings.Join(v.Ran, ", "), t.p.width) {
			t.p.line(t.p.style.Bold(l))
		}
	}
	for _, n := range v.Notes {
		for _, l := range term.Wrap(n, t.p.width) {
			t.p.line(t.p.style.Warn(l))
		}
	}
}

func (t *text) symptoms(v view) {
	t.p.section("SYMPTOM")
	n := t.few(fewSymptoms)
	for i, s := range firstOf(v.Symptoms, n) {
		t.p.row("certain   ", s.Title, s.Pos, t.p.style.Bold)
		if (i == 0 || t.opt.Full) && !v.isCause(s) {
			t.evidence("", s.Evidence, quoteLines)
		}
	}
	t.more(n, len(v.Symptoms), "symptoms")
}

// isCause says that the first suspect stands on the same line as a symptom, and
// will quote it.
func (v view) isCause(s item) bool {
	return len(v.Suspects) > 0 && v.Suspects[0].Pos == s.Pos && v.Suspects[0].Quote == s.Quote
}

// evidence quotes the first observation in so many lines, unless it was quoted
// before, or all of them in a full report.
func (t *text) evidence(lead string, es []evidence, lines int) {
	for i, e := range firstOf(es, t.few(1)) {
		if i > 0 {
			t.p.cells(lead, e.Note, e.Pos, t.p.style.Dim)
		}
		if t.opt.Full || !t.quoted[e.bare()] {
			t.quote(lead, e.Text, lines)
		}
		t.quoted[e.bare()] = true
		if i == 0 && t.opt.Full && e.Note != "" {
			t.p.row(lead, e.Note, "", t.p.style.Dim)
		}
	}
}

func (t *text) causes(v view) {
	if v.CauseIntro != "" {
		t.p.section("CAUSE")
		t.p.row("", v.CauseIntro, "", t.p.style.Warn)
		t.suspects("", v.Suspects)
		return
	}
	t.suspects("CAUSE", v.Suspects)
}

// suspects writes a section of findings, numbered when several compete.
func (t *text) suspects(section string, ss []suspect) {
	t.p.section(section)
	n := t.few(fewSuspects)
	for i, s := range firstOf(ss, n) {
		if i >= t.few(fewReasons) {
			s.Why, s.Basis = "", ""
		}
		t.suspect(number(s, ss), s)
	}
	t.more(n, len(ss), "findings")
}

// number is what stands in front of a suspect.
func number(s suspect, among []suspect) string {
	if len(among) < 2 || s.Number == 0 {
		return ""
	}
	return strconv.Itoa(s.Number) + "  "
}

// title writes the first line of a suspect.
func (t *text) title(lead string, s suspect) {
	title := s.Title
	if s.Ranks != "" {
		title += ", " + s.Ranks
	}
	t.p.row(lead+term.Pad(s.Word, 8)+"  ", title, s.Pos, t.p.style.Bold)
}

func (t *text) suspect(lead string, s suspect) {
	t.title(lead, s)
	below := strings.Repeat(" ", len(lead))
	lines := quoteLines
	if s.Number == 1 {
		lines = rootQuote
	}
	t.evidence(below, s.Evidence, lines)
	t.prose(below, s.Why)
	if s.Basis != "" {
		t.p.row(below, s.Word+" because: "+s.Basis, "", t.p.style.Dim)
	}
	if t.opt.Full {
		t.background(below, s)
	}
}

// quote writes a log line, cut to a few lines in a short report.
func (t *text) quote(lead, line string, lines int) {
	if t.opt.Full {
		lines = fullQuote
	}
	t.p.quote(lead, line, "", lines)
}

// prose writes an explanation, cut to a few lines in a short report.
func (t *text) prose(lead, why string) {
	if why == "" {
		return
	}
	room := t.p.width - gutter - term.Width(lead)
	lines := term.Wrap(why, room)
	if n := t.few(whyLines); len(lines) > n {
		lines = lines[:n]
		lines[n-1] = openEnd(lines[n-1], room)
	}
	for _, l := range lines {
		t.p.row(lead, l, "", plainStyle)
	}
}

// openEnd marks a line of prose as cut behind one of its words.
func openEnd(line string, width int) string {
	const mark = " …"
	for term.Width(line) > width-term.Width(mark) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return term.Cut(line+mark, width)
		}
		line = line[:at]
	}
	return strings.TrimRight(line, " .,;:-…") + mark
}

// background writes what only a full report says of a suspect.
func (t *text) background(lead string, s suspect) {
	if s.Follow != "" {
		t.p.row(lead, s.Follow, "", t.p.style.Dim)
	}
	for _, c := range s.Consequences {
		t.p.row(lead+"follows: ", c.Title, c.Pos, plainStyle)
		t.quote(lead, c.Quote, quoteLines)
	}
	for _, r := range s.Remedies {
		t.p.row(lead+"remedy: ", r, "", plainStyle)
	}
	for _, c := range s.Captures {
		t.p.row(lead, c.Name+" = "+c.Value, "", plainStyle)
	}
	if len(s.Sources) > 0 {
		t.p.row(lead, "rule "+s.ID+", from "+strings.Join(s.Sources, ", "), "", t.p.style.Dim)
	}
}

// notIt writes the lines that look guilty and are not, and returns how many of
// them it left out. A short report has only those that a reader meets near the
// failure and that were not quoted already; of a server that works, none.
func (t *text) notIt(v view) (hidden int) {
	t.p.section("NOT IT")
	shown := 0
	for _, x := range v.NotIt {
		again := len(x.Evidence) > 0 && t.quoted[x.Evidence[0].bare()]
		if !t.opt.Full && (v.Tone == good || !x.Suspicious || again || shown == fewNotIt) {
			continue
		}
		shown++
		title := strings.Join(nonEmpty(x.Title, x.Why), ": ")
		if again {
			t.p.row("", title, x.Pos, plainStyle)
			continue
		}
		t.p.quote("", x.Quote, x.Pos, t.few(1))
		t.prose("", title)
	}
	return len(v.NotIt) - shown
}

func (t *text) actions(v view) {
	t.p.gap = t.p.gap || len(v.Actions) > 0
	t.p.section("DO")
	n := t.few(fewActions)
	lines, partial := 0, false
	for i, a := range firstOf(v.Actions, n) {
		a.Script = foldScript(a.Script, t.p.width-scriptIndent)
		lines += len(a.Script)
		t.action(a, i == 0 || lines <= t.few(scriptLines))
		partial = partial || a.Set != "" && len(a.Script) == 0
	}
	if partial && v.Command == "" && v.Probe == nil {
		t.p.row("", "give the launch command with --cmd FILE for a whole command", "", t.p.style.Dim)
	}
	t.more(n, len(v.Actions), "remedies")
}

// action writes a remedy with its script, or else with its changes.
func (t *text) action(a action, withScript bool) {
	t.p.row(a.Letter+"  ", a.Title, a.For, t.p.style.Bold)
	if a.Price != "" {
		t.p.row("   ", "price: "+a.Price, "", t.p.style.Warn)
	}
	t.prose("   ", a.Text)
	switch {
	case withScript && len(a.Script) > 0:
		t.p.verbatim(a.Script)
	case a.Set != "":
		t.p.row("   ", "set: "+a.Set, "", plainStyle)
	}
}

func (t *text) decide(v view) {
	t.p.section("DECIDES")
	n := t.few(fewDecide)
	for _, d := range firstOf(v.Decide, n) {
		t.p.row("", d, "", plainStyle)
	}
	t.more(n, len(v.Decide), "ways to decide")
}

func (t *text) chosen(v view) {
	n := t.few(fewChosen)
	list := firstOf(v.Chosen, n)
	names := 0
	for _, s := range list {
		names = max(names, min(term.Width(s.Name), maxName))
	}
	t.p.section("CHOSEN")
	for i, s := range list {
		if i == 1 {
			t.p.section("FOR YOU")
		}
		style := plainStyle
		if s.Silent {
			style = t.p.style.Warn
		}
		t.p.row(term.Pad(term.Cut(s.Name, maxName), names)+"  ", s.Sentence, s.Pos, style)
	}
	t.more(n, len(v.Chosen), "choices")
	if v.Unknown > 0 {
		t.p.row("", plural(v.Unknown, "setting", "settings")+": asked for or default? This log can't tell: add --cmd FILE", "", t.p.style.Dim)
	}
}

// maxName is the width of a column of names in a terminal.
const maxName = 30

func (t *text) reached(v view) {
	if v.Reached != "" {
		t.p.section("REACHED")
		t.p.row("", v.Reached, "", plainStyle)
	}
	t.p.section("RANKS")
	n := t.few(fewRanks)
	for _, r := range firstOf(v.Ranks, n) {
		lead := term.Pad(term.Cut(strings.Join(nonEmpty(r.File, r.Ranks), " "), maxName), maxName) + "  "
		s := r.Last
		if r.Ended != "" {
			s += ", " + r.Ended
		}
		t.p.row(lead, s, r.Pos, plainStyle)
	}
	t.more(n, len(v.Ranks), "groups of ranks")
}

func (t *text) unknown(v view) {
	t.clusters("UNKNOWN", v.Unexplained, "kinds of lines")
	t.clusters("NEWFORM", v.Drift, "known lines in a new form")
	if v.Coverage != "" {
		t.p.section("")
		t.p.row("", v.Coverage, "", t.p.style.Dim)
	}
}

func (t *text) clusters(section string, cs []cluster, what string) {
	t.p.section(section)
	n := t.few(fewClusters)
	for _, c := range firstOf(cs, n) {
		t.p.quote(fmt.Sprintf("%dx ", c.Count), strings.Join(nonEmpty(c.ID, c.Text), " "), c.Pos, t.few(1))
	}
	t.more(n, len(cs), what)
}

// appendix writes what only a full report has.
func (t *text) appendix(v view) {
	t.p.section("TIMELINE")
	for _, s := range v.Timeline {
		lead := term.Pad(s.At, 13) + term.Pad(s.Took, 13)
		t.p.row(lead, strings.Join(nonEmpty(s.Name, s.Detail), ", "), s.Pos, plainStyle)
	}
	if v.Command != "" {
		t.p.section("COMMAND")
		t.p.row("", "as it was asked for", v.From, t.p.style.Dim)
		t.p.verbatim(foldScript([]string{v.Command}, t.p.width-scriptIndent))
	}
	t.p.section("LEDGER")
	for _, s := range v.Ledger {
		lead := term.Pad(term.Cut(s.Name, maxName), maxName) + "  "
		t.p.row(lead, fmt.Sprintf("%s (asked: %s; by %s)", s.Effective, s.Asked, s.By), s.Pos, plainStyle)
	}
	t.p.section("FACTS")
	for _, f := range v.Facts {
		t.p.row(term.Pad(term.Cut(f.Key, maxName), maxName)+"  ", f.Value, f.Pos, plainStyle)
	}
}
