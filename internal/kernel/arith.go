package kernel

import "shakedown/internal/numfmt"

// arithmetic are the inner loops. Lengths of vectors are multiples of 16, and
// acc, w and x are as long as the operation needs. stride counts elements.
type arithmetic interface {
	// name is what Implementation returns.
	name() string
	// dot1x1 adds the products of w and x.
	dot1x1(acc *lanes, w, x []float32)
	// dot4x1 adds to acc[r] the products of row r of w, 0 <= r < 4, with x.
	dot4x1(acc []lanes, w []float32, stride int, x []float32)
	// dot4x4 adds to acc[4*r+t] the products of row r of w with row t of x, both
	// n long.
	dot4x4(acc []lanes, w []float32, stride int, x []float32, xstride, n int)
	// sums folds the lanes.
	sums(dst []float32, acc []lanes)
	// dot16 is dot4x1 with weights of 16 bits, for any multiple of four rows; stride
	// counts bytes.
	dot16(t numfmt.GGUF, acc []lanes, w []byte, stride int, x []float32)
	// decode16 decodes BF16 or F16.
	decode16(t numfmt.GGUF, dst []float32, src []byte)
	// decode32 decodes little-endian float32, for any length.
	decode32(dst []float32, src []byte)
	// fp8Decode decodes E4M3FN, at most halfSegment values: each run of columns has a
	// scale, given as toHalf times its value. ok is false, and dst worthless, if there
	// is a NaN and it can't. s is memory to work in.
	fp8Decode(s *scratch, dst []float32, codes []byte, scales []float32, run int) (ok bool)
	// fp8Dot is dot4x1 with weights that are E4M3FN codes times a scale, for any
	// multiple of four rows. Scales lie scaleStride values apart for each row, one
	// behind the other for each run of columns, and are toHalf times the scale. ok is
	// false, and acc worthless, if there is a NaN or it can't. s is memory to work in.
	fp8Dot(s *scratch, acc []lanes, codes []byte, stride int, x, scales []float32, scaleStride, run int) (ok bool)
	// nibbles decodes four-bit codes as table[code] times the scale of a group,
	// of which there are len(scales) of equal length.
	nibbles(dst []float32, codes []byte, table *[16]float32, scales []float32)
	// nibblesDot is dot4x1 with such weights, in groups of group columns, a multiple of
	// 16. Rows of codes lie stride bytes apart, their scales scaleStride values. It
	// returns false, having done nothing, if it can't.
	nibblesDot(acc []lanes, codes []byte, stride int, x []float32, table *[16]float32, scales []float32, scaleStride, group int) bool
	// unpack brings blocks of a GGUF format to unsigned codes, a scale for
	// each four columns and a minimum for each 32 (noMinimum where the format has
	// none).
	unpack(t numfmt.GGUF, codes []byte, scale, low []float32, src []byte, blocks int)
	// codesDecode decodes such codes, a multiple of 32 of them:
	// (code-offset)*scale + minimum. Scales are equal over each 16 columns.
	codesDecode(dst []float32, codes []byte, offset float32, scale, low []float32)
	// quantize32 quantises blocks of 32 activations to Q8_0; exact gets a scale
	// for each, not yet rounded to binary16.
	quantize32(codes []int8, exact, x []float32)
	// spread32 works out what else belongs to such codes: scales rounded to binary16,
	// one for each four columns; the bias of each four, which is -offset times their
	// sum; and, unless sum is nil, the scaled sum of each block, rounded to binary16.
	spread32(scale []float32, bias []int32, sum []float32, codes []int8, exact []float32, offset int32)
	// dotQ8 adds to acc[4*t+r] the products of row r of codes, 0 <= r < 4, with n
	// activations of each token t, n a multiple of 64. Rows of codes and scale lie
	// segment and segment/4 apart, the activations of tokens stride, and their
	// scales and biases stride/4.
	dotQ8(t numfmt.GGUF, acc []lanes, codes []byte, scale []float32, y []int8, yscale []float32, bias []int32, n, tokens, stride int)
	// blockDot computes the products of rows of stored blocks, stride bytes apart,
	// with the activations of one token: it sets the lanes of dotQ8 for each row, and
	// those of the minimums if the format has them. It returns false, the lanes
	// worthless, if it can't.
	blockDot(t numfmt.GGUF, acc, low []lanes, w []byte, stride int, y []int8, yscale []float32, bias []int32, sum []float32, cols int) bool
	// dot4xN adds to acc[4*t+r] the products of row r of w, 0 <= r < 4, with row t
	// of x, both n long.
	dot4xN(acc []lanes, w []float32, stride int, x []float32, xstride, n, vectors int)
	// fetch says that stored bytes are wanted soon.
	fetch(data []byte)
	// addScaled adds f*x to dst, for any length.
	addScaled(dst, x []float32, f float32)
	// addRows adds factors[j] times the row of len(dst) values at rows[j*stride:],
	// one row after the other; any length.
	addRows(dst, rows []float32, stride int, factors []float32)
	// roundBF16 rounds to bfloat16, for any length.
	roundBF16(x []float32)
	// expShifted sets dst to Exp32(x-shift), for any length.
	expShifted(dst, x []float32, shift float32)
	// silu sets dst to Silu(x), for any length.
	silu(dst, x []float32)
	// sum is Sum, largest is Max, divide divides all of x, for any length.
	sum(x []float32) float32
	largest(x []float32) float32
	divide(x []float32, divisor float32)
}

// implementations are those that this machine can run, the fastest last; the
// first is the normative one.
var implementations = append([]arithmetic{scalar{}}, assembly()...)

// arith is the implementation in use.
var arith = implementations[len(implementations)-1]

// Implementation names the inner loops in use: "scalar", "avx2", "avx512" or
// "neon". They differ in speed only.
func Implementation() string { return arith.name() }
