package load_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
	"shakedown/internal/numfmt"
	"shakedown/internal/oracle/oracletest"
)

// scheme is one way of storing integers.
type scheme struct {
	name   string
	kind   string // gptq, awq, packed, int8
	bits   int
	group  int  // inputs per scale; 0 for a whole row
	asym   bool // zero points are stored (gptq and awq always have them)
	order  bool // inputs are in another order of groups
	v2     bool // gptq_v2
	config string
}

// word puts the codes of a list into words of 32 bits, lowest first.
func words(codes []int, bits int) []byte {
	out := make([]byte, len(codes)*bits/8)
	for i, c := range codes {
		out[i*bits/8] |= byte(c << (i * bits % 8))
	}
	return out
}

// store makes a random matrix of a scheme: its tensors, and its weights after
// scale[g]*(code-zero[g]), as AutoGPTQ's qlinear_cuda.py, AutoAWQ's
// packing_utils.py and compressed-tensors' forward.py dequantise.
func (s scheme) store(r *rand.Rand, name string, rows, cols int) (tensors []checkpointtest.Tensor, weights []float32) {
	group := s.group
	if group == 0 {
		group = cols
	}
	groups := (cols + group - 1) / group
	most := 1<<s.bits - 1
	codes, zeros, scales := make([]int, rows*cols), make([]int, rows*groups), make([]float32, rows*groups)
	for i := range codes {
		codes[i] = r.IntN(most + 1)
	}
	for i := range zeros {
		zeros[i] = (most + 1) / 2
		if s.asym || s.kind == "gptq" || s.kind == "awq" {
			zeros[i] = 1 + r.IntN(most) // 0 is where the two kinds of gptq differ in what they can hold
		}
		scales[i] = numfmt.F16(numfmt.EncodeF16(float32((0.5 + r.Float64()) / float64(most) * 3 / math.Sqrt(float64(cols)))))
	}
	index := make([]int, cols)
	for c := range index {
		index[c] = c / group
	}
	if s.order {
		r.Shuffle(cols, func(i, j int) { index[i], index[j] = index[j], index[i] })
	}
	weights = make([]float32, rows*cols)
	for i := range weights {
		g := i/cols*groups + index[i%cols]
		weights[i] = float32(codes[i]-zeros[g]) * scales[g]
	}

	add := func(part, dtype string, data []byte, shape ...int) {
		tensors = append(tensors, checkpointtest.Tensor{Name: name + "." + part, DType: dtype, Shape: shape, Data: data})
	}
	turned := func(x []int, rows, cols int) []int { // columns become rows
		out := make([]int, 0, len(x))
		for c := range cols {
			for r := range rows {
				out = append(out, x[r*cols+c])
			}
		}
		return out
	}
	halves := func(x []float32) (out []byte) {
		for _, v := range x {
			out = binary.LittleEndian.AppendUint16(out, numfmt.EncodeF16(v))
		}
		return out
	}
	int32s := func(x []int) (out []byte) {
		for _, v := range x {
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		}
		return out
	}
	turnedScales := make([]float32, 0, len(scales))
	for g := range groups {
		for o := range rows {
			turnedScales = append(turnedScales, scales[o*groups+g])
		}
	}
	perWord := 32 / s.bits
	switch s.kind {
	case "gptq":
		// Each word holds inputs of one output: the words of an output lie in a column.
		packed := words(codes, s.bits)
		n := cols / perWord
		qweight := make([]byte, 0, len(packed))
		for w := range n {
			for o := range rows {
				qweight = append(qweight, packed[(o*n+w)*4:][:4]...)
			}
		}
		stored := turned(zeros, rows, groups)
		if !s.v2 {
			for i := range stored {
				stored[i]--
			}
		}
		add("qweight", "I32", qweight, n, rows)
		add("qzeros", "I32", words(stored, s.bits), groups, rows/perWord)
		add("scales", "F16", halves(turnedScales), groups, rows)
		add("g_idx", "I32", int32s(index), cols)
	case "awq":
		shuffled := func(x []int) []int { // eight outputs of a word
			out := make([]int, len(x))
			for i := range x {
				out[i] = x[i/8*8+[8]int{0, 2, 4, 6, 1, 3, 5, 7}[i%8]]
			}
			return out
		}
		add("qweight", "I32", words(shuffled(turned(codes, rows, cols)), 4), cols, rows/8)
		add("qzeros", "I32", words(shuffled(turned(zeros, rows, groups)), 4), groups, rows/8)
		add("scales", "F16", halves(turnedScales), groups, rows)
	case "packed":
		add("weight_packed", "I32", words(codes, s.bits), rows, cols/perWord)
		add("weight_scale", "F16", halves(scales), rows, groups)
		add("weight_shape", "I64", binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(rows)), uint64(cols)), 2)
		if s.asym { // words of outputs of one group: [rows/perWord, groups]
			n := rows / perWord
			packed, zp := words(turned(zeros, rows, groups), s.bits), make([]byte, 0, rows*groups*s.bits/8)
			for w := range n {
				for g := range groups {
					zp = append(zp, packed[(g*n+w)*4:][:4]...)
				}
			}
			add("weight_zero_point", "I32", zp, n, groups)
		}
		if s.order {
			add("weight_g_idx", "I32", int32s(index), cols)
		}
	case "int8":
		signed := func(x []int) (out []byte) {
			for _, v := range x {
				out = append(out, byte(v-128))
			}
			return out
		}
		add("weight", "I8", signed(codes), rows, cols)
		add("weight_scale", "F16", halves(scales), rows, groups)
		if s.asym {
			add("weight_zero_point", "I8", signed(zeros), rows, groups)
		}
	}
	return tensors, weights
}

