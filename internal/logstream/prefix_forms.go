package logstream

import "bytes"

// This file holds the prefix forms of the libraries and of the engines whose
// lines do not begin with a level word. Each method consumes one form or
// leaves the scanner as it was.

// bracket consumes the forms that begin with '['.
func (s *prefixScanner) bracket() bool {
	start := s.i
	s.i++
	var ok bool
	switch b := s.peek(); {
	case isDigit(b):
		ok = s.bracketTime() || s.usDate() || s.epoch() || s.mpiRank() || s.mpiHost()
	case isUpper(b):
		ok = s.library() || s.torchCPP() || s.levelBracket() || s.ascendPID() || s.mpiHost()
	case isLetter(b):
		ok = s.torchRank() || s.oldSGLang() || s.mpiHost()
	}
	if !ok {
		s.i = start
	}
	return ok
}

// bracketTime consumes the SGLang form "2026-02-26 06:25:15 DP0 TP1 EP1] " and
// the form of Ray's C++ side, "2024-11-11 09:36:27,195 E 908 1048] ".
func (s *prefixScanner) bracketTime() bool {
	start := s.i
	t, ok := s.isoTime()
	if ok && (s.sglangRanks() || s.rayCPP()) {
		s.p.Time = t
		return true
	}
	s.i = start
	return false
}

func (s *prefixScanner) sglangRanks() bool {
	start := s.i
	rank := NoRank
	for s.byte(' ') {
		if !s.rankWord(&rank) {
			s.i = start
			return false
		}
	}
	if !s.byte(']') || !s.endOrSpace() {
		s.i = start
		return false
	}
	if rank != NoRank {
		s.p.Rank = rank
	}
	return true
}

func (s *prefixScanner) rayCPP() bool {
	start := s.i
	s.byte(' ')
	level := levelLetter(s.peek())
	s.i++
	s.spaces()
	pid, ok := s.number()
	s.spaces()
	_, ok1 := s.number()
	if level == NoLevel || !ok || !ok1 || !s.lit("] ") {
		s.i = start
		return false
	}
	if s.code(":") {
		s.byte(' ')
	}
	s.p.Level, s.p.PID = level, pid
	return s.end()
}

// usDate consumes "04/17/2026-08:21:45] ", which TensorRT-LLM prints before
// its name.
func (s *prefixScanner) usDate() bool {
	start := s.i
	month, ok := s.digits(2)
	ok = ok && s.byte('/')
	day, ok1 := s.digits(2)
	ok = ok && ok1 && s.byte('/')
	year, ok1 := s.digits(4)
	if ok && ok1 && s.byte('-') {
		if sec, ok := s.clock(); ok && s.lit("] ") {
			if t, ok := dateTime(year, month, day, sec); ok {
				s.p.Time = t
				return true
			}
		}
	}
	s.i = start
	return false
}

// epoch consumes the seconds since 1970 of UCX, "1765066816.574825] ".
func (s *prefixScanner) epoch() bool {
	start := s.i
	sec, ok := s.digits(10)
	if ok && s.byte('.') {
		fraction := s.fraction()
		if s.lit("] ") {
			s.p.Time = absolute(float64(sec) + fraction)
			return true
		}
	}
	s.i = start
	return false
}

// mpiRank consumes "1,3]<stderr>:", the output tag of mpirun.
func (s *prefixScanner) mpiRank() bool {
	start := s.i
	_, ok := s.number()
	ok = ok && s.byte(',')
	rank, ok1 := s.number()
	if ok && ok1 && (s.lit("]<stdout>:") || s.lit("]<stderr>:")) {
		s.p.Rank.Global = rank
		return true
	}
	s.i = start
	return false
}

// minMPIPID is how wide Open MPI pads a pid. A shorter one is a source
// position such as [core.py:718].
const minMPIPID = 5

