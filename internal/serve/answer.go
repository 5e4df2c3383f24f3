package serve

import (
	"context"
	"errors"
	"math"
	"strconv"

	"shakedown/internal/oracle/tokenizer"
)

// choice follows one job and turns its tokens into text.
type choice struct {
	index  int
	job    *job
	stream *tokenizer.Stream
	stop   stopper
	split  splitter

	reason string // how it ended; empty: it has not
	tokens int    // of the answer, one that ended it included
	seen   int    // tool calls that were streamed
	done   *done
}

// chunk is what one or more tokens add to an answer.
type chunk struct {
	pieces
	logprobs []token
	text     string // content before it was split into pieces
	prompt   []token
	reason   string // the answer's end
	stopped  string // the stop text that ended it
}

// next waits for the next chunk; ok is false when the answer is over. An
// answer that was ended by a stop text lets its job go.
func (c *choice) next(ctx context.Context) (out chunk, ok bool, err error) {
	if c.reason != "" {
		return out, false, nil
	}
	e, ok, err := c.job.events.next(ctx)
	switch {
	case err != nil:
		return out, false, err
	case !ok:
		return out, false, errors.New("the answer ended without a word")
	case e.prompt != nil:
		out.prompt = e.prompt
	case e.token != nil:
		c.tokens++
		out.logprobs = []token{*e.token}
		c.show(&out, c.stream.Next(e.token.id))
	default:
		c.done = e.done
		if e.done.err != nil {
			return out, false, e.done.err
		}
		if e.done.stop >= 0 {
			c.tokens++
		}
		c.show(&out, c.stream.End())
		if c.reason == "" {
			c.finish(&out, e.done.reason)
		}
	}
	return out, true, nil
}

// show passes text through the stop texts and the splitter.
func (c *choice) show(out *chunk, text string) {
	shown, stop := c.stop.add(text)
	out.text += shown
	out.pieces.join(c.split.add(shown, false))
	if stop != "" {
		out.stopped = stop
		c.stop.held = ""
		c.finish(out, "stop")
	}
}

// finish ends the answer.
func (c *choice) finish(out *chunk, reason string) {
	rest := c.stop.rest()
	out.text += rest
	out.pieces.join(c.split.add(rest, true))
	c.reason = reason
	if c.split.calls > 0 && reason == "stop" {
		c.reason = "tool_calls"
	}
	out.reason = c.reason
}

func (p *pieces) join(q pieces) {
	p.reasoning += q.reasoning
	p.content += q.content
	p.calls = append(p.calls, q.calls...)
}

// number is a logprob as JSON: NaN is null, as SGLang and llama.cpp write it,
// and minus infinity -9999, as OpenAI and vLLM do.
type number float32

// MarshalJSON writes it.
func (n number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsNaN(f):
		return []byte("null"), nil
	case math.IsInf(f, -1):
		return []byte("-9999.0"), nil
	case math.IsInf(f, 1):
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 32), nil
}
