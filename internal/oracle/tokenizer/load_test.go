package tokenizer_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"shakedown/internal/oracle/tokenizer"
)

// ranks is a tiktoken vocabulary of the given tokens.
func ranks(tokens ...string) []byte {
	var b strings.Builder
	for i, t := range tokens {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(t)), i)
	}
	return []byte(b.String())
}

const kimiConfig = `{"tokenizer_class":"TikTokenTokenizer","added_tokens_decoder":{"20":{"content":"<|im_end|>","special":true}}}`

func TestTiktoken(t *testing.T) {
	tok, err := tokenizer.Load(fstest.MapFS{
		"tiktoken.model":        {Data: ranks("a", "b", "c", " ", "\xc3", "\xa9", "bc", "ab", "\xc3\xa9", "xyz")},
		"tokenizer_config.json": {Data: []byte(kimiConfig)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		"abc":         {0, 6}, // bc has the lower rank
		"ab é":        {7, 3, 8},
		"xyz":         {9}, // a whole word, although its letters are no tokens
		"a<|im_end|>": {0, 20},
	} {
		got := tok.Encode(text, true)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if back := tok.Decode(got, false); back != text {
			t.Errorf("%q comes back as %q", text, back)
		}
	}
	if id, ok := tok.ID("<|im_end|>"); id != 20 || !ok || !tok.Special(20) || tok.Size() != 21 {
		t.Errorf("special token %d, %v of %d", id, ok, tok.Size())
	}
	if _, ok := tok.Token(15); ok {
		t.Error("id 15 names no token")
	}
}

func TestLoadErrors(t *testing.T) {
	model := &fstest.MapFile{Data: ranks("a")}
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  string
		is    error
	}{
		"nothing":         {fstest.MapFS{}, "neither tokenizer.json nor tiktoken.model", tokenizer.ErrNone},
		"no config":       {fstest.MapFS{"tiktoken.model": model}, "needs tokenizer_config.json", nil},
		"another class":   {fstest.MapFS{"tiktoken.model": model, "tokenizer_config.json": {Data: []byte(`{"tokenizer_class":"QWenTokenizer"}`)}}, `"QWenTokenizer"`, tokenizer.ErrUnsupported},
		"broken line":     {fstest.MapFS{"tiktoken.model": {Data: []byte("YQ== 0\nYg== one\n")}, "tokenizer_config.json": {Data: []byte(kimiConfig)}}, "line 2", nil},
		"twice":           {fstest.MapFS{"tiktoken.model": {Data: []byte("YQ== 0\nYQ== 1\n")}, "tokenizer_config.json": {Data: []byte(kimiConfig)}}, "repeats", nil},
		"unknown":         {fstest.MapFS{"mine.tiktoken": model}, `tiktoken vocabulary "mine.tiktoken" is not supported: cl100k_base, o200k_base`, tokenizer.ErrUnsupported},
		"two":             {fstest.MapFS{"qwen.tiktoken": model, "o200k_base.tiktoken": model}, "one vocabulary is expected", nil},
		"id taken":        {fstest.MapFS{"r50k_base.tiktoken": {Data: []byte("YQ== 50256\n")}}, "a token of id 50256, which is that of <|endoftext|>", nil},
		"empty":           {fstest.MapFS{"tiktoken.model": {}, "tokenizer_config.json": {Data: []byte(kimiConfig)}}, "no token", nil},
		"cut JSON":        {fstest.MapFS{"tokenizer.json": {Data: []byte(smallJSON[:200])}}, "tokenizer.json: ", nil},
		"not a tokenizer": {fstest.MapFS{"tokenizer.json": {Data: []byte(`{"model_type":"llama"}`)}}, "model_type", nil},
	} {
		_, err := tokenizer.Load(c.files)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestEncodings: the name of a published vocabulary says how text is split and which
// special tokens there are.
func TestEncodings(t *testing.T) {
	data := ranks("a", "b", "1", "2", "12", "123", "é", " ", "\xc3", "\xa9", "3", ">", "<", "|", "e", "\xcc", "\x81", "'", "B")
	for _, tc := range []struct {
		name, text string
		want       []int
	}{
		{"qwen.tiktoken", "123<|im_end|>e\u0301", []int{2, 3, 10, 151645, 6}}, // single digits; composed
		{"qwen.tiktoken", "<|extra_204|>", []int{151850}},
		{"cl100k_base.tiktoken", "123<|endofprompt|>e\u0301", []int{5, 100276, 14, 15, 16}},
		{"o200k_base.tiktoken", "aB<|endoftext|>", []int{0, 18, 199999}},
		{"o200k_harmony.tiktoken", "<|channel|>a<|reserved_201087|>", []int{200005, 0, 201087}},
		{"r50k_base.tiktoken", "12<|endoftext|>", []int{4, 50256}},
	} {
		tok, err := tokenizer.Load(fstest.MapFS{tc.name: {Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Encode(tc.text, true); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q: %v, want %v", tc.name, tc.text, got, tc.want)
		}
	}
	if tok, err := tokenizer.FromEncoding("o200k_harmony.tiktoken", data); err != nil || tok.Size() != 201088 {
		t.Errorf("%d tokens, %v", tok.Size(), err)
	}
}

func ptr[T any](v T) *T { return &v }

func TestGGUFByteLevel(t *testing.T) {
	g := tokenizer.GGUF{
		Model: "gpt2", Pre: "smollm", BOS: ptr(0), EOS: ptr(0), AddEOS: ptr(true),
		Tokens: []string{"<|end|>", "a", "b", "Ġ", "1", "ab", "Ġab", "11"},
		Types:  []int32{3, 1, 1, 1, 1, 1, 1, 1},
		Merges: []string{"a b", "Ġ ab", "1 1"},
	}
	tok, err := tokenizer.FromGGUF(g)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode("ab ab11<|end|>", true), []int{5, 6, 4, 4, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: digits are split, and an end of sequence is added", got, want)
	}
	for name, change := range map[string]func(*tokenizer.GGUF){
		"superbpe":      func(g *tokenizer.GGUF) { g.Pre = "superbpe" },
		"bert":          func(g *tokenizer.GGUF) { g.Model = "bert" },
		"bos_token_id":  func(g *tokenizer.GGUF) { g.BOS = ptr(8) },
		"twice":         func(g *tokenizer.GGUF) { g.Tokens[1] = "b" },
		"two tokens":    func(g *tokenizer.GGUF) { g.Merges[0] = "ab" },
		"merge 2":       func(g *tokenizer.GGUF) { g.Merges[2] = "1 x" },
		"7 types":       func(g *tokenizer.GGUF) { g.Types = g.Types[:7] },
		"holds no toke": func(g *tokenizer.GGUF) { g.Tokens = nil },
	} {
		bad := g
		bad.Tokens, bad.Merges = slices.Clone(g.Tokens), slices.Clone(g.Merges)
		change(&bad)
		if _, err := tokenizer.FromGGUF(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGGUFSpecialByText: tokens that llama.cpp takes for control tokens by their text.
func TestGGUFSpecialByText(t *testing.T) {
	for _, tc := range []struct {
		tokens  []string
		special []bool
	}{
		{[]string{"</s>", "<|im_end|>", "<|channel|>", "<|end|>", "x"}, []bool{true, true, false, true, false}},
		{[]string{"</s>", "<|tool_response>"}, []bool{false, true}},
		{[]string{"<|end|>", "<|return|>", "<|call|>"}, []bool{false, true, true}},
	} {
		g := tokenizer.GGUF{Model: "gpt2", Pre: "qwen2", Tokens: tc.tokens, Types: slices.Repeat([]int32{1}, len(tc.tokens))}
		tok, err := tokenizer.FromGGUF(g)
		if err != nil {
			t.Fatal(err)
		}
		for id, special := range tc.special {
			if tok.Special(id) != special {
				t.Errorf("%q: %q is special: %v", tc.tokens, tc.tokens[id], !special)
			}
		}
		if got := tok.Encode(tc.tokens[1], false); !slices.Equal(got, []int{1}) {
			t.Errorf("%q: %v", tc.tokens[1], got)
		}
	}
}

func TestGGUFSentencePiece(t *testing.T) {
	g := tokenizer.GGUF{Model: "llama", BOS: ptr(1), UNK: ptr(0),
		Tokens: []string{"<unk>", "<s>", "▁", "a", "b", "▁a", "ab", "▁ab"},
		Types:  []int32{2, 3, 1, 1, 1, 1, 1, 1},
		Scores: []float32{0, 0, -9, -9, -9, -2, -1, -3},
	}
	for b := range 256 {
		g.Tokens = append(g.Tokens, fmt.Sprintf("<0x%02X>", b))
		g.Types = append(g.Types, 6)
		g.Scores = append(g.Scores, 0)
	}
	tok, err := tokenizer.FromGGUF(g)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		"ab":      {1, 7}, // ab first, it has the best score, then ▁ with it
		"a b":     {1, 5, 2, 4},
		"é":       {1, 2, 8 + 0xc3, 8 + 0xa9},
		"<s>a":    {1, 1, 5}, // the space comes behind a special token, too
		" a":      {1, 2, 5},
		"<0x41>b": {1, 2, 8 + '<', 8 + '0', 8 + 'x', 8 + '4', 8 + '1', 8 + '>', 4}, // no text means a byte token
	} {
		got := tok.Encode(text, true)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if back := tok.Decode(got, true); back != strings.TrimPrefix(text, "<s>") {
			t.Errorf("%q comes back as %q", text, back)
		}
	}
	g.Tokens[9], g.Types[9] = "x", 1
	if _, err := tokenizer.FromGGUF(g); err == nil {
		t.Error("a missing byte token is accepted")
	}
}

// TestTiktokenVectors compares tiktoken's form of a vocabulary with the reference.
func TestTiktokenVectors(t *testing.T) {
	if !present() {
		t.Skip("not run: no reference vectors beside the repository")
	}
	data, err := os.ReadFile(filepath.Join(shared, "tokenizers/kimi/tiktoken.model"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.FromTiktoken(data, tokenizer.KimiPattern, nil)
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Strings []struct {
			Text string
			IDs  []int
		}
	}
	read(t, filepath.Join(shared, "tokenizers/kimi/vectors.json"), &v)
	compared := 0
	for _, s := range v.Strings {
		if slices.ContainsFunc(s.IDs, func(id int) bool { return id >= 2000 }) {
			continue // has special tokens, which are not in this file
		}
		compared++
		if got := tok.Encode(s.Text, false); !slices.Equal(got, s.IDs) {
			t.Errorf("%q\n got %v\nwant %v", s.Text, got, s.IDs)
		}
	}
	if compared < 250 {
		t.Errorf("only %d strings compared", compared)
	}
}

// FuzzGGUF runs texts through every kind of split over a vocabulary of bytes.
func FuzzGGUF(f *testing.F) {
	pres := []string{"llama-bpe", "qwen35", "gpt-4o", "tekken", "deepseek-v3", "deepseek-llm", "deepseek-coder", "falcon", "bailingmoe", "seed-coder", "kimi-k2", "default", "minicpm5", "smollm"}
	var tokens []string
	for r := rune(1); r < 0x180; r++ {
		tokens = append(tokens, string(r))
	}
	var toks []*tokenizer.Tokenizer
	for i, pre := range pres {
		tok, err := tokenizer.FromGGUF(tokenizer.GGUF{Model: "gpt2", Pre: pre, Tokens: tokens})
		if err != nil {
			f.Fatal(err)
		}
		toks = append(toks, tok)
		f.Add(uint8(i), "I'LL camelCaseÉtat 1234567\u3000\r\n  ok/\n\t!!日本\n")
	}
	f.Fuzz(func(t *testing.T, pre uint8, text string) {
		if len(text) > 400 {
			return
		}
		tok := toks[int(pre)%len(toks)]
		if back := tok.Decode(tok.Encode(text, false), false); back != strings.ToValidUTF8(text, "\uFFFD") {
			t.Errorf("%q comes back as %q", text, back)
		}
	})
}

func FuzzFromTiktoken(f *testing.F) {
	f.Add(ranks("a", "b", "ab"), someSplit, "ab a")
	f.Fuzz(func(t *testing.T, data []byte, split, text string) {
		if len(text) > 200 || len(split) > 200 {
			return
		}
		tok, err := tokenizer.FromTiktoken(data, split, map[string]int{"<s>": 9})
		if err != nil {
			return
		}
		tok.Decode(tok.Encode(text, true), true)
	})
}

// someSplit is a short split for a seed.
const someSplit = `\p{N}{1,3}| ?[^\s\p{L}\p{N}&&[^x]]+|(?i:'s)?\p{L}++|\s+(?!\S)|\s+$`
