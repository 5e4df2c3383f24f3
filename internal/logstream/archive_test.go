package logstream

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// compressed packs text with one of the known methods.
func compressed(t testing.TB, method, text string) string {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	var err error
	switch method {
	case "gz":
		w = gzip.NewWriter(&buf)
	case "zst":
		w, err = zstd.NewWriter(&buf)
	case "xz":
		w, err = xz.NewWriter(&buf)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// bzip2OneTwo is "one\ntwo\n"; there is no encoder in Go's library.
const bzip2OneTwo = "425a6839314159265359a7142b77000002c180001002018480200021800c0238f51b8bb9229c2848538a15bb80"

type member struct{ name, text string }

var members = []member{
	{"run/node0.log", "zero\n"},
	{"run/weights.safetensors", "no\n"},
	{"run/.node.swp", "no\n"},
	{"__MACOSX/node0.log", "no\n"},
	{"run/empty.log", ""},
	{"run/node1.log.gz", ""}, // filled in by packedMembers
	{"run/node2", "two\n"},
}

func packedMembers(t testing.TB) []member {
	all := append([]member(nil), members...)
	for i := range all {
		if strings.HasSuffix(all[i].name, ".gz") {
			all[i].text = compressed(t, "gz", "one\n")
		}
	}
	return all
}

func tarOf(t testing.TB, members []member) string {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.text)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func zipOf(t testing.TB, members []member) string {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, m := range members {
		f, err := w.Create(m.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, m.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestDecompress(t *testing.T) {
	bz, err := hex.DecodeString(bzip2OneTwo)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"plain": "one\ntwo\n", "bz2": string(bz)}
	for _, method := range []string{"gz", "zst", "xz"} {
		files[method] = compressed(t, method, "one\ntwo\n")
	}
	files["two-gz"] = compressed(t, "gz", "one\n") + compressed(t, "gz", "two\n")
	dir := writeFiles(t, files)
	for name := range files {
		if d := cmp.Diff(map[string]string{name: "one\ntwo\n"}, contents(t, dir, name)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestArchives(t *testing.T) {
	all := packedMembers(t)
	plainTar := tarOf(t, all)
	files := map[string]string{
		"a.zip":     zipOf(t, all),
		"a.tar":     plainTar,
		"a.tgz":     compressed(t, "gz", plainTar),
		"a.tar.zst": compressed(t, "zst", plainTar),
		"unnamed":   compressed(t, "xz", plainTar),
	}
	dir := writeFiles(t, files)
	for name := range files {
		want := map[string]string{
			name + ":run/node0.log":    "zero\n",
			name + ":run/node1.log.gz": "one\n",
			name + ":run/node2":        "two\n",
		}
		if d := cmp.Diff(want, contents(t, dir, name)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if d := cmp.Diff(3*len(files), len(contents(t, dir, "."))); d != "" {
		t.Errorf("archives in a directory: %s", d)
	}
}

// Members may be opened in any order, at once, and again.
func TestArchiveMembersInAnyOrder(t *testing.T) {
	all := packedMembers(t)
	dir := writeFiles(t, map[string]string{"a.zip": zipOf(t, all), "a.tgz": compressed(t, "gz", tarOf(t, all))})
	for _, name := range []string{"a.zip", "a.tgz"} {
		found, err := Find([]string{filepath.Join(dir, name)}, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		held, err := found[0].Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{2, 0, 1, 1, 2} {
			want := []string{"zero\n", "one\n", "two\n"}[i]
			if got, err := readAll(found[i]); err != nil || got != want {
				t.Errorf("%s member %d: %q, %v", name, i, got, err)
			}
		}
		if text, err := io.ReadAll(held); err != nil || string(text) != "zero\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is readable in a damaged file comes before the error.
func TestDamaged(t *testing.T) {
	text := strings.Repeat("a line of the log that is long enough\n", 5000)
	for _, method := range []string{"gz", "zst", "xz"} {
		packed := compressed(t, method, text)
		name := "cut." + method
		dir := writeFiles(t, map[string]string{name: packed[:len(packed)-9]})
		found, err := Find([]string{filepath.Join(dir, name)}, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(found[0])
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasPrefix(text, got) || method != "xz" && got == "" {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

func TestDamagedArchives(t *testing.T) {
	all := packedMembers(t)
	files := map[string]string{
		"cut.zip":  zipOf(t, all)[:200],
		"cut.tar":  tarOf(t, all)[:600],
		"none.zip": zipOf(t, []member{{"a.py", "x"}}),
		"none.tar": tarOf(t, []member{{"a.py", "x"}}),
	}
	dir := writeFiles(t, files)
	for name, want := range map[string]error{"cut.zip": ErrCorrupt, "none.zip": ErrNoLogs, "none.tar": ErrNoLogs} {
		if _, err := Find([]string{filepath.Join(dir, name)}, nil, Options{}); !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The tar ends inside its first member, which is still there.
	if d := cmp.Diff(map[string]string{"cut.tar:run/node0.log": "zero\n"}, contents(t, dir, "cut.tar")); d != "" {
		t.Error(d)
	}
}

func TestArchiveLimits(t *testing.T) {
	many := make([]member, maxSources+1)
	for i := range many {
		many[i] = member{fmt.Sprintf("%d.log", i), "x"}
	}
	nested := []member{{"inner.log", zipOf(t, members)}}
	dir := writeFiles(t, map[string]string{
		"many.zip": zipOf(t, many), "many.tar": tarOf(t, many), "nested.zip": zipOf(t, nested),
	})
	for _, name := range []string{"many.zip", "many.tar"} {
		if _, err := Find([]string{filepath.Join(dir, name)}, nil, Options{}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	found, err := Find([]string{filepath.Join(dir, "nested.zip")}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(found[0]); !errors.Is(err, ErrBinary) {
		t.Errorf("nested archive: %v", err)
	}
}

func TestXZDictionary(t *testing.T) {
	packed := []byte(compressed(t, "xz", "one\n"))
	if got := xzDictionary(packed); got != 8<<20 {
		t.Errorf("dictionary of %d bytes", got)
	}
	packed[16] = 40 // the largest code, 4 GiB
	if _, err := decompress(bytes.NewReader(packed)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if _, err := readAll(stdinSource(bytes.NewReader(packed))); !errors.Is(err, ErrTooLarge) || errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// FuzzArchive opens everything that is found in arbitrary bytes.
func FuzzArchive(f *testing.F) {
	all := packedMembers(f)
	for _, seed := range []string{
		"plain\n", zipOf(f, all), tarOf(f, all), compressed(f, "gz", tarOf(f, all)),
		compressed(f, "zst", "one\n"), compressed(f, "xz", "one\n"), compressed(f, "gz", "one\n"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(writeFiles(t, map[string]string{"f": string(data)}), "f")
		found, err := Find([]string{path}, nil, Options{})
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("error without a name: %v", err)
			}
			return
		}
		for _, s := range found {
			r, err := s.Open(context.Background())
			if err != nil {
				continue
			}
			if _, err := io.CopyN(io.Discard, r, 8<<20); err != nil && err != io.EOF && !errors.Is(err, ErrCorrupt) {
				t.Errorf("untyped error %v", err)
			}
			if err := r.Close(); err != nil {
				t.Log(err)
			}
		}
	})
}
