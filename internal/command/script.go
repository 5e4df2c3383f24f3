package command

import (
	"fmt"
	"maps"
	"strings"
)

// simple is one simple command of a script.
type simple struct {
	words        []lexWord
	redirections []redirection
	start, end   int // bytes of the script
	line, last   int
}

type redirection struct {
	op     string
	target lexWord
}

// pipeline is simple commands joined by "|".
type pipeline struct {
	commands   []simple
	background bool
}

// pipelines reads a whole script. Control flow is read past: the commands
// inside it come out in their order.
func (l *lexer) pipelines() []pipeline {
	var all []pipeline
	var cur pipeline
	var cmd simple
	closeCommand := func() {
		if len(cmd.words) > 0 {
			cur.commands = append(cur.commands, cmd)
		}
		cmd = simple{}
	}
	closePipeline := func(background bool) {
		closeCommand()
		if len(cur.commands) > 0 {
			cur.background = background
			all = append(all, cur)
		}
		cur = pipeline{}
	}
	for {
		t := l.next()
		switch {
		case t.op == "" && t.start == t.end:
			closePipeline(false)
			return all
		case t.op == "":
			cmd.addWord(t, l.line)
		case t.op == "|" || t.op == "|&":
			closeCommand()
		case isRedirection(t.op):
			l.redirection(&cmd, t)
		default:
			closePipeline(t.op == "&")
		}
	}
}

// keywords may stand before a command.
var keywords = wordSet("if then elif else while until do ! {")

func (s *simple) addWord(t token, lastLine int) {
	if len(s.words) == 0 {
		if p := t.word.parts; len(p) == 1 && !p[0].quoted && !p[0].ref && keywords[p[0].text] {
			return
		}
		s.start, s.line = t.start, t.line
	}
	s.words = append(s.words, t.word)
	s.end, s.last = t.end, lastLine
}

func (l *lexer) redirection(s *simple, t token) {
	target := l.next()
	if target.op != "" {
		l.unclosed(t.start)
		return
	}
	if strings.HasPrefix(strings.TrimLeft(t.op, "0123456789"), "<<") && !strings.HasSuffix(t.op, "<<<") {
		l.heredocs = append(l.heredocs, expandPlain(target.word))
		return
	}
	s.redirections = append(s.redirections, redirection{op: t.op, target: target.word})
	s.end, s.last = max(s.end, target.end), l.line
}

// found is a launch with its place in the script.
type found struct {
	command    Command
	start, end int // bytes, with the rest of its pipeline
}

// scriptReader finds the launches of a script.
type scriptReader struct {
	lexer *lexer
	scope *scope
	depth int
	given map[string]string // environment of the wrapper, for nested scripts
}

// reader reads the scripts that a wrapper with this environment runs.
func reader(env []Var, data bool) *scriptReader {
	r := &scriptReader{lexer: newLexer("", data), scope: newScope(), given: map[string]string{}}
	for _, v := range env {
		if !v.Inherited && v.Value.Raw == "" && len(v.Value.Text) <= maxBytes {
			r.given[v.Name] = v.Value.Text
		}
	}
	return r
}

// maxNesting bounds "sh -c" inside "sh -c".
const maxNesting = 4

// launches finds all launches before the first quote or bracket that is not
// closed: what follows it cannot be told apart.
func (r *scriptReader) launches() []found {
	var all []found
	for _, p := range r.lexer.pipelines() {
		for i := range p.commands {
			c, ok := r.command(p, i)
			if !ok {
				continue
			}
			first, last := p.commands[i], p.commands[len(p.commands)-1]
			if r.lexer.open > 0 && last.end > r.lexer.openAt {
				break
			}
			all = append(all, found{command: c, start: first.start, end: last.end})
			break
		}
	}
	return all
}

// command carries out one simple command: an assignment, an export, or a
// launch.
func (r *scriptReader) command(p pipeline, at int) (Command, bool) {
	s := p.commands[at]
	words := s.words
	local := newScope()
	for len(words) > 0 {
		name, value, add, ok := assignment(words[0])
		if !ok {
			break
		}
		if len(words) == 1 && len(local.order) == 0 {
			r.scope.set(name, value, add)
			return Command{}, false
		}
		local.values[name] = []Word{r.scope.scalar(value)}
		local.export(name)
		words = words[1:]
	}
	if len(words) == 0 {
		maps.Copy(r.scope.values, local.values)
		return Command{}, false
	}
	if r.builtin(words) {
		return Command{}, false
	}
	c, ok := r.launch(r.scope.expandAll(words), local)
	if !ok {
		return Command{}, false
	}
	c.Line, c.LastLine = s.line, s.last
	if c.form == nil {
		c.Wrapper, c.form = Shell, shellForm{}
	}
	c.tail = r.tail(p, at)
	return c, true
}

