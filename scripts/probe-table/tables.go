package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"shakedown/internal/probe"
	"shakedown/internal/prober"
)

// begin and end stand around what is written into a file.
const begin, end = "<!-- written by scripts/probe-table -->\n", "<!-- end of what is written -->\n"

// replace writes text into a file, between its marks.
func replace(file, text string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no lines %q and %q", file, begin, end)
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}

// share is a part of a whole.
type share struct{ n, of int }

func (s *share) add(yes bool) {
	s.of++
	if yes {
		s.n++
	}
}

func (s share) String() string {
	if s.of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d (%d %%)", s.n, s.of, 100*s.n/s.of)
}

func (s share) short() string {
	if s.n == 0 {
		return ""
	}
	if s.n == s.of {
		return "all"
	}
	return fmt.Sprintf("%d/%d", s.n, s.of)
}

// right says whether the first class that was given is the expected one, or one
// that the public record has for it as well.
func (s *server) right(causes []string, also bool) bool {
	if len(causes) == 0 {
		return false
	}
	return causes[0] == s.classes[0] || also && slices.Contains(s.classes, causes[0])
}

// counts are the totals of the faulty servers.
type counts struct{ found, foundWith, class, classAlso, classWith, classWithAlso share }

func (c *counts) add(r *result) {
	c.found.add(len(r.without.failed) > 0)
	c.foundWith.add(len(r.with.failed) > 0)
	c.class.add(r.server.right(r.without.causes, false))
	c.classAlso.add(r.server.right(r.without.causes, true))
	c.classWith.add(r.server.right(r.with.causes, false))
	c.classWithAlso.add(r.server.right(r.with.causes, true))
}

// tables are all tables in Markdown.
func tables(results []result) string {
	var b strings.Builder
	b.WriteString(probes())
	var bad, good []result
	for _, r := range results {
		if r.server.fault == "" {
			good = append(good, r)
		} else {
			bad = append(bad, r)
		}
	}
	var total counts
	for i := range bad {
		total.add(&bad[i])
	}
	if len(bad) > 0 {
		b.WriteString("| servers with a fault | without the checkpoint | with `--oracle DIR` |\n| --- | --- | --- |\n")
		fmt.Fprintf(&b, "| a probe fails | %s | %s |\n", total.found, total.foundWith)
		fmt.Fprintf(&b, "| the first cause is the expected class | %s | %s |\n", total.class, total.classWith)
		fmt.Fprintf(&b, "| it is one of those that the public record gives | %s | %s |\n\n", total.classAlso, total.classWithAlso)
		b.WriteString(byProbe(bad))
		b.WriteString(byServer(bad))
	}
	if len(good) > 0 {
		b.WriteString(falseAlarms(good))
	}
	return b.String()
}

// probes lists the battery.
func probes() string {
	var b strings.Builder
	b.WriteString("The battery, in the order in which it is asked:\n\n| probe | what passes | from level | what it is for | where the pattern comes from |\n| --- | --- | --- | --- | --- |\n")
	for _, p := range probe.Battery(probe.Thorough, false) {
		level := prober.LevelName(p.From)
		switch {
		case p.Needs == probe.NeedsOracle:
			level += ", with `--oracle`"
		case p.Needs == probe.NeedsAgainst:
			level += ", with `--against`"
		}
		if p.Essential {
			level += ", essential"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.ID, cell(p.Title), level, cell(p.Why), cell(p.Source))
	}
	b.WriteString("\n")
	return b.String()
}

// cell is a text that stays in its cell.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", "\\|"), "\n", " ")
}

// byProbe has a row for each fault and a column for each probe that ever failed.
func byProbe(bad []result) string {
	var faults, probes []string
	for _, r := range bad {
		if !slices.Contains(faults, r.server.fault) {
			faults = append(faults, r.server.fault)
		}
		for _, p := range r.with.failed {
			if !slices.Contains(probes, p) {
				probes = append(probes, p)
			}
		}
	}
	slices.Sort(probes)
	var b strings.Builder
	fmt.Fprintf(&b, "Probes that fail, by fault:\n\n| fault | servers | %s | right class without | with |\n| --- | --- |%s --- | --- |\n", strings.Join(probes, " | "), strings.Repeat(" --- |", len(probes)))
	for _, f := range faults {
		var c counts
		failed := make([]share, len(probes))
		for i := range bad {
			if r := &bad[i]; r.server.fault == f {
				c.add(r)
				for k, p := range probes {
					failed[k].add(slices.Contains(r.with.failed, p))
				}
			}
		}
		fmt.Fprintf(&b, "| %s | %d |", f, c.found.of)
		for _, s := range failed {
			fmt.Fprintf(&b, " %s |", s.short())
		}
		fmt.Fprintf(&b, " %s | %s |\n", c.classAlso, c.classWith)
	}
	b.WriteString("\n")
	return b.String()
}

// byServer has a row for each server.
func byServer(bad []result) string {
	var b strings.Builder
	b.WriteString("Every server:\n\n| fault | family | severity | arithmetic | probes that fail | first cause without | with | expected |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range bad {
		s := r.server
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %s | %s | %s | %s |\n", s.fault, s.family, s.severity, s.numerics, strings.Join(r.with.failed, ", "), first(r.without.causes), first(r.with.causes), s.classes[0])
	}
	b.WriteString("\n")
	return b.String()
}

func first(causes []string) string {
	if len(causes) == 0 {
		return "none"
	}
	return causes[0]
}

// falseAlarms counts healthy servers that a probe failed.
func falseAlarms(good []result) string {
	var alarms, proven share
	var b strings.Builder
	families := map[string]bool{}
	kinds := map[string]bool{}
	most := 0
	for _, r := range good {
		alarms.add(len(r.with.failed) > 0)
		proven.add(r.with.verdict == "proven right")
		families[r.server.family], kinds[r.server.numerics] = true, true
		most = max(most, r.with.sent.Requests)
	}
	b.WriteString("| healthy servers | families | arithmetics | false alarms | proven right | most requests |\n| --- | --- | --- | --- | --- | --- |\n")
	fmt.Fprintf(&b, "| %d | %d | %d | %d | %s | %d |\n", alarms.of, len(families), len(kinds), alarms.n, proven, most)
	for _, r := range good {
		if len(r.with.failed) > 0 {
			fmt.Fprintf(&b, "\nFalse alarm: %s: %s: %s\n", r.server.name(), strings.Join(r.with.failed, ", "), r.with.text)
		}
	}
	return b.String()
}
