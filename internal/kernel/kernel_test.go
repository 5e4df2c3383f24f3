package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"shakedown/internal/numfmt"
)

// sample is a matrix of one format with random contents.
type sample struct {
	name string
	make func(r *rand.Rand, rows, cols int) *Matrix
	cols int // the columns must be a multiple
}

func bytesOf(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func floatsOf(r *rand.Rand, n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
	return x
}

func must(m *Matrix, err error) *Matrix {
	if err != nil {
		panic(err)
	}
	return m
}

// finiteGGUF replaces the 16-bit scales of random blocks by small numbers.
func finiteGGUF(r *rand.Rand, t numfmt.GGUF, data []byte) []byte {
	_, size, _ := t.Block()
	var at []int
	switch t {
	case numfmt.GGUFQ8_0, numfmt.GGUFQ4_0, numfmt.GGUFQ5_0:
		at = []int{0}
	case numfmt.GGUFQ6_K:
		at = []int{208}
	default:
		at = []int{0, 2}
	}
	for i := 0; i < len(data); i += size {
		for _, o := range at {
			binary.LittleEndian.PutUint16(data[i+o:], numfmt.EncodeF16(float32(r.NormFloat64()*0.01)))
		}
	}
	return data
}

func ggufSample(t numfmt.GGUF) sample {
	values, size, _ := t.Block()
	return sample{t.String(), func(r *rand.Rand, rows, cols int) *Matrix {
		data := make([]byte, rows*cols/values*size)
		switch t {
		case numfmt.GGUFF32:
			for i := range rows * cols {
				binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(r.NormFloat64())))
			}
		case numfmt.GGUFF16:
			for i := range rows * cols {
				binary.LittleEndian.PutUint16(data[2*i:], numfmt.EncodeF16(float32(r.NormFloat64())))
			}
		case numfmt.GGUFBF16:
			for i := range rows * cols {
				binary.LittleEndian.PutUint16(data[2*i:], numfmt.EncodeBF16(float32(r.NormFloat64())))
			}
		default:
			data = finiteGGUF(r, t, bytesOf(r, len(data)))
		}
		return must(Dense(t, data, rows, cols))
	}, values}
}

// fp8Codes are random codes without NaN.
func fp8Codes(r *rand.Rand, f numfmt.FP8, n int) []byte {
	b := bytesOf(r, n)
	for i, c := range b {
		if v := f.Decode(c); v-v != 0 {
			b[i] = 0x38
		}
	}
	return b
}

func fp8Sample(name string, f numfmt.FP8, scales func(r *rand.Rand, rows, cols int) Scales) sample {
	return sample{name, func(r *rand.Rand, rows, cols int) *Matrix {
		return must(FP8(f, fp8Codes(r, f, rows*cols), rows, cols, scales(r, rows, cols)))
	}, 1}
}

func samples() []sample {
	block := func(r *rand.Rand, rows, cols int) Scales {
		return Blocks128(floatsOf(r, ceilDiv(rows, 128)*ceilDiv(cols, 128), 0.01))
	}
	list := []sample{
		{"floats", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(FromFloats(floatsOf(r, rows*cols, 1), rows, cols))
		}, 1},
		fp8Sample("fp8 block", numfmt.E4M3FN, block),
		fp8Sample("fp8 channel", numfmt.E4M3FN, func(r *rand.Rand, rows, cols int) Scales {
			return PerChannel(floatsOf(r, rows, 0.01), cols)
		}),
		fp8Sample("fp8 tensor", numfmt.E4M3FN, func(_ *rand.Rand, rows, cols int) Scales {
			return PerTensor(0.013, rows, cols)
		}),
		fp8Sample("fp8 e5m2", numfmt.E5M2, block),
		fp8Sample("fp8 fnuz", numfmt.E4M3FNUZ, block),
		{"nvfp4", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(NVFP4(bytesOf(r, rows*cols/2), fp8Codes(r, numfmt.E4M3FN, rows*cols/16), Global{Value: 0.0007}, rows, cols))
		}, 16},
		{"nvfp4 reciprocal", func(r *rand.Rand, rows, cols int) *Matrix {
			return must(NVFP4(bytesOf(r, rows*cols/2), fp8Codes(r, numfmt.E4M3FN, rows*cols/16), Global{Value: 1433, Reciprocal: true}, rows, cols))
		}, 16},
		{"mxfp4", func(r *rand.Rand, rows, cols int) *Matrix {
			scales := bytesOf(r, rows*cols/32)
			for i := range scales {
				scales[i] = 120 + scales[i]%10
			}
			return must(MXFP4(bytesOf(r, rows*cols/2), scales, rows, cols))
		}, 32},
		{"mxfp8", func(r *rand.Rand, rows, cols int) *Matrix {
			scales := bytesOf(r, rows*cols/32)
			for i := range scales {
				scales[i] = 120 + scales[i]%10
			}
			return must(MXFP8(numfmt.E4M3FN, fp8Codes(r, numfmt.E4M3FN, rows*cols), scales, rows, cols))
		}, 32},
		{"int4", func(r *rand.Rand, rows, cols int) *Matrix {
			w := &numfmt.Int4{Rows: rows, Cols: cols, Group: 32, Codes: bytesOf(r, rows*cols/2)}
			w.Scales = floatsOf(r, rows*w.Groups(), 0.01)
			return must(Int4(w))
		}, 32},
		{"int4 zeros", func(r *rand.Rand, rows, cols int) *Matrix {
			w := &numfmt.Int4{Rows: rows, Cols: cols, Group: 128, Codes: bytesOf(r, rows*cols/2)}
			w.Scales, w.Zeros = floatsOf(r, rows*w.Groups(), 0.01), bytesOf(r, rows*w.Groups())
			for i := range w.Zeros {
				w.Zeros[i] &= 15
			}
			return must(Int4(w))
		}, 2},
	}
	for _, t := range []numfmt.GGUF{numfmt.GGUFF32, numfmt.GGUFF16, numfmt.GGUFBF16, numfmt.GGUFQ8_0, numfmt.GGUFQ4_0, numfmt.GGUFQ4_1,
		numfmt.GGUFQ5_0, numfmt.GGUFQ5_1, numfmt.GGUFQ4_K, numfmt.GGUFQ5_K, numfmt.GGUFQ6_K} {
		list = append(list, ggufSample(t))
	}
	return list
}

