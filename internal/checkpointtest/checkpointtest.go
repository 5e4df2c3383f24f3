// Package checkpointtest writes small checkpoints for tests, sound and broken
// ones. It writes what it is told and checks nothing.
package checkpointtest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Tensor is one tensor to be written.
type Tensor struct {
	Name  string
	DType string // as in a safetensors header
	Shape []int
	Data  []byte
}

// Floats makes an F32 tensor.
func Floats(name string, shape []int, values ...float32) Tensor {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return Tensor{Name: name, DType: "F32", Shape: shape, Data: b}
}

// Safetensors is the text of a safetensors file with the tensors one behind the
// other.
func Safetensors(tensors ...Tensor) []byte {
	var header bytes.Buffer
	header.WriteString(`{"__metadata__":{"format":"pt"}`)
	var data []byte
	for _, t := range tensors {
		shape, _ := json.Marshal(append([]int{}, t.Shape...))
		name, _ := json.Marshal(t.Name)
		fmt.Fprintf(&header, `,%s:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, t.DType, shape, len(data), len(data)+len(t.Data))
		data = append(data, t.Data...)
	}
	header.WriteString("}")
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	return Raw(header.String(), data)
}

// Raw is a safetensors file with any text as its header.
func Raw(header string, data []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), data...)
}

// Index is the text of an index over files.
func Index(files map[string][]Tensor) []byte {
	weights, total := map[string]string{}, 0
	for file, tensors := range files {
		for _, t := range tensors {
			weights[t.Name] = file
			total += len(t.Data)
		}
	}
	text, _ := json.MarshalIndent(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": weights}, "", "  ")
	return text
}

// Folder writes files into a new folder; values are []byte or string, or
// os.ModeDir for a folder.
func Folder(t testing.TB, files map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		var data []byte
		switch content := content.(type) {
		case []byte:
			data = content
		case string:
			data = []byte(content)
		case os.FileMode:
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// GGUF writes a little-endian GGUF file. Values may be string, uint32, int32,
// float32, bool, uint64, []string, []int32 and []float32.
type GGUF struct {
	Version uint32 // 0: 3
	Keys    []Key
	Tensors []GGUFTensor
}

// Key is one pair of the metadata.
type Key struct {
	Name  string
	Value any
}

// GGUFTensor is one tensor; Dims as in the file, the fastest-changing first.
type GGUFTensor struct {
	Name string
	Dims []uint64
	Type uint32
	Data []byte
}

// Bytes is the file.
func (g GGUF) Bytes() []byte {
	version := g.Version
	if version == 0 {
		version = 3
	}
	le := binary.LittleEndian
	out := le.AppendUint32([]byte("GGUF"), version)
	out = le.AppendUint64(out, uint64(len(g.Tensors)))
	out = le.AppendUint64(out, uint64(len(g.Keys)))
	for _, k := range g.Keys {
		out = appendValue(appendText(out, k.Name), k.Value)
	}
	var data []byte
	for _, t := range g.Tensors {
		out = le.AppendUint32(appendText(out, t.Name), uint32(len(t.Dims)))
		for _, d := range t.Dims {
			out = le.AppendUint64(out, d)
		}
		out = le.AppendUint32(out, t.Type)
		out = le.AppendUint64(out, uint64(len(data)))
		data = pad(append(data, t.Data...))
	}
	return append(pad(out), data...)
}

func pad(b []byte) []byte {
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// appendValue writes the type of a value and the value.
func appendValue(b []byte, v any) []byte {
	le := binary.LittleEndian
	switch v := v.(type) {
	case uint32:
		return le.AppendUint32(le.AppendUint32(b, 4), v)
	case int32:
		return le.AppendUint32(le.AppendUint32(b, 5), uint32(v))
	case float32:
		return le.AppendUint32(le.AppendUint32(b, 6), math.Float32bits(v))
	case bool:
		b = le.AppendUint32(b, 7)
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case string:
		return appendText(le.AppendUint32(b, 8), v)
	case uint64:
		return le.AppendUint64(le.AppendUint32(b, 10), v)
	case []string:
		b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), 8), uint64(len(v)))
		for _, s := range v {
			b = appendText(b, s)
		}
		return b
	case []int32:
		b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), 5), uint64(len(v)))
		for _, n := range v {
			b = le.AppendUint32(b, uint32(n))
		}
		return b
	case []float32:
		b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), 6), uint64(len(v)))
		for _, n := range v {
			b = le.AppendUint32(b, math.Float32bits(n))
		}
		return b
	}
	panic(fmt.Sprintf("no GGUF type for %T", v))
}
