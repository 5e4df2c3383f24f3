package logstream

import (
	"bytes"
	"slices"
)

// The fields of a log record as JSON, each list in the order of preference.
// Fluentd and containerd's forwarders say log, Logstash and Python's JSON
// formatters message or msg, the journal MESSAGE, Cloud Logging textPayload and
// jsonPayload, Loki line, Splunk _raw.
var (
	textKeys   = [...]string{"log", "message", "MESSAGE", "msg", "textPayload", "jsonPayload", "line", "_raw"}
	timeKeys   = [...]string{"time", "timestamp", "@timestamp", "ts", "__REALTIME_TIMESTAMP"}
	originKeys = [...]string{"_SYSTEMD_UNIT", "CONTAINER_NAME", "SYSLOG_IDENTIFIER"}
)

// jsonPayload is the field whose value is an object with the text in it.
const jsonPayload = "jsonPayload"

// jsonMember is one key of a JSON object with its value.
type jsonMember struct {
	key   []byte
	kind  byte // first byte of the value: '"', '{', '[', or that of a number or word
	value span // of a string, an object or an array the inside
}

// splitJSONLine reads a line that is a JSON object with the server's text in one
// of its fields. A comma may follow, as in an array with one object a line.
func splitJSONLine(line []byte) (parts, bool) {
	i := skipBlank(line, 0)
	if i == len(line) || line[i] != '{' {
		return parts{}, false
	}
	var p parts
	text, stamp, origin := len(textKeys), len(timeKeys), len(originKeys)
	end, ok := scanObject(line, i, func(m jsonMember) {
		if n := slices.Index(textKeys[:text], string(m.key)); n >= 0 && p.take(line, m) {
			text = n
		}
		if n := slices.Index(timeKeys[:stamp], string(m.key)); n >= 0 && m.kind != '{' && m.kind != '[' {
			stamp, p.time = n, m.value
		}
		if n := slices.Index(originKeys[:origin], string(m.key)); n >= 0 && m.kind == '"' {
			origin, p.origin = n, m.value
		}
	})
	if !ok || text == len(textKeys) {
		return parts{}, false
	}
	rest := bytes.TrimSpace(line[end:])
	return p, len(rest) == 0 || string(rest) == ","
}

// take makes a member's value the text of the line, when it is one.
func (p *parts) take(line []byte, m jsonMember) bool {
	switch {
	case m.kind == '"':
		s := trimEscapedNewline(m.value.of(line))
		p.text, p.escaped, p.octets = span{m.value.start, m.value.start + int32(len(s))}, true, false
	case m.kind == '[' && string(m.key) == "MESSAGE" && isOctets(m.value.of(line)):
		p.text, p.escaped, p.octets = m.value, false, true
	case m.kind == '{' && string(m.key) == jsonPayload:
		return p.takeInner(line, m.value)
	default:
		return false
	}
	return true
}

// takeInner takes the text from the object of a jsonPayload.
func (p *parts) takeInner(line []byte, inside span) bool {
	best := len(textKeys)
	scanObject(line[:inside.end+1], int(inside.start)-1, func(m jsonMember) {
		n := slices.Index(textKeys[:best], string(m.key))
		if n >= 0 && m.kind == '"' && p.take(line, m) {
			best = n
		}
	})
	return best < len(textKeys)
}

// scanObject calls see for each member of the JSON object that begins at start,
// and returns the place behind it. It is not ok for what is no object, as far as
// that shows without looking into the values.
func scanObject(b []byte, start int, see func(jsonMember)) (end int, ok bool) {
	i := skipBlank(b, start+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for {
		key, next, ok := stringAt(b, i)
		if !ok {
			return next, false
		}
		i = skipBlank(b, next)
		if i == len(b) || b[i] != ':' {
			return i, false
		}
		i = skipBlank(b, i+1)
		m := jsonMember{key: key.of(b)}
		if i < len(b) {
			m.kind = b[i]
		}
		if m.value, i, ok = valueAt(b, i); !ok {
			return i, false
		}
		see(m)
		i = skipBlank(b, i)
		switch {
		case i == len(b):
			return i, false
		case b[i] == '}':
			return i + 1, true
		case b[i] != ',':
			return i, false
		}
		i = skipBlank(b, i+1)
	}
}

// stringAt reads the string that begins at i: the span of its inside, and the
// place behind it.
func stringAt(b []byte, i int) (inside span, next int, ok bool) {
	if i >= len(b) || b[i] != '"' {
		return span{}, i, false
	}
	end := i + 1 + stringEnd(b[i+1:])
	if end == len(b) {
		return span{}, end, false
	}
	return span{int32(i + 1), int32(end)}, end + 1, true
}

// valueAt reads the value that begins at i: its span, of a string, an object or
// an array that of the inside, and the place behind it.
func valueAt(b []byte, i int) (value span, next int, ok bool) {
	if i >= len(b) {
		return span{}, i, false
	}
	switch b[i] {
	case '"':
		return stringAt(b, i)
	case '{', '[':
		end := closingAt(b, i)
		if end == len(b) {
			return span{}, end, false
		}
		return span{int32(i + 1), int32(end)}, end + 1, true
	}
	end := i
	for end < len(b) && (isIdent(b[end]) || b[end] == '-' || b[end] == '+' || b[end] == '.') {
		end++
	}
	return span{int32(i), int32(end)}, end, end > i
}

// closingAt returns the place of the bracket that closes the one at i, len(b)
// when there is none.
func closingAt(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i
			}
		case '"':
			i += 1 + stringEnd(b[i+1:])
		}
	}
	return len(b)
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// isOctets says whether s is the inside of an array of numbers, as the journal
// writes a message that is not printable.
func isOctets(s []byte) bool {
	for _, c := range s {
		if !isDigit(c) && c != ',' && c != ' ' {
			return false
		}
	}
	return len(s) > 0
}

// appendOctets appends the bytes of an array of numbers, given its inside. The
// result is never longer than s, so dst may be s[:0].
func appendOctets(dst, s []byte) []byte {
	for len(s) > 0 {
		n, i := 0, 0
		for ; i < len(s) && isDigit(s[i]); i++ {
			n = min(n*10+int(s[i]-'0'), 256)
		}
		if i > 0 && n < 256 {
			dst = append(dst, byte(n))
		}
		s = s[min(i+1, len(s)):]
	}
	return dst
}
