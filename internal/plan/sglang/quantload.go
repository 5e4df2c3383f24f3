package sglang

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
)

// quantConfig is the object that a quantisation method's class makes from the
// checkpoint's description.
type quantConfig struct {
	class   string
	minimum int // compute capability, 80 is 8.0
	kvAlgo  any // kv_cache_quant_algo: nil, "auto", "FP8", ...
}

// loadQuantization is _get_quantization_config of
// sglang/srt/model_loader/loader.py: it tells the object and why loading would
// fail, and returns the KV scheme of the checkpoint.
func (s *state) loadQuantization(m *modelConfig) any {
	if m.quantization == "" {
		return nil
	}
	s.Begin("SGL-LOAD-QUANT", "sglang/srt/model_loader/loader.py _get_quantization_config (0.5.9)")
	q, err := s.quantConfigOf(m)
	if err != nil {
		s.later["quant_config.error"] = err.Error()
		return nil
	}
	if q == nil {
		return nil // an Eagle head that is not quantised beside a quantised model
	}
	s.later["quant_config"] = q.class
	s.later["quant_config.kv_cache_quant_algo"] = q.kvAlgo
	s.later["quant_config.min_capability"] = q.minimum
	class := s.quantClassOf(m.quantization)
	switch have := s.gpu.sm(); {
	case have < q.minimum:
		s.later["quant_config.error"] = unsupported(m.quantization, q.minimum, have)
	case !slices.Contains(class.act, m.dtype):
		s.later["quant_config.error"] = fmt.Sprintf("torch.%s is not supported for quantization method %s. Supported dtypes: %s", m.dtype, m.quantization, torchList(class.act))
	}
	return q.kvAlgo
}

// torchList prints data types as Python prints a list of them.
func torchList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "torch." + n
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// pyError is a Python exception in text.
type pyError string

func (e pyError) Error() string { return string(e) }

func badValue(format string, args ...any) error {
	return pyError("ValueError: " + fmt.Sprintf(format, args...))
}

// quantConfigOf is get_quant_config of sglang/srt/model_loader/weight_utils.py:
// the description in config.json, else the file that the method reads, else the
// method's defaults.
func (s *state) quantConfigOf(m *modelConfig) (*quantConfig, error) {
	class := s.quantClassOf(m.quantization)
	if class.class == "" {
		return nil, badValue("%s quantization requires some operators from vllm. Please install vllm by `pip install vllm==0.9.0.1`", m.quantization)
	}
	q := s.newQuantConfig(class)
	if m.quantization == "gguf" {
		return q, nil
	}
	if described := s.described(m); described != nil {
		return s.fromConfig(q, m.quantization, described)
	}
	if m.quantization == "bitsandbytes" {
		return q, nil
	}
	if len(class.files) == 0 {
		return s.withoutConfig(q, m.quantization)
	}
	if !slices.Contains(class.files, "hf_quant_config.json") || s.model.HFQuant == nil {
		if m.quantization == "modelopt_fp4" && s.since(r0518) {
			return s.onlineFP4(q), nil
		}
		return nil, badValue("Cannot find the config file for %s", m.quantization)
	}
	return s.fromFile(q, m, s.model.HFQuant)
}

func (s *state) newQuantConfig(class quantClass) *quantConfig {
	q := &quantConfig{class: class.class, minimum: class.minimum}
	switch class.name {
	case "modelopt_fp4", "modelopt_mixed":
		if s.since(r0515) {
			q.minimum = 80
		}
	case "minimax_m3_nvfp4":
		q.kvAlgo = "FP8"
	}
	return q
}

// described is the description in config.json, of the whole model or of its
// language part; nil when the method has to look elsewhere.
func (s *state) described(m *modelConfig) attrs {
	d := m.hf.Obj("quantization_config")
	if d == nil {
		d = m.hf.Obj("text_config").Obj("quantization_config")
	}
	if d == nil {
		d = m.hf.Obj("compression_config")
	}
	if d != nil && m.quantization == "modelopt_mixed" && s.since(r0518) &&
		(!has(d, "quantized_layers") || !has(d, "kv_cache_quant_algo") && !has(d, "kv_cache_scheme")) {
		return nil
	}
	return d
}

// withoutConfig is a method with its defaults: the weights are quantised while
// they are loaded.
func (s *state) withoutConfig(q *quantConfig, method string) (*quantConfig, error) {
	switch {
	case method == "mxfp8":
		q.minimum = s.mxfp8Minimum()
	case method == "compressed-tensors":
		return nil, pyError("TypeError: CompressedTensorsConfig.__init__() missing its required positional arguments")
	case method == "w4afp8", method == "fbgemm_fp8":
		return q, nil
	}
	return q, nil
}

