package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/vocabulary"
)

type renderOptions struct {
	world    *World
	path     string
	messages string
	tools    string
	set      []string
	template string
	bare     bool
	against  string
	json     bool
	now      func() time.Time
}

func newRenderCmd(w *World, runF func(context.Context, *renderOptions) error) *cobra.Command {
	opts := &renderOptions{world: w, now: time.Now}
	cmd := &cobra.Command{
		Use:   "render DIR|TEMPLATE.jinja|FILE.gguf",
		Short: "Show a conversation as the model's chat template renders it",
		Long: `Render a conversation through the model's own chat template, as Hugging Face does
it, and print the prompt. The conversation is a JSON list of messages, or a request
body with "messages" and "tools"; it comes from --messages or from standard input.
With --against, print where the prompts of two templates differ; the exit code is 3
when they do.`,
		Example: `  echo '[{"role":"user","content":"Hello"}]' | shakedown render /models/GLM-5
  shakedown render /models/GLM-5 --messages chat.json --set enable_thinking=false
  shakedown render /models/GLM-5 --messages chat.json --against fixed.jinja`,
		Args: takes(1, 1, "one checkpoint, template or GGUF file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.path = args[0]
			return runF(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.messages, "messages", "", "`FILE` with the conversation; default: standard input")
	f.StringVar(&opts.tools, "tools", "", "`FILE` with a JSON list of tools")
	f.StringArrayVar(&opts.set, "set", nil, "a further variable, `NAME=VALUE`; a value that is JSON is read as such")
	f.StringVar(&opts.template, "template", "", "`NAME` of the template, when the checkpoint has several")
	f.BoolVar(&opts.bare, "no-generation-prompt", false, "do not begin the assistant's turn")
	f.StringVar(&opts.against, "against", "", "compare with the template of another `PATH`")
	addJSONFlag(cmd, &opts.json)
	return cmd
}

// renderMsg is the one message of render --json.
type renderMsg struct {
	Message string  `json:"message"` // "prompt"
	Prompt  string  `json:"prompt"`
	Against *string `json:"against,omitempty"` // the other template's prompt
}

func runRender(_ context.Context, opts *renderOptions) error {
	req, err := opts.request()
	if err != nil {
		return err
	}
	prompt, err := prompted(opts.path, req)
	if err != nil {
		return err
	}
	msg := renderMsg{Message: "prompt", Prompt: prompt}
	if opts.against != "" {
		other, err := prompted(opts.against, req)
		if err != nil {
			return err
		}
		msg.Against = &other
	}
	if opts.json {
		err = printJSON(opts.world.Stdout, msg)
	} else if msg.Against == nil {
		_, err = io.WriteString(opts.world.Stdout, prompt)
	} else {
		_, err = io.WriteString(opts.world.Stdout, parting(prompt, *msg.Against))
	}
	if err == nil && msg.Against != nil && *msg.Against != prompt {
		return errProblem
	}
	return err
}

// prompted renders with the template of a path.
func prompted(path string, req chat.Request) (string, error) {
	templates, err := vocabulary.Templates(path)
	if err != nil {
		return "", vocabularyError(err)
	}
	prompt, err := templates.Render(req)
	var raised *chat.RaisedError
	if errors.As(err, &raised) {
		return "", inputError(fmt.Errorf("%s: the template refuses the conversation: %s", path, raised.Message), "")
	}
	if err != nil {
		return "", inputError(fmt.Errorf("%s: %w", path, err), "")
	}
	return prompt, nil
}

// request reads the conversation and what the flags add to it.
func (o *renderOptions) request() (chat.Request, error) {
	req := chat.Request{GenerationPrompt: !o.bare, Template: o.template, Now: o.now(), Extra: make(map[string]json.RawMessage)}
	var data []byte
	var err error
	if o.messages != "" {
		data, err = readSmall(o.messages)
	} else if waitsForTyping(o.world) {
		return req, usageError("shakedown render "+o.path+" --messages chat.json", "no conversation given, and standard input is a terminal")
	} else {
		data, err = io.ReadAll(io.LimitReader(o.world.Stdin, maxText))
	}
	if err != nil {
		return req, err
	}
	source := o.messages
	if source == "" {
		source = "standard input"
	}
	bad := func(format string, args ...any) error {
		return inputError(fmt.Errorf("%s: "+format, append([]any{source}, args...)...), "shakedown render --help")
	}
	text := bytes.TrimSpace(data)
	if len(text) == 0 {
		return req, bad("no conversation: it is empty")
	}
	if !json.Valid(text) {
		return req, bad("the conversation is no JSON")
	}
	req.Messages = data
	if text[0] == '{' {
		var body struct {
			Messages json.RawMessage            `json:"messages"`
			Tools    json.RawMessage            `json:"tools"`
			Kwargs   map[string]json.RawMessage `json:"chat_template_kwargs"`
		}
		if err := json.Unmarshal(data, &body); err != nil {
			return req, bad("the conversation is no request body: %w", err)
		}
		if len(body.Messages) == 0 {
			return req, bad(`the conversation is an object without "messages"`)
		}
		req.Messages, req.Tools = body.Messages, body.Tools
		text = bytes.TrimSpace(body.Messages)
		for name, v := range body.Kwargs {
			req.Extra[name] = v
		}
	}
	if text[0] != '[' {
		return req, bad("the messages are no list")
	}
	if o.tools != "" {
		if req.Tools, err = readSmall(o.tools); err != nil {
			return req, err
		}
	}
	for _, s := range o.set {
		name, v, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return req, usageError("shakedown render --help", "--set %q: want NAME=VALUE", s)
		}
		value := json.RawMessage(v)
		if !json.Valid(value) {
			if value, err = json.Marshal(v); err != nil {
				return req, err
			}
		}
		req.Extra[name] = value
	}
	return req, nil
}

func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(data) > maxText {
		err = inputError(fmt.Errorf("%s: larger than %d MiB", name, maxText>>20), "")
	}
	return data, err
}

// around is how much of two prompts is shown at the place where they part.
const around = 60

// parting shows where two prompts part.
func parting(a, b string) string {
	if a == b {
		return "the prompts are equal\n"
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && a[n]&0xc0 == 0x80 {
		n-- // the beginning of the character
	}
	show := func(s string) string {
		from, to := max(0, n-around), min(len(s), n+around)
		return strconv.Quote(strings.ToValidUTF8(s[from:to], ""))
	}
	return fmt.Sprintf("the prompts part at byte %d\n  this:    %s\n  against: %s\n", n, show(a), show(b))
}
