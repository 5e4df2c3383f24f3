package memfit_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/memfit"
)

// Configs restated from published checkpoints, with the fields that sizes
// follow from.
const (
	glm5 = `{"architectures":["GlmMoeDsaForCausalLM"],"model_type":"glm_moe_dsa","hidden_size":6144,"num_hidden_layers":78,
		"num_attention_heads":64,"num_key_value_heads":64,"q_lora_rank":2048,"kv_lora_rank":512,"qk_nope_head_dim":192,"qk_rope_head_dim":64,
		"v_head_dim":256,"index_n_heads":32,"index_head_dim":128,"index_topk":2048,"intermediate_size":12288,"moe_intermediate_size":2048,
		"n_routed_experts":256,"num_experts_per_tok":8,"n_shared_experts":1,"first_k_dense_replace":3,"vocab_size":154880,
		"num_nextn_predict_layers":1,"tie_word_embeddings":false,"dtype":"bfloat16"%s}`
	nvfp4 = `,"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["lm_head","model.embed_tokens",
		"model.layers.0*","model.layers.1*","model.layers.2*","re:.*self_attn.*"]}`
	fp8   = `,"quantization_config":{"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,128],"modules_to_not_convert":["lm_head"]}`
	llama = `{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,"torch_dtype":"bfloat16"%s}`
	gptOSS = `{"architectures":["GptOssForCausalLM"],"model_type":"gpt_oss","hidden_size":2880,"num_hidden_layers":36,"num_attention_heads":64,
		"num_key_value_heads":8,"head_dim":64,"intermediate_size":2880,"num_local_experts":128,"vocab_size":201088,"sliding_window":128,
		"layer_types":["sliding_attention","full_attention"],"quantization_config":{"quant_method":"mxfp4"}}`
	next = `{"architectures":["Qwen3NextForCausalLM"],"model_type":"qwen3_next","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":16,
		"num_key_value_heads":2,"head_dim":256,"full_attention_interval":4,"linear_num_key_heads":16,"linear_num_value_heads":32,
		"linear_key_head_dim":128,"linear_value_head_dim":128,"linear_conv_kernel_dim":4,"num_experts":512,"moe_intermediate_size":512,
		"shared_expert_intermediate_size":512,"vocab_size":151936,"torch_dtype":"bfloat16"}`
)

func model(t testing.TB, text string) *hfconfig.Model {
	t.Helper()
	m, err := hfconfig.Read(fstest.MapFS{"config.json": {Data: []byte(text)}}, "m")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func gpu(t testing.TB, text string) hardware.GPU {
	t.Helper()
	g, err := hardware.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func item(e memfit.Estimate, name string) float64 {
	for _, it := range e.Items {
		if it.Name == name {
			return it.GiB
		}
	}
	return math.NaN()
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got-want) <= share*math.Abs(want)) {
		t.Errorf("%s: %.2f, want %.2f within %.0f %%", what, got, want, 100*share)
	}
}

// TestFounding: eight RTX PRO 6000 with GLM-5-NVFP4 had room for 370752 tokens
// and 17.08 GB left, with sparse attention's plain FP8 record. What was left
// shows the memory fraction of that night: 0.8, for 0.848 leaves 14.
func TestFounding(t *testing.T) {
	e, err := memfit.Fit(memfit.Input{
		Engine: "sglang", Version: "0.5.9", Model: model(t, fmt.Sprintf(glm5, nvfp4)), GPU: gpu(t, "8x RTX PRO 6000"),
		Effective: map[string]any{
			"tp_size": 8, "mem_fraction_static": 0.8, "kv_cache_dtype": "fp8_e4m3", "page_size": 64, "max_running_requests": 64,
			"cuda_graph_max_bs": 512, "nsa_prefill_backend": "trtllm", "nsa_decode_backend": "trtllm",
		},
		Runtime: map[string]any{"model_config.context_len": 202752, "kv_cache_torch_dtype": "torch.float8_e4m3fn"},
	})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "tokens", float64(e.Tokens), 370752, 0.10)
	near(t, "left", e.LeftGiB, 17.08, 0.10)
	if e.BytesPerToken != 78*(576+132) || !e.Fits || e.Tokens%64 != 0 {
		t.Errorf("%+v", e)
	}
}

