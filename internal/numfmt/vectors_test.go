package numfmt

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// vectors reads a file of reference vectors that lies beside the repository.
type vectors struct {
	t    *testing.T
	name string
	head map[string]struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	data []byte
}

const vectorDir = "../../../shared/oracle/formats"

func readVectors(t *testing.T, name string) *vectors {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectorDir, name))
	if err != nil {
		t.Skipf("not run: the reference vectors are not beside the repository: %v", err)
	}
	v := &vectors{t: t, name: name}
	n := binary.LittleEndian.Uint64(data)
	head := map[string]json.RawMessage{}
	if err := json.Unmarshal(data[8:8+n], &head); err != nil {
		t.Fatal(err)
	}
	delete(head, "__metadata__")
	text, _ := json.Marshal(head)
	if err := json.Unmarshal(text, &v.head); err != nil {
		t.Fatal(err)
	}
	v.data = data[8+n:]
	return v
}

func (v *vectors) bytes(key string) []byte {
	v.t.Helper()
	e, ok := v.head[key]
	if !ok {
		v.t.Fatalf("%s has no %s", v.name, key)
	}
	return v.data[e.Offsets[0]:e.Offsets[1]]
}

func (v *vectors) floats(key string) []float32 {
	v.t.Helper()
	b := v.bytes(key)
	switch d := v.head[key].DType; d {
	case "F32":
		out := make([]float32, len(b)/4)
		DecodeF32(out, b)
		return out
	case "BF16":
		out := make([]float32, len(b)/2)
		DecodeBF16(out, b)
		return out
	default:
		v.t.Fatalf("%s: dtype %s", key, d)
		return nil
	}
}

func (v *vectors) words(key string) []uint32 {
	v.t.Helper()
	b := v.bytes(key)
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// same says whether two float32 have the same bits, all NaN being alike.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func wantFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	bad := 0
	for i := range want {
		if !same(got[i], want[i]) {
			if bad < 5 {
				t.Errorf("%s[%d] = %v (%08x), want %v (%08x)", what, i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
			}
			bad++
		}
	}
	if bad > 0 {
		t.Errorf("%s: %d of %d differ", what, bad, len(want))
	}
}

func wantBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d bytes, want %d", what, len(got), len(want))
	}
	bad := 0
	for i := range want {
		if got[i] != want[i] {
			if bad < 5 {
				t.Errorf("%s[%d] = %#02x, want %#02x", what, i, got[i], want[i])
			}
			bad++
		}
	}
	if bad > 0 {
		t.Errorf("%s: %d of %d differ", what, bad, len(want))
	}
}

