package logstream

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// unwrapper removes the layers of one stream. Its zero value has seen nothing.
type unwrapper struct {
	layers      []layer // outermost first
	fences      *fences // the stream is Markdown
	notebook    bool
	newestFirst bool
	columns     int // the width at which a terminal wrapped the lines; 0: it did not

	decided bool     // the fields above are final
	sample  [][]byte // lines seen before that, copied

	part    *partial // a message whose end has not come yet
	decoded []byte   // buffer of line
	tagged  []byte   // buffer of line
}

// partial is the beginning of a message that the wrapper split.
type partial struct {
	ref    LineRef // spans relative to raw
	raw    []byte  // its first physical line
	text   []byte
	stream string
	folded bool // a terminal wrapped it
}

// name names the layers, see Reader.Wrapper.
func (u *unwrapper) name() string {
	var names []string
	for _, l := range u.layers {
		names = append(names, l.name)
	}
	switch {
	case u.notebook:
		names = append(names, "ipynb")
	case u.fences != nil && len(names) > 0 && names[0] == quoteName:
		names = slices.Insert(names, 1, "markdown")
	case u.fences != nil:
		names = slices.Insert(names, 0, "markdown")
	}
	if u.columns > 0 {
		names = append(names, "columns")
	}
	return strings.Join(names, "+")
}

// wantsAll reports whether lines can be handed out only when all were read.
func (u *unwrapper) wantsAll() bool { return u.notebook || u.newestFirst }

// markProse sets the flags of a Markdown stream's lines, which must come in the
// order of the stream.
func (u *unwrapper) markProse(b *Block) {
	if u.fences == nil {
		return
	}
	for i := range b.Lines {
		l := &b.Lines[i]
		l.Flags |= u.fences.flag(u.unquoted(l.raw.of(b.raw)))
	}
}

// unquoted removes a quote mark around the Markdown.
func (u *unwrapper) unquoted(line []byte) []byte {
	if len(u.layers) > 0 && u.layers[0].name == quoteName {
		if p, ok := u.layers[0].split(line); ok {
			return p.text.of(line)
		}
	}
	return line
}

// apply replaces the lines of b by their unwrapped form. A stream without layers
// stays as it is.
func (u *unwrapper) apply(b *Block, maxLine int) {
	if len(u.layers) == 0 && u.columns == 0 {
		return
	}
	b.Lines, b.wrapped = b.wrapped[:0], b.Lines
	for _, l := range b.wrapped {
		u.line(b, l, maxLine)
	}
	b.Data = b.text
}

// line unwraps one physical line into b.
func (u *unwrapper) line(b *Block, l LineRef, maxLine int) {
	text := l.raw.of(b.raw)
	// base is where text begins in b.raw; it means nothing once text is decoded.
	base, decoded, partial := l.raw.start, false, false
	stream := ""
	var task []byte
	for _, ly := range u.layers {
		p, ok := ly.split(text)
		if !ok {
			continue
		}
		if !decoded {
			l.setPlace(p, base)
		}
		partial = partial || p.partial
		if !p.stream.empty() {
			stream = streamName(p.stream.of(text))
		}
		if !p.task.empty() {
			task = p.task.of(text)
		}
		text, base = p.text.of(text), base+p.text.start
		if p.escaped || p.octets {
			u.decoded = p.decode(u.decoded[:0], text)
			text, decoded = u.decoded, true
		}
	}
	if u.part != nil && u.part.folded && !goesOn(text) {
		u.endPart(b)
	}
	folded := u.isFolded(text)
	u.join(b, l, u.tag(task, text), stream, partial || folded, maxLine)
	if u.part != nil {
		u.part.folded = folded
	}
}

// isFolded says whether a line may go on in the next one because a terminal
// wrapped it. A longer line proves that none did.
func (u *unwrapper) isFolded(text []byte) bool {
	if u.columns == 0 {
		return false
	}
	n := utf8.RuneCount(text)
	if n > u.columns {
		u.columns = 0
	}
	return n == u.columns && !isFrame(text)
}

