package logstream

import (
	"bytes"
	"fmt"
)

// maxPile bounds a stream whose lines must be put in order.
const maxPile = 256 << 20

// pile is a whole stream in memory whose lines are handed out in another order
// than they were read.
type pile struct {
	raw   []byte
	text  []byte // decoded text of a notebook; nil: the lines are as in raw
	lines []LineRef
	pos   int   // next line to hand out
	err   error // what ended the stream
}

// pileUp reads the rest of the stream, whose first block is b, and orders it. A
// stream beyond the limit gives no lines, only an error.
func (r *Reader) pileUp(b *Block) *pile {
	p := new(pile)
	for p.err == nil {
		p.add(b)
		b.Release()
		if len(p.raw) > r.maxPile {
			return &pile{err: fmt.Errorf("%w: %s of more than %d MiB must be read at once; split it, or export it oldest line first",
				ErrTooLarge, r.Wrapper(), r.maxPile>>20)}
		}
		if b, p.err = r.physical(); p.err == nil {
			r.unwrap.markProse(b)
		}
	}
	if r.unwrap.notebook {
		p.readNotebook(r.opt.MaxLine)
	} else {
		p.lines = oldestFirst(p.lines, r.unwrap.hasTime(p.raw))
	}
	return p
}

// add appends the lines of a block.
func (p *pile) add(b *Block) {
	base := int32(len(p.raw))
	p.raw = append(p.raw, b.raw...)
	for _, l := range b.Lines {
		l.moveRaw(base)
		p.lines = append(p.lines, l)
	}
}

// next returns the next lines as a block.
func (p *pile) next() (*Block, error) {
	if p.pos == len(p.lines) {
		return nil, p.err
	}
	b := newBlock(blockSize)
	for last := -1; p.pos < len(p.lines) && len(b.raw) < blockSize && len(b.text) < blockSize; p.pos++ {
		l := p.lines[p.pos]
		l.raw = b.appendRaw(p.raw, l, last)
		last = l.No
		if p.text == nil {
			l.Start, l.End = l.raw.start, l.raw.end
		} else {
			text := p.text[l.Start:l.End]
			l.Start = int32(len(b.text))
			b.text = append(append(b.text, text...), '\n')
			l.End = l.Start + int32(len(text))
		}
		b.Lines = append(b.Lines, l)
	}
	if b.Data = b.text; p.text == nil {
		b.Data = b.raw
	}
	return b, nil
}

// appendRaw copies the physical line of l into b and returns its place there. A
// line that stands there already, with number last, is not repeated.
func (b *Block) appendRaw(raw []byte, l LineRef, last int) span {
	if l.No == last {
		return b.Lines[len(b.Lines)-1].raw
	}
	start := int32(len(b.raw))
	b.raw = append(append(b.raw, l.raw.of(raw)...), '\n')
	return span{start, int32(len(b.raw) - 1)}
}

// hasTime returns a function that tells whether a line of raw begins an entry: it
// has the wrapper's time stamp.
func (u *unwrapper) hasTime(raw []byte) func(LineRef) bool {
	return func(l LineRef) bool {
		line := l.raw.of(raw)
		for _, ly := range u.layers {
			p, ok := ly.split(line)
			if !ok {
				continue
			}
			if !p.time.empty() {
				return true
			}
			line = p.text.of(line)
		}
		return false
	}
}

// oldestFirst turns a newest-first export around. An entry is a line with a time
// stamp and the lines without that follow it; prose, and what precedes the first
// entry, keeps its place.
func oldestFirst(lines []LineRef, begins func(LineRef) bool) []LineRef {
	out := make([]LineRef, 0, len(lines))
	for i := 0; i < len(lines); {
		if lines[i].Flags&Prose != 0 || !begins(lines[i]) {
			out = append(out, lines[i])
			i++
			continue
		}
		starts := []int{}
		end := i
		for ; end < len(lines) && lines[end].Flags&Prose == 0; end++ {
			if begins(lines[end]) {
				starts = append(starts, end)
			}
		}
		for from, to := len(starts)-1, end; from >= 0; from-- {
			out = append(out, lines[starts[from]:to]...)
			to = starts[from]
		}
		i = end
	}
	return out
}

// descending reports whether time stamps go from new to old. Processes that write
// at once swap neighbours, and an export may be pasted in parts.
func descending(times [][]byte) bool {
	up, down := 0, 0
	for i := 1; i < len(times); i++ {
		switch compareTimes(times[i-1], times[i]) {
		case -1:
			up++
		case 1:
			down++
		}
	}
	return down >= 3 && down > 2*up
}

// compareTimes compares two time stamps of one wrapper as text; their fractions
// may differ in length.
func compareTimes(a, b []byte) int {
	aSec, aFrac, _ := bytes.Cut(bytes.TrimSuffix(a, []byte("Z")), []byte("."))
	bSec, bFrac, _ := bytes.Cut(bytes.TrimSuffix(b, []byte("Z")), []byte("."))
	if c := bytes.Compare(aSec, bSec); c != 0 {
		return c
	}
	return bytes.Compare(aFrac, bFrac)
}
