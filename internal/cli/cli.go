// Package cli is the command line: one file per verb, each with an options
// struct, a function that builds the command, and a function that runs it. It
// is the only place that knows flags and exit codes; the work itself is done by
// the use cases (explain, redact ...), which know neither.
//
// Terms: a world is everything that a run takes from outside (arguments,
// environment, streams), so that tests run whole commands in-process; an
// expected error is one that the user can act on, printed as one sentence and
// the command to type next; anything else that goes wrong is a bug of
// shakedown and says so.
package cli

import (
	"context"
	"io"
	"runtime/debug"
	"time"
)

// World is everything that a run takes from outside. All fields are required.
type World struct {
	Args   []string // without the program's own name
	Env    func(key string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// interruptGrace is how long an interrupted run may take to finish its output.
// A read from a terminal or an idle pipe never notices the interruption, so
// waiting must end; half a second is enough to print a report and too short to
// make anybody press Ctrl-C twice.
const interruptGrace = 500 * time.Millisecond

// Main runs the command line and returns the process's exit code. After an
// interruption of ctx it returns within interruptGrace, even when the run is
// still blocked; the caller must then exit and not use the streams again.
func Main(ctx context.Context, w World) int {
	out := &startedWriter{w: w.Stdout}
	w.Stdout = out
	done := make(chan error, 1)
	go func() { done <- run(ctx, &w) }()
	select {
	case err := <-done:
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return conclude(&w, out.started, err)
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(interruptGrace):
	}
	return exitInterrupted
}

// run executes the command line; a panic becomes a *bugError.
func run(ctx context.Context, w *World) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &bugError{value: v, stack: debug.Stack()}
		}
	}()
	return newRootCmd(w).ExecuteContext(ctx)
}

// startedWriter remembers whether anything was written.
type startedWriter struct {
	w       io.Writer
	started bool
}

func (s *startedWriter) Write(p []byte) (int, error) {
	s.started = true
	return s.w.Write(p)
}
