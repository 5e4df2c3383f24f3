package main

import "math"

// wide declares a table of eight equal float64, or of the bits of eight.
func (u *unit) wide(name string, bits uint64) {
	var words []uint32
	for range 8 {
		words = append(words, uint32(bits), uint32(bits>>32))
	}
	u.table(name, words...)
}

// expConstants are those of Exp in package kernel; a test there compares the bits
// of the results.
func expConstants(u *unit) {
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"expMost", 709}, {"expLeast", -700}, {"expPerStep", 0x1.71547652b82fep+5}, {"expMagic", 0x1.8p52},
		{"expStepHi", 0x1.62e4200000000p-6}, {"expStepLo", 0x1.fdf473de6af28p-27},
		{"expC6", 1.0 / 720}, {"expC5", 1.0 / 120}, {"expC4", 1.0 / 24}, {"expC3", 1.0 / 6}, {"expC2", 0.5}, {"expOne", 1},
	} {
		u.wide(c.name, math.Float64bits(c.value))
	}
	for i, name := range []string{"bf16Half", "bf16Keep", "bf16One", "bf16Sign", "bf16NaN"} {
		u.word(name, []uint32{0x7fff, 0xffff0000, 1, 0x80000000, 0x7fc00000}[i])
	}
	u.wide("expInfinity", math.Float64bits(math.Inf(1)))
	u.wide("expIndex", 31)
	u.wide("expSign", 1<<63)
	u.wide("expSixteen", 16)
	u.wide("expNotIndex", ^uint64(31))
	var words []uint32
	for _, v := range expPowers {
		b := math.Float64bits(v)
		words = append(words, uint32(b), uint32(b>>32))
	}
	u.table("expPowers", words...)
}

// expSetup loads the powers: four Z registers, or their address in R8.
func (v vec) expSetup(f *function) {
	if v.width == 16 {
		for i := range 4 {
			f.p("VMOVUPD expPowers<>+%d(SB), Z%d", 64*i, 16+i)
		}
		f.p("VMOVDQU64 expSixteen<>(SB), Z20")
		return
	}
	f.p("LEAQ expPowers<>(SB), R8")
}