// integers writes a model whose matrices in layers are stored in a scheme, and the
// same model with the dequantised weights in float32.
func (s scheme) integers(t testing.TB, family string) (packed, plain string) {
	t.Helper()
	dir := oracletest.Write(t, oracletest.Configs[family], oracletest.Options{})
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := rand.New(rand.NewPCG(4, 4))
	var a, b []checkpointtest.Tensor
	for _, x := range c.Tensors() {
		module, ok := strings.CutSuffix(x.Name, "_proj.weight")
		if !ok {
			data, err := x.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			same := checkpointtest.Tensor{Name: x.Name, DType: string(x.DType), Shape: x.Shape, Data: slices.Clone(data)}
			a, b = append(a, same), append(b, same)
			continue
		}
		tensors, weights := s.store(r, module+"_proj", x.Shape[0], x.Shape[1])
		a = append(a, tensors...)
		b = append(b, checkpointtest.Floats(x.Name, x.Shape, weights...))
	}
	config := oracletest.Configs[family]
	withQuant := strings.TrimSuffix(strings.TrimSpace(config), "}") + `,"quantization_config":` + s.config + "}"
	return checkpointtest.Folder(t, map[string]any{"config.json": withQuant, "model.safetensors": checkpointtest.Safetensors(a...)}),
		checkpointtest.Folder(t, map[string]any{"config.json": config, "model.safetensors": checkpointtest.Safetensors(b...)})
}

const w8a8 = `{"quant_method":"compressed-tensors","format":"int-quantized","config_groups":{"group_0":{"targets":["Linear"],
	"weights":{"num_bits":8,"type":"int","strategy":"channel"},"input_activations":{"num_bits":8,"type":"int","strategy":"token","dynamic":true}}}}`

func packedConfig(bits, group int) string {
	return fmt.Sprintf(`{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":{"targets":["Linear"],
		"weights":{"num_bits":%d,"type":"int","strategy":"group","group_size":%d}}}}`, bits, group)
}

