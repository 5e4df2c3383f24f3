package oracle

import (
	"math"

	"shakedown/internal/kernel"
	"shakedown/internal/oracle/family"
)

// rmsNorm is x/sqrt(mean(x²)+eps)*w, with a rounding before the weight when
// eager is not nil and one behind it.
func rmsNorm(dst, x, w []float32, eps float64, eager, round rounder) {
	r := kernel.RMS(x, float32(eps))
	for i, v := range x {
		dst[i] = v * r
	}
	eager.apply(dst)
	for i := range dst {
		dst[i] *= w[i]
	}
	round.apply(dst)
}

// layerNorm is (x-mean)/sqrt(variance+eps)*w+b.
func layerNorm(dst, x, w, b []float32, eps float64) {
	var sum, ss float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		ss += float64(d * d)
	}
	r := 1 / math.Sqrt(ss/float64(len(x))+eps)
	for i, v := range x {
		n := float64((float64(v) - mean) * r)
		dst[i] = float32(float64(n*float64(w[i])) + float64(b[i]))
	}
}

// exponentials replaces scores by exp(score-max) and returns their sum: a
// softmax before its division.
func exponentials(x []float32) float32 {
	kernel.Exps(x, x, kernel.Max(x))
	return kernel.Sum(x)
}

// rotation holds cos and sin of all positions seen so far.
type rotation struct {
	half     int // pairs
	inv      []float32
	factor   float32
	round    rounder // of the table
	cos, sin []float32
}

func newRotation(r family.Rope, round rounder) *rotation {
	inv, factor := r.InvFreq()
	return &rotation{half: len(inv), inv: inv, factor: factor, round: round}
}

// grow makes the table reach n positions. The angle is position times frequency
// in float32, as the reference computes it.
func (r *rotation) grow(n int) {
	from := len(r.cos)
	for p := from / r.half; p < n; p++ {
		for _, f := range r.inv {
			sin, cos := kernel.SinCos(float32(p) * f)
			r.cos, r.sin = append(r.cos, float32(cos)*r.factor), append(r.sin, float32(sin)*r.factor)
		}
	}
	r.round.apply(r.cos[from:])
	r.round.apply(r.sin[from:])
}

// turn rotates the first 2*half elements of x for a position. eager rounds each
// product, round the result. The result keeps the order of x.
func (r *rotation) turn(x []float32, pos int, interleave bool, eager, round rounder) {
	cos, sin := r.cos[pos*r.half:][:r.half], r.sin[pos*r.half:][:r.half]
	var p []float32
	if eager != nil {
		p = make([]float32, 4)
	}
	for i := range r.half {
		a, b := i, i+r.half
		if interleave {
			a, b = 2*i, 2*i+1
		}
		if eager == nil {
			x[a], x[b] = float32(x[a]*cos[i])-float32(x[b]*sin[i]), float32(x[b]*cos[i])+float32(x[a]*sin[i])
			continue
		}
		p[0], p[1], p[2], p[3] = x[a]*cos[i], x[b]*sin[i], x[b]*cos[i], x[a]*sin[i]
		eager(p)
		x[a], x[b] = p[0]-p[1], p[2]+p[3]
	}
	round.apply(x[:2*r.half])
}

// hadamard multiplies x, whose length is a power of two, by the Hadamard matrix
// of that order over the root of its length.
func hadamard(x []float32) {
	for h := 1; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			for j := i; j < i+h; j++ {
				x[j], x[j+h] = x[j]+x[j+h], x[j]-x[j+h]
			}
		}
	}
	f := float32(1 / math.Sqrt(float64(len(x))))
	for i := range x {
		x[i] *= f
	}
}
