package sglang

// quantClass is one quantisation method and the class that reads its
// description (sglang/srt/layers/quantization).
type quantClass struct {
	name    string
	class   string
	from    release
	until   release  // the first release without it; 0: still there
	minimum int      // get_min_capability: 80 is compute capability 8.0
	act     []string // get_supported_act_dtypes
	files   []string // get_config_filenames: where the description is, when not in config.json
}

func (q quantClass) in(r release) bool { return r >= q.from && (q.until == 0 || r < q.until) }

var (
	half        = []string{"float16"}
	halfOrBF16  = []string{"float16", "bfloat16"}
	bf16OrHalf  = []string{"bfloat16", "float16"}
	anyFloat    = []string{"float32", "float16", "bfloat16"}
	halvesAnd32 = []string{"float16", "bfloat16", "float32"}

	hfQuantFile  = []string{"hf_quant_config.json"}
	quantizeFile = []string{"quantize_config.json"}
	quantFiles   = []string{"quant_config.json", "quantize_config.json"}
)

// quantClasses are the methods in the order of QUANTIZATION_METHODS. The last
// ones up to 0.5.2 need vLLM, which SGLang does not bring.
var quantClasses = []quantClass{
	{name: "fp8", class: "Fp8Config", minimum: 80, act: bf16OrHalf},
	{name: "mxfp8", class: "Fp8Config", from: r0509, minimum: 100, act: bf16OrHalf},
	{name: "minimax_m3_nvfp4", class: "MiniMaxM3Nvfp4Config", from: r0523, minimum: 90, act: bf16OrHalf},
	{name: "blockwise_int8", class: "BlockInt8Config", minimum: 80, act: bf16OrHalf},
	{name: "modelopt", class: "ModelOptFp8Config", minimum: 89, act: bf16OrHalf, files: hfQuantFile},
	{name: "modelopt_fp8", class: "ModelOptFp8Config", from: r0506, minimum: 89, act: bf16OrHalf, files: hfQuantFile},
	{name: "modelopt_fp4", class: "ModelOptFp4Config", minimum: 100, act: []string{"bfloat16", "float16", "float8_e4m3fn"}, files: hfQuantFile},
	{name: "nvfp4_online", class: "NvFp4OnlineConfig", from: r0515, minimum: 100, act: bf16OrHalf},
	{name: "modelopt_mixed", class: "ModelOptMixedPrecisionConfig", from: r0510, minimum: 100, act: bf16OrHalf, files: hfQuantFile},
	{name: "w8a8_int8", class: "W8A8Int8Config", minimum: 75, act: halfOrBF16},
	{name: "w8a8_fp8", class: "W8A8Fp8Config", minimum: 89, act: halfOrBF16},
	{name: "awq", class: "AWQConfig", minimum: 75, act: half, files: quantFiles},
	{name: "awq_marlin", class: "AWQMarlinConfig", minimum: 80, act: halfOrBF16, files: quantizeFile},
	{name: "bitsandbytes", class: "BitsAndBytesConfig", from: r0508, minimum: 70, act: anyFloat},
	{name: "gguf", class: "GGUFConfig", from: r0506, minimum: 60, act: halvesAnd32},
	{name: "gptq", class: "GPTQConfig", until: r0523, minimum: 60, act: half, files: quantizeFile},
	{name: "gptq_marlin", class: "GPTQMarlinConfig", minimum: 80, act: halfOrBF16, files: quantizeFile},
	{name: "moe_wna16", class: "MoeWNA16Config", minimum: 70, act: bf16OrHalf, files: quantizeFile},
	{name: "compressed-tensors", class: "CompressedTensorsConfig", minimum: 70, act: halfOrBF16},
	{name: "qoq", class: "QoQConfig", until: r0518, minimum: 80, act: half, files: quantFiles},
	{name: "w4afp8", class: "W4AFp8Config", minimum: 90, act: []string{"bfloat16", "float8_e4m3fn"}},
	{name: "petit_nvfp4", class: "PetitNvFp4Config", minimum: 90, act: bf16OrHalf, files: hfQuantFile},
	{name: "fbgemm_fp8", class: "FBGEMMFp8Config", until: r0518, minimum: 80, act: bf16OrHalf},
	{name: "quark", class: "Mxfp4Config", until: r0506, minimum: 80, act: bf16OrHalf},
	{name: "quark", class: "QuarkConfig", from: r0506, minimum: 70, act: halfOrBF16},
	{name: "quark_mxfp4", class: "QuarkConfig", from: r0515, minimum: 70, act: halfOrBF16},
	{name: "mxfp4", class: "Mxfp4Config", until: r0506, minimum: 80, act: bf16OrHalf},
	{name: "auto-round", class: "AutoRoundConfig", from: r0506, minimum: 60, act: halfOrBF16, files: []string{"quantization_config.json"}},
	{name: "auto-round-int8", class: "W8A8Int8Config", from: r0515, minimum: 75, act: halfOrBF16},
	{name: "modelslim", class: "ModelSlimConfig", from: r0508, act: []string{"int8", "float16", "bfloat16"}, files: []string{"quant_model_description.json"}},
	{name: "quark_int4fp8_moe", class: "QuarkInt4Fp8Config", from: r0508, minimum: 70, act: halfOrBF16},
	{name: "humming", class: "HummingConfig", from: r0518, minimum: 75, act: bf16OrHalf},
	{name: "mxfp_w4a8", class: "Mxfp4W4A8Config", from: r0515, act: bf16OrHalf},
	{name: "mxfp4", class: "Mxfp4Config", from: r0506, minimum: 80, act: bf16OrHalf},
	{name: "aqlm", until: r0506}, {name: "deepspeedfp", until: r0506}, {name: "tpu_int8", until: r0506},
	{name: "marlin", until: r0506}, {name: "gguf", until: r0506}, {name: "gptq_marlin_24", until: r0506},
	{name: "bitsandbytes", until: r0506}, {name: "qqq", until: r0506}, {name: "experts_int8", until: r0506},
}

// quantClassOf finds the class of a method.
func (s *state) quantClassOf(method string) quantClass {
	for _, q := range quantClasses {
		if q.name == method && q.in(s.r) {
			return q
		}
	}
	return quantClass{name: method}
}
