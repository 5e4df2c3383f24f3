package numfmt

import "math"

// e2m1 holds the values of the 16 codes of FP4 E2M1; bit 3 is the sign.
var e2m1 = [16]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, float32(math.Copysign(0, -1)), -0.5, -1, -1.5, -2, -3, -4, -6}

// E2M1Table returns the values of the 16 codes. It is shared: don't write to it.
func E2M1Table() *[16]float32 { return &e2m1 }

// E2M1 decodes the low four bits of c.
func E2M1(c uint8) float32 { return e2m1[c&15] }

// E2M1Rule says whose caster rounds to E2M1. All saturate at 6; they differ in
// the middle between two numbers, in zeros, and in what becomes of NaN, which the
// format lacks.
type E2M1Rule uint8

const (
	// E2M1Modelopt (nvidia-modelopt 0.47, NVFP4): halves to the even code; -0.0
	// becomes +0, though a negative value that rounds to zero keeps its sign;
	// NaN becomes 6.
	E2M1Modelopt E2M1Rule = iota
	// E2M1CompressedTensors (0.20): the same, and NaN becomes 0.
	E2M1CompressedTensors
	// E2M1MLDtypes (0.6): halves to the even code, -0.0 keeps its sign, NaN
	// becomes -0 and a NaN with the sign bit +0.
	E2M1MLDtypes
	// E2M1ModeloptMX (nvidia-modelopt 0.47, MXFP4): halves towards zero; the sign
	// bit is set for everything that is not above zero, so zero becomes -0.
	E2M1ModeloptMX
	// E2M1DeepGEMM (deep_gemm/utils/math.py): halves towards zero, no negative
	// zero.
	E2M1DeepGEMM
)

// e2m1Bounds lie in the middle between neighbouring magnitudes. Where halves go
// towards zero, a code is the number of bounds below the value.
var e2m1Bounds = [7]float32{0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5}

// EncodeE2M1 rounds to one of the 16 codes by the given rule.
func EncodeE2M1(x float32, rule E2M1Rule) uint8 {
	negative := math.Signbit(float64(x))
	if x != x {
		switch {
		case rule == E2M1Modelopt:
			return 7
		case rule == E2M1MLDtypes && !negative:
			return 8
		}
		return 0
	}
	var code uint8
	if rule == E2M1ModeloptMX || rule == E2M1DeepGEMM {
		a := float32(math.Abs(float64(x)))
		for _, bound := range e2m1Bounds {
			if a > bound {
				code++
			}
		}
	} else {
		code = uint8(min(roundMini(math.Float32bits(x), 1, 1), 7))
	}
	switch rule {
	case E2M1Modelopt, E2M1CompressedTensors:
		negative = x < 0
	case E2M1ModeloptMX:
		negative = !(x > 0)
	case E2M1DeepGEMM:
		negative = negative && code != 0
	}
	if negative {
		code |= 8
	}
	return code
}

// DecodeE2M1 decodes len(dst) codes, two to a byte, the even one in the low
// nibble. dst has an even length.
func DecodeE2M1(dst []float32, packed []byte) {
	packed = packed[:len(dst)/2]
	for i, b := range packed {
		dst[2*i], dst[2*i+1] = e2m1[b&15], e2m1[b>>4]
	}
}

// NVFP4Group is the number of columns that share a block scale.
const NVFP4Group = 16

// NVFP4Scale is the scale of a block: the E4M3FN code times the global scale,
// rounded to float32 once.
func NVFP4Scale(code uint8, global float32) float32 { return tables[E4M3FN][code] * global }

// DecodeNVFP4 decodes len(dst) weights of one row: code times NVFP4Scale. packed
// holds two codes a byte (even column low), scales one E4M3FN code per 16
// columns. global is modelopt's weight_scale_2; for compressed-tensors, see
// DecodeNVFP4Reciprocal.
func DecodeNVFP4(dst []float32, packed, scales []byte, global float32) {
	decodeGroups(dst, packed, NVFP4Group, func(g int) float32 { return NVFP4Scale(scales[g], global) })
}

// NVFP4ScaleReciprocal is the scale of a block where the file holds the
// reciprocal of the global scale, as compressed-tensors does
// (weight_global_scale): the block scale divided by it.
func NVFP4ScaleReciprocal(code uint8, reciprocal float32) float32 {
	return tables[E4M3FN][code] / reciprocal
}

// DecodeNVFP4Reciprocal is DecodeNVFP4 for compressed-tensors: code times
// NVFP4ScaleReciprocal, in float32 (the library itself rounds to BF16).
func DecodeNVFP4Reciprocal(dst []float32, packed, scales []byte, reciprocal float32) {
	decodeGroups(dst, packed, NVFP4Group, func(g int) float32 { return NVFP4ScaleReciprocal(scales[g], reciprocal) })
}

// MXGroup is the number of columns that share a scale in MXFP4 and MXFP8.
const MXGroup = 32

// DecodeMXFP4 decodes len(dst) weights of one row: code times the E8M0 scale of
// its 32 columns.
func DecodeMXFP4(dst []float32, packed, scales []byte) {
	decodeGroups(dst, packed, MXGroup, func(g int) float32 { return E8M0(scales[g]) })
}

// DecodeMXFP8 decodes len(dst) weights of one row: FP8 code times the E8M0 scale
// of its 32 columns.
func DecodeMXFP8(dst []float32, f FP8, codes, scales []byte) {
	for i := 0; i < len(dst); i += MXGroup {
		end := min(i+MXGroup, len(dst))
		f.DecodeScaled(dst[i:end], codes[i:end], E8M0(scales[i/MXGroup]))
	}
}

