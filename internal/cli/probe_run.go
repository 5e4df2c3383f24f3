package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"shakedown/internal/endpoint"
	"shakedown/internal/finding"
	"shakedown/internal/probe"
	"shakedown/internal/prober"
	"shakedown/internal/prober/modeldir"
	"shakedown/internal/prober/reference"
	"shakedown/internal/redact"
	"shakedown/internal/report"
	"shakedown/internal/term"
)

// runProbe asks the server and writes what it finds to every output.
func runProbe(ctx context.Context, o *probeOptions) error {
	in, err := o.input()
	if err != nil {
		return err
	}
	if o.oracle != "" {
		exact, err := reference.Open(o.oracle)
		if err != nil {
			return inputError(err, "shakedown inspect "+o.oracle)
		}
		defer exact.Close()
		in.Reference = exact
	}
	then, err := o.earlier()
	if err != nil {
		return err
	}
	out, err := o.sinks()
	if err != nil {
		return err
	}
	status := term.NewStatus(o.world.Stderr, term.Detect(behind(o.world.Stderr), o.world.Env, term.When(o.color)))
	defer status.Clear()
	live := &probeStatus{Handler: out, status: status}
	in.Status = live.asking
	status.Set("asking " + in.URL + " what it is")
	var into finding.Handler = live
	if then != nil {
		into = then.Watch(into)
	}
	verdict, err := o.ask(ctx, in, into)
	status.Clear()
	if err != nil {
		err = probeError(err)
	}
	return out.finish(verdict, err)
}

// ask runs the use case between the messages that frame every stream. verdict is
// the result of a run that worked.
func (o *probeOptions) ask(ctx context.Context, in prober.Options, out finding.Handler) (verdict, err error) {
	if err := out.Handle(newConfigMsg()); err != nil {
		return nil, err
	}
	if o.dryRun {
		server, _ := in.Server.(prober.Previewer) // endpoint's is one
		if err := prober.Rehearse(ctx, server, in, out); err != nil {
			return nil, err
		}
		return nil, out.Handle(&finding.EndMsg{})
	}
	c, err := prober.Run(ctx, in, out)
	if err != nil {
		return nil, err
	}
	switch c.Message.Verdict {
	case probe.ProvenRight:
	case probe.Wrong:
		verdict = errProblem
	default:
		verdict = errCantTell
	}
	return verdict, out.Handle(&finding.EndMsg{Findings: len(c.Findings), ExitCode: exitCode(verdict)})
}

// input opens what the options name. Nothing is sent yet.
func (o *probeOptions) input() (prober.Options, error) {
	in := prober.Options{Level: o.level(), Gentle: o.gentle, Budget: o.bounds, Model: o.model, Expected: o.expected, Now: o.now, Sleep: sleep}
	key, err := o.key(o.keyFrom, o.keyFrom != keyVariable)
	if err != nil {
		return in, err
	}
	ca, err := o.certificates()
	if err != nil {
		return in, err
	}
	server, err := endpoint.New(o.url, endpoint.Options{Key: key, Model: o.model, Timeout: o.timeout, Insecure: o.insecure, CA: ca})
	if err != nil {
		return in, probeError(err)
	}
	in.Server, in.URL = server, server.URL()
	dir := o.modelDir
	if dir == "" {
		dir = o.oracle
	}
	if dir != "" {
		if in.Local, err = modeldir.Read(dir, o.now()); err != nil {
			return in, inputError(err, "shakedown inspect "+dir)
		}
	}
	if o.against == "" {
		return in, nil
	}
	// The first server's key is none of the second one's business.
	if key, err = o.key(o.againstKeyFrom, true); err != nil {
		return in, err
	}
	other, err := endpoint.New(o.against, endpoint.Options{Key: key, Timeout: o.timeout, Insecure: o.insecure, CA: ca})
	if err != nil {
		return in, probeError(err)
	}
	in.Other = other
	return in, nil
}

