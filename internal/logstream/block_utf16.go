package logstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// sniffSize is how much of a stream is looked at to tell its encoding or format.
const sniffSize = 4096

// toUTF8 returns r, converted when it begins like UTF-16 (PowerShell's ">" writes
// it). Nothing is read before the first Read.
func toUTF8(r io.Reader) io.Reader { return &utf8Reader{src: r} }

// utf8Reader decides on the first bytes whether the stream is UTF-16.
type utf8Reader struct {
	src     io.Reader
	decided bool
}

func (u *utf8Reader) Read(p []byte) (int, error) {
	if u.decided || len(p) == 0 {
		return u.src.Read(p)
	}
	u.decided = true
	head := make([]byte, sniffSize)
	n, err := io.ReadAtLeast(u.src, head, 2)
	if err == nil && bytes.IndexByte(head[:n], 0) >= 0 {
		// Telling UTF-16 from padding takes more than the first piece of a pipe.
		var more int
		more, err = io.ReadFull(u.src, head[n:])
		n += more
	}
	head = head[:n]
	rest := u.src
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		rest = failing{err}
	}
	u.src = io.MultiReader(bytes.NewReader(head), rest)
	if order := utf16Order(head); order != nil {
		u.src = &utf16Reader{src: u.src, order: order}
	}
	return u.src.Read(p)
}

// failing is a reader that has failed.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// utf16Order tells the byte order of UTF-16 text by its mark, or by the NUL in
// nearly every second byte that Latin text has; nil: not UTF-16.
func utf16Order(head []byte) binary.ByteOrder {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return binary.LittleEndian
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return binary.BigEndian
	}
	var nul [2]int
	for i, c := range head {
		if c == 0 {
			nul[i%2]++
		}
	}
	pairs := len(head) / 2
	switch {
	case pairs < 8:
		return nil
	case nul[1]*4 > pairs*3 && nul[0]*8 < pairs:
		return binary.LittleEndian
	case nul[0]*4 > pairs*3 && nul[1]*8 < pairs:
		return binary.BigEndian
	}
	return nil
}

// utf16Reader converts UTF-16 to UTF-8; a lone surrogate becomes U+FFFD, an odd
// last byte is dropped.
type utf16Reader struct {
	src   io.Reader
	order binary.ByteOrder
	in    [sniffSize]byte
	held  int    // bytes at the start of in that are not converted yet
	out   []byte // converted and not delivered
	buf   []byte
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		n, err := u.src.Read(u.in[u.held:])
		u.held += n
		u.err = err
		u.convert()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// convert moves the complete characters of in to out.
func (u *utf16Reader) convert() {
	u.buf = u.buf[:0]
	i := 0
	for i+2 <= u.held {
		r := rune(u.order.Uint16(u.in[i:]))
		size := 2
		if utf16.IsSurrogate(r) {
			if i+4 > u.held && u.err == nil {
				break
			}
			if i+4 <= u.held {
				r = utf16.DecodeRune(r, rune(u.order.Uint16(u.in[i+2:])))
			} else {
				r = utf8.RuneError
			}
			if r != utf8.RuneError {
				size = 4
			}
		}
		u.buf = utf8.AppendRune(u.buf, r)
		i += size
	}
	u.held = copy(u.in[:], u.in[i:u.held])
	u.out = u.buf
}
