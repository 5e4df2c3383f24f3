package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of what is read of a GGUF header; real files stay far below.
const (
	maxMetaString = 64 << 20  // bytes of one text; chat templates have 100 kB
	maxMetaBytes  = 512 << 20 // bytes of the whole header; large vocabularies take 10 MB
	maxMetaArray  = 16 << 20  // elements of one array; vocabularies have 300,000
	maxMetaKeys   = 1 << 16
	maxGGUFDims   = 4 // GGML_MAX_DIMS in ggml.h
)

// defaultAlignment is used when general.alignment is absent (gguf.h,
// GGUF_DEFAULT_ALIGNMENT).
const defaultAlignment = 32

// Value types of GGUF metadata (gguf.h, enum gguf_type).
const (
	ggufU8 = iota
	ggufI8
	ggufU16
	ggufI16
	ggufU32
	ggufI32
	ggufF32
	ggufBool
	ggufString
	ggufArray
	ggufU64
	ggufI64
	ggufF64
)

// ggufSizes are the bytes of the value types, the least that one can have for
// texts and arrays.
var ggufSizes = []int64{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8}

// Metadata holds the key-value pairs of a GGUF file.
type Metadata struct {
	Version   int
	Alignment int
	keys      []string
	// values are int64, uint64 (only beyond int64), float64, bool, string, or an
	// array of one of these: []int64, []float64, []bool, []string.
	values map[string]any
}

// Keys lists the keys in the order of the file.
func (m *Metadata) Keys() []string { return m.keys }

// Str is a text value; ok is false when it is absent or of another type, as for
// the methods below.
func (m *Metadata) Str(key string) (s string, ok bool) {
	s, ok = m.values[key].(string)
	return s, ok
}

// Int is a whole number.
func (m *Metadata) Int(key string) (n int64, ok bool) {
	n, ok = m.values[key].(int64)
	return n, ok
}

// Float is a number, whole ones included.
func (m *Metadata) Float(key string) (float64, bool) {
	switch v := m.values[key].(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// Bool is a truth value.
func (m *Metadata) Bool(key string) (b, ok bool) {
	b, ok = m.values[key].(bool)
	return b, ok
}

// Strings is an array of texts, nil when it is absent or of another type.
func (m *Metadata) Strings(key string) []string {
	v, _ := m.values[key].([]string)
	return v
}

// Ints is an array of whole numbers, nil when it is absent or of another type.
func (m *Metadata) Ints(key string) []int64 {
	v, _ := m.values[key].([]int64)
	return v
}

// Floats is an array of numbers, nil when it is absent or of another type.
func (m *Metadata) Floats(key string) []float64 {
	v, _ := m.values[key].([]float64)
	return v
}

// openOneGGUF opens the one GGUF model of a folder.
func (c *Checkpoint) openOneGGUF(names []string) error {
	var first []string
	for _, name := range names {
		if m := shard.FindStringSubmatch(name); m == nil || m[2] == "00001" {
			first = append(first, name)
		}
	}
	if len(first) > 1 {
		return fmt.Errorf("%s: %d GGUF models in this folder: name one of them, such as %s", c.Path, len(first), filepath.Join(c.Path, first[0]))
	}
	return c.openGGUF(append(first, names...)[0])
}

// openGGUF opens a GGUF file and the other parts of a split.
func (c *Checkpoint) openGGUF(name string) error {
	c.Format = GGUF
	names := []string{name}
	if m := shard.FindStringSubmatch(name); m != nil {
		names = missingShards(m, nil) // all of them
	}
	split := 0
	for i, part := range names {
		out := File{Name: part, Size: -1}
		src, size, err := openWeights(filepath.Join(c.Dir, part))
		if err != nil {
			if len(names) == 1 {
				return err
			}
			c.Files = append(c.Files, out)
			c.problem(Problem{Kind: MissingFile, File: part, Want: fmt.Sprintf("part %d of %d", i+1, len(names)), Got: c.why(part, err), Fatal: true})
			continue
		}
		c.maps = append(c.maps, src)
		h, meta := readGGUF(src.file, size, part)
		for _, t := range h.tensors {
			t.source = src
		}
		out.Size, out.Header, out.Tensors = size, h.length, len(h.tensors)
		c.Files = append(c.Files, out)
		c.Problems = append(c.Problems, h.problems.all...)
		c.addTensors(h.tensors)
		if c.Meta == nil {
			c.Meta = meta
		}
		if n, ok := meta.int("split.count"); ok {
			split = int(n)
		}
	}
	if len(names) == 1 && split > 1 {
		c.problem(Problem{Kind: MissingFile, File: name, Want: fmt.Sprintf("%d parts named NAME-00001-of-%05d.gguf", split, split), Got: "one part under another name", Fatal: true})
	}
	if want, ok := c.Meta.int("split.tensors.count"); ok && int(want) != len(c.tensors) && c.Err() == nil {
		c.problem(Problem{Kind: IndexNoTensor, File: names[0], Want: fmt.Sprintf("%d tensors in all parts", want), Got: fmt.Sprintf("%d", len(c.tensors)), Fatal: true})
	}
	return nil
}

// int is Int for metadata that may be absent.
func (m *Metadata) int(key string) (int64, bool) {
	if m == nil {
		return 0, false
	}
	return m.Int(key)
}

// ggufReader reads the header of a GGUF file. Every length is checked against
// what is left of the file before anything is allocated for it.
type ggufReader struct {
	r   *bufio.Reader
	pos int64
	end int64 // size of the file, or the limit of a header
	err error
}

var errGGUFEnd = errors.New("the file ends inside the header")

func (g *ggufReader) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf("byte %d: "+format, append([]any{g.pos}, args...)...)
	}
}

