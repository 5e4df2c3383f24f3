package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"shakedown/internal/inspect"
)

type inspectOptions struct {
	outputOptions
	world *World

	path        string
	gpu, engine string
	full        bool
	question    inspect.Options
}

func newInspectCmd(w *World, runF func(context.Context, *inspectOptions) error) *cobra.Command {
	opts := &inspectOptions{world: w}
	cmd := &cobra.Command{
		Use:   "inspect DIR|FILE [-- OPTIONS]",
		Short: "Say what a checkpoint is and what is wrong with it",
		Long: `Say what a checkpoint is, what is wrong with it, and what will go wrong with it
on named hardware and engines: a folder with config.json and safetensors files,
one safetensors file, an index, or a GGUF file. Only headers and scales are read;
--scan reads every value. config.json and the index alone are enough for most
checks, so a checkpoint can be looked at before it is downloaded. Options of the
launch behind "--", in the engine's own words, count where memory is reckoned.

The exit code is 3 when something is broken or will break on what was named, and
0 when not.`,
		Example: `  shakedown inspect /models/GLM-5-NVFP4 --engine sglang@0.5.9 --gpu "8x RTX PRO 6000"
  shakedown inspect /models/GLM-5-FP8 --gpu "8x H200" --engine sglang@0.5.18 -- --mem-fraction-static 0.8
  shakedown inspect /models/GLM-5-FP8 --scan
  shakedown inspect model.gguf --tensor blk.0.attn_q.weight`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args = args[:dash]
			}
			return takes(1, 1, "one folder or file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.path, opts.question.Argv = args[0], args[1:]
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addTo(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.gpu, "gpu", "", "judge for these `GPUS`: \"8x RTX PRO 6000\", \"H200\"")
	f.StringVar(&opts.engine, "engine", "", "judge for this `ENGINE`: sglang@0.5.9, vllm@0.24, or a name alone")
	f.IntVar(&opts.question.TP, "tp", 0, "tensor-parallel degree `N`; 0: the number of GPUs")
	f.IntVar(&opts.question.PP, "pp", 0, "pipeline-parallel degree `N`; 0: 1")
	f.IntVar(&opts.question.EP, "ep", 0, "expert-parallel degree `N`; 0: 1")
	f.IntVar(&opts.question.Context, "context", 0, "require room for one request of `N` tokens")
	f.StringVar(&opts.question.Tensor, "tensor", "", "describe the tensor or module `NAME` and its values")
	f.IntVar(&opts.question.Layer, "layer", -1, "describe the tensors of layer `N` and their values")
	f.BoolVar(&opts.question.Scan, "scan", false, "read every value: NaN, Inf, zeros, constants")
	f.BoolVar(&opts.full, "full", false, "show all findings and the evidence for them")
	return cmd
}

// check reports what no run could use.
func (o *inspectOptions) check() error {
	const help = "shakedown inspect --help"
	q := o.question
	switch {
	case q.TP < 0 || q.PP < 0 || q.EP < 0 || max(q.TP, q.PP, q.EP) > maxDegree:
		return usageError(help, "a parallel degree is between 1 and %d", maxDegree)
	case q.Context < 0:
		return usageError(help, "--context %d is negative", q.Context)
	case q.Layer < -1:
		return usageError(help, "layers are counted from 0")
	case len(q.Argv) > 0 && !strings.Contains(o.engine, "@"):
		return usageError(help, "options of the launch need an engine with its release: --engine sglang@0.5.9")
	case q.Tensor != "" && q.Layer >= 0:
		return usageError(help, "only one of --tensor and --layer can be asked for")
	}
	return o.outputOptions.check()
}

// maxDegree is more GPUs than any launch has.
const maxDegree = 100_000
