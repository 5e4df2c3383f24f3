package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestFresh compares the files of package kernel with what this program writes.
func TestFresh(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate in internal/kernel", name)
		}
	}
}
