package logstream

import "bytes"

// IsErrorLike reports whether a line that is part of no traceback looks like
// an error to a reader: by its level, by the shape "SomeError: ...", or, where
// no level is stated, by the words with which programs die. Lines that only
// mention such words, as settings, counts or names do, are not meant.
func IsErrorLike(p Prefix, text []byte) bool {
	switch {
	case len(bytes.TrimSpace(text)) == 0 || isConfigDump(text):
		return false
	case p.Level >= Error:
		// An indented line continues a record of several lines.
		return text[0] != ' ' && text[0] != '\t'
	case p.Level != NoLevel:
		return hasWord(text, isExceptionWord)
	}
	return isShellReport(text) || hasPhrase(text) || hasWord(text, isErrorWord)
}

// ErrorSigns are literals of which one stands in every text that IsErrorLike
// takes for an error by its words, that is without a level of Error or above.
// A caller that searches for many literals at once can spare the call for the
// other lines.
func ErrorSigns() []string {
	signs := []string{
		"Error:", "Error(", "Exception:", "Exception(", // isExceptionWord
		"error:", "exception:", "panic:", "PANIC:", "ERROR", "FATAL", "Fatal", "fatal", "Aborting", "aborting", // isErrorWord
		"ssert", "SSERT", // isAssertion
	}
	for _, phrase := range fatalPhrases {
		signs = append(signs, string(phrase))
	}
	return append(signs, shellReports[:]...)
}

// dumpSigns are the literals of configuration dumps and argument lists, which
// hold settings named after every kind of failure.
var dumpSigns = [][]byte{
	[]byte("server_args="), []byte("ServerArgs("), []byte("Namespace("), []byte("non-default args"),
	[]byte(" with config: "), []byte("EngineArgs("), []byte("usage: "),
}

func isConfigDump(text []byte) bool {
	head := text[:min(len(text), 200)]
	for _, sign := range dumpSigns {
		if bytes.Contains(head, sign) {
			return true
		}
	}
	return false
}

// fatalPhrases are what the C library, the kernel, the loader and GPU runtimes
// print without any level.
var fatalPhrases = [][]byte{
	[]byte("Segmentation fault"), []byte("core dumped"), []byte("double free"), []byte("out of memory"),
	[]byte("illegal memory access"), []byte("undefined symbol"), []byte("Bus error"), []byte("Illegal instruction"),
	[]byte("Memory access fault"), []byte("terminate called"), []byte("panicked at"), []byte("device-side assert"),
	[]byte("cannot open shared object file"),
}

func hasPhrase(text []byte) bool {
	for _, phrase := range fatalPhrases {
		if bytes.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// hasWord reports whether any identifier of the text satisfies is, which also
// gets the text before and behind it.
func hasWord(text []byte, is func(before, word, behind []byte) bool) bool {
	for i := 0; i < len(text); {
		if !isIdent(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && isIdent(text[i]) {
			i++
		}
		if is(text[:start], text[start:i], text[i:]) {
			return true
		}
	}
	return false
}

// isExceptionWord is true for a class name such as ValueError before a colon or
// a parenthesis.
func isExceptionWord(_, word, behind []byte) bool {
	if len(behind) == 0 || behind[0] != ':' && behind[0] != '(' || !isUpper(word[0]) {
		return false
	}
	for _, suffix := range [...]string{"Error", "Exception"} {
		if bytes.HasSuffix(word, []byte(suffix)) && len(word) > len(suffix) {
			return true
		}
	}
	return false
}

func isErrorWord(before, word, behind []byte) bool {
	if isExceptionWord(before, word, behind) {
		return true
	}
	if isNamePart(before, behind) {
		return false
	}
	announces := len(behind) > 0 && behind[0] == ':'
	switch string(word) {
	case "error", "Error", "exception", "Exception", "panic", "PANIC":
		return announces
	case "ERROR", "FATAL", "Fatal", "Aborting", "aborting", "Aborted":
		return true
	case "fatal":
		return !bytes.HasSuffix(before, []byte("not ")) && !bytes.HasSuffix(before, []byte("non "))
	}
	return isAssertion(word, behind)
}

// isNamePart is true for a word that is a part of a flag, a path, a setting or
// a quoted name: --log-level error, /var/error.log, on_error=.
func isNamePart(before, behind []byte) bool {
	if n := len(before); n > 0 && bytes.IndexByte([]byte("-./='\"`"), before[n-1]) >= 0 {
		return true
	}
	return len(behind) > 0 && bytes.IndexByte([]byte("-/='\"`"), behind[0]) >= 0
}

// isAssertion is true for "Assertion `x' failed", "GGML_ASSERT(x) failed" and
// "assert: ...".
func isAssertion(word, behind []byte) bool {
	switch string(word) {
	case "assertion", "Assertion", "ASSERTION":
	default:
		if tail := word[max(0, len(word)-len("assert")):]; string(tail) != "assert" && string(tail) != "Assert" && string(tail) != "ASSERT" {
			return false
		}
	}
	return len(behind) > 0 && behind[0] == ':' || bytes.Contains(behind[:min(len(behind), maxAssertion)], []byte("failed"))
}

// maxAssertion bounds the asserted expression.
const maxAssertion = 500
