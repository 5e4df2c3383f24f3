package explain

import (
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/ledger"
)

// rewriter puts remedies into the user's own launch command.
type rewriter struct {
	command *command.Command
	book    *ledger.Ledger
	names   map[string]string // the ledger's name of a flag's setting, where it differs
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

// complete reports false for a remedy of which every change is refused by the
// running version or in force already.
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
	if w.command == nil || len(changes) == 0 {
		return true
	}
	next, err := w.command.Apply(changes, w.book.Table)
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
func (w *rewriter) inForce(c finding.Change) bool {
	if c.Kind == "env" {
		v, ok := w.getenv(c.Name)
		return ok && c.To != nil && v == *c.To
	}
	flag := w.flag(c.Name)
	if flag == nil {
		return false
	}
	if c.To == nil {
		return w.book.Asked(w.setting(flag)) == finding.Asked{Known: true}
	}
	to := *c.To
	if flag.Switch() {
		to = "True"
	}
	effective, known := w.book.Effective(w.setting(flag))
	return known && ledger.Same(effective, to)
}

func (w *rewriter) flag(name string) *flags.Flag {
	if w.book.Table == nil {
		return nil
	}
	return w.book.Table.Flag(name)
}

func (w *rewriter) setting(f *flags.Flag) string {
	if n, ok := w.names[f.Setting]; ok {
		return n
	}
	return f.Setting
}

func (w *rewriter) getenv(name string) (string, bool) {
	if w.command == nil {
		return "", false
	}
	return w.command.Getenv(name)
}

// current is the value that a change replaces, nil when it was not set. Secrets
// are masked.
func (w *rewriter) current(c finding.Change) *string {
	if c.Kind == "env" {
		if v, ok := w.getenv(c.Name); ok && !command.SecretName(c.Name) {
			return &v
		}
		return nil
	}
	flag := w.flag(c.Name)
	if flag == nil || w.command == nil {
		return nil
	}
	parsed, _ := w.book.Table.Parse(w.command.Redacted().Options())
	if a, ok := parsed.Asked(flag.Setting); ok {
		v := a.Value()
		return &v
	}
	return nil
}

// correct adds what the release's own parser would say of the command to a
// finding about its arguments: the right spelling, and the command with it.
func (w *rewriter) correct(f *finding.FindingMsg) {
	if f.Cause != "invalid-argument" || f.Role != "cause" {
		return
	}
	for _, p := range w.book.Problems {
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
func (w *rewriter) value(p flags.Problem) *string {
	v := ""
	opts := w.command.Options()
	if i := p.Index; 0 <= i && i < len(opts) {
		if _, joined, ok := strings.Cut(opts[i], "="); ok {
			v = joined
		} else if i+1 < len(opts) && !strings.HasPrefix(opts[i+1], "-") {
			v = opts[i+1]
		}
	}
	return &v
}
