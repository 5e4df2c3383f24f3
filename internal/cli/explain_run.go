package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"shakedown/internal/command"
	"shakedown/internal/explain"
	"shakedown/internal/flags"
	"shakedown/internal/logstream"
	"shakedown/internal/redact"
	"shakedown/internal/term"
)

// runExplain reads the sources and writes the report to every output.
func runExplain(ctx context.Context, o *explainOptions) error {
	in, err := o.input()
	if err != nil {
		return err
	}
	if o.follow {
		return runFollow(ctx, o, in)
	}
	in.Listed = o.listed()
	out, err := newSinks(o, sourceNames(in.Sources))
	if err != nil {
		return err
	}
	res, err := explain.Run(ctx, in, out)
	return finishExplain(out, res, err)
}

// sourceNames are the names to show, without the keys that they may hold.
func sourceNames(sources []logstream.Source) []string {
	secrets := redact.NewSecrets()
	names := make([]string, len(sources))
	for i, src := range sources {
		names[i] = secrets.Text(src.Name)
	}
	return names
}

// input opens nothing yet: sources are opened by the use case.
func (o *explainOptions) input() (explain.Options, error) {
	in := explain.Options{Engine: o.engine, GPU: o.gpu, ToolVersion: version}
	if o.rules != "" {
		in.Rules = []fs.FS{os.DirFS(o.rules)}
	}
	if err := o.readCommand(&in); err != nil {
		return in, err
	}
	if err := o.readFlags(&in); err != nil {
		return in, err
	}
	if o.demo {
		in.Sources = []logstream.Source{explain.Demo()}
		return in, nil
	}
	if len(o.files) == 0 && waitsForTyping(o.world) {
		return in, usageError("shakedown explain --demo", "no log given, and standard input is a terminal")
	}
	sources, err := logstream.Find(o.files, o.world.Stdin, logstream.Options{Follow: o.follow})
	in.Sources = sources
	return in, err
}

// readCommand reads the launch command that --cmd or --compose names.
func (o *explainOptions) readCommand(in *explain.Options) error {
	name := o.command + o.compose // at most one is set
	if name == "" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, command.MaxFile+1))
	if err != nil {
		return err
	}
	found, err := command.Parse(name, data)
	if err != nil {
		return inputError(err, "shakedown explain --help")
	}
	if len(found) != 1 {
		return inputError(fmt.Errorf("%s holds %d launch commands: leave only the one that was run", name, len(found)), "")
	}
	in.Command = &found[0]
	return nil
}

// readFlags reads the engine's own --help text that --flags-from names.
func (o *explainOptions) readFlags(in *explain.Options) error {
	if o.flagsFrom == "" {
		return nil
	}
	f, err := os.Open(o.flagsFrom)
	if err != nil {
		return err
	}
	defer f.Close()
	if in.Flags, err = flags.FromHelp(f); err != nil {
		return inputError(fmt.Errorf("%s: %w", o.flagsFrom, err), "ENGINE --help > flags.txt; shakedown explain --flags-from flags.txt LOG")
	}
	return nil
}

// waitsForTyping says whether a person would have to type the log.
func waitsForTyping(w *World) bool {
	f, ok := w.Stdin.(*os.File)
	return ok && term.Detect(f, w.Env, term.Auto).TTY
}

// verdictError turns the verdict of the last launch into the result of the run.
func verdictError(v explain.Verdict) error {
	switch v {
	case explain.Healthy:
		return nil
	case explain.Problem:
		return errProblem
	}
	return errCantTell
}

// explained adds to an error of the use case what the user can do about it.
func explained(err error) error {
	var engine *explain.UnknownEngineError
	if errors.As(err, &engine) {
		return usageError("shakedown explain --help", "--engine: %w", err)
	}
	if errors.Is(err, explain.ErrNoEngine) {
		return inputError(err, "shakedown explain --engine NAME LOG")
	}
	return err
}
