package load

import (
	"bytes"
	"encoding/json"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
	"shakedown/internal/hfconfig"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

// FuzzConfig binds weights that are there to configurations that lie about them:
// an error or a run, never a panic.
func FuzzConfig(f *testing.F) {
	var files []*checkpoint.Checkpoint
	for _, name := range []string{"llama", "qwen3_moe", "deepseek_v3", "glm_moe_dsa"} {
		config := oracletest.Configs[name]
		c, err := checkpoint.Open(oracletest.Write(f, config, oracletest.Options{MTP: true}))
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { c.Close() })
		files = append(files, c)
		for i := range len(numerics.Names()) {
			f.Add([]byte(config), uint8(len(files)-1), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, config []byte, file, set uint8) {
		object, err := hfconfig.Decode(config)
		if err != nil {
			return
		}
		spec, err := family.Read(object)
		if err != nil {
			return
		}
		names := numerics.Names()
		num, err := numerics.Parse(names[int(set)%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		src := &Source{Spec: spec, Files: files[int(file)%len(files)]}
		m, err := src.Model(num)
		if err != nil {
			return
		}
		s := m.NewSession(nil)
		hidden, err := s.Feed(t.Context(), []int{1, 0, 1})
		if err != nil {
			return
		}
		if logits := s.Logits(hidden); len(logits) != 3*spec.Vocab {
			t.Errorf("%d logits for a vocabulary of %d", len(logits), spec.Vocab)
		}
	})
}

// FuzzIntegers binds packed integers whose shapes, types, layout and contents
// contradict each other: an error or a matrix, never a panic.
func FuzzIntegers(f *testing.F) {
	f.Add(uint8(0), []byte{8, 64, 2, 8, 2, 64, 64}, uint8(64), uint8(64), int8(4), int8(32), "gptq", byte(1))
	f.Add(uint8(0), []byte{64, 8, 2, 8, 2, 64, 64}, uint8(64), uint8(64), int8(4), int8(32), "gemm", byte(0x55))
	f.Add(uint8(1), []byte{64, 8, 8, 2, 64, 2, 64}, uint8(64), uint8(64), int8(4), int8(32), "", byte(0))
	f.Add(uint8(1), []byte{64, 16, 16, 2, 64, 2, 64}, uint8(64), uint8(64), int8(8), int8(32), "", byte(0xff))
	f.Add(uint8(2), []byte{64, 64, 64, 1, 64, 1, 1}, uint8(64), uint8(64), int8(8), int8(0), "", byte(7))
	f.Fuzz(func(t *testing.T, kind uint8, dims []byte, rows, cols uint8, bits, group int8, layout string, fill byte) {
		if len(dims) != 7 || rows == 0 || cols == 0 {
			return
		}
		parts := [][]string{{"qweight", "qzeros", "scales", "g_idx"}, {"weight_packed", "weight_zero_point", "weight_scale", "weight_g_idx"}, {"weight", "weight_zero_point", "weight_scale", "input_scale"}}[kind%3]
		codes, zeros := "I32", "I32"
		if kind%3 == 2 {
			codes, zeros = "I8", "I8"
		}
		last := "I32"
		if kind%3 == 2 {
			last = "F32"
		}
		var tensors []checkpointtest.Tensor
		for i, part := range parts {
			dtype, shape := []string{codes, zeros, "F16", last}[i], []int{int(dims[6])}
			if i < 3 {
				shape = []int{int(dims[2*i]), int(dims[2*i+1])}
			}
			size := map[string]int{"I32": 4, "F32": 4, "F16": 2, "I8": 1}[dtype]
			for _, d := range shape {
				size *= d
			}
			tensors = append(tensors, checkpointtest.Tensor{Name: "m." + part, DType: dtype, Shape: shape, Data: bytes.Repeat([]byte{fill}, size)})
		}
		config, err := json.Marshal(map[string]any{"quantization_config": map[string]any{"quant_method": "gptq", "bits": bits, "group_size": group, "checkpoint_format": layout}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Open(checkpointtest.Folder(t, map[string]any{"config.json": config, "model.safetensors": checkpointtest.Safetensors(tensors...)}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		num, err := numerics.Parse("exact")
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := (&weights{c: c, num: num}).Linear("m", int(rows), int(cols))
		if err != nil {
			return
		}
		for i := range m.Rows() {
			m.Row(i, make([]float32, m.Cols()))
		}
	})
}
