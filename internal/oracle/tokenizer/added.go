package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// addedToken is one entry of added_tokens.
type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only between word boundaries
	LStrip     bool   `json:"lstrip"`      // takes the white space before it along
	RStrip     bool   `json:"rstrip"`      // and that behind it
	Normalized bool   `json:"normalized"`  // looked for in normalised text
	Special    bool   `json:"special"`
}

// addedTokens finds added tokens in texts: the leftmost first, and of those
// that begin at one place the longest.
type addedTokens struct {
	raw, normalized trie
}

// trie is a tree of bytes.
type trie struct {
	nodes []trieNode
}

type trieNode struct {
	next  map[byte]int32
	token *addedToken // that ends here
}

func newAddedTokens(list []addedToken, normalize []normalizer) *addedTokens {
	a := new(addedTokens)
	for i := range list {
		t := &list[i]
		if !t.Normalized {
			a.raw.add(t.Content, t)
			continue
		}
		content := t.Content
		for _, n := range normalize {
			content = n(content)
		}
		a.normalized.add(content, t)
	}
	return a
}

func (t *trie) add(text string, token *addedToken) {
	if text == "" {
		return
	}
	if len(t.nodes) == 0 {
		t.nodes = make([]trieNode, 1)
	}
	at := int32(0)
	for _, b := range []byte(text) {
		n, ok := t.nodes[at].next[b]
		if !ok {
			if t.nodes[at].next == nil {
				t.nodes[at].next = make(map[byte]int32)
			}
			n = int32(len(t.nodes))
			t.nodes[at].next[b] = n
			t.nodes = append(t.nodes, trieNode{})
		}
		at = n
	}
	t.nodes[at].token = token
}

// longest is the longest token that begins the text, and its length.
func (t *trie) longest(text string) (token *addedToken, length int) {
	at := int32(0)
	for i := range len(text) {
		n, ok := t.nodes[at].next[text[i]]
		if !ok {
			break
		}
		at = n
		if t.nodes[at].token != nil {
			token, length = t.nodes[at].token, i+1
		}
	}
	return token, length
}

// cut yields the parts of a text: an added token with its id, or the text
// between two of them with id -1. first is true for the part that begins the text.
func (a *addedTokens) cut(text string, normalized bool, yield func(part string, id int, first bool)) {
	t := &a.raw
	if normalized {
		t = &a.normalized
	}
	begin := 0 // of the text that is not handed out yet
	if len(t.nodes) > 0 {
		roots := t.nodes[0].next
		for at := 0; at < len(text); {
			if _, ok := roots[text[at]]; !ok {
				at++
				continue
			}
			token, n := t.longest(text[at:])
			if token == nil || token.SingleWord && !alone(text, at, at+n) {
				at++
				continue
			}
			lo, hi := at, at+n
			if token.LStrip {
				for lo > begin {
					r, size := utf8.DecodeLastRuneInString(text[begin:lo])
					if !unicode.IsSpace(r) {
						break
					}
					lo -= size
				}
			}
			if token.RStrip {
				for hi < len(text) {
					r, size := utf8.DecodeRuneInString(text[hi:])
					if !unicode.IsSpace(r) {
						break
					}
					hi += size
				}
			}
			if lo > begin {
				yield(text[begin:lo], -1, begin == 0)
			}
			yield(text[lo:hi], token.ID, lo == 0)
			begin, at = hi, hi
		}
	}
	if begin < len(text) {
		yield(text[begin:], -1, begin == 0)
	}
}

// alone says that no word character touches text[lo:hi].
func alone(text string, lo, hi int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:lo])
	behind, _ := utf8.DecodeRuneInString(text[hi:])
	return (lo == 0 || !isWord(before)) && (hi == len(text) || !isWord(behind))
}

// isWord is \w: letters, marks, decimal digits and connectors.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic)
}