func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// TestProducts says what a product is: for every format, shape, batch and number
// of threads, MulMat has the bits of Dot with the decoded row.
func TestProducts(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(len(s.name))))
			for _, shape := range []struct{ rows, cols, n int }{{1, 1, 1}, {3, 17, 2}, {16, 64, 5}, {21, 256, 1}, {3, 64, 1}, {38, 640, 1}, {37, 515, 3}, {130, 300, 4}, {18, 1024, 131}} {
				cols := ceilDiv(shape.cols, s.cols) * s.cols
				m := s.make(r, shape.rows, cols)
				x := floatsOf(r, shape.n*cols, 1)
				row := make([]float32, cols)
				want := make([]float32, shape.n*shape.rows)
				for i := range shape.rows {
					m.Row(i, row)
					for n := range shape.n {
						want[n*shape.rows+i] = Dot(row, x[n*cols:][:cols])
					}
				}
				for _, threads := range []int{1, 3} {
					got := make([]float32, len(want))
					m.MulMat(NewPool(threads), got, x, shape.n)
					for i := range want {
						if !same(got[i], want[i]) {
							t.Fatalf("%d x %d, batch %d, %d threads: result %d = %v, want %v", shape.rows, cols, shape.n, threads, i, got[i], want[i])
						}
					}
				}
			}
		})
	}
}

func TestSlice(t *testing.T) {
	for _, s := range samples() {
		r := rand.New(rand.NewPCG(2, 2))
		m := s.make(r, 20, 256)
		part := m.Slice(3, 19).Slice(2, 10)
		x := floatsOf(r, 256, 1)
		whole, got := make([]float32, 20), make([]float32, 8)
		m.MulVec(nil, whole, x)
		part.MulVec(nil, got, x)
		for i := range got {
			if !same(got[i], whole[5+i]) {
				t.Errorf("%s: row %d of the slice = %v, want %v", s.name, i, got[i], whole[5+i])
			}
		}
	}
}

// TestDotOrder fixes the order of a sum with values whose sum depends on it.
func TestDotOrder(t *testing.T) {
	a, ones := make([]float32, 40), make([]float32, 40)
	for i := range a {
		a[i], ones[i] = float32(1+i)*1.1e6/float32(1+i%7), 1
	}
	var l [16]float32
	for i, v := range a {
		l[i%16] += v
	}
	for step := 8; step > 0; step /= 2 {
		for i := range step {
			l[i] += l[i+step]
		}
	}
	if got := Dot(a, ones); got != l[0] {
		t.Errorf("Dot = %v, want %v", got, l[0])
	}
	if got := Sum(a); got != l[0] {
		t.Errorf("Sum = %v, want %v", got, l[0])
	}
}

