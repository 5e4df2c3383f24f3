package main

import "fmt"

// segment is the constant of that name in package kernel: rows of unpacked codes
// lie so many bytes apart, and rows of their scales too (a float32 for each four).
const segment = 1024

// ggml writes the functions of the ggml numerics. Unpacking exists once, for AVX2.
func ggml(u *unit) {
	u.table("lowNibbles", repeat(8, 0x0f0f0f0f)...)
	u.table("bit4", repeat(8, 0x10101010)...)
	u.table("bits45", repeat(8, 0x30303030)...)
	u.table("topBits", repeat(8, 0x80808080)...)
	u.table("minusZeros", repeat(8, 0x80000000)...)
	// For the fifth bits: byte i of a register gets byte i/8 of a word, and of that
	// bit i%8.
	u.table("spread", 0, 0, 0x01010101, 0x01010101, 0x02020202, 0x02020202, 0x03030303, 0x03030303)
	u.table("bitOfByte", 0x08040201, 0x80402010, 0x08040201, 0x80402010, 0x08040201, 0x80402010, 0x08040201, 0x80402010)
	for i := range 4 {
		a, b := uint32(2*i), uint32(2*i+1)
		u.table(fmt.Sprintf("fours%d", i), a, a, a, a, b, b, b, b)
	}
	u.table("wordOnes", repeat(8, 0x00010001)...)
	unpack32(u, "Q4_0", 18, 2, -1, false)
	unpack32(u, "Q4_1", 20, 4, -1, true)
	unpack32(u, "Q5_0", 22, 6, 2, false)
	unpack32(u, "Q5_1", 24, 8, 4, true)
	unpackQ8_0(u)
	unpackK(u, "Q4_K", 144, 16, false)
	unpackK(u, "Q5_K", 176, 48, true)
	unpackQ6_K(u)
	for _, v := range []vec{{"AVX512", "Z", 16}, {"AVX2", "Y", 8}} {
		v.codesDecode(u)
	}
	dotQ8VNNI(u, "dotQ8VNNI", "adds the products of four rows of unpacked codes with the activations of tokens, n columns each, a multiple of 64, to four lanes per token.", true)
	dotQ8VNNI(u, "dotQ8PlainVNNI", "is dotQ8VNNI where all biases are zero.", false)
	dotQ8AVX2(u, "dotQ8AVX2", "codes below 64", false)
	dotQ8AVX2(u, "dotQ8SignedAVX2", "any codes, less 128, and bias is not read", true)
	quantize32(u)
	spread32(u)
	blockDots(u)
}

func repeat(n int, v uint32) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// unpacker starts a function that unpacks blocks: SI source, DI codes, DX scales,
// BX minimums, CX blocks.
func unpacker(u *unit, name string) *function {
	f := u.function("unpack"+name+"AVX2", "unpacks blocks of "+name+" to codes, a scale for each four and a minimum for each 32.",
		"codes *byte", "scale *float32", "low *float32", "src *byte", "blocks int")
	f.p("MOVQ %s, DI", f.arg("codes"))
	f.p("MOVQ %s, DX", f.arg("scale"))
	f.p("MOVQ %s, BX", f.arg("low"))
	f.p("MOVQ %s, SI", f.arg("src"))
	f.p("MOVQ %s, CX", f.arg("blocks"))
	return f
}

// finish ends the loop over blocks. Each block fetches the one of the same place in
// the next segment.
func finish(f *function, loop string, size, values int) {
	for line := 0; line < size; line += 64 {
		f.p("PREFETCHT0 %d(SI)", size*segment/values+line)
	}
	f.p("ADDQ $%d, SI", size)
	f.p("ADDQ $%d, DI", values)
	f.p("ADDQ $%d, DX", values)
	f.p("ADDQ $%d, BX", values/8)
	f.p("DECQ CX")
	f.p("JNZ %s", loop)
	f.p("VZEROUPPER")
	f.p("RET")
}

