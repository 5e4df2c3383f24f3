package sglang

import (
	"slices"
	"strings"
)

// This file is the KV layouts by page and in one pool for all kinds of layers.

// pageMajor checks the kernels of a KV cache that is laid out page by page.
func (s *state) pageMajor() error {
	if s.Bool("enable_unified_memory") {
		s.because("SGL-PAGE-MAJOR", byCoupling, "the pool has its own layout", "enable_unified_memory")
		s.Set("enable_page_major_kv_layout", true)
	}
	if !s.Bool("enable_page_major_kv_layout") {
		return nil
	}
	const flag = "--enable-page-major-kv-layout"
	if s.since(r0523) && !s.Bool("enable_unified_memory") {
		return assertion(flag + " without --enable-unified-memory is temporarily unsupported: the strided MHA K/V views were removed and the static-pool page-major layout awaits its per-layer-view reimplementation. " +
			"Run with --enable-unified-memory, or drop --enable-page-major-kv-layout.")
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	var have []string
	prefill, decode := s.attentionBackends()
	for _, b := range []string{prefill, decode} {
		if b != "" && !slices.Contains(have, b) {
			have = append(have, b)
		}
	}
	slices.Sort(have)
	allowed := s.pageMajorBackends(m)
	if slices.ContainsFunc(have, func(b string) bool { return !slices.Contains(allowed, b) }) {
		switch {
		case s.since(r0523):
			return assertion(flag+": the resolved attention backends %s are not in the allowed set %s for this configuration. Pass a compatible --attention-backend.", pyList(have), pyList(allowed))
		case s.since(r0518):
			return assertion(flag+" requires the Triton attention backend for the full-attention layers (unified-memory MLA also allows the paged MLA backends); got %s, allowed %s. Pass a compatible --attention-backend.", pyList(have), pyList(allowed))
		}
		return assertion(flag+" requires the Triton attention backend for the full-attention layers; got %s. Pass --attention-backend triton.", pyList(have))
	}
	return s.pageMajorLinear(m)
}

func (s *state) pageMajorBackends(m *modelConfig) []string {
	switch {
	case s.since(r0523) && m.mla:
		return []string{"cutedsl_mla", "fa3", "flashinfer", "flashmla", "triton", "trtllm_mla"}
	case s.since(r0523) && unequalHeads(m):
		return []string{"fa3", "fa4", "triton"}
	case s.since(r0523):
		return []string{"fa3", "fa4", "flashinfer", "triton", "trtllm_mha"}
	case s.since(r0518) && m.mla && s.Bool("enable_unified_memory"):
		return []string{"cutedsl_mla", "fa3", "flashinfer", "tokenspeed_mla", "triton", "trtllm_mla"}
	}
	return []string{"triton"}
}

// pageMajorLinear checks the kernels of linear attention and state-space
// layers.
func (s *state) pageMajorLinear(m *modelConfig) error {
	const flag = "--enable-page-major-kv-layout"
	if !s.since(r0518) {
		for _, name := range []string{"linear_attn_backend", "linear_attn_decode_backend", "linear_attn_prefill_backend", "mamba_backend"} {
			if !s.Is(name, nil, "triton") {
				return assertion(flag + " requires the Triton linear-attention / Mamba kernels for the strided conv/SSM state")
			}
		}
		return nil
	}
	decode, prefill := []string{"flashinfer", "triton"}, []string{"flashkda", "triton"}
	if s.since(r0523) {
		prefill = []string{"flashinfer", "flashkda", "triton"}
	}
	if m.mla {
		decode, prefill = append(decode, "cutedsl", "helion"), append(prefill, "cutedsl", "helion")
		slices.Sort(decode)
		slices.Sort(prefill)
	}
	for _, phase := range []struct {
		name    string
		allowed []string
	}{{"decode", decode}, {"prefill", prefill}} {
		backend := s.Str("linear_attn_" + phase.name + "_backend")
		if backend == "" {
			backend = s.Str("linear_attn_backend")
		}
		if backend != "" && !slices.Contains(phase.allowed, backend) {
			return assertion(flag+": linear-attention %s backend must be one of %s for the strided conv/SSM state; got '%s'.", strings.ToUpper(phase.name), pyList(phase.allowed), backend)
		}
	}
	if !s.Is("mamba_backend", nil, "triton") {
		return assertion(flag+" requires the Triton Mamba kernels for the strided conv/SSM state; got '%s'. Pass --mamba-backend triton.", s.Str("mamba_backend"))
	}
	return nil
}

// unifiedMemory checks one pool for the caches of all kinds of layers.
func (s *state) unifiedMemory() error {
	if !s.Bool("enable_unified_memory") {
		return nil
	}
	if s.since(r0518) {
		return s.unifiedLater()
	}
	const flag = "--enable-unified-memory is not yet compatible with "
	switch {
	case !s.Is("disaggregation_mode", "null"):
		return assertion(flag + "PD disaggregation.")
	case !s.Nil("speculative_algorithm"):
		return assertion(flag + "speculative decoding.")
	case s.Bool("enable_hierarchical_cache") || s.Bool("enable_lmcache"):
		return assertion(flag + "hierarchical / host-tiered KV cache (--enable-hierarchical-cache / --enable-lmcache)")
	case s.Int("dcp_size") > 1:
		return assertion(flag + "decode context parallelism (--dcp-size > 1)")
	case s.Is(prefillGraph, "tc_piecewise"):
		return valueError("--enable-unified-memory supports monolithic (decode) cuda-graph capture only; disable piecewise prefill capture (e.g. --cuda-graph-backend-prefill=disabled).")
	}
	return nil
}

// unifiedLater is the same from 0.5.18 on, which knows more combinations.
func (s *state) unifiedLater() error {
	const flag = "--enable-unified-memory "
	algorithms := []any{nil, "DSPARK"}
	if s.since(r0523) {
		algorithms = append(algorithms, "EAGLE", "EAGLE3", "DFLASH")
	}
	apart := !s.Is("disaggregation_mode", "null")
	switch {
	case apart && !s.Is("disaggregation_transfer_backend", "mooncake"):
		return assertion(flag+"with PD disaggregation supports only the mooncake transfer backend; got '%s'.", s.Str("disaggregation_transfer_backend"))
	case apart && s.Int("pp_size") != 1:
		return assertion(flag + "with PD disaggregation does not support pipeline parallelism (whole-envelope transfer has no per-layer entries to subset).")
	case apart && s.Bool("enable_hisparse"):
		return assertion(flag + "with PD disaggregation is not compatible with --enable-hisparse")
	case !s.Is("speculative_algorithm", algorithms...):
		return assertion(flag+"only supports --speculative-algorithm DSPARK; got --speculative-algorithm='%s'.", s.Str("speculative_algorithm"))
	case !s.Nil("speculative_algorithm") && !s.Is("speculative_eagle_topk", nil, 1):
		return assertion(flag+"supports a linear draft chain only (--speculative-eagle-topk in {None, 1}); got %s.", pyInt(s.Get("speculative_eagle_topk")))
	case s.since(r0523) && s.Bool("enable_two_batch_overlap"):
		return assertion(flag + "does not support --enable-two-batch-overlap")
	case s.since(r0523) && s.Bool("enable_lmcache"):
		return assertion(flag + "is not yet compatible with --enable-lmcache")
	case !s.since(r0523) && (s.Bool("enable_hierarchical_cache") || s.Bool("enable_lmcache")):
		return assertion(flag + "is not yet compatible with hierarchical / host-tiered KV cache (--enable-hierarchical-cache / --enable-lmcache)")
	case !s.since(r0523) && s.Int("dcp_size") > 1:
		return assertion(flag + "is not yet compatible with decode context parallelism (--dcp-size > 1)")
	case !s.since(r0523) && s.Is(prefillGraph, "tc_piecewise"):
		return valueError(flag + "supports monolithic (decode) cuda-graph capture only; disable piecewise prefill capture (e.g. --cuda-graph-backend-prefill=disabled).")
	}
	if prefill, decode := s.attentionBackends(); s.since(r0523) && s.Is(prefillGraph, "full") && !(strings.HasPrefix(prefill, "fa") && strings.HasPrefix(decode, "fa")) {
		s.because("SGL-UNIFIED", byCoupling, "whole prefill graphs of one pool need fa3 or fa4", "enable_unified_memory")
		s.Set(prefillGraph, "disabled")
		s.warn("--enable-unified-memory: disabling the FULL prefill cuda-graph backend.")
	}
	return nil
}
