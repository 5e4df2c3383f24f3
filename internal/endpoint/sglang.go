package endpoint

import (
	"encoding/json"
	"fmt"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// sglang is read in the source of 0.5.23 (srt/entrypoints, srt/managers/io_struct.py)
// and seen in the answers of that release.
var sglang = dialect{
	engine: "sglang",
	features: func(flags.Version) probe.Features {
		return probe.Features{
			Chat: true, Completions: true, TokenPrompts: true, IDs: true, Tokenize: true, Logprobs: true, Top: 20, Echo: true,
			NoCache: true, IgnoreEOS: true, Health: true, Metrics: true, Tools: true, Schema: true, Seed: true,
		}
	},
	refine: func(b *body, _ *probe.Target, a *probe.Ask, v flags.Version) {
		if a.NoCache && since(v, "0.5.3") {
			b.option("cache_salt", b.salt())
		}
	},
	native:   sglangNative,
	tokenize: tokenizeRequest,
	health:   "/health",
	metrics:  "/metrics",
}

// sglangNative asks /generate for completions with logprobs: it alone tells token
// ids and the prompt's logprobs. A request without sampling fields stays in
// OpenAI's form, because /generate does not take the model's own defaults.
func sglangNative(s *Server, t *probe.Target, a *probe.Ask) *request {
	if a.Kind != probe.Completion || a.Stream || a.Sampling == probe.Plain || !a.Echo && a.Top < 0 {
		return nil
	}
	params := body{}
	if a.Max > 0 || a.Echo {
		params.set("max_new_tokens", max(1, a.Max))
	}
	params.sampling(a)
	if len(a.Stop) > 0 {
		params.option("stop", a.Stop)
	}
	if a.IgnoreEOS {
		params.option("ignore_eos", true)
	}
	if a.Seed != nil {
		params.option("sampling_seed", *a.Seed)
	}
	if a.Schema != "" {
		params.option("json_schema", a.Schema)
	}
	var b body
	if a.Tokens != nil {
		b.set("input_ids", a.Tokens)
	} else {
		b.set("text", a.Prompt)
	}
	b.set("sampling_params", params.object)
	b.optional = params.optional
	b.set("return_logprob", true)
	b.option("top_logprobs_num", likeliest(t, a))
	b.option("return_text_in_logprobs", true)
	if a.Echo || a.NoCache {
		// The engine leaves the prefix cache out for a request that asks for the
		// logprobs of its prompt from the beginning.
		b.option("logprob_start_len", 0)
	}
	return &request{path: "/generate", body: b, read: readGenerate}
}

// generated is one answer of /generate.
type generated struct {
	Text string          `json:"text"`
	Err  json.RawMessage `json:"error"`
	Meta *struct {
		Finish    json.RawMessage `json:"finish_reason"`
		Prompt    *int            `json:"prompt_tokens"`
		Answer    *int            `json:"completion_tokens"`
		Cached    *int            `json:"cached_tokens"`
		Input     []triple        `json:"input_token_logprobs"`
		InputTop  [][]triple      `json:"input_top_logprobs"`
		Output    []triple        `json:"output_token_logprobs"`
		OutputTop [][]triple      `json:"output_top_logprobs"`
	} `json:"meta_info"`
}

// triple is [logprob, id, text or null].
type triple struct {
	p    number
	id   int
	text string
}

// UnmarshalJSON never fails: what is missing is unknown.
func (t *triple) UnmarshalJSON(data []byte) error {
	*t = triple{p: number{Null: true}, id: -1}
	var parts []json.RawMessage
	if json.Unmarshal(data, &parts) != nil {
		return nil
	}
	if len(parts) > 0 {
		_ = t.p.UnmarshalJSON(parts[0]) // never fails
	}
	if len(parts) > 1 && json.Unmarshal(parts[1], &t.id) != nil {
		t.id = -1
	}
	if len(parts) > 2 && json.Unmarshal(parts[2], &t.text) != nil {
		t.text = ""
	}
	return nil
}

// readGenerate reads one answer, or a list of them where several were asked for.
func readGenerate(r *reader, data []byte) error {
	var list []generated
	if strings.HasPrefix(strings.TrimSpace(string(data[:min(len(data), 64)])), "[") {
		odd, err := readJSON(data, &list)
		if err != nil {
			return err
		}
		r.note(odd)
	} else {
		list = make([]generated, 1)
		odd, err := readJSON(data, &list[0])
		if err != nil {
			return err
		}
		r.note(odd)
	}
	if len(list) == 0 {
		return fmt.Errorf("it is an empty list")
	}
	for i := range list {
		g := &list[i]
		if e := errorIn(g.Err); e != nil {
			r.answer.Failure, r.answer.Error = probe.Status, e.words()
			return nil
		}
		if g.Meta == nil {
			return fmt.Errorf("it has no meta_info")
		}
		c := r.choice(i)
		if c == nil {
			return nil
		}
		c.Text = g.Text
		r.generatedEnd(c, g.Meta.Finish)
		c.Tokens = tokensOf(g.Meta.Output, g.Meta.OutputTop)
		c.Told = g.Meta.Output != nil
		if i == 0 && r.ask.Echo {
			r.answer.Prompt = tokensOf(g.Meta.Input, g.Meta.InputTop)
		}
		take := func(to *int, from *int, sum bool) {
			switch {
			case from == nil || *from < 0:
			case sum && *to > 0:
				*to += *from
			default:
				*to = *from
			}
		}
		take(&r.answer.PromptCount, g.Meta.Prompt, false)
		take(&r.answer.AnswerCount, g.Meta.Answer, true)
		take(&r.answer.Cached, g.Meta.Cached, false)
	}
	return nil
}

// generatedEnd reads {"type": "stop", "matched": 2}.
func (r *reader) generatedEnd(c *probe.Choice, data json.RawMessage) {
	var v struct {
		Type    string `json:"type"`
		Matched any    `json:"matched"`
		Message string `json:"message"`
	}
	if len(data) == 0 || json.Unmarshal(data, &v) != nil {
		return
	}
	c.Finish = v.Type
	if s, ok := v.Matched.(string); ok && strings.Contains(s, "NaN") {
		r.strange("the answer was ended by matched_stop %q", clip(s, 80))
	}
	if v.Type == "abort" {
		r.answer.Failure, r.answer.Error = probe.Status, "the server aborted the request: "+clip(v.Message, maxWords)
	}
}

func tokensOf(list []triple, top [][]triple) []probe.Token {
	out := make([]probe.Token, len(list))
	for i, x := range list {
		out[i] = probe.Token{ID: x.id, Text: x.text, Logprob: probe.Logprob(x.p)}
		if i >= len(top) {
			continue
		}
		for _, y := range top[i] {
			out[i].Top = append(out[i].Top, probe.Ranked{ID: y.id, Text: y.text, Logprob: probe.Logprob(y.p)})
		}
		sortLikeliest(out[i].Top)
	}
	return out
}
