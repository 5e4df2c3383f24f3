package checkpoint

import (
	"math"
	"math/bits"
)

// DType is the type of a tensor's elements: a name of the safetensors format, or
// of ggml for the block formats of GGUF.
type DType string

// Element types that other packages ask for by name.
const (
	BF16   DType = "BF16"
	F16    DType = "F16"
	F32    DType = "F32"
	F64    DType = "F64"
	F8E4M3 DType = "F8_E4M3"
	F8E5M2 DType = "F8_E5M2"
	F8E8M0 DType = "F8_E8M0"
	F4     DType = "F4"
	U8     DType = "U8"
	I8     DType = "I8"
	I16    DType = "I16"
	I32    DType = "I32"
	I64    DType = "I64"
	U32    DType = "U32"

	// ggml block formats.
	Q4_0   DType = "Q4_0"
	Q4_1   DType = "Q4_1"
	Q5_0   DType = "Q5_0"
	Q5_1   DType = "Q5_1"
	Q8_0   DType = "Q8_0"
	Q2_K   DType = "Q2_K"
	Q3_K   DType = "Q3_K"
	Q4_K   DType = "Q4_K"
	Q5_K   DType = "Q5_K"
	Q6_K   DType = "Q6_K"
	MXFP4  DType = "MXFP4"
	IQ4_NL DType = "IQ4_NL"
)

// block is the storage of a type: so many bits for so many elements. For plain
// types the block is one element, and a tensor of types below 8 bits must fill
// whole bytes.
type block struct{ elements, bits int64 }

// safetensorsTypes are the element types of the safetensors format, release 0.7
// (safetensors/src/tensor.rs, enum Dtype), and the two FNUZ types that torch
// writes.
var safetensorsTypes = map[DType]block{
	"BOOL": {1, 8}, F4: {1, 4}, "F6_E2M3": {1, 6}, "F6_E3M2": {1, 6},
	U8: {1, 8}, I8: {1, 8}, F8E5M2: {1, 8}, F8E4M3: {1, 8}, F8E8M0: {1, 8},
	"F8_E4M3FNUZ": {1, 8}, "F8_E5M2FNUZ": {1, 8},
	I16: {1, 16}, "U16": {1, 16}, F16: {1, 16}, BF16: {1, 16},
	I32: {1, 32}, U32: {1, 32}, F32: {1, 32},
	"C64": {1, 64}, F64: {1, 64}, I64: {1, 64}, "U64": {1, 64},
}

// ggmlType is one entry of ggml's type table.
type ggmlType struct {
	name DType
	block
}

// ggmlTypes are the types of GGUF by number (ggml.h, enum ggml_type, and the block
// structures of ggml-common.h; numbers 4, 5, 31-33 and 36-38 were withdrawn).
var ggmlTypes = map[uint32]ggmlType{
	0: {F32, block{1, 32}}, 1: {F16, block{1, 16}},
	2: {Q4_0, block{32, 18 * 8}}, 3: {Q4_1, block{32, 20 * 8}},
	6: {Q5_0, block{32, 22 * 8}}, 7: {Q5_1, block{32, 24 * 8}},
	8: {Q8_0, block{32, 34 * 8}}, 9: {"Q8_1", block{32, 36 * 8}},
	10: {Q2_K, block{256, 84 * 8}}, 11: {Q3_K, block{256, 110 * 8}},
	12: {Q4_K, block{256, 144 * 8}}, 13: {Q5_K, block{256, 176 * 8}},
	14: {Q6_K, block{256, 210 * 8}}, 15: {"Q8_K", block{256, 292 * 8}},
	16: {"IQ2_XXS", block{256, 66 * 8}}, 17: {"IQ2_XS", block{256, 74 * 8}},
	18: {"IQ3_XXS", block{256, 98 * 8}}, 19: {"IQ1_S", block{256, 50 * 8}},
	20: {IQ4_NL, block{32, 18 * 8}}, 21: {"IQ3_S", block{256, 110 * 8}},
	22: {"IQ2_S", block{256, 82 * 8}}, 23: {"IQ4_XS", block{256, 136 * 8}},
	24: {I8, block{1, 8}}, 25: {I16, block{1, 16}}, 26: {I32, block{1, 32}},
	27: {I64, block{1, 64}}, 28: {F64, block{1, 64}},
	29: {"IQ1_M", block{256, 56 * 8}}, 30: {BF16, block{1, 16}},
	34: {"TQ1_0", block{256, 54 * 8}}, 35: {"TQ2_0", block{256, 66 * 8}},
	39: {MXFP4, block{32, 17 * 8}},
}

var ggmlBlocks = func() map[DType]block {
	m := map[DType]block{}
	for _, t := range ggmlTypes {
		m[t.name] = t.block
	}
	return m
}()

// Block says how many elements one block of the type holds and how many bits it
// takes; plain types have blocks of one element. ok is false for an unknown type.
func (d DType) Block() (elements, bits int, ok bool) {
	b, ok := safetensorsTypes[d]
	if !ok {
		b, ok = ggmlBlocks[d]
	}
	return int(b.elements), int(b.bits), ok
}

// sizeOf is the number of bytes of a tensor, or false when it overflows or does
// not fill whole blocks along the last dimension and whole bytes.
func (b block) sizeOf(shape []int) (int64, bool) {
	n := uint64(1)
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		n = lo
	}
	if b.elements > 1 && (len(shape) == 0 || int64(shape[len(shape)-1])%b.elements != 0) {
		return 0, false
	}
	hi, lo := bits.Mul64(n/uint64(b.elements), uint64(b.bits))
	if hi != 0 || lo%8 != 0 || lo/8 > math.MaxInt64 {
		return 0, false
	}
	return int64(lo / 8), true
}
