package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/plan"
)

// stageWords say where in its start-up an engine refuses.
var stageWords = map[string]string{
	plan.StageParse:       "by its argument parser",
	plan.StageResolve:     "while it resolves its settings",
	plan.StageCheck:       "when it checks its settings",
	plan.StageModelConfig: "when it reads the model's configuration",
	plan.StageModelRunner: "by the model runner",
	plan.StageConfig:      "while it builds its configuration",
	plan.StageAttention:   "when it selects the attention backend",
	stageLoad:             "when it loads the model",
}

// stageLoad is behind those of the resolver: reading the weights.
const stageLoad = "load"

// refused lists what the engine will refuse.
func (p *planner) refused(a *answer) []*finding.RefusedMsg {
	out := p.parserRefuses(a)
	switch r := a.res.Refusal; {
	case r == nil:
	case r.Stage == plan.StageParse && len(out) > 0:
		out[0].Error = r.Message
		if a.later != nil {
			out = append(out, p.combination(a, a.later, "with that mended, "))
		}
	default:
		out = append(out, p.combination(a, r, ""))
	}
	for _, name := range a.loadErrors() {
		message, _ := a.res.Runtime[name].(string)
		m := &finding.RefusedMsg{
			Kind: "load", Stage: stageLoad, Error: message,
			Text: fmt.Sprintf("%s will fail %s", a.q.engine.Name, stageWords[stageLoad]),
		}
		m.Remedies = p.search(a.q, a.q.quantizationLevers(a), 1, (*answer).starts)
		out = append(out, m)
	}
	out = append(out, p.shards(a)...)
	out = append(out, a.deviceCount()...)
	for _, m := range out {
		p.complete(a, m.Remedies)
	}
	return out
}

// combination is a refusal behind the parser.
func (p *planner) combination(a *answer, r *plan.Refusal, lead string) *finding.RefusedMsg {
	m := &finding.RefusedMsg{
		Kind: "combination", Stage: r.Stage, Error: r.Message, Choice: r.Step,
		Text: fmt.Sprintf("%s%s refuses this launch %s", lead, a.q.engine.Name, stageWords[r.Stage]),
	}
	if m.Remedies = p.libraryRemedy(a, r); m.Remedies != nil {
		return m
	}
	levers := append(a.q.degreeLevers(a), a.q.levers(refusalLevers[a.q.engine.Name], a)...)
	accepted := func(n *answer) bool { return n.res.Refusal == nil }
	if m.Remedies = p.search(a.q, levers, 3, accepted); m.Remedies != nil {
		return m
	}
	if m.Remedies = p.releaseRemedy(a); m.Remedies != nil {
		return m
	}
	// Several things are refused: the first of them can be mended all the same.
	m.Remedies = p.search(a.q, levers, 1, func(n *answer) bool { return n.res.Refusal.Message != r.Message })
	for i := range m.Remedies {
		m.Remedies[i].Text = "The engine then refuses the launch for another reason."
	}
	return m
}

// releaseRemedy looks for a newer known release that takes the launch as it is.
func (p *planner) releaseRemedy(a *answer) []finding.Remedy {
	now, err := flags.ParseVersion(a.res.Version)
	if err != nil {
		return nil
	}
	for _, text := range a.q.engine.Versions() {
		v, err := flags.ParseVersion(text)
		if err != nil || v.Compare(now) <= 0 {
			continue
		}
		g := *a.q.ground
		g.version, g.deps, g.fromHelp = text, a.q.engine.Pins(text), false
		g.table, g.match = flags.Lookup(g.engine.Name, text)
		q, err := p.question(&g, a.q.cmd)
		if err != nil {
			continue
		}
		if q.resolve().starts() {
			return []finding.Remedy{{
				Title: g.engine.Name + " " + text,
				Text:  fmt.Sprintf("That release takes this launch as it is: shakedown plan --diff %s shows what else changes.", text),
			}}
		}
	}
	return nil
}

// refusalLevers are the settings whose other values are tried when the engine
// refuses a combination.
var refusalLevers = map[string][]string{
	"sglang": {"attention_backend", "kv_cache_dtype", "quantization", "moe_runner_backend", "dtype"},
	"vllm":   {"attention.backend", "cache.cache_dtype", "model.dtype", "kernel.moe_backend"},
}

// quantizationLevers try the quantisations that the release offers; one that
// the engine does not rename comes first.
func (q *question) quantizationLevers(a *answer) []lever {
	f := q.flagOf("quantization")
	if f == nil {
		f = q.flagOf("model.quantization")
	}
	if f == nil {
		return nil
	}
	algo := strings.ToLower(q.model.model.HFQuant.Obj("quantization").Text("quant_algo") + q.model.model.Config.Obj("quantization_config").Text("quant_algo"))
	var first, rest []lever
	for _, l := range values(f, "") {
		if strings.Contains(algo, "fp4") && strings.HasSuffix(*l[0].To, "_fp4") {
			first = append(first, l)
		} else {
			rest = append(rest, l)
		}
	}
	return append(first, rest...)
}

