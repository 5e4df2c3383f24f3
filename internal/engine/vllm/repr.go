package vllm

import "strings"

// item is one name and its value as printed.
type item struct{ name, value string }

// items splits "a=1, b=[2, 3]" (sep '=') or "'a': 1, 'b': [2, 3]" (sep ':') at
// the commas outside brackets and quotes, up to the bracket that closes the
// list or the end of the text.
func items(text string, sep byte) []item {
	var list []item
	for len(list) < maxSettings {
		text = strings.TrimLeft(text, " ,\t")
		value, rest, more := cutValue(text)
		if name, v, ok := cutName(value, sep); ok {
			list = append(list, item{name: name, value: v})
		}
		if !more {
			break
		}
		text = rest
	}
	return list
}

// cutName splits one entry at its separator. The name is an identifier or a
// quoted one.
func cutName(entry string, sep byte) (name, value string, ok bool) {
	name, value, ok = strings.Cut(entry, string(sep))
	name = strings.Trim(name, " '\"")
	return name, strings.TrimSpace(value), ok && isIdentifier(name)
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

// cutValue takes the text up to the next comma outside brackets and quotes.
// more is false at the bracket that closes the enclosing list, at the end of
// the text and below maxNesting brackets.
func cutValue(text string) (value, rest string, more bool) {
	var open []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case '\'', '"':
			if isQuote(text, i) {
				i += quotedLen(text[i:]) - 1
			}
		case '(', '[', '{':
			open = append(open, c)
		case '<':
			if opensAngle(text, i) {
				open = append(open, c)
			}
		case ')', ']', '}':
			if len(open) == 0 {
				return text[:i], "", false
			}
			open = open[:len(open)-1]
		case '>':
			if len(open) > 0 && open[len(open)-1] == '<' {
				open = open[:len(open)-1]
			}
		case ',':
			if len(open) == 0 {
				return text[:i], text[i+1:], true
			}
		}
		if len(open) > maxNesting {
			return text, "", false
		}
	}
	return text, "", false
}

// isQuote tells a quote that opens a string from an apostrophe inside a bare
// word.
func isQuote(text string, i int) bool {
	return i == 0 || strings.IndexByte(" =:,([{<", text[i-1]) >= 0
}

// opensAngle tells the bracket of an object's repr (<Mode.NONE: 0>) from a
// comparison sign.
func opensAngle(text string, i int) bool {
	return i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '=' && isQuote(text, i)
}

// quotedLen is the length of the string that text begins with, its quotes
// included; an unclosed string runs to the end.
func quotedLen(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

// object reads the fields of {'a': 1} and of Name(a=1).
func object(value string) ([]item, bool) {
	if body, ok := strings.CutPrefix(value, "{"); ok {
		return items(body, ':'), true
	}
	name, body, ok := strings.Cut(value, "(")
	if !ok || !isIdentifier(name) {
		return nil, false
	}
	return items(body, '='), true
}

// scalar spells a value without what its repr adds: quotes of strings, the
// class and number of an enum (<Mode.NONE: 0> is NONE, <Format.AUTO: 'auto'>
// and Format.AUTO are auto), and JSON's words for True, False and None.
func scalar(value string) string {
	switch value {
	case "true":
		return "True"
	case "false":
		return "False"
	case "null":
		return "None"
	}
	if value == "" {
		return value
	}
	switch {
	case value[0] == '\'' || value[0] == '"':
		return unquote(value)
	case value[0] == '<':
		return enum(value)
	case 'A' <= value[0] && value[0] <= 'Z':
		if class, member, ok := strings.Cut(value, "."); ok && isIdentifier(class) && isIdentifier(member) {
			return strings.ToLower(member)
		}
	}
	return value
}

// enum reads <Class.MEMBER: value>; another object's repr stays as it is.
func enum(value string) string {
	name, inner, ok := strings.Cut(strings.Trim(value, "<>"), ": ")
	_, member, dotted := strings.Cut(name, ".")
	if !ok || !dotted || !isIdentifier(member) {
		return value
	}
	if inner != "" && inner[0] == '\'' {
		return unquote(inner)
	}
	return member
}

var escapes = strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`, `\n`, "\n", `\t`, "\t")

// unquote removes the quotes and the escapes of one string literal; anything
// after its end leaves the text as it is.
func unquote(s string) string {
	if quotedLen(s) != len(s) {
		return s
	}
	return escapes.Replace(strings.TrimSuffix(s[1:], s[:1]))
}
