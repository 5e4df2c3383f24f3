package kernel

import (
	"math"
	"math/big"
)

// The elementary functions are computed in float64 with every product rounded
// before it is added, so that no compiler fuses them and all machines agree; the
// standard library's differ between architectures (assembly, fused operations).
// Errors are below 2 units in the last place of a float64, so that a result
// rounded to float32 is the correctly rounded one but for about one value in 10^8.

const (
	log2e = 1 / math.Ln2
	// ln2 in two parts; the upper one has 32 bits, so that its product with an
	// exponent is exact.
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// Exp is e to the power of x.
func Exp(x float64) float64 {
	switch {
	case x != x || math.IsInf(x, 1):
		return x
	case x > 709.782712893384:
		return math.Inf(1)
	case x < -745.1332191019412:
		return 0
	}
	k := math.Floor(float64(x*log2e) + 0.5)
	r := x - float64(k*ln2Hi) - float64(k*ln2Lo)
	// Taylor series on |r| <= ln2/2: the first term left out is below 2^-57.
	p := 1.0 / 6227020800
	for _, c := range expSeries {
		p = float64(p*r) + c
	}
	return math.Ldexp(p, int(k))
}

// expSeries are the reciprocals of the factorials of 12 down to 0.
var expSeries = [...]float64{
	1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
	1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1,
}

// Log is the natural logarithm: -Inf for 0, NaN below.
func Log(x float64) float64 {
	switch {
	case x != x || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	m, e := math.Frexp(x) // m in [0.5, 1)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	// log m = 2 atanh(s), s = (m-1)/(m+1), |s| < 0.172
	f := m - 1
	s := f / (2 + f)
	z := float64(s * s)
	p := 0.0
	for n := 23; n >= 3; n -= 2 {
		p = float64((p + 1/float64(n)) * z)
	}
	k := float64(e)
	// f - s*f + ... keeps the leading term exact: log(1+f) = f - s*(f - 2p).
	return float64(k*ln2Hi) - (float64(s*(f-2*p)) - float64(k*ln2Lo) - f)
}

// Pow is x to the power of y for x > 0, as Exp(y*Log(x)): its error grows with
// |y log x|, below 1e-14 relative for the bases and exponents of rotary
// embeddings.
func Pow(x, y float64) float64 { return Exp(y * Log(x)) }

// SinCos are sine and cosine of a float32 angle, in float64. Any finite angle is
// reduced exactly; infinities and NaN give NaN.
func SinCos(angle float32) (sin, cos float64) {
	x := float64(angle)
	if x != x || math.IsInf(x, 0) {
		return math.NaN(), math.NaN()
	}
	n, r := reduce(x)
	s, c := sinSeries(r), cosSeries(r)
	switch n & 3 {
	case 1:
		s, c = c, -s
	case 2:
		s, c = -s, -c
	case 3:
		s, c = -c, s
	}
	return s, c
}

// pi/2 in parts of 33 bits, whose products with numbers below 2^20 are exact
// (fdlibm's split).
const (
	halfPi1 = 1.57079632673412561417e+00
	halfPi2 = 6.07710050630396597660e-11
	halfPi3 = 2.02226624871116645580e-21
	halfPi4 = 8.47842766036889956997e-32
)

// reduce returns n and r with x = n*pi/2 + r and |r| at most about pi/4; only the
// last two bits of n are right for large x.
func reduce(x float64) (n int, r float64) {
	if math.Abs(x) > 1e6 {
		return reduceLarge(x)
	}
	k := math.Floor(float64(x*(2/math.Pi)) + 0.5)
	r = x - float64(k*halfPi1)
	r -= float64(k * halfPi2)
	r -= float64(k * halfPi3)
	r -= float64(k * halfPi4)
	return int(k), r
}

// halfPiDigits has more digits than the 24+128+64 bits that the reduction of the
// largest float32 to float64 precision needs.
const halfPiDigits = "1.5707963267948966192313216916397514420985846996875529104874722961539082031431044993140174126710585339910740432566411533"

func reduceLarge(x float64) (n int, r float64) {
	const precision = 400
	half, _, err := big.ParseFloat(halfPiDigits, 10, precision, big.ToNearestEven)
	if err != nil {
		panic("kernel: the digits of pi are no number: " + err.Error())
	}
	q := new(big.Float).SetPrec(precision).SetFloat64(x)
	q.Quo(q, half)
	q.Add(q, new(big.Float).SetPrec(precision).SetFloat64(math.Copysign(0.5, x)))
	k, _ := q.Int(nil) // towards zero, so to the nearest
	rest := new(big.Float).SetPrec(precision).SetInt(k)
	rest.Mul(rest, half)
	rest.Sub(new(big.Float).SetPrec(precision).SetFloat64(x), rest)
	r, _ = rest.Float64()
	return int(new(big.Int).And(k, big.NewInt(3)).Int64()), r
}

// The Taylor series on |r| <= pi/4; the first terms left out are below 2^-58.

func sinSeries(r float64) float64 {
	z := float64(r * r)
	p := 0.0
	for n := 17; n >= 3; n -= 2 {
		// 1 - z/(2*3) * (1 - z/(4*5) * (...))
		p = float64(float64(z/float64(n*(n-1))) * (1 - p))
	}
	return r - float64(r*p)
}

func cosSeries(r float64) float64 {
	z := float64(r * r)
	p := 0.0
	for n := 18; n >= 4; n -= 2 {
		p = float64(float64(z/float64(n*(n-1))) * (1 - p))
	}
	// cos = 1 - z/2 * (1 - p)
	return 1 - float64(float64(0.5*z)*(1-p))
}

// Sqrt is the correctly rounded square root.
func Sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// Exp32 is e to the power of x, rounded to float32.
func Exp32(x float32) float32 { return float32(Exp(float64(x))) }

// Sigmoid is 1/(1+exp(-x)), computed in float64 and rounded once.
func Sigmoid(x float32) float32 { return float32(1 / (1 + Exp(-float64(x)))) }

// Silu is x*sigmoid(x), computed in float64 and rounded once.
func Silu(x float32) float32 { return float32(float64(x) / (1 + Exp(-float64(x)))) }
