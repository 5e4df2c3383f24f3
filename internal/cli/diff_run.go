package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"shakedown/internal/compare"
	"shakedown/internal/engine"
	"shakedown/internal/engine/all"
	"shakedown/internal/explain"
	"shakedown/internal/finding"
	"shakedown/internal/logstream"
	"shakedown/internal/redact"
	"shakedown/internal/report"
)

// runDiff reads both inputs, compares a launch of each and writes the result.
func runDiff(ctx context.Context, o *diffOptions) error {
	good, err := readLaunch(ctx, o.world, o.good, o.goodLaunch)
	if err != nil {
		return err
	}
	bad, err := readLaunch(ctx, o.world, o.bad, o.badLaunch)
	if err != nil {
		return err
	}
	result := compare.Compare(good, bad, engineOf(bad))
	var verdict error
	if result.Relevant() {
		verdict = errProblem
	}
	out := o.report()
	err = sendComparison(out, result, exitCode(verdict))
	if err = errors.Join(err, out.Close()); err != nil {
		return outputError(err)
	}
	return verdict
}

// report is the output that the options ask for. What is made to be posted is
// redacted.
func (o *diffOptions) report() finding.Handler {
	opt, text := report.Options{Full: o.full}, report.NewDiffText
	if o.markdown {
		opt.Redact, text = redact.New(), report.NewDiffMarkdown
	}
	return o.handler(o.world, opt, text)
}

func sendComparison(h finding.Handler, c *compare.Comparison, code int) error {
	messages := []finding.Message{newConfigMsg(), &c.Head}
	for i := range c.Differences {
		messages = append(messages, &c.Differences[i])
	}
	messages = append(messages, &finding.EndMsg{Launches: 2, ExitCode: code})
	for _, m := range messages {
		if err := h.Handle(m); err != nil {
			return err
		}
	}
	return nil
}

// engineOf is what is known of the engine of a launch, nil for none.
func engineOf(l *compare.Launch) *engine.Engine {
	i := slices.IndexFunc(all.List, func(e *engine.Engine) bool { return e.Name == l.Engine })
	if i < 0 {
		return nil
	}
	return all.List[i]
}

// readLaunch reads one launch of an input, 0 for the last one.
func readLaunch(ctx context.Context, w *World, name string, number int) (*compare.Launch, error) {
	sources, err := logstream.Find([]string{name}, w.Stdin, logstream.Options{})
	if err != nil {
		return nil, err
	}
	into := compare.NewCollector(number)
	if err := collect(ctx, sources, into); err != nil {
		if errors.Is(err, explain.ErrNoEngine) {
			return nil, inputError(fmt.Errorf("%s: %w", name, err), "shakedown explain --engine NAME --json "+name+" > report.json")
		}
		return nil, err
	}
	l, err := into.Launch()
	var none *compare.NoSuchLaunchError
	switch {
	case errors.As(err, &none):
		return nil, usageError("shakedown explain "+name, "%s: %w", name, err)
	case err != nil:
		return nil, inputError(fmt.Errorf("%s: %w", name, err), "shakedown explain "+name)
	}
	return l, nil
}

// collect hands on the messages of a saved report, or those of an explanation of
// the logs.
func collect(ctx context.Context, sources []logstream.Source, into *compare.Collector) error {
	if len(sources) != 1 {
		return collectLogs(ctx, sources, into)
	}
	src := sources[0]
	rc, err := src.Open(ctx)
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(rc, maxHead)
	if !isReport(r) {
		src.Open = func(context.Context) (io.ReadCloser, error) { return opened{r, rc}, nil }
		return collectLogs(ctx, []logstream.Source{src}, into)
	}
	defer rc.Close()
	if err := finding.Decode(r, into.Handle); err != nil {
		return inputError(fmt.Errorf("%s: %w", src.Name, err), "")
	}
	return nil
}

func collectLogs(ctx context.Context, sources []logstream.Source, into *compare.Collector) error {
	if _, err := explain.Run(ctx, explain.Options{Sources: sources, ToolVersion: version}, into); err != nil {
		return err
	}
	return into.Handle(new(finding.EndMsg)) // the use case leaves the end to its caller
}

// opened is a source that was looked into and can't be opened twice.
type opened struct {
	io.Reader
	io.Closer
}

// maxHead is more than the first line of a saved report takes.
const maxHead = 4096

// isReport looks at the first line without reading it.
func isReport(r *bufio.Reader) bool {
	head, _ := r.Peek(maxHead) // what there is of a short or broken input
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	none := func(finding.Message) error { return nil }
	return !errors.Is(finding.Decode(bytes.NewReader(line), none), finding.ErrNotReport)
}
