package chat

import (
	"regexp"
	"strings"
)

// jsonFilter is the name under which templates find toJSON. The engine has a
// tojson of its own that cannot be replaced, and differs from Python's in
// numbers, escapes and indented output; names it does not know it looks up among
// the variables.
const jsonFilter = "python_tojson"

var (
	rawBegin = regexp.MustCompile(`^\{%[-+]?\s*raw\s*[-+]?%\}`)
	rawEnd   = regexp.MustCompile(`\{%[-+]?\s*endraw\s*[-+]?%\}`)
	toJSONAt = regexp.MustCompile(`^\|\s*tojson\b`)
)

// ownFilters makes the filter tojson in a template's code mean toJSON.
func ownFilters(source string) string {
	if !strings.Contains(source, "tojson") {
		return source
	}
	var b strings.Builder
	for source != "" {
		n := strings.IndexByte(source, '{')
		if n < 0 || n+1 == len(source) {
			break
		}
		b.WriteString(source[:n])
		source = source[n:]
		var part string
		switch source[:2] {
		case "{#":
			part = through(source, "#}")
		case "{%", "{{":
			if rawBegin.MatchString(source) {
				part = source
				if end := rawEnd.FindStringIndex(source); end != nil {
					part = source[:end[1]]
				}
				break
			}
			var out string
			part, out = code(source)
			b.WriteString(out)
			source = source[len(part):]
			continue
		default:
			part = source[:1]
		}
		b.WriteString(part)
		source = source[len(part):]
	}
	return b.String() + source
}

// through is the text up to and with its end.
func through(text, end string) string {
	if n := strings.Index(text, end); n >= 0 {
		return text[:n+len(end)]
	}
	return text
}

// code reads one {{ }} or {% %}, and how it is written with the own filter.
func code(text string) (part, out string) {
	end := "}}"
	if text[1] == '%' {
		end = "%}"
	}
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\' && i+1 < len(text):
			b.WriteByte(c)
			i++
			c = text[i]
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case i >= 2 && strings.HasPrefix(text[i:], end):
			return text[:i+2], b.String() + end
		case c == '|':
			if m := toJSONAt.FindString(text[i:]); m != "" {
				b.WriteString(strings.TrimSuffix(m, "tojson") + jsonFilter)
				i += len(m) - 1
				continue
			}
		}
		b.WriteByte(c)
	}
	return text, b.String()
}
