package endpoint

import (
	"shakedown/internal/flags"
	"shakedown/internal/probe"
)

// trtllm is trtllm-serve. Its requests refuse fields that they do not have.
var trtllm = dialect{
	engine: "trtllm",
	features: func(flags.Version) probe.Features {
		return probe.Features{
			Chat: true, Completions: true, TokenPrompts: true, Logprobs: true, Top: 5, IgnoreEOS: true,
			Health: true, Tools: true, Schema: true, Seed: true,
		}
	},
	refine: func(b *body, a *probe.Ask, _ flags.Version) {
		if a.IgnoreEOS {
			b.option("ignore_eos", true)
		}
	},
	health:  "/health",
	metrics: "/prometheus/metrics",
}

// lmdeploy is `lmdeploy serve api_server`.
var lmdeploy = dialect{
	engine: "lmdeploy",
	features: func(flags.Version) probe.Features {
		return probe.Features{
			Chat: true, Completions: true, Tokenize: true, Logprobs: true, Top: 5, IgnoreEOS: true,
			Health: true, Metrics: true, Tools: true, Schema: true, Seed: true,
		}
	},
	refine: func(b *body, a *probe.Ask, _ flags.Version) {
		if a.IgnoreEOS {
			b.option("ignore_eos", true)
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
}

// ollama tells little of what it computes.
var ollama = dialect{
	engine: "ollama",
	features: func(flags.Version) probe.Features {
		return probe.Features{Chat: true, Completions: true, Logprobs: true, Top: 20, Tools: true, Schema: true, Seed: true}
	},
	refine: func(*body, *probe.Ask, flags.Version) {},
}
