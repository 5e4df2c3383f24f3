// Package rewrite puts remedies into the user's own launch command: values that
// were set before, flags that the release refuses taken out, the whole command
// in its own wrapper.
package rewrite

import (
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/ledger"
)

// Rewriter rewrites one launch. It is not safe for concurrent use.
type Rewriter struct {
	Command *command.Command // nil: not known, remedies keep their changes only
	Book    *ledger.Ledger
	Names   map[string]string // the ledger's name of a flag's setting, where it differs
	Engine  string
	Version string
}

// Fill completes the remedies of a finding: values that were set before, flags
// that the running version refuses taken out, the whole command.
func (w *Rewriter) Fill(f *finding.FindingMsg) {
	kept := f.Remedies[:0]
	for _, r := range f.Remedies {
		if w.Complete(&r) {
			kept = append(kept, r)
		}
	}
	f.Remedies = kept
}

// Complete reports false for a remedy of which every change is refused by the
// running version or in force already.
func (w *Rewriter) Complete(r *finding.Remedy) bool {
	changes := r.Changes[:0:0]
	var notes []string
	for _, c := range r.Changes {
		if c.Kind == "flag" && c.To != nil {
			if why, no := flags.Refuses(w.Engine, w.Version, c.Name); no {
				notes = append(notes, c.Name+" left out: "+why)
				continue
			}
		}
		if w.inForce(c) {
			continue
		}
		c.From = w.current(c)
		changes = append(changes, c)
	}
	had := len(r.Changes) > 0
	r.Changes = changes
	if len(notes) > 0 {
		r.Text = strings.TrimSpace(r.Text + " " + strings.Join(notes, ". "))
	}
	if had && len(changes) == 0 {
		return r.Text != "" && len(notes) == 0
	}
	if w.Command == nil || len(changes) == 0 {
		return true
	}
	next, err := w.Command.Apply(changes, w.Book.Table)
	if err != nil {
		r.Text = strings.TrimSpace(r.Text + " (the command could not be rewritten: " + err.Error() + ")")
		return true
	}
	safe := next.Redacted()
	r.Command, r.Script = safe.Argv(), safe.Script()
	for _, v := range safe.Env {
		if r.Env == nil {
			r.Env = make(map[string]string)
		}
		r.Env[v.Name] = v.Value.Text
	}
	return true
}

// inForce: the launch ran with this change already, so that making it changes
// nothing.
func (w *Rewriter) inForce(c finding.Change) bool {
	if c.Kind == "env" {
		v, ok := w.getenv(c.Name)
		return ok && c.To != nil && v == *c.To
	}
	flag := w.flag(c.Name)
	if flag == nil {
		return false
	}
	if c.To == nil {
		return w.Book.Asked(w.setting(flag)) == finding.Asked{Known: true}
	}
	to := *c.To
	if flag.Switch() {
		to = "True"
	}
	effective, known := w.Book.Effective(w.setting(flag))
	return known && ledger.Same(effective, to)
}

func (w *Rewriter) flag(name string) *flags.Flag {
	if w.Book.Table == nil {
		return nil
	}
	return w.Book.Table.Flag(name)
}

func (w *Rewriter) setting(f *flags.Flag) string {
	if n, ok := w.Names[f.Setting]; ok {
		return n
	}
	return f.Setting
}

func (w *Rewriter) getenv(name string) (string, bool) {
	if w.Command == nil {
		return "", false
	}
	return w.Command.Getenv(name)
}

// current is the value that a change replaces, nil when it was not set. Secrets
// are masked.
func (w *Rewriter) current(c finding.Change) *string {
	if c.Kind == "env" {
		if v, ok := w.getenv(c.Name); ok && !command.SecretName(c.Name) {
			return &v
		}
		return nil
	}
	flag := w.flag(c.Name)
	if flag == nil || w.Command == nil {
		return nil
	}
	parsed, _ := w.Book.Table.Parse(w.Command.Redacted().Options())
	if a, ok := parsed.Asked(flag.Setting); ok {
		v := a.Value()
		return &v
	}
	return nil
}

// Correct adds what the release's own parser would say of the command to a
// finding about its arguments: the right spelling, and the command with it.
func (w *Rewriter) Correct(f *finding.FindingMsg) {
	if f.Cause != "invalid-argument" || f.Role != "cause" {
		return
	}
	for _, p := range w.Book.Problems {
		use := p.Use
		if use == "" && len(p.Near) > 0 {
			use = p.Near[0]
		}
		if p.Kind == flags.DeprecatedFlag || p.Flag == "" {
			continue
		}
		r := finding.Remedy{Title: p.Text}
		if use != "" {
			use, _, _ = strings.Cut(use, "=")
			r.Changes = append(r.Changes, finding.Change{Kind: "flag", Name: p.Flag}, finding.Change{Kind: "flag", Name: use, To: w.value(p)})
		}
		f.Remedies = append([]finding.Remedy{r}, f.Remedies...)
	}
}

// value is what the command gives to the flag that a problem is about.
func (w *Rewriter) value(p flags.Problem) *string {
	v := ""
	opts := w.Command.Options()
	if i := p.Index; 0 <= i && i < len(opts) {
		if _, joined, ok := strings.Cut(opts[i], "="); ok {
			v = joined
		} else if i+1 < len(opts) && !strings.HasPrefix(opts[i+1], "-") {
			v = opts[i+1]
		}
	}
	return &v
}
