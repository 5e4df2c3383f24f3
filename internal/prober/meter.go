package prober

import (
	"time"

	"shakedown/internal/probe"
)

// meter keeps what is sent within the bound that was announced. Its methods are
// called from one goroutine, before and after a round.
type meter struct {
	bound    probe.Cost
	spent    probe.Cost
	deadline time.Time
	// perByte is how many tokens a byte of a prompt makes at most, as far as the
	// server's own counts show it. Before anything is known a byte is a token.
	perByte float64
}

func newMeter(bound probe.Cost, deadline time.Time) *meter {
	return &meter{bound: bound, deadline: deadline, perByte: 1}
}

// take reserves an ask's cost; the reason is empty when there is room for it.
func (m *meter) take(a *probe.Ask, now time.Time) (reason string) {
	c := m.estimate(a)
	switch {
	case !now.Before(m.deadline):
		return "the time that was announced is over"
	case m.spent.Requests+c.Requests > m.bound.Requests:
		return "all requests that were announced have been sent"
	case m.spent.PromptTokens+c.PromptTokens > m.bound.PromptTokens:
		return "the prompt tokens that were announced are used up"
	case m.spent.AnswerTokens+c.AnswerTokens > m.bound.AnswerTokens:
		return "the answer tokens that were announced are used up"
	}
	m.spent.Requests += c.Requests
	m.spent.PromptTokens += c.PromptTokens
	m.spent.AnswerTokens += c.AnswerTokens
	return ""
}

// estimate is the most that an ask costs.
func (m *meter) estimate(a *probe.Ask) probe.Cost {
	c := probe.Cost{Requests: 1}
	if a.Kind != probe.Chat && a.Kind != probe.Completion {
		return c
	}
	c.PromptTokens = len(a.Tokens)
	if a.Tokens == nil {
		c.PromptTokens = int(float64(promptBytes(a))*m.perByte) + 1
	}
	c.AnswerTokens = max(1, a.Max) * max(1, a.N)
	return c
}

// settle replaces the estimate by the server's own counts.
func (m *meter) settle(a *probe.Ask, r *probe.Answer) {
	c := m.estimate(a)
	if c.AnswerTokens == 0 {
		return
	}
	if r.PromptCount >= 0 && r.OK() {
		m.spent.PromptTokens += r.PromptCount - c.PromptTokens
		if n := promptBytes(a); n >= 40 && a.Kind == probe.Completion && a.Tokens == nil {
			m.seen(float64(r.PromptCount) / float64(n))
		}
	}
	if r.AnswerCount >= 0 && r.OK() && a.Leave == 0 {
		m.spent.AnswerTokens += r.AnswerCount - c.AnswerTokens
	}
}

// seen takes in a ratio of tokens to bytes; half is put on top of the greatest.
func (m *meter) seen(ratio float64) {
	ratio *= 1.5
	if m.perByte == 1 || ratio > m.perByte {
		m.perByte = min(1, ratio)
	}
}

func promptBytes(a *probe.Ask) int {
	n := len(a.Prompt)
	for _, m := range a.Messages {
		n += len(m.Content) + len(m.Role) + 8 // what a template puts around a turn
	}
	for _, t := range a.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return n
}
