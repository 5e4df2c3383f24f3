package finding

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Encoder writes messages as JSON lines. It is a Handler.
type Encoder struct {
	w *bufio.Writer
}

var _ Handler = (*Encoder)(nil)

// NewEncoder returns an Encoder that writes to w, buffered until a message is
// complete.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: bufio.NewWriterSize(w, 64<<10)} }

// Handle writes one message and its line end.
func (e *Encoder) Handle(m Message) error {
	b, err := Marshal(m)
	if err != nil {
		return err
	}
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	return e.w.Flush()
}

// Close flushes what is left.
func (e *Encoder) Close() error { return e.w.Flush() }

// Marshal encodes one message as a JSON line, lists never null, with its line
// end. HTML characters stay as they are: a quoted log line must read as in the
// log.
func Marshal(m Message) ([]byte, error) {
	v := reflect.ValueOf(m)
	fill(v)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("encode %T: %w", m, err)
	}
	return buf.Bytes(), nil
}

// fill replaces nil slices and maps by empty ones and sets the Message field.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem())
		}
	case reflect.Struct:
		if name, ok := names[v.Type()]; ok {
			v.FieldByName("Message").SetString(name)
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	}
}

var kinds = map[string]func() Message{
	"config":      func() Message { return new(ConfigMsg) },
	"launch":      func() Message { return new(LaunchMsg) },
	"symptom":     func() Message { return new(SymptomMsg) },
	"finding":     func() Message { return new(FindingMsg) },
	"not-it":      func() Message { return new(NotItMsg) },
	"setting":     func() Message { return new(SettingMsg) },
	"unexplained": func() Message { return new(UnexplainedMsg) },
	"drift":       func() Message { return new(DriftMsg) },
	"comparison":  func() Message { return new(ComparisonMsg) },
	"difference":  func() Message { return new(DifferenceMsg) },
	"refused":     func() Message { return new(RefusedMsg) },
	"ignored":     func() Message { return new(IgnoredMsg) },
	"memory":      func() Message { return new(MemoryMsg) },
	"eval":        func() Message { return new(EvalMsg) },
	"trace":       func() Message { return new(TraceMsg) },
	"trace-layer": func() Message { return new(TraceLayerMsg) },
	"checkpoint":  func() Message { return new(CheckpointMsg) },
	"tensor":      func() Message { return new(TensorMsg) },
	"endpoint":    func() Message { return new(EndpointMsg) },
	"probe":       func() Message { return new(ProbeMsg) },
	"exchange":    func() Message { return new(ExchangeMsg) },
	"conclusion":  func() Message { return new(ConclusionMsg) },
	"baseline":    func() Message { return new(BaselineMsg) },
	"error":       func() Message { return new(ErrorMsg) },
	"end":         func() Message { return new(EndMsg) },
}

var names = func() map[reflect.Type]string {
	m := make(map[reflect.Type]string, len(kinds))
	for name, mk := range kinds {
		m[reflect.TypeOf(mk()).Elem()] = name
	}
	return m
}()

// maxMessage bounds one line of a saved report.
const maxMessage = 16 << 20

// ErrNotReport says that the input is no saved --json report.
var ErrNotReport = errors.New("not a saved --json report")

// Decode reads a saved stream and calls fn for each known message; unknown
// messages and fields are skipped. The first line must be a config message,
// else the error wraps ErrNotReport.
func Decode(r io.Reader, fn func(Message) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxMessage)
	first := true
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		var head struct {
			Message string `json:"message"`
			Schema  string `json:"schema_version"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			if first {
				return ErrNotReport
			}
			return fmt.Errorf("line %d: %w", n, err)
		}
		if first {
			if head.Message != "config" || head.Schema == "" {
				return ErrNotReport
			}
			if head.Schema != SchemaVersion {
				return fmt.Errorf("line %d: schema version %q, this build reads %q", n, head.Schema, SchemaVersion)
			}
			first = false
		}
		mk, ok := kinds[head.Message]
		if !ok {
			continue
		}
		m := mk()
		if err := json.Unmarshal(line, m); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := fn(m); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if first {
		return ErrNotReport
	}
	return nil
}
