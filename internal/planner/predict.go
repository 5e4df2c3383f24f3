package planner

import (
	"maps"
	"strconv"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/fact"
	"shakedown/internal/flags"
	"shakedown/internal/hardware"
	"shakedown/internal/launch"
	"shakedown/internal/ledger"
	"shakedown/internal/plan"
	"shakedown/internal/plan/all"
)

// Predict says what the engine's own rules give for a launch that a log tells
// of: the effective value of each setting, by name. It returns nil unless the
// log shows everything that the rules decide with: a release whose decisions
// are known, the whole command, GPUs with a profile, and a model with a
// built-in profile. It reads no files.
func Predict(l *launch.Launch, cmd *command.Command) map[string]string {
	if l.Engine == nil || cmd == nil || l.Version == "" || l.VersionNote != "" {
		return nil
	}
	engine, err := all.Find(l.Engine.Name)
	if err != nil || cmd.Engine != l.Engine.Name || nearest(engine, l.Version) != "" {
		return nil
	}
	gpu, ok := gpuOf(l)
	if !ok || gpu.AMD() && engine.Name == "vllm" {
		return nil
	}
	g := &ground{engine: engine, lines: l.Engine, version: l.Version, gpu: gpu, deps: maps.Clone(engine.Pins(l.Version))}
	if v := l.Facts.First(fact.Transformers); v != "" {
		g.deps["transformers"] = v
	}
	g.table, g.match = flags.Lookup(engine.Name, l.Version)
	q := &question{ground: g, cmd: *cmd}
	rest, file := cutConfig(cmd.Options())
	options, name := q.cutModel(rest)
	model, ok := profile(name)
	if !ok || file != "" || strings.Contains(strings.Join(options, " "), "$") {
		return nil
	}
	model.Path = name
	q.options, q.model = options, found{model: model}
	q.c = plan.Case{Engine: engine.Name, Version: l.Version, Deps: g.deps, GPU: gpu, Model: model, Argv: options, Env: map[string]string{}}
	for _, v := range cmd.Env {
		if v.Inherited {
			return nil // a value that decides may come from elsewhere
		}
		q.c.Env[v.Name] = v.Value.Text
	}
	a := q.resolve()
	if len(a.problems) > 0 || a.res.Refusal != nil {
		return nil
	}
	out := map[string]string{}
	for _, e := range a.entries {
		if _, effective := a.res.Effective[e.Name]; effective && foretold(e) {
			out[e.Name] = e.Effective
		}
	}
	return out
}

// foretold leaves out what says nothing about a decision: summaries of long
// lists, and what the user set and nobody changed.
func foretold(e *ledger.Entry) bool {
	return !strings.Contains(e.Effective, " values, ") && (e.Choice != "" || e.By == "default")
}

// gpuOf is the GPUs that a log names, or its reader.
func gpuOf(l *launch.Launch) (hardware.GPU, bool) {
	p, ok := hardware.Find(l.Facts.Value(fact.GPUName))
	if !ok {
		return hardware.GPU{}, false
	}
	count, err := strconv.Atoi(l.Facts.Value(fact.GPUCount))
	if err != nil || count < 1 {
		count = 1
		for _, k := range []fact.Key{fact.TP, fact.PP} {
			if n, err := strconv.Atoi(l.Facts.Value(k)); err == nil && n > 0 {
				count *= n
			}
		}
	}
	return p.GPU(count), true
}
