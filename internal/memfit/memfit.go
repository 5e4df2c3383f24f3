// Package memfit reckons how a launch will use the memory of one GPU: weights,
// KV cache, graphs, and what is left. Weights are counted per layer from
// config.json; the KV cache follows the engine's own sizing formulas. Nothing
// is measured: the parts that only a run can show (start-up use, activations,
// graphs) are estimates and are named as such.
//
// Sizes are in bytes unless a name says GiB. All functions are pure.
package memfit

import (
	"fmt"
	"math"

	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
)

// Input is one launch.
type Input struct {
	Engine    string // "sglang", "vllm"
	Version   string // release whose formulas are used
	Model     *hfconfig.Model
	GPU       hardware.GPU
	Effective map[string]any // settings by the engine's own names, as plan.Result has them
	Runtime   map[string]any
	FileBytes float64         // size of the weight files, all of them; 0 when they are not at hand
	Draft     *hfconfig.Model // a draft model of its own; nil for none
	// Tensors are those of the weight files, nil when they are not at hand. With
	// them the weights are added up, and not reckoned from config.json.
	Tensors []Tensor
}

// Item is one use of memory.
type Item struct {
	Name string
	GiB  float64
	How  string // the formula with its values
}

// Estimate is the use of one GPU, the one that holds most.
type Estimate struct {
	TotalGiB      float64
	Items         []Item
	LeftGiB       float64
	Tokens        int     // capacity of the KV cache
	BytesPerToken float64 // on this GPU, all its layers
	Fits          bool
	Text          string
	Notes         []string
}

const gib = 1 << 30

// UnknownError says what the config does not tell.
type UnknownError struct{ What string }

func (e *UnknownError) Error() string { return "memory cannot be reckoned: " + e.What }

// Fit reckons a launch. It returns an *UnknownError for a model whose sizes the
// config does not give, and for an engine without formulas.
func Fit(in Input) (Estimate, error) {
	s, ok := newShape(in.Model)
	if !ok {
		return Estimate{}, &UnknownError{"config.json does not give hidden_size, num_hidden_layers and num_attention_heads"}
	}
	if in.GPU.MemoryMiB <= 0 {
		return Estimate{}, &UnknownError{"the memory of the GPU is not known"}
	}
	v := values{in.Effective, in.Runtime}
	e := &estimator{in: in, s: s, v: v, total: float64(in.GPU.MemoryMiB) / 1024}
	switch in.Engine {
	case "sglang":
		return e.sglang()
	case "vllm":
		return e.vllm()
	}
	return Estimate{}, &UnknownError{"no formulas for " + in.Engine}
}

// values reads settings with Python's types.
type values struct{ effective, runtime map[string]any }

func (v values) get(name string) any {
	if x, ok := v.effective[name]; ok {
		return x
	}
	return v.runtime[name]
}

func (v values) number(name string, otherwise float64) float64 {
	switch x := v.get(name).(type) {
	case int:
		return float64(x)
	case float64:
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x
		}
	}
	return otherwise
}

func (v values) whole(name string, otherwise int) int { return int(v.number(name, float64(otherwise))) }

func (v values) text(name string) string { s, _ := v.get(name).(string); return s }

func (v values) on(name string) bool { b, _ := v.get(name).(bool); return b }

// estimator collects the parts of one estimate.
type estimator struct {
	in    Input
	s     *shape
	v     values
	total float64 // GiB
	out   Estimate
}

func (e *estimator) item(name string, size float64, how string) {
	e.out.Items = append(e.out.Items, Item{Name: name, GiB: size, How: how})
}

func (e *estimator) note(format string, args ...any) {
	e.out.Notes = append(e.out.Notes, fmt.Sprintf(format, args...))
}

// Memory in use on a device before any weight is loaded, in GiB: the context of
// CUDA or HIP with the libraries' own memory, and the communicators of a group.
// Source: "Load weight begin. avail mem" of SGLang logs against the memory of
// the device: RTX PRO 6000 tp 8 1.51, RTX A6000 1.06, H100 1.0, MI355X tp 8 4.5;
// GB10, whose memory the system shares, 4.3.
const (
	contextGiB  = 1.1
	groupGiB    = 0.35
	groupAMDGiB = 3.4
	unifiedGiB  = 4.3
)

// startup is what is in use before the weights are loaded.
func (e *estimator) startup(ranks int) float64 {
	switch {
	case e.in.GPU.Unified:
		return unifiedGiB
	case ranks <= 1:
		return contextGiB
	case e.in.GPU.AMD():
		return contextGiB + groupAMDGiB
	}
	return contextGiB + groupGiB
}

// weigh counts the weights on the fullest GPU, in GiB. Where the files are at
// hand their size settles what the config leaves open.
func (e *estimator) weigh(quantization, dtype string, d split, withDraft bool) float64 {
	if len(e.in.Tensors) > 0 {
		return e.weighTensors(d, withDraft)
	}
	f := newFormat(e.in.Model, quantization, dtype)
	w := newWeights(e.s, f, d, withDraft)
	per, how := w.perGPU/gib, fmt.Sprintf("%.4g billion weights counted from config.json", w.params/1e9)
	if f.bytes > 0 {
		how += ", " + f.name
	}
	if onDisk := e.in.FileBytes; onDisk > 0 {
		ratio := onDisk / w.total
		if ratio > 0.9 && ratio < 1.25 && w.params > 0 {
			// More on disk than counted are layers for multi-token prediction,
			// which are not loaded, or small tensors; less is a part left out.
			how += fmt.Sprintf("; the files hold %.1f GiB, %.1f were counted", onDisk/gib, w.total/gib)
		} else if w.params > 0 {
			per *= ratio
			how = fmt.Sprintf("%.1f GiB in the files, divided as config.json says", onDisk/gib)
		}
	}
	e.item("weights", per, how)
	if w.draft > 0 {
		e.item("draft layers", w.draft/gib, fmt.Sprintf("%d layers for multi-token prediction", e.s.mtp))
		per += w.draft / gib
	}
	if e.s.vision > 0 {
		e.note("the vision part is counted roughly")
	}
	return per + e.weighDraft(d)
}

// weighDraft counts a draft model of its own. Engines keep its embedding with
// the model's where they can; that is left out of account.
func (e *estimator) weighDraft(d split) float64 {
	if e.in.Draft == nil {
		return 0
	}
	s, ok := newShape(e.in.Draft)
	if !ok {
		e.note("the draft model's size cannot be counted from its config.json")
		return 0
	}
	w := newWeights(s, newFormat(e.in.Draft, "", ""), split{tp: d.tp, attn: d.tp, expert: d.tp, embed: d.tp, pp: 1}, false)
	e.item("draft model", w.perGPU/gib, fmt.Sprintf("%.4g billion weights counted from its config.json", w.params/1e9))
	e.note("the draft model's own KV cache is left out")
	return w.perGPU / gib
}

// finish closes the estimate.
func (e *estimator) finish(kvGiB float64, tokens int, perToken float64, verdict string) Estimate {
	used := 0.0
	for _, it := range e.out.Items {
		used += it.GiB
	}
	e.out.TotalGiB, e.out.Tokens, e.out.BytesPerToken = e.total, max(tokens, 0), perToken
	e.out.LeftGiB = e.total - used
	e.out.Fits, e.out.Text = tokens > 0 && kvGiB > 0 && e.out.LeftGiB > 0, verdict
	return e.out
}
