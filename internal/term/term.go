// Package term is the only writer of terminal control sequences. It finds out
// what an output can show (Detect), styles text by meaning (Style), lays text
// out in columns (Width, Cut, Pad, Wrap), shows a status line (Status), and
// makes text from outside harmless (Clean).
//
// A column is the width of one ASCII character in a terminal cell; East Asian
// wide characters and emoji take two, combining characters none. All functions
// take and return text without control sequences, except that Style adds them:
// style last, after cutting and padding.
package term

import (
	"fmt"
	"io"
	"os"
	"strconv"

	xterm "golang.org/x/term"
)

// Widths of a report in columns.
const (
	DefaultWidth = 80  // when nothing is known of the output
	maxWidth     = 120 // longer lines of prose read badly
	minWidth     = 60  // below this a layout in columns falls apart
)

// When says when to use colour: the value of --color.
type When string

// The three values of --color.
const (
	Auto   When = "auto"
	Always When = "always"
	Never  When = "never"
)

// ParseWhen reads the value of --color.
func ParseWhen(s string) (When, error) {
	switch w := When(s); w {
	case Auto, Always, Never:
		return w, nil
	}
	return "", fmt.Errorf("colour %q is none of auto, always, never: use --color=auto", s)
}

// IsTerminal says whether f is a terminal, where a person reads or types.
func IsTerminal(f *os.File) bool { return xterm.IsTerminal(int(f.Fd())) }

// Output is what is known of one stream that text is written to.
type Output struct {
	TTY   bool  // a person may be watching
	Width int   // columns to lay out for
	Style Style // how to emphasise
}

// Detect looks at w and the environment. NO_COLOR (https://no-color.org), CLICOLOR and
// CLICOLOR_FORCE (https://bixense.com/clicolors) are honoured when color is
// Auto; COLUMNS goes before the terminal's own width.
func Detect(w io.Writer, env func(string) string, color When) Output {
	f, isFile := w.(*os.File)
	tty := isFile && IsTerminal(f)
	own := 0
	if tty {
		if cols, _, err := xterm.GetSize(int(f.Fd())); err == nil {
			own = cols
		}
	}
	return Output{
		TTY:   tty,
		Width: width(env("COLUMNS"), own),
		Style: Style{on: useColor(color, tty, env)},
	}
}

// width chooses the layout width from COLUMNS and the terminal's own width, 0
// for unknown.
func width(columns string, own int) int {
	w := DefaultWidth
	if own > 0 {
		w = own
	}
	if n, err := strconv.Atoi(columns); err == nil && n > 0 {
		w = n
	}
	return ClampWidth(w)
}

// ClampWidth brings a width that a user gave into the range that layouts are
// made for: 60 to 120 columns, and 80 for zero.
func ClampWidth(w int) int {
	if w == 0 {
		return DefaultWidth
	}
	return min(max(w, minWidth), maxWidth)
}

func useColor(color When, tty bool, env func(string) string) bool {
	switch {
	case color == Always:
		return true
	case color == Never || env("NO_COLOR") != "":
		return false
	case env("CLICOLOR_FORCE") != "" && env("CLICOLOR_FORCE") != "0":
		return true
	}
	return tty && env("CLICOLOR") != "0" && env("TERM") != "dumb"
}
