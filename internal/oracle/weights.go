package oracle

import (
	"fmt"

	"shakedown/internal/kernel"
)

// Stored says how a matrix is stored, as far as it matters for its input.
type Stored struct {
	Format StoredFormat
	// InputScale is the static scale of an NVFP4 or INT8 input, 0 when the
	// checkpoint has none.
	InputScale float32
}

// StoredFormat is the kind of format of a matrix.
type StoredFormat uint8

// Kinds of formats that want different inputs.
const (
	Plain      StoredFormat = iota // BF16, F16, F32 and weight-only formats
	FP8Block                       // inputs are quantised per 128 elements
	FP8Channel                     // per token; also FP8 with one scale per tensor
	NVFP4                          // per 16 elements
	Int8Token                      // INT8 per token, or with the static scale
)

// Weights gives the weights of a checkpoint. An absent weight and one of
// another shape are errors that name it.
type Weights interface {
	// Has says whether the checkpoint holds a tensor of this name.
	Has(tensor string) bool
	// Linear is the matrix of a module: "model.layers.0.self_attn.q_proj".
	Linear(module string, rows, cols int) (*kernel.Matrix, Stored, error)
	// Fused is matrix i of a tensor [matrices, rows, cols], of which rows from
	// to from+rows are taken.
	Fused(tensor string, i, from, rows, cols int) (*kernel.Matrix, error)
	// Vector is a tensor of width values, in float32.
	Vector(tensor string, width int) ([]float32, error)
}

// linear is a matrix with its name, bias and input.
type linear struct {
	name string
	*kernel.Matrix
	bias   []float32
	stored Stored
}

// vector is a named weight vector.
type vector struct {
	name string
	v    []float32
}

// binder collects the weights of a model and the first thing that is wrong.
type binder struct {
	w   Weights
	err error
}

func (b *binder) linear(module string, rows, cols int, bias bool) *linear {
	if b.err != nil {
		return nil
	}
	l := &linear{name: module + ".weight"}
	if l.Matrix, l.stored, b.err = b.w.Linear(module, rows, cols); b.err != nil {
		return nil
	}
	if bias {
		l.bias = b.vector(module+".bias", rows).v
	}
	return l
}

func (b *binder) fused(tensor string, i, from, rows, cols int) *linear {
	if b.err != nil {
		return nil
	}
	l := &linear{name: fmt.Sprintf("%s[%d]", tensor, i)}
	if l.Matrix, b.err = b.w.Fused(tensor, i, from, rows, cols); b.err != nil {
		return nil
	}
	return l
}

func (b *binder) vector(tensor string, width int) vector {
	if b.err != nil {
		return vector{}
	}
	v := vector{name: tensor}
	v.v, b.err = b.w.Vector(tensor, width)
	return v
}
