package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
)

var (
	one   = checkpointtest.Floats("model.a.weight", []int{2, 2}, 1, 2, 3, 4)
	two   = checkpointtest.Floats("model.b.weight", []int{3}, 5, 6, 7)
	three = checkpointtest.Floats("lm_head.weight", []int{1}, 8)
)

func open(t *testing.T, path string) *checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func kinds(c *checkpoint.Checkpoint) string {
	var out []string
	for _, p := range c.Problems {
		out = append(out, string(p.Kind))
	}
	return strings.Join(out, " ")
}

func TestOpenShards(t *testing.T) {
	shards := map[string][]checkpointtest.Tensor{"model-00001-of-00002.safetensors": {one, two}, "model-00002-of-00002.safetensors": {three}}
	dir := checkpointtest.Folder(t, map[string]any{
		"config.json":                      `{"model_type":"llama"}`,
		"model-00001-of-00002.safetensors": checkpointtest.Safetensors(one, two),
		"model-00002-of-00002.safetensors": checkpointtest.Safetensors(three),
		"model.safetensors.index.json":     checkpointtest.Index(shards),
	})
	for _, path := range []string{dir, filepath.Join(dir, "model.safetensors.index.json")} {
		c := open(t, path)
		if len(c.Problems) > 0 || c.Err() != nil {
			t.Fatalf("%s: problems %v", path, c.Problems)
		}
		if len(c.Files) != 2 || len(c.Tensors()) != 3 || c.Config.Config.Text("model_type") != "llama" {
			t.Fatalf("%s: %d files, %d tensors, config %v", path, len(c.Files), len(c.Tensors()), c.Config.Config)
		}
		got := c.Tensor("model.b.weight")
		if got.DType != checkpoint.F32 || len(got.Shape) != 1 || got.Elements() != 3 || got.File != "model-00001-of-00002.safetensors" {
			t.Errorf("tensor %+v", got)
		}
		b, err := got.Bytes()
		if err != nil || !bytes.Equal(b, two.Data) {
			t.Errorf("bytes %x, %v, want %x", b, err, two.Data)
		}
		got.Prefetch()
		got.Release()
		if again, err := got.Bytes(); err != nil || !bytes.Equal(again, two.Data) {
			t.Errorf("after Release: %x, %v", again, err)
		}
		if b, err := got.Read(); err != nil || !bytes.Equal(b, two.Data) {
			t.Errorf("read: %x, %v", b, err)
		}
		r, err := got.Reader()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, two.Data) {
			t.Errorf("reader: %x, %v", b, err)
		}
	}
}

// TestBytesBehindClose shows that a view can't be asked for when its mapping is gone.
func TestBytesBehindClose(t *testing.T) {
	dir := checkpointtest.Folder(t, map[string]any{"model.safetensors": checkpointtest.Safetensors(one)})
	c, err := checkpoint.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := c.Tensor(one.Name).Bytes(); err == nil {
		t.Errorf("bytes of a closed checkpoint: %x", b)
	}
}

