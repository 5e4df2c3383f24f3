package all_test

import (
	"errors"
	"testing"

	"shakedown/internal/flags"
	"shakedown/internal/plan/all"
)

// TestList: every engine has releases in order, each with a flag table of its
// own and the library versions that decide with.
func TestList(t *testing.T) {
	for _, e := range all.List {
		var last flags.Version
		for _, text := range e.Versions() {
			v, err := flags.ParseVersion(text)
			if err != nil || last.Known() && v.Compare(last) <= 0 {
				t.Errorf("%s %s: %v, or not in order", e.Name, text, err)
			}
			last = v
			if _, m := flags.Lookup(e.Name, text); m.Fit != flags.Exact {
				t.Errorf("%s %s has no flag table of its own: %s", e.Name, text, m.Note)
			}
			pin := e.Pins(text)["transformers"]
			if _, err := flags.ParseVersion(pin); err != nil {
				t.Errorf("%s %s pins transformers %q", e.Name, text, pin)
			}
		}
	}
}

func TestFind(t *testing.T) {
	if e, err := all.Find("vllm"); err != nil || e.Name != "vllm" {
		t.Errorf("%v, %v", e, err)
	}
	_, err := all.Find("tgi")
	var unknown *all.UnknownEngineError
	if !errors.As(err, &unknown) || unknown.Name != "tgi" {
		t.Errorf("%v", err)
	}
}
