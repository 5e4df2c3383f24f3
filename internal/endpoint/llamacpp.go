package endpoint

import (
	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// llamacpp is llama-server, seen in the answers of build 11434. Its completions
// tell logprobs in the form of chats, with ids; a prompt's are not told.
var llamacpp = dialect{
	engine: "llamacpp",
	features: func(flags.Version) probe.Features {
		return probe.Features{
			Chat: true, Completions: true, TokenPrompts: true, IDs: true, Tokenize: true, Logprobs: true, Top: 20,
			NoCache: true, IgnoreEOS: true, Health: true, Metrics: true, Tools: true, Schema: true, Seed: true,
		}
	},
	refine: func(b *body, _ *probe.Target, a *probe.Ask, _ flags.Version) {
		if a.NoCache {
			b.option("cache_prompt", false)
		}
	},
	tokenize: func(_ *probe.Target, a *probe.Ask) *request {
		if len(a.Messages) > 0 {
			return nil // /apply-template gives a text, which would have to be sent again
		}
		return &request{
			path: "/tokenize",
			body: body{object: object{{"content", a.Prompt}, {"add_special", true}, {"parse_special", true}}},
			read: readTokens("tokens"),
		}
	},
	health:   "/health",
	metrics:  "/metrics",
	least:    1,
	refusals: []string{"tools param requires --jinja", "This server does not support metrics endpoint"},
}
