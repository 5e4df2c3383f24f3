package launch

import (
	"bytes"
	"slices"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/engine"
	"shakedown/internal/fact"
	"shakedown/internal/logstream"
	"shakedown/internal/match"
)

// Builder turns the lines of one file into launches. Blocks are handed to it in
// file order; it looks closely only at lines in which the index found an
// anchor, and at lines that continue what such a line began (a traceback, a
// hard-wrapped dump, a command with continuation lines).
//
// A Builder belongs to one goroutine. Done is called with each launch as soon
// as the next one begins, and by Close with the last.
type Builder struct {
	index  *Index
	file   string
	forced *engine.Engine
	told   []fact.Fact
	done   func(*Launch)

	cur     *Launch
	engine  *engine.Engine // engine of the file so far
	guess   *engine.Engine // engine that signs of the first block suggest
	tracker *logstream.Tracker
	seq     int

	pending    *command.Command // a command whose launch has not shown itself yet
	pendingPos fact.Pos
	pendingTxt string
	cmdParts   []string // lines of a command that continues with a backslash
	cmdFirst   int
	dump       *openDump
	tbPrefix   logstream.Prefix // prefix that opened the traceback of unprefixed lines
	inTrace    bool
	marks      map[int]int // place of the headers and exception lines of unfinished tracebacks

	cut      bool   // the launch was handed out before the file went on (Cut)
	lastNo   int    // last non-blank line that is no prose
	prevNo   int    // the one before it
	lastText []byte // its text
	firstNo  int    // first line since the last launch that can belong to the next one
	scratch  []sighting

	lineStart int32 // of the line being read, in its block
}

// openDump is a config dump whose closing bracket has not come yet.
type openDump struct {
	watch  *Watch
	prefix logstream.Prefix
	pos    fact.Pos
	seq    int
	text   strings.Builder
	lines  int
}

// Told is what the user said about a log, for pastes that do not say it: the
// engine (nil: recognise it) and facts such as engine.version and gpu.name.
type Told struct {
	Engine *engine.Engine
	Facts  []fact.Fact
}

// NewBuilder starts a file.
func NewBuilder(x *Index, file string, told Told, done func(*Launch)) *Builder {
	return &Builder{index: x, file: file, forced: told.Engine, engine: told.Engine, told: told.Facts, done: done, tracker: new(logstream.Tracker), marks: make(map[int]int), tbPrefix: logstream.Prefix{Rank: logstream.NoRank}}
}

// Block reads one block with the anchors found in it (Index.Scan of its Data).
func (b *Builder) Block(blk *logstream.Block, hits Hits) {
	if b.engine == nil && b.guess == nil {
		b.guess = b.guessEngine(hits)
	}
	h := 0
	for i := range blk.Lines {
		ln := &blk.Lines[i]
		first := h
		h = hits.through(h, ln.End)
		if ln.Start == ln.End {
			if b.inTrace || b.dump != nil {
				b.blank(ln.No)
			}
			continue
		}
		text := blk.Data[ln.Start:ln.End]
		if ln.Flags&logstream.Prose == 0 {
			if b.firstNo == 0 {
				b.firstNo = ln.No
			}
			b.prevNo, b.lastNo, b.lastText = b.lastNo, ln.No, append(b.lastText[:0], clip(text, 512)...)
		}
		if !b.inTrace && b.dump == nil && b.cmdParts == nil {
			switch b.interest(hits[first:h]) {
			case nothing:
				continue
			case service:
				if b.serve(ln.No, text) {
					continue
				}
			}
		}
		b.lineStart = ln.Start
		b.line(blk, i, text, hits[first:h])
	}
}

// interest says how closely a line must be looked at.
type interest int

const (
	nothing interest = iota
	service          // a sign of service and nothing else: only counted
	everything
)

func (b *Builder) interest(hits Hits) interest {
	out := nothing
	for _, h := range hits {
		switch u := &b.index.uses[h.id]; {
		case u.served:
			out = service
		case u.wakes:
			return everything
		}
	}
	return out
}

// serve counts a sign of service of a server that is up, without taking the
// line apart: a busy server writes little else.
func (b *Builder) serve(no int, text []byte) bool {
	l := b.cur
	if l == nil || l.ReadySeq < 0 || b.pending != nil {
		return false
	}
	l.LastSeq = b.seq
	b.seq++
	l.served(b, no, text)
	l.serving()
	return true
}

func clip(b []byte, n int) []byte {
	if len(b) > n {
		return b[:n]
	}
	return b
}

// guessEngine adds up the signs of the first block.
func (b *Builder) guessEngine(hits Hits) *engine.Engine {
	score := make(map[*engine.Engine]int)
	for _, h := range hits {
		if u := &b.index.uses[h.id]; u.sign != nil {
			score[u.sign] += u.weight
		}
	}
	var best *engine.Engine
	for _, e := range b.index.Engines { // in list order, so that ties are stable
		if score[e] > 0 && (best == nil || score[e] > score[best]) {
			best = e
		}
	}
	return best
}

