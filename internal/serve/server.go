// Package serve answers OpenAI's API with the oracle: small and exact rather than
// complete. Parameters that it does not know are refused by name, and an answer
// has the same bits alone and among others.
//
// One engine goroutine owns all texts (engine.go); requests hand it jobs and read
// their events. Memory is bounded by Limits, which are known at start.
package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/sample"
	"shakedown/internal/oracle/tokenizer"
)

// Config is a model and how it is served. All fields but the last four must be
// set.
type Config struct {
	Model     *oracle.Model
	Tokenizer *tokenizer.Tokenizer
	Name      string        // that clients call the model by
	Defaults  sample.Params // of generation_config.json
	EOS       []int         // tokens that end an answer
	Limits    Limits
	Info      map[string]any // effective settings, for /get_server_info
	Log       *slog.Logger
	Now       func() time.Time
	Templates *chat.Templates // nil: chat is refused
	APIKey    string          // empty: none is asked for
	Reasoning bool            // <think> is told apart from the content
	Tools     bool            // tool calls are told apart from the content
}

// MaxBody is the size limit of a request, in bytes.
const MaxBody = 16 << 20

// writeTimeout is how long a client may take to read a part of a stream.
const writeTimeout = 30 * time.Second

// Server is the handler of all routes. Run computes its answers.
type Server struct {
	Config
	engine  *engine
	counts  *counters
	mux     *http.ServeMux
	dialect *dialect
	started time.Time
}

// New makes a server; Run must be called for it to answer.
func New(c Config) *Server {
	s := &Server{Config: c, counts: new(counters), mux: http.NewServeMux(), started: c.Now()}
	s.engine = newEngine(c.Model, c.Limits, s.counts, func(b *bugError) {
		s.Log.Error("a bug in shakedown", "request", b.id, "panic", fmt.Sprint(b.value), "stack", string(b.stack))
	})
	if c.Tools {
		s.dialect = dialectOf(c.Tokenizer)
	}
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /metrics", s.metrics)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /get_server_info", s.info)
	s.mux.HandleFunc("POST /v1/chat/completions", s.answer(s.chat))
	s.mux.HandleFunc("POST /v1/completions", s.answer(s.completions))
	s.mux.HandleFunc("POST /tokenize", s.answer(s.tokenize))
	s.mux.HandleFunc("POST /detokenize", s.answer(s.detokenize))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, &apiError{status: 404, kind: "invalid_request_error", message: fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path)})
	})
	return s
}

// Run computes answers until ctx ends, or until Drain was called and all
// answers are complete.
func (s *Server) Run(ctx context.Context) { s.engine.run(ctx) }

// Drain refuses new requests and lets those that came before finish.
func (s *Server) Drain() { s.engine.drain() }

// ServeHTTP answers one request. A panic is reported as a bug and answered with
// 500; the server lives on.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := newID()
	w.Header().Set("X-Request-Id", id)
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		s.engine.bug(&bugError{id: id, value: p, stack: debug.Stack()})
		s.fail(w, &apiError{status: 500, kind: "internal_error", message: "a bug in shakedown ended request " + id})
	}()
	if s.APIKey != "" && r.URL.Path != "/health" && !s.allowed(r) {
		s.fail(w, &apiError{status: 401, kind: "authentication_error", code: "invalid_api_key", message: "the request has no valid API key: send Authorization: Bearer KEY"})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestID{}, id)))
}

type requestID struct{}

func idOf(r *http.Request) string {
	id, _ := r.Context().Value(requestID{}).(string)
	return id
}

func newID() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (s *Server) allowed(r *http.Request) bool {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(key), []byte(s.APIKey)) == 1
}

// answer turns the error of a handler into a response.
func (s *Server) answer(h func(http.ResponseWriter, *http.Request) *apiError) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.counts.requests.Add(1)
		if err := h(w, r); err != nil {
			s.counts.failures.Add(1)
			s.fail(w, err)
		}
	}
}

