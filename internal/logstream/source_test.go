package logstream

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeFiles writes files below a new directory and returns it.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// readAll opens a source and reads it to its end.
func readAll(s Source) (string, error) {
	r, err := s.Open(context.Background())
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), errors.Join(err, r.Close())
}

// contents finds the sources of a path and reads them, by name relative to dir.
func contents(t *testing.T, dir, arg string) map[string]string {
	t.Helper()
	found, err := Find([]string{filepath.Join(dir, arg)}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, s := range found {
		text, err := readAll(s)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(s.Name, dir+"/")] = text
	}
	return all
}

func TestFindFilesInOrder(t *testing.T) {
	dir := writeFiles(t, map[string]string{"b.log": "b\n", "a.log": "a\n"})
	a, b := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")
	found, err := Find([]string{b, Stdin, a}, strings.NewReader("in\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Name string
		Size int64
		Text string
	}
	var got []seen
	for _, s := range found {
		text, err := readAll(s)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, seen{s.Name, s.Size, text})
	}
	want := []seen{{b, 2, "b\n"}, {Stdin, -1, "in\n"}, {a, 2, "a\n"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFindNoArgumentIsStdin(t *testing.T) {
	found, err := Find(nil, strings.NewReader("in\n"), Options{})
	if err != nil || len(found) != 1 || found[0].Name != Stdin {
		t.Fatalf("%v, %v", found, err)
	}
}

func TestFindDirectory(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"run/node0.log":             "0\n",
		"run/sub/node1":             "1\n",
		"run/c-json.log":            "{}\n",
		"run/.hidden.log":           "no\n",
		"run/.git/config":           "no\n",
		"run/empty.log":             "",
		"run/model.safetensors":     "no\n",
		"run/serve.py":              "no\n",
		"run/core":                  "\x7fELF\x02\x01\x01",
		"run/weights":               "GGUF\x03\x00\x00\x00",
		"elsewhere/linked/more.log": "more\n",
	})
	run := filepath.Join(dir, "run")
	for link, target := range map[string]string{
		"loop":        run,
		"linked":      filepath.Join(dir, "elsewhere", "linked"),
		"z-latest":    filepath.Join(run, "node0.log"),
		"z-broken":    filepath.Join(dir, "nowhere"),
		"sub/up.link": run,
	} {
		if err := os.Symlink(target, filepath.Join(run, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"run/c-json.log":      "{}\n",
		"run/linked/more.log": "more\n",
		"run/node0.log":       "0\n",
		"run/sub/node1":       "1\n",
	}
	if d := cmp.Diff(want, contents(t, dir, "run")); d != "" {
		t.Error(d)
	}
}

func TestFindErrors(t *testing.T) {
	dir := writeFiles(t, map[string]string{"code/a.py": "x\n", "code/b/.c": "x\n"})
	for arg, want := range map[string]error{"missing.log": fs.ErrNotExist, "code": ErrNoLogs} {
		_, err := Find([]string{filepath.Join(dir, arg)}, nil, Options{})
		if !errors.Is(err, want) || !strings.Contains(err.Error(), arg) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	safetensors := binary.LittleEndian.AppendUint64(nil, 40)
	random := make([]byte, 512)
	for i := range random {
		random[i] = byte(i * 167)
	}
	tests := []struct {
		name string
		data string
		want error
		text string
	}{
		{"empty.log", "", ErrEmpty, "written to another file"},
		{"m.gguf", "GGUF\x03\x00\x00\x00", ErrBinary, "a GGUF model"},
		{"m.safetensors", string(safetensors) + `{"__metadata__":{"format":"pt"}}`, ErrBinary, "a safetensors file"},
		{"server", "\x7fELF\x02\x01\x01", ErrBinary, "an ELF program"},
		{"random", string(random), ErrBinary, "binary data"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(writeFiles(t, map[string]string{tt.name: tt.data}), tt.name)
			found, err := Find([]string{path}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, stdinSource(strings.NewReader(tt.data)))
			for _, s := range found {
				if _, err = s.Open(context.Background()); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%s: %v", s.Name, err)
				}
			}
		})
	}
}

func TestOpenText(t *testing.T) {
	for name, text := range map[string]string{
		"UTF-16":  "\xff\xfea\x00\n\x00",
		"padded":  strings.Repeat("\x00", 3*sniffSize) + "up\n",
		"colours": strings.Repeat("\x1b[32mINFO\x1b[0m\r\n", 9),
		"latin-1": "caf\xe9\n",
	} {
		if got, err := readAll(stdinSource(strings.NewReader(text))); err != nil || got != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := stdinSource(strings.NewReader("a\n")).Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, err := r.Read(make([]byte, 8)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A stream that decompresses to more than the limit ends there.
func TestOpenTooLarge(t *testing.T) {
	r, err := openStream(context.Background(), "bomb.log", io.NopCloser(strings.NewReader(strings.Repeat("a\n", 10_000))))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.(*sourceReader).left = 5000
	if _, err := io.ReadAll(r); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "bomb.log") {
		t.Errorf("error %v", err)
	}
}
