package flags

import (
	"fmt"
	"slices"
	"strings"
)

// unknown says why a name is no flag of this table: it came later, it went
// away, it has another name here, or nobody knows it.
func (t *Table) unknown(name string) Problem {
	name, _, _ = strings.Cut(name, "=")
	base, _ := t.split(name)
	if p, ok := t.elsewhere(base); ok {
		p.Flag = name
		return p
	}
	p := Problem{Kind: UnknownFlag, Flag: name, Near: Near(base, t.names())}
	p.Text = fmt.Sprintf("%s is no flag of %s", name, t.release())
	if len(p.Near) > 0 {
		p.Text += "; similar: " + strings.Join(p.Near, ", ")
	}
	return p
}

// elsewhere looks the name up in the other releases' tables.
func (t *Table) elsewhere(name string) (Problem, bool) {
	if t.history == nil {
		return Problem{}, false
	}
	tables := t.history.tables
	for i := t.index - 1; i >= 0; i-- {
		if f := tables[i].byName[name]; f != nil {
			return t.gone(name, f, tables[i+1].Version, tables[i].Version), true
		}
	}
	for i := t.index + 1; i < len(tables); i++ {
		if f := tables[i].byName[name]; f != nil {
			return t.early(name, f, tables[i].Version), true
		}
	}
	return Problem{}, false
}

// gone describes a flag that an older release had.
func (t *Table) gone(name string, old *Flag, since, last string) Problem {
	if use := t.successor(old); use != "" {
		return Problem{Kind: RenamedFlag, Version: since, Use: use, Text: fmt.Sprintf(
			"%s is %s in %s (%s still had the old name)", name, use, t.release(), last)}
	}
	return Problem{Kind: RemovedFlag, Version: since, Text: fmt.Sprintf(
		"%s was removed: %s %s is the last known release with it, %s has it no more", name, t.Engine, last, since)}
}

// early describes a flag that only a newer release has.
func (t *Table) early(name string, future *Flag, since string) Problem {
	if use := t.predecessor(future, name); use != "" {
		return Problem{Kind: RenamedFlag, Version: since, Use: use, Text: fmt.Sprintf(
			"%s is still %s in %s (%s is the first known release with the new name)", name, use, t.release(), since)}
	}
	return Problem{Kind: IntroducedFlag, Version: since, Text: fmt.Sprintf(
		"%s is too new for %s: %s is the first known release with it", name, t.release(), since)}
}

// successor is this table's spelling of a flag that an older table had.
func (t *Table) successor(old *Flag) string {
	if use, _, _ := strings.Cut(old.ReplacedBy, "="); t.byName[use] != nil {
		return old.ReplacedBy
	}
	return t.sameAs(old)
}

// predecessor is this table's spelling of a flag that a newer table has. The
// newer tables also tell which old names a new name replaced.
func (t *Table) predecessor(future *Flag, name string) string {
	if use := t.sameAs(future); use != "" {
		return use
	}
	for _, newer := range t.history.tables[t.index+1:] {
		for _, f := range newer.flags {
			if f.ReplacedBy != name {
				continue
			}
			if use := t.sameAs(f); use != "" {
				return use
			}
		}
	}
	return ""
}

// sameAs finds the flag of this table that shares a spelling or the setting
// with a flag of another table.
func (t *Table) sameAs(other *Flag) string {
	for _, n := range other.Names {
		if t.byName[n] != nil {
			return n
		}
	}
	if f := t.Setting(other.Setting); f != nil && f.Switch() == other.Switch() {
		return f.Name()
	}
	return ""
}

// names are the long spellings of all flags that may be suggested.
func (t *Table) names() []string {
	var all []string
	for _, f := range t.flags {
		if f.Hidden || f.Deprecated {
			continue
		}
		for _, n := range f.Names {
			if strings.HasPrefix(n, "--") {
				all = append(all, n)
			}
		}
	}
	return all
}

const (
	maxNear     = 3  // suggestions shown
	maxNearName = 80 // longer names are not compared; the longest real one has 65 bytes
)

// Near returns up to three names within a small edit distance, closest
// first. A third of the length is where suggestions stop being helpful.
func Near(name string, all []string) []string {
	if len(name) > maxNearName {
		return nil
	}
	limit := max(1, min(6, len(strings.TrimLeft(name, "-"))/3))
	type scored struct {
		name string
		d    int
	}
	var found []scored
	for _, n := range all {
		if d := distance(name, n, limit); d <= limit {
			found = append(found, scored{n, d})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		if a.d != b.d {
			return a.d - b.d
		}
		return strings.Compare(a.name, b.name)
	})
	names := make([]string, 0, maxNear)
	for _, f := range found[:min(maxNear, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// distance is the Levenshtein distance in bytes. It stops when the distance
// must exceed the limit, and then returns more than the limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		least := row[0]
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
