package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/checkpointtest"
)

// shape makes a tensor of zeros.
func shape(name, dtype string, bytes int, dims ...int) checkpointtest.Tensor {
	n := bytes
	for _, d := range dims {
		n *= d
	}
	return checkpointtest.Tensor{Name: name, DType: dtype, Shape: dims, Data: make([]byte, n)}
}

func TestStorage(t *testing.T) {
	const bits8 = `{"quantization_config":{"quant_method":"gptq","bits":8,"group_size":64}}`
	for _, tc := range []struct {
		name    string
		config  string
		tensors []checkpointtest.Tensor
		want    string // storage, out x in, block, missing, odd
	}{
		{"bfloat16", "", []checkpointtest.Tensor{shape("m.weight", "BF16", 2, 4, 8)}, "plain 4x8 0x0"},
		{"block", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 200, 130), shape("m.weight_scale_inv", "F32", 4, 2, 2)}, "fp8-block 200x130 128x128"},
		{"block, wrong scales", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 200, 130), shape("m.weight_scale_inv", "F32", 4, 1, 2)}, "fp8-block 200x130 128x128 odd"},
		{"one block", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 8, 8), shape("m.weight_scale_inv", "F32", 4, 1, 1)}, "fp8-block 8x8 128x128"},
		{"block, compressed-tensors", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 256, 256), shape("m.weight_scale", "BF16", 2, 2, 2)}, "fp8-block 256x256 128x128"},
		{"per tensor", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 4, 8), shape("m.weight_scale", "F32", 4)}, "fp8-tensor 4x8 4x8"},
		{"per tensor, one element", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 4, 8), shape("m.weight_scale", "F32", 4, 1)}, "fp8-tensor 4x8 4x8"},
		{"per channel", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 4, 8), shape("m.weight_scale", "F32", 4, 4)}, "fp8-channel 4x8 1x8"},
		{"per channel, column", "", []checkpointtest.Tensor{shape("m.weight", "F8_E5M2", 1, 4, 8), shape("m.weight_scale", "BF16", 2, 4, 1)}, "fp8-channel 4x8 1x8"},
		{"mxfp8", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 4, 64), shape("m.weight_scale", "U8", 1, 4, 2)}, "mxfp8 4x64 1x32"},
		{"no scale", "", []checkpointtest.Tensor{shape("m.weight", "F8_E4M3", 1, 4, 8)}, "fp8 4x8 0x0 missing weight_scale_inv"},
		{"modelopt nvfp4", "", []checkpointtest.Tensor{shape("m.weight", "U8", 1, 4, 16), shape("m.weight_scale", "F8_E4M3", 1, 4, 2), shape("m.weight_scale_2", "F32", 4), shape("m.input_scale", "F32", 4)}, "nvfp4 4x32 1x16"},
		{"modelopt nvfp4 without global scale", "", []checkpointtest.Tensor{shape("m.weight", "U8", 1, 4, 16), shape("m.weight_scale", "F8_E4M3", 1, 4, 2)}, "nvfp4 4x32 1x16 missing weight_scale_2"},
		{"modelopt nvfp4 without block scale", "", []checkpointtest.Tensor{shape("m.weight", "U8", 1, 4, 16), shape("m.weight_scale_2", "F32", 4)}, "nvfp4 4x32 1x16 missing weight_scale"},
		{"nvfp4 with scales of another width", "", []checkpointtest.Tensor{shape("m.weight", "U8", 1, 4, 16), shape("m.weight_scale", "F8_E4M3", 1, 4, 3), shape("m.weight_scale_2", "F32", 4)}, "nvfp4 4x32 1x16 odd"},
		{"compressed nvfp4", "", []checkpointtest.Tensor{shape("m.weight_packed", "U8", 1, 4, 16), shape("m.weight_scale", "F8_E4M3", 1, 4, 2), shape("m.weight_global_scale", "F32", 4, 1)}, "nvfp4 4x32 1x16 reciprocal"},
		{"compressed mxfp4", "", []checkpointtest.Tensor{shape("m.weight_packed", "U8", 1, 4, 16), shape("m.weight_scale", "U8", 1, 4, 1)}, "mxfp4 4x32 1x32"},
		{"gpt-oss", "", []checkpointtest.Tensor{shape("m_blocks", "U8", 1, 2, 4, 1, 16), shape("m_scales", "U8", 1, 2, 4, 1)}, "mxfp4 0x0 1x32"},
		{"int4", "", []checkpointtest.Tensor{shape("m.weight_packed", "I32", 4, 4, 8), shape("m.weight_scale", "BF16", 2, 4, 2), shape("m.weight_shape", "I64", 8, 2)}, "packed-int 4x64 1x32"},
		{"int4 without scale", "", []checkpointtest.Tensor{shape("m.weight_packed", "I32", 4, 4, 8)}, "packed-int 4x64 1x64 missing weight_scale"},
		{"gptq", "", []checkpointtest.Tensor{shape("m.qweight", "I32", 4, 16, 64), shape("m.qzeros", "I32", 4, 1, 8), shape("m.scales", "F16", 2, 1, 64), shape("m.g_idx", "I32", 4, 128)}, "gptq 64x128 1x128"},
		{"gptq 8 bits", bits8, []checkpointtest.Tensor{shape("m.qweight", "I32", 4, 32, 64), shape("m.qzeros", "I32", 4, 2, 16), shape("m.scales", "F16", 2, 2, 64)}, "gptq 64x128 1x64"},
		{"awq", "", []checkpointtest.Tensor{shape("m.qweight", "I32", 4, 128, 8), shape("m.qzeros", "I32", 4, 1, 8), shape("m.scales", "F16", 2, 1, 64)}, "awq 64x128 1x128"},
		{"awq without zeros", "", []checkpointtest.Tensor{shape("m.qweight", "I32", 4, 128, 8), shape("m.scales", "F16", 2, 1, 64)}, "awq 64x128 1x128 missing qzeros"},
		{"int8", "", []checkpointtest.Tensor{shape("m.weight", "I8", 1, 4, 8), shape("m.weight_scale", "F32", 4, 4, 1)}, "int8 4x8 1x8"},
		{"scale beside plain weight", "", []checkpointtest.Tensor{shape("m.weight", "BF16", 2, 4, 8), shape("m.weight_scale", "F32", 4)}, "plain 4x8 0x0 odd"},
		{"scale alone", "", []checkpointtest.Tensor{shape("m.weight_scale", "F32", 4)}, " 0x0 0x0 odd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := tc.config
			if config == "" {
				config = "{}"
			}
			c := open(t, checkpointtest.Folder(t, map[string]any{"config.json": config, "model.safetensors": checkpointtest.Safetensors(tc.tensors...)}))
			if len(c.Problems) > 0 || len(c.Modules()) != 1 {
				t.Fatalf("problems %v, %d modules", c.Problems, len(c.Modules()))
			}
			m := c.Module("m")
			got := fmt.Sprintf("%s %dx%d %dx%d", m.Storage, m.Out, m.In, m.BlockOut, m.BlockIn)
			if m.Reciprocal {
				got += " reciprocal"
			}
			if len(m.Missing) > 0 {
				got += " missing " + strings.Join(m.Missing, " ")
			}
			if m.Odd != "" {
				got += " odd"
			}
			if got != tc.want {
				t.Errorf("%q, want %q (%s)", got, tc.want, m.Odd)
			}
		})
	}
}

