package pyrepr_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/pyrepr"
)

func TestFields(t *testing.T) {
	tests := []struct {
		name      string
		in        string
		separator byte
		want      []pyrepr.Field
	}{
		{"empty", "", ',', nil},
		{"no field", "hello world", ' ', nil},
		{"commas", "a=1, b='x, y', c=None", ',', []pyrepr.Field{{"a", "1"}, {"b", "x, y"}, {"c", "None"}}},
		{"blanks", "a=1 b='x y' c=<Mode.AUTO: 0> d=D(e=1, f=[2, 3])", ' ', []pyrepr.Field{{"a", "1"}, {"b", "x y"}, {"c", "<Mode.AUTO: 0>"}, {"d", "D(e=1, f=[2, 3])"}}},
		{"enum with a string", "a=<Type.auto: 'auto'> b=1", ' ', []pyrepr.Field{{"a", "<Type.auto: 'auto'>"}, {"b", "1"}}},
		{"closing bracket", "a=1, b=2) and more c=3", ',', []pyrepr.Field{{"a", "1"}, {"b", "2"}}},
		{"cut in a string", "a=1, b='x", ',', []pyrepr.Field{{"a", "1"}}},
		{"cut in a bracket", "a=1, b=[1, 2", ',', []pyrepr.Field{{"a", "1"}}},
		{"escapes", `a='it\'s', b="q\\w"`, ',', []pyrepr.Field{{"a", "it's"}, {"b", `q\w`}}},
		{"wrong bracket", "a=(1], b=2", ',', nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := pyrepr.Fields(tt.in, tt.separator)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Fields(%q): (-want +got)\n%s", tt.in, diff)
			}
		})
	}
}

func TestFlatten(t *testing.T) {
	in := []pyrepr.Field{{"tp", "2"}, {"kv", "KvConfig(dtype='auto', fraction=0.9)"}, {"f", "print(1)"}}
	want := []pyrepr.Field{{"tp", "2"}, {"kv.dtype", "auto"}, {"kv.fraction", "0.9"}, {"f", "print(1)"}}
	if diff := cmp.Diff(want, pyrepr.Flatten(in)); diff != "" {
		t.Errorf("Flatten: (-want +got)\n%s", diff)
	}
}

func FuzzFields(f *testing.F) {
	f.Add("model='a/b' tokenizer=None load_format=<LoadFormat.AUTO: 0> kv_cache_config=KvCacheConfig(dtype='auto')", byte(' '))
	f.Add("dtype='auto', tp=4, devices=[0, 1], hf_overrides={'a': (1, 2)}, communicator='nccl')", byte(','))
	f.Add("a='\\", byte(','))
	f.Fuzz(func(t *testing.T, s string, separator byte) {
		total := 0
		for _, field := range pyrepr.Flatten(pyrepr.Fields(s, separator)) {
			total += len(field.Value)
		}
		if total > len(s) {
			t.Errorf("values of %d bytes from %d bytes", total, len(s))
		}
	})
}
