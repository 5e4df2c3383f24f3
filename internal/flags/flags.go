// Package flags knows the command lines of the engines, release by release:
// which flags a release has, which setting each of them writes, and what an
// argument vector means to that release's parser. It is a leaf: it knows
// nothing of logs, rules or wrappers.
//
// Terms: a flag is one option of a command line with all its spellings
// (aliases, short forms, "--no-" forms); a setting is what it writes, named as
// the engine names it (SGLang: the ServerArgs field, vLLM: the engine
// argument); a table is all flags of one release. Tables are distilled from
// the releases' own argparse parsers. vLLM's hold the engine arguments; its
// server options (--host, --api-key ...) are listed once for all releases and
// marked Unverified.
//
// Engines without tables (llama.cpp, TensorRT-LLM, LMDeploy) are nothing to
// guess about: Lookup and Refuses say that nothing is known.
//
//go:generate go run ./gen ${FLAG_DUMPS} data
package flags

import (
	"strings"

	"shakedown/internal/flags/dataset"
)

// Flag is one option. Values are immutable and shared between tables.
type Flag struct {
	Names      []string // all spellings; "--no-" forms included
	Setting    string   // the setting it writes
	Action     string   // argparse action class without "Action": Store, StoreTrue, BooleanOptional, Deprecated ...
	Type       string   // name of the Python converter: str, int, float, bool, loads ...
	Nargs      string   // "0", "?", "*", "+"; empty: exactly one value
	Default    string   // as Python prints it
	Choices    []string // allowed values; empty: any
	Required   bool
	Deprecated bool
	Hidden     bool   // not in --help
	ReplacedBy string // what the parser says to use instead, as it says it
	Unverified bool   // not from the release's own table; it may not exist there
}

// Name is the spelling to show: the first long one.
func (f *Flag) Name() string {
	for _, n := range f.Names {
		if strings.HasPrefix(n, "--") {
			return n
		}
	}
	return f.Names[0]
}

// Switch says whether the flag takes no value.
func (f *Flag) Switch() bool { return f.Nargs == "0" }

// ignored is true for a flag that the parser accepts and does nothing with.
func (f *Flag) ignored() bool { return f.Action == "Deprecated" }

// on is the value that giving this switch by this name sets.
func (f *Flag) on(name string) string {
	if f.ignored() {
		return ""
	}
	if f.Action == "BooleanOptional" && strings.HasPrefix(name, "--no-") {
		return "False"
	}
	if f.Action == "DeprecatedStoreConst" {
		_, value, _ := strings.Cut(f.ReplacedBy, "=")
		return value
	}
	return "True"
}

// Table is all flags of one release. It is immutable and may be used from
// several goroutines.
type Table struct {
	Engine  string
	Version string // the release the table was taken from; empty for FromHelp

	flags   []*Flag
	byName  map[string]*Flag
	writers map[string]*Flag // flag that writes a setting, see Setting
	history *history         // nil for FromHelp
	index   int              // of Version in history
}

// newTable indexes flags; of two flags with one name the first is kept.
func newTable(engine, version string, flags []*Flag) *Table {
	t := &Table{Engine: engine, Version: version, byName: make(map[string]*Flag, 2*len(flags)), writers: make(map[string]*Flag, len(flags))}
	for _, f := range flags {
		t.add(f)
	}
	return t
}

func (t *Table) add(f *Flag) {
	fresh := false
	for _, n := range f.Names {
		if _, ok := t.byName[n]; !ok {
			t.byName[n] = f
			fresh = true
		}
	}
	if !fresh {
		return
	}
	t.flags = append(t.flags, f)
	if w := t.writers[f.Setting]; w == nil || w.Deprecated && !f.Deprecated {
		t.writers[f.Setting] = f
	}
}

// Flags returns the flags of the table, in no particular order. The caller
// must not change the slice.
func (t *Table) Flags() []*Flag { return t.flags }

// Flag finds a flag by any spelling that the parser takes: "--tp-size",
// "--tp-size=8", the abbreviation "--tp", for vLLM also "--max_model_len" and
// "--compilation-config.level". It returns nil when the release refuses the
// name, or when the abbreviation is ambiguous.
func (t *Table) Flag(name string) *Flag { return t.resolve(name).flag }

// Setting finds the flag that writes a setting, preferring one that is not
// deprecated. It returns nil when there is none.
func (t *Table) Setting(setting string) *Flag { return t.writers[setting] }

// split normalises a flag's spelling and separates a path into a JSON value.
// vLLM's parser reads "_" as "-" before the first dot of a long flag and takes
// the rest as a path ("--compilation-config.level"); other parsers do neither.
func (t *Table) split(name string) (base, path string) {
	if t.Engine != "vllm" || !strings.HasPrefix(name, "-") {
		return name, ""
	}
	if i := strings.IndexByte(name, '.'); i > 0 {
		name, path = name[:i], name[i:]
	}
	if strings.HasPrefix(name, "--") {
		name = strings.ReplaceAll(name, "_", "-")
	}
	return name, path
}

// flagOf turns a stored definition into a Flag.
func flagOf(row dataset.Row) *Flag {
	f := &Flag{
		Names: row.Names, Setting: row.Dest, Action: row.Action, Type: row.Type, Nargs: row.Nargs,
		Default: row.Default, Choices: row.Choices,
		Required: row.Required, Deprecated: row.Deprecated, Hidden: row.Hidden, ReplacedBy: row.ReplacedBy,
	}
	if f.Action == "" {
		f.Action = "Store"
	}
	if f.Type == "" {
		f.Type = "str"
	}
	if f.Default == "" {
		f.Default = "None"
	}
	return f
}
