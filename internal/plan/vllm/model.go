package vllm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
	"shakedown/internal/plan"
)

// modelSteps are the decisions of ModelConfig.__post_init__, and what comes
// before it.
var modelSteps = []plan.Step[*state]{
	step("VLLM-ENV-UNKNOWN", ">=0.19", "vllm/envs.py validate_environ (0.24.0)", (*state).unknownVariables),
	step("VLLM-ATTN-VARIABLE", "<0.16", "vllm/envs.py VLLM_ATTENTION_BACKEND (0.11.2)", (*state).attentionVariable),
	step("VLLM-CUMEM", ">=0.24", "vllm/config/model.py ModelConfig.__post_init__ (0.24.0)", (*state).sleepMode),
	step("VLLM-MODEL-CONFIG", "", "vllm/transformers_utils/config.py get_config (0.24.0)", (*state).readCheckpoint),
	step("VLLM-RUNNER", "", "vllm/config/model.py ModelConfig._get_runner_type (0.24.0)", (*state).runner),
	step("VLLM-CONVERT", "", "vllm/config/model.py ModelConfig._get_convert_type (0.24.0)", (*state).convertType),
	step("VLLM-MODEL-ARCH", "", "vllm/model_executor/models/registry.py inspect_model_cls (0.24.0)", (*state).resolveArchitecture),
	step("VLLM-TOKENIZER-MODE", ">=0.19", "vllm/config/model.py ModelConfig.__post_init__ (0.24.0)", (*state).tokenizerMode),
	step("VLLM-DTYPE", "", "vllm/config/model.py _get_and_verify_dtype (0.24.0)", (*state).dtype),
	step("VLLM-MODEL-LEN", "", "vllm/config/model.py _get_and_verify_max_len (0.24.0)", (*state).maxModelLen),
	step("VLLM-MODEL-MM", "", "vllm/config/model.py ModelConfig.__post_init__ (0.24.0)", (*state).multimodal),
	step("VLLM-QUANT", "", "vllm/config/model.py ModelConfig._verify_quantization (0.24.0)", (*state).quantization),
}

// unknownVariables warns about variables that look like vLLM's and are not.
func (s *state) unknownVariables() error {
	for _, name := range slices.Sorted(maps.Keys(s.ask.Env)) {
		if strings.HasPrefix(name, "VLLM_") && !environment()[name].has(s.r) {
			s.warn("Unknown vLLM environment variable detected: %s", name)
		}
	}
	return nil
}

// attentionVariable checks VLLM_ATTENTION_BACKEND, which ModelConfig reads for
// the multimodal encoder.
func (s *state) attentionVariable() error {
	v, ok := s.Env("VLLM_ATTENTION_BACKEND")
	if !ok || slices.Contains(attentionBackends(s.r), v) {
		return nil
	}
	return invalid("ModelConfig", "Invalid value '%s' for VLLM_ATTENTION_BACKEND. Valid options: ['%s'].", v, strings.Join(attentionBackends(s.r), "', '"))
}

func (s *state) sleepMode() error {
	if s.args.Bool("enable_sleep_mode") && !s.args.Bool("enable_cumem_allocator") {
		s.info("Enabling cumem allocator because sleep mode requires it.")
	}
	return nil
}

// readCheckpoint reads config.json, which transformers must know the type of.
func (s *state) readCheckpoint() error {
	if !s.envBool("VLLM_ENABLE_V1_MULTIPROCESSING", true) {
		s.warn("The global random seed is set to %d. Since VLLM_ENABLE_V1_MULTIPROCESSING is set to False, this may affect the random state of the Python process that launched vLLM.", s.args.Int("seed"))
	}
	if err := s.withinLimits("ModelConfig"); err != nil {
		return err
	}
	files := s.overridden()
	kind := files.Config.Text("model_type")
	if !s.knowsModelType(kind) {
		if files.Config.Obj("auto_map").Has("AutoConfig") {
			if !s.args.Bool("trust_remote_code") {
				return invalid("ModelConfig", "%s", ownCode(files.Path))
			}
		} else {
			return invalid("ModelConfig", "%s", unknownModelType(kind))
		}
	}
	s.model = readModel(files, s.r, s.envBool("VLLM_MLA_DISABLE", false))
	if len(s.model.architectures) == 0 {
		return invalid("ModelConfig", "No model architectures are specified")
	}
	s.because("", byModel, fmt.Sprintf("config.json: model_type %s, architecture %s.", kind, s.model.architectures[0]))
	s.Set("model.attention_chunk_size", s.model.chunk)
	return nil
}