// builtin carries out export, declare and unset.
func (r *scriptReader) builtin(words []lexWord) bool {
	switch expandPlain(words[0]) {
	case "export", "declare", "typeset":
		for _, w := range words[1:] {
			name, value, add, ok := assignment(w)
			if ok {
				r.scope.set(name, value, add)
				r.scope.export(name)
			} else if name = expandPlain(w); identify.MatchString(name) {
				r.scope.export(name)
			}
		}
	case "unset":
		for _, w := range words[1:] {
			r.scope.remove(expandPlain(w))
		}
	default:
		return false
	}
	return true
}

// launch recognises an engine behind launchers, docker run or "sh -c".
func (r *scriptReader) launch(words []Word, local *scope) (Command, bool) {
	for len(words) > 0 && prompts[words[0].Text] {
		words = words[1:]
	}
	outer := r.scope.env()
	for _, v := range local.env() {
		v.kept = false
		outer = setVar(outer, v)
	}
	if c, ok := parseDocker(words, outer, r.lexer.data); ok {
		return c, true
	}
	c, ok := build(words, r.nested)
	if !ok {
		return Command{}, false
	}
	c.Env = merged(outer, c.Env)
	return c, true
}

// prompts are what a pasted terminal line begins with.
var prompts = wordSet("$ + % > ++")

// nested reads the script of "sh -c". In hostile text the script around the
// launch is dropped.
func (r *scriptReader) nested(word Word) []Command { return r.nestedText(word.Text) }

func (r *scriptReader) nestedText(script string) []Command {
	if r.depth >= maxNesting {
		return nil
	}
	inner := &scriptReader{lexer: newLexer(script, r.lexer.data), scope: newScope(), depth: r.depth + 1}
	inner.scope.given = r.given
	all := inner.launches()
	if len(all) == 0 {
		return nil
	}
	f := all[0]
	c := f.command
	if _, ok := c.form.(shellForm); !ok || c.nest != nil {
		return nil // a second wrapper inside the script: there is no one place to change
	}
	c.nest = &nest{}
	if !r.lexer.data {
		c.nest.before, c.nest.after = script[:f.start], script[f.end:]
	}
	for i := range c.Env {
		c.Env[i].inner = true
		c.Env[i].kept = c.Env[i].kept && !r.lexer.data
	}
	c.nest.tail, c.tail, c.form = c.tail, "", nil
	return []Command{c}
}

// tail is what follows a launch in its pipeline: redirections, pipes, "&". In
// hostile text it is dropped.
func (r *scriptReader) tail(p pipeline, at int) string {
	if r.lexer.data {
		return ""
	}
	var parts []string
	for i, s := range p.commands[at:] {
		if i > 0 {
			parts = append(parts, "|")
			for _, w := range r.scope.expandAll(s.words) {
				parts = append(parts, shellWord(w))
			}
		}
		for _, red := range s.redirections {
			target := shellWord(r.scope.scalar(red.target))
			if !strings.HasSuffix(red.op, "&") {
				target = " " + target
			}
			parts = append(parts, red.op+target)
		}
	}
	if p.background && r.depth == 0 {
		parts = append(parts, "&")
	}
	return strings.Join(parts, " ")
}

// parseScript reads a shell script, with the #SBATCH lines of a batch job.
func parseScript(text string) ([]Command, error) {
	r := &scriptReader{lexer: newLexer(text, false), scope: newScope()}
	header := batchHeader(text)
	var commands []Command
	for _, f := range r.launches() {
		c := f.command
		if form, ok := c.form.(shellForm); ok && len(header) > 0 {
			form.header = header
			c.Wrapper, c.form = Sbatch, form
		}
		commands = append(commands, c)
	}
	if len(commands) == 0 && r.lexer.open > 0 {
		return nil, fmt.Errorf("line %d: a quote or bracket is not closed", r.lexer.open)
	}
	return commands, nil
}

// batchHeader is the first line and the #SBATCH lines; nil for other scripts.
func batchHeader(text string) []string {
	var header []string
	batch := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#SBATCH"):
			batch = true
			header = append(header, line)
		case len(header) == 0 && strings.HasPrefix(line, "#!"):
			header = append(header, line)
		}
	}
	if !batch {
		return nil
	}
	return header
}
