package endpointtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
)

// shaper writes answers in the form of one request.
type shaper struct {
	e    *Engine
	ask  *wish
	body object
	chat bool
	ids  bool // tokens are called "token_id:N"
}

// logprob is a number as servers write it: NaN is null.
func logprob(p float64) any {
	if math.IsNaN(p) {
		return nil
	}
	return p
}

func (s *shaper) name(id int) string {
	switch {
	case s.ids:
		return fmt.Sprintf("token_id:%d", id)
	case s.chat && s.e.spelt:
		return strings.ReplaceAll(decode([]int{id}), " ", "Ġ")
	}
	return decode([]int{id})
}

func (s *shaper) finish(r *result) any {
	if s.ask.script == "call" {
		return "tool_calls"
	}
	return r.finish
}

// whole is one choice of an answer that is no stream.
func (s *shaper) whole(i int, r *result) object {
	c := object{"index": i, "finish_reason": s.finish(r), "logprobs": nil}
	prompt := []told(nil)
	if s.chat {
		c["message"] = s.message(r.text, true)
	} else {
		c["text"] = r.text
		if s.body["echo"] == true {
			c["text"] = decode(s.ask.prompt) + r.text
			prompt = promptTold(s.ask.prompt)
		}
	}
	if s.ask.top >= 0 {
		c["logprobs"] = s.logprobs(append(prompt, r.tokens...))
	}
	return c
}

// message is the text of a chat, or what the script makes of it.
func (s *shaper) message(text string, whole bool) object {
	m := object{"content": text}
	if whole {
		m["role"] = "assistant"
	}
	switch s.ask.script {
	case "call":
		m["content"] = nil
		call := object{"index": 0, "id": "c", "type": "function", "function": object{"name": "clock", "arguments": `{"zone":"UTC"}`}}
		if !whole { // one letter of the arguments with each token
			call["function"] = object{"arguments": text}
		}
		m["tool_calls"] = []object{call}
	case "think":
		m["content"], m[s.e.reasoningAs] = "", text
	}
	return m
}

// part is what one token adds to a stream.
func (s *shaper) part(i int, r *result, k int) object {
	c := object{"index": i, "finish_reason": nil, "logprobs": nil}
	piece := ""
	if k < len(r.text) {
		piece = r.text[k : k+1]
	}
	if s.chat {
		c["delta"] = s.message(piece, false)
		if s.ask.script == "call" && k == 0 {
			c["delta"].(object)["tool_calls"] = []object{{"index": 0, "id": "c", "function": object{"name": "clock", "arguments": ""}}}
		}
	} else {
		c["text"] = piece
	}
	if s.ask.top >= 0 {
		c["logprobs"] = s.logprobs(r.tokens[k : k+1])
	}
	return c
}

func (s *shaper) logprobs(tokens []told) any {
	if s.e.silent && !s.chat {
		return nil
	}
	if s.chat || s.e.chatForm {
		var list []object
		for i := range tokens {
			t := &tokens[i]
			o := s.token(t.scored, false)
			var top []object
			for _, x := range t.best(s.ask.top, false) {
				if !s.e.onlyOthers || x.id != t.id {
					top = append(top, s.token(x, true))
				}
			}
			o["top_logprobs"] = top
			list = append(list, o)
		}
		return object{"content": list}
	}
	names, values, tops, offsets := []string{}, []any{}, []any{}, []int{}
	for i := range tokens {
		t := &tokens[i]
		names, values, offsets = append(names, s.name(t.id)), append(values, logprob(t.p)), append(offsets, -1)
		if t.all == nil {
			tops = append(tops, nil)
			continue
		}
		tops = append(tops, s.ordered(t.best(s.ask.top, s.e.addsOwn)))
	}
	return object{"tokens": names, "token_logprobs": values, "top_logprobs": tops, "text_offset": offsets}
}

