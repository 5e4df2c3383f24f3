package report

import (
	"shakedown/internal/finding"
)

// Listed is how many launches text, Markdown and HTML reports look at: of a
// longer stream, they need no more than the first and the last so many, and the
// last one that failed.
const Listed = 12

// Bounds of what is kept, so that an input with any number of launches, or a
// launch with any number of messages, needs bounded memory. Of more than Listed
// launches only one is kept in detail.
const (
	maxEdge   = 5    // launches listed at the start and at the end of a long table
	maxOfKind = 2000 // messages of one kind in one launch
	maxErrors = 100
)

// launch is all that the stream says of one launch.
type launch struct {
	finding.LaunchMsg
	symptoms    []finding.SymptomMsg
	findings    []finding.FindingMsg
	notIt       []finding.NotItMsg
	settings    []finding.SettingMsg
	unexplained []finding.UnexplainedMsg
	drift       []finding.DriftMsg
	refused     []finding.RefusedMsg
	ignored     []finding.IgnoredMsg
	memory      *finding.MemoryMsg
}

// gatherer collects a message stream launch by launch.
type gatherer struct {
	copier   copier
	current  *launch
	finished func(*launch) // called for each complete launch, in order

	tool   string // version of the tool that made the stream
	errors []finding.ErrorMsg
	ended  bool // an end message came: the stream is whole
}

func (g *gatherer) handle(m finding.Message) {
	switch m := g.copier.message(m).(type) {
	case *finding.ConfigMsg:
		g.tool = m.ToolVersion
	case *finding.LaunchMsg:
		g.flush()
		g.current = &launch{LaunchMsg: *m}
	case *finding.ErrorMsg:
		g.errors = bounded(g.errors, *m, maxErrors)
	case *finding.EndMsg:
		g.flush()
		g.ended = true
	default:
		if g.current != nil {
			g.current.add(m)
		}
	}
}

// flush hands the current launch on.
func (g *gatherer) flush() {
	if g.current != nil {
		g.finished(g.current)
		g.current = nil
	}
}

func (l *launch) add(m finding.Message) {
	switch m := m.(type) {
	case *finding.SymptomMsg:
		l.symptoms = bounded(l.symptoms, *m, maxOfKind)
	case *finding.FindingMsg:
		l.findings = bounded(l.findings, *m, maxOfKind)
	case *finding.NotItMsg:
		l.notIt = bounded(l.notIt, *m, maxOfKind)
	case *finding.SettingMsg:
		l.settings = bounded(l.settings, *m, maxOfKind)
	case *finding.UnexplainedMsg:
		l.unexplained = bounded(l.unexplained, *m, maxOfKind)
	case *finding.DriftMsg:
		l.drift = bounded(l.drift, *m, maxOfKind)
	case *finding.RefusedMsg:
		l.refused = bounded(l.refused, *m, maxOfKind)
	case *finding.IgnoredMsg:
		l.ignored = bounded(l.ignored, *m, maxOfKind)
	case *finding.MemoryMsg:
		l.memory = m
	}
}

func bounded[T any](list []T, v T, most int) []T {
	if len(list) >= most {
		return list
	}
	return append(list, v)
}

// planned says that the launch was not started.
func (l *launch) planned() bool { return l.Outcome == finding.Planned }

// healthy says that the launch ended without a failure.
func (l *launch) healthy() bool { return l.Outcome == finding.OK || l.planned() }

// failed says that the launch itself went wrong: a stop from outside is none.
func (l *launch) failed() bool { return !l.healthy() && l.Outcome != finding.Stopped }

// digest is a whole stream in bounded memory.
type digest struct {
	gatherer
	opt    Options
	first  []row // the first launches
	last   []row // the launches after these, of which only the last are kept
	total  int
	newest int       // number of the newest launch
	kept   []*launch // launches in detail: all of them, or the one that matters
}

func newDigest(opt Options) *digest {
	d := &digest{opt: opt}
	d.copier = copier{redact: opt.Redact}
	d.finished = d.keep
	return d
}

func (d *digest) keep(l *launch) {
	if d.newest == 0 {
		d.newest = l.N - 1
	}
	d.total += l.N - d.newest // a stream may leave launches out that are not listed
	d.newest = l.N
	r := newRow(outline(l, newPlaces(d.opt.Files, l.Files)))
	if len(d.first) < Listed {
		d.first = append(d.first, r)
	} else {
		d.last = append(d.last, r)
		d.last = d.last[max(0, len(d.last)-maxEdge):]
	}
	d.kept = append(d.kept, l)
	if d.total > Listed {
		d.kept = []*launch{mostTelling(d.kept)}
	}
}

// mostTelling is the last launch that failed, or the last one when none did.
func mostTelling(ls []*launch) *launch {
	for i := len(ls) - 1; i >= 0; i-- {
		if ls[i].failed() {
			return ls[i]
		}
	}
	return ls[len(ls)-1]
}

// views returns the launches to show in detail, oldest first.
func (d *digest) views() []view {
	vs := make([]view, len(d.kept))
	for i, l := range d.kept {
		vs[i] = newView(l, d.opt.Files)
	}
	return vs
}

// rows returns the table of launches: those to list, and how many between the
// first and the last of them are left out.
func (d *digest) rows() (head []row, left int, tail []row) {
	if d.total <= Listed {
		return d.first, 0, nil
	}
	all := append(d.first[maxEdge:len(d.first):len(d.first)], d.last...)
	return d.first[:maxEdge], d.total - 2*maxEdge, all[len(all)-maxEdge:]
}
