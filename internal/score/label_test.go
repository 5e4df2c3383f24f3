package score

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestHalfOf pins the choice: a corpus that changes sides has lost its hold half.
func TestHalfOf(t *testing.T) {
	for name, want := range map[string]Half{"pear": Dev, "quince": Hold, "clover": Dev} {
		if got := HalfOf(name); got != want {
			t.Errorf("HalfOf(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestReadRecords(t *testing.T) {
	read := func(content string) (slugs []string, err error) {
		fsys := fstest.MapFS{"L.jsonl": {Data: []byte(content)}}
		err = readRecords(fsys, "L.jsonl", func(l Label) error {
			slugs = append(slugs, l.Slug)
			return nil
		})
		return slugs, err
	}
	slugs, err := read("{\"slug\":\"a\"}\n\n{\"slug\":\"b\"}")
	if err != nil || strings.Join(slugs, " ") != "a b" {
		t.Errorf("read %v, error %v", slugs, err)
	}
	for name, content := range map[string]string{
		"L.jsonl:2: ": "{\"slug\":\"a\"}\n{\"slug\":",
		"L.jsonl:1: ": "{\"slug\":\"" + strings.Repeat("a", maxRecord) + "\"}",
	} {
		if _, err := read(content); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("error %v, want one that begins with %q", err, name)
		}
	}
}
