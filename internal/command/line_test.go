package command

import (
	"slices"
	"strings"
	"testing"
)

func TestParseLine(t *testing.T) {
	tests := []struct{ line, script string }{
		{"$ vllm serve org/m --tp 2", "vllm serve org/m --tp 2"},
		{"+ python3 -m sglang.launch_server --model-path /m", "python3 -m sglang.launch_server --model-path /m"},
		{"user@gpu-1:~/x$ llama-server -m m.gguf", "llama-server -m m.gguf"},
		{"[user@gpu-1 x]$ llama-server -m m.gguf", "llama-server -m m.gguf"},
		{"root@0a1b2c:/workspace# trtllm-serve /e --port 1", "trtllm-serve /e --port 1"},
		{"# CUDA_VISIBLE_DEVICES=0 vllm serve m", "CUDA_VISIBLE_DEVICES=0 vllm serve m"},
		{"(venv) user@h:~$ vllm serve m", "vllm serve m"},
		{"Running command: vllm serve m --tp 2", "vllm serve m --tp 2"},
		{"command=python3 -m sglang.launch_server --model-path m", "python3 -m sglang.launch_server --model-path m"},
		{"vllm serve m --x a*b?", "vllm serve m --x 'a*b?'"},
		{"cd /x && vllm serve m > log 2>&1", "vllm serve m"},
		{"vllm serve ~/m --x ~", "vllm serve ~/m --x ~"},
		{"vllm serve $(rm -rf ~) --x `id` --y $HOME", "vllm serve '$(rm -rf ~)' --x '`id`' --y '$HOME'"},
		{"vllm serve m; rm -rf /", "vllm serve m"},
		{"vllm serve m --x a|sh", "vllm serve m --x a"},
		{"bash -c 'rm -rf x; vllm serve m --x $Y'", `bash -c 'vllm serve m --x '\''$Y'\'''`},
		{"docker run -e '$(id)' -e A='`b`' --gpus all vllm/vllm-openai:v0.11.2 --model m",
			"docker run --gpus all -e '$(id)' -e A='`b`' vllm/vllm-openai:v0.11.2 \\\n  --model m"},
	}
	for _, tt := range tests {
		c, ok := ParseLine(tt.line)
		if !ok {
			t.Errorf("%q: not seen", tt.line)
			continue
		}
		if got := c.Script(); got != tt.script {
			t.Errorf("%q\nprinted %s\nwant    %s", tt.line, got, tt.script)
		}
	}
}

func TestParseLineIgnoresProse(t *testing.T) {
	for _, line := range []string{
		"", "vllm serve", "llama-server", "  Example: sglang serve --model-path <model> [options]",
		"'python -m sglang.launch_server' is still supported, but use the other one",
		"With `vllm serve`, give the model first", "vllm serve the model with two nodes",
		"INFO 01-01 00:00:00 vllm serve m", "llama-server) stopped", "File \"/x/vllm/entrypoints/openai/api_server.py\", line 3",
		"python -m sglang.launch_server is deprecated", "'X=1/vllm' serve m", "vllm serve 'm",
	} {
		if c, ok := ParseLine(line); ok {
			t.Errorf("%q was read as %q", line, c.Argv())
		}
	}
}

// FuzzParseLine checks that whatever a log says, the printed command expands
// and runs nothing: it reads back as the same plain words.
func FuzzParseLine(f *testing.F) {
	for _, s := range []string{
		"$ A=1 vllm serve $(rm -rf ~) --x `id`", "bash -c 'vllm serve $X'", "docker run -e '$(id)' x vllm serve m", "+ numactl -l llama-server -m \"a b\"",
		"HF_TOKEN='`x`' vllm serve m --api-key '$X' --$(id)-token=y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := ParseLine(line)
		if !ok {
			return
		}
		checkPlain(t, line, c)
		checkPlain(t, line, c.Redacted())
	})
}

// checkPlain checks that a printed command is one simple command whose words
// hold no references but those to its own secrets.
func checkPlain(t *testing.T, line string, c Command) {
	t.Helper()
	printed := c.Script()
	l := newLexer(printed, false)
	ps := l.pipelines()
	if l.open > 0 || len(ps) != 1 || len(ps[0].commands) != 1 || ps[0].background || len(ps[0].commands[0].redirections) > 0 {
		t.Fatalf("%q printed as more than one command: %s", line, printed)
	}
	for _, w := range ps[0].commands[0].words {
		for _, p := range w.parts {
			if p.ref && !slices.Contains(c.secrets, p.name) || !p.ref && !p.quoted && strings.ContainsAny(p.text, "*?") {
				t.Fatalf("%q printed with a reference: %s", line, printed)
			}
		}
	}
}
