package endpointtest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// object is a JSON object.
type object = map[string]any

// Engine plays one engine.
type Engine struct {
	Name, Version string // as probe.Target has them
	// traits of the engine's API
	owner       string
	forbids     []string // fields of requests that it has; nil: unknown ones are ignored
	flatErrors  bool
	nanIs400    bool   // NaN can't be written and fails the request
	addsOwn     bool   // a token that is none of the likeliest is listed as well
	onlyOthers  bool   // a token is left out of its own list
	chatForm    bool   // completions tell logprobs in the form of chats
	numbered    bool   // tokens in the form of chats have ids
	spelt       bool   // tokens of chats are told in the vocabulary's spelling
	silent      bool   // completions tell no logprobs
	counts      bool   // tokens of the prompt from the cache are told
	reasoningAs string // field of the reasoning
	one         bool   // n is always 1
	least       int    // with fewer alternatives no logprobs come
	routes      func(e *Engine, mux *http.ServeMux)

	mu    sync.Mutex
	cache map[string]bool // prompts that were computed
	// Requests are the bodies that came, with their paths.
	requests []string
}

// Engines are all that are played, each a fresh one.
func Engines() []*Engine {
	openaiFields := []string{"model", "messages", "prompt", "max_tokens", "temperature", "top_p", "n", "seed", "stop", "stream", "stream_options", "logprobs",
		"top_logprobs", "tools", "tool_choice", "response_format", "chat_template_kwargs"}
	return []*Engine{
		{Name: "vllm", Version: "0.32.0", owner: "vllm", nanIs400: true, addsOwn: true, reasoningAs: "reasoning", routes: (*Engine).vllm},
		{Name: "sglang", Version: "0.5.23", owner: "sglang", flatErrors: true, reasoningAs: "reasoning_content", routes: (*Engine).sglang},
		{Name: "llamacpp", Version: "b9010", owner: "llamacpp", chatForm: true, numbered: true, counts: true, least: 1, reasoningAs: "reasoning_content", routes: (*Engine).llamacpp},
		{Name: "trtllm", Version: "1.2.0", owner: "tensorrt_llm", flatErrors: true, forbids: append(openaiFields, "ignore_eos"), least: 1, reasoningAs: "reasoning_content", counts: true, routes: (*Engine).trtllm},
		{Name: "lmdeploy", owner: "lmdeploy", flatErrors: true, onlyOthers: true, spelt: true, silent: true, one: true, reasoningAs: "reasoning_content", routes: (*Engine).lmdeploy},
		{Name: "ollama", Version: "0.13.0", owner: "library", reasoningAs: "reasoning", routes: (*Engine).ollama},
		{Name: "shakedown", Version: "1.0.0", owner: "shakedown", counts: true, reasoningAs: "reasoning_content",
			forbids: append(slices.DeleteFunc(slices.Clone(openaiFields), func(s string) bool { return s == "response_format" }), "ignore_eos", "echo", "prompt_logprobs", "return_tokens_as_token_ids"), routes: (*Engine).shakedown},
		{Name: "", owner: "somebody", forbids: openaiFields, reasoningAs: "reasoning_content", routes: func(*Engine, *http.ServeMux) {}},
	}
}

// Handler answers as the engine does.
func (e *Engine) Handler() http.Handler {
	e.cache = map[string]bool{}
	mux := http.NewServeMux()
	card := object{"id": "letters", "object": "model", "created": 1700000000, "owned_by": e.owner}
	if e.owner == "vllm" || e.owner == "sglang" || e.owner == "shakedown" {
		card["max_model_len"] = context
	}
	if e.owner == "llamacpp" {
		card["meta"] = object{"n_ctx": context, "n_ctx_train": 4 * context, "n_vocab": len(vocabulary)}
	}
	get(mux, "/v1/models", object{"object": "list", "data": []object{card}})
	mux.HandleFunc("POST /v1/chat/completions", e.post(func(w http.ResponseWriter, b object) { e.openai(w, b, true) }))
	mux.HandleFunc("POST /v1/completions", e.post(func(w http.ResponseWriter, b object) { e.openai(w, b, false) }))
	e.routes(e, mux)
	return mux
}

// Bodies are the requests that came with a body, each behind its path.
func (e *Engine) Bodies() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

func (e *Engine) vllm(mux *http.ServeMux) {
	get(mux, "/version", object{"version": e.Version})
	get(mux, "/health", nil)
	text(mux, "/metrics", "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 1.0\nvllm:num_requests_running{engine=\"1\"} 2.0\n"+
		"vllm:cache_config_info{block_size=\"16\",cache_dtype=\"fp8\",engine=\"0\",num_gpu_blocks=\"364\"} 1.0\nprocess_start_time_seconds 1.7e+09\n")
	mux.HandleFunc("POST /tokenize", e.post(e.tokenize("prompt", "tokens")))
}

