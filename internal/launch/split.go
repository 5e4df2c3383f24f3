package launch

import (
	"cmp"
	"slices"
	"strings"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

// split decides whether this line begins a launch, and begins it.
//
// A launch begins at
//   - the first line that an engine or a traceback owns,
//   - a start marker (banner, config dump, early milestone or choice) after a
//     launch command that stands behind the last line of the launch so far,
//   - a banner, config dump or unranked choice after the launch has ended,
//   - a start marker that the same process has already printed, when the launch
//     has moved past its beginning since (a log that was appended to).
func (b *Builder) split(c *lineContext, ws []sighting) {
	marker := b.startMarker(c, ws)
	if marker != nil && b.forced == nil {
		b.engine = marker.Engine
	}
	if b.cur == nil {
		if b.cut && marker == nil && b.pending == nil {
			return // the late last lines of a launch that is judged already
		}
		if marker != nil || b.opens(c, ws) {
			b.begin(b.firstLineFor(c.no))
			b.note(marker, c)
		}
		return
	}
	if marker == nil {
		if b.commandAfterLaunch() && (c.class == logstream.ClassTraceback || b.cur.ended() && (c.p.Len > 0 || len(ws) > 0)) {
			b.restart(c.no)
		}
		return
	}
	l := b.cur
	switch {
	case b.pastedAgain(marker, c):
	case b.commandAfterLaunch(),
		l.ended() && restarts(marker, c),
		b.repeats(marker, c):
		b.restart(c.no)
	case l.Engine != marker.Engine && len(l.Milestones) == 0:
		l.Engine = marker.Engine
	case l.Engine != marker.Engine && startsServer(marker) && l.ReadySeq >= 0:
		b.restart(c.no)
	}
	b.note(marker, c)
}

// startMarker returns the watch among ws that shows a server starting up.
func (b *Builder) startMarker(c *lineContext, ws []sighting) *Watch {
	for _, w := range ws {
		if w.Line == nil {
			continue
		}
		switch w.Line.Kind {
		case engine.Banner, engine.ConfigDump, engine.Choice, engine.Mile:
		default:
			continue
		}
		if w.Line.Kind == engine.Mile && w.Line.Phase.Order() > b.lastStartPhase().Order() {
			continue
		}
		if w.Line.Kind != engine.ConfigDump {
			if quoted(w.Line.Kind) && c.p.Len == 0 && w.at > nearStart {
				continue
			}
			if _, ok := matchAny(w.Patterns, c.seg); !ok {
				continue
			}
		}
		return w.Watch
	}
	return nil
}

// lastStartPhase is the phase up to which a milestone counts as a start marker.
// Behind a ready line, a paste of the next start may begin later.
func (b *Builder) lastStartPhase() fact.Phase {
	if b.cur != nil && b.cur.ReadySeq >= 0 {
		return fact.KVAlloc
	}
	return fact.Load
}

// opens tells whether a line without start marker can begin the first launch of
// a file: a paste may begin anywhere.
func (b *Builder) opens(c *lineContext, ws []sighting) bool {
	if len(ws) > 0 || b.pending != nil || b.engineNow() != nil {
		return true
	}
	return c.class == logstream.ClassTraceback || c.p.Len > 0 && logstream.IsErrorLike(c.p, c.text)
}

// firstLineFor is the first line of a launch that shows itself at line no: the
// lines before it that belong to nobody else are its own.
func (b *Builder) firstLineFor(no int) int {
	if b.pending != nil && b.pendingPos.Line >= b.firstNo {
		return b.pendingPos.Line
	}
	if b.firstNo > 0 {
		return b.firstNo
	}
	return no
}

// commandAfterLaunch: a launch command stands behind everything that the
// current launch has printed.
func (b *Builder) commandAfterLaunch() bool {
	return b.pending != nil && b.cur != nil && b.pendingPos.Line > b.cur.lastEventLine() && b.cur.lastEventLine() > 0
}

// restarts: a milestone of a slow rank may follow the end; a banner, a config
// dump or a choice of the main process does not.
func restarts(w *Watch, c *lineContext) bool {
	switch w.Line.Kind {
	case engine.Banner, engine.ConfigDump:
		return true
	case engine.Choice:
		return c.p.Rank.String() == "" && c.p.Tag == ""
	}
	return false
}

// marker is a start marker of one process.
type marker struct {
	id, tag string
	rank    logstream.Rank
}

func markerKey(w *Watch, c *lineContext) marker { return marker{w.ID, c.p.Tag, c.p.Rank} }

// pastedAgain: the same process printed the same marker at the same second. No
// server starts twice in a second; people paste the same log twice.
func (b *Builder) pastedAgain(w *Watch, c *lineContext) bool {
	for _, t := range b.cur.seen[markerKey(w, c)] {
		if d, ok := c.p.Time.Sub(t); ok && d == 0 {
			return true
		}
	}
	return false
}

// repeats: the same process prints its start marker again although the launch
// is past it.
func (b *Builder) repeats(w *Watch, c *lineContext) bool {
	l := b.cur
	if _, again := l.seen[markerKey(w, c)]; !again || w.Line.Kind == engine.Choice {
		return false
	}
	if w.Line.Kind == engine.Mile { // before ready, a draft model is loaded like a second start
		return l.ReadySeq >= 0
	}
	return l.ReadySeq >= 0 || l.ended() || l.phaseFor(c.p).Order() >= fact.Load.Order()
}

// maxMarkers is how many occurrences of one start marker are remembered.
const maxMarkers = 8

func (b *Builder) note(w *Watch, c *lineContext) {
	if w == nil || b.cur == nil {
		return
	}
	key := markerKey(w, c)
	if len(b.cur.seen[key]) < maxMarkers {
		b.cur.seen[key] = append(b.cur.seen[key], c.p.Time)
	}
}

func (b *Builder) restart(no int) {
	b.endTraces()
	if b.cur.slight() {
		first := b.cur.Files[0].First
		b.cur = nil
		b.begin(first)
		return
	}
	last := b.prevNo
	if b.commandAfterLaunch() {
		last = b.cur.lastEventLine()
	}
	b.cur.Files[0].Last = max(last, b.cur.lastEventLine())
	b.finish()
	first := no
	if b.pending != nil {
		first = b.pendingPos.Line
	}
	b.begin(first)
}

// usualEvents is how many events a launch has room for at first.
const usualEvents = 64

func (b *Builder) begin(first int) {
	f := &File{Name: b.file, First: first}
	l := &Launch{
		Files: []*File{f}, Engine: b.engineNow(),
		ReadySeq: -1, FailSeq: -1, StopSeq: -1, LastServed: -1, SymptomSeq: -1,
		Counts: make(map[*Watch]int), cluster: make(map[string]*Cluster), phaseOf: make(map[string]fact.Phase),
		drift: make(map[*Watch]*Drift), traceBy: make(map[string]*Trace), seen: make(map[marker][]logstream.Time),
		Events: make([]Event, 0, usualEvents),
	}
	if b.pending != nil {
		f.Command, f.CommandPos, f.CommandText = b.pending, b.pendingPos, b.pendingTxt
		if l.Engine == nil {
			l.Engine = b.engineByName(b.pending.Engine)
		}
		l.phase = fact.Args
		b.pending = nil
	}
	b.cur, b.seq, b.cut = l, 0, false
	for _, f := range b.told {
		l.addFact(f)
	}
}

func (b *Builder) engineByName(name string) *engine.Engine {
	for _, e := range b.index.Engines {
		if e.Name == name {
			return e
		}
	}
	return nil
}

func (b *Builder) finish() {
	l := b.cur
	if l == nil {
		return
	}
	b.cur = nil
	f := l.Files[0]
	if f.Last == 0 {
		f.Last = max(b.lastNo, l.lastEventLine(), f.First)
	}
	f.LastText = string(b.lastText)
	if !l.worth(b.forced != nil) {
		if l.Files[0].Command != nil && b.pending == nil {
			b.pending, b.pendingPos, b.pendingTxt = f.Command, f.CommandPos, f.CommandText
		}
		return
	}
	b.firstNo = 0
	l.decide()
	b.done(l)
}

// slight is a launch that shows nothing of a server but a quotation or two: the
// title and the prose of a report, before its log.
func (l *Launch) slight() bool {
	return len(l.Milestones) == 0 && len(l.Dumps) == 0 && l.Files[0].Command == nil && len(l.Traces) <= 1 && len(l.Events) <= 4 && !l.hasKind(engine.Banner)
}

func (l *Launch) hasKind(kinds ...engine.Kind) bool {
	for i := range l.Events {
		if ln := l.Events[i].Watch.Line; ln != nil && slices.Contains(kinds, ln.Kind) {
			return true
		}
	}
	return false
}

// maxRefusal is how many lines below its command a launch without any known
// line may reach: a usage text and its error.
const maxRefusal = 120

// aTail is how many signs of service make a launch of a log that shows nothing
// else: the tail of a server that is up.
const aTail = 5

// worth tells a launch from text that merely mentions one. told: the user named
// the engine, so that any line somebody knows is enough.
func (l *Launch) worth(told bool) bool {
	if l.Engine == nil {
		return false
	}
	if l.hasKind(engine.Mile, engine.Banner, engine.Ready, engine.Choice, engine.Wrapper, engine.Fatal, engine.Symptom, engine.Exit, engine.Stop) {
		return true
	}
	if len(l.Traces) > 0 || len(l.Dumps) > 0 || l.Served >= aTail || told {
		return true
	}
	// A command that was refused at once leaves a line or two.
	f := l.Files[0]
	return f.Command != nil && (l.ErrorLines > 0 || l.hasRuleEvent()) && l.lastLine-f.CommandPos.Line <= maxRefusal
}

func (l *Launch) hasRuleEvent() bool {
	return slices.ContainsFunc(l.Events, func(e Event) bool { return e.Watch.Line == nil })
}

// ended: the launch has failed, stopped or exited as far as it shows.
func (l *Launch) ended() bool {
	if l.FailSeq >= 0 || l.StopSeq >= 0 {
		return true
	}
	return l.hasKind(engine.Exit) || len(l.Traces) > 0 && l.ReadySeq < 0
}

// decide settles how the launch ended.
func (l *Launch) decide() {
	if len(l.Files) == 1 { // the parts of a joined launch were decided before
		if l.ReadySeq < 0 {
			l.upWithoutHTTP()
		}
		if l.StopSeq < 0 && l.FailSeq < 0 {
			l.orderlyExit()
		}
	}
	if l.FailSeq < 0 && l.SymptomSeq >= 0 && !(l.ReadySeq >= 0 && l.LastServed > l.SymptomSeq) {
		l.FailSeq = l.SymptomSeq // nothing shows that the server lived on
	}
	if l.FailSeq < 0 && l.ReadySeq >= 0 {
		l.FailSeq = l.deathAfterReady()
	}
	failed := l.FailSeq >= 0
	if !failed && l.ReadySeq < 0 {
		failed = l.diesUnready()
	}
	stopFirst := l.StopSeq >= 0 && (l.FailSeq < 0 || l.StopSeq <= l.FailSeq) && !l.failureBefore(l.StopSeq)
	switch {
	case stopFirst && l.ReadySeq >= 0:
		l.Outcome = finding.OK
	case stopFirst:
		l.Outcome = finding.Stopped
	case l.ReadySeq >= 0 && l.FailSeq > l.ReadySeq:
		l.Outcome = finding.ReadyThenFailed
	case l.ReadySeq >= 0:
		l.Outcome = finding.OK
	case failed:
		l.Outcome = finding.Failed
	case l.Served > 0:
		l.Outcome = finding.OK
	default:
		l.Outcome = finding.Stalled
	}
	l.Phase = l.phase
	for _, f := range l.Files {
		f.Ready = l.ReadySeq >= 0
	}
}

// upWithoutHTTP takes the milestone as ready behind which a process that serves
// no HTTP itself is up: a headless node, or an offline script, which prints no
// banner of a server.
func (l *Launch) upWithoutHTTP() {
	if l.Engine == nil {
		return
	}
	for i := range l.Milestones {
		m := &l.Milestones[i]
		headless := m.Line.Name == l.Engine.UpHeadless && !l.hasFrontEnd()
		offline := m.Line.Name == l.Engine.UpOffline && !l.hasKind(engine.Banner)
		if m.Line.Name != "" && (headless || offline) {
			l.ReadySeq, l.ReadyPos, l.headless = m.Seq, m.Pos, headless
			return
		}
	}
}

// hasFrontEnd: the launch was told to serve HTTP itself, so that it is up only
// when its HTTP server is.
func (l *Launch) hasFrontEnd() bool {
	c := l.Files[0].Command
	if c == nil || c.Engine != "vllm" {
		return false
	}
	_, headless := flagOf(c, "--headless")
	return !headless
}

// orderlyExit: a server that was ready and then cleaned up without a failure
// was told to, although no line says by whom.
func (l *Launch) orderlyExit() {
	for i := range l.Events {
		ev := &l.Events[i]
		if ln := ev.Watch.Line; ln != nil && ln.Kind == engine.Exit && l.ReadySeq >= 0 && ev.Seq > l.ReadySeq {
			l.StopSeq, l.StopPos = ev.Seq, ev.Pos
			return
		}
	}
}

// deathAfterReady finds the first exception that ended a process of the engine
// in service, -1 when there is none. An exception of the front end ends one
// request and not the server.
func (l *Launch) deathAfterReady() int {
	for _, t := range l.Traces {
		proc := t.Rank.String()
		ofEngine := proc != "" || t.Tag != "" && !strings.HasPrefix(t.Tag, frontEnd)
		if t.Seq > l.ReadySeq && ofEngine && !t.Interrupted() && !l.Survived(t.Seq, t.File, cmp.Or(proc, t.Tag)) {
			return t.Seq
		}
	}
	return -1
}

// frontEnd begins the process tags of vLLM's HTTP servers (APIServer,
// ApiServer_0).
const frontEnd = "A"

// diesUnready: a launch that never got ready has failed when an exception or a
// native death stands after its last milestone.
func (l *Launch) diesUnready() bool {
	last := -1
	if n := len(l.Milestones); n > 0 {
		last = l.Milestones[n-1].Seq
	}
	for _, t := range l.Traces {
		if t.Seq > last || t.Seq == 0 {
			return true
		}
	}
	for _, c := range l.Clusters {
		if c.Seq > last {
			return true
		}
	}
	return false
}

// failureBefore: a real exception stands before seq and nothing shows that the
// server survived it.
func (l *Launch) failureBefore(seq int) bool {
	return l.FailSeq >= 0 && l.FailSeq < seq || l.exceptionBefore(seq)
}

// exceptionBefore: an exception that is no interruption stands before seq, and
// nothing shows that its process survived it.
func (l *Launch) exceptionBefore(seq int) bool {
	return slices.ContainsFunc(l.Traces, func(t *Trace) bool {
		return t.Seq < seq && !t.Interrupted() && !l.Survived(t.Seq, t.File, t.Rank.String())
	})
}

// Survived tells whether the process proc of a file's server made progress after
// seq. With proc Anyone, the progress of any process in that file counts.
func (l *Launch) Survived(seq int, file, proc string) bool {
	if l.ReadySeq > seq && l.ReadyPos.File == file {
		return true
	}
	for i := range l.Milestones {
		m := &l.Milestones[i]
		if m.Seq > seq && m.Pos.File == file && (m.Proc == proc || proc == Anyone) {
			return true
		}
	}
	return l.LastServed > seq && (l.FailSeq < 0 || l.servedAfterFail >= livesOn)
}

// livesOn is how many signs of service behind a failure show that the server
// survived it: other ranks may still write one or two.
const livesOn = 4

// Anyone stands for all processes of a launch.
const Anyone = "*"

// Interrupted: the traceback shows an interruption from outside. What ended the
// call decides: a cancellation inside the chain of a time-out is none, and
// neither is a program that exits by itself.
func (t *Trace) Interrupted() bool {
	if len(t.Chain) == 0 {
		return false
	}
	for i := range t.Chain {
		if t.Chain[i].Type == "KeyboardInterrupt" {
			return true
		}
	}
	return strings.HasSuffix(t.Chain[len(t.Chain)-1].Type, "CancelledError")
}
