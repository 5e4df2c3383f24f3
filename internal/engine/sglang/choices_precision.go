package sglang

import (
	"shakedown/internal/engine"
	"shakedown/internal/fact"
)

// precisionChoices select quantisation, data types and GEMM kernels.
var precisionChoices = []engine.Line{
	{
		ID: "SGL-QUANT-DSV3-001", Kind: engine.Choice, Anchor: "default to fp8 for DeepSeek on sm100",
		Patterns: []string{
			"Detected FP8 expert weights in checkpoint, default to fp8 for DeepSeek on sm100",
			"Quantization not specified, default to fp8 for DeepSeek on sm100",
		},
		Sets:   sets("quantization", "fp8", byCheckpoint),
		Why:    "A DeepSeek checkpoint without a quantisation setting is taken for FP8 on this GPU generation.",
		Source: srcArgs,
	},
	{
		ID: "SGL-QUANT-DSV3-002", Kind: engine.Choice, Anchor: "No FP8 expert weights found in checkpoint, keeping bf16",
		Sets:  sets("quantization", "None", byCheckpoint),
		Why:   "The checkpoint's experts are not FP8, so no quantisation is assumed.",
		Since: "0.5.12", Source: srcArgs,
	},
	{
		ID: "SGL-QUANT-CLI-001", Kind: engine.Info, Anchor: "Using CLI-specified quantization (",
		Patterns: []string{"Using CLI-specified quantization (<quant>) which is compatible with HF config quant_method (<method>)"},
		Facts:    map[fact.Key]string{fact.Quant: "<quant>"},
		Since:    "0.5.8", Source: "sglang/srt/configs/model_config.py",
	},
	{
		ID: "SGL-QUANT-DETECTED-001", Kind: engine.Info, Anchor: "Detected nvfp4 checkpoint.",
		Facts:  map[fact.Key]string{fact.Quant: "nvfp4"},
		Source: "sglang/srt/layers/quantization/modelopt_quant.py",
	},
	{
		ID: "SGL-QUANT-DETECTED-002", Kind: engine.Info, Anchor: "Detected ModelOpt FP8 checkpoint.",
		Facts:  map[fact.Key]string{fact.Quant: "modelopt_fp8"},
		Source: "sglang/srt/layers/quantization/modelopt_quant.py",
	},
	{
		ID: "SGL-QUANT-DETECTED-003", Kind: engine.Info, Anchor: "Detected fp8 checkpoint.",
		Facts:  map[fact.Key]string{fact.Quant: "fp8"},
		Source: "sglang/srt/layers/quantization/fp8.py",
	},
	{
		ID: "SGL-QUANT-DRAFT-001", Kind: engine.Choice, Anchor: "Using draft model's detected quantization: ",
		Patterns: []string{"Using draft model's detected quantization: <quant>"},
		Sets:     sets("speculative_draft_model_quantization", "<quant>", byCheckpoint),
		Why:      "The draft checkpoint is quantised in another way than the target.",
		Since:    "0.5.9", Source: "sglang/srt/configs/model_config.py",
	},
	{
		ID: "SGL-DTYPE-CAST-001", Kind: engine.Choice, Anchor: "Casting torch.",
		Patterns: []string{"Casting torch.<from> to torch.<dtype>."},
		Facts:    map[fact.Key]string{fact.DType: "<dtype>"},
		Sets:     sets("dtype", "<dtype>", byUnknown),
		Why:      "The model runs in another 16-bit type than its checkpoint: the command, the model class or the platform wants it.",
		Source:   "sglang/srt/configs/model_config.py to 0.5.12",
	},
	{
		ID: "SGL-DTYPE-CAST-002", Kind: engine.Choice, Anchor: "Downcasting torch.",
		Patterns: []string{"Downcasting torch.<from> to torch.<dtype>."},
		Facts:    map[fact.Key]string{fact.DType: "<dtype>"},
		Sets:     sets("dtype", "<dtype>", byDefault),
		Why:      "A float32 checkpoint runs in a 16-bit type.",
		Source:   "sglang/srt/configs/model_config.py to 0.5.12",
	},
	{
		ID: "SGL-DTYPE-CAST-003", Kind: engine.Choice, Anchor: "Upcasting torch.",
		Patterns: []string{"Upcasting torch.<from> to torch.<dtype>."},
		Facts:    map[fact.Key]string{fact.DType: "<dtype>"},
		Sets:     sets("dtype", "<dtype>", byUnknown),
		Why:      "The model runs in float32 although its checkpoint is 16-bit.",
		Source:   "sglang/srt/configs/model_config.py to 0.5.12",
	},
	{
		ID: "SGL-DTYPE-SM80-001", Kind: engine.Choice, Anchor: "Compute capability below sm80. Use float16",
		Facts:  map[fact.Key]string{fact.DType: "float16"},
		Sets:   sets("dtype", "float16", byHardware),
		Why:    "GPUs before Ampere have no bfloat16.",
		Source: srcRunner,
	},
	{
		ID: "SGL-GEMM-FP4-001", Kind: engine.Choice, Anchor: "auto-selecting fp4-gemm-backend=",
		Patterns: []string{"auto-selecting fp4-gemm-backend=<backend>"},
		Sets:     sets("fp4_gemm_runner_backend", "<backend>", byHardware),
		Why:      "The default FP4 GEMM kernels do not run on consumer Blackwell.",
		Since:    "0.5.10", Source: "sglang/srt/layers/quantization/fp4_utils.py",
	},
	{
		ID: "SGL-GEMM-TF32-001", Kind: engine.Choice, Anchor: "Enable TF32 matmul ",
		Patterns: []string{"Enable TF32 matmul for <model> model to improve", "Enable TF32 matmul by default for <model>"},
		Sets:     sets("enable_tf32_matmul", "True", byModel),
		Why:      "The router GEMM of this model is slow in float32.",
		Since:    "0.5.15", Source: "sglang/srt/arg_groups/model_overrides",
	},
	{
		ID: "SGL-GEMM-WARMUP-001", Kind: engine.Info, Anchor: "reducing max_m to ",
		Patterns: []string{"is less than required memory <need>GB for warmup, reducing max_m to <rows> to avoid out of memory"},
		Since:    "0.5.9", Source: "sglang/srt/layers/deep_gemm_wrapper/compile_utils.py",
	},
	{
		ID: "SGL-MODEL-IMPL-001", Kind: engine.Choice, Anchor: " has no SGLang implementation, falling back to Transformers",
		Sets:   sets("model_impl", "transformers", byModel),
		Why:    "This release has no code of its own for the architecture.",
		Source: "sglang/srt/model_loader/utils.py",
	},
	{
		ID: "SGL-MODEL-MULTIMODAL-001", Kind: engine.Choice, Anchor: "Multimodal is disabled for ",
		Patterns: []string{"Multimodal is disabled for <model>. To enable it, set --enable-multimodal", "Multimodal is disabled for <model>: "},
		Sets:     sets("enable_multimodal", "False", byDefault),
		Why:      "This model family serves text only unless it is asked for more.",
		Source:   "sglang/srt/configs/model_config.py",
	},
	{
		ID: "SGL-MODEL-CONTEXT-001", Kind: engine.Info, Anchor: "Warning: User-specified context_length (",
		Patterns: []string{"Warning: User-specified context_length (<asked>) is greater than the derived context_length (<derived>)"},
		Facts:    map[fact.Key]string{fact.CtxLen: "<asked>"},
		Source:   "sglang/srt/configs/model_config.py",
	},
	{
		ID: "SGL-MODEL-TRANSFORMERS-001", Kind: engine.Info, Anchor: "Transformers version ",
		Patterns: []string{"Transformers version <version> is used for model type <type>."},
		Facts:    map[fact.Key]string{fact.Transformers: "<version>"},
		Source:   "sglang/srt/configs/model_config.py of 0.5.9",
	},
	{
		ID: "SGL-GPU-NAME-001", Kind: engine.Info, Anchor: ",device_name=",
		Patterns: []string{",device_name=<gpu>,", ",device_name=<gpu>.json"},
		Facts:    map[fact.Key]string{fact.GPUName: "<gpu>"},
		Source:   "names of kernel configuration files; blanks are written as underscores",
	},
}