func (b *Builder) blank(no int) {
	class := b.tracker.Feed(no, logstream.Prefix{Rank: logstream.NoRank}, nil)
	b.inTrace = inTraceback(class) || b.tracker.Pending()
	b.takeTraces()
}

func (b *Builder) line(blk *logstream.Block, i int, text []byte, hits Hits) {
	ln := &blk.Lines[i]
	prose := ln.Flags&logstream.Prose != 0
	if b.commandLine(ln.No, text, hits, blk, i) {
		return
	}
	if prose {
		return
	}
	logstream.Segments(text, func(seg []byte) {
		if len(bytes.TrimSpace(seg)) == 0 {
			return
		}
		b.segment(ln.No, seg, text, hits)
	})
}

// commandLine recognises launch commands, also those continued over lines.
func (b *Builder) commandLine(no int, text []byte, hits Hits, blk *logstream.Block, i int) bool {
	if b.cmdParts != nil {
		cont := bytes.HasSuffix(bytes.TrimRight(text, " \t\r"), []byte{'\\'})
		b.cmdParts = append(b.cmdParts, string(text))
		if !cont || len(b.cmdParts) > 200 {
			b.takeCommand()
		}
		return true
	}
	is := false
	for _, h := range hits {
		if b.index.uses[h.id].command {
			is = true
			break
		}
	}
	if !is {
		return false
	}
	// The lines before may be the beginning of this command.
	first := i
	for first > 0 && i-first < 60 {
		prev := &blk.Lines[first-1]
		t := bytes.TrimRight(blk.Data[prev.Start:prev.End], " \t\r")
		if len(t) == 0 || t[len(t)-1] != '\\' {
			break
		}
		first--
	}
	var parts []string
	for k := first; k <= i; k++ {
		l := &blk.Lines[k]
		parts = append(parts, string(blk.Data[l.Start:l.End]))
	}
	if bytes.HasSuffix(bytes.TrimRight(text, " \t\r"), []byte{'\\'}) {
		if _, ok := command.ParseLine(strings.Join(parts, "\n")); !ok && !plausibleCommand(parts[0]) {
			return false
		}
		b.cmdParts, b.cmdFirst = parts, blk.Lines[first].No
		return true
	}
	cmd, ok := command.ParseLine(strings.Join(parts, "\n"))
	if !ok {
		return false
	}
	b.command(cmd, blk.Lines[first].No, parts[0])
	return true
}

func plausibleCommand(line string) bool {
	line = strings.TrimLeft(line, "$#>+ \t")
	for _, w := range []string{"docker", "sudo", "python", "vllm", "sglang", "llama-", "./", "/", "env ", "export ", "nohup", "CUDA_", "SGLANG", "VLLM", "NCCL"} {
		if strings.HasPrefix(line, w) {
			return true
		}
	}
	return false
}

func (b *Builder) takeCommand() {
	parts := b.cmdParts
	b.cmdParts = nil
	if cmd, ok := command.ParseLine(strings.Join(parts, "\n")); ok {
		b.command(cmd, b.cmdFirst, parts[0])
	}
}

func (b *Builder) command(c command.Command, no int, text string) {
	for _, o := range c.Options() {
		if o == "--version" || o == "--help" || o == "-h" {
			return // asks the program about itself, serves nothing
		}
	}
	b.pending, b.pendingPos, b.pendingTxt = &c, fact.Pos{File: b.file, Line: no}, text
}

// segment reads one logical piece of a line.
func (b *Builder) segment(no int, seg, raw []byte, hits Hits) {
	if done, total, ok := logstream.IsProgress(seg); ok {
		if b.cur != nil {
			b.cur.noteProgress(done, total, fact.Pos{File: b.file, Line: no}, seg)
		}
		return
	}
	p := logstream.ParsePrefix(seg)
	text := seg[p.Len:]
	if b.dump != nil {
		if p.Len == 0 && b.extendDump(no, text) {
			return
		}
		b.closeDump()
	}
	ws := b.sightings(seg, raw, hits)
	class := b.tracker.Feed(no, p, text)
	b.inTrace = inTraceback(class) || b.tracker.Pending()
	if class == logstream.ClassTraceback && p.Len > 0 {
		b.tbPrefix = p
	}
	if class == logstream.ClassTraceback || class == logstream.ClassException {
		b.marks[no] = b.seq
	}
	ctx := lineContext{no: no, seg: seg, raw: raw, text: text, p: p, class: class, where: whereOf(class, p.Len > 0), sign: b.errorSign(hits)}
	if inTraceback(class) && p.Len == 0 {
		ctx.p = b.tbPrefix
		ctx.p.Len = 0
	}
	b.split(&ctx, ws)
	if b.cur == nil {
		return
	}
	b.record(&ctx, ws)
	b.takeTraces()
}