// TestDots: rows of any length and number have the bits of the plain sum.
func TestDots(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	for range 200 {
		n, rows := r.IntN(70), r.IntN(12)
		stride := n + r.IntN(5)
		w, x := floatsOf(r, rows*stride, 1), floatsOf(r, n, 1)
		got := make([]float32, rows)
		Dots(got, w, stride, x)
		for i := range got {
			var acc lanes
			acc.add(w[i*stride:][:n], x)
			if want := acc.sum(); !same(got[i], want) || !same(Dot(w[i*stride:][:n], x), want) {
				t.Fatalf("row %d of %d values: %v, Dot %v, want %v", i, n, got[i], Dot(w[i*stride:][:n], x), want)
			}
		}
	}
}

func TestMismatchedLengthsPanic(t *testing.T) {
	m := must(FromFloats(make([]float32, 6), 2, 3))
	for what, f := range map[string]func(){
		"Dot":  func() { Dot(make([]float32, 3), make([]float32, 4)) },
		"Dots": func() { Dots(make([]float32, 2), make([]float32, 5), 3, make([]float32, 3)) },
		"AddScaledRows": func() {
			AddScaledRows(make([]float32, 3), make([]float32, 5), 3, make([]float32, 2))
		},
		"Silus":      func() { Silus(make([]float32, 3), make([]float32, 4)) },
		"Exps":       func() { Exps(make([]float32, 3), make([]float32, 4), 0) },
		"AddScaled":  func() { AddScaled(make([]float32, 3), make([]float32, 2), 1) },
		"MulVec":     func() { m.MulVec(nil, make([]float32, 2), make([]float32, 2)) },
		"MulMatGGML": func() { m.MulMatGGML(nil, make([]float32, 3), make([]float32, 3), 1) },
		"Row":        func() { m.Row(2, make([]float32, 3)) },
		"Slice":      func() { m.Slice(1, 3) },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// TestConstructorsRefuse: sizes that contradict each other are errors, so that no
// later access leaves the data.
func TestConstructorsRefuse(t *testing.T) {
	b := make([]byte, 4096)
	f := make([]float32, 4096)
	for what, make := range map[string]func() (*Matrix, error){
		"floats":           func() (*Matrix, error) { return FromFloats(f, 3, 3) },
		"no columns":       func() (*Matrix, error) { return FromFloats(nil, 3, 0) },
		"negative rows":    func() (*Matrix, error) { return FromFloats(nil, -1, 3) },
		"huge":             func() (*Matrix, error) { return Dense(numfmt.GGUFBF16, b, 1<<31, 1<<31) },
		"bf16 bytes":       func() (*Matrix, error) { return Dense(numfmt.GGUFBF16, b[:17], 3, 3) },
		"gguf type":        func() (*Matrix, error) { return Dense(99, b, 1, 32) },
		"gguf block":       func() (*Matrix, error) { return Dense(numfmt.GGUFQ8_0, b[:34], 1, 33) },
		"fp8 codes":        func() (*Matrix, error) { return FP8(numfmt.E4M3FN, b[:5], 2, 3, PerTensor(1, 2, 3)) },
		"fp8 grid":         func() (*Matrix, error) { return FP8(numfmt.E4M3FN, b[:256*16], 256, 16, Blocks128(f[:3])) },
		"fp8 narrow grid":  func() (*Matrix, error) { return FP8(numfmt.E4M3FN, b[:64], 2, 32, Scales{1, 8, f[:8]}) },
		"fp8 empty blocks": func() (*Matrix, error) { return FP8(numfmt.E4M3FN, b[:64], 2, 32, Scales{0, 0, f[:8]}) },
		"nvfp4 group":      func() (*Matrix, error) { return NVFP4(b[:12], b[:2], Global{Value: 1}, 1, 24) },
		"nvfp4 codes":      func() (*Matrix, error) { return NVFP4(b[:17], b[:2], Global{Value: 1}, 1, 32) },
		"nvfp4 scales":     func() (*Matrix, error) { return NVFP4(b[:16], b[:3], Global{Value: 1}, 1, 32) },
		"mxfp4 shape":      func() (*Matrix, error) { return MXFP4(b[:16], b[:1], 1, -32) },
		"mxfp8 scales":     func() (*Matrix, error) { return MXFP8(numfmt.E4M3FN, b[:32], nil, 1, 32) },
		"mxfp8 codes":      func() (*Matrix, error) { return MXFP8(numfmt.E4M3FN, b[:31], b[:1], 1, 32) },
		"mxfp8 group":      func() (*Matrix, error) { return MXFP8(numfmt.E4M3FN, b[:31], b[:1], 1, 31) },
		"int4 odd":         func() (*Matrix, error) { return Int4(&numfmt.Int4{Rows: 2, Cols: 3, Group: 3}) },
		"int4 codes": func() (*Matrix, error) {
			return Int4(&numfmt.Int4{Rows: 1, Cols: 32, Group: 32, Codes: b[:15], Scales: f[:1]})
		},
		"int4 scales": func() (*Matrix, error) {
			return Int4(&numfmt.Int4{Rows: 1, Cols: 32, Group: 32, Codes: b[:16], Scales: f[:2]})
		},
		"int4 zero": func() (*Matrix, error) {
			return Int4(&numfmt.Int4{Rows: 1, Cols: 32, Group: 32, Codes: b[:16], Scales: f[:1], Zeros: []uint8{17}})
		},
		"int4 group": func() (*Matrix, error) {
			return Int4(&numfmt.Int4{Rows: 1, Cols: 2, Group: 2, Codes: b[:1], Scales: f[:1], GroupOf: []int32{0, 1}})
		},
	} {
		if m, err := make(); err == nil {
			t.Errorf("%s: made %v x %v", what, m.Rows(), m.Cols())
		}
	}
}

// TestProductBits pins the bits of products, so that a machine, or a build for
// another level of a processor, that computes otherwise fails.
func TestProductBits(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	plain := func(n int) []float32 { // numbers with all mantissa bits, near 1
		x := make([]float32, n)
		for i := range x {
			x[i] = math.Float32frombits(r.Uint32()&0x807fffff | (120+r.Uint32()%12)<<23)
		}
		return x
	}
	const rows, cols, n = 9, 544, 5
	x := plain(n * cols)
	bf16 := make([]byte, 2*rows*cols)
	for i, v := range plain(rows * cols) {
		binary.LittleEndian.PutUint16(bf16[2*i:], numfmt.EncodeBF16(v))
	}
	q4 := bytesOf(r, rows*cols/32*20)
	for i := 0; i < len(q4); i += 20 {
		binary.LittleEndian.PutUint16(q4[i:], 0x2000|uint16(q4[i]))
		binary.LittleEndian.PutUint16(q4[i+2:], 0xb000|uint16(q4[i+2]))
	}
	h := uint64(14695981039346656037)
	for _, m := range []*Matrix{
		must(FromFloats(plain(rows*cols), rows, cols)),
		must(Dense(numfmt.GGUFBF16, bf16, rows, cols)),
		must(FP8(numfmt.E4M3FN, fp8Codes(r, numfmt.E4M3FN, rows*cols), rows, cols, Blocks128(plain(5)))),
		must(NVFP4(bytesOf(r, rows*cols/2), fp8Codes(r, numfmt.E4M3FN, rows*cols/16), Global{Value: 0.0009}, rows, cols)),
		must(Dense(numfmt.GGUFQ4_1, q4, rows, cols)),
	} {
		dst := make([]float32, n*rows)
		m.MulMat(nil, dst, x, n)
		for _, v := range dst {
			h = (h ^ uint64(math.Float32bits(v))) * 1099511628211
		}
		m.MulMatGGML(nil, dst, x, n)
		Softmax(dst)
		for _, v := range dst {
			h = (h ^ uint64(math.Float32bits(v))) * 1099511628211
		}
	}
	if want := uint64(0x877adee6af9600ea); h != want {
		t.Errorf("hash of results %#x, want %#x", h, want)
	}
}

// TestMultiply: several products at once have the bits of each alone.
func TestMultiply(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	var products []Product
	var want, wantGGML [][]float32
	x := floatsOf(r, 3*512, 1)
	for i, s := range samples() {
		p := Product{Matrix: s.make(r, 5+11*i%40, 512), X: x, N: 3}
		if i%3 == 0 {
			p.X, p.N = floatsOf(r, 512, 1), 1
		}
		p.Dst = make([]float32, p.N*p.Matrix.Rows())
		exact, ggml := make([]float32, len(p.Dst)), make([]float32, len(p.Dst))
		p.Matrix.MulMat(nil, exact, p.X, p.N)
		p.Matrix.MulMatGGML(nil, ggml, p.X, p.N)
		products, want, wantGGML = append(products, p), append(want, exact), append(wantGGML, ggml)
	}
	Multiply(NewPool(3), products...)
	for i, p := range products {
		wantSame(t, p.Matrix.Kind(), p.Dst, want[i])
		clear(p.Dst)
	}
	MultiplyGGML(NewPool(3), products...)
	for i, p := range products {
		wantSame(t, p.Matrix.Kind()+" ggml", p.Dst, wantGGML[i])
	}
	Multiply(nil)
	MultiplyGGML(nil)
}
