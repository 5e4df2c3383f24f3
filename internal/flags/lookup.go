package flags

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"shakedown/internal/flags/dataset"
)

//go:embed data
var data embed.FS

// history is one engine's tables in the order of their releases.
type history struct {
	engine   string
	versions []Version
	tables   []*Table
}

// histories are decoded when first asked for.
var histories = map[string]func() *history{
	"sglang": sync.OnceValue(func() *history { return mustLoad("sglang") }),
	"vllm":   sync.OnceValue(func() *history { return mustLoad("vllm", "vllm-server") }),
}

// mustLoad panics on bad data: the files are part of the binary.
func mustLoad(engine string, extra ...string) *history {
	h, err := load(engine, extra...)
	if err != nil {
		panic(fmt.Sprintf("embedded flag tables of %s: %v", engine, err))
	}
	return h
}

func load(engine string, extra ...string) (*history, error) {
	file, err := readData(engine)
	if err != nil {
		return nil, err
	}
	h := &history{engine: engine}
	for i, text := range file.Versions {
		v, err := ParseVersion(text)
		if err != nil {
			return nil, err
		}
		t := newTable(engine, text, nil)
		t.history, t.index = h, i
		h.versions = append(h.versions, v)
		h.tables = append(h.tables, t)
	}
	for _, row := range file.Rows {
		f := flagOf(row)
		for _, span := range row.In {
			for i := span[0]; i <= span[1]; i++ {
				h.tables[i].add(f)
			}
		}
	}
	for _, name := range extra {
		if err := h.addUnverified(name); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// addUnverified adds flags that are listed once for all releases.
func (h *history) addUnverified(name string) error {
	file, err := readData(name)
	if err != nil {
		return err
	}
	for _, row := range file.Rows {
		f := flagOf(row)
		f.Unverified = true
		for _, t := range h.tables {
			t.add(f)
		}
	}
	return nil
}

func readData(name string) (dataset.File, error) {
	var file dataset.File
	b, err := data.ReadFile("data/" + name + ".json")
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return file, fmt.Errorf("%s.json: %w", name, err)
	}
	return file, nil
}

// Versions returns the releases of an engine that have a table, oldest first.
func Versions(engine string) []string {
	open, ok := histories[engine]
	if !ok {
		return nil
	}
	h := open()
	texts := make([]string, len(h.versions))
	for i, v := range h.versions {
		texts[i] = v.String()
	}
	return texts
}

// Fit says how well a table fits the version that was asked for.
type Fit int

// Fits, best first. Only Exact tables may be trusted to the last flag.
const (
	Exact        Fit = iota // the release itself
	Build                   // a development build, pre-release or fork of a release with a table
	Between                 // the nearest older release; a newer one has a table too
	NewerThanAll            // the newest known release
	OlderThanAll            // the oldest known release
	Unversioned             // version missing or unreadable: the newest known release
	NoTable                 // nothing is known of this engine's flags
)

// Match describes the table that Lookup chose.
type Match struct {
	Fit   Fit
	Asked string // version as asked for
	Used  string // release of the table; empty for NoTable
	Note  string // for the user, a sentence; empty for Exact
}

// Lookup returns the table that fits a version best. The table is nil only
// when the match is NoTable.
func Lookup(engine, version string) (*Table, Match) {
	open, ok := histories[engine]
	if !ok {
		return nil, Match{Fit: NoTable, Asked: version, Note: fmt.Sprintf("the flags of %s are not known by release", engine)}
	}
	h := open()
	i, m := h.match(version)
	t := h.tables[i]
	m.Asked, m.Used = version, t.Version
	return t, m
}

// unnumbered is the release number of builds made without tags.
var unnumbered = Version{release: []int{0}, dev: notDev}

func (h *history) match(version string) (int, Match) {
	last := len(h.versions) - 1
	v, err := ParseVersion(version)
	if err != nil || v.Base().Compare(unnumbered) == 0 {
		return last, Match{Fit: Unversioned, Note: fmt.Sprintf(
			"%s version unknown: the flags of %s are assumed", h.engine, h.versions[last])}
	}
	base := v.Base()
	i, exact := slices.BinarySearchFunc(h.versions, base, Version.Compare)
	switch {
	case exact && (v.Unreleased() || v.build):
		return i, Match{Fit: Build, Note: fmt.Sprintf("%s %s is a build around %s, whose flags are assumed", h.engine, v, h.versions[i])}
	case exact:
		return i, Match{Fit: Exact}
	case i == 0:
		return 0, Match{Fit: OlderThanAll, Note: fmt.Sprintf(
			"%s %s is older than the oldest known flags (%s), which are assumed", h.engine, v, h.versions[0])}
	case i > last:
		return last, Match{Fit: NewerThanAll, Note: fmt.Sprintf(
			"%s %s is newer than the newest known flags (%s), which are assumed", h.engine, v, h.versions[last])}
	}
	return i - 1, Match{Fit: Between, Note: fmt.Sprintf(
		"the flags of %s %s are not known: those of %s, the nearest older release, are assumed", h.engine, v, h.versions[i-1])}
}

// Refuses says whether a flag must stay out of a command for this version, and
// why. It is careful: a version between two known releases accepts only what
// both accept. Engines without tables refuse nothing; the reason then says that
// nothing is known. A deprecated flag is accepted, but one that the parser
// ignores is not.
func Refuses(engine, version, flag string) (reason string, refused bool) {
	t, m := Lookup(engine, version)
	if t == nil {
		return m.Note, false
	}
	f := t.Flag(flag)
	if f == nil {
		return t.unknown(flag).Text, true
	}
	if f.ignored() {
		return fmt.Sprintf("%s is accepted and ignored by %s %s", flag, engine, t.Version), true
	}
	if m.Fit == Between {
		next := t.history.tables[t.index+1]
		if next.Flag(flag) == nil {
			return fmt.Sprintf("%s %s lies between %s, which has %s, and %s, which has not", engine, version, t.Version, flag, next.Version), true
		}
	}
	return m.Note, false
}
