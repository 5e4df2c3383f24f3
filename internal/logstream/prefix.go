package logstream

import "bytes"

// Level is the severity that a line states.
type Level uint8

// Levels; NoLevel is a line that states none, which is the normal SGLang line.
const (
	NoLevel Level = iota
	Debug
	Info
	Warning
	Error
	Fatal
)

// Prefix is what stands before the text of a log line. The zero value of Len
// means that there is none; Rank is NoRank then.
type Prefix struct {
	Time     Time
	Level    Level
	Tag      string // process tag as printed: APIServer, EngineCore_DP0, VllmWorker; "" for none
	PID      int    // 0 when not stated
	Rank     Rank
	Code     string // position in the engine's source as printed: server_args.py:1835
	IP       string // host of a Ray worker
	Repeated int    // Ray: this line stands for so many of other workers; 0 when it does not say
	Len      int    // bytes of the prefix; the text begins there
}

// ParsePrefix reads the prefix of a line without escape sequences (Segments
// removes them). The forms of SGLang, vLLM, Ray, uvicorn, glog, torch, NCCL,
// llama.cpp, TensorRT-LLM, LMDeploy, Ascend, Open MPI and Python's logging are
// known, also several in a row, as when a worker's tag precedes a torch line.
// A name at the start of a line is no prefix: the "component:" of llama.cpp and
// the bracketed library names of SGLang belong to the text.
func ParsePrefix(line []byte) Prefix {
	s := prefixScanner{cursor: cursor{b: line}, p: Prefix{Rank: NoRank}}
	for range maxPrefixParts {
		if !s.part() {
			break
		}
		s.p.Len = s.i
	}
	if s.ray {
		s.p.Repeated = repeated(line[s.p.Len:])
	}
	return s.p
}

// maxPrefixParts bounds a stack of prefixes; the longest seen has four
// (two process tags, rank, torch).
const maxPrefixParts = 6

// prefixScanner collects one Prefix.
type prefixScanner struct {
	cursor
	p    Prefix
	ray  bool // the process tag is of a form that Ray prints
	done bool // the text follows
}

// part consumes one more part of the prefix. Forms are told apart by their
// first byte, so that a line without prefix costs one look.
func (s *prefixScanner) part() bool {
	if s.done {
		return false
	}
	switch b := s.peek(); {
	case b == '(':
		return s.processTag()
	case b == '[':
		return s.bracket()
	case isDigit(b):
		return s.llamaTime() || s.loggingTime() || s.ncclHost()
	case isUpper(b):
		return s.levelLine() || s.glog() || s.ncclHost()
	case isLetter(b):
		return s.ncclHost()
	}
	return false
}

// end marks the last part; nothing behind it is prefix.
func (s *prefixScanner) end() bool {
	s.done = true
	return true
}

// processTag consumes "(EngineCore_DP0 pid=7) ", "(VllmWorker rank=1 pid=213) ",
// "(VllmWorker TP0 pid=7) ", "(RayWorkerWrapper pid=336, ip=10.0.0.8) ",
// "(pid=7) " or, as issue texts cut it, "(EngineCore) ".
func (s *prefixScanner) processTag() bool {
	start := s.i
	s.i++
	inside, ok := s.until(')', maxTagLen)
	if !ok || !s.endOrSpace() {
		s.i = start
		return false
	}
	p := s.p
	if !parseTag(inside, &p) {
		s.i = start
		return false
	}
	s.p = p
	s.ray = p.Tag == "" || p.IP != "" || bytes.HasPrefix(inside, []byte("Ray"))
	return true
}

const maxTagLen = 120

// parseTag reads what stands between the parentheses of a process tag. Without
// a pid only the processes of vLLM are believed, since any text can stand in
// parentheses.
func parseTag(inside []byte, p *Prefix) bool {
	c := cursor{b: inside}
	name := c.word(isTagByte)
	if c.peek() == '=' {
		name, c.i = nil, 0
	}
	rank := NoRank
	tagRank(name, &rank)
	pid := 0
	for c.i < len(inside) {
		c.byte(',')
		c.spaces()
		switch {
		case c.lit("pid="):
			pid, _ = c.number()
		case c.lit("ip="):
			p.IP = string(c.word(func(b byte) bool { return b != ',' && b != ' ' }))
		case c.lit("rank="):
			rank.Global, _ = c.number()
		case c.rankWord(&rank):
		default:
			return false
		}
	}
	if pid == 0 && !isVLLMProcess(name) {
		return false
	}
	p.Tag, p.PID = intern(name), pid
	if rank != NoRank {
		p.Rank = rank
	}
	return true
}