// mxfp8Minimum is Fp8Config.get_min_capability with MXFP8.
func (s *state) mxfp8Minimum() int {
	switch {
	case strings.HasPrefix(s.gpu.gfx, "gfx95") && s.since(r0518):
		return 95
	case strings.HasPrefix(s.gpu.gfx, "gfx94") && s.since(r0518):
		return 94
	}
	return 100
}

// onlineFP4 is modelopt_fp4 without serialised weights (from 0.5.18 on).
func (s *state) onlineFP4(q *quantConfig) *quantConfig {
	return &quantConfig{class: "_ModelOptFp4OnlineConfig", minimum: q.minimum}
}

// fromFile reads hf_quant_config.json.
func (s *state) fromFile(q *quantConfig, m *modelConfig, file attrs) (*quantConfig, error) {
	section := file.Obj("quantization")
	if section == nil && s.since(r0523) {
		section = file
	}
	modelopt := strings.HasPrefix(file.Obj("producer").Text("name"), "modelopt")
	asks := strings.HasPrefix(m.quantization, "modelopt")
	if !s.since(r0506) {
		asks = m.quantization == "modelopt"
		if asks && !modelopt {
			return nil, badValue("Unsupported quantization config found for modelopt in hf_quant_config.json.")
		}
	}
	if asks && modelopt {
		algo := section.Text("quant_algo")
		switch {
		case !section.Has("quant_algo") && m.arch == "LlamaForCausalLMEagle3":
			return nil, nil
		case !section.Has("quant_algo"):
			return nil, badValue("Invalid quant_config, quantization method: %s,hf architectures: %s. ", m.quantization, m.arch)
		case s.since(r0506) && (algo == "FP8" || m.quantization == "modelopt_fp8"):
			return s.fromConfig(s.newQuantConfig(s.quantClassOf("modelopt_fp8")), "modelopt_fp8", file)
		case strings.Contains(algo, "FP4"):
			return s.fromConfig(s.newQuantConfig(s.quantClassOf("modelopt_fp4")), "modelopt_fp4", file)
		}
	}
	return s.fromConfig(q, m.quantization, file)
}

// fromConfig is from_config of a method's class.
func (s *state) fromConfig(q *quantConfig, method string, d attrs) (*quantConfig, error) {
	missing := ""
	need := func(names ...string) {
		if missing == "" && !slices.ContainsFunc(names, func(n string) bool { return has(d, n) }) {
			missing = pyList(names)
		}
	}
	var err error
	switch method {
	case "fp8", "mxfp8":
		need("quant_method")
		need("activation_scheme")
		err = s.fp8Config(q, d)
	case "minimax_m3_nvfp4":
		err = m3Config(d)
	case "modelopt", "modelopt_fp8":
		err = s.modeloptFP8(q, d)
	case "modelopt_fp4":
		if s.since(r0518) && d.Text("quant_method") == "fp8" {
			return s.onlineFP4(q), nil
		}
		err = s.modeloptFP4(q, d)
	case "modelopt_mixed":
		err = s.modeloptMixed(q, d)
	case "awq":
		need("w_bit", "bits")
		need("q_group_size", "group_size")
		need("zero_point")
	case "awq_marlin":
		need("bits")
		need("group_size")
		need("zero_point")
	case "gptq":
		need("bits")
		need("group_size")
		need("desc_act")
	case "gptq_marlin":
		need("bits")
		need("group_size")
		need("desc_act")
		need("sym")
	case "moe_wna16":
		need("quant_method")
		need("bits")
		need("group_size")
		if method := d.Text("quant_method"); method != "gptq" && method != "awq" && missing == "" {
			err = badValue("moe_wna16 only support gptq and awq.")
		}
	case "petit_nvfp4":
		need("quantization")
		section := d.Obj("quantization")
		q.kvAlgo = orAuto(section["kv_cache_quant_algo"])
	case "mxfp4":
		need("quant_method")
		if s.gpu.hip && !strings.HasPrefix(s.gpu.gfx, "gfx95") {
			err = badValue("Current platform %s not support mxfp4 computation", s.gpu.gfx)
		}
	case "quark":
		if s.since(r0506) && d.Obj("export") == nil {
			err = badValue("The export key should be included in the configurations of Quark quantized model")
		}
	case "w4afp8", "w8a8_fp8", "blockwise_int8":
		need("quant_method")
	case "fbgemm_fp8":
		need("modules_to_not_convert")
		need("activation_scale_ub")
	case "qoq":
		need("wbits")
		need("group_size")
	case "auto-round":
		need("bits")
		need("group_size")
		need("sym")
	case "compressed-tensors":
		if s.since(r0523) && d.Has("kv_cache_scheme") && floatScheme(d["kv_cache_scheme"], 8) {
			q.kvAlgo = "FP8"
		}
	}
	if missing != "" {
		return nil, badValue("Cannot find any of %s in the model's quantization config.", missing)
	}
	return q, err
}

