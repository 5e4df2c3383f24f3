package oracle_test

import (
	"os"
	"testing"
	"time"
	"slices"
	"syscall"
	"shakedown/internal/oracle/oracletest"
	"shakedown/internal/oracle"
	"runtime"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func zz(b *testing.B, m *oracle.Model) {
	s := m.NewSession(nil)
	feed := func(n int) {
		h, err := s.Feed(b.Context(), tokens(n))
		if err != nil {
			b.Fatal(err)
		}
		s.Logits(h[len(h)-m.Spec.Hidden:])
	}
	feed(16)
	var times []time.Duration
	c := cpu()
	var ms0, ms1 runtime.MemStats
	runtime.ReadMemStats(&ms0)
	for b.Loop() {
		start := time.Now()
		feed(1)
		times = append(times, time.Since(start))
		if s.Len() > 200 { s.Truncate(16) }
	}
	runtime.ReadMemStats(&ms1)
	c = cpu() - c
	slices.Sort(times)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(times[0].Seconds()*1e3, "min-ms")
	b.ReportMetric(times[len(times)/4].Seconds()*1e3, "q1-ms")
	b.ReportMetric(times[len(times)/2].Seconds()*1e3, "med-ms")
	b.ReportMetric(c.Seconds()*1e3/float64(b.N), "cpu-ms")
	b.ReportMetric(float64(ms1.Mallocs-ms0.Mallocs)/float64(b.N), "mallocs")
	b.ReportMetric(float64(ms1.TotalAlloc-ms0.TotalAlloc)/float64(b.N)/1e3, "kB")
	b.ReportMetric(float64(ms1.NumGC-ms0.NumGC)/float64(b.N), "gc")
}

func BenchmarkZ(b *testing.B) {
	b.Run("ggml", func(b *testing.B) { zz(b, open(b, os.Getenv("SHAKEDOWN_GGUF"), "ggml")) })
	for _, f := range []string{"bf16", "fp8", "nvfp4"} {
		dir := oracletest.Write(b, benchModels["dense-135M"], oracletest.Options{Format: benchFormats()[f]})
		b.Run(f, func(b *testing.B) { zz(b, open(b, dir, "exact")) })
	}
}