// token is one token in the form of chats.
func (s *shaper) token(x scored, alternative bool) object {
	o := object{"token": s.name(x.id), "logprob": logprob(x.p)}
	o["bytes"] = numbers(decode([]int{x.id}))
	if s.e.spelt || s.ids && alternative {
		o["bytes"] = numbers(s.name(x.id))
	}
	if s.e.numbered {
		o["id"] = x.id
	}
	return o
}

func numbers(s string) []int {
	out := make([]int, len(s))
	for i := range len(s) {
		out[i] = int(s[i])
	}
	return out
}

// ordered is an object from text to logprob in the order of the list.
func (s *shaper) ordered(list []scored) json.RawMessage {
	return fields(list, func(x scored) (string, any) { return s.name(x.id), logprob(x.p) })
}

func fields(list []scored, f func(scored) (string, any)) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		name, value := f(x)
		n, err := json.Marshal(name)
		if err != nil {
			panic(err)
		}
		v, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		b.Write(n)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// promptMaps is vLLM's prompt_logprobs: the prompt's own token comes first.
func (s *shaper) promptMaps() []any {
	list := []any{nil}
	most := int(s.body["prompt_logprobs"].(float64))
	for _, t := range promptTold(s.ask.prompt)[1:] {
		all := append([]scored{t.scored}, t.best(most, false)...)
		for i := 1; i < len(all); i++ {
			if all[i].id == t.id {
				all = append(all[:i], all[i+1:]...)
				break
			}
		}
		list = append(list, fields(all, func(x scored) (string, any) {
			return idName(x.id), object{"logprob": logprob(x.p), "rank": 1, "decoded_token": decode([]int{x.id})}
		}))
	}
	return list
}

// generateNative is SGLang's /generate.
func (e *Engine) generateNative(w http.ResponseWriter, b object) {
	p, _ := b["sampling_params"].(object)
	ask := e.read(object{"max_tokens": p["max_new_tokens"], "temperature": p["temperature"], "n": p["n"], "stop": p["stop"], "ignore_eos": p["ignore_eos"],
		"seed": p["sampling_seed"], "prompt": b["input_ids"]}, false)
	if s, ok := b["text"].(string); ok {
		ask.prompt = encode(s)
	}
	if p["json_schema"] != nil {
		ask.script, ask.max = `{"a":1}`, 7
	}
	whole := b["logprob_start_len"] == 0.0
	ask.noCache = whole
	if len(ask.prompt)+ask.max > context {
		e.fail(w, 400, "", "The input (%d tokens) is longer than the model's context length (%d tokens).", len(ask.prompt), context)
		return
	}
	top, _ := b["top_logprobs_num"].(float64)
	triple := func(x scored) []any {
		t := []any{logprob(x.p), x.id, nil}
		if b["return_text_in_logprobs"] == true {
			t[2] = decode([]int{x.id})
		}
		return t
	}
	both := func(tokens []told) (own, tops []any) {
		own, tops = []any{}, []any{}
		for i := range tokens {
			own = append(own, triple(tokens[i].scored))
			if tokens[i].all == nil {
				tops = append(tops, nil)
				continue
			}
			var list []any
			for _, x := range tokens[i].best(int(top), false) {
				list = append(list, triple(x))
			}
			tops = append(tops, list)
		}
		return own, tops
	}
	cached := e.cached(ask)
	var list []object
	for i := range ask.n {
		r := generate(ask, i)
		meta := object{"finish_reason": object{"type": r.finish}, "prompt_tokens": len(ask.prompt), "completion_tokens": len(r.tokens), "cached_tokens": cached}
		meta["output_token_logprobs"], meta["output_top_logprobs"] = both(r.tokens)
		meta["input_token_logprobs"] = []any{}
		if whole {
			meta["input_token_logprobs"], meta["input_top_logprobs"] = both(promptTold(ask.prompt))
		}
		list = append(list, object{"text": r.text, "output_ids": []int{}, "meta_info": meta})
	}
	if ask.n == 1 {
		write(w, 200, list[0])
		return
	}
	write(w, 200, list)
}
