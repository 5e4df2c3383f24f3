package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
	"shakedown/internal/serve"
)

// server is one server with its model and state.
type server struct {
	fault    string // of docs/faults.md; empty: it is healthy
	family   string
	severity string // how much of the model or text the fault reaches
	config   string // config.json
	options  oracletest.Options
	numerics string
	sound    string   // numerics without the fault
	classes  []string // the class of the cause, then those that the public record has as well
	limits   serve.Limits
	hit      bool // the fault shows in texts that begin with an earlier one
	bare     bool // no chat template, as base models have none
}

func (s *server) name() string {
	state := s.fault
	if state == "" {
		state = "healthy"
	}
	return strings.Join([]string{state, s.family, s.severity, s.numerics}, " / ")
}

// limits are those of `shakedown serve` made small, as the models are.
func limits() serve.Limits {
	return serve.Limits{Context: 2048, Running: 8, Queued: 64, Tokens: 8192, Chunk: 256}
}

// change is a config.json with other fields.
func change(config string, fields map[string]any) string {
	var all map[string]any
	if err := json.Unmarshal([]byte(config), &all); err != nil {
		panic(err) // a constant of this program
	}
	for k, v := range fields {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	out, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// families are the tiny models by name, in groups.
var (
	grouped = []string{"llama", "mistral", "qwen2", "qwen3"}
	routed  = []string{"qwen3_moe"}
	latent  = []string{"deepseek_v3", "deepseek_v32", "kimi_k2", "glm4_moe_lite", "glm_moe_dsa"}
	sparse  = []string{"deepseek_v32", "glm_moe_dsa"}
)

// wide are models with rows of several blocks of 128.
func wide(family string) string {
	switch family {
	case "deepseek_v3":
		return oracletest.Wide
	case "qwen3_moe":
		return change(oracletest.Configs[family], map[string]any{"hidden_size": 512, "intermediate_size": 512, "moe_intermediate_size": 512, "head_dim": 128})
	}
	return change(oracletest.Configs[family], map[string]any{"hidden_size": 512, "intermediate_size": 512, "head_dim": 128})
}

// latentReal are models whose latents and rotated keys have the widths of KV
// records.
func latentReal(family string) string {
	fields := map[string]any{"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 64}
	if slices.Contains(sparse, family) {
		fields["index_head_dim"] = 128
	}
	return change(oracletest.Configs[family], fields)
}

// blocks are FP8 block formats for the modules whose name holds one of the parts.
func formatted(f oracletest.Format, parts ...string) func(string) oracletest.Format {
	return func(module string) oracletest.Format {
		for _, p := range parts {
			if strings.Contains(module, p) {
				return f
			}
		}
		return oracletest.BF16
	}
}

// loud makes the MLPs of some layers so large that float16 overflows.
func loud(factor float32, layers ...int) func(string, []float32, int, int) {
	return func(tensor string, values []float32, _, cols int) {
		for _, l := range layers {
			if cols > 0 && strings.HasPrefix(tensor, fmt.Sprintf("model.layers.%d.mlp.", l)) && (strings.Contains(tensor, "down_proj") || strings.Contains(tensor, "up_proj")) {
				for i := range values {
					values[i] *= factor
				}
			}
		}
	}
}

// zeroTile makes the second tile of 128 latent values of some layers zero.
func zeroTile(layers ...int) func(string, []float32, int, int) {
	return func(tensor string, values []float32, _, _ int) {
		for _, l := range layers {
			if tensor == fmt.Sprintf("model.layers.%d.self_attn.kv_a_layernorm.weight", l) {
				clear(values[128:256])
			}
		}
	}
}

// kvWords says how arithmetics keep keys and values, where it matters.
var kvWords = map[string]string{"sglang-bf16kv": ", 16-bit cache", "sglang-0.5.18-sm100-auto": ", 8-bit cache"}

// faulty are the servers with a fault.
func faulty() []server {
	var list []server
	add := func(s server, sound, fault string, classes ...string) {
		s.sound, s.numerics, s.classes = sound, sound+","+fault, classes
		if s.config == "" {
			s.config = oracletest.Configs[s.family]
		}
		s.limits = limits()
		list = append(list, s)
	}
	const garbage = "numerics-garbage"
	for _, f := range []string{"deepseek_v3", "llama", "qwen3_moe"} {
		for severity, parts := range map[string][]string{"attention": {"self_attn"}, "all matrices": {"_proj"}, "one matrix": {"layers.1.self_attn.o_proj"}} {
			add(server{fault: "scales packed as powers of two", family: f, severity: severity, config: wide(f), options: oracletest.Options{Format: formatted(oracletest.FP8Block, parts...)}},
				"sglang-bf16kv", "scales=deepgemm-packed", "numerics-nan", "checkpoint-format", "auto-selection")
		}
	}
	for _, f := range latent {
		for _, base := range []string{"sglang-bf16kv", "vllm-bf16kv"} {
			add(server{fault: "656-byte records read as 576", family: f, severity: "every layer", config: latentReal(f)}, base, "kv=fp8_656-read-as-576", "kv-cache-dtype", "numerics-nan")
		}
	}
	for _, f := range latent {
		for severity, layers := range map[string][]int{"every layer": {0, 1}, "the last layer": {1}} {
			add(server{fault: "a tile of zeros in the record", family: f, severity: severity, config: latentReal(f), options: oracletest.Options{Values: zeroTile(layers...)}},
				"sglang-bf16kv", "kv=fp8_656", "kv-cache-dtype", "numerics-nan")
		}
	}
	for _, f := range slices.Concat(grouped, routed, latent) {
		for _, page := range []int{8, 16, 64} {
			add(server{fault: "stale page of the KV cache", family: f, severity: "page " + strconv.Itoa(page)}, "sglang-bf16kv", "fault=stale-page,page="+strconv.Itoa(page), garbage, "kv-cache-dtype")
		}
	}
	for _, f := range slices.Concat(grouped, routed, latent) {
		for _, page := range []int{8, 16, 64} {
			for base, classes := range map[string][]string{"sglang-bf16kv": {garbage, "kv-cache-dtype"}, "sglang-0.5.18-sm100-auto": {"kv-cache-dtype", garbage}} {
				add(server{fault: "stale page after a prefix hit", family: f, severity: "page " + strconv.Itoa(page) + kvWords[base], hit: true}, base, "fault=stale-hit,page="+strconv.Itoa(page), classes...)
			}
		}
	}
	for _, f := range slices.Concat(routed, latent) {
		for severity, parts := range map[string][]string{"every expert": {".experts."}, "one layer": {"layers.0.mlp.experts.", "layers.1.mlp.experts."}, "every matrix of an MLP": {".mlp."}} {
			add(server{fault: "missing input_scale", family: f, severity: severity, options: oracletest.Options{Format: formatted(oracletest.NVFP4, parts...)}},
				"exact,gemm=scheme", "fault=no-input-scale", "checkpoint-incomplete", "numerics-nan")
		}
	}
	for _, f := range slices.Concat(grouped, routed, latent) {
		for severity, layers := range map[string][]int{"the first layer": {0}, "the second layer": {1}} {
			add(server{fault: "float16 overflow", family: f, severity: severity, options: oracletest.Options{Values: loud(400, layers...)}}, "hf-bf16", "act=f16", "numerics-nan")
		}
	}
	for _, f := range slices.Concat(routed, latent) {
		for _, base := range []string{"exact", "sglang-bf16kv"} {
			add(server{fault: "gate and up of experts swapped", family: f, severity: "every expert"}, base, "fault=swap-gate-up", garbage, "checkpoint-format")
		}
	}
	for _, f := range slices.Concat(grouped, routed, latent) {
		layout := "half"
		if !slices.Contains(latent, f) {
			layout = "interleave"
		}
		for _, base := range []string{"exact", "sglang-bf16kv"} {
			add(server{fault: "rotation of halves instead of pairs", family: f, severity: "rope=" + layout}, base, "rope="+layout, garbage, "version-regression", "dependency-mismatch")
		}
	}
	for _, f := range sparse {
		for _, topk := range []int{6, 32, 128} {
			for _, layout := range []string{"half", "interleave"} {
				add(server{fault: "indexer rotates halves", family: f, severity: "index_topk " + strconv.Itoa(topk), config: change(oracletest.Configs[f], map[string]any{"index_topk": topk})},
					"exact", "index-rope="+layout, garbage, "version-regression", "dependency-mismatch")
			}
		}
	}
	for _, f := range latent {
		for _, base := range []string{"exact", "sglang-bf16kv"} {
			add(server{fault: "shared expert counted as a routed one", family: f, severity: "every layer with experts"}, base, "fault=fused-shared-count", garbage)
		}
	}
	for _, f := range slices.Concat(grouped, routed, latent) {
		for _, base := range []string{"exact", "sglang-bf16kv"} {
			add(server{fault: "uninitialised shard", family: f, severity: "half of every down_proj"}, base, "fault=uninitialised-shard", "checkpoint-incomplete", "numerics-nan", garbage)
		}
	}
	// The order of maps must not show.
	slices.SortStableFunc(list, func(a, b server) int {
		if a.fault != b.fault || a.family != b.family {
			return 0
		}
		return strings.Compare(a.severity, b.severity)
	})
	return list
}

// healthy are servers without a fault: families with all sound arithmetics, caches
// and batches of several sizes, weights of other formats and seeds.
func healthy(n int) []server {
	var sound []string
	for _, name := range numerics.Names() {
		if strings.HasPrefix(name, "sglang-0.5.9") { // it plays packed scales
			name += ",scales=exact"
		}
		sound = append(sound, name)
	}
	sound = append(sound, "hf-bf16,act=f16", "exact,gemm=scheme", "sglang-bf16kv,kv=fp8_576", "vllm-bf16kv,kv=f16")
	all := slices.Concat(grouped, routed, latent)
	var list []server
	for i := 0; len(list) < n; i++ {
		family := all[i%len(all)]
		s := server{
			family: family, numerics: sound[(i/len(all)+i)%len(sound)], config: oracletest.Configs[family],
			options: oracletest.Options{Seed: uint64(i / 7)}, bare: i%5 == 3,
		}
		s.limits = serve.Limits{
			Context: []int{2048, 512, 1024, 4096}[i/3%4], Running: []int{8, 1, 2, 32}[i/2%4], Queued: 64, Chunk: []int{256, 7, 64, 16}[i%4],
		}
		s.limits.Tokens = s.limits.Context * []int{4, 1, 2}[i%3]
		s.severity = fmt.Sprintf("context %d, %d at once, %d cached, chunks of %d, seed %d", s.limits.Context, s.limits.Running, s.limits.Tokens, s.limits.Chunk, s.options.Seed)
		switch {
		case i%11 == 5 && !slices.Contains(latent, family):
			s.config, s.options.Format = wide(family), formatted(oracletest.FP8Block, "_proj")
			s.severity += ", FP8 blocks"
		case i%11 == 7 && !slices.Contains(grouped, family):
			s.options.Format = formatted(oracletest.NVFP4, ".experts.")
			s.severity += ", NVFP4 experts"
		case i%11 == 9 && slices.Contains(latent, family):
			s.config = latentReal(family)
			s.severity += ", latents of 512"
		}
		if s.bare {
			s.severity += ", no chat template"
		}
		list = append(list, s)
	}
	return list
}
