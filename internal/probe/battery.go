package probe

import (
	"iter"
	"maps"
	"slices"

	"shakedown/internal/finding"
)

// battery is every probe, in the order in which they are asked: the cheap ones
// that decide most come first, those that strain the server last.
var battery = slices.Concat(
	signatureProbes,
	knownProbes,
	consistencyProbes,
	chatProbes,
	oracleProbes,
	againstProbes,
	limitProbes,
	endProbes,
)

// Battery lists the probes of a level in their order. For a server in production
// (gentle) those that strain it are left out.
func Battery(level Level, gentle bool) []Probe {
	var list []Probe
	for _, p := range battery {
		if p.From <= level && (p.Gentle || !gentle) {
			list = append(list, p)
		}
	}
	return list
}

// Bound is the most that the probes will send at a level.
func Bound(probes []Probe, level Level) Cost {
	var sum Cost
	for _, p := range probes {
		sum.Add(p.Most(level))
	}
	return sum
}

// Room says whether a prompt of n tokens and an answer of m fit the context.
func (s *State) Room(n, m int) bool {
	return s.Target.Context == 0 || n+m <= s.Target.Context
}

// Afford is how many tokens may be decoded one after the other, of those wished
// for: a server of one token a second is asked for fewer.
func (s *State) Afford(wish int) int {
	if s.Rate <= 0 || s.Level == Thorough {
		return wish
	}
	return min(wish, max(20, int(s.Rate*patience)))
}

// patience is the seconds that one answer may take.
const patience = 15

// answers are all answers of the rounds, in order.
func (s *State) answers() []Asked { return slices.Concat(s.Rounds...) }

// each are the answers of rounds, in order.
func each(rounds [][]Asked) iter.Seq[*Asked] {
	return func(yield func(*Asked) bool) {
		for _, r := range rounds {
			for i := range r {
				if !yield(&r[i]) {
					return
				}
			}
		}
	}
}

// earlier are the answers of the named probes before this one.
func (s *State) earlier(ids ...string) iter.Seq[*Asked] {
	var rounds [][]Asked
	for _, id := range ids {
		rounds = append(rounds, s.Earlier[id]...)
	}
	return each(rounds)
}

// ran are the probes before this one, by name.
func (s *State) ran() []string { return slices.Sorted(maps.Keys(s.Earlier)) }

// answeredBefore is how many requests to the model were answered before this probe.
func (s *State) answeredBefore() int {
	n := 0
	for a := range s.earlier(s.ran()...) {
		if a.Answer.OK() && len(a.Answer.Choices) > 0 {
			n++
		}
	}
	return n
}

// request quotes what an answer said.
func request(a Answer, text, note string) finding.Evidence {
	return finding.Evidence{Kind: "request", Line: a.Exchange, Text: clip(text, 300), Note: note}
}

// clip shortens a quotation.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "..."
}