// TestWeights compares with "mem usage" of SGLang's "Load weight end" line, and
// with the sizes that the publishers give.
func TestWeights(t *testing.T) {
	for _, tc := range []struct {
		name, config, gpu string
		tp                int
		want              float64 // GiB on one GPU
	}{
		{"GLM-5-FP8, a log of SGLang on MI355X", fmt.Sprintf(glm5, fp8), "8x MI355X", 8, 89.4},
		{"Llama-3.1-8B, 16.06 GB of files", fmt.Sprintf(llama, ""), "H100", 1, 14.96},
		{"Llama-3.1-8B AWQ, 5.73 GB of files", fmt.Sprintf(llama, `,"quantization_config":{"quant_method":"awq","bits":4,"group_size":128,"zero_point":true}`), "H100", 1, 5.33},
		{"gpt-oss-120b, 65.2 GB of files", gptOSS, "H100", 1, 60.8},
		{"Qwen3-Next-80B-A3B", next, "8x H100", 8, 18.6},
	} {
		e, err := memfit.Fit(memfit.Input{
			Engine: "sglang", Version: "0.5.9", Model: model(t, tc.config), GPU: gpu(t, tc.gpu),
			Effective: map[string]any{"tp_size": tc.tp, "mem_fraction_static": 0.9},
		})
		if err != nil {
			t.Fatal(err)
		}
		near(t, tc.name, item(e, "weights"), tc.want, 0.02)
	}
}

