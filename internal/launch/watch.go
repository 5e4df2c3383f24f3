package launch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/logstream"
	"shakedown/internal/match"
)

// Where is the kind of place in which a line stands, as a set of bits.
type Where uint16

// Places, as the rule format names them.
const (
	InLog       Where = 1 << iota // a record's own line
	InException                   // "Type: message" of a traceback, and its continuation
	InOutput                      // an unprefixed line outside tracebacks
	InFrame                       // a traceback's File line, a native frame
	InSource                      // a traceback's source line
)

// DefaultWhere is where rules look when they do not say.
const DefaultWhere = InLog | InException | InOutput

var whereNames = map[string]Where{
	"log": InLog, "exception": InException, "output": InOutput, "frame": InFrame,
	"source": InSource,
}

// ParseWhere reads the names of the rule format.
func ParseWhere(names []string) (Where, error) {
	if len(names) == 0 {
		return DefaultWhere, nil
	}
	var w Where
	for _, n := range names {
		bit, ok := whereNames[n]
		if !ok {
			return 0, fmt.Errorf("unknown place %q (log, exception, output, frame, source)", n)
		}
		w |= bit
	}
	return w, nil
}

// whereOf is the place of a line. The header of a traceback is a log line when
// something stands before it: "Scheduler hit an exception: Traceback ...".
func whereOf(c logstream.Class, prefixed bool) Where {
	if c == logstream.ClassTraceback && prefixed {
		return InLog
	}
	switch c {
	case logstream.ClassException, logstream.ClassContinuation:
		return InException
	case logstream.ClassFrame, logstream.ClassNativeFrame, logstream.ClassTraceback, logstream.ClassChain:
		return InFrame
	case logstream.ClassSource:
		return InSource
	case logstream.ClassOutput:
		return InOutput
	default:
		return InLog
	}
}

// Watch is a line that somebody wants to know about. Watches are immutable once
// they are in an Index.
type Watch struct {
	ID     string // id of the engine line, or of the rule
	Anchor string

	Engine   *engine.Engine // nil: any engine (a rule)
	Line     *engine.Line   // nil for a rule
	Patterns []*match.Pattern

	Regex  *match.Regexp // rules only, optional
	In     Where
	Phases []fact.Phase // rules only: phases in which the line counts; empty: all
	For    []string     // rules only: names of the engines it is about; empty: all

	// Slot is the place of this watch in the rule that owns it.
	Slot any

	facts []factTemplate
}

// factTemplate is a fact that a line states, its value with captures.
type factTemplate struct {
	key   fact.Key
	value string
}

// wake are literals that make a line worth a closer look although no watch
// names it: error words for the "not understood" section, and tracebacks.
var wake = []string{
	"Traceback (most recent call last)", "Error: ", "Error\n", "rror:", "Exception", "exception", "ERROR", "FATAL", "CRITICAL", "fatal", "Fatal",
	"ssertion", "ASSERT", "Segmentation fault", "core dumped", "Killed", "Aborted", "panic:", "terminate called", "signal",
	"[E]", " E ", ":[E", "[rank", "  File \"", "failed", "Failed", "FAILED", "abort", "CUDA error", "Errno", "error ",
}

// commandWords select lines that may be launch commands.
var commandWords = []string{
	"sglang.launch_server", "sglang serve", "vllm serve", "vllm.entrypoints", "llama-server", "llama-cli",
	"trtllm-serve", "trtllm-bench", "lmdeploy serve", "sglang_router", "sglang-router", "docker run",
}

// frameWeight is what a frame of an engine's package counts as its sign; each of
// its own texts counts more.
const frameWeight = 2

// anchorUse is what an anchor means.
type anchorUse struct {
	literal string
	watches []*Watch
	// about are the watches that count in logs of one engine, by its place in
	// Index.Engines.
	about   [][]*Watch
	sign    *engine.Engine // the anchor tells this engine
	weight  int
	command bool
	wakes   bool // the line is worth a closer look; false for mere signs
	served  bool // all its watches are signs of service
	error   bool // a sign of logstream.ErrorSigns
}

// Index finds all watches of all engines and rules in one pass. It is immutable
// and may be used from several goroutines.
type Index struct {
	Engines []*engine.Engine
	auto    *match.Automaton
	uses    []anchorUse
	watches []*Watch
}

