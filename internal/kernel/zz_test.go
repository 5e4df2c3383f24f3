package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// many small matrices, 1 thread or all
func BenchmarkZK(b *testing.B) {
	for _, name := range []string{"BF16", "fp8 block", "nvfp4", "Q4_1", "Q8_0","Q4_0", "Q4_K", "Q6_K"} {
		for _, sh := range [][2]int{{576, 576}, {1536, 576}, {576, 1536}, {4096, 4096}} {
			if name[:2] == "Q4" && name[3] == 'K' || name == "Q6_K" { if sh[1] % 256 != 0 { continue } }
			for _, th := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/%dx%d/%d", name, sh[0], sh[1], th), func(b *testing.B) {
					zk(b, name, sh[0], sh[1], th)
				})
			}
		}
	}
}

func zk(b *testing.B, name string, rows, cols, threads int) {
	var ms []*Matrix
	size := 0
	for _, s := range samples() {
		if s.name == name {
			r := rand.New(rand.NewPCG(1, 1))
			for size < 100e6 {
				m := s.make(r, 64, cols)
				m, n := repeat(m, rows/64)
				ms = append(ms, m)
				size += n
			}
		}
	}
	ggml := name[0] == 'Q'
	x := floatsOf(rand.New(rand.NewPCG(2, 2)), cols, 1)
	dst := make([]float32, rows)
	p := NewPool(threads)
	plain := make([]float32, size/4)
	for i := range plain {
		plain[i] = 1
	}
	best, read := time.Hour, time.Hour
	for b.Loop() {
		start := time.Now()
		for _, m := range ms {
			if ggml {
				m.MulMatGGML(p, dst, x, 1)
			} else {
				m.MulVec(p, dst, x)
			}
		}
		best = min(best, time.Since(start))
		start = time.Now()
		stream(plain, threads)
		read = min(read, time.Since(start))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(size)/best.Seconds()/1e9, "GB/s")
	b.ReportMetric(float64(size)/read.Seconds()/1e9, "plainGB/s")
	b.ReportMetric(best.Seconds()*1e6/float64(len(ms)), "us/product")
}
