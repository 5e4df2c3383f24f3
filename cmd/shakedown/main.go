// Command shakedown explains why an LLM inference server failed. Everything it
// does is in internal/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"shakedown/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(cli.Main(ctx, cli.World{
		Args: os.Args[1:], Env: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}
