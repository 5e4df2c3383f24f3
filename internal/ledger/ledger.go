// Package ledger sets side by side, for every setting of one launch, what was
// asked, what ran, who chose it and because of what. Asked values come from the
// launch command or from a dump of the user's own arguments; effective values
// from dumps printed after resolution and from the engine's selection lines.
//
// A lone log whose dump is printed after resolution cannot tell what was asked:
// such values are "unknown", never assumed to be defaults.
//
// Building a ledger is a pure function of a launch. A Ledger is immutable.
package ledger

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"shakedown/internal/command"
	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/launch"
	"shakedown/internal/match"
)

// Entry is one setting.
type Entry struct {
	Name      string
	Asked     finding.Asked
	Effective string
	Known     bool   // the effective value is known
	By        string // user | default | model | checkpoint | hardware | coupling | environment | unknown
	Choice    string // id of the choice that set it
	Why       string // the rule the engine followed
	From      []string
	Silent    bool // replaced although the user asked for another value
	Because   []finding.Evidence

	dump fact.Pos // the dump that gave the effective value
}

// Ledger holds the settings of one launch.
type Ledger struct {
	entries []*Entry
	byName  map[string]*Entry
	slab    []Entry // where the next entries are: a dump has hundreds
	lead    string  // the file whose command and dumps count most
	// asks tells whether the whole command is known, so that a setting without
	// entry is known not to be asked.
	asks bool
	// Table is the flag table that was used, nil for engines without one.
	Table *flags.Table
	// Match says how well that table fits.
	Match flags.Match
	// Problems are what the release's parser says about the command.
	Problems []flags.Problem
}

// Entries lists the settings: silent replacements first, then automatic
// choices, then the rest, each by name.
func (g *Ledger) Entries() []*Entry { return g.entries }

// Effective returns the effective value of a setting, as far as the log shows:
// what was asked, when no line says what became of it.
func (g *Ledger) Effective(name string) (string, bool) {
	switch e := g.find(name); {
	case e == nil:
		return "", false
	case e.Known:
		return e.Effective, true
	case e.Asked.Value != nil: // nothing shows that it was changed
		return *e.Asked.Value, true
	}
	return "", false
}

// Asked says what was asked for a setting.
func (g *Ledger) Asked(name string) finding.Asked {
	if e := g.find(name); e != nil {
		return e.Asked
	}
	return finding.Asked{Known: g.asks}
}

// Because lists the lines that show a setting, strongest first.
func (g *Ledger) Because(name string) []finding.Evidence {
	if e := g.find(name); e != nil {
		return e.Because
	}
	return nil
}

// find also accepts the last part of a dotted name: cache_dtype for
// cache_config.cache_dtype.
func (g *Ledger) find(name string) *Entry {
	if e := g.byName[name]; e != nil {
		return e
	}
	if strings.Contains(name, ".") {
		return nil
	}
	for _, e := range g.entries {
		if i := strings.LastIndexByte(e.Name, '.'); i >= 0 && e.Name[i+1:] == name {
			return e
		}
	}
	return nil
}

// Told is what the user gave beside the log.
type Told struct {
	Command *command.Command // the launch command; nil: the one found in the log
	Flags   *flags.Table     // the flags of this very release; nil: those known of it
}

// Build makes the ledger of a launch.
func Build(l *launch.Launch, told Told) *Ledger {
	settings := 0
	for i := range l.Dumps {
		settings += len(l.Dumps[i].Settings)
	}
	g := &Ledger{byName: make(map[string]*Entry, settings)}
	if l.Engine == nil {
		return g
	}
	g.Table, g.Match = flags.Lookup(l.Engine.Name, l.Version)
	if told.Flags != nil {
		g.Table, g.Match = told.Flags, flags.Match{Asked: l.Version, Used: l.Version}
	}
	cmd := told.Command
	var pos finding.Evidence
	if cmd != nil {
		pos = finding.Evidence{Kind: "command", File: cmd.File, Line: cmd.Line}
	} else {
		c, p := l.Command()
		cmd, pos = c, finding.Evidence{Kind: "log", File: p.File, Line: p.Line}
	}
	g.lead = l.Files[0].Name
	if pos.Kind == "log" && pos.File != "" {
		g.lead = pos.File
	}
	g.dumps(l)
	g.choices(l)
	g.command(l.Engine, cmd, pos)
	g.settle(l.Engine)
	return g
}

