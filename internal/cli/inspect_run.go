package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shakedown/internal/checkpoint"
	"shakedown/internal/engine"
	"shakedown/internal/engine/all"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/hardware"
	"shakedown/internal/inspect"
	"shakedown/internal/report"
	"shakedown/internal/term"
)

// runInspect opens the checkpoint, inspects it and writes the result.
func runInspect(ctx context.Context, o *inspectOptions) error {
	if err := o.target(); err != nil {
		return err
	}
	c, err := checkpoint.Open(o.path)
	if err != nil {
		if errors.Is(err, checkpoint.ErrNoCheckpoint) {
			return inputError(err, "shakedown inspect --help")
		}
		return inputError(err, "")
	}
	defer c.Close()
	status := term.NewStatus(o.world.Stderr, term.Detect(behind(o.world.Stderr), o.world.Env, term.When(o.color)))
	defer status.Clear()
	o.question.Progress = progress(status, "reading")
	result, err := inspect.Run(ctx, c, o.question)
	status.Clear()
	var none *inspect.NoTensorError
	switch {
	case errors.As(err, &none):
		next := "shakedown inspect " + o.path + " --layer 0"
		if len(none.Near) > 0 {
			next = "shakedown inspect " + o.path + " --tensor " + none.Near[0]
		}
		return usageError(next, "%s: %w", o.path, err)
	case err != nil:
		return err
	}
	var verdict error
	if result.Problem() {
		verdict = errProblem
	}
	out := o.handler(o.world, report.Options{Full: o.full}, report.NewInspectText)
	err = sendInspection(out, result, exitCode(verdict))
	if err = errors.Join(err, out.Close()); err != nil {
		return outputError(err)
	}
	return verdict
}

// target reads what the checkpoint is to be judged for.
func (o *inspectOptions) target() error {
	if o.gpu != "" {
		g, err := hardware.Parse(o.gpu)
		if err != nil {
			return usageError("", "--gpu: %w", err)
		}
		o.question.GPU = &g
	}
	name, version, _ := strings.Cut(o.engine, "@")
	if name == "" {
		if version != "" {
			return usageError("shakedown inspect --help", "--engine %q names no engine", o.engine)
		}
		return nil
	}
	if !engineNamed(name) {
		var names []string
		for _, e := range all.List {
			names = append(names, e.Name)
		}
		return usageError("", "--engine %q is not known: the engines are %s", name, strings.Join(names, ", "))
	}
	if version != "" {
		if _, err := flags.ParseVersion(version); err != nil {
			return usageError("", "--engine: %w", err)
		}
	}
	o.question.Engine, o.question.Version = name, version
	return o.degrees()
}

// engineNamed says whether shakedown knows an engine of that name, by its log and
// its checkpoints if not by its decisions.
func engineNamed(name string) bool {
	return slices.ContainsFunc(all.List, func(e *engine.Engine) bool { return e.Name == name })
}

// degrees takes the parallel layout from the options of the launch, where no
// flag of inspect names it.
func (o *inspectOptions) degrees() error {
	table, _ := flags.Lookup(o.question.Engine, o.question.Version)
	if table == nil {
		return nil
	}
	parsed, _ := table.Parse(o.question.Argv)
	for _, arg := range parsed.Args {
		into := map[string]*int{
			"tp_size": &o.question.TP, "tensor_parallel_size": &o.question.TP,
			"pp_size": &o.question.PP, "pipeline_parallel_size": &o.question.PP,
			"ep_size": &o.question.EP,
		}[arg.Setting()]
		n, err := strconv.Atoi(arg.Value())
		switch {
		case into == nil || err != nil || n < 1 || n > maxDegree:
		case *into != 0 && *into != n:
			return usageError("shakedown inspect --help", "the launch says %s %d, and --tp, --pp or --ep another degree: name it once", arg.Name, n)
		default:
			*into = n
		}
	}
	return nil
}

func sendInspection(h finding.Handler, r *inspect.Result, code int) error {
	messages := []finding.Message{newConfigMsg(), &r.Checkpoint}
	for i := range r.Tensors {
		messages = append(messages, &r.Tensors[i])
	}
	for i := range r.Findings {
		messages = append(messages, &r.Findings[i])
	}
	if r.Memory != nil {
		messages = append(messages, r.Memory)
	}
	messages = append(messages, &finding.EndMsg{Findings: len(r.Findings), ExitCode: code})
	for _, m := range messages {
		if err := h.Handle(m); err != nil {
			return err
		}
	}
	return nil
}

// progressEvery is how often the progress of a scan is drawn.
const progressEvery = 100 * time.Millisecond

// progress draws a bar while values are read, behind what is being done.
func progress(status *term.Status, what string) func(done, total int64) {
	start := time.Now()
	last := start
	return func(done, total int64) {
		now := time.Now()
		if now.Sub(last) < progressEvery && done < total {
			return
		}
		last = now
		rate := float64(done) / now.Sub(start).Seconds()
		text := fmt.Sprintf("%s %s %.1f of %.1f GB, %.2f GB/s", what, bar(done, total), float64(done)/1e9, float64(total)/1e9, rate/1e9)
		if left := float64(total-done) / rate; rate > 0 && left >= 1 {
			text += fmt.Sprintf(", %s left", time.Duration(left*float64(time.Second)).Round(time.Second))
		}
		status.Set(text)
	}
}

// bar draws the share that is done.
func bar(done, total int64) string {
	const width = 20
	n := width
	if total > 0 {
		n = int(width * done / total)
	}
	return "[" + strings.Repeat("=", n) + strings.Repeat(" ", width-n) + "]"
}
