//go:build amd64 || arm64

package kernel

import "shakedown/internal/numfmt"

// vectors is the arithmetic of one instruction set: assembly functions, whose
// arguments the methods check, and the scalar code where a set lacks one.
type vectors struct {
	scalar
	set string

	dot1x1Asm     func(acc *lanes, w, x *float32, n int)
	dot4x1Asm     func(acc *lanes, w *float32, stride int, x *float32, n int)
	dot4xNAsm     func(acc *lanes, w *float32, stride int, x *float32, xstride, n, vectors int)
	dot4x4Asm     func(acc *lanes, w *float32, stride int, x *float32, xstride, n int)
	sumsAsm       func(dst *float32, acc *lanes, n int)
	bf16DotAsm    func(acc *lanes, w *byte, stride int, x *float32, n int)
	f16DotAsm     func(acc *lanes, w *byte, stride int, x *float32, n int)
	bf16DecodeAsm func(dst *float32, src *byte, n int)
	f16DecodeAsm  func(dst *float32, src *byte, n int)
	f32DecodeAsm  func(dst *float32, src *byte, n int)
	fp8HalfAsm    func(dst *uint16, src *byte, n int) int
	halfScaledAsm func(dst *float32, src *uint16, n int, scale float32)
	fp8DecodeAsm  func(dst *float32, codes *byte, n int, scale float32) // nil: fp8HalfAsm and halfScaledAsm do it
	fp8DotAsm     func(acc *lanes, codes *byte, stride int, x, scales *float32, scaleStride, run, n int) int
	fp8DotWideAsm func(acc *lanes, codes *byte, stride int, x, scales *float32, scaleStride, half, run, n int) int
	halfDotAsm    func(acc *lanes, w *uint16, stride int, x, scales *float32, scaleStride, run, n int, next *byte, nextStride int) // if there is no fp8DotAsm
	nibblesAsm    func(dst *float32, codes *byte, table *[16]float32, scales *float32, groups, vectors int)
	nibblesDotAsm func(acc *lanes, codes *byte, stride int, x *float32, table *[16]float32, scales *float32, scaleStride, groups, vectors int)
	addScaledAsm  func(dst, x *float32, n int, factor float32)
	addRowsAsm    func(dst, rows *float32, stride int, factors *float32, count, n int)
	expShiftedAsm func(dst, x *float32, n int, shift float32)
	roundBF16Asm  func(x *float32, n int)
	siluAsm       func(dst, x *float32, n int)
	addAsm        func(acc *lanes, x *float32, n int)
	largestAsm    func(acc *lanes, x *float32, n int) int
	divideAsm     func(x *float32, n int, divisor float32)

	unpackAsm      [16]func(codes *byte, scale, low *float32, src *byte, blocks int) // by type
	codesDecodeAsm func(dst *float32, codes *byte, scale, low *float32, n int, offset float32)
	blockDotAsm    [16]func(acc, low *lanes, w *byte, stride, rows int, y *int8, yscale *float32, bias *int32, sum *float32, blocks int) // by type
	spread32Asm    func(scale *float32, bias *int32, sum *float32, codes *int8, exact *float32, blocks, factor int)
	fetchAsm       func(data *byte, n int)
	quantize32Asm  func(codes *int8, exact, x *float32, blocks int)
	// dotQ8Asm is for codes below 64, dotQ8WideAsm for those of Q8_0, dotQ8PlainAsm
	// for formats without an offset.
	dotQ8Asm, dotQ8WideAsm, dotQ8PlainAsm func(acc *lanes, codes *byte, scale *float32, y *int8, yscale *float32, bias *int32, n, tokens, stride int)
}

func (v *vectors) name() string { return v.set }

func (v *vectors) dot1x1(acc *lanes, w, x []float32) {
	n := len(w)
	if n == 0 {
		return
	}
	_ = x[n-1]
	v.dot1x1Asm(acc, &w[0], &x[0], n)
}

