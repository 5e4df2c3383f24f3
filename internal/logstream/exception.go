package logstream

// Frame is one call of a Python traceback.
type Frame struct {
	File   string
	Line   int // in File
	Func   string
	Source string // first source line, "" when the log shows none
	At     int    // physical line in the log
}

// Exception is one exception of a traceback.
type Exception struct {
	// Type is the class as printed, with its module; "" when the log ends or is
	// cut before the exception's line.
	Type    string
	Message string // first line of the message
	// At and End are the physical lines of "Type: message" and of the message's
	// last line; 0 without a Type.
	At, End int
	Texts   []string // the lines At..End without prefix, as far as kept
	Frames  []Frame  // outermost call first
	Link    string   // how the exception follows from the one before it: one of the Link constants
	Dropped int      // frames and lines of text that were not kept
}

// How an exception of a chain follows from the one printed before it. The first
// has no link.
const (
	LinkContext = "context" // "During handling of the above exception": raised by its handler
	LinkCause   = "cause"   // "direct cause": raised from it
)

// Traceback is one Python traceback with all exceptions of its chain.
type Traceback struct {
	First, Last int // physical lines
	Tag         string
	PID         int
	Rank        Rank
	Time        Time
	// Chain holds the exceptions from the original to the one that ended the
	// call. This is the order in which Python prints them, except that a
	// traceback inside the message of an exception (Ray's and multiprocessing's
	// remote tracebacks, exception groups) stands before that exception.
	Chain []Exception
	// Wrapped is what announced the traceback: the text before it on the same
	// line ("Scheduler hit an exception:"), or else the log line right above it.
	Wrapped string
}

// Class says what a line is in terms of tracebacks.
type Class uint8

// Classes of lines.
const (
	ClassLog          Class = iota // a log line with a prefix, part of no traceback
	ClassOutput                    // a line without prefix, part of no traceback
	ClassTraceback                 // "Traceback (most recent call last):"
	ClassFrame                     // a File line
	ClassSource                    // what follows a File line: source, markers, "...<7 lines>...", repeat counts
	ClassException                 // "Type: message"
	ClassContinuation              // a further line of the message
	ClassChain                     // "During handling of the above exception", "direct cause"
	ClassNativeFrame               // a C++ frame, or a line of a thread dump (faulthandler, py-spy)
)

// Bounds of what is kept, against endless recursions and generated messages.
const (
	maxFrames = 256  // of one traceback
	maxText   = 4096 // bytes of one text
	maxTexts  = 400  // lines of one message
	maxChain  = 32   // exceptions of one traceback
	maxOpen   = 64   // unfinished tracebacks at a time
)

// clip copies a line as far as it is kept.
func clip(text []byte) string { return string(text[:min(len(text), maxText)]) }