// overridden is the checkpoint with --hf-config-path and --hf-overrides applied
// (ModelConfig._apply_dict_overrides).
func (s *state) overridden() *hfconfig.Model {
	files := *s.ask.Model
	if other := s.ask.Drafts[s.args.Str("hf_config_path")]; other != nil {
		files.Config = other.Config
	}
	given, _ := s.args.Get("hf_overrides").(map[string]any)
	given = maps.Clone(given)
	if s.r == v0160 {
		delete(given, "rope_scaling") // comes too late: rope_parameters are read off it before
	}
	if len(given) == 0 {
		return &files
	}
	text, err := json.Marshal(given)
	if err != nil {
		return &files
	}
	changes, err := hfconfig.Decode(text)
	if err != nil {
		return &files
	}
	files.Config = merged(files.Config, changes)
	return &files
}

// merged is an object with changes applied. Sections that describe a model of
// their own are changed field by field, all others are replaced.
func merged(o, changes hfconfig.Object) hfconfig.Object {
	out := maps.Clone(o)
	if out == nil {
		out = hfconfig.Object{}
	}
	for key, v := range changes {
		inner, _ := v.(hfconfig.Object)
		if old := o.Obj(key); inner != nil && old.Has("model_type") {
			out[key] = merged(old, inner)
			continue
		}
		out[key] = v
	}
	return out
}

// ownCode is what AutoConfig says about a checkpoint that brings code
// (transformers/dynamic_module_utils.py resolve_trust_remote_code). vLLM looks
// for other words before it explains --trust-remote-code itself, and does not
// find them.
func ownCode(model string) string {
	return fmt.Sprintf("The repository %s contains custom code which must be executed to correctly load the model. You can inspect the repository content at %s .\n"+
		" You can inspect the repository content at https://hf.co/%s.\nPlease pass the argument `trust_remote_code=True` to allow custom code to be run.", model, model, model)
}

// unknownModelType is what AutoConfig says about a model type that it does not
// know (transformers/models/auto/configuration_auto.py).
func unknownModelType(kind string) string {
	return "The checkpoint you are trying to load has model type `" + kind + "` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date.\n\n" +
		"You can update Transformers with the command `pip install --upgrade transformers`. If this does not work, and the checkpoint is very new, then there may not be a release version that supports this model yet. In this case, you can get the most up-to-date code by installing Transformers from source with the command `pip install git+https://github.com/huggingface/transformers.git`"
}

// classDefaults are the runner and the conversion that the ending of an
// architecture's name stands for, the first match counting.
var classDefaults = []struct{ suffix, runner, convert string }{
	{"ForCausalLM", "generate", "none"},
	{"ForConditionalGeneration", "generate", "none"},
	{"ChatModel", "generate", "none"},
	{"LMHeadModel", "generate", "none"},
	{"ForTextEncoding", "pooling", "embed"},
	{"EmbeddingModel", "pooling", "embed"},
	{"ForSequenceClassification", "pooling", "classify"},
	{"ForTokenClassification", "pooling", "classify"},
	{"ForAudioClassification", "pooling", "classify"},
	{"ForImageClassification", "pooling", "classify"},
	{"ForVideoClassification", "pooling", "classify"},
	{"ClassificationModel", "pooling", "classify"},
	{"ForRewardModeling", "pooling", "embed"},
	{"RewardModel", "pooling", "embed"},
	{"Model", "pooling", "embed"},
}

// classDefault finds the defaults of an architecture; a runner narrows them.
func classDefault(name, runner string) (asRunner, convert string, ok bool) {
	for _, d := range classDefaults {
		if (runner == "" || runner == d.runner) && strings.HasSuffix(name, d.suffix) {
			return d.runner, d.convert, true
		}
	}
	return "", "", false
}

