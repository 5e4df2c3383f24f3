package compare

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/finding"
)

// Settings that say which model runs, and on how many processes, as the engines
// name them.
var (
	modelSettings    = []string{"model_path", "model.model", "model", "model_tag"}
	parallelSettings = []string{
		"tp_size", "pp_size", "dp_size", "ep_size", "nnodes",
		"parallel.tensor_parallel_size", "parallel.pipeline_parallel_size", "parallel.data_parallel_size", "parallel.nnodes",
	}
)

// hasSetting says that both launches tell one of these settings.
func (c *comparer) hasSetting(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return setting(c.good, n) != nil && setting(c.bad, n) != nil })
}

func setting(l *Launch, name string) *finding.SettingMsg {
	i := slices.IndexFunc(l.Settings, func(s finding.SettingMsg) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Settings[i]
}

// pair is one setting on both sides; one of them may be nil.
type pair struct {
	name      string
	good, bad *finding.SettingMsg
}

// pairs lists the settings in the order of BAD, then those of GOOD alone. Of a
// name that a report tells twice the first counts.
func (c *comparer) pairs() []pair {
	var out []pair
	for i := range c.bad.Settings {
		if s := &c.bad.Settings[i]; setting(c.bad, s.Name) == s {
			out = append(out, pair{s.Name, setting(c.good, s.Name), s})
		}
	}
	for i := range c.good.Settings {
		if s := &c.good.Settings[i]; setting(c.good, s.Name) == s && setting(c.bad, s.Name) == nil {
			out = append(out, pair{s.Name, s, nil})
		}
	}
	return out
}

// settings compares the ledgers.
func (c *comparer) settings() {
	for _, p := range c.pairs() {
		switch {
		case p.good == nil || p.bad == nil:
			c.oneSided(p)
		case sameValue(p.good.Effective, p.bad.Effective):
			c.sameEffect(p)
		case isIncidental(p.name) || sameButTemporary(p.good.Effective, p.bad.Effective):
			c.dropped++
		default:
			c.changed(p)
		}
	}
}

// changed adds a setting with two values.
func (c *comparer) changed(p pair) {
	d := c.settingDifference(p)
	if (d.Kind == "model" || strings.Contains(d.Bad, "/")) && c.told(d.Good, d.Bad) {
		return
	}
	s, why := c.suspect(p)
	d.Why = strings.Join(why, "; ")
	switch {
	case d.Kind == "model" && path.Base(d.Good) == path.Base(d.Bad):
		d.Weight, d.Why = finding.Note, "the same name in another place"
	case isUnresolved(p.good, p.bad):
		d.Weight, d.Why, d.Next = finding.Note, "GOOD's log does not tell what was chosen", nil
	case isUnresolved(p.bad, p.good):
		d.Weight, d.Why, d.Next = finding.Note, "BAD's log does not tell what was chosen", nil
	}
	c.add(s, d)
}

// isUnresolved says that s was left to the engine and that its log, unlike the
// other one, does not show the choice. "None" is a choice where the model
// decides: a model without quantization.
func isUnresolved(s, other *finding.SettingMsg) bool {
	byModel := other.ChosenBy == "model" || other.ChosenBy == "checkpoint"
	return s.Choice == "" && other.Choice != "" && isOpen(s.Effective) && (s.Effective == "auto" || !byModel)
}

func (c *comparer) settingDifference(p pair) finding.DifferenceMsg {
	d := finding.DifferenceMsg{Kind: kindOf(p), Name: p.name, Weight: finding.Suspicious}
	if c.sameEngine() && d.Kind != "model" {
		d.Next = c.restore.remedy(p)
	}
	if p.good != nil {
		d.Good, d.EvidenceGood = p.good.Effective, p.good.Because
	}
	if p.bad != nil {
		d.Bad, d.EvidenceBad = p.bad.Effective, p.bad.Because
	}
	return d
}

func kindOf(p pair) string {
	switch {
	case slices.Contains(modelSettings, p.name):
		return "model"
	case slices.Contains(parallelSettings, p.name):
		return "parallel"
	case p.good != nil && p.good.Choice != "", p.bad != nil && p.bad.Choice != "":
		return "choice"
	}
	return "setting"
}

// suspect says why a changed setting may be the reason, strongest first.
func (c *comparer) suspect(p pair) (suspicion, []string) {
	s := subject(p.name)
	var why []string
	because := func(as suspicion, text string) {
		if text != "" {
			s, why = min(s, as), append(why, text)
		}
	}
	if !slices.Contains(modelSettings, p.name) { // every path in a traceback names the model
		because(coupled, c.coupling(p))
	}
	if p.bad.Silent && !p.good.Silent {
		because(silent, fmt.Sprintf("BAD asked for %s and got something else without being told", cmp.Or(value(p.bad.Asked), "another value")))
	}
	because(chosen, choosers(p.good.ChosenBy, p.bad.ChosenBy))
	if from := c.changedSource(p.bad); from != "" {
		because(s, "follows from "+from+", which differs too")
	}
	if p.good.ChosenBy == "default" && p.bad.ChosenBy == "default" && c.good.EngineVersion != c.bad.EngineVersion {
		because(s, "nobody asked: the release's default changed")
	}
	return s, why
}

// choosers words a change of who chose; what the log can't tell is no change.
func choosers(good, bad string) string {
	if good == bad || good == "unknown" || bad == "unknown" {
		return ""
	}
	return fmt.Sprintf("chosen by %s in GOOD, by %s in BAD", maker(good), maker(bad))
}

func maker(by string) string {
	if by == "default" || by == "coupling" {
		return by
	}
	return "the " + by
}

func value(a finding.Asked) string {
	if a.Value == nil {
		return ""
	}
	return *a.Value
}

// changedSource is a setting that forced s and differs as well.
func (c *comparer) changedSource(s *finding.SettingMsg) string {
	for _, name := range s.Coupled {
		good, bad := setting(c.good, name), setting(c.bad, name)
		if good != nil && bad != nil && !sameValue(good.Effective, bad.Effective) {
			return name
		}
	}
	return ""
}

// coupling says how BAD's first cause points to a setting, directly or through
// one that it forced.
func (c *comparer) coupling(p pair) string {
	return cmp.Or(c.failure.names(p.name, p.bad), c.forced[p.name])
}

// subject is the place of a setting that nothing else speaks against.
func subject(name string) suspicion {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case slices.Contains(modelSettings, name), slices.Contains(parallelSettings, name):
		return identity
	case strings.Contains(last, "backend"):
		return backend
	case strings.Contains(last, "dtype"), strings.Contains(last, "quant"):
		return precision
	}
	return plain
}

