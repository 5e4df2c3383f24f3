package sglang

import (
	"slices"
	"strings"
)

func (s *state) disaggregation() error {
	if s.Is("disaggregation_transfer_backend", "mooncake_tcp") {
		s.because("SGL-COMM-TRANSPORT-001", byDefault, "mooncake_tcp is Mooncake over TCP")
		s.Set("disaggregation_transfer_backend", "mooncake")
		s.Set("disaggregation_ib_device", nil)
		s.SetEnv("MC_FORCE_TCP", "1")
		s.info("disaggregation transfer backend 'mooncake_tcp' -> mooncake with MC_FORCE_TCP=1 (TCP transport, no RDMA)")
	}
	switch s.Str("disaggregation_mode") {
	case "decode":
		if s.since(r0515) {
			defer s.decodeSlots()
		}
		if s.Bool("disaggregation_decode_enable_radix_cache") {
			return s.decodeRadix()
		}
		if !s.Nil("disaggregation_decode_tp") {
			return assertion("Cannot set --disaggregation-decode-tp for the decode engine.")
		}
		if !s.Nil("disaggregation_decode_dp") {
			return assertion("Cannot set --disaggregation-decode-dp for the decode engine.")
		}
		s.because("SGL-RADIX-PD-002", byCoupling, "a decode server receives its KV cache and keeps no prefixes", "disaggregation_mode")
		s.Set("disable_radix_cache", true)
		if s.since(r0523) {
			s.warn("Radix cache is disabled for decode server")
			return nil
		}
		s.warn("KV cache is forced as chunk cache for decode server")
		if !s.since(r0508) && s.Int("dp_size") > 1 && !s.Bool("prefill_round_robin_balance") {
			return assertion("Prefill round robin balance is required when dp size > 1. Please make sure that the prefill instance is launched with `--load-balance-method round_robin`" +
				" and `--prefill-round-robin-balance` is set for decode server.")
		}
		if s.since(r0512) && s.Is("mamba_scheduler_strategy", "extra_buffer") {
			s.because("SGL-PD-MAMBA", byCoupling, "without prefixes there is nothing to buffer", "disaggregation_mode")
			s.warn("Mamba extra_buffer is disabled because decode disaggregation currently forces chunk cache. Falling back to no_buffer.")
			s.Set("mamba_scheduler_strategy", "no_buffer")
		}
	case "prefill":
		return s.prefillServer()
	}
	return nil
}

// decodeSlots reserves room for requests that are being received.
func (s *state) decodeSlots() {
	if !s.Nil("disaggregation_decode_extra_slots") {
		return
	}
	slots := 0
	if !s.Nil("max_running_requests") {
		if n := floorDiv(s.Int("max_running_requests"), max(1, s.Int(s.attnDP()))); n <= 32 {
			if s.since(r0523) {
				n = max(1, n)
			}
			slots = 2 * n
		}
	}
	s.because("SGL-PD-SLOTS", byCoupling, "small batches receive twice their size ahead", "max_running_requests", "dp_size")
	s.Set("disaggregation_decode_extra_slots", slots)
}

// decodeRadix keeps the prefix cache of a decode server.
func (s *state) decodeRadix() error {
	const flag = "--disaggregation-decode-enable-radix-cache "
	switch {
	case s.Bool("enable_hisparse"):
		return valueError(flag + "is incompatible with --enable-hisparse")
	case s.since(r0515) && s.Is("disaggregation_transfer_backend", "fake"):
		return valueError(flag + "is incompatible with --disaggregation-transfer-backend fake")
	case !s.since(r0515) && !s.Is("disaggregation_transfer_backend", "nixl", "mooncake"):
		return valueError(flag+"currently requires --disaggregation-transfer-backend in ('nixl', 'mooncake'), but got '%s'", s.Str("disaggregation_transfer_backend"))
	case !s.Nil("speculative_algorithm") && !s.since(r0523):
		return valueError(flag+"is incompatible with speculative decoding (--speculative-algorithm %s)", s.Str("speculative_algorithm"))
	}
	s.because("SGL-RADIX-PD-003", byCoupling, "the decode server keeps prefixes", "disaggregation_decode_enable_radix_cache")
	if s.dpAttention() {
		s.warn("EXPERIMENTAL: Decode radix cache with DP attention. Requires prefix-aware DP rank routing for optimal cache hits.")
	}
	s.Set("disable_radix_cache", false)
	s.warn("EXPERIMENTAL: Radix cache is enabled for decode server")
	return nil
}

