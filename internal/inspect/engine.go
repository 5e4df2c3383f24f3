package inspect

import (
	"fmt"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
)

// major is the major number of the GPU's compute capability, 0 when no NVIDIA
// GPU was named.
func (x *inspector) major() int {
	if x.o.GPU == nil {
		return 0
	}
	major, _ := x.o.GPU.Capability()
	return major
}

// before says whether the engine was named with a release older than version.
func (x *inspector) before(engine, version string) bool {
	if x.o.Engine != engine || x.o.Version == "" {
		return false
	}
	r, err := flags.ParseRange("<" + version)
	if err != nil {
		return false
	}
	v, err := flags.ParseVersion(x.o.Version)
	return err == nil && r.Has(v)
}

// scaleUse says whether the named engine and GPU make something else of FP8
// scales that are no powers of two, and what.
// Sources: sglang/srt/layers/deep_gemm_wrapper/configurer.py (0.5.9, 0.5.12,
// 0.5.13), sglang/srt/layers/quantization/fp8_utils.py requant_weight_ue8m0
// (0.5.18), vllm/utils/deep_gemm.py and fp8_utils.py (0.24).
func (x *inspector) scaleUse() (bool, string) {
	major := x.major()
	const requantised = "The engine requantises the weights to power-of-two scales while loading: up to one mantissa bit is lost (about 2.6 % relative error was measured)."
	switch {
	case x.o.Engine == "sglang" && x.before("sglang", "0.5.13") && major >= 11:
		return true, "This release takes every Blackwell GPU for one whose DeepGEMM reads packed exponents, this one too."
	case x.o.Engine == "sglang" && major == 10:
		return true, requantised
	case x.o.Engine == "vllm" && (major == 9 || major == 10 || major == 12):
		return true, requantised + " VLLM_USE_DEEP_GEMM_E8M0=0 keeps the scales on Hopper."
	case x.o.Engine == "" && (major == 10 || major == 12):
		return true, "Engines that use DeepGEMM on this GPU pack scales by exponent: those that don't requantise first compute with wrong scales, those that do lose up to one mantissa bit."
	}
	return false, ""
}

// need is the first release of an engine that serves a model.
type need struct {
	family, engine, version string
	when                    func(*layout) bool // nil: always
	why                     string
}

// needs are the releases in which engines learned families.
// Sources: zai-org/GLM-5 README (218be524) for GLM-5.2; sglang tags v0.5.8 and
// v0.5.9 for glm_moe_dsa.
var needs = []need{
	{"glm_moe_dsa", "sglang", "0.5.9", nil, "its list of sparse-attention models has GlmMoeDsaForCausalLM from 0.5.9 on"},
	{"glm_moe_dsa", "sglang", "0.5.13", (*layout).sharesIndex, "layers that share an index (GLM-5.2 and later) need 0.5.13"},
	{"glm_moe_dsa", "vllm", "0.23", (*layout).sharesIndex, "layers that share an index (GLM-5.2 and later) need 0.23"},
}

// engine reports what breaks with the named engine and GPU.
func (x *inspector) engine() {
	x.deepGEMM()
	for i := len(needs) - 1; i >= 0; i-- {
		n := needs[i]
		if n.family != x.l.family || !x.before(n.engine, n.version) || n.when != nil && !n.when(x.l) {
			continue
		}
		x.add("CKPT-ENG-002", hit{
			subject:  finding.Subject{File: configFile, Field: "model_type"},
			title:    fmt.Sprintf("%s %s is older than this model: %s", n.engine, x.o.Version, n.why),
			evidence: []finding.Evidence{says(configFile, "model_type", x.l.family)},
		})
		break
	}
	x.instructions()
	x.sparseKernels()
}

// deepGEMM: up to SGLang 0.5.12, DeepGEMM with power-of-two scales is switched on
// for all of Blackwell.
func (x *inspector) deepGEMM() {
	q := x.c.Quantisation()
	if q == nil || strings.EqualFold(q.ScaleFmt, "ue8m0") || !x.before("sglang", "0.5.13") || x.major() < 11 {
		return
	}
	for _, m := range x.c.Modules() {
		if m.Storage != checkpoint.NVFP4 && m.Storage != checkpoint.FP8Block {
			continue
		}
		text := "absent"
		if q.ScaleFmt != "" {
			text = q.ScaleFmt
		}
		x.add("CKPT-ENG-001", hit{
			subject: finding.Subject{File: sourceFile(q), Field: "quantization_config.scale_fmt", Tensor: m.Weight.Name}, sure: finding.Likely,
			title:    fmt.Sprintf("SGLang %s turns DeepGEMM on for %s and expects scales that are powers of two; scale_fmt is %s", x.o.Version, x.o.GPU.Arch(), text),
			evidence: []finding.Evidence{says(sourceFile(q), "quantization_config.scale_fmt", text), where(m.Weight, describeWeight(m))},
			remedies: []finding.Remedy{{Title: "switch DeepGEMM off", Env: map[string]string{"SGLANG_ENABLE_JIT_DEEPGEMM": "0"}, Changes: []finding.Change{{Kind: "env", Name: "SGLANG_ENABLE_JIT_DEEPGEMM", To: text0()}}}},
		})
		return
	}
}

func text0() *string { s := "0"; return &s }

// instructions compares the formats with what the GPU computes in.
// Source: CUDA C++ Programming Guide (FP8 from 8.9 on, FP4 from 10.0 on).
func (x *inspector) instructions() {
	if x.o.GPU == nil || x.o.GPU.AMD() || x.major() == 0 {
		return
	}
	major, minor := x.o.GPU.Capability()
	sm := major*10 + minor
	seen := map[checkpoint.Storage]bool{}
	for _, m := range x.c.Modules() {
		if !m.Quantised() || seen[m.Storage] || m.Weight == nil {
			continue
		}
		seen[m.Storage] = true
		from, what := 0, ""
		switch m.Storage {
		case checkpoint.FP8Block, checkpoint.FP8Tensor, checkpoint.FP8Channel, checkpoint.FP8Bare:
			from, what = 89, "FP8"
		case checkpoint.NVFP4, checkpoint.MXFP4Block:
			from, what = 100, "FP4"
		case checkpoint.MXFP8Block:
			from, what = 100, "MXFP8"
		}
		if sm >= from {
			continue
		}
		x.add("CKPT-ENG-003", hit{
			subject:  finding.Subject{File: m.Weight.File, Tensor: m.Weight.Name},
			title:    fmt.Sprintf("%s has no %s arithmetic (needs sm%d): %s weights are expanded by fallback kernels, or refused", x.o.GPU.Name, what, from, m.Storage),
			evidence: []finding.Evidence{where(m.Weight, describeWeight(m))},
		})
	}
}

// sparseKernels: what SGLang selects by itself for sparse attention on GPUs of
// capability 12 does not run there before 0.5.17.
// Source: sglang/srt/server_args.py _set_default_nsa_backends (0.5.9 to 0.5.16).
func (x *inspector) sparseKernels() {
	if !x.l.dsa() || x.major() != 12 || !x.before("sglang", "0.5.17") {
		return
	}
	x.add("CKPT-ENG-004", hit{
		subject:  finding.Subject{File: configFile, Field: "index_topk"},
		title:    fmt.Sprintf("SGLang %s chooses an FP8 KV cache and sparse-attention kernels for %s that are not built for it", x.o.Version, x.o.GPU.Arch()),
		sure:     finding.Likely,
		evidence: []finding.Evidence{says(configFile, "index_topk", fmt.Sprint(x.l.topK))},
	})
}
