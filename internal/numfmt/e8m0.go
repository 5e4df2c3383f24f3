package numfmt

import "math"

// E8M0 decodes the 8-bit power-of-two scale of the MX formats, also called
// UE8M0: 2^(c-127), and NaN for 0xff. There is no zero and no sign.
func E8M0(c uint8) float32 {
	switch c {
	case 0:
		return 0x1p-127
	case 0xff:
		return float32(math.NaN())
	}
	return math.Float32frombits(uint32(c) << 23)
}

// E8M0Domain says what encoding to E8M0 makes of values that the format can't
// have: zero and negative ones.
type E8M0Domain uint8

const (
	// E8M0IgnoreSign drops the sign and maps zero to the smallest code, 2^-127:
	// torch 2.15.
	E8M0IgnoreSign E8M0Domain = iota
	// E8M0PositiveOnly gives NaN for them: ml_dtypes 0.6.
	E8M0PositiveOnly
)

// EncodeE8M0 rounds to the nearer power of two, and up from the middle (1.5 times
// a power). Subnormal float32 above 2^-127 give 2^-126, as both libraries round
// there. Values above 2^127 that round up, infinities and NaN give NaN.
func EncodeE8M0(x float32, d E8M0Domain) uint8 {
	b := math.Float32bits(x)
	mag := b & 0x7fffffff
	if mag >= 0x7f800000 {
		return 0xff
	}
	if d == E8M0PositiveOnly && (b>>31 == 1 || mag == 0) {
		return 0xff
	}
	exp, frac := mag>>23, mag&0x7fffff
	if frac > 0x400000 || frac == 0x400000 && exp > 0 {
		exp++
	}
	return uint8(exp)
}

// CeilUE8M0 rounds a scale up to a power of two, never below 2^-126 nor above
// 2^127: ceil_to_ue8m0 of DeepGEMM (deep_gemm/utils/math.py). x is taken as
// positive.
func CeilUE8M0(x float32) float32 {
	b := math.Float32bits(x) & 0x7fffffff
	exp := b >> 23
	if b&0x7fffff != 0 {
		exp++
	}
	return math.Float32frombits(min(max(exp, 1), 254) << 23)
}

// IsPowerOfTwo says whether x is a scale that E8M0 holds exactly and packing by
// exponent keeps: positive, finite, normal, mantissa zero. It is the condition
// that DeepGEMM asserts since 2.6 (bits & 0x807fffff == 0), together with x > 0.
func IsPowerOfTwo(x float32) bool {
	b := math.Float32bits(x)
	return b&0x807fffff == 0 && b != 0 && b>>23 != 0xff
}

// PackUE8M0 packs the exponents of four scales into one word, the first in the
// lowest byte (pack_ue8m0_to_int of DeepGEMM). The scales must be powers of two.
func PackUE8M0(s [4]float32) uint32 {
	var w uint32
	for i, v := range s {
		w |= math.Float32bits(v) >> 23 & 0xff << (8 * i)
	}
	return w
}

// PackUE8M0Unchecked packs like the device code of DeepGEMM before 2.6
// (smxx_layout.cuh): the words are shifted and OR-ed without a mask, so that the
// mantissa of a scale that is no power of two falls into the bytes of the scales
// before it, and a sign bit into the byte after. The result holds wrong
// exponents, and 0xff (NaN) among them. For powers of two it equals PackUE8M0.
func PackUE8M0Unchecked(s [4]float32) uint32 {
	v0, v1, v2, v3 := math.Float32bits(s[0]), math.Float32bits(s[1]), math.Float32bits(s[2]), math.Float32bits(s[3])
	return v0>>23 | v1>>15 | v2>>7 | v3<<1
}

// UnpackUE8M0 is the four scales of a word.
func UnpackUE8M0(w uint32) (s [4]float32) {
	for i := range s {
		s[i] = E8M0(uint8(w >> (8 * i)))
	}
	return s
}

// PackUE8M0Rows packs a rows x cols matrix of scales along its columns, four to
// a word, the last word of a row padded with zero bytes. unchecked chooses
// PackUE8M0Unchecked.
func PackUE8M0Rows(scales []float32, rows, cols int, unchecked bool) []uint32 {
	words := (cols + 3) / 4
	out := make([]uint32, 0, rows*words)
	for r := range rows {
		row := scales[r*cols : (r+1)*cols]
		for c := 0; c < cols; c += 4 {
			var s [4]float32
			copy(s[:], row[c:])
			if unchecked {
				out = append(out, PackUE8M0Unchecked(s))
			} else {
				out = append(out, PackUE8M0(s))
			}
		}
	}
	return out
}

// UnpackUE8M0Rows is the reverse of PackUE8M0Rows.
func UnpackUE8M0Rows(words []uint32, rows, cols int) []float32 {
	perRow := (cols + 3) / 4
	out := make([]float32, 0, rows*cols)
	for r := range rows {
		for c := range cols {
			out = append(out, UnpackUE8M0(words[r*perRow+c/4])[c%4])
		}
	}
	return out
}
