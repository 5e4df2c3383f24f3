package sglang

import (
	"fmt"
	"slices"
	"strings"
)

// From 0.5.15 on CUDA graphs are configured by phase, decode and prefill. While
// resolving, each key is a setting of its own, named as SGLang's messages name
// it; the answer has them as one object, as the engine does.
const graphConfig = "cuda_graph_config"

func graphKey(phase, key string) string { return graphConfig + "[" + phase + "]." + key }

// phases and their keys (PhaseConfig).
var (
	graphPhases = []string{"decode", "prefill"}
	graphKeys   = []string{"backend", "max_bs", "bs", "tc_compiler", "full_prefill_max_req"}
)

// graphKeysOf are the keys of a phase that the release has.
func (s *state) graphKeysOf() []string {
	switch {
	case s.since(r0523):
		return append(slices.Clip(graphKeys), "full_prefill_prefix_chunk_tokens", "max_context_size", "max_seq_len")
	case s.since(r0518):
		return append(slices.Clip(graphKeys), "full_prefill_prefix_chunk_tokens")
	}
	return graphKeys
}

const (
	decodeGraph  = graphConfig + "[decode].backend"
	prefillGraph = graphConfig + "[prefill].backend"
)

// graphs makes the configuration from JSON, flags by phase, old flags and
// defaults, and turns prefill graphs off where they cannot work.
func (s *state) graphs() error {
	s.because("SGL-GRAPH-CONFIG", byDefault, "decode is captured whole, prefill in pieces")
	prefill := "breakable"
	if s.gpu.hip {
		prefill = "tc_piecewise"
		if s.since(r0523) {
			prefill = "disabled"
		}
	}
	for _, phase := range graphPhases {
		for _, key := range s.graphKeysOf() {
			s.Fill(graphKey(phase, key), nil)
		}
		s.Fill(graphKey(phase, "tc_compiler"), "eager")
	}
	s.Fill(decodeGraph, "full")
	s.Fill(prefillGraph, prefill)
	s.locked = map[string]bool{}
	s.graphFlags()
	explicit, _ := s.Get(graphConfig).(map[string]any)
	for phase, keys := range explicit {
		values, _ := keys.(map[string]any)
		for key, v := range values {
			s.lockGraph(phase, key, v)
		}
	}
	if !s.locked[prefillGraph] {
		if err := s.prefillGraphs(); err != nil {
			return err
		}
	}
	if s.since(r0518) {
		s.alignedPrefill()
		s.graphRoles()
	}
	if s.Is(prefillGraph, "full") {
		s.because("SGL-GRAPH-PREFILL-001", byCoupling, "asked for", "cuda_graph_backend_prefill")
		if s.since(r0523) {
			s.warn("cuda_graph_config[prefill].backend='full' is experimental. Use breakable for production workloads.")
		} else {
			s.warn("cuda_graph_config[prefill].backend='full' is experimental. Use breakable or tc_piecewise for production workloads.")
		}
	}
	return nil
}

// lockGraph takes over what the command line says; nothing may turn it off
// again by itself.
func (s *state) lockGraph(phase, key string, value any) {
	s.because("SGL-GRAPH-CONFIG", byCoupling, "asked for on the command line")
	s.Set(graphKey(phase, key), value)
	s.locked[graphKey(phase, key)] = true
}

func (s *state) graphFlags() {
	if s.Bool("disable_cuda_graph") {
		s.lockGraph("decode", "backend", "disabled")
		s.lockGraph("prefill", "backend", "disabled")
	}
	if s.Bool("disable_prefill_cuda_graph") {
		s.lockGraph("prefill", "backend", "disabled")
	}
	if s.Bool("disable_decode_cuda_graph") {
		s.lockGraph("decode", "backend", "disabled")
	}
	for _, key := range []string{"backend", "max_bs", "bs"} {
		for _, phase := range graphPhases {
			if v := s.Get("cuda_graph_" + key + "_" + phase); v != nil {
				s.lockGraph(phase, key, v)
			}
		}
	}
	for _, f := range []struct{ key, name string }{{"max_seq_len", "cuda_graph_max_seq_len_prefill"}, {"max_context_size", "cuda_graph_prefill_max_context"}} {
		if v := s.Get(f.name); v != nil {
			s.lockGraph("prefill", f.key, v)
		}
	}
	if v := s.Get("cuda_graph_tc_compiler"); v != nil {
		s.lockGraph("decode", "tc_compiler", v)
		s.lockGraph("prefill", "tc_compiler", v)
	}
}