func isTagByte(b byte) bool { return isIdent(b) || b == ':' || b == '-' || b == '.' }

// isVLLMProcess knows the names of vllm's setproctitle and log decoration.
func isVLLMProcess(name []byte) bool {
	for _, known := range [...]string{"EngineCore", "APIServer", "ApiServer", "Worker"} {
		if rest, ok := bytes.CutPrefix(name, []byte(known)); ok && (len(rest) == 0 || rest[0] == '_') {
			return true
		}
	}
	return false
}

// repeated reads Ray's remark that it has left out equal lines of other workers.
func repeated(text []byte) int {
	at := bytes.LastIndex(text, []byte("[repeated "))
	if at < 0 {
		return 0
	}
	c := cursor{b: text, i: at + len("[repeated ")}
	n, _ := c.number()
	if !c.lit("x across cluster]") {
		return 0
	}
	return n
}

// levelLine consumes the forms that begin with a level word:
//
//	INFO 04-16 10:31:19 [kv_cache_utils.py:634] text     vLLM >= 0.8
//	INFO 11-11 09:05:52 api_server.py:528] text          vLLM before
//	ERROR [core.py:1330] text                            vLLM, time cut off
//	INFO server_args.py:1835: text                       SGLang before its logger is set up
//	INFO worker.py:1841 -- text                          Ray, behind a time
//	INFO:     text                                       uvicorn
//	INFO:aiter:text                                      Python's basicConfig
//	INFO text                                            behind a time or a process tag
func (s *prefixScanner) levelLine() bool {
	start := s.i
	level := levelWord(s.word(isUpper))
	if level == NoLevel {
		s.i = start
		return false
	}
	if s.byte(':') {
		return s.levelColon(level, start)
	}
	if s.spaces() == 0 {
		s.i = start
		return false
	}
	t, timed := s.monthDayTime()
	coded := s.bracketCode() || timed && s.code("]") || s.code(":") || s.code(" --")
	if !coded && !timed && start == 0 {
		s.i = start
		return false
	}
	if coded {
		s.byte(' ')
	}
	if timed {
		s.p.Time = t
	}
	s.p.Level = level
	return s.end()
}

// levelColon reads what follows "INFO:".
func (s *prefixScanner) levelColon(level Level, start int) bool {
	if s.spaces() == 0 && s.i < len(s.b) {
		name := s.word(func(b byte) bool { return isIdent(b) || b == '.' })
		if len(name) == 0 || !s.byte(':') {
			s.i = start
			return false
		}
		s.spaces()
	}
	s.p.Level = level
	return s.end()
}

func levelWord(word []byte) Level {
	switch string(word) {
	case "DEBUG", "TRACE":
		return Debug
	case "INFO":
		return Info
	case "WARNING", "WARN":
		return Warning
	case "ERROR":
		return Error
	case "CRITICAL", "FATAL":
		return Fatal
	}
	return NoLevel
}

// levelLetter reads the one-letter levels of glog, TensorRT-LLM and llama.cpp.
func levelLetter(b byte) Level {
	switch b {
	case 'D', 'V':
		return Debug
	case 'I':
		return Info
	case 'W':
		return Warning
	case 'E':
		return Error
	case 'F', 'C':
		return Fatal
	}
	return NoLevel
}

// monthDayTime consumes "04-16 10:31:19 ".
func (c *cursor) monthDayTime() (Time, bool) {
	start := c.i
	month, ok := c.digits(2)
	ok = ok && c.byte('-')
	day, ok1 := c.digits(2)
	if ok && ok1 && c.byte(' ') {
		if sec, ok := c.clock(); ok {
			if t, ok := monthDayTime(month, day, sec); ok && (c.spaces() > 0 || c.i == len(c.b)) {
				return t, true
			}
		}
	}
	c.i = start
	return Time{}, false
}

// bracketCode consumes "[file.py:12]".
func (s *prefixScanner) bracketCode() bool {
	start := s.i
	if s.byte('[') && s.code("]") {
		return true
	}
	s.i = start
	return false
}

// code consumes a source position, file and line, and the literal that ends it.
func (s *prefixScanner) code(end string) bool {
	start := s.i
	name := s.word(func(b byte) bool { return isIdent(b) || b == '.' || b == '/' || b == '-' || b == '<' || b == '>' })
	if len(name) > 0 && s.byte(':') {
		if _, ok := s.number(); ok {
			position := s.b[start:s.i]
			if s.lit(end) {
				s.p.Code = intern(position)
				return true
			}
		}
	}
	s.i = start
	return false
}