// unpack32 writes the unpacker of a format with 32 values of four or five bits:
// where the nibbles lie in a block, where the fifth bits (-1 for none), and
// whether a minimum follows the scale.
func unpack32(u *unit, name string, size, nibbles, fifth int, minimum bool) {
	f := unpacker(u, name)
	f.p("VMOVDQU lowNibbles<>(SB), Y8")
	if fifth >= 0 {
		f.p("VMOVDQU spread<>(SB), Y9")
		f.p("VMOVDQU bitOfByte<>(SB), Y10")
		f.p("VMOVDQU bit4<>(SB), Y11")
	}
	loop := f.label()
	// Broadcasting scale and what follows it (the minimum, or codes taken for one)
	// leaves the scale in the even elements.
	f.p("VPBROADCASTD (SI), X0")
	f.p("VCVTPH2PS X0, Y0")
	f.p("VMOVSLDUP Y0, Y1")
	f.p("VMOVUPS Y1, (DX)")
	if minimum {
		f.p("VMOVSHDUP X0, X0")
		f.p("VMOVSS X0, (BX)")
	} else {
		f.p("MOVL $0x80000000, (BX)")
	}
	f.p("VMOVDQU %d(SI), X2", nibbles)
	f.p("VPSRLW $4, X2, X3")
	if fifth < 0 {
		f.p("VPAND X8, X2, X2")
		f.p("VPAND X8, X3, X3")
		f.p("VMOVDQU X2, (DI)")
		f.p("VMOVDQU X3, 16(DI)")
		finish(f, loop, size, 32)
		return
	}
	f.p("VINSERTI128 $1, X3, Y2, Y2")
	f.p("VPAND Y8, Y2, Y2")
	f.p("VPBROADCASTD %d(SI), Y4", fifth)
	f.p("VPSHUFB Y9, Y4, Y4")
	f.p("VPAND Y10, Y4, Y4")
	f.p("VPCMPEQB Y10, Y4, Y4")
	f.p("VPAND Y11, Y4, Y4")
	f.p("VPOR Y4, Y2, Y2")
	f.p("VMOVDQU Y2, (DI)")
	finish(f, loop, size, 32)
}

func unpackQ8_0(u *unit) {
	f := unpacker(u, "Q8_0")
	f.p("VMOVDQU topBits<>(SB), Y8")
	loop := f.label()
	f.p("VPBROADCASTD (SI), X0")
	f.p("VCVTPH2PS X0, Y0")
	f.p("VMOVSLDUP Y0, Y0")
	f.p("VMOVUPS Y0, (DX)")
	f.p("MOVL $0x80000000, (BX)")
	f.p("VPXOR 2(SI), Y8, Y2")
	f.p("VMOVDQU Y2, (DI)")
	finish(f, loop, 34, 32)
}

