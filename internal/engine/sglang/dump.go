package sglang

import (
	"strings"

	"shakedown/internal/engine"
)

// Bounds of a configuration dump. The longest one seen has 19,000 bytes and 546
// settings (0.5.23).
const (
	maxDump     = 256 << 10 // bytes read after the opening bracket
	maxSettings = 4096
)

// dumpForms are the two ways in which a server prints its arguments, both
// after it has resolved them: the dataclass repr, and the dict of 0.5.23.
var dumpForms = []struct {
	open      string
	separator byte // between name and value
	close     byte
}{
	{"server_args=ServerArgs(", '=', ')'},
	{"server_args={", ':', '}'},
}

// parseDump reads the Python repr of the server's arguments. A dump that is cut
// gives the settings before the cut; its last, incomplete one is dropped.
func parseDump(text string) (engine.Dump, bool) {
	for _, form := range dumpForms {
		_, body, found := strings.Cut(text, form.open)
		if !found {
			continue
		}
		body = body[:min(len(body), maxDump)]
		settings := parseSettings(body, form.separator, form.close)
		return engine.Dump{Effective: true, Settings: settings}, len(settings) > 0
	}
	return engine.Dump{}, false
}

// parseSettings reads "name<separator>value, ..." up to the closing bracket or
// the first thing that is no setting.
func parseSettings(s string, separator, closer byte) []engine.Setting {
	var settings []engine.Setting
	for len(settings) < maxSettings {
		item, rest, complete := cutItem(s, closer)
		if !complete {
			break
		}
		name, value, ok := cutSetting(item, separator)
		if !ok {
			break
		}
		settings = append(settings, engine.Setting{Name: name, Value: unquote(value)})
		if rest == "" || rest[0] == closer {
			break
		}
		s = rest[1:]
	}
	return settings
}

// cutItem returns the text up to the comma or closing bracket that ends an
// item, and the rest from there on. Commas and brackets inside strings and
// nested brackets do not count. It is not complete when the text ends first.
func cutItem(s string, closer byte) (item, rest string, complete bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'', '"':
			n := stringEnd(s[i:])
			if n < 0 {
				return s, "", false
			}
			i += n
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return s[:i], s[i:], c == closer
			}
			depth--
		case ',':
			if depth == 0 {
				return s[:i], s[i:], true
			}
		}
	}
	return s, "", false
}

// stringEnd is the index of the quote that closes the string literal with which
// s begins, -1 when none does.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i
		}
	}
	return -1
}

// cutSetting splits an item into name and value. The name of the dict form is a
// string literal, that of the dataclass form an identifier.
func cutSetting(item string, separator byte) (name, value string, ok bool) {
	name, value, found := strings.Cut(item, string(separator))
	if !found {
		return "", "", false
	}
	name = unquote(strings.TrimSpace(name))
	return name, strings.TrimSpace(value), isIdentifier(name)
}

func isIdentifier(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// unquote returns the text of a value that is one plain string literal, and
// every other value as it is printed.
func unquote(value string) string {
	if len(value) < 2 || (value[0] != '\'' && value[0] != '"') || stringEnd(value) != len(value)-1 {
		return value
	}
	return escapes.Replace(value[1 : len(value)-1])
}

// escapes are those that Python's repr writes for printable text and blanks.
var escapes = strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t")
