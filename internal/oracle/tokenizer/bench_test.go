package tokenizer_test

import (
	"fmt"
	"strings"
	"testing"

	"shakedown/internal/oracle/tokenizer"
)

// benchText is prose, code, digits and other scripts, a megabyte of it without
// many repeated words.
func benchText() string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "The server%d answered in %d ms; func f%x(x int) error { return nil }\n\tПривет мир %d, 你好世界！ naïve café\n", i%977, i*7919%100003, i*2654435761, i)
	}
	return b.String()
}

// BenchmarkEncode is the speed on one core with a vocabulary of 49152 tokens
// (SmolLM2) and with one of 2000 and the split of GLM, when the reference files
// are there, and with the tests' own small one.
func BenchmarkEncode(b *testing.B) {
	text := benchText()
	run := func(b *testing.B, tok *tokenizer.Tokenizer) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			tok.Encode(text, false)
		}
	}
	b.Run("small", func(b *testing.B) { run(b, small(b)) })
	for _, name := range []string{"smollm2", "chatglm", "kimi", "deepseek-v3"} {
		b.Run(name, func(b *testing.B) {
			if !present() {
				b.Skip("not run: no reference files beside the repository")
			}
			run(b, load(b, shared+"/tokenizers/"+name+"/tokenizer.json"))
		})
	}
}
