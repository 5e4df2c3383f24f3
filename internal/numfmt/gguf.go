package numfmt

import (
	"encoding/binary"
	"fmt"
)

// GGUF is a tensor type of a GGUF file; the numbers are those of the file format
// (ggml.h, enum ggml_type).
type GGUF uint32

// The tensor types that are decoded here.
const (
	GGUFF32  GGUF = 0
	GGUFF16  GGUF = 1
	GGUFQ4_0 GGUF = 2
	GGUFQ4_1 GGUF = 3
	GGUFQ5_0 GGUF = 6
	GGUFQ5_1 GGUF = 7
	GGUFQ8_0 GGUF = 8
	GGUFQ4_K GGUF = 12
	GGUFQ5_K GGUF = 13
	GGUFQ6_K GGUF = 14
	GGUFBF16 GGUF = 30
)

// ggufLayout is the name of a type, the values in a block and its bytes.
type ggufLayout struct {
	name          string
	values, bytes int
	decode        func(dst []float32, block []byte)
}

var ggufLayouts = [...]ggufLayout{
	GGUFF32:  {"F32", 1, 4, DecodeF32},
	GGUFF16:  {"F16", 1, 2, DecodeF16},
	GGUFBF16: {"BF16", 1, 2, DecodeBF16},
	GGUFQ4_0: {"Q4_0", 32, 18, decodeQ4_0},
	GGUFQ4_1: {"Q4_1", 32, 20, decodeQ4_1},
	GGUFQ5_0: {"Q5_0", 32, 22, decodeQ5_0},
	GGUFQ5_1: {"Q5_1", 32, 24, decodeQ5_1},
	GGUFQ8_0: {"Q8_0", 32, 34, decodeQ8_0},
	GGUFQ4_K: {"Q4_K", 256, 144, decodeQ4_K},
	GGUFQ5_K: {"Q5_K", 256, 176, decodeQ5_K},
	GGUFQ6_K: {"Q6_K", 256, 210, decodeQ6_K},
}

// layout is empty for a type that is not decoded here.
func (t GGUF) layout() *ggufLayout {
	if int64(t) < int64(len(ggufLayouts)) {
		return &ggufLayouts[t]
	}
	return &ggufLayout{}
}

// String is the name that llama.cpp prints.
func (t GGUF) String() string {
	if l := t.layout(); l.name != "" {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Block returns how many values a block holds and how many bytes it takes; ok is
// false for a type that is not decoded here.
func (t GGUF) Block() (values, bytes int, ok bool) {
	l := t.layout()
	return l.values, l.bytes, l.values > 0
}

// Decode decodes len(dst) values, whole blocks, as ggml's dequantize_row functions
// do (ggml-quants.c), with every product and sum rounded to float32. The type must
// be one that Block knows.
func (t GGUF) Decode(dst []float32, src []byte) {
	l := t.layout()
	if l.values == 1 {
		l.decode(dst, src)
		return
	}
	for len(dst) >= l.values {
		l.decode(dst[:l.values], src[:l.bytes])
		dst, src = dst[l.values:], src[l.bytes:]
	}
}

func f16At(b []byte) float32 { return F16(binary.LittleEndian.Uint16(b)) }

// The blocks of 32: a scale, for the kinds _1 a minimum that is added, and codes;
// byte j holds the codes of value j (low nibble) and j+16 (high nibble).

func decodeQ4_0(dst []float32, b []byte) {
	d := f16At(b)
	for j, q := range b[2:18] {
		dst[j] = float32(int(q&15)-8) * d
		dst[j+16] = float32(int(q>>4)-8) * d
	}
}

func decodeQ4_1(dst []float32, b []byte) {
	d, m := f16At(b), f16At(b[2:])
	for j, q := range b[4:20] {
		dst[j] = float32(float32(q&15)*d) + m
		dst[j+16] = float32(float32(q>>4)*d) + m
	}
}

func decodeQ5_0(dst []float32, b []byte) {
	d, high := f16At(b), binary.LittleEndian.Uint32(b[2:])
	for j, q := range b[6:22] {
		dst[j] = float32(int(q&15|uint8(high>>j&1)<<4)-16) * d
		dst[j+16] = float32(int(q>>4|uint8(high>>(j+16)&1)<<4)-16) * d
	}
}

func decodeQ5_1(dst []float32, b []byte) {
	d, m, high := f16At(b), f16At(b[2:]), binary.LittleEndian.Uint32(b[4:])
	for j, q := range b[8:24] {
		dst[j] = float32(float32(q&15|uint8(high>>j&1)<<4)*d) + m
		dst[j+16] = float32(float32(q>>4|uint8(high>>(j+16)&1)<<4)*d) + m
	}
}

func decodeQ8_0(dst []float32, b []byte) {
	d := f16At(b)
	for j, q := range b[2:34] {
		dst[j] = float32(int8(q)) * d
	}
}

// KScales unpacks the eight 6-bit scales and minimums of a Q4_K or Q5_K block from
// their 12 bytes.
func KScales(packed []byte) (scale, minimum [8]uint8) {
	for j := range 4 {
		scale[j], minimum[j] = packed[j]&63, packed[j+4]&63
		scale[j+4] = packed[j+8]&15 | packed[j]>>6<<4
		minimum[j+4] = packed[j+8]>>4 | packed[j+4]>>6<<4
	}
	return scale, minimum
}

// The blocks of 256 with eight groups of 32: weight = d*scale*code - dmin*minimum.
// 32 bytes hold the codes of two groups, low nibbles first.

func decodeQ4_K(dst []float32, b []byte) {
	d, dmin := f16At(b), f16At(b[2:])
	scale, minimum := KScales(b[4:16])
	for g := range 8 {
		s, m := d*float32(scale[g]), float32(dmin*float32(minimum[g]))
		codes := b[16+g/2*32:][:32]
		for j, q := range codes {
			dst[g*32+j] = float32(float32(q>>(g&1*4)&15)*s) - m
		}
	}
}

func decodeQ5_K(dst []float32, b []byte) {
	d, dmin := f16At(b), f16At(b[2:])
	scale, minimum := KScales(b[4:16])
	high := b[16:48]
	for g := range 8 {
		s, m := d*float32(scale[g]), float32(dmin*float32(minimum[g]))
		codes := b[48+g/2*32:][:32]
		for j, q := range codes {
			code := q>>(g&1*4)&15 | high[j]>>g&1<<4
			dst[g*32+j] = float32(float32(code)*s) - m
		}
	}
}

// decodeQ6_K: two halves of 128; byte l of the low parts holds the codes of the
// values l and l+64 (or l+32 and l+96), a byte of the high parts two bits of each
// of the four.
func decodeQ6_K(dst []float32, b []byte) {
	d := f16At(b[208:])
	for half := range 2 {
		low, high, scales := b[half*64:][:64], b[128+half*32:][:32], b[192+half*8:][:8]
		for i := range 128 {
			l := i % 32
			code := low[i%64]>>(i/64*4)&15 | high[l]>>(i/32*2)&3<<4
			s := d * float32(int8(scales[i/16]))
			dst[half*128+i] = s * float32(int(code)-32)
		}
	}
}
