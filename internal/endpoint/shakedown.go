package endpoint

import (
	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// shakedown is `shakedown serve`. It refuses what it does not know by name, so
// nothing is asked that it has not.
var shakedown = dialect{
	engine: "shakedown",
	features: func(flags.Version) probe.Features {
		return probe.Features{
			Chat: true, Completions: true, TokenPrompts: true, IDs: true, Tokenize: true, Logprobs: true, Top: 20, Echo: true,
			IgnoreEOS: true, Health: true, Metrics: true, Tools: true, Seed: true,
		}
	},
	refine: func(b *body, t *probe.Target, a *probe.Ask, _ flags.Version) {
		b.byID(a)
		switch {
		case !a.Echo || a.Kind != probe.Completion:
		case a.Tokens != nil:
			b.option("prompt_logprobs", likeliest(t, a))
		default: // the ids of the prompt are not known, and prompt_logprobs tells no order
			b.option("echo", true)
			b.echoed = true
		}
	},
	tokenize: tokenizeRequest,
	health:   "/health",
	metrics:  "/metrics",
}
