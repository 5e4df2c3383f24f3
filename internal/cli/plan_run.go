package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/hardware"
	"shakedown/internal/logstream"
	"shakedown/internal/plan/all"
	"shakedown/internal/planner"
	"shakedown/internal/redact"
	"shakedown/internal/report"
)

// runPlan plans the launches of a command or file, or the cases of a batch.
func runPlan(ctx context.Context, o *planOptions) error {
	if o.batch != "" {
		return runPlanBatch(o)
	}
	in, err := o.input()
	if err != nil {
		return err
	}
	switch {
	case len(o.diff) > 0:
		return runPlanDiff(ctx, o, in)
	case o.fix:
		return runPlanFix(ctx, o, in)
	}
	plans, err := planner.Make(ctx, in)
	if err != nil {
		return planned(err)
	}
	if o.why != "" {
		if plans, err = planner.Why(plans, o.why); err != nil {
			return planned(err)
		}
	}
	verdict := planVerdict(plans)
	out, err := o.outputs()
	if err != nil {
		return err
	}
	n, err := planner.Emit(plans, version, out)
	if err == nil {
		err = out.Handle(&finding.EndMsg{Launches: len(plans), Findings: n, ExitCode: exitCode(verdict)})
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return outputError(err)
	}
	return verdict
}

// planVerdict is a problem when any of the launches has one: those of one file
// are started together.
func planVerdict(plans []*planner.Plan) error {
	for _, p := range plans {
		if p.Problem() {
			return errProblem
		}
	}
	return nil
}

// input reads what the options name.
func (o *planOptions) input() (planner.Options, error) {
	in := planner.Options{
		Engine: o.engine, GPU: o.gpu, Model: o.model, Machine: o.machine(o.world), ToolVersion: version, With: map[string]string{},
	}
	for _, pair := range o.with {
		name, v, _ := strings.Cut(pair, "=")
		in.With[name] = v
	}
	for _, pair := range o.maps {
		from, to, _ := strings.Cut(pair, "=")
		in.Map = append(in.Map, planner.Mapping{From: from, To: to})
	}
	if o.rules != "" {
		in.Rules = []fs.FS{os.DirFS(o.rules)}
	}
	if o.flagsFrom != "" {
		f, err := os.Open(o.flagsFrom)
		if err != nil {
			return in, err
		}
		defer f.Close()
		if in.Flags, err = flags.FromHelp(f); err != nil {
			return in, inputError(fmt.Errorf("%s: %w", o.flagsFrom, err), "ENGINE --help > flags.txt; shakedown plan --flags-from flags.txt -- COMMAND")
		}
	}
	var err error
	in.Commands, err = o.commands()
	return in, err
}

// commands reads the launches: behind --, or in a file.
func (o *planOptions) commands() ([]command.Command, error) {
	name := o.cmdFile
	if name == "" && len(o.command) == 1 {
		if info, err := os.Stat(o.command[0]); err == nil && info.Mode().IsRegular() {
			name = o.command[0]
		}
	}
	if name == "" {
		return fromWords(o.command)
	}
	return readCommands(o.world, name)
}

// fromWords reads a launch that was typed behind --. It is read as a shell line
// of quoted words, so that docker run and variables in front are understood.
func fromWords(words []string) ([]command.Command, error) {
	quoted := make([]string, len(words))
	front := true
	for i, w := range words {
		name, value, ok := strings.Cut(w, "=")
		front = front && ok && !strings.ContainsAny(name, "-/ ")
		if front {
			quoted[i] = name + "=" + command.Quote(value)
		} else {
			quoted[i] = command.Quote(w)
		}
	}
	found, err := command.Parse("", []byte(strings.Join(quoted, " ")))
	if errors.Is(err, command.ErrNoLaunch) {
		return nil, usageError("shakedown plan --help", "%q starts no engine that shakedown knows: want a form like \"vllm serve MODEL ...\" or \"python -m sglang.launch_server ...\"", strings.Join(words, " "))
	}
	for i := range found {
		found[i].File, found[i].Line, found[i].LastLine = "", 0, 0
	}
	return found, err
}

func readCommands(w *World, name string) ([]command.Command, error) {
	var in io.Reader = w.Stdin
	if name != logstream.Stdin {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, command.MaxFile+1))
	if err != nil {
		return nil, err
	}
	found, err := command.Parse(name, data)
	if err != nil {
		return nil, inputError(err, "shakedown plan --help")
	}
	return found, nil
}

// planOutputs are the outputs of a plan.
type planOutputs []finding.Handler

func (p planOutputs) Handle(m finding.Message) error {
	for _, h := range p {
		if err := h.Handle(m); err != nil {
			return err
		}
	}
	return nil
}

func (p planOutputs) Close() error {
	var errs []error
	for _, h := range p {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

// outputs opens what the options ask for.
func (o *planOptions) outputs() (finding.Handler, error) {
	w := o.world.Stdout
	opt := o.reportOptions()
	document := opt
	document.Redact = redact.New()
	var out planOutputs
	switch {
	case o.json && o.redact:
		out = append(out, report.Redacted(finding.NewEncoder(w), redact.New()))
	case o.json:
		out = append(out, finding.NewEncoder(w))
	case o.markdown:
		out = append(out, report.NewMarkdown(w, document))
	case o.html == toStdout:
		out = append(out, report.NewHTML(w, document))
	default:
		out = append(out, report.NewText(w, opt))
	}
	if o.html != "" && o.html != toStdout {
		f, err := os.Create(o.html)
		if err != nil {
			return nil, outputError(err)
		}
		out = append(out, &fileSink{Handler: report.NewHTML(f, document), f: f})
	}
	return out, nil
}

func (o *planOptions) reportOptions() report.Options {
	out := o.output(o.world)
	opt := report.Options{Width: out.Width, Style: out.Style, Full: o.full || o.why != ""} // the reason is what --why asks for
	if o.redact {
		opt.Redact = redact.New()
	}
	return opt
}

// planned adds to an error of the use case what the user can do about it.
func planned(err error) error {
	const help = "shakedown plan --help"
	var (
		usage   *planner.UsageError
		model   *planner.ModelError
		unknown *hardware.UnknownError
		engine  *all.UnknownEngineError
	)
	switch {
	case errors.As(err, &engine) && engineNamed(engine.Name):
		return usageError("shakedown inspect DIR --engine "+engine.Name, "%w", err)
	case errors.As(err, &usage), errors.As(err, &engine):
		return usageError(help, "%w", err)
	case errors.As(err, &unknown):
		return usageError(help, "--gpu: %w", err)
	case errors.As(err, &model) && errors.Is(err, planner.ErrNoModel) && path.IsAbs(model.Name):
		// A path of a container or of another machine.
		return inputError(err, "shakedown plan --map "+path.Dir(model.Name)+"=DIR ...")
	case errors.As(err, &model):
		return inputError(err, "shakedown plan --model DIR -- COMMAND")
	case errors.Is(err, planner.ErrNoGPU):
		return inputError(err, `shakedown plan --gpu "8x H200" -- COMMAND`)
	}
	return err
}

// runPlanBatch answers the cases of a file.
func runPlanBatch(o *planOptions) error {
	var in io.Reader = o.world.Stdin
	if o.batch != logstream.Stdin {
		f, err := os.Open(o.batch)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	unreadable, err := planner.Batch(in, o.world.Stdout)
	if err != nil {
		return fmt.Errorf("%s: %w", o.batch, err)
	}
	if unreadable > 0 {
		return inputError(fmt.Errorf("%s: %d cases cannot be planned; their answers say why (stage \"input\")", o.batch, unreadable), "")
	}
	return nil
}
