package modeldir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shakedown/internal/probe"
	"shakedown/internal/prober/modeldir"
)

const tokenizerJSON = `{"version":"1.0","added_tokens":[],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},"decoder":{"type":"ByteLevel"},` +
	`"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"<":3,">":4,"u":5,"s":6},"merges":[]}}`

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	dir := write(t, map[string]string{
		"config.json":         `{"model_type":"llama","max_position_embeddings":8192,"sliding_window":4096,"use_sliding_window":false,"index_topk":2048,"vocab_size":7,"rope_scaling":{"original_max_position_embeddings":1024}}`,
		"tokenizer.json":      tokenizerJSON,
		"chat_template.jinja": `{% for m in messages %}<{{ m.content }}>{% endfor %}{% if messages|length > 1 %}{{ raise_exception("one turn only") }}{% endif %}`,
	})
	l, err := modeldir.Read(dir, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if l.Context != 8192 || l.Window != 0 || l.TopK != 2048 || l.Original != 1024 || l.Vocab != 7 || l.Missing != "" {
		t.Errorf("%+v", l)
	}
	if n, ok := l.Count([]probe.Message{{Role: "user", Content: "abc"}}); n != 5 || !ok {
		t.Errorf("%d tokens, %v", n, ok)
	}
	if _, ok := l.Count([]probe.Message{{Content: "a"}, {Content: "b"}}); ok {
		t.Error("the template refuses two turns")
	}
	target := probe.Target{Trained: 100}
	target.Learn(l)
	if target.Trained != 100 || target.TopK != 2048 || target.Sources["TopK"] != dir {
		t.Errorf("%+v", target)
	}
}

func TestReadLess(t *testing.T) {
	l, err := modeldir.Read(write(t, map[string]string{"config.json": `{"text_config":{"max_position_embeddings":64}}`}), time.Unix(0, 0))
	if err != nil || l.Context != 64 || l.Count != nil || !strings.Contains(l.Missing, "tokenizer") {
		t.Errorf("%+v, %v", l, err)
	}
	l, err = modeldir.Read(write(t, map[string]string{"config.json": `{}`, "tokenizer.json": tokenizerJSON}), time.Unix(0, 0))
	if err != nil || l.Count != nil || l.Tokenize == nil || !strings.Contains(l.Missing, "template") {
		t.Errorf("%+v, %v", l, err)
	}
	for name, files := range map[string]map[string]string{"no config.json": {}, "config.json": {"config.json": "{"}} {
		if _, err := modeldir.Read(write(t, files), time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := modeldir.Read(filepath.Join(t.TempDir(), "none"), time.Unix(0, 0)); err == nil {
		t.Error("no error for a path that is not there")
	}
	if _, err := modeldir.Read(filepath.Join(write(t, map[string]string{"x.bin": "x"}), "x.bin"), time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), "GGUF") {
		t.Errorf("error %v", err)
	}
}
