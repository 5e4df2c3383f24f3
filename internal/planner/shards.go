package planner

import (
	"fmt"
	"strconv"

	"shakedown/internal/finding"
)

// unshardable says why attention can't be divided over the ranks of a SGLang
// launch; empty when it can, or when that is not known. The engine asserts it
// in the middle of loading, so its settings alone do not show it (vLLM checks
// its configuration).
// Source: QKVParallelLinear of sglang/srt/layers/linear.py and
// DeepseekV2AttentionMLA of sglang/srt/models/deepseek_v2.py (0.5.9).
func (a *answer) unshardable() string {
	if a.q.engine.Name != "sglang" || a.res.Refusal != nil {
		return ""
	}
	number := func(name string) int { return max(a.number(name), 1) }
	ranks := number("tp_size") / number("attn_cp_size")
	if on, _ := a.res.Effective["enable_dp_attention"].(bool); on {
		ranks /= number("dp_size")
	}
	if ranks <= 1 {
		return ""
	}
	config := a.q.model.model.Config
	if text := config.Obj("text_config"); text.Has("num_attention_heads") {
		config = text
	}
	heads := config.IntOr("num_attention_heads", 0)
	kv := config.IntOr("num_key_value_heads", heads)
	switch {
	case heads <= 0:
	case heads%ranks != 0:
		return fmt.Sprintf("%d attention heads do not divide by %d ranks", heads, ranks)
	case a.res.Runtime["model_config.attention_arch"] == "MHA" && kv > 0 && kv%ranks != 0 && ranks%kv != 0:
		return fmt.Sprintf("%d KV heads can be neither divided nor copied over %d ranks", kv, ranks)
	}
	return ""
}

// shards refuses layouts without a rank, and attention that can't be divided
// over the ranks.
func (p *planner) shards(a *answer) []*finding.RefusedMsg {
	for _, name := range []string{"tp_size", "pp_size", "parallel.tensor_parallel_size", "parallel.pipeline_parallel_size"} {
		v, known := a.res.Effective[name]
		f := a.q.flagOf(name)
		if !known || v == nil || f == nil || a.number(name) >= 1 || a.res.Refusal != nil {
			continue
		}
		return []*finding.RefusedMsg{{
			Kind: "combination", Stage: stageLoad,
			Text:     fmt.Sprintf("%s %d leaves no rank that could load the model", f.Name(), a.number(name)),
			Remedies: []finding.Remedy{{Title: "without " + f.Name(), Changes: without(f.Name())}},
		}}
	}
	why := a.unshardable()
	if why == "" {
		return nil
	}
	return []*finding.RefusedMsg{{
		Kind: "combination", Stage: stageLoad,
		Text:     fmt.Sprintf("%s will fail %s: %s", a.q.engine.Name, stageWords[stageLoad], why),
		Remedies: p.search(a.q, a.q.degreeLevers(a), 2, (*answer).starts),
	}}
}

// number is an effective setting as an integer, 0 when it is none.
func (a *answer) number(name string) int {
	switch v := a.res.Effective[name].(type) {
	case int:
		return v
	case float64:
		return int(v)
	}
	return 0
}

// degreeLevers try the powers of two next to the tensor-parallel degree that
// was asked for, as far as there are GPUs: dimensions of models are made to
// divide by those.
func (q *question) degreeLevers(a *answer) []lever {
	name := "tp_size"
	if q.engine.Name == "vllm" {
		name = "parallel.tensor_parallel_size"
	}
	asked, f := a.number(name), q.flagOf(name)
	if asked <= 1 || f == nil {
		return nil
	}
	below := 1
	for below*2 < asked {
		below *= 2
	}
	var out []lever
	for _, n := range []int{below * 2, below} {
		if n != asked && n <= q.gpu.Count {
			out = append(out, with(f.Name(), strconv.Itoa(n)))
		}
	}
	return out
}
