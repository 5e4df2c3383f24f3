// Package vocabulary finds the text side of a checkpoint: its tokenizer and its
// chat templates, in a folder, a tokenizer.json or a GGUF file.
package vocabulary

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/hfconfig"
	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/tokenizer"
)

// Tokenizer reads the tokenizer that belongs to a path: a checkpoint's folder,
// its tokenizer.json, a published tiktoken vocabulary, or a GGUF file.
func Tokenizer(path string) (*tokenizer.Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		t, err := tokenizer.Load(os.DirFS(path))
		return t, named(path, err)
	}
	if !isGGUF(path) {
		data, err := readFile(path, tokenizer.MaxFile)
		if err != nil {
			return nil, err
		}
		read := tokenizer.FromJSON
		if name := filepath.Base(path); filepath.Ext(name) == ".tiktoken" {
			read = func(data []byte) (*tokenizer.Tokenizer, error) { return tokenizer.FromEncoding(name, data) }
		}
		t, err := read(data)
		return t, named(path, err)
	}
	var t *tokenizer.Tokenizer
	err = withMetadata(path, func(m *checkpoint.Metadata) error {
		t, err = tokenizer.FromGGUF(gguf(m))
		return err
	})
	return t, named(path, err)
}

// Templates reads the chat templates that belong to a path: a checkpoint's
// folder, a Jinja file, or a GGUF file.
func Templates(path string) (*chat.Templates, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		t, err := chat.Load(os.DirFS(path))
		return t, named(path, err)
	}
	if !isGGUF(path) {
		data, err := readFile(path, chat.MaxFile)
		if err != nil {
			return nil, err
		}
		t, err := chat.New(map[string]string{chat.Default: string(data)}, nil)
		return t, named(path, err)
	}
	var t *chat.Templates
	err = withMetadata(path, func(m *checkpoint.Metadata) error {
		source, ok := m.Str("tokenizer.chat_template")
		if !ok {
			return chat.ErrNone
		}
		t, err = chat.New(map[string]string{chat.Default: source}, ggufSpecials(m))
		return err
	})
	return t, named(path, err)
}

func named(path string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readFile reads one file of at most most bytes.
func readFile(path string, most int) ([]byte, error) {
	return hfconfig.ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), most)
}

func isGGUF(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gguf") }

func withMetadata(path string, use func(*checkpoint.Metadata) error) error {
	c, err := checkpoint.Open(path)
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Meta == nil {
		if err := c.Err(); err != nil {
			return err
		}
		return errors.New("no metadata of a GGUF file")
	}
	return use(c.Meta)
}

// gguf takes the vocabulary out of a file's metadata.
func gguf(m *checkpoint.Metadata) tokenizer.GGUF {
	text := func(key string) string { s, _ := m.Str("tokenizer.ggml." + key); return s }
	number := func(key string) *int {
		n, ok := m.Int("tokenizer.ggml." + key)
		if !ok {
			return nil
		}
		id := int(n)
		return &id
	}
	flag := func(key string) *bool {
		b, ok := m.Bool("tokenizer.ggml." + key)
		if !ok {
			return nil
		}
		return &b
	}
	g := tokenizer.GGUF{
		Model: text("model"), Pre: text("pre"), Tokens: m.Strings("tokenizer.ggml.tokens"), Merges: m.Strings("tokenizer.ggml.merges"),
		BOS: number("bos_token_id"), EOS: number("eos_token_id"), UNK: number("unknown_token_id"),
		AddBOS: flag("add_bos_token"), AddEOS: flag("add_eos_token"), AddSpacePrefix: flag("add_space_prefix"),
	}
	for _, s := range m.Floats("tokenizer.ggml.scores") {
		g.Scores = append(g.Scores, float32(s))
	}
	for _, t := range m.Ints("tokenizer.ggml.token_type") {
		g.Types = append(g.Types, int32(t))
	}
	return g
}

// ggufSpecials are the special tokens that templates name.
func ggufSpecials(m *checkpoint.Metadata) map[string]string {
	tokens := m.Strings("tokenizer.ggml.tokens")
	out := make(map[string]string)
	for name, key := range map[string]string{"bos_token": "bos_token_id", "eos_token": "eos_token_id", "pad_token": "padding_token_id", "unk_token": "unknown_token_id"} {
		if id, ok := m.Int("tokenizer.ggml." + key); ok && id >= 0 && id < int64(len(tokens)) {
			out[name] = tokens[id]
		}
	}
	return out
}
