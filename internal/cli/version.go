package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"shakedown/internal/engine/all"
	"shakedown/internal/finding"
	"shakedown/internal/kernel"
)

// version is set by scripts/release through the linker.
var version = "devel"

// newConfigMsg is the message that opens every stream.
func newConfigMsg() *finding.ConfigMsg {
	return &finding.ConfigMsg{SchemaVersion: finding.SchemaVersion, ToolVersion: version}
}

type versionOptions struct {
	world *World
	json  bool
}

func newVersionCmd(w *World, runF func(context.Context, *versionOptions) error) *cobra.Command {
	opts := &versionOptions{world: w}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the engine releases that it knows",
		Args:  takes(0, 0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), opts) },
	}
	addJSONFlag(cmd, &opts.json)
	return cmd
}

// versionMsg is the one message of version --json.
type versionMsg struct {
	Message       string `json:"message"` // "version"
	ToolVersion   string `json:"tool_version"`
	SchemaVersion string `json:"schema_version"`
	Go            string `json:"go"`
	Platform      string `json:"platform"`
	Kernels       string `json:"kernels"` // the oracle's inner loops on this machine: scalar, avx2, avx512 or neon

	Engines []knownEngine `json:"engines"`
}

// knownEngine is an engine with the newest release that its log lines and rules
// were checked against.
type knownEngine struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	NewestKnown string `json:"newest_known"`
}

func runVersion(_ context.Context, opts *versionOptions) error {
	msg := versionMsg{
		Message: "version", ToolVersion: version, SchemaVersion: finding.SchemaVersion,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Kernels: kernel.Implementation(),
	}
	for _, e := range all.List {
		msg.Engines = append(msg.Engines, knownEngine{e.Name, e.Title, e.NewestKnown})
	}
	if opts.json {
		return json.NewEncoder(opts.world.Stdout).Encode(msg)
	}
	return msg.print(opts.world.Stdout)
}

func (m *versionMsg) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "shakedown %s, %s, %s, %s kernels\nnewest engine releases known:\n", m.ToolVersion, m.Go, m.Platform, m.Kernels)
	for _, e := range m.Engines {
		fmt.Fprintf(table, "  %s\t%s\n", e.Title, e.NewestKnown)
	}
	return table.Flush()
}