// mpiHost consumes the host of Open MPI, "67d371949311:01722] ", and of UCX,
// "67d371949311:1722 :0:1777] ", with UCX's source position.
func (s *prefixScanner) mpiHost() bool {
	start := s.i
	host := s.word(isHostByte)
	ok := len(host) > 0 && s.byte(':')
	from := s.i
	pid, ok1 := s.number()
	width := s.i - from
	s.spaces()
	ucx := false
	for s.byte(':') {
		_, ucx = s.number()
	}
	if !ok || !ok1 || !s.byte(']') || !ucx && width < minMPIPID || !s.endOrSpace() {
		s.i = start
		return false
	}
	s.p.PID = pid
	if ucx {
		s.ucxPosition()
	}
	return true
}

func (s *prefixScanner) ucxPosition() {
	start := s.i
	s.spaces()
	if !s.code(" ") {
		s.i = start
		return
	}
	s.p.Level = levelBehind(s.rest(), "UCX")
}

// levelBehind reads the level word behind a library's name, which both belong
// to the text: "NCCL WARN ...".
func levelBehind(text []byte, library string) Level {
	c := cursor{b: text}
	if !c.lit(library) {
		return NoLevel
	}
	c.spaces()
	return levelWord(c.word(isUpper))
}

func isHostByte(b byte) bool { return isIdent(b) || b == '-' || b == '.' }

// library consumes "TRT-LLM] [RANK 1] [E] ", "TRT] [I] " and the C++ forms
// "TensorRT-LLM][ERROR] " and "TM][ERROR] " (LMDeploy's TurboMind).
func (s *prefixScanner) library() bool {
	start := s.i
	if s.lit("TRT-LLM] ") || s.lit("TRT] ") {
		rank, ranked := s.bracketRank()
		if level := s.bracketLevel(); level != NoLevel {
			s.p.Level = level
			if ranked {
				s.p.Rank.Global = rank
			}
			return s.end()
		}
	} else if s.lit("TensorRT-LLM]") || s.lit("TM]") {
		if level := s.bracketLevel(); level != NoLevel {
			s.p.Level = level
			return s.end()
		}
	}
	s.i = start
	return false
}

// bracketRank consumes "[RANK 1] ".
func (s *prefixScanner) bracketRank() (int, bool) {
	start := s.i
	if s.lit("[RANK ") {
		if rank, ok := s.number(); ok && s.lit("] ") {
			return rank, true
		}
	}
	s.i = start
	return 0, false
}

// bracketLevel consumes "[ERROR] " or "[E] ".
func (s *prefixScanner) bracketLevel() Level {
	start := s.i
	if s.byte('[') {
		word := s.word(isUpper)
		level := levelWord(word)
		if len(word) == 1 {
			level = levelLetter(word[0])
		}
		if level != NoLevel && s.byte(']') && s.endOrSpace() {
			return level
		}
	}
	s.i = start
	return NoLevel
}

// levelBracket consumes "ERROR] ", with what Ascend prints behind it:
// "2026-06-09-03:35:23 (PID:428723, Device:0, RankID:-1) ".
func (s *prefixScanner) levelBracket() bool {
	start := s.i
	level := levelWord(s.word(isUpper))
	if level == NoLevel || !s.lit("] ") {
		s.i = start
		return false
	}
	s.p.Level = level
	if t, ok := s.isoTime(); ok {
		s.p.Time = t
		s.byte(' ')
		s.ascendProcess()
	}
	return s.end()
}

func (s *prefixScanner) ascendProcess() {
	start := s.i
	if s.lit("(PID:") {
		if pid, ok := s.number(); ok {
			if _, ok := s.until(')', maxTagLen); ok && s.endOrSpace() {
				s.p.PID = pid
				return
			}
		}
	}
	s.i = start
}

