package cli

import (
	"context"

	"github.com/spf13/cobra"

	"shakedown/internal/oracle/numerics"
)

type serveOptions struct {
	modelOptions
	world *World

	host, name  string
	port        int
	context     int
	running     int
	queued      int
	cacheTokens int
	plain       bool
}

func newServeCmd(w *World, runF func(context.Context, *serveOptions) error) *cobra.Command {
	opts := &serveOptions{world: w}
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve a checkpoint with OpenAI's API, exactly",
		Long: `Answer OpenAI's API with an arithmetic that is chosen and named: the reference
against which a GPU server's answers are held. Answers have the same bits alone and
among others. A parameter that is not known is refused by name.

The server listens on this machine only, unless --host says otherwise. A key that
clients must send is taken from the variable SHAKEDOWN_API_KEY. SIGTERM and Ctrl-C
let running answers finish; a second one ends them.`,
		Example: `  shakedown serve ./SmolLM2-135M-Instruct
  shakedown serve ./GLM-5-FP8 --numerics sglang-0.5.9-sm120-auto --port 30000`,
		Args: takes(1, 1, "one checkpoint"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.dir = args[0]
			if err := opts.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.numerics, "numerics", numerics.Default, "arithmetic: `NAME` of a set, then switches; see shakedown help numerics")
	f.BoolVar(&opts.allowNaN, "allow-nan", false, "go on although weights hold NaN or infinities")
	f.StringVar(&opts.host, "host", "127.0.0.1", "`ADDRESS` to listen on")
	f.IntVar(&opts.port, "port", 8000, "`PORT` to listen on; 0: any free one")
	f.StringVar(&opts.name, "name", "", "`NAME` of the model for clients; default: that of the folder")
	f.IntVar(&opts.context, "context", 0, "`TOKENS` of one text at most; 0: as many as the model knows, up to 32768")
	f.IntVar(&opts.running, "max-running", 16, "`N` answers computed at the same time")
	f.IntVar(&opts.queued, "max-queued", 128, "`N` answers that may wait; more are refused with 429")
	f.IntVar(&opts.cacheTokens, "cache-tokens", 0, "`TOKENS` of all texts together; 0: four texts of full length")
	f.BoolVar(&opts.plain, "plain", false, "tell neither reasoning nor tool calls apart from the content")
	_ = cmd.RegisterFlagCompletionFunc("numerics", cobra.FixedCompletions(numerics.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *serveOptions) check() error {
	const help = "shakedown serve --help"
	for _, x := range []struct {
		flag     string
		v        int
		least    int
		greatest int
	}{{"port", o.port, 0, 65535}, {"context", o.context, 0, 1 << 24}, {"max-running", o.running, 1, 1024}, {"max-queued", o.queued, 1, 1 << 16}, {"cache-tokens", o.cacheTokens, 0, 1 << 30}} {
		if x.v < x.least || x.v > x.greatest {
			return usageError(help, "--%s %d: %d to %d are possible", x.flag, x.v, x.least, x.greatest)
		}
	}
	return nil
}