type lineContext struct {
	no    int
	seg   []byte
	raw   []byte
	text  []byte
	p     logstream.Prefix
	class logstream.Class
	where Where
	noise bool // a known harmless line
	sign  bool // holds one of logstream.ErrorSigns
}

func inTraceback(c logstream.Class) bool {
	switch c {
	case logstream.ClassTraceback, logstream.ClassFrame, logstream.ClassSource, logstream.ClassException, logstream.ClassContinuation, logstream.ClassChain:
		return true
	}
	return false
}

// sighting is a watch whose anchor stands in a segment.
type sighting struct {
	*Watch
	at int // offset of the anchor's first occurrence in the segment
}

// sightings selects the watches whose anchor stands in this segment and whose
// engine fits. Nearly every line is one segment, and then the hits tell where
// the anchors are.
func (b *Builder) sightings(seg, raw []byte, hits Hits) []sighting {
	out := b.scratch[:0]
	eng := b.engineNow()
	whole := len(seg) == len(raw)
	for k, h := range hits {
		u := &b.index.uses[h.id]
		ws := b.index.watchesFor(u, eng)
		if len(ws) == 0 || repeatedHit(hits[:k], h.id) {
			continue
		}
		at := int(h.end-b.lineStart) - len(u.literal)
		if !whole || at < 0 { // below 0: found in what a wrapper put before the line
			at = bytes.Index(seg, []byte(u.literal))
		}
		if at < 0 {
			continue
		}
		for _, w := range ws {
			out = append(out, sighting{w, at})
		}
	}
	b.scratch = out
	return out
}

func repeatedHit(before Hits, id int32) bool {
	for _, h := range before {
		if h.id == id {
			return true
		}
	}
	return false
}

// errorSign reports whether a line can look like an error without saying so by
// its level.
func (b *Builder) errorSign(hits Hits) bool {
	for _, h := range hits {
		if b.index.uses[h.id].error {
			return true
		}
	}
	return false
}

func (b *Builder) engineNow() *engine.Engine {
	if b.engine != nil {
		return b.engine
	}
	return b.guess
}

// says tells whether a line has something to say by itself: the skeleton of a
// traceback stands for its exception.
func says(c logstream.Class) bool {
	switch c {
	case logstream.ClassTraceback, logstream.ClassChain, logstream.ClassFrame, logstream.ClassSource:
		return false
	}
	return true
}

// record keeps what one line says.
func (b *Builder) record(c *lineContext, ws []sighting) {
	l := b.cur
	l.LastSeq = b.seq
	b.seq++
	l.touch(b.file, c.p.Time)
	for _, w := range ws {
		if w.Line != nil && w.Line.Kind == engine.ConfigDump && w.Engine == l.Engine {
			b.openDump(c, w) // a dump holds words such as crash and sigquit: nothing else is read from it
			return
		}
	}
	known, ruled := false, false
	for _, w := range ws {
		if w.Line != nil && b.engineLine(c, w) {
			known = true
			c.noise = c.noise || w.Line.Kind == engine.Noise
		}
	}
	for _, w := range ws {
		if w.Line == nil && b.ruleLine(c, w) {
			ruled = true
		}
	}
	if says(c.class) && (c.sign || c.p.Level >= logstream.Error) && logstream.IsErrorLike(c.p, c.text) {
		l.errorLine(b, c, known, ruled)
	}
}

// nearStart is how far behind the prefix the pattern of a milestone may begin;
// a quotation of the line in prose begins further right.
const nearStart = 24

func (b *Builder) engineLine(c *lineContext, w sighting) bool {
	ln := w.Line
	if c.where&w.In == 0 || ln.Alone && string(bytes.TrimSpace(c.text)) != w.Anchor {
		return false
	}
	caps, ok := matchAny(w.Patterns, c.seg)
	if !ok {
		if w.Engine != nil && c.where&(InLog|InOutput) != 0 {
			b.cur.noteDrift(w.Watch, fact.Pos{File: b.file, Line: c.no}, c.raw)
		}
		return false
	}
	if quoted(ln.Kind) && c.p.Len == 0 && w.at > nearStart {
		return false
	}
	if w.Engine == nil && !bad(caps) {
		return false
	}
	if ln.Kind == engine.Served {
		b.cur.served(b, c.no, c.text)
		if b.cur.ReadySeq >= 0 {
			b.cur.enter(c.p, fact.Runtime)
		}
		return true
	}
	named := byName(caps)
	b.cur.event(b, c, w.Watch, named)
	b.cur.apply(b, c, w.Watch, caps, named)
	return true
}

