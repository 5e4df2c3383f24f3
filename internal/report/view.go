package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/finding"
)

// unclear is the class of a finding that says no more than that the log does
// not show the cause.
const unclear = "unclear"

// tone is how bad it is.
type tone string

const (
	good tone = "good"
	warn tone = "warn"
	bad  tone = "bad"
)

// view is what a report says of one launch, in words and in the order in which
// they are read. No format adds to it or computes from it.
type view struct {
	N        int
	Tone     tone
	Outcome  string   // "failed", as a label
	Headline string   // the verdict in words
	Ran      []string // engine and version, model, hardware, parallelism
	Engine   string   // "sglang 0.5.9"
	Model    string
	Hardware string
	Parallel string
	Notes    []string // reservations that hold for the whole report
	Files    []string
	Lines    string // "12-840"
	Command  string // as pasteable text, "" when it isn't known
	From     string // position of the command

	Symptoms   []item
	CauseIntro string // one line above the suspects; "" for a single one
	Suspects   []suspect
	Latent     []suspect // faults of a server that goes on
	Remarks    []suspect
	NotIt      []item
	Excerpt    []evidence // the log lines of all of the above, in their order
	Actions    []action
	Decide     []string // what would decide, when nothing is proven

	Chosen  []setting // the settings that were chosen for the user
	Unknown int       // settings of which the log can't tell whether they were asked for
	Ledger  []setting // all settings

	Reached     string // the last milestone and the missing one, in a sentence
	Ranks       []rankGroup
	Timeline    []step
	Facts       []fact
	Coverage    string // how many error lines are explained
	Unexplained []cluster
	Drift       []cluster

	Plan  *planView  // of a launch that was not started; nil for others
	Probe *probeView // of a living server; nil for others
}

// item is a titled observation.
type item struct {
	Title    string
	Why      string
	Pos      string
	Quote    string
	Evidence []evidence
	// Suspicious says of a harmless line that it stands where one looks for the
	// cause.
	Suspicious bool
}

// evidence is one quoted observation.
type evidence struct {
	Pos   string
	Text  string
	Note  string
	Above bool // quoted further up already (HTML)
}

// bare is the line alone.
func (e evidence) bare() evidence { return evidence{Pos: e.Pos, Text: e.Text} }

// suspect is a finding as it is shown.
type suspect struct {
	Number       int
	ID           string
	Word         string // the confidence, "can't tell" when the cause is unclear
	Title        string
	Why          string
	Basis        string
	Ranks        string // "TP0-7"
	Follow       string // "27 further error lines follow from this"
	Pos          string
	Quote        string
	Evidence     []evidence
	Consequences []item
	Captures     []finding.Pair
	Sources      []string
	Remedies     []string // of a latent fault beside a cause, which alone has actions
}

// action is a remedy as it is offered.
type action struct {
	Letter string
	Title  string
	Price  string
	For    string // "decides 1" or "for 1, 2"
	Text   string
	Set    string   // the changes in words
	Script []string // lines, to be printed as they are
}

// setting is one row of the ledger.
type setting struct {
	Name      string
	Asked     string // a value, "no", or "unknown"
	Effective string
	By        string
	Because   string // couplings with their values, or the choice's maker, in words
	Sentence  string // value and reason
	Silent    bool
	// Contradicts says that the engine's own rules give another value.
	Contradicts bool
	Choice      string
	Pos         string
	Quote       string
}

// rankGroup is a set of ranks that came equally far.
type rankGroup struct {
	File, Ranks, Last, Pos, Ended string
}

// step is a milestone with its place in time.
type step struct {
	Name, Phase, Pos, Detail string
	At, Took                 string  // since the start, until the next step; "" when unknown
	Start, Length            float64 // shares of the whole time, for a drawing
}

// fact is a typed fact with its source.
type fact struct {
	Key, Value, Pos string
}

// cluster is a group of lines that nothing explains.
type cluster struct {
	Count int
	ID    string
	Pos   string
	Text  string
}

