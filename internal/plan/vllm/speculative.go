package vllm

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/hfconfig"
)

// speculation is what speculative decoding decides with.
type speculation struct {
	method string
	tokens int
	eagle  bool // a method that drafts from the target's hidden states
	model  string
}

// speculativeMethods are the names of each release, in the order of
// SpeculativeMethod.
var speculativeMethods = map[release][]string{
	v0112: names(`ngram medusa mlp_speculator draft_model suffix eagle eagle3 deepseek_mtp mimo_mtp glm4_moe_mtp ernie_mtp qwen3_next_mtp
		longcat_flash_mtp mtp pangu_ultra_moe_mtp`),
	v0160: names(`ngram medusa mlp_speculator draft_model suffix eagle eagle3 deepseek_mtp mimo_mtp glm4_moe_mtp glm4_moe_lite_mtp glm_ocr_mtp
		ernie_mtp exaone_moe_mtp qwen3_next_mtp longcat_flash_mtp mtp pangu_ultra_moe_mtp step3p5_mtp`),
	v0191: names(`ngram medusa mlp_speculator draft_model suffix eagle eagle3 extract_hidden_states deepseek_mtp mimo_mtp glm4_moe_mtp
		glm4_moe_lite_mtp glm_ocr_mtp ernie_mtp nemotron_h_mtp exaone_moe_mtp qwen3_next_mtp qwen3_5_mtp longcat_flash_mtp mtp
		pangu_ultra_moe_mtp step3p5_mtp ngram_gpu`),
	v0240: names(`ngram medusa mlp_speculator draft_model suffix custom_class eagle eagle3 extract_hidden_states deepseek_mtp mimo_mtp mimo_v2_mtp
		glm4_moe_mtp glm4_moe_lite_mtp glm_ocr_mtp ernie_mtp nemotron_h_mtp exaone_moe_mtp exaone4_5_mtp qwen3_next_mtp qwen3_5_mtp
		longcat_flash_mtp minimax_m3_mtp mtp pangu_ultra_moe_mtp step3p5_mtp hy_v3_mtp gemma4_mtp dflash ngram_gpu`),
	v0320: names(`ngram medusa mlp_speculator draft_model suffix custom_class eagle eagle3 extract_hidden_states deepseek_mtp dots3_note_mtp
		mimo_mtp mimo_v2_mtp glm4_moe_mtp glm4_moe_lite_mtp glm_ocr_mtp ernie_mtp nemotron_h_mtp exaone_moe_mtp exaone4_5_mtp qwen3_next_mtp
		qwen4_exp_mtp qwen3_5_mtp longcat_flash_mtp bailing_hybrid_v3_mtp minimax_m3_mtp bailing_hybrid_mtp mtp kimi_k3_mtp
		pangu_ultra_moe_mtp step3p5_mtp hy_v3_mtp hy_v4_mtp gemma4_mtp inkling_mtp glm5_next_mtp dflash ngram_gpu dspark`),
}

// mtpMethod says whether a method is an older name of "mtp".
func mtpMethod(name string) bool { return strings.HasSuffix(name, "_mtp") }

// mtpDraft is how a target's checkpoint becomes its own draft model: the model
// types it is found by, the draft's type and architecture, and the field of
// config.json that counts the draft's layers.
type mtpDraft struct {
	types   []string
	as      string
	arch    string
	predict string
}

