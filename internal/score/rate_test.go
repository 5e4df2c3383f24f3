package score

import (
	"math"
	"testing"
)

// TestInterval compares with published values: 81/263 is the first example of
// Newcombe, Statistics in Medicine 17 (1998), table I.
func TestInterval(t *testing.T) {
	for _, tc := range []struct {
		r         Rate
		low, high float64
	}{
		{Rate{81, 263}, 0.2553, 0.3662},
		{Rate{15, 148}, 0.0624, 0.1605},
		{Rate{0, 20}, 0, 0.1611},
		{Rate{29, 29}, 0.8830, 1},
		{Rate{0, 0}, 0, 1},
	} {
		low, high := tc.r.Interval()
		if math.Abs(low-tc.low) > 5e-5 || math.Abs(high-tc.high) > 5e-5 {
			t.Errorf("Interval of %d/%d = %.4f, %.4f, want %.4f, %.4f", tc.r.Right, tc.r.Of, low, high, tc.low, tc.high)
		}
	}
}

func TestRateString(t *testing.T) {
	if got, want := (Rate{81, 263}).String(), " 30.8 % [25.5, 36.6] 81/263"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if got, want := (Rate{}).String(), "  n/a 0/0"; got != want {
		t.Errorf("String of nothing = %q, want %q", got, want)
	}
}