var schemes = []scheme{
	{name: "gptq", kind: "gptq", bits: 4, group: 32, config: `{"quant_method":"gptq","bits":4,"group_size":32,"desc_act":false,"sym":false}`},
	{name: "gptq with a partial group", kind: "gptq", bits: 4, group: 40, config: `{"quant_method":"gptq","bits":4,"group_size":40,"checkpoint_format":"gptq"}`},
	{name: "gptq per channel", kind: "gptq", bits: 4, config: `{"quant_method":"gptq","bits":4,"group_size":-1}`},
	{name: "gptq in activation order", kind: "gptq", bits: 4, group: 16, order: true, config: `{"quant_method":"gptq","bits":4,"group_size":16,"desc_act":true}`},
	{name: "gptq v2", kind: "gptq", bits: 4, group: 32, v2: true, config: `{"quant_method":"gptq","bits":4,"group_size":32,"checkpoint_format":"gptq_v2"}`},
	{name: "gptq of 8 bits", kind: "gptq", bits: 8, group: 32, config: `{"quant_method":"gptq","bits":8,"group_size":32}`},
	{name: "gptq of 8 bits in activation order", kind: "gptq", bits: 8, group: 16, order: true, v2: true, config: `{"quant_method":"gptq","bits":8,"group_size":16,"checkpoint_format":"gptq_v2","desc_act":true}`},
	{name: "gptq by auto-round", kind: "gptq", bits: 4, group: 32, config: `{"quant_method":"auto-round","bits":4,"group_size":32,"packing_format":"auto_round:auto_gptq"}`},
	{name: "awq", kind: "awq", bits: 4, group: 32, config: `{"quant_method":"awq","bits":4,"group_size":32,"version":"gemm","zero_point":true}`},
	{name: "awq per channel", kind: "awq", bits: 4, config: `{"quant_method":"awq","bits":4,"group_size":-1,"version":"GEMM"}`},
	{name: "int4", kind: "packed", bits: 4, group: 32, config: packedConfig(4, 32)},
	{name: "int4 with zero points", kind: "packed", bits: 4, group: 16, asym: true, config: packedConfig(4, 16)},
	{name: "int4 in activation order", kind: "packed", bits: 4, group: 16, asym: true, order: true, config: packedConfig(4, 16)},
	{name: "int8 packed", kind: "packed", bits: 8, group: 32, config: packedConfig(8, 32)},
	{name: "int8 packed, width not in the configuration", kind: "packed", bits: 8, group: 32, config: packedConfig(4, 32)},
	{name: "int8 packed with zero points", kind: "packed", bits: 8, group: 32, asym: true, config: packedConfig(8, 32)},
	{name: "int8 packed in activation order", kind: "packed", bits: 8, group: 16, order: true, config: packedConfig(8, 16)},
	{name: "w8a8", kind: "int8", bits: 8, config: w8a8},
	{name: "w8a8 with zero points", kind: "int8", bits: 8, asym: true, config: w8a8},
	{name: "int8 in groups", kind: "int8", bits: 8, group: 16, config: `{"quant_method":"compressed-tensors","format":"int-quantized","config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":8,"type":"int","strategy":"group","group_size":16}}}}`},
}

// TestIntegers: a model of packed integers gives the bits of the same model with
// dequantised weights.
func TestIntegers(t *testing.T) {
	for _, s := range schemes {
		for _, family := range []string{"llama", "qwen3_moe"} {
			t.Run(s.name+" "+family, func(t *testing.T) {
				packed, plain := s.integers(t, family)
				have, want := logitsOf(t, open(t, packed)), logitsOf(t, open(t, plain))
				for i := range want {
					if math.Float32bits(have[i]) != math.Float32bits(want[i]) || want[i] != want[i] {
						t.Fatalf("logit %d: %v and %v", i, have[i], want[i])
					}
				}
			})
		}
	}
}

// TestIntegerInputs: a checkpoint whose scheme quantises inputs gets them so with
// gemm=scheme, one of weights only does not.
func TestIntegerInputs(t *testing.T) {
	for _, s := range schemes {
		packed, _ := s.integers(t, "llama")
		src := open(t, packed)
		var runs [2][]float32
		for i, num := range []string{"exact", "exact,gemm=scheme"} {
			m, err := src.Model(numericsOf(t, num))
			if err != nil {
				t.Fatal(err)
			}
			session := m.NewSession(nil)
			h, err := session.Feed(t.Context(), []int{5, 9})
			if err != nil {
				t.Fatal(err)
			}
			runs[i] = session.Logits(h)
		}
		if same := slices.Equal(runs[0], runs[1]); same == strings.Contains(s.config, "input_activations") {
			t.Errorf("%s: the same logits: %v", s.name, same)
		}
	}
}