// bad says whether an exit that the operating system reports is a failure. The
// name of a service is one word, that of anything else is prose.
func bad(caps match.Captures) bool {
	code, ok := caps.Get("code")
	service, _ := caps.Get("service")
	return !ok || !strings.Contains(service, " ") && len(code) > 0 && len(strings.Trim(code, "0123456789")) == 0 && !engine.OrderlyCode(code)
}

// quoted tells the kinds that people quote in notes ("wait for The server is
// fired up"); such a line counts only near the start.
func quoted(k engine.Kind) bool {
	return k == engine.Ready || k == engine.Banner || k == engine.Mile || k == engine.Stop
}

func matchAny(pats []*match.Pattern, seg []byte) (match.Captures, bool) {
	if len(pats) == 0 {
		return nil, true
	}
	for _, p := range pats {
		if caps, ok := p.Match(seg); ok {
			return caps, true
		}
	}
	return nil, false
}

// regexWindow is how much of a line around the anchor a rule's expression sees:
// messages are shorter, and a line may be a megabyte.
const regexWindow = 2 << 10

func (b *Builder) ruleLine(c *lineContext, w sighting) bool {
	l := b.cur
	if c.where&w.In == 0 || len(w.Phases) > 0 && !phaseIn(l.phaseFor(c.p), w.Phases) {
		return false
	}
	if l.Counts[w.Watch] >= maxEventsPerWatch {
		l.lastLine = c.no
		return true
	}
	var caps match.Captures
	if w.Regex != nil {
		var ok bool
		if caps, ok = w.read(c.seg); !ok {
			return false
		}
	}
	l.event(b, c, w.Watch, byName(caps))
	return true
}

// read applies a rule's expression to the neighbourhood of its anchor.
func (w *sighting) read(seg []byte) (match.Captures, bool) {
	return w.Regex.Find(seg[max(0, w.at-regexWindow):min(len(seg), w.at+regexWindow)])
}

// phaseIn: a paste that begins mid-log has no phase before its first milestone;
// it passes for the start.
func phaseIn(p fact.Phase, list []fact.Phase) bool {
	if p == "" {
		p = fact.Args
	}
	return slices.Contains(list, p)
}

// takeTraces moves finished tracebacks into the launch.
func (b *Builder) takeTraces() {
	b.keep(b.tracker.Take())
}

// endTraces finishes all tracebacks, as at the end of a launch.
func (b *Builder) endTraces() {
	b.keep(b.tracker.Flush())
}

func (b *Builder) keep(traces []logstream.Traceback) {
	if b.cur == nil {
		return
	}
	for _, tb := range traces {
		b.cur.trace(b, tb)
	}
	if !b.tracker.Pending() {
		clear(b.marks)
	}
}

// Close ends the file and hands out its last launch.
func (b *Builder) Close() {
	if b.cmdParts != nil {
		b.takeCommand()
	}
	if b.dump != nil {
		b.closeDump()
	}
	if b.cur == nil && b.firstNo > 0 && b.pending != nil {
		b.begin(b.firstNo)
	}
	b.endTraces()
	b.finish()
}

// maxDumpLines bounds how many hard-wrapped lines one dump may take.
const maxDumpLines = 400

func (b *Builder) openDump(c *lineContext, w sighting) {
	b.cur.event(b, c, w.Watch, nil)
	d := &openDump{watch: w.Watch, prefix: c.p, pos: fact.Pos{File: b.file, Line: c.no}, seq: b.seq}
	d.text.Write(c.seg[w.at:])
	b.dump = d
	if balanced(c.seg[w.at:]) {
		b.closeDump()
	}
}

func (b *Builder) extendDump(no int, text []byte) bool {
	d := b.dump
	d.lines++
	if d.lines > maxDumpLines || d.text.Len() > 256<<10 {
		return false
	}
	d.text.Write(text)
	if balanced(text) && bytes.HasSuffix(bytes.TrimSpace(text), []byte{')'}) {
		b.closeDump()
	}
	return true
}

// balanced tells whether the brackets of a dump line close. Quotes are honoured
// roughly: a dump that only looks unbalanced is ended by the next prefixed line.
func balanced(text []byte) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		}
	}
	return depth <= 0
}

func (b *Builder) closeDump() {
	d := b.dump
	b.dump = nil
	if b.cur == nil {
		return
	}
	text := d.text.String()
	parse := d.watch.Engine.ParseDump
	if parse == nil {
		return
	}
	parsed, ok := parse(text)
	if !ok {
		b.cur.noteDrift(d.watch, d.pos, []byte(text))
		return
	}
	b.cur.addDump(b, DumpAt{Dump: parsed, Pos: d.pos, Text: string(clip([]byte(text), maxText)), Rank: d.prefix.Rank})
}
