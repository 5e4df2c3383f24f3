package endpointtest

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// vocabulary has one character per token. Token 0 ends an answer. The last one
// makes every logprob behind it NaN.
const vocabulary = "$ abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:!?{}\"~"

// Poison is the text whose logprobs are NaN.
const Poison = "~"

// context is what the servers take at most, in tokens.
const context = 200

func encode(text string) []int {
	var ids []int
	for _, r := range text {
		ids = append(ids, max(1, strings.IndexRune(vocabulary, r)))
	}
	return ids
}

func decode(ids []int) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteByte(vocabulary[id])
	}
	return b.String()
}

// scored is a token with its logprob.
type scored struct {
	id int
	p  float64
}

// told is a token of a text, and what stood beside it.
type told struct {
	scored
	all []scored // the likeliest first
}

// next is the distribution behind a text, the likeliest first.
func next(ids []int) []scored {
	h := fnv.New64a()
	for _, id := range ids {
		h.Write([]byte{byte(id)})
	}
	state := h.Sum64()
	all := make([]scored, len(vocabulary))
	sum := 0.0
	for i := range all {
		state = state*6364136223846793005 + 1442695040888963407
		all[i] = scored{i, float64(state>>40) / (1 << 22)} // 0 to 4
		sum += math.Exp(all[i].p)
	}
	for i := range all {
		all[i].p -= math.Log(sum)
		if slices.Contains(ids, len(vocabulary)-1) {
			all[i].p = math.NaN()
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.p > b.p:
			return -1
		case a.p < b.p:
			return 1
		}
		return 0
	})
	return all
}

// wish is what a request asks of the model.
type wish struct {
	prompt      []int
	max, n, top int
	hot         bool
	seed        int
	stop        []string
	ignoreEOS   bool
	noCache     bool
	script      string // the answer is this text, whatever the model says
}

// result is one answer.
type result struct {
	text   string
	tokens []told
	finish string
}

// generate makes an answer; choice tells answers to the same prompt apart.
func generate(w *wish, choice int) result {
	ids := slices.Clone(w.prompt)
	r := result{finish: "length"}
	script := encode(w.script)
	for i := range w.max {
		all := next(ids)
		pick := all[0]
		switch {
		case script != nil && i == len(script):
			r.finish = "stop"
			return r
		case script != nil:
			pick = all[slices.IndexFunc(all, func(s scored) bool { return s.id == script[i] })]
		case w.hot:
			pick = all[(w.seed+choice+i)%5]
		case math.IsNaN(pick.p):
			pick = scored{0, pick.p}
		}
		if pick.id == 0 && !w.ignoreEOS && !math.IsNaN(pick.p) {
			r.finish = "stop"
			return r
		}
		ids = append(ids, pick.id)
		r.tokens = append(r.tokens, told{pick, all})
		if !math.IsNaN(pick.p) {
			r.text += decode([]int{pick.id})
		}
		for _, s := range w.stop {
			if before, _, ok := strings.Cut(r.text, s); ok {
				r.text, r.finish = before, "stop"
				return r
			}
		}
	}
	return r
}

// promptTold is what stands before each token of a prompt; the first has nothing.
func promptTold(ids []int) []told {
	out := make([]told, len(ids))
	out[0].scored = scored{ids[0], math.NaN()}
	for i := 1; i < len(ids); i++ {
		all := next(ids[:i])
		out[i] = told{all[slices.IndexFunc(all, func(s scored) bool { return s.id == ids[i] })], all}
	}
	return out
}

// best are the n likeliest of a place, and the token itself when it is none of them
// and own is set.
func (t *told) best(n int, own bool) []scored {
	out := slices.Clone(t.all[:min(n, len(t.all))])
	if own && !slices.ContainsFunc(out, func(s scored) bool { return s.id == t.id }) {
		out = append(out, t.scored)
	}
	return out
}
