package score

import (
	"errors"
	"fmt"
	"math"
)

// ErrBelow says that a score fell below its floor.
var ErrBelow = errors.New("below the floor")

// Floor holds the lowest allowed shares, 0 to 1. It only rises: who betters a
// score raises its floor, and who lowers one has broken something.
type Floor struct {
	Top1      float64 `json:"top1"`
	Top3      float64 `json:"top3"`
	Precision float64 `json:"precision"`
	Healthy   float64 `json:"healthy"`
	Split     float64 `json:"split"`
}

// step is one measure with its floor.
type step struct {
	name  string
	floor float64
	rate  Rate
}

func (f Floor) steps(t *Tally) []step {
	return []step{
		{"top1", f.Top1, t.Top1},
		{"top3", f.Top3, t.Top3},
		{"precision", f.Precision, t.Precision()},
		{"healthy", f.Healthy, t.Healthy},
		{"split", f.Split, t.Split},
	}
}

// Check returns an error that wraps ErrBelow and names every score below its
// floor.
func (f Floor) Check(t *Tally) error {
	var errs []error
	for _, s := range f.steps(t) {
		if s.rate.Value() < s.floor {
			errs = append(errs, fmt.Errorf("%s %v, want %.3f: %w", s.name, s.rate, s.floor, ErrBelow))
		}
	}
	return errors.Join(errs...)
}

// Raise lists the floors that the score has left behind by more than one case,
// with what to write instead.
func (f Floor) Raise(t *Tally) []string {
	var out []string
	for _, s := range f.steps(t) {
		if s.rate.Of > 0 && (s.rate.Value()-s.floor)*float64(s.rate.Of) > 1 {
			// Rounded down: the floor must not be above the score itself.
			out = append(out, fmt.Sprintf("raise the floor of %s from %.3f to %.3f", s.name, s.floor, math.Floor(s.rate.Value()*1000)/1000))
		}
	}
	return out
}
