package numfmt

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkDecode measures the plain decoders in bytes of weights; package kernel
// measures the vector code.
func BenchmarkDecode(b *testing.B) {
	const n = 8192
	dst, src, scales := make([]float32, n), make([]byte, 4*n), make([]byte, n/16)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range src {
		src[i] = byte(r.Uint32())
	}
	for i := range scales {
		scales[i] = 0x38
	}
	run := func(name string, bytes int, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(bytes))
			for b.Loop() {
				f()
			}
		})
	}
	run("E4M3FN", n, func() { E4M3FN.DecodeScaled(dst, src, 0.5) })
	run("NVFP4", n/2+n/16, func() { DecodeNVFP4(dst, src, scales, 0.5) })
	run("MXFP4", n/2+n/32, func() { DecodeMXFP4(dst, src, scales) })
	for t, l := range ggufLayouts {
		if l.values > 0 {
			run(GGUF(t).String(), n/l.values*l.bytes, func() { GGUF(t).Decode(dst, src) })
		}
	}
}

// BenchmarkQuantize measures what activations go through, in bytes of float32.
func BenchmarkQuantize(b *testing.B) {
	const n = 8192
	x, dst := make([]float32, n), make([]float32, n)
	r := rand.New(rand.NewPCG(2, 2))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				f()
			}
		})
	}
	run("FP8 per 128", func() { FP8Activation(dst, x, ScaleFloat) })
	run("FP8 per token", func() { FP8TokenActivation(dst, x) })
	run("NVFP4", func() { NVFP4Activation(dst, x, 0.01) })
	run("BF16", func() { RoundBF16s(dst) })
}