// fp8Config is Fp8Config.
func (s *state) fp8Config(q *quantConfig, d attrs) error {
	method := d.Text("quant_method")
	mx := strings.Contains(method, "mxfp8") && s.since(r0509)
	scheme := d.Text("activation_scheme")
	if d.Has("activation_scheme") && scheme != "static" && scheme != "dynamic" {
		return badValue("Unsupported activation scheme %s", scheme)
	}
	q.minimum = 80
	if mx {
		q.minimum = s.mxfp8Minimum()
	}
	if s.since(r0518) {
		q.kvAlgo = d["kv_cache_quant_algo"]
	}
	block := d.List("weight_block_size")
	switch {
	case len(block) == 0 || mx && s.since(r0509):
	case !strings.Contains(method, "fp8"):
		return badValue("The block-wise quantization only supports fp8-serialized checkpoint for now.")
	case len(block) != 2:
		return badValue("The quantization block size of weight must have 2 dimensions, but got %d dimensions.", len(block))
	case scheme != "dynamic":
		return badValue("The block-wise quantization only supports dynamic activation scheme for now, but got %s activation scheme.", scheme)
	}
	return nil
}

// m3Config is MiniMaxM3Nvfp4Config.
func m3Config(d attrs) error {
	group, ok := d.Int("group_size")
	switch {
	case d.Has("activation_scheme") && d.Text("activation_scheme") != "dynamic":
		return badValue("M3.1 NVFP4 requires dynamic activation quantization")
	case ok && group != 16:
		return badValue("M3.1 NVFP4 requires group_size=16")
	}
	return nil
}

func orAuto(v any) any {
	if text, ok := v.(string); v == nil || ok && text == "" {
		return "auto"
	}
	return v
}

const noQuantAlgo = "Cannot find 'quant_algo' in the model's quantization config. Expected either flat format (config.json) or nested format (hf_quant_config.json)."

// modeloptFP8 is ModelOptFp8Config.from_config. The class of 0.5.2 keeps the KV
// scheme under another name, where the runner does not look for it.
func (s *state) modeloptFP8(q *quantConfig, d attrs) error {
	algo := d.Text("quant_algo")
	var kv any
	if d.Has("quant_algo") {
		if scheme := d.Obj("kv_cache_scheme"); scheme == nil && s.since(r0515) {
			kv = d["kv_cache_quant_algo"]
		} else if floatScheme(scheme, 8) {
			kv = "FP8"
		}
	} else {
		section := d.Obj("quantization")
		if section == nil {
			return badValue("%s", noQuantAlgo)
		}
		algo, kv = section.Text("quant_algo"), section["kv_cache_quant_algo"]
		if !section.Has("quant_algo") {
			return badValue("Cannot find 'quant_algo' in the model's quantization config. ")
		}
	}
	switch {
	case s.since(r0518) && algo != "FP8":
		return badValue("ModelOptFp8Config only supports regular FP8 quantization, but found '%s'. Use the native 'mxfp8' quantization method for MXFP8 or ModelOptFp4Config for FP4.", algo)
	case !strings.Contains(algo, "FP8"):
		return badValue("ModelOptFp8Config only supports static FP8 quantization in SGLang. For FP4 quantization, use ModelOptFp4Config. Check the quantization config for your model's configuration.")
	}
	s.warn("Detected ModelOpt FP8 checkpoint. The format is experimental and subject to change.")
	if s.since(r0506) {
		q.kvAlgo = kv
	}
	return nil
}

