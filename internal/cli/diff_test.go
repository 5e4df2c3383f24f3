package cli

import (
	"bufio"
	"context"
	"strings"
	"testing"
)

func TestDiffFlags(t *testing.T) {
	w, _, _ := newWorld()
	var got *diffOptions
	runF := func(_ context.Context, o *diffOptions) error { got = o; return nil }
	err := execute(newDiffCmd(w, runF), "a.log", "b.log", "--good-launch", "2", "--bad-launch", "3", "--full", "--markdown")
	if err != nil {
		t.Fatal(err)
	}
	if got.good != "a.log" || got.bad != "b.log" || got.goodLaunch != 2 || got.badLaunch != 3 || !got.full || !got.markdown {
		t.Errorf("options %+v", got)
	}
}

func TestIsReport(t *testing.T) {
	const config = `{"message":"config","schema_version":"1"}`
	for text, want := range map[string]bool{
		config:                             true,
		config + "\n" + `{"message":"end"`: true,
		"\n" + config:                      true,
		`{"message":"config","schema_version":"99"}`: true, // a report, of a kind that this build can't read
		`{"message":"launch"}`:                       false,
		`{"log":"INFO ...","stream":"stderr"}`:       false,
		"":                                           false,
		strings.Repeat("x", 3*maxHead):               false,
	} {
		r := bufio.NewReaderSize(strings.NewReader(text), maxHead)
		if got := isReport(r); got != want {
			t.Errorf("isReport(%.60q) = %v", text, got)
		}
		if r.Buffered() < min(len(text), maxHead) {
			t.Errorf("isReport(%.60q) consumed what it looked at", text)
		}
	}
}