func TestQuantisation(t *testing.T) {
	for _, tc := range []struct {
		name         string
		config, hf   string
		want         string
		ignores, not []string
	}{
		{"none", `{}`, "", "none", nil, []string{"lm_head"}},
		{"fp8", `{"quantization_config":{"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic","weight_block_size":[128,128],"scale_fmt":"ue8m0",
			"modules_to_not_convert":["lm_head","model.layers.0.mlp.gate","model.layers.78"]}}`, "",
			"fp8  [128 128] ue8m0 kv= 8 float block 0 static=false",
			[]string{"lm_head", "model.layers.0.mlp.gate", "model.layers.78.eh_proj"}, []string{"model.layers.0.mlp.gate_proj", "model.layers.7"}},
		{"modelopt flat", `{"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4","producer":{"name":"modelopt","version":"0.47.0"},"kv_cache_scheme":{"dynamic":false,"num_bits":8,"type":"float"},
			"config_groups":{"group_0":{"input_activations":{"dynamic":false,"num_bits":4},"weights":{"num_bits":4,"type":"float","group_size":16},"targets":["Linear"]}},
			"ignore":["lm_head","model.layers.0*","model.layers.1.*","model.layers.*.self_attn*","model.layers.2*"]}}`, "",
			"modelopt NVFP4 [] modelopt 0.47.0 kv=float 8 4 float  16 static=true",
			[]string{"model.layers.0", "model.layers.0.mlp.up_proj", "model.layers.1.x", "model.layers.9.self_attn.q_proj", "model.layers.2.mlp.up_proj"}, []string{"model.layers.3.mlp.up_proj", "model.layers.20.mlp.up_proj"}},
		{"hf_quant_config", `{}`, `{"producer":{"name":"modelopt","version":"0.29"},"quantization":{"quant_algo":"NVFP4","kv_cache_quant_algo":"FP8","group_size":16,"exclude_modules":["lm_head"]}}`,
			"modelopt NVFP4 [] modelopt 0.29 kv=FP8 4 float tensor_group 16 static=true", []string{"lm_head"}, []string{"model.norm"}},
		{"mixed", `{}`, `{"quantization":{"quant_algo":"MIXED_PRECISION","quantized_layers":{"model.layers.0.mlp.up_proj":{"quant_algo":"FP8"}}}}`,
			"modelopt MIXED_PRECISION [] kv= layers 1", nil, nil},
		{"compressed-tensors", `{"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized","kv_cache_scheme":null,
			"config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int","group_size":32,"strategy":"group"},"input_activations":null}},
			"ignore":["lm_head","re:.*self_attn.*","re:.*mlp\\.(gate|up)_proj.*","re:(?<bad"]}}`, "",
			"compressed-tensors pack-quantized [] kv= 4 int group 32 static=false",
			[]string{"model.layers.0.self_attn.o_proj", "model.layers.0.mlp.up_proj"}, []string{"model.layers.0.mlp.experts.1.up_proj"}},
		{"gptq", `{"quantization_config":{"quant_method":"gptq","bits":4,"group_size":128}}`, "", "gptq  [] kv= 4 int group 128 static=false", nil, nil},
		{"inside text_config", `{"text_config":{"quantization_config":{"quant_method":"fp8"}}}`, "", "fp8  [] kv= 8 float tensor 0 static=false", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]any{"config.json": tc.config, "model.safetensors": checkpointtest.Safetensors(one)}
			if tc.hf != "" {
				files["hf_quant_config.json"] = tc.hf
			}
			q := open(t, checkpointtest.Folder(t, files)).Quantisation()
			got := "none"
			if q != nil {
				got = fmt.Sprintf("%s %s %v ", q.Method, q.Algo, q.Block)
				for _, s := range []string{q.ScaleFmt, q.Producer} {
					if s != "" {
						got += s + " "
					}
				}
				got += "kv=" + q.KV
				for _, g := range q.Groups {
					got += fmt.Sprintf(" %d %s %s %d static=%v", g.Bits, g.Type, g.Strategy, g.GroupSize, g.Static)
				}
				if len(q.Layers) > 0 {
					got += fmt.Sprintf(" layers %d", len(q.Layers))
				}
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			for _, name := range tc.ignores {
				if _, ok := q.Ignores(name); !ok {
					t.Errorf("%s is not ignored", name)
				}
			}
			for _, name := range tc.not {
				if entry, ok := q.Ignores(name); ok {
					t.Errorf("%s is ignored by %q", name, entry)
				}
			}
		})
	}
}

