package main

import (
	"fmt"
	"strings"
)

// fp8Half: the seven bits below the sign of an E4M3FN code, moved to the place
// where binary16 has exponent and mantissa, mean 2^-8 of the value, subnormals
// included; only NaN must be looked for.
func (v vec) fp8Half(u *unit) {
	f := u.function("fp8Half"+v.name, "turns n E4M3FN codes into binary16 of 2^-8 times the value; n is a multiple of 16. The result is not 0 if a code is NaN.",
		"dst *uint16", "src *byte", "n int")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("src"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("VPBROADCASTD halfKeep<>(SB), %s", v.r(0))
	f.p("VPBROADCASTD byteOnes<>(SB), %s", v.r(1))
	if v.width == 16 {
		f.p("VPXORD Z2, Z2, Z2")
	} else {
		f.p("VPXOR Y2, Y2, Y2")
	}
	f.p("XORQ AX, AX")
	tail, wide := f.reserve(), f.reserve()
	f.place(wide)
	f.p("LEAQ %d(AX), BX", v.bytes())
	f.p("CMPQ BX, CX")
	f.p("JGT %s", tail)
	for part := range 2 {
		t := v.r(3 + part)
		f.p("VPMOVSXBW %d(SI)(AX*1), %s", v.bytes()/2*part, t)
		f.p("VPSLLW $7, %s, %s", t, t)
		if v.width == 16 {
			f.p("VPANDD Z0, %s, %s", t, t)
			f.p("VMOVDQU16 %s, %d(DI)(AX*2)", t, 64*part)
		} else {
			f.p("VPAND Y0, %s, %s", t, t)
			f.p("VMOVDQU %s, %d(DI)(AX*2)", t, 32*part)
		}
	}
	// Adding one flips the sign bit of a byte just where all bits below are set.
	if v.width == 16 {
		f.p("VMOVDQU8 (SI)(AX*1), Z5")
		f.p("VPADDB Z1, Z5, Z6")
		f.p("VPTERNLOGD $0xf6, Z6, Z5, Z2") // Z2 |= Z5 ^ Z6
	} else {
		f.p("VMOVDQU (SI)(AX*1), Y5")
		f.p("VPADDB Y1, Y5, Y6")
		f.p("VPXOR Y5, Y6, Y6")
		f.p("VPOR Y6, Y2, Y2")
	}
	f.p("MOVQ BX, AX")
	f.p("JMP %s", wide)
	f.place(tail)
	done, last := f.reserve(), f.label()
	f.p("CMPQ AX, CX")
	f.p("JGE %s", done)
	f.p("VPMOVSXBW (SI)(AX*1), Y3")
	f.p("VPSLLW $7, Y3, Y3")
	f.p("VPAND Y0, Y3, Y3")
	f.p("VMOVDQU Y3, (DI)(AX*2)")
	f.p("VMOVDQU (SI)(AX*1), X5")
	f.p("VPADDB X1, X5, X6")
	f.p("VPXOR X5, X6, X6")
	if v.width == 16 {
		f.p("VPORD Z6, Z2, Z2")
	} else {
		f.p("VPOR Y6, Y2, Y2")
	}
	f.p("ADDQ $16, AX")
	f.p("JMP %s", last)
	f.place(done)
	v.seen(f, 2, 3)
	v.end(f)
}

// seen makes the sign bits of the bytes in a register the result.
func (v vec) seen(f *function, reg, tmp int) {
	if v.width == 16 {
		f.p("VEXTRACTI64X4 $1, Z%d, Y%d", reg, tmp)
		f.p("VPOR Y%d, Y%d, Y%d", tmp, reg, reg)
	}
	f.p("VPMOVMSKB Y%d, AX", reg)
	f.p("MOVQ AX, %s", f.ret())
}

func (v vec) halfScaled(u *unit) {
	f := u.function("halfScaled"+v.name, "widens n binary16 and multiplies by scale; n is a multiple of 16.",
		"dst *float32", "src *uint16", "n int", "scale float32")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("src"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("VBROADCASTSS %s, %s", f.arg("scale"), v.r(0))
	f.p("XORQ AX, AX")
	f.p("SHLQ $1, CX")
	loop := f.label()
	for part := range v.parts() {
		t := v.r(1 + part)
		f.p("VCVTPH2PS %d(SI)(AX*1), %s", v.bytes()/2*part, t)
		f.p("VMULPS %s, %s, %s", v.r(0), t, t)
		f.p("VMOVUPS %s, %d(DI)(AX*2)", t, v.bytes()*part)
	}
	f.p("ADDQ $32, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)
}

// fp8Dot is fp8Half and what follows in one, without storing binary16.
func (v vec) fp8Dot(u *unit) {
	f := u.function("fp8Dot4x1"+v.name, "is dot4x1 with weights that are E4M3FN codes times a scale, given as 256 times its value: one for each row, scaleStride bytes apart, and run columns, a multiple of 16; the next follows behind. The result is not 0, and the lanes worthless, if a code is NaN.",
		"acc *lanes", "codes *byte", "stride int", "x *float32", "scales *float32", "scaleStride int", "run int", "n int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	rows := rows4(f, "codes", "stride")
	f.p("MOVQ %s, BX", f.arg("x"))
	scales := scales4(f)
	n := v.parts()
	for i := range 4 * n {
		f.p("VMOVUPS %d(DI), %s", v.bytes()*i, v.r(i))
	}
	f.p("XORQ AX, AX")
	fartherRows(f)
	// Names of registers, which AVX2 has fewer of.
	keep, ones, seen, bytes, flipped, scale, x, tmp := 8, 9, 10, 11, 12, 4, 16, 13
	or := "VPTERNLOGD $0xf6, Z12, Z11, Z10" // seen |= bytes ^ flipped
	move, xor := "VMOVDQU8", "VPXORD"
	if v.width == 8 {
		keep, ones, seen, bytes, flipped, scale, x, tmp = 8, 9, 10, 11, 12, 13, 14, 15
		move, xor = "VMOVDQU", "VPXOR"
	}
	f.p("VPBROADCASTD halfKeep<>(SB), %s%d", v.half(), keep)
	f.p("VPBROADCASTD byteOnes<>(SB), %s", v.r(ones))
	f.p("%s %s, %s, %s", xor, v.r(seen), v.r(seen), v.r(seen))
	outer := f.label()
	endOfRun(f)
	if v.width == 16 {
		for r := range 4 {
			f.p("VBROADCASTSS %s, %s", scales[r], v.r(scale+r))
		}
	}
	// columns does some columns, of which there are at most as many as bytes in a
	// register.
	columns := func(some int) {
		for part := range some / v.width {
			if v.width == 16 {
				f.p("VMOVUPS %d(BX)(AX*4), %s", v.bytes()*part, v.r(x+part))
			}
		}
		for r, row := range rows {
			f.p("PREFETCHT1 (%s)(DX*1)", row)
			// Adding one flips the sign bit of a byte just where all bits below are set.
			switch {
			case v.width == 8:
				reg := "Y"
				if some == 16 {
					reg = "X"
				}
				f.p("%s (%s)(AX*1), %s%d", move, row, reg, bytes)
				f.p("VPADDB %s%d, %s%d, %s%d", reg, ones, reg, bytes, reg, flipped)
				f.p("VPXOR %s%d, %s%d, %s%d", reg, bytes, reg, flipped, reg, flipped)
				f.p("VPOR %s, %s, %s", v.r(flipped), v.r(seen), v.r(seen))
				f.p("VBROADCASTSS %s, %s", scales[r], v.r(scale))
			case some == 16:
				f.p("VMOVDQU (%s)(AX*1), X%d", row, bytes)
				f.p("VPADDB X%d, X%d, X%d", ones, bytes, flipped)
				f.p("%s", or)
			default:
				f.p("%s (%s)(AX*1), %s", move, row, v.r(bytes))
				f.p("VPADDB %s, %s, %s", v.r(ones), v.r(bytes), v.r(flipped))
				f.p("%s", or)
			}
			for part := range some / v.width {
				t, s, in := tmp, scale, v.r(x)
				if v.width == 16 {
					t, s, in = tmp+part%3, scale+r, v.r(x+part)
				} else {
					f.p("VMOVUPS %d(BX)(AX*4), %s", v.bytes()*part, in)
				}
				h := fmt.Sprintf("%s%d", v.half(), t)
				f.p("VPMOVSXBW %d(%s)(AX*1), %s", v.width*part, row, h)
				f.p("VPSLLW $7, %s, %s", h, h)
				f.p("VPAND %s%d, %s, %s", v.half(), keep, h, h)
				f.p("VCVTPH2PS %s, %s", h, v.r(t))
				f.p("VMULPS %s, %s, %s", v.r(s), v.r(t), v.r(t))
				f.p("VMULPS %s, %s, %s", in, v.r(t), v.r(t))
				acc := v.r(r*n + part%n)
				f.p("VADDPS %s, %s, %s", v.r(t), acc, acc)
			}
		}
		f.p("ADDQ $%d, AX", some)
		f.p("ADDQ $%d, DX", some)
	}
	wide, narrow, end := f.reserve(), f.reserve(), f.reserve()
	f.place(wide)
	f.p("LEAQ %d(AX), R13", v.bytes())
	f.p("CMPQ R13, CX")
	f.p("JGT %s", narrow)
	columns(v.bytes())
	f.p("JMP %s", wide)
	f.place(narrow)
	f.p("CMPQ AX, CX")
	f.p("JGE %s", end)
	columns(16)
	f.p("JMP %s", narrow)
	f.place(end)
	f.p("ADDQ $4, R11")
	f.p("CMPQ AX, %s", f.arg("n"))
	f.p("JLT %s", outer)
	for i := range 4 * n {
		f.p("VMOVUPS %s, %d(DI)", v.r(i), v.bytes()*i)
	}
	v.seen(f, seen, bytes)
	v.end(f)
}

// scales4 loads the pointer to the scales of four rows into R11, with R12 and R15,
// and returns where the next of each row is.
func scales4(f *function) []string {
	f.p("MOVQ %s, R11", f.arg("scales"))
	f.p("MOVQ %s, R12", f.arg("scaleStride"))
	f.p("LEAQ (R12)(R12*2), R15")
	return []string{"(R11)", "(R11)(R12*1)", "(R11)(R12*2)", "(R11)(R15*1)"}
}

// endOfRun sets CX to the column where the run that starts at AX ends.
func endOfRun(f *function) {
	f.p("MOVQ %s, CX", f.arg("run"))
	f.p("ADDQ AX, CX")
	f.p("CMPQ CX, %s", f.arg("n"))
	f.p("CMOVQGT %s, CX", f.arg("n"))
}

// fp8Tables are what AVX512_VBMI looks 64 codes up in at once: the two upper bytes of
// 2^-8 of their float32, whose lower bytes are zero. Those of 16 codes are then put at
// their places. NaN codes are NaN.
func fp8Tables(u *unit) {
	var upper, lower [128]byte
	for code := range upper {
		// BF16 of 2^-8 times a code without sign.
		exponent, mantissa := code>>3, code&7
		switch {
		case code == 0x7f:
			exponent, mantissa = 0xff, 4
		case exponent > 0:
			exponent += 127 - 7 - 8
		case mantissa > 0:
			exponent = 127 - 6 - 8
			for mantissa < 8 {
				mantissa *= 2
				exponent--
			}
			mantissa -= 8
		}
		word := exponent<<7 | mantissa<<4
		upper[code], lower[code] = byte(word>>8), byte(word)
	}
	u.bytes("e4m3Upper", upper[:])
	u.bytes("e4m3Lower", lower[:])
	// Where the bytes of 16 codes come from: the table's halves are lower and upper.
	var places [256]byte
	for i := range 64 {
		places[4*i+2], places[4*i+3] = byte(i), byte(64+i)
	}
	u.bytes("upperHalves", places[:])
}

// fp8Registers are constants, and three that hold codes and their bytes.
type fp8Registers struct{ upperTable, lowerTable, sign, place, codes, up, low int }

// load loads the constants, four of them from place on, with K1.
func (g fp8Registers) load(f *function) {
	for i := range 2 {
		f.p("VMOVDQU64 e4m3Upper<>+%d(SB), Z%d", 64*i, g.upperTable+i)
		f.p("VMOVDQU64 e4m3Lower<>+%d(SB), Z%d", 64*i, g.lowerTable+i)
	}
	f.p("VPBROADCASTD topBits64<>(SB), Z%d", g.sign)
	for i := range 4 {
		f.p("VMOVDQU64 upperHalves<>+%d(SB), Z%d", 64*i, g.place+i)
	}
	f.p("MOVQ $0x%x, AX", uint64(0xcccccccccccccccc))
	f.p("KMOVQ AX, K1")
}

// look looks up codes, which are loaded from operand.
func (g fp8Registers) look(operand string) []string {
	return []string{
		fmt.Sprintf("VMOVDQU64 %s, Z%d", operand, g.codes),
		fmt.Sprintf("VMOVDQA64 Z%d, Z%d", g.codes, g.up),
		fmt.Sprintf("VPERMI2B Z%d, Z%d, Z%d", g.upperTable+1, g.upperTable, g.up),
		fmt.Sprintf("VMOVDQA64 Z%d, Z%d", g.codes, g.low),
		fmt.Sprintf("VPERMI2B Z%d, Z%d, Z%d", g.lowerTable+1, g.lowerTable, g.low),
		fmt.Sprintf("VPTERNLOGD $0xf8, Z%d, Z%d, Z%d", g.sign, g.codes, g.up), // up |= codes & sign
	}
}

// widen makes float32 of the codes 16*part and following.
func (g fp8Registers) widen(part, to int) []string {
	return []string{
		fmt.Sprintf("VMOVDQA64 Z%d, Z%d", g.low, to),
		fmt.Sprintf("VPERMT2B.Z Z%d, Z%d, K1, Z%d", g.up, g.place+part, to),
	}
}

func fp8DecodeBytes(u *unit) {
	f := u.function("fp8DecodeVBMI", "decodes n E4M3FN codes and multiplies 2^-8 of them by scale; n is a multiple of 16.",
		"dst *float32", "codes *byte", "n int", "scale float32")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("codes"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("VBROADCASTSS %s, Z0", f.arg("scale"))
	g := fp8Registers{upperTable: 8, lowerTable: 10, sign: 12, place: 13, codes: 17, up: 18, low: 19}
	g.load(f)
	some := func(operand string, parts int) {
		f.weave(g.look(operand))
		for part := range parts {
			f.weave(g.widen(part, 1+part))
			f.p("VMULPS Z0, Z%d, Z%d", 1+part, 1+part)
			f.p("VMOVUPS Z%d, %d(DI)", 1+part, 64*part)
		}
		f.p("ADDQ $%d, SI", 16*parts)
		f.p("ADDQ $%d, DI", 64*parts)
		f.p("SUBQ $%d, CX", 16*parts)
	}
	wide, narrow, end := f.reserve(), f.reserve(), f.reserve()
	f.place(wide)
	f.p("CMPQ CX, $64")
	f.p("JLT %s", narrow)
	some("(SI)", 4)
	f.p("JMP %s", wide)
	f.place(narrow)
	f.p("TESTQ CX, CX")
	f.p("JZ %s", end)
	f.p("VMOVDQU (SI), X7")
	some("Z7", 1)
	f.p("JMP %s", narrow)
	f.place(end)
	f.p("VZEROUPPER")
	f.p("RET")
}

// fp8DotBytes is fp8Dot for runs of 64 columns. Only the lanes are looked at for NaN,
// in the end.
func fp8DotBytes(u *unit) {
	f := u.function("fp8Dot4x1VBMI", "is fp8Dot4x1AVX512 for n and runs that are multiples of 64 columns. The upper half of each 64 columns has the scales half bytes behind, and so the next run. The result is not 0 if a lane became NaN.",
		"acc *lanes", "codes *byte", "stride int", "x *float32", "scales *float32", "scaleStride int", "half int", "run int", "n int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	rows := rows4(f, "codes", "stride")
	f.p("MOVQ %s, BX", f.arg("x"))
	scales := scales4(f)
	f.p("MOVQ %s, R13", f.arg("half"))
	f.p("LEAQ (R11)(R13*1), R14")
	f.p("ADDQ $4, R13")
	const x, tmp = 4, 22
	registers := func(row int) fp8Registers {
		return fp8Registers{upperTable: 8, lowerTable: 10, sign: 12, place: 13, codes: 17, up: 18 + row%2, low: 20 + row%2}
	}
	registers(0).load(f)
	for i := range 4 {
		f.p("VMOVUPS %d(DI), Z%d", 64*i, i)
	}
	f.p("XORQ AX, AX")
	fartherRows(f)
	outer := f.label()
	endOfRun(f)
	inner := f.label()
	for part := range 4 {
		f.p("VMOVUPS %d(BX)(AX*4), Z%d", 64*part, x+part)
	}
	look := func(r int) []string {
		return append(registers(r).look(fmt.Sprintf("(%s)(AX*1)", rows[r])), fmt.Sprintf("PREFETCHT1 (%s)(DX*1)", rows[r]))
	}
	widen := func(r int) (out []string) {
		for part := range 4 {
			out = append(out, registers(r).widen(part, tmp+4*(r%2)+part)...)
		}
		return out
	}
	multiply := func(r int) (out []string) {
		for part := range 4 {
			t := tmp + 4*(r%2) + part
			out = append(out, fmt.Sprintf("VMULPS.BCST %s, Z%d, Z%d", strings.Replace(scales[r], "R11", []string{"R11", "R14"}[part/2], 1), t, t))
		}
		for part := range 4 {
			t := tmp + 4*(r%2) + part
			out = append(out, fmt.Sprintf("VMULPS Z%d, Z%d, Z%d", x+part, t, t))
		}
		for part := range 4 {
			t := tmp + 4*(r%2) + part
			out = append(out, fmt.Sprintf("VADDPS Z%d, Z%d, Z%d", t, r, r))
		}
		return out
	}
	// Rows in turns: while one waits for its bytes, the one before is multiplied.
	f.weave(look(0))
	f.weave(widen(0), look(1))
	f.weave(multiply(0), widen(1), look(2))
	f.weave(multiply(1), widen(2), look(3))
	f.weave(multiply(2), widen(3))
	f.weave(multiply(3))
	f.p("ADDQ $64, AX")
	f.p("ADDQ $64, DX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", inner)
	f.p("ADDQ R13, R11")
	f.p("ADDQ R13, R14")
	f.p("CMPQ AX, %s", f.arg("n"))
	f.p("JLT %s", outer)
	f.p("XORQ AX, AX")
	for i := range 4 {
		f.p("VMOVUPS Z%d, %d(DI)", i, 64*i)
		f.p("VCMPPS $3, Z%d, Z%d, K2", i, i) // unordered with itself
		f.p("KMOVW K2, CX")
		f.p("ORQ CX, AX")
	}
	f.p("VZEROUPPER")
	f.p("MOVQ AX, %s", f.ret())
	f.p("RET")
}
