package command

import (
	"os"
	"strings"
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
)

// change writes "--flag=value", "--flag", "-flag!" (unset), "NAME=value" and
// "NAME!" as a change.
func change(s string) finding.Change {
	c := finding.Change{Kind: "env"}
	if strings.HasPrefix(s, "-") {
		c.Kind = "flag"
	}
	if name, ok := strings.CutSuffix(s, "!"); ok {
		c.Name = name
		return c
	}
	name, value, _ := strings.Cut(s, "=")
	c.Name, c.To = name, &value
	return c
}

func changes(s ...string) []finding.Change {
	var out []finding.Change
	for _, text := range s {
		out = append(out, change(text))
	}
	return out
}

func table(t *testing.T, engine, version string) *flags.Table {
	t.Helper()
	if version == "" {
		return nil
	}
	tab, m := flags.Lookup(engine, version)
	if m.Fit != flags.Exact {
		t.Fatalf("no table of %s %s", engine, version)
	}
	return tab
}

func TestApply(t *testing.T) {
	tests := []struct {
		name, command, version string
		changes                []finding.Change
		want                   string
	}{
		{"nothing", "A=1 sglang serve --model m --tp=2", "0.5.9", nil, "A=1 sglang serve --model m --tp=2"},
		{"new flag and variable", "sglang serve --model m", "0.5.9", changes("--kv-cache-dtype=bf16", "A=x y"), "A='x y' sglang serve --model m --kv-cache-dtype bf16"},
		{"keeps the equals sign", "sglang serve --tp=2 --model m", "0.5.9", changes("--tp=4"), "sglang serve --tp=4 --model m"},
		{"keeps the user's alias", "sglang serve --tensor-parallel-size 2 --model m", "0.5.9", changes("--tp-size=4"), "sglang serve --tensor-parallel-size 4 --model m"},
		{"repeated flag", "sglang serve --tp 2 --model m --tp-size 4", "0.5.9", changes("--tp=8"), "sglang serve --model m --tp-size 8"},
		{"list", "sglang serve --cuda-graph-bs 1 2 4 --model m", "0.5.9", changes("--cuda-graph-bs=1 8"), "sglang serve --cuda-graph-bs 1 8 --model m"},
		{"unset list", "sglang serve --cuda-graph-bs 1 2 4 --model m", "0.5.9", changes("--cuda-graph-bs!"), "sglang serve --model m"},
		{"switch on twice", "sglang serve --disable-cuda-graph --model m", "0.5.9", changes("--disable-cuda-graph"), "sglang serve --disable-cuda-graph --model m"},
		{"unset what is not there", "sglang serve --model m", "0.5.9", changes("--disable-cuda-graph!", "A!"), "sglang serve --model m"},
		{"other polarity", "vllm serve m --enable-prefix-caching", "0.16.0", changes("--no-enable-prefix-caching"), "vllm serve m --no-enable-prefix-caching"},
		{"underscores", "vllm serve m --max_model_len 100", "0.16.0", changes("--max-model-len=200"), "vllm serve m --max_model_len 200"},
		{"json path", "vllm serve m --compilation-config.cudagraph_mode FULL", "0.16.0", changes("--compilation-config.cudagraph_mode=NONE"), "vllm serve m --compilation-config.cudagraph_mode NONE"},
		{"old name of the setting", "sglang serve --nsa-prefill-backend fa3 --model m", "0.5.15.post1", changes("--dsa-prefill-backend=tilelang"), "sglang serve --dsa-prefill-backend tilelang --model m"},
		{"no table", "llama-server -m m.gguf --temp -1 -c 100", "", changes("-c=200", "--temp!", "--jinja"), "llama-server -m m.gguf -c 200 --jinja"},
		{"no table, underscores", "trtllm-serve /e --tp_size 2", "", changes("--tp-size=4"), "trtllm-serve /e --tp_size 4"},
		{"before the double dash", "vllm serve -- m", "0.16.0", changes("--enforce-eager"), "vllm serve --enforce-eager -- m"},
		{"variables", "A=1 B=2 C=3 sglang serve --model m", "0.5.9", changes("B=x", "A!"), "B=x C=3 sglang serve --model m"},
		{"behind env", "sudo env A=1 sglang serve --model m", "0.5.9", changes("B=2"), "sudo env A=1 B=2 sglang serve --model m"},
		{"value is data", "sglang serve --model m", "0.5.9", changes("--json-model-override-args=$(x)", "A=`y`"), "A='`y`' sglang serve --model m --json-model-override-args '$(x)'"},
		{"references are kept", `sglang serve --model "$HOME/m" --tp $TP`, "0.5.9", changes("--tp=2"), `sglang serve --model "$HOME"/m --tp 2`},
		{"inside a script", `bash -c 'export A=1 B=2; sglang serve --model m; echo done'`, "0.5.9", changes("A=0", "B!", "--tp=2", "C=3"),
			"C=3 \\\n  bash -c 'export A=1 B=2; env -u B A=0 sglang serve --model m --tp 2; echo done'"},
		{"docker", "docker run -e A=1 -e B img sglang serve --model m", "0.5.9", changes("A=2", "C=3", "B!"), "docker run -e A=2 -e C=3 img sglang serve --model m"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := parseOne(t, "x.sh", tt.command)
			before := c.Script()
			got, err := c.Apply(tt.changes, table(t, c.Engine, tt.version))
			if err != nil {
				t.Fatal(err)
			}
			if got.Script() != tt.want {
				t.Errorf("got  %s\nwant %s", got.Script(), tt.want)
			}
			if c.Script() != before {
				t.Errorf("the original became %s", c.Script())
			}
		})
	}
}

