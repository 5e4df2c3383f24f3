package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// toStdout names standard output where a file to write is expected.
const toStdout = "-"

type explainOptions struct {
	outputOptions
	documentOptions
	world *World

	files   []string // none: standard input
	demo    bool
	follow  bool
	full    bool
	rules   string // directory of further rules
	command string // file that holds the launch command in any wrapper
	compose string // compose file that holds it
	save    string // directory for the rewritten launch commands
	engine  string // NAME or NAME@VERSION, instead of recognising it
	gpu     string // GPUs that the log does not name
	// flagsFrom is a file with the engine's own --help text, for releases
	// without a flag table.
	flagsFrom string
}

func newExplainCmd(w *World, runF func(context.Context, *explainOptions) error) *cobra.Command {
	opts := &explainOptions{world: w}
	cmd := &cobra.Command{
		Use:   "explain [LOG ...]",
		Short: "Explain a server's log: what went wrong, why, and what to do",
		Long: `Explain what a server's log says: for each launch in it what ran, the symptom,
the cause and how sure that is, what to do, how far it came, and which settings
were chosen by whom.

LOG is a file, a directory, an archive or "-" for standard input, compressed or
not, as docker, compose, Kubernetes, journald or a bug report wraps it. Several
files of one launch (nodes, ranks, prefill, decode, router) are joined.`,
		Example: `  shakedown explain server.log
  kubectl logs -p my-pod | shakedown explain
  shakedown explain node0.log node1.log
  shakedown explain --demo`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.files = args
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.outputOptions.addTo(cmd)
	f := cmd.Flags()
	f.BoolVar(&opts.demo, "demo", false, "explain a log that is part of shakedown")
	f.BoolVar(&opts.follow, "follow", false, "go on as the log grows, until Ctrl-C")
	f.BoolVar(&opts.full, "full", false, "show the whole ledger, the timeline and all evidence")
	opts.addDocumentsTo(cmd)
	f.StringVar(&opts.rules, "rules", "", "also use the rules in `DIR`")
	f.StringVar(&opts.command, "cmd", "", "read the launch command from `FILE`: script, manifest ...")
	f.StringVar(&opts.compose, "compose", "", "read the launch command from a compose `FILE`")
	f.StringVar(&opts.save, "save", "", "save the rewritten launch commands in `DIR`")
	f.StringVar(&opts.engine, "engine", "", "engine, when the log does not show it: `NAME[@VERSION]` of sglang, vllm, llamacpp, trtllm, lmdeploy")
	f.StringVar(&opts.flagsFrom, "flags-from", "", "take the engine's flags from `FILE`, its own --help text, for a release that shakedown does not know")
	f.StringVar(&opts.gpu, "gpu", "", "GPUs, when the log does not name them: `\"8x RTX PRO 6000\"`")
	return cmd
}

// check reports combinations that contradict each other.
func (o *explainOptions) check() error {
	const help = "shakedown explain --help"
	switch {
	case o.demo && len(o.files) > 0:
		return usageError("shakedown explain --demo", "--demo brings its own log and takes no file")
	case o.demo && o.follow:
		return usageError("shakedown explain --demo", "--demo does not grow: leave out --follow")
	case o.follow && len(o.files) > 1:
		return usageError(help, "--follow takes one log, got %d", len(o.files))
	case o.command != "" && o.compose != "":
		return usageError(help, "--cmd and --compose both give the launch command: use one")
	case o.claimsOfStdout(o.json) > 1:
		return usageError("shakedown help output", "only one of --json, --markdown, --html - and --junit - can have standard output")
	}
	return o.outputOptions.check()
}
