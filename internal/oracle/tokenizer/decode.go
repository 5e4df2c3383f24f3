package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// decoder says how the texts of tokens become one text.
type decoder struct {
	bytesAlways bool // every piece is bytes: characters may be spread over tokens
	perByte     bool // a run of byte tokens that is no UTF-8 gives one U+FFFD for each byte
	strip       string
	stripFirst  int // so many strips are removed from the beginning of the whole text
}

// Stream decodes token by token, for answers that are shown while they are
// made. It never hands out a part of a character. It belongs to one goroutine.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	pending     []byte // bytes of a character that is not complete
	strips      int    // strips that may still be removed
}

// Stream begins a text.
func (t *Tokenizer) Stream(skipSpecial bool) *Stream {
	return &Stream{t: t, skipSpecial: skipSpecial, strips: t.decoder.stripFirst}
}

// Next returns what may be shown once the token is known; often nothing.
func (s *Stream) Next(id int) string {
	if id < 0 || id >= len(s.t.pieces) {
		return ""
	}
	p := &s.t.pieces[id]
	if !p.known || p.special && s.skipSpecial {
		return ""
	}
	if s.t.decoder.bytesAlways {
		s.pending = append(s.pending, p.text...)
		return s.whole(false)
	}
	if p.byte {
		s.pending = append(s.pending, p.text...)
		if s.t.decoder.perByte {
			return "" // what the run is shows at its end
		}
		return s.whole(false)
	}
	return s.stripped(s.run() + p.text)
}

// End returns what is left when no token follows: the beginning of a character
// becomes U+FFFD.
func (s *Stream) End() string {
	if s.t.decoder.bytesAlways {
		return s.whole(true)
	}
	return s.stripped(s.run())
}

// run ends a run of byte tokens: its text, or one U+FFFD for each byte when it
// is no UTF-8, as the ByteFallback decoder has it.
func (s *Stream) run() string {
	text := string(s.pending)
	s.pending = s.pending[:0]
	if !utf8.ValidString(text) {
		text = strings.Repeat("\uFFFD", len(text))
	}
	return text
}

// whole takes the complete characters out of the pending bytes. Each maximal
// part of an ill-formed character becomes one U+FFFD, as the Unicode standard
// recommends and Rust's from_utf8_lossy does.
func (s *Stream) whole(last bool) string {
	b := s.pending
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != utf8.RuneError || n > 1 {
			out.Write(b[:n])
			b = b[n:]
			continue
		}
		n = beginning(b)
		if n == len(b) && !last && mayGoOn(b) {
			break
		}
		out.WriteRune(utf8.RuneError)
		b = b[n:]
	}
	s.pending = append(s.pending[:0], b...)
	return out.String()
}

// beginning is the length of the maximal part at the start of b that begins a
// well-formed character but does not complete it; at least 1.
func beginning(b []byte) int {
	lo, hi, want := follow(b[0])
	n := 1
	for n < want && n < len(b) && b[n] >= lo && b[n] <= hi {
		lo, hi = 0x80, 0xbf
		n++
	}
	return n
}

// mayGoOn says whether further bytes can complete b, which is all of one
// beginning.
func mayGoOn(b []byte) bool {
	_, _, want := follow(b[0])
	return len(b) < want
}

// follow says what may follow the first byte of a character (table 3-7 of the
// Unicode standard): the range of the second byte, and the length of the whole;
// 1 when nothing may.
func follow(first byte) (lo, hi byte, length int) {
	switch {
	case first >= 0xc2 && first <= 0xdf:
		return 0x80, 0xbf, 2
	case first == 0xe0:
		return 0xa0, 0xbf, 3
	case first == 0xed:
		return 0x80, 0x9f, 3
	case first >= 0xe1 && first <= 0xef:
		return 0x80, 0xbf, 3
	case first == 0xf0:
		return 0x90, 0xbf, 4
	case first >= 0xf1 && first <= 0xf3:
		return 0x80, 0xbf, 4
	case first == 0xf4:
		return 0x80, 0x8f, 4
	}
	return 0, 0, 1
}

// stripped removes what the decoder strips from the beginning of a text.
func (s *Stream) stripped(text string) string {
	for s.strips > 0 && text != "" {
		rest, ok := strings.CutPrefix(text, s.t.decoder.strip)
		if !ok {
			s.strips = 0
			break
		}
		text = rest
		s.strips--
	}
	return text
}
