package logstream

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A followed file may grow, be truncated, vanish and be replaced; the end of the
// context is the end of the stream.
func TestFollow(t *testing.T) {
	path := filepath.Join(writeFiles(t, map[string]string{"a.log": "one\nunfin"}), "a.log")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		found, err := Find([]string{path}, nil, Options{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := found[0].Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()

		text := make(chan string)
		go func() {
			all, err := io.ReadAll(r)
			if err != nil {
				t.Error(err)
			}
			text <- string(all)
		}()
		// step lets the reader find what a change left.
		step := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * pollInterval) // in the bubble's own time
		}
		step(appendTo(path, "ished\ntw"))
		step(os.WriteFile(path, []byte("new\n"), 0o644)) // truncated inside a line
		step(os.Remove(path))
		step(os.WriteFile(path, []byte("rotated\n"), 0o644))
		step(appendTo(path, "end"))
		cancel()
		if got, want := <-text, "one\nunfinished\ntw\nnew\nrotated\nend"; got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	})
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.WriteString(f, text)
	return err
}

// An empty file may be followed: the server has not written yet.
func TestFollowEmpty(t *testing.T) {
	path := filepath.Join(writeFiles(t, map[string]string{"a.log": ""}), "a.log")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := follow(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Read(make([]byte, 8)); err != io.EOF {
		t.Errorf("error %v", err)
	}
}
