// Package launch turns the lines of one or several log files into launches: a
// launch is one life of a server, from its command line to its end. It splits
// a stream into launches, follows each through its phases by milestones, keeps
// the known lines (events), the tracebacks and the facts, decides how the
// launch ended, and joins the files of several nodes into one launch.
//
// It reads and does not judge: what an event means for the user is the
// business of packages ledger and knowledge. Everything kept is bounded by line
// length and number (see the constants below), so that a launch costs a few
// hundred kilobytes with real logs, and a bounded amount with any.
//
// Terms: a watch is a line somebody wants to know about (a known line of an
// engine, or a line of a rule); an event is an occurrence of a watch.
package launch

import (
	"fmt"

	"shakedown/internal/command"
	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/logstream"
)

// Bounds on what one launch keeps. They are generous for real logs (the
// longest corpus log has 3,000 lines and 8 ranks) and keep a hostile one small.
const (
	maxEventsPerWatch = 40
	maxTracebacks     = 96
	maxCopies         = 256 // places of equal tracebacks: more ranks than any node has
	maxClusters       = 400
	maxMilestones     = 400
	maxText           = 4 << 10 // bytes of a quoted line
)

// Event is an occurrence of a watch.
type Event struct {
	Watch *Watch
	Pos   fact.Pos
	Seq   int // order within the launch, from 0; joined launches are renumbered in time order
	Time  logstream.Time
	Tag   string // process as printed
	PID   int
	Rank  logstream.Rank
	Level logstream.Level
	Code  string     // position in the engine's source as printed
	Phase fact.Phase // phase of this rank at that line
	Class logstream.Class
	Noise bool   // the engine prints this line on healthy servers too
	Text  string // the physical line, cleaned of escapes, cut at 4 KiB
	Caps  map[string]string
}

// Proc names the process of an event for people: the rank when it has one, else
// the tag.
func (e *Event) Proc() string {
	if r := e.Rank.String(); r != "" {
		return r
	}
	return e.Tag
}

// Trace is a traceback with the place where it stands.
type Trace struct {
	logstream.Traceback
	File  string
	Seq   int // order of its last line within the launch
	Phase fact.Phase
	Ranks []string // processes that printed an equal one
	Count int      // how many equal ones in all
	// Copies are the line ranges of the equal ones that are not this one.
	Copies [][2]int
}

// Original is the exception that came first: the first of the chain.
func (t *Trace) Original() *logstream.Exception {
	if len(t.Chain) == 0 {
		return nil
	}
	return &t.Chain[0]
}

// Milestone is a point of progress of one process.
type Milestone struct {
	Line  *engine.Line
	Pos   fact.Pos
	Seq   int
	Time  logstream.Time
	Proc  string
	Phase fact.Phase
	Caps  map[string]string
}

// Cluster is a group of error-like lines with the same template.
type Cluster struct {
	Template string
	Count    int
	Pos      fact.Pos
	Seq      int
	Text     string
	Lines    []int // first physical lines, at most 16
	Class    logstream.Class
	Ruled    bool // a rule looks at one of these lines
}

// File is what is known about one file of a launch.
type File struct {
	Name        string
	First, Last int // physical lines of this launch in it
	Command     *command.Command
	CommandPos  fact.Pos
	CommandText string         // the command's first line, for quoting
	Start, End  logstream.Time // first and last time stamps
	Offset      float64        // seconds to add to this file's clock, estimated when files are joined
	Facts       fact.Set       // facts read from this file
	Role        string
	Ended       string // how this file's processes ended, in a few words
	LastText    string // the last non-blank line
	Ready       bool
}

