package kernel

// assembly returns NEON, which every arm64 processor has.
func assembly() []arithmetic {
	return []arithmetic{&vectors{
		set: "neon", dot1x1Asm: dot1x1NEON, dot4x1Asm: dot4x1NEON, dot4x4Asm: dot4x4NEON, sumsAsm: sumsNEON,
		bf16DotAsm: bf16Dot4x1NEON, f16DotAsm: f16Dot4x1NEON, bf16DecodeAsm: bf16DecodeNEON, f16DecodeAsm: f16DecodeNEON,
		f32DecodeAsm: f32DecodeNEON, fp8HalfAsm: fp8HalfNEON, halfScaledAsm: halfScaledNEON, halfDotAsm: halfDot4x1NEON, nibblesAsm: nibblesNEON, addScaledAsm: addScaledNEON,
		codesDecodeAsm: codesDecodeNEON, dotQ8Asm: dotQ8NEON, dotQ8WideAsm: dotQ8SignedNEON, dotQ8PlainAsm: dotQ8NEON,
	}}
}
