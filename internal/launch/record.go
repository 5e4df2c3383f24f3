package launch

import (
	"bytes"
	"strconv"
	"strings"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/logstream"
	"shakedown/internal/match"
)

func procKey(p logstream.Prefix) string {
	if r := p.Rank.String(); r != "" {
		return r
	}
	return p.Tag
}

// phaseFor is the phase of the process that wrote a line.
func (l *Launch) phaseFor(p logstream.Prefix) fact.Phase {
	if len(l.phaseOf) > 0 {
		if ph, ok := l.phaseOf[procKey(p)]; ok {
			return ph
		}
	}
	return l.phase
}

func (l *Launch) enter(p logstream.Prefix, ph fact.Phase) {
	if ph == "" {
		return
	}
	if key := procKey(p); key != "" {
		l.phaseOf[key] = ph
	}
	if ph.Order() > l.phase.Order() {
		l.phase = ph
	}
}

// serving enters the run time, and all ranks with it: a server that answers is
// past its start.
func (l *Launch) serving() {
	if l.phase.Order() >= fact.Runtime.Order() {
		return
	}
	l.phase = fact.Runtime
	clear(l.phaseOf)
}

// touch notes the time stamps of a file.
func (l *Launch) touch(file string, t logstream.Time) {
	if t.IsZero() {
		return
	}
	f := l.Files[0]
	if f.Start.IsZero() {
		f.Start = t
	}
	f.End = t
}

func (l *Launch) lastEventLine() int { return l.lastLine }

func (l *Launch) event(b *Builder, c *lineContext, w *Watch, caps map[string]string) {
	l.lastLine = c.no
	l.Counts[w]++
	if l.Counts[w] > maxEventsPerWatch {
		return
	}
	e := Event{
		Watch: w, Pos: fact.Pos{File: b.file, Line: c.no}, Seq: b.seq - 1, Time: c.p.Time, Tag: c.p.Tag, PID: c.p.PID,
		Rank: c.p.Rank, Level: c.p.Level, Code: c.p.Code, Phase: l.phaseFor(c.p), Class: c.class, Noise: c.noise, Text: quote(c), Caps: caps,
	}
	l.Events = append(l.Events, e)
}

// quote is the text shown for a line: the whole physical line when it is one
// segment, else the segment itself (a line of progress bars is no evidence).
func quote(c *lineContext) string {
	t := c.seg
	if len(c.raw) != len(c.seg) && len(c.raw) <= len(c.seg)+64 && !bytes.ContainsAny(c.raw, "\r\x1b") {
		t = c.raw
	}
	return string(bytes.TrimRight(clip(t, maxText), " \t\r"))
}

// apply gives an engine's line its meaning.
func (l *Launch) apply(b *Builder, c *lineContext, w *Watch, caps match.Captures, byName map[string]string) {
	ln := w.Line
	pos := fact.Pos{File: b.file, Line: c.no}
	for _, f := range w.facts {
		if v, ok := match.Expand(f.value, caps); ok && strings.TrimSpace(v) != "" {
			l.addFact(fact.Fact{Key: f.key, Value: strings.TrimSpace(v), Pos: pos, Rank: c.p.Rank.String()})
		}
	}
	seq := b.seq - 1
	if l.phase == "" && (ln.Kind == engine.Banner || ln.Kind == engine.Choice) {
		l.phase = fact.Args
	}
	switch ln.Kind {
	case engine.Mile, engine.Ready:
		l.enter(c.p, ln.Phase)
		b.note(w, c)
		if len(l.Milestones) < maxMilestones {
			l.Milestones = append(l.Milestones, Milestone{Line: ln, Pos: pos, Seq: seq, Time: c.p.Time, Proc: procKey(c.p), Phase: ln.Phase, Caps: byName})
		}
		if ln.Kind == engine.Ready && l.ReadySeq < 0 {
			l.ReadySeq, l.ReadyPos = seq, pos
			clear(l.phaseOf) // all ranks are ready with it
		}
	case engine.Symptom:
		if l.SymptomSeq < 0 {
			l.SymptomSeq = seq
		}
	case engine.Fatal, engine.Wrapper:
		if l.FailSeq < 0 {
			l.FailSeq, l.failLine = seq, pos.Line
		}
	case engine.Stop:
		if l.StopSeq < 0 {
			l.StopSeq, l.StopPos = seq, pos
		}
	}
}

