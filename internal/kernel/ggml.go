package kernel

import (
	"math"
	"slices"
	"sync"

	"shakedown/internal/numfmt"
)

// The ggml numerics: what llama.cpp computes on a CPU. Activations are quantised
// to eight bits, 32 values (Q8_0, Q8_1) or 256 (Q8_K, for the K formats) to a
// scale, and multiplied with the stored codes as integers.
//
// The integer sums of four neighbouring products are exact in any order. Each is
// converted to float32, multiplied by the product of the two scales (rounded), and
// added to its lane: column k belongs to lane (k mod 64)/4, and blocks come in
// rising order. The part of the minimums (Q4_1, Q5_1, Q4_K, Q5_K) is a dot product
// over the blocks of 32, minimum times scaled sum of the activations, in the order
// of the package comment, and is added last. llama.cpp sums the same terms in
// orders that depend on the processor, so results agree to float32 rounding, not
// bit for bit.

// offsets is what is subtracted from the stored codes of a block format, once they
// are unsigned.
var offsets = [...]int{
	numfmt.GGUFQ4_0: 8, numfmt.GGUFQ4_1: 0, numfmt.GGUFQ5_0: 16, numfmt.GGUFQ5_1: 0, numfmt.GGUFQ8_0: 128,
	numfmt.GGUFQ4_K: 0, numfmt.GGUFQ5_K: 0, numfmt.GGUFQ6_K: 32,
}

// minimums says whether a block format adds a minimum.
func minimums(t numfmt.GGUF) bool {
	switch t {
	case numfmt.GGUFQ4_1, numfmt.GGUFQ5_1, numfmt.GGUFQ4_K, numfmt.GGUFQ5_K:
		return true
	}
	return false
}

// q8 are quantised activations.
type q8 struct {
	width int       // columns, padded with zeros to a multiple of 64
	codes []int8    // rows x width
	scale []float32 // rows x width/4: the scale of each four columns
	bias  []int32   // rows x width/4: -offset times the sum of the four codes
	sum   []float32 // rows x width/32, padded to sumWidth: scaled sums of 32 columns; nil where there are no minimums
	exact []float32 // rows x width/32: the scale of each block, not rounded
	sums  []float32 // memory for sum
}

func (q *q8) sumWidth() int { return ceilDiv(q.width, segment) * (segment / 32) }

// activations are q8 whose memory can be used again.
var activations = sync.Pool{New: func() any { return new(q8) }}

// sized is s with n values, which may be anything.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// quantize quantises n rows of cols activations for products with weights of type
// t. What it returns goes back to activations.
func quantize(p *Pool, t numfmt.GGUF, x []float32, cols, n int) *q8 {
	q := activations.Get().(*q8)
	width := (cols + 63) &^ 63
	q.width = width
	q.codes, q.scale, q.bias, q.exact = sized(q.codes, n*width), sized(q.scale, n*width/4), sized(q.bias, n*width/4), sized(q.exact, n*width/32)
	q.sum = nil
	if minimums(t) {
		q.sums = sized(q.sums, n*q.sumWidth())
		q.sum = q.sums
	}
	if n*cols < inlineWork {
		p = nil
	}
	p.Each(n, func(row int) { q.row(t, row, x[row*cols:][:cols]) })
	return q
}

// row quantises one row.
func (q *q8) row(t numfmt.GGUF, row int, x []float32) {
	cols, width, offset := len(x), q.width, int32(offsets[t])
	codes, scale, bias := q.codes[row*width:][:width], q.scale[row*width/4:][:width/4], q.bias[row*width/4:][:width/4]
	clear(codes[cols:])
	clear(scale[cols/4:])
	clear(bias[cols/4:])
	var sum []float32
	if q.sum != nil {
		sum = q.sum[row*q.sumWidth():][:q.sumWidth()]
		clear(sum[cols/32:])
	}
	values, _, _ := t.Block()
	exact := q.exact[row*width/32:][:cols/values]
	if values == 32 {
		arith.quantize32(codes, exact, x)
		arith.spread32(scale, bias, sum, codes, exact, offset)
		return
	}
	for b := range exact {
		exact[b] = quantize256(codes[b*values:], x[b*values:][:values])
		for i := b * values / 4; i < (b+1)*values/4; i++ {
			scale[i] = exact[b]
		}
	}
	sumFours(bias[:cols/4], codes)
	for i := range min(cols/32, len(sum)) {
		var all int32
		for _, four := range bias[8*i:][:8] {
			all += four
		}
		sum[i] = exact[32*i/values] * float32(all)
	}
	for i := range bias[:cols/4] {
		bias[i] *= -offset
	}
}

