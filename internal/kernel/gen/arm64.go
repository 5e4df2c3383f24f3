package main

// arm64 writes the functions for NEON, which every arm64 processor has: 16 lanes
// are four registers of four. The assembler doesn't know the vector instructions
// on float32, nor those that widen, so they are written as words (Arm Architecture
// Reference Manual, C7.2).
func arm64(u *unit) {
	neonDot1x1(u)
	neonDot4x1(u, "dot4x1NEON", "adds the products of four rows of float32, stride bytes apart, with x to four lanes each; n is a multiple of 16.", "*float32", 64,
		func(f *function, row string) {
			for i := range 4 {
				f.p("FMOVQ %d(%s), F%d", 16*i, row, 20+i)
			}
		})
	neonDot4x1(u, "bf16Dot4x1NEON", "is dot4x1 where the weights are BF16.", "*byte", 32, func(f *function, row string) {
		f.p("FMOVQ (%s), F24", row)
		f.p("FMOVQ 16(%s), F25", row)
		neonWiden(f, shll, 24, 20)
		neonWiden(f, shll, 25, 22)
	})
	neonDot4x1(u, "f16Dot4x1NEON", "is dot4x1 where the weights are binary16.", "*byte", 32, func(f *function, row string) {
		f.p("FMOVQ (%s), F24", row)
		f.p("FMOVQ 16(%s), F25", row)
		neonWiden(f, fcvtl, 24, 20)
		neonWiden(f, fcvtl, 25, 22)
	})
	neonDot4x4(u)
	neonSums(u)
	neonDecode(u, "bf16DecodeNEON", shll)
	neonDecode(u, "f16DecodeNEON", fcvtl)
	neonCopyF32(u)
	neonFP8Half(u)
	neonHalfScaled(u)
	neonHalfDot(u)
	neonNibbles(u)
	neonAddScaled(u)
	neonCodesDecode(u)
	neonDotQ8(u, "dotQ8NEON", "codes below 128", false)
	neonDotQ8(u, "dotQ8SignedNEON", "any codes, less 128, and bias is not read", true)
}

// three is an instruction with two sources, all registers whole.
func three(f *function, op uint32, name string, n, m, d int) {
	f.p("WORD $%#08x // %s V%d, V%d, V%d", op|uint32(m)<<16|uint32(n)<<5|uint32(d), name, n, m, d)
}

// two is an instruction with one source.
func two(f *function, op uint32, name string, n, d int) {
	f.p("WORD $%#08x // %s V%d, V%d", op|uint32(n)<<5|uint32(d), name, n, d)
}

func fmul(f *function, n, m, d int) { three(f, 0x6e20dc00, "FMUL.4S", n, m, d) }
func fadd(f *function, n, m, d int) { three(f, 0x4e20d400, "FADD.4S", n, m, d) }
func fsub(f *function, n, m, d int) { three(f, 0x4ea0d400, "FSUB.4S", n, m, d) } // n - m

// widening is an instruction that widens the lower half of a register, and the one
// for the upper half.
type widening struct {
	low, high uint32
	name      string
}

var (
	shll  = widening{0x2e613800, 0x6e613800, "SHLL.4S16"} // 16 bits to the upper half of 32
	fcvtl = widening{0x0e217800, 0x4e217800, "FCVTL.4S"}  // binary16 to float32
	sshll = widening{0x0f0fa400, 0x4f0fa400, "SSHLL.8H7"} // int8 to int16, shifted left by 7
	uxtl8 = widening{0x2f08a400, 0x6f08a400, "UXTL.8H"}   // uint8 to uint16
	uxtlh = widening{0x2f10a400, 0x6f10a400, "UXTL.4S"}   // uint16 to uint32
)

// neonWiden writes both halves of src to dst and dst+1.
func neonWiden(f *function, w widening, src, dst int) {
	two(f, w.low, w.name, src, dst)
	two(f, w.high, w.name+" (high)", src, dst+1)
}

// load moves an argument to a register.
func load(f *function, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		f.p("MOVD %s, %s", f.arg(pairs[i]), pairs[i+1])
	}
}

// moveLanes loads or stores n registers from base.
func moveLanes(f *function, store bool, base string, first, n int) {
	for i := range n {
		if store {
			f.p("FMOVQ F%d, %d(%s)", first+i, 16*i, base)
		} else {
			f.p("FMOVQ %d(%s), F%d", 16*i, base, first+i)
		}
	}
}

