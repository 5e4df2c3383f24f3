package trtllm

import "shakedown/internal/engine"

// Reasons that several lines share.
const (
	whyEngineConfig = "an older or newer engine file lacks an optional entry; its default is used"
	whyPython       = "a notice of a Python package that concerns its developers"
)

// noiseLines look like errors and are harmless.
var noiseLines = []engine.Line{
	{
		ID: "TRT-NOISE-UCX", Kind: engine.Noise, Anchor: "UCX  WARN",
		Why: "the communication library notes its version or a missing device; MPI works without", Source: "UCX",
	},
	{
		ID: "TRT-NOISE-WORKSPACE", Kind: engine.Noise, Anchor: "Attention workspace size is not enough, increase the size",
		Why: "the workspace grows to what the first batches need", Source: "cpp/tensorrt_llm/thop/attentionOp.cpp",
	},
	{
		ID: "TRT-NOISE-STORE-BLOCKS", Kind: engine.Noise, Anchor: "storeContextBlocks: Can not find sequence for request",
		Why: "belongs to the dummy requests of the profiling run", Source: srcKV,
	},
	{
		ID: "TRT-NOISE-BOTH-LIMITS", Kind: engine.Noise, Anchor: "Both free_gpu_memory_fraction and max_tokens are set",
		Why: "the profiling run sets the second limit itself", Source: srcResource,
	},
	{
		ID: "TRT-NOISE-IMPLICIT", Kind: engine.Noise, Anchor: "Implicitly setting ",
		Why: "fills the model's configuration with defaults", Source: "tensorrt_llm/models/modeling_utils.py",
	},
	{
		ID: "TRT-NOISE-OPTIONAL", Kind: engine.Noise, Anchor: "Optional value for parameter ",
		Why: whyEngineConfig, Source: srcRuntime,
	},
	{
		ID: "TRT-NOISE-UNREADABLE", Kind: engine.Noise, Anchor: " cannot be read from json",
		Why: whyEngineConfig, Source: srcRuntime,
	},
	{
		ID: "TRT-NOISE-JSON", Kind: engine.Noise, Anchor: "[WARNING] [json.exception.",
		Why: whyEngineConfig, Source: srcRuntime,
	},
	{
		ID: "TRT-NOISE-DEFAULT", Kind: engine.Noise, Anchor: " is not specified, will ",
		Why: "an optional parameter of the Triton model is not set; its default is used", Source: "inflight_batcher_llm",
	},
	{
		ID: "TRT-NOISE-MULTICAST", Kind: engine.Noise, Anchor: "CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED not supported",
		Why: "a GPU without NVLink multicast; another all-reduce is used", Source: srcRuntime,
	},
	{
		ID: "TRT-NOISE-ROUTING", Kind: engine.Noise, Anchor: "not supported by the fused routing kernel",
		Why: "the slower routing in PyTorch is used", Source: "tensorrt_llm/_torch/modules/fused_moe/routing.py",
	},
	{
		ID: "TRT-NOISE-SHADOW", Kind: engine.Noise, Anchor: `in "ResponseFormat" shadows an attribute`,
		Why: whyPython, Source: "pydantic",
	},
	{
		ID: "TRT-NOISE-PYNVML", Kind: engine.Noise, Anchor: "The pynvml package is deprecated",
		Why: whyPython, Source: "PyTorch",
	},
	{
		ID: "TRT-NOISE-MODEL-TYPE", Kind: engine.Noise, Anchor: "This is not supported for all configurations of models",
		Why: whyPython, Source: "Transformers",
	},
	{
		ID: "TRT-NOISE-ARCH-LIST", Kind: engine.Noise, Anchor: "TORCH_CUDA_ARCH_LIST is not set",
		Why: whyPython, Source: "PyTorch",
	},
	{
		ID: "TRT-NOISE-CANCELLED", Kind: engine.Noise, Anchor: "CancelledError: Cancelled via cancel scope",
		Why: "one streamed request ends because its client has left", Source: "tensorrt_llm/serve/openai_server.py",
	},
	{
		ID: "TRT-NOISE-POWER", Kind: engine.Noise, Anchor: "Unable to get power limit for GPU",
		Why: "Triton's metrics lack one value", Source: srcTriton,
	},
}
