package score

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUsage(t *testing.T) {
	u := &Usage{hits: map[string]*Hits{"A": {}, "B": {}}}
	u.noteFixture("A", []string{"A", "B", "GEN-UNCLEAR"})
	u.note(Dev, []string{"B"})
	u.note(Hold, []string{"A"})
	if diff := cmp.Diff(Hits{Fixtures: 1, Halves: [2]int{0, 1}}, u.Of("A")); diff != "" {
		t.Errorf("A differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Hits{Foreign: 1, Halves: [2]int{1, 0}}, u.Of("B")); diff != "" {
		t.Errorf("B differs (-want +got):\n%s", diff)
	}
	if u.Unseen() != (Rate{1, 2}) {
		t.Errorf("Unseen = %v, want only A", u.Unseen())
	}
	var b strings.Builder
	u.Print(&b, true)
	if got := strings.Split(b.String(), "\n"); len(got) != 5 || !strings.Contains(got[2], "A") || !strings.HasPrefix(got[0], "rules: 2") {
		t.Errorf("Print:\n%s", b.String())
	}
}
