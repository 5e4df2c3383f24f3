package vllm

import (
	"fmt"
	"slices"
	"strings"
)

// modelRules applies what vLLM decides for single architectures.
func (s *state) modelRules() error {
	switch s.model.name {
	case "DeepseekV32ForCausalLM":
		return s.deepSeekV32()
	case "GlmMoeDsaForCausalLM":
		if s.r >= v0320 {
			return s.glmDSA()
		}
	case "GptOssForCausalLM":
		return s.gptOss()
	case "NemotronHForCausalLM", "NemotronHPuzzleForCausalLM":
		return s.nemotronH()
	case "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration":
		return s.qwen35()
	case "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "Qwen4ExpForCausalLM", "Qwen4ExpForConditionalGeneration", "Qwen4ExpMTP":
		if s.r >= v0320 {
			return s.qwen35()
		}
	case "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "Gemma4UnifiedForConditionalGeneration":
		s.gemma4()
	case "DiffusionGemmaForBlockDiffusion":
		return s.diffusionGemma()
	case "LongcatFlashNgramForCausalLM":
		s.longcatNgram()
	}
	return nil
}

// gemma4 runs all layers with one kernel, though heads of full attention are
// larger than those of sliding windows.
func (s *state) gemma4() {
	sizes, most := s.headSizes()
	if sizes == "" || s.r < v0191 || s.r == v0191 && most <= 256 {
		return
	}
	asked := s.Get("attention.backend")
	began := "Gemma4 model has heterogeneous head dimensions " + sizes + ". "
	switch {
	case s.r >= v0240 && most <= 512 && s.attention().hasFlashAttention(4):
		if s.Int("attention.flash_attn_version") != 0 || asked != nil && !strings.EqualFold(s.Str("attention.backend"), "FLASH_ATTN") {
			return
		}
		if s.r >= v0320 && s.gpu.major == 9 && strings.HasPrefix(s.Str("cache.cache_dtype"), "fp8") {
			s.info("%s", began+"Using per-layer FA3/FA4 selection for FP8 KV cache on SM90.")
			return
		}
		s.because("VLLM-ATTN-GEMMA4", byModel, "FlashAttention 4 takes both head sizes.")
		s.Set("attention.flash_attn_version", 4)
		s.info("%s", began+"Using FA4 for all layers to avoid mixed FA3/FA4 penalty.")
	case asked == nil:
		s.because("VLLM-ATTN-GEMMA4", byModel, "Heads of full attention are too large for FlashAttention on this GPU.")
		s.Set("attention.backend", "TRITON_ATTN")
		if s.r == v0191 {
			s.info("%s", began+"Forcing TRITON_ATTN backend to prevent mixed-backend numerical divergence.")
		} else {
			s.info("%s", began+"FA4 not available, forcing TRITON_ATTN backend.")
		}
	}
}

// headSizes are the head sizes of Gemma 4 as the release prints them, and the
// largest; empty when all layers have the same one.
func (s *state) headSizes() (text string, most int) {
	m := s.model.text
	sliding, full := m.IntOr("head_dim", 256), m.IntOr("global_head_dim", 512)
	if sliding == full {
		return "", 0
	}
	if s.r < v0320 {
		return fmt.Sprintf("(head_dim=%d, global_head_dim=%d)", sliding, full), max(sliding, full)
	}
	var parts []string
	for _, kind := range s.model.layerTypes {
		size := sliding
		if kind == "full_attention" {
			size = full
		}
		if part := fmt.Sprintf("'%s': %d", kind, size); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) < 2 {
		return "", 0
	}
	return "{" + strings.Join(parts, ", ") + "}", max(sliding, full)
}

// diffusionGemma works on blocks of tokens, whose sampling takes much memory.
func (s *state) diffusionGemma() error {
	s.gemma4()
	backend := s.Str("attention.backend")
	switch {
	case backend == "FLASHINFER":
		return invalid("VllmConfig", "FlashInfer does not support DiffusionGemma's mixed causal/bidirectional attention. Use --attention-backend FLASH_ATTN or TRITON_ATTN instead.")
	case backend == "" && s.r < v0320:
		s.info("DiffusionGemma uses mixed causal/bidirectional attention within a batch; setting use_non_causal=True to exclude FlashInfer from auto-selection.")
	case backend == "":
		s.info("DiffusionGemma mixes causal and bidirectional attention in one batch; setting use_non_causal=True so the default backend order prefers FlashAttention over FlashInfer.")
	}
	if s.Int("scheduler.max_num_seqs") >= 128 {
		s.because("VLLM-SCHED-DIFFUSION", byModel, "Sampling of whole blocks takes memory for each request.")
		s.Set("scheduler.max_num_seqs", 8)
	}
	if o, _ := s.args.Get("override_generation_config").(map[string]any); o["max_new_tokens"] == nil {
		s.info("DiffusionGemma: removing server-wide max_new_tokens cap from generation_config.json (use --override-generation-config to set a custom limit).")
	}
	return nil
}

