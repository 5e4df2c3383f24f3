package kernel

import "math"

// Dot is the dot product of two vectors of the same length, in the order of the
// package comment. For many products with one vector, MulVec of FromFloats is
// faster.
func Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic("kernel: Dot of vectors of different lengths")
	}
	var acc lanes
	acc.add(a, b)
	return acc.sum()
}

// AddScaled adds f*x to dst, of the same length; product and sum are rounded.
func AddScaled(dst, x []float32, f float32) {
	if len(dst) != len(x) {
		panic("kernel: AddScaled of vectors of different lengths")
	}
	arith.addScaled(dst, x, f)
}

// RMS is 1/sqrt(mean(x^2) + eps): the sum of squares is Dot(x, x), division,
// addition, root and reciprocal are each rounded to float32.
func RMS(x []float32, eps float32) float32 {
	mean := Dot(x, x) / float32(len(x))
	return 1 / Sqrt(mean+eps)
}

// Sum adds the values in the order of a dot product with ones.
func Sum(x []float32) float32 {
	var acc lanes
	for i, v := range x {
		acc[i&15] += v
	}
	return acc.sum()
}

// Max is the largest value, NaN if any is NaN, and -Inf of none.
func Max(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		if v > m || v != v {
			m = v
			if v != v {
				break
			}
		}
	}
	return m
}

// Softmax replaces x by exp(x-max)/sum: each exponential rounded to float32, the
// sum that of Sum, each quotient rounded. Values of -Inf get 0; if all are -Inf,
// or one is NaN or +Inf, the result is NaN, as the formula says.
func Softmax(x []float32) {
	m := Max(x)
	for i, v := range x {
		x[i] = Exp32(v - m)
	}
	total := Sum(x)
	for i, v := range x {
		x[i] = v / total
	}
}
