package oracle_test

import (
	"fmt"
	"slices"
	"testing"

	"shakedown/internal/oracle"
	"shakedown/internal/oracle/oracletest"
)

// benchModels have the geometry of small published models, with random weights.
var benchModels = map[string]string{
	"dense-135M": `{"model_type":"llama","hidden_size":576,"num_hidden_layers":30,"num_attention_heads":9,"num_key_value_heads":3,"intermediate_size":1536,
		"vocab_size":49152,"rms_norm_eps":1e-5,"tie_word_embeddings":true,"rope_theta":100000}`,
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
