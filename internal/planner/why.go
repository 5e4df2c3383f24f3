package planner

import (
	"slices"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
)

// Why reduces plans to one setting and those that it follows from. A setting
// that no plan has is a *UsageError that names similar ones. A setting may be
// named by its flag, or by the last part of its name.
func Why(plans []*Plan, name string) ([]*Plan, error) {
	var out []*Plan
	for _, pl := range plans {
		want := pl.settingBy(name)
		if want == "" {
			continue
		}
		keep := map[string]bool{}
		pl.chain(want, keep)
		short := *pl
		short.Settings = nil
		for _, m := range pl.Settings {
			if keep[m.Name] {
				short.Settings = append(short.Settings, m)
			}
		}
		slices.SortStableFunc(short.Settings, func(a, b *finding.SettingMsg) int {
			return boolInt(b.Name == want) - boolInt(a.Name == want)
		})
		short.Memory, short.Findings, short.Refused = nil, nil, nil
		short.Ignored = nil
		for _, m := range pl.Ignored {
			if m.Name == want {
				short.Ignored = append(short.Ignored, m)
			}
		}
		head := *pl.Launch
		head.Verdict = "why " + want + " is " + short.Settings[0].Effective
		short.Launch = &head
		out = append(out, &short)
	}
	if len(out) == 0 {
		return nil, usage("--why %s: no setting of this launch is called that%s", name, similar(plans, name))
	}
	return out, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// settingBy finds a setting by its name, its flag, or the last part of a dotted
// name.
func (pl *Plan) settingBy(name string) string {
	if strings.HasPrefix(name, "-") {
		if f := pl.answer.q.table.Flag(name); f != nil {
			name = pl.answer.q.settingName(f.Setting)
		}
	}
	last := ""
	for _, m := range pl.Settings {
		if m.Name == name {
			return name
		}
		if i := strings.LastIndexByte(m.Name, '.'); last == "" && m.Name[i+1:] == name {
			last = m.Name
		}
	}
	return last
}

// chain collects a setting and what it follows from.
func (pl *Plan) chain(name string, into map[string]bool) {
	if into[name] {
		return
	}
	into[name] = true
	for _, m := range pl.Settings {
		if m.Name == name {
			for _, c := range m.Coupled {
				pl.chain(c, into)
			}
		}
	}
}

const maxSimilar = 4 // settings that an error names

// similar names settings that are spelled like a name, else those that contain
// its first word.
func similar(plans []*Plan, name string) string {
	word := strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
	var names []string
	for _, pl := range plans {
		for _, m := range pl.Settings {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	short := slices.Clone(names)
	for i, n := range short {
		short[i] = n[strings.LastIndexByte(n, '.')+1:]
	}
	near := flags.Near(word, names)
	if len(near) == 0 {
		near = flags.Near(word, short)
	}
	spelled := len(near) > 0
	first, _, _ := strings.Cut(word, "_")
	for _, n := range names {
		if len(near) < maxSimilar && !spelled && first != "" && strings.Contains(n, first) {
			near = append(near, n)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; similar: " + strings.Join(near, ", ")
}
