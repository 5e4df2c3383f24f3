package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"text/tabwriter"

	"shakedown/internal/explain"
	"shakedown/internal/finding"
	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
)

// systems are the file systems that hold the rules: the built-in ones and, when
// asked for, the user's own.
func (o *rulesOptions) systems() []fs.FS {
	if o.dir == "" {
		return []fs.FS{rules.FS}
	}
	return []fs.FS{rules.FS, os.DirFS(o.dir)}
}

// ruleMsg is one line of rules list --json.
type ruleMsg struct {
	Message  string            `json:"message"` // "rule"
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Cause    string            `json:"cause"`
	Role     knowledge.Role    `json:"role"`
	Severity finding.Severity  `json:"severity"`
	Engines  map[string]string `json:"engines"` // engine -> version range; empty: any engine
	Builtin  bool              `json:"builtin"`
}

func newRuleMsg(r *knowledge.Rule) ruleMsg {
	msg := ruleMsg{
		Message: "rule", ID: r.ID, Title: r.Title, Cause: r.Cause, Role: r.Role,
		Severity: r.Severity, Engines: r.Engines, Builtin: r.Builtin,
	}
	if msg.Engines == nil {
		msg.Engines = map[string]string{}
	}
	return msg
}

func runRulesList(_ context.Context, o *rulesOptions) error {
	base, err := knowledge.Load(o.systems()...)
	if err != nil {
		return inputError(err, "shakedown rules test DIR")
	}
	enc := json.NewEncoder(o.world.Stdout)
	enc.SetEscapeHTML(false)
	table := tabwriter.NewWriter(o.world.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range base.Rules() {
		if o.json {
			err = enc.Encode(newRuleMsg(r))
		} else {
			_, err = fmt.Fprintf(table, "%s\t%s\t%s\n", r.ID, r.Role, r.Title)
		}
		if err != nil {
			return outputError(err)
		}
	}
	if err := table.Flush(); err != nil {
		return outputError(err)
	}
	return nil
}

// runRulesShow prints the rule as it is written: the format is made to be read,
// and a user's own rule begins as a copy.
func runRulesShow(_ context.Context, o *rulesOptions) error {
	systems := o.systems()
	base, err := knowledge.Load(systems...)
	if err != nil {
		return inputError(err, "shakedown rules test DIR")
	}
	r, ok := base.Rule(o.id)
	if !ok {
		return usageError("shakedown rules list", "there is no rule %q", o.id)
	}
	from := systems[0]
	if !r.Builtin {
		from = systems[1]
	}
	text, err := fs.ReadFile(from, path.Join(r.Dir, "rule.yaml"))
	if err != nil {
		return err
	}
	if _, err := o.world.Stdout.Write(text); err != nil {
		return outputError(err)
	}
	return nil
}

func runRulesTest(ctx context.Context, o *rulesOptions) error {
	results, err := explain.TestRules(ctx, os.DirFS(o.dir))
	if err != nil {
		return inputError(err, "")
	}
	if len(results) == 0 {
		return inputError(errors.New(o.dir+" holds no rules (folders with a rule.yaml)"), "shakedown rules show GEN-OOM-001")
	}
	bad := 0
	for _, r := range results {
		if r.Problem != "" {
			bad++
			fmt.Fprintf(o.world.Stdout, "FAIL  %s  %s: %s\n", r.Rule, r.File, r.Problem)
		}
	}
	if _, err := fmt.Fprintf(o.world.Stdout, "%d passed, %d failed\n", len(results)-bad, bad); err != nil {
		return outputError(err)
	}
	if bad > 0 {
		return errProblem
	}
	return nil
}
