package command

import (
	"slices"
	"strings"
)

// unitForm is a systemd service.
type unitForm struct{ exec string } // the special characters before the program: "-", "@", "+"

// parseUnit reads ExecStart= and Environment= of a systemd service.
func parseUnit(text string) []Command {
	var env []Var
	var commands []Command
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		first := i
		line := strings.TrimSpace(lines[i])
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + " " + strings.TrimSpace(lines[i])
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		switch strings.TrimSpace(key) {
		case "Environment":
			for _, w := range unitWords(value) {
				if name, v, ok := cutAssignment(w); ok {
					env = setVar(env, Var{Name: name, Value: v})
				}
			}
		case "ExecStart":
			if c, ok := unitCommand(value, env); ok {
				c.Line, c.LastLine = first+1, i+1
				commands = append(commands, c)
			}
		}
	}
	return commands
}

func unitCommand(value string, env []Var) (Command, bool) {
	value = strings.TrimSpace(value)
	program := strings.TrimLeft(value, "-@:+!|")
	words := unitWords(program)
	if c, ok := parseDocker(words, nil, false); ok {
		return c, true
	}
	c, ok := build(words, reader(env, false).nested)
	if !ok {
		return Command{}, false
	}
	c.Env = merged(slices.Clone(env), c.Env)
	c.Wrapper, c.form = Systemd, unitForm{exec: value[:len(value)-len(program)]}
	return c, true
}

// unitWords splits as systemd does (systemd.service, "Command lines"): quotes
// around whole words or parts, C escapes, "%%" and "$$". References and
// specifiers stay as written.
func unitWords(text string) []Word {
	var words []Word
	var b, raw strings.Builder
	open, keep := false, false
	var quote byte
	flush := func() {
		if open {
			w := Word{Text: b.String()}
			if keep {
				w.Raw = raw.String()
			}
			words = append(words, w)
		}
		b.Reset()
		raw.Reset()
		open, keep = false, false
	}
	for i := 0; i < len(text); i++ {
		ch := text[i]
		switch {
		case quote == 0 && (ch == ' ' || ch == '\t'):
			flush()
			continue
		case quote == 0 && (ch == '"' || ch == '\''):
			quote, open = ch, true
		case quote != 0 && ch == quote:
			quote = 0
		case ch == '\\' && i+1 < len(text):
			i++
			b.WriteString(unitEscape(text[i]))
			raw.WriteByte(ch)
			ch = text[i]
			open = true
		case (ch == '%' || ch == '$') && i+1 < len(text) && text[i+1] == ch:
			i++
			b.WriteByte(ch)
			raw.WriteByte(ch)
			open = true
		default:
			keep = keep || ch == '%' || ch == '$'
			b.WriteByte(ch)
			open = true
		}
		raw.WriteByte(ch)
	}
	flush()
	return words
}

func unitEscape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 's':
		return " "
	}
	return string([]byte{c})
}

// unitLanguage is that of ExecStart= and Environment=.
var unitLanguage = language{text: unitQuote, reference: braced}

// unitQuote writes text as one word of a unit file.
func unitQuote(s string) string {
	text := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`, "\t", `\t`).Replace(s)
	if safe.MatchString(s) {
		return text
	}
	return `"` + text + `"`
}

func (f unitForm) script(c Command) string {
	var b strings.Builder
	b.WriteString("[Service]\n")
	for _, v := range c.outerEnv() {
		if v.Value.Raw == unitLanguage.reference(v.Name) { // its value comes from elsewhere
			b.WriteString("PassEnvironment=" + v.Name + "\n")
			continue
		}
		value := v.Value
		if value.Raw != "" {
			value.Raw = v.Name + "=" + value.Raw
		}
		value.Text = v.Name + "=" + value.Text
		b.WriteString("Environment=" + unitLanguage.spell(value) + "\n")
	}
	b.WriteString("ExecStart=" + f.exec)
	column := len("ExecStart=")
	for i, w := range c.unitWords() {
		text := unitLanguage.spell(w)
		switch {
		case i == 0:
		case strings.HasPrefix(w.Text, "-") && column+len(text) > width-20:
			b.WriteString(" \\\n  ")
			column = 2
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(text)
		column += len(text)
	}
	return b.String()
}

// unitWords keeps the unit's own references in a nested script, unless it also
// has literal "$" or "%".
func (c Command) unitWords() []Word {
	if c.nest == nil || c.nest.raw == "" || strings.Contains(c.nest.raw, "$$") || strings.Contains(c.nest.raw, "%%") {
		return c.words()
	}
	protect := strings.NewReplacer("$", "$$", "%", "%%")
	quotes := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	return c.wordsKeeping(protect.Replace, func(script string) string { return `"` + quotes.Replace(script) + `"` })
}

func (f unitForm) language() language { return unitLanguage }

func (f unitForm) redacted(*hider) form { return f }