// exp turns the float64 in register 0 into their exponentials, in register 0. NaN
// stays: of two operands, the maximum and minimum return the second, here the
// value, if one is NaN.
func (v vec) exp(f *function) {
	r := v.r
	c := func(name string) string { return name + "<>(SB)" }
	f.p("VMOVUPD %s, %s", c("expMost"), r(1))
	f.p("VMINPD %s, %s, %s", r(0), r(1), r(0))
	f.p("VMOVUPD %s, %s", c("expLeast"), r(1))
	f.p("VMAXPD %s, %s, %s", r(0), r(1), r(0))
	f.p("VMULPD %s, %s, %s", c("expPerStep"), r(0), r(1))
	f.p("VADDPD %s, %s, %s", c("expMagic"), r(1), r(1))  // t
	f.p("VSUBPD %s, %s, %s", c("expMagic"), r(1), r(2))  // kd
	f.p("VMULPD %s, %s, %s", c("expStepHi"), r(2), r(3)) //
	f.p("VSUBPD %s, %s, %s", r(3), r(0), r(0))
	f.p("VMULPD %s, %s, %s", c("expStepLo"), r(2), r(3))
	f.p("VSUBPD %s, %s, %s", r(3), r(0), r(0)) // r
	f.p("VMULPD %s, %s, %s", r(0), r(0), r(2)) // z
	f.p("VMULPD %s, %s, %s", c("expC5"), r(0), r(3))
	f.p("VADDPD %s, %s, %s", c("expC4"), r(3), r(3))
	f.p("VMULPD %s, %s, %s", c("expC6"), r(2), r(4))
	f.p("VADDPD %s, %s, %s", r(4), r(3), r(3)) // p
	f.p("VMULPD %s, %s, %s", c("expC3"), r(0), r(4))
	f.p("VADDPD %s, %s, %s", c("expC2"), r(4), r(4))
	f.p("VMULPD %s, %s, %s", r(3), r(2), r(3))
	f.p("VADDPD %s, %s, %s", r(3), r(4), r(4)) // q
	f.p("VMULPD %s, %s, %s", r(4), r(2), r(4))
	f.p("VADDPD %s, %s, %s", r(4), r(0), r(0)) // p
	if v.width == 16 {
		f.p("VMOVDQA64 Z1, Z3")
		f.p("VMOVDQA64 Z1, Z4")
		f.p("VPERMI2PD Z17, Z16, Z3")
		f.p("VPERMI2PD Z19, Z18, Z4")
		f.p("VPTESTMQ Z20, Z1, K1")
		f.p("VBLENDMPD Z4, Z3, K1, Z3")
	} else {
		f.p("VPAND %s, Y1, Y2", c("expIndex"))
		f.p("VPCMPEQQ Y5, Y5, Y5")
		f.p("VGATHERQPD Y5, (R8)(Y2*8), Y3")
	}
	f.p("VMULPD %s, %s, %s", r(0), r(3), r(0))
	f.p("VADDPD %s, %s, %s", r(0), r(3), r(0))
	// The number of steps stands in the lowest bits of t; whole powers of two go
	// to the exponent.
	if v.width == 16 {
		f.p("VPANDQ %s, Z1, Z1", c("expNotIndex"))
		f.p("VPSLLQ $47, Z1, Z1")
		f.p("VPADDQ Z1, Z0, Z0")
	} else {
		f.p("VPAND %s, Y1, Y1", c("expNotIndex"))
		f.p("VPSLLQ $47, Y1, Y1")
		f.p("VPADDQ Y1, Y0, Y0")
	}
}

// keep and overflow make the exponential of what is above expMost infinite, so that
// -Inf divided by it is NaN: of finite values, the quotient is zero in float32
// anyway.
func (v vec) keep(f *function) { f.p("VMOVAPD %s, %s", v.r(0), v.r(7)) }

func (v vec) overflow(f *function) {
	if v.width == 16 {
		f.p("VCMPPD $30, expMost<>(SB), Z7, K1")
		f.p("VBLENDMPD expInfinity<>(SB), Z0, K1, Z0")
		return
	}
	f.p("VCMPPD $30, expMost<>(SB), Y7, Y5")
	f.p("VBLENDVPD Y5, expInfinity<>(SB), Y0, Y0")
}

// narrow rounds register 0 to float32 and stores it.
func (v vec) narrow(f *function, at string) {
	if v.width == 16 {
		f.p("VCVTPD2PS Z0, Y0")
		f.p("VMOVUPS Y0, %s", at)
	} else {
		f.p("VCVTPD2PSY Y0, X0")
		f.p("VMOVUPS X0, %s", at)
	}
}

