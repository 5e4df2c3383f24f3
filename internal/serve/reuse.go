package serve

import (
	"slices"

	"shakedown/internal/oracle"
)

// text is a finished text whose cache is kept for others that begin like it.
type text struct {
	tokens  []int
	session *oracle.Session
}

// room is how many tokens a job may come to hold.
func (j *job) room() int { return len(j.prompt) + j.max }

// makeRoom says whether a job fits beside the running ones, and gives up kept texts
// for it, those first that were not used for longest. One that the job's prompt
// begins like goes last, and its session to the job.
func (e *engine) makeRoom(j *job) bool {
	used := j.room()
	for _, k := range e.running {
		used += k.room()
	}
	if used > e.limits.Tokens {
		return false
	}
	best, n := e.closest(j)
	if best != nil {
		e.touch(best)
	}
	for _, t := range e.kept {
		used += len(t.tokens)
	}
	for used > e.limits.Tokens {
		t := e.kept[0]
		e.kept = e.kept[1:]
		used -= len(t.tokens)
		if t == best && t.session.Truncate(n) {
			e.give(j, t.session, n)
		}
	}
	return true
}

// closest finds the kept text with the longest beginning that the job can use; nil
// for none.
func (e *engine) closest(j *job) (best *text, n int) {
	for _, t := range e.kept {
		if c := j.common(t.tokens); c > n {
			best, n = t, c
		}
	}
	return best, n
}

// touch makes a kept text the one that was used last.
func (e *engine) touch(t *text) {
	e.forget(t)
	e.kept = append(e.kept, t)
}

func (e *engine) forget(t *text) {
	e.kept = slices.DeleteFunc(e.kept, func(k *text) bool { return k == t })
}

// give lets a job go on from a session that holds n tokens of its prompt.
func (e *engine) give(j *job, s *oracle.Session, n int) {
	j.session, j.fed, j.cached = s, n, n
	e.counts.cachedTokens.Add(int64(n))
}

// common is how many tokens a text has in common with the prompt, as far as they
// are of use: the last token of a prompt is always computed, since its logits are
// needed, and so are all when their logprobs are wanted.
func (j *job) common(tokens []int) int {
	if j.promptTop >= 0 {
		return 0
	}
	n := 0
	for n < min(len(tokens), len(j.prompt)-1) && tokens[n] == j.prompt[n] {
		n++
	}
	return n
}

// begin gives the i-th running job a session: a kept one that its prompt goes on
// from, a copy of the beginning of a kept or running one, or a new one. It returns
// false when a job before it will soon have computed half of the prompt or more.
func (e *engine) begin(i int) bool {
	j := e.running[i]
	from, n := e.closest(j)
	var session *oracle.Session
	if from != nil {
		session = from.session
	}
	soon := 0
	for at, k := range e.running {
		c := j.common(k.prompt)
		if have := min(c, k.fed); k.session != nil && have > n {
			from, session, n = nil, k.session, have
		}
		if at < i && c > k.fed {
			soon = max(soon, c)
		}
	}
	switch {
	case 2*(soon-n) >= len(j.prompt):
		return false
	case from != nil && n == len(from.tokens):
		e.forget(from)
	case n > 0:
		session = session.Fork(n)
		if from != nil {
			e.touch(from)
		}
	}
	if session != nil {
		e.give(j, session, n)
	} else {
		j.session = e.model.NewSession(nil)
	}
	return true
}
