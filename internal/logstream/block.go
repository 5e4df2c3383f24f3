package logstream

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// blockSize is how much of a stream one block holds. It is large enough to make
// the cost per block vanish and small enough for a few blocks to fit a cache.
const blockSize = 1 << 20

// defaultMaxLine bounds one line: the longest line seen in public logs, a
// configuration dump, has 14,000 bytes.
const defaultMaxLine = 1 << 20

// usualLines is how many lines a block has room for at first: server logs have
// more than 80 bytes a line.
const usualLines = blockSize / 80

// maxBlockLines bounds the line table of a block of very short lines.
const maxBlockLines = 1 << 16

// LineFlag says what is special about a line.
type LineFlag uint8

// Flags of a line.
const (
	// Cut marks a line longer than the limit; what is beyond was dropped.
	Cut LineFlag = 1 << iota
	// Prose marks text around the log: Markdown outside code fences (and the
	// fences themselves), the source cells of a notebook.
	Prose
	// Command marks a line of a notebook's code cell: what was run, not what was
	// printed.
	Command
)

// span is a half-open range of bytes.
type span struct{ start, end int32 }

func (s span) of(b []byte) []byte { return b[s.start:s.end] }

func (s span) empty() bool { return s.start == s.end }

func (s span) shift(by int32) span { return span{s.start + by, s.end + by} }

// LineRef is one line of a block.
type LineRef struct {
	No         int   // physical line number, from 1
	Offset     int64 // of the physical line's first byte in the stream, padding not counted
	Start, End int32 // the text in Block.Data, without its line end
	Flags      LineFlag

	raw    span // the physical line in Block.raw, without its line end
	time   span // the wrapper's time stamp in Block.raw
	origin span // the wrapper's name of the writer in Block.raw
}

// Block is a run of whole lines. It belongs to whoever got it from Next until
// Release; different blocks may be used by different goroutines at once.
type Block struct {
	// Data is the unwrapped text. Every line in it ends with '\n'; bytes outside
	// the lines' Start and End are line ends, padding and dropped text.
	Data  []byte
	Lines []LineRef

	raw     []byte    // physical lines as read
	text    []byte    // buffer for unwrapped text
	wrapped []LineRef // line table before unwrapping, kept for its capacity
}

// Text returns the unwrapped text of line i.
func (b *Block) Text(i int) []byte { return b.Data[b.Lines[i].Start:b.Lines[i].End] }

// Raw returns line i as it stands in the stream, without its line end: the text
// to quote.
func (b *Block) Raw(i int) []byte { return b.Lines[i].raw.of(b.raw) }

// Time returns the time stamp that the wrapper gave to line i, as written, or
// nothing.
func (b *Block) Time(i int) []byte { return b.Lines[i].time.of(b.raw) }

// Origin returns who wrote line i according to the wrapper (compose service, pod
// and container, journald unit), or nothing. Lines of several processes may be
// mixed in one stream.
func (b *Block) Origin(i int) []byte {
	origin := b.Lines[i].origin.of(b.raw)
	if bytes.IndexByte(origin, '\x1b') < 0 {
		return origin
	}
	plain := make([]byte, 0, len(origin)) // stern colours pod and container
	for at := 0; at < len(origin); {
		if after := skipColour(origin, at); after > at {
			at = after
			continue
		}
		plain = append(plain, origin[at])
		at++
	}
	return plain
}

// Share makes part a block with the text of b and no lines. Lines of b that are
// appended to it keep their meaning. It must not be released, and not be used
// after b is.
func (b *Block) Share(part *Block) {
	part.Data, part.raw, part.Lines = b.Data, b.raw, part.Lines[:0]
}

var blocks = sync.Pool{New: func() any { return new(Block) }}

