package sglang

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// tier is a class of GPUs by memory: prefill chunk and largest CUDA graph batch.
type tier struct {
	below                 float64 // MiB
	chunk, graph, graphTP int     // graphTP: from tensor parallel size 4 on
}

// tiers of releases from 0.5.6 on.
var tiers = []tier{
	{20 << 10, 2048, 8, 8},
	{35 << 10, 2048, 24, 80},
	{60 << 10, 4096, 32, 160},
	{90 << 10, 8192, 256, 512},
	{160 << 10, 8192, 256, 512},
	{math.Inf(1), 16384, 512, 512},
}

func (s *state) tier() tier {
	for _, t := range tiers {
		if s.gpu.memoryMiB < t.below {
			if t.below == 35<<10 && s.since(r0523) {
				return tier{t.below, 4096, 48, 160}
			}
			return t
		}
	}
	return tiers[len(tiers)-1]
}

// gpuMemory sets what follows from the GPU's memory: prefill chunk, CUDA graph
// batches and the share of memory for weights and KV cache.
func (s *state) gpuMemory() error {
	if n := int(s.gpu.memoryMiB); s.gpu.fromTorch && s.since(r0512) {
		all := make([]string, max(1, s.gpu.count))
		for i := range all {
			all[i] = strconv.Itoa(n)
		}
		s.warn("Failed to get GPU memory capacity from nvidia-smi. Falling back to torch.cuda.mem_get_info(). "+
			"Reported total GPU memory per device (MiB): [%s], using min: %d MiB.", strings.Join(all, ", "), n)
	} else if s.gpu.fromTorch {
		s.warn("Failed to get GPU memory capacity from nvidia-smi, falling back to torch.cuda.mem_get_info().")
	}
	t := s.tier()
	if s.Nil("chunked_prefill_size") {
		s.because("SGL-MEM-CHUNK", byHardware, "by the memory of the GPU")
		s.Set("chunked_prefill_size", t.chunk)
	}
	if graph := s.graphMax("decode"); s.Nil(graph) {
		s.because("SGL-MEM-GRAPH", byHardware, "by the memory of the GPU and the tensor parallel size", "tp_size")
		n := t.graph
		if s.Int("tp_size") >= 4 {
			n = t.graphTP
		}
		if most := s.Int("max_running_requests"); s.since(r0523) && !s.Nil("max_running_requests") && n > most {
			n = most
		}
		s.Set(graph, n)
	}
	if s.since(r0523) {
		if err := s.graphsToLimit(); err != nil {
			return err
		}
	}
	if err := s.graphSizes(); err != nil {
		return err
	}
	if s.Nil("mem_fraction_static") {
		if err := s.memFraction(); err != nil {
			return err
		}
	}
	if _, ok := s.Env("SGLANG_SYMM_MEM_PREALLOC_GB_SIZE"); s.Bool("enable_symm_mem") && !ok && s.since(r0509) {
		s.because("SGL-COMM-SYMM-001", byCoupling, "symmetric memory needs room", "enable_symm_mem")
		s.SetEnv("SGLANG_SYMM_MEM_PREALLOC_GB_SIZE", "4")
		s.warn("Symmetric memory is enabled, setting symmetric memory prealloc size to 4GB as default." +
			"Use environment variable SGLANG_SYMM_MEM_PREALLOC_GB_SIZE to change the prealloc size.")
	}
	return nil
}

// graphsToLimit lets graphs of Qwen3-VL on large Hopper GPUs go to the limit of
// running requests.
func (s *state) graphsToLimit() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	most, limit := s.graphMax("decode"), s.Int("max_running_requests")
	if s.Nil("max_running_requests") || limit > 512 || s.Int(most) >= limit || s.locked[most] || s.locked[s.graphList("decode")] || !s.largeHopperVL(m) {
		return nil
	}
	s.because("SGL-MM-HOPPER", byHardware, "every running request fits into a graph", "max_running_requests")
	s.info("Expanding multimodal decode CUDA graph max_bs from %d to max_running_requests=%d.", s.Int(most), limit)
	s.Set(most, limit)
	return nil
}