// captures says whether a phase has CUDA graphs.
func (s *state) captures(backend string) bool { return !s.Is(backend, "disabled") }

// noGraphs turns CUDA graphs off in both phases, or as one in older releases.
func (s *state) noGraphs() {
	if !s.since(r0515) {
		s.Set("disable_cuda_graph", true)
		return
	}
	s.Set(decodeGraph, "disabled")
	s.Set(prefillGraph, "disabled")
}

// prefillGraphs turns prefill graphs off where something cannot be captured.
func (s *state) prefillGraphs() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if s.since(r0523) {
		if !s.Is(prefillGraph, "breakable") {
			return nil
		}
		if s.Int("pp_size") > 1 {
			s.because("SGL-GRAPH-PREFILL-002", byCoupling, "prefill of pipeline stages is captured only where asked for", "pp_size")
			s.Set(prefillGraph, "disabled")
			s.info("Disabling breakable prefill CUDA graph by default for pipeline parallelism. Set --cuda-graph-backend-prefill=breakable to opt in.")
			return nil
		}
	}
	if s.r == r0518 && s.Is(prefillGraph, "breakable") && m.piecewiseVision && !m.breakableVision {
		if prefill, _ := s.attentionBackends(); prefill != "trtllm_mha" {
			s.because("SGL-GRAPH-PREFILL-003", byModel, "prefill of this multimodal model is captured in compiled pieces")
			s.Set(prefillGraph, "tc_piecewise")
			s.info("Using tc_piecewise CUDA graph for validated multimodal decoder prefill.")
		}
	}
	if s.Is(prefillGraph, "tc_piecewise") {
		for _, o := range s.pieceObstacles(m) {
			if o.when {
				s.because("SGL-GRAPH-PREFILL-003", o.by, "prefill graphs are off: "+o.why, o.coupled...)
				s.Set(prefillGraph, "disabled")
			}
		}
		return nil
	}
	obstacles := s.breakObstacles(m)
	if s.since(r0518) {
		obstacles = s.laterObstacles(m)
	}
	for _, o := range obstacles {
		if o.when {
			s.because("SGL-GRAPH-PREFILL-002", byCoupling, "prefill cannot be captured with "+o.why)
			s.Set(prefillGraph, "disabled")
			if !o.silent {
				s.warn("Breakable CUDA graph is incompatible with %s; disabling prefill CUDA graph.", o.why)
			}
			return nil
		}
	}
	return nil
}

// breakObstacles keep prefill from being captured in pieces that are not
// compiled, in 0.5.15.
func (s *state) breakObstacles(m *modelConfig) []obstacle {
	paths, _ := s.Get("lora_paths").([]any)
	return []obstacle{
		{when: m.mla, why: "MLA attention"},
		{when: m.arch == "DeepseekV4ForCausalLM", why: "DeepSeek-V4 (heavy capture-pool memory pressure)"},
		{when: s.Int("attn_cp_size") > 1, why: "context parallel (attn_cp_size > 1)"},
		{when: len(paths) > 0 || s.Bool("enable_lora"), why: "LoRA"},
		{when: !s.Is("moe_a2a_backend", "none"), why: "MoE A2A backend"},
		{when: s.dpAttention(), why: "DP attention"},
		{when: m.multimodal, why: "multimodal model"},
	}
}

// laterObstacles are the same from 0.5.18 on.
func (s *state) laterObstacles(m *modelConfig) []obstacle {
	prefill, _ := s.attentionBackends()
	zigzag := s.Bool("enable_prefill_cp") && s.Int("attn_cp_size") == s.Int("tp_size") && s.Is("cp_strategy", "zigzag") && prefill == "trtllm_mha"
	return []obstacle{
		{when: s.since(r0523) && kdaLayers(m) && m.arch != "Glm5NextForConditionalGeneration", why: "KDA hybrid linear attention"},
		{when: m.arch == "DeepseekV4ForCausalLM", why: "DeepSeek-V4 (heavy capture-pool memory pressure)"},
		{when: s.Int("attn_cp_size") > 1 && !zigzag, why: "context parallel (attn_cp_size > 1)", silent: s.since(r0523)},
		{when: s.Int("dcp_size") > 1, why: "decode context parallel (dcp_size > 1)"},
		{when: s.Bool("enable_two_batch_overlap"), why: "two-batch overlap"},
		{when: !s.Is("moe_a2a_backend", "none", "deepep", "megamoe", "flashinfer"), why: "unvalidated a2a backend"},
		{when: m.multimodal && !m.breakableVision, why: "multimodal model"},
	}
}