// newBlock returns an empty block whose raw buffer holds at least size bytes.
func newBlock(size int) *Block {
	b := blocks.Get().(*Block)
	if cap(b.raw) < size {
		b.raw = make([]byte, 0, size)
	}
	b.raw, b.text, b.Data = b.raw[:0], b.text[:0], nil
	if b.Lines == nil {
		b.Lines = make([]LineRef, 0, usualLines)
	}
	b.Lines, b.wrapped = b.Lines[:0], b.wrapped[:0]
	return b
}

// Release returns the block's memory for reuse; the block must not be used
// afterwards.
func (b *Block) Release() { blocks.Put(b) }

// ReaderOptions configures a Reader.
type ReaderOptions struct {
	MaxLine int  // bytes of one line that are kept; 0: 1 MiB
	Live    bool // hand out lines as soon as they are complete instead of filling blocks
}

// Reader cuts a stream into blocks. It is not safe for concurrent use.
type Reader struct {
	src  io.Reader
	opt  ReaderOptions
	tail []byte // beginning of the line whose end has not been read
	off  int64  // stream offset of the line that begins next, that of tail[0]
	line int    // its number
	// dropping is set while the rest of a cut line is read and dropped.
	dropping bool
	err      error // what ended the stream; delivered after the last block

	unwrap  unwrapper
	pile    *pile // the whole stream, when its lines must be put in order
	maxPile int   // bytes that it may have
}

// NewReader returns a Reader of r, which is decompressed text.
func NewReader(r io.Reader, opt ReaderOptions) *Reader {
	if opt.MaxLine <= 0 {
		opt.MaxLine = defaultMaxLine
	}
	return &Reader{src: toUTF8(r), opt: opt, line: 1, maxPile: maxPile}
}

// Wrapper names the layers around the log, outermost first, joined by "+":
// "docker-json", "quote+compose", "" for none. It is complete after the first
// block.
func (r *Reader) Wrapper() string { return r.unwrap.name() }

// Next returns the next block. At the end of the stream it returns io.EOF, and
// after a failure the source's error (ErrCorrupt, ErrTooLarge), in both cases
// after all blocks that could be read.
func (r *Reader) Next() (*Block, error) {
	for {
		b, err := r.next()
		if err != nil {
			if last := r.unwrap.flush(); last != nil {
				return last, nil
			}
			return nil, err
		}
		r.unwrap.apply(b, r.opt.MaxLine)
		if len(b.Lines) > 0 {
			return b, nil
		}
		b.Release()
	}
}

// next returns the next block with its prose marked and its lines in order, its
// layers not yet removed.
func (r *Reader) next() (*Block, error) {
	if r.pile != nil {
		return r.pile.next()
	}
	b, err := r.physical()
	if err != nil {
		return nil, err
	}
	r.unwrap.examine(b, r.opt.Live)
	r.unwrap.markProse(b)
	if r.opt.Live || !r.unwrap.wantsAll() {
		return b, nil
	}
	r.pile = r.pileUp(b)
	return r.pile.next()
}

// physical returns the next block of physical lines, not yet unwrapped.
func (r *Reader) physical() (*Block, error) {
	// Two bytes more than a line may have, for its line end, and one for the line
	// feed that a last line lacks.
	b := newBlock(max(blockSize, r.opt.MaxLine+2) + 1)
	for r.err == nil || len(r.tail) > 0 {
		r.fill(b)
		if r.dropping && !r.dropRest(b) {
			continue
		}
		if r.take(b); len(b.Lines) > 0 {
			b.Data = b.raw
			return b, nil
		}
	}
	b.Release()
	return nil, r.err
}

// fill reads into b, after the tail of the block before, until the block is full
// or the stream ends; a live reader stops at the first complete line.
func (r *Reader) fill(b *Block) {
	b.raw = append(b.raw[:0], r.tail...)
	r.tail = r.tail[:0]
	limit := cap(b.raw) - 1
	for searched := 0; r.err == nil && len(b.raw) < limit; {
		if r.opt.Live && bytes.IndexByte(b.raw[searched:], '\n') >= 0 {
			return
		}
		searched = len(b.raw)
		n, err := r.src.Read(b.raw[searched:limit])
		b.raw, r.err = b.raw[:searched+n], err
	}
}

