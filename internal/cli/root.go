package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `shakedown brings LLM inference servers up and says why when they are wrong: SGLang,
vLLM, llama.cpp, TensorRT-LLM, LMDeploy. plan and inspect judge a launch before it is
run, explain reads what a server left behind, probe asks a running one whether it is
right, and eval, trace and serve run a checkpoint exactly, on the CPU. It opens no
network connection but those of probe, and the one that serve listens on.`

// newRootCmd builds the whole command tree for one run.
func newRootCmd(w *World) *cobra.Command {
	root := &cobra.Command{
		Use:           "shakedown",
		Short:         "Bring up LLM inference servers, and say why they are wrong",
		Long:          rootLong + "\n\nExit codes:\n" + strings.TrimRight(exitHelp(), "\n"),
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetArgs(w.Args)
	root.SetIn(w.Stdin)
	root.SetOut(w.Stdout)
	root.SetErr(w.Stderr)
	root.SetVersionTemplate("shakedown {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(helpWithExitCodes(root.HelpFunc()))
	root.SetHelpCommand(newHelpCmd(root))
	root.AddCommand(
		newExplainCmd(w, runExplain),
		newDiffCmd(w, runDiff),
		newInspectCmd(w, runInspect),
		newPlanCmd(w, runPlan),
		newProbeCmd(w, runProbe),
		newRedactCmd(w, runRedact),
		newEvalCmd(w, runEval),
		newTraceCmd(w, runTrace),
		newRulesCmd(w, rulesRuns{list: runRulesList, show: runRulesShow, test: runRulesTest}),
		newServeCmd(w, runServe),
		newTokenizeCmd(w, runTokenize),
		newRenderCmd(w, runRender),
		newVersionCmd(w, runVersion),
	)
	root.AddCommand(newTopicCmds()...)
	root.InitDefaultCompletionCmd(w.Args...)
	makeGroup(root)
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			makeGroup(c)
		}
	}
	return root
}

// makeGroup lets a command that only holds verbs answer for the verbs that it
// does not have: cobra would print the help and call it a success.
func makeGroup(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.DisableFlagsInUseLine = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownVerb(cmd, args[0])
	}
}

// unknownVerb is the usage error for a verb that cmd does not have.
func unknownVerb(cmd *cobra.Command, name string) error {
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = suggestionDistance
	}
	next := cmd.CommandPath() + " --help"
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		next = cmd.CommandPath() + " " + near[0]
	}
	return usageError(next, "%s has no verb %q", cmd.CommandPath(), name)
}

// suggestionDistance is the largest edit distance of a suggestion: cobra's own
// default, two typing errors.
const suggestionDistance = 2

// flagError turns an error of flag parsing into a usage error that names the
// nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownVerb(cmd, cmd.Flags().Arg(0)) // the verb is wrong, so its flags are not ours to judge
	}
	next := cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if near := nearFlags(cmd, unknown.GetSpecifiedName()); len(near) > 0 {
			next = cmd.CommandPath() + " --" + near[0]
		}
	}
	return usageError(next, "%s: %w", cmd.CommandPath(), err)
}

// nearFlags lists cmd's flags that are spelled like name. cobra measures
// distances between commands only, so the flags are dressed as commands.
func nearFlags(cmd *cobra.Command, name string) []string {
	dressed := &cobra.Command{SuggestionsMinimumDistance: suggestionDistance}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		dressed.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	return dressed.SuggestionsFor(name)
}

// takes checks the number of arguments; what names them in the error.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError(cmd.CommandPath()+" --help", "%s takes %s, got %s",
				cmd.CommandPath(), what, countArgs(len(args)))
		}
		return nil
	}
}

func countArgs(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}
