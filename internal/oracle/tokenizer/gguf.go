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
	ggufNormal      = 1
	ggufUnknown     = 2
	ggufControl     = 3
	ggufUserDefined = 4
	ggufByte        = 6
)

// ggufSplit is how text is split for a value of tokenizer.ggml.pre, and what
// comes with it (llama.cpp, src/llama-vocab.cpp, llm_tokenizer_bpe and load, and
// src/unicode.cpp). The splits are those of llama.cpp, because a server of a GGUF file
// is held against them; they differ from the models' own in places. In gpt-4o and
// tekken llama.cpp knows no upper and lower case beyond ASCII and takes no marks for
// letters, in kimi-k2 no case at all, and in deepseek-llm and deepseek-coder white
// space beyond ASCII belongs to no range of characters.
type ggufSplit struct {
	patterns     []string
	ignoreMerges bool
	addBOS       bool // where the file says nothing
}

const (
	contractions = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
	cl100kRest   = ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	o200kRest    = ` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	llama3Split   = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|` + cl100kRest
	qwen2Split    = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|` + cl100kRest
	qwen35Split   = contractions + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	minicpm5Split = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+|` + cl100kRest
	seedSplit     = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`
	bailingSplit  = `'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`

	upperWords  = `[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+`
	lowerWords  = `[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*`
	gpt4oSplit  = upperWords + contractions + `?|` + lowerWords + contractions + `?|\p{N}{1,3}|` + o200kRest
	tekkenSplit = upperWords + `|` + lowerWords + `|\p{N}|` + o200kRest

	// han is what llama.cpp takes for Chinese (unicode_cpt_is_han).
	han           = `\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{2a6df}\x{2a700}-\x{2ebef}\x{2f800}-\x{2fa1f}`
	ggufKimiSplit = `[` + han + `]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^` + han + `]]+` + contractions + `?|\p{N}{1,3}|` + cl100kRest

	// deepseekWords and cjkWords follow digits in deepseek-v3.
	deepseekWords = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
	cjkWords      = "[一-龥\u3040-ゟ゠-ヿ]+"

	// coderCJK is what deepseek-llm and deepseek-coder take for CJK.
	coderCJK = `[一-龥ࠀ-一가-퟿&&[^\s]]+`
	// deepseekLetters are the letters of deepseek-llm.
	deepseekLetters = `A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃`
)

// splitsOf are the splits by the names of llama.cpp's types.
var (
	likeLlama3   = ggufSplit{patterns: []string{llama3Split}, ignoreMerges: true, addBOS: true}
	likeDBRX     = ggufSplit{patterns: []string{llama3Split}}
	likeGLM4     = ggufSplit{patterns: []string{llama3Split}, ignoreMerges: true}
	likeQwen2    = ggufSplit{patterns: []string{qwen2Split}}
	likeGPT2     = ggufSplit{patterns: []string{gpt2}}
	likeDigits   = ggufSplit{patterns: []string{`\p{N}`, gpt2}}
	likeGPT4o    = ggufSplit{patterns: []string{gpt4oSplit}}
	likeDeepSeek = ggufSplit{patterns: []string{`\p{N}{1,3}`, cjkWords, deepseekWords}}
	likeBailing  = ggufSplit{patterns: []string{bailingSplit}}
)