// sumFours sums each four codes.
func sumFours(sums []int32, codes []int8) {
	for i := range sums {
		four := codes[4*i:][:4]
		sums[i] = int32(four[0]) + int32(four[1]) + int32(four[2]) + int32(four[3])
	}
}

func (scalar) spread32(scale []float32, bias []int32, sum []float32, codes []int8, exact []float32, offset int32) {
	for b, d := range exact {
		stored := numfmt.RoundF16(d)
		for i := range scale[8*b:][:8] {
			scale[8*b+i] = stored
		}
		sums := bias[8*b:][:8]
		sumFours(sums, codes[32*b:])
		var all int32
		for i, four := range sums {
			all += four
			sums[i] *= -offset
		}
		if sum != nil {
			sum[b] = numfmt.RoundF16(d * float32(all)) // Q8_1 stores it so
		}
	}
}

// roundMagic added to a float32 below 2^22 in magnitude and taken away again
// leaves the nearest whole number, even where two are as near.
const roundMagic = 3 << 22

// smallest is the magnitude below which a block counts as zeros: the reciprocal of
// its scale would leave float32, and its scale is zero in binary16.
const smallest = 0x1p-100

// quantize32 is quantize_row_q8_0 of llama.cpp on x86 (ggml-cpu/arch/x86/quants.c):
// scale amax/127, codes are the value times 127/amax, to nearest even. exact gets
// the scales before they are stored as binary16. A block with a NaN or infinity has
// such a scale, and codes of zero.
func (scalar) quantize32(codes []int8, exact, x []float32) {
	for b := range exact {
		block := x[32*b:][:32]
		var amax float32
		for _, v := range block {
			if a := float32(math.Abs(float64(v))); !(a <= amax) && amax == amax {
				amax = a
			}
		}
		exact[b] = amax / 127
		if !(amax >= smallest && amax <= math.MaxFloat32) {
			clear(codes[32*b:][:32])
			continue
		}
		inverse := 127 / amax
		for i, v := range block {
			codes[32*b+i] = int8(int32(float32(float32(v*inverse)+roundMagic) - roundMagic))
		}
	}
}

// quantize256 is quantize_row_q8_K_ref (ggml-quants.c): the value of the largest
// magnitude becomes -127. Codes of a block with a NaN or infinity, and of one of
// zeros, are zero.
func quantize256(codes []int8, x []float32) (scale float32) {
	clear(codes[:len(x)])
	var amax, largest float32
	for _, v := range x {
		if v-v != 0 {
			return v
		}
		if a := float32(math.Abs(float64(v))); a > amax {
			amax, largest = a, v
		}
	}
	if amax < smallest {
		return 0
	}
	factor := -127 / largest
	for i, v := range x {
		codes[i] = int8(min(127, int32(float32(float32(v*factor)+roundMagic)-roundMagic)))
	}
	return 1 / factor
}

// MulMatGGML is MulMat with the ggml numerics. Block formats of GGUF multiply
// integers; for F16 and BF16 weights the activations are rounded to the weights'
// format first, as llama.cpp does; other formats, which it computes in float32 or
// doesn't have, are computed by MulMat.
func (m *Matrix) MulMatGGML(p *Pool, dst, x []float32, n int) {
	MultiplyGGML(p, Product{m, dst, x, n})
}