// TestProblemsOfFolders lists what can be wrong with a folder of files that are
// sound by themselves.
func TestProblemsOfFolders(t *testing.T) {
	const config = `{"model_type":"llama"}`
	index := func(entries ...string) string {
		return `{"metadata":{},"weight_map":{` + strings.Join(entries, ",") + `}}`
	}
	for _, tc := range []struct {
		name  string
		files map[string]any
		want  string
		text  string // part of the first problem's text
	}{
		{"sound", map[string]any{"config.json": config, "model.safetensors": checkpointtest.Safetensors(one)}, "", ""},
		{"no config", map[string]any{"model.safetensors": checkpointtest.Safetensors(one)}, "no-config", "config.json"},
		{"config is no object", map[string]any{"config.json": "[1]", "model.safetensors": checkpointtest.Safetensors(one)}, "bad-config", "not a JSON object"},
		{"no weights", map[string]any{"config.json": config}, "no-weights", "model.safetensors"},
		{"pickles only", map[string]any{"config.json": config, "pytorch_model.bin": "PK\x03\x04"}, "other-format", "pickled"},
		{"missing shard", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one),
			"model.safetensors.index.json": index(`"model.a.weight":"a.safetensors"`, `"model.b.weight":"b.safetensors"`)},
			"missing-file", "b.safetensors: no such file"},
		{"unfinished download", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one), "b.safetensors.incomplete": "x",
			"model.safetensors.index.json": index(`"model.a.weight":"a.safetensors"`, `"model.b.weight":"b.safetensors"`)},
			"missing-file", "unfinished download"},
		{"absent tensor", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one),
			"model.safetensors.index.json": index(`"model.a.weight":"a.safetensors"`, `"model.b.weight":"a.safetensors"`)},
			"index-no-tensor", "model.b.weight"},
		{"tensor in another file", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one), "b.safetensors": checkpointtest.Safetensors(two),
			"model.safetensors.index.json": index(`"model.a.weight":"b.safetensors"`, `"model.b.weight":"b.safetensors"`)},
			"index-wrong-file unlisted-file", "it is in a.safetensors"},
		{"tensor that the index does not name", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one, two),
			"model.safetensors.index.json": index(`"model.a.weight":"a.safetensors"`)},
			"index-unlisted", "model.b.weight"},
		{"file that the index does not name", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one), "mtp.safetensors": checkpointtest.Safetensors(two),
			"model.safetensors.index.json": index(`"model.a.weight":"a.safetensors"`)},
			"unlisted-file", "mtp.safetensors"},
		{"the same tensor in two files", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one), "b.safetensors": checkpointtest.Safetensors(one, two),
			"model.safetensors.index.json": index(`"model.a.weight":"a.safetensors"`, `"model.b.weight":"b.safetensors"`)},
			"duplicate-tensor", "also in a.safetensors"},
		{"a name twice", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one),
			"model.safetensors.index.json": index(`"model.a.weight":"a.safetensors"`, `"model.a.weight":"a.safetensors"`)},
			"duplicate-name", "twice"},
		{"total size", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one),
			"model.safetensors.index.json": `{"metadata":{"total_size":17},"weight_map":{"model.a.weight":"a.safetensors"}}`},
			"index-size", "17"},
		{"index without weight_map", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one), "model.safetensors.index.json": `{}`},
			"bad-index", "weight_map"},
		{"index that leaves the folder", map[string]any{"config.json": config, "a.safetensors": checkpointtest.Safetensors(one),
			"model.safetensors.index.json": index(`"model.a.weight":"a.safetensors"`, `"x":"../x.safetensors"`)},
			"bad-index", "../x.safetensors"},
		{"shards without index", map[string]any{"config.json": config, "model-00001-of-00002.safetensors": checkpointtest.Safetensors(one)},
			"missing-file no-index", "model-00002-of-00002.safetensors"},
		{"LFS pointer", map[string]any{"config.json": config, "model.safetensors": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"},
			"pointer", "Git LFS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := open(t, checkpointtest.Folder(t, tc.files))
			if got := kinds(c); got != tc.want {
				t.Fatalf("problems %q %v, want %q", got, c.Problems, tc.want)
			}
			if tc.want != "" && !strings.Contains(c.Problems[0].Error(), tc.text) {
				t.Errorf("%q does not say %q", c.Problems[0], tc.text)
			}
		})
	}
}