// TestFiles: the size of the files settles what the config leaves open.
func TestFiles(t *testing.T) {
	in := memfit.Input{
		Engine: "sglang", Version: "0.5.9", Model: model(t, fmt.Sprintf(llama, "")), GPU: gpu(t, "H100"),
		Effective: map[string]any{"mem_fraction_static": 0.9}, FileBytes: 8.03e9,
	}
	e, err := memfit.Fit(in)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "half the size", item(e, "weights"), 7.48, 0.01)
	in.FileBytes = 16.1e9
	if e, err = memfit.Fit(in); err != nil || !strings.Contains(e.Items[1].How, "the files hold") {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestSGLangParts(t *testing.T) {
	fit := func(config string, effective, runtime map[string]any) memfit.Estimate {
		t.Helper()
		if effective["mem_fraction_static"] == nil {
			effective["mem_fraction_static"] = 0.9
		}
		e, err := memfit.Fit(memfit.Input{
			Engine: "sglang", Version: "0.5.18", Model: model(t, config), GPU: gpu(t, "8x H200"), Effective: effective, Runtime: runtime,
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	// 2048 requests of 262144 tokens took 2 GiB beside the pools of a Kimi K2.
	e := fit(fmt.Sprintf(llama, ""), map[string]any{"max_running_requests": 2048}, map[string]any{"model_config.context_len": 262144})
	near(t, "request table", item(e, "request table"), 2, 0.01)
	if e.BytesPerToken != 32*8*256*2 {
		t.Errorf("Llama: %.0f bytes per token", e.BytesPerToken)
	}
	// Few KV heads are copied, so more GPUs than heads do not halve the cache.
	e8, e16 := fit(fmt.Sprintf(llama, ""), map[string]any{"tp_size": 8}, nil), fit(fmt.Sprintf(llama, ""), map[string]any{"tp_size": 16}, nil)
	if e8.BytesPerToken != 32*256*2 || e16.BytesPerToken != e8.BytesPerToken {
		t.Errorf("tp 8: %.0f, tp 16: %.0f bytes per token", e8.BytesPerToken, e16.BytesPerToken)
	}
	packed := fit(fmt.Sprintf(glm5, fp8), map[string]any{"tp_size": 8, "kv_cache_dtype": "fp8_e4m3", "dsa_decode_backend": "flashmla_kv"}, nil)
	if packed.BytesPerToken != 78*(656+132) {
		t.Errorf("packed record: %.0f bytes per token", packed.BytesPerToken)
	}
	shared := strings.Replace(glm5, `"index_topk":2048`, `"index_topk":2048,"index_topk_freq":4,"index_skip_topk_offset":3`, 1)
	few := fit(fmt.Sprintf(shared, fp8), map[string]any{"tp_size": 8, "kv_cache_dtype": "fp8_e4m3", "dsa_decode_backend": "flashmla_kv"}, nil)
	if few.BytesPerToken != 78*656+21*132 {
		t.Errorf("shared indexes: %.0f bytes per token", few.BytesPerToken)
	}
	wide := fit(fmt.Sprintf(glm5, fp8), map[string]any{"tp_size": 8, "kv_cache_dtype": "bfloat16"}, nil)
	if wide.BytesPerToken != 78*(1152+132) {
		t.Errorf("16 bit: %.0f bytes per token", wide.BytesPerToken)
	}
	dp := fit(fmt.Sprintf(glm5, fp8), map[string]any{"tp_size": 8, "dp_size": 8, "enable_dp_attention": true}, nil)
	if item(dp, "weights") < item(packed, "weights")+10 {
		t.Errorf("attention of all heads on every GPU: %.1f GiB, divided %.1f", item(dp, "weights"), item(packed, "weights"))
	}
	stages := fit(fmt.Sprintf(glm5, fp8), map[string]any{"tp_size": 4, "pp_size": 2}, nil)
	near(t, "two stages", item(stages, "weights"), item(packed, "weights"), 0.05)
	draft := fit(fmt.Sprintf(glm5, fp8), map[string]any{"tp_size": 8, "speculative_algorithm": "EAGLE"}, nil)
	near(t, "draft", item(draft, "draft layers"), 1.3, 0.1)
	state := fit(next, map[string]any{"tp_size": 8}, nil)
	if item(state, "states") <= 0 || state.BytesPerToken != 12*512*2 {
		t.Errorf("hybrid: %+v", state)
	}
	swa := fit(gptOSS, map[string]any{}, map[string]any{"model_config.is_hybrid_swa": true})
	if len(swa.Notes) == 0 || swa.BytesPerToken >= 36*8*128*2 {
		t.Errorf("sliding window: %+v", swa)
	}
	graphs := func(decode map[string]any) float64 {
		return item(fit(fmt.Sprintf(llama, ""), map[string]any{"cuda_graph_config": map[string]any{"decode": decode}}, nil), "graphs")
	}
	near(t, "graphs of 256 sizes", graphs(map[string]any{"backend": "full", "max_bs": 256}), 1, 0.01)
	if !math.IsNaN(graphs(map[string]any{"backend": "disabled", "max_bs": 256})) {
		t.Error("graphs that are off take memory")
	}
	limited := fit(fmt.Sprintf(llama, ""), map[string]any{"max_total_tokens": 1000, "page_size": 64}, nil)
	if limited.Tokens != 960 {
		t.Errorf("limited: %d tokens", limited.Tokens)
	}
}

// TestDraft: a draft model of its own takes memory.
func TestDraft(t *testing.T) {
	in := memfit.Input{
		Engine: "sglang", Version: "0.5.9", Model: model(t, fmt.Sprintf(llama, "")), GPU: gpu(t, "H100"),
		Effective: map[string]any{"mem_fraction_static": 0.9},
	}
	alone, err := memfit.Fit(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Draft = model(t, fmt.Sprintf(llama, ""))
	with, err := memfit.Fit(in)
	if err != nil || with.Tokens >= alone.Tokens {
		t.Errorf("%d tokens with a draft, %d without, %v", with.Tokens, alone.Tokens, err)
	}
	near(t, "draft model", item(with, "draft model"), 14.96, 0.02)
	in.Draft = model(t, `{"architectures":["X"]}`)
	if e, err := memfit.Fit(in); err != nil || len(e.Notes) != 1 || e.Tokens != alone.Tokens {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestDoesNotFit(t *testing.T) {
	e, err := memfit.Fit(memfit.Input{
		Engine: "sglang", Version: "0.5.9", Model: model(t, fmt.Sprintf(glm5, fp8)), GPU: gpu(t, "8x H100"),
		Effective: map[string]any{"tp_size": 8, "mem_fraction_static": 0.85},
	})
	if err != nil || e.Fits || e.Tokens != 0 || !strings.Contains(e.Text, "oversized: 88") {
		t.Errorf("%+v, %v", e, err)
	}
	e, err = memfit.Fit(memfit.Input{
		Engine: "vllm", Version: "0.24.0", Model: model(t, fmt.Sprintf(llama, "")), GPU: gpu(t, "RTX 4090"),
		Effective: map[string]any{"cache.gpu_memory_utilization": 0.9, "model.max_model_len": 131072, "scheduler.max_num_batched_tokens": 2048, "scheduler.max_num_seqs": 256, "model.dtype": "torch.bfloat16", "cache.cache_dtype": "auto"},
		Runtime:   map[string]any{"block_size": 16},
	})
	if err != nil || e.Fits || e.Tokens < 20000 || e.Tokens > 60000 || !strings.Contains(e.Text, "one request of max_model_len") {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestVLLM(t *testing.T) {
	e, err := memfit.Fit(memfit.Input{
		Engine: "vllm", Version: "0.24.0", Model: model(t, fmt.Sprintf(glm5, fp8)), GPU: gpu(t, "8x H200"),
		Effective: map[string]any{
			"parallel.tensor_parallel_size": 8, "cache.gpu_memory_utilization": 0.92, "scheduler.max_num_batched_tokens": 8192,
			"scheduler.max_num_seqs": 256, "cache.cache_dtype": "fp8_ds_mla", "model.max_model_len": 202752,
		},
		Runtime: map[string]any{"kv_cache_dtype": "fp8_ds_mla", "block_size": 64},
	})
	if err != nil || !e.Fits || e.BytesPerToken != 78*(656+132) || e.Tokens%64 != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestUnknown(t *testing.T) {
	var unknown *memfit.UnknownError
	for name, in := range map[string]memfit.Input{
		"no sizes":    {Engine: "sglang", Model: model(t, `{"architectures":["X"]}`), GPU: gpu(t, "H200")},
		"no memory":   {Engine: "sglang", Model: model(t, next)},
		"no engine":   {Engine: "tgi", Model: model(t, next), GPU: gpu(t, "H200")},
		"no fraction": {Engine: "sglang", Model: model(t, next), GPU: gpu(t, "H200")},
		"no grant":    {Engine: "vllm", Model: model(t, next), GPU: gpu(t, "H200")},
	} {
		if _, err := memfit.Fit(in); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzFit: whatever a config.json says, reckoning ends without a panic and with
// numbers.
func FuzzFit(f *testing.F) {
	for _, s := range []string{fmt.Sprintf(glm5, nvfp4), fmt.Sprintf(llama, ""), gptOSS, next,
		`{"hidden_size":1,"num_hidden_layers":1,"num_attention_heads":1,"hybrid_override_pattern":"M-*E","quantization_config":{"quant_method":"awq","bits":-4,"group_size":-1,"ignore":["re:(","*","a*b"]}}`,
	} {
		f.Add(s)
	}
	g := gpu(f, "8x H200")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := hfconfig.Read(fstest.MapFS{"config.json": {Data: []byte(text)}}, "m")
		if err != nil {
			return
		}
		for _, in := range []memfit.Input{
			{Engine: "sglang", Version: "0.5.9", Model: m, GPU: g, Effective: map[string]any{"tp_size": 8, "mem_fraction_static": 0.9}},
			{Engine: "vllm", Version: "0.24.0", Model: m, GPU: g, Effective: map[string]any{"parallel.tensor_parallel_size": 8, "cache.gpu_memory_utilization": 0.9}},
		} {
			e, err := memfit.Fit(in)
			if err == nil && (e.Tokens < 0 || math.IsNaN(e.LeftGiB) || math.IsInf(e.LeftGiB, 0) || math.IsNaN(e.BytesPerToken)) {
				t.Errorf("%+v", e)
			}
		}
	})
}