// bytes reads n bytes; the slice is new.
func (g *ggufReader) bytes(n int64) []byte {
	if g.err != nil {
		return nil
	}
	if n > g.end-g.pos {
		g.err = errGGUFEnd
		return nil
	}
	out := make([]byte, n)
	if _, err := io.ReadFull(g.r, out); err != nil {
		g.err = err
		return nil
	}
	g.pos += n
	return out
}

func (g *ggufReader) number(size int64) uint64 {
	var buf [8]byte
	if g.err == nil && size > g.end-g.pos {
		g.err = errGGUFEnd
	}
	if g.err != nil {
		return 0
	}
	if _, err := io.ReadFull(g.r, buf[:size]); err != nil {
		g.err = err
		return 0
	}
	g.pos += size
	return binary.LittleEndian.Uint64(buf[:])
}

func (g *ggufReader) text() string {
	n := g.number(8)
	if n > maxMetaString {
		g.fail("a text of %d bytes, at most %d are read", n, maxMetaString)
		return ""
	}
	return string(g.bytes(int64(n)))
}

// value reads one value of a type.
func (g *ggufReader) value(kind uint32) any {
	switch kind {
	case ggufString:
		return g.text()
	case ggufArray:
		return g.array()
	}
	if int(kind) >= len(ggufSizes) {
		g.fail("value type %d is unknown", kind)
		return nil
	}
	return numeric(kind, g.number(ggufSizes[kind]))
}

// numeric turns the bits of a value into int64, uint64, float64 or bool.
func numeric(kind uint32, v uint64) any {
	switch kind {
	case ggufI8:
		return int64(int8(v))
	case ggufI16:
		return int64(int16(v))
	case ggufI32:
		return int64(int32(v))
	case ggufF32:
		return float64(math.Float32frombits(uint32(v)))
	case ggufF64:
		return math.Float64frombits(v)
	case ggufBool:
		return v != 0
	case ggufU64:
		if v > math.MaxInt64 {
			return v
		}
	}
	return int64(v)
}

