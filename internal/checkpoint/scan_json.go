package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// jsonScan walks over JSON text without building values. encoding/json keeps
// only the last of two equal keys, and headers with 200,000 tensors are common;
// this walk shows every key and is quick. It accepts exactly JSON (RFC 8259).
type jsonScan struct {
	data  []byte
	pos   int
	depth int
}

// maxDepth is the deepest nesting that is read; headers need three levels.
const maxDepth = 64

var errUTF8 = errors.New("not valid UTF-8")

func newJSONScan(data []byte) (*jsonScan, error) {
	if !utf8.Valid(data) {
		return nil, errUTF8
	}
	return &jsonScan{data: data}, nil
}

func (s *jsonScan) fail(want string) error {
	if s.pos >= len(s.data) {
		return fmt.Errorf("JSON ends at byte %d, expected %s", s.pos, want)
	}
	return fmt.Errorf("JSON byte %d is %q, expected %s", s.pos, s.data[s.pos], want)
}

// next skips white space and returns the byte that follows, 0 at the end.
func (s *jsonScan) next() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// end is an error unless only white space follows.
func (s *jsonScan) end() error {
	if s.next(); s.pos < len(s.data) {
		return s.fail("the end")
	}
	return nil
}

// object calls each for every key; each must consume the value.
func (s *jsonScan) object(each func(key string) error) error {
	return s.list('{', '}', "an object", func() error {
		key, err := s.str()
		if err != nil {
			return err
		}
		if s.next() != ':' {
			return s.fail(`":"`)
		}
		s.pos++
		return each(key)
	})
}

// array calls each for every element; each must consume it.
func (s *jsonScan) array(each func() error) error { return s.list('[', ']', "an array", each) }

func (s *jsonScan) list(open, shut byte, what string, each func() error) error {
	if s.next() != open {
		return s.fail(what)
	}
	if s.depth++; s.depth > maxDepth {
		return fmt.Errorf("JSON is nested deeper than %d", maxDepth)
	}
	s.pos++
	if s.next() == shut {
		s.pos++
		s.depth--
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.pos++
		case shut:
			s.pos++
			s.depth--
			return nil
		default:
			return s.fail(`"," or the end of ` + what)
		}
	}
}

func (s *jsonScan) str() (string, error) {
	raw, plain, err := s.rawString()
	if err != nil || plain {
		return string(raw), err
	}
	var text string
	if err := json.Unmarshal(s.data[s.pos-len(raw)-2:s.pos], &text); err != nil {
		return "", err
	}
	return text, nil
}

// rawString consumes a string and returns what stands between its quotes; plain
// says that it holds no escapes.
func (s *jsonScan) rawString() (raw []byte, plain bool, err error) {
	if s.next() != '"' {
		return nil, false, s.fail("a string")
	}
	s.pos++
	start := s.pos
	plain = true
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[start : s.pos-1], plain, nil
		case c == '\\':
			plain = false
			s.pos++
		case c < 0x20:
			return nil, false, s.fail("no control character in a string")
		}
	}
	s.pos = len(s.data)
	return nil, false, s.fail("the end of a string")
}

// natural consumes a whole number that is not negative.
func (s *jsonScan) natural() (uint64, error) {
	s.next()
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	text := s.data[start:s.pos]
	if len(text) == 0 || len(text) > 1 && text[0] == '0' {
		s.pos = start
		return 0, s.fail("a whole number")
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("JSON byte %d: %s is too large", start, text)
	}
	if s.pos < len(s.data) && (s.data[s.pos] == '.' || s.data[s.pos] == 'e' || s.data[s.pos] == 'E') {
		return 0, s.fail("a whole number")
	}
	return n, nil
}

// skip consumes any value.
func (s *jsonScan) skip() error {
	switch c := s.next(); {
	case c == '{':
		return s.object(func(string) error { return s.skip() })
	case c == '[':
		return s.array(s.skip)
	case c == '"':
		_, err := s.str()
		return err
	default:
		return s.skipWord()
	}
}

// skipWord consumes a number, true, false or null.
func (s *jsonScan) skipWord() error {
	start := s.pos
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != 'E' {
			break
		}
		s.pos++
	}
	word := s.data[start:s.pos]
	if !json.Valid(word) {
		s.pos = start
		return s.fail("a value")
	}
	return nil
}
