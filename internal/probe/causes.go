package probe

import (
	"strings"

	"shakedown/internal/finding"
)

// Cause is a class of causes with the signs that it fits.
type Cause struct {
	ID    string
	Class string // of the causes that findings know
	Title string
	Why   string
	// Source is the URL, issue or measurement that the rule stands on.
	Source string
	Any    []Sign // at least one of them
	Not    []Sign // none of them
	// When narrows it down by what is known of the server; nil for always.
	When       func(*Target) bool
	Confidence finding.Confidence
	Severity   finding.Severity
	// Decide is what would decide between this and the others.
	Decide []string
	// Next are launches that would decide, best first; the change is in the words of
	// the engine that is running.
	Next []Experiment
}

// Experiment is a launch that separates causes.
type Experiment struct {
	Title, Price string
	// Flags are the change by engine: the flag and its value.
	Flags map[string][2]string
	// Changes says whether it changes anything on this server, as far as is known;
	// nil for always.
	Changes func(*Target) bool
}

// Experiments that several causes share.
var (
	kv16 = Experiment{Title: "the KV cache in 16 bits", Price: "half the tokens of an 8-bit cache", Changes: perhapsLowBitKV, Flags: map[string][2]string{
		"sglang": {"--kv-cache-dtype", "bf16"}, "vllm": {"--kv-cache-dtype", "auto"}, "llamacpp": {"--cache-type-k", "f16"}, "trtllm": {"--kv_cache_dtype", "auto"},
	}}
	eager = Experiment{Title: "without captured graphs", Price: "slower decode", Flags: map[string][2]string{
		"sglang": {"--disable-cuda-graph", ""}, "vllm": {"--enforce-eager", ""},
	}}
	noPrefix = Experiment{Title: "without the prefix cache", Price: "every prompt is computed anew", Flags: map[string][2]string{
		"sglang": {"--disable-radix-cache", ""}, "vllm": {"--no-enable-prefix-caching", ""}, "llamacpp": {"--no-cache-prompt", ""},
	}}
	otherAttention = Experiment{Title: "another attention backend", Price: "perhaps slower", Flags: map[string][2]string{
		"sglang": {"--attention-backend", "triton"}, "vllm": {"--attention-backend", "TRITON_ATTN"}, "llamacpp": {"--flash-attn", "off"},
	}}
	oneAtATime = Experiment{Title: "one request at a time", Price: "throughput", Flags: map[string][2]string{
		"sglang": {"--max-running-requests", "1"}, "vllm": {"--max-num-seqs", "1"}, "llamacpp": {"--parallel", "1"},
	}}
	brainFloat = Experiment{Title: "activations in bfloat16", Price: "none on GPUs since Ampere", Changes: perhapsHalf, Flags: map[string][2]string{
		"sglang": {"--dtype", "bfloat16"}, "vllm": {"--dtype", "bfloat16"},
	}}
)

// broken are signs of arithmetic that ruins raw text and chats alike: what then
// comes out of templates and parsers says nothing about them.
var broken = []Sign{SignNaN, SignNaNLater, SignNaNSampled, SignCollapse, SignEmpty}

const (
	withOracle = "shakedown probe URL --oracle DIR, with the checkpoint that is served: whose arithmetic gives these numbers"
	inspectIt  = "shakedown inspect DIR --scan: whether the checkpoint itself is sound"
	explainLog = "shakedown explain LOG: what the server's log says about it"
)

// lowBitKV says whether the server tells of a KV cache in 8 bits or fewer.
func lowBitKV(t *Target) bool {
	for name, v := range t.Settings {
		name, v = strings.ToLower(name), strings.ToLower(v)
		if (strings.Contains(name, "cache_dtype") || strings.Contains(name, "cache_type")) && (strings.Contains(v, "fp8") || strings.Contains(v, "fp4") || strings.Contains(v, "int8")) {
			return true
		}
	}
	return false
}

// perhapsLowBitKV says whether the KV cache has, or may have, 8 bits or fewer: SGLang
// and vLLM choose FP8 for some models without being asked, llama.cpp never does.
func perhapsLowBitKV(t *Target) bool {
	if lowBitKV(t) {
		return true
	}
	for name := range t.Settings {
		if strings.Contains(strings.ToLower(name), "cache_dtype") {
			return false
		}
	}
	return t.Engine != "llamacpp"
}

// halfPrecision says whether the server tells of activations in float16.
func halfPrecision(t *Target) bool {
	for name, v := range t.Settings {
		if i := strings.LastIndexByte(name, '.'); name[i+1:] == "dtype" && (v == "float16" || v == "half" || v == "torch.float16") {
			return true
		}
	}
	return false
}

// perhapsHalf says whether activations are, or may be, in float16: what the server
// tells of its dtype is otherwise the model's own.
func perhapsHalf(t *Target) bool {
	for name := range t.Settings {
		if i := strings.LastIndexByte(name, '.'); name[i+1:] == "dtype" {
			return halfPrecision(t)
		}
	}
	return true
}

