package planner

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"shakedown/internal/clean"
	"shakedown/internal/command"
	"shakedown/internal/fact"
	"shakedown/internal/finding"
	"shakedown/internal/hardware"
	"shakedown/internal/hfconfig"
	"shakedown/internal/knowledge"
	"shakedown/internal/knowledge/rules"
	"shakedown/internal/launch"
	"shakedown/internal/plan/all"
	"shakedown/internal/rewrite"
)

// Plan is all that is foreseen of one launch.
type Plan struct {
	Launch   *finding.LaunchMsg
	Refused  []*finding.RefusedMsg
	Ignored  []*finding.IgnoredMsg
	Findings []*finding.FindingMsg
	Memory   *finding.MemoryMsg // nil when it cannot be reckoned
	Settings []*finding.SettingMsg

	answer *answer
}

// Problem says whether something is foreseen that the user will want to change
// before the launch.
func (pl *Plan) Problem() bool {
	if len(pl.Refused)+len(pl.Ignored) > 0 || pl.Memory != nil && !pl.Memory.Fits {
		return true
	}
	for _, f := range pl.Findings {
		if f.Severity != finding.Info && f.Confidence != finding.Possible {
			return true
		}
	}
	return false
}

// Make plans every command of the options, in their order. It opens the model
// files that they name and nothing else.
func Make(ctx context.Context, opt Options) ([]*Plan, error) {
	base, err := knowledge.Load(append([]fs.FS{rules.FS}, opt.Rules...)...)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	p := &planner{opt: opt, known: map[string]found{}, base: base}
	commands, skipped := plannable(opt.Commands)
	var out []*Plan
	for i, cmd := range commands {
		p.pulls = 0
		q, err := p.ask(ctx, cmd)
		if err != nil {
			return nil, err
		}
		pl := p.plan(q)
		pl.number(i + 1)
		if i == 0 {
			pl.Launch.Notes = append(pl.Launch.Notes, skipped...)
		}
		out = append(out, pl)
	}
	return out, nil
}

// plannable leaves out launches of programs without a resolver, such as a
// router, beside launches with one.
func plannable(commands []command.Command) (kept []command.Command, skipped []string) {
	for _, c := range commands {
		if _, err := all.Find(c.Engine); err != nil {
			skipped = append(skipped, fmt.Sprintf("%s:%d starts %s, which has no plan", c.File, c.Line, c.Engine))
			continue
		}
		kept = append(kept, c)
	}
	if len(kept) == 0 {
		return commands, nil // the error says so
	}
	return kept, skipped
}

// plan foresees one launch.
func (p *planner) plan(q *question) *Plan {
	a := q.resolve()
	a.join()
	pl := &Plan{answer: a}
	pl.Refused = p.refused(a)
	pl.Ignored = p.ignored(a)
	pl.Memory = p.memory(a)
	pl.Findings = p.trouble(a, pl.Memory)
	pl.Settings = a.settings()
	pl.Launch = p.launch(a, pl)
	return pl
}

func (pl *Plan) number(n int) {
	pl.Launch.N = n
	for _, m := range pl.Refused {
		m.Launch = n
	}
	for _, m := range pl.Ignored {
		m.Launch = n
	}
	for _, m := range pl.Findings {
		m.Launch = n
	}
	for _, m := range pl.Settings {
		m.Launch = n
	}
	if pl.Memory != nil {
		pl.Memory.Launch = n
	}
}

// Emit hands the messages of plans to h, the end message excepted: it is the
// caller's, who knows the exit code. h is not closed.
func Emit(plans []*Plan, toolVersion string, h finding.Handler) (findings int, err error) {
	out := &outlet{h: h, secrets: clean.NewSecrets()}
	out.handle(&finding.ConfigMsg{SchemaVersion: finding.SchemaVersion, ToolVersion: toolVersion})
	for _, pl := range plans {
		out.handle(pl.Launch)
		for _, m := range pl.Refused {
			out.handle(m)
		}
		for _, m := range pl.Ignored {
			out.handle(m)
		}
		for _, m := range pl.Findings {
			findings++
			out.handle(m)
		}
		if pl.Memory != nil {
			out.handle(pl.Memory)
		}
		for _, m := range pl.Settings {
			out.handle(m)
		}
	}
	return findings, out.err
}

// Send hands messages to h, cleaned of secrets.
func Send(messages []finding.Message, h finding.Handler) error {
	out := &outlet{h: h, secrets: clean.NewSecrets()}
	for _, m := range messages {
		out.handle(m)
	}
	return out.err
}

// settings are the rows of the ledger to come.
func (a *answer) settings() []*finding.SettingMsg {
	out := a.book.Messages(true)
	if a.q.lines == nil {
		return out
	}
	hidden := map[string]bool{}
	for _, name := range a.q.lines.Hidden {
		hidden[name] = true
	}
	kept := out[:0]
	for _, m := range out {
		if !hidden[m.Name] || m.Choice != "" {
			kept = append(kept, m)
		}
	}
	return kept
}

// launch describes the launch that is planned.
func (p *planner) launch(a *answer, pl *Plan) *finding.LaunchMsg {
	q := a.q
	safe := q.cmd.Redacted()
	m := &finding.LaunchMsg{
		Engine: q.engine.Name, EngineVersion: q.version, VersionExact: q.weak == "", VersionNote: q.weak, Outcome: finding.Planned,
		Model: q.model.model.Path, Hardware: hardwareWords(q.gpu), Parallel: parallelWords(a), Command: safe.Argv(), Verdict: pl.verdict(),
	}
	if q.cmd.File != "" {
		m.Files = []string{q.cmd.File}
		m.CommandFrom = &finding.Evidence{Kind: "command", File: q.cmd.File, Line: q.cmd.Line}
	}
	for _, v := range safe.Env {
		m.Env = append(m.Env, finding.Pair{Name: v.Name, Value: v.Value.Text})
	}
	m.Notes = append(m.Notes, q.notes...)
	for _, d := range a.dropped {
		m.Notes = append(m.Notes, d+" is left out of this plan: what it would do is not known")
	}
	l := a.launchFacts()
	for _, f := range l.Facts.All() {
		m.Facts = append(m.Facts, finding.FactEntry{Key: string(f.Key), Value: f.Value, File: f.Pos.File})
	}
	return m
}