// ascendPID consumes "PID: 428723] 2026-06-09-03:35:23.635.715 ".
func (s *prefixScanner) ascendPID() bool {
	start := s.i
	if s.lit("PID: ") {
		pid, ok := s.number()
		if ok && s.lit("] ") {
			if t, ok := s.isoTime(); ok && s.endOrSpace() {
				s.p.PID, s.p.Time = pid, t
				return s.end()
			}
		}
	}
	s.i = start
	return false
}

// torchRank consumes "rank1]:" and torchrun's "default1]:".
func (s *prefixScanner) torchRank() bool {
	start := s.i
	if s.lit("rank") || s.lit("default") {
		if rank, ok := s.number(); ok && s.lit("]:") {
			s.byte(' ')
			s.p.Rank.Global = rank
			return true
		}
	}
	s.i = start
	return false
}

// oldSGLang consumes "gpu_id=0] " and "gpu=0] " of 2024.
func (s *prefixScanner) oldSGLang() bool {
	start := s.i
	if s.lit("gpu_id=") || s.lit("gpu=") {
		if n, ok := s.number(); ok && s.lit("] ") {
			s.p.Rank.TP = n
			return true
		}
	}
	s.i = start
	return false
}

// torchCPP consumes "E129 08:52:51.685329145 ProcessGroupNCCL.cpp:1595] " and,
// from before torch 2.6, "W ProcessGroupGloo.cpp:721] ".
func (s *prefixScanner) torchCPP() bool {
	start := s.i
	level := levelLetter(s.peek())
	s.i++
	var t Time
	timed := false
	if isDigit(s.peek()) {
		t, timed = s.torchTime()
	}
	if level == NoLevel || !s.byte(' ') || !s.code("]") || !s.endOrSpace() {
		s.i = start
		return false
	}
	s.p.Level = level
	if timed {
		s.p.Time = t
	}
	return s.end()
}

// torchTime reads a date as torch writes it, month without padding and day in
// two digits (129 is 29 January), and the time behind it.
func (s *prefixScanner) torchTime() (Time, bool) {
	date, ok := s.number()
	if !ok || !s.byte(' ') {
		return Time{}, false
	}
	sec, ok := s.clock()
	if !ok {
		return Time{}, false
	}
	return monthDayTime(date/100, date%100, sec)
}

// glog consumes "E0227 14:34:03.337682 3833148 rdma_context.cpp:265] " and
// Abseil's form before its initialisation, "E0000 00:00:1754600272.146783 10516
// cuda_dnn.cc:8579] ".
func (s *prefixScanner) glog() bool {
	start := s.i
	level := levelLetter(s.peek())
	s.i++
	t, ok := s.glogTime()
	s.spaces()
	pid, ok1 := s.number()
	s.spaces()
	if level == NoLevel || !ok || !ok1 || !s.code("]") {
		s.i = start
		return false
	}
	s.byte(' ')
	s.dynamoFrame()
	s.p.Level, s.p.Time = level, t
	if s.p.PID == 0 {
		s.p.PID = pid
	}
	return s.end()
}

// dynamoFrame consumes "[1/0] ", torch.compile's number of the compiled frame.
func (s *prefixScanner) dynamoFrame() {
	start := s.i
	if s.byte('[') && isDigit(s.peek()) {
		s.word(func(b byte) bool { return isDigit(b) || b == '/' || b == '_' })
		if s.byte(']') && s.endOrSpace() {
			return
		}
	}
	s.i = start
}

func (s *prefixScanner) glogTime() (Time, bool) {
	month, ok := s.digits(2)
	day, ok1 := s.digits(2)
	if !ok || !ok1 || !s.byte(' ') {
		return Time{}, false
	}
	if month == 0 && s.lit("00:00:") {
		sec, ok := s.digits(10)
		if !ok || !s.byte('.') {
			return Time{}, false
		}
		return absolute(float64(sec) + s.fraction()), true
	}
	sec, ok := s.clock()
	if !ok {
		return Time{}, false
	}
	return monthDayTime(month, day, sec)
}

