package sglang

import (
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
)

var quantMethodLists = [...]string{
	r0502: `fp8 blockwise_int8 modelopt modelopt_fp4 w8a8_int8 w8a8_fp8 awq awq_marlin gptq gptq_marlin moe_wna16
		compressed-tensors qoq w4afp8 petit_nvfp4 fbgemm_fp8 quark`,
	r0506: `fp8 blockwise_int8 modelopt modelopt_fp8 modelopt_fp4 w8a8_int8 w8a8_fp8 awq awq_marlin gguf gptq gptq_marlin
		moe_wna16 compressed-tensors qoq w4afp8 petit_nvfp4 fbgemm_fp8 quark auto-round modelslim`,
	r0508: `fp8 blockwise_int8 modelopt modelopt_fp8 modelopt_fp4 w8a8_int8 w8a8_fp8 awq awq_marlin bitsandbytes gguf gptq
		gptq_marlin moe_wna16 compressed-tensors qoq w4afp8 petit_nvfp4 fbgemm_fp8 quark auto-round modelslim
		quark_int4fp8_moe`,
	r0509: `fp8 mxfp8 blockwise_int8 modelopt modelopt_fp8 modelopt_fp4 w8a8_int8 w8a8_fp8 awq awq_marlin bitsandbytes gguf
		gptq gptq_marlin moe_wna16 compressed-tensors qoq w4afp8 petit_nvfp4 fbgemm_fp8 quark auto-round modelslim
		quark_int4fp8_moe`,
	r0510: methods0510,
	r0512: methods0510,
	r0515: `fp8 mxfp8 blockwise_int8 modelopt modelopt_fp8 modelopt_fp4 nvfp4_online modelopt_mixed w8a8_int8 w8a8_fp8 awq
		awq_marlin bitsandbytes gguf gptq gptq_marlin moe_wna16 compressed-tensors qoq w4afp8 petit_nvfp4 fbgemm_fp8
		quark quark_mxfp4 auto-round auto-round-int8 modelslim quark_int4fp8_moe mxfp_w4a8`,
	r0518: `fp8 mxfp8 blockwise_int8 modelopt modelopt_fp8 modelopt_fp4 nvfp4_online modelopt_mixed w8a8_int8 w8a8_fp8 awq
		awq_marlin bitsandbytes gguf gptq gptq_marlin moe_wna16 compressed-tensors w4afp8 petit_nvfp4 quark quark_mxfp4
		auto-round auto-round-int8 modelslim quark_int4fp8_moe humming mxfp_w4a8`,
	r0523: `fp8 mxfp8 minimax_m3_nvfp4 blockwise_int8 modelopt modelopt_fp8 modelopt_fp4 nvfp4_online modelopt_mixed
		w8a8_int8 w8a8_fp8 awq awq_marlin bitsandbytes gguf gptq_marlin moe_wna16 compressed-tensors w4afp8 petit_nvfp4
		quark quark_mxfp4 auto-round auto-round-int8 modelslim quark_int4fp8_moe humming mxfp_w4a8`,
}

const methods0510 = `fp8 mxfp8 blockwise_int8 modelopt modelopt_fp8 modelopt_fp4 modelopt_mixed w8a8_int8 w8a8_fp8 awq
	awq_marlin bitsandbytes gguf gptq gptq_marlin moe_wna16 compressed-tensors qoq w4afp8 petit_nvfp4 fbgemm_fp8 quark
	auto-round modelslim quark_int4fp8_moe`

// quantMethods is QUANTIZATION_METHODS in its order
// (sglang/srt/layers/quantization/__init__.py).
func (s *state) quantMethods() []string {
	methods := strings.Fields(quantMethodLists[s.r])
	if s.gpu.cuda() || strings.HasPrefix(s.gpu.gfx, "gfx95") {
		methods = append(methods, "mxfp4")
	}
	return methods
}

// rocmMethods run on AMD GPUs.
func (s *state) rocmMethods() []string {
	return strings.Fields(`awq gptq fp8 compressed_tensors compressed-tensors fbgemm_fp8 w8a8_fp8 petit_nvfp4 quark mxfp4
		auto-round quark_int4fp8_moe`)
}

// optimisedMethods are those that SGLang does not call slow.
func (s *state) optimisedMethods() []string {
	mixed := ""
	if s.since(r0510) {
		mixed = " modelopt_mixed"
	}
	return strings.Fields(mixed + ` fp8 marlin modelopt_fp8 modelopt_fp4 gptq_marlin_24 gptq_marlin awq_marlin fbgemm_fp8
		compressed_tensors compressed-tensors experts_int8 w8a8_int8 w8a8_fp8 moe_wna16 qoq w4afp8 petit_nvfp4 quark
		modelslim`)
}

