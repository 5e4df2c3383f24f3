package match

// How literals are found
//
// The input is gigabytes of log text, the search about 2,000 literals of 6 to
// 120 bytes, nearly all of which do not occur in a given line. The search is a
// filter over sampled windows, in the family of Wu and Manber ("A fast
// algorithm for multi-pattern searching", 1994) and Karp and Rabin:
//
//   - A window is four bytes. Only every stride-th position of the text is
//     looked at; stride is the length of the shortest literal minus two, at
//     most maxStride, so that each occurrence of any literal, however it lies,
//     has one sampled window among stride neighbouring windows of the literal.
//     The shortest literals have one window too few; they get one that begins
//     with any byte before them, which is 256 windows.
//   - Which stride neighbouring windows stand for a literal is free. The rarest
//     ones are taken, judged by how often each byte occurs in logs and by how
//     many literals share a window: "rror: CUD" is filtered by ": CUD".
//   - A window is hashed to one bit of a 32 KiB bitmap. A clear bit, the normal
//     case, ends the look: one load, one multiplication and one bit test for
//     stride bytes of text.
//   - A set bit leads to the literals of that hash, which are compared in full
//     when four more bytes agree. Each occurrence is found through exactly one
//     window, so none is reported twice.
//   - Literals of one to four bytes are found by their rarest byte, in one more
//     pass for each such byte.
//
// Cost: memory is 96 KiB and 20 bytes for each of the stride windows of each
// literal. Time is linear in the text plus the comparisons behind set bits; the
// worst text repeats a window that many literals share and costs one comparison
// for each of them at each sampled position. With 1,300 anchors of engines,
// server logs pass at 0.5 to 0.8 GB/s on one core; one position in eight
// has its bit set then, since anchors and logs use the same words.
//
// The alternative, a DFA over byte classes (Aho and Corasick), has no bad texts,
// but makes a dependent load from a table of 17 MB for every byte: 0.24 GB/s
// on the same data. The price of sampling is that one short literal makes the
// stride, and with it the speed, smaller for all; this is why anchors have a
// minimum length of six bytes.

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

const (
	windowLen = 4
	hashBits  = 18
	// maxStride bounds the number of windows of a literal when all are long: more
	// windows set more bits than the longer stride saves.
	maxStride = 4
)

// Builder collects the literals of an Automaton.
type Builder struct {
	literals []string
	ids      map[string]int
}

// Add adds a literal and returns its id; ids count from 0. A literal that was
// added before keeps its id. The empty literal is never found.
func (b *Builder) Add(literal string) int {
	if id, ok := b.ids[literal]; ok {
		return id
	}
	if b.ids == nil {
		b.ids = make(map[string]int)
	}
	id := len(b.literals)
	b.ids[literal] = id
	b.literals = append(b.literals, literal)
	return id
}

// Build returns the automaton of the literals added so far.
func (b *Builder) Build() *Automaton {
	a := &Automaton{
		literals: slices.Clone(b.literals),
		stride:   maxStride,
		seen:     new([1 << (hashBits - 6)]uint64),
		first:    make([]int32, 1<<hashBits>>bucketShift+1),
	}
	for id, l := range a.literals {
		if len(l) < minLong {
			a.addShort(id)
			continue
		}
		a.stride = min(a.stride, len(l)-windowLen+2)
	}
	a.addWindows()
	return a
}

// Automaton finds all its literals in one pass. It is immutable: any number of
// goroutines may scan with it at the same time.
type Automaton struct {
	literals []string
	stride   int
	// seen has a bit for every hash of a window that stands for a literal.
	seen *[1 << (hashBits - 6)]uint64
	// windows are sorted by hash; those of a bucket, which is the upper bits of
	// a hash, begin at first[bucket] and end at first[bucket+1].
	windows []window
	first   []int32
	// short are the literals without windows, by the byte that finds them.
	short []byByte
}

// byByte are short literals that hold the same rare byte.
type byByte struct {
	b    byte
	lits []placed
}