// Launch is one life of a server.
type Launch struct {
	Files   []*File
	Engine  *engine.Engine // nil when no engine was recognised
	Version string         // as printed, "" when not; Infer may fill it
	// VersionNote says where a version comes from that no line states.
	VersionNote string

	Facts      fact.Set
	Events     []Event
	Counts     map[*Watch]int
	Traces     []*Trace
	Milestones []Milestone
	Dumps      []DumpAt
	Clusters   []*Cluster // error-like lines, explained or not
	ErrorLines int
	ErrorSeqs  []int // places of the first error-like lines, at most 20,000
	Served     int   // signs of service: answered requests, batches, statistics
	Answered   int   // requests answered between the ready line and the first failure

	ReadySeq   int // Seq of the ready line, -1
	ReadyPos   fact.Pos
	FailSeq    int // Seq of the first failure that ended it, -1
	StopSeq    int // Seq of the first interruption from outside, -1
	StopPos    fact.Pos
	SymptomSeq int // Seq of the first symptom (a NaN at the sampler), -1
	LastSeq    int
	LastServed int // Seq of the last sign of service, -1
	Outcome    finding.Outcome
	Phase      fact.Phase // where it ended
	Missing    []string   // nodes whose log was not given

	headless        bool // ReadySeq is that of a node without a front end
	cluster         map[string]*Cluster
	phaseOf         map[string]fact.Phase
	phase           fact.Phase
	drift           map[*Watch]*Drift
	traceBy         map[string]*Trace
	seen            map[marker][]logstream.Time // start markers by process, for splitting
	failLine        int                         // physical line of the first failure
	servedAfterFail int                         // signs of service behind the first failure
	lastLine        int                         // last physical line that is an event, error or traceback
	progress
}

// progress is the furthest progress bar of the launch, for stalled ones.
type progress struct {
	ProgressDone, ProgressTotal int
	ProgressPos                 fact.Pos
	ProgressText                string
}

// DumpAt is a parsed configuration dump with its place.
type DumpAt struct {
	engine.Dump
	Pos  fact.Pos
	Text string
	Rank logstream.Rank
}

// Drift is a known line in a form that no pattern reads.
type Drift struct {
	ID    string
	Count int
	Pos   fact.Pos
	Text  string
}

// Drifts lists the known lines in new forms.
func (l *Launch) Drifts() []*Drift {
	var out []*Drift
	for _, d := range l.drift {
		out = append(out, d)
	}
	sortDrifts(out)
	return out
}

// TraceAt returns the traceback that a line belongs to (also as an equal copy by
// another rank), or nil.
func (l *Launch) TraceAt(file string, line int) *Trace {
	for _, t := range l.Traces {
		if t.File != file {
			continue
		}
		if t.First <= line && line <= t.Last {
			return t
		}
		for _, c := range t.Copies {
			if c[0] <= line && line <= c[1] {
				return t
			}
		}
	}
	return nil
}

// minDump is how many settings a dump needs to tell a release by its fields.
const minDump = 60

// Infer fills in the version of a log that does not print one: the fields of
// the configuration dump change with every release.
func (l *Launch) Infer() {
	if l.Version != "" || l.Engine == nil {
		return
	}
	for i := range l.Dumps {
		d := &l.Dumps[i]
		if !d.Effective || len(d.Settings) < minDump {
			continue
		}
		names := make([]string, len(d.Settings))
		for k, s := range d.Settings {
			names[k] = s.Name
		}
		if v, fit, ok := flags.Guess(l.Engine.Name, names); ok {
			l.Version = v
			l.VersionNote = fmt.Sprintf("the log prints no version; the fields of its config dump are those of %s (%.0f %% in common)", v, 100*fit)
			return
		}
	}
}

// ErrorsAfter counts the error-like lines behind a place.
func (l *Launch) ErrorsAfter(seq int) int {
	n := 0
	for _, s := range l.ErrorSeqs {
		if s > seq {
			n++
		}
	}
	return n
}

// File returns the launch's file of that name, or nil.
func (l *Launch) File(name string) *File {
	for _, f := range l.Files {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// EngineName is the engine's name, or "unknown".
func (l *Launch) EngineName() string {
	if l.Engine == nil {
		return "unknown"
	}
	return l.Engine.Name
}

// Command returns the command of the launch (of the first file that has one)
// and where it stands; nil when none is known.
func (l *Launch) Command() (*command.Command, fact.Pos) {
	for _, f := range l.Files {
		if f.Command != nil {
			return f.Command, f.CommandPos
		}
	}
	return nil, fact.Pos{}
}
