package compare

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/fact"
	"shakedown/internal/finding"
)

// identity compares what ran on what.
func (c *comparer) identity() {
	c.same(version, "version", "engine", c.good.Engine, c.bad.Engine, fact.EngineName)
	c.same(version, "version", "engine version", c.good.EngineVersion, c.bad.EngineVersion, fact.EngineVersion)
	c.same(identity, "hardware", "hardware", c.good.Hardware, c.bad.Hardware, fact.GPUName, fact.Device)
	if !c.hasSetting(modelSettings) {
		c.same(identity, "model", "model", c.good.Model, c.bad.Model, fact.Model)
	}
	if !c.hasSetting(parallelSettings) {
		c.same(identity, "parallel", "parallelism", c.good.Parallel, c.bad.Parallel, fact.TP, fact.PP, fact.DP)
	}
}

// same compares one text; a side that does not know it proves nothing. The keys
// are of facts that tell where the text stands.
func (c *comparer) same(s suspicion, kind, name, good, bad string, keys ...fact.Key) {
	if (good == "" || bad == "") && kind != "parallel" { // "" is one process
		return
	}
	switch {
	case good == bad:
		c.equal++
		return
	case sameButTemporary(good, bad):
		c.dropped++
		return
	}
	d := finding.DifferenceMsg{
		Kind: kind, Name: name, Good: good, Bad: bad, Weight: finding.Suspicious,
		EvidenceGood: where(c.good, keys), EvidenceBad: where(c.bad, keys),
	}
	if kind == "model" && path.Base(good) == path.Base(bad) {
		d.Weight, d.Why = finding.Note, "the same name in another place"
	}
	c.add(s, d)
}

// where is the line that states the first of these facts that the launch has.
func where(l *Launch, keys []fact.Key) []finding.Evidence {
	for _, k := range keys {
		if f := factOf(l, k); f != nil && f.Line > 0 {
			return []finding.Evidence{stated(f)}
		}
	}
	return nil
}

func stated(f *finding.FactEntry) finding.Evidence {
	return finding.Evidence{Kind: "log", File: f.File, Line: f.Line}
}

// factOf is the first fact of a key: a draft model and a restarted worker print
// some again.
func factOf(l *Launch, k fact.Key) *finding.FactEntry {
	i := slices.IndexFunc(l.Facts, func(f finding.FactEntry) bool { return f.Key == string(k) })
	if i < 0 {
		return nil
	}
	return &l.Facts[i]
}

// Facts that are compared, and where they stand among the suspects. Names,
// addresses and times are left out, and what identity compares.
var (
	amounts = []struct {
		key       fact.Key
		suspicion suspicion
	}{
		{fact.KVTokens, kvCapacity}, {fact.KVGB, kvCapacity}, {fact.WeightsGB, memory}, {fact.GraphsGB, memory},
		{fact.GPUFree, memory}, {fact.GPUMem, memory}, {fact.CtxLen, plain}, {fact.MaxRunning, plain},
	}
	statements = []struct {
		key       fact.Key
		suspicion suspicion
	}{
		{fact.Arch, identity}, {fact.Device, identity}, {fact.Quant, precision}, {fact.DType, precision}, {fact.KVDType, precision},
		{fact.CUDA, version}, {fact.Driver, version}, {fact.Torch, version}, {fact.Transformers, version}, {fact.Role, plain},
	}
)

func (c *comparer) facts() {
	for _, a := range amounts {
		c.amount(a.suspicion, string(a.key), factOf(c.good, a.key), factOf(c.bad, a.key))
	}
	c.freeMemory()
	for _, s := range statements {
		good, bad := factOf(c.good, s.key), factOf(c.bad, s.key)
		if good == nil || bad == nil || isOpen(good.Value) || isOpen(bad.Value) {
			continue
		}
		if sameValue(good.Value, bad.Value) {
			c.equal++
		} else if !c.told(good.Value, bad.Value) {
			c.add(s.suspicion, factDifference(string(s.key), good, bad))
		}
	}
}

// settingKinds are the kinds of differences that the ledger gives.
var settingKinds = []string{"setting", "choice", "model", "parallel"}

// told says that a setting already differs in the same two values, so that a
// fact read from it, or a path derived from it, is no news.
func (c *comparer) told(good, bad string) bool {
	return slices.ContainsFunc(c.found, func(d difference) bool {
		return slices.Contains(settingKinds, d.Kind) && sameValue(d.Good, good) && sameValue(d.Bad, bad)
	})
}

