package cli

import (
	"context"

	"github.com/spf13/cobra"

	"shakedown/internal/logstream"
)

type diffOptions struct {
	outputOptions
	world *World

	good, bad string // logs or saved --json reports
}

func newDiffCmd(w *World, runF func(context.Context, *diffOptions) error) *cobra.Command {
	opts := &diffOptions{world: w}
	cmd := &cobra.Command{
		Use:   "diff GOOD BAD",
		Short: "Compare a launch that worked with one that did not",
		Long: `Compare two launches: settings, versions, backends, KV cache, times of the phases,
and the first milestone where they part. GOOD and BAD are logs, or reports that
"shakedown explain --json" wrote.`,
		Example: "  shakedown diff yesterday.log today.log",
		Args:    takes(2, 2, "two logs or saved reports"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.good, opts.bad = args[0], args[1]
			if opts.good == logstream.Stdin && opts.bad == logstream.Stdin {
				return usageError("", "standard input can only be one of the two")
			}
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addTo(cmd)
	return cmd
}
