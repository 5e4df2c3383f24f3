package logstream

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// stringEnd returns the position of the quote that ends a JSON string whose
// inside s begins with, len(s) when it does not end.
func stringEnd(s []byte) int {
	for i := 0; i < len(s); i++ {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			return len(s)
		}
		// Only an odd number of backslashes before it escapes a quote.
		j := i + n
		for j > i && s[j-1] == '\\' {
			j--
		}
		i += n
		if (i-j)%2 == 0 {
			return i
		}
	}
	return len(s)
}

// appendUnescaped appends the text of a JSON string, given its inside. What is no
// valid escape stays as it is, a lone surrogate becomes U+FFFD. The result is
// never longer than s, so dst may be s[:0].
func appendUnescaped(dst, s []byte) []byte {
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 || n+1 == len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		s = s[n:]
		c, size := unescape(s)
		if size == 0 {
			dst = append(dst, s[:2]...)
			s = s[2:]
			continue
		}
		dst = utf8.AppendRune(dst, c)
		s = s[size:]
	}
	return dst
}

// unescape reads the escape sequence that s begins with; size 0: none.
func unescape(s []byte) (c rune, size int) {
	switch s[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'u':
		return unescapeUnicode(s)
	}
	return 0, 0
}

// unescapeUnicode reads \uXXXX, or two of them that make a pair.
func unescapeUnicode(s []byte) (rune, int) {
	c, ok := hex4(s[2:])
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(c) {
		return c, 6
	}
	if len(s) >= 8 && s[6] == '\\' && s[7] == 'u' {
		if low, ok := hex4(s[8:]); ok {
			if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return utf8.RuneError, 6
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
