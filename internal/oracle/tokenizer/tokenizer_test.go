package tokenizer_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/oracle/tokenizer"
)

func present() bool {
	_, err := os.Stat(shared)
	return err == nil
}

// smallJSON is a byte-level BPE of a few words, with the split of Llama 3.
const smallJSON = `{"version":"1.0","truncation":null,"padding":null,
"added_tokens":[
 {"id":40,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
 {"id":41,"content":"<|end|>x","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":false}],
"normalizer":{"type":"NFC"},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[
 {"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
 {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]},
"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<|end|>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"<|end|>":{"id":"<|end|>","ids":[40],"tokens":["<|end|>"]}}},
"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
"vocab":{"a":0,"b":1,"c":2,"Ġ":3,"1":4,"2":5,"Ã":6,"©":7,"ð":8,"Ł":9,"ĺ":10,"Ģ":11,"Ċ":12,"'":13,"s":14,"S":15,"ab":16,"Ġab":17,"abc":18,"Ã©":19,"12":20,"aa":21,"aaa":22},
"merges":[["a","b"],["Ġ","ab"],["ab","c"],["Ã","©"],["1","2"],["a","a"],["aa","a"]]}}`

func small(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.FromJSON([]byte(smallJSON))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestEncode(t *testing.T) {
	tok := small(t)
	for text, want := range map[string][]int{
		"":               {},
		"abc ab":         {18, 17},
		"ab\nab":         {16, 12, 16},
		"1221":           {20, 5, 4},
		"e\u0301é":       {19, 19},             // the normaliser composes; e itself is no token
		"ab's'S":         {16, 13, 14, 13, 15}, // contractions in either case
		"a<|end|>b":      {0, 40, 1},
		"a<|end|>x \n b": {0, 41, 1}, // the longest; white space behind it goes along
		"<|end|":         {},         // nothing but characters without a token
		"aaaa":           {21, 21},
		"😀":              {8, 9, 10, 11},
		"z":              {}, // no token and no unknown token: left out, as by the library
		"ab\xff":         {16},
	} {
		if got := tok.Encode(text, false); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := tok.Encode("ab", true); !slices.Equal(got, []int{40, 16}) {
		t.Errorf("with special tokens: %v", got)
	}
}

// TestStream: a character comes whole or not at all.
func TestStream(t *testing.T) {
	tok := small(t)
	s := tok.Stream(true)
	var parts []string
	for _, id := range []int{0, 8, 9, 10, 11, 40, 6, 0, 8, 9, 99, -1} {
		parts = append(parts, s.Next(id))
	}
	parts = append(parts, s.End())
	want := []string{"a", "", "", "", "😀", "", "", "\uFFFDa", "", "", "", "", "\uFFFD"}
	if !slices.Equal(parts, want) {
		t.Errorf("%q\nwant %q", parts, want)
	}
	if got := tok.Decode([]int{0, 40, 1}, false); got != "a<|end|>b" {
		t.Errorf("with special tokens: %q", got)
	}
}

// TestLongWord: the heap and the plain search give the same tokens.
func TestLongWord(t *testing.T) {
	tok := small(t)
	for n := range 40 {
		word := strings.Repeat("a", n)
		got := tok.Encode(word, false)
		if back := tok.Decode(got, false); back != word || n > 1 && len(got) != n/2 {
			t.Errorf("%d letters: %v", n, got)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, change := range map[string][2]string{
		"normalizer":    {`"type":"NFC"`, `"type":"BertNormalizer"`},
		"split":         {`"type":"Sequence","pretokenizers"`, `"type":"Whitespace","pretokenizers"`},
		"lookbehind":    {`\\s+(?!\\S)`, `(?<=a)`},
		"lazy":          {`\\s+(?!\\S)`, `a+?`},
		"backreference": {`\\s+(?!\\S)`, `\\1`},
		"model":         {`"type":"BPE"`, `"type":"WordPiece"`},
		"dropout":       {`"dropout":null`, `"dropout":0.1`},
		"decoder":       {`"decoder":{"type":"ByteLevel"`, `"decoder":{"type":"WordPiece"`},
	} {
		text := strings.Replace(smallJSON, change[0], change[1], 1)
		if text == smallJSON {
			t.Fatalf("%s: nothing changed", name)
		}
		if _, err := tokenizer.FromJSON([]byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		} else if !errors.Is(err, tokenizer.ErrUnsupported) && name != "model" {
			t.Errorf("%s: %v, want ErrUnsupported", name, err)
		}
	}
	for name, change := range map[string][2]string{
		"unknown field": {`"fuse_unk":false`, `"fuse_unk":false,"fuse":1`},
		"merge":         {`["a","b"]`, `["a","z"]`},
		"id":            {`"aaa":22`, `"aaa":21`},
		"negative id":   {`"aaa":22`, `"aaa":-1`},
		"huge id":       {`"aaa":22`, `"aaa":1000000000`},
		"cut":           {`"merges"`, ``},
	} {
		if _, err := tokenizer.FromJSON([]byte(strings.Replace(smallJSON, change[0], change[1], 1))); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// metaspaceJSON is a SentencePiece BPE as Gemma and Llama 2 have it.
const metaspaceJSON = `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":0,"content":"<unk>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
"pre_tokenizer":null,"post_processor":null,
"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,
"vocab":{"<unk>":0,"<0xC3>":1,"<0xA9>":2,"▁":3,"a":4,"b":5,"▁a":6,"ab":7,"▁ab":8},"merges":["▁ a","a b","▁a b"]}}`

func TestMetaspace(t *testing.T) {
	tok, err := tokenizer.FromJSON([]byte(metaspaceJSON))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		"ab ab":  {8, 8},
		"éa":     {3, 1, 2, 4},
		"zzb":    {3, 0, 5}, // no bytes for z: unknown, a run of them once
		" b":     {3, 3, 5},
		"b a b ": {3, 5, 6, 3, 5, 3},
	} {
		got := tok.Encode(text, false)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if back := tok.Decode(got, false); !strings.Contains(text, "z") && back != text {
			t.Errorf("%q comes back as %q", text, back)
		}
	}
	if got := tok.Decode([]int{3, 4, 1, 4, 1, 2}, false); got != "a\uFFFDaé" {
		t.Errorf("broken bytes: %q", got)
	}
}

const unigramJSON = `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},"post_processor":null,
"decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁",-2],["a",-3],["b",-3],["ab",-4],["▁a",-3.5],["▁ab",-7]],"byte_fallback":false}}`

func TestUnigram(t *testing.T) {
	tok, err := tokenizer.FromJSON([]byte(unigramJSON))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		"ab":    {1, 4}, // -6 beats ▁a b (-6.5) and ▁ab (-7)
		"a b":   {5, 1, 3},
		"zza":   {1, 0, 2},
		"ab ab": {1, 4, 1, 4},
	} {
		got := tok.Encode(text, false)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if back := tok.Decode(got, false); !strings.Contains(text, "z") && back != text {
			t.Errorf("%q comes back as %q", text, back)
		}
	}
}

func FuzzFromJSON(f *testing.F) {
	for _, s := range []string{smallJSON, metaspaceJSON, unigramJSON} {
		f.Add([]byte(s), "ab é1'S <|end|>")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if len(text) > 200 {
			return
		}
		tok, err := tokenizer.FromJSON(data)
		if err != nil {
			return
		}
		for _, id := range tok.Encode(text, true) {
			tok.Token(id)
		}
		tok.Decode([]int{0, 1, 2, 3, 40, -1, 1 << 30}, true)
	})
}

// FuzzRoundTrip: what a byte-level vocabulary holds comes back as it was, in
// one piece or streamed.
func FuzzRoundTrip(f *testing.F) {
	tok := small(f)
	f.Add("abc ab 12 é😀")
	f.Fuzz(func(t *testing.T, text string) {
		ids := tok.Encode(text, false)
		s := tok.Stream(false)
		var b strings.Builder
		for _, id := range ids {
			part := s.Next(id)
			if strings.Contains(part, "\uFFFD") && !strings.Contains(tok.Decode(ids, false), "\uFFFD") {
				t.Fatalf("%q: half a character in %q", text, part)
			}
			b.WriteString(part)
		}
		b.WriteString(s.End())
		if b.String() != tok.Decode(ids, false) {
			t.Fatalf("%q: streamed %q", text, b.String())
		}
	})
}
