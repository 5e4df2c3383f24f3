package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"shakedown/internal/logstream"
	"shakedown/internal/redact"
)

type redactOptions struct {
	world *World
	file  string // logstream.Stdin: standard input
}

func newRedactCmd(w *World, runF func(context.Context, *redactOptions) error) *cobra.Command {
	opts := &redactOptions{world: w, file: logstream.Stdin}
	return &cobra.Command{
		Use:   "redact [LOG]",
		Short: "Write a cleaned copy of a log, safe to post",
		Long: `Write the whole log to standard output with tokens, keys, passwords, user names,
host names, addresses, prompts and token ids replaced. Equal values get equal
placeholders, and no line is added or lost.`,
		Example: "  shakedown redact server.log > cleaned.log",
		Args:    takes(0, 1, "one log, or none for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.file = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
}

func runRedact(ctx context.Context, opts *redactOptions) error {
	sources, err := logstream.Find([]string{opts.file}, opts.world.Stdin, logstream.Options{})
	if err != nil {
		return err
	}
	if len(sources) != 1 {
		return inputError(fmt.Errorf("%s holds %d logs, redact takes one", opts.file, len(sources)), "shakedown redact FILE")
	}
	in, err := sources[0].Open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := redact.New().Stream(in, opts.world.Stdout); err != nil {
		return fmt.Errorf("redact %s: %w", sources[0].Name, err)
	}
	return nil
}
