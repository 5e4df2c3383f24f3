package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/hfconfig"
)

const configFile = "config.json"

// config checks config.json against itself.
func (x *inspector) config() {
	l := x.l
	if x.c.Config.Config == nil {
		return
	}
	if !l.known && x.c.Format == checkpoint.Safetensors {
		name := l.family
		if name == "" {
			name = "(none)"
		}
		x.add("CKPT-CONF-003", hit{
			subject: finding.Subject{File: configFile, Field: "model_type"},
			title:   fmt.Sprintf("Tensors of model_type %q are not checked against config.json", name),
			why:     "Known families: " + strings.Join(families, ", ") + ". Everything else was checked.",
		})
	}
	for _, r := range l.contradictions() {
		x.add("CKPT-CONF-004", hit{
			subject:  finding.Subject{File: configFile, Field: r.field},
			title:    "config.json contradicts itself: " + r.text,
			evidence: []finding.Evidence{says(configFile, r.field, r.text)},
		})
	}
	x.spellings()
	if n := x.o.Context; l.context > 0 && n > l.context {
		x.add("CKPT-CONF-006", hit{
			subject:  finding.Subject{File: configFile, Field: "max_position_embeddings"},
			title:    fmt.Sprintf("%s tokens are asked for, the model is made for %s", group(int64(n)), group(int64(l.context))),
			evidence: []finding.Evidence{says(configFile, "max_position_embeddings", fmt.Sprint(l.context))},
		})
	}
}

// contradiction is one field that does not fit the others.
type contradiction struct{ field, text string }

func (l *layout) contradictions() []contradiction {
	var out []contradiction
	say := func(field, format string, args ...any) {
		out = append(out, contradiction{field, fmt.Sprintf(format, args...)})
	}
	f := l.config
	if l.heads > 0 && l.kvHeads > 0 && l.heads%l.kvHeads != 0 {
		say("num_key_value_heads", "%d attention heads can't share %d KV heads evenly", l.heads, l.kvHeads)
	}
	if l.heads > 0 && !f.Has("head_dim") && !l.mla() && l.hidden%l.heads != 0 {
		say("num_attention_heads", "hidden_size %d does not divide by %d heads, and there is no head_dim", l.hidden, l.heads)
	}
	if l.experts > 0 && l.perToken > l.experts {
		say("num_experts_per_tok", "%d experts per token of %d", l.perToken, l.experts)
	}
	if l.experts > 0 && l.groups > 1 {
		switch {
		case l.experts%l.groups != 0:
			say("n_group", "%d experts do not divide into %d groups", l.experts, l.groups)
		case l.topGroups > l.groups:
			say("topk_group", "%d groups chosen of %d", l.topGroups, l.groups)
		case l.topGroups*(l.experts/l.groups) < l.perToken:
			say("topk_group", "%d groups of %d hold fewer than the %d experts per token", l.topGroups, l.experts/l.groups, l.perToken)
		}
	}
	for _, field := range []string{"indexer_types", "mlp_layer_types", "layer_types"} {
		if n := len(f.List(field)); n > 0 && l.layers > 0 && n != l.layers && n != l.layers+l.mtp {
			say(field, "%d entries for %d layers", n, l.layers)
		}
	}
	if pattern := f.Text("index_topk_pattern"); pattern != "" && l.layers > 0 && len(pattern) < l.layers {
		say("index_topk_pattern", "%d letters for %d layers", len(pattern), l.layers)
	}
	if kinds := f.Strings("indexer_types"); len(kinds) > 0 && kinds[0] == "shared" {
		say("indexer_types", "the first layer shares an index, and there is none before it")
	}
	if l.mla() {
		if q, ok := f.Int("qk_head_dim"); ok && l.nope+l.rope > 0 && q != l.nope+l.rope {
			say("qk_head_dim", "%d is not qk_nope_head_dim %d + qk_rope_head_dim %d", q, l.nope, l.rope)
		}
		if l.rope%2 != 0 {
			say("qk_rope_head_dim", "%d is odd, and rotation takes pairs", l.rope)
		}
		if l.topK > 0 && l.qLora == 0 {
			say("q_lora_rank", "an index (index_topk %d) needs q_lora_rank", l.topK)
		}
	}
	l.contradictoryRope(say)
	if l.family == "" && l.arch == "" {
		say("model_type", "neither model_type nor architectures names the model")
	}
	for _, field := range []string{"dtype", "torch_dtype"} {
		if d := f.Text(field); d != "" && !slices.Contains(dtypes, strings.TrimPrefix(d, "torch.")) {
			say(field, "%q is no type of weights", d)
		}
	}
	if n, ok := f.Int("first_k_dense_replace"); ok && l.layers > 0 && n > l.layers {
		say("first_k_dense_replace", "%d dense layers of %d", n, l.layers)
	}
	return out
}

