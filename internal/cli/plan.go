package cli

import (
	"context"

	"github.com/spf13/cobra"
)

type planOptions struct {
	outputOptions
	world *World

	batch string // file with one case a line
}

func newPlanCmd(w *World, runF func(context.Context, *planOptions) error) *cobra.Command {
	opts := &planOptions{world: w}
	cmd := &cobra.Command{
		Use:   "plan --batch FILE --json",
		Short: "Say what an engine will choose, before it is started",
		Long: `Say what an inference engine will choose for each of many launches, without a
GPU and without the engine: FILE ("-" for standard input) holds one JSON object
per line with case, engine, version, deps, gpu, model_dir, argv and env, and one
line per case with outcome, effective and runtime settings comes back.`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.batch == "" {
				return usageError("shakedown plan --help", "plan needs --batch FILE")
			}
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addTo(cmd)
	cmd.Flags().StringVar(&opts.batch, "batch", "", "answer every case of `FILE`, one JSON object per line; - for standard input")
	return cmd
}
