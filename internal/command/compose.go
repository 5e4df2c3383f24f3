package command

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// composeForm is a service of a compose file.
type composeForm struct {
	manifest
	name string
}

func composeCommands(services *yaml.Node) []Command {
	var commands []Command
	for i := 0; i+1 < len(services.Content); i += 2 {
		if c, ok := composeCommand(services.Content[i].Value, services.Content[i+1]); ok {
			commands = append(commands, c)
		}
	}
	return commands
}

func composeCommand(name string, service *yaml.Node) (Command, bool) {
	entry, args := composeWords(field(service, "entrypoint")), composeWords(field(service, "command"))
	image := ""
	if n := field(service, "image"); n != nil {
		image = composeWord(n.Value).Text
	}
	env := composeEnv(field(service, "environment"))
	c, whole, ok := containerCommand(entry, args, image, nestedKeeping(env, "$$"))
	if !ok {
		return Command{}, false
	}
	f := composeForm{name: name, manifest: manifest{node: service, entryKey: "entrypoint", argsKey: "command", lang: composeLanguage}}
	if whole {
		f.split = len(entry)
	}
	c.Env = merged(env, c.Env)
	c.Wrapper, c.form = Compose, f
	c.Line, c.LastLine = service.Line-1, lastLine(service)
	return c, true
}

// composeWords reads a command as list or as text, which compose splits like a
// shell without running one.
func composeWords(n *yaml.Node) []Word {
	if n == nil {
		return nil
	}
	values := scalars(n)
	if n.Kind == yaml.ScalarNode {
		values = splitText(n.Value)
	}
	words := make([]Word, len(values))
	for i, v := range values {
		words[i] = composeWord(v)
	}
	return words
}

// splitText splits at blanks outside quotes and removes the quotes.
func splitText(s string) []string {
	var out []string
	var b strings.Builder
	open := false
	var quote byte
	for i := 0; i < len(s); i++ {
		ch := s[i]
		switch {
		case quote == 0 && strings.IndexByte(" \t\n\r", ch) >= 0:
			if open {
				out = append(out, b.String())
				b.Reset()
				open = false
			}
		case quote == 0 && (ch == '\'' || ch == '"'):
			quote, open = ch, true
		case ch == quote:
			quote = 0
		case ch == '\\' && quote != '\'' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
				open = true
			}
		default:
			b.WriteByte(ch)
			open = true
		}
	}
	if open {
		out = append(out, b.String())
	}
	return out
}

var composeRef = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}$]*))?[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)

// composeWord reads a value with compose's references: "$$" is a dollar sign,
// ${NAME:-x} is taken as x.
func composeWord(s string) Word {
	refs := false
	value := composeRef.ReplaceAllStringFunc(s, func(ref string) string {
		if ref == "$$" {
			return "$"
		}
		refs = true
		if m := composeRef.FindStringSubmatch(ref); m[2] != "" {
			return m[2]
		}
		return ref
	})
	w := Word{Text: value}
	if refs {
		w.Raw = s
	}
	return w
}

// composeLanguage is that of all values of a compose file.
var composeLanguage = language{
	text:      func(s string) string { return strings.ReplaceAll(s, "$", "$$") },
	reference: braced,
	outer:     true,
}

func composeEnv(n *yaml.Node) []Var {
	var env []Var
	if n == nil {
		return nil
	}
	if n.Kind == yaml.SequenceNode {
		for _, e := range scalars(n) {
			name, value, ok := strings.Cut(e, "=")
			env = setVar(env, Var{Name: name, Value: composeWord(value), Inherited: !ok})
		}
		return env
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		env = setVar(env, Var{Name: n.Content[i].Value, Value: composeWord(value.Value), Inherited: value.Tag == "!!null"})
	}
	return env
}

func (f composeForm) script(c Command) string {
	service := f.withCommand(c, c.manifestWords("$", "$$"))
	var env *yaml.Node
	if outer := c.outerEnv(); len(outer) > 0 {
		env = f.environment(outer)
	}
	service = withField(service, "environment", env, "command")
	return encode(mapping("services", mapping(f.name, service)))
}

// environment keeps the user's choice of list or mapping.
func (f composeForm) environment(env []Var) *yaml.Node {
	old := field(f.node, "environment")
	list := &yaml.Node{Kind: yaml.SequenceNode}
	pairs := &yaml.Node{Kind: yaml.MappingNode}
	for _, v := range env {
		value := text(composeLanguage.spell(v.Value))
		item := text(v.Name + "=" + value.Value)
		if v.Inherited {
			value, item = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, text(v.Name)
		}
		list.Content = append(list.Content, item)
		pairs.Content = append(pairs.Content, text(v.Name), value)
	}
	if old != nil && old.Kind == yaml.SequenceNode {
		return list
	}
	return pairs
}

func (f composeForm) redacted(h *hider) form {
	f.manifest = f.manifest.redacted(h, "environment")
	return f
}
