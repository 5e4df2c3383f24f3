package vllm

import "slices"

// unsupportedFlags refuses flags that the argument parser knows and the engine does
// not implement.
func (s *state) unsupportedFlags() error {
	name := ""
	switch {
	case s.r < v0320 && (s.args.Int("max_num_partial_prefills") > 1 || s.args.Int("max_long_partial_prefills") > 1):
		name = "Concurrent Partial Prefill"
	case s.Int("parallel.pipeline_parallel_size") > 1 && !slices.Contains(names("ray mp external_launcher"), s.Str("parallel.distributed_executor_backend")) && !s.Nil("parallel.distributed_executor_backend"):
		name = "Pipeline Parallelism without Ray distributed executor or multiprocessing executor or external launcher"
	default:
		return nil
	}
	return refuse("NotImplementedError", "%s is not supported. We recommend to remove %s from your config.", name, name)
}

// parallelConfig checks how the kinds of parallelism go together.
func (s *state) parallelConfig() error {
	if s.r >= v0191 && s.Is("parallel.all2all_backend", "pplx", "naive") {
		s.because("", byDefault, "The backend was removed.")
		old := s.Str("parallel.all2all_backend")
		s.Set("parallel.all2all_backend", "allgather_reducescatter")
		s.warn("The '%s' all2all backend has been removed. Falling back to 'allgather_reducescatter'.", old)
	}
	tp, dp := s.Int("parallel.tensor_parallel_size"), s.Int("parallel.data_parallel_size")
	pcp, dcp := max(1, s.Int("parallel.prefill_context_parallel_size")), s.Int("parallel.decode_context_parallel_size")
	eplb, _ := s.args.Get("eplb_config").(map[string]any)
	redundant, _ := eplb["num_redundant_experts"].(int)
	switch on := s.Bool("parallel.enable_eplb"); {
	case on && !s.Bool("parallel.enable_expert_parallel"):
		return invalid("ParallelConfig", "enable_expert_parallel must be True to use EPLB.")
	case on && s.r >= v0320 && tp*pcp*dp <= 1:
		return invalid("ParallelConfig", "EPLB requires tensor, prefill-context, or data parallelism, but got TP=%d, PCP=%d, DP=%d.", tp, pcp, dp)
	case on && s.r < v0320 && tp*dp <= 1:
		return invalid("ParallelConfig", "EPLB requires tensor_parallel_size or data_parallel_size to be greater than 1, but got TP=%d,DP=%d.", tp, dp)
	case !on && s.args.Bool("enable_elastic_ep"):
		return invalid("ParallelConfig", "Elastic EP is only supported with enable_eplb=True.")
	case !on && redundant != 0:
		return invalid("ParallelConfig", "num_redundant_experts is set to %d but EPLB is not enabled. Either enable EPLB or unset num_redundant_experts.", redundant)
	}
	switch {
	case dcp == 0:
	case s.r < v0160:
		if tp%dcp != 0 { // an assertion of EngineArgs.create_engine_config
			return refuse("AssertionError", "tp_size=%d must be divisible bydcp_size=%d.", tp, dcp)
		}
	case pcp > 1 && s.r >= v0320:
		if dcp != 1 && dcp != pcp && dcp != tp*pcp {
			sizes := []int{1, pcp, tp * pcp}
			slices.Sort(sizes)
			return invalid("ParallelConfig", "When PCP is enabled, DCP must be disabled, span the PCP axis, or span the full TP x PCP axis. Got TP=%d, PCP=%d, DCP=%d; valid DCP sizes are %s.", tp, pcp, dcp, pythonList(slices.Compact(sizes)))
		}
	case tp%dcp != 0:
		by := "by"
		if s.r >= v0320 {
			by = "by "
		}
		return invalid("ParallelConfig", "tp_size=%d must be divisible %sdcp_size=%d.", tp, by, dcp)
	}
	return nil
}
