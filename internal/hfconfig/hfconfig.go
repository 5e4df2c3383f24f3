// Package hfconfig reads the small JSON files beside the weights of a Hugging
// Face checkpoint: config.json, generation_config.json and
// hf_quant_config.json. It keeps every field as it was written and gives typed
// access; what a field means, and which default holds when it is absent, is
// decided by whoever asks (an engine's resolver, a model family).
//
// Objects are immutable once decoded and may be read from several goroutines.
package hfconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
)

// MaxFile is the size limit of one file, in bytes. The largest published
// config.json (with a module list in its quantisation section) is about 100 kB.
const MaxFile = 16 << 20

// ErrNoConfig says that a model has no config.json.
var ErrNoConfig = errors.New("no config.json")

// Object is a JSON object. Numbers are json.Number, so that 1 and 1.0 stay
// apart as they do in Python; NaN and Infinity, which Python writes, are
// strings of that spelling wrapped in Special.
type Object map[string]any

// Special is a number that JSON cannot hold: "NaN", "Infinity", "-Infinity".
type Special string

// Model is what the small files of one checkpoint say. A nil object means that
// the file is absent.
type Model struct {
	Name       string // last element of the path, or the name of a built-in profile
	Path       string // as the user wrote it
	Config     Object // config.json
	Generation Object // generation_config.json
	HFQuant    Object // hf_quant_config.json, written by modelopt
}

// Read reads the files of the checkpoint in a folder. A missing config.json is
// ErrNoConfig, wrapped; an unreadable or malformed file is named in the error.
func Read(folder fs.FS, name string) (*Model, error) {
	m := &Model{Name: name, Path: name}
	for _, f := range []struct {
		file string
		into *Object
	}{{"config.json", &m.Config}, {"generation_config.json", &m.Generation}, {"hf_quant_config.json", &m.HFQuant}} {
		o, err := readFile(folder, f.file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && f.into == &m.Config:
			return nil, fmt.Errorf("%s: %w", name, ErrNoConfig)
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("%s/%s: %w", name, f.file, err)
		default:
			*f.into = o
		}
	}
	return m, nil
}

func readFile(folder fs.FS, name string) (Object, error) {
	data, err := ReadFile(folder, name, MaxFile)
	if err != nil {
		return nil, err
	}
	return Decode(data)
}

// ReadFile reads a file of at most most bytes beside the weights; a larger one is
// an error that names it.
func ReadFile(folder fs.FS, name string, most int) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s: larger than %d MiB", name, most>>20)
	}
	return data, err
}

// Decode reads one JSON object as Python's json module does: NaN, Infinity and
// -Infinity are accepted, and of two equal keys the last one wins. Text behind
// the object is an error.
func Decode(data []byte) (Object, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("larger than %d MiB", MaxFile>>20)
	}
	dec := json.NewDecoder(bytes.NewReader(quoteSpecials(data)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not JSON: text behind the object")
	}
	o, ok := convert(v).(Object)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	return o, nil
}

// special marks a bare NaN or Infinity in the text handed to encoding/json.
const special = "\x00special:"

// quoteSpecials turns bare NaN and Infinity into marked strings.
func quoteSpecials(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	var out []byte
	inString := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		if inString {
			out = append(out, c)
			switch {
			case c == '\\' && i+1 < len(data):
				i++
				out = append(out, data[i])
			case c == '"':
				inString = false
			}
			continue
		}
		inString = c == '"'
		word := ""
		for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
			if bytes.HasPrefix(data[i:], []byte(w)) {
				word = w
			}
		}
		if word == "" {
			out = append(out, c)
			continue
		}
		out = append(out, `"\u0000special:`+word+`"`...)
		i += len(word) - 1
	}
	return out
}

func convert(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := make(Object, len(v))
		for k, e := range v {
			o[k] = convert(e)
		}
		return o
	case []any:
		for i := range v {
			v[i] = convert(v[i])
		}
		return v
	case string:
		if len(v) > len(special) && v[:len(special)] == special {
			return Special(v[len(special):])
		}
	}
	return v
}

// Has says whether a field is present and not null.
func (o Object) Has(name string) bool { return o[name] != nil }

// Str is a text field; ok is false when it is absent or no text.
func (o Object) Str(name string) (s string, ok bool) {
	s, ok = o[name].(string)
	return s, ok
}

// Text is a text field, or empty.
func (o Object) Text(name string) string {
	s, _ := o.Str(name)
	return s
}

// Bool is a truth value; ok is false when it is absent or something else.
func (o Object) Bool(name string) (b, ok bool) {
	b, ok = o[name].(bool)
	return b, ok
}

// Int is a whole number, also one written as 1.0 or 1e3; ok is false when it is
// absent, no number, no whole number or too large.
func (o Object) Int(name string) (n int, ok bool) { return Int(o[name]) }

// IntOr is a whole number, or otherwise when there is none.
func (o Object) IntOr(name string, otherwise int) int {
	if n, ok := o.Int(name); ok {
		return n
	}
	return otherwise
}

// Float is a number; ok is false when it is absent or no number.
func (o Object) Float(name string) (f float64, ok bool) { return Float(o[name]) }

// Obj is an object field, or nil.
func (o Object) Obj(name string) Object {
	v, _ := o[name].(Object)
	return v
}

// List is a list field, or nil.
func (o Object) List(name string) []any {
	v, _ := o[name].([]any)
	return v
}

// Strings is a list field of texts. Elements that are no text are left out.
func (o Object) Strings(name string) []string {
	var out []string
	for _, v := range o.List(name) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Int reads a decoded value as a whole number.
func Int(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i, true
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int(f), true
}

// Float reads a decoded value as a number.
func Float(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case Special:
		switch v {
		case "NaN":
			return math.NaN(), true
		case "Infinity":
			return math.Inf(1), true
		case "-Infinity":
			return math.Inf(-1), true
		}
	}
	return 0, false
}

// Architecture is the first entry of "architectures", or empty.
func (m *Model) Architecture() string {
	for _, a := range m.Config.Strings("architectures") {
		return a
	}
	return ""
}
