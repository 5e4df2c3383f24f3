// Package pyrepr reads what Python's repr and str print for configuration
// objects: name=value pairs, separated by commas inside "Class(...)" (dataclasses)
// or by blanks at the top of a pydantic model.
//
// The input is hostile: any bytes, cut anywhere. Reading stops at the first
// thing that is no field; what stands before it is returned.
package pyrepr

import "strings"

// Bounds of one repr. The longest configuration seen has 14,000 bytes and about
// 550 fields.
const (
	maxInput  = 256 << 10
	maxFields = 4096
	maxDepth  = 64
)

// Field is one name with its value. A value that is one plain string literal is
// given without quotes, every other one as printed.
type Field struct {
	Name, Value string
}

// Fields reads name=value pairs separated by separator (',' or ' '), up to the
// end or an unmatched closing bracket. A last value that is cut is dropped.
func Fields(s string, separator byte) []Field {
	s = s[:min(len(s), maxInput)]
	var fields []Field
	for len(fields) < maxFields {
		name, rest, found := strings.Cut(s, "=")
		name = strings.TrimSpace(name)
		if !found || !isIdentifier(name) {
			break
		}
		value, rest, complete := cutValue(rest, separator)
		if !complete {
			break
		}
		fields = append(fields, Field{name, unquote(strings.TrimSpace(value))})
		if rest == "" || rest[0] != separator {
			break
		}
		s = rest[1:]
	}
	return fields
}

// Flatten replaces each field whose value is "Class(name=value, ...)" by the
// fields inside, named outer.inner.
func Flatten(fields []Field) []Field {
	var flat []Field
	for _, f := range fields {
		inner := Fields(arguments(f.Value), ',')
		if len(inner) == 0 {
			flat = append(flat, f)
			continue
		}
		for _, in := range inner {
			flat = append(flat, Field{f.Name + "." + in.Name, in.Value})
		}
	}
	return flat
}

// arguments is the text between the brackets of "Class(...)", else "".
func arguments(value string) string {
	class, args, found := strings.Cut(value, "(")
	if !found || !isIdentifier(class) || !strings.HasSuffix(args, ")") {
		return ""
	}
	return args[:len(args)-1]
}

// closers maps opening brackets to closing ones. Angle brackets enclose the
// repr of an enum member: <LoadFormat.AUTO: 0>.
var closers = map[byte]byte{'(': ')', '[': ']', '{': '}', '<': '>'}

// cutValue returns the text up to the separator or the unmatched closing
// bracket that ends a value. It is not complete when the text ends inside a
// string or a bracket.
func cutValue(s string, separator byte) (value, rest string, complete bool) {
	var open []byte // closing brackets that are due
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\'' || c == '"':
			n := stringEnd(s[i:])
			if n < 0 {
				return s, "", false
			}
			i += n
		case closers[c] != 0 && len(open) < maxDepth:
			open = append(open, closers[c])
		case len(open) > 0:
			if c == open[len(open)-1] {
				open = open[:len(open)-1]
			}
		case c == separator || c == ')':
			return s[:i], s[i:], true
		}
	}
	return s, "", len(open) == 0
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

func isIdentifier(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && c != '_' && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// escapes are those that repr writes for printable text and blanks.
var escapes = strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t")

func unquote(value string) string {
	if len(value) < 2 || value[0] != '\'' && value[0] != '"' || stringEnd(value) != len(value)-1 {
		return value
	}
	return escapes.Replace(value[1 : len(value)-1])
}
