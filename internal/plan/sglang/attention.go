package sglang

import "slices"

// attention chooses the attention backend where nothing did before, and what
// the chosen one forces.
func (s *state) attention() error {
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if m.arch == "WhisperForConditionalGeneration" && !s.Bool("disable_radix_cache") && s.since(r0510) {
		s.because("SGL-RADIX-ARCH-001", byModel, "the encoder's padding excludes prefixes")
		s.Set("disable_radix_cache", true)
		s.info("Radix cache is disabled for Whisper")
	}
	if p := s.Get("prefill_attention_backend"); p != nil && s.Is("decode_attention_backend", p) {
		s.because("SGL-ATTN-BOTH", byCoupling, "prefill and decode agree", "prefill_attention_backend", "decode_attention_backend")
		s.Set("attention_backend", p)
	}
	if s.Nil("attention_backend") {
		s.defaultAttention(m)
	}
	if err := s.torchAttention(); err != nil {
		return err
	}
	nvidia := s.nvidiaAttention
	if s.since(r0515) {
		nvidia = s.laterAttention
	}
	if err := nvidia(m); err != nil {
		return err
	}
	if s.Is("attention_backend", "aiter") && m.contextLen > 8192 {
		s.because("SGL-MEM-AITER", byCoupling, "aiter needs room for long contexts", "attention_backend", "context_length")
		s.Set("mem_fraction_static", s.Float("mem_fraction_static")*0.85)
	}
	return s.dualChunk(m)
}

// topkOne is is_no_spec_infer_or_topk_one.
func (s *state) topkOne() bool {
	return s.Nil("speculative_eagle_topk") || s.Is("speculative_eagle_topk", 1) && s.Is("page_size", 1, nil)
}

func (s *state) defaultAttention(m *modelConfig) {
	s.because("SGL-ATTN-DEFAULT-001", byHardware, "by GPU, kind of attention and speculation", "speculative_eagle_topk", "page_size")
	backend := s.fastestAttention(m)
	s.Set("attention_backend", backend)
	if !s.since(r0508) {
		s.warn("Attention backend not explicitly specified. Use %s backend by default.", backend)
		return
	}
	s.info("Attention backend not specified. Use %s backend by default.", backend)
}

// fastestAttention is _get_default_attn_backend.
func (s *state) fastestAttention(m *modelConfig) (backend string) {
	switch {
	case s.since(r0510) && m.arch == "WhisperForConditionalGeneration":
		return "flashinfer"
	case m.mla && s.gpu.sm90():
		backend = "fa3"
	case m.mla && s.gpu.sm100():
		backend = "flashinfer"
	case m.mla && s.gpu.hip:
		backend = "triton"
		if n := m.heads(s.Int("tp_size")); n == 128 || n == 16 {
			backend = "aiter"
		}
	case m.mla:
		backend = "triton"
	case !s.since(r0508):
		return s.olderFastest(m)
	case s.gpu.sm90() && s.topkOne():
		backend = "fa3"
	case s.gpu.sm100() && s.topkOne() && (s.Nil("speculative_algorithm") || !s.Nil("speculative_eagle_topk")):
		backend = "trtllm_mha"
		if s.since(r0518) && unequalHeads(m) {
			backend = "fa4"
		}
	case s.gpu.hip:
		backend = "aiter"
	case s.since(r0512) && s.sinks(m):
		backend = "triton"
	default:
		backend = s.flashinferOr("triton")
	}
	return backend
}

// sinks says whether the model learns attention sinks, which flashinfer lacks.
func (s *state) sinks(m *modelConfig) bool {
	switch m.arch {
	case "GptOssForCausalLM":
		return true
	case "MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM", "MiMoV2MTP":
		return m.text["add_swa_attention_sink_bias"] == true || m.text["add_full_attention_sink_bias"] == true
	}
	return false
}

func (s *state) torchAttention() error {
	switch s.Str("attention_backend") {
	case "torch_native":
		s.because("SGL-GRAPH-ATTN-001", byCoupling, "the backend cannot be captured", "attention_backend")
		s.noGraphs()
		s.warn("Cuda graph is disabled because of using torch native attention backend")
	case "flex_attention":
		s.because("SGL-GRAPH-ATTN-001", byCoupling, "the backend cannot be captured", "attention_backend")
		s.noGraphs()
		s.warn("Cuda graph is disabled because of using torch Flex Attention backend")
		if !s.Nil("speculative_algorithm") {
			return assertion("Speculative decoding is currently not supported with Flex Attention backend")
		}
	}
	return nil
}