var mtpDrafts = []mtpDraft{
	{names("deepseek_v3 deepseek_v32 glm_moe_dsa deepseek_mtp"), "deepseek_mtp", "DeepSeekMTPModel", "num_nextn_predict_layers"},
	{names("pangu_ultra_moe"), "pangu_ultra_moe_mtp", "OpenPanguMTPModel", "num_nextn_predict_layers"},
	{names("mimo"), "mimo_mtp", "MiMoMTPModel", "num_nextn_predict_layers"},
	{names("glm4_moe"), "glm4_moe_mtp", "Glm4MoeMTPModel", "num_nextn_predict_layers"},
	{names("glm4_moe_lite"), "glm4_moe_lite_mtp", "Glm4MoeLiteMTPModel", "num_nextn_predict_layers"},
	{names("ernie4_5_moe"), "ernie_mtp", "ErnieMTPModel", "num_nextn_predict_layers"},
	{names("qwen3_next"), "qwen3_next_mtp", "Qwen3NextMTP", "num_nextn_predict_layers"},
	{names("exaone_moe"), "exaone_moe_mtp", "ExaoneMoeMTP", "num_nextn_predict_layers"},
	{names("qwen3_5"), "qwen3_5_mtp", "Qwen3_5MTP", "mtp_num_hidden_layers"},
	{names("qwen3_5_moe"), "qwen3_5_mtp", "Qwen3_5MoeMTP", "mtp_num_hidden_layers"},
	{names("longcat_flash"), "longcat_flash_mtp", "LongCatFlashMTPModel", "num_nextn_predict_layers"},
	{names("step3p5 step3p7"), "step3p5_mtp", "Step3p5MTP", "num_nextn_predict_layers"},
	{names("hy_v3"), "hy_v3_mtp", "HYV3MTPModel", "num_nextn_predict_layers"},
}

// speculatedTokens are the tokens that a step may draft; a diffusion model
// works on a block of them.
func (s *state) speculatedTokens() int {
	switch {
	case s.spec != nil:
		return s.spec.tokens
	case s.model.name == "DiffusionGemmaForBlockDiffusion":
		return s.model.config.IntOr("canvas_length", 256)
	}
	return 0
}

// speculative reads --speculative-config and makes the draft model.
func (s *state) speculative() error {
	c, ok := s.args.Get("speculative_config").(map[string]any)
	if !ok {
		return nil
	}
	text := func(key string) string { v, _ := c[key].(string); return v }
	sp := &speculation{method: text("method"), model: text("model")}
	sp.tokens, _ = c["num_speculative_tokens"].(int)
	if known := speculativeMethods[s.r]; c["method"] != nil && !slices.Contains(known, sp.method) {
		last := len(known) - 1
		return refuse("ValidationError", "1 validation error for SpeculativeConfig\nmethod\n  Input should be '%s' or '%s' [type=literal_error, ...]", strings.Join(known[:last], "', '"), known[last])
	}
	if sp.method == "" {
		if s.r >= v0191 || s.r == v0160 && sp.model == "" {
			sp.method = "draft_model"
		}
		if sp.model == "ngram" || sp.model == "[ngram]" {
			sp.method = "ngram"
		}
	}
	if mtpMethod(sp.method) {
		s.because("VLLM-MTP-METHOD", byDefault, fmt.Sprintf("%q is an old name.", sp.method))
		s.Set("speculative.method", "mtp")
		s.warn("method `%s` is deprecated and replaced with mtp.", sp.method)
		sp.method = "mtp"
	}
	s.spec = sp
	s.because("", byCoupling, "--speculative-config.", "speculative_config")
	quantization := c["quantization"]
	if sp.model == "" && sp.tokens > 0 && sp.method == "mtp" {
		sp.model = s.model.files.Path
		if quantization == nil {
			quantization = s.Get("model.quantization")
		}
	} else if sp.model == "" && sp.tokens > 0 && !slices.Contains(names("ngram [ngram] ngram_gpu suffix extract_hidden_states custom_class"), sp.method) {
		return invalid("SpeculativeConfig", "num_speculative_tokens was provided but without speculative model.")
	}
	sp.method = strings.Trim(sp.method, "[]")
	s.Set("speculative.method", sp.method)
	s.Set("speculative.num_speculative_tokens", c["num_speculative_tokens"])
	s.Set("speculative.quantization", quantization)
	s.Set("speculative.draft_tensor_parallel_size", c["draft_tensor_parallel_size"])
	for _, key := range []string{"attention_backend", "moe_backend", "disable_padded_drafter_batch", "parallel_drafting"} {
		if v := c[key]; v != nil && s.Known("speculative."+key) {
			s.Set("speculative."+key, v)
		}
	}
	switch sp.method {
	case "ngram", "ngram_gpu":
		return s.speculativeTokens()
	case "suffix":
		return refuse("ImportError", "Arctic Inference is required for suffix decoding. Install via `pip install arctic-inference==0.1.1`.")
	case "custom_class", "extract_hidden_states":
		return s.speculativeTokens()
	}
	if err := s.draftModel(c); err != nil {
		return err
	}
	return s.speculativeTokens()
}

