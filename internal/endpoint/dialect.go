package endpoint

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// dialect is how one engine is asked. All functions are pure.
type dialect struct {
	engine string // as probe.Target.Engine
	// features are what a release can; version may be unknown.
	features func(v flags.Version) probe.Features
	// refine adds the engine's own fields to a request in OpenAI's form, and names
	// those that a server may refuse.
	refine func(b *body, t *probe.Target, a *probe.Ask, v flags.Version)
	// native, if not nil, makes the request in the engine's own API; nil when it is
	// to be asked in OpenAI's form.
	native   func(s *Server, t *probe.Target, a *probe.Ask) *request
	tokenize func(t *probe.Target, a *probe.Ask) *request // nil: it has no such endpoint
	health   string                                       // path; empty: none
	metrics  string                                       // path; empty: none
	// refusals are further words with which the engine refuses an optional
	// parameter, without naming it as it is spelt in the request.
	refusals []string
	least    int  // alternatives that must be asked for, or no logprobs come
	spelt    bool // chats tell the bytes of a token's name, see reader.spelt
}

// body is a request in the making.
type body struct {
	object
	optional []string // fields that a server may refuse without being wrong
	echoed   bool     // prompt and answer will come in one list of tokens
	salt     func() string
}

// option adds a field that a server may refuse.
func (b *body) option(name string, value any) {
	b.set(name, value)
	b.optional = append(b.optional, name)
}

// byID asks for ids in place of texts where the prompt is given in ids: several
// tokens have the same text (half a character), and then no text has to be put
// together from them.
func (b *body) byID(a *probe.Ask) {
	if a.Tokens != nil && (a.Top >= 0 || a.Echo) {
		b.option("return_tokens_as_token_ids", true)
	}
}

// request is a call with the reader of its answer.
type request struct {
	path string
	body body
	read func(r *reader, data []byte) error // nil: OpenAI's form
}

// dialects, by probe.Target.Engine; the empty name is a server that was not
// recognised.
var dialects = map[string]*dialect{
	"":          &openai,
	"sglang":    &sglang,
	"vllm":      &vllm,
	"llamacpp":  &llamacpp,
	"trtllm":    &trtllm,
	"lmdeploy":  &lmdeploy,
	"ollama":    &ollama,
	"shakedown": &shakedown,
}

func dialectOf(engine string) *dialect {
	if d := dialects[engine]; d != nil {
		return d
	}
	return &openai
}

// since says whether a release is known to be at least this one. An unknown version
// is taken for a new one: a field that an old server does not know is ignored or
// refused by name.
func since(v flags.Version, least string) bool {
	if !v.Known() {
		return true
	}
	l, err := flags.ParseVersion(least)
	return err == nil && v.Compare(l) >= 0
}

// newSalt is a text that no other request has.
func newSalt() string {
	var b [12]byte
	rand.Read(b[:])
	return "shakedown-" + hex.EncodeToString(b[:])
}

// openai is a server of which only the API of OpenAI is assumed.
var openai = dialect{
	features: func(flags.Version) probe.Features {
		return probe.Features{Chat: true, Completions: true, Logprobs: true, Top: 5, Health: true, Metrics: true, Tools: true, Schema: true, Seed: true}
	},
	refine:  func(*body, *probe.Target, *probe.Ask, flags.Version) {},
	health:  "/health",
	metrics: "/metrics",
}

// chatBody is a chat in OpenAI's form.
func chatBody(t *probe.Target, a *probe.Ask) object {
	var o object
	o.set("model", t.Model)
	messages := make([]object, len(a.Messages))
	for i, m := range a.Messages {
		messages[i] = object{{"role", m.Role}, {"content", m.Content}}
	}
	o.set("messages", messages)
	return o
}

// generation adds what chats and completions share.
func (b *body) generation(t *probe.Target, a *probe.Ask) {
	if a.Max > 0 || a.Echo { // servers refuse 0
		b.set("max_tokens", max(1, a.Max))
	}
	b.sampling(a)
	if a.Seed != nil {
		b.option("seed", *a.Seed)
	}
	if len(a.Stop) > 0 {
		b.option("stop", a.Stop)
	}
	if a.Stream {
		b.set("stream", true)
		b.option("stream_options", object{{"include_usage", true}})
	}
	if a.IgnoreEOS && t.Has.IgnoreEOS { // no word of OpenAI's, but the same in all engines that have it
		b.option("ignore_eos", true)
	}
}

// sampling adds how tokens are chosen, and for how many answers.
func (b *body) sampling(a *probe.Ask) {
	switch a.Sampling {
	case probe.Greedy:
		b.set("temperature", 0)
	case probe.Hot:
		b.set("temperature", 1)
		b.set("top_p", 1)
	}
	if a.N > 1 {
		b.option("n", a.N)
	}
}

// likeliest is how many alternatives are asked for: no more than the server tells.
func likeliest(t *probe.Target, a *probe.Ask) int {
	n := max(0, a.Top)
	if t.Has.Top > 0 {
		n = min(n, t.Has.Top)
	}
	return n
}

// chatRequest is a chat in OpenAI's form.
func chatRequest(d *dialect, s *Server, t *probe.Target, a *probe.Ask, v flags.Version) *request {
	b := body{object: chatBody(t, a), salt: s.salt}
	b.generation(t, a)
	if a.Top >= 0 {
		b.option("logprobs", true)
		b.option("top_logprobs", max(d.least, likeliest(t, a)))
	}
	if len(a.Tools) > 0 {
		var tools []object
		for _, x := range a.Tools {
			tools = append(tools, object{{"type", "function"}, {"function", object{{"name", x.Name}, {"description", x.Description}, {"parameters", jsonOrText(x.Parameters)}}}})
		}
		b.option("tools", tools)
	}
	b.schema(a)
	if a.Thinking != nil {
		b.option("chat_template_kwargs", object{{"enable_thinking", *a.Thinking}, {"thinking", *a.Thinking}})
	}
	d.refine(&b, t, a, v)
	return &request{path: "/v1/chat/completions", body: b}
}

func (b *body) schema(a *probe.Ask) {
	if a.Schema != "" {
		b.option("response_format", object{{"type", "json_schema"}, {"json_schema", object{{"name", "answer"}, {"strict", true}, {"schema", jsonOrText(a.Schema)}}}})
	}
}

// completionRequest is a completion in OpenAI's form.
func completionRequest(d *dialect, s *Server, t *probe.Target, a *probe.Ask, v flags.Version) *request {
	b := body{salt: s.salt}
	b.set("model", t.Model)
	if a.Tokens != nil {
		b.set("prompt", a.Tokens)
	} else {
		b.set("prompt", a.Prompt)
	}
	b.generation(t, a)
	if a.Top >= 0 {
		b.option("logprobs", max(d.least, likeliest(t, a)))
	}
	b.schema(a)
	d.refine(&b, t, a, v)
	return &request{path: "/v1/completions", body: b}
}

// tokenizeRequest is the form of vLLM, which SGLang and shakedown share.
func tokenizeRequest(t *probe.Target, a *probe.Ask) *request {
	var b body
	if len(a.Messages) > 0 {
		b.object = chatBody(t, a)
		b.set("add_generation_prompt", true)
	} else {
		b.set("model", t.Model)
		b.set("prompt", a.Prompt)
		b.set("add_special_tokens", true)
	}
	return &request{path: "/tokenize", body: b, read: readTokens("tokens")}
}

// jsonOrText is JSON as it is; what is none goes as a text, for the server to
// refuse.
func jsonOrText(s string) any {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return rawOr(s)
}
