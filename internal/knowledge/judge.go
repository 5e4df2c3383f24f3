package knowledge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/launch"
)

// Judgement is what the rules say about one launch. Remedies carry their
// changes only; putting them into the user's command is the caller's business.
type Judgement struct {
	Symptom     *finding.SymptomMsg
	Findings    []*finding.FindingMsg // by rank
	NotIt       []*finding.NotItMsg
	Unexplained []*finding.UnexplainedMsg
	Following   int      // error-like lines that follow from the root
	Applied     []string // ids of all rules that applied, in any role
}

// maxFindings bounds what a report shows of one launch; more are consequences
// of consequences.
const maxFindings = 16

// Judge applies the rules to one launch. It is a pure function of its input.
func (b *Base) Judge(in Input) *Judgement {
	e := newEval(b, in)
	var cands, symptoms, notIt []*candidate
	j := new(Judgement)
	for _, r := range b.rules {
		if len(r.Lines) > 0 && e.events[r] == nil || len(r.Lines)+len(r.When) == 0 {
			continue // nothing of it was seen, or it is known before a launch only
		}
		c := e.apply(r)
		if c != nil {
			j.Applied = append(j.Applied, r.ID)
		}
		switch {
		case c == nil:
		case r.Role == Exonerate:
			notIt = append(notIt, c)
		case r.Role == Symptom:
			symptoms = append(symptoms, c)
			cands = append(cands, c)
		default:
			cands = append(cands, c)
		}
	}
	cands = append(cands, e.unknownExceptions(cands)...)
	ranked := e.rank(cands)
	j.Symptom = e.symptom(symptoms, ranked)
	j.Findings = e.messages(ranked, j.Symptom)
	if len(ranked) > 0 {
		j.Following = e.l.ErrorsAfter(ranked[0].seq)
	}
	j.NotIt = e.notIt(notIt, ranked)
	j.Unexplained = e.unexplained()
	return j
}

// rank orders the candidates: root first, then further suspects, then what
// follows from them.
func (e *eval) rank(cands []*candidate) []*candidate {
	if e.l.Outcome == finding.OK {
		return e.rankHealthy(cands)
	}
	present := make(map[string]*candidate)
	for _, c := range cands {
		present[c.id()] = c
	}
	var causes, later, remarks, symptoms, suspects []*candidate
	for _, c := range cands {
		e.relate(c, present)
	}
	for _, c := range cands {
		switch {
		case c.role == Latent:
			remarks = append(remarks, c)
		case c.role == Symptom:
			symptoms = append(symptoms, c)
		case c.role == Consequence || len(c.below) > 0:
			later = append(later, c)
		case c.role == Suspect && !e.suspectFits(c, present):
			suspects = append(suspects, c)
		default:
			causes = append(causes, c)
		}
	}
	slices.SortStableFunc(causes, e.before)
	causes = e.foldSameTrace(causes, &later)
	if len(causes) == 0 {
		causes, later, remarks = e.promote(symptoms, later, suspects, remarks)
	}
	if len(causes) == 0 {
		causes = append(causes, e.unclear())
	}
	root := causes[0]
	out := []*candidate{root}
	for _, c := range causes[1:] {
		if e.follows(c, root) {
			c.below = append(c.below, root.id())
			later = append(later, c)
			continue
		}
		out = append(out, c)
	}
	slices.SortStableFunc(later, func(a, b *candidate) int { return cmp.Compare(a.seq, b.seq) })
	for _, c := range later {
		if len(c.below) == 0 {
			c.below = []string{root.id()}
		}
		c.role = Consequence
	}
	out = append(out, later...)
	for _, c := range remarks {
		if c.severity() != finding.Info && c.confidence.Rank() >= finding.Likely.Rank() {
			out = append(out, c) // beside a failure, a mere remark is noise
		}
	}
	if len(out) > maxFindings {
		out = out[:maxFindings]
	}
	return out
}

// relate fills who is below whom: depends_on of the rule itself, and explains
// of the others.
func (e *eval) relate(c *candidate, present map[string]*candidate) {
	if c.rule == nil {
		return
	}
	for _, id := range c.rule.DependsOn {
		if p := present[id]; p != nil && p != c && p.role != Latent && !p.survived {
			c.below = append(c.below, id)
		}
	}
	if c.survived && c.role == Cause {
		return
	}
	for _, id := range c.rule.Explains {
		if present[id] != nil {
			c.above = append(c.above, id)
		}
		if p := present[id]; p != nil && p != c && !slices.Contains(p.below, c.id()) && (c.role != Suspect || e.suspectFits(c, present)) {
			p.below = append(p.below, c.id())
		}
	}
}

