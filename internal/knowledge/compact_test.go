package knowledge_test

import (
	"bytes"
	"os"
	"testing"

	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
)

// TestCompactIsFresh: the compact form was made from the YAML that is embedded.
func TestCompactIsFresh(t *testing.T) {
	want, err := knowledge.Compact(rules.FS)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("compact.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("rules changed since compact.jsonl was made: run go generate ./internal/knowledge")
	}
}