func (e *Engine) sglang(mux *http.ServeMux) {
	get(mux, "/server_info", object{"version": e.Version, "model_path": "/models/letters", "kv_cache_dtype": "fp8_e4m3", "page_size": 64, "chunked_prefill_size": 4096,
		"max_total_num_tokens": 16384, "max_running_requests": nil, "api_key": "sk-their-own-secret", "disable_radix_cache": false, "cuda_graph_bs": []int{1, 2},
		"status": "ready", "internal_states": []object{{"effective_max_running_requests_per_dp": 48}}})
	get(mux, "/health", nil)
	text(mux, "/metrics", "sglang:num_running_reqs{a=\"1\"} 3\n")
	mux.HandleFunc("POST /tokenize", e.post(e.tokenize("prompt", "tokens")))
	mux.HandleFunc("POST /generate", e.post(e.generateNative))
}

func (e *Engine) llamacpp(mux *http.ServeMux) {
	get(mux, "/props", object{"default_generation_settings": object{"n_ctx": context, "params": object{"temperature": 0.8, "top_k": 40}}, "total_slots": 4,
		"model_path": "/models/letters.gguf", "build_info": "b9010-abcdef", "chat_template": "{{ x }}"})
	get(mux, "/health", object{"status": "ok"})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		write(w, 501, object{"error": object{"code": 501, "message": "This server does not support metrics endpoint. Start it with `--metrics`", "type": "not_supported_error"}})
	})
	mux.HandleFunc("POST /tokenize", e.post(e.tokenize("content", "tokens")))
}

func (e *Engine) trtllm(mux *http.ServeMux) {
	get(mux, "/version", object{"version": e.Version})
	get(mux, "/health", nil)
	get(mux, "/metrics", []object{})
}

func (e *Engine) lmdeploy(mux *http.ServeMux) {
	get(mux, "/health", nil)
	mux.HandleFunc("POST /v1/encode", e.post(e.tokenize("input", "input_ids")))
}

func (e *Engine) ollama(mux *http.ServeMux) { get(mux, "/api/version", object{"version": e.Version}) }

func (e *Engine) shakedown(mux *http.ServeMux) {
	get(mux, "/get_server_info", object{"version": e.Version, "context": context, "max_running": 8, "cache_tokens": 1024})
	get(mux, "/health", nil)
	text(mux, "/metrics", "shakedown:generation_tokens_total{model_name=\"letters\"} 7\n")
	mux.HandleFunc("POST /tokenize", e.post(e.tokenize("prompt", "tokens")))
}

func get(mux *http.ServeMux, path string, v any) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		if v != nil {
			write(w, 200, v)
		}
	})
}

func text(mux *http.ServeMux, path, s string) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) })
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// fail writes an error as the engine does.
func (e *Engine) fail(w http.ResponseWriter, status int, param, format string, args ...any) {
	v := object{"message": fmt.Sprintf(format, args...), "type": "BadRequestError", "param": nil, "code": status}
	if param != "" {
		v["param"] = param
	}
	if e.flatErrors {
		v["object"] = "error"
	} else {
		v = object{"error": v}
	}
	write(w, status, v)
}

// post reads a body and refuses fields that a strict engine does not have.
func (e *Engine) post(f func(http.ResponseWriter, object)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var b object
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			e.fail(w, 400, "", "no JSON: %v", err)
			return
		}
		plain, err := json.Marshal(b)
		if err != nil {
			panic(err)
		}
		e.mu.Lock()
		e.requests = append(e.requests, r.URL.Path+" "+string(plain))
		e.mu.Unlock()
		for name := range b {
			if e.forbids != nil && strings.HasSuffix(r.URL.Path, "completions") && !slices.Contains(e.forbids, name) {
				e.fail(w, 400, "", "[{'type': 'extra_forbidden', 'loc': ('body', '%s'), 'msg': 'Extra inputs are not permitted'}]", name)
				return
			}
		}
		f(w, b)
	}
}

func (e *Engine) tokenize(from, to string) func(http.ResponseWriter, object) {
	return func(w http.ResponseWriter, b object) {
		s, ok := b[from].(string)
		if !ok {
			e.fail(w, 400, from, "%s is needed", from)
			return
		}
		ids := encode(s)
		write(w, 200, object{to: ids, "count": len(ids), "max_model_len": context, "token_strs": nil})
	}
}

