package explain_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"shakedown/internal/explain"
	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

// dropped is a handler that nobody reads.
type dropped struct{}

func (dropped) Handle(finding.Message) error { return nil }
func (dropped) Close() error                 { return nil }

// benchLogs are the logs of the folder named by SHAKEDOWN_CORPUS, one behind the
// other; without it, the demo.
func benchLogs(b *testing.B) []byte {
	dir := os.Getenv("SHAKEDOWN_CORPUS")
	if dir == "" {
		rc, err := explain.Demo().Open(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		data, err := io.ReadAll(rc)
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		b.Fatalf("no logs in %s: %v", dir, err)
	}
	var all []byte
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all = append(append(all, data...), '\n')
	}
	return all
}

// BenchmarkRun explains 32 MB of logs with hundreds of launches, start included.
// With logs of 35 kB a launch, 100 MB cost about 2.2 s of CPU time on an EPYC
// core: a third each for following the lines and for judging the launches, an
// eighth for the search, the rest for reading and the garbage collector.
func BenchmarkRun(b *testing.B) {
	const size = 32 << 20
	logs := benchLogs(b)
	data := bytes.Repeat(logs, size/len(logs)+1)[:size]
	src := logstream.Source{Name: "bench.log", Size: size, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := explain.Run(b.Context(), explain.Options{Sources: []logstream.Source{src}}, dropped{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart explains a line that no engine wrote: what is left is reading
// the rules and building the search, 13 ms on two EPYC cores. From YAML alone, the
// rules took 50 ms more.
func BenchmarkStart(b *testing.B) {
	src := source("bench.log", "nothing\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := explain.Run(b.Context(), explain.Options{Sources: []logstream.Source{src}}, dropped{}); !errors.Is(err, explain.ErrNoEngine) {
			b.Fatal(err)
		}
	}
}
