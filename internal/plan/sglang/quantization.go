package sglang

import (
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
)

// quantMethods is QUANTIZATION_METHODS in its order, as an NVIDIA or AMD GPU
// has it (sglang/srt/layers/quantization/__init__.py).
func (s *state) quantMethods() []string {
	mxfp4 := s.gpu.cuda() || strings.HasPrefix(s.gpu.gfx, "gfx95")
	var out []string
	for _, q := range quantClasses {
		if q.in(s.r) && (q.name != "mxfp4" || mxfp4) && (q.name != "quark" || mxfp4 || s.since(r0506)) {
			out = append(out, q.name)
		}
	}
	return out
}

// compatible says whether a checkpoint whose files name one method may be
// loaded with another one (compatible_quantization_methods).
func (s *state) compatible(asked, method string) bool {
	switch asked {
	case "modelopt_fp4":
		return method == "modelopt" || method == "fp8" && s.since(r0518)
	case "petit_nvfp4":
		return method == "modelopt"
	case "modelopt_fp8":
		return method == "modelopt" && s.since(r0506)
	case "modelopt_mixed":
		return method == "modelopt" && s.since(r0510)
	case "w8a8_int8", "w8a8_fp8":
		return method == "compressed-tensors" || method == "compressed_tensors"
	case "auto-round-int8":
		return (method == "compressed-tensors" || method == "compressed_tensors") && s.since(r0515)
	case "nvfp4_online":
		return method == "fp8" && s.since(r0515) || method == "modelopt_fp8" && s.since(r0518)
	case "minimax_m3_nvfp4":
		return method == "mxfp8" && s.since(r0523)
	}
	return false
}

// requantizes are methods that take a quantised checkpoint into another format
// while loading (REQUANTIZATION_METHODS).
func (s *state) requantizes(method string) bool { return method == "quark_mxfp4" && s.since(r0518) }

// parseQuantConfig is _parse_quant_hf_config: the quantisation that the
// checkpoint's files describe, or nil. What it adds to that of config.json is
// seen by whoever reads config.json afterwards.
func (s *state) parseQuantConfig(m *modelConfig, model *hfconfig.Model) attrs {
	if q := m.hf.Obj("quantization_config"); q != nil {
		named := q.Has("quant_method") && !(s.since(r0510) && q.Text("quant_method") == "modelopt")
		if named || !s.since(r0509) {
			return q
		}
		more := s.parseModelopt(m, q)
		if more == nil {
			return q
		}
		out := make(attrs, len(q)+len(more))
		for k, v := range q {
			out[k] = v
		}
		for k, v := range more {
			out[k] = v
		}
		m.hf["quantization_config"] = out
		return out
	}
	if q := m.hf.Obj("compression_config"); q != nil {
		return q
	}
	q := model.HFQuant.Obj("quantization")
	if s.since(r0523) && q == nil {
		q = model.HFQuant
	} else if inner := q.Obj("quantization"); s.since(r0523) && inner != nil {
		q = inner
	}
	if q == nil {
		return nil
	}
	return s.parseModelopt(m, q)
}

// parseModelopt is _parse_modelopt_quant_config: the method behind the
// algorithm that ModelOpt names, or nil.
func (s *state) parseModelopt(m *modelConfig, q attrs) attrs {
	algo := q.Text("quant_algo")
	method := ""
	switch {
	case algo == "MIXED_PRECISION":
		method = "w4afp8"
		if s.mixedModelopt(m, q) {
			method = "modelopt_mixed"
		}
	case !s.since(r0506):
		method = "modelopt"
	case strings.Contains(algo, "FP4"):
		method = "modelopt_fp4"
	case algo == "MXFP8" && s.since(r0518):
		return s.mxfp8Config(q)
	case algo == "FP8", strings.Contains(algo, "FP8") && !s.since(r0518):
		method = "modelopt_fp8"
	default:
		return nil
	}
	out := attrs{"quant_method": method}
	if s.since(r0510) {
		out["quant_algo"] = algo
	}
	return out
}

// mixedModelopt says whether a checkpoint of mixed precision is ModelOpt's own
// mixture rather than W4AFP8.
func (s *state) mixedModelopt(m *modelConfig, q attrs) bool {
	switch {
	case s.since(r0515):
		for _, v := range q.Obj("quantized_layers") {
			layer, _ := v.(attrs)
			switch strings.ToUpper(layer.Text("quant_algo")) {
			case "NVFP4", "W4A16_NVFP4":
				return true
			}
		}
	case s.since(r0510):
		if m.modelType == "nemotron_h" {
			return true
		}
		return slices.ContainsFunc(m.hf.Strings("architectures"), func(a string) bool { return strings.HasPrefix(a, "NemotronH") })
	}
	return false
}

func (s *state) mxfp8Config(q attrs) attrs {
	out := attrs{"quant_method": "mxfp8", "quant_algo": "MXFP8", "activation_scheme": "dynamic", "scale_fmt": "ue8m0"}
	kv := q["kv_cache_quant_algo"]
	if kv == nil && floatScheme(q["kv_cache_scheme"], 8) {
		kv = "FP8"
	}
	if kv != nil {
		out["kv_cache_quant_algo"] = kv
	}
	return out
}

// floatScheme says whether a KV scheme is floating point with so many bits.
func floatScheme(v any, bits int) bool {
	scheme, _ := v.(attrs)
	n, _ := scheme.Int("num_bits")
	return scheme.Text("type") == "float" && n == bits
}

