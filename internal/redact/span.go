package redact

import "unicode/utf8"

// span is a quoted text or a bracketed list whose end is being looked for,
// possibly over several pieces of a line. Quotes may be escaped by an outer
// notation, as in the JSON lines of a container runtime: \"prompt\": \"...\".
type span struct {
	kind    kind
	list    bool
	depth   int  // of brackets, in a list
	quote   byte // the quote that is open; 0: none
	escapes int  // backslashes in front of each quote of this nesting
	run     int  // backslashes just read
	chars   int  // characters of the content
	ints    int  // numbers of the content
	digit   bool // the last character was a digit
}

// scan reads on. n is where the content ends and its closing quote or bracket
// begins; closed is false when s ends before that.
func (p *span) scan(s string) (n int, closed bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' {
			p.run++
			p.chars++
			continue
		}
		closed = p.read(c)
		run := p.run
		p.run = 0
		if closed {
			if p.list {
				return i, true
			}
			p.chars -= p.escapes
			return i - min(run, p.escapes), true
		}
		if utf8.RuneStart(c) {
			p.chars++
		}
	}
	return len(s), false
}

// read takes one character and reports whether it closes the span.
func (p *span) read(c byte) bool {
	isDigit := c >= '0' && c <= '9'
	if isDigit && !p.digit {
		p.ints++
	}
	p.digit = isDigit
	if p.quote != 0 {
		if c != p.quote || !p.unescaped() {
			return false
		}
		p.quote = 0
		return !p.list
	}
	switch c {
	case '\'', '"':
		p.quote, p.escapes = c, p.run
	case '[':
		p.depth++
	case ']':
		p.depth--
		return p.depth == 0
	}
	return false
}

// unescaped says that the quote just read ends its text. With k backslashes in
// front of each quote of this nesting (k is 0, 1, 3 ...), an escaped backslash
// takes 2(k+1) of them.
func (p *span) unescaped() bool { return p.run%(2*(p.escapes+1)) == p.escapes }

// placeholder stands for the content.
func (p *span) placeholder() string {
	switch p.kind {
	case secret, password:
		return tokenMark
	case ids:
		return idsMark(p.ints)
	}
	return promptMark(p.chars)
}
