package vllm

import (
	"fmt"
	"slices"
)

// graphLimits drops graphs that a kind of model or a KV connector does not
// support.
func (s *state) graphLimits() error {
	mode := s.Str("compilation.cudagraph_mode")
	switch {
	case hasFull(mode) && s.Str("model.runner_type") == "pooling":
		s.because("", byModel, "Full graphs are made for decoding; pooling models do not decode.")
		s.Set("compilation.cudagraph_mode", "PIECEWISE")
		s.warn("Pooling models do not support full cudagraphs. Overriding cudagraph_mode to PIECEWISE.")
	case s.model.encoderDec && s.r >= v0160 && mode != "NONE" && mode != "FULL_DECODE_ONLY":
		s.because("", byModel, "An encoder-decoder model.")
		s.Set("compilation.cudagraph_mode", "FULL_DECODE_ONLY")
		s.info("Encoder-decoder models do not support %s. Overriding cudagraph_mode to FULL_DECODE_ONLY.", mode)
	}
	return nil
}

// eagerGraphs clears the sizes when there are no graphs.
func (s *state) eagerGraphs() error {
	if !s.Bool("model.enforce_eager") {
		return nil
	}
	s.because("", byCoupling, "--enforce-eager.", "model.enforce_eager")
	s.Set("compilation.cudagraph_mode", "NONE")
	s.Set("compilation.max_cudagraph_capture_size", 0)
	s.Set("compilation.cudagraph_capture_sizes", []int{})
	s.info("Cudagraph is disabled under eager mode")
	return nil
}

// mostBatch bounds the list of sizes for a command line that asks for absurdly
// large graphs; no GPU holds one of a tenth of it.
const mostBatch = 1 << 20

// graphSizes decides which batch sizes get a CUDA graph.
func (s *state) graphSizes() error {
	if s.Nil("compilation.compile_sizes") {
		s.because("", byDefault, "No batch size is compiled on its own.")
		s.Set("compilation.compile_sizes", []any{})
	}
	if s.Bool("model.enforce_eager") || s.Is("compilation.cudagraph_mode", "NONE") {
		s.because("", byCoupling, "No CUDA graphs.", "compilation.cudagraph_mode")
		s.Set("compilation.max_cudagraph_capture_size", 0)
		s.Set("compilation.cudagraph_capture_sizes", []int{})
		return nil
	}
	asked, hasMax := s.Get("compilation.max_cudagraph_capture_size").(int)
	given, hasSizes := s.Get("compilation.cudagraph_capture_sizes").([]int)
	tokens, seqs := s.Int("scheduler.max_num_batched_tokens"), s.Int("scheduler.max_num_seqs")
	query := 1 + s.speculatedTokens()
	if s.r == v0112 {
		query = 1
	}
	limit, largest := asked, 512
	if s.r >= v0320 && s.gpu.major == 10 {
		largest = 1024
	}
	if !hasMax {
		limit = min(seqs*query*2, largest)
	}
	limit = min(tokens, limit, mostBatch)
	if limit < 1 {
		return failed("VllmConfig", "Maximum cudagraph size should be greater than or equal to 1 when using cuda graph.")
	}
	var sizes []int
	if hasSizes {
		if len(given) == 0 {
			return failed("VllmConfig", "cudagraph_capture_sizes should contain at least one element when using cuda graph.")
		}
		for _, n := range given {
			if n <= tokens {
				sizes = append(sizes, n)
			}
		}
	} else {
		sizes = s.sizeGrid(limit, tokens)
		if s.r >= v0320 && !hasMax {
			sizes = append(sizes, decodeSizes(query, seqs, limit, largest, tokens)...)
		}
	}
	slices.Sort(sizes)
	sizes = s.shareableSizes(slices.Compact(sizes))
	valid := 0
	if len(sizes) > 0 {
		valid = sizes[len(sizes)-1]
	}
	s.because("", byCoupling, fmt.Sprintf("1, 2, 4, multiples of 8 below 256 and of 16 above, up to %d.", limit), "scheduler.max_num_seqs", "scheduler.max_num_batched_tokens")
	if hasMax && asked != valid {
		if hasSizes {
			return invalid("VllmConfig", "customized max_cudagraph_capture_size(=%d) should be consistent with the max value of cudagraph_capture_sizes(=%d)", asked, valid)
		}
		s.Set("compilation.max_cudagraph_capture_size", valid)
		s.warn("Truncating max_cudagraph_capture_size to %d", valid)
	}
	s.Set("compilation.max_cudagraph_capture_size", valid)
	if hasSizes && len(sizes) < len(given) {
		s.warn("cudagraph_capture_sizes specified in compilation_config %s is overridden by config %s", pythonList(given), pythonList(sizes))
	}
	s.Set("compilation.cudagraph_capture_sizes", sizes)
	if list, _ := s.Get("compilation.compile_sizes").([]any); slices.Contains(list, any("cudagraph_capture_sizes")) {
		var all []int
		for _, v := range list {
			if n, ok := v.(int); ok {
				all = append(all, n)
			} else if v == "cudagraph_capture_sizes" {
				all = append(all, sizes...)
			}
		}
		slices.Sort(all)
		s.because("", byCoupling, "All sizes of CUDA graphs.", "compilation.cudagraph_capture_sizes")
		s.Set("compilation.compile_sizes", slices.Compact(all))
	}
	return nil
}