// suspectFits: a suspect counts when the launch shows what it would cause.
func (e *eval) suspectFits(c *candidate, present map[string]*candidate) bool {
	for _, id := range c.rule.Explains {
		if id == "symptom" {
			return true
		}
		if p := present[id]; p != nil && !p.survived {
			return true
		}
	}
	return false
}

// before orders candidate causes: what the server survived comes last, a
// suspect after a cause, then the earlier line, then the more specific rule.
func (e *eval) before(a, b *candidate) int {
	return cmp.Or(
		cmp.Compare(boolInt(a.survived), boolInt(b.survived)),
		cmp.Compare(a.tier(), b.tier()),
		e.compareSeq(a, b),
		cmp.Compare(a.vague(), b.vague()),
		cmp.Compare(b.confidence.Rank(), a.confidence.Rank()),
		cmp.Compare(a.id(), b.id()),
	)
}

// compareSeq orders by place in the log; lines of one traceback are one place,
// there a specific rule comes first, and then the order of the exception chain
// decides.
func (e *eval) compareSeq(a, b *candidate) int {
	if a.trace != nil && a.trace == b.trace {
		return cmp.Or(cmp.Compare(boolInt(a.vague() > 0), boolInt(b.vague() > 0)), cmp.Compare(a.link(), b.link()))
	}
	if a.tier() == tierSuspect && b.tier() == tierSuspect {
		return cmp.Compare(b.confidence.Rank(), a.confidence.Rank())
	}
	return cmp.Compare(a.seq, b.seq)
}

const (
	tierCause = iota
	tierQuiet
	tierSuspect
	tierUnclear // a death whose cause the line does not name
)

func (c *candidate) tier() int {
	switch {
	case c.role == Suspect:
		return tierSuspect
	case len(c.above) == 0 && c.quiet():
		return tierQuiet
	case c.rule != nil && c.rule.Cause == "unclear":
		return tierUnclear
	}
	return tierCause
}

// vague orders what names the same exception: a specific rule, a generic one,
// the fallback.
func (c *candidate) vague() int {
	switch {
	case c.fallback != nil:
		return 2
	case c.rule.Generic():
		return 1
	}
	return 0
}

// link is the place of the lead in its traceback's exception chain.
func (c *candidate) link() int {
	lead := c.lead()
	if c.trace == nil || lead == nil {
		return 0
	}
	line := lead.Pos.Line
	for i := range c.trace.Chain {
		x := &c.trace.Chain[i]
		if x.At <= line && line <= x.End {
			return i
		}
	}
	for _, same := range c.trace.Copies {
		if same[0] <= line && line <= same[1] {
			return 0 // an equal traceback of another rank: its chain is not kept
		}
	}
	return len(c.trace.Chain)
}

// foldSameTrace keeps one cause per traceback: the others of the same chain
// are further readings of it.
func (e *eval) foldSameTrace(causes []*candidate, later *[]*candidate) []*candidate {
	first := make(map[*launch.Trace]*candidate)
	out := causes[:0:0]
	for _, c := range causes {
		if c.trace == nil || c.role == Suspect {
			out = append(out, c)
			continue
		}
		if f := first[c.trace]; f != nil {
			c.below = append(c.below, f.id())
			*later = append(*later, c)
			continue
		}
		first[c.trace] = c
		out = append(out, c)
	}
	return out
}

// follows tells whether a further cause is taken as following from the root.
func (e *eval) follows(c, root *candidate) bool {
	if c.role == Suspect || root.role == Suspect {
		return c.role != Suspect
	}
	return true
}

// promote finds a root when no cause is there: a symptom, else the earliest
// consequence, is all that the log shows.
func (e *eval) promote(symptoms, later, suspects, remarks []*candidate) (causes, rest, left []*candidate) {
	if len(symptoms) > 0 {
		slices.SortStableFunc(symptoms, e.before)
		for _, c := range symptoms {
			c.confidence = finding.Possible
			c.basis = "the symptom is all that the log shows; what led to it stands in no line"
		}
		return symptoms, later, remarks
	}
	if e.peerStopped() {
		return []*candidate{e.stopped()}, later, remarks
	}
	if len(later) > 0 && e.l.Outcome != finding.Stopped {
		slices.SortStableFunc(later, e.before)
		first := later[0]
		first.below, first.role = nil, Cause
		first.confidence = finding.Possible
		first.basis = "it is the first failure the log shows, although it usually follows from another one"
		return []*candidate{first}, later[1:], remarks
	}
	both := append(suspects, remarks...)
	switch e.l.Outcome { // a failure that is seen was not made by a mere remark
	case finding.Failed:
		both = slices.DeleteFunc(both, mere)
	case finding.ReadyThenFailed: // nor by what the server came up with
		both = slices.DeleteFunc(suspects, mere)
	}
	if len(both) > 0 && e.l.Outcome != finding.Stopped {
		first := both[0]
		first.role, first.confidence = Suspect, finding.Possible
		first.basis = "no line names a failure; this one can explain one"
		return []*candidate{first}, later, slices.DeleteFunc(remarks, func(c *candidate) bool { return c == first })
	}
	return nil, later, remarks
}

