package sglang

// hicache is the hierarchical KV cache.
func (s *state) hicache() error {
	if s.since(r0523) {
		if apart, err := s.cacheLinker(); apart || err != nil {
			return err
		}
	}
	if s.since(r0510) {
		return s.hicacheNormal()
	}
	if s.Is("hicache_mem_layout", "page_first_direct") && s.Is("hicache_io_backend", "kernel") {
		s.because("", byCoupling, "this layout is copied directly", "hicache_mem_layout")
		s.Set("hicache_io_backend", "direct")
		s.warn("Kernel io backend does not support page first direct layout")
	}
	if (s.Bool("enable_hierarchical_cache") || s.Bool("disaggregation_decode_enable_offload_kvcache")) && s.Is("hicache_io_backend", "kernel") {
		if err := s.hicacheDecode(); err != nil {
			return err
		}
	}
	if s.Is("hicache_storage_backend", "mooncake") && s.Is("hicache_mem_layout", "layer_first") {
		s.because("", byCoupling, "Mooncake stores pages", "hicache_storage_backend")
		if s.Is("hicache_io_backend", "direct") {
			s.Set("hicache_mem_layout", "page_first_direct")
		} else {
			s.Set("hicache_mem_layout", "page_first")
		}
		s.warn("Mooncake storage backend does not support layer_first layout, switching to %s layout for %s io backend", s.Str("hicache_mem_layout"), s.Str("hicache_io_backend"))
	}
	return nil
}

// hicacheNormal normalises the hierarchical cache in four steps: layout and
// copying, storage and layout, decoding, and layout again when copying changed.
func (s *state) hicacheNormal() error {
	retracts := s.since(r0518) && s.Is("disaggregation_mode", "decode") && s.Is("disaggregation_decode_retraction_backup", nil, "host_pool")
	if !s.Bool("enable_hierarchical_cache") && !s.Bool("disaggregation_decode_enable_offload_kvcache") && !retracts {
		return nil
	}
	s.hicacheLayout()
	s.hicacheStorage()
	if s.since(r0515) {
		return nil
	}
	before := s.Str("hicache_io_backend")
	if before == "kernel" {
		if err := s.hicacheDecode(); err != nil {
			return err
		}
	}
	if s.Str("hicache_io_backend") != before {
		s.hicacheLayout()
	}
	return nil
}

func (s *state) hicacheLayout() {
	if s.Is("hicache_mem_layout", "page_first_direct") && s.Is("hicache_io_backend", "kernel") {
		s.because("", byCoupling, "this layout is copied directly", "hicache_mem_layout")
		s.Set("hicache_io_backend", "direct")
		s.warn("Kernel io backend does not support page first direct layout, switching to direct io backend")
	}
	if s.Is("hicache_mem_layout", "page_first") && s.Is("hicache_io_backend", "direct") {
		s.because("", byCoupling, "direct copying wants its own layout", "hicache_io_backend")
		s.Set("hicache_mem_layout", "page_first_direct")
		s.warn("Page first layout is not supported with direct IO backend, switching to page first direct layout")
	}
	s.hicacheROCm()
}

// hicacheROCm avoids the copy kernel that AMD GPUs lack, from 0.5.15 on.
func (s *state) hicacheROCm() {
	if s.since(r0515) && s.gpu.hip && s.Is("hicache_mem_layout", "page_first") && s.Is("hicache_io_backend", "kernel") {
		s.because("", byHardware, "pages are copied by a CUDA kernel")
		s.Set("hicache_mem_layout", "layer_first")
		s.warn("page_first kernel write-back requires the CUDA JIT kernel; falling back to layer_first layout on ROCm.")
	}
}

func (s *state) hicacheStorage() {
	if !s.Is("hicache_storage_backend", "mooncake") || !s.Is("hicache_mem_layout", "layer_first") {
		return
	}
	s.because("", byCoupling, "Mooncake stores pages", "hicache_storage_backend")
	switch s.Str("hicache_io_backend") {
	case "direct":
		s.Set("hicache_mem_layout", "page_first_direct")
	case "kernel":
		s.Set("hicache_mem_layout", "page_first")
	}
	s.warn("Mooncake storage backend does not support layer_first layout, switching to %s layout for %s io backend", s.Str("hicache_mem_layout"), s.Str("hicache_io_backend"))
}