func (g *ggufReader) array() any {
	kind, n := uint32(g.number(4)), g.number(8)
	if g.err != nil {
		return nil
	}
	if int(kind) >= len(ggufSizes) || kind == ggufArray {
		g.fail("an array of value type %d is not read", kind)
		return nil
	}
	if n > maxMetaArray || int64(n) > (g.end-g.pos)/ggufSizes[kind] {
		g.fail("an array of %d elements is longer than the file", n)
		return nil
	}
	switch kind {
	case ggufString:
		return fill(g, n, func() string { return g.text() })
	case ggufBool:
		return fill(g, n, func() bool { return g.number(1) != 0 })
	case ggufF32, ggufF64:
		return fill(g, n, func() float64 { f, _ := numeric(kind, g.number(ggufSizes[kind])).(float64); return f })
	}
	return fill(g, n, func() int64 { i, _ := numeric(kind, g.number(ggufSizes[kind])).(int64); return i })
}

// fill reads n elements and stops at the first error.
func fill[T any](g *ggufReader, n uint64, read func() T) []T {
	var out []T
	for i := uint64(0); i < n && g.err == nil; i++ {
		out = append(out, read())
	}
	return out
}

// readGGUF reads the header of a GGUF file of size bytes.
func readGGUF(r io.ReaderAt, size int64, name string) (header, *Metadata) {
	var h header
	bad := func(k Kind, want, got string) (header, *Metadata) {
		h.tensors = nil
		h.problems.add(Problem{Kind: k, File: name, Want: want, Got: got, Fatal: true})
		return h, nil
	}
	g := &ggufReader{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<20), end: min(size, maxMetaBytes)}
	if magic := g.bytes(4); string(magic) != "GGUF" {
		if what := stranger(r, size); what != "" {
			return bad(Pointer, "a GGUF file", what)
		}
		return bad(BadHeader, `"GGUF" at the beginning`, fmt.Sprintf("%q", magic))
	}
	m := &Metadata{Version: int(uint32(g.number(4))), values: map[string]any{}}
	if m.Version != 2 && m.Version != 3 {
		got := fmt.Sprintf("version %d", m.Version)
		if m.Version&0xffff == 0 {
			got = "a big-endian file"
		}
		return bad(BadHeader, "little-endian GGUF version 2 or 3", got)
	}
	tensors, pairs := g.number(8), g.number(8)
	if g.err == nil && (pairs > maxMetaKeys || int64(pairs) > size/13 || tensors > uint64(size)/24) {
		return bad(BadHeader, "counts that the file has room for", fmt.Sprintf("%d tensors and %d keys in %d bytes", tensors, pairs, size))
	}
	for i := uint64(0); i < pairs && g.err == nil; i++ {
		key := g.text()
		v := g.value(uint32(g.number(4)))
		if _, twice := m.values[key]; twice && g.err == nil {
			h.problems.add(Problem{Kind: DuplicateName, File: name, Tensor: key, Want: "every key once", Got: "the metadata names it twice", Fatal: true})
		}
		m.values[key] = v
		m.keys = append(m.keys, key)
	}
	align := int64(defaultAlignment)
	if v, ok := m.Int("general.alignment"); ok {
		align = v
	}
	if align < 1 || align > 1<<20 || align&(align-1) != 0 {
		return bad(BadHeader, "general.alignment as a power of two", fmt.Sprint(align))
	}
	m.Alignment = int(align)
	seen := map[string]bool{}
	for i := uint64(0); i < tensors && g.err == nil; i++ {
		h.ggufTensor(g, name, seen)
	}
	if g.err != nil {
		kind := BadHeader
		if errors.Is(g.err, errGGUFEnd) {
			kind = Truncated
		}
		return bad(kind, "a whole GGUF header", g.err.Error())
	}
	h.length = (g.pos + align - 1) / align * align
	h.placeGGUF(size, name, align)
	return h, m
}