func (g *Ledger) entry(name string) *Entry {
	e := g.byName[name]
	if e == nil {
		if len(g.slab) == 0 {
			g.slab = make([]Entry, slabSize)
		}
		e, g.slab = &g.slab[0], g.slab[1:]
		e.Name = name
		g.byName[name] = e
		g.entries = append(g.entries, e)
	}
	return e
}

// slabSize is how many entries are allocated at a time.
const slabSize = 64

// dumps reads configuration dumps: after resolution (effective), or the user's
// own arguments (asked).
func (g *Ledger) dumps(l *launch.Launch) {
	dumps := l.Dumps
	if len(l.Files) > 1 {
		dumps = slices.Clone(dumps)
		slices.SortStableFunc(dumps, func(a, b launch.DumpAt) int { return cmp.Compare(g.rank(a.Pos), g.rank(b.Pos)) })
	}
	for i := range dumps {
		d := &dumps[i]
		lines := newDumpLines(d)
		for i := range d.Settings {
			s := &d.Settings[i]
			e := g.entry(s.Name)
			if g.rank(d.Pos) > 0 && (e.Known || e.Asked.Known) {
				continue
			}
			v := shown(s.Name, s.Value)
			if d.Effective {
				e.Effective, e.Known, e.dump = v, true, d.Pos
				if len(e.Because) == 0 {
					e.Because = lines.of(s.Name, v)
				}
				continue
			}
			e.Asked = finding.Asked{Known: true, Value: &v}
			e.Because = append(e.Because, lines.of(s.Name, v)...)
		}
		if !d.Effective {
			g.asks = true
		}
	}
}

// rank is 0 in the lead file and 1 in the others of a joined launch. What another
// node was told or chose says nothing of what became of the lead's command.
func (g *Ledger) rank(p fact.Pos) int {
	if p.File == g.lead {
		return 0
	}
	return 1
}

// shown is a value as the ledger keeps it: a secret is none of its business.
func shown(name, value string) string {
	if !open(value) && command.SecretName(name) {
		return "***"
	}
	return value
}

// dumpLines makes the evidence for each setting of a dump. All of it shares two
// allocations.
type dumpLines struct {
	from finding.Evidence
	all  []finding.Evidence
	text strings.Builder
}

func newDumpLines(d *launch.DumpAt) *dumpLines {
	m := &dumpLines{from: finding.Evidence{Kind: "log", File: d.Pos.File, Line: d.Pos.Line}, all: make([]finding.Evidence, 0, len(d.Settings))}
	size := 0
	for _, s := range d.Settings {
		size += len(s.Name) + len("=") + len(s.Value)
	}
	m.text.Grow(size)
	return m
}

// of is the evidence for one setting, a slice that owns its capacity.
func (m *dumpLines) of(name, value string) []finding.Evidence {
	start := m.text.Len()
	m.text.WriteString(name)
	m.text.WriteByte('=')
	m.text.WriteString(value)
	m.all = append(m.all, withText(m.from, m.text.String()[start:]))
	n := len(m.all)
	return m.all[n-1 : n : n]
}

func withText(ev finding.Evidence, text string) finding.Evidence {
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	ev.Field = text
	return ev
}

// choices applies the engine's own selection lines in their order; a later one
// replaces an earlier one.
func (g *Ledger) choices(l *launch.Launch) {
	for i := range l.Events {
		ev := &l.Events[i]
		ln := ev.Watch.Line
		if ln == nil || ln.Kind != engine.Choice {
			continue
		}
		caps := capsOf(ev)
		for _, s := range ln.Sets {
			name, ok := match.Expand(s.Setting, caps)
			value, known := match.Expand(s.Value, caps)
			if !ok || !known || name == "" {
				continue
			}
			e := g.entry(name)
			if g.rank(ev.Pos) > 0 && e.Known || !e.chosen(value, ev.Pos) {
				continue
			}
			e.Choice, e.By, e.Why, e.From = ln.ID, s.By, ln.Why, s.From
			e.Because = append([]finding.Evidence{{Kind: "log", File: ev.Pos.File, Line: ev.Pos.Line, Text: ev.Text}}, e.Because...)
		}
	}
}

