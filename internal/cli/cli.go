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
	"errors"
	"io"
	"runtime/debug"
	"sync/atomic"
	"time"

	"shakedown/internal/explain"
)

// World is everything that a run takes from outside. All fields are required.
type World struct {
	Args   []string // without the program's own name
	Env    func(key string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	lingers *atomic.Bool // the run ends by itself when it is interrupted: a server drains
}

// interruptGrace is how long an interrupted run may take to finish its output.
// A read from a terminal or an idle pipe never notices the interruption, so
// waiting must end; half a second is enough to print a report and too short to
// make anybody press Ctrl-C twice.
const interruptGrace = 500 * time.Millisecond

// Main runs the command line and returns the process's exit code. After an
// interruption of ctx it returns within interruptGrace, even when the run is
// still blocked; the caller must then exit and not use the streams again. A
// server is given the time to finish its answers.
func Main(ctx context.Context, w World) int {
	out := &mainOutput{w: w.Stdout}
	w.Stdout = out
	w.lingers = new(atomic.Bool)
	done := make(chan error, 1)
	go func() { done <- run(ctx, &w) }()
	select {
	case err := <-done:
		if ctx.Err() != nil && !w.lingers.Load() {
			return exitInterrupted
		}
		if out.err != nil {
			err = out.err // whatever the run made of it
		}
		return conclude(&w, out.started, err)
	case <-ctx.Done():
	}
	if w.lingers.Load() {
		return conclude(&w, out.started, <-done)
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
	err = newRootCmd(w).ExecuteContext(ctx)
	if p := (*explain.PanicError)(nil); errors.As(err, &p) {
		return &bugError{value: p.Value, stack: p.Stack}
	}
	return err
}

// mainOutput is standard output. Many writers, such as cobra's help, drop an
// error or take it for one of the input, so it is kept here.
type mainOutput struct {
	w       io.Writer
	started bool  // anything was written
	err     error // an outputError once a write failed
}

// Write passes p on; after a failure it writes nothing more.
func (o *mainOutput) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	o.started = true
	n, err := o.w.Write(p)
	if err != nil {
		o.err = outputError(err)
	}
	return n, o.err
}

// behind is the stream that a terminal may show.
func behind(w io.Writer) io.Writer {
	if o, ok := w.(*mainOutput); ok {
		return o.w
	}
	return w
}
