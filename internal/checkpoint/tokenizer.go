package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"shakedown/internal/hfconfig"
)

// Size limits of the text files beside the weights, in bytes: large tokenizers
// have 30 MB, templates 100 kB.
const (
	maxTokenizer = 256 << 20
	maxTemplate  = 8 << 20
)

// maxTokenID bounds the ids that are kept; the largest vocabularies have 300,000.
const maxTokenID = 1 << 22

// Tokenizer is what the files beside the weights say of the vocabulary. It does
// not encode text.
type Tokenizer struct {
	// File is where the vocabulary stands: tokenizer.json, the GGUF file, or the
	// name of a format that is not read here (tokenizer.model, tekken.json);
	// empty when there is none.
	File string
	// Read says whether the fields below were read from File.
	Read bool
	// Tokens is the number of ids with a token, MaxID the largest one (-1: none).
	Tokens, MaxID int
	// Added maps the added and control tokens to their ids.
	Added map[string]int
	// Twice lists ids that two different added tokens claim.
	Twice []int
	// Config is tokenizer_config.json, nil when absent; GGUF files get the same
	// fields from their metadata (eos_token, bos_token).
	Config hfconfig.Object
	// Template is the chat template, TemplateFile where it stands.
	Template, TemplateFile string
	// Problems are files that can't be read.
	Problems []Problem

	present []bool
	addedAt map[int]string
}

// Has says whether a token has the id.
func (t *Tokenizer) Has(id int) bool { return id >= 0 && id < len(t.present) && t.present[id] }

func (t *Tokenizer) add(id int) {
	if id < 0 || id >= maxTokenID {
		return
	}
	for len(t.present) <= id {
		t.present = append(t.present, make([]bool, max(1024, id+1-len(t.present)))...)
	}
	if !t.present[id] {
		t.present[id] = true
		t.Tokens++
	}
	t.MaxID = max(t.MaxID, id)
}

// Tokenizer reads the files of the tokenizer each time it is called.
func (c *Checkpoint) Tokenizer() *Tokenizer {
	t := &Tokenizer{MaxID: -1, Added: map[string]int{}}
	if c.Format == GGUF {
		if c.Meta != nil {
			t.fromGGUF(c)
		}
		return t
	}
	t.text(c, "tokenizer.json", maxTokenizer, t.parse)
	if t.File == "" {
		for _, name := range []string{"tokenizer.model", "tekken.json", "tiktoken.model", "qwen.tiktoken", "vocab.json", "vocab.txt"} {
			if _, err := c.readSmall(name, maxTokenizer); err == nil {
				t.File = name
				break
			}
		}
	}
	config := func(data []byte) (err error) {
		t.Config, err = hfconfig.Decode(data)
		return err
	}
	t.text(c, "tokenizer_config.json", hfconfig.MaxFile, config)
	t.template(c)
	return t
}

// text reads one file; what is wrong with it becomes a problem.
func (t *Tokenizer) text(c *Checkpoint, name string, limit int64, parse func([]byte) error) {
	data, err := c.readSmall(name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = parse(data)
	}
	if err != nil {
		t.Problems = append(t.Problems, Problem{Kind: BadConfig, File: name, Want: "a readable file of the tokenizer", Got: err.Error()})
	}
	if name == "tokenizer.json" {
		t.File, t.Read = name, err == nil
	}
}

// template finds the chat template in the places where transformers looks.
func (t *Tokenizer) template(c *Checkpoint) {
	t.text(c, "chat_template.jinja", maxTemplate, func(data []byte) error {
		t.Template, t.TemplateFile = string(data), "chat_template.jinja"
		return nil
	})
	if t.Template == "" {
		t.text(c, "chat_template.json", maxTemplate, func(data []byte) error {
			o, err := hfconfig.Decode(data)
			if s := o.Text("chat_template"); s != "" {
				t.Template, t.TemplateFile = s, "chat_template.json"
			}
			return err
		})
	}
	if t.Template != "" {
		return
	}
	s := t.Config.Text("chat_template")
	for _, v := range t.Config.List("chat_template") { // a list of named templates
		if o, ok := v.(hfconfig.Object); ok && (s == "" || o.Text("name") == "default") {
			s = o.Text("template")
		}
	}
	if s != "" {
		t.Template, t.TemplateFile = s, "tokenizer_config.json"
	}
}

// parse reads tokenizer.json: the vocabulary's ids and the added tokens.
func (t *Tokenizer) parse(data []byte) error {
	s, err := newJSONScan(data)
	if err != nil {
		return err
	}
	model := false
	err = s.object(func(key string) error {
		switch key {
		case "added_tokens":
			return s.array(func() error { return t.addedToken(s) })
		case "model":
			model = true
			return s.object(func(key string) error {
				if key == "vocab" {
					return t.vocabulary(s)
				}
				return s.skip()
			})
		}
		return s.skip()
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && !model {
		err = errors.New("no model in it")
	}
	return err
}

// vocabulary reads a map of tokens to ids (BPE, WordPiece) or a list in the order
// of the ids (Unigram).
func (t *Tokenizer) vocabulary(s *jsonScan) error {
	if s.next() == '[' {
		id := 0
		return s.array(func() error {
			t.add(id)
			id++
			return s.skip()
		})
	}
	return s.object(func(string) error {
		id, err := s.natural()
		if err == nil && id < maxTokenID {
			t.add(int(id))
		}
		return err
	})
}

func (t *Tokenizer) addedToken(s *jsonScan) error {
	content, id := "", uint64(math.MaxUint64)
	err := s.object(func(key string) (err error) {
		switch key {
		case "id":
			id, err = s.natural()
		case "content":
			content, err = s.str()
		default:
			err = s.skip()
		}
		return err
	})
	if err != nil || id >= maxTokenID {
		return err
	}
	if t.addedAt == nil {
		t.addedAt = map[int]string{}
	}
	if other, ok := t.addedAt[int(id)]; ok && other != content {
		t.Twice = append(t.Twice, int(id))
	}
	t.addedAt[int(id)] = content
	t.Added[content] = int(id)
	t.add(int(id))
	return nil
}

// Token types of GGUF vocabularies (llama.h, enum llama_token_type).
const (
	ggufControl     = 3
	ggufUserDefined = 4
)

func (t *Tokenizer) fromGGUF(c *Checkpoint) {
	tokens, kinds := c.Meta.Strings("tokenizer.ggml.tokens"), c.Meta.Ints("tokenizer.ggml.token_type")
	if len(tokens) == 0 {
		return
	}
	t.File, t.Read = c.Files[0].Name, true
	for id, text := range tokens {
		t.add(id)
		if id < len(kinds) && (kinds[id] == ggufControl || kinds[id] == ggufUserDefined) {
			t.Added[text] = id
		}
	}
	t.Config = hfconfig.Object{}
	for key, field := range map[string]string{"tokenizer.ggml.eos_token_id": "eos_token_id", "tokenizer.ggml.bos_token_id": "bos_token_id", "tokenizer.ggml.padding_token_id": "pad_token_id"} {
		if id, ok := c.Meta.Int(key); ok {
			t.Config[field] = json.Number(fmt.Sprint(id))
		}
	}
	if s, ok := c.Meta.Str("tokenizer.chat_template"); ok {
		t.Template, t.TemplateFile = s, c.Files[0].Name
	}
}
