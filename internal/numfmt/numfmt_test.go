package numfmt

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

// nearest finds the code whose value is nearest to x by trying all, the even one
// of two equally near. codes excludes those that mean no number.
func nearest(x float64, codes []uint8, value func(uint8) float32) uint8 {
	best, bestDistance := uint8(0), math.Inf(1)
	for _, c := range codes {
		d := math.Abs(float64(value(c)) - x)
		if d < bestDistance || d == bestDistance && c&1 == 0 && best&1 == 1 {
			best, bestDistance = c, d
		}
	}
	return best
}

// probes are the values around which rounding decides: all codes, the middles
// between neighbours, their float32 neighbours, and random ones.
func probes(value func(uint8) float32, codes []uint8) []float32 {
	var out []float32
	add := func(x float32) {
		out = append(out, x, math.Nextafter32(x, float32(math.Inf(1))), math.Nextafter32(x, float32(math.Inf(-1))))
	}
	for i, c := range codes {
		add(value(c))
		if i > 0 {
			add((value(c) + value(codes[i-1])) / 2)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		out = append(out, float32(r.NormFloat64()*math.Exp2(float64(r.IntN(20)-12))))
	}
	return out
}

// TestFP8Exhaustive encodes every code back to itself and compares rounding with
// a search over all codes.
func TestFP8Exhaustive(t *testing.T) {
	for _, f := range []FP8{E4M3FN, E4M3FNUZ, E5M2} {
		var positive []uint8 // of rising value
		for c := range 128 {
			if v := f.Decode(uint8(c)); v-v == 0 {
				positive = append(positive, uint8(c))
			}
		}
		if got := f.Decode(positive[len(positive)-1]); got != f.Max() {
			t.Errorf("%v: largest %v, Max %v", f, got, f.Max())
		}
		for c := range 256 {
			v := f.Decode(uint8(c))
			for _, o := range []Overflow{Saturate, NonFinite} {
				if v != v || o == Saturate && math.IsInf(float64(v), 0) {
					continue
				}
				if got := f.Encode(v, o); got != uint8(c) {
					t.Errorf("%v: code %#02x = %v encodes to %#02x", f, c, v, got)
				}
			}
		}
		for _, x := range probes(f.Decode, positive) {
			want := nearest(math.Abs(float64(x)), positive, f.Decode)
			if math.Signbit(float64(x)) && (f != E4M3FNUZ || want != 0) {
				want |= 0x80
			}
			if got := f.Encode(x, Saturate); got != want {
				t.Errorf("%v: %v encodes to %#02x, want %#02x", f, x, got, want)
			}
		}
	}
}

func TestFP8Overflow(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		f    FP8
		x    float32
		o    Overflow
		want uint8
	}{
		{E4M3FN, 464, NonFinite, 0x7e}, {E4M3FN, math.Nextafter32(464, 500), NonFinite, 0x7f}, {E4M3FN, -1e30, NonFinite, 0xff},
		{E4M3FN, inf, NonFinite, 0x7f}, {E4M3FN, inf, Saturate, 0x7e}, {E4M3FN, -inf, Saturate, 0xfe}, {E4M3FN, nan, Saturate, 0x7f},
		{E4M3FNUZ, 247.9, NonFinite, 0x7f}, {E4M3FNUZ, 248, NonFinite, 0x80}, {E4M3FNUZ, -inf, Saturate, 0xff}, {E4M3FNUZ, nan, Saturate, 0x80},
		{E4M3FNUZ, float32(math.Copysign(0, -1)), Saturate, 0},
		{E5M2, 61439, NonFinite, 0x7b}, {E5M2, 61440, NonFinite, 0x7c}, {E5M2, -inf, NonFinite, 0xfc}, {E5M2, inf, Saturate, 0x7b},
	} {
		if got := c.f.Encode(c.x, c.o); got != c.want {
			t.Errorf("%v: %v encodes to %#02x, want %#02x", c.f, c.x, got, c.want)
		}
	}
	if got := E4M3FNUZ.Decode(ToFNUZ(0x47)) * 2; got != E4M3FN.Decode(0x47) {
		t.Errorf("E4M3FN 0x47 as E4M3FNUZ times two = %v", got)
	}
	if got := E4M3FNUZ.Decode(ToFNUZ(0x80)); got != 0 {
		t.Errorf("-0 as E4M3FNUZ = %v", got)
	}
}