// alignedPrefill rounds the sizes of prefill graphs up to multiples of 8, which
// DeepEP needs.
func (s *state) alignedPrefill() {
	if !s.Is("moe_a2a_backend", "deepep") || !s.Is(prefillGraph, "breakable") {
		return
	}
	list, _ := s.Get(s.graphList("prefill")).([]any)
	if list == nil {
		most := s.Int(s.graphMax("prefill"))
		if most == 0 {
			most = 2048
		}
		list = s.piecewiseTokens(most)
	}
	var before, after []int
	for _, e := range list {
		n, _ := e.(int)
		before = append(before, n)
		after = append(after, (n+7)/8*8)
	}
	slices.Sort(before)
	slices.Sort(after)
	after = slices.Compact(after)
	if slices.Equal(before, after) || len(after) == 0 {
		return
	}
	aligned := make([]any, len(after))
	for i, n := range after {
		aligned[i] = n
	}
	s.because("SGL-GRAPH-DEEPEP-001", byCoupling, "DeepEP wants sizes divisible by 8", "moe_a2a_backend")
	s.Set(s.graphList("prefill"), aligned)
	s.Set(s.graphMax("prefill"), after[len(after)-1])
	s.info("Breakable prefill CUDA graph with DeepEP requires bucket sizes divisible by 8; aligning %s -> %s.", pyInts(before), pyInts(after))
}

// pyInts prints numbers as Python prints a list.
func pyInts(list []int) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ", ") }

// graphRoles turns off what the role of a disaggregated server never runs.
func (s *state) graphRoles() {
	for _, r := range []struct{ mode, key string }{{"prefill", decodeGraph}, {"decode", prefillGraph}} {
		if s.Is("disaggregation_mode", r.mode) && !s.locked[r.key] {
			s.because("SGL-GRAPH-PD-001", byCoupling, "the server's role never runs it", "disaggregation_mode")
			s.Set(r.key, "disabled")
		}
	}
}

// trtllmPrefill turns prefill graphs off for DeepSeek V3 with trtllm_mla, which
// falls back to a slower kernel in them.
func (s *state) trtllmPrefill() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	prefill, _ := s.attentionBackends()
	if s.locked[prefillGraph] || !s.captures(prefillGraph) || m.arch != "DeepseekV3ForCausalLM" || prefill != "trtllm_mla" {
		return nil
	}
	backend, other := s.Str(prefillGraph), "tc_piecewise"
	if s.since(r0523) {
		other = "breakable"
	}
	s.because("SGL-GRAPH-PREFILL-004", byCoupling, "captured, trtllm_mla prefills with a slower kernel", "attention_backend")
	s.Set(prefillGraph, "disabled")
	s.warn("Disabling prefill CUDA graph (%s) by default for the DeepSeek-V3 arch on "+
		"the trtllm_mla attention backend (a captured prefill graph forces a "+
		"FlashAttention fallback that regresses prefill). Set the prefill cuda graph "+
		"backend explicitly (e.g. --cuda-graph-backend-prefill %s) to override.", backend, other)
	return nil
}

// graphObject is the configuration as the engine holds it.
func (s *state) graphObject(settings map[string]any) {
	if !s.Known(decodeGraph) {
		return
	}
	object := map[string]any{}
	for _, phase := range graphPhases {
		keys := map[string]any{}
		for _, key := range s.graphKeysOf() {
			keys[key] = s.Get(graphKey(phase, key))
		}
		object[phase] = keys
	}
	for k := range settings {
		if strings.HasPrefix(k, graphConfig+"[") {
			delete(settings, k)
		}
	}
	settings[graphConfig] = object
}

// graphMax and graphList are the settings of the largest batch and of all
// batches of a phase, by release.
func (s *state) graphMax(phase string) string {
	switch {
	case s.since(r0515):
		return graphKey(phase, "max_bs")
	case phase == "decode":
		return "cuda_graph_max_bs"
	}
	return "piecewise_cuda_graph_max_tokens"
}

func (s *state) graphList(phase string) string {
	switch {
	case s.since(r0515):
		return graphKey(phase, "bs")
	case phase == "decode":
		return "cuda_graph_bs"
	}
	return "piecewise_cuda_graph_tokens"
}
