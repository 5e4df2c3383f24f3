package planner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/engine"
	engines "shakedown/internal/engine/all"
	"shakedown/internal/flags"
	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/knowledge"
	"shakedown/internal/plan"
	"shakedown/internal/plan/all"
)

// planner plans the launches of one run.
type planner struct {
	opt   Options
	base  *knowledge.Base
	known map[string]found // models by the name in the command
	pulls int              // counterfactuals of the present launch
}

// ground is what a plan of one command stands on and that no lever changes.
type ground struct {
	engine   *all.Engine
	lines    *engine.Engine
	version  string // as asked for
	table    *flags.Table
	match    flags.Match
	gpu      hardware.GPU
	deps     map[string]string
	notes    []string
	weak     string // why the release is not a known one; lowers confidence
	fromHelp bool   // table is the release's own, beside the one that the resolver knows
}

// question is one launch put to the resolver.
type question struct {
	*ground
	cmd     command.Command
	options []string // the engine's arguments without the model, those of its config file first
	file    string   // the engine's own config file, as named
	unknown []string // arguments left out because their values are not known here
	model   found
	c       plan.Case
}

// UsageError is a contradiction in what the user asked.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// ask turns a command into a question.
func (p *planner) ask(ctx context.Context, cmd command.Command) (*question, error) {
	g, err := p.ground(ctx, cmd)
	if err != nil {
		return nil, err
	}
	q, err := p.question(g, cmd)
	if err != nil {
		return nil, err
	}
	g.notes = append(g.notes, nonEmpty(q.model.note)...)
	for _, words := range q.unknown {
		g.notes = append(g.notes, words+" is left out of this plan: its value is not known here")
	}
	return q, nil
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(t string) bool { return t == "" })
}

// ground settles engine, release, GPUs and libraries.
func (p *planner) ground(ctx context.Context, cmd command.Command) (*ground, error) {
	name, version, _ := strings.Cut(p.opt.Engine, "@")
	name = cmp.Or(name, cmd.Engine)
	if name != cmd.Engine {
		return nil, usage("--engine %s: the command starts %s", p.opt.Engine, cmd.Engine)
	}
	e, err := all.Find(name)
	if err != nil {
		return nil, err
	}
	g := &ground{engine: e}
	if i := slices.IndexFunc(engines.List, func(l *engine.Engine) bool { return l.Name == name }); i >= 0 {
		g.lines = engines.List[i]
	}
	installed, err := p.release(g, version, cmd)
	if err != nil {
		return nil, err
	}
	g.table, g.match = flags.Lookup(name, g.version)
	if p.opt.Flags != nil {
		g.table, g.match, g.fromHelp = p.opt.Flags, flags.Match{Asked: g.version, Used: g.version}, true
		g.notes = append(g.notes, "flags are those of the --help text given; what they do is planned as in "+name+" "+knownRelease(e, g.version))
	}
	p.libraries(g, installed)
	if g.gpu, err = p.gpu(ctx, cmd); err != nil {
		return nil, err
	}
	if g.gpu.AMD() && name == "vllm" {
		return nil, usage("no plan for vllm on %s: what it decides on AMD GPUs is not known here", g.gpu)
	}
	return g, nil
}

// release settles the engine's release; installed says that it is the one of
// this machine.
func (p *planner) release(g *ground, asked string, cmd command.Command) (installed bool, err error) {
	_, tag, _ := strings.Cut(path.Base(cmd.Image()), ":")
	onMachine, where, found := p.opt.Machine.installed(g.engine.Name)
	tagged, tagErr := flags.ParseVersion(tag)
	known := g.engine.Versions()
	switch {
	case asked != "":
		if _, err := flags.ParseVersion(asked); err != nil {
			return false, usage("--engine %s: %v; known are %s", p.opt.Engine, err, strings.Join(known, ", "))
		}
		g.version = asked
	case tagErr == nil:
		g.version = strings.TrimPrefix(tag, "v")
		if !tagged.Unreleased() {
			g.version = tagged.Base().String() // "-cu130" is a variant of the image
		}
		g.notes = append(g.notes, fmt.Sprintf("%s %s: from the image %s", g.engine.Name, g.version, cmd.Image()))
	case cmd.Image() == "" && found:
		g.version = onMachine
		installed = true
		g.notes = append(g.notes, fmt.Sprintf("%s %s: installed in %s", g.engine.Name, g.version, where))
	default:
		g.version = known[len(known)-1]
		g.weak = fmt.Sprintf("the release is not known: planned as %s %s, the newest known (--engine %s@VERSION)", g.engine.Name, g.version, g.engine.Name)
	}
	if g.weak == "" {
		g.weak = nearest(g.engine, g.version)
	}
	return installed, nil
}

