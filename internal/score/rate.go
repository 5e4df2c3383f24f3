package score

import (
	"fmt"
	"math"
)

// Rate is a number of right answers out of all.
type Rate struct{ Right, Of int }

func (r *Rate) add(right bool) {
	r.Of++
	if right {
		r.Right++
	}
}

func (r *Rate) merge(o Rate) {
	r.Right += o.Right
	r.Of += o.Of
}

// Value is the share of right answers, 0 to 1. Nothing asked is nothing wrong:
// it is 1 then.
func (r Rate) Value() float64 {
	if r.Of == 0 {
		return 1
	}
	return float64(r.Right) / float64(r.Of)
}

// z is the 97.5 % quantile of the normal distribution.
const z = 1.959963984540054

// Interval is the 95 % Wilson score interval of the share (Wilson 1927). It is
// 0 to 1 when nothing was asked.
func (r Rate) Interval() (low, high float64) {
	if r.Of == 0 {
		return 0, 1
	}
	n, p := float64(r.Of), r.Value()
	center := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, center-half), min(1, center+half)
}

// String is "93.1 % [85.2, 97.0] 67/72", or "n/a 0/0" when nothing was asked.
func (r Rate) String() string {
	if r.Of == 0 {
		return "  n/a 0/0"
	}
	low, high := r.Interval()
	return fmt.Sprintf("%5.1f %% [%.1f, %.1f] %d/%d", 100*r.Value(), 100*low, 100*high, r.Right, r.Of)
}
