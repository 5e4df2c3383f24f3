package reference

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/oracle/tokenizer"
	"shakedown/internal/probe"
)

// sentences is a tokenizer whose words begin with a mark instead of a space, and
// which shows two tokens alike.
const sentences = `{"version":"1.0","added_tokens":[{"id":5,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},"decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[5],"tokens":["<s>"]}}},
"model":{"type":"BPE","merges":["▁ a","▁ b"],"vocab":{"▁":0,"a":1,"b":2,"▁a":3,"▁b":4}}}`

func newWords(t *testing.T) *words {
	t.Helper()
	tok, err := tokenizer.FromJSON([]byte(sentences))
	if err != nil {
		t.Fatal(err)
	}
	return index(tok)
}

func tokens(texts ...string) []probe.Token {
	var list []probe.Token
	for _, s := range texts {
		list = append(list, probe.Token{ID: -1, Text: s, Top: []probe.Ranked{{ID: -1, Text: s}, {ID: -1, Text: "?"}}})
	}
	return list
}

func TestFind(t *testing.T) {
	w := newWords(t)
	for _, c := range []struct {
		name string
		text probe.Text
		ids  []int // nil: they can't be found
	}{
		{"spelled as in the vocabulary", probe.Text{Prompt: "a b", Count: 3, Answer: tokens("▁a", "b"), Said: " ab"}, []int{5, 3, 4, 3, 2}},
		{"spelled as they read", probe.Text{Prompt: "a b", Count: 3, Answer: tokens(" a", "b"), Said: "ab"}, []int{5, 3, 4, 3, 2}},
		{"without what begins a text", probe.Text{Prompt: "a b", Count: 2, Answer: tokens("b"), Said: "b"}, []int{3, 4, 2}},
		{"up to a token that is not known", probe.Text{Prompt: "a", Count: -1, Answer: tokens("b", "", "b"), Said: "b"}, []int{5, 3, 2}},
		{"shown without their spaces", probe.Text{Prompt: "a", Count: 2, Answer: tokens("a", "b"), Said: "a b"}, nil},
		{"another count", probe.Text{Prompt: "a b", Count: 7, Answer: tokens("b"), Said: "b"}, nil},
		{"no token is known", probe.Text{Prompt: "a b", Count: 3, Answer: tokens("x"), Said: "x"}, []int{5, 3, 4}},
	} {
		k, err := w.find(&c.text)
		if c.ids == nil {
			if err == nil {
				t.Errorf("%s: found %v", c.name, k.ids)
			}
			continue
		}
		if err != nil || !slices.Equal(k.ids, c.ids) {
			t.Errorf("%s: %+v, %v, want %v", c.name, k, err, c.ids)
			continue
		}
		if len(k.told) == 0 {
			continue
		}
		if first := k.told[0]; len(first) != 2 || first[0] < 0 || first[1] != -1 {
			t.Errorf("%s: the tokens listed with the first one are %v", c.name, first)
		}
	}
}

func TestFindByID(t *testing.T) {
	w := newWords(t)
	text := probe.Text{Prompt: "a", Count: 2, Answer: []probe.Token{{ID: 1, Text: "?"}, {ID: 4, Text: "?"}}, Said: "anything"}
	k, err := w.find(&text)
	if err != nil || !slices.Equal(k.ids, []int{5, 3, 1, 4}) {
		t.Errorf("%+v, %v", k, err)
	}
	text.IDs = []int{4, 4}
	if k, err = w.find(&text); err != nil || !slices.Equal(k.ids, []int{4, 4, 1, 4}) {
		t.Errorf("%+v, %v", k, err)
	}
}

// TestFindEchoed: a prompt that is told from its second token on has a place only
// when all of it is told.
func TestFindEchoed(t *testing.T) {
	w := newWords(t)
	text := probe.Text{Prompt: "a b", Count: 3, Echoed: tokens("<s>", " a", " b"), Answer: tokens("b"), Said: "b"}
	k, err := w.find(&text)
	if err != nil || k.from != 0 || k.skip != 1 || len(k.told) != 4 {
		t.Errorf("%+v, %v", k, err)
	}
	text.Echoed = text.Echoed[1:]
	if k, err = w.find(&text); err != nil || k.from != 1 || k.skip != 2 || len(k.told) != 3 {
		t.Errorf("%+v, %v", k, err)
	}
	text.Answer, text.Echoed, text.Said = tokens("a"), nil, "b"
	if _, err = w.find(&text); !errors.Is(err, errTokens) || !strings.Contains(err.Error(), "tokenizer") {
		t.Errorf("error %v", err)
	}
}