func again(f *function, counter string, step int, loop string) {
	f.p("SUBS $%d, %s, %s", step, counter, counter)
	f.p("BGT %s", loop)
}

func neonDot1x1(u *unit) {
	f := u.function("dot1x1NEON", "adds the products of w and x to the lanes; n is a multiple of 16.", "acc *lanes", "w *float32", "x *float32", "n int")
	load(f, "acc", "R0", "w", "R1", "x", "R2", "n", "R3")
	moveLanes(f, false, "R0", 0, 4)
	loop := f.label()
	moveLanes(f, false, "R1", 4, 4)
	moveLanes(f, false, "R2", 8, 4)
	for i := range 4 {
		fmul(f, 4+i, 8+i, 4+i)
		fadd(f, i, 4+i, i)
	}
	f.p("ADD $64, R1")
	f.p("ADD $64, R2")
	again(f, "R3", 16, loop)
	moveLanes(f, true, "R0", 0, 4)
	f.p("RET")
}

// neonRows loads the pointers of four rows into R1 to R4.
func neonRows(f *function) []string {
	load(f, "w", "R1", "stride", "R5")
	f.p("ADD R5, R1, R2")
	f.p("ADD R5, R2, R3")
	f.p("ADD R5, R3, R4")
	return []string{"R1", "R2", "R3", "R4"}
}

// neonDot4x1 writes a product with four rows; weights loads 16 of a row, which
// take size bytes, to V20 to V23.
func neonDot4x1(u *unit, name, doc, weight string, size int, weights func(f *function, row string)) {
	f := u.function(name, doc, "acc *lanes", "w "+weight, "stride int", "x *float32", "n int")
	rows := neonRows(f)
	load(f, "acc", "R0", "x", "R6", "n", "R7")
	moveLanes(f, false, "R0", 0, 16)
	loop := f.label()
	moveLanes(f, false, "R6", 16, 4)
	for r, row := range rows {
		weights(f, row)
		for i := range 4 {
			fmul(f, 20+i, 16+i, 24+i)
			fadd(f, 4*r+i, 24+i, 4*r+i)
		}
		f.p("ADD $%d, %s", size, row)
	}
	f.p("ADD $64, R6")
	again(f, "R7", 16, loop)
	moveLanes(f, true, "R0", 0, 16)
	f.p("RET")
}

func neonDot4x4(u *unit) {
	f := u.function("dot4x4NEON", "adds the products of four rows of float32, stride bytes apart, with four vectors, xstride bytes apart, to 16 lanes, those of a row together; n is a multiple of 16.",
		"acc *lanes", "w *float32", "stride int", "x *float32", "xstride int", "n int")
	// A quarter of the lanes at a time.
	for part := range 4 {
		rows := neonRows(f)
		load(f, "acc", "R0", "x", "R6", "xstride", "R5", "n", "R10")
		f.p("ADD R5, R6, R7")
		f.p("ADD R5, R7, R8")
		f.p("ADD R5, R8, R9")
		tokens := []string{"R6", "R7", "R8", "R9"}
		for i := range 16 {
			f.p("FMOVQ %d(R0), F%d", 64*i+16*part, i)
		}
		loop := f.label()
		for t, token := range tokens {
			f.p("FMOVQ %d(%s), F%d", 16*part, token, 16+t)
			f.p("ADD $64, %s", token)
		}
		for r, row := range rows {
			f.p("FMOVQ %d(%s), F%d", 16*part, row, 20+r)
			f.p("ADD $64, %s", row)
			for t := range 4 {
				fmul(f, 20+r, 16+t, 24+t)
				fadd(f, 4*r+t, 24+t, 4*r+t)
			}
		}
		again(f, "R10", 16, loop)
		for i := range 16 {
			f.p("FMOVQ F%d, %d(R0)", i, 64*i+16*part)
		}
	}
	f.p("RET")
}

func neonSums(u *unit) {
	f := u.function("sumsNEON", "folds n sets of lanes in the fixed order, n >= 1.", "dst *float32", "acc *lanes", "n int")
	load(f, "dst", "R0", "acc", "R1", "n", "R2")
	loop := f.label()
	moveLanes(f, false, "R1", 0, 4)
	fadd(f, 0, 2, 0)
	fadd(f, 1, 3, 1)
	fadd(f, 0, 1, 0)
	f.p("VEXT $8, V0.B16, V0.B16, V1.B16") // lanes 2 and 3 to 0 and 1
	fadd(f, 0, 1, 0)
	two(f, 0x7e30d800, "FADDP.2S", 0, 0)
	f.p("FMOVS F0, (R0)")
	f.p("ADD $64, R1")
	f.p("ADD $4, R0")
	again(f, "R2", 1, loop)
	f.p("RET")
}

