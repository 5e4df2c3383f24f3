package main

import "fmt"

// amd64 writes every function twice, for AVX-512 (Z registers, 16 lanes) and for
// AVX2 (Y registers, 8 lanes, so that 16 lanes take two).
func amd64(u *unit) {
	u.word("halfKeep", 0xbfffbfff) // a 16-bit word without bit 14
	u.word("byteOnes", 0x01010101) // one in every byte
	for _, v := range []vec{{"AVX512", "Z", 16}, {"AVX2", "Y", 8}} {
		v.dot4x1(u)
		v.dot4x4(u)
		v.dot1x1(u)
		v.dot4xN(u)
		v.sums(u)
		v.dot16(u, "bf16", "weights are BF16", func(f *function, from, to string) {
			f.p("VPMOVZXWD %s, %s", from, to)
			f.p("VPSLLD $16, %s, %s", to, to)
		})
		v.dot16(u, "f16", "weights are binary16", func(f *function, from, to string) {
			f.p("VCVTPH2PS %s, %s", from, to)
		})
		v.widen(u, "bf16", func(f *function, from, to string) {
			f.p("VPMOVZXWD %s, %s", from, to)
			f.p("VPSLLD $16, %s, %s", to, to)
		})
		v.widen(u, "f16", func(f *function, from, to string) { f.p("VCVTPH2PS %s, %s", from, to) })
		v.copyF32(u)
		v.fp8Half(u)
		v.halfScaled(u)
		v.fp8Dot(u)
		v.nibbles(u)
		v.addScaled(u)
	}
	fp8Tables(u)
	fp8DecodeBytes(u)
	fp8DotBytes(u)
	nibblesDot(u)
	fetch(u)
	expConstants(u)
	for _, v := range []vec{{"AVX512", "Z", 16}, {"AVX2", "Y", 8}} {
		v.elementary(u)
	}
	ggml(u)
}

// ahead is how many bytes before their use weights are fetched to the cache.
const ahead = 1024

func fetch(u *unit) {
	f := u.function("fetch", "brings n bytes to the second-level cache, n >= 1.", "data *byte", "n int")
	f.p("MOVQ %s, SI", f.arg("data"))
	f.p("MOVQ %s, CX", f.arg("n"))
	loop := f.label()
	f.p("PREFETCHT1 (SI)")
	f.p("ADDQ $64, SI")
	f.p("SUBQ $64, CX")
	f.p("JGT %s", loop)
	f.p("RET")
}

// vec is an instruction set: the name that ends its functions, the letter of its
// registers and the float32 in one.
type vec struct {
	name, reg string
	width     int
}

// parts is how many registers 16 lanes take.
func (v vec) parts() int { return 16 / v.width }

// half is the letter of registers of half the size.
func (v vec) half() string {
	if v.width == 16 {
		return "Y"
	}
	return "X"
}

func (v vec) r(i int) string { return fmt.Sprintf("%s%d", v.reg, i) }

// bytes is the size of a register.
func (v vec) bytes() int { return 4 * v.width }

func (v vec) end(f *function) {
	f.p("VZEROUPPER")
	f.p("RET")
}

// rows4 loads the pointers of four rows into SI, R8, R9 and R10.
func rows4(f *function, base, stride string) []string {
	f.p("MOVQ %s, SI", f.arg(base))
	f.p("MOVQ %s, DX", f.arg(stride))
	f.p("LEAQ (SI)(DX*1), R8")
	f.p("LEAQ (R8)(DX*1), R9")
	f.p("LEAQ (R9)(DX*1), R10")
	return []string{"SI", "R8", "R9", "R10"}
}

// farther is how many bytes below a row at least what is read soon is fetched from:
// memory takes 100 ns and more to answer.
const farther = 8192

// fartherRows turns DX, the distance of rows, into that of rows to fetch, a multiple
// of four rows below.
func fartherRows(f *function) {
	f.p("SHLQ $2, DX")
	near, far := f.label(), f.reserve()
	f.p("CMPQ DX, $%d", farther)
	f.p("JGE %s", far)
	f.p("SHLQ $1, DX")
	f.p("JNZ %s", near) // rows without columns
	f.place(far)
}

