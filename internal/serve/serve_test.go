package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
	"shakedown/internal/oracle/sample"
	"shakedown/internal/serve"
)

// config serves a tiny model of a family.
func config(t testing.TB, family string) serve.Config {
	t.Helper()
	src, err := load.Open(oracletest.Write(t, oracletest.Configs[family], oracletest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	num, err := numerics.Parse("exact")
	if err != nil {
		t.Fatal(err)
	}
	m, err := src.Model(num)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := chat.New(map[string]string{chat.Default: oracletest.LettersTemplate}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return serve.Config{
		Model: m, Tokenizer: oracletest.Letters(t), Templates: ts, Name: "tiny", Defaults: sample.Default(),
		Limits: serve.Limits{Context: 128, Running: 8, Queued: 32, Tokens: 1024, Chunk: 8},
		Info:   map[string]any{"numerics": num}, Log: slog.New(slog.DiscardHandler), Now: time.Now, Reasoning: true, Tools: true,
	}
}

// start runs a server until the test ends.
func start(t testing.TB, c serve.Config) (*serve.Server, string) {
	t.Helper()
	s := serve.New(c)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.Close(); cancel(); <-over })
	return s, h.URL
}

// post sends a request and returns the status and the body.
func post(t testing.TB, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// completion is what the tests look at.
type completion struct {
	Choices []struct {
		Index        int
		Text         string
		FinishReason string `json:"finish_reason"`
		StopReason   any    `json:"stop_reason"`
		Logprobs     *struct {
			Tokens        []string
			TokenLogprobs []*float32           `json:"token_logprobs"`
			TopLogprobs   []map[string]float32 `json:"top_logprobs"`
		}
		Message struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
		}
		Delta struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
		}
	}
	Usage *struct {
		Prompt  int `json:"prompt_tokens"`
		Answer  int `json:"completion_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	PromptLogprobs []map[string]struct {
		Logprob float32
		Rank    int
	} `json:"prompt_logprobs"`
}

func complete(t testing.TB, url, body string) completion {
	t.Helper()
	status, text := post(t, url, body)
	if status != 200 {
		t.Fatalf("%s: %d %s", body, status, text)
	}
	var c completion
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return c
}

// request is the body of a completion.
func request(prompt string, more string) string {
	return fmt.Sprintf(`{"model":"tiny","prompt":%q,"max_tokens":12,"logprobs":2%s}`, prompt, more)
}

// TestAloneAndAmongOthers: an answer has the same bits, whatever else runs, in
// every family; also when its beginning comes from the prefix cache.
func TestAloneAndAmongOthers(t *testing.T) {
	for _, family := range slices.Sorted(maps.Keys(oracletest.Configs)) {
		t.Run(family, func(t *testing.T) {
			_, alone := start(t, config(t, family))
			_, busy := start(t, config(t, family))
			var bodies []string
			for i, prompt := range []string{"the quick brown fox", "a", "the quick brown dog jumps over it", "0123456789 0123456789", "the quick", "end."} {
				bodies = append(bodies, request(prompt, fmt.Sprintf(`,"seed":%d,"temperature":%d`, i, i%2)))
			}
			want := make([]completion, len(bodies))
			for i, b := range bodies {
				want[i] = complete(t, alone+"/v1/completions", b)
			}
			for round := range 2 { // the second finds its beginnings in the cache
				got := make([]completion, len(bodies))
				var wg sync.WaitGroup
				for i, b := range bodies {
					wg.Go(func() { got[i] = complete(t, busy+"/v1/completions", b) })
				}
				wg.Wait()
				for i := range bodies {
					if diff := cmp.Diff(want[i].Choices, got[i].Choices); diff != "" {
						t.Errorf("round %d, %s:\n%s", round, bodies[i], diff)
					}
				}
				if round == 1 && !slices.ContainsFunc(got, func(c completion) bool { return c.Usage.Details.Cached > 0 }) {
					t.Error("no beginning came from the cache")
				}
			}
		})
	}
}

// TestReuse: a beginning is computed once for all answers that have it, whether they
// come together or later, and a short beginning costs a long one nothing.
func TestReuse(t *testing.T) {
	c := config(t, "qwen3")
	_, url := start(t, c)
	computed := func() (n int) {
		t.Helper()
		_, metrics := get(t, url+"/metrics")
		_, rest, _ := strings.Cut(metrics, `shakedown:prompt_tokens_total{model_name="tiny"} `)
		if _, err := fmt.Sscan(rest, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	long := "the quick brown fox jumps over the lazy dog"
	for _, step := range []struct {
		prompt   string
		n        int
		computed int // tokens of prompts, at most
	}{
		{long, 4, len(long) + 3*c.Limits.Chunk},         // nobody waits for the last piece
		{long + " twice", 1, len(" twice")},             // goes on from a kept text
		{"the quick", 1, 1},                             // its last token
		{"the quack", 2, 2 * len("ack")},                // copies of a kept beginning
		{long + " twice and once", 1, len(" and once")}, // still there
	} {
		before := computed()
		complete(t, url+"/v1/completions", fmt.Sprintf(`{"prompt":%q,"n":%d,"max_tokens":1,"ignore_eos":true,"seed":1}`, step.prompt, step.n))
		if got := computed() - before; got < 1 || got > step.computed {
			t.Errorf("%q, %d choices: %d tokens of prompts were computed, want at most %d", step.prompt, step.n, got, step.computed)
		}
	}
}

// events are the messages of a stream.
func events(t testing.TB, url, body string) []string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

func TestStream(t *testing.T) {
	_, url := start(t, config(t, "qwen3"))
	for _, c := range []struct{ path, body string }{
		{"/v1/completions", `{"prompt":"hello","max_tokens":20,"temperature":0%s}`},
		{"/v1/completions", `{"prompt":"hello","max_tokens":20,"seed":3,"n":3%s}`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":20,"seed":4,"n":2%s}`},
	} {
		want := complete(t, url+c.path, fmt.Sprintf(c.body, ""))
		list := events(t, url+c.path, fmt.Sprintf(c.body, `,"stream":true,"stream_options":{"include_usage":true}`))
		if len(list) < 3 || list[len(list)-1] != "[DONE]" {
			t.Fatalf("%s: %v", c.body, list)
		}
		text, reason := make([]string, len(want.Choices)), make([]string, len(want.Choices))
		var last completion
		for _, data := range list[:len(list)-1] {
			last = completion{}
			if err := json.Unmarshal([]byte(data), &last); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
			for _, k := range last.Choices {
				text[k.Index] += k.Text + k.Delta.Content + k.Delta.Reasoning
				reason[k.Index] += k.FinishReason
			}
		}
		for i, k := range want.Choices {
			if whole := k.Text + k.Message.Reasoning + k.Message.Content; text[i] != whole || reason[i] != k.FinishReason {
				t.Errorf("%s: choice %d streamed %q (%s), whole %q (%s)", c.path, i, text[i], reason[i], whole, k.FinishReason)
			}
		}
		if last.Usage == nil || last.Usage.Answer != want.Usage.Answer || len(last.Choices) != 0 {
			t.Errorf("%s: the last message is %+v, want the usage %+v", c.path, last, want.Usage)
		}
	}
}