// modeloptFP4 is ModelOptFp4Config.from_config.
func (s *state) modeloptFP4(q *quantConfig, d attrs) error {
	algo := d.Text("quant_algo")
	var group int
	var known bool
	exclude := true
	if d.Has("quant_algo") {
		q.kvAlgo = s.flatKV(d)
		if s.since(r0506) {
			group, known = flatGroup(d)
		} else {
			group, known = commonGroup(d)
		}
		if !known && s.since(r0518) && strings.Contains(algo, "NVFP4") {
			group, known = 16, true
		}
		if v, there := d["ignore"]; there && v == nil {
			exclude = false
		}
	} else {
		section := d.Obj("quantization")
		group, known = commonGroup(d)
		if !section.Has("quant_algo") || !known {
			return badValue("%s", noQuantAlgo)
		}
		algo = section.Text("quant_algo")
		q.kvAlgo = orAuto(section["kv_cache_quant_algo"])
		if v, there := section["exclude_modules"]; there && v == nil {
			exclude = false
		}
	}
	algos := []string{"FP8", "NVFP4"}
	if s.since(r0518) {
		algos = append(algos, "NVFP4_AWQ")
	}
	if s.since(r0523) {
		algos = append(algos, "W4A16_NVFP4")
	}
	if !slices.Contains(algos, algo) {
		return badValue("ModelOpt currently only supports: %s quantizations in sglang. Please check the quantization config for your model's configuration.", strings.Join(algos, ", "))
	}
	if !known || group == 0 || !exclude {
		return badValue("NVFP4 quantization requires group_size and exclude_modules specified in the quantization config")
	}
	if strings.Contains(algo, "NVFP4") {
		s.detectedFP4()
	}
	return nil
}

// detectedFP4 is what each serialised NVFP4 configuration prints.
func (s *state) detectedFP4() {
	if s.since(r0523) {
		s.info("Detected nvfp4 checkpoint.")
		return
	}
	s.warn("Detected nvfp4 checkpoint. Please note that the format is experimental and subject to change.")
}

// flatKV is the KV scheme in a flat description.
func (s *state) flatKV(d attrs) any {
	if !s.since(r0509) { // the algorithm wins over the scheme
		if v := d["kv_cache_quant_algo"]; v != nil && v != "" {
			return v
		}
	}
	switch scheme := d["kv_cache_scheme"].(type) {
	case hfconfig.Object:
		if floatScheme(scheme, 8) {
			return "FP8"
		}
		return "auto"
	case string:
		if !s.since(r0508) {
			return "auto"
		}
		switch strings.ToUpper(strings.TrimSpace(scheme)) {
		case "FP8", "FLOAT8":
			return "FP8"
		case "FP4", "FLOAT4", "NVFP4":
			return "NVFP4"
		}
		return "auto"
	}
	if s.since(r0515) {
		return orAuto(d["kv_cache_quant_algo"])
	}
	return "auto"
}

// flatGroup is the group size of a flat description: its own or that of its
// first group of layers.
func flatGroup(d attrs) (int, bool) {
	if n, ok := d.Int("group_size"); ok {
		return n, true
	}
	groups := d.Obj("config_groups")
	first := ""
	for name := range groups {
		if first == "" || name < first {
			first = name
		}
	}
	return groups.Obj(first).Obj("weights").Int("group_size")
}

// commonGroup is ModelOptFp4Config.common_group_size: the group size that all
// places agree on.
func commonGroup(d attrs) (int, bool) {
	sizes := map[int]bool{}
	add := func(o attrs) {
		if v, ok := o["group_size"].(json.Number); ok {
			if n, ok := hfconfig.Int(v); ok {
				sizes[n] = true
			}
		}
	}
	add(d)
	add(d.Obj("quantization"))
	for _, g := range d.Obj("config_groups") {
		group, _ := g.(attrs)
		add(group)
		for _, sub := range group {
			o, _ := sub.(attrs)
			add(o)
		}
	}
	for n := range sizes {
		return n, len(sizes) == 1
	}
	return 0, false
}

// modeloptMixed is ModelOptMixedPrecisionConfig.from_config.
func (s *state) modeloptMixed(q *quantConfig, d attrs) error {
	section := d
	if !d.Has("quant_algo") {
		if section = d.Obj("quantization"); section == nil {
			return badValue("Cannot find any of ['quantization'] in the model's quantization config.")
		}
		q.kvAlgo = section["kv_cache_quant_algo"]
	} else if scheme := d.Obj("kv_cache_scheme"); scheme != nil {
		switch {
		case floatScheme(scheme, 8):
			q.kvAlgo = "FP8"
		case floatScheme(scheme, 4):
			q.kvAlgo = "NVFP4"
		default:
			q.kvAlgo = "auto"
		}
	} else if s.since(r0515) {
		q.kvAlgo = d["kv_cache_quant_algo"]
	}
	if section.Text("quant_algo") != "MIXED_PRECISION" {
		return badValue("ModelOptMixedPrecisionConfig only supports MIXED_PRECISION checkpoints.")
	}
	if len(section.Obj("quantized_layers")) == 0 {
		return badValue("MIXED_PRECISION quantization requires a non-empty quantized_layers map.")
	}
	s.warn("Detected ModelOpt FP8 checkpoint. The format is experimental and subject to change.")
	s.detectedFP4()
	return nil
}