// earlier reads the run that --baseline names.
func (o *probeOptions) earlier() (*prober.Baseline, error) {
	if o.baseline == "" {
		return nil, nil
	}
	f, err := os.Open(o.baseline)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	then, err := prober.ReadBaseline(filepath.Base(o.baseline), f)
	if err != nil {
		return nil, inputError(fmt.Errorf("--baseline: %w", err), "shakedown probe --json "+o.url+" > "+o.baseline)
	}
	return then, nil
}

// variable is the form of a variable's name.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// key reads the variable of that name, "" for none. The errors do not repeat the
// name: it may be the key itself, given by mistake.
func (o *probeOptions) key(name string, must bool) (endpoint.Key, error) {
	if name == "" {
		return endpoint.Key{}, nil
	}
	const next = "export " + keyVariable + "=..."
	if !variable.MatchString(name) {
		return endpoint.Key{}, usageError(next, "a key is named by its variable, and what was given is no variable's name; if it was the key, it is now in your shell's history")
	}
	value := o.world.Env(name)
	if value == "" && must {
		return endpoint.Key{}, usageError(next, "the variable that was named for the key is empty or not set; if what was given is the key itself, it is now in your shell's history")
	}
	return endpoint.NewKey(value), nil
}

// maxCertificates bounds the file of --cacert.
const maxCertificates = 4 << 20

func (o *probeOptions) certificates() ([]byte, error) {
	if o.cacert == "" {
		return nil, nil
	}
	f, err := os.Open(o.cacert)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCertificates+1))
	if err == nil && len(data) > maxCertificates {
		err = inputError(fmt.Errorf("%s: larger than %d MiB", o.cacert, maxCertificates>>20), "")
	}
	return data, err
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// probeError adds to an error of the endpoint what the user can do about it.
func probeError(err error) error {
	var e *endpoint.Error
	if !errors.As(err, &e) {
		return err
	}
	text := err
	if e.Next != "" {
		text = fmt.Errorf("%w. %s", err, e.Next)
	}
	if e.Reason == endpoint.BadURL || e.Reason == endpoint.BadKey {
		return usageError("shakedown probe --help", "%w", text)
	}
	return inputError(text, "")
}

// sinks are the outputs of a run. Documents hide keys in any case: they are made
// to be posted. What the model said stays, because it is the evidence.
func (o *probeOptions) sinks() (*sinks, error) {
	out := o.output(o.world)
	opt := report.Options{Width: out.Width, Style: out.Style, Full: o.full}
	document := opt
	document.Redact = redact.NewSecrets()
	if o.redact {
		document.Redact = redact.New()
		opt.Redact = document.Redact
	}
	d := documents{
		markdown: func(w io.Writer) finding.Handler { return report.NewProbeMarkdown(w, document) },
		html:     func(w io.Writer) finding.Handler { return report.NewProbeHTML(w, document) },
		junit:    func(w io.Writer) finding.Handler { return report.NewProbeJUnit(w, document) },
	}
	s := &sinks{}
	s.addStdout(o.world.Stdout, &o.documentOptions, d, func(io.Writer) finding.Handler {
		if o.dryRun {
			return o.handler(o.world, opt, report.NewRehearsalText)
		}
		return o.handler(o.world, opt, report.NewProbeText)
	})
	return s, s.addFiles(&o.documentOptions, d)
}

// probeStatus shows on a terminal what is under way, and takes it away before
// anything else is written.
type probeStatus struct {
	finding.Handler
	status      *term.Status
	title       string
	sent, bound int
}

// Handle passes a message on.
func (s *probeStatus) Handle(m finding.Message) error {
	switch m := m.(type) {
	case *finding.ExchangeMsg:
		s.sent++
		s.show()
		return s.Handler.Handle(m)
	case *finding.EndpointMsg:
		s.bound = m.Bound.Requests
	}
	s.status.Clear()
	return s.Handler.Handle(m)
}

// asking takes the title of the probe that begins.
func (s *probeStatus) asking(title string) {
	s.title = title
	s.show()
}

func (s *probeStatus) show() {
	text := fmt.Sprintf("%d of at most %d requests", s.sent, s.bound)
	if s.title != "" {
		text += "; asking: " + s.title
	}
	s.status.Set(text)
}
