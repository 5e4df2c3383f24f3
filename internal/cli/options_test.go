package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/term"
)

func TestExplainOptions(t *testing.T) {
	for _, tc := range []struct {
		args string
		want explainOptions
	}{
		{"", explainOptions{}},
		{"a.log b.log --full --redact", explainOptions{files: []string{"a.log", "b.log"}, full: true, outputOptions: outputOptions{redact: true}}},
		{"- --json --follow", explainOptions{files: []string{"-"}, follow: true, outputOptions: outputOptions{json: true}}},
		{"--demo --color never --width 100", explainOptions{demo: true, outputOptions: outputOptions{color: "never", width: 100}}},
		{"a.log --markdown --html r.html --junit r.xml", explainOptions{files: []string{"a.log"}, documentOptions: documentOptions{markdown: true, html: "r.html", junit: "r.xml"}}},
		{"a.log --rules my --cmd run.sh --save out --engine vllm", explainOptions{files: []string{"a.log"}, rules: "my", command: "run.sh", save: "out", engine: "vllm"}},
		{"a.log --compose c.yaml --html -", explainOptions{files: []string{"a.log"}, compose: "c.yaml", documentOptions: documentOptions{html: "-"}}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			w, _, _ := newWorld()
			var got *explainOptions
			cmd := newExplainCmd(w, func(_ context.Context, o *explainOptions) error { got = o; return nil })
			if err := execute(cmd, strings.Fields(tc.args)...); err != nil {
				t.Fatal(err)
			}
			want := tc.want
			want.world = w
			if want.files == nil {
				want.files = []string{}
			}
			if want.color == "" {
				want.color = "auto"
			}
			if diff := cmp.Diff(want, *got, cmp.AllowUnexported(explainOptions{}, outputOptions{}, documentOptions{}), cmp.Comparer(func(a, b *World) bool { return a == b })); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExplainRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--demo a.log":              "takes no file",
		"--demo --follow":           "does not grow",
		"--follow a.log b.log":      "takes one log, got 2",
		"a.log --json --markdown":   "can have standard output",
		"a.log --json --html -":     "can have standard output",
		"a.log --cmd x --compose y": "use one",
		"a.log --color blue":        "none of auto, always, never",
		"a.log --width -3":          "--width -3 is negative",
		"a.log --width x":           "invalid argument",
		"a.log --ful":               "unknown flag: --ful",
		"a.log --html":              "flag needs an argument",
	} {
		t.Run(args, func(t *testing.T) {
			w, _, _ := newWorld()
			cmd := newExplainCmd(w, func(context.Context, *explainOptions) error { t.Error("ran"); return nil })
			err := execute(cmd, strings.Fields(args)...)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
			if got := exitCode(err); got != exitUsage {
				t.Errorf("exit code %d, want %d", got, exitUsage)
			}
		})
	}
}

func TestDiffOptions(t *testing.T) {
	w, _, _ := newWorld()
	var got *diffOptions
	runF := func(_ context.Context, o *diffOptions) error { got = o; return nil }
	if err := execute(newDiffCmd(w, runF), "good.log", "-", "--json"); err != nil {
		t.Fatal(err)
	}
	if got.good != "good.log" || got.bad != "-" || !got.json {
		t.Errorf("options %+v", got)
	}
	for _, args := range [][]string{{"one.log"}, {"a", "b", "c"}, {"-", "-"}, {"a", "b", "--color", "red"}} {
		if code := exitCode(execute(newDiffCmd(w, runF), args...)); code != exitUsage {
			t.Errorf("diff %v: exit code %d, want %d", args, code, exitUsage)
		}
	}
}

func TestRulesOptions(t *testing.T) {
	w, _, _ := newWorld()
	var ran string
	var got rulesOptions
	runF := func(name string) func(context.Context, *rulesOptions) error {
		return func(_ context.Context, o *rulesOptions) error { ran, got = name, *o; return nil }
	}
	runs := rulesRuns{list: runF("list"), show: runF("show"), test: runF("test")}
	for _, tc := range []struct {
		args string
		ran  string
		want rulesOptions
	}{
		{"list --rules my --json", "list", rulesOptions{dir: "my", json: true}},
		{"show GEN-OOM-001", "show", rulesOptions{id: "GEN-OOM-001"}},
		{"test my", "test", rulesOptions{dir: "my"}},
	} {
		if err := execute(newRulesCmd(w, runs), strings.Fields(tc.args)...); err != nil {
			t.Fatal(err)
		}
		tc.want.world = w
		if ran != tc.ran || got != tc.want {
			t.Errorf("rules %s ran %s with %+v", tc.args, ran, got)
		}
	}
	for _, args := range []string{"lst", "show", "test", "list x"} {
		if code := exitCode(execute(newRulesCmd(w, runs), strings.Fields(args)...)); code != exitUsage {
			t.Errorf("rules %s: exit code %d, want %d", args, code, exitUsage)
		}
	}
}

func TestOutputWidth(t *testing.T) {
	w, _, _ := newWorld()
	for width, want := range map[int]int{0: term.DefaultWidth, 100: 100} {
		o := outputOptions{color: "auto", width: width}
		if got := o.output(w).Width; got != want {
			t.Errorf("--width %d: %d columns, want %d", width, got, want)
		}
	}
}
