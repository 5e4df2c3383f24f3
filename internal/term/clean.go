package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tab is what Clean puts for a tab: a layout in columns can't hold one.
const tab = "    "

// Clean makes one line of text from outside safe to print: escape sequences
// are dropped, tabs become spaces, line ends and other control characters
// become a space or nothing, and characters that reorder or hide text (bidi
// controls, zero-width characters) are dropped. Invalid UTF-8 becomes U+FFFD.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\t':
			b.WriteString(tab)
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			b.WriteByte(' ')
		case unsafeRune(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isClean(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// unsafeRune says that a rune steers the terminal or the reader's eye instead
// of showing something: C0 and C1 controls, and Unicode's format characters
// (Cf: bidi controls, zero-width spaces and joiners), or that it stands for no
// character at all.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Noncharacter_Code_Point)
}

// maxEscape bounds an operating system command or device string; a longer one
// is taken as text that follows a lone escape.
const maxEscape = 4096

// escapeLen is the length of the escape sequence at the start of s, 0 when
// there is none (ECMA-48: CSI, string sequences such as OSC, two-byte escapes;
// 8-bit C1 forms in UTF-8).
func escapeLen(s string) int {
	switch {
	case s[0] == 0x1b:
		if len(s) == 1 {
			return 1
		}
		switch s[1] {
		case '[':
			return 2 + csiLen(s[2:])
		case ']', 'P', 'X', '^', '_':
			return 2 + stringLen(s[2:])
		}
		return 1 + intermediates(s[1:])
	case strings.HasPrefix(s, "\u009b"):
		return 2 + csiLen(s[2:])
	case strings.HasPrefix(s, "\u009d"), strings.HasPrefix(s, "\u0090"):
		return 2 + stringLen(s[2:])
	}
	return 0
}

// csiLen is the length of the parameters, intermediates and final byte of a
// control sequence; an interrupted one ends before the byte that can't belong.
func csiLen(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return i
		}
	}
	return len(s)
}

// stringLen is the length of a control string with its terminator (BEL or ST),
// 0 when it has none within maxEscape.
func stringLen(s string) int {
	for i := range min(len(s), maxEscape) {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case s[i] == '\n':
			return i
		}
	}
	return 0
}

// intermediates is the length of a two-byte escape after its ESC: intermediate
// bytes and one final byte.
func intermediates(s string) int {
	i := 0
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		i++
	}
	return i
}
