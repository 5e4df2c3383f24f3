package command

import (
	"strings"
)

// lexer splits shell text into words and operators. It follows POSIX quoting
// plus bash's $'...', arrays and process substitution; it expands nothing.
type lexer struct {
	src      string
	pos      int
	line     int
	data     bool     // references are text: the input is hostile
	open     int      // line of the first quote or bracket that is not closed; 0: none
	openAt   int      // its byte
	heredocs []string // delimiters of here-documents that begin on the next line
}

// token is a word or, when op is set, an operator; both empty: the end.
type token struct {
	op         string
	word       lexWord
	start, end int
	line       int
}

// lexWord is a word before expansion.
type lexWord struct {
	parts []part
	array []lexWord // NAME=(a b c): its elements
}

// part is a piece of a word: text or a reference.
type part struct {
	text     string // text, or the reference as written
	quoted   bool
	ref      bool
	name     string // of a plain variable reference
	fallback string // of ${NAME:-fallback}
	list     bool   // ${NAME[@]}
}

func newLexer(src string, data bool) *lexer { return &lexer{src: src, line: 1, data: data} }

// operators, longest first.
var operators = []string{
	"&>>", "<<-", "<<<", "&&", "||", ";;", "|&", "&>", ">>", ">&", "<&", "<<", "<>", ">|",
	"\n", ";", "&", "|", "(", ")", "<", ">",
}

// unclosed notes a quote or bracket that is not closed.
func (l *lexer) unclosed(at int) {
	if l.open == 0 {
		l.open, l.openAt = 1+strings.Count(l.src[:at], "\n"), at
	}
}

// next reads one token.
func (l *lexer) next() token {
	l.blanks()
	t := token{start: l.pos, line: l.line}
	if l.pos >= len(l.src) {
		t.end = l.pos
		return t
	}
	if op := l.operator(); op != "" {
		t.op = op
		l.pos += len(op)
		if op == "\n" {
			l.line++
			l.skipHeredocs()
		}
	} else {
		t.word = l.word()
	}
	t.end = l.pos
	return t
}

// blanks skips spaces, continued lines and comments.
func (l *lexer) blanks() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case strings.HasPrefix(l.src[l.pos:], "\\\n"):
			l.pos += 2
			l.line++
		case c == '#':
			end := strings.IndexByte(l.src[l.pos:], '\n')
			if end < 0 {
				end = len(l.src) - l.pos
			}
			l.pos += end
		default:
			return
		}
	}
}

// operator looks at the operator at pos, with the digits of a redirection.
func (l *lexer) operator() string {
	rest := l.src[l.pos:]
	digits := 0
	for digits < len(rest) && digits < 3 && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	after := rest[digits:]
	if strings.HasPrefix(after, "<(") || strings.HasPrefix(after, ">(") {
		return ""
	}
	for _, op := range operators {
		if !strings.HasPrefix(after, op) {
			continue
		}
		if digits == 0 || op[0] == '<' || op[0] == '>' {
			return rest[:digits+len(op)]
		}
		return ""
	}
	return ""
}

// isRedirection says whether an operator takes a target word.
func isRedirection(op string) bool { return strings.ContainsAny(op, "<>") }

// skipHeredocs passes over the bodies of here-documents.
func (l *lexer) skipHeredocs() {
	for _, delimiter := range l.heredocs {
		for l.pos < len(l.src) {
			line, _, _ := strings.Cut(l.src[l.pos:], "\n")
			l.pos = min(len(l.src), l.pos+len(line)+1)
			l.line++
			if strings.TrimSpace(line) == delimiter {
				break
			}
		}
	}
	l.heredocs = nil
}