func TestParameters(t *testing.T) {
	_, url := start(t, config(t, "llama"))
	url += "/v1/completions"
	plain := complete(t, url, request("hello there", `,"temperature":0`))
	text := plain.Choices[0].Text
	if len(text) < 8 || plain.Choices[0].FinishReason != "length" || plain.Usage.Answer != 12 || plain.Usage.Prompt != 11 {
		t.Fatalf("%+v", plain)
	}
	stop := text[3:5]
	at := strings.Index(text, stop)
	if c := complete(t, url, request("hello there", fmt.Sprintf(`,"temperature":0,"stop":[%q]`, stop))).Choices[0]; c.Text != text[:at] || c.FinishReason != "stop" || c.StopReason != stop {
		t.Errorf("stop %q of %q: %+v", stop, text, c)
	}
	tokens := oracletest.Letters(t).Encode(text, false)
	at = slices.Index(tokens, tokens[2])
	c := complete(t, url, request("hello there", fmt.Sprintf(`,"temperature":0,"stop_token_ids":[%d]`, tokens[2]))).Choices[0]
	if c.Text != oracletest.Letters(t).Decode(tokens[:at], false) || c.FinishReason != "stop" {
		t.Errorf("stop token %d of %q: %+v", tokens[2], text, c)
	}
	if c := complete(t, url, request("hello there", fmt.Sprintf(`,"temperature":0,"logit_bias":{"%d":-100}`, tokens[0]))).Choices[0]; c.Text[0] == text[0] {
		t.Errorf("a token that the bias rules out came: %q", c.Text)
	}
	two := complete(t, url, request("hello there", `,"n":2,"seed":5`))
	again := complete(t, url, request("hello there", `,"n":2,"seed":5`))
	if len(two.Choices) != 2 || two.Choices[0].Text == two.Choices[1].Text || two.Usage.Prompt != 11 || two.Usage.Answer != 24 {
		t.Errorf("n=2: %+v", two)
	}
	if diff := cmp.Diff(two.Choices, again.Choices); diff != "" {
		t.Errorf("the same seed gives another answer:\n%s", diff)
	}
	many := complete(t, url, `{"prompt":["ab",  "cd"],"max_tokens":2,"temperature":0}`)
	ids := complete(t, url, `{"prompt":[[0,1],[2,3]],"max_tokens":2,"temperature":0}`)
	if diff := cmp.Diff(many.Choices, ids.Choices); diff != "" || len(many.Choices) != 2 {
		t.Errorf("texts and ids:\n%s", diff)
	}
}

