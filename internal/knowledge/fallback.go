package knowledge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/launch"
	"shakedown/internal/logstream"
)

// fallback is a finding that stands on no rule: an exception that no rule
// names, a log that just ends, an interruption.
type fallback struct {
	id       string
	title    string
	why      string
	cause    string
	severity finding.Severity
	decide   []string
	remedies []finding.Remedy
	evidence []finding.Evidence
}

// unknownExceptions makes a candidate of every traceback that no rule covers
// and that is neither an interruption nor a wrapper of another failure.
func (e *eval) unknownExceptions(cands []*candidate) []*candidate {
	covered := make(map[*launch.Trace]bool)
	for _, c := range cands {
		if c.role == Suspect || c.role == Latent {
			continue
		}
		if c.rule.Generic() && c.link() > 0 {
			continue // a later exception of the chain says nothing about the original
		}
		for _, ev := range c.events {
			if t := e.l.TraceAt(ev.Pos.File, ev.Pos.Line); t != nil {
				covered[t] = true
			}
		}
	}
	for i := range e.l.Events {
		ev := &e.l.Events[i]
		if ln := ev.Watch.Line; ln != nil && ev.Class == logstream.ClassException && slices.Contains(hollow, ln.Kind) {
			if t := e.l.TraceAt(ev.Pos.File, ev.Pos.Line); t != nil && wrapsWhole(t, ev) {
				covered[t] = true
			}
		}
	}
	var out []*candidate
	for _, t := range e.l.Traces {
		if covered[t] || t.Interrupted() || len(t.Chain) == 0 {
			continue
		}
		out = append(out, e.exception(t))
	}
	return out
}

// hollow are the kinds of known lines that never name a cause.
var hollow = []engine.Kind{engine.Wrapper, engine.Noise, engine.Symptom, engine.Stop}

// wrapsWhole: the wrapper line is the first exception of the chain, so that no
// other cause stands in the same traceback.
func wrapsWhole(t *launch.Trace, ev *launch.Event) bool {
	x := t.Original()
	if x == nil {
		return true
	}
	if x.At <= ev.Pos.Line && ev.Pos.Line <= x.End {
		return true
	}
	for _, c := range t.Copies {
		if c[0] <= ev.Pos.Line && ev.Pos.Line <= c[1] {
			return true
		}
	}
	return false
}

