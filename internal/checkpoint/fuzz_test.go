package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
)

// readAll opens a checkpoint and reads every tensor of it. A tensor that can be
// read must lie in its file.
func readAll(t *testing.T, path string) {
	c, err := checkpoint.Open(path)
	if err != nil {
		return
	}
	defer c.Close()
	for _, x := range c.Tensors() {
		b, err := x.Bytes()
		if err == nil && int64(len(b)) != x.Size {
			t.Fatalf("%s: %d bytes, want %d", x.Name, len(b), x.Size)
		}
		if err != nil && c.Err() == nil && !c.HeadersOnly() {
			t.Fatalf("a checkpoint without problem has a tensor that can't be read: %v", err)
		}
	}
	c.Modules()
}

func FuzzSafetensors(f *testing.F) {
	f.Add(checkpointtest.Safetensors(one, two))
	f.Add(checkpointtest.Raw(`{"a":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]}, "__metadata__":{"format":"pt"}}   `, []byte{1, 2}))
	f.Add(checkpointtest.Raw(`{"\u00e9.weight":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}}`, []byte{1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		readAll(t, path)
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(checkpointtest.Index(map[string][]checkpointtest.Tensor{"a.safetensors": {one, two}}))
	f.Add([]byte(`{"metadata":{"total_size":1e9,"x":[null,true,{"y":-1.5}]},"weight_map":{"model.a.weight":"b.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"a":"a.safetensors","a":"\u0061.safetensors"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"model.safetensors.index.json": data, "a.safetensors": checkpointtest.Safetensors(one), "config.json": []byte("{}")} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		readAll(t, dir)
	})
}

func FuzzGGUF(f *testing.F) {
	f.Add(smallGGUF().Bytes())
	g := smallGGUF()
	g.Version = 2
	f.Add(g.Bytes())
	f.Add(g.Bytes()[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.gguf")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		readAll(t, path)
	})
}
