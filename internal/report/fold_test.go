package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/term"
)

func TestFoldScript(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in, want string
	}{
		{"short", "vllm serve m", "vllm serve m"},
		{"before a flag", "vllm serve acme/rocket --port 8000 --tp 2", "vllm serve acme/rocket --port 8000 \\\n  --tp 2"},
		{"before a word", "tool aaaaaaaaaaaa bbbbbbbbbbbb cccccccccccccc", "tool aaaaaaaaaaaa bbbbbbbbbbbb \\\n  cccccccccccccc"},
		{"quotes stay whole", `vllm serve m --json '{"a": 1, "b": "it is"}' --x "a \" b c d e"`, "vllm serve m \\\n  --json '{\"a\": 1, \"b\": \"it is\"}' \\\n  --x \"a \\\" b c d e\""},
		{"a quote over lines", "sh -c 'echo one two three\nfour five six seven eight nine ten eleven'", "sh -c 'echo one two three\nfour five six seven eight nine ten eleven'"},
		{"an escaped space", `cp a\ b\ c\ d\ e\ f\ g\ h\ i\ j\ k\ l\ m\ n\ o z`, "cp \\\n  a\\ b\\ c\\ d\\ e\\ f\\ g\\ h\\ i\\ j\\ k\\ l\\ m\\ n\\ o \\\n  z"},
		{"a long word", "x /models/a/very/long/path/that/does/not/fit -y", "x \\\n  /models/a/very/long/path/that/does/not/fit \\\n  -y"},
		{"broken anew", "python -m sglang.launch_server --model-path m \\\n    --tp 8 \\\n    --port 8000", "python -m sglang.launch_server \\\n  --model-path m --tp 8 --port 8000"},
		{"a comment", "# set these variables first: HF_TOKEN, API_KEY\nvllm", "# set these variables first: HF_TOKEN,\n# API_KEY\nvllm"},
		{"a batch header", "#SBATCH --output=/a/long/path/of/a/log/file/%j.out --open-mode=append", "#SBATCH --output=/a/long/path/of/a/log/file/%j.out --open-mode=append"},
		{"YAML", "services:\n  vllm:\n    entrypoint: a very long line of words that has to stay as it is", "services:\n  vllm:\n    entrypoint: a very long line of words that has to stay as it is"},
		{"here-document", "cat <<EOF\na very long line of words that has to stay as it is\nEOF", "cat <<EOF\na very long line of words that has to stay as it is\nEOF"},
	} {
		if d := cmp.Diff(tt.want, strings.Join(foldScript(strings.Split(tt.in, "\n"), 40), "\n")); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// FuzzFoldScript checks that folding comes to an end and loses nothing.
func FuzzFoldScript(f *testing.F) {
	f.Add("vllm serve m --json '{\"a\": 1}' \\\n  --x \"a b\"", 20)
	f.Add("# comment of some words\nx y z\\", 3)
	f.Add("a 'b\nc' d \\\\ e", 2)
	f.Add("services:\n  a: b c d", 5)
	f.Fuzz(func(t *testing.T, script string, width int) {
		if strings.ContainsAny(script, "#") {
			return // comments are filled
		}
		width = width%60 + 20
		squeeze := strings.NewReplacer(" ", "", "\\", "", "\n", "")
		out := strings.Join(foldScript(strings.Split(script, "\n"), width), "\n")
		if squeeze.Replace(out) != squeeze.Replace(script) {
			t.Fatalf("%q became %q", script, out)
		}
	})
}

func TestShorten(t *testing.T) {
	const oom = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 15.58 GiB of which 54.38 MiB is free. If much is reserved and not allocated try expandable segments to avoid fragments. See the manual of memory"
	for _, tt := range []struct {
		name, in string
		columns  int
		want     string
	}{
		{"fits", "12 GiB", 6, "12 GiB"},
		{"the end without numbers", oom, 100, oom[:strings.Index(oom, " If")+1] + "If …"},
		{"the middle", "ValueError: the sequence that was asked for is longer than what is there, 2.81 GiB against 1.0", 50, "ValueError: the sequence that…2.81 GiB against 1.0"},
		{"wide characters", "名前名前名前名前 1", 9, "名前名… 1"},
	} {
		got := shorten(tt.in, tt.columns)
		if tt.name == "the end without numbers" {
			if !strings.Contains(got, "54.38 MiB is free") || !strings.HasSuffix(got, "…") {
				t.Errorf("%s: %q", tt.name, got)
			}
		} else if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if term.Width(got) > tt.columns {
			t.Errorf("%s: %d columns", tt.name, term.Width(got))
		}
	}
	if got := shorten(strings.Repeat("x", longestQuote)+" 7", 10); got != "xxxxxxxxx…" {
		t.Errorf("a long dump became %q", got)
	}
}

func TestOpenEnd(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"one two.", 20, "one two …"}, {"one two three", 13, "one two …"}, {"one, two", 7, "one …"}, {"abcdefgh", 6, "abcde…"}, {"it goes on…", 20, "it goes on …"},
	} {
		if got := openEnd(tt.in, tt.width); got != tt.want {
			t.Errorf("openEnd(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}