// verifyQuantization is _verify_quantization: it joins the method that was
// asked for with the one that the checkpoint names.
func (s *state) verifyQuantization(m *modelConfig, o modelOptions) error {
	asked := "quantization"
	if o.draft && s.since(r0508) {
		asked = "speculative_draft_model_quantization"
	}
	m.quantization = strings.ToLower(s.Str(asked))
	m.quantConfig = s.parseQuantConfig(m, o.model)
	if q := m.quantConfig; q != nil {
		if err := s.matchQuantization(m, q); err != nil {
			return err
		}
	}
	if m.quantization == "" {
		return nil
	}
	if methods := s.quantMethods(); !slices.Contains(methods, m.quantization) {
		return valueError("Unknown quantization method: %s. Must be one of %s.", m.quantization, pyList(methods))
	}
	if s.gpu.hip && !rocmMethods.has(s.r, m.quantization) {
		return valueError("%s quantization is currently not supported in ROCm.", m.quantization)
	}
	fast := optimisedMethods.has(s.r, m.quantization) || s.gpu.sm100() &&
		(m.quantization == "mxfp4" && s.since(r0509) || m.quantization == "mxfp8" && s.since(r0512))
	if !fast {
		s.warn("%s quantization is not fully optimized yet. The speed can be slower than non-quantized models.", m.quantization)
	}
	return nil
}

func (s *state) matchQuantization(m *modelConfig, q attrs) error {
	method := q.Text("quant_method")
	if !q.Has("quant_method") {
		method = m.quantization
	}
	method = strings.ToLower(method)
	// A draft of its own may be quantised online although the checkpoint is.
	keep := m.draft && m.quantization == "nvfp4_online" && s.since(r0518) &&
		(method == "modelopt_fp4" || method == "modelopt_mixed" && s.since(r0523))
	if !keep && !s.requantizes(m.quantization) {
		if other := s.overrideMethod(q, m.quantization); other != "" {
			method, m.quantization = other, other
		}
	}
	switch {
	case m.quantization == "":
		m.quantization = method
	case m.quantization == method:
	case m.draft && s.r == r0506:
		s.draftQuantization(m, method)
	case keep || s.compatible(m.quantization, method):
		if s.since(r0508) {
			s.info("Using CLI-specified quantization (%s) which is compatible with HF config quant_method (%s).", m.quantization, method)
		}
	case m.draft && s.since(r0506):
		s.draftQuantization(m, method)
	case s.requantizes(m.quantization):
		s.info("Requantizing from quant_method='%s' to the requested online quantization='%s'. Beware that requantization may incur a loss in accuracy, the requantized model should be re-validated/re-evaluated. More details at https://docs.sglang.io/advanced_features/quantization.html#online-quantization.", method, m.quantization)
	default:
		return valueError("Quantization method specified in the model config (%s) does not match the quantization method specified in the `quantization` argument (%s).", method, m.quantization)
	}
	m.ue8m0 = q.Text("scale_fmt") == "ue8m0"
	if _, ue8m0 := s.deepGEMM(); ue8m0 && !m.ue8m0 && s.since(r0508) && !s.since(r0518) && !(m.quantization == "mxfp8" && s.since(r0515)) {
		s.warn("DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0. This might cause accuracy degradation on Blackwell.")
	}
	return nil
}

// draftQuantization takes the method of a draft's own files.
func (s *state) draftQuantization(m *modelConfig, method string) {
	s.info("Draft model quantization (%s) differs from main model quantization (%s). Using draft model's detected quantization: %s", method, m.quantization, method)
	m.quantization = method
}

// overrideMethod asks the methods, in their order, whether one of them takes
// the checkpoint over (override_quantization_method).
func (s *state) overrideMethod(q attrs, asked string) string {
	method := strings.ToLower(q.Text("quant_method"))
	if other := s.modeloptOverride(q, asked); other != "" {
		return other
	}
	if s.since(r0510) && q.Text("quant_method") == "modelopt_mixed" {
		return "modelopt_mixed"
	}
	if other := s.marlin("awq", q, asked, s.awqMarlin(q)); other != "" {
		return other
	}
	if other := s.marlin("gptq", q, asked, s.gptqMarlin(q)); other != "" {
		return other
	}
	switch {
	case asked == "moe_wna16" && s.wna16(q):
		return "moe_wna16"
	case s.gpu.hip && method == "modelopt":
		return "petit_nvfp4"
	case asked == "humming" && s.since(r0518) && method != "mxfp4":
		return "humming"
	}
	return ""
}

// modeloptOverride is _modelopt_override_quantization_method (from 0.5.6 on).
func (s *state) modeloptOverride(q attrs, asked string) string {
	if !s.since(r0506) || s.since(r0518) && asked == "nvfp4_online" {
		return ""
	}
	algo := strings.ToUpper(q.Text("quant_algo"))
	if asked == "modelopt" {
		switch {
		case algo == "MXFP8" && s.since(r0518):
			return "mxfp8"
		case algo == "FP8", strings.Contains(algo, "FP8") && !s.since(r0518):
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

// marlinGroups are the group sizes that Marlin kernels have
// (sglang/srt/layers/quantization/marlin_utils.py).
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

// pyList prints texts as Python prints a list.
func pyList(items []string) string {
	quoted := make([]string, len(items))
	for i, it := range items {
		quoted[i] = "'" + it + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
