package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/oracle/sample"
)

// apiError is an error in the API's own shape.
type apiError struct {
	status  int
	kind    string // "invalid_request_error" ...
	param   string
	code    string
	message string
}

func (e *apiError) Error() string { return e.message }

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{status: 400, kind: "invalid_request_error", param: param, message: fmt.Sprintf(format, args...)}
}

// body is a decoded request: its fields by name, those that are null left out.
type body map[string]json.RawMessage

// readBody decodes a request and refuses every field that is not known.
func readBody(r io.Reader, known []string) (body, *apiError) {
	data, err := io.ReadAll(r)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		e := badRequest("", "the body is larger than %d MiB, which is all that this server reads", large.Limit>>20)
		e.status = http.StatusRequestEntityTooLarge
		return nil, e
	}
	if err != nil {
		return nil, badRequest("", "the body could not be read: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	var b body
	if err := d.Decode(&b); err != nil || b == nil {
		return nil, badRequest("", "the body is not a JSON object: %v", cause(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, badRequest("", "the body has text behind its JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if string(b[name]) == "null" {
			delete(b, name)
		} else if !slices.Contains(known, name) {
			e := badRequest(name, "the parameter %q is not supported", name)
			e.code = "unsupported_parameter"
			return nil, e
		}
	}
	return b, nil
}

func cause(err error) error {
	if err == nil {
		return errors.New("null")
	}
	return err
}

// get decodes a field into v; it leaves v alone when the field is absent.
func (b body) get(name string, v any) *apiError {
	data, ok := b[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return badRequest(name, "%s has an unexpected value: %s", name, clip(string(data), 80))
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

// first returns the first error that is not nil.
func first(errs ...*apiError) *apiError {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// generation are the parameters that chat and completions share.
type generation struct {
	sample.Params
	model     string
	n         int
	max       int // 0: not asked
	stop      []string
	stopIDs   []int
	ignoreEOS bool
	keep      bool // special tokens are shown
	stream    bool
	usage     bool // stream_options.include_usage
	promptTop int  // prompt_logprobs; -1: none
	ids       bool // return_tokens_as_token_ids
	seeded    bool
}

// generationFields are their names.
var generationFields = []string{
	"model", "n", "max_tokens", "stop", "stop_token_ids", "ignore_eos", "skip_special_tokens", "stream", "stream_options",
	"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty", "logit_bias", "seed",
	"prompt_logprobs", "return_tokens_as_token_ids", "user",
}

// Bounds of a request.
const (
	maxChoices = 16
	maxStops   = 16
	maxTop     = 20
)

// generation reads the shared parameters; defaults are those of the model's
// generation_config.json, as the serving engines take them.
func (b body) generation(defaults sample.Params, vocab int) (generation, *apiError) {
	g := generation{Params: defaults, n: 1, promptTop: -1}
	var bias map[string]float64
	var stop json.RawMessage
	var options struct {
		Usage bool `json:"include_usage"`
	}
	skip, max := true, -1
	var seed *int64
	if err := first(b.get("model", &g.model), b.get("n", &g.n), b.get("max_tokens", &max), b.get("stop", &stop), b.get("stop_token_ids", &g.stopIDs),
		b.get("ignore_eos", &g.ignoreEOS), b.get("skip_special_tokens", &skip), b.get("stream", &g.stream), b.get("stream_options", &options),
		b.get("temperature", &g.Temperature), b.get("top_p", &g.TopP), b.get("min_p", &g.MinP),
		b.get("repetition_penalty", &g.Repetition), b.get("frequency_penalty", &g.Frequency), b.get("presence_penalty", &g.Presence),
		b.get("logit_bias", &bias), b.get("seed", &seed), b.get("top_k", &g.TopK), b.get("prompt_logprobs", &g.promptTop), b.get("return_tokens_as_token_ids", &g.ids)); err != nil {
		return g, err
	}
	if g.TopK == -1 {
		g.TopK = 0 // the engines' word for all
	}
	if _, ok := b["max_tokens"]; ok && max < 1 {
		return g, badRequest("max_tokens", "max_tokens must be at least 1, got %d", max)
	}
	g.max, g.keep, g.usage = max, !skip, options.Usage
	if max < 0 {
		g.max = 0
	}
	if g.n < 1 || g.n > maxChoices {
		return g, badRequest("n", "n must be from 1 to %d, got %d", maxChoices, g.n)
	}
	if g.promptTop < -1 || g.promptTop > maxTop {
		return g, badRequest("prompt_logprobs", "prompt_logprobs must be from 0 to %d, got %d", maxTop, g.promptTop)
	}
	if seed != nil {
		g.Seed, g.seeded = uint64(*seed), true
	}
	if len(bias) > 0 {
		g.Bias = make(map[int]float64, len(bias))
	}
	for text, v := range bias {
		id, err := strconv.Atoi(text)
		if err != nil {
			return g, badRequest("logit_bias", "logit_bias: %q is no token id", text)
		}
		g.Bias[id] = v
	}
	var err *apiError
	if g.stop, err = texts("stop", stop, maxStops); err != nil {
		return g, err
	}
	if err := g.Check(vocab); err != nil {
		param, _, _ := strings.Cut(err.Error(), " ")
		return g, badRequest(param, "%v", err)
	}
	return g, nil
}

// texts reads one text or a list of texts, none of them empty.
func texts(name string, data json.RawMessage, most int) ([]string, *apiError) {
	if len(data) == 0 {
		return nil, nil
	}
	var list []string
	var one string
	if json.Unmarshal(data, &one) == nil {
		list = []string{one}
	} else if err := json.Unmarshal(data, &list); err != nil {
		return nil, badRequest(name, "%s must be a text or a list of texts", name)
	}
	if len(list) > most || slices.Contains(list, "") {
		return nil, badRequest(name, "%s takes up to %d texts, none of them empty", name, most)
	}
	return list, nil
}
