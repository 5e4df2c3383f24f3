package command

import (
	"slices"
	"strings"
)

// Script writes the whole launch in its own wrapper, ready to be pasted or
// saved, without a line end at the end: shell text with continued lines of at
// most 78 columns, a compose service, a container of a manifest, a unit. A
// comment above names the variables that stand for secrets.
func (c Command) Script() string {
	script := c.form.script(c)
	if len(c.secrets) == 0 {
		return script
	}
	if first, rest, ok := strings.Cut(script, "\n"); ok && strings.HasPrefix(first, "#!") {
		return first + "\n" + c.note() + "\n" + rest
	}
	return c.note() + "\n" + script
}

// width is the longest printed line; a longer single word stands alone.
const width = 78

// shellForm is a plain command line, or that of a batch script.
type shellForm struct {
	header []string // "#!" and "#SBATCH" lines
}

func (f shellForm) script(c Command) string {
	var items [][]string
	env := c.outerEnv()
	assignments := func() {
		for _, v := range env {
			items = append(items, []string{v.Name + "=" + shellWord(v.Value)})
		}
	}
	words := c.shellWords()
	// Behind sudo or numactl, assignments only work as arguments of env.
	at := slices.IndexFunc(c.Prefix, func(w Word) bool { return w.Text == "env" })
	if c.nest != nil || at < 0 {
		at = -1
	}
	if at >= 0 {
		items = append(items, spelled(words[:at+1]))
		words = words[at+1:]
	}
	assignments()
	items = append(items, grouped(words)...)
	header := ""
	if len(f.header) > 0 {
		header = strings.Join(f.header, "\n") + "\n\n"
	}
	return header + folded(items, c.tail)
}

func (f shellForm) language() language { return shellLanguage }

func (f shellForm) redacted(h *hider) form {
	f.header = slices.Clone(f.header)
	for i := range f.header {
		f.header[i] = h.script(f.header[i])
	}
	return f
}

// outerEnv is the environment that the wrapper sets.
func (c Command) outerEnv() []Var {
	var env []Var
	for _, v := range c.Env {
		if !v.inner {
			env = append(env, v)
		}
	}
	return env
}

// words are all words that the wrapper runs.
func (c Command) words() []Word {
	if c.nest == nil {
		return slices.Concat(c.Prefix, c.Args)
	}
	return slices.Concat(c.nest.shell, []Word{{Text: c.nested(Quote)}}, c.nest.rest)
}

// wordsKeeping are the words with the wrapper's own references kept in the
// nested script: protect escapes plain data in it, finish spells the whole.
func (c Command) wordsKeeping(protect, finish func(string) string) []Word {
	words := c.words()
	words[len(c.nest.shell)].Raw = finish(c.nested(func(s string) string { return protect(Quote(s)) }))
	return words
}

// shellWords are the words for a shell. A nested script in double quotes whose
// references the outer shell resolves stays in double quotes, unless it also
// has escaped ones.
func (c Command) shellWords() []Word {
	if c.nest == nil || c.nest.raw == "" || mixed(c.nest.raw) {
		return c.words()
	}
	const dollar, backquote = "\x01", "\x02" // Quote never prints these
	protect := strings.NewReplacer("$", dollar, "`", backquote)
	quotes := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	restore := strings.NewReplacer(dollar, `\$`, backquote, "\\`")
	return c.wordsKeeping(protect.Replace, func(script string) string {
		return `"` + restore.Replace(quotes.Replace(script)) + `"`
	})
}

// mixed says whether a shell word has references and also "$" or "`" as text.
func mixed(raw string) bool {
	w := newLexer(raw, false).word()
	return slices.ContainsFunc(w.parts, func(p part) bool { return !p.ref && strings.ContainsAny(p.text, "$`") })
}

// nested is the script of the nest. quote writes plain data.
func (c Command) nested(quote func(string) string) string {
	var parts []string
	if len(c.unset) > 0 {
		parts = append(parts, "env")
		for _, name := range c.unset {
			parts = append(parts, "-u", name)
		}
	}
	spell := language{text: quote}.spell
	for _, v := range c.Env {
		if v.inner && !v.kept {
			parts = append(parts, v.Name+"="+spell(v.Value))
		}
	}
	for _, w := range slices.Concat(c.Prefix, c.Args) {
		parts = append(parts, spell(w))
	}
	if c.nest.tail != "" {
		parts = append(parts, c.nest.tail)
	}
	return c.nest.before + strings.Join(parts, " ") + c.nest.after
}

// spelled writes words for a shell.
func spelled(words []Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellWord(w)
	}
	return out
}

// grouped puts what belongs on one line together: the program with its
// subcommands, then each flag with its values.
func grouped(words []Word) [][]string {
	var items [][]string
	for _, w := range words {
		// "-m" belongs to the interpreter before it and "-c" to the shell.
		joins := !strings.HasPrefix(w.Text, "-") || w.Text == "-m" || shellRun.MatchString(w.Text)
		if joins && len(items) > 0 {
			items[len(items)-1] = append(items[len(items)-1], shellWord(w))
			continue
		}
		items = append(items, []string{shellWord(w)})
	}
	return items
}

// folded joins items into lines that a shell reads as one.
func folded(items [][]string, tail string) string {
	if tail != "" {
		items = append(items, []string{tail})
	}
	var b strings.Builder
	column := 0
	for i, item := range items {
		text := strings.Join(item, " ")
		first, _, many := strings.Cut(text, "\n")
		switch {
		case i == 0:
		case column+1+len(first)+len(" \\") > width:
			b.WriteString(" \\\n  ")
			column = 2
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(text)
		column += len(text)
		if many {
			column = len(text) - strings.LastIndexByte(text, '\n') - 1
		}
	}
	return b.String()
}
