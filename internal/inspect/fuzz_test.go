package inspect_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/hardware"
	"shakedown/internal/inspect"
)

// FuzzConfig inspects a small sound model under any configuration, with any
// tokenizer.
func FuzzConfig(f *testing.F) {
	for _, m := range []*model{glm(f), glmFP8(f), glmNVFP4(f), llama(f)} {
		text, err := json.Marshal(m.config)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte(tokenizer(20)))
	}
	f.Add([]byte(`{"model_type":"llama","num_hidden_layers":2147483647,"num_attention_heads":1,"hidden_size":1,"quantization_config":{"quant_method":"fp8","ignore":["re:(a*)*","*","a*b*"]}}`), []byte(`{"model":{"vocab":[[1]]}}`))
	dir := glmNVFP4(f).write()
	g, err := hardware.Parse("3x H200")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, config, tokens []byte) {
		for name, data := range map[string][]byte{"config.json": config, "tokenizer.json": tokens} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := checkpoint.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := inspect.Run(context.Background(), c, inspect.Options{Layer: -1, GPU: &g, EP: 5, Context: 100}); err != nil {
			t.Fatal(err)
		}
	})
}
