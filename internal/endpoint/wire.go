package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"shakedown/internal/probe"
)

// call is one request on its way.
type call struct {
	s       *Server
	method  string
	path    string // below root
	body    object // nil: none
	timeout time.Duration
	// chunk, if not nil, gets the data of each event of a stream; it returns false
	// to leave.
	chunk func(data []byte) bool
}

// reply is what came of it.
type reply struct {
	failure probe.Failure
	text    string // why, in words
	err     error
	status  int
	header  http.Header
	body    []byte // of an answer that is no stream; the key is hidden
	stream  bool   // events came
	ended   bool   // with the end mark
	left    bool   // chunk wanted to leave
	took    time.Duration
	kept    []byte // what the exchange keeps
	cut     bool
	request []byte
}

var (
	errIdle  = errors.New("no part of the answer came in time")
	errLate  = errors.New("the answer was not complete in time")
	errLarge = errors.New("the answer is too large")
)

// send sends the request and reads the answer within all bounds.
func (c *call) send(parent context.Context) *reply {
	r := &reply{}
	begin := c.s.now()
	defer func() { r.took = c.s.now().Sub(begin) }()
	var body io.Reader
	if c.body != nil {
		data, err := compact(c.body)
		if err != nil {
			return r.fail(probe.NotSent, "the request can't be written as JSON", err)
		}
		r.request, body = data, bytes.NewReader(data)
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, c.timeout, errLate)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, c.method, c.s.root+c.path, body)
	if err != nil {
		return r.fail(probe.NotSent, "the request can't be made", err)
	}
	req.Header.Set("User-Agent", "shakedown")
	req.Header.Set("Accept", "application/json, text/event-stream, text/plain")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if !c.s.key.IsZero() {
		req.Header.Set("Authorization", "Bearer "+c.s.key.Reveal())
	}
	resp, err := c.s.client.Do(req)
	if err != nil {
		return r.broken(ctx, parent, err, c.s.key)
	}
	defer resp.Body.Close()
	r.status, r.header = resp.StatusCode, resp.Header
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return r.fail(probe.NotJSON, fmt.Sprintf("the answer is compressed (%.40s), which was not asked for", e), nil)
	}
	w := &watched{r: resp.Body, idle: c.s.idle, cancel: cancel, left: maxAnswer, keep: keepAnswer + keySlack}
	isStream := strings.HasPrefix(strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type"))), "text/event-stream")
	if c.chunk != nil && resp.StatusCode == http.StatusOK && isStream {
		r.stream = true
		err = c.follow(r, w)
	} else {
		r.body, err = io.ReadAll(w)
		r.body = c.s.key.hide(r.body)
	}
	r.kept, r.cut = keep(c.s.key.hide(w.kept), w.total)
	if err != nil && !r.left {
		return r.broken(ctx, parent, err, c.s.key)
	}
	return r
}

// follow reads the events of a stream.
func (c *call) follow(r *reply, w io.Reader) error {
	e := newEvents(w)
	for {
		data, err := e.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			r.ended = true
			return nil
		}
		if !c.chunk(c.s.key.hide(data)) {
			r.left = true
			return nil
		}
	}
}

// fail notes what went wrong.
func (r *reply) fail(f probe.Failure, text string, err error) *reply {
	r.failure, r.text, r.err = f, text, err
	return r
}

// broken sorts an error of the network.
func (r *reply) broken(ctx, parent context.Context, err error, key Key) *reply {
	words := key.hideText(networkWords(err))
	cause := context.Cause(ctx)
	var dial *net.OpError
	switch {
	case errors.Is(err, errLarge) || errors.Is(err, errEvent) || strings.Contains(words, "server response headers exceeded"):
		return r.fail(probe.TooLarge, words, err)
	case errors.Is(cause, errIdle):
		return r.fail(probe.TimedOut, errIdle.Error(), errIdle)
	case errors.Is(cause, errLate):
		return r.fail(probe.TimedOut, errLate.Error(), errLate)
	case parent.Err() != nil && errors.Is(parent.Err(), context.DeadlineExceeded):
		return r.fail(probe.TimedOut, "the time for all requests was over", err)
	case parent.Err() != nil:
		return r.fail(probe.NotSent, "interrupted", err)
	case isTLS(err):
		return r.fail(probe.Refused, words, err)
	case errors.As(err, &dial) && dial.Op == "dial":
		return r.fail(probe.Refused, words, err)
	case strings.Contains(words, "malformed HTTP") || strings.Contains(words, "malformed MIME") || strings.Contains(words, "malformed chunked") || strings.Contains(words, "too many 1xx"):
		return r.fail(probe.NotJSON, words, err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return r.fail(probe.Reset, "the server closed the connection before its answer was complete", err)
	}
	return r.fail(probe.Reset, words, err)
}

// networkWords is an error without the address and method that Go puts in front.
func networkWords(err error) string {
	var wrapped interface{ Unwrap() error }
	text := err.Error()
	if errors.As(err, &wrapped) {
		if strings.HasPrefix(text, "Get ") || strings.HasPrefix(text, "Post ") {
			if inner := wrapped.Unwrap(); inner != nil {
				text = inner.Error()
			}
		}
	}
	return clip(text, maxWords)
}

// maxWords bounds quoted errors, in bytes.
const maxWords = 2000

// clip shortens a text without cutting a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// keySlack is what is kept beyond keepAnswer until the key is hidden, so that no
// half of one is left at the cut.
const keySlack = 4 << 10

// keep cuts an answer for the record.
func keep(data []byte, total int64) (kept []byte, cut bool) {
	if len(data) > keepAnswer {
		data = data[:keepAnswer]
		for len(data) > 0 && !utf8.RuneStart(data[len(data)-1]) {
			data = data[:len(data)-1]
		}
		if n := len(data); n > 0 && data[n-1] >= utf8.RuneSelf {
			data = data[:n-1]
		}
		return data, true
	}
	return data, total > keepAnswer+keySlack
}

// watched is a body that is read within bounds: no pause longer than idle, no more
// than left bytes. It keeps the beginning.
type watched struct {
	r      io.Reader
	idle   time.Duration
	cancel context.CancelCauseFunc
	left   int64
	total  int64
	kept   []byte
	keep   int
}

func (w *watched) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errLarge
	}
	// Only the server's time counts, not what is done with its answer.
	timer := time.AfterFunc(w.idle, func() { w.cancel(errIdle) })
	n, err := w.r.Read(p[:min(int64(len(p)), w.left)])
	timer.Stop()
	if n > 0 {
		w.kept = append(w.kept, p[:min(n, w.keep-len(w.kept))]...)
		w.total += int64(n)
		w.left -= int64(n)
	}
	return n, err
}