// ggufTensor reads one tensor's description. Offset is relative to the data until
// placeGGUF has run.
func (h *header) ggufTensor(g *ggufReader, name string, seen map[string]bool) {
	t := &Tensor{Name: g.text(), File: name, Shape: []int{}}
	dims := g.number(4)
	if g.err == nil && dims > maxGGUFDims {
		g.fail("tensor %q has %d dimensions, at most %d", t.Name, dims, maxGGUFDims)
	}
	for i := uint64(0); i < dims && g.err == nil; i++ {
		d := g.number(8)
		if d > math.MaxInt64 {
			g.fail("tensor %q: impossible shape", t.Name)
		}
		t.Shape = append(t.Shape, int(d))
	}
	slices.Reverse(t.Shape)
	kind, offset := uint32(g.number(4)), g.number(8)
	if g.err != nil {
		return
	}
	if seen[t.Name] {
		h.problems.add(Problem{Kind: DuplicateName, File: name, Tensor: t.Name, Want: "every name once", Got: "the header names it twice", Fatal: true})
		return
	}
	seen[t.Name] = true
	b, ok := ggmlTypes[kind]
	if !ok {
		h.problems.add(Problem{Kind: UnknownDType, File: name, Tensor: t.Name, Want: "a ggml type", Got: fmt.Sprintf("type number %d", kind), Fatal: true})
		return
	}
	t.DType = b.name
	if t.Size, ok = b.sizeOf(t.Shape); !ok {
		h.problems.add(Problem{Kind: SizeMismatch, File: name, Tensor: t.Name, Want: fmt.Sprintf("rows of whole blocks of %d", b.elements), Got: fmt.Sprintf("%s %v", b.name, t.Shape), Fatal: true})
		return
	}
	if offset > math.MaxInt64-uint64(t.Size)-maxMetaBytes {
		h.problems.add(Problem{Kind: OutOfBounds, File: name, Tensor: t.Name, Want: "an offset inside the file", Got: fmt.Sprint(offset), Fatal: true})
		return
	}
	t.Offset = int64(offset)
	h.tensors = append(h.tensors, t)
}

// placeGGUF checks that the tensors follow each other, each padded to the
// alignment, as gguf.cpp demands, and turns offsets into positions in the file.
func (h *header) placeGGUF(size int64, name string, align int64) {
	slices.SortFunc(h.tensors, func(a, b *Tensor) int {
		if a.Offset != b.Offset {
			if a.Offset < b.Offset {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	clean := len(h.problems.all) == 0
	end, last := int64(0), "the beginning of the data"
	for _, t := range h.tensors {
		switch {
		case t.Offset < end:
			h.problems.add(Problem{Kind: Overlap, File: name, Tensor: t.Name, Want: fmt.Sprintf("data from byte %d, behind %s", end, last), Got: fmt.Sprintf("offset %d", t.Offset), Fatal: true})
		case t.Offset > end && clean:
			h.problems.add(Problem{Kind: Gap, File: name, Tensor: t.Name, Want: fmt.Sprintf("data from byte %d, behind %s", end, last), Got: fmt.Sprintf("offset %d", t.Offset), Fatal: true})
		}
		if h.length+t.Offset+t.Size > size {
			h.problems.add(Problem{Kind: Truncated, File: name, Tensor: t.Name, Want: fmt.Sprintf("a file of at least %d bytes", h.length+t.Offset+t.Size), Got: fmt.Sprintf("it has %d", size), Fatal: true})
		}
		if next := (t.Offset + t.Size + align - 1) / align * align; next >= end {
			end, last = next, t.Name
		}
		t.Offset += h.length
	}
	if clean && h.length+end < size {
		h.problems.add(Problem{Kind: TrailingBytes, File: name, Want: fmt.Sprintf("a file of %d bytes", h.length+end), Got: fmt.Sprintf("it has %d", size)})
	}
}
