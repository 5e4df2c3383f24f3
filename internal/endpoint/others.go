package endpoint

import (
	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// trtllm is trtllm-serve, read in its source (serve/openai_protocol.py, 2026): it
// refuses every field that it does not have. An echo repeats the prompt's text and
// tells no logprobs of it, and completions have no salt for the cache.
var trtllm = dialect{
	engine: "trtllm",
	features: func(flags.Version) probe.Features {
		return probe.Features{
			Chat: true, Completions: true, TokenPrompts: true, Logprobs: true, Top: 5, IgnoreEOS: true,
			Health: true, Tools: true, Schema: true, Seed: true,
		}
	},
	refine: func(b *body, _ *probe.Target, a *probe.Ask, _ flags.Version) {
		if len(a.Tools) > 0 {
			b.option("tool_choice", "auto") // "none" by default, unlike OpenAI's
		}
	},
	health:  "/health",
	metrics: "/prometheus/metrics", // /metrics is a list of its own
	least:   1,
}

// lmdeploy is `lmdeploy serve api_server`, read in its source (serve/openai, 2026).
// Logprobs are told of chats only, when the engine was started with a
// logprobs_mode, and n is always 1.
var lmdeploy = dialect{
	engine: "lmdeploy",
	features: func(flags.Version) probe.Features {
		return probe.Features{
			Chat: true, Completions: true, Tokenize: true, Logprobs: true, Top: 5, IgnoreEOS: true,
			Health: true, Metrics: true, Tools: true, Schema: true, Seed: true,
		}
	},
	refine: func(b *body, _ *probe.Target, a *probe.Ask, _ flags.Version) {
		if a.Thinking != nil { // its name before chat_template_kwargs
			b.option("enable_thinking", *a.Thinking)
		}
	},
	tokenize: func(_ *probe.Target, a *probe.Ask) *request {
		if len(a.Messages) > 0 {
			return nil
		}
		return &request{
			path: "/v1/encode",
			body: body{object: object{{"input", a.Prompt}, {"do_preprocess", false}, {"add_bos", true}}},
			read: readTokens("input_ids"),
		}
	},
	health:  "/health",
	metrics: "/metrics",
	spelt:   true,
}

// ollama tells little of what it computes.
var ollama = dialect{
	engine: "ollama",
	features: func(flags.Version) probe.Features {
		return probe.Features{Chat: true, Completions: true, Logprobs: true, Top: 20, Tools: true, Schema: true, Seed: true}
	},
	refine: func(*body, *probe.Target, *probe.Ask, flags.Version) {},
}