// MultiplyGGML is Multiply with the ggml numerics. Products of the same activations
// and kind of matrix share their quantisation.
func MultiplyGGML(p *Pool, products ...Product) {
	var integer, other []Product
	var quantised []*q8
	for _, q := range products {
		q.check()
		switch w := q.Matrix.weights.(type) {
		case blocks:
			if w.values == 1 {
				break
			}
			quantised = append(quantised, quantizeOnce(p, w.t, q, integer, quantised))
			integer = append(integer, q)
			continue
		case halves:
			rounded := slices.Clone(q.X)
			if w.t == numfmt.GGUFBF16 {
				arith.roundBF16(rounded)
			} else {
				for i, v := range rounded {
					rounded[i] = numfmt.RoundF16(v)
				}
			}
			q.X = rounded
		}
		other = append(other, q)
	}
	if len(other) > 0 {
		Multiply(p, other...)
	}
	share(p, integer, func(s *scratch, i, task int) {
		q := integer[i]
		r0, r1, t0, t1 := q.block(task)
		if t1-t0 == 1 && q.Matrix.blockGGML(s, q.Matrix.weights.(blocks), quantised[i], q.Dst, r0, r1, t0) {
			return
		}
		for r := r0; r < r1; r += 4 {
			q.Matrix.mulGGML(s, q.Matrix.weights.(blocks), quantised[i], q.Dst, r, min(r+4, r1), t0, t1)
		}
	})
	for i, q := range quantised {
		if !slices.Contains(quantised[:i], q) {
			activations.Put(q)
		}
	}
}

// quantizeOnce quantises the activations of q, or returns what an earlier product
// of the same activations made of them.
func quantizeOnce(p *Pool, t numfmt.GGUF, q Product, earlier []Product, quantised []*q8) *q8 {
	for i, e := range earlier {
		if e.Matrix.weights.(blocks).t == t && e.N == q.N && len(q.X) > 0 && len(e.X) == len(q.X) && &e.X[0] == &q.X[0] {
			return quantised[i]
		}
	}
	return quantize(p, t, q.X, q.Matrix.cols, q.N)
}

// blockGGML computes the rows [r0, r1), at most rowBlock, of the product of token t
// from the stored blocks; false if it can't.
func (m *Matrix) blockGGML(s *scratch, w blocks, q *q8, dst []float32, r0, r1, t int) bool {
	acc, low := s.acc[:r1-r0], s.acc[rowBlock:][:r1-r0]
	at := t * q.width
	var sum []float32
	if q.sum != nil {
		sum = q.sum[t*q.sumWidth():]
	}
	if !arith.blockDot(w.t, acc, low, w.data[(m.first+r0)*w.stride:], w.stride, q.codes[at:], q.scale[at/4:], q.bias[at/4:], sum, m.cols) {
		return false
	}
	dst = dst[t*m.rows+r0:][:r1-r0]
	arith.sums(dst, acc)
	if q.sum != nil {
		lowSums := s.sums[:r1-r0]
		arith.sums(lowSums, low)
		for r, v := range lowSums {
			dst[r] += v
		}
	}
	return true
}

// mulGGML computes up to four rows [r0, r1) of the products [t0, t1).
func (m *Matrix) mulGGML(s *scratch, w blocks, q *q8, dst []float32, r0, r1, t0, t1 int) {
	tokens := t1 - t0
	acc, low := s.acc[:4*tokens], s.acc[4*tokenBlock:][:4*tokens]
	clear(acc)
	clear(low)
	for c := 0; c < q.width; c += segment {
		n := min(segment, q.width-c)
		for r := range r1 - r0 {
			s.unpack(w, r, m.first+r0+r, c, min(n, m.cols-c))
		}
		at := t0*q.width + c
		arith.dotQ8(w.t, acc, s.codes[:], s.scale[:], q.codes[at:], q.scale[at/4:], q.bias[at/4:], n, tokens, q.width)
		if q.sum != nil {
			arith.dot4xN(low, s.min[:], segment/32, q.sum[t0*q.sumWidth()+c/32:], q.sumWidth(), segment/32, tokens)
		}
	}
	sums, lowSums := s.sums[:4*tokens], s.sums[4*tokenBlock:][:4*tokens]
	arith.sums(sums, acc)
	if q.sum != nil {
		arith.sums(lowSums, low)
	}
	for t := range tokens {
		for r := range r1 - r0 {
			v := sums[4*t+r]
			if q.sum != nil {
				v += lowSums[4*t+r]
			}
			dst[(t0+t)*m.rows+r0+r] = v
		}
	}
}

// unpack brings n columns of a row of block weights, from col on, to unsigned
// codes with a scale for each four columns and a minimum for each 32, as row slot
// of the scratch; what follows the last column, up to a multiple of 64, is zero,
// and so are the minimums behind the last.
func (s *scratch) unpack(w blocks, slot, row, col, n int) {
	codes := s.codes[slot*segment:][:segment]
	scale := s.scale[slot*segment/4:][:segment/4]
	low := s.min[slot*segment/32:][:segment/32]
	arith.unpack(w.t, codes, scale, low, w.data[row*w.stride+col/w.values*w.bytes:], n/w.values)
	if end := (n + 63) &^ 63; end > n {
		clear(codes[n:end])
		clear(scale[n/4 : end/4])
	}
	clear(low[n/32:])
}