// TestPromptLogprobs: what the prompt's tokens get is what decoding gave them.
func TestPromptLogprobs(t *testing.T) {
	_, url := start(t, config(t, "deepseek_v3"))
	url += "/v1/completions"
	a := complete(t, url, request("once", `,"temperature":0`)).Choices[0]
	b := complete(t, url, fmt.Sprintf(`{"prompt":%q,"max_tokens":1,"temperature":0,"logprobs":1,"echo":true,"prompt_logprobs":1}`, "once"+a.Text))
	e := b.Choices[0]
	if !strings.HasPrefix(e.Text, "once"+a.Text) || len(b.PromptLogprobs) != 16 || b.PromptLogprobs[0] != nil || e.Logprobs.TokenLogprobs[0] != nil {
		t.Fatalf("echo %q with %d logprobs", e.Text, len(b.PromptLogprobs))
	}
	for i := range 12 {
		if x, y := *a.Logprobs.TokenLogprobs[i], *e.Logprobs.TokenLogprobs[4+i]; x != y {
			t.Errorf("token %d: decoded %v, as part of the prompt %v", i, x, y)
		}
	}
	for i, m := range b.PromptLogprobs[4:] {
		if len(m) != 1 { // the likeliest token is the token itself
			t.Errorf("token %d: %v", i, m)
		}
	}
}