// newView decides what to show of a launch. files are the inputs of the run.
func newView(l *launch, files []string) view {
	p := newPlaces(files, l.Files)
	v := outline(l, p)
	v.Outcome = string(l.Outcome)
	v.Engine = strings.TrimSpace(l.Engine + " " + l.EngineVersion)
	v.Model, v.Hardware, v.Parallel = l.Model, l.Hardware, l.Parallel
	v.Notes = notes(l)
	v.Command = command.ShellLine(l.Command)
	v.Reached = reached(l, p)
	v.Ranks = rankGroups(l, p)
	v.Timeline = timeline(l.Milestones, p)
	v.Coverage = coverage(l)
	v.Unexplained = unexplained(l, p)
	v.Drift = drift(l, p)
	v.Ran = nonEmpty(v.Engine, shortModel(v.Model), v.Hardware, v.Parallel)
	if len(l.Files) == 1 {
		v.Ran = nonEmpty(append([]string{writerOf(l.Files[0])}, v.Ran...)...)
	}
	if l.CommandFrom != nil {
		v.From = p.of(*l.CommandFrom)
	}
	for _, n := range l.notIt {
		it := newItem(n.Title, n.Why, n.Evidence, p)
		it.Suspicious = l.suspicious(n.Evidence)
		v.NotIt = append(v.NotIt, it)
	}
	for _, f := range l.Facts {
		v.Facts = append(v.Facts, fact{f.Key, strings.TrimSpace(f.Value + " " + f.Unit), p.at(f.File, f.Line)})
	}
	v.Excerpt = excerpt(l, p)
	v.addSettings(l.settings, p)
	if l.planned() {
		v.addPlan(l, p)
	}
	return v
}

// outline is the part of a view that newRow needs: most launches of a long log
// are rows and nothing else.
func outline(l *launch, p places) view {
	v := view{N: l.N, Tone: toneOf(l), Headline: headline(l), Files: l.Files, Lines: fmt.Sprintf("%d-%d", l.FirstLine, l.LastLine)}
	for _, s := range l.symptoms {
		v.Symptoms = append(v.Symptoms, newItem(s.Title, "", s.Evidence, p))
	}
	if l.CommandFrom != nil && l.planned() {
		v.Lines = fmt.Sprint(l.CommandFrom.Line) // of the command: there is no log
	}
	v.addFindings(l, p) // which adds symptoms that follow from others
	return v
}

// Roles of findings that are no cause; any other role is one.
const (
	roleConsequence = "consequence"
	roleLatent      = "latent"
	roleRemark      = "remark"
)

func (v *view) addFindings(l *launch, p places) {
	roots := rootsOf(l.findings)
	for i, f := range roots {
		s := newSuspect(f, p)
		if l.healthy() { // how it ended, not why it failed
			v.Remarks = append(v.Remarks, s)
			continue
		}
		s.Number = i + 1
		v.Suspects = append(v.Suspects, s)
	}
	var latent []finding.FindingMsg
	for _, f := range l.findings {
		switch f.Role {
		case roleLatent:
			v.Latent = append(v.Latent, newSuspect(f, p))
			latent = append(latent, f)
		case roleRemark:
			v.Remarks = append(v.Remarks, newSuspect(f, p))
		case roleConsequence:
			v.addConsequence(f, l.findings, p)
		}
	}
	v.CauseIntro = causeIntro(l, roots)
	v.Decide = decide(roots)
	if len(v.Suspects) == 0 {
		v.Actions = actions(roots, latent)
		return
	}
	v.Actions = actions(roots, nil)
	for i, f := range latent {
		for _, r := range f.Remedies {
			v.Latent[i].Remedies = append(v.Latent[i].Remedies, strings.Join(nonEmpty(r.Title, changeWords(r.Changes)), ": "))
		}
	}
}

// rootsOf returns the findings that may be the cause, best first.
func rootsOf(fs []finding.FindingMsg) []finding.FindingMsg {
	var roots []finding.FindingMsg
	for _, f := range fs {
		switch f.Role {
		case roleConsequence, roleLatent, roleRemark:
		default:
			roots = append(roots, f)
		}
	}
	slices.SortStableFunc(roots, func(a, b finding.FindingMsg) int { return cmp.Compare(a.Rank, b.Rank) })
	return roots
}

// addConsequence hangs a consequence below the suspect that it follows from. One
// that follows from no suspect is a symptom: observed, and not the cause.
func (v *view) addConsequence(f finding.FindingMsg, all []finding.FindingMsg, p places) {
	it := newItem(f.Title, f.Why, f.Evidence, p)
	above := ancestors(f, all)
	for i := range v.Suspects {
		if above[v.Suspects[i].ID] {
			v.Suspects[i].Consequences = append(v.Suspects[i].Consequences, it)
			return
		}
	}
	v.Symptoms = append(v.Symptoms, it)
}

