package load

import (
	"context"
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
	var done, total int64
	for _, t := range tensors {
		total += t.Size
	}
	found := make([]*NotFinite, len(tensors))
	var mu sync.Mutex
	var failed error
	s.pool.Each(len(tensors), func(i int) {
		if ctx.Err() != nil {
			return
		}
		n, err := notFinite(tensors[i])
		found[i] = n
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = err
		}
		if done += tensors[i].Size; progress != nil {
			progress(done, total)
		}
	})
	if failed != nil {
		return failed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	out := &NotFiniteError{}
	for _, n := range found {
		if n != nil {
			out.Tensors = append(out.Tensors, *n)
		}
	}
	if len(out.Tensors) > 0 {
		return out
	}
	return nil
}

// piece is how many values are decoded at a time.
const piece = 1 << 12

// notFinite counts the values of a tensor that are no numbers; nil for none.
func notFinite(t *checkpoint.Tensor) (*NotFinite, error) {
	decode, size := decoder(t.DType)
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	n := &NotFinite{File: t.File, Name: t.Name, Elements: t.Elements(), First: -1}
	var buf [piece]float32
	for at := int64(0); at < n.Elements; at += piece {
		part := buf[:min(piece, n.Elements-at)]
		decode(part, data[at*int64(size):])
		n.count(part, at)
	}
	if n.First < 0 {
		return nil, nil
	}
	return n, nil
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