func (v vec) elementary(u *unit) {
	half := map[int]string{16: "Y", 8: "X"}[v.width]
	f := u.function("expShifted"+v.name, "sets dst to the exponentials of x less shift; n is a multiple of 8.", "dst *float32", "x *float32", "n int", "shift float32")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("VBROADCASTSS %s, %s", f.arg("shift"), half+"6")
	v.expSetup(f)
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	loop := f.label()
	f.p("VMOVUPS (SI)(AX*1), %s0", half)
	f.p("VSUBPS %s6, %s0, %s0", half, half, half)
	f.p("VCVTPS2PD %s0, %s", half, v.r(0))
	v.exp(f)
	v.narrow(f, "(DI)(AX*1)")
	f.p("ADDQ $%d, AX", v.bytes()/2)
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)

	f = u.function("silu"+v.name, "sets dst to x/(1+exp(-x)); n is a multiple of 8.", "dst *float32", "x *float32", "n int")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	v.expSetup(f)
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	loop = f.label()
	f.p("VCVTPS2PD (SI)(AX*1), %s", v.r(6))
	f.p("VXORPD expSign<>(SB), %s, %s", v.r(6), v.r(0))
	v.keep(f)
	v.exp(f)
	v.overflow(f)
	f.p("VADDPD expOne<>(SB), %s, %s", v.r(0), v.r(0))
	f.p("VDIVPD %s, %s, %s", v.r(0), v.r(6), v.r(0))
	v.narrow(f, "(DI)(AX*1)")
	f.p("ADDQ $%d, AX", v.bytes()/2)
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)

	f = u.function("add"+v.name, "adds x to the lanes; n is a multiple of 16.", "acc *lanes", "x *float32", "n int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	f.p("MOVQ %s, SI", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	for part := range v.parts() {
		f.p("VMOVUPS %d(DI), %s", v.bytes()*part, v.r(part))
	}
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	loop = f.label()
	for part := range v.parts() {
		f.p("VADDPS %d(SI)(AX*1), %s, %s", v.bytes()*part, v.r(part), v.r(part))
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for part := range v.parts() {
		f.p("VMOVUPS %s, %d(DI)", v.r(part), v.bytes()*part)
	}
	v.end(f)

	f = u.function("divide"+v.name, "divides x by divisor; n is a multiple of 16.", "x *float32", "n int", "divisor float32")
	f.p("MOVQ %s, SI", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	f.p("VBROADCASTSS %s, %s", f.arg("divisor"), v.r(0))
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	loop = f.label()
	for part := range v.parts() {
		f.p("VMOVUPS %d(SI)(AX*1), %s", v.bytes()*part, v.r(1+part))
		f.p("VDIVPS %s, %s, %s", v.r(0), v.r(1+part), v.r(1+part))
		f.p("VMOVUPS %s, %d(SI)(AX*1)", v.r(1+part), v.bytes()*part)
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)

	v.largest(u)
	v.addRows(u)
	v.roundBF16(u)
}

// roundBF16 adds what carries into the upper half where the nearer value, or of two
// as near the even one, is above.
func (v vec) roundBF16(u *unit) {
	f := u.function("roundBF16"+v.name, "rounds n values to bfloat16; n is a multiple of 16.", "x *float32", "n int")
	f.p("MOVQ %s, SI", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	for i, name := range []string{"bf16Half", "bf16Keep", "bf16One", "bf16Sign", "bf16NaN"} {
		f.p("VPBROADCASTD %s<>(SB), %s", name, v.r(8+i))
	}
	f.p("XORQ AX, AX")
	f.p("SHLQ $2, CX")
	d := ""
	if v.width == 16 {
		d = "D"
	}
	loop := f.label()
	for part := range v.parts() {
		x, t, n := v.r(4*part), v.r(4*part+1), v.r(4*part+2)
		f.p("VMOVUPS %d(SI)(AX*1), %s", v.bytes()*part, x)
		f.p("VPSRLD $16, %s, %s", x, t)
		f.p("VPAND%s %s, %s, %s", d, v.r(10), t, t)
		f.p("VPADDD %s, %s, %s", v.r(8), t, t)
		f.p("VPADDD %s, %s, %s", x, t, t)
		f.p("VPAND%s %s, %s, %s", d, v.r(9), t, t)
		f.p("VPAND%s %s, %s, %s", d, v.r(11), x, n)
		f.p("VPOR%s %s, %s, %s", d, v.r(12), n, n)
		if v.width == 16 {
			f.p("VCMPPS $3, %s, %s, K1", x, x)
			f.p("VBLENDMPS %s, %s, K1, %s", n, t, t)
		} else {
			f.p("VCMPPS $3, %s, %s, %s", x, x, x)
			f.p("VBLENDVPS %s, %s, %s, %s", x, n, t, t)
		}
		f.p("VMOVUPS %s, %d(SI)(AX*1)", t, v.bytes()*part)
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	v.end(f)
}

// largest compares as VMAXPS does: NaN must be looked for beside it.
func (v vec) largest(u *unit) {
	f := u.function("largest"+v.name, "sets the lanes to the largest of themselves and x; n is a multiple of 16. The result is not 0 if x holds a NaN.", "acc *lanes", "x *float32", "n int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	f.p("MOVQ %s, SI", f.arg("x"))
	f.p("MOVQ %s, CX", f.arg("n"))
	for part := range v.parts() {
		f.p("VMOVUPS %d(DI), %s", v.bytes()*part, v.r(part))
	}
	f.p("XORQ AX, AX")
	f.p("XORQ DX, DX")
	f.p("SHLQ $2, CX")
	loop := f.label()
	for part := range v.parts() {
		t := v.r(2 + part)
		f.p("VMOVUPS %d(SI)(AX*1), %s", v.bytes()*part, t)
		f.p("VMAXPS %s, %s, %s", t, v.r(part), v.r(part))
		if v.width == 16 {
			f.p("VCMPPS $3, %s, %s, K1", t, t)
			f.p("KMOVW K1, R8")
		} else {
			f.p("VCMPPS $3, %s, %s, Y4", t, t)
			f.p("VMOVMSKPS Y4, R8")
		}
		f.p("ORQ R8, DX")
	}
	f.p("ADDQ $64, AX")
	f.p("CMPQ AX, CX")
	f.p("JLT %s", loop)
	for part := range v.parts() {
		f.p("VMOVUPS %s, %d(DI)", v.r(part), v.bytes()*part)
	}
	f.p("MOVQ DX, %s", f.ret())
	v.end(f)
}

// addRows keeps some columns of the sum in registers while it goes through the
// rows: 64 columns (32 for AVX2) at first, then 16.
func (v vec) addRows(u *unit) {
	f := u.function("addRows"+v.name, "adds factors[j] times row j, for count rows that lie stride bytes apart, to dst, row after row; n is a multiple of 16.",
		"dst *float32", "rows *float32", "stride int", "factors *float32", "count int", "n int")
	f.p("MOVQ %s, DI", f.arg("dst"))
	f.p("MOVQ %s, SI", f.arg("rows"))
	f.p("MOVQ %s, DX", f.arg("stride"))
	f.p("MOVQ %s, CX", f.arg("n"))
	for _, registers := range []int{4, v.parts()} {
		columns := registers * v.width
		next, block := f.reserve(), f.reserve()
		f.place(block)
		f.p("CMPQ CX, $%d", columns)
		f.p("JLT %s", next)
		f.p("MOVQ %s, BX", f.arg("factors"))
		f.p("MOVQ %s, R9", f.arg("count"))
		f.p("MOVQ SI, R8")
		for i := range registers {
			f.p("VMOVUPS %d(DI), %s", v.bytes()*i, v.r(i))
		}
		loop := f.label()
		f.p("VBROADCASTSS (BX), %s", v.r(4))
		for i := range registers {
			f.p("VMULPS %d(R8), %s, %s", v.bytes()*i, v.r(4), v.r(5+i))
			f.p("VADDPS %s, %s, %s", v.r(5+i), v.r(i), v.r(i))
		}
		f.p("ADDQ DX, R8")
		f.p("ADDQ $4, BX")
		f.p("DECQ R9")
		f.p("JNZ %s", loop)
		for i := range registers {
			f.p("VMOVUPS %s, %d(DI)", v.r(i), v.bytes()*i)
		}
		f.p("ADDQ $%d, DI", 4*columns)
		f.p("ADDQ $%d, SI", 4*columns)
		f.p("SUBQ $%d, CX", columns)
		f.p("JMP %s", block)
		f.place(next)
	}
	v.end(f)
}

// expPowers are 2^(j/32), rounded.
var expPowers = [32]float64{
	0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
	0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
	0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
	0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
	0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
	0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
	0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
	0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0,
}
