package logstream

import "bytes"

// isNativeFrame is true for a line of a native stack or of a thread dump, none
// of which names an exception:
//
//	frame #3: c10::Error::Error(...) + 0x96 (0x7f2a... in /x/libc10.so)    torch, lldb
//	#12 0x00007f1a2b in main ()                                            gdb
//	3       0x7f5b8c0b2b3e tensorrt_llm::executor() + 1374                 TensorRT-LLM, UCX
//	/usr/lib/libc.so.6(+0x42520) [0x7f3c54c42520]                          backtrace(3), Open MPI
//	Thread 0x00007976472006c0 (most recent call first):                    faulthandler
//	  File "x.py", line 12 in f                                            faulthandler
//	Thread 2696394 (idle): "MainThread"                                    py-spy
func isNativeFrame(text []byte) bool {
	c := cursor{b: text}
	c.spaces()
	if c.lit("* ") {
		c.spaces()
	}
	switch b := c.peek(); {
	case b == 'f':
		_, ok := c.after("frame #")
		return ok && c.byte(':')
	case b == '#':
		return isGDBFrame(c)
	case isDigit(b):
		_, ok := c.number()
		return ok && c.spaces() > 0 && isAddress(c.rest())
	case b == 'F':
		return isFaulthandlerFrame(text)
	case b == 'T', b == 'C', b == 'S', b == 'E', b == '=':
		return isStackHeader(c.rest())
	}
	return endsInAddress(text)
}

// after consumes a literal and the number behind it.
func (c *cursor) after(lit string) (int, bool) {
	if !c.lit(lit) {
		return 0, false
	}
	return c.number()
}

// isGDBFrame accepts "#0  main ()" and "#12 0x...": gdb pads the number to
// three columns.
func isGDBFrame(c cursor) bool {
	if _, ok := c.after("#"); !ok {
		return false
	}
	return c.spaces() > 1 || isAddress(c.rest())
}

// minAddress is the shortest hexadecimal number taken for an address.
const minAddress = 6

func isAddress(b []byte) bool {
	c := cursor{b: b}
	return c.lit("0x") && len(c.word(isHex)) >= minAddress
}

func isHex(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }

func isFaulthandlerFrame(text []byte) bool {
	at := bytes.Index(text, []byte(`", line `))
	if at < 0 {
		return false
	}
	c := cursor{b: text, i: at + len(`", line `)}
	_, ok := c.number()
	return ok && c.lit(" in ")
}

// isStackHeader is true for the line above a native stack or a thread's calls.
func isStackHeader(text []byte) bool {
	switch {
	case bytes.HasSuffix(bytes.TrimSpace(text), []byte("(most recent call first):")):
		return true
	case bytes.HasPrefix(text, []byte("==== backtrace")):
		return true
	}
	return isPySpyThread(text)
}

// isPySpyThread is true for `Thread 2696394 (idle): "MainThread"`.
func isPySpyThread(text []byte) bool {
	c := cursor{b: text}
	if !c.lit("Thread ") {
		return false
	}
	c.lit("0x")
	if len(c.word(isHex)) == 0 {
		return false
	}
	return c.lit(" (idle)") || c.lit(" (active") || c.lit(" (sleep)")
}

// isPySpyFrame is true for "    recv (zmq/sugar/socket.py:12)" and the lines of
// local variables below it, within the dump of one thread.
func isPySpyFrame(text []byte) bool {
	return bytes.HasPrefix(text, []byte("    ")) && len(bytes.TrimSpace(text)) > 0
}

// endsInAddress is true for "./llama-cli(+0x2587b5)[0x55a5b0c1]" and with a
// blank before the bracket.
func endsInAddress(text []byte) bool {
	text = bytes.TrimRight(text, " ")
	if len(text) == 0 || text[len(text)-1] != ']' {
		return false
	}
	at := bytes.LastIndex(text, []byte("[0x"))
	return at > 0 && isAddress(text[at+1:]) && (text[at-1] == ')' || text[at-1] == ' ')
}