// placed is a literal and the offset in it at which it is looked for.
type placed struct {
	id     int
	offset int
}

// minLong is the length from which a literal has windows.
const minLong = windowLen + 1

// window is one sampled place of a literal.
type window struct {
	bytes uint32 // the four bytes at offset in the literal; at -1, any byte and the first three
	id    int32
	// offset is where the window lies in the literal.
	offset int32
	// probe are the four bytes at probeAt, of which the window has few or none.
	probe   uint32
	probeAt int32
}

func (a *Automaton) addWindow(id, offset int, bytes uint32) {
	l := a.literals[id]
	probeAt := offset + windowLen
	if probeAt+windowLen > len(l) { // as far away as the literal allows
		probeAt = 0
		if offset < windowLen {
			probeAt = len(l) - windowLen
		}
	}
	h := hash(bytes)
	a.seen[h/64] |= 1 << (h % 64)
	a.windows = append(a.windows, window{bytes: bytes, id: int32(id), offset: int32(offset), probe: loadString(l, probeAt), probeAt: int32(probeAt)})
}

func loadString(s string, at int) uint32 {
	return uint32(s[at]) | uint32(s[at+1])<<8 | uint32(s[at+2])<<16 | uint32(s[at+3])<<24
}

// addShort registers a literal that has no windows by its rarest byte.
func (a *Automaton) addShort(id int) {
	l := a.literals[id]
	if l == "" {
		return
	}
	at := 0
	for i := range len(l) {
		if weight(l[i]) < weight(l[at]) {
			at = i
		}
	}
	i := slices.IndexFunc(a.short, func(s byByte) bool { return s.b == l[at] })
	if i < 0 {
		i = len(a.short)
		a.short = append(a.short, byByte{b: l[at]})
	}
	a.short[i].lits = append(a.short[i].lits, placed{id, at})
}

// bucketShift is how many low bits of a hash the buckets ignore.
const bucketShift = 4

// hash spreads the four bytes by Knuth's multiplicative method.
func hash(w uint32) uint32 { return w * 2654435769 >> (32 - hashBits) }