// word reads up to the next blank or operator.
func (l *lexer) word() lexWord {
	var w lexWord
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || strings.HasPrefix(l.src[l.pos:], "\\\n"):
			return w
		case c == '(' && assigns(w) && !l.data:
			w.array = l.array()
			return w
		case strings.IndexByte("\n;&|()", c) >= 0:
			return w
		case c == '<' || c == '>':
			if !strings.HasPrefix(l.src[l.pos+1:], "(") {
				return w
			}
			w.parts = append(w.parts, l.reference(l.balanced(1, '(', ')'), false))
		case c == '\'':
			w.parts = append(w.parts, l.single())
		case c == '"':
			l.pos++
			w.parts = append(w.parts, l.double()...)
		case strings.HasPrefix(l.src[l.pos:], "$'"):
			w.parts = append(w.parts, l.ansi())
		case strings.HasPrefix(l.src[l.pos:], `$"`):
			l.pos += 2
			w.parts = append(w.parts, l.double()...)
		case c == '$' || c == '`':
			w.parts = append(w.parts, l.dollar(false))
		case c == '\\':
			w.parts = append(w.parts, part{text: l.escaped(), quoted: true})
		default:
			w.parts = append(w.parts, l.bare())
		}
	}
	return w
}

// assigns says whether the word so far is "NAME=" or "NAME+=".
func assigns(w lexWord) bool {
	if len(w.parts) != 1 || w.parts[0].quoted || w.parts[0].ref {
		return false
	}
	name, ok := strings.CutSuffix(w.parts[0].text, "=")
	return ok && identify.MatchString(strings.TrimSuffix(name, "+"))
}

// array reads the elements of NAME=( ... ).
func (l *lexer) array() []lexWord {
	start := l.pos
	l.pos++
	elements := []lexWord{}
	for {
		t := l.next()
		switch {
		case t.op == ")":
			return elements
		case t.op == "" && len(t.word.parts) == 0:
			l.unclosed(start)
			return elements
		case t.op == "":
			elements = append(elements, t.word)
		}
	}
}

// bare reads unquoted text. "NAME=" in front stays a part of its own, so that
// only the value is quoted when it is printed.
func (l *lexer) bare() part {
	start := l.pos
	for l.pos < len(l.src) && strings.IndexByte(" \t\r\n;&|()<>'\"$`\\", l.src[l.pos]) < 0 {
		l.pos++
		if l.src[l.pos-1] == '=' && identify.MatchString(strings.TrimSuffix(l.src[start:l.pos-1], "+")) {
			break
		}
	}
	text := l.src[start:l.pos]
	return part{text: text, quoted: l.data && strings.ContainsAny(text, "*?")}
}

// escaped reads a backslash and the byte behind it.
func (l *lexer) escaped() string {
	l.pos++
	if l.pos >= len(l.src) {
		return `\`
	}
	l.pos++
	return l.src[l.pos-1 : l.pos]
}

func (l *lexer) single() part {
	l.pos++
	end := strings.IndexByte(l.src[l.pos:], '\'')
	if end < 0 {
		l.unclosed(l.pos - 1)
		end = len(l.src) - l.pos
	}
	text := l.src[l.pos : l.pos+end]
	l.line += strings.Count(text, "\n")
	l.pos = min(len(l.src), l.pos+end+1)
	return part{text: text, quoted: true}
}

// double reads the inside of double quotes.
func (l *lexer) double() []part {
	start := l.pos - 1
	parts := []part{{quoted: true}} // "" is a word
	var text strings.Builder
	flush := func() {
		parts = append(parts, part{text: text.String(), quoted: true})
		text.Reset()
	}
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == '"':
			l.pos++
			flush()
			return parts
		case c == '\\' && l.pos+1 < len(l.src) && strings.IndexByte("$`\"\\\n", l.src[l.pos+1]) >= 0:
			if l.src[l.pos+1] == '\n' {
				l.line++
			} else {
				text.WriteByte(l.src[l.pos+1])
			}
			l.pos += 2
		case c == '$' || c == '`':
			flush()
			parts = append(parts, l.dollar(true))
		default:
			if c == '\n' {
				l.line++
			}
			text.WriteByte(c)
			l.pos++
		}
	}
	l.unclosed(start)
	flush()
	return parts
}

