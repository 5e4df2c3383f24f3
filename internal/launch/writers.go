package launch

import (
	"bytes"

	"shakedown/internal/finding"
	"shakedown/internal/logstream"
)

// maxWriters bounds the servers that one file may mix. The lines of further
// ones go with those of their neighbours.
const maxWriters = 64

// Writers turns a file in which a wrapper mixes the lines of several servers
// (docker compose, stern, kubectl logs --prefix, journalctl) into launches: each
// writer that shows a sign of an engine gets a Builder of its own. Lines of all
// other writers, such as the kernel's, stay with the server whose line came
// before. A file without named writers is read by one Builder.
//
// Writers belongs to one goroutine.
type Writers struct {
	index *Index
	file  string
	told  Told
	done  func(*Launch)

	first     *writer
	firstName string
	last      *writer
	byName    map[string]*writer
	all       []*writer
}

// writer is one server and, while a block is taken apart, its share of it.
type writer struct {
	builder *Builder
	share   logstream.Block
	hits    Hits
}

// NewWriters starts a file; done is called as by NewBuilder. A launch of one of
// several servers has the name of the file and of the writer: all.log[decode-1]
// (but all.log when the others appear blocks later).
func NewWriters(x *Index, file string, told Told, done func(*Launch)) *Writers {
	w := &Writers{index: x, file: file, told: told, done: done, byName: make(map[string]*writer)}
	w.first = &writer{builder: NewBuilder(x, file, told, done)}
	w.last, w.all = w.first, []*writer{w.first}
	return w
}

// Mixed says whether several servers have been found.
func (w *Writers) Mixed() bool { return len(w.all) > 1 }

// Block reads one block with the anchors found in it.
func (w *Writers) Block(blk *logstream.Block, hits Hits) {
	if !w.meet(blk, hits) && !w.Mixed() {
		w.first.builder.Block(blk, hits)
		return
	}
	for _, wr := range w.all {
		blk.Share(&wr.share)
		wr.hits = wr.hits[:0]
	}
	eachLine(blk, hits, func(i int, hits Hits) {
		if wr := w.byName[string(serverOf(blk.Origin(i)))]; wr != nil {
			w.last = wr
		} else if name, ok := exited(blk.Text(i)); ok && len(w.byName) > 0 {
			if wr = w.byName[string(name)]; wr == nil {
				return // another service's end
			}
			w.last = wr
		}
		w.last.share.Lines = append(w.last.share.Lines, blk.Lines[i])
		w.last.hits = append(w.last.hits, hits...)
	})
	for _, wr := range w.all {
		if len(wr.share.Lines) > 0 {
			wr.builder.Block(&wr.share, wr.hits)
		}
	}
}

// meet finds the servers that show themselves in a block, before its lines are
// given out: what they wrote before that is theirs as well. It says whether the
// block names any writer.
func (w *Writers) meet(blk *logstream.Block, hits Hits) (named bool) {
	eachLine(blk, hits, func(i int, hits Hits) {
		name := serverOf(blk.Origin(i))
		if len(name) == 0 {
			return
		}
		named = true
		if len(hits) == 0 || w.byName[string(name)] != nil || len(w.byName) == maxWriters || !w.index.sign(hits) {
			return
		}
		wr := w.first
		if len(w.byName) > 0 {
			wr = &writer{builder: NewBuilder(w.index, w.named(name), w.told, w.done)}
			w.all = append(w.all, wr)
		} else {
			w.firstName = w.named(name)
		}
		w.byName[string(name)] = wr
	})
	if w.Mixed() && w.first.builder.firstNo == 0 { // it has no line yet that bears a name
		w.first.builder.file = w.firstName
	}
	return named
}

func (w *Writers) named(name []byte) string { return finding.WriterFile(w.file, string(name)) }

// eachLine calls f with each line of a block and the anchors in it.
func eachLine(blk *logstream.Block, hits Hits, f func(i int, hits Hits)) {
	h := 0
	for i := range blk.Lines {
		from := h
		h = hits.through(h, blk.Lines[i].End)
		f(i, hits[from:h])
	}
}

// exited reads the line, without a writer of its own, with which docker compose
// reports the end of a service.
func exited(text []byte) (name []byte, ok bool) {
	name, code, ok := bytes.Cut(text, []byte(" exited with code "))
	return name, ok && len(code) > 0 && len(name) > 0 && bytes.IndexByte(name, ' ') < 0
}

// serverOf is the part of an origin that stays the same for all processes of a
// server: without the process id of the journal. The tasks of srun, which are
// mere numbers, are ranks of one launch.
func serverOf(origin []byte) []byte {
	if bytes.HasSuffix(origin, []byte("]")) {
		if at := bytes.LastIndexByte(origin, '['); at >= 0 {
			origin = origin[:at]
		}
	}
	if len(bytes.Trim(origin, "0123456789")) == 0 {
		return nil
	}
	return origin
}

// sign says whether a line tells an engine by a text that only its server
// prints, or by its command; a frame of a traceback is none.
func (x *Index) sign(hits Hits) bool {
	for _, h := range hits {
		if u := &x.uses[h.id]; u.command || u.sign != nil && u.weight > frameWeight {
			return true
		}
	}
	return false
}

// Close ends the file and hands out the last launch of each server.
func (w *Writers) Close() {
	for _, wr := range w.all {
		wr.builder.Close()
	}
}
