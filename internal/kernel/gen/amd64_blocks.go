package main

import "fmt"

// blockDots writes products of one token with rows of stored GGUF blocks of 32,
// which are never unpacked to memory. Two blocks are the 64 columns of a register
// of codes.
func blockDots(u *unit) {
	u.table("upperShifts", 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 0, 0, 4, 0, 4, 0)
	u.table("nibbles64", repeat(16, 0x0f0f0f0f)...)
	u.table("topBits64", repeat(16, 0x80808080)...)
	q4_1Dot(u)
	q4_0Dot(u)
	q8_0Dot(u)
}

// blockDot is a function of this file: DI lanes, R8 row, R13 bytes from row to row,
// R12 rows, BX activations, DX their scales, R10 biases, R9 sums of blocks, CX blocks.
// row does the sum of one row, Z0, from SI on.
func blockDot(u *unit, name string, setup, row func(f *function)) {
	f := u.function(name+"DotVNNI", "multiplies rows of "+name+" blocks, an even number of them, stride bytes apart, with activations, and sets the lanes of each.",
		"acc *lanes", "low *lanes", "w *byte", "stride int", "rows int", "y *int8", "yscale *float32", "bias *int32", "sum *float32", "blocks int")
	for _, a := range [][2]string{{"acc", "DI"}, {"low", "AX"}, {"w", "R8"}, {"stride", "R13"}, {"rows", "R12"}} {
		f.p("MOVQ %s, %s", f.arg(a[0]), a[1])
	}
	setup(f)
	rows := f.label()
	for _, a := range [][2]string{{"y", "BX"}, {"yscale", "DX"}, {"bias", "R10"}, {"sum", "R9"}, {"blocks", "CX"}} {
		f.p("MOVQ %s, %s", f.arg(a[0]), a[1])
	}
	f.p("MOVQ R8, SI")
	f.p("VPXORD Z0, Z0, Z0")
	row(f)
	f.p("VMOVUPS Z0, (DI)")
	f.p("ADDQ $64, DI")
	f.p("ADDQ R13, R8")
	f.p("DECQ R12")
	f.p("JNZ %s", rows)
	f.p("VZEROUPPER")
	f.p("RET")
}

// distance is how far ahead of a row's start the stored blocks are fetched.
const distance = 4096

// q4_1Dot: a block is five words, of which the first is scale and minimum. Those of
// 16 blocks are brought together, so that minimums make whole lanes.
func q4_1Dot(u *unit) {
	word := func(at, block int) uint32 { return uint32(5*block - at) }
	index := func(at int) []uint32 {
		var out []uint32
		for block := range 16 {
			out = append(out, word(at, block)&31)
		}
		return out
	}
	u.table("firstWords", index(0)...)
	u.table("midWords", index(32)...)
	u.table("lastWords", index(64)...)
	// Masks of the words of up to 16 blocks in five registers.
	var masks []uint32
	for blocks := range 17 {
		for reg := range 5 {
			masks = append(masks, 1<<max(0, min(16, 5*blocks-16*reg))-1)
		}
	}
	u.table("blockMasks", masks...)
	for i := range 8 {
		a, b := uint32(2*i), uint32(2*i+1)
		u.table(fmt.Sprintf("eights%d", i), append(repeat(8, a), repeat(8, b)...)...)
	}
	blockDot(u, "q4_1", func(f *function) {
		f.p("VMOVDQU32 nibbles64<>(SB), Z8")
		f.p("VMOVDQU32 upperShifts<>(SB), Z9")
		f.p("VMOVDQU32 firstWords<>(SB), Z10")
		f.p("VMOVDQU32 midWords<>(SB), Z11")
		f.p("VMOVDQU32 lastWords<>(SB), Z12")
		for i := range 8 {
			f.p("VMOVDQU32 eights%d<>(SB), Z%d", i, 16+i)
		}
		// Registers 0 and 1 hold the first words of blocks 0 to 6, registers 2 and 3
		// those of blocks 7 to 12, register 4 the others.
		for i, mask := range []int{0xff00, 0x1f80, 0xe000} {
			f.p("MOVL $%#x, R11", mask)
			f.p("KMOVW R11, K%d", 1+i)
		}
		f.p("LEAQ blockMasks<>(SB), R15")
	}, func(f *function) {
		f.p("VPXORD Z1, Z1, Z1")
		group, done := f.label(), f.reserve()
		f.p("MOVQ $16, R11")
		f.p("CMPQ CX, R11")
		f.p("CMOVQLT CX, R11")
		f.p("LEAQ (R11)(R11*4), R10")
		for i := range 5 {
			f.p("KMOVW %d(R15)(R10*4), K4", 4*i)
			f.p("VMOVDQU32.Z %d(SI), K4, Z%d", 64*i, 24+i)
			f.p("PREFETCHT1 %d(SI)", distance+64*i)
		}
		f.p("VPERMT2D Z25, Z10, Z24")
		f.p("VPERMT2D Z27, Z11, Z26")
		f.p("VPERMD Z28, Z12, K3, Z24")
		f.p("VMOVDQA32 Z26, K2, Z24")
		f.p("VPMOVDW Z24, Y2")
		f.p("VCVTPH2PS Y2, Z2")
		f.p("VPSRLD $16, Z24, Z24")
		f.p("VPMOVDW Z24, Y3")
		f.p("VCVTPH2PS Y3, Z3")
		f.p("VMULPS (R9), Z3, Z3")
		f.p("VADDPS Z3, Z1, Z1")
		f.p("ADDQ $64, R9")
		next := f.reserve()
		for i := range 8 {
			f.p("VBROADCASTI32X4 %d(SI), Z4", 40*i+4)
			f.p("VBROADCASTI32X4 %d(SI), K1, Z4", 40*i+24)
			nibbleProduct(f, i)
			f.p("VPERMPS Z2, Z%d, Z6", 16+i)
			addProduct(f, i, "Z6")
			if i < 7 {
				f.p("CMPQ R11, $%d", 2*i+2)
				f.p("JEQ %s", next)
			}
		}
		f.place(next)
		f.p("ADDQ $320, SI")
		f.p("ADDQ $512, BX")
		f.p("ADDQ $512, DX")
		f.p("SUBQ $16, CX")
		f.p("JLE %s", done)
		f.p("JMP %s", group)
		f.place(done)
		f.p("VMOVUPS Z1, (AX)")
		f.p("ADDQ $64, AX")
	})
}

