package all_test

import (
	"strings"
	"testing"

	"shakedown/internal/engine"
	"shakedown/internal/engine/all"
	"shakedown/internal/match"
)

// TestLines tests what must hold over all engines together: ids and names are
// unique, anchors and patterns are well formed.
func TestLines(t *testing.T) {
	owner := make(map[string]string)
	names := make(map[string]bool)
	for _, e := range all.List {
		if e.Name == "" || names[e.Name] {
			t.Errorf("engine name %q is empty or not unique", e.Name)
		}
		names[e.Name] = true
		for _, l := range e.Lines {
			if other, taken := owner[l.ID]; taken {
				t.Errorf("%s has the line %s, which %s has, too", e.Name, l.ID, other)
			}
			owner[l.ID] = e.Name
			if len(l.Anchor) < 6 {
				t.Errorf("%s: anchor %q has fewer than 6 bytes", l.ID, l.Anchor)
			}
			for _, p := range l.Patterns {
				if _, err := match.ParsePattern(p); err != nil {
					t.Errorf("%s: %v", l.ID, err)
				}
			}
		}
	}
}

// TestStartMarkers: banners and config dumps are looked for in the logs of all
// engines, so no two engines may share one.
func TestStartMarkers(t *testing.T) {
	type marker struct{ engine, id, anchor string }
	var markers []marker
	for _, e := range all.List {
		for _, l := range e.Lines {
			if l.Kind == engine.Banner || l.Kind == engine.ConfigDump {
				markers = append(markers, marker{e.Name, l.ID, l.Anchor})
			}
		}
	}
	for _, a := range markers {
		for _, b := range markers {
			if a.engine != b.engine && strings.Contains(a.anchor, b.anchor) {
				t.Errorf("%s of %s is also %s of %s: %q", a.id, a.engine, b.id, b.engine, a.anchor)
			}
		}
	}
}
