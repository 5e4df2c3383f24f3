package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"shakedown/internal/finding"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/trace"
	"shakedown/internal/redact"
	"shakedown/internal/report"
)

// runTrace watches one arithmetic, or compares two.
func runTrace(ctx context.Context, o *traceOptions) error {
	num, err := parseNumerics("--numerics", o.numerics)
	if err != nil {
		return err
	}
	src, err := o.open()
	if err != nil {
		return err
	}
	defer src.Close()
	if n := len(src.Spec.Layers); slices.ContainsFunc(o.layers, func(l int) bool { return l < 0 || l >= n }) {
		return usageError("shakedown trace "+o.dir+" --full", "--layers %v: the checkpoint has layers 0 to %d", o.layers, n-1)
	}
	tokens, err := o.one()
	if err != nil {
		return err
	}
	// The results of all operations of a layer are held, for two arithmetics.
	const copies = 6
	m, err := o.model(ctx, o.world, src, num, len(tokens), copies*len(tokens))
	if err != nil {
		return err
	}
	var other *oracle.Model
	if o.against != "" {
		second, err := parseNumerics("--against", o.against)
		if err != nil {
			return err
		}
		if other, err = src.Model(second); err != nil {
			return inputError(err, "")
		}
	}
	out, err := o.sinks()
	if err != nil {
		return err
	}
	if err := out.Handle(newConfigMsg()); err != nil {
		return outputError(err)
	}
	each := func(l *finding.TraceLayerMsg) error {
		if err := out.Handle(l); err != nil {
			return outputError(err)
		}
		return nil
	}
	var sum *finding.TraceMsg
	if other == nil {
		sum, err = trace.Watch(ctx, m, tokens, each)
	} else {
		sum, err = trace.Compare(ctx, m, other, tokens, each)
	}
	if err != nil {
		return errors.Join(o.traceError(err), out.Close())
	}
	sum.Model = o.dir
	if err := out.Handle(sum); err != nil {
		return outputError(err)
	}
	return finish(out, sum.NonFinite)
}

func (o *traceOptions) traceError(err error) error {
	var known *expectedError
	if errors.As(err, &known) {
		return err
	}
	return o.promptError(err)
}

// sinks are the outputs of a trace.
func (o *traceOptions) sinks() (*sinks, error) {
	text := func(w io.Writer, opt report.Options) finding.Handler {
		opt.Full = o.full
		return report.NewTraceText(w, opt, o.layers)
	}
	document := report.Options{Redact: redact.New()}
	s := &sinks{}
	if o.html == toStdout {
		s.all = append(s.all, report.NewTraceHTML(o.world.Stdout, document))
		return s, nil
	}
	s.all = append(s.all, o.handler(o.world, report.Options{}, text))
	if o.html == "" {
		return s, nil
	}
	f, err := os.Create(o.html)
	if err != nil {
		return nil, outputError(err)
	}
	s.all = append(s.all, &fileSink{Handler: report.NewTraceHTML(f, document), f: f})
	return s, nil
}
