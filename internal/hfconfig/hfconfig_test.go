package hfconfig_test

import (
	"errors"
	"math"
	"testing"
	"testing/fstest"

	"shakedown/internal/hfconfig"
)

func TestDecodeReadsWhatPythonWrites(t *testing.T) {
	o, err := hfconfig.Decode([]byte(`{"a": 1, "b": 1.0, "c": NaN, "d": [-Infinity, "NaN \" Infinity"], "e": null, "a": 2, "f": {"g": true}}`))
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := o.Int("a"); n != 2 || !ok {
		t.Errorf("a = %d, %v, want the last one, 2", n, ok)
	}
	if n, ok := o.Int("b"); n != 1 || !ok {
		t.Errorf("b = %d, %v, want 1", n, ok)
	}
	if f, ok := o.Float("c"); !math.IsNaN(f) || !ok {
		t.Errorf("c = %v, %v, want NaN", f, ok)
	}
	if d := o.List("d"); len(d) != 2 || d[0] != hfconfig.Special("-Infinity") || d[1] != `NaN " Infinity` {
		t.Errorf("d = %q", d)
	}
	if o.Has("e") || o.Has("z") || !o.Has("f") {
		t.Error("null counts as absent")
	}
	if g, ok := o.Obj("f").Bool("g"); !g || !ok {
		t.Errorf("f.g = %v, %v", g, ok)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", "{", `{"a":1} x`, `"a"`, "\x00"} {
		if o, err := hfconfig.Decode([]byte(text)); err == nil {
			t.Errorf("Decode(%q) = %v, want an error", text, o)
		}
	}
}

func TestRead(t *testing.T) {
	files := fstest.MapFS{
		"config.json":          {Data: []byte(`{"architectures":["LlamaForCausalLM"]}`)},
		"hf_quant_config.json": {Data: []byte(`{"quantization":{"quant_algo":"NVFP4"}}`)},
	}
	m, err := hfconfig.Read(files, "tiny")
	if err != nil {
		t.Fatal(err)
	}
	if m.Architecture() != "LlamaForCausalLM" || m.Generation != nil || m.HFQuant.Obj("quantization").Text("quant_algo") != "NVFP4" {
		t.Errorf("read %+v", m)
	}
	if _, err := hfconfig.Read(fstest.MapFS{}, "tiny"); !errors.Is(err, hfconfig.ErrNoConfig) {
		t.Errorf("empty folder: %v, want ErrNoConfig", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a": NaN, "b": [1, -Infinity], "c": "\\\"NaN"}`))
	f.Add([]byte(`{"rope_scaling": {"factor": 1e3}, "eos_token_id": [1, 2]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := hfconfig.Decode(data)
		if err == nil && o == nil {
			t.Fatal("neither object nor error")
		}
	})
}