func TestVectorsCodes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(vectorDir, "formats.json"))
	if err != nil {
		t.Skipf("not run: the reference vectors are not beside the repository: %v", err)
	}
	var file struct {
		Codes map[string][]string `json:"codes_f32_hex"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	decoders := map[string]func(uint8) float32{"e4m3fn": E4M3FN.Decode, "e4m3fnuz": E4M3FNUZ.Decode, "e5m2": E5M2.Decode, "e8m0": E8M0, "e2m1": E2M1}
	if len(file.Codes) != len(decoders) {
		t.Errorf("%d formats in the file, %d known", len(file.Codes), len(decoders))
	}
	for name, decode := range decoders {
		for c, hex := range file.Codes[name] {
			var bits uint32
			if _, err := fmt.Sscanf(hex, "%x", &bits); err != nil {
				t.Fatal(err)
			}
			if got, want := decode(uint8(c)), math.Float32frombits(bits); !same(got, want) {
				t.Errorf("%s code %#02x = %v, want %v", name, c, got, want)
			}
		}
	}
}

func TestVectorsCasts(t *testing.T) {
	v := readVectors(t, "casts.safetensors")
	in := v.floats("input_f32")
	for _, c := range []struct {
		key    string
		encode func(float32) uint8
	}{
		{"e4m3fn.torch", func(x float32) uint8 { return E4M3FN.Encode(x, Saturate) }},
		{"e8m0.saturating", func(x float32) uint8 {
			return EncodeE8M0(float32(min(math.Abs(float64(x)), 0x1p127)), E8M0IgnoreSign)
		}},
		{"e4m3fn.saturating", func(x float32) uint8 { return E4M3FN.Encode(x, Saturate) }},
		{"e4m3fn.ml_dtypes", func(x float32) uint8 { return E4M3FN.Encode(x, NonFinite) }},
		{"e4m3fnuz.torch", func(x float32) uint8 { return E4M3FNUZ.Encode(x, NonFinite) }},
		{"e4m3fnuz.saturating", func(x float32) uint8 { return E4M3FNUZ.Encode(x, Saturate) }},
		{"e5m2.torch", func(x float32) uint8 { return E5M2.Encode(x, NonFinite) }},
		{"e5m2.saturating", func(x float32) uint8 { return E5M2.Encode(x, Saturate) }},
		{"e8m0.torch", func(x float32) uint8 { return EncodeE8M0(x, E8M0IgnoreSign) }},
		{"e8m0.ml_dtypes", func(x float32) uint8 { return EncodeE8M0(x, E8M0PositiveOnly) }},
		{"e2m1.modelopt", func(x float32) uint8 { return EncodeE2M1(x, E2M1Modelopt) }},
		{"e2m1.compressed_tensors", func(x float32) uint8 { return EncodeE2M1(x, E2M1CompressedTensors) }},
		{"e2m1.ml_dtypes", func(x float32) uint8 { return EncodeE2M1(x, E2M1MLDtypes) }},
	} {
		want := v.bytes(c.key)
		bad := 0
		for i, x := range in {
			if got := c.encode(x); got != want[i] {
				if bad < 6 {
					t.Errorf("%s: %v (%08x) -> %#02x, want %#02x", c.key, x, math.Float32bits(x), got, want[i])
				}
				bad++
			}
		}
		if bad > 0 {
			t.Errorf("%s: %d of %d differ", c.key, bad, len(in))
		}
	}
	bf, f16 := v.bytes("bf16.torch"), v.bytes("f16.torch")
	for i, x := range in {
		if got, want := BF16(EncodeBF16(x)), BF16(binary.LittleEndian.Uint16(bf[2*i:])); !same(got, want) {
			t.Errorf("bf16 of %v = %v, want %v", x, got, want)
		}
		if got, want := F16(EncodeF16(x)), F16(binary.LittleEndian.Uint16(f16[2*i:])); !same(got, want) {
			t.Errorf("f16 of %v = %v, want %v", x, got, want)
		}
	}
}

func TestVectorsFP8Blocks(t *testing.T) {
	v := readVectors(t, "fp8_block.safetensors")
	w := v.floats("weight_bf16")
	const rows, cols = 136, 200
	for name, rule := range map[string]ScaleRule{"plain": ScaleFloat, "ue8m0": ScaleUE8M0} {
		codes, scales := QuantizeFP8Blocks(w, rows, cols, rule)
		wantBytes(t, name+".weight", codes, v.bytes(name+".weight"))
		wantFloats(t, name+".weight_scale_inv", scales, v.floats(name+".weight_scale_inv"))
		wantFloats(t, name+".dequant", DecodeFP8Blocks(codes, scales, rows, cols), v.floats(name+".dequant_f32"))
	}
	codes, scales := RequantizeUE8M0(v.bytes("plain.weight"), v.floats("plain.weight_scale_inv"), rows, cols)
	wantBytes(t, "requant.weight", codes, v.bytes("requant.weight"))
	wantFloats(t, "requant.weight_scale_inv", scales, v.floats("requant.weight_scale_inv"))

	a, gw := v.floats("gemm.a_bf16"), v.floats("gemm.w_bf16")
	for name, rule := range map[string]ScaleRule{"plain": ScaleFloat, "ue8m0": ScaleUE8M0} {
		codes, scales := QuantizeFP8Blocks(gw, 136, 384, rule)
		wantBytes(t, name+".w_q", codes, v.bytes("gemm."+name+".w_q"))
		wantFloats(t, name+".w_scale", scales, v.floats("gemm."+name+".w_scale"))
		aq, as := make([]byte, len(a)), make([]float32, 7*3)
		for r := range 7 {
			QuantizeFP8Runs(aq[r*384:][:384], as[r*3:][:3], a[r*384:][:384], rule)
		}
		wantBytes(t, name+".a_q", aq, v.bytes("gemm."+name+".a_q"))
		wantFloats(t, name+".a_scale", as, v.floats("gemm."+name+".a_scale"))
	}
}

func TestVectorsUE8M0(t *testing.T) {
	v := readVectors(t, "fp8_block.safetensors")
	scales, ceil := v.floats("ue8m0.sf_f32"), v.floats("ue8m0.ceil_f32")
	got := make([]float32, len(scales))
	for i, s := range scales {
		got[i] = CeilUE8M0(s)
	}
	wantFloats(t, "ceil", got, ceil)
	for _, c := range []struct {
		key    string
		scales []float32
		raw    bool
	}{{"ue8m0.packed_i32", ceil, false}, {"ue8m0.packed_i32", ceil, true}, {"ue8m0.packed_wrong_i32", scales, true}} {
		packed, want := PackUE8M0Rows(c.scales, 8, 10, c.raw), v.words(c.key)
		for i := range want {
			if packed[i] != want[i] {
				t.Errorf("%s[%d] = %08x, want %08x", c.key, i, packed[i], want[i])
			}
		}
	}
}

func TestVectorsFP4(t *testing.T) {
	v := readVectors(t, "fp4.safetensors")
	const rows, cols = 16, 128
	decode := func(row func(dst []float32, r int)) []float32 {
		out := make([]float32, rows*cols)
		for r := range rows {
			row(out[r*cols:][:cols], r)
		}
		return out
	}
	packed, scales, global := v.bytes("modelopt.weight"), v.bytes("modelopt.weight_scale"), v.floats("modelopt.weight_scale_2")[0]
	wantFloats(t, "modelopt", decode(func(dst []float32, r int) { DecodeNVFP4(dst, packed[r*64:], scales[r*8:], global) }), v.floats("modelopt.dequant_f32"))
	q := QuantizeNVFP4(v.floats("weight_bf16"), cols)
	wantBytes(t, "modelopt codes", q.Packed, packed)
	wantBytes(t, "modelopt scales", q.Scales, scales)
	wantFloats(t, "modelopt global", []float32{q.Global}, []float32{global})

	cp, cs, cg := v.bytes("ct.weight_packed"), v.bytes("ct.weight_scale"), v.floats("ct.weight_global_scale")[0]
	wantFloats(t, "ct", decode(func(dst []float32, r int) { DecodeNVFP4Reciprocal(dst, cp[r*64:], cs[r*8:], cg) }), v.floats("ct.dequant_f32"))

	for name, producer := range map[string]MXProducer{"modelopt": MXModelopt, "ct": MXCompressedTensors} {
		key := map[string]string{"modelopt": "mx.modelopt.weight", "ct": "mx.ct.weight_packed"}[name]
		codes, scales := v.bytes(key), v.bytes("mx."+name+".weight_scale")
		wantFloats(t, "mx "+name, decode(func(dst []float32, r int) { DecodeMXFP4(dst, codes[r*64:], scales[r*4:]) }), v.floats("mx."+name+".dequant_f32"))
		gotCodes, gotScales := QuantizeMXFP4(v.floats("mx.weight_bf16"), producer)
		wantBytes(t, "mx scales "+name, gotScales, scales)
		wantBytes(t, "mx codes "+name, gotCodes, codes)
	}
	wantBytes(t, "swizzle", SwizzleScales(v.bytes("swizzle.in"), 130, 6), v.bytes("swizzle.out"))
}

func TestVectorsKV(t *testing.T) {
	v := readVectors(t, "kv.safetensors")
	latent, rope := v.floats("latent_bf16"), v.floats("rope_bf16")
	const tokens = 12
	for name, rule := range map[string]MLARule{
		"nofloor_reciprocal": {}, "nofloor_divide": {Divide: true},
		"fltmin_reciprocal": {Floor: true}, "fltmin_divide": {Floor: true, Divide: true},
	} {
		records, decoded := make([]byte, tokens*MLA656), make([]float32, tokens*MLALatent)
		for i := range tokens {
			record, back := records[i*MLA656:][:MLA656], make([]float32, MLARope)
			EncodeMLA656(record, latent[i*MLALatent:][:MLALatent], rope[i*MLARope:][:MLARope], rule)
			DecodeMLA656(decoded[i*MLALatent:][:MLALatent], back, record)
			wantFloats(t, "rope", back, rope[i*MLARope:][:MLARope])
		}
		wantBytes(t, name, records, v.bytes("mla656."+name))
		RoundBF16s(decoded)
		wantFloats(t, name+" decoded", decoded, v.floats("mla656."+name+".latent_dequant_bf16"))
	}
	records := make([]byte, tokens*MLA576)
	for i := range tokens {
		EncodeMLA576(records[i*MLA576:], latent[i*MLALatent:], rope[i*MLARope:], 1, Saturate)
	}
	wantBytes(t, "mla576", records, v.bytes("mla576.saturating"))

	keys := v.floats("index_k_bf16")
	for name, rule := range map[string]ScaleRule{"plain": ScaleFloat, "ue8m0": ScaleUE8M0} {
		page := NewIndexKeyPage(64)
		scales := make([]float32, 64)
		for i := range 64 {
			page.Put(i, keys[i*IndexKey:], rule)
			_, scales[i] = page.Raw(i)
		}
		wantBytes(t, "index page "+name, page.Bytes, v.bytes("index132."+name+".page64"))
		wantFloats(t, "index scales "+name, scales, v.floats("index132."+name+".scale"))
	}
}
