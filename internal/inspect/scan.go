package inspect

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
)

// scanPiece is how much is read at a time, in bytes: large enough that a disk
// reads at full speed, small enough that the last pieces keep all cores busy.
// blankRun is the stretch of zeros that counts as never written. headBytes is what
// two weights are compared by: noise that is equal for so long is a copy.
const (
	scanPiece = 4 << 20
	blankRun  = 64 << 10
	headBytes = 512
	scanAhead = 8 // pieces that the disk is told of before they are read
)

// piece is a part of a tensor.
type piece struct {
	tensor   int // index of the tensor in the scan
	from, to int64
}

// job is what one worker reads at once: neighbouring pieces of one file.
type job struct {
	pieces []piece
	bytes  int64
}

// tensorScan is what the values of a tensor showed.
type tensorScan struct {
	tensor    *checkpoint.Tensor
	nan, inf  int64
	firstBad  int64 // element, or block of a block format, -1: none
	nonZero   bool
	varies    bool
	pattern   uint64 // the first eight bytes' worth of one element, repeated
	seen      bool
	blank     int64  // bytes in stretches of zeros
	firstZero int64  // offset of the first such stretch in the tensor
	head      uint64 // hash of the first bytes, 0: none
	failed    error
}

// scan reads every value.
func (x *inspector) scan(ctx context.Context) error {
	var scans []*tensorScan
	for _, t := range x.c.Tensors() {
		if _, err := t.Reader(); err == nil && t.Size > 0 {
			scans = append(scans, &tensorScan{tensor: t, firstBad: -1})
		}
	}
	slices.SortFunc(scans, func(a, b *tensorScan) int { return checkpoint.InFiles(a.tensor, b.tensor) })
	jobs, total := cut(scans)
	r := &scanRun{scans: scans, total: total, progress: x.o.Progress, seed: maphash.MakeSeed()}
	next := make(chan job)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var buf []byte
			for j := range next {
				if int64(cap(buf)) < j.bytes {
					buf = make([]byte, j.bytes)
				}
				r.do(j, buf[:j.bytes])
			}
		})
	}
