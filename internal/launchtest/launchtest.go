// Package launchtest reads small logs into launches, for the tests of package
// launch and of those that judge launches.
package launchtest

import (
	"errors"
	"io"
	"strings"
	"testing"

	"shakedown/internal/engine/all"
	"shakedown/internal/launch"
	"shakedown/internal/logstream"
)

// Index holds the lines of all engines and those of the given rules.
func Index(t testing.TB, rules ...*launch.Watch) *launch.Index {
	t.Helper()
	x, err := launch.NewIndex(all.List, rules)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Read turns the text of one file into its launches.
func Read(t testing.TB, x *launch.Index, file string, told launch.Told, text string) []*launch.Launch {
	t.Helper()
	var found []*launch.Launch
	b := launch.NewWriters(x, file, told, func(l *launch.Launch) { found = append(found, l) })
	r := logstream.NewReader(strings.NewReader(text), logstream.ReaderOptions{})
	var hits launch.Hits
	for {
		blk, err := r.Next()
		if errors.Is(err, io.EOF) {
			b.Close()
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		hits = x.Scan(blk.Data, hits)
		b.Block(blk, hits)
		blk.Release()
	}
}

// Events lists the occurrences of one watch, in order.
func Events(l *launch.Launch, id string) []*launch.Event {
	var found []*launch.Event
	for i := range l.Events {
		if l.Events[i].Watch.ID == id {
			found = append(found, &l.Events[i])
		}
	}
	return found
}
