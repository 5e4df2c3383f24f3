package logstream

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// A copy from a terminal has hard-wrapped lines: each longer one goes on in the
// next physical line. Nothing marks them but their length, so that much has to
// agree before lines are joined.

// Widths of terminals, in columns.
const (
	minColumns = 80
	maxColumns = 200
)

// What a window of a hard-wrapped log shows.
const (
	minWrapped     = 20 // lines that are not blank
	minFullRecords = 5  // log records that fill the width and go on
)

// wrapColumns returns the width at which lines were wrapped, 0 when they were
// not: many lines have exactly the greatest length, and nearly all of these are
// followed by a line that begins no record.
func wrapColumns(lines [][]byte) int {
	columns, filled := 0, 0
	for _, line := range lines {
		if bytes.IndexByte(line, 0x1b) >= 0 {
			return 0 // a terminal's copy has no colours
		}
		if len(bytes.TrimSpace(line)) > 0 {
			filled++
		}
		columns = max(columns, utf8.RuneCount(line))
	}
	if columns < minColumns || columns > maxColumns || filled < minWrapped {
		return 0
	}
	full, goOn, records := 0, 0, 0
	for i, line := range lines {
		if utf8.RuneCount(line) != columns || isFrame(line) || i+1 == len(lines) {
			continue
		}
		full++
		if goesOn(lines[i+1]) {
			goOn++
			if isLogLine(line) {
				records++
			}
		}
	}
	if full*10 < filled*3 || goOn*10 < full*9 || records < minFullRecords {
		return 0
	}
	return columns
}

// exceptionLine begins the last line of a traceback.
var exceptionLine = regexp.MustCompile(`^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning)\b`)

// goesOn says whether a line may continue the one before it: it has no prefix
// and is no part of a traceback that stands on a line of its own.
func goesOn(line []byte) bool {
	return len(bytes.TrimSpace(line)) > 0 && !bytes.HasPrefix(line, []byte("  ")) && !isFrame(line) &&
		!isLogLine(line) && !exceptionLine.Match(line)
}

// isFrame says whether a line is a row or a rule of a drawn table, such as
// nvidia-smi's.
func isFrame(line []byte) bool {
	const corner = "|+"
	line = bytes.TrimRight(line, " ")
	if len(line) == 0 {
		return false
	}
	return bytes.IndexByte([]byte(corner), line[0]) >= 0 && bytes.IndexByte([]byte(corner), line[len(line)-1]) >= 0 ||
		len(bytes.Trim(line, "=-*#+| ")) == 0
}