// unpackK writes the unpacker of Q4_K or Q5_K; quants is where the nibbles lie.
func unpackK(u *unit, name string, size, quants int, fifth bool) {
	f := unpacker(u, name)
	f.p("VMOVDQU lowNibbles<>(SB), Y8")
	f.p("VMOVDQU bit4<>(SB), Y9")
	f.p("VMOVDQU minusZeros<>(SB), Y10")
	loop := f.label()
	f.p("VMOVD (SI), X0")
	f.p("VCVTPH2PS X0, X0")
	f.p("VMOVSHDUP X0, X1")
	f.p("VBROADCASTSS X0, Y0")
	f.p("VBROADCASTSS X1, Y1")
	f.p("VXORPS Y10, Y1, Y1")
	// The first four scales and minimums are six bits of a byte each; the others
	// have four bits in the last word and two above the first ones'.
	f.p("MOVL 4(SI), R8")
	f.p("MOVL 8(SI), R9")
	f.p("MOVL 12(SI), R10")
	for _, w := range []struct {
		first string
		shift int
		out   string
	}{{"R8", 0, "X2"}, {"R9", 4, "X3"}} {
		f.p("MOVL %s, R11", w.first)
		f.p("SHRL $2, R11")
		f.p("ANDL $0x30303030, R11")
		f.p("MOVL R10, R12")
		if w.shift > 0 {
			f.p("SHRL $%d, R12", w.shift)
		}
		f.p("ANDL $0x0f0f0f0f, R12")
		f.p("ORL R11, R12")
		f.p("SHLQ $32, R12")
		f.p("ANDL $0x3f3f3f3f, %s", w.first)
		f.p("ORQ %s, R12", w.first)
		f.p("VMOVQ R12, %s", w.out)
	}
	f.p("VPMOVZXBD X2, Y2")
	f.p("VPMOVZXBD X3, Y3")
	f.p("VCVTDQ2PS Y2, Y2")
	f.p("VCVTDQ2PS Y3, Y3")
	f.p("VMULPS Y0, Y2, Y2")
	f.p("VMULPS Y1, Y3, Y3")
	f.p("VMOVUPS Y3, (BX)")
	f.p("VPERM2F128 $0x00, Y2, Y2, Y4")
	f.p("VPERM2F128 $0x11, Y2, Y2, Y5")
	for g := range 8 {
		f.p("VPERMILPS $%#02x, Y%d, Y6", g%4*0x55, 4+g/4)
		f.p("VMOVUPS Y6, %d(DX)", 32*g)
	}
	if fifth {
		f.p("VMOVDQU 16(SI), Y7")
	}
	for i := range 4 {
		f.p("VMOVDQU %d(SI), Y2", quants+32*i)
		f.p("VPSRLW $4, Y2, Y3")
		f.p("VPAND Y8, Y2, Y2")
		f.p("VPAND Y8, Y3, Y3")
		if fifth {
			for half, reg := range []string{"Y2", "Y3"} {
				shiftTo(f, 2*i+half, 4, "Y7", "Y4")
				f.p("VPAND Y9, Y4, Y4")
				f.p("VPOR Y4, %s, %s", reg, reg)
			}
		}
		f.p("VMOVDQU Y2, %d(DI)", 64*i)
		f.p("VMOVDQU Y3, %d(DI)", 64*i+32)
	}
	finish(f, loop, size, 256)
}

// shiftTo moves bit from of every byte to bit to; other bits are garbage.
func shiftTo(f *function, from, to int, src, dst string) {
	switch {
	case from < to:
		f.p("VPSLLW $%d, %s, %s", to-from, src, dst)
	case from > to:
		f.p("VPSRLW $%d, %s, %s", from-to, src, dst)
	default:
		f.p("VMOVDQA %s, %s", src, dst)
	}
}

func unpackQ6_K(u *unit) {
	f := unpacker(u, "Q6_K")
	f.p("VMOVDQU lowNibbles<>(SB), Y8")
	f.p("VMOVDQU bits45<>(SB), Y9")
	f.p("VMOVDQU minusZeros<>(SB), Y10")
	for i := range 4 {
		f.p("VMOVDQU fours%d<>(SB), Y%d", i, 11+i)
	}
	loop := f.label()
	f.p("VMOVUPS Y10, (BX)")
	f.p("MOVWLZX 208(SI), AX")
	f.p("VMOVD AX, X0")
	f.p("VCVTPH2PS X0, X0")
	f.p("VBROADCASTSS X0, Y0")
	for half := range 2 {
		f.p("VPMOVSXBD %d(SI), Y1", 192+8*half)
		f.p("VCVTDQ2PS Y1, Y1")
		f.p("VMULPS Y0, Y1, Y1")
		for i := range 4 {
			f.p("VPERMPS Y1, Y%d, Y2", 11+i)
			f.p("VMOVUPS Y2, %d(DX)", 128*half+32*i)
		}
	}
	for half := range 2 {
		f.p("VMOVDQU %d(SI), Y1", 64*half)
		f.p("VMOVDQU %d(SI), Y2", 64*half+32)
		f.p("VMOVDQU %d(SI), Y3", 128+32*half)
		for run := range 4 {
			low := []string{"Y1", "Y2"}[run%2]
			if run >= 2 {
				f.p("VPSRLW $4, %s, Y4", low)
				low = "Y4"
			}
			f.p("VPAND Y8, %s, Y4", low)
			shiftTo(f, 2*run, 4, "Y3", "Y5")
			f.p("VPAND Y9, Y5, Y5")
			f.p("VPOR Y5, Y4, Y4")
			f.p("VMOVDQU Y4, %d(DI)", 128*half+32*run)
		}
	}
	finish(f, loop, 210, 256)
}

