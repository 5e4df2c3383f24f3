package tokenizer

import (
	"math"
	"unicode/utf8"
)

// unigram cuts a word so that the sum of its tokens' log probabilities is the
// largest (SentencePiece's Viterbi search).
type unigram struct {
	ids        map[string]int
	scores     []float64
	longest    int // length in bytes of the longest token
	unknown    int
	penalty    float64   // score of an unknown character
	byteTokens *[256]int // ids of "<0x00>" to "<0xFF>"; nil: unknown characters stay unknown
}

// unknownPenalty is what an unknown character costs beyond the worst token
// (K_UNK_PENALTY in the tokenizers library's unigram model).
const unknownPenalty = 10

func newUnigram(tokens []string, scores []float64, unknown int, byteTokens *[256]int) *unigram {
	u := &unigram{ids: make(map[string]int, len(tokens)), scores: scores, unknown: unknown, byteTokens: byteTokens}
	worst := math.Inf(1)
	for id, t := range tokens {
		u.ids[t] = id
		u.longest = max(u.longest, len(t))
		worst = min(worst, scores[id])
	}
	u.penalty = worst - unknownPenalty
	return u
}

func (u *unigram) encode(ids []int, word string) []int {
	type node struct {
		score      float64
		begin, end int // of the best token that ends here
		id         int
	}
	best := make([]node, len(word)+1)
	for i := range best {
		best[i].begin = -1
	}
	best[0].begin = 0
	for at := 0; at < len(word); {
		_, size := utf8.DecodeRuneInString(word[at:])
		whole := false // a token covers just this character
		for end := at + 1; end <= min(len(word), at+u.longest); end++ {
			id, ok := u.ids[word[at:end]]
			if !ok {
				continue
			}
			score := best[at].score + u.scores[id]
			if best[end].begin < 0 || score > best[end].score {
				best[end] = node{score, at, end, id}
			}
			whole = whole || end == at+size
		}
		if end := at + size; !whole {
			score := best[at].score + u.penalty
			if best[end].begin < 0 || score > best[end].score {
				best[end] = node{score, at, end, u.unknown}
			}
		}
		at += size
	}
	var back []node
	for end := len(word); end > 0; end = back[len(back)-1].begin {
		back = append(back, best[end])
	}
	fused := false
	for i := len(back) - 1; i >= 0; i-- {
		n := back[i]
		if n.id != u.unknown {
			ids, fused = append(ids, n.id), false
			continue
		}
		if u.byteTokens != nil {
			for _, b := range []byte(word[n.begin:n.end]) {
				ids = append(ids, u.byteTokens[b])
			}
			continue
		}
		if !fused {
			ids = append(ids, u.unknown)
		}
		fused = true
	}
	return ids
}
