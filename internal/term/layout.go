package term

import (
	"strings"
	"unicode"
)

// wide lists the ranges that take two columns: East Asian Wide and Fullwidth
// of Unicode's EastAsianWidth.txt, merged over unassigned gaps, and emoji.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec},
	{0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x26a1, 0x26a1},
	{0x26d4, 0x26d4}, {0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728},
	{0x274c, 0x274c}, {0x2753, 0x2757}, {0x2795, 0x2797}, {0x2b1b, 0x2b1c},
	{0x2b50, 0x2b50}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97f},
	{0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
	{0xffe0, 0xffe6}, {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
	{0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
}

// runeWidth is the number of columns of one printable rune.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	for _, w := range wide {
		if r < w[0] {
			return 1
		}
		if r <= w[1] {
			return 2
		}
	}
	return 1
}

// Width is the number of columns of clean text.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// ellipsis stands for what Cut left out.
const ellipsis = "…"

// Cut shortens clean text to at most width columns; a cut end is shown as …
func Cut(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	return s[:fits(s, width-1)] + ellipsis
}

// CutStart is Cut at the other end: the end of a path tells more than its
// beginning.
func CutStart(s string, width int) string {
	over := Width(s) - width
	if over <= 0 {
		return s
	}
	if width < 1 {
		return ""
	}
	dropped := 0
	for i, r := range s {
		if dropped > over {
			return ellipsis + s[i:]
		}
		dropped += runeWidth(r)
	}
	return ellipsis
}

// fits is the length in bytes of the longest start of s within width columns.
func fits(s string, width int) int {
	for i, r := range s {
		width -= runeWidth(r)
		if width < 0 {
			return i
		}
	}
	return len(s)
}

// Break splits clean text after at most width columns, and after at least one
// rune, so that breaking the tail again comes to an end.
func Break(s string, width int) (head, tail string) {
	n := fits(s, width)
	if n == 0 {
		n = fits(s, 2)
	}
	return s[:n], s[n:]
}

// Pad fills clean text with spaces up to width columns; longer text is
// returned as it is.
func Pad(s string, width int) string {
	if n := width - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// Wrap breaks clean text into lines of at most width columns at spaces; a word
// that is longer than a line is broken where the line ends. There is always at
// least one line.
func Wrap(s string, width int) []string {
	width = max(width, 2)
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(s) {
		w := Width(word)
		if line != "" && used+1+w <= width {
			line, used = line+" "+word, used+1+w
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for w > width {
			head, tail := Break(word, width)
			lines = append(lines, head)
			w -= Width(head)
			word = tail
		}
		line, used = word, w
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}
