package numerics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Default is the set that Parse takes when the text names none.
const Default = "exact"

// set is a named Numerics and what it stands for.
type set struct {
	name, about string
	num         Numerics
}

var reference = Numerics{
	Act: F32, Rounding: Eager, Norm: CastFirst, Gemm: WeightOnly, ActScale: ActScaleF32, KV: KVAct, IndexKV: IndexAct,
	Scales: ScalesExact, MoEScales: ScalesExact, Weights: WeightsExact,
	Eps: EpsReference, MLA: Expanded, Router: RouterF32, Experts: ExpertsEager, Rope: RopeConfig, IndexRope: RopeConfig,
	MTP: MTPPostNorm, Hadamard: HadamardOff, Page: 64,
}

// serving is what SGLang and vLLM share: bfloat16 with fused kernels, quantised inputs,
// the config's epsilon, absorbed decode and sums of experts in float32.
func serving(change func(*Numerics)) Numerics {
	n := reference
	n.Act, n.Rounding, n.Norm, n.Gemm = BF16, Fused, FusedSum, Scheme
	n.KV, n.Eps, n.MLA, n.Experts = KVBF16, EpsConfig, Absorbed, ExpertsF32
	change(&n)
	return n
}

var sets = []set{
	{"exact", "float32 activations, weights exactly as stored, latent cache; nothing else is rounded", with(reference, func(n *Numerics) { n.MLA = Absorbed })},
	{"hf-f32", "transformers with torch_dtype float32, eager attention and experts", reference},
	{"hf-bf16", "transformers with torch_dtype bfloat16, eager attention and experts", with(reference, func(n *Numerics) { n.Act, n.Weights = BF16, WeightsBF16 })},
	{"ggml", "llama.cpp on a CPU: 8-bit inputs and integer products for block formats, F16 keys and values", with(reference, func(n *Numerics) {
		n.Rounding, n.Norm, n.Gemm, n.KV, n.Eps, n.MLA, n.Experts = Fused, CastLast, GGML, KVF16, EpsConfig, Absorbed, ExpertsF32
	})},
	// SGL 0.5.9 server_args.py:1129-1177: on SM120 a DSA model gets an FP8 KV
	// cache and flashmla_kv; DeepGEMM counts SM120 as Blackwell until 0.5.12, so
	// float32 block scales meet its packing (deep_gemm_wrapper/configurer.py).
	// nsa_indexer.py of that release transforms and rounds scales to powers of
	// two. Experts run on triton, with their scales as stored (the MoE runner
	// stays auto for FP8 on SM120).
	{"sglang-0.5.9-sm120-auto", "SGLang 0.5.9 on SM120 with nothing chosen: FP8 KV records, DeepGEMM scales packed as if they were powers of two", serving(func(n *Numerics) {
		n.KV, n.IndexKV, n.Hadamard, n.Scales, n.ActScale = KV656, Index132E8M0, HadamardOn, ScalesPacked, ActScaleE8M0
	})},
	{"sglang-bf16kv", "SGLang with --kv-cache-dtype bf16 and without DeepGEMM; indexer of 0.5.15 and later", serving(func(n *Numerics) { n.IndexKV = Index132 })},
	// SGL 0.5.18 overrides.py:1595-1747: SM100 takes FP8 KV without block scales
	// and requantises float32 block scales (fp8_utils.py:1440).
	{"sglang-0.5.18-sm100-auto", "SGLang 0.5.18 on SM100: raw FP8 KV, weights requantised to power-of-two scales", serving(func(n *Numerics) {
		n.KV, n.IndexKV, n.Scales, n.MoEScales, n.ActScale = KV576, Index132, ScalesE8M0, ScalesE8M0, ActScaleE8M0
	})},
	// VL: VLLM_USE_DEEP_GEMM_E8M0 is 1, so weights are requantised on Hopper and
	// Blackwell; indexer keys have power-of-two scales; the KV cache is bfloat16
	// unless fp8 is asked for. With --enforce-eager the norms are norm=cast-first.
	{"vllm-bf16kv", "vLLM with kv-cache-dtype auto: bfloat16 KV, DeepGEMM with requantised power-of-two scales", serving(func(n *Numerics) {
		n.IndexKV, n.Scales, n.MoEScales, n.ActScale = Index132E8M0, ScalesE8M0, ScalesE8M0, ActScaleE8M0
	})},
	{"vllm-fp8-ds-mla", "vLLM with kv-cache-dtype fp8_ds_mla", serving(func(n *Numerics) {
		n.KV, n.IndexKV, n.Scales, n.MoEScales, n.ActScale = KVDSMLA, Index132E8M0, ScalesE8M0, ScalesE8M0, ActScaleE8M0
	})},
}

func with(n Numerics, change func(*Numerics)) Numerics {
	change(&n)
	return n
}

// field is one switch: its name, its values and how it is set.
type field struct {
	name   string
	values []string
	set    func(*Numerics, string)
}

func choice[T ~string](name string, of func(*Numerics) *T, values ...T) field {
	f := field{name: name, set: func(n *Numerics, v string) { *of(n) = T(v) }}
	for _, v := range values {
		f.values = append(f.values, string(v))
	}
	return f
}

