// Package tokenizer turns text into the tokens of a model and back, exactly as
// the model's own tokenizer does. It reads tokenizer.json (Hugging Face
// tokenizers), tiktoken vocabularies and the vocabulary inside a GGUF file.
//
// Terms: a vocabulary gives each token its id; added tokens are found in the
// text before anything else ("<|im_end|>"), and special ones among them do not
// show in a decoded answer; a normaliser rewrites text, a split cuts it into
// words, and the model of the vocabulary (BPE or Unigram) cuts words into
// tokens.
//
// What is not known is refused by name, never guessed: a tokenizer that is
// nearly right makes a model look wrong.
//
// Sources: the behaviour of the tokenizers library (github.com/huggingface/
// tokenizers, 0.23) for each component of tokenizer.json; llama.cpp's
// src/llama-vocab.cpp for GGUF.
package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// MaxFile is the size limit of a vocabulary file in bytes. The largest published
// one (Gemma 3, 262144 tokens, indented) has 33 MB.
const MaxFile = 256 << 20

// ErrUnsupported says that a tokenizer has a part that this package does not
// know. It is wrapped by an error that names the part.
var ErrUnsupported = errors.New("not supported")

func unsupported(what, name string) error {
	return fmt.Errorf("tokenizer: %s %q is %w", what, name, ErrUnsupported)
}

// Tokenizer is one model's tokenizer. It is immutable apart from a bounded
// cache, and may be used from several goroutines.
type Tokenizer struct {
	added     *addedTokens
	normalize []normalizer
	split     []splitter
	bytes     bool // words are bytes, spelled with the byte-level alphabet in the file
	model     model
	before    []int    // ids that a beginning of text gets in front of it
	after     []int    // ids that it gets behind it
	pieces    []piece  // by id
	tokens    []string // by id, as the file spells them
	ids       map[string]int
	decoder   decoder
	buffers   sync.Pool // of *[2][]word, for Encode
}

// model cuts one word into token ids.
type model interface {
	encode(ids []int, word string) []int
}

// piece is what one token adds to a decoded text.
type piece struct {
	text    string
	byte    bool // a single byte; a run of such is read as UTF-8
	special bool
	known   bool
}

// Size is one more than the largest token id.
func (t *Tokenizer) Size() int { return len(t.pieces) }

// Token returns a token as the vocabulary spells it; ok is false for an id that
// it does not have.
func (t *Tokenizer) Token(id int) (token string, ok bool) {
	if id < 0 || id >= len(t.pieces) || !t.pieces[id].known {
		return "", false
	}
	return t.tokens[id], true
}

// Raw returns the bytes that a token stands for, which need not be whole
// characters; empty for an id that the vocabulary does not have.
func (t *Tokenizer) Raw(id int) string {
	if id < 0 || id >= len(t.pieces) {
		return ""
	}
	return t.pieces[id].text
}

// ID returns the id of a token, spelled as in the vocabulary.
func (t *Tokenizer) ID(token string) (id int, ok bool) {
	id, ok = t.ids[token]
	return id, ok
}

// Special says whether an id is a special token, which decoded text leaves out.
func (t *Tokenizer) Special(id int) bool {
	return id >= 0 && id < len(t.pieces) && t.pieces[id].special
}

// Encode returns the ids of a text. Added tokens are recognised in it. With
// special, the tokens that the model wants around a text (such as a beginning
// of sequence) are put there; a rendered chat template has its own. Bytes that
// are no UTF-8 are read as U+FFFD.
func (t *Tokenizer) Encode(text string, special bool) []int {
	text = strings.ToValidUTF8(text, "\uFFFD")
	ids := make([]int, 0, len(text)/3+len(t.before)+len(t.after))
	if special {
		ids = append(ids, t.before...)
	}
	buffers, _ := t.buffers.Get().(*[2][]word)
	if buffers == nil {
		buffers = new([2][]word)
	}
	defer t.buffers.Put(buffers)
	t.added.cut(text, false, func(part string, id int, first bool) {
		if id >= 0 {
			ids = append(ids, id)
			return
		}
		for _, n := range t.normalize {
			part = n(part)
		}
		t.added.cut(part, true, func(part string, id int, head bool) {
			if id >= 0 {
				ids = append(ids, id)
				return
			}
			list, spare := append(buffers[0][:0], word{part, first && head}), buffers[1]
			for _, split := range t.split {
				spare = spare[:0]
				for _, w := range list {
					spare = split(spare, w)
				}
				list, spare = spare, list
			}
			for _, w := range list {
				ids = t.model.encode(ids, w.text)
			}
			buffers[0], buffers[1] = list[:0], spare[:0]
		})
	})
	if special {
		ids = append(ids, t.after...)
	}
	return ids
}

// Decode returns the text of ids. With skipSpecial, special tokens are left out.
// Bytes that make no UTF-8 become U+FFFD; unknown ids are left out.
func (t *Tokenizer) Decode(ids []int, skipSpecial bool) string {
	s := t.Stream(skipSpecial)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.Next(id))
	}
	b.WriteString(s.End())
	return b.String()
}
