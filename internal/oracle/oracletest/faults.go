package oracletest

import "strings"

// Fault is one failure of the public record and a tiny checkpoint on which it
// shows.
type Fault struct {
	Name    string
	Healthy string // numerics without it
	Faulty  string // and with it
	Source  string // where the record has it
	Config  string
	Options Options
	// Hit, if positive, is how many tokens of the text come from an earlier one.
	Hit int
}

// Wide has several blocks of 128 in a row of its matrices.
const Wide = `{"model_type":"deepseek_v3","hidden_size":512,"num_hidden_layers":2,"num_attention_heads":2,"q_lora_rank":512,"kv_lora_rank":128,
	"qk_nope_head_dim":64,"qk_rope_head_dim":64,"v_head_dim":64,"intermediate_size":512,"moe_intermediate_size":128,"n_routed_experts":4,
	"num_experts_per_tok":2,"n_shared_experts":1,"n_group":1,"topk_group":1,"first_k_dense_replace":2,"vocab_size":64}`

// AttentionFP8 has FP8 blocks in attention.
func AttentionFP8(module string) Format {
	if strings.Contains(module, "self_attn") && strings.HasSuffix(module, "proj") || strings.HasSuffix(module, "proj_with_mqa") {
		return FP8Block
	}
	return BF16
}

// ExpertsNVFP4 has NVFP4 in routed experts.
func ExpertsNVFP4(module string) Format {
	if strings.Contains(module, ".experts.") {
		return NVFP4
	}
	return BF16
}

// ZeroTile makes the second tile of 128 latent values zero.
func ZeroTile(tensor string, values []float32, _, _ int) {
	if strings.HasSuffix(tensor, "kv_a_layernorm.weight") {
		clear(values[128:256])
	}
}

// Loud makes the MLP of layer 1 so large that float16 overflows.
func Loud(tensor string, values []float32, _, _ int) {
	if tensor == "model.layers.1.mlp.down_proj.weight" || tensor == "model.layers.1.mlp.up_proj.weight" {
		for i := range values {
			values[i] *= 400
		}
	}
}

// Faults are those of docs/faults.md, in its order.
var Faults = []Fault{
	{
		Name: "scales packed as powers of two", Healthy: "sglang-bf16kv", Faulty: "sglang-bf16kv,scales=deepgemm-packed",
		Source: "DeepGEMM before 54e22612, smxx_layout.cuh:135; SGLang PR 13067, issues 16622, 28662", Config: Wide, Options: Options{Format: AttentionFP8},
	},
	{
		Name: "656-byte records read as 576", Healthy: "sglang-bf16kv,kv=fp8_656", Faulty: "sglang-bf16kv,kv=fp8_656-read-as-576",
		Source: "sglang 0.5.9, KV format and decode kernel chosen apart (server_args.py:1177)", Config: LatentReal,
	},
	{
		Name: "a tile of zeros in the record", Healthy: "sglang-bf16kv,kv=fp8_ds_mla", Faulty: "sglang-bf16kv,kv=fp8_656",
		Source: "sglang 0.5.18 quant_k_cache.py:150 (vLLM has a floor)", Config: LatentReal, Options: Options{Values: ZeroTile},
	},
	{
		Name: "stale page of the KV cache", Healthy: "sglang-bf16kv", Faulty: "sglang-bf16kv,fault=stale-page,page=8",
		Source: "sglang#24198", Config: LatentReal,
	},
	{
		Name: "stale page after a prefix hit", Healthy: "sglang-bf16kv", Faulty: "sglang-bf16kv,fault=stale-hit,page=8",
		Source: "sglang#24198", Config: LatentReal, Hit: 17,
	},
	{
		Name: "missing input_scale", Healthy: "exact,gemm=scheme", Faulty: "exact,gemm=scheme,fault=no-input-scale",
		Source: "vllm#45212", Config: LatentReal, Options: Options{Format: ExpertsNVFP4},
	},
	{
		Name: "float16 overflow", Healthy: "hf-bf16", Faulty: "hf-bf16,act=f16",
		Source: "vLLM and ik_llama reports of --dtype half on bfloat16 models", Config: Configs["llama"], Options: Options{Values: Loud},
	},
	{
		Name: "gate and up of experts swapped", Healthy: "exact", Faulty: "exact,fault=swap-gate-up",
		Source: "sglang#32430, Megatron-LM#6045", Config: LatentReal,
	},
	{
		Name: "rotation of halves instead of pairs", Healthy: "exact", Faulty: "exact,rope=half",
		Source: "transformers 5.2 to 5.10 for GLM-5 (fixed by #46372)", Config: LatentReal,
	},
	{
		Name: "indexer rotates halves", Healthy: "exact", Faulty: "exact,index-rope=half",
		Source: "transformers 513146c1 to 8698b5a5 for GLM-5 (#46842)", Config: strings.Replace(LatentReal, `"index_topk":32`, `"index_topk":8`, 1),
	},
	{
		Name: "shared expert counted as a routed one", Healthy: "exact", Faulty: "exact,fault=fused-shared-count",
		Source: "sglang#38963", Config: LatentReal,
	},
	{
		Name: "uninitialised shard", Healthy: "exact", Faulty: "exact,fault=uninitialised-shard",
		Source: "sglang#32279", Config: LatentReal,
	},
}
