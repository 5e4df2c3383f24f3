package inspect

import "shakedown/internal/finding"

// Check is one thing that can be wrong with a checkpoint, documented as a rule
// is. Severity is what it has unless a check decides otherwise for a case.
type Check struct {
	ID       string
	Title    string
	Why      string // what happens, in plain words
	Cause    string // class of root causes
	Severity finding.Severity
	Remedy   string // empty: it follows from the finding
	Sources  []string
}

const (
	again  = "download the file again and compare its size with the publisher's"
	export = "export the checkpoint again, or repair the configuration to say what the tensors are"
	source = "compare with the publisher's copy of the file"
)

// Checks lists all checks in the order of their ids.
var Checks = []Check{
	{"CKPT-CONF-001", "No config.json", "Every engine reads the model's geometry from config.json before anything else.", "checkpoint-incomplete", finding.Error, "download config.json from the model's repository", nil},
	{"CKPT-CONF-002", "A configuration file can't be read", "An engine stops with a JSON error, or goes on without the file's settings.", "checkpoint-format", finding.Error, source, nil},
	{"CKPT-CONF-003", "Tensors of this model type are not checked against config.json", "The names and shapes of this family are not known here; everything else was checked.", "version-too-old", finding.Info, "", nil},
	{"CKPT-CONF-004", "config.json contradicts itself", "An engine refuses the configuration, or computes with a geometry that the weights don't have.", "checkpoint-format", finding.Error, source, nil},
	{"CKPT-CONF-005", "Two spellings of one setting disagree", "Engines and releases read different spellings, so the same files give different models.", "checkpoint-format", finding.Error, "keep one spelling, or make both equal", nil},
	{"CKPT-CONF-006", "The context asked for is longer than the model's", "Engines refuse it, or cut the context; beyond its length the model was not trained.", "limit-exceeded", finding.Warning, "a shorter context, or a checkpoint that is made for it", nil},
	{"CKPT-DSA-001", "A layer that shares its index carries one", "Layers without an index of their own take over that of an earlier layer; the tensors are not used.", "checkpoint-format", finding.Info, "", nil},
	{"CKPT-ENG-001", "DeepGEMM is on and expects scales that are powers of two", "The release takes this GPU for one on which DeepGEMM packs scales by exponent alone (UE8M0). Other scales lose their mantissa, which lands in neighbouring exponents; a packed byte of 255 is NaN.", "numerics-nan", finding.Warning, "or use SGLang 0.5.13 or later, which leaves DeepGEMM out on this GPU", []string{"https://github.com/sgl-project/sglang/pull/19948", "sglang/srt/layers/deep_gemm_wrapper/configurer.py (0.5.9, 0.5.13)"}},
	{"CKPT-ENG-002", "The engine release is older than the model type", "The architecture is unknown to it, or known without a part that this model uses.", "version-too-old", finding.Warning, "upgrade the engine", nil},
	{"CKPT-ENG-003", "The GPU has no instructions for this number format", "Engines fall back to kernels that expand the weights, or refuse.", "kernel-unsupported", finding.Warning, "choose a checkpoint in a format that the GPU computes in, or accept the slower fallback", nil},
	{"CKPT-ENG-004", "The engine chooses a KV cache format and kernels for this model that do not run on this GPU", "With an FP8 cache this release selects sparse-attention kernels that are built for other architectures.", "auto-selection", finding.Warning, "name the KV cache type and the attention backend explicitly; `shakedown plan` shows what would be chosen", []string{"sglang/srt/server_args.py (0.5.9)"}},
	{"CKPT-ENG-005", "The engine's own transformers does not know the model type", "Loading ends with \"does not recognize this architecture\".", "version-too-old", finding.Warning, "", nil},
	{"CKPT-FILE-001", "A weight file is missing", "Some engines stop; others start cleanly with uninitialised weights in its place.", "checkpoint-incomplete", finding.Error, "download the missing file", []string{"https://github.com/sgl-project/sglang/issues/32279"}},
	{"CKPT-FILE-002", "A weight file is cut short", "The header promises more bytes than the file has; the download or copy was interrupted, or the disk was full.", "checkpoint-incomplete", finding.Error, again, nil},
	{"CKPT-FILE-003", "Something else stands in place of a weight file", "A Git LFS pointer or an error page was stored under the file's name.", "checkpoint-incomplete", finding.Error, "fetch the file itself: git lfs pull, or huggingface-cli download", nil},
	{"CKPT-FILE-004", "The header of a weight file is broken", "The header is not what the format says, so no engine can find its tensors.", "checkpoint-format", finding.Error, again, []string{"https://github.com/huggingface/safetensors (format)"}},
	{"CKPT-FILE-005", "The tensors of a file overlap, leave gaps, or do not fill it", "The safetensors library refuses such a file; readers that don't check load wrong bytes.", "checkpoint-format", finding.Error, again, []string{"https://github.com/huggingface/safetensors (format)"}},
	{"CKPT-FILE-006", "A tensor is in two files", "Which copy is used depends on the order in which an engine reads the files.", "checkpoint-format", finding.Error, "remove the file that does not belong to the checkpoint", nil},
	{"CKPT-FILE-007", "A file can't be read", "The operating system refuses.", "host-limits", finding.Error, "check the permissions of the file and of the folders above it", nil},
	{"CKPT-FILE-008", "There are no weights", "Neither weight files in a format that is read here nor an index.", "checkpoint-incomplete", finding.Error, "download the weights, or convert them to safetensors", nil},
	{"CKPT-FILE-009", "The index does not name a weight file", "Engines that go by the index do not load it; a layer for multi-token prediction in a file of its own is lost this way.", "checkpoint-format", finding.Error, "add its tensors to the index", nil},
	{"CKPT-INDEX-001", "The index names a tensor that its file does not have", "The tensor stays uninitialised, or the engine stops.", "checkpoint-incomplete", finding.Error, "download file and index of the same revision", nil},
	{"CKPT-INDEX-002", "The index names the wrong file for a tensor", "Loaders that go by the index don't find it.", "checkpoint-format", finding.Error, "download all files and the index of the same revision", nil},
	{"CKPT-INDEX-003", "A tensor is not in the index", "Loaders that go by the index leave it out.", "checkpoint-format", finding.Error, "write the index anew", nil},
	{"CKPT-INDEX-004", "The total size in the index is not the sum of the tensors", "Nothing computes with it except progress bars and memory estimates.", "checkpoint-format", finding.Info, "", nil},
	{"CKPT-INDEX-005", "The index can't be used", "Engines can't tell which files belong to the checkpoint.", "checkpoint-format", finding.Error, source, nil},
	{"CKPT-INDEX-006", "Numbered shards have no index", "Engines load what they find; a missing shard goes unnoticed.", "checkpoint-incomplete", finding.Error, "download model.safetensors.index.json", nil},
	{"CKPT-MEM-001", "The weights do not fit", "The server runs out of memory while loading.", "oom-weights", finding.Warning, "more GPUs, a larger parallel layout, or a smaller weight format", nil},
	{"CKPT-MEM-002", "Too little memory is left for the KV cache", "The server refuses to start, or cuts the context.", "oom-kv-cache", finding.Warning, "a shorter context, a smaller cache type, or more GPUs", nil},
	{"CKPT-MTP-001", "config.json promises a layer for multi-token prediction that is not there", "The server runs without it; speculative decoding with the model's own layer fails or accepts nothing.", "checkpoint-incomplete", finding.Warning, "do not start with MTP, NEXTN or EAGLE on this checkpoint, or get one that has the layer", nil},
	{"CKPT-MTP-002", "The layer for multi-token prediction is incomplete", "Loading it for speculative decoding fails.", "checkpoint-incomplete", finding.Error, "get the missing tensors", nil},
	{"CKPT-MTP-003", "There are layers beyond those of config.json", "Engines leave them out.", "checkpoint-format", finding.Info, "", nil},
	{"CKPT-PAR-001", "A dimension does not divide by the parallel layout", "The engine refuses, or pads and computes something else.", "parallel-shape", finding.Warning, "", nil},
	{"CKPT-PAR-002", "A quantisation block does not divide by the parallel layout", "Every GPU's share must hold whole blocks of scales.", "parallel-shape", finding.Warning, "", []string{"https://github.com/sgl-project/sglang/issues (output_size ... is not divisible by weight quantization block_n = 128)"}},
	{"CKPT-QUANT-001", "A module is on the ignore list and is quantised", "An engine that goes by the list reads codes as plain numbers.", "checkpoint-format", finding.Error, export, nil},
	{"CKPT-QUANT-002", "A module is not quantised and not on the ignore list", "An engine that goes by the list expects codes and scales: it stops with a shape that is wrong by a factor of two, or reads numbers as codes.", "checkpoint-format", finding.Error, "add the module to the ignore list of config.json and hf_quant_config.json", nil},
	{"CKPT-QUANT-003", "The ignore list names what is not there", "A loader that matches names literally does not recognise the module that was meant.", "checkpoint-format", finding.Info, "", []string{"https://github.com/ROCm/ATOM/pull/451"}},
	{"CKPT-QUANT-004", "A quantised weight has no scale", "The codes can't be turned into numbers; an engine stops, or takes 1.", "checkpoint-incomplete", finding.Error, "export the checkpoint again", nil},
	{"CKPT-QUANT-005", "Scales do not fit their weight", "The number of scales contradicts the size of the weight and the format's block.", "checkpoint-format", finding.Error, "export the checkpoint again", nil},
	{"CKPT-QUANT-006", "Scales belong to nothing", "Scales stand beside a weight that is not quantised, or without a weight.", "checkpoint-format", finding.Error, export, nil},
	{"CKPT-QUANT-007", "Weights are quantised and no configuration says so", "An engine loads codes as if they were plain numbers.", "checkpoint-format", finding.Error, "add quantization_config to config.json", nil},
	{"CKPT-QUANT-008", "The configuration says quantised and no weight is", "An engine looks for scales that are not there.", "checkpoint-format", finding.Error, "remove quantization_config from config.json", nil},
	{"CKPT-QUANT-009", "The weights are stored in another format than the configuration says", "An engine chooses kernels and parameter shapes by the configuration.", "checkpoint-format", finding.Error, export, nil},
	{"CKPT-QUANT-010", "config.json and hf_quant_config.json disagree", "Engines and releases read one or the other.", "checkpoint-format", finding.Error, "make both files say the same", nil},
	{"CKPT-QUANT-011", "The quantisation method is not known here", "Its tensors are not checked.", "version-too-old", finding.Info, "", nil},
	{"CKPT-QUANT-012", "A scale for activations is missing", "Static activation quantisation divides by it: an engine stops, or computes with whatever the memory held.", "checkpoint-incomplete", finding.Error, "calibrate and export again with data that reaches every expert", nil},
	{"CKPT-QUANT-013", "The checkpoint asks for an FP8 KV cache and brings no scales for it", "Engines take 1.0: values beyond 448 are cut off, and small ones lose bits.", "kv-cache-dtype", finding.Info, "start with a 16-bit KV cache, or calibrate k_scale and v_scale", []string{"sglang/srt/layers/quantization/kv_cache.py (0.5.18)"}},
	{"CKPT-QUANT-014", "Scales of the KV cache are there for some layers only", "The other layers run with 1.0.", "checkpoint-incomplete", finding.Error, "calibrate and export again", nil},
	{"CKPT-QUANT-015", "Gate and up projection of one module have different global scales", "Engines fuse the two and use one scale for both, so one of them is wrong.", "checkpoint-format", finding.Info, "export again with shared scales", []string{"modelopt export: gate and up share weight_scale_2"}},
	{"CKPT-QUANT-016", "An entry of the ignore list covers more layers when it is read literally", "A star stands for any text: model.layers.1* also matches layers 10 to 19. An engine that matches like this reads their codes as plain numbers.", "checkpoint-format", finding.Info, "write the entry with a dot: model.layers.1.*", []string{"sglang/srt/layers/quantization/modelopt_quant.py is_layer_excluded (0.5.9)"}},
	{"CKPT-SCALE-001", "Scales are no powers of two", "DeepGEMM on Blackwell packs scales by exponent (UE8M0). Engines that don't requantise feed it wrong exponents and NaN; those that do lose up to one mantissa bit.", "numerics-nan", finding.Info, "", []string{"deep_gemm: csrc/apis/layout.hpp, smxx_layout.cuh", "https://github.com/sgl-project/sglang/pull/13067", "https://github.com/vllm-project/vllm/issues/51372"}},
	{"CKPT-SCALE-002", "A scale is NaN, infinite, negative or zero", "Everything that the block contributes to is NaN or lost.", "numerics-nan", finding.Error, "export the checkpoint again", nil},
	{"CKPT-SCALE-003", "scale_fmt promises powers of two, and the scales are not", "An engine takes the promise and packs the exponents without looking.", "numerics-nan", finding.Error, "remove scale_fmt from config.json, or requantise with power-of-two scales", nil},
	{"CKPT-SCALE-004", "Global scales look like their reciprocals", "modelopt stores amax/2688, compressed-tensors 2688/amax. Read the wrong way round, weights are off by many orders of magnitude.", "checkpoint-format", finding.Error, "export the checkpoint again", nil},
	{"CKPT-SHAPE-001", "A tensor's shape contradicts config.json", "The engine stops while loading.", "checkpoint-format", finding.Error, "use config.json and weights of the same revision", nil},
	{"CKPT-SHAPE-002", "A tensor that config.json needs is missing", "The engine stops, or goes on with uninitialised weights.", "checkpoint-incomplete", finding.Error, "download files of the same revision, or export again", nil},
	{"CKPT-SHAPE-003", "Weights are of another type than config.json says", "Engines convert while loading; float16 weights lose range where bfloat16 was meant, and larger types cost time and memory.", "checkpoint-format", finding.Info, "", nil},
	{"CKPT-SHAPE-004", "Layers are there that config.json does not count", "Engines leave them out: the model is shorter than the one that was trained.", "checkpoint-format", finding.Error, "use config.json and weights of the same revision", nil},
	{"CKPT-TMPL-001", "The chat template writes control tokens that the tokenizer does not have", "They are split into ordinary text, which the model was never trained on.", "output-parsing", finding.Warning, "use tokenizer and template of the same revision", nil},
	{"CKPT-TMPL-002", "There is no chat template", "Chat requests fail, or get a default template that the model was not trained with.", "output-parsing", finding.Info, "", nil},
	{"CKPT-TMPL-003", "The chat template is not closed", "Every chat request fails with a template error.", "output-parsing", finding.Error, source, nil},
	{"CKPT-TOK-001", "Token ids reach beyond the vocabulary of the model", "The embedding has no row for them: an illegal access or an assertion.", "checkpoint-format", finding.Error, "use the tokenizer of this model", nil},
	{"CKPT-TOK-002", "A special token id is outside the vocabulary", "The server pads, starts or stops with a token that can't exist.", "checkpoint-format", finding.Error, "use configuration and tokenizer of the same revision", nil},
	{"CKPT-TOK-003", "End-of-text tokens disagree", "Generation stops by one file's ids; a model that ends its turn with another one never stops.", "output-parsing", finding.Warning, "make eos_token_id of generation_config.json hold every token that ends a turn", nil},
	{"CKPT-TOK-004", "There is no tokenizer", "A server needs one to take text; requests with token ids work without.", "checkpoint-incomplete", finding.Info, "", nil},
	{"CKPT-TOK-005", "A file of the tokenizer can't be read", "The server can't encode text.", "checkpoint-format", finding.Error, source, nil},
	{"CKPT-TOK-006", "Two added tokens have one id", "Which text the id stands for depends on the library.", "checkpoint-format", finding.Error, source, nil},
	{"CKPT-TOK-007", "The tokenizer knows few of the model's tokens", "It belongs to another model, or parts of it are missing: the model's other tokens come out as nothing.", "checkpoint-format", finding.Warning, "use the tokenizer of this model", nil},
	{"CKPT-VAL-001", "Weights are NaN", "Every token that reaches them becomes NaN.", "numerics-nan", finding.Error, "compare the file with the publisher's checksum; export again if it is the same", nil},
	{"CKPT-VAL-002", "Weights are infinite", "Products with them are infinite or NaN.", "numerics-nan", finding.Error, "compare the file with the publisher's checksum; export again if it is the same", nil},
	{"CKPT-VAL-003", "A weight is all zero", "The module contributes nothing: it was never written, or the file was not filled.", "checkpoint-incomplete", finding.Error, again, nil},
	{"CKPT-VAL-004", "A weight has one value throughout", "It was initialised and never filled.", "checkpoint-incomplete", finding.Error, again, nil},
	{"CKPT-VAL-005", "A long stretch of a weight is zero", "A part of the file was reserved and never written.", "checkpoint-incomplete", finding.Error, again, nil},
	{"CKPT-VAL-006", "Two weights begin with the same values", "A layer or expert was copied: models are made deeper like this on purpose, and by mistake in a conversion.", "checkpoint-format", finding.Info, "", nil},
}

var checkByID = func() map[string]*Check {
	m := make(map[string]*Check, len(Checks))
	for i := range Checks {
		m[Checks[i].ID] = &Checks[i]
	}
	return m
}()
