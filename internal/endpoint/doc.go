// Package endpoint speaks HTTP with a running inference server for
// `shakedown probe`: it recognises the engine and its version, reads the effective
// settings that the engine tells, and turns a probe.Ask into the engine's own
// dialect and what comes back into a probe.Answer.
//
// A dialect is how one engine spells what the API of OpenAI leaves open: token
// ids, logprobs of the prompt, a request that is kept from the prefix cache. There
// is one file per engine, and each must answer the suite of package endpointtest
// alike.
//
// Everything that comes over the wire is hostile: each answer is bounded in bytes
// and in time, redirects are not followed, nothing is decompressed, and no answer
// can panic. The key is sent in one header and is part of nothing else that leaves
// this package.
package endpoint