// ancestors are the ids that f follows from, directly or through others.
func ancestors(f finding.FindingMsg, all []finding.FindingMsg) map[string]bool {
	ids := map[string]bool{}
	for open := f.Explains; len(open) > 0; {
		id := open[0]
		open = open[1:]
		if ids[id] {
			continue
		}
		ids[id] = true
		for _, g := range all {
			if g.ID == id && g.Role == roleConsequence {
				open = slices.Concat(open, g.Explains)
			}
		}
	}
	return ids
}

func newSuspect(f finding.FindingMsg, p places) suspect {
	s := suspect{
		ID:       f.ID,
		Word:     string(f.Confidence),
		Title:    f.Title,
		Why:      f.Why,
		Basis:    f.Basis,
		Ranks:    rankList(f.Ranks),
		Captures: f.Captures,
		Sources:  f.Sources,
		Evidence: quotes(f.Evidence, p),
	}
	if f.Cause == unclear {
		s.Word = "can't tell"
	}
	if f.Folded > 0 {
		s.Follow = plural(f.Folded, "further error line follows", "further error lines follow") + " from this"
	}
	if len(s.Evidence) > 0 {
		s.Pos, s.Quote = s.Evidence[0].Pos, s.Evidence[0].Text
	}
	return s
}

func newItem(title, why string, ev []finding.Evidence, p places) item {
	it := item{Title: title, Why: why, Evidence: quotes(ev, p)}
	if len(it.Evidence) > 0 {
		it.Pos, it.Quote = it.Evidence[0].Pos, it.Evidence[0].Text
	}
	return it
}

func quotes(ev []finding.Evidence, p places) []evidence {
	var out []evidence
	for _, e := range ev {
		text := e.Text
		if text == "" {
			text = strings.Join(nonEmpty(e.Tensor, e.Field), " ")
		}
		out = append(out, evidence{Pos: p.of(e), Text: text, Note: e.Note})
	}
	return out
}

// nearby is how many lines around a failure a reader looks at.
const nearby = 50

// mild is what nobody suspects: warnings, among them the advice to log in to
// Hugging Face, and the source line that Python prints below one. grave is what
// one suspects in a warning, too.
var (
	mild  = regexp.MustCompile(`\bWARN|Warning\b|warnings\.warn\(|[Dd]eprecated|unauthenticated requests to the HF Hub`)
	grave = regexp.MustCompile(`(?i)error|fail|fatal|abort|exception|crash`)
)

// suspicious says whether a harmless line stands near the failure, where one
// looks for its cause.
func (l *launch) suspicious(harmless []finding.Evidence) bool {
	if len(harmless) == 0 || mild.MatchString(harmless[0].Text) && !grave.MatchString(harmless[0].Text) {
		return false
	}
	near := func(es []finding.Evidence) bool {
		return slices.ContainsFunc(es, func(e finding.Evidence) bool {
			return e.File == harmless[0].File && e.Line > 0 && max(e.Line-harmless[0].Line, harmless[0].Line-e.Line) <= nearby
		})
	}
	return slices.ContainsFunc(l.symptoms, func(s finding.SymptomMsg) bool { return near(s.Evidence) }) ||
		slices.ContainsFunc(l.findings, func(f finding.FindingMsg) bool {
			return f.Role != roleLatent && f.Role != roleRemark && near(f.Evidence)
		})
}

// excerpt is the log lines that symptoms, causes and latent faults stand on, by
// file and line, each once.
func excerpt(l *launch, p places) []evidence {
	var all []finding.Evidence
	add := func(es []finding.Evidence) {
		for _, e := range es {
			same := func(o finding.Evidence) bool { return o.File == e.File && o.Line == e.Line }
			if e.Line > 0 && !slices.ContainsFunc(all, same) {
				e.Note = ""
				all = append(all, e)
			}
		}
	}
	for _, s := range l.symptoms {
		add(s.Evidence)
	}
	for _, f := range l.findings {
		if f.Role != roleConsequence {
			add(f.Evidence)
		}
	}
	slices.SortStableFunc(all, func(a, b finding.Evidence) int {
		return cmp.Or(cmp.Compare(slices.Index(l.Files, a.File), slices.Index(l.Files, b.File)), cmp.Compare(a.Line, b.Line))
	})
	return quotes(all, p)
}

func toneOf(l *launch) tone {
	switch {
	case l.failed(), l.planned() && (len(l.refused) > 0 || l.memory != nil && !l.memory.Fits):
		return bad
	case l.planned() && len(l.ignored) > 0:
		return warn
	case l.Outcome == finding.Stopped || hasFault(l):
		return warn
	}
	return good
}

