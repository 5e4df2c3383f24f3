package oracle

import (
	"shakedown/internal/kernel"
	"shakedown/internal/numfmt"
	"shakedown/internal/oracle/numerics"
)

// rounder rounds values to the format of activations, in place; nil keeps them.
type rounder func([]float32)

func (r rounder) apply(x []float32) {
	if r != nil {
		r(x)
	}
}

func newRounder(a numerics.Act) rounder {
	switch a {
	case numerics.BF16:
		return kernel.RoundBF16s
	case numerics.F16:
		return roundF16
	}
	return nil
}

func roundF16(x []float32) {
	for i, v := range x {
		x[i] = numfmt.RoundF16(v)
	}
}

// rounding is a Numerics turned into the roundings of a forward pass.
type rounding struct {
	act   rounder // behind every operation
	eager rounder // inside of operations, when every step of the model code is one; else nil
}

func newRounding(n numerics.Numerics) rounding {
	r := rounding{act: newRounder(n.Act)}
	if n.Rounding == numerics.Eager {
		r.eager = r.act
	}
	return r
}
