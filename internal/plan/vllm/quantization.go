package vllm

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
)

// quantMethod is one entry of a release's table of quantisation methods
// (vllm/model_executor/layers/quantization/__init__.py).
type quantMethod struct {
	name          string
	class         string   // of its configuration
	minCapability int      // get_min_capability
	dtypes        []string // get_supported_act_dtypes, in its order
	needsFile     bool     // without a section in config.json it looks for a file of its own
	from, to      release
}

var (
	bf16fp16     = []string{"bfloat16", "float16"}
	fp16bf16     = []string{"float16", "bfloat16"}
	fp16         = []string{"float16"}
	bf16         = []string{"bfloat16"}
	allFloats    = []string{"float32", "float16", "bfloat16"}
	nvfp4Floats  = []string{"bfloat16", "float16", "float8_e4m3fn"}
	ggufFloats   = []string{"float16", "bfloat16", "float32"}
	quantMethods = []quantMethod{
		{"awq", "AWQConfig", 75, fp16, true, v0112, v0191},
		{"awq", "AutoAWQConfig", 75, fp16bf16, true, v0240, last},
		{"auto_awq", "AutoAWQConfig", 75, fp16bf16, true, v0240, last},
		{"awq_marlin", "AWQMarlinConfig", 80, fp16bf16, true, v0112, v0112},
		{"awq_marlin", "AWQMarlinConfig", 75, fp16bf16, true, v0160, v0191},
		{"awq_marlin", "AutoAWQConfig", 75, fp16bf16, true, v0240, last},
		{"deepspeedfp", "DeepSpeedFPConfig", 60, fp16bf16, true, v0112, v0112},
		{"fp8", "Fp8Config", 80, bf16fp16, false, v0112, v0112},
		{"fp8", "Fp8Config", 75, bf16fp16, false, v0160, last},
		{"fbgemm_fp8", "FBGEMMFp8Config", 80, bf16fp16, false, v0112, last},
		{"fp_quant", "FPQuantConfig", 100, bf16, false, v0112, last},
		{"modelopt", "ModelOptFp8Config", 89, bf16fp16, true, v0112, v0240},
		{"modelopt", "ModelOptFp8Config", 80, bf16fp16, true, v0320, last},
		{"modelopt_fp4", "ModelOptNvFp4Config", 80, nvfp4Floats, true, v0112, v0112},
		{"modelopt_fp4", "ModelOptNvFp4Config", 75, nvfp4Floats, true, v0160, last},
		{"modelopt_mxfp8", "ModelOptMxFp8Config", 100, bf16, true, v0160, v0191},
		{"modelopt_mxfp8", "ModelOptMxFp8Config", 80, bf16, true, v0240, last},
		{"modelopt_mixed", "ModelOptMixedPrecisionConfig", 89, bf16fp16, true, v0191, v0240},
		{"modelopt_mixed", "ModelOptMixedPrecisionConfig", 80, bf16fp16, true, v0320, last},
		{"bitblas", "BitBLASConfig", 70, fp16bf16, true, v0112, v0112},
		{"gguf", "GGUFConfig", 60, ggufFloats, false, v0112, v0191},
		{"gptq_marlin_24", "GPTQMarlin24Config", 80, fp16, true, v0112, v0112},
		{"gptq_marlin", "GPTQMarlinConfig", 80, fp16bf16, true, v0112, v0112},
		{"gptq_marlin", "GPTQMarlinConfig", 75, fp16bf16, true, v0160, v0191},
		{"gptq_marlin", "AutoGPTQConfig", 60, fp16bf16, true, v0240, last},
		{"gptq_bitblas", "GPTQBitBLASConfig", 80, fp16bf16, true, v0112, v0112},
		{"gptq", "GPTQConfig", 60, fp16, true, v0112, v0191},
		{"gptq", "AutoGPTQConfig", 60, fp16bf16, true, v0240, last},
		{"auto_gptq", "AutoGPTQConfig", 60, fp16bf16, true, v0240, last},
		{"humming", "HummingConfig", 75, bf16fp16, false, v0240, last},
		{"compressed-tensors", "CompressedTensorsConfig", 70, allFloats, false, v0112, last},
		{"bitsandbytes", "BitsAndBytesConfig", 70, allFloats, false, v0112, v0240},
		{"hqq", "HQQMarlinConfig", 80, fp16bf16, true, v0112, v0112},
		{"experts_int8", "ExpertsInt8Config", 80, bf16fp16, false, v0112, last},
		{"quark", "QuarkConfig", 70, fp16bf16, false, v0112, last},
		{"moe_wna16", "MoeWNA16Config", 70, bf16fp16, true, v0112, last},
		{"torchao", "TorchAOConfig", 75, allFloats, false, v0112, last},
		{"auto-round", "AutoRoundConfig", 60, fp16bf16, true, v0112, v0112},
		{"rtn", "RTNConfig", 80, bf16fp16, false, v0112, v0112},
		{"inc", "INCConfig", 0, bf16, false, v0112, v0112},
		{"inc", "INCConfig", 60, fp16bf16, true, v0160, last},
		{"mxfp4", "Mxfp4Config", 80, bf16, false, v0112, last},
		{"gpt_oss_mxfp4", "GptOssMxfp4Config", 80, bf16, false, v0240, last},
		{"mxfp8", "Mxfp8Config", 100, bf16, false, v0191, v0191},
		{"mxfp8", "ModelOptMxFp8Config", 80, bf16, true, v0240, last},
		{"petit_nvfp4", "PetitNvFp4Config", 90, bf16fp16, true, v0112, v0191},
		{"deepseek_v4_fp8", "DeepseekV4FP8Config", 75, bf16fp16, false, v0240, last},
		{"online", "OnlineQuantizationConfig", 75, bf16fp16, false, v0240, last},
		{"fp8_per_tensor", "OnlineQuantizationConfig", 75, bf16fp16, false, v0240, last},
		{"fp8_per_block", "OnlineQuantizationConfig", 75, bf16fp16, false, v0240, last},
		{"fp8_per_channel", "OnlineQuantizationConfig", 75, bf16fp16, false, v0240, last},
		{"int8_per_channel_weight_only", "OnlineQuantizationConfig", 75, bf16fp16, false, v0240, last},
		{"nvfp4_per_token", "OnlineQuantizationConfig", 75, bf16fp16, false, v0320, last},
	}
	// quantDeprecated are methods that need --allow-deprecated-quantization.
	quantDeprecated = map[release][]string{
		v0160: names("tpu_int8 ptpc_fp8 fbgemm_fp8 fp_quant experts_int8 petit_nvfp4"),
		v0191: names("tpu_int8 fbgemm_fp8 fp_quant experts_int8 petit_nvfp4"),
		v0240: names("fbgemm_fp8 fp_quant"),
		v0320: names("fbgemm_fp8 fp_quant"),
	}
)

