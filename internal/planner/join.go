package planner

import (
	"strings"
	"sync"

	"shakedown/internal/engine"
	"shakedown/internal/ledger"
	"shakedown/internal/match"
)

// join gives every choice that the engine prints a line for the id under which
// explain knows that line, so that a plan and a log of the same launch meet in
// the ledger. Choices without a line keep the resolver's id.
func (a *answer) join() {
	if a.q.lines == nil {
		return
	}
	for _, e := range a.entries {
		if e.Choice == "" || len(e.Because) == 0 || e.Because[0].Kind != "engine" || e.Because[0].Text == "" {
			continue
		}
		e.Choice = lineID(a.q.lines, e)
	}
}

// lineID is the id of the known line that says a choice: the resolver's own id
// when that is one of them, else the one with the longest anchor.
func lineID(eng *engine.Engine, e *ledger.Entry) string {
	best, length := e.Choice, 0
	for i := range eng.Lines {
		l := &eng.Lines[i]
		if l.Kind != engine.Choice || !strings.Contains(e.Because[0].Text, l.Anchor) || !sets(l, e) {
			continue
		}
		if l.ID == e.Choice {
			return l.ID
		}
		if len(l.Anchor) > length {
			best, length = l.ID, len(l.Anchor)
		}
	}
	return best
}

// sets says whether a line states the value of an entry.
func sets(l *engine.Line, e *ledger.Entry) bool {
	caps, ok := match.Captures(nil), len(l.Patterns) == 0
	for _, text := range l.Patterns {
		if caps, ok = pattern(text).Match([]byte(e.Because[0].Text)); ok {
			break
		}
	}
	if !ok {
		return false
	}
	for _, s := range l.Sets {
		name, known := match.Expand(s.Setting, caps)
		value, valued := match.Expand(s.Value, caps)
		if known && name == e.Name && (!valued || value == "" || ledger.Same(value, e.Effective)) {
			return true
		}
	}
	return false
}

// compiled are the patterns of engine lines by their text.
var compiled sync.Map // string -> *match.Pattern

func pattern(text string) *match.Pattern {
	if p, ok := compiled.Load(text); ok {
		return p.(*match.Pattern)
	}
	p, err := match.ParsePattern(text)
	if err != nil {
		panic("engine line: " + err.Error()) // data of the engine packages, which their tests check
	}
	compiled.Store(text, p)
	return p
}
