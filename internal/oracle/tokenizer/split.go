package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// normalizer rewrites text before it is split.
type normalizer func(string) string

// word is a part of a text on its way to the model.
type word struct {
	text  string
	first bool // it begins the whole text
}

// splitter cuts a part into words and appends them to list.
type splitter func(list []word, part word) []word

// behaviour says what becomes of the text that a split pattern matches.
type behaviour string

const (
	isolated   behaviour = "Isolated"           // a word of its own
	removed    behaviour = "Removed"            // dropped
	merged     behaviour = "MergedWithPrevious" // the end of the word before it
	mergedNext behaviour = "MergedWithNext"     // the beginning of the word behind it
	contiguous behaviour = "Contiguous"         // a word together with matches beside it
)

// finder finds the next match that begins at from or later; start is -1 when
// there is none.
type finder func(text string, from int) (start, end int)

// splitAt splits where a finder matches. With invert, matches and the text
// between them change places.
func splitAt(find finder, how behaviour, invert bool) splitter {
	return func(list []word, whole word) []word {
		part := whole.text
		begin := 0    // of the word that is being built
		open := false // it is a match
		emit := func(end int) {
			if end > begin {
				list = append(list, word{part[begin:end], whole.first && begin == 0})
			}
			begin = end
		}
		piece := func(lo, hi int, match bool) {
			if lo == hi {
				return
			}
			if match != invert {
				switch how {
				case isolated:
					emit(lo)
					emit(hi)
				case removed:
					emit(lo)
					begin = hi
				case merged:
					emit(hi)
				case mergedNext:
					emit(lo)
				case contiguous:
					if !open {
						emit(lo)
					}
				}
				open = true
				return
			}
			if open && how == contiguous {
				emit(lo)
			}
			open = false
		}
		at := 0
		for at < len(part) {
			lo, hi := find(part, at)
			if lo < 0 {
				break
			}
			piece(at, lo, false)
			piece(lo, hi, true)
			at = hi
		}
		piece(at, len(part), false)
		emit(len(part))
		return list
	}
}

// literally finds a text.
func literally(text string) finder {
	return func(s string, from int) (int, int) {
		n := strings.Index(s[from:], text)
		if n < 0 || text == "" {
			return -1, -1
		}
		return from + n, from + n + len(text)
	}
}

// oneOf finds single characters of a kind.
func oneOf(is func(rune) bool) finder {
	return func(s string, from int) (int, int) {
		n := strings.IndexFunc(s[from:], is)
		if n < 0 {
			return -1, -1
		}
		_, size := utf8.DecodeRuneInString(s[from+n:])
		return from + n, from + n + size
	}
}

// isPunctuation is what the Punctuation split means: ASCII punctuation and
// symbols, and the category P.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	return unicode.IsPunct(r)
}

// prefixSpace puts a space before a part that begins with none.
func prefixSpace(list []word, part word) []word {
	if r, _ := utf8.DecodeRuneInString(part.text); !unicode.IsSpace(r) {
		part.text = " " + part.text
	}
	return append(list, part)
}

// metaspace marks spaces as SentencePiece does. scheme says which parts get one
// in front: always, first (the one that begins the whole text) or never.
func metaspace(mark, scheme string, split bool) splitter {
	cut := splitAt(literally(mark), mergedNext, false)
	return func(list []word, part word) []word {
		part.text = strings.ReplaceAll(part.text, " ", mark)
		if (scheme == "always" || scheme == "first" && part.first) && !strings.HasPrefix(part.text, mark) {
			part.text = mark + part.text
		}
		if !split {
			return append(list, part)
		}
		return cut(list, part)
	}
}

// byteAlphabet is the alphabet of byte-level vocabularies (GPT-2's
// bytes_to_unicode): printable Latin-1 stands for itself, the other bytes for
// the characters from U+0100 on, in order.
var byteAlphabet, byteOf = func() (alphabet [256]rune, of map[rune]byte) {
	of = make(map[rune]byte, 256)
	next := rune(0x100)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = next
			next++
		}
		alphabet[b] = r
		of[r] = byte(b)
	}
	return alphabet, of
}()

// unspell turns a token of a byte-level vocabulary into its bytes; ok is false
// when it holds a character outside the alphabet.
func unspell(token string) (bytes string, ok bool) {
	b := make([]byte, 0, len(token))
	for _, r := range token {
		c, ok := byteOf[r]
		if !ok {
			return token, false
		}
		b = append(b, c)
	}
	return string(b), true
}