// byName makes a map of captures, nil when there are none.
func byName(caps match.Captures) map[string]string {
	if len(caps) == 0 {
		return nil
	}
	m := make(map[string]string, len(caps))
	for _, c := range caps {
		m[c.Name] = c.Value
	}
	return m
}

func (l *Launch) addFact(f fact.Fact) {
	f.Value, f.Unit = inGiB(f.Key, f.Value)
	l.Facts.Add(f)
	l.Files[0].Facts.Add(f)
	if f.Key == fact.EngineVersion && l.Version == "" {
		l.Version = f.Value
	}
}

// toGiB are the units of memory that engines print, in GiB. SGLang's "GB" and
// vLLM's "GiB" are both 2^30 bytes.
var toGiB = map[string]float64{"GiB": 1, "GB": 1, "MiB": 1.0 / 1024, "MB": 1.0 / 1024, "KiB": 1.0 / (1 << 20)}

// inGiB splits the unit off a value; memory is given in GiB.
func inGiB(k fact.Key, value string) (v, unit string) {
	number, unit, ok := strings.Cut(value, " ")
	factor := toGiB[unit]
	if !ok || factor == 0 {
		if strings.HasSuffix(string(k), "_gb") || strings.HasSuffix(string(k), "_gib") || k == fact.KVGB {
			return value, "GiB"
		}
		return value, ""
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil {
		return value, ""
	}
	return strconv.FormatFloat(n*factor, 'f', 2, 64), "GiB"
}

func (l *Launch) served(b *Builder, no int, text []byte) {
	l.Served++
	if l.ReadySeq >= 0 && l.FailSeq < 0 && (bytes.Contains(text, []byte("POST /")) || bytes.Contains(text, []byte("prompt eval time"))) {
		l.Answered++
	}
	l.lastLine = no
	if l.ReadySeq < 0 && l.Engine != nil && l.Engine.AnswersMeanReady && bytes.Contains(text, []byte(`" 200`)) {
		l.ReadySeq, l.ReadyPos = b.seq-1, fact.Pos{File: b.file, Line: no}
	}
	if bytes.Contains(text, []byte("GET /")) || bytes.Contains(text, []byte("generation throughput: 0.0 tokens/s")) {
		return // a front end goes on like this when its engine is dead
	}
	l.LastServed = b.seq - 1
	if l.FailSeq >= 0 {
		l.servedAfterFail++
	}
}

func (l *Launch) addDump(b *Builder, d DumpAt) {
	if len(l.Dumps) >= 16 {
		return
	}
	l.Dumps = append(l.Dumps, d)
	if l.phase == "" {
		l.phase = fact.Args
	}
	if l.Engine == nil {
		return
	}
	for _, s := range d.Settings {
		if k, ok := l.Engine.Facts[s.Name]; ok && s.Value != "" && s.Value != "None" {
			l.addFact(fact.Fact{Key: k, Value: s.Value, Pos: d.Pos})
		}
	}
}

func (l *Launch) noteDrift(w *Watch, pos fact.Pos, text []byte) {
	d := l.drift[w]
	if d == nil {
		if len(l.drift) >= 200 {
			return
		}
		d = &Drift{ID: w.ID, Pos: pos, Text: string(clip(text, 400))}
		l.drift[w] = d
	}
	d.Count++
}

func (l *Launch) noteProgress(done, total int, pos fact.Pos, seg []byte) {
	l.ProgressDone, l.ProgressTotal, l.ProgressPos = done, total, pos
	l.ProgressText = string(clip(seg, 200))
}

// errorLine counts an error-like line and clusters those that no engine knows.
// What a rule says about a line never changes how the launch ended, so its
// lines are clustered too, and only marked.
func (l *Launch) errorLine(b *Builder, c *lineContext, known, ruled bool) {
	l.ErrorLines++
	if len(l.ErrorSeqs) < 20000 {
		l.ErrorSeqs = append(l.ErrorSeqs, b.seq-1)
	}
	l.lastLine = c.no
	if known || c.where&(InLog|InOutput) == 0 {
		return
	}
	t := logstream.Template(c.text)
	cl := l.cluster[t]
	if cl == nil {
		if len(l.cluster) >= maxClusters {
			return
		}
		cl = &Cluster{Template: t, Pos: fact.Pos{File: b.file, Line: c.no}, Seq: b.seq - 1, Text: quote(c), Class: c.class}
		l.cluster[t] = cl
		l.Clusters = append(l.Clusters, cl)
	}
	cl.Count++
	cl.Ruled = cl.Ruled || ruled
	if len(cl.Lines) < 16 {
		cl.Lines = append(cl.Lines, c.no)
	}
}

// trace keeps a finished traceback; equal ones of several ranks are one.
func (l *Launch) trace(b *Builder, tb logstream.Traceback) {
	l.lastLine = max(l.lastLine, tb.Last)
	key := signature(&tb)
	proc := tb.Rank.String()
	if proc == "" {
		proc = tb.Tag
	}
	if t := l.traceBy[key]; t != nil {
		t.Count++
		t.addRank(proc)
		if len(t.Copies) < maxCopies {
			t.Copies = append(t.Copies, [2]int{tb.First, tb.Last})
		}
		return
	}
	t := &Trace{Traceback: tb, File: b.file, Seq: b.placeOf(&tb), Phase: l.phaseFor(logstream.Prefix{Rank: tb.Rank, Tag: tb.Tag}), Count: 1}
	t.addRank(proc)
	if t.Interrupted() {
		l.interrupted(t)
	}
	if len(l.Traces) >= maxTracebacks {
		return
	}
	l.traceBy[key] = t
	l.Traces = append(l.Traces, t)
}

// placeOf is where a traceback stands: at the line of its original exception.
func (b *Builder) placeOf(tb *logstream.Traceback) int {
	if len(tb.Chain) > 0 {
		if seq, ok := b.marks[tb.Chain[0].At]; ok {
			return seq
		}
	}
	if seq, ok := b.marks[tb.First]; ok {
		return seq
	}
	return b.seq - 1
}

// interrupted notes an interruption that shows itself as a traceback. A line
// that reports a failure directly above it reports nothing else.
func (l *Launch) interrupted(t *Trace) {
	if l.StopSeq < 0 || t.Seq < l.StopSeq {
		l.StopSeq, l.StopPos = t.Seq, fact.Pos{File: t.File, Line: t.Chain[0].At}
	}
	if above := t.First - l.failLine; l.FailSeq >= 0 && 0 <= above && above <= 2 && !l.exceptionBefore(t.Seq) {
		l.FailSeq = -1
	}
}

func (t *Trace) addRank(r string) {
	if r == "" {
		return
	}
	for _, x := range t.Ranks {
		if x == r {
			return
		}
	}
	if len(t.Ranks) < 64 {
		t.Ranks = append(t.Ranks, r)
	}
}

// signature identifies equal tracebacks: types, message templates and the
// innermost function of each exception.
func signature(tb *logstream.Traceback) string {
	var s strings.Builder
	for i := range tb.Chain {
		e := &tb.Chain[i]
		s.WriteString(e.Type)
		s.WriteByte('|')
		s.WriteString(logstream.Template(clip([]byte(e.Message), 300)))
		if n := len(e.Frames); n > 0 {
			s.WriteByte('@')
			s.WriteString(e.Frames[n-1].Func)
		}
		s.WriteByte('\n')
	}
	return s.String()
}
