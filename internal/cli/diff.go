package cli

import (
	"context"

	"github.com/spf13/cobra"

	"shakedown/internal/logstream"
)

type diffOptions struct {
	outputOptions
	world *World

	good, bad             string // logs or saved --json reports
	goodLaunch, badLaunch int    // 0: the last one
	full                  bool
	markdown              bool
}

func newDiffCmd(w *World, runF func(context.Context, *diffOptions) error) *cobra.Command {
	opts := &diffOptions{world: w}
	cmd := &cobra.Command{
		Use:   "diff GOOD BAD",
		Short: "Compare a launch that worked with one that did not",
		Long: `Compare two launches: where they part, versions, settings, backends, KV cache and
times of the phases, the most suspicious difference first, and the launch to try
next. GOOD and BAD are logs, or reports that "shakedown explain --json" wrote. Of
several launches in an input, the last one is compared.

The exit code is 3 when there are differences that may matter, and 0 when there
are none.`,
		Example: `  shakedown diff yesterday.log today.log
  shakedown diff server.log server.log --good-launch 1 --bad-launch 2`,
		Args: takes(2, 2, "two logs or saved reports"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.good, opts.bad = args[0], args[1]
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addTo(cmd)
	f := cmd.Flags()
	f.IntVar(&opts.goodLaunch, "good-launch", 0, "compare launch `N` of GOOD; 0: the last one")
	f.IntVar(&opts.badLaunch, "bad-launch", 0, "compare launch `N` of BAD; 0: the last one")
	f.BoolVar(&opts.full, "full", false, "show all differences and the lines they stand on")
	f.BoolVar(&opts.markdown, "markdown", false, "print a comparison to paste into a bug report")
	return cmd
}

// check reports what no run could use.
func (o *diffOptions) check() error {
	const help = "shakedown diff --help"
	switch {
	case o.good == logstream.Stdin && o.bad == logstream.Stdin:
		return usageError(help, "standard input can only be one of the two")
	case o.json && o.markdown:
		return usageError(help, "only one of --json and --markdown can have standard output")
	case o.goodLaunch < 0 || o.badLaunch < 0:
		return usageError(help, "launches are counted from 1")
	}
	return o.outputOptions.check()
}