// read takes a request in OpenAI's form.
func (e *Engine) read(b object, chat bool) *wish {
	num := func(name string, none int) int {
		if v, ok := b[name].(float64); ok {
			return int(v)
		}
		return none
	}
	w := &wish{max: num("max_tokens", 16), n: num("n", 1), seed: num("seed", 0), top: -1, hot: b["temperature"] != 0.0}
	switch v := b["stop"].(type) {
	case []any:
		for _, s := range v {
			w.stop = append(w.stop, s.(string))
		}
	case string:
		w.stop = []string{v}
	}
	w.ignoreEOS = b["ignore_eos"] == true
	w.noCache = b["cache_prompt"] == false || b["cache_salt"] != nil || b["prompt_logprobs"] != nil
	if e.one {
		w.n = 1
	}
	if !chat {
		w.top = num("logprobs", -1)
		switch p := b["prompt"].(type) {
		case string:
			w.prompt = encode(p)
		case []any:
			for _, id := range p {
				w.prompt = append(w.prompt, int(id.(float64)))
			}
		}
	} else {
		if b["logprobs"] == true {
			w.top = num("top_logprobs", 0)
		}
		for _, m := range b["messages"].([]any) {
			w.prompt = append(w.prompt, encode(m.(object)["content"].(string))...)
		}
		if b["tools"] != nil {
			w.script, w.max = "call", 4
		}
		if k, ok := b["chat_template_kwargs"].(object); ok && k["enable_thinking"] == true {
			w.script, w.max = "think", 5
		}
	}
	if w.top < e.least {
		w.top = -1
	}
	if f, ok := b["response_format"].(object); ok && f["type"] == "json_schema" && f["json_schema"].(object)["schema"] != nil {
		w.script, w.max = `{"a":1}`, 7
	}
	return w
}

// openai answers a chat or a completion, whole or as a stream.
func (e *Engine) openai(w http.ResponseWriter, b object, chat bool) {
	ask := e.read(b, chat)
	if len(ask.prompt)+ask.max > context {
		e.fail(w, 400, "input_tokens", "This model's maximum context length is %d tokens. However, your prompt contains %d.", context, len(ask.prompt))
		return
	}
	if ask.top > 20 {
		e.fail(w, 400, "logprobs", "Requested sample logprobs of %d, which is greater than max allowed: 20", ask.top)
		return
	}
	cached := e.cached(ask)
	var results []result
	answered := 0
	for i := range ask.n {
		r := generate(ask, i)
		results = append(results, r)
		answered += len(r.tokens)
	}
	usage := object{"prompt_tokens": len(ask.prompt), "completion_tokens": answered, "total_tokens": len(ask.prompt) + answered, "prompt_tokens_details": nil}
	if e.counts {
		usage["prompt_tokens_details"] = object{"cached_tokens": cached}
	}
	s := &shaper{e: e, ask: ask, body: b, chat: chat, ids: b["return_tokens_as_token_ids"] == true}
	if b["stream"] == true {
		e.stream(w, s, results, usage)
		return
	}
	if e.nanIs400 && ask.top >= 0 && slices.ContainsFunc(results, func(r result) bool { return len(r.tokens) > 0 && math.IsNaN(r.tokens[0].p) }) {
		e.fail(w, 400, "", "Out of range float values are not JSON compliant")
		return
	}
	out := object{"id": "x", "object": "answer", "created": 1, "model": "letters", "usage": usage}
	var choices []object
	for i := range results {
		choices = append(choices, s.whole(i, &results[i]))
	}
	out["choices"] = choices
	if b["prompt_logprobs"] != nil && !chat {
		list := s.promptMaps()
		if e.owner == "vllm" {
			choices[0]["prompt_logprobs"] = list
		} else {
			out["prompt_logprobs"] = list
		}
	}
	if e.owner == "llamacpp" {
		out["timings"] = object{"cache_n": cached, "predicted_per_second": 5.2}
	}
	write(w, 200, out)
}

// cached is how many of the prompt's tokens come from the cache.
func (e *Engine) cached(ask *wish) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := decode(ask.prompt)
	hit := e.cache[name] && !ask.noCache
	e.cache[name] = true
	if hit {
		return len(ask.prompt) - 1
	}
	return 0
}

func (e *Engine) stream(w http.ResponseWriter, s *shaper, results []result, usage object) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send := func(choices []object, usage any) {
		data, err := json.Marshal(object{"id": "x", "model": "letters", "choices": choices, "usage": usage})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	fmt.Fprint(w, ": a comment\n\n")
	for i := range results {
		if s.chat {
			send([]object{{"index": i, "delta": object{"role": "assistant", "content": nil}, "finish_reason": nil}}, nil)
		}
		for k := range results[i].tokens {
			send([]object{s.part(i, &results[i], k)}, nil)
		}
		send([]object{{"index": i, "text": "", "delta": object{}, "finish_reason": s.finish(&results[i])}}, nil)
	}
	if o, ok := s.body["stream_options"].(object); ok && o["include_usage"] == true {
		send([]object{}, usage)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// idName is a token's key in prompt_logprobs.
func idName(id int) string { return strconv.Itoa(id) }
