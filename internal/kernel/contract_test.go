package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"shakedown/internal/numfmt"
)

// wild are float32 with special values among them: zeros, infinities, NaN,
// subnormals, the largest and smallest.
func wild(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		switch r.IntN(40) {
		case 0:
			x[i] = math.Float32frombits(r.Uint32()) // anything
		case 1:
			x[i] = math.Float32frombits(r.Uint32() & 0x807fffff) // subnormal or zero
		case 2:
			x[i] = float32(math.Copysign(0, -1))
		case 3:
			x[i] = 0
		default:
			x[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(60)-30)))
		}
	}
	return x
}

// tame are ordinary numbers, so that sums stay finite and order shows.
func tame(r *rand.Rand, n int) []float32 { return floatsOf(r, n, 1) }

func wantSame(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !same(got[i], want[i]) {
			t.Fatalf("%s: value %d = %v (%08x), scalar %v (%08x)", what, i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

func flat(acc []lanes) []float32 {
	var out []float32
	for i := range acc {
		out = append(out, acc[i][:]...)
	}
	return out
}

func lanesOf(x []float32) []lanes {
	acc := make([]lanes, len(x)/16)
	for i := range acc {
		copy(acc[i][:], x[16*i:])
	}
	return acc
}

// checkContract runs every operation of a on contents from the sources and
// compares with the scalar code.
func checkContract(t *testing.T, a arithmetic, r *rand.Rand, floats func(*rand.Rand, int) []float32, raw func(n int) []byte) {
	var ref scalar
	n := 16 * (1 + r.IntN(20))
	stride := n + r.IntN(20)
	w, x := floats(r, 4*stride), floats(r, 4*stride)
	compare := func(what string, size int, run func(a arithmetic, acc []lanes)) {
		t.Helper()
		start := floats(r, 16*size)
		got, want := lanesOf(start), lanesOf(start)
		run(a, got)
		run(ref, want)
		wantSame(t, what, flat(got), flat(want))
	}
	compare("dot1x1", 1, func(a arithmetic, acc []lanes) { a.dot1x1(&acc[0], w[:n], x) })
	compare("dot4x1", 4, func(a arithmetic, acc []lanes) { a.dot4x1(acc, w, stride, x[:n]) })
	compare("dot4xN", 12, func(a arithmetic, acc []lanes) { a.dot4xN(acc, w, stride, x, stride, n, 3) })
	compare("dot4x4", 16, func(a arithmetic, acc []lanes) { a.dot4x4(acc, w, stride, x, stride, n) })
	compare("sums", 21, func(a arithmetic, acc []lanes) {
		dst := make([]float32, 21)
		a.sums(dst, acc)
		for i := range acc {
			acc[i] = lanes{dst[i]}
		}
	})
	decoded := func(what string, run func(a arithmetic, dst []float32)) {
		t.Helper()
		got, want := make([]float32, n), make([]float32, n)
		run(a, got)
		run(ref, want)
		wantSame(t, what, got, want)
	}
	half := raw(8 * stride)
	for _, k := range []numfmt.GGUF{numfmt.GGUFBF16, numfmt.GGUFF16} {
		compare(k.String()+" dot", 4, func(a arithmetic, acc []lanes) { a.dot16(k, acc, half, 2*stride, x[:n]) })
		decoded(k.String()+" decode", func(a arithmetic, dst []float32) { a.decode16(k, dst, half) })
	}

	decoded("decode32", func(a arithmetic, dst []float32) { a.decode32(dst[:n-3], half) })

	scale := floats(r, 1)[0]
	if r.IntN(4) > 0 { // mostly without NaN
		for i, c := range half {
			if c&0x7f == 0x7f {
				half[i] ^= 1
			}
		}
	}
	for _, run := range []int{16 * (1 + r.IntN(8)), n} {
		scales := floats(r, ceilDiv(n, run))
		got, want := make([]float32, n), make([]float32, n)
		ok, wantOK := a.fp8Decode(new(scratch), got, half, scales, run), ref.fp8Decode(nil, want, half, scales, run)
		if !ok && wantOK {
			t.Fatalf("fp8Decode of %d codes in runs of %d refuses what has no NaN", n, run)
		}
		if wantOK {
			wantSame(t, "fp8Decode", got, want)
		}
	}
	for _, k := range []int{n, n &^ 63} { // a set may have something faster for 64 columns
		for _, run := range []int{16 * (1 + r.IntN(8)), 32, 128, n} {
			for _, apart := range []int{0, ceilDiv(n, run)} {
				checkFP8Dot(t, a, lanesOf(floats(r, 64)), half, stride, x[:k], floats(r, 3*apart+ceilDiv(n, run)), apart, run)
			}
		}
	}
	table := [16]float32(floats(r, 16))
	for _, group := range []int{16, 32, 48, n, 8} {
		if n%group != 0 {
			continue
		}
		list := floats(r, n/group)
		decoded("nibbles", func(a arithmetic, dst []float32) { a.nibbles(dst, half, &table, list) })
	}
	for _, group := range []int{16, 48, n} {
		whole := n / group * group
		list := floats(r, 4*(n/16))
		compare("nibblesDot", 4, func(a arithmetic, acc []lanes) {
			if a.nibblesDot(acc, half, stride, x[:whole], &table, list, n/16, group) || whole == 0 {
				return
			}
			rows := make([]float32, 4*whole)
			for k := range 4 {
				ref.nibbles(rows[k*whole:][:whole], half[k*stride:], &table, list[k*(n/16):][:whole/group])
			}
			ref.dot4x1(acc, rows, whole, x[:whole])
		})
	}
	checkBlocks(t, a, r, floats, raw)
	size, count := n-r.IntN(16), r.IntN(5)
	any := floats(r, 4*stride)
	for i := range any {
		switch r.IntN(12) {
		case 0, 1, 2, 3:
			any[i] = float32(r.NormFloat64() * 200) // where exponentials leave float32
		case 4:
			any[i] = float32(math.Inf(r.IntN(2)*2 - 1))
		}
	}
	decoded("expShifted", func(a arithmetic, dst []float32) { a.expShifted(dst[:size], any[:size], x[0]) })
	decoded("expShifted by 0", func(a arithmetic, dst []float32) { a.expShifted(dst[:size], any[:size], 0) })
	decoded("roundBF16", func(a arithmetic, dst []float32) {
		copy(dst, any)
		a.roundBF16(dst[:size])
	})
	decoded("silu", func(a arithmetic, dst []float32) { a.silu(dst[:size], any[:size]) })
	decoded("sum", func(a arithmetic, dst []float32) { dst[0] = a.sum(any[:size]) })
	decoded("largest", func(a arithmetic, dst []float32) { dst[0] = a.largest(any[:size]) })
	decoded("divide", func(a arithmetic, dst []float32) {
		copy(dst, any)
		a.divide(dst[:size], scale)
	})
	decoded("addRows", func(a arithmetic, dst []float32) {
		copy(dst, any)
		a.addRows(dst[:size], w, stride, x[:count])
	})
	decoded("addScaled", func(a arithmetic, dst []float32) {
		copy(dst, w)
		a.addScaled(dst[:size], x[:size], scale)
	})
}

// TestContract: every implementation returns the bits of the scalar code.
func TestContract(t *testing.T) {
	for _, a := range implementations[1:] {
		t.Run(a.name(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			for range 300 {
				checkContract(t, a, r, tame, func(n int) []byte { return fp8Codes(r, numfmt.E4M3FN, n) })
				checkContract(t, a, r, wild, func(n int) []byte { return bytesOf(r, n) })
			}
			// Every code alone, so that each is looked at and each NaN found.
			for c := range 256 {
				codes := make([]byte, 48)
				for at := range codes {
					clear(codes)
					codes[at] = byte(c)
					checkCode(t, a, codes, at)
				}
			}
		})
	}
	if len(implementations) == 1 {
		t.Skip("not run: this machine has the scalar code only")
	}
}

// checkFP8Dot compares fp8Dot with the scalar code; who has a NaN may refuse.
func checkFP8Dot(t *testing.T, a arithmetic, start []lanes, codes []byte, stride int, x, scales []float32, apart, run int) {
	t.Helper()
	got, want := slices.Clone(start), slices.Clone(start)
	ok := a.fp8Dot(new(scratch), got, codes, stride, x, scales, apart, run)
	wantOK := scalar{}.fp8Dot(nil, want, codes, stride, x, scales, apart, run)
	switch isNaN := func(v float32) bool { return v != v }; {
	case ok && !wantOK:
		t.Fatalf("fp8Dot of %d columns in runs of %d: a NaN was not seen", len(x), run)
	case ok:
		wantSame(t, "fp8Dot", flat(got), flat(want))
	case wantOK && !slices.ContainsFunc(flat(want), isNaN):
		t.Fatalf("fp8Dot of %d columns in runs of %d refuses what has no NaN", len(x), run)
	}
}

func checkCode(t *testing.T, a arithmetic, codes []byte, at int) {
	values := make([]float32, len(codes))
	decoded := a.fp8Decode(new(scratch), values, codes, []float32{toHalf}, len(codes))
	want := numfmt.E4M3FN.Decode(codes[at])
	ok := want == want
	if ok && !decoded || decoded && !same(values[at], want) {
		t.Fatalf("code %#02x at %d: ok = %v, %v, want %v", codes[at], at, decoded, values[at], want)
	}
	rows, ones := make([]byte, 4*len(codes)), make([]float32, len(codes))
	row := int(codes[at]) % 4
	copy(rows[row*len(codes):], codes)
	for i := range ones {
		ones[i] = 1
	}
	acc := make([]lanes, 4)
	scales := []float32{toHalf, toHalf, toHalf, toHalf}
	if dotOK := a.fp8Dot(new(scratch), acc, rows, len(codes), ones, scales, 1, len(codes)); dotOK != ok {
		t.Fatalf("code %#02x at %d: product ok = %v", codes[at], at, dotOK)
	}
	if ok && acc[row][at%16] != want {
		t.Fatalf("product of code %#02x at %d = %v, want %v", codes[at], at, acc[row][at%16], want)
	}
}

// TestProductsAlike: whole products of all formats have the same bits with every
// implementation, also where weights and activations are special.
func TestProductsAlike(t *testing.T) {
	defer func(a arithmetic) { arith = a }(arith)
	for _, s := range append(samples(), wildSamples()...) {
		r := rand.New(rand.NewPCG(4, uint64(len(s.name))))
		for _, n := range []int{1, 6} {
			cols := ceilDiv(600, s.cols)*s.cols + s.cols
			m := s.make(r, 23, cols)
			x := tame(r, n*cols)
			if n == 6 {
				x = wild(r, n*cols)
			}
			var want []float32
			for i, a := range implementations {
				arith = a
				got := make([]float32, n*23)
				m.MulMat(nil, got, x, n)
				if i == 0 {
					want = got
					continue
				}
				wantSame(t, s.name+" "+a.name(), got, want)
			}
			for i, a := range implementations {
				arith = a
				got := make([]float32, n*23)
				m.MulMatGGML(nil, got, x, n)
				if i == 0 {
					want = got
					continue
				}
				wantSame(t, s.name+" ggml "+a.name(), got, want)
			}
		}
	}
}

// wildSamples hold every code, and scales that are zero, infinite, NaN, subnormal
// or so large that products overflow.
func wildSamples() []sample {
	grid := func(r *rand.Rand, rows, cols int) Scales {
		return Blocks128(wild(r, ceilDiv(rows, 128)*ceilDiv(cols, 128)))
	}
	var list []sample
	for _, f := range []numfmt.FP8{numfmt.E4M3FN, numfmt.E4M3FNUZ, numfmt.E5M2} {
		list = append(list, sample{"any " + f.String(), func(r *rand.Rand, rows, cols int) *Matrix {
			return must(FP8(f, bytesOf(r, rows*cols), rows, cols, grid(r, rows, cols)))
		}, 1})
	}
	return append(list,
		sample{"fp8 overflowing scale", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(FP8(numfmt.E4M3FN, fp8Codes(r, numfmt.E4M3FN, rows*cols), rows, cols, PerTensor(0x1p121, rows, cols)))
		}, 1},
		sample{"fp8 subnormal scale", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(FP8(numfmt.E4M3FN, fp8Codes(r, numfmt.E4M3FN, rows*cols), rows, cols, PerTensor(0x1.8p-140, rows, cols)))
		}, 1},
		sample{"any nvfp4", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(NVFP4(bytesOf(r, rows*cols/2), bytesOf(r, rows*cols/16), Global{Value: 1e-40}, rows, cols))
		}, 16},
		sample{"any mxfp4", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(MXFP4(bytesOf(r, rows*cols/2), bytesOf(r, rows*cols/32), rows, cols))
		}, 32},
		sample{"any mxfp8", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(MXFP8(numfmt.E4M3FN, bytesOf(r, rows*cols), bytesOf(r, rows*cols/32), rows, cols))
		}, 32},
		sample{"any bf16", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(Dense(numfmt.GGUFBF16, bytesOf(r, 2*rows*cols), rows, cols))
		}, 1},
		sample{"any f16", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(Dense(numfmt.GGUFF16, bytesOf(r, 2*rows*cols), rows, cols))
		}, 1},
	)
}

// FuzzContract lets the fuzzer choose bits of weights, activations and codes.
func FuzzContract(f *testing.F) {
	f.Add(uint64(1), []byte{0x7f, 0x80, 0xff, 0, 0x7c, 0xfc})
	f.Add(uint64(2), []byte("\x00\x00\x80\x7f\x00\x00\xc0\xff\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, seed uint64, bits []byte) {
		if len(bits) == 0 {
			return
		}
		for _, a := range implementations[1:] {
			r := rand.New(rand.NewPCG(seed, 0))
			raw := func(n int) []byte {
				b := make([]byte, n)
				for i := range b {
					b[i] = bits[(i+int(seed%61))%len(bits)]
				}
				return b
			}
			checkContract(t, a, r, func(r *rand.Rand, n int) []float32 {
				x := make([]float32, n)
				numfmt.DecodeF32(x, raw(4*n))
				for i := range x {
					if r.IntN(3) == 0 {
						x[i] = float32(r.NormFloat64())
					}
				}
				return x
			}, raw)
		}
	})
}
