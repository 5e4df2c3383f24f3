package tokenizer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"shakedown/internal/oracle/tokenizer"
)

// shared is where the reference vectors lie on a machine that has them.
const shared = "../../../../shared/oracle"

// TestVectors compares with the reference library on real split patterns: 300
// texts for each tokenizer.
func TestVectors(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(shared, "tokenizers", "*"))
	if err != nil || len(folders) == 0 {
		t.Skip("not run: no reference vectors beside the repository")
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			tok := load(t, filepath.Join(folder, "tokenizer.json"))
			var v struct {
				Strings []struct {
					Text string
					IDs  []int
				}
			}
			read(t, filepath.Join(folder, "vectors.json"), &v)
			if len(v.Strings) < 100 {
				t.Fatalf("%d strings", len(v.Strings))
			}
			for _, s := range v.Strings {
				got := tok.Encode(s.Text, false)
				if !slices.Equal(got, s.IDs) {
					t.Errorf("%q\n got %v\nwant %v", s.Text, got, s.IDs)
					continue
				}
				if back := tok.Decode(got, false); back != s.Text {
					t.Errorf("%q comes back as %q", s.Text, back)
				}
			}
		})
	}
}

func load(t testing.TB, name string) *tokenizer.Tokenizer {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func read(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