// runner decides between generating text and pooling.
func (s *state) runner() error {
	if r := s.args.Str("runner"); r != "auto" {
		s.because("", byCoupling, "--runner.", "model.runner_type")
		s.Set("scheduler.runner_type", r)
		return nil
	}
	runner := "generate"
	if convert := s.args.Str("convert"); s.r >= v0240 && convert != "auto" && convert != "none" {
		runner = "pooling"
	} else {
		for _, name := range s.model.architectures {
			if class, ok := architectureOf(name, s.r); ok {
				if class.pooling {
					runner = "pooling"
					break
				}
				if class.generates {
					break
				}
			}
			if r, _, ok := classDefault(name, ""); ok {
				runner = r
				break
			}
		}
	}
	s.because("", byModel, fmt.Sprintf("The class of %s decides between generating text and pooling.", s.model.architectures[0]))
	s.Set("model.runner_type", runner)
	s.Set("scheduler.runner_type", runner)
	if runner != "generate" {
		s.info("Resolved `--runner auto` to `--runner %s`. Pass the value explicitly to silence this message.", runner)
	}
	return nil
}

// convertType decides whether a generating model is adapted for pooling.
func (s *state) convertType() error {
	if s.args.Str("convert") != "auto" {
		return nil
	}
	runner := s.Str("model.runner_type")
	convert := "none"
	if runner == "pooling" {
		convert = "embed"
	}
	for _, name := range s.model.architectures {
		if class, ok := architectureOf(name, s.r); ok && (runner == "generate" && class.generates || runner == "pooling" && class.pooling) {
			convert = "none"
			break
		}
		if _, c, ok := classDefault(name, runner); ok {
			convert = c
			break
		}
	}
	s.because("", byModel, fmt.Sprintf("%s as a %s model.", s.model.architectures[0], runner))
	s.Set("model.convert_type", convert)
	if convert != "none" {
		s.info("Resolved `--convert auto` to `--convert %s`. Pass the value explicitly to silence this message.", convert)
	}
	return nil
}

// resolveArchitecture finds the class that runs the model.
func (s *state) resolveArchitecture() error {
	m := s.model
	if s.args.Str("model_impl") == "transformers" && len(m.architectures) > 0 && !s.transformersRuns(m) {
		return invalid("ModelConfig", "The Transformers implementation of '%s' is not compatible with vLLM.", m.architectures[0])
	}
	var ok bool
	if m.name, m.class, ok = s.inspect(); !ok {
		return s.unsupported()
	}
	if !slices.Contains(m.architectures, m.name) && s.args.Str("model_impl") != "transformers" {
		s.warn("%s has no vLLM implementation, falling back to Transformers implementation. Some features may not be supported and performance may not be optimal.", m.name)
	}
	return s.announceArchitecture()
}

// inspect finds the class of a model and the name that it goes by: vLLM's own
// implementation, that of a sibling which can be converted, or transformers'
// (registry.inspect_model_cls).
func (s *state) inspect() (name string, class architecture, ok bool) {
	m, impl := s.model, s.args.Str("model_impl")
	unknown := !slices.ContainsFunc(m.architectures, func(a string) bool { _, ok := architectureOf(a, s.r); return ok })
	backend := func() bool {
		if s.transformersRuns(m) {
			name = transformersBackend(m)
			class, ok = architectureOf(name, s.r)
		}
		return ok
	}
	if impl == "transformers" && backend() {
		return name, class, true
	}
	if unknown && impl == "auto" && s.Str("model.convert_type") == "none" && backend() {
		return name, class, true
	}
	for _, name := range m.architectures {
		if class, ok := architectureOf(s.sibling(name), s.r); ok {
			return name, class, true
		}
	}
	return name, class, unknown && impl == "auto" && backend()
}

// sibling is the architecture whose class a model of another ending can be
// made of: LlamaForCausalLM for LlamaForSequenceClassification
// (registry._normalize_arch).
func (s *state) sibling(name string) string {
	if _, ok := architectureOf(name, s.r); ok {
		return name
	}
	runner, convert := s.Str("model.runner_type"), s.Str("model.convert_type")
	for _, d := range classDefaults {
		if d.runner != runner || d.convert != convert || !strings.HasSuffix(name, d.suffix) {
			continue
		}
		for _, other := range classDefaults {
			base := strings.ReplaceAll(name, d.suffix, other.suffix)
			if _, ok := architectureOf(base, s.r); ok {
				return base
			}
		}
		break
	}
	return name
}

