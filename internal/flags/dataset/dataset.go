// Package dataset is the file format of the embedded flag tables: the command
// lines of all known releases of one engine, with each flag definition stored
// once and marked with the releases that have it. The generator writes it and
// package flags reads it.
package dataset

// File holds one engine's flags over its releases.
type File struct {
	Engine   string   `json:"engine"`
	Versions []string `json:"versions"` // ascending
	Rows     []Row    `json:"rows"`
}

// Row is one definition of a flag. A flag whose definition changed between
// releases has one row per definition.
type Row struct {
	Names      []string `json:"names"`                 // all spellings, as argparse lists them
	Dest       string   `json:"dest"`                  // the setting it writes
	Action     string   `json:"action,omitempty"`      // argparse action class without "Action"; empty: Store
	Type       string   `json:"type,omitempty"`        // name of the Python converter; empty: str
	Nargs      string   `json:"nargs,omitempty"`       // "0", "?", "*", "+"; empty: exactly one value
	Default    string   `json:"default,omitempty"`     // as Python prints it; empty: None
	Choices    []string `json:"choices,omitempty"`     // as written on a command line
	Required   bool     `json:"required,omitempty"`    // the parser insists on it
	Deprecated bool     `json:"deprecated,omitempty"`  // the parser warns
	Hidden     bool     `json:"hidden,omitempty"`      // not in --help
	ReplacedBy string   `json:"replaced_by,omitempty"` // what the parser says to use instead
	In         []Span   `json:"in,omitempty"`          // releases; empty: every release
}

// Span is a run of releases: first and last index into File.Versions.
type Span [2]int