// longcatNgram runs without the compiler, whose tracing its experts break.
func (s *state) longcatNgram() {
	s.because("VLLM-COMPILE-LONGCAT", byModel, "Experts without weights depend on data; embeddings of n-grams need full graphs.")
	if s.Nil("compilation.mode") {
		s.Set("compilation.mode", "NONE")
	}
	if s.Nil("compilation.cudagraph_mode") {
		s.Set("compilation.cudagraph_mode", "FULL")
	}
}

// deepSeekV32 reads FP8 as DeepSeek's packed format in old releases, and
// bfloat16 as the model's own dtype.
func (s *state) deepSeekV32() error {
	kv := s.Str("cache.cache_dtype")
	switch {
	case len(kv) >= 3 && kv[:3] == "fp8" && s.r <= v0160:
		s.because("VLLM-KV-DTYPE-DSV32", byModel, "FP8 on a sparse MLA model means the packed 656-byte record, not plain FP8.")
		s.Set("cache.cache_dtype", "fp8_ds_mla")
		s.info("Using custom fp8 kv-cache format for DeepSeekV3.2")
	case kv == "bfloat16":
		s.because("", byModel, "The model's own dtype is bfloat16.")
		s.Set("cache.cache_dtype", "auto")
		s.info("Using bfloat16 kv-cache for DeepSeekV3.2")
	}
	return nil
}

// glmDSA takes an FP8 KV cache on compute capability 10.x.
func (s *state) glmDSA() error {
	if s.Is("cache.cache_dtype", "auto") && s.gpu.major == 10 {
		s.because("VLLM-KV-DTYPE-DSA", byModel, "This architecture takes an FP8 KV cache on compute capability 10.x when no dtype was asked for.")
		s.Set("cache.cache_dtype", "fp8_e4m3")
		s.info("Using fp8 kv-cache for GlmMoeDsaForCausalLM on SM10x")
	}
	return nil
}

// gptOss captures larger CUDA graphs.
func (s *state) gptOss() error {
	if s.Nil("compilation.cudagraph_capture_sizes") && s.Nil("compilation.max_cudagraph_capture_size") {
		s.because("VLLM-GRAPH-SIZE", byModel, "gpt-oss gains from larger graphs.")
		s.Set("compilation.max_cudagraph_capture_size", 1024)
		s.info("Overriding max cuda graph capture size to %d for performance.", 1024)
	}
	return nil
}

// nemotronH keeps its recurrent state in float32 unless config.json says
// otherwise.
func (s *state) nemotronH() error {
	if s.r < v0191 || !s.Is("cache.mamba_ssm_cache_dtype", "auto") {
		return nil
	}
	dtype := s.model.config.Text("mamba_ssm_cache_dtype")
	if dtype == "" {
		dtype = "float32"
	}
	s.because("VLLM-MAMBA-SSM", byModel, "Only float32 is known to keep the accuracy of this model.")
	s.Set("cache.mamba_ssm_cache_dtype", dtype)
	s.info("Updating mamba_ssm_cache_dtype to '%s' for NemotronH model", dtype)
	return nil
}

// qwen35 keeps its recurrent state in the dtype that config.json names.
func (s *state) qwen35() error {
	dtype := s.model.text.Text("mamba_ssm_dtype")
	if s.r < v0191 || dtype == "" {
		return nil
	}
	asked := s.Str("cache.mamba_ssm_cache_dtype")
	switch {
	case asked == "auto":
		s.because("VLLM-MAMBA-SSM", byModel, "mamba_ssm_dtype of config.json.")
		s.Set("cache.mamba_ssm_cache_dtype", dtype)
	case asked != dtype:
		s.warn("Qwen3.5 model specifies mamba_ssm_dtype='%s' in its config, but --mamba-ssm-cache-dtype='%s' was passed. Using the user-specified value.", dtype, asked)
	}
	return nil
}

// pureRecurrent are the architectures without attention whose state cache is
// set up like that of hybrid models.
var pureRecurrent = names("MambaForCausalLM Mamba2ForCausalLM FalconMambaForCausalLM")

