package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// maxHeader is the longest header that the safetensors library accepts, in bytes
// (safetensors/src/tensor.rs, MAX_HEADER_SIZE).
const maxHeader = 100_000_000

// maxDims bounds the dimensions of a tensor; torch allows 64.
const maxDims = 64

// header is what one weight file says of itself.
type header struct {
	tensors  []*Tensor
	length   int64 // bytes in front of the data
	problems once
}

// readSafetensors reads the header of a safetensors file of size bytes. Tensors
// that can't be placed are left out.
func readSafetensors(r io.ReaderAt, size int64, name string) header {
	var h header
	bad := func(k Kind, want, got string) header {
		h.problems.add(Problem{Kind: k, File: name, Want: want, Got: got, Fatal: true})
		return h
	}
	var length [8]byte
	if size < int64(len(length)) {
		return bad(Truncated, "at least 8 bytes with the length of the header", fmt.Sprintf("the file has %d bytes", size))
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return bad(Unreadable, "", err.Error())
	}
	if what := stranger(r, size); what != "" {
		return bad(Pointer, "a safetensors file", what)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		return bad(HeaderTooLarge, fmt.Sprintf("a header of at most %d bytes", maxHeader), fmt.Sprintf("the file says %d", n))
	}
	h.length = 8 + int64(n)
	if h.length > size {
		return bad(Truncated, fmt.Sprintf("a header of %d bytes", n), fmt.Sprintf("the file ends after %d bytes", size))
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, 8); err != nil && !errors.Is(err, io.EOF) {
		return bad(Unreadable, "", err.Error())
	}
	if len(text) == 0 || text[0] != '{' {
		return bad(BadHeader, `a header that begins with "{"`, "it begins with another byte")
	}
	if err := h.parse(text, name); err != nil {
		return bad(BadHeader, "a header in JSON", err.Error())
	}
	h.place(size, name)
	return h
}

// stranger says what a file is that stands in place of a weight file, or nothing.
func stranger(r io.ReaderAt, size int64) string {
	head := make([]byte, min(size, 64))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	switch text := bytes.ToLower(bytes.TrimSpace(head)); {
	case bytes.HasPrefix(text, []byte("version https://git-lfs")):
		return "a Git LFS pointer, not the file itself"
	case bytes.HasPrefix(text, []byte("<!doctype")), bytes.HasPrefix(text, []byte("<html")):
		return "an HTML page"
	case bytes.HasPrefix(head, []byte("GGUF")):
		return "a GGUF file"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "a zip archive (a pickled PyTorch file)"
	}
	return ""
}

// parse reads the JSON text. Problems of single tensors go to h.problems.
func (h *header) parse(text []byte, name string) error {
	s, err := newJSONScan(text)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	err = s.object(func(key string) error {
		if seen[key] {
			h.problems.add(Problem{Kind: DuplicateName, File: name, Tensor: key, Want: "every name once", Got: "the header names it twice", Fatal: true})
		}
		twice := seen[key]
		seen[key] = true
		if key == "__metadata__" {
			return s.object(func(string) error {
				_, err := s.str()
				return err
			})
		}
		if twice {
			return s.skip() // the first one stays
		}
		return h.entry(s, key, name)
	})
	if err != nil {
		return err
	}
	return s.end()
}

// entry reads one tensor's description. Offset is relative to the data until
// place has run.
func (h *header) entry(s *jsonScan, key, name string) error {
	t := &Tensor{Name: key, File: name, Shape: []int{}}
	var fields, ends int
	var bounds [2]uint64
	err := s.object(func(field string) error {
		switch field {
		case "dtype":
			fields |= 1
			text, err := s.str()
			t.DType = DType(text)
			return err
		case "shape":
			fields |= 2
			t.Shape = t.Shape[:0]
			return s.array(func() error {
				n, err := s.natural()
				if err == nil && (n > math.MaxInt || len(t.Shape) == maxDims) {
					err = fmt.Errorf("tensor %q: impossible shape", key)
				}
				t.Shape = append(t.Shape, int(n))
				return err
			})
		case "data_offsets":
			fields |= 4
			ends = 0
			return s.array(func() error {
				n, err := s.natural()
				if err != nil {
					return err
				}
				if ends == 2 {
					return fmt.Errorf("tensor %q: more than two data_offsets", key)
				}
				bounds[ends] = n
				ends++
				return nil
			})
		}
		return fmt.Errorf("tensor %q: unknown field %q", key, field)
	})
	if err != nil {
		return err
	}
	if fields != 7 || ends != 2 {
		return fmt.Errorf("tensor %q: expected dtype, shape and two data_offsets", key)
	}
	if bounds[0] > bounds[1] || bounds[1] > math.MaxInt64-maxHeader-8 {
		h.problems.add(Problem{Kind: OutOfBounds, File: name, Tensor: key, Want: "begin <= end", Got: fmt.Sprintf("data_offsets [%d, %d]", bounds[0], bounds[1]), Fatal: true})
		return nil
	}
	t.Offset, t.Size = int64(bounds[0]), int64(bounds[1]-bounds[0])
	b, ok := safetensorsTypes[t.DType]
	if !ok {
		h.problems.add(Problem{Kind: UnknownDType, File: name, Tensor: key, Want: "a safetensors type", Got: fmt.Sprintf("dtype %q", t.DType), Fatal: true})
		return nil
	}
	if want, ok := b.sizeOf(t.Shape); !ok || want != t.Size {
		got := fmt.Sprintf("%s %v in %d bytes", t.DType, t.Shape, t.Size)
		wanted := "whole bytes"
		if ok {
			wanted = fmt.Sprintf("%d bytes", want)
		}
		h.problems.add(Problem{Kind: SizeMismatch, File: name, Tensor: key, Want: wanted, Got: got, Fatal: true})
		return nil
	}
	h.tensors = append(h.tensors, t)
	return nil
}

// place checks that the tensors fill the data without gap and overlap, as the
// safetensors library demands, and turns offsets into positions in the file.
func (h *header) place(size int64, name string) {
	slices.SortFunc(h.tensors, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Name, b.Name))
	})
	data := size - h.length
	end := int64(0)
	last := "the beginning of the data"
	clean := len(h.problems.all) == 0 // tensors that were left out would look like gaps
	for _, t := range h.tensors {
		switch {
		case t.Offset < end:
			h.problems.add(Problem{Kind: Overlap, File: name, Tensor: t.Name, Want: fmt.Sprintf("data from byte %d, behind %s", end, last), Got: fmt.Sprintf("data_offsets begin at %d", t.Offset), Fatal: true})
		case t.Offset > end && clean:
			h.problems.add(Problem{Kind: Gap, File: name, Tensor: t.Name, Want: fmt.Sprintf("data from byte %d, behind %s", end, last), Got: fmt.Sprintf("data_offsets begin at %d", t.Offset), Fatal: true})
		}
		if t.Offset+t.Size > data {
			h.problems.add(Problem{Kind: Truncated, File: name, Tensor: t.Name, Want: fmt.Sprintf("%d bytes of data", t.Offset+t.Size), Got: fmt.Sprintf("the file ends after %d", max(data, 0)), Fatal: true})
		}
		if t.Offset+t.Size >= end {
			end, last = t.Offset+t.Size, t.Name
		}
		t.Offset += h.length
	}
	if end < data && clean {
		h.problems.add(Problem{Kind: TrailingBytes, File: name, Want: fmt.Sprintf("a file of %d bytes", h.length+end), Got: fmt.Sprintf("it has %d", size), Fatal: true})
	}
}
