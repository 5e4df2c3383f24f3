package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"shakedown/internal/finding"
	"shakedown/internal/logstream"
	"shakedown/internal/term"
)

// Exit codes of every verb. The table of their meanings is exitTable.
const (
	exitSound       = 0
	exitFailed      = 1
	exitUsage       = 2
	exitProblem     = 3
	exitUnreadable  = 4
	exitCantTell    = 5
	exitInterrupted = 130 // 128 + SIGINT, as shells report it
	exitBrokenPipe  = 141 // 128 + SIGPIPE: a run that ignores the signal ends like one that it kills
)

// exitTable is printed by --help and by the help topic exit-codes, and must
// stand in README.md.
var exitTable = []struct {
	code    int
	meaning string
}{
	{exitSound, "sound, healthy, or done"},
	{exitFailed, "shakedown itself failed"},
	{exitUsage, "usage: unknown verb, flag or argument"},
	{exitProblem, "a problem was found"},
	{exitUnreadable, "input or endpoint unreadable"},
	{exitCantTell, "can't tell: what would decide is printed"},
	{exitInterrupted, "interrupted"},
	{exitBrokenPipe, "nobody reads the output any more"},
}

// exitHelp renders exitTable.
func exitHelp() string {
	var b strings.Builder
	for _, row := range exitTable {
		fmt.Fprintf(&b, "  %3d  %s\n", row.code, row.meaning)
	}
	return b.String()
}

// Results of a run that worked. They are errors only so that they reach
// exitCode the same way as everything else; nothing is printed for them.
var (
	errProblem  = errors.New("a problem was found")
	errCantTell = errors.New("can't tell")
)

// expectedError is an error that the user can act on.
type expectedError struct {
	code int
	err  error
	next string // the command to type next
}

func (e *expectedError) Error() string { return e.err.Error() }
func (e *expectedError) Unwrap() error { return e.err }

// usageError is a command line that cannot be run as typed.
func usageError(next, format string, args ...any) error {
	return &expectedError{code: exitUsage, err: fmt.Errorf(format, args...), next: next}
}

// inputError is an input that cannot be read or is not what the verb needs.
func inputError(err error, next string) error {
	return &expectedError{code: exitUnreadable, err: err, next: next}
}

// outputError is an output that cannot be written. Without it, a file that
// cannot be created would look like an input that cannot be read.
func outputError(err error) error {
	var known *expectedError
	if errors.As(err, &known) {
		return err
	}
	code := exitFailed
	if errors.Is(err, syscall.EPIPE) {
		code = exitBrokenPipe
	}
	return &expectedError{code: code, err: fmt.Errorf("write the output: %w", err)}
}

// inputErrors are the errors of packages below that mean an unreadable input.
var inputErrors = []error{
	logstream.ErrEmpty, logstream.ErrBinary, logstream.ErrCorrupt, logstream.ErrTooLarge, logstream.ErrNoLogs,
	finding.ErrNotReport, fs.ErrNotExist, fs.ErrPermission,
}

// isInputError says whether err wraps an error of the file system or one of
// inputErrors.
func isInputError(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) || slices.ContainsFunc(inputErrors, func(known error) bool { return errors.Is(err, known) })
}

// bugError is a panic.
type bugError struct {
	value any
	stack []byte
}

// The panic's value is quoted: it may hold bytes of a log.
func (e *bugError) Error() string { return fmt.Sprintf("panic: %q", fmt.Sprint(e.value)) }

// exitCode maps the result of a run to its exit code.
func exitCode(err error) int {
	var expected *expectedError
	switch {
	case err == nil:
		return exitSound
	case errors.Is(err, errProblem):
		return exitProblem
	case errors.Is(err, errCantTell):
		return exitCantTell
	case errors.As(err, &expected):
		return expected.code
	case isInputError(err):
		return exitUnreadable
	default:
		return exitFailed
	}
}

// cleaned makes an error safe to print, line by line: it may quote a log, a file's
// name or a server.
func cleaned(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = term.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// conclude prints what the user must know about err and returns the exit code.
// started says whether standard output already holds a part of the result.
func conclude(w *World, started bool, err error) int {
	code := exitCode(err)
	switch code {
	case exitSound, exitProblem, exitCantTell, exitBrokenPipe:
		return code
	}
	msg := newErrorMsg(err)
	if wantsJSON(w.Args) {
		writeErrorMsg(w, started, msg)
	}
	fmt.Fprintf(w.Stderr, "shakedown: %s\n", cleaned(msg.Text))
	if msg.Next != "" {
		fmt.Fprintf(w.Stderr, "try: %s\n", cleaned(msg.Next))
	}
	var bug *bugError
	if errors.As(err, &bug) {
		fmt.Fprintf(w.Stderr, bugNotice, version, runtime.Version(), runtime.GOOS, runtime.GOARCH, bug.stack)
	}
	return code
}

// newErrorMsg is err as a message.
func newErrorMsg(err error) *finding.ErrorMsg {
	msg := &finding.ErrorMsg{Text: err.Error(), ExitCode: exitCode(err)}
	var expected *expectedError
	if errors.As(err, &expected) {
		msg.Next = expected.next
	}
	return msg
}

const bugNotice = `This is a bug in shakedown. Please report it with the text below, the command
that you typed and, if you can, the input as cleaned by "shakedown redact".
shakedown %s, %s, %s/%s
%s`

// writeErrorMsg ends a --json stream with msg, so that a reader of standard
// output alone learns what happened. A stream that has not begun is opened
// first: every stream starts with a config message. What cannot be written is
// dropped, since the same text goes to standard error.
func writeErrorMsg(w *World, started bool, msg *finding.ErrorMsg) {
	enc := finding.NewEncoder(w.Stdout)
	if !started {
		_ = enc.Handle(newConfigMsg())
	}
	_ = enc.Handle(msg)
	_ = enc.Close()
}

// wantsJSON looks for --json in the arguments as typed: when they could not be
// parsed, no flag has a value yet.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}
