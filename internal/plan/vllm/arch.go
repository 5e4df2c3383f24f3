package vllm

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// architecture is what vLLM reads off a model class before it loads it
// (vllm/model_executor/models/registry.py _ModelInfo).
type architecture struct {
	generates    bool // has compute_logits: text generation
	pooling      bool
	multimodal   bool
	pipelines    bool // SupportsPP
	hybrid       bool // attention and recurrent layers
	innerState   bool
	noAttention  bool
	noops        bool   // some layers do nothing
	prefixStates bool   // SupportsMambaPrefixCaching
	pooled       string // default sequence pooling: "LAST", "CLS", "MEAN", "ALL"
	attention    string // attention of a pooling model: "decoder", "encoder_only"
}

// architectureData lists the registered architectures: name, then for each
// span of releases (indexes into known) the flags of its class, the default
// pooling and the attention type.
//
//go:embed data/architectures.txt
var architectureData string

type architectureSpan struct {
	architecture
	from, to release
}

var architectures = sync.OnceValue(func() map[string][]architectureSpan {
	out := map[string][]architectureSpan{}
	for line := range strings.Lines(architectureData) {
		f := strings.Fields(line)
		for _, part := range f[1:] {
			span, err := parseArchitecture(part)
			if err != nil {
				panic("architectures.txt: " + f[0] + ": " + err.Error()) // data of this package
			}
			out[f[0]] = append(out[f[0]], span)
		}
	}
	return out
})

// parseArchitecture reads "ghps@0-4" or "P;CLS;encoder_only@1-4".
func parseArchitecture(text string) (architectureSpan, error) {
	code, releases, _ := strings.Cut(text, "@")
	a := architectureSpan{architecture: architecture{pooled: "LAST", attention: "decoder"}}
	if _, err := fmt.Sscanf(releases, "%d-%d", &a.from, &a.to); err != nil {
		return a, err
	}
	parts := strings.Split(code, ";")
	for _, c := range parts[0] {
		switch c {
		case 'g':
			a.generates = true
		case 'P':
			a.pooling = true
		case 'm':
			a.multimodal = true
		case 'p':
			a.pipelines = true
		case 'h':
			a.hybrid = true
		case 's':
			a.innerState = true
		case 'f':
			a.noAttention = true
		case 'n':
			a.noops = true
		case 'c':
			a.prefixStates = true
		case '-':
		default:
			return a, fmt.Errorf("flag %q", c)
		}
	}
	if len(parts) > 1 && parts[1] != "" {
		a.pooled = parts[1]
	}
	if len(parts) > 2 {
		a.attention = parts[2]
	}
	return a, nil
}

// gone is a removed architecture: the last release that had it, and the first
// one read that says so (registry.py _PREVIOUSLY_SUPPORTED_MODELS).
type gone struct {
	until string
	from  release
}

var goneArchitectures = goneBy(map[gone]string{
	{"0.9.2", v0112}:  "Phi3SmallForCausalLM",
	{"0.10.2", v0112}: "MotifForCausalLM Phi4FlashForCausalLM DonutForConditionalGeneration MllamaForConditionalGeneration",
	{"0.12.0", v0160}: "Phi4MultimodalForCausalLM",
	{"0.22.0", v0240}: "JAISLMHeadModel",
	{"0.23.0", v0240}: `ErnieModel ErnieForSequenceClassification ErnieForTokenClassification InternLM2VEForCausalLM QWenLMHeadModel QwenVLForConditionalGeneration
		InternLMForCausalLM XverseForCausalLM Dots1ForCausalLM BambaForCausalLM MiniMaxForCausalLM MiniMaxText01ForCausalLM MiniMaxM1ForCausalLM
		MiniMaxVL01ForConditionalGeneration`,
	{"0.23.0", v0320}: "BaiChuanForCausalLM BaichuanForCausalLM Tarsier2ForConditionalGeneration",
	{"0.24.0", v0320}: `AquilaModel AquilaForCausalLM Grok1ModelForCausalLM Grok1ForCausalLM TarsierForConditionalGeneration MantisForConditionalGeneration
		MusicFlamingoForConditionalGeneration AyaVisionForConditionalGeneration`,
	{"0.25.0", v0320}: "TeleChatForCausalLM PersimmonForCausalLM FuyuForCausalLM",
	{"0.26.0", v0320}: "Plamo2ForCausalLM OuroForCausalLM",
	{"0.28.0", v0320}: `ArcticForCausalLM ChameleonForConditionalGeneration Cheers CheersForConditionalGeneration Fairseq2LlamaForCausalLM
		FireRedLIDForConditionalGeneration GritLM HCXVisionForCausalLM MPTForCausalLM MptForCausalLM RWForCausalLM StableLMEpochForCausalLM
		PrithviGeoSpatialMAE`,
})

func goneBy(lists map[gone]string) map[string]gone {
	out := map[string]gone{}
	for g, list := range lists {
		for _, name := range names(list) {
			out[name] = g
		}
	}
	return out
}

// pluginArchitectures moved to plugins (registry.py _OOT_SUPPORTED_MODELS).
var pluginArchitectures = map[string]string{
	"BartModel":                         "https://github.com/vllm-project/bart-plugin",
	"BartForConditionalGeneration":      "https://github.com/vllm-project/bart-plugin",
	"Florence2ForConditionalGeneration": "https://github.com/vllm-project/bart-plugin",
	"MBartForConditionalGeneration":     "https://github.com/vllm-project/bart-plugin",
	"Nemotron3_5AsrForRNNT":             "https://github.com/Sohaib-Ahmed21/vllm-nemotron-asr-plugin",
}

// architectureOf finds an architecture that a release registers.
func architectureOf(name string, r release) (architecture, bool) {
	for _, span := range architectures()[name] {
		if span.from <= r && r <= span.to {
			return span.architecture, true
		}
	}
	return architecture{}, false
}