func (v *vectors) dot4x1(acc []lanes, w []float32, stride int, x []float32) {
	if len(x) == 0 {
		return
	}
	_, _ = acc[3], w[3*stride+len(x)-1]
	v.dot4x1Asm(&acc[0], &w[0], 4*stride, &x[0], len(x))
}

func (v *vectors) dot4xN(acc []lanes, w []float32, stride int, x []float32, xstride, n, vectors int) {
	if v.dot4xNAsm == nil || n == 0 || vectors == 0 {
		for t := range vectors {
			v.dot4x1(acc[4*t:], w, stride, x[t*xstride:][:n])
		}
		return
	}
	_, _, _ = acc[4*vectors-1], w[3*stride+n-1], x[(vectors-1)*xstride+n-1]
	v.dot4xNAsm(&acc[0], &w[0], 4*stride, &x[0], 4*xstride, n, vectors)
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
	dot := v.f16DotAsm
	if t == numfmt.GGUFBF16 {
		dot = v.bf16DotAsm
	}
	_ = w[(len(acc)-1)*stride+2*len(x)-1]
	for r := 0; r < len(acc); r += 4 {
		dot(&acc[r : r+4][0], &w[r*stride], stride, &x[0], len(x))
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

func (v *vectors) decode32(dst []float32, src []byte) {
	n := len(dst) &^ 15
	if n > 0 {
		_ = src[4*n-1]
		v.f32DecodeAsm(&dst[0], &src[0], n)
	}
	v.scalar.decode32(dst[n:], src[4*n:])
}

func (v *vectors) fp8Decode(s *scratch, dst []float32, codes []byte, scales []float32, run int) bool {
	if len(dst) == 0 {
		return true
	}
	_, _ = codes[len(dst)-1], scales[ceilDiv(len(dst), run)-1]
	if v.fp8DecodeAsm == nil && v.fp8HalfAsm(&s.half[:len(dst)][0], &codes[0], len(dst)) != 0 {
		return false
	}
	for i := 0; i < len(dst); i += run {
		n, scale := min(run, len(dst)-i), scales[i/run]
		if v.fp8DecodeAsm != nil {
			v.fp8DecodeAsm(&dst[i], &codes[i], n, scale)
		} else {
			v.halfScaledAsm(&dst[i], &s.half[i], n, scale)
		}
	}
	return true
}

func (v *vectors) fp8Dot(s *scratch, acc []lanes, codes []byte, stride int, x, scales []float32, scaleStride, run int) bool {
	n := len(x)
	if n == 0 {
		return true
	}
	last := len(acc) - 1
	_, _ = codes[last*stride+n-1], scales[last*scaleStride+ceilDiv(n, run)-1]
	if v.fp8DotAsm == nil {
		for r := 0; r < len(acc); r += 4 {
			if !v.fp8DotByHalves(s, acc[r:][:4], codes[r*stride:], stride, x, scales[r*scaleStride:], scaleStride, run) {
				return false
			}
		}
		return true
	}
	wide, half := v.fp8DotWideAsm != nil && n%64 == 0 && (run == 32 || run%64 == 0), 0
	if wide && run == 32 {
		run, half = 64, 4
	}
	bad := 0
	for r := 0; r < len(acc); r += 4 {
		four, w, scale := &acc[r : r+4][0], &codes[r*stride], &scales[r*scaleStride]
		if wide {
			bad |= v.fp8DotWideAsm(four, w, stride, &x[0], scale, 4*scaleStride, half, run, n)
		} else {
			bad |= v.fp8DotAsm(four, w, stride, &x[0], scale, 4*scaleStride, run, n)
		}
	}
	return bad == 0
}

// fp8DotByHalves is fp8Dot of four rows in two steps.
func (v *vectors) fp8DotByHalves(s *scratch, acc []lanes, codes []byte, stride int, x, scales []float32, scaleStride, run int) bool {
	// Whole runs at a time, or the only one in parts.
	most := halfSegment
	if run < len(x) {
		most -= most % run
	}
	if most == 0 {
		return false
	}
	for c := 0; c < len(x); c += most {
		n := min(most, len(x)-c)
		for r := range 4 {
			if v.fp8HalfAsm(&s.half[r*halfSegment:][:n][0], &codes[r*stride+c], n) != 0 {
				return false
			}
		}
		next := codes[c:] // what is read next: the four rows below
		if 4*stride < len(next) {
			next = next[4*stride:]
		}
		v.halfDotAsm(&acc[0], &s.half[0], halfSegment*2, &x[c], &scales[c/run], 4*scaleStride, run, n, &next[0], stride)
	}
	return true
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

func (v *vectors) nibblesDot(acc []lanes, codes []byte, stride int, x []float32, table *[16]float32, scales []float32, scaleStride, group int) bool {
	groups := len(x) / group
	if v.nibblesDotAsm == nil || groups == 0 || group%16 != 0 || len(x)%group != 0 {
		return false
	}
	_, _, _ = acc[3], codes[3*stride+len(x)/2-1], scales[3*scaleStride+groups-1]
	v.nibblesDotAsm(&acc[0], &codes[0], stride, &x[0], table, &scales[0], 4*scaleStride, groups, group/16)
	return true
}

func (v *vectors) addScaled(dst, x []float32, f float32) {
	n := len(dst) &^ 15
	if n > 0 {
		_ = x[n-1]
		v.addScaledAsm(&dst[0], &x[0], n, f)
	}
	v.scalar.addScaled(dst[n:], x[n:], f)
}

func (v *vectors) addRows(dst, rows []float32, stride int, factors []float32) {
	n, count := len(dst)&^15, len(factors)
	if v.addRowsAsm == nil || n == 0 || count == 0 {
		for j, f := range factors {
			v.addScaled(dst, rows[j*stride:][:len(dst)], f)
		}
		return
	}
	_ = rows[(count-1)*stride+len(dst)-1]
	v.addRowsAsm(&dst[0], &rows[0], 4*stride, &factors[0], count, n)
	if n < len(dst) {
		v.scalar.addRows(dst[n:], rows[n:], stride, factors)
	}
}

func (v *vectors) expShifted(dst, x []float32, shift float32) {
	n := len(x) &^ 7
	if v.expShiftedAsm == nil || n == 0 {
		v.scalar.expShifted(dst, x, shift)
		return
	}
	_ = dst[n-1]
	v.expShiftedAsm(&dst[0], &x[0], n, shift)
	v.scalar.expShifted(dst[n:], x[n:], shift)
}

func (v *vectors) roundBF16(x []float32) {
	n := len(x) &^ 15
	if v.roundBF16Asm == nil || n == 0 {
		v.scalar.roundBF16(x)
		return
	}
	v.roundBF16Asm(&x[0], n)
	v.scalar.roundBF16(x[n:])
}

func (v *vectors) silu(dst, x []float32) {
	n := len(x) &^ 7
	if v.siluAsm == nil || n == 0 {
		v.scalar.silu(dst, x)
		return
	}
	_ = dst[n-1]
	v.siluAsm(&dst[0], &x[0], n)
	v.scalar.silu(dst[n:], x[n:])
}

func (v *vectors) sum(x []float32) float32 {
	n := len(x) &^ 15
	if v.addAsm == nil || n < 64 {
		return v.scalar.sum(x)
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	acc := &s.acc[0]
	*acc = lanes{}
	v.addAsm(acc, &x[0], n)
	for i, value := range x[n:] {
		acc[i] += value
	}
	return acc.sum()
}

func (v *vectors) largest(x []float32) float32 {
	n := len(x) &^ 15
	if v.largestAsm == nil || n < 64 {
		return v.scalar.largest(x)
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	acc := &s.acc[0]
	copy(acc[:], x)
	if v.largestAsm(acc, &x[0], n) != 0 {
		return v.scalar.largest(x)
	}
	rest := v.scalar.largest(x[n:])
	if rest != rest {
		return rest
	}
	return max(v.scalar.largest(acc[:]), rest)
}

func (v *vectors) divide(x []float32, divisor float32) {
	n := len(x) &^ 15
	if v.divideAsm == nil || n == 0 {
		v.scalar.divide(x, divisor)
		return
	}
	v.divideAsm(&x[0], n, divisor)
	v.scalar.divide(x[n:], divisor)
}

func (v *vectors) unpack(t numfmt.GGUF, codes []byte, scale, low []float32, src []byte, blocks int) {
	values, size, _ := t.Block()
	unpack := v.unpackAsm[t]
	if unpack == nil || blocks == 0 {
		v.scalar.unpack(t, codes, scale, low, src, blocks)
		return
	}
	n := blocks * values
	_, _, _, _ = codes[n-1], scale[n/4-1], low[n/32-1], src[blocks*size-1]
	unpack(&codes[0], &scale[0], &low[0], &src[0], blocks)
}

func (v *vectors) codesDecode(dst []float32, codes []byte, offset float32, scale, low []float32) {
	n := len(dst)
	if v.codesDecodeAsm == nil || n == 0 || n%32 != 0 {
		v.scalar.codesDecode(dst, codes, offset, scale, low)
		return
	}
	_, _, _ = codes[n-1], scale[n/4-1], low[n/32-1]
	v.codesDecodeAsm(&dst[0], &codes[0], &scale[0], &low[0], n, offset)
}

func (v *vectors) quantize32(codes []int8, exact, x []float32) {
	n := len(exact)
	if v.quantize32Asm == nil || n == 0 {
		v.scalar.quantize32(codes, exact, x)
		return
	}
	_, _ = codes[32*n-1], x[32*n-1]
	v.quantize32Asm(&codes[0], &exact[0], &x[0], n)
}

func (v *vectors) spread32(scale []float32, bias []int32, sum []float32, codes []int8, exact []float32, offset int32) {
	n := len(exact)
	if v.spread32Asm == nil || n == 0 {
		v.scalar.spread32(scale, bias, sum, codes, exact, offset)
		return
	}
	_, _, _ = scale[8*n-1], bias[8*n-1], codes[32*n-1]
	var sums *float32
	if sum != nil {
		_ = sum[n-1]
		sums = &sum[0]
	}
	v.spread32Asm(&scale[0], &bias[0], sums, &codes[0], &exact[0], n, int(-offset))
}

func (v *vectors) dotQ8(t numfmt.GGUF, acc []lanes, codes []byte, scale []float32, y []int8, yscale []float32, bias []int32, n, tokens, stride int) {
	dot := v.dotQ8Asm
	switch {
	case t == numfmt.GGUFQ8_0:
		dot = v.dotQ8WideAsm
	case minimums(t):
		dot = v.dotQ8PlainAsm
	}
	if n == 0 || tokens == 0 {
		return
	}
	last := (tokens-1)*stride + n - 1
	_, _, _, _, _, _ = acc[4*tokens-1], codes[3*segment+n-1], scale[(3*segment+n)/4-1], y[last], yscale[last/4], bias[last/4]
	dot(&acc[0], &codes[0], &scale[0], &y[0], &yscale[0], &bias[0], n, tokens, stride)
}

func (v *vectors) blockDot(t numfmt.GGUF, acc, low []lanes, w []byte, stride int, y []int8, yscale []float32, bias []int32, sum []float32, cols int) bool {
	dot, rows := v.blockDotAsm[t], len(acc)
	if dot == nil || rows == 0 || cols == 0 || cols%64 != 0 {
		return false
	}
	values, size, _ := t.Block()
	_, _, _, _ = w[(rows-1)*stride+cols/values*size-1], y[cols-1], yscale[cols/4-1], bias[cols/4-1]
	var sums *float32
	if minimums(t) {
		_, _ = low[rows-1], sum[(cols/values+15)&^15-1]
		sums = &sum[0]
	}
	dot(&acc[0], &low[0], &w[0], stride, rows, &y[0], &yscale[0], &bias[0], sums, cols/values)
	return true
}

func (v *vectors) fetch(data []byte) {
	if v.fetchAsm != nil && len(data) > 0 {
		v.fetchAsm(&data[0], len(data))
	}
}
