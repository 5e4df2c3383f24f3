package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
	"shakedown/internal/ledger"
	"shakedown/internal/plan"
)

// answer is what the resolver says of a question.
type answer struct {
	q        *question
	res      plan.Result
	problems []flags.Problem // what the release's parser says, all of it
	dropped  []string        // arguments left out so that the rest could be planned
	later    *plan.Refusal   // what is refused behind the parser, once that is satisfied
	book     *ledger.Ledger
	entries  []*ledger.Entry
}

// resolve puts a question to the resolver. When the parser refuses the command,
// what it refuses is mended or left out, so that the rest is planned all the
// same: the refusal stays the parser's.
func (q *question) resolve() *answer {
	a := &answer{q: q}
	parsed, problems := q.table.Parse(q.options)
	for _, p := range problems {
		if p.Kind != flags.MissingFlag {
			a.problems = append(a.problems, p)
		}
	}
	c := q.c
	if q.fromHelp {
		c.Argv, a.dropped = q.knownOnly(c.Argv)
	}
	a.res = q.engine.Resolve(c)
	if r := a.res.Refusal; r != nil && r.Stage == plan.StageParse {
		mended, dropped := mend(c.Argv, q.knownTable())
		c.Argv = mended
		if next := q.engine.Resolve(c); next.Refusal == nil || next.Refusal.Stage != plan.StageParse {
			a.res, a.later = next, next.Refusal
			a.res.Refusal = r
			a.dropped = append(a.dropped, dropped...)
		}
	}
	a.entries = a.makeEntries(parsed)
	a.book = ledger.Planned(a.entries, q.table, q.match)
	return a
}

// knownTable is the table that the resolver parses with.
func (q *question) knownTable() *flags.Table {
	t, _ := flags.Lookup(q.engine.Name, q.version)
	return t
}

// knownOnly leaves out the flags that only the engine's own --help knows.
func (q *question) knownOnly(argv []string) (kept, dropped []string) {
	known := q.knownTable()
	parsed, _ := q.table.Parse(argv)
	drop := map[int]bool{}
	for _, a := range parsed.Args {
		if a.Flag != nil && a.Name != "" && known.Flag(a.Name) == nil {
			dropped = append(dropped, a.Name)
			for i := range a.Len {
				drop[a.Index+i] = true
			}
		}
	}
	for i, word := range argv {
		if !drop[i] {
			kept = append(kept, word)
		}
	}
	return kept, dropped
}

// mend makes of an argument vector what its author most likely means: renamed
// flags by their new name, without what the release refuses.
func mend(argv []string, table *flags.Table) (out, dropped []string) {
	parsed, problems := table.Parse(argv)
	bad := map[int]flags.Problem{}
	for _, p := range problems {
		if p.Kind != flags.DeprecatedFlag && p.Index >= 0 {
			bad[p.Index] = p
		}
	}
	for _, a := range parsed.Args {
		words := argv[a.Index : a.Index+a.Len]
		p, isBad := bad[a.Index]
		if !isBad {
			out = append(out, words...)
			continue
		}
		name, value, glued := strings.Cut(p.Use, "=")
		if p.Kind == flags.RenamedFlag && table.Flag(name) != nil {
			out = append(out, name)
			switch {
			case glued:
				out = append(out, value)
			default:
				out = append(out, a.Values...)
			}
			continue
		}
		dropped = append(dropped, strings.Join(words, " "))
	}
	return out, dropped
}

// makeEntries sets asked beside effective for every setting of the answer.
func (a *answer) makeEntries(parsed flags.Parsed) []*ledger.Entry {
	asked := map[string]flags.Arg{}
	for _, arg := range parsed.Args {
		if s := arg.Setting(); s != "" {
			asked[a.q.settingName(s)] = arg
		}
	}
	choices := map[string][]plan.Choice{}
	for _, c := range a.res.Choices {
		choices[c.Setting] = append(choices[c.Setting], c)
	}
	values := maps.Clone(a.res.Runtime)
	if values == nil {
		values = map[string]any{}
	}
	maps.Copy(values, a.res.Effective)
	for name, arg := range asked {
		if _, ok := values[name]; !ok {
			values[name] = nil
			if a.res.Refusal == nil {
				values[name] = arg.Value()
			}
		}
	}
	var out []*ledger.Entry
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, known := a.res.Effective[name]; !known && values[name] == nil && a.res.Refusal != nil && asked[name].Flag != nil {
			continue // it did not come that far
		}
		out = append(out, a.entry(name, values[name], asked[name], choices[name]))
	}
	sort.SliceStable(out, func(i, j int) bool { return weight(out[i]) < weight(out[j]) })
	return out
}

