package logstream

import (
	"slices"
)

// Tracker follows the lines of one log and puts tracebacks together, also when
// several processes write theirs at the same time, line by line with a prefix
// (vLLM, Ray, torch), or when only the first line has a prefix (SGLang). Use
// one per log; it is not safe for concurrent use.
type Tracker struct {
	// open are the unfinished tracebacks. The lines without prefix belong to
	// the one that is plain, at most one at a time.
	open []*builder
	done []Traceback
	// announced is the last line that can announce a traceback below it.
	announced announcement
	dump      bool // inside a py-spy dump
}

// stream identifies the writer of lines: one logging call site of one process.
// The zero stream writes lines without prefix.
type stream struct {
	tag      string
	pid      int
	rank     Rank
	level    Level
	code     string
	prefixed bool
}

func streamOf(p Prefix) stream {
	if p.Len == 0 {
		return stream{}
	}
	return stream{tag: p.Tag, pid: p.PID, rank: p.Rank, level: p.Level, code: p.Code, prefixed: true}
}

// process is true when both streams belong to one process.
func (s stream) process(o stream) bool {
	return s.prefixed && o.prefixed && s.tag == o.tag && s.pid == o.pid && s.rank == o.rank
}

type announcement struct {
	from stream
	at   int
	text []byte
}

// Feed takes the next segment: its physical line number, its prefix and the
// text behind the prefix. It returns what the line is.
func (t *Tracker) Feed(no int, p Prefix, text []byte) Class {
	from := streamOf(p)
	t.sweep(no)
	if class, ok := t.begin(no, p, from, text); ok {
		return class
	}
	b := t.find(no, from)
	if b != nil {
		if class, ok := b.add(no, from, text); ok {
			return class
		}
		t.close(b)
	}
	if class, ok := t.beginHeadless(no, p, from, text); ok {
		return class
	}
	t.interrupt(from)
	t.announce(no, p, from, text)
	return t.unrelated(p, text)
}

// A traceback without news for so many lines is over, so that one that was cut
// off does not wait for the end of the log. Behind a message in which another
// process wrote, only a chain line could still come.
const (
	staleAfter       = 2000
	interruptedAfter = 20
)

func (t *Tracker) sweep(no int) {
	for i := 0; i < len(t.open); {
		b := t.open[i]
		limit := staleAfter
		if b.interrupted && b.state == inMessage {
			limit = interruptedAfter
		}
		if no-b.tb.Last > limit {
			t.close(b)
			continue
		}
		i++
	}
}

// begin starts a traceback, or the next exception of one, at its header line.
func (t *Tracker) begin(no int, p Prefix, from stream, text []byte) (Class, bool) {
	before, group, ok := header(text)
	if !ok {
		return 0, false
	}
	t.dump = false
	b := t.find(no, from)
	if b != nil && b.addHeader(no, text, group) {
		return ClassTraceback, true
	}
	if b != nil {
		t.close(b)
	}
	b = t.start(no, p, from)
	b.group = group
	b.tb.Wrapped = clip(before)
	if margin := string(before); margin == "" || margin == "|" {
		b.tb.Wrapped = t.announcementAbove(no, from)
	}
	return ClassTraceback, true
}

// beginHeadless starts a traceback whose header is cut off, at a frame or at
// the exception's own line.
func (t *Tracker) beginHeadless(no int, p Prefix, from stream, text []byte) (Class, bool) {
	if f, ok := parseFrame(text); ok && f.Func != "" {
		b := t.start(no, p, from)
		b.addFrame(no, f)
		return ClassFrame, true
	}
	if (p.Level == NoLevel || p.Level >= Error) && surelyException(text) {
		b := t.start(no, p, from)
		b.setException(no, text)
		b.tb.Wrapped = t.announcementAbove(no, from)
		return ClassException, true
	}
	return 0, false
}

func (t *Tracker) start(no int, p Prefix, from stream) *builder {
	if len(t.open) >= maxOpen {
		t.close(t.open[0])
	}
	b := &builder{from: from, bound: !from.prefixed, tb: Traceback{First: no, Last: no, Tag: p.Tag, PID: p.PID, Rank: p.Rank, Time: p.Time}}
	t.open = append(t.open, b)
	return b
}

// find returns the unfinished traceback that a line of this stream may continue.
// A line without prefix belongs to the traceback without prefixes, or to one of
// which only the header is known, and then binds it; right below a header, to
// that one.
func (t *Tracker) find(no int, from stream) *builder {
	var same, unbound *builder
	for _, b := range t.open {
		switch {
		case b.from == from:
			same = b
		case !b.bound:
			unbound = b
		}
	}
	if !from.prefixed && unbound != nil && (same == nil || unbound.tb.Last >= no-1) {
		if same != nil {
			t.close(same)
		}
		unbound.from, unbound.bound = stream{}, true
		return unbound
	}
	if same != nil {
		same.bound = true
	}
	return same
}

// interrupt tells the unfinished tracebacks that a line of another stream came.
// A finished exception is over when its process logs something else.
func (t *Tracker) interrupt(by stream) {
	if !by.prefixed || len(t.open) == 0 {
		return
	}
	for _, b := range slices.Clone(t.open) {
		switch {
		case b.from.process(by) && b.state == inMessage:
			t.close(b)
		case !b.from.prefixed:
			b.interrupted = true
		}
	}
}

func (t *Tracker) announce(no int, p Prefix, from stream, text []byte) {
	if p.Level >= Error || announcesTraceback(text) {
		t.announced = announcement{from: from, at: no, text: append(t.announced.text[:0], text[:min(len(text), maxText)]...)}
	}
}

// announcementAbove is the announcing line directly above a traceback's first.
func (t *Tracker) announcementAbove(no int, from stream) string {
	a := t.announced
	if a.at == no-1 && (a.from == from || !from.prefixed) {
		return string(a.text)
	}
	return ""
}

// unrelated classifies a line that belongs to no traceback.
func (t *Tracker) unrelated(p Prefix, text []byte) Class {
	if isPySpyThread(text) {
		t.dump = true
	} else if t.dump && !isPySpyFrame(text) {
		t.dump = false
	}
	switch {
	case t.dump || isNativeFrame(text):
		return ClassNativeFrame
	case p.Len > 0:
		return ClassLog
	}
	return ClassOutput
}

func (t *Tracker) close(b *builder) {
	t.open = slices.DeleteFunc(t.open, func(o *builder) bool { return o == b })
	t.done = append(t.done, b.finish())
}

// Take returns the tracebacks that were finished since the last call, in the
// order of their first lines.
func (t *Tracker) Take() []Traceback {
	done := t.done
	t.done = nil
	slices.SortStableFunc(done, func(a, b Traceback) int { return a.First - b.First })
	return done
}

// Flush ends all unfinished tracebacks, as at the end of the log, and returns
// them with those that Take has not returned yet.
func (t *Tracker) Flush() []Traceback {
	for len(t.open) > 0 {
		t.close(t.open[0])
	}
	return t.Take()
}
