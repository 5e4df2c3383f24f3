package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

const environmentHelp = `Variables that shakedown reads:

  NO_COLOR        not empty: no colour
  CLICOLOR        0: no colour
  CLICOLOR_FORCE  not empty and not 0: colour, even into a pipe
  TERM            dumb: no colour
  COLUMNS         width of the text report when it is not known otherwise

  SHAKEDOWN_API_KEY  the key that probe sends, and that serve asks clients for;
                     probe takes another variable with --api-key-env

plan looks up what is installed, when the flags do not say it:

  VIRTUAL_ENV, CONDA_PREFIX     the active Python environment
  HF_HUB_CACHE, HF_HOME, HOME   the cache of Hugging Face's hub
  PATH                          nvidia-smi

Flags win over variables. Nothing else is read from the environment.`

const outputHelp = `The report goes to standard output, everything else to standard error.

  text        the default, made for 80 columns; --full shows everything
  --json      one JSON object per line, each with a "message" field. Readers
              ignore messages and fields that they do not know; lists are never
              null. Schema: schema/explain.schema.json. A failure ends the
              stream with an "error" message; a stream without an "end" message
              was cut.
  --markdown  ready to paste into a bug report; cleaned of secrets
  --html      one self-contained file; cleaned of secrets
  --junit     for CI: one test case per launch, or per probe

Only one of them can have standard output; --html and --junit write a file, or
standard output when the name is "-".`

// newTopicCmds returns the help topics: commands without a run function.
func newTopicCmds() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: "Exit codes of every verb:\n\n" + exitHelp() +
			"\nWhen the input holds several launches, the last one decides; of servers that ran\nside by side, one that failed."},
		{Use: "environment", Short: "Variables that shakedown reads", Long: environmentHelp},
		{Use: "output", Short: "Formats of the report", Long: outputHelp},
		newNumericsTopic(),
	}
}

// newHelpCmd replaces cobra's help command, which calls an unknown topic a
// success.
func newHelpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [verb or topic]",
		Short: "Help about a verb or topic",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownVerb(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// helpWithExitCodes makes every verb's help say where the exit codes are; the
// root's own help holds the table.
func helpWithExitCodes(help func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		if cmd.HasParent() && cmd.Runnable() {
			fmt.Fprintln(cmd.OutOrStdout(), "\nExit codes: shakedown help exit-codes")
		}
	}
}