// noMinimum is added where a format has no minimum: x + -0 is x for every x.
var noMinimum = float32(math.Copysign(0, -1))

func (scalar) unpack(t numfmt.GGUF, codes []byte, scale, low []float32, src []byte, blocks int) {
	values, size, _ := t.Block()
	for b := range blocks {
		unpackBlock(t, codes[b*values:][:values], scale[b*values/4:][:values/4], low[b*values/32:][:values/32], src[b*size:][:size])
	}
}

// unpackBlock unpacks one block; the layouts are told in numfmt.
func unpackBlock(t numfmt.GGUF, codes []byte, scale, low []float32, b []byte) {
	f16 := func(at int) float32 { return numfmt.F16(uint16(b[at]) | uint16(b[at+1])<<8) }
	for i := range low {
		low[i] = noMinimum
	}
	one := func(d float32) {
		for i := range scale {
			scale[i] = d
		}
	}
	nibbles := func(b []byte) {
		for j, q := range b {
			codes[j], codes[j+16] = q&15, q>>4
		}
	}
	fifth := func(b []byte) {
		for j := range 32 {
			codes[j] |= b[j/8] >> (j % 8) & 1 << 4
		}
	}
	switch t {
	case numfmt.GGUFQ8_0:
		one(f16(0))
		for j, q := range b[2:34] {
			codes[j] = q ^ 0x80
		}
	case numfmt.GGUFQ4_0:
		one(f16(0))
		nibbles(b[2:18])
	case numfmt.GGUFQ4_1:
		one(f16(0))
		low[0] = f16(2)
		nibbles(b[4:20])
	case numfmt.GGUFQ5_0:
		one(f16(0))
		nibbles(b[6:22])
		fifth(b[2:6])
	case numfmt.GGUFQ5_1:
		one(f16(0))
		low[0] = f16(2)
		nibbles(b[8:24])
		fifth(b[4:8])
	case numfmt.GGUFQ4_K, numfmt.GGUFQ5_K:
		d, dmin := f16(0), f16(2)
		scales, minimums := numfmt.KScales(b[4:16])
		quants := b[16:]
		if t == numfmt.GGUFQ5_K {
			quants = b[48:]
		}
		for g := range 8 {
			for i := range 8 {
				scale[8*g+i] = d * float32(scales[g])
			}
			low[g] = -float32(dmin * float32(minimums[g]))
			for j, q := range quants[g/2*32:][:32] {
				code := q >> (g & 1 * 4) & 15
				if t == numfmt.GGUFQ5_K {
					code |= b[16+j] >> g & 1 << 4
				}
				codes[32*g+j] = code
			}
		}
	case numfmt.GGUFQ6_K:
		d := f16(208)
		for i := range scale {
			scale[i] = d * float32(int8(b[192+i/4]))
		}
		for i := range codes {
			half, j := i/128, i%128
			l, h := b[half*64+j%64], b[128+half*32+j%32]
			codes[i] = l>>(j/64*4)&15 | h>>(j/32*2)&3<<4
		}
	}
}

func (scalar) dotQ8(_ numfmt.GGUF, acc []lanes, codes []byte, scale []float32, y []int8, yscale []float32, bias []int32, n, tokens, stride int) {
	for t := range tokens {
		y, yscale, bias := y[t*stride:][:n], yscale[t*stride/4:], bias[t*stride/4:]
		for r := range 4 {
			w, d := codes[r*segment:], scale[r*segment/4:]
			for k := 0; k < n; k += 4 {
				sum := bias[k/4]
				for i := k; i < k+4; i++ {
					sum += int32(w[i]) * int32(y[i])
				}
				acc[4*t+r][k%64/4] += float32(float32(d[k/4]*yscale[k/4]) * float32(sum))
			}
		}
	}
}

// codesDecode decodes unpacked codes to weights.
func (scalar) codesDecode(dst []float32, codes []byte, offset float32, scale, low []float32) {
	for i := range dst {
		dst[i] = float32((float32(codes[i])-offset)*scale[i/4]) + low[i/32]
	}
}
