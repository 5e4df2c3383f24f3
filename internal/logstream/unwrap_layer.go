package logstream

import (
	"bytes"
	"unicode"
)

// layer is one kind of wrapper.
type layer struct {
	name string
	// split finds the parts of a line; ok is false for a line without this
	// wrapper.
	split func(line []byte) (p parts, ok bool)
	// aligned says that one line proves little: the wrapper must be seen in a
	// column of several lines (see seenIn).
	aligned bool
	// grouped says the same of a wrapper whose name of the writer must be seen
	// in most lines, and each name several times.
	grouped bool
	// opening says that a server may print such lines itself: they are a wrapper
	// only when most of the first lines are so.
	opening bool
}

// parts locates what a wrapped line holds. Empty spans are parts it does not
// have.
type parts struct {
	text   span
	time   span // the wrapper's time stamp
	origin span // who wrote the line
	stream span // stdout or stderr
	// column is where an aligned wrapper's bar stands, from the beginning of the
	// name: a colour before it has no width.
	column int
	// escaped says that the text is the inside of a JSON string, octets that it
	// is that of an array of byte values.
	escaped, octets bool
	// task is the number of the process that wrote the line.
	task span
	// partial says that the text goes on in the next line of the same stream.
	partial bool
}

// layers lists the known wrappers, the most specific first.
var layers = []layer{
	{name: "docker-json", split: splitDockerJSON},
	{name: "json", split: splitJSONLine, opening: true},
	{name: "k8s", split: splitCRI},
	{name: "gcp", split: splitGCP},
	{name: "kubectl", split: splitPod},
	{name: "stern", split: splitStern, grouped: true},
	{name: "srun", split: splitSrun, grouped: true},
	{name: "ci", split: splitCI},
	{name: "journald", split: splitJournald},
	{name: "cloudwatch", split: splitLogStream, grouped: true},
	{name: "cloudwatch", split: splitCloudWatch},
	{name: "timestamps", split: splitTimestamp},
	{name: "loki", split: splitLabels, grouped: true},
	{name: "compose", split: splitCompose, aligned: true},
	{name: "quote", split: splitQuote},
	{name: "ipynb", split: splitJSONString},
}

// decode appends the text of a line, of which s was cut out. dst may be s[:0].
func (p parts) decode(dst, s []byte) []byte {
	if p.octets {
		return appendOctets(dst, s)
	}
	return appendUnescaped(dst, s)
}

// from returns the span from start to the end of line.
func from(line []byte, start int) span { return span{int32(start), int32(len(line))} }

// splitDockerJSON reads a line of docker's json-file driver:
//
//	{"log":"text\n","stream":"stderr","time":"2025-01-01T00:00:00.1Z"}
//
// Docker splits messages at 16 KiB; all pieces but the last lack the "\n".
func splitDockerJSON(line []byte) (parts, bool) {
	const head = `{"log":"`
	if !bytes.HasPrefix(line, []byte(head)) {
		return parts{}, false
	}
	end := len(head) + stringEnd(line[len(head):])
	if end == len(line) {
		return parts{}, false
	}
	p := parts{text: span{int32(len(head)), int32(end)}, escaped: true, partial: true}
	if n := len(trimEscapedNewline(line[len(head):end])); n < end-len(head) {
		p.text.end = int32(len(head) + n)
		p.partial = false
	}
	p.stream = jsonField(line, end, `"stream":"`)
	p.time = jsonField(line, end, `"time":"`)
	return p, true
}

// jsonField finds the string value after a key, searching line from start on.
func jsonField(line []byte, start int, key string) span {
	i := bytes.Index(line[start:], []byte(key))
	if i < 0 {
		return span{}
	}
	s := start + i + len(key)
	return span{int32(s), int32(s + stringEnd(line[s:]))}
}