// llamaTime consumes "0.00.508.159 I ", minutes, seconds, milliseconds and
// microseconds since the start of llama.cpp.
func (s *prefixScanner) llamaTime() bool {
	start := s.i
	min, ok := s.number()
	ok = ok && s.byte('.')
	sec, ok1 := s.digits(2)
	ok = ok && ok1 && s.byte('.')
	milli, ok1 := s.digits(3)
	ok = ok && ok1 && s.byte('.')
	micro, ok1 := s.digits(3)
	if ok && ok1 && s.byte(' ') {
		if level := levelLetter(s.peek()); level != NoLevel {
			s.i++
			if s.endOrSpace() {
				s.p.Time = Time{Sec: float64(min*60+sec) + float64(milli)/1e3 + float64(micro)/1e6, Elapsed: true, set: true}
				s.p.Level = level
				return s.end()
			}
		}
	}
	s.i = start
	return false
}

// loggingTime consumes a date and time at the start of a line and what Python's
// logging, TensorFlow and Ascend's libraries print behind it. Other text behind
// the time may still be a level line.
func (s *prefixScanner) loggingTime() bool {
	start := s.i
	t, ok := s.isoTime()
	if !ok {
		return false
	}
	switch {
	case s.lit(" - "):
		s.loggingFields()
	case s.lit(": "):
		if !s.tensorflow() {
			s.i = start
			return false
		}
	case s.spaces() > 0 || s.i == len(s.b):
		s.lowerLevel()
	default:
		s.i = start
		return false
	}
	s.p.Time = t
	return true
}

// loggingFields consumes "lmdeploy - ERROR - model_agent.py:489 - ", of which
// name and position may be missing.
func (s *prefixScanner) loggingFields() {
	start := s.i
	level := levelWord(s.word(isUpper))
	if level == NoLevel || !s.lit(" - ") {
		s.i = start
		s.word(func(b byte) bool { return isIdent(b) || b == '.' })
		if !s.lit(" - ") {
			s.i = start
			return
		}
		level = levelWord(s.word(isUpper))
		if level == NoLevel || !s.lit(" - ") {
			s.i = start
			return
		}
	}
	s.p.Level = level
	s.code(" - ")
	s.end()
}

// tensorflow consumes "E external/local_xla/xla/cuda_fft.cc:485] ".
func (s *prefixScanner) tensorflow() bool {
	start := s.i
	level := levelLetter(s.peek())
	s.i++
	if level == NoLevel || !s.byte(' ') || !s.code("]") {
		s.i = start
		return false
	}
	s.byte(' ')
	s.p.Level = level
	return s.end()
}

// lowerLevel consumes "error 14654 pid[1113] " of Ascend's memfabric.
func (s *prefixScanner) lowerLevel() {
	start := s.i
	word := s.word(isLetter)
	s.spaces()
	_, ok := s.number()
	if ok && s.lit(" pid[") {
		if pid, ok := s.number(); ok && s.lit("] ") {
			s.p.Level, s.p.PID = levelWord(bytes.ToUpper(word)), pid
			s.end()
			return
		}
	}
	s.i = start
}

// maxHostLen is the limit of DNS for one label, and some.
const maxHostLen = 80

// ncclHost consumes NCCL's "host:pid:tid [device] " with its source position;
// "NCCL WARN" stays in the text.
func (s *prefixScanner) ncclHost() bool {
	start := s.i
	host := s.word(isHostByte)
	ok := len(host) > 0 && len(host) <= maxHostLen && s.byte(':')
	if !ok {
		s.i = start
		return false
	}
	pid, ok := s.number()
	ok = ok && s.byte(':')
	_, ok1 := s.number()
	ok = ok && ok1 && s.lit(" [")
	_, ok1 = s.number()
	if !ok || !ok1 || !s.lit("] ") {
		s.i = start
		return false
	}
	s.code(" ")
	s.p.PID, s.p.Level = pid, levelBehind(s.rest(), "NCCL")
	return s.end()
}
