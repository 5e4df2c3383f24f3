package oracletest

import (
	"encoding/json"
	"testing"

	"shakedown/internal/oracle/tokenizer"
)

// LettersTemplate is a chat template for the tokenizer of Letters.
const LettersTemplate = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"

// Letters is a tokenizer of single characters for vocabularies of 64, as Configs have
// them.
func Letters(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	vocab := make(map[string]int)
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789.,:!?\"{}ĠĊ-_/ABCDEFGHIJKL" {
		vocab[string(r)] = len(vocab)
	}
	data, err := tokenizerJSON(vocab, len(vocab), false, "<|end|>", "<|user|>", "<|assistant|>")
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// tokenizerJSON is the file of a byte-level tokenizer without merges, with added
// tokens from an id on.
func tokenizerJSON(vocab map[string]int, from int, special bool, names ...string) ([]byte, error) {
	var added []map[string]any
	for i, s := range names {
		added = append(added, map[string]any{"id": from + i, "content": s, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": special})
	}
	return json.Marshal(map[string]any{
		"version": "1.0", "added_tokens": added, "pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		"decoder": map[string]any{"type": "ByteLevel"}, "model": map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	})
}
