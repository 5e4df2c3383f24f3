package vllm

import (
	"slices"
	"strings"
)

// connectorsWithHMA are the KV connectors that work with the hybrid KV cache
// manager: the classes of vllm/distributed/kv_transfer that subclass
// SupportsHMA.
var connectorsWithHMA = map[release][]string{
	v0240: names(`MultiConnector ExampleHiddenStatesConnector MooncakeConnector MooncakeStoreConnector SimpleCPUOffloadConnector
		OffloadingConnector DecodeBenchConnector NixlConnector NixlPullConnector NixlPushConnector`),
	v0320: names(`MultiConnector ExampleHiddenStatesConnector MooncakeConnector MooncakeStoreConnector SimpleCPUOffloadConnector
		OffloadingConnector DecodeBenchConnector NixlConnector NixlPullConnector NixlPushConnector MoRIIOConnector HiSparseConnector`),
}

// registeredConnectors are the KV connectors by name
// (vllm/distributed/kv_transfer/kv_connector/factory.py).
var registeredConnectors = map[release][]string{
	v0191: names(`ExampleConnector ExampleHiddenStatesConnector P2pNcclConnector LMCacheConnectorV1 LMCacheMPConnector NixlConnector MultiConnector
		MoRIIOConnector OffloadingConnector DecodeBenchConnector MooncakeConnector FlexKVConnectorV1 SimpleCPUOffloadConnector`),
	v0240: names(`ExampleConnector ExampleHiddenStatesConnector LMCacheConnectorV1 LMCacheMPConnector NixlConnector NixlPullConnector NixlPushConnector
		MultiConnector MoRIIOConnector OffloadingConnector DecodeBenchConnector MooncakeConnector MooncakeStoreConnector FlexKVConnectorV1
		SimpleCPUOffloadConnector HF3FSKVConnector`),
	v0320: names(`ExampleConnector ExampleHiddenStatesConnector LMCacheConnectorV1 LMCacheMPConnector NixlConnector NixlPullConnector NixlPushConnector
		MultiConnector HiSparseConnector MoRIIOConnector OffloadingConnector DecodeBenchConnector MooncakeConnector MooncakeStoreConnector
		FlexKVConnectorV1 SimpleCPUOffloadConnector HF3FSKVConnector`),
}

// connector is one KV connector of --kv-transfer-config.
type connector struct {
	name  string
	extra map[string]any // kv_connector_extra_config
}

// connectors are the connector of --kv-transfer-config, and those in it when
// it is a MultiConnector. Nothing is a launch without one.
func (s *state) connectors() []connector {
	c, ok := s.args.Get("kv_transfer_config").(map[string]any)
	if !ok {
		return nil
	}
	return connectorsIn(c)
}

func connectorsIn(c map[string]any) []connector {
	one := connector{}
	one.name, _ = c["kv_connector"].(string)
	one.extra, _ = c["kv_connector_extra_config"].(map[string]any)
	out := []connector{one}
	if one.name != "MultiConnector" {
		return out
	}
	inner, _ := one.extra["connectors"].([]any)
	for _, v := range inner {
		if child, ok := v.(map[string]any); ok {
			out = append(out, connectorsIn(child)...)
		}
	}
	return out
}

// layerwise says whether a connector moves the cache layer by layer, which
// full CUDA graphs cannot hold (requires_piecewise_for_cudagraph).
func (c connector) layerwise() bool {
	on, _ := c.extra["use_layerwise"].(bool)
	return on && strings.HasPrefix(c.name, "LMCacheConnector")
}

// connectorGraphs cuts CUDA graphs for connectors that move the cache layer by
// layer.
func (s *state) connectorGraphs() error {
	all := s.connectors()
	mode := s.Str("compilation.cudagraph_mode")
	// From 0.24 on the hybrid KV cache manager asks for the class as well.
	if len(all) == 0 || s.r < v0191 || !hasFull(mode) && s.r < v0240 {
		return nil
	}
	c, _ := s.args.Get("kv_transfer_config").(map[string]any)
	if c["kv_connector_module_path"] == nil && !slices.Contains(registeredConnectors[s.r], all[0].name) {
		return invalid("VllmConfig", "Unsupported connector type: %s", all[0].name)
	}
	if !hasFull(mode) {
		return nil
	}
	s.loadNIXL(all)
	if !slices.ContainsFunc(all, connector.layerwise) {
		return nil
	}
	s.because("", byCoupling, "The KV connector works between layers.", "kv_transfer.kv_connector")
	s.Set("compilation.cudagraph_mode", "PIECEWISE")
	s.warn("KV connector %s requires PIECEWISE CUDA graph mode due to layerwise async operations that cannot be captured in CUDA graphs. Overriding cudagraph_mode from %s to PIECEWISE.", all[0].name, mode)
	return nil
}

// loadNIXL tells what importing NIXL's connector does.
func (s *state) loadNIXL(all []connector) {
	if !slices.ContainsFunc(all, func(c connector) bool { return strings.HasPrefix(c.name, "Nixl") }) {
		return
	}
	const variable = "UCX_RCACHE_MAX_UNRELEASED"
	if _, set := s.Env(variable); !set {
		s.because("VLLM-UCX", byCoupling, "NIXL's transport leaks memory without it.", "kv_transfer.kv_connector")
		s.SetEnv(variable, "1024")
		s.info("Setting UCX_RCACHE_MAX_UNRELEASED to '1024' to avoid a rare memory leak in UCX when using NIXL.")
	}
	s.info("NIXL is available")
}

// connectorForbidsHMA is what the engine says when a KV connector turns the
// hybrid KV cache manager off; empty when none does.
func (s *state) connectorForbidsHMA() string {
	all := s.connectors()
	if len(all) == 0 {
		return ""
	}
	const developers = "This will reduce the performance of vLLM on LLMs with sliding window attention or Mamba attention. If you are a developer of kv connector, please consider supporting hybrid kv cache manager for your connector by making sure your connector is a subclass of `SupportsHMA` defined in kv_connector/v1/base.py"
	able := connectorsWithHMA[s.r]
	if able != nil && !slices.ContainsFunc(all, func(c connector) bool { return !slices.Contains(able, c.name) }) {
		return ""
	}
	const off = "Turning off hybrid kv cache manager because `--kv-transfer-config` "
	switch {
	case able != nil:
		return off + "selects a KV connector that does not support it. Impact: hybrid SSM models (e.g. Jamba, Bamba) require HMA and will fail at startup without it; models with sliding window attention will run with reduced performance. To add HMA support to a KV connector, subclass `SupportsHMA` defined in kv_connector/v1/base.py (for MultiConnector, all child connectors must support HMA)."
	case s.r == v0112:
		return off + "is set. " + developers + "."
	}
	return off + "is set. " + developers + " and use --no-disable-hybrid-kv-cache-manager to start vLLM."
}