// TestHalf checks all 65536 codes of both 16-bit formats: they come back, and the
// middle between neighbours goes to the even one.
func TestHalf(t *testing.T) {
	for _, f := range []struct {
		name   string
		decode func(uint16) float32
		encode func(float32) uint16
		man    int
	}{{"bf16", BF16, EncodeBF16, 7}, {"f16", F16, EncodeF16, 10}} {
		for c := range 1 << 16 {
			v := f.decode(uint16(c))
			if v != v {
				if back := f.decode(f.encode(v)); back == back {
					t.Errorf("%s: NaN %#04x encodes to %v", f.name, c, back)
				}
				continue
			}
			if got := f.encode(v); got != uint16(c) {
				t.Errorf("%s: code %#04x = %v encodes to %#04x", f.name, c, v, got)
			}
			if c&0x7fff == 0x7fff || math.IsInf(float64(v), 0) {
				continue
			}
			next := f.decode(uint16(c + 1))
			if math.IsInf(float64(next), 0) {
				continue
			}
			middle := float32((float64(v) + float64(next)) / 2)
			if got, want := f.encode(middle), uint16(c+c&1); got != want {
				t.Errorf("%s: the middle above %#04x encodes to %#04x, want %#04x", f.name, c, got, want)
			}
		}
	}
	for x, want := range map[float32]uint16{65519: 0x7bff, 65520: 0x7c00, -70000: 0xfc00, 1: 0x3c00, 0x1p-25: 0, 0x1.8p-25: 1} {
		if got := EncodeF16(x); got != want {
			t.Errorf("f16 of %v = %#04x, want %#04x", x, got, want)
		}
	}
	if got := EncodeBF16(math.MaxFloat32); got != 0x7f80 {
		t.Errorf("bf16 of the largest float32 = %#04x, want infinity", got)
	}
}

func TestE2M1(t *testing.T) {
	var positive []uint8
	for c := range uint8(8) {
		positive = append(positive, c)
	}
	for _, x := range probes(E2M1, positive) {
		want := nearest(math.Abs(float64(x)), positive, E2M1)
		if math.Signbit(float64(x)) {
			want |= 8
		}
		if got := EncodeE2M1(x, E2M1MLDtypes); got != want {
			t.Errorf("%v encodes to %d, want %d", x, got, want)
		}
	}
	negativeZero, nan := float32(math.Copysign(0, -1)), float32(math.NaN())
	for _, c := range []struct {
		x    float32
		rule E2M1Rule
		want uint8
	}{
		{negativeZero, E2M1Modelopt, 0}, {-0.1, E2M1Modelopt, 8}, {nan, E2M1Modelopt, 7}, {nan, E2M1CompressedTensors, 0}, {nan, E2M1MLDtypes, 8},
		{0.75, E2M1Modelopt, 2}, {0.75, E2M1ModeloptMX, 1}, {0.75, E2M1DeepGEMM, 1}, {1.25, E2M1Modelopt, 2}, {1.25, E2M1DeepGEMM, 2},
		{0, E2M1ModeloptMX, 8}, {0.1, E2M1ModeloptMX, 0}, {-0.1, E2M1ModeloptMX, 8}, {-0.1, E2M1DeepGEMM, 0}, {-0.3, E2M1DeepGEMM, 9},
	} {
		if got := EncodeE2M1(c.x, c.rule); got != c.want {
			t.Errorf("%v by rule %d encodes to %d, want %d", c.x, c.rule, got, c.want)
		}
	}
}