// nearest says which release stands for one that is not known itself; empty for
// a known one.
func nearest(e *all.Engine, version string) string {
	v, err := flags.ParseVersion(version)
	if err != nil {
		return ""
	}
	known := e.Versions()
	oldest, _ := flags.ParseVersion(known[0])
	newest, _ := flags.ParseVersion(known[len(known)-1])
	used := knownRelease(e, version)
	base, _, _ := strings.Cut(used, ".post")
	switch uv, _ := flags.ParseVersion(used); {
	case v.Base().String() == base && !v.Unreleased() && base != used:
		return fmt.Sprintf("%s %s is planned as %s, which mends it", e.Name, version, used)
	case v.Base().Compare(uv) == 0 && !v.Unreleased() && version == used:
		return ""
	case v.Base().Compare(uv) == 0:
		return fmt.Sprintf("%s %s is a build around %s, and planned as that", e.Name, version, used)
	case v.Base().Compare(newest) > 0:
		return fmt.Sprintf("%s %s is newer than the newest known release: planned as %s", e.Name, version, used)
	case v.Base().Compare(oldest) < 0:
		return fmt.Sprintf("%s %s is older than the oldest known release: planned as %s", e.Name, version, used)
	}
	return fmt.Sprintf("%s %s is planned as %s, the nearest older release whose decisions are known", e.Name, version, used)
}

// knownRelease is the release whose steps the resolver uses for a version: the
// newest known one that is not newer; a release stands for its own first
// version, 0.5.8.post1 for 0.5.8.
func knownRelease(e *all.Engine, version string) string {
	known := e.Versions()
	v, err := flags.ParseVersion(version)
	if err != nil {
		return known[len(known)-1]
	}
	used := known[0]
	for _, k := range known {
		kv, _ := flags.ParseVersion(k)
		base, _, _ := strings.Cut(k, ".post")
		if v.Base().Compare(kv) >= 0 || v.Base().String() == base {
			used = k
		}
	}
	return used
}

