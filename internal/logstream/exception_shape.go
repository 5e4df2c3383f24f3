package logstream

import "bytes"

// This file recognises single lines of a Python traceback by their form.

const headerText = "Traceback (most recent call last):"

// header finds the start of a traceback. What stands before it on the line is
// the announcement. CANN's "TraceBack" is none: it lists causes, not calls.
func header(text []byte) (before []byte, group, ok bool) {
	at := bytes.Index(text, []byte(headerText))
	if at < 0 || len(bytes.TrimSpace(text[at+len(headerText):])) > 0 {
		return nil, false, false
	}
	before = bytes.TrimSpace(text[:at])
	if before, group = bytes.CutSuffix(before, []byte("+ Exception Group")); group {
		before = bytes.TrimSpace(before)
	}
	return before, group, true
}

// chainLink reads the line between two exceptions of a chain.
func chainLink(text []byte) (link string, ok bool) {
	switch string(bytes.TrimSpace(text)) {
	case "During handling of the above exception, another exception occurred:":
		return LinkContext, true
	case "The above exception was the direct cause of the following exception:":
		return LinkCause, true
	}
	return "", false
}

// parseFrame reads `  File "path", line 12, in func`. The form without a
// function is that of a SyntaxError. (faulthandler writes no second comma; see
// isNativeFrame.)
func parseFrame(text []byte) (f Frame, ok bool) {
	c := cursor{b: text}
	c.spaces()
	if !c.lit(`File "`) {
		return Frame{}, false
	}
	path := c.i
	n := bytes.Index(c.rest(), []byte(`", line `))
	if n < 0 {
		return Frame{}, false
	}
	c.i += n + len(`", line `)
	line, ok := c.number()
	if !ok {
		return Frame{}, false
	}
	f = Frame{File: clip(text[path : path+n]), Line: line}
	if c.lit(", in ") {
		f.Func = clip(bytes.TrimSpace(c.rest()))
		return f, true
	}
	return f, len(bytes.TrimSpace(c.rest())) == 0
}

// exceptionHead reads "Type: message" or a lone "Type". It is loose, since any
// class can be raised: only a line behind frames should be read so.
func exceptionHead(text []byte) (class, message []byte, ok bool) {
	c := cursor{b: text}
	class = c.word(func(b byte) bool { return isIdent(b) || b == '.' || b == '<' || b == '>' })
	if len(class) == 0 || isDigit(class[0]) || class[0] == '.' || class[len(class)-1] == '.' {
		return nil, nil, false
	}
	if bytes.HasSuffix(class, []byte("RayTaskError")) && c.byte('(') { // RayTaskError(ValueError)
		if inner, closed := c.until(')', maxTagLen); !closed || len(inner) == 0 {
			return nil, nil, false
		}
		class = text[:c.i]
	}
	switch {
	case c.byte(':'):
		if c.i < len(text) && !c.byte(' ') {
			return nil, nil, false
		}
		return class, text[c.i:], true
	case len(bytes.TrimSpace(c.rest())) == 0:
		last := class[bytes.LastIndexByte(class, '.')+1:]
		return class, nil, isUpper(last[0]) && !isShellReport(class)
	}
	return nil, nil, false
}

// shellReports are what a shell prints when a process dies.
var shellReports = [...]string{"Killed", "Aborted", "Segmentation fault", "Bus error", "Illegal instruction", "Terminated", "Trace/breakpoint trap"}

func isShellReport(text []byte) bool {
	for _, report := range shellReports {
		if rest, ok := bytes.CutPrefix(text, []byte(report)); ok && (len(rest) == 0 || rest[0] == ' ') {
			return true
		}
	}
	return false
}

// surelyException is exceptionHead for a line that no traceback announces: the
// class must be named like an exception.
func surelyException(text []byte) bool {
	if len(text) == 0 || !isLetter(text[0]) {
		return false
	}
	class, _, ok := exceptionHead(text)
	if !ok {
		return false
	}
	if open := bytes.IndexByte(class, '('); open >= 0 {
		class = class[:open]
	}
	last := class[bytes.LastIndexByte(class, '.')+1:]
	if !isUpper(last[0]) || string(last) == "Error" {
		return false
	}
	for _, suffix := range [...]string{"Error", "Exception", "Interrupt", "Exit", "OutOfResources"} {
		if bytes.HasSuffix(last, []byte(suffix)) {
			return true
		}
	}
	return false
}

// isCut is true for a line by which an author marks that lines were left out.
func isCut(text []byte) bool {
	switch string(bytes.TrimSpace(text)) {
	case "...", "....", "…", "[...]", "(...)", "......":
		return true
	}
	return false
}

// ungroup removes the margin of an exception group, "  | ", and reports whether
// the line has one. A ruler between the parts of a group becomes "".
func ungroup(text []byte) (inner []byte, margin bool) {
	c := cursor{b: text}
	if c.spaces() == 0 {
		return text, false
	}
	switch {
	case c.byte('|'):
		c.byte(' ')
		return c.rest(), true
	case c.lit("+-"):
		return nil, true
	case c.lit("+ Exception Group "):
		return text, true
	}
	return text, false
}

// endsMessage is true for a line that surely belongs to something else than the
// message of the exception above it.
func endsMessage(text []byte) bool {
	if isShellReport(text) || isPrompt(text) {
		return true
	}
	for _, start := range [...]string{"```", "Exception ignored in", "Fatal Python error", "terminate called", "--- Logging error ---", "nohup:", "bash: ", "sh: "} {
		if bytes.HasPrefix(text, []byte(start)) {
			return true
		}
	}
	if bytes.HasPrefix(text, []byte("Process ")) && bytes.HasSuffix(text, []byte(":")) {
		return true
	}
	if isPythonWarning(text) {
		return true
	}
	_, _, bar := IsProgress(text)
	return bar
}

// isPrompt is true for a shell prompt: "$ cmd", "user@host:~$ cmd".
func isPrompt(text []byte) bool {
	if bytes.HasPrefix(text, []byte("$ ")) {
		return true
	}
	at := bytes.IndexByte(text, '@')
	if at <= 0 || bytes.IndexByte(text[:at], ' ') >= 0 {
		return false
	}
	end := bytes.IndexAny(text[at:], "$#")
	return end > 0 && bytes.IndexByte(text[at:at+end], ':') > 0
}

// isPythonWarning is true for "/path/file.py:12: UserWarning: text".
func isPythonWarning(text []byte) bool {
	at := bytes.Index(text, []byte(".py:"))
	return at > 0 && bytes.Contains(text[at:], []byte("Warning: "))
}
