package vllm

import (
	"fmt"
	"strings"
)

// limit is what a field of a configuration class may hold.
type limit struct {
	class, field string
	arg          string // engine argument that fills the field
	least        float64
	above        bool    // least itself is not allowed
	most         float64 // 0: no upper limit
	from, to     release
}

// limits are pydantic's bounds of the fields of vllm/config/*.py.
var limits = []limit{
	{"ModelConfig", "max_model_len", "max_model_len", -1, false, 0, v0160, last},
	{"ModelConfig", "max_logprobs", "max_logprobs", -1, false, 0, v0320, last},
	{"CacheConfig", "block_size", "block_size", 0, true, 0, v0240, last},
	{"CacheConfig", "gpu_memory_utilization", "gpu_memory_utilization", 0, true, 1, v0112, last},
	{"CacheConfig", "swap_space", "swap_space", 0, false, 0, v0112, v0160},
	{"CacheConfig", "cpu_offload_gb", "cpu_offload_gb", 0, false, 0, v0112, v0160},
	{"CacheConfig", "mamba_block_size", "mamba_block_size", 0, true, 0, v0112, last},
	{"ParallelConfig", "pipeline_parallel_size", "pipeline_parallel_size", 1, false, 0, v0240, last},
	{"ParallelConfig", "tensor_parallel_size", "tensor_parallel_size", 1, false, 0, v0240, last},
	{"ParallelConfig", "prefill_context_parallel_size", "prefill_context_parallel_size", 1, false, 0, v0240, last},
	{"ParallelConfig", "data_parallel_size", "data_parallel_size", 1, false, 0, v0240, last},
	{"ParallelConfig", "nnodes", "nnodes", 1, false, 0, v0240, last},
	{"ParallelConfig", "decode_context_parallel_size", "decode_context_parallel_size", 1, false, 0, v0240, last},
	{"SchedulerConfig", "max_num_batched_tokens", "max_num_batched_tokens", 1, false, 0, v0112, last},
	{"SchedulerConfig", "max_num_seqs", "max_num_seqs", 1, false, 0, v0112, last},
	{"SchedulerConfig", "max_num_partial_prefills", "max_num_partial_prefills", 1, false, 0, v0112, v0240},
	{"SchedulerConfig", "max_long_partial_prefills", "max_long_partial_prefills", 1, false, 0, v0112, v0240},
	{"SchedulerConfig", "stream_interval", "stream_interval", 1, false, 0, v0112, last},
}

// withinLimits refuses values that the fields of a class may not hold.
func (s *state) withinLimits(class string) error {
	var bad []string
	for _, l := range limits {
		if l.class != class || s.r < l.from || s.r > l.to || s.args.Get(l.arg) == nil {
			continue
		}
		if what, kind := l.breach(s.args.Float(l.arg)); what != "" {
			bad = append(bad, fmt.Sprintf("%s\n  Input should be %s [type=%s, ...]", l.field, what, kind))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	plural := ""
	if len(bad) > 1 {
		plural = "s"
	}
	return refuse("ValidationError", "%d validation error%s for %s\n%s", len(bad), plural, class, strings.Join(bad, "\n"))
}

// breach says what a value should be, empty when it is that. No bound holds for
// a NaN.
func (l limit) breach(v float64) (what, kind string) {
	switch {
	case l.above && !(v > l.least):
		return fmt.Sprintf("greater than %g", l.least), "greater_than"
	case !l.above && !(v >= l.least):
		return fmt.Sprintf("greater than or equal to %g", l.least), "greater_than_equal"
	case l.most != 0 && v > l.most:
		return fmt.Sprintf("less than or equal to %g", l.most), "less_than_equal"
	}
	return "", ""
}