func (v vec) dot4x1(u *unit) {
	f := u.function("dot4x1"+v.name, "adds the products of four rows of float32, stride bytes apart, with x to four lanes each; n is a multiple of 16.",
		"acc *lanes", "w *float32", "stride int", "x *float32", "n int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	rows := rows4(f, "w", "stride")
	f.p("MOVQ %s, BX", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	n := v.parts()
	for i := range 4 * n {
		f.p("VMOVUPS %d(DI), %s", v.bytes()*i, v.r(i))
	}
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	loop := f.label()
	for part := range n {
		x := v.r(4*n + part)
		f.p("VMOVUPS %d(BX)(AX*1), %s", v.bytes()*part, x)
	}
	for r, row := range rows {
		for part := range n {
			t := v.r(5*n + (r*n+part)%4)
			f.p("VMULPS %d(%s)(AX*1), %s, %s", v.bytes()*part, row, v.r(4*n+part), t)
			f.p("VADDPS %s, %s, %s", t, v.r(r*n+part), v.r(r*n+part))
		}
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for i := range 4 * n {
		f.p("VMOVUPS %s, %d(DI)", v.r(i), v.bytes()*i)
	}
	v.end(f)
}

// dot4xN is dot4x1 for many vectors that are short.
func (v vec) dot4xN(u *unit) {
	f := u.function("dot4xN"+v.name, "is dot4x1 for several vectors, xstride bytes apart, with four lanes each.",
		"acc *lanes", "w *float32", "stride int", "x *float32", "xstride int", "n int", "vectors int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	rows := rows4(f, "w", "stride")
	f.p("MOVQ %s, BX", f.arg("x"))
	f.p("MOVQ %s, DX", f.arg("xstride"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("MOVQ %s, R11", f.arg("vectors"))
	f.p("SHLQ $2, CX")
	n := v.parts()
	vector := f.label()
	f.p("XORQ AX, AX")
	for i := range 4 * n {
		f.p("VMOVUPS %d(DI), %s", v.bytes()*i, v.r(i))
	}
	loop := f.label()
	for part := range n {
		f.p("VMOVUPS %d(BX)(AX*1), %s", v.bytes()*part, v.r(4*n+part))
	}
	for r, row := range rows {
		for part := range n {
			t := v.r(5*n + (r*n+part)%4)
			f.p("VMULPS %d(%s)(AX*1), %s, %s", v.bytes()*part, row, v.r(4*n+part), t)
			f.p("VADDPS %s, %s, %s", t, v.r(r*n+part), v.r(r*n+part))
		}
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for i := range 4 * n {
		f.p("VMOVUPS %s, %d(DI)", v.r(i), v.bytes()*i)
	}
	f.p("ADDQ DX, BX")
	f.p("ADDQ $256, DI")
	f.p("DECQ R11")
	f.p("JNZ %s", vector)
	v.end(f)
}

func (v vec) dot1x1(u *unit) {
	f := u.function("dot1x1"+v.name, "adds the products of w and x to the lanes; n is a multiple of 16.", "acc *lanes", "w *float32", "x *float32", "n int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	f.p("MOVQ %s, SI", f.arg("w"))
	f.p("MOVQ %s, BX", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	for part := range v.parts() {
		f.p("VMOVUPS %d(DI), %s", v.bytes()*part, v.r(part))
	}
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	loop := f.label()
	for part := range v.parts() {
		t := v.r(2 + part)
		f.p("VMOVUPS %d(BX)(AX*1), %s", v.bytes()*part, t)
		f.p("VMULPS %d(SI)(AX*1), %s, %s", v.bytes()*part, t, t)
		f.p("VADDPS %s, %s, %s", t, v.r(part), v.r(part))
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for part := range v.parts() {
		f.p("VMOVUPS %s, %d(DI)", v.r(part), v.bytes()*part)
	}
	v.end(f)
}

func (v vec) dot4x4(u *unit) {
	f := u.function("dot4x4"+v.name, "adds the products of four rows of float32, stride bytes apart, with four vectors, xstride bytes apart, to 16 lanes, those of a row together; n is a multiple of 16.",
		"acc *lanes", "w *float32", "stride int", "x *float32", "xstride int", "n int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	rows := rows4(f, "w", "stride")
	f.p("MOVQ %s, R11", f.arg("x"))
	f.p("MOVQ %s, DX", f.arg("xstride"))
	f.p("LEAQ (R11)(DX*1), R12")
	f.p("LEAQ (R12)(DX*1), R13")
	f.p("LEAQ (R13)(DX*1), BX")
	tokens := []string{"R11", "R12", "R13", "BX"}
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("SHLQ $2, CX")
	// AVX2 has registers for half the tokens and half the lanes at a time.
	group := 4 / v.parts()
	for first := 0; first < 4; first += group {
		for part := range v.parts() {
			v.dot4xSome(f, rows, tokens[first:first+group], first, part)
		}
	}
	v.end(f)
}

// dot4xSome is the loop of dot4x4 over some tokens and one part of the lanes.
func (v vec) dot4xSome(f *function, rows, tokens []string, first, part int) {
	k := len(tokens)
	at := func(r, t int) int { return 64*(4*r+first+t) + v.bytes()*part }
	for r := range rows {
		for t := range k {
			f.p("VMOVUPS %d(DI), %s", at(r, t), v.r(r*k+t))
		}
	}
	f.p("XORQ AX, AX")
	loop := f.label()
	for t, token := range tokens {
		f.p("VMOVUPS %d(%s)(AX*1), %s", v.bytes()*part, token, v.r(4*k+t))
	}
	for r, row := range rows {
		w := v.r(5*k + r%2)
		f.p("VMOVUPS %d(%s)(AX*1), %s", v.bytes()*part, row, w)
		for t := range k {
			tmp := v.r(5*k + 2 + (r*k+t)%4)
			f.p("VMULPS %s, %s, %s", v.r(4*k+t), w, tmp)
			f.p("VADDPS %s, %s, %s", tmp, v.r(r*k+t), v.r(r*k+t))
		}
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for r := range rows {
		for t := range k {
			f.p("VMOVUPS %s, %d(DI)", v.r(r*k+t), at(r, t))
		}
	}
}

func (v vec) sums(u *unit) {
	f := u.function("sums"+v.name, "folds n sets of lanes in the fixed order, n >= 1.", "dst *float32", "acc *lanes", "n int")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("acc"))
	f.p("MOVQ %s, CX", f.arg("n"))
	loop := f.label()
	f.p("VMOVUPS (SI), Y0")
	f.p("VADDPS 32(SI), Y0, Y0")
	f.p("VEXTRACTF128 $1, Y0, X1")
	f.p("VADDPS X1, X0, X0")
	f.p("VPERMILPS $0x0e, X0, X1") // lanes 2 and 3 to 0 and 1
	f.p("VADDPS X1, X0, X0")
	f.p("VMOVSHDUP X0, X1") // lane 1 to 0
	f.p("VADDSS X1, X0, X0")
	f.p("VMOVSS X0, (DI)")
	f.p("ADDQ $64, SI")
	f.p("ADDQ $4, DI")
	f.p("DECQ CX")
	f.p("JNZ %s", loop)
	v.end(f)
}

// dot16 is dot4x1 with 16-bit weights that are widened on the way.
func (v vec) dot16(u *unit, kind, doc string, widen func(f *function, from, to string)) {
	f := u.function(kind+"Dot4x1"+v.name, "is dot4x1 where the "+doc+".",
		"acc *lanes", "w *byte", "stride int", "x *float32", "n int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	rows := rows4(f, "w", "stride")
	f.p("MOVQ %s, BX", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	n := v.parts()
	for i := range 4 * n {
		f.p("VMOVUPS %d(DI), %s", v.bytes()*i, v.r(i))
	}
	f.p("XORQ AX, AX")
	fartherRows(f)
	f.p("SHLQ $1, CX")
	loop := f.label()
	for part := range n {
		f.p("VMOVUPS %d(BX)(AX*2), %s", v.bytes()*part, v.r(4*n+part))
	}
	for r, row := range rows {
		f.p("PREFETCHT1 (%s)(DX*1)", row)
		for part := range n {
			t := v.r(5*n + (r*n+part)%4)
			widen(f, fmt.Sprintf("%d(%s)(AX*1)", v.bytes()/2*part, row), t)
			f.p("VMULPS %s, %s, %s", v.r(4*n+part), t, t)
			f.p("VADDPS %s, %s, %s", t, v.r(r*n+part), v.r(r*n+part))
		}
	}
	f.p("ADDQ $32, AX")
	f.p("ADDQ $32, DX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for i := range 4 * n {
		f.p("VMOVUPS %s, %d(DI)", v.r(i), v.bytes()*i)
	}
	v.end(f)
}

func (v vec) widen(u *unit, kind string, widen func(f *function, from, to string)) {
	f := u.function(kind+"Decode"+v.name, "widens n values to float32; n is a multiple of 16.", "dst *float32", "src *byte", "n int")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("src"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("XORQ AX, AX")
	f.p("SHLQ $1, CX")
	loop := f.label()
	for part := range v.parts() {
		widen(f, fmt.Sprintf("%d(SI)(AX*1)", v.bytes()/2*part), v.r(part))
		f.p("VMOVUPS %s, %d(DI)(AX*2)", v.r(part), v.bytes()*part)
	}
	f.p("ADDQ $32, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)
}

func (v vec) copyF32(u *unit) {
	f := u.function("f32Decode"+v.name, "copies n little-endian float32; n is a multiple of 16.", "dst *float32", "src *byte", "n int")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("src"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	loop := f.label()
	f.p("PREFETCHT1 %d(SI)(AX*1)", ahead)
	for part := range v.parts() {
		f.p("VMOVUPS %d(SI)(AX*1), %s", v.bytes()*part, v.r(part))
		f.p("VMOVUPS %s, %d(DI)(AX*1)", v.r(part), v.bytes()*part)
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)
}

// nibbles: the codes of 16 columns lie in eight bytes.
func (v vec) nibbles(u *unit) {
	if v.width == 8 {
		u.table("nibbleShifts", 0, 4, 8, 12, 16, 20, 24, 28)
	}
	f := u.function("nibbles"+v.name, "decodes groups of 16*vectors four-bit codes, two to a byte, as table[code] times the group's scale.",
		"dst *float32", "codes *byte", "table *[16]float32", "scales *float32", "groups int", "vectors int")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("codes"))
	f.p("MOVQ %s, DX", f.arg("table"))
	f.p("MOVQ %s, BX", f.arg("scales"))
	f.p("MOVQ %s, CX", f.arg("groups"))
	f.p("VMOVUPS (DX), %s", v.r(0))
	if v.width == 8 {
		f.p("VMOVUPS 32(DX), Y1")
		f.p("VMOVDQU nibbleShifts<>(SB), Y2")
	}
	f.p("MOVQ %s, R9", f.arg("vectors"))
	generic, pairs, single, done := f.reserve(), f.reserve(), f.reserve(), f.reserve()
	f.p("CMPQ R9, $1")
	f.p("JNE %s", pairs)
	four := f.label() // groups of 16, four at a time
	f.p("CMPQ CX, $4")
	f.p("JLT %s", single)
	f.p("PREFETCHT1 %d(SI)", segment/2)
	for i := range 4 {
		f.p("VBROADCASTSS %d(BX), %s", 4*i, v.r(3))
		v.nibbles16(f, i)
	}
	f.p("ADDQ $32, SI")
	f.p("ADDQ $256, DI")
	f.p("ADDQ $16, BX")
	f.p("SUBQ $4, CX")
	f.p("JMP %s", four)
	f.place(single)
	f.p("TESTQ CX, CX")
	f.p("JZ %s", done)
	f.place(pairs)
	outer := f.label()
	f.p("MOVQ R9, R8")
	f.p("VBROADCASTSS (BX), %s", v.r(3))
	inner := f.label()
	f.p("CMPQ R8, $2")
	f.p("JLT %s", generic)
	f.p("PREFETCHT1 %d(SI)", segment/2)
	v.nibbles16(f, 0)
	v.nibbles16(f, 1)
	f.p("ADDQ $16, SI")
	f.p("ADDQ $128, DI")
	f.p("SUBQ $2, R8")
	f.p("JNZ %s", inner)
	next := f.reserve()
	f.p("JMP %s", next)
	f.place(generic)
	v.nibbles16(f, 0)
	f.p("ADDQ $8, SI")
	f.p("ADDQ $64, DI")
	f.place(next)
	f.p("ADDQ $4, BX")
	f.p("DECQ CX")
	f.p("JNZ %s", outer)
	f.place(done)
	v.end(f)
}

// nibbles16 decodes the 16 codes of vector i from SI and DI on, with the scale in
// register 3 and the table in register 0 (and 1).
func (v vec) nibbles16(f *function, i int) {
	if v.width == 16 {
		// Low nibble of byte i to element 2i, high nibble to 2i+1: only the lowest
		// four bits of an index count.
		f.p("VPMOVZXBQ %d(SI), Z4", 8*i)
		f.p("VPSLLQ $28, Z4, Z5")
		f.p("VPORQ Z5, Z4, Z4")
		f.p("VPERMPS Z0, Z4, Z4")
		f.p("VMULPS Z3, Z4, Z4")
		f.p("VMOVUPS Z4, %d(DI)", 64*i)
		return
	}
	for part := range 2 {
		f.p("VPBROADCASTD %d(SI), Y4", 8*i+4*part)
		f.p("VPSRLVD Y2, Y4, Y4")
		f.p("VPERMPS Y0, Y4, Y5") // codes 0..7
		f.p("VPERMPS Y1, Y4, Y6") // codes 8..15
		f.p("VPSLLD $28, Y4, Y4") // bit 3 chooses
		f.p("VBLENDVPS Y4, Y6, Y5, Y5")
		f.p("VMULPS Y3, Y5, Y5")
		f.p("VMOVUPS Y5, %d(DI)", 64*i+32*part)
	}
}

func (v vec) addScaled(u *unit) {
	f := u.function("addScaled"+v.name, "adds factor times x to dst; n is a multiple of 16.", "dst *float32", "x *float32", "n int", "factor float32")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("VBROADCASTSS %s, %s", f.arg("factor"), v.r(0))
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	loop := f.label()
	for part := range v.parts() {
		t := v.r(1 + part)
		f.p("VMULPS %d(SI)(AX*1), %s, %s", v.bytes()*part, v.r(0), t)
		f.p("VADDPS %d(DI)(AX*1), %s, %s", v.bytes()*part, t, t)
		f.p("VMOVUPS %s, %d(DI)(AX*1)", t, v.bytes()*part)
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)
}
