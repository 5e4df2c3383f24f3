package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"shakedown/internal/hfconfig"
)

// ErrNone says that a folder holds no tokenizer in a form that is known. It is
// wrapped by an error that names the files that were looked for.
var ErrNone = errors.New("no tokenizer")

// Load reads the tokenizer of a checkpoint's folder: tokenizer.json, the
// tiktoken.model of Kimi with its tokenizer_config.json, or a published tiktoken
// vocabulary under its own name (FromEncoding), such as qwen.tiktoken.
func Load(folder fs.FS) (*Tokenizer, error) {
	data, err := hfconfig.ReadFile(folder, "tokenizer.json", MaxFile)
	if err == nil {
		t, err := FromJSON(data)
		if err != nil {
			return nil, fmt.Errorf("tokenizer.json: %w", err)
		}
		return t, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	data, err = hfconfig.ReadFile(folder, "tiktoken.model", MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return loadEncoding(folder)
	}
	if err != nil {
		return nil, err
	}
	special, err := kimiSpecials(folder)
	if err != nil {
		return nil, err
	}
	t, err := FromTiktoken(data, KimiPattern, special)
	if err != nil {
		return nil, fmt.Errorf("tiktoken.model: %w", err)
	}
	return t, nil
}

// loadEncoding reads the one file of a folder that ends in ".tiktoken".
func loadEncoding(folder fs.FS) (*Tokenizer, error) {
	names, err := fs.Glob(folder, "*.tiktoken")
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("%w: neither tokenizer.json nor tiktoken.model nor a file ending in .tiktoken is there", ErrNone)
	case len(names) > 1:
		return nil, fmt.Errorf("tokenizer: %s: one vocabulary is expected", strings.Join(names, ", "))
	}
	data, err := hfconfig.ReadFile(folder, names[0], MaxFile)
	if err != nil {
		return nil, err
	}
	t, err := FromEncoding(names[0], data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", names[0], err)
	}
	return t, nil
}

// kimiSpecials reads the special tokens beside a tiktoken.model, whose split
// only the Python class knows: only the class of Kimi is known here, too.
func kimiSpecials(folder fs.FS) (map[string]int, error) {
	const file = "tokenizer_config.json"
	data, err := hfconfig.ReadFile(folder, file, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("tiktoken.model needs %s beside it, for its class and special tokens: %w", file, err)
	}
	var c struct {
		Class string `json:"tokenizer_class"`
		Added map[string]struct {
			Content string `json:"content"`
		} `json:"added_tokens_decoder"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if c.Class != "TikTokenTokenizer" {
		return nil, unsupported("tokenizer_class of a tiktoken.model", c.Class)
	}
	special := make(map[string]int, len(c.Added))
	for id, a := range c.Added {
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, fmt.Errorf("%s: added_tokens_decoder: %q is no id", file, id)
		}
		special[a.Content] = n
	}
	return special, nil
}
