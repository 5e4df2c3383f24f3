package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// GGUF is the vocabulary in the metadata of a GGUF file, under the keys
// tokenizer.ggml.*. Absent values are nil or empty.
type GGUF struct {
	Model          string    // model: "gpt2" is a byte-level BPE, "llama" SentencePiece with scores
	Pre            string    // pre: name of the split
	Tokens         []string  // tokens, by id
	Scores         []float32 // scores
	Types          []int32   // token_type
	Merges         []string  // merges, "a b"
	BOS, EOS, UNK  *int      // bos_token_id, eos_token_id, unknown_token_id
	AddBOS, AddEOS *bool     // add_bos_token, add_eos_token
	AddSpacePrefix *bool     // add_space_prefix
}

// Types of tokens in a GGUF file (llama_token_type in llama.cpp's llama.h).
const (
	ggufUnknown     = 2
	ggufControl     = 3
	ggufUserDefined = 4
	ggufByte        = 6
)

// ggufSplit is how text is split for a value of tokenizer.ggml.pre, and what
// comes with it (llama.cpp, src/llama-vocab.cpp, llm_tokenizer_bpe).
type ggufSplit struct {
	patterns     []string
	ignoreMerges bool
	addBOS       bool // where the file says nothing
}

const (
	llama3Split   = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Split    = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseekWords = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
)

var ggufSplits = map[string]ggufSplit{
	"llama-bpe":        {patterns: []string{llama3Split}, ignoreMerges: true, addBOS: true},
	"llama3":           {patterns: []string{llama3Split}, ignoreMerges: true, addBOS: true},
	"qwen2":            {patterns: []string{qwen2Split}},
	"deepseek-r1-qwen": {patterns: []string{qwen2Split}},
	"gpt-2":            {patterns: []string{gpt2}},
	"smollm":           {patterns: []string{`\p{N}`, gpt2}},
	"glm4":             {patterns: []string{llama3Split}},
	"chatglm-bpe":      {patterns: []string{llama3Split}},
	"deepseek-v3":      {patterns: []string{`\p{N}{1,3}`, "[一-龥\u3040-ゟ゠-ヿ]+", deepseekWords}},
	"kimi-k2":          {patterns: []string{KimiPattern}},
}

// FromGGUF makes the tokenizer of a GGUF file. Other models and splits than the
// ones it knows are ErrUnsupported, wrapped with their name.
func FromGGUF(g GGUF) (*Tokenizer, error) {
	if len(g.Tokens) == 0 {
		return nil, errors.New("tokenizer: the GGUF file holds no tokens")
	}
	if len(g.Tokens) > maxID || g.Types != nil && len(g.Types) != len(g.Tokens) || g.Scores != nil && len(g.Scores) != len(g.Tokens) {
		return nil, fmt.Errorf("tokenizer: the GGUF file has %d tokens, %d types and %d scores", len(g.Tokens), len(g.Types), len(g.Scores))
	}
	switch g.Model {
	case "gpt2":
		return g.byteLevel()
	case "llama":
		return g.sentencePiece()
	}
	return nil, unsupported("tokenizer.ggml.model", g.Model)
}

func (g *GGUF) byteLevel() (*Tokenizer, error) {
	how, ok := ggufSplits[g.Pre]
	if !ok {
		return nil, unsupported("tokenizer.ggml.pre", g.Pre)
	}
	t := &Tokenizer{bytes: true}
	for _, p := range how.patterns {
		compiled, err := compilePattern(p)
		if err != nil {
			return nil, err
		}
		t.split = append(t.split, splitAt(compiled.find, isolated, false))
	}
	vocab, err := g.vocabulary()
	if err != nil {
		return nil, err
	}
	merges := make([][2]string, len(g.Merges))
	for i, m := range g.Merges {
		// A token can hold a space only at its beginning, where llama.cpp
		// looks for the separator behind it.
		n := strings.IndexByte(m[min(1, len(m)):], ' ')
		if n < 0 {
			return nil, fmt.Errorf("tokenizer: merge %d of the GGUF file, %q, is not two tokens", i, m)
		}
		merges[i] = [2]string{m[:n+1], m[n+2:]}
	}
	m, err := t.newBPE(vocab, merges)
	if err != nil {
		return nil, err
	}
	m.ignoreMerges = how.ignoreMerges
	t.model = m
	if err := t.setVocabulary(slices.Clone(g.Tokens), g.added()); err != nil {
		return nil, err
	}
	t.decoder.bytesAlways = true
	t.setPieces(nil)
	return t, g.around(t, how.addBOS)
}

