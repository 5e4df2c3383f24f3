// Command gen writes the compact form of the built-in rules, which the binary
// reads instead of their YAML. go generate ./internal/knowledge runs it.
package main

import (
	"fmt"
	"os"

	"shakedown/internal/knowledge"
)

// Where the rules lie, and the file that is made of them, seen from the folder
// of package knowledge.
const (
	rulesDir = "rules"
	target   = "compact.jsonl"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	data, err := knowledge.Compact(os.DirFS(rulesDir))
	if err != nil {
		return err
	}
	return os.WriteFile(target, data, 0o644)
}
