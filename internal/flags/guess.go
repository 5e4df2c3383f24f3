package flags

// Guess names the release whose settings fit a configuration dump best, for
// logs that do not print a version: the set of settings changes with every
// release. fit is the share of names that dump and table have in common, from
// 0 to 1; ok is false when the engine has no tables, or when no release fits
// clearly (two releases with the same settings are told apart by nothing: the
// newer one is returned).
func Guess(engine string, names []string) (version string, fit float64, ok bool) {
	for _, v := range Versions(engine) {
		t, m := Lookup(engine, v)
		if m.Fit != Exact || sizesApart(len(t.writers), len(names)) {
			continue
		}
		if f := t.likeness(names); f >= fit {
			version, fit = v, f
		}
	}
	return version, fit, fit >= minLikeness
}

// minLikeness is the share of common settings from which a guess is worth
// saying. Neighbouring releases have 0.90 to 0.99 in common, and a dump holds a
// few internal fields that no flag writes.
const minLikeness = 0.85

// sizesApart: so different numbers of settings cannot have enough in common.
func sizesApart(a, b int) bool {
	return float64(min(a, b)) < minLikeness*float64(max(a, b))
}

// likeness is the share of settings that the table and the names have in
// common, of all that either has.
func (t *Table) likeness(names []string) float64 {
	common := 0
	for _, n := range names {
		if t.writers[n] != nil {
			common++
		}
	}
	union := len(t.writers) + len(names) - common
	if union == 0 {
		return 0
	}
	return float64(common) / float64(union)
}
