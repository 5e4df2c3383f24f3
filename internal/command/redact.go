package command

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"shakedown/internal/redact"
)

// SecretName says whether a flag or variable of this name holds a secret.
func SecretName(name string) bool { return redact.SecretName(name) }

// minSecret is the shortest value that is also hidden where it turns up again;
// shorter ones would hit innocent text.
const minSecret = 6

// Redacted returns a copy in which references to variables stand for secrets,
// also where they turn up again in the text around the command: it can be shown
// to anybody, and runs once the variables are set. Script names them.
func (c Command) Redacted() Command {
	h := newHider(c)
	lang := c.form.language()
	words := lang
	if c.nest != nil {
		words = shellLanguage
		n := *c.nest
		n.before, n.after, n.tail = h.script(n.before), h.script(n.after), h.script(n.tail)
		n.shell, n.rest = h.words(n.shell, lang), h.words(n.rest, lang)
		c.nest = &n
	}
	c.Env = h.env(c.Env, lang)
	c.Prefix, c.Args = h.words(c.Prefix, words), h.words(c.Args, words)
	c.tail = h.script(c.tail)
	c.form = c.form.redacted(h)
	if c.nest != nil || !lang.outer {
		c.Env = slices.Concat(h.missing(c.outerEnv(), lang), c.Env)
	}
	c.secrets = slices.Concat(c.secrets, h.order)
	return c
}

// note tells what the user has to set before they run a redacted command.
func (c Command) note() string {
	return "# Secrets are left out. Set first: " + strings.Join(c.secrets, ", ")
}

// hider replaces secrets by references to variables, one for each secret.
type hider struct {
	variables map[string]string // secret -> variable
	taken     map[string]bool   // variables that mean something else
	order     []string          // variables that were made, in order
}

// newHider learns the secrets of the environment and the flags, so that all of
// them are known before the first is looked for.
func newHider(c Command) *hider {
	h := &hider{variables: map[string]string{}, taken: map[string]bool{}}
	for _, v := range c.Env {
		h.taken[v.Name] = true
	}
	for _, v := range c.Env {
		if v.secret() {
			h.own(v)
		}
	}
	for _, s := range secretValues(c.Args) {
		h.variable(s.name, s.value)
	}
	return h
}

// secret says whether a variable is set to a secret.
func (v Var) secret() bool {
	return redact.SecretName(v.Name) && !v.Inherited && v.Value.Text != "" && !v.Value.refers()
}

// reference matches text that is nothing but a reference to a variable.
var reference = regexp.MustCompile(`^\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|\([A-Za-z_][\w.-]*\))$`)

// refers says whether a word of the user's own file is a reference and holds no
// secret itself.
func (w Word) refers() bool { return w.Raw != "" && reference.MatchString(w.Text) }

// own returns the variable that stands for the value of a variable: itself.
func (h *hider) own(v Var) string {
	if !identify.MatchString(v.Name) {
		return h.variable(v.Name, v.Value.Text)
	}
	if _, ok := h.variables[v.Value.Text]; !ok {
		h.variables[v.Value.Text] = v.Name
	}
	if !slices.Contains(h.order, v.Name) {
		h.order = append(h.order, v.Name)
	}
	return v.Name
}

// variable returns the variable that stands for the secret of this name.
func (h *hider) variable(name, secret string) string {
	if v, ok := h.variables[secret]; ok {
		return v
	}
	base := variableName(name)
	v := base
	for n := 2; h.taken[v]; n++ {
		v = fmt.Sprintf("%s_%d", base, n)
	}
	h.taken[v] = true
	h.variables[secret] = v
	h.order = append(h.order, v)
	return v
}

var notInNames = regexp.MustCompile(`[^A-Z0-9]+`)

// variableName is what a variable for the value of a flag is called:
// "--api-key" gives API_KEY.
func variableName(name string) string {
	name = strings.Trim(notInNames.ReplaceAllString(strings.ToUpper(name), "_"), "_")
	if name == "" || name[0] <= '9' {
		return "SECRET_" + name
	}
	return name
}