// quantArguments are what the classes of methods cannot do without, though they
// need no file.
var quantArguments = map[string]string{
	"TorchAOConfig":           "1 required positional argument: 'torchao_config'",
	"CompressedTensorsConfig": "3 required positional arguments: 'target_scheme_map', 'ignore', and 'quant_format'",
	"FBGEMMFp8Config":         "2 required positional arguments: 'ignore_list' and 'input_scale_ub'",
}

// quantMethodOf finds a method of a release, or nil.
func quantMethodOf(name string, r release) *quantMethod {
	for i := range quantMethods {
		if q := &quantMethods[i]; q.name == name && q.from <= r && r <= q.to {
			return q
		}
	}
	return nil
}

// quantization joins what the checkpoint says and what was asked for. Some
// methods claim checkpoints of another one.
func (s *state) quantization() error {
	s.renameMethod()
	asked := strings.ToLower(s.args.Str("quantization"))
	q := s.model.quantization
	chosen := asked
	id, by, rule, line := "", byCoupling, "--quantization, and no quantization_config in the checkpoint.", ""
	if q != nil {
		method := q.Text("quant_method")
		rule = fmt.Sprintf("quantization_config of the checkpoint: %s.", method)
		var claimed string
		if claimed, line = s.claimed(q, asked); claimed != "" {
			method, chosen = claimed, claimed
			id, rule = "VLLM-QUANT-CONVERTIBLE", fmt.Sprintf("%s takes checkpoints of this kind (%s).", claimed, q.Text("quant_method"))
		}
		switch {
		case chosen == "":
			chosen = method
		case chosen != method:
			return invalid("ModelConfig", "Quantization method specified in the model config (%s) does not match the quantization method specified in the `quantization` argument (%s).", method, chosen)
		}
		by = byCheckpoint
	}
	if chosen == "" {
		return nil
	}
	s.quant = quantMethodOf(chosen, s.r)
	if s.quant == nil {
		return invalid("ModelConfig", "Unknown quantization method: %s. Must be one of [%s].", chosen, quotedMethods(s.r))
	}
	if slices.Contains(quantDeprecated[s.r], chosen) {
		if !s.args.Bool("allow_deprecated_quantization") {
			return invalid("ModelConfig", "('The quantization method %%s is deprecated and will be removed in future versions of vLLM. To bypass, set `--allow-deprecated-quantization`.', '%s')", chosen)
		}
		s.warn("The quantization method %s is deprecated and will be removed in future versions of vLLM.", chosen)
	}
	s.because(id, by, rule)
	s.Set("model.quantization", chosen)
	if line != "" {
		s.info("%s", line)
	}
	if chosen == "bitsandbytes" && s.r < v0320 && q != nil && !s.Bool("model.enforce_eager") {
		if eight, _ := q.Bool("load_in_8bit"); eight {
			s.because("VLLM-GRAPH-PLATFORM", byCoupling, "8-bit bitsandbytes weights do not work with CUDA graphs.", "model.quantization")
			s.Set("model.enforce_eager", true)
			s.warn("CUDA graph is not supported on BitsAndBytes 8bit yet, fallback to the eager mode.")
		}
	}
	return nil
}

