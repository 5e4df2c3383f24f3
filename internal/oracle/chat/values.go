package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// maxDepth bounds lists and objects inside each other.
const maxDepth = 200

// value reads JSON as template values: whole numbers and others stay apart, and
// keys keep their order.
func value(data json.RawMessage) (jinja.Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := next(d, 0)
	if err != nil {
		return v, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return v, errors.New("not JSON: text behind the value")
	}
	return v, nil
}

// list reads a JSON list.
func list(data json.RawMessage) (jinja.Value, error) {
	v, err := value(data)
	if err == nil && !v.IsList() {
		err = errors.New("not a list")
	}
	return v, err
}

func next(d *json.Decoder, depth int) (jinja.Value, error) {
	t, err := d.Token()
	if err != nil {
		return jinja.None(), err
	}
	switch t := t.(type) {
	case nil:
		return jinja.None(), nil
	case bool:
		return jinja.NewBool(t), nil
	case string:
		return jinja.NewString(t), nil
	case json.Number:
		if n, err := strconv.ParseInt(t.String(), 10, 64); err == nil {
			return jinja.NewInt(n), nil
		}
		f, err := t.Float64()
		return jinja.NewFloat(f), err
	case json.Delim:
		if depth > maxDepth {
			return jinja.None(), fmt.Errorf("more than %d levels", maxDepth)
		}
		if t == '[' {
			var items []jinja.Value
			for d.More() {
				v, err := next(d, depth+1)
				if err != nil {
					return v, err
				}
				items = append(items, v)
			}
			_, err := d.Token()
			return jinja.NewList(items), err
		}
		dict := jinja.NewDict()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return dict, err
			}
			v, err := next(d, depth+1)
			if err != nil {
				return v, err
			}
			dict.AsDict().Set(key.(string), v)
		}
		_, err := d.Token()
		return dict, err
	}
	return jinja.None(), fmt.Errorf("unexpected %v", t)
}

// functions sets what Hugging Face gives to every template: raise_exception,
// strftime_now and its own tojson (transformers, utils/chat_template_utils.py).
func functions(vars map[string]jinja.Value, now time.Time, raised func(*RaisedError)) {
	vars["raise_exception"] = jinja.NewCallable("raise_exception", func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
		e := &RaisedError{Message: "raise_exception without a message"}
		if len(args) > 0 && args[0].IsString() {
			e.Message = args[0].AsString()
		}
		raised(e)
		return jinja.Undefined(), e
	})
	vars["strftime_now"] = jinja.NewCallable("strftime_now", func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
		if len(args) != 1 || !args[0].IsString() {
			return jinja.Undefined(), errors.New("strftime_now wants one format")
		}
		text, err := strftime(now, args[0].AsString())
		return jinja.NewString(text), err
	})
	vars[jsonFilter] = jinja.NewCallable("tojson", toJSON)
}

// toJSON is json.dumps with ensure_ascii=False: keys in their order, Python's
// separators and numbers.
func toJSON(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
	if len(args) == 0 {
		return jinja.Undefined(), errors.New("tojson of nothing")
	}
	e := encoder{item: ", ", key: ": ", indent: -1}
	names := []string{"ensure_ascii", "indent", "separators", "sort_keys"} // in the order of the parameters
	for i, a := range args[1:] {
		if i >= len(names) {
			return jinja.Undefined(), errors.New("tojson: too many arguments")
		}
		if err := e.option(names[i], a); err != nil {
			return jinja.Undefined(), err
		}
	}
	for name, a := range kwargs {
		if !slices.Contains(names, name) {
			return jinja.Undefined(), fmt.Errorf("tojson: unknown argument %s", name)
		}
		if err := e.option(name, a); err != nil {
			return jinja.Undefined(), err
		}
	}
	if e.indent >= 0 && !e.separated {
		e.item = ","
	}
	err := e.write(args[0], 0)
	return jinja.NewString(e.b.String()), err
}

type encoder struct {
	b         strings.Builder
	item, key string
	separated bool // the template chose the separators
	indent    int  // -1: all on one line
	ascii     bool
	sorted    bool
}

func (e *encoder) option(name string, v jinja.Value) error {
	if v.IsNone() || v.IsUndefined() {
		return nil
	}
	switch {
	case name == "ensure_ascii" && v.IsBool():
		e.ascii = v.AsBool()
	case name == "sort_keys" && v.IsBool():
		e.sorted = v.AsBool()
	case name == "indent" && v.IsInt():
		e.indent = int(min(max(v.AsInt(), 0), 80))
	case name == "separators" && v.IsList() && v.AsList().Len() == 2 && v.AsList().Get(0).IsString() && v.AsList().Get(1).IsString():
		e.item, e.key, e.separated = v.AsList().Get(0).AsString(), v.AsList().Get(1).AsString(), true
	default:
		return fmt.Errorf("tojson: %s has an unexpected value", name)
	}
	return nil
}