func decodeGroups(dst []float32, packed []byte, group int, scale func(g int) float32) {
	DecodeE2M1(dst, packed)
	for i := 0; i < len(dst); i += group {
		s := scale(i / group)
		for j := i; j < min(i+group, len(dst)); j++ {
			dst[j] *= s
		}
	}
}

// NVFP4Activation quantises activations of one row to NVFP4 with a static global
// scale and returns what the kernel then computes with: dst may be x. global is
// modelopt's input_scale (amax/2688). The block scale is amax/6 divided by
// global, in E4M3FN (saturating); codes are rounded after multiplication by the
// reciprocal of the two scales' product. A block of zeros, or whose scale rounds
// to zero, gives zeros. A zero, missing or NaN global scale gives NaN, as the
// division 1/0 does in engines.
func NVFP4Activation(dst, x []float32, global float32) {
	for i := 0; i < len(x); i += NVFP4Group {
		end := min(i+NVFP4Group, len(x))
		amax := absMax(x[i:end])
		if global == 0 || global != global || amax != amax {
			for j := i; j < end; j++ {
				dst[j] = float32(math.NaN())
			}
			continue
		}
		code := E4M3FN.Encode(float32(amax/6)/global, Saturate)
		scale := NVFP4Scale(code, global)
		inverse := float32(0)
		if scale != 0 {
			inverse = 1 / scale
		}
		for j := i; j < end; j++ {
			dst[j] = E2M1(EncodeE2M1(float32(x[j]*inverse), E2M1Modelopt)) * scale
		}
	}
}

// NVFP4Layout are the parts of a quantised NVFP4 matrix.
type NVFP4Layout struct {
	Packed []byte  // rows x cols/2
	Scales []byte  // rows x cols/16, E4M3FN
	Global float32 // weight_scale_2, or the reciprocal for compressed-tensors
}

// QuantizeNVFP4 quantises a row-major matrix (cols a multiple of 16) as modelopt
// does: weight_scale_2 = amax/2688, block scale = block amax/6 divided by it,
// zero replaced by 1 and clamped to [2^-9, 448].
func QuantizeNVFP4(w []float32, cols int) NVFP4Layout {
	l := NVFP4Layout{Global: absMax(w) / (6 * 448)}
	for i := 0; i < len(w); i += NVFP4Group {
		block := w[i : i+NVFP4Group]
		s := absMax(block) / float32(6*l.Global)
		if s == 0 || s != s {
			s = 1
		}
		code := E4M3FN.Encode(min(max(s, 0x1p-9), 448), Saturate)
		l.Scales = append(l.Scales, code)
		scale := NVFP4Scale(code, l.Global)
		for j := 0; j < NVFP4Group; j += 2 {
			l.Packed = append(l.Packed, EncodeE2M1(block[j]/scale, E2M1Modelopt)|EncodeE2M1(block[j+1]/scale, E2M1Modelopt)<<4)
		}
	}
	return l
}

// MXProducer says whose quantiser writes an MX matrix: the choice of the power of
// two of a group is the producer's own.
type MXProducer uint8

const (
	// MXModelopt takes the smallest power of two that holds the group's largest
	// magnitude without clamping, and rounds codes as E2M1ModeloptMX.
	MXModelopt MXProducer = iota
	// MXCompressedTensors rounds the largest magnitude to one mantissa bit, takes
	// the power of two below it and subtracts the format's largest exponent
	// (round_to_power_2), so that the top of a group may be clamped.
	MXCompressedTensors
)

// QuantizeMXFP4 quantises a row-major matrix whose rows are multiples of 32.
func QuantizeMXFP4(w []float32, producer MXProducer) (packed, scales []byte) {
	rule := E2M1ModeloptMX
	if producer == MXCompressedTensors {
		rule = E2M1CompressedTensors
	}
	for i := 0; i < len(w); i += MXGroup {
		group := w[i : i+MXGroup]
		code := mxExponent(absMax(group), producer)
		scales = append(scales, code)
		s := E8M0(code)
		for j := 0; j < MXGroup; j += 2 {
			packed = append(packed, EncodeE2M1(group[j]/s, rule)|EncodeE2M1(group[j+1]/s, rule)<<4)
		}
	}
	return packed, scales
}

func mxExponent(amax float32, producer MXProducer) uint8 {
	if amax == 0 {
		return 0
	}
	if producer == MXModelopt {
		return uint8(math.Float32bits(CeilUE8M0(amax/6)) >> 23)
	}
	// One mantissa bit is kept: adding half of it carries where the magnitude
	// would round up to the next power of two (from 1.75 on).
	b := math.Float32bits(amax) + 0x200000
	return uint8(max(int(b>>23)-2, 0))
}

// absMax is the largest magnitude, NaN if any value is NaN: as whole numbers, the
// bits of magnitudes have the order of their values, with NaN on top.
func absMax(x []float32) float32 {
	var m uint32
	for _, v := range x {
		m = max(m, math.Float32bits(v)&0x7fffffff)
	}
	return math.Float32frombits(m)
}

// SwizzleScales reorders a rows x groups matrix of block scale codes as SM100
// kernels want them: rows padded to 128 and groups to 4 with zero bytes, then
// viewed as (rows/128, 4, 32, groups/4, 4) and reordered to
// (rows/128, groups/4, 32, 4, 4) (SGLang 0.5.18, layers/quantization/utils.py).
func SwizzleScales(codes []byte, rows, groups int) []byte {
	padRows, padGroups := (rows+127)/128*128, (groups+3)/4*4
	out := make([]byte, padRows*padGroups)
	for r := range rows {
		for g := range groups {
			tile := r/128*(padGroups/4) + g/4
			out[tile*512+r%32*16+r%128/32*4+g%4] = codes[r*groups+g]
		}
	}
	return out
}
