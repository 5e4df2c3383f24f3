package ledger_test

import (
	"testing"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/ledger"
)

func TestPlanned(t *testing.T) {
	asked := "auto"
	g := ledger.Planned([]*ledger.Entry{
		{Name: "cache.cache_dtype", Asked: finding.Asked{Known: true, Value: &asked}, Effective: "fp8", Known: true, By: "model"},
	}, nil, flags.Match{})
	if v, ok := g.Effective("cache_dtype"); !ok || v != "fp8" {
		t.Errorf("effective %q, %v", v, ok)
	}
	if a := g.Asked("cache.cache_dtype"); !a.Known || *a.Value != "auto" {
		t.Errorf("asked %+v", a)
	}
	if a := g.Asked("dtype"); !a.Known || a.Value != nil {
		t.Errorf("what is not in a planned ledger is known not to be asked: %+v", a)
	}
	if !ledger.Open("auto") || ledger.Open("fp8") {
		t.Error("auto leaves the choice open, fp8 does not")
	}
}
