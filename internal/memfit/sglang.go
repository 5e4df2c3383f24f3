package memfit

import (
	"fmt"
	"strings"

	"shakedown/internal/flags"
)

// exactBudget are the releases whose budget counts the packed FP8 record of
// sparse attention as it is stored, and index keys for the layers only that have
// an index. Before, it counts 576 bytes for the 656, and every layer.
// Source: sglang/srt/model_executor/model_runner_kv_cache_mixin.py
// get_cell_size_per_token (0.5.9, 0.5.10), pool_configurator.py (0.5.12, 0.5.15,
// 0.5.18).
var exactBudget, _ = flags.ParseRange(">=0.5.18")

// sglang follows ModelRunner.profile_max_num_token (0.5.9) and
// MemoryPoolConfigurator (0.5.12 and later): what the memory fraction leaves
// beside the weights is divided by the bytes of a token.
func (e *estimator) sglang() (Estimate, error) {
	v := e.v
	tp, pp := max(v.whole("tp_size", 1), 1), max(v.whole("pp_size", 1), 1)
	d := split{tp: tp, attn: tp, expert: tp, embed: tp, pp: pp}
	if v.on("enable_dp_attention") {
		d.attn = max(1, tp/max(v.whole("dp_size", 1), 1))
		d.embed = 1
	}
	before := e.total - e.startup(tp*pp)
	e.item("start-up", e.total-before, "contexts of the GPU and of the communication, an estimate")
	quantization := firstText(v.text("model_config.quantization"), v.text("quantization"))
	weights := e.weigh(quantization, v.text("model_config.dtype"), d, e.speculates())
	fraction := v.number("mem_fraction_static", 0)
	if fraction <= 0 {
		return Estimate{}, &UnknownError{"mem_fraction_static is not known"}
	}
	budget := before*fraction - weights
	dtype := firstText(v.text("kv_cache_torch_dtype"), v.text("kv_cache_dtype"))
	cell, stored := e.sglangCell(dtype, d, pp)
	if cell <= 0 {
		return Estimate{}, &UnknownError{"the config describes no attention layer"}
	}
	how := fmt.Sprintf("(%.2f - start-up) GiB x %.3f (mem_fraction_static) - weights", e.total, fraction)
	states := e.sglangStates(budget, d.attn)
	if states > 0 {
		e.item("states", states, fmt.Sprintf("recurrent layers, mamba_full_memory_ratio %.2g", v.number("mamba_full_memory_ratio", 0.9)))
		budget -= states
	}
	tokens := int(budget * gib / cell)
	if limit := v.whole("max_total_tokens", 0); limit > 0 {
		tokens = min(tokens, limit)
	}
	page := max(v.whole("page_size", 1), 1)
	tokens = tokens / page * page
	if tokens <= 0 {
		e.item("KV cache", 0, how)
		return e.finish(0, 0, stored, fmt.Sprintf("oversized: %.1f GiB of weights, and %.1f GiB are all that mem_fraction_static %.3f allows for weights and KV cache", weights, before*fraction, fraction)), nil
	}
	kv := float64(tokens) * stored / gib
	e.item("KV cache", kv, fmt.Sprintf("%d tokens of %.0f bytes: %s", tokens, stored, how))
	e.sglangRest(tokens)
	return e.finish(kv, tokens, stored, e.sglangVerdict(tokens)), nil
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// speculates: the draft is the model's own layers for multi-token prediction.
func (e *estimator) speculates() bool {
	algo := strings.ToUpper(e.v.text("speculative_algorithm"))
	return (algo == "NEXTN" || algo == "EAGLE" || algo == "FROZEN_KV_MTP") && e.s.mtp > 0
}

// sglangCell is the bytes of a token as the budget counts them, and as they are
// stored.
func (e *estimator) sglangCell(dtype string, d split, pp int) (cell, stored float64) {
	s, bytes := e.s, kvBytes(dtype)
	perStage := func(n int) float64 { return float64((n + pp - 1) / pp) }
	switch {
	case s.kvLora > 0:
		layers := perStage(len(s.layers))
		if e.speculates() {
			layers += float64(s.mtp)
		}
		latents := float64(s.kvLora+s.rope) * bytes
		cell, stored = latents, latents
		if s.dsa() {
			if bytes == 1 && !e.plainRecord() {
				stored = s.packedRecord()
			}
			indexed := layers
			v, err := flags.ParseVersion(e.in.Version)
			exact := err == nil && exactBudget.Has(v)
			if exact {
				cell = stored
			}
			if mode := e.v.text("disaggregation_mode"); exact && !e.v.on("enable_hisparse") && !e.v.on("enable_hierarchical_cache") && (mode == "" || mode == "null") {
				indexed = perStage(s.indexers())
			}
			return cell*layers + s.indexBytes()*indexed, stored*layers + s.indexBytes()*indexed
		}
		return cell * layers, stored * layers
	case e.v.on("model_config.is_hybrid_swa") && s.count(window) > 0:
		ratio := e.v.number("swa_full_tokens_ratio", 0.8)
		per := s.grouped(d.attn, bytes)
		cell = per * (perStage(s.count(attention)) + ratio*perStage(s.count(window)))
		e.note("layers with a sliding window hold %.0f %% of the tokens (swa_full_tokens_ratio)", 100*ratio)
		return cell, cell
	}
	cell = s.grouped(d.attn, bytes) * perStage(s.count(attention, window))
	return cell, cell
}

// plainRecord: with these backends FP8 latents are stored without scales.
// Source: sglang/srt/model_executor/model_runner_kv_cache_mixin.py
// calculate_mla_kv_cache_dim (0.5.9).
func (e *estimator) plainRecord() bool {
	for _, name := range []string{"nsa_prefill_backend", "nsa_decode_backend", "dsa_prefill_backend", "dsa_decode_backend"} {
		if e.v.text(name) == "trtllm" {
			return true
		}
	}
	return false
}

// sglangStates is the memory for the states of recurrent layers.
// Source: sglang/srt/model_executor/model_runner_kv_cache_mixin.py
// handle_max_mamba_cache (0.5.9).
func (e *estimator) sglangStates(budget float64, tp int) float64 {
	per := e.s.stateBytes(tp, stateDtype(e.v.text("mamba_ssm_dtype")))
	if per == 0 || budget <= 0 {
		return 0
	}
	size := e.v.number("max_mamba_cache_size", 0)
	if size == 0 && e.v.on("disable_radix_cache") {
		size = e.v.number("max_running_requests", 0)
	}
	if size > 0 {
		return size * per / gib
	}
	ratio := e.v.number("mamba_full_memory_ratio", 0.9)
	return budget * ratio / (1 + ratio)
}

func stateDtype(name string) float64 {
	if name == "bfloat16" || name == "float16" {
		return bytes16
	}
	return 4
}

// sglangRest is what is taken behind the KV cache: the table of requests and
// tokens, and the graphs.
func (e *estimator) sglangRest(tokens int) {
	v := e.v
	context := v.number("model_config.context_len", v.number("context_length", 0))
	running := v.number("max_running_requests", 0)
	if running == 0 && context > 0 {
		running = min(max(float64(tokens)/context*512, 2048), 4096) // init_memory_pool
	}
	if table := running * context * 4 / gib; table > 0 {
		e.item("request table", table, fmt.Sprintf("%.0f requests x %.0f tokens x 4 bytes (max_running_requests, context length)", running, context))
	}
	batch := e.graphBatch()
	if batch == 0 {
		e.item("workspaces", workspaceGiB, "an estimate; no graphs")
		return
	}
	if running > 0 {
		batch = min(batch, running)
	}
	e.item("graphs", workspaceGiB+batch*graphMiB/1024, fmt.Sprintf("about %d MiB for each of %.0f batch sizes and the workspaces, an estimate", graphMiB, batch))
}

// graphBatch is the largest batch that decode graphs are captured for, 0 without
// graphs. From 0.5.13 on it stands in cuda_graph_config.
func (e *estimator) graphBatch() float64 {
	if e.v.on("disable_cuda_graph") {
		return 0
	}
	config, ok := e.v.get("cuda_graph_config").(map[string]any)
	if !ok {
		return e.v.number("cuda_graph_max_bs", 0)
	}
	decode, _ := config["decode"].(map[string]any)
	if decode["backend"] == "disabled" {
		return 0
	}
	return values{effective: decode}.number("max_bs", 0)
}

// graphMiB is what SGLang reckons for a captured batch size
// (ServerArgs._handle_gpu_memory_settings, 0.5.9). workspaceGiB are the
// attention backend's workspaces.
const (
	graphMiB     = 2
	workspaceGiB = 0.5
)

func (e *estimator) sglangVerdict(tokens int) string {
	if context := e.v.whole("model_config.context_len", 0); context > 0 && tokens < context {
		return fmt.Sprintf("fits, but one request of the full context (%d tokens) does not: room for %d", context, tokens)
	}
	return fmt.Sprintf("fits, with room for %d tokens", tokens)
}
