package knowledge

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/flags"
	"shakedown/internal/knowledge/rules"
)

// TestCompactAgrees: a rule is the same whichever form it is read from.
func TestCompactAgrees(t *testing.T) {
	paths, err := rulePaths(rules.FS)
	if err != nil {
		t.Fatal(err)
	}
	same := cmp.Options{
		cmp.AllowUnexported(Rule{}),
		cmp.FilterPath(isLimit, cmp.Comparer(sameNumber)),
		cmp.Comparer(func(a, b flags.Range) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
	}
	found := 0
	for _, p := range paths {
		data, err := fs.ReadFile(rules.FS, p)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := compactRule(data)
		if !ok {
			continue
		}
		found++
		want, err := ParseRule(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("%s (-yaml +compact):\n%s", p, diff)
		}
	}
	if found == 0 {
		t.Error("no rule has a compact form")
	}
}

// isLimit is true for the right side of above and below.
func isLimit(p cmp.Path) bool { return p.Last().String() == ".Above" || p.Last().String() == ".Below" }

// sameNumber: YAML tells 2 from 2.0 and JSON doesn't, and neither do conditions.
func sameNumber(a, b any) bool {
	x, okX := limit(a, nil)
	y, okY := limit(b, nil)
	return okX && okY && x == y || a == b
}

// TestChangedRuleIsReadFromYAML: an edited rule never takes its old form.
func TestChangedRuleIsReadFromYAML(t *testing.T) {
	paths, err := rulePaths(rules.FS)
	if err != nil {
		t.Fatal(err)
	}
	data, err := fs.ReadFile(rules.FS, paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := compactRule(append(data, "# changed\n"...)); ok {
		t.Error("a rule that was changed has a compact form")
	}
}