// oracleModels are reference checkpoints that a developer may have beside the
// repository; they were written by the usual libraries.
const oracleModels = "../../../shared/oracle/models"

func TestReferenceCheckpoints(t *testing.T) {
	entries, err := os.ReadDir(oracleModels)
	if err != nil {
		t.Skip("no reference checkpoints here")
	}
	storages := map[string]string{
		"llama-tiny-fp8": "fp8-block", "llama-tiny-fp8-ct": "fp8-channel", "llama-tiny-nvfp4-ct": "nvfp4", "llama-tiny-mxfp4-ct": "mxfp4",
		"glm-dsa-tiny-nvfp4": "nvfp4", "deepseek-v3-tiny-nvfp4": "nvfp4", "glm-dsa-tiny-fp8": "fp8-block", "glm-dsa-tiny-fp8-ue8m0": "fp8-block",
		"deepseek-v3-tiny-int4": "packed-int",
	}
	for _, e := range entries {
		c := open(t, filepath.Join(oracleModels, e.Name()))
		if len(c.Problems) > 0 {
			t.Errorf("%s: %v", e.Name(), c.Problems)
		}
		var got []string
		for _, m := range c.Modules() {
			if len(m.Missing) > 0 || m.Odd != "" {
				t.Errorf("%s: %s: missing %v, %s", e.Name(), m.Name, m.Missing, m.Odd)
			}
			if s := string(m.Storage); m.Quantised() && !slices.Contains(got, s) {
				got = append(got, s)
			}
		}
		if want := storages[e.Name()]; strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %q", e.Name(), got, want)
		}
	}
}
