// Package match finds literal anchors in log bytes in one pass (Automaton) and
// reads values from lines by capture patterns (Pattern), so that regular
// expressions run only on the few lines that an anchor has selected.
package match