// draftModel reads the draft's checkpoint and finds out the method.
func (s *state) draftModel(c map[string]any) error {
	sp := s.spec
	draft, predict := &model{}, 0
	if files := s.draftFiles(); files != nil {
		draft, predict = s.readDraft(files)
		s.draft = draft
		if len(draft.architectures) > 0 {
			draft.name = draft.architectures[0]
			var ok bool
			if draft.class, ok = architectureOf(draft.name, s.r); !ok && !s.transformersRuns(draft) {
				return invalid("SpeculativeConfig", "Model architectures ['%s'] are not supported for now.", strings.Join(draft.architectures, "', '"))
			}
			s.announceDraft(draft)
		}
	}
	low := strings.ToLower(sp.model)
	switch {
	case slices.Contains(names("eagle eagle3 dflash"), sp.method):
	case strings.Contains(low, "eagle-"):
		sp.method = "eagle"
	case strings.Contains(low, "eagle3"):
		sp.method = "eagle3"
	case draft.modelType == "medusa" || draft.modelType == "mlp_speculator":
		sp.method = draft.modelType
	case mtpMethod(draft.modelType):
		sp.method = "mtp"
		if sp.tokens > 1 && (s.r < v0240 || draft.modelType != "step3p5_mtp") {
			s.warn("Enabling num_speculative_tokens > 1 will run multiple times of forward on same MTP layer,which may result in lower acceptance rate")
		}
	case s.r == v0112:
		return refuse("NotImplementedError", "Speculative decoding with draft model is not supported yet. Please consider using other speculative decoding methods such as ngram, medusa, eagle, or mtp.")
	case sp.method == "draft_model":
	case sp.method == "":
		return refuse("NotImplementedError", "Unsupported speculative method: 'None'")
	default:
		return refuse("NotImplementedError", "Unsupported speculative method: '%s'", sp.method)
	}
	sp.eagle = slices.Contains(names("eagle eagle3 mtp dflash"), sp.method)
	s.because("", byCheckpoint, fmt.Sprintf("The draft model is %q.", sp.model))
	s.Set("speculative.method", sp.method)
	if predict > 0 {
		switch {
		case sp.tokens == 0:
			sp.tokens = predict
			s.Set("speculative.num_speculative_tokens", predict)
		case sp.tokens > predict && sp.tokens%predict != 0:
			return invalid("SpeculativeConfig", "num_speculative_tokens:%d must be divisible by n_predict=%d", sp.tokens, predict)
		}
	}
	if sp.tokens == 0 && s.r <= v0160 { // from counting the tokens of a chain
		return refuse("TypeError", "'NoneType' object cannot be interpreted as an integer")
	}
	if sp.tokens == 0 {
		return invalid("SpeculativeConfig", "A speculative model was provided, but `num_speculative_tokens` was not provided")
	}
	tp := s.Int("parallel.tensor_parallel_size")
	if asked, ok := c["draft_tensor_parallel_size"].(int); ok {
		if asked != 1 && asked != tp {
			return invalid("SpeculativeConfig", "speculative_draft_tensor_parallel_size=%d cannot be other value than 1 or target model tensor_parallel_size", asked)
		}
		return nil
	}
	s.because("", byCoupling, "The draft model is cut like the target.", "parallel.tensor_parallel_size")
	s.Set("speculative.draft_tensor_parallel_size", tp)
	return nil
}