// TestProblemsOfFiles lists what can be wrong with one safetensors file.
func TestProblemsOfFiles(t *testing.T) {
	sound := checkpointtest.Safetensors(one, two)
	raw := func(header string, data int) []byte { return checkpointtest.Raw(header, make([]byte, data)) }
	long := bytes.Clone(sound)
	binary.LittleEndian.PutUint64(long, 1<<40)
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"sound", sound, ""},
		{"empty tensor and scalar", raw(`{"e":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]},"s":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, 2), ""},
		{"half bytes", raw(`{"x":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]}}`, 2), ""},
		{"empty file", nil, "truncated"},
		{"cut in the header", sound[:20], "truncated"},
		{"cut by one byte", sound[:len(sound)-1], "truncated"},
		{"one byte more", append(bytes.Clone(sound), 0), "trailing-bytes"},
		{"impossible header length", long, "header-too-large"},
		{"not JSON", raw(`{"a"`, 0), "bad-header"},
		{"no object", raw(`[]`, 0), "bad-header"},
		{"text behind", raw(`{} x`, 0), "bad-header"},
		{"not UTF-8", raw("{\"\xff\":1}", 0), "bad-header"},
		{"unknown type", raw(`{"a":{"dtype":"F9","shape":[4],"data_offsets":[0,4]}}`, 4), "unknown-dtype"},
		{"unknown field", raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1}}`, 4), "bad-header"},
		{"missing field", raw(`{"a":{"dtype":"U8","data_offsets":[0,4]}}`, 4), "bad-header"},
		{"size", raw(`{"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}}`, 4), "size-mismatch"},
		{"size overflows", raw(`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, 4), "size-mismatch"},
		{"half a byte", raw(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2), "size-mismatch"},
		{"negative", raw(`{"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}}`, 4), "bad-header"},
		{"end before begin", raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}}`, 4), "out-of-bounds"},
		{"overlap", raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}`, 6), "overlap"},
		{"gap", raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}}`, 10), "gap"},
		{"same name", raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4), "duplicate-name"},
		{"HTML", []byte("<!DOCTYPE html><html><body>403</body></html>"), "pointer"},
		{"GGUF under another name", []byte("GGUF\x03\x00\x00\x00\x00\x00\x00\x00"), "pointer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := checkpointtest.Folder(t, map[string]any{"config.json": "{}", "model.safetensors": tc.data})
			c := open(t, dir)
			if got := kinds(c); got != tc.want {
				t.Fatalf("problems %q %v, want %q", got, c.Problems, tc.want)
			}
			if (c.Err() != nil) != (tc.want != "") {
				t.Errorf("Err() = %v", c.Err())
			}
			for _, x := range c.Tensors() {
				_, err := x.Bytes()
				if beyond := x.Offset+x.Size > int64(len(tc.data)); beyond != (err != nil) {
					t.Errorf("%s at %d+%d of %d bytes: %v", x.Name, x.Offset, x.Size, len(tc.data), err)
				}
			}
		})
	}
}

func TestHeadersOnly(t *testing.T) {
	dir := checkpointtest.Folder(t, map[string]any{
		"config.json":                  "{}",
		"model.safetensors.index.json": checkpointtest.Index(map[string][]checkpointtest.Tensor{"a.safetensors": {one}, "b.safetensors": {two}}),
	})
	c := open(t, dir)
	if !c.HeadersOnly() || len(c.Problems) > 0 || len(c.Tensors()) != 2 {
		t.Fatalf("headers only %v, problems %v, %d tensors", c.HeadersOnly(), c.Problems, len(c.Tensors()))
	}
	x := c.Tensor(one.Name)
	if x.Known() {
		t.Errorf("%+v claims to be known", x)
	}
	if _, err := x.Bytes(); err == nil {
		t.Error("bytes of a file that is not there")
	}
}

// TestFilesBeside shows which files without an index belong to a checkpoint.
func TestFilesBeside(t *testing.T) {
	dir := checkpointtest.Folder(t, map[string]any{
		"config.json":              "{}",
		"model.safetensors":        checkpointtest.Safetensors(one),
		"mtp.safetensors":          checkpointtest.Safetensors(two),
		"consolidated.safetensors": checkpointtest.Safetensors(one),
		"expected.safetensors":     checkpointtest.Safetensors(checkpointtest.Floats("p0.logits", []int{1}, 1)),
	})
	c := open(t, dir)
	if len(c.Problems) > 0 || len(c.Tensors()) != 2 || len(c.Extra) != 2 {
		t.Errorf("problems %v, %d tensors, extra %v", c.Problems, len(c.Tensors()), c.Extra)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := checkpointtest.Folder(t, map[string]any{"notes.txt": "x"})
	for _, path := range []string{dir, filepath.Join(dir, "notes.txt")} {
		if _, err := checkpoint.Open(path); !errors.Is(err, checkpoint.ErrNoCheckpoint) {
			t.Errorf("%s: %v, want ErrNoCheckpoint", path, err)
		}
	}
	if _, err := checkpoint.Open(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}
