package knowledge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/launch"
	"shakedown/internal/ledger"
	"shakedown/internal/logstream"
)

// Input is what a judgement stands on.
type Input struct {
	Launch *launch.Launch
	Ledger *ledger.Ledger
}

// candidate is a rule (or the fallback) that applies to a launch, before
// ranking.
type candidate struct {
	rule       *Rule
	events     []*launch.Event // of the rule's lines, lead first
	also       []*launch.Event
	trace      *launch.Trace // the traceback of the lead, if any
	seq        int           // place of the lead in the launch
	survived   bool          // the process went on after the lead
	confidence finding.Confidence
	basis      string
	role       Role
	below      []string // ids of what it follows from
	above      []string // ids of what it explains
	count      int
	fallback   *fallback          // set instead of rule
	facts      []fact.Fact        // facts that its conditions asked for
	settings   []finding.Evidence // where the settings stand that its conditions asked for
}

func (c *candidate) id() string {
	if c.fallback != nil {
		return c.fallback.id
	}
	return c.rule.ID
}

func (c *candidate) lead() *launch.Event {
	if len(c.events) > 0 {
		return c.events[0]
	}
	return nil
}

// eval is the state of one judgement.
type eval struct {
	base    *Base
	in      Input
	l       *launch.Launch
	version flags.Version
	known   bool // version could be read
	events  map[*Rule]*ruleEvents
}

type ruleEvents struct {
	lines [][]*launch.Event
	also  [][]*launch.Event
	not   bool
}

func newEval(b *Base, in Input) *eval {
	e := &eval{base: b, in: in, l: in.Launch, events: make(map[*Rule]*ruleEvents)}
	if v, err := flags.ParseVersion(in.Launch.Version); err == nil && in.Launch.Version != "" {
		e.version, e.known = v, true
	}
	for i := range e.l.Events {
		ev := &e.l.Events[i]
		s, ok := ev.Watch.Slot.(slot)
		if !ok {
			continue
		}
		re := e.events[s.rule]
		if re == nil {
			re = &ruleEvents{lines: make([][]*launch.Event, len(s.rule.Lines)), also: make([][]*launch.Event, len(s.rule.Also))}
			e.events[s.rule] = re
		}
		switch s.group {
		case inLines:
			re.lines[s.index] = append(re.lines[s.index], ev)
		case inAlso:
			re.also[s.index] = append(re.also[s.index], ev)
		case inNot:
			re.not = true
		}
	}
	return e
}

// engineFits tells whether a rule is about the launch's engine and version. An
// unreadable version fits every range: the report says that it is unknown.
func (e *eval) engineFits(r *Rule) bool {
	if len(r.Engines) == 0 {
		return true
	}
	rg, ok := r.ranges[e.l.EngineName()]
	if !ok {
		return false
	}
	return !e.known || r.Engines[e.l.EngineName()] == "" || rg.Has(e.version)
}