// exception is the finding for an exception that no rule names: its type, the
// subsystem of its innermost frame and the phase are all that is claimed.
func (e *eval) exception(t *launch.Trace) *candidate {
	x := t.Original()
	sub := subsystemOf(x, e.l.Engine)
	text := x.Type
	if x.Message != "" {
		text += ": " + firstLine(x.Message)
	}
	f := &fallback{
		id: "GEN-EXC-UNKNOWN", cause: classOfUnknown(x, sub, t.Phase), severity: finding.Error,
		title: "unhandled " + x.Type + " in " + sub.words,
		why:   fmt.Sprintf("No rule knows this exception. It is the first one of its chain, raised %s in %s; what follows it in the log may be its consequence.", phaseWords[t.Phase], sub.words),
	}
	if x.Type == "" {
		f.title = "traceback cut before its exception, in " + sub.words
		f.why = fmt.Sprintf("The log shows a traceback, %s in %s, and not the line that names the exception. The frames say where it was raised, not why.", phaseWords[t.Phase], sub.words)
	}
	f.decide = sub.decide
	f.evidence = append(f.evidence, finding.Evidence{Kind: "log", File: t.File, Line: x.At, Text: cmp.Or(first(x.Texts), text)})
	if n := len(x.Frames); n > 0 {
		fr := &x.Frames[n-1]
		f.evidence = append(f.evidence, finding.Evidence{Kind: "log", File: t.File, Line: fr.At, Field: fmt.Sprintf("%s:%d in %s", fr.File, fr.Line, fr.Func), Note: "innermost frame"})
	}
	proc := ""
	if len(t.Ranks) > 0 {
		proc = t.Ranks[0]
	}
	return &candidate{
		fallback: f, role: Cause, confidence: finding.Possible, trace: t, seq: t.Seq, count: t.Count,
		survived: e.l.Survived(t.Seq, t.File, proc),
		basis:    "the earliest exception that is no consequence of another one; no rule confirms it",
	}
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// subsystem is a part of an engine, recognised by the frames of a traceback.
type subsystem struct {
	words  string
	parts  []string // of file paths or functions
	decide []string
}

// subsystems, most telling first. Frames name files, never line numbers: those
// move with every release.
var subsystems = []subsystem{
	{"the CUDA graph capture", []string{"cuda_graph_runner", "cudagraph", "graph_capture", "capture_model"},
		[]string{"one launch without graphs (SGLang --disable-cuda-graph, vLLM --enforce-eager): if the same exception comes back, capture only was the place"}},
	{"kernel compilation", []string{"flashinfer/jit", "triton/compiler", "torch/_inductor", "torch/utils/cpp_extension", "deep_gemm/jit", "tvm_ffi"},
		[]string{"the compiler's own output above the exception; the toolkit version (nvcc --version) beside the GPU's compute capability"}},
	{"the attention backend", []string{"layers/attention", "v1/attention", "attention/backends", "flash_attn", "flashmla", "flashinfer/decode", "flashinfer/prefill", "flashinfer/mla"},
		[]string{"one launch with another attention backend, everything else equal"}},
	{"the MoE layer", []string{"fused_moe", "layers/moe", "ep_moe", "deep_ep"},
		[]string{"one launch with another MoE backend, everything else equal"}},
	{"a quantised layer", []string{"layers/quantization", "quantization/", "compressed_tensors", "modelopt"},
		[]string{"shakedown inspect on the checkpoint; one launch of an unquantised checkpoint of the same family"}},
	{"speculative decoding", []string{"speculative", "spec_decode", "eagle"},
		[]string{"one launch without the speculative options"}},
	{"the weight loader", []string{"model_loader", "weight_utils", "load_weights", "load_model", "safetensors"},
		[]string{"the checkpoint's files against its index (sizes and names), then the loader named in the last frame"}},
	{"the sampler", []string{"sampler", "sampling", "logits_processor"},
		[]string{"the same request at temperature 0 and with logprobs: CUDA errors are reported late, the sampler often only notices them"}},
	{"the communication between ranks", []string{"torch/distributed", "pynccl", "parallel_state", "custom_all_reduce", "device_communicators", "c10d"},
		[]string{"the log of every other rank and node: the first one to fail has the cause", "NCCL_DEBUG=INFO on all ranks"}},
	{"the KV transfer between prefill and decode", []string{"disaggregation", "mooncake", "nixl", "kv_connector"},
		[]string{"the log of the other side (prefill or decode) at the same time"}},
	{"the tokenizer or chat template", []string{"tokeniz", "chat_template", "jinja"},
		[]string{"the same request as a plain completion, without the chat template"}},
	{"the model configuration", []string{"transformers/configuration", "configuration_auto", "hf_transformers_utils", "transformers_utils", "model_config", "config/model"},
		[]string{"config.json of the model beside the transformers version that the engine pins"}},
	{"the argument handling", []string{"server_args", "arg_utils", "argparse", "cli_args", "engine/arg"},
		[]string{"the engine's --help of this very version"}},
	{"the HTTP server", []string{"uvicorn", "starlette", "fastapi", "http_server", "api_server"},
		[]string{"whether the engine process lived on: its own log lines after this one"}},
	{"the model code", []string{"/models/", "model_executor/models", "modeling_"},
		[]string{"the same model with a newer release of the engine"}},
}

var anywhere = subsystem{"the server's own code", nil, []string{"the log of the same launch with a newer release", "the full traceback in the upstream tracker"}}

func subsystemOf(x *logstream.Exception, eng *engine.Engine) subsystem {
	for i := len(x.Frames) - 1; i >= 0; i-- {
		f := &x.Frames[i]
		for _, s := range subsystems {
			if slices.ContainsFunc(s.parts, func(p string) bool { return strings.Contains(f.File, p) || strings.Contains(f.Func, p) }) {
				return s
			}
		}
	}
	return anywhere
}

// classOfUnknown is the class that an exception without a rule is filed under:
// a defect of the server, unless its place says more.
func classOfUnknown(x *logstream.Exception, sub subsystem, ph fact.Phase) string {
	switch sub.words {
	case "kernel compilation":
		return "jit-compile"
	case "the communication between ranks":
		if ph.Order() >= fact.Ready.Order() {
			return "distributed-hang"
		}
		return "distributed-init"
	case "the KV transfer between prefill and decode":
		return "pd-disaggregation"
	}
	if ph == fact.Load && (sub.words == "the weight loader" || sub.words == "a quantised layer") {
		return "checkpoint-format"
	}
	switch x.Type {
	case "ValueError", "pydantic_core._pydantic_core.ValidationError", "argparse.ArgumentError":
		if sub.words == "the argument handling" || ph == fact.Args {
			return "invalid-argument"
		}
	}
	return "server-bug"
}

// unclear says that the log does not show the cause.
func (e *eval) unclear() *candidate {
	if e.l.Outcome == finding.Stopped {
		return e.stopped()
	}
	f := &fallback{id: "GEN-UNCLEAR", cause: "unclear", severity: finding.Error}
	file := e.l.Files[len(e.l.Files)-1]
	last := finding.Evidence{Kind: "log", File: file.Name, Line: file.Last, Text: file.LastText, Note: "last line of the log"}
	switch {
	case len(e.l.Clusters) > 0:
		c := e.lastCluster()
		f.title = "the log does not show the cause"
		f.why = "Error lines are there, but none of them names a cause that a rule knows, and there is no traceback."
		f.evidence = []finding.Evidence{{Kind: "log", File: c.Pos.File, Line: c.Pos.Line, Text: c.Text}, last}
		f.decide = []string{"the standard error of the server process and its exit code", "dmesg of the host at that time (oom-kill, Xid)"}
	case e.l.Outcome == finding.Stalled:
		f.id, f.title = "GEN-UNCLEAR-END", "the log ends without a trace "+phaseWords[e.l.Phase]
		f.why = e.noErrorWords() + " Either the log was cut or is still growing, or the process hangs, or it was killed from outside (kernel OOM killer, a supervisor, a person): such a death leaves nothing in the server's own log."
		f.severity = finding.Warning
		f.evidence = []finding.Evidence{last}
		f.decide = []string{"is the process still alive? ps, then py-spy dump --pid of the stuck rank", "dmesg | grep -i -e oom -e xid at the time of the last line", "the exit code of the process or container (137: killed)"}
	default:
		f.title = "the log does not show the cause"
		f.why = "The server ended and no line before the end names a cause."
		f.evidence = []finding.Evidence{last}
		f.decide = []string{"the standard error of the server process and its exit code", "dmesg of the host at that time (oom-kill, Xid)"}
	}
	return &candidate{fallback: f, role: Cause, confidence: finding.Possible, seq: e.l.LastSeq, basis: "no named error fits"}
}

func (e *eval) noErrorWords() string {
	if e.l.ErrorLines == 0 {
		return "No error line exists."
	}
	return fmt.Sprintf("None of the %d error-like lines names a cause.", e.l.ErrorLines)
}

func (e *eval) lastCluster() *launch.Cluster {
	return slices.MaxFunc(e.l.Clusters, func(a, b *launch.Cluster) int { return cmp.Compare(a.Seq, b.Seq) })
}

// stopped reports an interruption from outside.
func (e *eval) stopped() *candidate {
	f := &fallback{
		id: "GEN-STOP", cause: "stopped-by-user", severity: finding.Info, title: "stopped from outside",
		why: "The log shows an interruption (Ctrl-C, SIGTERM or a cancelled job) and no failure before it. Errors after it belong to the shut-down.",
	}
	for i := range e.l.Events {
		ev := &e.l.Events[i]
		ln := ev.Watch.Line
		if ln == nil || len(f.evidence) >= 4 {
			continue
		}
		if ln.Kind == engine.Stop || ln.Kind == engine.Exit && ev.Seq == e.l.StopSeq {
			f.evidence = append(f.evidence, logEvidence(ev, ""))
		}
	}
	for _, t := range e.l.Traces {
		if !t.Interrupted() || len(f.evidence) >= maxEvidence {
			continue
		}
		for i := range t.Chain {
			if x := &t.Chain[i]; x.Type == "KeyboardInterrupt" {
				f.evidence = append(f.evidence, finding.Evidence{Kind: "log", File: t.File, Line: x.At, Text: cmp.Or(first(x.Texts), x.Type)})
				break
			}
		}
	}
	slices.SortStableFunc(f.evidence, func(a, b finding.Evidence) int { return cmp.Compare(a.Line, b.Line) })
	return &candidate{fallback: f, role: Cause, confidence: finding.Likely, seq: e.l.StopSeq, basis: "the interruption stands in the log"}
}
