package logstream

import "bytes"

// isNotebook reports whether a stream that begins with head is a Jupyter notebook.
func isNotebook(head []byte) bool {
	head = bytes.TrimPrefix(head, utf8BOM)
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) &&
		bytes.Contains(head, []byte(`"cells"`)) && bytes.Contains(head, []byte(`"cell_type"`))
}

// maxNesting bounds the containers of a notebook's JSON that are told apart.
const maxNesting = 64

// notebook collects what a notebook's cells hold: code, prose and output. It is
// forgiving: a notebook cut off anywhere gives what is there.
//
// Jupyter sorts keys, so a cell's outputs stand before its source in the file. The
// source comes first here: a command precedes what it printed.
type notebook struct {
	text  []byte
	lines []LineRef // finished cells
	// The current cell.
	code            bool
	source, outputs []LineRef

	stack   []container
	deeper  int // open containers beyond maxNesting
	maxLine int
}

// container is an open object or array.
type container struct {
	array bool
	key   string // of an object: the key read last
	value bool   // of an object: the next string is a value
}

// readNotebook replaces the lines of the pile by those of the notebook's cells.
func (p *pile) readNotebook(maxLine int) {
	n := notebook{text: []byte{}, maxLine: maxLine}
	for _, l := range p.lines {
		n.line(l, l.raw.of(p.raw))
	}
	n.endCell()
	p.lines, p.text = n.lines, n.text
}

// line reads one physical line. Strings do not span lines in JSON, so that one
// without an end (a cut line) ends with it.
func (n *notebook) line(ref LineRef, line []byte) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '{', '[':
			n.open(c == '[')
		case '}', ']':
			n.close()
		case ':':
			n.expectValue(true)
		case ',':
			n.expectValue(false)
		case '"':
			size := stringEnd(line[i+1:])
			n.str(ref, line[i+1:i+1+size])
			i += size + 1
		}
	}
}

func (n *notebook) open(array bool) {
	if len(n.stack) == maxNesting {
		n.deeper++
		return
	}
	n.stack = append(n.stack, container{array: array})
}

func (n *notebook) close() {
	switch {
	case len(n.stack) == 0:
		return
	case n.deeper > 0:
		n.deeper--
		return
	}
	if n.stack = n.stack[:len(n.stack)-1]; len(n.stack) == 2 {
		n.endCell()
	}
}

func (n *notebook) expectValue(value bool) {
	if len(n.stack) > 0 {
		n.stack[len(n.stack)-1].value = value
	}
}

// str reads a string: a key, or a value that belongs to a cell's source or
// outputs.
func (n *notebook) str(ref LineRef, s []byte) {
	depth := len(n.stack)
	if depth == 0 {
		return
	}
	top := &n.stack[depth-1]
	if !top.array && !top.value {
		top.key = string(s)
		return
	}
	if depth < 3 || n.stack[0].key != "cells" {
		return
	}
	key := top.key
	if top.array {
		key = n.stack[depth-2].key
	}
	switch cellKey := n.stack[2].key; {
	case cellKey == "cell_type" && depth == 3:
		n.code = string(s) == "code"
	case cellKey == "source":
		n.source = n.add(n.source, ref, s)
	case cellKey == "outputs" && (key == "text" || key == "text/plain" || key == "traceback"):
		n.outputs = n.add(n.outputs, ref, s)
	}
}

// add decodes a string and appends its lines.
func (n *notebook) add(lines []LineRef, ref LineRef, s []byte) []LineRef {
	text := bytes.TrimSuffix(appendUnescaped(nil, s), []byte("\n"))
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		kept, cut := fitLine(line, 0, len(line), n.maxLine)
		l := ref
		l.Flags |= cut
		l.Start = int32(len(n.text))
		n.text = append(n.text, kept.of(line)...)
		l.End = int32(len(n.text))
		lines = append(lines, l)
	}
	return lines
}

// endCell appends the current cell's lines, source first.
func (n *notebook) endCell() {
	flags := Prose
	if n.code {
		flags |= Command
	}
	for _, l := range n.source {
		l.Flags |= flags
		n.lines = append(n.lines, l)
	}
	n.lines = append(n.lines, n.outputs...)
	n.code, n.source, n.outputs = false, nil, nil
}
