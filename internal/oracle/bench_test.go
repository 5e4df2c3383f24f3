package oracle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shakedown/internal/kernel"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/oracletest"
)

// benchModels have the geometry of small published models, with random weights.
var benchModels = map[string]string{
	"dense-135M": `{"model_type":"llama","hidden_size":576,"num_hidden_layers":30,"num_attention_heads":9,"num_key_value_heads":3,"intermediate_size":1536,
		"vocab_size":49152,"rms_norm_eps":1e-5,"tie_word_embeddings":true,"rope_theta":100000}`,
	// Four of the layers of a model of 1B.
	"dense-310M": `{"model_type":"llama","hidden_size":2048,"num_hidden_layers":4,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,
		"vocab_size":32768,"rms_norm_eps":1e-5,"tie_word_embeddings":true,"rope_theta":500000}`,
	"dsa-150M": `{"model_type":"glm_moe_dsa","hidden_size":512,"num_hidden_layers":8,"num_attention_heads":8,"q_lora_rank":256,"kv_lora_rank":512,
		"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"intermediate_size":1024,"moe_intermediate_size":256,"n_routed_experts":32,
		"num_experts_per_tok":4,"n_shared_experts":1,"first_k_dense_replace":1,"vocab_size":8192,"index_n_heads":8,"index_head_dim":128,"index_topk":128}`,
}

func benchFormats() map[string]func(string) oracletest.Format {
	all := func(f oracletest.Format) func(string) oracletest.Format {
		return func(module string) oracletest.Format {
			if module == "model.embed_tokens" || module == "lm_head" {
				return oracletest.BF16
			}
			return f
		}
	}
	return map[string]func(string) oracletest.Format{"bf16": all(oracletest.BF16), "fp8": all(oracletest.FP8Block), "nvfp4": all(oracletest.NVFP4)}
}

func tokens(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i * 7919 % 8192
	}
	return out
}

// BenchmarkPrefill feeds prompts; ns/op is the time of a whole prompt.
func BenchmarkPrefill(b *testing.B) { benchmark(b, 256, 256) }

// BenchmarkDecode feeds one token at a time behind a prompt of 128.
func BenchmarkDecode(b *testing.B) { benchmark(b, 128, 1) }

func benchmark(b *testing.B, prompt, step int) {
	for _, name := range []string{"dense-135M", "dsa-150M"} {
		for _, format := range []string{"bf16", "fp8", "nvfp4"} {
			b.Run(fmt.Sprintf("%s/%s", name, format), func(b *testing.B) {
				m := open(b, oracletest.Write(b, benchModels[name], oracletest.Options{Format: benchFormats()[format]}), "exact")
				s := m.NewSession(nil)
				if step == 1 {
					if _, err := s.Feed(b.Context(), tokens(prompt)); err != nil {
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				for range b.N {
					if step > 1 {
						s = m.NewSession(nil)
					}
					h, err := s.Feed(b.Context(), tokens(step))
					if err != nil {
						b.Fatal(err)
					}
					s.Logits(h[len(h)-m.Spec.Hidden:])
				}
				b.ReportMetric(float64(step*b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}

// BenchmarkTogether decodes several texts in one pass, behind prompts of 128;
// ns/op is the time of a token of each.
func BenchmarkTogether(b *testing.B) {
	for _, name := range []string{"dense-135M", "dsa-150M"} {
		for _, format := range []string{"bf16", "fp8", "nvfp4"} {
			m := open(b, oracletest.Write(b, benchModels[name], oracletest.Options{Format: benchFormats()[format]}), "exact")
			for _, n := range []int{1, 8} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, format, n), func(b *testing.B) {
					feeds := make([]oracle.Feed, n)
					for i := range feeds {
						s := m.NewSession(nil)
						if _, err := s.Feed(b.Context(), tokens(128)); err != nil {
							b.Fatal(err)
						}
						feeds[i] = oracle.Feed{Session: s, Tokens: []int{i}}
					}
					b.ResetTimer()
					for range b.N {
						hidden, err := m.FeedAll(b.Context(), feeds)
						if err != nil {
							b.Fatal(err)
						}
						m.Logits(slices.Concat(hidden...))
					}
					b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tokens/s")
				})
			}
		}
	}
}

// BenchmarkDecodeBytes measures a token of a dense model, which needs every weight
// once, in bytes of the weights, and beside each token the same number of bytes read
// and nothing else but summed. The metrics are the best of the runs, as other work
// on the machine only ever adds time; ratio is token over read.
func BenchmarkDecodeBytes(b *testing.B) {
	for _, name := range []string{"dense-135M/bf16", "dense-135M/fp8", "dense-135M/nvfp4", "dense-310M/bf16", "dense-310M/fp8", "dense-310M/nvfp4"} {
		model, format, _ := strings.Cut(name, "/")
		b.Run(name, func(b *testing.B) {
			dir := oracletest.Write(b, benchModels[model], oracletest.Options{Format: benchFormats()[format]})
			m := open(b, dir, "exact")
			var size int64
			files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
			if err != nil {
				b.Fatal(err)
			}
			for _, name := range files {
				info, err := os.Stat(name)
				if err != nil {
					b.Fatal(err)
				}
				size += info.Size()
			}
			plain := make([]float32, size/4)
			for i := range plain {
				plain[i] = 1
			}
			pool := kernel.NewPool(0)
			parts := pool.Threads()
			s := m.NewSession(nil)
			if _, err := s.Feed(b.Context(), tokens(16)); err != nil {
				b.Fatal(err)
			}
			token, read := time.Hour, time.Hour
			for b.Loop() {
				start := time.Now()
				h, err := s.Feed(b.Context(), tokens(1))
				if err != nil {
					b.Fatal(err)
				}
				s.Logits(h)
				middle := time.Now()
				n := len(plain) / parts
				pool.Each(parts, func(i int) { kernel.Sum(plain[i*n : (i+1)*n]) })
				token, read = min(token, middle.Sub(start)), min(read, time.Since(middle))
			}
			b.ReportMetric(float64(size)/token.Seconds()/1e9, "GB/s")
			b.ReportMetric(float64(size)/read.Seconds()/1e9, "plainGB/s")
			b.ReportMetric(read.Seconds()/token.Seconds(), "ratio")
		})
	}
}

// BenchmarkGGUF measures the ggml numerics on the file that SHAKEDOWN_GGUF names:
// a prompt of 256 tokens and 64 tokens one by one behind it, logits of the last
// token each time. The metrics are the best of the runs.
func BenchmarkGGUF(b *testing.B) {
	path := os.Getenv("SHAKEDOWN_GGUF")
	if path == "" {
		b.Skip("SHAKEDOWN_GGUF names no file")
	}
	const prompt, behind = 256, 64
	m := open(b, path, "ggml")
	prefill, decode := time.Hour, time.Hour
	for b.Loop() {
		s := m.NewSession(nil)
		feed := func(n int) {
			h, err := s.Feed(b.Context(), tokens(n))
			if err != nil {
				b.Fatal(err)
			}
			s.Logits(h[len(h)-m.Spec.Hidden:])
		}
		start := time.Now()
		feed(prompt)
		middle := time.Now()
		for range behind {
			feed(1)
		}
		prefill, decode = min(prefill, middle.Sub(start)), min(decode, time.Since(middle))
	}
	b.ReportMetric(prompt/prefill.Seconds(), "prefill/s")
	b.ReportMetric(behind/decode.Seconds(), "decode/s")
}