// uses says whether attention runs with a backend, at least in decode.
func (s *state) decodes(backend string) bool {
	return s.Is("attention_backend", backend) || s.Is("decode_attention_backend", backend)
}

// pageFor changes the page size to what a backend needs.
func (s *state) pageFor(size int, line string, args ...any) {
	s.because("SGL-PAGE-BACKEND-001", byCoupling, "the backend's kernels have pages of their own", "attention_backend")
	s.warn(line, args...)
	s.Set("page_size", size)
}

func (s *state) nvidiaAttention(m *modelConfig) error {
	if s.decodes("flashmla") {
		s.pageFor(64, "FlashMLA only supports a page_size of 64, change page_size to 64.")
	}
	if s.decodes("cutlass_mla") {
		s.pageFor(128, "Cutlass MLA only supports a page_size of 128, change page_size to 128.")
	}
	if s.decodes("trtllm_mla") {
		if err := s.trtllmMLA(); err != nil {
			return err
		}
	}
	if s.decodes("tokenspeed_mla") {
		if err := s.tokenspeed(); err != nil {
			return err
		}
	}
	if s.decodes("trtllm_mha") || s.Is("prefill_attention_backend", "trtllm_mha") {
		prefill, decode := s.attentionBackends()
		switch {
		case s.since(r0510) && prefill == "trtllm_mha" && !s.gpu.sm100():
			return valueError("TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100). Please use a different prefill backend.")
		case s.since(r0510) && decode == "trtllm_mha" && !(s.gpu.sm90() || s.gpu.blackwell()):
			return valueError("TRTLLM MHA backend for decode is only supported on Hopper (SM90), Blackwell (SM100) and (SM120) GPUs. Please use a different decode backend.")
		case !s.since(r0510) && !s.gpu.sm100():
			return valueError("TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.")
		}
		if !s.Is("page_size", 16, 32, 64) {
			s.pageFor(64, "TensorRT-LLM MHA only supports page_size of 16, 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
		}
	}
	s.noE5M2()
	if s.decodes("fa4") && !s.since(r0508) {
		return valueError("FA4 backend is only supported for prefill. Please use `--prefill-attention-backend fa4` instead.")
	}
	if s.Is("prefill_attention_backend", "fa4") && !m.mla && (!s.since(r0510) || s.gpu.sm100()) {
		s.pageFor(128, "FA4 backend only supports page size 128 for non-MLA model architectures, changing page_size from %s to 128.", pyInt(s.Get("page_size")))
	}
	return nil
}

// laterAttention is the same from 0.5.15 on: first all page sizes, then the
// checks.
func (s *state) laterAttention(m *modelConfig) error {
	s.backendPages()
	if s.decodes("trtllm_mla") {
		if err := s.trtllmMLA(); err != nil {
			return err
		}
	}
	if s.decodes("tokenspeed_mla") {
		if err := s.tokenspeed(); err != nil {
			return err
		}
	}
	if s.decodes("cutedsl_mla") || s.Is("prefill_attention_backend", "cutedsl_mla") {
		if err := s.cuteDSLMLA(); err != nil {
			return err
		}
	}
	prefill, decode := s.attentionBackends()
	switch known := s.gpu.sm90() || s.gpu.blackwell(); {
	case s.since(r0523) && prefill == "trtllm_mha" && !known:
		return valueError("TRTLLM MHA backend for prefill requires Hopper (SM90), Blackwell (SM100), or SM120 GPUs. Please use a different prefill backend.")
	case s.since(r0523) && prefill == "trtllm_mha" && s.gpu.sm120() && s.Is("kv_cache_dtype", "fp8_e4m3"):
		return valueError("TRTLLM FMHAv2 prefill on SM120 does not support fp8_e4m3 KV cache or skip-softmax.")
	case s.since(r0523) && prefill == "trtllm_mha" && !s.gpu.sm100() && s.Int("attn_cp_size") > 1:
		return valueError("Prefill context parallelism with the TRTLLM MHA prefill backend requires SM100 (trtllm-gen context kernel): the SM90/SM120 fmha_v2 prefill path does not implement CP shard masking.")
	case !s.since(r0523) && prefill == "trtllm_mha" && !s.gpu.sm100():
		return valueError("TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100). Please use a different prefill backend.")
	case decode == "trtllm_mha" && !(s.gpu.sm90() || s.gpu.blackwell()):
		return valueError("TRTLLM MHA backend for decode is only supported on Hopper (SM90), Blackwell (SM100) and (SM120) GPUs. Please use a different decode backend.")
	}
	s.noE5M2()
	fa4 := s.decodes("fa4") || s.Is("prefill_attention_backend", "fa4")
	if fa4 && !m.mla && s.gpu.sm100() && s.Int("speculative_eagle_topk") <= 1 {
		s.pageFor(128, "FA4 backend only supports page size 128 for non-MLA model architectures, changing page_size from %s to 128.", pyInt(s.Get("page_size")))
	}
	return nil
}

// backendPages sets the page sizes that backends need.
func (s *state) backendPages() {
	if s.decodes("flashmla") {
		s.pageFor(64, "FlashMLA only supports a page_size of 64, change page_size to 64.")
	}
	if s.decodes("cutlass_mla") {
		s.pageFor(128, "Cutlass MLA only supports a page_size of 128, change page_size to 128.")
	}
	if s.decodes("trtllm_mla") && !s.Is("page_size", 32, 64) {
		s.pageFor(64, "TensorRT-LLM MLA only supports page_size of 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
	}
	if s.decodes("tokenspeed_mla") && !s.Is("page_size", 32, 64) {
		s.pageFor(64, "tokenspeed_mla only supports page_size of 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
	}
	if (s.decodes("cutedsl_mla") || s.Is("prefill_attention_backend", "cutedsl_mla")) && !s.Is("page_size", 32, 64) {
		s.pageFor(64, "CuteDSL MLA only supports page_size of 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
	}
	mha := s.decodes("trtllm_mha") || s.Is("prefill_attention_backend", "trtllm_mha")
	switch {
	case s.since(r0518) && (mha || s.Is("speculative_draft_attention_backend", "trtllm_mha")) && !s.Is("page_size", 16, 32, 64, 128):
		s.pageFor(64, "TensorRT-LLM MHA only supports page_size of 16, 32, 64 or 128, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
	case !s.since(r0518) && mha && !s.Is("page_size", 16, 32, 64):
		s.pageFor(64, "TensorRT-LLM MHA only supports page_size of 16, 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
	}
	if (s.decodes("hpc_ops") || s.Is("prefill_attention_backend", "hpc_ops")) && !s.Is("page_size", 64) {
		s.pageFor(64, "HPC-Ops attention only supports a page_size of 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
	}
}

// cuteDSLMLA checks CuteDSL's attention, which only decodes.
func (s *state) cuteDSLMLA() error {
	switch {
	case s.Is("prefill_attention_backend", "cutedsl_mla"):
		return assertion("CuteDSL MLA only supports decoding for now")
	case !s.gpu.sm100():
		return valueError("CuteDSL MLA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.")
	case !s.Is("kv_cache_dtype", "fp8_e4m3", "bf16", "bfloat16", "auto"):
		return valueError("CuteDSL MLA backend only supports kv-cache-dtype of fp8_e4m3, bf16, or auto.")
	}
	if s.Nil("prefill_attention_backend") {
		s.because("SGL-ATTN-CUTEDSL", byCoupling, "CuteDSL only decodes", "attention_backend")
		s.Set("prefill_attention_backend", "trtllm_mla")
	}
	return nil
}

// noE5M2 leaves fa3 for an e5m2 KV cache.
func (s *state) noE5M2() {
	if s.Is("attention_backend", "fa3") && s.Is("kv_cache_dtype", "fp8_e5m2") {
		s.because("SGL-ATTN-FP8-001", byCoupling, "fa3 has no e5m2", "kv_cache_dtype")
		s.Set("attention_backend", "triton")
		s.warn("FlashAttention3 only supports fp8_e4m3 if using FP8; Setting attention backend to triton.")
	}
}

func (s *state) trtllmMLA() error {
	if !s.gpu.blackwell() {
		if !s.since(r0509) {
			return valueError("TRTLLM MLA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.")
		}
		return valueError("TRTLLM MLA backend is only supported on Blackwell GPUs (SM100/SM12x). Please use a different backend.")
	}
	if !s.Is("page_size", 32, 64) {
		s.pageFor(64, "TensorRT-LLM MLA only supports page_size of 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
	}
	if !s.since(r0508) && !s.Is("kv_cache_dtype", "fp8_e4m3", "fp4_e2m1", "auto") {
		return valueError("TensorRT-LLM MLA backend only supports kv-cache-dtype of fp8_e4m3, fp4_e2m1, or auto.")
	}
	if s.since(r0523) && !s.Is("kv_cache_dtype", "fp8_e4m3", "bf16", "auto") {
		return valueError("TensorRT-LLM MLA backend only supports kv-cache-dtype of fp8_e4m3, bf16, or auto.")
	}
	if !s.Is("kv_cache_dtype", "fp8_e4m3", "fp4_e2m1", "bf16", "auto") {
		return valueError("TensorRT-LLM MLA backend only supports kv-cache-dtype of fp8_e4m3, fp4_e2m1, bf16, or auto.")
	}
	return nil
}

func (s *state) tokenspeed() error {
	if !s.gpu.blackwell() {
		return valueError("tokenspeed_mla backend is only supported on Blackwell GPUs (SM100/SM12x).")
	}
	if !s.Is("page_size", 32, 64) {
		s.pageFor(64, "tokenspeed_mla only supports page_size of 32 or 64, changing page_size from %s to 64.", pyInt(s.Get("page_size")))
	}
	if !s.Is("kv_cache_dtype", "fp8_e4m3") {
		return valueError("tokenspeed_mla backend requires kv-cache-dtype=fp8_e4m3, got %s.", s.Str("kv_cache_dtype"))
	}
	return nil
}

func (s *state) dualChunk(m *modelConfig) error {
	if s.since(r0523) {
		return nil
	}
	if m.hf.Has("dual_chunk_attention_config") && !s.Is("attention_backend", "dual_chunk_flash_attn") {
		return valueError("Dual chunk attention is enabled, but attention backend is set to %s. Please set it to 'dual_chunk_flash_attn'.", s.Str("attention_backend"))
	}
	if s.Is("attention_backend", "dual_chunk_flash_attn") {
		s.because("SGL-ATTN-DUALCHUNK", byCoupling, "dual chunk attention excludes both", "attention_backend")
		s.Set("enable_mixed_chunk", false)
		s.Set("disable_radix_cache", true)
		s.warn("Mixed chunk and radix cache are disabled when using dual-chunk flash attention backend")
	}
	return nil
}

// kv4 checks an FP4 KV cache against the attention backends.
func (s *state) kv4() error {
	if !s.since(r0518) && !s.Is("kv_cache_dtype", "fp4_e2m1") || s.since(r0518) && !s.Is("kv_cache_dtype", "nvfp4", "fp4_mx_block16") {
		return nil
	}
	m, err := s.modelConfig()
	if err != nil {
		return err
	}
	if s.gpu.hip {
		return refuse("RuntimeError", "KV4 is not tested on non-CUDA platforms.")
	}
	if s.Is("kv_cache_dtype", "nvfp4") && !s.gpu.blackwell() {
		return refuse("RuntimeError", "--kv-cache-dtype=nvfp4 requires Blackwell SM100 or SM120. Use --kv-cache-dtype=fp4_mx_block16 for the block-size-16 FP4 recipe.")
	}
	prefill, decode := s.attentionBackends()
	if prefill != decode && prefill != "fa4" {
		s.because("SGL-KV-FP4", byDefault, "prefill and decode backends differ")
		s.warn("Attention: Using KV4 with PREFILL = %s and DECODE = %s. Compatibility issues are unlikely, but may occur in rare edge cases.", prefill, decode)
		return nil
	}
	what, name, have := "MHA", "attention_backend", s.Str("attention_backend")
	allowed := []string{"triton", "torch_native", "flex_attention", "trtllm_mha"}
	if m.mla {
		what, allowed = "MLA", []string{"cutlass_mla", "flashinfer", "trtllm_mla", "flashmla"}
	}
	if m.mla && s.since(r0518) {
		allowed = allowed[:3]
	}
	if m.mla && s.since(r0523) {
		allowed = []string{"flashinfer", "trtllm_mla"}
	}
	if prefill == "fa4" {
		what, name, have = "FA4 "+what, "decode_attention_backend", decode
		allowed = allowed[:3]
	}
	if !slices.Contains(allowed, have) {
		return assertion("KV4 %s expects %s to be one of %s, but got %s", what, name, pyList(allowed), have)
	}
	return nil
}

func (s *state) pageSize() error {
	if s.Nil("page_size") {
		s.because("", byDefault, "pages of one token")
		s.Set("page_size", 1)
	}
	return nil
}

// multiItem is scoring of several items in one request.
func (s *state) multiItem() error {
	if !s.Bool("enable_mis") {
		return nil
	}
	s.because("SGL-MIS", byCoupling, "scoring several items at once excludes them", "enable_mis")
	if s.since(r0515) && s.captures(decodeGraph) || !s.since(r0515) && !s.Bool("disable_cuda_graph") {
		s.warn("CUDA graph is disabled because --enable-mis is set.")
	}
	s.noGraphs()
	if !s.since(r0515) {
		s.Set("disable_piecewise_cuda_graph", true)
	}
	if !s.Bool("disable_radix_cache") {
		s.warn("Radix cache is disabled because --enable-mis is set.")
		s.Set("disable_radix_cache", true)
	}
	if s.Int("chunked_prefill_size") != -1 {
		s.warn("Chunked prefill is disabled because --enable-mis is set.")
		s.Set("chunked_prefill_size", -1)
	}
	if prefill, decode := s.attentionBackends(); prefill != "flashinfer" || decode != "flashinfer" {
		return assertion("Multi-item scoring requires flashinfer attention backend for custom attention mask support. "+
			"Please set --attention-backend flashinfer when using --enable-mis. Current backends: prefill=%s, decode=%s", pyNone(prefill), pyNone(decode))
	}
	return nil
}

// noKVCache checks --prefill-only-disable-kv-cache.
func (s *state) noKVCache() error {
	if !s.Bool("prefill_only_disable_kv_cache") {
		return nil
	}
	const flag = "--prefill-only-disable-kv-cache "
	switch {
	case !s.Bool("is_embedding"):
		return valueError(flag + "currently requires --is-embedding. Other prefill-only workloads may be supported in a future change once their attention paths stop reading or writing the paged KV cache.")
	case s.Is("kv_cache_dtype", "fp4_e2m1", "nvfp4", "fp4_mx_block16"):
		return valueError(flag + "does not currently support --kv-cache-dtype=fp4_e2m1 because the FP4 pool uses a separate allocation path.")
	case s.Int("chunked_prefill_size") != -1:
		return valueError(flag + "requires --chunked-prefill-size=-1 so the FA backend takes the fa_skip_kv_cache path; otherwise the pool would be touched between prefill chunks.")
	case !s.Bool("disable_radix_cache"):
		return valueError(flag + "requires --disable-radix-cache because the radix cache indexes KV pool slots that no longer hold real data.")
	case s.Int("attn_cp_size") > 1:
		return valueError(flag + "is incompatible with --attn-cp-size > 1")
	case s.Bool("enable_prefill_context_parallel"):
		return valueError(flag + "is incompatible with --enable-prefill-context-parallel")
	case s.Bool("enable_hisparse"):
		return valueError(flag + "is incompatible with --enable-hisparse")
	}
	return nil
}

func (s *state) noKVBackend() error {
	if !s.Bool("prefill_only_disable_kv_cache") {
		return nil
	}
	if prefill, _ := s.attentionBackends(); prefill != "fa3" && prefill != "fa4" {
		return valueError("--prefill-only-disable-kv-cache currently requires the FA prefill backend (fa3/fa4), but got prefill backend '%s'. "+
			"Other prefill-only workloads and backends may be supported in a future change.", prefill)
	}
	return nil
}

// unequalHeads says whether keys and values differ in width
// (has_asymmetric_kv).
func unequalHeads(m *modelConfig) bool {
	head := m.text.IntOr("head_dim", m.text.IntOr("hidden_size", 0)/max(1, m.text.IntOr("num_attention_heads", 1)))
	value := m.text.IntOr("v_head_dim", head)
	swa := m.text.IntOr("swa_head_dim", head)
	return head != value || swa != m.text.IntOr("swa_v_head_dim", value)
}