// sameEffect handles a setting with one value: it may have been asked for in
// one launch and have come by itself in the other.
func (c *comparer) sameEffect(p pair) {
	good, bad := p.good.Asked, p.bad.Asked
	if !good.Known || !bad.Known || value(good) == value(bad) || isIncidental(p.name) {
		c.equal++
		return
	}
	c.add(asked, finding.DifferenceMsg{
		Kind: "command", Name: p.name, Good: value(good), Bad: value(bad), Weight: finding.Note,
		Why: "asked for differently; " + p.bad.Effective + " ran in both", EvidenceGood: p.good.Because, EvidenceBad: p.bad.Because,
	})
}

// oneSided handles a setting that only one log tells. It is a difference when
// one launch asked for it and the other is known not to have asked; a choice
// that only one log tells is worth a note. Anything else says more about the
// logs than about the launches.
func (c *comparer) oneSided(p pair) {
	one, other, side := p.bad, c.good, "BAD"
	if one == nil {
		one, other, side = p.good, c.bad, "GOOD"
	}
	if !c.sameEngine() || isIncidental(p.name) || p.bad == nil && c.isBeyond(one.Because) {
		return
	}
	d := c.settingDifference(p)
	switch {
	case one.Asked.Value != nil && asks(other):
		d.Why = "asked for in " + side + " only"
	case one.Choice != "":
		d.Weight, d.Why, d.Next = finding.Note, "told by "+side+"'s log only", nil
	default:
		return
	}
	s := subject(p.name)
	if p.bad != nil {
		if why := c.coupling(p); why != "" {
			s, d.Weight, d.Why = coupled, finding.Suspicious, why+"; "+d.Why
		}
	}
	c.add(s, d)
}

// isBeyond says that GOOD printed a line after the point that BAD came to.
func (c *comparer) isBeyond(because []finding.Evidence) bool {
	m := c.parting.good
	return c.bad.failed() && m != nil && len(because) > 0 && because[0].File == m.File && because[0].Line > m.Line
}

// asks says that the log tells what was asked for.
func asks(l *Launch) bool {
	return slices.ContainsFunc(l.Settings, func(s finding.SettingMsg) bool { return s.Asked.Known })
}

// flags compares the commands of engines whose flags no ledger knows.
func (c *comparer) flags() {
	if asks(c.good) || asks(c.bad) || len(c.good.Command) == 0 || len(c.bad.Command) == 0 {
		return
	}
	good, bad := options(c.good.Command), options(c.bad.Command)
	names := slices.Sorted(maps.Keys(good))
	for name := range bad {
		if _, ok := good[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		g, inGood := good[name]
		b, inBad := bad[name]
		switch {
		case inGood == inBad && sameValue(g, b):
			c.equal++
		case isIncidental(name) || inGood && inBad && sameButTemporary(g, b):
			c.dropped++
		default:
			c.flag(name, g, b, inGood, inBad)
		}
	}
}

// flag adds a flag that only one command has, or that has two values.
func (c *comparer) flag(name, good, bad string, inGood, inBad bool) {
	d := finding.DifferenceMsg{
		Kind: "command", Name: name, Good: given(good, inGood), Bad: given(bad, inBad), Weight: finding.Suspicious,
		Why: c.failure.names(name, nil), Next: c.restore.flagRemedy(name, good, inGood),
	}
	if d.Why != "" {
		c.add(coupled, d)
		return
	}
	c.add(asked, d)
}

// given is the value of a flag as it is shown: a switch has none of its own.
func given(value string, ok bool) string {
	if ok && value == "" {
		return "given"
	}
	return value
}

// options reads the flags of a command without a table of flags: a word that
// does not begin with "-" is the value of the flag before it. Words before the
// first flag are left out.
func options(argv []string) map[string]string {
	if cmd, ok := command.FromArgv(argv); ok {
		argv = cmd.Options()
	}
	out := make(map[string]string)
	name := ""
	for _, word := range argv {
		if strings.HasPrefix(word, "-") && len(word) > 1 && (word[1] < '0' || word[1] > '9') {
			var v string
			name, v, _ = strings.Cut(word, "=")
			out[name] = v
			continue
		}
		if name != "" {
			out[name] = strings.TrimSpace(out[name] + " " + word)
		}
	}
	return out
}
