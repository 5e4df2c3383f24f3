package lmdeploy

import "shakedown/internal/engine"

// Reasons that several lines share.
const (
	whyUntested = "a version newer than the tested ones; it works mostly, but an odd failure may come from it"
	whyPython   = "a notice of a Python package that concerns its developers"
)

// noiseLines look like errors and are harmless.
var noiseLines = []engine.Line{
	{
		ID: "LMD-NOISE-TRANSFORMERS", Kind: engine.Noise, Anchor: "LMDeploy requires transformers",
		Why: whyUntested, Source: srcCheck + "/transformers.py",
	},
	{
		ID: "LMD-NOISE-TRITON", Kind: engine.Noise, Anchor: "PytorchEngine has not been tested on",
		Why: whyUntested, Source: srcCheck + "/triton.py",
	},
	{
		ID: "LMD-NOISE-GEMM", Kind: engine.Noise, Anchor: "gemm_config.in is not found",
		Why: "an optional tuning file; the default algorithms are used", Source: "src/turbomind",
	},
	{
		ID: "LMD-NOISE-TOKENIZER", Kind: engine.Noise, Anchor: "Can not find tokenizer.json",
		Why: "the slow tokenizer is used", Source: "lmdeploy/tokenizer.py",
	},
	{
		ID: "LMD-NOISE-PREFIX", Kind: engine.Noise, Anchor: "[SegMgr] prefix caching is ",
		Why: "states a setting; a warning by level only", Source: "src/turbomind/models/llama/SequenceManager.cc",
	},
	{
		ID: "LMD-NOISE-WARMUP", Kind: engine.Noise, Anchor: "[Engine] Warm-up for ",
		Why: "the longest warm-up batch does not fit the cache; the server starts without it", Source: srcTurboCPP,
	},
	{
		ID: "LMD-NOISE-WARMUP-POSITION", Kind: engine.Noise, Anchor: "] Warm-up for ",
		Why: "the longest warm-up batch does not fit the cache; the server starts without it", Source: srcTurboCPP,
	},
	{
		ID: "LMD-NOISE-MP-EXECUTOR", Kind: engine.Noise, Anchor: "MPExecutor will be deprecated",
		Why: "announces another default", Source: "lmdeploy/pytorch/engine/executor/__init__.py",
	},
	{
		ID: "LMD-NOISE-TOO-LONG", Kind: engine.Noise, Anchor: "ResponseType.INPUT_LENGTH_ERROR",
		Why: "one request is longer than session_len and is refused; the server and the other requests go on", Source: srcAsync,
	},
	{
		ID: "LMD-NOISE-TRUNCATED", Kind: engine.Noise, Anchor: "num tokens is larger than max session len",
		Why: "one answer is cut at session_len", Source: "lmdeploy/pytorch/engine/engine.py",
	},
	{
		ID: "LMD-NOISE-TRUNCATED-TURBOMIND", Kind: engine.Noise, Anchor: "`max_new_tokens` is truncated to ",
		Why: "one answer is cut at session_len", Source: "src/turbomind/engine/engine.cc",
	},
	{
		ID: "LMD-NOISE-HCCL-GATHER", Kind: engine.Noise, Anchor: "HCCL doesn't support gather at the moment",
		Why: "another collective does the same", Source: "torch_npu",
	},
	{
		ID: "LMD-NOISE-NPU-SAVE", Kind: engine.Noise, Anchor: "_use_new_zipfile_serialization = False",
		Why: whyPython, Source: "torch_npu",
	},
	{
		ID: "LMD-NOISE-NPU-IMPORT", Kind: engine.Noise, Anchor: "TEMetaPath",
		Why: whyPython, Source: "CANN",
	},
	{
		ID: "LMD-NOISE-STORAGE", Kind: engine.Noise, Anchor: "TypedStorage is deprecated",
		Why: whyPython, Source: "PyTorch",
	},
}
