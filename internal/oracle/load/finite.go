package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"shakedown/internal/checkpoint"
	"shakedown/internal/numfmt"
)

// NotFiniteError names the tensors that hold NaN or infinities.
type NotFiniteError struct {
	Tensors []NotFinite // in order of name
}

// NotFinite is one tensor with values that are no numbers.
type NotFinite struct {
	File, Name string
	NaN, Inf   int64
	Elements   int64
	First      int64 // number of the first of them
}

// shownTensors is how many tensors an error names.
const shownTensors = 8

func (e *NotFiniteError) Error() string {
	var b strings.Builder
	b.WriteString("weights are not finite:")
	for i, t := range e.Tensors {
		if i == shownTensors {
			fmt.Fprintf(&b, " and %d more tensors", len(e.Tensors)-i)
			break
		}
		fmt.Fprintf(&b, " %s: %d NaN and %d infinite of %d values, the first is number %d (%s);", t.Name, t.NaN, t.Inf, t.Elements, t.First, t.File)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// CheckFinite reads every weight and returns a *NotFiniteError when a value is
// NaN or infinite. Codes that can't be either are not read. Behind each tensor
// progress, unless it is nil, is told the bytes read and all that are to be read,
// one call at a time.
func (s *Source) CheckFinite(ctx context.Context, progress func(done, total int64)) error {
	tensors := slices.DeleteFunc(slices.Clone(s.Files.Tensors()), func(t *checkpoint.Tensor) bool {
		decode, _ := decoder(t.DType)
		return decode == nil
	})
	// Each file is read in order, by one at a time: a disk reads ahead of one reader.
	slices.SortFunc(tensors, checkpoint.InFiles)
	var files [][]*checkpoint.Tensor
	var done, total int64
	for i, t := range tensors {
		total += t.Size
		if i == 0 || tensors[i-1].File != t.File {
			files = append(files, nil)
		}
		files[len(files)-1] = append(files[len(files)-1], t)
	}
	_, short := s.short()
	var found []NotFinite
	var mu sync.Mutex
	var failed error
	one := func(t *checkpoint.Tensor) {
		n, err := notFinite(t)
		if short {
			t.Release()
		}
		mu.Lock()
		defer mu.Unlock()
		if n != nil {
			found = append(found, *n)
		}
		if err != nil {
			failed = err
		}
		if done += t.Size; progress != nil {
			progress(done, total)
		}
	}
	s.pool.Each(len(files), func(i int) {
		for _, t := range files[i] {
			if ctx.Err() != nil {
				return
			}
			one(t)
		}
	})
	if failed != nil {
		return failed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b NotFinite) int { return strings.Compare(a.Name, b.Name) })
	return &NotFiniteError{Tensors: found}
}

const (
	readPiece   = 1 << 20 // bytes that are read at a time
	decodePiece = 1 << 12 // values that are decoded at a time
)

// notFinite counts the values of a tensor that are no numbers; nil for none. It does
// not map the file: what is read once needs no page table.
func notFinite(t *checkpoint.Tensor) (*NotFinite, error) {
	decode, size := decoder(t.DType)
	file, err := t.Reader()
	if err != nil {
		return nil, err
	}
	n := &NotFinite{File: t.File, Name: t.Name, Elements: t.Elements(), First: -1}
	stored := make([]byte, min(readPiece, t.Size))
	var values [decodePiece]float32
	for at := int64(0); at < t.Size; at += readPiece {
		stored = stored[:min(readPiece, t.Size-at)]
		if _, err := file.ReadAt(stored, at); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t.File, t.Name, err)
		}
		if finite(t.DType, stored) {
			continue
		}
		for i := 0; i < len(stored); i += decodePiece * size {
			part := values[:min(decodePiece, (len(stored)-i)/size)]
			decode(part, stored[i:])
			n.count(part, (at+int64(i))/int64(size))
		}
	}
	if n.First < 0 {
		return nil, nil
	}
	return n, nil
}

// finite says of most values that are finite, eight bytes at a time, that they are.
func finite(d checkpoint.DType, data []byte) bool {
	// The bits of the exponent (of a code that is NaN, with the mantissa) in each value,
	// and what carries them to the bit above when all are set.
	var exponent, carry, above uint64
	switch d {
	case checkpoint.BF16:
		exponent, carry, above = 0x7f807f807f807f80, 0x0080008000800080, 0x8000800080008000
	case checkpoint.F16:
		exponent, carry, above = 0x7c007c007c007c00, 0x0400040004000400, 0x8000800080008000
	case checkpoint.F32:
		exponent, carry, above = 0x7f8000007f800000, 0x0080000000800000, 0x8000000080000000
	case checkpoint.F8E4M3:
		exponent, carry, above = 0x7f7f7f7f7f7f7f7f, 0x0101010101010101, 0x8080808080808080
	case checkpoint.F8E5M2:
		exponent, carry, above = 0x7c7c7c7c7c7c7c7c, 0x0404040404040404, 0x8080808080808080
	default:
		return false
	}
	var all uint64
	for ; len(data) >= 8; data = data[8:] {
		all |= binary.LittleEndian.Uint64(data)&exponent + carry
	}
	var rest [8]byte
	copy(rest[:], data)
	all |= binary.LittleEndian.Uint64(rest[:])&exponent + carry
	return all&above == 0
}

func (n *NotFinite) count(values []float32, at int64) {
	for i, v := range values {
		if v-v == 0 {
			continue
		}
		if n.First < 0 {
			n.First = at + int64(i)
		}
		if v != v {
			n.NaN++
		} else {
			n.Inf++
		}
	}
}

// decoder decodes values of a type that has NaN, and says how many bytes one
// takes; nil for other types.
func decoder(d checkpoint.DType) (func(dst []float32, src []byte), int) {
	if kind, ok := elements[d]; ok {
		_, size, _ := kind.Block()
		return kind.Decode, size
	}
	switch d {
	case checkpoint.F8E4M3:
		return func(dst []float32, src []byte) { numfmt.E4M3FN.DecodeScaled(dst, src, 1) }, 1
	case checkpoint.F8E5M2:
		return func(dst []float32, src []byte) { numfmt.E5M2.DecodeScaled(dst, src, 1) }, 1
	case checkpoint.F8E8M0:
		return func(dst []float32, src []byte) {
			for i := range dst {
				dst[i] = numfmt.E8M0(src[i])
			}
		}, 1
	}
	return nil, 0
}
