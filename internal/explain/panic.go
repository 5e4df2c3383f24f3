package explain

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic of one of the goroutines that read and judge. It comes
// back as an error because a panic that is not recovered where it happens ends
// the process, and with it the caller's own notice.
type PanicError struct {
	Value any
	Stack []byte
}

// Error names the value.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %q", fmt.Sprint(e.Value)) }

// recovered calls f and returns its panic, if any, as an error.
func recovered(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	f()
	return nil
}
