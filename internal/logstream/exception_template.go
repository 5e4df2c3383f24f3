package logstream

import "bytes"

// maxTemplate bounds a template: lines that differ only later are alike.
const maxTemplate = 240

// Template is the text with everything replaced that differs between equal
// messages: numbers, times and ranks by "#", addresses and hashes by "<hex>",
// paths by "<path>", quoted strings by "<str>". Texts of one template say the
// same.
func Template(text []byte) string {
	out := make([]byte, 0, min(len(text), maxTemplate))
	c := cursor{b: text}
	for c.i < len(text) && len(out) < maxTemplate {
		b := c.peek()
		switch {
		case b == '"' || b == '\'' || b == '`':
			out = append(out, c.quoted()...)
		case b == '/' && c.startsWord():
			out = append(out, c.path()...)
		case isHex(b) && c.startsWord() && c.hash():
			out = append(out, "<hex>"...)
		case isDigit(b):
			c.numeral()
			out = append(out, '#')
		default:
			out = append(out, b)
			c.i++
		}
	}
	return string(bytes.TrimSpace(out))
}

// startsWord is true where no identifier or path continues.
func (c *cursor) startsWord() bool {
	return c.i == 0 || !isIdent(c.b[c.i-1]) && c.b[c.i-1] != '/' && c.b[c.i-1] != '.'
}

// maxQuoted bounds a quoted string; an apostrophe opens none.
const maxQuoted = 200

func (c *cursor) quoted() string {
	mark := c.peek()
	apostrophe := c.i > 0 && isIdent(c.b[c.i-1])
	c.i++
	if !apostrophe {
		if _, ok := c.until(mark, maxQuoted); ok {
			return "<str>"
		}
	}
	return string(mark)
}

// path consumes a path of at least two elements.
func (c *cursor) path() string {
	start := c.i
	name := c.word(func(b byte) bool { return isIdent(b) || bytes.IndexByte([]byte("/.-+@"), b) >= 0 || b >= 0x80 })
	if bytes.Count(name, []byte("/")) < 2 || len(bytes.Trim(name, "/")) == 0 {
		c.i = start + 1
		return "/"
	}
	return "<path>"
}

// minHash is the shortest run of hexadecimal digits taken for a hash; a run
// without a digit is a word, and one without a letter a number.
const (
	minHash = 8
	maxHash = 130 // SHA-512 and its mark
)

// hash consumes 0x7f2a, or a long run of hexadecimal digits, also with dashes.
func (c *cursor) hash() bool {
	near := cursor{b: c.b[:min(len(c.b), c.i+maxHash)], i: c.i}
	marked := near.lit("0x")
	run := near.word(func(b byte) bool { return isHex(b) || b == '-' })
	ends := near.i == len(c.b) || !isIdent(c.b[near.i])
	if ends && (marked && len(run) > 0 || len(run) >= minHash && bytes.ContainsAny(run, "0123456789") && bytes.ContainsAny(run, "abcdefABCDEF")) {
		c.i = near.i
		return true
	}
	return false
}

// numeral consumes a number, a time, a version or a list of them: digits with
// single separators between.
func (c *cursor) numeral() {
	for isDigit(c.peek()) {
		c.word(isDigit)
		if c.i+1 < len(c.b) && bytes.IndexByte([]byte(".,:-/"), c.b[c.i]) >= 0 && isDigit(c.b[c.i+1]) {
			c.i++
		}
	}
}
