package logstream

import "bytes"

// fences tells the log from the prose of a Markdown stream, line by line. Log
// lines that the author pasted outside code fences count as log until the next
// heading, fence or HTML tag.
type fences struct {
	mark  byte // of the open fence, '`' or '~'; 0 outside
	width int  // of the open fence
	loose bool // in a log outside fences
}

// flag returns the flags of the next line.
func (f *fences) flag(line []byte) LineFlag {
	mark, width, info := fence(line)
	switch {
	case f.mark != 0:
		if mark == f.mark && width >= f.width && len(info) == 0 {
			f.mark = 0
			return Prose
		}
		return 0
	case width > 0:
		f.mark, f.width = mark, width
		return Prose
	case isLogLine(line):
		f.loose = true
	case endsLooseLog(line):
		f.loose = false
	}
	if f.loose {
		return 0
	}
	return Prose
}

// fence reads a code fence: at least three backquotes or tildes, and what follows
// them. Fences stand indented in lists. Width 0: no fence.
func fence(line []byte) (mark byte, width int, info []byte) {
	line = bytes.TrimSpace(line)
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return 0, 0, nil
	}
	info = bytes.TrimLeft(line, string(line[:1]))
	width = len(line) - len(info)
	if width < 3 || bytes.IndexByte(info, line[0]) >= 0 {
		return 0, 0, nil
	}
	return line[0], width, bytes.TrimSpace(info)
}

// isMarkdown reports whether lines are Markdown with code fences rather than a
// log in which a prompt or a template happens to hold one: the text does not
// begin with a log line.
func isMarkdown(lines [][]byte) bool {
	begun := false
	for _, line := range lines {
		if _, width, _ := fence(line); width > 0 {
			return true
		}
		if !begun && len(bytes.TrimSpace(line)) > 0 {
			if begun = true; isLogLine(line) {
				return false
			}
		}
	}
	return false
}

// endsLooseLog reports whether a line outside fences begins the author's text
// again: a heading or a block of HTML.
func endsLooseLog(line []byte) bool {
	heading := bytes.TrimLeft(line, "#")
	if n := len(line) - len(heading); n > 0 && n <= 6 {
		return bytes.HasPrefix(heading, []byte(" "))
	}
	for _, tag := range [...]string{"<details", "</details", "<summary", "<img", "<!--"} {
		if bytes.HasPrefix(line, []byte(tag)) {
			return true
		}
	}
	return false
}

// isLogLine reports whether a server wrote this line: it has a prefix, or begins
// a traceback.
func isLogLine(line []byte) bool {
	return ParsePrefix(line).Len > 0 || bytes.HasPrefix(line, []byte("Traceback (most recent call last):"))
}