func TestApplyChangesTheModel(t *testing.T) {
	c, err := parseOne(t, "x.sh", "llama-server -m a.gguf").Apply(changes("-m=b.gguf"), nil)
	if err != nil || c.Model != "b.gguf" {
		t.Errorf("model %q, error %v", c.Model, err)
	}
}

func TestApplyRefuses(t *testing.T) {
	c := parseOne(t, "x.sh", "sglang serve --model m")
	to := "x"
	for _, bad := range []finding.Change{
		{Kind: "config", Name: "scale_fmt", To: &to},
		{Kind: "flag", Name: "tp", To: &to},
		{Kind: "flag", Name: "--dsa-prefill-backend", To: &to},
		{Kind: "env", Name: "A B", To: &to},
	} {
		if got, err := c.Apply([]finding.Change{bad}, table(t, "sglang", "0.5.9")); err == nil {
			t.Errorf("%+v gave %s", bad, got.Script())
		}
	}
}

// TestApplyInWrappers changes a flag and a variable in every wrapper and reads
// the printed result back.
func TestApplyInWrappers(t *testing.T) {
	for _, name := range []string{
		"docker.in.sh", "docker-nest.in.sh", "script.in.sh", "job.in.sbatch", "pod.in.yaml", "pod-nest.in.yaml",
		"compose-nest.in.yaml", "lws.in.json", "inspect.in.json", "unit.in.service", "unit-nest.in.service",
	} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		c := parseOne(t, name, string(text))
		changed, err := c.Apply(changes("--new-flag=$(x) `y`", "NEW=it's $Z"), nil)
		if err != nil {
			t.Fatal(err)
		}
		again := reparsed(t, name, changed)
		if got := strings.Join(again.Argv(), " "); got != strings.Join(c.Argv(), " ")+" --new-flag $(x) `y`" {
			t.Errorf("%s: argv %s\n%s", name, got, changed.Script())
		}
		if got, _ := again.Getenv("NEW"); got != "it's $Z" {
			t.Errorf("%s: NEW=%s\n%s", name, got, changed.Script())
		}
	}
}
