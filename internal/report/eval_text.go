package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/term"
)

// evalText writes what a model makes of prompts, each when it comes: a large
// model takes minutes for one.
type evalText struct {
	p      *page
	copier copier
	n      int
}

// NewEvalText returns a handler that writes the messages of eval for a terminal.
func NewEvalText(w io.Writer, opt Options) finding.Handler {
	return &evalText{p: newPage(w, opt), copier: copier{redact: opt.Redact}}
}

func (t *evalText) Handle(m finding.Message) error {
	if e, ok := m.(*finding.EvalMsg); ok {
		// Words keep their spaces, which tell tokens apart.
		t.eval(t.copier.message(e).(*finding.EvalMsg), e.Words)
		return t.p.flush()
	}
	return nil
}

func (t *evalText) Close() error { return t.p.flush() }

// eval writes one prompt; words are the texts of tokens as they are.
func (t *evalText) eval(e *finding.EvalMsg, words map[string]string) {
	if t.n++; t.n > 1 {
		t.p.blank()
	}
	t.p.section("PROMPT")
	t.p.row(fmt.Sprintf("%d  ", e.Prompt+1), plural(len(e.Tokens), "token", "tokens")+", numerics "+e.Numerics, "", t.p.style.Bold)
	if e.Bad > 0 {
		t.p.section("BAD")
		t.p.row("", plural(e.Bad, "logit is", "logits are")+" not finite: shakedown trace shows where that begins", "", t.p.style.Bad)
	}
	if len(e.Logprobs) > 0 {
		t.p.section("PROBS")
		t.p.row("", probabilities(e), "", plainStyle)
	}
	if len(e.Top) > 0 {
		t.p.section("NEXT")
		for _, r := range e.Top[0] {
			id, p := fmt.Sprintf("%8d  ", r.ID), figure(float64(r.Logprob))
			if word, ok := words[strconv.Itoa(r.ID)]; ok {
				t.p.row(id+term.Pad(p, 9), strconv.Quote(word), "", plainStyle)
			} else {
				t.p.row(id, p, "", plainStyle)
			}
		}
	}
	if len(e.Drafts) > 0 {
		t.p.section("DRAFTS")
		t.p.row("", drafts(e), "", plainStyle)
	}
	if len(e.Greedy) > 0 {
		t.p.section("GREEDY")
		t.p.row("", idList(e.Greedy), "", plainStyle)
		if e.Text != "" {
			t.p.row("", e.Text, "", t.p.style.Bold)
		}
	}
}

// probabilities sums up the logprobs of a prompt.
func probabilities(e *finding.EvalMsg) string {
	worst, sum := 0, 0.0
	for i, l := range e.Logprobs {
		sum += float64(l)
		if l < e.Logprobs[worst] {
			worst = i
		}
	}
	mean := sum / float64(len(e.Logprobs))
	return fmt.Sprintf("mean logprob %s, perplexity %s; least likely is token %d at position %d: %s",
		figure(mean), figure(math.Exp(-mean)), e.Tokens[worst+1], worst+1, figure(float64(e.Logprobs[worst])))
}

// drafts says how many drafted tokens are those of the text.
func drafts(e *finding.EvalMsg) string {
	right := 0
	for t, id := range e.Drafts {
		if t+2 < len(e.Tokens) && e.Tokens[t+2] == id || t+2 == len(e.Tokens) && len(e.Greedy) > 0 && e.Greedy[0] == id {
			right++
		}
	}
	return fmt.Sprintf("%d of %d tokens are drafted as they come", right, len(e.Drafts))
}

func idList(ids []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}

// figure writes a value with four digits, and words for what is none.
func figure(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Inf"
	case math.IsInf(x, -1):
		return "-Inf"
	}
	return fmt.Sprintf("%.4g", x)
}