// fail writes an error in the API's own shape.
func (s *Server) fail(w http.ResponseWriter, e *apiError) {
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	s.write(w, e.status, errorOf(e))
}

func errorOf(e *apiError) errorBody {
	var b errorBody
	b.Error.Message, b.Error.Type = e.message, e.kind
	if e.param != "" {
		b.Error.Param = &e.param
	}
	if e.code != "" {
		b.Error.Code = &e.code
	}
	return b
}

func (s *Server) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		s.Log.Debug("a response could not be written", "error", err)
	}
}

// engineError is an error of the engine as the API tells it.
func engineError(id string, err error) *apiError {
	var bug *bugError
	switch {
	case errors.Is(err, errFull):
		return &apiError{status: 429, kind: "rate_limit_error", code: "queue_full", message: "the queue is full: try again later"}
	case errors.Is(err, errDraining):
		return &apiError{status: 503, kind: "service_unavailable", message: "the server is shutting down"}
	case errors.As(err, &bug):
		return &apiError{status: 500, kind: "internal_error", message: bug.Error()}
	case errors.Is(err, sample.ErrNotFinite):
		return &apiError{status: 500, kind: "internal_error", code: "not_finite", message: err.Error()}
	case errors.Is(err, context.Canceled):
		return &apiError{status: 499, kind: "canceled", message: "the request was cancelled"}
	}
	return &apiError{status: 500, kind: "internal_error", message: fmt.Sprintf("request %s: %v", id, err)}
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	s.engine.mu.Lock()
	draining := s.engine.draining
	s.engine.mu.Unlock()
	if draining {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		Owner   string `json:"owned_by"`
		Context int    `json:"max_model_len"`
	}
	s.write(w, 200, map[string]any{"object": "list", "data": []model{{s.Name, "model", s.started.Unix(), "shakedown", s.Limits.Context}}})
}

func (s *Server) info(w http.ResponseWriter, _ *http.Request) { s.write(w, 200, s.Info) }

// checkModel refuses another model's name.
func (s *Server) checkModel(name string) *apiError {
	if name != "" && name != s.Name {
		return &apiError{status: 404, kind: "invalid_request_error", param: "model", code: "model_not_found", message: fmt.Sprintf("there is no model %q here; this server has %q", name, s.Name)}
	}
	return nil
}

// tokenize answers {"prompt": TEXT} or {"messages": [...]}.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) *apiError {
	b, err := readBody(r.Body, []string{"model", "prompt", "messages", "tools", "add_special_tokens", "add_generation_prompt", "chat_template_kwargs"})
	if err != nil {
		return err
	}
	var model, text string
	special := true
	if err := first(b.get("model", &model), b.get("prompt", &text), b.get("add_special_tokens", &special), s.checkModel(model)); err != nil {
		return err
	}
	_, hasText := b["prompt"]
	_, hasChat := b["messages"]
	if hasText == hasChat {
		return badRequest("", "either prompt or messages is needed")
	}
	if hasChat {
		special = false
		if text, err = s.render(b); err != nil {
			return err
		}
	}
	ids := s.Tokenizer.Encode(text, special)
	s.write(w, 200, map[string]any{"tokens": ids, "count": len(ids), "max_model_len": s.Limits.Context})
	return nil
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) *apiError {
	b, err := readBody(r.Body, []string{"model", "tokens"})
	if err != nil {
		return err
	}
	var model string
	var ids []int
	if err := first(b.get("model", &model), b.get("tokens", &ids), s.checkModel(model)); err != nil {
		return err
	}
	if _, ok := b["tokens"]; !ok {
		return badRequest("tokens", "tokens is needed")
	}
	for _, id := range ids {
		if _, ok := s.Tokenizer.Token(id); !ok {
			return badRequest("tokens", "the vocabulary has no token %d", id)
		}
	}
	s.write(w, 200, map[string]any{"prompt": s.Tokenizer.Decode(ids, false)})
	return nil
}
