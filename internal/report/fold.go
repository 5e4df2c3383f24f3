package report

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"shakedown/internal/term"
)

// manifestStart is the first line of a YAML document that a remedy rewrites.
var manifestStart = regexp.MustCompile(`^[\w-]+:$`)

// foldScript breaks the lines of a script that are wider than a page where a
// shell, or systemd, reads the parts as one. A word that is wider stands
// alone. YAML and here-documents know no such break and stay as they are.
func foldScript(lines []string, width int) []string {
	var out []string
	open := byte(0)
	for len(lines) > 0 {
		l := lines[0]
		if manifestStart.MatchString(l) || strings.Contains(l, "<<") {
			return append(out, lines...)
		}
		if open == 0 && strings.HasPrefix(l, "# ") {
			for _, part := range term.Wrap(l[2:], width-2) {
				out = append(out, "# "+part)
			}
			lines = lines[1:]
			continue
		}
		n := 1
		if open == 0 {
			l, n = whole(lines, width)
		}
		var parts []string
		parts, open = foldLine(l, open, width)
		out = append(out, parts...)
		lines = lines[n:]
	}
	return out
}

// whole joins the continued lines that the script begins with when one of them
// is too wide, so that they are broken anew. n is how many it took.
func whole(lines []string, width int) (line string, n int) {
	const more = ` \`
	wide := false
	var parts []string
	for i, l := range lines {
		part := strings.TrimSuffix(l, more)
		if i > 0 {
			part = strings.TrimLeft(part, " ")
		}
		if strings.HasPrefix(part, "#") || quoteAfter(part, 0, func(int) {}) != 0 {
			return lines[0], 1
		}
		parts = append(parts, part)
		wide = wide || term.Width(l) > width
		if !strings.HasSuffix(l, more) {
			break
		}
	}
	if !wide {
		return lines[0], 1
	}
	return strings.Join(parts, " "), len(parts)
}

// foldLine breaks one line. open is the quote in which it begins, and in which
// it ends.
func foldLine(line string, open byte, width int) ([]string, byte) {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if indent == "" {
		indent = "  "
	}
	var parts []string
	for term.Width(line) > width && !strings.HasPrefix(line, "#") {
		at := breakAt(line, open, width-len(` \`))
		if at < 0 {
			break
		}
		parts = append(parts, line[:at]+` \`)
		line, open = indent+line[at+1:], 0
	}
	return append(parts, line), quoteAfter(line, open, func(int) {})
}

// breakAt is the place of the space at which to break a line: the last one that
// fits, better in front of a flag, else the first one behind; -1 when there is
// none.
func breakAt(line string, open byte, width int) int {
	last, flag, first := -1, -1, -1
	text := len(line) - len(strings.TrimLeft(line, " "))
	quoteAfter(line, open, func(at int) {
		switch {
		case at <= text || strings.TrimLeft(line[at:], " ") == `\`:
		case term.Width(line[:at]) > width:
			if first < 0 {
				first = at
			}
		default:
			last = at
			if strings.HasPrefix(line[at+1:], "-") {
				flag = at
			}
		}
	})
	switch {
	case flag > width/4:
		return flag
	case last >= 0:
		return last
	}
	return first
}

// quoteAfter walks through a line of shell text that begins within the quote
// open, calls space for each space outside of quotes, and returns the quote
// that is open at the end.
func quoteAfter(line string, open byte, space func(at int)) byte {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && open != '\'':
			i++
		case open != 0:
			if c == open {
				open = 0
			}
		case c == '\'' || c == '"':
			open = c
		case c == ' ':
			space(i)
		}
	}
	return open
}

// longestQuote is the text that shorten looks through for numbers; of a longer
// one, such as a configuration dump, the end is cut.
const longestQuote = 2000

// shorten cuts a log line to a number of columns. What is left out is the run
// with the fewest digits, behind the first quarter: how much was asked for and
// how much is there tells more than the advice between or behind the numbers.
func shorten(text string, columns int) string {
	over := term.Width(text) - columns + 1
	if over <= 1 {
		return text
	}
	if len(text) > longestQuote {
		return term.Cut(text, columns)
	}
	head, _ := term.Break(text, columns/4)
	fewest, from, to := len(text)+1, len(head), len(text)
	for i, j, digits, width := len(head), len(head), 0, 0; ; {
		for ; width < over && j < len(text); j += runeLen(text[j:]) {
			digits += digit(text[j])
			width += term.Width(text[j : j+runeLen(text[j:])])
		}
		if width < over {
			break
		}
		if digits <= fewest {
			fewest, from, to = digits, i, j
		}
		n := runeLen(text[i:])
		digits -= digit(text[i])
		width -= term.Width(text[i : i+n])
		i += n
	}
	return text[:from] + "…" + text[to:]
}

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

func digit(b byte) int {
	if '0' <= b && b <= '9' {
		return 1
	}
	return 0
}
