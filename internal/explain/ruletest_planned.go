package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"shakedown/internal/engine/all"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/knowledge"
	"shakedown/internal/launch"
	"shakedown/internal/ledger"
)

// plannedExt is the ending of fixtures of launches that were not started.
const plannedExt = ".json"

// plannedCase is such a fixture: what is known of a launch beforehand.
type plannedCase struct {
	Engine   string            `json:"engine"`
	Version  string            `json:"version"`
	Facts    map[string]string `json:"facts"`
	Settings map[string]string `json:"settings"` // effective values
	Asked    map[string]string `json:"asked"`
}

// foreseeFixture says whether a rule is foreseen in a fixture.
func foreseeFixture(fsys fs.FS, name string, r *knowledge.Rule, base *knowledge.Base) (bool, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return false, err
	}
	var c plannedCase
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	l := &launch.Launch{Version: c.Version}
	for _, e := range all.List {
		if e.Name == c.Engine {
			l.Engine = e
		}
	}
	if l.Engine == nil {
		return false, fmt.Errorf("%s: engine %q is not known", name, c.Engine)
	}
	for _, k := range slices.Sorted(maps.Keys(c.Facts)) {
		l.Facts.Add(fact.Fact{Key: fact.Key(k), Value: c.Facts[k]})
	}
	var entries []*ledger.Entry
	for _, k := range slices.Sorted(maps.Keys(c.Settings)) {
		e := &ledger.Entry{Name: k, Effective: c.Settings[k], Known: true, Asked: finding.Asked{Known: true}}
		if v, ok := c.Asked[k]; ok {
			e.Asked.Value = &v
		}
		entries = append(entries, e)
	}
	found := base.Foresee(knowledge.Input{Launch: l, Ledger: ledger.Planned(entries, nil, flags.Match{})})
	return slices.ContainsFunc(found, func(m *finding.FindingMsg) bool { return m.ID == r.ID }), nil
}
