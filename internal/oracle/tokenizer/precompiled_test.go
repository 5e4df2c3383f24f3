package tokenizer_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/oracle/tokenizer"
)

// charsMap builds a precompiled character map in which the children of every node
// have a block of 256 words of their own.
func charsMap(replace map[string]string) []byte {
	type node struct {
		next  map[byte]*node
		value int // -1: none
	}
	root := &node{map[byte]*node{}, -1}
	var texts strings.Builder
	for key, by := range replace {
		at := root
		for _, b := range []byte(key) {
			if at.next[b] == nil {
				at.next[b] = &node{map[byte]*node{}, -1}
			}
			at = at.next[b]
		}
		at.value = texts.Len()
		texts.WriteString(by + "\x00")
	}
	words := make([]uint32, 256)
	var place func(n *node, at int, label byte)
	place = func(n *node, at int, label byte) {
		base := len(words)
		words = append(words, make([]uint32, 256)...)
		words[at] = uint32(label) | uint32(at^base)<<10
		if n.value >= 0 {
			words[at] |= 1 << 8
			words[base] = uint32(n.value) | 1<<31
		}
		for b, child := range n.next {
			place(child, base^int(b), b)
		}
	}
	place(root, 0, 0)
	out := binary.LittleEndian.AppendUint32(nil, uint32(4*len(words)))
	for _, w := range words {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return append(out, texts.String()...)
}

// precompiledJSON is a Unigram vocabulary whose tokens are single characters, so that
// the tokens show the normalised text.
func precompiledJSON(raw []byte) string {
	var vocab []string
	for _, c := range "?abefiséà \u0301\u0903½" {
		vocab = append(vocab, fmt.Sprintf("[%q,-2]", string(c)))
	}
	return fmt.Sprintf(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],
		"normalizer":{"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":%q},{"type":"Strip","strip_left":false,"strip_right":true}]},
		"pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Fuse"},"model":{"type":"Unigram","unk_id":0,"vocab":[%s],"byte_fallback":false}}`,
		base64.StdEncoding.EncodeToString(raw), strings.Join(vocab, ","))
}

var someMap = map[string]string{"ﬁ": "fi", "e\u0301": "é", "ª": "a", "\r": " ", "\n": " ", "\u200b": "", "fffff": "b"}

func TestPrecompiled(t *testing.T) {
	tok, err := tokenizer.FromJSON([]byte(precompiledJSON(charsMap(someMap))))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"ﬁs":             "fis",
		"e\u0301":        "é",
		"eb":             "eb", // a beginning of a key is none
		"ª\u0301b":       "ab", // the mark goes with the cluster that is replaced
		"ª\u0903b":       "ab",
		"\u0600ª\u0301b": "?a\u0301b", // this cluster has six bytes: its characters stand for themselves
		"a\r\nb":         "a b",       // one cluster
		"a\n\nb":         "a  b",
		"a\n\u0301":      "a \u0301", // a control character is a cluster of its own
		"a\u200bb":       "ab",
		"ﬁ\u0301":        "fi", // 3+2 bytes: one cluster
		"ﬁ\u0301\u0301":  "fi\u0301\u0301",
		"fffffs":         "fffffs", // characters are replaced, not words
		"½ b  \n":        "½ b",
	} {
		ids := tok.Encode(text, false)
		var got strings.Builder
		for _, id := range ids {
			piece, _ := tok.Token(id)
			got.WriteString(piece)
		}
		if got.String() != want {
			t.Errorf("%q becomes %q, want %q", text, got.String(), want)
		}
	}
}

// TestPrecompiledRefuses: a map that lies about its size or is no text is an error,
// and one that points outside of itself replaces nothing.
func TestPrecompiledRefuses(t *testing.T) {
	sound := charsMap(someMap)
	for want, raw := range map[string][]byte{
		"shorter than its header": {1, 2},
		"trie of 0 bytes":         {0, 0, 0, 0, 1},
		"trie of 6 bytes":         {6, 0, 0, 0, 1, 2, 3, 4, 5, 6},
		"in 8":                    {16, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8},
		"no UTF-8":                append(slices.Clone(sound), 0xff),
	} {
		if _, err := tokenizer.FromJSON([]byte(precompiledJSON(raw))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	lost := slices.Repeat([]byte{0xff}, 4+4*256)
	copy(lost, []byte{0, 4, 0, 0})
	tok, err := tokenizer.FromJSON([]byte(precompiledJSON(lost)))
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("ab", false); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestScoresAsTheLibraryReadsThem: the score of aa is twice that of a, but the library
// reads it one unit lower, and so takes a twice (tokenizers 0.23).
func TestScoresAsTheLibraryReadsThem(t *testing.T) {
	tok, err := tokenizer.FromJSON([]byte(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
		"decoder":{"type":"Fuse"},"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-3.61606579078689],["aa",-7.2321315815737801]],"byte_fallback":false}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("aa", false); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("%v", got)
	}
}

func FuzzPrecompiled(f *testing.F) {
	f.Add(charsMap(someMap), "aﬁe\u0301\r\nª")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		if len(text) > 200 || len(raw) > 1<<16 {
			return
		}
		tok, err := tokenizer.FromJSON([]byte(precompiledJSON(raw)))
		if err != nil {
			return
		}
		tok.Encode(text, true)
	})
}
