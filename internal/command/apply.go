package command

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/finding"
	"shakedown/internal/flags"
)

// Apply carries out changes of kind "flag" and "env" on a copy of the command.
// What is there keeps its place and its spelling ("--a=b" stays "--a=b"). The
// table, which may be nil, tells aliases apart and refuses flags that the
// release does not have; without one a flag is known by its name only.
func (c Command) Apply(changes []finding.Change, table *flags.Table) (Command, error) {
	c.Prefix, c.Args, c.Env, c.unset = slices.Clone(c.Prefix), slices.Clone(c.Args), slices.Clone(c.Env), slices.Clone(c.unset)
	for _, change := range changes {
		var err error
		switch change.Kind {
		case "flag":
			err = c.changeFlag(change, table)
		case "env":
			err = c.changeEnv(change)
		default:
			err = fmt.Errorf("change of %s %s: a command has flags and env only", change.Kind, change.Name)
		}
		if err != nil {
			return Command{}, err
		}
	}
	c.Model = c.model()
	return c, nil
}

func (c *Command) changeEnv(change finding.Change) error {
	if !identify.MatchString(change.Name) {
		return fmt.Errorf("env %q is no name of a variable", change.Name)
	}
	at := slices.IndexFunc(c.Env, func(v Var) bool { return v.Name == change.Name })
	if change.To == nil {
		if at >= 0 {
			if v := c.Env[at]; v.inner && v.kept {
				c.unset = append(c.unset, v.Name)
			}
			c.Env = slices.Delete(c.Env, at, at+1)
		}
		return nil
	}
	v := Var{Name: change.Name, Value: Word{Text: *change.To}}
	if at >= 0 {
		v.inner = c.Env[at].inner
	}
	c.Env = setVar(c.Env, v)
	return nil
}

// span is a flag with its values in the options.
type span struct{ index, length int }

func (c *Command) changeFlag(change finding.Change, table *flags.Table) error {
	if !strings.HasPrefix(change.Name, "-") {
		return fmt.Errorf("flag %q does not begin with \"-\"", change.Name)
	}
	var flag *flags.Flag
	if table != nil {
		flag = table.Flag(change.Name)
		if flag == nil && change.To != nil {
			return fmt.Errorf("%s %s has no flag %s", table.Engine, table.Version, change.Name)
		}
	}
	spans := c.spans(change.Name, flag, table)
	if change.To == nil {
		for _, s := range slices.Backward(spans) {
			c.replace(s, nil)
		}
		return nil
	}
	values := []Word{{Text: *change.To}}
	switch {
	case *change.To == "":
		values = nil
	case flag != nil && (flag.Nargs == "*" || flag.Nargs == "+"):
		values = plain(strings.Fields(*change.To))
	}
	if len(spans) == 0 {
		c.insert(append([]Word{{Text: change.Name}}, values...))
		return nil
	}
	last := spans[len(spans)-1]
	c.replace(last, c.spelledLike(last, change.Name, flag, table, values))
	for _, s := range slices.Backward(spans[:len(spans)-1]) {
		c.replace(s, nil)
	}
	return nil
}

// spelledLike keeps the user's name of the flag, unless it says the opposite,
// and their "=".
func (c *Command) spelledLike(s span, name string, flag *flags.Flag, table *flags.Table, values []Word) []Word {
	word := c.Args[c.head+s.index].Text
	old, _, glued := strings.Cut(word, "=")
	if table == nil || table.Flag(old) == flag && !(flag.Switch() && old != name) && !strings.Contains(name, ".") {
		name = old
	}
	if glued && len(values) == 1 {
		return []Word{{Text: name + "=" + values[0].Text}}
	}
	return append([]Word{{Text: name}}, values...)
}

// spans finds a flag in the options: every spelling that writes the same
// setting.
func (c *Command) spans(name string, flag *flags.Flag, table *flags.Table) []span {
	if table == nil || flag == nil {
		return c.spansByName(name)
	}
	wanted, _ := table.Parse([]string{name})
	setting := wanted.Args[0].Setting()
	parsed, _ := table.Parse(c.Options())
	var spans []span
	for _, a := range parsed.Args {
		if a.Name != "" && a.Setting() == setting {
			spans = append(spans, span{a.Index, a.Len})
		}
	}
	return spans
}

// spansByName takes what follows a flag up to the next one as its values.
func (c *Command) spansByName(name string) []span {
	options := c.Options()
	var spans []span
	for i := 0; i < len(options); i++ {
		given, _, glued := strings.Cut(options[i], "=")
		if spelling(given) != spelling(name) {
			continue
		}
		s := span{i, 1}
		for !glued && i+1 < len(options) && isValue(options[i+1]) {
			i++
			s.length++
		}
		spans = append(spans, s)
	}
	return spans
}

// isValue says whether a word is no flag: it has no dash, or is a number.
func isValue(word string) bool {
	return !strings.HasPrefix(word, "-") || len(word) == 1 || word[1] >= '0' && word[1] <= '9'
}

func (c *Command) replace(s span, words []Word) {
	at := c.head + s.index
	c.Args = slices.Replace(c.Args, at, at+s.length, words...)
}

// insert adds words at the end of the options, before "--".
func (c *Command) insert(words []Word) {
	at := slices.IndexFunc(c.Args, func(w Word) bool { return w.Text == "--" })
	if at < 0 {
		at = len(c.Args)
	}
	c.Args = slices.Insert(c.Args, at, words...)
}
