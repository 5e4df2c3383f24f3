package logstream

import (
	"bytes"
)

// window is how many lines are looked at together to recognise a wrapper.
const window = 200

// maxLayers bounds the wrappers around each other: a quoted issue with a compose
// log with time stamps has three.
const maxLayers = 3

// longRun is how many lines in a row prove a wrapper in a window where most lines
// lack it.
const longRun = 8

// minObjects is how many JSON objects at the beginning of a stream are needed.
const minObjects = 3

// minGroup is how many lines one writer of a grouped wrapper must have.
const minGroup = 4

// shortRun is how many lines in a row an aligned wrapper needs.
const shortRun = 4

// quoteName is the name of the layer that may stand around Markdown.
const quoteName = "quote"

// examine looks for wrappers in the first block; of a live stream, whose first
// block may hold one line, in as many blocks as make up a window.
func (u *unwrapper) examine(b *Block, live bool) {
	if u.decided {
		return
	}
	if !live && isNotebook(b.raw) {
		u.notebook, u.decided = true, true
		return
	}
	u.findLayers(b)
	if u.fences == nil && isMarkdown(u.unquotedLines(b)) {
		u.fences = new(fences)
	}
	if !live && u.fences == nil {
		u.columns = wrapColumns(u.inner(u.sample[:min(len(u.sample), window)]))
	}
	if !live || u.layers != nil || len(u.sample) >= window {
		u.decided, u.sample = true, nil
	}
	for i := range u.sample {
		u.sample[i] = bytes.Clone(u.sample[i])
	}
}

// findLayers looks for layers in one window after the other. The lines stay in
// u.sample.
func (u *unwrapper) findLayers(b *Block) {
	for i := range b.Lines {
		u.sample = append(u.sample, b.Lines[i].raw.of(b.raw))
	}
	n := len(u.sample)
	for end := window; u.layers == nil; end += window {
		u.detect(u.sample[max(0, min(end, n)-window):min(end, n)], end == window)
		if end >= n {
			return
		}
	}
}

// detect sets the layers that lines show, outermost first. first says that the
// lines begin the stream.
func (u *unwrapper) detect(lines [][]byte, first bool) {
	for len(u.layers) < maxLayers {
		l, ok := findLayer(lines, u.layers, first)
		if !ok {
			return
		}
		u.layers = append(u.layers, l)
		inner, times := stripAll(lines, l)
		u.newestFirst = u.newestFirst || descending(times)
		lines = inner
	}
}

// findLayer returns the outermost layer of lines that is not in known.
func findLayer(lines [][]byte, known []layer, first bool) (layer, bool) {
	for _, l := range layers {
		if (first || !l.opening) && !hasLayer(known, l.name) && l.seenIn(lines) {
			return l, true
		}
	}
	return layer{}, false
}

func hasLayer(ls []layer, name string) bool {
	for _, l := range ls {
		if l.name == name {
			return true
		}
	}
	return false
}

// seenIn reports whether lines are wrapped in l: most of them are, or a long run.
// The lines of an aligned layer count only in runs with the bar in one column and
// the writer's name repeated: the rows of a table differ.
func (l layer) seenIn(lines [][]byte) bool {
	var t tally
	for _, line := range lines {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		t.filled++
		if p, ok := l.split(line); ok {
			if !p.partial {
				t.whole++
			}
			t.add(p.column, p.origin.of(line))
			if l.grouped {
				t.group(p.origin.of(line))
			}
		} else {
			t.run, t.repeated = 0, false
		}
	}
	switch {
	case t.whole == 0 && t.wrapped >= minObjects: // not the collector that splits messages so
		return false
	case l.aligned:
		return t.longestRepeated >= shortRun
	case l.grouped:
		return t.grouped()
	case l.opening:
		return t.wrapped >= minObjects && t.wrapped*2 > t.filled
	}
	return t.wrapped > 0 && t.wrapped*2 >= t.filled || t.longest >= longRun
}

// tally counts lines that have a wrapper.
type tally struct {
	filled, wrapped int  // lines that are not blank, and those of them in the wrapper
	whole           int  // wrapped lines that hold the end of a message
	run             int  // wrapped lines in a row, their bars in one column
	repeated        bool // two neighbours in the run have the same origin
	longest         int
	longestRepeated int
	column          int
	origin          []byte
	groups          map[string]int // lines of each writer
}

func (t *tally) group(origin []byte) {
	if t.groups == nil {
		t.groups = map[string]int{}
	}
	t.groups[string(origin)]++
}

// grouped says whether four of five lines have the wrapper and a writer with
// several lines.
func (t *tally) grouped() bool {
	n := 0
	for _, lines := range t.groups {
		if lines >= minGroup {
			n += lines
		}
	}
	return n > 0 && n*5 >= t.filled*4
}

func (t *tally) add(column int, origin []byte) {
	if t.run > 0 && column != t.column {
		t.run, t.repeated = 0, false
	}
	t.repeated = t.repeated || t.run > 0 && bytes.Equal(origin, t.origin)
	t.column, t.origin = column, origin
	t.wrapped++
	t.run++
	t.longest = max(t.longest, t.run)
	if t.repeated {
		t.longestRepeated = max(t.longestRepeated, t.run)
	}
}

// stripAll removes one layer from lines, and collects its time stamps.
func stripAll(lines [][]byte, l layer) (inner, times [][]byte) {
	inner = make([][]byte, len(lines))
	for i, line := range lines {
		inner[i] = line
		p, ok := l.split(line)
		if !ok {
			continue
		}
		if inner[i] = p.text.of(line); p.escaped || p.octets {
			inner[i] = p.decode(nil, inner[i])
		}
		if !p.time.empty() {
			times = append(times, p.time.of(line))
		}
	}
	return inner, times
}

// inner returns lines without all layers.
func (u *unwrapper) inner(lines [][]byte) [][]byte {
	for _, l := range u.layers {
		lines, _ = stripAll(lines, l)
	}
	return lines
}

// unquotedLines returns the lines of a block as Markdown sees them.
func (u *unwrapper) unquotedLines(b *Block) [][]byte {
	lines := make([][]byte, len(b.Lines))
	for i := range b.Lines {
		lines[i] = u.unquoted(b.Lines[i].raw.of(b.raw))
	}
	return lines
}