func (e *encoder) write(v jinja.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("tojson: more than %d levels", maxDepth)
	}
	switch {
	case v.IsNone():
		e.b.WriteString("null")
	case v.IsBool():
		e.b.WriteString(strconv.FormatBool(v.AsBool()))
	case v.IsInt():
		e.b.WriteString(strconv.FormatInt(v.AsInt(), 10))
	case v.IsFloat():
		e.b.WriteString(pythonFloat(v.AsFloat()))
	case v.IsString():
		e.text(v.AsString())
	case v.IsList():
		return e.items('[', ']', v.AsList().Len(), depth, func(i int) error {
			return e.write(v.AsList().Get(i), depth+1)
		})
	case v.IsDict():
		keys := slices.Clone(v.AsDict().OrderedKeys())
		if e.sorted {
			slices.Sort(keys)
		}
		return e.items('{', '}', len(keys), depth, func(i int) error {
			e.text(keys[i])
			e.b.WriteString(e.key)
			x, _ := v.AsDict().Get(keys[i])
			return e.write(x, depth+1)
		})
	default:
		return errors.New("tojson: an undefined value or a function is not JSON")
	}
	return nil
}

func (e *encoder) items(open, shut byte, n, depth int, item func(int) error) error {
	e.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			e.b.WriteString(e.item)
		}
		e.newline(depth + 1)
		if err := item(i); err != nil {
			return err
		}
	}
	if n > 0 {
		e.newline(depth)
	}
	e.b.WriteByte(shut)
	return nil
}

func (e *encoder) newline(depth int) {
	if e.indent >= 0 {
		e.b.WriteString("\n" + strings.Repeat(" ", depth*e.indent))
	}
}

func (e *encoder) text(s string) {
	e.b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			e.b.WriteByte('\\')
			e.b.WriteRune(r)
		case r == '\n':
			e.b.WriteString(`\n`)
		case r == '\r':
			e.b.WriteString(`\r`)
		case r == '\t':
			e.b.WriteString(`\t`)
		case r == '\b':
			e.b.WriteString(`\b`)
		case r == '\f':
			e.b.WriteString(`\f`)
		case r < 0x20 || e.ascii && r > '~' && r < 0x10000:
			fmt.Fprintf(&e.b, `\u%04x`, r)
		case e.ascii && r >= 0x10000:
			fmt.Fprintf(&e.b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			e.b.WriteRune(r)
		}
	}
	e.b.WriteByte('"')
}

// pythonFloat is repr(f) in Python, which json.dumps writes.
func pythonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// strftime formats a time as Python's strftime does in the C locale. Directives
// that it does not know are an error.
func strftime(t time.Time, format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		plain := i < len(format) && format[i] == '-' // glibc: without the leading zero
		if plain {
			i++
		}
		if i >= len(format) {
			return "", errors.New("strftime: the format ends with %")
		}
		number := func(n, width int) {
			if plain {
				width = 0
			}
			fmt.Fprintf(&b, "%0*d", width, n)
		}
		hour12 := (t.Hour()+11)%12 + 1
		switch format[i] {
		case '%':
			b.WriteByte('%')
		case 'Y':
			number(t.Year(), 0)
		case 'y':
			number(t.Year()%100, 2)
		case 'm':
			number(int(t.Month()), 2)
		case 'd':
			number(t.Day(), 2)
		case 'e':
			fmt.Fprintf(&b, "%2d", t.Day())
		case 'H':
			number(t.Hour(), 2)
		case 'I':
			number(hour12, 2)
		case 'M':
			number(t.Minute(), 2)
		case 'S':
			number(t.Second(), 2)
		case 'f':
			number(t.Nanosecond()/1000, 6)
		case 'j':
			number(t.YearDay(), 3)
		case 'u':
			number((int(t.Weekday())+6)%7+1, 0)
		case 'w':
			number(int(t.Weekday()), 0)
		case 'A':
			b.WriteString(t.Weekday().String())
		case 'a':
			b.WriteString(t.Weekday().String()[:3])
		case 'B':
			b.WriteString(t.Month().String())
		case 'b', 'h':
			b.WriteString(t.Month().String()[:3])
		case 'p':
			b.WriteString(t.Format("PM"))
		case 'Z':
			b.WriteString(t.Format("MST"))
		case 'z':
			b.WriteString(t.Format("-0700"))
		case 'F':
			b.WriteString(t.Format("2006-01-02"))
		case 'T':
			b.WriteString(t.Format("15:04:05"))
		case 'D':
			b.WriteString(t.Format("01/02/06"))
		case 'R':
			b.WriteString(t.Format("15:04"))
		case 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		default:
			return "", fmt.Errorf("strftime: %%%c is not supported", format[i])
		}
	}
	return b.String(), nil
}
