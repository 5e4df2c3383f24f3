package score

import (
	"maps"
	"slices"

	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
)

// Hits says which logs a rule hits, by how likely its author had seen them.
type Hits struct {
	Fixtures int    // its own fixtures
	Foreign  int    // fixtures of other rules
	Halves   [2]int // logs and incidents, by Half
}

// Unseen says whether the rule hits a log that it was not written from. A rule
// that does not may still be right, and is unproven.
func (h Hits) Unseen() bool { return h.Halves[Hold] > 0 }

// Usage counts the hits of all rules.
type Usage struct{ hits map[string]*Hits }

// NewUsage knows the built-in rules and no hits.
func NewUsage() (*Usage, error) {
	base, err := knowledge.Load(rules.FS)
	if err != nil {
		return nil, err
	}
	u := &Usage{hits: map[string]*Hits{}}
	for _, r := range base.Rules() {
		u.hits[r.ID] = &Hits{}
	}
	return u, nil
}

// Rules lists the ids of all rules in order.
func (u *Usage) Rules() []string { return slices.Sorted(maps.Keys(u.hits)) }

// Of returns the hits of a rule.
func (u *Usage) Of(id string) Hits { return *u.hits[id] }

// Unseen is the share of rules that hit a log they were not written from.
func (u *Usage) Unseen() Rate {
	var r Rate
	for _, h := range u.hits {
		r.add(h.Unseen())
	}
	return r
}

// note adds the rules that one log or incident showed. Findings that are not
// rules (the fallback's) are left out.
func (u *Usage) note(half Half, ids []string) {
	for _, id := range ids {
		if h := u.hits[id]; h != nil {
			h.Halves[half]++
		}
	}
}

func (u *Usage) noteFixture(owner string, ids []string) {
	for _, id := range ids {
		switch h := u.hits[id]; {
		case h == nil:
		case id == owner:
			h.Fixtures++
		default:
			h.Foreign++
		}
	}
}
