package command

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the .want files of TestWrappers")

// env renders the environment, for comparison.
func env(c Command) []string {
	var out []string
	for _, v := range c.Env {
		if v.Inherited {
			out = append(out, v.Name)
		} else {
			out = append(out, v.Name+"="+v.Value.Text)
		}
	}
	return out
}

func parseOne(t testing.TB, name, text string) Command {
	t.Helper()
	all, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%s: %d launches, want 1", name, len(all))
	}
	return all[0]
}

func TestParseShell(t *testing.T) {
	tests := []struct {
		name, text    string
		engine, model string
		argv, env     string // joined by blanks
	}{
		{"module", "python -m sglang.launch_server --model-path /m --tp 8", "sglang", "/m", "python -m sglang.launch_server --model-path /m --tp 8", ""},
		{"continued lines", "vllm serve org/m \\\n  --tp 2 \\\n  --port 80\n", "vllm", "org/m", "vllm serve org/m --tp 2 --port 80", ""},
		{"assignments", "A=1 B='x y' sglang serve --model=/m", "sglang", "/m", "sglang serve --model=/m", "A=1 B=x y"},
		{"exports", "export A=1\nexport B=2; C=3\nunset B\nvllm serve m", "vllm", "m", "vllm serve m", "A=1"},
		{"variables", "MODEL=/data/m\nTP=4\nvllm serve $MODEL -tp=${TP}", "vllm", "/data/m", "vllm serve /data/m -tp=4", ""},
		{"variable with several words", "ARGS=\"--tp 2 --port 1\"\nARGS+=' --host h'\nvllm serve m $ARGS", "vllm", "m", "vllm serve m --tp 2 --port 1 --host h", ""},
		{"array", "ARGS=(\n --tp 2 # two\n --x 'a b'\n)\nvllm serve m \"${ARGS[@]}\"", "vllm", "m", "vllm serve m --tp 2 --x a b", ""},
		{"fallback", "vllm serve ${MODEL:-org/m}", "vllm", "org/m", "vllm serve org/m", ""},
		{"unknown reference", `vllm serve "$HOME/m" --port $(pick)`, "vllm", "$HOME/m", "vllm serve $HOME/m --port $(pick)", ""},
		{"launchers", "nohup numactl --cpunodebind=0 /opt/bin/python3.12 -u -m vllm.entrypoints.openai.api_server --model m > log 2>&1 &", "vllm", "m", "/opt/bin/python3.12 -u -m vllm.entrypoints.openai.api_server --model m", ""},
		{"torchrun", "torchrun --nproc_per_node 2 -m sglang.launch_server --model m", "sglang", "m", "-m sglang.launch_server --model m", ""},
		{"mpirun", "mpirun -n 8 --allow-run-as-root trtllm-serve serve /e --tp_size 8", "trtllm", "/e", "trtllm-serve serve /e --tp_size 8", ""},
		{"env", "sudo env A=1 B=2 uv run vllm serve m", "vllm", "m", "vllm serve m", "A=1 B=2"},
		{"llama", "exec ./build/bin/llama-server -m /m.gguf -ngl 99 --temp -1", "llamacpp", "/m.gguf", "./build/bin/llama-server -m /m.gguf -ngl 99 --temp -1", ""},
		{"lmdeploy", "lmdeploy serve api_server org/m --tp 2", "lmdeploy", "org/m", "lmdeploy serve api_server org/m --tp 2", ""},
		{"router", "python3 -m sglang_router.launch_router --worker-urls http://a http://b", "sglang-router", "", "python3 -m sglang_router.launch_router --worker-urls http://a http://b", ""},
		{"interpreted entry point", "/usr/bin/python3 /usr/local/bin/vllm serve m", "vllm", "m", "/usr/bin/python3 /usr/local/bin/vllm serve m", ""},
		{"chain and prompt", "$ cd /x && pip install y && vllm serve m | tee log", "vllm", "m", "vllm serve m", ""},
		{"shell in shell", "nohup bash -lc 'export A=1; cd /x && B=2 vllm serve m --port 1 2>&1 | tee l' &", "vllm", "m", "vllm serve m --port 1", "A=1 B=2"},
		{"here-document", "cat > x <<'EOF'\nvllm serve wrong\nEOF\nvllm serve right", "vllm", "right", "vllm serve right", ""},
		{"control flow", "if true; then\n  A=1 vllm serve m\nfi", "vllm", "m", "vllm serve m", "A=1"},
		{"ansi quotes", `vllm serve m --x $'a\tb\x41'`, "vllm", "m", "vllm serve m --x a\tbA", ""},
		{"windows lines", "vllm serve m \\\r\n --tp 2\r\n", "vllm", "m", "vllm serve m --tp 2", ""},
		{"argv as JSON", `["vllm", "serve", "m", "--x", "$(y)"]`, "vllm", "m", "vllm serve m --x $(y)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := parseOne(t, "run.sh", tt.text)
			if c.Engine != tt.engine || c.Model != tt.model {
				t.Errorf("engine %q, model %q", c.Engine, c.Model)
			}
			if got := strings.Join(c.Argv(), " "); got != tt.argv {
				t.Errorf("argv %s\nwant %s", got, tt.argv)
			}
			if got := strings.Join(env(c), " "); got != tt.env {
				t.Errorf("env %s\nwant %s", got, tt.env)
			}
		})
	}
}

