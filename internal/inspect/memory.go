package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/memfit"
	"shakedown/internal/plan"
	"shakedown/internal/plan/all"
)

const gib = 1 << 30

// fit reckons the memory of one GPU: with the engine's own sizing when an engine
// with a resolver was named, else from what the weights leave.
func (x *inspector) fit() {
	if x.o.GPU == nil || x.c.Config.Config == nil {
		return
	}
	in := memfit.Input{Model: &x.c.Config, GPU: *x.o.GPU}
	for _, t := range x.c.Tensors() {
		if t.Known() {
			in.Tensors = append(in.Tensors, memfit.Tensor{Name: t.Name, Bytes: float64(t.Size)})
		}
	}
	if x.incomplete() {
		in.Tensors = nil // some are missing: config.json knows better
	}
	tp, pp, ep := x.degrees()
	est, err := x.fitEngine(in)
	if err != nil {
		if x.o.Engine != "" {
			x.notes = append(x.notes, "memory is reckoned without the engine's own sizing: "+err.Error())
		}
		est, err = memfit.Room(in, tp, ep, pp)
	}
	if err != nil {
		x.notes = append(x.notes, err.Error())
		return
	}
	x.memory = &finding.MemoryMsg{
		Total: est.TotalGiB, Left: est.LeftGiB, KVTokens: est.Tokens, BytesPerToken: est.BytesPerToken,
		Fits: est.Fits, Text: est.Text, Notes: est.Notes,
	}
	for _, it := range est.Items {
		x.memory.Items = append(x.memory.Items, finding.MemoryItem{Name: it.Name, Size: it.GiB, How: it.How})
	}
	x.judgeMemory(est, tp)
}

// fitEngine asks the engine's resolver for the settings that sizing depends on.
func (x *inspector) fitEngine(in memfit.Input) (memfit.Estimate, error) {
	if x.o.Engine == "" || x.o.Version == "" {
		return memfit.Estimate{}, fmt.Errorf("it needs an engine with its release (--engine sglang@0.5.9)")
	}
	engine, err := all.Find(x.o.Engine)
	if err != nil {
		return memfit.Estimate{}, err
	}
	c := plan.Case{Engine: x.o.Engine, Version: x.o.Version, Deps: engine.Pins(x.o.Version), GPU: *x.o.GPU, Model: &x.c.Config, Argv: x.argv()}
	res := engine.Resolve(c)
	if newer := firstTransformers[x.l.family]; newer != "" && res.Refusal != nil && strings.Contains(res.Refusal.Message, "does not recognize this architecture") {
		x.unknownType(c.Deps["transformers"], newer)
		c.Deps = maps.Clone(c.Deps)
		c.Deps["transformers"] = newer
		res = engine.Resolve(c)
	}
	if res.Refusal != nil {
		return memfit.Estimate{}, fmt.Errorf("%s %s would refuse this launch: %s", x.o.Engine, x.o.Version, res.Refusal.Message)
	}
	in.Engine, in.Version, in.Effective, in.Runtime = x.o.Engine, res.Version, res.Effective, res.Runtime
	return memfit.Fit(in)
}

// firstTransformers is the first release of transformers that knows a family and
// computes it as engines do.
// Source: tags of huggingface/transformers.
var firstTransformers = map[string]string{"glm_moe_dsa": "5.2.0", "glm4_moe_lite": "5.0.0"}

// unknownType reports that the engine's own transformers does not know the model.
func (x *inspector) unknownType(pinned, newer string) {
	to := "transformers>=" + newer
	x.add("CKPT-ENG-005", hit{
		subject:  finding.Subject{File: configFile, Field: "model_type"},
		title:    fmt.Sprintf("%s %s comes with transformers %s, which does not know %s", x.o.Engine, x.o.Version, pinned, x.l.family),
		evidence: []finding.Evidence{says(configFile, "model_type", x.l.family)},
		remedies: []finding.Remedy{{Title: fmt.Sprintf("pip install %q", to)}},
	})
}

// argv is the question as options of the engine.
func (x *inspector) argv() []string {
	tp, pp, ep := x.degrees()
	names := [...]string{"--tensor-parallel-size", "--pipeline-parallel-size", "--context-length"}
	var out []string
	if x.o.Engine == "vllm" {
		names[2] = "--max-model-len"
		if ep > 1 {
			out = append(out, "--enable-expert-parallel")
		}
	} else if ep > 1 {
		out = append(out, "--ep-size", strconv.Itoa(ep))
	}
	for i, n := range [...]int{tp, pp, x.o.Context} {
		if i < 2 && n > 1 || i == 2 && n > 0 {
			out = append(out, names[i], strconv.Itoa(n))
		}
	}
	if x.o.Engine == "sglang" && !slices.Contains(x.o.Argv, "--quantization") && x.before("sglang", "0.5.10") && x.c.Quantisation() != nil && x.stores(checkpoint.NVFP4) {
		// Without it 0.5.9 takes the FP8 loader for a modelopt NVFP4 checkpoint.
		out = append(out, "--quantization", "modelopt_fp4")
	}
	return append(out, x.o.Argv...)
}

// stores says whether some weight is stored in this way.
func (x *inspector) stores(s checkpoint.Storage) bool {
	for _, m := range x.c.Modules() {
		if m.Storage == s {
			return true
		}
	}
	return false
}

// judgeMemory makes findings of an estimate.
func (x *inspector) judgeMemory(est memfit.Estimate, tp int) {
	weights := 0.0
	for _, it := range est.Items {
		if it.Name == "weights" {
			weights = it.GiB
		}
	}
	name := x.o.GPU.Name
	wanted := x.o.Context
	switch {
	case weights > est.TotalGiB || !est.Fits && est.Tokens == 0:
		x.add("CKPT-MEM-001", hit{
			subject: finding.Subject{File: x.someFile()}, sure: finding.Likely,
			title:    fmt.Sprintf("The weights do not fit: %.1f GiB are needed on each of %s, %.1f are there", weights, gpus(tp, name), est.TotalGiB),
			why:      est.Text,
			evidence: []finding.Evidence{{Kind: "tensor", Text: fmt.Sprintf("%.1f GiB of weights on one GPU", weights)}},
		})
	case wanted > 0 && est.Tokens < wanted, !est.Fits:
		need := float64(max(wanted, est.Tokens)) * est.BytesPerToken / gib
		x.add("CKPT-MEM-002", hit{
			subject: finding.Subject{File: configFile, Field: "max_position_embeddings"}, sure: finding.Likely,
			title:    fmt.Sprintf("Room for %s tokens of KV cache, %s are asked for (%.1f GiB)", group(int64(est.Tokens)), group(int64(wanted)), need),
			why:      est.Text,
			evidence: []finding.Evidence{{Kind: "tensor", Text: fmt.Sprintf("%.0f bytes per token on one GPU", est.BytesPerToken)}},
		})
	}
}

func gpus(n int, name string) string {
	if n == 1 {
		return "one " + name
	}
	return fmt.Sprintf("%d %s", n, name)
}