// verdict is the plan in one sentence.
func (pl *Plan) verdict() string {
	if len(pl.Refused) > 0 {
		r := pl.Refused[0]
		return "refused " + stageWords[r.Stage]
	}
	if pl.Memory != nil && !pl.Memory.Fits {
		return pl.Memory.Text
	}
	var parts []string
	if n := len(pl.Ignored); n > 0 {
		parts = append(parts, count(n, "override ignored", "overrides ignored"))
	}
	trouble := 0
	for _, f := range pl.Findings {
		if f.Severity != finding.Info {
			trouble++
		}
	}
	if trouble > 0 {
		parts = append(parts, count(trouble, "known trouble", "known troubles"))
	}
	if n := len(pl.Findings) - trouble; n > 0 {
		parts = append(parts, count(n, "remark", "remarks"))
	}
	switch n := len(parts); n {
	case 0:
		return "starts"
	case 1, 2:
		return "starts, with " + strings.Join(parts, " and ")
	default:
		return "starts, with " + strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func hardwareWords(g hardware.GPU) string {
	name := g.Name
	if g.AMD() {
		name += " (" + g.SM + ")"
	} else {
		name += " (SM " + g.SM + ")"
	}
	if g.Count > 1 {
		return strconv.Itoa(g.Count) + "x " + name
	}
	return name
}

// parallelSettings are the sizes of a launch by the engines' names.
var parallelSettings = []struct{ word, sglang, vllm string }{
	{"tp", "tp_size", "parallel.tensor_parallel_size"}, {"pp", "pp_size", "parallel.pipeline_parallel_size"},
	{"dp", "dp_size", "parallel.data_parallel_size"}, {"ep", "ep_size", ""}, {"nodes", "nnodes", "parallel.nnodes"},
}

func parallelWords(a *answer) string {
	var parts []string
	for _, s := range parallelSettings {
		for _, name := range []string{s.sglang, s.vllm} {
			if v, ok := a.res.Effective[name]; ok && repr(v) != "1" && v != nil {
				parts = append(parts, s.word+" "+repr(v))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// launchFacts are what conditions of rules can ask about before the launch.
func (a *answer) launchFacts() *launch.Launch {
	q := a.q
	l := &launch.Launch{Engine: q.lines, Version: q.version}
	const config = "config.json"
	add := func(k fact.Key, v, file string) {
		if v != "" {
			l.Facts.Add(fact.Fact{Key: k, Value: v, Pos: fact.Pos{File: file}})
		}
	}
	m := q.model.model
	add(fact.Model, m.Path, "")
	add(fact.Arch, m.Architecture(), config)
	for _, o := range []hfconfig.Object{m.Config, m.Config.Obj("text_config")} {
		add(fact.CkptDType, o.Text("dtype")+o.Text("torch_dtype"), config)
	}
	add(fact.GPUName, q.gpu.Name, "")
	add(fact.GPUSM, q.gpu.SM, "")
	add(fact.GPUCount, strconv.Itoa(q.gpu.Count), "")
	add(fact.GPUMem, strconv.FormatFloat(q.gpu.MemoryGiB, 'f', -1, 64), "")
	add(fact.Transformers, q.deps["transformers"], "")
	for _, s := range parallelSettings {
		for _, name := range []string{s.sglang, s.vllm} {
			if v, ok := a.res.Effective[name]; ok && v != nil {
				add(map[string]fact.Key{"tp": fact.TP, "pp": fact.PP, "dp": fact.DP, "ep": fact.EP, "nodes": fact.Nodes}[s.word], repr(v), "")
			}
		}
	}
	section, file := m.Config.Obj("quantization_config"), config
	if section != nil {
		add(fact.CkptMethod, section.Text("quant_method"), file)
		add(fact.CkptAlgo, section.Text("quant_algo"), file)
		scale := section.Text("scale_fmt")
		if scale == "" {
			scale = "none"
		}
		add(fact.CkptScaleFmt, scale, file)
	}
	if hf := m.HFQuant.Obj("quantization"); hf != nil && section.Text("quant_algo") == "" {
		add(fact.CkptAlgo, hf.Text("quant_algo"), "hf_quant_config.json")
	}
	return l
}

// rewriter puts remedies into the command.
func (a *answer) rewriter() *rewrite.Rewriter {
	w := &rewrite.Rewriter{Command: &a.q.cmd, Book: a.book, Engine: a.q.engine.Name, Version: a.q.version}
	if a.q.lines != nil {
		w.Names = a.q.lines.Names
	}
	return w
}

// complete writes the whole command of remedies.
func (p *planner) complete(a *answer, remedies []finding.Remedy) {
	w := a.rewriter()
	for i := range remedies {
		if len(remedies[i].Changes) > 0 {
			w.Complete(&remedies[i])
		}
	}
}

// outlet hands messages on, cleaned of secrets, until the first error.
type outlet struct {
	h       finding.Handler
	secrets *clean.Secrets
	err     error
}

func (o *outlet) handle(m finding.Message) {
	o.secrets.Message(m)
	if o.err == nil {
		o.err = o.h.Handle(m)
	}
}