func (s *state) prefillServer() error {
	if s.since(r0510) {
		if s.Is("disaggregation_transfer_backend", "fake") {
			return assertion("Prefill server does not support 'fake' as the transfer backend")
		}
		switch {
		case s.since(r0518):
			if s.Int("dcp_size") > 1 {
				s.because("SGL-DCP-PD", byCoupling, "decode context parallel on a prefill server", "dcp_size")
				s.warn("DCP on a PD prefill server is supported when prefill and decode use the same DCP layout, " +
					"but it usually adds communication overhead without improving prefill performance.")
			}
		case s.since(r0515):
			s.because("SGL-GRAPH-PD-001", byCoupling, "a prefill server decodes nothing", "disaggregation_mode")
			s.Set("disable_cuda_graph", true)
		case s.Bool("disable_piecewise_cuda_graph"):
			s.prefillGraphsOff()
		}
		return nil
	}
	s.because("SGL-PD-DECODE", byCoupling, "the decode server is taken to be as large as this one", "tp_size", "dp_size")
	if s.Nil("disaggregation_decode_tp") {
		s.Set("disaggregation_decode_tp", s.Get("tp_size"))
	}
	if s.Nil("disaggregation_decode_dp") {
		s.Set("disaggregation_decode_dp", s.Get("dp_size"))
	}
	s.Set("disaggregation_prefill_pp", s.Get("pp_size"))
	a, b := s.Int("tp_size"), s.Int("disaggregation_decode_tp")
	if large, small := max(a, b), min(a, b); small == 0 || large%small != 0 {
		return assertion("Different tp size is supported only when one tp is multiple of the other. decode_tp=%d, prefill_tp=%d", b, a)
	}
	if !s.since(r0506) {
		s.because("SGL-GRAPH-PD-001", byCoupling, "a prefill server decodes nothing", "disaggregation_mode")
		s.Set("disable_cuda_graph", true)
		s.warn("Cuda graph is disabled for prefill server")
	} else if !s.Bool("enable_piecewise_cuda_graph") {
		s.prefillGraphsOff()
	}
	return nil
}

func (s *state) prefillGraphsOff() {
	s.because("SGL-GRAPH-PD-001", byCoupling, "a prefill server decodes nothing", "disaggregation_mode")
	s.Set("disable_cuda_graph", true)
	s.warn("Cuda graph is disabled for prefill server when piecewise cuda graph is not enabled.")
}

// encoderArchs can run with their encoder apart, from 0.5.10 on.
var encoderArchs = map[string]bool{
	"Qwen2VLForConditionalGeneration": true, "Qwen3VLForConditionalGeneration": true,
	"Qwen2_5_VLForConditionalGeneration": true, "Qwen3VLMoeForConditionalGeneration": true,
	"Qwen3OmniMoeForConditionalGeneration": true, "Qwen2AudioForConditionalGeneration": true,
	"Qwen2_5OmniForConditionalGeneration": true,
}

func (s *state) encoderDisaggregation() error {
	urls, _ := s.Get("encoder_urls").([]any)
	switch {
	case s.Bool("enable_prefix_mm_cache") && !s.Bool("encoder_only"):
		return valueError("--enable-prefix-mm-cache requires --encoder-only to be enabled")
	case s.Bool("encoder_only") && s.Bool("language_only"):
		return valueError("Cannot set --encoder-only and --language-only together")
	case s.Bool("encoder_only") && !s.Is("disaggregation_mode", "null"):
		return valueError("Cannot set --encoder-only and --disaggregation-mode prefill/decode together")
	case s.Bool("language_only") && len(urls) == 0 && s.since(r0515):
		s.because("SGL-ENCODER", byDefault, "encoders come by themselves")
		s.info("--language-only is set without --encoder-urls. Encoders are expected to register dynamically via the EncoderBootstrapServer.")
	case s.Bool("language_only") && len(urls) == 0:
		return valueError("requires at least one encoder urls to be set via --encoder-urls")
	}
	if s.since(r0510) && (s.Bool("encoder_only") || s.Bool("language_only")) || s.since(r0518) {
		m, err := s.modelConfig()
		if err != nil {
			return err
		}
		if s.Is("encoder_transfer_backend", "auto") {
			s.encoderTransfer(m)
		}
		more := s.since(r0512) && slices.Contains(strings.Fields(`Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration
			InternS2PreviewForConditionalGeneration KimiVLForConditionalGeneration KimiK25ForConditionalGeneration`), m.arch)
		if (s.Bool("encoder_only") || s.Bool("language_only")) && !encoderArchs[m.arch] && !more {
			return valueError("Model type %s is not supported for encoder disaggregation, only Qwen models are supported for now.", m.arch)
		}
	}
	mooncake := s.Is("disaggregation_transfer_backend", "mooncake") && !s.Is("disaggregation_mode", "null")
	if (mooncake || s.Is("encoder_transfer_backend", "mooncake")) && s.since(r0509) && s.Nil("disaggregation_ib_device") {
		s.because("SGL-COMM-IB-001", byDefault, "Mooncake looks for InfiniBand devices itself")
		s.warn("No IB devices specified for Mooncake backend, falling back to auto discovery.")
	}
	return nil
}

// encoderTransfer says how pictures' features reach the language model's
// server.
func (s *state) encoderTransfer(m *modelConfig) {
	backend := "zmq_to_scheduler"
	if m.arch == "KimiK3ForConditionalGeneration" && s.Int("tp_size") > 1 {
		backend = "zmq_to_tokenizer"
	}
	s.because("SGL-ENCODER-TRANSFER", byModel, "the way of this architecture", "tp_size")
	s.Set("encoder_transfer_backend", backend)
	if s.Bool("encoder_only") || s.Bool("language_only") {
		s.info("Encoder transfer backend auto-resolved to %s for %s at TP%d.", backend, m.arch, s.Int("tp_size"))
	}
}
