package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/oracle/oracletest"
)

// TestServersCoverFaults: every fault of the public record that the oracle plays has
// servers, and nothing else has.
func TestServersCoverFaults(t *testing.T) {
	var want, have []string
	for _, f := range oracletest.Faults {
		want = append(want, f.Name)
	}
	names := map[string]bool{}
	for _, s := range faulty() {
		if !slices.Contains(have, s.fault) {
			have = append(have, s.fault)
		}
		if names[s.name()] {
			t.Errorf("twice: %s", s.name())
		}
		names[s.name()] = true
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		t.Errorf("servers for %q, faults %q", have, want)
	}
	if list := healthy(208); len(list) < 200 || list[0].fault != "" {
		t.Errorf("%d healthy servers", len(list))
	}
}

// TestMeasure: one server with a fault, one without.
func TestMeasure(t *testing.T) {
	list := slices.Concat(faulty(), healthy(1))
	list = slices.DeleteFunc(list, func(s server) bool {
		return s.fault != "" && s.name() != "rotation of halves instead of pairs / llama / rope=interleave / exact,rope=interleave"
	})
	if len(list) != 2 {
		t.Fatalf("%d servers", len(list))
	}
	var results []result
	for i := range list {
		r, err := measure(t.Context(), &list[i])
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	bad, good := results[0], results[1]
	if !slices.Equal(bad.with.failed, []string{"oracle"}) || len(bad.without.failed) > 0 || !bad.server.right(bad.with.causes, false) {
		t.Errorf("%s: %+v, without the checkpoint %+v", bad.server.name(), bad.with, bad.without)
	}
	if len(good.with.failed) > 0 || good.with.verdict != "proven right" {
		t.Errorf("%s: %+v", good.server.name(), good.with)
	}
	file := filepath.Join(t.TempDir(), "probes.md")
	if err := os.WriteFile(file, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := tables(results)
	if err := replace(file, text); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != "before\n"+begin+text+end+"after\n" {
		t.Errorf("%s", data)
	}
	for _, want := range []string{"| 1 | 1 | 1 | 0 | 1 of 1 (100 %)", "| rotation of halves instead of pairs | 1 | all |", "1 of 1 (100 %)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the tables have no %q:\n%s", want, text)
		}
	}
	if err := os.WriteFile(file, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if replace(file, text) == nil {
		t.Error("a file without marks was changed")
	}
}