// dropRest drops what is left of a cut line and reports whether its end was
// found.
func (r *Reader) dropRest(b *Block) bool {
	end := bytes.IndexByte(b.raw, '\n')
	if end < 0 {
		r.off += int64(len(b.raw))
		return false
	}
	r.dropping = false
	r.line++
	r.off += int64(end + 1)
	b.raw = append(b.raw[:0], b.raw[end+1:]...)
	return true
}

// take numbers the whole lines of b.raw and leaves the rest as the tail. A line
// that fills the buffer without an end is cut; a last line may lack its end.
func (r *Reader) take(b *Block) {
	pos := 0
	for pos < len(b.raw) && len(b.Lines) < maxBlockLines {
		n := bytes.IndexByte(b.raw[pos:], '\n')
		if n < 0 {
			break
		}
		r.add(b, pos, pos+n)
		r.off += int64(n + 1)
		r.line++
		pos += n + 1
	}
	rest := b.raw[pos:]
	switch {
	case len(rest) == 0:
	case bytes.IndexByte(rest, '\n') < 0 && (r.err != nil || pos == 0 && len(b.raw) == cap(b.raw)-1):
		pos += r.takeUnended(b, pos)
	default:
		r.tail = append(r.tail, rest...)
	}
	b.raw = b.raw[:pos]
}

// takeUnended adds the line from pos to the end of the buffer, which has no line
// end: it is the stream's last line, or too long. It returns the bytes to keep.
// Padding with NUL, as a copied-and-truncated log has in front and a sparse one
// at its end, is no line and not too long.
func (r *Reader) takeUnended(b *Block, pos int) int {
	rest := b.raw[pos:]
	text := bytes.TrimLeft(rest, "\x00")
	r.off += int64(len(rest) - len(text))
	if len(text) < len(rest) && r.err == nil || len(text) == 0 {
		r.tail = append(r.tail, text...)
		return 0
	}
	b.raw = append(b.raw, '\n')
	r.add(b, pos+len(rest)-len(text), pos+len(rest))
	r.off += int64(len(text))
	r.dropping = r.err == nil
	return len(rest) + 1
}

// add appends the line raw[start:end] to the block's table.
func (r *Reader) add(b *Block, start, end int) {
	l := LineRef{No: r.line}
	from := start
	if r.line == 1 && bytes.HasPrefix(b.raw[start:end], utf8BOM) {
		from += len(utf8BOM)
	}
	l.raw, l.Flags = fitLine(b.raw, from, end, r.opt.MaxLine)
	l.Start, l.End = l.raw.start, l.raw.end
	l.Offset = r.off + int64(int(l.Start)-start)
	b.Lines = append(b.Lines, l)
}

var utf8BOM = []byte("\xef\xbb\xbf")

// fitLine returns what is kept of the line raw[start:end]: no carriage returns at
// its end, no NUL padding at either end, at most maxLine bytes.
func fitLine(raw []byte, start, end, maxLine int) (span, LineFlag) {
	for end > start && (raw[end-1] == '\r' || raw[end-1] == 0) {
		end--
	}
	for start < end && raw[start] == 0 {
		start++
	}
	if end-start <= maxLine {
		return span{int32(start), int32(end)}, 0
	}
	end = start + runeStart(raw[start:end], maxLine)
	return span{int32(start), int32(end)}, Cut
}

// runeStart returns the largest n <= limit at which no UTF-8 sequence of b is
// split.
func runeStart(b []byte, limit int) int {
	for n := limit; n > limit-utf8.UTFMax && n > 0; n-- {
		if utf8.RuneStart(b[n]) {
			return n
		}
	}
	return limit
}