func (v vec) codesDecode(u *unit) {
	f := u.function("codesDecode"+v.name, "decodes n unpacked codes, a multiple of 32; scales are equal over 16 columns.",
		"dst *float32", "codes *byte", "scale *float32", "low *float32", "n int", "offset float32")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("codes"))
	f.p("MOVQ %s, DX", f.arg("scale"))
	f.p("MOVQ %s, BX", f.arg("low"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("VBROADCASTSS %s, %s", f.arg("offset"), v.r(0))
	f.p("XORQ AX, AX")
	loop := f.label()
	f.p("VBROADCASTSS (BX), %s", v.r(1))
	f.p("ADDQ $4, BX")
	for part := range 32 / v.width {
		if part*v.width%16 == 0 {
			f.p("VBROADCASTSS %d(DX)(AX*1), %s", part*v.width, v.r(2))
		}
		t := v.r(3 + part)
		f.p("VPMOVZXBD %d(SI)(AX*1), %s", part*v.width, t)
		f.p("VCVTDQ2PS %s, %s", t, t)
		f.p("VSUBPS %s, %s, %s", v.r(0), t, t)
		f.p("VMULPS %s, %s, %s", v.r(2), t, t)
		f.p("VADDPS %s, %s, %s", v.r(1), t, t)
		f.p("VMOVUPS %s, %d(DI)(AX*4)", t, part*v.bytes())
	}
	f.p("ADDQ $32, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)
}

// dotArgs loads the arguments of a dotQ8: DI lanes, SI codes, DX scales, R8 to R10
// activations, their scales and biases, CX columns, R11 tokens, R12 bytes from
// token to token.
func dotArgs(f *function) {
	for _, a := range [][2]string{{"acc", "DI"}, {"codes", "SI"}, {"scale", "DX"}, {"y", "R8"}, {"yscale", "R9"}, {"bias", "R10"}, {"n", "CX"}, {"tokens", "R11"}, {"stride", "R12"}} {
		f.p("MOVQ %s, %s", f.arg(a[0]), a[1])
	}
}

// nextToken goes on to the next token of a dotQ8, if there is one.
func nextToken(f *function, loop string) {
	for _, r := range []string{"R8", "R9", "R10"} {
		f.p("ADDQ R12, %s", r)
	}
	f.p("ADDQ $256, DI")
	f.p("DECQ R11")
	f.p("JNZ %s", loop)
	f.p("VZEROUPPER")
	f.p("RET")
}

var dotParams = []string{"acc *lanes", "codes *byte", "scale *float32", "y *int8", "yscale *float32", "bias *int32", "n int", "tokens int", "stride int"}

// dotQ8VNNI has a form without bias, for formats whose codes need no offset.
func dotQ8VNNI(u *unit, name, doc string, biased bool) {
	f := u.function(name, doc, dotParams...)
	dotArgs(f)
	token := f.label()
	f.p("XORQ AX, AX")
	for r := range 4 {
		f.p("VMOVUPS %d(DI), Z%d", 64*r, r)
	}
	loop := f.label()
	f.p("VMOVDQU32 (R8)(AX*1), Z4")
	f.p("VMOVUPS (R9)(AX*1), Z5")
	if biased {
		f.p("VMOVDQU32 (R10)(AX*1), Z6")
	}
	for r := range 4 {
		w, sum, scale := 8+3*r, 9+3*r, 10+3*r
		f.p("VMOVDQU32 %d(SI)(AX*1), Z%d", segment*r, w)
		if biased {
			f.p("VMOVDQA32 Z6, Z%d", sum)
		} else {
			f.p("VPXORD Z%d, Z%d, Z%d", sum, sum, sum)
		}
		f.p("VPDPBUSD Z4, Z%d, Z%d", w, sum)
		f.p("VCVTDQ2PS Z%d, Z%d", sum, sum)
		f.p("VMULPS %d(DX)(AX*1), Z5, Z%d", segment*r, scale)
		f.p("VMULPS Z%d, Z%d, Z%d", sum, scale, sum)
		f.p("VADDPS Z%d, Z%d, Z%d", sum, r, r)
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for r := range 4 {
		f.p("VMOVUPS Z%d, %d(DI)", r, 64*r)
	}
	nextToken(f, token)
}

// dotQ8AVX2: the sums of two products fit 16 bits if codes are below 64, or if
// they are signed.
func dotQ8AVX2(u *unit, name, doc string, signed bool) {
	f := u.function(name, "is dotQ8VNNI without its instruction, for "+doc+".", dotParams...)
	dotArgs(f)
	f.p("VMOVDQU wordOnes<>(SB), Y15")
	if signed {
		f.p("VMOVDQU topBits<>(SB), Y14")
	}
	token := f.label()
	f.p("XORQ AX, AX")
	for i := range 8 {
		f.p("VMOVUPS %d(DI), Y%d", 32*i, i)
	}
	loop := f.label()
	for part := range 2 {
		f.p("VMOVDQU %d(R8)(AX*1), Y8", 32*part)
		f.p("VMOVUPS %d(R9)(AX*1), Y9", 32*part)
		for r := range 4 {
			acc := 2*r + part
			if signed {
				f.p("VPXOR %d(SI)(AX*1), Y14, Y10", segment*r+32*part)
				f.p("VPSIGNB Y10, Y8, Y11")
				f.p("VPABSB Y10, Y10")
				f.p("VPMADDUBSW Y11, Y10, Y10")
			} else {
				f.p("VMOVDQU %d(SI)(AX*1), Y10", segment*r+32*part)
				f.p("VPMADDUBSW Y8, Y10, Y10")
			}
			f.p("VPMADDWD Y15, Y10, Y10")
			if !signed {
				f.p("VPADDD %d(R10)(AX*1), Y10, Y10", 32*part)
			}
			f.p("VCVTDQ2PS Y10, Y10")
			f.p("VMULPS %d(DX)(AX*1), Y9, Y12", segment*r+32*part)
			f.p("VMULPS Y10, Y12, Y10")
			f.p("VADDPS Y10, Y%d, Y%d", acc, acc)
		}
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for i := range 8 {
		f.p("VMOVUPS Y%d, %d(DI)", i, 32*i)
	}
	nextToken(f, token)
}

// spread32 works out what goes with quantised activations; see the scalar code.
func spread32(u *unit) {
	f := u.function("spread32AVX2", "rounds the scales of blocks of 32 codes to binary16, one for each four, and computes the biases and, unless sum is nil, the scaled sums of the blocks.",
		"scale *float32", "bias *int32", "sum *float32", "codes *int8", "exact *float32", "blocks int", "factor int")
	for _, a := range [][2]string{{"scale", "DI"}, {"bias", "R10"}, {"sum", "R9"}, {"codes", "SI"}, {"exact", "DX"}, {"blocks", "CX"}} {
		f.p("MOVQ %s, %s", f.arg(a[0]), a[1])
	}
	f.p("VPBROADCASTD byteOnes<>(SB), Y15")
	f.p("VMOVDQU wordOnes<>(SB), Y14")
	f.p("VPBROADCASTD %s, Y13", f.arg("factor"))
	loop, next := f.label(), f.reserve()
	f.p("VPBROADCASTD (DX), Y0")
	f.p("VCVTPS2PH $0, Y0, X1")
	f.p("VCVTPH2PS X1, Y1")
	f.p("VMOVUPS Y1, (DI)")
	f.p("VPMADDUBSW (SI), Y15, Y2")
	f.p("VPMADDWD Y14, Y2, Y2")
	f.p("VPMULLD Y13, Y2, Y3")
	f.p("VMOVDQU Y3, (R10)")
	f.p("TESTQ R9, R9")
	f.p("JZ %s", next)
	f.p("VEXTRACTI128 $1, Y2, X3")
	f.p("VPADDD X3, X2, X2")
	f.p("VPSHUFD $0x0e, X2, X3")
	f.p("VPADDD X3, X2, X2")
	f.p("VPSHUFD $0x01, X2, X3")
	f.p("VPADDD X3, X2, X2")
	f.p("VCVTDQ2PS X2, X2")
	f.p("VMULPS X0, X2, X2")
	f.p("VCVTPS2PH $0, X2, X2")
	f.p("VCVTPH2PS X2, X2")
	f.p("VMOVSS X2, (R9)")
	f.p("ADDQ $4, R9")
	f.place(next)
	f.p("ADDQ $32, DI")
	f.p("ADDQ $32, R10")
	f.p("ADDQ $32, SI")
	f.p("ADDQ $4, DX")
	f.p("DECQ CX")
	f.p("JNZ %s", loop)
	f.p("VZEROUPPER")
	f.p("RET")
}

func quantize32(u *unit) {
	u.table("absMask", repeat(8, 0x7fffffff)...)
	u.word("f127", 0x42fe0000)
	u.word("tiny", 0x0d800000) // 2^-100
	u.word("infinity", 0x7f800000)
	u.table("unpackOrder", 0, 4, 1, 5, 2, 6, 3, 7)
	f := u.function("quantize32AVX2", "quantises blocks of 32 activations.", "codes *int8", "exact *float32", "x *float32", "blocks int")
	f.p("MOVQ %s, DI", f.arg("codes"))
	f.p("MOVQ %s, DX", f.arg("exact"))
	f.p("MOVQ %s, SI", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("blocks"))
	f.p("VMOVDQU absMask<>(SB), Y15")
	f.p("VMOVSS f127<>(SB), X14")
	f.p("VMOVSS tiny<>(SB), X13")
	f.p("VMOVDQU unpackOrder<>(SB), Y12")
	f.p("VMOVD infinity<>(SB), X11")
	loop := f.label()
	for i := range 4 {
		f.p("VMOVUPS %d(SI), Y%d", 32*i, i)
	}
	// As integers, magnitudes have the order of their values, NaN on top.
	f.p("VPAND Y15, Y0, Y4")
	for i := 1; i < 4; i++ {
		f.p("VPAND Y15, Y%d, Y5", i)
		f.p("VPMAXUD Y5, Y4, Y4")
	}
	f.p("VEXTRACTI128 $1, Y4, X5")
	f.p("VPMAXUD X5, X4, X4")
	f.p("VPSHUFD $0x0e, X4, X5")
	f.p("VPMAXUD X5, X4, X4")
	f.p("VPSHUFD $0x01, X4, X5")
	f.p("VPMAXUD X5, X4, X4")
	f.p("VDIVSS X14, X4, X6") // amax/127
	f.p("VMOVSS X6, (DX)")
	f.p("VDIVSS X4, X14, X7")     // 127/amax
	f.p("VCMPPS $5, X13, X4, X8") // not amax < tiny
	f.p("VANDPS X8, X7, X7")      // or 0
	f.p("VPCMPGTD X4, X11, X9")   // amax finite
	f.p("VBROADCASTSS X7, Y7")    //
	f.p("VPBROADCASTD X9, Y9")    //
	for i := range 4 {
		f.p("VMULPS Y7, Y%d, Y%d", i, i)
		f.p("VCVTPS2DQ Y%d, Y%d", i, i)
	}
	f.p("VPACKSSDW Y1, Y0, Y0")
	f.p("VPACKSSDW Y3, Y2, Y2")
	f.p("VPACKSSWB Y2, Y0, Y0")
	f.p("VPERMD Y0, Y12, Y0") // packing works on halves; this puts fours in order
	f.p("VPAND Y9, Y0, Y0")
	f.p("VMOVDQU Y0, (DI)")
	f.p("ADDQ $128, SI")
	f.p("ADDQ $32, DI")
	f.p("ADDQ $4, DX")
	f.p("DECQ CX")
	f.p("JNZ %s", loop)
	f.p("VZEROUPPER")
	f.p("RET")
}
