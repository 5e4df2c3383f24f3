package endpoint

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object whose fields keep their order, so that a recorded
// request reads like one that was written by hand.
type object []field

type field struct {
	name  string
	value any
}

// set adds a field.
func (o *object) set(name string, value any) { *o = append(*o, field{name, value}) }

// MarshalJSON writes the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := compact(f.name)
		if err != nil {
			return nil, err
		}
		value, err := compact(f.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// compact is v as JSON, with "<" as it is.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// rawOr is a text that is JSON as it is, another one as a text.
func rawOr(s string) any {
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return s
}
