package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedacted(t *testing.T) {
	const proxy = "http://amy:velvet@proxy:3128"
	tests := []struct{ name, file, text, want string }{
		{"nothing secret", "x.sh", "A=1 vllm serve m --max-num-batched-tokens 5", "A=1 vllm serve m --max-num-batched-tokens 5"},
		{"flags and variables", "x.sh", "HF_TOKEN=hf_abcdef vllm serve m --api-key k1 k2 --port 1 --hf-token=t",
			`# Secrets are left out. Set first: HF_TOKEN, API_KEY, API_KEY_2, HF_TOKEN_2
HF_TOKEN="$HF_TOKEN" vllm serve m --api-key "$API_KEY" "$API_KEY_2" --port 1 \
  --hf-token="$HF_TOKEN_2"`},
		{"the same secret twice", "x.sh", "HF_TOKEN=hf_abcdef vllm serve m --hf-token hf_abcdef", `# Secrets are left out. Set first: HF_TOKEN
HF_TOKEN="$HF_TOKEN" vllm serve m --hf-token "$HF_TOKEN"`},
		{"where it turns up again", "x.sh", "API_KEY=sk-123456 vllm serve m --served-model-name 'a sk-123456' | grep sk-123456", `# Secrets are left out. Set first: API_KEY
API_KEY="$API_KEY" vllm serve m --served-model-name 'a '"$API_KEY" \
  | grep "$API_KEY"`},
		{"references", "x.sh", `HF_TOKEN=$MINE vllm serve m --api-key "${KEY}" --hf-token ${T:-hf_abcdef}`, `# Secrets are left out. Set first: HF_TOKEN_2
HF_TOKEN="$MINE" vllm serve m --api-key "${KEY}" --hf-token "$HF_TOKEN_2"`},
		{"proxy", "x.sh", "HTTPS_PROXY=" + proxy + " vllm serve m --header 'Bearer abcDEF123'", `# Secrets are left out. Set first: SECRET, SECRET_2
HTTPS_PROXY=http://amy:"$SECRET"@proxy:3128 vllm serve m \
  --header 'Bearer '"$SECRET_2"`},
		{"header", "x.sh", "vllm serve m --header 'X-Api-Key: velvet7' --header 'Authorization: Basic YWJj' --header Cookie:a=1 -v secrets:/run/secrets", `# Secrets are left out. Set first: X_API_KEY, AUTHORIZATION, COOKIE
vllm serve m --header 'X-Api-Key: '"$X_API_KEY" \
  --header 'Authorization: Basic '"$AUTHORIZATION" --header Cookie:"$COOKIE" \
  -v secrets:/run/secrets`},
		{"JSON", "x.sh", `vllm serve m --kv '{"a":"x", "password": "velvet7","eos_token":"e"}' --hf "{\"api_key\":\"otter8\"}"`,
			`# Secrets are left out. Set first: PASSWORD, API_KEY
vllm serve m --kv '{"a":"x", "password": "'"$PASSWORD"'","eos_token":"e"}' \
  --hf '{"api_key":"'"$API_KEY"'"}'`},
		{"URL", "x.sh", "vllm serve m --otlp 'https://o.example/?n=1&sig=velvet7'", `# Secrets are left out. Set first: SECRET
vllm serve m --otlp 'https://o.example/?n=1&sig='"$SECRET"`},
		{"inside a script", "x.sh", "bash -c 'export HF_TOKEN=hf_abcdef; login --token hf_other; vllm serve m'", `# Secrets are left out. Set first: HF_TOKEN, TOKEN
HF_TOKEN="$HF_TOKEN" TOKEN="$TOKEN" \
  bash -c 'export HF_TOKEN="$HF_TOKEN"; login --token "$TOKEN"; vllm serve m'`},
		{"docker", "x.sh", "docker run -e HF_TOKEN=hf_abcdef -e API_KEY x vllm serve m --api-key k", `# Secrets are left out. Set first: HF_TOKEN, API_KEY_2
docker run -e HF_TOKEN="$HF_TOKEN" -e API_KEY x vllm serve m \
  --api-key "$API_KEY_2"`},
		{"batch script", "x.sh", "#!/bin/bash\n#SBATCH -N 1\nvllm serve m --api-key k", `#!/bin/bash
# Secrets are left out. Set first: API_KEY
#SBATCH -N 1

vllm serve m --api-key "$API_KEY"`},
		{"compose", "x.yaml", "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --model m --api-key k$$1\n    environment: {HF_TOKEN: 'h$$f_abcdef', HTTPS_PROXY: '" + proxy + "'}\n",
			`# Secrets are left out. Set first: HF_TOKEN, API_KEY, SECRET
services:
  a:
    image: vllm/vllm-openai:v1
    command:
      - --model
      - m
      - --api-key
      - ${API_KEY}
    environment:
      HF_TOKEN: ${HF_TOKEN}
      HTTPS_PROXY: http://amy:${SECRET}@proxy:3128`},
		{"pod", "x.yaml", "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n    args: [--model, m, --api-key, k]\n    env:\n    - {name: HF_TOKEN, value: hf_abcdef}\n    - {name: WANDB_API_KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}\n",
			`# Secrets are left out. Set first: HF_TOKEN, API_KEY
containers:
  - image: vllm/vllm-openai:v1
    args:
      - --model
      - m
      - --api-key
      - $(API_KEY)
    env:
      - name: API_KEY
        valueFrom:
          secretKeyRef:
            name: launch-secrets
            key: API_KEY
      - name: HF_TOKEN
        valueFrom:
          secretKeyRef:
            name: launch-secrets
            key: HF_TOKEN
      - name: WANDB_API_KEY
        valueFrom:
          secretKeyRef:
            name: s
            key: k`},
		{"unit", "x.service", "[Service]\nEnvironment=HF_TOKEN=hf_abcdef\nExecStart=vllm serve m --api-key k", `# Secrets are left out. Set first: HF_TOKEN, API_KEY
[Service]
PassEnvironment=API_KEY
PassEnvironment=HF_TOKEN
ExecStart=vllm serve m --api-key ${API_KEY}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := parseOne(t, tt.file, tt.text)
			before := c.Script()
			if diff := cmp.Diff(tt.want, c.Redacted().Script()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.Script() != before {
				t.Errorf("the original was changed: %s", c.Script())
			}
			if diff := cmp.Diff(tt.want, c.Redacted().Redacted().Script()); diff != "" {
				t.Errorf("redacted twice (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRedactedRuns reads the redacted script back with its variables set: it is
// the command that was given.
func TestRedactedRuns(t *testing.T) {
	given := parseOne(t, "x.sh", "HTTPS_PROXY=http://amy:velvet@proxy vllm serve m --api-key 'k 1' k2 --hf-token=hf_abcdef --note 'is hf_abcdef' --header 'X-Api-Key: k3' --kv '{\"password\":\"k4\"}'")
	printed := given.Redacted().Script()
	again := parseOne(t, "x.sh", "SECRET=velvet; API_KEY='k 1'; API_KEY_2=k2; HF_TOKEN=hf_abcdef; X_API_KEY=k3; PASSWORD=k4\n"+printed)
	if diff := cmp.Diff(given.Argv(), again.Argv()); diff != "" {
		t.Errorf("%s\n%s", diff, printed)
	}
	if diff := cmp.Diff(env(given), env(again)); diff != "" {
		t.Errorf("%s\n%s", diff, printed)
	}
}

func TestShellLine(t *testing.T) {
	for text, want := range map[string]string{
		"vllm serve m --api-key k --hf-token=t --x $HOME": `vllm serve m --api-key "$API_KEY" --hf-token="$HF_TOKEN" --x '$HOME'`,
		"vllm serve m --api-key $(cat key)":               `vllm serve m --api-key "$API_KEY"`,
	} {
		if got := ShellLine(parseOne(t, "x.sh", text).Redacted().Argv()); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if got := ShellLine([]string{"vllm", "--api-key", "$(id)", "--api-key=`id`"}); got != "vllm --api-key '$(id)' '--api-key=`id`'" {
		t.Errorf("a secret that runs something: %s", got)
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
		if strings.Contains(printed, secret) || strings.Contains(printed, "***") {
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
