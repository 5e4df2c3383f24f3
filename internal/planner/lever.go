package planner

import (
	"slices"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/ledger"
)

// maxPulls bounds the counterfactuals of one plan, so that a plan stays within
// a tenth of a second.
const maxPulls = 120

// lever is a change of the command that may lead elsewhere.
type lever []finding.Change

// pull resolves the launch with changes; ok is false when the command cannot be
// changed that way.
func (p *planner) pull(q *question, l lever) (a *answer, ok bool) {
	if p.pulls >= maxPulls {
		return nil, false
	}
	p.pulls++
	cmd, err := q.cmd.Apply(l, q.table)
	if err != nil {
		return nil, false
	}
	next, err := p.question(q.ground, cmd)
	if err != nil {
		return nil, false
	}
	return next.resolve(), true
}

// without leaves a flag out.
func without(name string) lever { return lever{{Kind: "flag", Name: name}} }

// with sets a flag.
func with(name, value string) lever { return lever{{Kind: "flag", Name: name, To: &value}} }

// values lists what a flag can be set to, apart from what it is set to now.
func values(f *flags.Flag, now string) []lever {
	var out []lever
	if f.Switch() {
		for _, n := range f.Names {
			if strings.HasPrefix(n, "--") {
				out = append(out, with(n, ""))
			}
		}
		return out
	}
	for _, c := range f.Choices {
		if !ledger.Same(c, now) && !ledger.Open(c) {
			out = append(out, with(f.Name(), c))
		}
	}
	return out
}

// levers are the changes that could matter for some settings: setting them
// otherwise, and leaving out what was asked for, one at a time.
func (q *question) levers(settings []string, a *answer) []lever {
	var out []lever
	parsed, _ := q.table.Parse(q.options)
	for _, arg := range parsed.Args {
		if arg.Flag != nil && arg.Name != "" {
			out = append(out, without(arg.Name))
		}
	}
	for _, s := range settings {
		f := q.flagOf(s)
		if f == nil || f.Deprecated {
			continue
		}
		now, _ := a.book.Effective(s)
		out = append(out, values(f, now)...)
	}
	return out
}

// search pulls levers until enough of them lead where good says, and returns
// what they change as remedies.
func (p *planner) search(q *question, levers []lever, enough int, good func(*answer) bool) []finding.Remedy {
	var out []finding.Remedy
	for _, l := range levers {
		if len(out) == enough {
			break
		}
		if slices.ContainsFunc(out, func(r finding.Remedy) bool { return sameLever(r.Changes, l) }) {
			continue
		}
		if a, ok := p.pull(q, l); ok && good(a) {
			out = append(out, finding.Remedy{Title: title(l), Changes: l})
		}
	}
	return out
}

// sameLever: bf16 and bfloat16 are one value.
func sameLever(a, b lever) bool {
	return len(a) == 1 && len(b) == 1 && a[0].Name == b[0].Name && a[0].To != nil && b[0].To != nil && ledger.Same(*a[0].To, *b[0].To)
}

// title says what a lever changes.
func title(l lever) string {
	var parts []string
	for _, c := range l {
		switch {
		case c.To == nil:
			parts = append(parts, "without "+c.Name)
		case c.Kind == "env":
			parts = append(parts, "with "+c.Name+"="+*c.To)
		default:
			parts = append(parts, strings.TrimSpace("with "+c.Name+" "+*c.To))
		}
	}
	return strings.Join(parts, ", ")
}

// starts says whether an answer is of a launch that the engine would start.
func (a *answer) starts() bool {
	return a.res.Refusal == nil && len(a.loadErrors()) == 0 && a.unshardable() == ""
}

// loadErrors are the runtime values that say that loading will fail.
func (a *answer) loadErrors() []string {
	var out []string
	for name, v := range a.res.Runtime {
		if s, ok := v.(string); ok && s != "" && strings.HasSuffix(name, ".error") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
