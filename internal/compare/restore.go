package compare

import (
	"maps"
	"slices"
	"strings"

	"shakedown/internal/command"
	"shakedown/internal/engine"
	"shakedown/internal/finding"
	"shakedown/internal/flags"
)

// restorer puts GOOD's values into BAD's command.
type restorer struct {
	engine  string
	version string
	table   *flags.Table      // nil for an engine whose flags are not known
	names   map[string]string // flag's setting -> name in the ledger
	command *command.Command  // nil when it is not known
}

func newRestorer(bad *Launch, eng *engine.Engine) *restorer {
	r := &restorer{engine: bad.Engine, version: bad.EngineVersion}
	r.table, _ = flags.Lookup(bad.Engine, bad.EngineVersion)
	if eng != nil {
		r.names = eng.Names
	}
	if cmd, ok := command.FromArgv(bad.Command); ok {
		for _, v := range bad.Env {
			cmd.Env = append(cmd.Env, command.Var{Name: v.Name, Value: command.Word{Text: v.Value}})
		}
		r.command = &cmd
	}
	return r
}

// flag finds the flag that writes a setting of the ledger.
func (r *restorer) flag(name string) *flags.Flag {
	if r.table == nil {
		return nil
	}
	for _, dest := range slices.Sorted(maps.Keys(r.names)) {
		if r.names[dest] == name {
			if f := r.table.Setting(dest); f != nil {
				return f
			}
		}
	}
	return r.table.Setting(name)
}

// spellings are the ways in which texts write a setting, with "_" between the
// words: its own name, without and with its section, and those of its flag.
func (r *restorer) spellings(name string) []string {
	name = undashed(name)
	out := []string{strings.ReplaceAll(name, ".", "_")}
	if i := strings.LastIndexByte(name, '.'); i >= 0 && strings.Contains(name[i:], "_") {
		out = append(out, name[i+1:])
	}
	if f := r.flag(name); f != nil {
		for _, n := range f.Names {
			if strings.HasPrefix(n, "--") {
				out = append(out, undashed(n))
			}
		}
	}
	return out
}

// remedy is BAD's launch with GOOD's value of one setting, nil when a flag
// cannot bring it back.
func (r *restorer) remedy(p pair) *finding.Remedy {
	flag := r.flag(p.name)
	if flag == nil {
		return nil
	}
	change, ok := changeTo(flag, wanted(p.good), p.bad != nil && p.bad.Asked.Value != nil)
	if !ok {
		return nil
	}
	if _, refused := flags.Refuses(r.engine, r.version, change.Name); refused {
		return nil
	}
	if p.bad != nil {
		change.From = p.bad.Asked.Value
	}
	return r.launch(p.name, change)
}

// flagRemedy is the same for a flag of an engine without a table of flags.
func (r *restorer) flagRemedy(name, good string, inGood bool) *finding.Remedy {
	change := finding.Change{Kind: "flag", Name: name}
	if inGood {
		change.To = &good
	}
	return r.launch(name, change)
}

// launch is BAD's command after a change.
func (r *restorer) launch(name string, change finding.Change) *finding.Remedy {
	out := &finding.Remedy{Title: "BAD's command with GOOD's value of " + name, Changes: []finding.Change{change}}
	r.rewrite(out)
	return out
}

// rewrite adds the whole command, when it is known.
func (r *restorer) rewrite(out *finding.Remedy) {
	if r.command == nil {
		return
	}
	next, err := r.command.Apply(out.Changes, r.table)
	if err != nil {
		out.Text = "The command could not be rewritten: " + err.Error()
		return
	}
	safe := next.Redacted()
	out.Command, out.Script = safe.Argv(), safe.Script()
	out.Text = "In a container, keep BAD's wrapper around it."
}

// wanted is GOOD's value as a flag takes it, "" when nothing was set: then the
// flag is left out.
func wanted(s *finding.SettingMsg) string {
	if s == nil || s.Asked.Known && s.Asked.Value == nil && s.ChosenBy == "default" {
		return ""
	}
	return bare(s.Effective)
}

// changeTo is the change of a flag that brings a value back. asked says that
// the command sets the flag now, so that leaving it out is a change.
func changeTo(f *flags.Flag, want string, asked bool) (finding.Change, bool) {
	c := finding.Change{Kind: "flag", Name: f.Name()}
	switch {
	case want == "" && asked:
		return c, true
	case f.Switch():
		return switched(c, f, strings.EqualFold(want, "true"), asked)
	case want == "":
		return c, false
	case len(f.Choices) > 0 && !slices.Contains(f.Choices, want), !isArgument(want):
		return c, false
	}
	c.To = &want
	return c, true
}

// switched turns a switch on or off: by its own name, by its "--no-" form, or by
// leaving it out.
func switched(c finding.Change, f *flags.Flag, on, asked bool) (finding.Change, bool) {
	given := ""
	switch no := slices.IndexFunc(f.Names, func(n string) bool { return strings.HasPrefix(n, "--no-") }); {
	case f.Action == "StoreFalse":
		return c, false
	case on:
		c.To = &given
	case no >= 0:
		c.Name, c.To = f.Names[no], &given
	default:
		return c, asked
	}
	return c, true
}

// maxArgument is the longest value that is worth typing.
const maxArgument = 120

// isArgument says that a printed value can be given as it is: Python's lists,
// objects and dicts can't.
func isArgument(value string) bool {
	return len(value) <= maxArgument && !strings.ContainsAny(value, "[{<(\n")
}
