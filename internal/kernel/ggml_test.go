package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"shakedown/internal/numfmt"
)

var blockTypes = []numfmt.GGUF{numfmt.GGUFQ8_0, numfmt.GGUFQ4_0, numfmt.GGUFQ4_1, numfmt.GGUFQ5_0, numfmt.GGUFQ5_1, numfmt.GGUFQ4_K, numfmt.GGUFQ5_K, numfmt.GGUFQ6_K}

// TestGGML: the ggml numerics equal the product of the decoded weights with the
// activations as quantised, to float32 rounding, for any batch and threads.
func TestGGML(t *testing.T) {
	for _, kind := range blockTypes {
		r := rand.New(rand.NewPCG(6, uint64(kind)))
		values, _, _ := kind.Block()
		cols, rows, n := max(values, 32)*5, 37, 5
		m := ggufSample(kind).make(r, rows, cols)
		x := floatsOf(r, n*cols, 1)
		got, again, one := make([]float32, n*rows), make([]float32, n*rows), make([]float32, rows)
		m.MulMatGGML(nil, got, x, n)
		m.MulMatGGML(NewPool(3), again, x, n)
		wantSame(t, kind.String()+" with threads", again, got)
		row := make([]float32, cols)
		for i := range n {
			m.MulMatGGML(nil, one, x[i*cols:][:cols], 1)
			wantSame(t, kind.String()+" alone", one, got[i*rows:][:rows])
			y := quantisedActivations(x[i*cols:][:cols], values)
			for k := range rows {
				m.Row(k, row)
				sum, size := 0.0, 0.0
				for c := range row {
					p := float64(row[c]) * y[c]
					sum, size = sum+p, size+math.Abs(p)
				}
				// Formats of 32 with a minimum store the sum of a block in binary16.
				limit := 1e-6 * size
				if minimums(kind) && values == 32 {
					limit = 1e-3 * size
				}
				if d := math.Abs(float64(got[i*rows+k]) - sum); d > limit {
					t.Errorf("%v: result %d of %d = %v, want %v (terms sum to %v)", kind, k, i, got[i*rows+k], sum, size)
				}
			}
		}
	}
}

// quantisedActivations is what eight bits leave of x, worked out anew.
func quantisedActivations(x []float32, block int) []float64 {
	y := make([]float64, len(x))
	for b := 0; b < len(x); b += block {
		at, amax := 0, 0.0
		for i := b; i < b+block; i++ {
			if a := math.Abs(float64(x[i])); a > amax {
				at, amax = i, a
			}
		}
		d := float64(numfmt.RoundF16(float32(amax / 127)))
		inverse := 127 / float32(amax)
		if block == 256 {
			inverse = -127 / x[at]
			d = float64(1 / inverse)
		}
		for i := b; i < b+block; i++ {
			y[i] = math.RoundToEven(float64(float32(x[i]*inverse))) * d
		}
	}
	return y
}

func TestGGMLSpecialActivations(t *testing.T) {
	for _, kind := range blockTypes {
		r := rand.New(rand.NewPCG(7, uint64(kind)))
		m := ggufSample(kind).make(r, 4, 512)
		for what, bad := range map[string]float32{"NaN": float32(math.NaN()), "infinity": float32(math.Inf(-1))} {
			x := floatsOf(r, 512, 1)
			x[300] = bad
			dst := make([]float32, 4)
			m.MulMatGGML(nil, dst, x, 1)
			if dst[0] == dst[0] {
				t.Errorf("%v: a product with %s is %v, want NaN", kind, what, dst[0])
			}
		}
		dst := []float32{1, 1, 1, 1}
		m.MulMatGGML(nil, dst, make([]float32, 512), 1)
		if dst[0] != 0 {
			t.Errorf("%v: a product with zeros is %v", kind, dst[0])
		}
	}
}

// TestGGMLOtherFormats: halves round the activations, formats that ggml doesn't
// have are exact.
func TestGGMLOtherFormats(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	x := floatsOf(r, 512, 1)
	for _, s := range samples() {
		m := s.make(r, 5, 512)
		y := append([]float32(nil), x...)
		switch m.Kind() {
		case "BF16":
			numfmt.RoundBF16s(y)
		case "F16":
			for i, v := range y {
				y[i] = numfmt.RoundF16(v)
			}
		case "floats", "F32", "f32", "nvfp4", "fp8-e4m3fn":
		default:
			continue
		}
		got, want := make([]float32, 5), make([]float32, 5)
		m.MulMatGGML(nil, got, x, 1)
		m.MulVec(nil, want, y)
		wantSame(t, s.name, got, want)
	}
}