// TestTokensAsIDs: the same logprobs under the ids of the tokens.
func TestTokensAsIDs(t *testing.T) {
	c := config(t, "llama")
	_, url := start(t, c)
	ids, err := json.Marshal(c.Tokenizer.Encode("once upon", true))
	if err != nil {
		t.Fatal(err)
	}
	body := func(more string) string {
		return fmt.Sprintf(`{"prompt":%s,"max_tokens":4,"temperature":0,"logprobs":3,"echo":true%s}`, ids, more)
	}
	texts := complete(t, url+"/v1/completions", body("")).Choices[0].Logprobs
	named := complete(t, url+"/v1/completions", body(`,"return_tokens_as_token_ids":true`)).Choices[0].Logprobs
	if diff := cmp.Diff(texts.TokenLogprobs, named.TokenLogprobs); diff != "" {
		t.Error(diff)
	}
	text := func(name string) string {
		id, err := strconv.Atoi(strings.TrimPrefix(name, "token_id:"))
		if err != nil || !strings.HasPrefix(name, "token_id:") {
			t.Fatalf("the token %q is no id", name)
		}
		return strings.ToValidUTF8(c.Tokenizer.Raw(id), "\uFFFD")
	}
	for i, name := range named.Tokens {
		if text(name) != texts.Tokens[i] || len(named.TopLogprobs[i]) < len(texts.TopLogprobs[i]) {
			t.Errorf("token %d: %q for %q, %v for %v", i, name, texts.Tokens[i], named.TopLogprobs[i], texts.TopLogprobs[i])
		}
		for name, p := range named.TopLogprobs[i] {
			if q, ok := texts.TopLogprobs[i][text(name)]; ok && p != q {
				t.Errorf("token %d: %q has %g, %q has %g", i, name, p, text(name), q)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	c := config(t, "qwen2")
	_, url := start(t, c)
	for _, x := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/completions", `{"prompt":"a","response_format":{"type":"text"}}`, 400, `"param":"response_format","code":"unsupported_parameter"`},
		{"/v1/completions", `{"prompt":"a","best_of":2}`, 400, "best_of"},
		{"/v1/completions", `{"prompt":"a"`, 400, "not a JSON object"},
		{"/v1/completions", `[]`, 400, "not a JSON object"},
		{"/v1/completions", `{"prompt":"a"} x`, 400, "behind its JSON object"},
		{"/v1/completions", `{"prompt":7}`, 400, "prompt must be"},
		{"/v1/completions", `{}`, 400, "prompt is needed"},
		{"/v1/completions", `{"prompt":""}`, 400, "no token"},
		{"/v1/completions", `{"prompt":[64]}`, 400, "token id 64"},
		{"/v1/completions", `{"prompt":"a","max_tokens":0}`, 400, `"param":"max_tokens"`},
		{"/v1/completions", `{"prompt":"a","max_tokens":200}`, 400, "context_length_exceeded"},
		{"/v1/completions", `{"prompt":"` + strings.Repeat("a", 128) + `"}`, 400, `"param":"prompt","code":"context_length_exceeded"`},
		{"/v1/completions", `{"prompt":"a","temperature":6}`, 400, `"param":"temperature"`},
		{"/v1/completions", `{"prompt":"a","temperature":"hot"}`, 400, "temperature has an unexpected value"},
		{"/v1/completions", `{"prompt":"a","top_p":0}`, 400, `"param":"top_p"`},
		{"/v1/completions", `{"prompt":"a","n":100}`, 400, `"param":"n"`},
		{"/v1/completions", `{"prompt":["a","b","c"],"n":11}`, 400, "asks for 33 answers, and this server's queue has room for 32"},
		{"/v1/completions", `{"prompt":"a","stop":[""]}`, 400, `"param":"stop"`},
		{"/v1/completions", `{"prompt":"a","logit_bias":{"x":1}}`, 400, `"param":"logit_bias"`},
		{"/v1/completions", `{"prompt":"a","logprobs":100}`, 400, `"param":"logprobs"`},
		{"/v1/completions", `{"prompt":"a","model":"gpt-4"}`, 404, "model_not_found"},
		{"/v1/chat/completions", `{}`, 400, "messages is needed"},
		{"/v1/chat/completions", `{"messages":[]}`, 400, "messages is empty"},
		{"/v1/chat/completions", `{"messages":[{"content":"a"}]}`, 400, "has no role"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "image_url"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"top_logprobs":2}`, 400, "needs logprobs"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"tool_choice":"required"}`, 400, "tool_choice"},
		{"/v1/embeddings", `{}`, 404, "there is no POST /v1/embeddings"},
		{"/detokenize", `{"tokens":[99]}`, 400, "no token 99"},
		{"/tokenize", `{"prompt":"a","messages":[]}`, 400, "either prompt or messages"},
	} {
		status, body := post(t, url+x.path, x.body)
		var e struct {
			Error *struct{ Message, Type string }
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error == nil || e.Error.Type == "" || status != x.status || !strings.Contains(body, x.want) {
			t.Errorf("%s %s: %d %s, want %d and %q", x.path, x.body, status, body, x.status, x.want)
		}
	}
	if status, body := post(t, url+"/v1/completions", `{"prompt":"`+strings.Repeat("a", serve.MaxBody)+`"}`); status != 413 || !strings.Contains(body, "larger than") {
		t.Errorf("an oversize body: %d %s", status, body)
	}
	if got := complete(t, url+"/v1/completions", request("still alive", "")); len(got.Choices) != 1 {
		t.Error("the server does not answer any more")
	}
}

func TestTokenize(t *testing.T) {
	_, url := start(t, config(t, "qwen2"))
	if _, body := post(t, url+"/tokenize", `{"prompt":"abc"}`); !strings.Contains(body, `"tokens":[0,1,2]`) || !strings.Contains(body, `"count":3`) {
		t.Error(body)
	}
	if _, body := post(t, url+"/tokenize", `{"messages":[{"role":"user","content":[{"type":"text","text":"ab"}]}]}`); !strings.Contains(body, `"tokens":[62,0,1,63]`) {
		t.Error(body)
	}
	if _, body := post(t, url+"/detokenize", `{"tokens":[0,1,61]}`); !strings.Contains(body, `"prompt":"ab<|end|>"`) {
		t.Error(body)
	}
}

func get(t testing.TB, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func TestOthers(t *testing.T) {
	c := config(t, "qwen2")
	c.APIKey = "key"
	_, url := start(t, c)
	if status, body := get(t, url+"/v1/models"); status != 401 || strings.Contains(body, "key\"") && strings.Contains(body, `"key"`) {
		t.Errorf("without a key: %d %s", status, body)
	}
	if status, _ := get(t, url+"/health"); status != 200 {
		t.Errorf("health: %d", status)
	}
	req, err := http.NewRequest("GET", url+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer key")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("with the key: %v, %v", resp, err)
	}
	resp.Body.Close()
	c.APIKey = ""
	_, url = start(t, c)
	complete(t, url+"/v1/completions", request("a b c", ""))
	for path, want := range map[string]string{
		"/metrics": `shakedown:generation_tokens_total{model_name="tiny"} 12`, "/get_server_info": `"Name":"exact"`, "/v1/models": `"max_model_len":128`,
	} {
		if _, body := get(t, url+path); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
}

// TestQueue: what does not fit is refused, and answers are not harmed.
func TestQueue(t *testing.T) {
	c := config(t, "glm_moe_dsa")
	c.Limits.Running, c.Limits.Queued = 1, 2
	_, url := start(t, c)
	var mu sync.Mutex
	count := make(map[int]int)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			resp, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"hello","max_tokens":60,"ignore_eos":true}`))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
			if resp.StatusCode == 429 && resp.Header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
			mu.Lock()
			count[resp.StatusCode]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if count[200] < 2 || count[429] == 0 || count[200]+count[429] != 12 {
		t.Errorf("%v", count)
	}
}

// TestClientGone: the work for a client that left is dropped.
func TestClientGone(t *testing.T) {
	c := config(t, "glm_moe_dsa")
	c.Limits.Context, c.Limits.Tokens = 4000, 4000
	_, url := start(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(`{"prompt":"hello","max_tokens":3900,"ignore_eos":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if _, err := resp.Body.Read(buf); err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	// This one needs the room of the other.
	if got := complete(t, url+"/v1/completions", `{"prompt":"hello","max_tokens":3,"ignore_eos":true}`); got.Usage.Answer != 3 {
		t.Errorf("%+v", got)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, body := get(t, url+"/metrics"); strings.Contains(body, `num_requests_running{model_name="tiny"} 0`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the answer of a client that left still runs")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestDrain: what runs is finished, what comes is refused.
func TestDrain(t *testing.T) {
	c := config(t, "glm_moe_dsa")
	s := serve.New(c)
	over := make(chan struct{})
	go func() { defer close(over); s.Run(context.Background()) }()
	h := httptest.NewServer(s)
	defer h.Close()
	answer := make(chan completion)
	go func() {
		answer <- complete(t, h.URL+"/v1/completions", `{"prompt":"hello","max_tokens":100,"ignore_eos":true}`)
	}()
	for {
		if _, body := get(t, h.URL+"/metrics"); strings.Contains(body, `num_requests_running{model_name="tiny"} 1`) {
			break
		}
	}
	s.Drain()
	if status, body := post(t, h.URL+"/v1/completions", `{"prompt":"a"}`); status != 503 || !strings.Contains(body, "shutting down") {
		t.Errorf("a new request: %d %s", status, body)
	}
	if status, _ := get(t, h.URL+"/health"); status != 503 {
		t.Errorf("health while draining: %d", status)
	}
	if got := <-answer; got.Usage.Answer != 100 {
		t.Errorf("the running answer: %+v", got)
	}
	<-over
}

// TestNaN: greedy answers hide it behind HTTP 200, sampling does not, and
// logprobs are null.
func TestNaN(t *testing.T) {
	src, err := load.Open(oracletest.Write(t, oracletest.Configs["qwen3"], oracletest.Options{Values: func(tensor string, v []float32, _, _ int) {
		if tensor == "model.norm.weight" {
			v[0] = float32(nan())
		}
	}}))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	c := config(t, "qwen3")
	num, _ := numerics.Parse("exact")
	if c.Model, err = src.Model(num); err != nil {
		t.Fatal(err)
	}
	_, url := start(t, c)
	got := complete(t, url+"/v1/completions", request("a", `,"temperature":0`)).Choices[0]
	if got.Text != strings.Repeat("a", 12) || got.Logprobs.TokenLogprobs[0] != nil {
		t.Errorf("greedy: %+v", got)
	}
	if status, body := post(t, url+"/v1/completions", request("a", "")); status != 500 || !strings.Contains(body, "probability tensor contains either inf, nan") {
		t.Errorf("sampled: %d %s", status, body)
	}
}

func nan() float64 { var zero float64; return zero / zero }

func FuzzBody(f *testing.F) {
	c := config(f, "qwen2")
	c.Limits.Context = 24
	s := serve.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go s.Run(ctx)
	f.Add("/v1/completions", []byte(`{"prompt":"ab","max_tokens":2,"stop":["x"],"logprobs":1,"echo":true}`))
	f.Add("/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":"a","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}],"max_tokens":1,"stream":true,"tools":[]}`))
	f.Add("/tokenize", []byte(`{"prompt":"ab"}`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " ?#%") {
			return
		}
		r, err := http.NewRequest("POST", "http://h"+path, bytes.NewReader(body))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == 500 && !strings.Contains(w.Body.String(), "not_finite") {
			t.Fatalf("%s %s: %s", path, body, w.Body)
		}
	})
}