// compatibleMethods are methods that a checkpoint of another name may be
// loaded with.
var compatibleMethods = map[string][]string{
	"modelopt_fp8":   {"modelopt"},
	"modelopt_fp4":   {"modelopt"},
	"modelopt_mixed": {"modelopt"},
	"petit_nvfp4":    {"modelopt"},
	"w8a8_int8":      {"compressed-tensors", "compressed_tensors"},
	"w8a8_fp8":       {"compressed-tensors", "compressed_tensors"},
}

// quantConfigOf is _parse_quant_hf_config: the quantisation that the
// checkpoint's files describe, or nil.
func (s *state) quantConfigOf(hf attrs, model *hfconfig.Model) attrs {
	if q := hf.Obj("quantization_config"); q != nil {
		if q.Has("quant_method") && !(s.since(r0510) && q.Text("quant_method") == "modelopt") {
			return q
		}
		out := make(attrs, len(q)+1)
		for k, v := range q {
			out[k] = v
		}
		if method := s.modeloptMethod(q, hf); method != "" {
			out["quant_method"] = method
		}
		hf["quantization_config"] = out // as SGLang does
		return out
	}
	if q := hf.Obj("compression_config"); q != nil {
		return q
	}
	if q := model.HFQuant.Obj("quantization"); q != nil {
		if method := s.modeloptMethod(q, hf); method != "" {
			out := attrs{"quant_method": method}
			if s.since(r0510) {
				out["quant_algo"] = q["quant_algo"]
			}
			return out
		}
	}
	return nil
}

// modeloptMethod is _parse_modelopt_quant_config.
func (s *state) modeloptMethod(q, hf attrs) string {
	algo := q.Text("quant_algo")
	nemotron := hf.Text("model_type") == "nemotron_h" || slices.ContainsFunc(hf.Strings("architectures"), func(a string) bool { return strings.HasPrefix(a, "NemotronH") })
	switch {
	case algo == "MIXED_PRECISION" && s.since(r0510) && nemotron:
		return "modelopt_mixed"
	case algo == "MIXED_PRECISION":
		return "w4afp8"
	case strings.Contains(algo, "FP4"):
		return "modelopt_fp4"
	case strings.Contains(algo, "FP8"):
		return "modelopt_fp8"
	}
	return ""
}

// verifyQuantization is _verify_quantization: it joins the method that was
// asked for with the one that the checkpoint names.
func (s *state) verifyQuantization(m *modelConfig, o modelOptions) error {
	asked := "quantization"
	if o.draft {
		asked = "speculative_draft_model_quantization"
	}
	m.quantization = strings.ToLower(s.Str(asked))
	m.quantConfig = s.quantConfigOf(m.hf, o.model)
	if q := m.quantConfig; q != nil {
		if err := s.matchQuantization(m, q, o); err != nil {
			return err
		}
	}
	if m.quantization == "" {
		return nil
	}
	if !slices.Contains(s.quantMethods(), m.quantization) {
		return valueError("Unknown quantization method: %s. Must be one of %s.", m.quantization, pyList(s.quantMethods()))
	}
	if s.gpu.hip && !slices.Contains(s.rocmMethods(), m.quantization) {
		return valueError("%s quantization is currently not supported in ROCm.", m.quantization)
	}
	if !slices.Contains(s.optimisedMethods(), m.quantization) && !(m.quantization == "mxfp4" && s.gpu.sm100()) {
		s.warn("%s quantization is not fully optimized yet. The speed can be slower than non-quantized models.", m.quantization)
	}
	return nil
}

func (s *state) matchQuantization(m *modelConfig, q attrs, o modelOptions) error {
	method := q.Text("quant_method")
	if !q.Has("quant_method") {
		method = m.quantization
	}
	method = strings.ToLower(method)
	if other := s.overrideMethod(q, m.quantization); other != "" {
		method, m.quantization = other, other
	}
	switch {
	case m.quantization == "":
		m.quantization = method
	case m.quantization == method:
	case slices.Contains(compatibleMethods[m.quantization], method):
		s.info("Using CLI-specified quantization (%s) which is compatible with HF config quant_method (%s).", m.quantization, method)
	case o.draft:
		s.info("Draft model quantization (%s) differs from main model quantization (%s). Using draft model's detected quantization: %s", method, m.quantization, method)
		m.quantization = method
	default:
		return valueError("Quantization method specified in the model config (%s) does not match the quantization method specified in the `quantization` argument (%s).", method, m.quantization)
	}
	m.ue8m0 = q.Text("scale_fmt") == "ue8m0"
	if _, ue8m0 := s.deepGEMM(); ue8m0 && !m.ue8m0 {
		s.warn("DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0. This might cause accuracy degradation on Blackwell.")
	}
	return nil
}

