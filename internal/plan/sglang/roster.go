package sglang

import (
	"strings"
	"sync"
)

// roster is a list of names that grew and shrank from release to release: the
// architecture lists of model_config.py and the like.
type roster func() map[string]tenure

// tenure are the releases that have a name: from on, and before until when that
// is not 0.
type tenure struct{ from, until release }

// joined are names that a release added.
type joined map[release]string

// newRoster makes a roster from the names that releases added and dropped,
// divided by spaces.
func newRoster(added joined, dropped joined) roster {
	return sync.OnceValue(func() map[string]tenure {
		m := map[string]tenure{}
		for r, names := range added {
			for _, n := range strings.Fields(names) {
				m[n] = tenure{from: r}
			}
		}
		for r, names := range dropped {
			for _, n := range strings.Fields(names) {
				m[n] = tenure{from: m[n].from, until: r}
			}
		}
		return m
	})
}

// has says whether a release has one of the names.
func (t roster) has(r release, names ...string) bool {
	for _, n := range names {
		if sp, ok := t()[n]; ok && r >= sp.from && (sp.until == 0 || r < sp.until) {
			return true
		}
	}
	return false
}

// known says whether any release has a name.
func (t roster) known(name string) bool { _, ok := t()[name]; return ok }
