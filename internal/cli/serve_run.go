package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"shakedown/internal/hfconfig"
	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/load"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/sample"
	"shakedown/internal/oracle/vocabulary"
	"shakedown/internal/serve"
	"shakedown/internal/term"
)

const (
	// mostContext bounds the context that is chosen for the user: a model may know
	// a million tokens, which no laptop holds.
	mostContext = 32768
	// prefillChunk bounds the memory of a prefill, and how long others wait.
	prefillChunk = 256
	// headerTimeout is how long a client may take to send its request's header,
	// idleTimeout how long a connection may lie idle.
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// runServe loads the model and answers until it is interrupted.
func runServe(ctx context.Context, o *serveOptions) error {
	start := time.Now()
	num, err := parseNumerics("--numerics", o.numerics)
	if err != nil {
		return err
	}
	src, err := o.open()
	if err != nil {
		return err
	}
	defer src.Close()
	c, err := o.config(ctx, src, num)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(o.host, strconv.Itoa(o.port)))
	if err != nil {
		next := fmt.Sprintf("shakedown serve %s --port 0", o.dir)
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			next = fmt.Sprintf("shakedown serve %s --host 127.0.0.1", o.dir)
		}
		return inputError(fmt.Errorf("cannot listen: %w", err), next)
	}
	o.world.lingers.Store(true)
	fmt.Fprintf(o.world.Stderr, "ready: http://%s/v1  model %s  numerics %s  context %d  %d answers at once, %d waiting, %d cached tokens  loaded in %.1f s\n%s\n",
		l.Addr(), c.Name, c.Model.Num.Name, c.Limits.Context, c.Limits.Running, c.Limits.Queued, c.Limits.Tokens, time.Since(start).Seconds(), firstRequest(l.Addr(), c))
	return answer(ctx, l, serve.New(*c))
}

// firstRequest is a command line that asks the server something.
func firstRequest(addr net.Addr, c *serve.Config) string {
	key := ""
	if c.APIKey != "" {
		key = ` -H "Authorization: Bearer $SHAKEDOWN_API_KEY"`
	}
	if c.Templates == nil {
		return fmt.Sprintf(`try: curl -s http://%s/v1/completions%s -d '{"prompt":"The capital of France is"}'`, addr, key)
	}
	return fmt.Sprintf(`try: curl -s http://%s/v1/chat/completions%s -d '{"messages":[{"role":"user","content":"What is the capital of France?"}]}'`, addr, key)
}

// answer serves until ctx ends, then lets running answers finish.
func answer(ctx context.Context, l net.Listener, s *serve.Server) error {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: time.Minute, IdleTimeout: idleTimeout}
	computed := make(chan struct{})
	go func() {
		defer close(computed)
		s.Run(context.WithoutCancel(ctx))
	}()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	<-computed
	err := srv.Shutdown(context.WithoutCancel(ctx))
	if err == nil {
		err = <-failed
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// config loads all that the server needs.
func (o *serveOptions) config(ctx context.Context, src *load.Source, num numerics.Numerics) (*serve.Config, error) {
	status := term.NewStatus(o.world.Stderr, term.Detect(o.world.Stderr, o.world.Env, term.Auto))
	status.Set("reading the tokenizer")
	tok, err := vocabulary.Tokenizer(o.dir)
	status.Clear()
	if err != nil {
		return nil, vocabularyError(err)
	}
	templates, err := vocabulary.Templates(o.dir)
	if err != nil && !errors.Is(err, chat.ErrNone) {
		return nil, vocabularyError(err)
	}
	limits := serve.Limits{Context: o.context, Running: o.running, Queued: o.queued, Tokens: o.cacheTokens, Chunk: prefillChunk}
	if limits.Context == 0 {
		limits.Context = mostContext
		if known := src.Spec.MaxLen; known > 0 {
			limits.Context = min(known, mostContext)
		}
	}
	if limits.Tokens == 0 {
		limits.Tokens = 4 * limits.Context
	}
	limits.Tokens = max(limits.Tokens, limits.Context)
	model, err := o.model(ctx, o.world, src, num, limits.Tokens, prefillChunk)
	if err != nil {
		return nil, err
	}
	if tok.Size() > model.Spec.Vocab {
		return nil, inputError(fmt.Errorf("%s: the tokenizer has ids up to %d, and the model's vocabulary ends at %d", o.dir, tok.Size()-1, model.Spec.Vocab-1), "shakedown inspect "+o.dir)
	}
	defaults, err := samplingDefaults(src.Files.Config.Generation)
	if err != nil {
		return nil, inputError(fmt.Errorf("generation_config.json: %w", err), "")
	}
	name := o.name
	if name == "" {
		path, err := filepath.Abs(o.dir)
		if err != nil {
			return nil, err
		}
		name = strings.TrimSuffix(filepath.Base(path), ".gguf")
	}
	return &serve.Config{
		Model: model, Tokenizer: tok, Templates: templates, Name: name, Defaults: defaults, EOS: endTokens(src),
		Limits: limits, Log: slog.New(slog.NewTextHandler(o.world.Stderr, nil)), Now: time.Now,
		APIKey: o.world.Env(keyVariable), Reasoning: !o.plain, Tools: !o.plain,
		Info: map[string]any{
			"version": version, "model": name, "model_type": src.Spec.Type, "numerics": model.Num,
			"context": limits.Context, "max_running": limits.Running, "max_queued": limits.Queued, "cache_tokens": limits.Tokens,
		},
	}, nil
}

// samplingDefaults are the parameters of generation_config.json, which the
// serving engines take where a request says nothing.
func samplingDefaults(g hfconfig.Object) (sample.Params, error) {
	p := sample.Default()
	for name, to := range map[string]*float64{"temperature": &p.Temperature, "top_p": &p.TopP, "min_p": &p.MinP, "repetition_penalty": &p.Repetition} {
		if v, ok := g.Float(name); ok {
			*to = v
		}
	}
	p.TopK = max(g.IntOr("top_k", 0), 0)
	return p, p.Check(1)
}

// endTokens are the tokens that end an answer: those of generation_config.json,
// else of the configuration or of a GGUF file's metadata.
func endTokens(src *load.Source) []int {
	g := src.Files.Config.Generation
	if id, ok := g.Int("eos_token_id"); ok {
		return []int{id}
	}
	var ids []int
	for _, v := range g.List("eos_token_id") {
		if id, ok := hfconfig.Int(v); ok {
			ids = append(ids, id)
		}
	}
	if m := src.Files.Meta; m != nil && ids == nil {
		for _, key := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
			if id, ok := m.Int("tokenizer.ggml." + key); ok {
				ids = append(ids, int(id))
			}
		}
	}
	if ids == nil {
		ids = src.Spec.EOS
	}
	return ids
}
