package ledger

import "shakedown/internal/flags"

// Planned makes the ledger of a launch that has not been started: its entries
// are what an engine's resolver foresees, and what is asked is known. The
// entries are kept in their order.
func Planned(entries []*Entry, table *flags.Table, match flags.Match) *Ledger {
	g := &Ledger{byName: make(map[string]*Entry, len(entries)), entries: entries, asks: true, Table: table, Match: match}
	for _, e := range entries {
		g.byName[e.Name] = e
	}
	return g
}

// Open tells the values that leave the choice to the engine: auto, None.
func Open(asked string) bool { return open(asked) }