// libraryRemedy: another version of a library is what a release needs for a
// model that its own pin does not know.
func (p *planner) libraryRemedy(a *answer, r *plan.Refusal) []finding.Remedy {
	kind := a.q.model.model.Config.Text("model_type")
	if kind == "" || !strings.Contains(r.Message, kind) || !strings.Contains(strings.ToLower(r.Message), "transformers") {
		return nil
	}
	next := *a.q
	for _, v := range libraryVersions(a.q) {
		next.c.Deps = maps.Clone(a.q.c.Deps)
		next.c.Deps["transformers"] = v
		if res := next.engine.Resolve(next.c); res.Refusal == nil || res.Refusal.Message != r.Message {
			return []finding.Remedy{{
				Title: "transformers " + v + " or newer",
				Text:  fmt.Sprintf("transformers %s does not know the model type %s. pip install transformers==%s beside the engine, and plan with --with transformers=%s.", a.q.deps["transformers"], kind, v, v),
			}}
		}
	}
	return nil
}

// libraryVersions are the versions of transformers that known releases of the
// engines pin, newer than the present one, oldest first, and the first that knew
// the GLM-5 family.
func libraryVersions(q *question) []string {
	now, err := flags.ParseVersion(q.deps["transformers"])
	if err != nil {
		return nil
	}
	var out []flags.Version
	for _, text := range []string{"5.2.0", "5.3.0", "5.6.0", "5.12.1", "5.19.0"} {
		if v, err := flags.ParseVersion(text); err == nil && v.Compare(now) > 0 {
			out = append(out, v)
		}
	}
	texts := make([]string, len(out))
	for i, v := range out {
		texts[i] = v.String()
	}
	return texts
}

// parserRefuses lists all that the release's parser refuses, where the engine
// itself names only the first.
func (p *planner) parserRefuses(a *answer) []*finding.RefusedMsg {
	var out []*finding.RefusedMsg
	for _, pr := range a.problems {
		if pr.Kind == flags.DeprecatedFlag {
			continue
		}
		m := &finding.RefusedMsg{Kind: string(pr.Kind), Stage: plan.StageParse, Name: pr.Flag, Text: pr.Text}
		m.Remedies = a.parserRemedies(pr)
		out = append(out, m)
	}
	if len(out) < 2 {
		return out
	}
	all := finding.Remedy{Title: "all of that at once"}
	for _, m := range out {
		if len(m.Remedies) == 0 {
			return out
		}
		all.Changes = append(all.Changes, m.Remedies[0].Changes...)
	}
	for _, m := range out {
		m.Remedies = append([]finding.Remedy{all}, m.Remedies...)
	}
	return out
}

// parserRemedies are what to write instead.
func (a *answer) parserRemedies(pr flags.Problem) []finding.Remedy {
	parsed, _ := a.q.table.Parse(a.q.options)
	given := ""
	for _, arg := range parsed.Args {
		if arg.Index == pr.Index {
			given = strings.Join(arg.Values, " ")
		}
	}
	drop := finding.Change{Kind: "flag", Name: pr.Flag}
	switch {
	case pr.Kind == flags.StrayArgument || !strings.HasPrefix(pr.Flag, "-"):
		return nil
	case pr.Use != "":
		name, value, glued := strings.Cut(pr.Use, "=")
		if !glued {
			value = given
		}
		if a.q.table.Flag(name) == nil {
			break
		}
		return []finding.Remedy{{Title: "write " + pr.Use, Changes: []finding.Change{drop, {Kind: "flag", Name: name, To: &value}}}}
	case pr.Kind == flags.BadChoice && len(pr.Near) > 0:
		return []finding.Remedy{{Title: "write " + pr.Flag + " " + pr.Near[0], Changes: []finding.Change{{Kind: "flag", Name: pr.Flag, To: &pr.Near[0]}}}}
	case pr.Kind == flags.UnknownFlag && len(pr.Near) > 0 && a.takes(pr.Near[0], given):
		return []finding.Remedy{{Title: "write " + pr.Near[0], Changes: []finding.Change{drop, {Kind: "flag", Name: pr.Near[0], To: &given}}}}
	}
	return []finding.Remedy{{Title: "without " + pr.Flag, Changes: []finding.Change{drop}}}
}

// takes says whether a flag of the release takes a value.
func (a *answer) takes(name, value string) bool {
	f := a.q.table.Flag(name)
	return f != nil && (len(f.Choices) == 0 || slices.Contains(f.Choices, value))
}

// deviceCount: the ranks of a node need a GPU each. The engines find that out
// in the middle of their start.
func (a *answer) deviceCount() []*finding.RefusedMsg {
	number := func(names ...string) int {
		for _, n := range names {
			if v := a.number(n); v != 0 {
				return v
			}
		}
		return 1
	}
	ranks := number("tp_size", "parallel.tensor_parallel_size") * number("pp_size", "parallel.pipeline_parallel_size")
	if a.q.engine.Name == "vllm" {
		ranks *= number("parallel.data_parallel_size_local", "parallel.data_parallel_size")
	}
	nodes := max(number("nnodes", "parallel.nnodes"), 1)
	have := a.q.gpu.Count
	if need := (ranks + nodes - 1) / nodes; need > have && have > 0 {
		return []*finding.RefusedMsg{{
			Kind: "combination", Stage: plan.StageModelRunner,
			Text: fmt.Sprintf("%d GPUs are needed on each node, and there are %d: %s", need, have, a.q.gpu),
		}}
	}
	return nil
}