feed:
	for i, j := range jobs {
		if i+scanAhead < len(jobs) {
			r.ahead(jobs[i+scanAhead])
		}
		select {
		case next <- j:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	x.scanned = total
	x.judgeValues(scans)
	return nil
}

// cut divides the tensors into jobs. Pieces end at whole blocks of the type.
func cut(scans []*tensorScan) (jobs []job, total int64) {
	var j job
	flush := func() {
		if len(j.pieces) > 0 {
			jobs = append(jobs, j)
			j = job{}
		}
	}
	for i, s := range scans {
		t := s.tensor
		if i > 0 && scans[i-1].tensor.File != t.File {
			flush()
		}
		total += t.Size
		step := pieceOf(t)
		for from := int64(0); from < t.Size; from += step {
			to := min(from+step, t.Size)
			if j.bytes+to-from > scanPiece {
				flush()
			}
			j.pieces = append(j.pieces, piece{i, from, to})
			j.bytes += to - from
		}
	}
	flush()
	return jobs, total
}

// pieceOf is the largest piece of a tensor: whole blocks, and whole words.
func pieceOf(t *checkpoint.Tensor) int64 {
	_, bits, ok := t.DType.Block()
	if !ok || bits < 8 {
		return scanPiece
	}
	size := int64(bits / 8 * 8)
	return scanPiece / size * size
}

// scanRun is the state that the workers share.
type scanRun struct {
	scans    []*tensorScan
	total    int64
	progress func(done, total int64)
	seed     maphash.Seed

	mu   sync.Mutex
	done int64
}

// ahead begins to read a job.
func (r *scanRun) ahead(j job) {
	first, last := j.pieces[0], j.pieces[len(j.pieces)-1]
	t, end := r.scans[first.tensor].tensor, r.scans[last.tensor].tensor
	t.Ahead(first.from, end.Offset+last.to-t.Offset-first.from)
}

// do reads and looks at one job.
func (r *scanRun) do(j job, buf []byte) {
	results := make([]tensorScan, len(j.pieces))
	at := int64(0)
	for i, p := range j.pieces {
		t := r.scans[p.tensor].tensor
		part := buf[at : at+p.to-p.from]
		at += p.to - p.from
		results[i] = tensorScan{tensor: t, firstBad: -1}
		if err := readPiece(t, part, p.from); err != nil {
			results[i].failed = err
			continue
		}
		results[i].look(part, p.from)
		if p.from == 0 && len(part) >= headBytes {
			results[i].head = maphash.Bytes(r.seed, part[:headBytes])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range j.pieces {
		r.scans[p.tensor].join(&results[i])
	}
	r.done += j.bytes
	if r.progress != nil {
		r.progress(r.done, r.total)
	}
}

func readPiece(t *checkpoint.Tensor, buf []byte, from int64) error {
	src, err := t.Reader()
	if err != nil {
		return err
	}
	_, err = io.ReadFull(io.NewSectionReader(src, from, int64(len(buf))), buf)
	return err
}

// join adds what a piece showed.
func (s *tensorScan) join(p *tensorScan) {
	if p.failed != nil {
		s.failed = p.failed
		return
	}
	s.nan += p.nan
	s.inf += p.inf
	if p.firstBad >= 0 && (s.firstBad < 0 || p.firstBad < s.firstBad) {
		s.firstBad = p.firstBad
	}
	if p.blank > 0 && (s.blank == 0 || p.firstZero < s.firstZero) {
		s.firstZero = p.firstZero
	}
	s.blank += p.blank
	if p.head != 0 {
		s.head = p.head
	}
	s.varies = s.varies || p.varies || s.seen && s.pattern != p.pattern
	s.pattern, s.seen = p.pattern, true
	s.nonZero = s.nonZero || p.nonZero
}

// lanes says how the values of a type that are not finite show in a 64-bit
// word of several: (word & mask) + add has a bit of high set for each of them.
type lanes struct {
	mask, add, high uint64
	bytes           int64
}

var specials = map[checkpoint.DType]lanes{
	checkpoint.BF16:   {0x7f807f807f807f80, 0x0080008000800080, 0x8000800080008000, 2},
	checkpoint.F16:    {0x7c007c007c007c00, 0x0400040004000400, 0x8000800080008000, 2},
	checkpoint.F32:    {0x7f8000007f800000, 0x0080000000800000, 0x8000000080000000, 4},
	checkpoint.F64:    {0x7ff0000000000000, 0x0010000000000000, 0x8000000000000000, 8},
	checkpoint.F8E4M3: {0x7f7f7f7f7f7f7f7f, 0x0101010101010101, 0x8080808080808080, 1},
	checkpoint.F8E5M2: {0x7c7c7c7c7c7c7c7c, 0x0404040404040404, 0x8080808080808080, 1},
}

// look finds special values, zeros and constants in part of a tensor that begins
// at byte from.
func (s *tensorScan) look(b []byte, from int64) {
	sp, ok := specials[s.tensor.DType]
	s.seen = true
	width := int64(1)
	if _, bits, known := s.tensor.DType.Block(); known && bits >= 8 {
		width = int64(bits / 8)
	}
	s.pattern = repeat(b, width)
	for at := 0; at < len(b); at += blankRun {
		part := b[at:min(at+blankRun, len(b))]
		some, differ, bad := sweep(part, s.pattern, sp)
		s.varies = s.varies || differ != 0 && width <= 8
		s.nonZero = s.nonZero || some != 0
		if some == 0 && len(part) == blankRun {
			if s.blank == 0 {
				s.firstZero = from + int64(at)
			}
			s.blank += blankRun
		}
		if ok && bad != 0 {
			s.countBad(part, from+int64(at), sp.bytes)
		}
	}
	if width > 8 {
		s.varies = true // a block format: equal blocks are not looked for
		s.blockScales(b, from, width)
	}
	if s.tensor.DType == checkpoint.F8E8M0 || s.tensor.DType == checkpoint.U8 && strings.HasSuffix(s.tensor.Name, "_scale") {
		for i, c := range b {
			if c == 0xff {
				s.bad(from+int64(i), true)
			}
		}
	}
}

// sweep walks over part of a tensor in words: some is not 0 when a bit is set,
// differ when a word is not the pattern, bad when a value is special.
func sweep(b []byte, pattern uint64, sp lanes) (some, differ, bad uint64) {
	i := 0
	for ; i+32 <= len(b); i += 32 {
		a := binary.LittleEndian.Uint64(b[i:])
		c := binary.LittleEndian.Uint64(b[i+8:])
		d := binary.LittleEndian.Uint64(b[i+16:])
		e := binary.LittleEndian.Uint64(b[i+24:])
		some |= a | c | d | e
		differ |= (a ^ pattern) | (c ^ pattern) | (d ^ pattern) | (e ^ pattern)
		bad |= (a&sp.mask + sp.add) | (c&sp.mask + sp.add) | (d&sp.mask + sp.add) | (e&sp.mask + sp.add)
	}
	var word [8]byte
	for ; i < len(b); i += 8 {
		n := copy(word[:], b[i:])
		for k := n; k < 8; k++ { // beyond the end: as the pattern, which is looked at elsewhere
			word[k] = byte(pattern >> (8 * k))
		}
		w := binary.LittleEndian.Uint64(word[:])
		some |= w
		differ |= w ^ pattern
		bad |= w&sp.mask + sp.add
	}
	return some, differ, bad & sp.high
}

// repeat is the first element of b over and over in a word.
func repeat(b []byte, width int64) uint64 {
	if width > 8 || int64(len(b)) < width {
		width = min(8, int64(len(b)))
	}
	var word [8]byte
	for i := range word {
		word[i] = b[int64(i)%max(width, 1)]
	}
	return binary.LittleEndian.Uint64(word[:])
}

// countBad counts the special values of a part.
func (s *tensorScan) countBad(b []byte, from, width int64) {
	for i := int64(0); i+width <= int64(len(b)); i += width {
		e := b[i : i+width]
		nan, inf := false, false
		switch s.tensor.DType {
		case checkpoint.BF16:
			v := binary.LittleEndian.Uint16(e)
			nan, inf = v&0x7fff > 0x7f80, v&0x7fff == 0x7f80
		case checkpoint.F16:
			v := binary.LittleEndian.Uint16(e)
			nan, inf = v&0x7fff > 0x7c00, v&0x7fff == 0x7c00
		case checkpoint.F32:
			v := binary.LittleEndian.Uint32(e)
			nan, inf = v&0x7fffffff > 0x7f800000, v&0x7fffffff == 0x7f800000
		case checkpoint.F64:
			v := binary.LittleEndian.Uint64(e)
			nan, inf = v<<1 > 0x7ff0000000000000<<1, v<<1 == 0x7ff0000000000000<<1
		case checkpoint.F8E4M3:
			nan = e[0]&0x7f == 0x7f
		case checkpoint.F8E5M2:
			nan, inf = e[0]&0x7f > 0x7c, e[0]&0x7f == 0x7c
		}
		if nan || inf {
			s.bad((from+i)/width, nan)
		}
	}
}

// bad notes one value that is not finite.
func (s *tensorScan) bad(element int64, nan bool) {
	if nan {
		s.nan++
	} else {
		s.inf++
	}
	if s.firstBad < 0 {
		s.firstBad = element
	}
}

// blockScale says where the F16 scales of a block format stand in a block
// (ggml-common.h).
var blockScale = map[checkpoint.DType][]int64{
	checkpoint.Q4_0: {0}, checkpoint.Q4_1: {0, 2}, checkpoint.Q5_0: {0}, checkpoint.Q5_1: {0, 2}, checkpoint.Q8_0: {0},
	checkpoint.Q2_K: {80, 82}, checkpoint.Q3_K: {108}, checkpoint.Q4_K: {0, 2}, checkpoint.Q5_K: {0, 2}, checkpoint.Q6_K: {208},
	checkpoint.IQ4_NL: {0},
}

// blockScales looks at the scales of the blocks of a GGUF tensor.
func (s *tensorScan) blockScales(b []byte, from, width int64) {
	for i := int64(0); i+width <= int64(len(b)); i += width {
		for _, at := range blockScale[s.tensor.DType] {
			v := binary.LittleEndian.Uint16(b[i+at:])
			if v&0x7c00 == 0x7c00 {
				s.bad((from+i)/width, v&0x3ff != 0)
			}
		}
	}
}

// judgeValues makes findings of a scan.
func (x *inspector) judgeValues(scans []*tensorScan) {
	found := map[string][]*tensorScan{}
	for _, s := range scans {
		t := s.tensor
		if s.failed != nil {
			x.add("CKPT-FILE-007", hit{
				subject: finding.Subject{File: t.File, Tensor: t.Name},
				title:   fmt.Sprintf("%s can't be read: %v", t.File, s.failed), evidence: []finding.Evidence{where(t, s.failed.Error())},
			})
			continue
		}
		if s.nan > 0 {
			found["CKPT-VAL-001"] = append(found["CKPT-VAL-001"], s)
		}
		if s.inf > 0 {
			found["CKPT-VAL-002"] = append(found["CKPT-VAL-002"], s)
		}
		switch {
		case !x.matrix(t):
		case !s.nonZero:
			found["CKPT-VAL-003"] = append(found["CKPT-VAL-003"], s)
		case !s.varies:
			found["CKPT-VAL-004"] = append(found["CKPT-VAL-004"], s)
		case s.blank > 0 && !x.padded(t):
			found["CKPT-VAL-005"] = append(found["CKPT-VAL-005"], s)
		}
	}
	x.copies(scans)
	for _, id := range []string{"CKPT-VAL-001", "CKPT-VAL-002", "CKPT-VAL-003", "CKPT-VAL-004", "CKPT-VAL-005"} {
		x.addValues(id, found[id])
	}
}

// copies looks for weights that begin with the same values.
func (x *inspector) copies(scans []*tensorScan) {
	type kind struct {
		key  string
		head uint64
	}
	first := map[kind]*tensorScan{}
	var same []string
	var a, b *tensorScan
	for _, s := range scans {
		if s.head == 0 || !s.nonZero || !s.varies || !x.matrix(s.tensor) {
			continue
		}
		key, _ := split(s.tensor.Name)
		k := kind{key, s.head}
		if first[k] == nil {
			first[k] = s
			continue
		}
		same = append(same, s.tensor.Name)
		if a == nil {
			a, b = first[k], s
		}
	}
	if a == nil {
		return
	}
	x.add("CKPT-VAL-006", hit{
		subject: finding.Subject{File: b.tensor.File, Tensor: b.tensor.Name}, count: len(same), sure: finding.Likely,
		title:    fmt.Sprintf("%s with the same values as another: %s begins like %s", plural(len(same), "weight begins", "weights begin"), b.tensor.Name, a.tensor.Name),
		evidence: []finding.Evidence{where(a.tensor, "the first "+fmt.Sprint(headBytes)+" bytes are equal"), where(b.tensor, list(same, 2))},
	})
}

// matrix says whether equal values in a tensor are a fault: in weights of layers
// they are, in norms, biases and scales not.
func (x *inspector) matrix(t *checkpoint.Tensor) bool {
	const least = 64 // elements; a smaller matrix may well have one value
	m := x.moduleOf(t)
	return m != nil && m.Weight == t && len(t.Shape) >= 2 && t.Elements() >= least && x.l.groupOf(m.Name) != "norms" && !strings.Contains(m.Name, "e_score")
}

// padded says whether rows of a weight may be zero because the vocabulary was
// padded.
func (x *inspector) padded(t *checkpoint.Tensor) bool {
	g := x.l.groupOf(x.moduleOf(t).Name)
	return g == "embedding" || g == "lm_head"
}

// valueTexts say what a tensor showed.
var valueTexts = map[string]func(*tensorScan) string{
	"CKPT-VAL-001": func(s *tensorScan) string { return fmt.Sprintf("%s NaN, the first %s", group(s.nan), s.first()) },
	"CKPT-VAL-002": func(s *tensorScan) string {
		return fmt.Sprintf("%s infinite, the first special value %s", group(s.inf), s.first())
	},
	"CKPT-VAL-003": func(s *tensorScan) string { return fmt.Sprintf("all %s are zero", bytesText(s.tensor.Size)) },
	"CKPT-VAL-004": func(s *tensorScan) string {
		return fmt.Sprintf("all %s values are equal", group(s.tensor.Elements()))
	},
	"CKPT-VAL-005": func(s *tensorScan) string {
		return fmt.Sprintf("%s of zeros, the first at byte %s of the file", bytesText(s.blank), group(s.tensor.Offset+s.firstZero))
	},
}

// first says where the first special value is.
func (s *tensorScan) first() string {
	unit := "at element "
	if elements, _, _ := s.tensor.DType.Block(); elements > 1 {
		unit = "in block "
	}
	return unit + group(s.firstBad)
}

func (x *inspector) addValues(id string, ss []*tensorScan) {
	if len(ss) == 0 {
		return
	}
	text := valueTexts[id]
	names := make([]string, len(ss))
	count := int64(0)
	for i, s := range ss {
		names[i] = s.tensor.Name
		switch id {
		case "CKPT-VAL-001":
			count += s.nan
		case "CKPT-VAL-002":
			count += s.inf
		default:
			count++
		}
	}
	t := ss[0].tensor
	h := hit{
		subject: finding.Subject{File: t.File, Tensor: t.Name}, count: int(count),
		title: fmt.Sprintf("%s in %s: %s; %s", checkByID[id].Title, plural(len(ss), "tensor", "tensors"), list(names, 2), text(ss[0])),
	}
	for _, s := range ss[:min(len(ss), maxEvidence)] {
		h.evidence = append(h.evidence, where(s.tensor, text(s)))
	}
	x.add(id, h)
}
