package probe

import "fmt"

// Concurrency.

// batchPrompts are of uneven lengths.
var batchPrompts = []string{
	"The old clock in the hall",
	"Bread is made of flour, water, salt and",
	"When the train stopped at the last station, the only passenger who got off was a man with a violin case, and",
	"In the garden there were roses, tulips and",
}

const (
	batchLength  = 16
	batchBytes   = 120 // none of the prompts is longer
	cancelLength = 64
)

// batchSizes are how many requests run at the same time.
func batchSizes(l Level) []int {
	if l == Thorough {
		return []int{2, 8, 32}
	}
	return []int{8}
}

func batchNext(s *State) []Ask {
	if !s.Target.Has.Completions {
		return nil
	}
	n := len(s.Rounds)
	if n < len(batchPrompts) {
		a := s.complete("alone", batchPrompts[n], batchLength)
		a.NoCache = s.Target.Has.NoCache
		return []Ask{a}
	}
	sizes := batchSizes(s.Level)
	if n -= len(batchPrompts); n >= len(sizes) {
		return nil
	}
	var asks []Ask
	for i := range sizes[n] {
		a := s.complete(fmt.Sprintf("one of %d at the same time", sizes[n]), batchPrompts[i%len(batchPrompts)], batchLength)
		a.NoCache = s.Target.Has.NoCache
		asks = append(asks, a)
	}
	return asks
}

// among pairs the answers of a round with those to the same prompts alone.
func among(alone [][]Asked, round []Asked) []held {
	var list []held
	for _, got := range round {
		for _, want := range alone {
			if got.Ask.Prompt == want[0].Ask.Prompt && want[0].Answer.OK() && got.Answer.OK() {
				list = append(list, held{want[0], got})
			}
		}
	}
	return list
}

func batchJudge(s *State) Verdict {
	if v, ok := s.unanswered(len(batchPrompts) + 2); !ok {
		return v
	}
	var list []held
	for _, round := range s.Rounds[len(batchPrompts):] {
		list = append(list, among(s.Rounds[:len(batchPrompts)], round)...)
	}
	if len(list) == 0 {
		return cantTell("no answer came both alone and among others", "")
	}
	return same(list, s.Floor, SignBatch, "among others", "alone")
}

// cancelNext has one client leave in the middle of its answer while others run.
func cancelNext(s *State) []Ask {
	if !s.Target.Has.Completions || len(s.Rounds) > 0 || len(s.Earlier["batch"]) < len(batchPrompts) {
		return nil
	}
	leaver := s.complete("leaves in the middle", passage, cancelLength)
	leaver.Stream, leaver.Leave, leaver.Top = true, 3, -1
	asks := []Ask{leaver}
	for _, p := range batchPrompts {
		a := s.complete("runs on", p, batchLength)
		a.NoCache = s.Target.Has.NoCache
		asks = append(asks, a)
	}
	return asks
}

func cancelJudge(s *State) Verdict {
	if v, ok := s.unanswered(2); !ok {
		return v
	}
	list := among(s.Earlier["batch"][:len(batchPrompts)], s.Rounds[0])
	if len(list) == 0 {
		return cantTell("no answer came both alone and beside a client that left", "")
	}
	return same(list, s.Floor, SignCancelled, "beside a client that left", "alone")
}
