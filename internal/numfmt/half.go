package numfmt

import (
	"encoding/binary"
	"math"
)

// BF16 decodes a bfloat16: the upper half of a float32.
func BF16(c uint16) float32 { return math.Float32frombits(uint32(c) << 16) }

// EncodeBF16 rounds to bfloat16, nearest even. Values above the range become
// infinite, and any NaN becomes the quiet NaN 0x7fc0 with the sign of x (its
// payload is lost, as everywhere).
func EncodeBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16)&0x8000 | 0x7fc0
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// RoundBF16 is x rounded to bfloat16 and back.
func RoundBF16(x float32) float32 { return BF16(EncodeBF16(x)) }

// DecodeBF16 decodes little-endian bfloat16 values, len(dst) of them.
func DecodeBF16(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] = BF16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// RoundBF16s rounds every value of x to bfloat16 in place.
func RoundBF16s(x []float32) {
	for i, v := range x {
		x[i] = RoundBF16(v)
	}
}

// F16 decodes an IEEE binary16.
func F16(c uint16) float32 {
	sign := uint32(c&0x8000) << 16
	exp, man := uint32(c>>10&0x1f), uint32(c&0x3ff)
	switch exp {
	case 0: // zero and subnormals: man * 2^-24, exact
		v := float32(man) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 0x1f:
		if man != 0 {
			man |= 0x200 // quiet, as conversion instructions make it
		}
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// EncodeF16 rounds to IEEE binary16, nearest even. From 65520 on the result is
// infinite; a NaN becomes the quiet NaN 0x7e00 with the sign of x.
func EncodeF16(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 16 & 0x8000)
	switch mag := b & 0x7fffffff; {
	case mag > 0x7f800000:
		return sign | 0x7e00
	case mag >= 0x477ff000: // 65520
		return sign | 0x7c00
	}
	return sign | uint16(roundMini(b, 10, 15))
}

// RoundF16 is x rounded to binary16 and back.
func RoundF16(x float32) float32 { return F16(EncodeF16(x)) }

// DecodeF16 decodes little-endian binary16 values, len(dst) of them.
func DecodeF16(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] = F16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// DecodeF32 decodes little-endian float32 values, len(dst) of them.
func DecodeF32(dst []float32, src []byte) {
	src = src[:4*len(dst)]
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// roundMini rounds the magnitude of the finite float32 with bits b to a format
// of man mantissa bits and the given exponent bias, nearest even, and returns
// the code without a sign. The result may lie above the format's largest code;
// the caller knows where that is.
func roundMini(b uint32, man, bias int) uint32 {
	mag := b & 0x7fffffff
	if exp := int(mag>>23) - 127; exp >= 1-bias {
		shift := 23 - man
		r := mag + 1<<(shift-1) - 1 + mag>>shift&1
		return r>>shift - uint32(127-bias)<<man
	}
	// Subnormal: a whole number of smallest steps. Beside 2^23 steps, a float32
	// has room for whole ones only, so that the addition rounds.
	first := uint32(127+24-bias-man) << 23
	return math.Float32bits(math.Float32frombits(mag)+math.Float32frombits(first)) - first
}
