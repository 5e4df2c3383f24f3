// Package inspect says what a checkpoint is, what is wrong with it, and what will
// go wrong with it on named hardware and engines, without a GPU. It turns what
// package checkpoint read into findings.
//
// Terms: a check is one thing that can be wrong, documented as a rule is, in the
// table Checks; a group is a kind of module (attention, routed experts ...); a
// collapsed name stands for many that differ in numbers only
// ("model.layers.{3-77}.mlp.gate").
//
// Severity error is kept for what is broken in the files themselves; what breaks
// only with an engine, a GPU or a parallel layout that the user named is a
// warning; everything else is info.
package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/hardware"
)

// Options is one question.
type Options struct {
	GPU     *hardware.GPU // nil: no GPU named
	Engine  string        // "sglang", "vllm", "llamacpp"; empty: none named
	Version string        // of the engine; empty: not named
	Context int           // tokens that one request must have room for; 0: as config.json says
	// TP, PP and EP are the parallel layout; 0: TP is the number of GPUs, PP and EP
	// are 1.
	TP, PP, EP int
	Argv       []string // further options of the launch, in the engine's own words
	Tensor     string   // describe this tensor
	Layer      int      // describe the tensors of this layer; -1: none
	Scan       bool     // read every value
	// Progress is called now and then with the bytes read and all that are to be
	// read; nil: never. It is called from several goroutines, one at a time.
	Progress func(done, total int64)
}

// inspector is one run.
type inspector struct {
	o        Options
	c        *checkpoint.Checkpoint
	l        *layout
	findings []finding.FindingMsg
	notes    []string
	memory   *finding.MemoryMsg
	tensors  []finding.TensorMsg
	scanned  int64
}

// Result is the answer: messages in the order in which they are shown.
type Result struct {
	Checkpoint finding.CheckpointMsg
	Tensors    []finding.TensorMsg
	Findings   []finding.FindingMsg // errors first
	Memory     *finding.MemoryMsg   // nil when nothing can be reckoned
}

// Problem says whether there is an error or a warning.
func (r *Result) Problem() bool {
	return slices.ContainsFunc(r.Findings, func(f finding.FindingMsg) bool { return f.Severity != finding.Info })
}

// NoTensorError says that a tensor or layer that was asked for is not there.
type NoTensorError struct {
	Name string
	Near []string // names that are spelled alike
}

func (e *NoTensorError) Error() string {
	s := fmt.Sprintf("the checkpoint has no %s", e.Name)
	if len(e.Near) > 0 {
		s += "; similar: " + strings.Join(e.Near, ", ")
	}
	return s
}

// Run inspects an open checkpoint. The error is a *NoTensorError, a failure to
// read the files, or that of ctx; what is wrong with the checkpoint is in the
// findings.
func Run(ctx context.Context, c *checkpoint.Checkpoint, o Options) (*Result, error) {
	x := &inspector{o: o, c: c, l: newLayout(c)}
	x.files()
	x.config()
	if c.Format == checkpoint.Safetensors {
		x.shapes()
		x.quantisation()
		x.draftLayers()
		x.indexers()
	} else {
		x.ggufShapes()
	}
	x.tokenizer()
	x.parallel()
	x.fit()
	x.engine()
	if err := x.scales(ctx); err != nil {
		return nil, err
	}
	if o.Scan {
		if err := x.scan(ctx); err != nil {
			return nil, err
		}
	}
	if err := x.describeTensors(); err != nil {
		return nil, err
	}
	r := &Result{Checkpoint: x.describe(), Tensors: x.tensors, Findings: x.findings, Memory: x.memory}
	slices.SortStableFunc(r.Findings, func(a, b finding.FindingMsg) int { return rank(a) - rank(b) })
	for i := range r.Findings {
		r.Findings[i].Rank = i + 1
	}
	return r, nil
}

// rank orders findings: errors, warnings, remarks.
func rank(f finding.FindingMsg) int {
	switch f.Severity {
	case finding.Error:
		return 0
	case finding.Warning:
		return 1
	}
	return 2
}

// hit is one finding before it has its check's texts.
type hit struct {
	subject  finding.Subject
	title    string // empty: the check's own
	why      string // empty: the check's own
	severity finding.Severity
	evidence []finding.Evidence
	count    int
	remedies []finding.Remedy // before those of the check
	sure     finding.Confidence
}

// add makes a finding of a check.
func (x *inspector) add(id string, h hit) {
	c := checkByID[id]
	f := finding.FindingMsg{
		ID: id, Cause: c.Cause, Severity: c.Severity, Confidence: finding.Proven, Role: "cause",
		Title: c.Title, Why: c.Why, Count: max(h.count, 1), Evidence: h.evidence, Sources: c.Sources,
	}
	subject := h.subject
	f.Subject = &subject
	if h.title != "" {
		f.Title = h.title
	}
	if h.why != "" {
		f.Why = h.why
	}
	if h.severity != "" {
		f.Severity = h.severity
	}
	if h.sure != "" {
		f.Confidence = h.sure
	}
	if f.Severity == finding.Info {
		f.Role = "remark"
	}
	f.Remedies = h.remedies
	if c.Remedy != "" {
		f.Remedies = append(f.Remedies, finding.Remedy{Title: c.Remedy})
	}
	x.findings = append(x.findings, f)
}

// named says whether the user named an engine, one of these if there are any.
func (x *inspector) named(engines ...string) bool {
	if len(engines) == 0 {
		return x.o.Engine != ""
	}
	return slices.Contains(engines, x.o.Engine)
}

// onNamed is a warning when the user named an engine that this concerns, else a
// remark.
func (x *inspector) onNamed(engines ...string) finding.Severity {
	if x.named(engines...) {
		return finding.Warning
	}
	return finding.Info
}

// where is the evidence of one tensor.
func where(t *checkpoint.Tensor, text string) finding.Evidence {
	return finding.Evidence{Kind: "tensor", File: t.File, Tensor: t.Name, Text: text}
}

// says is the evidence of a field of a configuration file.
func says(file, field, text string) finding.Evidence {
	return finding.Evidence{Kind: "config", File: file, Field: field, Text: text}
}
