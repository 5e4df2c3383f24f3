// Command literals prints literals that shakedown looks for in logs, one a
// line, spread evenly over all of them. scripts/bench-explain gives the same
// list to another search tool.
//
//	go run ./scripts/literals N
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"shakedown/internal/engine/all"
	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
	"shakedown/internal/launch"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "literals:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: literals N")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	lits, err := literals()
	if err != nil {
		return err
	}
	if want < 1 || want > len(lits) {
		return fmt.Errorf("there are %d literals: ask for 1 to %[1]d", len(lits))
	}
	out := bufio.NewWriter(w)
	for i := range want {
		fmt.Fprintln(out, lits[i*len(lits)/want])
	}
	return out.Flush()
}

// literals lists the anchors of all engines and rules that fit on a line, each
// once.
func literals() ([]string, error) {
	base, err := knowledge.Load(rules.FS)
	if err != nil {
		return nil, err
	}
	index, err := launch.NewIndex(all.List, base.Watches())
	if err != nil {
		return nil, err
	}
	var lits []string
	seen := map[string]bool{}
	for _, w := range index.Watches() {
		if !seen[w.Anchor] && !strings.Contains(w.Anchor, "\n") {
			seen[w.Anchor] = true
			lits = append(lits, w.Anchor)
		}
	}
	return lits, nil
}