func TestE8M0(t *testing.T) {
	for c := range 255 {
		v := E8M0(uint8(c))
		if want := math.Ldexp(1, c-127); float64(v) != want {
			t.Errorf("code %d = %v, want %v", c, v, want)
		}
		if got := EncodeE8M0(v, E8M0PositiveOnly); got != uint8(c) {
			t.Errorf("%v encodes to %d, want %d", v, got, c)
		}
	}
	if v := E8M0(255); v == v {
		t.Errorf("code 255 = %v, want NaN", v)
	}
	for x, want := range map[float32]uint8{1.49: 127, 1.5: 128, 3: 129, 3.4e38: 255} {
		if got := EncodeE8M0(x, E8M0IgnoreSign); got != want {
			t.Errorf("%v encodes to %d, want %d", x, got, want)
		}
	}
	if EncodeE8M0(0, E8M0IgnoreSign) != 0 || EncodeE8M0(0, E8M0PositiveOnly) != 255 || EncodeE8M0(-4, E8M0IgnoreSign) != 129 || EncodeE8M0(-4, E8M0PositiveOnly) != 255 {
		t.Error("zero and negative values do not follow the rule")
	}
}

// TestUE8M0Packing: words of powers of two survive, and the unchecked packing of
// others has bytes that are wrong, NaN among them.
func TestUE8M0Packing(t *testing.T) {
	good := [4]float32{1, 0.5, 0x1p-14, 0x1p100}
	if got, want := PackUE8M0(good), uint32(227<<24|113<<16|126<<8|127); got != want {
		t.Errorf("packed %08x, want %08x", got, want)
	}
	if PackUE8M0Unchecked(good) != PackUE8M0(good) {
		t.Error("the unchecked packing of powers of two differs")
	}
	// The mantissa of the second, all ones, floods the first byte.
	bad := [4]float32{0.25, math.Float32frombits(126<<23 | 0x7fffff), 1, 1}
	if IsPowerOfTwo(bad[1]) || !IsPowerOfTwo(bad[0]) || IsPowerOfTwo(0) || IsPowerOfTwo(-1) {
		t.Error("IsPowerOfTwo")
	}
	s := UnpackUE8M0(PackUE8M0Unchecked(bad))
	if s[0] == s[0] {
		t.Errorf("first scale = %v, want NaN", s[0])
	}
	rows := []float32{1, 2, 4, 8, 16, 0.5, 1, 2, 4, 8}
	back := UnpackUE8M0Rows(PackUE8M0Rows(rows, 2, 5, false), 2, 5)
	wantFloats(t, "rows", back, rows)
	for x, want := range map[float32]float32{1: 1, 1.1: 2, 0.3: 0.5, 0: 0x1p-126, float32(math.Inf(1)): 0x1p127} {
		if got := CeilUE8M0(x); got != want {
			t.Errorf("CeilUE8M0(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestFP8BlocksPartialEdges(t *testing.T) {
	const rows, cols = 130, 200
	w := make([]float32, rows*cols)
	r := rand.New(rand.NewPCG(5, 5))
	for i := range w {
		w[i] = float32(r.NormFloat64()) * float32(1+i/cols/128*100) * float32(1+i%cols/128*10)
	}
	codes, scales := QuantizeFP8Blocks(w, rows, cols, ScaleFloat)
	if len(scales) != 4 {
		t.Fatalf("%d scales, want 2 x 2", len(scales))
	}
	back := DecodeFP8Blocks(codes, scales, rows, cols)
	for i, v := range w {
		s := scales[i/cols/128*2+i%cols/128]
		if d := math.Abs(float64(back[i] - v)); d > math.Max(math.Abs(float64(v))/15, float64(s)*0x1p-9) {
			t.Fatalf("weight %d: %v came back as %v", i, v, back[i])
		}
	}
	codes2, scales2 := RequantizeUE8M0(codes, scales, rows, cols)
	for i, s := range scales2 {
		if !IsPowerOfTwo(s) || s < scales[i]*0.99 || s > scales[i]*2.01 {
			t.Errorf("scale %v became %v", scales[i], s)
		}
	}
	if len(codes2) != len(codes) {
		t.Error("requantisation changed the number of codes")
	}
}

// TestZeroTile is the fault of a KV cache without a floor: an all-zero tile of the
// latent becomes NaN, with a floor it stays zero.
func TestZeroTile(t *testing.T) {
	latent, rope := make([]float32, MLALatent), make([]float32, MLARope)
	for i := range latent {
		if i/FP8Block != 2 {
			latent[i] = float32(i%7) - 3
		}
	}
	for i := range rope {
		rope[i] = float32(i) / 4
	}
	for _, rule := range []MLARule{{}, {Divide: true}, {Floor: true}, {Floor: true, Divide: true}} {
		record := make([]byte, MLA656)
		EncodeMLA656(record, latent, rope, rule)
		back, backRope := make([]float32, MLALatent), make([]float32, MLARope)
		DecodeMLA656(back, backRope, record)
		wantFloats(t, "rope", backRope, rope)
		for i, v := range back {
			inTile := i/FP8Block == 2
			if nan := v != v; nan != (inTile && !rule.Floor) {
				t.Fatalf("%+v: latent %d = %v", rule, i, v)
			}
		}
		// Read as 576 bytes, the roped key is scales and BF16 halves taken for codes.
		wrong := make([]float32, MLARope)
		DecodeMLA576(back, wrong, record, 1)
		equal := 0
		for i := range wrong {
			if same(wrong[i], rope[i]) {
				equal++
			}
		}
		if equal > 8 {
			t.Errorf("%d of 64 roped values survived a read of the wrong kind", equal)
		}
	}
	if MLA656 != 656 || MLA576 != 576 || IndexKeyRecord != 132 {
		t.Error("record sizes")
	}
}

func TestMissingInputScale(t *testing.T) {
	x := []float32{0, 1, -2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	y := make([]float32, len(x))
	NVFP4Activation(y, x, 0)
	if y[0] == y[0] || y[1] == y[1] {
		t.Errorf("NVFP4 with input_scale 0 = %v, want NaN", y)
	}
	FP8StaticActivation(y, x, 0)
	if y[0] == y[0] || y[1] != 0 {
		t.Errorf("FP8 with input_scale 0 = %v, want NaN for 0/0 and 448*0 = 0 for 1/0", y[:2])
	}
	NVFP4Activation(y, x, 3.0/2688)
	wantFloats(t, "nvfp4", y[:4], []float32{0, 1, -2, 3})
	FP8Activation(y, x, ScaleUE8M0)
	wantFloats(t, "fp8 ue8m0", y[:4], x[:4])
	FP8TokenActivation(y, x)
	if d := math.Abs(float64(y[3]) - 3); d > 1e-6 || y[0] != 0 {
		t.Errorf("fp8 per token: 3 became %v", y[3])
	}
}

// TestInt4Layouts packs one matrix in three ways and unpacks it.
func TestInt4Layouts(t *testing.T) {
	const rows, cols, group, groups = 16, 64, 32, 2
	r := rand.New(rand.NewPCG(7, 7))
	code := func(n int) []uint8 {
		q := make([]uint8, n)
		for i := range q {
			q[i] = uint8(r.IntN(16))
		}
		return q
	}
	q, zeros := code(rows*cols), code(rows*groups)
	scales := make([]float32, rows*groups)
	want := make([]float32, rows*cols)
	for i := range scales {
		scales[i] = float32(1+i) / 64
	}
	for i := range want {
		g := i/cols*groups + i%cols/group
		want[i] = (float32(q[i]) - float32(zeros[g])) * scales[g]
	}
	put := func(b []byte, word, nibble int, v uint8) { b[word*4+nibble/2] |= v << (nibble % 2 * 4) }
	gptq, gptqZeros := make([]byte, rows*cols/2), make([]byte, rows*groups/2)
	gptqZeros1 := make([]byte, rows*groups/2)
	awq, awqZeros := make([]byte, rows*cols/2), make([]byte, rows*groups/2)
	packed, packedZeros := make([]byte, rows*cols/2), make([]byte, rows*groups/2)
	place := [8]int{0, 4, 1, 5, 2, 6, 3, 7} // nibble of the column in an AWQ word
	byGroup := make([]float32, rows*groups)
	for o := range rows {
		for i := range cols {
			put(gptq, i/8*rows+o, i%8, q[o*cols+i])
			put(awq, i*rows/8+o/8, place[o%8], q[o*cols+i])
			put(packed, (o*cols+i)/8, i%8, q[o*cols+i])
		}
		for g := range groups {
			z := zeros[o*groups+g]
			put(gptqZeros, g*rows/8+o/8, o%8, z)
			put(gptqZeros1, g*rows/8+o/8, o%8, (z-1)&15)
			put(awqZeros, g*rows/8+o/8, place[o%8], z)
			put(packedZeros, o/8*groups+g, o%8, z)
			byGroup[g*rows+o] = scales[o*groups+g]
		}
	}
	decode := func(m *Int4) []float32 {
		out := make([]float32, rows*cols)
		for o := range rows {
			m.Decode(out[o*cols:][:40], o, 0)
			m.Decode(out[o*cols+40:][:24], o, 40)
		}
		return out
	}
	wantFloats(t, "gptq v2", decode(FromGPTQ(gptq, gptqZeros, byGroup, nil, rows, cols, group, GPTQStored)), want)
	wantFloats(t, "awq", decode(FromAWQ(awq, awqZeros, byGroup, rows, cols, group)), want)
	wantFloats(t, "pack-quantized", decode(&Int4{Rows: rows, Cols: cols, Group: group, Codes: packed, Scales: scales, Zeros: ZerosPackQuantized(packedZeros, rows, groups, 4)}), want)

	v1 := decode(FromGPTQ(gptq, gptqZeros1, byGroup, nil, rows, cols, group, GPTQStoredMinusOne))
	for i := range want {
		g := i/cols*groups + i%cols/group
		w := want[i]
		if zeros[g] == 0 { // stored as 15, which means 16
			w = (float32(q[i]) - 16) * scales[g]
		}
		if v1[i] != w {
			t.Fatalf("gptq v1: weight %d = %v, want %v", i, v1[i], w)
		}
	}

	// Columns in another order of groups.
	gIdx := make([]int32, cols)
	for i := range gIdx {
		gIdx[i] = int32(i & 1)
	}
	ordered := decode(FromGPTQ(gptq, gptqZeros, byGroup, gIdx, rows, cols, group, GPTQStored))
	if w := (float32(q[1]) - float32(zeros[1])) * scales[1]; ordered[1] != w {
		t.Errorf("with g_idx, weight 1 = %v, want %v", ordered[1], w)
	}

	symmetric := decode(&Int4{Rows: rows, Cols: cols, Group: group, Codes: packed, Scales: scales})
	if w := (float32(q[5]) - 8) * scales[0]; symmetric[5] != w {
		t.Errorf("symmetric: weight 5 = %v, want %v", symmetric[5], w)
	}
}

// TestInt8Layouts packs one matrix in three ways and unpacks it.
func TestInt8Layouts(t *testing.T) {
	const rows, cols, group, groups = 8, 48, 16, 3
	r := rand.New(rand.NewPCG(8, 8))
	scales, byGroup := make([]float32, rows*groups), make([]float32, rows*groups)
	zeros, stored := make([]byte, rows*groups), make([]byte, rows*groups)
	zeroPoints, packedZeros := make([]int16, rows*groups), make([]byte, rows*groups)
	for o := range rows {
		for g := range groups {
			i := o*groups + g
			scales[i] = float32(1+i) / 64
			zeros[i] = uint8(r.IntN(256))
			zeroPoints[i] = int16(zeros[i])
			byGroup[g*rows+o] = scales[i]
			stored[g*rows+o] = zeros[i] - 1
			packedZeros[(o/4*groups+g)*4+o%4] = zeros[i]
		}
	}
	codes, gptq, want, v1 := make([]byte, rows*cols), make([]byte, rows*cols), make([]float32, rows*cols), make([]float32, rows*cols)
	for o := range rows {
		for c := range cols {
			i, g := o*cols+c, o*groups+c/group
			codes[i] = uint8(r.IntN(256))
			gptq[(c/4*rows+o)*4+c%4] = codes[i]
			want[i] = float32(int(codes[i])-int(zeros[g])) * scales[g]
			v1[i] = want[i]
			if zeros[g] == 0 { // stored as 255, which means 256
				v1[i] = float32(int(codes[i])-256) * scales[g]
			}
		}
	}
	decode := func(m *Int8) []float32 {
		out := make([]float32, rows*cols)
		for o := range rows {
			m.Decode(out[o*cols:][:20], o, 0)
			m.Decode(out[o*cols+20:][:28], o, 20)
		}
		return out
	}
	wantFloats(t, "gptq", decode(FromGPTQ8(gptq, stored, byGroup, nil, rows, cols, group, GPTQStoredMinusOne)), v1)
	if got := ZerosPackQuantized(packedZeros, rows, groups, 8); !bytes.Equal(got, zeros) {
		t.Errorf("zero points %v, want %v", got, zeros)
	}
	m := &Int8{Rows: rows, Cols: cols, Group: group, Codes: codes, Scales: scales, Zeros: zeroPoints}
	wantFloats(t, "pack-quantized", decode(m), want)
	m.Zeros = nil
	if got := decode(m)[0]; got != float32(int(codes[0])-128)*scales[0] {
		t.Errorf("symmetric: %v of code %d", got, codes[0])
	}
	m.Signed = true
	if got := decode(m)[0]; got != float32(int8(codes[0]))*scales[0] {
		t.Errorf("signed: %v of code %d", got, codes[0])
	}
}

// TestInt8Activation has the codes of a row by hand.
func TestInt8Activation(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := []float32{127, -127, 0.5, 1.5, -2.5, 126.6, nan}
	got := make([]float32, len(x))
	Int8TokenActivation(got, x)
	wantFloats(t, "per token", got, []float32{127, -127, 0, 2, -2, 127, 0})
	Int8StaticActivation(got, x, 0.5)
	wantFloats(t, "static", got, []float32{63.5, -64, 0.5, 1.5, -2.5, 63.5, 0})
	Int8TokenActivation(got[:2], []float32{0, 0})
	wantFloats(t, "zeros", got[:2], []float32{0, 0})
	Int8TokenActivation(got[:2], []float32{1, inf})
	if got[0] == got[0] || got[1] == got[1] {
		t.Errorf("an infinity gives %v", got[:2])
	}
}

// TestGGUFBlocks decodes blocks that were written by hand, field by field.
func TestGGUFBlocks(t *testing.T) {
	f16 := func(x float32) []byte { c := EncodeF16(x); return []byte{byte(c), byte(c >> 8)} }
	cat := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	codes16 := make([]byte, 16) // value j has code j, value j+16 code 15-j
	codes128 := make([]byte, 128)
	for j := range codes16 {
		codes16[j] = byte(j | (15-j)<<4)
	}
	for j := range codes128 { // group 2k: j mod 16; group 2k+1: 15 - j mod 16
		codes128[j] = byte(j%16 | (15-j%16)<<4)
	}
	high5 := []byte{0xff, 0xff, 0, 0} // the fifth bit of values 0..15
	signed := make([]byte, 32)
	for j := range signed {
		signed[j] = byte(j - 16)
	}
	// Scales 1..8 and minimums 33..40 in six bits: low parts of 4..7 and high bits.
	kScales := make([]byte, 12)
	for j := range 4 {
		kScales[j] = byte(1+j) | byte(5+j)>>4<<6
		kScales[4+j] = byte(33+j) | byte(37+j)>>4<<6
		kScales[8+j] = byte(5+j)&15 | byte(37+j)&15<<4
	}
	high256 := make([]byte, 32) // group g of value j has the fifth bit if j >= 16
	for j := 16; j < 32; j++ {
		high256[j] = 0xff
	}
	q6scales := make([]byte, 16)
	for j := range q6scales {
		q6scales[j] = byte(int8(j - 8))
	}
	q6high := make([]byte, 64) // the upper two bits are 0, 1, 2, 3 for the four runs
	for j := range q6high {
		q6high[j] = 0b11100100
	}
	low := func(i int) float32 { // code of value i in 32-value blocks
		if i < 16 {
			return float32(i)
		}
		return float32(31 - i)
	}
	k4 := func(i int) float32 {
		if i/32%2 == 0 {
			return float32(i % 16)
		}
		return float32(15 - i%16)
	}
	for _, c := range []struct {
		t     GGUF
		block []byte
		want  func(i int) float32
	}{
		{GGUFQ4_0, cat(f16(0.5), codes16), func(i int) float32 { return (low(i) - 8) * 0.5 }},
		{GGUFQ4_1, cat(f16(0.5), f16(-3), codes16), func(i int) float32 { return low(i)*0.5 - 3 }},
		{GGUFQ5_0, cat(f16(0.25), high5, codes16), func(i int) float32 {
			if i < 16 {
				return low(i) * 0.25
			}
			return (low(i) - 16) * 0.25
		}},
		{GGUFQ5_1, cat(f16(0.25), f16(1), high5, codes16), func(i int) float32 {
			if i < 16 {
				return (low(i)+16)*0.25 + 1
			}
			return low(i)*0.25 + 1
		}},
		{GGUFQ8_0, cat(f16(2), signed), func(i int) float32 { return float32(i-16) * 2 }},
		{GGUFQ4_K, cat(f16(0.5), f16(0.25), kScales, codes128), func(i int) float32 {
			return 0.5*float32(1+i/32)*k4(i) - 0.25*float32(33+i/32)
		}},
		{GGUFQ5_K, cat(f16(0.5), f16(0.25), kScales, high256, codes128), func(i int) float32 {
			q := k4(i)
			if i%32 >= 16 {
				q += 16
			}
			return 0.5*float32(1+i/32)*q - 0.25*float32(33+i/32)
		}},
		{GGUFQ6_K, cat(codes128, q6high, q6scales, f16(0.5)), func(i int) float32 {
			q := float32(i % 16) // low nibbles: the first 64 of each half
			if i%128 >= 64 {
				q = 15 - q
			}
			q += 16*float32(i%128/32) - 32
			return 0.5 * float32(i/16-8) * q
		}},
	} {
		values, bytes, ok := c.t.Block()
		if !ok || bytes != len(c.block) {
			t.Fatalf("%v: block of %d bytes, built %d", c.t, bytes, len(c.block))
		}
		got := make([]float32, 2*values)
		c.t.Decode(got, append(append([]byte{}, c.block...), c.block...))
		for i, v := range got {
			if want := c.want(i % values); v != want {
				t.Errorf("%v: value %d = %v, want %v", c.t, i, v, want)
				break
			}
		}
	}
	if _, _, ok := GGUF(99).Block(); ok || GGUF(99).String() != "type 99" {
		t.Error("an unknown type is known")
	}
}

func TestQuantizeFP4RoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	w := make([]float32, 8*64)
	for i := range w {
		w[i] = float32(r.NormFloat64() * 0.05)
	}
	copy(w[64:], make([]float32, 32)) // a group of zeros
	nv := QuantizeNVFP4(w, 64)
	back := make([]float32, 64)
	for row := range 8 {
		DecodeNVFP4(back, nv.Packed[row*32:], nv.Scales[row*4:], nv.Global)
		for i, v := range back {
			x := w[row*64+i]
			if d := math.Abs(float64(v - x)); d > 0.26*math.Abs(float64(x))+0.02 {
				t.Fatalf("nvfp4: %v came back as %v", x, v)
			}
		}
	}
	for _, producer := range []MXProducer{MXModelopt, MXCompressedTensors} {
		packed, scales := QuantizeMXFP4(w, producer)
		for row := range 8 {
			DecodeMXFP4(back, packed[row*32:], scales[row*2:])
			for i, v := range back {
				x := w[row*64+i]
				if d := math.Abs(float64(v - x)); d > 0.34*math.Abs(float64(x))+0.04 {
					t.Fatalf("mxfp4: %v came back as %v", x, v)
				}
			}
		}
	}
	mx8 := make([]float32, 32)
	DecodeMXFP8(mx8, E4M3FN, []byte{0x38, 0x40, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []byte{128})
	wantFloats(t, "mxfp8", mx8[:3], []float32{2, 4, -4})
}