// nibbleProduct multiplies the nibbles of two blocks in Z4 with the activations of
// pair i, to Z5.
func nibbleProduct(f *function, i int) {
	f.p("VPSRLVQ Z9, Z4, Z4")
	f.p("VPANDD Z8, Z4, Z4")
	f.p("VPXORD Z5, Z5, Z5")
	f.p("VPDPBUSD %d(BX), Z4, Z5", 64*i)
}

// addProduct scales the products Z5 of pair i by the weights' scales and those of the
// activations, and adds them.
func addProduct(f *function, i int, scales string) {
	f.p("VCVTDQ2PS Z5, Z5")
	f.p("VMULPS %d(DX), %s, Z6", 64*i, scales)
	f.p("VMULPS Z5, Z6, Z6")
	f.p("VADDPS Z6, Z0, Z0")
}

// pairs is a loop over pairs of blocks of size bytes, whose scale is their first
// word; codes brings what follows to Z4 or its products to Z5.
func pairs(f *function, size int, product func()) {
	loop := f.label()
	f.p("PREFETCHT1 %d(SI)", distance)
	if size > 32 {
		f.p("PREFETCHT1 %d(SI)", distance+size)
	}
	f.p("VPBROADCASTW (SI), Y2")
	f.p("VPBROADCASTW %d(SI), K1, Y2", size)
	f.p("VCVTPH2PS Y2, Z2")
	product()
	addProduct(f, 0, "Z2")
	f.p("ADDQ $%d, SI", 2*size)
	for _, r := range []string{"BX", "DX", "R10"} {
		f.p("ADDQ $64, %s", r)
	}
	f.p("SUBQ $2, CX")
	f.p("JNZ %s", loop)
}

func q4_0Dot(u *unit) {
	blockDot(u, "q4_0", func(f *function) {
		f.p("VMOVDQU32 nibbles64<>(SB), Z8")
		f.p("VMOVDQU32 upperShifts<>(SB), Z9")
		f.p("MOVL $0xff00, R11")
		f.p("KMOVD R11, K1")
	}, func(f *function) {
		pairs(f, 18, func() {
			f.p("VBROADCASTI32X4 2(SI), Z4")
			f.p("VBROADCASTI32X4 20(SI), K1, Z4")
			f.p("VPSRLVQ Z9, Z4, Z4")
			f.p("VPANDD Z8, Z4, Z4")
			f.p("VMOVDQU32 (R10), Z5")
			f.p("VPDPBUSD (BX), Z4, Z5")
		})
	})
}

func q8_0Dot(u *unit) {
	blockDot(u, "q8_0", func(f *function) {
		f.p("VMOVDQU32 topBits64<>(SB), Z8")
		f.p("MOVL $0xff00, R11")
		f.p("KMOVD R11, K1")
	}, func(f *function) {
		pairs(f, 34, func() {
			f.p("VMOVDQU 2(SI), Y4")
			f.p("VINSERTI64X4 $1, 36(SI), Z4, Z4")
			f.p("VPXORD Z8, Z4, Z4")
			f.p("VMOVDQU32 (R10), Z5")
			f.p("VPDPBUSD (BX), Z4, Z5")
		})
	})
}