// checkBlocks is the part of the contract about block formats.
func checkBlocks(t *testing.T, a arithmetic, r *rand.Rand, floats func(*rand.Rand, int) []float32, raw func(n int) []byte) {
	var ref scalar
	for _, kind := range blockTypes {
		values, size, _ := kind.Block()
		blocks := 1 + r.IntN(512/values)
		n := blocks * values
		src := raw(blocks * size)
		var got, want scratch
		a.unpack(kind, got.codes[:], got.scale[:], got.min[:], src, blocks)
		ref.unpack(kind, want.codes[:], want.scale[:], want.min[:], src, blocks)
		if got.codes != want.codes {
			t.Fatalf("%v: codes %x, scalar %x", kind, got.codes[:n], want.codes[:n])
		}
		wantSame(t, kind.String()+" scales", got.scale[:], want.scale[:])
		wantSame(t, kind.String()+" minimums", got.min[:], want.min[:])
		a.codesDecode(got.tile[:n], want.codes[:], float32(offsets[kind]), want.scale[:], want.min[:])
		ref.codesDecode(want.tile[:n], want.codes[:], float32(offsets[kind]), want.scale[:], want.min[:])
		wantSame(t, kind.String()+" weights", got.tile[:n], want.tile[:n])
		kind.Decode(got.tile[:n], src)
		wantSame(t, kind.String()+" weights of numfmt", got.tile[:n], want.tile[:n])

		for row := range 4 {
			ref.unpack(kind, want.codes[row*segment:], want.scale[row*segment/4:], want.min[row*segment/32:], src[row%blocks*size:], 1)
		}
		width, tokens := 64*(1+r.IntN(8)), 1+r.IntN(4)
		stride := width + 64*r.IntN(2)
		y := make([]int8, tokens*stride)
		bias := make([]int32, tokens*stride/4)
		for i := range y {
			y[i] = int8(r.IntN(255) - 127)
			bias[i/4] -= int32(offsets[kind]) * int32(y[i])
		}
		start, yscale := floats(r, 64*tokens), floats(r, tokens*stride/4)
		gotAcc, wantAcc := lanesOf(start), lanesOf(start)
		a.dotQ8(kind, gotAcc, want.codes[:], want.scale[:], y, yscale, bias, width, tokens, stride)
		ref.dotQ8(kind, wantAcc, want.codes[:], want.scale[:], y, yscale, bias, width, tokens, stride)
		wantSame(t, kind.String()+" products", flat(gotAcc), flat(wantAcc))
	}
	blocks := 1 + r.IntN(5)
	x := floats(r, 32*blocks)
	gotCodes, wantCodes := make([]int8, 32*blocks), make([]int8, 32*blocks)
	gotScale, wantScale := make([]float32, blocks), make([]float32, blocks)
	a.quantize32(gotCodes, gotScale, x)
	ref.quantize32(wantCodes, wantScale, x)
	wantSame(t, "scales of activations", gotScale, wantScale)
	offset := int32(8 * r.IntN(17))
	gotBias, wantBias := make([]int32, 8*blocks), make([]int32, 8*blocks)
	spread := func(a arithmetic, bias []int32, sums bool) []float32 {
		all := make([]float32, 9*blocks)
		var sum []float32
		if sums {
			sum = all[8*blocks:]
		}
		a.spread32(all, bias, sum, wantCodes, wantScale, offset)
		return all
	}
	for _, sums := range []bool{false, true} {
		wantSame(t, "spread scales and sums", spread(a, gotBias, sums), spread(ref, wantBias, sums))
		if !slices.Equal(gotBias, wantBias) {
			t.Fatalf("biases of %d: %d, scalar %d", wantCodes, gotBias, wantBias)
		}
	}
	for i := range wantCodes {
		if gotCodes[i] != wantCodes[i] {
			t.Fatalf("activation %v (of %v) has code %d, scalar %d", x[i], x, gotCodes[i], wantCodes[i])
		}
	}
}

// TestStoredBlocks: products of one token with stored blocks have the bits of the
// scalar code for rows of any length, the last of which ends where memory does, and
// for any stored bytes.
func TestStoredBlocks(t *testing.T) {
	defer func(a arithmetic) { arith = a }(arith)
	for _, kind := range []numfmt.GGUF{numfmt.GGUFQ8_0, numfmt.GGUFQ4_0, numfmt.GGUFQ4_1} {
		r := rand.New(rand.NewPCG(21, uint64(kind)))
		_, size, _ := kind.Block()
		for cols := 32; cols <= 1600; cols += 32 {
			rows := 1 + r.IntN(18)
			stored := bytesOf(r, rows*cols/32*size)
			if cols%3 > 0 { // scales of ordinary size
				for at := 0; at < len(stored); at += size {
					stored[at+1] = stored[at+1]&0x83 | 0x24
					if kind == numfmt.GGUFQ4_1 {
						stored[at+3] = stored[at+3]&0x83 | 0x24
					}
				}
			}
			m := must(Dense(kind, stored[:len(stored):len(stored)], rows, cols))
			x := tame(r, cols)
			if cols%5 == 0 {
				x = wild(r, cols)
			}
			want := make([]float32, rows)
			for i, a := range implementations {
				arith = a
				got := make([]float32, rows)
				m.MulMatGGML(nil, got, x, 1)
				if i == 0 {
					want = got
				}
				wantSame(t, kind.String()+" "+a.name(), got, want)
			}
		}
	}
}
