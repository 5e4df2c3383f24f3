package vllm

import (
	"testing"

	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// llama is a small dense model.
const llama = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
	"num_key_value_heads": 8, "num_hidden_layers": 32, "max_position_embeddings": 8192, "rope_theta": 500000.0, "torch_dtype": "bfloat16", "vocab_size": 128256}`

var h100 = hardware.GPU{Name: "NVIDIA H100 80GB HBM3", SM: "9.0", MemoryGiB: 79.65, MemoryMiB: 81559, Count: 8}

// launch makes a question about a model given as the text of its config.json.
func launch(t *testing.T, version, config string, gpu hardware.GPU, argv ...string) plan.Case {
	t.Helper()
	o, err := hfconfig.Decode([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return plan.Case{Engine: "vllm", Version: version, GPU: gpu, Model: &hfconfig.Model{Name: "m", Path: "m", Config: o}, Argv: argv}
}

func TestResolve(t *testing.T) {
	got := Resolve(launch(t, "0.24.0", llama, h100, "--tensor-parallel-size", "2"))
	if got.Refusal != nil {
		t.Fatal(got.Refusal)
	}
	for setting, want := range map[string]any{
		"model.dtype":                           "torch.bfloat16",
		"model.max_model_len":                   8192,
		"cache.block_size":                      16,
		"scheduler.max_num_batched_tokens":      8192,
		"parallel.distributed_executor_backend": "mp",
		"compilation.cudagraph_mode":            "FULL_AND_PIECEWISE",
		"compilation.cudagraph_capture_sizes":   "51 values, 1..512, sum 10503",
		"pass.fuse_allreduce_rms":               true,
	} {
		if v := got.Effective[setting]; v != want {
			t.Errorf("%s = %v, want %v", setting, v, want)
		}
	}
}