// unsupported is how an architecture without an implementation is refused.
func (s *state) unsupported() error {
	for _, name := range s.model.architectures {
		if g, ok := goneArchitectures[name]; ok && s.r >= g.from {
			return invalid("ModelConfig", "Model architecture %s was supported in vLLM until v%s, and is not supported anymore. Please use an older version of vLLM if you want to use this model architecture.", name, g.until)
		}
		if plugin := pluginArchitectures[name]; plugin != "" && s.r >= v0191 {
			return invalid("ModelConfig", "Model architecture %s is not supported in-tree anymore. Please install the plugin at %s if you want to use this model architecture.", name, plugin)
		}
	}
	return invalid("ModelConfig", "Model architectures ['%s'] are not supported for now.", strings.Join(s.model.architectures, "', '"))
}

// announceArchitecture checks that the class can do what it is to do.
func (s *state) announceArchitecture() error {
	m := s.model
	runner := s.Str("model.runner_type")
	switch {
	case runner != "pooling" && m.class.pooling && !m.class.generates:
		return invalid("ModelConfig", "Embedding models do not support `--runner %s`. Use `--runner pooling` or `--runner auto` for embedding models.", runner)
	case runner == "generate" && !m.class.generates:
		return invalid("ModelConfig", "This model does not support `--runner generate`.")
	case runner == "pooling" && !m.class.pooling && !slices.Contains([]string{"embed", "classify", "reward"}, s.Str("model.convert_type")):
		return invalid("ModelConfig", "This model does not support `--runner pooling`. You can pass `--convert <embed|classify> to adapt it into a pooling model.")
	}
	s.info("Resolved architecture: %s", m.name)
	s.because("", byModel, fmt.Sprintf("The class %s says what its layers are.", m.name))
	s.Set("model.is_hybrid", m.isHybrid(s.r))
	s.Set("model.is_deepseek_mla", m.mla)
	latent := m.mla
	if s.r >= v0320 && strings.HasPrefix(m.name, "Transformers") {
		latent = m.text.Has("kv_lora_rank")
	}
	s.Set("model.use_mla", latent && !s.envBool("VLLM_MLA_DISABLE", false))
	s.Set("cache.is_attention_free", m.class.noAttention)
	return nil
}

// transformersRuns says whether transformers has the first architecture of a
// model, with attention that vLLM can replace
// (registry._try_resolve_transformers).
func (s *state) transformersRuns(m *model) bool {
	if s.args.Bool("trust_remote_code") {
		for key := range m.config.Obj("auto_map") {
			if strings.HasPrefix(key, "AutoModel") {
				return true
			}
		}
	}
	kind := modelTypes()[m.modelType]
	if len(m.architectures) == 0 || !kind.replaceable.reached(s.library()) && !(kind.settable && s.r >= v0320) {
		return false
	}
	if _, _, usual := classDefault(m.architectures[0], ""); !usual {
		return false
	}
	family := strings.NewReplacer("_", "", "-", "").Replace(strings.TrimSuffix(m.modelType, "_text"))
	return strings.HasPrefix(strings.ToLower(m.architectures[0]), family[:min(4, len(family))])
}

// transformersBackend is the class that runs an architecture which vLLM does
// not implement (ModelConfig._get_transformers_backend_cls).
func transformersBackend(m *model) string {
	name := "Transformers"
	if len(m.text) != len(m.config) {
		name += "MultiModal"
	}
	if m.experts > 0 {
		name += "MoE"
	}
	if runner, convert, ok := classDefault(m.architectures[0], ""); ok && runner == "pooling" {
		if convert == "classify" {
			return name + "ForSequenceClassification"
		}
		return name + "EmbeddingModel"
	}
	return name + "ForCausalLM"
}

// isHybrid says whether attention and recurrent layers alternate. A model of a
// hybrid class may have attention layers only.
func (m *model) isHybrid(r release) bool {
	if !m.class.hybrid {
		return false
	}
	kinds := m.config.Strings("layer_types")
	return len(kinds) == 0 || slices.ContainsFunc(kinds, func(k string) bool { return k != "attention" && !(r >= v0320 && k == "full_attention") })
}

