package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// charsMap is SentencePiece's precompiled normalisation: a trie of texts, each with
// the place of what replaces it. The trie is Darts' double array, one word of 32 bits
// for each node: a label, an offset to its children, and whether a value follows.
type charsMap struct {
	trie     []uint32
	replaced string // texts, each ended by a zero byte
}

// readPrecompiled reads the Precompiled normalizer: base64 of the size of the trie in
// bytes, the trie, and the replacements.
func readPrecompiled(data json.RawMessage) (normalizer, error) {
	var c struct {
		Type string
		Map  string `json:"precompiled_charsmap"`
	}
	if err := strict(data, &c); err != nil {
		return nil, fmt.Errorf("tokenizer: normalizer Precompiled: %w", err)
	}
	raw, err := base64.StdEncoding.DecodeString(c.Map)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: normalizer Precompiled: %w", err)
	}
	m, err := newCharsMap(raw)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: normalizer Precompiled: %w", err)
	}
	return m.normalize, nil
}

func newCharsMap(raw []byte) (*charsMap, error) {
	if len(raw) < 4 {
		return nil, errors.New("the character map is shorter than its header")
	}
	size, body := binary.LittleEndian.Uint32(raw), raw[4:]
	if size == 0 || size%4 != 0 || int64(size) > int64(len(body)) {
		return nil, fmt.Errorf("the character map has a trie of %d bytes in %d", size, len(body))
	}
	m := &charsMap{trie: make([]uint32, size/4), replaced: string(body[size:])}
	for i := range m.trie {
		m.trie[i] = binary.LittleEndian.Uint32(body[4*i:])
	}
	if !utf8.ValidString(m.replaced) {
		return nil, errors.New("the character map replaces by what is no UTF-8")
	}
	return m, nil
}

// offset is where a node's children lie, relative to it.
func offset(node uint32) uint32 { return node >> 10 << (node & (1 << 9) >> 6) }

// of is what replaces a text: that of the shortest beginning of it that the trie
// has, as in the library (spm_precompiled, transform), which takes the first result
// of a search that finds all.
func (m *charsMap) of(text string) (string, bool) {
	at := offset(m.trie[0])
	for i := range len(text) {
		if text[i] == 0 {
			break
		}
		at ^= uint32(text[i])
		if int64(at) >= int64(len(m.trie)) {
			break
		}
		node := m.trie[at]
		if node&(1<<31|0xff) != uint32(text[i]) {
			break
		}
		at ^= offset(node)
		if node>>8&1 == 0 {
			continue
		}
		if int64(at) >= int64(len(m.trie)) {
			break
		}
		from := m.trie[at] & (1<<31 - 1)
		if int64(from) > int64(len(m.replaced)) {
			break
		}
		text, _, _ := strings.Cut(m.replaced[from:], "\x00")
		return text, true
	}
	return "", false
}

// longCluster is the length in bytes from which the library looks at the characters
// of a grapheme cluster one by one, not at all of it first.
const longCluster = 6

// normalize replaces each grapheme cluster as a whole where the map has a beginning of
// it, and else each of its characters (tokenizers, normalizers/precompiled.rs).
func (m *charsMap) normalize(text string) string {
	var b strings.Builder
	for text != "" {
		n := cluster(text)
		if n < longCluster {
			if by, ok := m.of(text[:n]); ok {
				b.WriteString(by)
				text = text[n:]
				continue
			}
		}
		for i, r := range text[:n] {
			one := text[i : i+utf8.RuneLen(r)]
			if by, ok := m.of(one); ok {
				one = by
			}
			b.WriteString(one)
		}
		text = text[n:]
	}
	return b.String()
}

// cluster is the length of the grapheme cluster that begins a text (Unicode Standard
// Annex 29). What joins Hangul, flags, emoji and Indic conjuncts is left out: such
// clusters are long, whose characters stand for themselves.
func cluster(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case r == '\r' && strings.HasPrefix(text[n:], "\n"):
		return n + 1
	case breaks(r):
		return n
	}
	for n < len(text) {
		next, size := utf8.DecodeRuneInString(text[n:])
		if !extends(next) && (!prepends(r) || breaks(next)) {
			break
		}
		r = next
		n += size
	}
	return n
}

const zeroWidthJoiner = '\u200d'

// prepends says that the character behind belongs to the same cluster: those of
// Prepend that are not letters of three bytes.
func prepends(r rune) bool { return unicode.Is(unicode.Prepended_Concatenation_Mark, r) }

// breaks says that a character is a cluster of its own: CR, LF and Control of the
// annex.
func breaks(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && !extends(r) && !prepends(r)
}

// extends says that a character belongs to the cluster before it: Extend, ZWJ and
// SpacingMark of the annex.
func extends(r rune) bool {
	if r < 0x300 {
		return false
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Other_Grapheme_Extend) || r == zeroWidthJoiner ||
		r >= 0x1f3fb && r <= 0x1f3ff || r == 0xe33 || r == 0xeb3 ||
		unicode.Is(unicode.Mc, r) && !unicode.Is(noSpacingMark, r)
}

// noSpacingMark are the spacing marks that the annex excepts (table 2, SpacingMark).
var noSpacingMark = &unicode.RangeTable{R16: []unicode.Range16{
	{0x102b, 0x102c, 1}, {0x1038, 0x1038, 1}, {0x1062, 0x1064, 1}, {0x1067, 0x106d, 1}, {0x1083, 0x1083, 1},
	{0x1087, 0x108c, 1}, {0x108f, 0x108f, 1}, {0x109a, 0x109c, 1}, {0x1a61, 0x1a61, 1}, {0x1a63, 0x1a64, 1},
	{0xaa7b, 0xaa7b, 1}, {0xaa7d, 0xaa7d, 1},
}, R32: []unicode.Range32{{0x11720, 0x11721, 1}}}