// secretValue is a word of a command that is, or ends in, the value of a secret
// flag.
type secretValue struct {
	index       int
	glued       string // what precedes the value in its word: "--api-key="
	name, value string
}

// before spells what precedes the value in its word.
func (s secretValue) before(lang language) string {
	if s.glued == "" {
		return ""
	}
	return lang.text(s.glued)
}

// secretValues finds the values of secret flags.
func secretValues(words []Word) []secretValue {
	var found []secretValue
	flag := ""
	for i, w := range words {
		if strings.HasPrefix(w.Text, "-") {
			name, value, glued := strings.Cut(w.Text, "=")
			flag = ""
			switch {
			case !redact.SecretName(name):
			case !glued:
				flag = name
			case value != "" && !w.after(name+"=").refers():
				found = append(found, secretValue{i, name + "=", name, value})
			}
		} else if flag != "" && w.Text != "" && !w.refers() {
			found = append(found, secretValue{i, "", flag, w.Text})
		}
	}
	return found
}

// shellReference is a reference that runs nothing.
var shellReference = regexp.MustCompile(`^\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})$`)

// ShellLine writes an argument vector for a shell. What Redacted put in place
// of the values of secret flags stays a reference, all else is data.
func ShellLine(argv []string) string {
	words := plain(argv)
	for _, s := range secretValues(words) {
		if shellReference.MatchString(s.value) {
			words[s.index].Raw = s.before(shellLanguage) + `"` + s.value + `"`
		}
	}
	return strings.Join(spelled(words), " ")
}

// env hides the secrets of an environment.
func (h *hider) env(env []Var, lang language) []Var {
	out := slices.Clone(env)
	for i := range out {
		v := &out[i]
		l := lang
		if v.inner {
			l = shellLanguage
		}
		if v.secret() {
			v.Value = referring(h.own(*v), l)
		} else {
			v.Value = h.word(v.Value, l)
		}
	}
	return out
}

// missing are the variables that stand for secrets and that env lacks.
func (h *hider) missing(env []Var, lang language) []Var {
	var out []Var
	for _, name := range h.order {
		if !slices.ContainsFunc(env, func(v Var) bool { return v.Name == name }) {
			out = append(out, Var{Name: name, Value: referring(name, lang)})
		}
	}
	return out
}

// referring is a word that is a reference.
func referring(name string, lang language) Word {
	return Word{Text: "$" + name, Raw: lang.reference(name)}
}

// words hides the values of secret flags, and other secrets.
func (h *hider) words(words []Word, lang language) []Word {
	values := secretValues(words)
	out := make([]Word, len(words))
	for i, w := range words {
		if len(values) > 0 && values[0].index == i {
			s := values[0]
			values = values[1:]
			ref := referring(h.variable(s.name, s.value), lang)
			out[i] = Word{Text: s.glued + ref.Text, Raw: s.before(lang) + ref.Raw}
			continue
		}
		out[i] = h.word(w, lang)
	}
	return out
}

// word hides the secrets inside a word.
func (h *hider) word(w Word, lang language) Word {
	out := Word{Text: h.replace(w.Text, asIs, braced), Raw: h.replace(w.Raw, asIs, lang.reference)}
	if w.Raw == "" && out.Text != w.Text {
		out.Raw = h.replace(w.Text, lang.text, lang.reference)
	}
	return out
}

func asIs(text string) string { return text }

// script hides the secrets inside shell text.
func (h *hider) script(text string) string { return h.replace(text, asIs, shellLanguage.reference) }

// replace writes text with a reference in place of each secret.
func (h *hider) replace(text string, plain, reference func(string) string) string {
	var b strings.Builder
	done := 0
	add := func(end int) {
		if done < end {
			b.WriteString(plain(text[done:end]))
		}
	}
	for _, s := range h.find(text) {
		if s.begin < done {
			continue
		}
		add(s.begin)
		b.WriteString(reference(h.variable(s.name, strings.Trim(text[s.begin:s.end], `"'`))))
		done = s.end
	}
	add(len(text))
	return b.String()
}

