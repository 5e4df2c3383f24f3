package explain

import (
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
)

// rewriter puts remedies into the user's own launch command.
type rewriter struct {
	command *command.Command
	table   *flags.Table
	engine  string
	version string
}

// fill completes the remedies of a finding: values that were set before, flags
// that the running version refuses taken out, the whole command.
func (w *rewriter) fill(f *finding.FindingMsg) {
	kept := f.Remedies[:0]
	for _, r := range f.Remedies {
		if w.complete(&r) {
			kept = append(kept, r)
		}
	}
	f.Remedies = kept
}

// complete reports false for a remedy of which the running version refuses
// every change and that says nothing else.
func (w *rewriter) complete(r *finding.Remedy) bool {
	changes := r.Changes[:0:0]
	var notes []string
	for _, c := range r.Changes {
		if c.Kind == "flag" && c.To != nil {
			if why, no := flags.Refuses(w.engine, w.version, c.Name); no {
				notes = append(notes, c.Name+" left out: "+why)
				continue
			}
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
	if w.command == nil || len(changes) == 0 {
		return true
	}
	next, err := w.command.Apply(changes, w.table)
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

// current is the value that a change replaces.
func (w *rewriter) current(c finding.Change) *string {
	if w.command == nil {
		return nil
	}
	if c.Kind == "env" {
		if v, ok := w.command.Getenv(c.Name); ok {
			return &v
		}
		return nil
	}
	if w.table == nil {
		return nil
	}
	flag := w.table.Flag(c.Name)
	parsed, _ := w.table.Parse(w.command.Options())
	if flag == nil {
		return nil
	}
	if a, ok := parsed.Asked(flag.Setting); ok {
		v := a.Value()
		return &v
	}
	return nil
}