func mere(c *candidate) bool { return c.rule != nil && c.rule.Severity == finding.Info }

// peerStopped: of several files, one shows an interruption and no failure of its
// own; what the others report is that this peer is gone.
func (e *eval) peerStopped() bool {
	return len(e.l.Files) > 1 && slices.ContainsFunc(e.l.Files, func(f *launch.File) bool { return f.Ended == launch.StoppedOutside })
}

// rankHealthy keeps what matters on a launch that is well: latent faults.
func (e *eval) rankHealthy(cands []*candidate) []*candidate {
	var out []*candidate
	for _, c := range cands {
		if c.role == Latent {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(severityOrder(a), severityOrder(b)), cmp.Compare(b.confidence.Rank(), a.confidence.Rank()), cmp.Compare(a.seq, b.seq))
	})
	if e.l.StopSeq >= 0 {
		// Remarks on the start-up matter less than the stop; faults, and what
		// happened in service, matter more.
		aside := func(c *candidate) bool { return c.severity() == finding.Info && c.seq < e.l.ReadySeq }
		slices.SortStableFunc(out, func(a, b *candidate) int { return cmp.Compare(boolInt(aside(a)), boolInt(aside(b))) })
		at := slices.IndexFunc(out, aside)
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, e.stopped())
	}
	if len(out) > maxFindings {
		out = out[:maxFindings]
	}
	return out
}

func severityOrder(c *candidate) int {
	switch c.severity() {
	case finding.Error:
		return 0
	case finding.Warning:
		return 1
	}
	return 2
}

func (c *candidate) severity() finding.Severity {
	if c.fallback != nil {
		return c.fallback.severity
	}
	return c.rule.Severity
}

// symptom states what was seen to go wrong.
func (e *eval) symptom(symptoms, ranked []*candidate) *finding.SymptomMsg {
	if e.l.Outcome == finding.OK {
		return nil
	}
	slices.SortStableFunc(symptoms, func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare(boolInt(!explained(a, ranked)), boolInt(!explained(b, ranked))),
			cmp.Compare(boolInt(a.rule.Cause == "unclear"), boolInt(b.rule.Cause == "unclear")),
			cmp.Compare(a.seq, b.seq))
	})
	for _, c := range symptoms {
		if !c.survived {
			return &finding.SymptomMsg{Title: c.rule.Title + ranksNote(c), Evidence: e.evidence(c, 3)}
		}
	}
	for i := range e.l.Events {
		ev := &e.l.Events[i]
		if ln := ev.Watch.Line; ln != nil && ln.Kind == engine.Symptom {
			return &finding.SymptomMsg{Title: ln.Title, Evidence: []finding.Evidence{logEvidence(ev, "")}}
		}
	}
	return e.plainSymptom(ranked)
}

// explained: a suspect or cause of the launch names this symptom.
func explained(c *candidate, ranked []*candidate) bool {
	return slices.ContainsFunc(ranked, func(r *candidate) bool { return slices.Contains(r.above, c.id()) })
}

// plainSymptom is the end of the launch as anybody can see it.
func (e *eval) plainSymptom(ranked []*candidate) *finding.SymptomMsg {
	m := &finding.SymptomMsg{Title: e.outcomeWords()}
	for i := len(e.l.Events) - 1; i >= 0; i-- {
		ev := &e.l.Events[i]
		ln := ev.Watch.Line
		if ln != nil && (ln.Kind == engine.Fatal || ln.Kind == engine.Wrapper || ln.Kind == engine.Exit || ln.Kind == engine.Stop) {
			m.Evidence = append(m.Evidence, logEvidence(ev, ""))
			return m
		}
	}
	if len(ranked) > 0 {
		if lead := ranked[0].lead(); lead != nil {
			m.Evidence = append(m.Evidence, logEvidence(lead, ""))
			return m
		}
	}
	if f := e.l.Files[0]; f.LastText != "" {
		m.Evidence = append(m.Evidence, finding.Evidence{Kind: "log", File: f.Name, Line: f.Last, Text: f.LastText, Note: "last line of the log"})
	}
	return m
}