// causes are tried in their order; all that fit are told, and the order among
// equal confidence is this one.
var causes = []Cause{
	{
		ID: "PRB-KV-001", Class: "kv-cache-dtype", Title: "the 8-bit KV cache is read otherwise than it is written",
		Why:    "Decode reads keys and values out of the cache, a first prefill does not; this server keeps them in 8 bits.",
		Source: "SGLang 24198; the 656-byte records of DSA models read as 576 (docs/faults.md)",
		Any:    []Sign{SignDecode, SignDecodeLater, SignPrefix, SignNaNLater}, When: lowBitKV, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{withOracle}, Next: []Experiment{kv16, otherAttention},
	},
	{
		ID: "PRB-NAN-001", Class: "numerics-nan", Title: "the model computes NaN",
		Why:    "Logprobs are null or NaN. Greedy answers hide it, since argmax of NaN is some token; sampling fails or ends the server.",
		Source: "facts of real engines with one NaN in a weight; founding incident (sampler's assertion on the first sampled request)",
		Any:    []Sign{SignNaN, SignNaNLater, SignNaNSampled}, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{inspectIt, withOracle, explainLog}, Next: []Experiment{kv16, brainFloat, otherAttention},
	},
	{
		ID: "PRB-NAN-002", Class: "numerics-nan", Title: "float16 overflows",
		Why:    "The server computes in float16, whose largest number is 65504; models made in bfloat16 go beyond it.",
		Source: "vLLM and ik_llama reports of --dtype half on bfloat16 models (docs/faults.md)",
		Any:    []Sign{SignNaN, SignNaNLater, SignNaNSampled, SignNonsense}, When: halfPrecision, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{withOracle}, Next: []Experiment{brainFloat},
	},
	{
		ID: "PRB-NAN-003", Class: "numerics-nan", Title: "the answers have the look of NaN",
		Why:    "One token without end, or nothing where tokens were counted, is what argmax makes of NaN.",
		Source: "facts of real engines with one NaN in a weight",
		Any:    []Sign{SignCollapse, SignEmpty}, Not: []Sign{SignNaN, SignNaNLater, SignNaNSampled}, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{"a server that tells logprobs", inspectIt, withOracle}, Next: []Experiment{kv16},
	},
	{
		ID: "PRB-BATCH-001", Class: "numerics-garbage", Title: "answers change when other requests run",
		Why:    "Rows of a batch influence each other, or a kernel is wrong for some batch sizes.",
		Source: "FlashInfer 2716 (PDL race), 3398 (zeros that depend on the batch size)",
		Any:    []Sign{SignBatch, SignCancelled}, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{"shakedown probe URL --thorough: the batch size from which on it happens"}, Next: []Experiment{oneAtATime, eager},
	},
	{
		ID: "PRB-RACE-001", Class: "numerics-garbage", Title: "the same request is computed differently each time",
		Why:    "A race, or memory that nobody wrote: no rounding is so far apart.",
		Source: "FlashInfer 2716, 4486",
		Any:    []Sign{SignRepeat}, Confidence: finding.Likely, Severity: finding.Error, Next: []Experiment{eager, otherAttention},
	},
	{
		ID: "PRB-DECODE-001", Class: "numerics-garbage", Title: "decode computes something else than prefill",
		Why:    "The same tokens give other distributions when they are decoded one by one: the decode kernel, its positions or what it reads from the KV cache is wrong.",
		Source: "docs/faults.md (stale page, records of another size)",
		Any:    []Sign{SignDecode, SignDecodeLater, SignPrefix}, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{withOracle}, Next: []Experiment{otherAttention, eager, noPrefix, kv16},
	},
	{
		ID: "PRB-LONG-001", Class: "numerics-garbage", Title: "texts behind a limit of the model are computed wrongly",
		Why:    "Sparse attention, sliding windows and scaled rotations begin to matter only there.",
		Source: "transformers 46842 (indexer rotates halves), docs/faults.md",
		Any:    []Sign{SignLong}, Confidence: finding.Likely, Severity: finding.Error, Decide: []string{withOracle}, Next: []Experiment{otherAttention},
	},
	{
		ID: "PRB-WRONG-001", Class: "numerics-garbage", Title: "the arithmetic is wrong in the same way everywhere",
		Why:    "Decode and prefill agree with each other, all numbers are finite, and the model does not know what every model knows: rotations, scales, routing or the order of weights are wrong.",
		Source: "docs/faults.md (rotation of halves, swapped gate and up); facts of real engines with a wrong rotary layout",
		Any:    []Sign{SignNonsense, SignOracle, SignAgainst}, Not: []Sign{SignNaN, SignNaNLater, SignNaNSampled, SignFlat}, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{withOracle, inspectIt},
	},
	{
		ID: "PRB-WRONG-002", Class: "checkpoint-format", Title: "weights are laid out otherwise than the loader expects",
		Why:    "Permuted rows, scales of another convention and unmatched names load without a word and give sure nonsense.",
		Source: "docs/faults.md; SGLang 32430",
		Any:    []Sign{SignNonsense, SignOracle}, Not: []Sign{SignDecode, SignDecodeLater, SignPrefix, SignBatch}, Confidence: finding.Possible, Severity: finding.Error,
		Decide: []string{inspectIt, withOracle},
	},
	{
		ID: "PRB-WEIGHTS-001", Class: "checkpoint-incomplete", Title: "the weights say nothing",
		Why:    "Every token is as likely as every other: the weights were never loaded (--load-format dummy, a missing shard), or the model was never trained.",
		Source: "facts of real engines (--load-format dummy: -ln of the vocabulary); SGLang 32279",
		Any:    []Sign{SignFlat}, Confidence: finding.Possible, Severity: finding.Error,
		Decide: []string{inspectIt, withOracle},
	},
	{
		ID: "PRB-TEMPLATE-001", Class: "output-parsing", Title: "the chat template is broken, missing or not the model's own",
		Why:    "Raw text is continued rightly; what the template makes of a chat is not what the model was trained on, or the template fails.",
		Source: "facts of real engines (missing or broken chat template)",
		Any:    []Sign{SignTemplate, SignChatFails}, Not: broken, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{"shakedown render DIR: what the model's own template makes of a chat"},
	},
	{
		ID: "PRB-PARSER-001", Class: "output-parsing", Title: "the answer is split into the wrong fields",
		Why:    "Reasoning and tool calls are cut out of the text by parsers that must be those of the model.",
		Source: "public reports of tool calls lost in the reasoning field",
		Any:    []Sign{SignReasoning, SignTools, SignSchema, SignSpecial, SignStream}, Not: broken, Confidence: finding.Likely, Severity: finding.Error,
	},
	{
		ID: "PRB-DEFAULTS-001", Class: "override-ignored", Title: "the defaults that the server took from the model spoil plain requests",
		Why:    "A request without sampling fields fails or differs, one with them is right: the defaults come from generation_config.json or the command line.",
		Source: "facts of vLLM (temperature 6.0 in generation_config.json: 400 for every plain request)",
		Any:    []Sign{SignPlainFails}, Confidence: finding.Likely, Severity: finding.Error,
		Next: []Experiment{{Title: "without the model's sampling defaults", Price: "none for clients that name theirs", Flags: map[string][2]string{"vllm": {"--generation-config", "vllm"}, "sglang": {"--sampling-defaults", "openai"}}}},
	},
	{
		ID: "PRB-CONTEXT-001", Class: "override-ignored", Title: "requests get less context than was asked for or promised",
		Why:    "The context was divided among slots, capped by memory or cut without an error.",
		Source: "facts of llama.cpp (-c is divided by -np), SGLang (KV pool smaller than the context that it tells)",
		Any:    []Sign{SignCapped, SignTruncated}, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{"the server's own statements: see the settings above"},
	},
	{
		ID: "PRB-CONTEXT-002", Class: "limit-exceeded", Title: "a prompt is longer than a limit of the server",
		Why: "The limit is lower than the model's own.",
		Any: []Sign{SignTruncated}, Confidence: finding.Possible, Severity: finding.Warning,
		Source: "facts of real engines",
	},
	{
		ID: "PRB-PARAM-001", Class: "override-ignored", Title: "parameters of requests have no effect",
		Why: "The server takes them and does something else.", Source: "OpenAI's API",
		Any: []Sign{SignParameter}, Confidence: finding.Likely, Severity: finding.Error,
	},
	{
		ID: "PRB-STALE-001", Class: "host-limits", Title: "another server answers on this port",
		Why:    "An earlier launch still owns it, or the wrong port was named: what was started last is not what answers.",
		Source: "public reports of stale servers that still own the port",
		Any:    []Sign{SignStale}, Confidence: finding.Possible, Severity: finding.Error,
		Decide: []string{"ss -ltnp: which process listens on the port"},
	},
	{
		ID: "PRB-HANG-001", Class: "hang", Title: "the server takes requests and does not answer them",
		Why:    "Its health and counters are served by another process than the one that computes.",
		Source: "SGLang 6624 (health 200 from a dead scheduler)",
		Any:    []Sign{SignHang, SignHealthLies, SignCounters}, Confidence: finding.Likely, Severity: finding.Error,
		Decide: []string{explainLog, "py-spy dump --pid PID of the scheduler or engine core"},
	},
	{
		ID: "PRB-DEAD-001", Class: "unclear", Title: "the server ended while it was asked",
		Why:    "From outside only the end is seen; the reason stands in its log, or in the kernel's (out of memory).",
		Source: "facts of real engines (a killed engine closes the port within seconds)",
		Any:    []Sign{SignDead}, Not: []Sign{SignNaNSampled, SignNaN, SignNaNLater}, Confidence: finding.Possible, Severity: finding.Error,
		Decide: []string{explainLog, "dmesg | grep -i -E 'oom|xid'"},
	},
	{
		ID: "PRB-ERROR-001", Class: "server-bug", Title: "the server fails on proper requests",
		Why: "HTTP 500 is the server's own word for a defect.", Source: "OpenAI's API",
		Any: []Sign{SignError}, Not: []Sign{SignNaN, SignNaNLater, SignNaNSampled, SignDead}, Confidence: finding.Possible, Severity: finding.Error,
		Decide: []string{explainLog},
	},
}