// place is a secret in a text, with its quotes if it has any.
type place struct {
	begin, end int
	name       string
}

// assigned finds NAME=value and "--name value" in text around a command.
var assigned = regexp.MustCompile(`(--?[A-Za-z][A-Za-z0-9_-]*[ =]|[A-Za-z_][A-Za-z0-9_]*=)("[^"]*"|'[^']*'|[^\s"';]+)`)

// named are the notations of a field with a text as its value: JSON, JSON in a
// quoted word, a Python dictionary, an HTTP header with or without a scheme. The
// header's value may be several cookies; behind a colon without space, a path is
// that of a volume.
var named = []*regexp.Regexp{
	regexp.MustCompile(`"([A-Za-z][\w.-]*)"\s*:\s*"((?:[^"\\]|\\.)+)"`),
	regexp.MustCompile(`\\"([A-Za-z][\w.-]*)\\"\s*:\s*\\"([^"\\]+)\\"`),
	regexp.MustCompile(`'([A-Za-z][\w.-]*)'\s*:\s*'([^']+)'`),
	regexp.MustCompile(`(?:^|[\s"'=])([A-Za-z][\w-]*): +(?:(?i:bearer|basic|token) +)?([^\s"'$;][^\s"';]*(?:; *[\w.-]+=[^\s"';]*)*)`),
	regexp.MustCompile(`(?:^|[\s"'=])([A-Za-z][\w-]*):([^/\s"'$;][^\s"';]*)`),
}

// authScheme is what precedes a secret that is a reference already.
var authScheme = regexp.MustCompile(`^(?i:bearer|basic|token)$`)

// find returns the secrets in a text, in order; they may overlap.
func (h *hider) find(text string) []place {
	var found []place
	for secret, name := range h.variables {
		for at := 0; len(secret) >= minSecret; at += len(secret) {
			i := strings.Index(text[at:], secret)
			if i < 0 {
				break
			}
			at += i
			found = append(found, place{at, at + len(secret), name})
		}
	}
	for _, m := range assigned.FindAllStringSubmatchIndex(text, -1) {
		name, value := text[m[2]:m[3]-1], strings.TrimLeft(text[m[4]:m[5]], `"`)
		if redact.SecretName(name) && value != "" && !strings.HasPrefix(value, "$") {
			found = append(found, place{m[4], m[5], name})
		}
	}
	if strings.Contains(text, ":") { // most words have none, and matching is slow
		for _, notation := range named {
			for _, m := range notation.FindAllStringSubmatchIndex(text, -1) {
				// Quotes alone are those of a shell around a reference.
				name, value := text[m[2]:m[3]], strings.Trim(text[m[4]:m[5]], `"'`)
				if redact.SecretName(name) && value != "" && !strings.HasPrefix(value, "$") && !authScheme.MatchString(value) {
					found = append(found, place{m[4], m[5], name})
				}
			}
		}
	}
	for _, p := range redact.SecretsIn(text) {
		found = append(found, place{p[0], p[1], "SECRET"})
	}
	slices.SortStableFunc(found, func(a, b place) int { return cmp.Or(a.begin-b.begin, b.end-a.end) })
	return found
}

// nodes copies a tree with the secrets in scalars and comments hidden.
func (h *hider) nodes(n *yaml.Node, lang language) *yaml.Node {
	hide := func(text string) string { return h.replace(text, asIs, lang.reference) }
	out := *n
	out.HeadComment, out.LineComment, out.FootComment = hide(n.HeadComment), hide(n.LineComment), hide(n.FootComment)
	if n.Kind == yaml.ScalarNode {
		out.Value = hide(n.Value)
	}
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = h.nodes(c, lang)
	}
	return &out
}