// weight puts silent replacements first, then what others force, then what
// model, checkpoint and hardware choose.
func weight(e *ledger.Entry) int {
	switch {
	case e.Silent:
		return 0
	case e.By == "coupling":
		return 1
	case e.Choice != "" && e.By != "default":
		return 2
	case e.By == "user":
		return 3
	}
	return 4
}

// settingName is the ledger's name of what a flag writes.
func (q *question) settingName(dest string) string {
	if q.lines != nil {
		if n, ok := q.lines.Names[dest]; ok {
			return n
		}
	}
	return dest
}

// flagOf is the flag that writes a setting of the ledger, nil when there is none.
func (q *question) flagOf(setting string) *flags.Flag {
	if f := q.table.Setting(setting); f != nil {
		return f
	}
	if q.lines == nil {
		return nil
	}
	for dest, n := range q.lines.Names {
		if n == setting {
			if f := q.table.Setting(dest); f != nil {
				return f
			}
		}
	}
	return nil
}

func (a *answer) entry(name string, value any, arg flags.Arg, choices []plan.Choice) *ledger.Entry {
	e := &ledger.Entry{Name: name, Effective: repr(value), Known: true, Asked: finding.Asked{Known: true}, By: "default"}
	for _, c := range slices.Backward(choices) {
		ev := finding.Evidence{Kind: "engine", File: c.Source, Text: c.Line, Field: fmt.Sprintf("%s: %s -> %s", name, repr(c.From), repr(c.To)), Note: strings.TrimSuffix(c.Because, ".")}
		e.Because = append(e.Because, ev)
	}
	if _, effective := a.res.Effective[name]; !effective {
		e.By, e.From = later(name)
	}
	if n := len(choices); n > 0 {
		last := choices[n-1]
		e.Choice, e.By, e.Why, e.From = last.ID, last.By, last.Because, last.Coupled
		if e.By == "" {
			e.By = "unknown"
		}
	}
	if arg.Flag == nil {
		return e
	}
	v := arg.Value()
	e.Asked.Value = &v
	e.Because = append(e.Because, a.q.askedEvidence(arg))
	switch {
	case ledger.Same(v, e.Effective), len(choices) == 0, renamed(name, v, e.Effective):
		e.By, e.From = "user", nil
	default:
		e.Silent = !ledger.Open(v)
	}
	return e
}

// aliases are values that an engine replaces by another name of the same thing,
// or by what they mean for the checkpoint at hand.
// Source: sglang/srt/server_args.py (0.5.9: NEXTN; 0.5.13: nsa is dsa, before
// that dsa is nsa; 0.5.18: unquant, ascend_tp), vllm/config/model.py (0.24:
// modelopt).
var aliases = [][2]string{
	{"NEXTN", "EAGLE"}, {"dsa", "nsa"}, {"nsa", "dsa"}, {"unquant", "None"}, {"ascend_tp", "none"}, {"modelopt", "modelopt_fp4"}, {"modelopt", "modelopt_fp8"},
}

// switches are settings that an engine turns into another one that does the
// same, or whose values were renamed. Source: sglang/srt/server_args.py (0.5.23).
var switches = map[string]bool{"enable_flashinfer_allreduce_fusion": true, "tool_call_parser": true, "reasoning_parser": true}

// renamed says that a replaced value is what was asked for, by another name.
func renamed(setting, asked, effective string) bool {
	return switches[setting] || slices.Contains(aliases, [2]string{asked, effective})
}

// later says what values follow from that the engine decides behind its
// settings, where the resolver does not say.
func later(name string) (by string, from []string) {
	switch {
	case name == "kv_cache_torch_dtype":
		return "coupling", []string{"kv_cache_dtype"}
	case strings.HasPrefix(name, "model_config."):
		return "model", nil
	case strings.HasPrefix(name, "quant_config"):
		return "checkpoint", nil
	}
	return "hardware", nil
}

func (q *question) askedEvidence(arg flags.Arg) finding.Evidence {
	ev := finding.Evidence{Kind: "command", File: q.cmd.File, Line: q.cmd.Line, Field: strings.TrimSpace(arg.Name + " " + strings.Join(arg.Values, " "))}
	return ev
}

// repr writes a value as Python prints it.
func repr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case float64:
		return reprFloat(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = inner(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, "'"+k+"': "+inner(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func inner(v any) string {
	if s, ok := v.(string); ok {
		return "'" + s + "'"
	}
	return repr(v)
}

func reprFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == math.Trunc(f) && math.Abs(f) < 1e16:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
