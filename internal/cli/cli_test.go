package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

// newWorld returns a world with these arguments, an empty environment and
// buffers as streams.
func newWorld(args ...string) (w *World, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return &World{
		Args: args, Env: func(string) string { return "" },
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
	}, stdout, stderr
}

// execute runs one command with these arguments as the root does.
func execute(cmd *cobra.Command, args ...string) error {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	return cmd.ExecuteContext(context.Background())
}

func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("disk on fire"), 1},
		{&bugError{value: "nil map"}, 1},
		{usageError("", "unknown"), 2},
		{fmt.Errorf("explain: %w", errProblem), 3},
		{inputError(io.ErrUnexpectedEOF, ""), 4},
		{fmt.Errorf("rules: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}), 4},
		{fmt.Errorf("a.log: %w", logstream.ErrEmpty), 4},
		{fmt.Errorf("a.json: %w", finding.ErrNotReport), 4},
		{errCantTell, 5},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("exitCode(%v) = %d, want %d", tc.err, got, tc.want)
		}
	}
}

func TestConclude(t *testing.T) {
	for _, tc := range []struct {
		name           string
		args           []string
		started        bool
		err            error
		stdout, stderr string
	}{
		{"result", []string{"explain", "--json", "x"}, true, errProblem, "", ""},
		{"text", []string{"explain", "x"}, false, inputError(errors.New("x is empty"), "ls -l x"),
			"", "shakedown: x is empty\ntry: ls -l x\n"},
		{"json, stream begun", []string{"explain", "--json", "x"}, true, inputError(errors.New("x: corrupt gzip"), ""),
			`{"message":"error","text":"x: corrupt gzip","exit_code":4}` + "\n", "shakedown: x: corrupt gzip\n"},
		{"json after --", []string{"explain", "--", "--json"}, false, errors.New("no"), "", "shakedown: no\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, stdout, stderr := newWorld(tc.args...)
			conclude(w, tc.started, tc.err)
			if diff := cmp.Diff(tc.stdout, stdout.String()); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.stderr, stderr.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// panicReader is a standard input that makes any verb panic.
type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("bad \x1b[31m line") }

func TestPanicIsABug(t *testing.T) {
	w, _, stderr := newWorld("redact")
	w.Stdin = panicReader{}
	if got := Main(context.Background(), *w); got != exitFailed {
		t.Errorf("exit code %d, want %d", got, exitFailed)
	}
	for _, want := range []string{"This is a bug in shakedown", "shakedown devel, go", `panic: "bad \x1b[31m line"`, "panicReader"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
}

// blockedReader is a standard input on which nothing ever comes.
type blockedReader struct{ reading chan<- struct{} }

func (b blockedReader) Read([]byte) (int, error) {
	b.reading <- struct{}{}
	select {}
}

func TestInterruptedWhileBlocked(t *testing.T) {
	reading := make(chan struct{})
	w, stdout, _ := newWorld("redact")
	w.Stdin = blockedReader{reading}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-reading
		cancel()
	}()
	if got := Main(ctx, *w); got != exitInterrupted {
		t.Errorf("exit code %d, want %d", got, exitInterrupted)
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout holds %q", stdout)
	}
}

// brokenWriter fails as a full disk or a closed pipe does.
type brokenWriter struct{ err error }

func (b brokenWriter) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: b.err}
}

func TestUnwritableOutput(t *testing.T) {
	for _, args := range []string{
		"--help", "--version", "version", "version --json", "help exit-codes", "redact", "rules list", "rules list --json", "rules show GEN-OOM-001",
		"explain --demo", "explain --demo --json", "explain --demo --markdown", "explain --demo --html -", "completion bash",
	} {
		for cause, want := range map[error]int{syscall.ENOSPC: exitFailed, syscall.EPIPE: exitBrokenPipe} {
			w, _, stderr := newWorld(strings.Fields(args)...)
			w.Stdin = strings.NewReader("INFO 03-02 10:11:12 [api_server.py:1] vLLM API server version 0.11.0\n")
			w.Stdout = brokenWriter{cause}
			if got := Main(context.Background(), *w); got != want {
				t.Errorf("%s into %v: exit code %d, want %d", args, cause, got, want)
			}
			if told := strings.Contains(stderr.String(), "write the output: "); told != (want == exitFailed) {
				t.Errorf("%s into %v: stderr %q", args, cause, stderr)
			}
		}
	}
}

// TestTerminalIsSeen shows that what Main puts before standard output does not
// hide a terminal.
func TestTerminalIsSeen(t *testing.T) {
	if got := behind(&mainOutput{w: os.Stdout}); got != os.Stdout {
		t.Errorf("behind standard output is %v", got)
	}
}

// TestReadmeExitCodes keeps the table of README.md equal to exitTable.
func TestReadmeExitCodes(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range exitTable {
		line := fmt.Sprintf("| %d | %s |\n", row.code, row.meaning)
		if !strings.Contains(string(readme), line) {
			t.Errorf("README.md lacks the row %q", line)
		}
	}
}
