package logstream

import (
	"bytes"
	"strings"
)

// Segments takes a physical line apart into what a terminal would have shown
// as separate lines: escape sequences are removed, overwrites by a carriage
// return become segments, a log line glued behind a progress bar gets its own,
// and so does a line that begins inside another one because two processes, or
// two pastes, met there. An empty line is one empty segment. The segments are
// valid as long as line is; line itself is not changed.
func Segments(line []byte, yield func(seg []byte)) {
	line = stripEscapes(line)
	for len(line) > 0 && (line[len(line)-1] == '\r' || line[len(line)-1] == '\n') {
		line = line[:len(line)-1]
	}
	if bytes.IndexByte(line, '\r') < 0 {
		splitGlued(line, yield)
		return
	}
	for part := range bytes.SplitSeq(line, []byte{'\r'}) {
		if len(part) > 0 {
			splitGlued(part, yield)
		}
	}
}

const escape = 0x1b

// stripEscapes removes terminal escape sequences. Tools that dropped the escape
// bytes before leave "[36m(RayWorkerWrapper pid=8)[0m"; in a line that begins
// so, these remains are removed, too.
func stripEscapes(line []byte) []byte {
	bare := escapeRemains(line) > 0
	if !bare && bytes.IndexByte(line, escape) < 0 {
		return line
	}
	out := make([]byte, 0, len(line))
	for i := 0; i < len(line); {
		n := 0
		switch {
		case line[i] == escape:
			n = escapeLen(line[i:])
		case bare && line[i] == '[':
			n = escapeRemains(line[i:])
		}
		if n == 0 {
			out = append(out, line[i])
			n = 1
		}
		i += n
	}
	return out
}

// escapeLen is the length of the sequence at the start of b, which begins with
// the escape byte (ECMA-48: CSI is ESC [ parameters intermediates final, OSC is
// ESC ] text ended by BEL or ESC \). A sequence that is cut off ends with b.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
			if b[i] < 0x20 || b[i] > 0x7e {
				return i
			}
		}
		return len(b)
	case ']':
		return oscLen(b)
	case '(', ')':
		return min(3, len(b))
	}
	if b[1] < 0x20 || b[1] > 0x7e {
		return 1
	}
	return 2
}

// maxOSC bounds a title or link, so that a lone ESC ] does not swallow a line.
const maxOSC = 2048

func oscLen(b []byte) int {
	for i := 2; i < len(b) && i < maxOSC; i++ {
		if b[i] == 0x07 {
			return i + 1
		}
		if b[i] == escape {
			if i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
			break
		}
	}
	return 2
}

// escapeRemains is the length of a colour sequence that lost its escape byte,
// "[1;36m", at the start of b; 0 when there is none.
func escapeRemains(b []byte) int {
	c := cursor{b: b}
	if !c.byte('[') {
		return 0
	}
	for c.i < len("[38;5;123;48;5;123m") {
		if _, ok := c.number(); !ok {
			return 0
		}
		if c.byte('m') {
			return c.i
		}
		if !c.byte(';') {
			return 0
		}
	}
	return 0
}

// maxGlued bounds the parts of one line, since each costs a pass over its rest.
const maxGlued = 64

// splitGlued yields the parts of a line that stand behind progress bars and at
// the beginnings of other log lines inside it.
func splitGlued(line []byte, yield func([]byte)) {
	for range maxGlued {
		at := glued(line)
		if at <= 0 || at >= len(line) {
			break
		}
		yield(line[:at])
		line = line[at:]
	}
	yield(line)
}

// glued is where a second log line begins in this one; 0 for nowhere.
func glued(line []byte) int {
	_, _, end, ok := progress(line)
	if ok && len(bytes.TrimSpace(line[end:])) > 0 && !isPostfix(line[end:]) {
		return end
	}
	return seam(line)
}

// isPostfix is true for what tqdm prints behind its bracket ("loss=0.1").
func isPostfix(rest []byte) bool { return rest[0] == ',' }

// seamSigns are literals of which one stands in every prefix that seam splits
// at.
var seamSigns = [...]seamSign{
	{literal: []byte("pid="), inside: '('},
	{literal: []byte("INFO ")},
	{literal: []byte("ERROR ")},
	{literal: []byte("WARNING ")},
	{literal: []byte("[20")},
	{literal: []byte("[rank")},
}

// seamSign is a literal at the beginning of a prefix, or behind the byte inside
// with which the prefix begins.
type seamSign struct {
	literal []byte
	inside  byte
}

// seam finds the first unmistakable log prefix behind the line's own prefix.
// Only prefixes with a date and time, a process tag or a rank with a torch
// header count, and none inside quotes. All of them hold a closing bracket or
// parenthesis, which ends the search early in most lines.
func seam(line []byte) int {
	end := max(lastIndex(line, ']'), lastIndex(line, ')')) + 1
	first := 0
	for _, sign := range seamSigns {
		for from := 1; from < end; {
			n := bytes.Index(line[from:end], sign.literal)
			if n < 0 {
				break
			}
			at := sign.begin(line, from+n)
			if at > 0 && beginsHere(line, at) && at >= ParsePrefix(line).Len {
				// What lies behind this place is no longer of interest.
				first, end = at, at
				break
			}
			from += n + len(sign.literal)
		}
	}
	return first
}

// begin is where the prefix begins whose sign is at this offset; 0 for nowhere.
func (s seamSign) begin(line []byte, at int) int {
	if s.inside == 0 {
		return at
	}
	from := max(0, at-maxTagLen)
	return max(0, from+bytes.LastIndexByte(line[from:at], s.inside))
}

// lastIndex is bytes.LastIndexByte for a byte that is rare in the text: it hops
// forward, which the processor does many bytes at a time.
func lastIndex(text []byte, b byte) int {
	last := -1
	for {
		n := bytes.IndexByte(text[last+1:], b)
		if n < 0 {
			return last
		}
		last += n + 1
	}
}

// beginsHere reports whether a full log prefix starts at this offset. A prefix
// that is quoted, or escaped as in "\\n[2026-", is part of a message.
func beginsHere(line []byte, at int) bool {
	before := line[at-1]
	switch {
	case before == '"', before == '\'', before == '`', before == '\\':
		return false
	case before == 'n' && at > 1 && line[at-2] == '\\':
		return false
	}
	p := ParsePrefix(line[at:])
	sure := p.Code != "" || before != ' '
	switch line[at] {
	case '[':
		return p.Time.HasYear || p.Rank.Global >= 0 && sure
	case '(':
		return p.PID > 0 && sure && isServerProcess(p.Tag)
	}
	return p.Time.HasDate && p.Code != ""
}

// isServerProcess knows the process tags of vLLM and of its workers under Ray.
func isServerProcess(tag string) bool {
	return isVLLMProcess([]byte(tag)) || strings.HasPrefix(tag, "VllmWorker") || strings.HasPrefix(tag, "RayWorker")
}
