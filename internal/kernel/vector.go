package kernel

// Dot is the dot product of two vectors of the same length, in the order of the
// package comment. For many products with one vector, Dots is faster.
func Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic("kernel: Dot of vectors of different lengths")
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	return s.dot(a, b)
}

func (s *scratch) dot(a, b []float32) float32 {
	acc := &s.acc[0]
	*acc = lanes{}
	whole := len(a) &^ 15
	arith.dot1x1(acc, a[:whole], b)
	acc.add(a[whole:], b[whole:])
	return acc.sum()
}

// Dots sets dst[i] to the dot product of x with the row of len(x) values that
// begins at rows[i*stride], for all of dst, in the calling goroutine: attention
// scores over a cache of keys, for example. Each has the bits of Dot.
func Dots(dst, rows []float32, stride int, x []float32) {
	if len(dst) == 0 {
		return
	}
	if stride < len(x) || len(rows) < (len(dst)-1)*stride+len(x) {
		panic("kernel: Dots of rows that are too short")
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	acc := s.acc[:4]
	whole := len(x) &^ 15
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		four := rows[i*stride:]
		clear(acc)
		arith.dot4x1(acc, four, stride, x[:whole])
		for r := range acc {
			acc[r].add(four[r*stride+whole:r*stride+len(x)], x[whole:])
		}
		arith.sums(dst[i:i+4], acc)
	}
	for ; i < len(dst); i++ {
		dst[i] = s.dot(rows[i*stride:][:len(x)], x)
	}
}

// AddScaled adds f*x to dst, of the same length; product and sum are rounded.
func AddScaled(dst, x []float32, f float32) {
	if len(dst) != len(x) {
		panic("kernel: AddScaled of vectors of different lengths")
	}
	arith.addScaled(dst, x, f)
}

// AddScaledRows adds factors[j] times the row of len(dst) values that begins at
// rows[j*stride], for all of factors in rising order: the values of attention,
// weighted, for example. It has the bits of AddScaled for each row.
func AddScaledRows(dst, rows []float32, stride int, factors []float32) {
	if len(factors) == 0 {
		return
	}
	if stride < len(dst) || len(rows) < (len(factors)-1)*stride+len(dst) {
		panic("kernel: AddScaledRows of rows that are too short")
	}
	arith.addRows(dst, rows, stride, factors)
}

// RMS is 1/sqrt(mean(x^2) + eps): the sum of squares is Dot(x, x), division,
// addition, root and reciprocal are each rounded to float32.
func RMS(x []float32, eps float32) float32 {
	mean := Dot(x, x) / float32(len(x))
	return 1 / Sqrt(mean+eps)
}

// Sum adds the values in the order of a dot product with ones.
func Sum(x []float32) float32 { return arith.sum(x) }

// Max is the largest value, NaN if any is NaN, and -Inf of none; of zeros it is the
// positive one.
func Max(x []float32) float32 { return arith.largest(x) }

// Exps sets dst to Exp32(x-shift) of each x, of the same length; dst may be x.
func Exps(dst, x []float32, shift float32) {
	if len(dst) != len(x) {
		panic("kernel: Exps of vectors of different lengths")
	}
	arith.expShifted(dst, x, shift)
}

// Softmax replaces x by exp(x-max)/sum: each exponential rounded to float32, the
// sum that of Sum, each quotient rounded. Values of -Inf get 0; if all are -Inf,
// or one is NaN or +Inf, the result is NaN, as the formula says.
func Softmax(x []float32) {
	arith.expShifted(x, x, arith.largest(x))
	arith.divide(x, arith.sum(x))
}

// RoundBF16s is numfmt.RoundBF16s: it rounds every value to bfloat16 in place.
func RoundBF16s(x []float32) { arith.roundBF16(x) }

// Silus sets dst to Silu of each x, of the same length; dst may be x.
func Silus(dst, x []float32) {
	if len(dst) != len(x) {
		panic("kernel: Silus of vectors of different lengths")
	}
	arith.silu(dst, x)
}
