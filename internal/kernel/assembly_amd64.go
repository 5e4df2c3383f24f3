package kernel

import "shakedown/internal/numfmt"

//go:generate go run ./gen

// assembly returns the instruction sets that the processor and the operating
// system support.
func assembly() []arithmetic {
	var sets []arithmetic
	avx2, avx512, vnni, vbmi := vectorFeatures()
	unpack := [16]func(codes *byte, scale, low *float32, src *byte, blocks int){
		numfmt.GGUFQ4_0: unpackQ4_0AVX2, numfmt.GGUFQ4_1: unpackQ4_1AVX2, numfmt.GGUFQ5_0: unpackQ5_0AVX2, numfmt.GGUFQ5_1: unpackQ5_1AVX2,
		numfmt.GGUFQ8_0: unpackQ8_0AVX2, numfmt.GGUFQ4_K: unpackQ4_KAVX2, numfmt.GGUFQ5_K: unpackQ5_KAVX2, numfmt.GGUFQ6_K: unpackQ6_KAVX2,
	}
	if avx2 {
		sets = append(sets, &vectors{
			set: "avx2", dot1x1Asm: dot1x1AVX2, dot4x1Asm: dot4x1AVX2, dot4xNAsm: dot4xNAVX2, dot4x4Asm: dot4x4AVX2, sumsAsm: sumsAVX2,
			bf16DotAsm: bf16Dot4x1AVX2, f16DotAsm: f16Dot4x1AVX2, bf16DecodeAsm: bf16DecodeAVX2, f16DecodeAsm: f16DecodeAVX2,
			f32DecodeAsm: f32DecodeAVX2, fp8HalfAsm: fp8HalfAVX2, halfScaledAsm: halfScaledAVX2, fp8DotAsm: fp8Dot4x1AVX2, nibblesAsm: nibblesAVX2, addScaledAsm: addScaledAVX2,
			addRowsAsm: addRowsAVX2, expShiftedAsm: expShiftedAVX2, siluAsm: siluAVX2, addAsm: addAVX2, largestAsm: largestAVX2, divideAsm: divideAVX2, roundBF16Asm: roundBF16AVX2,
			unpackAsm: unpack, codesDecodeAsm: codesDecodeAVX2, quantize32Asm: quantize32AVX2, fetchAsm: fetch, spread32Asm: spread32AVX2, dotQ8Asm: dotQ8AVX2, dotQ8WideAsm: dotQ8SignedAVX2, dotQ8PlainAsm: dotQ8AVX2,
		})
	}
	if avx2 && avx512 {
		wide := &vectors{
			set: "avx512", dot1x1Asm: dot1x1AVX512, dot4x1Asm: dot4x1AVX512, dot4xNAsm: dot4xNAVX512, dot4x4Asm: dot4x4AVX512, sumsAsm: sumsAVX512,
			bf16DotAsm: bf16Dot4x1AVX512, f16DotAsm: f16Dot4x1AVX512, bf16DecodeAsm: bf16DecodeAVX512, f16DecodeAsm: f16DecodeAVX512,
			f32DecodeAsm: f32DecodeAVX512, fp8HalfAsm: fp8HalfAVX512, halfScaledAsm: halfScaledAVX512, fp8DotAsm: fp8Dot4x1AVX512, nibblesAsm: nibblesAVX512, nibblesDotAsm: nibblesDot4x1AVX512, addScaledAsm: addScaledAVX512,
			addRowsAsm: addRowsAVX512, expShiftedAsm: expShiftedAVX512, siluAsm: siluAVX512, addAsm: addAVX512, largestAsm: largestAVX512, divideAsm: divideAVX512, roundBF16Asm: roundBF16AVX512,
			unpackAsm: unpack, codesDecodeAsm: codesDecodeAVX512, quantize32Asm: quantize32AVX2, fetchAsm: fetch, spread32Asm: spread32AVX2, dotQ8Asm: dotQ8AVX2, dotQ8WideAsm: dotQ8SignedAVX2, dotQ8PlainAsm: dotQ8AVX2,
		}
		if vnni || vbmi { // tests have the other functions too
			plain := *wide
			plain.set = "avx512 without VNNI and VBMI"
			sets = append(sets, &plain)
		}
		if vnni {
			wide.dotQ8Asm, wide.dotQ8WideAsm, wide.dotQ8PlainAsm = dotQ8VNNI, dotQ8VNNI, dotQ8PlainVNNI
			wide.blockDotAsm[numfmt.GGUFQ4_0], wide.blockDotAsm[numfmt.GGUFQ4_1], wide.blockDotAsm[numfmt.GGUFQ8_0] = q4_0DotVNNI, q4_1DotVNNI, q8_0DotVNNI
		}
		if vbmi {
			wide.nibblesDotAsm = nibblesDot4x1VBMI
			wide.fp8DecodeAsm, wide.fp8DotWideAsm = fp8DecodeVBMI, fp8Dot4x1VBMI
		}
		sets = append(sets, wide)
	}
	return sets
}

// cpuid and xgetbv are the instructions of these names.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() (low, high uint32)

// vectorFeatures says whether the vector units are there and the operating system
// saves their registers (Intel SDM volume 1, 14.3 and 15.2): avx2 stands for AVX2
// with F16C, avx512 for the subsets F, BW, DQ and VL, vnni for AVX512_VNNI, vbmi for
// AVX512_VBMI.
func vectorFeatures() (avx2, avx512, vnni, vbmi bool) {
	most, _, _, _ := cpuid(0, 0)
	if most < 7 {
		return false, false, false, false
	}
	const xsave, avx, f16c = 1 << 27, 1 << 28, 1 << 29
	_, _, c, _ := cpuid(1, 0)
	if c&xsave == 0 || c&avx == 0 || c&f16c == 0 {
		return false, false, false, false
	}
	const avxState, avx512State = 0x06, 0xe6
	saved, _ := xgetbv()
	_, b, c, _ := cpuid(7, 0)
	avx2 = saved&avxState == avxState && b&(1<<5) != 0
	const f, dq, bw, vl = 1 << 16, 1 << 17, 1 << 30, 1 << 31
	const all = f | dq | bw | vl
	avx512 = saved&avx512State == avx512State && b&all == all
	return avx2, avx512, c&(1<<11) != 0, c&(1<<1) != 0
}