// renameMethod gives checkpoints of some architectures a method of their own
// (verify_and_update_model_config of vllm/model_executor/models/config.py).
func (s *state) renameMethod() {
	q, name := s.model.quantization, s.model.name
	method := q.Text("quant_method")
	switch {
	case s.r >= v0240 && name == "GptOssForCausalLM" && method == "mxfp4":
		q["quant_method"] = "gpt_oss_mxfp4"
	case s.r >= v0240 && strings.HasPrefix(name, "DeepseekV4") && method == "fp8" && s.model.modelType == "deepseek_v4":
		q["quant_method"] = "deepseek_v4_fp8"
	case s.r >= v0320 && strings.HasPrefix(name, "KimiK3") && method == "compressed-tensors" && q.Text("format") == "mxfp4-pack-quantized":
		q["quant_method"] = "mxfp4"
	}
}

func quotedMethods(r release) string {
	var out []string
	for _, q := range quantMethods {
		if q.from <= r && r <= q.to {
			out = append(out, "'"+q.name+"'")
		}
	}
	return strings.Join(out, ", ")
}

// claimed is the method that takes over a checkpoint: the first, in vLLM's
// order, whose override_quantization_method wants it.
func (s *state) claimed(q hfconfig.Object, asked string) (method, line string) {
	kind := q.Text("quant_method")
	oneOf := func(list ...string) bool { return slices.Contains(list, asked) }
	newNames := s.r >= v0240
	if newNames && asked == "humming" {
		return "humming", ""
	}
	switch {
	case kind == "gptq" && newNames && oneOf("", "gptq", "gptq_marlin", "auto_gptq", "marlin"):
		return "auto_gptq", ""
	case kind == "awq" && newNames && oneOf("", "awq", "awq_marlin", "auto_awq", "marlin"):
		return "auto_awq", ""
	case kind == "gptq" && !newNames && s.gptqMarlin(q):
		if oneOf("", "marlin", "gptq_marlin") {
			return "gptq_marlin", convertible("gptq_marlin")
		}
		if asked == "gptq" {
			s.info("%s", forced("gptq"))
		}
	case kind == "awq" && !newNames && s.awqMarlin(q):
		if oneOf("", "marlin", "awq_marlin") {
			return "awq_marlin", convertible("awq_marlin")
		}
		if asked == "awq" {
			s.info("%s", forced("awq"))
		}
	case kind == "auto-round" && s.r >= v0160:
		return "inc", ""
	}
	if asked == "moe_wna16" {
		bits := q.IntOr("bits", 0)
		actOrder, _ := q.Bool("desc_act")
		if kind == "gptq" && !actOrder && (bits == 4 || bits == 8) || kind == "awq" && bits == 4 && s.gpu.capability() >= 75 {
			return "moe_wna16", ""
		}
	}
	if m := s.modelOptMethod(q); m != "" {
		return m, ""
	}
	if newNames && s.model.modelType == "gpt_oss" && (kind == "mxfp4" || kind == "gpt_oss_mxfp4") {
		return "gpt_oss_mxfp4", ""
	}
	return "", ""
}