// graphSizes lists the batch sizes of the CUDA graphs.
func (s *state) graphSizes() error {
	most, list := s.graphMax("decode"), s.graphList("decode")
	if s.Nil(list) {
		if err := s.listable(most, mostGraphs); err != nil {
			return err
		}
		s.because("SGL-MEM-GRAPH-LIST", byCoupling, "the batch sizes up to the largest", most)
		s.Set(list, s.graphBatches(s.Int(most)))
	} else {
		s.because("SGL-MEM-GRAPH-LIST", byCoupling, "the largest of the batch sizes", list)
		s.Set(most, largest(s.Get(list)))
	}
	most, list = s.graphMax("prefill"), s.graphList("prefill")
	if !s.Known(most) {
		return nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if s.Nil(most) {
		if m.mla && s.since(r0523) {
			s.because("SGL-GRAPH-PIECEWISE", byModel, "with multi-head latent attention prefill graphs go to 8192 tokens", "chunked_prefill_size")
			s.Set(most, min(8192, s.Int("chunked_prefill_size")))
		} else if m.mla {
			s.because("SGL-GRAPH-PIECEWISE", byModel, "with multi-head latent attention prefill graphs go to 2048 tokens")
			s.Set(most, 2048)
		} else {
			s.because("SGL-GRAPH-PIECEWISE", byCoupling, "prefill graphs go to the prefill chunk", "chunked_prefill_size")
			s.Set(most, s.Get("chunked_prefill_size"))
		}
		if s.since(r0523) && s.Int("pp_size") > 1 && s.Is(prefillGraph, "breakable") && !s.locked[s.graphList("prefill")] {
			s.Set(most, min(8192, s.Int(most)))
		}
		if s.since(r0510) {
			s.prefillCaps(most)
		}
	}
	if n := s.Int("context_length"); s.r == r0515 && !s.Nil("context_length") && n < s.Int(most) {
		s.because("SGL-GRAPH-PIECEWISE", byCoupling, "no graph is longer than the context", "context_length")
		s.Set(most, n)
	}
	if s.Nil(list) {
		if err := s.listable(most, mostTokens); err != nil {
			return err
		}
		s.because("SGL-GRAPH-PIECEWISE", byCoupling, "the sizes up to the largest", most)
		s.Set(list, s.piecewiseTokens(s.Int(most)))
	}
	return nil
}

// Above these the engine lists sizes until its memory is full.
const (
	mostGraphs = 1 << 20
	mostTokens = 1 << 26
)

// listable refuses a largest size whose list would fill the memory.
func (s *state) listable(most string, limit int) error {
	if n := s.Int(most); n > limit {
		return refuse("MemoryError", "%s is %d; the list of sizes up to it does not fit into memory. Give at most %d.", most, n, limit)
	}
	return nil
}

// prefillCaps limits prefill graphs to the KV cache and, for Llama 2, to 4096
// tokens.
func (s *state) prefillCaps(most string) {
	if n := s.Int("max_total_tokens"); !s.Nil("max_total_tokens") && n < s.Int(most) {
		s.because("SGL-GRAPH-PIECEWISE", byCoupling, "no graph is larger than the KV cache", "max_total_tokens")
		s.Set(most, n)
	}
	if strings.Contains(strings.ToLower(s.Str("model_path")), "llama-2") && s.Int(most) > 4096 {
		s.because("SGL-GRAPH-PIECEWISE", byModel, "graphs of Llama 2 go to 4096 tokens")
		s.Set(most, 4096)
	}
}

func largest(list any) int {
	n := math.MinInt
	items, _ := list.([]any)
	for _, e := range items {
		if i, ok := e.(int); ok {
			n = max(n, i)
		}
	}
	return n
}

// stretch is a part of a list of sizes: from, below, by.
type stretch struct{ from, below, by int }

// sizes puts stretches together and leaves out what is above the limit.
func sizes(limit int, parts ...stretch) []any {
	out := []any{}
	for _, p := range parts {
		for n := p.from; n < p.below; n += p.by {
			if n <= limit {
				out = append(out, n)
			}
		}
	}
	return out
}

// graphBatches is _generate_cuda_graph_batch_sizes. From 0.5.10 on the limit
// itself is always a batch size.
func (s *state) graphBatches(limit int) []any {
	list := s.graphStretches(limit)
	if s.since(r0510) && !slices.Contains(list, any(limit)) {
		list = append(list, limit)
	}
	return list
}

func (s *state) graphStretches(limit int) []any {
	switch {
	case s.Bool("disable_cuda_graph_padding"):
		return sizes(limit, stretch{1, limit + 1, 1})
	case s.Nil("speculative_algorithm"):
		return sizes(limit, stretch{1, 3, 1}, stretch{4, 13, 4}, stretch{16, 257, 8}, stretch{272, 512, 16}, stretch{512, limit + 1, 32})
	}
	return sizes(limit, stretch{1, 9, 1}, stretch{10, 33, 2}, stretch{40, 65, 4}, stretch{72, 257, 8}, stretch{272, limit + 1, 16})
}

// piecewiseTokens is _generate_piecewise_cuda_graph_tokens.
func (s *state) piecewiseTokens(limit int) []any {
	first := 576
	if !s.since(r0508) {
		return sizes(limit, stretch{4, 33, 4}, stretch{48, 257, 16}, stretch{288, 513, 32}, stretch{640, 4097, 128}, stretch{4352, limit + 1, 256})
	}
	if !s.since(r0509) {
		first = 640
	}
	return sizes(limit, stretch{4, 33, 4}, stretch{48, 257, 16}, stretch{288, 513, 32}, stretch{first, 1025, 64},
		stretch{1280, 4097, 256}, stretch{4608, limit + 1, 512})
}

// memFraction is the share of GPU memory for weights and KV cache: what
// activations, graphs and parallelism do not need.
func (s *state) memFraction() error {
	if s.since(r0518) {
		if planned, err := s.sizedLater(); planned || err != nil {
			return err
		}
	}
	graph := s.Float(s.graphMax("decode"))
	reserved := 512 + float64(max(s.activationTokens(), 2048))*1.5
	// Later releases know that a prefill server captures no decoding.
	decodes := !s.since(r0515) || !s.Is("disaggregation_mode", "prefill")
	captured := decodes && (!s.since(r0515) || s.captures(decodeGraph))
	if captured {
		reserved += graph * 2
	}
	reserved += s.Float("tp_size") * s.Float("pp_size") / 8 * 1024
	if s.dpAttention() && decodes {
		reserved += graph * s.Float(s.attnDP()) * 3
		if graph > 300 {
			reserved += graph * s.Float(s.attnDP()) * 1.5
		}
	}
	graphs, err := s.piecewiseMemory()
	if err != nil {
		return err
	}
	reserved += graphs
	if s.gpu.memoryMiB > 60<<10 {
		reserved = max(reserved, 10<<10)
	}
	reserved += s.draftMemory()
	if s.since(r0515) && captured && s.Is("moe_a2a_backend", "deepep") {
		reserved += 2 << 10
	}
	s.because("SGL-MEM-FRACTION", byHardware, "what activations, CUDA graphs and parallelism leave of the GPU's memory",
		"chunked_prefill_size", s.graphMax("decode"), "tp_size")
	s.Set("mem_fraction_static", round3((s.gpu.memoryMiB-reserved)/s.gpu.memoryMiB))
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	s.visionRoom(m)
	return nil
}

// visionRoom leaves room for a vision tower that runs on this server.
func (s *state) visionRoom(m *modelConfig) {
	later := s.since(r0518) && (s.Bool("language_model_only") || s.Is("disaggregation_mode", "decode"))
	if m.multimodal && !(s.since(r0509) && s.Bool("language_only")) && !later {
		s.visionMemory(m)
	}
}

// sizedLater says whether the KV cache is sized after the graphs are captured,
// which needs less room (post_capture_kv_sizing_planned).
func (s *state) sizedLater() (bool, error) {
	m, err := s.modelConfig()
	if err != nil {
		return false, err
	}
	prefill, _ := s.Get(s.graphList("prefill")).([]any)
	_, pool := s.Env("SGLANG_MOONCAKE_CUSTOM_MEM_POOL")
	chunk := s.Int("chunked_prefill_size")
	switch {
	case !s.envSwitch("SGLANG_ENABLE_POST_CAPTURE_KV_SIZING", false), s.gpu.hip, s.Int("dcp_size") > 1, m.mla,
		s.Bool("prefill_only_disable_kv_cache"), s.Bool("enable_memory_saver"), pool,
		!s.Is("disaggregation_mode", "prefill") && !s.captures(decodeGraph),
		!s.Is("disaggregation_mode", "decode") && (!s.captures(prefillGraph) || chunk <= 0 || chunk > largest(prefill)),
		m.arch == "DeepseekV4ForCausalLM":
		return false, nil
	}
	reserved := 1536 + s.Float("tp_size")*s.Float("pp_size")/8*1024
	s.because("SGL-MEM-FRACTION", byHardware, "the KV cache is sized after the graphs are captured", "tp_size")
	s.Set("mem_fraction_static", round3((s.gpu.memoryMiB-reserved)/s.gpu.memoryMiB))
	s.visionRoom(m)
	return true, nil
}

// activationTokens are the tokens that a forward pass holds at once.
func (s *state) activationTokens() int {
	if s.since(r0515) && s.Is("disaggregation_mode", "decode") {
		requests := s.Int("max_running_requests")
		if requests == 0 {
			requests = max(1, s.Int(s.graphMax("decode")))
		}
		return requests * max(1, s.Int("speculative_num_draft_tokens"))
	}
	if n := s.Int("chunked_prefill_size"); n > 0 {
		return n
	}
	return s.Int("max_prefill_tokens")
}

// draftMemory is what drafts need, in MiB; from 0.5.15 on nothing is set aside
// for them.
func (s *state) draftMemory() float64 {
	switch s.Str("speculative_algorithm") {
	case "", "NGRAM":
		return 0
	case "STANDALONE":
		if s.since(r0515) {
			return 0
		}
		return 6 << 10
	}
	switch {
	case s.since(r0515):
		return 0
	case s.since(r0510):
		return 4 << 10
	}
	return 2 << 10
}

// piecewiseMemory is what prefill graphs need, in MiB.
func (s *state) piecewiseMemory() (float64, error) {
	switch {
	case s.since(r0515):
		if s.Is("disaggregation_mode", "decode") || !s.captures(prefillGraph) {
			return 0, nil
		}
	case s.since(r0510) && s.Bool("disable_piecewise_cuda_graph"), !s.since(r0510) && !s.Bool("enable_piecewise_cuda_graph"):
		return 0, nil
	}
	if !s.since(r0508) {
		return float64(s.Int("piecewise_cuda_graph_max_tokens") / 4), nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return 0, err
	}
	deepep := 0.0
	if s.since(r0518) && s.Is(prefillGraph, "breakable") && s.Is("moe_a2a_backend", "deepep") {
		deepep = 1 << 10
	}
	if m.mla && s.since(r0510) {
		return 1.5*1024 + deepep, nil
	}
	tokens, _ := s.Get(s.graphList("prefill")).([]any)
	return float64(len(tokens))*8 + deepep, nil
}

// round3 is Python's round(x, 3): the decimal nearest to the exact value.
func round3(x float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 3, 64), 64)
	return r
}

// visionMemory leaves room for the vision tower, by its size
// (adjust_mem_fraction_for_vlm).
func (s *state) visionMemory(m *modelConfig) {
	vision := m.hf.Obj("vision_config")
	if vision == nil {
		return
	}
	layers := float64(vision.IntOr("num_hidden_layers", 24))
	hidden := float64(vision.IntOr("hidden_size", 1024))
	ratio := layers * hidden * hidden / (24 * 1024 * 1024)
	factor := max(0.8, min(1.05, 1.0-0.1*(ratio-1.0)))
	s.because("SGL-MEM-MULTIMODAL-001", byModel, "a vision tower needs room for images")
	s.Set("mem_fraction_static", s.Float("mem_fraction_static")*(0.95*factor))
}