// tag puts the number of a process before its line in torch's form, which
// ParsePrefix reads, so that the tracebacks of several are kept apart.
func (u *unwrapper) tag(task, text []byte) []byte {
	if len(task) == 0 || u.part != nil {
		return text
	}
	u.tagged = append(append(append(u.tagged[:0], "[rank"...), task...), "]: "...)
	u.tagged = append(u.tagged, text...)
	return u.tagged
}

// setPlace takes over time and origin from the parts of a line that begins at
// base of the block's raw bytes; an inner layer's replace an outer one's.
func (l *LineRef) setPlace(p parts, base int32) {
	if !p.time.empty() {
		l.time = p.time.shift(base)
	}
	if !p.origin.empty() {
		l.origin = p.origin.shift(base)
	}
}

// streamName returns the name without allocating for the two that exist.
func streamName(b []byte) string {
	switch string(b) {
	case "stdout":
		return "stdout"
	case "stderr":
		return "stderr"
	}
	return string(b)
}

// join adds a line to b, or to the message that it continues. A joined message
// stands under its first line's number.
func (u *unwrapper) join(b *Block, l LineRef, text []byte, stream string, more bool, maxLine int) {
	if u.part != nil && u.part.stream != stream {
		u.endPart(b)
	}
	switch {
	case u.part == nil && !more:
		b.emit(l, text, maxLine)
	case u.part == nil:
		u.part = newPartial(b, l, text, stream)
	default:
		u.part.grow(text, l.Flags, maxLine)
		if !more {
			u.endPart(b)
		}
	}
}

func newPartial(b *Block, l LineRef, text []byte, stream string) *partial {
	base := l.raw.start
	p := &partial{ref: l, raw: bytes.Clone(l.raw.of(b.raw)), text: bytes.Clone(text), stream: stream}
	p.ref.moveRaw(-base)
	return p
}

// grow appends a further piece, up to the limit of a line.
func (p *partial) grow(text []byte, flags LineFlag, maxLine int) {
	p.ref.Flags |= flags
	if room := maxLine - len(p.text); len(text) > room {
		text = text[:max(room, 0)]
		p.ref.Flags |= Cut
	}
	p.text = append(p.text, text...)
}

// endPart adds the joined message to b.
func (u *unwrapper) endPart(b *Block) {
	p := u.part
	u.part = nil
	p.ref.moveRaw(int32(len(b.raw)))
	b.raw = append(append(b.raw, p.raw...), '\n')
	b.emit(p.ref, p.text, len(p.text))
}

// flush returns a message that the stream's end left incomplete, or nil.
func (u *unwrapper) flush() *Block {
	if u.part == nil {
		return nil
	}
	b := newBlock(len(u.part.raw) + 1)
	u.endPart(b)
	b.Data = b.text
	return b
}

// moveRaw shifts the spans in Block.raw.
func (l *LineRef) moveRaw(by int32) {
	l.raw = l.raw.shift(by)
	if !l.time.empty() {
		l.time = l.time.shift(by)
	}
	if !l.origin.empty() {
		l.origin = l.origin.shift(by)
	}
}

// emit appends unwrapped text as a line; text that holds line feeds (of a JSON
// string) becomes several lines with one number.
func (b *Block) emit(l LineRef, text []byte, maxLine int) {
	for {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		b.emitLine(l, line, maxLine)
		if text = rest; !more {
			return
		}
	}
}

func (b *Block) emitLine(l LineRef, text []byte, maxLine int) {
	kept, cut := fitLine(text, 0, len(text), maxLine)
	l.Flags |= cut
	l.Start = int32(len(b.text))
	b.text = append(b.text, kept.of(text)...)
	l.End = int32(len(b.text))
	b.text = append(b.text, '\n')
	b.Lines = append(b.Lines, l)
}