// shareableSizes drops sizes that sequence parallelism cannot cut.
func (s *state) shareableSizes(sizes []int) []int {
	tp := s.Int("parallel.tensor_parallel_size")
	if tp <= 1 || !s.Bool("pass.enable_sp") && !s.Bool("pass.enable_sequence_parallelism") {
		return sizes
	}
	var kept, dropped []int
	for _, n := range sizes {
		if n%tp == 0 {
			kept = append(kept, n)
		} else {
			dropped = append(dropped, n)
		}
	}
	if len(dropped) > 0 {
		s.warn("Batch sizes %s are removed because they are not multiple of tp_size %d when sequence parallelism is enabled", pythonList(dropped), tp)
	}
	return kept
}

// sizeGrid is the usual grid of sizes up to a limit.
func (s *state) sizeGrid(limit, tokens int) []int {
	var out []int
	if s.Is("performance_mode", "interactivity") {
		for n := 1; n <= min(limit, 32); n++ {
			out = append(out, n)
		}
	} else {
		for _, n := range []int{1, 2, 4} {
			if n <= limit {
				out = append(out, n)
			}
		}
	}
	for n := 8; n < min(limit+1, 256); n += 8 {
		out = append(out, n)
	}
	for n := 256; n <= limit; n += 16 {
		out = append(out, n)
	}
	if s.r >= v0240 && tokens <= limit {
		out = append(out, tokens)
	}
	return out
}

// decodeSizes are the sizes of batches that decode, when a request takes more
// than one token a step.
func decodeSizes(query, seqs, limit, largest, tokens int) []int {
	if query == 1 {
		if seqs <= limit && seqs <= tokens {
			return []int{seqs}
		}
		return nil
	}
	most := min(seqs, largest)
	counts := []int{most}
	for _, n := range []int{1, 2, 4} {
		if n <= most {
			counts = append(counts, n)
		}
	}
	for n := 8; n < min(most+1, 256); n += 8 {
		counts = append(counts, n)
	}
	for n := 256; n <= most; n += 16 {
		counts = append(counts, n)
	}
	var out []int
	for _, n := range counts {
		if n*query <= limit && n*query <= tokens {
			out = append(out, n*query)
		}
	}
	return out
}

// pythonList prints numbers as Python does.
func pythonList(list []int) string {
	text := "["
	for i, n := range list {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return text + "]"
}