// hasFault says that a server that goes on has a fault worth a warning.
func hasFault(l *launch) bool {
	return slices.ContainsFunc(l.findings, func(f finding.FindingMsg) bool {
		return f.Role == roleLatent && f.Severity != finding.Info
	})
}

// headline is the launch's own verdict, its first word in capitals. Where it
// does not say in which phase a failure came, the phase is added.
func headline(l *launch) string {
	words := l.Verdict
	if words == "" {
		words = verdictOf(l)
	}
	first, rest, _ := strings.Cut(words, " ")
	words = strings.TrimSpace(strings.ToUpper(first) + " " + rest)
	if l.failed() && l.Phase != "" && !strings.Contains(words, ",") {
		words += ", in " + l.Phase
	}
	return words
}

// verdictOf words the outcome of a launch that has no verdict.
func verdictOf(l *launch) string {
	switch l.Outcome {
	case finding.OK:
		if hasFault(l) {
			return "healthy, with a latent fault"
		}
		return "healthy"
	case finding.Failed:
		return "failed before ready"
	case finding.ReadyThenFailed:
		return "failed after ready"
	case finding.Stalled:
		return "stalled without an error"
	case finding.Stopped:
		return "stopped from outside"
	}
	return string(l.Outcome)
}

func notes(l *launch) []string {
	var ns []string
	if l.VersionNote != "" {
		ns = append(ns, l.VersionNote)
	} else if !l.VersionExact && l.EngineVersion != "" {
		ns = append(ns, "version "+l.EngineVersion+" is not a known release: the nearest one was assumed")
	}
	if len(l.Missing) > 0 {
		ns = append(ns, "no log was given for "+strings.Join(l.Missing, ", ")+": add it to the command for the whole picture")
	}
	return ns
}

func causeIntro(l *launch, roots []finding.FindingMsg) string {
	switch {
	case len(roots) == 0 && l.failed():
		return "can't tell: nothing in this log explains the failure"
	case len(roots) < 2 || l.healthy():
		return ""
	case roots[0].Confidence == finding.Proven:
		return "the first is proven; the others may hold as well"
	case len(roots) == 2:
		return "not proven: 2 suspects, both may hold at once"
	}
	return fmt.Sprintf("not proven: %d suspects, several may hold at once", len(roots))
}