func TestParseSeveral(t *testing.T) {
	all, err := Parse("x.sh", []byte("# two nodes\nvllm serve a --port 1 &\nvllm serve b \\\n  --port 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got [][3]any
	for _, c := range all {
		got = append(got, [3]any{c.Model, c.Line, c.LastLine})
	}
	want := [][3]any{{"a", 2, 2}, {"b", 3, 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseFindsNoLaunch(t *testing.T) {
	for _, text := range []string{
		"", "echo vllm serve m\n", "pip install vllm", "vllm bench serve", "vllm serve --help", "llama-server --version", "python -m http.server", "grep -r 'vllm serve' .",
		"# vllm serve m", "docker run -d nginx", "docker run", "services:\n  web:\n    image: nginx\n", "[]", "{}", `["ls"]`,
	} {
		if _, err := Parse("f", []byte(text)); !errors.Is(err, ErrNoLaunch) {
			t.Errorf("Parse(%q): %v", text, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"broken.yaml": "services: [",
		"big.sh":      strings.Repeat("x", MaxFile+1),
		"deep.yaml":   strings.Repeat("a: {", 100) + strings.Repeat("}", 100),
		"bomb.yaml":   bomb(),
		"open.sh":     "vllm serve 'm",
		"other.json":  `[{"Config": 3}]`,
	} {
		_, err := Parse(name, []byte(text))
		if err == nil || errors.Is(err, ErrNoLaunch) || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// bomb is a document whose aliases stand for ten million values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 6 {
		b.WriteString("a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat("*a"+string(rune('0'+i))+",", 10) + "]\n")
	}
	return b.String()
}

// TestWrappers compares what each wrapper file is read as and printed as with
// its .want file, and that the printed form reads back as the same.
func TestWrappers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Parse(file, text)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, c := range all {
				describe(&b, c)
				again := reparsed(t, file, c)
				if diff := cmp.Diff(c.Argv(), again.Argv()); diff != "" {
					t.Errorf("argv after printing: %s\n%s", diff, c.Script())
				}
				if diff := cmp.Diff(env(c), env(again)); diff != "" {
					t.Errorf("env after printing: %s\n%s", diff, c.Script())
				}
			}
			wantFile := strings.Replace(file, ".in", ".want", 1)
			if *update {
				if err := os.WriteFile(wantFile, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(wantFile)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func describe(b *strings.Builder, c Command) {
	b.WriteString(string(c.Wrapper) + " " + c.Engine + " " + c.Model + "\n")
	for _, e := range env(c) {
		b.WriteString("env  " + e + "\n")
	}
	for _, a := range c.Argv() {
		b.WriteString("argv " + a + "\n")
	}
	b.WriteString("---\n" + c.Script() + "\n===\n")
}

// reparsed reads what a command prints.
func reparsed(t *testing.T, file string, c Command) Command {
	t.Helper()
	name := filepath.Base(file)
	switch c.Wrapper {
	case Inspect:
		name = "printed.sh"
	case Kubernetes:
		name = "printed.yaml"
	}
	return parseOne(t, name, c.Script())
}

func TestQuote(t *testing.T) {
	tests := map[string]string{
		"plain/path-1.2":  "plain/path-1.2",
		"":                "''",
		"a b":             "'a b'",
		"$(rm -rf ~)":     "'$(rm -rf ~)'",
		"it's":            `'it'\''s'`,
		"~/m":             "'~/m'",
		"a\nb":            "'a\nb'",
		"a\x1b[2Jb":       `$'a\x1b[2Jb'`,
		"a\x00'b\\":       `$'a\'b\\'`,
		"bad\xff":         `$'bad\xff'`,
		"a;b&c|d>e":       "'a;b&c|d>e'",
		"user\u202egnp.x": `$'user\xe2\x80\xaegnp.x'`,
	}
	for text, want := range tests {
		if got := Quote(text); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"a b", "it's", "\x1b\x00\xff", "$(x)`y`\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := newLexer("x "+Quote(text)+" y", false)
		ps := l.pipelines()
		if l.open > 0 || len(ps) != 1 || len(ps[0].commands) != 1 || len(ps[0].commands[0].words) != 3 {
			t.Fatalf("%q is no single word: %s", text, Quote(text))
		}
		got := newScope().expand(ps[0].commands[0].words[1])
		want := strings.ReplaceAll(text, "\x00", "")
		if len(got) != 1 || got[0].Text != want || got[0].Raw != "" {
			t.Fatalf("Quote(%q) = %s reads back as %q", text, Quote(text), got)
		}
	})
}

// FuzzParse checks that no file panics, and that what is printed reads back as
// the same command.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.in*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Ext(file), string(text))
	}
	f.Add(".sh", "A=1 vllm serve $X 'a b' >l &")
	f.Add(".service", "[Service]\nExe\x00cStart=-/opt/vllm serve m\nExecStart=A\x00B=/opt/vllm serve m\n")
	f.Fuzz(func(t *testing.T, ending, text string) {
		all, err := Parse("f"+ending, []byte(text))
		if err != nil {
			return
		}
		for _, c := range all {
			c.Redacted().Script()
			printed := c.Script()
			if c.Wrapper != Shell && c.Wrapper != DockerRun || c.nest != nil {
				continue
			}
			again, err := Parse("f.sh", []byte(printed))
			if err != nil || len(again) != 1 {
				t.Fatalf("%q printed as %q: %v", text, printed, err)
			}
			want := c.Argv()
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "\x00", "") // as Quote does
			}
			if !slices.Equal(again[0].Argv(), want) {
				t.Fatalf("%q printed as %q: argv %q, want %q", text, printed, again[0].Argv(), want)
			}
		}
	})
}
