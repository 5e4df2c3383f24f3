package logstream

// cursor reads a line from left to right. Its methods move it only when they
// succeed, so that a failed form leaves it where the next form begins.
type cursor struct {
	b []byte
	i int
}

// peek returns the next byte, 0 at the end.
func (c *cursor) peek() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

func (c *cursor) rest() []byte { return c.b[c.i:] }

// byte consumes one given byte.
func (c *cursor) byte(want byte) bool {
	if c.i < len(c.b) && c.b[c.i] == want {
		c.i++
		return true
	}
	return false
}

// lit consumes a literal.
func (c *cursor) lit(want string) bool {
	if len(c.b)-c.i >= len(want) && string(c.b[c.i:c.i+len(want)]) == want {
		c.i += len(want)
		return true
	}
	return false
}

// spaces consumes blanks and tabs and counts them.
func (c *cursor) spaces() int {
	start := c.i
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\t') {
		c.i++
	}
	return c.i - start
}

// endOrSpace consumes one blank, or nothing at the end of the line, so that
// the indentation of the text behind a prefix survives.
func (c *cursor) endOrSpace() bool {
	return c.i == len(c.b) || c.byte(' ')
}

// digits consumes exactly n digits.
func (c *cursor) digits(n int) (int, bool) {
	if c.i+n > len(c.b) {
		return 0, false
	}
	v := 0
	for _, d := range c.b[c.i : c.i+n] {
		if !isDigit(d) {
			return 0, false
		}
		v = v*10 + int(d-'0')
	}
	c.i += n
	return v, true
}

// maxNumberLen keeps number within an int64.
const maxNumberLen = 15

// number consumes a run of 1 to maxNumberLen digits.
func (c *cursor) number() (int, bool) {
	n := 0
	for c.i+n < len(c.b) && n <= maxNumberLen && isDigit(c.b[c.i+n]) {
		n++
	}
	if n == 0 || n > maxNumberLen {
		return 0, false
	}
	return c.digits(n)
}

// fraction consumes the digits behind a decimal separator as part of a second.
func (c *cursor) fraction() float64 {
	v, scale := 0.0, 1.0
	for isDigit(c.peek()) {
		scale /= 10
		v += float64(c.peek()-'0') * scale
		c.i++
	}
	return v
}

// until consumes up to and including a byte that comes within max bytes, and
// returns what stands before it.
func (c *cursor) until(end byte, max int) ([]byte, bool) {
	rest := c.rest()
	for n := 0; n < len(rest) && n <= max; n++ {
		if rest[n] == end {
			c.i += n + 1
			return rest[:n], true
		}
	}
	return nil, false
}

// word consumes a run of bytes that ok accepts.
func (c *cursor) word(ok func(byte) bool) []byte {
	start := c.i
	for c.i < len(c.b) && ok(c.b[c.i]) {
		c.i++
	}
	return c.b[start:c.i]
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// isIdent accepts the bytes of an identifier.
func isIdent(b byte) bool { return isLetter(b) || isDigit(b) || b == '_' }
