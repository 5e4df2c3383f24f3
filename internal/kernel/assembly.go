//go:build amd64

package kernel

import "shakedown/internal/numfmt"

// vectors is the arithmetic of one instruction set: assembly functions, whose
// arguments the methods check, and the scalar code where a set lacks one.
type vectors struct {
	scalar
	set string

	dot4x1Asm     func(acc *lanes, w *float32, stride int, x *float32, n int)
	dot4x4Asm     func(acc *lanes, w *float32, stride int, x *float32, xstride, n int)
	sumsAsm       func(dst *float32, acc *lanes, n int)
	bf16DotAsm    func(acc *lanes, w *byte, stride int, x *float32, n int)
	f16DotAsm     func(acc *lanes, w *byte, stride int, x *float32, n int)
	bf16DecodeAsm func(dst *float32, src *byte, n int)
	f16DecodeAsm  func(dst *float32, src *byte, n int)
	fp8HalfAsm    func(dst *uint16, src *byte, n int) int
	halfScaledAsm func(dst *float32, src *uint16, n int, scale float32)
	halfDotAsm    func(acc *lanes, w *uint16, stride int, x, scales *float32, run, runs int)
	nibblesAsm    func(dst *float32, codes *byte, table *[16]float32, scales *float32, groups, vectors int)
	addScaledAsm  func(dst, x *float32, n int, factor float32)
}

func (v *vectors) name() string { return v.set }

func (v *vectors) dot4x1(acc []lanes, w []float32, stride int, x []float32) {
	if len(x) == 0 {
		return
	}
	_, _ = acc[3], w[3*stride+len(x)-1]
	v.dot4x1Asm(&acc[0], &w[0], 4*stride, &x[0], len(x))
}

func (v *vectors) dot4x4(acc []lanes, w []float32, stride int, x []float32, xstride, n int) {
	if n == 0 {
		return
	}
	_, _, _ = acc[15], w[3*stride+n-1], x[3*xstride+n-1]
	v.dot4x4Asm(&acc[0], &w[0], 4*stride, &x[0], 4*xstride, n)
}

func (v *vectors) sums(dst []float32, acc []lanes) {
	if len(dst) == 0 {
		return
	}
	_ = acc[len(dst)-1]
	v.sumsAsm(&dst[0], &acc[0], len(dst))
}

func (v *vectors) dot16(t numfmt.GGUF, acc []lanes, w []byte, stride int, x []float32) {
	if len(x) == 0 {
		return
	}
	_, _ = acc[3], w[3*stride+2*len(x)-1]
	if t == numfmt.GGUFBF16 {
		v.bf16DotAsm(&acc[0], &w[0], stride, &x[0], len(x))
	} else {
		v.f16DotAsm(&acc[0], &w[0], stride, &x[0], len(x))
	}
}

func (v *vectors) decode16(t numfmt.GGUF, dst []float32, src []byte) {
	if len(dst) == 0 {
		return
	}
	_ = src[2*len(dst)-1]
	if t == numfmt.GGUFBF16 {
		v.bf16DecodeAsm(&dst[0], &src[0], len(dst))
	} else {
		v.f16DecodeAsm(&dst[0], &src[0], len(dst))
	}
}

func (v *vectors) fp8Half(dst []uint16, codes []byte) bool {
	if len(dst) == 0 {
		return true
	}
	_ = codes[len(dst)-1]
	return v.fp8HalfAsm(&dst[0], &codes[0], len(dst)) == 0
}

func (v *vectors) halfScaled(dst []float32, src []uint16, scale float32) {
	if len(dst) == 0 {
		return
	}
	_ = src[len(dst)-1]
	v.halfScaledAsm(&dst[0], &src[0], len(dst), scale)
}

func (v *vectors) halfDot(acc []lanes, w []uint16, stride int, x, scales []float32, run int) {
	// The assembly takes whole runs; what is left is a run of its own.
	runs := len(x) / run
	if runs > 0 {
		_, _, _ = acc[3], w[3*stride+runs*run-1], scales[4*runs-1]
		v.halfDotAsm(&acc[0], &w[0], stride*2, &x[0], &scales[0], run, runs)
	}
	if rest := len(x) - runs*run; rest > 0 {
		w, x, scales = w[runs*run:], x[runs*run:], scales[4*runs:]
		_, _, _ = acc[3], w[3*stride+rest-1], scales[3]
		v.halfDotAsm(&acc[0], &w[0], stride*2, &x[0], &scales[0], rest, 1)
	}
}

func (v *vectors) nibbles(dst []float32, codes []byte, table *[16]float32, scales []float32) {
	group := len(dst) / len(scales)
	if v.nibblesAsm == nil || group%16 != 0 || group == 0 {
		v.scalar.nibbles(dst, codes, table, scales)
		return
	}
	_ = codes[group*len(scales)/2-1]
	v.nibblesAsm(&dst[0], &codes[0], table, &scales[0], len(scales), group/16)
}

func (v *vectors) addScaled(dst, x []float32, f float32) {
	n := len(dst) &^ 15
	if n > 0 {
		_ = x[n-1]
		v.addScaledAsm(&dst[0], &x[0], n, f)
	}
	v.scalar.addScaled(dst[n:], x[n:], f)
}
