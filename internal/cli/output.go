package cli

import (
	"io"

	"github.com/spf13/cobra"

	"shakedown/internal/finding"
	"shakedown/internal/redact"
	"shakedown/internal/report"
	"shakedown/internal/term"
)

// outputOptions are the flags that every verb with a report has.
type outputOptions struct {
	json   bool
	redact bool
	color  string
	width  int
}

// addTo defines the flags on cmd.
func (o *outputOptions) addTo(cmd *cobra.Command) {
	addJSONFlag(cmd, &o.json)
	f := cmd.Flags()
	f.BoolVar(&o.redact, "redact", false, "clean the report of secrets, names, addresses and prompts")
	f.StringVar(&o.color, "color", string(term.Auto), "`WHEN` to use colour: auto, always or never")
	f.IntVar(&o.width, "width", 0, "lay out for `N` columns, 60 to 120; 0: as wide as the terminal")
	_ = cmd.RegisterFlagCompletionFunc("color",
		cobra.FixedCompletions([]cobra.Completion{string(term.Auto), string(term.Always), string(term.Never)}, cobra.ShellCompDirectiveNoFileComp))
}

// check reports a value that no run could use.
func (o *outputOptions) check() error {
	if _, err := term.ParseWhen(o.color); err != nil {
		return usageError("", "--color: %w", err)
	}
	if o.width < 0 {
		return usageError("", "--width %d is negative: use 0 for the terminal's own", o.width)
	}
	return nil
}

// output finds out what w's standard output can show, flags first.
func (o *outputOptions) output(w *World) term.Output {
	out := term.Detect(behind(w.Stdout), w.Env, term.When(o.color))
	if o.width > 0 {
		out.Width = term.ClampWidth(o.width)
	}
	return out
}

// handler is the output that the flags ask for: JSON, or a report with opt, whose
// layout and redaction are filled in.
func (o *outputOptions) handler(w *World, opt report.Options, text func(io.Writer, report.Options) finding.Handler) finding.Handler {
	switch {
	case o.json && o.redact:
		return report.Redacted(finding.NewEncoder(w.Stdout), redact.New())
	case o.json:
		return finding.NewEncoder(w.Stdout)
	}
	out := o.output(w)
	opt.Width, opt.Style = out.Width, out.Style
	if o.redact && opt.Redact == nil {
		opt.Redact = redact.New()
	}
	return text(w.Stdout, opt)
}

func addJSONFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print one JSON object per line")
}

// documentOptions are the flags of verbs whose report can also be a document.
type documentOptions struct {
	markdown bool
	html     string // file to write, toStdout, or ""
	junit    string // file to write, toStdout, or ""
}

// addDocumentsTo defines the flags on cmd.
func (o *documentOptions) addDocumentsTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.markdown, "markdown", false, "print a report to paste into a bug report")
	f.StringVar(&o.html, "html", "", "write a self-contained page to `FILE`")
	f.StringVar(&o.junit, "junit", "", "write a JUnit report to `FILE`")
}

// claimsOfStdout counts the formats that want standard output for themselves.
func (o *documentOptions) claimsOfStdout(json bool) int {
	n := 0
	for _, claims := range []bool{json, o.markdown, o.html == toStdout, o.junit == toStdout} {
		if claims {
			n++
		}
	}
	return n
}