// TestIntegersRefused names what is not known.
func TestIntegersRefused(t *testing.T) {
	byName := func(name string) scheme {
		return schemes[slices.IndexFunc(schemes, func(s scheme) bool { return s.name == name })]
	}
	for _, tc := range []struct{ scheme, from, to, want string }{
		{"gptq v2", "gptq_v2", "gptq_p", `layout "gptq_p" is not supported: gptq and gptq_v2 are`},
		{"awq", `"gemm"`, `"gemv_fast"`, `layout "gemv_fast" is not supported: gemm is`},
		{"gptq", `"bits":4`, `"bits":2`, ""}, // the tensors are of 4 bits
	} {
		s := byName(tc.scheme)
		s.config = strings.Replace(s.config, tc.from, tc.to, 1)
		packed, _ := s.integers(t, "llama")
		_, err := open(t, packed).Model(numericsOf(t, "exact"))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.scheme, err, tc.want)
		}
	}
	// One tensor of a sound checkpoint is replaced.
	for _, tc := range []struct {
		scheme, part string
		tensor       checkpointtest.Tensor
		want         string
	}{
		{"gptq", "qzeros", checkpointtest.Tensor{DType: "I32", Shape: []int{1, 8}, Data: make([]byte, 32)}, "qzeros is I32 of shape [1 8], 16 values of I32 are expected"},
		{"gptq", "g_idx", checkpointtest.Tensor{DType: "I64", Shape: []int{64}, Data: make([]byte, 512)}, "g_idx is I64"},
		{"gptq", "scales", checkpointtest.Tensor{DType: "F16", Shape: []int{3, 64}, Data: make([]byte, 384)}, "no group size makes 3 groups of 64 columns"},
		{"gptq", "qweight", checkpointtest.Tensor{DType: "F32", Shape: []int{8, 64}, Data: make([]byte, 2048)}, "type F32 is not supported for packed integers"},
		{"gptq in activation order", "g_idx", checkpointtest.Tensor{DType: "I32", Shape: []int{64}, Data: slices.Repeat([]byte{4, 0, 0, 0}, 64)}, "column 0 is in group 4 of 4"},
		{"awq", "qweight", checkpointtest.Tensor{DType: "I32", Shape: []int{63, 8}, Data: make([]byte, 2016)}, "shape [64 63], the config says 64 x 64"},
		{"int4 with zero points", "weight_zero_point", checkpointtest.Tensor{DType: "I8", Shape: []int{64, 4}, Data: make([]byte, 256)}, "weight_zero_point is I8"},
		{"int4", "weight_packed", checkpointtest.Tensor{DType: "I32", Shape: []int{64, 4}, Data: make([]byte, 1024)}, "shape [64 32], the config says 64 x 64"},
		{"w8a8 with zero points", "weight_zero_point", checkpointtest.Tensor{DType: "I8", Shape: []int{63, 1}, Data: make([]byte, 63)}, "64 values of I8 are expected"},
		{"w8a8", "weight_scale", checkpointtest.Tensor{DType: "F16", Shape: []int{63, 1}, Data: make([]byte, 126)}, "fits no int8 format"},
		{"w8a8", "input_zero_point", checkpointtest.Tensor{DType: "I8", Shape: []int{1}, Data: make([]byte, 1)}, "input_zero_point"},
	} {
		packed, _ := byName(tc.scheme).integers(t, "llama")
		replace(t, packed, "model.layers.0.self_attn.q_proj."+tc.part, tc.tensor)
		_, err := open(t, packed).Model(numericsOf(t, "exact"))
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "model.layers.0.self_attn.q_proj") {
			t.Errorf("%s with another %s: %v, want %q", tc.scheme, tc.part, err, tc.want)
		}
	}
}

// replace writes a checkpoint again with one tensor changed or added.
func replace(t *testing.T, dir, name string, with checkpointtest.Tensor) {
	t.Helper()
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	with.Name = name
	out := []checkpointtest.Tensor{with}
	for _, x := range c.Tensors() {
		data, err := x.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if x.Name != name {
			out = append(out, checkpointtest.Tensor{Name: x.Name, DType: string(x.DType), Shape: x.Shape, Data: slices.Clone(data)})
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), checkpointtest.Safetensors(out...), 0o644); err != nil {
		t.Fatal(err)
	}
}