var fields = []field{
	choice("act", func(n *Numerics) *Act { return &n.Act }, F32, BF16, F16),
	choice("rounding", func(n *Numerics) *Rounding { return &n.Rounding }, Eager, Fused),
	choice("norm", func(n *Numerics) *Norm { return &n.Norm }, CastFirst, CastLast, FusedSum),
	choice("gemm", func(n *Numerics) *Gemm { return &n.Gemm }, WeightOnly, Scheme, GGML),
	choice("act-scale", func(n *Numerics) *ActScale { return &n.ActScale }, ActScaleF32, ActScaleE8M0),
	choice("kv", func(n *Numerics) *KV { return &n.KV }, KVAct, KVF32, KVBF16, KVF16, KV656, KVDSMLA, KV576, KV656As576),
	choice("index-kv", func(n *Numerics) *IndexKV { return &n.IndexKV }, IndexAct, Index132, Index132E8M0),
	{name: "scales", values: []string{string(ScalesExact), string(ScalesE8M0), string(ScalesCeil), string(ScalesPacked)}, // of all matrices
		set: func(n *Numerics, v string) { n.Scales, n.MoEScales = Scales(v), Scales(v) }},
	choice("expert-scales", func(n *Numerics) *Scales { return &n.MoEScales }, ScalesExact, ScalesE8M0, ScalesCeil, ScalesPacked),
	choice("weights", func(n *Numerics) *Weights { return &n.Weights }, WeightsExact, WeightsBF16),
	choice("latent-eps", func(n *Numerics) *Eps { return &n.Eps }, EpsReference, EpsConfig),
	choice("mla", func(n *Numerics) *MLA { return &n.MLA }, Expanded, Absorbed),
	choice("router", func(n *Numerics) *Router { return &n.Router }, RouterF32, RouterAct),
	choice("experts", func(n *Numerics) *Experts { return &n.Experts }, ExpertsEager, ExpertsF32),
	choice("rope", func(n *Numerics) *RopeLayout { return &n.Rope }, RopeConfig, RopeHalf, RopeInterleave),
	choice("index-rope", func(n *Numerics) *RopeLayout { return &n.IndexRope }, RopeConfig, RopeHalf, RopeInterleave),
	choice("mtp", func(n *Numerics) *MTP { return &n.MTP }, MTPPostNorm, MTPPreNorm),
	choice("hadamard", func(n *Numerics) *Hadamard { return &n.Hadamard }, HadamardOff, HadamardOn),
	{name: "fault", values: []string{string(StalePage), string(StaleHit), string(NoInputScale), string(SwapGateUp), string(FusedSharedCount), string(UninitialisedShard)},
		set: func(n *Numerics, v string) {
			if !n.Has(Fault(v)) {
				n.Faults = append(slices.Clone(n.Faults), Fault(v))
			}
		}},
}

// maxPage bounds page=N.
const maxPage = 1 << 16

// Parse reads the value of --numerics: the name of a set, switches such as
// kv=fp8_656, or a set followed by switches, separated by commas. Without a set
// the switches change Default. An unknown word is an error that lists the known
// ones.
func Parse(text string) (Numerics, error) {
	n := find(Default).num
	n.Name = text
	for i, word := range strings.Split(text, ",") {
		key, value, isSwitch := strings.Cut(word, "=")
		if isSwitch {
			if err := n.set(key, value); err != nil {
				return Numerics{}, err
			}
			continue
		}
		s := find(word)
		switch {
		case s == nil:
			return Numerics{}, fmt.Errorf("numerics %q is not known: %s are; or switches %s", word, strings.Join(Names(), ", "), strings.Join(switches(), ", "))
		case i > 0:
			return Numerics{}, fmt.Errorf("numerics %q: the set comes first and is the only one", word)
		}
		n = s.num
		n.Name = text
	}
	return n, nil
}

func (n *Numerics) set(key, value string) error {
	if key == "page" {
		p, err := strconv.Atoi(value)
		if err != nil || p < 1 || p > maxPage {
			return fmt.Errorf("page=%s: a number of tokens from 1 to %d is expected", value, maxPage)
		}
		n.Page = p
		return nil
	}
	for _, f := range fields {
		if f.name != key {
			continue
		}
		if !slices.Contains(f.values, value) {
			return fmt.Errorf("%s=%s is not known: %s are", key, value, strings.Join(f.values, ", "))
		}
		f.set(n, value)
		return nil
	}
	return fmt.Errorf("switch %q is not known: %s are", key, strings.Join(switches(), ", "))
}

func find(name string) *set {
	for i := range sets {
		if sets[i].name == name {
			return &sets[i]
		}
	}
	return nil
}

// Names lists the named sets.
func Names() []string {
	var names []string
	for _, s := range sets {
		names = append(names, s.name)
	}
	return names
}

// About says what a named set stands for, in one line; it is empty for an
// unknown name.
func About(name string) string {
	if s := find(name); s != nil {
		return s.about
	}
	return ""
}

// Switch is one switch of a Numerics with its possible values.
type Switch struct {
	Name   string
	Values []string
}

// Switches lists all switches.
func Switches() []Switch {
	var out []Switch
	for _, f := range fields {
		out = append(out, Switch{f.name, slices.Clone(f.values)})
	}
	return append(out, Switch{"page", []string{"N"}})
}

func switches() []string {
	var names []string
	for _, s := range Switches() {
		names = append(names, s.Name)
	}
	return names
}