func neonDecode(u *unit, name string, w widening) {
	f := u.function(name, "widens n values to float32; n is a multiple of 16.", "dst *float32", "src *byte", "n int")
	load(f, "dst", "R0", "src", "R1", "n", "R2")
	loop := f.label()
	moveLanes(f, false, "R1", 4, 2)
	neonWiden(f, w, 4, 0)
	neonWiden(f, w, 5, 2)
	moveLanes(f, true, "R0", 0, 4)
	f.p("ADD $32, R1")
	f.p("ADD $64, R0")
	again(f, "R2", 16, loop)
	f.p("RET")
}

func neonCopyF32(u *unit) {
	f := u.function("f32DecodeNEON", "copies n little-endian float32; n is a multiple of 16.", "dst *float32", "src *byte", "n int")
	load(f, "dst", "R0", "src", "R1", "n", "R2")
	loop := f.label()
	moveLanes(f, false, "R1", 0, 4)
	moveLanes(f, true, "R0", 0, 4)
	f.p("ADD $64, R1")
	f.p("ADD $64, R0")
	again(f, "R2", 16, loop)
	f.p("RET")
}

func neonFP8Half(u *unit) {
	f := u.function("fp8HalfNEON", "turns n E4M3FN codes into binary16 of 2^-8 times the value; n is a multiple of 16. The result is not 0 if a code is NaN.",
		"dst *uint16", "src *byte", "n int")
	load(f, "dst", "R0", "src", "R1", "n", "R2")
	f.p("MOVD $0xbfffbfffbfffbfff, R3")
	f.p("VDUP R3, V0.D2") // a 16-bit word without bit 14
	f.p("VMOVI $1, V1.B16")
	f.p("VEOR V2.B16, V2.B16, V2.B16")
	loop := f.label()
	f.p("FMOVQ (R1), F3")
	neonWiden(f, sshll, 3, 4)
	f.p("VAND V0.B16, V4.B16, V4.B16")
	f.p("VAND V0.B16, V5.B16, V5.B16")
	moveLanes(f, true, "R0", 4, 2)
	// Adding one flips the sign bit of a byte just where all bits below are set.
	f.p("VADD V1.B16, V3.B16, V6.B16")
	f.p("VEOR V3.B16, V6.B16, V6.B16")
	f.p("VORR V6.B16, V2.B16, V2.B16")
	f.p("ADD $16, R1")
	f.p("ADD $32, R0")
	again(f, "R2", 16, loop)
	f.p("VMOV V2.D[0], R3")
	f.p("VMOV V2.D[1], R4")
	f.p("ORR R3, R4, R3")
	f.p("AND $0x8080808080808080, R3, R3")
	f.p("MOVD R3, %s", f.ret())
	f.p("RET")
}

func neonHalfScaled(u *unit) {
	f := u.function("halfScaledNEON", "widens n binary16 and multiplies by scale; n is a multiple of 16.", "dst *float32", "src *uint16", "n int", "scale float32")
	load(f, "dst", "R0", "src", "R1", "n", "R2")
	f.p("FMOVS %s, F6", f.arg("scale"))
	f.p("VDUP V6.S[0], V7.S4")
	loop := f.label()
	moveLanes(f, false, "R1", 4, 2)
	neonWiden(f, fcvtl, 4, 0)
	neonWiden(f, fcvtl, 5, 2)
	for i := range 4 {
		fmul(f, i, 7, i)
	}
	moveLanes(f, true, "R0", 0, 4)
	f.p("ADD $32, R1")
	f.p("ADD $64, R0")
	again(f, "R2", 16, loop)
	f.p("RET")
}