func (e *eval) outcomeWords() string {
	where := phaseWords[e.l.Phase]
	switch e.l.Outcome {
	case finding.Failed:
		return "the server never got ready; it ended " + where
	case finding.ReadyThenFailed:
		return "the server was ready and failed afterwards, " + where
	case finding.Stalled:
		return "the log ends without an error and without the ready line, " + where
	case finding.Stopped:
		return "the server was stopped from outside, " + where
	}
	return ""
}

var phaseWords = map[fact.Phase]string{
	fact.Args: "while it read its arguments", fact.Load: "while it loaded the weights", fact.KVAlloc: "while it allocated the KV cache",
	fact.Capture: "while it captured graphs", fact.Warmup: "in its warm-up", fact.Ready: "after the ready line",
	fact.Prefill: "in a prefill", fact.Decode: "in a decode", fact.Runtime: "while it served requests", fact.Shutdown: "while it shut down",
}

func ranksNote(c *candidate) string {
	set := make(map[string]bool)
	for _, ev := range c.events {
		if p := ev.Rank.String(); p != "" {
			set[p] = true
		}
	}
	if len(set) < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d ranks)", len(set))
}

func logEvidence(ev *launch.Event, note string) finding.Evidence {
	return finding.Evidence{Kind: "log", File: ev.Pos.File, Line: ev.Pos.Line, Text: ev.Text, Note: note}
}

// notIt lists exonerated lines: rules of that role, and the engine's own noise
// that looks like an error.
func (e *eval) notIt(cands, ranked []*candidate) []*finding.NotItMsg {
	var out []*finding.NotItMsg
	for _, c := range cands {
		ev := c.lead()
		if ev == nil {
			continue
		}
		out = append(out, &finding.NotItMsg{ID: c.id(), Title: c.rule.Title, Why: oneLine(c.rule.Why), Evidence: e.evidence(c, 3)})
	}
	for _, kind := range []engine.Kind{engine.Wrapper, engine.Noise} {
		out = append(out, e.knownInnocents(kind, ranked)...)
	}
	return out
}

// maxInnocents bounds the known harmless lines of one kind.
const maxInnocents = 8

// knownInnocents are the engine's own lines of a kind that look like a cause.
func (e *eval) knownInnocents(kind engine.Kind, ranked []*candidate) []*finding.NotItMsg {
	var out []*finding.NotItMsg
	seen := make(map[string]bool)
	for i := range e.l.Events {
		ev := &e.l.Events[i]
		ln := ev.Watch.Line
		if ln == nil || ln.Kind != kind || ln.Why == "" || seen[ln.ID] || len(out) >= maxInnocents {
			continue
		}
		if kind == engine.Noise && !looksGuilty(ev.Text) || e.cited(ranked, ev) {
			continue
		}
		seen[ln.ID] = true
		out = append(out, &finding.NotItMsg{ID: ln.ID, Title: cmp.Or(ln.Title, guiltTitle(ln)), Why: ln.Why, Evidence: []finding.Evidence{logEvidence(ev, "")}})
	}
	return out
}

func guiltTitle(ln *engine.Line) string {
	if ln.Kind == engine.Wrapper {
		return "reports a failure whose cause stands elsewhere"
	}
	return "harmless on healthy servers too"
}

func (e *eval) cited(ranked []*candidate, ev *launch.Event) bool {
	for _, c := range ranked {
		for _, x := range c.events {
			if x.Pos == ev.Pos {
				return true
			}
		}
	}
	return false
}

func looksGuilty(text string) bool {
	t := strings.ToLower(text)
	for _, w := range []string{"error", "fail", "crash", "fatal", "abort", "cannot", "warn", "not found", "exception"} {
		if strings.Contains(t, w) {
			return true
		}
	}
	return false
}

// unexplained lists the clusters of error-like lines that nothing covers.
func (e *eval) unexplained() []*finding.UnexplainedMsg {
	clusters := slices.Clone(e.l.Clusters)
	slices.SortStableFunc(clusters, func(a, b *launch.Cluster) int { return cmp.Compare(b.Count, a.Count) })
	var out []*finding.UnexplainedMsg
	for _, c := range clusters {
		if c.Ruled {
			continue
		}
		out = append(out, &finding.UnexplainedMsg{Count: c.Count, File: c.Pos.File, Line: c.Pos.Line, Text: c.Text})
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
