package prober

import (
	"strconv"
	"time"

	"shakedown/internal/finding"
	"shakedown/internal/probe"
)

// message is a verdict as the output knows it.
func message(p probe.Probe, v *probe.Verdict, exchanges []int, took time.Duration) *finding.ProbeMsg {
	signs := make([]string, len(v.Signs))
	for i, s := range v.Signs {
		signs[i] = string(s)
	}
	return &finding.ProbeMsg{
		ID: p.ID, Title: p.Title, Verdict: string(v.Outcome), Text: v.Text, Threshold: v.Threshold, Essential: p.Essential,
		Signs: signs, Exchanges: exchanges, Evidence: v.Evidence, Seconds: took.Seconds(),
	}
}

// facts are the numbers of a server, each with where it was read.
func facts(t *probe.Target) []finding.FactEntry {
	var list []finding.FactEntry
	for _, f := range []struct {
		key, unit, field string
		value            int
	}{
		{"context", "tokens", "Context", t.Context}, {"kv.tokens", "tokens", "Pool", t.Pool}, {"trained-context", "tokens", "Trained", t.Trained},
		{"page", "tokens", "Page", t.Page}, {"prefill-chunk", "tokens", "Chunk", t.Chunk}, {"running", "requests", "Running", t.Running},
		{"index-topk", "tokens", "TopK", t.TopK}, {"window", "tokens", "Window", t.Window}, {"original-context", "tokens", "Original", t.Original},
		{"vocabulary", "tokens", "Vocab", t.Vocab},
	} {
		if f.value > 0 {
			list = append(list, finding.FactEntry{Key: f.key, Value: strconv.Itoa(f.value), Unit: f.unit, File: t.Sources[f.field]})
		}
	}
	if t.Started > 0 {
		list = append(list, finding.FactEntry{Key: "started", Value: time.Unix(t.Started, 0).UTC().Format(time.RFC3339), File: t.Sources["Started"]})
	}
	if t.Build != "" {
		list = append(list, finding.FactEntry{Key: "build", Value: t.Build, File: t.Sources["Build"]})
	}
	return list
}

// notes are what could not be read, and what that costs.
func notes(t *probe.Target) []string {
	var list []string
	if t.Engine == "" {
		list = append(list, "the engine was not recognised: it is asked in OpenAI's words alone")
	}
	if t.Context == 0 {
		list = append(list, "the server does not say how long a request may be")
	}
	if !t.Has.Completions {
		list = append(list, "no raw completions: what was decoded cannot be sent again as a prompt")
	}
	if !t.Has.Logprobs {
		list = append(list, "no logprobs: only text can be compared")
	}
	return list
}
