package tokenizer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// KimiPattern is the split of Kimi-K2's tiktoken vocabulary (tokenization_kimi.py
// of the published checkpoint).
const KimiPattern = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// encoding is what the file of a published tiktoken vocabulary does not hold.
type encoding struct {
	split   string
	special map[string]int
	nfc     bool // text is composed first
}

const (
	cl100kSplit = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|` + cl100kRest
	qwenSplit   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|` + cl100kRest
	o200kSplit  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|` + o200kRest
)

// encodings are the known vocabularies by the name of their file without its suffix
// ".tiktoken": those of OpenAI (tiktoken 0.14, tiktoken_ext/openai_public.py) and
// Qwen's first generation (tokenization_qwen.py of the published checkpoint).
var encodings = map[string]encoding{
	"r50k_base":   {split: gpt2, special: map[string]int{"<|endoftext|>": 50256}},
	"p50k_base":   {split: gpt2, special: map[string]int{"<|endoftext|>": 50256}},
	"cl100k_base": {split: cl100kSplit, special: map[string]int{"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}},
	"o200k_base":  {split: o200kSplit, special: map[string]int{"<|endoftext|>": 199999, "<|endofprompt|>": 200018}},
	"qwen":        {split: qwenSplit, special: numbered("<|extra_%d|>", 0, 205, 151646, map[string]int{"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}), nfc: true},
	"o200k_harmony": {split: o200kSplit, special: numbered("<|reserved_%d|>", 200013, 201088, 200013, map[string]int{
		"<|startoftext|>": 199998, "<|endoftext|>": 199999, "<|reserved_200000|>": 200000, "<|reserved_200001|>": 200001, "<|return|>": 200002,
		"<|constrain|>": 200003, "<|reserved_200004|>": 200004, "<|channel|>": 200005, "<|start|>": 200006, "<|end|>": 200007, "<|message|>": 200008,
		"<|reserved_200009|>": 200009, "<|reserved_200010|>": 200010, "<|reserved_200011|>": 200011, "<|call|>": 200012, "<|endofprompt|>": 200018,
	})},
}

// numbered adds the tokens format%from to format%(to-1), with ids from id on, but for
// ids that have a name.
func numbered(format string, from, to, id int, names map[string]int) map[string]int {
	taken := make(map[int]bool, len(names))
	for _, n := range names {
		taken[n] = true
	}
	for i := from; i < to; i++ {
		if n := id + i - from; !taken[n] {
			names[fmt.Sprintf(format, i)] = n
		}
	}
	return names
}

// FromEncoding reads the file of a published tiktoken vocabulary, whose name says how
// text is split and which special tokens there are. An unknown name is ErrUnsupported,
// wrapped with the name.
func FromEncoding(name string, data []byte) (*Tokenizer, error) {
	e, ok := encodings[strings.TrimSuffix(name, ".tiktoken")]
	if !ok {
		known := slices.Sorted(maps.Keys(encodings))
		return nil, fmt.Errorf("%w: %s are known", unsupported("tiktoken vocabulary", name), strings.Join(known, ", "))
	}
	t, err := FromTiktoken(data, e.split, e.special)
	if err == nil && e.nfc {
		t.normalize = []normalizer{norm.NFC.String}
	}
	return t, err
}

// FromTiktoken reads a vocabulary in tiktoken's form: a line for each token, its
// bytes in base64 and its rank, which is its id. Of two neighbours whose
// concatenation is a token, those with the lowest rank are joined first.
// special are the special tokens by their text.
func FromTiktoken(data []byte, split string, special map[string]int) (*Tokenizer, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("tokenizer: larger than %d MiB", MaxFile>>20)
	}
	pattern, err := compilePattern(split)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w: %w", err, ErrUnsupported)
	}
	ids := make(map[string]int)
	lines := bufio.NewScanner(bytes.NewReader(data))
	for no := 1; lines.Scan(); no++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		code, rank, _ := strings.Cut(lines.Text(), " ")
		token, err := base64.StdEncoding.DecodeString(code)
		id, err2 := strconv.Atoi(strings.TrimSpace(rank))
		if err != nil || err2 != nil || id < 0 || id > maxID || len(token) == 0 {
			return nil, fmt.Errorf("tokenizer: line %d of the tiktoken vocabulary is not a token in base64 and its rank", no)
		}
		if _, twice := ids[string(token)]; twice {
			return nil, fmt.Errorf("tokenizer: line %d of the tiktoken vocabulary repeats a token", no)
		}
		ids[string(token)] = id
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("tokenizer: tiktoken vocabulary: %w", err)
	}
	if len(ids) == 0 {
		return nil, errors.New("tokenizer: the tiktoken vocabulary holds no token")
	}
	t := &Tokenizer{bytes: true, split: []splitter{splitAt(pattern.find, isolated, false)}}
	m := &bpe{ids: ids, byteLevel: true, unknown: -1, ignoreMerges: true}
	for b := range 256 {
		m.single[b] = -1
		if id, ok := ids[string([]byte{byte(b)})]; ok {
			m.single[b] = id
		}
	}
	m.merges = allMerges(ids, func(id int) int { return id })
	t.model = m
	spelled := make(map[string]int, len(ids))
	for token, id := range ids {
		spelled[spell(token)] = id
	}
	tokens, err := byID(spelled)
	if err != nil {
		return nil, err
	}
	for text, id := range special {
		if id < len(tokens) && tokens[id] != "" {
			return nil, fmt.Errorf("tokenizer: the tiktoken vocabulary has a token of id %d, which is that of %s", id, text)
		}
	}
	if err := t.setVocabulary(tokens, specials(special)); err != nil {
		return nil, err
	}
	t.decoder.bytesAlways = true
	t.setPieces(nil)
	return t, nil
}

// specials are special tokens in the order of their ids.
func specials(byText map[string]int) []addedToken {
	list := make([]addedToken, 0, len(byText))
	for text, id := range byText {
		list = append(list, addedToken{ID: id, Content: text, Special: true})
	}
	slices.SortFunc(list, func(a, b addedToken) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// spell writes bytes in the byte-level alphabet.
func spell(token string) string {
	var b strings.Builder
	for i := range len(token) {
		b.WriteRune(byteAlphabet[token[i]])
	}
	return b.String()
}

// allMerges are the merges of a vocabulary that ranks its tokens and lists no
// merges: every way to cut a token into two others.
func allMerges(ids map[string]int, rank func(id int) int) map[uint64]merge {
	merges := make(map[uint64]merge, 2*len(ids))
	for token, id := range ids {
		for cut := 1; cut < len(token); cut++ {
			if a, ok := ids[token[:cut]]; ok {
				if b, ok := ids[token[cut:]]; ok {
					merges[pairOf(a, b)] = merge{rank(id), id}
				}
			}
		}
	}
	return merges
}
