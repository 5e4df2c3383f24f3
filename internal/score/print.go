package score

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"shakedown/internal/finding"
)

// halfNames are by Half.
var halfNames = [2]string{"dev", "hold"}

// Print writes the score of a folder: both halves, all wrong proven findings,
// and with verbose every miss.
func (l *Logs) Print(w io.Writer, name string, verbose bool) {
	fmt.Fprintf(w, "%s: %d logs, %d launches with a cause, %d crashes\n", name, l.All.Split.Of, l.All.Top1.Of, l.All.Crashes)
	for _, row := range []struct {
		name string
		rate func(*Tally) Rate
	}{
		{"top1", func(t *Tally) Rate { return t.Top1 }},
		{"top3", func(t *Tally) Rate { return t.Top3 }},
		{"cause", func(t *Tally) Rate { return t.Cause }},
		{"line", func(t *Tally) Rate { return t.Line }},
		{"outcome", func(t *Tally) Rate { return t.Outcome }},
		{"healthy", func(t *Tally) Rate { return t.Healthy }},
		{"other", func(t *Tally) Rate { return t.Other }},
		{"split", func(t *Tally) Rate { return t.Split }},
		{"precision", (*Tally).Precision},
		{"  proven", func(t *Tally) Rate { return t.Given[finding.Proven] }},
		{"  likely", func(t *Tally) Rate { return t.Given[finding.Likely] }},
	} {
		printRates(w, row.name, row.rate(l.All), [2]Rate{row.rate(l.Halves[Dev]), row.rate(l.Halves[Hold])})
	}
	printCounts(w, "lines in a new form", l.All.Drift)
	printMisses(w, "PROVEN AND WRONG", l.All.WrongProven)
	if verbose {
		printByCause(w, l.All.ByCause)
		printMisses(w, "miss", l.All.Misses)
	}
}

// Print writes the score of the incidents, with verbose also by class and every
// miss.
func (s *IncidentScore) Print(w io.Writer, name string, verbose bool) {
	fmt.Fprintf(w, "%s: %d incidents with log lines\n", name, s.All.Of)
	printRates(w, "cause", s.All, s.Halves)
	if verbose {
		printByCause(w, s.ByCause)
		printMisses(w, "miss", s.Misses)
	}
}

// Print writes how many rules are proven on a log they were not written from,
// and with verbose the hits of every rule.
func (u *Usage) Print(w io.Writer, verbose bool) {
	fmt.Fprintf(w, "rules: %d, hit a log that they were not written from: %v\n", len(u.hits), u.Unseen())
	if !verbose {
		return
	}
	fmt.Fprintf(w, "  %-24s %8s %8s %6s %6s\n", "rule", "fixtures", "foreign", "dev", "hold")
	for _, id := range u.Rules() {
		h := u.Of(id)
		fmt.Fprintf(w, "  %-24s %8d %8d %6d %6d\n", id, h.Fixtures, h.Foreign, h.Halves[Dev], h.Halves[Hold])
	}
}

func printRates(w io.Writer, name string, all Rate, halves [2]Rate) {
	fmt.Fprintf(w, "  %-10s %-30v", name, all)
	for h, r := range halves {
		fmt.Fprintf(w, "  %-4s %-30v", halfNames[h], r)
	}
	fmt.Fprintln(w)
}

func printByCause(w io.Writer, rates map[string]Rate) {
	for _, c := range slices.Sorted(maps.Keys(rates)) {
		fmt.Fprintf(w, "  %-22s %d/%d\n", c, rates[c].Right, rates[c].Of)
	}
}

func printCounts(w io.Writer, title string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	var s []string
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		s = append(s, fmt.Sprintf("%s %d", id, counts[id]))
	}
	fmt.Fprintf(w, "  %s: %s\n", title, strings.Join(s, ", "))
}

func printMisses(w io.Writer, title string, misses []Miss) {
	for _, m := range misses {
		fmt.Fprintf(w, "  %s: %s", title, m.Name)
		if m.Launch > 0 {
			fmt.Fprintf(w, " launch %d", m.Launch)
		}
		fmt.Fprintf(w, ": %s\n", m.Text)
	}
}
