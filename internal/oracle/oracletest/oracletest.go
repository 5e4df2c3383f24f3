// Package oracletest writes tiny checkpoints for tests and measurements: any family,
// with random weights from a fixed sequence, so that every machine gets the same
// bytes. It has the faults of the public record with the checkpoints on which they
// show, and reads what shared reference models are expected to give.
package oracletest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shakedown/internal/checkpointtest"
	"shakedown/internal/hfconfig"
	"shakedown/internal/kernel"
	"shakedown/internal/numfmt"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
)

// Format is how a matrix is written.
type Format int

// Formats of matrices.
const (
	BF16 Format = iota
	FP8Block
	NVFP4
	NVFP4NoInput // without input_scale
)

// Options change what Write writes.
type Options struct {
	// Format chooses the format of a module; nil means BF16 everywhere.
	Format func(module string) Format
	// Values may change the values of a tensor in place before they are written;
	// cols is 0 for vectors.
	Values func(tensor string, values []float32, rows, cols int)
	// Leave lists tensors that are left out.
	Leave []string
	// MTP writes the MTP layers too.
	MTP bool
	// Seed begins another sequence of random weights.
	Seed uint64
}

// Write writes a checkpoint with a config.json into a new folder.
func Write(t testing.TB, config string, opt Options) string {
	t.Helper()
	files, err := Files(config, opt)
	if err != nil {
		t.Fatal(err)
	}
	return checkpointtest.Folder(t, files)
}

// Files are the files of a checkpoint by name, each a string or []byte.
func Files(config string, opt Options) (map[string]any, error) {
	object, err := hfconfig.Decode([]byte(config))
	if err != nil {
		return nil, err
	}
	spec, err := family.Read(object)
	if err != nil {
		return nil, err
	}
	w := &writer{opt: opt, state: opt.Seed}
	num, err := numerics.Parse(numerics.Default)
	if err != nil {
		return nil, err
	}
	if _, err := oracle.New(spec, w, num, nil); err != nil {
		return nil, err
	}
	var tensors []checkpointtest.Tensor
	for _, x := range w.tensors {
		if !left(opt.Leave, x.Name) {
			tensors = append(tensors, x)
		}
	}
	return map[string]any{"config.json": config, "model.safetensors": checkpointtest.Safetensors(tensors...)}, nil
}

func left(leave []string, name string) bool {
	for _, l := range leave {
		if l == name {
			return true
		}
	}
	return false
}

// writer is asked for weights by a model that is being built, and so learns
// which there must be.
type writer struct {
	opt     Options
	tensors []checkpointtest.Tensor
	state   uint64
}

func (w *writer) Has(tensor string) bool {
	return w.opt.MTP && strings.HasSuffix(tensor, ".enorm.weight")
}

// normal is a value from a bell curve: the sum of twelve uniform ones.
func (w *writer) normal() float32 {
	var sum float64
	for range 12 {
		w.state += 0x9e3779b97f4a7c15
		z := (w.state ^ w.state>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		sum += float64((z^z>>31)>>11) / (1 << 53)
	}
	return float32(sum - 6)
}

func (w *writer) Linear(module string, rows, cols int) (*kernel.Matrix, oracle.Stored, error) {
	values := make([]float32, rows*cols)
	scale := float32(1.5 / math.Sqrt(float64(cols)))
	for i := range values {
		values[i] = w.normal() * scale
	}
	if w.opt.Values != nil {
		w.opt.Values(module+".weight", values, rows, cols)
	}
	format := BF16
	if w.opt.Format != nil {
		format = w.opt.Format(module)
	}
	switch format {
	case BF16:
		w.add(module+".weight", "BF16", []int{rows, cols}, bf16(values))
	case FP8Block:
		codes, scales := numfmt.QuantizeFP8Blocks(values, rows, cols, numfmt.ScaleFloat)
		grid := []int{(rows + numfmt.FP8Block - 1) / numfmt.FP8Block, (cols + numfmt.FP8Block - 1) / numfmt.FP8Block}
		w.add(module+".weight", "F8_E4M3", []int{rows, cols}, codes)
		w.tensors = append(w.tensors, checkpointtest.Floats(module+".weight_scale_inv", grid, scales...))
	default:
		q := numfmt.QuantizeNVFP4(values, cols)
		w.add(module+".weight", "U8", []int{rows, cols / 2}, q.Packed)
		w.add(module+".weight_scale", "F8_E4M3", []int{rows, cols / numfmt.NVFP4Group}, q.Scales)
		w.tensors = append(w.tensors, checkpointtest.Floats(module+".weight_scale_2", nil, q.Global))
		if format == NVFP4 {
			w.tensors = append(w.tensors, checkpointtest.Floats(module+".input_scale", nil, 8.0/2688))
		}
	}
	zero, err := kernel.FromFloats(make([]float32, rows*cols), rows, cols)
	return zero, oracle.Stored{}, err
}

func (w *writer) Fused(string, int, int, int, int) (*kernel.Matrix, error) {
	panic("oracletest: experts are written one by one")
}

func (w *writer) Vector(tensor string, width int) ([]float32, error) {
	values := make([]float32, width)
	for i := range values {
		values[i] = 0.1 * w.normal()
		if !strings.HasSuffix(tensor, "bias") {
			values[i]++
		}
	}
	if w.opt.Values != nil {
		w.opt.Values(tensor, values, width, 0)
	}
	if strings.HasSuffix(tensor, "e_score_correction_bias") {
		w.tensors = append(w.tensors, checkpointtest.Floats(tensor, []int{width}, values...))
	} else {
		w.add(tensor, "BF16", []int{width}, bf16(values))
	}
	return values, nil
}

func (w *writer) add(name, dtype string, shape []int, data []byte) {
	w.tensors = append(w.tensors, checkpointtest.Tensor{Name: name, DType: dtype, Shape: shape, Data: data})
}

func bf16(values []float32) []byte {
	out := make([]byte, 0, 2*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint16(out, numfmt.EncodeBF16(v))
	}
	return out
}

// Config is a config.json with some fields changed; nil removes a field.
func Config(t testing.TB, config string, change map[string]any) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(config), &fields); err != nil {
		t.Fatal(err)
	}
	for k, v := range change {
		if fields[k] = v; v == nil {
			delete(fields, k)
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Shared is the folder of the reference models, which lies beside the checkout
// of whoever has it; the test is skipped without.
func Shared(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	models := filepath.Join(filepath.Dir(dir), "shared", "oracle", "models")
	if _, err := os.Stat(models); err != nil {
		t.Skipf("not run: the reference models are not here (%v)", err)
	}
	return models
}
