package serve

import (
	"encoding/json"
	"net/http"
	"slices"
)

var completionFields = slices.Concat(generationFields, []string{"prompt", "echo", "logprobs"})

// completions answers POST /v1/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) *apiError {
	b, err := readBody(r.Body, completionFields)
	if err != nil {
		return err
	}
	g, err := b.generation(s.Defaults, s.Model.Spec.Vocab)
	if err != nil {
		return err
	}
	if g.max == 0 {
		g.max = 16 // the API's own default
	}
	req := request{generation: g, id: "cmpl-" + idOf(r), object: "text_completion", from: "prompt", logprobs: -1}
	if err := first(s.checkModel(g.model), b.get("logprobs", &req.logprobs), b.get("echo", &req.echo)); err != nil {
		return err
	}
	if req.logprobs < -1 || req.logprobs > maxTop {
		return badRequest("logprobs", "logprobs must be from 0 to %d, got %d", maxTop, req.logprobs)
	}
	if req.prompts, err = s.prompts(b["prompt"]); err != nil {
		return err
	}
	if req.echo && req.stream {
		return badRequest("echo", "echo is not supported with stream")
	}
	return s.generate(w, r, &req, completionShape{s, &req})
}

// maxPrompts bounds the prompts of one request.
const maxPrompts = 64

// prompts reads a text, a list of texts, a list of ids, or a list of such lists.
func (s *Server) prompts(data json.RawMessage) ([][]int, *apiError) {
	var textList []string
	var idLists [][]int
	if len(data) == 0 {
		return nil, badRequest("prompt", "prompt is needed")
	} else if text, ok := decoded[string](data); ok {
		textList = []string{text}
	} else if list, ok := decoded[[]string](data); ok {
		textList = list
	} else if ids, ok := decoded[[]int](data); ok {
		idLists = [][]int{ids}
	} else if idLists, ok = decoded[[][]int](data); !ok {
		return nil, badRequest("prompt", "prompt must be a text, token ids, or a list of either")
	}
	for _, t := range textList {
		idLists = append(idLists, s.Tokenizer.Encode(t, true))
	}
	if len(idLists) == 0 || len(idLists) > maxPrompts {
		return nil, badRequest("prompt", "from 1 to %d prompts are allowed, got %d", maxPrompts, len(idLists))
	}
	for _, list := range idLists {
		for _, id := range list {
			if id < 0 || id >= s.Model.Spec.Vocab {
				return nil, badRequest("prompt", "token id %d: the vocabulary has ids 0 to %d", id, s.Model.Spec.Vocab-1)
			}
		}
	}
	return idLists, nil
}

// decoded reads a value of one type; ok is false when it is of another.
func decoded[T any](data json.RawMessage) (v T, ok bool) {
	err := json.Unmarshal(data, &v)
	return v, err == nil
}

// completionShape writes answers as text completions.
type completionShape struct {
	s   *Server
	req *request
}

func (c completionShape) whole(i int, a *answered) any {
	out := completionChoice{Index: i, Text: a.text, Reason: &a.reason, Stopped: a.stopped}
	if c.req.echo {
		out.Text = c.s.Tokenizer.Decode(a.ids, !c.req.keep) + a.text
	}
	if c.req.logprobs < 0 {
		return out
	}
	l := &completionLogprobs{}
	if c.req.echo {
		l.Tokens, l.Logprobs, l.Top, l.Offsets = []string{c.s.tokenName(&c.req.generation, a.ids[0])}, []*number{nil}, []map[string]number{nil}, []int{0}
		for _, t := range a.prompt {
			c.add(l, t)
		}
	}
	for _, t := range a.logprobs {
		c.add(l, t)
	}
	out.Logprobs = l
	return out
}

// add puts a token behind the others; its offset is where the text so far ends,
// in characters.
func (c completionShape) add(l *completionLogprobs, t token) {
	offset := 0
	if n := len(l.Tokens); n > 0 {
		offset = l.Offsets[n-1] + len([]rune(l.Tokens[n-1]))
	}
	p := number(t.logprob)
	top := make(map[string]number, len(t.top))
	for _, r := range t.top {
		top[c.s.tokenName(&c.req.generation, r.id)] = number(r.logprob)
	}
	l.Tokens = append(l.Tokens, c.s.tokenName(&c.req.generation, t.id))
	l.Logprobs, l.Top, l.Offsets = append(l.Logprobs, &p), append(l.Top, top), append(l.Offsets, offset)
}

func (c completionShape) opening(int) any { return nil }

func (c completionShape) part(i int, k *chunk, _ int) any {
	out := completionChoice{Index: i, Text: k.text}
	if k.reason != "" {
		out.Reason = &k.reason
		if k.stopped != "" {
			out.Stopped = k.stopped
		}
	}
	if c.req.logprobs >= 0 && len(k.logprobs) > 0 {
		out.Logprobs = &completionLogprobs{}
		for _, t := range k.logprobs {
			c.add(out.Logprobs, t)
		}
	}
	return out
}
