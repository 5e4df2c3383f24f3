package planner

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"shakedown/internal/command"
	"shakedown/internal/finding"
	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
)

// Fixed is a command without the trouble that is known of it.
type Fixed struct {
	Command command.Command
	Done    []string // what was changed, in words
	Left    []string // trouble that no change here avoids
}

// maxFixes bounds the changes of one command.
const maxFixes = 8

// Fix changes every command of the options until nothing that is refused and no
// known trouble is left, as far as remedies lead. Every step is resolved again:
// a change stays only when the launch is better off with it.
func Fix(ctx context.Context, opt Options) ([]Fixed, error) {
	base, err := knowledge.Load(append([]fs.FS{rules.FS}, opt.Rules...)...)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	p := &planner{opt: opt, known: map[string]found{}, base: base}
	var out []Fixed
	commands, _ := plannable(opt.Commands)
	for _, cmd := range commands {
		q, err := p.ask(ctx, cmd)
		if err != nil {
			return nil, err
		}
		out = append(out, p.fix(q))
	}
	return out, nil
}

func (p *planner) fix(q *question) Fixed {
	var f Fixed
	pl := p.fresh(q)
	for range maxFixes {
		next, done := p.better(pl)
		if next == nil {
			break
		}
		f.Done = append(f.Done, done)
		pl = next
	}
	f.Command = pl.answer.q.cmd
	for _, m := range pl.Refused {
		f.Left = append(f.Left, m.Text)
	}
	if pl.Memory != nil && !pl.Memory.Fits {
		f.Left = append(f.Left, pl.Memory.Text)
	}
	for _, m := range pl.Findings {
		if m.Severity != finding.Info {
			f.Left = append(f.Left, fmt.Sprintf("%s: %s", m.Confidence, m.Title))
		}
	}
	return f
}

// fresh plans a question with all counterfactuals at hand.
func (p *planner) fresh(q *question) *Plan {
	p.pulls = 0
	return p.plan(q)
}

// better finds the remedy that leaves least trouble; nil when none helps.
func (p *planner) better(pl *Plan) (best *Plan, done string) {
	q := pl.answer.q
	for _, r := range pl.remedies() {
		cmd, err := q.cmd.Apply(r.Changes, q.table)
		if err != nil {
			continue
		}
		nq, err := p.question(q.ground, cmd)
		if err != nil {
			continue
		}
		next := p.fresh(nq)
		if next.burden() < pl.burden() && (best == nil || next.burden() < best.burden()) {
			best, done = next, r.Title
		}
	}
	return best, done
}

// remedies are all changes of the command that a plan offers.
func (pl *Plan) remedies() []finding.Remedy {
	var out []finding.Remedy
	for _, m := range pl.Refused {
		out = append(out, m.Remedies...)
	}
	for _, m := range pl.Findings {
		if m.Severity != finding.Info {
			out = append(out, m.Remedies...)
		}
	}
	return slices.DeleteFunc(out, func(r finding.Remedy) bool { return len(r.Changes) == 0 })
}

// burden weighs the trouble of a plan: a refusal counts more than all that may
// go wrong later.
func (pl *Plan) burden() int {
	n := 1000 * len(pl.Refused)
	if pl.Memory != nil && !pl.Memory.Fits {
		n += 1000
	}
	for _, f := range pl.Findings {
		switch f.Severity {
		case finding.Error:
			n += 10 * f.Confidence.Rank()
		case finding.Warning:
			n += f.Confidence.Rank()
		}
	}
	return n
}
