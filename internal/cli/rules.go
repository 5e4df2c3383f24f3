package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// rulesOptions serve all three verbs below rules; each uses what its flags and
// arguments set.
type rulesOptions struct {
	world *World
	dir   string // list, show: directory of further rules; test: the rules to test
	id    string // show
	json  bool   // list
}

// rulesRuns are the run functions of the verbs below rules.
type rulesRuns struct {
	list, show, test func(context.Context, *rulesOptions) error
}

func newRulesCmd(w *World, runs rulesRuns) *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "List, show and test the rules that explain logs"}
	cmd.AddCommand(newRulesListCmd(w, runs.list), newRulesShowCmd(w, runs.show), newRulesTestCmd(w, runs.test))
	makeGroup(cmd)
	return cmd
}

func newRulesListCmd(w *World, runF func(context.Context, *rulesOptions) error) *cobra.Command {
	opts := &rulesOptions{world: w}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all rules, one per line",
		Args:  takes(0, 0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), opts) },
	}
	addJSONFlag(cmd, &opts.json)
	opts.addRulesFlag(cmd)
	return cmd
}

func newRulesShowCmd(w *World, runF func(context.Context, *rulesOptions) error) *cobra.Command {
	opts := &rulesOptions{world: w}
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one rule: what it looks for, why, what to do, and its sources",
		Example: "  shakedown rules show SGL-NUM-003",
		Args:    takes(1, 1, "the id of one rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id = args[0]
			return runF(cmd.Context(), opts)
		},
	}
	opts.addRulesFlag(cmd)
	return cmd
}

func newRulesTestCmd(w *World, runF func(context.Context, *rulesOptions) error) *cobra.Command {
	opts := &rulesOptions{world: w}
	return &cobra.Command{
		Use:   "test DIR",
		Short: "Test a directory of rules against their own hit and miss logs",
		Args:  takes(1, 1, "one directory of rules"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.dir = args[0]
			return runF(cmd.Context(), opts)
		},
	}
}

// addRulesFlag defines the flag that list and show share.
func (o *rulesOptions) addRulesFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.dir, "rules", "", "also use the rules in `DIR`")
}