// vocabulary is the tokens by their text.
func (g *GGUF) vocabulary() (map[string]int, error) {
	vocab := make(map[string]int, len(g.Tokens))
	for id, token := range g.Tokens {
		if _, twice := vocab[token]; twice {
			return nil, fmt.Errorf("tokenizer: token %d of the GGUF file, %q, is there twice", id, token)
		}
		vocab[token] = id
	}
	return vocab, nil
}

// added are the tokens that are found in a text before it is split.
func (g *GGUF) added() []addedToken {
	var list []addedToken
	for id, typ := range g.Types {
		if typ == ggufControl || typ == ggufUserDefined || typ == ggufUnknown {
			list = append(list, addedToken{ID: id, Content: g.Tokens[id], Special: typ != ggufUserDefined})
		}
	}
	return list
}

// around sets the tokens that a text gets before and behind it.
func (g *GGUF) around(t *Tokenizer, addBOS bool) error {
	for _, x := range []struct {
		name string
		id   *int
		add  *bool
		def  bool
		into *[]int
	}{{"bos_token_id", g.BOS, g.AddBOS, addBOS, &t.before}, {"eos_token_id", g.EOS, g.AddEOS, false, &t.after}} {
		if x.id != nil && (*x.id < 0 || *x.id >= len(g.Tokens)) {
			return fmt.Errorf("tokenizer: %s %d of the GGUF file names none of its %d tokens", x.name, *x.id, len(g.Tokens))
		}
		add := x.def
		if x.add != nil {
			add = *x.add
		}
		if add && x.id != nil {
			*x.into = []int{*x.id}
		}
	}
	return nil
}

// spaceMark is SentencePiece's visible space.
const spaceMark = "▁"

// sentencePiece is a BPE that joins the neighbours whose token has the best
// score. Characters without a token become bytes.
func (g *GGUF) sentencePiece() (*Tokenizer, error) {
	if g.Scores == nil {
		return nil, errors.New("tokenizer: tokenizer.ggml.scores is missing from the GGUF file")
	}
	vocab, err := g.vocabulary()
	if err != nil {
		return nil, err
	}
	bytes := byteTokens(vocab)
	if slices.Contains(bytes[:], -1) {
		return nil, errors.New("tokenizer: the GGUF file lacks one of the tokens <0x00> to <0xFF>")
	}
	words := make(map[string]int, len(vocab))
	for token, id := range vocab {
		if g.Types == nil || g.Types[id] != ggufControl && g.Types[id] != ggufByte && g.Types[id] != ggufUnknown {
			words[token] = id
		}
	}
	scores := slices.Clone(g.Scores)
	slices.SortFunc(scores, func(a, b float32) int { return cmp.Compare(b, a) })
	scores = slices.Compact(scores)
	rank := func(id int) int {
		n, _ := slices.BinarySearchFunc(scores, g.Scores[id], func(a, b float32) int { return cmp.Compare(b, a) })
		return n
	}
	prefix := ""
	if g.AddSpacePrefix == nil || *g.AddSpacePrefix {
		prefix = " "
	}
	// llama.cpp puts the prefix before each text between two special tokens.
	t := &Tokenizer{split: []splitter{func(list []word, part word) []word {
		part.text = strings.ReplaceAll(prefix+part.text, " ", spaceMark)
		return append(list, part)
	}}}
	t.model = &bpe{ids: words, merges: allMerges(words, rank), byteTokens: bytes, unknown: -1}
	if err := t.setVocabulary(slices.Clone(g.Tokens), g.added()); err != nil {
		return nil, err
	}
	t.decoder.perByte = true
	if prefix != "" {
		t.decoder.strip, t.decoder.stripFirst = " ", 1
	}
	t.setPieces([]normalizer{func(s string) string { return strings.ReplaceAll(s, spaceMark, " ") }})
	return t, g.around(t, true)
}
