package vocabulary_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encoding/json"

	"shakedown/internal/oracle/chat"
	"shakedown/internal/oracle/tokenizer"
	"shakedown/internal/oracle/vocabulary"
)

// gguf writes the metadata of a GGUF file (version 3) without tensors.
func gguf(t *testing.T, values ...any) string {
	t.Helper()
	var b bytes.Buffer
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	text := func(s string) { put(uint64(len(s))); b.WriteString(s) }
	b.WriteString("GGUF")
	put(uint32(3))
	put(uint64(0))
	put(uint64(len(values) / 2))
	for i := 0; i < len(values); i += 2 {
		text(values[i].(string))
		switch v := values[i+1].(type) {
		case string:
			put(uint32(8))
			text(v)
		case uint32:
			put(uint32(4))
			put(v)
		case bool:
			put(uint32(7))
			put(v)
		case []string:
			put(uint32(9))
			put(uint32(8))
			put(uint64(len(v)))
			for _, s := range v {
				text(s)
			}
		case []int32:
			put(uint32(9))
			put(uint32(5))
			put(uint64(len(v)))
			put(v)
		}
	}
	for b.Len()%32 != 0 {
		b.WriteByte(0)
	}
	name := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestGGUF(t *testing.T) {
	name := gguf(t, "general.architecture", "llama",
		"tokenizer.ggml.model", "gpt2", "tokenizer.ggml.pre", "smollm",
		"tokenizer.ggml.tokens", []string{"<|end|>", "a", "b", "ab"},
		"tokenizer.ggml.token_type", []int32{3, 1, 1, 1},
		"tokenizer.ggml.merges", []string{"a b"},
		"tokenizer.ggml.eos_token_id", uint32(0), "tokenizer.ggml.bos_token_id", uint32(0), "tokenizer.ggml.add_bos_token", true,
		"tokenizer.chat_template", "{{ eos_token }}{{ messages[0].content }}")
	tok, err := vocabulary.Tokenizer(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("aba<|end|>", true); !slices.Equal(got, []int{0, 3, 1, 0}) {
		t.Errorf("tokens %v", got)
	}
	ts, err := vocabulary.Templates(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ts.Render(chat.Request{Messages: json.RawMessage(`[{"content":"Hi"}]`)})
	if err != nil || got != "<|end|>Hi" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	bare := gguf(t, "general.architecture", "llama", "tokenizer.ggml.model", "bert", "tokenizer.ggml.tokens", []string{"a"})
	if _, err := vocabulary.Tokenizer(bare); !errors.Is(err, tokenizer.ErrUnsupported) || !strings.Contains(err.Error(), "model.gguf") {
		t.Errorf("another kind: %v", err)
	}
	if _, err := vocabulary.Templates(bare); !errors.Is(err, chat.ErrNone) {
		t.Errorf("no template: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "broken.gguf")
	if err := os.WriteFile(broken, []byte("GGUF\x03"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := vocabulary.Tokenizer(broken); err == nil || !strings.Contains(err.Error(), "broken.gguf") {
		t.Errorf("cut file: %v", err)
	}
	if _, err := vocabulary.Tokenizer(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}
