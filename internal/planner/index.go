package planner

import (
	"encoding/json"
	"errors"
	"io"
)

var errNoSize = errors.New("the index gives no total_size")

// totalSize reads metadata.total_size from an index of safetensors files, and
// stops there.
func totalSize(r io.Reader) (float64, error) {
	dec := json.NewDecoder(r)
	if err := open(dec); err != nil {
		return 0, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return 0, err
		}
		if key != "metadata" {
			if err := dec.Decode(new(json.RawMessage)); err != nil {
				return 0, err
			}
			continue
		}
		var meta struct {
			Size float64 `json:"total_size"`
		}
		if err := dec.Decode(&meta); err != nil {
			return 0, err
		}
		if meta.Size > 0 {
			return meta.Size, nil
		}
	}
	return 0, errNoSize
}

func open(dec *json.Decoder) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return errors.New("the index is no JSON object")
	}
	return nil
}
