package finding

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestRoundTrip: every kind of message, empty and full, is read back as it was
// written, with lists that are never null.
func TestRoundTrip(t *testing.T) {
	for name, mk := range kinds {
		for _, full := range []bool{false, true} {
			m := mk()
			if full {
				populate(reflect.ValueOf(m), 4)
			}
			if c, ok := m.(*ConfigMsg); ok {
				c.SchemaVersion = SchemaVersion
			}
			line, err := Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Count(line, []byte("\n")) != 1 || !bytes.HasSuffix(line, []byte("\n")) {
				t.Errorf("%s is not one line: %q", name, line)
			}
			checkLists(t, name, line)
			got := decode(t, header(t)+string(line))
			if d := cmp.Diff(m, got[len(got)-1], cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s, full %v: %s", name, full, d)
			}
		}
	}
}

// populate gives every field a value: depth bounds recursive types.
func populate(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		populate(v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			populate(v.Field(i), depth)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		populate(v.Index(0), depth-1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		populate(e, depth-1)
		v.SetMapIndex(reflect.ValueOf("NCCL_DEBUG"), e)
	case reflect.String:
		v.SetString("<a> & \"b\" \u2028 \x00")
	case reflect.Int:
		v.SetInt(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(2.5)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// checkLists: null stands only for "not set" (from, to, the value asked, next).
func checkLists(t *testing.T, name string, line []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				walk(k, x)
			}
		case []any:
			for _, x := range v {
				walk(key, x)
			}
		case nil:
			if key != "from" && key != "to" && key != "value" {
				t.Errorf("%s: %s is null", name, key)
			}
		}
	}
	walk("", v)
}

func header(t testing.TB) string {
	line, err := Marshal(&ConfigMsg{SchemaVersion: SchemaVersion, ToolVersion: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

func decode(t testing.TB, stream string) []Message {
	t.Helper()
	var all []Message
	if err := Decode(strings.NewReader(stream), func(m Message) error { all = append(all, m); return nil }); err != nil {
		t.Fatalf("%v in %q", err, stream)
	}
	return all
}

// TestQuotation: a log line reads as in the log.
func TestQuotation(t *testing.T) {
	line, err := Marshal(&UnexplainedMsg{Text: "<TP0> a && b"})
	if err != nil || !strings.Contains(string(line), `"text":"<TP0> a && b"`) {
		t.Errorf("%s, %v", line, err)
	}
}

// TestDecodeFuture: a newer stream with unknown messages and fields is read.
func TestDecodeFuture(t *testing.T) {
	got := decode(t, header(t)+"\n"+`{"message":"weather","sky":[1]}`+"\n"+`{"message":"drift","launch":2,"id":"X","count":3,"line":4,"text":"t","new":{}}`+"\n")
	want := []Message{
		&ConfigMsg{Message: "config", SchemaVersion: SchemaVersion, ToolVersion: "test"},
		&DriftMsg{Message: "drift", Launch: 2, ID: "X", Count: 3, Line: 4, Text: "t"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tc := range []struct {
		name, stream, want string
		notReport          bool
	}{
		{"nothing", "", ErrNotReport.Error(), true},
		{"blank lines", "\n \n", ErrNotReport.Error(), true},
		{"a log", "[2026-03-01 10:00:00] INFO start\n", ErrNotReport.Error(), true},
		{"other JSON", `{"a":1}` + "\n", ErrNotReport.Error(), true},
		{"a report without its head", `{"message":"end","launches":1}` + "\n", ErrNotReport.Error(), true},
		{"an array", `[{"message":"config","schema_version":"1"}]`, ErrNotReport.Error(), true},
		{"another schema", `{"message":"config","schema_version":"9"}`, `line 1: schema version "9", this build reads "1"`, false},
		{"cut within a line", header(t) + `{"message":"end","laun`, "line 2: unexpected end of JSON input", false},
		{"a wrong type", header(t) + "\n" + `{"message":"end","launches":"two"}`, "line 3: json: cannot unmarshal", false},
		{"a line without end", header(t) + strings.Repeat("x", maxMessage+1), "bufio.Scanner: token too long", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Decode(strings.NewReader(tc.stream), func(Message) error { return nil })
			if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, ErrNotReport) != tc.notReport {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestDecodeStops: an error of the receiver ends the reading.
func TestDecodeStops(t *testing.T) {
	stop := errors.New("enough")
	n := 0
	err := Decode(strings.NewReader(header(t)+header(t)), func(Message) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("error %v after %d messages", err, n)
	}
}

// failing is a writer whose disk is full.
type failing struct{}

var errFull = errors.New("no space left")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestEncoder(t *testing.T) {
	var buf bytes.Buffer
	e := NewEncoder(&buf)
	for _, m := range []Message{&ConfigMsg{SchemaVersion: SchemaVersion}, &EndMsg{Launches: 1}} {
		if err := e.Handle(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"message":"config","schema_version":"1","tool_version":""}` + "\n" + `{"message":"end","launches":1,"findings":0,"exit_code":0}` + "\n"
	if buf.String() != want {
		t.Errorf("got %s", buf.String())
	}
	if err := NewEncoder(failing{}).Handle(&EndMsg{}); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

func TestConfidenceRank(t *testing.T) {
	for i, c := range []Confidence{"", Possible, Likely, Proven} {
		if c.Rank() != i {
			t.Errorf("%q has rank %d, want %d", c, c.Rank(), i)
		}
	}
}

// FuzzDecode: whatever is given as a saved report, reading ends without a
// panic, and what was read can be written and read again.
func FuzzDecode(f *testing.F) {
	for _, mk := range kinds {
		m := mk()
		populate(reflect.ValueOf(m), 4)
		line, err := Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(header(f) + string(line))
	}
	f.Add(header(f) + `{"message":"finding","evidence":null,"remedies":[null,{"env":null,"changes":[{"to":null}]}]}`)
	f.Add(header(f) + `{"message":"setting","asked":{"value":null},"silent":true}` + "\n\x00")
	f.Add(`{"message":"config","schema_version":"9"}`)
	f.Add(strings.Repeat(`{"message":`, 5000))
	f.Fuzz(func(t *testing.T, stream string) {
		var all []Message
		_ = Decode(strings.NewReader(stream), func(m Message) error { all = append(all, m); return nil })
		for _, m := range all {
			line, err := Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			again := decode(t, header(t)+string(line))
			if d := cmp.Diff(m, again[len(again)-1], cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		}
	})
}