func load(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func (a *Automaton) addWindows() {
	shared := countWindows(a.literals)
	for id, l := range a.literals {
		if len(l) < minLong {
			continue
		}
		at, n := 0, len(l)-windowLen+1
		if n < a.stride {
			a.addWildWindow(id)
		} else {
			at, n = rarest(l, a.stride, shared), a.stride
		}
		for o := at; o < at+n; o++ {
			a.addWindow(id, o, loadString(l, o))
		}
	}
	a.sortWindows()
}

// addWildWindow adds the window before the first one of a literal: any byte,
// and the first three of the literal.
func (a *Automaton) addWildWindow(id int) {
	l := a.literals[id]
	fixed := uint32(l[0])<<8 | uint32(l[1])<<16 | uint32(l[2])<<24
	for b := range uint32(256) {
		a.addWindow(id, -1, fixed|b)
	}
}

// sortWindows puts the windows in buckets, keeping their order in each.
func (a *Automaton) sortWindows() {
	for i := range a.windows {
		a.first[a.windows[i].bucket()+1]++
	}
	for i := 1; i < len(a.first); i++ {
		a.first[i] += a.first[i-1]
	}
	next := slices.Clone(a.first)
	sorted := make([]window, len(a.windows))
	for _, w := range a.windows {
		b := w.bucket()
		sorted[next[b]] = w
		next[b]++
	}
	a.windows = sorted
}

func (w *window) bucket() uint32 { return hash(w.bytes) >> bucketShift }

// countWindows counts in how many places of the literals each window occurs, by
// its hash; a rare collision makes a window look a little more common.
func countWindows(literals []string) []uint16 {
	count := make([]uint16, 1<<hashBits)
	for _, l := range literals {
		for at := 0; at+windowLen <= len(l); at++ {
			if c := &count[hash(loadString(l, at))]; *c < math.MaxUint16 {
				*c++
			}
		}
	}
	return count
}

// rarest is the offset of the stride neighbouring windows of a literal that
// should cost least: windows are rare when their bytes are rare in logs and
// other literals do not have them.
func rarest(literal string, stride int, shared []uint16) int {
	var ring [maxStride]float64 // costs of the latest windows
	best, bestCost := 0, math.Inf(1)
	for at := 0; at+windowLen <= len(literal); at++ {
		n := float64(shared[hash(loadString(literal, at))])
		ring[at%stride] = frequency(literal[at:at+windowLen]) * n * n
		if at+1 < stride {
			continue
		}
		cost := 0.0
		for _, c := range ring[:stride] {
			cost += c
		}
		if cost < bestCost {
			best, bestCost = at+1-stride, cost
		}
	}
	return best
}

// byteWeights says how often the printable bytes from ' ' to '~' occur in
// server logs, each as a letter: two steps are a factor of two. Counted over
// about 100 logs of five engines.
const byteWeights = "wbmjajanmmlbqpqqrrqpooonnnqhioiealiljlmjimaijjmlndlknjhicbangnprftorrupqqsfosqttrktstqnmlojfjff"

// frequency estimates how often four bytes occur in a row, taking them as
// independent; four equal bytes (indentation, rulers) are worst.
func frequency(window string) float64 {
	a, b, c, d := window[0], window[1], window[2], window[3]
	if a == b && a == c && a == d {
		return math.MaxFloat32
	}
	return powers[weight(a)+weight(b)+weight(c)+weight(d)]
}

// powers are 2^(n/2) for every sum of weights.
var powers = func() (p [windowLen*('z'-'a') + 1]float64) {
	for n := range p {
		p[n] = math.Exp2(float64(n) / 2)
	}
	return p
}()

// weight is the entry of a byte in byteWeights, 0 for what is not printable.
func weight(b byte) int {
	if b < ' ' || b > '~' {
		return 0
	}
	return int(byteWeights[b-' '] - 'a')
}

// Scan reports every occurrence of every literal in data, also overlapping
// ones: the literal's id and the offset behind its last byte. The reports come
// roughly, but not exactly, in the order of the text; those of one literal are
// in order.
func (a *Automaton) Scan(data []byte, fn func(id, end int)) {
	for i := 0; i+windowLen <= len(data); i += a.stride {
		w := load(data[i:])
		h := hash(w)
		if a.seen[h/64]&(1<<(h%64)) != 0 {
			a.verify(data, i, w, h, fn)
		}
	}
	for i := range a.short {
		a.scanShort(data, &a.short[i], fn)
	}
}

// verify compares the literals of which the window at i may be a part.
func (a *Automaton) verify(data []byte, i int, w, h uint32, fn func(id, end int)) {
	bucket := h >> bucketShift
	windows := a.windows[a.first[bucket]:a.first[bucket+1]]
	for k := range windows {
		c := &windows[k]
		if c.bytes != w {
			continue
		}
		start := i - int(c.offset)
		probe := start + int(c.probeAt)
		if start < 0 || probe+windowLen > len(data) || load(data[probe:]) != c.probe {
			continue
		}
		literal := a.literals[c.id]
		end := start + len(literal)
		if end <= len(data) && string(data[start:end]) == literal {
			fn(int(c.id), end)
		}
	}
}

// scanShort finds the literals that hold one rare byte.
func (a *Automaton) scanShort(data []byte, short *byByte, fn func(id, end int)) {
	for from := 0; ; {
		n := bytes.IndexByte(data[from:], short.b)
		if n < 0 {
			return
		}
		for _, p := range short.lits {
			literal := a.literals[p.id]
			start := from + n - p.offset
			end := start + len(literal)
			if start >= 0 && end <= len(data) && string(data[start:end]) == literal {
				fn(p.id, end)
			}
		}
		from += n + 1
	}
}
