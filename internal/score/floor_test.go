package score

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/finding"
)

const ownCorpus = "testdata/corpus"

// TestOwnCorpus scores the hand-written logs against floor.json.
func TestOwnCorpus(t *testing.T) {
	data, err := os.ReadFile("floor.json")
	if err != nil {
		t.Fatal(err)
	}
	var floor Floor
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&floor); err != nil {
		t.Fatal(err)
	}
	use, err := NewUsage()
	if err != nil {
		t.Fatal(err)
	}
	l, err := Corpus(context.Background(), os.DirFS(ownCorpus), use)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	l.Print(&b, ownCorpus, true)
	t.Log(b.String())
	if err := floor.Check(l.All); err != nil {
		t.Error(err)
	}
	if l.All.Crashes > 0 {
		t.Errorf("%d logs without an answer", l.All.Crashes)
	}
	for _, line := range floor.Raise(l.All) {
		t.Log("floor.json: " + line)
	}
}

// TestOwnLabels checks that labels and logs belong together.
func TestOwnLabels(t *testing.T) {
	labelled := map[string]bool{}
	fsys := os.DirFS(ownCorpus)
	err := readRecords(fsys, labelFile, func(l Label) error {
		labelled[l.Slug+".txt"] = true
		data, err := os.ReadFile(filepath.Join(ownCorpus, l.Slug+".txt"))
		if err != nil {
			return err
		}
		lines := strings.Split(string(data), "\n")
		for _, c := range l.Launches {
			if c.FirstLine < 1 || c.LastLine < c.FirstLine || c.LastLine > len(lines) {
				t.Errorf("%s launch %d: lines %d to %d of %d", l.Slug, c.N, c.FirstLine, c.LastLine, len(lines))
			}
			for _, n := range c.Decisive {
				if n < c.FirstLine || n > c.LastLine {
					t.Errorf("%s launch %d: decisive line %d is outside", l.Slug, c.N, n)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(ownCorpus, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logs {
		if !labelled[filepath.Base(name)] {
			t.Errorf("%s has no label", name)
		}
	}
}

func TestFloor(t *testing.T) {
	tally := newTally()
	tally.Top1, tally.Top3, tally.Healthy, tally.Split = Rate{31, 36}, Rate{36, 36}, Rate{10, 10}, Rate{36, 36}
	tally.Given[finding.Likely] = Rate{19, 20}
	good := Floor{Top1: 0.861, Top3: 0.98, Precision: 0.95, Healthy: 1, Split: 1}
	if err := good.Check(tally); err != nil {
		t.Errorf("Check = %v", err)
	}
	if got := good.Raise(tally); len(got) > 0 {
		t.Errorf("Raise = %v, want none: at most one case above", got)
	}
	bad := Floor{Top1: 0.87, Precision: 0.96}
	err := bad.Check(tally)
	if !errors.Is(err, ErrBelow) || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "top1") {
		t.Errorf("Check = %v, want top1 and precision", err)
	}
	want := []string{"raise the floor of top1 from 0.800 to 0.861"}
	if diff := cmp.Diff(want, (Floor{Top1: 0.8, Top3: 0.98, Precision: 0.95, Healthy: 1, Split: 1}).Raise(tally)); diff != "" {
		t.Errorf("Raise differs (-want +got):\n%s", diff)
	}
}