// tokenizerModes are the modes that architectures ask for.
var tokenizerModes = map[string]struct {
	mode string
	from release
}{
	"DeepseekV32ForCausalLM":   {"deepseek_v32", v0191},
	"DeepseekV4ForCausalLM":    {"deepseek_v4", v0240},
	"Grok1ForCausalLM":         {"grok2", v0191},
	"MoonshotKimiaForCausalLM": {"kimi_audio", v0191},
}

func (s *state) tokenizerMode() error {
	want, ok := tokenizerModes[s.model.name]
	if !ok || s.r < want.from || s.Str("model.tokenizer_mode") != "auto" {
		return nil
	}
	s.because("", byModel, s.model.name+" needs a tokenizer of its own.")
	s.Set("model.tokenizer_mode", want.mode)
	s.info("Defaulting to tokenizer_mode='%s' for %s", want.mode, s.model.name)
	return nil
}

// float16Refused are the model types that overflow in float16.
var float16Refused = names("gemma2 gemma3 gemma3_text plamo2 glm4")

const float16Reason = "Numerical instability. Please use bfloat16 or float32 instead."

// configDType is the dtype that config.json names, or empty.
func (m *model) configDType() string {
	for _, o := range []hfconfig.Object{m.config, m.text, m.config.Obj("vision_config"), m.config.Obj("encoder_config")} {
		for _, name := range []string{"dtype", "torch_dtype"} {
			if d := strings.TrimPrefix(o.Text(name), "torch."); d != "" && d != "auto" {
				return d
			}
		}
	}
	return ""
}

// dtype decides the dtype of weights and activations.
func (s *state) dtype() error {
	inConfig := s.model.configDType()
	if inConfig == "" {
		inConfig = "float32" // the weights could tell it as well; they are not read
		if path := s.ask.Model.Path; s.r <= v0160 && strings.HasPrefix(path, "/") {
			said := fmt.Sprintf("Error retrieving safetensors: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '%s'. Use `repo_type` argument if needed.", path)
			s.Print('E', said+", retrying 1 of 2")
			s.Print('E', said)
		}
	}
	asked := strings.ToLower(s.args.Str("dtype"))
	noFloat16 := slices.Contains(float16Refused, s.model.modelType)
	by, rule := byModel, fmt.Sprintf("config.json names %s, --dtype %s was in force.", inConfig, asked)
	var chosen string
	switch asked {
	case "auto":
		supported := []string{"bfloat16", "float16", "float32"}
		if s.gpu.capability() < 80 {
			supported = []string{"float16", "float32"}
		}
		if noFloat16 {
			supported = slices.DeleteFunc(supported, func(d string) bool { return d == "float16" })
		}
		preferred := supported[0]
		if s.Str("model.runner_type") == "pooling" && slices.Contains(supported, "float16") {
			preferred = "float16"
		}
		chosen = inConfig
		if chosen == "float32" {
			chosen = preferred
		}
		if !slices.Contains(supported, chosen) {
			by, rule = byHardware, fmt.Sprintf("Compute capability %d.%d does not support %s.", s.gpu.major, s.gpu.minor, chosen)
			s.warn("Your device '%s' (with compute capability %d.%d) doesn't support torch.%s. Falling back to torch.%s for compatibility.", s.gpu.name, s.gpu.major, s.gpu.minor, chosen, preferred)
			chosen = preferred
		}
	case "half":
		chosen = "float16"
	case "float":
		chosen = "float32"
	default:
		chosen = asked
	}
	if noFloat16 && chosen == "float16" {
		return invalid("ModelConfig", "The model type '%s' does not support float16. Reason: %s", s.model.modelType, float16Reason)
	}
	id, level, word := castOf(inConfig, chosen)
	s.because(id, by, rule)
	s.Set("model.dtype", "torch."+chosen)
	if word != "" {
		s.line(level, "%s torch.%s to torch.%s.", []any{word, inConfig, chosen})
	}
	if s.model.slidingWindow == 0 && s.model.text.IntOr("sliding_window", -1) == 0 && s.r >= v0191 {
		s.because("", byModel, "The checkpoint's sliding window is 0, which means none.")
		s.Set("model.disable_sliding_window", true)
	}
	return nil
}