// apply tries one rule; nil when it does not apply.
func (e *eval) apply(r *Rule) *candidate {
	if !e.engineFits(r) {
		return nil
	}
	re := e.events[r]
	c := &candidate{rule: r, role: r.Role, confidence: r.Confidence, basis: r.Basis}
	if len(r.Lines) > 0 {
		if re == nil || re.not {
			return nil
		}
		for _, list := range re.lines {
			for _, ev := range list {
				if e.framesFit(r, ev) && !(ev.Noise && r.accuses()) {
					c.events = append(c.events, ev)
				}
			}
		}
		if len(c.events) == 0 {
			return nil
		}
	} else if re != nil && re.not {
		return nil
	}
	for i := range r.Also {
		if re == nil || len(re.also[i]) == 0 {
			return nil
		}
		c.also = append(c.also, re.also[i][0])
	}
	slices.SortStableFunc(c.events, func(a, b *launch.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	// A line that the server survived is weaker evidence than one that it did not.
	slices.SortStableFunc(c.events, func(a, b *launch.Event) int {
		return cmp.Compare(boolInt(e.survived(a)), boolInt(e.survived(b)))
	})
	if !e.all(r.When, c) {
		return nil
	}
	c.facts, c.settings = e.factsOf(r.When), e.settingsOf(r.When)
	if lead := c.lead(); lead != nil {
		c.seq = lead.Seq
		c.trace = e.l.TraceAt(lead.Pos.File, lead.Pos.Line)
		c.survived = e.survived(lead)
	}
	for _, ev := range c.events {
		c.count += e.l.Counts[ev.Watch]
		if c.count > 0 {
			break
		}
	}
	c.count = max(len(c.events), c.count)
	for _, s := range r.Strengthen {
		if e.all(s.When, c) {
			c.confidence, c.basis = s.Confidence, s.Basis
			break
		}
	}
	return c
}

// factsOf collects the facts that conditions were decided by, for evidence.
func (e *eval) factsOf(conds []Cond) []fact.Fact {
	var out []fact.Fact
	for i := range conds {
		q := &conds[i]
		if q.Fact == "" {
			continue
		}
		e.l.Facts.Each(fact.Key(q.Fact), func(f fact.Fact) {
			if f.Pos.Line > 0 && q.compare(f.Value, true) {
				out = append(out, f)
			}
		})
	}
	return out
}

// settingsOf points to the lines that show the settings of conditions.
func (e *eval) settingsOf(conds []Cond) []finding.Evidence {
	var out []finding.Evidence
	for i := range conds {
		name := conds[i].Setting
		if name == "" {
			name = conds[i].Asked
		}
		if name != "" {
			out = append(out, e.in.Ledger.Because(name)...)
		}
	}
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// survived tells whether the process that wrote a line went on. A lone line of
// the main process is survived when any process goes on; a traceback without
// rank may be any process's.
func (e *eval) survived(ev *launch.Event) bool {
	proc := ev.Proc()
	if proc == "" && ev.Class != logstream.ClassException && ev.Class != logstream.ClassContinuation {
		proc = launch.Anyone
	}
	return e.l.Survived(ev.Seq, ev.Pos.File, proc)
}

// quiet: no event of the candidate is an exception or an error; warnings and
// remarks are weaker than what stopped a process.
func (c *candidate) quiet() bool {
	for _, ev := range c.events {
		if ev.Level == logstream.NoLevel || ev.Level >= logstream.Error || ev.Class != logstream.ClassLog {
			return false
		}
		if ev.Level == logstream.Warning && !strings.Contains(ev.Code, ".py") {
			return false // a native library's warning is often its only word: NCCL WARN
		}
	}
	return len(c.events) > 0
}

// framesFit checks the traceback around an event.
func (e *eval) framesFit(r *Rule, ev *launch.Event) bool {
	if len(r.Frames) == 0 && len(r.NoFrames) == 0 {
		return true
	}
	t := e.l.TraceAt(ev.Pos.File, ev.Pos.Line)
	for _, f := range r.Frames {
		if t == nil || !hasFrame(t, f) {
			return false
		}
	}
	for _, f := range r.NoFrames {
		if t != nil && hasFrame(t, f) {
			return false
		}
	}
	return true
}

func hasFrame(t *launch.Trace, part string) bool {
	for i := range t.Chain {
		for _, f := range t.Chain[i].Frames {
			if strings.Contains(f.File, part) || strings.Contains(f.Func, part) || strings.Contains(f.Source, part) {
				return true
			}
		}
	}
	return false
}

func (e *eval) all(conds []Cond, c *candidate) bool {
	for i := range conds {
		if !e.holds(&conds[i], c) {
			return false
		}
	}
	return true
}

// holds decides one condition. A fact or setting that is not known never holds,
// except in the negative form (not).
func (e *eval) holds(q *Cond, c *candidate) bool {
	switch {
	case q.Fact != "":
		return e.factHolds(q)
	case q.Setting != "":
		v, ok := e.in.Ledger.Effective(q.Setting)
		return q.compare(v, ok)
	case q.Asked != "":
		return e.askedHolds(q)
	case len(q.Outcome) > 0:
		return slices.Contains(q.Outcome, string(e.l.Outcome))
	case len(q.Phase) > 0:
		return slices.Contains(q.Phase, string(e.phaseOf(c)))
	case q.Capture != "":
		return e.captureHolds(q, c)
	case q.Version != "":
		rg, err := flags.ParseRange(q.Version)
		return err == nil && e.known && rg.Has(e.version)
	case q.Check != "":
		return checks[q.Check](e, c)
	}
	return false
}

func (e *eval) phaseOf(c *candidate) fact.Phase {
	if lead := c.lead(); lead != nil {
		return lead.Phase
	}
	return e.l.Phase
}

func (e *eval) factHolds(q *Cond) bool {
	found, any := false, false
	e.l.Facts.Each(fact.Key(q.Fact), func(f fact.Fact) {
		any = true
		if q.compare(f.Value, true) {
			found = true
		}
	})
	if !any {
		return q.compare("", false)
	}
	return found
}

func (e *eval) askedHolds(q *Cond) bool {
	a := e.in.Ledger.Asked(q.Asked)
	state := "unknown"
	if a.Known {
		state = "no"
		if a.Value != nil {
			state = "yes"
		}
	}
	return q.compare(state, true)
}

func (q *Cond) compare(v string, known bool) bool {
	if len(q.Not) > 0 && slices.Contains(q.Not, v) {
		return false
	}
	if !known {
		return len(q.Not) > 0 && q.Is == nil && len(q.In) == 0 && q.Above == nil && q.Below == nil
	}
	if q.Is != nil && v != *q.Is {
		return false
	}
	if len(q.In) > 0 && !slices.Contains(q.In, v) {
		return false
	}
	if q.Above == nil && q.Below == nil {
		return true
	}
	n, ok := number(v)
	if !ok {
		return false
	}
	above, okA := limit(q.Above, nil)
	below, okB := limit(q.Below, nil)
	return (q.Above == nil || okA && n > above) && (q.Below == nil || okB && n < below)
}

func (e *eval) captureHolds(q *Cond, c *candidate) bool {
	for _, ev := range c.events {
		v, ok := ev.Caps[q.Capture]
		if !ok {
			continue
		}
		if q.Above == nil && q.Below == nil {
			if q.compare(v, true) {
				return true
			}
			continue
		}
		n, ok := number(v)
		if !ok {
			continue
		}
		above, okA := limit(q.Above, ev.Caps)
		below, okB := limit(q.Below, ev.Caps)
		if (q.Above == nil || okA && n > above) && (q.Below == nil || okB && n < below) {
			return true
		}
	}
	return false
}

// limit reads the right side of above and below: a number, or the name of a
// capture.
func limit(v any, caps map[string]string) (float64, bool) {
	switch x := v.(type) {
	case int:
		return float64(x), true
	case float64:
		return x, true
	case string:
		if n, ok := number(x); ok {
			return n, true
		}
		return number(caps[x])
	}
	return 0, false
}

func number(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(s), ",", ""), 64)
	return n, err == nil
}