// overrideMethod asks the methods, in their order, whether one of them takes
// the checkpoint over (override_quantization_method).
func (s *state) overrideMethod(q attrs, asked string) string {
	for _, method := range s.quantMethods() {
		if other := s.override(method, q, asked); other != "" {
			return other
		}
	}
	return ""
}

func (s *state) override(method string, q attrs, asked string) string {
	switch method {
	case "modelopt", "modelopt_fp8", "modelopt_fp4":
		return modeloptOverride(q, asked)
	case "awq_marlin":
		return s.marlin("awq", q, asked, s.awqMarlin(q))
	case "gptq_marlin":
		return s.marlin("gptq", q, asked, s.gptqMarlin(q))
	case "moe_wna16":
		if asked == "moe_wna16" && s.wna16(q) {
			return "moe_wna16"
		}
	case "petit_nvfp4":
		if s.gpu.hip && strings.ToLower(q.Text("quant_method")) == "modelopt" {
			return "petit_nvfp4"
		}
	}
	return ""
}

// modeloptOverride is _modelopt_override_quantization_method.
func modeloptOverride(q attrs, asked string) string {
	algo := strings.ToUpper(q.Text("quant_algo"))
	if asked == "modelopt" {
		switch {
		case strings.Contains(algo, "FP8"):
			return "modelopt_fp8"
		case strings.Contains(algo, "FP4"):
			return "modelopt_fp4"
		}
	}
	if method := q.Text("quant_method"); method == "modelopt_fp8" || method == "modelopt_fp4" {
		return method
	}
	return ""
}

// marlin decides whether an AWQ or GPTQ checkpoint runs with Marlin kernels.
func (s *state) marlin(base string, q attrs, asked string, can bool) string {
	name := base + "_marlin"
	if base == "gptq" && (q.Text("checkpoint_format") == "marlin" || q["is_marlin_format"] == true) {
		return ""
	}
	switch {
	case can && (asked == "" || asked == "marlin" || asked == name):
		s.info("The model is convertible to %s during runtime. Using %s kernel.", name, name)
		return name
	case can && asked == base:
		s.info("Detected that the model can run with %s, however you specified quantization=%s explicitly, so forcing %s. Use quantization=%s for faster inference", name, base, base, name)
	}
	return ""
}

// marlinGroups are the group sizes that Marlin kernels have.
var marlinGroups = []int{-1, 32, 64, 128}

// marlinKernel says whether Marlin kernels take a checkpoint's group size. The
// types that they know come from the kernel package.
func (s *state) marlinKernel(q attrs) bool {
	group, ok := q.Int("group_size")
	return ok && s.deps[kernelPackage] != "" && s.gpu.cuda() && s.gpu.sm() >= 80 && slices.Contains(marlinGroups, group)
}

func (s *state) awqMarlin(q attrs) bool {
	bits, _ := q.Int("bits")
	zero, ok := q.Bool("zero_point")
	return strings.ToLower(q.Text("quant_method")) == "awq" && ok && s.marlinKernel(q) && zero && bits == 4
}

func (s *state) gptqMarlin(q attrs) bool {
	bits, _ := q.Int("bits")
	sym, ok := q.Bool("sym")
	return strings.ToLower(q.Text("quant_method")) == "gptq" && ok && sym && q.Has("desc_act") &&
		(bits == 4 || bits == 8) && s.marlinKernel(q)
}

// wna16 is is_moe_wna16_compatible.
func (s *state) wna16(q attrs) bool {
	bits, _ := q.Int("bits")
	order, _ := q.Bool("desc_act")
	switch strings.ToLower(q.Text("quant_method")) {
	case "gptq":
		return !order && (bits == 4 || bits == 8)
	case "awq":
		return bits == 4 && s.gpu.sm() >= 75
	}
	return false
}

// deepGEMM says whether DeepGEMM is on, and whether its scales are UE8M0
// (sglang/srt/layers/deep_gemm_wrapper/configurer.py).
func (s *state) deepGEMM() (on, ue8m0 bool) {
	if s.gpu.sm() < 90 || s.gpu.hip || !s.envSwitch("SGLANG_ENABLE_JIT_DEEPGEMM", true) {
		return false, false
	}
	return true, s.gpu.blackwell()
}

// pyList prints texts as Python prints a list.
func pyList(items []string) string {
	quoted := make([]string, len(items))
	for i, it := range items {
		quoted[i] = "'" + it + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
