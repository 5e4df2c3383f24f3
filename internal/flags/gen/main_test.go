package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRun(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"sglang-0.9.json": `{"engine": "sglang", "version": "0.9", "flags": [
			{"flags": ["--tp-size"], "dest": "tensor_parallel_size", "action": "StoreAction", "type": "int", "nargs": null, "default": 1, "choices": null, "help": "A sentence."},
			{"flags": ["--ratio"], "dest": "ratio", "action": "StoreAction", "type": "float", "nargs": "?", "default": 1.0, "choices": ["a", null, 2]}]}`,
		"sglang-0.10.json": `{"engine": "sglang", "version": "0.10", "flags": [
			{"flags": ["--tp-size"], "dest": "tp_size", "action": "StoreAction", "type": "int", "default": 1, "help": "Another sentence."},
			{"flags": ["--old"], "dest": "new", "action": "DeprecatedStoreConstAction", "type": null, "nargs": 0, "default": "==SUPPRESS==", "replaced_by": "--new=x", "deprecated": true},
			{"flags": ["--sizes"], "dest": "sizes", "action": "StoreAction", "type": "str", "nargs": "+", "default": ["a", 1, {"k": null}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(in, out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, "sglang.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"engine":"sglang","versions":["0.9","0.10"],"rows":[
{"names":["--old"],"dest":"new","action":"DeprecatedStoreConst","nargs":"0","deprecated":true,"replaced_by":"--new=x","in":[[1,1]]},
{"names":["--ratio"],"dest":"ratio","type":"float","nargs":"?","default":"1.0","choices":["a","2"],"in":[[0,0]]},
{"names":["--sizes"],"dest":"sizes","nargs":"+","default":"['a', 1, {'k': None}]","in":[[1,1]]},
{"names":["--tp-size"],"dest":"tp_size","type":"int","default":"1","in":[[0,1]]}
]}
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRunWithoutInput(t *testing.T) {
	if err := run(t.TempDir(), t.TempDir()); err == nil {
		t.Error("an empty folder must be an error")
	}
}