// dtypes are the types that a configuration may name.
var dtypes = []string{"auto", "float", "half", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "fp16", "bf16", "fp32"}

// contradictoryRope checks that a scaled rotation has what it is scaled by.
// Source: transformers/modeling_rope_utils.py (5.16).
func (l *layout) contradictoryRope(say func(field, format string, args ...any)) {
	for _, field := range []string{"rope_scaling", "rope_parameters"} {
		o := l.config.Obj(field)
		kind := o.Text("rope_type")
		if kind == "" {
			kind = o.Text("type")
		}
		needs := map[string][]string{
			"linear": {"factor"}, "dynamic": {"factor"}, "yarn": {"factor"}, "longrope": {"short_factor", "long_factor"},
			"llama3": {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"},
		}[kind]
		for _, n := range needs {
			if f, ok := o.Float(n); o[n] == nil || ok && !(f > 0) {
				say(field, "rope type %s without a positive %s", kind, n)
			}
		}
	}
}

// spellings compares fields that newer and older releases spell differently.
func (x *inspector) spellings() {
	f := x.l.config
	rope := f.Obj("rope_parameters")
	for _, s := range []struct {
		a, b   string
		va, vb any
	}{
		{"rope_theta", "rope_parameters.rope_theta", f["rope_theta"], rope["rope_theta"]},
		{"dtype", "torch_dtype", f["dtype"], f["torch_dtype"]},
		{"n_routed_experts", "num_experts", f["n_routed_experts"], f["num_experts"]},
		{"rope_scaling.factor", "rope_parameters.factor", f.Obj("rope_scaling")["factor"], rope["factor"]},
	} {
		if s.va == nil || s.vb == nil || same(s.va, s.vb) {
			continue
		}
		x.add("CKPT-CONF-005", hit{
			subject:  finding.Subject{File: configFile, Field: s.a},
			title:    fmt.Sprintf("%s is %v and %s is %v", s.a, s.va, s.b, s.vb),
			evidence: []finding.Evidence{says(configFile, s.a, fmt.Sprint(s.va)), says(configFile, s.b, fmt.Sprint(s.vb))},
		})
	}
}

// same compares two decoded values; 1 and 1.0 are equal, "torch.bfloat16" and
// "bfloat16" too.
func same(a, b any) bool {
	if fa, ok := hfconfig.Float(a); ok {
		fb, ok := hfconfig.Float(b)
		return ok && math.Abs(fa-fb) <= 1e-12*math.Abs(fa)
	}
	return strings.TrimPrefix(fmt.Sprint(a), "torch.") == strings.TrimPrefix(fmt.Sprint(b), "torch.")
}

// ids reads a field that is one token id or a list of them.
func ids(o hfconfig.Object, field string) []int {
	if n, ok := o.Int(field); ok {
		return []int{n}
	}
	var out []int
	for _, v := range o.List(field) {
		if n, ok := hfconfig.Int(v); ok && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