func capsOf(ev *launch.Event) match.Captures {
	var out match.Captures
	for k, v := range ev.Caps {
		out = append(out, match.Capture{Name: k, Value: v})
	}
	return out
}

// command reads what the launch command asks for.
func (g *Ledger) command(eng *engine.Engine, cmd *command.Command, pos finding.Evidence) {
	if cmd == nil || g.Table == nil {
		return
	}
	parsed, problems := g.Table.Parse(cmd.Redacted().Options())
	g.Problems = problems
	g.asks = !hidesOptions(cmd)
	for _, a := range parsed.Args {
		name := a.Setting()
		if name == "" {
			continue
		}
		if n, ok := eng.Names[name]; ok {
			name = n
		}
		v := a.Value()
		e := g.entry(name)
		e.Asked = finding.Asked{Known: true, Value: &v}
		e.Because = append(e.Because, withText(pos, strings.TrimSpace(a.Name+" "+strings.Join(a.Values, " "))))
	}
}

// settle decides who chose each setting, drops what nobody needs to see, and
// orders the rest.
func (g *Ledger) settle(eng *engine.Engine) {
	kept := g.entries[:0]
	for _, e := range g.entries {
		if !e.Asked.Known && g.asks {
			e.Asked = finding.Asked{Known: true}
		}
		def, hasDef := g.defaultOf(eng, e.Name)
		asked := ""
		if e.Asked.Value != nil {
			asked = *e.Asked.Value
		}
		switch {
		case e.Asked.Value != nil && (!e.Known || Same(asked, e.Effective)):
			if !e.Known {
				e.Effective = asked
			}
			e.By = "user"
		case e.Asked.Value != nil:
			e.Silent = !open(asked)
			e.By = cmp.Or(e.By, "unknown")
		case e.Choice == "" && hasDef && Same(def, e.Effective):
			e.By = "default"
		default:
			e.By = cmp.Or(e.By, "unknown")
		}
		if e.Choice == "" && e.By != "user" && slices.Contains(eng.Hidden, e.Name) {
			delete(g.byName, e.Name)
			continue
		}
		kept = append(kept, e)
	}
	g.entries = kept
	slices.SortFunc(g.entries, func(a, b *Entry) int {
		if c := cmp.Compare(weight(a), weight(b)); c != 0 {
			return c
		}
		return cmp.Compare(a.Name, b.Name)
	})
}

// open tells the values that leave the choice to the engine.
func open(asked string) bool { return asked == "auto" || asked == "None" || asked == "" }

func weight(e *Entry) int {
	switch {
	case e.Silent:
		return 0
	case e.Choice != "":
		return 1
	case e.By == "user":
		return 2
	case e.By == "unknown":
		return 3
	}
	return 4
}

// defaultOf is the default that the release's parser has for a setting.
func (g *Ledger) defaultOf(eng *engine.Engine, name string) (string, bool) {
	if g.Table == nil {
		return "", false
	}
	if f := g.Table.Setting(name); f != nil {
		return f.Default, true
	}
	if f := g.Table.Setting(destOf(eng, name)); f != nil {
		return f.Default, true
	}
	return "", false
}

// dests holds, per engine, the argparse name behind a ledger name.
var dests sync.Map // *engine.Engine -> map[string]string

func destOf(eng *engine.Engine, name string) string {
	m, ok := dests.Load(eng)
	if !ok {
		reverse := make(map[string]string, len(eng.Names))
		for dest, n := range eng.Names {
			reverse[n] = dest
		}
		m, _ = dests.LoadOrStore(eng, reverse)
	}
	return m.(map[string]string)[name]
}

// Messages lists the ledger as messages. all adds defaults and undecided rows.
func (g *Ledger) Messages(all bool) []*finding.SettingMsg {
	list := make([]finding.SettingMsg, 0, len(g.entries)) // never grows: the pointers into it stay
	out := make([]*finding.SettingMsg, 0, len(g.entries))
	for _, e := range g.entries {
		if !all && weight(e) > 2 {
			continue
		}
		list = append(list, finding.SettingMsg{
			Name: e.Name, Asked: e.Asked, Effective: e.Effective, ChosenBy: e.By, Choice: e.Choice,
			Coupled: e.From, Silent: e.Silent, Because: e.Because,
		})
		out = append(out, &list[len(list)-1])
	}
	return out
}