// libraries settles the versions of libraries that decide with.
func (p *planner) libraries(g *ground, installed bool) {
	g.deps = map[string]string{}
	release := g.engine.Name + " " + knownRelease(g.engine, g.version)
	pins := g.engine.Pins(g.version)
	var pinned []string
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		given, ok := p.opt.With[name]
		v, where, found := p.opt.Machine.installed(name)
		switch {
		case ok && given != pins[name]:
			g.notes = append(g.notes, fmt.Sprintf("%s %s as asked for: %s pins %s", name, given, release, pins[name]))
		case ok:
		case installed && found:
			g.deps[name] = v
			g.notes = append(g.notes, fmt.Sprintf("%s %s: installed in %s", name, v, where))
		default:
			g.deps[name] = pins[name]
			pinned = append(pinned, name+" "+pins[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.opt.With)) {
		g.deps[name] = p.opt.With[name]
		if _, decides := pins[name]; !decides {
			g.notes = append(g.notes, name+" "+p.opt.With[name]+": decides nothing that is planned here")
		}
	}
	if len(pinned) > 0 {
		g.notes = append(g.notes, fmt.Sprintf("libraries as %s pins them: %s (--with NAME=VERSION)", release, strings.Join(pinned, ", ")))
	}
}

// ErrNoGPU says that the GPUs are not known.
var ErrNoGPU = errors.New("no GPU is named and none was found on this machine")

// gpu settles the GPUs.
func (p *planner) gpu(ctx context.Context, cmd command.Command) (hardware.GPU, error) {
	if p.opt.GPU != "" {
		g, err := hardware.Parse(p.opt.GPU)
		if unknown := (*hardware.UnknownError)(nil); err != nil && !errors.As(err, &unknown) {
			return g, usage("--gpu: %v", err)
		}
		return g, err
	}
	if p.opt.Machine.SMI == nil {
		return hardware.GPU{}, ErrNoGPU
	}
	out, err := p.opt.Machine.SMI(ctx)
	if err != nil {
		return hardware.GPU{}, fmt.Errorf("%w (nvidia-smi: %w)", ErrNoGPU, err)
	}
	g, err := hardware.ReadSMI(bytes.NewReader(out))
	switch {
	case errors.Is(err, hardware.ErrNoGPU):
		return g, ErrNoGPU
	case err != nil:
		return g, usage("%v", err)
	}
	if visible, ok := cmd.Getenv("CUDA_VISIBLE_DEVICES"); ok && visible != "" {
		g.Count = min(g.Count, len(strings.Split(visible, ",")))
	}
	return g, nil
}

// question reads what the command itself says.
func (p *planner) question(g *ground, cmd command.Command) (*question, error) {
	q := &question{ground: g, cmd: cmd}
	options, file, err := p.withConfigFile(cmd.Options(), g.table)
	if err != nil {
		return nil, err
	}
	q.file = file
	name := ""
	q.options, name = q.cutModel(q.cutUnknown(options))
	if p.opt.Model != "" {
		name = p.opt.Model
	}
	if name == "" {
		return nil, usage("the command names no model: give one with --model DIR")
	}
	if q.model, err = p.readModel(name); err != nil {
		return nil, err
	}
	q.c = plan.Case{
		Engine: g.engine.Name, Version: g.version, Deps: g.deps, GPU: g.gpu, Model: q.model.model, Argv: q.options, Env: map[string]string{},
	}
	for _, v := range cmd.Env {
		if !v.Inherited {
			q.c.Env[v.Name] = v.Value.Text
		}
	}
	q.c.Drafts = drafts(g.table, q.options, func(name string) (*hfconfig.Model, error) {
		f, err := p.readModel(name)
		return f.model, err
	})
	return q, nil
}

// modelSettings are the settings that hold the model.
var modelSettings = []string{"model_path", "model", "model_tag"}

// cutModel takes the model out of the options.
func (q *question) cutModel(options []string) (rest []string, model string) {
	parsed, _ := q.table.Parse(options)
	drop := make([]bool, len(options))
	for _, a := range parsed.Args {
		if !slices.Contains(modelSettings, a.Setting()) {
			continue
		}
		model = a.Value()
		for i := a.Index; i < a.Index+a.Len && i < len(drop); i++ {
			drop[i] = true
		}
	}
	for i, o := range options {
		if !drop[i] {
			rest = append(rest, o)
		}
	}
	return rest, model
}

// cutUnknown leaves out the flags whose values are references that nothing here
// resolves ("$SLURM_NODEID") and that must be numbers or one of a list. Other
// values are taken as they are written.
func (q *question) cutUnknown(options []string) []string {
	parsed, _ := q.table.Parse(options)
	drop := make([]bool, len(options))
	q.unknown = nil
	for _, a := range parsed.Args {
		if a.Flag == nil || !strings.Contains(strings.Join(a.Values, " "), "$") {
			continue
		}
		if number := a.Flag.Type == "int" || a.Flag.Type == "float"; !number && len(a.Flag.Choices) == 0 {
			continue
		}
		q.unknown = append(q.unknown, strings.Join(options[a.Index:a.Index+a.Len], " "))
		for i := range a.Len {
			drop[a.Index+i] = true
		}
	}
	var rest []string
	for i, o := range options {
		if !drop[i] {
			rest = append(rest, o)
		}
	}
	return rest
}
