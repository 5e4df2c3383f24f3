package probe

import (
	"fmt"
	"strings"
)

// Prefix cache.

// longPassage is longer than any page of a KV cache that engines use by default
// (64 tokens), and otherEnd is another end of it.
const (
	longPassage = "A ship's log is kept so that the next watch knows what the last one saw. It names the hour, the wind, the sail that was set and the course that was steered, " +
		"and nothing that nobody saw. An old captain used to say that a guess in the log is worse than a hole in the hull, because a hole is looked for. " +
		"His own logs are still read in the harbour school. Most pages are dull, as they should be. One of them is not. On the third of May, at four in the morning, it says that"
	otherEnd = " the mate came below and told him"

	prefixLength = 12
)

// prefixRounds are the requests, and which two of them must give the same. The
// last two are sent only when the others leave it open.
var prefixRounds = []struct {
	label        string
	end, noCache bool
}{
	{"first time", false, false}, {"from the cache", false, false}, {"another end, from the cache", true, false},
	{"another end, computed anew", true, true}, {"computed anew", false, true}, {"from the cache once more", false, false},
}

// prefixNext asks for the same text without the cache, so that it is filled, and
// twice out of it, once with another end.
func prefixNext(s *State) []Ask {
	n := len(s.Rounds)
	if !s.Target.Has.Completions || n >= len(prefixRounds) || !s.Room(len(longPassage+otherEnd)/3, prefixLength) {
		return nil
	}
	if n == 4 && (prefixJudge(s).Outcome != CantTell || len(s.tokens(0)) == 0) {
		return nil
	}
	r := prefixRounds[n]
	a := s.complete(r.label, longPassage, prefixLength)
	if r.end {
		a.Prompt += otherEnd
	}
	a.NoCache = s.Target.Has.NoCache && r.noCache
	return []Ask{a}
}

func prefixJudge(s *State) Verdict {
	if v, ok := s.unanswered(4); !ok {
		return v
	}
	all := s.answers()
	list := []held{{all[0], all[1]}, {all[3], all[2]}}
	if len(all) == len(prefixRounds) {
		list = append(list, held{all[4], all[5]})
	}
	v := same(list, s.Floor, SignPrefix, "out of the prefix cache", "computed")
	switch hit := max(all[1].Answer.Cached, all[2].Answer.Cached); {
	case v.Outcome != Pass:
	case hit > 0:
		v.Text += fmt.Sprintf(" (%d tokens came from the cache)", hit)
	case all[1].Answer.Cached == 0 && all[2].Answer.Cached == 0:
		v.Text += " (nothing was cached, says the server)"
	default:
		v.Text += " (the server does not say whether the cache was hit)"
	}
	return v
}

// Eviction.

const (
	// mostPool is the largest KV cache, in tokens, that is filled.
	mostPool = 32768
	// evictPrompt is the length of one prompt that fills it, in words of about a
	// token each.
	evictPrompt  = 1500
	bytesPerWord = 6
)

// evictNext asks, fills the cache with other texts, and asks the same again.
func evictNext(s *State) []Ask {
	t := s.Target
	if !t.Has.Completions || t.Pool == 0 || t.Pool > mostPool || !s.Room(2*evictPrompt, prefixLength) {
		return nil
	}
	n, fill, kinds := len(s.Rounds), t.Pool/evictPrompt+1, len(evictTexts)
	var a Ask
	switch {
	case n < kinds:
		a = s.complete("before others", evictTexts[n], prefixLength)
	case n < kinds+fill:
		a = s.complete("fills the cache", filler(n), 1)
		a.Top = -1
	case n < 2*kinds+fill:
		a = s.complete("after others", evictTexts[n-kinds-fill], prefixLength)
	default:
		return nil
	}
	return []Ask{a}
}

var evictTexts = []string{longPassage, passage + longPassage, longPassage + otherEnd}

// filler is a text of its own for each number.
func filler(n int) string {
	words := []string{"salt", "rope", "wind", "bell", "oar", "mast", "net", "tide", "crew", "port"}
	var b strings.Builder
	for i := range evictPrompt {
		b.WriteString(words[(i*(n+3)+i/7+n)%len(words)])
		b.WriteByte(' ')
	}
	return b.String()
}

func evictJudge(s *State) Verdict {
	switch t := s.Target; {
	case t.Pool == 0:
		return cantTell("the server does not say how many tokens its KV cache holds", "")
	case t.Pool > mostPool:
		return cantTell(fmt.Sprintf("its KV cache of %d tokens is not filled for a probe (up to %d)", t.Pool, mostPool), "")
	}
	if v, ok := s.unanswered(4); !ok {
		return v
	}
	all, kinds := s.answers(), len(evictTexts)
	if len(all) < 2*kinds {
		return cantTell("not all was asked", "")
	}
	var list []held
	for i := range kinds {
		list = append(list, held{all[i], all[len(all)-kinds+i]})
	}
	return same(list, s.Floor, SignPrefix, "after others took the cache", "before")
}
