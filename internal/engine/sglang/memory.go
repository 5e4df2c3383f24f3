package sglang

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

const (
	srcPool         = "sglang/srt/mem_cache/memory_pool.py"
	srcConfigurator = srcRunner + ", mem_cache/kv_cache_configurator.py"
)

// memoryLines are lines about the KV cache and the memory pools. Sizes are
// printed in GB of 2^30 bytes and per GPU.
var memoryLines = []engine.Line{
	{
		// K and V are printed apart unless the cache is an MLA one; a fact takes
		// one number, so only the latter gives a size.
		ID: "SGL-KV-ALLOCATED", Kind: engine.Mile, Anchor: "KV Cache is allocated.",
		Patterns: []string{
			"KV Cache is allocated. dtype: torch.<dtype>, #tokens: <tokens>, KV size: <size> GB",
			"KV Cache is allocated. dtype: torch.<dtype>, #tokens: <tokens>, K size: <k> GB, V size: <v> GB",
			"KV Cache is allocated. #tokens: <tokens>, KV size: <size> GB",
			"KV Cache is allocated. #tokens: <tokens>, K size: <k> GB, V size: <v> GB",
			"KV Cache is allocated. K size: <k> GB, V size: <v> GB",
		},
		Phase: fact.KVAlloc, Name: kvAllocated,
		Facts:  map[fact.Key]string{fact.KVTokens: "<tokens>", fact.KVDType: "<dtype>", fact.KVGB: "<size>"},
		Source: srcPool,
	},
	{
		// The address range only: the size follows after the capture.
		ID: "SGL-KV-RESERVED", Kind: engine.Mile, Anchor: " VA upper bound. dtype: ",
		Patterns: []string{" VA upper bound. dtype: torch.<dtype>, #tokens: "},
		Phase:    fact.KVAlloc, Name: kvAllocated,
		Facts: map[fact.Key]string{fact.KVDType: "<dtype>"},
		Since: "0.5.18", Source: srcPool,
	},
	{
		ID: "SGL-KV-SIZED", Kind: engine.Info, Anchor: "Post-capture KV sizing: KV cache allocated.",
		Patterns: []string{
			"Post-capture KV sizing: KV cache allocated. dtype: torch.<dtype>, #tokens: <tokens>, KV size: <size> GB, avail mem=<avail> GB",
		},
		Facts: map[fact.Key]string{
			fact.KVTokens: "<tokens>", fact.KVDType: "<dtype>", fact.KVGB: "<size>", fact.AvailGB: "<avail>",
		},
		Since: "0.5.18", Source: "sglang/srt/model_executor/model_runner_components/kv_pool_runtime.py",
	},
	{
		ID: "SGL-KV-BUDGET", Kind: engine.Info, Anchor: "The available memory for KV cache is ",
		Patterns: []string{"The available memory for KV cache is <size> GB"},
		Facts:    map[fact.Key]string{fact.KVGB: "<size>"},
		Source:   srcRunner + " of 0.5.4 to 0.5.8",
	},
	{
		ID: "SGL-KV-DTYPE", Kind: engine.Info, Anchor: "Using KV cache dtype: ",
		Patterns: []string{"Using KV cache dtype: torch.<dtype>"},
		Facts:    map[fact.Key]string{fact.KVDType: "<dtype>"},
		Since:    "0.5.9", Source: srcRunner,
	},
	{
		ID: "SGL-POOL-END", Kind: engine.Mile, Anchor: "Memory pool end. avail mem=",
		Patterns: []string{"Memory pool end. avail mem=<avail> GB"},
		Phase:    fact.KVAlloc, Name: poolReady,
		Facts:  map[fact.Key]string{fact.AvailGB: "<avail>"},
		Source: srcConfigurator,
	},
	{
		ID: "SGL-KV-LIMIT-001", Kind: engine.Choice, Anchor: " is larger than the profiled value ",
		Patterns: []string{"max_total_tokens=<asked> is larger than the profiled value <profiled>. Use the profiled value instead"},
		Sets:     sets("max_total_tokens", "<profiled>", byHardware),
		Why:      "More KV tokens were asked for than fit beside the weights, so the number that fits is used; a negative number means that the weights alone do not fit.",
		Source:   srcConfigurator,
	},
	{
		ID: "SGL-RUNNING-KV-001", Kind: engine.Choice, Anchor: "max_running_requests was reduced from the requested ",
		Patterns: []string{"max_running_requests was reduced from the requested <asked> to <running> ("},
		Facts:    map[fact.Key]string{fact.MaxRunning: "<running>"},
		Sets:     sets("max_running_requests", "<running>", byHardware),
		Why:      "The KV cache has no room for the asked number of concurrent requests.",
		Since:    "0.5.15", Source: srcConfigurator,
	},
	{
		ID: "SGL-RUNNING-KV-002", Kind: engine.Choice, Anchor: "Post-capture KV sizing: max_running_requests ",
		Patterns: []string{"Post-capture KV sizing: max_running_requests <asked> -> <running>"},
		Facts:    map[fact.Key]string{fact.MaxRunning: "<running>"},
		Sets:     sets("max_running_requests", "<running>", byHardware),
		Why:      "The KV cache that was left after the capture has no room for the asked number of concurrent requests.",
		Since:    "0.5.18", Source: "sglang/srt/model_executor/model_runner_components/kv_pool_runtime.py",
	},
	{
		ID: "SGL-RUNNING-MAMBA-001", Kind: engine.Choice, Anchor: "max_running_requests is capped to ",
		Patterns: []string{"max_running_requests is capped to <running> by the mamba state cache"},
		Facts:    map[fact.Key]string{fact.MaxRunning: "<running>"},
		Sets:     sets("max_running_requests", "<running>", byCoupling, "max_mamba_cache_size"),
		Why:      "Every request of a Mamba hybrid needs state slots, and the state cache has only so many.",
		Since:    "0.5.18", Source: srcConfigurator,
	},
	{
		ID: "SGL-MEM-MULTIMODAL-001", Kind: engine.Choice, Anchor: "Automatically reduce --mem-fraction-static to ",
		Patterns: []string{"Automatically reduce --mem-fraction-static to <fraction> because this is a multimodal model"},
		Sets:     sets("mem_fraction_static", "<fraction>", byModel),
		Why:      "A multimodal model needs memory for its encoder beside the static pools.",
		Source:   srcRunner + " of 0.4",
	},
}