func neonHalfDot(u *unit) {
	f := u.function("halfDot4x1NEON", "is dot4x1 with weights that are binary16 times a scale: one for each row, scaleStride bytes apart, and run columns, a multiple of 16; the next follows behind. Meanwhile it fetches four rows of bytes at next to the cache.",
		"acc *lanes", "w *uint16", "stride int", "x *float32", "scales *float32", "scaleStride int", "run int", "n int", "next *byte", "nextStride int")
	rows := neonRows(f)
	load(f, "acc", "R0", "x", "R6", "scales", "R8", "scaleStride", "R14", "run", "R9", "n", "R10", "next", "R11", "nextStride", "R12")
	moveLanes(f, false, "R0", 0, 16)
	f.p("MOVD $4, R13")
	const scale = 28
	outer := f.label()
	f.p("MOVD R8, R15")
	for r := range 4 {
		f.p("VLD1R (R15), [V%d.S4]", scale+r)
		f.p("ADD R14, R15")
	}
	f.p("CMP R9, R10")
	f.p("CSEL LT, R10, R9, R7") // the last run may be shorter
	f.p("SUB R7, R10")
	inner := f.label()
	moveLanes(f, false, "R6", 16, 4)
	for r, row := range rows {
		f.p("FMOVQ (%s), F24", row)
		f.p("FMOVQ 16(%s), F25", row)
		neonWiden(f, fcvtl, 24, 20)
		neonWiden(f, fcvtl, 25, 22)
		for i := range 4 {
			fmul(f, 20+i, scale+r, 20+i)
			fmul(f, 20+i, 16+i, 20+i)
			fadd(f, 4*r+i, 20+i, 4*r+i)
		}
		f.p("ADD $32, %s", row)
	}
	f.p("ADD $64, R6")
	// One line of what comes next: a row after the other, and a line further after
	// the fourth.
	f.p("PRFM (R11), PLDL1KEEP")
	f.p("ADD R12, R11")
	f.p("SUBS $1, R13, R13")
	same := f.reserve()
	f.p("BNE %s", same)
	f.p("SUB R12<<2, R11, R11")
	f.p("ADD $64, R11")
	f.p("MOVD $4, R13")
	f.place(same)
	again(f, "R7", 16, inner)
	f.p("ADD $4, R8")
	f.p("CBNZ R10, %s", outer)
	moveLanes(f, true, "R0", 0, 16)
	f.p("RET")
}

// neonNibbles: TBL looks bytes up in the 64 bytes of the table; the four of an
// element with code c are 4c to 4c+3.
func neonNibbles(u *unit) {
	f := u.function("nibblesNEON", "decodes groups of 16*vectors four-bit codes, two to a byte, as table[code] times the group's scale.",
		"dst *float32", "codes *byte", "table *[16]float32", "scales *float32", "groups int", "vectors int")
	load(f, "dst", "R0", "codes", "R1", "table", "R2", "scales", "R3", "groups", "R4")
	moveLanes(f, false, "R2", 0, 4)
	f.p("VMOVI $15, V4.B16")
	f.p("MOVD $0x0404040404040404, R6")
	f.p("VDUP R6, V5.D2")
	f.p("MOVD $0x0302010003020100, R6")
	f.p("VDUP R6, V6.D2")
	outer := f.label()
	load(f, "vectors", "R5")
	f.p("VLD1R (R3), [V7.S4]")
	inner := f.label()
	f.p("FMOVD (R1), F16")
	f.p("VUSHR $4, V16.B16, V17.B16")
	f.p("VAND V4.B16, V16.B16, V16.B16")
	f.p("VZIP1 V17.B16, V16.B16, V16.B16")
	neonWiden(f, uxtl8, 16, 18)
	neonWiden(f, uxtlh, 18, 20)
	neonWiden(f, uxtlh, 19, 22)
	for i := range 4 {
		r := 20 + i
		three(f, 0x4ea09c00, "MUL.4S", r, 5, r)
		f.p("VADD V6.S4, V%d.S4, V%d.S4", r, r)
		f.p("VTBL V%d.B16, [V0.B16, V1.B16, V2.B16, V3.B16], V%d.B16", r, r)
		fmul(f, r, 7, r)
	}
	moveLanes(f, true, "R0", 20, 4)
	f.p("ADD $8, R1")
	f.p("ADD $64, R0")
	again(f, "R5", 1, inner)
	f.p("ADD $4, R3")
	again(f, "R4", 1, outer)
	f.p("RET")
}

func neonAddScaled(u *unit) {
	f := u.function("addScaledNEON", "adds factor times x to dst; n is a multiple of 16.", "dst *float32", "x *float32", "n int", "factor float32")
	load(f, "dst", "R0", "x", "R1", "n", "R2")
	f.p("FMOVS %s, F8", f.arg("factor"))
	f.p("VDUP V8.S[0], V9.S4")
	loop := f.label()
	moveLanes(f, false, "R0", 0, 4)
	moveLanes(f, false, "R1", 4, 4)
	for i := range 4 {
		fmul(f, 4+i, 9, 4+i)
		fadd(f, i, 4+i, i)
	}
	moveLanes(f, true, "R0", 0, 4)
	f.p("ADD $64, R0")
	f.p("ADD $64, R1")
	again(f, "R2", 16, loop)
	f.p("RET")
}

