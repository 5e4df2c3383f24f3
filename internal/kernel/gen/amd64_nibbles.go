package main

import "fmt"

// nibblesDot writes a product with four-bit codes for AVX-512 and for AVX512_VBMI, which
// brings eight bytes to the codes of 16 columns in one step: only the lowest four bits
// of an index count.
func nibblesDot(u *unit) {
	u.table("eightNibbles", 0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28)
	nibblesDotWith(u, "AVX512", func(f *function) {
		f.p("VMOVDQU32 eightNibbles<>(SB), Z9")
		f.p("MOVL $0xff00, DX")
		f.p("KMOVW DX, K1")
	}, func(row, t string) []string {
		return []string{
			fmt.Sprintf("VPBROADCASTD (%s), %s", row, t),
			fmt.Sprintf("VPBROADCASTD 4(%s), K1, %s", row, t),
			fmt.Sprintf("VPSRLVD Z9, %s, %s", t, t),
		}
	})
	// Where the codes of a pair of columns begin, in bits.
	var shifts [16]uint32
	for i := range shifts {
		shifts[i] = uint32(4 * i)
	}
	u.table("nibbleBits", shifts[:]...)
	nibblesDotWith(u, "VBMI", func(f *function) {
		f.p("VMOVDQU32 nibbleBits<>(SB), Z9")
	}, func(row, t string) []string {
		return []string{
			fmt.Sprintf("VPBROADCASTQ (%s), %s", row, t),
			fmt.Sprintf("VPMULTISHIFTQB %s, Z9, %s", t, t),
		}
	})
}

// nibblesDotWith writes one of them: codes brings those of 16 columns of a row to a
// register.
func nibblesDotWith(u *unit, set string, constants func(f *function), codes func(row, t string) []string) {
	f := u.function("nibblesDot4x1"+set, "is dot4x1 with weights that are table[code] times the scale of a group of 16*vectors columns; the scales of rows lie scaleStride bytes apart.",
		"acc *lanes", "codes *byte", "stride int", "x *float32", "table *[16]float32", "scales *float32", "scaleStride int", "groups int", "vectors int")
	f.p("MOVQ %s, DI", f.arg("acc"))
	rows := rows4(f, "codes", "stride")
	f.p("MOVQ %s, BX", f.arg("x"))
	f.p("MOVQ %s, DX", f.arg("table"))
	f.p("MOVQ %s, CX", f.arg("groups"))
	f.p("VMOVUPS (DX), Z8")
	constants(f)
	scales := scales4(f)
	for i := range 4 {
		f.p("VMOVUPS %d(DI), Z%d", 64*i, i)
	}
	group := f.label()
	for r := range 4 {
		f.p("VBROADCASTSS %s, Z%d", scales[r], 4+r)
	}
	f.p("MOVQ %s, R13", f.arg("vectors"))
	vector := f.label()
	f.p("VMOVUPS (BX), Z10")
	t := func(r int) string { return fmt.Sprintf("Z%d", 12+r) }
	var all [][]string
	for r, row := range rows {
		all = append(all, append(codes(row, t(r)),
			fmt.Sprintf("VPERMPS Z8, %s, %s", t(r), t(r)),
			fmt.Sprintf("VMULPS Z%d, %s, %s", 4+r, t(r), t(r)),
			fmt.Sprintf("VMULPS Z10, %s, %s", t(r), t(r)),
			fmt.Sprintf("VADDPS %s, Z%d, Z%d", t(r), r, r),
			fmt.Sprintf("ADDQ $8, %s", row)))
	}
	f.weave(all...)
	f.p("ADDQ $64, BX")
	f.p("DECQ R13")
	f.p("JNZ %s", vector)
	f.p("ADDQ $4, R11")
	f.p("DECQ CX")
	f.p("JNZ %s", group)
	for i := range 4 {
		f.p("VMOVUPS Z%d, %d(DI)", i, 64*i)
	}
	f.p("VZEROUPPER")
	f.p("RET")
}
