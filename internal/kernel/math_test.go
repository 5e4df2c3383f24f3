package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// ulps is the distance of two float64 in units of the last place.
func ulps(a, b float64) float64 {
	if a == b || a != a && b != b {
		return 0
	}
	return math.Abs(a-b) / (math.Nextafter(math.Abs(b), math.Inf(1)) - math.Abs(b))
}

// TestElementary compares with the standard library, whose errors are below one
// unit in the last place.
func TestElementary(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	worst := map[string]float64{}
	check := func(name string, x, got, want, limit float64) {
		t.Helper()
		d := ulps(got, want)
		worst[name] = max(worst[name], d)
		if d > limit || d != d {
			t.Errorf("%s(%v) = %v, want %v (%.1f units)", name, x, got, want, d)
		}
	}
	for range 200000 {
		x := r.NormFloat64() * 20
		check("exp", x, Exp(x), math.Exp(x), 2)
		y := math.Exp(r.NormFloat64() * 30)
		check("log", y, Log(y), math.Log(y), 3)
		near := 1 + r.NormFloat64()*0.01
		check("log", near, Log(near), math.Log(near), 3)
		a := float32(r.NormFloat64() * math.Exp2(float64(r.IntN(24))))
		s, c := SinCos(a)
		check("sin", float64(a), s, math.Sin(float64(a)), 3)
		check("cos", float64(a), c, math.Cos(float64(a)), 3)
	}
	t.Logf("largest differences in units of the last place: %.2v", worst)
	for _, x := range []float64{0, 1, -1, 709.79, 710, -708, -740, -745.2, -1000, math.Inf(1), math.Inf(-1), math.NaN(), 1e-300} {
		check("exp", x, Exp(x), math.Exp(x), 2)
		check("log", x, Log(x), math.Log(x), 2)
	}
	// Here the standard library's assembly for amd64 is wrong (Go 1.26: +Inf and
	// -709.09), so the values are literal.
	check("exp", 709.7, Exp(709.7), 1.6549840276802644e+308, 2)
	check("log", 5e-324, Log(5e-324), -744.4400719213812, 2)
}

// TestSinCosLarge checks the reduction of huge angles against arithmetic with 600
// bits.
func TestSinCosLarge(t *testing.T) {
	if s, c := SinCos(float32(math.Inf(1))); s == s || c == c {
		t.Errorf("SinCos(+Inf) = %v, %v, want NaN", s, c)
	}
	for _, x := range []float32{1e6, -1.5e6, 1048576, 3e9, -7.77e15, 1e30, -math.MaxFloat32, 16367173 * 0x1p72} {
		s, c := SinCos(x)
		if math.Abs(s*s+c*c-1) > 1e-15 {
			t.Errorf("SinCos(%v) = %v, %v, which lie on no circle", x, s, c)
		}
		// The standard library reduces such angles with 1200 bits of pi.
		if d := math.Abs(s - math.Sin(float64(x))); d > 1e-15 {
			t.Errorf("sin(%v) = %v, want %v", x, s, math.Sin(float64(x)))
		}
		if d := math.Abs(c - math.Cos(float64(x))); d > 1e-15 {
			t.Errorf("cos(%v) = %v, want %v", x, c, math.Cos(float64(x)))
		}
	}
	half, _, _ := big.ParseFloat(halfPiDigits, 10, 400, big.ToNearestEven)
	if v, _ := half.Float64(); v != math.Pi/2 {
		t.Errorf("the digits give %v", v)
	}
}

// TestElementaryBits pins bits, so that a machine that rounds otherwise fails.
func TestElementaryBits(t *testing.T) {
	h := uint64(14695981039346656037)
	add := func(v float64) { h = (h ^ math.Float64bits(v)) * 1099511628211 }
	for i := range 5000 {
		x := float64(i-2500) / 37
		add(Exp(x))
		add(Log(math.Abs(x) + 1e-3))
		s, c := SinCos(float32(x * 91))
		add(s)
		add(c)
		add(float64(Silu(float32(x))))
	}
	if want := uint64(0x94a8434a28a887e3); h != want {
		t.Errorf("hash of results %#x, want %#x", h, want)
	}
}

func TestSoftmaxAndRMS(t *testing.T) {
	x := []float32{1, 2, 3, float32(math.Inf(-1))}
	Softmax(x)
	if x[3] != 0 || math.Abs(float64(x[0]+x[1]+x[2])-1) > 1e-6 || x[2] < 0.665 || x[2] > 0.666 {
		t.Errorf("softmax = %v", x)
	}
	bad := []float32{1, float32(math.NaN())}
	Softmax(bad)
	if bad[0] == bad[0] || bad[1] == bad[1] {
		t.Errorf("softmax with NaN = %v", bad)
	}
	if got := RMS([]float32{3, -3, 3, -3}, 0); got != float32(1)/3 {
		t.Errorf("RMS = %v", got)
	}
}

func TestMax(t *testing.T) {
	negativeZero := float32(math.Copysign(0, -1))
	for _, n := range []int{1, 5, 16, 64, 100} {
		x := make([]float32, n)
		for i := range x {
			x[i] = negativeZero
		}
		if got := Max(x); got != 0 || math.Signbit(float64(got)) {
			t.Errorf("the largest of %d times -0 is %v", n, got)
		}
		x[n-1] = 3
		if got := Max(x); got != 3 {
			t.Errorf("the largest of %d is %v, want 3", n, got)
		}
		x[n/2] = float32(math.NaN())
		if got := Max(x); got == got {
			t.Errorf("the largest of %d with a NaN is %v", n, got)
		}
	}
	if got := Max(nil); !math.IsInf(float64(got), -1) {
		t.Errorf("the largest of none is %v", got)
	}
}
