package prober

import (
	"context"
	"math"
	"time"

	"shakedown/internal/finding"
	"shakedown/internal/probe"
)

// Previewer is a Server that can show a request without sending it.
type Previewer interface {
	Server
	Preview(*probe.Target, probe.Ask) probe.Exchange
}

// Rehearse emits what Run would send, as exchanges without an answer, and no
// verdict. Only the requests of Identify are sent. Where a request quotes an
// earlier answer, the letters a, b, c ... stand for its tokens. Servers that are no
// Previewer are left out.
func Rehearse(ctx context.Context, s Previewer, o Options, out finding.Handler) error {
	o.Server = rehearsal{s}
	if other, ok := o.Other.(Previewer); ok {
		o.Other = rehearsal{other}
	} else {
		o.Other = nil
	}
	if o.Reference != nil {
		o.Reference = silent{}
	}
	o.Sleep = func(context.Context, time.Duration) {}
	_, err := Run(ctx, o, &announcement{Handler: out})
	return err
}

// silent is a reference that computes nothing.
type silent struct{}

func (silent) Judge(context.Context, *probe.Target, []probe.Text) (*probe.Reference, error) {
	return &probe.Reference{Missing: "nothing was computed"}, nil
}

// announcement passes on what is known and sent, and no judgement: the answers are
// made up.
type announcement struct{ finding.Handler }

func (a *announcement) Handle(m finding.Message) error {
	switch m.(type) {
	case *finding.EndpointMsg, *finding.SettingMsg, *finding.ExchangeMsg:
		return a.Handler.Handle(m)
	}
	return nil
}

// rehearsal answers in the place of a server that is not asked.
type rehearsal struct{ Previewer }

// Send makes up an answer of the greatest length.
func (r rehearsal) Send(_ context.Context, t *probe.Target, a probe.Ask) (probe.Answer, probe.Exchange) {
	x := r.Preview(t, a)
	if x.Path == "" {
		x.Failure = probe.Unsupported
		return probe.NoAnswer(probe.Unsupported, ""), x
	}
	tokens := madeUp(a.Max, a.Top)
	answer := probe.Answer{Status: 200, PromptCount: promptBytes(&a)/bytesPerToken + len(a.Tokens), AnswerCount: len(tokens), Cached: -1, Ended: a.Stream, Chunks: len(tokens)}
	if a.Echo {
		answer.Prompt = madeUp(answer.PromptCount, a.Top)
	}
	if a.Kind == probe.Tokenize {
		answer.Tokens = make([]int, answer.PromptCount)
	}
	c := probe.Choice{Finish: "length", Told: a.Top >= 0}
	for _, tok := range tokens {
		c.Text += tok.Text
	}
	if c.Told {
		c.Tokens = tokens
	}
	for range max(1, a.N) {
		answer.Choices = append(answer.Choices, c)
	}
	return answer, x
}

// bytesPerToken is usual for English text.
const bytesPerToken = 4

// madeUp are n tokens, each with its likeliest alternatives.
func madeUp(n, top int) []probe.Token {
	tokens := make([]probe.Token, n)
	for i := range tokens {
		t := probe.Token{ID: -1, Text: " " + string(rune('a'+i%26)), Logprob: probe.Logprob{Value: math.Log(0.5)}}
		for j := range top {
			r := probe.Ranked{ID: -1, Text: t.Text, Logprob: t.Logprob}
			if j > 0 {
				r = probe.Ranked{ID: -1, Text: " " + string(rune('A'+j%26)), Logprob: probe.Logprob{Value: math.Log(0.5) - float64(j)}}
			}
			t.Top = append(t.Top, r)
		}
		tokens[i] = t
	}
	return tokens
}
