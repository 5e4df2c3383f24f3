package endpoint

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one event of a stream: a chunk of several tokens with 20
// alternatives each has about 50 KiB.
const maxEvent = 1 << 20

var errEvent = errors.New("an event of the stream is too large")

// events reads server-sent events (the WHATWG's "Server-sent events", section 9.2
// of the HTML standard): only the data matters here. Memory is bounded by
// maxEvent.
type events struct {
	r     *bufio.Reader
	begun bool
	skip  bool // a line feed that ends a carriage return's line
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReader(r)} }

// next is the data of the next event. An event without data is passed over; one
// that the stream's end cuts off is told like any other, because servers leave out
// the last empty line. The error is io.EOF at the end.
func (e *events) next() ([]byte, error) {
	var data []byte
	got := false
	for {
		line, err := e.line(maxEvent - len(data))
		if err != nil && err != io.EOF {
			return nil, err
		}
		ended := err == io.EOF
		if !e.begun {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
			e.begun = true
		}
		if len(line) == 0 {
			if got {
				return data, nil
			}
			if ended {
				return nil, io.EOF
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) == "data" {
			if got {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			got = true
		}
		if ended {
			if got {
				return data, nil
			}
			return nil, io.EOF
		}
	}
}

// line reads up to LF, CRLF or CR. With io.EOF it returns what came before.
func (e *events) line(most int) ([]byte, error) {
	var line []byte
	for {
		b, err := e.r.ReadByte()
		if err != nil {
			return line, err
		}
		if e.skip {
			e.skip = false
			if b == '\n' {
				continue
			}
		}
		switch b {
		case '\r':
			e.skip = true
			return line, nil
		case '\n':
			return line, nil
		}
		if len(line) >= most {
			return nil, errEvent
		}
		line = append(line, b)
	}
}
