package oracletest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/checkpointtest"
)

var expert = regexp.MustCompile(`^(.*\.experts)\.(\d+)\.(gate|up|down)_proj\.weight$`)

// Fuse copies a checkpoint of BF16 with the experts of each layer in one tensor,
// gate above up.
func Fuse(t testing.TB, dir string) string {
	t.Helper()
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	type layer struct{ gateUp, down [][]byte }
	layers := map[string]*layer{}
	var names []string
	var out []checkpointtest.Tensor
	var shapes = map[string][2]int{}
	for _, x := range c.Tensors() {
		data, err := x.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		data = slices.Clone(data)
		part := expert.FindStringSubmatch(x.Name)
		if part == nil {
			out = append(out, checkpointtest.Tensor{Name: x.Name, DType: string(x.DType), Shape: x.Shape, Data: data})
			continue
		}
		l := layers[part[1]]
		if l == nil {
			l = &layer{}
			layers[part[1]] = l
			names = append(names, part[1])
		}
		e, err := strconv.Atoi(part[2])
		if err != nil {
			t.Fatal(err)
		}
		for len(l.down) <= e {
			l.gateUp, l.down = append(l.gateUp, nil, nil), append(l.down, nil)
		}
		switch part[3] {
		case "gate":
			l.gateUp[2*e] = data
			shapes[part[1]] = [2]int{x.Shape[0], x.Shape[1]}
		case "up":
			l.gateUp[2*e+1] = data
		case "down":
			l.down[e] = data
		}
	}
	for _, n := range names {
		l, s := layers[n], shapes[n]
		out = append(out,
			checkpointtest.Tensor{Name: n + ".gate_up_proj", DType: "BF16", Shape: []int{len(l.down), 2 * s[0], s[1]}, Data: slices.Concat(l.gateUp...)},
			checkpointtest.Tensor{Name: n + ".down_proj", DType: "BF16", Shape: []int{len(l.down), s[1], s[0]}, Data: slices.Concat(l.down...)})
	}
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	return checkpointtest.Folder(t, map[string]any{"config.json": config, "model.safetensors": checkpointtest.Safetensors(out...)})
}
