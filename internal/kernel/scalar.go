package kernel

import (
	"math"

	"shakedown/internal/numfmt"
)

// lanes are the partial sums of one dot product.
type lanes [16]float32

// sum folds the lanes in the fixed order.
func (a *lanes) sum() float32 {
	var b [8]float32
	for i := range b {
		b[i] = a[i] + a[i+8]
	}
	for i := range 4 {
		b[i] += b[i+4]
	}
	b[0] += b[2]
	b[1] += b[3]
	return b[0] + b[1]
}

// add adds the products of a and b, for any length; the first element goes to
// lane 0.
func (a *lanes) add(w, x []float32) {
	x = x[:len(w)]
	for i, v := range w {
		a[i&15] += float32(v * x[i])
	}
}

// scalar is the normative arithmetic.
type scalar struct{}

func (scalar) name() string { return "scalar" }

func (scalar) dot1x1(acc *lanes, w, x []float32) { acc.add(w, x) }

func (scalar) dot4x1(acc []lanes, w []float32, stride int, x []float32) {
	for r := range 4 {
		acc[r].add(w[r*stride:][:len(x)], x)
	}
}

func (s scalar) dot4xN(acc []lanes, w []float32, stride int, x []float32, xstride, n, vectors int) {
	for t := range vectors {
		s.dot4x1(acc[4*t:], w, stride, x[t*xstride:][:n])
	}
}

func (scalar) dot4x4(acc []lanes, w []float32, stride int, x []float32, xstride, n int) {
	for r := range 4 {
		for t := range 4 {
			acc[4*r+t].add(w[r*stride:][:n], x[t*xstride:][:n])
		}
	}
}

func (scalar) sums(dst []float32, acc []lanes) {
	for i := range dst {
		dst[i] = acc[i].sum()
	}
}

func (s scalar) dot16(t numfmt.GGUF, acc []lanes, w []byte, stride int, x []float32) {
	var row [64]float32
	for r := range acc {
		for c := 0; c < len(x); c += len(row) {
			part := row[:min(len(row), len(x)-c)]
			s.decode16(t, part, w[r*stride+2*c:])
			acc[r].add(part, x[c:])
		}
	}
}

func (scalar) decode16(t numfmt.GGUF, dst []float32, src []byte) { t.Decode(dst, src) }

func (scalar) decode32(dst []float32, src []byte) { numfmt.DecodeF32(dst, src) }

func (scalar) fp8Decode(_ *scratch, dst []float32, codes []byte, scales []float32, run int) bool {
	for i, code := range codes[:len(dst)] {
		if code&0x7f == 0x7f {
			return false
		}
		dst[i] = fp8Half(code) * scales[i/run]
	}
	return true
}

// fp8Half is 2^-8 times the value of an E4M3FN code that is no NaN: the seven bits
// below the sign, moved to the place where binary16 has exponent and mantissa.
func fp8Half(code byte) float32 {
	return numfmt.F16(uint16(code)&0x80<<8 | uint16(code)&0x7f<<7)
}

func (scalar) fp8Dot(_ *scratch, acc []lanes, codes []byte, stride int, x, scales []float32, scaleStride, run int) bool {
	for r := range acc {
		for c, code := range codes[r*stride:][:len(x)] {
			if code&0x7f == 0x7f {
				return false
			}
			w := fp8Half(code) * scales[r*scaleStride+c/run]
			acc[r][c&15] += float32(w * x[c])
		}
	}
	return true
}

func (scalar) nibbles(dst []float32, codes []byte, table *[16]float32, scales []float32) {
	group := len(dst) / len(scales)
	for g, s := range scales {
		for i := g * group; i < (g+1)*group; i += 2 {
			b := codes[i/2]
			dst[i], dst[i+1] = table[b&15]*s, table[b>>4]*s
		}
	}
}

func (scalar) blockDot(numfmt.GGUF, []lanes, []lanes, []byte, int, []int8, []float32, []int32, []float32, int) bool {
	return false
}

func (scalar) fetch([]byte) {}

func (scalar) nibblesDot([]lanes, []byte, int, []float32, *[16]float32, []float32, int, int) bool {
	return false
}

func (scalar) addScaled(dst, x []float32, f float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += float32(f * v)
	}
}

func (s scalar) addRows(dst, rows []float32, stride int, factors []float32) {
	for j, f := range factors {
		s.addScaled(dst, rows[j*stride:], f)
	}
}

func (scalar) expShifted(dst, x []float32, shift float32) {
	for i, v := range x {
		dst[i] = Exp32(v - shift)
	}
}

func (scalar) silu(dst, x []float32) {
	for i, v := range x {
		dst[i] = Silu(v)
	}
}

func (scalar) sum(x []float32) float32 {
	var acc lanes
	for i, v := range x {
		acc[i&15] += v
	}
	return acc.sum()
}

func (scalar) largest(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		if v != v {
			return v
		}
		if v > m {
			m = v
		}
	}
	return m + 0 // of zeros, the positive one
}

func (scalar) divide(x []float32, divisor float32) {
	for i, v := range x {
		x[i] = v / divisor
	}
}

func (scalar) roundBF16(x []float32) { numfmt.RoundBF16s(x) }
