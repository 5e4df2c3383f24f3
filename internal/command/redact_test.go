package command

import (
	"strings"
	"testing"
)

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"HF_TOKEN": true, "--hf-token": true, "--api-key": true, "OPENAI_API_KEY": true, "--admin-api-key": true,
		"AWS_SECRET_ACCESS_KEY": true, "--ssl-keyfile-password": true, "DB_PASSWORD": true,
		"--max-total-tokens": false, "--tokenizer": false, "--speculative-token-map": false, "--ssl-keyfile": false, "KEY": false, "": false,
	} {
		if SecretName(name) != want {
			t.Errorf("SecretName(%q) = %v", name, !want)
		}
	}
}

func TestRedacted(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"flags and variables", "HF_TOKEN=hf_abcdef vllm serve m --api-key k1 k2 --port 1 --hf-token=t", "HF_TOKEN='***' vllm serve m --api-key '***' '***' --port 1 '--hf-token=***'"},
		{"where it turns up again", "API_KEY=sk-123456 vllm serve m --served-model-name sk-123456 | grep sk-123456", "API_KEY='***' vllm serve m --served-model-name '***' | grep ***"},
		{"inside a script", "bash -c 'export HF_TOKEN=hf_abcdef; login --token hf_other; vllm serve m'", "bash -c 'export HF_TOKEN=***; login --token ***; vllm serve m'"},
		{"docker", "docker run -e HF_TOKEN=hf_abcdef -e API_KEY x vllm serve m", "docker run -e HF_TOKEN='***' -e API_KEY x vllm serve m"},
	}
	for _, tt := range tests {
		c := parseOne(t, "x.sh", tt.text)
		if got := c.Redacted().Script(); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
		if strings.Contains(c.Script(), mask) {
			t.Errorf("%s: the original was changed: %s", tt.name, c.Script())
		}
	}
}

// TestRedactedLeavesNothing plants a secret in every wrapper.
func TestRedactedLeavesNothing(t *testing.T) {
	const secret = "hf_planted_secret"
	files := map[string]string{
		"a.yaml":    "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --model m --api-key hf_planted_secret\n    environment: {HF_TOKEN: hf_planted_secret}\n    labels: [x=hf_planted_secret] # hf_planted_secret\n",
		"b.yaml":    "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n    args: [--model, m]\n    env: [{name: HF_TOKEN, value: hf_planted_secret}]\n",
		"c.service": "[Service]\nEnvironment=HF_TOKEN=hf_planted_secret\nExecStart=vllm serve m --api-key hf_planted_secret\n",
		"d.json":    `[{"Config": {"Image": "x", "Cmd": ["vllm", "serve", "m"], "Env": ["HF_TOKEN=hf_planted_secret"]}}]`,
		"e.sbatch":  "#!/bin/bash\n#SBATCH --comment=hf_planted_secret\nHF_TOKEN=hf_planted_secret vllm serve m\n",
		"f.sh":      "docker run -l a=hf_planted_secret -e HF_TOKEN=hf_planted_secret img bash -c 'echo hf_planted_secret; vllm serve m'",
	}
	for name, text := range files {
		c := parseOne(t, name, text).Redacted()
		printed := c.Script() + strings.Join(c.Argv(), " ") + strings.Join(env(c), " ")
		if strings.Contains(printed, secret) {
			t.Errorf("%s:\n%s", name, printed)
		}
	}
}

// TestEnvironmentOfProcessIsNotRead would fail if parsing looked at the machine
// it runs on.
func TestEnvironmentOfProcessIsNotRead(t *testing.T) {
	t.Setenv("SHAKEDOWN_TEST_MODEL", "leaked")
	if c := parseOne(t, "x.sh", "vllm serve $SHAKEDOWN_TEST_MODEL"); c.Model != "$SHAKEDOWN_TEST_MODEL" {
		t.Errorf("model %s", c.Model)
	}
}
