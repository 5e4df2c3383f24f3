package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"shakedown/internal/planner"
)

type planOptions struct {
	outputOptions
	world *World

	command   []string // the launch command, word by word, or one file that holds it
	cmdFile   string   // file that holds it, in any wrapper
	engine    string   // NAME[@VERSION]
	gpu       string
	model     string // folder, config.json or profile, instead of the command's
	with      []string
	maps      []string
	flagsFrom string
	rules     string
	batch     string   // file with one case a line
	diff      []string // what to compare with: a release, GPUs, or a file with a command
	why       string   // setting to explain
	fix       bool
	full      bool
	markdown  bool
	html      string // file to write, toStdout, or ""

	machine func(*World) planner.Machine
}

func newPlanCmd(w *World, runF func(context.Context, *planOptions) error) *cobra.Command {
	opts := &planOptions{world: w, machine: thisMachine}
	cmd := &cobra.Command{
		Use:   "plan [flags] -- COMMAND ...",
		Short: "Say what the engine will choose, before it is started",
		Long: `Say what SGLang or vLLM will make of a launch, without a GPU, without the engine
and without Python: which settings it will choose itself and why, what it will
replace without a word, what it will refuse or ignore and what would have to be
set instead, how the memory of a GPU will be used, and which known trouble is in
it already.

COMMAND is the launch command, or one file that holds it: a script, docker or
compose file, Kubernetes manifest, sbatch script or systemd unit. Release, GPUs
and libraries are those of this machine, unless they are named. The model is a
folder, a config.json alone, or the name of a built-in profile.`,
		Example: `  shakedown plan --gpu "8x RTX PRO 6000" --engine sglang@0.5.9 -- \
    python -m sglang.launch_server --model-path GLM-5-NVFP4 --tp 8
  shakedown plan --cmd compose.yaml --map /models=/data/models --fix
  shakedown plan --gpu 8xH200 --engine vllm@0.19.1 --diff 0.32.0 -- vllm serve MODEL --tensor-parallel-size 8`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.command = args
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addTo(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false) // the command's own flags are not ours
	f.StringVar(&opts.cmdFile, "cmd", "", "read the launch command from `FILE`: script, manifest, unit ...; - for standard input")
	f.StringVar(&opts.engine, "engine", "", "release of the engine: `NAME[@VERSION]` of sglang, vllm")
	f.StringVar(&opts.gpu, "gpu", "", "GPUs of the launch: `\"8x RTX PRO 6000\"`, or \"8x NAME,sm=12.0,mem=96GiB\"")
	f.StringVar(&opts.model, "model", "", "take the model from `DIR`, a config.json or a built-in profile")
	f.StringArrayVar(&opts.with, "with", nil, "version of a library that decides with: `transformers=VERSION`")
	f.StringArrayVar(&opts.maps, "map", nil, "where a path of the command lies here: `/model=/data/model`")
	f.StringVar(&opts.flagsFrom, "flags-from", "", "take the engine's flags from `FILE`, its own --help text, for a release that shakedown does not know")
	f.StringVar(&opts.rules, "rules", "", "also use the rules in `DIR`")
	f.StringArrayVar(&opts.diff, "diff", nil, "compare with `OTHER`: a release (0.5.18), GPUs (8xB200), or a file with another command")
	f.StringVar(&opts.why, "why", "", "explain how one `SETTING` gets its value")
	f.BoolVar(&opts.fix, "fix", false, "print the command that avoids the known trouble, and nothing else")
	f.BoolVar(&opts.full, "full", false, "show all settings and all evidence")
	f.BoolVar(&opts.markdown, "markdown", false, "print a report to paste into a bug report")
	f.StringVar(&opts.html, "html", "", "write a self-contained page to `FILE`")
	f.StringVar(&opts.batch, "batch", "", "answer every case of `FILE`, one JSON object per line; - for standard input")
	return cmd
}

// check reports what no run could use.
func (o *planOptions) check() error {
	const help = "shakedown plan --help"
	has := func(set ...bool) int {
		n := 0
		for _, s := range set {
			if s {
				n++
			}
		}
		return n
	}
	switch {
	case has(len(o.command) > 0, o.cmdFile != "", o.batch != "") != 1:
		return usageError(help, "plan takes one launch: a command behind --, a file with --cmd, or cases with --batch")
	case o.batch != "" && has(len(o.diff) > 0, o.why != "", o.fix, o.markdown, o.html != "") > 0:
		return usageError(help, "--batch answers in JSON lines and nothing else")
	case has(len(o.diff) > 0, o.why != "", o.fix) > 1:
		return usageError(help, "--diff, --why and --fix each have a report of their own: use one")
	case has(o.json, o.markdown, o.html == toStdout, o.fix) > 1:
		return usageError("shakedown help output", "only one of --json, --markdown, --html - and --fix can have standard output")
	case o.html != "" && has(len(o.diff) > 0, o.why != "", o.fix) > 0:
		return usageError(help, "--html shows a whole plan: leave out --diff, --why and --fix")
	}
	for _, pair := range o.with {
		if !isPair(pair) {
			return usageError(help, "--with %q: want a form like transformers=5.2.0", pair)
		}
	}
	for _, pair := range o.maps {
		if !isPair(pair) {
			return usageError(help, "--map %q: want the command's path and yours, a form like /model=/data/model", pair)
		}
	}
	return o.outputOptions.check()
}

// isPair says whether a text has the form NAME=VALUE.
func isPair(text string) bool {
	name, value, ok := strings.Cut(text, "=")
	return ok && name != "" && value != ""
}
