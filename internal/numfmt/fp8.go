package numfmt

import "math"

// Overflow says what encoding makes of values that round above the largest
// finite number of a format.
type Overflow uint8

const (
	// Saturate gives the largest finite number of that sign, for infinities as
	// well. Kernels of SGLang, vLLM and DeepGEMM clamp before the cast, and torch
	// 2.15 casts to float8_e4m3fn this way.
	Saturate Overflow = iota
	// NonFinite gives infinity where the format has one (E5M2) and NaN where it
	// has none (E4M3FN, E4M3FNUZ). ml_dtypes and torch up to 2.11 cast to E4M3FN
	// this way; every known library casts E5M2 and E4M3FNUZ this way.
	NonFinite
)

// FP8 is one of the eight-bit floating-point element formats.
type FP8 uint8

const (
	// E4M3FN is the OCP 8-bit format 1.4.3 with bias 7: finite up to 448, no
	// infinity, NaN only in 0x7f and 0xff.
	E4M3FN FP8 = iota
	// E4M3FNUZ is the 1.4.3 format with bias 8 of AMD MI300: finite up to 240, no
	// infinity, no negative zero, NaN only in 0x80.
	E4M3FNUZ
	// E5M2 is the OCP 8-bit format 1.5.2 with bias 15: IEEE-like, finite up to
	// 57344, with infinities and NaN.
	E5M2
)

func (f FP8) String() string {
	return [...]string{"e4m3fn", "e4m3fnuz", "e5m2"}[f]
}

// tables holds the value of each code of each format.
var tables = func() (t [3][256]float32) {
	for c := range 256 {
		t[E4M3FN][c] = decodeMini(c, 3, 7)
		t[E4M3FNUZ][c] = decodeMini(c, 3, 8)
		t[E5M2][c] = F16(uint16(c) << 8) // E5M2 is the upper byte of a binary16
	}
	nan := float32(math.NaN())
	t[E4M3FN][0x7f], t[E4M3FN][0xff], t[E4M3FNUZ][0x80] = nan, nan, nan
	return t
}()

// decodeMini is the value of a code of eight bits whose exponents all mean
// numbers.
func decodeMini(c, man, bias int) float32 {
	exp, frac := c>>man&(1<<(7-man)-1), c&(1<<man-1)
	if exp == 0 {
		exp = 1
	} else {
		frac |= 1 << man
	}
	v := math.Ldexp(float64(frac), exp-bias-man)
	if c&0x80 != 0 {
		v = math.Copysign(v, -1)
	}
	return float32(v)
}

// Table returns the values of the 256 codes. It is shared: don't write to it.
func (f FP8) Table() *[256]float32 { return &tables[f] }

// Decode is the value of a code.
func (f FP8) Decode(c uint8) float32 { return tables[f][c] }

// Max is the largest finite number.
func (f FP8) Max() float32 { return [...]float32{448, 240, 57344}[f] }

// Encode rounds to nearest even. NaN stays NaN (with its sign where the format
// has signed NaNs). E4M3FNUZ turns negative zero into zero, and so also negative
// values that round to zero.
func (f FP8) Encode(x float32, o Overflow) uint8 {
	if f == E4M3FN && o == Saturate {
		return saturatedE4M3FN(x)
	}
	b := math.Float32bits(x)
	sign := uint8(b >> 24 & 0x80)
	largest, nan := uint32(0x7e), sign|0x7f
	infinite := nan
	man, bias := 3, 7
	switch f {
	case E4M3FNUZ:
		largest, nan, infinite, bias = 0x7f, 0x80, 0x80, 8
	case E5M2:
		largest, infinite, man, bias = 0x7b, sign|0x7c, 2, 15
	}
	mag := b & 0x7fffffff
	if mag > 0x7f800000 {
		return nan
	}
	code := largest + 1
	if mag < 0x7f800000 {
		code = roundMini(b, man, bias)
	}
	if code > largest {
		if o == NonFinite {
			return infinite
		}
		code = largest
	}
	if f == E4M3FNUZ && code == 0 {
		return 0
	}
	return sign | uint8(code)
}

// saturatedE4M3FN is E4M3FN.Encode(x, Saturate), the case that kernels use.
func saturatedE4M3FN(x float32) uint8 {
	b := math.Float32bits(x)
	sign, mag := uint8(b>>24&0x80), b&0x7fffffff
	const largest, normal, infinite = 0x43e00000, 0x3c800000, 0x7f800000 // 448, 2^-6
	switch {
	case mag > infinite:
		return sign | 0x7f
	case mag > largest:
		return sign | 0x7e
	case mag >= normal:
		return sign | uint8((mag+0x7ffff+mag>>20&1)>>20-120<<3)
	}
	return sign | uint8(roundMini(b, 3, 7))
}

// DecodeScaled decodes len(dst) codes and multiplies each by scale, rounded to
// float32 once.
func (f FP8) DecodeScaled(dst []float32, codes []byte, scale float32) {
	t := &tables[f]
	codes = codes[:len(dst)]
	for i, c := range codes {
		dst[i] = t[c] * scale
	}
}

// ToFNUZ converts a code of E4M3FN to the code of E4M3FNUZ with the same bits,
// which means half the value, so that the scale must be doubled; negative zero,
// which is NaN in E4M3FNUZ, becomes zero. SGLang and vLLM load E4M3FN weights on
// MI300 this way (normalize_e4m3fn_to_e4m3fnuz). The NaN codes 0x7f and 0xff
// become 240 and -240, silently, as in those engines.
func ToFNUZ(c uint8) uint8 {
	if c == 0x80 {
		return 0
	}
	return c
}