// trimEscapedNewline takes an escaped line feed off the end of a JSON string.
func trimEscapedNewline(s []byte) []byte {
	t, ok := bytes.CutSuffix(s, []byte(`\n`))
	if !ok {
		return s
	}
	backslashes := len(t) - len(bytes.TrimRight(t, `\`))
	if backslashes%2 == 1 {
		return s
	}
	return t
}

// splitCRI reads a line of a container runtime's log file, with the tag P for a
// piece and F for the last piece of a message:
//
//	2025-01-01T00:00:00.123456789Z stdout F text
func splitCRI(line []byte) (parts, bool) {
	n := timestampLen(line)
	rest := line[n:]
	if n == 0 || len(rest) < len(" stdout F") {
		return parts{}, false
	}
	if s := rest[1:7]; rest[0] != ' ' || string(s) != "stdout" && string(s) != "stderr" {
		return parts{}, false
	}
	if tag := rest[8]; rest[7] != ' ' || tag != 'F' && tag != 'P' || len(rest) > 9 && rest[9] != ' ' && rest[9] != ':' {
		return parts{}, false
	}
	return parts{
		text:    from(line, min(n+10, len(line))),
		time:    span{0, int32(n)},
		stream:  span{int32(n + 1), int32(n + 7)},
		partial: rest[8] == 'P',
	}, true
}

// gcpSeverities are the LogSeverity names of Cloud Logging.
var gcpSeverities = [][]byte{
	[]byte("DEFAULT"), []byte("DEBUG"), []byte("INFO"), []byte("NOTICE"), []byte("WARNING"),
	[]byte("ERROR"), []byte("CRITICAL"), []byte("ALERT"), []byte("EMERGENCY"),
}

// splitGCP reads a line of a Cloud Logging export. The severity only tells stderr
// from stdout; "{}" stands for an empty line.
//
//	ERROR 2025-04-05T00:01:19.209237575Z text
func splitGCP(line []byte) (parts, bool) {
	for _, s := range gcpSeverities {
		if !bytes.HasPrefix(line, s) || len(line) == len(s) || line[len(s)] != ' ' {
			continue
		}
		p, ok := afterTimestamp(line, len(s)+1)
		if ok && string(p.text.of(line)) == "{}" {
			p.text.end = p.text.start
		}
		return p, ok
	}
	return parts{}, false
}

// splitPod reads a line of kubectl logs --prefix:
//
//	[pod/name/container] text
func splitPod(line []byte) (parts, bool) {
	if !bytes.HasPrefix(line, []byte("[pod/")) {
		return parts{}, false
	}
	end := bytes.IndexByte(line, ']')
	if end < 0 || bytes.IndexByte(line[:end], ' ') >= 0 {
		return parts{}, false
	}
	start := end + 1
	if start < len(line) && line[start] == ' ' {
		start++
	}
	return parts{text: from(line, start), origin: span{1, int32(end)}}, true
}

// splitCI reads a line of gh run view --log, which puts job and step before the
// time stamp:
//
//	job<TAB>step<TAB>2025-01-01T00:00:00.1234567Z text
func splitCI(line []byte) (parts, bool) {
	job := bytes.IndexByte(line, '\t')
	if job <= 0 {
		return parts{}, false
	}
	step := bytes.IndexByte(line[job+1:], '\t')
	if step < 0 {
		return parts{}, false
	}
	start := job + 1 + step + 1
	if bytes.HasPrefix(line[start:], utf8BOM) {
		start += len(utf8BOM)
	}
	p, ok := afterTimestamp(line, start)
	p.origin = span{0, int32(job)}
	return p, ok
}

// splitTimestamp reads a line of docker logs -t, kubectl logs --timestamps or a
// CI job, GitLab's with its stream tag:
//
//	2025-01-01T00:00:00.123456789Z text
//	2025-01-01T00:00:00.123456Z 00O text
func splitTimestamp(line []byte) (parts, bool) {
	p, ok := afterTimestamp(line, 0)
	if !ok || isTracing(line[:p.time.end], p.text.of(line)) {
		return parts{}, false
	}
	if t := p.text.of(line); len(t) >= 4 && isDigit(t[0]) && isDigit(t[1]) &&
		(t[2] == 'O' || t[2] == 'E') && (t[3] == ' ' || t[3] == '+') {
		p.text.start += 4
	}
	return p, true
}

// isTracing reports whether a time stamp is a Rust program's own (SGLang's and
// vLLM's routers): six digits of a second, a level, a module with a colon.
func isTracing(stamp, text []byte) bool {
	if len(stamp) != len("2025-01-01T00:00:00.123456Z") {
		return false
	}
	text = bytes.TrimLeft(text, " ")
	for _, level := range [...]string{"TRACE ", "DEBUG ", "INFO ", "WARN ", "ERROR "} {
		if rest, ok := bytes.CutPrefix(text, []byte(level)); ok {
			module, _, _ := bytes.Cut(rest, []byte(" "))
			return bytes.HasSuffix(module, []byte(":"))
		}
	}
	return false
}

// afterTimestamp splits a line that has a time stamp at start.
func afterTimestamp(line []byte, start int) (parts, bool) {
	n := timestampLen(line[start:])
	end := start + n
	switch {
	case n == 0:
		return parts{}, false
	case end == len(line):
		return parts{text: from(line, end), time: from(line, start)}, true
	case line[end] != ' ' && line[end] != '\t':
		return parts{}, false
	}
	return parts{text: from(line, end+1), time: span{int32(start), int32(end)}}, true
}

// timestampLen returns the length of the RFC 3339 time stamp that b begins with,
// 0 when there is none.
func timestampLen(b []byte) int {
	const form = "0000-00-00T00:00:00"
	if !hasForm(b, form) {
		return 0
	}
	i := len(form)
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && isDigit(b[i]); i++ {
		}
	}
	switch {
	case i == len(b):
		return 0
	case b[i] == 'Z':
		return i + 1
	case b[i] != '+' && b[i] != '-':
		return 0
	case hasForm(b[i+1:], "00:00"):
		return i + 6
	case hasForm(b[i+1:], "0000"):
		return i + 5
	}
	return 0
}

// hasForm reports whether b begins like form, in which 0 stands for any digit.
func hasForm(b []byte, form string) bool {
	if len(b) < len(form) {
		return false
	}
	for i := range len(form) {
		if form[i] == '0' && !isDigit(b[i]) || form[i] != '0' && b[i] != form[i] {
			return false
		}
	}
	return true
}

const (
	monthNames = "JanFebMarAprMayJunJulAugSepOctNovDec"
	dayNames   = "MonTueWedThuFriSatSun"
)

// splitJournald reads a line of journalctl or syslog:
//
//	Nov 29 13:46:47 host vllm[123]: text
//	2025-11-29T13:46:47+0000 host vllm[123]: text
//	Sat 2025-11-29 13:46:47 UTC host vllm.service[123]: text
//	[ 1234.567890] host vllm[123]: text
//
// The journal replaces a line with control characters, such as a progress bar, by
// "[101B blob data]"; that is no text of the server.
func splitJournald(line []byte) (parts, bool) {
	n := syslogTimeLen(line)
	time, needPID := span{0, int32(n)}, n == 0
	if n == 0 {
		time, n = journalTime(line)
	}
	if n == 0 || n == len(line) || line[n] != ' ' {
		return parts{}, false
	}
	host := bytes.IndexByte(line[n+1:], ' ')
	if host <= 0 {
		return parts{}, false
	}
	start := n + 1 + host + 1
	unit, ok := syslogUnit(line[start:], needPID)
	if !ok {
		return parts{}, false
	}
	end := start + unit
	p := parts{
		text:   from(line, min(end+2, len(line))),
		time:   time,
		origin: span{int32(n + 1), int32(end)},
	}
	if isBlob(p.text.of(line)) {
		p.text.end = p.text.start
	}
	return p, true
}

// syslogUnit returns the length of the "vllm[123]" or "kernel" before the colon
// and space that b begins with. Without a process number only "kernel" is safe
// behind an ISO time stamp: other programs print "time word word: text" too.
func syslogUnit(b []byte, needPID bool) (int, bool) {
	n := bytes.IndexByte(b, ':')
	if n <= 0 || n+1 < len(b) && b[n+1] != ' ' || bytes.ContainsAny(b[:n], " \t\"'(") {
		return 0, false
	}
	unit := b[:n]
	return n, !needPID || unit[n-1] == ']' || string(unit) == "kernel"
}

// syslogTimeLen returns the length of a leading "Nov 29 13:46:47", with or without
// a fraction, 0 when there is none.
func syslogTimeLen(b []byte) int {
	const form = " 00 00:00:00"
	if len(b) < 3+len(form) {
		return 0
	}
	if i := bytes.Index([]byte(monthNames), b[:3]); i < 0 || i%3 != 0 {
		return 0
	}
	if !hasForm(b[3:], form) && !(b[4] == ' ' && isDigit(b[5]) && hasForm(b[6:], form[3:])) {
		return 0
	}
	i := 3 + len(form)
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && isDigit(b[i]); i++ {
		}
	}
	return i
}

// journalTime finds the leading time of the forms of journalctl that syslog does
// not have, and returns where what stands around it ends, 0 when there is none.
// The weekday is no part of the time, which must sort as text.
func journalTime(b []byte) (span, int) {
	if n := timestampLen(b); n > 0 {
		return span{0, int32(n)}, n
	}
	if len(b) > 0 && b[0] == '[' {
		c := cursor{b: b, i: 1}
		c.spaces()
		seconds := c.word(isDigit)
		if len(seconds) == 0 || !c.byte('.') || len(c.word(isDigit)) == 0 || !c.byte(']') {
			return span{}, 0
		}
		return span{1, int32(c.i - 1)}, c.i
	}
	const form = " 0000-00-00 00:00:00"
	if len(b) < 3+len(form) || !hasForm(b[3:], form) {
		return span{}, 0
	}
	if i := bytes.Index([]byte(dayNames), b[:3]); i < 0 || i%3 != 0 {
		return span{}, 0
	}
	c := cursor{b: b, i: 3 + len(form)}
	if c.byte('.') {
		c.word(isDigit)
	}
	end := c.i
	zone := func(c byte) bool { return 'A' <= c && c <= 'Z' || isDigit(c) || c == '+' || c == '-' }
	if !c.byte(' ') || len(c.word(zone)) == 0 {
		return span{}, 0
	}
	return span{4, int32(end)}, c.i
}

func isBlob(text []byte) bool {
	return bytes.HasPrefix(text, []byte("[")) && bytes.HasSuffix(text, []byte(" blob data]")) && len(text) < 32
}

// splitCompose reads a line of docker compose logs (or docker service logs), with
// or without colour, or of podman-compose, which puts the name between brackets.
// Progress bars lack the name. A server's own level between brackets is in capitals.
//
//	vllm-1  | text
//	[vllm]  | text
func splitCompose(line []byte) (parts, bool) {
	start := skipColour(line, 0)
	c := cursor{b: line, i: start}
	bracket := c.byte('[')
	name := span{start: int32(c.i)}
	word := c.word(isNameByte)
	name.end = int32(c.i)
	if len(word) == 0 || bracket && (!c.byte(']') || bytes.IndexFunc(word, unicode.IsLower) < 0) {
		return parts{}, false
	}
	end := c.i
	bar := end
	for bar < len(line) && line[bar] == ' ' {
		bar++
	}
	if bar == end || bar == len(line) || line[bar] != '|' {
		return parts{}, false
	}
	text := skipColour(line, bar+1)
	resetLater := start > 0 && text == bar+1
	if text < len(line) {
		if line[text] != ' ' {
			return parts{}, false
		}
		text++
	}
	if resetLater {
		text = skipColour(line, text)
	}
	return parts{text: from(line, text), origin: name, column: bar - start}, true
}

// skipColour returns the position after the colour sequence at i, if there is one.
func skipColour(line []byte, i int) int {
	if !bytes.HasPrefix(line[i:], []byte("\x1b[")) {
		return i
	}
	n := bytes.IndexByte(line[i:], 'm')
	if n < 0 || n > 16 {
		return i
	}
	return i + n + 1
}

// splitQuote reads a quoted line of a mail or an issue.
func splitQuote(line []byte) (parts, bool) {
	switch {
	case len(line) == 0 || line[0] != '>':
		return parts{}, false
	case len(line) == 1:
		return parts{text: from(line, 1)}, true
	case line[1] != ' ':
		return parts{}, false
	}
	return parts{text: from(line, 2)}, true
}

// splitJSONString reads a line of an excerpt of a notebook: one string of an
// array.
func splitJSONString(line []byte) (parts, bool) {
	start := len(line) - len(bytes.TrimLeft(line, " \t"))
	if start == len(line) || line[start] != '"' {
		return parts{}, false
	}
	start++
	end := start + stringEnd(line[start:])
	if end == len(line) {
		return parts{}, false
	}
	if after := bytes.TrimRight(line[end+1:], " \t"); len(after) > 0 && string(after) != "," {
		return parts{}, false
	}
	text := trimEscapedNewline(line[start:end])
	return parts{text: span{int32(start), int32(start + len(text))}, escaped: true}, true
}

// isNameByte reports whether c occurs in names of compose services and swarm
// tasks.
func isNameByte(c byte) bool {
	return isIdent(c) || c == '-' || c == '.' || c == '@'
}
