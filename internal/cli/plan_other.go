package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/hardware"
	"shakedown/internal/planner"
	"shakedown/internal/redact"
	"shakedown/internal/report"
)

// runPlanFix prints the commands that avoid the trouble that is known of them.
func runPlanFix(ctx context.Context, o *planOptions, in planner.Options) error {
	fixed, err := planner.Fix(ctx, in)
	if err != nil {
		return planned(err)
	}
	var verdict error
	for i, f := range fixed {
		if i > 0 {
			fmt.Fprintln(o.world.Stdout)
		}
		if _, err := fmt.Fprintln(o.world.Stdout, f.Command.Redacted().Script()); err != nil {
			return outputError(err)
		}
		for _, d := range f.Done {
			fmt.Fprintln(o.world.Stderr, "changed:", d)
		}
		if len(f.Done) == 0 {
			fmt.Fprintln(o.world.Stderr, "nothing was changed")
		}
		for _, l := range f.Left {
			fmt.Fprintln(o.world.Stderr, "left:", l)
			verdict = errProblem
		}
	}
	return verdict
}

// runPlanDiff compares a plan with one of another release, other GPUs or another
// command.
func runPlanDiff(ctx context.Context, o *planOptions, in planner.Options) error {
	other := in
	for _, text := range o.diff {
		if err := o.applyOther(text, &other); err != nil {
			return err
		}
	}
	var plans []*planner.Plan
	for _, opt := range []planner.Options{in, other} {
		if len(opt.Commands) != 1 {
			return usageError("shakedown plan --help", "--diff compares one launch with another: %d were given", len(opt.Commands))
		}
		made, err := planner.Make(ctx, opt)
		if err != nil {
			return planned(err)
		}
		plans = append(plans, made...)
	}
	c := planner.Compare(plans[0], plans[1])
	var verdict error
	if c.Relevant() {
		verdict = errProblem
	}
	out := o.diffOutput()
	messages := []finding.Message{newConfigMsg(), &c.Head}
	for i := range c.Differences {
		messages = append(messages, &c.Differences[i])
	}
	messages = append(messages, &finding.EndMsg{Launches: 2, ExitCode: exitCode(verdict)})
	err := planner.Send(messages, out)
	if err = errors.Join(err, out.Close()); err != nil {
		return outputError(err)
	}
	return verdict
}

func (o *planOptions) diffOutput() finding.Handler {
	w := o.world.Stdout
	switch {
	case o.json && o.redact:
		return report.Redacted(finding.NewEncoder(w), redact.New())
	case o.json:
		return finding.NewEncoder(w)
	}
	opt := o.reportOptions()
	if o.markdown {
		opt.Redact = redact.New()
		return report.NewDiffMarkdown(w, opt)
	}
	return report.NewDiffText(w, opt)
}

// applyOther reads what a plan is compared with: a file with a command, a
// release, or GPUs.
func (o *planOptions) applyOther(text string, in *planner.Options) error {
	if info, err := os.Stat(text); err == nil && info.Mode().IsRegular() {
		in.Commands, err = readCommands(o.world, text)
		return err
	}
	release := text
	if name, v, ok := strings.Cut(text, "@"); ok {
		if len(in.Commands) == 1 && name != in.Commands[0].Engine {
			return usageError("shakedown plan --help", "--diff %s: the command starts %s", text, in.Commands[0].Engine)
		}
		release = v
	}
	if _, err := flags.ParseVersion(release); err == nil && strings.Contains(release, ".") {
		in.Engine = in.Commands[0].Engine + "@" + release
		return nil
	}
	if _, err := hardware.Parse(text); err != nil {
		return usageError("shakedown plan --help", "--diff %s is neither a file, nor a release like 0.5.18, nor GPUs: %w", text, err)
	}
	in.GPU = text
	return nil
}
