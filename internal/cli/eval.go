package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/tokenizer"
)

// modelOptions are the flags of the verbs that run a model.
type modelOptions struct {
	outputOptions
	dir      string
	prompt   string
	tokens   string // ids, separated by commas
	numerics string
	allowNaN bool

	words *tokenizer.Tokenizer // once a prompt was read as text, else nil
}

func (o *modelOptions) addTo(cmd *cobra.Command) {
	o.outputOptions.addTo(cmd)
	f := cmd.Flags()
	f.StringVar(&o.prompt, "prompt", "", "the prompt as `TEXT`, for the checkpoint's tokenizer")
	f.StringVar(&o.tokens, "tokens", "", "the prompt as token ids: `1,2,3`")
	f.StringVar(&o.numerics, "numerics", numerics.Default, "arithmetic: `NAME` of a set, then switches such as kv=fp8_656, separated by commas; see shakedown help numerics")
	f.BoolVar(&o.allowNaN, "allow-nan", false, "go on although weights hold NaN or infinities; they are not searched for them")
	_ = cmd.RegisterFlagCompletionFunc("numerics", cobra.FixedCompletions(numerics.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// maxNewTokens bounds --max-new: beyond it a user wants a server.
const maxNewTokens = 1 << 16

type evalOptions struct {
	modelOptions
	world *World

	tokensFile string
	maxNew     int
	choices    bool
	mtp        bool
}

func newEvalCmd(w *World, runF func(context.Context, *evalOptions) error) *cobra.Command {
	opts := &evalOptions{world: w}
	cmd := &cobra.Command{
		Use:   "eval DIR",
		Short: "Run a checkpoint exactly: logits, logprobs, greedy continuation",
		Long: `Run a checkpoint on the CPU with an arithmetic that is chosen and named: the
logits behind a prompt, the logprob of each of its tokens, and the greedy
continuation. DIR is a folder in the Hugging Face layout, or a GGUF file.

The exit code is 3 when a logit is not finite.`,
		Example: `  shakedown eval ./SmolLM2-135M --prompt "The capital of France is" --max-new 8
  shakedown eval ./GLM-5-FP8 --tokens 9703,11 --numerics sglang-bf16kv,kv=fp8_656`,
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
	f.StringVar(&opts.tokensFile, "tokens-file", "", "read prompts from `FILE`: {\"prompts\":[[1,2,3]],\"max_new\":16}")
	f.IntVar(&opts.maxNew, "max-new", -1, "continue with `N` tokens; -1: as many as the tokens file says, else 16")
	f.BoolVar(&opts.choices, "choices", false, "with --json, also tell the positions and experts that were chosen")
	f.BoolVar(&opts.mtp, "mtp", false, "also tell what the MTP layer drafts for the prompt")
	return cmd
}

func (o *evalOptions) check() error {
	const help = "shakedown eval --help"
	given := 0
	for _, s := range []string{o.prompt, o.tokens, o.tokensFile} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return usageError(help, "a prompt is needed: one of --prompt, --tokens and --tokens-file")
	case o.maxNew < -1 || o.maxNew > maxNewTokens:
		return usageError(help, "--max-new %d: 0 to %d tokens are possible", o.maxNew, maxNewTokens)
	}
	return o.outputOptions.check()
}

// newNumericsTopic is the help topic that lists what --numerics knows.
func newNumericsTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Arithmetic of eval and trace: the name of a set, then switches that change it,\nseparated by commas: --numerics sglang-bf16kv,kv=fp8_656\n\nSets:\n")
	for _, name := range numerics.Names() {
		b.WriteString("  " + name + "\n      " + numerics.About(name) + "\n")
	}
	b.WriteString("\nSwitches:\n")
	for _, s := range numerics.Switches() {
		b.WriteString("  " + s.Name + "=" + strings.Join(s.Values, " | ") + "\n")
	}
	b.WriteString("\nfault= may be given several times; page=N is the page size for fault=stale-page and stale-hit.\nWhat each fault looks like: docs/faults.md.")
	return &cobra.Command{Use: "numerics", Short: "Arithmetics of eval and trace", Long: b.String()}
}