// recurrentState decides how the states of recurrent layers are cached.
func (s *state) recurrentState() error {
	m := s.model
	if !s.Bool("model.is_hybrid") && !slices.Contains(pureRecurrent, m.name) {
		return nil
	}
	if s.Bool("cache.calculate_kv_scales") && s.r >= v0191 && s.Bool("model.is_hybrid") {
		s.because("", byModel, "Recurrent state makes scales measured at start-up useless.")
		s.Set("cache.calculate_kv_scales", false)
		s.warn("Disabling calculate_kv_scales for hybrid model '%s'. Hybrid models with recurrent layers (GDN, Mamba, SSM) produce unreliable KV cache scales during the calibration pass because recurrent state is uninitialized. Using default scale of 1.0 instead.", m.files.Path)
	}
	if s.r == v0112 {
		return s.recurrentState0112()
	}
	if !s.Bool("cache.enable_prefix_caching") {
		if s.Known("cache.mamba_cache_mode") && !s.Is("cache.mamba_cache_mode", "none") {
			s.because("", byCoupling, "States are kept for prefix caching only.", "cache.enable_prefix_caching")
			s.Set("cache.mamba_cache_mode", "none")
			s.warn("Mamba cache mode is set to 'none' when prefix caching is disabled")
		}
		if s.Nil("cache.mamba_block_size") {
			s.because("", byModel, "One state for each sequence.")
			s.Set("cache.mamba_block_size", s.Int("model.max_model_len"))
		}
		return nil
	}
	if s.Is("cache.mamba_cache_mode", "none") {
		mode := "align"
		if m.class.prefixStates && s.r < v0320 {
			mode = "all"
		}
		s.because("", byModel, fmt.Sprintf("%s and prefix caching.", m.name), "cache.enable_prefix_caching")
		s.Set("cache.mamba_cache_mode", mode)
		level := byte('W')
		if s.r >= v0320 {
			level = 'I'
		}
		s.line(level, "Mamba cache mode is set to '%s' for %s by default when prefix caching is enabled", []any{mode, m.name})
	}
	if s.Is("cache.mamba_cache_mode", "all") && !m.class.prefixStates && s.r < v0320 {
		s.because("", byModel, m.name+" cannot keep all states.")
		s.Set("cache.mamba_cache_mode", "align")
		s.warn("Hybrid or mamba-based model detected without support for prefix caching with Mamba cache 'all' mode: falling back to 'align' mode.")
	}
	if s.Is("cache.mamba_cache_mode", "align") && !s.Bool("scheduler.enable_chunked_prefill") {
		return failed("VllmConfig", "Chunked prefill is required for mamba cache mode 'align'.")
	}
	if s.r < v0320 {
		s.info("Warning: Prefix caching in Mamba cache '%s' mode is currently enabled. Its support for Mamba layers is experimental. Please report any issues you may observe.", s.Str("cache.mamba_cache_mode"))
	}
	if s.Nil("cache.mamba_block_size") {
		s.because("", byCoupling, "States are kept at the ends of blocks.", "cache.block_size")
		s.Set("cache.mamba_block_size", s.Get("cache.block_size"))
	}
	return nil
}

// hybridBlocks makes blocks of attention large enough for a recurrent state,
// before the backend is chosen.
func (s *state) hybridBlocks() error {
	if !s.Bool("model.is_hybrid") {
		return nil
	}
	in := s.attention()
	h := hybridPages{alignment: 16, tokenBytes: in.tokenBytes(s.Str("cache.cache_dtype")), stateBytes: s.stateBytes(), mode: s.Str("cache.mamba_cache_mode"), chunk: s.recurrentChunk()}
	backend := s.Str("attention.backend")
	if s.r == v0112 {
		backend, _ = s.Env("VLLM_ATTENTION_BACKEND")
		if s.Bool("cache.enable_prefix_caching") {
			h.mode = "all"
		}
	}
	switch {
	case in.mla && backend == "CUTLASS_MLA":
		h.alignment = 128
	case in.mla:
		h.alignment = 64
	case s.r < v0191 && s.gpu.major == 10 && (s.r == v0160 || s.gpu.minor == 0) && s.model.headSize == 256 && (backend == "" || backend == "FLASHINFER"):
		h.alignment = 32 // FlashInfer's kernel on Blackwell
	}
	p, lines := h.align(pages{block: s.Int("cache.block_size"), mambaBlock: s.Get("cache.mamba_block_size"), mambaPadded: s.Get("cache.mamba_page_size_padded")})
	for _, l := range lines {
		s.because("", byModel, "A page of attention must hold a recurrent state.")
		if strings.HasPrefix(l.Text, "Padding") {
			s.because("VLLM-BLOCK-PAD", byCoupling, "States and attention share one pool of pages.", "cache.block_size")
			s.Set("cache.mamba_page_size_padded", p.mambaPadded)
		} else {
			s.Set("cache.block_size", p.block)
		}
		s.Print(l.Level, l.Text)
	}
	s.because("", byCoupling, "States are kept at the ends of blocks.", "cache.block_size")
	s.Set("cache.mamba_block_size", p.mambaBlock)
	return nil
}

// recurrentState0112 is recurrentState of releases without cache modes.
func (s *state) recurrentState0112() error {
	if s.Nil("cache.mamba_block_size") {
		s.because("", byModel, "One state for each sequence.")
		s.Set("cache.mamba_block_size", s.Int("model.max_model_len"))
	}
	if s.Bool("cache.enable_prefix_caching") {
		if s.model.class.prefixStates {
			s.info("Warning: Prefix caching is currently enabled. Its support for Mamba layers is experimental. Please report any issues you may observe.")
		} else {
			s.because("VLLM-PREFIX-HYBRID", byModel, s.model.name+" cannot keep states for prefix caching.")
			s.Set("cache.enable_prefix_caching", false)
			s.info("Hybrid or mamba-based model detected without support for prefix caching: disabling.")
		}
	}
	s.because("VLLM-GRAPH-CASCADE", byModel, "Cascade attention does not work with recurrent layers.")
	s.Set("model.disable_cascade_attn", true)
	s.info("Disabling cascade attention since it is not supported for hybrid models.")
	return nil
}
