package memfit

import (
	"fmt"
	"strings"
)

// vllm follows Worker.determine_available_memory (0.24): what
// gpu_memory_utilization grants, less the weights, the peak of a trial run and
// what other libraries hold.
func (e *estimator) vllm() (Estimate, error) {
	v, s := e.v, e.s
	tp, pp := max(v.whole("parallel.tensor_parallel_size", 1), 1), max(v.whole("parallel.pipeline_parallel_size", 1), 1)
	dp := max(v.whole("parallel.data_parallel_size", 1), 1)
	d := split{tp: tp, attn: tp, expert: tp, embed: tp, pp: pp}
	if v.on("parallel.enable_expert_parallel") {
		d.expert = tp * dp
	}
	grant := v.number("cache.gpu_memory_utilization", 0)
	if grant <= 0 {
		return Estimate{}, &UnknownError{"gpu_memory_utilization is not known"}
	}
	outside := e.startup(tp * pp * dp)
	e.item("start-up", outside, "contexts of the GPU and of the communication, an estimate")
	weights := e.weigh(v.text("model.quantization"), v.text("model.dtype"), d, e.vllmDrafts())
	peak := e.vllmPeak(tp)
	e.item("activations", peak, fmt.Sprintf("peak of a step of %d tokens, an estimate", v.whole("scheduler.max_num_batched_tokens", 0)))
	budget := e.total*grant - outside - weights - peak
	dtype := firstText(v.text("kv_cache_dtype"), v.text("cache.cache_dtype"))
	if dtype == "auto" {
		dtype = v.text("model.dtype")
	}
	per := e.vllmToken(dtype, tp, pp)
	if per <= 0 {
		return Estimate{}, &UnknownError{"the config describes no attention layer"}
	}
	block := max(v.whole("block_size", v.whole("cache.block_size", 16)), 1)
	tokens := int(budget*gib/per) / block * block
	how := fmt.Sprintf("%.2f GiB x %.3g (gpu_memory_utilization) - the above", e.total, grant)
	if tokens <= 0 {
		e.item("KV cache", 0, how)
		return e.finish(0, 0, per, fmt.Sprintf("oversized: %.1f GiB of weights and about %.1f GiB besides, of %.1f that gpu_memory_utilization %.3g grants", weights, outside+peak, e.total*grant, grant)), nil
	}
	kv := float64(tokens) * per / gib
	e.item("KV cache", kv, fmt.Sprintf("%d tokens of %.0f bytes: %s", tokens, per, how))
	if !v.on("model.enforce_eager") && v.text("compilation.cudagraph_mode") != "NONE" {
		e.item("graphs", vllmGraphsGiB, "an estimate")
	}
	if s.count(linear, mamba) > 0 {
		e.note("recurrent layers keep a state for each request in the same blocks, which this leaves out")
	}
	verdict := fmt.Sprintf("fits, with room for %d tokens", tokens)
	if length := v.whole("model.max_model_len", 0); length > tokens {
		e.out.Notes = append(e.out.Notes, "vLLM refuses to start when one request of full length does not fit")
		verdict = fmt.Sprintf("oversized: one request of max_model_len %d needs more than the %d tokens there is room for", length, tokens)
		est := e.finish(kv, tokens, per, verdict)
		est.Fits = false
		return est, nil
	}
	return e.finish(kv, tokens, per, verdict), nil
}

// vllmGraphsGiB is what capturing took in logs of 0.11 to 0.24: 0.4 to 5 GiB.
const vllmGraphsGiB = 1.5

func (e *estimator) vllmDrafts() bool {
	method := e.v.text("speculative.method")
	return strings.Contains(method, "mtp") && e.s.mtp > 0
}

// vllmPeak reckons the largest step: two streams of hidden states, the widest
// feed-forward part, and the scores of all sequences in float32.
func (e *estimator) vllmPeak(tp int) float64 {
	s := e.s
	batch := e.v.number("scheduler.max_num_batched_tokens", 8192)
	wide := float64(s.inter) / float64(tp)
	if s.experts > 0 {
		wide = max(wide, float64(s.expertInter)*8/float64(tp))
	}
	stream := batch * (4*float64(s.hidden) + 2*wide) * bytes16
	scores := min(e.v.number("scheduler.max_num_seqs", 256), batch) * float64(s.vocab) * (4 + bytes16)
	return (stream + scores) / gib
}

// vllmToken is the bytes of a token on one GPU. FP8 records of sparse attention
// are packed on Hopper (fp8_ds_mla) and plain elsewhere.
func (e *estimator) vllmToken(dtype string, tp, pp int) float64 {
	s, bytes := e.s, kvBytes(dtype)
	stage := func(n int) float64 { return float64((n + pp - 1) / pp) }
	if s.kvLora > 0 {
		record := float64(s.kvLora+s.rope) * bytes
		if dtype == "fp8_ds_mla" {
			record = s.packedRecord()
		}
		return record*stage(len(s.layers)) + s.indexBytes()*stage(s.indexers())
	}
	return s.grouped(tp, bytes) * stage(s.count(attention, window))
}
