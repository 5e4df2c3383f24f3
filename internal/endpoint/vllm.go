package endpoint

import (
	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// vllm is read in the source of 0.32.0 (entrypoints/openai/*/protocol.py) and seen
// in the answers of that release.
var vllm = dialect{
	engine: "vllm",
	features: func(v flags.Version) probe.Features {
		return probe.Features{
			Chat: true, Completions: true, TokenPrompts: true, IDs: since(v, "0.8.0"), Tokenize: true, Logprobs: true,
			Top:  20, // --max-logprobs
			Echo: true, NoCache: since(v, "0.9.0"), IgnoreEOS: true, Health: true, Metrics: true, Tools: true, Schema: true, Seed: true,
		}
	},
	refine: func(b *body, t *probe.Target, a *probe.Ask, v flags.Version) {
		if since(v, "0.8.0") {
			b.byID(a)
		}
		if a.Echo {
			// The engine leaves the prefix cache out when it is asked for these.
			b.option("prompt_logprobs", likeliest(t, a))
		}
		if a.NoCache && since(v, "0.9.0") {
			b.option("cache_salt", b.salt()) // blocks of another salt are never shared
		}
	},
	tokenize: tokenizeRequest,
	health:   "/health",
	metrics:  "/metrics",
	refusals: []string{"tool choice requires --enable-auto-tool-choice", "is greater than max allowed"},
}
