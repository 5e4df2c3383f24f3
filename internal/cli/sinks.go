package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/redact"
	"shakedown/internal/report"
)

// sinks are the outputs of one run. It is a finding.Handler that
// passes every message to each of them.
type sinks struct {
	all []finding.Handler
	// framed is the one among all for which Main itself reports a failure: text
	// on standard error, JSON as an error message. The others are documents and
	// must hold the error.
	framed finding.Handler
	begun  bool // a launch or an endpoint came
	// renew makes another framed output: text is laid out when it is closed.
	renew func() finding.Handler
}

var _ finding.Handler = (*sinks)(nil)

// newSinks opens the outputs that the options ask for; files are the names of
// the sources.
func newSinks(o *explainOptions, files []string) (*sinks, error) {
	out := o.output(o.world)
	opt := report.Options{Width: out.Width, Style: out.Style, Full: o.full, Files: files}
	document := opt
	document.Redact = redact.New()
	if o.redact {
		opt.Redact = document.Redact
	}
	d := documents{
		markdown: func(w io.Writer) finding.Handler { return report.NewMarkdown(w, document) },
		html:     func(w io.Writer) finding.Handler { return report.NewHTML(w, document) },
		junit:    func(w io.Writer) finding.Handler { return report.NewJUnit(w, opt) },
	}
	s := new(sinks)
	s.addStdout(o.world.Stdout, &o.documentOptions, d, func(w io.Writer) finding.Handler {
		switch {
		case o.json && o.redact:
			return report.Redacted(finding.NewEncoder(w), document.Redact)
		case o.json:
			return finding.NewEncoder(w)
		}
		s.renew = func() finding.Handler { return report.NewText(w, opt) }
		return s.renew()
	})
	if o.save != "" {
		s.all = append(s.all, &saver{dir: o.save, log: o.world.Stderr})
	}
	return s, s.addFiles(&o.documentOptions, d)
}

// documents make the documents of a verb.
type documents struct {
	markdown, html, junit func(io.Writer) finding.Handler
}

// addStdout adds what goes to standard output: a document that claims it, else the
// framed output.
func (s *sinks) addStdout(w io.Writer, o *documentOptions, d documents, framed func(io.Writer) finding.Handler) {
	switch {
	case o.markdown:
		s.all = append(s.all, d.markdown(w))
	case o.html == toStdout:
		s.all = append(s.all, d.html(w))
	case o.junit == toStdout:
		s.all = append(s.all, d.junit(w))
	default:
		s.framed = framed(w)
		s.all = append(s.all, s.framed)
	}
}

// addFiles adds the documents that are written to files.
func (s *sinks) addFiles(o *documentOptions, d documents) error {
	return errors.Join(s.addFile(o.html, d.html), s.addFile(o.junit, d.junit))
}

// listed is the number of launches at either end of a long input that the
// outputs show; 0 when one of them shows all.
func (o *explainOptions) listed() int {
	if o.json || o.junit != "" {
		return 0
	}
	return report.Listed
}

// addFile adds a document that is written to a file, unless the name is empty
// or toStdout.
func (s *sinks) addFile(name string, format func(io.Writer) finding.Handler) error {
	if name == "" || name == toStdout {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return outputError(err)
	}
	s.all = append(s.all, &fileSink{Handler: format(f), f: f})
	return nil
}

// Handle passes m on.
func (s *sinks) Handle(m finding.Message) error {
	switch m.(type) {
	case *finding.LaunchMsg, *finding.EndpointMsg:
		s.begun = true
	}
	for _, h := range s.all {
		if err := h.Handle(m); err != nil {
			return outputError(err)
		}
	}
	return nil
}

// turn ends the page of an output that writes only when it is closed, so that a
// launch is read before the next one begins.
func (s *sinks) turn() error {
	if s.renew == nil {
		return nil
	}
	if err := errors.Join(s.framed.Handle(&finding.EndMsg{}), s.framed.Close()); err != nil {
		return outputError(err)
	}
	for i, h := range s.all {
		if h == s.framed {
			s.framed = s.renew()
			s.all[i] = s.framed
			break
		}
	}
	return nil
}

// finish closes the outputs, with err in those that must hold it. It returns err, the
// error of closing, or else the verdict.
func (s *sinks) finish(verdict, err error) error {
	if err != nil {
		s.fail(err)
	}
	if closed := s.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return verdict
}

// fail tells the documents that the run ended with err. What Main reports
// itself stays empty when there is nothing but the error.
func (s *sinks) fail(err error) {
	msg := newErrorMsg(err)
	kept := s.all[:0]
	for _, h := range s.all {
		if h != s.framed {
			_ = h.Handle(msg) // the run's own error is the one to report
		} else if !s.begun {
			continue
		}
		kept = append(kept, h)
	}
	s.all = kept
}

// Close finishes all outputs.
func (s *sinks) Close() error {
	var errs []error
	for _, h := range s.all {
		errs = append(errs, h.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return outputError(err)
	}
	return nil
}

// fileSink closes the file behind a document.
type fileSink struct {
	finding.Handler
	f *os.File
}

func (s *fileSink) Close() error { return errors.Join(s.Handler.Close(), s.f.Close()) }

// saver writes the rewritten launch commands of the last launch to files.
type saver struct {
	dir     string
	log     io.Writer // where the names of the files are told
	scripts []string
}

// Handle notes the scripts of the launch that m belongs to.
func (s *saver) Handle(m finding.Message) error {
	switch m := m.(type) {
	case *finding.LaunchMsg:
		s.scripts = nil
	case *finding.FindingMsg:
		for _, r := range m.Remedies {
			if r.Script != "" {
				s.scripts = append(s.scripts, r.Script)
			}
		}
	}
	return nil
}

// Close writes the files, best remedy first.
func (s *saver) Close() error {
	if len(s.scripts) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	for i, script := range s.scripts {
		name := filepath.Join(s.dir, scriptName(i+1, script))
		if err := os.WriteFile(name, []byte(strings.TrimRight(script, "\n")+"\n"), 0o600); err != nil { // a key that nothing marks as one is still in it
			return err
		}
		fmt.Fprintf(s.log, "saved: %s\n", name)
	}
	return nil
}

// yamlKey begins a compose service or a manifest; a shell script has no such
// line.
var yamlKey = regexp.MustCompile(`(?m)^[A-Za-z]+:\s`)

func scriptName(n int, script string) string {
	if yamlKey.MatchString(script) {
		return fmt.Sprintf("next-%d.yaml", n)
	}
	return fmt.Sprintf("next-%d.sh", n)
}
