// Command shakedown explains why an LLM inference server failed. Everything it
// does is in internal/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"shakedown/internal/cli"
)

// collectAt is the garbage collector's target, GOGC. What is alive is small, a
// few blocks and the launches that are judged, and everything else is garbage
// soon: at the usual 100 a log costs 5 % more time, at 400 the peak for a log of
// any length is about 150 MB.
const collectAt = 400

func main() {
	debug.SetGCPercent(collectAt)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(cli.Main(ctx, cli.World{
		Args: os.Args[1:], Env: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}
