package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"shakedown/internal/checkpointtest"
	"shakedown/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"shakedown": func() {
			os.Exit(cli.Main(context.Background(), cli.World{
				Args: os.Args[1:], Env: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			}))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "weights": weights},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// exits is the script command "exits CODE PROGRAM ARG...": it runs the program
// and fails unless the exit code is CODE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// weights is the script command "weights FILE HEADER SIZE": it writes a
// safetensors file with the text of HEADER and SIZE bytes of data, 1, 2, 3 ...
func weights(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: weights FILE HEADER SIZE")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i + 1)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), checkpointtest.Raw(strings.TrimSpace(ts.ReadFile(args[1])), data), 0o666))
}