const (
	scvtf = 0x4e21d800 // int32 to float32
	ucvtf = 0x6e21d800 // uint32 to float32
)

func neonCodesDecode(u *unit) {
	f := u.function("codesDecodeNEON", "decodes n unpacked codes, a multiple of 32; scales are equal over 16 columns.",
		"dst *float32", "codes *byte", "scale *float32", "low *float32", "n int", "offset float32")
	load(f, "dst", "R0", "codes", "R1", "scale", "R2", "low", "R3", "n", "R4")
	f.p("FMOVS %s, F0", f.arg("offset"))
	f.p("VDUP V0.S[0], V1.S4")
	loop := f.label()
	f.p("VLD1R (R3), [V2.S4]")
	for range 2 {
		f.p("VLD1R (R2), [V3.S4]")
		f.p("FMOVQ (R1), F4")
		neonWiden(f, uxtl8, 4, 6)
		neonWiden(f, uxtlh, 6, 8)
		neonWiden(f, uxtlh, 7, 10)
		for i := range 4 {
			r := 8 + i
			two(f, ucvtf, "UCVTF.4S", r, r)
			fsub(f, r, 1, r)
			fmul(f, r, 3, r)
			fadd(f, r, 2, r)
		}
		moveLanes(f, true, "R0", 8, 4)
		f.p("ADD $16, R1")
		f.p("ADD $16, R2")
		f.p("ADD $64, R0")
	}
	f.p("ADD $4, R3")
	again(f, "R4", 32, loop)
	f.p("RET")
}

func neonDotQ8(u *unit, name, doc string, signed bool) {
	f := u.function(name, "adds the products of four rows of unpacked codes with the activations of tokens, n columns each, a multiple of 64, to four lanes per token, for "+doc+".", dotParams...)
	load(f, "acc", "R0", "codes", "R1", "scale", "R2", "y", "R3", "yscale", "R4", "bias", "R5", "tokens", "R8", "stride", "R9")
	if signed {
		f.p("VMOVI $128, V31.B16")
	}
	token := f.label()
	load(f, "n", "R6")
	moveLanes(f, false, "R0", 0, 16)
	loop := f.label()
	for part := range 4 {
		f.p("FMOVQ %d(R3), F16", 16*part)
		f.p("FMOVQ %d(R4), F17", 16*part)
		if !signed {
			f.p("FMOVQ %d(R5), F18", 16*part)
		}
		for r := range 4 {
			f.p("FMOVQ %d(R1), F20", segment*r+16*part)
			f.p("FMOVQ %d(R2), F21", segment*r+16*part)
			if signed {
				f.p("VEOR V31.B16, V20.B16, V20.B16")
			}
			three(f, 0x0e20c000, "SMULL.8H", 20, 16, 22)
			three(f, 0x4e20c000, "SMULL.8H (high)", 20, 16, 23)
			two(f, 0x4e602800, "SADDLP.4S", 22, 22)
			two(f, 0x4e602800, "SADDLP.4S", 23, 23)
			three(f, 0x4ea0bc00, "ADDP.4S", 22, 23, 22)
			if !signed {
				f.p("VADD V18.S4, V22.S4, V22.S4")
			}
			two(f, scvtf, "SCVTF.4S", 22, 22)
			fmul(f, 21, 17, 21)
			fmul(f, 21, 22, 21)
			acc := 4*r + part
			fadd(f, acc, 21, acc)
		}
	}
	for _, r := range []string{"R1", "R2", "R3", "R4", "R5"} {
		f.p("ADD $64, %s", r)
	}
	again(f, "R6", 64, loop)
	moveLanes(f, true, "R0", 0, 16)
	// Back to the first column, and on to the next token.
	load(f, "codes", "R1", "scale", "R2", "n", "R6")
	f.p("SUB R6, R9, R7")
	for _, r := range []string{"R3", "R4", "R5"} {
		f.p("ADD R7, %s", r)
	}
	f.p("ADD $256, R0")
	again(f, "R8", 1, token)
	f.p("RET")
}
