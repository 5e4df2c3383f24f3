package kernel

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"shakedown/internal/numfmt"
)

// The matrices of the benchmarks are larger than the caches together: decoding
// reads them from memory.
const benchRows, benchCols = 16384, 8192

func benchMatrix(b *testing.B, name string) (*Matrix, int) {
	b.Helper()
	for _, s := range samples() {
		if s.name == name {
			// Random numbers for 256 rows, repeated.
			r := rand.New(rand.NewPCG(1, 1))
			m := s.make(r, 256, benchCols)
			return repeat(m, benchRows/256)
		}
	}
	b.Fatal("no sample " + name)
	return nil, 0
}

// repeat is m, n times below itself, and the bytes that it takes.
func repeat(m *Matrix, n int) (*Matrix, int) {
	out := *m
	out.rows *= n
	size := 0
	again := func(b []byte) []byte { size += n * len(b); return bytes.Repeat(b, n) }
	floats32 := func(x []float32) []float32 {
		size += 4 * n * len(x)
		var y []float32
		for range n {
			y = append(y, x...)
		}
		return y
	}
	switch w := m.weights.(type) {
	case floats:
		out.weights = floats{floats32(w.values), w.cols}
	case halves:
		out.weights = halves{w.t, again(w.data), w.stride}
	case blocks:
		w.data = again(w.data)
		out.weights = w
	case fp8:
		w.codes = again(w.codes)
		if len(w.scales.Values) > 1 {
			w.scales.Values = floats32(w.scales.Values)
		} else {
			w.scales.Rows *= n
		}
		out.weights = newFP8(w.f, w.codes, w.cols, w.scales)
	case *nibbles:
		c := *w
		c.codes, c.scales = again(w.codes), again(w.scales)
		out.weights = &c
	case mxfp8:
		w.codes, w.scales = again(w.codes), again(w.scales)
		out.weights = w
	case *int4:
		c := *w.m
		c.Rows *= n
		c.Codes, c.Scales = again(c.Codes), floats32(c.Scales)
		if c.Zeros != nil {
			c.Zeros = again(c.Zeros)
		}
		out.weights = newInt4(&c)
	}
	return &out, size
}

// BenchmarkDecode measures matrix-vector products with two threads, in bytes of
// weights, and beside each the same number of bytes read and nothing else but
// summed. The metrics are the best of the runs, as other work on the machine only
// ever adds time; ratio is product over read.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"floats", "BF16", "F16", "fp8 block", "fp8 channel", "nvfp4", "mxfp4", "mxfp8", "int4", "int4 zeros", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q6_K"} {
		b.Run(name, func(b *testing.B) { benchDecode(b, name, (*Matrix).MulVec) })
	}
}

func benchDecode(b *testing.B, name string, mul func(m *Matrix, p *Pool, dst, x []float32)) {
	m, size := benchMatrix(b, name)
	x := floatsOf(rand.New(rand.NewPCG(2, 2)), benchCols, 1)
	dst := make([]float32, m.rows)
	p := NewPool(2)
	plain := make([]float32, size/4)
	for i := range plain {
		plain[i] = 1
	}
	b.SetBytes(int64(size))
	product, read := time.Hour, time.Hour
	for b.Loop() {
		start := time.Now()
		mul(m, p, dst, x)
		middle := time.Now()
		stream(plain, 2)
		product, read = min(product, middle.Sub(start)), min(read, time.Since(middle))
	}
	b.ReportMetric(float64(size)/product.Seconds()/1e9, "GB/s")
	b.ReportMetric(float64(size)/read.Seconds()/1e9, "plainGB/s")
	b.ReportMetric(read.Seconds()/product.Seconds(), "ratio")
}

// BenchmarkGGML measures the ggml numerics as BenchmarkDecode and BenchmarkPrefill
// do.
func BenchmarkGGML(b *testing.B) {
	for _, t := range blockTypes {
		b.Run("decode/"+t.String(), func(b *testing.B) {
			benchDecode(b, t.String(), func(m *Matrix, p *Pool, dst, x []float32) { m.MulMatGGML(p, dst, x, 1) })
		})
		b.Run("prefill/"+t.String(), func(b *testing.B) { benchPrefill(b, t.String(), (*Matrix).MulMatGGML) })
	}
}

// stream reads data once.
func stream(data []float32, threads int) {
	n := len(data) / threads
	NewPool(threads).Each(threads, func(i int) { Sum(data[i*n : (i+1)*n]) })
}

// BenchmarkPrefill measures matrix products of 128 activations with two threads,
// in multiplications and additions per second, the best of the runs.
func BenchmarkPrefill(b *testing.B) {
	for _, name := range []string{"floats", "BF16", "fp8 block", "nvfp4", "int4", "Q8_0", "Q4_K"} {
		b.Run(name, func(b *testing.B) { benchPrefill(b, name, (*Matrix).MulMat) })
	}
}

func benchPrefill(b *testing.B, name string, mul func(m *Matrix, p *Pool, dst, x []float32, n int)) {
	const rows, cols, n = 2048, 2048, 128
	for _, s := range samples() {
		if s.name != name {
			continue
		}
		r := rand.New(rand.NewPCG(3, 3))
		m, x, dst, p := s.make(r, rows, cols), floatsOf(r, n*cols, 1), make([]float32, n*rows), NewPool(2)
		best := time.Hour
		for b.Loop() {
			start := time.Now()
			mul(m, p, dst, x, n)
			best = min(best, time.Since(start))
		}
		b.ReportMetric(2*rows*cols*n/best.Seconds()/1e9, "GFLOP/s")
	}
}

// BenchmarkRow measures decoding to float32 in bytes of weights, one thread, from
// the first-level cache.
func BenchmarkRow(b *testing.B) {
	for _, s := range samples() {
		b.Run(s.name, func(b *testing.B) {
			m := s.make(rand.New(rand.NewPCG(4, 4)), 2, 4096)
			_, size := repeat(m, 1)
			dst := make([]float32, 4096)
			b.SetBytes(int64(size / 2))
			for b.Loop() {
				m.Row(0, dst)
			}
		})
	}
}

func BenchmarkElementary(b *testing.B) {
	x := floatsOf(rand.New(rand.NewPCG(5, 5)), 4096, 3)
	y := make([]float32, len(x))
	b.Run("softmax", func(b *testing.B) {
		for b.Loop() {
			copy(y, x)
			Softmax(y)
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*len(x)), "ns/value")
	})
	b.Run("silu", func(b *testing.B) {
		for b.Loop() {
			Silus(y, x)
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*len(x)), "ns/value")
	})
	b.Run("dot", func(b *testing.B) {
		for b.Loop() {
			Dot(x, y)
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*len(x)), "ns/value")
	})
	var rule = numfmt.ScaleFloat
	b.Run("fp8 activation", func(b *testing.B) {
		for b.Loop() {
			numfmt.FP8Activation(y, x, rule)
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*len(x)), "ns/value")
	})
}
