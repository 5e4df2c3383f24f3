package llamacpp

import "shakedown/internal/engine"

// Reasons that several lines share.
const (
	whyOneRequest = "it refuses one request; the server and the other requests go on"
	whyFetch      = "an optional file beside the model does not exist in the repository"
)

// noiseLines look like errors and are harmless.
var noiseLines = []engine.Line{
	{
		ID: "LCP-NOISE-FIT-ERROR", Kind: engine.Noise, Anchor: "encountered an error while trying to fit params",
		Why:    "the dry run before the load meets the same error as the load itself; it says nothing about memory",
		Source: srcFit,
	},
	{
		ID: "LCP-NOISE-FIT-ABORT", Kind: engine.Noise, Anchor: "failed to fit params to free device memory: ",
		Why:    "the fit stops because a setting that it would change was given; the load goes on with the given values",
		Source: srcFit,
	},
	{
		ID: "LCP-NOISE-CTX-SMALL", Kind: engine.Noise, Anchor: "the full capacity of the model will not be utilized",
		Why:    "the context is smaller than the model allows, which is normal",
		Source: srcContext,
	},
	{
		ID: "LCP-NOISE-NO-KEY", Kind: engine.Noise, Anchor: "security: no API key is set",
		Why:    "a reminder for servers that others can reach",
		Source: srcServer,
	},
	{
		ID: "LCP-NOISE-PORT-CHANGE", Kind: engine.Noise, Anchor: "server default port will be changed",
		Why:    "announces another default port",
		Source: srcServer,
	},
	{
		ID: "LCP-NOISE-HEAD", Kind: engine.Noise, Anchor: "HEAD failed, status: ",
		Why: whyFetch, Source: "common/download.cpp",
	},
	{
		ID: "LCP-NOISE-CONTROL-TOKEN", Kind: engine.Noise, Anchor: "was not control-type; this is probably a bug in the model",
		Why:    "the loader corrects the type of a special token; seen with most converted models",
		Source: "src/llama-vocab.cpp",
	},
	{
		ID: "LCP-NOISE-EOG", Kind: engine.Noise, Anchor: "is not in special_eog_ids",
		Why:    "the loader adds the end token itself",
		Source: "src/llama-vocab.cpp",
	},
	{
		ID: "LCP-NOISE-POOLING", Kind: engine.Noise, Anchor: "model default pooling_type is [",
		Why:    "repeats that --pooling was given",
		Source: srcContext,
	},
	{
		ID: "LCP-NOISE-EMBED-OUTPUTS", Kind: engine.Noise, Anchor: "embeddings required but some input tokens were not marked as outputs",
		Why:    "normal in the warm-up and for chat requests of an embedding server",
		Source: "src/llama-batch.cpp",
	},
	{
		ID: "LCP-NOISE-PIPELINE", Kind: engine.Noise, Anchor: "retrying without pipeline parallelism",
		Why:    "the allocation errors just before belong to a first attempt; the server tries again with less memory",
		Source: srcContext,
	},
	{
		ID: "LCP-NOISE-METAL-KERNEL", Kind: engine.Noise, Anchor: "ggml_metal_init: skipping kernel_",
		Why:    "this GPU has no bfloat16; other kernels are used",
		Source: "ggml/src/ggml-metal",
	},
	{
		ID: "LCP-NOISE-NO-SPEC", Kind: engine.Noise, Anchor: "no implementations specified for speculative decoding",
		Why:    "no speculation was asked for",
		Source: "common/speculative.cpp",
	},
	{
		ID: "LCP-NOISE-SEQ-RM", Kind: engine.Noise, Anchor: "does not support partial sequence removal",
		Why:    "a recurrent or hybrid model, whose cache cannot drop single tokens",
		Source: "common/speculative.cpp",
	},
	{
		ID: "LCP-NOISE-ONE-TOKEN", Kind: engine.Noise, Anchor: "need to evaluate at least 1 token for each active slot",
		Why:    "the whole prompt is in the cache; its last token is computed again",
		Source: srcSlots,
	},
	{
		ID: "LCP-NOISE-CANCEL", Kind: engine.Noise, Anchor: "stop: cancel task, id_task = ",
		Why:    "the client closed the connection or the request was refused",
		Source: "tools/server/server-queue.cpp",
	},
	{
		ID: "LCP-NOISE-HTTP-4XX", Kind: engine.Noise, Anchor: `got exception: {"error":{"code":4`,
		Why: whyOneRequest, Source: srcServer,
	},
	{
		ID: "LCP-NOISE-HTTP-4XX-2025", Kind: engine.Noise, Anchor: `got exception: {"code":4`,
		Why: whyOneRequest, Source: srcServer,
	},
	{
		ID: "LCP-NOISE-API-KEY", Kind: engine.Noise, Anchor: "nauthorized: Invalid API Key",
		Why: whyOneRequest, Source: "tools/server/server-http.cpp",
	},
	{
		ID: "LCP-NOISE-TOO-LONG", Kind: engine.Noise, Anchor: "exceeds the available context size",
		Why: whyOneRequest, Source: srcSlots,
	},
	{
		ID: "LCP-NOISE-CTX-FULL", Kind: engine.Noise, Anchor: "error: Context size has been exceeded",
		Why: whyOneRequest, Source: srcSlots,
	},
	{
		ID: "LCP-NOISE-TOO-LARGE", Kind: engine.Noise, Anchor: "is too large to process. increase the physical batch size",
		Why: whyOneRequest, Source: srcSlots,
	},
	{
		ID: "LCP-NOISE-GRAMMAR", Kind: engine.Noise, Anchor: "error parsing grammar: ",
		Why: whyOneRequest, Source: "src/llama-grammar.cpp",
	},
	{
		ID: "LCP-NOISE-GRAMMAR-PARSE", Kind: engine.Noise, Anchor: "failed to parse grammar",
		Why: whyOneRequest, Source: "common/sampling.cpp",
	},
	{
		ID: "LCP-NOISE-LAUNCH-SLOT", Kind: engine.Noise, Anchor: "failed to launch slot with task",
		Why: whyOneRequest, Source: srcSlots,
	},
	{
		ID: "LCP-NOISE-MLOCK", Kind: engine.Noise, Anchor: "failed to mlock ",
		Why:    "the weights may be swapped out; the server runs without the lock",
		Source: "src/llama-mmap.cpp",
	},
	{
		ID: "LCP-NOISE-PTRACE", Kind: engine.Noise, Anchor: "ptrace: Operation not permitted",
		Why:    "a dying process asks a debugger for its backtrace and may not attach one",
		Source: "ggml/src/ggml.c",
	},
}