// decide lists what would decide between the suspects; nothing when the first
// is proven.
func decide(roots []finding.FindingMsg) []string {
	if len(roots) == 0 || roots[0].Confidence == finding.Proven {
		return nil
	}
	var out []string
	for _, f := range roots {
		for _, d := range f.Decide {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// actions letters the remedies. Suspects take turns, so that the best remedy of
// the second comes before the second remedy of the first; remedies that change
// the same are one action.
func actions(roots, latent []finding.FindingMsg) []action {
	fs := slices.Concat(roots, latent)
	var out []action
	var uses []use
	index := map[string]int{}
	for turn, more := 0, true; more; turn++ {
		more = false
		for n, f := range fs {
			if turn >= len(f.Remedies) {
				continue
			}
			more = true
			r := f.Remedies[turn]
			key := sameness(r)
			i, known := index[key]
			if !known {
				i = len(out)
				index[key] = i
				out, uses = append(out, newAction(r, i)), append(uses, use{})
			}
			uses[i].add(n, r, roots)
		}
	}
	for i := range out {
		out[i].For = uses[i].words(len(roots))
	}
	return out
}

// sameness is equal for remedies that change the same, in any order, or, where
// they change nothing, are named the same.
func sameness(r finding.Remedy) string {
	if len(r.Changes) == 0 {
		return "title\x00" + r.Title + "\x00" + r.Script
	}
	changes := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		changes[i] = c.Kind + "\x00" + changeWords([]finding.Change{c})
	}
	slices.Sort(changes)
	return strings.Join(changes, "\x00")
}

// use says what an action is good for, in numbers of suspects.
type use struct{ helps, decides []int }

// add takes in a remedy of the finding with index n.
func (u *use) add(n int, r finding.Remedy, roots []finding.FindingMsg) {
	if n < len(roots) {
		u.helps = append(u.helps, n+1)
	}
	for i, f := range roots {
		if slices.Contains(r.Decides, f.ID) {
			u.decides = append(u.decides, i+1)
		}
	}
}

// words says for which of several suspects an action is.
func (u *use) words(suspects int) string {
	slices.Sort(u.decides)
	u.decides = slices.Compact(u.decides)
	slices.Sort(u.helps)
	u.helps = slices.Compact(u.helps)
	helps := slices.DeleteFunc(u.helps, func(n int) bool { return slices.Contains(u.decides, n) })
	var parts []string
	if len(u.decides) > 0 {
		parts = append(parts, "decides "+numbers(u.decides))
	}
	if len(helps) > 0 && suspects > 1 {
		parts = append(parts, "for "+numbers(helps))
	}
	return strings.Join(parts, ", ")
}

func newAction(r finding.Remedy, i int) action {
	a := action{Letter: letter(i), Title: r.Title, Price: r.Price, Text: r.Text, Set: changeWords(r.Changes)}
	switch {
	case r.Script != "":
		a.Script = strings.Split(r.Script, "\n")
	case len(r.Command) > 0:
		a.Script = []string{envWords(r.Env) + command.ShellLine(r.Command)}
	}
	return a
}

// letter names an action: a to z, then a number.
func letter(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprint(i + 1)
}

// coverage says what became of the error lines; its numbers add up. The stream
// counts the lines behind the cause's first one, known or not: those that are
// not understood and the cause's own further ones are taken out of these.
func coverage(l *launch) string {
	if l.ErrorLines == 0 {
		return ""
	}
	all := plural(l.ErrorLines, "error line", "error lines") + ": "
	roots := rootsOf(l.findings)
	open, behind := 0, 0
	for _, u := range l.unexplained {
		open += u.Count
		if len(roots) > 0 && before(roots[0], u) {
			behind += u.Count
		}
	}
	open = min(open, l.ErrorLines)
	if len(roots) == 0 || roots[0].Cause == unclear || l.healthy() {
		return all + fmt.Sprintf("%d known, %d not understood", l.ErrorLines-open, open)
	}
	cause := 0
	if l.ErrorLines > l.Following { // else the cause is no error line
		cause = min(max(roots[0].Count, 1), l.ErrorLines-open)
	}
	follow := min(max(l.Following-behind, 0), l.ErrorLines-open-cause)
	words := fmt.Sprintf("%d of the cause, %d follow from it, %d not understood", cause, follow, open)
	if cause == 0 {
		words = fmt.Sprintf("%d follow from the cause, %d not understood", follow, open)
	}
	if rest := l.ErrorLines - cause - follow - open; rest > 0 {
		words += fmt.Sprintf(", %d more known", rest)
	}
	return all + words
}

// before says whether a finding's first line stands above a cluster's.
func before(f finding.FindingMsg, u finding.UnexplainedMsg) bool {
	return len(f.Evidence) > 0 && f.Evidence[0].File == u.File && f.Evidence[0].Line < u.Line
}

func unexplained(l *launch, p places) []cluster {
	var out []cluster
	for _, u := range l.unexplained {
		out = append(out, cluster{Count: u.Count, Pos: p.at(u.File, u.Line), Text: u.Text})
	}
	slices.SortStableFunc(out, func(a, b cluster) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func drift(l *launch, p places) []cluster {
	var out []cluster
	for _, d := range l.drift {
		out = append(out, cluster{Count: d.Count, ID: d.ID, Pos: p.at(d.File, d.Line), Text: d.Text})
	}
	return out
}

// like says that two launches went the same way for the same reason.
func (v view) like(o view) bool {
	if v.Headline != o.Headline || len(v.Suspects) == 0 || len(v.Suspects) != len(o.Suspects) {
		return false
	}
	for i, s := range v.Suspects {
		if s.ID != o.Suspects[i].ID || s.Word != o.Suspects[i].Word {
			return false
		}
	}
	return true
}

// row is a launch in the table of all launches.
type row struct {
	N     int
	File  string
	Lines string
	Tone  tone
	What  string // how it ended and its first suspect with the confidence, or the headline
}

func firstFile(v view) string {
	if len(v.Files) == 0 {
		return ""
	}
	return v.Files[0]
}

// newRow makes the row of a view or of its outline.
func newRow(v view) row {
	r := row{N: v.N, File: firstFile(v), Lines: v.Lines, Tone: v.Tone, What: v.Headline}
	for _, s := range firstOf(slices.Concat(v.Suspects, v.Latent), 1) {
		ended := v.Headline
		if v.Tone == bad { // where a failure came is told with the launch itself
			ended, _, _ = strings.Cut(ended, ",")
			ended = strings.TrimSuffix(ended, " before ready")
		}
		r.What = ended + "  " + s.Word + ": " + s.Title
	}
	return r
}
