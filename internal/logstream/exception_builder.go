package logstream

import (
	"bytes"
	"slices"
)

// builder collects one traceback.
type builder struct {
	tb    Traceback
	from  stream
	state state
	cur   Exception // the one being read; not yet in tb.Chain
	// outer are exceptions whose message holds the traceback of cur, outermost
	// first: they were printed before it and follow from it.
	outer       []Exception
	frames      int  // kept in tb.Chain, outer and cur
	blanks      int  // empty lines since the last line of the message
	bound       bool // it is known whether the lines have a prefix
	group       bool // lines have the margin of an exception group
	interrupted bool // another process wrote since the last line of the message
}

// state is what the last line of a traceback was.
type state uint8

const (
	inFrames  state = iota // header, frames and their source
	inMessage              // the exception's line and its message
	inChain                // "During handling ...": a header must follow
)

// add takes a line of the builder's stream; ok is false when the line ends the
// traceback and is no part of it.
func (b *builder) add(no int, from stream, text []byte) (class Class, ok bool) {
	if b.group {
		text, _ = ungroup(text)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return b.addBlank(from), b.state != inMessage || b.blanks <= maxChainBlanks
	}
	if link, isLink := chainLink(text); isLink && b.state == inMessage {
		b.endException()
		b.cur.Link, b.state = link, inChain
		return b.part(no, ClassChain), true
	}
	if f, isFrame := parseFrame(text); isFrame {
		return b.frame(no, f)
	}
	switch b.state {
	case inMessage:
		return b.addMessage(no, from, text)
	case inFrames:
		return b.addBody(no, text)
	}
	return 0, false
}

// Empty lines in a row within a message, and before a chain line (Python prints
// one, and the messages of CUDA errors end in another one or two).
const (
	maxBlanks      = 1
	maxChainBlanks = 3
)

func (b *builder) addBlank(from stream) Class {
	if b.state == inMessage && from.code == "" {
		b.blanks++
	}
	if from.prefixed {
		return ClassLog
	}
	return ClassOutput
}

// part records that a line belongs to the traceback.
func (b *builder) part(no int, class Class) Class {
	b.tb.Last = no
	b.blanks, b.interrupted = 0, false
	return class
}

// addHeader takes a header line that continues this traceback: behind a chain
// line, or inside the message of an exception.
func (b *builder) addHeader(no int, text []byte, group bool) bool {
	_, margin := ungroup(text)
	switch {
	case b.state == inChain:
	case b.state == inMessage && (b.group && margin || b.opensQuote()):
		b.nest()
	default:
		return false
	}
	b.state = inFrames
	b.group = b.group || group
	b.part(no, ClassTraceback)
	return true
}

// opensQuote is true when the message so far is the quote mark with which
// multiprocessing begins a traceback of another process.
func (b *builder) opensQuote() bool {
	return len(b.cur.Texts) > 0 && b.cur.Texts[len(b.cur.Texts)-1] == `"""`
}

// frame takes a File line. One behind an exception's line, without header, is
// a remote traceback inside the message, as Ray writes it.
func (b *builder) frame(no int, f Frame) (Class, bool) {
	if b.state == inMessage {
		if b.blanks > 0 || b.interrupted {
			return 0, false
		}
		b.nest()
	}
	b.addFrame(no, f)
	return ClassFrame, true
}

func (b *builder) addFrame(no int, f Frame) {
	b.state = inFrames
	f.At = no
	b.part(no, ClassFrame)
	if b.frames < maxFrames {
		b.cur.Frames = append(b.cur.Frames, f)
		b.frames++
		return
	}
	b.cur.Dropped++
	// The innermost calls say most: the last kept ones move up.
	if n := len(b.cur.Frames); n > 0 {
		from := n / 2
		copy(b.cur.Frames[from:], b.cur.Frames[from+1:])
		b.cur.Frames[n-1] = f
	}
}

// addBody takes a line among the frames: a frame's source, a mark of left-out
// lines, or the exception's line.
func (b *builder) addBody(no int, text []byte) (Class, bool) {
	if text[0] == ' ' || text[0] == '\t' || isCut(text) {
		b.addSource(text)
		return b.part(no, ClassSource), true
	}
	if _, _, ok := exceptionHead(text); !ok {
		return 0, false
	}
	b.setException(no, text)
	return ClassException, true
}

// addSource keeps the first source line of the latest frame. Lines of marks
// below it (^^^^, ~~~~) and ellipses are not source.
func (b *builder) addSource(text []byte) {
	text = bytes.TrimSpace(text)
	if len(b.cur.Frames) == 0 || len(bytes.Trim(text, "^~ ")) == 0 || bytes.HasPrefix(text, []byte("...")) ||
		bytes.HasPrefix(text, []byte("[Previous line repeated")) {
		return
	}
	if last := &b.cur.Frames[len(b.cur.Frames)-1]; last.Source == "" {
		last.Source = clip(text)
	}
}

func (b *builder) setException(no int, text []byte) {
	class, message, _ := exceptionHead(text)
	b.cur.Type, b.cur.Message = clip(class), clip(bytes.TrimSpace(message))
	b.cur.At, b.cur.End = no, no
	b.cur.Texts = append(b.cur.Texts, clip(text))
	b.state = inMessage
	b.part(no, ClassException)
}

// addMessage takes a further line of the message. Within one log record
// (vLLM's prefix with a source position) all lines belong to it; elsewhere the
// message ends at a line that is surely something else.
func (b *builder) addMessage(no int, from stream, text []byte) (Class, bool) {
	if isNativeFrame(text) {
		return b.part(no, ClassNativeFrame), true
	}
	if from.code == "" && (b.interrupted || b.blanks > maxBlanks || endsMessage(text)) {
		return 0, false
	}
	for range b.blanks {
		b.keep("")
	}
	b.keep(clip(text))
	b.cur.End = no
	return b.part(no, ClassContinuation), true
}

func (b *builder) keep(text string) {
	if len(b.cur.Texts) >= maxTexts {
		b.cur.Dropped++
		return
	}
	b.cur.Texts = append(b.cur.Texts, text)
}

// nest begins an exception whose traceback stands in the message of cur. In an
// exception group, a second one ends the first.
func (b *builder) nest() {
	if b.group && len(b.outer) > 0 {
		b.push(b.cur)
		b.cur = Exception{}
		return
	}
	inner := Exception{Link: b.cur.Link}
	b.cur.Link = LinkCause
	b.outer = append(b.outer, b.cur)
	b.cur = inner
}

// endException moves cur, and what it explains, to the chain.
func (b *builder) endException() {
	b.push(b.cur)
	for _, e := range slices.Backward(b.outer) {
		b.push(e)
	}
	b.outer = nil
	b.cur = Exception{}
}

// push appends to the chain. Past the limit, the latest replaces the last: the
// original and the final exception matter most.
func (b *builder) push(e Exception) {
	if e.Type == "" && len(e.Frames) == 0 {
		return
	}
	if len(b.tb.Chain) == maxChain {
		last := &b.tb.Chain[maxChain-1]
		e.Dropped += last.Dropped + len(last.Frames) + len(last.Texts)
		*last = e
		return
	}
	b.tb.Chain = append(b.tb.Chain, e)
}

func (b *builder) finish() Traceback {
	b.endException()
	return b.tb
}

// announcesTraceback is true for a line that Python prints above a traceback to
// say where it comes from.
func announcesTraceback(text []byte) bool {
	for _, start := range [...]string{"Exception ignored in", "Exception in thread", "Process ", "--- Logging error ---"} {
		if bytes.HasPrefix(text, []byte(start)) {
			return true
		}
	}
	return false
}
