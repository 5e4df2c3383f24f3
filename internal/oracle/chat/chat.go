// Package chat renders conversations into prompts with a model's own chat
// template, as Hugging Face's apply_chat_template does: Jinja with trim_blocks,
// lstrip_blocks and loop controls, the order of JSON keys kept, and the functions
// that templates use.
//
// Terms: a template is the Jinja text of a checkpoint; a checkpoint may have
// several by name, of which "tool_use" serves conversations with tools. The
// generation prompt is what begins the assistant's turn.
package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"

	"shakedown/internal/hfconfig"
)

// MaxFile is the size limit of the files that are read, in bytes.
const MaxFile = 16 << 20

// maxPrompt bounds what a template writes, in bytes.
const maxPrompt = 64 << 20

// ErrNone says that a checkpoint has no chat template.
var ErrNone = errors.New("no chat template")

// RaisedError is what a template itself says against a conversation, with
// raise_exception: the caller's fault, not the server's.
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return "chat template: " + e.Message }

// Templates are the chat templates of a checkpoint. They are immutable and may
// be used from several goroutines.
type Templates struct {
	byName  map[string]*jinja.Template
	special map[string]string // bos_token and the like, which templates name
}

// Request is one conversation. Messages and tools are JSON, whose order of keys
// templates print.
type Request struct {
	Messages         json.RawMessage            // a list of messages
	Tools            json.RawMessage            // a list of tools; empty: none
	GenerationPrompt bool                       // begin the assistant's turn
	Template         string                     // name of the template; empty: the one that fits
	Extra            map[string]json.RawMessage // further variables: enable_thinking and the like
	Now              time.Time                  // what strftime_now prints
}

// New makes the templates of a checkpoint from their texts by name ("default"
// is the usual one). special are the special tokens by the names that
// tokenizer_config.json gives them.
func New(sources map[string]string, special map[string]string) (*Templates, error) {
	if len(sources) == 0 {
		return nil, ErrNone
	}
	t := &Templates{byName: make(map[string]*jinja.Template, len(sources)), special: special}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		var err error
		if p := guard(func() { t.byName[name], err = jinja.Compile(ownFilters(sources[name])) }); p != nil {
			err = p
		}
		if err != nil {
			return nil, fmt.Errorf("chat template %q: %w", name, err)
		}
	}
	return t, nil
}

// Load reads the templates of a checkpoint's folder: chat_template.jinja, else
// those in tokenizer_config.json. It returns ErrNone, wrapped, when there are
// none.
func Load(folder fs.FS) (*Templates, error) {
	var config struct {
		ChatTemplate json.RawMessage `json:"chat_template"`
	}
	var fields map[string]json.RawMessage
	data, err := hfconfig.ReadFile(folder, "tokenizer_config.json", MaxFile)
	if err == nil {
		err = errors.Join(json.Unmarshal(data, &config), json.Unmarshal(data, &fields))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tokenizer_config.json: %w", err)
	}
	sources, err := named(config.ChatTemplate)
	if err != nil {
		return nil, fmt.Errorf("tokenizer_config.json: chat_template: %w", err)
	}
	file, err := hfconfig.ReadFile(folder, "chat_template.jinja", MaxFile)
	switch {
	case err == nil:
		sources[Default] = string(file)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("%w: neither chat_template.jinja nor a chat_template in tokenizer_config.json is there", ErrNone)
	}
	return New(sources, specials(fields))
}

// Default is the name of the template that serves every conversation for which
// there is none of its own.
const Default = "default"

// toolsName is the template for conversations with tools, where there is one.
const toolsName = "tool_use"

// named reads chat_template: one text, or a list of {"name","template"}.
func named(data json.RawMessage) (map[string]string, error) {
	sources := make(map[string]string)
	if len(data) == 0 || string(data) == "null" {
		return sources, nil
	}
	var one string
	if json.Unmarshal(data, &one) == nil {
		sources[Default] = one
		return sources, nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, errors.New("neither a text nor a list of named templates")
	}
	for _, l := range list {
		sources[l.Name] = l.Template
	}
	return sources, nil
}

// specials finds the special tokens of a tokenizer_config.json: fields that end
// in "_token", each a text or an object with its content.
func specials(fields map[string]json.RawMessage) map[string]string {
	tokens := make(map[string]string)
	for name, data := range fields {
		var text string
		var token struct{ Content string }
		switch {
		case !strings.HasSuffix(name, "_token"):
		case json.Unmarshal(data, &text) == nil && text != "":
			tokens[name] = text
		case json.Unmarshal(data, &token) == nil && token.Content != "":
			tokens[name] = token.Content
		}
	}
	return tokens
}

// Names are the names of the templates, in order.
func (t *Templates) Names() []string { return slices.Sorted(maps.Keys(t.byName)) }

// Render returns the prompt of a conversation. A *RaisedError is the template's
// own objection; other errors say what in the request, or in the template, is
// wrong.
func (t *Templates) Render(r Request) (string, error) {
	template, err := t.choose(r)
	if err != nil {
		return "", err
	}
	vars := make(map[string]jinja.Value)
	for name, token := range t.special {
		vars[name] = jinja.NewString(token)
	}
	for name, data := range r.Extra {
		if vars[name], err = value(data); err != nil {
			return "", fmt.Errorf("chat template variable %s: %w", name, err)
		}
	}
	if vars["messages"], err = list(r.Messages); err != nil {
		return "", fmt.Errorf("messages: %w", err)
	}
	vars["tools"] = jinja.None()
	if len(r.Tools) > 0 {
		if vars["tools"], err = list(r.Tools); err != nil {
			return "", fmt.Errorf("tools: %w", err)
		}
	}
	vars["documents"] = jinja.None()
	vars["add_generation_prompt"] = jinja.NewBool(r.GenerationPrompt)
	var raised *RaisedError
	functions(vars, r.Now, func(e *RaisedError) { raised = e })
	var prompt string
	if p := guard(func() { prompt, err = template.RenderValues(vars) }); p != nil {
		err = p
	}
	switch {
	case raised != nil:
		return "", raised
	case err != nil:
		return "", fmt.Errorf("chat template: %w", err)
	case len(prompt) > maxPrompt:
		return "", fmt.Errorf("chat template: the prompt has more than %d MiB", maxPrompt>>20)
	}
	return prompt, nil
}

// choose picks the template that the request names, or the one for tools when
// there are tools.
func (t *Templates) choose(r Request) (*jinja.Template, error) {
	name := r.Template
	if name == "" {
		name = Default
		if len(r.Tools) > 0 && t.byName[toolsName] != nil {
			name = toolsName
		}
	}
	template := t.byName[name]
	if template == nil {
		return nil, fmt.Errorf("the checkpoint has no chat template %q, but: %s", name, strings.Join(t.Names(), ", "))
	}
	return template, nil
}

// guard turns a panic of the template engine into an error.
func guard(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the template engine failed: %v", p)
		}
	}()
	f()
	return nil
}
