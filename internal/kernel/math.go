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
	// ln2 in two parts; the upper one has 32 bits, so that its product with an
	// exponent is exact.
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// ln2/32 in two parts; the upper one has 21 bits, so that its product with a whole
// number below 2^31 is exact.
const (
	stepHi  = 0x1.62e4200000000p-6
	stepLo  = 0x1.fdf473de6af28p-27
	perStep = 0x1.71547652b82fep+5 // 32/ln2
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
	// x = k*ln2/32 + r with |r| <= ln2/64. Adding and taking away rounds to a
	// whole number, which the lowest bits of the sum hold.
	const magic = 0x1.8p52
	t := float64(x*perStep) + magic
	kd := t - magic
	k := int(int32(math.Float64bits(t)))
	r := x - float64(kd*stepHi) - float64(kd*stepLo)
	// The series of e^r - 1; the first term left out is below 2^-57.
	z := float64(r * r)
	p := 1.0/24 + float64(r*(1.0/120)) + float64(z*(1.0/720))
	p = r + float64(z*(0.5+float64(r*(1.0/6))+float64(z*p)))
	power := expPowers[k&31]
	return scaleByPower(power+float64(power*p), k>>5)
}

// scaleByPower is x times 2^k, for x in [1, 2].
func scaleByPower(x float64, k int) float64 {
	if k >= -1022 && k <= 1022 {
		return x * math.Float64frombits(uint64(k+1023)<<52)
	}
	return math.Ldexp(x, k)
}

// expPowers are 2^(j/32), rounded.
var expPowers = [32]float64{
	0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
	0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
	0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
	0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
	0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
	0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
	0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
	0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0,
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