var ggufSplits = map[string]ggufSplit{
	"llama-bpe": likeLlama3, "llama3": likeLlama3, "llama-v3": likeLlama3, "falcon3": likeLlama3, "falcon-h1": likeLlama3,
	"pixtral": likeLlama3, "midm-2.0": likeLlama3, "lfm2": likeLlama3,
	"dbrx": likeDBRX, "smaug-bpe": likeDBRX, "chatglm-bpe": likeDBRX, "glm4": likeGLM4, "glm5": likeGLM4,
	"minicpm5": {patterns: []string{`\p{N}{1,3}`, minicpm5Split}, ignoreMerges: true},
	"qwen2":    likeQwen2, "deepseek-r1-qwen": likeQwen2, "kormo": likeQwen2, "stablelm2": likeQwen2, "megrez": likeQwen2,
	"hunyuan": likeQwen2, "solar-open": likeQwen2, "grok-2": likeQwen2,
	"qwen35": {patterns: []string{qwen35Split}},
	"gpt-2":  likeGPT2, "phi-2": likeGPT2, "gigachat": likeGPT2, "a.x-4.0": likeGPT2, "mellum": likeGPT2, "mpt": likeGPT2,
	"olmo": likeGPT2, "jais": likeGPT2, "trillion": likeGPT2, "granite-docling": likeGPT2, "exaone4": likeGPT2,
	"smollm": likeDigits, "starcoder": likeDigits, "refact": likeDigits, "command-r": likeDigits, "codeshell": likeDigits,
	"exaone": likeDigits, "minerva-7b": likeDigits, "mellum2": likeDigits,
	"gpt-4o": likeGPT4o, "llama4": likeGPT4o, "kanana2": likeGPT4o, "talkie": likeGPT4o, "minimax-m2": likeGPT4o,
	"tekken":      {patterns: []string{tekkenSplit}, ignoreMerges: true, addBOS: true},
	"deepseek-v3": likeDeepSeek, "hunyuan-dense": likeDeepSeek, "joyai-llm": likeDeepSeek, "hy_v4": likeDeepSeek,
	"deepseek-llm":   {patterns: []string{"[\r\n]", `\s?[` + deepseekLetters + `]+`, `\s?[!-/:-~！-／：-～‘-‟\u3001-。]+`, `\s+$`, coderCJK, `\p{N}+`}},
	"deepseek-coder": {patterns: []string{"[\r\n]", `\s?\p{L}+`, `\s?\p{P}+`, coderCJK, `\p{N}`}},
	"falcon":         {patterns: []string{"[\\p{P}\\$\\+<=>\\^~\\|`]+", gpt2, `[0-9][0-9][0-9]`}},
	"bailingmoe":     likeBailing, "bailingmoe2": likeBailing, "llada-moe": likeBailing,
	"seed-coder": {patterns: []string{seedSplit}},
	"kimi-k2":    {patterns: []string{ggufKimiSplit}},
	"default":    {patterns: []string{`[\p{P}\$\+<=>\^~\|]+`, gpt2, `\p{N}+`, `[0-9][0-9][0-9]`}},
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

// ggufEnds are the tokens that llama.cpp takes for ends of an answer by their text,
// and so for control tokens, whatever the file says: Qwen2's "</s>", for example, is an
// ordinary token that no text could be cut at. ggufShown are those of gpt-oss that it
// shows in an answer (llama-vocab.cpp, load).
var (
	ggufEnds = []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>",
		"<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~["}
	ggufShown = []string{"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"}
)

// added are the tokens that are found in a text before it is split.
func (g *GGUF) added() []addedToken {
	// Gemma 4 and PLaMo have an ordinary token of this text.
	has := func(token string) bool { return slices.Contains(g.Tokens, token) }
	ordinary := has("<|tool_response>") || has("<|plamo:eos|>")
	// In gpt-oss and Solar a message ends with it, not the answer.
	inside := has("<|return|>") && has("<|call|>") || has("<|flush|>") && (has("<|call|>") || has("<|calls|>"))
	var list []addedToken
	for id, token := range g.Tokens {
		typ := int32(ggufNormal)
		if g.Types != nil {
			typ = g.Types[id]
		}
		switch {
		case token == "</s>" && ordinary:
			typ = ggufNormal
		case slices.Contains(ggufShown, token), token == "<|end|>" && inside:
			typ = ggufUserDefined
		case slices.Contains(ggufEnds, token):
			typ = ggufControl
		}
		if typ == ggufControl || typ == ggufUserDefined || typ == ggufUnknown {
			list = append(list, addedToken{ID: id, Content: token, Special: typ != ggufUserDefined})
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
