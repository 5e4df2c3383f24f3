package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// splitText shows what the splits tell apart: contractions, case, digits, marks,
// Chinese, white space and line ends.
const splitText = "I'LL camelCaseÉtat 1234567 नमस्ते 日本x\u3000\r\n  ok/\n\t!!\n"

// TestGGUFSplits: the words of one text for every split, as llama.cpp makes them
// (scripts/gguf-tokenizer-diff compares with it).
func TestGGUFSplits(t *testing.T) {
	seen := map[string]bool{}
	for names, want := range map[string]string{
		"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 dbrx smaug-bpe chatglm-bpe glm4 glm5": "I|'LL| camelCaseÉtat| |123|456|7| नमस|्त|े| 日本x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"minicpm5": "I|'LL| camelCaseÉtat| |123|456|7| नमस|्त|े| 日本x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"qwen2 deepseek-r1-qwen kormo stablelm2 megrez hunyuan solar-open grok-2": "I|'LL| camelCaseÉtat| |1|2|3|4|5|6|7| नमस|्त|े| 日本x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"qwen35": "I|'LL| camelCaseÉtat| |1|2|3|4|5|6|7| नमस्ते| 日本x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"gpt-2 phi-2 gigachat a.x-4.0 mellum mpt olmo jais trillion granite-docling exaone4": "I|'|LL| camelCaseÉtat| 1234567| नमस|्|त|े| 日本x|\u3000\r\n | ok|/|\n|\t|!!|\n",
		"smollm starcoder refact command-r codeshell exaone minerva-7b mellum2":              "I|'|LL| camelCaseÉtat| |1|2|3|4|5|6|7| नमस|्|त|े| 日本x|\u3000\r\n | ok|/|\n|\t|!!|\n",
		"gpt-4o llama4 kanana2 talkie minimax-m2":                                            "I'LL| camel|CaseÉtat| |123|456|7| नमस|्त|े| 日本x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"tekken": "I|'LL| camel|CaseÉtat| |1|2|3|4|5|6|7| नमस|्त|े| 日本x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"deepseek-v3 hunyuan-dense joyai-llm hy_v4": "I|'LL| camelCaseÉtat| |123|456|7| नमस्ते| |日本|x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"deepseek-llm":                     "I|'|LL| camelCase|É|tat| |1234567| |नमस्ते| |日本|x|\u3000|\r|\n| | ok|/|\n|\t!!|\n",
		"deepseek-coder":                   "I|'|LL| camelCaseÉtat| |1|2|3|4|5|6|7| |नमस|्|त|े| |日本|x|\u3000|\r|\n| | ok|/|\n|\t!!|\n",
		"falcon":                           "I|'|LL| camelCaseÉtat| |123|456|7| नमस|्|त|े| 日本x|\u3000\r\n | ok|/|\n\t|!!|\n",
		"bailingmoe bailingmoe2 llada-moe": "I|'LL| camelCaseÉtat| |1|2|3|4|5|6|7| नमस|्त|े| 日本x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"seed-coder":                       "I|'LL| camelCaseÉtat| |1|2|3|4|5|6|7| नमस|्त|े| 日本x|\u3000\r\n| | ok|/|\n|\t|!!|\n",
		"kimi-k2":                          "I'LL| camelCaseÉtat| |123|456|7| नमस|्त|े| |日本|x|\u3000\r\n| | ok|/\n|\t|!!\n",
		"default":                          "I|'|LL| camelCaseÉtat| |123|456|7| नमस|्|त|े| 日本x|\u3000\r\n | ok|/|\n\t|!!|\n",
	} {
		for _, name := range strings.Fields(names) {
			how, ok := ggufSplits[name]
			if !ok {
				t.Errorf("%s is not known", name)
				continue
			}
			seen[name] = true
			words := []word{{splitText, true}}
			for _, p := range how.patterns {
				compiled, err := compilePattern(p)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				var next []word
				for _, w := range words {
					next = splitAt(compiled.find, isolated, false)(next, w)
				}
				words = next
			}
			var got []string
			for _, w := range words {
				got = append(got, w.text)
			}
			if text := strings.Join(got, "|"); text != want {
				t.Errorf("%s: %q\nwant %q", name, text, want)
			}
		}
	}
	var missing []string
	for name := range ggufSplits {
		if !seen[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		t.Errorf("not covered: %q", missing)
	}
}
