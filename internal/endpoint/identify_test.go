package endpoint_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"shakedown/internal/endpoint"
	"shakedown/internal/endpoint/endpointtest"
	"shakedown/internal/probe"
)

// TestTold: what each engine tells of itself, and where it was read.
func TestTold(t *testing.T) {
	type want struct {
		page, pool, chunk, running, context, trained, vocab int
		root, build                                         string
		started                                             int64
		settings                                            map[string]string
	}
	for engine, w := range map[string]want{
		"vllm":      {page: 16, pool: 364 * 16, context: 200, started: 1700000000, settings: map[string]string{"cache.cache_dtype": "fp8"}},
		"sglang":    {page: 64, pool: 16384, chunk: 4096, running: 48, context: 200, root: "/models/letters", settings: map[string]string{"kv_cache_dtype": "fp8_e4m3", "max_running_requests": "None", "disable_radix_cache": "False", "cuda_graph_bs": "[1, 2]"}},
		"llamacpp":  {running: 4, context: 200, trained: 800, vocab: 73, root: "/models/letters.gguf", build: "b9010-abcdef", settings: map[string]string{"n_ctx": "200", "top_k": "40", "total_slots": "4"}},
		"shakedown": {pool: 1024, running: 8, context: 200, started: 1700000000, settings: map[string]string{"cache_tokens": "1024"}},
		"trtllm":    {},
	} {
		t.Run(engine, func(t *testing.T) {
			var e *endpointtest.Engine
			for _, x := range endpointtest.Engines() {
				if x.Name == engine {
					e = x
				}
			}
			h := httptest.NewServer(e.Handler())
			defer h.Close()
			s, err := endpoint.New(h.URL, endpoint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, settings, exchanges, err := s.Identify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			have := want{got.Page, got.Pool, got.Chunk, got.Running, got.Context, got.Trained, got.Vocab, got.Root, got.Build, got.Started, nil}
			for name, value := range w.settings {
				if got.Settings[name] != value {
					t.Errorf("%s is %q, want %q", name, got.Settings[name], value)
				}
			}
			w.settings = nil
			if have.page != w.page || have.pool != w.pool || have.chunk != w.chunk || have.running != w.running || have.context != w.context || have.trained != w.trained ||
				have.vocab != w.vocab || have.root != w.root || have.build != w.build || have.started != w.started {
				t.Errorf("got  %+v\nwant %+v", have, w)
			}
			for field, n := range map[string]int{"Page": got.Page, "Pool": got.Pool, "Chunk": got.Chunk, "Running": got.Running, "Context": got.Context, "Trained": got.Trained} {
				if (got.Sources[field] != "") != (n > 0) {
					t.Errorf("%s %d comes from %q", field, n, got.Sources[field])
				}
			}
			for _, m := range settings {
				if len(m.Because) != 1 || m.Because[0].Kind != "endpoint" || m.Because[0].Field != m.Name || !strings.HasPrefix(m.Because[0].File, "/") {
					t.Errorf("%+v", m)
				}
				if strings.Contains(m.Effective, "secret") {
					t.Errorf("the server's own key is shown: %+v", m)
				}
			}
			for _, x := range exchanges {
				if strings.Contains(x.Answer, "their-own-secret") {
					t.Errorf("the server's own key is shown: %s", x.Answer)
				}
			}
		})
	}
}

// TestVLLMConfig: the whole configuration in development mode.
func TestVLLMConfig(t *testing.T) {
	h := httptest.NewServer(answers(map[string]string{
		"/v1/models":   `{"data":[{"id":"m","owned_by":"vllm","max_model_len":2048}]}`,
		"/version":     `{"version":"0.9.1"}`,
		"/server_info": `{"vllm_config":{"cache_config":{"block_size":128,"num_gpu_blocks":10,"cache_dtype":"fp8_ds_mla"},"scheduler_config":{"max_num_batched_tokens":8192,"max_num_seqs":256},"model_config":{"model":"/m","hf_config":{"x":1}},"instance_id":"x"}}`,
	}))
	defer h.Close()
	target, _ := identify(t, h.URL)
	if target.Page != 128 || target.Pool != 1280 || target.Chunk != 8192 || target.Running != 256 || target.Context != 2048 || target.Settings["cache.cache_dtype"] != "fp8_ds_mla" || target.Settings["model.hf_config"] != "" || !target.Has.NoCache {
		t.Errorf("%+v", target)
	}
}

// TestLaunched: a server that tells its command line shows what was asked for, what
// was not, and what was replaced in silence; a key in it stays hidden.
func TestLaunched(t *testing.T) {
	h := httptest.NewServer(answers(map[string]string{
		"/v1/models": `{"data":[{"id":"m","owned_by":"sglang"}]}`,
		"/server_info": `{"version":"0.5.9","launch_command":"--model-path /m --tp-size 8 --attention-backend flashinfer --kv-cache-dtype auto --api-key sk-their-own-secret --disable-radix-cache",
			"tp_size":8,"attention_backend":"nsa","kv_cache_dtype":"fp8_e4m3","api_key":"sk-their-own-secret","disable_radix_cache":true,"page_size":64,"schedule_policy":"fcfs"}`,
	}))
	defer h.Close()
	s, err := endpoint.New(h.URL, endpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, settings, exchanges, err := s.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range settings {
		asked := "not asked"
		if m.Asked.Value != nil {
			asked = "asked " + *m.Asked.Value
		}
		got[m.Name] = fmt.Sprintf("%s, %s by %s, silent %v", asked, m.Effective, m.ChosenBy, m.Silent)
		if !m.Asked.Known {
			t.Errorf("%s: the command line is known", m.Name)
		}
	}
	for name, want := range map[string]string{
		"tp_size":             "asked 8, 8 by user, silent false",
		"attention_backend":   "asked flashinfer, nsa by unknown, silent true",
		"kv_cache_dtype":      "asked auto, fp8_e4m3 by unknown, silent false",
		"disable_radix_cache": "asked True, True by user, silent false",
		"schedule_policy":     "not asked, fcfs by default, silent false",
		"page_size":           "not asked, 64 by unknown, silent false",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if text := fmt.Sprint(got, exchanges); strings.Contains(text, "their-own-secret") {
		t.Errorf("the server's own key is shown: %s", text)
	}
}

// TestOldServers: names of earlier releases, and servers that do not say who they are.
func TestOldServers(t *testing.T) {
	for _, tc := range []struct {
		answers         map[string]string
		engine, version string
		most            int
	}{
		{map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"sglang"}]}`, "/get_server_info": `{"version":"0.4.6","max_total_num_tokens":7}`}, "sglang", "0.4.6", 3},
		{map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"me"}]}`, "/get_server_info": `{"version":"0.4.6","max_total_num_tokens":7}`}, "sglang", "0.4.6", 2},
		{map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`, "/props": `{"default_generation_settings":{"n_ctx":9},"build_info":"b0-unknown"}`}, "llamacpp", "", 3},
		{map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"me"}]}`, "/version": `{"version":"7"}`}, "", "7", 4},
		{map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"me"}]}`}, "", "", 4},
	} {
		h := httptest.NewServer(answers(tc.answers))
		target, exchanges := identify(t, h.URL)
		h.Close()
		if target.Engine != tc.engine || target.Version != tc.version || len(exchanges) > tc.most || !target.Has.Chat {
			t.Errorf("%v: %q %q in %d requests", tc.answers, target.Engine, target.Version, len(exchanges))
		}
	}
}

// TestModels: which model is asked, and what follows when there is none.
func TestModels(t *testing.T) {
	const two = `{"data":[{"id":"lora","parent":"base","owned_by":"vllm"},{"id":"base","parent":null,"owned_by":"vllm"}]}`
	for _, tc := range []struct{ list, ask, model, trouble string }{
		{two, "", "base", ""},
		{two, "lora", "lora", ""},
		{two, "other", "", "lora, base"},
		{`{"data":[]}`, "", "", "curl"},
	} {
		h := httptest.NewServer(answers(map[string]string{"/v1/models": tc.list}))
		s, err := endpoint.New(h.URL, endpoint.Options{Model: tc.ask})
		if err != nil {
			t.Fatal(err)
		}
		target, _, _, err := s.Identify(t.Context())
		h.Close()
		var e *endpoint.Error
		switch {
		case tc.trouble == "" && (err != nil || target.Model != tc.model):
			t.Errorf("%s of %s: %q %v", tc.ask, tc.list, target.Model, err)
		case tc.trouble != "" && (!errors.As(err, &e) || e.Reason != endpoint.NoModels || !strings.Contains(e.Next, tc.trouble)):
			t.Errorf("%s of %s: %v", tc.ask, tc.list, err)
		}
	}
}

// answers is a server with fixed answers, 404 elsewhere.
func answers(at map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := at[r.URL.Path]
		if !ok || r.Method != http.MethodGet {
			http.Error(w, `{"detail":"Not Found"}`, http.StatusNotFound)
			return
		}
		w.Write([]byte(body))
	})
}

func identify(t *testing.T, url string) (*probe.Target, []probe.Exchange) {
	t.Helper()
	s, err := endpoint.New(url, endpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	target, _, exchanges, err := s.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return target, exchanges
}
