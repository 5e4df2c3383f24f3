package checkpoint_test

import (
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
)

func tokenizerOf(t *testing.T, files map[string]any) *checkpoint.Tokenizer {
	t.Helper()
	files["config.json"], files["model.safetensors"] = "{}", checkpointtest.Safetensors(one)
	return open(t, checkpointtest.Folder(t, files)).Tokenizer()
}

func TestTokenizer(t *testing.T) {
	x := tokenizerOf(t, map[string]any{
		"tokenizer.json": `{"version":"1.0","added_tokens":[{"id":5,"content":"<|end|>","special":true},{"id":5,"content":"<|stop|>"},{"id":9,"content":"<|user|>"}],
			"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":3},"merges":[["a","b"]]}}`,
		"tokenizer_config.json": `{"eos_token":"<|end|>","chat_template":[{"name":"tool_use","template":"T"},{"name":"default","template":"D"}]}`,
	})
	if !x.Read || x.Tokens != 5 || x.MaxID != 9 || x.Added["<|user|>"] != 9 || len(x.Twice) != 1 || len(x.Problems) > 0 {
		t.Errorf("%+v", x)
	}
	for id, want := range map[int]bool{-1: false, 0: true, 2: false, 3: true, 9: true, 10: false, 1 << 30: false} {
		if x.Has(id) != want {
			t.Errorf("Has(%d) = %v", id, !want)
		}
	}
	if x.Template != "D" || x.TemplateFile != "tokenizer_config.json" || x.Config.Text("eos_token") != "<|end|>" {
		t.Errorf("template %q from %s", x.Template, x.TemplateFile)
	}
	x = tokenizerOf(t, map[string]any{"tokenizer.json": `{"model":{"type":"Unigram","vocab":[["a",-1.5],["b",-2]]}}`, "chat_template.jinja": "J"})
	if x.Tokens != 2 || x.MaxID != 1 || x.Template != "J" {
		t.Errorf("unigram: %+v", x)
	}
	x = tokenizerOf(t, map[string]any{"tokenizer.json": `{"model":`})
	if x.Read || x.File != "tokenizer.json" || len(x.Problems) != 1 {
		t.Errorf("cut: %+v", x)
	}
	x = tokenizerOf(t, map[string]any{"tokenizer.model": "x", "chat_template.json": `{"chat_template":"K"}`})
	if x.Read || x.File != "tokenizer.model" || x.Template != "K" {
		t.Errorf("sentencepiece: %+v", x)
	}
	g := open(t, checkpointtest.Folder(t, map[string]any{"m.gguf": smallGGUF().Bytes()})).Tokenizer()
	if !g.Read || g.Tokens != 3 || g.Added["c"] != 2 {
		t.Errorf("gguf: %+v", g)
	}
}

func FuzzTokenizer(f *testing.F) {
	f.Add([]byte(`{"added_tokens":[{"id":5,"content":"x","special":true}],"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`))
	f.Add([]byte(`{"model":{"vocab":[["a",-1.5]]},"added_tokens":[{"id":1000000000000}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := tokenizerOf(t, map[string]any{"tokenizer.json": data})
		if x.Read == (len(x.Problems) > 0) || x.MaxID >= 0 && !x.Has(x.MaxID) {
			t.Fatalf("%+v", x)
		}
	})
}
