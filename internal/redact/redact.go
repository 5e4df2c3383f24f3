// Package redact replaces secrets and personal data in logs by placeholders, so
// that a log or a report can be posted in public.
//
// Terms: a placeholder stands for what was removed; names of people, hosts and
// addresses are numbered in the order in which they come (<host-1>), so that
// equal ones stay recognisable, and secrets are not (<token>). A field is a
// named value in any of the notations that logs use (api_key='x', "api_key":
// "x", --api-key x, API_KEY=x); the name decides what its value is. A shape is a
// text that gives itself away without a name, such as a token with a known
// prefix or an address.
//
// What stays: line ends, model names, flags, file:line positions, numbers,
// versions, public sites, and the addresses that every machine has.
//
// Redaction is idempotent: redacting a redacted text changes nothing.
package redact

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Redactor replaces private text and remembers which placeholder stands for
// which name. It is not safe for concurrent use.
type Redactor struct {
	users, hosts, addresses, mails names
	secretsOnly                    bool
}

// New returns a Redactor with no memory of earlier text.
func New() *Redactor {
	return &Redactor{users: newNames("user"), hosts: newNames("host"), addresses: newNames("ip"), mails: newNames("email")}
}

// NewSecrets returns a Redactor that replaces keys, tokens and passwords and
// nothing else: what no output may show, redacted or not.
func NewSecrets() *Redactor {
	r := New()
	r.secretsOnly = true
	return r
}

// maxRounds bounds how often a text is redacted again because a replacement
// uncovered something; two rounds are what real text needs.
const maxRounds = 6

// Text returns s with everything private replaced. Line ends stay, and so does
// the number of lines. A host name that shows its nature only further down is
// replaced above as well.
func (r *Redactor) Text(s string) string {
	for range maxRounds {
		known := r.hosts.size() + r.users.size()
		s = r.lines(s)
		if r.hosts.size()+r.users.size() == known {
			break
		}
	}
	return s
}

func (r *Redactor) lines(s string) string {
	if !strings.Contains(s, "\n") {
		return r.line(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.Lines(s) {
		body, ended := strings.CutSuffix(line, "\n")
		b.WriteString(r.line(body))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// line redacts one line until nothing more is found.
func (r *Redactor) line(s string) string {
	for range maxRounds {
		next, open := r.fields(s, nil)
		if open != nil {
			next += open.placeholder()
		}
		if r.secretsOnly {
			next = hideSecrets(next)
		} else {
			next = r.shapes(next)
		}
		if next == s {
			break
		}
		s = next
	}
	return s
}

// Value returns the value of the flag, variable or field called name, redacted.
func (r *Redactor) Value(name, value string) string {
	switch r.kindOf(strings.TrimLeft(name, "-")) {
	case secret, password:
		if harmless(value) {
			return value
		}
		return tokenMark
	case prompt:
		if value == "" || isPlaceholder(value) {
			return value
		}
		return promptMark(len([]rune(value)))
	case address:
		return r.Text(r.endpoint(value))
	case user:
		return r.user(value)
	}
	return r.Text(value)
}

// Args returns a copy of an argument list, redacted; the value of a flag may
// stand behind "=" or be the next argument.
func (r *Redactor) Args(argv []string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(arg, "-") && joined:
			out[i] = name + "=" + r.Value(name, value)
		case i > 0 && strings.HasPrefix(argv[i-1], "--") && !strings.HasPrefix(arg, "--") && !strings.Contains(argv[i-1], "="):
			out[i] = r.Value(argv[i-1], arg)
		default:
			out[i] = r.Text(arg)
		}
	}
	return out
}

// Bounds of Stream: a longer line is redacted in pieces.
const (
	maxLine = 1 << 20
	minCut  = maxLine / 2 // where the search for a place to cut gives up
)

// Stream copies src to dst, each line redacted, in constant memory. A line
// longer than 1 MiB is cut at white space and redacted in pieces; a quoted text
// or a list that goes on in the next piece is still removed whole. What becomes
// known only further down (a host name) is not replaced above; streaming the
// text to io.Discard first makes it known.
func (r *Redactor) Stream(src io.Reader, dst io.Writer) error {
	in := bufio.NewReaderSize(src, maxLine+1)
	out := bufio.NewWriterSize(dst, 1<<16)
	var open *span
	var rest string // start of a long line, not written yet
	for {
		chunk, err := in.ReadSlice('\n')
		rest += string(chunk)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			n := cutAt(rest)
			open = r.piece(out, rest[:n], open)
			rest = rest[n:]
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("redact: %w", err)
		}
		body, ended := strings.CutSuffix(rest, "\n")
		rest = ""
		if open != nil {
			if open = r.piece(out, body, open); open != nil {
				// Like the errors of all writes below, reported by Flush.
				_, _ = out.WriteString(open.placeholder())
			}
			open = nil
		} else {
			_, _ = out.WriteString(r.line(body))
		}
		if ended {
			_ = out.WriteByte('\n')
		}
		if err != nil {
			if err := out.Flush(); err != nil {
				return fmt.Errorf("redact: %w", err)
			}
			return nil
		}
	}
}

// piece redacts a part of a line and returns the field that stays open at its
// end.
func (r *Redactor) piece(out *bufio.Writer, s string, open *span) *span {
	s, open = r.fields(s, open)
	_, _ = out.WriteString(r.line(s))
	return open
}

// cutAt is the end of the last word of a long line behind which a field can't
// go on.
func cutAt(s string) int {
	for i := len(s) - 1; i > minCut; i-- {
		if (s[i] == ' ' || s[i] == ',') && !endsInName(s[:i]) {
			return i + 1
		}
	}
	return len(s)
}
