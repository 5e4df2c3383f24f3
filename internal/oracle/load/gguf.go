package load

import (
	"fmt"

	"shakedown/internal/checkpoint"
	"shakedown/internal/kernel"
	"shakedown/internal/numfmt"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/family"
)

// describeGGUF describes the model of a GGUF file.
func describeGGUF(c *checkpoint.Checkpoint) (*family.Spec, error) {
	config, err := family.FromGGUF(c.Meta, c.Tensor("output.weight") == nil)
	if err != nil {
		return nil, err
	}
	if _, ok := config["vocab_size"]; !ok { // older files
		config["vocab_size"] = count(len(c.Meta.Strings("tokenizer.ggml.tokens")))
	}
	if id, ok := c.Meta.Int("tokenizer.ggml.eos_token_id"); ok {
		config["eos_token_id"] = count(int(id))
	}
	s, err := family.Read(config)
	if err != nil {
		return nil, err
	}
	if t := c.Tensor("rope_freqs.weight"); t != nil {
		if s.Rope.Divisors, err = floats(t); err != nil {
			return nil, err
		}
		if len(s.Rope.Divisors) != s.Rope.Dim/2 {
			return nil, fmt.Errorf("rope_freqs.weight has %d values, %d are expected", len(s.Rope.Divisors), s.Rope.Dim/2)
		}
	}
	return s, nil
}

// gguf gives the weights of a GGUF file to a model, under the names that it has
// in Hugging Face checkpoints.
type gguf struct{ c *checkpoint.Checkpoint }

var _ oracle.Weights = (*gguf)(nil)

// Has says whether a tensor is there.
func (g *gguf) Has(tensor string) bool {
	name, _ := family.GGUFTensor(tensor)
	return g.c.Tensor(name) != nil
}

// ggufTypes are the types that package kernel multiplies.
var ggufTypes = map[checkpoint.DType]numfmt.GGUF{
	checkpoint.F32: numfmt.GGUFF32, checkpoint.F16: numfmt.GGUFF16, checkpoint.BF16: numfmt.GGUFBF16,
	checkpoint.Q4_0: numfmt.GGUFQ4_0, checkpoint.Q4_1: numfmt.GGUFQ4_1, checkpoint.Q5_0: numfmt.GGUFQ5_0, checkpoint.Q5_1: numfmt.GGUFQ5_1,
	checkpoint.Q8_0: numfmt.GGUFQ8_0, checkpoint.Q4_K: numfmt.GGUFQ4_K, checkpoint.Q5_K: numfmt.GGUFQ5_K, checkpoint.Q6_K: numfmt.GGUFQ6_K,
}

// Linear binds a matrix, or one expert of a tensor that holds all.
func (g *gguf) Linear(module string, rows, cols int) (*kernel.Matrix, oracle.Stored, error) {
	name, expert := family.GGUFTensor(module + ".weight")
	t := g.c.Tensor(name)
	if t == nil {
		return nil, oracle.Stored{}, fmt.Errorf("%s is missing: a matrix of %d x %d is expected", name, rows, cols)
	}
	m, err := ggufMatrix(t, max(expert, 0), expert >= 0, rows, cols)
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", t.File, t.Name, err)
	}
	return m, oracle.Stored{}, err
}

func ggufMatrix(t *checkpoint.Tensor, expert int, stacked bool, rows, cols int) (*kernel.Matrix, error) {
	shape := t.Shape
	if stacked {
		if len(shape) != 3 || expert >= shape[0] {
			return nil, fmt.Errorf("shape %v: expert %d of a stack is expected", t.Shape, expert)
		}
		shape = shape[1:]
	}
	if len(shape) != 2 || shape[0] != rows || shape[1] != cols {
		return nil, fmt.Errorf("shape %v, the metadata says %d x %d", t.Shape, rows, cols)
	}
	kind, ok := ggufTypes[t.DType]
	if !ok {
		return nil, fmt.Errorf("type %s is not supported: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K are", t.DType)
	}
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	values, size, _ := kind.Block()
	if stacked {
		bytes := rows * (cols / values) * size
		data = data[expert*bytes : (expert+1)*bytes]
	}
	return kernel.Dense(kind, data, rows, cols)
}

// Fused is never called: Linear finds experts in their stack.
func (g *gguf) Fused(tensor string, _, _, _, _ int) (*kernel.Matrix, error) {
	return nil, fmt.Errorf("%s: not a tensor of GGUF", tensor)
}

// Vector is a tensor of so many values.
func (g *gguf) Vector(tensor string, width int) ([]float32, error) {
	name, _ := family.GGUFTensor(tensor)
	return vectorOf(g.c, name, width)
}
