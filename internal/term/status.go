package term

import (
	"io"
	"sync"
)

// Status is one line on standard error that is replaced by each new text and
// disappears at the end. On an output that no person watches it writes
// nothing. It may be used from several goroutines. Write errors are ignored: a
// status line is never worth failing for.
type Status struct {
	mu    sync.Mutex
	w     io.Writer
	out   Output
	shown bool
}

// NewStatus returns a Status that writes to w, of which out is known.
func NewStatus(w io.Writer, out Output) *Status { return &Status{w: w, out: out} }

// eraseLine returns to the first column and erases the line (ECMA-48 EL).
const eraseLine = "\r\x1b[2K"

// Set shows text, cleaned and cut to the width of the output.
func (s *Status) Set(text string) {
	if !s.out.TTY {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// One column stays free: writing the last one makes some terminals wrap.
	_, _ = io.WriteString(s.w, eraseLine+s.out.Style.Dim(Cut(Clean(text), s.out.Width-1)))
	s.shown = true
}

// Clear removes the line, so that other output can follow.
func (s *Status) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		_, _ = io.WriteString(s.w, eraseLine)
		s.shown = false
	}
}
