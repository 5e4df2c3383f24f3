package sglang

import (
	"fmt"
	"maps"
	"strings"

	"shakedown/internal/flags"
	"shakedown/internal/plan"
)

// Resolve says what the launcher and the scheduler of SGLang make of a case.
// It is pure and may be called from several goroutines. A GPU that cannot be
// described is refused at stage resolve.
func Resolve(c plan.Case) plan.Result {
	r := releaseOf(c.Version)
	res := plan.Result{Version: known[r].version}
	table, match := flags.Lookup("sglang", c.Version)
	if match.Fit != flags.Exact && match.Fit != flags.Build { // the flags that the steps know
		table, _ = flags.Lookup("sglang", res.Version)
	}
	parsed, refusal := plan.Argparse(table, c.Argv, "--model-path")
	if refusal != nil {
		refusal.Step = "SGL-PARSE"
		res.Refusal = refusal
		return res
	}
	parsed.Values["model_path"] = c.Model.Path
	gpu, err := deviceOf(c)
	if err != nil {
		res.Refusal = &plan.Refusal{Stage: plan.StageResolve, Message: err.Error()}
		return res
	}
	s := &state{
		Settings: plan.NewSettings(parsed, c.Env), r: r, gpu: gpu, deps: c.Deps,
		model: c.Model, drafts: c.Drafts, later: map[string]any{},
	}
	s.deprecations(parsed.Given)
	lists := stepLists()[r]
	res.Refusal = s.stage(plan.StageResolve, lists.resolve)
	if res.Refusal == nil {
		res.Refusal = s.stage(plan.StageCheck, lists.check)
	}
	if res.Refusal == nil {
		res.Refusal = s.scheduler()
	}
	effective := s.Effective(s.core())
	s.graphObject(effective)
	res.Effective = summarised(effective)
	res.Runtime = s.later
	res.Choices, res.Lines, res.EnvSet = s.Choices, s.Lines, s.EnvSet
	return res
}

func (s *state) stage(name string, steps []step) *plan.Refusal {
	r := plan.Run(steps, s)
	if r != nil && r.Stage == "" {
		r.Stage = name
	}
	return r
}

// deprecations are what the parser's actions say about old flags
// (DeprecatedAction and its kin in server_args.py, from 0.5.15 on in
// sglang/srt/arg_groups/argparse_actions.py).
func (s *state) deprecations(given []flags.Arg) {
	s.Begin("SGL-PARSE", srcArgs+"add_cli_args")
	for _, a := range given {
		switch {
		case a.Flag == nil:
		case a.Flag.Action == "Deprecated":
			s.warn("The command line argument '%s' is deprecated and will be removed in future versions.", a.Name)
		case strings.HasPrefix(a.Flag.Action, "Deprecated"):
			use := ""
			if a.Flag.ReplacedBy != "" {
				use = " Use '" + a.Flag.ReplacedBy + "' instead."
			}
			s.warn("'%s' is deprecated and will be removed in a future release.%s", a.Name, use)
		}
	}
}

// core are the settings that every answer has, where the release has them.
func (s *state) core() []string { return coreSettings }

var coreSettings = []string{
	"dtype", "quantization", "kv_cache_dtype", "mem_fraction_static", "max_running_requests",
	"chunked_prefill_size", "page_size", "tp_size", "dp_size", "load_balance_method",
	"attention_backend", "decode_attention_backend", "prefill_attention_backend", "sampling_backend",
	"grammar_backend", "fp8_gemm_runner_backend", "fp4_gemm_runner_backend", "nsa_prefill_backend",
	"nsa_decode_backend", "dsa_prefill_backend", "dsa_decode_backend", "speculative_moe_runner_backend",
	"ep_size", "moe_runner_backend", "moe_a2a_backend", "mamba_scheduler_strategy", "mamba_radix_cache_strategy",
	"disable_radix_cache", "cuda_graph_max_bs", "cuda_graph_bs", "cuda_graph_config", "cuda_graph_max_bs_decode", "disable_overlap_schedule",
	"piecewise_cuda_graph_max_tokens", "piecewise_cuda_graph_tokens", "disable_chunked_prefix_cache",
}

// longList is the length from which a list of numbers is told in words.
const longList = 12

// summarised shortens long lists of numbers: "52 values, 1..512, sum 10515".
func summarised(settings map[string]any) map[string]any {
	out := maps.Clone(settings)
	for k, v := range out {
		out[k] = summary(v)
	}
	return out
}

func summary(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return summarised(v)
	case []any:
		if len(v) <= longList {
			return v
		}
		sum, least, most := 0, 0, 0
		for i, e := range v {
			n, ok := e.(int)
			if !ok {
				return v
			}
			sum += n
			if i == 0 {
				least, most = n, n
			}
			least, most = min(least, n), max(most, n)
		}
		return fmt.Sprintf("%d values, %d..%d, sum %d", len(v), least, most, sum)
	}
	return v
}
