package sglang

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// servingLines show requests and the roles of prefill/decode disaggregation.
var servingLines = []engine.Line{
	{ID: "SGL-SERVED-PREFILL", Kind: engine.Served, Anchor: "Prefill batch", Source: srcScheduler},
	{ID: "SGL-SERVED-DECODE", Kind: engine.Served, Anchor: "Decode batch", Source: srcScheduler},
	{ID: "SGL-SERVED-CHAT", Kind: engine.Served, Anchor: `"POST /v1/chat/completions HTTP/1.1" 200`, Source: "uvicorn"},
	{ID: "SGL-SERVED-COMPLETION", Kind: engine.Served, Anchor: `"POST /v1/completions HTTP/1.1" 200`, Source: "uvicorn"},
	{ID: "SGL-SERVED-EMBEDDING", Kind: engine.Served, Anchor: `"POST /v1/embeddings HTTP/1.1" 200`, Source: "uvicorn"},
	{ID: "SGL-SERVED-GENERATE", Kind: engine.Served, Anchor: `"POST /generate HTTP/1.1" 200`, Source: "uvicorn"},
	{ID: "SGL-SERVED-ENCODE", Kind: engine.Served, Anchor: `"POST /encode HTTP/1.1" 200`, Source: "uvicorn"},
	{
		ID: "SGL-PD-WARMUP", Kind: engine.Mile, Anchor: " warmup ...",
		Patterns: []string{"Start of pd disaggregation warmup ...", "Start of prefill warmup ..."},
		Phase:    fact.Warmup, Name: pdWarmup, Source: srcServer,
	},
	{
		ID: "SGL-PD-WARMUP-END", Kind: engine.Mile, Anchor: "End of disaggregation warmup",
		Phase: fact.Warmup, Name: pdWarmup, Since: "0.5.12", Source: srcServer,
	},
	{
		// The decode role prints the word prefill too.
		ID: "SGL-PD-WARMUP-STATUS", Kind: engine.Mile, Anchor: " warmup with status ",
		Patterns: []string{
			"End of prefill disaggregation mode warmup with status <status>,",
			"End of prefill warmup with status <status>,",
		},
		Phase: fact.Warmup, Name: pdWarmup, Source: srcServer + " to 0.5.9",
	},
}

// routerLines are those of the router, which is a program of its own
// (sglang_router, later sgl-model-gateway with modules named smg).
var routerLines = []engine.Line{
	{
		ID: "SGL-ROUTER-START", Kind: engine.Mile, Anchor: "Starting router on ",
		Patterns: []string{"Starting router on <host>:<port> | mode: <mode> {"},
		Phase:    fact.Args, Name: routerStarted,
		Facts:  map[fact.Key]string{fact.Role: "router", fact.Host: "<host>", fact.Port: "<port>"},
		Source: srcRouter,
	},
	{
		ID: "SGL-ROUTER-WORKERS", Kind: engine.Info, Anchor: "Workers initialized: ",
		Patterns: []string{"Workers initialized: <total> total, <healthy> healthy"},
		Facts:    map[fact.Key]string{fact.Role: "router"},
		Source:   srcRouter,
	},
	{
		ID: "SGL-ROUTER-READY", Kind: engine.Ready, Anchor: "Starting server on ",
		Patterns: []string{"Starting server on <host>:<port>"},
		Phase:    fact.Ready, Name: ready,
		Facts:  map[fact.Key]string{fact.Role: "router"},
		Source: srcRouter,
	},
	{
		ID: "SGL-ROUTER-FAILED", Kind: engine.Fatal, Anchor: "Error starting router: ",
		Patterns: []string{"Error starting router: <cause>"},
		Title:    "the router did not start", Source: "sglang_router/launch_router.py",
	},
	{
		ID: "SGL-ROUTER-NO-PAIR", Kind: engine.Symptom, Anchor: "Failed to select PD pair",
		Title:  "the router found no prefill/decode pair",
		Why:    "No healthy prefill or decode worker was registered when the request came; their own logs tell why.",
		Source: "sgl-router/src/routers/http/pd_router.rs, issue 8557",
	},
	{
		ID: "SGL-ROUTER-NO-WORKER", Kind: engine.Symptom, Anchor: "to become healthy",
		Patterns: []string{
			"Timeout <seconds>s waiting for workers <_> to become healthy",
			"Timeout <seconds>s waiting for worker <_> to become healthy",
		},
		Title:  "the router gave up waiting for a worker",
		Why:    "A worker did not answer its health check within the router's start-up time; the worker's own log tells why.",
		Source: "sgl-router/src/routers/http/router.rs",
	},
}