// NewIndex compiles the lines of the engines and the rules' watches. Errors
// name the line: a bad pattern or an anchor that is too short.
func NewIndex(engines []*engine.Engine, rules []*Watch) (*Index, error) {
	x := &Index{Engines: engines}
	var b match.Builder
	ids := make(map[string]int)
	use := func(lit string) *anchorUse {
		id, ok := ids[lit]
		if !ok {
			id = b.Add(lit)
			ids[lit] = id
			for len(x.uses) <= id {
				x.uses = append(x.uses, anchorUse{literal: lit})
			}
		}
		return &x.uses[id]
	}
	add := func(w *Watch) {
		x.watches = append(x.watches, w)
		u := use(w.Anchor)
		u.watches = append(u.watches, w)
	}
	for _, e := range engines {
		for i := range e.Lines {
			w, err := lineWatch(e, &e.Lines[i])
			if err != nil {
				return nil, err
			}
			add(w)
		}
		for i, s := range e.Signs {
			u := use(s)
			u.sign, u.weight = e, frameWeight+1+len(e.Signs)-i
		}
		for _, f := range e.Frames {
			u := use(f)
			if u.sign == nil {
				u.sign, u.weight = e, frameWeight
			}
		}
	}
	for i := range engine.Native {
		w, err := lineWatch(nil, &engine.Native[i])
		if err != nil {
			return nil, err
		}
		add(w)
	}
	for _, w := range rules {
		add(w)
	}
	for _, s := range wake {
		use(s).wakes = true
	}
	for _, s := range commandWords {
		use(s).command = true
	}
	for _, s := range logstream.ErrorSigns() {
		use(s).error = true
	}
	for i := range x.uses {
		u := &x.uses[i]
		x.sortByEngine(u)
		u.served = len(u.watches) > 0 && !slices.ContainsFunc(u.watches, func(w *Watch) bool { return w.Line == nil || w.Line.Kind != engine.Served })
		u.wakes = u.wakes || len(u.watches) > 0 || u.command
	}
	x.auto = b.Build()
	return x, nil
}

// sortByEngine fills u.about.
func (x *Index) sortByEngine(u *anchorUse) {
	if len(u.watches) == 0 {
		return
	}
	u.about = make([][]*Watch, len(x.Engines))
	for i, e := range x.Engines {
		strange := func(w *Watch) bool { return !startsServer(w) && !w.about(e) }
		if !slices.ContainsFunc(u.watches, strange) {
			u.about[i] = u.watches
			continue
		}
		for _, w := range u.watches {
			if !strange(w) {
				u.about[i] = append(u.about[i], w)
			}
		}
	}
}

// watchesFor lists the watches of an anchor that count in logs of an engine, all
// when it is nil.
func (x *Index) watchesFor(u *anchorUse, e *engine.Engine) []*Watch {
	for i := range u.about {
		if x.Engines[i] == e {
			return u.about[i]
		}
	}
	return u.watches
}

func startsServer(w *Watch) bool {
	return w.Line != nil && (w.Line.Kind == engine.Banner || w.Line.Kind == engine.ConfigDump)
}

// about tells whether a watch can say something about logs of this engine.
func (w *Watch) about(e *engine.Engine) bool {
	if w.Engine != nil {
		return w.Engine == e
	}
	return len(w.For) == 0 || slices.Contains(w.For, e.Name)
}

func lineWatch(e *engine.Engine, l *engine.Line) (*Watch, error) {
	w := &Watch{ID: l.ID, Anchor: l.Anchor, Engine: e, Line: l, In: InLog | InOutput | InException}
	for _, k := range slices.Sorted(maps.Keys(l.Facts)) { // sorted, so that equal logs give equal reports
		w.facts = append(w.facts, factTemplate{k, l.Facts[k]})
	}
	for _, p := range l.Patterns {
		pat, err := match.ParsePattern(p)
		if err != nil {
			return nil, fmt.Errorf("line %s: %w", l.ID, err)
		}
		w.Patterns = append(w.Patterns, pat)
	}
	return w, nil
}

// Watches lists all watches in the order in which they were added.
func (x *Index) Watches() []*Watch { return x.watches }

// hit is an anchor found in a block.
type hit struct {
	id  int32
	end int32
}

// Hits are the anchors found in one block, in order.
type Hits []hit

// through is the place behind the hits from h on that end in a line up to end.
func (hits Hits) through(h int, end int32) int {
	for h < len(hits) && hits[h].end <= end {
		h++
	}
	return h
}

// Scan finds the anchors of one block. It may run in several goroutines.
func (x *Index) Scan(data []byte, into Hits) Hits {
	into = into[:0]
	x.auto.Scan(data, func(id, end int) {
		// Reports come nearly in text order: an insertion keeps them sorted.
		into = append(into, hit{int32(id), int32(end)})
		for i := len(into) - 1; i > 0 && into[i-1].end > into[i].end; i-- {
			into[i-1], into[i] = into[i], into[i-1]
		}
	})
	return into
}

func sortDrifts(d []*Drift) {
	slices.SortFunc(d, func(x, y *Drift) int { return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.ID, y.ID)) })
}