// announceDraft prints what reading the draft's ModelConfig prints: it takes the
// target's dtype.
func (s *state) announceDraft(draft *model) {
	s.info("Resolved architecture: %s", draft.name)
	has, takes := draft.configDType(), strings.TrimPrefix(s.Str("model.dtype"), "torch.")
	if has == "" {
		has = "float32"
	}
	if _, level, word := castOf(has, takes); word != "" {
		s.once(level, "%s torch.%s to torch.%s.", word, has, takes)
	}
	as := *s
	as.model = draft
	if n, err := as.deriveMaxModelLen(0, false); err == nil {
		s.once('I', "Using max model len %d", n)
	}
}

// draftFiles are the small files of the draft's checkpoint: those of the target
// when it drafts for itself; nil when they are not at hand.
func (s *state) draftFiles() *hfconfig.Model {
	if f := s.ask.Drafts[s.spec.model]; f != nil {
		return f
	}
	if s.spec.model == s.model.files.Path {
		return s.model.files
	}
	return nil
}

// readDraft reads the facts of a draft model and the number of tokens that its
// layers predict (SpeculativeConfig.hf_config_override).
func (s *state) readDraft(files *hfconfig.Model) (*model, int) {
	m := readModel(files, s.r, s.envBool("VLLM_MLA_DISABLE", false))
	for _, d := range mtpDrafts {
		if !slices.Contains(d.types, m.modelType) {
			continue
		}
		m.modelType, m.architectures = d.as, []string{d.arch}
		n := files.Config.IntOr(d.predict, m.text.IntOr(d.predict, 0))
		return m, n
	}
	return m, files.Config.IntOr("n_predict", 0)
}

// speculativeTokens checks the number of drafted tokens.
func (s *state) speculativeTokens() error {
	if s.spec.tokens <= 0 {
		return invalid("SpeculativeConfig", "num_speculative_tokens must be provided with speculative model unless the draft model config contains an n_predict parameter.")
	}
	if s.draft == nil {
		return nil
	}
	if err := s.splits(s.draft, "SpeculativeConfig"); err != nil {
		return err
	}
	if s.r >= v0160 && s.spec.method == "draft_model" && s.draft.vocab != s.model.vocab {
		return invalid("SpeculativeConfig", "Target and draft model should have the same vocabulary size. Target model vocab_size=%d. Draft model vocab_size=%d. Using models with different tokenizers can cause out-of-bounds errors during speculative decoding.", s.model.vocab, s.draft.vocab)
	}
	return nil
}

// scheduledTokens leaves room for the tokens that are drafted.
func (s *state) scheduledTokens() error {
	if s.spec == nil || s.r < v0191 {
		return nil
	}
	slots := 0
	if s.Bool("speculative.parallel_drafting") {
		slots = s.spec.tokens - 1
	}
	if s.spec.method == "draft_model" {
		slots++
	}
	tokens := s.Int("scheduler.max_num_batched_tokens")
	left, hint := tokens-slots*s.Int("scheduler.max_num_seqs"), " or max_num_seqs."
	if s.r >= v0320 {
		left, hint = tokens, "."
	}
	if left <= 0 {
		return invalid("VllmConfig", "max_num_scheduled_tokens is set to %d based on the speculative decoding settings, which does not allow any tokens to be scheduled. Increase max_num_batched_tokens to accommodate the additional draft token slots, or decrease num_speculative_tokens%s", left, hint)
	}
	if left < 8192 {
		s.warn("max_num_scheduled_tokens is set to %d based on the speculative decoding settings. This may lead to suboptimal performance. Consider increasing max_num_batched_tokens to accommodate the additional draft token slots, or decrease num_speculative_tokens%s", left, hint)
	}
	return nil
}