// ansi reads $'...'; of its escapes it knows those that argument values use.
func (l *lexer) ansi() part {
	start := l.pos
	l.pos += 2
	var text strings.Builder
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if c == '\'' {
			l.pos++
			return part{text: text.String(), quoted: true}
		}
		if c == '\\' && l.pos+1 < len(l.src) {
			text.WriteString(l.ansiEscape())
			continue
		}
		if c == '\n' {
			l.line++
		}
		text.WriteByte(c)
		l.pos++
	}
	l.unclosed(start)
	return part{text: text.String(), quoted: true}
}

func (l *lexer) ansiEscape() string {
	c := l.src[l.pos+1]
	l.pos += 2
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'e':
		return "\x1b"
	case 'x':
		value, digits := 0, 0
		for digits < 2 && l.pos < len(l.src) {
			d := strings.IndexByte("0123456789abcdef", l.src[l.pos]|0x20)
			if d < 0 {
				break
			}
			value, digits = value*16+d, digits+1
			l.pos++
		}
		return string([]byte{byte(value)})
	}
	return string([]byte{c})
}

// dollar reads a reference that begins with "$" or a backquote.
func (l *lexer) dollar(quoted bool) part {
	rest := l.src[l.pos:]
	switch {
	case rest[0] == '`':
		end := strings.IndexByte(rest[1:], '`')
		if end < 0 {
			l.unclosed(l.pos)
			return l.reference(len(rest), quoted)
		}
		return l.reference(end+2, quoted)
	case strings.HasPrefix(rest, "$("):
		return l.reference(l.balanced(1, '(', ')'), quoted)
	case strings.HasPrefix(rest, "${"):
		n := l.balanced(1, '{', '}')
		p := l.reference(n, quoted)
		p.variable(strings.TrimSuffix(rest[2:n], "}"))
		return p
	}
	n := 1
	for n < len(rest) && nameByte(rest[n], n > 1) {
		n++
	}
	if n > 1 {
		p := l.reference(n, quoted)
		p.name = rest[1:n]
		return p
	}
	if len(rest) > 1 && strings.IndexByte("@*#?$!-0123456789", rest[1]) >= 0 {
		return l.reference(2, quoted)
	}
	l.pos++
	return part{text: "$", quoted: true}
}

// nameByte says whether a byte may be in a variable's name; digits may not
// begin one.
func nameByte(c byte, inside bool) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || inside && c >= '0' && c <= '9'
}

// variable reads the inside of ${...}; forms other than a name, a list or a
// fallback stay references that nothing resolves.
func (p *part) variable(inside string) {
	name, fallback, ok := strings.Cut(inside, ":-")
	if !ok {
		name, fallback, ok = strings.Cut(inside, "-")
	}
	if list := strings.TrimSuffix(strings.TrimSuffix(name, "[@]"), "[*]"); list != name {
		name, p.list = list, true
	}
	if !identify.MatchString(name) {
		return
	}
	p.name = name
	if ok && !strings.ContainsAny(fallback, "$`'\"\\") {
		p.fallback = fallback
	}
}

// reference takes n bytes as a reference; in hostile text it is just text.
func (l *lexer) reference(n int, quoted bool) part {
	text := l.src[l.pos : l.pos+n]
	l.pos += n
	l.line += strings.Count(text, "\n")
	if l.data {
		return part{text: text, quoted: true}
	}
	return part{text: text, quoted: quoted, ref: true}
}

// balanced is the length of a bracketed text whose opening bracket is skip
// bytes behind pos. Quotes inside are respected.
func (l *lexer) balanced(skip int, open, end byte) int {
	rest := l.src[l.pos:]
	depth := 0
	var quote byte
	for i := skip; i < len(rest); i++ {
		c := rest[i]
		switch {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			quote = c
		case c == open:
			depth++
		case c == end:
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	l.unclosed(l.pos)
	return len(rest)
}
