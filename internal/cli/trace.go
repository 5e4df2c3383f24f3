package cli

import (
	"context"

	"github.com/spf13/cobra"

	"shakedown/internal/oracle/numerics"
)

type traceOptions struct {
	modelOptions
	world *World

	against string
	layers  []int
	html    string
	full    bool
}

func newTraceCmd(w *World, runF func(context.Context, *traceOptions) error) *cobra.Command {
	opts := &traceOptions{world: w}
	cmd := &cobra.Command{
		Use:   "trace DIR",
		Short: "Watch every operation of a checkpoint, or compare two arithmetics",
		Long: `Run a checkpoint on the CPU and watch every operation: how many values are
finite, their range and RMS, and the first one that is not finite, with layer,
operation, weight, token and element.

With --against, run a second arithmetic beside the first: where the two part, by
how much, and how the difference grows layer by layer.

The exit code is 3 when a value is not finite.`,
		Example: `  shakedown trace ./GLM-5-FP8 --tokens 9703,11,1917 --numerics sglang-0.5.9-sm120-auto
  shakedown trace ./SmolLM2-135M --tokens 504,3575 --numerics hf-f32 --against hf-bf16`,
		Args: takes(1, 1, "one checkpoint"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.dir = args[0]
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addTo(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.against, "against", "", "compare with the arithmetic `NAME`")
	f.IntSliceVar(&opts.layers, "layers", nil, "show the operations of these layers: `3,4`")
	f.StringVar(&opts.html, "html", "", "write a self-contained page to `FILE`")
	f.BoolVar(&opts.full, "full", false, "show the operations of all layers")
	_ = cmd.RegisterFlagCompletionFunc("against", cobra.FixedCompletions(numerics.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *traceOptions) check() error {
	const help = "shakedown trace --help"
	switch {
	case (o.prompt == "") == (o.tokens == ""):
		return usageError(help, "a prompt is needed: one of --prompt and --tokens")
	case o.json && o.html == toStdout:
		return usageError(help, "only one of --json and --html - can have standard output")
	}
	return o.outputOptions.check()
}
