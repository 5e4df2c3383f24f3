package llamacpp

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// deviceLines name the devices and their memory.
var deviceLines = []engine.Line{
	{
		ID: "LCP-CUDA", Kind: engine.Info, Anchor: " CUDA devices",
		Patterns: []string{"found <count> CUDA devices"},
		Facts:    map[fact.Key]string{fact.GPUCount: "<count>", fact.Device: "cuda"},
		Source:   srcCUDA,
	},
	{
		ID: "LCP-ROCM", Kind: engine.Info, Anchor: " ROCm devices",
		Patterns: []string{"found <count> ROCm devices"},
		Facts:    map[fact.Key]string{fact.GPUCount: "<count>", fact.Device: "rocm"},
		Source:   srcCUDA,
	},
	{
		ID: "LCP-MUSA", Kind: engine.Info, Anchor: " MUSA devices",
		Patterns: []string{"found <count> MUSA devices"},
		Facts:    map[fact.Key]string{fact.GPUCount: "<count>", fact.Device: "musa"},
		Source:   srcCUDA,
	},
	{
		ID: "LCP-VULKAN", Kind: engine.Info, Anchor: " Vulkan devices",
		Patterns: []string{"Found <count> Vulkan devices"},
		Facts:    map[fact.Key]string{fact.GPUCount: "<count>", fact.Device: "vulkan"},
		Source:   "ggml/src/ggml-vulkan/ggml-vulkan.cpp",
	},
	{
		ID: "LCP-SYCL", Kind: engine.Info, Anchor: " SYCL devices",
		Patterns: []string{"ound <count> SYCL devices"},
		Facts:    map[fact.Key]string{fact.GPUCount: "<count>", fact.Device: "xpu"},
		Source:   "ggml/src/ggml-sycl/ggml-sycl.cpp",
	},
	{
		ID: "LCP-GPU-CUDA", Kind: engine.Info, Anchor: ", compute capability ",
		Patterns: []string{"Device <_>: <name>, compute capability <cc>, VMM"},
		Facts:    map[fact.Key]string{fact.GPUName: "<name>", fact.GPUSM: "<cc>"},
		Source:   srcCUDA,
	},
	{
		ID: "LCP-GPU-ROCM", Kind: engine.Info, Anchor: ", Wave Size:",
		Patterns: []string{"Device <_>: <name>, <gfx> (<_>), VMM"},
		Facts:    map[fact.Key]string{fact.GPUName: "<name>", fact.GPUSM: "<gfx>"},
		Source:   srcCUDA,
	},
	{
		ID: "LCP-GPU-VULKAN", Kind: engine.Info, Anchor: " | uma: ",
		Patterns: []string{
			"ggml_vulkan: <index> = <name> (<driver>) | uma: ",
			"Vulkan<index>: <name> (<driver>) | uma: ",
		},
		Facts:  map[fact.Key]string{fact.GPUName: "<name>"},
		Source: "ggml/src/ggml-vulkan/ggml-vulkan.cpp",
	},
	{
		ID: "LCP-GPU-METAL", Kind: engine.Info, Anchor: "ggml_metal_init: found device: ",
		Patterns: []string{"found device: <name>"},
		Facts:    map[fact.Key]string{fact.GPUName: "<name>", fact.Device: "metal"},
		Source:   "ggml/src/ggml-metal",
	},
	{
		ID: "LCP-GPU-METAL-DEVICE", Kind: engine.Info, Anchor: "ggml_metal_device_init: GPU name:",
		Patterns: []string{"GPU name:<_>MTL<index> (<name>)", "GPU name: <name>"},
		Facts:    map[fact.Key]string{fact.GPUName: "<name>", fact.Device: "metal"},
		Source:   "ggml/src/ggml-metal",
	},
	{
		ID: "LCP-GPU-OLLAMA", Kind: engine.Info, Anchor: `msg="inference compute" id=`,
		Patterns: []string{
			`library=<library> <_>compute=<cc> <_>name="<name>" total="<total> GiB" available="<free> GiB"`,
			`library=<library> `,
		},
		Facts: map[fact.Key]string{
			fact.Device: "<library>", fact.GPUSM: "<cc>", fact.GPUName: "<name>", fact.GPUMem: "<total>", fact.GPUFree: "<free>",
		},
		Source: "ollama/server/routes.go",
	},
	{
		ID: "LCP-USING-DEVICE", Kind: engine.Info, Anchor: "using device ",
		Patterns: []string{
			"using device <device> (<name>) (<bus>) - <free> MiB free",
			"using device <device> (<name>) - <free> MiB free",
		},
		Facts:  map[fact.Key]string{fact.GPUName: "<name>", fact.GPUFree: "<free> MiB"},
		Source: "src/llama.cpp",
	},
	{
		// The CPU is in the same table; its captures fill no fact.
		ID: "LCP-DEVICE-TABLE", Kind: engine.Info, Anchor: " MiB free)",
		Patterns: []string{
			"- CPU<_>: <cpu> (",
			"- BLAS<_>: <blas> (",
			"- <device> : <name> (<_> MiB, <free> MiB free)",
		},
		Facts:  map[fact.Key]string{fact.GPUName: "<name>", fact.GPUFree: "<free> MiB"},
		Since:  "b11000",
		Source: srcCommon,
	},
	{
		// total = free + (self = model + context + compute) + unaccounted, which may
		// be negative. The row of the host memory has no total.
		ID: "LCP-BREAKDOWN", Kind: engine.Info, Anchor: "memory_breakdown_print: |   - ",
		Patterns: []string{
			"|   - <device> (<name>) <_>| <total> = <free> + (<_> = <model> + <context> + <compute>) + ",
			"|   - <device> | <_> = <host_model> + <_> + <_> |",
		},
		Facts: map[fact.Key]string{
			fact.GPUMem: "<total> MiB", fact.AvailGB: "<free> MiB", fact.WeightsGB: "<model> MiB", fact.KVGB: "<context> MiB",
		},
		Since:  "b6600",
		Source: srcFit,
	},
}