// castOf is the decision that changes a dtype, the level of its line and the
// word for it; empty for the same dtype.
func castOf(from, to string) (id string, level byte, word string) {
	switch {
	case from == to:
		return "", 'I', ""
	case to == "float32":
		return "VLLM-DTYPE-UP", 'I', "Upcasting"
	case from == "float32":
		return "VLLM-DTYPE-DOWN", 'I', "Downcasting"
	}
	return "VLLM-DTYPE-CAST", 'W', "Casting"
}

// maxModelLen derives the longest sequence from config.json and checks the one
// that was asked for against it.
func (s *state) maxModelLen() error {
	asked, given := s.args.Get("max_model_len").(int)
	n, err := s.deriveMaxModelLen(asked, given && !(asked == -1 && s.r >= v0160))
	if err != nil {
		return err
	}
	s.because("", byModel, "The smallest length that config.json names, times the factor of its rotary scaling.")
	s.Set("model.max_model_len", n)
	s.info("Using max model len %d", n)
	return nil
}

func (s *state) deriveMaxModelLen(asked int, given bool) (int, error) {
	m := s.model
	length, key := m.maxLen, m.maxLenKey
	if s.Bool("model.disable_sliding_window") && m.slidingWindow > 0 && float64(m.slidingWindow) < length {
		length, key = float64(m.slidingWindow), "sliding_window"
	}
	if length == 0 {
		if given {
			return asked, nil
		}
		s.warn("The model's config.json does not contain any of the keys to determine the original maximum length of the model. Assuming the model's maximum length is %d.", 2048)
		length = 2048
	}
	scaled := false
	longRope := false
	if ropes := m.ropes(); ropes != nil && !strings.Contains(m.textType, "gemma3") {
		factor := 1.0
		for _, rp := range ropes {
			longRope = longRope || rp.kind == "longrope"
			if slices.Contains([]string{"su", "longrope", "llama3"}, rp.kind) || s.r >= v0320 && strings.HasSuffix(rp.kind, "yarn") {
				continue
			}
			if rp.factor != 0 {
				factor = rp.factor
			}
			if rp.kind == "yarn" && rp.original != 0 {
				length = rp.original
			}
		}
		length *= factor
		scaled = true
	}
	if !given {
		if n, ok := m.text.Int("original_max_position_embeddings"); ok && longRope {
			return n, nil
		}
		return int(length), nil
	}
	if float64(asked) <= length {
		return asked, nil
	}
	limit, has := m.text.Int("model_max_length")
	if has && asked <= limit {
		return asked, nil
	}
	shownLimit, shownLength := "None", fmt.Sprintf("%d", int(length))
	if has {
		shownLimit = fmt.Sprint(limit)
	}
	if scaled && s.r >= v0160 {
		shownLength += ".0"
	}
	message := fmt.Sprintf("User-specified max_model_len (%d) is greater than the derived max_model_len (%s=%s or model_max_length=%s in model's config.json).", asked, key, shownLength, shownLimit)
	const caution = "VLLM_ALLOW_LONG_MAX_MODEL_LEN must be used with extreme caution. If the model uses relative position encoding (RoPE), positions exceeding derived_max_model_len lead to nan. If the model uses absolute position encoding, positions exceeding derived_max_model_len will cause a CUDA array out-of-bounds error."
	if s.envBool("VLLM_ALLOW_LONG_MAX_MODEL_LEN", false) {
		s.warn("%s %s", message, caution)
		return asked, nil
	}
	return 0, invalid("ModelConfig", "%s To allow overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. %s", message, caution)
}

// multimodal says whether the model takes more than text.
func (s *state) multimodal() error {
	if s.model.encoderDec {
		s.info("Encoder-decoder model detected, disabling mm processor cache.")
	}
	s.because("", byModel, fmt.Sprintf("The class %s says whether it takes more than text.", s.model.name))
	s.Set("model.is_multimodal_model", s.model.class.multimodal)
	if s.r >= v0320 && s.model.class.multimodal && s.textOnly() {
		s.info("All limits of multimodal modalities supported by the model are set to 0, running in text-only mode.")
		s.info("Disabled mm_prefix attention mode because multimodal inputs are configuration-disabled. Attention backends without mm_prefix support may now be selected.")
	}
	return nil
}
