package score

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"

	"shakedown/internal/explain"
	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

// answer is what explain said about one log. It collects messages and keeps
// copies, as finding.Handler asks.
type answer struct {
	launches []finding.LaunchMsg
	findings map[int][]finding.FindingMsg // by launch, by rank
	notIt    []string                     // ids of exonerated lines
	drift    map[string]int               // lines of known anchor and new form, by id
}

// Handle implements finding.Handler.
func (a *answer) Handle(m finding.Message) error {
	switch m := m.(type) {
	case *finding.LaunchMsg:
		a.launches = append(a.launches, *m)
	case *finding.FindingMsg:
		f := *m
		f.Evidence = slices.Clone(m.Evidence)
		a.findings[m.Launch] = append(a.findings[m.Launch], f)
	case *finding.NotItMsg:
		a.notIt = append(a.notIt, m.ID)
	case *finding.DriftMsg:
		a.drift[m.ID] += m.Count
	}
	return nil
}

// Close implements finding.Handler.
func (a *answer) Close() error { return nil }

// ids lists every rule that showed up, each once.
func (a *answer) ids() []string {
	ids := slices.Clone(a.notIt)
	for _, fs := range a.findings {
		for _, f := range fs {
			ids = append(ids, f.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ask runs explain on one log, with what the user says about it in opt.
func ask(ctx context.Context, name string, log []byte, opt explain.Options) (*answer, error) {
	opt.Sources = []logstream.Source{{Name: name, Size: int64(len(log)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(log)), nil
	}}}
	a := &answer{findings: map[int][]finding.FindingMsg{}, drift: map[string]int{}}
	_, err := explain.Run(ctx, opt, a)
	for _, fs := range a.findings {
		slices.SortStableFunc(fs, func(x, y finding.FindingMsg) int { return cmp.Compare(place(x), place(y)) })
	}
	return a, err
}

// place is the rank by which findings are sorted; without one they are last.
func place(f finding.FindingMsg) int {
	if f.Rank == 0 {
		return 99
	}
	return f.Rank
}
