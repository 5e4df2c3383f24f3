// Package modeldir reads what a user's copy of a model says of a server's model:
// its limits, and how many tokens a conversation has by its own template and
// tokenizer.
package modeldir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"shakedown/internal/checkpoint"
	"shakedown/internal/hfconfig"
	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/tokenizer"
	"shakedown/internal/oracle/vocabulary"
	"shakedown/internal/probe"
)

// Read reads a checkpoint's folder or a GGUF file. Weights are not looked at. A
// missing template or tokenizer is no error: then nothing is counted, and
// Local.Missing says why. now is the time that templates are told.
func Read(path string, now time.Time) (*probe.Local, error) {
	l := &probe.Local{Dir: path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		err = ofFolder(l, path)
	} else {
		err = ofFile(l, path)
	}
	if err != nil {
		return nil, err
	}
	tok, err := vocabulary.Tokenizer(path)
	if err != nil {
		l.Missing = fmt.Sprintf("its tokenizer cannot be read: %v", err)
		return l, nil
	}
	templates, err := vocabulary.Templates(path)
	switch {
	case errors.Is(err, chat.ErrNone):
		l.Missing = "it has no chat template"
	case err != nil:
		l.Missing = fmt.Sprintf("its chat template cannot be read: %v", err)
	default:
		l.Render = renderer(templates, now)
	}
	l.Tokenize = func(text string) []int { return tok.Encode(text, true) }
	l.Count = counter(tok, l.Render)
	return l, nil
}

// renderer is a conversation through the model's template; ok is false when the
// template refuses it.
func renderer(t *chat.Templates, now time.Time) func([]probe.Message) (string, bool) {
	return func(messages []probe.Message) (string, bool) {
		list := make([]map[string]string, len(messages))
		for i, m := range messages {
			list[i] = map[string]string{"role": m.Role, "content": m.Content}
		}
		data, err := json.Marshal(list)
		if err != nil {
			return "", false
		}
		text, err := t.Render(chat.Request{Messages: data, GenerationPrompt: true, Now: now})
		return text, err == nil
	}
}

// counter counts the tokens of a rendered conversation.
func counter(tok *tokenizer.Tokenizer, render func([]probe.Message) (string, bool)) func([]probe.Message) (int, bool) {
	if render == nil {
		return nil
	}
	return func(messages []probe.Message) (int, bool) {
		text, ok := render(messages)
		return len(tok.Encode(text, false)), ok
	}
}

// ofFolder reads the limits of config.json.
func ofFolder(l *probe.Local, dir string) error {
	m, err := hfconfig.Read(os.DirFS(dir), filepath.Base(dir))
	if err != nil {
		return err
	}
	c := m.Config
	if inner := c.Obj("text_config"); inner != nil { // models that see as well
		c = inner
	}
	l.Context = c.IntOr("max_position_embeddings", 0)
	l.TopK = c.IntOr("index_topk", 0)
	l.Vocab = c.IntOr("vocab_size", 0)
	if use, ok := c.Bool("use_sliding_window"); use || !ok {
		l.Window = c.IntOr("sliding_window", 0)
	}
	for _, name := range []string{"rope_scaling", "rope_parameters"} {
		if n := c.Obj(name).IntOr("original_max_position_embeddings", 0); n > 0 {
			l.Original = n
		}
	}
	return nil
}

// ofFile reads the limits of a GGUF file.
func ofFile(l *probe.Local, path string) error {
	if !strings.EqualFold(filepath.Ext(path), ".gguf") {
		return fmt.Errorf("%s: neither a checkpoint's folder nor a GGUF file", path)
	}
	c, err := checkpoint.Open(path)
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Meta == nil {
		return fmt.Errorf("%s: no metadata of a GGUF file", path)
	}
	arch, _ := c.Meta.Str("general.architecture")
	for key, into := range map[string]*int{
		"context_length": &l.Context, "attention.sliding_window": &l.Window, "rope.scaling.original_context_length": &l.Original, "attention.indexer.top_k": &l.TopK,
	} {
		if n, ok := c.Meta.Int(arch + "." + key); ok && n > 0 && n < 1<<30 {
			*into = int(n)
		}
	}
	return nil
}