func convertible(kernel string) string {
	return "The model is convertible to " + kernel + " during runtime. Using " + kernel + " kernel."
}

func forced(method string) string {
	return "Detected that the model can run with " + method + "_marlin, however you specified quantization=" + method + " explicitly, so forcing " + method + ". Use quantization=" + method + "_marlin for faster inference"
}

// marlinGroups are the group sizes that Marlin kernels take.
var marlinGroups = []int{-1, 32, 64, 128}

func (s *state) awqMarlin(q hfconfig.Object) bool {
	bits := q.IntOr("bits", 0)
	group, ok := q.Int("group_size")
	return ok && q.Has("zero_point") && (bits == 4 || bits == 8) && slices.Contains(marlinGroups, group) && s.gpu.capability() >= 80
}

func (s *state) gptqMarlin(q hfconfig.Object) bool {
	bits := q.IntOr("bits", 0)
	group, ok := q.Int("group_size")
	symmetric, _ := q.Bool("sym")
	return ok && q.Has("desc_act") && symmetric && (bits == 4 || bits == 8) && slices.Contains(marlinGroups, group) && s.gpu.capability() >= 80
}

// modelOptMethod is the ModelOpt method that claims a checkpoint by its
// quant_algo.
func (s *state) modelOptMethod(q hfconfig.Object) string {
	kind := q.Text("quant_method")
	if kind != "modelopt" && (s.r < v0240 || !strings.HasPrefix(kind, "modelopt")) {
		return ""
	}
	algo := q.Text("quant_algo")
	if inner := q.Obj("quantization"); inner != nil {
		algo = inner.Text("quant_algo")
	}
	algo = strings.ToUpper(algo)
	if s.r < v0191 {
		switch {
		case s.r >= v0160 && strings.Contains(algo, "MXFP8"):
			return "modelopt_mxfp8"
		case strings.Contains(algo, "FP8"):
			return "modelopt"
		case strings.Contains(algo, "FP4"):
			return "modelopt_fp4"
		}
		return ""
	}
	switch {
	case algo == "FP8":
		return "modelopt"
	case strings.Contains(algo, "FP4"):
		return "modelopt_fp4"
	case strings.Contains(algo, "MXFP8"):
		return "modelopt_mxfp8"
	case algo == "MIXED_PRECISION":
		return "modelopt_mixed"
	}
	return ""
}

// supportedQuantization checks the method against the GPU and the dtype, when
// its configuration is made (VllmConfig._get_quantization_config).
func (s *state) supportedQuantization() error {
	q := s.quant
	if q == nil {
		return nil
	}
	if s.model.quantization == nil {
		// "mxfp8" on the command line quantises while loading.
		if q.needsFile && !(q.name == "mxfp8" && s.r >= v0240) {
			return invalid("VllmConfig", "Cannot find the config file for %s", q.name)
		}
		if missing := quantArguments[q.class]; missing != "" {
			if q.class == "CompressedTensorsConfig" && s.r < v0240 {
				missing = "5 required positional arguments: 'target_scheme_map', 'ignore', 'quant_format', 'sparsity_scheme_map', and 'sparsity_ignore_list'"
			}
			return refuse("TypeError", "%s.__init__() missing %s", q.class, missing)
		}
	}
	if q.name == "fp8" && s.model.quantization == nil && s.r >= v0320 {
		online := *q
		online.class = "OnlineQuantizationConfig"
		s.quant, q = &online, &online
		s.warn("--quantization fp8 is deprecated for online quantization; use --quantization fp8_per_tensor instead.")
	}
	s.announceQuantization()
	if s.gpu.capability() < q.minCapability {
		return invalid("VllmConfig", "The quantization method %s is not supported for the current GPU. Minimum capability: %d. Current capability: %d.", q.name, q.minCapability, s.gpu.capability())
	}
	dtype := s.Str("model.dtype")
	if !slices.Contains(q.dtypes, strings.TrimPrefix(dtype, "torch.")) {
		return invalid("VllmConfig", "%s is not supported for quantization method %s. Supported dtypes: [torch.%s]", dtype, q.name, strings.Join(q.dtypes, ", torch."))
	}
	return nil
}