// hicacheRatio is the size of the host's cache, in that of the GPU's.
func (s *state) hicacheRatio() error {
	if s.Nil("hicache_ratio") && !s.Is("disaggregation_mode", "decode") {
		s.because("SGL-HICACHE-RATIO", byDefault, "twice the GPU's KV cache")
		s.Set("hicache_ratio", 2.0)
	}
	return nil
}

// hicacheDecode moves decoding away from fa3, which cannot work with the
// cache's copy kernels.
func (s *state) hicacheDecode() error {
	if _, decode := s.attentionBackends(); decode != "fa3" {
		return nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	s.because("SGL-HICACHE-DECODE", byCoupling, "fa3 cannot decode with the cache's copy kernels", "enable_hierarchical_cache")
	switch {
	case !s.Nil("decode_attention_backend"):
		s.Set("hicache_io_backend", "direct")
		s.warn("FlashAttention3 decode backend is not compatible with hierarchical cache. " +
			"Setting hicache_io_backend to vanilla I/O, which may lead to suboptimal performance with small page sizes.")
	case !m.mla:
		backend := s.flashinferOr("triton")
		if s.since(r0512) && s.sinks(m) {
			backend = "triton"
		}
		s.Set("decode_attention_backend", backend)
	case s.gpu.sm100():
		s.Set("decode_attention_backend", "flashinfer")
	default:
		s.Set("decode_attention_backend", "triton")
	}
	return nil
}

func (s *state) cacheCompatibility() error {
	if s.since(r0518) {
		if err := s.retraction(); err != nil {
			return err
		}
	}
	if !s.since(r0518) && s.Bool("enable_session_radix_cache") && !s.Is("radix_eviction_policy", "priority") {
		return valueError("--enable-session-radix-cache requires --radix-eviction-policy priority")
	}
	if s.Bool("enable_hierarchical_cache") && s.Bool("disable_radix_cache") {
		return valueError("The arguments enable-hierarchical-cache and disable-radix-cache are mutually exclusive " +
			"and cannot be used at the same time. Please use only one of them.")
	}
	if s.Bool("disaggregation_decode_enable_offload_kvcache") {
		if !s.Is("disaggregation_mode", "decode") {
			return valueError("The argument disaggregation-decode-enable-offload-kvcache is only supported for decode side.")
		}
		if s.since(r0510) && s.Nil("hicache_storage_backend") {
			return valueError("The argument disaggregation-decode-enable-offload-kvcache is only supported when hicache-storage-backend is provided.")
		}
		if s.envSwitch("SGLANG_ENABLE_SPEC_V2", false) && !s.since(r0510) {
			return valueError("Spec v2 and decode offload kv cache are incompatible and cannot be enabled together.")
		}
	}
	if r := s.Float("swa_full_tokens_ratio"); s.Known("swa_full_tokens_ratio") && (r <= 0 || r > 1) {
		return valueError("--swa-full-tokens-ratio should be in range (0, 1.0].")
	}
	return nil
}

// retraction checks the host pool of a decode server.
func (s *state) retraction() error {
	if !s.Is("disaggregation_decode_retraction_backup", "host_pool") {
		return nil
	}
	const flag = "--disaggregation-decode-retraction-backup=host_pool "
	switch {
	case !s.Is("disaggregation_mode", "decode"):
		return valueError(flag + "is only supported on a PD decode server.")
	case s.Int("dcp_size") > 1:
		return valueError(flag + "does not support --dcp-size > 1.")
	case s.Bool("enable_priority_scheduling") && !s.Bool("disable_priority_preemption"):
		return valueError(flag + "requires --disable-priority-preemption when priority scheduling is enabled.")
	}
	return nil
}

// cacheLinker checks the linker to a cache outside; it takes the place of the
// hierarchical cache.
func (s *state) cacheLinker() (bool, error) {
	on := s.Bool("enable_unified_cache_external_linker")
	switch {
	case s.Bool("enable_linker_mla_dedup") && (!on || !s.Is("unified_cache_external_linker_backend", "mooncake")):
		return false, valueError("--enable-linker-mla-dedup requires the Mooncake linker.")
	case on && (s.Bool("disable_radix_cache") || !s.Nil("radix_cache_backend")):
		return false, valueError("--enable-unified-cache-external-linker requires the default UnifiedRadixCache with radix caching enabled.")
	case on && s.Bool("enable_hierarchical_cache"):
		return false, valueError("--enable-unified-cache-external-linker and --enable-hierarchical-cache are mutually exclusive.")
	case on && !s.Nil("hicache_storage_backend"):
		return false, valueError("--enable-unified-cache-external-linker does not use --hicache-storage-backend.")
	}
	return on, nil
}
