package planner

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"shakedown/internal/hfconfig"
)

// Built-in model profiles: the fields of published checkpoints that decide
// settings and sizes, restated from their config.json, generation_config.json
// and hf_quant_config.json.
//
//go:embed profiles/*.json
var profileFiles embed.FS

// modelProfile is one file of profiles.
type modelProfile struct {
	Names      []string        `json:"names"` // the first is shown; repositories, too
	Config     json.RawMessage `json:"config"`
	HFQuant    json.RawMessage `json:"hf_quant"`
	Generation json.RawMessage `json:"generation"`
}

// profiles are decoded when first asked for.
var profiles = sync.OnceValue(func() []modelProfile {
	entries, err := profileFiles.ReadDir("profiles")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	var out []modelProfile
	for _, e := range entries {
		data, err := profileFiles.ReadFile("profiles/" + e.Name())
		if err != nil {
			panic(err)
		}
		var p modelProfile
		if err := json.Unmarshal(data, &p); err != nil {
			panic(fmt.Sprintf("profile %s: %v", e.Name(), err))
		}
		out = append(out, p)
	}
	return out
})

// profile finds a built-in profile by a name or by the last element of a path.
// Case, dashes and dots do not matter.
func profile(name string) (*hfconfig.Model, bool) {
	want := foldName(name)
	for _, p := range profiles() {
		if slices.ContainsFunc(p.Names, func(n string) bool { return foldName(n) == want }) {
			return p.model(), true
		}
	}
	return nil, false
}

// foldName reduces a path or repository to the letters and digits of its last
// element.
func foldName(name string) string {
	base := strings.ToLower(path.Base(strings.TrimRight(name, "/")))
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, base)
}

func (p modelProfile) model() *hfconfig.Model {
	m := &hfconfig.Model{Name: p.Names[0], Path: p.Names[0]}
	for _, f := range []struct {
		data json.RawMessage
		into *hfconfig.Object
	}{{p.Config, &m.Config}, {p.HFQuant, &m.HFQuant}, {p.Generation, &m.Generation}} {
		if f.data == nil {
			continue
		}
		o, err := hfconfig.Decode(f.data)
		if err != nil {
			panic(fmt.Sprintf("profile %s: %v", p.Names[0], err)) // part of the binary
		}
		*f.into = o
	}
	return m
}

// maxNear is how many names an error offers.
const maxNear = 3

// nearProfiles lists profiles that share a beginning with a name.
func nearProfiles(name string) []string {
	want := foldName(name)
	type scored struct {
		name   string
		common int
	}
	var all []scored
	for _, p := range profiles() {
		if n := commonStart(want, foldName(p.Names[0])); n >= 4 {
			all = append(all, scored{p.Names[0], n})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return b.common - a.common })
	var out []string
	for _, s := range all[:min(len(all), maxNear)] {
		out = append(out, s.name)
	}
	return out
}

func commonStart(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
