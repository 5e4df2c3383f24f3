package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

// mapping is an open weight file, mapped into memory when bytes are first asked
// for. Where files can't be mapped, each tensor is read on its own.
type mapping struct {
	file *os.File
	size int64

	mu     sync.Mutex
	data   []byte // the whole file, nil until mapped
	failed bool   // mapping was refused, so tensors are read
	// scattered is the file once more, for reads without readahead; nil until used.
	scattered *os.File
	closed    bool
}

var errClosed = errors.New("the checkpoint is closed")

// openWeights opens a weight file for reading. Opening a pipe would wait for a
// writer, so the kind of the file is looked at first.
func openWeights(path string) (*mapping, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return &mapping{file: f, size: info.Size()}, info.Size(), nil
}

// bytes returns part of the file: a view of the mapping, or a copy.
func (m *mapping) bytes(offset, size int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	if m.data == nil && !m.failed {
		data, err := mapFile(m.file, m.size)
		m.data, m.failed = data, err != nil
	}
	if m.data != nil {
		return m.data[offset : offset+size : offset+size], nil
	}
	out := make([]byte, size)
	_, err := m.file.ReadAt(out, offset)
	return out, err
}

// load reads part of a mapped file into the system's cache. Reading does that with
// less work than pages of the mapping that are missed one by one, and than hints.
func (m *mapping) load(buf []byte, from, to int64) error {
	m.mu.Lock()
	file, mapped := m.file, m.data != nil
	m.mu.Unlock()
	for mapped && from < to {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// prefetch tells the operating system that part of the mapping will be used soon.
func (m *mapping) prefetch(offset, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	page := int64(os.Getpagesize())
	from, to := offset/page*page, min((offset+size+page-1)/page*page, m.size)
	if m.data != nil && from < to {
		willNeed(m.data[from:to])
	}
}

// release gives back what the mapping and the system's cache of the file hold of a
// part. Without the latter, who needs memory waits until the system has looked through
// all pages for some to drop.
func (m *mapping) release(offset, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Only whole pages: a page at the border may belong to a neighbour in use.
	page := int64(os.Getpagesize())
	from, to := (offset+page-1)/page*page, (offset+size)/page*page
	if m.closed || from >= to {
		return
	}
	if m.data != nil {
		dontNeed(m.data[from:to])
	}
	drop(m.file, from, to-from)
}

func (m *mapping) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	var err error
	if m.data != nil {
		err = unmapFile(m.data)
		m.data = nil
	}
	if m.scattered != nil {
		err = errors.Join(err, m.scattered.Close())
	}
	return errors.Join(err, m.file.Close())
}

// few opens the file for reads without readahead.
func (m *mapping) few() (*os.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	if m.scattered == nil {
		f, err := os.Open(m.file.Name())
		if err != nil {
			return nil, err
		}
		random(f)
		m.scattered = f
	}
	return m.scattered, nil
}

// Read is a copy of a small tensor, read without what stands around it. Many
// small tensors of a large file, such as scales, are read much faster like this
// than through Bytes, where each would make the operating system read ahead.
func (t *Tensor) Read() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	f, err := t.source.few()
	out := make([]byte, t.Size)
	if err == nil {
		_, err = f.ReadAt(out, t.Offset)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", t.File, t.Name, err)
	}
	return out, nil
}

// check says why a tensor has no bytes.
func (t *Tensor) check() error {
	switch {
	case t.source == nil:
		return fmt.Errorf("%s: %s: only its name is known, the file is not here", t.File, t.Name)
	case t.Offset+t.Size > t.source.size:
		return fmt.Errorf("%s: %s: the file ends at byte %d, the tensor at %d", t.File, t.Name, t.source.size, t.Offset+t.Size)
	}
	return nil
}

// Bytes is the tensor as it is stored, little-endian and row by row. Where files
// can be mapped it is a view that is valid until Close and must not be written
// to; elsewhere every call reads a copy.
func (t *Tensor) Bytes() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	b, err := t.source.bytes(t.Offset, t.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", t.File, t.Name, err)
	}
	return b, nil
}

// Reader reads the tensor from the file without mapping it.
func (t *Tensor) Reader() (*io.SectionReader, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	return io.NewSectionReader(t.source.file, t.Offset, t.Size), nil
}

// Ahead asks the operating system to begin reading the file from a byte of the
// tensor on, for Readers that will come there soon.
func (t *Tensor) Ahead(from, size int64) {
	if t.check() == nil && from >= 0 && size > 0 {
		soon(t.source.file, t.Offset+from, size)
	}
}

// Prefetch asks the operating system to read the tensor in the background; it
// has no effect before the first call of Bytes on the same file.
func (t *Tensor) Prefetch() {
	if t.check() == nil {
		t.source.prefetch(t.Offset, t.Size)
	}
}

// InFiles compares tensors by file and place in it, the order in which to read them.
func InFiles(a, b *Tensor) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
}

// Load reads tensors, in the order of the files, into the cache that the operating
// system has of them, so that the use of Bytes won't wait. It does nothing for files
// of which Bytes was never called, or that can't be mapped.
func Load(tensors []*Tensor) error {
	// One span for what lies side by side.
	const near = 1 << 20
	buf := make([]byte, 1<<20)
	var last *mapping
	var from, to int64
	read := func() error {
		if last == nil {
			return nil
		}
		return last.load(buf, from, to)
	}
	for _, t := range slices.SortedFunc(slices.Values(tensors), InFiles) {
		if err := t.check(); err != nil {
			return err
		}
		if t.source == last && t.Offset <= to+near {
			to = max(to, t.Offset+t.Size)
			continue
		}
		if err := read(); err != nil {
			return err
		}
		last, from, to = t.source, t.Offset, t.Offset+t.Size
	}
	return read()
}

// Release gives the memory behind Bytes back to the operating system, also that of
// its cache of the file. The file is read again when the bytes are used again.
func (t *Tensor) Release() {
	if t.check() == nil {
		t.source.release(t.Offset, t.Size)
	}
}
