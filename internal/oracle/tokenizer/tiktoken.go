package tokenizer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// KimiPattern is the split of Kimi-K2's tiktoken vocabulary (tokenization_kimi.py
// of the published checkpoint).
const KimiPattern = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

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