// announceQuantization prints what a method says about the checkpoint.
func (s *state) announceQuantization() {
	algo := s.model.quantization.Text("quant_algo")
	if inner := s.model.quantization.Obj("quantization"); inner != nil {
		algo = inner.Text("quant_algo")
	}
	switch {
	case s.quant.name == "modelopt" && s.r >= v0160 && s.r <= v0240:
		s.warn("Detected ModelOpt fp8 checkpoint (quant_algo=%s). Please note that the format is experimental and could change.", algo)
	case s.quant.name == "modelopt" && s.r == v0112:
		s.warn("Detected ModelOpt fp8 checkpoint. Please note that the format is experimental and could change.")
	case s.quant.name == "modelopt_fp4" && s.r == v0240:
		s.warn("Detected ModelOpt NVFP4 checkpoint (quant_algo=%s). Please note that the format is experimental and could change in future.", algo)
	case s.quant.name == "modelopt_fp4" && s.r < v0240:
		s.warn("Detected ModelOpt NVFP4 checkpoint. Please note that the format is experimental and could change in future.")
	}
}

// blockedWeights says whether weights carry one scale for each block, as FP8
// checkpoints with weight_block_size do (has_blocked_weights).
func (s *state) blockedWeights() bool {
	if s.quant == nil {
		return false
	}
	q := s.model.quantization
	switch s.quant.class {
	case "Fp8Config", "DeepseekV4FP8Config":
		return q.Has("weight_block_size")
	case "CompressedTensorsConfig":
		for _, g := range q.Obj("config_groups") {
			group, _ := g.(hfconfig.Object)
			if group.Obj("weights").Text("strategy") == "block" {
				return true
			}
		}
	}
	return false
}

// nvfp4Weights says whether the weights are NVFP4
// (ModelConfig.is_nvfp4_quantized).
func (s *state) nvfp4Weights() bool {
	switch s.Str("model.quantization") {
	case "modelopt_fp4":
		return true
	case "compressed-tensors":
		return strings.Contains(strings.ToLower(s.model.quantization.Text("format")), "nvfp4")
	case "modelopt_mixed":
		if s.r < v0320 {
			return false
		}
		for _, layer := range s.model.quantization.Obj("quantized_layers") {
			if o, _ := layer.(hfconfig.Object); o.Text("quant_algo") == "NVFP4" {
				return true
			}
		}
	}
	return false
}

// checkpointKV is the KV cache dtype that a ModelOpt checkpoint asks for, or
// empty (get_kv_cache_quant_algo_string).
func (s *state) checkpointKV() string {
	q := s.model.quantization
	if !strings.HasPrefix(q.Text("quant_method"), "modelopt") {
		return ""
	}
	inner := q
	if o := q.Obj("quantization"); o != nil {
		inner = o
	}
	var algo any
	for _, v := range []any{inner["kv_cache_scheme"], q["kv_cache_scheme"], inner["kv_cache_quant_algo"], q["kv_cache_quant_algo"]} {
		if v != nil && v != "" {
			algo = v
			break
		}
	}
	name := ""
	switch algo := algo.(type) {
	case hfconfig.Object:
		bits := algo.IntOr("num_bits", 0)
		dynamic, known := algo.Bool("dynamic")
		switch {
		case known && !dynamic && bits == 8 && algo.Text("type") == "float":
			name = "fp8"
		case s.r >= v0240 && bits == 4 && algo.Text("type") == "float":
			name = "nvfp4"
		default:
			return "auto"
		}
	case string:
		name = strings.ToLower(algo)
	default:
		return ""
	}
	switch {
	case name == "fp8":
		return "fp8_e4m3"
	case name == "nvfp4" && s.r >= v0240:
		return "nvfp4"
	}
	s.warn("WARNING: Unknown kv_cache_quant_algo '%s' in model config. Supported values: [%s]. Falling back to 'auto'.", name, map[bool]string{true: "'fp8', 'nvfp4'", false: "'fp8'"}[s.r >= v0240])
	return "auto"
}
