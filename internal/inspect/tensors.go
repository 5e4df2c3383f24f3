package inspect

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
	"shakedown/internal/numfmt"
)

// describeTensors describes the tensors that were asked for, with their values.
func (x *inspector) describeTensors() error {
	switch {
	case x.o.Tensor != "":
		var found []*checkpoint.Tensor
		if t := x.c.Tensor(x.o.Tensor); t != nil {
			found = append(found, t)
		} else if m := x.c.Module(x.o.Tensor); m != nil {
			for _, t := range m.Parts {
				found = append(found, t)
			}
			slices.SortFunc(found, func(a, b *checkpoint.Tensor) int { return strings.Compare(a.Name, b.Name) })
		}
		if len(found) == 0 {
			return &NoTensorError{Name: fmt.Sprintf("tensor %q", x.o.Tensor), Near: x.near(x.o.Tensor)}
		}
		for _, t := range found {
			x.describeTensor(t)
		}
	case x.o.Layer >= 0:
		n := len(x.tensors)
		for _, t := range x.c.Tensors() {
			if i, ok := layerOf(t.Name); ok && i == x.o.Layer {
				x.describeTensor(t)
			}
		}
		if len(x.tensors) == n {
			return &NoTensorError{Name: fmt.Sprintf("layer %d", x.o.Layer)}
		}
	}
	return nil
}

// near lists a few tensors that hold the text, or whose last parts are the same.
func (x *inspector) near(name string) []string {
	const most = 3
	var out []string
	for _, match := range []func(string) bool{
		func(s string) bool { return strings.Contains(s, name) },
		func(s string) bool {
			a, b := strings.Split(s, "."), strings.Split(name, ".")
			n := min(len(a), len(b), 2)
			return slices.Equal(a[len(a)-n:], b[len(b)-n:])
		},
	} {
		for _, t := range x.c.Tensors() {
			if len(out) < most && match(t.Name) {
				out = append(out, t.Name)
			}
		}
	}
	return slices.Compact(out)
}

func (x *inspector) describeTensor(t *checkpoint.Tensor) {
	m := finding.TensorMsg{Name: t.Name, File: t.File, DType: string(t.DType), Shape: t.Shape, Offset: t.Offset, Bytes: t.Size}
	if mod := x.moduleOf(t); mod != nil && mod.Weight == t {
		m.Storage = string(mod.Storage)
	}
	if b, err := t.Bytes(); err == nil {
		m.Values = stats(t, b)
		t.Release()
	}
	x.tensors = append(x.tensors, m)
}

// moduleOf finds the module of a tensor.
func (x *inspector) moduleOf(t *checkpoint.Tensor) *checkpoint.Module {
	for name := t.Name; ; {
		if m := x.c.Module(name); m != nil {
			return m
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return nil
		}
		name = name[:i]
	}
}

// statsChunk is how many values are decoded at a time.
const statsChunk = 1 << 16

// stats looks at the stored values of a tensor: codes of 8-bit types are decoded
// without their scales; block formats of ggml with them. nil for types whose
// stored values mean nothing by themselves (packed integers).
func stats(t *checkpoint.Tensor, b []byte) *finding.ValueStats {
	decode, elements, size := decoder(t.DType)
	if decode == nil {
		return nil
	}
	s := &finding.ValueStats{FirstBad: -1, Min: finding.Number(math.Inf(1)), Max: finding.Number(math.Inf(-1))}
	sum := 0.0
	step := statsChunk / elements * elements
	buf := make([]float32, step)
	for at := 0; at+size <= len(b); {
		n := min(step/elements, (len(b)-at)/size)
		values := buf[:n*elements]
		decode(values, b[at:at+n*size])
		at += n * size
		for _, v := range values {
			f := float64(v)
			switch {
			case math.IsNaN(f), math.IsInf(f, 0):
				if math.IsNaN(f) {
					s.NaN++
				} else {
					s.Inf++
				}
				if s.FirstBad < 0 {
					s.FirstBad = s.Count
				}
			default:
				if v == 0 {
					s.Zero++
				}
				s.Min, s.Max = min(s.Min, finding.Number(f)), max(s.Max, finding.Number(f))
				sum += f * f
			}
			s.Count++
		}
	}
	if finite := s.Count - s.NaN - s.Inf; finite > 0 {
		s.RMS = finding.Number(math.Sqrt(sum / float64(finite)))
	} else {
		s.Min, s.Max, s.RMS = finding.Number(math.NaN()), finding.Number(math.NaN()), finding.Number(math.NaN())
	}
	return s
}

// decoder turns the bytes of a type into numbers: elements values for every size
// bytes. nil for types without one.
func decoder(d checkpoint.DType) (decode func([]float32, []byte), elements, size int) {
	bytewise := func(f func(uint8) float32) func([]float32, []byte) {
		return func(dst []float32, src []byte) {
			for i := range dst {
				dst[i] = f(src[i])
			}
		}
	}
	switch d {
	case checkpoint.F32:
		return numfmt.DecodeF32, 1, 4
	case checkpoint.BF16:
		return numfmt.DecodeBF16, 1, 2
	case checkpoint.F16:
		return numfmt.DecodeF16, 1, 2
	case checkpoint.F64:
		return func(dst []float32, src []byte) {
			for i := range dst {
				dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
			}
		}, 1, 8
	case checkpoint.F8E4M3:
		return bytewise(numfmt.E4M3FN.Decode), 1, 1
	case checkpoint.F8E5M2:
		return bytewise(numfmt.E5M2.Decode), 1, 1
	case checkpoint.F8E8M0:
		return bytewise(numfmt.E8M0), 1, 1
	case checkpoint.F4:
		return numfmt.DecodeE2M1, 2, 1
	}
	for _, f := range ggufKinds {
		if values, bytes, ok := f.Block(); ok && f.String() == string(d) {
			return f.Decode, values, bytes
		}
	}
	return nil, 0, 0
}

// ggufKinds are the block formats that can be decoded.
var ggufKinds = []numfmt.GGUF{
	numfmt.GGUFQ4_0, numfmt.GGUFQ4_1, numfmt.GGUFQ5_0, numfmt.GGUFQ5_1, numfmt.GGUFQ8_0, numfmt.GGUFQ4_K, numfmt.GGUFQ5_K, numfmt.GGUFQ6_K,
}
