package command

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// podRef is a reference of command and args to the container's environment.
var podRef = regexp.MustCompile(`\$\$\(|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)`)

// podForm is a container of a Kubernetes manifest.
type podForm struct{ manifest }

// podCommands finds the containers of any object that holds a pod template.
func podCommands(n *yaml.Node) []Command {
	var commands []Command
	if list := field(n, "containers"); list != nil && list.Kind == yaml.SequenceNode {
		for _, ct := range list.Content {
			if c, ok := podCommand(ct); ok {
				commands = append(commands, c)
			}
		}
	}
	for _, child := range n.Content {
		commands = append(commands, podCommands(child)...)
	}
	return commands
}

func podCommand(ct *yaml.Node) (Command, bool) {
	env := podEnv(field(ct, "env"))
	entry, args := podWords(field(ct, "command"), env), podWords(field(ct, "args"), env)
	image := ""
	if n := field(ct, "image"); n != nil {
		image = n.Value
	}
	c, whole, ok := containerCommand(entry, args, image, nestedKeeping(env, "$$("))
	if !ok {
		return Command{}, false
	}
	f := podForm{manifest{node: ct, entryKey: "command", argsKey: "args", lang: podLanguage}}
	if whole {
		f.split = len(entry)
	}
	c.Env = merged(env, c.Env)
	c.Wrapper, c.form = Kubernetes, f
	c.Line, c.LastLine = ct.Line, lastLine(ct)
	return c, true
}

// podWords reads command or args; $(NAME) is replaced when the container's own
// environment has it.
func podWords(n *yaml.Node, env []Var) []Word {
	known := map[string]string{}
	for _, v := range env {
		if !v.Inherited {
			known[v.Name] = v.Value.Text
		}
	}
	var words []Word
	for _, s := range scalars(n) {
		w := Word{Text: podRef.ReplaceAllStringFunc(s, func(ref string) string {
			if ref == "$$(" {
				return "$("
			}
			if v, ok := known[ref[2:len(ref)-1]]; ok && len(v) < maxBytes {
				return v
			}
			return ref
		})}
		if podRef.MatchString(s) {
			w.Raw = s
		}
		words = append(words, w)
	}
	return words
}

// podLanguage is that of command, args and the values of env.
var podLanguage = language{
	text:      func(s string) string { return strings.ReplaceAll(s, "$(", "$$(") },
	reference: func(name string) string { return "$(" + name + ")" },
}

func podEnv(n *yaml.Node) []Var {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	var env []Var
	for _, e := range n.Content {
		name, value := field(e, "name"), field(e, "value")
		if name == nil {
			continue
		}
		v := Var{Name: name.Value, Inherited: value == nil}
		if value != nil {
			v.Value = Word{Text: value.Value}
		}
		env = setVar(env, v)
	}
	return env
}

func (f podForm) script(c Command) string {
	node := f.withCommand(c, c.manifestWords("$(", "$$("))
	var env *yaml.Node
	if outer := c.outerEnv(); len(outer) > 0 {
		env = f.environment(outer)
	}
	node = withField(node, "env", env, "args")
	return encode(mapping("containers", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}))
}

// secretObject is the Kubernetes Secret that a redacted manifest expects.
const secretObject = "launch-secrets"

// podValue is what an entry of env says besides its name. A variable that
// refers to itself has its value from elsewhere: from a Secret.
func podValue(v Var) (key string, value *yaml.Node) {
	if v.Value.Raw == podLanguage.reference(v.Name) {
		from := mapping("name", text(secretObject))
		return "valueFrom", mapping("secretKeyRef", withField(from, "key", text(v.Name), "name"))
	}
	if v.Value.Raw != "" {
		return "value", text(v.Value.Raw)
	}
	return "value", text(v.Value.Text)
}

// environment keeps entries whose value comes from elsewhere as they were.
func (f podForm) environment(env []Var) *yaml.Node {
	old := map[string]*yaml.Node{}
	if n := field(f.node, "env"); n != nil {
		for _, e := range n.Content {
			if name := field(e, "name"); name != nil {
				old[name.Value] = e
			}
		}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, v := range env {
		if v.Inherited && old[v.Name] != nil {
			list.Content = append(list.Content, old[v.Name])
			continue
		}
		entry := mapping("name", text(v.Name))
		key, value := podValue(v)
		list.Content = append(list.Content, withField(entry, key, value, "name"))
	}
	return list
}

func (f podForm) redacted(h *hider) form {
	env := field(f.node, "env") // entries without a value are kept
	f.manifest = f.manifest.redacted(h, "env")
	if env != nil {
		f.node = withField(f.node, "env", h.nodes(env, f.lang), "")
	}
	return f
}