func factDifference(name string, good, bad *finding.FactEntry) finding.DifferenceMsg {
	return finding.DifferenceMsg{
		Kind: "fact", Name: name, Good: withUnit(good), Bad: withUnit(bad), Weight: finding.Suspicious,
		EvidenceGood: []finding.Evidence{stated(good)}, EvidenceBad: []finding.Evidence{stated(bad)},
	}
}

func withUnit(f *finding.FactEntry) string { return strings.TrimSpace(f.Value + " " + f.Unit) }

// Shares by which amounts vary. Two starts of the same server profile slightly
// different free memory: below sameShare nobody could tell them apart, and
// below smallShare the difference is worth a note.
const (
	sameShare  = 0.02
	smallShare = 0.10
)

// amount compares two numbers by their ratio.
func (c *comparer) amount(s suspicion, name string, good, bad *finding.FactEntry) {
	if good == nil || bad == nil {
		return
	}
	g, okGood := number(good.Value)
	b, okBad := number(bad.Value)
	if !okGood || !okBad || g <= 0 || b <= 0 {
		return
	}
	ratio := b / g
	share := max(ratio, 1/ratio) - 1
	if share < sameShare {
		c.equal++
		return
	}
	if c.told(good.Value, bad.Value) {
		return
	}
	d := factDifference(name, good, bad)
	d.Why = fmt.Sprintf("BAD has %.2f times GOOD's", ratio)
	if share < smallShare {
		d.Weight = finding.Note
	}
	c.add(s, d)
}

// number reads a number with or without thousands separators.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return v, err == nil
}

// freeMemory compares the free memory at the milestones that both reached; the
// first difference explains the later ones.
func (c *comparer) freeMemory() {
	before := len(c.found)
	for _, m := range c.good.Milestones {
		i := milestone(c.bad, m.Name)
		if i < 0 {
			continue
		}
		c.amount(memory, string(fact.AvailGB)+" at "+m.Name, freeAt(c.good, m), freeAt(c.bad, c.bad.Milestones[i]))
		if len(c.found) > before {
			return
		}
	}
}

// freeAt is the free memory that the line of a milestone tells.
func freeAt(l *Launch, m finding.Milestone) *finding.FactEntry {
	i := slices.IndexFunc(l.Facts, func(f finding.FactEntry) bool {
		return f.Key == string(fact.AvailGB) && f.File == m.File && f.Line == m.Line
	})
	if i < 0 {
		return nil
	}
	return &l.Facts[i]
}

// Phase times are compared when both are long enough for the log's resolution,
// which is a second, and the longer is a multiple of the shorter. A cold cache
// of files or compiled kernels makes a phase slower by far more than slow, so
// only a long wait is suspicious.
const (
	leastSeconds = 1.0
	slower       = 1.5
	muchSlower   = 3.0
	longWait     = 30.0
)

// phaseTimes compares the times between the milestones that both reached.
func (c *comparer) phaseTimes() {
	var lastGood, lastBad *finding.Milestone
	for i := range c.good.Milestones {
		j := milestone(c.bad, c.good.Milestones[i].Name)
		if j < 0 {
			continue
		}
		good, bad := &c.good.Milestones[i], &c.bad.Milestones[j]
		if lastGood != nil {
			c.phaseTime(lastGood, good, lastBad, bad)
		}
		lastGood, lastBad = good, bad
	}
}

func (c *comparer) phaseTime(goodFrom, goodTo, badFrom, badTo *finding.Milestone) {
	if min(goodFrom.Seconds, badFrom.Seconds) < 0 {
		return
	}
	g, b := goodTo.Seconds-goodFrom.Seconds, badTo.Seconds-badFrom.Seconds
	if min(g, b) <= leastSeconds {
		return
	}
	ratio := b / g
	if max(ratio, 1/ratio) <= slower {
		c.equal++
		return
	}
	d := finding.DifferenceMsg{
		Kind: "phase-time", Name: goodFrom.Name + " -> " + goodTo.Name, Good: seconds(g), Bad: seconds(b), Weight: finding.Note,
		Why:          fmt.Sprintf("BAD took %.1f times as long; caches that were warm or cold are the usual reason", ratio),
		EvidenceGood: []finding.Evidence{line(goodTo)}, EvidenceBad: []finding.Evidence{line(badTo)},
	}
	if ratio > muchSlower && b-g > longWait {
		d.Weight = finding.Suspicious
	}
	c.add(phaseTime, d)
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 1, 64) + " s" }
